"""How long each stage of a run takes, by what it will find and how fast the machine is.

The stages are those of ``seconds`` in ``run.json``. What is not measured (constants below) was read
off runs of 10,000 to 10 million notes on two cores, and is scaled by how fast the machine is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from neardup.run.expectation import Expected
from neardup.run.rates import SOME, Rates

__all__ = ["Work", "stage_seconds", "tokens_to_learn"]

#: Bytes of the source that are read while the kernels are loaded.
_EARLY = 32 << 20
# Seconds, for each document: facts put one behind the other and equal ones found; the same with
# arrays in mapped files; what is kept; what is found out of clusters; rows of the tables; the
# second round.
_FACTS, _MAPPED_FACTS, _KEEP, _QUALITY, _ROWS, _SECOND = 5.5e-7, 1e-6, 6e-8, 3e-8, 3.5e-7, 2e-7
# For each shingle of a set: put into its place, and into the bitmap.
_SET = 3e-8
# For each band: buckets saved; what was done to clusters saved.
_SAVED, _LOGGED = 2.5e-3, 7e-3
# For each member of a bucket; pair that is compared; pair that bitmaps rule out, in small buckets
# and in giant ones; pair of documents that are all alike.
_MEMBER, _COMPARED, _PRUNED, _ROW_PAIR, _ALIKE = 3e-8, 1.5e-6, 2e-8, 3.5e-9, 2.5e-8
# What is spent on giant buckets at most, in pairs for each document, see `core/cluster.py`.
_BUDGET = 256
#: Shingles of the documents for which the time of a comparison holds; and pairs within clusters
#: that are compared at most, see `core/quality.py`.
_OF_SHINGLES, _WITHIN = 300, 1 << 19
#: To begin and end a stage that makes its files safe.
_FILES = 0.02


@dataclass(frozen=True)
class Work:
    """What a run works with.

    Attributes:
        threads: Threads that can work at the same time.
        num_bands: Bands; 0 without banding.
        chunk_bytes: Bytes of the source in a chunk.
        held: Share of the documents that is held in memory, and not read again.
        mapped: Arrays lie in mapped files.
        stored: Bytes of the band matrix and facts, where they go to the disk.
        safe: What is done is written down, to be resumed.
        tokens: Tokens that will be stemmed for the first time.
        kernels: Seconds that it takes to load the kernels.
        every: Every pair that banding finds is compared.
        second: Clusters that an edge joins are looked at once more.
        join: Seconds of an exact join of all; 0 with banding.
        signing: Documents are signed; else that was done beforehand.
    """

    threads: int
    num_bands: int
    chunk_bytes: int
    held: float = 0.0
    mapped: bool = False
    stored: int = 0
    safe: bool = True
    tokens: float = 0.0
    kernels: float = 0.0
    every: bool = False
    second: bool = False
    join: float = 0.0
    signing: bool = True


def tokens_to_learn(learned: tuple[int, int], ratio: float) -> float:
    """Return how many different tokens there are beyond those of a sample.

    A power of the number of tokens (Heaps), fitted to the half and the whole of the sample.

    Args:
        learned: Different tokens in half of the sample, and in all of it.
        ratio: Documents of the corpus for each of the sample.

    >>> round(tokens_to_learn((1000, 1500), 8.0))
    3562
    """
    half, whole = learned
    if half <= 0 or ratio <= 1:
        return 0.0
    power = min(1.0, max(0.0, math.log2(whole / half)))
    return whole * (ratio**power - 1)


def stage_seconds(expected: Expected, rates: Rates, work: Work) -> dict[str, float]:
    """Return the wall seconds of each stage of a run.

    Args:
        expected: What it will find.
        rates: How fast the machine is.
        work: What it works with.
    """
    e, slow = expected, rates.slow
    documents = e.documents.value
    chunks = max(1, math.ceil(e.size / work.chunk_bytes))
    # Few chunks keep some threads waiting for the last one.
    waves = math.ceil(chunks / work.threads) * work.threads / chunks
    threads = work.threads / waves
    again = e.size * (1 - work.held)
    met = min(1.0, e.met / max(1.0, documents))
    kept = e.kept / max(1.0, documents)
    disk = rates.disk if work.safe else 0.0
    files = _FILES * work.safe
    found: dict[str, float] = {"kernels": work.kernels}
    if work.signing:
        parsing = rates.read * max(0.0, e.size - _EARLY)
        signing = (parsing + rates.sign * e.text) / threads + rates.learn * work.tokens
        found["read and sign"] = max(signing, disk * work.stored) + files
    facts = _MAPPED_FACTS if work.mapped else _FACTS
    found["exact duplicates"] = facts * slow * documents
    if work.num_bands:
        each = rates.group * e.filled + _SAVED * work.safe
        found["band"] = work.num_bands * each
    # Chunks of which no document is wanted are passed over.
    wanted = -math.expm1(-e.met / chunks)
    sets = again * _again(rates, met) * wanted + e.text * met * rates.sets
    placed = e.shingles * met
    found["shingle sets"] = max(sets / threads + slow * _SET * placed, disk * 8 * placed) + files
    found["verify and cluster"] = work.join + slow * _comparing(e, work)
    if work.second:
        found["second round"] = files / 4 + slow * _SECOND * documents
    within = min(e.edges.value, max(_WITHIN, 2 * documents))
    found["quality"] = files / 4 + slow * (
        _QUALITY * documents + _compared(e) * within / work.threads
    )
    found["keep"] = files / 4 + slow * _KEEP * documents
    out = e.table * kept
    writing = again * _again(rates, kept) + out * rates.write
    found["write"] = (
        max(writing / threads, out * rates.write, out * disk) + slow * _ROWS * documents + 2 * files
    )
    return found


def _again(rates: Rates, share: float) -> float:
    """Seconds to read a share of the documents again, for each byte of the source."""
    rest = max(0.0, rates.read - rates.again) / (1 - SOME)
    return max(0.2 * rates.again, rates.again + (share - SOME) * rest)


def _compared(e: Expected) -> float:
    """Seconds to compare two documents exactly: more where they have more shingles."""
    size = e.shingles / max(1.0, e.filled)
    return _COMPARED * max(1 / 3, size / _OF_SHINGLES)


def _comparing(e: Expected, work: Work) -> float:
    giants = e.giants
    budget = _BUDGET * e.documents.value
    alike, rows = giants.alike, giants.rows
    if not work.every:
        alike, rows = min(alike, budget), min(rows, 16 * budget)
    pairs = (
        (e.compared + giants.members) * _compared(e)
        + e.pruned * _PRUNED
        + rows * _ROW_PAIR
        + alike * _ALIKE
    )
    return pairs + e.met * work.num_bands * _MEMBER + work.num_bands * _LOGGED * work.safe
