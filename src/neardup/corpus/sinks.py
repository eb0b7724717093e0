"""The formats that tables are written in."""

from __future__ import annotations

import base64
import contextlib
import os
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv
import pyarrow.parquet as pq

from neardup.corpus.footers import Footer
from neardup.corpus.jsontext import json_fragments, to_json
from neardup.corpus.schemas import is_json
from neardup.corpus.texts import is_text
from neardup.errors import ResumeError

__all__ = ["AGAIN_HINT", "SINKS", "Sink"]

AGAIN_HINT = "start again with --overwrite"

_LONG = 64  # mean bytes of a text column above which its values are taken as texts
_MAGIC = b"PAR1"
_BATCH_ROWS = 4096  # rows that become Python objects at once, for JSON lines


class Sink(ABC):
    """A file in one format; `TableWriter` guards it and turns errors of the system into ours."""

    def __init__(
        self, path: Path, schema: pa.Schema, compression: str, state: dict[str, Any] | None
    ) -> None:
        self._file: Any
        if state is None:
            self._file = path.open("wb")
            return
        try:
            self._file = path.open("r+b")
        except FileNotFoundError as error:
            raise ResumeError(f"{path}: is gone, and was to be gone on with", AGAIN_HINT) from error
        if self._file.seek(0, os.SEEK_END) < state["size"]:
            self._file.close()
            raise ResumeError(f"{path}: is shorter than it was", AGAIN_HINT)
        self._file.seek(state["size"])
        self._file.truncate()

    def checkpoint(self) -> dict[str, Any]:
        """Have what was written in the file, and return what is needed to go on."""
        self._file.flush()
        return {"size": self._file.tell()}

    def sync(self) -> None:
        """Wait until what is in the file is safely on the disk."""
        os.fsync(self._file.fileno())

    @abstractmethod
    def write(self, table: pa.Table) -> None:
        """Append rows."""

    def finish(self) -> None:  # noqa: B027 - not all formats have an end
        """Write what ends the file."""

    def close(self) -> None:
        try:
            self.finish()
        finally:
            self._file.close()


class _ParquetSink(Sink):
    """Each table is a row group, written as a file of its own without its magic and its footer.

    Arrow's writer keeps what it knows of row groups to itself until the file ends; so it ends with
    each of them.
    """

    def __init__(
        self, path: Path, schema: pa.Schema, compression: str, state: dict[str, Any] | None
    ) -> None:
        super().__init__(path, schema, compression, state)
        # Parquet has no struct without fields, which is what Arrow makes of {} in JSON.
        fields = [
            f.with_type(pa.large_string()).with_metadata({}) if _has_bare_struct(f.type) else f
            for f in schema
        ]
        self._schema = pa.schema(fields, schema.metadata)
        self._compression = compression
        if state is None:
            self._file.write(_MAGIC)
            state = {"size": len(_MAGIC), "footer": "", "short": None}
        self._size: int = state["size"]
        self._footer = Footer(base64.b64decode(state["footer"]))
        self._short: list[str] | None = state["short"]

    def checkpoint(self) -> dict[str, Any]:
        footer = base64.b64encode(self._footer.joined()).decode()
        return {**super().checkpoint(), "footer": footer, "short": self._short}

    def write(self, table: pa.Table) -> None:
        if not len(table):
            return
        columns = [
            _as_json(column) if _has_bare_struct(column.type) else column
            for column in table.columns
        ]
        if columns:
            table = pa.Table.from_arrays(columns, schema=self._schema)
        if self._short is None:
            # Long texts don't repeat and nobody looks up their extremes: without dictionary and
            # statistics they are written three times as fast.
            self._short = [
                field.name
                for field in self._schema
                if not is_text(field.type)
                or _text_bytes(table.column(field.name)) <= _LONG * len(table)
            ]
        self._append(table)

    def _append(self, table: pa.Table) -> None:
        part = _WithoutEnds(self._file)
        writer = pq.ParquetWriter(
            part,
            self._schema,
            compression=self._compression,
            use_dictionary=self._short or [],
            write_statistics=self._short or [],
            store_schema=not all(_is_parquets_own(field) for field in self._schema),
        )
        try:
            if len(table):
                writer.write_table(table, row_group_size=len(table))
        except BaseException:
            part.in_footer = True
            with contextlib.suppress(Exception):  # the first error counts
                writer.close()
            raise
        part.in_footer = True
        writer.close()
        self._footer.add(bytes(part.footer[: -len(_MAGIC) - 4]), self._size - len(_MAGIC))
        self._size += part.size

    def finish(self) -> None:
        if not self._footer.joined():
            self._append(self._schema.empty_table())
        footer = self._footer.joined()
        self._file.write(footer + len(footer).to_bytes(4, "little") + _MAGIC)


