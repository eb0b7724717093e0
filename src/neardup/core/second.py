"""The second round: clusters that an edge joins merge where all their documents are near enough.

The bound by which clusters grow is loose: it keeps clusters apart that would fit together. Here
they are compared document by document.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from neardup.core.bounded import content_hashes
from neardup.core.edges import EdgeLog, Edges
from neardup.core.space import Space
from neardup.core.threads import Pool
from neardup.core.verify import ShingleSets
from neardup.kernels import second as kernels
from neardup.kernels.clusters import find_all
from neardup.kernels.edges import pair_hashes

__all__ = ["SecondRound", "second_round"]

#: Comparisons that may be made, of each document of the corpus, and whatever its size.
_FOR_EACH, _AT_LEAST = 16, 1 << 20
#: Pairs of documents above which two clusters are compared by several threads.
_LIMIT = 4096
#: Pairs of documents that several threads compare before it is looked whether one was too far.
_WAVE = 1 << 18
#: Edges that are looked at together.
_BLOCK = 1 << 22

Arrays = tuple[np.ndarray, ...]


@dataclass
class SecondRound:
    """What the second round did.

    Attributes:
        merged: Clusters merged.
        checked: Pairs of clusters compared.
        comparisons: Pairs of documents compared for that, up to the first one that was too far.
        left_out: Pairs of clusters that were not compared, since that would have gone beyond the
            budget.
    """

    merged: int = 0
    checked: int = 0
    comparisons: int = 0
    left_out: int = 0


def second_round(
    labels: np.ndarray,
    edges: EdgeLog | Edges,
    sets: ShingleSets,
    tree_threshold: float,
    pool: Pool,
    budget: int | None = None,
    space: Space | None = None,
) -> tuple[np.ndarray, SecondRound]:
    """Merge clusters that an edge joins, where every two of their documents are near enough.

    The pair of clusters with the fewest pairs of documents is compared first, and of those the one
    with the edge of the largest similarity. It ends at the first pair of documents that is too far.
    Two clusters that did not fit are never compared again, nor are any that they become part of:
    what held them apart still does. Ties are broken by what the documents hold, so that the result
    does not depend on their order.

    Args:
        labels: int32[documents]: any label of each document's cluster, 0 to documents - 1.
        edges: Pairs that reach the edge threshold, with their similarities.
        sets: Shingle sets of all documents that are not alone.
        tree_threshold: What every two documents of a cluster must reach.
        pool: Threads.
        budget: Pairs of documents that may be compared; by default 16 for each document, and a
            million besides. Clusters that would go beyond it stay apart and are counted.
        space: Where arrays lie.

    Returns:
        (int32[documents]: a label of each document's cluster; what was done).
    """
    space = space or Space()
    if budget is None:
        budget = _AT_LEAST + _FOR_EACH * len(labels)
    pairs, similarity = _across(labels, edges)
    if len(pairs) == 0:
        return labels, SecondRound()
    names, numbers = np.unique(
        np.concatenate([pairs >> 32, pairs & 0xFFFFFFFF]).astype(np.int32), return_inverse=True
    )
    x, y = numbers[: len(pairs)].astype(np.int32), numbers[len(pairs) :].astype(np.int32)
    docs, forest = _forest(labels, names, sets, pool, space)
    key, count = forest[2], len(names)
    entries = (
        x,
        y,
        similarity,
        space.empty(len(pairs), np.uint64),
        space.zeros(len(pairs), np.int64),
        space.filled(len(pairs), np.int32, -1),
        space.filled(len(pairs), np.int32, -1),
    )
    pair_hashes(key, x, y, entries[3])
    queue = (
        space.empty(count, np.int32),
        space.filled(count, np.int32, -1),
        space.zeros(count, np.int64),
        space.filled(count, np.int32, -1),
        np.zeros(1, np.int64),
    )
    apart = (
        space.filled(count, np.int32, -1),
        space.filled(count, np.int32, -1),
        space.empty(2 * len(pairs), np.int32),
        space.empty(2 * len(pairs), np.int32),
        np.zeros(1, np.int64),
    )
    counts = np.array([0, 0, 0, budget], dtype=np.int64)
    _run((forest, queue, entries, apart), docs, sets, tree_threshold, counts, pool)
    roots = np.empty(count, np.int32)
    find_all(forest[0], np.arange(count, dtype=np.int32), roots)
    final = space.arange(len(labels), np.int32)
    final[names] = names[roots]
    merged, checked, comparisons = counts[:3].tolist()
    done = SecondRound(merged, checked, comparisons, _left_out(roots, x, y, apart))
    return final[labels], done


def _run(
    state: tuple[Arrays, Arrays, Arrays, Arrays],
    docs: np.ndarray,
    sets: ShingleSets,
    threshold: float,
    counts: np.ndarray,
    pool: Pool,
) -> None:
    """Compare and merge until there is nothing more to compare, or nothing may be any more."""
    forest, queue, entries, _ = state
    filter = sets.filter(threshold)
    kernels.begin(forest, queue, entries)
    work = partial(kernels.rounds, *state, docs, sets.arrays, filter, threshold, _LIMIT, counts)
    while True:
        # In a thread, because the main one has to listen for Ctrl-C.
        ended, c, d = pool.submit(work).result()
        if ended != kernels.LARGE:
            return
        key, size = forest[2], forest[1]
        front, back = (c, d) if key[c] <= key[d] else (d, c)
        ones, others = (np.empty(size[i], np.int32) for i in (front, back))
        kernels.members(front, forest, docs, ones)
        kernels.members(back, forest, docs, others)
        compared, fit = _compare(ones, others, sets, threshold, pool)
        counts[1] += 1
        counts[2] += compared
        counts[0] += fit
        (kernels.merge if fit else kernels.part)(np.int32(c), np.int32(d), *state)


def _compare(
    ones: np.ndarray, others: np.ndarray, sets: ShingleSets, threshold: float, pool: Pool
) -> tuple[int, bool]:
    """Do what `neardup.kernels.second.compare` does, with many threads."""
    filter = sets.filter(threshold)

    def work(first: int, last: int) -> tuple[int, bool]:
        return kernels.compare(ones[first:last], others, sets.arrays, filter, threshold)

    wave = max(1, _WAVE // len(others))
    compared = 0
    for low in range(0, len(ones), wave):
        high = min(low + wave, len(ones))
        step = max(1, _LIMIT // len(others))
        for found, fit in pool.ranges(work, high, step=step, first=low):
            compared += found
            if not fit:  # what other threads compared after it does not count
                return compared, False
    return compared, True


def _across(labels: np.ndarray, edges: EdgeLog | Edges) -> tuple[np.ndarray, np.ndarray]:
    """Return each pair of clusters that an edge joins, and the largest similarity of such an edge.

    Returns:
        (int64[pairs]: the lower label, shifted by 32, and the higher; float64[pairs]).
    """
    found, similarity = np.zeros(0, np.int64), np.zeros(0)
    for a, b, values in edges.parts():
        for low in range(0, len(a), _BLOCK):
            piece = slice(low, low + _BLOCK)
            x, y = labels[a[piece]].astype(np.int64), labels[b[piece]].astype(np.int64)
            joins = x != y
            pairs = (np.minimum(x, y) << 32 | np.maximum(x, y))[joins]
            found = np.concatenate([found, pairs])
            similarity = np.concatenate([similarity, values[piece][joins]])
            order = np.lexsort((-similarity, found))
            found, similarity = found[order], similarity[order]
            first = np.diff(found, prepend=-1) != 0
            found, similarity = found[first], similarity[first]
    return found, similarity


def _forest(
    labels: np.ndarray, names: np.ndarray, sets: ShingleSets, pool: Pool, space: Space
) -> tuple[np.ndarray, Arrays]:
    """Return the documents of some clusters, by their hashes, and the clusters as a forest."""
    number = space.filled(len(labels), np.int32, -1)
    number[names] = np.arange(len(names), dtype=np.int32)
    docs = np.flatnonzero(number[labels] >= 0).astype(np.int32)
    of_doc = number[labels[docs]]
    hashes = content_hashes(sets, docs, pool, space)[docs]
    order = np.lexsort((hashes, of_doc))
    docs, of_doc, hashes = docs[order], of_doc[order], hashes[order]
    starts = np.flatnonzero(np.diff(of_doc, prepend=-1)).astype(np.int32)
    ends = np.append(starts[1:], len(docs)).astype(np.int32)
    chain = np.arange(1, len(docs) + 1, dtype=np.int32)
    chain[ends - 1] = -1
    forest = (
        np.arange(len(names), dtype=np.int32),
        (ends - starts).astype(np.int64),
        np.add.reduceat(hashes, starts),
        starts,
        ends - np.int32(1),
        chain,
    )
    return docs, forest


def _left_out(roots: np.ndarray, x: np.ndarray, y: np.ndarray, apart: Arrays) -> int:
    """Count the pairs of clusters that were neither merged nor found not to fit together."""
    _, _, _, other, used = apart
    # Both sides of a pair that did not fit were noted, one behind the other.
    sides = roots[other[: used[0]]]
    return len(np.setdiff1d(_distinct(roots[x], roots[y]), _distinct(sides[::2], sides[1::2])))


def _distinct(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    low, high = np.minimum(x, y).astype(np.int64), np.maximum(x, y).astype(np.int64)
    return np.unique((low << 32 | high)[low != high])
