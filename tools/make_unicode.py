"""Write ``src/neardup/kernels/text/unicode.npz``: what the tokeniser must know of every code point.

The table is shipped, not made at start-up, so that every Python version gives the same tokens.

    python tools/make_unicode.py
"""

from __future__ import annotations

import unicodedata
from pathlib import Path

import numpy as np

SEPARATOR, WORD, MARK, SOLO, SPACE = range(5)
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


def kind(char: str) -> int:
    category = unicodedata.category(char)
    if char.isspace():
        return SPACE
    if category[0] == "M":
        return MARK
    if category == "Lm" and unicodedata.name(char, "").startswith("HALFWIDTH KATAKANA VOICED"):
        return MARK
    if category[0] == "L" or category == "Nl":
        return SOLO if unicodedata.name(char, "").startswith(SOLO_NAMES) else WORD
    return WORD if category[0] == "N" or char == "_" else SEPARATOR


def lower(char: str) -> int:
    if char == "ς":  # no context is looked at, so the two lower forms of sigma become one
        return ord("σ")
    mapped = char.lower()
    return ord(mapped[0])  # only U+0130 gives two; the kernel adds its combining dot


def main() -> None:
    info = np.zeros(0x110000, dtype=np.uint32)
    for code in range(0x110000):
        if 0xD800 <= code < 0xE000:
            continue  # surrogates are not in valid UTF-8
        char = chr(code)
        if len(char.lower()) > 1 and code != 0x130:
            raise SystemExit(f"U+{code:04X} lowers to more than one code point")
        info[code] = kind(char) << 24 | lower(char)
    # Two stages: most pages of 256 are equal up to their lower mapping, so the mapping is stored
    # as a difference and equal pages once.
    codes = np.arange(0x110000, dtype=np.int64)
    delta = (info & 0xFFFFFF).astype(np.int64) - codes
    delta[0xD800:0xE000] = 0
    table = np.stack([delta, (info >> 24).astype(np.int64)], axis=1).reshape(-1, 512)
    pages, index = np.unique(table, axis=0, return_inverse=True)
    pages = pages.reshape(-1, 256, 2)
    target = Path(__file__).parent.parent / "src/neardup/kernels/text/unicode.npz"
    np.savez_compressed(
        target,
        version=np.array(unicodedata.unidata_version),
        page=index.astype(np.uint16),
        delta=pages[:, :, 0].astype(np.int32),
        kind=pages[:, :, 1].astype(np.uint8),
    )


if __name__ == "__main__":
    main()
