"""Parts in memory, and the files beside it."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from neardup.errors import StoreError
from neardup.stores import Header, MemoryStore, open_store
from neardup.testing import StoreContract
from neardup.testing.stores import some_facts, some_keys


class TestAlone(StoreContract):
    durable = False

    def make_store(self, folder: Path, run: str = "one") -> MemoryStore:
        return MemoryStore()


class TestWithFolder(StoreContract):
    def make_store(self, folder: Path, run: str = "one") -> MemoryStore:
        return MemoryStore(folder / run)


class TestNothingHeld(StoreContract):
    def make_store(self, folder: Path, run: str = "one") -> MemoryStore:
        return MemoryStore(folder / run, budget=0)


class TestSomeHeld(StoreContract):
    def make_store(self, folder: Path, run: str = "one") -> MemoryStore:
        return MemoryStore(folder / run, budget=60_000)


def filled(folder: Path, budget: int | None = None) -> MemoryStore:
    store = MemoryStore(folder, budget)
    store.create(Header("digest", 3))
    for part in range(2):
        store.put(part, some_keys(part, 20), some_facts(part))
    store.note("name", "text")
    return store


def everything(folder: Path) -> object:
    """All that a store in a folder holds; raises where something is damaged."""
    with MemoryStore(folder) as store:
        header = store.open("digest")
        bands = [[keys.tolist() for keys in store.band(band)] for band in range(3)]
        return header, bands, [store.facts(part) for part in store.parts()], store.notes()


def test_budget_is_kept(tmp_path: Path) -> None:
    size = 8 * 3 * 1000 + 100
    store = MemoryStore(tmp_path, budget=2 * size)
    store.create(Header("digest", 3))
    for part in [0, 1, 2, 0, 3, 1]:
        store.put(part, some_keys(part), some_facts(part))
        assert store._held == sum(p.bytes for p in store._known.values() if p.keys is not None)
        assert store._held <= 2 * size
    assert store.size() == 4 * size
    for part, keys in enumerate(store.band(2)):
        assert np.array_equal(keys, some_keys(part)[2])


def test_every_byte_is_guarded(tmp_path: Path) -> None:
    filled(tmp_path).close()
    whole = everything(tmp_path)
    files = sorted(tmp_path.iterdir())
    assert len(files) == 4
    for path in files:
        data = path.read_bytes()
        for at in range(len(data)):
            path.write_bytes(data[:at] + bytes([data[at] ^ 0x11]) + data[at + 1 :])
            with pytest.raises(StoreError, match=str(path)):
                everything(tmp_path)
        for cut in (data[:-1], data + b"\0", data[: len(data) // 2], b""):
            path.write_bytes(cut)
            with pytest.raises(StoreError, match=str(path)):
                everything(tmp_path)
        path.write_bytes(data)
    assert everything(tmp_path) == whole


def test_a_file_cut_short_while_open(tmp_path: Path) -> None:
    with filled(tmp_path, budget=0) as store:
        bands = store.band(0)
        next(bands)
        os.truncate(tmp_path / "bands-00000001.part", 100)
        with pytest.raises(StoreError):
            list(bands)


def test_a_part_that_is_gone_is_absent(tmp_path: Path) -> None:
    filled(tmp_path).close()
    (tmp_path / "bands-00000000.part").unlink()
    with MemoryStore(tmp_path) as store:
        store.open()
        assert list(store.parts()) == [1]


def test_parts_of_a_lost_run_are_not_taken(tmp_path: Path) -> None:
    filled(tmp_path).close()
    (tmp_path / "bands.header").unlink()
    with MemoryStore(tmp_path) as store:
        store.create(Header("digest", 3))
        assert store.parts() == {}
        assert store.notes() == {}
        store.put(1, some_keys(1), some_facts(1))
        assert list(store.parts()) == [1]


def test_what_killed_processes_left_is_removed(tmp_path: Path) -> None:
    with filled(tmp_path) as store:
        name = store._write.__func__.__globals__["_whose"]()  # of this process
        host = name.partition("-")[0]
        gone = subprocess.Popen([sys.executable, "-c", ""])
        gone.wait()
        abandoned = tmp_path / f".bands-00000005.part.{host}-{gone.pid}.tmp"
        alive = tmp_path / f".bands-00000006.part.{host}-{os.getppid()}.tmp"
        elsewhere = tmp_path / f".bands-00000007.part.00000000-{gone.pid}.tmp"
        for path in (abandoned, alive, elsewhere):
            path.write_bytes(b"half")
        assert list(store.parts()) == [0, 1]
    with MemoryStore(tmp_path) as store:
        store.open()
        assert not abandoned.exists()
        assert alive.exists()
        assert elsewhere.exists()
        (tmp_path / "mine.txt").write_text("stays")
        store.drop()
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_no_space(tmp_path: Path) -> None:
    with filled(tmp_path) as store:
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, before[1]))
        try:
            with pytest.raises(StoreError) as caught:
                store.put(2, some_keys(2, 100_000), b"")
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
        assert "resume" in caught.value.hint
        assert list(store.parts()) == [0, 1]
        assert not [path for path in tmp_path.iterdir() if path.suffix == ".tmp"]
        store.put(2, some_keys(2), some_facts(2))


def test_folder_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with MemoryStore(tmp_path / "file") as store, pytest.raises(StoreError):
        store.create(Header("digest", 3))


def test_by_url(tmp_path: Path) -> None:
    assert not open_store("memory").durable
    store = open_store("memory", folder=tmp_path, budget=5)
    assert store.durable
    assert str(tmp_path) in store.url
