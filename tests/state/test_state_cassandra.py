"""Apache Cassandra: the contract, and what only this store can get wrong, on a real server."""

from __future__ import annotations

import logging
import os
import pickle
import re
import socket
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from design_rows import DESIGNS, rows_in
from one_cassandra import PASSWORD, USER, Server, login

from common import Tune
from experiments import row_stores
from experiments.designs import check_design
from experiments.row_stores import CassandraRows
from experiments.stores import Store
from neardup.errors import DependencyError, SpecError, StoreError
from neardup.state import Header, check_store, open_store
from neardup.state.cassandra import cql
from neardup.state.cassandra.cassandra_store import CassandraStore
from neardup.state.cassandra.driver import Contact
from neardup.testing.store_contract import StoreContract, check, keys_of, metadata_of, put

real = pytest.mark.usefixtures("let_in")


def make(folder: Path, run: str = "one", **more: float) -> CassandraStore:
    # Keyspaces outlive tests: the folder, which does not, is part of the name.
    url = os.environ["NEARDUP_TEST_CASSANDRA"]
    return CassandraStore(url, f"{folder}/{run}", **more)


@real
class TestCassandraBlobs(StoreContract):
    kind = CassandraStore

    def make_store(self, folder: Path, run: str = "one") -> CassandraStore:
        return make(folder, run)


def begun(folder: Path, bands: int = 3, **more: float) -> CassandraStore:
    store = make(folder, **more)
    store.create(Header("digest", bands))
    return store


def execute(store: CassandraStore, text: str, *values: object) -> list[tuple[object, ...]]:
    return store._session.ask(text, [store._matrix, *values])


@real
def test_long_partitions_are_cut(tmp_path: Path, tune: Tune) -> None:
    tune(cassandra_row=400, cassandra_page=1000, cassandra_page_rows=70)
    sizes = {0: 900, 1: 49, 2: 50, 3: 51, 7: 400, 8: 401, 9: 0, 10: 850, 30: 3}
    with begun(tmp_path) as store:
        for partition, documents in sizes.items():
            put(store, partition, documents=documents)
        check(store, sizes)
        # Shorter than before: what is left over is not read, and goes when the run goes.
        sizes[0] = 60
        put(store, 0, documents=60)
        check(store, sizes)
        matrix = store._matrix
        store.drop()
        partition = "matrix, band, number"
        for name in ("blobs", "entries", "notes"):
            columns = partition if name == "blobs" else "matrix"
            rows = store._session.ask(f"SELECT DISTINCT {columns} FROM <{name}>")
            assert matrix not in {row[0] for row in rows}


@real
def test_a_million_documents(tmp_path: Path) -> None:
    with begun(tmp_path, bands=2) as store:
        store.put(3, keys_of(3, 1_300_000, 2), b"")
        store.put(4, keys_of(4, 10, 2), b"")
        for band in range(2):
            (_, first), (_, second) = store.band(band)
            assert np.array_equal(first, keys_of(3, 1_300_000, 2)[band])
            assert np.array_equal(second, keys_of(4, 10, 2)[band])


@real
def test_damage_is_refused(tmp_path: Path) -> None:
    with begun(tmp_path) as store:
        put(store, 0, documents=10)
        where = "WHERE matrix = ? AND band = 1 AND number = 0"
        execute(store, f"DELETE FROM <blobs> {where} AND slice = 0")
        with pytest.raises(StoreError, match="band 1, partition 0"):
            list(store.band(1))
        assert len(list(store.band(0))) == 1
        execute(store, "DELETE FROM <blobs> WHERE matrix = ? AND band = -1 AND number = 0")
        with pytest.raises(StoreError, match="metadata of partition 0"):
            store.metadata(0)
        execute(store, "UPDATE <entries> SET sums = 0x00 WHERE matrix = ? AND number = 0")
        with pytest.raises(StoreError, match="entry of partition 0"):
            store.partitions()


@real
def test_one_of_many_creates(tmp_path: Path) -> None:
    results: list[str] = []

    def create() -> None:
        with make(tmp_path) as store:
            try:
                store.create(Header("digest", 3))
                results.append("made")
            except StoreError as error:
                assert "has a run already" in error.message
                results.append("refused")

    in_threads([create] * 6)
    assert sorted(results) == ["made"] + ["refused"] * 5


@real
def test_many_writers(tmp_path: Path) -> None:
    begun(tmp_path).close()

    def writer(first: int) -> Callable[[], None]:
        def write() -> None:
            with make(tmp_path) as store:
                store.open()
                put(store, *range(first, 24, 4))

        return write

    in_threads([writer(first) for first in range(4)])
    with make(tmp_path) as store:
        store.open()
        check(store, dict.fromkeys(range(24), 1000))


