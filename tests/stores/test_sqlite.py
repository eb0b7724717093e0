"""One SQLite file for a run: what only this store can get wrong."""

from __future__ import annotations

import itertools
import sqlite3
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from neardup.errors import SpecError, StoreError
from neardup.stores import Header, open_store
from neardup.stores import sqlite as room
from neardup.stores.sqlite import SqliteStore
from neardup.testing import StoreContract
from neardup.testing.stores import some_facts, some_keys


class TestDesign2(StoreContract):
    def make_store(self, folder: Path, run: str = "one") -> SqliteStore:
        return SqliteStore(folder / f"{run}.sqlite")


class TestDesign1(StoreContract):
    kill_documents = 2000

    def make_store(self, folder: Path, run: str = "one") -> SqliteStore:
        return SqliteStore(folder / f"{run}.sqlite", design=1)


def filled(path: Path, design: int = 2) -> SqliteStore:
    store = SqliteStore(path, design)
    store.create(Header("digest", 3, {"a": "b"}))
    for part in range(4):
        store.put(part, some_keys(part), some_facts(part))
    store.note("name", "text")
    return store


def everything(path: Path, design: int) -> object:
    """All that a store holds; raises where something is damaged."""
    with SqliteStore(path, design) as store:
        header = store.open("digest")
        bands = [[keys.tolist() for keys in store.band(band)] for band in range(3)]
        parts = store.parts()
        return header, bands, parts, [store.facts(part) for part in parts], store.notes()


@pytest.mark.parametrize("design", [1, 2])
def test_damage_is_refused_or_harmless(tmp_path: Path, design: int) -> None:
    path = tmp_path / "bands.sqlite"
    filled(path, design).close()
    assert list(tmp_path.iterdir()) == [path]  # the log went into it
    whole = everything(path, design)
    data = path.read_bytes()
    some = 40 if design == 2 else 10  # Design 1 is slow to read
    pages = np.frombuffer(data, dtype=np.uint8).reshape(-1, 65536)
    rng = np.random.default_rng(5)
    places = set(range(100))  # the header of the file
    for page, content in enumerate(pages):
        used = np.flatnonzero(content)
        places |= {page * 65536 + at for at in range(16)}
        places |= {page * 65536 + int(at) for at in rng.choice(used, min(some, len(used)), False)}
        places |= {page * 65536 + int(at) for at in used[-some:]}
    refused = 0
    for at, change in zip(sorted(places), itertools.cycle((0x01, 0x80)), strict=False):
        damaged = bytearray(data)
        damaged[at] ^= change
        path.write_bytes(damaged)
        try:
            found = everything(path, design)
        except StoreError as error:
            refused += 1
            assert "bands.sqlite" in error.message
        else:
            assert found == whole, f"byte {at} changed by {change}"
        for ending in ("-wal", "-shm"):
            Path(f"{path}{ending}").unlink(missing_ok=True)
    assert refused > len(places) / 2


