"""Pairs that are one record, and clusters of them.

Log odds are no metric, so bounded clusters, whose bound is the triangle inequality, are not
offered.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from neardup.cluster.edges import Allocate, batches
from neardup.cluster.methods import connected, lowest
from neardup.kernels.merging_clusters import Between, add_between, merge_by_mean, merge_complete

#: Log odds from so far on count alike, against and for; records that were not compared are so far.
_FAR, _NEAR = 3.0, 5.0
#: Log odds are summed as integers in this unit: the order does not matter.
_UNIT = 2.0**-20
#: Sum of two units that are known not to be one: no others make up for it.
_NEVER = -(1 << 50)


class Scored(NamedTuple):
    """Candidates with what decides.

    Attributes:
        a: int32[pairs].
        b: int32[pairs], ``a < b``.
        margin: float64[pairs]: log odds above those from which on two records are one; infinite
            where the answer is known.
    """

    a: np.ndarray
    b: np.ndarray
    margin: np.ndarray

    def take(self, rows: np.ndarray) -> Scored:
        """Return some of them."""
        return Scored(self.a[rows], self.b[rows], self.margin[rows])


def matches(pairs: Scored, file: np.ndarray | None = None) -> np.ndarray:
    """Return int64[]: which candidates are one record.

    Args:
        pairs: The candidates.
        file: int32[records]: the file of each, if records that are one are of different files: the
            most likely pairs first, ties by the numbers of the records. Pairs that are known to be
            one stay.
    """
    reach = np.flatnonzero(pairs.margin >= 0)
    if file is None:
        return reach
    a, b, margin = pairs.take(reach)
    left = np.lexsort((b, a, -margin))
    root = np.arange(len(file)).tolist()
    files, merged = file.tolist(), dict[int, int]()  # bits of the files of a group, by its root
    found = []
    known = (margin == np.inf).tolist()
    for k, x, y in zip(left.tolist(), a[left].tolist(), b[left].tolist(), strict=True):
        while root[x] != x:
            root[x] = x = root[root[x]]
        while root[y] != y:
            root[y] = y = root[root[y]]
        one, two = merged.get(x) or 1 << files[x], merged.get(y) or 1 << files[y]
        if x == y or known[k] or not one & two:
            found.append(k)
            root[y], merged[x] = x, one | two
    return reach[np.sort(np.array(found, np.int64))]


def cluster_records(
    pairs: Scored, ranks: np.ndarray, method: str, empty: Allocate = np.empty
) -> np.ndarray:
    """Group the records that are one.

    Pairs that are known to be one are merged first, and those that are known to be none are in no
    cluster together.

    Args:
        pairs: All candidates.
        ranks: int64[n]: a number of each record by its content; ties are decided by these.
        method: ``"average"``: the two clusters with the highest mean of log odds are merged, while
            it is that of a match; records that are no candidates count as far. ``"complete"``: any
            two records of a cluster are one by themselves.
        empty: Makes large arrays.

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
    count = np.bincount(components[pairs.a[reach]], minlength=n)
    # Most components are complete as they are; two records are one cluster.
    done = count == size * (size - 1) // 2
    if method == "average":
        done = size <= 2
    loose = [np.empty(0, np.int64)]
    for rows in _rows(pairs):
        one = components[pairs.a[rows]]
        within = (one == components[pairs.b[rows]]) & ~done[one]
        if method == "average":
            within &= _above(pairs.margin[rows]) != 0
        loose.append(rows.start + np.flatnonzero(within))
    labels = np.where(done[components], components, np.arange(n))
    record = np.argsort(ranks, kind="stable")
    units = np.ones(n, np.int64), np.zeros(n, np.bool_)
    of = _clustered(_ranked(pairs.take(np.concatenate(loose)), ranks), *units, method, empty)
    merged = np.flatnonzero(of != np.arange(n))
    labels[record[merged]] = record[of[merged]]
    return lowest(labels)


