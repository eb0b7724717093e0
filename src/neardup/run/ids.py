"""The users' ids: unique, of a type that can be told apart."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup.core.band import buckets
from neardup.core.shingle import text_buffers
from neardup.core.space import Space
from neardup.errors import ColumnError, DuplicateIdError
from neardup.kernels.shingles import byte_hashes
from neardup.run.facts import Column, Facts

__all__ = ["check_ids", "id_texts", "ids_of", "plain_id"]

_HINT = "leave --id out to use positions as ids"
_LONGEST = 100  # characters of an id that a message shows
#: Ids that are looked at together.
_BLOCK = 1 << 18


def ids_of(facts: Facts, id_column: str | None) -> Column:
    """Return the ids of all documents; int64 positions without a column."""
    if id_column is not None:
        return facts.columns[id_column]
    return _Positions(facts.documents)


class _Positions(Column):
    """Positions as ids, without holding them."""

    def __init__(self, documents: int) -> None:
        super().__init__(pa.int64(), [])
        self._documents = documents

    def __len__(self) -> int:
        return self._documents

    def take(self, positions: np.ndarray) -> Any:
        return pa.array(positions.astype(np.int64), mask=positions < 0)

    def slice(self, first: int, last: int) -> Any:
        return pa.array(np.arange(first, min(last, self._documents), dtype=np.int64))


def check_ids(
    facts: Facts, id_column: str | None, secret: bool, space: Space, passes: int = 1
) -> None:
    """Make sure that every document has an id of its own.

    Args:
        facts: The documents; the id column is brought into a plain type.
        id_column: Column that holds the ids; None for positions.
        secret: They are texts, which no message may quote.
        space: Where their hashes go.
        passes: See `neardup.core.band.buckets`.

    Raises:
        ColumnError: Values of a type that can't be told apart, such as lists.
        DuplicateIdError: Two documents have the same id, or one has none.
    """
    if id_column is None:
        return
    ids = facts.columns[id_column] = _plain(facts.columns[id_column])
    hashes = space.empty(facts.documents, np.uint64)
    for first in range(0, facts.documents, _BLOCK):
        block = ids.slice(first, first + _BLOCK)
        if block.null_count:
            row = first + int(np.flatnonzero(pc.is_null(block).to_numpy(zero_copy_only=False))[0])
            origin, place = facts.place(row)
            raise DuplicateIdError(f"{origin}{place} has no id in column {id_column!r}", _HINT)
        byte_hashes(*text_buffers(id_texts(block, id_column)), hashes[first : first + len(block)])
    members, starts = buckets(hashes, passes=passes)
    # Equal hashes are nearly always equal ids, and there are few or none.
    pairs: list[tuple[int, int]] = []
    for low, high in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True):
        seen: dict[Any, int] = {}
        found = id_texts(ids.take(members[low:high]), id_column)
        values = found.view(pa.large_binary()).to_pylist()  # they may be any bytes
        for doc, value in zip(members[low:high].tolist(), values, strict=True):
            if value in seen:
                pairs.append((doc, seen[value]))
                break
            seen[value] = doc
    if pairs:
        row, before = min(pairs)
        origin, place = facts.place(row)
        other, earlier = facts.place(before)
        shown = "" if secret else _shown(ids.slice(row, row + 1)[0])
        raise DuplicateIdError(
            f"{origin}{place} has the id {shown}of {'' if other == origin else other}{earlier} in "
            f"column {id_column!r}; ids must be unique",
            _HINT,
        )


def _plain(ids: Column) -> Column:
    """The same without dictionaries and views."""
    type = ids.type.value_type if pa.types.is_dictionary(ids.type) else ids.type
    if pa.types.is_string(type) or pa.types.is_string_view(type):
        type = pa.large_string()
    if pa.types.is_binary(type) or pa.types.is_binary_view(type):
        type = pa.large_binary()
    if type == ids.type:
        return ids
    return Column(type, [chunk.cast(type) for chunk in ids.chunks])


def id_texts(ids: Any, name: str) -> Any:
    """The ids as texts that are equal where the ids are."""
    values = ids.storage if isinstance(ids, pa.ExtensionArray) else ids
    if pa.types.is_fixed_size_binary(values.type):
        values = values.cast(pa.large_binary())
    if pa.types.is_large_binary(values.type):
        return values.view(pa.large_string())
    try:
        return values.cast(pa.large_string())
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid) as error:
        raise ColumnError(
            f"column {name!r} holds {ids.type}, which can't be an id", _HINT
        ) from error


def plain_id(value: Any) -> Any:
    """Return an id as a value that JSON has; bytes as the text that they are, as far as they are.

    >>> plain_id(7), plain_id(b"A-7"), plain_id(b"7\\xff")
    (7, 'A-7', '7\\\\xff')
    """
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    return value if isinstance(value, int | float | str) else str(value)


def _shown(value: Any) -> str:
    text = repr(value.as_py())
    return (text if len(text) <= _LONGEST else text[:_LONGEST] + "...") + " "
