"""Synthetic notes with known near-duplicates, for demos, tests and benchmarks.

A document is a function of spec and position: slices can be generated alone and in parallel, and
the bytes depend neither on threads nor on how the corpus is cut.
"""

from neardup.synth.note_files import Written, write
from neardup.synth.note_tables import generate, truth
from neardup.synth.shapes import SHAPES, Family, SynthSpec

__all__ = ["SHAPES", "Family", "SynthSpec", "Written", "generate", "truth", "write"]
