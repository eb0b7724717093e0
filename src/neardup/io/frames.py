"""Data that is in memory or comes from another library: frames, datasets, lists of strings.

None of the libraries is imported; objects are recognised by their methods.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import chain, islice
from typing import Any

import pyarrow as pa

from neardup.arrays import strings_of
from neardup.errors import ColumnError, EncodingError, InputError
from neardup.io.columns import (
    REPLACE_HINT,
    Column,
    check_schema,
    plain_schema,
    shown,
    strings_schema,
    views_of,
)
from neardup.io.formats.arrow_tables import MemoryPartition, bytes_of, cut_batches
from neardup.io.source import Columns, Layout, Partition, Source
from neardup.sketch.baskets import ItemError, basket_items, basket_text, is_basket, is_basket_type

_ROWS = 1000  # of a Hugging Face dataset at a time; small batches are put together afterwards
_STRINGS = strings_schema(["text"])  # of a list of strings
_LISTS = pa.schema([("text", pa.large_list(pa.large_string()))])  # of a list of lists
_LONE = re.compile("[\ud800-\udfff]")
_PAIRS = "the documents are pairs of strings: (id, text)?"
_PAIRS_HINT = "give {'id': [...], 'text': [...]} with id='id'"
_ACCEPTED = (
    "give a table, record batches or a dataset of pyarrow, a DataFrame or Series of pandas or "
    "Polars, a dict of lists, a list of dicts, a Hugging Face Dataset, or strings"
)


class FrameSource(Source):
    """A source from an object instead of files; record numbers in messages count from 1."""

    def __init__(self, source: object, columns: Columns, partition_bytes: int) -> None:
        self.files, self.format, self.rereadable = [], "frame", True
        self.columns, self.id_column = columns, columns.id
        self._partition_bytes = partition_bytes
        self._partitions: list[MemoryPartition] | None = None
        self.converted: list[str] = []
        #: Of a column that no run needs, and that Arrow does not take.
        self._left_out: ColumnError | None = None
        if hasattr(source, "collect") and hasattr(source, "lazy"):  # a LazyFrame of Polars
            source = source.collect()
        library = type(source).__module__.partition(".")[0]
        #: The frame or series of pandas or Polars that it was made of; None for others.
        self.given: Any = source if library in ("pandas", "polars") else None
        with _arrow_errors("the frame"):
            self._name, self._object = self._opened(source)
        self.total_bytes = bytes_of(self._object) if isinstance(self._object, pa.Table) else None
        is_table = isinstance(self._object, pa.Table | pa.RecordBatchReader)
        texts = _LISTS if columns.items else _STRINGS
        strings = None if _is_hugging_face(self._object) else texts
        has_schema = is_table or _is_dataset(self._object)
        self._schema: pa.Schema | None = self._object.schema if has_schema else strings
        if self._schema is not None:
            check_schema(self._name, self._schema, columns, self._name == "the frame")

    def __reduce_ex__(self, protocol: Any) -> Any:
        if self.given is None:
            return super().__reduce_ex__(protocol)
        return FrameSource, (self.given, self.columns, self._partition_bytes)

    def __getstate__(self) -> dict[str, Any]:
        # Readers, iterators and datasets in memory can't be pickled, but their partitions can.
        if _is_hugging_face(self._object) or hasattr(self._object, "files"):
            return self.__dict__
        return self.__dict__ | {"_partitions": list(self.partitions()), "_object": None}

    def partitions(self, file: int | None = None) -> Iterator[Partition]:
        if _is_dataset(self._object) or _is_hugging_face(self._object):  # which can be read again
            yield from self._cut()
            return
        if self._partitions is None:
            self._partitions = list(self._cut())
        yield from self._partitions

    def _cut(self) -> Iterator[MemoryPartition]:
        batches, how, partition = self._object, (self._name, self.columns), None
        with _arrow_errors(self._name):
            if self._schema is _STRINGS or self._schema is _LISTS:
                of = _of_strings if self._schema is _STRINGS else _of_lists
                found = of(batches, *how, self._partition_bytes)
            else:
                if isinstance(batches, pa.Table) or _is_dataset(batches):
                    batches = batches.to_batches()
                elif _is_hugging_face(batches):
                    batches = batches.with_format("arrow").iter(_ROWS)
                found = cut_batches(batches, -1, *how, self._partition_bytes)
            for partition in found:
                yield partition
        if partition is None:  # without rows, there is one that has the types
            schema = plain_schema(self._schema or strings_schema(self.columns.required))
            yield MemoryPartition(-1, 0, 0, 0, *how, schema.empty_table())

    def require_all_columns(self) -> None:
        """Refuse a frame with a column that no run needs, and that can't be written."""
        if self._left_out is not None:
            raise self._left_out

    def layout(self, file: int) -> Layout:
        self.require_all_columns()
        schema = self._schema or next(self.partitions()).schema()
        plain, views = plain_schema(schema), views_of(schema)
        return Layout("parquet", "zstd", b"", plain, self.columns.text, views=views)

    def _opened(self, source: Any) -> tuple[str, Any]:
        """A name for messages, and the object as a table, a reader, a dataset, or strings."""
        if isinstance(source, str | bytes):
            raise InputError("a single string is no frame", "for a file give its path")
        if isinstance(source, pa.RecordBatchReader):
            return "the reader", source
        if isinstance(source, pa.RecordBatch):
            source = pa.Table.from_batches([source])
        if isinstance(source, pa.Array | pa.ChunkedArray):
            source = pa.table([source], names=[next(iter(self.columns.text), "text")])
        if isinstance(source, pa.Table):
            return "the table", source
        if _is_dataset(source) or _is_hugging_face(source):
            return "the dataset", source
        if hasattr(source, "to_frame") and not hasattr(source, "columns"):  # a Series
            source = source.to_frame(next(iter(self.columns.text), "text"))
        if hasattr(source, "iloc"):
            return "the frame", self._from_pandas(source)
        if hasattr(source, "to_arrow") and hasattr(source, "lazy"):  # a DataFrame of Polars
            return "the frame", self._from_polars(source)
        if hasattr(source, "__arrow_c_stream__"):
            return "the frame", pa.table(source)
        if isinstance(source, Mapping):
            return "the frame", self._from_mapping(source)
        if isinstance(source, Iterable):
            name = "the iterator" if isinstance(source, Iterator) else "the list"
            first = list(islice(source, 1)) if isinstance(source, Iterator) else source
            source = chain(first, source) if isinstance(source, Iterator) else source
            return name, self._from_records(source) if are_records(first) else source
        raise InputError(f"can't read documents from {type(source).__name__}", _ACCEPTED)

    def _from_pandas(self, frame: Any) -> pa.Table:
        """Return the columns, then the named levels of the index; other levels are no columns."""
        names, levels = list(frame.columns), frame.index.names
        if not frame.columns.is_unique:
            name = shown(str(frame.columns[frame.columns.duplicated()][0]), 0, True)
            raise ColumnError(f"the frame: {name} is the name of two columns", "rename one of them")
        try:
            table = pa.Table.from_pandas(frame, preserve_index=False)
        except (pa.ArrowException, TypeError):  # which sparse columns raise
            table = self._from_mapping({name: frame[name] for name in names})
        named = [k for k in levels if isinstance(k, str) and k not in names and levels.count(k) < 2]
        for name, column in self._columns({k: frame.index.get_level_values(k) for k in named}):
            table = table.append_column(name, column)
        return table

    def _from_polars(self, frame: Any) -> pa.Table:
        objects = [name for name, kind in frame.schema.items() if str(kind).startswith("Object")]
        table: pa.Table = frame.drop(objects).to_arrow()  # its fields know more than the types
        for name, column in self._columns({n: frame[n].to_list() for n in objects}):
            table = table.append_column(name, column)
        return table.select([name for name in frame.columns if name in table.column_names])

    def _from_mapping(self, columns: Mapping[Any, Any]) -> pa.Table:
        def is_column(values: object) -> bool:
            no_column = isinstance(values, str | Mapping) or _is_hugging_face(values)
            return hasattr(values, "__len__") and not no_column

        if columns and all(map(is_column, columns.values())):
            return pa.table({str(k): column for k, column in self._columns(columns)})
        raise InputError(
            f"a mapping ({type(columns).__name__}) whose values are no columns",
            "take one of its values, such as the split 'train' of a DatasetDict",
        )

    def _from_records(self, records: Iterable[Any]) -> pa.Table:
        rows = list(records)
        odd = next((i for i, row in enumerate(rows) if not isinstance(row, Mapping)), None)
        if odd is not None:
            what = f"the list: record {odd + 1} is {type(rows[odd]).__name__}, the first one a dict"
            raise InputError(what, "give only dicts, or only strings")
        names = dict.fromkeys(name for row in rows for name in row)
        columns = {name: [row.get(name) for row in rows] for name in names}
        return self._from_mapping(columns) if columns else pa.table({})

    def _columns(self, columns: Mapping[Any, Any]) -> Iterator[tuple[Any, Column]]:
        """Convert columns one by one; leave out those that can't be and are not needed."""
        for name, values in columns.items():
            try:
                yield name, self._column(name, values)
            except ColumnError as error:
                if name in self.columns.required:
                    raise
                self._left_out = self._left_out or error

    def _column(self, name: object, values: Any) -> Column:
        """A column; values that have no common type become strings, but not those of a text."""
        try:
            return pa.array(values)
        except pa.ArrowException:
            if name in self.columns.text and self.columns.items:
                return pa.array(
                    [_items_of(v, f"the frame: record {row + 1}") for row, v in enumerate(values)],
                    _LISTS.field(0).type,
                )
            if name in self.columns.text:
                texts = [None if _is_missing(value) else value for value in values]
                odd = next((i for i, v in enumerate(texts) if not isinstance(v, str | None)), None)
                if odd is None:
                    return pa.array(texts, pa.large_string())
                raise ColumnError(
                    f"the frame: record {odd + 1}: column {str(name)!r} has values of several "
                    f"types, such as {type(texts[odd]).__name__}; expected strings",
                    "is it the right column? Else convert it, in pandas with .astype(str)",
                ) from None
            found = _as_strings(name, values)
            self.converted.append(str(name))
            return found


