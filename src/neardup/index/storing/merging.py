"""Segments of the log, and merges of segments: tiers by size, in a thread of their own."""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TypeAlias

import numpy as np

from neardup.errors import NeardupError, ResumeError, StoreError
from neardup.files.private_files import sync_folder
from neardup.index.copy_keys import shortened
from neardup.index.storing.catalogue import BusyError
from neardup.index.storing.index_state import State, row_sum
from neardup.index.storing.segments import Entries, Segment, merged, write_file
from neardup.index.storing.snapshot import SegmentList, segment_path
from neardup.index.storing.transactions import Core
from neardup.state.database import lock_file
from neardup.tuning import TUNING

#: So many segments of one size become one of the next.
_FANOUT = 4
#: The file that a merge writes, and the one that it locks. Locks are seen by other containers,
#: where numbers of processes mean nothing.
_PARTIAL, _LOCK = "merge.partial", "merge.lock"
#: Seconds that a merge waits for a thread before it looks whether it is to stop; that it pauses
#: between attempts where another process writes; and that a writer leaves to a merge of another
#: process.
_WAIT, _PAUSE, _LEFT = 1.0, 0.02, 0.05


#: Given the seconds that a merge has waited for others, returns whether it is given up.
Stop: TypeAlias = Callable[[float], bool]


def spill(core: Core) -> None:
    """Make a segment of the log, in a transaction."""
    if core.snapshot.pending:
        core.write_segment(iter([core.snapshot.logged()]))
        core.catalogue.empty("log")


def spill_copies(core: Core) -> None:
    """Make a segment of the log of copied passages, in a transaction."""
    if core.copies is not None and core.copies.pending:
        core.write_segment(iter([shortened(core.copies.logged())]), core.copies)
        core.catalogue.empty("copy_log")


class _StoppedError(Exception):
    """The merge is no longer wanted."""


@contextmanager
def _only_merge(core: Core, timeout: float = 0.0) -> Iterator[bool]:
    """Lock out other merges of an index; give whether that could be done."""
    if core.folder is None:
        yield True
        return
    end = time.monotonic() + timeout
    while True:
        core.catalogue.require_folder()
        try:
            lock = lock_file(core.folder / _LOCK)
        except ResumeError:  # another process or thread has it
            if time.monotonic() >= end:
                yield False
                return
            time.sleep(_PAUSE)
            continue
        try:
            yield True
        finally:
            lock.close()
        return


@contextmanager
def _turn(core: Core, stop: Stop | None) -> Iterator[State]:
    """A transaction that writes, as soon as others leave a chance to begin it, unless stopped."""
    begin = time.monotonic()
    with ExitStack() as stack:
        while True:
            if stop is None:
                state = stack.enter_context(core.writing())
                break
            if stop(time.monotonic() - begin):
                raise _StoppedError
            try:
                state = stack.enter_context(core.writing(_WAIT))
            except BusyError:
                time.sleep(_PAUSE)  # not within the lock: other threads read meanwhile
                continue
            break
        yield state


