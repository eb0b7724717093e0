"""How many bands of how many rows: recall first, then the lowest cost."""

import math
from typing import NamedTuple, overload

import numpy as np

from neardup.errors import SpecError
from neardup.recipe import Recipe
from neardup.spec import Spec, check_integer, check_probability
from neardup.values.shown import Shown

#: Longest signature that is chosen automatically.
MAX_HASHES = 1024
#: Documents that bands are chosen for, unless a spec says how many: the same for every corpus, so
#: that the bands never depend on the input.
DOCUMENTS = 5_000_000
#: From so many documents on, such bands make many candidates that are not similar.
_MANY = 20 * DOCUMENTS
#: Mean similarity of unrelated documents: of shingles of three words or more, and of shorter ones.
COMMON, COMMON_SHORT = 1 / 150, 1 / 60

# Cost model, in nanoseconds on one core (measured; only their ratios matter, and only for speed):
# a hash of a document's signature, a band of a document (key, grouping), a pair that its bitmaps
# rule out, a pair that is compared, a document searched for among very many similar ones.
_HASH, _BAND, _PRUNED, _PAIR, _SEARCH = 8.0, 60.0, 20.0, 250.0, 30_000.0
_CLASSES = 50
_CENTRES = (np.arange(_CLASSES) + 0.5) / _CLASSES


class _Bands(NamedTuple):
    num_bands: int
    rows: int
    recall: float


class Bands(Shown, _Bands):
    """A choice of bands, a named tuple.

    Attributes:
        num_bands: Bands.
        rows: Signature entries in a band.
        recall: Probability that a pair exactly at the threshold becomes a candidate.
    """

    __slots__ = ()
    shown_as = "bands", "choice"

    def __str__(self) -> str:
        return f"{self.num_bands} bands of {self.rows} rows, recall {self.recall:.4f}"

    def __repr__(self) -> str:
        return f"<Bands: {self}>"


@overload
def candidate_probability(similarity: float, num_bands: int, rows: int) -> float: ...
@overload
def candidate_probability(similarity: np.ndarray, num_bands: int, rows: int) -> np.ndarray: ...
def candidate_probability(
    similarity: float | np.ndarray, num_bands: int, rows: int
) -> float | np.ndarray:
    """Return P(candidate | similarity) = 1 - (1 - s**rows)**num_bands.

    Raises:
        SpecError: A similarity is not in [0, 1], or bands or rows are not integers from 1 on.

    >>> round(candidate_probability(0.5, 42, 3), 3)
    0.996
    """
    if not isinstance(similarity, np.ndarray):
        one = similarity.item() if isinstance(similarity, np.generic) else similarity
        check_probability("`similarity`", one, low_open=False, high_open=False)
    elif similarity.dtype.kind not in "fiu" or ((similarity < 0) | (similarity > 1)).any():
        raise SpecError("`similarity` has a value that is no number in [0, 1]")
    for name, number in (("num_bands", num_bands), ("rows", rows)):
        value = int(number) if isinstance(number, np.integer) else number
        check_integer(f"`{name}`", value, 1, 2**63 - 1)
    found = _chance(similarity, num_bands, rows)
    return found if isinstance(similarity, np.ndarray) else float(found)


def _chance(similarity: np.ndarray | float, num_bands: int, rows: int) -> np.ndarray:
    s = np.asarray(similarity, dtype=np.float64)
    with np.errstate(divide="ignore"):  # s = 1: log of 0, which makes the probability 1
        found: np.ndarray = -np.expm1(num_bands * np.log1p(-(s**rows)))
    return found


def similarity_at(probability: float, num_bands: int, rows: int) -> float:
    """Return the similarity of pairs that become candidates with this probability.

    >>> round(similarity_at(0.99, 42, 3), 3)
    0.47
    """
    if probability >= 1:
        return 1.0
    return float((-math.expm1(math.log1p(-probability) / num_bands)) ** (1 / rows))


def steepest(num_bands: int, rows: int) -> float:
    """Return the similarity at which P(candidate) rises fastest, where its second derivative is 0.

    With one row the curve is steepest at 0; with one row and one band, a straight line, it is 0.
    """
    if rows == 1:
        return 0.0
    return float(((1 - 1 / rows) / (num_bands - 1 / rows)) ** (1 / rows))


