"""Copied passages of single texts, by the documents of an index: the answers of the batch.

A run of words is copied if it is in a document of the index, or in the same text at least its
length before. Tokens are compared; hashes only say with those of which documents.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from neardup.arrays import array_of, strings_of
from neardup.index.answers import id_values
from neardup.index.copy_keys import CopyKeys, anchor_keys
from neardup.index.copy_texts import CopyTexts, StoredTexts, copies_of, read_texts, stored_texts
from neardup.index.storing.bodies import Id
from neardup.index.storing.segments import KeySpans
from neardup.index.storing.transactions import Batch, Core
from neardup.kernels.passages import online
from neardup.kernels.passages.positions import NONE, TOKEN
from neardup.sketch.spans import characters
from neardup.tuning import TUNING

#: Columns of an answer behind the first, which says of which text it is.
COLUMNS = (
    "start",
    "end",
    "words",
    "source_id",
    "source_start",
    "source_end",
    "origin_id",
    "origin_start",
    "documents",
    "kind",
)


def copied_in(core: Core, batches: Iterable[Batch]) -> pa.Table:
    """Return the copied passages of some texts, by the documents of an index.

    Returns:
        A row for each passage, see `neardup.Index.copied`.
    """
    base, tables = 0, []
    with core.reading() as state:
        for batch in batches:
            names: Any = (
                id_values(batch.ids, "int" if type(batch.ids[0]) is int else "str")
                if (batch.ids)
                else None
            )
            for low in range(0, len(batch.texts), TUNING.copied_texts):
                found = _ask(core, batch.texts.slice(low, TUNING.copied_texts))
                row = found.row + low
                asked = array_of(row + base) if names is None else names.take(array_of(row))
                tables.append(found.table(asked, state.ids))
            base += len(batch.texts)
        if not tables:
            nothing = _ask(core, strings_of([]))
            tables.append(nothing.table(array_of(nothing.row), state.ids))
    return tables[0] if len(tables) == 1 else pa.concat_tables(tables)


class _Found(NamedTuple):
    """Passages of some texts."""

    row: np.ndarray  # int64[passages]: the text
    chars: np.ndarray  # int64[passages, 2]
    words: np.ndarray  # int64[passages]
    source: list[Id | None]
    source_chars: np.ndarray  # int64[passages, 2]
    origin: list[Id | None]
    origin_start: np.ndarray  # int64[passages]
    documents: np.ndarray  # int64[passages]

    def table(self, asked: Any, kind: str) -> pa.Table:
        """Return them as a table; ``asked`` names the text of each, and ``kind`` the ids."""
        within = np.array([id_ is None for id_ in self.source], np.bool_)
        names = pa.array(["copy", "within"])
        columns = [
            asked,
            *(array_of(np.ascontiguousarray(column)) for column in self.chars.T),
            array_of(self.words),
            id_values(self.source, kind),
            *(array_of(np.ascontiguousarray(column)) for column in self.source_chars.T),
            id_values(self.origin, kind),
            array_of(self.origin_start),
            array_of(self.documents),
            names.take(array_of(within.astype(np.int64))),
        ]
        return pa.Table.from_arrays(columns, names=["query", *COLUMNS])


class _Known(NamedTuple):
    """Answers of the keys of an index about the run that begins at each token of some texts.

    Attributes:
        counts: int64[tokens]: documents that have it; 0 where all of them are looked at.
        firsts: int64[tokens]: the first of them.
        lasts: int64[tokens]: the latest of them.
    """

    counts: np.ndarray
    firsts: np.ndarray
    lasts: np.ndarray


def _ask(core: Core, texts: pa.LargeStringArray) -> _Found:
    copies = copies_of(core)
    read = read_texts(core, texts)
    pairs, known = _candidates(copies, read)
    while True:
        pairs = np.unique(pairs)
        docs = np.unique(pairs & _DOC)
        stored = stored_texts(core, docs)
        positions = _positions(core, read, stored.read, (pairs, docs))
        if not len(unsure := _unsure(known, positions, docs)):
            break
        # Hardly ever: different runs have equal keys. All documents of these keys are looked at.
        keys, inverse = np.unique(read.keys[unsure], return_inverse=True)
        of_key, doc = _documents_with(core, keys)
        of_text = np.searchsorted(read.tokens.offsets, unsure, side="right") - 1
        more = _pairs(of_text, inverse, of_key, doc, len(keys))
        pairs = np.concatenate([pairs, more])
        known.counts[unsure] = 0
    origin, latest, holders = positions
    holders = np.where(known.counts > 0, known.counts, holders)
    rows = _grown(core, read, stored.read, (origin, latest, holders))
    return _as_found(copies, texts, stored, rows)


_DOC = 2**32 - 1
#: Documents that are read together where all are.
_READ = 1000


def _documents_with(core: Core, keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Read all documents, and find those that have runs of some keys, uint64[n], ascending.

    Returns:
        int64[m], ascending, the index of the key, and int64[m], the document.
    """
    found = [np.empty(0, np.int64)]
    docs = np.array([doc for doc, _ in core.catalogue.listed()], np.int64)
    for low in range(0, len(docs), _READ):
        chosen = docs[low : low + _READ]
        read = stored_texts(core, chosen).read
        tokens = np.flatnonzero(np.isin(read.keys, keys))
        row = np.searchsorted(read.tokens.offsets, tokens, side="right") - 1
        found.append(np.searchsorted(keys, read.keys[tokens]) << 32 | chosen[row])
    pairs = np.unique(np.concatenate(found))
    return pairs >> 32, pairs & _DOC


