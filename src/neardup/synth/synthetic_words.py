"""Sources of synthetic persons: random numbers by position, and invented words.

A draw depends only on the seed, its purpose and its position.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from neardup.synth.demo_notes import COMMON

U64 = npt.NDArray[np.uint64]
I64 = npt.NDArray[np.int64]

_GOLDEN = 0x9E3779B97F4A7C15
_MASK = 2**64 - 1
_ONSETS = "b c d f g h l m n p r s t v z br cl cr dr fl gl gr ph pl pr sc sp st th tr"
_VOWELS = "a e i o u y a e i o ae ia io eu ou"
_CODAS = ["", "", "", "", "l", "m", "n", "r", "s", "x", "ct", "nd", "rt", "st"]
_SUFFIXES = "itis osis oma emia algia ectomy ine ol al ic ous ing ed tion ity ate ide ism s"
_ONSET, _VOWEL, _SUFFIX = _ONSETS.split(), _VOWELS.split(), _SUFFIXES.split()
_ACCENTS = str.maketrans("aeiouyn", "áéïöüýñ")  # of one invented word in 48


class Stream(IntEnum):
    """The purposes of draws, kept apart."""

    LENGTH, TEXT, LAYOUT, SOURCE, SHARE, EDIT, TEMPLATE, SLOT, VALUE, COLUMNS, ORDER = range(1, 12)


def mix(state: U64) -> U64:
    """Return the output function of SplitMix64 (Steele, Lea and Flood 2014) of each number."""
    z = state ^ (state >> np.uint64(30))
    z *= np.uint64(0xBF58476D1CE4E5B9)
    z ^= z >> np.uint64(27)
    z *= np.uint64(0x94D049BB133111EB)
    z ^= z >> np.uint64(31)
    return z


def stream_keys(seed: int, stream: int, positions: npt.NDArray[np.integer]) -> U64:
    """Return 64 random bits for each position, of one purpose."""
    outer = mix(np.array([(seed + stream * _GOLDEN) & _MASK], np.uint64))
    return mix(outer ^ mix(positions.astype(np.uint64) + np.uint64(_GOLDEN)))


def unit(keys: U64) -> npt.NDArray[np.float64]:
    """Return keys as numbers in [0, 1)."""
    return (keys >> np.uint64(11)).astype(np.float64) * np.float64(2.0**-53)


def permute(positions: npt.NDArray[np.integer], size: int, seed: int, back: bool = False) -> I64:
    """Apply a pseudo-random permutation of ``range(size)`` to some numbers, or its inverse.

    A Feistel network over an even number of bits, repeated until the result is below ``size``
    (Black and Rogaway 2002, methods 2 and 3): about two repetitions on average, and no memory.
    """
    half = np.uint64(max(1, ((size - 1).bit_length() + 1) // 2))
    mask = (np.uint64(1) << half) - np.uint64(1)
    rounds = stream_keys(seed, Stream.ORDER, np.arange(6))
    x = positions.astype(np.uint64)
    open_ = np.arange(x.size)
    while open_.size:
        left, right = x[open_] >> half, x[open_] & mask
        for key in rounds[::-1] if back else rounds:
            if back:
                left, right = right ^ (mix(left + key) & mask), left
            else:
                left, right = right, left ^ (mix(right + key) & mask)
        x[open_] = (left << half) | right
        open_ = open_[x[open_] >= np.uint64(size)]
    return x.astype(np.int64)


def strings(values: list[str]) -> pa.Array[Any]:
    data = [value.encode() for value in values]
    offsets = np.zeros(len(data) + 1, np.int32)
    np.cumsum(np.fromiter(map(len, data), np.int32, len(data)), out=offsets[1:])
    buffers = [None, pa.py_buffer(offsets.data), pa.py_buffer(b"".join(data))]
    return pa.Array.from_buffers(pa.string(), len(data), buffers)


def make_words(count: int) -> list[str]:
    """Return the ``count`` most frequent words, most frequent first.

    All words differ in lower case, and none has white space, a quote or a backslash: JSON escapes
    line breaks only. A smaller vocabulary is the beginning of a larger one.

    >>> make_words(100)[:4]
    ['the', 'of', 'and', 'patient']
    """
    words = dict.fromkeys(COMMON[:count])
    seen = {word.lower() for word in words}
    draws = iter(mix(np.arange(4 * count, dtype=np.uint64) + np.uint64(1)).tolist())
    while len(words) < count:
        word = _invent(next(draws))
        if word not in seen:
            words[word] = None
    return list(words)


def _invent(draw: int) -> str:
    """Make a word of two to four syllables, or fewer and a suffix, from 64 random bits."""
    syllables, suffixed = (2, 2, 3, 3, 3, 2, 4, 3)[draw & 7], draw >> 3 & 1
    draw >>= 4
    parts = []
    for _ in range(syllables - suffixed):
        draw, onset = divmod(draw, len(_ONSET))
        draw, vowel = divmod(draw, len(_VOWEL))
        parts += [_ONSET[onset], _VOWEL[vowel]]
    draw, ending = divmod(draw, len(_SUFFIX) if suffixed else len(_CODAS))
    word = "".join([*parts, _SUFFIX[ending] if suffixed else _CODAS[ending]])
    return word.translate(_ACCENTS) if draw % 48 == 0 else word
