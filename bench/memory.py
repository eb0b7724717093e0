"""Private memory against ``--memory``: each command with the least that it accepts.

    python bench/memory.py [--documents 10000000] [--threads 1,4,16] [--commands dedup,plan]
    python bench/memory.py --documents 3000000 --group 100000 --commands dedup --threads 16 \
        --memory 1700,2300

With the least one thread works, whatever --threads is; give --memory to have more of them work.
Writes bench/data/short-N.parquet (texts of 12 words, of which a half are near-duplicates of
another one) and bench/results/memory-N.json. The peak is that of the pages of no file (`RssAnon`)
of all processes together. A command whose least is above --most is only asked for it.
"""

from __future__ import annotations

import argparse
import re
import subprocess
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from harness import DATA, NEARDUP, clear, measure, save, say, table

WORDS, VOCABULARY, TOGETHER = 12, 200_000, 500_000
COMMANDS = ("dedup", "against", "decontaminate", "link", "plan")
SCHEMA = pa.schema([("id", pa.int64()), ("text", pa.large_string())])


def short_texts(documents: int, path: Path, group: int = TOGETHER) -> Path:
    """Write short texts with ids, unless they are there."""
    if path.exists():
        return path
    DATA.mkdir(exist_ok=True)
    rng = np.random.default_rng(1)
    letters = rng.integers(97, 123, (VOCABULARY, 6), dtype=np.uint8)
    letters[:, 5] = ord(" ")
    with pq.ParquetWriter(path, SCHEMA, compression="zstd") as writer:
        for low in range(0, documents, TOGETHER):
            rows = min(TOGETHER, documents - low)
            words = rng.integers(0, VOCABULARY, (rows, WORDS), dtype=np.int32)
            copies = len(words[1::4])
            words[1::4] = words[::4][:copies]
            words[1::4, -1] = rng.integers(0, VOCABULARY, copies)
            data = np.ascontiguousarray(letters[words].reshape(-1))
            ends = np.arange(0, len(data) + 1, WORDS * 6, dtype=np.int64)
            buffers = pa.py_buffer(ends), pa.py_buffer(data)
            text = pa.LargeStringArray.from_buffers(rows, *buffers)
            table = pa.table([np.arange(low, low + rows), text], schema=SCHEMA)
            writer.write_table(table, row_group_size=group)
    return path


def arguments(command: str, source: Path, few: Path) -> list[str]:
    """The arguments of a command; ``few`` is a small corpus of the same kind."""
    out = str(DATA / f"out-memory-{command}")
    given = [str(source), "--id", "id", "--quiet"]
    if command == "plan":
        return ["plan", *given[:-1], "--json"]
    if command == "against":
        return ["dedup", *given, "--against", str(DATA / "out-memory-few"), "-o", out]
    if command == "decontaminate":
        return ["decontaminate", *given, "--against", str(few), "-o", out]
    if command == "link":
        return ["link", *given, "--fields", "text", "-o", out]
    return ["dedup", *given, "-o", out]


def least(words: list[str]) -> int | None:
    """The least memory that a command accepts, in MB; None where it refuses none."""
    done = subprocess.run(
        [NEARDUP, *words, "--memory", "1MB"], capture_output=True, text=True, check=False
    )
    found = re.search(r"at least (\d+) MB", done.stderr)
    return int(found[1]) if found else None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--documents", type=int, default=10_000_000)
    parser.add_argument("--threads", default="1,4,16", help="by comma")
    parser.add_argument("--commands", default=",".join(COMMANDS), help="by comma")
    parser.add_argument("--group", type=int, default=TOGETHER, help="documents of a row group")
    parser.add_argument("--memory", default="", help="MB by comma, instead of the least")
    parser.add_argument("--most", type=int, default=16_000, help="MB that may be used")
    args = parser.parse_args()
    name = f"{args.documents}" + (f"-{args.group}" if args.group != TOGETHER else "")
    source = short_texts(args.documents, DATA / f"short-{name}.parquet", args.group)
    few = short_texts(10_000, DATA / "short-10000.parquet")
    clear(DATA / "out-memory-few")
    dedup = ["dedup", str(few), "--id", "id", "-o", str(DATA / "out-memory-few"), "--quiet"]
    subprocess.run([NEARDUP, *dedup], check=True)
    results = []
    for command in args.commands.split(","):
        for threads in map(int, args.threads.split(",")):
            words = [*arguments(command, source, few), "--threads", str(threads)]
            clear(DATA / f"out-memory-{command}")
            minimum = least(words)
            for memory in map(int, args.memory.split(",")) if args.memory else [minimum or 1000]:
                row = {"command": command, "threads": threads, "least_mb": minimum}
                if memory <= args.most:
                    row |= {"memory_mb": memory}
                    row |= measure([NEARDUP, *words, "--memory", f"{memory}MB"])
                clear(DATA / f"out-memory-{command}")
                say(str(row))
                results.append(row)
    save(f"memory-{name}", {"documents": args.documents, "runs": results})
    cells = [
        [
            row["command"],
            str(row["threads"]),
            str(row["least_mb"]),
            str(row.get("memory_mb", "")),
            f"{row['anonymous_bytes'] / 1e6:,.0f}" if "anonymous_bytes" in row else "refused",
        ]
        for row in results
    ]
    print(table(["command", "threads", "least MB", "given MB", "peak MB"], cells))


if __name__ == "__main__":
    main()
