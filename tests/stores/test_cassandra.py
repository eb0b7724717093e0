"""Apache Cassandra: what only this store can get wrong, against a real server."""

from __future__ import annotations

import logging
import os
import pickle
import re
import sys
import threading
import traceback
from pathlib import Path

import numpy as np
import pytest
from cassandra_server import PASSWORD, USER, Secure

from neardup.errors import DependencyError, SpecError, StoreError
from neardup.stores import Header, open_store
from neardup.stores import cassandra as room
from neardup.stores import cassandra_tables as cql
from neardup.stores.cassandra_place import parse
from neardup.testing import StoreContract
from neardup.testing.stores import some_facts, some_keys

real = pytest.mark.usefixtures("cassandra")


def make(folder: Path, run: str = "one", design: int = 2, **more: float) -> room.CassandraStore:
    # Keyspaces outlive tests: the folder, which does not, is part of the name.
    name = f"{folder}/{run}/{design}"
    return room.CassandraStore(os.environ["NEARDUP_TEST_CASSANDRA"], design, name, **more)


@real
class TestDesign2(StoreContract):
    def make_store(self, folder: Path, run: str = "one") -> room.CassandraStore:
        return make(folder, run)


@real
class TestDesign1(StoreContract):
    kill_documents = 1000

    def make_store(self, folder: Path, run: str = "one") -> room.CassandraStore:
        return make(folder, run, design=1)


def begun(folder: Path, design: int = 2, bands: int = 3, **more: float) -> room.CassandraStore:
    store = make(folder, design=design, **more)
    store.create(Header("digest", bands))
    return store


def execute(store: room.CassandraStore, text: str, *values: object) -> list[tuple[object, ...]]:
    return store._session.ask(text, [store._matrix, *values])


@real
@pytest.mark.parametrize("design", [1, 2])
def test_long_parts_are_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, design: int) -> None:
    monkeypatch.setattr(cql, "SLICE", 50)
    monkeypatch.setattr(room, "_PAGE_BYTES", 1000)
    monkeypatch.setattr(room, "_PAGE_ROWS", 70)
    sizes = {0: 900, 1: 49, 2: 50, 3: 51, 7: 400, 8: 401, 9: 0, 10: 850, 30: 3}
    with begun(tmp_path, design) as store:
        for part, documents in sizes.items():
            store.put(part, some_keys(part, documents), some_facts(part))
        contract = TestDesign2()
        contract.check(store, sizes)
        table = "cells" if design == 1 else "keys"
        limit = 50 if design == 1 else 8
        count = f"SELECT count(*) FROM <{table}> WHERE matrix = ? AND band = 0 AND span = 0"
        assert execute(store, f"{count} AND stretch = 0")[0][0] <= limit * cql.SPAN
        assert execute(store, f"{count} AND stretch = 2")[0][0] > 0
        # Shorter than before: slices left over are not read, and go when the run goes.
        sizes[0] = 60
        store.put(0, some_keys(0, 60), some_facts(0))
        contract.check(store, sizes)
        matrix = store._matrix
        store.drop()
        band = "matrix, band, span, stretch"
        partitions = {"keys": band, "cells": band, "facts": "matrix, part"}
        for name in ("keys", "cells", "facts", "entries", "notes"):
            columns = partitions.get(name, "matrix")
            rows = store._session.ask(f"SELECT DISTINCT {columns} FROM <{name}>")
            assert matrix not in {row[0] for row in rows}


@real
def test_a_million_documents(tmp_path: Path) -> None:
    with begun(tmp_path, bands=2) as store:
        store.put(3, some_keys(3, 1_300_000, 2), b"")
        store.put(4, some_keys(4, 10, 2), b"")
        for band in range(2):
            found = list(store.band(band))
            assert np.array_equal(found[0], some_keys(3, 1_300_000, 2)[band])
            assert np.array_equal(found[1], some_keys(4, 10, 2)[band])


@real
@pytest.mark.parametrize("design", [1, 2])
def test_damage_is_refused(tmp_path: Path, design: int) -> None:
    with begun(tmp_path, design) as store:
        store.put(0, some_keys(0, 10), some_facts(0))
        where = "WHERE matrix = ? AND band = 1 AND span = 0 AND stretch = 0 AND part = 0"
        if design == 2:
            execute(store, f"DELETE FROM <keys> {where} AND slice = 0")
        else:
            execute(store, f"DELETE FROM <cells> {where} AND document = 4")
        with pytest.raises(StoreError, match="band 1, part 0"):
            list(store.band(1))
        assert len(list(store.band(0))) == 1
        execute(store, "DELETE FROM <facts> WHERE matrix = ? AND part = 0")
        with pytest.raises(StoreError, match="damaged"):
            store.facts(0)
        execute(store, "UPDATE <entries> SET sums = 0x00 WHERE matrix = ? AND part = 0")
        with pytest.raises(StoreError, match="entry of part 0"):
            store.parts()


@real
def test_other_design_is_refused(tmp_path: Path) -> None:
    begun(tmp_path, 2).close()
    with room.CassandraStore(os.environ["NEARDUP_TEST_CASSANDRA"], 1, f"{tmp_path}/one/2") as store:
        with pytest.raises(StoreError, match="design 2, expected 1"):
            store.open()
        store.drop()


