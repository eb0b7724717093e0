"""Evidence of agreements by themselves, and which share of the pairs is most likely to be matches.

Plain evidence needs neither seeds nor a histogram: how often values of matches agree is much the
same in all fields and files, and how often values agree by chance is counted in random pairs.
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
    monotone_weights,
)
from neardup.linkage.decision.weights.dependences import Dependence, learn_tree, shrunk
from neardup.linkage.decision.weights.frequencies import ValueCounts, both, equal_pairs
from neardup.linkage.decision.weights.model import (
    Agreements,
    KindWeights,
    probability,
    view_log_odds,
)
from neardup.linkage.decision.weights.tallies import SAME, WeightTally, nothing, tally
from neardup.linkage.features import Features
from neardup.threads import Pool

#: Share of the matches in each class of agreement, in any field.
_GENERAL = np.array([0.04, 0.02, 0.02, 0.03, 0.04, 0.05, 0.05, 0.75])
#: Matches of each record that the search for their number begins with.
_BEGIN = 0.1
#: Steps in which the share of matches is estimated, with weights that stay.
STEPS, _CLOSE = 500, 1e-6
LEAST = 1e-12


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


def plain_evidence(
    known: Learnt, tree: bool = False, m: tuple[np.ndarray, ...] | None = None
) -> KindWeights:
    """Return weights that need no seeds; their sum is the log odds of a match.

    Args:
        known: The pairs.
        m: Shares of the matches in each class, of each field; those of any file by default.
        tree: Take off what fields that depend on one another count twice.
    """
    fields = known.candidates.classes.shape[1]
    none = nothing(fields)
    m = m or (_GENERAL,) * fields
    view = random_view(known, np.zeros(len(known.drawn.a)), none, m, tree)
    view = with_typical(view, (np.full(CLASSES, np.nan),) * fields)
    return with_prior(view, known, _BEGIN * len(known.features.hashes), known.possible)[0]


def random_view(
    known: Learnt,
    drawn: np.ndarray,
    matches: WeightTally,
    m: tuple[np.ndarray, ...],
    tree: bool = True,
) -> KindWeights:
    """Learn u and the dependences from random pairs; equality is counted exactly.

    Args:
        known: The pairs.
        drawn: float64[random pairs]: how surely each is a match.
        matches: Tally of the candidates, by how surely each is a match.
        m: Shares of the matches in each class, of each field.
        tree: Whether dependences are learnt.
    """
    values, us = known.values, []
    differ = tally(known.drawn.classes, 1 - drawn, known.pool)
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


def with_typical(view: KindWeights, typical: tuple[np.ndarray, ...]) -> KindWeights:
    """Return the view of random pairs with the rarity of the values of matches."""
    every = tuple(of.copy() for of in typical)
    for of, u in zip(every, view.u, strict=True):
        # Of two equal values it is known.
        of[EQUAL] = round(float(-np.log(u[EQUAL])), 9)
    return view._replace(typical=every)


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


def with_prior(
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
    for _ in range(STEPS):
        share = min(max(share, LEAST), 0.999)
        prior = float(np.log(share) - np.log1p(-share))
        expected = float(probability(classes + prior) @ pairs)
        if abs(expected - share * possible) < _CLOSE * expected:
            break
        # Less than half a match is none: the rest are coincidences.
        share = expected / max(possible, 1.0) if expected >= 0.5 else LEAST
    prior = round(prior, 9)
    base += prior
    return view._replace(prior=prior), base


def sum_of(known: Learnt, of: Callable[[slice], np.ndarray]) -> float:
    """Return the sum of a number of each candidate, which ``of`` returns for some of them."""
    return float(sum(float(of(rows).sum()) for rows in batches(len(known.candidates.a))))
