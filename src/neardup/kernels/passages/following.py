"""Passages that are joined, and words whose sources are cut."""

import numpy as np

from neardup.kernels.compiling import kernel
from neardup.kernels.passages.positions import document_of
from neardup.kernels.searching import first_above


@kernel
def bridge(passages, sizes, sources, gap, numbers, changed):
    """Number passages that are joined over a few changed words.

    Args:
        passages: uint64[passages], position, ascending.
        sizes: int64[passages], words.
        sources: uint64[passages], position of the source.
        gap: Words between two passages at most, in the document and in the source.
        numbers: int64[passages] for the number of the joined ones, from 0; -1 for a single passage.
        changed: int64[passages] for the changed words before each passage.
    """
    number = np.int64(-1)
    for i in range(passages.shape[0]):
        numbers[i], changed[i] = -1, 0
        if i == 0 or document_of(passages[i]) != document_of(passages[i - 1]):
            continue
        if document_of(sources[i]) != document_of(sources[i - 1]) or sources[i] < sources[i - 1]:
            continue
        words = sizes[i - 1]
        here = np.int64(passages[i] - passages[i - 1]) - words
        there = np.int64(sources[i] - sources[i - 1]) - words
        if here > gap or there > gap:
            continue
        if numbers[i - 1] < 0:
            number += 1
            numbers[i - 1] = number
        numbers[i] = number
        changed[i] = max(np.int64(0), here)


@kernel
def last_sources(passages, words, source, common, cuts, cut_words, dropped, lost, needed):
    """Follow the sources of cut words to a word that is not cut, and see whether it is left out.

    A word is cut if it is in one of the rows ``cuts``. Its source is that of the passage that
    starts first among those of boilerplate that cover it; without one, among all that do.

    Args:
        passages: uint64[passages], first word of each: document << 32 | word, ascending.
        words: int64[passages].
        source: uint64[passages]: position of the source of the first word.
        common: bool[passages]: boilerplate.
        cuts: uint64[rows], first word of each row that is cut, ascending, without overlap.
        cut_words: int64[rows].
        dropped: bool[documents] that are left out.
        lost: int64[documents] for the words of each that are cut and stand nowhere any more.
        needed: bool[documents] to mark those left out that have the only occurrence of cut words.
    """
    none = np.int64(0)
    for r in range(cuts.shape[0]):
        d = np.int64(cuts[r] >> np.uint64(32))
        if dropped[d]:
            continue
        for i in range(cut_words[r]):
            at = cuts[r] + np.uint64(i)
            while True:
                row = first_above(cuts, none, cuts.shape[0], at) - 1
                if row < 0 or at >= cuts[row] + np.uint64(cut_words[row]):
                    break
                last = first_above(passages, none, passages.shape[0], at) - 1
                # Passages overlap: all that cover the word, from the last one on.
                k = first = last
                while first > 0 and passages[first - 1] + np.uint64(words[first - 1]) > at:
                    first -= 1
                    if common[first] or not common[k]:
                        k = first
                at = source[k] + (at - passages[k])
            end = np.int64(at >> np.uint64(32))
            if dropped[end]:
                lost[d] += 1
                needed[end] = True
