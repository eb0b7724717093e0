"""Helpers of the corpus tests: write an input, read a corpus to its end."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from neardup.corpus import Corpus, conform, unify

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


def texts_of(corpus: Corpus) -> list[str]:
    return [text for chunk in corpus.chunks() for text in chunk.read().text.to_pylist()]


def table_of(corpus: Corpus) -> pa.Table:
    tables = [chunk.read().table for chunk in corpus.chunks()]
    schema = unify(table.schema for table in tables)
    return pa.concat_tables([conform(table, schema) for table in tables])


@pytest.fixture
def jsonl(tmp_path: Path) -> Callable[..., Path]:
    """Writes objects, or raw lines where a bytes is given, as JSON lines."""

    def write(*rows: Any, name: str = "in.jsonl") -> Path:
        lines = [row if isinstance(row, bytes) else json.dumps(row).encode() for row in rows]
        path = tmp_path / name
        path.write_bytes(b"".join(line + b"\n" for line in lines))
        return path

    return write