class Merger:
    """Keeps the number of segments low.

    Args:
        core: The index.
    """

    def __init__(self, core: Core) -> None:
        self._core = core
        self._thread: threading.Thread | None = None
        self._stop = threading.Event()
        self._pid = os.getpid()
        self._spill_at = TUNING.logged_documents
        self._copies_at = TUNING.logged_keys
        #: Segments of each kind, as they were when merges were last considered.
        self._seen: list[list[Segment]] = []
        self._elsewhere = False  # another process merges
        self._closing = False
        self._end = weakref.finalize(self, self._stop.set)

    def after_insert(self) -> None:
        """Spill and merge if necessary; a merge that takes long gets a thread of its own."""
        # The documents are committed: an error here is none of theirs; the merge is tried again.
        with suppress(NeardupError, OSError, RuntimeError), self._core.catalogue.thread_lock():
            # Within a transaction it isn't known yet whether they stay.
            if not self._core.catalogue.in_transaction:
                self._after_insert()
        if self._elsewhere:
            self._elsewhere = False
            time.sleep(_LEFT)  # else it might never come between two of our transactions

    def _after_insert(self) -> None:
        core = self._core
        pending = core.snapshot.pending
        if pending >= self._spill_at:
            self._spill_at = pending + TUNING.logged_documents
            with core.writing():
                spill(core)
                core.forget()
            self._spill_at = TUNING.logged_documents
        if core.copies is not None and core.copies.pending >= self._copies_at:
            self._copies_at = core.copies.pending + TUNING.logged_keys
            with core.writing():
                spill_copies(core)
                core.forget()
            self._copies_at = TUNING.logged_keys
        if self._pid != os.getpid():
            self._pid, self._thread, self._stop = os.getpid(), None, threading.Event()
        found = [kind.segments for kind in core.kinds]
        if all(a is b for a, b in zip(found, self._seen, strict=False)) and self._seen:
            return
        self._seen = found
        if not any(map(_due, found)):
            return
        if core.folder is None:
            self._run()
        elif self._thread is None or not self._thread.is_alive():
            self._thread = threading.Thread(target=self._run, name="neardup-merge", daemon=True)
            self._thread.start()

    def _run(self) -> None:
        # A merge that fails is tried again later; `compact` reports the error.
        with suppress(NeardupError, OSError, _StoppedError):
            more = True
            while more and not self._is_over(0.0):
                with _only_merge(self._core) as mine:
                    self._elsewhere = not mine
                    more = mine and self._merge()

    def _merge(self) -> bool:
        """Merge some segments that are about equally large; return whether there were any."""
        core = self._core
        with core.reading():
            due = [(kind, chosen) for kind in core.kinds if (chosen := _due(kind.segments))]
            removed = _removed(core)
        for kind, chosen in due:
            merge(core, kind, chosen, removed, self._is_over)
        return bool(due)

    def _is_over(self, waited: float) -> bool:
        """Return whether a merge is given up that has waited so many seconds for other writers."""
        patience = self._core.catalogue.options.timeout
        return self._stop.is_set() or (self._closing and waited > patience)

    def finish(self) -> None:
        """Wait until the necessary merges are done, or other writers leave no chance to do them."""
        self._closing = True
        if self._thread is not None and self._pid == os.getpid():
            self._thread.join()

    def stop(self) -> None:
        """Wait until no merge is under way; one that has begun is given up."""
        self._stop.set()
        if self._thread is not None and self._pid == os.getpid():
            self._thread.join()
        self._thread, self._stop = None, threading.Event()


def _due(segments: list[Segment]) -> list[Segment]:
    """Return segments of one tier that should be merged; the smallest ones first."""
    tiers: dict[int, list[Segment]] = {}
    for segment in segments:
        tier = max(0, (segment.entries >> 14).bit_length()) // 2
        tiers.setdefault(tier, []).append(segment)
    for tier in sorted(tiers):
        if len(tiers[tier]) >= _FANOUT:
            return tiers[tier]
    return []


def _removed(core: Core) -> np.ndarray:
    return np.array(core.catalogue.removed(), dtype=np.uint32)


