"""Group commit: what arrives at the same time is decided in arrival order, in one transaction."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any, TypeAlias

import numpy as np

from neardup.errors import InputError, NeardupError, SpecError
from neardup.index.answers import first_answer
from neardup.index.incoming import texts_of
from neardup.index.inserting import Decisions, add_all, add_new, replace
from neardup.index.merging import Merger, compact
from neardup.index.transactions import Batch, Core
from neardup.serve.calls import Id, Text
from neardup.serve.messages import (
    Added,
    Compact,
    DecidedColumns,
    Done,
    Failed,
    New,
    Remove,
    Reply,
    Update,
    WriteRequest,
)
from neardup.serve.problems import public_name, status_of

_Reply: TypeAlias = Failed | Done | DecidedColumns
#: Errors of one call, which are no reason to give up the others.
_REFUSED = (InputError, SpecError)
_LATE = Failed(503, "", "it waited too long, and was not done", "send it again")


class Decider:
    """Does the requests of all clients as the one writer of an index.

    Args:
        core: The index.
    """

    def __init__(self, core: Core) -> None:
        self._core, self._merger = core, Merger(core)
        self._items = core.recipe.shingle.unit == "item"

    def __call__(self, requests: Sequence[WriteRequest]) -> list[Reply]:
        """Do some requests in their order, in one transaction, which is committed at the end.

        One that is refused changes nothing. If the transaction fails, nothing of it was done.
        """
        now = time.monotonic()
        found: dict[int, _Reply] = {}
        due = []
        for row, request in enumerate(requests):
            if request.until < now:
                found[row] = _LATE
            else:
                due.append((row, request.what))
        for is_compact, members in groupby(due, lambda pair: isinstance(pair[1], Compact)):
            part = list(members)
            whats = [what for _, what in part]
            try:
                replies = self._compact(whats) if is_compact else self._transaction(whats)
            except NeardupError as error:
                replies = [_failed(error)] * len(part)
            found.update(zip((row for row, _ in part), replies, strict=True))
        return [Reply(each.number, found[row]) for row, each in enumerate(requests)]

    def close(self) -> None:
        """Wait for merges, and let go of the files."""
        self._merger.finish()
        self._core.close()

    def _compact(self, whats: Sequence[Any]) -> list[_Reply]:
        for what in whats:
            self._merger.stop()
            compact(self._core, what.purge)
        return [Done(None)] * len(whats)

    def _transaction(self, whats: Sequence[Any]) -> list[_Reply]:
        replies: list[_Reply] = []
        with self._core.writing():
            for _, members in groupby(whats, _kind):
                part = list(members)
                step = len(part) if _kind(part[0])[1] else 1
                for low in range(0, len(part), step):
                    replies += self._together(part[low : low + step])
        self._merger.after_insert()
        return replies

    def _together(self, whats: list[Any]) -> list[_Reply]:
        """Do requests of one kind at once; if one is refused, one half, then the other."""
        try:
            with self._core.attempt(_REFUSED):
                return self._do(whats)
        except _REFUSED as error:
            if len(whats) == 1:
                return [_failed(error)]
        half = len(whats) // 2
        return self._together(whats[:half]) + self._together(whats[half:])

    def _do(self, whats: list[Any]) -> list[_Reply]:
        core, first = self._core, whats[0]
        if isinstance(first, New):
            names, answers = add_new(core, [self._batch(whats)])
            return list(_decided(whats, names, answers, core.catalogue.state().ids))
        if isinstance(first, Added):
            count = add_all(core, [self._batch(whats)], first.on_conflict)
            return [Done(count)] if len(whats) == 1 else [Done(len(w.texts)) for w in whats]
        if isinstance(first, Update):
            batch = Batch([first.id], self._texts([first.text]))
            answers, released = replace(core, batch, first.if_new)
            of, similarity = first_answer(answers)
            return [Done((of is None or not first.if_new, of, similarity, released))]
        assert isinstance(first, Remove)
        return [Done(core.remove_known(list(dict.fromkeys(first.ids))))]

    def _batch(self, whats: list[Any]) -> Batch:
        ids: list[Id] = [id_ for what in whats for id_ in what.ids or ()]
        return Batch(ids, self._texts([text for what in whats for text in what.texts]))

    def _texts(self, texts: list[Text]) -> Any:
        found = texts_of(texts, self._items)
        if found is None:
            raise InputError("a text is a list of items", "send a string for each document")
        return found


def _kind(what: Any) -> tuple[type, bool, str]:
    """Return what requests have in common that can be done at once; false if they can't be.

    Of documents without ids each has to know how many came before.
    """
    conflict = getattr(what, "on_conflict", "error")
    together = isinstance(what, New | Added) and bool(what.ids) and conflict == "error"
    return type(what), together, conflict


def _decided(
    whats: Sequence[Any], names: list[Id], answers: Decisions, id_type: str
) -> Iterator[DecidedColumns]:
    similarity = [None if np.isnan(value) else value for value in answers.similarity.tolist()]
    low = 0
    for what in whats:
        high = low + len(what.texts)
        yield DecidedColumns(
            id_type, names[low:high], answers.duplicate_of[low:high], similarity[low:high]
        )
        low = high


def _failed(error: NeardupError) -> Failed:
    return Failed(status_of(error), public_name(type(error)), error.message, error.hint)
