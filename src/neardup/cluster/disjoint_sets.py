"""Disjoint sets of the documents of buckets, as published: most candidate pairs are not compared.

A document of a bucket is represented by the root of its set: a pair in one set is not compared, and
a bucket of one set costs nothing. Each root keeps a lower bound of its similarity
with any document of its set, by the triangle inequality of the Jaccard distance.

Source: "Deduplication in a massive clinical note dataset", Shenoy et al. 2017, section 6.5.
"""

from functools import partial
from typing import NamedTuple

import numpy as np

from neardup.cluster.bounded import new_trees
from neardup.cluster.descending import roots
from neardup.cluster.edges import Allocate
from neardup.cluster.methods import lowest
from neardup.kernels import unions as kernels
from neardup.kernels.jaccard import Sets
from neardup.kernels.resolving import Buckets
from neardup.kernels.unions import ComparedRoots
from neardup.threads import Pool
from neardup.tuning import TUNING

#: Pairs that are remembered with their similarity; of more, some may be compared again.
_SLOTS = 1 << 22


class DisjointSets(NamedTuple):
    """Disjoint sets, and the work for them.

    Attributes:
        labels: int32[documents]: the lowest document of each one's set.
        compared: Pairs of documents that were compared, by bitmaps first; each once, while these
            are fewer than some 3 million.
        not_compared: Pairs left out of roots that are left, in buckets of more than 1,024 roots.
    """

    labels: np.ndarray
    compared: int
    not_compared: int


def disjoint_sets(  # noqa: PLR0913 - the input, two thresholds, the means
    sets: Sets,
    buckets: Buckets,
    threshold: float,
    tree_threshold: float,
    pool: Pool,
    *,
    allocate: Allocate = np.empty,
    again: bool = False,
) -> DisjointSets:
    """Unite the documents of buckets, in one order: by band, by key, then by their numbers.

    The roots of the sets of a bucket are compared pair by pair, but those that have been united
    since. Two unite if their similarity reaches the threshold, and the bound of any two documents
    of both sets the tree threshold. Of more than 1,024 roots, each is compared with the 256 that
    follow it, or with 2**20 / n if that is more. The result depends on the order of documents.

    Args:
        sets: Of m documents.
        buckets: Of the same; those of a band follow those of the bands before.
        threshold: Similarity of an edge.
        tree_threshold: Minimum similarity within a set, not above that.
        pool: Threads, one of which works.
        allocate: Makes arrays, as `numpy.empty`.
        again: Compare roots that have been united since as well: another reading of the source.
    """
    documents, total = len(sets.size), len(buckets.starts) - 1
    trees = new_trees(np.zeros(documents, dtype=np.int32), np.arange(documents))
    sizes = np.diff(buckets.starts)
    slots = min(_SLOTS, 1 << int(2 * (sizes * (sizes - 1)).sum()).bit_length())
    compared = ComparedRoots(np.zeros(slots, dtype=np.uint64), allocate(slots, np.float64))
    found = allocate(int(sizes.max(initial=0)), np.int32)
    counts = np.zeros(2, dtype=np.int64)
    thresholds = again, threshold, tree_threshold
    for first in range(0, total, TUNING.united_buckets):
        part = first, min(first + TUNING.united_buckets, total)
        given = buckets.members, buckets.starts, *part, *thresholds
        work = partial(kernels.unite_roots, *given, trees, sets, compared, found, counts)
        pool.submit(work).result()  # in a thread, as the main one has to listen for Ctrl-C
    return DisjointSets(lowest(roots(trees.parent, trees.parent)), *counts.tolist())
