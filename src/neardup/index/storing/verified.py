"""Candidates to exact similarities: their stored form is fetched, and sets are compared."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from neardup.arrays import strings_of
from neardup.index.storing.bodies import (
    DocumentRow,
    Id,
    pack_sets,
    pack_texts,
    unpack_sets,
    unpack_text,
)
from neardup.index.storing.catalogue import Catalogue
from neardup.index.storing.snapshot import BucketPairs, Keep
from neardup.kernels.jaccard import Known, fill_bitmaps, keep_reachable, remember, slack_of
from neardup.match.verifying import make_sets, similarities, taken
from neardup.sketch.document_groups import without_groups
from neardup.sketch.texts import Ragged, joined
from neardup.sketch.tokenising import Tokeniser
from neardup.threads import Pool
from neardup.tuning import TUNING

#: Documents that are fetched at a time: few first, as one of them may be enough.
_FIRST, _MOST = 64, 4096
_WORDS = 8  # of a bitmap
_GROUP = 8  # bytes of the group of a document whose shingles are stored, which come first
#: Documents that a thread makes sets of.
_STEP = 256


class Matches(NamedTuple):
    """Pairs that reach a threshold.

    Attributes:
        row: int64[m]: rows that were asked about, ascending.
        doc: int64[m]: documents, ascending within a row.
        id: Their ids.
        similarity: float64[m]: exact.
        row_size: int64[m]: shingles of the row.
        doc_size: int64[m]: shingles of the document.
    """

    row: np.ndarray
    doc: np.ndarray
    id: list[Id]
    similarity: np.ndarray
    row_size: np.ndarray
    doc_size: np.ndarray


class Verifier:
    """Fetches documents and compares them.

    Args:
        catalogue: Where they are stored.
        tokeniser: Makes sets of texts.
        texts: Whether texts are stored; else sets of shingles.
        threads: Threads; None for all cores.
    """

    def __init__(
        self, catalogue: Catalogue, tokeniser: Tokeniser, texts: bool, threads: int | None
    ) -> None:
        self._catalogue, self._tokeniser, self._texts = catalogue, tokeniser, texts
        self.pool = Pool(threads)
        self.forget()

    def forget(self) -> None:
        """Forget all documents, since a transaction was given up whose numbers are used again."""
        # A document of a template is asked for again and again, and its bitmap nearly always says
        # that it is not similar enough. Pages that are not used take no memory. A number is never
        # given to another document, once it is committed.
        known = TUNING.known_bitmaps
        self._known = Known(np.zeros(known, np.uint64), np.zeros((known, _WORDS), np.uint64))

    def learn(self, docs: np.ndarray, sets: Ragged) -> None:
        """Remember sizes and bitmaps of documents, int64[n]."""
        remember(self._known, docs, sets.values, sets.offsets)

    def keeper(self, sets: Ragged, asked: np.ndarray, threshold: float) -> Keep:
        """Return a function that keeps pairs of a set and a document that may reach a threshold.

        Args:
            sets: Sets.
            asked: int64[n], ascending: the set of each row.
            threshold: Lowest similarity.
        """
        slack = slack_of(threshold)

        def keep(rows: np.ndarray, docs: np.ndarray) -> int:
            begin = sets.offsets[asked]
            size = (sets.offsets[asked + 1] - begin).astype(np.int32)
            bitmaps = np.empty((len(size), _WORDS), dtype=np.uint64)
            fill_bitmaps(sets.values, begin, size, True, bitmaps)
            return int(keep_reachable(size, bitmaps, self._known, slack, rows, docs))

        return keep

    def text_of(self, row: DocumentRow) -> str | None:
        """Return the text of a document, as it is compared; None where only shingles are stored."""
        return unpack_text(row.body).decode(errors="replace") if self._texts else None

    def bodies(self, texts: pa.LargeStringArray, sets: Sequence[Ragged]) -> list[bytes]:
        """Return the stored forms of texts: these, or their sets, behind the groups of these."""
        if self._texts:
            return pack_texts(texts)
        if not self._tokeniser.grouped:
            size = self._tokeniser.spec.hash_bytes
            return [body for part in sets for body in pack_sets(part, size)]
        # Where a group is mixed in, all 8 bytes of a shingle count.
        packed = [body for part in sets for body in pack_sets(part)]
        groups = without_groups(texts)[1].astype("<u8")
        return [group.tobytes() + body for group, body in zip(groups, packed, strict=True)]

    def stored_sets(self, bodies: Sequence[bytes]) -> tuple[Ragged, np.ndarray | None]:
        """Return sets that were stored, and the groups of their documents, if these have any."""
        if not self._tokeniser.grouped:
            return unpack_sets(bodies, self._tokeniser.spec.hash_bytes), None
        groups = np.frombuffer(b"".join(body[:_GROUP] for body in bodies), "<u8")
        return unpack_sets([body[_GROUP:] for body in bodies]), groups

    def is_same(self, row: DocumentRow, text: pa.LargeStringArray) -> bool:
        """Return whether a document has the text given, or its shingles where these are stored."""
        if self._texts:
            return unpack_text(row.body) == str(text[0].as_py()).encode()
        return row.body == self.bodies(text, [self._tokeniser.sets(text)])[0]

    def sets(self, rows: Sequence[DocumentRow]) -> Ragged:
        """Return the sets of shingles of some documents."""

        def make(low: int, high: int) -> Ragged:
            bodies = [row.body for row in rows[low:high]]
            if not self._texts:
                return self.stored_sets(bodies)[0]
            return self._tokeniser.sets(strings_of([unpack_text(body) for body in bodies]))

        found = self.pool.ranges(make, len(rows), _STEP)
        return found[0] if len(found) == 1 else joined(found)

    def matches(
        self,
        sets: Ragged,
        found: BucketPairs,
        threshold: float,
        first: bool,
        text: bytes | None = None,
    ) -> Matches:
        """Find which candidates reach a threshold.

        Args:
            sets: Sets of the rows that were asked about.
            found: Candidates; documents that are gone are left out.
            threshold: Lowest similarity.
            first: Only the first document of each row is asked for.
            text: UTF-8 of the text, where there is one row.
        """
        if not len(found.row):  # nearly always
            return _NONE
        if len(sets.offsets) == 2 and len(found.doc) <= _FIRST:
            rows = sorted(self._catalogue.fetch(found.doc.tolist()))
            one = len(rows) == 1 and self._texts and text is not None
            if one and unpack_text(rows[0].body) == text:  # as with most duplicates
                return _equal(rows[0], len(sets.values))
            return self._of_one(sets, rows, threshold, first)
        asked_sets, asked, back = sets, _FIRST_ROW, found.row
        if len(sets.offsets) > 2:
            asked, back = np.unique(found.row, return_inverse=True)
            asked_sets = taken(sets, asked)
        numbers, docs = back.astype(np.int32), found.doc
        if len(asked) > 1:
            order = np.argsort(docs, kind="stable")
            numbers, docs = numbers[order], docs[order]
        open_ = np.ones(len(asked), dtype=np.bool_)
        parts: list[Matches] = []
        low, step = 0, _FIRST if first else _MOST
        while low < len(docs):
            high = min(low + step, len(docs))
            high = int(np.searchsorted(docs, docs[high - 1], side="right"))
            part = numbers[low:high], docs[low:high]
            if first:
                part = tuple(values[open_[part[0]]] for values in part)  # type: ignore[assignment]
            if len(part[0]):
                parts.append(self._compared(asked_sets, *part, threshold))
                open_[parts[-1].row] = False
            low, step = high, min(4 * step, _MOST)
        return _sorted(parts, asked, first)

    def _of_one(
        self, asked_sets: Ragged, rows: list[DocumentRow], threshold: float, first: bool
    ) -> Matches:
        """Do `matches` with one set and few candidates; many calls of NumPy cost 1 us."""
        if not rows:  # removed since
            return _NONE
        stored = self.sets(rows)
        self.learn(np.array([row.doc for row in rows], dtype=np.int64), stored)
        sets = make_sets(joined((asked_sets, stored)))
        other = np.arange(1, len(rows) + 1, dtype=np.int32)
        similarity = similarities(sets, np.zeros_like(other), other, threshold, self.pool)
        reached = [i for i, value in enumerate(similarity.tolist()) if value >= threshold]
        if first:
            del reached[1:]
        size = sets.size.tolist()
        return Matches(
            np.zeros(len(reached), dtype=np.int64),
            np.array([rows[i].doc for i in reached], dtype=np.int64),
            [rows[i].id for i in reached],
            similarity[reached] if reached else similarity[:0],
            np.full(len(reached), size[0], dtype=np.int64),
            np.array([size[1 + i] for i in reached], dtype=np.int64),
        )

    def _compared(
        self, asked_sets: Ragged, numbers: np.ndarray, docs: np.ndarray, threshold: float
    ) -> Matches:
        distinct_docs = np.unique(docs) if len(docs) > 1 else docs
        rows = sorted(self._catalogue.fetch(distinct_docs.tolist()))
        there = np.array([row.doc for row in rows], dtype=np.int64)
        if len(there) < len(distinct_docs):  # removed since
            alive = np.isin(docs, there)
            numbers, docs = numbers[alive], docs[alive]
        count = len(asked_sets.offsets) - 1
        stored = self.sets(rows)
        self.learn(there, stored)
        sets = make_sets(joined([asked_sets, stored]))
        row = np.searchsorted(there, docs)
        other = (row + count).astype(np.int32)
        similarity = similarities(sets, numbers, other, threshold, self.pool)
        reached = np.flatnonzero(similarity >= threshold)
        return Matches(
            numbers[reached].astype(np.int64),
            docs[reached],
            [rows[i].id for i in row[reached].tolist()],
            similarity[reached],
            sets.size[numbers[reached]].astype(np.int64),
            sets.size[other[reached]].astype(np.int64),
        )


_NOWHERE = np.empty(0, np.int64)
_FIRST_ROW = np.zeros(1, np.int64)
_NONE = Matches(_NOWHERE, _NOWHERE, [], np.empty(0), _NOWHERE, _NOWHERE)


def _equal(row: DocumentRow, size: int) -> Matches:
    """Return the match of a text with a document that has the same text."""
    sizes = np.full(1, size, np.int64)
    return Matches(_FIRST_ROW, np.full(1, row.doc, np.int64), [row.id], np.ones(1), sizes, sizes)


def joined_matches(parts: Sequence[Matches]) -> Matches:
    """Return the matches of ranges of rows, concatenated."""
    row, doc, similarity, row_size, doc_size = (
        np.concatenate([getattr(part, name) for part in parts])
        for name in ("row", "doc", "similarity", "row_size", "doc_size")
    )
    return Matches(
        row, doc, [id_ for part in parts for id_ in part.id], similarity, row_size, doc_size
    )


def _sorted(parts: Sequence[Matches], asked: np.ndarray, first: bool) -> Matches:
    if not parts:
        return _NONE
    if len(parts) == 1 and len(asked) == 1 and not first:
        return parts[0]._replace(row=asked[parts[0].row])
    row, doc, ids, similarity, row_size, doc_size = joined_matches(parts)
    order = np.lexsort((doc, row))
    if first:
        new = np.ones(len(order), dtype=np.bool_)
        new[1:] = row[order][1:] != row[order][:-1]
        order = order[new]
    return Matches(
        asked[row[order]],
        doc[order],
        [ids[i] for i in order.tolist()],
        similarity[order],
        row_size[order],
        doc_size[order],
    )