def are_records(source: Any) -> bool:
    """Return whether this is a list whose first item is a record, a dict."""
    return isinstance(source, list | tuple) and bool(source) and isinstance(source[0], Mapping)


def _is_pair(value: Any) -> bool:
    return isinstance(value, tuple) and len(value) == 2 and all(isinstance(v, str) for v in value)


def gives_baskets(source: Any, name: str) -> bool:
    """Return whether texts in memory are lists of items, as their type or the first one says."""
    column = source
    if _is_hugging_face(source):
        rows = hasattr(source, "select") and hasattr(source, "__len__") and len(source)
        return bool(rows) and is_basket(source[0].get(name))
    if hasattr(source, "collect"):  # a LazyFrame of Polars, which would be computed for it
        return False
    if isinstance(source, pa.Table) or _is_dataset(source) or hasattr(source, "columns"):
        schema = getattr(source, "schema", None)
        if isinstance(schema, pa.Schema):
            return name in schema.names and is_basket_type(schema.field(name).type)
        if not hasattr(source, "__len__"):  # a query that was not run yet
            return False
        column = source[name] if name in source.columns else ()
    elif isinstance(source, Mapping):
        column = source.get(name, ())
    elif are_records(source):
        column = [row.get(name) for row in source if isinstance(row, Mapping)]
    elif isinstance(source, list | tuple) and source and all(map(_is_pair, source)):
        raise InputError(_PAIRS, f"{_PAIRS_HINT}; for baskets of two items say shingle='item'")
    if isinstance(column, pa.Array | pa.ChunkedArray):
        return is_basket_type(column.type)
    if isinstance(column, Iterator | str) or not isinstance(column, Iterable):
        return False
    first = next((v for v in islice(column, _ROWS) if not _is_missing(v)), None)
    return is_basket(first) or hasattr(first, "to_list")  # a Series of Polars


