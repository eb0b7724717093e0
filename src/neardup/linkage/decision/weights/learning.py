"""Match weights of one file, learnt in one step from seeds, without labels.

Seeds are pairs that the scalar similarity separates from the others. A second step, and more so
expectation maximisation until it converges, lets a larger class ("same city") take over where
matches are few.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from neardup.linkage.decision.weights.agreement_classes import (
    CLASSES,
    EQUAL,
    exact,
    monotone_weights,
    shares,
)
from neardup.linkage.decision.weights.dependences import learn_tree
from neardup.linkage.decision.weights.evidence import (
    LEAST,
    STEPS,
    Learnt,
    random_view,
    sum_of,
    with_prior,
    with_typical,
)
from neardup.linkage.decision.weights.frequencies import ValueCounts
from neardup.linkage.decision.weights.model import (
    STEEP,
    Agreements,
    KindWeights,
    Model,
    probability,
    view_log_odds,
)
from neardup.linkage.decision.weights.seeding import Seeds
from neardup.linkage.decision.weights.tallies import STEP, WeightTally

#: The class from which on two values may be one but for an error; seeds that show how rare values
#: of matches are, and as how many seeds of each class their mean counts.
_NEAR, _FEWEST, _KEPT = 3, 5.0, 5.0
#: Random pairs that the candidates which differ count with: of few candidates, u is uncertain.
_PSEUDO = 1000.0
#: Candidates that the share of matches of an index counts as.
_SURE = 1000.0


class Views(NamedTuple):
    """Weights that were learnt.

    Attributes:
        model: Match weights in two views.
        of_views: float64[candidates] of each: log odds.
    """

    model: Model
    of_views: tuple[np.ndarray, ...]


def learn(known: Learnt, seeds: Seeds) -> Views:
    """Learn the weights of one file, in two views.

    The view of random pairs has the agreements by chance in the complete file; that of candidates
    that are most likely no matches has those of similar records, such as articles of one issue.

    Args:
        known: The pairs.
        seeds: Candidates that are matches, most likely.
    """
    found, matches = known.candidates, known.tally(seeds.weights)
    m = matches.shares()
    typical = typical_rarity(known, seeds, matches)
    one = with_typical(random_view(known, seeds.drawn, matches, m), typical)
    one, first = with_prior(one, known, seeds.total, known.possible)

    def differ(low: int, high: int) -> np.ndarray:
        apart = STEEP * (found.similarity[low:high] - seeds.foot)
        taken = np.minimum(probability(first[low:high]), probability(apart))
        return exact(1 - np.maximum(seeds.weights[low:high], taken))

    others = known.pool.filled(differ, len(first))
    two = candidates_view(known.tally(others), m, one.u)
    if seeds.apart:
        # Members of a group have rare values in common as often as matches do.
        kept, none = seeds.groups or range(len(m)), np.full(CLASSES, np.nan)
        two = two._replace(typical=tuple(of if k in kept else none for k, of in enumerate(typical)))
    two, second = with_prior(two, known, sum_of(known, lambda rows: 1 - others[rows]), len(others))
    return Views(Model((one, two), seeds.foot), (first, second))


def candidates_view(
    others: WeightTally, m: tuple[np.ndarray, ...], random: tuple[np.ndarray, ...]
) -> KindWeights:
    """Return the view of candidates that differ; its prior is 0.

    Args:
        others: Tally of the candidates, by how surely each is no match.
        m: Shares of the matches in each class, of each column.
        random: Shares of the random pairs in each class, of each field. Only the fields are in the
            tree of dependences; of two files, one more column has whether two are each other's
            best.
    """
    u = tuple(
        shares(of[: len(one)] + (_PSEUDO * random[k] if k < len(random) else 0.0))
        for k, (of, one) in enumerate(zip(others.single, m, strict=True))
    )
    weights = tuple(map(monotone_weights, m, u))
    tree = learn_tree(others, len(random))
    return KindWeights("candidates", m, u, weights, (), tree, 0.0)


def typical_rarity(known: Learnt, seeds: Seeds, matches: WeightTally) -> tuple[np.ndarray, ...]:
    """Return how rare the values of matches are, float64[classes] of each field; see `KindWeights`.

    Odds of matches by this have the mean that they have without: the mean of u / m is 1.
    """
    found, values = known.candidates, known.values

    def part(first: int, last: int) -> np.ndarray:
        of, weights = found.take(slice(first, last)), seeds.weights[first:last]
        sums = np.zeros((len(values.equal), CLASSES))
        for k, classes in enumerate(of.classes.T):
            rows = np.flatnonzero((classes >= _NEAR) & (weights > 0))
            rarity = values.rarity(of.a[rows], of.b[rows], k)
            common = exact(weights[rows] * np.exp(values.scale[k] - rarity))
            sums[k] = np.bincount(classes[rows], common, CLASSES)
        return sums

    parts = known.pool.ranges(part, len(found.a), STEP)
    common = np.sum([np.zeros((len(values.equal), CLASSES)), *parts], axis=0)
    every = []
    for k, (sums, weights) in enumerate(zip(common, matches.single, strict=True)):
        typical = np.full(CLASSES, np.nan)
        for kind in (slice(EQUAL, EQUAL + 1), slice(_NEAR, EQUAL)):
            sure = float(weights[kind].sum())
            if sure >= _FEWEST:
                mean = float(sums[kind].sum()) / sure
                means = (sums[kind] + _KEPT * mean) / (weights[kind] + _KEPT)
                rarity = (values.scale[k] - np.log(means)).tolist()
                typical[kind] = [round(one, 9) for one in rarity]
        every.append(typical)
    return tuple(every)


def confirmed(learnt: Views, known: Learnt, seeds: Seeds) -> float:
    """Return the share of the seeds that both views confirm; coincidences are matches of one."""
    one, two = learnt.of_views

    def both(rows: slice) -> np.ndarray:
        return np.asarray(probability(np.minimum(one[rows], two[rows])) * seeds.weights[rows])

    return sum_of(known, both) / max(seeds.total, 1.0)


def without_matches(model: Model) -> Model:
    """Return a model of files in which there is no match."""
    none = round(float(np.log(LEAST)), 9)
    return model._replace(views=tuple(view._replace(prior=none) for view in model.views))


def rescaled(model: Model, found: Agreements, values: ValueCounts, possible: int) -> Model:
    """Return a model with the shares of matches among some new pairs.

    A share from few pairs is uncertain: the old one counts as `_SURE` candidates more.

    Args:
        model: Match weights that stay.
        found: Agreements of new candidates.
        values: Records by value.
        possible: New pairs of records in all.
    """
    views = []
    for view in model.views:
        pairs = float(possible if view.name == "random" else len(found.a))
        share = old = float(probability(np.array([view.prior]))[0])
        more = _SURE * pairs / max(len(found.a), 1)
        base = view_log_odds(view, found, values) - view.prior
        for _ in range(STEPS):
            matches = float(exact(probability(base + np.log(share) - np.log1p(-share))).sum())
            share = min(max((matches + more * old) / max(pairs + more, 1.0), LEAST), 0.999)
        views.append(view._replace(prior=round(float(np.log(share) - np.log1p(-share)), 9)))
    return model._replace(views=tuple(views))
