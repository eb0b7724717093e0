"""What the kernels of pairs of records do, pair by pair."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

NONE = -1


def jaccard(one: set[int], two: set[int]) -> float:
    return len(one & two) / len(one | two) if one and two else math.nan


def compare_values(one: Any, two: Any, exact: bool) -> float:
    """Compare two values: sets, or hashes, of which 0 is that of a missing value."""
    if not exact:
        return jaccard(one, two)
    return float(one == two) if one and two else math.nan


def compare_swapped(
    a: Sequence[set[int]],
    b: Sequence[set[int]],
    given: Sequence[float],
    alike: float,
    factor: float,
) -> tuple[float, float] | None:
    """The similarities of two fields compared crosswise, if these are higher."""
    crosswise = [jaccard(a[0], b[1]), jaccard(a[1], b[0])]
    there = [s for s in crosswise if not math.isnan(s)]
    straight = [s for s in given if not math.isnan(s)]
    mean = sum(there) / len(there) if there else 0.0
    before = sum(straight) / len(straight) if straight else 0.0
    if not there or mean < alike or factor * mean <= before:
        return None
    high, low = sorted(crosswise, key=lambda s: (math.isnan(s), -s))
    return factor * high, factor * low


def count_crosswise(a: Sequence[int], b: Sequence[int], one: int, two: int) -> bool:
    """Whether two values of two records, 0 for a missing one, are equal crosswise and differ."""
    p, q = a[one], a[two]
    return bool(p and q and p != q and (p, q) == (b[two], b[one]))


def tally_classes(of: Sequence[Sequence[int]], weights: Sequence[float], coarse: Any) -> Any:
    """The weights of pairs by (field, class), and by (field, field, level, level)."""
    single: dict[Any, float] = {}
    double: dict[Any, float] = {}
    for row, weight in zip(of, weights, strict=True):
        for k, c in enumerate(row):
            single[k, c] = single.get((k, c), 0) + weight
            for other in range(k):
                key = other, k, int(coarse[row[other]]), int(coarse[c])
                double[key] = double.get(key, 0) + weight
    return single, double


def add_weights(
    of: list[int], weights: Any, ratios: Any, coarse: Any, edges: Sequence[tuple[int, int]]
) -> float:
    """The weight of the classes of a pair, less that of dependences."""
    total = sum(weights[k, c] for k, c in enumerate(of))
    for e, (x, y) in enumerate(edges):
        if NONE not in (of[x], of[y]):
            total -= ratios[e, coarse[of[x]], coarse[of[y]]]
    return float(total)


def add_rarity(of: list[int], counts: Sequence[Sequence[int]], scale: Any, typical: Any) -> float:
    """How much rarer the values of two records are than those of matches; 0 of a class without."""
    added = 0.0
    for k, c in enumerate(of):
        if not math.isnan(typical[k, c]):
            shares = [1 / max(int(row[k]) - 1, 0.5) for row in counts]
            added += math.log(sum(shares) / 2) + scale[k] - typical[k, c]
    return added


def weigh_sets(members: set[int], weights: Any) -> float:
    return float(sum(float(weights[v % len(weights)]) for v in members))


def weigh_shared(one: set[int], two: set[int], weights: Any) -> float:
    return weigh_sets(one & two, weights)


def keep_lowest(
    keys: Sequence[int], a: Sequence[int], b: Sequence[int], room: Sequence[int]
) -> list[list[int]]:
    """The lowest keys of the pairs of each record, so many as there is room for, ascending."""
    every: list[list[int]] = [[] for _ in room]
    for key, x, y in zip(keys, a, b, strict=True):
        every[x].append(key)
        every[y].append(key)
    return [sorted(of)[:most] for of, most in zip(every, room, strict=True)]