def merge(
    core: Core,
    kind: SegmentList,
    segments: list[Segment],
    removed: np.ndarray,
    stop: Stop | None = None,
) -> None:
    """Merge some segments into one, while others read and write, within `_only_merge`.

    Args:
        core: The index.
        kind: Their kind.
        segments: Segments of it.
        removed: uint32[], ascending: documents that are gone.
        stop: Given up where this returns true. None to wait for another writer as long as the
            options say, and no longer.

    Raises:
        OutputError: The disk is full.
        StoreError: Another process or thread writes.
    """
    dropped: list[np.ndarray] = []

    def parts() -> Iterator[Entries]:
        for part in merged(segments, by_document=kind is core.copies):
            if stop is not None and stop(0.0):
                raise _StoppedError
            if len(removed):
                gone = np.isin(part.docs, removed)
                dropped.append(np.unique(part.docs[gone]))
                part = Entries(part.keys[~gone], part.docs[~gone])
            yield shortened(part) if kind is core.copies else part

    numbers = [segment.number for segment in segments]
    partial = None if core.folder is None else core.folder / _PARTIAL
    try:
        if partial is not None:
            core.catalogue.require_folder()
            about = write_file(partial, parts(), core.digest)
        with _turn(core, stop) as state:
            marks = ",".join("?" * len(numbers))
            text = f"DELETE FROM {kind.table} WHERE number IN ({marks})"  # noqa: S608
            if core.catalogue.execute(text, numbers).rowcount != len(numbers):
                raise core.catalogue.damaged("its list of segments")
            core.catalogue.add(kind.table, -sum(row_sum(*segment.entry) for segment in segments))
            if partial is None:
                core.write_segment(parts(), kind)
                for number in numbers:
                    del kind.in_memory[number]
            else:
                assert core.folder is not None
                partial.replace(segment_path(core.folder, state.segment))
                sync_folder(core.folder)  # before the manifest has it
                core.enter_segment(kind, state.segment, *about)
            docs = np.unique(np.concatenate([np.empty(0, np.uint32), *dropped]))
            core.catalogue.forget_removed(docs.tolist())
            # No other thread may take the old segments for those of the new state.
            core.forget()
    finally:
        if partial is not None:
            core.catalogue.require_folder()
            partial.unlink(missing_ok=True)
    if core.folder is not None:
        core.catalogue.sync()  # else a power failure could bring the old manifest back
        core.catalogue.require_folder()
        for segment in segments:
            with suppress(OSError):  # Windows keeps it while somebody reads; removed later
                segment_path(core.folder, segment.number).unlink()


def compact(core: Core, purge: bool) -> None:
    """Make one segment of all, without removed documents.

    Args:
        core: The index.
        purge: Remove the texts of removed documents from the disk too.

    Raises:
        OutputError: The disk is full.
        StoreError: Other processes write, merge, or read, all the time.
    """
    with _only_merge(core, core.catalogue.options.timeout) as mine:
        if not mine:
            raise StoreError(
                "another process merges segments of this index", "try again when it has ended"
            )
        with core.writing():
            spill(core)
            spill_copies(core)
            core.forget()
        with core.reading():
            every, removed = [(kind, list(kind.segments)) for kind in core.kinds], _removed(core)
        for kind, segments in every:
            if len(segments) > 1 or (segments and len(removed)):
                merge(core, kind, segments, removed)
    clean(core)
    if purge:
        _purge(core)


def _purge(core: Core) -> None:
    catalogue = core.catalogue
    with catalogue.thread_lock():
        catalogue.require_folder()
        catalogue.rows("VACUUM")
        if core.folder is None:
            return
        end = time.monotonic() + max(0.0, catalogue.options.timeout)
        while catalogue.rows("PRAGMA wal_checkpoint(TRUNCATE)")[0][0]:
            if time.monotonic() > end:
                raise StoreError(
                    f"{core.folder}: another process reads this index, and removed text is "
                    "still in its log",
                    "call `compact` again when it has ended",
                )
            time.sleep(0.05)


def clean(core: Core) -> None:
    """Remove files that processes which were killed have left, unless another one writes now."""
    if core.folder is None:
        return
    found = list(core.folder.glob("segment-*"))  # before the manifest is read: it may get others
    with core.reading():
        orphans = set(found) - _listed(core)
    partial = core.folder / _PARTIAL
    if partial.exists():
        with _only_merge(core) as mine:
            if mine:
                partial.unlink(missing_ok=True)
    if not orphans:
        return
    with suppress(BusyError), core.writing(0):  # a file may be there before the manifest has it
        core.catalogue.sync()  # the manifest without these files is durable before they go
        for path in orphans - _listed(core):
            with suppress(OSError):
                path.unlink()


def _listed(core: Core) -> set[Path]:
    assert core.folder is not None
    every = (core.catalogue.rows(f"SELECT number FROM {k.table}") for k in core.kinds)  # noqa: S608
    return {segment_path(core.folder, number) for rows in every for (number,) in rows}