def _items_of(value: Any, where: str) -> list[str] | None:
    """Return the items of a record; None where it is missing."""
    if hasattr(value, "to_list"):
        value = value.to_list()
    if not is_basket(value):
        if _is_missing(value):
            return None
        raise InputError(f"{where} is {type(value).__name__}, not a list of items", _ACCEPTED)
    try:
        return basket_items(basket_text(value))
    except ItemError as error:
        what = f"{where} has an item of type {error}; expected strings or integers"
        raise InputError(what, "convert the items to strings") from error


def _of_lists(
    source: Iterable[Any], name: str, columns: Columns, partition_bytes: int
) -> Iterator[MemoryPartition]:
    values: list[list[str] | None] = []
    start = first = size = 0

    def gathered() -> MemoryPartition:
        table = pa.Table.from_arrays([pa.array(values, _LISTS.field(0).type)], schema=_LISTS)
        return MemoryPartition(-1, start, size, first, name, columns, table)

    for row, value in enumerate(source):
        items = _items_of(value, f"{name}: record {row + 1}")
        values.append(items)
        size += 8 + sum(map(len, items or ()))
        if size >= partition_bytes:
            yield gathered()
            start, first, values, size = start + size, row + 1, [], 0
    if values:
        yield gathered()


def _is_dataset(source: object) -> bool:
    return hasattr(source, "scanner") and hasattr(source, "schema")


