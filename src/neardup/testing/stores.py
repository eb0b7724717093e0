"""The contract suite of band stores."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from neardup.errors import NeardupError, StoreError
from neardup.stores.base import STORE_FORMAT, BandStore, Header

__all__ = ["StoreContract", "some_facts", "some_keys"]

_BANDS = 3
_DOCUMENTS = 1000
_CHILD_SECONDS = 60.0


def some_keys(part: int, documents: int = _DOCUMENTS, bands: int = _BANDS) -> np.ndarray:
    """Return uint64[bands, documents]: always the same for a part, different for another."""
    rng = np.random.default_rng([part, documents, bands])
    return rng.integers(0, 2**64, size=(bands, documents), dtype=np.uint64)


def some_facts(part: int, size: int = 100) -> bytes:
    """Return bytes: always the same for a part, different for another."""
    return np.random.default_rng([part, size, 7]).bytes(size)


class StoreContract(ABC):
    """Tests that a store passes; a class that inherits them says how one is made.

    pytest finds them if the name of the class begins with ``Test``:

        class TestMyStore(StoreContract):
            def make_store(self, folder, run="one"):
                return MyStore(folder / run)

    The class must be importable, as some tests make its stores in other processes.

    Attributes:
        durable: What the stores are expected to say of themselves.
        kill_documents: Documents of the parts that a process is killed over; so many that putting
            one takes some milliseconds at least.
    """

    durable = True
    kill_documents = 20_000

    @abstractmethod
    def make_store(self, folder: Path, run: str = "one") -> BandStore:
        """Return a new object; that of the same folder and run finds what an earlier one kept."""

    def begin(self, folder: Path, run: str = "one", bands: int = _BANDS) -> BandStore:
        """Return a store with a run just begun."""
        store = self.make_store(folder, run)
        store.create(Header("digest", bands, {"greeting": "grüß dich"}))
        return store

    def check(self, store: BandStore, parts: dict[int, int]) -> None:
        """Compare all that a store holds with `some_keys` and `some_facts`.

        Args:
            store: An open one of three bands.
            parts: Documents by part.
        """
        entries = store.parts()
        assert list(entries) == sorted(parts)
        for part, documents in parts.items():
            assert entries[part].documents == documents
            assert store.facts(part) == some_facts(part)
        for band in range(_BANDS):
            found = list(store.band(band))
            assert len(found) == len(parts)
            for keys, part in zip(found, sorted(parts), strict=True):
                assert keys.dtype == np.uint64
                assert np.array_equal(keys, some_keys(part, parts[part])[band])

    # What goes in comes out.

    def test_round_trip(self, tmp_path: Path) -> None:
        with self.begin(tmp_path) as store:
            assert store.parts() == {}
            assert list(store.band(0)) == []
            for part in range(12):
                store.put(part, some_keys(part, 10 + part), some_facts(part))
            self.check(store, {part: 10 + part for part in range(12)})
            assert store.size() >= 0

    def test_parts_in_any_order(self, tmp_path: Path) -> None:
        with self.begin(tmp_path) as store:
            numbers = [9, 0, 31, 4, 1_000_000, 8]
            for part in numbers:
                store.put(part, some_keys(part), some_facts(part))
            self.check(store, dict.fromkeys(numbers, _DOCUMENTS))

    def test_same_part_again(self, tmp_path: Path) -> None:
        with self.begin(tmp_path) as store:
            store.put(1, some_keys(1), some_facts(1))
            for documents in (5, 5 * _DOCUMENTS, 0, 7):
                store.put(0, some_keys(0, documents), some_facts(0))
                self.check(store, {0: documents, 1: _DOCUMENTS})
            # Fewer facts than before.
            store.put(0, some_keys(0), some_facts(0, 3_000_000))
            assert store.facts(0) == some_facts(0, 3_000_000)
            store.put(0, some_keys(0), some_facts(0))
            self.check(store, {0: _DOCUMENTS, 1: _DOCUMENTS})

    def test_part_without_documents(self, tmp_path: Path) -> None:
        with self.begin(tmp_path) as store:
            sizes = {0: 0, 1: 4, 2: 0}
            for part, documents in sizes.items():
                store.put(part, some_keys(part, documents), some_facts(part))
            self.check(store, sizes)

    def test_one_band_one_document(self, tmp_path: Path) -> None:
        with self.begin(tmp_path, bands=1) as store:
            store.put(0, np.array([[7]], dtype=np.uint64), b"")
            assert [keys.tolist() for keys in store.band(0)] == [[7]]
            assert store.facts(0) == b""

    def test_all_bit_patterns(self, tmp_path: Path) -> None:
        values = [0, 1, 2**31, 2**32, 2**63 - 1, 2**63, 2**63 + 1, 2**64 - 1]
        keys = np.array([values, values[::-1], [2**64 - 1] * len(values)], dtype=np.uint64)
        with self.begin(tmp_path) as store:
            store.put(0, keys, b"\x00\xff" * 3)
            for band in range(_BANDS):
                assert [found.tolist() for found in store.band(band)] == [keys[band].tolist()]
            assert store.facts(0) == b"\x00\xff" * 3

    def test_facts_of_any_length(self, tmp_path: Path) -> None:
        with self.begin(tmp_path) as store:
            sizes = [0, 1, 2**20 - 1, 2**20, 2**20 + 1, 5_000_000]
            for part, size in enumerate(sizes):
                store.put(part, some_keys(part, 3), some_facts(part, size))
            for part, size in enumerate(sizes):
                assert store.facts(part) == some_facts(part, size)

    def test_what_was_put_is_the_stores_own(self, tmp_path: Path) -> None:
        with self.begin(tmp_path) as store:
            keys = some_keys(0)
            store.put(0, keys, some_facts(0))
            keys[:] = 0
            self.check(store, {0: _DOCUMENTS})

    def test_keys_in_any_layout(self, tmp_path: Path) -> None:
        with self.begin(tmp_path) as store:
            keys = some_keys(0)
            store.put(0, np.asfortranarray(keys), some_facts(0))
            store.put(1, np.repeat(some_keys(1), 2, axis=1)[:, ::2], some_facts(1))
            self.check(store, {0: _DOCUMENTS, 1: _DOCUMENTS})

    def test_notes(self, tmp_path: Path) -> None:
        with self.begin(tmp_path) as store:
            assert store.notes() == {}
            for text in ("done", "", "später\n" * 100):
                store.note("shard/1", text)
                store.note("shard 2 ü", "x")
                assert store.notes() == {"shard 2 ü": "x", "shard/1": text}

    # What must be refused.

    def test_wrong_keys_are_refused(self, tmp_path: Path) -> None:
        with self.begin(tmp_path) as store:
            good = some_keys(0)
            for bad in (good.astype(np.int64), good[:2], good[0], good.astype(np.float64)):
                with _refused(ValueError):
                    store.put(0, bad, b"")
            with _refused(ValueError):
                store.put(-1, good, b"")
            for band in (-1, _BANDS):
                with _refused(ValueError):
                    list(store.band(band))
            assert store.parts() == {}

    def test_missing_part_is_refused(self, tmp_path: Path) -> None:
        with self.begin(tmp_path) as store:
            store.put(1, some_keys(1), b"")
            with _refused(StoreError):
                store.facts(0)

    def test_second_create_is_refused(self, tmp_path: Path) -> None:
        with self.begin(tmp_path) as store:
            store.put(0, some_keys(0), some_facts(0))
            with _refused(StoreError):
                store.create(Header("other", _BANDS))
            self.check(store, {0: _DOCUMENTS})

    def test_open_without_a_run_is_refused(self, tmp_path: Path) -> None:
        with self.make_store(tmp_path) as store:
            with _refused(StoreError):
                store.open()
            with _refused(ValueError):
                store.parts()
            store.create(Header("digest", _BANDS))
            assert store.parts() == {}

    def test_other_digest_is_refused(self, tmp_path: Path) -> None:
        with self.begin(tmp_path) as store:
            with _refused(StoreError):
                store.open("another")
            header = store.open("digest")
            assert header == Header("digest", _BANDS, {"greeting": "grüß dich"})
            assert store.open() == header

    def test_other_format_is_refused(self, tmp_path: Path) -> None:
        with self.make_store(tmp_path) as store:
            store.create(Header("digest", _BANDS, {}, STORE_FORMAT + 1))
            with _refused(StoreError):
                store.open("digest")

    def test_closed_is_closed(self, tmp_path: Path) -> None:
        store = self.begin(tmp_path)
        store.close()
        store.close()
        for use in (store.parts, store.open, store.drop, lambda: store.put(0, some_keys(0), b"")):
            with _refused(ValueError):
                use()

    # Several.

    def test_runs_side_by_side(self, tmp_path: Path) -> None:
        with self.begin(tmp_path, "one") as one, self.begin(tmp_path, "two") as two:
            one.put(0, some_keys(0, 5), some_facts(0))
            two.put(0, some_keys(0, 9), some_facts(0))
            two.put(1, some_keys(1, 9), some_facts(1))
            one.note("a", "one")
            self.check(one, {0: 5})
            self.check(two, {0: 9, 1: 9})
            assert two.notes() == {}
            one.drop()
            self.check(two, {0: 9, 1: 9})

    def test_drop(self, tmp_path: Path) -> None:
        with self.make_store(tmp_path) as store:
            store.drop()
        with self.begin(tmp_path) as store:
            store.put(0, some_keys(0), some_facts(0))
            store.put(9, some_keys(9), some_facts(9))
            store.note("name", "text")
            store.drop()
            with _refused(ValueError):
                store.parts()
            with _refused(StoreError):
                store.open()
            store.create(Header("digest", _BANDS))
            assert store.parts() == {}
            assert store.notes() == {}
            store.put(0, some_keys(0, 6), some_facts(0))
            self.check(store, {0: 6})

    def test_threads_read_while_one_writes(self, tmp_path: Path) -> None:
        errors: list[BaseException] = []
        done = threading.Event()

        def read(band: int) -> None:
            try:
                last = False
                while not last:
                    last = done.is_set()
                    for part, keys in enumerate(store.band(band)):
                        assert np.array_equal(keys, some_keys(part)[band])
                    for part in store.parts():
                        assert store.facts(part) == some_facts(part)
            except BaseException as error:
                errors.append(error)

        with self.begin(tmp_path) as store:
            threads = [threading.Thread(target=read, args=(i % _BANDS,)) for i in range(4)]
            for thread in threads:
                thread.start()
            try:
                for part in range(10):
                    store.put(part, some_keys(part), some_facts(part))
            finally:
                done.set()
                for thread in threads:
                    thread.join()
            if errors:
                raise errors[0]
            self.check(store, dict.fromkeys(range(10), _DOCUMENTS))

    def test_bands_read_in_step(self, tmp_path: Path) -> None:
        with self.begin(tmp_path) as store:
            for part in range(5):
                store.put(part, some_keys(part), some_facts(part))
            bands = [store.band(band) for band in range(_BANDS)]
            for part, rows in enumerate(zip(*bands, strict=True)):
                assert np.array_equal(np.array(rows), some_keys(part))
            next(store.band(0))  # one that is never read to its end

    # What outlives the process.

    def test_durable_is_said(self, tmp_path: Path) -> None:
        with self.make_store(tmp_path) as store:
            assert store.durable is self.durable

    def test_reopened(self, tmp_path: Path) -> None:
        if not self.durable:
            return
        with self.begin(tmp_path) as store:
            for part in range(3):
                store.put(part, some_keys(part), some_facts(part))
            store.note("a", "b")
        with self.make_store(tmp_path) as store:
            header = store.open("digest")
            assert header.about == {"greeting": "grüß dich"}
            self.check(store, dict.fromkeys(range(3), _DOCUMENTS))
            store.put(3, some_keys(3), some_facts(3))
            store.put(0, some_keys(0, 2), some_facts(0))
            assert store.notes() == {"a": "b"}
        with self.make_store(tmp_path) as store:
            store.open()
            self.check(store, {0: 2, 1: _DOCUMENTS, 2: _DOCUMENTS, 3: _DOCUMENTS})

    def test_put_by_another_process(self, tmp_path: Path) -> None:
        if not self.durable:
            return
        with self.begin(tmp_path) as store:
            store.put(0, some_keys(0), some_facts(0))
            child = _child(_put_parts, type(self), tmp_path, [1, 2], _DOCUMENTS)
            child.join(_CHILD_SECONDS)
            assert child.exitcode == 0
            self.check(store, dict.fromkeys(range(3), _DOCUMENTS))

    def test_killed_while_it_puts(self, tmp_path: Path) -> None:
        if not self.durable:
            return
        documents = self.kill_documents
        with self.begin(tmp_path) as store:
            for attempt in range(3):
                first = len(store.parts())
                child = _child(_put_parts, type(self), tmp_path, range(first, 1000), documents)
                try:
                    limit = time.monotonic() + _CHILD_SECONDS
                    while len(store.parts()) < first + 2 and time.monotonic() < limit:
                        assert child.is_alive()
                        time.sleep(0.002)
                    time.sleep(0.003 * attempt)
                finally:
                    assert child.pid is not None
                    os.kill(child.pid, signal.SIGKILL)
                    child.join()
                with self.make_store(tmp_path) as again:
                    again.open("digest")
                    parts = again.parts()
                    assert list(parts) == list(range(len(parts)))
                    assert len(parts) >= first + 2
                    self.check(again, dict.fromkeys(parts, documents))
                    again.put(len(parts), some_keys(len(parts), documents), some_facts(len(parts)))
                    self.check(again, dict.fromkeys(range(len(parts) + 1), documents))


def _child(target: object, *args: object) -> multiprocessing.process.BaseProcess:
    # Not forked: threads and connections would not be whole in the copy.
    process = multiprocessing.get_context("spawn").Process(
        target=target,  # type: ignore[arg-type]
        args=args,
        daemon=True,
    )
    process.start()
    return process


def _put_parts(
    contract: type[StoreContract], folder: Path, parts: range | list[int], documents: int
) -> None:
    with contract().make_store(folder) as store:
        store.open("digest")
        for part in parts:
            store.put(part, some_keys(part, documents), some_facts(part))


@contextmanager
def _refused(kind: type[Exception]) -> Iterator[None]:
    try:
        yield
    except kind as error:
        if isinstance(error, NeardupError):
            assert error.message and "\n" not in error.message
        return
    raise AssertionError(f"expected {kind.__name__}, nothing was raised")
