"""Values of several words: shared words count by how rare they are."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from neardup.kernels.jaccard import Sets, weighted_overlap
from neardup.linkage.features import plain_values
from neardup.linkage.fields import Field
from neardup.match.prefix_index import count_shingles
from neardup.sketch.tokenising import Tokeniser
from neardup.spec import ShingleSpec
from neardup.threads import Pool

_WORDS = ShingleSpec(unit="word", n=1, nfkc=True, strip_accents=True)


def word_share(words: float) -> float:
    """Return the share that words have in the similarity, by the mean words of a value.

    >>> word_share(1.0), word_share(1.5), word_share(8.0)
    (0.0, 0.25, 0.5)
    """
    return float(0.5 * np.clip(words - 1, 0, 1))


def word_similarity(
    column: pa.LargeStringArray, field: Field, a: np.ndarray, b: np.ndarray, pool: Pool
) -> np.ndarray:
    """Return float32[pairs]: weighted Jaccard similarity of the words; NaN where none are.

    A word weighs log((N + 1) / values that have it).

    Args:
        column: Values of all records.
        field: How they are compared.
        a: int32[pairs].
        b: int32[pairs].
        pool: Threads.
    """
    of = Tokeniser(_WORDS)
    tokens, _ = of.tokens(*of.normalise(plain_values(column, field)))
    ragged = of.to_sets(of.shingles(tokens))
    sets = Sets(
        ragged.values,
        ragged.offsets[:-1],
        np.diff(ragged.offsets).astype(np.int32),
        np.zeros((0, 1), np.uint64),
    )
    docs = np.flatnonzero(sets.size).astype(np.int32)
    counts = count_shingles(sets, docs, pool)
    weights = np.log((len(docs) + 1) / np.maximum(counts, 1)).astype(np.float32)
    weights = np.maximum(weights, 1e-6)

    def work(first: int, last: int) -> np.ndarray:
        x, y = a[first:last], b[first:last]
        shared, total = np.empty(len(x)), np.empty(len(x))
        weighted_overlap(sets, weights, x, y, 0, len(x), shared, total)
        there = (sets.size[x] > 0) & (sets.size[y] > 0) & (total > 0)
        found = np.full(len(x), np.nan)
        np.divide(shared, total, out=found, where=there)
        return found

    return pool.filled(work, len(a), np.float32)
