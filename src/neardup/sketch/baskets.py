"""Baskets, which are sets of items, as texts with an item a line.

Files, engines and indexes store a basket as they store any text; the tokeniser finds its items
again, exactly: a line feed within an item is written as ``\\n``, a backslash as two.
"""

import re
from collections.abc import Iterable, Sequence, Set
from typing import Any, TypeAlias, cast

import numpy as np
import pyarrow as pa

from neardup.arrays import is_text, large_strings, numbers
from neardup.errors import InputError

#: Items of a document.
Basket: TypeAlias = Sequence[str | int | None] | Set[str | int | None]

EXPECTED = "lists of strings or integers"
_ESCAPES = (("\\", "\\\\"), ("\n", "\\n"))


class ItemError(TypeError):
    """An item is neither a string nor an integer; the message names its type."""


def is_basket(value: object) -> bool:
    """Return whether an object of Python is a list, tuple or set, or an array of NumPy."""
    return isinstance(value, list | tuple | Set | np.ndarray)


def is_basket_type(type: pa.DataType) -> bool:
    """Return whether an Arrow array of this type has lists of strings or of integers."""
    value: Any = getattr(type, "value_type", None)
    if value is None or pa.types.is_dictionary(type) or not str(type).startswith(_LISTS):
        return False
    return is_text(value) or pa.types.is_integer(value) or pa.types.is_null(value)


_LISTS = ("list", "large_list", "fixed_size_list")


def basket_text(items: Iterable[Any]) -> str:
    """Return the text of a basket; None among its items is left out, and a set is sorted.

    Raises:
        ItemError: An item is neither a string nor an integer.

    >>> basket_text(["ice cream", 7, None, "milk"])
    'ice cream\\n7\\nmilk\\n'
    """
    texts = []
    for item in items:
        if item is None:
            continue
        if not isinstance(item, str):
            if isinstance(item, bool) or not isinstance(item, int | np.integer):
                raise ItemError(type(item).__name__)
            item = str(item)
        if "\\" in item or "\n" in item:
            item = item.replace("\\", "\\\\").replace("\n", "\\n")
        texts.append(f"{item}\n")
    return "".join(sorted(texts) if isinstance(items, Set) else texts)


def basket_items(text: str) -> list[str]:
    """Return the items of a basket; numbers are strings.

    >>> basket_items(basket_text(["two\\nlines", "a\\\\b", ""]))
    ['two\\nlines', 'a\\\\b', '']
    """
    items = text.split("\n")
    if not items[-1]:
        items.pop()
    if "\\" not in text:
        return items
    return [re.sub(r"\\(.)", lambda m: "\n" if m[1] == "n" else m[1], item) for item in items]


def sorted_lines(text: str) -> str:
    r"""Return the text of a basket with its items in order, which is how two are shown.

    >>> sorted_lines(basket_text(["milk", "bread"]))
    'bread\nmilk\n'
    """
    return "".join(f"{line}\n" for line in sorted(text.removesuffix("\n").split("\n")) if text)


def basket_texts(lists: Any) -> pa.LargeStringArray:
    """Return the texts of baskets; null is an empty one, and null items are left out.

    Args:
        lists: Arrow array of lists, see `is_basket_type`.

    Raises:
        InputError: It has no such lists.
    """
    import pyarrow.compute as _pc

    pc = cast(Any, _pc)
    if isinstance(lists, pa.ChunkedArray):
        lists = lists.combine_chunks()
    if not is_basket_type(lists.type):
        raise InputError(f"the baskets are of type {lists.type}; expected {EXPECTED}")
    items, parents = pc.list_flatten(lists), pc.list_parent_indices(lists)
    if items.null_count:
        parents = pc.filter(parents, pc.is_valid(items))
        items = pc.drop_null(items)
    counts = np.bincount(numbers(parents).astype(np.int64), minlength=len(lists))
    first = np.concatenate([np.zeros(1, np.int64), counts.cumsum()])
    if not len(items):
        return large_strings(first, pa.py_buffer(b""))
    texts = items.cast(pa.large_string())
    for plain, escaped in _ESCAPES:
        if pc.any(pc.match_substring(texts, plain)).as_py():
            texts = pc.replace_substring(texts, plain, escaped)
    line = pa.scalar("\n", pa.large_string())
    lines = pc.binary_join_element_wise(texts, line, pa.scalar("", pa.large_string()))
    ends = np.frombuffer(lines.buffers()[1], np.int64)[lines.offset : lines.offset + len(lines) + 1]
    return large_strings(ends[first], lines.buffers()[2])


def terminated(texts: pa.LargeStringArray) -> pa.LargeStringArray:
    """Return texts that all end with a line feed, but for empty ones: each line is an item."""
    import pyarrow.compute as _pc

    pc = cast(Any, _pc)
    complete = pc.or_(pc.ends_with(texts, "\n"), pc.equal(pc.binary_length(texts), 0))
    if pc.all(complete).as_py() is not False:
        return texts
    empty, line = (pa.scalar(text, pa.large_string()) for text in ("", "\n"))
    longer = pc.binary_join_element_wise(texts, line, empty)
    return cast(pa.LargeStringArray, pc.if_else(complete, texts, longer))
