"""The clusters of the clinical notes of Shenoy et al. (2017), section 12, scaled by the notes.

Of 10 million notes, 13,233 clusters of near-duplicates have up to 9,849 notes, and 6,160 groups of
equal notes up to 2,540. Numbers of clusters and sizes are in proportion to the notes. The groups
are in the largest clusters: the first notes of a cluster are equal. The paper has no sizes but the
largest; those of rank r are the largest divided by r**0.5435, with which 10 million notes have as
many pairs in clusters as the paper counts, 341 million.
"""

import numpy as np

NOTES = 10_000_000
#: Clusters, and notes of the largest: of near-duplicates, and of equal notes.
_NEAR, _EQUAL = (13_233, 9_849), (6_160, 2_540)
_DECLINE = 0.5435
#: The share of its words that a note of a cluster changes is uniform from 0 to this: in notes of
#: 300 words any two of a cluster have a similarity of 0.75, mostly, by runs of 8 words.
CHANGED_IN_CLUSTERS = 0.008


def cluster_sizes(documents: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the notes of each cluster, and how many of them are equal: int64[clusters] each.

    >>> [sizes.tolist() for sizes in cluster_sizes(2000)]
    [[2, 2, 2], [2, 1, 1]]
    """
    near, equal = (_sizes(*numbers, documents / NOTES) for numbers in (_NEAR, _EQUAL))
    found = np.ones(len(near), np.int64)
    found[: len(equal)] = np.minimum(equal, near[: len(equal)])
    return near, found


def _sizes(clusters: int, largest: int, scale: float) -> np.ndarray:
    rank = np.arange(1, round(clusters * scale) + 1)
    sizes = np.round(largest * scale / rank**_DECLINE).astype(np.int64)
    return np.maximum(2, sizes)


def copies_of_paper(documents: int) -> tuple[int, int]:
    """Return how many notes are near-duplicates of another one, and how many are equal to one."""
    sizes, equal = cluster_sizes(documents)
    return int((sizes - equal).sum()), int((equal - 1).sum())


def enter_clusters(order: np.ndarray, source: np.ndarray, is_near: np.ndarray) -> None:
    """Enter the source of each note that is a copy, and which copies are changed.

    Args:
        order: int64[documents]: notes at random; the clusters have the first ones of these.
        source: int64[documents]: gets the notes that others are derived from.
        is_near: bool[documents]: gets which notes are changed.
    """
    sizes, equal = cluster_sizes(len(order))
    begin = np.repeat(np.cumsum(sizes) - sizes, sizes)
    within = np.arange(len(begin)) - begin
    copies = within > 0
    notes = order[: len(begin)]
    source[notes[copies]] = order[begin[copies]]
    is_near[notes] = within >= np.repeat(equal, sizes)
