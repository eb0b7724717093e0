"""JSON lines: cut at newlines, then each chunk parsed as a whole by Arrow.

Arrow's parser is a fast path: it skips work whose result is known. Whatever it refuses or reads
with a loss (a column of several types, an integer beyond 64 bits, a string taken for a time) is
read again, by `neardup.corpus.jsonexact` where need be, which also finds the line of an error.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pajson

from neardup.corpus.documents import Chunk, Columns, Documents
from neardup.corpus.inputs import InputFile
from neardup.corpus.jsonexact import MAX_DEPTH, parse_exactly
from neardup.corpus.schemas import WIDE_FIELD, is_json
from neardup.corpus.streams import (
    ByteStream,
    Piece,
    cut_lines,
    line_of,
    lines_within,
    without_bom,
)
from neardup.corpus.texts import missing_column, to_documents
from neardup.errors import FormatError
from neardup.kernels.csvcut import json_bounds, json_depth, select_lines

__all__ = ["LINES_HINT", "cut_json", "lines_of"]

LINES_HINT = "one object a line is expected; convert with: jq -c '.[]' in.json > out.jsonl"

_HEAD_BYTES = 8 << 20  # a column must be named within these, so that a typo shows at once
_SAMPLE_BYTES = 64 << 10
_ARROW_BYTES = (1 << 31) - 4096  # Arrow's block size is a 32-bit number
_EXACT = 1 << 53  # floats hold all integers up to here


@dataclass(frozen=True)
class _JsonFile:
    """What all chunks of a file share.

    Args:
        explicit: Columns that are strings whatever Arrow would make of them.
        order: Columns as the first objects have them; explicit ones come first from Arrow.
    """

    file: InputFile
    columns: Columns
    explicit: pa.Schema
    order: tuple[str, ...]


class _JsonChunk(Chunk):
    def __init__(self, piece: Piece, shared: _JsonFile) -> None:
        self.size = piece.size
        self._piece = piece
        self._shared = shared

    def read(self) -> Documents:
        shared, raw = self._shared, self._piece.raw
        table, replaced = _parsed(raw, shared.explicit), 0
        if table is None:
            table, replaced = parse_exactly(raw, self._line, shared.columns)
        return self._documents(table, replaced)

    def read_again(
        self, rows: np.ndarray, count: int, schema: pa.Schema | None = None
    ) -> Documents:
        """Read some of the documents once more; only their lines are parsed.

        Values of JSON text depend on the lines around them: where 1 stands beside 2.5 it is 1.0.
        Then all lines are parsed, so that what is written is what was there.
        """
        if len(rows) < count and not any(is_json(field) for field in schema or ()):
            raw = np.frombuffer(self._piece.raw, np.uint8)
            out = np.empty(len(raw) + 1, dtype=np.uint8)
            lines, size = select_lines(raw, rows, out)
            # A document is a line that is not blank: as many lines as documents, so none is blank.
            if lines == count:
                table = _parsed(out[:size], self._shared.explicit)
                if table is not None:
                    return self._documents(table, 0)
        return super().read_again(rows, count)

    def beside(self, piece: Piece) -> _JsonChunk:
        """Another chunk of the same file."""
        return _JsonChunk(piece, self._shared)

    def _documents(self, table: pa.Table, replaced: int) -> Documents:
        shared = self._shared
        there = dict.fromkeys(table.column_names)
        first = [name for name in shared.order if name in there]
        table = table.select(list(dict.fromkeys([*first, *there])))
        # Every string is valid by now, so that no place is ever asked for.
        return to_documents(
            _mark_wide(table), shared.columns, self._line, replaced, shared.file.path
        )

    def _line(self, index: int) -> str:
        file, piece = self._shared.file, self._piece
        return f"{file.path}: line {line_of(file, piece.start, piece.line) + index}"


def cut_json(file: InputFile, columns: Columns, chunk_bytes: int) -> Iterator[Chunk]:
    """Chunks of a file of JSON lines.

    Raises:
        FormatError: The file is a JSON array.
        ColumnError: No object in the first 8 MiB has the text column or the id column.
    """

    def check_head(head: bytes) -> bytes:
        head = without_bom(file.path, head)
        if head.lstrip().startswith(b"["):
            raise FormatError(f"{file.path}: line 1 is a JSON array, not an object", LINES_HINT)
        return head

    with ByteStream(file) as stream:
        pieces = cut_lines(stream, chunk_bytes, check_head)
        held: list[Piece] = []
        size = 0
        for piece in pieces:
            held.append(piece)
            size += len(piece.raw)
            if size >= _HEAD_BYTES or _has_all(piece.raw, columns):
                break
        order = _checked_names(file.path, held, columns)
        shared = _JsonFile(file, columns, _explicit(held, columns), order)
        for piece in held:
            yield _JsonChunk(piece, shared)
        held.clear()
        for piece in pieces:
            yield _JsonChunk(piece, shared)


def lines_of(
    file: InputFile, columns: Columns, ranges: Iterable[tuple[int, int]]
) -> Iterator[Chunk]:
    """Chunks of the lines that begin in some ranges of bytes of a file that is not compressed.

    Of the file no more is looked at than its head and these ranges.

    Raises:
        As `cut_json`.
    """
    head = next(cut_json(file, columns, _SAMPLE_BYTES), None)
    if not isinstance(head, _JsonChunk):
        return
    for start, end in ranges:
        piece = lines_within(file, start, end)
        if piece is not None:
            yield head.beside(piece)


def _objects(raw: bytes) -> Iterator[dict[str, object]]:
    """The objects of the lines; ends early at a line that is none, which the chunk will report.

    Raises:
        ValueError: At such a line.
    """
    for line in io.BytesIO(raw):
        if line.strip():
            value = json.loads(line.decode(errors="replace"))
            if not isinstance(value, dict):
                raise ValueError("not an object")
            yield value


def _has_all(raw: bytes, columns: Columns) -> bool:
    wanted = set(columns.required)
    try:
        for value in _objects(raw):
            wanted.difference_update(value)
            if not wanted:
                return True
    except (ValueError, RecursionError):
        return True
    return False


def _checked_names(name: str, pieces: list[Piece], columns: Columns) -> tuple[str, ...]:
    """The names of the columns of the first objects, until all that are required were there."""
    names: dict[str, None] = {}
    try:
        for piece in pieces:
            for value in _objects(piece.raw):
                names.update(dict.fromkeys(value))
                if all(column in names for column in columns.required):
                    return tuple(names)
    except (ValueError, RecursionError):
        return tuple(names)
    missing = [column for column in columns.required if column not in names]
    if missing and names:
        where = (
            "" if sum(map(len, (p.raw for p in pieces))) < _HEAD_BYTES else " in the first 8 MiB"
        )
        raise missing_column(name, missing[0], list(names), where)
    return tuple(names)


def _explicit(pieces: list[Piece], columns: Columns) -> pa.Schema:
    """The text columns, and those columns of the first lines that Arrow would take for times.

    A sample saves parsing every chunk twice; times that it does not show are found later.
    """
    names = dict.fromkeys(columns.text)
    raw = pieces[0].raw if pieces else b""
    sample = raw[: raw.rfind(b"\n", 0, _SAMPLE_BYTES) + 1] or raw
    if len(sample) <= _SAMPLE_BYTES and not _bounds(sample)[0]:
        try:
            schema = _read(sample, None).schema
            times = [field.name for field in schema if pa.types.is_timestamp(field.type)]
            names.update(dict.fromkeys(times))
        except (pa.ArrowException, UnicodeDecodeError):
            pass  # the chunk will say what is wrong
    return pa.schema([(name, pa.string()) for name in names])


def _read(raw: Any, explicit: pa.Schema | None) -> pa.Table:
    if not len(raw):  # Arrow refuses an empty block
        return (explicit or pa.schema([])).empty_table()
    return pajson.read_json(
        pa.BufferReader(pa.py_buffer(raw)),
        pajson.ReadOptions(use_threads=False, block_size=len(raw) + 64),
        pajson.ParseOptions(explicit_schema=explicit),
    )


def _bounds(raw: Any) -> tuple[bool, bool, int]:
    """Whether values nest too deep for Arrow, which dies of a full stack; and the lines.

    Returns:
        Too deep, whether every line starts as an object does, and the number of lines.
    """
    whole = len(raw) // 8
    words = np.frombuffer(raw, np.uint64, whole)
    depth, newlines, starts = json_bounds(words, np.frombuffer(raw, np.uint8, offset=8 * whole))
    # The bound is cheap and counts too many brackets; few chunks need the exact depth.
    deep = depth > MAX_DEPTH and json_depth(np.frombuffer(raw, np.uint8)) > MAX_DEPTH
    lines = newlines + (bytes(raw[-1:]) != b"\n")
    return deep, starts == lines, lines


def _parsed(raw: Any, explicit: pa.Schema) -> pa.Table | None:
    """The chunk as Arrow reads it; None where that fails or would lose something."""
    deep, dense, lines = _bounds(raw)
    if deep or len(raw) > _ARROW_BYTES:
        return None
    try:
        table = _read(raw, explicit)
        if any(_has_type(field.type, pa.types.is_timestamp) for field in table.schema):
            fields = [pa.field(f.name, _as_string(f.type)) for f in table.schema]
            table = _read(raw, pa.schema(fields))
        table.validate(full=True)
        names = table.column_names
    except (pa.ArrowException, UnicodeDecodeError, OSError):
        return None
    if len(set(names)) < len(names) or _has_rounded(table):
        return None
    # Arrow also takes two objects on a line, and one on two lines if no cut falls between.
    if not dense:
        starts = [line[:1] for line in map(bytes.strip, io.BytesIO(raw)) if line]
        # A line that goes on with an object's rest starts otherwise, but for a broken object.
        if any(start != b"{" for start in starts):
            return None
        lines = len(starts)
    if lines != table.num_rows:
        return None
    return table


def _has_type(type: pa.DataType, test: object) -> bool:
    if callable(test) and test(type):
        return True
    return any(_has_type(type.field(i).type, test) for i in range(type.num_fields))


def _as_string(type: pa.DataType) -> pa.DataType:
    """The same nested type with strings for times."""
    if pa.types.is_timestamp(type):
        return pa.string()
    if pa.types.is_struct(type):
        fields = [type.field(i) for i in range(type.num_fields)]
        return pa.struct([pa.field(f.name, _as_string(f.type)) for f in fields])
    if pa.types.is_list(type):
        return pa.list_(_as_string(type.value_type))
    return type


def _has_rounded(table: pa.Table) -> bool:
    """Whether a float is so large that an integer may have been rounded to it."""
    for column in table.columns:
        if _has_type(column.type, pa.types.is_floating):
            for array in column.chunks:
                for leaf in _float_leaves(array):
                    low, high = pc.min_max(leaf).as_py().values()
                    if low is not None and (low <= -_EXACT or high >= _EXACT):
                        return True
    return False


def _float_leaves(array: pa.Array) -> Iterator[pa.Array]:
    if pa.types.is_floating(array.type):
        yield array
    elif pa.types.is_list(array.type):
        yield from _float_leaves(array.values)
    elif pa.types.is_struct(array.type):
        for i in range(array.type.num_fields):
            yield from _float_leaves(array.field(i))


def _mark_wide(table: pa.Table) -> pa.Table:
    """Mark integer columns that floats could not hold, for `unify` to keep them apart."""
    for i, field in enumerate(table.schema):
        if pa.types.is_int64(field.type):
            low, high = pc.min_max(table.column(i)).as_py().values()
            if low is not None and (low < -_EXACT or high > _EXACT):
                marked = field.with_metadata(WIDE_FIELD)
                table = table.set_column(i, marked, table.column(i))
    return table
