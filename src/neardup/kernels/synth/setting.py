"""All that a made note depends on besides its position."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = ["WORD_BYTES", "Setting", "Tables"]

#: Row length of a word matrix: up to 15 bytes of UTF-8, and the number of bytes in the last cell.
WORD_BYTES = 16

U8 = npt.NDArray[np.uint8]
I64 = npt.NDArray[np.int64]


class Setting(NamedTuple):
    """Numbers that a note depends on; see ``SynthSpec`` for their meaning.

    The permutation works on ``left_bits + right_bits`` bits, the fewest that hold
    ``documents - 1`` positions.
    """

    seed: np.uint64
    documents: int
    id_width: int
    near: int
    exact: int
    changed_low: float
    changed_high: float
    words_low: int
    words_high: int
    left_bits: int
    right_bits: int


class Tables(NamedTuple):
    """Arrays that a note depends on.

    Attributes:
        words, headings, kinds: uint8 (count, 16), see ``WORD_BYTES``.
        word_share, word_alias: uint32 (words,), alias table of the vocabulary.
        value_share, value_alias: uint32 (values,), alias table of the values of a slot.
        family_bounds: int64 (families + 1,), sums of the family sizes before each, from 0.
    """

    words: U8
    headings: U8
    kinds: U8
    word_share: npt.NDArray[np.uint32]
    word_alias: npt.NDArray[np.uint32]
    value_share: npt.NDArray[np.uint32]
    value_alias: npt.NDArray[np.uint32]
    family_bounds: I64
