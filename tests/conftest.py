"""Fixtures of the tests of the command line and of the Python API."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import neardup
from common import Answer, Command, some_rows, write_lines
from neardup.cli import main

#: Where `make test` spends its time: begun last, one of them would be waited for alone.
LONGEST = (
    "test_real_texts.py",
    "test_cassandra_runs.py",
    "test_cassandra.py",
    "test_without_jit.py",
    "test_docs.py",
    "test_warm.py",
    "test_cli_big.py",
    "test_resume.py",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep a file, and all that share a server, in one process; begin with what takes longest."""
    for item in items:
        server = "cassandra" in item.path.name
        item.add_marker(pytest.mark.xdist_group("cassandra" if server else item.path.name))
    first = {name: place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: first.get(item.path.name, len(LONGEST)))


@pytest.fixture(scope="session")
def kernels() -> None:
    """Have all kernels compiled, so that no test hears that they are."""
    neardup.dedup(["some text to begin with", "and another"])


@pytest.fixture
def command(kernels: None, capsys: pytest.CaptureFixture[str]) -> Command:
    """Runs ``neardup`` with the arguments given, in this process."""

    def run(*args: Any) -> Answer:
        capsys.readouterr()
        code = 0
        try:
            main([str(a) for a in args])
        except SystemExit as stop:
            code = stop.code if isinstance(stop.code, int) else int(stop.code is not None)
        captured = capsys.readouterr()
        return Answer(code, captured.out, captured.err)

    return run


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    return write_lines(tmp_path / "notes.jsonl", some_rows())
