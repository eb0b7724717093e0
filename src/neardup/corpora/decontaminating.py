"""Which documents of a training corpus contain a test item, or a passage of it; exactly.

The test items are in memory, and the training corpus, of any size, is read once.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from neardup.arrays import array_of
from neardup.corpora.corpus import InputCorpus
from neardup.engines.identifiers import take_ids
from neardup.inspect.exact_search import ExactSearch, Similar
from neardup.io.source import Documents, Partition
from neardup.kernels.jaccard import Sets
from neardup.match.verifying import make_sets
from neardup.sketch.texts import Ragged
from neardup.sketch.tokenising import Tokeniser
from neardup.spec import ShingleSpec
from neardup.threads import Pool


class Asked(NamedTuple):
    """Conditions of a match.

    Attributes:
        by: ``"containment"``, ``"similarity"`` or ``"passage"``.
        minimum: Lowest containment or similarity.
        shingle: The unit that is compared; for passages, their minimum length in words.
    """

    by: str
    minimum: float
    shingle: ShingleSpec


class _Pairs(NamedTuple):
    doc: np.ndarray  # int64[m]: row of the training document, later its position
    item: np.ndarray  # int64[m]
    containment: np.ndarray
    passage: np.ndarray  # int64[m, 3]: words, and where they begin in both


class Items:
    """Test items, ready to be searched for.

    Args:
        corpus: The items, not read yet.
        asked: Conditions of a match.
        pool: Threads.
    """

    def __init__(self, corpus: InputCorpus, asked: Asked, pool: Pool) -> None:
        self.asked, self.tokeniser = asked, Tokeniser(asked.shingle)
        parts, tokens = [], []
        for _, partition in corpus.reader.partitions():
            documents = corpus.read(partition)
            corpus.enter(partition, documents)
            parts.append(self.tokeniser.sets(documents.text))
            tokens += _tokens(self.tokeniser, documents.text)
        self.tokens = tokens
        lengths = np.array([len(row) for row in tokens], dtype=np.int64)
        #: Items without a shingle of the length asked for: only equal texts have their one.
        self.short = int((lengths < asked.shingle.n).sum())
        sizes = np.concatenate([np.zeros(1, np.int64), *(np.diff(part.offsets) for part in parts)])
        values = np.concatenate([np.empty(0, np.uint64), *(part.values for part in parts)])
        sets = make_sets(Ragged(values, np.cumsum(sizes)))
        if asked.by == "passage":
            # A shorter item has no passage of that length.
            size = np.where(lengths < asked.shingle.n, 0, sets.size).astype(np.int32)
            sets = Sets(sets.values, sets.begin, size, sets.bitmaps)
        self._sizes = sets.size.astype(np.int64)
        self._search = ExactSearch(sets)
        self._pool = pool

    def matches(self, corpus: InputCorpus) -> Iterator[_Pairs]:
        """Yield the matches of a corpus that is not read yet, partition by partition."""

        def work(partition: Partition) -> tuple[Partition, Documents, _Pairs]:
            documents = corpus.read(partition)
            return partition, documents, self._of(documents.text)

        done = 0
        partitions = (partition for _, partition in corpus.reader.partitions())
        for partition, documents, found in self._pool.ordered(work, partitions):
            corpus.enter(partition, documents)
            yield found._replace(doc=found.doc + done)
            done += len(documents.text)

    def _of(self, texts: pa.LargeStringArray) -> _Pairs:
        asked = self.asked
        sets = self.tokeniser.sets(texts)
        contained = asked.by != "similarity"
        minimum = asked.minimum if asked.by != "passage" else 1 / (1 << 40)
        parts = list(self._search(sets, minimum, contained))
        found = Similar(*(np.concatenate(c) for c in zip(*parts, strict=True))) if parts else _NONE
        doc, item = found.doc.astype(np.int64), found.query.astype(np.int64)
        share = found.similarity
        if not contained:
            # The sizes are integers: rounding restores the overlap.
            both = np.diff(sets.offsets)[doc] + self._sizes[item]
            share = np.rint(share * both / (1 + share)) / np.maximum(self._sizes[item], 1)
        rows, row = np.unique(doc, return_inverse=True)
        tokens = _tokens(self.tokeniser, texts.take(array_of(rows)))
        passage = [
            longest_shared(tokens[i], self.tokens[j])
            for i, j in zip(row.tolist(), item.tolist(), strict=True)
        ]
        where = np.array(passage, dtype=np.int64).reshape(-1, 3)
        if asked.by == "passage":
            reached = where[:, 0] >= asked.shingle.n
            return _Pairs(doc[reached], item[reached], share[reached], where[reached])
        return _Pairs(doc, item, share, where)


_NONE = Similar(np.empty(0, np.int32), np.empty(0, np.int32), np.empty(0))


def _tokens(tokeniser: Tokeniser, texts: pa.LargeStringArray) -> list[np.ndarray]:
    """Return the token hashes of each text, in order."""
    found, _ = tokeniser.tokens(*tokeniser.normalise(texts))
    return [row.copy() for row in np.split(found.values, found.offsets[1:])[:-1]]


def longest_shared(a: np.ndarray, b: np.ndarray) -> tuple[int, int, int]:
    """Return the longest run of tokens that two texts share: (tokens, start in a, start in b).

    >>> longest_shared(np.array([1, 2, 3, 4]), np.array([9, 2, 3, 9]))
    (2, 1, 1)
    """
    # The ends of ``a`` that are not in ``b`` would only take time.
    common = np.isin(a, b)
    if not common.any():
        return 0, 0, 0
    first, last = int(np.argmax(common)), len(a) - int(np.argmax(common[::-1]))
    length = last - first
    # Equal runs of a length have equal ranks. The length is doubled, then halves of it are added.
    ranks = np.unique(np.concatenate([a[first:last], b]), return_inverse=True)[1].reshape(-1)
    of_power, size = [ranks], 1
    start = _first_shared(ranks, length, 1) or (0, 0)
    while found := _first_shared(longer := _followed(ranks, ranks, size), length, 2 * size):
        ranks, start, size = longer, found, 2 * size
        of_power.append(ranks)
    for power in reversed(range(len(of_power) - 1)):
        longer = _followed(ranks, of_power[power], size)
        if found := _first_shared(longer, length, size + (1 << power)):
            ranks, start, size = longer, found, size + (1 << power)
    return size, start[0] + first, start[1]


def _followed(ranks: np.ndarray, after: np.ndarray, size: int) -> np.ndarray:
    """Return ranks of runs: one of so many tokens, and another one after it."""
    second = after[size:]
    pairs = ranks[: len(second)] * np.int64(len(after) + 1) + second
    return np.unique(pairs, return_inverse=True)[1].reshape(-1)


def _first_shared(ranks: np.ndarray, length: int, size: int) -> tuple[int, int] | None:
    """Return where the first run of a size is in a text of a length and in the one after it."""
    a, b = ranks[: max(0, length - size + 1)], ranks[length:]
    common = np.isin(a, b)
    if not common.any():
        return None
    at = int(np.argmax(common))
    return at, int(np.argmax(b == a[at]))


def matches_of(
    train: InputCorpus, test: InputCorpus, asked: Asked, pool: Pool
) -> tuple[pa.Table, Items]:
    """Find all matches of two corpora that are not read yet.

    Returns:
        A table, by training document, then test item: ``train_doc`` and ``train_id``, ``test_doc``
        and ``test_id``, ``containment``, ``passage``, the longest run of words that both have, and
        ``passage_in_train`` and ``passage_in_test``, the numbers of the words before it.
    """
    items = Items(test, asked, pool)
    found = list(items.matches(train))
    doc, item, share, passage = (
        np.concatenate(column) for column in zip(_Pairs(*_EMPTY), *found, strict=True)
    )
    order = np.lexsort((item, doc))
    doc, item, passage = doc[order], item[order], passage[order]
    columns: dict[str, Any] = {
        "train_doc": array_of(doc),
        "train_id": take_ids(train.ids(), doc),
        "test_doc": array_of(item),
        "test_id": take_ids(test.ids(), item),
        "containment": array_of(share[order]),
        "passage": array_of(np.ascontiguousarray(passage[:, 0])),
        "passage_in_train": array_of(np.ascontiguousarray(passage[:, 1])),
        "passage_in_test": array_of(np.ascontiguousarray(passage[:, 2])),
    }
    return pa.table(columns), items


_EMPTY = (np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0), np.empty((0, 3), np.int64))
