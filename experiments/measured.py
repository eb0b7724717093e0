"""Commands in fresh processes, measured from outside; and the stores that are there."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["NEARDUP", "ROOT", "Store", "measure", "stores", "without_cassandra"]

ROOT = Path(__file__).parents[1]
NEARDUP = str(Path(sys.executable).with_name("neardup"))
KEYSPACE = "neardup_experiments"


@dataclass(frozen=True)
class Store:
    """Where the band matrix lies.

    Attributes:
        name: For figures and tables.
        url: As for ``--store``; None where there is none.
        design: 1 or 2.
    """

    name: str
    url: str | None
    design: int


def stores(cassandra: str | None = None) -> list[Store]:
    """Return the stores to compare; those of Cassandra without a URL where none runs.

    Args:
        cassandra: URL of a server; by default that of ``make cassandra``, if it runs.
    """
    url = cassandra or os.environ.get("NEARDUP_BENCH_CASSANDRA") or _server()
    keyspace = f"{url.rpartition('/')[0]}/{KEYSPACE}" if url else None
    return [
        Store("memory", "memory", 2),
        Store("Design 1, SQLite", "sqlite", 1),
        Store("Design 2, SQLite", "sqlite", 2),
        Store("Design 1, Cassandra", keyspace, 1),
        Store("Design 2, Cassandra", keyspace, 2),
    ]


def _server() -> str:
    tool = str(ROOT / "tools/cassandra.py")
    return subprocess.run([sys.executable, tool, "status"], capture_output=True, text=True).stdout


def without_cassandra(found: list[Store]) -> bool:
    """Whether no Cassandra runs."""
    return any(store.url is None for store in found)


def measure(command: list[str]) -> dict[str, Any]:
    """Run a command in a fresh process; see bench/measure.py for what is measured.

    Raises:
        RuntimeError: The command failed.
    """
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.json")
        tool = str(ROOT / "bench/measure.py")
        wrapper = [sys.executable, "-S", tool, str(report), "--seconds", "300", "--"]
        paths = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
        subprocess.run([*wrapper, *command], check=True, env={**os.environ, "PYTHONPATH": paths})
        found: dict[str, Any] = json.loads(report.read_text())
    if found["failed"]:
        raise RuntimeError(f"{' '.join(command)}: {found['failed']}")
    return found
