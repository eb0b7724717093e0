"""What an index survives: processes that are killed, full disks, damage, and other processes."""

from __future__ import annotations

import json
import multiprocessing
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from index_load import replay

import neardup
from common import Tune
from neardup.arrays import strings_of
from neardup.errors import InputError, NeardupError, OutputError, StoreError
from neardup.index.storing import bodies, location
from neardup.tuning import TUNING

#: `make kills` asks for 150.
KILLS = int(os.environ.get("NEARDUP_KILLS", "4"))
SPEC = neardup.Spec(shingle=neardup.ShingleSpec(n=2), threshold=0.6, num_bands=8, rows=2)


def words(seed: int, count: int = 20) -> str:
    draw = random.Random(seed)
    return " ".join(f"w{draw.randrange(500)}" for _ in range(count))


def test_what_was_committed_survives_kills(tmp_path: Path) -> None:
    folder = tmp_path / "index"
    neardup.Index.create(folder, spec=SPEC).close()
    script = Path(__file__).with_name("index_load.py")
    draw, stored = random.Random(5), {}
    with subprocess.Popen(
        [sys.executable, script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as forge:
        assert forge.stdin and forge.stdout
        assert forge.stdout.readline() == "ready\n"
        for kill in range(1, KILLS + 1):
            notes = tmp_path / f"notes-{kill}"
            forge.stdin.write(json.dumps([str(folder), kill, str(notes)]) + "\n")
            forge.stdin.flush()
            pid = int(forge.stdout.readline())
            end = time.monotonic() + 30
            lines = draw.randrange(1, 40)  # that it notes down: the machine may be slow
            while time.monotonic() < end:
                if notes.exists() and notes.read_bytes().count(b"\n") >= lines:
                    break
                time.sleep(0.002)
            time.sleep(draw.random() * 0.01)
            os.kill(pid, signal.SIGKILL)
            assert forge.stdout.readline() == "ended\n"
            stored, maybe = replay(stored, notes)
            with neardup.Index.open(folder, readonly=kill % 2 == 0) as index:
                found = {id_: index.get(id_) for id_ in index.ids().to_pylist()}
                assert found in (stored, maybe)
                assert index.check() == []
                stored = dict(found)
                for id_ in list(stored)[:: max(1, len(stored) // 5)]:
                    assert id_ in index.query(stored[id_]).column("id").to_pylist()
        forge.stdin.close()
    assert len(stored) > KILLS


def limited(size: int, work: Callable[[], object]) -> str:
    """Do something in a process that may write files of so many bytes; return the error."""
    ours, theirs = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(ours)
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
        said = "nothing"
        try:
            work()
        except OutputError as error:
            said = f"{error}\n{error.hint}"
        except BaseException as error:
            said = f"unexpected {error!r}"
        os.write(theirs, said.encode())
        os._exit(0)
    os.close(theirs)
    with os.fdopen(ours) as pipe:
        said = pipe.read()
    os.waitpid(pid, 0)
    return said


@pytest.mark.parametrize("documents", [300, 6000])
def test_a_full_disk_is_one_error_and_no_harm(tmp_path: Path, documents: int) -> None:
    folder = tmp_path / "index"
    with neardup.Index.create(folder, spec=SPEC) as index:
        index.add([words(i) for i in range(50)], ids=range(50))
    texts = [words(i, 40) for i in range(100, 100 + documents)]
    files = sorted(path.name for path in folder.iterdir())
    size = (folder / "index.sqlite").stat().st_size + 8192

    def fill() -> None:
        neardup.Index.open(folder).add(texts, ids=range(100, 100 + documents))

    said = limited(size, fill)
    assert "can't be written: " in said, said
    with neardup.Index.open(folder) as index:
        assert index.ids().to_pylist() == list(range(50))
        assert index.check() == []
        index.add(texts, ids=range(100, 100 + documents))
        assert len(index) == 50 + documents
        assert index.check() == []
    assert {name for name in files if "segment" not in name} <= {p.name for p in folder.iterdir()}


@pytest.mark.long
def test_a_damaged_byte_is_found(tmp_path: Path, tune: Tune) -> None:
    tune(logged_documents=60)
    folder, copy = tmp_path / "index", tmp_path / "copy"
    texts = {i: words(i, 30) for i in range(90)}
    with neardup.Index.create(folder, spec=SPEC) as index:
        index.add(list(texts.values())[:60], ids=range(60))
        index.add(list(texts.values())[60:], ids=range(60, 90))
        index.remove([3, 70])
        assert not index.add_if_new(90, texts[5]).kept
    del texts[3], texts[70]
    draw = random.Random(1)
    found_by_check = found_by_reading = 0
    names = sorted(p.name for p in folder.iterdir() if p.name != "writer.txt")
    assert names == ["committed", "index.sqlite", "segment-00000000"]
    for name in names:
        for _ in range(40):
            shutil.copytree(folder, copy)
            data = bytearray((copy / name).read_bytes())
            at = draw.randrange(len(data))
            data[at] ^= 1 << draw.randrange(8)
            (copy / name).write_bytes(data)
            try:
                with neardup.Index.open(copy, readonly=True) as index:
                    problems = index.check()
                    found_by_check += bool(problems)
                    try:
                        answers = {i: index.get(i) for i in texts}
                        for id_, text in texts.items():
                            assert id_ in index.query(text).column("id").to_pylist()
                        # It was in a place that means nothing, or that is looked at by `check`.
                        assert answers == texts
                    except (NeardupError, AssertionError) as error:
                        assert problems, (name, at, error)
                        found_by_reading += isinstance(error, NeardupError)
                    if name != "index.sqlite":
                        assert problems, at
            except NeardupError:
                found_by_check += 1
                found_by_reading += 1
            shutil.rmtree(copy)
    assert found_by_check > 80 and found_by_reading > 40, (found_by_check, found_by_reading)
    (folder / "segment-00000000").unlink()
    with neardup.Index.open(folder, readonly=True) as index:
        assert "is gone" in index.check()[0]
        with pytest.raises(StoreError, match="is gone"):
            index.query("one two")


def test_a_second_writer_waits_and_then_says_who_writes(tmp_path: Path) -> None:
    folder = tmp_path / "index"
    first = neardup.Index.create(folder, spec=SPEC)
    first.add_if_new(1, words(1))
    with first._core.writing():  # a transaction under way
        begin = time.monotonic()
        second = neardup.Index.open(folder, readonly=True)
        assert second.is_duplicate(words(1))  # readers wait for nobody
        assert time.monotonic() - begin < 5
        third = neardup.Index.open(folder, timeout=0.2)  # nor does who opens it
        with pytest.raises(StoreError) as caught:
            third.add_if_new(2, words(2))
        assert f"process {os.getpid()}" in str(caught.value) and "0.2 s" in str(caught.value)
    neardup.Index.open(folder, timeout=0.2).add_if_new(2, words(2))
    assert len(first) == 2
    with pytest.raises(StoreError, match="reading only"):
        second.add_if_new(3, words(3))


def _write(folder: Path, first: int, count: int) -> None:
    index = neardup.Index.open(folder, timeout=60, durable="process")
    with TUNING.replaced(logged_documents=30):
        for i in range(first, first + count):
            index.add_if_new(i, words(i % 150))
    os._exit(0)


def test_two_writers_and_a_reader(tmp_path: Path) -> None:
    folder = tmp_path / "index"
    reader = neardup.Index.create(folder, spec=SPEC, durable="process")
    context = multiprocessing.get_context("fork")
    writers = [context.Process(target=_write, args=(folder, first, 150)) for first in (0, 1000)]
    for process in writers:
        process.start()
    sizes = []
    while any(process.is_alive() for process in writers):
        found = reader.ids().to_pylist()
        sizes.append(len(found))
        assert len(set(found)) == len(found)
        for id_ in found[-2:]:
            text = reader.get(id_)
            assert text is not None
            assert id_ in reader.query(text).column("id").to_pylist()
    assert [process.exitcode for process in writers] == [0, 0]
    assert sizes == sorted(sizes)
    # Every text came twice, and is there once.
    assert sorted(i % 150 for i in reader.ids().to_pylist()) == list(range(150))
    assert reader.check() == []


def test_a_fork_after_open_is_safe(tmp_path: Path) -> None:
    folder = tmp_path / "index"
    index = neardup.Index.create(folder, spec=SPEC)
    index.add([words(i) for i in range(30)], ids=range(30))
    assert index.is_duplicate(words(3))
    for child in range(3):
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                same = index.is_duplicate(words(3)) and not index.is_duplicate(words(900 + child))
                index.add_if_new(100 + child, words(100 + child))
                code = 0 if same and index.check() == [] else 2
            finally:
                os._exit(code)
        index.add_if_new(200 + child, words(200 + child))
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert len(index) == 36
    assert index.check() == []


def test_threads_share_an_index(tmp_path: Path) -> None:
    index = neardup.Index.create(tmp_path / "index", spec=SPEC, durable="process")
    wrong: list[Any] = []

    def work(first: int) -> None:
        for i in range(first, first + 40):
            try:
                index.add_if_new(i, words(i))
                if i not in index.query(words(i)).column("id").to_pylist():
                    wrong.append(i)
            except NeardupError as error:
                wrong.append(error)

    threads = [threading.Thread(target=work, args=(1000 * n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == [] and len(index) == 160 and index.check() == []


def test_a_network_file_system_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    neardup.Index.create(tmp_path / "a").close()
    assert location.file_system_of(Path("/proc/self")) == "proc"
    monkeypatch.setattr(location, "file_system_of", lambda path: "nfs4")
    for call in (neardup.Index.open, neardup.Index.create):
        with pytest.raises(StoreError, match=r"network file system \(nfs4\)"):
            call(tmp_path / "a")
    for name in ("ext4", "overlay", "tmpfs", "apfs", "fuse.mergerfs"):
        assert not location._REMOTE.fullmatch(name)


def test_merges_keep_the_number_of_segments_low(tmp_path: Path, tune: Tune) -> None:
    tune(logged_documents=20)
    index = neardup.Index.create(tmp_path / "index", spec=SPEC, durable="process")
    for first in range(0, 1000, 25):
        index.add([words(i) for i in range(first, first + 25)], ids=range(first, first + 25))
    index._merger._thread and index._merger._thread.join()
    assert index.stats()["segments"] < 12
    index.remove(range(0, 1000, 2))
    assert index.stats()["removed"] == 500
    index.compact()
    stats = index.stats()
    assert (stats["segments"], stats["removed"], stats["documents"]) == (1, 0, 500)
    assert index.check() == []
    assert not index.is_duplicate(words(0)) and index.is_duplicate(words(1))
    files = [path.name for path in (tmp_path / "index").iterdir() if "segment" in path.name]
    assert len(files) == 1


def test_an_index_that_was_closed_is_merged(tmp_path: Path, tune: Tune) -> None:
    tune(logged_documents=20)
    for first in range(0, 300, 25):
        opened = neardup.Index.create if not first else neardup.Index.open
        settings: Any = {"spec": SPEC} if not first else {}
        with opened(tmp_path / "index", durable="process", **settings) as index:
            index.add([words(i) for i in range(first, first + 25)], ids=range(first, first + 25))
    with neardup.Index.open(tmp_path / "index") as index:
        assert index.stats()["segments"] < 4 and len(index) == 300
        assert index.check() == []


def test_numbers_of_documents_have_an_end(tune: Tune) -> None:
    tune(most_documents=10)
    index = neardup.Index.create(spec=SPEC)
    index.add([words(i) for i in range(8)])
    with pytest.raises(StoreError, match="limit"):
        index.add([words(9), words(10)])
    assert len(index) == 8


@pytest.mark.parametrize("size", [0, 1, 511, 512, 5000])
def test_texts_of_any_size_come_back(size: int) -> None:
    texts = [b"a" * size, os.urandom(size // 2).hex().encode(), b"\xc3\xa4" * (size // 2), b"b"]
    packed = bodies.pack_texts(strings_of(texts))
    assert [bodies.unpack_text(body) for body in packed] == texts
    assert (len(packed[0]) < size) == (size >= 512)


def test_purged_text_is_gone_from_the_disk(tmp_path: Path) -> None:
    folder = tmp_path / "index"
    index = neardup.Index.create(folder, spec=SPEC)
    secret = os.urandom(60).hex()  # nothing that can be compressed away
    index.add_if_new("a", f"{words(1)} {secret}")
    index.add_if_new("b", words(2))
    body = bodies.pack_texts(strings_of([secret.encode()]))[0]
    index.remove("a")
    with pytest.raises(InputError):
        index.get("a")

    def on_disk() -> bool:
        return any(
            body[12:60] in path.read_bytes() or secret[20:60].encode() in path.read_bytes()
            for path in folder.iterdir()
        )

    index.compact(purge=True)
    assert not on_disk()
    assert index.check() == [] and len(index) == 1
    modes = {oct(path.stat().st_mode)[-3:] for path in folder.iterdir()}
    assert modes == {"600"} and oct(folder.stat().st_mode)[-3:] == "700"
