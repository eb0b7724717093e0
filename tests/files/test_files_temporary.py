"""Temporary folders: removed at the end, and after a kill by the next process that makes one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from neardup.files import private_files
from neardup.files.temporary_folder import keep, temporary_folder

pytestmark = pytest.mark.skipif(private_files.fcntl is None, reason="the system has no such locks")
#: Makes a folder with files in it, says so, and waits for its end.
LIVE = """
import sys
from neardup.files.temporary_folder import temporary_folder
with temporary_folder("test") as folder:
    (folder / "inner").mkdir()
    (folder / "inner" / "file").touch()
    print(folder, flush=True)
    sys.stdin.read()
"""
#: Imports the kernels where neither the package nor the home can be written to.
KERNELS = """
import os
os.access = lambda *arguments: False
import neardup.kernels
print(os.environ["NUMBA_CACHE_DIR"], flush=True)
"""


@pytest.fixture(autouse=True)
def top(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


def started(program: str) -> tuple[subprocess.Popen[str], Path]:
    pipe = subprocess.PIPE
    process = subprocess.Popen([sys.executable, "-c", program], stdin=pipe, stdout=pipe, text=True)
    assert process.stdout is not None
    return process, Path(process.stdout.readline().strip())


def test_a_folder_is_removed_with_all_in_it(top: Path) -> None:
    with temporary_folder("test") as folder:
        assert folder.parent == top and folder.name.startswith("neardup-test-")
        assert folder.stat().st_mode & 0o777 == 0o700
        (folder / "inner").mkdir()
        (folder / "inner" / "file").touch()
        (folder / "link").symlink_to(top)
    assert not list(top.iterdir())


def test_the_folder_of_a_killed_process_is_removed(top: Path) -> None:
    killed, left = started(LIVE)
    lives, its = started(LIVE)
    with killed, lives:
        killed.kill()
        killed.wait()
        assert (left / "inner" / "file").exists()
        (top / "neardup-test-of-others").mkdir()
        (top / "neardup-test-of-others" / "file").touch()
        (top / "neardup-test-a-link").symlink_to(left)
        with temporary_folder("other"):
            assert not left.exists()
            assert (its / "inner" / "file").exists()
            assert (top / "neardup-test-of-others" / "file").exists()
        lives.communicate()
    assert not its.exists()


def test_a_folder_that_is_kept_stays(top: Path) -> None:
    with temporary_folder("test") as folder:
        (folder / "file").touch()
        keep(folder)
    with temporary_folder("test"):
        assert [path.name for path in folder.iterdir()] == ["file"]


def test_a_forked_process_does_not_remove_it(top: Path) -> None:
    with temporary_folder("test") as folder:
        program = "import os, sys\n" + LIVE.replace("print(folder, flush=True)", "").replace(
            "sys.stdin.read()",
            "child = os.fork()\n    print(folder, flush=True)\n"
            "    os.waitpid(child, 0) if child else None\n    assert folder.exists()",
        )
        done = subprocess.run([sys.executable, "-c", program], check=False, timeout=60)
        assert done.returncode == 0
        assert folder.exists()
    assert not list(top.iterdir())


@pytest.mark.long
def test_compiled_kernels_go_with_their_process(top: Path) -> None:
    environment = {**os.environ, "NUMBA_CACHE_DIR": ""}
    del environment["NUMBA_CACHE_DIR"]
    command = [sys.executable, "-c", KERNELS]
    found = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    assert Path(found.stdout.strip()).name.startswith("neardup-kernels-")
    assert not list(top.iterdir())
    killed = [sys.executable, "-c", KERNELS + "os.kill(os.getpid(), 9)"]
    subprocess.run(killed, check=False, capture_output=True, env=environment)
    assert [path.name[:16] for path in top.iterdir()] == ["neardup-kernels-"]
    subprocess.run(command, check=True, capture_output=True, env=environment)
    assert not list(top.iterdir())
