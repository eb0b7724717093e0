"""Imported before processes are forked: what all commands need is loaded once."""

import pyarrow.parquet

import neardup
import neardup.cli

__all__ = ["neardup", "pyarrow"]

neardup.dedup(["some text to begin with", "and another"], progress=False)
