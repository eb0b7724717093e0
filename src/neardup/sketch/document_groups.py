"""Groups of documents: only documents with the same value of a column are compared.

The text of such a document begins with a key of its group. A tokeniser of grouped texts takes the
keys off, and mixes them into the sets of shingles; a sketcher mixes them into content hashes and
band keys, too. Nothing behind it has to know of groups: two of them have nothing in common.
"""

from typing import Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup.arrays import is_text, large_strings, strings_of, without_nan
from neardup.errors import ColumnError
from neardup.kernels.text.tokens import hash_tokens
from neardup.sketch.texts import Ragged, text_buffers
from neardup.values.readable import having

#: The last is before a value that is hashed: no shingle has the same hash as a group.
_EMPTY, _NONE, _SALT = strings_of([b"", None, b"\0group\0"])
#: Characters of a key, in base 16.
KEY = 16
_DIGITS = np.frombuffer(b"0123456789abcdef", np.uint8)
_SHIFTS = np.arange(60, -1, -4, dtype=np.uint64)


def group_values(column: Any, name: str) -> Any:
    """Return the values of a column as text, null where there is none; equal ones are one group.

    Integers, truth values, dates and times are compared by their text: 7 is "7", and not "007".
    Empty text is no value.

    Args:
        column: Arrow array or chunked array.
        name: Of the column, for messages.

    Raises:
        ColumnError: Values are of a type that has no equality to rely on, such as floats.
    """
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    kind = column.type
    if pa.types.is_floating(kind):
        found = without_nan(column)
        if found.null_count < len(found):
            raise ColumnError(
                f"column {name!r} has floating-point numbers ({kind}), which form no groups: two "
                "that look equal may differ",
                "convert it to integers or text; pandas makes floats of integers where a value is "
                'missing, and .astype("Int64") makes them integers again',
            )
        return pa.nulls(len(column), pa.large_string())
    if pa.types.is_timestamp(kind):
        text: Any = column.cast(pa.timestamp("ns") if kind.unit == "ns" else pa.timestamp("us"))
        # Other files have other numbers of zeros, and dates without a time.
        text = text.cast(pa.large_string())
        text = pc.replace_substring_regex(text, r"( 00:00:00)?\.?0*$", "")
    elif _is_plain(kind):
        text = column.cast(pa.large_string())
    else:
        raise ColumnError(
            f"column {name!r} has values of type {kind}, which form no groups",
            "expected text, integers, dates or truth values",
        )
    return pc.if_else(pc.equal(text, _EMPTY), _NONE, text)


def group_texts(values: Any, name: str) -> pa.LargeStringArray:
    """Return values as one array, see `group_values`; those of a list may be of several types."""
    try:
        column: Any = values if isinstance(values, pa.Array | pa.ChunkedArray) else pa.array(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError, UnicodeEncodeError):
        if len(values) == 1:
            raise ColumnError(
                f"a value of type {type(values[0]).__name__} in {name!r} forms no group",
                "expected characters, integers of 64 bits, dates or truth values",
            ) from None
        column = pa.concat_arrays([group_texts([value], name) for value in values])
    found: Any = group_values(column, name)
    if isinstance(found, pa.ChunkedArray):
        found = pa.concat_arrays(found.chunks) if found.num_chunks else pa.nulls(0, found.type)
    return cast(pa.LargeStringArray, found)


def _is_plain(kind: pa.DataType) -> bool:
    types = pa.types
    integral = types.is_decimal(kind) and kind.scale == 0
    simple = types.is_integer(kind) or types.is_boolean(kind) or types.is_date(kind)
    return is_text(kind) or simple or integral or types.is_null(kind)


def groups_of(column: Any, name: str) -> np.ndarray:
    """Return uint64[documents]: the hash of the group of each; 0 for those without a value.

    The arguments and errors are those of `group_values`.
    """
    values = group_texts(column, name)
    salted = _joined(_SALT, pc.fill_null(values, _EMPTY))
    hashes = np.empty(len(values), np.uint64)
    hash_tokens(*text_buffers(salted), hashes)
    hashes |= np.uint64(1)
    hashes[np.asarray(values.is_null())] = 0
    return hashes


def with_groups(text: pa.LargeStringArray, groups: np.ndarray) -> pa.LargeStringArray:
    """Return texts with keys of their groups, as `groups_of` returns them, before them."""
    keys = _DIGITS[(groups[:, None] >> _SHIFTS & np.uint64(15)).astype(np.intp)]
    offsets = np.arange(len(groups) + 1, dtype=np.int64) * KEY
    prefixes = large_strings(offsets, pa.py_buffer(keys.tobytes()))
    return _joined(prefixes, text)


def _joined(prefix: Any, text: Any) -> pa.LargeStringArray:
    join: Any = pc.binary_join_element_wise
    return cast(pa.LargeStringArray, join(prefix, text, _EMPTY))


def without_groups(text: pa.LargeStringArray) -> tuple[pa.LargeStringArray, np.ndarray]:
    """Return texts without the keys that `with_groups` has put before them, and their groups.

    A document without a group has no text: it is compared with none.
    """
    data, offsets = text_buffers(text)
    if not len(text):
        return text, np.empty(0, np.uint64)
    begin = offsets[:-1] - offsets[0]
    data = data[offsets[0] : offsets[-1]]
    where = begin[:, None] + np.arange(KEY)
    digits = np.searchsorted(_DIGITS, data[where]).astype(np.uint64)
    groups = np.bitwise_or.reduce(digits << _SHIFTS, axis=1)
    sizes, none = np.diff(offsets), groups == 0
    stays = np.repeat(~none, sizes)
    stays[where.ravel()] = False
    ends = np.append(0, np.cumsum(np.where(none, 0, sizes - KEY)))
    return large_strings(ends, pa.py_buffer(data[stays].tobytes())), groups


def mix_groups(sets: Ragged, groups: np.ndarray) -> None:
    """Mix the group of each document into its shingles, in place; or take it off again."""
    sets.values[:] ^= np.repeat(groups, np.diff(sets.offsets))


def note_on_groups(none: int, name: str | None) -> list[str]:
    """Return the note on documents without a value, if there are any."""
    if not none:
        return []
    return [f"{having(none, 'document')} no {name}; those without are compared with none"]
