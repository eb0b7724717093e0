"""Writers of the formats of clean corpora."""

import io
import os
import re
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, ExitStack, suppress
from itertools import chain
from pathlib import Path
from typing import IO, Any, cast

import pyarrow as pa

from neardup.errors import DependencyError, FormatError
from neardup.file_formats import FORMATS
from neardup.files.direct_files import DirectFile
from neardup.files.private_files import open_private, sync_folder, system_errors
from neardup.io.formats.json_text import conform, joined_list, json_rows
from neardup.io.source import Layout, Records, TextFiles
from neardup.io.streams import view_of
from neardup.io.unpacking.decompressed import compressed
from neardup.threads import in_threads

_GROUP_BYTES = 32 << 20  # of a row group or record batch, about
#: Of Excel: rows of a sheet, characters of a cell, and characters that no cell has.
_SHEET_ROWS, _CELL_SIZE = 1 << 20, 32767
_NO_CELL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f]")
_TOGETHER, _SYNCERS = 256, 16  # texts that are waited for at a time, and threads that do so


class RecordWriter(AbstractContextManager["RecordWriter"]):
    """Writes records to one output file; a context manager.

    The file is created at once, for its owner only. If the block ends with an error, the file is
    left unfinished; else it is safely on the disk. Temporary names and renaming are the caller's.
    """

    def __init__(self, path: Path | None, layout: Layout) -> None:
        self._path, self._layout = path, layout
        with self._errors(), ExitStack() as undo:
            self._file: IO[bytes] = io.BytesIO() if path is None else cast(Any, DirectFile(path))
            undo.callback(self._file.close)
            self._sink = self._opened()
            undo.pop_all()

    def _errors(self) -> AbstractContextManager[None]:
        return system_errors(self._path or Path(self._layout.format))

    def _opened(self) -> Any:
        """Return the sink, which is closed at the end, perhaps with the file."""
        return self._file

    def _append(self, prepared: Any) -> None:
        self._sink.write(prepared)

    def prepare(self, records: Records) -> object:
        """Do the part of writing that any thread may do, in any order; return it for `write`."""
        return records

    def write(self, prepared: object) -> None:
        """Append a result of `prepare`."""
        with self._errors():
            self._append(prepared)

    def close(self) -> None:
        """End the file and wait until it is safely on the disk; a second call does nothing."""
        if self._file.closed:
            return
        with self._errors():
            try:
                self._end()
            except BaseException:
                with suppress(Exception):  # the first error counts
                    self._file.close()
                raise
            self._file.close()

    def _end(self) -> None:
        self._sink.close()

    def __exit__(self, *error: object) -> None:
        if error[0] is None:
            self.close()
            return
        for opened in (self._sink, self._file):
            with suppress(Exception):  # the first error counts
                opened.close()


class _LineWriter(RecordWriter):
    """JSON lines, CSV, TSV, entries.

    Each write is a separate stream, which any thread can make; but zstd is one stream, since some
    readers stop at the end of its first frame.
    """

    def _opened(self) -> Any:
        sink: Any = self._file
        if self._layout.compression == "zstd":
            sink = pa.CompressedOutputStream(pa.PythonFile(cast(Any, sink), "w"), "zstd")
        header = self._packed(self._layout.header)  # which is not empty where it is compressed
        if header:
            sink.write(header)
        return sink

    def prepare(self, records: Records) -> object:
        layout = self._layout
        if isinstance(records, pa.Table):
            if layout.format == "jsonl":
                data, ends = json_rows(records, "{", "}\n")
            elif FORMATS[layout.format].has_entries:
                from neardup.io.formats.entries.entry_partitions import entry_rows

                return self._packed(entry_rows(records, layout.format))
            else:
                from neardup.io.formats.csv_tables import DELIMITERS, csv_rows

                records = conform(records, layout.schema or records.schema, "the input")
                delimiter = layout.delimiter or DELIMITERS[layout.format]
                data, ends = csv_rows(records, delimiter, "", "\n", layout.escape)
            records = view_of(data, 0, int(ends[-1]))
        return self._packed(cast(memoryview, records))

    def _end(self) -> None:
        if self._layout.footer:
            self._sink.write(self._packed(self._layout.footer))
        super()._end()

    def _packed(self, data: bytes | memoryview) -> bytes | memoryview:
        codec = self._layout.compression
        return compressed(data, None if codec == "zstd" else codec)