@pytest.mark.parametrize("design", [1, 2])
def test_cut_short(tmp_path: Path, design: int) -> None:
    path = tmp_path / "bands.sqlite"
    filled(path, design).close()
    data = path.read_bytes()
    for length in (1, 50, 100, 5000, 65536, len(data) // 2, len(data) - 1, len(data) - 65536):
        path.write_bytes(data[:length])
        with pytest.raises(StoreError):
            everything(path, design)


def test_a_log_left_by_a_killed_process_is_read(tmp_path: Path) -> None:
    path = tmp_path / "bands.sqlite"
    script = (
        "import os, sys; sys.path[:0] = sys.argv[2:]\n"
        "from pathlib import Path\n"
        "from test_sqlite import filled\n"
        "filled(Path(sys.argv[1])); os._exit(1)\n"
    )
    folder = str(Path(__file__).parent)
    subprocess.run([sys.executable, "-c", script, path, folder], check=False)
    assert Path(f"{path}-wal").stat().st_size > 0
    with SqliteStore(path) as store:
        store.open("digest")
        assert list(store.parts()) == [0, 1, 2, 3]
        assert np.array_equal(list(store.band(1))[3], some_keys(3)[1])


@pytest.mark.parametrize("limit", [200_000, 1_000_000])
def test_no_space(tmp_path: Path, limit: int) -> None:
    path = tmp_path / "bands.sqlite"
    script = (
        "import sys; sys.path[:0] = sys.argv[3:]\n"
        "import resource\n"
        "from test_sqlite import SqliteStore, some_keys, some_facts, Path, Header, StoreError\n"
        "store = SqliteStore(Path(sys.argv[1]))\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]),) * 2)\n"
        "try:\n"
        "    store.create(Header('digest', 3))\n"
        "    for part in range(100):\n"
        "        store.put(part, some_keys(part), some_facts(part))\n"
        "except StoreError as error:\n"
        "    print(error.message, '|', error.hint)\n"
    )
    command = [sys.executable, "-c", script, path, str(limit), str(Path(__file__).parent)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert "can't be written" in done.stdout, done.stderr
    assert "free some space, then resume" in done.stdout
    with SqliteStore(path) as store:
        if limit < 500_000:  # not even the tables
            store.create(Header("digest", 3))
        store.open("digest")
        parts = len(store.parts())
        for part in range(parts, 10):
            store.put(part, some_keys(part), some_facts(part))
        for part, keys in enumerate(store.band(2)):
            assert np.array_equal(keys, some_keys(part)[2])


def test_foreign_databases_are_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "other.sqlite"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE t (a)")
    connection.commit()
    connection.close()
    before = path.read_bytes()
    for act in (
        lambda store: store.open(),
        lambda store: store.create(Header("digest", 3)),
        lambda store: store.drop(),
    ):
        with SqliteStore(path) as store, pytest.raises(StoreError, match="another program"):
            act(store)
    assert path.read_bytes() == before


def test_what_is_no_database(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("some text\n" * 1000)
    for act in (SqliteStore.open, SqliteStore.drop):
        with SqliteStore(path) as store, pytest.raises(StoreError, match="not a database"):
            act(store)
    assert path.exists()
    with SqliteStore(tmp_path) as store, pytest.raises(StoreError):
        store.open()
    with SqliteStore(tmp_path / "no" / "b.sqlite") as store, pytest.raises(StoreError) as caught:
        store.create(Header("digest", 3))
    assert "folder" in caught.value.hint


def test_empty_file_takes_a_run(tmp_path: Path) -> None:
    path = tmp_path / "bands.sqlite"
    path.touch()
    filled(path).close()


def test_other_design_and_layout_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "bands.sqlite"
    filled(path, design=1).close()
    with SqliteStore(path, 2) as store:
        with pytest.raises(StoreError, match="has design 1, expected 2"):
            store.open()
        store.drop()
        assert not path.exists()
    filled(path).close()
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 92")
    connection.close()
    with SqliteStore(path, 2) as store, pytest.raises(StoreError, match="has layout 92"):
        store.open()
    with pytest.raises(SpecError):
        SqliteStore(path, 3)


def test_locked(tmp_path: Path) -> None:
    path = tmp_path / "bands.sqlite"
    filled(path).close()
    other = sqlite3.connect(path, isolation_level=None)
    with SqliteStore(path, patience=0.05) as store:
        store.open()
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match="another process holds it"):
            store.put(9, some_keys(9), b"")
        assert list(store.parts()) == [0, 1, 2, 3]  # readers don't wait
        other.execute("ROLLBACK")
        store.put(9, some_keys(9), b"")
    other.close()


def test_dropped_by_another(tmp_path: Path) -> None:
    path = tmp_path / "bands.sqlite"
    filled(path).close()
    with SqliteStore(path) as store:
        store.open()
        with SqliteStore(path) as other:
            other.drop()
        for use in (store.size, lambda: store.open()):
            with pytest.raises(StoreError):
                use()


def test_the_log_is_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "_LOG_LIMIT", 2 << 20)
    path = tmp_path / "bands.sqlite"
    keys = some_keys(0, 50_000)
    with SqliteStore(path) as store:
        store.create(Header("digest", 3))
        for part in range(12):
            store.put(part, keys, b"")
            assert Path(f"{path}-wal").stat().st_size < 5 << 20
            assert not Path(f"{path}-wal").stat().st_size > 2 << 20 or part == 0
        assert len(list(store.band(2))) == 12


def test_memory_stays_small(tmp_path: Path) -> None:
    script = (
        "import resource, sys; sys.path[:0] = sys.argv[2:]\n"
        "from test_sqlite import SqliteStore, some_keys, Path, Header\n"
        "keys = some_keys(0, 100_000, 20)\n"
        "store = SqliteStore(Path(sys.argv[1]))\n"
        "store.create(Header('digest', 20))\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "for part in range(12):\n"
        "    store.put(part, keys, b'')\n"
        "for band in range(20):\n"
        "    for keys in store.band(band): pass\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)\n"
    )
    command = [sys.executable, "-c", script, tmp_path / "b.sqlite", str(Path(__file__).parent)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert int(done.stdout) < 40_000  # KiB, of 192 MB written


def test_by_url(tmp_path: Path) -> None:
    for store in (
        open_store("sqlite", folder=tmp_path),
        open_store(f"sqlite:{tmp_path}/bands.sqlite", design=2),
    ):
        assert isinstance(store, SqliteStore)
        assert store.path == tmp_path / "bands.sqlite"
        assert store.url == f"sqlite:{tmp_path}/bands.sqlite"
    with pytest.raises(SpecError):
        open_store("sqlite")
    with pytest.raises(SpecError, match="no store 'postgres://x'"):
        open_store("postgres://x")
    with pytest.raises(SpecError) as caught:
        open_store("cassandr://user:zebrafinch@host/k")
    assert "zebrafinch" not in str(caught.value)
    with pytest.raises(SpecError):
        open_store("memory", design=3)
