"""CSV and TSV by RFC 4180: records and fields are found in the bytes; all columns are strings."""

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, cast

import numpy as np
import pyarrow as pa

from neardup.arrays import PAD
from neardup.errors import ColumnError, FormatError, spelled
from neardup.io.columns import Column, check_schema, shown, string_scalar, strings_schema
from neardup.io.formats.byte_partitions import Bad, BytePartition, Fields
from neardup.io.formats.json_text import Joined, concatenated, joined_list, joined_rows, json_texts
from neardup.io.formats.large_records import RecordLimit, too_large
from neardup.io.source import Columns, Layout, Rows, SourceFile
from neardup.io.streams import Extent, Raw, cut_stream, line_of
from neardup.io.unpacking.first_bytes import HEAD, first_not_utf8, text_start
from neardup.kernels.scanning import AFTER_QUOTE, NO_ESCAPE, OPEN_QUOTE, RAGGED, csv_records

DELIMITERS = {"csv": ",", "tsv": "\t"}
_OTHER_DELIMITERS = ";\t|,"  # the first of those that are there equally often

#: The first line that programs of tables write and read, which names the delimiter.
_SEPARATOR = re.compile(rb'("?)sep=([!-~\t ])\1\r?\n', re.IGNORECASE)
_WINDOW = 4096  # bytes that are looked at for the end of a record
_LEFT_OUT = "; or leave out such records and count them with `skip_bad`=True"
_QUOTE_HINT = (
    'a quote in a field is written "", and the field is quoted; of programs that write \\": '
    f"`escape`='\\'{_LEFT_OUT}"
)
_FIELDS_HINT = f"quote fields with the delimiter or a newline{_LEFT_OUT}"


def _delimiter(file: SourceFile) -> str:
    return file.delimiter or DELIMITERS[file.format]


def _escape(file: SourceFile) -> int:
    return ord(file.escape) if file.escape else NO_ESCAPE


class _Header(NamedTuple):
    """Columns, and the bytes up to the end of their record, with a mark of UTF-8."""

    names: tuple[str, ...]
    raw: bytes


