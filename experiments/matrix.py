"""A process that only writes a band matrix into a store and reads it back, to be measured.

    python -m experiments.matrix URL DESIGN DOCUMENTS BANDS PART

Keys are random, as hashes are. A part is made when its turn comes, so that what is seen from
outside is one part, one band of all documents, and whatever the store holds.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np

from neardup.stores import BandStore, Header, MemoryStore, open_store

__all__ = ["opened", "write_and_read"]


def opened(url: str, design: int, folder: Path, run: str = "matrix") -> BandStore:
    """Return an empty store, ready for parts to be put.

    Args:
        url: As for ``--store``.
        design: 1 or 2.
        folder: For what a store keeps in files.
        run: Name of the run, in a store of many.
    """
    store: BandStore
    if url == "memory":
        store = MemoryStore()  # holds all, and has no files
    else:
        store = open_store(url, design=design, run=run, folder=folder)
    store.drop()
    return store


def write_and_read(store: BandStore, documents: int, num_bands: int, part: int) -> int:
    """Write random keys part by part, then read each band of all documents.

    Returns:
        Keys that were read.
    """
    rng = np.random.default_rng(1)
    store.create(Header("matrix", num_bands))
    for number, first in enumerate(range(0, documents, part)):
        size = min(part, documents - first)
        store.put(number, rng.integers(0, 2**64, size=(num_bands, size), dtype=np.uint64), b"")
    read = 0
    for band in range(num_bands):
        keys = np.concatenate(list(store.band(band)))
        read += len(keys)
    return read


def main() -> None:
    """Do it, and leave nothing behind."""
    url, design, *numbers = sys.argv[1:]
    documents, num_bands, part = map(int, numbers)
    with (
        tempfile.TemporaryDirectory() as folder,
        opened(url, int(design), Path(folder)) as store,
    ):
        if documents and write_and_read(store, documents, num_bands, part) != documents * num_bands:
            raise SystemExit(f"{store.url}: not all keys were read")
        store.drop()


if __name__ == "__main__":
    main()
