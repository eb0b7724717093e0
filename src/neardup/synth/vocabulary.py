"""The words of synthetic notes, by rank, and the strings that texts are put together from.

A text is a sequence of tokens, each a word with the space before it and the punctuation after it.
Texts of a batch are one ``take`` from an Arrow array that holds every token once.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from neardup.synth.draws import mix

#: Length of ``Lexicon.cells``.
CELLS = 1 << 20

_WORDS = (Path(__file__).parent / "note_words.txt").read_text(encoding="utf-8").split()
#: The most frequent words, in order. Some are not ASCII, so that each corpus tests UTF-8.
COMMON = tuple(word for word in _WORDS if not word.endswith(":"))
HEADINGS = tuple(word for word in _WORDS if word.endswith(":"))

KINDS = ("progress", "discharge", "admission", "nursing", "radiology", "consult", "operative", "ed")

_ONSETS = "b c d f g h l m n p r s t v z br cl cr dr fl gl gr ph pl pr sc sp st th tr"
_VOWELS = "a e i o u y a e i o ae ia io eu ou"
_CODAS = ["", "", "", "", "l", "m", "n", "r", "s", "x", "ct", "nd", "rt", "st"]
_SUFFIXES = "itis osis oma emia algia ectomy ine ol al ic ous ing ed tion ity ate ide ism s"
_ONSET, _VOWEL, _SUFFIX = _ONSETS.split(), _VOWELS.split(), _SUFFIXES.split()
_ACCENTS = str.maketrans("aeiouyn", "áéïöüýñ")  # of one invented word in 48


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


def strings(values: list[str]) -> pa.Array[Any]:
    data = [value.encode() for value in values]
    offsets = np.zeros(len(data) + 1, np.int32)
    np.cumsum(np.fromiter(map(len, data), np.int32, len(data)), out=offsets[1:])
    buffers = [None, pa.py_buffer(offsets.data), pa.py_buffer(b"".join(data))]
    return pa.Array.from_buffers(pa.string(), len(data), buffers)


def make_words(count: int) -> list[str]:
    """Return the ``count`` most frequent words, most frequent first.

    All words differ in lower case, and none holds white space, a quote or a backslash, so that JSON
    escapes line breaks alone. A smaller vocabulary is the beginning of a larger one.

    >>> make_words(100)[:4]
    ['the', 'of', 'and', 'patient']
    """
    words = dict.fromkeys(COMMON[:count])
    seen = {word.lower() for word in words}
    draws = iter(mix(np.arange(4 * count, dtype=np.uint64) + np.uint64(1)).tolist())
    while len(words) < count:
        word = _invent(next(draws))
        if word not in seen:
            words[word] = None
    return list(words)


def _invent(draw: int) -> str:
    """Make a word of two to four syllables, or fewer and a suffix, from 64 random bits."""
    syllables, suffixed = (2, 2, 3, 3, 3, 2, 4, 3)[draw & 7], draw >> 3 & 1
    draw >>= 4
    parts = []
    for _ in range(syllables - suffixed):
        draw, onset = divmod(draw, len(_ONSET))
        draw, vowel = divmod(draw, len(_VOWEL))
        parts += [_ONSET[onset], _VOWEL[vowel]]
    draw, ending = divmod(draw, len(_SUFFIX) if suffixed else len(_CODAS))
    word = "".join([*parts, _SUFFIX[ending] if suffixed else _CODAS[ending]])
    return word.translate(_ACCENTS) if draw % 48 == 0 else word


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
