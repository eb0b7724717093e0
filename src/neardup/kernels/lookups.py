"""Keys of the persistent index to documents: in sorted blocks, and in a hash table."""

from typing import NamedTuple

import numpy as np

from neardup.kernels.bits import TOKEN_MULTIPLIER
from neardup.kernels.compiling import inner, kernel
from neardup.kernels.searching import first_not_below

#: Entries of a block: its keys, then its documents.
ENTRIES = 2048
#: Share of the range of keys that is one.
_EVEN = 2.0**-64
#: Greatest key.
_LAST = np.uint64(2**64 - 1)
#: Keys that are looked up together.
_TOGETHER = 64
#: Words of 8 bytes of a block.
STRIDE = ENTRIES + ENTRIES // 2


class KeyBlocks(NamedTuple):
    """Blocks of `STRIDE` words: `ENTRIES` sorted keys, then the documents that have them."""

    words: np.ndarray  # uint64[blocks * STRIDE]
    halves: np.ndarray  # uint32[2 * blocks * STRIDE]: the same memory
    fences: np.ndarray  # uint64[blocks]: the first key of each
    sums: np.ndarray  # uint64[blocks]: the `checksum` of each
    verified: np.ndarray  # bool[blocks]: which of them were checked


class Chains(NamedTuple):
    """Keys with documents in a hash table that grows, those of a slot linked to one another."""

    last: np.ndarray  # int32[power of two]: newest entry of each slot; -1 for none
    keys: np.ndarray  # uint64[capacity]
    docs: np.ndarray  # int64[capacity]
    before: np.ndarray  # int32[capacity]: the entry of the slot before each; -1 for none


@inner
def _absorb(state, word):
    """Take a word into a checksum: a bijection of either, which loses no single change."""
    state = (state ^ word) * TOKEN_MULTIPLIER
    return state ^ state >> np.uint64(32)


@kernel
def checksum(words, first, last):
    """Return a checksum, uint64, of ``words[first:last]``, a multiple of four words.

    A change within one word always changes it. Four sums get words alternately: each waits for its
    own last step. crc32 takes thirty times as long.

    Args:
        words: uint64[]: words.
        first: int: first word.
        last: int: word after the last.
    """
    a, b, c, d = TOKEN_MULTIPLIER, TOKEN_MULTIPLIER, TOKEN_MULTIPLIER, TOKEN_MULTIPLIER
    for i in range(first, last, 4):
        a, b = _absorb(a, words[i]), _absorb(b, words[i + 1])
        c, d = _absorb(c, words[i + 2]), _absorb(d, words[i + 3])
    return _absorb(_absorb(_absorb(a, b), c), d)


@inner
def _below(values, key, low, high, share):
    """Return the first index of a sorted range that is not below a key.

    Keys are hashes: ``share`` estimates the index within the range. A search from there outwards
    reads few lines of memory, where halving all of the range would read one at each step.
    """
    step = np.int64(16)
    guess = low + np.int64(share * (high - low))
    if guess < high and values[guess] < key:
        low = guess + 1
        while low + step < high and values[low + step] < key:
            low += step + 1
            step *= 4
        high = min(high, low + step)
    else:
        high = min(high, guess)
        while high - step > low and values[high - step] >= key:
            high -= step
            step *= 4
        low = max(low, high - step)
    return first_not_below(values, low, high, key)


@kernel
def find_in_blocks(blocks, entries, keys, rows, docs, count):
    """Find the documents that have some keys, in blocks that are checked when first read.

    The last one of the `KeyBlocks` is filled up with keys that no document has; ``entries`` are of
    documents. Those that have the ``keys``, uint64[n], are written from ``count`` on, as far as
    they fit: ascending indices in ``keys`` to ``rows``, documents to ``docs``, int64[capacity]
    each. Returns the number of those found so far; -1 if a block is damaged.

    Args:
        blocks: `KeyBlocks`.
        entries: int: entries of documents.
        keys: uint64[n]: keys that are searched for.
        rows: int64[capacity]: gets indices in ``keys``, ascending.
        docs: int64[capacity]: gets documents.
        count: int: entries of both that are there already.
    """
    words, halves, fences, sums, verified = blocks
    first_block, share = np.empty(_TOGETHER, np.int64), np.empty(_TOGETHER, np.float64)
    touched = np.empty(_TOGETHER, np.uint64)
    for first in range(0, keys.shape[0], _TOGETHER):
        batch = min(keys.shape[0] - first, _TOGETHER)
        for i in range(batch):
            key = keys[first + i]
            block = max(_below(fences, key, 0, fences.shape[0], key * _EVEN) - 1, 0)
            first_block[i] = block
            share[i] = 0.0
            if block < fences.shape[0]:
                low = fences[block]
                high = fences[block + 1] if block + 1 < fences.shape[0] else _LAST
                if key > low:
                    share[i] = min(np.float64(key - low) / np.float64(high - low), 1.0)
        # Reads that wait for nothing but memory, all at the same time.
        for i in range(batch):
            if first_block[i] < fences.shape[0]:
                guess = np.int64(share[i] * (ENTRIES - 1))
                begin = first_block[i] * STRIDE
                touched[i] = words[begin + guess] ^ words[begin + max(guess - 16, 0)]
                touched[i] ^= words[begin + min(guess + 16, ENTRIES - 1)]
        for i in range(batch):
            key, block = keys[first + i], first_block[i]
            entry = np.int64(-1)
            while block < fences.shape[0]:
                begin = block * STRIDE
                if not verified[block]:
                    if checksum(words, begin, begin + STRIDE) != sums[block]:
                        return np.int64(-1)
                    verified[block] = True
                if entry < 0:
                    entry = _below(words, key, begin, begin + ENTRIES, share[i]) - begin
                end = min(entries - block * ENTRIES, ENTRIES)
                while entry < end and words[begin + entry] == key:
                    if count < rows.shape[0]:
                        rows[count] = first + i
                        docs[count] = halves[2 * (begin + ENTRIES) + entry]
                    count += 1
                    entry += 1
                if entry < ENTRIES:
                    break
                block, entry = block + 1, 0  # the key may go on in the next one
    return count


