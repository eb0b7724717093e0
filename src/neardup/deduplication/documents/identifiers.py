"""The users' ids: unique, of a type whose values can be compared."""

from collections.abc import Callable
from typing import Any, TypeAlias, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup.arrays import array_of, buffer_of, dtype_of, large_strings, numbers
from neardup.errors import ColumnError, DuplicateIdError
from neardup.files.scratch import Scratch
from neardup.kernels.bits import TOKEN_MULTIPLIER
from neardup.kernels.text.tokens import hash_tokens
from neardup.match.bucketing import group
from neardup.sketch.texts import text_buffers

#: Ids by position; None where positions are the ids.
Ids: TypeAlias = "pa.ChunkedArray[Any] | None"

_HINT = "leave the id out to use positions as ids"
_LONGEST = 100  # characters of an id that a message shows
_GROUPED = 1 << 20  # ids that are grouped at once, about: a group takes 40 bytes for each


def id_array(column: "pa.ChunkedArray[Any]", name: str) -> "pa.ChunkedArray[Any]":
    """Return ids in a plain type, integers, strings or bytes; ColumnError for lists and such."""
    kind: Any = column.type
    if isinstance(kind, pa.BaseExtensionType):
        chunks: Any = column.chunks
        storage: Any = kind.storage_type
        column = pa.chunked_array([chunk.storage for chunk in chunks], storage)
        kind = column.type
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    hint, types, refused = _HINT, pa.types, f"column {name!r} contains {kind}, which can't be an id"
    if types.is_floating(kind):
        hint = f"make them integers, in pandas with .astype('Int64'), or {_HINT}"
    elif types.is_timestamp(kind) or types.is_duration(kind) or types.is_time(kind):
        # They would come out as strings, which do not equal the values of the input.
        hint = f"make them strings, in pandas with .astype(str), or {_HINT}"
    if hint != _HINT or types.is_boolean(kind) or types.is_nested(kind):
        raise ColumnError(refused, hint)
    target: pa.DataType = pa.large_string()  # dates, decimals: as they are written
    if types.is_integer(kind):
        target = pa.uint64() if types.is_uint64(kind) else pa.int64()
    elif "binary" in str(kind):
        target = pa.large_binary()
    try:
        return column if column.type == target else column.cast(target)
    except pa.ArrowException as error:
        raise ColumnError(refused, hint) from error


def check_ids(
    ids: "pa.ChunkedArray[Any]", name: str, describe: Callable[[int], str], secret: bool
) -> None:
    """Raise DuplicateIdError where two documents have the same id, or one has none.

    ``describe`` returns file and record of a document; ``secret`` ids are texts, which no message
    may quote.
    """
    if ids.null_count:
        row = int(pc.index(pc.is_null(ids), True).as_py())
        raise DuplicateIdError(f"{describe(row)} has no id in column {name!r}", _HINT)
    hashes, filled = np.empty(len(ids), np.uint64), 0
    for chunk in ids.chunks:
        hashes[filled : filled + len(chunk)] = _hashes(chunk)
        filled += len(chunk)
    seen: dict[Any, int] = {}
    # Equal hashes are nearly always equal ids, and there are few or none.
    for row in _members(hashes).tolist():
        value = _value(ids[row])
        if (before := seen.setdefault(value, row)) != row:
            text = repr(value)
            text = text if len(text) <= _LONGEST else text[:_LONGEST] + "..."
            shown = "an id" if secret else f"the id {text}"
            raise DuplicateIdError(
                f"{describe(row)} has {shown} that {describe(before)} has too, in column {name!r}; "
                "ids must be unique",
                _HINT,
            )


def _members(hashes: np.ndarray) -> np.ndarray:
    """Return int32[]: rows of hashes, uint64[n], that others have too, ascending."""
    shares = 1 << max(0, len(hashes) // _GROUPED).bit_length()
    if shares == 1:
        return np.sort(group(hashes).members)
    found = []
    for share in range(shares):
        rows = np.flatnonzero(hashes & np.uint64(shares - 1) == share).astype(np.int32)
        found.append(group(hashes[rows], rows).members)
    return np.sort(np.concatenate(found))


def joined_ids(ids: Ids, scratch: Scratch) -> Ids:
    """Return ids, of which none is null, as one array of ``scratch``.

    To take some of many arrays, Arrow joins all of them each time.
    """
    if ids is None or ids.num_chunks == 1:
        return ids
    if pa.types.is_integer(ids.type):
        values = scratch.empty(len(ids), dtype_of(ids.type))
        filled = 0
        for chunk in ids.chunks:
            values[filled : filled + len(chunk)] = numbers(chunk)
            filled += len(chunk)
        return pa.chunked_array([array_of(values)])
    parts = [text_buffers(cast(Any, chunk.view(pa.large_string()))) for chunk in ids.chunks]
    offsets = scratch.empty(len(ids) + 1, np.int64)
    offsets[0] = filled = 0
    for _, limits in parts:
        last = filled + len(limits) - 1
        offsets[filled + 1 : last + 1] = limits[1:] + (offsets[filled] - limits[0])
        filled = last
    data = scratch.empty(int(offsets[-1]), np.uint8)
    at = 0
    for values, limits in parts:
        size = int(limits[-1] - limits[0])
        data[at : at + size] = values[limits[0] : limits[-1]]
        at += size
    return pa.chunked_array([large_strings(offsets, buffer_of(data)).view(ids.type)])


def take_ids(ids: Ids, positions: np.ndarray) -> "pa.Array[Any]":
    """Return the ids at some positions, int[], as one Arrow array; null for -1."""
    chosen: Any = array_of(positions.astype(np.int64), null=positions < 0)
    if ids is None:
        return cast("pa.Array[Any]", chosen)
    taken: Any = ids.take(chosen)
    return taken.combine_chunks() if isinstance(taken, pa.ChunkedArray) else taken


def _value(scalar: "pa.Scalar[Any]") -> Any:
    try:
        return scalar.as_py()
    except UnicodeDecodeError:  # strings of a file that are not UTF-8
        return scalar.cast(pa.large_binary()).as_py()


def _hashes(chunk: "pa.Array[Any]") -> np.ndarray:
    """Return uint64[n]: evenly distributed, equal for equal ids."""
    if pa.types.is_integer(chunk.type):
        values = numbers(chunk).astype(np.uint64) * TOKEN_MULTIPLIER
    else:
        values = np.empty(len(chunk), dtype=np.uint64)
        strings: Any = chunk.view(pa.large_string())
        hash_tokens(*text_buffers(strings), values)
    return values ^ values >> np.uint64(32)
