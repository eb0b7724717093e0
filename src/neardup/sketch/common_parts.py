"""Words of texts of which many have a part in common, as a form or a letterhead."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from neardup.kernels.text_parts import SLOTS, divide_texts, enter_part, find_part, join_texts
from neardup.kernels.tokens import Spans
from neardup.sketch.texts import Ragged
from neardup.sketch.tokenising import Tokeniser

#: Bytes of a part, at least.
LEAST = 128
#: Where fewer of the texts than this share have the part, it is not worth to look for it.
WORTH = 0.125


class CommonPart(NamedTuple):
    """A part that many texts may have."""

    data: np.ndarray  # uint8[], `LEAST` bytes or more; empty for a part that no text has
    slots: np.ndarray  # int16[SLOTS], see `enter_part`

    @classmethod
    def of(cls, data: np.ndarray) -> CommonPart:
        """Return a part of these bytes, or no part if they are too few."""
        if len(data) < LEAST:
            return no_part()
        slots = np.empty(SLOTS, np.int16)
        enter_part(data, slots)
        return cls(data, slots)


def no_part() -> CommonPart:
    """Return a part that no text has."""
    return CommonPart(np.empty(0, np.uint8), np.empty(0, np.int16))


def part_between(data: np.ndarray, span: tuple[int, int], text: tuple[int, int]) -> CommonPart:
    """Return the part of a text between the first and the last white space in a range of bytes.

    The begin of the range, and its end, count as well where no other text is next to them.

    Args:
        data: uint8[], valid UTF-8.
        span: First byte of the range, and the byte behind it.
        text: Those of the text.

    Returns:
        A copy; no part if it has fewer than `LEAST` bytes.
    """
    begin, end = span
    blanks = begin + np.flatnonzero(data[begin:end] <= ord(" "))
    if begin > text[0] and data[begin - 1] > ord(" "):
        begin = int(blanks[0]) + 1 if len(blanks) else end
    if end < text[1] and data[end] > ord(" "):
        end = int(blanks[-1]) if len(blanks) else begin
    return CommonPart.of(data[begin:end].copy())


def tokens_of(
    tokeniser: Tokeniser,
    data: np.ndarray,
    offsets: np.ndarray,
    want_characters: bool,
    part: CommonPart,
) -> tuple[Ragged, np.ndarray, Spans]:
    """Return the words of texts as `Tokeniser.tokens` does; a part of them is read once.

    Args:
        tokeniser: Of the texts.
        data: uint8[], valid UTF-8.
        offsets: int64[documents + 1] into it.
        want_characters: Whether code points of the words are asked for.
        part: That many of the texts may have, see `part_between`.

    Returns:
        Words; int32[documents, 2]: the first word of the part in each text, and the number of its
        words, which is negative in the first text that has the part, and 0 without it; and where
        words are.
    """
    documents = len(offsets) - 1
    shared, at = np.zeros((documents, 2), np.int32), np.empty(documents, np.int64)
    can_share = len(part.data) and documents > 1 and tokeniser.spec.unit == "word"
    if not can_share or find_part(data, offsets, *part, at) < max(2, WORTH * documents):
        tokens, spans = tokeniser.tokens(data, offsets, want_characters=want_characters)
        return tokens, shared, spans
    sections, common = np.empty(2 * documents + 2, np.int64), np.empty(2 * documents + 1, np.int64)
    firsts, starts = (np.empty(documents + 1, np.int64) for _ in range(2))
    count = divide_texts(offsets, at, len(part.data), sections, common, firsts)
    sections.flags.writeable = False  # as the offsets of Arrow are
    found, spans = tokeniser.tokens(
        data, sections[: count + 1], common[:count], want_characters=want_characters
    )
    join_texts(firsts, at, found.offsets, starts, shared)
    spans = spans._replace(begins=spans.begins[firsts])  # of texts, not of sections
    return Ragged(found.values, starts), shared, spans
