"""Equal documents: which one represents all with the same tokens, and how duplicates are alike."""

import numpy as np

from neardup.cluster.edges import batches, runs
from neardup.match.bucketing import group

#: Documents that are sorted together, at some 60 bytes each; those of one hash are not split.
_TOGETHER = 1 << 20
#: How a removed document is alike to its ``duplicate_of``: equal bytes, or equal token sequences of
#: other bytes; or similar. Arrays have the position here, and -1 for kept documents.
HOW = ("same", "words", "near")
SAME, WORDS, NEAR = range(3)
_COUNTED = {"same": SAME, "equal_words": WORDS}


def first_of_equal(hashes: np.ndarray, docs: np.ndarray, rank: np.ndarray) -> np.ndarray:
    """Find, for each document, the one that represents all with the same token sequence.

    Args:
        hashes: uint64[documents, 2]: hashes of the token sequences.
        docs: int32[n], ascending: the documents with tokens; the others represent themselves.
        rank: int32[documents]: of equal documents, that of the lowest rank represents the others.

    Returns:
        int32[documents]: that document.
    """
    first = np.arange(len(hashes), dtype=np.int32)
    # Few documents have equal ones: only those whose first half of the hash is shared are sorted.
    members, starts = group(hashes[docs, 0], docs)
    for low, high in runs(np.diff(starts), _TOGETHER):
        batch = members[starts[low] : starts[high]]
        bucket = np.repeat(np.arange(low, high, dtype=np.int32), np.diff(starts[low : high + 1]))
        other = hashes[batch, 1]
        by_hash = np.lexsort((rank[batch], other, bucket))
        batch, other, bucket = batch[by_hash], other[by_hash], bucket[by_hash]
        new = np.ones(len(batch), dtype=np.bool_)
        new[1:] = (bucket[1:] != bucket[:-1]) | (other[1:] != other[:-1])
        first[batch] = batch[np.maximum.accumulate(np.where(new, np.arange(len(batch)), 0))]
    return first


def expand_to_duplicates(
    first: np.ndarray, duplicate_of: np.ndarray, similarity: np.ndarray
) -> None:
    """Give equal documents the answer of the one that represents them, in place.

    That one is the ``first`` of them in keep order. If it is kept (``duplicate_of`` is -1), the
    others are its duplicates; if not, all of them are duplicates of the same kept document.

    Args:
        first: int32[documents]: the document that represents each.
        duplicate_of: int32[documents]: is filled for the others.
        similarity: float64[documents]: likewise.
    """
    others = np.flatnonzero(first != np.arange(len(first), dtype=np.int32))
    represents = first[others]
    kept = duplicate_of[represents] < 0
    duplicate_of[others] = np.where(kept, represents, duplicate_of[represents])
    similarity[others] = np.where(kept, 1.0, similarity[represents])


def how_alike(duplicate_of: np.ndarray, hashes: np.ndarray, contents: np.ndarray) -> np.ndarray:
    """Say how documents are alike to those that they are duplicates of.

    Args:
        duplicate_of: int[documents]: the other one; -1 for a kept document.
        hashes: uint64[documents, 2]: hashes of the token sequences.
        contents: uint64[documents]: hashes of the bytes.

    Returns:
        int8[documents]: positions in `HOW`; -1 for a kept document.
    """
    how = np.full(len(duplicate_of), -1, np.int8)
    for rows in batches(len(how)):
        removed = rows.start + np.flatnonzero(duplicate_of[rows] >= 0)
        pairs = ((hashes[docs], contents[docs]) for docs in (removed, duplicate_of[removed]))
        how[removed] = how_of_pairs(*pairs)
    return how


def how_of_pairs(
    one: tuple[np.ndarray, np.ndarray], other: tuple[np.ndarray, np.ndarray]
) -> np.ndarray:
    """Return the same of pairs, int8[n], by the hashes of tokens and of bytes of both sides."""
    words = (one[0] == other[0]).all(axis=1)
    return np.where(words, np.where(one[1] == other[1], SAME, WORDS), NEAR).astype(np.int8)


def counts_of_kinds(how: np.ndarray) -> dict[str, int]:
    """Return how many documents are equal to their ``duplicate_of``: by bytes, or by words only."""
    return {name: int((how == kind).sum()) for name, kind in _COUNTED.items()}
