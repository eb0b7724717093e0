"""Synthetic notes of known shapes, at any size, for benchmarks, tests and figures.

A document is a function of spec and position: slices can be generated alone and in parallel, and
the bytes depend neither on threads nor on how the corpus is cut. `neardup synth` is simpler.
"""

from .files import Written, write
from .shapes import SHAPES, Family, SynthSpec
from .tables import generate, truth

__all__ = ["SHAPES", "Family", "SynthSpec", "Written", "generate", "truth", "write"]
