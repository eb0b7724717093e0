"""The files that are marked as slow are there, and marked."""

from __future__ import annotations

from pathlib import Path

import pytest

from slow_files import SLOW

TESTS = Path(__file__).parent


def test_every_listed_file_is_there_once() -> None:
    there = [path.name for path in TESTS.rglob("test_*.py")]
    assert len(SLOW) == len(set(SLOW))
    assert {name: there.count(name) for name in SLOW} == dict.fromkeys(SLOW, 1)


def test_names_of_files_are_unique() -> None:
    """Since groups of tests, and what is slow, go by them."""
    there = [path.name for path in TESTS.rglob("test_*.py")]
    assert len(there) == len(set(there))


def test_what_is_listed_is_marked(request: pytest.FixtureRequest) -> None:
    marked = {item.path.name for item in request.session.items if item.get_closest_marker("slow")}
    collected = {item.path.name for item in request.session.items}
    assert marked == collected & set(SLOW)
