"""Numbers as words: nothing that is not whole reads as 0 % or 100 %."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neardup.values.readable import aligned, counted, percent, share, short


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (0.0, "0 %"),
        (1.0, "100 %"),
        (0.5, "50.0 %"),
        (0.9963, "99.6 %"),
        (0.00524, "0.5 %"),
        (0.001, "0.1 %"),
        (0.9995, "99.95 %"),
        (0.99994, "99.994 %"),
        (0.0000123, "0.0012 %"),
        (1e-9, "below 0.0001 %"),
        (1 - 1e-9, "above 99.9999 %"),
        (math.nan, "none"),
    ],
)
def test_percent(share: float, text: str) -> None:
    assert percent(share) == text


@given(st.floats(1e-12, 1 - 1e-12))
def test_percent_is_near(share: float) -> None:
    text = percent(share)
    rest = min(share, 1 - share)
    if text[0] in "ab":
        assert rest < 1.000001e-6
    else:
        value = float(text.removesuffix(" %")) / 100
        assert 0 < value < 1
        # Half of the last digit, give or take what binary fractions can't hold.
        assert abs(value - share) <= max(0.0005 if rest > 0.0009 else 0.5 * rest, 5e-7) + 1e-12


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (7, "7"),
        (1234, "1,234"),
        (0.034, "0.034"),
        (12.51, "12.5"),
        (123.4, "123"),
        (12_345, "12.3 k"),
        (-2_000_000, "-2 M"),
        (3.2e9, "3.2 G"),
        (5e12, "5 T"),
    ],
)
def test_short(value: float, text: str) -> None:
    assert short(value) == text


def test_counts_and_shares() -> None:
    assert [counted(n, "pair") for n in (0, 1, 2000)] == ["0 pairs", "1 pair", "2,000 pairs"]
    assert share(1, 3) == "33.3 %" and share(0, 0) == "0 %"


def test_tables_are_aligned() -> None:
    table = aligned(["name", "n", "note"], [["a", "10", "x"], ["long", "5", ""]], left=1)
    assert table.splitlines() == ["name   n  note", "a     10     x", "long   5"]
