"""Which words and characters of each document are cut."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from neardup.copies.asked import CutSpec
from neardup.copies.building import Passages
from neardup.copies.cuts.cutting import complete
from neardup.copies.finding import FoundPassages, Inputs
from neardup.copies.offsets import Offsets, in_input, key_of
from neardup.engines.reading import PartitionRows
from neardup.sketch.spans import ends_of
from neardup.sketch.tokenising import Tokeniser
from neardup.threads import Pool

_LOW = np.uint64(0xFFFFFFFF)


class Stretches(NamedTuple):
    """Maximal rows of words that are cut, in order of documents and words."""

    position: np.ndarray  # uint64[stretches]: document << 32 | first word, in input order
    words: np.ndarray  # int64[stretches]
    start: np.ndarray  # int64[stretches]: first character in the original text
    end: np.ndarray  # int64[stretches]: the one after the last

    @property
    def document(self) -> np.ndarray:
        """int64[stretches]: positions in the input, old documents included."""
        return (self.position >> np.uint64(32)).astype(np.int64)


def union(position: np.ndarray, words: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the maximal rows that some rows of words cover, uint64[] and int64[].

    >>> union(np.array([1, 3, 9], np.uint64), np.array([3, 3, 2]))
    (array([1, 9], dtype=uint64), array([5, 2]))
    """
    order = np.argsort(position, kind="stable")
    position, ends = position[order], (position + words.astype(np.uint64))[order]
    reach = np.maximum.accumulate(ends)
    new = np.ones(len(position), np.bool_)
    new[1:] = position[1:] > reach[:-1]
    # Words of two documents never join: their positions are far apart.
    first = np.flatnonzero(new)
    last = np.append(first[1:], len(position)) - 1
    starts = position[first]
    return starts, (reach[last] - starts).astype(np.int64) if len(first) else words[:0]


def without(
    given: tuple[np.ndarray, np.ndarray], others: tuple[np.ndarray, np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """Return the words of some maximal rows that are not in others, as maximal rows."""
    ends = [rows[0] + rows[1].astype(np.uint64) for rows in (given, others)]
    points = np.concatenate([given[0], ends[0], others[0], ends[1]])
    a, b = len(given[0]), len(others[0])
    change_a = np.concatenate([np.ones(a), -np.ones(a), np.zeros(2 * b)]).astype(np.int64)
    change_b = np.concatenate([np.zeros(2 * a), np.ones(b), -np.ones(b)]).astype(np.int64)
    order = np.argsort(points, kind="stable")
    points = points[order]
    in_given = (np.cumsum(change_a[order]) > 0) & (np.cumsum(change_b[order]) == 0)
    sizes = np.diff(points, append=points[-1:]).astype(np.int64)
    in_given &= sizes > 0
    return union(points[in_given], sizes[in_given])


def words_to_cut(passages: Passages, spec: CutSpec) -> tuple[np.ndarray, np.ndarray]:
    """Return the maximal rows of words that a specification cuts, by number of the document."""
    copied = union(passages.position[~passages.common], passages.words[~passages.common])
    common = union(passages.position[passages.common], passages.words[passages.common])
    if spec.copied and spec.boilerplate:
        return union(*(np.concatenate(pair) for pair in zip(copied, common, strict=True)))
    if spec.boilerplate:
        return common
    return without(copied, common) if len(common[0]) else copied


def stretches_of(rows: tuple[np.ndarray, np.ndarray], found: FoundPassages) -> Stretches:
    """Return rows of words in the order of the input, with no characters yet."""
    position = in_input(found, rows[0])
    order = np.argsort(position)
    nothing = np.empty(0, np.int64)
    return Stretches(position[order], rows[1][order], nothing, nothing)


def no_stretches() -> Stretches:
    """Return that nothing is cut."""
    nothing = np.empty(0, np.int64)
    return Stretches(np.empty(0, np.uint64), nothing, nothing, nothing)


def keys_of(stretches: Stretches) -> list[np.ndarray]:
    """Return what `Offsets` is asked for."""
    last = stretches.position + stretches.words.astype(np.uint64) - np.uint64(1)
    return [key_of(stretches.position, False), key_of(last, True)]


def with_characters(stretches: Stretches, offsets: Offsets) -> Stretches:
    """Return the same with the characters."""
    start, end = (offsets.of(keys) for keys in keys_of(stretches))
    return stretches._replace(start=start, end=end)


def complete_units(
    stretches: Stretches,
    unit: str,
    inputs: Inputs,
    found: FoundPassages,
    tokeniser: Tokeniser,
    pool: Pool,
) -> Stretches:
    """Return the complete lines, sentences or paragraphs of which all words would be cut."""
    old = inputs.old_documents
    of = stretches.document - old
    documents = np.unique(of)
    corpus = inputs.new
    ends = np.cumsum(corpus.counts)
    tokens = found.tokens[found.numbers]

    def work(selected: PartitionRows) -> list[tuple[int, int, int, int, int]]:
        assert selected.rows is not None
        positions = selected.first + selected.rows
        counts = tokens[old + positions].astype(np.int64)
        rows = np.repeat(np.arange(len(positions)), 2 * counts)
        begins = np.cumsum(2 * counts) - 2 * counts
        asked = np.arange(int(2 * counts.sum())) - np.repeat(begins, 2 * counts)
        texts = corpus.reader.texts(selected)
        characters = ends_of(tokeniser, texts, rows, asked)
        units: list[tuple[int, int, int, int, int]] = []
        for row, position in enumerate(positions.tolist()):
            words = characters[begins[row] : begins[row] + 2 * counts[row]].reshape(-1, 2)
            low, high = np.searchsorted(of, [position, position + 1]).tolist()
            rows_cut = [
                (int(words[first, 0]), int(words[first + size - 1, 1]))
                for first, size in zip(
                    (stretches.position[low:high] & _LOW).tolist(),
                    stretches.words[low:high].tolist(),
                    strict=True,
                )
            ]
            text = texts[row].as_py()
            for start, end in complete(text, unit, map(tuple, words.tolist()), rows_cut):
                first = int(np.searchsorted(words[:, 0], start))
                last = int(np.searchsorted(words[:, 1], end, side="right"))
                units.append((position, first, last - first, start, end))
        return units

    rows: list[tuple[int, int, int, int, int]] = []
    for units in pool.ordered(work, corpus.reader.again(ends, documents)):
        rows += units
    table = np.array(rows, np.int64).reshape(-1, 5)
    position = (table[:, 0] + old).astype(np.uint64) << np.uint64(32) | table[:, 1].astype(
        np.uint64
    )
    return Stretches(position, table[:, 2], table[:, 3], table[:, 4])


def dropped_documents(
    found: FoundPassages, stretches: Stretches, spec: CutSpec, old: int
) -> np.ndarray:
    """Return bool[new documents], in input order: those that the specification leaves out."""
    tokens = found.tokens[found.numbers][old:].astype(np.int64)
    copied = found.counts.copied[found.numbers][old:].astype(np.int64)
    dropped = np.zeros(len(tokens), np.bool_)
    if spec.drop_above is not None:
        dropped |= copied > spec.drop_above * tokens
    if spec.drop_below is not None:
        left = tokens.copy()
        np.subtract.at(left, stretches.document - old, stretches.words)
        dropped |= left < spec.drop_below
    return dropped
