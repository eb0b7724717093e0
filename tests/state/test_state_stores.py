"""Band stores in memory and in SQLite: the contract, and what only they can get wrong."""

from __future__ import annotations

import os
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import numpy as np
import pytest
from test_state_run import in_child, some_places

from neardup.errors import NeardupError, SpecError, StoreError
from neardup.state import STORES, BandStore, Header, RunState, check_store, open_store
from neardup.state.memory_store import MemoryStore
from neardup.state.sqlite_store import RunStore, SqliteStore
from neardup.testing.store_contract import StoreContract, keys_of, metadata_of, put


class StoreOfRun(RunStore):
    """The store of a run that it opens itself."""

    def __init__(self, folder: Path) -> None:
        self.state = (RunState.open if RunState.exists(folder) else RunState.create)(folder)
        super().__init__(self.state._database)

    def _close(self) -> None:
        self.state.close()


class TestMemory(StoreContract):
    kind = MemoryStore

    def make_store(self, folder: Path, run: str = "one") -> MemoryStore:
        return MemoryStore()


class TestBlobs(StoreContract):
    kind = SqliteStore

    def make_store(self, folder: Path, run: str = "one") -> SqliteStore:
        return SqliteStore(f"sqlite:{folder}/{run}.sqlite")


class TestBlobsOfRun(StoreContract):
    kind = RunStore

    def make_store(self, folder: Path, run: str = "one") -> StoreOfRun:
        return StoreOfRun(folder / run)


# One file of its own.


def filled(path: Path) -> SqliteStore:
    store = SqliteStore(f"sqlite:{path}")
    store.create(Header("digest", 3, about={"a": "b"}))
    put(store, *range(4))
    store.note("name", "text")
    return store


def everything(path: Path) -> object:
    """All that a store holds; raises where something is damaged."""
    with SqliteStore(f"sqlite:{path}") as store:
        header = store.open("digest")
        bands = [[(n, keys.tolist()) for n, keys in store.band(band)] for band in range(3)]
        entries = store.partitions()
        return header, bands, entries, [store.metadata(n) for n in entries], store.notes()


def test_an_error_leaves_none_of_several(tmp_path: Path) -> None:
    with filled(tmp_path / "bands.sqlite") as store:
        with pytest.raises(ValueError, match="expected uint64"), store.together():
            put(store, 8)
            store.put(9, keys_of(9)[:2], b"")
        assert list(store.partitions()) == [0, 1, 2, 3]
        put(store, 8)
        assert list(store.partitions()) == [0, 1, 2, 3, 8]


@contextmanager
def refused(kind: type[NeardupError], words: str) -> Iterator[None]:
    with pytest.raises(kind, match=words) as caught:
        yield
    assert "\n" not in caught.value.message
    assert caught.value.hint


