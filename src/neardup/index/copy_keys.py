"""Keys of copied passages, with the documents that have them.

Kinds of keys, by their lowest bits, are in one order: those of *anchors* and those of *runs*. An
anchor has an entry for each document that has it, at most as many as make it frequent; each run of
a frequent anchor has an entry for every document that has it. So an answer never looks at all
documents that have a template: of a rare anchor it looks at them all, of the runs of a frequent one
at the first and the latest. A segment has only these two of a run that is in more documents, and
how many are between: behind them, with a key of a third kind.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

from neardup.index.storing.catalogue import Catalogue
from neardup.index.storing.index_state import State
from neardup.index.storing.segments import Entries, KeyMatches, KeySpans, in_order
from neardup.index.storing.snapshot import SegmentList
from neardup.sketch.run_anchors import RunLength
from neardup.sketch.tokenising import Tokeniser
from neardup.spec import ShingleSpec

_KIND, _RUN, _BETWEEN = np.uint64(3), np.uint64(1), np.uint64(2)
_ENTRY = 12  # bytes


class CopyLength(NamedTuple):
    """How copied passages are looked for; stored with the index.

    Attributes:
        words: Words of the shortest run that counts.
        part: Which part of them a gram has.
        frequent: Documents that make an anchor frequent.
    """

    words: int
    part: int
    frequent: int


def words_of(spec: ShingleSpec) -> ShingleSpec:
    """Return how texts become the words that passages consist of, by the shingles of an index."""
    return ShingleSpec(
        n=1,
        stem=spec.stem,
        keep_case=spec.keep_case,
        nfkc=spec.nfkc,
        strip_accents=spec.strip_accents,
        join_hyphens=spec.join_hyphens,
        ignore=spec.ignore,
        stop_passages=spec.stop_passages,
    )


def anchor_keys(keys: np.ndarray) -> np.ndarray:
    """Return the keys of anchors, uint64[n]."""
    return np.asarray(keys & ~_KIND)


def run_keys(keys: np.ndarray) -> np.ndarray:
    """Return the keys of runs, uint64[n]."""
    return np.asarray(keys & ~_KIND | _RUN)


def shortened(entries: Entries) -> Entries:
    """Return entries for a segment, in order: of each run its first and latest document only.

    How many documents are between them is an entry of its own, instead of a document.
    """
    keys, docs = entries.keys.copy(), entries.docs.copy()
    group, counted = keys & ~_BETWEEN, keys & _BETWEEN != 0
    begins = np.flatnonzero(np.append(True, group[1:] != group[:-1])[: len(keys)])
    if not len(begins):
        return entries
    stored = np.add.reduceat(~counted, begins, dtype=np.int64)
    between = np.add.reduceat(np.where(counted, docs, 0), begins, dtype=np.int64)
    many = (stored > 3) | ((stored > 2) & (between > 0))
    many &= keys[begins] & _KIND == _RUN
    sizes = np.diff(np.append(begins, len(keys)))
    kept = ~np.repeat(many, sizes)
    first = begins[many]
    docs[first + 1] = docs[first + stored[many] - 1]
    keys[first + 2] = keys[first] | _BETWEEN
    docs[first + 2] = stored[many] + between[many] - 2
    for step in range(3):
        kept[first + step] = True
    return Entries(keys[kept], docs[kept])


def documents_of(entries: Entries) -> np.ndarray:
    """Return the documents of entries of a segment, without the numbers that `shortened` enters."""
    return np.asarray(entries.docs[entries.keys & _BETWEEN == 0])


class CopyKeys(SegmentList):
    """Segments and log of one moment, as `Snapshot` has them for the keys of bands.

    Args:
        catalogue: The database.
        folder: Where segments are; None for an index in memory.
        digest: Digest of the recipe.
        passages: How they are looked for.
        shingle: The shingles of the index.
    """

    table, log_table, log_column = "copy_segments", "copy_log", "entries"
    log_name = "its log of copied passages"

    def __init__(
        self,
        catalogue: Catalogue,
        folder: Path | None,
        digest: str,
        passages: CopyLength,
        shingle: ShingleSpec,
    ) -> None:
        super().__init__(catalogue, folder, digest)
        self.length, self.frequent = RunLength(passages.words, passages.part), passages.frequent
        self.tokeniser = Tokeniser(words_of(shingle))

    def _forget_log(self) -> None:
        super()._forget_log()
        #: Sorted entries of the log; each is at most half as long as the one before.
        self._log: list[Entries] = []

    @property
    def pending(self) -> int:
        """Entries of the log."""
        return sum(len(part.keys) for part in self._log)

    def numbers(self) -> dict[str, int]:
        """Return how many keys there are, and their bytes, by name."""
        return {
            "passages": self.length.words,
            "copy_keys": self.pending + sum(segment.entries for segment in self.segments),
            "copy_segments": len(self.segments),
            "bytes_copies": sum(segment.bytes for segment in self.segments),
        }

    def refresh(self, state: State) -> None:
        """Bring it up to date, within a transaction.

        Raises:
            StoreError: The log or a segment is damaged.
        """
        if state.generation == self._generation:
            return
        if state.manifest != self._manifest:
            self.load_segments()
        for doc, entries in self.new_rows():
            count = len(entries) // _ENTRY
            keys = np.frombuffer(entries, "<u8", count)
            self._add(doc, Entries(keys, np.frombuffer(entries, "<u4", count, 8 * count)))
        self._generation, self._manifest = state.generation, state.manifest

    def insert(self, doc: int, entries: Entries) -> None:
        """Put entries, in their order, into the log; ``doc`` is the first new document of them."""
        data = entries.keys.astype("<u8").tobytes() + entries.docs.astype("<u4").tobytes()
        self.enter_rows([(doc, data)])
        self._add(doc, entries)

    def _add(self, doc: int, entries: Entries) -> None:
        self._log.append(entries)
        self._logged = doc
        while len(self._log) > 1 and len(self._log[-2].keys) < 2 * len(self._log[-1].keys):
            self._log[-2:] = [_joined(self._log[-2:])]

    def logged(self) -> Entries:
        """Return all entries of the log, in their order."""
        return _joined(self._log)

    def find(self, keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Find the documents that have some keys.

        Args:
            keys: uint64[n], ascending.

        Returns:
            int64[m], the index of the key, and int64[m], the document; in order of both.
        """
        found = KeyMatches(4096)
        for segment in self.segments:
            segment.find(keys, found)
        rows, docs = [found.indices], [found.docs]
        for part in self._log:
            low, high = (np.searchsorted(part.keys, keys, side) for side in ("left", "right"))
            counts = high - low
            if not counts.any():
                continue
            rows.append(np.repeat(np.arange(len(keys)), counts))
            begins = np.repeat(low - np.append(0, np.cumsum(counts)[:-1]), counts)
            docs.append(part.docs[begins + np.arange(len(begins))].astype(np.int64))
        row, doc = np.concatenate(rows), np.concatenate(docs)
        order = np.argsort(row << 32 | doc)
        return row[order], doc[order]

    def spans(self, keys: np.ndarray) -> KeySpans:
        """Return how many documents have some keys, the first and the latest of each.

        Args:
            keys: uint64[n], ascending.
        """
        found = KeySpans.none(len(keys))
        for segment in self.segments:
            segment.spans(keys, found)
        for part in self._log:
            low, high = (np.searchsorted(part.keys, keys, side) for side in ("left", "right"))
            there = np.flatnonzero(high > low)
            found.counts[there] += high[there] - low[there]
            firsts, lasts = part.docs[low[there]], part.docs[high[there] - 1]
            found.firsts[there] = np.minimum(found.firsts[there], firsts)
            found.lasts[there] = np.maximum(found.lasts[there], lasts)
        return found


def _joined(parts: list[Entries]) -> Entries:
    keys = np.concatenate([np.empty(0, np.uint64), *(part.keys for part in parts)])
    return in_order(keys, np.concatenate([np.empty(0, np.uint32), *(part.docs for part in parts)]))
