"""Inner loops of the note generator: positions in, UTF-8 bytes out.

A note is a pure function of (setting, position): every draw comes from SplitMix64 (Steele, Lea and
Flood 2014, figure 13) started from a key of (seed, stream, position). A near-duplicate or a copy
therefore makes the words of its source again, and nothing about other notes is kept in memory.
All arithmetic on draws is uint64 by explicit casts, since Numba makes float64 of uint64 with int64.
"""

from __future__ import annotations

from neardup.kernels.synth.draws import alias_table
from neardup.kernels.synth.roles import (
    EXACT,
    FAMILY,
    NEAR,
    ORIGINAL,
    family_firsts,
    plan_range,
)
from neardup.kernels.synth.setting import WORD_BYTES, Setting, Tables
from neardup.kernels.synth.words import BOILERPLATE, SLOTS
from neardup.kernels.synth.writing import write_columns, write_lines, write_texts

__all__ = [
    "BOILERPLATE",
    "EXACT",
    "FAMILY",
    "NEAR",
    "ORIGINAL",
    "SLOTS",
    "WORD_BYTES",
    "Setting",
    "Tables",
    "alias_table",
    "family_firsts",
    "plan_range",
    "write_columns",
    "write_lines",
    "write_texts",
]
