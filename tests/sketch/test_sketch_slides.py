"""Worked examples and exercises of lessons on near-duplicates, by the package's own functions.

Sources:

* Slides "Finding near-duplicates", which follow MMDS; "Try it!" are their questions.
* MMDS: J. Leskovec, A. Rajaraman, J. D. Ullman. Mining of massive datasets, chapter 3; the slides
  name the exercises of its sections 3.1.4, 3.2.5, 3.3.6 and 3.4.4.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, permutations
from math import comb, gamma

import numpy as np
import pytest

import neardup
from neardup import ShingleSpec, candidate_probability, similarity
from neardup.kernels.text.signing import sign_affine

#: Rows of the matrix of four documents on the slides, from 1.
DOCUMENTS = ({1, 2, 6, 7}, {3, 4, 5}, {1, 6, 7}, {2, 3, 4, 5})
#: MMDS, figure 3.2, and figure 3.5 (of exercise 3.3.3): rows from 0.
FIGURE_2 = ({0, 3}, {2}, {1, 3, 4}, {0, 2, 3})
FIGURE_5 = ({2, 5}, {0, 1}, {3, 4}, {0, 2, 4})
BAG = ShingleSpec("item", bag=True)


def minima(columns: Sequence[set[int]], names: Sequence[int], first: int = 0) -> list[int]:
    """The signature's entry of each column: the lowest of the names of its rows."""
    one, zero = np.ones(1, dtype=np.uint32), np.zeros(1, dtype=np.uint32)
    out = np.empty((len(columns), 1), dtype=np.uint32)
    # Signatures take the upper half of a shingle.
    values = [names[row - first] << 32 for column in columns for row in sorted(column)]
    ends = np.cumsum([0, *map(len, columns)], dtype=np.int64)
    sign_affine(np.array(values, dtype=np.uint64), ends, one, zero, out)
    found: list[int] = out[:, 0].tolist()
    return found


def test_a_text_of_five_letters() -> None:
    """Slides, "k-shingles": abcab, k = 2: {ab, bc, ca}; as a bag {ab, bc, ca, ab}."""
    pairs, bag = ShingleSpec("char", 2), ShingleSpec("char", 2, bag=True)
    sets = neardup.shingle_sets(["abcab", "ab", "bc", "ca"], pairs)
    assert np.diff(sets.offsets).tolist() == [3, 1, 1, 1]
    assert sorted(sets.values[3:].tolist()) == sets.values[:3].tolist()
    assert len(neardup.shingle_sets(["abcab"], bag).values) == 4


def test_shingles_are_hashed_to_4_bytes() -> None:
    """Slides, "Compressing shingles": h(D1) = {1, 5, 7}: a set of three hashes of 4 bytes."""
    four = ShingleSpec("char", 2, hash_bytes=4)
    values = neardup.shingle_sets(["abcab"], four).values
    assert (len(values), values.nbytes, values.dtype) == (3, 12, np.uint32)
    assert set(values.tolist()) == {
        value >> 32 for value in neardup.shingle_sets(["abcab"], "char:2").values.tolist()
    }
    assert similarity("abcab", "abca", four) == 1.0
    assert similarity([1, 5, 7], [7, 5, 1, 1]) == 1.0 and similarity([1, 5, 7], [1, 5]) == 2 / 3


def test_sets_as_bits() -> None:
    """Slides, "Encoding sets as bit vectors": 10111 and 10011: similarity 3/4, distance 1/4."""
    one, other = ([i for i, bit in enumerate(bits) if bit == "1"] for bits in ("10111", "10011"))
    assert similarity(one, other) == 3 / 4 and 1 - similarity(one, other) == 1 / 4


def test_all_pairs_take_too_long() -> None:
    """Slides: a million documents, 10^6 comparisons a second: 5 days; ten million: over a year."""
    days = [documents * (documents - 1) / 2 / 10**6 / 86_400 for documents in (10**6, 10**7)]
    assert [int(value) for value in days] == [5, 578]


