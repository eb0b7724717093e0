"""What a run will find, by a sample of its corpus that was signed as the run signs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from neardup.core.band import Buckets, buckets
from neardup.core.exact import first_of_group
from neardup.core.expect import FAMILY, About, copies, no_pairs, pair_counts, recall
from neardup.core.threads import Pool
from neardup.run.meeting import (
    Giants,
    Met,
    documents_met,
    documents_removed,
    giant_buckets,
    join_pairs,
    look_at_pairs,
)
from neardup.run.parts import Recipe
from neardup.run.sampling import Sample
from neardup.spec import Spec

__all__ = ["Expected", "expect"]


@dataclass(frozen=True)
class Expected:
    """What a run will find.

    Attributes:
        documents: Of the corpus.
        filled: Those that are not empty.
        size: Bytes of the source.
        text: Bytes of text.
        table: Bytes of all columns as an uncompressed table.
        columns: Bytes of the columns that the run holds.
        shingles: Of all documents, repetitions included.
        exact_duplicates: Documents equal to an earlier one.
        candidates: Pairs that share a bucket, in each band anew.
        by_band: Of those, how many in each band.
        met: Documents that share a bucket with another one.
        compared: Pairs of small buckets that are compared exactly.
        pruned: Pairs of small buckets that sizes and bitmaps rule out.
        giants: What giant buckets hold.
        edges: Pairs of different documents that reach the edge threshold.
        removed: Documents that go, exact duplicates included.
        recall: Share of the pairs at and above the edge threshold that is found.
    """

    documents: About
    filled: float
    size: int
    text: float
    table: float
    columns: float
    shingles: float
    exact_duplicates: About
    candidates: About
    by_band: list[float]
    met: float
    compared: float
    pruned: float
    giants: Giants
    edges: About
    removed: float
    recall: About

    @property
    def kept(self) -> float:
        return max(0.0, self.documents.value - self.removed)


def expect(
    sample: Sample, spec: Spec, recipe: Recipe, total_bytes: int | None, pool: Pool
) -> tuple[Expected, Met]:
    """Work out what a run will find.

    Args:
        sample: Of its corpus.
        spec: What is asked for.
        recipe: What documents become.
        total_bytes: Size of the source; None where it is not known.
        pool: Threads.

    Returns:
        (what is expected, the pairs of the sample that it was worked out from).
    """
    drawn, ratio, chosen = sample.drawn, sample.drawn.ratio, recipe.bands
    threshold = spec.edge_threshold
    filled = np.flatnonzero(sample.tokens).astype(np.int32)
    first = first_of_group(sample.hashes, filled)
    docs = filled[first[filled] == filled]
    equal = copies(first, filled, drawn)
    bands = [buckets(keys, docs) for keys in sample.keys]
    degree = np.zeros(sample.count, dtype=np.int64)
    for band in bands:
        sizes = np.diff(band.starts).astype(np.int64)
        np.maximum.at(degree, band.members, np.repeat(sizes - 1, sizes))
    if chosen is None:
        met = join_pairs(sample, docs, recipe, threshold, pool)
    else:
        met = look_at_pairs(sample, bands, recipe, threshold, pool)
    excess = _count_copies_once(met, degree, sample)
    counts = [pair_counts(band, drawn) for band in bands]
    share = _collapsed(first, filled, degree, equal.value, sample)
    met.weight[met.small] *= (1 - share[1]) ** 2
    by_band = [
        max(c.seen, c.expected().value * _without_copies(band, share) - more)
        for c, band, more in zip(counts, bands, excess, strict=True)
    ]
    found = sum(counts, no_pairs(drawn)).expected()
    scale = sum(by_band) / found.value if found.value else 1.0
    edges = met.weight[met.similarity >= threshold]
    different = max(0.0, len(filled) * ratio - equal.value)
    every = different * max(0.0, different - 1) / 2
    weight = min(every, float(edges.sum()))
    error = 0.0 if drawn.whole else 2 * float(np.sqrt((edges**2).sum()))
    return Expected(
        documents=sample.documents,
        filled=len(filled) * ratio,
        size=int(total_bytes if total_bytes is not None else sample.size * ratio),
        text=float(sample.lengths.sum()) * ratio,
        table=sample.table_bytes * ratio,
        columns=sample.column_bytes * ratio,
        shingles=float(sample.shingles.sum()) * ratio,
        exact_duplicates=equal,
        candidates=About(*(value * scale for value in found)),
        by_band=by_band,
        met=different if chosen is None else documents_met(met, degree, docs, sample, recipe, pool),
        compared=float(met.weight[met.small & met.passed].sum()),
        pruned=float(met.weight[met.small & ~met.passed].sum()),
        giants=giant_buckets(bands, met, ratio, sample.count, threshold),
        edges=About(weight, max(0.0, weight - error), min(every, weight + error)),
        removed=equal.value + documents_removed(met, threshold, docs, sample),
        recall=About(1.0, 1.0, 1.0)
        if chosen is None
        else recall(met.similarity, met.weight, chosen.num_bands, chosen.rows, threshold),
    ), met


def _count_copies_once(met: Met, degree: np.ndarray, sample: Sample) -> list[float]:
    """Where all blocks lie side by side, take copies as lying there too.

    Else a document whose copy is near it would be taken for one that has copies all over.

    Returns:
        float[num_bands]: how many pairs too many are expected without that.
    """
    if sample.drawn.everywhere:
        return [0.0] * len(sample.keys)
    near = met.copies & (np.minimum(degree[met.a], degree[met.b]) <= FAMILY)
    a, b = met.a[near], met.b[near]
    once = met.weight[near] / sample.drawn.weights(a, b) * sample.drawn.ratio
    excess = met.weight[near] - once
    met.weight[near] = once
    return [float(excess[keys[a] == keys[b]].sum()) for keys in sample.keys]


def _collapsed(
    first: np.ndarray, filled: np.ndarray, degree: np.ndarray, equal: float, sample: Sample
) -> tuple[float, float]:
    """Return which share of the documents that the sample has as different ones are copies after
    all: (of families, of others).

    Families may have none where others have many; so few copies are seen that this is taken for
    granted only as far as they speak for it.
    """
    total = max(1.0, len(filled) * sample.drawn.ratio)
    repeats = filled[first[filled] != filled]
    share = max(0.0, equal / total - len(repeats) / max(1, len(filled)))
    family = degree[first[filled]] >= FAMILY
    expected = len(repeats) * float(family.mean()) if len(filled) else 0.0
    seen = float((degree[first[repeats]] >= FAMILY).sum())
    return share * min(1.0, (seen + 1) / (expected + 1)), share


def _without_copies(band: Buckets, share: tuple[float, float]) -> float:
    """Return which share of the pairs of a band is left once equal documents are collapsed."""
    sizes = np.diff(band.starts).astype(np.float64)
    pairs = sizes * (sizes - 1) / 2
    if not len(pairs):
        return 1.0
    large = float(pairs[sizes > FAMILY].sum() / pairs.sum())
    return large * (1 - share[0]) ** 2 + (1 - large) * (1 - share[1]) ** 2
