"""Two texts: what they share, against sets in plain Python; and why, in a word."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neardup.errors import ShortTextWarning, SpecError
from neardup.inspect.compare import compare, similarity
from neardup.spec import ShingleSpec, Spec, preset

words = st.lists(st.sampled_from(["one", "two", "Three", "four"]), max_size=12)


def shingles(words: list[str], n: int, bag: bool) -> set[object]:
    tokens = [w.lower() for w in words]
    runs = [tuple(tokens[i : i + n]) for i in range(max(1, len(tokens) - n + 1))] if tokens else []
    return {(run, runs[:i].count(run) * bag) for i, run in enumerate(runs)}


@given(words, words, st.integers(1, 4), st.booleans(), st.sampled_from([0.3, 0.5, 1.0]))
@settings(max_examples=200, deadline=None)
def test_equal_to_sets_in_plain_python(
    a: list[str], b: list[str], n: int, bag: bool, threshold: float
) -> None:
    found = compare(
        " ".join(a), ", ".join(b), Spec(shingle=ShingleSpec(n=n, bag=bag), threshold=threshold)
    )
    first, second = shingles(a, n, bag), shingles(b, n, bag)
    shared = len(first & second)
    assert (found.shared, found.only_a, found.only_b) == (
        *(shared, len(first) - shared, len(second) - shared),
    )
    assert found.similarity == (shared / len(first | second) if first | second else 0)
    assert found.containment_a == (shared / len(first) if first else 0)
    assert found.containment_b == (shared / len(second) if second else 0)
    assert (found.tokens_a, found.tokens_b) == (len(a), len(b))
    assert found.duplicates == (found.similarity >= threshold)
    same = [w.lower() for w in a] == [w.lower() for w in b]
    assert (found.equal is not None) == ((same and bool(a)) or " ".join(a) == ", ".join(b))
    assert found.as_dict()["duplicates"] == found.duplicates


@pytest.mark.parametrize(
    ("a", "b", "says"),
    [
        ("a b c d e f", "a b c d e f", "the texts are equal, byte for byte"),
        ("a b c d e f", "A, b; c d e f!", "the texts have equal words"),
        ("", "", "both texts are empty, and empty texts are never duplicates"),
        (" \n", "a b c d e f", "one text is empty"),
        ("...", "a b c d e f", "one text is shorter than a shingle of 5"),
        ("a b", "a b c d e f", "one text is shorter than a shingle of 5"),
        ("a b", "a c", "both texts are shorter than a shingle of 5"),
        ("a b c d e f", "a b c d e g", ""),
    ],
)
def test_why_in_a_word(a: str, b: str, says: str) -> None:
    found = compare(a, b)
    note = found.note
    assert str(found).startswith(f"similarity {found.similarity:.4f}, ") and note in str(found)
    assert note.startswith(says) and bool(note) == bool(says)


def test_presets_and_what_is_refused() -> None:
    found = compare("running well", "runs well", preset("clinical").replace(n=1))
    assert (found.similarity, found.equal) == (1.0, "tokens")  # by their stems
    for odd in (None, b"b", 3):
        with pytest.raises(SpecError, match=r"`text_b` is of type \w+; expected a str"):
            compare("a", odd)  # type: ignore[arg-type]


def test_a_similarity_of_short_texts_says_why() -> None:
    for other, which in (("a c", "both texts are"), ("a b c d e f", "one text is")):
        with pytest.warns(ShortTextWarning, match=f"{which} shorter than a shingle of 5") as said:
            assert similarity("a b", other) == 0.0
        assert said[0].filename == __file__
    # Warnings are errors here: what is said otherwise would raise.
    assert similarity("a b", "A, b!") == similarity("a b c d e f", "a b c d e f") == 1.0
    assert similarity("a b c d e f", "u v w x y z") == 0.0
    with pytest.raises(SpecError, match="`text_b` is of type int"):
        similarity("a", 7)  # type: ignore[arg-type]
