"""Which documents of a training corpus contain a test item, or a passage of it; exactly.

The test items are in memory, and the training corpus, of any size, is read once. It is the question
of copied passages with test items as the earlier documents: anchors of runs rule out documents, and
the tokens of runs decide which words are cut. But all items that have a run are asked for, not only
its first and latest position, and how many of an item's shingles a document has: these are counted.
Items shorter than a shingle are looked for word by word, as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, NamedTuple, cast

import numpy as np
import pyarrow as pa

from neardup.arrays import ArrowArray, array_of
from neardup.copied_passages.cuts.cutting import apart
from neardup.copied_passages.cuts.stretches import Stretches, no_stretches, union
from neardup.copied_passages.repeated.spill import Spill
from neardup.corpora.corpus import InputCorpus
from neardup.decontamination.contained_counts import ITEM, MatchCounts
from neardup.deduplication.documents.identifiers import Ids, take_ids
from neardup.files.scratch import Scratch
from neardup.files.table_spill import TableSpill
from neardup.io.source import Partition
from neardup.kernels.passages import online
from neardup.kernels.passages.anchoring import with_anchors
from neardup.kernels.passages.positions import NONE, TOKEN
from neardup.match.exact_search import ExactSearch, heads_of
from neardup.match.verifying import make_sets, taken
from neardup.sketch.run_anchors import RunLength, anchors_of
from neardup.sketch.sequences import TokenSequences
from neardup.sketch.spans import characters
from neardup.sketch.texts import Ragged, as_text, joined
from neardup.sketch.tokenising import Tokeniser, batches
from neardup.spec import ShingleSpec
from neardup.threads import Pool

#: How a document and an item match.
BY = ("containment", "similarity", "passage", "item")  # the last one is `ITEM`
_BITS = np.uint64(32)
#: Columns that a removed document gets, of its match with the highest containment.
CLOSEST = ["test_id", "containment"]
#: Bytes of matches, and of words to cut, that are in memory if they may be.
_IN_MEMORY = 64 << 20
#: Shorter runs have so many anchors that their own hashes rule out documents as well.
_ANCHORED = 8


class MatchConditions(NamedTuple):
    """Conditions of a match.

    Attributes:
        by: ``"containment"``, ``"similarity"`` or ``"passage"``.
        minimum: Lowest containment or similarity.
        shingle: The unit that is compared; for passages, their minimum length in words.
        min_words: Shortest item that is looked for, of those that are shorter than a shingle.
        texts: Whether passages have their text.
        cut: Whether the words that match are looked for, to be cut.
        max_documents: Items that a larger share of the documents has are left out; None for none.
    """

    by: str
    minimum: float
    shingle: ShingleSpec
    min_words: int = 2
    texts: bool = False
    cut: bool = False
    max_documents: float | None = None


class MatchPairs(NamedTuple):
    """Matches, in order of documents, then items."""

    doc: np.ndarray  # int64[m]: row of the training document
    item: np.ndarray  # int64[m]
    by: np.ndarray  # int8[m]: see `BY`
    containment: np.ndarray  # float64[m]
    passage: np.ndarray  # int64[m]: words of the longest run that both have
    in_train: np.ndarray  # int64[m, 2]: its characters in the training document; -1 without it
    in_test: np.ndarray  # int64[m, 2]: likewise
    text: ArrowArray  # of the run; null where it was not asked for


class ComparedPart(NamedTuple):
    """Matches of a partition of the training corpus.

    Attributes:
        documents: Number of its documents.
        ids: Theirs; None where positions are the ids.
        pairs: The matches.
        cut: Words that are cut, by rows of the partition.
    """

    documents: int
    ids: Any
    pairs: MatchPairs
    cut: Stretches


class Items:
    """Test items, ready to be sought for.

    Args:
        corpus: The items, not read yet.
        asked: Conditions of a match.
        pool: Threads.
        advance: Is called with the bytes that were read since.
    """

    def __init__(
        self,
        corpus: InputCorpus,
        asked: MatchConditions,
        pool: Pool,
        advance: Callable[[int], None],
    ) -> None:
        self.asked, self.tokeniser = asked, Tokeniser(asked.shingle)
        #: Passages are runs of words, whatever is compared.
        plain: dict[str, Any] = {"raw": False, "bag": False, "signs": "none"}
        self.words = Tokeniser(replace(asked.shingle, unit="word", n=1, **plain))
        self._of_words, self._length = asked.shingle.of_words, RunLength(asked.shingle.n)
        self._by_anchors = asked.shingle.n >= _ANCHORED
        parts, tokens, texts = [], [], [as_text([])]
        sizes, anchors = [np.empty(0, np.int64)], [np.empty(0, np.uint64)]
        for _, partition in corpus.reader.partitions():
            documents = corpus.read(partition)
            corpus.enter(*corpus.about(partition, documents))
            for _, units in _tokens(self.tokeniser, documents.text):
                sizes.append(np.diff(units.offsets))
                if self._by_anchors:
                    anchors.append(anchors_of(units, self._length).keys.copy())
                values = self.tokeniser.to_sets(self.tokeniser.shingles(units))
                parts.append(Ragged(values.values.copy(), values.offsets))
            tokens.append(self._words_of(documents.text))
            texts.append(documents.text)
            advance(partition.size)
        #: The words of all items.
        self.tokens, self.texts = joined(tokens), cast(Any, pa.concat_arrays(texts))
        sets = make_sets(joined(parts))
        del tokens, parts
        short = np.concatenate(sizes) < asked.shingle.n
        words = self.word_counts
        sought = short & (words >= asked.min_words)
        #: Items shorter than a shingle that are looked for as they are, and those that are not.
        self.short, self.too_short = int(sought.sum()), int((short & ~sought).sum())
        # (The one shingle of a short item would be found only in a text that is equal to it.)
        self._sets = sets._replace(size=np.where(short, 0, sets.size).astype(np.int32))
        self._seek(np.flatnonzero(sought))
        self._known = self._search.known
        if self._by_anchors:
            known = np.unique(np.concatenate(anchors))
            self._known = known, *heads_of(known)
        self._keys = _run_keys(self.tokens, asked.shingle.n) if asked.cut else None
        self._pool = pool

    def _seek(self, short: np.ndarray) -> None:
        """Take the items that are looked for: those whose sets have a size, and short ones."""
        self._short, begins = short, self.tokens.offsets.tolist()
        self._sequences = TokenSequences(
            [self.tokens.values[begins[i] : begins[i + 1]] for i in short.tolist()]
        )
        self._sizes = self._sets.size.astype(np.int64)
        self._search = ExactSearch(self._sets)

    def leave_out(self, items: np.ndarray) -> None:
        """Look for these no longer, int64[]."""
        size = self._sets.size.copy()
        size[items] = 0
        self._sets = self._sets._replace(size=size)
        self._seek(np.setdiff1d(self._short, items))

    @property
    def word_counts(self) -> np.ndarray:
        """int64[items]: words of each."""
        return np.diff(self.tokens.offsets)

    def is_short(self, item: int) -> bool:
        """Return whether an item is shorter than a shingle, and looked for as it is."""
        return bool(np.isin(item, self._short))

    def matches(
        self, corpus: InputCorpus, advance: Callable[[int], None]
    ) -> Iterator[ComparedPart]:
        """Yield the matches of a corpus that is not read yet, partition by partition."""

        def work(partition: Partition) -> tuple[int, list[int], pa.Table, MatchPairs, Stretches]:
            documents = corpus.read(partition)
            return partition.size, *corpus.about(partition, documents), *self._of(documents.text)

        partitions = (partition for _, partition in corpus.reader.partitions())
        for size, about, table, pairs, cut in self._pool.ordered(work, partitions):
            corpus.enter(about, table)
            advance(size)
            yield ComparedPart(corpus.counts[-1], corpus.ids_of(table), pairs, cut)

    def _words_of(self, texts: pa.LargeStringArray) -> Ragged:
        rows = (tokens for _, tokens in _tokens(self.words, texts))
        return joined(Ragged(tokens.values.copy(), tokens.offsets) for tokens in rows)

    def _of(self, texts: pa.LargeStringArray) -> tuple[MatchPairs, Stretches]:
        """Return the matches of some documents, and what would be cut, by their rows."""
        doc, item, by, share = self._pairs(texts)
        order = np.lexsort((item, doc))
        doc, item, by, share = doc[order], item[order], by[order], share[order]
        rows, row_of = np.unique(doc, return_inverse=True)
        matched: Any = texts.take(array_of(rows))
        tokens, n = self._words_of(matched), self.asked.shingle.n
        passage = np.empty((len(doc), 3), np.int64)
        pairs = np.stack([row_of, item], axis=1)
        online.longest_shared(
            tuple(tokens), tuple(self.tokens), pairs, n if self._of_words else 1, passage
        )
        if self.asked.by == "passage":
            kept = (passage[:, 0] >= n) | (by == ITEM)
            doc, item, by, share = doc[kept], item[kept], by[kept], share[kept]
            passage, row_of = passage[kept], row_of[kept]
        has = passage[:, 0] > 0
        ends = np.full((2, len(doc), 2), -1)
        ends[0, has] = characters(self.words, matched, row_of[has], passage[has][:, [1, 0]])
        ends[1, has] = characters(self.words, self.texts, item[has], passage[has][:, [2, 0]])
        text: Any = np.full(len(doc), None)
        if self.asked.texts:
            runs = zip(row_of[has].tolist(), *ends[0, has].T.tolist(), strict=True)
            text[has] = [matched[row].as_py()[first:last] for row, first, last in runs]
        text = pa.array(text, pa.large_string())
        words = np.ascontiguousarray(passage[:, 0])
        found = MatchPairs(doc, item, by, share, words, ends[0], ends[1], text)
        cut_out = self._stretches(matched, tokens, row_of, item)
        of = rows[cut_out.document].astype(np.uint64) << _BITS
        return found, cut_out._replace(position=of | cut_out.position & TOKEN)

    def _pairs(self, texts: pa.LargeStringArray) -> list[np.ndarray]:
        """Return document, item, how they match, and containment of all candidates."""
        nothing = np.empty(0, np.int64)
        found: list[tuple[np.ndarray, ...]] = [
            (nothing, nothing, np.empty(0, np.int8), np.empty(0))
        ]
        for first, units in _tokens(self.tokeniser, texts):
            if self._of_words:
                found.append(self._short_pairs(units, first))
            rows, shingles = self._possible(units)
            found += self._counted(shingles, first + rows)
        if not self._of_words and self.short:
            found += [self._short_pairs(*each[::-1]) for each in _tokens(self.words, texts)]
        return [np.concatenate(column) for column in zip(*found, strict=True)]

    def _possible(self, units: Ragged) -> tuple[np.ndarray, Ragged]:
        """Return the rows of documents that can have a shingle of an item, and their shingles."""
        there = np.empty(len(units.offsets) - 1, np.bool_)
        if self._by_anchors:
            anchors = anchors_of(units, self._length)
            with_anchors(anchors.keys, anchors.counts, self._known, there)
            rows = np.flatnonzero(there)
            return rows, self.tokeniser.shingles(taken(units, rows))
        shingles = self.tokeniser.shingles(units)
        counts = np.diff(shingles.offsets).astype(np.int32)
        with_anchors(shingles.values, counts, self._known, there)
        rows = np.flatnonzero(there)
        return rows, taken(shingles, rows)

    def _counted(self, shingles: Ragged, rows: np.ndarray) -> Iterator[tuple[np.ndarray, ...]]:
        """Yield pairs that have so many shingles in common as is asked for."""
        asked = self.asked
        sets = self.tokeniser.to_sets(shingles)
        minimum = asked.minimum if asked.by != "passage" else 1 / (1 << 40)
        contained = asked.by != "similarity"
        for found in self._search(sets, minimum, contained):
            doc, item, share = found.doc, found.query.astype(np.int64), found.similarity
            if not contained:
                # The sizes are integers: rounding restores the overlap.
                both = np.diff(sets.offsets)[doc] + self._sizes[item]
                share = np.rint(share * both / (1 + share)) / np.maximum(self._sizes[item], 1)
            yield rows[doc], item, np.full(len(doc), BY.index(asked.by), np.int8), share

    def _short_pairs(self, words: Ragged, first: int) -> tuple[np.ndarray, ...]:
        """Return the pairs of documents with the short items that they have."""
        hits = self._sequences(words)
        doc = np.searchsorted(words.offsets, hits.position, side="right") - 1
        pairs = np.unique(np.stack([first + doc, self._short[hits.sequence]], axis=1), axis=0)
        return *pairs.T, np.full(len(pairs), ITEM, np.int8), np.ones(len(pairs))

    def _stretches(
        self, texts: pa.LargeStringArray, tokens: Ragged, row_of: np.ndarray, item: np.ndarray
    ) -> Stretches:
        """Return the words of documents that are in a shingle of an item, or in a short item."""
        if self._keys is None or not len(row_of):
            return no_stretches()
        n, documents = self.asked.shingle.n, len(tokens.offsets) - 1
        order = np.lexsort((item, row_of))
        order = order[self._sizes[item[order]] > 0]
        begins = np.searchsorted(row_of[order], np.arange(documents + 1))
        first, latest = (np.full(len(tokens.values), NONE) for _ in range(2))
        online.positions_of_runs(
            (*tokens, _run_keys(tokens, n)),
            (0, documents),
            n,
            (*self.tokens, self._keys),
            (begins, item[order].astype(np.int32)),
            (first, latest, np.empty(len(first), np.int64)),
        )
        # Behind all items comes the document itself.
        runs = np.flatnonzero(first >> _BITS < np.uint64(len(self._sizes)))
        hits = self._sequences(tokens)
        begin = np.concatenate([runs, hits.position])
        size = np.concatenate([np.full(len(runs), n), self._sequences.lengths[hits.sequence]])
        doc = np.searchsorted(tokens.offsets, begin, side="right") - 1
        position = doc.astype(np.uint64) << _BITS | (begin - tokens.offsets[doc]).astype(np.uint64)
        position, size = union(position, size)
        spec = self.words.spec
        if spec.nfkc or spec.strip_accents:
            self._leave_shared(texts, tokens, position, size)
            position, size = position[size > 0], size[size > 0]
        doc = (position >> _BITS).astype(np.int64)
        runs_of = np.stack([(position & TOKEN).astype(np.int64), size], axis=1)
        where = characters(self.words, texts, doc, runs_of)
        return Stretches(position, size, where[:, 0].copy(), where[:, 1].copy())

    def _leave_shared(
        self, texts: pa.LargeStringArray, tokens: Ragged, position: np.ndarray, size: np.ndarray
    ) -> None:
        """Shorten stretches, in place, by words that share a character with one that stays."""
        counts = np.diff(tokens.offsets)
        of = np.repeat(np.arange(len(counts)), counts)
        each = np.arange(len(of)) - tokens.offsets[of]
        words = characters(self.words, texts, of, np.stack([each, np.ones_like(each)], axis=1))
        for row, at in enumerate(position.tolist()):
            document, first = divmod(at, int(TOKEN) + 1)
            here = words[tokens.offsets[document] : tokens.offsets[document + 1]]
            first, size[row] = apart(here, first, int(size[row]))
            position[row] = document << int(_BITS) | first


def _tokens(tokeniser: Tokeniser, texts: pa.LargeStringArray) -> Iterator[tuple[int, Ragged]]:
    """Yield first documents and the tokens from there on, valid until the next ones."""
    data, offsets = tokeniser.normalise(texts)
    for first, last in batches(offsets):
        yield first, tokeniser.tokens(data, offsets[first : last + 1])[0]


def _run_keys(tokens: Ragged, words: int) -> np.ndarray:
    keys = np.zeros(len(tokens.values), np.uint64)
    online.run_keys(*tokens, words, keys)
    return keys


@dataclass(frozen=True)
class CorpusMatches:
    """All matches of two corpora.

    Attributes:
        table: See `matches_of`.
        cut: The stretches to cut, if they were asked for, by positions of documents.
        contaminated: bool[documents]: whether a training document matches.
        closest: Of each of these the row of ``table`` with the highest containment: ``test_id`` and
            ``containment``.
        counts: Of the matches.
    """

    table: pa.Table
    cut: Stretches
    contaminated: np.ndarray
    closest: pa.Table
    counts: MatchCounts


def matches_of(
    train: InputCorpus,
    test: InputCorpus,
    items: Items,
    scratch: Scratch,
    advance: Callable[[int], None],
) -> CorpusMatches:
    """Find all matches of a corpus that is not read yet, and test items.

    What ``scratch`` has no memory for is in mapped files. ``advance`` is called with the bytes that
    were compared since.

    Returns:
        A table, by training document, then test item: ``train_doc`` and ``train_id``, ``test_doc``
        and ``test_id``; ``by``, one of `BY`; ``containment``; ``passage``, the words of the longest
        run that both have; ``train_start``, ``train_end``, ``test_start`` and ``test_end``, its
        characters, null where there is none; and ``passage_text``, if texts were asked for.
    """
    counts, done = MatchCounts(test), 0
    ids = test.ids()
    contaminated = [np.empty(0, np.bool_)]
    memory = min(scratch.left, _IN_MEMORY)
    cut = Spill([np.uint64, np.int64, np.int64, np.int64], 1, memory, scratch.disk)
    with (
        closing(cut),
        TableSpill(memory, scratch.disk) as tables,
        TableSpill(memory, scratch.disk) as best,
    ):
        for part in chain(items.matches(train, advance), _nothing(train)):
            pairs, here = part.pairs, np.zeros(part.documents, np.bool_)
            here[pairs.doc] = True
            contaminated.append(here)
            counts.add(pairs)
            table = _table(part, done, ids, items.asked.texts)
            tables.add(table)
            best.add(table.select(CLOSEST).take(array_of(_closest(pairs))))
            before = np.uint64(done) << _BITS
            stretches = part.cut._replace(position=part.cut.position + before)
            cut.add_divided(stretches, np.array([0, len(stretches.position)]))
            if cut.is_full:
                cut.flush(durable=False)
            done += part.documents
        stretches = Stretches(*cut.take(0, scratch.empty))
        marks = np.concatenate(contaminated)
        return CorpusMatches(tables.table(), stretches, marks, best.table(), counts)


def _nothing(train: InputCorpus) -> Iterator[ComparedPart]:
    """Yield a part without documents, which has the columns of the table if no other one does."""
    ids, numbers, ends = train.ids(), np.empty(0, np.int64), np.empty((0, 2), np.int64)
    by, shares, text = np.empty(0, np.int8), np.empty(0), pa.array([], pa.large_string())
    pairs = MatchPairs(numbers, numbers, by, shares, numbers, ends, ends, text)
    yield ComparedPart(0, ids, pairs, no_stretches())


def _table(part: ComparedPart, before: int, test_ids: Ids, texts: bool) -> pa.Table:
    """Return the table of some matches, see `matches_of`; ``before`` is the first position."""
    pairs = part.pairs
    columns: dict[str, Any] = {
        "train_doc": array_of(pairs.doc + before),
        "train_id": take_ids(part.ids, pairs.doc + (before if part.ids is None else 0)),
        "test_doc": array_of(pairs.item),
        "test_id": take_ids(test_ids, pairs.item),
        "by": pa.array(BY).take(array_of(pairs.by.astype(np.int64))),
        "containment": array_of(pairs.containment),
        "passage": array_of(pairs.passage),
    }
    for name, ends in (("train", pairs.in_train), ("test", pairs.in_test)):
        for column, end in enumerate(("start", "end")):
            values = np.ascontiguousarray(ends[:, column])
            columns[f"{name}_{end}"] = array_of(values, null=values < 0)
    if texts:
        columns["passage_text"] = pairs.text
    return pa.table(columns)


def _closest(pairs: MatchPairs) -> np.ndarray:
    """Return, of each document that matches, the row with the highest containment, int64[].

    Of equal ones it is that of the first test item.
    """
    order = np.lexsort((-pairs.containment, pairs.doc))
    return np.asarray(order[np.unique(pairs.doc[order], return_index=True)[1]])
