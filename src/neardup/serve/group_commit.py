"""Group commit: what arrives at the same time is decided in arrival order, in one transaction."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from typing import Any, TypeAlias

import numpy as np

from neardup.errors import IndexMovedError, InputError, NeardupError, OutputError, SpecError
from neardup.index.answers import first_answer
from neardup.index.incoming import groups_sent, texts_of
from neardup.index.inserting import Decisions, add_all, add_new, replace
from neardup.index.storing.catalogue import BusyError
from neardup.index.storing.merging import Merger, compact
from neardup.index.storing.transactions import Batch, Core
from neardup.serve.calls import Group, Id, Text
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

LOG = logging.getLogger("neardup.serve")
_Reply: TypeAlias = Failed | Done | DecidedColumns
#: Errors of one call, which are no reason to give up the others.
_REFUSED = (InputError, SpecError)
#: After so many single requests without space, a group that has none is not divided.
_FULL = 8
_LATE = Failed(503, "", "it waited too long, and was not done", "send it again")


class Decider:
    """Does the requests of all clients as the one writer of an index.

    Args:
        core: The index.
        failed: Called for each transaction that failed.
    """

    def __init__(self, core: Core, failed: Callable[[], None]) -> None:
        self._core, self._merger, self._failed = core, Merger(core), failed
        self._items = core.recipe.shingle.unit == "item"
        self._full = 0  # requests for which there was no space, one after the other

    def __call__(self, requests: Sequence[WriteRequest]) -> list[Reply]:
        """Do some requests in their order, in one transaction, which is committed at the end.

        One that is refused changes nothing. If the transaction fails, nothing of it was done: one
        half is done in a transaction, then the other, and so on, down to single requests.
        """
        now, self._full = time.monotonic(), 0
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
            replies = self._each(self._compact if is_compact else self._transaction, whats)
            found.update(zip((row for row, _ in part), replies, strict=True))
            if not is_compact:
                self._merge()
        return [Reply(each.number, found[row]) for row, each in enumerate(requests)]

    def close(self) -> None:
        """Wait for merges, and let go of the files."""
        self._merger.finish()
        self._core.close()

    def _each(self, do: Callable[[Sequence[Any]], list[_Reply]], whats: list[Any]) -> list[_Reply]:
        """Do requests in one transaction, or in several where it fails."""
        try:
            replies = do(whats)
            self._full = 0
            return replies
        except (BusyError, IndexMovedError) as error:  # none of them can be done
            return [_refused(error)] * len(whats)
        except Exception as error:  # noqa: BLE001
            self._failed()
            is_full = isinstance(error, OutputError)
            if len(whats) == 1 or (is_full and self._full >= _FULL):
                self._full += is_full
                return [_failure(error)] * len(whats)
        half = len(whats) // 2
        return self._each(do, whats[:half]) + self._each(do, whats[half:])

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
        return replies

    def _merge(self) -> None:
        """Spill and merge where it is due; committed requests are answered even if it fails."""
        try:
            self._merger.after_insert()
        except Exception as error:  # noqa: BLE001
            LOG.error("segments can't be merged: %s", type(error).__name__)

    def _together(self, whats: list[Any]) -> list[_Reply]:
        """Do requests of one kind at once; if one is refused, one half, then the other."""
        try:
            with self._core.attempt(_REFUSED):
                return self._do(whats)
        except _REFUSED as error:
            if len(whats) == 1:
                return [_refused(error)]
        half = len(whats) // 2
        return self._together(whats[:half]) + self._together(whats[half:])

    def _do(self, whats: list[Any]) -> list[_Reply]:
        core, first = self._core, whats[0]
        if isinstance(first, New):
            names, answers = add_new(core, [self._joined(whats)])
            return list(_decided(whats, names, answers, core.catalogue.state().ids))
        if isinstance(first, Added):
            count = add_all(core, [self._joined(whats)], first.on_conflict)
            return [Done(count)] if len(whats) == 1 else [Done(len(w.texts)) for w in whats]
        if isinstance(first, Update):
            batch = self._batch([first.id], [first.text], [first.group])
            answers, released = replace(core, batch, first.if_new)
            of, similarity = first_answer(answers)
            return [Done((of is None or not first.if_new, of, similarity, released))]
        assert isinstance(first, Remove)
        return [Done(core.remove_known(list(dict.fromkeys(first.ids))))]

    def _joined(self, whats: list[Any]) -> Batch:
        ids: list[Id] = [id_ for what in whats for id_ in what.ids or ()]
        texts = [text for what in whats for text in what.texts]
        return self._batch(ids, texts, [group for what in whats for group in _groups(what)])

    def _batch(self, ids: list[Id], texts: list[Text], groups: list[Group]) -> Batch:
        found = texts_of(texts, self._items)
        if found is None:
            raise InputError("a text is a list of items", "send a string for each document")
        return Batch(ids, found, groups_sent(self._core.recipe.within, groups))


def _groups(what: Any) -> list[Group]:
    return what.groups or [None] * len(what.texts)


def _kind(what: Any) -> tuple[type, bool, str]:
    """Return what requests have in common that can be done at once; false if they can't be.

    Of documents without ids each has to know the ids of those before it.
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


def _failure(error: Exception) -> Failed:
    """Return the answer where the transaction of one request failed."""
    if isinstance(error, NeardupError):
        return _refused(error)
    LOG.error("a transaction failed: %s", type(error).__name__)
    return Failed(500, "", "an unexpected error; nothing was changed", "")


def _refused(error: NeardupError) -> Failed:
    return Failed(status_of(error), public_name(type(error)), error.message, error.hint)
