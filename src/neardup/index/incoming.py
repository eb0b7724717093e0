"""Documents from a user's source, as batches with ids."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import pyarrow as pa

from neardup.deduplication.clock import Clock
from neardup.deduplication.documents.identifiers import id_array
from neardup.errors import ArgumentError, InputError, SpecError
from neardup.index.storing.bodies import Id, is_integer_id
from neardup.index.storing.transactions import Batch
from neardup.io.source import Skipped
from neardup.io.streams import input_notes
from neardup.options.how_read import HowRead
from neardup.sketch.baskets import is_basket
from neardup.sketch.texts import as_text
from neardup.tuning import TUNING

#: The stage of a call in which documents come in and are added.
ADD = "add documents"


def is_file(source: Any) -> bool:
    """Return whether a source is a file, or several."""
    paths = source if isinstance(source, list | tuple) else [source]
    return bool(paths) and isinstance(paths[0], os.PathLike)


def checked_id(value: Any) -> Id:
    """Return an id.

    Raises:
        InputError: It is neither a string nor an integer of 64 bits.
    """
    if type(value) is str and encodes(value):
        return value
    if isinstance(value, np.integer):
        value = int(value)
    if type(value) is int and is_integer_id(value):
        return value
    raise InputError(
        f"an id of type {type(value).__name__} can't be used; expected a string of characters or "
        "an integer of 64 bits",
        "convert the ids to strings",
    )


def encodes(value: str) -> bool:
    """Return whether a string consists of characters: it has no half surrogate pair."""
    if value.isascii():
        return True
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def checked_ids(ids: Iterable[Any]) -> list[Id]:
    """Return ids as a list, see `checked_id`."""
    values: Any = ids
    if hasattr(values, "to_pylist"):
        values = values.to_pylist()
    elif hasattr(values, "tolist"):
        values = values.tolist()
    return [checked_id(value) for value in values]


def checked_text(value: object, name: str = "text") -> str:
    """Return an argument that must be a text.

    Raises:
        ArgumentError: It is something else, as None.
    """
    if isinstance(value, str):
        return value
    given = "None" if value is None else f"of type {type(value).__name__}"
    raise ArgumentError(f"`{name}` is {given}; expected a string", "give the text of a document")


def one_text(text: Any, items: bool) -> pa.LargeStringArray:
    """Return one text, or with ``items`` one basket, as an array.

    Raises:
        ArgumentError: It is neither.
    """
    basket = items and is_basket(text)
    return as_text([text if basket else checked_text(text)], basket)


def typed_ids(ids: Sequence[str], kind: str) -> list[Id]:
    """Return ids of which only the text is known, as an index has them.

    Args:
        ids: Such as ``"17"`` for the id 17.
        kind: ``"int"`` for an index whose ids are integers; else they are strings.

    Raises:
        InputError: Ids are integers, and one given is not.
    """
    if kind != "int":
        return list(ids)
    values: list[Id] = []
    with suppress(ValueError):
        values = [int(id_) for id_ in ids]
    if list(map(str, values)) != list(ids):  # also where it is written in another way, as 007
        raise InputError("the ids of this index are integers, and one is not")
    return values


def ids_as_stored(ids: Iterable[Any], kind: str) -> list[Id]:
    """Return ids as an index has them: integers of a file may be text, and the reverse.

    Args:
        ids: As for `checked_ids`.
        kind: ``"int"``, ``"str"``, or nothing for an index without ids.

    Raises:
        InputError: As of `checked_ids` and `typed_ids`.
    """
    found = checked_ids(ids)
    if kind == "str":
        return list(map(str, found))
    texts = [id_ for id_ in found if isinstance(id_, str)]
    return typed_ids(texts, kind) if len(texts) == len(found) else found


def is_one(texts: Any, items: bool) -> bool:
    """Return whether this is one text, or with ``items`` one basket, instead of several."""
    return isinstance(texts, str) or (items and is_basket(texts) and not any(map(is_basket, texts)))


def texts_of(texts: Any, items: bool = False) -> pa.LargeStringArray | None:
    """Return texts that are in memory, or with ``items`` baskets; None for everything else."""

    def is_text(text: object) -> bool:
        return isinstance(text, str | None) or (items and is_basket(text))

    is_list = isinstance(texts, list | tuple) and all(map(is_text, texts))
    is_array = isinstance(texts, pa.Array | pa.ChunkedArray)
    return as_text(texts, items) if is_list or is_array else None


def batches_of(
    source: Any, ids: Iterable[Any] | None, reading: HowRead, clock: Clock | None = None
) -> Iterator[Batch]:
    """Read documents with their ids; without ids these are empty.

    Args:
        source: Texts, or a source as for `neardup.dedup`.
        ids: Ids of all documents, in order; None for the column that ``reading`` names.
        reading: How it is read.
        clock: Times how they are added; many texts in memory come some at a time then.

    Raises:
        InputError: The source can't be used; its subclasses say why.
        SpecError: There are more or fewer ids than documents.
    """
    if isinstance(source, str) or source is None:
        what = "None" if source is None else "a string"
        raise ArgumentError(
            f"{what} was given; expected texts or a table",
            "give a list of texts, or a pathlib.Path to read a file",
        )
    given = None if ids is None else checked_ids(ids)
    done = 0
    for texts, read in _read(source, reading, clock):
        found = given[done : done + len(texts)] if given is not None else read
        done += len(texts)
        if given is not None and done > len(given):
            break
        yield Batch(found, texts)
    if given is not None and done != len(given):
        raise SpecError(f"there are {len(given):,} ids, and not as many documents")


def _read(
    source: Any, reading: HowRead, clock: Clock | None
) -> Iterator[tuple[pa.LargeStringArray, list[Id]]]:
    texts, step = texts_of(source, reading.items), TUNING.inserted_documents
    if texts is not None and (clock is None or len(texts) <= step):
        yield texts, []
        return
    clock = clock or Clock()
    if texts is not None:
        with clock.stage(ADD, len(texts)) as advance:
            for low in range(0, len(texts), step):
                yield texts.slice(low, step), []
                advance(len(texts.slice(low, step)))
        return
    opened, skipped = reading.open(source), list[Skipped]()
    name = opened.id_column
    with clock.stage(ADD, opened.total_bytes, "bytes") as advance:
        for partition in opened.partitions():
            documents = partition.read((name,) if name else ())
            ids: Sequence[Any] = []
            skipped.append(documents.skipped)
            if name:
                ids = checked_ids(id_array(documents.columns.column(name), name))
            yield documents.text, list(ids)
            advance(partition.size)
    clock.tell(ADD, input_notes(Skipped.total(skipped), opened.files))
