"""Pairs of a sample that share a bucket, compared, and what that says of the corpus."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from neardup.core.band import Buckets
from neardup.core.cluster import SMALL_BUCKET
from neardup.core.expect import FAMILY, joined, partners_met
from neardup.core.join import join
from neardup.core.threads import Pool
from neardup.core.tune import candidate_probability
from neardup.core.verify import ShingleSets, verify
from neardup.run.neighbours import partners as search
from neardup.run.parts import Recipe
from neardup.run.sampling import Sample

__all__ = [
    "Giants",
    "Met",
    "documents_met",
    "documents_removed",
    "giant_buckets",
    "join_pairs",
    "look_at_pairs",
]

#: Buckets of the sample up to this size have all their pairs looked at; of larger ones some are.
_SMALL = 16
#: Pairs that are looked at, in buckets of either kind, and of one large bucket.
_PAIRS, _OF_LARGE = 1 << 14, 64
#: Documents of a bucket of the sample from which on its size says how large it is in the corpus.
_SURE = 5
#: Documents of few partners that are at least so similar are taken as copies of each other.
_COPY = 0.3
#: Pairs less similar than that are looked into if this share of the documents hangs on them, and
#: so many of them. Members of a family are alike to this share of what two of them are.
_MATTERS, _ASKED, _AS_LIKE = 0.1, 256, 0.75
_SEED = 20170117


@dataclass
class Met:
    """Pairs of the sample that share a bucket, each once.

    Attributes:
        a, b: int64[pairs]: positions in the sample.
        weight: float64[pairs]: for how many pairs of the corpus each stands.
        similarity: float64[pairs]: exact.
        passed: bool[pairs]: whether sizes and bitmaps leave it to be compared.
        small: bool[pairs]: whether they met in small buckets only, where every pair is looked at.
    """

    a: np.ndarray
    b: np.ndarray
    weight: np.ndarray
    similarity: np.ndarray
    passed: np.ndarray
    small: np.ndarray

    @property
    def copies(self) -> np.ndarray:
        """bool[pairs]: similar enough to be copies, in buckets of few."""
        return np.asarray(self.small & (self.similarity >= _COPY))


@dataclass
class Giants:
    """What buckets of more than `SMALL_BUCKET` documents will hold, all bands together.

    Attributes:
        members: Documents in them that join one cluster; each is compared about once.
        rows: Pairs that their bitmaps tell apart.
        alike: Pairs that these don't; compared once, in however many bands they meet.
    """

    members: float = 0.0
    rows: float = 0.0
    alike: float = 0.0


def look_at_pairs(
    sample: Sample, bands: list[Buckets], recipe: Recipe, threshold: float, pool: Pool
) -> Met:
    """Compare pairs of the sample that share a bucket: all of small buckets, some of large ones.

    Args:
        sample: The sample.
        bands: Its buckets.
        recipe: What documents become.
        threshold: The edge threshold.
        pool: Threads.
    """
    random = np.random.default_rng(_SEED)
    small: list[np.ndarray] = [np.zeros(0, np.uint64)]
    large: list[np.ndarray] = [np.zeros(0, np.uint64)]
    weights: list[np.ndarray] = [np.zeros(0)]
    for band in bands:
        sizes = np.diff(band.starts)
        for size in np.unique(sizes[sizes <= _SMALL]):
            rows = band.starts[:-1][sizes == size][:, None] + np.arange(size)
            i, j = np.triu_indices(size, k=1)
            members = band.members[rows]
            small.append(_codes(members[:, i], members[:, j]))
        for bucket in np.flatnonzero(sizes > _SMALL):
            members = band.members[band.starts[bucket] : band.starts[bucket + 1]]
            i = random.integers(0, len(members), _OF_LARGE)
            j = (i + random.integers(1, len(members), _OF_LARGE)) % len(members)
            large.append(_codes(*np.sort(members[np.stack([i, j])], axis=0)))
            every = len(members) * (len(members) - 1) / 2
            weights.append(np.full(_OF_LARGE, every / _OF_LARGE))
    of_small, small_weights = _some(np.unique(np.concatenate(small)), None, random)
    of_large, large_weights = _some(np.concatenate(large), np.concatenate(weights), random)
    pairs = np.concatenate([of_small, of_large])
    a, b = (pairs >> np.uint64(32)).astype(np.int64), pairs.astype(np.uint32).astype(np.int64)
    is_small = np.arange(len(pairs)) < len(of_small)
    weight = sample.drawn.weights(a, b) * np.concatenate([small_weights, large_weights])
    # Pairs of large buckets were drawn band by band: each as often as it meets.
    times = sum((keys[a] == keys[b] for keys in sample.keys), np.zeros(len(a), np.int64))
    weight[~is_small] /= times[~is_small]
    docs = np.unique(np.concatenate([a, b]))
    sets = sample.sets_of(docs, recipe, pool)
    x, y = (np.searchsorted(docs, side).astype(np.int32) for side in (a, b))
    similarity = verify(sets, x, y, 0.0, pool)
    return Met(a, b, weight, similarity, _passed(sets, x, y, threshold), is_small)


def _codes(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    codes: np.ndarray = a.astype(np.uint64) << np.uint64(32) | b.astype(np.uint64)
    return codes.ravel()


def _some(
    pairs: np.ndarray, weights: np.ndarray | None, random: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Return so many pairs as can be looked at, and for how many each stands."""
    weights = np.ones(len(pairs)) if weights is None else weights
    if len(pairs) <= _PAIRS:
        return pairs, weights
    chosen = np.sort(random.choice(len(pairs), _PAIRS, replace=False))
    return pairs[chosen], weights[chosen] * (len(pairs) / _PAIRS)


