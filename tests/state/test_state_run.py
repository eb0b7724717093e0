"""What a run remembers: it survives everything, and what is wrong with it is refused and named."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import signal
import sqlite3
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from fuzz.tracing import traced
from neardup.errors import NeardupError, OutputError, ResumeError
from neardup.state import RunState
from neardup.state.band_store import Header
from neardup.state.database import sampled_checksum
from neardup.testing.store_contract import check, put
from neardup.values.json_values import differences

if TYPE_CHECKING:  # processes of these tests import this module, not the others
    from common import Tune

POSIX = pytest.mark.skipif(os.name == "nt", reason="of POSIX")


def some(number: int, size: int = 1000) -> bytes:
    return np.random.default_rng([number, size]).bytes(size)


def filled(folder: Path, steps: int = 6) -> RunState:
    state = RunState.create(folder)
    state.manifest = {"threshold": 0.7, "inputs": [["a.jsonl", 5, 7]]}
    for step in range(steps):
        state.put("sign", step, some(step), {"documents": step})
    state.put("sets", 0, some(90, 70_300))
    return state


def everything(folder: Path) -> object:
    """All that a run remembers; raises where something is damaged."""
    with RunState.open(folder) as state:
        stages = {
            stage: {n: (bytes(state.get(stage, n)), state.about(stage, n)) for n in numbers}
            for stage in ("sign", "sets", "large")
            if (numbers := state.done(stage))
        }
        return state.manifest, stages


@contextmanager
def refused(kind: type[NeardupError], *words: str) -> Iterator[None]:
    with pytest.raises(kind) as caught:
        yield
    text = caught.value.message + " | " + caught.value.hint
    assert "\n" not in text and caught.value.hint
    for word in words:
        assert word in text


# What goes in comes out.


def test_steps_and_manifest(tmp_path: Path) -> None:
    folder = tmp_path / "out" / ".run"
    assert not RunState.exists(folder)
    with filled(folder) as state:
        assert len(state.done("sign")) == 6 and state.done("sign") == set(range(6))
        assert len(state.done("other")) == 0 and state.done("other") == set()
        assert bytes(state.get("sign", 3)) == some(3)
        assert state.about("sign", 3) == {"documents": 3}
        assert state.about("sets", 0) is None
        assert bytes(state.get("sets", 0)) == some(90, 70_300)
        state.put("sign", 3, b"other")
        state.put("sign", 9)
        assert bytes(state.get("sign", 3)) == b"other" and len(state.get("sign", 9)) == 0
        state.manifest = {**state.manifest, "threshold": 0.8}
        before = state.manifest
        assert before == {"threshold": 0.8, "inputs": [["a.jsonl", 5, 7]]}
    assert RunState.exists(folder)
    with RunState.open(folder) as state:
        assert state.manifest == before
        assert state.done("sign") == {0, 1, 2, 3, 4, 5, 9}
        assert state.about("sign", 3) is None and bytes(state.get("sign", 3)) == b"other"
        with refused(ResumeError, "run.sqlite", "sign 7", "overwrite=True"):
            state.get("sign", 7)
        with pytest.raises(KeyError):
            state.about("sign", 7)
        for stage, number in (("", 0), ("sign", -1)):
            with pytest.raises(ValueError, match="expected"):
                state.put(stage, number, b"")


def test_buffers_of_all_kinds(tmp_path: Path, tune: Tune) -> None:
    """Cut into slices anywhere, and changed by the caller afterwards."""
    tune(blob_bytes=1000)
    sizes = [0, 1, 999, 1000, 1001, 2000, 54_321]
    with RunState.create(tmp_path / "run") as state:
        for number, size in enumerate(sizes):
            data = bytearray(some(number, size))
            state.put("bytes", number, data)
            state.put("views", number, memoryview(data))
            array = np.frombuffer(data, dtype=np.uint8).copy()
            state.put("arrays", number, array.reshape(1, -1))
            data[:] = bytes(size)
            array[:] = 0
        for number, size in enumerate(sizes):
            for stage in ("bytes", "views", "arrays"):
                found = state.get(stage, number)
                assert found.readonly and bytes(found) == some(number, size)


def test_space_is_used_again(tmp_path: Path) -> None:
    with RunState.create(tmp_path / "run") as state:
        for _ in range(5):
            for number in range(5):
                state.put("a", number, some(number, 1_000_000))
        assert state.size() < 8_000_000


def test_many_threads(tmp_path: Path) -> None:
    errors: list[BaseException] = []

    def work(stage: str) -> None:
        try:
            for number in range(20):
                state.put(stage, number, some(number))
                assert bytes(state.get(stage, number)) == some(number)
        except BaseException as error:
            errors.append(error)

    with RunState.create(tmp_path / "run") as state:
        threads = [threading.Thread(target=work, args=(stage,)) for stage in "abcd"]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not errors
    with RunState.open(tmp_path / "run") as state:
        assert [len(state.done(stage)) for stage in "abcd"] == [20] * 4


def test_store_next_to_steps(tmp_path: Path) -> None:
    with filled(tmp_path / "run") as state:
        store = state.band_store()
        store.create(Header("digest", 3))
        put(store, 0, 1)
        store.close()
        assert bytes(state.get("sign", 2)) == some(2)
    with RunState.open(tmp_path / "run") as state, state.band_store() as store:
        assert len(state.done("sign")) == 6
        store.open("digest")
        check(store, {0: 1000, 1: 1000})
        store.drop()
        assert bytes(state.get("sign", 2)) == some(2)


def test_scratch(tmp_path: Path) -> None:
    with RunState.create(tmp_path / "run") as state:
        place = state.scratch_folder("outputs")
        (place / "clean").mkdir()
        (place / "clean" / "part-00000.jsonl").write_bytes(some(1, 10_000))
        assert state.scratch_folder("outputs") == place
        assert stat.S_IMODE(place.stat().st_mode) == 0o700 or os.name == "nt"
        assert state.size() > 10_000
        for name in ("", "../x", "a.b", "A"):
            with pytest.raises(ValueError, match="expected"):
                state.scratch_folder(name)
        state.remove()
    assert list(tmp_path.iterdir()) == []


# The folder.


def test_remove_removes_what_it_made(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b" / ".run"
    filled(folder).remove()
    assert list(tmp_path.iterdir()) == []
    state = filled(folder)
    (folder.parent / "clean.jsonl").write_text("kept")
    state.scratch_folder("sets")
    state.remove()
    assert list(folder.parent.iterdir()) == [folder.parent / "clean.jsonl"]
    state = filled(folder)
    (folder / "mine.txt").write_text("kept")
    state.remove()
    assert list(folder.iterdir()) == [folder / "mine.txt"]
    with refused(OutputError, "not a run folder of neardup", str(folder)):
        RunState.create(folder, overwrite=True)
    assert (folder / "mine.txt").read_text() == "kept"


def test_create_where_a_run_is(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    filled(folder).close()
    with refused(OutputError, "interrupted", "resume=True", "overwrite=True"):
        RunState.create(folder)
    assert everything(folder)
    (folder / "run.sqlite").write_bytes(b"damaged " * 1000)
    with refused(ResumeError, "run.sqlite", "overwrite=True"):
        RunState.open(folder)
    with RunState.create(folder, overwrite=True) as state:
        assert state.manifest == {} and len(state.done("sign")) == 0


def test_open_without_a_run(tmp_path: Path) -> None:
    with refused(ResumeError, "has no run"):
        RunState.open(tmp_path / "run")
    assert not (tmp_path / "run").exists()
    RunState.create(tmp_path / "run").close()
    with RunState.open(tmp_path / "run") as state:  # killed before it had a manifest
        assert state.manifest == {}


@POSIX
def test_nobody_else_may_read(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        with filled(tmp_path / "out" / ".run") as state:
            state.scratch_folder("sets")
            paths = [state.folder, *state.folder.iterdir()]
            modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in paths}
    finally:
        os.umask(before)
    assert modes.pop(".run") == 0o700
    assert modes.pop("sets.scratch") == 0o700
    assert set(modes) >= {"run.sqlite", "lock"}
    assert set(modes.values()) == {0o600}


@POSIX
@pytest.mark.parametrize("name", [".", "run.sqlite", "lock"])
def test_symbolic_links_are_refused(tmp_path: Path, name: str) -> None:
    target, folder = tmp_path / "target", tmp_path / "out" / ".run"
    filled(target).close()
    folder.parent.mkdir()
    if name == ".":
        folder.symlink_to(target)
    else:
        shutil.copytree(target, folder)
        (folder / name).unlink()
        (folder / name).symlink_to(target / name)
    before = tree(target)
    for begin in (RunState.open, RunState.create, lambda f: RunState.create(f, overwrite=True)):
        with refused(OutputError, "symbolic link"):
            begin(folder)
    assert tree(target) == before


def tree(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


@POSIX
def test_no_right_to_write(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with refused(OutputError, "file"):
        RunState.create(tmp_path / "file" / ".run")
    if os.geteuid() == 0:
        pytest.skip("root may write in locked folders, so that nothing is refused")
    (tmp_path / "locked").mkdir(0o500)
    with refused(OutputError, "permission"):
        RunState.create(tmp_path / "locked" / ".run")


def test_another_process_uses_it(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    script = f"{FILL}; print('ready', flush=True); sys.stdin.read()"
    with in_child(script, folder) as child:
        assert child.stdout and child.stdout.readline() == "ready\n"
        for begin in (RunState.open, lambda f: RunState.create(f, overwrite=True)):
            with refused(ResumeError, "another neardup process uses", str(folder)):
                begin(folder)
        child.kill()
    with RunState.open(folder) as state:  # the lock went with the process
        assert len(state.done("sign")) == 6
        with refused(ResumeError, "another neardup process uses"):
            RunState.open(folder)  # in this process, too
        with refused(ResumeError, "another neardup process uses"):
            RunState.open(folder)


FILL = "from test_state_run import *; state = filled(folder)"


def words_of(script: str, folder: Path, *more: object) -> list[str]:
    head = "import sys; from pathlib import Path; sys.path.insert(0, sys.argv[1]); "
    head += "folder = Path(sys.argv[2])\n"
    arguments = [str(Path(__file__).parent), str(folder), *map(str, more)]
    return [sys.executable, "-c", head + script, *arguments]


def in_child(script: str, folder: Path, *more: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        words_of(script, folder, *more),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


# Damage.


@pytest.mark.long
def test_a_byte_is_damaged_anywhere(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    with filled(folder) as state, state.band_store() as store:
        store.create(Header("digest", 3))
        put(store, 0, 1)

    def found() -> object:
        steps = everything(folder)
        with RunState.open(folder) as state, state.band_store() as store:
            store.open("digest")
            check(store, {0: 1000, 1: 1000})
        return steps

    whole = found()
    path = folder / "run.sqlite"
    assert sorted(p.name for p in folder.iterdir()) == ["lock", "run.sqlite", "run.sqlite-journal"]
    data = path.read_bytes()
    refused = 0
    places = some_places(data)
    for number, at in enumerate(places):
        damaged = bytearray(data)
        damaged[at] ^= (0x01, 0x80, 0x10)[number % 3]
        path.write_bytes(damaged)
        try:
            assert found() == whole, f"byte {at}"
        except NeardupError as error:
            refused += 1
            assert "run.sqlite" in error.message and "\n" not in error.message
            assert error.hint
    assert refused > len(places) / 2
    path.write_bytes(data)
    assert found() == whole


def some_places(data: bytes) -> list[int]:
    """Bytes of each page: those of its head, and some of those that are used."""
    rng = np.random.default_rng(5)
    places = set(range(100))  # the head of the file
    for page, content in enumerate(np.frombuffer(data, dtype=np.uint8).reshape(-1, 65536)):
        used = np.flatnonzero(content)
        at = [*range(16), *rng.choice(used, min(30, len(used)), False), *used[-30:]]
        places |= {page * 65536 + int(place) for place in at}
    return sorted(places)


def test_the_file_is_cut_or_foreign(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    filled(folder).close()
    path = folder / "run.sqlite"
    data, whole = path.read_bytes(), everything(folder)
    for length in (1, 50, 100, 5000, 65536, len(data) // 2, len(data) - 65536):
        path.write_bytes(data[:length])
        with refused(ResumeError, "run.sqlite"):
            everything(folder)
    path.write_bytes(data[:-1])  # a page is filled up with zeros, which were there
    assert everything(folder) == whole
    path.unlink()
    other = sqlite3.connect(path)
    other.execute("CREATE TABLE t (a)")
    other.close()
    with refused(ResumeError, "another program"):
        RunState.open(folder)
    path.write_bytes(data)
    other = sqlite3.connect(path)
    other.execute("PRAGMA user_version = 99")
    other.close()
    with refused(ResumeError, "another version of neardup (format 99", "overwrite=True"):
        RunState.open(folder)


# Kills.


def write_steps(folder: Path, first: int, progress: Path) -> None:
    """Put steps whose numbers and contents are known, and report how many are flushed."""
    with RunState.open(folder) as state, progress.open("ab", 0) as report:
        for number in range(first, 10_000):
            state.put("steps", number, some(number, 50_000), number)
            if number % 3 == 0:
                state.manifest = {"steps": number}
                report.write(b"...")


@pytest.mark.long
@POSIX
def test_killed_at_any_moment(tmp_path: Path) -> None:
    folder, progress = tmp_path / "run", tmp_path / "progress"
    RunState.create(folder).close()
    first = 0
    rng = np.random.default_rng(3)
    for _ in range(8):
        progress.write_bytes(b"")
        child = multiprocessing.get_context("spawn").Process(
            target=write_steps, args=(folder, first, progress)
        )
        child.start()
        limit = time.monotonic() + 60
        while progress.stat().st_size < 6 and time.monotonic() < limit:
            assert child.is_alive()
            time.sleep(0.001)
        time.sleep(rng.uniform(0, 0.02))
        child.kill()
        child.join()
        flushed = progress.stat().st_size
        with RunState.open(folder) as state:
            count = len(state.done("steps"))
            assert state.done("steps") == set(range(count))
            # What a flush followed is there, and what comes after it in its order.
            assert count >= first + flushed - 2
            for number in range(first, count):
                assert bytes(state.get("steps", number)) == some(number, 50_000)
                assert state.about("steps", number) == number
            manifest = state.manifest["steps"]
            assert isinstance(manifest, int) and manifest < count
        first = count
    assert first > 30


STEPS = """
from test_state_run import *
with RunState.open(folder) as state:
    state.put("sign", 0, b"new")
    state.put("large", 0, some(7, 300_000))
    state.manifest = {"threshold": 0.9}
    state.put("sets", 0)
    state.put("sign", 9, some(9))