@real
def test_one_of_many_creates(tmp_path: Path) -> None:
    results: list[str] = []

    def create() -> None:
        with make(tmp_path) as store:
            try:
                store.create(Header("digest", 3))
                results.append("made")
            except StoreError as error:
                assert "holds a run already" in error.message
                results.append("refused")

    threads = [threading.Thread(target=create) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(results) == ["made"] + ["refused"] * 5


@real
def test_many_writers(tmp_path: Path) -> None:
    begun(tmp_path).close()

    def write(first: int) -> None:
        with make(tmp_path) as store:
            store.open()
            for part in range(first, 24, 4):
                store.put(part, some_keys(part), some_facts(part))

    threads = [threading.Thread(target=write, args=(first,)) for first in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with make(tmp_path) as store:
        store.open()
        TestDesign2().check(store, dict.fromkeys(range(24), 1000))


def test_new_keyspace(secure: Secure, monkeypatch: pytest.MonkeyPatch) -> None:
    let_in(secure.settings, monkeypatch)
    with room.CassandraStore(f"{secure.url}_made") as store:
        store.drop()
        with pytest.raises(StoreError, match="holds no run"):
            store.open()  # looking makes nothing
        assert not store._session.ask(cql.KEYSPACES, ["neardup_made"])
        store.create(Header("digest", 3))
        store.put(0, some_keys(0), some_facts(0))
        TestDesign2().check(store, {0: 1000})
        store._session.change("DROP KEYSPACE <>")
        with pytest.raises(StoreError):
            list(store.band(0))


def let_in(settings: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in settings.items():
        monkeypatch.setenv(name, value)


def refusal(url: str) -> tuple[str, str]:
    """All that is said of a server, and the message alone."""
    with room.CassandraStore(url, patience=0.2) as store, pytest.raises(StoreError) as caught:
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
    secure: Secure, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    assert "can't be reached" in refusal(secure.url)[1]  # it takes TLS alone
    with monkeypatch.context() as here:
        here.setenv("NEARDUP_CASSANDRA_TLS", "1")
        assert "no TLS: certificate verify failed" in refusal(secure.url)[1]
    let_in(secure.authority, monkeypatch)
    assert "refuses user or password" in refusal(secure.url)[1]
    for user, password in ((USER, "goldcrest"), ("goldcrest", PASSWORD)):
        said, message = refusal(with_login(secure.url, user, password))
        assert "refuses user or password" in message
        assert not {USER, PASSWORD, "goldcrest"} & set(re.findall(r"\w+", said))
    said, message = refusal(with_login(f"{secure.url}_other", "nobody", "nothing"))
    assert "this user has no CREATE permission" in message
    assert "nobody" not in said
    with room.CassandraStore(with_login(secure.url, USER, PASSWORD)) as store:
        store.drop()
    # The environment goes before the URL.
    let_in(secure.settings, monkeypatch)
    with room.CassandraStore(with_login(secure.url, "goldcrest", "goldcrest")) as store:
        store.drop()
    assert capfd.readouterr() == ("", "")


@real
def test_tls_that_the_server_has_not(cassandra: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NEARDUP_CASSANDRA_TLS", "1")
    assert "no TLS: no encrypted connection" in refusal(cassandra)[1]


@real
def test_nothing_is_said(tmp_path: Path, capfd: pytest.CaptureFixture[str], cassandra: str) -> None:
    with room.CassandraStore(with_login(cassandra, USER, PASSWORD), run=str(tmp_path)) as store:
        store.create(Header("digest", 3))
        store.put(0, some_keys(0), b"")
    assert capfd.readouterr() == ("", "")
    assert logging.getLogger("cassandra").handlers


# Without a server.


def needs_driver() -> None:
    pytest.importorskip("cassandra", reason="cassandra-driver is not installed")


@pytest.mark.parametrize(
    ("host", "reason"),
    [("127.0.0.1:1", "connection refused"), ("nowhere.invalid:9042", "no such host")],
)
def test_nobody_there(host: str, reason: str) -> None:
    needs_driver()
    said, message = refusal(f"cassandra://{USER}:{PASSWORD}@{host}/k")
    assert message == f"cassandra://{host}/k: can't be reached: {reason}"
    assert PASSWORD not in said


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
    place = parse(url)
    assert place.url == shown
    assert PASSWORD not in repr(place)
    if "@" in url:
        assert place.password.startswith(PASSWORD)


@pytest.mark.parametrize(
    "url",
    [
        "cassandra://", "cassandra://h", "cassandra:///k", "cassandra://h/", "cassandra://h/1k",
        "cassandra://h:0/k", "cassandra://h:70000/k", "cassandra://h:x/k", "cassandra://h/k;drop",
        f"cassandra://anna:{PASSWORD}@/k", f"cassandra://anna:{PASSWORD}@h i/k",
        f"cassandra://anna:{PASSWORD}@h/k?x", f"cassandra://anna:{PASSWORD}@h",
    ],
)  # fmt: skip
def test_wrong_urls(url: str) -> None:
    with pytest.raises(SpecError) as caught:
        open_store(url)
    assert PASSWORD not in str(caught.value) + caught.value.hint
    assert pickle.loads(pickle.dumps(caught.value)).message == caught.value.message


def test_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    needs_driver()
    for name, value in {
        "PATIENCE": "soon", "CONSISTENCY": "MOST",
    }.items():  # fmt: skip
        with monkeypatch.context() as here:
            here.setenv(f"NEARDUP_CASSANDRA_{name}", value)
            with pytest.raises(SpecError, match=name):
                open_store("cassandra://h/k")
    monkeypatch.setenv("NEARDUP_CASSANDRA_CA", "/nowhere/ca.pem")
    with open_store("cassandra://127.0.0.1:1/k") as store, pytest.raises(StoreError, match="TLS"):
        store.open()


def test_without_the_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "cassandra"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "cassandra", None)
    with pytest.raises(DependencyError) as caught:
        open_store("cassandra://h/k")
    assert caught.value.hint == "pip install 'neardup[cassandra]'"