def join_clusters(
    pairs: Scored,
    old: np.ndarray,
    sizes: dict[int, int],
    numbers: np.ndarray,
    method: str,
    empty: Allocate = np.empty,
) -> np.ndarray:
    """Let new records join the clusters of old ones; the clusters of these stay as they are.

    Args:
        pairs: Candidates; the second record of each is new.
        old: int64[]: numbers of the clusters of old records, which come first.
        sizes: Records of each of these clusters.
        numbers: int64[new]: those that clusters get, whose first record is the new one.
        method: As for `cluster_records`.
        empty: Makes large arrays.

    Returns:
        int64[old and new]: the number of each one's cluster.

    Examples:
        >>> near = Scored(np.array([0, 1, 2]), np.array([1, 2, 3]), np.array([4.0, -1.0, 2.0]))
        >>> join_clusters(near, np.array([7]), {7: 1}, np.array([8, 9, 10]), "average").tolist()
        [7, 7, 9, 9]
    """
    names, unit = np.unique(old, return_inverse=True)
    unit = np.concatenate([unit.reshape(-1), len(names) + np.arange(len(numbers))])
    size = np.ones(len(names) + len(numbers), np.int64)
    size[: len(names)] = [sizes[name] for name in names.tolist()]
    x, y = unit[pairs.a], unit[pairs.b]
    ordered = Scored(np.minimum(x, y), np.maximum(x, y), pairs.margin)
    unit = _clustered(ordered, size, np.arange(len(size)) < len(names), method, empty)[unit]
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
    pairs: Scored, size: np.ndarray, fixed: np.ndarray, method: str, empty: Allocate
) -> np.ndarray:
    """Merge units; return int64[units]: of each one that names its cluster, a fixed one if any.

    Args:
        pairs: Between units; two units may have several.
        size: int64[units]: records of each.
        fixed: bool[units]: those that are not merged with one another.
        method: As for `cluster_records`.
        empty: Makes large arrays.
    """
    average = method == "average"
    known = _known(pairs, fixed)
    if known is not None:
        of_known, named = np.unique(known, return_inverse=True)
        named = named.reshape(-1)
        x, y = named[pairs.a], named[pairs.b]
        size, fixed = np.bincount(named, size).astype(np.int64), np.bincount(named, fixed) > 0
        others = Scored(np.minimum(x, y), np.maximum(x, y), np.minimum(pairs.margin, _NEAR))
        found = _clustered(others, size, fixed, method, empty)[named]
        # A fixed unit names its cluster, if there is one.
        return np.asarray(of_known[found])
    # Pairs that are as far as others that are no candidates make no difference.
    count = sum(int(np.count_nonzero(_useful(pairs, rows, average))) for rows in _rows(pairs))
    a, b, margin = (empty(count, dtype) for dtype in (np.int32, np.int32, np.float64))
    values, end = empty(count, np.int64), 0
    for rows in _rows(pairs):
        used = _useful(pairs, rows, average)
        part = slice(end, end + int(np.count_nonzero(used)))
        for column, of in zip((a, b, margin), pairs, strict=True):
            column[part] = of[rows][used]
        values[part] = _above(margin[part]) if average else 1
        end = part.stop
    between = _between(a, b, values, (size, fixed), empty)
    if average:
        working = empty(count, np.float64), empty((count, 2), np.int32)
        merge_by_mean(between, -round(_FAR / _UNIT), *working)
    else:
        merge_complete(between, a, b, np.lexsort((b, a, -margin)))
    of = between.of
    while not np.array_equal(of, of[of]):
        of = of[of]
    return of.astype(np.int64)


def _known(pairs: Scored, fixed: np.ndarray) -> np.ndarray | None:
    """Return int64[units]: one unit of those that are known to be one; None if no pair is known.

    It is a fixed one if there is any. Two fixed ones are not merged.
    """
    rows = np.flatnonzero(pairs.margin == np.inf)
    if not len(rows):
        return None
    of = np.arange(len(fixed))
    a, b = pairs.a[rows], pairs.b[rows]
    for k in np.lexsort((b, a)).tolist():
        x, y = sorted((int(of[a[k]]), int(of[b[k]])), key=lambda unit: (not fixed[unit], unit))
        if not (fixed[x] and fixed[y]):
            of[of == y] = x
    return of


def _rows(pairs: Scored) -> Iterator[slice]:
    return batches(len(pairs.a))


def _useful(pairs: Scored, rows: slice, average: bool) -> np.ndarray:
    margin = pairs.margin[rows]
    return np.asarray(
        (_above(margin) != 0 if average else margin >= 0) & (pairs.a[rows] != pairs.b[rows])
    )


def _above(margin: np.ndarray) -> np.ndarray:
    """Return int64[]: how far log odds are above those of a pair that is no candidate."""
    far = -round(_FAR / _UNIT)
    above = np.round(np.clip(margin, -_FAR, _NEAR) / _UNIT).astype(np.int64) - far
    return np.where(margin == -np.inf, _NEVER, above)


def _between(
    a: np.ndarray,
    b: np.ndarray,
    values: np.ndarray,
    units: tuple[np.ndarray, np.ndarray],
    empty: Allocate,
) -> Between:
    """Return pairs as merging looks at them; ``units`` are sizes, and which ones are fixed."""
    size, fixed = units
    count, slots = len(size), 2 << max(len(a), 1).bit_length()
    keys, sums = empty(slots, np.uint64), empty(slots, np.int64)
    keys[...] = sums[...] = 0
    between = Between(
        np.arange(count, dtype=np.int32),
        size.astype(np.int64),
        fixed,
        keys,
        sums,
        np.zeros(count + 1, np.int64),
        np.full(count, -1, np.int32),
        np.zeros(count, np.int32),
        np.zeros(count, np.int64),
        empty(2 * len(a), np.int32),
    )
    add_between(a, b, values, between)
    return between
