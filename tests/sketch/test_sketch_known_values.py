"""Values that texts about the method print, and values that must never change.

Where a text counts otherwise than the package does, the test says how, and shows both values.

Sources:

* MMDS: J. Leskovec, A. Rajaraman, J. D. Ullman. Mining of massive datasets. Chapter 3.
* CS246: slides "Finding similar items" of the Stanford course on that book.
* Kaplan, Steorts: A. Kaplan, R. C. Steorts. Introduction to locality sensitive hashing. Slides of
  STA 325, Duke University, 2018.
* Lyra: M. Lyra. Document deduplication using locality sensitive hashing with minhash. Notebook,
  2017.
"""

from __future__ import annotations

import re

import numpy as np
import pytest

import neardup
from neardup import Recipe, ShingleSpec, candidate_probability
from neardup.kernels.text.signing import sign_affine
from neardup.match.verifying import make_sets, similarities
from neardup.sketch.bands import steepest
from neardup.sketch.sketcher import Sketcher
from neardup.sketch.texts import Ragged
from neardup.threads import Pool

#: Of four documents, which of seven shingles (rows) each holds.
MATRIX = (
    (1, 0, 1, 0),
    (1, 0, 0, 1),
    (0, 1, 0, 1),
    (0, 1, 0, 1),
    (0, 1, 0, 1),
    (1, 0, 1, 0),
    (1, 0, 1, 0),
)
#: Where each of three permutations puts these rows.
PERMUTATIONS = ((2, 3, 7, 6, 1, 5, 4), (4, 2, 1, 3, 6, 7, 5), (3, 4, 7, 2, 6, 1, 5))
#: Pairs of documents, counted from 1 on the slide: 1-3, 2-4, 1-2, 3-4.
PAIRS = ((0, 2), (1, 3), (0, 1), (2, 3))


def sets_of(names: tuple[int, ...]) -> Ragged:
    """The columns of `MATRIX` as sets, with these names for the rows."""
    columns = [
        sorted(name for name, row in zip(names, MATRIX, strict=True) if row[document])
        for document in range(4)
    ]
    # Signatures take the upper half of a shingle.
    values = np.array([name << 32 for column in columns for name in column], dtype=np.uint64)
    return Ragged(values, np.cumsum([0, *map(len, columns)], dtype=np.int64))


def signatures() -> np.ndarray:
    """The lowest name of each column, for each permutation: the hash function 1 * x + 0 of it."""
    out = np.empty((4, len(PERMUTATIONS)), dtype=np.uint32)
    one, zero = np.ones(1, dtype=np.uint32), np.zeros(1, dtype=np.uint32)
    for i, permutation in enumerate(PERMUTATIONS):
        minima = np.empty((4, 1), dtype=np.uint32)
        sign_affine(*sets_of(permutation), one, zero, minima)
        out[:, i] = minima[:, 0]
    return out


def of_characters(text: str, n: int) -> set[str]:
    return {text[i : i + n] for i in range(len(text) - n + 1)}


# What must never change: keys that were stored years ago are compared with those of today.

TEXTS = ["The quick brown fox jumps over the lazy dog", "größe 病院の検査 2nd_hand", "", "one"]
OFFSETS = [0, 8, 14, 14, 15]
SHINGLES = ["501fa056a8087c58", "64fa28ed1b5775ef", "70f4bc851fc6d138", "a0c971397f8fced2"]
SIGNATURES = {
    "affine32": ["0d1a6ed4", "3143e782", "14325e88", "0b757780", "2e2d84e0", "2ac70c57"],
    "oph32": ["20a065bf", "ba5d14b4", "25aabcdf", "c69921ce", "bc0be167", "9154a404"],
}
KEYS = {
    "affine32": ["9a27b204f4a68165", "df6526a252a2b1f6", "364e6e609f87593f"],
    "oph32": ["2618252bf6fced14", "7e88ec205a53c468", "a07699d4e3b64c64"],
}
SEQUENCE = ["bcd0eb878e0a5336", "16e4a22fccc98626"]
BITMAP = ["0000000000000000", "0800000000000000", "0000000000000000", "0000000000000000"]


def test_token_and_shingle_hashes_are_those_of_version_1() -> None:
    found = neardup.shingle_sets(TEXTS, ShingleSpec(n=2))
    assert found.offsets.tolist() == OFFSETS
    assert [f"{v:016x}" for v in found.values.tolist()[:4]] == SHINGLES


