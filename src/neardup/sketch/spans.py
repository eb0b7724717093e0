"""Where tokens begin and end in the original text, in code points."""

from __future__ import annotations

import functools
import unicodedata
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from neardup.kernels.passages.characters import character_offsets
from neardup.kernels.tokens import Spans
from neardup.sketch.beginnings import Part, beginnings
from neardup.sketch.texts import as_text, normalise, text_buffers
from neardup.sketch.tokenising import Tokeniser
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
    """
    out = np.empty(len(rows), np.int64)
    compared = tokeniser.compared(text)
    data, offsets = text_buffers(normalise(compared, tokeniser.spec))
    spec = tokeniser.spec
    changes = spec.nfkc or spec.strip_accents
    # Else spaces are where other characters were, and sizes in bytes are the same.
    counted = data if changes or compared is text else text_buffers(text)[0]
    needed = None
    if counted is data:  # else the text that is counted is another one, of which no part is made
        needed = np.zeros(len(text), np.int64)
        np.maximum.at(needed, rows, (ends >> 1) + 1)

    def look(part: Part) -> tuple[tuple[np.ndarray, Spans], np.ndarray]:
        tokens, spans = tokeniser.tokens(part.data, part.offsets, want_spans=True)
        return (tokens.offsets, spans), np.diff(tokens.offsets)

    for first, last, part, (starts, spans) in beginnings(tokeniser, data, offsets, needed, look):
        low, high = np.searchsorted(rows, [first, last]).tolist()
        if low == high:
            continue
        character_offsets(
            counted if needed is None else part.data,
            part.offsets,
            tuple(spans),
            starts,
            rows[low:high] - first,
            ends[low:high],
            out[low:high],
        )
    if changes:
        _to_original(compared, spec, rows, ends, out)
        if compared is not text:
            _before_ignoring(text, compared, rows, out)
    return out


def _before_ignoring(
    text: pa.LargeStringArray, compared: pa.LargeStringArray, rows: np.ndarray, out: np.ndarray
) -> None:
    """Turn offsets in texts with spaces for matches into those in the original ones, in place."""
    documents, begins = np.unique(rows, return_index=True)
    limits = np.append(begins, len(rows)).tolist()
    for row, (low, high) in zip(documents.tolist(), pairwise(limits), strict=True):
        original, spaced = (
            np.frombuffer(version[row].as_py().encode(), np.uint8) & 0xC0 != 0x80
            for version in (text, compared)
        )
        starts = np.append(np.flatnonzero(spaced), len(spaced))
        characters = np.concatenate([[0], np.cumsum(original)])
        out[low:high] = characters[starts[out[low:high]]]


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
