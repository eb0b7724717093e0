"""Match weights of one file, learnt in one step from seeds, without labels.

Seeds are pairs that the scalar similarity separates from the others. A second step, and more so
expectation maximisation until it converges, lets a larger class ("same city") take over where
matches are few.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from neardup.cluster.edges import batches
from neardup.linkage.decision.weights.agreement_classes import (
    CLASSES,
    EQUAL,
    PRIOR,
    exact,
    monotone_weights,
    shares,
)
from neardup.linkage.decision.weights.dependences import Dependence, learn_tree, shrunk
from neardup.linkage.decision.weights.frequencies import ValueCounts, both, equal_pairs
from neardup.linkage.decision.weights.model import (
    STEEP,
    Agreements,
    KindWeights,
    Model,
    probability,
    view_log_odds,
)
from neardup.linkage.decision.weights.seeding import Seeds
from neardup.linkage.decision.weights.tallies import SAME, STEP, WeightTally, nothing, tally
from neardup.linkage.features import Features
from neardup.threads import Pool

#: Steps in which the share of matches is estimated, with weights that stay.
_STEPS, _CLOSE = 500, 1e-6
_LEAST = 1e-12
#: Matches that seeds have to show, if most of them are none themselves.
_FEW = 3.0
#: The class from which on two values may be one but for an error; seeds that show how rare values
#: of matches are, and as how many seeds of each class their mean counts.
_NEAR, _FEWEST, _KEPT = 3, 5.0, 5.0
#: Matches that there are at least, and their share of the seeds.
_LEAST_MATCHES, _NEARLY = 0.5, 0.001
#: Candidates that the share of matches of an index counts as.
_SURE = 1000.0


class Learnt(NamedTuple):
    """Pairs that weights are learnt from, besides seeds.

    Attributes:
        features: Of the records.
        values: Records by value.
        candidates: Agreements of the fields of the candidates.
        drawn: Agreements of random pairs.
        possible: Pairs of records in all.
        pool: Threads.
    """

    features: Features
    values: ValueCounts
    candidates: Agreements
    drawn: Agreements
    possible: int
    pool: Pool

    def tally(self, weights: np.ndarray) -> WeightTally:
        """Return the weights of candidates, float64[candidates], by their classes."""
        return tally(self.candidates.classes, weights, self.pool)


class Views(NamedTuple):
    """Weights that were learnt.

    Attributes:
        model: Match weights in two views.
        of_views: float64[candidates] of each: log odds.
    """

    model: Model
    of_views: tuple[np.ndarray, ...]


def learn(
    known: Learnt, seeds: Seeds, matches: WeightTally, m: tuple[np.ndarray, ...] | None = None
) -> Views:
    """Learn the weights of one file, in two views.

    The view of random pairs has the agreements by chance in the complete file; that of candidates
    that are most likely no matches has those of similar records, such as articles of one issue.

    Args:
        known: The pairs.
        seeds: Candidates that are matches, most likely.
        matches: Tally of these.
        m: Shares of the matches in each class, of each field; those of the seeds by default.
    """
    found, m = known.candidates, m or matches.shares()
    typical = typical_rarity(known, seeds, matches)
    one = _with_typical(_random_view(known, seeds, matches, m), typical)
    one, first = _with_prior(one, known, float(seeds.weights.sum()), known.possible)

    def differ(low: int, high: int) -> np.ndarray:
        apart = STEEP * (found.similarity[low:high] - seeds.foot)
        taken = np.minimum(probability(first[low:high]), probability(apart))
        return exact(1 - np.maximum(seeds.weights[low:high], taken))

    others = known.pool.filled(differ, len(first))
    two = candidates_view(known.tally(others), m)
    if seeds.apart:
        # Members of a group have rare values in common as often as matches do.
        kept, none = seeds.groups or range(len(m)), np.full(CLASSES, np.nan)
        two = two._replace(typical=tuple(of if k in kept else none for k, of in enumerate(typical)))
    two, second = _with_prior(two, known, _sum(known, lambda rows: 1 - others[rows]), len(others))
    return Views(Model((one, two), seeds.foot), (first, second))


def candidates_view(
    others: WeightTally, m: tuple[np.ndarray, ...], columns: int | None = None
) -> KindWeights:
    """Return the view of candidates that differ; its prior is 0.

    Args:
        others: Tally of the candidates, by how surely each is no match.
        m: Shares of the matches in each class, of each column.
        columns: Those in the tree of dependences: the first ones; all by default.
    """
    u = tuple(shares(of[: len(one)]) for of, one in zip(others.single, m, strict=True))
    weights = tuple(map(monotone_weights, m, u))
    tree = learn_tree(others, len(m) if columns is None else columns)
    return KindWeights("candidates", m, u, weights, (), tree, 0.0)


def _random_view(
    known: Learnt, seeds: Seeds, matches: WeightTally, m: tuple[np.ndarray, ...], tree: bool = True
) -> KindWeights:
    """Learn u and the dependences from random pairs; equality is counted exactly."""
    values, us = known.values, []
    differ = tally(known.drawn.classes, 1 - seeds.weight(known.drawn), known.pool)
    for k, counted in enumerate(differ.single):
        possible = values.present[k] * (values.present[k] - 1) / 2
        share = min((max(values.equal[k] - matches.equal(k), 0.0) + PRIOR) / (possible + 1), 0.999)
        counts = counted[:CLASSES] + PRIOR
        counts[EQUAL] = 0
        counts *= (1 - share) / counts.sum()
        counts[EQUAL] = share
        us.append(counts)
    edges = learn_tree(differ, len(m)) if tree else ()
    exactly = known.pool.ordered(lambda edge: _counted_edge(known, matches, edge), edges)
    return KindWeights(
        "random", m, tuple(us), tuple(map(monotone_weights, m, us)), (), tuple(exactly), 0
    )


def _with_typical(view: KindWeights, typical: tuple[np.ndarray, ...]) -> KindWeights:
    """Return the view of random pairs with the rarity of the values of matches."""
    every = tuple(of.copy() for of in typical)
    for of, u in zip(every, view.u, strict=True):
        # Of two equal values it is known.
        of[EQUAL] = round(float(-np.log(u[EQUAL])), 9)
    return view._replace(typical=every)


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


def _counted_edge(known: Learnt, matches: WeightTally, edge: Dependence) -> Dependence:
    """Return a dependence with the pairs that agree in both fields counted exactly."""
    one, two = (known.features.hashes[:, k] for k in (edge.one, edge.two))
    joined = both(one, two)
    there = int((joined != 0).sum())
    observed = equal_pairs(joined) - matches.equal(edge.one, edge.two)
    alike = 1.0
    for k, hashes in ((edge.one, one), (edge.two, two)):
        equal = known.values.equal[k]
        if there < known.values.present[k]:
            equal = equal_pairs(np.where(joined != 0, hashes, np.uint64(0)))
        alike *= max(equal - matches.equal(k), 0.0)
    expected = alike / max(there * (there - 1.0) / 2, 1.0)
    ratios = edge.ratios.copy()
    ratios[SAME, SAME] = shrunk(np.array(max(observed, 0.0)), np.array(expected))
    return edge._replace(ratios=ratios)


def _with_prior(
    view: KindWeights, known: Learnt, matches: float, possible: float
) -> tuple[KindWeights, np.ndarray]:
    """Return a view with the share of matches that its own weights make most likely.

    Args:
        view: Without such a share: its prior is 0.
        known: The pairs.
        matches: A guess.
        possible: Pairs in all.

    Returns:
        The view, and the log odds of the candidates by it.
    """
    base = view_log_odds(view, known.candidates, known.values, known.pool)
    # Many steps at no cost: pairs count in classes of their log odds.
    lowest = int(np.rint(base.min(initial=0) * 100))
    counts = np.zeros(int(np.rint(base.max(initial=0) * 100)) - lowest + 1, np.int64)
    for rows in batches(len(base)):
        hundredths = np.rint(base[rows] * 100).astype(np.int64) - lowest
        counts += np.bincount(hundredths, minlength=len(counts))
    filled = np.flatnonzero(counts)
    classes, pairs = (filled + lowest) / 100, counts[filled]
    share = matches / max(possible, 1.0)
    for _ in range(_STEPS):
        share = min(max(share, _LEAST), 0.999)
        prior = float(np.log(share) - np.log1p(-share))
        expected = float(probability(classes + prior) @ pairs)
        if abs(expected - share * possible) < _CLOSE * expected:
            break
        # Less than half a match is none: the rest are coincidences.
        share = expected / max(possible, 1.0) if expected >= 0.5 else _LEAST
    prior = round(prior, 9)
    base += prior
    return view._replace(prior=prior), base


def support(learnt: Views, known: Learnt, seeds: Seeds) -> tuple[float, float]:
    """Return the share of the seeds that both views confirm, and how far the views agree.

    Coincidences are matches of one view at most: without matches both are near 0.
    """
    one, two = learnt.of_views

    def least(rows: slice) -> np.ndarray:
        return probability(np.minimum(one[rows], two[rows]))

    both = learnt.model.together(learnt.of_views, known.candidates.similarity, known.pool)
    matches = _sum(known, lambda rows: probability(both[rows]))
    confirmed = _sum(known, lambda rows: least(rows) * seeds.weights[rows])
    confirmed /= max(float(seeds.weights.sum()), 1.0)
    agreed = _sum(known, least)
    return confirmed, 0.0 if agreed < _FEW else agreed / max(matches, 1e-9)


def _sum(known: Learnt, of: Callable[[slice], np.ndarray]) -> float:
    """Return the sum of a number of each candidate, which ``of`` returns for some of them."""
    return float(sum(float(of(rows).sum()) for rows in batches(len(known.candidates.a))))


def by_chance(known: Learnt, seeds: Seeds, matches: WeightTally) -> bool:
    """Return whether independent fields of different records explain all of the pairs.

    Then no agreement is more frequent than the frequencies of values make it: the share of matches
    that is most likely is nearly 0, however similar the seeds are.
    """
    none = Seeds(np.zeros(0), np.inf, seeds.foot)
    fields = len(known.values.equal)
    view = _random_view(known, none, nothing(fields), matches.shares(), tree=False)
    view = _with_typical(view, tuple(np.full((fields, CLASSES), np.nan)))
    weight = float(seeds.weights.sum())
    view, _ = _with_prior(view, known, weight, known.possible)
    found = float(probability(np.array([view.prior]))[0]) * known.possible
    return found < max(_LEAST_MATCHES, _NEARLY * weight)


def without_matches(model: Model) -> Model:
    """Return a model of files in which there is no match."""
    none = round(float(np.log(_LEAST)), 9)
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
        for _ in range(_STEPS):
            matches = float(exact(probability(base + np.log(share) - np.log1p(-share))).sum())
            share = min(max((matches + more * old) / max(pairs + more, 1.0), _LEAST), 0.999)
        views.append(view._replace(prior=round(float(np.log(share) - np.log1p(-share)), 9)))
    return model._replace(views=tuple(views))
