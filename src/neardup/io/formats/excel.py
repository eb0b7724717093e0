"""Sheets of Excel and LibreOffice: decoded at once by fastexcel; all values become texts."""

import io
import re
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, cast

import numpy as np
import pyarrow as pa

from neardup.arrays import array_of
from neardup.errors import ColumnError, DependencyError, FormatError, InputError
from neardup.io.columns import Column, called, check_schema, strings_schema
from neardup.io.formats.arrow_tables import TablePartition, cut_batches, in_file, member_limit
from neardup.io.formats.csv_tables import csv_header
from neardup.io.source import Columns, Layout, SourceFile
from neardup.io.streams import read_all
from neardup.memory_plan import BASE, THREAD, available_memory, require_memory
from neardup.spec import nearest

_LOOKED_AT = 50  # rows in which a header is looked for
#: Bytes of memory of a cell, also of an empty one between others, and of each byte of XML, while a
#: sheet is decoded. Of the sheets decoded before it a quarter stays.
_CELL, _XML_BYTE, _STAYS = 32, 3, 4
_STRINGS = "xl/sharedStrings.xml"
_DIMENSION = re.compile(rb'<dimension ref="[A-Z]+[0-9]+:([A-Z]+)([0-9]+)"')
#: Times of a day, days without a time: the texts of fastexcel, and those instead.
_TIMES = (("^1899-12-3[01] ([0-9:.]+)$", r"\1"), ("^([0-9]{4}-[0-9]{2}-[0-9]{2}) 00:00:00$", r"\1"))
#: Numbers that fastexcel rounds, to nine decimals, and those that it may have rounded to 0.
_ROUNDED, _FRACTION, _NOTHING = r"\.[0-9]{8,9}$", r"\.[0-9]", "^-?0$"
#: No row is a header for it, and none is left out.
_ALL: dict[str, Any] = {"header_row": None, "skip_rows": 0}
_MIXED = (
    "has numbers, and texts that begin with 0: zeros before a number that only its format shows "
    "are lost"
)
_ZEROS, _DIGITS = "^0[0-9]+$", "^[1-9][0-9]*$"


def cut(
    index: int, file: SourceFile, columns: Columns, partition_bytes: int
) -> Iterator[TablePartition]:
    table = _sheet(file, columns)
    if table.num_columns:
        check_schema(file.path, table.schema, columns)
        yield from in_file(file, cut_batches([table], index, file.path, columns, partition_bytes))


def layout(file: SourceFile, columns: Columns) -> Layout:
    """How the rows are written: as CSV."""
    schema = _sheet(file, columns).schema or strings_schema(columns.required)
    return Layout("csv", None, csv_header(schema.names, ","), schema, columns.text)


def _sheet(file: SourceFile, columns: Columns) -> pa.Table:
    """Return the rows of a sheet, which stay in memory as long as the source does."""
    if "sheet" not in file.decoded:
        file.decoded["sheet"] = _decoded(file, columns)
    table: pa.Table = file.decoded["sheet"]
    return table


def _decoded(file: SourceFile, columns: Columns) -> pa.Table:
    try:
        import fastexcel
    except ImportError as error:
        what = f"{file.path} needs neardup[office]"
        raise DependencyError(what, "pip install 'neardup[office]'") from error
    data = read_all(file, member_limit(file, columns))
    _check_size(file.path, data)
    try:
        book = fastexcel.read_excel(data)
        name = _chosen(file, columns, book.sheet_names)
        sheet = _Sheet(book, name)
        if not sheet.cells.num_rows and len(book.sheet_names) > 1:
            others = [other for other in book.sheet_names if other != name]
            raise InputError(f"{file.path}: sheet {name!r} is empty", f"`sheet`={others[0]!r}")
        return sheet.table(file, columns.header_row)
    except fastexcel.FastExcelError as error:
        what = f"{file.path}: no table of Excel or LibreOffice, or encrypted or damaged"
        hint = "open it, and save it again without a password"
        if data and b"\0" not in data and not data.startswith(b"PK"):
            hint = "if it is CSV: `input_format`='csv'"
        raise FormatError(what, hint) from error


def check_memory(files: Sequence[SourceFile], memory: int) -> None:
    """Refuse sheets on the disk that need more than some bytes of memory, before any is decoded.

    Raises:
        SpecError: They do.
    """
    needs = [_needed(Path(file.local_path))[0] for file in files if file.is_seekable]
    most = max(needs, default=0)
    least = BASE + THREAD + most + (sum(needs) - most) // _STAYS
    what = f"a sheet is decoded at once: {files[needs.index(most)].path}" if most else ""
    require_memory(
        memory, least if most else 0, what, "allow more memory, or save the table as CSV"
    )


def _check_size(path: str, data: bytes) -> None:
    """Refuse a sheet with a cell so far away that the memory for those between does not suffice."""
    needed, last = _needed(io.BytesIO(data))
    if needed > available_memory(None):
        what = f"a sheet reaches to the cell {last}, which needs too much memory"
        hint = "delete the cells far away, or save the table as CSV"
        raise InputError(f"{path}: {what}", hint)


