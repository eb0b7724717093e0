"""The words of synthetic notes, by rank, and the strings that texts are put together from.

A text is a sequence of tokens, each a word with the space before it and the punctuation after it.
Texts of a batch are one ``take`` from an Arrow array that holds every token once.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from neardup.synth.demo_notes import HEADINGS
from neardup.synth.synthetic_words import make_words, strings

#: Length of ``Lexicon.cells``.
CELLS = 1 << 20


class Lexicon(NamedTuple):
    """Every token of a vocabulary, numbered by *codes*.

    Codes go up by layout: for each of ``size`` words and numbers the token as ``" word"``,
    ``" word,"``, ``" word."``, ``" Word"`` and line break + ``"Word"``; from ``5 * size`` on the
    headings, first after an empty line, then without anything before them.
    """

    words: int  # their number
    size: int  # of words and numbers
    cells: npt.NDArray[np.int32]  # [CELLS], words by their frequency; 3 % are numbers
    tokens: pa.Array[Any]  # string[codes]


def _capital(word: str) -> str:
    return word[0].upper() + word[1:] if "a" <= word[0] <= "z" else word


def _numbers() -> list[list[str]]:
    """Integers, decimals, blood pressures and dates."""
    days = [f"{month:02}/{day:02}" for month in range(1, 13) for day in range(1, 29)]
    return [
        [str(i) for i in range(1, 501)],
        [f"{i // 10}.{i % 10}" for i in range(1000)],
        [f"{high}/{low}" for high in range(90, 190) for low in range(50, 110)],
        [f"{day}/{year}" for day in days for year in range(2008, 2018)],
    ]


@lru_cache(maxsize=2)
def lexicon(vocabulary: int) -> Lexicon:
    """Return the tokens of so many words; 0.2 s for 50,000, then cached.

    The probability of a word is 1 / rank (over their sum), to a cell of 2**20.
    """
    words, numbers = make_words(vocabulary), _numbers()
    frequencies = np.cumsum(1.0 / np.arange(1.0, vocabulary + 1.0))
    share = [CELLS // 1000 * part for part in (12, 8, 6, 4)]  # of the kinds of numbers
    cells = CELLS - sum(share)
    picks = [np.searchsorted(frequencies, (np.arange(cells) + 0.5) * (frequencies[-1] / cells))]
    first = vocabulary
    for count, members in zip(share, numbers, strict=True):
        picks.append(first + np.arange(count) * len(members) // count)
        first += len(members)
    values = [*words, *(number for members in numbers for number in members)]
    lower, upper = strings(values), strings([_capital(value) for value in values])
    plain, comma, stop, space, line = strings(["", ",", ".", " ", "\n"])
    layouts = [(space, lower, plain), (space, lower, comma), (space, lower, stop)]
    layouts += [(space, upper, plain), (line, upper, plain)]
    made = [pc.binary_join_element_wise(*pieces, plain) for pieces in layouts]
    headings = strings(["\n\n" + heading for heading in HEADINGS] + list(HEADINGS))
    cells_of = np.concatenate(picks).astype(np.int32)
    return Lexicon(vocabulary, first, cells_of, pa.concat_arrays([*made, headings]))
