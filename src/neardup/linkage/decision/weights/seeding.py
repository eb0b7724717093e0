"""Seeds: the pairs of one file that are matches most likely, from which weights are learnt.

The scalar similarity also finds groups, such as households, whose members share most fields and
are different persons. Where seeds are of such groups, the fields show it in which they differ.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from neardup.cluster.edges import batches
from neardup.linkage.decision.weights.agreement_classes import CLASSES, EQUAL, exact
from neardup.linkage.decision.weights.frequencies import ValueCounts
from neardup.linkage.decision.weights.model import STEEP, Agreements, Model, probability
from neardup.linkage.decision.weights.tallies import COARSE, LEVELS, WeightTally
from neardup.threads import Pool

#: Classes of agreement in which two values have hardly anything in common.
_LOW = 3
#: A field identifies if two records agree in it by chance so seldom, and so many pairs do at least:
#: a number that each record has for itself says nothing.
_SELDOM, _EQUAL_PAIRS = 2.0**-5, 10
#: Share of the seeds that may have nothing in common in such a field, and seeds that show it.
_DIFFERENT, _FEWEST = 0.6, 20.0
#: Fields that are looked at together; the coarse classes of each, of which the last one is that of
#: missing values; and as how many pairs each one counts that chance makes, as seeds are similar.
_MOST, _LEVELS, _MARGIN = 3, LEVELS + 1, 1.5
#: Members of groups, and agreements by chance, that are looked at for coincidences.
_MEMBERS, _CHANCES = 20_000, 64


class Random(NamedTuple):
    """Agreements by chance.

    Attributes:
        drawn: Those of random pairs.
        values: Records by value.
    """

    drawn: Agreements
    values: ValueCounts


class Seeds(NamedTuple):
    """Where matches are looked for.

    Attributes:
        weights: float64[candidates]: how surely each is a match, by the scalar similarity.
        middle: Similarity at which that is one half.
        foot: Similarity below which the scalar vetoes.
        groups: Numbers of the fields by which members of a group differ.
        shares: float64[]: share of the similar pairs that are not of a group, for each agreement
            of these fields.
        apart: Whether a valley separates them from the other candidates.
    """

    weights: np.ndarray
    middle: float
    foot: float
    groups: tuple[int, ...] = ()
    shares: np.ndarray = np.ones(1)
    apart: bool = True

    def weight(self, pairs: Agreements) -> np.ndarray:
        """Return float64[pairs]: how surely some pairs are matches, by their similarity."""
        weights = probability(STEEP * (pairs.similarity - self.middle))
        return exact(weights * self.share(pairs))

    def share(self, pairs: Agreements) -> np.ndarray:
        """Return float64[pairs]: share of such pairs that are not of a group."""
        return np.asarray(self.shares[_cells(pairs.classes, self.groups)])


def seeds_at(similarity: np.ndarray, middle: float, foot: float, pool: Pool) -> Seeds:
    """Return seeds by similarity only."""

    def weights(low: int, high: int) -> np.ndarray:
        return exact(probability(STEEP * (similarity[low:high] - middle)))

    return Seeds(pool.filled(weights, len(similarity)), middle, foot)


def without_groups(
    seeds: Seeds, matches: WeightTally, pairs: Agreements, random: Random, pool: Pool
) -> Seeds:
    """Return seeds without the pairs within groups, if most of them are such pairs.

    Matches may differ in any field, but most of them do not in one that identifies. If most of the
    seeds do, they are members of a household, or items of a series. Members agree in such fields as
    often as random pairs do: the pairs beyond that are matches.

    Args:
        seeds: By similarity.
        matches: Tally of these.
        pairs: Agreements of the candidates.
        random: Agreements by chance.
        pool: Threads.
    """
    low, (drawn, values) = dict[int, float](), random
    for k, single in enumerate(matches.single):
        of = single[:CLASSES]
        equal = float(values.equal[k]) - of[EQUAL]
        possible = values.present[k] * (values.present[k] - 1) / 2
        repeats = values.equal[k] >= _EQUAL_PAIRS and equal <= _SELDOM * possible
        share = float(of[:_LOW].sum() / max(of.sum(), 1.0))
        if repeats and of.sum() >= _FEWEST and share > _DIFFERENT:
            low[k] = share
    if not low:
        return seeds
    groups = tuple(sorted(sorted(low, key=lambda k: (-low[k], k))[:_MOST]))
    count = _LEVELS ** len(groups)
    observed = np.zeros(count)
    for rows in batches(len(pairs.a)):
        observed += np.bincount(_cells(pairs.classes[rows], groups), seeds.weights[rows], count)
    others = np.bincount(_cells(drawn.classes, groups), 1 - seeds.weight(drawn), count)
    # Pairs that differ in all of these fields are members of a group.
    by_chance = others * observed[0] / max(float(others[0]), 1.0)
    more = observed - _MARGIN * by_chance
    shares = np.divide(more, observed, out=np.zeros(count), where=observed > 0)
    found = seeds._replace(groups=groups, shares=np.clip(np.round(shares, 9), 0.0, 1.0))

    def weights(first: int, last: int) -> np.ndarray:
        return exact(seeds.weights[first:last] * found.share(pairs.take(slice(first, last))))

    return found._replace(weights=pool.filled(weights, len(pairs.a)))


def coincidences(seeds: Seeds, model: Model, pairs: Agreements, known: Random) -> float:
    """Return how many members of groups would be matches if they agreed as random pairs do.

    Members of a group differ in what identifies them; by chance some agree. Where the other fields
    say little, as in one household of a quarter of the records, these are no matches either.

    Args:
        seeds: Without the pairs within groups.
        model: Match weights.
        pairs: Agreements of the candidates.
        known: Agreements of random pairs, and records by value.
    """
    drawn, values = known
    fields = list(seeds.groups)
    count = sum(len(rows) for rows in _members(pairs, seeds.groups))
    step, before, sampled = max(1, -(-count // _MEMBERS)), 0, [np.empty(0, np.int64)]
    for rows in _members(pairs, seeds.groups):
        sampled.append(rows[-before % step :: step])
        before += len(rows)
    of_members = pairs.take(np.concatenate(sampled))
    by_chance, first = np.unique(drawn.classes[:, fields], axis=0, return_inverse=True)
    weights = np.bincount(first.reshape(-1), 1 - seeds.weight(drawn), len(by_chance))
    shares = weights / max(float(weights.sum()), 1.0)
    shares[_cells(_placed(by_chance, fields, pairs), seeds.groups) == 0] = 0.0
    # Not the veto: by such an agreement they would be more similar.
    views, found = model._replace(foot=None), 0.0
    for k in np.argsort(-shares, kind="stable")[:_CHANCES].tolist():
        classes = of_members.classes.copy()
        classes[:, fields] = by_chance[k]
        log_odds = views.log_odds(of_members._replace(classes=classes), values)
        found += float(shares[k]) * float((log_odds >= 0).sum()) * step
    return found


def _members(pairs: Agreements, groups: tuple[int, ...]) -> Iterator[np.ndarray]:
    """Yield the pairs that differ in all of some fields, int64[], some at a time."""
    for rows in batches(len(pairs.a)):
        yield rows.start + np.flatnonzero(_cells(pairs.classes[rows], groups) == 0)


def _placed(classes: np.ndarray, fields: list[int], pairs: Agreements) -> np.ndarray:
    """Return int8[n, all fields] with some classes, int8[n, fields], in their columns."""
    found = np.zeros((len(classes), pairs.classes.shape[1]), np.int8)
    found[:, fields] = classes
    return found


def _cells(classes: np.ndarray, fields: tuple[int, ...]) -> np.ndarray:
    """Return int64[pairs]: the agreements of some fields as one number; 0 if they all differ."""
    found = np.zeros(len(classes), np.int64)
    for k in fields:
        found = found * _LEVELS + COARSE[classes[:, k]] % _LEVELS
    return found
