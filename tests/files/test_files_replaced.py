"""Private files that any number of threads and processes write at once, and what a kill leaves."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import neardup
from neardup.errors import OutputError
from neardup.files import private_files
from neardup.files.private_files import replacing, replacing_path
from neardup.io.source import Layout, TextFiles
from neardup.io.writers import open_writer

LOCKS = pytest.mark.skipif(private_files.fcntl is None, reason="the system has no such locks")
WRITE = """
import sys, os
from pathlib import Path
from neardup.files.private_files import replacing
os.getpid = lambda: 1  # as in containers
for number in range(40):
    with replacing(Path(sys.argv[1])) as file:
        for _ in range(20):
            file.write(sys.argv[2].encode() * 5000)
            file.flush()
"""
#: Writes half of a file, says so, and waits to be killed.
HALF = """
import sys
from pathlib import Path
from neardup.files.private_files import replacing
with replacing(Path(sys.argv[1])) as file:
    file.write(b"half")
    file.flush()
    print("half", flush=True)
    sys.stdin.read()
"""


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_processes_with_one_number_that_write_one_file(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    command = [sys.executable, "-c", WRITE, str(path)]
    writers = [subprocess.Popen([*command, letter]) for letter in "abc"]
    assert [writer.wait(60) for writer in writers] == [0, 0, 0]
    found = path.read_bytes()
    assert found in [letter * 100_000 for letter in (b"a", b"b", b"c")]
    assert names(tmp_path) == ["page.html"]


def test_threads_that_write_one_file(tmp_path: Path) -> None:
    path, seen = tmp_path / ("x" * 255), set[bytes]()  # as long as a name can be
    start = threading.Barrier(8)

    def write(letter: int) -> None:
        start.wait()
        for _ in range(30):
            with replacing(path) as file:
                for _ in range(10):
                    file.write(bytes([letter]) * 20_000)
                    file.flush()
            seen.add(path.read_bytes())

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(8)))
    assert seen <= {bytes([letter]) * 200_000 for letter in range(8)}
    assert names(tmp_path) == [path.name]


@pytest.mark.long
def test_threads_that_write_one_report(tmp_path: Path) -> None:
    rows = [
        {"text": f"note {n // 2} of some words that are there twice {n // 2}"} for n in range(40)
    ]
    run = neardup.dedup(pa.Table.from_pylist(rows), out=tmp_path / "out")
    titles, page = [f"Title {n} {'x' * 1000 * n}" for n in range(6)], tmp_path / "page.html"
    start = threading.Barrier(6)

    def report(title: str) -> None:
        start.wait()
        run.report(page, title=title, overwrite=True)

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(report, titles))
    alone = tmp_path / "alone.html"
    whole = set()
    for title in titles:
        run.report(alone, title=title, overwrite=True)
        whole.add(alone.read_bytes())
    assert page.read_bytes() in whole
    assert names(tmp_path) == ["alone.html", "out", "page.html"]


def test_audits_at_once_are_complete_and_listed(tmp_path: Path) -> None:
    run = neardup.dedup([f"note {n // 2} of some words" for n in range(40)], out=tmp_path / "out")
    with ThreadPoolExecutor(6) as pool:
        list(pool.map(lambda seed: run.audit(sample=5, seed=seed), range(6)))
    found = json.loads((tmp_path / "out" / "audit.json").read_text())
    assert found["seed"] in range(6)
    record = json.loads((tmp_path / "out" / "run.json").read_text())
    assert sorted(record["files"]) == sorted(names(tmp_path / "out"))


@LOCKS
def test_the_next_writer_removes_what_a_killed_one_left_and_nothing_else(tmp_path: Path) -> None:
    path, other = tmp_path / "page.html", tmp_path / "other.html"
    mine = tmp_path / ".neardup-mine.partial"
    mine.write_text("mine")

    def begun(target: Path) -> subprocess.Popen[str]:
        command = [sys.executable, "-c", HALF, str(target)]
        pipe = subprocess.PIPE
        process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True)
        assert process.stdout is not None and process.stdout.readline() == "half\n"
        return process

    killed, elsewhere, alive = begun(path), begun(other), begun(path)
    for process in (killed, elsewhere):
        process.kill()
        process.communicate()
    assert len(names(tmp_path)) == 4
    with replacing(path) as file:
        file.write(b"new")
        # That of the one which is alive, that of another file, the new one, and mine.
        assert len(names(tmp_path)) == 4
    assert len(names(tmp_path)) == 4 and path.read_bytes() == b"new"
    alive.communicate("go on")
    assert alive.returncode == 0 and path.read_bytes() == b"half"
    with replacing(other) as file:
        file.write(b"new")
    assert names(tmp_path) == [mine.name, "other.html", "page.html"]


@LOCKS
def test_a_partial_file_that_is_removed_before_it_is_locked_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock, path = private_files.lock_handle, tmp_path / "file"

    def late(handle: int) -> bool | None:
        monkeypatch.setattr(private_files, "lock_handle", lock)
        for partial in tmp_path.glob(".neardup-*"):
            private_files._remove_left(partial)
        return lock(handle)

    monkeypatch.setattr(private_files, "lock_handle", late)
    with replacing(path) as file:
        file.write(b"all")
    assert path.read_bytes() == b"all" and names(tmp_path) == ["file"]


def test_where_there_are_no_locks_a_file_is_written_and_nothing_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file"
    with pytest.raises(KeyboardInterrupt), replacing_path(path) as partial:
        left = partial.name
        raise KeyboardInterrupt
    (tmp_path / left).write_bytes(b"of a process that was killed, or of one that writes")
    for missing in (True, False):
        if missing:
            monkeypatch.setattr(private_files, "fcntl", None)
        else:
            monkeypatch.undo()
            monkeypatch.setattr(private_files, "lock_handle", lambda _: None)
        with replacing(path) as file:
            file.write(b"all")
        assert path.read_bytes() == b"all" and names(tmp_path) == sorted([left, "file"])


def test_nothing_appears_where_the_disk_has_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")

    def failing(handle: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, "fsync", failing)
    refused = pytest.raises(OutputError, match="file: can't be written: input/output error")
    with refused, replacing(path) as file:
        file.write(b"new")
    assert path.read_bytes() == b"old" and names(tmp_path) == ["file"]


# Texts, each a file.


def some_texts(folder: Path, count: int) -> None:
    rng = np.random.default_rng(count)
    for number in range(count):
        path = folder / f"sub{number % 3}" / f"{number}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(" ".join(map(str, rng.integers(0, 1000, 30))))


@pytest.mark.long
@pytest.mark.parametrize("code", [errno.EIO, errno.ENOSPC])
def test_an_error_that_shows_when_a_text_goes_to_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    some_texts(tmp_path / "in", 300)
    fsync = os.fsync

    def failing(handle: int) -> None:
        if Path(f"/proc/self/fd/{handle}").readlink().name == "277.txt":
            raise OSError(code, os.strerror(code))
        fsync(handle)

    if not Path("/proc/self/fd").is_dir():
        pytest.skip("the system does not tell the names of open files")
    monkeypatch.setattr(os, "fsync", failing)
    with pytest.raises(OutputError, match=r"sub1/277\.txt: can't be written") as caught:
        neardup.dedup(tmp_path / "in", out=tmp_path / "out", input_format="text")
    assert os.strerror(code).lower() in caught.value.message
    assert not (tmp_path / "out" / "clean").exists()
    assert not (tmp_path / "out" / "run.json").exists()
    monkeypatch.undo()
    done = neardup.dedup(tmp_path / "in", out=tmp_path / "out", input_format="text", resume=True)
    written = [path for path in (tmp_path / "out" / "clean").rglob("*") if path.is_file()]
    assert len(written) == int(done.keep_mask.sum()) == 300


def test_texts_and_their_folders_are_on_the_disk_when_a_writer_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced, fsync = set[tuple[int, int]](), os.fsync

    def noting(handle: int) -> None:
        status = os.fstat(handle)
        synced.add((status.st_ino, status.st_size))
        fsync(handle)

    monkeypatch.setattr(os, "fsync", noting)
    texts = [(f"a/b/{number}", b"x" * number) for number in range(600)]
    with open_writer(tmp_path / "texts", Layout("text")) as writer:
        for low in range(0, 600, 100):
            part = texts[low : low + 100]
            writer.write(writer.prepare(TextFiles([n for n, _ in part], [t for _, t in part])))
    for name, text in texts:
        path = tmp_path / "texts" / name
        assert path.read_bytes() == text and (path.stat().st_ino, len(text)) in synced
    inodes = {inode for inode, _ in synced}
    for folder in ("", "a", "a/b"):
        assert (tmp_path / "texts" / folder).stat().st_ino in inodes