@pytest.mark.parametrize(
    ("names", "signature"),
    [
        ((2, 3, 7, 6, 1, 5, 4), [2, 1, 2, 1]),
        ((4, 2, 1, 3, 6, 7, 5), [2, 1, 4, 1]),
        ((3, 4, 7, 2, 6, 1, 5), [1, 2, 1, 2]),
        # "Try it!": what does this one give?
        ((3, 2, 1, 4, 7, 5, 6), [2, 1, 3, 1]),
    ],
)
def test_permutations(names: tuple[int, ...], signature: list[int]) -> None:
    """Slides, "Min-hashing example", and the question after it."""
    assert minima(DOCUMENTS, names, first=1) == signature


def test_20_bands_of_5() -> None:
    """Slides, "Example of bands": 100,000 documents, 100 integers each: 40 MB, 20 bands of 5."""
    assert neardup.signatures(["any text"], 100).nbytes * 100_000 == 40 * 10**6
    assert round(candidate_probability(0.8, 1, 5), 3) == 0.328
    assert round(1 - candidate_probability(0.8, 20, 5), 5) == 0.00036  # the slides cut: 0.00035
    assert f"{candidate_probability(0.8, 20, 5):.2%}" == "99.96%"
    assert int(1e5 * (1 - 0.328) ** 20) == 35  # so that 99.965 % are found
    assert round(candidate_probability(0.3, 1, 5), 5) == 0.00243
    assert round(candidate_probability(0.3, 20, 5), 4) == 0.0475  # the slides have 0.0474
    assert round(1 - (1 - 0.00243) ** 20, 4) == 0.0475


def test_15_bands_for_20() -> None:
    """Slides, "LSH involves a tradeoff": fewer false positives, more false negatives."""
    below, above = np.linspace(0.05, 0.55, 20), np.linspace(0.55, 0.95, 20)
    for similarities in (below, above):
        fewer, more = (candidate_probability(similarities, bands, 5) for bands in (15, 20))
        assert (fewer < more).all()


def test_areas_of_the_curve_of_50_hashes() -> None:
    """Slides, "Picking r and b": 10 bands of 5; the areas of errors on both sides of a threshold.

    The area over the curve is B(1/5, 11) / 5.
    """
    ends = np.linspace(0, 1, 200_001)
    curve, threshold = candidate_probability(ends, 10, 5), (1 / 10) ** (1 / 5)
    positives = float(np.where(ends < threshold, curve, 0).mean())
    negatives = float(np.where(ends < threshold, 0, 1 - curve).mean())
    beta = gamma(1 / 5) * gamma(11) / gamma(11.2)
    assert threshold - positives + negatives == pytest.approx(beta / 5, abs=1e-4)
    assert round(positives, 3) == 0.084 and round(negatives, 3) == 0.025


def test_exercise_3_1_1() -> None:
    """Jaccard similarities of three sets."""
    sets = ([1, 2, 3, 4], [2, 3, 5, 7], [2, 4, 6])
    assert [similarity(a, b) for a, b in combinations(sets, 2)] == [1 / 3, 2 / 5, 1 / 6]


def test_exercise_3_1_2() -> None:
    """Of three bags, counted as in MMDS 3.1.3: 1/3, 1/4, 1/3.

    There shared items are divided by the items of both together, so that 1/2 is the most. The
    package divides by those of the union (multiset Jaccard, 1 for equal ones): j / (1 + j) is the
    value of MMDS.
    """
    bags = ([1, 1, 1, 2], [1, 1, 2, 2, 3], [1, 2, 3, 4])
    found = [similarity(a, b, BAG) for a, b in combinations(bags, 2)]
    assert found == [1 / 2, 1 / 3, 1 / 2]
    assert [j / (1 + j) for j in found] == pytest.approx([1 / 3, 1 / 4, 1 / 3])


def test_exercise_3_1_3() -> None:
    """The expected similarity of two random sets of m of n elements."""
    n, m, draw = 20, 6, np.random.default_rng(3)
    chance = [comb(m, k) * comb(n - m, m - k) / comb(n, m) for k in range(m + 1)]
    expected = sum(p * k / (2 * m - k) for k, p in enumerate(chance))
    sets = [draw.choice(n, m, replace=False).tolist() for _ in range(2000)]
    pairs = zip(sets[::2], sets[1::2], strict=True)
    assert np.mean([similarity(a, b) for a, b in pairs]) == pytest.approx(expected, abs=0.015)