@pytest.mark.parametrize("scheme", ["affine32", "oph32"])
def test_signatures_and_band_keys_are_those_of_version_1(scheme: str) -> None:
    made = neardup.signatures(TEXTS, 6, shingle=ShingleSpec(n=2), scheme=scheme, seed=7)
    assert [f"{v:08x}" for v in made[0].tolist()] == SIGNATURES[scheme]
    recipe = Recipe(ShingleSpec(n=2), f"{scheme}/1", 7, 3, 2)
    sketches = Sketcher(recipe)(TEXTS)
    assert [f"{v:016x}" for v in sketches.keys[0].tolist()] == KEYS[scheme]
    assert [f"{v:016x}" for v in sketches.hashes[1].tolist()] == SEQUENCE
    assert [f"{v:016x}" for v in sketches.bitmaps[3].tolist()] == BITMAP
    assert (made[2] == 0xFFFFFFFF).all()


def test_the_table_of_20_bands_of_5_rows() -> None:
    """MMDS, section 3.4.2: values of the S-curve for b = 20 and r = 5."""
    printed = {
        0.2: ".006",
        0.3: ".047",
        0.4: ".186",
        0.5: ".470",
        0.6: ".802",
        0.7: ".975",
        0.8: ".9996",
    }
    for similarity, value in printed.items():
        digits = len(value) - 1
        probability = candidate_probability(similarity, 20, 5)
        assert f"{probability:.{digits}f}" == f"0{value}"


def test_42_bands_of_3_rows() -> None:
    """MMDS, section 3.4.2, the formula; with it 126 hashes find half-like pairs, and no others."""
    assert f"{candidate_probability(0.5, 42, 3):.1%}" == "99.6%"
    assert f"{candidate_probability(0.05, 42, 3):.1%}" == "0.5%"


def test_90_bands_of_4_rows() -> None:
    """Kaplan, Steorts, "Choosing b": of m = 360 hashes, b = 90 bands."""
    assert f"{candidate_probability(0.25, 90, 4):.1%}" == "29.7%"
    assert f"{candidate_probability(0.75, 90, 4):.1%}" == "100.0%"


@pytest.mark.parametrize("rows", [2, 3, 4, 5, 8, 13])
@pytest.mark.parametrize("bands", [1, 2, 9, 20, 42, 90, 500])
def test_the_steepest_point_of_the_curve(bands: int, rows: int) -> None:
    """((1 - 1/r) / (b - 1/r))**(1/r), of which MMDS, section 3.4.2, gives the rule (1/b)**(1/r).

    It is where the second derivative of 1 - (1 - s**r)**b is 0; here, where the slope between
    neighbours of a grid is largest. One band alone is steepest at 1.
    """
    ends = np.linspace(0.0, 1.0, 20_001)
    found = int(np.argmax(np.diff(candidate_probability(ends, bands, rows))))
    assert ends[found] - 5e-5 <= steepest(bands, rows) <= ends[found + 1] + 5e-5


@pytest.mark.parametrize("bands", [2, 20, 90])
def test_bands_of_one_row_are_steepest_at_the_beginning(bands: int) -> None:
    """The same formula at r = 1: 0, where 1 - (1 - s)**b begins with the slope b."""
    slopes = np.diff(candidate_probability(np.arange(1001) / 1000, bands, 1))
    assert np.argmax(slopes) == 0 == steepest(bands, 1)
    assert slopes[0] * 1000 == pytest.approx(bands, rel=0.05)


def test_signatures_by_three_permutations() -> None:
    """CS246, "Min-hashing example": seven rows, four documents, three permutations."""
    assert signatures().tolist() == [[2, 2, 1], [1, 1, 2], [2, 4, 1], [1, 1, 2]]


def test_similarities_by_three_permutations() -> None:
    """CS246, the table below that example: 0.67, 1.00, 0, 0, of sets with 0.75, 0.75, 0, 0."""
    made = signatures()
    estimates = [float((made[a] == made[b]).mean()) for a, b in PAIRS]
    assert [f"{e:.2f}" for e in estimates] == ["0.67", "1.00", "0.00", "0.00"]
    a, b = np.array(PAIRS, dtype=np.int32).T.copy()
    with Pool(1) as pool:
        exact = similarities(make_sets(sets_of((1, 2, 3, 4, 5, 6, 7))), a, b, 0.0, pool)
    assert exact.tolist() == [0.75, 0.75, 0.0, 0.0]


