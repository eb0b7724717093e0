"""A corpus of which characters are cut: new texts, and a table of what went."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from neardup.arrays import array_of
from neardup.copies.cuts.cutting import Cut, cut
from neardup.copies.cuts.records import changer
from neardup.corpora.corpus import InputCorpus
from neardup.engines.reading import PartitionRows
from neardup.io.source import Records

#: Rows of a table that are in memory together.
_ROWS = 1 << 18


def texts_of(corpus: InputCorpus, positions: np.ndarray) -> dict[int, str]:
    """Return the original texts of some documents of a corpus that was read, by position.

    Args:
        corpus: The corpus.
        positions: int64[], ascending.
    """
    reader, ends = corpus.reader, np.cumsum(corpus.counts)
    found: dict[int, str] = {}
    for selected in reader.again(ends, positions):
        assert selected.rows is not None
        texts: Any = reader.texts(selected).to_pylist()
        found |= zip((selected.first + selected.rows).tolist(), texts, strict=True)
    return found


@dataclass(frozen=True)
class TextCuts:
    """The cuts in the documents of a corpus that was read.

    Attributes:
        corpus: The corpus.
        document: int64[stretches]: position of the document of each, ascending.
        start: int64[stretches]: first character, in the original text; ascending in a document.
        end: int64[stretches]: the one after the last.
        kept: bool[documents]: those that are written; the others are not cut.
        mask: Text that replaces a stretch; may be empty.
    """

    corpus: InputCorpus
    document: np.ndarray
    start: np.ndarray
    end: np.ndarray
    kept: np.ndarray
    mask: str = ""

    def changing(self) -> Callable[[PartitionRows, Records], Records]:
        """Return what cuts the records of documents; see `neardup.output.clean.Form`."""

        def changed(selected: PartitionRows) -> dict[int, str]:
            texts = {position: text for position, text, _ in self._cut(selected)}
            if selected.rows is None:
                return {position - selected.first: text for position, text in texts.items()}
            rows = np.searchsorted(selected.rows, np.array([*texts], np.int64) - selected.first)
            return dict(zip(rows.tolist(), texts.values(), strict=True))

        return changer(self.corpus.reader.source, changed)

    def tables(self, ids: Any) -> Iterator[pa.Table]:
        """Yield the characters that were cut, with their offsets in the clean text."""
        corpus = self.corpus
        ends = np.cumsum(np.array(corpus.counts, np.int64))
        names = ("start", "end", "at", "inserted")

        def table(rows: np.ndarray) -> pa.Table:
            of, *columns = (array_of(np.ascontiguousarray(column)) for column in rows.T)
            return pa.table({"doc_id": ids.take(of)} | dict(zip(names, columns, strict=True)))

        waiting, empty = np.empty((0, 5), np.int64), True
        for selected in corpus.reader.again(ends, self._documents()):
            found = [(at, *row) for at, _, cuts in self._cut(selected) for row in cuts]
            rows = np.array(found, np.int64).reshape(-1, 5)
            waiting = np.concatenate([waiting, rows])
            while len(waiting) >= _ROWS:
                yield table(waiting[:_ROWS])
                waiting, empty = waiting[_ROWS:], False
        if len(waiting) or empty:
            yield table(waiting)

    def _documents(self) -> np.ndarray:
        """Return int64[]: positions of the documents that are cut and kept, ascending."""
        new = np.ones(len(self.document), np.bool_)
        np.not_equal(self.document[1:], self.document[:-1], out=new[1:])
        found = self.document[new]
        return np.asarray(found[self.kept[found]])

    def _cut(self, selected: PartitionRows) -> Iterator[tuple[int, str, list[Cut]]]:
        """Yield position, new text and cuts of those among some documents that change."""
        first = selected.first
        bounds = [first, first + selected.documents]
        low, high = np.searchsorted(self.document, bounds).tolist()
        of = self.document[low:high]
        here = np.unique(of)
        here = here[self.kept[here]]
        if not len(here):
            return
        texts = self.corpus.reader.texts(selected._replace(rows=here - first))
        begins, ends = (np.searchsorted(of, here, side).tolist() for side in ("left", "right"))
        for row, position in enumerate(here.tolist()):
            rows = slice(low + begins[row], low + ends[row])
            stretches = zip(self.start[rows].tolist(), self.end[rows].tolist(), strict=True)
            yield position, *cut(texts[row].as_py(), stretches, self.mask)
