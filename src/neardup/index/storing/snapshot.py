"""Content of an index at one moment, as far as a search for candidates needs it."""

from __future__ import annotations

import functools
import zlib
from collections.abc import Callable, Iterator, Sequence
from itertools import starmap
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np

from neardup.errors import StoreError
from neardup.index.storing.catalogue import Catalogue
from neardup.index.storing.index_state import State, row_sum, summed
from neardup.index.storing.segments import (
    Entries,
    KeyMatches,
    Segment,
    SegmentEntry,
    distinct,
    merged,
)
from neardup.kernels.bits import TOKEN_MULTIPLIER
from neardup.kernels.lookups import Chains, add_entries, find_in_chains

#: Capacity for candidates at first.
_CAPACITY = 2048
#: Keys that are looked up in the order given.
_FEW = 16
#: ``keep(rows, docs)``, int64[pairs] each, changes both: the pairs to keep are moved to the front.
#: Returns their number.
Keep: TypeAlias = Callable[[np.ndarray, np.ndarray], int]


class SegmentGoneError(StoreError):
    """A segment of the manifest is not there."""


class BucketPairs(NamedTuple):
    """Pairs that share a bucket, each once.

    Attributes:
        row: int64[pairs]: rows that were asked about.
        doc: int64[pairs]: documents of the index; some may be gone.
        hits: Pairs that were in memory for it, with those that were left out.
    """

    row: np.ndarray
    doc: np.ndarray
    hits: int = 0


def bucket_names(keys: np.ndarray) -> np.ndarray:
    """Return names of buckets, which differ for equal keys of two bands.

    Args:
        keys: uint64[n, num_bands]; without bands all documents are in one bucket.

    Returns:
        uint64[n, max(1, num_bands)].
    """
    if keys.shape[1] == 0:
        return np.zeros((len(keys), 1), dtype=np.uint64)
    names: np.ndarray = keys + band_offsets(keys.shape[1])
    return names


@functools.cache
def band_offsets(bands: int) -> np.ndarray:
    """Return uint64[bands]: the difference between names of buckets and their keys."""
    found: np.ndarray = np.arange(bands, dtype=np.uint64) * TOKEN_MULTIPLIER
    return found


class SegmentList:
    """Segments of one kind, as the manifest has them, and the log of keys that are in none.

    Args:
        catalogue: The database.
        folder: Where segments are; None for an index in memory.
        digest: Digest of the recipe.
    """

    #: Table of the manifest; table and column of the log, and its name in messages.
    table, log_table, log_column, log_name = "segments", "log", "keys", "its log"

    def __init__(self, catalogue: Catalogue, folder: Path | None, digest: str) -> None:
        self._catalogue, self._folder, self._digest = catalogue, folder, digest
        #: Segments in memory, by number, where there is no folder.
        self.in_memory: dict[int, bytes] = {}
        self.segments: list[Segment] = []
        self._generation = self._manifest = -1
        self._forget_log()

    def _forget_log(self) -> None:
        """Have the log read again."""
        self._logged, self._sum = -1, 0  # last document of it that was read, and sum

    def forget(self, reopen: bool = False) -> None:
        """Have everything read again, since a transaction was given up.

        Args:
            reopen: Open the files of segments again too.
        """
        self._generation = self._manifest = -1
        self._forget_log()
        if reopen:
            self.segments = []

    def advanced(self, state: State) -> None:
        """Note that this process has committed the documents that are in here already."""
        if self._generation >= 0:  # else it was to be read again
            self._generation = state.generation + 1

    def new_rows(self) -> list[tuple[int, bytes]]:
        """Return the documents of the log that were not read yet, with their keys.

        If those that were read are not in it any more, they are forgotten, and all are returned.

        Raises:
            StoreError: The log is damaged.
        """
        text = (
            f"SELECT doc, {self.log_column}, checksum FROM {self.log_table} "  # noqa: S608
            "WHERE doc > ? ORDER BY doc"
        )
        expected = getattr(self._catalogue.state().sums, self.log_table)
        while True:
            rows = self._catalogue.rows(text, (self._logged,))
            for doc, keys, checksum in rows:
                if not isinstance(keys, bytes) or zlib.crc32(keys, doc) != checksum:
                    raise self._catalogue.damaged(self.log_name)
            found = summed(self._sum, sum(row[2] for row in rows))
            if found == expected:
                break
            if self._logged < 0:
                raise self._catalogue.damaged(self.log_name)
            self._forget_log()
        self._sum = found
        return [row[:2] for row in rows]

    def enter_rows(self, rows: Sequence[tuple[int, bytes]]) -> None:
        """Put documents with their keys into the log, in a transaction that writes."""
        summands = [zlib.crc32(keys, doc) for doc, keys in rows]
        text = f"INSERT INTO {self.log_table} VALUES (?, ?, ?)"  # noqa: S608
        self._catalogue.insert(
            text, [(*row, checksum) for row, checksum in zip(rows, summands, strict=True)]
        )
        self._catalogue.add(self.log_table, sum(summands))
        self._sum = summed(self._sum, sum(summands))

    def load_segments(self) -> None:
        """Open the segments that the manifest has.

        Raises:
            StoreError: The manifest or a segment is damaged.
        """
        entries = [
            SegmentEntry(*row)
            for row in self._catalogue.rows(
                f"SELECT number, entries, checksum FROM {self.table} ORDER BY number"  # noqa: S608
            )
        ]
        self._catalogue.require_sum(self.table, starmap(row_sum, entries))
        # By all of an entry: the number of a segment that was given up is used again.
        there = {segment.entry: segment for segment in self.segments}
        self.segments = [there.get(e) or self._open(e) for e in entries]

    def _open(self, entry: SegmentEntry) -> Segment:
        if self._folder is None:
            data = self.in_memory[entry.number]
            return Segment(entry.number, data, "the index", self._digest, entry.checksum)
        self._catalogue.require_folder()
        path = segment_path(self._folder, entry.number)
        try:
            found = Segment.open(path, entry.number, self._digest, entry.checksum)
        except FileNotFoundError as error:
            raise SegmentGoneError(
                f"{path} is gone", "restore the index from a copy, or make it again"
            ) from error
        if found.entries != entry.entries:
            raise self._catalogue.damaged("its list of segments")
        return found


