"""A whole job, or a store by itself: called, or run as a process whose memory is measured.

python -m experiments.jobs job URL NOTES.jsonl BANDS ROWS
python -m experiments.jobs keys URL DOCUMENTS BANDS PARTITION
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np

from experiments.stores import opened
from neardup.state import BandStore, Header

__all__ = ["store_keys", "whole_job"]


def whole_job(url: str, notes: Path, bands: int, rows: int) -> float:
    """Return the seconds from a file to clusters; two threads, nothing else is written.

    Jobs differ in the store of the band keys alone. What a job leaves in a file is removed.

    Args:
        url: As `neardup.state.open_store` takes it.
        notes: JSON lines.
        bands: Bands.
        rows: Signature entries in a band.
    """
    from neardup.api.running import DedupRequest
    from neardup.deduplication.local import run
    from neardup.options.option_groups import Reading, Resources
    from neardup.spec import preset

    spec = preset("clinical").replace(num_bands=bands, rows=rows)
    resources = Resources(threads=2, store=url)
    begin = time.perf_counter()
    request = DedupRequest(notes, Reading(id="id"), spec, resources)
    run(request.job())
    seconds = time.perf_counter() - begin
    if url.startswith("sqlite"):
        Path(url.partition(":")[2]).unlink()
    return seconds


def store_keys(store: BandStore, documents: int, num_bands: int, partition: int) -> int:
    """Write random keys, as hashes are, and read each band of all documents, as a run does.

    A partition is made when its turn comes, so that what is seen from outside is one partition,
    one band of all documents, and whatever the store holds.

    Args:
        store: An empty one.
        documents: How many.
        num_bands: Bands.
        partition: Documents of a partition.

    Returns:
        Keys that were read.
    """
    rng = np.random.default_rng(1)
    store.create(Header("keys", num_bands))
    for number, first in enumerate(range(0, documents, partition)):
        size = min(partition, documents - first)
        store.put(number, rng.integers(0, 2**64, size=(num_bands, size), dtype=np.uint64), b"")
    keys = np.empty(documents, dtype=np.uint64)
    read = 0
    for band in range(num_bands):
        for number, found in store.band(band):
            keys[number * partition : number * partition + len(found)] = found
            read += len(found)
    return read


def main() -> None:
    """Do one of the two."""
    what, url, *rest = sys.argv[1:]
    if what == "job":
        whole_job(url, Path(rest[0]), int(rest[1]), int(rest[2]))
        return
    documents, num_bands, partition = map(int, rest)
    with opened(url, "keys") as store:
        if (
            documents
            and store_keys(store, documents, num_bands, partition) != documents * num_bands
        ):
            raise SystemExit(f"{store.url}: not all keys were read")


if __name__ == "__main__":
    main()
