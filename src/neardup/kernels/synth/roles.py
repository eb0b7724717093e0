"""Who is made from whom: role, source, length and number of edits of each position."""

from __future__ import annotations

from typing import Any

import numpy as np

from neardup.kernels.hashing import mix
from neardup.kernels.synth.draws import (
    GOLDEN,
    LENGTH_STREAM,
    PERMUTATION_STREAM,
    SHARE_STREAM,
    SOURCE_STREAM,
    U32,
    Whole,
    below,
    draw_key,
    jit,
)

__all__ = [
    "EXACT",
    "FAMILY",
    "NEAR",
    "ORIGINAL",
    "edits_of",
    "family_firsts",
    "length_of",
    "plan_range",
    "role_of",
    "source_of",
]

ORIGINAL, NEAR, EXACT, FAMILY = 0, 1, 2, 3

_ROUNDS = 6
_TRIES = 4096


@jit
def _half_round(turn: int, half: int, seed: Any, bits: int) -> Whole:
    """The round function of the permutation: ``bits`` bits from the other half."""
    draw = mix(draw_key(seed, PERMUTATION_STREAM, turn) ^ np.uint64(half))
    return np.int64(draw >> U32) & ((1 << bits) - 1)


@jit
def _permuted(start: int, s: Any, back: bool) -> Whole:
    """Pseudo-random permutation of [0, documents - 1): rank of a position, or back.

    An alternating Feistel network over the next power of two, walked until it is back in range
    (Black and Rogaway 2002, methods 2 and 3): expected number of walks below 2, no memory. Each
    round is its own inverse, so that the rounds in reverse are the way back.
    """
    size = s.documents - 1
    x = start
    while True:
        left, right = x >> s.right_bits, x & ((1 << s.right_bits) - 1)
        for step in range(_ROUNDS):
            turn = _ROUNDS - 1 - step if back else step
            if turn & 1:
                left ^= _half_round(turn, right, s.seed, s.left_bits)
            else:
                right ^= _half_round(turn, left, s.seed, s.right_bits)
        x = (left << s.right_bits) | right
        if x < size:
            return x


@jit
def role_of(doc: int, s: Any, t: Any) -> Any:
    """(role, family) of a position; family is -1 where there is none.

    Ranks are shared out in order: families, near-duplicates, exact copies, originals. Every number
    is met exactly, and the permutation spreads them. Position 0 stays outside: always original.
    """
    if doc == 0:
        return ORIGINAL, -1
    rank = _permuted(doc - 1, s, False)
    bounds = t.family_bounds
    if rank < bounds[-1]:
        return FAMILY, np.searchsorted(bounds, rank, side="right") - 1
    rank -= bounds[-1]
    if rank < s.near:
        return NEAR, -1
    if rank < s.near + s.exact:
        return EXACT, -1
    return ORIGINAL, -1


@jit
def source_of(doc: int, s: Any, t: Any) -> Whole:
    """An earlier original, each equally likely; position 0 where none is met in 4096 draws."""
    state = draw_key(s.seed, SOURCE_STREAM, doc)
    for _ in range(_TRIES):
        state += GOLDEN
        candidate = below(mix(state), doc)
        if role_of(candidate, s, t)[0] == ORIGINAL:
            return candidate
    return 0


@jit
def length_of(doc: int, s: Any) -> Whole:
    """Words of an original: Beta(2, 4) over the range, so its mean is at a third of it.

    The second smallest of five uniform draws has that distribution.
    """
    state = draw_key(s.seed, LENGTH_STREAM, doc)
    first = second = np.int64(1) << 32
    for _ in range(5):
        state += GOLDEN
        draw = np.int64(mix(state) >> U32)
        if draw < first:
            first, second = draw, first
        elif draw < second:
            second = draw
    return s.words_low + ((second * (s.words_high - s.words_low + 1)) >> 32)


@jit
def edits_of(doc: int, length: int, s: Any) -> Whole:
    """How many of the ``length`` words of its source a near-duplicate changes.

    The share is uniform over the range asked for; rounding never leaves the range where a whole
    number of words lies in it.
    """
    unit = np.int64(draw_key(s.seed, SHARE_STREAM, doc) >> U32) / 4294967296.0
    share = s.changed_low + (s.changed_high - s.changed_low) * unit
    least = np.int64(np.ceil(s.changed_low * length - 1e-9))
    most = np.int64(np.floor(s.changed_high * length + 1e-9))
    return min(max(np.int64(np.floor(share * length + 0.5)), least), most)


@jit
def plan_range(
    start: int, stop: int, s: Any, t: Any, roles: Any, sources: Any, families: Any, changed: Any
) -> None:
    """Say what each position of [start, stop) is, without making any text; about 0.2 us each.

    Args:
        start, stop: Positions.
        s, t: ``Setting`` and ``Tables``.
        roles: int8 (count,), out: ``ORIGINAL``, ``NEAR``, ``EXACT`` or ``FAMILY``.
        sources: int64 (count,), out: position of the source, or -1.
        families: int32 (count,), out: number of the family, or -1.
        changed: float64 (count,), out: words changed / words of the source, or NaN.
    """
    for doc in range(start, stop):
        i = doc - start
        role, family = role_of(doc, s, t)
        roles[i] = role
        families[i] = family
        sources[i] = -1
        changed[i] = np.nan
        if role in (NEAR, EXACT):
            sources[i] = source_of(doc, s, t)
        if role == NEAR:
            length = length_of(sources[i], s)
            changed[i] = edits_of(doc, length, s) / length


@jit
def family_firsts(s: Any, t: Any, firsts: Any) -> None:
    """Find the lowest position of each family.

    Args:
        s, t: ``Setting`` and ``Tables``.
        firsts: int64 (families,), out.
    """
    for family in range(firsts.size):
        lowest = s.documents
        for rank in range(t.family_bounds[family], t.family_bounds[family + 1]):
            lowest = min(lowest, _permuted(rank, s, True) + 1)
        firsts[family] = lowest