@pytest.mark.long
def test_damage_is_refused_or_harmless(tmp_path: Path) -> None:
    path = tmp_path / "bands.sqlite"
    filled(path).close()
    whole = everything(path)
    data = path.read_bytes()
    places = some_places(data)
    refusals = 0
    for number, at in enumerate(places):
        damaged = bytearray(data)
        damaged[at] ^= (0x01, 0x80)[number % 2]
        path.write_bytes(damaged)
        try:
            found = everything(path)
        except StoreError as error:
            refusals += 1
            assert "bands.sqlite" in error.message and "\n" not in error.message
        else:
            assert found == whole, f"byte {at}"
    assert refusals > len(places) / 2
    for length in (1, 50, 100, 5000, 65536, len(data) // 2, len(data) - 65536):
        path.write_bytes(data[:length])
        with pytest.raises(StoreError):
            everything(path)


def test_files_may_not_grow(tmp_path: Path) -> None:
    pytest.importorskip("resource")
    script = """
import resource
from test_state_stores import *
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[3]),) * 2)
try:
    store = SqliteStore(f"sqlite:{folder}")
    store.create(Header("digest", 3))
    put(store, *range(100))
except StoreError as error:
    print(error.message, "|", error.hint)
"""
    for limit, begun in ((100_000, False), (1_000_000, True)):
        path = tmp_path / str(limit)
        with in_child(script, path, limit) as child:
            text = child.communicate()[0]
        assert "file too large" in text and "raise the limit" in text and str(path) in text
        with SqliteStore(f"sqlite:{path}") as store:
            if not begun:  # not even the tables
                store.create(Header("digest", 3))
            store.open("digest")
            first = len(store.partitions())
            assert (first > 0) == begun
            put(store, *range(first, first + 10))
            for number, keys in store.band(2):
                assert np.array_equal(keys, keys_of(number)[2])


def foreign(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE t (a)")
    connection.close()


def no_database(path: Path) -> None:
    path.write_text("some text\n" * 1000)


@pytest.mark.parametrize(
    ("make", "words"), [(foreign, "another program"), (no_database, "not a database")]
)
def test_files_of_others_are_left_alone(
    tmp_path: Path, make: Callable[[Path], None], words: str
) -> None:
    path = tmp_path / "other"
    make(path)
    before = path.read_bytes()
    for act in (
        lambda store: store.open(),
        lambda store: store.create(Header("digest", 3)),
        lambda store: store.drop(),
    ):
        with SqliteStore(f"sqlite:{path}") as store, refused(StoreError, words):
            act(store)
    assert path.read_bytes() == before


def test_no_folder(tmp_path: Path) -> None:
    with SqliteStore(f"sqlite:{tmp_path}") as store, pytest.raises(StoreError):
        store.open()
    with SqliteStore(f"sqlite:{tmp_path}/no/b") as store, refused(StoreError, "no such file"):
        store.create(Header("digest", 3))


def test_a_file_that_was_there_is_never_removed(tmp_path: Path) -> None:
    path = tmp_path / "bands.sqlite"
    path.touch()
    store = filled(path)
    assert path.stat().st_size > 100_000
    store.drop()
    store.close()
    assert path.exists() and path.stat().st_size <= 65536
    connection = sqlite3.connect(path)
    assert connection.execute("SELECT count(*) FROM sqlite_master").fetchone() == (0,)
    connection.close()
    filled(path).close()
    assert everything(path)


def test_a_drop_that_was_interrupted_is_completed(tmp_path: Path) -> None:
    path = tmp_path / "bands.sqlite"
    filled(path).close()
    with closing(sqlite3.connect(path)) as connection:  # all of it but the last step
        connection.execute("DROP TABLE bands")
        connection.execute("DROP TABLE bands_data")
        connection.execute("PRAGMA application_id = 0")
        connection.execute("PRAGMA user_version = 0")
        connection.commit()
    for _ in range(2):
        assert path.stat().st_size > 100_000
        with SqliteStore(f"sqlite:{path}") as store, refused(StoreError, "no run"):
            store.open()
        assert path.stat().st_size <= 65536
        with path.open("ab") as file:  # SQLite commits before it makes the file shorter
            file.truncate(10 * 65536)


@pytest.mark.skipif(os.name == "nt", reason="of POSIX")
def test_nobody_else_may_read(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        filled(tmp_path / "b").close()
        modes = {stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
    finally:
        os.umask(before)
    assert modes == {0o600}


def test_another_version_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "bands.sqlite"
    filled(path).close()
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 92")
    connection.close()
    with SqliteStore(f"sqlite:{path}") as store, refused(StoreError, "another version .*92"):
        store.open()


def test_in_use(tmp_path: Path) -> None:
    path = tmp_path / "bands.sqlite"
    filled(path).close()
    other = sqlite3.connect(path, isolation_level=None)
    with SqliteStore(f"sqlite:{path}", patience=0.05) as store:
        store.open()
        other.execute("BEGIN IMMEDIATE")
        with refused(StoreError, "in use by another process"):
            put(store, 9)
        assert list(store.partitions()) == [0, 1, 2, 3]  # readers don't wait
        other.execute("ROLLBACK")
        put(store, 9)
    other.close()


def test_dropped_by_another(tmp_path: Path) -> None:
    path = tmp_path / "bands.sqlite"
    filled(path).close()
    with SqliteStore(f"sqlite:{path}") as store:
        store.open()
        with SqliteStore(f"sqlite:{path}") as other:
            other.drop()
        for use in (store.open, store.partitions, lambda: put(store, 5)):
            with pytest.raises(StoreError):
                use()


def test_memory_stays_small(tmp_path: Path) -> None:
    pytest.importorskip("resource")
    script = """
import resource
from test_state_stores import *
keys = keys_of(0, 100_000, 20)
store = SqliteStore(f"sqlite:{folder}")
store.create(Header("digest", 20))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for number in range(12):
    store.put(number, keys, b"")
for band in range(20):
    for _ in store.band(band):
        pass
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""
    with in_child(script, tmp_path / "b") as child:
        assert int(child.communicate()[0]) < 40_000  # KiB, of 192 MB written


# By URL.


def test_by_url(tmp_path: Path) -> None:
    assert isinstance(open_store("memory"), MemoryStore)
    store = open_store(f"sqlite:{tmp_path}/b")
    assert isinstance(store, SqliteStore)
    assert store.url == f"sqlite:{tmp_path}/b"
    with RunState.create(tmp_path / "run") as state:
        store = open_store("sqlite", state=state)
        assert isinstance(store, RunStore) and store.url == f"sqlite:{tmp_path}/run/run.sqlite"
    for url in ("memory", "sqlite", "sqlite:anywhere"):
        check_store(url)
    for url, words in {
        "sqlite": "'sqlite'",
        "sqlite:": "'sqlite:'",
        "memory:x": "'memory:x'",
        "postgres://x": "'postgres'",
        "cassandr://user:zebrafinch@host/k": "'cassandr'",
        "an:na:zebrafinch": "'an'",
        "zebra finch@host": "that URL",
    }.items():
        with refused(SpecError, words):
            open_store(url)
    assert list(tmp_path.iterdir()) == [tmp_path / "run"]


class Mine(MemoryStore):
    def __init__(self, url: str, run: str) -> None:
        super().__init__("memory")
        self.url = f"{url} {run}"


def test_stores_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(STORES, "mine", f"{__name__}:Mine")
    store: BandStore = open_store("mine://there", run="one")
    assert isinstance(store, Mine) and store.url == "mine://there one"


def test_nothing_heavy_is_imported() -> None:
    script = (
        "import sys; import neardup.state\n"
        "heavy = {'pandas', 'cassandra', 'pyarrow', 'filelock', 'asyncio', 'numba'}\n"
        "print(sorted(heavy & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout == "[]\n", done.stderr


def test_metadata_is_bytes(tmp_path: Path) -> None:
    for store in (MemoryStore(), SqliteStore(f"sqlite:{tmp_path}/b")):
        with store:
            store.create(Header("digest", 3))
            store.put(0, keys_of(0), bytearray(metadata_of(0)))
            assert isinstance(store.metadata(0), bytes | memoryview)
            assert bytes(store.metadata(0)) == metadata_of(0)
