"""A corpus of which characters are cut: new texts, and a table of what went."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from neardup.arrays import array_of
from neardup.copied_passages.cuts.cutting import Cut, cut
from neardup.copied_passages.cuts.records import TextsOf, changer
from neardup.corpora.corpus import InputCorpus
from neardup.deduplication.reading import PartitionRows
from neardup.io.source import Records

#: Rows of a table that are in memory together.
_ROWS = 1 << 18


@dataclass(frozen=True)
class TextCuts:
    """The cuts in the documents of a corpus that was read.

    Attributes:
        corpus: The corpus.
        document: int64[stretches]: position of the document of each, ascending.
        start: int64[stretches]: first character, in the original text; ascending in a document.
        end: int64[stretches]: the one after the last.
        kept: bool[documents]: those that are written; the others are not cut.
        found: int64[stretches, 4]: of documents that were cut, the `Cut` of each stretch.
        mask: Text that replaces a stretch; may be empty.
        nfkc: Whether words are those of the normalised text.
        done: bool[documents]: those that were cut.
    """

    corpus: InputCorpus
    document: np.ndarray
    start: np.ndarray
    end: np.ndarray
    kept: np.ndarray
    found: np.ndarray
    mask: str = ""
    nfkc: bool = False
    done: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "done", np.zeros(len(self.kept), np.bool_))

    def changing(self) -> Callable[[PartitionRows, Records], Records]:
        """Return what cuts the records of documents; see `neardup.output.clean.Form`."""

        def read(selected: PartitionRows, rows: np.ndarray) -> list[str]:
            rows = rows if selected.rows is None else selected.rows[rows]
            return self._texts(selected, rows)

        def changed(selected: PartitionRows, texts_of: TextsOf) -> dict[int, str]:
            rows = self._rows(selected)
            if selected.rows is not None:
                rows = np.searchsorted(selected.rows, rows)
            asked: list[int] = rows.tolist()
            return dict(zip(asked, self._cut(selected, texts_of(asked)), strict=True))

        return changer(self.corpus.source, read, changed)

    def tables(self, ids: Any) -> Iterator[pa.Table]:
        """Yield the characters that were cut, with their offsets in the clean text.

        Documents that were not written, or by a process that was killed, are cut now.
        """
        ends = np.cumsum(np.array(self.corpus.counts, np.int64))
        for selected in self.corpus.reader.again(ends, self._missing()):
            for _ in self._cut(selected, self._texts(selected, self._rows(selected))):
                pass
        for low in range(0, max(1, len(self.document)), _ROWS):
            part = slice(low, low + _ROWS)
            of = self.document[part]
            here = self.kept[of]
            columns = self.found[part][here].T
            arrays = (array_of(np.ascontiguousarray(column)) for column in columns)
            taken = {"doc_id": ids.take(array_of(np.ascontiguousarray(of[here])))}
            yield pa.table(taken | dict(zip(Cut._fields, arrays, strict=True)))

    def _missing(self) -> np.ndarray:
        """Return int64[]: positions of kept documents that are still to be cut, ascending."""
        new = np.ones(len(self.document), np.bool_)
        np.not_equal(self.document[1:], self.document[:-1], out=new[1:])
        found = self.document[new]
        return np.asarray(found[self.kept[found] & ~self.done[found]])

    def _texts(self, selected: PartitionRows, rows: np.ndarray) -> list[str]:
        """Read the texts of some rows of a partition, int64[], ascending."""
        if not len(rows):
            return []
        texts: Any = self.corpus.reader.texts(selected._replace(rows=rows))
        return list(texts.to_pylist())

    def _stretches(self, selected: PartitionRows) -> slice:
        """Return the stretches of a partition."""
        bounds = [selected.first, selected.first + selected.documents]
        low, high = np.searchsorted(self.document, bounds).tolist()
        return slice(low, high)

    def _rows(self, selected: PartitionRows) -> np.ndarray:
        """Return int64[]: the rows of a partition that are cut, ascending."""
        found = np.unique(self.document[self._stretches(selected)])
        return np.asarray(found[self.kept[found]] - selected.first)

    def _cut(self, selected: PartitionRows, texts: list[str]) -> Iterator[str]:
        """Cut the documents of `_rows`; yield the new text of each."""
        here, every = selected.first + self._rows(selected), self._stretches(selected)
        of, low = self.document[every], every.start
        begins, ends = (np.searchsorted(of, here, side).tolist() for side in ("left", "right"))
        starts, stops = self.start[every].tolist(), self.end[every].tolist()
        for text, begin, end in zip(texts, begins, ends, strict=True):
            stretches = zip(starts[begin:end], stops[begin:end], strict=True)
            new, found = cut(text, stretches, self.mask, self.nfkc)
            self.found[low + begin : low + end] = found
            yield new
        self.done[here] = True
