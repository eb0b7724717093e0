"""The public steps refuse what they can't use, with one clear line, before a kernel sees it."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import neardup
from neardup.errors import EncodingError, InputError, SpecError

steps: Any = neardup
TEXTS = ["one two three four five six", "seven"]
SIGNATURES = np.zeros((2, 8), np.uint32)


@pytest.mark.parametrize("step", [lambda t: steps.signatures(t, 4), steps.shingle_sets])
@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (5, "of type int"),
        (None, "of type NoneType"),
        ("one text", "of type str"),
        (["one", 3], "a text is of type int; expected a string"),
        ([b"one"], "a text is of type bytes"),
        (pa.array([1, 2]), "of type int64, as text 1; expected strings"),
        (pa.table({"text": TEXTS}), "of type Table"),
    ],
)
def test_what_is_no_texts(step: Callable[[Any], Any], texts: Any, expected: str) -> None:
    with pytest.raises(InputError, match=expected):
        step(texts)


def test_half_a_surrogate_pair() -> None:
    with pytest.raises(EncodingError, match="half a surrogate pair"):
        neardup.similarity("\ud800", "b")


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda: steps.signatures(TEXTS, 0), "`num_hashes` is 0"),
        (lambda: steps.signatures(TEXTS, "16"), "`num_hashes` is '16'"),
        (lambda: steps.signatures(TEXTS, 1.5), "`num_hashes` is 1.5"),
        (lambda: steps.signatures(TEXTS, 4, seed=-1), "`seed` is -1"),
        (lambda: steps.signatures(TEXTS, 4, shingle="words:5"), "expected word:N"),
        (lambda: steps.shingle_sets(TEXTS, 5), "shingle is 5; expected word:N"),
        (lambda: steps.ShingleSpec("char:2", n=2), "`n` is given, and char:2 has it too"),
        (lambda: steps.band_keys([[1, 2]], 1, 2), "`signatures` is no array uint32"),
        (lambda: steps.band_keys(SIGNATURES[0], 1, 2), "`signatures` is no array uint32"),
        (lambda: steps.band_keys(SIGNATURES.astype(float), 1, 2), "`signatures` is no array"),
        (lambda: steps.band_keys(SIGNATURES, -1, -2), "`num_bands` is -1"),
        (lambda: steps.band_keys(SIGNATURES, 1, "2"), "`rows` is '2'"),
        (lambda: steps.candidate_pairs(None), "`keys` is no array uint64"),
        (lambda: steps.candidate_pairs(SIGNATURES), "`keys` is no array uint64"),
        (lambda: steps.choose_bands(0.7, "0.9"), "recall is '0.9'"),
    ],
)
def test_what_is_no_setting(call: Callable[[], object], expected: str) -> None:
    with pytest.raises(SpecError, match=expected):
        call()


def test_all_kinds_of_texts_give_the_same() -> None:
    column = pa.array([*TEXTS, None])
    expected = neardup.signatures([*TEXTS, None], 4)
    for texts in (
        column,
        column.cast(pa.large_string()),
        column.dictionary_encode(),
        pa.chunked_array([column.slice(0, 1), column.slice(1)]),
        (text for text in [*TEXTS, None]),
    ):
        assert np.array_equal(neardup.signatures(texts, 4), expected)
    assert neardup.signatures(pa.nulls(2), 4).shape == (2, 4)
