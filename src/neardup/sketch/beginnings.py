"""The first parts of texts, for words that are near their begin."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeVar

import numpy as np

from neardup.arrays import PAD
from neardup.kernels.text_parts import copy_beginnings
from neardup.sketch.tokenising import Tokeniser, batches

A = TypeVar("A")
#: A first guess is so many times the bytes that those before took, and so many more.
_GUESS, _MORE = 1.125, 256
#: Parts of this share of the text, or of more, are not worth a copy.
_WORTH = 0.75


class Part(NamedTuple):
    """Texts, or the first parts of texts."""

    data: np.ndarray  # uint8[], valid UTF-8
    offsets: np.ndarray  # int64[documents + 1]
    complete: np.ndarray  # bool[documents]: all of its text


def beginnings(
    tokeniser: Tokeniser,
    data: np.ndarray,
    offsets: np.ndarray,
    needed: np.ndarray | None,
    look: Callable[[Part], tuple[A, np.ndarray]],
) -> Iterator[tuple[int, int, Part, A]]:
    """Yield ranges of documents, a part of each that has the needed units, and the findings there.

    Ranges of which nothing is needed are left out. A part ends before a space. How long it has to
    be is guessed; where the guess was too small, the complete text is looked at.

    Args:
        tokeniser: Has the memory for a part, which is valid until the next one.
        data: uint8[], valid UTF-8.
        offsets: int64[documents + 1] into it.
        needed: int64[documents], how many units, such as tokens, of each are needed, at least; None
            for all of them.
        look: Takes a part; returns findings, and the number of units in each document, int[].
    """
    ratio = np.inf  # bytes of a unit in the texts before
    for first, last in batches(offsets):
        limits = offsets[first : last + 1]
        text = Part(data, limits, np.ones(last - first, np.bool_))
        if needed is None:
            yield first, last, text, look(text)[0]
            continue
        want = needed[first:last]
        if not want.any():
            continue
        part = text
        if np.isfinite(ratio):
            guess = np.where(want > 0, np.ceil(want * (ratio * _GUESS)) + _MORE, 0)
            part = _first_parts(tokeniser, text, guess.astype(np.int64))
        found, units = look(part)
        missing = (units < want) & ~part.complete
        if missing.any():
            sizes = np.where(missing, np.diff(limits), np.diff(part.offsets))
            part = _first_parts(tokeniser, text, sizes)
            found, units = look(part)
        ratio = (part.offsets[-1] - part.offsets[0]) / max(1, int(units.sum()))
        yield first, last, part, found


def _first_parts(tokeniser: Tokeniser, text: Part, sizes: np.ndarray) -> Part:
    """Return the first bytes of some texts, int64[documents] at least."""
    data, limits, _ = text
    total = int(limits[-1] - limits[0])
    if int(np.minimum(sizes, np.diff(limits)).sum()) >= _WORTH * total:
        return text
    out = tokeniser.workspace.array("beginnings", np.uint8, total + PAD)
    ends, complete = np.empty(len(limits), np.int64), np.empty(len(limits) - 1, np.bool_)
    copy_beginnings(data, limits, sizes, out, ends, complete)
    out[ends[-1] : ends[-1] + PAD] = 0
    out.flags.writeable = ends.flags.writeable = False  # as the buffers of Arrow are
    return Part(out, ends, complete)
