"""Fixtures of the tests of the documentation."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from doc_commands import called


@pytest.fixture(autouse=True)
def _process() -> Iterator[None]:
    """Undo what a command does to its process, which is not meant for others."""
    threshold = gc.get_threshold()
    yield
    gc.set_threshold(*threshold)
    if sys.modules.get("scipy", ...) is None:
        del sys.modules["scipy"]


@pytest.fixture(scope="session")
def notes_file(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("corpus") / "notes.jsonl"
    called("synth", "-n", "300", "-o", str(path), "--quiet")
    return path.read_bytes()


@pytest.fixture
def empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kernels: None) -> Path:
    """The current folder, for the examples of a page as they run when they are copied."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def folder(
    notes_file: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kernels: None
) -> Path:
    """The current folder: empty but for the notes that the pages speak of."""
    (tmp_path / "notes.jsonl").write_bytes(notes_file)
    monkeypatch.chdir(tmp_path)
    return tmp_path