def bands_for_recall(threshold: float, recall: float, rows: int) -> int:
    """Return the smallest number of bands of so many rows that reaches the recall at the threshold.

    >>> bands_for_recall(0.7, 0.99, 4)
    17
    """
    if threshold >= 1:
        return 1
    bands: int = max(1, math.ceil(math.log1p(-recall) / math.log1p(-(threshold**rows))))
    while _chance(threshold, bands, rows) < recall:  # rounding
        bands += 1
    return bands


def band_cost(bands: Bands, threshold: float, documents: int, common: float) -> float:
    """Return the cost of some bands: hashing, grouping, and comparing pairs in vain.

    In nanoseconds of one core; good for comparing choices only. ``common`` is the mean similarity
    of unrelated documents.
    """
    num_bands, rows, _ = bands
    pairs = np.exp(-_CENTRES / common)
    pairs *= documents**2 / 2 / pairs.sum() * (threshold > _CENTRES)
    related = _CENTRES > 0.1
    # Unrelated documents collide by chance, in one band or another; those of a family in many
    # bands, but two documents are compared once, and large families are searched by an index.
    chance = (pairs * _CENTRES**rows)[~related].sum() * num_bands * _PRUNED
    # Bitmaps tell pairs apart that are some way below the threshold.
    cost = np.where(threshold - 0.15 > _CENTRES, _PRUNED, _PAIR)
    family = (pairs * _chance(_CENTRES, num_bands, rows) * cost)[related].sum()
    search = _SEARCH * math.sqrt(pairs[related].sum() * 2)
    hashing = num_bands * (rows * _HASH + _BAND)
    return documents * hashing + float(chance) + min(float(family), search)


def choose_bands(
    threshold: float, recall: float, documents: int = DOCUMENTS, common: float = COMMON
) -> Bands:
    """Choose the cheapest bands that find a pair at ``threshold`` with probability ``recall``.

    Every choice considered reaches the recall. The chosen one has the lowest cost of hashing, of
    grouping, and of comparing the pairs that become candidates without being similar.

    Args:
        threshold: Similarity at which the recall is asked for, in (0, 1].
        recall: Probability, in (0, 1).
        documents: Size of the corpus: the cost of false candidates grows with its square.
        common: Mean similarity of unrelated documents, above 0.

    Returns:
        The choice, with the recall that it gives.

    Raises:
        SpecError: No signature of up to 1,024 hashes reaches the recall.

    Examples:
        >>> choose_bands(0.7, 0.99)
        <Bands: 17 bands of 4 rows, recall 0.9906>
    """
    check_probability("threshold", threshold, low_open=True, high_open=False)
    check_probability("recall", recall, low_open=True, high_open=True)
    choices = []
    for rows in range(1, 33):
        bands = bands_for_recall(threshold, recall, rows)
        if bands * rows > MAX_HASHES:
            break
        choices.append(Bands(bands, rows, float(_chance(threshold, bands, rows))))
    if not choices:
        raise SpecError(
            f"a recall of {recall} at similarity {threshold} needs more than {MAX_HASHES} hashes",
            "ask for a lower recall, a higher threshold, or the method allpairs",
        )
    return min(choices, key=lambda choice: band_cost(choice, threshold, documents, common))


def recipe_for(spec: Spec) -> Recipe:
    """Return the recipe of a spec, which does not depend on the corpus.

    Bands that it does not name are chosen for its ``documents``.
    """
    num_bands, rows = spec.num_bands, spec.rows
    if spec.method == "allpairs" or spec.only_same:
        num_bands, rows = 0, 0
    elif num_bands is None or rows is None:
        documents = spec.documents or DOCUMENTS
        common = COMMON if spec.shingle.unit == "word" and spec.shingle.n > 2 else COMMON_SHORT
        num_bands, rows, _ = choose_bands(spec.threshold, spec.recall, documents, common)
    return Recipe(spec.shingle, spec.scheme, spec.seed, num_bands, rows, within=spec.within)


def advice_on_bands(spec: Spec, documents: int) -> str:
    """Return advice for a run whose bands are chosen for far fewer documents; or nothing."""
    chosen = spec.documents or spec.num_bands or spec.method == "allpairs" or spec.only_same
    if documents <= _MANY or chosen:
        return ""
    what = f"there are {documents:,} documents, and the bands are chosen for {DOCUMENTS:,}"
    return f"{what}; `documents`, their number, makes a run faster"
