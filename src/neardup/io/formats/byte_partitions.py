"""Partitions whose records are bytes, JSON lines and CSV: values found in them become arrays."""

import copy
import json
import re
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, TypeAlias, cast

import numpy as np
import pyarrow as pa

from neardup.arrays import PAD, array_of, buffer_of, large_strings, strings_of, validity
from neardup.errors import ColumnError, EncodingError
from neardup.io.columns import (
    REPLACE_HINT,
    Column,
    append_columns,
    called,
    repaired,
    string_offsets,
    string_scalar,
    text_hint,
    with_replacement,
)
from neardup.io.formats.column_paths import LIST, follow, shape_of_values
from neardup.io.formats.json_text import Joined
from neardup.io.formats.large_records import RecordLimit, too_large
from neardup.io.source import (
    LISTED_BAD,
    Added,
    BadRecord,
    Cached,
    Columns,
    Documents,
    Partition,
    Rows,
    Skipped,
    SourceFile,
    changed,
)
from neardup.io.streams import Extent, Raw, line_of, read_range, view_of
from neardup.io.unpacking.first_bytes import not_utf8
from neardup.kernels import scanning as kernels
from neardup.sketch.baskets import ItemError, basket_text

_NOTHING = (np.empty(0, np.uint8), np.empty(0, np.int64))  # is put into records
_ITEMS_HINT = "expected an array of strings or integers, or null; correct the record"
#: Where records can't become a table.
KEEP_HINT = "leave the output in the format of the input, which keeps the records as they are"
_EXACT = 1 << 53  # floats represent all integers up to here
_STRINGS = frozenset((kernels.PLAIN, kernels.ESCAPED, kernels.DOUBLED))
KINDS = {kernels.BOOLEAN: "a boolean", kernels.ARRAY: "an array", kernels.OBJECT: "an object"}


#: The start and the end of a record that can't be read, and why.
Bad: TypeAlias = "tuple[int, int, str | Callable[[], str]]"


def concatenated_bytes(values: Sequence[bytes]) -> Joined:
    """Return values as one array, with their ends."""
    ends = np.cumsum([0, *map(len, values)], dtype=np.int64)
    return np.frombuffer(b"".join((*values, bytes(PAD))), np.uint8), ends


class Fields(NamedTuple):
    """Where ``k`` columns of ``size`` records are in the bytes, see `neardup.kernels.scanning`."""

    raw: Raw
    values: np.ndarray  # int32[k, size or more, 2]: start and end
    kinds: np.ndarray  # uint8[k, size or more]
    size: int
    escape: int = kernels.NO_ESCAPE  # of CSV


