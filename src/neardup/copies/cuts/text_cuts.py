"""A corpus of which characters are cut: new texts, and a table of what went."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from neardup.copies.cuts.cutting import Cut, cut
from neardup.copies.cuts.records import changer
from neardup.corpora.corpus import InputCorpus
from neardup.io.source import Records

#: Documents whose texts are in memory together.
_TOGETHER = 10_000


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

    @property
    def documents(self) -> np.ndarray:
        """int64[]: positions of the documents that are cut and kept, ascending."""
        found = np.unique(self.document)
        return np.asarray(found[self.kept[found]])

    def cut(
        self, positions: np.ndarray, text_of: Mapping[int, str]
    ) -> dict[int, tuple[str, list[Cut]]]:
        """Return the new texts of documents that change, and the cuts, by position."""
        found = {}
        for position in positions.tolist():
            low, high = np.searchsorted(self.document, [position, position + 1]).tolist()
            if high > low:
                ends = (side[low:high].tolist() for side in (self.start, self.end))
                found[position] = cut(text_of[position], zip(*ends, strict=True), self.mask)
        return found

    def changing(self) -> Callable[[np.ndarray, Records], Records]:
        """Return what cuts the records of documents; see `neardup.output.clean.Form`."""

        def changed(positions: np.ndarray) -> dict[int, str]:
            here = np.intersect1d(positions, self.documents)
            return {p: new for p, (new, _) in self.cut(here, texts_of(self.corpus, here)).items()}

        return changer(self.corpus.reader.source, changed)

    def table(self, ids: Any) -> pa.Table:
        """Return the characters that were cut, with their offsets in the clean text."""
        documents = self.documents
        of: list[int] = []
        cuts: list[Cut] = []
        for low in range(0, len(documents), _TOGETHER):
            batch = documents[low : low + _TOGETHER]
            for position, (_, rows) in self.cut(batch, texts_of(self.corpus, batch)).items():
                of += [position] * len(rows)
                cuts += rows
        columns = zip(*cuts, strict=True) if cuts else ((),) * 4
        names = ("start", "end", "at", "inserted")
        arrays = [pa.array(values, pa.int64()) for values in columns]
        return pa.table(
            {"doc_id": ids.take(pa.array(of, pa.int64()))} | dict(zip(names, arrays, strict=True))
        )
