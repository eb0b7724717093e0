"""Shingles as text, characteristic matrices and signatures by permutations."""

from __future__ import annotations

import itertools
import sys
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import neardup
from neardup import ShingleSpec, characteristic_matrix, minhash, shingles
from neardup.errors import DependencyError, InputError, SpecError

SPECS = [
    ShingleSpec("word:1"), ShingleSpec("word:3"), ShingleSpec("word:3", signs="all"),
    ShingleSpec("word:2", signs="none", stem="english"), ShingleSpec("char:2"),
    ShingleSpec("char:3", raw=True), ShingleSpec("char:2", alphanumeric=True, nfkc=True),
    ShingleSpec("word:2", keep_case=True, strip_accents=True, join_hyphens=True),
    ShingleSpec("word:2", bag=True), ShingleSpec("word:2", ignore=("[0-9]+",)),
]  # fmt: skip
PIECES = st.sampled_from(
    [*"aBÉ1 \n-5$#+<病のßİ🙂_.’", "e\u0301", "  ", "\u00ad", "\u200d", "running ", "jumps "]
)
MATRIX = [[1, 0, 1, 0], [1, 0, 0, 1], [0, 1, 0, 1]]


def test_in_order_each_once_or_as_a_bag() -> None:
    assert shingles("abcab", "char:2") == ["ab", "bc", "ca"]
    assert shingles("abcab", "char:2", bag=True) == ["ab", "bc", "ca", "ab"]
    assert shingles("abcab", ShingleSpec("char:2", bag=True)) == ["ab", "bc", "ca", "ab"]
    assert shingles("To be, or not to be", "word:2") == ["to be", "be or", "or not", "not to"]
    assert shingles("The runners ran", ShingleSpec("word:1", stem="english")) == (
        ["the", "runner", "ran"]
    )
    assert shingles(["milk", 7, "milk"], "item", bag=True) == ["milk", "7", "milk"]
    assert shingles("one two") == ["one two"] and shingles("") == []
    assert shingles("C++ $5", "word:7") == ["c + + $ 5"]
    assert shingles("C++ $5", "word:5") == ["c++ $5"]  # of so many signs, the end is one token


@given(st.lists(PIECES, max_size=14).map("".join), st.sampled_from(SPECS))
@settings(max_examples=300, deadline=None)
def test_they_are_what_is_compared(text: str, spec: ShingleSpec) -> None:
    found = shingles(text, spec)
    assert len(found) == len(neardup.shingle_sets([text], spec).values)


@given(st.lists(PIECES, max_size=14).map("".join))
@settings(max_examples=100, deadline=None)
def test_letters_and_digits_only(text: str) -> None:
    only = ShingleSpec("char:2", alphanumeric=True)
    plain = "".join(c for c in text if c.isalnum() or c == "\u0301")
    assert (neardup.shingle_sets([text], only).values == (
        neardup.shingle_sets([plain], "char:2").values
    )).all()  # fmt: skip


def test_letters_and_digits_of_names() -> None:
    only = ShingleSpec("char:2", alphanumeric=True)
    assert len(shingles("Hello world", only)) == 9
    assert neardup.similarity("MICHAEL VOGEL", "MICHAEL MEYER", only) == 0.4
    run = neardup.dedup(["a-b c.d", "ab cd", "xy"], shingle=only, threshold=0.9, progress=False)
    assert run.removed.tolist() == [1] and run.recipe.shingle.alphanumeric
    for wrong in ({"unit": "word"}, {"unit": "item"}, {"unit": "char", "raw": True}):
        with pytest.raises(SpecError, match="alphanumeric"):
            ShingleSpec(**wrong, alphanumeric=True)  # type: ignore[arg-type]


def test_matrix() -> None:
    found = characteristic_matrix(["abcab", "bcd", ""], "char:2")
    assert found.index.tolist() == ["ab", "bc", "ca", "cd"] and found.index.name == "shingle"
    assert found.to_numpy().tolist() == [[1, 0, 0], [1, 1, 0], [1, 0, 0], [0, 1, 0]]
    assert found.to_numpy().dtype == np.int8 and found.columns.tolist() == [0, 1, 2]
    bag = characteristic_matrix(pa.array(["abcab", "ab"]), ShingleSpec("char:2", bag=True))
    assert bag.index.tolist() == ["ab", "bc", "ca", "ab"] and bag[0].tolist() == [1, 1, 1, 1]
    assert characteristic_matrix([]).shape == (0, 0)
    assert characteristic_matrix(["", ""]).shape == (0, 2)


