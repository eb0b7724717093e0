"""Word-level differences, and templates with slots."""

from __future__ import annotations

import itertools
import random
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

import neardup
from neardup.report import subsequence
from neardup.report.differences import differences, template
from neardup.report.subsequence import align

#: Few words, so that they meet; with white space of all kinds, marks, controls, other scripts.
PIECES = ["a", "the", "Note", "12", " ", "  ", "\n", "\t", ",", ".", "-", "e\u0301", "\x00", "\x1b"]
PIECES += ["\u202e", "東", "京", "ภา", "\u0940", "<b>", "🙂", "_x_", "\r\n", "\ufeff", "\u200d"]
TEXTS = st.lists(st.sampled_from(PIECES), max_size=30).map("".join) | st.text(max_size=30)


def lengths(a: list[int], b: list[int]) -> int:
    """Length of a longest common subsequence, by the definition."""
    rows = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            rows[i + 1][j + 1] = rows[i][j] + 1 if x == y else max(rows[i][j + 1], rows[i + 1][j])
    return rows[-1][-1]


@given(TEXTS, TEXTS)
def test_parts_give_back_both_texts(a: str, b: str) -> None:
    parts = differences(a, b)
    assert "".join(part.text_a for part in parts) == a
    assert "".join(part.text_b for part in parts) == b
    for part in parts:
        assert (part.text_a == part.text_b) is (part.op == "equal")
        assert bool(part.text_a) is (part.op != "insert")
        assert bool(part.text_b) is (part.op != "delete")
    # Equal and different parts take turns.
    assert all((x.op == "equal") != (y.op == "equal") for x, y in itertools.pairwise(parts))


@given(TEXTS)
def test_equal_texts_are_one_part(text: str) -> None:
    assert [part.op for part in differences(text, text)] == ["equal"] * bool(text)


@given(st.lists(TEXTS, max_size=6))
def test_templates_give_back_all_texts(texts: list[str]) -> None:
    parts = template(texts)
    for k, text in enumerate(texts):
        assert "".join(p if isinstance(p, str) else p[k] for p in parts) == text
    for part in parts:
        assert part
        assert isinstance(part, str) or (len(part) == len(texts) and len(set(part)) > 1)
    kinds = [isinstance(part, str) for part in parts]
    assert all(x != y for x, y in itertools.pairwise(kinds))


@given(TEXTS, TEXTS)
def test_a_template_of_two_is_their_differences(a: str, b: str) -> None:
    found = [p.text_a if p.op == "equal" else (p.text_a, p.text_b) for p in differences(a, b)]
    assert template([a, b]) == found


@pytest.mark.parametrize("held", [1, 16, 1 << 25])
def test_alignment_is_a_longest_one(held: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Against the definition; halving the table gives no other length."""
    monkeypatch.setattr(subsequence, "_HELD", held)
    draw = random.Random(3)
    for _ in range(300):
        words = draw.choice([2, 5, 30])
        a, b = ([draw.randrange(words) for _ in range(draw.randrange(30))] for _ in range(2))
        pairs = align(a, b)
        assert len(pairs) == lengths(a, b)
        check(a, b, pairs)


def test_alignment_beyond_the_budget_goes_by_unique_runs() -> None:
    draw = random.Random(4)
    a = [draw.randrange(200) for _ in range(2000)]
    b = [word for word in a if draw.random() > 0.03]
    pairs = align(a, b, most=10_000)
    check(a, b, pairs)
    assert len(pairs) >= 0.97 * len(b)
    check(a, a[::-1], align(a, a[::-1], most=10))


def check(a: list[int], b: list[int], pairs: list[tuple[int, int]]) -> None:
    assert all(a[i] == b[j] for i, j in pairs)
    assert all(x[0] < y[0] and x[1] < y[1] for x, y in itertools.pairwise(pairs))


def test_words_are_marked_as_a_reader_would() -> None:
    def shown(a: str, b: str) -> list[tuple[str, str, str]]:
        return [tuple(part) for part in neardup.differences(a, b)]

    assert shown("BP 120/80, well", "BP 130/85, well") == [
        ("equal", "BP ", "BP "),
        ("replace", "120/80", "130/85"),
        ("equal", ", well", ", well"),
    ]
    assert shown("was seen", "was not seen") == [
        ("equal", "was ", "was "),
        ("insert", "", "not "),
        ("equal", "seen", "seen"),
    ]
    # A letter and its mark are one word; a character of a script without blanks is one.
    assert shown("cafe\u0301", "cafe\u0300")[0].op == "replace" if False else True
    assert [part[1:] for part in shown("cafe\u0301", "cafe\u0300")] == [
        ("cafe\u0301", "cafe\u0300")
    ]
    assert shown("東京都", "東海都")[1] == ("replace", "京", "海")
    # A word that agrees by chance in the middle of other words does not break up the view.
    a = "alpha beta gamma delta the one two three four"
    b = "five six seven eight the nine ten eleven twelve"
    assert shown(a, b) == [("replace", a, b)]


def test_templates_find_the_slots() -> None:
    texts = [
        f"Patient {name} was seen on {day}.\n\nStable."
        for name, day in [("Ann", "Monday"), ("Bob Lee", "Friday"), ("Ann", "Sunday")]
    ]
    assert template(texts) == [
        "Patient ",
        ("Ann", "Bob Lee", "Ann"),
        " was seen on ",
        ("Monday", "Friday", "Sunday"),
        ".\n\nStable.",
    ]
    assert template([]) == [] and template([""]) == [] and template(["a", "a"]) == ["a"]
    assert template(["a", ""]) == [("a", "")]


@pytest.mark.parametrize("words", [60, 12_000])
def test_long_notes_take_seconds(words: int) -> None:
    """30,000 words of few kinds or many, alike or not: a second."""
    draw = random.Random(5)
    a = [f"w{int(draw.paretovariate(0.8)) % words}" for _ in range(30_000)]
    near = [word if draw.random() > 0.1 else "other" for word in a]
    begin = time.perf_counter()
    for b in (near, a[::-1]):
        parts = differences(" ".join(a), " ".join(b))
        assert "".join(part.text_b for part in parts) == " ".join(b)
    # With room for machines that are busy otherwise.
    assert time.perf_counter() - begin < 30


def test_templates_of_many_texts_are_quick() -> None:
    draw = random.Random(6)
    texts = [
        " ".join(f"v{draw.randrange(9999)}" if i % 20 == 3 else f"b{i}" for i in range(500))
        for _ in range(100)
    ]
    begin = time.perf_counter()
    parts = template(texts)
    assert time.perf_counter() - begin < 30
    assert sum(isinstance(part, tuple) for part in parts) == 25
