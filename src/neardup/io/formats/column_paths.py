"""Columns by paths: members of structs and objects, ``meta.text``, and of lists, ``tags[]``.

A column of exactly that name wins, then the longest beginning that is the name of one.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias, cast

import numpy as np
import pyarrow as pa

from neardup.arrays import buffer_of, is_binary, is_text, numbers, strings_of

#: Of a value: the shapes of its members, the one of its items, or the name of its type.
Shape: TypeAlias = "dict[str, Shape] | list[Shape] | str"
#: A column; pyarrow's stubs want the type of its values.
Column = Any

#: Members of a path: values of a list.
LIST = "[]"
#: Names of strings in shapes, and those that a text has most often.
_SHORT = 40  # characters of a name that a message has
_STRINGS = ("str", "string", "large_string", "string_view")
_TEXTS = ("text", "content", "value", "body")


def splits(path: str) -> Iterator[tuple[str, str]]:
    """Yield each beginning of a path that may be a name, and the rest; the longest first.

    >>> list(splits("a.b[].c"))
    [('a.b[].c', ''), ('a.b[]', '.c'), ('a.b', '[].c'), ('a', '.b[].c')]
    """
    yield path, ""
    for i in range(len(path) - 1, 0, -1):
        if path[i] == "." or path.startswith(LIST, i):
            yield path[:i], path[i:]


def heads(path: str) -> list[str]:
    """Return all names that a path may begin with, besides the path itself."""
    return [head for head, rest in splits(path) if rest]


def _is_list(kind: Any) -> bool:
    return pa.types.is_list(kind) or pa.types.is_large_list(kind)


class _Steps(NamedTuple):
    """The way to a value: numbers of members, -1 for the values of a list; and their type."""

    numbers: tuple[int, ...]
    type: Any


def _steps(names: Sequence[str], types: Sequence[Any], path: str) -> _Steps | None:
    for head, rest in splits(path):
        if head in names:
            number = names.index(head)
            after = _after(types[number], rest)
            if after is not None:
                return _Steps((number, *after.numbers), after.type)
    return None


def _after(kind: Any, rest: str) -> _Steps | None:
    if not rest:
        return _Steps((), kind)
    if rest.startswith(LIST):
        inner = _after(kind.value_type, rest[len(LIST) :]) if _is_list(kind) else None
        # Values of one list are joined; those of lists in lists have no order that is meant.
        return None if inner is None or -1 in inner.numbers else _Steps((-1, *inner.numbers), kind)
    if not pa.types.is_struct(kind):
        return None
    fields = [kind.field(i) for i in range(kind.num_fields)]
    return _steps([f.name for f in fields], [f.type for f in fields], rest[1:])


def type_at(schema: pa.Schema, path: str) -> Any:
    """Return the type of a column by its path, that of a list for values of one; None without."""
    found = _steps(schema.names, schema.types, path)
    return None if found is None else found.type


def steps_to(schema: pa.Schema, path: str) -> tuple[int, ...]:
    """Return the numbers of a column, which there is, and of members in it; -1 for a list."""
    found = _steps(schema.names, schema.types, path)
    assert found is not None, path
    return found.numbers


def select(table: pa.Table, paths: Sequence[str]) -> pa.Table:
    """Return columns by their paths, each under its path."""
    if set(paths) <= set(table.column_names):
        return table.select(list(paths))
    fields, columns = [], []
    for path in paths:
        column: Column = _column(table, path)
        is_there = path in table.column_names
        fields.append(table.schema.field(path) if is_there else pa.field(path, column.type))
        columns.append(column)
    return pa.Table.from_arrays(columns, schema=pa.schema(fields))


def _column(table: pa.Table, path: str) -> Column:
    import pyarrow.compute as _pc

    pc = cast(Any, _pc)
    first, *others = steps_to(table.schema, path)
    column: Column = table.column(first)
    for i, number in enumerate(others):
        if number < 0:
            return _joined(column, others[i + 1 :])
        column = pc.struct_field(column, [number])
    return column


def _joined(column: Column, members: Sequence[int]) -> Column:
    """Return the strings in each list of a column, joined by line ends; others as lists."""
    import pyarrow.compute as _pc

    pc = cast(Any, _pc)
    lists = pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)
    values, parents = lists.flatten(), numbers(pc.list_parent_indices(lists))
    for member in members:
        values = pc.struct_field(values, [member])
    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    if is_binary(values.type):
        values = values.cast(pa.large_binary()).view(pa.large_string())
    is_there = values.is_valid()
    kept = parents[np.asarray(is_there.to_numpy(zero_copy_only=False), np.bool_)]
    values = values.filter(is_there)
    ends = np.zeros(len(lists) + 1, np.int64)
    np.cumsum(np.bincount(kept, minlength=len(lists)), out=ends[1:])
    offsets = pa.Array.from_buffers(pa.int64(), len(ends), [None, buffer_of(ends)])
    is_string = is_text(values.type) or not len(values)
    values = values.cast(pa.large_string()) if is_string else values
    made = pa.LargeListArray.from_arrays(cast(Any, offsets), values)
    return pa.chunked_array([pc.binary_join(made, strings_of([b"\n"])[0]) if is_string else made])


def shape_of(kind: Any) -> Shape:
    """Return the shape of values of an Arrow type."""
    if pa.types.is_struct(kind):
        fields = (kind.field(i) for i in range(kind.num_fields))
        return {field.name: shape_of(field.type) for field in fields}
    return [shape_of(kind.value_type)] if _is_list(kind) else str(kind)


def shape_of_values(values: Iterable[Any]) -> Shape:
    """Return the shape of values that JSON has, as that of most members that one of them has."""
    values = [value for value in values if value is not None]
    if objects := [value for value in values if isinstance(value, Mapping)]:
        names = dict.fromkeys(name for value in objects for name in value)
        return {n: shape_of_values(value.get(n) for value in objects) for n in names}
    if lists := [value for value in values if isinstance(value, list)]:
        return [shape_of_values(item for value in lists for item in value)]
    return type(values[0]).__name__ if values else "null"


def follow(value: Any, rest: str) -> Any:
    """Return the value that a path leads to within one of JSON; a list for values of one.

    Args:
        value: The value; TypeError where it is no object or list, and the path needs one.
        rest: The rest of the path, see `splits`.
    """
    if value is None or not rest or (isinstance(value, float) and math.isnan(value)):
        return None if isinstance(value, float) and math.isnan(value) else value
    if rest.startswith(LIST):
        if not isinstance(value, list):
            raise TypeError
        return [follow(item, rest[len(LIST) :]) for item in value]
    if not isinstance(value, Mapping):
        raise TypeError
    found = ((value[head], tail) for head, tail in splits(rest[1:]) if head in value)
    return follow(*next(found, (None, "")))


def text_below(shape: Shape, path: str) -> str:
    """Return the path of strings within values of a shape, which have a path; empty without any."""
    if isinstance(shape, list):
        return "" if isinstance(shape[0], list) else text_below(shape[0], path + LIST)
    if isinstance(shape, str):
        return path if shape in _STRINGS else ""
    # Others may be parts of a text.
    plain = (name for name in shape if len(name) <= _SHORT and name.isidentifier())
    names = sorted(plain, key=lambda name: name not in _TEXTS)
    below = (text_below(shape[name], f"{path}.{name}") for name in names)
    return next((found for found in below if found.count(LIST) < 2 and found), "")


def value_at(row: Mapping[str, Any], path: str) -> Any:
    """Return the value at a path of an object of JSON; strings in a list are joined by line ends.

    Raises:
        KeyError: The object has none of the names that the path may begin with.
        TypeError: The path leads through something else, or to a list of no strings.
    """
    if not any(head in row for head, _ in splits(path)):
        raise KeyError(path)
    found = follow(row, f".{path}")
    is_list = LIST in path and path not in row and isinstance(found, list)
    return "\n".join(item for item in found if item is not None) if is_list else found


class Missing(NamedTuple):
    """Why a path leads nowhere.

    Attributes:
        where: The part of the path that leads somewhere.
        what: The kind of values there, in words; nothing where it has names.
        names: Names that are there, each with the path before it.
        path: One that leads on, or to a text.
    """

    where: str
    what: str
    names: tuple[str, ...] = ()
    path: str = ""


def why_missing(shape: Shape, path: str, before: str = "") -> Missing:
    """Return why a path leads nowhere in values of a shape."""
    if not path:
        return Missing(before, "")
    if isinstance(shape, list):
        if path.startswith(LIST) and (isinstance(shape[0], list) or LIST in path[len(LIST) :]):
            return Missing(before, "has lists in lists, which no path leads through")
        if path.startswith(LIST):
            return why_missing(shape[0], path[len(LIST) :], before + LIST)
        is_nested = isinstance(shape[0], list)
        what = "has lists in lists, which no path leads through" if is_nested else "has lists"
        return Missing(before, what, (), "" if is_nested else f"{before}{LIST}{path}")
    if isinstance(shape, str):
        return Missing(before, f"has values of type {shape}")
    if path.startswith(LIST):
        return Missing(before, "has no lists")
    path = path[1:] if before else path
    dot = "." if before else ""
    for head, rest in splits(path):
        if head in shape and rest:
            return why_missing(shape[head], rest, before + dot + head)
    return Missing(before, "", tuple(f"{before}{dot}{n}" for n in shape), text_below(shape, before))
