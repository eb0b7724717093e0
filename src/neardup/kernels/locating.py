"""Keys in sorted blocks that are mapped from a file: where each of some keys begins and ends."""

from __future__ import annotations

from numba import njit

#: Entries of a block: its keys, then its documents.
ENTRIES = 2048
#: Words of 8 bytes of a block.
STRIDE = ENTRIES + ENTRIES // 2


@njit(cache=True, nogil=True)
def _below(values, key, low, high, equal):
    """Return the first place of a sorted range that is not below a key, or not equal either."""
    while low < high:
        middle = (low + high) >> 1
        value = values[middle]
        if value < key or (equal and value == key):
            low = middle + 1
        else:
            high = middle
    return low


@njit(cache=True, nogil=True)
def locate(blocks, fences, verified, wanted, low, high, needed):
    """Find the entries of some keys.

    Args:
        blocks: uint64[]: blocks of `STRIDE` words, each with `ENTRIES` sorted keys first; the last
            one ends with keys that no document has.
        fences: uint64[blocks]: the first key of each.
        verified: bool[blocks]: which of them were checked.
        wanted: uint64[n]: keys.
        low: int64[n], out: the first entry of each key.
        high: int64[n], out: the entry after its last one.
        needed: bool[blocks], out: true for those that have to be checked first.

    Returns:
        Keys that were not found since a block of theirs has to be checked.
    """
    count = fences.shape[0]
    missing = 0
    for i in range(wanted.shape[0]):
        key = wanted[i]
        first = max(_below(fences, key, 0, count, False) - 1, 0)
        last = max(_below(fences, key, first, count, True) - 1, 0)
        whole = True
        for block in range(first, last + 1):
            if not verified[block]:
                needed[block] = True
                whole = False
        if not whole:
            missing += 1
            continue
        begin = first * STRIDE
        low[i] = first * ENTRIES + _below(blocks, key, begin, begin + ENTRIES, False) - begin
        begin = last * STRIDE
        high[i] = last * ENTRIES + _below(blocks, key, begin, begin + ENTRIES, True) - begin
    return missing