def test_exercise_3_2_1() -> None:
    """The first ten 3-shingles of the first sentence of MMDS 3.2."""
    three = ShingleSpec("char", 3, keep_case=True, raw=True)
    ten = ["The", "he ", "e m", " mo", "mos", "ost", "st ", "t e", " ef", "eff"]
    sets = neardup.shingle_sets(["The most eff", *ten], three)
    assert sets.offsets[1] == 10
    assert sorted(sets.values[10:].tolist()) == sets.values[:10].tolist()


@pytest.mark.parametrize("n", [1, 3, 9])
def test_exercise_3_2_3(n: int) -> None:
    """A text of 40 characters has at most 40 - n + 1 shingles of n."""
    text = "".join(map(chr, range(0x4E00, 0x4E00 + 40)))
    assert len(neardup.shingle_sets([text], ShingleSpec("char", n)).values) == 40 - n + 1
    assert len(neardup.shingle_sets(["a" * 40], ShingleSpec("char", n)).values) == 1


def test_exercise_3_3_1() -> None:
    """Figure 3.2: of the 120 permutations the share with equal minima is the similarity.

    So of disjoint sets no permutation makes them equal: exercise 3.3.5.
    """
    made = np.array([minima(FIGURE_2, names) for names in permutations(range(5))])
    for i, j in combinations(range(4), 2):
        exact = similarity(sorted(FIGURE_2[i]), sorted(FIGURE_2[j]))
        assert (made[:, i] == made[:, j]).mean() == pytest.approx(exact)
    assert not (made[:, 0] == made[:, 1]).any()


def test_exercise_3_3_2() -> None:
    """Example 3.8 (x + 1, 3x + 1), and the functions of the exercise (2x + 4, 3x - 1), mod 5."""
    functions = ((1, 1), (3, 1), (2, 4), (3, -1))
    names = [[(a * x + b) % 5 for x in range(5)] for a, b in functions]
    assert [minima(FIGURE_2, each) for each in names] == [
        [1, 3, 0, 1],
        [0, 2, 0, 0],
        [0, 3, 0, 0],
        [3, 0, 1, 0],
    ]


def test_exercise_3_3_3() -> None:
    """Figure 3.5: 2x + 1, 3x + 2, 5x + 2, mod 6; the last alone is a permutation."""
    names = [[(a * x + b) % 6 for x in range(6)] for a, b in ((2, 1), (3, 2), (5, 2))]
    assert [len(set(each)) for each in names] == [3, 2, 6]
    made = [minima(FIGURE_5, each) for each in names]
    assert made == [[5, 1, 1, 1], [2, 2, 2, 2], [0, 1, 4, 0]]
    columns = np.array(made).T
    pairs = list(combinations(range(4), 2))
    estimates = [(columns[i] == columns[j]).sum() for i, j in pairs]
    assert estimates == [1, 1, 2, 2, 2, 2]  # thirds
    exact = [similarity(sorted(FIGURE_5[i]), sorted(FIGURE_5[j])) for i, j in pairs]
    assert exact == [0, 0, 1 / 4, 0, 1 / 4, 1 / 4]


@pytest.mark.parametrize(
    ("rows", "bands", "curve"),
    [
        (3, 10, "0.0100 0.0772 0.2394 0.4839 0.7369 0.9123 0.9850 0.9992 1.0000"),
        (6, 20, "0.0000 0.0013 0.0145 0.0788 0.2702 0.6154 0.9182 0.9977 1.0000"),
        (5, 50, "0.0005 0.0159 0.1145 0.4023 0.7956 0.9825 0.9999 1.0000 1.0000"),
    ],
)
def test_exercises_3_4_1_and_3_4_2(rows: int, bands: int, curve: str) -> None:
    """The curve at .1 to .9; where it is 1/2, beside the estimate (1/b)^(1/r)."""
    tenths = np.arange(1, 10) / 10
    assert " ".join(f"{p:.4f}" for p in candidate_probability(tenths, bands, rows)) == curve
    half = (1 - 0.5 ** (1 / bands)) ** (1 / rows)
    assert candidate_probability(half, bands, rows) == pytest.approx(0.5)
    assert 0 < (1 / bands) ** (1 / rows) - half < 0.06