def _pairs(
    texts: np.ndarray, indices: np.ndarray, of_key: np.ndarray, docs: np.ndarray, keys: int
) -> np.ndarray:
    """Return int64[pairs], text << 32 | document, of texts with the documents of their keys.

    Args:
        texts: int64[n].
        indices: int64[n]: the key of each.
        of_key: int64[m], ascending: key of each document.
        docs: int64[m].
        keys: Number of keys.
    """
    ends = np.cumsum(np.bincount(of_key, minlength=keys))
    counts = np.bincount(of_key, minlength=keys)[indices]
    begins = ends[indices] - counts
    each = np.repeat(begins - (np.cumsum(counts) - counts), counts) + np.arange(counts.sum())
    return np.asarray(np.repeat(texts, counts) << 32 | docs[each])


def _candidates(copies: CopyKeys, read: CopyTexts) -> tuple[np.ndarray, _Known]:
    """Return the documents that each text is compared with, text << 32 | document."""
    known = _Known(*(np.zeros(len(read.keys), np.int64) for _ in range(3)))
    keys, inverse = np.unique(anchor_keys(read.anchors.keys), return_inverse=True)
    of_key, docs = copies.find(keys)
    many = np.bincount(of_key, minlength=len(keys)) >= copies.frequent
    rare = ~many[of_key]
    found = [_pairs(read.rows, inverse, of_key[rare], docs[rare], len(keys))]
    if many.any():
        at = read._replace(keys=np.arange(len(read.keys), dtype=np.uint64))
        where, texts = at.marked(many[inverse], np.arange(len(many)), copies.length.words)
        tokens = where.astype(np.int64)
        runs, inverse = np.unique(read.keys[tokens], return_inverse=True)
        spans = KeySpans(*(column[inverse] for column in copies.spans(runs)))
        there = spans.counts > 0
        for column, values in zip(known, spans, strict=True):
            column[tokens[there]] = values[there]
        found += [texts[there] << 32 | docs[there] for docs in (spans.firsts, spans.lasts)]
    return np.concatenate(found), known


