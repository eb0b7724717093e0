"""Private memory of ``neardup passages`` against ``--memory``, on texts that are hard on it.

    python bench/bounds_passages.py [--shapes p7,one-word] [--options plain,cut] [--threads 1,4,16]
        [--memory 400,1000]

Periodic texts, a single large one, equal ones, templates, short ones, and other scripts; see
`SHAPES` and `OPTIONS`. Prints a row for each run: the most bytes of anonymous pages (``RssAnon``)
of all processes together, those and the pages of files that no other process has
(``Private_Clean`` and ``Private_Dirty``, as psutil's USS), and the larger one of both as a part of
``--memory``. Without --memory each run has the least that the command accepts. Writes
bench/data/bounds-SHAPE.jsonl and bench/results/bounds-passages.json.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from harness import DATA, NEARDUP, save, say, table
from measure import anonymous, tree

#: Seconds between two looks, and looks for each of all pages.
INTERVAL, SELDOM = 0.01, 3
#: Bytes of the texts of a shape, about.
SIZE = 56_000_000
LETTERS = "abcdefghijklmnopqrstuvwxyz"

Texts = Iterator[str]


def repeated(unit: str, size: int) -> str:
    return (unit * (size // len(unit) + 1))[:size]


def periodic(period: int, documents: int = 200, size: int = SIZE) -> Texts:
    """Equal texts of a few words, over and over."""
    words = [LETTERS[k] if period <= len(LETTERS) else f"w{k}" for k in range(period)]
    for _ in range(documents):
        yield repeated(" ".join(words) + " ", size // documents)


def shifted(period: int, documents: int = 200) -> Texts:
    """The same, but each begins with another word, and has one of its own in the middle."""
    for k, text in enumerate(periodic(period, documents)):
        begin, middle = 2 * (k % period), len(text) // 2
        yield f"{text[begin:middle]} own{k} {text[middle:]}"


def notes(documents: int, words: int, seed: int = 1) -> Texts:
    rng = random.Random(seed)
    for _ in range(documents):
        yield " ".join(f"w{rng.randrange(50_000)}" for _ in range(words))


def template() -> Texts:
    form = " ".join(f"form{k}" for k in range(200))
    for text in notes(20_000, 200):
        yield f"{text[:400]} {form} {text[400:]}"


def copies_of_many() -> Texts:
    """Each text has pieces of 40 words of many others before it."""
    rng, before = random.Random(2), [text.split() for text in notes(500, 400)]
    for _ in range(8000):
        text = list[str]()
        for _ in range(25):
            source = rng.choice(before)
            at = rng.randrange(max(1, len(source) - 40))
            text += source[at : at + 40]
        before[rng.randrange(len(before))] = text
        yield " ".join(text)


def equal() -> Texts:
    (text,) = notes(1, 40_000)
    for _ in range(200):
        yield text


def short() -> Texts:
    rng = random.Random(3)
    for _ in range(1_500_000):
        yield " ".join(rng.choice(LETTERS) for _ in range(12))


def chinese(documents: int = 500) -> Texts:
    rng = random.Random(4)
    unit = "".join(chr(0x4E00 + rng.randrange(3000)) for _ in range(300))
    for k in range(documents):
        yield f"{chr(0x4E00 + k)}{repeated(unit, SIZE // 3 // documents)}"


def accents() -> Texts:
    unit = "é è ñ ø ü "
    for k in range(200):
        yield f"{k} {repeated(unit, SIZE // 400)}"


SHAPES: dict[str, Callable[[], Texts]] = {
    "p1": lambda: periodic(1),
    "p2": lambda: periodic(2),
    "p7": lambda: periodic(7),
    "p7-double": lambda: periodic(7, 400, 2 * SIZE),
    "p26": lambda: periodic(26),
    "p1000": lambda: periodic(1000),
    "p7-shifted": lambda: shifted(7),
    "p1000-shifted": lambda: shifted(1000),
    "p7-small": lambda: periodic(7, 2000, SIZE),
    "one-word": lambda: periodic(1, 1, 100_000_000),
    "one-text-p7": lambda: periodic(7, 1, 30_000_000),
    "equal": equal,
    "template": template,
    "copies-of-many": copies_of_many,
    "short": short,
    "chinese": chinese,
    "accents": accents,
    "notes": lambda: notes(28_000, 300),
}
OPTIONS: dict[str, list[str]] = {
    "plain": [],
    "cut": ["--cut"],
    "within": ["--within", "group"],
    "across": ["--across", "group"],
    "words-10": ["--words", "10"],
    "words-2": ["--words", "2"],
    "cut-10": ["--words", "10", "--cut"],
    "whole": ["--cut", "--whole", "sentence"],
    "bridge": ["--bridge", "5"],
    "order": ["--order-by", "number"],
    "boilerplate": ["--boilerplate", "20"],
    "boilerplate-cut": ["--boilerplate", "20", "--cut-boilerplate", "--cut"],
    "against": ["--against", "SOURCE"],
    "nfkc": ["--nfkc", "--cut"],
    "latest": ["--source", "latest"],
    "annotate": ["--cut", "--annotate", "--drop-above", "0.9"],
}


def source_of(shape: str) -> Path:
    """Write the texts of a shape, unless they are there."""
    path = DATA / f"bounds-{shape}.jsonl"
    if not path.exists():
        DATA.mkdir(exist_ok=True)
        with path.open("w", encoding="utf-8") as lines:
            for k, text in enumerate(SHAPES[shape]()):
                # Numbers that fall: the order by them is not that of the input.
                row = {"id": k, "group": k % 7, "number": -k, "text": text}
                lines.write(json.dumps(row, ensure_ascii=False) + "\n")
    return path


def unshared(pids: list[int]) -> int:
    """Resident bytes that no other process has, of all processes together."""
    total = 0
    for pid in pids:
        try:
            lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        except OSError:
            continue
        total += sum(int(line.split()[1]) for line in lines if line.startswith("Private_"))
    return 1024 * total


def watched(command: list[str]) -> dict[str, Any]:
    """Run a command; return its seconds and the most memory, and why it failed, if it did."""
    begin, looks = time.perf_counter(), 0
    found = {"anonymous_bytes": 0, "unshared_bytes": 0}
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    while process.poll() is None:
        pids = tree(process.pid)
        found["anonymous_bytes"] = max(found["anonymous_bytes"], anonymous(pids))
        if looks % SELDOM == 0:
            found["unshared_bytes"] = max(found["unshared_bytes"], unshared(pids))
        looks += 1
        time.sleep(INTERVAL)
    assert process.stderr is not None
    errors = process.stderr.read().decode().strip().splitlines()
    failed = " ".join(errors[:1]) if process.returncode else None
    return {**found, "seconds": round(time.perf_counter() - begin, 2), "failed": failed}


def least(command: list[str]) -> int:
    """The least memory that a command accepts, in MB."""
    done = subprocess.run([*command, "--memory", "1MB"], capture_output=True, text=True)
    found = re.search(r"at least (\d+) MB", done.stderr)
    return int(found[1]) if found else 1000


def one(shape: str, options: str, threads: int, memory: int | None) -> dict[str, Any]:
    source, out = source_of(shape), Path(tempfile.mkdtemp(dir=DATA), "out")
    given = [str(source) if word == "SOURCE" else word for word in OPTIONS[options]]
    command = [NEARDUP, "passages", str(source), "-o", str(out), "--id", "id", "--quiet"]
    command += ["--overwrite", "--threads", str(threads), *given]
    memory = memory or least(command)
    run = watched([*command, "--memory", f"{memory}MB"])
    record = out / "run.json"
    counts = json.loads(record.read_text())["counts"] if not run["failed"] else {}
    shutil.rmtree(out.parent, ignore_errors=True)
    most = max(run["anonymous_bytes"], run["unshared_bytes"]) / 1e6
    return {
        "shape": shape,
        "options": options,
        "threads": threads,
        "memory_mb": memory,
        **run,
        "ratio": round(most / memory, 2),
        "passages": counts.get("passages"),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shapes", default=",".join(SHAPES), help="by comma")
    parser.add_argument("--options", default="plain,cut,within,words-10", help="by comma")
    parser.add_argument("--threads", default="1,4,16", help="by comma")
    parser.add_argument("--memory", default="", help="MB by comma, instead of the least")
    args = parser.parse_args()
    memories = [int(each) for each in args.memory.split(",") if each] or [None]
    rows = []
    for shape in args.shapes.split(","):
        for options in args.options.split(","):
            for threads in map(int, args.threads.split(",")):
                for memory in memories:
                    rows.append(one(shape, options, threads, memory))
                    say(str(rows[-1]))
    save("bounds-passages", {"runs": rows})
    cells = [
        [
            row["shape"],
            row["options"],
            str(row["threads"]),
            str(row["memory_mb"]),
            f"{row['anonymous_bytes'] / 1e6:,.0f}",
            f"{row['unshared_bytes'] / 1e6:,.0f}",
            f"{row['ratio']:.2f}",
            f"{row['seconds']:.1f}",
            row["failed"] or f"{row['passages']:,}",
        ]
        for row in rows
    ]
    names = ["shape", "options", "threads", "memory", "anonymous", "private", "ratio", "seconds"]
    print(table([*names, "passages"], cells))


if __name__ == "__main__":
    main()
