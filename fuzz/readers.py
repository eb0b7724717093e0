"""Readers and writers of every format on damaged files."""

from __future__ import annotations

import os
import zlib
from pathlib import Path
from unittest import mock

import numpy as np
import pyarrow as pa

from fuzz.mutate import mutate
from fuzz.samples import MARK, samples
from neardup.errors import NeardupError
from neardup.io.opening import open_source
from neardup.io.source import Columns
from neardup.io.writers import open_writer

_SAMPLES = samples()


def make(rng: np.random.Generator) -> tuple[str, bytes]:
    """Return the ending and the content of a damaged file."""
    ending, data = _SAMPLES[rng.integers(len(_SAMPLES))]
    _, other = _SAMPLES[rng.integers(len(_SAMPLES))]
    return ending, mutate(data, other, rng)


def check(ending: str, data: bytes, folder: Path) -> None:
    """Read a file in every way: it is refused in one clear line, or all of it is sound."""
    path = folder / f"input.{ending}"
    path.write_bytes(data)
    ways = [Columns(), Columns(id="id", encoding_errors="replace", extra=("number",))]
    if ending == "txt":
        ways[1] = Columns(encoding_errors="replace")
    # What is refused in one way is refused in the other nearly always: one case in four tries both.
    seldom = zlib.crc32(data) & 7
    for columns in ways[:: 1 - 2 * (seldom & 1)]:
        try:
            # Copies of plain texts would wait for all that others write to the disk.
            with mock.patch.object(os, "sync", bool):
                _read(path, columns)
        except NeardupError as error:
            said = f"{error} {error.hint}"
            assert MARK not in said, "an error quotes a text"
            assert "\n" not in said, "an error of several lines"
            assert len(said) < 2000, "an endless error"
            if seldom > 1:
                break


def _read(path: Path, columns: Columns) -> None:
    source = open_source(path, columns, partition_bytes=1 << 10)
    layout = source.layout(0)
    for partition in source.partitions():
        found = partition.read(columns.extra)
        found.text.validate(full=True)
        found.columns.validate(full=True)
        count = len(found.text)
        again = partition.texts(np.arange(count), count)
        assert again.equals(found.text), "a text is another one when it is read again"
        target = path.with_name("copied") if layout.format == "text" else None
        with open_writer(target, layout) as writer:
            writer.write(writer.prepare(partition.records(None, count)))
        table = partition.table(None, count)
        if isinstance(table, pa.Table):
            _validate(table)
            assert table.num_rows == count, "a record is lost"


def _validate(table: pa.Table) -> None:
    """Raise where Arrow would read what is not there; text that is not UTF-8 is copied as it is."""
    try:
        table.validate(full=True)
    except pa.ArrowInvalid as error:
        if "Invalid UTF8" not in str(error):
            raise
