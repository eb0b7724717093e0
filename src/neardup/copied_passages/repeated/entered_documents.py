"""Numbers of the documents of a search."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass
class Corpus:
    """Numbers of each document after the first pass, by position in the input."""

    tokens: np.ndarray  # int32[documents]
    anchors: np.ndarray  # int32[documents]
    numbers: np.ndarray  # int64[documents]: in keep order
    ends: np.ndarray  # int64[partitions]: documents up to the end of each
    short: np.ndarray  # uint64[]: of short documents of the last input, see `short_texts`

    @property
    def documents(self) -> int:
        return len(self.tokens)
