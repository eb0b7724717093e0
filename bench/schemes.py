"""The two signature schemes: recall of pairs at the threshold, and time, by length of documents.

    python bench/schemes.py [--corpora 20] [--pairs 2000]

A corpus is pairs of sets whose Jaccard similarity is the threshold, 0.7, as nearly as their size
allows. All have the bands that a run chooses by default. Writes bench/results/schemes.json.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np

from harness import SEED, THRESHOLD, save, say, table
from neardup.sketch.bands import candidate_probability, choose_bands
from neardup.sketch.sketcher import Signer, band_keys
from neardup.sketch.texts import Ragged
from neardup.spec import SCHEMES

SHINGLES = (5, 20, 50, 100, 300, 1_000, 3_000, 10_000)
#: Shingles that are signed at least for a figure of time.
ENOUGH = 20_000_000


def pairs_of(rng: np.random.Generator, pairs: int, size: int) -> tuple[Ragged, float]:
    """Return sets of ``size`` shingles, of which 2k and 2k + 1 are a pair, and its similarity."""
    shared = round(2 * size * THRESHOLD / (1 + THRESHOLD))
    sets = rng.integers(0, 2**63, (pairs, 2, size), dtype=np.uint64)
    sets[:, 1, :shared] = sets[:, 0, :shared]
    offsets = np.arange(0, 2 * pairs * size + 1, size, dtype=np.int64)
    return Ragged(sets.reshape(-1), offsets), shared / (2 * size - shared)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--corpora", type=int, default=20)
    parser.add_argument("--pairs", type=int, default=2000)
    args = parser.parse_args()
    bands = choose_bands(THRESHOLD, 0.99)
    hashes = bands.num_bands * bands.rows
    results: list[dict[str, Any]] = []
    for size in SHINGLES:
        found: dict[str, list[float]] = {name: [] for name in SCHEMES}
        seconds: dict[str, float] = {}
        for corpus in range(args.corpora):
            rng = np.random.default_rng([SEED, size, corpus])
            pairs = max(100, min(args.pairs, 4_000_000 // size))
            sets, similarity = pairs_of(rng, pairs, size)
            for name, scheme in SCHEMES.items():
                signatures = Signer(hashes, scheme, corpus)(sets)
                keys = band_keys(signatures, bands.num_bands, bands.rows)
                found[name].append(float((keys[::2] == keys[1::2]).any(axis=1).mean()))
        for name, scheme in SCHEMES.items():
            signer, documents = Signer(hashes, scheme), len(sets.offsets) - 1
            rounds = max(1, ENOUGH // (documents * size))
            begin = time.process_time()
            for _ in range(rounds):
                signer(sets)
            seconds[name] = (time.process_time() - begin) / rounds / documents
        predicted = candidate_probability(similarity, bands.num_bands, bands.rows)
        for name in SCHEMES:
            recall = np.array(found[name])
            results.append(
                {
                    "shingles": size,
                    "scheme": name,
                    "similarity": similarity,
                    "predicted": predicted,
                    "recall": recall.mean(),
                    "least": recall.min(),
                    "pairs": pairs * args.corpora,
                    "microseconds": seconds[name] * 1e6,
                }
            )
    header = ["shingles", "scheme", "similarity", "predicted", "recall", "least of a corpus"]
    header += ["microseconds a document"]
    names = ["similarity", "predicted", "recall", "least"]
    rows = []
    for each in results:
        shown = [f"{each[name]:.4f}" for name in names]
        time_of = f"{each['microseconds']:.1f}"
        rows.append([f"{each['shingles']:,}", each["scheme"], *shown, time_of])
    print(table(header, rows))
    say(str(save("schemes", {"bands": [bands.num_bands, bands.rows], "runs": results})))


if __name__ == "__main__":
    main()
