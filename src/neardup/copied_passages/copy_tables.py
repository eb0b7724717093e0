"""Tables of the passages found."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from neardup.arrays import array_of, ragged_rows, strings_of
from neardup.copied_passages.building import Bridges, Largest
from neardup.copied_passages.finding import FoundPassages, Inputs
from neardup.copied_passages.offsets import Offsets, in_input, key_of
from neardup.copied_passages.passage_spec import PassageSpec
from neardup.deduplication.documents.metadata import joined
from neardup.errors import ColumnError
from neardup.frame.command import Each
from neardup.io.source import Partition

_DOCUMENT = np.uint64(32)
#: Passages that are looked at together, and characters of texts.
_STEP, _CHARACTERS = 1 << 16, 1 << 24


def ids_of(inputs: Inputs) -> tuple[Any, Any]:
    """Return the ids of the new documents, and of all, the old ones first, in one type."""
    given: list[Any] = [corpus.ids() for corpus in inputs.all]
    counts = [corpus.documents for corpus in inputs.all]
    found: list[Any] = [
        pa.chunked_array([array_of(np.arange(count))]) if ids is None else ids
        for ids, count in zip(given, counts, strict=True)
    ]
    if len(found) == 1:
        return found[0], found[0]
    try:
        every = joined([pa.table({"id": ids}) for ids in found]).column(0)
    except ColumnError:  # of types that have nothing in common, such as numbers and bytes
        every = pa.chunked_array([c for ids in found for c in ids.cast(pa.large_string()).chunks])
    return found[-1], every


def _document(position: np.ndarray) -> np.ndarray:
    return (position >> _DOCUMENT).astype(np.int64)


class PassageRows(NamedTuple):
    """Passages in the order of the input, with positions there."""

    order: np.ndarray  # int64[passages]: into `Passages`
    position: np.ndarray  # uint64[passages]
    last: np.ndarray  # uint64[passages]: of the last word
    source: np.ndarray  # uint64[passages]
    source_last: np.ndarray  # uint64[passages]
    origin: np.ndarray  # uint64[passages]

    @classmethod
    def of(cls, found: FoundPassages, order: np.ndarray) -> PassageRows:
        """Return some passages; ``order``, int64[], says which."""
        passages = found.passages
        more = (passages.words[order] - 1).astype(np.uint64)
        columns = (passages.position, passages.source, passages.origin)
        position, source, origin = (in_input(found, column[order]) for column in columns)
        return cls(order, position, position + more, source, source + more, origin)

    def asked(self) -> list[np.ndarray]:
        """Return what `Offsets` is asked for."""
        return [
            key_of(self.position, False),
            key_of(self.last, True),
            key_of(self.source, False),
            key_of(self.source_last, True),
            key_of(self.origin, False),
        ]


#: Keys that `Rows.asked` has for each passage.
ASKED = 5


def in_input_order(found: FoundPassages, position: np.ndarray) -> Iterator[np.ndarray]:
    """Yield int64[]: rows in the order of the input, some at a time.

    ``position``, uint64[rows], ascending, is by number of the document.
    """
    total = len(position)
    if bool(np.all(found.numbers[:-1] < found.numbers[1:])):
        for low in range(0, total, _STEP):
            yield np.arange(low, min(low + _STEP, total))
        return
    waiting = np.empty(0, np.int64)
    for low in range(0, len(found.numbers), _STEP):
        limits = found.numbers[low : low + _STEP].astype(np.uint64) << _DOCUMENT
        begins = np.searchsorted(position, limits)
        counts = np.searchsorted(position, limits + (np.uint64(1) << _DOCUMENT)) - begins
        waiting = np.concatenate([waiting, ragged_rows(begins, counts)])
        while len(waiting) >= _STEP:
            yield waiting[:_STEP]
            waiting = waiting[_STEP:]
    if len(waiting):
        yield waiting


def rows_of(found: FoundPassages) -> Iterator[PassageRows]:
    """Yield all passages in the order of the input, some at a time."""
    for order in in_input_order(found, found.passages.position):
        yield PassageRows.of(found, order)


@dataclass
class PassageTable:
    """Makes the rows of the table of passages, some at a time."""

    found: FoundPassages
    offsets: Offsets
    inputs: Inputs
    bridged: Bridges | None  # passages that are joined, where that is asked for

    def __post_init__(self) -> None:
        self._new_ids, self._every = ids_of(self.inputs)

    def every(self, each: Each = map) -> Iterator[pa.Table]:
        """Yield all rows, in the order of the input; at least one table.

        ``each`` calls a function with many values, in order: perhaps in threads.
        """
        batches = rows_of(self.found)
        first = next(batches, None)
        first = PassageRows.of(self.found, np.empty(0, np.int64)) if first is None else first
        yield from each(self.of, chain([first], batches))

    def of(self, rows: PassageRows) -> pa.Table:
        """Return a row for each passage, in the order of the documents, then of characters."""
        passages, order, old = self.found.passages, rows.order, self.inputs.old_documents
        document, source = _document(rows.position), _document(rows.source)
        characters = (self.offsets.of(k) for k in rows.asked())
        start, end, source_start, source_end, origin_start = characters
        kind = np.where(passages.common[order], 2, np.where(source == document, 1, 0))
        names = strings_of([b"copy", b"within", b"boilerplate"]).cast(pa.string())
        columns: dict[str, Any] = {
            "doc_id": self._new_ids.take(array_of(document - old)),
            "start": array_of(start),
            "end": array_of(end),
            "words": array_of(passages.words[order]),
            "source_id": self._every.take(array_of(source)),
            "source_start": array_of(source_start),
            "source_end": array_of(source_end),
            "origin_id": self._every.take(array_of(_document(rows.origin))),
            "origin_start": array_of(origin_start),
            "documents": array_of(passages.documents[order]),
            "kind": names.take(array_of(kind)),
        }
        if self.inputs.old is not None:
            columns["in_old"] = array_of(source < old)
            columns["origin_in_old"] = array_of(_document(rows.origin) < old)
        if self.bridged is not None:
            number = self.bridged.number[order]
            columns["bridge"] = array_of(number, null=number < 0)
        return pa.table(columns)


class DocumentTable:
    """Makes the rows of the table of documents, some at a time.

    Args:
        found: Of all documents.
        inputs: Them.
        spec: What counts as copied.
        kept: bool[documents], the new ones, in the order of the input.
        largest: The source that each has most words from.
        bridged: Passages that are joined, where that is asked for.
    """

    def __init__(
        self,
        found: FoundPassages,
        inputs: Inputs,
        spec: PassageSpec,
        kept: np.ndarray,
        largest: Largest,
        bridged: Bridges | None = None,
    ) -> None:
        self._found, self._inputs, self._spec, self._kept = found, inputs, spec, kept
        self._largest = largest
        self._new_ids, self._every = ids_of(inputs)
        self._changed: np.ndarray | None = None
        if bridged is not None:
            self._changed = np.zeros(len(found.tokens), np.int64)
            for low in range(0, len(bridged.changed), _STEP):
                rows = slice(low, low + _STEP)
                of = _document(found.passages.position[rows])
                np.add.at(self._changed, of, bridged.changed[rows])

    def every(self, each: Each = map) -> Iterator[pa.Table]:
        """Yield a row for each document, in the order of the input; at least one table."""
        for low in range(0, max(1, len(self._kept)), _STEP):
            positions = np.arange(low, min(low + _STEP, len(self._kept)))
            yield self.of(positions, self._new_ids.slice(low, len(positions)))

    def sizes(self) -> Iterator[pa.Table]:
        """Yield columns documents (1), words and copied_words, int64, as `every` has its rows.

        With boilerplate boilerplate_words, too.
        """
        old = self._inputs.old_documents
        for low in range(0, max(1, len(self._kept)), _STEP):
            of = self._found.numbers[old + low : old + low + _STEP]
            counts = self._found.counts
            columns: tuple[np.ndarray, ...]
            columns = (np.ones(len(of)), self._found.tokens[of], counts.copied[of])
            names = ["documents", "words", "copied_words"]
            if self._spec.boilerplate:
                columns, names = (*columns, counts.common[of]), [*names, "boilerplate_words"]
            arrays = (array_of(values.astype(np.int64)) for values in columns)
            yield pa.table(dict(zip(names, arrays, strict=True)))

    def of(self, positions: np.ndarray, ids: Any = None) -> pa.Table:
        """Return a row for each of some new documents.

        Args:
            positions: int64[], in the input.
            ids: Their ids, if they are known.
        """
        found, old = self._found, self._inputs.old_documents
        of = found.numbers[old + positions]
        words, copied = (
            values[of].astype(np.int64) for values in (found.tokens, found.counts.copied)
        )
        source = self._largest.source[of]
        position = np.where(source >= 0, found.positions[source], 0) if len(of) else source
        columns: dict[str, Any] = {
            "doc_id": self._new_ids.take(array_of(positions)) if ids is None else ids,
            "words": array_of(words),
            "copied_words": array_of(copied),
            "copied_share": array_of(copied / np.maximum(words, 1)),
            "source_id": self._every.take(array_of(position, null=source < 0)),
            "words_from_source": array_of(self._largest.words[of]),
            "kept": array_of(self._kept[positions]),
        }
        if self._inputs.old is not None:
            columns["in_old"] = array_of(position < old, null=source < 0)
        if self._spec.boilerplate:
            columns["boilerplate_words"] = array_of(found.counts.common[of].astype(np.int64))
        if self._changed is not None:
            columns["changed_words"] = array_of(self._changed[of])
        return pa.table(columns)


class _Texts(NamedTuple):
    """Different texts of boilerplate."""

    # Equal texts have equal characters at their sources; hashes of their words say which.
    text: np.ndarray  # uint64[texts]: hash, ascending
    words: np.ndarray  # int64[texts]
    passages: np.ndarray  # int64[texts]: how many have it
    documents: np.ndarray  # int64[texts]: that have it, at most
    source: np.ndarray  # uint64[texts]: the first one in the order of the input

    @classmethod
    def none(cls) -> _Texts:
        return cls(*(np.empty(0, kind) for kind in (np.uint64, *[np.int64] * 3, np.uint64)))

    @classmethod
    def of(cls, found: FoundPassages, order: np.ndarray) -> _Texts:
        """Return those of some passages; ``order``, int64[], says which."""
        passages, source = found.passages, in_input(found, found.passages.source[order])
        count = np.ones(len(order), np.int64)
        columns = passages.words[order], count, passages.documents[order]
        return cls(passages.text[order], *columns, source).merged(cls.none())

    def merged(self, others: _Texts) -> _Texts:
        """Return these and others, each once."""
        text, words, count, documents, source = map(np.concatenate, zip(self, others, strict=True))
        text, first, number = np.unique(text, return_index=True, return_inverse=True)
        total, most = np.zeros(len(text), np.int64), np.zeros(len(text), np.int64)
        least = np.full(len(text), np.iinfo(np.uint64).max)
        np.add.at(total, number, count)
        np.maximum.at(most, number, documents)
        np.minimum.at(least, number, source)
        return _Texts(text, words[first], total, most, least)


def boilerplate_table(
    found: FoundPassages, offsets: Offsets, inputs: Inputs, with_text: bool
) -> Iterator[pa.Table]:
    """Yield a row for each text of boilerplate, those first that take most words in all."""
    _, every = ids_of(inputs)
    texts = _Texts.none()
    for low in range(0, len(found.passages.position), _STEP):
        order = low + np.flatnonzero(found.passages.common[low : low + _STEP])
        if len(order):
            texts = _Texts.of(found, order).merged(texts)
    _, words, count, documents, source = texts
    # The first of the sources, in the order of the input.
    best = np.lexsort((source, -words * (count + 1)))
    last = source + (words - 1).astype(np.uint64)
    columns: dict[str, Any] = {
        "words": array_of(words[best]),
        "documents": array_of(documents[best]),
        "occurrences": array_of(count[best] + 1),
        "doc_id": every.take(array_of(_document(source)[best])),
        "start": array_of(offsets.of(key_of(source, False))[best]),
        "end": array_of(offsets.of(key_of(last, True))[best]),
    }
    if inputs.old is not None:
        columns["in_old"] = array_of(_document(source)[best] < inputs.old_documents)
    table = pa.table(columns)
    if not with_text:
        yield table
        return
    document = _document(source)[best]
    start, end = (np.asarray(columns[name]) for name in ("start", "end"))
    step = np.cumsum(end - start) // _CHARACTERS
    bounds = [0, *(np.flatnonzero(np.diff(step)) + 1).tolist(), len(best)]
    for low, high in pairwise(bounds):
        rows = slice(low, high)
        strings = _texts_at(inputs, document[rows], start[rows], end[rows])
        yield table.slice(low, high - low).append_column("text", strings)


def _texts_at(
    inputs: Inputs, documents: np.ndarray, start: np.ndarray, end: np.ndarray
) -> pa.LargeStringArray:
    """Return ranges of characters of documents, int64[n], by their positions: old ones first."""
    out, first = [b""] * len(documents), 0
    for corpus in inputs.all:
        rows = np.flatnonzero((documents >= first) & (documents < first + corpus.documents))
        positions, of = np.unique(documents[rows] - first, return_inverse=True)
        order = np.argsort(of, kind="stable")
        rows, ends = rows[order], np.cumsum(np.bincount(of, minlength=len(positions))).tolist()
        texts = chain.from_iterable(corpus.input().at(positions).visit(_strings))
        for text, low, high in zip(texts, [0, *ends], ends, strict=False):
            for row in rows[low:high].tolist():
                out[row] = text[start[row] : end[row]].encode()
        first += corpus.documents
    return strings_of(out)


def _strings(partition: Partition, rows: np.ndarray, count: int) -> list[str]:
    found: list[Any] = partition.texts(rows, count).to_pylist()
    return found


def counts_of(found: FoundPassages, kept: np.ndarray, boilerplate: bool) -> dict[str, int]:
    """Return totals that add up: words are novel, copied or boilerplate.

    ``kept`` is bool[documents], the new ones, in the order of the input; ``boilerplate`` whether it
    was looked for.
    """
    old = len(found.tokens) - len(kept)
    # Old documents are the first in keep order, too.
    words, copied = (
        int(each[old:].sum(dtype=np.int64)) for each in (found.tokens, found.counts.copied)
    )
    common = int(found.counts.common[old:].sum(dtype=np.int64)) if boilerplate else 0
    passages, within = found.passages, 0
    for low in range(0, len(passages.position), _STEP):
        rows = slice(low, low + _STEP)
        same = _document(passages.position[rows]) == _document(passages.source[rows])
        within += int(np.count_nonzero(same & ~passages.common[rows]))
    return {
        "documents": len(kept),
        "documents_with_copies": int(np.count_nonzero(found.counts.copied[old:])),
        "words": words,
        "novel_words": words - copied - common,
        "copied_words": copied,
        "boilerplate_words": common,
        "passages": len(passages.position),
        "passages_within": within,
        "kept": int(kept.sum()),
    }
