"""Whether transactions that were committed are lost, since SQLite's log is damaged."""

from __future__ import annotations

import struct
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from neardup.errors import StoreError

_HEADER, _HEAD = 32, 24  # bytes of the header of the log, and of that of each frame
_LITTLE, _BIG = 0x377F0682, 0x377F0683  # magic numbers, by the order of bytes in checksums
_FRAMES = 512  # that are read at a time
_MASK = 2**32 - 1


def require_whole_log(database: Path) -> None:
    """Refuse a database whose log has lost a transaction that was committed.

    SQLite uses the log up to the first frame with a wrong checksum, and takes what follows for a
    transaction that was not finished. It was finished if another one begins after its commit.

    Raises:
        StoreError: It has.
    """
    log = database.with_name(database.name + "-wal")
    found = _damage(log)
    # What another process writes meanwhile looks damaged once, and not twice at one place.
    if found is not None and found == _damage(log):
        raise StoreError(
            f"{log} is damaged: documents that were committed last are lost",
            "merge the index into a new one, and add the last documents again",
        )


def _damage(log: Path) -> tuple[bytes, int] | None:
    """Return the header and the number of the first damaged frame; None if all is well."""
    with suppress(OSError), log.open("rb") as file:
        header = file.read(_HEADER)
        if len(header) < _HEADER:
            return None
        magic, _, page, _, *salts = struct.unpack(">6I", header[:_HEAD])
        order: Any = "<u4" if magic == _LITTLE else ">u4"
        words = np.frombuffer(header[:_HEAD], order).astype(np.uint64)
        weights, _ = _weights(len(words) // 2)
        chain = [int(s) & _MASK for s in words @ weights]
        if magic not in (_LITTLE, _BIG) or chain != [*struct.unpack(">2I", header[_HEAD:])]:
            return header, 0
        size = _HEAD + page
        weights, (a, b, c, d) = _weights((8 + page) // 8)
        number, damaged, ended = 0, -1, False
        while block := file.read(size * _FRAMES):
            whole = len(block) // size
            shape, count = (whole, size // 4), whole * size // 4
            frames = np.frombuffer(block, order, count).reshape(shape)
            heads = np.frombuffer(block, ">u4", count).reshape(shape)[:, :6]
            sums = np.delete(frames, slice(2, 6), axis=1).astype(np.uint64) @ weights
            for (s, t), head in zip(sums.tolist(), heads.tolist(), strict=True):
                own = head[2:4] == salts
                x, y = chain
                chain = [(a * x + b * y + s) & _MASK, (c * x + d * y + t) & _MASK]
                if damaged < 0 and not (own and chain == head[4:]):
                    damaged = number
                elif damaged >= 0 and own and ended:
                    return header, damaged
                ended = ended or (damaged >= 0 and own and head[1] > 0)
                number += 1
    return None


def _weights(steps: int) -> tuple[np.ndarray, tuple[int, int, int, int]]:
    """Return what each word adds to the two sums of a checksum, and what the sums before do.

    A step takes two words, x and y: the sums s and t become s + t + x, and s + 2 t + x + y.
    """
    found = np.empty((2 * steps, 2), dtype=np.uint64)
    a, b, c, d = 1, 0, 0, 1
    for step in reversed(range(steps)):
        found[2 * step], found[2 * step + 1] = (a + b, c + d), (b, d)
        a, b, c, d = ((v & _MASK) for v in (a + b, a + 2 * b, c + d, c + 2 * d))
    return found, (a, b, c, d)
