"""Which documents of a training corpus contain a test item, or a passage of it; exactly.

The test items are in memory, and the training corpus, of any size, is read once.
Items shorter than a shingle are looked for word by word, as they are.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from neardup.arrays import array_of
from neardup.corpora.corpus import InputCorpus
from neardup.engines.identifiers import take_ids
from neardup.inspect.exact_search import ExactSearch, Similar
from neardup.io.source import Documents, Partition
from neardup.json_values import plain_id
from neardup.kernels.jaccard import Sets
from neardup.match.verifying import make_sets
from neardup.sketch.sequences import TokenSequences
from neardup.sketch.spans import characters
from neardup.sketch.texts import Ragged, as_text
from neardup.sketch.tokenising import Tokeniser
from neardup.spec import ShingleSpec
from neardup.threads import Pool

#: How a document and an item match.
BY = ("containment", "similarity", "passage", "item")
_ITEM = BY.index("item")
#: An item is frequent if more than this share of the documents has it, and more than so few; so
#: many of them are listed.
_FREQUENT, _FEW, _LISTED = 0.1, 5, 5


class Asked(NamedTuple):
    """Conditions of a match.

    Attributes:
        by: ``"containment"``, ``"similarity"`` or ``"passage"``.
        minimum: Lowest containment or similarity.
        shingle: The unit that is compared; for passages, their minimum length in words.
        min_words: Shortest item that is looked for, of those that are shorter than a shingle.
        texts: Whether passages have their text.
        cut: Whether the words that match are looked for, to be cut.
    """

    by: str
    minimum: float
    shingle: ShingleSpec
    min_words: int = 2
    texts: bool = False
    cut: bool = False


class _Pairs(NamedTuple):
    doc: np.ndarray  # int64[m]: row of the training document, later its position
    item: np.ndarray  # int64[m]
    by: np.ndarray  # int8[m]: see `BY`
    containment: np.ndarray  # float64[m]
    passage: np.ndarray  # int64[m, 3]: words, and where they begin in both
    characters: np.ndarray  # int64[m, 2]: of the passage in the training document
    text: np.ndarray  # object[m]: of the passage; None where it was not asked for


class Stretches(NamedTuple):
    """Rows of words that match and are cut, with the characters between them."""

    document: np.ndarray  # int64[stretches]: positions, ascending
    words: np.ndarray  # int64[stretches]
    start: np.ndarray  # int64[stretches]: first character in the original text
    end: np.ndarray  # int64[stretches]: the one after the last


def _no_pairs() -> _Pairs:
    numbers = np.empty(0, np.int64)
    shares, texts = np.empty(0), np.empty(0, object)
    runs = np.empty((0, 3), np.int64), np.empty((0, 2), np.int64)
    return _Pairs(numbers, numbers, np.empty(0, np.int8), shares, *runs, texts)


class Items:
    """Test items, ready to be sought for.

    Args:
        corpus: The items, not read yet.
        asked: Conditions of a match.
        pool: Threads.
    """

    def __init__(self, corpus: InputCorpus, asked: Asked, pool: Pool) -> None:
        self.asked, self.tokeniser = asked, Tokeniser(asked.shingle)
        #: Passages are runs of words, whatever is compared.
        self.words = Tokeniser(replace(asked.shingle, unit="word", n=1, raw=False, bag=False))
        parts, tokens, texts, sizes = [], [], [as_text([])], [np.empty(0, np.int64)]
        for _, partition in corpus.reader.partitions():
            documents = corpus.read(partition)
            corpus.enter(partition, documents)
            parts.append(self.tokeniser.sets(documents.text))
            tokens += _tokens(self.words, documents.text)
            counted, _ = self.tokeniser.tokens(*self.tokeniser.normalise(documents.text))
            sizes.append(np.diff(counted.offsets))
            texts.append(documents.text)
        self.tokens = tokens
        self.texts: Any = pa.concat_arrays(texts)
        short = np.concatenate(sizes) < asked.shingle.n
        words = np.array([len(row) for row in tokens], dtype=np.int64)
        sought = short & (words >= asked.min_words)
        #: Items shorter than a shingle that are looked for as they are, and those that are not.
        self.short, self.too_short = int(sought.sum()), int((short & ~sought).sum())
        self._short = np.flatnonzero(sought)
        self._sequences = TokenSequences([tokens[item] for item in self._short.tolist()])
        counts = np.concatenate([np.zeros(1, np.int64), *(np.diff(part.offsets) for part in parts)])
        values = np.concatenate([np.empty(0, np.uint64), *(part.values for part in parts)])
        sets = make_sets(Ragged(values, np.cumsum(counts)))
        # (The one shingle of a short item would be found only in a text that is equal to it.)
        counted_sizes = np.where(short, 0, sets.size).astype(np.int32)
        self._sets = Sets(sets.values, sets.begin, counted_sizes, sets.bitmaps)
        self._sizes = counted_sizes.astype(np.int64)
        self._search = ExactSearch(self._sets)
        self._pool = pool

    def is_short(self, item: int) -> bool:
        """Return whether an item is shorter than a shingle, and looked for as it is."""
        return bool(np.isin(item, self._short))

    def matches(self, corpus: InputCorpus) -> Iterator[tuple[_Pairs, Stretches]]:
        """Yield the matches of a corpus that is not read yet, partition by partition."""

        def work(partition: Partition) -> tuple[Partition, Documents, _Pairs, Stretches]:
            documents = corpus.read(partition)
            return partition, documents, *self._of(documents.text)

        done = 0
        partitions = (partition for _, partition in corpus.reader.partitions())
        for partition, documents, found, cut in self._pool.ordered(work, partitions):
            corpus.enter(partition, documents)
            yield found._replace(doc=found.doc + done), cut._replace(document=cut.document + done)
            done += len(documents.text)

    def _of(self, texts: pa.LargeStringArray) -> tuple[_Pairs, Stretches]:
        """Return the matches of some documents, and what would be cut, by their rows."""
        doc, item, by, share = self._pairs(texts)
        rows, row_of = np.unique(doc, return_inverse=True)
        matched: Any = texts.take(array_of(rows))
        tokens = _tokens(self.words, matched)
        runs = [
            longest_shared(tokens[row], self.tokens[i])
            for row, i in zip(row_of.tolist(), item.tolist(), strict=True)
        ]
        passage = np.array(runs, dtype=np.int64).reshape(-1, 3)
        if self.asked.by == "passage":
            kept = (passage[:, 0] >= self.asked.shingle.n) | (by == _ITEM)
            doc, item, by, share = doc[kept], item[kept], by[kept], share[kept]
            passage, row_of = passage[kept], row_of[kept]
        where = np.full((len(doc), 2), -1)
        has = passage[:, 0] > 0
        where[has] = characters(self.words, matched, row_of[has], passage[has][:, [1, 0]])
        text = np.full(len(doc), None)
        if self.asked.texts:
            cut = zip(row_of[has].tolist(), *where[has].T.tolist(), strict=True)
            text[has] = [matched[row].as_py()[first:last] for row, first, last in cut]
        pairs = _Pairs(doc, item, by, share, passage, where, text)
        return pairs, self._stretches(matched, tokens, rows, row_of, item)

    def _pairs(self, texts: pa.LargeStringArray) -> tuple[np.ndarray, ...]:
        """Return document, item, how they match, and containment of all candidates."""
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
        by = np.full(len(doc), BY.index(asked.by), np.int8)
        short_doc, short_item = self._short_pairs(texts)
        return (
            np.concatenate([doc, short_doc]),
            np.concatenate([item, short_item]),
            np.concatenate([by, np.full(len(short_doc), _ITEM, np.int8)]),
            np.concatenate([share, np.ones(len(short_doc))]),
        )

    def _short_pairs(self, texts: pa.LargeStringArray) -> tuple[np.ndarray, np.ndarray]:
        """Return the documents that have a short item, and its number."""
        found = [np.empty((0, 2), np.int64)]
        first = 0
        for tokens, _ in self.words.word_batches(*self.words.normalise(texts)):
            hits = self._sequences(tokens)
            doc = np.searchsorted(tokens.offsets, hits.position, side="right") - 1
            pairs = np.stack([first + doc, self._short[hits.sequence]], axis=1)
            found.append(np.unique(pairs, axis=0))
            first += len(tokens.offsets) - 1
        pairs = np.concatenate(found)
        return pairs[:, 0], pairs[:, 1]

    def _stretches(
        self,
        texts: pa.LargeStringArray,
        tokens: list[np.ndarray],
        rows: np.ndarray,
        row_of: np.ndarray,
        item: np.ndarray,
    ) -> Stretches:
        """Return the words of documents that are in a shingle of an item, or in a short item."""
        if not self.asked.cut or not len(row_of):
            return _NOTHING
        of, runs = [], []
        order = np.argsort(row_of, kind="stable")
        limits = np.searchsorted(row_of[order], np.arange(len(tokens) + 1)).tolist()
        for row, words in enumerate(tokens):
            items = item[order[limits[row] : limits[row + 1]]]
            for begin, count in self._runs(words, items):
                of.append(row)
                runs.append((begin, count))
        if not of:
            return _NOTHING
        table, number = np.array(runs, np.int64), np.array(of, np.int64)
        where = characters(self.words, texts, number, table)
        return Stretches(rows[number], table[:, 1].copy(), where[:, 0], where[:, 1])

    def _runs(self, words: np.ndarray, items: np.ndarray) -> list[tuple[int, int]]:
        """Return the maximal rows of words of a document that some items have: first, number."""
        n = self.asked.shingle.n
        ends = np.zeros(len(words) + 1, np.int64)
        long = items[self._sizes[items] > 0].tolist()
        if long and len(words) >= n:
            one = Ragged(words, np.array([0, len(words)]))
            shingles = self.tokeniser.shingles(one).values.copy()
            values = [self._sets.values[b : b + s] for b, s in self._limits(long)]
            starts = np.flatnonzero(np.isin(shingles, np.concatenate(values)))
            np.add.at(ends, starts, 1)
            np.subtract.at(ends, starts + n, 1)
        short = set(items.tolist())
        if len(long) < len(items):
            hits = self._sequences(Ragged(words, np.array([0, len(words)])))
            for at, sequence in zip(*(column.tolist() for column in hits), strict=True):
                if int(self._short[sequence]) in short:
                    ends[at] += 1
                    ends[at + self._sequences.lengths[sequence]] -= 1
        covered = np.concatenate([[0], (np.cumsum(ends[:-1]) > 0).astype(np.int8), [0]])
        changes = np.flatnonzero(np.diff(covered)).reshape(-1, 2)
        return [(first, last - first) for first, last in changes.tolist()]

    def _limits(self, items: list[int]) -> list[tuple[int, int]]:
        begin, size = self._sets.begin[items], self._sets.size[items]
        return list(zip(begin.tolist(), size.tolist(), strict=True))


_NONE = Similar(np.empty(0, np.int32), np.empty(0, np.int32), np.empty(0))
_NOTHING = Stretches(*(np.empty(0, np.int64) for _ in Stretches._fields))


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


@dataclass(frozen=True)
class Matches:
    """All matches of two corpora.

    Attributes:
        table: See `matches_of`.
        cut: The stretches to cut, if they were asked for.
    """

    table: pa.Table
    cut: Stretches

    @property
    def only_short(self) -> int:
        """Training documents that only have items shorter than a shingle."""
        doc, by = (self.table.column(name).to_numpy() for name in ("train_doc", "by"))
        return len(np.setdiff1d(doc[by == "item"], doc[by != "item"]))


def matches_of(train: InputCorpus, test: InputCorpus, items: Items) -> Matches:
    """Find all matches of a corpus that is not read yet, and test items.

    Returns:
        A table, by training document, then test item: ``train_doc`` and ``train_id``, ``test_doc``
        and ``test_id``; ``by``, one of `BY`; ``containment``; ``passage``, the words of the longest
        run that both have; ``train_start``, ``train_end``, ``test_start`` and ``test_end``, its
        characters, null where there is none; and ``passage_text``, if texts were asked for.
    """
    parts = list(items.matches(train))
    pairs = (_no_pairs(), *(part for part, _ in parts))
    found = _Pairs(*(np.concatenate(column) for column in zip(*pairs, strict=True)))
    order = np.lexsort((found.item, found.doc))
    found = _Pairs(*(column[order] for column in found))
    passage, where = found.passage, found.characters
    has = passage[:, 0] > 0
    in_test = np.full((len(order), 2), -1)
    runs = passage[has][:, [2, 0]]
    in_test[has] = characters(items.words, items.texts, found.item[has], runs)
    columns: dict[str, Any] = {
        "train_doc": array_of(found.doc),
        "train_id": take_ids(train.ids(), found.doc),
        "test_doc": array_of(found.item),
        "test_id": take_ids(test.ids(), found.item),
        "by": pa.array(BY).take(array_of(found.by.astype(np.int64))),
        "containment": array_of(found.containment),
        "passage": array_of(np.ascontiguousarray(passage[:, 0])),
    }
    for name, ends in (("train", where), ("test", in_test)):
        for column, end in enumerate(("start", "end")):
            values = np.ascontiguousarray(ends[:, column])
            columns[f"{name}_{end}"] = array_of(values, null=values < 0)
    if items.asked.texts:
        columns["passage_text"] = pa.array(found.text, pa.large_string())
    cuts = (_NOTHING, *(cut for _, cut in parts))
    cut = Stretches(*(np.concatenate(column) for column in zip(*cuts, strict=True)))
    return Matches(pa.table(columns), cut)


def by_file(test: InputCorpus, matches: pa.Table) -> list[dict[str, Any]]:
    """Return the counts of each file with test items: its items, those found, and documents."""
    files = test.reader.source.files
    of = np.repeat([file for file, _ in test.partitions], test.counts)
    doc, item = (matches.column(name).to_numpy() for name in ("train_doc", "test_doc"))
    found = []
    for number, file in enumerate(files):
        here = of[item] == number
        counts = {
            "test_items": int((of == number).sum()),
            "test_items_found": len(np.unique(item[here])),
            "documents": len(np.unique(doc[here])),
            "matches": int(here.sum()),
        }
        found.append({"file": str(file.path), **counts})
    return found


def frequent_items(
    test: InputCorpus, items: Items, matches: pa.Table, documents: int
) -> list[dict[str, Any]]:
    """Return the test items that a large share of the documents has, the most frequent first.

    Returns:
        For each ``test_doc`` and ``test_id``, null where no message may have it; ``documents`` that
        have it; its ``words``; and ``short``, whether it is shorter than a shingle.
    """
    item = matches.column("test_doc").to_numpy()
    counts = np.bincount(item, minlength=1)
    many = np.flatnonzero(counts > max(_FREQUENT * documents, _FEW))
    many = many[np.argsort(-counts[many], kind="stable")][:_LISTED]
    ids: list[Any] = [None] * len(many)
    if test.id_column is not None and not test.job.secret_ids:
        ids = [plain_id(id_) for id_ in take_ids(test.ids(), many).to_pylist()]
    return [
        {
            "test_doc": row,
            "test_id": id_,
            "documents": int(counts[row]),
            "words": len(items.tokens[row]),
            "short": items.is_short(row),
        }
        for row, id_ in zip(many.tolist(), ids, strict=True)
    ]