def _passed(sets: ShingleSets, x: np.ndarray, y: np.ndarray, threshold: float) -> np.ndarray:
    """Return bool[pairs]: what `neardup.kernels.sets.may_reach` does not rule out."""
    size, bitmaps, slack = sets.filter(threshold)
    alone = np.bitwise_count(bitmaps[x] ^ bitmaps[y]).sum(axis=1, dtype=np.int64)
    nx, ny = size[x].astype(np.int64), size[y].astype(np.int64)
    return np.asarray(np.maximum(alone, np.abs(nx - ny)) <= slack * (nx + ny) + 1e-6)


def join_pairs(
    sample: Sample, docs: np.ndarray, recipe: Recipe, threshold: float, pool: Pool
) -> Met:
    """Return the pairs of the sample that reach the edge threshold, by an exact join.

    Args:
        docs: int32[], ascending: documents that take part.
    """
    sets = sample.sets_of(docs, recipe, pool)
    found = join(sets, np.flatnonzero(sets.size).astype(np.int32), threshold, pool)
    a, b = docs[found.a].astype(np.int64), docs[found.b].astype(np.int64)
    every = np.ones(len(a), dtype=np.bool_)
    return Met(a, b, sample.drawn.weights(a, b), found.similarity, every, every)


def giant_buckets(
    bands: list[Buckets], met: Met, ratio: float, documents: int, threshold: float
) -> Giants:
    """Tell by the pairs that were looked at what buckets that will be giant ones hold.

    Args:
        bands: Buckets of the sample.
        met: Pairs in them.
        ratio: Documents of the corpus for each of the sample.
        documents: Of the sample.
        threshold: The edge threshold.
    """
    giants = Giants()
    least = max(_SURE, SMALL_BUCKET / ratio)
    label = np.empty(documents, dtype=np.int64)
    for band in bands:
        sizes = np.diff(band.starts)
        label[:] = -1
        label[band.members] = np.repeat(np.arange(len(sizes)), sizes)
        here = np.flatnonzero((label[met.a] == label[met.b]) & (label[met.a] >= 0))
        of = label[met.a[here]]
        looked, edges, passed = (
            np.bincount(of, weights, minlength=len(sizes))
            for weights in (None, met.similarity[here] >= threshold, met.passed[here])
        )
        for bucket in np.flatnonzero((sizes > least) & (looked > 0)):
            size = float(sizes[bucket]) * ratio
            pairs = size * (size - 1) / 2
            if edges[bucket] > looked[bucket] / 2:
                giants.members += size
            elif passed[bucket] > looked[bucket] / 20:
                # Documents that went through one giant bucket together are not compared again.
                giants.alike = max(giants.alike, pairs)
            else:
                giants.rows += pairs
    return giants


