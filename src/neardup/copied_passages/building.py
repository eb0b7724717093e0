"""Repeated runs to passages, and words that are counted for their sources."""

from __future__ import annotations

from collections import deque
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from neardup.copied_passages.passage_spec import SOURCES, PassageSpec
from neardup.copied_passages.repeated.entered_documents import Corpus
from neardup.copied_passages.work import Work
from neardup.files.scratch import Scratch, Slabs
from neardup.kernels.passages.following import bridge
from neardup.kernels.passages.growing import grow, share_words
from neardup.kernels.searching import first_not_below
from neardup.tuning import TUNING

#: More documents than any passage has.
_NEVER = 1 << 40


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
    segments: np.ndarray, corpus: Corpus, spec: PassageSpec, work: Work, old: int = 0
) -> tuple[Passages, Counts]:
    """Join the repeated runs to passages.

    Args:
        segments: uint64[segments, 5], of `neardup.copied_passages.repeated.repeats.Finder`.
        corpus: Its documents.
        spec: What counts as copied.
        work: Threads and memory.
        old: Documents, the first ones, that have no passages of their own.
    """
    scratch = work.scratch
    rule, words, boilerplate = SOURCES.index(spec.name_source), spec.words, spec.boilerplate
    position = segments[:, 0]
    begin = first_not_below(position, 0, len(position), np.uint64(old << 32))
    bounds = divided(position, begin)
    slabs, parts = Slabs(scratch.empty), deque[np.ndarray]()

    def grown(number: int) -> list[np.ndarray]:
        at, last, start = bounds[number], bounds[number + 1], 0
        made: list[np.ndarray] = []
        out = np.empty((min(last - at, TUNING.run_segments) + 1, 6), np.uint64)
        while at < last:
            span = (at, start), last
            count, at, start = grow(segments, *span, rule, boilerplate, out)
            rows = work.arrays.empty((count, 6), np.uint64)
            rows[:] = out[:count]
            made.append(rows)
        return made

    for made in work.pool.ordered(grown, range(len(bounds) - 1)):
        parts += [slabs.copy(rows.view(np.uint8).ravel()) for rows in made]
    every = scratch.empty((sum(map(len, parts)) // (6 * 8), 6), np.uint64)
    filled = 0
    while parts:
        rows = parts.popleft().view(np.uint64).reshape(-1, 6)
        every[filled : filled + len(rows)] = rows
        filled += len(rows)
    columns = [scratch.empty(filled, np.uint64) for _ in range(4)]
    for column, k in zip(columns, (0, 2, 3, 5), strict=True):
        column[:] = every[:, k]
    position, source, origin, text = columns
    starts = scratch.empty(corpus.documents + 1, np.int64)
    step = TUNING.run_segments
    for low in range(0, len(starts), step):
        limits = np.arange(low, min(low + step, len(starts)), dtype=np.uint64) << np.uint64(32)
        starts[low : low + step] = np.searchsorted(position, limits)
    gained = scratch.empty(filled, np.int32)
    counts = Counts(*(scratch.empty(corpus.documents, np.int32) for _ in range(2)))
    share_words(every, starts, by_number(corpus, scratch), words, boilerplate, gained, *counts)
    size, holders = (scratch.empty(filled, np.int64) for _ in range(2))
    size[:], holders[:] = every[:, 1], every[:, 4]
    size += words - 1
    common = scratch.empty(filled, np.bool_)
    np.greater_equal(holders, boilerplate or _NEVER, out=common)
    return Passages(position, size, source, origin, holders, common, gained, text), counts


def divided(position: np.ndarray, begin: int = 0) -> list[int]:
    """Return bounds of rows that are looked at together, from one on; no document is divided.

    ``position``, uint64[rows], ascending, is document << 32 | word.
    """
    marks = np.arange(begin, len(position), TUNING.run_segments)
    starts = (position[marks] >> np.uint64(32)) << np.uint64(32)
    # Not by NumPy's search, which copies all values of a table's column.
    bounds = {first_not_below(position, 0, len(position), start) for start in starts}
    return sorted({*bounds, len(position)})


def by_number(corpus: Corpus, scratch: Scratch) -> np.ndarray:
    """Return int32[documents]: the tokens of each document, by its number in keep order."""
    tokens = scratch.empty(corpus.documents, np.int32)
    tokens[corpus.numbers] = corpus.tokens
    return tokens


class Bridges(NamedTuple):
    number: np.ndarray  # int64[passages]: of the joined ones; -1 for a passage that is not joined
    changed: np.ndarray  # int64[passages]: changed words before it


def bridges(passages: Passages, gap: int, scratch: Scratch) -> Bridges:
    """Join neighbouring passages from one source document over at most ``gap`` changed words."""
    found = Bridges(*(scratch.empty(len(passages.words), np.int64) for _ in range(2)))
    bridge(passages.position, passages.words, passages.source, gap, *found)
    return found


class Largest(NamedTuple):
    """The source document that each document has most words from; -1 where it has none."""

    source: np.ndarray  # int64[documents]
    words: np.ndarray  # int64[documents]


def largest_sources(passages: Passages, documents: int, scratch: Scratch) -> Largest:
    """Find the largest source of each document; of equal ones the first in keep order."""
    found = Largest(*(scratch.filled(documents, np.int64, value) for value in (-1, 0)))
    for low, high in pairwise(divided(passages.position)):
        _largest(passages, low, high, found)
    return found


def _largest(passages: Passages, low: int, high: int, found: Largest) -> None:
    """Fill in the documents that some passages, from ``low`` to ``high``, belong to."""
    kept = passages.gained[low:high] > 0
    kept &= ~passages.common[low:high]
    of = (passages.position[low:high][kept] >> np.uint64(32)).astype(np.int64)
    source = (passages.source[low:high][kept] >> np.uint64(32)).astype(np.int64)
    gained = passages.gained[low:high][kept]
    new = np.ones(len(of) + 1, np.bool_)
    new[1:-1] = of[1:] != of[:-1]
    single = new[1:] & new[:-1]  # most documents have a single passage
    found.source[of[single]], found.words[of[single]] = source[single], gained[single]
    of, source, gained = (values[~single] for values in (of, source, gained))
    if not len(of):
        return
    pairs = of << 32 | source
    order = np.argsort(pairs, kind="stable")  # for the most part they ascend
    pairs = pairs[order]
    begins = _changes(pairs)
    words = np.add.reduceat(gained[order], begins).astype(np.int64)
    pairs = pairs[begins]
    begins = _changes(pairs >> 32)
    largest = np.maximum.reduceat(words, begins)
    best = np.flatnonzero(words == np.repeat(largest, np.diff(begins, append=len(words))))
    best = best[_changes(pairs[best] >> 32)]
    of = pairs[best] >> 32
    found.source[of], found.words[of] = pairs[best] & 0xFFFFFFFF, words[best]


def _changes(values: np.ndarray) -> np.ndarray:
    """Return int64[]: the first row of each value, of values whose equal ones are together."""
    return np.flatnonzero(np.append(True, values[1:] != values[:-1]))