@pytest.mark.parametrize(
    ("bands", "rows", "pairs"), [(1, 3, [(1, 3)]), (3, 1, [(0, 2), (1, 3)]), (1, 2, [(1, 3)])]
)
def test_candidates_by_three_permutations(
    bands: int, rows: int, pairs: list[tuple[int, int]]
) -> None:
    """CS246, the same signatures: all of 2-4 are equal, and two entries of 1-3, the ends."""
    a, b = neardup.candidate_pairs(neardup.band_keys(signatures(), bands, rows))
    assert list(zip(a.tolist(), b.tolist(), strict=True)) == pairs


def test_candidate_pairs_are_those_that_share_a_key() -> None:
    rng = np.random.default_rng(1)
    keys = rng.integers(0, 12, size=(40, 3)).astype(np.uint64)
    a, b = neardup.candidate_pairs(keys)
    expected = [(i, j) for i in range(40) for j in range(i + 1, 40) if (keys[i] == keys[j]).any()]
    assert list(zip(a.tolist(), b.tolist(), strict=True)) == expected


def test_four_word_shingles() -> None:
    """A sentence of film that lessons like to cut: 12 words have 12 - 4 + 1 = 9 shingles of four.

    Punctuation separates words, and ends no shingle.
    """
    text = "My name is Inigo Montoya. You killed my father. Prepare to die"
    sets = neardup.shingle_sets([text], ShingleSpec(n=4))
    assert sets.offsets.tolist() == [0, 9]
    assert len(set(sets.values.tolist())) == 9
    words = re.findall(r"\w+", text.lower())
    assert len(words) == 12
    each = [" ".join(words[i : i + 4]) for i in range(9)]
    assert set(sets.values.tolist()) == {
        value
        for shingle in each
        for value in neardup.shingle_sets([shingle], ShingleSpec(n=4)).values.tolist()
    }


def test_a_greeting_by_letters() -> None:
    """Kaplan, Steorts, "Hello world", without the blank: 9 shingles of two letters, 8 of three."""
    for n, shingles in ((2, 9), (3, 8)):
        sets = neardup.shingle_sets(["Helloworld"], ShingleSpec(unit="char", n=n))
        assert len(sets.values) == shingles


def test_two_names_by_pairs_of_letters() -> None:
    """Kaplan, Steorts, "Your turn": MICHAEL VOGEL and MICHAEL MEYER share 6 of 15.

    They put the names together without a blank. As a text of two words, the package takes the blank
    as a character like others: then 7 of 16 are shared, "l " being the seventh.
    """
    pairs = ShingleSpec(unit="char", n=2)
    for blank, shared, all_of_them in (("", 6, 15), (" ", 7, 16)):
        names = f"MICHAEL{blank}VOGEL", f"MICHAEL{blank}MEYER"
        one, two = (of_characters(name, 2) for name in names)
        assert (len(one & two), len(one | two)) == (shared, all_of_them)
        assert neardup.similarity(*names, pairs) == shared / all_of_them
        assert np.diff(neardup.shingle_sets(list(names), pairs).offsets).tolist() == [
            len(one),
            len(two),
        ]


def test_a_text_and_its_continuation_by_five_characters() -> None:
    """Lyra, the first two cells: 0.4565 = 21 / 46, for 26 and 51 characters.

    The notebook begins a shingle at each character and drops the last five: the four that the end
    cuts short, and the last whole one. The package takes every run of five characters, the one at
    the end too, and none that is shorter: 22 and 47 shingles, of which 22 are shared. Without their
    last character, the texts have the shingles of the notebook.
    """
    first = "Lorem Ipsum dolor sit amet"
    second = "Lorem Ipsum dolor sit amet is how dummy text starts"
    five = ShingleSpec(unit="char", n=5)
    one, two = of_characters(first, 5), of_characters(second, 5)
    assert (len(one), len(two), len(one & two)) == (22, 47, 22)
    assert neardup.similarity(first, second, five) == len(one & two) / len(one | two) == 22 / 47
    notebook = neardup.similarity(first[:-1], second[:-1], five)
    assert notebook == 21 / 46 == 0.45652173913043476
