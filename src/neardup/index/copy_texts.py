"""Texts of an index that answers copied passages: their runs, and how they are entered."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from neardup.arrays import strings_of
from neardup.errors import InputError
from neardup.index.copy_keys import CopyKeys, anchor_keys, run_keys
from neardup.index.storing.bodies import Id, unpack_text
from neardup.index.storing.segments import Entries, in_order
from neardup.index.storing.transactions import Core
from neardup.kernels.passages import online
from neardup.sketch.run_anchors import RunAnchors, anchors_of
from neardup.sketch.texts import Ragged, joined
from neardup.sketch.tokenising import batches
from neardup.tuning import TUNING


class CopyTexts(NamedTuple):
    """Texts as tokens, with the keys of their runs."""

    tokens: Ragged
    keys: np.ndarray  # uint64[tokens]: of the run that begins at each
    anchors: RunAnchors

    def marked(self, marked: np.ndarray, numbers: np.ndarray, words: int) -> list[np.ndarray]:
        """Return the keys of the runs of marked anchors, uint64[], and a number of each, int64[].

        Args:
            marked: bool[anchors].
            numbers: int64[texts].
            words: Words of a run.
        """
        out = np.empty(len(self.keys), np.uint64), np.empty(len(self.keys), np.int64)
        of = (self.anchors.since, self.anchors.counts, marked)
        count = online.runs_of_marked(self.tokens.offsets, numbers, of, words, self.keys, out)
        return [column[:count] for column in out]

    @property
    def rows(self) -> np.ndarray:
        """int64[anchors]: the text of each anchor."""
        return np.repeat(np.arange(len(self.anchors.counts)), self.anchors.counts)


def read_texts(core: Core, texts: pa.LargeStringArray) -> CopyTexts:
    """Read texts, in several threads."""
    copies = copies_of(core)
    words = copies.length.words

    def work(low: int, high: int) -> CopyTexts:
        # Tokens of a batch of them are valid until the next.
        tokens, data = [], copies.tokeniser.normalise(texts.slice(low, high - low))
        for first, last in batches(data[1]):
            found = copies.tokeniser.tokens(data[0], data[1][first : last + 1])[0]
            tokens.append(Ragged(found.values.copy(), found.offsets))
        every = tokens[0] if len(tokens) == 1 else joined(tokens)
        keys = np.zeros(len(every.values), np.uint64)
        online.run_keys(*every, words, keys)
        return CopyTexts(every, run_keys(keys), anchors_of(every, copies.length))

    parts = core.verifier.pool.ranges(work, len(texts), TUNING.sketched_documents)
    if len(parts) == 1:
        return parts[0]
    anchors = zip(*(part.anchors for part in parts), strict=True)
    return CopyTexts(
        joined(part.tokens for part in parts),
        np.concatenate([np.empty(0, np.uint64), *(part.keys for part in parts)]),
        RunAnchors(*(np.concatenate(column) for column in anchors)) if parts else _NO_ANCHORS,
    )


_NO_ANCHORS = RunAnchors(np.empty(0, np.uint64), np.empty(0, np.int32), np.empty(0, np.int32))


def copies_of(core: Core) -> CopyKeys:
    if core.copies is None:
        raise InputError(
            "this index does not answer copied passages",
            "make one with `passages`, the number of words of the shortest, such as 25",
        )
    return core.copies


def enter(core: Core, first: int, texts: pa.LargeStringArray) -> None:
    """Enter documents that were stored, with numbers from the first on, within a transaction."""
    copies = copies_of(core)
    words, frequent = copies.length.words, copies.frequent
    read = read_texts(core, texts)
    if not len(read.anchors.keys):
        return
    numbers = np.arange(first, first + len(texts))
    every = anchor_keys(read.anchors.keys)
    found = _once(in_order(every, numbers[read.rows].astype(np.uint32)))
    keys, begins, counts = np.unique(found.keys, return_index=True, return_counts=True)
    row, doc = copies.find(keys)
    there = np.bincount(row, minlength=len(keys))
    rank = np.arange(len(found.keys)) - np.repeat(begins - there, counts)
    rare = rank < frequent
    parts = [Entries(found.keys[rare], found.docs[rare])]
    many = there + counts >= frequent
    if many.any():
        marked = many[np.searchsorted(keys, every)]
        parts.append(_runs(read.marked(marked, numbers, words)))
        # Those of the documents before them, of anchors that become frequent now.
        newly = many & (there < frequent)
        if len(docs := np.unique(doc[newly[row]])):
            old = stored_texts(core, docs)
            marked = np.isin(anchor_keys(old.read.anchors.keys), keys[newly])
            parts.append(_runs(old.read.marked(marked, docs, words)))
    entries = in_order(*(np.concatenate(column) for column in zip(*parts, strict=True)))
    core.enter_copies(first, _once(entries))


def _runs(found: list[np.ndarray]) -> Entries:
    keys, docs = found
    return Entries(keys, docs.astype(np.uint32))


def _once(entries: Entries) -> Entries:
    """Return entries, in their order, each once."""
    keys, docs = entries
    new = np.ones(len(keys), np.bool_)
    new[1:] = (keys[1:] != keys[:-1]) | (docs[1:] != docs[:-1])
    return Entries(keys[new], docs[new])


class StoredTexts(NamedTuple):
    """Documents of the index."""

    ids: list[Id]
    texts: pa.LargeStringArray
    read: CopyTexts


def stored_texts(core: Core, docs: np.ndarray) -> StoredTexts:
    """Return documents; ``docs``, int64[m], ascending, are their numbers.

    Raises:
        StoreError: One is damaged, or not there.
    """
    rows = sorted(core.catalogue.fetch(docs.tolist()))
    if len(rows) != len(docs):
        raise core.catalogue.damaged("its list of documents")
    texts = strings_of([unpack_text(row.body) for row in rows])
    return StoredTexts([row.id for row in rows], texts, read_texts(core, texts))


def without_keys(core: Core, docs: np.ndarray) -> int:
    """Return how many of some documents have runs that are not among those of the keys.

    Args:
        core: The index.
        docs: int64[m], ascending: documents that no entry names.
    """
    read = stored_texts(core, docs).read
    every = np.ones(len(read.anchors.keys), np.bool_)
    keys, number = read.marked(every, docs, copies_of(core).length.words)
    asked, inverse = np.unique(keys, return_inverse=True)
    spans = copies_of(core).spans(asked)
    there = (spans.firsts[inverse] < number) & (number < spans.lasts[inverse])
    return len(np.unique(number[~there | (spans.counts[inverse] < 3)]))