def _is_hugging_face(source: object) -> bool:
    return hasattr(source, "with_format") and hasattr(source, "iter")


@contextmanager
def _arrow_errors(name: str) -> Iterator[None]:
    """Turn Arrow's errors about an object into one that quotes no value of it."""
    try:
        yield
    except pa.ArrowException as error:
        raise InputError(
            f"{name}: can't be converted to Arrow ({type(error).__name__})",
            "give every column one type, and all columns the same length",
        ) from error
    except UnicodeEncodeError as error:  # strings of Python objects, which Arrow can't take
        raise EncodingError(
            f"{name}: a string has half a surrogate pair, which is no character",
            "replace it in the frame; `encoding_errors` comes too late for it",
        ) from error


def _as_strings(name: object, values: Any) -> Column:
    """Values of several types as strings, of JSON where they are nested."""
    texts: list[str | None] = []
    for value in values:
        text = None if _is_missing(value) else value
        try:
            if not isinstance(text, str | None):
                text = json.dumps(value, ensure_ascii=False)
        except (TypeError, ValueError) as error:
            raise ColumnError(
                f"the frame: column {str(name)!r} has values of several types, such as "
                f"{type(value).__name__}",
                "give the column one type, or leave it out",
            ) from error
        texts.append(text)
    return pa.array(texts, pa.large_string())


def _is_missing(value: object) -> bool:
    """Whether a value is None, NaN, or NA of pandas."""
    is_nan = isinstance(value, float) and value != value
    return value is None or is_nan or type(value).__name__ == "NAType"


def _of_strings(
    source: Iterable[Any], name: str, columns: Columns, partition_bytes: int
) -> Iterator[MemoryPartition]:
    values: list[bytes | None] = []
    start = first = size = replaced = 0

    def gathered() -> MemoryPartition:
        table = pa.Table.from_arrays([strings_of(values)], schema=_STRINGS)
        return MemoryPartition(-1, start, size, first, name, columns, table, replaced=replaced)

    for row, value in enumerate(source):
        is_missing = _is_missing(value)
        if _is_pair(value):
            raise InputError(_PAIRS, _PAIRS_HINT)
        if not (is_missing or isinstance(value, str)):
            raise InputError(
                f"{name}: record {row + 1} is {type(value).__name__}, not a string",
                "lists of items are for `neardup.dedup` and indexes, with shingle='item'"
                if is_basket(value)
                else _ACCEPTED,
            )
        try:
            text = None if is_missing else value.encode()
        except UnicodeEncodeError as error:
            if not columns.replaces:
                raise EncodingError(
                    f"{name}: record {row + 1} has half a surrogate pair, which is no character",
                    REPLACE_HINT,
                ) from error
            text = _LONE.sub("\ufffd", str(value)).encode()
            replaced += 1
        values.append(text)
        size += 8 + len(text or b"")
        if size >= partition_bytes:
            yield gathered()
            start, first, values, size, replaced = start + size, row + 1, [], 0, 0
    if values:
        yield gathered()