class _TableWriter(RecordWriter):
    """Parquet and Arrow IPC; records are gathered into row groups and record batches."""

    def __init__(self, path: Path | None, layout: Layout) -> None:
        self._waiting: list[pa.Table] = []
        super().__init__(path, layout)

    def _opened(self) -> Any:
        layout, file = self._layout, cast(Any, self._file)
        schema = layout.schema or pa.schema([])
        if layout.format == "arrow":
            options = pa.ipc.IpcWriteOptions(compression=cast(Any, layout.compression))
            return pa.ipc.new_file(file, schema, options=options)
        import pyarrow.parquet as pq

        empty: Any = pa.BufferOutputStream()
        pq.write_metadata(schema, empty)
        leaves: Any = pq.read_metadata(pa.BufferReader(empty.getvalue())).schema
        names = [leaves.column(i).path for i in range(len(leaves))]
        return pq.ParquetWriter(
            file,
            schema,
            compression=cast(Any, layout.compression or "zstd"),
            # Texts hardly repeat: to try a dictionary only takes time.
            use_dictionary=cast(Any, [name for name in names if name not in layout.text]),
        )

    def prepare(self, records: Records) -> object:
        table = cast(pa.Table, records)
        if self._layout.schema is None and table.num_columns:
            raise AssertionError("records come, and no schema: all of them would be lost")
        return conform(table, self._layout.schema or pa.schema([]), "the input")

    def _append(self, prepared: Any) -> None:
        self._waiting.append(prepared)
        if sum(table.nbytes for table in self._waiting) >= _GROUP_BYTES:
            self._write_group()

    def _write_group(self) -> None:
        group = pa.concat_tables(self._waiting) if self._waiting else None
        self._waiting.clear()
        if group is None or not group.num_rows:
            return
        if self._layout.format == "parquet":
            self._sink.write_table(group, row_group_size=group.num_rows)
        else:
            self._sink.write_table(group.combine_chunks())

    def _end(self) -> None:
        self._write_group()
        super()._end()


class _SheetWriter(RecordWriter):
    """A sheet of Excel, all of whose cells are texts; one that does not fit is refused."""

    def _opened(self) -> Any:
        try:
            from openpyxl import Workbook
        except ImportError as error:
            hint = "pip install 'neardup[office]'"
            raise DependencyError("a sheet of Excel needs neardup[office]", hint) from error
        self._book, self._rows = Workbook(write_only=True), 0
        sheet = self._book.create_sheet("records")
        self._add(sheet, [] if self._layout.schema is None else self._layout.schema.names)
        return sheet

    def prepare(self, records: Records) -> object:
        schema = self._layout.schema or pa.schema([])
        table = conform(cast(pa.Table, records), schema, "the input")
        rows = [[_cell(value) for value in row.values()] for row in table.to_pylist()]
        for row in rows:
            for name, value in zip(table.column_names, row, strict=True):
                if len(value) > _CELL_SIZE or _NO_CELL.search(value):
                    what = f"a value of column {name!r} does not fit into a cell of Excel"
                    raise FormatError(what, "write the records in another format, such as csv")
        return rows

    def _append(self, prepared: Any) -> None:
        for row in prepared:
            self._add(self._sink, row)

    def _add(self, sheet: Any, row: Sequence[str]) -> None:
        from openpyxl.cell import WriteOnlyCell

        self._rows += 1
        if self._rows > _SHEET_ROWS:
            what = f"more than {_SHEET_ROWS - 1:,} records do not fit into a sheet of Excel"
            raise FormatError(what, "write them in another format, such as csv")
        cells = [WriteOnlyCell(sheet, value) if value else None for value in row]
        for cell in filter(None, cells):
            cell.data_type = "s"  # a text may begin like a formula
        sheet.append(cells)

    def _end(self) -> None:
        self._book.save(self._file)


def _cell(value: Any) -> str:
    return "" if value is None else joined_list(value)


