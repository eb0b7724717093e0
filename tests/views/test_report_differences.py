"""Word-level differences, and templates with slots."""

from __future__ import annotations

import itertools
import random
import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common import Tune
from neardup.views.differences import (
    Difference,
    Fold,
    align,
    cut,
    differences,
    folded,
    segments,
)

#: Few words, so that they meet; with white space of all kinds, marks, controls, other scripts.
PIECES = ["a", "the", "Note", "12", " ", "  ", "\n", "\t", ",", ".", "-", "e\u0301", "\x00", "\x1b"]
PIECES += ["\u202e", "東", "京", "ภา", "\u0940", "<b>", "🙂", "_x_", "\r\n", "\ufeff", "\u200d"]
TEXTS = st.lists(st.sampled_from(PIECES), max_size=30).map("".join) | st.text(max_size=30)


def longest(a: list[int], b: list[int]) -> int:
    """Length of a longest common subsequence, by the definition."""
    rows = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            rows[i + 1][j + 1] = rows[i][j] + 1 if x == y else max(rows[i][j + 1], rows[i + 1][j])
    return rows[-1][-1]


def template(texts: list[str]) -> list[str | tuple[str, ...]]:
    """What texts share, as the first one has it, with what each has where they vary."""
    found: list[str | tuple[str, ...]] = []
    for segment in segments(list(cut(texts))):
        values = [text[low:high] for text, (low, high) in zip(texts, segment.spans, strict=True)]
        found.append(values[0] if segment.equal else tuple(values))
    return [part for part in found if part]


def words(text: str) -> list[str]:
    """Words of a text, for those without marks and other scripts."""
    return re.findall(r"\w+", text.lower())


def signs(text: str) -> list[str]:
    """Words as they are, and each other character that is no white space."""
    return re.findall(r"\w+|[^\w\s]", text)


@given(TEXTS, TEXTS)
def test_parts_give_back_both_texts(a: str, b: str) -> None:
    parts = differences(a, b)
    assert "".join(part.text_a for part in parts) == a
    assert "".join(part.text_b for part in parts) == b
    for part in parts:
        assert part.text_a or part.text_b
        if part.op != "equal":
            assert bool(part.text_a) is (part.op != "insert")
            assert bool(part.text_b) is (part.op != "delete")
    # Equal and different parts take turns.
    assert all((x.op == "equal") != (y.op == "equal") for x, y in itertools.pairwise(parts))


@given(st.text("ab cd.,\n-ABCD", max_size=40), st.text("ab cd.,\n-ABCD", max_size=40))
def test_equal_parts_have_the_same_words(a: str, b: str) -> None:
    parts = differences(a, b)
    for part in parts:
        form = signs if words(a) == words(b) else words
        same = form(part.text_a) == form(part.text_b)
        assert same is (part.op == "equal")
        # What is marked begins and ends where it must: not with white space on both sides.
        if part.op == "replace":
            assert part.text_a.strip() == part.text_a and part.text_b.strip() == part.text_b
    assert (signs(a) == signs(b)) is all(part.op == "equal" for part in parts)


@given(TEXTS)
def test_equal_texts_are_one_part(text: str) -> None:
    assert [part.op for part in differences(text, text)] == ["equal"] * bool(text)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("after\nanswer", "after answer"),
        ("wrapped\n  text here", "wrapped text\there"),
    ],
)
def test_white_space_is_no_difference(a: str, b: str) -> None:
    assert differences(a, b) == [Difference("equal", a, b)]


@pytest.mark.parametrize(
    ("a", "b", "changed"),
    [
        ("one two, three.", "One  two three", [("one", "One"), (",", ""), (".", "")]),
        ("x - y", "x\u2014y", [("-", "\u2014")]),
        ("...", "!", [("...", "!")]),
        ("done 🙂", "done", [(" 🙂", "")]),
    ],
)
def test_signs_and_case_of_equal_words_are_differences(
    a: str, b: str, changed: list[tuple[str, str]]
) -> None:
    parts = differences(a, b)
    assert [(part.text_a, part.text_b) for part in parts if part.op != "equal"] == changed
    # Of other words they are none.
    assert differences(f"{a} end", f"{b} stop")[-1] == Difference("replace", "end", "stop")


