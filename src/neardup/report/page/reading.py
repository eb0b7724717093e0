"""What a page needs of the texts themselves: lengths of all, and some of them with their sets."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow.compute as pc

from neardup.core.shingle import Ragged, Stemmer, shingle_sets, text_buffers
from neardup.core.verify import ShingleSets
from neardup.corpus import Documents
from neardup.run.finished import FinishedRun

__all__ = ["Excerpts", "Lengths", "excerpts", "lengths"]


class Lengths(NamedTuple):
    """How long the texts are.

    Attributes:
        size: int64[documents], bytes of UTF-8.
        characters: int64[documents], code points.
    """

    size: np.ndarray
    characters: np.ndarray


class Excerpts(NamedTuple):
    """The beginnings of some texts, and their whole shingle sets.

    Attributes:
        texts: One for each document, cut where it is longer than asked for.
        sets: In the same order.
    """

    texts: list[str]
    sets: ShingleSets


def lengths(run: FinishedRun, threads: int | None = None) -> Lengths:
    """Go through all texts once; some seconds for each gigabyte.

    Raises:
        InputError: The input has changed, or could be read once only.
    """

    def work(documents: Documents) -> tuple[np.ndarray, np.ndarray]:
        _, offsets = text_buffers(documents.text)
        counts = pc.utf8_length(documents.text).to_numpy(zero_copy_only=False)
        return np.diff(offsets)[: len(counts)], counts

    parts = run.visit(np.arange(run.documents), work, threads)
    return Lengths(
        *(np.concatenate(column).astype(np.int64) for column in zip(*parts, strict=True))
    )


def excerpts(run: FinishedRun, docs: np.ndarray, most: int, threads: int | None = None) -> Excerpts:
    """Read some documents; long texts are never held as a whole, except one chunk at a time.

    Args:
        run: The run.
        docs: int[], ascending: positions.
        most: Characters of each text that are wanted.
        threads: Threads.

    Raises:
        InputError: The input has changed, or could be read once only.
    """
    shingle = run.spec.shingle
    stemmer = None if shingle.stem is None else Stemmer(shingle.stem, shingle.keep_case)

    def work(documents: Documents) -> tuple[list[str], Ragged]:
        begin = pc.utf8_slice_codeunits(documents.text, 0, most)
        return begin.to_pylist(), shingle_sets(documents.text, shingle, stemmer)

    texts: list[str] = []
    values, sizes = [np.zeros(0, dtype=np.uint64)], [np.zeros(0, dtype=np.int64)]
    for some, sets in run.visit(docs, work, threads):
        texts += some
        values.append(sets.values)
        sizes.append(np.diff(sets.offsets))
    offsets = np.concatenate([[0], np.cumsum(np.concatenate(sizes))])
    return Excerpts(texts, ShingleSets.of(Ragged(np.concatenate(values), offsets)))
