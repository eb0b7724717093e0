"""Which documents of a cluster a page lists, and which of those it shows in full."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from neardup.report.page.survey import Survey

__all__ = ["Bounds", "Listed", "listed"]

#: Documents of one cluster that are listed at most; fewer where the page would grow too large.
_MOST_LISTED = (200, 100, 50, 24, 12, 6, 3)
#: Of those, the ones whose texts are read and compared with each other.
_COMPARED, _COMPARED_IN_FIRST, _FIRST = 12, 24, 100
#: Bytes of the page that a listed document takes, besides its id and its text.
_ENTRY = 48
#: Bytes of a page for each cluster that it may list, and at least.
_BYTES, _LEAST_BYTES = 4_000, 400_000


@dataclass(frozen=True)
class Bounds:
    """What keeps a page small.

    Attributes:
        bytes: Of data, about.
        characters: Of a text; what is longer is cut.
    """

    bytes: int
    characters: int = 20_000


@dataclass(frozen=True)
class Listed:
    """The documents of a cluster that a page knows.

    Attributes:
        cluster: Number of the cluster in the survey.
        docs: int64[]: documents, the root first, the others ascending.
        compared: int64[]: those of them whose texts are read, the most telling ones first.
    """

    cluster: int
    docs: np.ndarray
    compared: np.ndarray


def listed(
    found: Survey, clusters: np.ndarray, most: int, id_bytes: Callable[[np.ndarray], int]
) -> tuple[Bounds, list[Listed]]:
    """Choose the documents of each cluster that a page lists: as many as there is room for.

    Args:
        found: All clusters.
        clusters: int[]: those that are listed, in the order of the page.
        most: Clusters that the user lets the page list.
        id_bytes: Says how many bytes the ids of documents take.

    Returns:
        What keeps the page small, and the documents of each cluster.
    """
    size = max(_LEAST_BYTES, _BYTES * most)
    for limit in _MOST_LISTED:
        room = size / 3 - np.minimum(found.sizes[clusters], limit).sum() * _ENTRY
        if room < 0 and limit != _MOST_LISTED[-1]:
            continue
        of = [_of_cluster(found, int(k), rank, limit) for rank, k in enumerate(clusters)]
        if not of or id_bytes(np.concatenate([one.docs for one in of])) <= room:
            break
    return Bounds(size), of


def _of_cluster(found: Survey, cluster: int, rank: int, most: int) -> Listed:
    """Choose documents of a cluster, those first that say most about it.

    These are the root, the one least like the document that it repeats, the one the most edges
    away, the longest, the shortest, and other kept ones; then the rest, evenly spread, exact
    duplicates last.

    Args:
        found: All clusters.
        cluster: Its number.
        rank: Its place in the list of the page, from 0.
        most: Documents at most.
    """
    docs = found.documents(cluster)
    root = int(found.root[cluster])
    similarity = np.where(found.kept[docs], np.inf, found.similarity[docs])
    telling = [root, int(docs[similarity.argmin()]), int(docs[found.tree.steps[docs].argmax()])]
    if found.lengths is not None:
        characters = found.lengths.characters[docs]
        telling += [int(docs[characters.argmax()]), int(docs[characters.argmin()])]
    telling += docs[found.kept[docs]][: most // 4].tolist()
    exact = similarity == 1
    others = [*_spread(docs[~exact], most), *_spread(docs[exact], most)]
    order = np.array(_unique([*telling, *others])[:most], dtype=np.int64)
    compared = order[: _COMPARED_IN_FIRST if rank < _FIRST else _COMPARED]
    return Listed(cluster, np.array([root, *np.sort(order[1:])], dtype=np.int64), compared)


def _spread(docs: np.ndarray, count: int) -> Iterable[int]:
    """Yield some of the documents, each further one where the gap is about the largest."""
    if len(docs) > count:
        docs = docs[np.linspace(0, len(docs) - 1, count).astype(np.int64)]
    step = 1 << max(0, (len(docs) - 1).bit_length() - 1)
    taken = set()
    while step:
        for place in range(0, len(docs), step):
            if place not in taken:
                taken.add(place)
                yield int(docs[place])
        step //= 2


def _unique(items: Iterable[int]) -> list[int]:
    return list(dict.fromkeys(items))