class _WithoutEnds:
    """A file for Arrow to write to, of which only what lies between magic and footer is kept.

    Attributes:
        in_footer: Set by the caller where the footer begins.
        footer: All from there on.
        size: Bytes that went to the file.
    """

    closed = False

    def __init__(self, file: Any) -> None:
        self._file = file
        self._skip = len(_MAGIC)
        self.in_footer = False
        self.footer = bytearray()
        self.size = 0

    def write(self, data: Any) -> int:
        view = memoryview(data)
        skipped, self._skip = min(self._skip, len(view)), max(0, self._skip - len(view))
        if self.in_footer:
            self.footer += view
        else:
            self.size += self._file.write(view[skipped:])
        return len(view)

    def flush(self) -> None:
        """Nothing is held here."""

    def close(self) -> None:
        """The file is the caller's."""


class _JsonSink(Sink):
    def __init__(
        self, path: Path, schema: pa.Schema, compression: str, state: dict[str, Any] | None
    ) -> None:
        super().__init__(path, schema, compression, state)
        names = (to_json(name).replace("%", "%%") for name in schema.names)
        self._row = "{" + ",".join(f"{name}:%s" for name in names) + "}\n"

    def write(self, table: pa.Table) -> None:
        for batch in table.to_batches(_BATCH_ROWS):
            columns = [
                _raw_json(batch.column(i)) if is_json(field) else json_fragments(batch.column(i))
                for i, field in enumerate(batch.schema)
            ]
            rows = zip(*columns, strict=True)
            self._file.write("".join(map(self._row.__mod__, rows)).encode())


class _CsvSink(Sink):
    def __init__(
        self, path: Path, schema: pa.Schema, compression: str, state: dict[str, Any] | None
    ) -> None:
        super().__init__(path, schema, compression, state)
        self._schema = pa.schema(
            [pa.field(f.name, f.type if _is_flat(f.type) else pa.large_string()) for f in schema]
        )
        self._writer = pacsv.CSVWriter(
            self._file,
            self._schema,
            write_options=pacsv.WriteOptions(include_header=state is None),
        )

    def write(self, table: pa.Table) -> None:
        columns = []
        for column, field in zip(table.columns, self._schema, strict=True):
            if is_text(column.type):
                column = column.cast(field.type)
            columns.append(column if _is_flat(column.type) else _as_json(column))
        self._writer.write_table(pa.Table.from_arrays(columns, schema=self._schema))

    def finish(self) -> None:
        self._writer.close()


SINKS: dict[str, type[Sink]] = {"parquet": _ParquetSink, "jsonl": _JsonSink, "csv": _CsvSink}


def _text_bytes(column: pa.ChunkedArray) -> int:
    """Bytes of the strings themselves: the same for every Arrow type of string."""
    if pa.types.is_dictionary(column.type):
        return 0  # whoever chose the type says that its values repeat
    return pc.sum(pc.binary_length(column.cast(pa.large_string()))).as_py() or 0


def _is_parquets_own(field: pa.Field) -> bool:
    """Whether Parquet itself says all about a column, without Arrow's schema beside it.

    Equal texts then make equal files, whether Arrow held them as string, large_string or views.
    """
    t = pa.types
    return not field.metadata and bool(
        t.is_boolean(field.type)
        or t.is_integer(field.type)
        or t.is_float32(field.type)
        or t.is_float64(field.type)
        or t.is_date32(field.type)
        or t.is_string(field.type)
        or t.is_large_string(field.type)
        or t.is_string_view(field.type)
    )


def _has_bare_struct(type: pa.DataType) -> bool:
    if pa.types.is_struct(type) and not type.num_fields:
        return True
    return any(_has_bare_struct(type.field(i).type) for i in range(type.num_fields))


def _is_flat(type: pa.DataType) -> bool:
    """Whether Arrow writes the type to CSV as it is."""
    t = pa.types
    return bool(
        t.is_null(type)
        or t.is_boolean(type)
        or t.is_integer(type)
        or t.is_floating(type)
        or t.is_temporal(type)
        or t.is_string(type)
        or t.is_large_string(type)
    )


def _as_json(column: pa.ChunkedArray) -> pa.ChunkedArray:
    texts = [None if text == "null" else text for text in json_fragments(column)]
    return pa.chunked_array([pa.array(texts, pa.large_string())])


def _raw_json(column: pa.Array) -> list[str]:
    return [text if text is not None else "null" for text in column.to_pylist()]
