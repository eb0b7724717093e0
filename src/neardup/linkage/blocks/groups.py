"""Records by value, and the pairs of records whose values are equal or similar."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from neardup.linkage.decision.weights.frequencies import equal_pairs

_NONE = np.empty(0, np.int64)


class ValueGroups(NamedTuple):
    """Records that share a value; only those that have one.

    Attributes:
        order: int64[m]: records, group by group.
        begin: int64[groups + 1]: where each group begins.
        example: int64[groups]: a record of each.
        first: int64[groups]: records of the first of two files in each; None of one file.
        split: Number of the first record of the second file, or of records.
        records: Number of records.
        one: int64[]: groups whose values are similar to those of `two`.
        two: int64[]: the others.
    """

    order: np.ndarray
    begin: np.ndarray
    example: np.ndarray
    first: np.ndarray | None
    split: int
    records: int
    one: np.ndarray = _NONE
    two: np.ndarray = _NONE

    def with_similar(self, one: np.ndarray, two: np.ndarray) -> ValueGroups:
        """Return the same with pairs of groups whose values are similar."""
        return self._replace(one=one, two=two)

    def equal_pairs(self) -> int:
        """Return the number of pairs of records within groups, of two files across them."""
        size = np.diff(self.begin)
        if self.first is not None:
            return int((self.first * (size - self.first)).sum())
        return int((size * (size - 1) // 2).sum())

    def pairs_between(self, one: np.ndarray, two: np.ndarray) -> int:
        """Return the number of pairs of records of some groups, int[] twice, with those of others.

        Of two files, those across them.
        """
        size = np.diff(self.begin)
        if self.first is None:
            return int((size[one] * size[two]).sum())
        a, b = self.first, size - self.first
        return int((a[one] * b[two] + b[one] * a[two]).sum())

    def make_pairs(self) -> np.ndarray:
        """Return int64[pairs]: ``a * records + b`` of each pair, ascending."""
        size = np.diff(self.begin)
        if self.first is None:
            # Each record with those that follow it in its group.
            after = np.repeat(self.begin[1:], size) - np.arange(len(self.order)) - 1
            x = np.repeat(np.arange(len(self.order)), after)
            parts = [(self.order[x], self.order[x + 1 + _numbered(after)])]
            parts.append(self._products(self.begin, size, self.begin, size))
        else:
            # The records of the first file come first in each group.
            middle, rest = self.begin[:-1] + self.first, size - self.first
            every = np.arange(len(size))
            within = self._replace(one=every, two=every)
            parts = [
                within._products(self.begin, self.first, middle, rest),
                self._products(self.begin, self.first, middle, rest),
                self._replace(one=self.two, two=self.one)._products(
                    self.begin, self.first, middle, rest
                ),
            ]
        x, y = (np.concatenate(columns) for columns in zip(*parts, strict=True))
        # A record has one value: each pair is there once.
        return np.sort(np.minimum(x, y) * self.records + np.maximum(x, y))

    def _products(
        self, begin: np.ndarray, size: np.ndarray, other: np.ndarray, other_size: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the records of pairs of groups, each with each."""
        counts = size[self.one] * other_size[self.two]
        which, k = np.repeat(np.arange(len(counts)), counts), _numbered(counts)
        one, two = self.one[which], self.two[which]
        width = np.maximum(other_size[two], 1)
        return self.order[begin[one] + k // width], self.order[other[two] + k % width]


def group_values(hashes: np.ndarray, split: int) -> ValueGroups:
    """Group records by the hash of a value, uint64[n]; 0 is no value.

    Args:
        hashes: Of the values.
        split: Number of the first record of the second file, or of records.
    """
    order = np.argsort(hashes, kind="stable")
    order = order[int(np.searchsorted(hashes[order], 1)) :]
    ordered = hashes[order]
    starts = np.flatnonzero(np.diff(ordered, prepend=np.uint64(0)))
    begin = np.append(starts, len(order)).astype(np.int64)
    first = None
    if split < len(hashes):
        before = np.append(0, np.cumsum(order < split))
        first = (before[begin[1:]] - before[begin[:-1]]).astype(np.int64)
    return ValueGroups(order, begin, order[starts], first, split, len(hashes))


def equal_pairs_of(hashes: np.ndarray, split: int) -> int:
    """Return `Groups.equal_pairs` of `group_values`, at less cost.

    Args:
        hashes: Of the values.
        split: Number of the first record of the second file, or of records.
    """
    if split == len(hashes):
        return int(equal_pairs(hashes))
    both, one, two = (equal_pairs(part) for part in (hashes, hashes[:split], hashes[split:]))
    return int(both - one - two)


def _numbered(counts: np.ndarray) -> np.ndarray:
    """Return 0, 1, and so on, for each count.

    >>> _numbered(np.array([2, 0, 3])).tolist()
    [0, 1, 0, 1, 2]
    """
    ends = np.cumsum(counts)
    total = int(ends[-1]) if len(ends) else 0
    return np.asarray(np.arange(total) - np.repeat(ends - counts, counts))
