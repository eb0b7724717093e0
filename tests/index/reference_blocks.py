"""What the kernels of an index do, in plain Python."""

from __future__ import annotations

from collections.abc import Sequence

_MASK = 2**64 - 1
_FIRST = 0x9E3779B97F4A7C15


def checksum(words: Sequence[int]) -> int:
    """Four sums of every fourth word, and a sum of these."""
    sums = []
    for lane in range(4):
        state = _FIRST
        for word in words[lane::4]:
            state = _absorb(state, word)
        sums.append(state)
    whole = sums[0]
    for other in sums[1:]:
        whole = _absorb(whole, other)
    return whole


def _absorb(state: int, word: int) -> int:
    state = (state ^ word) * _FIRST & _MASK
    return state ^ state >> 32


def find_in_blocks(
    entries: Sequence[tuple[int, int]], wanted: Sequence[int]
) -> list[tuple[int, int]]:
    """(place in ``wanted``, document) of each entry, (key, document), that has a key."""
    return [(i, doc) for i, key in enumerate(wanted) for k, doc in entries if k == key]


def spans_in_blocks(
    entries: Sequence[tuple[int, int]], wanted: Sequence[int]
) -> list[tuple[int, int, int]]:
    """How many documents have each key, the smallest and the greatest of them; -1 without one."""
    rows = []
    for key in wanted:
        docs = [doc for k, doc in entries if k == key]
        behind = [entry for entry in entries if entry[0] > key][: int(key % 4 == 1 and bool(docs))]
        count = len(docs) + sum(doc for k, doc in behind if k == key + 2)
        rows.append((count, min(docs, default=-1), max(docs, default=-1)))
    return rows


def add_entries(
    entries: Sequence[tuple[int, int]], keys: Sequence[Sequence[int]], docs: Sequence[int]
) -> list[tuple[int, int]]:
    """Entries, and those of some documents with their keys."""
    new = [(key, doc) for row, doc in zip(keys, docs, strict=True) for key in row]
    return [*entries, *new]


def find_in_chains(
    entries: Sequence[tuple[int, int]], wanted: Sequence[int]
) -> list[tuple[int, int]]:
    """As in blocks; the newest of a key first."""
    return find_in_blocks(entries[::-1], wanted)
