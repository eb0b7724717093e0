"""Which words and characters of each document are cut."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from neardup.copied_passages.building import Passages, divided
from neardup.copied_passages.copy_tables import in_input_order
from neardup.copied_passages.cuts.cutting import apart, complete
from neardup.copied_passages.finding import FoundPassages, Inputs
from neardup.copied_passages.offsets import Offsets, in_input, key_of
from neardup.copied_passages.passage_spec import CutSpec
from neardup.copied_passages.work import Work
from neardup.corpora.corpus import InputCorpus
from neardup.deduplication.reading import PartitionRows
from neardup.files.scratch import Scratch, Slabs
from neardup.sketch.spans import ends_of
from neardup.sketch.tokenising import Tokeniser
from neardup.threads import Pool

_LOW = np.uint64(0xFFFFFFFF)
#: Stretches that are looked at together.
_STEP = 1 << 18
#: Words that are looked at together, but for those of a long document.
_WORDS = 1 << 16


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

    def documents_in(self, scratch: Scratch) -> np.ndarray:
        """Return `document` as an array of ``scratch``."""
        found = scratch.empty(len(self.position), np.int64)
        np.right_shift(self.position, np.uint64(32), out=found.view(np.uint64))
        return found


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
    if spec.cut and spec.cut_boilerplate:
        return union(*(np.concatenate(pair) for pair in zip(copied, common, strict=True)))
    if spec.cut_boilerplate:
        return common
    return without(copied, common) if len(common[0]) else copied


def stretches_of(found: FoundPassages, spec: CutSpec, scratch: Scratch) -> Stretches:
    """Return the stretches that are cut, in the order of the input, with no characters yet."""
    passages = found.passages
    position = scratch.empty(len(passages.position), np.uint64)  # there are no more than passages
    words = scratch.empty(len(passages.position), np.int64)
    filled = 0
    for low, high in pairwise(divided(passages.position)):
        together = Passages(*(column[low:high] for column in passages))
        starts, sizes = words_to_cut(together, spec)
        position[filled : filled + len(starts)] = starts
        words[filled : filled + len(starts)] = sizes
        filled += len(starts)
    ordered = scratch.empty(filled, np.uint64)
    sizes = scratch.empty(filled, np.int64)
    done = 0
    for order in in_input_order(found, position[:filled]):
        rows = slice(done, done + len(order))
        ordered[rows], sizes[rows] = in_input(found, position[order]), words[order]
        done += len(order)
    nothing = np.empty(0, np.int64)
    return Stretches(ordered, sizes, nothing, nothing)


def no_stretches() -> Stretches:
    """Return that nothing is cut."""
    nothing = np.empty(0, np.int64)
    return Stretches(np.empty(0, np.uint64), nothing, nothing, nothing)


def keys_of(stretches: Stretches) -> Iterator[np.ndarray]:
    """Yield what `Offsets` is asked for: of some stretches the starts, then their ends."""
    for low in range(0, len(stretches.position), _STEP):
        position, words = (column[low : low + _STEP] for column in stretches[:2])
        yield key_of(position, False)
        yield key_of(position + words.astype(np.uint64) - np.uint64(1), True)


def with_characters(stretches: Stretches, offsets: Offsets, scratch: Scratch) -> Stretches:
    """Return the same with the characters."""
    sides = [scratch.empty(len(stretches.position), np.int64) for _ in range(2)]
    for number, keys in enumerate(keys_of(stretches)):
        low = number // 2 * _STEP
        sides[number % 2][low : low + len(keys)] = offsets.of(keys)
    return stretches._replace(start=sides[0], end=sides[1])


def complete_units(
    stretches: Stretches,
    unit: str,
    inputs: Inputs,
    found: FoundPassages,
    tokeniser: Tokeniser,
    work: Work,
) -> Stretches:
    """Return the complete lines, sentences or paragraphs of which all words would be cut."""
    old = inputs.old_documents
    of = stretches.document - old
    documents = np.unique(of)
    corpus = inputs.new
    ends = np.cumsum(corpus.counts)

    def units_of(selected: PartitionRows) -> np.ndarray:
        units = array("q")  # the four numbers of each
        for position, text, words in _words_of(selected, corpus, old, found, tokeniser):
            low, high = np.searchsorted(of, [position, position + 1]).tolist()
            rows_cut = (
                (int(words[first, 0]), int(words[first + size - 1, 1]))
                for first, size in _apart(stretches, low, high, words)
                if size
            )
            for start, end in complete(text, unit, _pairs(words), rows_cut):
                first = int(np.searchsorted(words[:, 0], start))
                last = int(np.searchsorted(words[:, 1], end, side="right"))
                units.extend((position + old << 32 | first, last - first, start, end))
        return np.array(units, np.int64).view(np.uint8)

    slabs = Slabs(work.scratch.empty)
    every = work.pool.ordered(units_of, corpus.reader.again(ends, documents))
    parts = [slabs.copy(units).view(np.int64).reshape(-1, 4) for units in every if len(units)]
    total = sum(map(len, parts))
    table = Stretches(
        work.scratch.empty(total, np.uint64),
        *(work.scratch.empty(total, np.int64) for _ in range(3)),
    )
    filled = 0
    for part in parts:
        for column, values in zip(table, part.T, strict=True):
            column[filled : filled + len(part)] = values
        filled += len(part)
    return table


def _words_of(
    selected: PartitionRows,
    corpus: InputCorpus,
    old: int,
    found: FoundPassages,
    tokeniser: Tokeniser,
) -> Iterator[tuple[int, str, np.ndarray]]:
    """Yield documents: position, text, and int64[words, 2], where each word begins and ends."""
    assert selected.rows is not None
    positions = selected.first + selected.rows
    every = found.tokens[found.numbers[old + positions]].astype(np.int64)
    texts = corpus.reader.texts(selected)
    ends = np.cumsum(every)
    first = 0
    while first < len(positions):  # a few documents at a time
        behind = np.searchsorted(ends, ends[first] - every[first] + _WORDS, side="right")
        last = max(first + 1, int(behind))
        counts = every[first:last]
        rows = np.repeat(np.arange(last - first), 2 * counts)
        begins = np.cumsum(2 * counts) - 2 * counts
        asked = np.arange(int(2 * counts.sum())) - np.repeat(begins, 2 * counts)
        characters = ends_of(tokeniser, texts.slice(first, last - first), rows, asked)
        for row, position in enumerate(positions[first:last].tolist()):
            words = characters[begins[row] : begins[row] + 2 * counts[row]].reshape(-1, 2)
            yield position, texts[first + row].as_py(), words
        first = last


def _pairs(words: np.ndarray) -> Iterator[tuple[int, int]]:
    """Yield rows of int64[words, 2], some thousand in memory together."""
    for low in range(0, len(words), _WORDS):
        yield from map(tuple, words[low : low + _WORDS].tolist())


def _apart(
    stretches: Stretches, low: int, high: int, words: np.ndarray
) -> Iterator[tuple[int, int]]:
    """Yield the first word, and the number, of what can be cut of stretches of one document."""
    first = (stretches.position[low:high] & _LOW).tolist()
    for begin, size in zip(first, stretches.words[low:high].tolist(), strict=True):
        yield apart(words, begin, size)


def keys_beside(
    stretches: Stretches, found: FoundPassages
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield stretches, int64[], and keys: of the word before each, then of the one behind."""
    for low in range(0, len(stretches.position), _STEP):
        position, words = (column[low : low + _STEP] for column in stretches[:2])
        behind = position + words.astype(np.uint64)
        rows = np.flatnonzero(position & _LOW)
        yield low + rows, key_of(position[rows] - np.uint64(1), True)
        counts = found.tokens[found.numbers[(position >> np.uint64(32)).astype(np.int64)]]
        rows = np.flatnonzero(behind & _LOW < counts.astype(np.uint64))
        yield low + rows, key_of(behind[rows], False)


