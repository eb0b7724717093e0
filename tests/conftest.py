"""Fixtures of the tests of the command line and of the Python API."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Generator, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

import neardup
import promises
from common import Answer, Command, Tune, some_rows, write_lines
from first_files import FIRST
from neardup.cli import main
from neardup.deduplication import local
from neardup.tuning import TUNING

# References of kernels, made corpora, servers and pages are shared by several rooms.
for room in ("kernels", "deduplication", "state", "io", "spark", "passages", "docs", "parity"):
    sys.path.append(str(Path(__file__).parent / room))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with what takes longest; `--dist loadfile` keeps a file in one process."""
    first = {name: place for place, name in enumerate(FIRST)}
    items.sort(key=lambda item: first.get(item.path.name, len(FIRST)))


def pytest_collection_finish() -> None:
    """Let no later search for cycles look at what is imported: it stays, and is most of the heap.

    Objects of tests are collected as ever, but the oldest of them less often.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 50, 50)


@pytest.hookimpl(wrapper=True, optionalhook=True)
def pytest_xdist_auto_num_workers() -> Generator[None, int, int]:
    """Run two processes more than there are cores: a part of the time tests wait for others."""
    workers = yield
    return workers if "PYTEST_XDIST_AUTO_NUM_WORKERS" in os.environ else workers + 2


@pytest.fixture(autouse=True, scope="session")
def every_run_keeps_its_promises() -> Iterator[None]:
    """Check what comes out of every run in this process, whoever starts it."""
    run = local._run

    def checked(*args: Any) -> local.Outcome:
        outcome = run(*args)
        promises.check(outcome)
        return outcome

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(local, "_run", checked)
        yield


@pytest.fixture(scope="session")
def kernels() -> None:
    """Have all kernels compiled, so that no test hears that they are."""
    for shingle in ("word:5", "char:5"):
        neardup.dedup(["some text", "and another"], shingle=shingle, cluster="bounded")


@pytest.fixture
def tune() -> Iterator[Tune]:
    """Replaces bounds of `neardup.tuning`, by name, until the test ends."""
    with ExitStack() as replaced:
        yield lambda **bounds: replaced.enter_context(TUNING.replaced(**bounds))


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
