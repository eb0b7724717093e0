"""Records by value, and the pairs of records whose values are equal or similar."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from neardup.linkage.decision.weights.frequencies import equal_pairs

_NONE = np.empty(0, np.int64)
#: Files of which each is counted by itself.
_FEW = 8


class ValueGroups(NamedTuple):
    """Records that share a value; only those that have one.

    Attributes:
        order: int64[m]: records, group by group, and in a group file by file.
        begin: int64[groups + 1]: where each group begins.
        example: int64[groups]: a record of each.
        apart: int32[records]: file of each record, where pairs are across files only; else None.
        records: Number of records.
        sizes: int64[groups] for each of a few files: how many records of the group are its.
        one: int64[]: groups whose values are similar to those of `two`.
        two: int64[]: the others.
    """

    order: np.ndarray
    begin: np.ndarray
    example: np.ndarray
    apart: np.ndarray | None
    records: int
    sizes: tuple[np.ndarray, ...] = ()
    one: np.ndarray = _NONE
    two: np.ndarray = _NONE

    def with_similar(self, one: np.ndarray, two: np.ndarray) -> ValueGroups:
        """Return the same with pairs of groups whose values are similar."""
        return self._replace(one=one, two=two)

    def equal_pairs(self) -> int:
        """Return the number of pairs of records within groups, or of those across files."""
        size = np.diff(self.begin)
        pairs = int((size * (size - 1) // 2).sum())
        if self.apart is not None:
            part = np.diff(self._parts())
            pairs -= int((part * (part - 1) // 2).sum())
        return pairs

    def pairs_between(self, one: np.ndarray, two: np.ndarray) -> int:
        """Return the number of pairs of records of some groups, int[] twice, with those of others.

        Or of those across files, of which pairs within a file are left out if there are few files.
        """
        size = np.diff(self.begin)
        pairs = int((size[one] * size[two]).sum())
        return pairs - sum(int((of[one] * of[two]).sum()) for of in self.sizes)

    def make_pairs(self) -> np.ndarray:
        """Return int64[pairs]: ``a * records + b`` of each pair, ascending."""
        begin, one, two, ends = self.begin, self.one, self.two, np.arange(len(self.order)) + 1
        if self.apart is not None:
            begin = self._parts()
            ends = np.repeat(begin[1:], np.diff(begin))
            # Pairs of groups become those of their parts that are of different files.
            parts = np.searchsorted(begin, self.begin)
            one, two = _products(parts, one, two)
            file = self.apart[self.order[begin[:-1]]]
            across = file[one] != file[two]
            one, two = one[across], two[across]
        # Each record with those that follow it in its group, after its own file.
        after = np.repeat(self.begin[1:], np.diff(self.begin)) - ends
        x = np.repeat(np.arange(len(self.order)), after)
        similar = _products(begin, one, two)
        x, y = (
            self.order[np.concatenate(columns)]
            for columns in zip((x, ends[x] + _numbered(after)), similar, strict=True)
        )
        # A record has one value: each pair is there once.
        return np.sort(np.minimum(x, y) * self.records + np.maximum(x, y))

    def _parts(self) -> np.ndarray:
        """Return int64[parts + 1]: where the records of a file begin in each group."""
        assert self.apart is not None
        new = np.diff(self.apart[self.order], prepend=-1) != 0
        new[self.begin[:-1]] = True
        return np.append(np.flatnonzero(new), len(self.order))


def group_values(hashes: np.ndarray, apart: np.ndarray | None) -> ValueGroups:
    """Group records by the hash of a value, uint64[n]; 0 is no value.

    Args:
        hashes: Of the values.
        apart: See `ValueGroups`.
    """
    order = np.argsort(hashes, kind="stable")
    order = order[int(np.searchsorted(hashes[order], 1)) :]
    ordered = hashes[order]
    starts = np.flatnonzero(np.diff(ordered, prepend=np.uint64(0)))
    begin = np.append(starts, len(order)).astype(np.int64)
    sizes = list[np.ndarray]()
    if apart is not None and apart.max(initial=0) < _FEW:
        for file in range(int(apart.max(initial=0)) + 1):
            before = np.append(0, np.cumsum(apart[order] == file))
            sizes.append(before[begin[1:]] - before[begin[:-1]])
    return ValueGroups(order, begin, order[starts], apart, len(hashes), tuple(sizes))


def equal_pairs_of(hashes: np.ndarray, apart: np.ndarray | None) -> int:
    """Return `Groups.equal_pairs` of `group_values`, at less cost.

    Args:
        hashes: Of the values.
        apart: See `ValueGroups`.
    """
    files = [] if apart is None else np.split(hashes, np.flatnonzero(np.diff(apart)) + 1)
    return int(equal_pairs(hashes) - sum(map(equal_pairs, files)))


def _products(begin: np.ndarray, one: np.ndarray, two: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return int64[] twice: the members of pairs of groups, each with each."""
    size = np.diff(begin)
    counts = size[one] * size[two]
    which, k = np.repeat(np.arange(len(counts)), counts), _numbered(counts)
    one, two = one[which], two[which]
    width = np.maximum(size[two], 1)
    return begin[one] + k // width, begin[two] + k % width


def _numbered(counts: np.ndarray) -> np.ndarray:
    """Return 0, 1, and so on, for each count.

    >>> _numbered(np.array([2, 0, 3])).tolist()
    [0, 1, 0, 1, 2]
    """
    ends = np.cumsum(counts)
    total = int(ends[-1]) if len(ends) else 0
    return np.asarray(np.arange(total) - np.repeat(ends - counts, counts))
