"""CSV and TSV by RFC 4180: cut at record ends, then each chunk parsed as a whole by Arrow.

Columns are read as strings, so that ``007`` stays ``007``. Each chunk notes in its fields which
types their strings are exact spellings of; `unify` gives a column the type that fits all of it.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv

from neardup.corpus.documents import Chunk, Columns, Documents
from neardup.corpus.inputs import InputFile, unreadable
from neardup.corpus.schemas import narrow_field
from neardup.corpus.streams import ByteStream, without_bom
from neardup.corpus.texts import REPLACE_HINT, check_schema, to_documents
from neardup.errors import ColumnError, EncodingError, FormatError
from neardup.kernels.csvcut import (
    CUT_LINE,
    CUT_RECORDS,
    MODE,
    QUOTE_LINE,
    QUOTED,
    cut_records,
    find_record,
    new_state,
)

__all__ = ["cut_csv", "records_of"]

_DELIMITERS = {"csv": ",", "tsv": "\t"}
_MOST = np.int64(1) << 62
_ARROW_BYTES = (1 << 31) - 4096  # Arrow's block size is a 32-bit number
_LONGEST_NUMBER = 32
_HEAD_BYTES = 64 << 10
_QUOTE_HINT = 'a quote in a field is written "", and the field is quoted'


@dataclass(frozen=True)
class _CsvFile:
    name: str
    delimiter: str
    names: tuple[str, ...]
    columns: Columns


@dataclass(frozen=True)
class _CsvChunk(Chunk):
    raw: bytes
    size: int
    line: int
    file: _CsvFile

    def read(self) -> Documents:
        file = self.file
        if len(self.raw) > _ARROW_BYTES:
            raise FormatError(
                f"{file.name}: line {self.line}: a record of more than 2 GiB", _QUOTE_HINT
            )
        try:
            table = pacsv.read_csv(
                pa.BufferReader(self.raw),
                pacsv.ReadOptions(
                    use_threads=False, block_size=len(self.raw) + 64, column_names=file.names
                ),
                pacsv.ParseOptions(delimiter=file.delimiter, newlines_in_values=True),
                pacsv.ConvertOptions(
                    check_utf8=False,
                    column_types=dict.fromkeys(file.names, pa.string()),
                    null_values=[""],
                    strings_can_be_null=True,
                    quoted_strings_can_be_null=False,
                ),
            )
        except pa.ArrowException as error:
            raise self._refused() from error
        fields, arrays = [], []
        for name, column in zip(file.names, table.columns, strict=True):
            # Nulls are the unquoted empty fields: only they may be absent numbers.
            fits = None if name in file.columns.text else narrow_field(_fits(column))
            fields.append(pa.field(name, pa.string(), metadata=fits))
            arrays.append(pc.fill_null(column, ""))
        table = pa.Table.from_arrays(arrays, schema=pa.schema(fields))
        return to_documents(table, file.columns, self._where, origin=file.name)

    def _where(self, row: int) -> str:
        line, _ = self._record(-1, row)
        return f"{self.file.name}: line {self.line + line}"

    def _record(self, fields: int, index: int) -> tuple[int, int]:
        data = np.frombuffer(self.raw, np.uint8)
        if fields >= 0:
            return find_record(data, ord(self.file.delimiter), fields, index)
        # Every record that Arrow took has the fields of the header.
        return find_record(data, ord(self.file.delimiter), len(self.file.names), index)

    def _refused(self) -> FormatError:
        expected = len(self.file.names)
        line, fields = self._record(expected, -1)
        if line < 0:
            return FormatError(f"{self.file.name}: a record from line {self.line} on is not CSV")
        return FormatError(
            f"{self.file.name}: line {self.line + line} has {fields} fields, the header {expected}",
            "quote fields that hold the delimiter or a newline",
        )


def cut_csv(file: InputFile, columns: Columns, chunk_bytes: int) -> Iterator[Chunk]:
    """Chunks of a CSV or TSV file with a header.

    Raises:
        ColumnError: A column is not there, or the header has a name twice.
        EncodingError: The header is not UTF-8.
        FormatError: A quote that is open at the end of the file.
    """
    delimiter = _DELIMITERS[file.format]
    state = new_state()
    shared: _CsvFile | None = None
    held: list[bytes] = []
    line = records = 0
    start = True
    done = 0

    def taken(left: int) -> int:
        """Bytes of the source up to those that are left, since the last call."""
        nonlocal done
        if file.compression:
            return stream.taken()
        size, done = stream.plain - left - done, stream.plain - left
        return size

    with ByteStream(file) as stream:
        while block := stream.read(chunk_bytes):
            if start:
                block, start = without_bom(file.path, block), False
            if shared is None:
                data = np.frombuffer(block, np.uint8)
                cut = cut_records(data, state, ord(delimiter), 1)
                if not state[CUT_RECORDS]:
                    held.append(block)
                    continue
                shared = _header(file.path, b"".join([*held, block[:cut]]), delimiter, columns)
                held, block = [], block[cut:]
                line, records = state[CUT_LINE], state[CUT_RECORDS]
            cut = cut_records(np.frombuffer(block, np.uint8), state, ord(delimiter), _MOST)
            if cut and state[CUT_RECORDS] > records:
                raw = b"".join([*held, block[:cut]])
                held = [block[cut:]]
                yield _CsvChunk(raw, taken(len(held[0])), int(line), shared)
                line, records = state[CUT_LINE], state[CUT_RECORDS]
            else:
                held.append(block)
        if state[MODE] == QUOTED:
            raise FormatError(
                f"{file.path}: a quote opened in line {state[QUOTE_LINE]} is not closed",
                _QUOTE_HINT,
            )
        rest = b"".join(held)
        if shared is None:
            if rest.strip(b"\r\n"):
                _header(file.path, rest, delimiter, columns)
        elif rest.strip(b"\r\n"):
            yield _CsvChunk(rest, taken(0), int(line), shared)


def records_of(
    file: InputFile, columns: Columns, ranges: Iterable[tuple[int, int]]
) -> Iterator[Chunk]:
    """Chunks of some ranges of bytes of a file that is not compressed, as `cut_csv` has cut it.

    Of the file no more is looked at than its head and these ranges.

    Raises:
        As `cut_csv`.
    """
    head = next(cut_csv(file, columns, _HEAD_BYTES), None)
    if not isinstance(head, _CsvChunk):
        return
    for start, end in ranges:
        begin = start or head.size - len(head.raw)
        try:
            with Path(file.source).open("rb") as source:
                source.seek(begin)
                raw = source.read(end - begin)
        except OSError as error:
            raise unreadable(file.path, error) from error
        yield _CsvChunk(raw, end - start, 1, head.file)


def _header(name: str, raw: bytes, delimiter: str, columns: Columns) -> _CsvFile:
    try:
        text = raw.decode().strip("\r\n")
    except UnicodeDecodeError as error:
        raise EncodingError(f"{name}: the header is not valid UTF-8", REPLACE_HINT) from error
    # Python's reader splits lines by itself, so that a quoted newline needs the line ends kept.
    names = next(csv.reader(text.splitlines(keepends=True), delimiter=delimiter))
    twice = [n for n in names if names.count(n) > 1]
    if twice:
        raise ColumnError(
            f"{name}: the header has the name {twice[0]!r} twice", "rename one of the columns"
        )
    check_schema(name, pa.schema([(n, pa.string()) for n in names]), columns)
    return _CsvFile(name, delimiter, tuple(names), columns)


def _fits(column: pa.ChunkedArray) -> set[str]:
    """Types that every value is an exact spelling of: what is read back is what was there."""
    values = column.drop_null()
    if not len(values):
        return {"empty"}
    if pc.max(pc.binary_length(values)).as_py() > _LONGEST_NUMBER:
        return set()
    if pc.all(pc.is_in(values, pa.array(["true", "false"]))).as_py():
        return {"bool"}
    fits = set()
    if _returns(values, pa.int64()):
        fits.add("int64")
    try:
        floats = values.cast(pa.float64())
    except pa.ArrowInvalid:
        return fits
    if not pc.all(pc.is_finite(floats)).as_py():  # "nan" and "inf" may be words
        return fits
    if floats.cast(pa.string()).equals(values):
        fits.add("arrow-float")
    if "int64" not in fits:  # Python writes every float with a point or an exponent
        spelled = zip(floats.to_pylist(), values.to_pylist(), strict=True)
        if all(repr(number) == text for number, text in spelled):
            fits.add("python-float")
    return fits


def _returns(values: pa.ChunkedArray, type: pa.DataType) -> bool:
    try:
        return bool(values.cast(type).cast(pa.string()).equals(values))
    except pa.ArrowInvalid:
        return False
