"""What is like some documents of a sample, by exact search of the whole sample."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from neardup.core.search import Index
from neardup.core.shingle import shingle_sets
from neardup.core.threads import Pool
from neardup.run.parts import Recipe
from neardup.run.sampling import Sample

__all__ = ["Partners", "partners"]

#: Seconds after which no more documents are searched.
_SECONDS = 2.0


@dataclass(frozen=True)
class Partners:
    """Pairs of different documents.

    Attributes:
        doc: int32[pairs]: position in the sample.
        query: int32[pairs]: which of the documents that were asked about.
        similarity: float64[pairs]: exact.
    """

    doc: np.ndarray
    query: np.ndarray
    similarity: np.ndarray


def partners(
    sample: Sample,
    queries: np.ndarray,
    docs: np.ndarray,
    recipe: Recipe,
    least: float,
    pool: Pool,
) -> tuple[Partners, int]:
    """Search a sample for what is like some of its documents.

    Args:
        sample: The sample.
        queries: int32[]: documents that are asked about.
        docs: int32[], ascending: those that are searched.
        recipe: What documents become.
        least: Similarity from which on a pair is told.
        pool: Threads.

    Returns:
        (pairs, documents that were searched: all that can be within two seconds).
    """
    index = Index(sample.sets_of(queries, recipe, pool))
    ends = np.cumsum([0, *map(len, sample.texts)])
    bounds = np.searchsorted(docs, ends)
    parts: list[Partners] = []
    against = 0
    stop = time.perf_counter() + _SECONDS

    def work(block: int) -> tuple[int, list[Partners]]:
        mine = docs[bounds[block] : bounds[block + 1]]
        text = sample.texts[block].take((mine - ends[block]).astype(np.int64))
        sets = shingle_sets(text, recipe.shingle, recipe.stemmer)
        out = []
        for part in index.search(sets, least):
            doc = mine[part.doc]
            other = doc != queries[part.query]
            out.append(Partners(doc[other], part.query[other], part.similarity[other]))
        return len(mine), out

    for count, found in pool.ordered(work, range(len(sample.texts))):
        against += count
        parts += found
        if time.perf_counter() > stop:
            break
    return Partners(
        np.concatenate([np.zeros(0, np.int32), *(p.doc for p in parts)]),
        np.concatenate([np.zeros(0, np.int32), *(p.query for p in parts)]),
        np.concatenate([np.zeros(0), *(p.similarity for p in parts)]),
    ), against
