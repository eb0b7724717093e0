"""Design 1 (a row per cell) against Design 2 (a row per band and part), in SQLite and Cassandra.

    stores.py [--documents 100000] [--bands 23] [--parts 10] [--cassandra URL]

Keys are random, as hashes are. Every store writes the same parts, is closed, opened again, and
reads all bands back; what it reads is compared with what was written. Rows are those of keys
alone.

* SQLite: bytes are those of the file once closed, its log included in it. A part is synced to disk
  before `put` returns.
* Cassandra, one node on this machine (`make cassandra`): bytes are those of the keyspace's files
  once the server has flushed its tables to them; its commit log is synced every second and not
  counted. Skipped where none runs.
* Plain files (`memory` with a folder and nothing held) stand beside them as what a disk can do.

Prints a table, with what Design 2 takes for each of what Design 1 does, and writes
`bench/results/stores.json`.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from neardup.stores import BandStore, Header, MemoryStore
from neardup.stores.cassandra_tables import SLICE
from neardup.stores.sqlite import SqliteStore

ROOT = Path(__file__).parent.parent
TOOL = ROOT / "tools/cassandra.py"
KEYSPACE = "neardup_bench"


def parts_of(documents: int, parts: int, bands: int) -> list[np.ndarray]:
    rng = np.random.default_rng(1)
    ends = np.linspace(0, documents, parts + 1).astype(int)
    return [
        rng.integers(0, 2**64, size=(bands, int(size)), dtype=np.uint64) for size in np.diff(ends)
    ]


def measure(
    make: Callable[[], BandStore], keys: list[np.ndarray], size: Callable[[BandStore], int]
) -> dict[str, Any]:
    """Write all parts, read all bands, and remove them."""
    bands = len(keys[0])
    with make() as store:
        store.drop()
        store.create(Header("bench", bands))
        begin = time.perf_counter()
        for part, matrix in enumerate(keys):
            store.put(part, matrix, b"")
        wrote = time.perf_counter() - begin
    with make() as store:
        store.open("bench")
        begin = time.perf_counter()
        for band in range(bands):
            for part, found in enumerate(store.band(band)):
                if not np.array_equal(found, keys[part][band]):
                    raise SystemExit(
                        f"{store.url}: band {band}, part {part} is not what was put in"
                    )
        read = time.perf_counter() - begin
        on_disk = size(store)
        store.drop()
    return {"write_seconds": round(wrote, 3), "read_seconds": round(read, 3), "bytes": on_disk}


def files(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def tool(verb: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, str(TOOL), verb], capture_output=True, text=True)


def flushed(store: BandStore) -> int:
    """Bytes of the keyspace's files; 0, for not known, where the server is not the tool's."""
    if tool("flush").returncode:
        return 0
    return files(ROOT / ".cassandra/server/data/data" / KEYSPACE)


def in_cassandra(url: str, design: int, keys: list[np.ndarray]) -> dict[str, Any]:
    from neardup.stores.cassandra import CassandraStore

    def make() -> BandStore:
        return CassandraStore(f"{url.rpartition('/')[0]}/{KEYSPACE}", design, run="bench")

    def remove_tables() -> None:
        with CassandraStore(f"{url.rpartition('/')[0]}/{KEYSPACE}") as store:
            store._open()
            store._session.change("DROP KEYSPACE IF EXISTS <>")

    try:
        remove_tables()
        # The server's own compiler has to see the code first.
        measure(make, [part[:, :2000] for part in keys[:3]], lambda store: 0)
        remove_tables()
        return measure(make, keys, flushed)
    finally:
        remove_tables()


def rows_of(keys: list[np.ndarray]) -> dict[int, int]:
    """How many rows of keys are written, by design; Cassandra cuts longer parts."""
    slices = sum(len(part) * -(-part.shape[1] // SLICE) for part in keys)
    return {1: sum(part.size for part in keys), 2: slices}


def ratios(lines: list[dict[str, Any]]) -> dict[str, dict[str, float]]:
    """What Design 2 takes, by store, for each of what Design 1 does."""
    found = {(line["store"], line["design"]): line for line in lines}
    result = {}
    for store in dict.fromkeys(line["store"] for line in lines):
        one, two = found.get((store, 1)), found.get((store, 2))
        if one is not None and two is not None:
            names = ("rows", "bytes", "write_seconds", "read_seconds")
            result[store] = {n: round(two[n] / one[n], 6) if one[n] else 0.0 for n in names}
    return result


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--documents", type=int, default=100_000)
    parser.add_argument("--bands", type=int, default=23)
    parser.add_argument("--parts", type=int, default=10)
    parser.add_argument("--folder", type=Path, default=ROOT / "build/stores")
    parser.add_argument("--cassandra", help="URL; that of make cassandra if not given")
    parser.add_argument("--results", type=Path, default=ROOT / "bench/results/stores.json")
    parser.add_argument("--only", choices=["files", "sqlite", "cassandra"])
    given = parser.parse_args()
    keys = parts_of(given.documents, given.parts, given.bands)
    rows = rows_of(keys)
    given.folder.mkdir(parents=True, exist_ok=True)
    path = given.folder / "bands.sqlite"
    lines: list[dict[str, Any]] = []

    def add(store: str, design: int, result: dict[str, Any]) -> None:
        lines.append({"store": store, "design": design, "rows": rows[design], **result})
        print(
            f"{store:10} {design:6} {rows[design]:>10,} {result['bytes'] / 1e6:>9.1f}"
            f" {result['write_seconds']:>9.2f} {result['read_seconds']:>9.2f}",
            flush=True,
        )

    print(f"{'store':10} {'design':>6} {'rows':>10} {'MB':>9} {'write s':>9} {'read s':>9}")
    if given.only in (None, "files"):
        plain = measure(
            lambda: MemoryStore(given.folder / "files", budget=0),
            keys,
            lambda store: files(given.folder / "files"),
        )
        add("files", 2, plain)
    if given.only in (None, "sqlite"):
        for design in (2, 1):
            result = measure(
                lambda design=design: SqliteStore(path, design),  # type: ignore[misc]
                keys,
                lambda store: path.stat().st_size,
            )
            add("sqlite", design, result)
    url = given.cassandra or os.environ.get("NEARDUP_BENCH_CASSANDRA") or tool("status").stdout
    if given.only in (None, "cassandra"):
        if url.strip():
            for design in (2, 1):
                add("cassandra", design, in_cassandra(url.strip(), design, keys))
        else:
            print("cassandra: none runs (make cassandra)")
    shutil.rmtree(given.folder)
    for store, found in ratios(lines).items():
        print(
            f"{store}: Design 2 writes 1 row for {1 / found['rows']:,.0f} of Design 1, takes"
            f" {found['bytes']:.2f} of its bytes, {found['write_seconds']:.3f} of its time to write"
            f" and {found['read_seconds']:.3f} to read"
        )
    report = {
        "documents": given.documents,
        "bands": given.bands,
        "parts": given.parts,
        "payload_bytes": 8 * rows[1],
        "machine": {"cores": os.cpu_count(), "processor": platform.machine()},
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
        "stores": lines,
        "design_2_to_1": ratios(lines),
    }
    target = given.results
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
