"""Runs, pages of them, and a browser to look at these."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from page_corpus import write_run
from page_visit import Visit

from neardup.api.finished.runs import DedupRun

TOOL = Path(__file__).parents[2] / "tools" / "browser.py"
#: What the tool returns where no browser can be had.
MISSING = 3


@pytest.fixture(scope="session")
def star_run(tmp_path_factory: pytest.TempPathFactory, kernels: None) -> DedupRun:
    run = write_run(tmp_path_factory.mktemp("star"))
    run.audit(sample=100)
    return run


@pytest.fixture(scope="session")
def path_run(tmp_path_factory: pytest.TempPathFactory, kernels: None) -> DedupRun:
    return write_run(tmp_path_factory.mktemp("paths"), cluster="components")


@pytest.fixture(scope="session")
def page_file(star_run: DedupRun, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "report.html"
    return star_run.report(path, show=["title"], by="source")


@pytest.fixture(scope="session")
def path_file(path_run: DedupRun, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return path_run.report(tmp_path_factory.mktemp("page") / "paths.html")


@pytest.fixture(scope="session")
def browser_path() -> str:
    pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    found = subprocess.run([sys.executable, TOOL, "find"], capture_output=True, text=True)
    if found.returncode == MISSING:
        pytest.skip(found.stderr.strip())
    assert found.returncode == 0, found.stderr
    return found.stdout.strip()


@pytest.fixture(scope="module")
def chromium(browser_path: str) -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    # As root there is no sandbox to be had.
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=browser_path, args=arguments)
        yield browser
        browser.close()


@pytest.fixture
def visit(chromium: Any) -> Iterator[Callable[..., Visit]]:
    """Opens pages; each must have been quiet in the end, and is closed then."""
    with ExitStack() as closing:
        visits: list[Visit] = []

        def go(path: Path, anchor: str = "", **settings: Any) -> Visit:
            visits.append(Visit(chromium, path, anchor, **settings))
            closing.callback(visits[-1].context.close)
            return visits[-1]

        yield go
        for one in visits:
            one.check()
