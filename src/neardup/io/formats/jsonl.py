"""JSON lines: cut at newlines; the fields that a pass needs are found in the bytes.

Every line is checked as Python's parser would check it, but only the columns that are needed
become Arrow arrays. The other columns may have any content.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import Any, TypeVar, cast

import numpy as np
import pyarrow as pa

from neardup.arrays import PAD
from neardup.errors import ColumnError, FormatError
from neardup.io.columns import check_new, missing_path
from neardup.io.formats.byte_partitions import KEEP_HINT, KINDS, Bad, BytePartition, Fields
from neardup.io.formats.column_paths import LIST, follow, heads, shape_of_values, splits
from neardup.io.formats.json_text import Joined, json_rows, nested
from neardup.io.formats.large_records import RecordLimit
from neardup.io.source import Columns, Layout, Rows, SourceFile
from neardup.io.streams import Raw, cut_lines, cut_stream, read_range
from neardup.io.unpacking.first_bytes import HEAD, text_start
from neardup.kernels.scanning import (
    ABSENT,
    ARRAY,
    DEEP,
    INTEGER,
    NULL,
    OBJECT,
    REPEATED,
    UNKNOWN,
    json_fields,
    json_lines,
)

P = TypeVar("P", bound=BytePartition)
_LINE_HINT = "`skip_bad`=True leaves such lines out and counts them"
_CONVERTED = "one object a line is expected; convert with: jq -c {} in.json > out.jsonl"
_ARRAY_HINT = _CONVERTED.format("'.[]'")
_FORMAT_HINT = (
    "every line must be one JSON object; if this is another format, name it with `input_format`; "
    f"{_LINE_HINT}"
)
#: An object whose first member is a list of objects, such as ``{"data": [{``; and its name.
_WRAPPED = re.compile(r'\s*\{\s*"(\w+)"\s*:\s*\[\s*\{')
_HEAD_BYTES = 8 << 20  # a column must be named within these: a typo shows at once
_HEAD_LINES = 100
_BLOCK = 1 << 20
_DEPTH = 1000  # levels of nesting
_TOO_DEEP = f"nests more than {_DEPTH} levels deep"
_LOOKED_AT = 1 << 16  # bytes after the start of a line that is no JSON
_SHORT = 32  # bytes of a line on average; most have more
_MOST_KEYS = 10_000  # of lines that are looked at for records that can't be read
_MOST_CELLS = 1 << 22  # of a table: a key for each record would take quadratic memory
_KINDS = {bool: "a boolean", float: "a number", list: "an array", str: "a string"}


class JsonPartition(BytePartition):
    def found(self, raw: Raw) -> np.ndarray:
        return lines_in(raw)

    def fields(
        self, raw: Raw, names: Sequence[str], rows: Rows, count: int | None, exact: bool
    ) -> Fields:
        lines = self.bounds(raw, rows, count)
        if exact:
            fields, done, why, _ = _find(raw, lines, names)
        else:
            refuse = _leave if self._columns.skip_bad else self._refuse_head
            fields, done, why = _find_paths(raw, lines, names, refuse)
        if why:
            raise self._refused(raw, lines[done], why, names)
        return fields

    def _refuse_head(self, starts: np.ndarray, kinds: np.ndarray, path: str) -> None:
        where, what = self.position(int(starts[0])), _leads_through(int(kinds[0]), path)
        raise ColumnError(f"{where}: {what}", "correct the record, or name another column")

    def unread(self, raw: Raw) -> dict[int, str]:
        found, lines = super().unread(raw), self.bounds(raw)

        def note(starts: np.ndarray, kinds: np.ndarray, path: str) -> None:
            rows = np.searchsorted(lines[:, 0], starts, "right") - 1
            for row, kind in zip(rows.tolist(), kinds.tolist(), strict=True):
                found[row] = _leads_through(kind, path)

        _find_paths(raw, lines, self._columns.required, note)
        return found

    def names(self, raw: Raw, rows: Rows) -> list[str]:
        lines = self.bounds(raw, rows)
        names: list[str] = []
        count = len(lines)
        while True:
            _, done, why, unknown = _find(raw, lines, names, every=True)
            if not why:
                return names or [*self._columns.required, "text"][:1]
            lines = lines[done:]
            if why != UNKNOWN:
                raise self._refused(raw, lines[0], why, names)
            try:
                name = json.loads(b'"' + unknown + b'"')
                name.encode()
            except UnicodeError:
                raise self._no_table(lines[0], "a key that is not UTF-8") from None
            if len(names) * count > _MOST_CELLS:
                raise self._no_table(lines[0], "one new key more than a table can have")
            names.append(name)

    def _no_table(self, line: np.ndarray, what: str) -> FormatError:
        return FormatError(f"{self.position(int(line[0]))} has {what}", KEEP_HINT)

    def _refused(self, raw: Raw, line: np.ndarray, why: int, names: Sequence[str]) -> FormatError:
        what, hint = self._why(raw, line, why, names)
        return FormatError(f"{self.position(int(line[0]))} {what}", hint)

    def malformed(self, raw: Raw) -> Iterator[Bad]:
        lines = self.bounds(raw)
        names = [name for name in (*self._columns.text, self._columns.id) if name]
        every = not names
        first, size = 0, _HEAD_LINES
        while first < len(lines):
            part = lines[first : first + size]
            _, done, why, unknown = _find(raw, part, names, every)
            if why == UNKNOWN and len(names) < _MOST_KEYS:
                names.append(json.loads(b'"' + unknown + b'"'))
            elif why:
                line = part[done]
                yield int(line[0]), int(line[2]), partial(self._said, raw, line, why, names)
                first, size = first + done + 1, _HEAD_LINES
            else:
                first, size = first + len(part), 2 * size

    def _said(self, *line: Any) -> str:
        return self._why(*line)[0]

    def _why(self, raw: Raw, line: np.ndarray, why: int, names: Sequence[str]) -> tuple[str, str]:
        """Return the error in words for a line, and a remedy."""
        start, last, _ = line.tolist()
        text = raw.data[start : last + 1].tobytes().decode(errors="replace")
        keys: list[str] = []  # of the outermost object, which comes last

        def seen(found: list[tuple[str, Any]]) -> dict[str, Any]:
            keys[:] = [key for key, _ in found]
            return dict(found)

        if several := _several_lines(raw, start):
            return several
        what, hint = "is not valid JSON", _LINE_HINT
        try:
            # Numbers may have any number of digits.
            value = json.loads(text, parse_int=float, object_pairs_hook=seen)
            twice = [name for name in names if keys.count(name) > 1]
            if not isinstance(value, dict):
                what = f"is {_KINDS.get(type(value), 'null')}, not an object"
            elif twice:
                what = f"has the key {twice[0]!r} twice"
            elif why == DEEP:
                what = _TOO_DEEP
            elif why == REPEATED:
                what = "has a key twice in an object"
        except json.JSONDecodeError as error:
            what = f"is not valid JSON at character {error.pos + 1}: {error.msg}"
            hint = hint if error.pos else _FORMAT_HINT
        except RecursionError:
            what = _TOO_DEEP
        return what, hint

    def present(self, names: Sequence[str]) -> list[str]:
        raw = self.raw()
        return _present(raw, self.bounds(raw), names)

    def lists(self) -> list[str]:
        raw = self.raw()
        names = self.names(raw, None)
        kinds = _find(raw, self.bounds(raw), names)[0].kinds
        return [name for name, of in zip(names, kinds, strict=True) if (of == ARRAY).any()]

    def changed(
        self, record: bytes, values: Mapping[str, Any], renamed: Mapping[str, str]
    ) -> bytes:
        # Lists and objects are texts in a table.
        new = {name: nested(value) for name, value in values.items()}
        there = json.loads(record.decode(errors="surrogateescape"))
        there = {renamed.get(name, name): value for name, value in there.items()}
        line = json.dumps({**there, **new}, ensure_ascii=False, separators=(",", ":"))
        return line.encode(errors="surrogateescape") + b"\n"

    def insertions(self, raw: Raw, bounds: np.ndarray, added: pa.Table) -> Joined:
        names = added.column_names
        check_new(self._file.path, _present(raw, bounds, names), names)
        data, ends = json_rows(added, ",", "")
        # In an empty object there is no member for a comma to follow.
        drop = np.zeros(len(ends), np.int64)
        for row in np.flatnonzero(bounds[:, 1] - bounds[:, 0] < PAD).tolist():
            start, last, _ = bounds[row].tolist()
            drop[row + 1] = not raw.data[start + 1 : last].tobytes().strip()
        if drop.any():
            data = np.delete(data, ends[:-1][drop[1:] > 0])
        return data, ends - np.cumsum(drop)


def strings_in(records: memoryview, name: str, rows: np.ndarray) -> np.ndarray:
    """Return int64[rows, 2]: where the strings of a member are in records, without their quotes.

    Args:
        records: Lines that were checked, none of them empty.
        name: Of the member; the lines asked about have a string there.
        rows: int64[rows]: the lines asked about.
    """
    data = np.zeros(len(records) + PAD, np.uint8)
    data[: len(records)] = records
    raw = Raw(data, len(records))
    fields = _find_paths(raw, lines_in(raw)[rows], [name], _leave)[0]
    return np.asarray(fields.values[0], np.int64)


def lines_in(raw: Raw) -> np.ndarray:
    """Return the lines of JSON lines, see `json_lines`."""
    for shortest in (_SHORT, 2):  # a table for the shortest lines would be six times the text
        lines = np.empty((raw.size // shortest + 1, 3), np.int32)
        if (count := json_lines(raw.data, raw.size, lines)) >= 0:
            break
    return lines[:count]


def _present(raw: Raw, lines: np.ndarray, names: Sequence[str]) -> list[str]:
    """Return those names that are keys of a line, up to the first line that is wrong."""
    fields, done, _, _ = _find(raw, lines, names)
    return [name for k, name in enumerate(names) if fields.kinds[k, : done + 1].any()]


def _find(
    raw: Raw, lines: np.ndarray, names: Sequence[str], every: bool = False
) -> tuple[Fields, int, int, bytes]:
    """Check lines; return (members, first line refused, why, raw name of an unknown one)."""
    keys = [name.encode(errors="surrogatepass") for name in names]
    values = np.empty((len(keys), len(lines), 2), np.int32)
    kinds = np.empty((len(keys), len(lines)), np.uint8)
    done, why, start, stop = json_fields(
        raw.data,
        lines,
        np.frombuffer(bytearray(b"".join(keys)), np.uint8),
        np.cumsum([0, *map(len, keys)], dtype=np.int64),
        every,
        values,
        kinds,
        np.empty(_DEPTH + 1, np.uint8),
        np.empty(6 * max(map(len, keys), default=0) + PAD, np.uint8),
    )
    return Fields(raw, values, kinds, len(lines)), done, why, raw.data[start:stop].tobytes()


def _leads_through(kind: int, path: str) -> str:
    what = "a string" if kind < INTEGER else KINDS.get(kind, "a number")
    return f"the way to column {path!r} leads through {what}"


def _leave(starts: np.ndarray, kinds: np.ndarray, path: str) -> None:
    """Take values that have no members as if they had none of that name."""


def _find_paths(
    raw: Raw,
    lines: np.ndarray,
    paths: Sequence[str],
    refuse: Callable[[np.ndarray, np.ndarray, str], object],
) -> tuple[Fields, int, int]:
    """Check lines, or objects in them; return (values at paths, first refused, why).

    Of values of a list, that is all of the list. ``refuse`` is called with the starts of records
    or objects in them, the kinds of values there that have no members, and the path that leads
    through them.
    """
    names = list(dict.fromkeys([*paths, *chain.from_iterable(map(heads, paths))]))
    fields, done, why, _ = _find(raw, lines, names)
    if why or len(names) == len(paths):
        return fields, done, why
    for k, path in enumerate(paths):
        values, kinds = fields.values[k], fields.kinds[k]
        odd = np.zeros(len(lines), np.uint8)
        for head, rest in splits(path):
            if not rest:
                continue
            of, left = names.index(head), kinds == ABSENT
            kind = ARRAY if rest.startswith(LIST) else OBJECT
            there = left & (fields.kinds[of] == kind)
            np.copyto(odd, fields.kinds[of], where=left & ~there & (fields.kinds[of] > NULL))
            if not there.any():
                continue
            rows, spans = np.flatnonzero(there), fields.values[of, there]
            if kind == ARRAY:
                values[rows], kinds[rows] = spans, ARRAY
                continue
            objects = np.column_stack([spans[:, 0], spans[:, 1] - 1, spans[:, 1]])
            inner, at, why = _find_paths(raw, objects, [rest[1:]], refuse)
            if why:
                return fields, int(rows[at]), why
            values[rows], kinds[rows] = inner.values[0], inner.kinds[0]
        if (wrong := (kinds == ABSENT) & (odd != 0)).any():
            refuse(lines[wrong, 0], odd[wrong], path)
    chosen = slice(len(paths))
    return fields._replace(values=fields.values[chosen], kinds=fields.kinds[chosen]), done, why


def _last_newline(raw: Raw, final: bool, position: int, line: int | None) -> int:
    if final:
        return raw.size
    for low in range((raw.size - 1) & -_BLOCK, -1, -_BLOCK):  # a copy of all might be large
        found = raw.data[low : min(low + _BLOCK, raw.size)].tobytes().rfind(b"\n")
        if found >= 0:
            return low + found + 1
    return 0


def cut(
    index: int, file: SourceFile, columns: Columns, partition_bytes: int
) -> Iterator[JsonPartition]:
    """Partitions of a file of JSON lines; one of its first objects must have each column."""
    partitions = cut_file(JsonPartition, index, file, columns, partition_bytes)
    first: list[JsonPartition] = []
    missing, seen, looked = set(columns.required), list[dict[str, Any]](), 0
    while missing and looked < _HEAD_BYTES and (partition := next(partitions, None)):
        first.append(partition)
        looked += partition.raw().size  # of compressed ones, those in memory
        missing = _still_missing(partition, missing, seen)
    if missing and any(seen):
        name = next(name for name in columns.required if name in missing)
        where = "" if looked < _HEAD_BYTES else " in the first 8 MiB"
        error = missing_path(file.path, name, cast(Any, shape_of_values(seen)), columns, where)
        if wrapped := _WRAPPED.match(_text_from(first[0].raw(), 0)):
            error.hint = _CONVERTED.format(f"'.{wrapped[1]}[]'")
        raise error
    yield from first
    first.clear()
    yield from partitions


def cut_file(
    kind: type[P], index: int, file: SourceFile, columns: Columns, partition_bytes: int
) -> Iterator[P]:
    """Partitions of a file of lines."""
    limit = RecordLimit(columns.max_document, columns.skip_large)
    if file.is_plain:
        extents = cut_lines(file, partition_bytes, limit)
    else:
        extents = cut_stream(file, partition_bytes, _last_newline, limit)
    for number, extent in enumerate(extents):
        skip = 0
        if not number:
            raw = extent.content or read_range(file, extent.start, extent.size)
            skip = text_start(file.path, raw.data[: min(raw.size, HEAD)].tobytes())
            if kind is JsonPartition:
                _check_lines(file, raw, skip)
        yield kind(index, file, columns, extent, skip)


def _check_lines(file: SourceFile, raw: Raw, skip: int) -> None:
    """Refuse JSON that is no JSON lines."""
    if raw.data[skip : min(raw.size, HEAD)].tobytes().lstrip().startswith(b"["):
        raise FormatError(f"{file.path}: line 1 is a JSON array, not an object", _ARRAY_HINT)
    if several := _several_lines(raw, skip):
        raise FormatError(f"{file.path}: line 1 {several[0]}", several[1])


def _text_from(raw: Raw, start: int) -> str:
    found = raw.data[start : min(raw.size, start + _LOOKED_AT)]
    return found.tobytes().decode(errors="replace")


def _several_lines(raw: Raw, start: int) -> tuple[str, str] | None:
    """Return the error in words for JSON of several lines that begins somewhere, and its remedy.

    None where the line is complete, cut off, or no JSON.
    """
    text = _text_from(raw, start)
    line, _, rest = text.lstrip().partition("\n")
    line, rest = line.rstrip(), rest.lstrip()
    # After a line that was cut off comes the next object.
    if not line.startswith(("{", "[")) or not rest or (rest[0] == "{" and line[-1] != "["):
        return None
    try:
        json.loads(line, parse_int=float)
    except json.JSONDecodeError as error:
        if error.pos < len(line):
            return None
    except RecursionError:
        return None
    else:
        return None
    if line[0] == "[":
        return "begins a JSON array of several lines", _ARRAY_HINT
    wrapped = _WRAPPED.match(text)
    chosen = f"'.{wrapped[1]}[]'" if wrapped else "."
    return "begins a JSON object of several lines", _CONVERTED.format(chosen)


def _still_missing(
    partition: JsonPartition, missing: set[str], seen: list[dict[str, Any]]
) -> set[str]:
    """Columns that no line has; none where a line is wrong. ``seen`` gets the first lines."""
    raw = partition.raw()
    lines = partition.bounds(raw)
    names_missing = sorted(missing)
    for batch in (lines[:_HEAD_LINES], lines):
        fields, _, why = _find_paths(raw, batch, names_missing, _leave)
        found = np.array([_is_there(fields, k, name) for k, name in enumerate(names_missing)])
        if why or found.all():
            return set()
    for start, last, _ in lines[:_HEAD_LINES].tolist():
        text = raw.data[start : last + 1].tobytes().decode(errors="replace")
        seen.append(json.loads(text, parse_int=float))
    return {name for name, there in zip(names_missing, found, strict=True) if not there}


def _is_there(fields: Fields, k: int, path: str) -> bool:
    """Return whether a record has a value at a path, or null."""
    kinds = fields.kinds[k]
    if LIST not in path or (kinds != ARRAY)[kinds > NULL].any():
        return bool(kinds.any())
    rest = path[path.index(LIST) :]
    for start, end in fields.values[k, kinds == ARRAY].tolist():
        try:
            found = follow(json.loads(fields.raw.data[start:end].tobytes(), parse_int=float), rest)
        except (TypeError, UnicodeDecodeError):  # whoever reads the record reports it
            return True
        if any(value is not None for value in found):
            return True
    return False


def layout(file: SourceFile, columns: Columns) -> Layout:
    return Layout("jsonl", file.compression, text=columns.text)
