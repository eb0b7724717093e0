"""Pairs that are one record, and clusters of them.

Log odds are no metric, so bounded clusters, whose bound is the triangle inequality, are not
offered.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from typing import NamedTuple

import numpy as np

from neardup.cluster.methods import connected, lowest

#: Log odds from so far on count alike, against and for; records that were not compared are so far.
_FAR, _NEAR = 3.0, 5.0
#: Log odds are summed as integers in this unit: the order does not matter.
_UNIT = 2.0**-20


class Scored(NamedTuple):
    """Candidates with what decides.

    Attributes:
        a: int32[pairs].
        b: int32[pairs], ``a < b``.
        margin: float64[pairs]: log odds above those from which on two records are one.
    """

    a: np.ndarray
    b: np.ndarray
    margin: np.ndarray

    def take(self, rows: np.ndarray) -> Scored:
        """Return some of them."""
        return Scored(self.a[rows], self.b[rows], self.margin[rows])


def matches(pairs: Scored, one_to_one: bool) -> np.ndarray:
    """Return int64[]: which candidates are one record.

    Args:
        pairs: The candidates.
        one_to_one: Of each record only one pair: the most likely pairs first, ties by the numbers
            of the records.
    """
    reach = np.flatnonzero(pairs.margin >= 0)
    if not one_to_one:
        return reach
    a, b, margin = pairs.take(reach)
    left = np.lexsort((b, a, -margin))
    used: set[int] = set()
    found = []
    for k, x, y in zip(left.tolist(), a[left].tolist(), b[left].tolist(), strict=True):
        if x not in used and y not in used:
            used.update((x, y))
            found.append(k)
    return reach[np.sort(np.array(found, np.int64))]


def cluster_records(pairs: Scored, ranks: np.ndarray, method: str) -> np.ndarray:
    """Group the records that are one.

    Args:
        pairs: All candidates.
        ranks: int64[n]: a number of each record by its content; ties are decided by these.
        method: ``"average"``: the two clusters with the highest mean of log odds are merged, while
            it is that of a match; records that are no candidates count as far. ``"complete"``: any
            two records of a cluster are one by themselves.

    Returns:
        int32[n]: the lowest record of each one's cluster.

    Examples:
        >>> chain = Scored(np.array([0, 1]), np.array([1, 2]), np.array([4.0, 2.0]))
        >>> cluster_records(chain, np.arange(3), "average").tolist()
        [0, 0, 2]
        >>> closer = Scored(np.array([0, 0, 1]), np.array([1, 2, 2]), np.array([4.0, -1.0, 3.0]))
        >>> cluster_records(closer, np.arange(3), "average").tolist()
        [0, 0, 0]
        >>> cluster_records(closer, np.arange(3), "complete").tolist()
        [0, 0, 2]
    """
    n = len(ranks)
    reach = pairs.margin >= 0
    components = connected(pairs.a[reach], pairs.b[reach], n)
    size = np.bincount(components, minlength=n)
    within = components[pairs.a] == components[pairs.b]
    count = np.bincount(components[pairs.a[reach]], minlength=n)
    # Most components are complete as they are; two records are one cluster.
    done = count == size * (size - 1) // 2
    if method == "average":
        done = size <= 2
    loose = pairs.take(np.flatnonzero(within & ~done[components[pairs.a]]))
    labels = np.where(done[components], components, np.arange(n))
    of = _clustered(_ranked(loose, ranks), {}, set(), method)
    record = np.argsort(ranks, kind="stable")
    for unit, cluster in of.items():
        labels[record[unit]] = record[cluster]
    return lowest(labels)


def join_clusters(
    pairs: Scored, old: np.ndarray, sizes: dict[int, int], numbers: np.ndarray, method: str
) -> np.ndarray:
    """Let new records join the clusters of old ones; the clusters of these stay as they are.

    Args:
        pairs: Candidates; the second record of each is new.
        old: int64[]: numbers of the clusters of old records, which come first.
        sizes: Records of each of these clusters.
        numbers: int64[new]: those that clusters get, whose first record is the new one.
        method: As for `cluster_records`.

    Returns:
        int64[old and new]: the number of each one's cluster.

    Examples:
        >>> near = Scored(np.array([0, 1, 2]), np.array([1, 2, 3]), np.array([4.0, -1.0, 2.0]))
        >>> join_clusters(near, np.array([7]), {7: 1}, np.array([8, 9, 10]), "average").tolist()
        [7, 7, 9, 9]
    """
    names, unit = np.unique(old, return_inverse=True)
    unit = np.concatenate([unit.reshape(-1), len(names) + np.arange(len(numbers))])
    old_sizes = {k: sizes[name] for k, name in enumerate(names.tolist())}
    x, y = unit[pairs.a], unit[pairs.b]
    of = _clustered(
        Scored(np.minimum(x, y), np.maximum(x, y), pairs.margin), old_sizes, set(old_sizes), method
    )
    unit = np.array([of.get(k, k) for k in unit.tolist()], np.int64)
    named = np.concatenate([names, numbers])
    if not len(unit):
        return unit
    # A cluster of new records has the number of its first one.
    first = lowest(np.unique(unit, return_inverse=True)[1].reshape(-1))
    new = named[np.maximum(first - len(old) + len(names), 0)]
    return np.asarray(np.where(unit < len(names), named[np.minimum(unit, len(names))], new))


def follow_clusters(every: np.ndarray, old: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    """Let new records join old clusters as one linkage of all records has it.

    The new records of one of its clusters join the old cluster that has at least half of its
    records in it: of several, the one with the largest surplus of records inside over those
    outside, then the one with the lowest number. Without such an old cluster they form one of
    their number. An old cluster of which two clusters have half goes to the one with most new
    records, then to the one with the lowest number.

    Args:
        every: int64[old and new]: the cluster of each record in the one linkage.
        old: int64[old]: the cluster of each old record, which it keeps.
        numbers: int64[new]: as for `join_clusters`.

    Returns:
        int64[new]: the cluster of each new record.

    Examples:
        >>> one, old = np.array([0, 0, 0, 3, 0, 3, 6, 6]), np.array([0, 1, 1, 3])
        >>> follow_clusters(one, old, np.array([8, 9, 10, 11])).tolist()
        [1, 3, 10, 10]
    """
    clusters, of = np.unique(every, return_inverse=True)
    names, into, sizes = np.unique(old, return_inverse=True, return_counts=True)
    of, new = of.reshape(-1)[: len(old)], of.reshape(-1)[len(old) :]
    # A row for each cluster and an old one that share records.
    rows, common = np.unique(of * max(1, len(names)) + into.reshape(-1), return_counts=True)
    of, into = np.divmod(rows, max(1, len(names)))
    surplus = 2 * common - sizes[into]
    more = np.bincount(new, minlength=len(clusters))[of]
    kept = np.flatnonzero((surplus >= 0) & (more > 0))
    order = kept[np.lexsort((of[kept], -more[kept], into[kept]))]
    kept = order[np.unique(into[order], return_index=True)[1]]
    order = kept[np.lexsort((into[kept], -surplus[kept], of[kept]))]
    kept = order[np.unique(of[order], return_index=True)[1]]
    _, first = np.unique(new, return_index=True)
    joined = np.zeros(len(clusters), np.int64)
    joined[new[first]] = numbers[first]
    joined[of[kept]] = names[into[kept]]
    return np.asarray(joined[new])


def _ranked(pairs: Scored, ranks: np.ndarray) -> Scored:
    rank = np.empty(len(ranks), np.int64)
    rank[np.argsort(ranks, kind="stable")] = np.arange(len(ranks))
    x, y = rank[pairs.a], rank[pairs.b]
    return Scored(np.minimum(x, y), np.maximum(x, y), pairs.margin)


def _clustered(
    pairs: Scored, sizes: dict[int, int], fixed: set[int], method: str
) -> dict[int, int]:
    """Merge units; of each that has a candidate, return a unit that names its cluster.

    Args:
        pairs: Between units; two units may have several.
        sizes: Records of those units that have more than one.
        fixed: Units that are not merged with one another.
        method: As for `cluster_records`.
    """
    if method == "average":
        return _average(pairs, sizes, fixed)
    return _complete(pairs.take(np.flatnonzero(pairs.margin >= 0)), sizes, fixed)


def _average(pairs: Scored, sizes: dict[int, int], fixed: set[int]) -> dict[int, int]:
    """Merge the two units with the highest mean margin, while it is not below 0.

    A mean over the records of two clusters is never above the higher one of those of their parts.
    So the heap's value of a pair of clusters is an upper bound, and is computed again when it is
    the highest: exact, without all pairs being changed at each merge.
    """
    far = -round(_FAR / _UNIT)
    above = np.round(np.clip(pairs.margin, -_FAR, _NEAR) / _UNIT).astype(np.int64) - far
    size = defaultdict(lambda: 1, sizes)
    #: Sum of the margins above the lowest of two units.
    near: dict[int, dict[int, int]] = defaultdict(dict)
    for x, y, value in zip(pairs.a.tolist(), pairs.b.tolist(), above.tolist(), strict=True):
        if x != y:
            near[x][y] = near[y][x] = near[x].get(y, 0) + value
    of = {unit: unit for unit in near}

    def root(unit: int) -> int:
        while of[unit] != unit:
            of[unit] = of[of[unit]]
            unit = of[unit]
        return unit

    def mean(x: int, y: int) -> float:
        return near[x][y] / (size[x] * size[y]) + far

    heap = [(-mean(x, y), x, y) for x in near for y in near[x] if x < y and mean(x, y) >= 0]
    heapq.heapify(heap)
    while heap:
        bound, one, two = heapq.heappop(heap)
        x, y = root(one), root(two)
        if x == y or (x in fixed and y in fixed):
            continue
        now = mean(x, y)
        if now < 0:
            continue
        if now < -bound:
            heapq.heappush(heap, (-now, one, two))
            continue
        if y in fixed or (x not in fixed and len(near[x]) < len(near[y])):
            x, y = y, x
        of[y] = x
        size[x] += size[y]
        del near[x][y]
        for other, value in near.pop(y).items():
            if other != x:
                del near[other][y]
                near[x][other] = near[other][x] = near[x].get(other, 0) + value
    return {unit: root(unit) for unit in list(of)}


def _complete(pairs: Scored, sizes: dict[int, int], fixed: set[int]) -> dict[int, int]:
    """Merge clusters along pairs from the most likely one down, if all their pairs are ones."""
    a, b = pairs.a, pairs.b
    members = {unit: [unit] for unit in np.unique([a, b]).tolist()}
    size = {unit: sizes.get(unit, 1) for unit in members}
    of = {unit: unit for unit in members}
    #: Number of pairs between two clusters.
    between: dict[int, dict[int, int]] = defaultdict(lambda: defaultdict(int))
    for x, y in zip(a.tolist(), b.tolist(), strict=True):
        between[x][y] += 1
        between[y][x] += 1
    for i in np.lexsort((b, a, -pairs.margin)).tolist():
        x, y = sorted((of[int(a[i])], of[int(b[i])]))
        if x == y or y in fixed or between[x][y] < size[x] * size[y]:
            continue
        size[x] += size[y]
        for doc in members.pop(y):
            of[doc] = x
            members[x].append(doc)
        for other, count in between.pop(y).items():
            del between[other][y]
            if other != x:
                between[x][other] += count
                between[other][x] += count
    return of
