"""The contract of band stores, as tests to inherit: for ours, and for those of others."""

from __future__ import annotations

import multiprocessing
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from neardup.errors import NeardupError, RecipeError, StoreError
from neardup.state.band_store import STORE_FORMAT, BandStore, Header
from neardup.values.json_values import JSON

#: Bands of the stores here, and documents of a partition.
BANDS, DOCUMENTS = 3, 1000
_CHILD_SECONDS = 60.0
_RECIPE: dict[str, JSON] = {"bands": BANDS, "shingle": {"n": 3}}


def keys_of(partition: int, documents: int = DOCUMENTS, bands: int = BANDS) -> np.ndarray:
    """Return uint64[bands, documents]: always the same for a partition, different for another."""
    rng = np.random.default_rng([partition, documents, bands])
    return rng.integers(0, 2**64, size=(bands, documents), dtype=np.uint64)


def metadata_of(partition: int, size: int = 100) -> bytes:
    """Return bytes: always the same for a partition, different for another."""
    return np.random.default_rng([partition, size, 7]).bytes(size)


def put(store: BandStore, *partitions: int, documents: int = DOCUMENTS) -> None:
    """Put in partitions as `keys_of` and `metadata_of` make them."""
    for partition in partitions:
        store.put(partition, keys_of(partition, documents), metadata_of(partition))


def check(store: BandStore, documents: dict[int, int]) -> None:
    """Compare the content of an open store of three bands with what `put` puts in.

    Args:
        store: The store.
        documents: Number of documents by partition.
    """
    entries = store.partitions()
    assert list(entries) == sorted(documents)
    assert {number: entry.documents for number, entry in entries.items()} == documents
    for number, entry in entries.items():
        assert store.metadata(number) == metadata_of(number)
        assert entry.bytes == 100
    for band in range(BANDS):
        found = list(store.band(band))
        assert [number for number, _ in found] == sorted(documents)
        for number, keys in found:
            assert keys.dtype == np.uint64
            assert np.array_equal(keys, keys_of(number, documents[number])[band])


