"""Tables written to one file, batch by batch."""

from __future__ import annotations

import contextlib
import errno
import os
from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv
import pyarrow.parquet as pq

from neardup.corpus.jsontext import json_fragments, to_json
from neardup.corpus.schemas import conform, is_json
from neardup.corpus.texts import is_text
from neardup.errors import OutputError, SpecError

__all__ = ["OUTPUT_FORMATS", "TableWriter", "write_hint"]

_LONG = 64  # mean bytes of a text column above which its values are taken as texts
_CODECS = ("none", "lz4", "snappy", "zstd")
_BATCH_ROWS = 4096  # rows that become Python objects at once, for JSON lines
_HINTS = {
    errno.ENOSPC: "free some space, or write to another disk",
    errno.EDQUOT: "free some space, or write to another disk",
    errno.EFBIG: "the limit on the size of files is reached; raise it, or write elsewhere",
    errno.EACCES: "check the rights of the folder",
    errno.EPERM: "check the rights of the folder",
    errno.EROFS: "write to another disk",
    errno.ENOENT: "create the folder first",
}


def write_hint(error: OSError) -> str:
    """What helps where the system does not take the data; empty where nothing is known to."""
    return _HINTS.get(error.errno or 0, "")


class TableWriter:
    """Writes tables of one schema to exactly the path given; a context manager.

    The file is created at once. Temporary names and renaming are the caller's. If the block ends
    with an error, the file is left unfinished and nothing more is raised.

    Args:
        path: Where to write; what is there is lost.
        schema: As `unify` made it. Columns of JSON text are written as JSON in ``jsonl``.
        format: ``parquet``, ``jsonl`` or ``csv``.
        compression: Of Parquet: ``none``, ``lz4``, ``snappy`` or ``zstd``.

    Raises:
        OutputError: The system does not take the data: no space, no right, no folder.
        SpecError: Another format.
    """

    def __init__(
        self, path: str | Path, schema: pa.Schema, format: str, compression: str = "zstd"
    ) -> None:
        if format not in _SINKS:
            raise SpecError(
                f"output format is {format!r}, expected one of {', '.join(OUTPUT_FORMATS)}"
            )
        if compression not in _CODECS:
            raise SpecError(f"compression is {compression!r}, expected one of {', '.join(_CODECS)}")
        self.path = Path(path)
        self.schema = schema
        self._closed = False
        with self._errors():
            self._sink = _SINKS[format](self.path, schema, compression)

    @contextlib.contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            reason = os.strerror(error.errno).lower() if error.errno else "the system refused it"
            raise OutputError(
                f"{self.path}: can't be written: {reason}", write_hint(error)
            ) from error

    def write(self, table: pa.Table) -> None:
        """Append the rows of a table; it is brought into the schema first if it is not in it.

        Raises:
            OutputError: As above.
            FormatError: A value does not fit the schema.
        """
        table = conform(table, self.schema)
        with self._errors():
            self._sink.write(table)

    def close(self) -> None:
        """Write what is held back and close the file; a second call does nothing."""
        if not self._closed:
            self._closed = True
            with self._errors():
                self._sink.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is None:
            self.close()
            return
        with contextlib.suppress(OutputError, pa.ArrowException):  # the first error counts
            self.close()


class _Sink(ABC):
    def __init__(self, path: Path, schema: pa.Schema, compression: str) -> None:
        self._file: Any = path.open("wb")

    @abstractmethod
    def write(self, table: pa.Table) -> None:
        """Append rows, or hold them back."""

    @abstractmethod
    def finish(self) -> None:
        """Write what was held back."""

    def close(self) -> None:
        try:
            self.finish()
        finally:
            self._file.close()


class _ParquetSink(_Sink):
    def __init__(self, path: Path, schema: pa.Schema, compression: str) -> None:
        super().__init__(path, schema, compression)
        # Parquet has no struct without fields, which is what Arrow makes of {} in JSON.
        fields = [
            f.with_type(pa.large_string()).with_metadata({}) if _has_bare_struct(f.type) else f
            for f in schema
        ]
        self._schema = pa.schema(fields, schema.metadata)
        self._compression = compression
        self._writer: Any = None

    def write(self, table: pa.Table) -> None:
        columns = [
            _as_json(column) if _has_bare_struct(column.type) else column
            for column in table.columns
        ]
        if columns:
            table = pa.Table.from_arrays(columns, schema=self._schema)
        self._open(table).write_table(table, row_group_size=max(1, len(table)))

    def _open(self, first: pa.Table) -> Any:
        if self._writer is None:
            # Long texts don't repeat and nobody looks up their extremes: without dictionary and
            # statistics they are written three times as fast.
            short = [
                field.name
                for field in self._schema
                if not is_text(field.type)
                or _text_bytes(first.column(field.name)) <= _LONG * max(1, len(first))
            ]
            self._writer = pq.ParquetWriter(
                self._file,
                self._schema,
                compression=self._compression,
                use_dictionary=short,
                write_statistics=short,
                store_schema=not all(_is_parquets_own(field) for field in self._schema),
            )
        return self._writer

    def finish(self) -> None:
        self._open(self._schema.empty_table()).close()


class _JsonSink(_Sink):
    def __init__(self, path: Path, schema: pa.Schema, compression: str) -> None:
        super().__init__(path, schema, compression)
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

    def finish(self) -> None:
        """Nothing is held back."""


class _CsvSink(_Sink):
    def __init__(self, path: Path, schema: pa.Schema, compression: str) -> None:
        super().__init__(path, schema, compression)
        self._schema = pa.schema(
            [pa.field(f.name, f.type if _is_flat(f.type) else pa.large_string()) for f in schema]
        )
        self._writer = pacsv.CSVWriter(self._file, self._schema)

    def write(self, table: pa.Table) -> None:
        columns = []
        for column, field in zip(table.columns, self._schema, strict=True):
            if is_text(column.type):
                column = column.cast(field.type)
            columns.append(column if _is_flat(column.type) else _as_json(column))
        self._writer.write_table(pa.Table.from_arrays(columns, schema=self._schema))

    def finish(self) -> None:
        self._writer.close()


_SINKS: dict[str, type[_Sink]] = {"parquet": _ParquetSink, "jsonl": _JsonSink, "csv": _CsvSink}
OUTPUT_FORMATS = tuple(_SINKS)


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
