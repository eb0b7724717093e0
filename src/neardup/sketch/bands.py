"""How many bands of how many rows: recall first, then the lowest cost."""

import math
from dataclasses import replace
from typing import NamedTuple, overload

import numpy as np

from neardup.errors import SpecError
from neardup.kernels.signing import EMPTY
from neardup.recipe import Recipe
from neardup.sketch.sketcher import signatures
from neardup.sketch.texts import Texts, as_text, text_buffers
from neardup.spec import ShingleSpec, Spec, check_probability, check_whole

#: Longest signature that is chosen automatically.
MAX_HASHES = 1024
#: Documents at the head of the input whose similarities decide which bands are cheapest.
SAMPLE = 512
#: Text of the sample, in bytes: the choice is about speed, so it must be quick.
_SAMPLE_BYTES = 1 << 20
#: Entries of the signatures by which the similarities in the sample are estimated.
_SAMPLE_HASHES = 128
#: A smaller corpus gets the bands of one of this size, so that small ones can be compared.
_DOCUMENTS = 1_000_000

# Cost model, in nanoseconds on one core (measured; only their ratios matter, and only for speed):
# a hash of a document's signature, a band of a document (key, grouping), a pair that its bitmaps
# rule out, a pair that is compared, a document searched for among very many similar ones.
_HASH, _BAND, _PRUNED, _PAIR, _SEARCH = 8.0, 60.0, 20.0, 250.0, 30_000.0
_CLASSES = 50
_CENTRES = (np.arange(_CLASSES) + 0.5) / _CLASSES


class Bands(NamedTuple):
    """A choice of bands.

    Attributes:
        num_bands: Bands.
        rows: Signature entries in a band.
        recall: Probability that a pair exactly at the threshold becomes a candidate.
    """

    num_bands: int
    rows: int
    recall: float


class Sample(NamedTuple):
    """What some documents say about a corpus."""

    documents: int  # how many there are in the sample
    shingles: float  # mean number of shingles of a document
    # float64[50]: pairs by similarity in classes of 0.02: of a document and its copies, whose
    # number grows with the corpus, and the others, whose number grows with its square.
    copies: np.ndarray
    families: np.ndarray


@overload
def candidate_probability(similarity: float, num_bands: int, rows: int) -> float: ...
@overload
def candidate_probability(similarity: np.ndarray, num_bands: int, rows: int) -> np.ndarray: ...
def candidate_probability(
    similarity: float | np.ndarray, num_bands: int, rows: int
) -> float | np.ndarray:
    """Return P(candidate | similarity) = 1 - (1 - s**rows)**num_bands.

    Raises:
        SpecError: A similarity is not in [0, 1], or bands or rows are no whole number from 1 on.

    >>> round(candidate_probability(0.5, 42, 3), 3)
    0.996
    """
    if not isinstance(similarity, np.ndarray):
        one = similarity.item() if isinstance(similarity, np.generic) else similarity
        check_probability("`similarity`", one, low_open=False, high_open=False)
    elif similarity.dtype.kind not in "fiu" or ((similarity < 0) | (similarity > 1)).any():
        raise SpecError("`similarity` has a value that is no number in [0, 1]")
    for name, number in (("num_bands", num_bands), ("rows", rows)):
        whole = int(number) if isinstance(number, np.integer) else number
        check_whole(f"`{name}`", whole, 1, 2**63 - 1)
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


def rounded_documents(documents: int) -> int:
    """Return the number of documents that bands are chosen for: 1, 2 or 5 times a power of ten.

    Rounded up, so that an estimate that is slightly off gives the same bands; a million at least.

    >>> rounded_documents(3_300_000)
    5000000
    """
    scale: int = 10 ** max(6, len(str(documents)) - 1)
    return next(scale * k for k in (1, 2, 5, 10) if scale * k >= documents)


