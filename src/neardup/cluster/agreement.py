"""How well pairs and clusters agree with known duplicates, from counts: no pair is listed.

B-cubed is from A. Bagga and B. Baldwin, Algorithms for scoring coreference chains, LREC 1998.
"""

from typing import Any, NamedTuple

import numpy as np


class Agreement(NamedTuple):
    shared: int
    given: int
    true: int

    def scores(self) -> dict[str, Any]:
        """Return the given numbers, and their precision, recall and F1; None without a divisor.

        >>> Agreement(shared=3, given=4, true=6).scores()
        {'given': 4, 'true': 3, 'precision': 0.75, 'recall': 0.5, 'f1': 0.6}
        """
        shared, given, true = self
        return {
            "given": given,
            "true": shared,
            "precision": _ratio(shared, given),
            "recall": _ratio(shared, true),
            "f1": _ratio(2 * shared, given + true),
        }


def pair_counts(given: np.ndarray, true: np.ndarray) -> Agreement:
    """Count the pairs within clusters, by the labels of documents, int64[documents].

    Examples:
        >>> pair_counts(np.array([0, 0, 1, 1]), np.array([0, 0, 1, 2]))
        Agreement(shared=1, given=2, true=1)
    """
    a, b, both, _, _ = _cells(given, true)
    return Agreement(*(int((sizes * (sizes - 1) // 2).sum()) for sizes in (both, a, b)))


def pairs_between(a: np.ndarray, b: np.ndarray, group: np.ndarray, label: np.ndarray) -> np.ndarray:
    """Count the pairs with equal labels of a document of one group and one of another.

    ``a`` and ``b`` are int64[pairs]: groups, of which pairs within one count once each. ``group``
    and ``label``, which are not negative, are int64[documents].

    >>> groups, labels = np.array([0, 0, 0, 1, 1]), np.array([7, 7, 8, 7, 8])
    >>> pairs_between(np.array([0, 0]), np.array([0, 1]), groups, labels).tolist()
    [1, 3]
    """
    # A label of a single document has no pairs: without these a group has few labels.
    many = np.bincount(label)[label] > 1 if len(label) else np.zeros(0, np.bool_)
    width = int(label.max(initial=0)) + 1
    cells, sizes = np.unique(group[many] * width + label[many], return_counts=True)
    # The labels of the group that has fewer are looked up among those of the other one.
    most = max(int(of.max(initial=-1)) for of in (a, b, group))
    of_group = np.bincount(cells // width, minlength=most + 1)
    one, other = np.where(of_group[a] <= of_group[b], (a, b), (b, a))
    begin, length = np.searchsorted(cells, one * width), of_group[one]
    pair = np.repeat(np.arange(len(a)), length)
    cell = np.arange(len(pair)) + np.repeat(begin - np.cumsum(length) + length, length)
    mirrored = other[pair] * width + cells[cell] % width
    slot = np.minimum(np.searchsorted(cells, mirrored), max(0, len(cells) - 1))
    size, there = sizes[cell], cells[slot] == mirrored
    both = np.where(cell == slot, size * (size - 1) // 2, size * sizes[slot])
    found = np.zeros(len(a), np.int64)
    np.add.at(found, pair[there], both[there])
    return found


def b_cubed(given: np.ndarray, true: np.ndarray) -> dict[str, float | None]:
    """Return the mean, over documents, of the share of each one's cluster that is true.

    That is the precision; the recall is the share of its true cluster that is found. Labels are as
    for `pair_counts`.
    """
    a, b, both, of_a, of_b = _cells(given, true)
    squares = both.astype(np.float64) ** 2
    if not len(given):
        return {"precision": None, "recall": None, "f1": None}
    precision = float((squares / a[of_a]).sum()) / len(given)
    recall = float((squares / b[of_b]).sum()) / len(given)
    f1 = _ratio(2 * precision * recall, precision + recall)
    return {"precision": precision, "recall": recall, "f1": f1}


def _cells(given: np.ndarray, true: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return sizes of clusters; of intersections of two of them; and these two: int64[]."""
    of_a, of_b = (np.unique(x, return_inverse=True)[1].astype(np.int64) for x in (given, true))
    a, b = np.bincount(of_a), np.bincount(of_b)
    cells, sizes = np.unique(of_a * max(1, len(b)) + of_b, return_counts=True)
    return a, b, sizes, cells // max(1, len(b)), cells % max(1, len(b))


def _ratio(part: float, total: float) -> float | None:
    return part / total if total else None