def in_threads(works: list[Callable[[], None]]) -> None:
    threads = [threading.Thread(target=work) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


@real
def test_new_keyspace(let_in: Server) -> None:
    with CassandraStore(f"{let_in.url}_made") as store:
        store.drop()
        with pytest.raises(StoreError, match="has no run"):
            store.open()  # looking makes nothing
        assert not store._session.ask(cql.KEYSPACES, ["neardup_tests_made"])
        store.create(Header("digest", 3))
        put(store, 0)
        check(store, {0: 1000})
        store._session.change("DROP KEYSPACE <>")
        with pytest.raises(StoreError):
            list(store.band(0))


def test_server_restarted_in_the_middle(let_in: Server, tmp_path: Path) -> None:
    """A patient store continues by itself; another reports what to do, and can be resumed."""
    with make(tmp_path, "hasty", patience=1.0) as hasty, begun(tmp_path, patience=60.0) as store:
        hasty.create(Header("digest", 3))
        put(hasty, 0)
        errors: list[BaseException] = []
        done: list[int] = []
        enough = threading.Event()

        def write() -> None:
            try:
                while not enough.is_set():
                    put(store, len(done))
                    done.append(len(done))
            except BaseException as error:
                errors.append(error)

        writer = threading.Thread(target=write)
        writer.start()
        wait(lambda: len(done) > 3)
        let_in.stop()
        before = len(done)
        with pytest.raises(StoreError, match="can't be reached") as caught:
            put(hasty, 1)
        assert "check that the server runs" in caught.value.hint
        let_in.start()
        wait(lambda: len(done) > before + 3 or bool(errors))
        enough.set()
        writer.join()
        if errors:
            raise errors[0]
        check(store, dict.fromkeys(done, 1000))
        put(hasty, 1)
        check(hasty, {0: 1000, 1: 1000})


def wait(until: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 120
    while not until():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def refusal(url: str) -> tuple[str, str]:
    """All that is reported of a server, and the message alone."""
    with CassandraStore(url, patience=0.2) as store, pytest.raises(StoreError) as caught:
        store.drop()
        store.create(Header("digest", 3))
    error = caught.value
    assert store.url in error.message
    assert "\n" not in error.message
    assert error.hint
    return "".join(traceback.format_exception(error)) + error.hint, error.message


def with_login(url: str, user: str, password: str) -> str:
    return url.replace("://", f"://{user}:{password}@")


def test_password_and_tls(
    cassandra: Server, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    url = cassandra.url
    assert "can't be reached" in refusal(url)[1]  # it takes TLS alone
    with monkeypatch.context() as here:
        here.setenv("NEARDUP_CASSANDRA_TLS", "1")
        assert "no TLS: certificate verify failed" in refusal(url)[1]
    let(cassandra.authority, monkeypatch)
    assert "refuses user or password" in refusal(url)[1]
    for user, password in ((USER, "goldcrest"), ("goldcrest", PASSWORD)):
        everything, message = refusal(with_login(url, user, password))
        assert "refuses user or password" in message
        assert not {USER, PASSWORD, "goldcrest"} & set(re.findall(r"\w+", everything))
    everything, message = refusal(with_login(f"{url}_other", "nobody", "nothing"))
    assert "this user has no CREATE permission" in message
    assert "nobody" not in everything
    with CassandraStore(with_login(url, USER, PASSWORD)) as store:
        store.drop()
    # The environment takes precedence over the URL.
    let(login(USER, PASSWORD), monkeypatch)
    with CassandraStore(with_login(url, "goldcrest", "goldcrest"), run="nothing printed") as store:
        store.drop()
        store.create(Header("digest", 3))
        put(store, 0)
        header = str(store._session.ask(cql.FIND_RUN, [store.run]))
        assert PASSWORD not in header and "goldcrest" not in header
        store.drop()
    assert capfd.readouterr() == ("", "")
    assert logging.getLogger("cassandra").handlers


def let(settings: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in settings.items():
        monkeypatch.setenv(name, value)


# Without a server.


def test_tls_that_the_server_has_not(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("cassandra.cluster")
    monkeypatch.setenv("NEARDUP_CASSANDRA_TLS", "1")
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def answer() -> None:
            while True:
                try:
                    client, _ = listening.accept()
                except OSError:
                    return
                with client:
                    client.recv(1000)
                    client.sendall(b"\x84\x00\x00\x00\x06\x00\x00\x00\x00")

        thread = threading.Thread(target=answer, daemon=True)
        thread.start()
        message = refusal(f"cassandra://127.0.0.1:{listening.getsockname()[1]}/k")[1]
        listening.shutdown(socket.SHUT_RDWR)
    thread.join()
    assert "no TLS: no encrypted connection" in message


@pytest.mark.parametrize(
    ("host", "reason"),
    [("127.0.0.1:1", "connection refused"), ("nowhere.invalid:9042", "no such host")],
)
def test_nobody_there(host: str, reason: str) -> None:
    pytest.importorskip("cassandra.cluster")
    everything, message = refusal(f"cassandra://{USER}:{PASSWORD}@{host}/k")
    assert message == f"cassandra://{host}/k: can't be reached: {reason}"
    assert PASSWORD not in everything


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("cassandra://h/k", "cassandra://h:9042/k"),
        ("cassandra://h:1/k", "cassandra://h:1/k"),
        ("cassandra://a,b:7,c-d.e/k_1", "cassandra://a:9042,b:7,c-d.e:9042/k_1"),
        ("cassandra://[::1]:5/k", "cassandra://[::1]:5/k"),
        (f"cassandra://anna:{PASSWORD}@h/k", "cassandra://h:9042/k"),
        (f"cassandra://an%40na:{PASSWORD}%2F@h/k", "cassandra://h:9042/k"),
    ],
)
def test_urls(url: str, shown: str) -> None:
    contact = Contact.parse(url)
    assert contact.url == shown == open_store(url).url
    assert PASSWORD not in repr(contact)
    if "@" in url:
        assert contact.password.startswith(PASSWORD)


@pytest.mark.parametrize(
    "url",
    [
        "cassandra://", "cassandra://h", "cassandra:///k", "cassandra://h/", "cassandra://h/1k",
        "cassandra://h:0/k", "cassandra://h:70000/k", "cassandra://h:x/k", "cassandra://h/k;drop",
        f"cassandra://anna:{PASSWORD}@/k", f"cassandra://anna:{PASSWORD}@h i/k",
        f"cassandra://anna:{PASSWORD}@h/k?x", f"cassandra://anna:{PASSWORD}@h", "cassandra:h/k",
    ],
)  # fmt: skip
def test_wrong_urls(url: str) -> None:
    with pytest.raises(SpecError) as caught:
        check_store(url)
    assert PASSWORD not in str(caught.value) + caught.value.hint
    assert pickle.loads(pickle.dumps(caught.value)).message == caught.value.message


def test_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"PATIENCE": "soon"}.items():
        with monkeypatch.context() as here:
            here.setenv(f"NEARDUP_CASSANDRA_{name}", value)
            with pytest.raises(SpecError, match=name):
                check_store("cassandra://h/k")
    pytest.importorskip("cassandra.cluster")
    monkeypatch.setenv("NEARDUP_CASSANDRA_CA", "/nowhere/ca.pem")
    with (
        open_store("cassandra://127.0.0.1:1/k") as store,
        pytest.raises(StoreError, match="authority"),
    ):
        store.open()


def test_without_the_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "cassandra"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "cassandra", None)
    with open_store("cassandra://h/k") as store, pytest.raises(DependencyError) as caught:
        store.open()
    assert caught.value.hint == "pip install 'neardup[cassandra]'"


def test_a_url_is_checked_without_the_driver() -> None:
    script = (
        "import sys; from neardup.state import check_store\n"
        "check_store('cassandra://anna:secret@h/k')\n"
        "assert not [m for m in sys.modules if m.partition('.')[0] == 'cassandra']\n"
        "check_store('sqlite:x'); check_store('sqlite'); check_store('memory')\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def test_metadata_can_be_larger_than_a_message(let_in: Server, tmp_path: Path) -> None:
    with begun(tmp_path) as store:
        store.put(0, keys_of(0), metadata_of(0, 40_000_000))
        assert store.metadata(0) == metadata_of(0, 40_000_000)


def of_design(design: str) -> str:
    url = os.environ["NEARDUP_TEST_CASSANDRA"]
    return row_stores.of_rows(url) if design == "Design 1" else url


@real
@pytest.mark.parametrize("design", DESIGNS)
def test_rows_of_the_designs_of_the_paper(design: str) -> None:
    assert rows_in(of_design(design)) == DESIGNS[design]


@real
def test_a_row_for_each_key_of_many() -> None:
    """Several batches of a band, the last of which is not full; a band of one slice in Design 2."""
    assert rows_in(of_design("Design 1"), each=150, bands=10, partitions=3) == 150 * 10 * 3
    assert rows_in(of_design("Design 2"), each=150, bands=10, partitions=3) == 10 * 3


@real
def test_rows_that_become_blobs_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """What once went unseen: the store of rows writes as that of blobs does."""
    store = Store("Design 1, Cassandra", of_design("Design 1"))
    check_design(store, str(store.url))
    monkeypatch.setattr(CassandraRows, "_slice_bytes", CassandraStore._slice_bytes)
    monkeypatch.setattr(CassandraRows, "_insertions", CassandraStore._insertions)
    with pytest.raises(StoreError, match="24 keys are in 8 rows, not in 24"):
        check_design(store, str(store.url))