def documents_met(
    met: Met, degree: np.ndarray, docs: np.ndarray, sample: Sample, recipe: Recipe, pool: Pool
) -> float:
    """Return how many documents of the corpus share a bucket with another one.

    Args:
        met: Pairs of the sample that do.
        degree: int64[sample]: with how many others each shares its largest bucket.
        docs: int32[], ascending: documents that take part.
        sample: The sample.
        recipe: What documents become.
        pool: Threads.
    """
    drawn = sample.drawn
    if drawn.whole:
        return float((degree[docs] > 0).sum())
    partners = np.bincount(
        np.concatenate([met.a[met.small], met.b[met.small]]), minlength=sample.count
    )
    # Two that meet each other and nobody else are a document and its copy, or met by chance.
    alone = met.small & (partners[met.a] == 1) & (partners[met.b] == 1)
    alone &= (degree[met.a] == 1) & (degree[met.b] == 1)
    partners[met.a[alone]] = partners[met.b[alone]] = 0
    partners = np.where(degree >= _SMALL, np.maximum(degree, partners), partners)
    weight = met.weight.copy()
    # Two of low similarity may be of a family of which few are in the sample, most of which do not
    # happen to meet here. A member of it meets ``chance * (members - 1)`` others in the sample, so
    # that a pair stands for that many fewer documents than two that have met by chance.
    unlike = np.flatnonzero(alone & (met.similarity < _COPY))
    if recipe.bands is not None and (2 * weight[unlike].sum() > _MATTERS * len(docs) * drawn.ratio):
        unlike = unlike[:_ASKED]
        others = _members(met, unlike, docs, sample, recipe, pool) - 1
        bands = recipe.bands
        chance = np.array(
            [
                candidate_probability(float(s), bands.num_bands, bands.rows)
                for s in met.similarity[unlike]
            ]
        )
        of_family = drawn.ratio / (chance * others)
        weight[unlike] = np.minimum(weight[unlike], of_family)
    return partners_met(partners[docs], float(weight[alone].sum()), drawn)


def _members(
    met: Met, pairs: np.ndarray, docs: np.ndarray, sample: Sample, recipe: Recipe, pool: Pool
) -> np.ndarray:
    """Return int64[pairs]: documents that are about as like the first of a pair as the second is.

    Counted with these two, in the sample, whether they share a bucket or not.
    """
    queries = met.a[pairs].astype(np.int32)
    similarity = _AS_LIKE * met.similarity[pairs]
    found, _ = search(sample, queries, docs, recipe, float(similarity.min()), pool)
    near = found.similarity >= similarity[found.query]
    return 1 + np.bincount(found.query[near], minlength=len(pairs))


def documents_removed(met: Met, threshold: float, docs: np.ndarray, sample: Sample) -> float:
    """Return how many documents of the corpus repeat a kept one without being equal to it.

    Args:
        met: Pairs of the sample that share a bucket.
        threshold: The edge threshold.
        docs: int32[]: documents that take part.
        sample: The sample.
    """
    drawn = sample.drawn
    edges = met.similarity >= threshold
    a, b = met.a[edges], met.b[edges]
    if drawn.whole:
        return float(joined(a, b, sample.count))
    family = np.bincount(np.concatenate([a, b]), minlength=sample.count) >= FAMILY
    of_family = float(family.sum()) * drawn.ratio
    few = ~family[a] & ~family[b]
    rest = max(1.0, (len(docs) - float(family.sum())) * drawn.ratio)
    return of_family + min(float(met.weight[edges][few].sum()), rest / 2)
