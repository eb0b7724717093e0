"""Edges put in order: hashes of pairs, and a counting sort."""

from __future__ import annotations

from numba import njit

from neardup.kernels.hashing import TOKEN_MULTIPLIER, mix

__all__ = ["pair_hashes", "scatter"]


@njit(cache=True, nogil=True)
def pair_hashes(hashes, a, b, out):
    """Hash each unordered pair of hashes.

    Args:
        hashes: uint64[documents].
        a, b: int32[pairs].
        out: uint64[pairs], out.
    """
    for i in range(a.shape[0]):
        x, y = hashes[a[i]], hashes[b[i]]
        out[i] = mix(max(x, y) * TOKEN_MULTIPLIER ^ min(x, y))


@njit(cache=True, nogil=True)
def scatter(classes, begins, a, b, similarity, out_a, out_b, out_similarity):
    """Put edges where those of their class go, in the order in which they come.

    Args:
        classes: uint16[edges].
        begins: int64[], in, out: where the next edge of each class goes.
        a, b, similarity: int32[edges], int32[edges], float64[edges].
        out_a, out_b, out_similarity: The same for all edges together, out.
    """
    for i in range(classes.shape[0]):
        at = begins[classes[i]]
        out_a[at], out_b[at], out_similarity[at] = a[i], b[i], similarity[i]
        begins[classes[i]] = at + 1
