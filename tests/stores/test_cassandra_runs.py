"""Whole runs of ``neardup`` against a real Cassandra: the same bytes, whatever happens."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import ClassVar

import pytest
from cassandra_server import PASSWORD, USER, Secure

from neardup.errors import StoreError
from neardup.stores import Header
from neardup.stores import cassandra_tables as cql
from neardup.stores.cassandra import CassandraStore
from neardup.stores.cassandra_place import parse
from neardup.stores.cassandra_session import Session
from neardup.testing.stores import some_facts, some_keys

#: What a run must find again; run.json says how long it took.
FILES = ["clean.parquet", "clusters.parquet", "edges.parquet"]
NOTES = 800
PARTS = "32KiB"  # some 50 parts
SECONDS = 120.0


class Process:
    """One ``neardup`` under way; none outlives the test that started it."""

    started: ClassVar[list[Process]] = []

    def __init__(self, *arguments: object, **settings: str) -> None:
        command = [Path(sys.executable).with_name("neardup"), *map(str, arguments)]
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={**os.environ, "NEARDUP_CASSANDRA_PATIENCE": "60", **settings},
        )

        self.started.append(self)

    def signal(self, number: int) -> None:
        self._process.send_signal(number)

    def running(self) -> bool:
        return self._process.poll() is None

    def end(self, code: int = 0) -> str:
        """Wait for its end, which must be of that code; return what it said."""
        said = self._process.communicate(timeout=SECONDS)[0].decode()
        assert self._process.returncode == code, said
        return said

    def refused(self) -> list[str]:
        """Wait for its end; return its error and hint, which must be one line each."""
        lines = [line for line in self.end(1).splitlines() if "compil" not in line]
        assert len(lines) == 2, lines
        assert lines[0].startswith("error: ") and lines[1].startswith("hint: "), lines
        return lines


@pytest.fixture(scope="module")
def notes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("notes") / "notes.jsonl"
    Process("synth", "-n", NOTES, "-o", path, "--quiet").end()
    return path


@pytest.fixture(scope="module")
def expected(notes: Path) -> dict[str, bytes]:
    """What a run in memory gives."""
    out = notes.parent / "memory"
    Process("dedup", notes, "-o", out, *settings("memory")).end()
    return read(out)


@pytest.fixture(autouse=True)
def _none_stays() -> Iterator[None]:
    yield
    for process in Process.started:
        if process.running():
            process.signal(signal.SIGKILL)
    Process.started.clear()


@pytest.fixture
def url(cassandra: str) -> Iterator[str]:
    with CassandraStore(cassandra, run="makes the tables") as store:
        store.drop()
        store.create(Header("digest", 3))
        store.drop()
    yield cassandra
    for run in runs(cassandra):
        with CassandraStore(cassandra, run=run) as store:
            store.drop()


def settings(store: str, design: int = 2) -> list[object]:
    return ["--store", store, "--part-size", PARTS, "--design", design, "--threads", 2, "--quiet"]


def read(out: Path) -> dict[str, bytes]:
    return {name: (out / name).read_bytes() for name in FILES}


def runs(url: str) -> set[str]:
    """Runs in a keyspace that ``neardup`` made, those of other tests aside."""
    with CassandraStore(url) as store:
        store.drop()
        found = store._session.ask("SELECT run FROM <runs>") if store._is_there() else []
    return {row[0] for row in found if "/" not in row[0]}


def rows_left(url: str) -> dict[str, int]:
    """How many partitions are in the tables of a keyspace."""
    counts = {}
    session = Session(parse(url), 30.0)
    session.open()
    band = "matrix, band, span, stretch"
    columns = {"keys": band, "cells": band, "facts": "matrix, part", "runs": "run"}
    for name in ("runs", "notes", "entries", "facts", "keys", "cells"):
        query = f"SELECT DISTINCT {columns.get(name, 'matrix')} FROM <{name}>"
        counts[name] = len(session.ask(query))
    session.close()
    return counts


def signed(out: Path) -> int:
    """How many parts the manifest of a run says are there."""
    try:
        body = (out / ".run/manifest.json").read_bytes().partition(b"\n")[2]
        return len(json.loads(body)["steps"].get("sign", {}))
    except (OSError, ValueError):
        return 0


def wait(until: Callable[[], bool], *processes: Process) -> None:
    deadline = time.monotonic() + SECONDS
    while not until():
        assert all(process.running() for process in processes), [p.end() for p in processes]
        assert time.monotonic() < deadline
        time.sleep(0.005)


def stopped_in_the_middle(out: Path, *arguments: object, **settings: str) -> Process:
    """Return a run that has some parts and is held there, until it is told to go on."""
    process = Process("dedup", *arguments, "-o", out, **settings)
    wait(lambda: signed(out) >= 3, process)
    process.signal(signal.SIGSTOP)
    body = (out / ".run/manifest.json").read_bytes().partition(b"\n")[2]
    assert "signed" not in json.loads(body)["steps"], "it must be stopped in the middle"
    return process


@pytest.mark.parametrize("design", [1, 2])
def test_the_same_bytes(
    url: str, notes: Path, expected: dict[str, bytes], tmp_path: Path, design: int
) -> None:
    before = rows_left(url)
    assert Process("dedup", notes, "-o", tmp_path / "out", *settings(url, design)).end() == ""
    assert read(tmp_path / "out") == expected
    stored = json.loads((tmp_path / "out/run.json").read_text())["store"]
    assert stored["design"] == design
    assert stored["store"] == url
    assert rows_left(url) == before


def test_four_sign_at_once(
    url: str, notes: Path, expected: dict[str, bytes], tmp_path: Path
) -> None:
    name = f"corpus-{uuid.uuid4()}"
    run = ["--run", name]
    go_on = ["dedup", *run, "-o", tmp_path / "out", "--store", url, "--threads", 2, "--quiet"]

    def sign(shard: int) -> Process:
        return Process("sign", notes, "--shard", f"{shard}/4", *run, *settings(url))

    def has_some_of(shard: int) -> bool:
        try:
            store.open()
        except StoreError:
            return False
        return any(part % 4 == shard - 1 for part in store.parts())

    with CassandraStore(url, run=name) as store:
        first, second, third, fourth = (sign(shard) for shard in (1, 2, 3, 4))
        wait(lambda: has_some_of(3), third)
        third.signal(signal.SIGKILL)
        third.end(-signal.SIGKILL)
        for process in (first, second, fourth):
            assert process.end() == ""
        error, hint = Process(*go_on).refused()
        assert error.endswith("shard 3/4 is missing")
        assert "neardup sign --shard" in hint
        assert sign(3).end() == ""
        assert Process(*go_on).end() == ""
    assert read(tmp_path / "out") == expected


def test_killed_and_resumed(
    url: str, notes: Path, expected: dict[str, bytes], tmp_path: Path
) -> None:
    before = rows_left(url)
    out = tmp_path / "out"
    process = stopped_in_the_middle(out, notes, *settings(url))
    process.signal(signal.SIGKILL)
    process.end(-signal.SIGKILL)
    assert rows_left(url) != before
    Process("dedup", notes, "-o", out, *settings(url), "--resume").end()
    assert read(out) == expected
    assert rows_left(url) == before


@pytest.mark.parametrize("way", ["overwritten", "folder removed"])
def test_begun_again(
    url: str, notes: Path, expected: dict[str, bytes], tmp_path: Path, way: str
) -> None:
    before = rows_left(url)
    out = tmp_path / "out"
    process = stopped_in_the_middle(out, notes, *settings(url))
    process.signal(signal.SIGKILL)
    process.end(-signal.SIGKILL)
    if way == "folder removed":
        shutil.rmtree(out)
    Process("dedup", notes, "-o", out, *settings(url), "--overwrite").end()
    assert read(out) == expected
    assert rows_left(url) == before


def test_server_stopped_in_the_middle(
    secure: Secure,
    notes: Path,
    expected: dict[str, bytes],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One that is patient goes on by itself; one that is not says how to, and can be resumed."""
    for name, value in secure.settings.items():
        monkeypatch.setenv(name, value)
    in_url = secure.url.replace("://", f"://{USER}:{PASSWORD}@")
    no_login = {"NEARDUP_CASSANDRA_USER": "", "NEARDUP_CASSANDRA_PASSWORD": ""}
    hasty, patient = tmp_path / "hasty", tmp_path / "patient"
    # Runs of one input with one spec take one name, so one of the two has a copy.
    copy = shutil.copy2(notes, tmp_path / "notes.jsonl")
    short = stopped_in_the_middle(
        hasty, copy, *settings(in_url), **no_login, NEARDUP_CASSANDRA_PATIENCE="1"
    )
    long = stopped_in_the_middle(patient, notes, *settings(secure.url))
    errors: list[BaseException] = []
    done: list[int] = []
    enough = threading.Event()

    def write() -> None:
        try:
            while not enough.is_set():
                part = len(done)
                store.put(part, some_keys(part), some_facts(part))
                done.append(part)
        except BaseException as error:
            errors.append(error)

    with CassandraStore(secure.url, run="store", patience=60.0) as store:
        store.create(Header("digest", 3))
        writer = threading.Thread(target=write)
        writer.start()
        wait(lambda: len(done) > 3)
        secure.stop()
        before = len(done)
        for process in (short, long):
            process.signal(signal.SIGCONT)
        error, hint = short.refused()
        assert error.startswith(f"error: {secure.url}: can't be reached: "), error
        assert "see that the server runs" in hint
        assert hint.endswith("with the same command and --resume")
        assert long.running()
        begin = time.monotonic()
        secure.start()
        resumed = Process("dedup", copy, "-o", hasty, *settings(in_url), "--resume", **no_login)
        wait(lambda: len(done) > before + 3 or bool(errors))
        enough.set()
        writer.join()
        if errors:
            raise errors[0]
        assert long.end() == ""
        assert time.monotonic() - begin < 60
        assert read(patient) == expected
        assert PASSWORD not in resumed.end()
        assert read(hasty) == expected
        store._rows.clear()
        for part, keys in enumerate(store.band(1)):
            assert (keys == some_keys(part)[1]).all()
        assert list(store.parts()) == done
        store.drop()
    assert not any(rows_left(secure.url).values())


def test_password_shows_nowhere(
    secure: Secure, notes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in secure.authority.items():
        monkeypatch.setenv(name, value)
    out = tmp_path / "out"
    given = settings(secure.url.replace("://", f"://{USER}:{PASSWORD}@"))[:-1]  # not quiet
    said = Process("dedup", notes, "-o", out, *given, "--keep-run", "--memory", "700MB").end()
    wrong = settings(secure.url.replace("://", f"://{USER}:{PASSWORD}x@"))
    refused = Process("dedup", notes, "-o", tmp_path / "other", *wrong, "--debug").end(1)
    assert "refuses user or password" in refused
    assert PASSWORD not in said + refused
    for path in out.rglob("*"):
        assert not path.is_file() or PASSWORD not in path.read_bytes().decode("latin-1"), path
    with CassandraStore(given[1], run=runs(given[1]).pop()) as store:  # type: ignore[arg-type]
        store.open()
        assert PASSWORD not in str(store._session.ask(cql.FIND_RUN, [store.run]))
        store.drop()