class Snapshot(SegmentList):
    """Segments and log of one moment; brought up to date at the begin of a transaction."""

    def _forget_log(self) -> None:
        super()._forget_log()
        self._log = _Log()

    @property
    def pending(self) -> int:
        """Documents of the log that was read."""
        return self._log.documents

    def refresh(self, state: State) -> None:
        """Bring it up to date, within a transaction.

        Raises:
            StoreError: The log or a segment is damaged.
        """
        if state.generation == self._generation:
            return
        if state.manifest != self._manifest:
            self.load_segments()
        if rows := self.new_rows():
            self._add(rows)
        self._generation, self._manifest = state.generation, state.manifest

    def _add(self, rows: Sequence[tuple[int, bytes]]) -> None:
        """Add documents of the log, ascending, with their keys: each has some."""
        # Kernels are compiled for arrays that can be written to.
        keys = np.frombuffer(bytearray().join(row[1] for row in rows), dtype="<u8")
        docs = np.array([row[0] for row in rows], dtype=np.int64)
        counts = np.array([len(row[1]) >> 3 for row in rows])
        self._log.add(np.repeat(docs, counts), keys[:, None])
        self._log.documents += len(docs)
        self._logged = rows[-1][0]

    def enter(self, rows: Sequence[tuple[int, bytes]]) -> None:
        """Put documents, ascending, with their keys into the log, in a transaction that writes."""
        self.enter_rows(rows)
        self._add(rows)

    def logged(self) -> Entries:
        """Return the keys of the log, ascending, with their documents."""
        return self._log.entries()

    def entries(self) -> Iterator[Entries]:
        """Yield all names of buckets, ascending, with their documents; removed ones are there too.

        The documents of a bucket are in one part.
        """
        return merged(self.segments, self.logged())

    def having(self, keys: np.ndarray) -> list[int]:
        """Return documents that have one of some keys, uint64[n]; removed ones are there too."""
        if len(keys) > _FEW:
            keys = np.sort(keys)
        found = KeyMatches(_FEW)
        for segment in self.segments:
            segment.find(keys, found)
        self._log.find(keys, found)
        return list(dict.fromkeys(found.docs.tolist()))

    def candidates(self, names: np.ndarray, keep: Keep | None = None) -> BucketPairs:
        """Find the documents that share a bucket with some rows.

        Args:
            names: uint64[n, bands]: their buckets.
            keep: Leaves out pairs that can't reach the threshold.

        Returns:
            Pairs, by row, then document.
        """
        bands = names.shape[1]
        flat = np.ascontiguousarray(names).reshape(-1)
        order = np.argsort(flat) if len(names) > 16 and self.segments else None
        asked = flat if order is None else flat[order]
        found = KeyMatches(max(_CAPACITY, len(flat)))
        for segment in self.segments:
            segment.find(asked, found)
        self._log.find(asked, found)
        docs, hits = found.docs, len(found.docs)
        if not hits:
            return _NO_CANDIDATES
        rows = (found.indices if order is None else order[found.indices]) // bands
        if keep is not None:
            kept = keep(rows, docs)
            if not kept:  # nearly always
                return _NO_CANDIDATES._replace(hits=hits)
            rows, docs = rows[:kept], docs[:kept]
        packed = distinct(rows << 32 | docs)
        return BucketPairs(packed >> 32, packed & (2**32 - 1), hits)


_NOWHERE = np.empty(0, np.int64)
_NO_CANDIDATES = BucketPairs(_NOWHERE, _NOWHERE)


class _Log:
    """Documents that are in no segment yet, by their buckets."""

    def __init__(self) -> None:
        self.documents = self._entries = 0
        self._resize(1024)

    def _resize(self, capacity: int) -> None:
        nothing, keys = np.full(capacity, -1, np.int32), np.empty(capacity, np.uint64)
        self._chains = Chains(
            nothing, keys, np.empty(capacity, np.int64), np.empty(capacity, np.int32)
        )

    def add(self, docs: np.ndarray, names: np.ndarray) -> None:
        """Add documents, int64[m], with the names of their buckets, uint64[m, bands]."""
        old, count = self._chains, self._entries
        if count + names.size > len(old.keys):
            self._resize(1 << (count + names.size).bit_length())
            add_entries(self._chains, 0, old.keys[:count, None], old.docs[:count])
        add_entries(self._chains, count, names, docs)
        self._entries += names.size

    def entries(self) -> Entries:
        """Return the names of buckets, ascending, with their documents."""
        count = self._entries
        return Entries.sorted(self._chains.keys[:count, None], self._chains.docs[:count])

    def find(self, names: np.ndarray, found: KeyMatches) -> None:
        """Find documents as `Segment.find` does."""
        found.add(lambda *capacity: find_in_chains(self._chains, names, *capacity))


def segment_path(folder: Path, number: int) -> Path:
    """Return the file of a segment."""
    return folder / f"segment-{number:08d}"
