"""A corpus of which characters are cut: new texts, and a table of what went."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
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
        found: int64[stretches, 4]: of documents that were cut, the `Cut` of each stretch.
        mask: Text that replaces a stretch; may be empty.
        done: bool[documents]: those that were cut.
    """

    corpus: InputCorpus
    document: np.ndarray
    start: np.ndarray
    end: np.ndarray
    kept: np.ndarray
    found: np.ndarray
    mask: str = ""
    done: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "done", np.zeros(len(self.kept), np.bool_))

    def changing(self) -> Callable[[PartitionRows, Records], Records]:
        """Return what cuts the records of documents; see `neardup.output.clean.Form`."""

        def changed(selected: PartitionRows) -> dict[int, str]:
            texts = dict(self._cut(selected))
            if selected.rows is None:
                return {position - selected.first: text for position, text in texts.items()}
            rows = np.searchsorted(selected.rows, np.array([*texts], np.int64) - selected.first)
            return dict(zip(rows.tolist(), texts.values(), strict=True))

        return changer(self.corpus.reader.source, changed)

    def tables(self, ids: Any) -> Iterator[pa.Table]:
        """Yield the characters that were cut, with their offsets in the clean text.

        Documents that were not written, or by a process that was killed, are cut now.
        """
        ends = np.cumsum(np.array(self.corpus.counts, np.int64))
        for selected in self.corpus.reader.again(ends, self._missing()):
            for _ in self._cut(selected):
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

    def _cut(self, selected: PartitionRows) -> Iterator[tuple[int, str]]:
        """Cut those among some documents that change; yield position and new text of each."""
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
            text, self.found[rows] = cut(texts[row].as_py(), stretches, self.mask)
            self.done[position] = True
            yield position, text
