"""How similar the documents of a corpus are to each other, by exact search in a sample of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from neardup.core.exact import first_of_group
from neardup.core.threads import Pool
from neardup.core.tune import candidate_probability
from neardup.run.meeting import Met
from neardup.run.neighbours import Partners, partners
from neardup.run.parts import Recipe
from neardup.run.sampling import Sample

__all__ = ["CLASSES", "Family", "Similarities", "similarities"]

#: Classes of similarity, from 0 to 1, of equal width.
CLASSES = 20
#: Where they begin and end; divided, so that a pair of 3 in 20 lies at the begin of its class.
_LIMITS = np.arange(CLASSES + 1) / CLASSES
#: Documents whose partners are searched for.
_QUERIES = 512
#: Pairs that share less are counted as sharing nothing.
_LEAST = 1e-9
#: Documents so similar share a template; a family is so large a share of the documents, and so
#: many of those whose partners were searched for.
_TEMPLATE, _FAMILY_SHARE, _FAMILY_LEAST = 0.2, 0.01, 5
_SEED = 20170117


@dataclass(frozen=True)
class Family:
    """Documents that have a template in common.

    Attributes:
        share: Of all documents.
        similarity: Median of the similarities of two of them.
    """

    share: float
    similarity: float


@dataclass(frozen=True)
class Similarities:
    """Pairs of different texts by similarity.

    Attributes:
        queries: Documents whose partners were searched for.
        against: Documents that were searched.
        pairs: float64[CLASSES]: pairs of the corpus in each class; the lowest has those too that
            share nothing.
        families: Largest first.
    """

    queries: int
    against: int
    pairs: np.ndarray
    families: list[Family]

    def as_dict(self) -> dict[str, Any]:
        return {
            "queries": self.queries,
            "against": self.against,
            "limits": _LIMITS.tolist(),
            "pairs": [float(count) for count in self.pairs],
        }


def similarities(
    sample: Sample, met: Met, recipe: Recipe, threshold: float, pool: Pool
) -> Similarities:
    """Search the sample for all that is like some hundred documents of it.

    Pairs too rare to be seen so are taken from those that share a bucket, where these have nearly
    all of them.

    Args:
        sample: The sample.
        met: Its pairs that share a bucket.
        recipe: What documents become.
        threshold: The edge threshold.
        pool: Threads.
    """
    filled = np.flatnonzero(sample.tokens).astype(np.int32)
    first = first_of_group(sample.hashes, filled)
    docs = filled[first[filled] == filled]
    random = np.random.default_rng(_SEED)
    queries = np.sort(random.choice(docs, min(_QUERIES, len(docs)), replace=False))
    found, against = partners(sample, queries, docs, recipe, _LEAST, pool)
    # Each pair of two queries is found from both of its ends, others from one: every query stands
    # for len(docs) / queries documents, each of which counts half of its pairs.
    scale = len(docs) / max(1, len(queries)) * len(docs) / max(1, against) / 2
    pairs, _ = np.histogram(
        found.similarity,
        _LIMITS,
        weights=scale * sample.drawn.weights(found.doc, queries[found.query]),
    )
    different = float(len(docs)) * sample.drawn.ratio
    pairs[0] += max(0.0, different * (different - 1) / 2 - pairs.sum())
    if not sample.drawn.whole or min(len(queries), against) < len(docs):
        _from_buckets(pairs, met, recipe, threshold)
    return Similarities(len(queries), against, pairs, _families(found, queries))


def _from_buckets(pairs: np.ndarray, met: Met, recipe: Recipe, threshold: float) -> None:
    """Count the pairs of classes that banding finds nearly all of by their buckets instead."""
    chance = np.ones(len(met.similarity))
    bands = recipe.bands
    if bands is not None:
        chance = np.array(
            [candidate_probability(float(s), bands.num_bands, bands.rows) for s in met.similarity]
        )
    better, _ = np.histogram(met.similarity, _LIMITS, weights=met.weight / chance)
    for k in range(CLASSES):
        low = k / CLASSES
        if bands is None:
            known = low >= threshold - 1e-9
        else:
            known = candidate_probability(low, bands.num_bands, bands.rows) >= 0.9
        if known:
            pairs[k] = better[k]


def _families(found: Partners, queries: np.ndarray) -> list[Family]:
    """Take, again and again, the document that shares a template with most others, and these."""
    like = found.similarity >= _TEMPLATE
    at = np.minimum(np.searchsorted(queries, found.doc), len(queries) - 1)
    among = like & (queries[at] == found.doc)
    a, b, s = found.query[among], at[among], found.similarity[among]
    left = np.ones(len(queries), dtype=np.bool_)
    families: list[Family] = []
    while len(a):
        here = left[a] & left[b]
        a, b, s = a[here], b[here], s[here]
        partners = np.bincount(a, minlength=len(queries))
        if not len(a):
            break
        centre = int(partners.argmax())
        members = np.append(b[a == centre], centre)
        share = len(members) / len(queries)
        if len(members) < _FAMILY_LEAST or share < _FAMILY_SHARE:
            break
        within = np.isin(a, members) & np.isin(b, members)
        families.append(Family(share, float(np.median(s[within]))))
        left[members] = False
    return families
