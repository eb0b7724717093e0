"""Match weights of one file, learnt in one step from seeds, without labels.

Seeds are pairs that the scalar similarity separates from the others. A second step, and more so
expectation maximisation until it converges, lets a larger class ("same city") take over where
matches are few.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from neardup.records.decision.agreement_classes import (
    CLASSES,
    EQUAL,
    PRIOR,
    counted,
    exact,
    monotone_weights,
    shares,
)
from neardup.records.decision.dependences import (
    SAME,
    Dependence,
    learn_tree,
    shrunk,
)
from neardup.records.decision.frequencies import ValueCounts, both, equal_pairs
from neardup.records.decision.model import (
    STEEP,
    Agreements,
    Model,
    View,
    probability,
    view_log_odds,
)
from neardup.records.decision.seeding import Seeds
from neardup.records.features import Features

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
    """

    features: Features
    values: ValueCounts
    candidates: Agreements
    drawn: Agreements
    possible: int


class Views(NamedTuple):
    """Weights that were learnt.

    Attributes:
        model: Match weights in two views.
        of_views: float64[candidates] of each: log odds.
    """

    model: Model
    of_views: tuple[np.ndarray, ...]


def learn(known: Learnt, seeds: Seeds, m: tuple[np.ndarray, ...]) -> Views:
    """Learn the weights of one file, in two views.

    The view of random pairs has the agreements by chance in the complete file; that of candidates
    that are most likely no matches has those of similar records, such as articles of one issue.

    Args:
        known: The pairs.
        seeds: Candidates that are matches, most likely.
        m: Shares of the matches in each class, of each field.
    """
    found, values = known.candidates, known.values
    one = _random_view(known, seeds, m)
    one, first = _with_prior(one, found, values, float(seeds.weights.sum()), known.possible)
    taken = np.minimum(probability(first), probability(STEEP * (found.similarity - seeds.foot)))
    others = exact(1 - np.maximum(seeds.weights, taken))
    two = candidates_view(found.classes, others, m)
    if seeds.apart:
        # Members of a group have rare values in common as often as matches do.
        kept, none = seeds.groups or range(len(m)), np.full(CLASSES, np.nan)
        of = enumerate(typical_rarity(known, seeds))
        two = two._replace(typical=tuple(one if k in kept else none for k, one in of))
    two, second = _with_prior(two, found, values, float((1 - others).sum()), len(others))
    return Views(Model((one, two), seeds.foot), (first, second))