class CsvPartition(BytePartition):
    def __init__(
        self, index: int, file: SourceFile, columns: Columns, extent: Extent, header: _Header
    ) -> None:
        super().__init__(index, file, columns, extent, 0 if extent.start else len(header.raw))
        self._header = header

    def limit(self) -> RecordLimit:
        return _limit(self._file, self._columns)

    def found(self, raw: Raw) -> np.ndarray:
        return _scan(raw, self._file).bounds

    def fields(
        self, raw: Raw, names: Sequence[str], rows: Rows, count: int | None, exact: bool
    ) -> Fields:
        scan = _scan(raw, self._file, True, self._header.names, names)
        if scan.why:
            what, hint = self._refused(scan)
            raise FormatError(f"{self.position(scan.stop)} {what}", hint)
        fitting = self.fitting(raw, scan.bounds)
        self.check(len(scan.bounds if fitting is None else fitting), count)
        if fitting is not None:
            rows = fitting if rows is None else fitting[rows]
        if rows is None:
            return Fields(raw, scan.values, scan.kinds, len(scan.bounds), _escape(self._file))
        values, kinds = (np.ascontiguousarray(of[:, rows]) for of in (scan.values, scan.kinds))
        return Fields(raw, values, kinds, len(rows), _escape(self._file))

    def malformed(self, raw: Raw) -> Iterator[Bad]:
        at = 0
        while at < raw.size:
            rest = Raw(raw.data[at:], raw.size - at)
            scan = _scan(rest, self._file, True, self._header.names)
            if not scan.why:
                return
            start = at + (int(scan.bounds[-1, 2]) if len(scan.bounds) else 0)
            # Where quotes are wrong, the next line may be right.
            at = self._end(raw, start, scan.why == RAGGED)
            yield start, at, self._refused(scan)[0]

    def _end(self, raw: Raw, start: int, of_record: bool) -> int:
        """Return where a record, or its first line, ends."""
        size = _WINDOW
        while True:
            size = min(size, raw.size - start)
            window = np.zeros(size + PAD, np.uint8)
            window[:size] = raw.data[start : start + size]
            final = start + size == raw.size
            bounds = _scan(Raw(window, size), self._file, final).bounds
            begin = int(bounds[0, 0]) if len(bounds) else 0
            found = window[:size].tobytes().find(b"\n", begin) + 1
            end = (int(bounds[0, 2]) if len(bounds) else 0) if of_record else found
            if end or final:
                return start + (end or size)
            size *= 2

    def _refused(self, scan: "_Scan") -> tuple[str, str]:
        """Return the error in words for the record after those that were found, and a remedy."""
        if scan.why == RAGGED:
            expected = len(self._header.names)
            found = "1 field" if scan.fields == 1 else f"{scan.fields} fields"
            return f"has {found}, the header {expected}", _FIELDS_HINT
        if scan.why == AFTER_QUOTE:
            return "has text after a closing quote", _QUOTE_HINT
        return "opens a quote that is not closed", _QUOTE_HINT

    def names(self, raw: Raw, rows: Rows) -> list[str]:
        return list(self._header.names)

    def schema(self) -> pa.Schema:
        return strings_schema(self._header.names)

    def insertions(self, raw: Raw, bounds: np.ndarray, added: pa.Table) -> Joined:
        delimiter = _delimiter(self._file)
        return csv_rows(added, delimiter, delimiter, "", self._file.escape)

    def changed(
        self, record: bytes, values: Mapping[str, Any], renamed: Mapping[str, str]
    ) -> bytes:
        delimiter, escape, out = _delimiter(self._file), self._file.escape, io.StringIO()
        text = io.StringIO(record.decode(errors="surrogateescape"), newline="")
        how: Any = {"delimiter": delimiter}
        cells = next(csv.reader(text, escapechar=escape or None, strict=True, **how))
        names = [renamed.get(name, name) for name in self._header.names]
        cells = [values.get(name, cell) for name, cell in zip(names, cells, strict=True)]
        more = [joined_list(value) for name, value in values.items() if name not in names]
        if escape:
            cells = [cell.replace(escape, 2 * escape) for cell in cells]
            how["quoting"] = csv.QUOTE_ALL
        how["lineterminator"] = "\r\n" if record.endswith(b"\r\n") else "\n"
        csv.writer(out, **how).writerow([*cells, *more])
        return out.getvalue().encode(errors="surrogateescape")

    def _lossless_column(self, reader: Any, k: int, name: str) -> Column:
        # CSV has no null: an empty field is an empty string.
        return reader.strings(k, name, nulls=False)


class _Scan(NamedTuple):
    """Records found in bytes, and the error after them, see `csv_records`."""

    bounds: np.ndarray
    values: np.ndarray
    kinds: np.ndarray
    why: int
    stop: int
    fields: int


def _scan(
    raw: Raw,
    file: SourceFile,
    final: bool = True,
    there: Sequence[str] = (),
    names: Sequence[str] = (),
) -> _Scan:
    """Find records, and the columns ``names`` of those that are ``there``; no check without."""
    row_of = np.full(len(there), -1, np.int64)
    for k, name in enumerate(names):
        row_of[there.index(name)] = k
    capacity = raw.size // 2 + 1
    bounds = np.empty((capacity, 3), np.int32)
    values = np.empty((len(names), capacity, 2), np.int32)
    kinds = np.empty((len(names), capacity), np.uint8)
    codes = np.uint8(ord(_delimiter(file))), np.uint8(_escape(file))
    count, why, stop, fields = csv_records(
        raw.data, raw.size, *codes, final, row_of, len(there), bounds, values, kinds
    )
    return _Scan(bounds[:count], values, kinds, int(why), int(stop), int(fields))


