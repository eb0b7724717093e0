"""Which documents of a training corpus contain a test item, or a passage of it; exactly.

The test items are in memory, and the training corpus, of any size, is read once. It is the question
of copied passages with test items as the earlier documents: anchors of runs rule out documents, and
the tokens of runs decide which words are cut. But all items that have a run are asked for, not only
its first and latest position, and how many of an item's shingles a document has: these are counted.
Items shorter than a shingle are looked for word by word, as they are.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, cast

import numpy as np
import pyarrow as pa

from neardup.arrays import array_of
from neardup.copies.cuts.cutting import apart
from neardup.copies.cuts.stretches import Stretches, no_stretches, union
from neardup.corpora.corpus import InputCorpus
from neardup.engines.identifiers import take_ids
from neardup.inspect.exact_search import ExactSearch, heads_of
from neardup.io.source import Documents, Partition
from neardup.kernels.jaccard import Sets
from neardup.kernels.passages import online
from neardup.kernels.passages.anchoring import with_anchors
from neardup.kernels.passages.positions import NONE, TOKEN
from neardup.match.verifying import make_sets, taken
from neardup.sketch.run_anchors import RunLength, anchors_of
from neardup.sketch.sequences import TokenSequences
from neardup.sketch.spans import characters
from neardup.sketch.texts import Ragged, as_text, joined
from neardup.sketch.tokenising import Tokeniser, batches
from neardup.spec import ShingleSpec
from neardup.threads import Pool

#: How a document and an item match.
BY = ("containment", "similarity", "passage", "item")
_ITEM = BY.index("item")
_BITS = np.uint64(32)
#: Shorter runs have so many anchors that their own hashes rule out documents as well.
_ANCHORED = 8


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
        self._of_words, self._length = asked.shingle.unit == "word", RunLength(asked.shingle.n)
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
        #: The words of all items.
        self.tokens, self.texts = joined(tokens), cast(Any, pa.concat_arrays(texts))
        sets = make_sets(joined(parts))
        del tokens, parts
        short = np.concatenate(sizes) < asked.shingle.n
        words = self.word_counts
        sought = short & (words >= asked.min_words)
        #: Items shorter than a shingle that are looked for as they are, and those that are not.
        self.short, self.too_short = int(sought.sum()), int((short & ~sought).sum())
        self._short = np.flatnonzero(sought)
        begins = self.tokens.offsets.tolist()
        self._sequences = TokenSequences(
            [self.tokens.values[begins[i] : begins[i + 1]] for i in self._short.tolist()]
        )
        # (The one shingle of a short item would be found only in a text that is equal to it.)
        counted_sizes = np.where(short, 0, sets.size).astype(np.int32)
        self._sizes = counted_sizes.astype(np.int64)
        self._search = ExactSearch(Sets(sets.values, sets.begin, counted_sizes, sets.bitmaps))
        self._known = self._search.known
        if self._by_anchors:
            known = np.unique(np.concatenate(anchors))
            self._known = known, *heads_of(known)
        self._keys = _run_keys(self.tokens, asked.shingle.n) if asked.cut else None
        self._pool = pool

    @property
    def word_counts(self) -> np.ndarray:
        """int64[items]: words of each."""
        return np.diff(self.tokens.offsets)

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
            corpus.enter(*corpus.about(partition, documents))
            before = np.uint64(done) << _BITS
            yield found._replace(doc=found.doc + done), cut._replace(position=cut.position + before)
            done += len(documents.text)

    def _words_of(self, texts: pa.LargeStringArray) -> Ragged:
        rows = (tokens for _, tokens in _tokens(self.words, texts))
        return joined(Ragged(tokens.values.copy(), tokens.offsets) for tokens in rows)

    def _of(self, texts: pa.LargeStringArray) -> tuple[_Pairs, Stretches]:
        """Return the matches of some documents, and what would be cut, by their rows."""
        doc, item, by, share = self._pairs(texts)
        rows, row_of = np.unique(doc, return_inverse=True)
        matched: Any = texts.take(array_of(rows))
        tokens, n = self._words_of(matched), self.asked.shingle.n
        passage = np.empty((len(doc), 3), np.int64)
        pairs = np.stack([row_of, item], axis=1)
        online.longest_shared(
            tuple(tokens), tuple(self.tokens), pairs, n if self._of_words else 1, passage
        )
        if self.asked.by == "passage":
            kept = (passage[:, 0] >= n) | (by == _ITEM)
            doc, item, by, share = doc[kept], item[kept], by[kept], share[kept]
            passage, row_of = passage[kept], row_of[kept]
        where = np.full((len(doc), 2), -1)
        has = passage[:, 0] > 0
        where[has] = characters(self.words, matched, row_of[has], passage[has][:, [1, 0]])
        text = np.full(len(doc), None)
        if self.asked.texts:
            cut = zip(row_of[has].tolist(), *where[has].T.tolist(), strict=True)
            text[has] = [matched[row].as_py()[first:last] for row, first, last in cut]
        found = _Pairs(doc, item, by, share, passage, where, text)
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
        return *pairs.T, np.full(len(pairs), _ITEM, np.int8), np.ones(len(pairs))

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
    cuts = (no_stretches(), *(cut for _, cut in parts))
    cut = Stretches(*(np.concatenate(column) for column in zip(*cuts, strict=True)))
    return Matches(pa.table(columns), cut)


def closest(matches: pa.Table) -> pa.Table:
    """Return, of each training document that matches, the row with the highest containment.

    Of equal ones it is that of the first test item.
    """
    doc, share = (matches.column(name).to_numpy() for name in ("train_doc", "containment"))
    order = np.lexsort((-share, doc))
    return matches.take(array_of(order[np.unique(doc[order], return_index=True)[1]]))
