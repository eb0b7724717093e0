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
from neardup.sketch.document_groups import group_texts, note_on_groups
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


def groups_asked(within: str | None, group: Any, texts: int) -> pa.LargeStringArray | None:
    """Return the groups of some texts that are in memory, as `Batch` has them.

    Args:
        within: Column of the groups of documents; None where they have none.
        group: That of all texts, or a list or an array with that of each; None if it wasn't given.
        texts: Their number.

    Raises:
        SpecError: It is missing, or not for this index, or there are more or fewer than texts.
        ColumnError: A value forms no group.
    """
    if within is None and group is not None:
        raise SpecError("`group` is given, and this index has no groups", "leave it out")
    if within is None:
        return None
    if group is None:
        raise SpecError(
            f"the index compares within {within!r}, and no `group` is given",
            'give that of each text, "" for one without',
        )
    several = hasattr(group, "__len__") and not isinstance(group, str | bytes | dict | set)
    found = group_texts(group if several else [group] * texts, "group")
    if len(found) != texts:
        raise SpecError(f"there are {len(found):,} groups and {texts:,} texts", "give one for each")
    return found


def groups_sent(within: str | None, groups: list[Any]) -> pa.LargeStringArray | None:
    """Do `groups_asked` for texts that were sent with their groups: None is one that was not."""
    if within is not None:
        return groups_asked(within, None if None in groups else groups, len(groups))
    return groups_asked(None, None if set(groups) <= {None} else groups, len(groups))


def batches_of(
    source: Any,
    ids: Iterable[Any] | None,
    reading: HowRead,
    clock: Clock | None = None,
    within: str | None = None,
    group: Any = None,
) -> Iterator[Batch]:
    """Read documents with their ids; without ids these are empty.

    Args:
        source: Texts, or a source as for `neardup.dedup`.
        ids: Ids of all documents, in order; None for the column that ``reading`` names.
        reading: How it is read.
        clock: Times how they are added; many texts in memory come some at a time then.
        within: Column of their groups; None where these are not compared.
        group: Groups of texts that are in memory, see `groups_asked`.

    Raises:
        InputError: The source can't be used; its subclasses say why.
        SpecError: There are more or fewer ids than documents, or groups as of `groups_asked`.
    """
    if isinstance(source, str) or source is None:
        what = "None" if source is None else "a string"
        raise ArgumentError(
            f"{what} was given; expected texts or a table",
            "give a list of texts, or a pathlib.Path to read a file",
        )
    given = None if ids is None else checked_ids(ids)
    done = 0
    for batch in _read(source, reading, clock, within, group):
        low, done = done, done + len(batch.texts)
        if given is not None and done > len(given):
            break
        yield batch if given is None else batch._replace(ids=given[low:done])
    if given is not None and done != len(given):
        raise SpecError(f"there are {len(given):,} ids, and not as many documents")


def _read(
    source: Any, reading: HowRead, clock: Clock | None, within: str | None, group: Any
) -> Iterator[Batch]:
    texts, step = texts_of(source, reading.items), TUNING.inserted_documents
    if texts is not None:
        batch = Batch([], texts, groups_asked(within, group, len(texts)))
        if clock is None or len(texts) <= step:
            yield batch
            return
        with clock.stage(ADD, len(texts)) as advance:
            for low in range(0, len(texts), step):
                yield batch.part(low, low + step)
                advance(len(texts.slice(low, step)))
        return
    if group is not None:
        raise SpecError("`group` is for texts in memory; tables have the column", "leave it out")
    extra = () if within is None else (within,)
    clock, opened = clock or Clock(), reading.open(source, extra)
    skipped, without, groups = list[Skipped](), 0, None
    name = opened.id_column
    columns = tuple(dict.fromkeys((name, *extra) if name else extra))
    with clock.stage(ADD, opened.total_bytes, "bytes") as advance:
        for partition in opened.partitions():
            documents = partition.read(columns)
            ids: Sequence[Any] = []
            skipped.append(documents.skipped)
            if name:
                ids = checked_ids(id_array(documents.columns.column(name), name))
            if within is not None:
                groups = group_texts(documents.columns.column(within), within)
                without += groups.null_count
            yield Batch(list(ids), documents.text, groups)
            advance(partition.size)
    notes = input_notes(Skipped.total(skipped), opened.files)
    clock.tell(ADD, notes + note_on_groups(without, within))
