"""What becomes of a run where the disk is full, or a write fails otherwise."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
from pathlib import Path

import pytest
from test_state_run import POSIX, in_child, refused, some

from neardup.errors import OutputError, ResumeError
from neardup.state import RunState, blob_table

LIMITED = """
import resource
from test_state_run import *
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[3]),) * 2)
try:
    with RunState.create(folder) as state:
        for number in range(100):
            state.put("steps", number, some(number, 50_000))
except OutputError as error:
    print(error.message, "|", error.hint)
"""


@POSIX
@pytest.mark.parametrize("limit", [5_000, 100_000, 1_000_000])
def test_files_may_not_grow(limit: int, tmp_path: Path) -> None:
    folder = tmp_path / "out" / ".run"
    child = in_child(LIMITED, folder, limit)
    text = child.communicate()[0]
    assert "file too large" in text and "free some space" in text and str(folder) in text
    if limit < 500_000:  # not even the tables
        assert not folder.parent.exists()
        return
    with RunState.open(folder) as state:
        count = len(state.done("steps"))
        assert count > 5
        for number in range(count):
            assert bytes(state.get("steps", number)) == some(number, 50_000)
        state.put("steps", count, b"resumed")
    with RunState.open(folder) as state:
        assert len(state.done("steps")) == count + 1


@POSIX
def test_a_disk_is_full(tmp_path: Path) -> None:
    """A small disk of its own, which then grows."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=3m", "none", str(disk)]
    may = os.geteuid() == 0 and shutil.which("mount") is not None
    if not may or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("only root may mount a small disk, and not in every container")
    try:
        folder = disk / ".run"
        with refused(OutputError, "no space left on device", "free some space"):
            fill_up(folder)
        subprocess.run(["mount", "-o", "remount,size=200m", str(disk)], check=True)
        with RunState.open(folder) as state:
            count = len(state.done("steps"))
            assert count > 20
            for number in range(count):
                assert bytes(state.get("steps", number)) == some(number, 50_000)
            state.put("steps", count, some(count, 5_000_000))
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)


def fill_up(folder: Path) -> None:
    with RunState.create(folder) as state:
        for number in range(1000):
            state.put("steps", number, some(number, 50_000))


def test_a_failure_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A step that could not be stored is not done, and what was stored before is there."""
    folder = tmp_path / "run"

    def fail(*_: object) -> None:
        raise sqlite3.OperationalError("of a test")

    with RunState.create(folder) as state:
        state.put("a", 0, b"there")
        with monkeypatch.context() as here:
            here.setattr(blob_table.BlobTable, "put", fail)
            with pytest.raises(ResumeError, match="can't be used"):
                state.put("a", 1, b"lost")
        assert state.done("a") == {0}
    with RunState.open(folder) as state:
        assert state.done("a") == {0} and bytes(state.get("a", 0)) == b"there"


def test_close_keeps_the_first_error(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), RunState.create(tmp_path / "run") as state:
        state.put("a", 0, b"there")
        raise ZeroDivisionError
    with RunState.open(tmp_path / "run") as state:
        assert state.done("a") == {0}