class BytePartition(Partition):
    """Records of JSON lines or CSV: an extent without ``skip`` bytes of marks and headers."""

    def __init__(
        self, index: int, file: SourceFile, columns: Columns, extent: Extent, skip: int = 0
    ) -> None:
        self.file = index
        self.start, self.size = extent.start - extent.gap, extent.size + extent.gap
        self._file, self._columns, self._extent, self._skip = file, columns, extent, skip
        self._spans: list[tuple[int, int]] | None = None  # of records that can't be read
        self._bad: list[BadRecord] = []  # the first of them

    @property
    def described(self) -> SourceFile:
        """The file, as its first bytes say how it is to be read."""
        return self._file

    @abstractmethod
    def found(self, raw: Raw) -> np.ndarray:
        """int32[n, 3]: start, offset for insertions, and end of each record, large ones too."""

    def bounds(self, raw: Raw, rows: Rows = None, count: int | None = None) -> np.ndarray:
        """The same of the records that are no larger than they may be, or of some of these.

        ``count`` is how many there were; FormatError where there are more or fewer now.
        """
        found = self.found(raw)
        fitting = self.fitting(raw, found)
        found = found if fitting is None else found[fitting]
        self.check(len(found), count)
        return found if rows is None else found[rows]

    def check(self, records: int, count: int | None) -> None:
        """Refuse a file that has another number of records than it had; None for any."""
        if count is not None and records != count:
            raise changed(self._file.path)

    def fitting(self, raw: Raw, found: np.ndarray) -> Rows:
        """Which of the records that were found are not left out for their size."""
        limit = self.limit()
        if raw.size <= limit.size:
            return None
        large = found[:, 2] - found[:, 0] > limit.size
        if large.any() and not limit.skips:
            raise too_large(self.position(int(found[np.argmax(large), 0])), "record", limit)
        return np.flatnonzero(~large)

    def skipped(self, raw: Raw, records: int) -> Skipped:
        """Return which records were left out, besides some that are not."""
        found = self._extent.skipped
        if raw.size > self._columns.max_document:
            found += len(self.found(raw)) - records
        return Skipped(found, len(self._spans or ()), tuple(self._bad))

    def limit(self) -> RecordLimit:
        """Return the limit on a record."""
        return RecordLimit(self._columns.max_document, self._columns.skip_large)

    @abstractmethod
    def fields(
        self, raw: Raw, names: Sequence[str], rows: Rows, count: int | None, exact: bool
    ) -> Fields:
        """Find columns of some records, all of them if ``rows`` is None; refuse malformed ones.

        ``count`` is how many records there were, see `bounds`; ``exact`` says that names are no
        paths.
        """

    @abstractmethod
    def names(self, raw: Raw, rows: Rows) -> list[str]: ...

    @abstractmethod
    def insertions(self, raw: Raw, bounds: np.ndarray, added: pa.Table) -> Joined: ...

    def parsed(self, columns: tuple[str, ...] | None) -> Documents:
        if columns is None:
            found = self.read(())
            return replace(found, columns=self.table(None, len(found.text)))
        texts, raw = self._columns.text, self.raw()
        names = tuple(dict.fromkeys((*texts, *columns)))
        reader = self._reader(raw, names, None, None)
        text = reader.text(texts)
        arrays = [reader.checked(names.index(name), name) for name in columns]
        table = pa.Table.from_arrays(arrays, list(columns))
        skipped = self.skipped(raw, len(text))
        # Several texts are joined by a space.
        least = 0 if self._columns.items else max(0, len(texts) - 1)
        missing = int((np.diff(string_offsets(text)) == least).sum())
        replaced = int(reader.replaced.sum())
        if self._columns.replaces and self._file.encoding:
            replaced += with_replacement(text)
        return Documents(text, table, replaced, None, skipped, missing)

    def texts(self, rows: np.ndarray, count: int) -> pa.LargeStringArray:
        names = self._columns.text
        return self._reader(self.raw(), names, rows, count).text(names)

    def records(
        self, rows: Rows, count: int, added: Added = None, cached: Cached = None
    ) -> memoryview:
        raw = self.raw()
        bounds = self.bounds(raw, rows, count)
        extra, ends = _NOTHING if added is None else self.insertions(raw, bounds, added)
        size = int((bounds[:, 2] - bounds[:, 0]).sum(dtype=np.int64)) + len(extra)
        out = np.empty(size + 1 + PAD, np.uint8)
        return view_of(out, 0, kernels.copy_records(raw.data, bounds, extra, ends, out))

    def patched(
        self,
        rows: Rows,
        count: int,
        patches: Mapping[int, Mapping[str, Any]],
        rest: bytes,
        renamed: Mapping[str, str],
    ) -> memoryview:
        """Return what `records` does, with other values in some of the records.

        Args:
            rows: Of the records that are returned; None for all.
            count: Records that there were, see `bounds`.
            patches: By numbers among these: values that replace those of their columns, or are put
                in.
            rest: Put into the other records.
            renamed: New names of columns, by those that these records have.
        """
        raw = self.raw()
        bounds = self.bounds(raw, rows, count).copy()
        inserted = [rest] * len(bounds)
        for number, values in patches.items():
            start, _, end = bounds[number].tolist()
            inserted[number] = self.changed(raw.data[start:end].tobytes(), values, renamed)
            bounds[number] = start
        extra, ends = concatenated_bytes(inserted)
        size = int((bounds[:, 2] - bounds[:, 0]).sum(dtype=np.int64)) + len(extra)
        out = np.empty(size + 1 + PAD, np.uint8)
        return view_of(out, 0, kernels.copy_records(raw.data, bounds, extra, ends, out))

    def changed(
        self, record: bytes, values: Mapping[str, Any], renamed: Mapping[str, str]
    ) -> bytes:
        """Return the bytes of a record, with its line end, that has other values, and names."""
        raise NotImplementedError

    def table(self, rows: Rows, count: int, added: Added = None, cached: Cached = None) -> pa.Table:
        raw = self.raw()
        self.bounds(raw, None, count)
        names = self.names(raw, rows)
        reader = self._reader(raw, names, rows, None, exact=True)
        arrays = [self._lossless_column(reader, k, name) for k, name in enumerate(names)]
        return append_columns(self._file.path, pa.Table.from_arrays(arrays, names), added)

    def schema(self) -> pa.Schema:
        return self.table(None, len(self.bounds(self.raw()))).schema

    def ask(self) -> None:
        if self._file.ahead is not None and self._extent.content is None:
            self._file.ahead.ask(self._file.local_path, self._extent.start, self._extent.size)

    def halves(self) -> list[Partition]:
        found, every, extent = self.found(self.raw()), self._all_bytes(), self._extent
        if len(found) < 2:
            return []
        middle = self._skip + int(found[len(found) // 2, 0])
        line = line_of(self._file, extent.start, extent.line)
        halves: list[Partition] = []
        for low, high in ((self._skip, middle), (middle, every.size)):
            data = np.zeros(high - low + PAD, np.uint8)
            data[: high - low] = every.data[low:high]
            before = int(np.count_nonzero(every.data[:low] == 10))
            half = copy.copy(self)
            half._spans = None
            half._extent, half._skip = Extent(0, 0, Raw(data, high - low), line + before), 0
            halves.append(half)
        return halves

    def raw(self) -> Raw:
        """The bytes of the records, until this thread asks for others.

        Records that can't be read are left out of them, see `without`, if that is asked for.
        """
        data, size = self._all_bytes()
        raw = Raw(data[self._skip :], size - self._skip)
        if not self._columns.skip_bad:
            return raw
        if self._spans is None:
            self._find_bad(raw)
        return self.without(raw, self._spans or [])

    def _find_bad(self, raw: Raw) -> None:
        found = list(self.malformed(raw))
        rest = self.without(raw, [(start, end) for start, end, _ in found])
        unread = self.unread(rest)
        bounds = self.bounds(rest) if unread else np.empty((0, 3), np.int32)
        for row, said in unread.items():
            found.append((int(bounds[row, 0]), int(bounds[row, 2]), said))
        found.sort(key=lambda each: each[0])
        data, bad = self._all_bytes().data, list[BadRecord]()
        for start, _, what in found[:LISTED_BAD]:
            line, begin = self._extent.line, self._skip + start
            if line is not None:
                line += int(np.count_nonzero(data[:begin] == 10))
            where = self.file, self._extent.start + begin, line
            bad.append(BadRecord(*where, what if isinstance(what, str) else what()))
        self._bad = bad
        self._spans = [(start, end) for start, end, _ in found]

    def without(self, raw: Raw, spans: Sequence[tuple[int, int]]) -> Raw:
        """Return bytes with line ends instead of some."""
        if not spans:
            return raw
        data = raw.data.copy()
        for start, end in spans:
            data[start:end] = 10
        return Raw(data, raw.size)

    def malformed(self, raw: Raw) -> Iterator[Bad]:
        """Yield the start and the end of each record that is malformed, and what says why."""
        return iter(())

    def unread(self, raw: Raw) -> dict[int, str]:
        """Return the rows of records with values that can't be read, and why."""
        columns = self._columns
        # Of records without texts all columns are read.
        every = () if columns.text else self.names(raw, None)
        names = tuple(dict.fromkeys((*columns.required, *every)))
        fields = self.fields(raw, names, None, None, False)
        reader = FieldReader(fields, replace(columns, encoding_errors="replace"), str)
        found: dict[int, str] = {}
        for k, name in enumerate(columns.text):
            found |= reader.no_texts(k, name)
        if columns.replaces:
            return found
        for k, name in enumerate(names):
            reader.strings(k, name)
        said = f"is not valid {self._file.encoding or 'UTF-8'}"
        found |= dict.fromkeys(np.flatnonzero(reader.replaced).tolist(), said)
        if not self._file.is_plain:  # bytes that were not of the encoding
            bad = np.flatnonzero(raw.data[: raw.size] == 0xFF)
            bounds = self.bounds(raw)
            rows = np.searchsorted(bounds[:, 0], bad, "right") - 1
            rows = rows[(rows >= 0) & (bad < bounds[rows, 2])]  # not between records
            found |= dict.fromkeys(np.unique(rows).tolist(), said)
        return found

    def position(self, start: int) -> str:
        before = int(np.count_nonzero(self._all_bytes().data[: self._skip + start] == 10))
        line = line_of(self._file, self._extent.start, self._extent.line)
        return f"{self._file.path}: line {line + before}"

    def _all_bytes(self) -> Raw:
        extent = self._extent
        return extent.content or read_range(self._file, extent.start, extent.size)

    def _lossless_column(self, reader: "FieldReader", k: int, name: str) -> Column:
        return reader.exact_column(k, name)

    def _reader(
        self, raw: Raw, names: Sequence[str], rows: Rows, count: int | None, exact: bool = False
    ) -> "FieldReader":
        def where(record: int) -> str:
            return self.position(int(self.bounds(self.raw(), rows)[record, 0]))

        fields = self.fields(raw, names, rows, count, exact)
        return FieldReader(fields, self._columns, where, self._not_utf8)

    def _not_utf8(self, at: int) -> EncodingError:
        """Return the error for a byte of the records that is not UTF-8."""
        data, begin = self._all_bytes().data, self._skip + at
        before = data[:begin].tobytes()
        line = line_of(self._file, self._extent.start, self._extent.line) + before.count(b"\n")
        return not_utf8(self._file.path, line, begin - before.rfind(b"\n"), int(data[begin]))


class FieldReader:
    """Makes arrays of fields; ``replaced``, bool[n], notes records with invalid UTF-8."""

    def __init__(
        self,
        fields: Fields,
        columns: Columns,
        where: Callable[[int], str],
        refused: Callable[[int], EncodingError] | None = None,
    ) -> None:
        self._fields, self._columns, self._where, self._not_utf8 = fields, columns, where, refused
        self.replaced = np.zeros(fields.size, np.bool_)

    def text(self, names: Sequence[str]) -> pa.LargeStringArray:
        """The first columns, joined by a space; of baskets, with the items of all."""
        if self._columns.items:
            return self._baskets(names)
        lists = set[int]()
        for k, name in enumerate(names):
            self._leave_out_nan(k)
            if LIST in name and (self._kinds(k) == kernels.ARRAY).any():
                lists.add(k)
            else:
                self._refuse(k, name, kernels.INTEGER, ", expected a string")
        if not lists:
            return self._gathered(range(len(names)), (*names, "")[0])
        import pyarrow.compute as pc

        texts = (
            self._lines(k, name) if k in lists else self.strings(k, name, nulls=False)
            for k, name in enumerate(names)
        )
        joined = cast(Any, pc.binary_join_element_wise)(*texts, string_scalar(" "))
        return cast(pa.LargeStringArray, joined)

    def _lines(self, k: int, name: str) -> pa.LargeStringArray:
        """The texts in the lists of a column, joined by line ends."""
        self._refuse(k, name, kernels.OBJECT, ", expected a list")
        values = enumerate(self.strings(k, name).to_pylist())
        return strings_of([self._line(value, k, row, name) for row, value in values])

    def _line(self, value: str | None, k: int, row: int, name: str) -> bytes:
        try:
            is_list = self._kinds(k)[row] == kernels.ARRAY
            read = json.loads(value or "null", parse_int=float) if is_list else None
            every = follow(read, name[name.index(LIST) :]) if is_list else [value]
            joined = "\n".join(item for item in every if item is not None)
        except (TypeError, RecursionError) as error:
            what = f"{self._where(row)}: column {name!r} has other values than strings"
            raise ColumnError(what, "name a column of strings in one list") from error
        return self._encoded(joined, row)

    def _baskets(self, names: Sequence[str]) -> pa.LargeStringArray:
        texts = [b""] * self._fields.size
        for k, name in enumerate(names):
            for row, value in enumerate(self.strings(k, name).to_pylist()):
                texts[row] += self._basket(value, k, row, name)
        return strings_of(texts)

    def _basket(self, value: str | None, k: int, row: int, name: str) -> bytes:
        if self._kinds(k)[row] not in (kernels.ARRAY, kernels.ABSENT, kernels.NULL):
            raise ColumnError(f"{self._where(row)}: column {name!r} is no array", _ITEMS_HINT)
        try:
            text = basket_text(json.loads(value or "[]", parse_float=float, parse_int=str))
        except ItemError as error:
            what = f"an item of column {name!r} is of type {error}"
            raise ColumnError(f"{self._where(row)}: {what}", _ITEMS_HINT) from error
        return self._encoded(text, row)

    def no_texts(self, k: int, name: str) -> dict[int, str]:
        """Return the rows whose value is no text, or no basket, and why."""
        found, kinds = dict[int, str](), self._kinds(k)
        are_lists = self._columns.items or LIST in name
        if not are_lists or LIST in name:
            self._leave_out_nan(k)
            wrong = (kinds >= kernels.INTEGER) & ~(are_lists & (kinds == kernels.ARRAY))
            if not wrong.all() or len(wrong) <= LISTED_BAD:  # of all, it is the wrong column
                for row in np.flatnonzero(wrong).tolist():
                    found[row] = f"column {name!r} is {KINDS.get(int(kinds[row]), 'a number')}"
        if not are_lists:
            return found
        read = self._basket if self._columns.items else self._line
        for row, value in enumerate(self.strings(k, name).to_pylist()):
            try:
                if row not in found:
                    read(value, k, row, name)
            except ColumnError as error:
                found[row] = error.message.partition(": ")[2]
        return found

    def _encoded(self, text: str, row: int) -> bytes:
        """UTF-8 of a text; half a surrogate pair is repaired, or refused."""
        try:
            return text.encode()
        except UnicodeEncodeError as error:
            if not self._columns.replaces:
                what = f"{self._where(row)} escapes half a surrogate pair, which is no character"
                raise EncodingError(what, REPLACE_HINT) from error
            self.replaced[row] = True
            return re.sub("[\ud800-\udfff]", "\ufffd", text).encode()

    def checked(self, k: int, name: str) -> Column:
        """A column of texts to compare, or of ids; it must not be nested."""
        is_id = name == self._columns.id
        what = "an id" if is_id else "compared"
        self._refuse(k, name, kernels.ARRAY, f", which can't be {what}")
        array = self.column(k, name)
        return self.strings(k, name) if is_id and array.type in _NO_IDS else array

    def column(self, k: int, name: str) -> Column:
        """A column with the type that all its values have, or as strings."""
        kinds, count = self._kinds(k), self._fields.size
        valid = kinds > kernels.NULL
        present = set(np.flatnonzero(np.bincount(kinds[valid])).tolist())
        if not present:
            return pa.nulls(count)
        if present == {kernels.BOOLEAN}:
            starts = self._fields.values[k, :count, 0]
            true = valid & (self._fields.raw.data[starts] == ord("t"))
            return array_of(true, null=~valid)
        strings: Column = self.strings(k, name)
        if not present <= {kernels.INTEGER, kernels.NUMBER}:
            return strings
        try:
            found = strings.cast(pa.int64() if present == {kernels.INTEGER} else pa.float64())
        except pa.ArrowInvalid:  # beyond 64 bits
            return strings
        if len(present) > 1:
            values = np.frombuffer(found.buffers()[1], np.float64)[:count]
            integers = values[kinds == kernels.INTEGER]
            return found if (np.abs(integers) < _EXACT).all() else strings
        return found

    def exact_column(self, k: int, name: str) -> Column:
        """The same, to be written; numbers that became infinite or 0 are refused."""
        found = self.column(k, name)
        if found.type != pa.float64():
            return found
        values = np.frombuffer(found.buffers()[1], np.float64)[: len(found)]
        written = self._kinds(k) == kernels.NUMBER
        last = self._fields.raw.data[self._fields.values[k, : len(found), 1] - 1]
        wrong = written & np.isinf(values) & (last != ord("y"))  # of Infinity
        if (zero := written & (values == 0)).any():
            import pyarrow.compute as pc

            digits: Any = pc.match_substring_regex(self.strings(k, name), "^-?[0.]*[1-9]")
            wrong |= zero & digits.fill_null(False).to_numpy(zero_copy_only=False)
        if wrong.any():
            said = called(name, k, self._columns.required)
            raise ColumnError(
                f"{self._where(int(np.argmax(wrong)))}: {said} has a number "
                "that a float of 64 bits can't represent",
                KEEP_HINT,
            )
        return found

    def strings(self, k: int, name: str, nulls: bool = True) -> pa.LargeStringArray:
        """A column as strings: numbers as they are written, null where ``nulls``, else empty."""
        return self._gathered([k], name, validity(self._kinds(k) > kernels.NULL) if nulls else None)

    def _leave_out_nan(self, k: int) -> None:
        """Take NaN, as which other programs write a missing text, as null."""
        numbers = np.flatnonzero(self._kinds(k) == kernels.NUMBER)
        starts = self._fields.values[k, numbers, 0]
        self._kinds(k)[numbers[self._fields.raw.data[starts] == ord("N")]] = kernels.NULL

    def _kinds(self, k: int) -> np.ndarray:
        return self._fields.kinds[k, : self._fields.size]

    def _refuse(self, k: int, name: str, lowest: int, why: str) -> None:
        wrong = np.flatnonzero(self._kinds(k) >= lowest)
        if len(wrong):
            row = int(wrong[0])
            kind = KINDS.get(int(self._kinds(k)[row]), "a number")
            hint = "name another column, or convert this one to strings"
            if name in self._columns.text and self._kinds(k)[row] >= kernels.ARRAY:
                start, end = self._fields.values[k, row].tolist()
                raw = self._fields.raw.data[start:end].tobytes()
                value = json.loads(raw.decode(errors="replace"), parse_int=float)
                hint = text_hint(shape_of_values([value]), name) or hint
                if isinstance(value, list) and not any(isinstance(i, list | dict) for i in value):
                    hint = "lists of items need `shingle`='item'; or name another column"
            raise ColumnError(f"{self._where(row)}: column {name!r} is {kind}{why}", hint)

    def _undecoded(self, columns: Sequence[int]) -> EncodingError:
        """Return the error for the first value that is not UTF-8."""
        raw, values = self._fields.raw, self._fields.values
        for row in range(self._fields.size):
            for start, stop in values[list(columns), row].tolist():
                try:
                    raw.data[start:stop].tobytes().decode()
                except UnicodeDecodeError as error:
                    assert self._not_utf8 is not None
                    return self._not_utf8(start + error.start)
        raise AssertionError("a value is not UTF-8, and all of its bytes are")

    def _gathered(
        self, columns: Sequence[int], name: str, valid: pa.Buffer | None = None
    ) -> pa.LargeStringArray:
        raw, values, kinds, count, escape = self._fields
        chosen = np.array(columns, np.int64)
        sizes = values[chosen, :count, 1] - values[chosen, :count, 0]
        size = int(sizes.sum(dtype=np.int64)) + count * max(0, len(chosen) - 1)
        out = np.empty(size + PAD, np.uint8)
        offsets, lone = np.empty(count + 1, np.int64), np.zeros(count, np.uint8)
        kernels.gather_values(raw.data, values, kinds, chosen, escape, out, offsets, lone)
        out[offsets[-1] : offsets[-1] + PAD] = 0  # which Arrow writes to files, in part
        if lone.any():
            if not self._columns.replaces:
                raise EncodingError(
                    f"{self._where(int(np.argmax(lone)))} escapes half a surrogate pair, which is "
                    "no character",
                    REPLACE_HINT,
                )
            self.replaced |= lone != 0
        strings = large_strings(offsets, buffer_of(out), valid)
        try:
            strings.validate(full=True)
        except pa.ArrowInvalid:
            if not self._columns.replaces:
                raise self._undecoded(columns) from None
            said = called(name, columns[0], self._columns.required)
            strings, rows = repaired(strings, said, True, self._where)
            self.replaced[rows] = True
        return strings


_NO_IDS = (pa.float64(), pa.bool_())