def sample_pairs(texts: Texts, shingle: ShingleSpec) -> Sample:
    """Estimate how similar the first documents of a corpus are to each other, by signatures.

    Up to `SAMPLE` documents and 1 MB are looked at. A document that is like fewer than four others
    is taken as one that has copies. Stems are left out: they change little, and take long.
    """
    shingle = replace(shingle, stem=None)
    text = as_text(texts).slice(0, SAMPLE)
    ends = text_buffers(text)[1][1:]
    text = text.slice(0, max(1, int(np.searchsorted(ends, _SAMPLE_BYTES, side="right"))))
    found = signatures(text, _SAMPLE_HASHES, shingle=shingle)
    found = found[found[:, 0] != EMPTY]
    size = len(found)
    equal = np.zeros((size, size))
    for i in range(size - 1):
        equal[i, i + 1 :] = (found[i + 1 :] == found[i]).mean(axis=1)
    alike = equal >= 0.05
    neighbours = alike.sum(axis=0) + alike.sum(axis=1)
    copies = alike & (np.minimum.outer(neighbours, neighbours) < 4)
    pairs = np.triu(np.ones((size, size), dtype=bool), k=1)

    def classes(mask: np.ndarray) -> np.ndarray:
        counts, _ = np.histogram(equal[mask & pairs], bins=_CLASSES, range=(0, 1))
        return counts.astype(np.float64)

    length = float(np.diff(text_buffers(text)[1]).mean()) if len(text) else 0.0
    # A shingle for each character, or for each word of six letters with its space.
    shingles = length if shingle.unit == "char" else length / 7
    return Sample(size, max(1.0, shingles), classes(copies), classes(~copies))


def _expected_pairs(sample: Sample | None, documents: int) -> np.ndarray:
    """Return float64[50]: pairs in a corpus of that many documents, by similarity."""
    if sample is None or sample.documents < 2:
        # Unrelated documents are taken to have three percent in common.
        unrelated = np.exp(-35 * _CENTRES)
        return np.asarray(unrelated * documents**2 / 2 / unrelated.sum())
    square = (documents / sample.documents) ** 2
    # A sample says little of what it does not hold: one pair more, more likely a distant one.
    unseen = np.exp(-10 * _CENTRES)
    expected = sample.copies * documents / sample.documents + sample.families * square
    return np.asarray(expected + square * unseen / unseen.sum())


def band_cost(bands: Bands, threshold: float, documents: int, sample: Sample | None) -> float:
    """Return what some bands cost: hashing, grouping, and comparing pairs in vain.

    Without a sample, unrelated documents are taken to have three percent in common, and 300
    shingles. In nanoseconds of one core; good for comparing choices only.
    """
    num_bands, rows, _ = bands
    pairs = _expected_pairs(sample, documents) * (threshold > _CENTRES)
    shingles = 300.0 if sample is None else sample.shingles
    near = _CENTRES > 0.1
    # Unrelated documents collide by chance, in one band or another; those of a family in many
    # bands, but two documents are compared once, and large families are searched by an index.
    chance = (pairs * _CENTRES**rows)[~near].sum() * num_bands * _PRUNED
    # Bitmaps tell pairs apart that are some way below the threshold.
    cost = np.where(threshold - 0.15 > _CENTRES, _PRUNED, _PAIR)
    family = (pairs * _chance(_CENTRES, num_bands, rows) * cost)[near].sum()
    searched = _SEARCH * math.sqrt(pairs[near].sum() * 2)
    hashing = num_bands * (rows * _HASH * shingles / 300 + _BAND)
    return documents * hashing + float(chance) + min(float(family), searched)


def choose_bands(
    threshold: float, recall: float, documents: int = _DOCUMENTS, sample: Sample | None = None
) -> Bands:
    """Choose the cheapest bands that find a pair at ``threshold`` with probability ``recall``.

    Every choice considered reaches the recall; what is weighed is the cost of hashing, of grouping,
    and of comparing the pairs that become candidates without being similar.

    Args:
        threshold: Similarity at which the recall is asked for, in (0, 1].
        recall: Probability, in (0, 1).
        documents: Size of the corpus: the cost of false candidates grows with its square.
        sample: Some documents of the corpus, see `sample_pairs`.

    Returns:
        The choice, with the recall that it gives.

    Raises:
        SpecError: No signature of up to 1,024 hashes reaches the recall.

    Examples:
        >>> choose_bands(0.7, 0.99)
        Bands(num_bands=26, rows=5, recall=0.9916390346345123)
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
    return min(choices, key=lambda choice: band_cost(choice, threshold, documents, sample))


def recipe_for(spec: Spec, documents: int = 0, sample: Sample | None = None) -> Recipe:
    """Return a recipe for a spec, with bands for so many documents where it names none."""
    num_bands, rows = spec.num_bands, spec.rows
    if spec.method == "allpairs":
        num_bands, rows = 0, 0
    elif num_bands is None or rows is None:
        documents = rounded_documents(spec.documents or documents)
        num_bands, rows, _ = choose_bands(spec.threshold, spec.recall, documents, sample)
    return Recipe(spec.shingle, spec.scheme, spec.seed, num_bands, rows)