def test_matrix_needs_pandas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(DependencyError, match="pandas is not installed"):
        characteristic_matrix(["a"])


def test_every_permutation_makes_the_share_the_similarity() -> None:
    texts = ["abcd", "bcde", "xab"]
    matrix = characteristic_matrix(texts, "char:2")
    height = len(matrix)
    every = minhash(matrix, list(itertools.permutations(range(1, height + 1))))
    for a, b in itertools.combinations(range(3), 2):
        exact = neardup.similarity(texts[a], texts[b], "char:2")
        assert (every[:, a] == every[:, b]).mean() == pytest.approx(exact)


def test_random_permutations_estimate_the_similarity() -> None:
    matrix = characteristic_matrix(
        ["one two three four five six", "one two three four six"], "word:2"
    )
    found = minhash(matrix, num_hashes=4000, seed=3)
    exact = (matrix[0] & matrix[1]).sum() / (matrix[0] | matrix[1]).sum()
    assert (found[:, 0] == found[:, 1]).mean() == pytest.approx(exact, abs=0.03)
    assert (found == minhash(matrix, num_hashes=4000, seed=3)).all()
    assert (found != minhash(matrix, num_hashes=4000, seed=4)).any()


def test_columns_without_a_one_and_numbers_from_0() -> None:
    assert minhash([[0, 1], [0, 1]], [[1, 2]]).tolist() == [[3, 1]]
    assert minhash(MATRIX, [[0, 1, 2]]).tolist() == [[0, 2, 0, 1]]
    assert minhash(np.zeros((0, 2), int), num_hashes=2).tolist() == [[1, 1], [1, 1]]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((MATRIX, [(1, 2)]), "permutation 1 has 2 numbers, and the matrix 3 rows"),
        ((MATRIX, [(1, 2, 3), (1, 2, 2)]), "permutation 2 does not number each row once"),
        ((MATRIX, [(2, 3, 4)]), "permutation 1 does not number"),
        ((MATRIX, [(-1, 0, 1)]), "permutation 1 does not number"),
        ((MATRIX, [1, 2, 3]), "permutation 1 is 1; expected the numbers of the rows"),
        ((MATRIX, ["abc"]), "permutation 1 is 'abc'"),
        ((MATRIX, [[1.0, 2.0, 3.0]]), "permutation 1 is of type list"),
        ((MATRIX, [[[1], [1, 2]]]), "permutation 1 is of type list"),
        ((MATRIX, 5), "`permutations` is 5"),
        ((MATRIX,), "neither is given"),
        (([[1, 2]], [[1]]), "no matrix of 0 and 1"),
        (([1, 0], [[1, 2]]), "no matrix of 0 and 1"),
        (([[1], [1, 0]], [[1, 2]]), "no matrix of 0 and 1"),
        ((None, [[1]]), "no matrix of 0 and 1"),
        (([["a"]], [[1]]), "no matrix of 0 and 1"),
    ],
    ids=str,
)
def test_refused(arguments: tuple[Any, ...], says: str) -> None:
    with pytest.raises(SpecError, match=says):
        minhash(*arguments)


def test_refused_hashes_and_texts() -> None:
    for wrong in ({"num_hashes": 0}, {"num_hashes": 2, "seed": -1}, {"num_hashes": 1.5}):
        with pytest.raises((SpecError, TypeError), match=r"num_hashes|seed"):
            minhash(MATRIX, **wrong)
    with pytest.raises(SpecError, match="both are given"):
        minhash(MATRIX, [[1, 2, 3]], num_hashes=3)
    for wrong_text in (5, ["a", "b"]):
        with pytest.raises((InputError, SpecError, TypeError)):
            shingles(wrong_text, "word:1")
    with pytest.raises(InputError):
        characteristic_matrix("one text")
