"""Changes of bytes that parsers tend to get wrong."""

from __future__ import annotations

import numpy as np

#: Numbers that lengths, counts and offsets are replaced by.
_NUMBERS = (0, 1, 2, 0x7F, 0x80, 0xFF, 0x7FFF, 0x8000, 0xFFFF, 2**31 - 1, 2**31, 2**32 - 1, 2**63)
_PIECES = (
    b"\x00", b"\xff", b"\n", b"\r\n", b'"', b'""', b"\\", b"\\u", b"\\ud800", b"{", b"}", b"[",
    b"]", b",", b":", b"\t", b" ", b"null", b"1E400", b"NaN", b"-", b"\xef\xbb\xbf",
    b"\xed\xa0\x80", b"\xc3", b"\xf4\x90\x80\x80", b"PAR1", b"ARROW1",
)  # fmt: skip


def mutate(data: bytes, other: bytes, rng: np.random.Generator) -> bytes:
    """Return ``data`` after one to six random changes, one in half of all cases.

    Args:
        data: What to change.
        other: Another input, of which a stretch may be taken over.
        rng: Source of all decisions.
    """
    found = bytearray(data)
    for _ in range(min(6, int(rng.geometric(0.5)))):
        _change(found, other, rng)
    return bytes(found)


def _change(data: bytearray, other: bytes, rng: np.random.Generator) -> None:
    place = int(rng.integers(len(data) + 1))
    end = min(len(data), place + int(rng.geometric(0.05)))
    kind = rng.integers(8)
    if kind == 0 and place < len(data):
        data[place] ^= 1 << int(rng.integers(8))
    elif kind == 1 and place < len(data):
        data[place] = int(rng.integers(256))
    elif kind == 2:
        del data[place:end]
    elif kind == 3:
        data[place:place] = data[place:end]
    elif kind == 4:
        data[place:place] = _PIECES[rng.integers(len(_PIECES))]
    elif kind == 5:
        size = int(rng.choice([1, 2, 4, 8]))
        value = _NUMBERS[rng.integers(len(_NUMBERS))] & (2 ** (8 * size) - 1)
        data[place : place + size] = value.to_bytes(size, "little")
    elif kind == 6 and other:
        first = int(rng.integers(len(other)))
        data[place:end] = other[first : first + int(rng.geometric(0.02))]
    elif kind == 7 and rng.random() < 0.3:
        del data[place:]
