"""Match weights: what each agreement of two values says for or against a match.

The model is that of I. P. Fellegi and A. B. Sunter, A theory for record linkage, JASA 1969, without
the assumption that fields are independent among pairs of different records.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from neardup.errors import FormatError
from neardup.kernels.record_pairs import add_rarity, add_weights
from neardup.linkage.decision.weights.agreement_classes import CLASSES
from neardup.linkage.decision.weights.dependences import Dependence
from neardup.linkage.decision.weights.frequencies import ValueCounts
from neardup.linkage.decision.weights.tallies import COARSE, LEVELS, STEP
from neardup.threads import Pool

#: Log odds of a pair whose answer is known; those of evidence are nearer to 0.
KNOWN, _MOST = 1000.0, 999.0
#: Log odds from here on count alike where weights are fitted to labels; classes of agreement in
#: which values have hardly anything in common.
_CLIP, _LOW = 60.0, 3
#: Steepness of the scalar similarity, as a logistic function: of seeds, of the veto.
STEEP = 40.0


class KindWeights(NamedTuple):
    """Weights that were learnt from one kind of pairs of different records.

    Attributes:
        name: ``"random"``, from random pairs; or ``"candidates"``, from candidates that
            are most likely no matches.
        m: float64[classes] for each column: share of the matches in each class of agreement.
        u: The same of pairs of different records.
        weights: The logarithm of m / u, monotone.
        typical: float64[classes] for each field: how rare two values in that class are if they are
            those of a match, a logarithm; NaN where that does not count.
        tree: Dependences of the fields among pairs of different records.
        prior: Log odds of a match before anything is compared.
    """

    name: str
    m: tuple[np.ndarray, ...]
    u: tuple[np.ndarray, ...]
    weights: tuple[np.ndarray, ...]
    typical: tuple[np.ndarray, ...]
    tree: tuple[Dependence, ...]
    prior: float

    def as_dict(self) -> dict[str, Any]:
        """Return plain values."""
        columns = {
            name: [c.tolist() for c in getattr(self, name)] for name in ("m", "u", "weights")
        }
        typical = [[None if np.isnan(x) else x for x in c.tolist()] for c in self.typical]
        tree = [edge.as_dict() for edge in self.tree]
        return {**self._asdict(), **columns, "typical": typical, "tree": tree}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> KindWeights:
        """Make a view from what `as_dict` returned."""
        columns = {name: tuple(map(np.array, values[name])) for name in ("m", "u", "weights")}
        columns["typical"] = tuple(np.array(of, np.float64) for of in values["typical"])
        tree = tuple(map(Dependence.from_dict, values["tree"]))
        return cls(**{**values, **columns, "tree": tree})


class Agreements(NamedTuple):
    """Agreements of some pairs.

    Attributes:
        a: int32[pairs]: the first record of each.
        b: int32[pairs]: the second.
        classes: int8[pairs, columns]: classes of agreement of the fields; of two files, one more
            column has whether the two are each other's best.
        similarity: float64[pairs]: the scalar similarity.
    """

    a: np.ndarray
    b: np.ndarray
    classes: np.ndarray
    similarity: np.ndarray

    def take(self, rows: np.ndarray | slice) -> Agreements:
        """Return those of some pairs."""
        return Agreements(self.a[rows], self.b[rows], self.classes[rows], self.similarity[rows])


class Differing(NamedTuple):
    """How labels have changed log odds.

    Attributes:
        factor: The log odds are multiplied with it.
        shift: Is added to them.
        fields: Is added where the values of a field have hardly anything in common, for each one.
    """

    factor: float
    shift: float
    fields: tuple[float, ...]

    @staticmethod
    def clipped(log_odds: np.ndarray) -> np.ndarray:
        """Return float64[pairs]: log odds as they are multiplied."""
        return np.asarray(np.clip(log_odds, -_CLIP, _CLIP))

    @staticmethod
    def of(classes: np.ndarray) -> np.ndarray:
        """Return bool[pairs, fields]: where values have hardly anything in common."""
        return np.asarray((classes >= 0) & (classes < _LOW))

    def changed(self, log_odds: np.ndarray, classes: np.ndarray) -> np.ndarray:
        """Return float64[pairs]: the log odds by labels, of int8[pairs, columns] classes."""
        parts = self.of(classes[:, : len(self.fields)]) @ np.array(self.fields)
        return np.asarray(self.factor * self.clipped(log_odds) + (self.shift + parts))


class Model(NamedTuple):
    """How log odds are made of agreements.

    Attributes:
        views: Their log odds are averaged; none where the scalar similarity decides.
        foot: Similarity below which the scalar says no, more and more; None for no veto.
        swapped: Pairs of fields whose values are swapped in some records.
        by_labels: How labels have changed the log odds, if they have.
    """

    views: tuple[KindWeights, ...]
    foot: float | None
    swapped: tuple[tuple[int, int], ...] = ()
    by_labels: Differing | None = None

    def log_odds(
        self, pairs: Agreements, values: ValueCounts, pool: Pool | None = None
    ) -> np.ndarray:
        """Return float64[pairs]: log odds of a match, to nine decimals."""
        every = [view_log_odds(view, pairs, values, pool) for view in self.views]
        return self.together(every, pairs, pool)

    def together(
        self, of_views: Sequence[np.ndarray], pairs: Agreements, pool: Pool | None = None
    ) -> np.ndarray:
        """Return float64[pairs]: the same, of the log odds by each view."""

        def part(low: int, high: int) -> np.ndarray:
            of_part = pairs.take(slice(low, high))
            return self._together([of[low:high] for of in of_views], of_part)

        count = len(pairs.a)
        return np.asarray(pool.filled(part, count) if pool else part(0, count))

    def _together(self, of_views: Sequence[np.ndarray], pairs: Agreements) -> np.ndarray:
        total = np.zeros(len(pairs.a))
        for of_view in of_views:
            total += of_view
        total /= max(len(self.views), 1)
        if self.foot is not None:
            apart = STEEP * (pairs.similarity - self.foot)
            total += np.minimum(apart, 0.0) if self.views else apart
        if self.by_labels is not None:
            total = self.by_labels.changed(total, pairs.classes)
        return np.clip(np.round(total, 9), -_MOST, _MOST)

    def parts(self, pairs: Agreements, values: ValueCounts) -> dict[str, Any]:
        """Return the parts of the log odds of one pair, in bits.

        Returns:
            ``prior``; ``fields``, the weights of the columns; ``frequency``, the part of these
            that depends on the frequency of equal values; ``dependences``; ``veto``; ``labels``;
            ``total``.
        """
        columns, bits = pairs.classes.shape[1], 1 / np.log(2) / max(len(self.views), 1)
        fields, rarity = np.zeros(columns), np.zeros(columns)
        prior = dependences = 0.0
        for view in self.views:
            prior += view.prior
            for k, of in enumerate(pairs.classes[0, : len(view.weights)].tolist()):
                rare = _rarity(view, pairs, values, k)
                fields[k] += (view.weights[k][of] if of >= 0 else 0.0) + rare
                rarity[k] += rare
            dependences -= sum(float(edge.of(pairs.classes)[0]) for edge in view.tree)
        total = float(self.log_odds(pairs, values)[0] / np.log(2))
        found = {
            "prior": prior * bits,
            "fields": (fields * bits).tolist() if self.views else [],
            "frequency": (rarity * bits).tolist(),
            "dependences": dependences * bits,
            "veto": 0.0,
            "labels": 0.0,
            "total": total,
        }
        if self.foot is not None:
            apart = STEEP * (float(pairs.similarity[0]) - self.foot) / np.log(2)
            found["veto"] = min(0.0, apart) if self.views else apart
        named = prior * bits + fields.sum() * bits + dependences * bits + found["veto"]
        found["labels"] = total - named if self.by_labels is not None else 0.0
        return found

    def as_dict(self) -> dict[str, Any]:
        """Return plain values."""
        labels = None if self.by_labels is None else self.by_labels._asdict()
        views = [view.as_dict() for view in self.views]
        return {**self._asdict(), "views": views, "by_labels": labels}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Model:
        """Make a model from what `as_dict` returned.

        Raises:
            FormatError: Another version returned it.
        """
        if "by_labels" not in values:
            raise FormatError(
                "the match weights are those of another version of neardup",
                "link the records again, or make the index again",
            )
        views = tuple(map(KindWeights.from_dict, values["views"]))
        of = values["by_labels"]
        labels = None if of is None else Differing(of["factor"], of["shift"], tuple(of["fields"]))
        swapped = tuple(map(tuple, values["swapped"]))
        return cls(views, values["foot"], swapped, labels)


def view_log_odds(
    view: KindWeights, pairs: Agreements, values: ValueCounts, pool: Pool | None = None
) -> np.ndarray:
    """Return float64[pairs]: log odds of a match by one view."""
    total = pool.empty(len(pairs.a), np.float64) if pool else np.empty(len(pairs.a))
    # With a last class and a last level, which -1, a missing value, selects.
    weights = np.zeros((len(view.weights), CLASSES + 1))
    for k, of in enumerate(view.weights):
        weights[k, : len(of)] = of
    ratios = np.zeros((len(view.tree), LEVELS + 1, LEVELS + 1))
    for k, edge in enumerate(view.tree):
        ratios[k, :LEVELS, :LEVELS] = edge.ratios
    one, two = (np.array([edge[k] for edge in view.tree], np.int64) for k in range(2))
    typical = np.pad(np.array(view.typical or [[]]), ((0, 0), (0, 1)), constant_values=np.nan)
    scale = values.scale

    def work(first: int, last: int) -> None:
        part, out = pairs.take(slice(first, last)), total[first:last]
        out[:] = 0
        add_weights(part.classes, weights, ratios, COARSE, one, two, out)
        if view.typical:
            add_rarity(part.classes, part.a, part.b, values.counts, scale, typical, out)
        out += view.prior

    if pool:
        pool.ranges(work, len(total), STEP)
    else:
        work(0, len(total))
    return total


def _rarity(view: KindWeights, pairs: Agreements, values: ValueCounts, column: int) -> float:
    """Return how much the rarity of the values of one pair adds, in one column."""
    of = int(pairs.classes[0, column])
    if column >= len(view.typical) or of < 0 or np.isnan(view.typical[column][of]):
        return 0.0
    return float(values.rarity(pairs.a, pairs.b, column)[0] - view.typical[column][of])


def probability(log_odds: np.ndarray) -> np.ndarray:
    """Return the probabilities of log odds; never NaN.

    >>> probability(np.array([-1e9, 0.0, 1e9])).tolist()
    [0.0, 0.5, 1.0]
    """
    with np.errstate(over="ignore"):
        return np.asarray(1 / (1 + np.exp(-log_odds)))


def logit(probability: float) -> float:
    """Return the log odds of a probability; those of 1 are infinite."""
    return float(np.log(probability) - np.log1p(-probability)) if probability < 1 else float("inf")
