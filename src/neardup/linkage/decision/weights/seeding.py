"""Seeds: the pairs of one file that are matches most likely, from which weights are learnt.

A seed is similar, and plain evidence says that it is a match. Both also find groups, such as
households, whose members share most fields and are different persons. Where seeds are of such
groups, the fields show it in which they differ.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from neardup.cluster.edges import batches
from neardup.linkage.decision.weights.agreement_classes import CLASSES, EQUAL, exact
from neardup.linkage.decision.weights.evidence import Learnt, plain_evidence
from neardup.linkage.decision.weights.model import STEEP, probability, view_log_odds
from neardup.linkage.decision.weights.tallies import COARSE, LEVELS

#: Seeds may differ by so many nats more than plain evidence has it.
_MARGIN = 3.0
#: Share of the seeds above the foot where there is no valley.
_ABOVE = 0.99
#: Classes of agreement in which two values have hardly anything in common.
_LOW = 3
#: A field identifies if two records agree in it by chance so seldom, and so many pairs do at least:
#: a number that each record has for itself says nothing. So much of the seeds has it at least.
_SELDOM, _EQUAL_PAIRS, _PRESENT = 2.0**-5, 10, 0.5
#: Share of the seeds that may have nothing in common in such a field, and seeds that show it.
_DIFFERENT, _FEWEST = 0.6, 20.0
#: Fields that are looked at together; the coarse classes of each, of which the last one is that of
#: missing values; and from how many times on, and how many standard deviations above it, there are
#: more pairs than chance makes.
_MOST, _LEVELS, _OFTEN, _SURE = 3, LEVELS + 1, 1.5, 3.0


class Seeds(NamedTuple):
    """Where matches are looked for.

    Attributes:
        weights: float64[candidates]: how surely each is a match.
        drawn: float64[random pairs]: the same of these.
        foot: Similarity below which the scalar vetoes.
        groups: Numbers of the fields by which members of a group differ.
        apart: Whether a valley separates them from the other candidates.
    """

    weights: np.ndarray
    drawn: np.ndarray
    foot: float
    groups: tuple[int, ...] = ()
    apart: bool = True

    @property
    def total(self) -> float:
        """Sum of the weights."""
        return float(self.weights.sum())


def seeds_above(known: Learnt, bottom: float, foot: float, by_similar: bool = False) -> Seeds:
    """Return the seeds where a valley separates similar pairs.

    Args:
        known: The pairs.
        bottom: Similarity at the bottom of the valley.
        foot: That at its foot.
        by_similar: Evidence is by the agreements of these similar pairs. Those of a small file of
            which all matches differ are seen by it only.
    """
    values, pool = known.values, known.pool
    similar = known.candidates.similarity
    m = None
    if by_similar:
        weights = pool.filled(
            lambda low, high: exact(probability(STEEP * (similar[low:high] - bottom))), len(similar)
        )
        m = known.tally(weights).shares()
    view = plain_evidence(known, m=m)
    found = []
    for pairs in (known.candidates, known.drawn):
        log_odds, similarity = view_log_odds(view, pairs, values, pool), pairs.similarity

        def of(low: int, high: int) -> np.ndarray:
            similar = probability(STEEP * (similarity[low:high] - bottom))  # noqa: B023
            return exact(similar * probability(log_odds[low:high] + _MARGIN))  # noqa: B023

        found.append(pool.filled(of, len(similarity)))
    return Seeds(found[0], found[1], foot)


def best_seeds(known: Learnt, is_best: np.ndarray) -> Seeds:
    """Return the seeds where there is no valley: those of the best pairs that evidence shows.

    Args:
        known: The pairs.
        is_best: bool[candidates]: whether the two are each other's best.
    """
    view, values, pool = plain_evidence(known, tree=True), known.values, known.pool
    log_odds = view_log_odds(view, known.candidates, values, pool)
    drawn = exact(probability(view_log_odds(view, known.drawn, values, pool)))

    def of(low: int, high: int) -> np.ndarray:
        return exact(is_best[low:high] * probability(log_odds[low:high]))

    weights = pool.filled(of, len(is_best))
    foot = _reached(known.candidates.similarity, weights)
    return Seeds(weights, drawn, foot, apart=False)


def _reached(similarity: np.ndarray, weights: np.ndarray) -> float:
    """Return the similarity that most of some weights reach, to three decimals."""
    sums = np.zeros(1001)
    for rows in batches(len(weights)):
        classes = (similarity[rows] * 1000).astype(np.int64)
        sums += np.bincount(classes, weights[rows], len(sums))
    above = np.cumsum(sums[::-1])[::-1]
    return float(np.flatnonzero(above >= _ABOVE * above[0])[-1] / 1000)


def without_groups(seeds: Seeds, known: Learnt) -> Seeds:
    """Return seeds without the pairs within groups, if most of them are such pairs.

    Matches may differ in any field, but most of them do not in one that identifies. If most of the
    seeds do, they are members of a household, or items of a series. Members agree in such fields as
    often as random pairs do: the pairs beyond that are matches.
    """
    pairs, values = known.candidates, known.values
    low, matches = dict[int, float](), known.tally(seeds.weights)
    for k, single in enumerate(matches.single):
        of = single[:CLASSES]
        equal = float(values.equal[k]) - of[EQUAL]
        possible = values.present[k] * (values.present[k] - 1) / 2
        repeats = values.equal[k] >= _EQUAL_PAIRS and equal <= _SELDOM * possible
        share = float(of[:_LOW].sum() / max(of.sum(), 1.0))
        enough = max(_FEWEST, _PRESENT * seeds.total)
        if repeats and of.sum() >= enough and share > _DIFFERENT:
            low[k] = share
    if not low:
        return seeds
    groups = tuple(sorted(sorted(low, key=lambda k: (-low[k], k))[:_MOST]))
    count = _LEVELS ** len(groups)
    observed = np.zeros(count)
    for rows in batches(len(pairs.a)):
        observed += np.bincount(_cells(pairs.classes[rows], groups), seeds.weights[rows], count)
    others = np.bincount(_cells(known.drawn.classes, groups), 1 - seeds.drawn, count)
    # Pairs that differ in all of these fields are members of a group.
    by_chance = others * observed[0] / max(float(others[0]), 1.0)
    more = observed - np.maximum(_OFTEN * by_chance, by_chance + _SURE * np.sqrt(by_chance + 1))
    shares = np.divide(more, observed, out=np.zeros(count), where=observed > 0)
    shares = np.clip(np.round(shares, 9), 0.0, 1.0)

    def weights(first: int, last: int) -> np.ndarray:
        cells = _cells(pairs.classes[first:last], groups)
        return exact(seeds.weights[first:last] * shares[cells])

    drawn = exact(seeds.drawn * shares[_cells(known.drawn.classes, groups)])
    found = known.pool.filled(weights, len(pairs.a))
    return seeds._replace(weights=found, drawn=drawn, groups=groups)


def _cells(classes: np.ndarray, fields: tuple[int, ...]) -> np.ndarray:
    """Return int64[pairs]: the agreements of some fields as one number; 0 if they all differ."""
    found = np.zeros(len(classes), np.int64)
    for k in fields:
        found = found * _LEVELS + COARSE[classes[:, k]] % _LEVELS
    return found