def without_shared(
    stretches: Stretches,
    offsets: Offsets,
    inputs: Inputs,
    found: FoundPassages,
    tokeniser: Tokeniser,
    pool: Pool,
) -> Stretches:
    """Return the same without the words that share a character with a word that stays.

    Normalisation can make several words of one character. It goes only if all of them do.
    The arrays of the stretches are changed.
    """
    old, documents = inputs.old_documents, [np.empty(0, np.int64)]
    for number, (rows, keys) in enumerate(keys_beside(stretches, found)):
        at = offsets.of(keys)
        shared = at < stretches.end[rows] if number % 2 else at > stretches.start[rows]
        position = stretches.position[rows[shared]]
        documents.append(np.unique((position >> np.uint64(32)).astype(np.int64)))
    again = np.unique(np.concatenate(documents))
    if not len(again):
        return stretches
    corpus = inputs.new

    def work(selected: PartitionRows) -> None:
        for position, _, words in _words_of(selected, corpus, old, found, tokeniser):
            document = np.uint64(old + position) << np.uint64(32)
            bounds = np.array([document, document + (np.uint64(1) << np.uint64(32))])
            low, high = np.searchsorted(stretches.position, bounds).tolist()
            for row, (first, size) in enumerate(_apart(stretches, low, high, words), low):
                stretches.position[row] = document | np.uint64(first)
                stretches.words[row] = size
                if size:
                    stretches.start[row] = words[first, 0]
                    stretches.end[row] = words[first + size - 1, 1]

    for _ in pool.ordered(work, corpus.reader.again(np.cumsum(corpus.counts), again - old)):
        pass
    left = 0
    for low in range(0, len(stretches.position), _STEP):
        here = low + np.flatnonzero(stretches.words[low : low + _STEP])
        for column in stretches:
            column[left : left + len(here)] = column[here]
        left += len(here)
    return Stretches(*(column[:left] for column in stretches))


def dropped_documents(
    found: FoundPassages, stretches: Stretches, spec: CutSpec, old: int
) -> np.ndarray:
    """Return bool[new documents], in input order: those that the specification leaves out."""
    of = found.numbers[old:]
    dropped = np.zeros(len(of), np.bool_)
    if spec.drop_above is not None:
        dropped |= found.counts.copied[of] > spec.drop_above * found.tokens[of].astype(np.int64)
    if spec.drop_below is not None:
        left = found.tokens[of].astype(np.int64)
        np.subtract.at(left, stretches.document - old, stretches.words)
        dropped |= left < spec.drop_below
    return dropped


def words_of_kept(stretches: Stretches, dropped: np.ndarray, old: int) -> int:
    """Return the words that are cut of documents that are not dropped, bool[new documents]."""
    total = 0
    for low in range(0, len(stretches.position), _STEP):
        position, words = (column[low : low + _STEP] for column in stretches[:2])
        total += int(words[~dropped[(position >> np.uint64(32)).astype(np.int64) - old]].sum())
    return total
