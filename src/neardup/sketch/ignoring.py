"""Matches of regular expressions, and stop passages, become spaces before texts are compared.

A text keeps its length in bytes: offsets in it are those of the original.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup.arrays import ragged_rows
from neardup.kernels.text.tokens import Spans
from neardup.sketch.sequences import TokenSequences
from neardup.sketch.texts import Ragged, as_text, text_buffers

#: Bytes that no text has, which Arrow writes around each match.
_START, _END = 0xFF, 0xFE
_AROUND = bytes([_START]) + rb"\0" + bytes([_END])
_SPACE = ord(" ")

#: A word that was cut at a line end.
HYPHEN = r"(\p{L}\p{M}*)((?:-|\x{2010})[ \t]*(?:\r\n|\n|\r)[ \t]*)(\p{Ll})"
_AROUND_HYPHEN = rb"\1" + bytes([_START]) + rb"\2" + bytes([_END]) + rb"\3"
#: Characters that are not compared, of two bytes and of three: any number of bytes but 1.
_TWO, _THREE = (
    np.frombuffer("\u034f".encode(), np.uint8),
    np.frombuffer("\u200b".encode(), np.uint8),
)

#: Called with texts: the hashes of the words of some at a time, and where these are.
Words = Callable[[pa.LargeStringArray], Iterator[tuple[Ragged, Spans]]]


class Ignored:
    """Puts spaces where something is not compared; for many threads at once.

    Args:
        patterns: Regular expressions in the syntax of RE2, which takes linear time.
        passages: Texts whose words become spaces where they are in a row.
        words: Gives the words of texts.
    """

    def __init__(self, patterns: Sequence[str], passages: Sequence[str], words: Words) -> None:
        self._patterns, self._words = tuple(patterns), words
        self._passages = None
        if passages:
            text = self._without_matches(as_text(list(passages)))
            rows: list[np.ndarray] = []
            for tokens, _ in words(text):
                rows += (row.copy() for row in np.split(tokens.values, tokens.offsets[1:])[:-1])
            self._passages = TokenSequences(rows)

    def __call__(self, text: pa.LargeStringArray) -> pa.LargeStringArray:
        """Return texts of the same sizes in bytes, in which spaces are where something was."""
        text = self._without_matches(text)
        if self._passages is None or not len(text):
            return text
        first, last = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
        for tokens, spans in self._words(text):
            hits = self._passages(tokens)
            ends = hits.position + self._passages.lengths[hits.sequence] - 1
            limits = spans.bytes.reshape(-1, 2)
            first.append(spans.first + limits[hits.position, 0].astype(np.int64))
            last.append(spans.first + limits[ends, 1].astype(np.int64))
        return _spaced(text, np.concatenate(first), np.concatenate(last))

    def _without_matches(self, text: pa.LargeStringArray) -> pa.LargeStringArray:
        found: list[tuple[np.ndarray, np.ndarray]] = []
        for pattern in self._patterns:
            found.append(_matches(text, pattern, _AROUND))
        if not found:
            return text
        return _spaced(text, *(np.concatenate(ends) for ends in zip(*found, strict=True)))


def join_hyphens(text: pa.LargeStringArray) -> pa.LargeStringArray:
    """Return texts of the same sizes in bytes, with words joined that were cut at a line end."""
    for _ in range(2):  # a letter between two hyphens ends one match, and begins the next
        first, last = _matches(text, HYPHEN, _AROUND_HYPHEN)
        if not len(first):
            break
        sizes = last - first
        at = ragged_rows(first, sizes) - text_buffers(text)[1][0]
        behind = at - np.repeat(at[np.cumsum(sizes) - sizes] + 3 * (sizes % 2), sizes)
        fill = np.where(behind < 0, _THREE[np.minimum(behind, -1)], _TWO[behind % 2])
        text = _with_bytes(text, at, fill)
    return text


def _matches(
    text: pa.LargeStringArray, pattern: str, around: bytes
) -> tuple[np.ndarray, np.ndarray]:
    """Return the first byte, and the one after the last, of all matches in the data of texts."""
    # (Of bytes the type says nothing, and Arrow takes them.)
    marked: Any = pc.replace_substring_regex(text, pattern, cast(str, around))
    offsets = text_buffers(text)[1]
    data, begin = text_buffers(marked)
    data = data[begin[0] : begin[-1]]
    starts, ends = (np.flatnonzero(data == mark) for mark in (_START, _END))
    # Before the i-th match there are 2 i marks.
    before = 2 * np.arange(len(starts)) - offsets[0]
    return starts - before, ends - before - 1


def _spaced(text: pa.LargeStringArray, first: np.ndarray, last: np.ndarray) -> pa.LargeStringArray:
    """Return texts with some ranges of their bytes replaced by spaces, which may overlap."""
    if not len(first):
        return text
    begin, end = text_buffers(text)[1][[0, -1]].tolist()
    order = np.argsort(first)
    first, last = first[order] - begin, np.maximum.accumulate(last[order]) - begin
    # Ranges that overlap or touch become one: the marks of the others are distinct bytes.
    new = np.append(True, first[1:] > last[:-1])
    covered = np.zeros(end - begin + 1, np.int8)
    covered[first[new]] = 1
    covered[last[np.append(new[1:], True)]] -= 1
    np.cumsum(covered, out=covered, dtype=np.int8)
    return _with_bytes(text, covered[:-1].view(np.bool_), np.uint8(_SPACE))


def _with_bytes(
    text: pa.LargeStringArray, at: np.ndarray, fill: np.ndarray | np.uint8
) -> pa.LargeStringArray:
    """Return texts with other bytes; ``at`` counts from the first one of all."""
    data, offsets = text_buffers(text)
    begin, end = offsets[[0, -1]].tolist()
    changed = data[begin:end].copy()
    changed[at] = fill
    made: Any = pa.LargeStringArray
    buffers = (pa.py_buffer(cast(Any, array)) for array in (offsets - begin, changed))
    return cast(pa.LargeStringArray, made.from_buffers(len(text), *buffers))