def _positions(
    core: Core, read: CopyTexts, stored: CopyTexts, compared: tuple[np.ndarray, np.ndarray]
) -> list[np.ndarray]:
    """Return the positions of runs, see `online.positions_of_runs`, by rows of the documents."""
    pairs, docs = compared
    words, count = copies_of(core).length.words, len(read.anchors.counts)
    begins = np.searchsorted(pairs, np.arange(count + 1) << 32)
    rows = np.searchsorted(docs, pairs & _DOC).astype(np.int32)
    kinds = (np.uint64, np.uint64, np.int64)
    out = [np.zeros(len(read.keys), kind) for kind in kinds]

    def work(low: int, high: int) -> None:
        texts = (*read.tokens, read.keys), (low, high)
        documents = *stored.tokens, stored.keys
        online.positions_of_runs(*texts, words, documents, (begins, rows), tuple(out))

    core.verifier.pool.ranges(work, count, TUNING.copied_texts_of_thread)
    return out


def _unsure(known: _Known, positions: list[np.ndarray], docs: np.ndarray) -> np.ndarray:
    """Return int64[]: tokens whose runs the documents that the keys name do not have."""
    asked = np.flatnonzero(known.counts)
    if not len(asked):
        return asked
    ends = np.append(docs, -1)  # behind all documents is the text itself

    def of(position: np.ndarray) -> np.ndarray:
        found = np.where(position == NONE, len(docs), position >> np.uint64(32)).astype(np.int64)
        return np.asarray(ends[found], np.int64)

    first, latest = (of(column[asked]) for column in positions[:2])
    wrong = first != known.firsts[asked]
    # A later one is in the text itself, and then the first one is in the documents all the same.
    wrong |= (latest != known.lasts[asked]) & (latest >= 0)
    return np.asarray(asked[wrong])


def _grown(
    core: Core, read: CopyTexts, stored: CopyTexts, positions: tuple[np.ndarray, ...]
) -> np.ndarray:
    """Return uint64[passages, 6], see `online.grow_copied`."""
    words = copies_of(core).length.words
    offsets = read.tokens.offsets

    def work(low: int, high: int) -> np.ndarray:
        out = np.empty((int(offsets[high] - offsets[low]) + 1, 6), np.uint64)
        texts = (*read.tokens, read.keys), (low, high)
        count = online.grow_copied(*texts, words, (*stored.tokens, stored.keys), positions, out)
        return out[:count].copy()

    found = core.verifier.pool.ranges(work, len(read.anchors.counts), TUNING.copied_texts_of_thread)
    return np.concatenate([np.empty((0, 6), np.uint64), *found])


def _as_found(
    copies: CopyKeys, texts: pa.LargeStringArray, stored: StoredTexts, rows: np.ndarray
) -> _Found:
    text, start, words = rows[:, :3].astype(np.int64).T

    def of(position: np.ndarray, size: np.ndarray) -> tuple[list[Id | None], np.ndarray]:
        row, token = (position >> np.uint64(32)).astype(np.int64), position & TOKEN
        runs = np.stack([token.astype(np.int64), size], axis=1)
        chars = np.empty((len(row), 2), np.int64)
        itself = row == len(stored.ids)
        chars[itself] = characters(copies.tokeniser, texts, text[itself], runs[itself])
        used, at = np.unique(row[~itself], return_inverse=True)
        others: Any = stored.texts.take(array_of(used))
        chars[~itself] = characters(copies.tokeniser, others, at, runs[~itself])
        ids = [*stored.ids, None]
        return [ids[i] for i in row.tolist()], chars

    source, source_chars = of(rows[:, 3], words)
    origin, origin_chars = of(rows[:, 4], np.ones(len(rows), np.int64))
    chars = characters(copies.tokeniser, texts, text, np.stack([start, words], axis=1))
    documents = rows[:, 5].astype(np.int64) + 1
    return _Found(
        text, chars, words, source, source_chars, origin, origin_chars[:, 0].copy(), documents
    )
