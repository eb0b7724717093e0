"""Marks of anchors with equal keys, and rows in the order of parts."""

from __future__ import annotations

import random
from itertools import accumulate

import numpy as np
import pytest
import reference_passages as reference

from neardup.kernels.passages import anchoring

pytestmark = pytest.mark.jit_off
SEEDS = range(30)


@pytest.mark.parametrize("seed", SEEDS)
def test_mark_and_divide(seed: int) -> None:
    rng = random.Random(seed)
    size = rng.randrange(1, 50)
    rows, marks, total = [], [0] * size, 0
    for number in rng.sample(range(size), rng.randrange(size + 1)):
        more, mark = rng.randrange(min(3, size - number)), rng.choice([1, 2, 3])
        rows.append(number | more << int(anchoring.COUNT) | mark << int(anchoring.MARK))
        for k in range(number, number + more + 1):
            marks[k] |= mark if k == number else min(mark, 2)
        total += more + 1
    bits = np.zeros((size + 3) // 4, np.uint8)
    assert anchoring.mark(bits, np.array(rows, np.int64)) == total
    found = np.unpackbits(bits, bitorder="little").reshape(-1, 2)[:size]
    assert (found[:, 0] + 2 * found[:, 1]).tolist() == marks

    keys = [rng.randrange(2**64) for _ in range(size)]
    parts = rng.randrange(1, 9)
    order, ends = np.empty(size, np.int64), np.empty(parts + 1, np.int64)
    anchoring.divide(np.array(keys, np.uint64), parts, order, ends)
    divided = [order[ends[p] : ends[p + 1]].tolist() for p in range(parts)]
    assert divided == reference.divide(keys, parts)


@pytest.mark.parametrize("seed", SEEDS)
def test_rows_with_equal_keys(seed: int) -> None:
    rng = random.Random(seed)
    lists = [
        [
            (rng.randrange(rng.choice([1, 2, 5])), rng.random() < 0.1)
            for _ in range(rng.choice([2, 3, 5, 8, 64, 65, 80]))
        ]
        for _ in range(rng.randrange(5))
    ]
    every = [row for each in lists for row in each]
    members = np.array(rng.sample(range(len(every)), len(every)), np.int32)
    starts = np.array([0, *accumulate(map(len, lists))], np.int32)
    contents, rows = np.empty(len(every), np.uint64), np.empty(len(every), np.int64)
    contents[members] = [content for content, _ in every]
    numbers = rng.sample(range(1000), len(every))
    more = 1 << int(anchoring.COUNT)
    rows[members] = [
        number + more * has_more for number, (_, has_more) in zip(numbers, every, strict=True)
    ]
    found = np.empty(len(every), np.int64)
    count = anchoring.equal_contents(members, starts, contents, rows, found)
    expected, first = [], 0
    for each in lists:
        of = [(*row, number) for row, number in zip(each, numbers[first:], strict=False)]
        marks = reference.equal_contents(of)
        expected += [
            number + more * has_more + (mark << int(anchoring.MARK))
            for (_, has_more, number), mark in zip(of, marks, strict=True)
        ]
        first += len(each)
    assert found[:count].tolist() == expected


@pytest.mark.parametrize("seed", SEEDS)
def test_join_anchors(seed: int) -> None:
    rng = random.Random(seed)
    anchors = list[tuple[int, int]]()
    for _ in range(rng.randrange(12)):
        anchor = rng.randrange(rng.choice([2, 9])), rng.randrange(2)
        anchors += [anchor] * rng.choice([1, 1, 2, 3, 9])
    keys, contents = (np.array([a[k] for a in anchors], np.uint64) for k in range(2))
    kinds, first = (np.uint64, np.int64, np.uint64), rng.randrange(99)
    out = tuple(np.empty(len(anchors), kind) for kind in kinds)
    count = anchoring.join_anchors(keys, contents, first, out)
    found = list(zip(*(column[:count].tolist() for column in out), strict=True))
    assert found == [
        (key, number | more << int(anchoring.COUNT), content)
        for key, number, more, content in reference.join_anchors(anchors, first)
    ]