@given(st.lists(TEXTS, min_size=1, max_size=6))
def test_templates_give_back_what_varies(texts: list[str]) -> None:
    parts = template(texts)
    kinds = [isinstance(part, str) for part in parts]
    assert "".join(p if isinstance(p, str) else p[0] for p in parts) == "".join(texts[:1])
    for part in parts:
        assert part
        assert isinstance(part, str) or (len(part) == len(texts) and len(set(part)) > 1)
    assert not any(x is False and y is False for x, y in itertools.pairwise(kinds))


@given(TEXTS, TEXTS)
def test_a_template_of_two_is_their_differences(a: str, b: str) -> None:
    found = [p.text_a if p.op == "equal" else (p.text_a, p.text_b) for p in differences(a, b)]
    assert template([a, b]) == [part for part in found if part]


def test_alignment_is_a_longest_one() -> None:
    draw = random.Random(3)
    for _ in range(300):
        kinds = draw.choice([2, 5, 30])
        a, b = ([draw.randrange(kinds) for _ in range(draw.randrange(30))] for _ in range(2))
        pairs = matched(a, b)
        assert len(pairs) == longest(a, b)


def matched(a: list[int], b: list[int]) -> list[tuple[int, int]]:
    """Pairs of an alignment, checked to be one."""
    pairs = [(i + k, j + k) for i, j, n in align(a, b) for k in range(n)]
    assert all(a[i] == b[j] for i, j in pairs)
    assert all(x[0] < y[0] and x[1] < y[1] for x, y in itertools.pairwise(pairs))
    return pairs


def test_alignment_beyond_the_limit_goes_by_unique_runs(tune: Tune) -> None:
    draw = random.Random(4)
    a = [draw.randrange(200) for _ in range(2000)]
    b = [word for word in a if draw.random() > 0.03]
    tune(aligned_cells=10_000)
    assert len(matched(a, b)) >= 0.97 * len(b)
    tune(aligned_cells=10)
    matched(a, a[::-1])


def test_words_are_marked_as_a_reader_would() -> None:
    def shown(a: str, b: str) -> list[tuple[str, ...]]:
        return [tuple(part) for part in differences(a, b)]

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
    assert shown("seen.", "seen and more.") == [
        ("equal", "seen", "seen"),
        ("insert", "", " and more"),
        ("equal", ".", "."),
    ]
    # A letter and its mark are one word; a character of a script without spaces is one.
    assert shown("cafe\u0301", "cafe\u0300") == [("replace", "cafe\u0301", "cafe\u0300")]
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
    assert template([""]) == [] and template(["a", "a"]) == ["a"]
    assert template(["a", ""]) == [("a", "")]


@given(TEXTS, TEXTS, st.integers(0, 3))
def test_folding_hides_equal_words_only(a: str, b: str, context: int) -> None:
    a, b = (f"{text} one two three {'filler word ' * 20} four five {text}" for text in (a, b))
    found = list(folded(differences(a, b), context))
    assert "".join(part.text_a for part in found) == a
    assert "".join(part.text_b for part in found) == b
    for part in found:
        if isinstance(part, Fold):
            assert words(part.text_a) == words(part.text_b)


def test_folding_leaves_the_context() -> None:
    many = " ".join(f"w{k}" for k in range(50))
    parts = differences(f"{many} A {many} C", f"{many} B {many} D")
    found = list(folded(parts, 2))
    assert [(type(part).__name__, part[0]) for part in found] == [
        ("Fold", 48),
        ("Difference", "equal"),
        ("Difference", "replace"),
        ("Difference", "equal"),
        ("Fold", 46),
        ("Difference", "equal"),
        ("Difference", "replace"),
    ]
    assert found[1].text_a == "w48 w49 " and found[3].text_b == " w0 w1 "
    assert list(folded(parts, 45)) == parts
    same = differences(many, many)
    assert list(folded(same, 2)) == same


@pytest.mark.long
@pytest.mark.parametrize("kinds", [60, 12_000])
def test_long_notes_take_seconds(kinds: int) -> None:
    """30,000 words of few kinds or many, alike or not: a second."""
    draw = random.Random(5)
    a = [f"w{int(draw.paretovariate(0.8)) % kinds}" for _ in range(30_000)]
    near = [word if draw.random() > 0.1 else "other" for word in a]
    begin = time.perf_counter()
    for b in (near, a[::-1]):
        parts = differences(" ".join(a), " ".join(b))
        assert "".join(part.text_b for part in parts) == " ".join(b)
    # With room for machines that are busy otherwise.
    assert time.perf_counter() - begin < 30


@pytest.mark.long
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