def shares_of_matches(classes: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return m of each field from pairs that are matches by their weights."""
    return tuple(shares(counted(column, weights)) for column in classes.T)


def candidates_view(
    classes: np.ndarray, others: np.ndarray, m: tuple[np.ndarray, ...], columns: int | None = None
) -> View:
    """Return the view of candidates that differ, by their weights; its prior is 0.

    Args:
        classes: int8[candidates, columns].
        others: float64[candidates]: how surely each is no match.
        m: Shares of the matches in each class, of each column.
        columns: Those in the tree of dependences: the first ones; all by default.
    """
    u = tuple(
        shares(counted(column, others, len(of))) for column, of in zip(classes.T, m, strict=True)
    )
    weights = tuple(map(monotone_weights, m, u))
    tree = learn_tree(classes[:, :columns], others)
    return View("candidates", m, u, weights, (), tree, 0.0)


def _random_view(known: Learnt, seeds: Seeds, m: tuple[np.ndarray, ...]) -> View:
    """Learn u and the dependences from random pairs; equality is counted exactly."""
    drawn, values = known.drawn, known.values
    differ = 1 - seeds.weight(drawn)
    us = []
    for k, classes in enumerate(drawn.classes.T):
        possible = values.present[k] * (values.present[k] - 1) / 2
        equal = values.equal[k] - _equal_seeds(known, seeds, (k,))
        share = min((max(equal, 0.0) + PRIOR) / (possible + 1), 0.999)
        counts = counted(classes, differ) + PRIOR
        counts[EQUAL] = 0
        counts *= (1 - share) / counts.sum()
        counts[EQUAL] = share
        us.append(counts)
    u = tuple(us)
    tree = tuple(_counted_edge(known, seeds, edge) for edge in learn_tree(drawn.classes, differ))
    typical = typical_rarity(known, seeds)
    for k, of in enumerate(typical):
        # Of two equal values it is known.
        of[EQUAL] = round(float(-np.log(u[k][EQUAL])), 9)
    return View("random", m, u, tuple(map(monotone_weights, m, u)), typical, tree, 0.0)


def typical_rarity(known: Learnt, seeds: Seeds) -> tuple[np.ndarray, ...]:
    """Return how rare the values of matches are, float64[classes] of each field; see `View`.

    Odds of matches by this have the mean that they have without: the mean of u / m is 1.
    """
    found, values, every = known.candidates, known.values, []
    for k, classes in enumerate(found.classes.T):
        typical = np.full(CLASSES, np.nan)
        for kind in ((EQUAL,), range(_NEAR, EQUAL)):
            rows = np.flatnonzero(
                (classes >= kind[0]) & (classes <= kind[-1]) & (seeds.weights > 0)
            )
            of, weights = classes[rows], seeds.weights[rows]
            sure = float(weights.sum())
            if sure < _FEWEST:
                continue
            rarity = values.rarity(found.a[rows], found.b[rows], k)
            common = exact(weights * np.exp(values.scale[k] - rarity))
            mean = float(common.sum()) / sure
            sums = np.bincount(of, common, CLASSES) + _KEPT * mean
            means = sums / (np.bincount(of, weights, CLASSES) + _KEPT)
            for one in kind:
                typical[one] = round(float(values.scale[k] - np.log(means[one])), 9)
        every.append(typical)
    return tuple(every)


def _counted_edge(known: Learnt, seeds: Seeds, edge: Dependence) -> Dependence:
    """Return a dependence with the pairs that agree in both fields counted exactly."""
    one, two = (known.features.hashes[:, k] for k in (edge.one, edge.two))
    joined = both(one, two)
    there = float((joined != 0).sum())
    observed = equal_pairs(joined) - _equal_seeds(known, seeds, (edge.one, edge.two))
    alike = 1.0
    for k, hashes in ((edge.one, one), (edge.two, two)):
        equal = equal_pairs(np.where(joined != 0, hashes, np.uint64(0)))
        alike *= max(equal - _equal_seeds(known, seeds, (k,)), 0.0)
    expected = alike / max(there * (there - 1) / 2, 1.0)
    ratios = edge.ratios.copy()
    ratios[SAME, SAME] = shrunk(np.array(max(observed, 0.0)), np.array(expected))
    return edge._replace(ratios=ratios)


def _equal_seeds(known: Learnt, seeds: Seeds, fields: tuple[int, ...]) -> float:
    """Return the seeds that agree in some fields."""
    agree = (known.candidates.classes[:, list(fields)] == EQUAL).all(axis=1)
    return float(seeds.weights[agree].sum())


def _with_prior(
    view: View, found: Agreements, values: ValueCounts, matches: float, possible: float
) -> tuple[View, np.ndarray]:
    """Return a view with the share of matches that its own weights make most likely.

    Args:
        view: Without such a share: its prior is 0.
        found: Agreements of the candidates.
        values: Records by value.
        matches: A guess.
        possible: Pairs in all.

    Returns:
        The view, and the log odds of the candidates by it.
    """
    base = view_log_odds(view, found, values)
    # Many steps at no cost: pairs count in classes of their log odds.
    classes, pairs = np.unique(np.round(base, 2), return_counts=True)
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
    return view._replace(prior=prior), base + prior


def support(learnt: Views, known: Learnt, seeds: Seeds) -> tuple[float, float]:
    """Return the share of the seeds that both views confirm, and how far the views agree.

    Coincidences are matches of one view at most: without matches both are near 0.
    """
    least = probability(np.minimum(*learnt.of_views))
    both = learnt.model.together(learnt.of_views, known.candidates.similarity)
    matches = float(probability(both).sum())
    confirmed = float(least @ seeds.weights) / max(float(seeds.weights.sum()), 1.0)
    if least.sum() < _FEW:
        return confirmed, 0.0
    return confirmed, float(least.sum()) / max(matches, 1e-9)


def by_chance(known: Learnt, seeds: Seeds, m: tuple[np.ndarray, ...]) -> bool:
    """Return whether independent fields of different records explain all of the pairs.

    Then no agreement is more frequent than the frequencies of values make it: the share of matches
    that is most likely is nearly 0, however similar the seeds are.
    """
    nothing = Seeds(np.zeros_like(seeds.weights), np.inf, seeds.foot)
    view = _random_view(known, nothing, m)._replace(tree=())
    weight = float(seeds.weights.sum())
    view, _ = _with_prior(view, known.candidates, known.values, weight, known.possible)
    matches = float(probability(np.array([view.prior]))[0]) * known.possible
    return matches < max(_LEAST_MATCHES, _NEARLY * weight)


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
