"""Words of texts of which many begin alike, as with a form or a letterhead."""

from __future__ import annotations

import numpy as np

from neardup.kernels.text_beginnings import common_beginnings, divide_beginnings, join_beginnings
from neardup.kernels.tokens import Spans
from neardup.sketch.texts import Ragged
from neardup.sketch.tokenising import Tokeniser

#: Bytes that texts have in common, at least.
_LEAST = 128
#: Where fewer bytes than this share of the texts are in one before, each text is looked at.
_WORTH = 0.125


def tokens_of(
    tokeniser: Tokeniser, data: np.ndarray, offsets: np.ndarray, want_spans: bool
) -> tuple[Ragged, np.ndarray, Spans]:
    """Return the words of texts as `Tokeniser.tokens` does; common beginnings are read once.

    Args:
        tokeniser: Of the texts.
        data: uint8[], valid UTF-8.
        offsets: int64[documents + 1] into it.
        want_spans: Whether bytes of the words are asked for.

    Returns:
        Words; int32[documents]: how many first ones of each are those of the last document before
        that has 0 here; and bytes of words.
    """
    documents, size = len(offsets) - 1, int(offsets[-1] - offsets[0])
    shared, sizes = np.zeros(documents, np.int32), np.empty(documents, np.int64)
    can_share = documents > 1 and tokeniser.spec.unit == "word"
    if not can_share or common_beginnings(data, offsets, _LEAST, sizes) < _WORTH * size:
        tokens, spans = tokeniser.tokens(data, offsets, want_spans)
        return tokens, shared, spans
    parts, common = np.empty(2 * documents + 1, np.int64), np.empty(2 * documents, np.int64)
    firsts, starts = (np.empty(documents + 1, np.int64) for _ in range(2))
    count = divide_beginnings(offsets, sizes, parts, common, firsts)
    parts.flags.writeable = False  # as the offsets of Arrow are
    found, spans = tokeniser.tokens(data, parts[: count + 1], want_spans, common[:count])
    join_beginnings(firsts, sizes, found.offsets, starts, shared)
    return Ragged(found.values, starts), shared, spans
