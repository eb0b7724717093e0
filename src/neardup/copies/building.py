"""Repeated runs to passages, and words that are counted for their sources."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from neardup.copies.asked import SOURCES, PassageSpec
from neardup.copies.repeated.repeats import Corpus, Repeats
from neardup.kernels import passages as kernels
from neardup.threads import Pool

#: Segments of repeated runs that a thread looks at together.
_ROWS = 1 << 18


class Passages(NamedTuple):
    """All passages, in keep order of their documents, then from left to right."""

    position: np.ndarray  # uint64[passages]: document << 32 | first token
    words: np.ndarray  # int64[passages]
    source: np.ndarray  # uint64[passages]: position
    origin: np.ndarray  # uint64[passages]: first earlier position of its first run
    documents: np.ndarray  # int64[passages]: documents that have its rarest run
    common: np.ndarray  # bool[passages]: boilerplate
    gained: np.ndarray  # int32[passages]: copied words that are counted for its source
    text: np.ndarray  # uint64[passages]: equal texts have equal hashes


class Counts(NamedTuple):
    """Words of each document, by number in keep order."""

    copied: np.ndarray  # int32[documents]: without boilerplate
    common: np.ndarray  # int32[documents]: in boilerplate


def build(
    repeats: Repeats,
    corpus: Corpus,
    spec: PassageSpec,
    pool: Pool,
    old: int = 0,
) -> tuple[Passages, Counts]:
    """Join the repeated runs to passages.

    Args:
        repeats: Of the corpus.
        corpus: Its documents.
        spec: What counts as copied.
        pool: Threads.
        old: Documents, the first ones, that have no passages of their own.
    """
    total = len(repeats.position)
    rule, words, boilerplate = SOURCES.index(spec.source), spec.words, spec.boilerplate
    begin = int(np.searchsorted(repeats.position, np.uint64(old << 32)))
    marks = np.arange(begin, total, _ROWS)
    # No document is divided.
    documents = (repeats.position[marks] >> np.uint64(32)) << np.uint64(32)
    bounds = np.unique(np.append(np.searchsorted(repeats.position, documents), total))

    def work(low: int, high: int) -> np.ndarray:
        first, last = int(bounds[low]), int(bounds[low + 1])
        made, at, start = [np.empty((0, 6), np.uint64)], first, 0
        while at < last:
            out = np.empty((last - at + 1, 6), np.uint64)
            at_before = (at, start)
            count, at, start = kernels.grow(tuple(repeats), at_before, last, rule, boilerplate, out)
            made.append(out[:count].copy())
        return np.concatenate(made)

    found = pool.ranges(work, len(bounds) - 1, 1)
    every = np.concatenate([np.empty((0, 6), np.uint64), *found])
    tokens = np.empty_like(corpus.tokens)
    tokens[corpus.numbers] = corpus.tokens
    limits = np.arange(corpus.documents + 1, dtype=np.uint64) << np.uint64(32)
    starts = np.searchsorted(every[:, 0], limits)
    gained = np.empty(len(every), np.int32)
    counts = Counts(*(np.empty(corpus.documents, np.int32) for _ in range(2)))
    kernels.share_words(every, starts, tokens, words, boilerplate, gained, *counts)
    size = every[:, 1].astype(np.int64) + words - 1
    holders = every[:, 4].astype(np.int64)
    common = holders >= boilerplate if boilerplate else np.zeros(len(every), np.bool_)
    position, sources, origin, text = (np.ascontiguousarray(every[:, k]) for k in (0, 2, 3, 5))
    return Passages(position, size, sources, origin, holders, common, gained, text), counts


class Bridges(NamedTuple):
    number: np.ndarray  # int64[passages]: of the joined ones; -1 for a passage that is not joined
    changed: np.ndarray  # int64[passages]: changed words before it


def bridges(passages: Passages, gap: int) -> Bridges:
    """Join neighbouring passages from one source document over at most ``gap`` changed words."""
    number = np.empty(len(passages.words), np.int64)
    rows = np.column_stack([passages.position, passages.words.astype(np.uint64)])
    return Bridges(number, kernels.bridge(rows, passages.source, gap, number))


class Largest(NamedTuple):
    """The source document that each document has most words from; -1 where it has none."""

    source: np.ndarray  # int64[documents]
    words: np.ndarray  # int64[documents]


def largest_sources(passages: Passages, documents: int) -> Largest:
    """Find the largest source of each document; of equal ones the first in keep order."""
    kept = passages.gained > 0
    kept &= ~passages.common
    of = (passages.position[kept] >> np.uint64(32)).astype(np.int64)
    source = (passages.source[kept] >> np.uint64(32)).astype(np.int64)
    order = np.lexsort((source, of))
    of, source, gained = of[order], source[order], passages.gained[kept][order]
    new = np.ones(len(of), np.bool_)
    new[1:] = (of[1:] != of[:-1]) | (source[1:] != source[:-1])
    begins = np.flatnonzero(new)
    words = (
        np.add.reduceat(gained, begins).astype(np.int64) if len(begins) else np.empty(0, np.int64)
    )
    of, source = of[begins], source[begins]
    order = np.lexsort((source, -words, of))
    best = order[np.unique(of[order], return_index=True)[1]]
    found = Largest(np.full(documents, -1, np.int64), np.zeros(documents, np.int64))
    found.source[of[best]], found.words[of[best]] = source[best], words[best]
    return found