class _TextWriter(RecordWriter):
    """Writes each text to a file below a folder.

    To wait for one small file after the other takes twice as long as for many at a time, whose
    changes of the folder the file system writes together. 5,000 files of 2 kB on ext4 took 10.5
    to 11.8 s this way, 17 to 26 s one after the other, and 9.2 to 11.5 s with ``sync()``, which
    reports no errors and waits for what all other programs wrote.
    """

    def __init__(self, path: Path | None, layout: Layout) -> None:
        super().__init__(None, layout)
        self._path = path
        self._written: list[tuple[Path, IO[bytes]]] = []  # not known to be on the disk
        self._folders: set[Path] = set()

    def _append(self, prepared: Any) -> None:
        folder = cast(Path, self._path)
        for name, content in zip(*cast(TextFiles, prepared), strict=True):
            path = folder / name
            with system_errors(path):
                if path.parent not in self._folders:
                    path.parent.mkdir(parents=True, exist_ok=True)
                    below = path.parent.relative_to(folder)
                    self._folders.update(folder / each for each in (below, *below.parents))
                # Open until it is on the disk: that is how the system reports all errors.
                file = open_private(path)
                self._written.append((path, file))
                file.write(content)
                file.flush()
            if len(self._written) == _TOGETHER:
                self._sync()

    def _sync(self) -> None:
        for _ in in_threads(_sync_text, self._written, _SYNCERS):
            pass
        self._written.clear()

    def _end(self) -> None:
        self._sync()
        for folder in self._folders:
            with system_errors(folder):
                sync_folder(folder)

    def __exit__(self, *error: object) -> None:
        try:
            super().__exit__(*error)
        finally:
            for _, file in self._written:
                with suppress(OSError):
                    file.close()


def _sync_text(written: tuple[Path, IO[bytes]]) -> None:
    path, file = written
    with system_errors(path), file:
        os.fsync(file.fileno())


_WRITERS = {
    "parquet": _TableWriter,
    "arrow": _TableWriter,
    "text": _TextWriter,
    "xlsx": _SheetWriter,
}


def open_writer(path: Path | None, layout: Layout) -> RecordWriter:
    """Open an output file, whose content is lost; of plain texts, the folder; None for nowhere."""
    return _WRITERS.get(layout.format, _LineWriter)(path, layout)


def write_tables(
    path: Path,
    tables: Iterable[pa.Table],
    format: str = "parquet",
    schema: pa.Schema | None = None,
    varied: tuple[str, ...] = (),
    with_csv: bool = False,
) -> None:
    """Write tables of one schema as one file, for its owner.

    Args:
        path: The file.
        tables: At least one, unless ``schema`` is given.
        format: Parquet, CSV, TSV or JSON lines.
        schema: Of all tables.
        varied: Columns whose values hardly repeat: Parquet does not try a dictionary.
        with_csv: Write CSV for spreadsheets too, see `without_formulas`.
    """
    from neardup.io.formats.csv_tables import DELIMITERS, csv_header

    every = iter(tables)
    if schema is None:
        first = next(every)
        schema, every = first.schema, chain([first], every)

    def opened(path: Path, format: str) -> RecordWriter:
        delimiter = DELIMITERS.get(format)
        header = csv_header(schema.names, delimiter) if delimiter else b""
        return open_writer(path, Layout(format, None, header, schema, varied))

    with ExitStack() as writing:
        writer = writing.enter_context(opened(path, format))
        sheet = writing.enter_context(opened(path.with_suffix(".csv"), "csv")) if with_csv else None
        for table in every:
            writer.write(writer.prepare(table))
            if sheet is not None:
                sheet.write(sheet.prepare(without_formulas(table)))


def without_formulas(table: pa.Table) -> pa.Table:
    """Return a table with an apostrophe before texts that spreadsheets would compute."""
    import pyarrow.compute as pc

    for k, field in enumerate(table.schema):
        if pa.types.is_string(field.type) or pa.types.is_large_string(field.type):
            column: Any = table.column(k)
            safe = pc.replace_substring_regex(column, r"^([=+\-@\t\r])", r"'\1")
            table = table.set_column(k, field, safe)
    return table