class StoreContract(ABC):
    """Tests that a store passes; a class that inherits them defines how one is made.

    pytest finds them if the name of the class begins with ``Test``:

        class TestMyStore(StoreContract):
            kind = MyStore

            def make_store(self, folder, run="one"):
                return MyStore(f"mine:{folder / run}")

    The class must be importable, as some tests make its stores in other processes.

    Attributes:
        kind: Class of the stores.
        kill_documents: Documents of the partitions that a process is killed over; so many that
            putting one takes some milliseconds at least.
    """

    kind: type[BandStore]
    kill_documents = 20_000

    @abstractmethod
    def make_store(self, folder: Path, run: str = "one") -> BandStore:
        """Return a new object; one of the same folder and run finds the content of earlier ones."""

    @pytest.fixture
    def closed_store(self, tmp_path: Path) -> Iterator[BandStore]:
        """A store without a run."""
        with self.make_store(tmp_path) as store:
            yield store

    @pytest.fixture
    def store(self, closed_store: BandStore) -> BandStore:
        """A store with an empty run of three bands."""
        return begin(closed_store)

    @pytest.fixture
    def _durable(self) -> None:
        if not self.kind.durable:
            pytest.skip("this store is in memory: nothing of it outlives the process")

    # What goes in comes out.

    def test_round_trip(self, store: BandStore) -> None:
        assert store.partitions() == {}
        assert list(store.band(0)) == []
        for partition in range(12):
            put(store, partition, documents=10 + partition)
        check(store, {partition: 10 + partition for partition in range(12)})
        assert store.size() > 0

    def test_partitions_in_any_order(self, store: BandStore) -> None:
        numbers = [9, 0, 31, 4, 1_000_000, 8]
        put(store, *numbers)
        check(store, dict.fromkeys(numbers, DOCUMENTS))

    def test_same_partition_again(self, store: BandStore) -> None:
        put(store, 1)
        for documents in (5, 5 * DOCUMENTS, 0, 7):
            put(store, 0, documents=documents)
            check(store, {0: documents, 1: DOCUMENTS})
        store.put(0, keys_of(0), metadata_of(0, 3_000_000))
        assert store.metadata(0) == metadata_of(0, 3_000_000)
        put(store, 0)  # with less metadata than before
        check(store, {0: DOCUMENTS, 1: DOCUMENTS})

    def test_several_at_once(self, store: BandStore) -> None:
        """Several partitions are there after the block, and those of before it stay."""
        put(store, 5)
        with store.together():
            put(store, 1, 0)
            put(store, 7, documents=10)
        put(store, 2)
        check(store, {0: DOCUMENTS, 1: DOCUMENTS, 2: DOCUMENTS, 5: DOCUMENTS, 7: 10})

    def test_partition_without_documents(self, store: BandStore) -> None:
        sizes = {0: 0, 1: 4, 2: 0}
        for partition, documents in sizes.items():
            put(store, partition, documents=documents)
        check(store, sizes)

    def test_one_band_one_document(self, closed_store: BandStore) -> None:
        store = begin(closed_store, bands=1)
        store.put(0, np.array([[7]], dtype=np.uint64), b"")
        assert [(number, keys.tolist()) for number, keys in store.band(0)] == [(0, [7])]
        assert store.metadata(0) == b""

    def test_all_bit_patterns(self, store: BandStore) -> None:
        values = [0, 1, 2**31, 2**32, 2**63 - 1, 2**63, 2**63 + 1, 2**64 - 1]
        keys = np.array([values, values[::-1], [2**64 - 1] * len(values)], dtype=np.uint64)
        store.put(0, keys, b"\x00\xff" * 3)
        for band in range(BANDS):
            assert [found.tolist() for _, found in store.band(band)] == [keys[band].tolist()]
        assert store.metadata(0) == b"\x00\xff" * 3

    def test_metadata_of_any_length(self, store: BandStore) -> None:
        sizes = [0, 1, 2**20 - 1, 2**20, 2**20 + 1, 5_000_000]
        for partition, size in enumerate(sizes):
            store.put(partition, keys_of(partition, 3), metadata_of(partition, size))
        for partition, size in enumerate(sizes):
            assert store.metadata(partition) == metadata_of(partition, size)

    def test_put_copies_its_arrays(self, store: BandStore) -> None:
        keys = keys_of(0)
        store.put(0, keys, metadata_of(0))
        keys[:] = 0
        check(store, {0: DOCUMENTS})

    def test_keys_in_any_order_of_memory(self, store: BandStore) -> None:
        store.put(0, np.asfortranarray(keys_of(0)), metadata_of(0))
        store.put(1, np.repeat(keys_of(1), 2, axis=1)[:, ::2], metadata_of(1))
        check(store, {0: DOCUMENTS, 1: DOCUMENTS})

    def test_notes(self, store: BandStore) -> None:
        assert store.notes() == {}
        for text in ("done", "", "später\n" * 100):
            store.note("shard/1", text)
            store.note("shard 2 ü", "x")
            assert store.notes() == {"shard 2 ü": "x", "shard/1": text}

    def test_bands_read_in_step(self, store: BandStore) -> None:
        put(store, *range(5))
        bands = [store.band(band) for band in range(BANDS)]
        for partition, rows in enumerate(zip(*bands, strict=True)):
            assert [number for number, _ in rows] == [partition] * BANDS
            assert np.array_equal([keys for _, keys in rows], keys_of(partition))
        next(store.band(0))  # one that is never read to its end

    # What must be refused.

    def test_wrong_keys_are_refused(self, store: BandStore) -> None:
        good = keys_of(0)
        for bad in (good.astype(np.int64), good[:2], good[0], good.astype(np.float64)):
            with refused(ValueError):
                store.put(0, bad, b"")
        with refused(ValueError):
            store.put(-1, good, b"")
        for band in (-1, BANDS):
            with refused(ValueError):
                list(store.band(band))
        assert store.partitions() == {}

    def test_missing_partition_is_refused(self, store: BandStore) -> None:
        put(store, 1)
        with refused(StoreError):
            store.metadata(0)

    def test_second_create_is_refused(self, store: BandStore) -> None:
        put(store, 0)
        with refused(StoreError):
            store.create(Header("other", BANDS))
        check(store, {0: DOCUMENTS})

    def test_open_without_a_run_is_refused(self, closed_store: BandStore) -> None:
        with refused(StoreError):
            closed_store.open()
        with refused(ValueError):
            closed_store.partitions()
        assert begin(closed_store).partitions() == {}

    def test_other_recipe_is_refused(self, store: BandStore) -> None:
        with refused(RecipeError, "shingle.n was 3 and is 5"):
            store.open("another", {"bands": BANDS, "shingle": {"n": 5}})
        with refused(RecipeError, "another recipe"):
            store.open("another")
        assert store.open("digest", {"anything": 1}) == store.open()
        header = store.open("digest")
        assert header == Header("digest", BANDS, _RECIPE, {"greeting": "grüß dich"})

    def test_other_format_is_refused(self, closed_store: BandStore) -> None:
        closed_store.create(Header("digest", BANDS, format=STORE_FORMAT + 1))
        with refused(StoreError, "another version"):
            closed_store.open("digest")

    def test_closed_is_closed(self, store: BandStore) -> None:
        store.close()
        store.close()
        for use in (store.partitions, store.open, store.drop, lambda: put(store, 0)):
            with refused(ValueError):
                use()

    # Several.

    def test_runs_side_by_side(self, store: BandStore, tmp_path: Path) -> None:
        with self.make_store(tmp_path, "two") as two:
            begin(two)
            put(store, 0, documents=5)
            put(two, 0, 1, documents=9)
            store.note("a", "one")
            check(store, {0: 5})
            check(two, {0: 9, 1: 9})
            assert two.notes() == {}
            store.drop()
            check(two, {0: 9, 1: 9})

    def test_drop(self, closed_store: BandStore) -> None:
        closed_store.drop()
        store = begin(closed_store)
        put(store, 0, 9)
        store.note("name", "text")
        store.drop()
        with refused(ValueError):
            store.partitions()
        with refused(StoreError):
            store.open()
        begin(store)
        assert store.partitions() == {}
        assert store.notes() == {}
        put(store, 0, documents=6)
        check(store, {0: 6})

    def test_threads_read_while_one_writes(self, store: BandStore) -> None:
        done = threading.Event()

        def read(band: int) -> None:
            last = False
            while not last:
                last = done.is_set()
                for number, keys in store.band(band):
                    assert np.array_equal(keys, keys_of(number)[band])
                for number in store.partitions():
                    assert store.metadata(number) == metadata_of(number)

        with ThreadPoolExecutor(4) as pool:
            readers = [pool.submit(read, number % BANDS) for number in range(4)]
            try:
                put(store, *range(10))
            finally:
                done.set()
            for reader in readers:
                reader.result()
        check(store, dict.fromkeys(range(10), DOCUMENTS))

    # What outlives the process.

    def test_reopened(self, _durable: None, store: BandStore, tmp_path: Path) -> None:
        put(store, *range(3))
        store.note("a", "b")
        store.close()
        with self.make_store(tmp_path) as again:
            assert again.open("digest").about == {"greeting": "grüß dich"}
            check(again, dict.fromkeys(range(3), DOCUMENTS))
            put(again, 3)
            put(again, 0, documents=2)
            assert again.notes() == {"a": "b"}
        with self.make_store(tmp_path) as again:
            again.open()
            check(again, {0: 2, 1: DOCUMENTS, 2: DOCUMENTS, 3: DOCUMENTS})

    def test_put_by_other_processes(self, _durable: None, store: BandStore, tmp_path: Path) -> None:
        put(store, 0)
        if not self.kind.concurrent_writers:
            store.close()
        children = []
        for numbers in ([1, 3], [2, 4]):
            children.append(self._child(tmp_path, numbers, DOCUMENTS))
            if not self.kind.concurrent_writers:
                children[-1].join(_CHILD_SECONDS)  # one after the other
        for child in children:
            child.join(_CHILD_SECONDS)
            assert child.exitcode == 0
        store.close()
        with self.make_store(tmp_path) as again:
            again.open()
            check(again, dict.fromkeys(range(5), DOCUMENTS))

    def test_killed_while_it_puts(self, _durable: None, store: BandStore, tmp_path: Path) -> None:
        store.close()
        progress = tmp_path / "progress"
        documents = self.kill_documents
        first = 0
        for attempt in range(3):
            progress.write_bytes(b"")
            child = self._child(tmp_path, range(first, 1000), documents)
            try:
                limit = time.monotonic() + _CHILD_SECONDS
                while progress.stat().st_size < 2 and time.monotonic() < limit:
                    assert child.is_alive()
                    time.sleep(0.002)
                time.sleep(0.003 * attempt)
            finally:
                child.kill()
                child.join()
            flushed = progress.stat().st_size
            assert flushed >= 2
            with self.make_store(tmp_path) as again:
                again.open("digest")
                count = len(again.partitions())
                assert count >= first + flushed
                check(again, dict.fromkeys(range(count), documents))
                put(again, count, documents=documents)
                check(again, dict.fromkeys(range(count + 1), documents))
            first = count + 1

    def _child(
        self, folder: Path, partitions: Iterable[int], documents: int
    ) -> multiprocessing.process.BaseProcess:
        # Not forked: the copy would lack threads, and share connections.
        process = multiprocessing.get_context("spawn").Process(
            target=_put_in_child, args=(type(self), folder, partitions, documents), daemon=True
        )
        process.start()
        return process


def _put_in_child(
    contract: type[StoreContract], folder: Path, partitions: Iterable[int], documents: int
) -> None:
    with contract().make_store(folder) as store, (folder / "progress").open("ab", 0) as progress:
        store.open("digest")
        for partition in partitions:
            put(store, partition, documents=documents)
            progress.write(b".")


def begin(store: BandStore, bands: int = BANDS) -> BandStore:
    """Begin a run in a store."""
    store.create(Header("digest", bands, _RECIPE, {"greeting": "grüß dich"}))
    return store


@contextmanager
def refused(kind: type[Exception], words: str = "") -> Iterator[None]:
    """Expect an error of ours whose message is one line with those words, or another error."""
    with pytest.raises(kind) as caught:
        yield
    if isinstance(caught.value, NeardupError):
        assert caught.value.message and "\n" not in caught.value.message
        assert words in caught.value.message
