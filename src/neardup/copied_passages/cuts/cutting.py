"""Cut copied words out of a text: which characters go, and their replacement."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import chain
from typing import NamedTuple

import numpy as np

from neardup.kernels.text.canonical import IGNORED, KIND, MARK, SOLO, WORD, alphabet

#: Ends of sentences, with what may follow them, and line ends. Abbreviations only cost a cut.
_SENTENCE = re.compile(
    r"[.!?\u2026\u3002\uff01\uff1f\uff61]+[\"')\]\u00bb\u201d\u2019\u300d\u300f]*|\n"
)
_LINE = re.compile(r"\r\n|[\n\r\v\f\x85\u2028\u2029]")
_PARAGRAPH = re.compile(r"(?:\r\n|[\n\r\u2029])[^\S\n\r]*(?:\r\n|[\n\r])\s*|\u2029")
#: Kinds of characters within words.
_INNER = (WORD, MARK, IGNORED)
_ENDS = {"sentence": _SENTENCE, "line": _LINE, "paragraph": _PARAGRAPH}


class Cut(NamedTuple):
    """Characters that were cut: code points of the original text, half open."""

    start: int
    end: int
    at: int  # offset in the clean text
    inserted: int  # characters of the mask there


def units(text: str, kind: str) -> Iterator[tuple[int, int]]:
    """Yield the complete sentences, lines or paragraphs of a text, without white space around.

    >>> list(units("One. Two three! Four", "sentence"))
    [(0, 4), (5, 15), (16, 20)]
    """
    first = 0
    ends = (found.end() for found in _ENDS[kind].finditer(text))
    for last in chain(ends, [len(text)]):
        inner = text[first:last]
        start = first + len(inner) - len(inner.lstrip())
        end = first + len(inner.rstrip())
        if end > start:
            yield start, end
        first = last


def complete(
    text: str, kind: str, words: Iterable[tuple[int, int]], copied: Iterable[tuple[int, int]]
) -> Iterator[tuple[int, int]]:
    """Yield the units of a text that have words, all of them copied.

    Args:
        text: The document.
        kind: ``"sentence"``, ``"line"`` or ``"paragraph"``.
        words: Start and end of each word, in order.
        copied: Start and end of each maximal row of copied words, in order.
    """
    rows, every = iter(copied), iter(words)
    row, word = next(rows, None), next(every, None)
    for start, end in units(text, kind):
        count, all_copied = 0, True
        while word is not None and word[0] < end:
            while row is not None and row[1] < word[1]:
                row = next(rows, None)
            if word[1] > start:
                count += 1
                all_copied &= row is not None and row[0] <= word[0] and word[1] <= row[1]
            if word[1] > end:  # it goes on in the next unit
                break
            word = next(every, None)
        if count and all_copied:
            yield start, end


def apart(words: np.ndarray, first: int, size: int) -> tuple[int, int]:
    """Return the first word, and the number, of those of a row that can be cut.

    Where normalisation makes several words of one character, these share it. A word that shares a
    character with one that stays has to stay too.

    Args:
        words: int64[words, 2]: start and end of each word of the document.
        first: First word of the row.
        size: Words of the row.
    """
    last = first + size
    while 0 < first < last and words[first, 0] < words[first - 1, 1]:
        first += 1
    while first < last < len(words) and words[last, 0] < words[last - 1, 1]:
        last -= 1
    return first, last - first


def cut(
    text: str, stretches: Iterable[tuple[int, int]], mask: str = "", nfkc: bool = False
) -> tuple[str, list[Cut]]:
    """Cut stretches out of a text, or put a mask in place of each.

    The white space behind a stretch goes with it where white space or the start of the text is
    before it. If that takes a line end and none is left, the white space before becomes one. Where
    two words would join, a space keeps them apart.

    >>> cut("one two, three four five", [(4, 14)])[0]
    'one four five'
    >>> cut("one two\\nthree four\\nfive", [(4, 13)])[0]
    'one\\nfour\\nfive'
    >>> cut("a-b c", [(0, 1)])[0]
    '-b c'
    """
    kept: list[str] = []
    cuts: list[Cut] = []
    done = length = 0
    tail = ""  # the last character of the clean text so far
    for first, last in stretches:
        start, end, between = first, last, mask
        if not mask:
            blank = _white_before(text, start, done)
            if blank < start or (blank == done and (not tail or tail.isspace())):
                end = _white_behind(text, end)
            removed = text[start:end]
            if blank < start and _has_line_end(removed):
                left = text[blank:start] + text[end : _white_behind(text, end)]
                if not _has_line_end(left):
                    start, between = blank, "\n"
        before = text[start - 1] if start > done else tail
        after = text[end : end + 1]
        if between and joins(before, between[0], nfkc):
            between = " " + between
        if joins(between[-1:] or before, after, nfkc):
            between += " "
        kept.append(text[done:start])
        length += start - done
        cuts.append(Cut(start, end, length, len(between)))
        kept.append(between)
        length += len(between)
        tail = between[-1:] or before
        done = end
    kept.append(text[done:])
    return "".join(kept), cuts


def joins(before: str, after: str, nfkc: bool = False) -> bool:
    """Whether two characters that become neighbours are in one word.

    >>> joins("5", "\u338f"), joins("5", "\u338f", nfkc=True)  # a sign for "kg"
    (False, True)
    """
    if not before or not after:
        return False
    if nfkc:
        before = unicodedata.normalize("NFKC", before)[-1]
        after = unicodedata.normalize("NFKC", after)[0]
        if _kind(before) == SOLO and _kind(after) == MARK:  # they may become one character
            return True
    return _kind(before) in _INNER and _kind(after) in _INNER


@cache
def _kind(character: str) -> int:
    table = alphabet(False)
    code = ord(character)
    return int(table.kind[int(table.page[code >> 8]) << 8 | code & 255]) & KIND


def _white_before(text: str, at: int, limit: int) -> int:
    while at > limit and text[at - 1].isspace():
        at -= 1
    return at


def _white_behind(text: str, at: int) -> int:
    while at < len(text) and text[at].isspace():
        at += 1
    return at


def _has_line_end(text: str) -> bool:
    return _LINE.search(text) is not None