@inner
def _is_intact(blocks, block):
    """Whether a block is as it was written; it is checked when first read."""
    words, _, _, sums, verified = blocks
    if not verified[block]:
        if checksum(words, block * STRIDE, (block + 1) * STRIDE) != sums[block]:
            return False
        verified[block] = True
    return True


@kernel
def spans_in_blocks(blocks, entries, keys, counts, firsts, lasts):
    """Count the documents of some keys, and find the smallest and the greatest of each.

    Those of a key are in ascending order. Where the key ends in the bits 01, and the entry behind
    them is of the key that ends in 11, this has the number of more documents, between them. Returns
    False if a block is damaged.

    Args:
        blocks: `KeyBlocks`, as for `find_in_blocks`.
        entries: int: entries of documents.
        keys: uint64[n]: keys that are searched for.
        counts: int64[n]: the documents of each are added.
        firsts: int64[n]: becomes the smallest document, if that is smaller.
        lasts: int64[n]: becomes the greatest document, if that is greater.
    """
    words, halves, fences, _, _ = blocks
    total = fences.shape[0]
    for i in range(keys.shape[0]):
        key = keys[i]
        first = max(_below(fences, key, 0, total, key * _EVEN) - 1, 0)
        if first >= total or not _is_intact(blocks, first):
            if first >= total:
                continue
            return False
        begin = first * STRIDE
        low = fences[first]
        high = fences[first + 1] if first + 1 < total else _LAST
        share = 0.0
        if key > low and high > low:
            share = min(np.float64(key - low) / np.float64(high - low), 1.0)
        entry = _below(words, key, begin, begin + ENTRIES, share) - begin
        if entry == ENTRIES:  # of the next one
            first, entry = first + 1, 0
            if first >= total:
                continue
            if not _is_intact(blocks, first):
                return False
            begin = first * STRIDE
        if first * ENTRIES + entry >= entries or words[begin + entry] != key:
            continue
        last, end = total - 1, np.int64(ENTRIES)
        if key != _LAST:
            last = _below(fences, key + np.uint64(1), first, total, 0.0) - 1
            last = max(last, first)
            if not _is_intact(blocks, last):
                return False
            start = last * STRIDE
            share = (entry + 1) / ENTRIES if last == first else 0.0
            end = _below(words, key + np.uint64(1), start, start + ENTRIES, share) - start
        elif not _is_intact(blocks, last):
            return False
        end = min(last * ENTRIES + end, entries) - last * ENTRIES
        counts[i] += (last - first) * ENTRIES + end - entry
        more = last * ENTRIES + end
        if key & np.uint64(3) == np.uint64(1) and more < entries:
            block, within = more // ENTRIES, more % ENTRIES
            if not _is_intact(blocks, block):
                return False
            if words[block * STRIDE + within] == key | np.uint64(2):
                counts[i] += np.int64(halves[2 * (block * STRIDE + ENTRIES) + within])
        doc = np.int64(halves[2 * (first * STRIDE + ENTRIES) + entry])
        firsts[i] = min(firsts[i], doc)
        doc = np.int64(halves[2 * (last * STRIDE + ENTRIES) + end - 1])
        lasts[i] = max(lasts[i], doc)
    return True


@kernel
def add_entries(chains, first, keys, docs):
    """Add documents, int64[m], with their keys, uint64[m, bands], from entry ``first`` on.

    Args:
        chains: `Chains`.
        first: int: first entry.
        keys: uint64[m, bands]: keys of each document.
        docs: int64[m]: documents.
    """
    mask = np.uint64(chains.last.shape[0] - 1)
    at = np.int64(first)
    for d in range(keys.shape[0]):
        for band in range(keys.shape[1]):
            slot = np.int64(keys[d, band] & mask)
            chains.keys[at], chains.docs[at] = keys[d, band], docs[d]
            chains.before[at] = chains.last[slot]
            chains.last[slot] = at
            at += 1


@kernel
def find_in_chains(chains, keys, rows, docs, count):
    """Find documents as `find_in_blocks` does; documents of a key come newest first.

    Args:
        chains: `Chains`.
        keys: uint64[n]: keys that are searched for.
        rows: int64[capacity]: gets indices in ``keys``, ascending.
        docs: int64[capacity]: gets documents.
        count: int: entries of both that are there already.
    """
    mask = np.uint64(chains.last.shape[0] - 1)
    for i in range(keys.shape[0]):
        entry = np.int64(chains.last[np.int64(keys[i] & mask)])
        while entry >= 0:
            if chains.keys[entry] == keys[i]:
                if count < rows.shape[0]:
                    rows[count], docs[count] = i, chains.docs[entry]
                count += 1
            entry = np.int64(chains.before[entry])
    return count
