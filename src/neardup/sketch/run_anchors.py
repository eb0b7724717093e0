"""Anchors of runs of tokens: equal runs have equal anchors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from neardup.kernels.passages.anchoring import window_anchors
from neardup.sketch.texts import Ragged

#: Types of `RunAnchors`.
_KINDS = np.dtype(np.uint64), np.dtype(np.int32)


@dataclass(frozen=True)
class RunLength:
    """How runs are looked for: ``words`` tokens, anchored by ``window`` grams of ``gram``.

    A gram has a ``part`` of the words: 2 for half of them. Shorter grams make fewer anchors, and
    more that are equal.
    """

    words: int
    part: int = 2

    @property
    def gram(self) -> int:
        # Short grams occur everywhere, and would rule out nothing.
        return self.words if self.words <= 5 else max(5, self.words // self.part)

    @property
    def window(self) -> int:
        return self.words - self.gram + 1


class RunAnchors(NamedTuple):
    """Anchors of the runs of some documents."""

    keys: np.ndarray  # uint64[anchors]: equal for equal runs
    since: np.ndarray  # int32[anchors]: the first run that has it; those up to the next have it
    counts: np.ndarray  # int32[documents]: anchors of each


def anchors_of(
    tokens: Ragged,
    length: RunLength,
    allocate: Callable[[int, np.dtype], np.ndarray] = np.empty,
) -> RunAnchors:
    """Return the anchors of the runs of some documents.

    Args:
        tokens: Of them.
        length: Of a run.
        allocate: Makes arrays of their size.
    """
    keys, since = (allocate(len(tokens.values), kind) for kind in _KINDS)
    counts = np.empty(len(tokens.offsets) - 1, np.int32)
    filled = window_anchors(*tokens, length.gram, length.window, keys, since, counts)
    return RunAnchors(keys[:filled], since[:filled], counts)
