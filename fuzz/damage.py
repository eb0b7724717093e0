"""Damage to files, as disks, file systems and restored copies do it."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from fuzz.mutate import mutate

#: Of each: what is changed, and for zeros and swapped blocks their bytes.
KINDS = {
    "zeros 512": 512,
    "zeros 4096": 4096,
    "zeros 8192": 8192,
    "swapped 512": 512,
    "swapped 8192": 8192,
    "bit": 0,
    "byte": 0,
    "bytes": 0,
    "cut off": 0,
    "older": 0,
    "missing": 0,
}
#: Share of cases in which a database is damaged, where most of an index is.
_DATABASES = 0.6


def damage(folder: Path, older: Path, rng: np.random.Generator) -> tuple[str, str]:
    """Damage a file of a folder; return in which way, and its name.

    Args:
        folder: Where it is.
        older: The same folder at an earlier time.
        rng: Source of all decisions.
    """
    while True:
        kind = list(KINDS)[rng.integers(len(KINDS))]
        files = [path for path in sorted(folder.iterdir()) if path.stat().st_size]
        databases = [path for path in files if ".sqlite" in path.name]
        chosen = databases if databases and rng.random() < _DATABASES else files
        path = chosen[rng.integers(len(chosen))]
        if kind == "missing":
            path.unlink()
            return kind, path.name
        before = path.read_bytes()
        after = _changed(kind, before, older / path.name, rng)
        if after != before:
            path.write_bytes(after)
            return kind, path.name


def _changed(kind: str, data: bytes, older: Path, rng: np.random.Generator) -> bytes:
    found, size = bytearray(data), KINDS[kind]
    at = int(rng.integers(len(data)))
    if kind == "older":
        return older.read_bytes() if older.exists() else data
    if kind == "bytes":
        return mutate(data, b"", rng)
    if kind == "cut off":
        return data[:at]
    if kind == "bit":
        found[at] ^= 1 << int(rng.integers(8))
    elif kind == "byte":
        found[at] = int(rng.integers(256))
    elif kind.startswith("zeros"):
        begin = at // size * size
        end = min(begin + size, len(data))
        found[begin:end] = bytes(end - begin)
    else:
        other = int(rng.integers(len(data)))
        one, two = sorted((at // size * size, other // size * size))
        if one == two or two + size > len(data):
            return data
        found[one : one + size], found[two : two + size] = (
            data[two : two + size],
            data[one : one + size],
        )
    return bytes(found)