def _limit(file: SourceFile, columns: Columns) -> RecordLimit:
    how = columns.max_document, columns.skip_large, _delimiter(file), file.escape
    return RecordLimit(*how)


def cut(
    index: int, file: SourceFile, columns: Columns, partition_bytes: int
) -> Iterator[CsvPartition]:
    header: list[_Header] = []

    def last_end(raw: Raw, final: bool, position: int, line: int | None) -> int:
        nonlocal file
        skip = 0
        if not header:
            begin = raw.data[: min(raw.size, HEAD)].tobytes()
            skip = text_start(file.path, begin, b"\n")
            if named := _SEPARATOR.match(begin, skip):
                skip = named.end()
                file = replace(file, delimiter=named[2].decode())
            elif _is_usual(file, begin[skip:], columns.required):
                file = replace(file, delimiter="")
        rest = Raw(raw.data[skip:], raw.size - skip)
        scan = _scan(rest, file, final)
        known = header or len(scan.bounds)
        if scan.why == OPEN_QUOTE and not (columns.skip_bad and known):
            before = int(np.count_nonzero(rest.data[: scan.stop] == 10))
            raise FormatError(
                f"{file.path}: a quote opened in line {line_of(file, position, line) + before} is "
                "not closed",
                _QUOTE_HINT,
            )
        if len(scan.bounds) and not header:
            if int(scan.bounds[0, 2]) > columns.max_document:
                raise too_large(f"{file.path}: line 1", "record", limit)
            head = raw.data[: skip + int(scan.bounds[0, 2])].tobytes()
            header.append(_read_header(file, head, head[skip + int(scan.bounds[0, 0]) :]))
            _check_delimiter(file, header[0].names, columns.required or None)
            check_schema(file.path, strings_schema(header[0].names), columns)
        end = skip + int(scan.bounds[-1, 2]) if len(scan.bounds) else 0
        return raw.size if final else end

    limit = _limit(file, columns)
    for extent in cut_stream(file, partition_bytes, last_end, limit):
        if header:
            yield CsvPartition(index, file, columns, extent, header[0])


def _is_usual(file: SourceFile, begin: bytes, needed: Sequence[str]) -> bool:
    """Whether a header has not the delimiter that is given, but columns by that of its format.

    Of several files that are read together some have one, some the other.
    """
    usual, line = DELIMITERS[file.format], re.split(rb"[\r\n]", begin, maxsplit=1)[0]
    if not file.delimiter or file.delimiter.encode() in line or usual.encode() not in line:
        return False
    text = line.decode(errors="replace")
    return {*needed} <= {*next(csv.reader([text], delimiter=usual))}


def _read_header(file: SourceFile, raw: bytes, record: bytes) -> _Header:
    if error := first_not_utf8(file.path, raw):
        raise error
    text = io.StringIO(record.decode().strip("\r\n"), newline="")
    try:
        return _Header(tuple(next(csv.reader(text, delimiter=_delimiter(file)))), raw)
    except csv.Error as error:
        raise FormatError(f"{file.path}: the header is not a record of CSV", _QUOTE_HINT) from error


def _check_delimiter(file: SourceFile, names: Sequence[str], needed: Sequence[str] | None) -> None:
    """Refuse a file that lacks needed columns and seems to be JSON, or to have other delimiters.

    ``needed`` is None for any two columns.
    """
    if not names or (needed is not None and set(needed) <= set(names)):
        return
    name = names[0]
    if name.startswith("{"):
        raise FormatError(f"{file.path}: JSON, and was to be CSV", "`input_format`='jsonl'")
    if len(names) > 1 or name in (needed or ()):
        return
    others = (other for other in _OTHER_DELIMITERS if other != _delimiter(file))
    delimiter = max(others, key=name.count)
    if delimiter not in name:
        return
    parts = [part.strip().strip('"') for part in name.split(delimiter)]
    # Without a header the first record may be text of a document.
    readable = not any(shown(part, 0).startswith("column ") for part in parts)
    only = repr(name) if readable else f"named with {delimiter!r}"
    what = f"the only column is {only}"
    what = f"no column {spelled(needed[0])}; {what}" if needed else what
    raise ColumnError(f"{file.path}: {what}", f"`delimiter`={delimiter!r}")