"""


def changes(tmp_path: Path) -> list[object]:
    """Return all that a run remembers before `STEPS`, and after each of them."""
    filled(tmp_path / "before").close()
    found = [everything(tmp_path / "before")]
    with RunState.open(tmp_path / "before") as state:
        for change in (
            lambda: state.put("sign", 0, b"new"),
            lambda: state.put("large", 0, some(7, 300_000)),
            lambda: setattr(state, "manifest", {"threshold": 0.9}),
            lambda: state.put("sets", 0),
            lambda: state.put("sign", 9, some(9)),
        ):
            change()
            copy = tmp_path / "copy" / str(len(found))
            shutil.copytree(state.folder, copy)
            found.append(everything(copy))
    return found


#: Calls that change what is on the disk, and how many of them are made before the kill.
MOMENTS = {
    "pwrite64": (2, 5, 17, 21, 29, 42, 55, 71),
    "fdatasync": (2, 4, 6, 9, 13, 20, 24),
    "ftruncate": (1, 2, 3, 4),
}


@POSIX
@pytest.mark.parametrize(
    "call",
    [
        "ftruncate",
        *(pytest.param(call, marks=pytest.mark.long) for call in ("pwrite64", "fdatasync")),
    ],
)
def test_killed_at_a_call_to_the_system(call: str, tmp_path: Path) -> None:
    """Each change of a run is there as a whole or not at all, and none without those before it."""
    if shutil.which("strace") is None:
        pytest.skip("strace, which stops it at each call to the system, is not installed")
    states = changes(tmp_path)
    reached = set()
    for moment in MOMENTS[call]:
        folder = tmp_path / call / str(moment)
        filled(folder).close()
        fault = f"inject={call}:signal=SIGKILL:when={moment}"
        ended = traced(words_of(STEPS, folder), ["-e", f"trace={call}", "-e", fault])
        assert ended.returncode == -signal.SIGKILL
        reached.add(states.index(everything(folder)))
    assert len(reached) >= 4


def test_samples_of_files(tmp_path: Path) -> None:
    """All of a file of up to 256 KiB, else 64 places, the first and the last bytes among them."""
    path = tmp_path / "input"
    for size in (0, 1, 262_144, 262_145, 5_000_000):
        data = bytearray(some(1, size))
        path.write_bytes(data)
        found = sampled_checksum(path)
        places = {0, size - 1, *([size // 2] if size <= 262_144 else [])}
        for place in places if size else ():
            data[place] ^= 1
            path.write_bytes(data)
            assert sampled_checksum(path) != found
            data[place] ^= 1
        path.write_bytes(data)
        assert sampled_checksum(path) == found
    assert sampled_checksum(tmp_path) == sampled_checksum(tmp_path / "none") == 0


# Differences.


def test_differences() -> None:
    old = {"a": 1, "b": {"c": [1, 2], "d": "x"}, "gone": None}
    assert differences(old, old) == ""
    new = {"a": 1.5, "b": {"c": [1, 3], "d": "y"}, "e": True}
    assert differences(old, new) == (
        "a was 1 and is 1.5; b.c[1] was 2 and is 3; "
        'b.d was "x" and is "y"; e was absent and is true; and 1 more'
    )
    assert differences({"a": [1]}, {"a": [1, 2]}) == "a had 1 items and has 2"
    assert differences({"a": True}, {"a": 1}) == "a was true and is 1"
    assert differences({"a": (1, 2)}, {"a": [1, 2]}) == ""
    assert len(differences({"a": "x" * 1000}, {"a": "y" * 1000})) < 150


def test_an_interrupt_while_folders_are_made_leaves_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(_: Path) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("neardup.state.run_state.sync_folder", interrupt)
    with pytest.raises(KeyboardInterrupt):
        RunState.create(tmp_path / "out" / ".run")
    assert not (tmp_path / "out").exists()


#: Dies while pages of the first transaction are in the file, as a killed process may.
HALF = """
import os, sqlite3, sys
made = sqlite3.connect(sys.argv[1], isolation_level=None)
made.execute("PRAGMA cache_size = 1")
made.execute("BEGIN IMMEDIATE")
made.execute("CREATE TABLE some (data BLOB)")
for _ in range(200):
    made.execute("INSERT INTO some VALUES (zeroblob(5000))")
os._exit(1)
"""


def test_a_file_that_is_half_made_is_no_run(tmp_path: Path) -> None:
    path = tmp_path / "run.sqlite"
    path.touch()
    subprocess.run([sys.executable, "-c", HALF, str(path)], check=False)
    assert path.stat().st_size > 0
    assert not RunState.exists(tmp_path)
    with pytest.raises(ResumeError, match="has no run"):
        RunState.open(tmp_path)
