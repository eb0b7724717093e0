"""What an index holds at one moment, as far as looking for candidates needs it."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from neardup.errors import StoreError
from neardup.index.catalogue import Catalogue, State
from neardup.index.segments import Segment, SegmentEntry

_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)


class SegmentGoneError(StoreError):
    """A segment of the manifest is not there."""


class Candidates(NamedTuple):
    """Pairs that share a bucket, each once.

    Attributes:
        row: int64[pairs]: rows that were asked about.
        doc: int64[pairs]: documents of the index; some may be gone.
    """

    row: np.ndarray
    doc: np.ndarray


def bucket_names(keys: np.ndarray) -> np.ndarray:
    """Return names of buckets, so that equal keys of two bands have different ones.

    Args:
        keys: uint64[n, num_bands]; without bands all documents are in one bucket.

    Returns:
        uint64[n, max(1, num_bands)].
    """
    if keys.shape[1] == 0:
        return np.zeros((len(keys), 1), dtype=np.uint64)
    names: np.ndarray = keys + np.arange(keys.shape[1], dtype=np.uint64) * _MULTIPLIER
    return names


class Snapshot:
    """Segments and log of one moment; brought up to date at the begin of a transaction.

    Args:
        catalogue: The database.
        folder: Where segments are; None for an index in memory.
        digest: Digest of the recipe.
    """

    def __init__(self, catalogue: Catalogue, folder: Path | None, digest: str) -> None:
        self._catalogue, self._folder, self._digest = catalogue, folder, digest
        #: Segments in memory, by number, where there is no folder.
        self.held: dict[int, bytes] = {}
        self.segments: list[Segment] = []
        self._generation = self._manifest = -1
        self._log: dict[int, list[int]] = {}
        self._logged = -1  # last document of the log that was read
        #: Documents of the log that was read.
        self.pending = 0

    def forget(self, reopen: bool = False) -> None:
        """Have everything read again, since a transaction was given up.

        Args:
            reopen: Open the files of segments again too.
        """
        self._generation = self._manifest = -1
        if reopen:
            self.segments = []

    def refresh(self, state: State) -> None:
        """Bring it up to date, within a transaction.

        Raises:
            StoreError: What is read is damaged.
        """
        if state.generation == self._generation:
            return
        if state.manifest != self._manifest:
            self.load_segments()
            self._log, self._logged, self.pending = {}, -1, 0
        rows = self._catalogue.rows(
            "SELECT doc, keys, checksum FROM log WHERE doc > ? ORDER BY doc", (self._logged,)
        )
        for doc, keys, checksum in rows:
            if not isinstance(keys, bytes) or zlib.crc32(keys, doc) != checksum:
                raise self._catalogue.damaged("its log")
        if rows:
            names = np.frombuffer(b"".join(row[1] for row in rows), dtype="<u8")
            self.log([row[0] for row in rows], names.reshape(len(rows), -1))
        self._generation, self._manifest = state.generation, state.manifest

    def load_segments(self) -> None:
        """Open the segments that the manifest has."""
        entries = [
            SegmentEntry(*row)
            for row in self._catalogue.rows(
                "SELECT number, entries, checksum FROM segments ORDER BY number"
            )
        ]
        # By all of an entry: the number of a segment that was given up is used again.
        there = {segment.entry: segment for segment in self.segments}
        self.segments = [there.get(e) or self._open(e) for e in entries]

    def _open(self, entry: SegmentEntry) -> Segment:
        if self._folder is None:
            data = self.held[entry.number]
            return Segment(entry.number, data, "the index", self._digest, entry.checksum)
        path = segment_path(self._folder, entry.number)
        try:
            found = Segment.open(path, entry.number, self._digest, entry.checksum)
        except FileNotFoundError as error:
            raise SegmentGoneError(
                f"{path} is gone", "restore the index from a copy, or make it anew"
            ) from error
        if found.entries != entry.entries:
            raise self._catalogue.damaged("its list of segments")
        return found

    def log(self, docs: Sequence[int], names: np.ndarray) -> None:
        """Add documents of the log.

        Args:
            docs: Their numbers, ascending.
            names: uint64[documents, bands]: their buckets.
        """
        log = self._log
        for doc, row in zip(docs, names.tolist(), strict=True):
            for name in row:
                log.setdefault(name, []).append(doc)
        self._logged = docs[-1]
        self.pending += len(docs)

    def advanced(self, state: State) -> None:
        """Note that this process has committed what is in here already."""
        if self._generation >= 0:  # else it was to be read again
            self._generation = state.generation + 1

    def candidates(self, names: np.ndarray) -> Candidates:
        """Find the documents that share a bucket with some rows.

        Args:
            names: uint64[n, bands]: their buckets.

        Returns:
            Pairs, by row, then document.
        """
        bands = names.shape[1]
        flat = np.ascontiguousarray(names).reshape(-1)
        rows, docs = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
        order = np.argsort(flat) if len(names) > 16 and self.segments else None
        asked = flat if order is None else flat[order]
        for segment in self.segments:
            place, found = segment.find(asked)
            if len(place):
                rows.append((place if order is None else order[place]) // bands)
                docs.append(found)
        if self._log:
            get: Callable[[int], list[int] | None] = self._log.get
            hits = [(i // bands, got) for i, name in enumerate(flat.tolist()) if (got := get(name))]
            if hits:
                counts = [len(got) for _, got in hits]
                rows.append(np.repeat([row for row, _ in hits], counts).astype(np.int64))
                docs.append(np.array([doc for _, got in hits for doc in got], dtype=np.int64))
        packed = np.unique(np.concatenate(rows) << 32 | np.concatenate(docs))
        return Candidates(packed >> 32, packed & (2**32 - 1))


def segment_path(folder: Path, number: int) -> Path:
    """Return the file of a segment."""
    return folder / f"segment-{number:08d}"
