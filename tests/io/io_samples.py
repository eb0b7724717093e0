"""Helpers of the tests of `neardup.io`: texts that are hard to keep, the same in each format."""

from __future__ import annotations

import csv
import gzip
import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq

from neardup.io.opening import open_source
from neardup.io.source import Columns, Source

WEIRD = [
    "plain words",
    "",
    "nul \x00 inside",
    "שלום עולם",
    "مرحبا",
    "👩‍👩‍👧 and 😀",
    "quotes \"double\" and 'single', commas",
    "one\nline\r\nafter\ranother",
    "漢字かな交じり文",
    "back\\slash \\n \\u0041",
    "2020-01-01",
    "2020-01-01T00:00:00Z",
    "true",
    "007",
    "1.5",
    "nan",
    "null",
    "\t tab and \x1b escape",
    "x" * 3000,
    "[[[[{{{{",
    " ",
    "e\u0301 \u2028 \ufeff",
]
TEXTS = WEIRD + random.Random(5).choices(WEIRD, k=100)
ROWS = [{"id": i, "text": text, "score": i / 8} for i, text in enumerate(TEXTS)]

FILES = [
    "a.jsonl",
    "a.jsonl.gz",
    "a.jsonl.zst",
    "a.csv",
    "a.tsv",
    "a.csv.zst",
    "a.parquet",
    "stream.arrow",
    "file.feather",
]
FRAMES = ["table", "batch", "sliced", "dataset", "dictionary", "pandas", "polars", "hf"]
FRAMES += ["lazy", "dict", "reader", "list", "iterator", "view"]


def lines(rows: Sequence[dict[str, Any]] = ROWS) -> bytes:
    """JSON lines, half of them with escapes."""
    texts = (json.dumps(row, ensure_ascii=i % 2 == 0) for i, row in enumerate(rows))
    return "".join(text + "\n" for text in texts).encode()


def zst(raw: bytes) -> bytes:
    return pa.Codec("zstd").compress(raw, asbytes=True)


def _csv(folder: Path, dialect: str) -> bytes:
    path = folder / "plain"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, ["id", "text", "score"], dialect=dialect)
        writer.writeheader()
        writer.writerows(ROWS)
    raw = path.read_bytes()
    path.unlink()
    return raw


def made(folder: Path, name: str) -> Path:
    """`ROWS` as a file of a format."""
    path = folder / name
    table = pa.Table.from_pylist(ROWS)
    if name == "a.jsonl.gz":
        half = lines().find(b"\n", 3000) - 7  # two members, cut inside a line
        path.write_bytes(gzip.compress(lines()[:half]) + gzip.compress(lines()[half:]))
    elif name.startswith("a.jsonl"):
        path.write_bytes(zst(lines()) if name.endswith("zst") else lines())
    elif name == "a.csv":
        path.write_bytes(_csv(folder, "excel"))
    elif name == "a.tsv":
        path.write_bytes(_csv(folder, "excel-tab"))
    elif name == "a.csv.zst":
        path.write_bytes(zst(_csv(folder, "unix")))
    elif name.endswith(".parquet"):
        pq.write_table(table, path, row_group_size=17)
    elif name.endswith(".arrow"):
        with pa.ipc.new_stream(path, table.schema) as writer:
            writer.write_table(table, 19)
    else:
        feather.write_feather(table, path, chunksize=23)
    return path


def frame(kind: str) -> Any:
    """`ROWS` as an object; ``sliced`` has 50 of them, ``list`` and ``iterator`` only the texts."""
    table = pa.Table.from_pylist(ROWS)
    if kind == "table":
        return table
    if kind == "batch":
        return table.to_batches()[0]
    if kind == "sliced":
        cut = [table.slice(0, 50), table.slice(0, 3), table.slice(50)]
        return pa.concat_tables(cut).slice(0, 50)
    if kind == "dataset":
        import pyarrow.dataset as pads

        return pads.dataset(table)
    if kind == "view":
        return table.set_column(1, "text", table.column("text").cast(pa.string_view()))
    if kind == "dictionary":
        return table.set_column(1, "text", table.column("text").dictionary_encode())
    if kind == "pandas":
        import pandas

        return pandas.DataFrame(ROWS)
    if kind in ("polars", "lazy"):
        import polars

        return polars.DataFrame(ROWS) if kind == "polars" else polars.LazyFrame(ROWS)
    if kind == "hf":
        import pytest

        return pytest.importorskip("datasets").Dataset.from_list(ROWS)
    if kind == "dict":
        return {name: [row[name] for row in ROWS] for name in ROWS[0]}
    if kind == "reader":
        return table.to_reader()
    return TEXTS if kind == "list" else iter(TEXTS)


def opened(source: Any, partition_bytes: int = 8 << 20, **columns: Any) -> Source:
    """Open a source; keywords are those of `Columns`, ``text`` may be one name."""
    if isinstance(columns.get("text"), str):
        columns["text"] = (columns["text"],)
    return open_source(source, Columns(**columns), partition_bytes=partition_bytes)


def texts_of(source: Source) -> list[str]:
    """All texts, by `Partition.read`."""
    return [text for part in source.partitions() for text in part.read().text.to_pylist()]


def names_of(source: Source) -> tuple[str, ...]:
    """The names of the columns."""
    return tuple((source.schema() or pa.schema([])).names)


def rows_of(source: Source, columns: tuple[str, ...]) -> list[dict[str, Any]]:
    """Some columns of all documents."""
    return [row for part in source.partitions() for row in part.read(columns).columns.to_pylist()]