def layout(file: SourceFile, columns: Columns) -> Layout:
    """How the records of a file are written: the header first, byte for byte."""
    first = next(cut(0, file, columns, 1 << 16), None)
    if first is None:
        return Layout(file.format, file.compression, delimiter=file.delimiter, escape=file.escape)
    file, raw = first.described, first._header.raw
    end = b"" if raw.endswith((b"\n", b"\r")) else b"\n"
    schema, text = first.schema(), columns.text
    how = file.delimiter, file.escape
    return Layout(file.format, file.compression, raw + end, schema, text, *how)


def in_records(layout: Layout, name: str, records: bytes, rows: Mapping[int, str]) -> bytes:
    """Return records, the bytes of CSV, with other values of a column, by the rows of these."""
    assert layout.schema is not None
    data = np.zeros(len(records) + PAD, np.uint8)
    data[: len(records)] = np.frombuffer(records, np.uint8)
    file = SourceFile("", "", layout.format, None, 0, 0, delimiter=layout.delimiter)
    found = _scan(
        Raw(data, len(records)),
        replace(file, escape=layout.escape),
        there=layout.schema.names,
        names=[name],
    )
    parts, done = [], 0
    for row in sorted(rows):
        start, stop = found.values[0, row].tolist()
        quoted = records[start - 1 : start] == b'"'
        text = rows[row].replace('"', '""')
        if layout.escape:
            text = text.replace(layout.escape, 2 * layout.escape)
        parts += [records[done : start - quoted], f'"{text}"'.encode()]
        done = stop + quoted
    return b"".join([*parts, records[done:]])


def csv_header(names: Sequence[str], delimiter: str, header: bytes = b"") -> bytes:
    """A header, or ``header``, which has its line end, with more columns."""
    text = io.StringIO(newline="")
    csv.writer(text, delimiter=delimiter, lineterminator="").writerow(names)
    line = text.getvalue().encode()
    if not header:
        return line + b"\n"
    record = header.rstrip(b"\r\n")
    return record + delimiter.encode() + line + header[len(record) :]


def csv_rows(table: pa.Table, delimiter: str, begin: str, end: str, escape: str = "") -> Joined:
    """The rows of a table as CSV; nested values are JSON text, null is an empty field."""
    import pyarrow.compute as pc

    # An empty line is no record.
    null = string_scalar('""' if table.num_columns == 1 and not begin else "")
    columns = [
        cast(Any, pc.fill_null)(_csv_texts(column, delimiter, escape), null)
        for column in table.columns
    ]
    return joined_rows(columns, [begin] + [delimiter] * (len(columns) - 1), end)


def _csv_texts(column: Column, delimiter: str, escape: str) -> Column:
    import pyarrow.compute as _pc

    pc = cast(Any, _pc)
    try:
        text = json_texts(column, None) if pa.types.is_nested(column.type) else None
        if text is None:
            text = column.cast(pa.large_string())
            if pa.types.is_floating(column.type):  # JSON has no form for NaN and the infinite ones
                text = pc.coalesce(json_texts(column, None), text)
    except pa.ArrowException:
        text = json_texts(column, None)
    odd = pc.match_substring_regex(text, f'["\r\n{re.escape(delimiter)}]|^$')
    if escape:
        odd = pc.or_(odd, pc.match_substring(text, escape))
        text = pc.replace_substring(text, escape, 2 * escape)
    quoted = concatenated('"', pc.replace_substring(text, '"', '""'), '"')
    return pc.if_else(odd, quoted, text)
