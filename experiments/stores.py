"""The band stores that are there, and commands in fresh processes, measured from outside."""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from experiments import row_stores
from neardup.state import BandStore, open_store

__all__ = ["ROOT", "Store", "empty_afterwards", "find_stores", "measure", "opened", "server"]

ROOT = Path(__file__).parents[1]
KEYSPACE = "neardup_experiments"
#: Design 1 has a row for each key. More than so many take too long.
_MAX_ROWS = {"SQLite": 10_000_000, "Cassandra": 250_000}


@dataclass(frozen=True)
class Store:
    """Where band keys are stored.

    Attributes:
        name: For charts and tables, by the names of the paper.
        url: As `neardup.state.open_store` takes it, for SQLite without a file; None where there is
            no server.
    """

    name: str
    url: str | None

    @property
    def in_server(self) -> bool:
        """Whether it is in Cassandra."""
        return "Cassandra" in self.name

    def takes(self, keys: int) -> bool:
        """Return whether so many keys can be stored in a reasonable time."""
        return "Design 1" not in self.name or keys <= _MAX_ROWS[self.name.rpartition(" ")[2]]

    def at(self, folder: Path) -> str:
        """Return the URL, with a file in a folder where it needs one."""
        if self.url in ("sqlite", "sqlite-rows"):
            return f"{self.url}:{folder / 'keys.sqlite'}"
        return str(self.url)


def find_stores() -> list[Store]:
    """Return the stores to compare; those of Cassandra without a URL where no server runs.

    The server is that of the environment variable NEARDUP_BENCH_CASSANDRA, or of `server`.
    """
    url = os.environ.get("NEARDUP_BENCH_CASSANDRA") or _server("status").stdout.strip()
    keyspace = f"{url.rpartition('/')[0]}/{KEYSPACE}" if url else None
    return [
        Store("in memory", "memory"),
        Store("Design 1, SQLite", "sqlite-rows"),
        Store("Design 2, SQLite", "sqlite"),
        Store("Design 1, Cassandra", keyspace and row_stores.of_rows(keyspace)),
        Store("Design 2, Cassandra", keyspace),
    ]


@contextlib.contextmanager
def server() -> Iterator[None]:
    """Run a Cassandra meanwhile, unless one runs; where none can be had, say why and go on."""
    if os.environ.get("NEARDUP_BENCH_CASSANDRA") or _server("status").stdout.strip():
        yield
        return
    try:
        importlib.import_module("cassandra.cluster")
    except Exception as error:
        why = f"cassandra-driver can't be used: {error}".partition("\n")[0]
    else:
        started = _server("start")
        why = started.stderr.strip() if started.returncode else ""
    if why:
        print(f"time: without Cassandra: {why}", flush=True)
    try:
        yield
    finally:
        if not why:
            _server("stop")


def _server(verb: str) -> subprocess.CompletedProcess[str]:
    """Start or stop the server of this folder, or ask for its URL."""
    command = [sys.executable, str(ROOT / "tools/cassandra.py"), verb]
    return subprocess.run(command, capture_output=True, text=True)


@contextlib.contextmanager
def opened(url: str, run: str) -> Iterator[BandStore]:
    """Give an empty store, and leave it empty.

    Args:
        url: As `neardup.state.open_store` takes it.
        run: Name of the run, in a store of many.
    """
    with open_store(url, run=run) as store:
        store.drop()
        yield store
        store.drop()


@contextlib.contextmanager
def empty_afterwards(url: str | None) -> Iterator[None]:
    """Remove our keyspace from Cassandra at the end, and before, where a run was killed."""

    def remove() -> None:
        from neardup.state.cassandra.driver import Contact
        from neardup.state.cassandra.session import Session

        session = Session(Contact.parse(str(url)))
        session.open()
        session.change("DROP KEYSPACE IF EXISTS <>")
        session.close()

    with contextlib.ExitStack() as stack:
        if url is not None:
            remove()
            stack.callback(remove)
        yield


def measure(command: list[str]) -> dict[str, Any]:
    """Run a command in a fresh process; see bench/measure.py for what is measured.

    Raises:
        RuntimeError: The command failed.
    """
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.json")
        tool = str(ROOT / "bench/measure.py")
        wrapper = [sys.executable, "-S", tool, str(report), "--seconds", "600", "--"]
        paths = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
        subprocess.run([*wrapper, *command], check=True, env={**os.environ, "PYTHONPATH": paths})
        found: dict[str, Any] = json.loads(report.read_text())
    if found["failed"]:
        raise RuntimeError(f"{' '.join(command)}: {found['failed']}")
    return found