def _needed(file: Path | IO[bytes]) -> tuple[int, str]:
    """Return the bytes of memory for the largest sheet of a file of Excel, and its last cell.

    They are 0 for other files.
    """
    found = [(0, "")]
    with suppress(zipfile.BadZipFile, OSError), zipfile.ZipFile(file) as archive:
        sizes = {info.filename: info.file_size for info in archive.infolist()}
        for name, size in sizes.items():
            if name.startswith("xl/worksheets/sheet"):
                with archive.open(name) as sheet:
                    last = _DIMENSION.search(sheet.read(4096))
                cells = _cells_to(last[1], int(last[2])) if last else 0
                xml = size + sizes.get(_STRINGS, 0)
                at = (last[1] + last[2]).decode() if last else ""
                found.append((_CELL * cells + _XML_BYTE * xml, at))
    return max(found)


def _cells_to(column: bytes, row: int) -> int:
    """Return how many cells there are up to a column, such as ``AB``, and a row."""
    number = 0
    for letter in column:
        number = 26 * number + letter - 64
    return number * row


def _chosen(file: SourceFile, columns: Columns, names: Sequence[str]) -> str:
    """Return the sheet that is read, and note that there are others."""
    if columns.sheet is None:
        if others := ", ".join(map(repr, names[1:])):
            file.notes.append(f"{file.path}: sheet {names[0]!r} was read, and not {others}")
        return names[0]
    if columns.sheet not in names:
        there = ", ".join(map(repr, names))
        what = f"{file.path}: no sheet {columns.sheet!r}; there are {there}"
        raise ColumnError(what, nearest(columns.sheet, names))
    return columns.sheet


class _Sheet:
    """The cells of a sheet: texts, null where they have none; of errors too."""

    def __init__(self, book: Any, name: str) -> None:
        self._book, self._name = book, name
        sheet = book.load_sheet(name, **_ALL, dtypes="string")
        # Columns to the left that are empty are none of the sheet.
        self._numbers = [column.absolute_index for column in sheet.selected_columns]
        self.cells = pa.Table.from_batches([sheet.to_arrow()])
        filled = np.zeros(self.cells.num_rows, np.int64)
        for column in self.cells.columns:
            filled += _valid(column)
        self._filled = filled

    def table(self, file: SourceFile, header_row: int | None) -> pa.Table:
        """Return the rows below the header that are not empty."""
        if not self._filled.any():
            return pa.table({})
        head = self._header(file.path, header_row)
        rows = head + 1 + np.flatnonzero(self._filled[head + 1 :])
        names, columns = list[str](), list[Column]()
        for number, column in enumerate(self.cells.columns):
            name, values = column[head].as_py(), column.take(array_of(rows))
            if name is not None or values.null_count < len(values):
                names.append(" ".join(name.split()) if name else f"column_{number + 1}")
                exact, are_mixed = self._exact(number, values.cast(pa.large_string()), rows)
                columns.append(exact)
                if are_mixed:
                    said = called(names[-1], len(names) - 1)
                    file.notes.append(f"{file.path}: {said} {_MIXED}")
        return pa.Table.from_arrays(columns, names)

    def _header(self, path: str, asked: int | None) -> int:
        """Return the row of the header, from 0."""
        first = int(np.flatnonzero(self._filled)[0])
        if asked is not None:
            if asked > len(self._filled) or not self._filled[asked - 1]:
                what = f"{path}: row {asked} has no cell, and was to be the header"
                raise ColumnError(what, f"`header_row`={first + 1}")
            return asked - 1
        rows = self._filled[first : first + _LOOKED_AT]
        most = int(rows.max())
        if rows[0] == 1 < most:
            what = f"{path}: row {first + 1} has one cell of {most}; is the header further down?"
            raise FormatError(what, f"`header_row`={first + int(np.argmax(2 * rows > most)) + 1}")
        return first

    def _exact(self, number: int, values: Column, rows: np.ndarray) -> tuple[Column, bool]:
        """Return a column with its numbers in full, and whether texts among them begin with 0."""
        import pyarrow.compute as _pc

        pc = cast(Any, _pc)

        def has(pattern: str) -> bool:
            return bool(pc.any(pc.match_substring_regex(values, pattern)).as_py())

        for pattern, new in _TIMES:
            values = pc.replace_substring_regex(values, pattern, new)
        rounded = has(_ROUNDED) or (has(_NOTHING) and has(_FRACTION))
        zeros = has(_ZEROS) and has(_DIGITS)
        if not rounded and not zeros:
            return values, False
        are_numbers = _valid(self._typed(number, "boolean", rows))
        if rounded:
            found, floats = values.to_pylist(), self._typed(number, "float", rows).to_pylist()
            for row in np.flatnonzero(are_numbers).tolist():
                if floats[row] is not None and not floats[row].is_integer():
                    found[row] = f"{floats[row]:.15g}"
            values = pa.chunked_array([pa.array(found, pa.large_string())])
        return values, zeros and bool(are_numbers.any())

    def _typed(self, number: int, kind: str, rows: np.ndarray) -> Column:
        """Return a column as another type, null where a cell has no such value."""
        chosen = [self._numbers[number]]
        sheet = self._book.load_sheet(self._name, **_ALL, dtypes=kind, use_columns=chosen)
        return pa.Table.from_batches([sheet.to_arrow()]).column(0).take(array_of(rows))


def _valid(column: Column) -> np.ndarray:
    """bool[n]: which values of a column are not null."""
    return np.asarray(column.is_valid().to_numpy())
