"""The section of the page on what the paper does in another way, and its numbers about that."""

from __future__ import annotations

from experiments import paper
from experiments.markdown import count, table
from experiments.row_stores import BATCH
from experiments.sizes import PARTITION

__all__ = ["differences"]


def differences() -> str:
    """Return the section."""
    bands, rows = paper.BANDS
    hashes = bands * rows
    miss = 1 - (1 - 1 / hashes) ** hashes
    colliding = paper.NGRAMS**2 / 2 / 2**64
    notes, part = paper.CORPUS["notes"], paper.CORPUS["notes"] // paper.PARTS
    lines = [
        [
            "hash functions (7.3, 7.4)",
            "MurmurHash with a random seed for each of the M entries, in a space of 2^64",
            "a 64-bit hash of a shingle, and M affine functions of its upper 32 bits (`affine32`)",
        ],
        [
            "hashes of shingles (7.4)",
            f"10^{len(str(paper.NGRAMS)) - 1} n-grams of a billion documents fit into 2^64",
            f"64 bits too; of so many, {count(colliding)} pairs share a hash",
        ],
        [
            "a pair at similarity 1/M (3.6)",
            "has a chance of 50 % to agree in one of M entries",
            f"1 - (1 - 1/M)^M, which is {100 * miss:.0f} % with M = {hashes}: a slip of the paper",
        ],
        [
            "an edge (6)",
            "similarity above the edge threshold",
            "similarity that reaches the threshold",
        ],
        [
            "Design 1 (8)",
            "128 bits a row: band, document, key; N b rows written",
            f"a row for each key, N b; in requests of {BATCH} rows on Cassandra; band, partition "
            "and place are its primary key",
        ],
        [
            "Design 2 (8)",
            "`list<bigint>`: 32 + 32 + 64 d bits for d notes of a part; p b rows written, b reads",
            "a blob of 64 d bits under a checksum; p b rows, read b times",
        ],
        [
            "parts of Design 2 (9.2)",
            f"p = {paper.PARTS}",
            f"partitions of {count(PARTITION)} notes, and {paper.PARTS} parts beside them in "
            "figure 8",
        ],
        [
            "work (8)",
            "all pairs O(N^2 w), signatures O(N w M)",
            "the same for signatures; pairs are compared within buckets alone",
        ],
        [
            "size (7.1)",
            f"{paper.GIGABYTES} GB",
            "see section 12 below",
        ],
        [
            "notes of section 9.1",
            f"{paper.NOTES} and 10 near-duplicates: {paper.NOTES + 10}",
            "the same numbers, or as many as a set has",
        ],
    ]
    return f"""## What is done in another way

{table(["", "paper", "here"], lines)}

With p = {paper.PARTS}, a part of {count(notes)} notes has {count(part)} of them, so that one row of
Design 2 takes {8 * part / 1e6:.0f} MB. In neardup a partition has the same size in a large corpus
as in a small one. Tables 1 to 4 of the paper, 4 documents with 4 bands as 16 rows of Design 1 and
as 8 rows of Design 2, are tests (`tests/state/test_state_designs.py`, and
`tests/state/test_state_cassandra.py` on a real server). Before times are measured, the rows in the
tables of each store are counted; where they are not those of its design, the experiment fails."""
