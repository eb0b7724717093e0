"""The job of the blog on 400,000 job advertisements, on synthetic ones.

Source: `experiments.documents.BLOG`.
"""

from __future__ import annotations

import os
import statistics
import time
from typing import Any

import numpy as np

import neardup
from neardup.match.verifying import make_sets, similarities
from neardup.sketch.bands import candidate_probability, steepest
from neardup.threads import Pool

__all__ = ["BANDS", "BLOG", "ROWS", "adverts", "blog"]

BANDS, ROWS = 42, 3
BLOG = neardup.Spec(shingle=neardup.ShingleSpec(n=3), threshold=0.5, num_bands=BANDS, rows=ROWS)
#: Adverts of one agency, of which each has the same text about the agency.
_AGENCY = 64
#: Words of an advert that are of its agency, and of itself: two adverts of an agency, with 80 words
#: of their own, have (54 - 2) / (132 + 132 - 52) = 0.25 of their 3-shingles in common.
_SHARED, _OWN = 54, (60, 101)
_REPEATED = 0.15
#: Candidates whose similarity the histogram has, at most.
_SAMPLE = 200_000
_CLASSES = 20


def adverts(count: int, seed: int) -> list[str]:
    """Make adverts: those of an agency share a text, and some repeat an earlier one.

    A repetition differs in up to 11 words.
    """
    draw = np.random.default_rng(seed)
    words = np.array([f"word{i}" for i in range(20_000)])
    agencies = (len(words) * draw.random((-(-count // _AGENCY), _SHARED)) ** 2).astype(int)
    order = draw.permutation(count)  # adverts of an agency come at any time
    made: list[str] = []
    for place in order.tolist():
        if made and draw.random() < _REPEATED:
            text = made[int(draw.integers(len(made)))].split()
            for at in draw.integers(len(text), size=int(draw.integers(12))).tolist():
                text[at] = str(words[int(draw.integers(len(words)))])
        else:
            own = (len(words) * draw.random(int(draw.integers(*_OWN))) ** 2).astype(int)
            text = words[np.concatenate([agencies[place // _AGENCY], own])].tolist()
        made.append(" ".join(text))
    return made


def blog(count: int, runs: int = 1) -> dict[str, Any]:
    """Query, then insert, one by one; and count the candidates by similarity.

    Args:
        count: Advertisements.
        runs: How often what is timed is done; medians count.

    Returns:
        Numbers of the curve; ``runs``; ``seconds`` of the job, and how many of these a processor
        worked for it, ``load`` before; ``pairs`` that reach 0.5; ``candidates``;
        ``signing_seconds`` and ``signature_bytes`` of all signatures; ``histogram``: how many of
        ``sample`` candidates, drawn at random, are in each of 20 classes of similarity.
    """
    point = steepest(BANDS, ROWS)
    width = 1e-6
    ends = (candidate_probability(point + side, BANDS, ROWS) for side in (width, -width))
    high, low = (float(end) for end in ends)
    texts = adverts(count, 4)
    load = os.getloadavg()[0]
    timed = sorted(_one_by_one(texts) for _ in range(runs))
    seconds, busy, pairs = timed[(runs - 1) // 2]
    return {
        "steepest": round(point, 3),
        "near": round((1 / BANDS) ** (1 / ROWS), 3),
        "slope": round((high - low) / (2 * width), 2),
        "estimate_of_slope": round(ROWS / (np.e * point), 2),
        "twice": _twice(),
        "at_threshold": float(candidate_probability((1 / BANDS) ** (1 / ROWS), BANDS, ROWS)),
        "at_0.5": float(candidate_probability(0.5, BANDS, ROWS)),
        "at_0.05": float(candidate_probability(0.05, BANDS, ROWS)),
        "documents": count,
        "runs": runs,
        "all_pairs": count * (count - 1) // 2,
        "seconds": round(seconds, 1),
        "processor_seconds": round(busy, 1),
        "load": round(load, 1),
        "pairs": pairs,
        **_candidates(texts, runs),
    }


def _one_by_one(texts: list[str]) -> tuple[float, float, int]:
    """Query and insert all; return seconds, those of a processor, and the pairs found."""
    index = neardup.Index.create(spec=BLOG, store_text=False)
    begin, busy = time.perf_counter(), time.process_time()
    pairs = 0
    for number, text in enumerate(texts):
        pairs += index.query(text).num_rows
        index.add([text], ids=[number])
    return time.perf_counter() - begin, time.process_time() - busy, pairs


def _twice() -> list[float]:
    """Return where the curve has 0.1 and 0.9, and the same with twice the rows, bands squared."""
    s = np.linspace(0, 1, 100_001)
    found = []
    for bands, rows in ((BANDS, ROWS), (BANDS**2, 2 * ROWS)):
        curve = candidate_probability(s, bands, rows)
        found += [round(float(s[np.searchsorted(curve, share)]), 3) for share in (0.1, 0.9)]
    return found


def _candidates(texts: list[str], runs: int) -> dict[str, Any]:
    """Count the candidates of all adverts, and take the similarities of some."""
    seconds = []
    for _ in range(runs):
        begin = time.perf_counter()
        signed = neardup.signatures(texts, BANDS * ROWS, shingle=BLOG.shingle)
        seconds.append(time.perf_counter() - begin)
    a, b = neardup.candidate_pairs(neardup.band_keys(signed, BANDS, ROWS))
    chosen = np.random.default_rng(5).permutation(len(a))[:_SAMPLE]
    documents, places = np.unique(np.stack([a[chosen], b[chosen]]), return_inverse=True)
    shingles = neardup.shingle_sets([texts[i] for i in documents], BLOG.shingle)
    with Pool() as pool:
        x, y = places.reshape(2, -1).astype(np.int32)
        found = np.maximum(0, similarities(make_sets(shingles), x, y, 0.0, pool))
    return {
        "signing_seconds": round(statistics.median(seconds), 1),
        "signature_bytes": signed.nbytes,
        "candidates": len(a),
        "sample": len(chosen),
        "histogram": np.histogram(found, bins=_CLASSES, range=(0, 1))[0].tolist(),
    }
