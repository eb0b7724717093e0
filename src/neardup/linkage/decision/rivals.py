"""Two files: whether two records are each other's best, and match weights learnt from these."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from neardup.cluster.edges import batches
from neardup.linkage.decision.weights.agreement_classes import exact, shares
from neardup.linkage.decision.weights.frequencies import ValueCounts
from neardup.linkage.decision.weights.learning import candidates_view
from neardup.linkage.decision.weights.model import Agreements, KindWeights, Model, probability
from neardup.linkage.decision.weights.tallies import tally
from neardup.threads import Pool

#: Of the pairs that are each other's best, so many more may be found outside them by another step.
_DRIFT = 0.01
#: Classes: neither is the other's best; one is; both are.
RIVALS, BOTH = 3, 2


def towards(
    a: np.ndarray, b: np.ndarray, apart: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray, int]:
    """Return int[pairs] twice: numbers of the two records, another one for each other file.

    Args:
        a: int32[pairs].
        b: int32[pairs].
        apart: int32[records]: file of each; None where none is apart.

    Returns:
        The numbers, and how many there are.

    Examples:
        >>> towards(np.array([0, 0]), np.array([1, 2]), np.array([0, 1, 2]))[0].tolist()
        [0, 1]
    """
    files = 1 if apart is None else int(apart.max(initial=0)) + 1
    if apart is None or files < 3:
        return a, b, int(max(a.max(initial=-1), b.max(initial=-1))) + 1
    keys = np.concatenate([a.astype(np.int64) * files + apart[b], b * np.int64(files) + apart[a]])
    names, keys = np.unique(keys, return_inverse=True)
    keys = keys.reshape(-1)
    return keys[: len(a)], keys[len(a) :], len(names)


def rivals(
    a: np.ndarray, b: np.ndarray, similarity: np.ndarray, records: int, ties: bool = False
) -> np.ndarray:
    """Return int8[pairs]: how many of the two are the other's best, which must be the only one.

    Args:
        a: int32[pairs].
        b: int32[pairs].
        similarity: float64[pairs].
        records: Number of records.
        ties: Another one may be as good.

    Examples:
        >>> a, b = np.array([0, 0, 1]), np.array([2, 3, 3])
        >>> rivals(a, b, np.array([0.9, 0.5, 0.6]), 4).tolist()
        [2, 0, 2]
        >>> rivals(a, b, np.array([0.9, 0.9, 0.6]), 4).tolist()
        [1, 1, 1]
    """
    best, times = np.full(records, -1.0), np.zeros((2, records), np.int64)
    for docs in (a, b):
        np.maximum.at(best, docs, similarity)
    for count, docs in zip(times, (a, b), strict=True):
        for rows in batches(len(a)):
            is_best = similarity[rows] == best[docs[rows]]
            count += np.bincount(docs[rows][is_best], minlength=records)
    found = np.empty(len(a), np.int8)
    for rows in batches(len(a)):
        found[rows] = 0
        for count, docs in zip(times, (a[rows], b[rows]), strict=True):
            found[rows] += (similarity[rows] == best[docs]) & (ties | (count[docs] == 1))
    return found


class Best(NamedTuple):
    """Pairs that are each other's best.

    Attributes:
        is_best: bool[pairs].
        seeds: float64[pairs]: 1 for those that are similar enough to learn from.
        begin: Their minimum similarity.
    """

    is_best: np.ndarray
    seeds: np.ndarray
    begin: float


def best_pairs(pairs: Agreements, bottom: float | None, pool: Pool) -> Best:
    """Return the pairs that are each other's best; seeds are above the bottom or the median.

    Args:
        pairs: Agreements of the candidates; the last column is `rivals`.
        bottom: Bottom of the valley of the similarity, if it has one.
        pool: Threads.
    """
    is_best = pairs.classes[:, -1] == BOTH
    similar = pairs.similarity[is_best]
    begin = float(np.median(similar)) if len(similar) else 1.0
    if bottom is not None:
        begin = min(begin, bottom)

    def seeds(low: int, high: int) -> np.ndarray:
        return np.asarray(is_best[low:high] & (pairs.similarity[low:high] >= begin))

    return Best(is_best, pool.filled(seeds, len(is_best)), begin)


def learn_two(
    pairs: Agreements,
    values: ValueCounts,
    best: Best,
    random: tuple[np.ndarray, ...],
    pool: Pool,
) -> Model:
    """Learn the weights of two files from the pairs that are each other's best.

    A second step gathers what few seeds missed. It is not taken where it finds more pairs that are
    not each other's best: that is where it drifts.

    Args:
        pairs: Agreements of the candidates; the last column is `rivals`.
        values: Records by value.
        best: Those that are each other's best.
        random: Shares of the random pairs in each class, of each field.
        pool: Threads.
    """
    is_best = best.is_best
    one = _step(pairs, values, best.seeds, random, pool)
    first = one.log_odds(pairs, values, pool)
    two = _step(pairs, values, _likely(first, pool), random, pool)
    of_best, outside = _found(first, is_best)
    more = _found(two.log_odds(pairs, values, pool), is_best)[1] - outside
    return one if more > _DRIFT * of_best else two


def _found(log_odds: np.ndarray, is_best: np.ndarray) -> tuple[int, int]:
    match = log_odds >= 0
    return int((match & is_best).sum()), int((match & ~is_best).sum())


def _likely(log_odds: np.ndarray, pool: Pool) -> np.ndarray:
    """Return float64[pairs]: probabilities, whose sums are the same in any order."""
    return pool.filled(lambda low, high: exact(probability(log_odds[low:high])), len(log_odds))


def _step(
    pairs: Agreements,
    values: ValueCounts,
    matches: np.ndarray,
    random: tuple[np.ndarray, ...],
    pool: Pool,
) -> Model:
    of = tally(pairs.classes, matches, pool)
    m = (*of.shares()[:-1], shares(of.single[-1, :RIVALS]))
    others = pool.filled(lambda low, high: 1 - matches[low:high], len(matches))
    view = candidates_view(tally(pairs.classes, others, pool), m, random)
    view = _with_share(view, float(matches.sum()), len(matches))
    found = _likely(Model((view,), None).log_odds(pairs, values, pool), pool)
    return Model((_with_share(view, float(found.sum()), len(matches)),), None)


def _with_share(view: KindWeights, matches: float, pairs: int) -> KindWeights:
    share = min(max(matches / max(pairs, 1), 1e-9), 1 - 1e-9)
    return view._replace(prior=round(float(np.log(share) - np.log1p(-share)), 9))
