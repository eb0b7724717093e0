"""The same notes in the formats that users have: neardup, and daft beside it.

    python bench/formats.py [--size 100000] [--shapes few,mixed] [--forms snappy,zstd]
                            [--tools neardup,daft] [--runs 3]

Parquet is rewritten by pyarrow from the notes of `bench/run.py`; ``snappy`` has its defaults. The
tools run alternately; each run is a fresh process with two threads, outputs included. Writes
bench/results/formats-SIZE.json.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from harness import (
    DATA,
    Corpus,
    Run,
    clear,
    command,
    measure,
    median,
    missing_peer,
    save,
    say,
    synthetic,
    table,
)

#: Arguments of pyarrow's writer, and the type of the text column.
FORMS: dict[str, tuple[dict[str, Any], pa.DataType]] = {
    "snappy": ({}, pa.string()),
    "zstd": ({"compression": "zstd"}, pa.string()),
    "uncompressed": ({"compression": "none"}, pa.string()),
    "dictionary": ({"dictionary_pagesize_limit": 2**31 - 1}, pa.string()),
    "one row group": ({"row_group_size": 2**26 - 1}, pa.string()),
    "small row groups": ({"row_group_size": 1_000}, pa.string()),
    "large_string": ({}, pa.large_string()),
    "string_view": ({}, pa.string_view()),
}
JSON_LINES = "JSON lines"


def rewritten(source: Path, form: str) -> Path:
    """The same rows in another form, in their order."""
    options, kind = FORMS[form]
    path = source.with_name(f"{source.stem}-{form.replace(' ', '-')}.parquet")
    if not path.exists():
        rows = pq.read_table(source)
        place = rows.schema.get_field_index("text")
        text = rows["text"].cast(kind)
        pq.write_table(rows.set_column(place, "text", text), path, **options)
    return path


def as_corpus(shape: str, size: int, form: str) -> Corpus:
    made = synthetic(shape, size)
    if form == JSON_LINES:
        return Corpus(f"{shape}-{size}", size, None, made.jsonl)
    assert made.parquet is not None
    return Corpus(f"{shape}-{size}", size, rewritten(made.parquet, form))


def compare(corpus: Corpus, tools: list[str], runs: int) -> dict[str, Any]:
    found: dict[str, list[Run]] = {tool: [] for tool in tools}
    for tool in tools * (runs + 1):  # the first turn reads the files into the page cache
        output = DATA / f"out-{tool}"
        clear(output)
        words = command(tool, corpus, output)
        if words is None or (tool == "daft" and missing_peer(tool)):
            continue
        found[tool].append(measure(words))
        clear(output)
    return {tool: {"median": median(each[1:]), "runs": each[1:]} for tool, each in found.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", type=int, default=100_000)
    parser.add_argument("--shapes", default="few,mixed", help="by comma")
    parser.add_argument("--forms", default=",".join([*FORMS, JSON_LINES]), help="by comma")
    parser.add_argument("--tools", default="neardup,daft", help="by comma")
    parser.add_argument("--runs", type=int, default=3)
    args = parser.parse_args()
    results: dict[str, Any] = {}
    rows = []
    for shape in args.shapes.split(","):
        for form in args.forms.split(","):
            corpus = as_corpus(shape, args.size, form)
            tools = args.tools.split(",") if form != JSON_LINES else ["neardup-jsonl"]
            of = compare(corpus, tools, args.runs)
            results[f"{shape}, {form}"] = of
            for tool, each in of.items():
                say(f"{shape} {form} {tool}: {each}")
                middle = each["median"]
                if not middle:
                    reason = missing_peer(tool) if tool == "daft" else None
                    reason = reason or next((r["failed"] for r in each["runs"]), "failed")
                    rows.append([shape, form, tool, "", "", "", ""])
                    say(f"{shape} {form} {tool}: {reason}")
                    continue
                numbers = [middle["seconds"], middle["cpu_seconds"]]
                sizes = [middle["peak_bytes"], middle["anonymous_bytes"]]
                row = [shape, form, tool, *(f"{n:.2f}" for n in numbers)]
                rows.append([*row, *(f"{n / 1e6:,.0f}" for n in sizes)])
    header = ["shape", "format", "tool", "s", "CPU s", "peak MB", "private MB"]
    print(table(header, rows))
    say(str(save(f"formats-{args.size}", {"results": results})))


if __name__ == "__main__":
    main()
