"""The designs of the paper: how many rows with band keys are in the tables of a store."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))

from experiments.designs import key_rows
from experiments.stores import opened
from neardup.state import Header

#: As tables 2 to 4 of the paper have it: 4 documents in 2 partitions, 4 bands.
BANDS, PARTITIONS, EACH = 4, 2, 2
DESIGNS = {"Design 1": BANDS * PARTITIONS * EACH, "Design 2": BANDS * PARTITIONS}


def rows_in(url: str, each: int = EACH, bands: int = BANDS, partitions: int = PARTITIONS) -> int:
    """Return the rows with keys after some were put in; they are read back too."""
    with opened(url, "designs") as store:
        store.create(Header("designs", bands))
        for partition in range(partitions):
            keys = np.random.default_rng(partition).integers(0, 2**64, (bands, each), np.uint64)
            store.put(partition, keys, b"some metadata")
            for band in range(bands):
                assert list(store.band(band))[-1][1].tolist() == keys[band].tolist()
        return key_rows(store)
