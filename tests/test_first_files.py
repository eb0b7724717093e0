"""The files that a run begins with are there."""

from __future__ import annotations

from pathlib import Path

from first_files import FIRST

TESTS = Path(__file__).parent


def test_every_listed_file_is_there_once() -> None:
    there = [path.name for path in TESTS.rglob("test_*.py")]
    assert len(FIRST) == len(set(FIRST))
    assert {name: there.count(name) for name in FIRST} == dict.fromkeys(FIRST, 1)


def test_names_of_files_are_unique() -> None:
    """Since groups of tests, and what comes first, go by them."""
    there = [path.name for path in TESTS.rglob("test_*.py")]
    assert len(there) == len(set(there))
