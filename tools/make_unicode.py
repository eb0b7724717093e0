"""Write ``src/neardup/kernels/text/unicode.npz``: what the tokeniser must know of every code point.

The tables are shipped, not made at start-up, so that every Python version gives the same tokens.
They are those of the Unicode version of the Python that runs this; `version` in the file says which
one. Tables of another version are another version of tokens, see `neardup.recipe`.

    python3.13 tools/make_unicode.py
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from pathlib import Path

import numpy as np

SEPARATOR, WORD, MARK, SOLO, SPACE, IGNORED = range(6)
#: Flags of a kind: the character needs more than its kind; its form depends on its neighbours, and
#: it has a decomposition. The combining class is above them.
CAREFUL, UNSTABLE, APART, CLASS = 8, 16, 32, 8
# Scripts written without spaces; names are the only script data in the standard library.
SOLO_NAMES = (
    "CJK UNIFIED IDEOGRAPH-",
    "CJK COMPATIBILITY IDEOGRAPH-",
    "IDEOGRAPHIC ITERATION MARK",
    "IDEOGRAPHIC NUMBER ZERO",
    "HIRAGANA ",
    "KATAKANA ",
    "KATAKANA-HIRAGANA ",
    "HALFWIDTH KATAKANA ",
    "THAI ",
    "LAO ",
    "KHMER ",
    "MYANMAR ",
)
#: The property Default_Ignorable_Code_Point, which the standard library does not have; tatweel.
IGNORABLE = (
    (0xAD, 0xAD), (0x34F, 0x34F), (0x61C, 0x61C), (0x640, 0x640), (0x115F, 0x1160),
    (0x17B4, 0x17B5), (0x180B, 0x180F), (0x200B, 0x200F), (0x202A, 0x202E), (0x2060, 0x206F),
    (0x3164, 0x3164), (0xFE00, 0xFE0F), (0xFEFF, 0xFEFF), (0xFFA0, 0xFFA0), (0xFFF0, 0xFFF8),
    (0x1BCA0, 0x1BCA3), (0x1D173, 0x1D17A), (0xE0000, 0xE0FFF),
)  # fmt: skip
#: Vowels and ends of syllables of Hangul that compose.
JAMO = (*range(0x1161, 0x1176), *range(0x11A8, 0x11C3))
#: All code points but surrogates, which are not in valid UTF-8.
CODES = (*range(0xD800), *range(0xE000, 0x110000))


def kind(char: str) -> int:
    category = unicodedata.category(char)
    if category == "Me" or any(low <= ord(char) <= high for low, high in IGNORABLE):
        return IGNORED
    if char.isspace():
        return SPACE
    if category[0] == "M":
        return MARK
    if category == "Lm" and unicodedata.name(char, "").startswith("HALFWIDTH KATAKANA VOICED"):
        return MARK
    if category[0] == "L" or category == "Nl":
        return SOLO if unicodedata.name(char, "").startswith(SOLO_NAMES) else WORD
    return WORD if category[0] == "N" or char == "_" else SEPARATOR


def sign(char: str) -> int:
    """Return 1 for a sign and 2 for a digit, see `neardup.kernels.text.signs`."""
    code, category = ord(char), unicodedata.category(char)
    if category == "Nd":
        return 2
    symbol = category == "So" and (0x2600 <= code <= 0x26FF or 0x1F000 <= code <= 0x1FAFF)
    mathematical = category == "Sm" and char not in "|~"
    return int(category == "Sc" or mathematical or symbol or char in "#%&@°")


def lower(char: str) -> int:
    if char == "ς":  # no context is looked at, so the two lower forms of sigma become one
        return ord("σ")
    mapped = char.lower()
    return ord(mapped[0])  # only U+0130 gives two: it is decomposed first


def lowered(text: str) -> str:
    return "".join(chr(lower(char)) for char in text)


def steps() -> dict[int, tuple[int, int]]:
    """Return canonical decompositions of one step, Hangul left out; 0 for no second code point."""
    found = {}
    for code in CODES:
        fields = unicodedata.decomposition(chr(code)).split()
        if fields and not fields[0].startswith("<"):
            first, second = (int(field, 16) for field in (*fields, "0")[:2])
            found[code] = first, second
    return found


def table(entries: Iterable[tuple[int, int]], bits: int) -> np.ndarray:
    """Return an open-addressing table of keys and values of so many bits; 0 is a free slot."""
    entries = list(entries)
    size = 1 << (len(entries) * 3 // 2).bit_length()
    slots = [0] * size
    for key, value in entries:
        at = slot(key, size)
        while slots[at]:
            at = (at + 1) % size
        slots[at] = key << bits | value
    return np.array(slots, np.int64)


def slot(key: int, size: int) -> int:
    """Return the first slot of a key, as the kernel has it."""
    return (key * 0x9E3779B97F4A7C15 & 0xFFFFFFFFFFFFFFFF) >> 40 & size - 1


def properties() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return kinds and lower case of all code points, and tables of (de)compositions."""
    apart = steps()
    composed = {
        pair: code
        for code, pair in apart.items()
        if unicodedata.normalize("NFC", chr(code)) == chr(code)
    }
    seconds = {second for _, second in composed} | set(JAMO)
    kinds, low = np.zeros(0x110000, np.uint16), np.arange(0x110000)
    for code in CODES:
        char = chr(code)
        what, small, combining = kind(char), lower(char), unicodedata.combining(char)
        if len(char.lower()) > 1 and code != 0x130:
            raise SystemExit(f"U+{code:04X} lowers to more than one code point")
        parts = unicodedata.normalize("NFD", char)
        form = unicodedata.normalize("NFC", lowered(parts))
        unstable = (
            code in seconds or form != chr(small) or unicodedata.normalize("NFC", parts) != char
        )
        if combining and what not in (MARK, IGNORED):
            raise SystemExit(f"U+{code:04X} combines and is no mark")
        if lowered(parts) != unicodedata.normalize("NFD", lowered(parts)):
            raise SystemExit(f"the lower case of U+{code:04X} has a decomposition of its own")
        if not unstable and (small in seconds or unicodedata.combining(chr(small)) != combining):
            raise SystemExit(f"U+{code:04X} combines with its neighbours in lower case only")
        first, *others = (kind(part) for part in parts)
        splits = {first, *others} <= {SEPARATOR, SPACE, MARK}
        if first != what or splits != (what in (SEPARATOR, SPACE, MARK)):
            raise SystemExit(f"U+{code:04X} is of another kind than its decomposition")
        if what in (MARK, IGNORED) or unstable:
            what |= CAREFUL | UNSTABLE * unstable | combining << CLASS
            what |= APART * (unstable and code in apart)
        kinds[code], low[code] = what, small
    if any(second in apart for _, second in apart.values()):
        raise SystemExit("the second part of a decomposition has one too")
    return (
        kinds,
        low,
        table(((code, first << 21 | second) for code, (first, second) in apart.items()), 42),
        table(((first << 21 | second, code) for (first, second), code in composed.items()), 21),
    )


def main() -> None:
    kinds, low, decomposed, composed = properties()
    # Two stages: most pages of 256 are equal up to their lower mapping, so the mapping is stored
    # as a difference and equal pages once.
    delta = low - np.arange(0x110000)
    signs = np.zeros_like(delta)
    signs[list(CODES)] = [sign(chr(code)) for code in CODES]
    every = np.stack([delta, kinds, signs], axis=1).reshape(-1, 768)
    pages, index = np.unique(every, axis=0, return_inverse=True)
    pages = pages.reshape(-1, 256, 3)
    target = Path(__file__).parent.parent / "src/neardup/kernels/text/unicode.npz"
    np.savez_compressed(
        target,
        version=np.array(unicodedata.unidata_version),
        page=index.reshape(-1).astype(np.uint16),
        delta=pages[:, :, 0].astype(np.int32),
        kind=pages[:, :, 1].astype(np.uint16),
        sign=pages[:, :, 2].astype(np.uint8),
        decomposed=decomposed,
        composed=composed,
    )


if __name__ == "__main__":
    main()
