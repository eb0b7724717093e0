"""Where tokens begin and end in the original text, in code points."""

from __future__ import annotations

import functools
import unicodedata
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from neardup.sketch.texts import as_text, normalise, text_buffers
from neardup.sketch.tokenising import Tokeniser, batches
from neardup.spec import ShingleSpec


def ends_of(
    tokeniser: Tokeniser, text: pa.LargeStringArray, rows: np.ndarray, ends: np.ndarray
) -> np.ndarray:
    """Return int64[asked]: code points of the original text before the ends of some tokens.

    Args:
        tokeniser: Of the run.
        text: The documents.
        rows: int64[asked], the row in ``text`` of each end, ascending.
        ends: int64[asked], ascending within a row: twice the token's number, plus 1 for its end.
            Of one that the row does not have, -1 is returned.
    """
    out = np.empty(len(rows), np.int64)
    compared = tokeniser.compared(text)
    data, offsets = text_buffers(normalise(compared, tokeniser.spec))
    spec = tokeniser.spec
    for first, last in batches(offsets):
        low, high = np.searchsorted(rows, [first, last]).tolist()
        if low == high:
            continue
        limits = offsets[first : last + 1]
        (_, starts), spans = tokeniser.tokens(data, limits, want_characters=True)
        of = rows[low:high] - first
        asked = 2 * starts[of] + ends[low:high]
        are_there = asked < 2 * starts[of + 1]
        characters = spans.characters[np.where(are_there, asked, 0)].astype(np.int64)
        out[low:high] = np.where(are_there, characters - spans.begins[of], -1)
    if compared is text and not (spec.nfkc or spec.strip_accents):
        return out
    there = np.flatnonzero(out >= 0)
    rows, ends, found = rows[there], ends[there], out[there]
    if spec.nfkc or spec.strip_accents:
        _to_original(compared, spec, rows, ends, found)
    if compared is not text:
        _before_ignoring(text, compared, rows, found)
    out[there] = found
    return out


def _before_ignoring(
    text: pa.LargeStringArray, compared: pa.LargeStringArray, rows: np.ndarray, out: np.ndarray
) -> None:
    """Turn offsets in texts with spaces for matches into those in the original ones, in place."""
    (data, offsets), (spaced, others) = text_buffers(text), text_buffers(compared)
    for first, last in batches(offsets):
        low, high = np.searchsorted(rows, [first, last]).tolist()
        if low == high:
            continue
        begins = (offsets[first:last] - offsets[first])[rows[low:high] - first]
        # Bytes at which code points of the one begin, and code points of the other before each.
        starts = np.flatnonzero(_are_first(spaced[others[first] : others[last]]))
        starts = np.append(starts, offsets[last] - offsets[first])
        counts = np.cumsum(_are_first(data[offsets[first] : offsets[last]]), dtype=np.int64)
        counts = np.append(np.zeros(1, np.int64), counts)
        at = starts[np.searchsorted(starts, begins) + out[low:high]]
        out[low:high] = counts[at] - counts[begins]


def _are_first(data: np.ndarray) -> np.ndarray:
    """Return bool[]: whether a code point begins at each byte."""
    return np.asarray(data & 0xC0 != 0x80)


def _to_original(
    text: pa.LargeStringArray,
    spec: ShingleSpec,
    rows: np.ndarray,
    ends: np.ndarray,
    out: np.ndarray,
) -> None:
    """Turn offsets in normalised texts into those in the original ones, in place."""
    documents, begins = np.unique(rows, return_index=True)
    limits = np.append(begins, len(rows)).tolist()
    for row, (low, high) in zip(documents.tolist(), pairwise(limits), strict=True):
        original = text[row].as_py()
        if original.isascii():
            continue
        starts, stops = _origins(original, spec)
        for i in range(low, high):
            at = int(out[i])
            out[i] = stops[at - 1] if ends[i] & 1 else starts[at]


def _origins(original: str, spec: ShingleSpec) -> tuple[np.ndarray, np.ndarray]:
    """Return, for each character of the normalised text, first and last of the original ones.

    A text is cut before each character that can't combine with the one before it, and each part is
    normalised by itself. Where these do not make the normalised text, cuts are left out.
    """

    def normal(pieces: list[str]) -> list[str]:
        found: Any = normalise(as_text(pieces), spec).to_pylist()
        assert isinstance(found, list)
        return found

    (expected,) = normal([original])
    pairs = pairwise(" " + original)  # nothing combines with white space
    cuts = [i for i, (one, two) in enumerate(pairs) if one.isspace() or not _combines(two)]
    while True:
        limits = [*cuts, len(original)]
        pieces = normal([original[a:b] for a, b in pairwise(limits)])
        if "".join(pieces) == expected or len(cuts) <= 1:
            break
        cuts = cuts[::2]
    sizes = [len(piece) for piece in pieces]
    starts = np.repeat(np.array(limits[:-1], np.int64), sizes)
    stops = np.repeat(np.array(limits[1:], np.int64), sizes)
    return starts, stops


@functools.cache
def _combines(character: str) -> bool:
    """Whether a character may combine with the one before it."""
    first = unicodedata.normalize("NFKD", character)[0]
    if unicodedata.category(character)[0] == "M" or unicodedata.combining(first):
        return True
    return "\u1160" <= first <= "\u11ff"  # vowels and ends of syllables of Hangul


def characters(
    tokeniser: Tokeniser, text: pa.LargeStringArray, rows: np.ndarray, runs: np.ndarray
) -> np.ndarray:
    """Return int64[runs, 2]: the first character of some runs of tokens, and the one after them.

    Args:
        tokeniser: Of words.
        text: The documents.
        rows: int64[runs], the row in ``text`` of each.
        runs: int64[runs, 2], the first token, and the number of tokens, 1 at least.
    """
    asked = np.stack([2 * runs[:, 0], 2 * (runs[:, 0] + runs[:, 1]) - 1], axis=1).reshape(-1)
    of = np.repeat(rows, 2)
    order = np.lexsort((asked, of))
    found = np.empty(len(asked), np.int64)
    found[order] = ends_of(tokeniser, text, of[order], asked[order])
    return found.reshape(-1, 2)
