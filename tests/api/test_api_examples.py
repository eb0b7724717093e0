"""Every example in a docstring runs, and no name of the package is promised in vain."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import neardup

ROOT = Path(__file__).parents[2]
MODULES = ["neardup"] + [
    module.name for module in pkgutil.walk_packages(neardup.__path__, "neardup.")
]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str) -> None:
    module = importlib.import_module(name)
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    assert doctest.testmod(module, optionflags=flags).failed == 0


def test_examples_are_found() -> None:
    finder = doctest.DocTestFinder(exclude_empty=True)
    found = [
        test
        for name in MODULES
        for test in finder.find(importlib.import_module(name))
        if test.examples
    ]
    assert len(found) >= 5


@pytest.mark.parametrize("name", MODULES)
def test_all_names_are_there(name: str) -> None:
    module = importlib.import_module(name)
    for promised in getattr(module, "__all__", []):
        assert hasattr(module, promised), promised


def test_cli_page_is_what_help_says() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "tools" / "make_cli_docs.py", "--check"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
