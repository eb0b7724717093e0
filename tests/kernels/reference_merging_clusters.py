"""What the kernels of clusters of records do, with dictionaries."""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Iterable, Sequence

#: Sums of two units, in both directions.
Sums = dict[int, dict[int, int]]


def add_between(pairs: Iterable[tuple[int, int]], values: Iterable[int]) -> Sums:
    """The sum of the values of the pairs between each two units."""
    near: Sums = defaultdict(dict)
    for (x, y), value in zip(pairs, values, strict=True):
        near[x][y] = near[y][x] = near[x].get(y, 0) + value
    return near


def _merge(near: Sums, size: list[int], of: list[int], x: int, y: int) -> None:
    size[x] += size[y]
    for unit, root in enumerate(of):
        of[unit] = x if root == y else root
    del near[x][y]
    for other, value in near.pop(y).items():
        if other != x:
            del near[other][y]
            near[x][other] = near[other][x] = near[x].get(other, 0) + value


def merge_by_mean(near: Sums, far: int, size: list[int], fixed: Sequence[bool]) -> list[int]:
    """Merge the two units with the highest mean while it is not below 0; the unit of each one."""
    of = list(range(len(size)))

    def mean(x: int, y: int) -> float:
        return near[x].get(y, 0) / (size[x] * size[y]) + far

    heap = [(-mean(x, y), x, y) for x in near for y in near[x] if x < y and mean(x, y) >= 0]
    heapq.heapify(heap)
    while heap:
        bound, one, two = heapq.heappop(heap)
        x, y = of[one], of[two]
        if x == y or (fixed[x] and fixed[y]) or mean(x, y) < 0:
            continue
        if mean(x, y) < -bound:
            heapq.heappush(heap, (-mean(x, y), one, two))
            continue
        _merge(near, size, of, *((y, x) if fixed[y] else (x, y)))
    return of


def merge_complete(
    near: Sums,
    pairs: Iterable[tuple[int, int]],
    size: list[int],
    fixed: Sequence[bool],
) -> list[int]:
    """Merge units along pairs if all pairs of their records are there; the unit of each one."""
    of = list(range(len(size)))
    for one, two in pairs:
        x, y = of[one], of[two]
        if x != y and not (fixed[x] and fixed[y]) and near[x].get(y, 0) >= size[x] * size[y]:
            _merge(near, size, of, *((y, x) if fixed[y] else (x, y)))
    return of
