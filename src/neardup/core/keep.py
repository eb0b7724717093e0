"""Which document of a cluster is kept, and which kept one a removed one repeats."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from neardup.core.threads import Pool
from neardup.core.verify import ShingleSets
from neardup.kernels import clusters as kernels

__all__ = ["Kept", "keep"]

#: Kept documents of its cluster that a document is compared with, at most.
LIMIT = 1024


class Kept(NamedTuple):
    """The answer of the removal rule.

    Attributes:
        kept_by: int32[documents]: the kept document that a removed one repeats; -1 where kept.
        similarity: float64[documents]: their exact similarity; NaN where kept.
        unsure: Documents kept because their cluster has more than `LIMIT` kept ones, and none of
            the first `LIMIT` was near enough.
    """

    kept_by: np.ndarray
    similarity: np.ndarray
    unsure: int


def keep(
    cluster: np.ndarray, priority: np.ndarray, sets: ShingleSets, threshold: float, pool: Pool
) -> Kept:
    """Apply the removal rule, whatever made the clusters.

    A document is removed only if a kept document of its cluster has exact similarity of at least
    ``threshold`` with it, so that no text is lost whose likeness was only inferred.

    Args:
        cluster: int32[documents]: any label of each document's cluster.
        priority: int64[documents]: within a cluster, lower is kept rather; all different.
        sets: Shingle sets of all documents that are not alone.
        threshold: The edge threshold.
        pool: Threads.
    """
    documents = len(cluster)
    kept_by = np.full(documents, -1, dtype=np.int32)
    similarity = np.full(documents, np.nan)
    sizes = np.bincount(cluster, minlength=documents)
    docs = np.flatnonzero(sizes[cluster] > 1).astype(np.int32)
    docs = docs[np.lexsort((priority[docs], cluster[docs]))]
    starts = np.flatnonzero(np.diff(cluster[docs], prepend=-1, append=-1))
    unsure = pool.ranges(
        lambda first, last: kernels.keep(
            docs, starts, first, last, sets.arrays, threshold, LIMIT, kept_by, similarity
        ),
        len(starts) - 1,
        step=256,
    )
    return Kept(kept_by, similarity, sum(unsure))
