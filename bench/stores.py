"""Layouts of band stores: a row for each key, against a blob for each band and partition.

    python bench/stores.py [--documents 100000] [--bands 23] [--partitions 10] [--cassandra URL]

Keys are random, as hashes are. Every store takes the same partitions, is closed, opened again, and
reads all bands back, which must be what was written. Bytes are those of SQLite's file once closed,
or of the keyspace's files once Cassandra has flushed its tables. Without a server (`make
cassandra`) that store is left out. Writes bench/results/stores.json.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from harness import BENCH, save, say, table
from neardup.state import Header, open_store

sys.path.insert(0, str(BENCH.parent))
from experiments import row_stores

TOOL = BENCH.parent / "tools/cassandra.py"
KEYSPACE = "neardup_bench"
LAYOUTS = {"blob": str, "row": row_stores.of_rows}  # to the URL of each
Keys = list[np.ndarray]


def once(url: str, keys: Keys, size: Callable[[], int]) -> dict[str, Any]:
    """Write all partitions and read all bands."""
    with open_store(url, run="bench") as store:
        store.create(Header("bench", len(keys[0])))
        begin = time.perf_counter()
        for partition, matrix in enumerate(keys):
            store.put(partition, matrix, b"")
        wrote = time.perf_counter() - begin
    with open_store(url, run="bench") as store:
        store.open("bench")
        begin = time.perf_counter()
        for band in range(len(keys[0])):
            for partition, found in store.band(band):
                if not np.array_equal(found, keys[partition][band]):
                    raise SystemExit(f"{url}: band {band}, partition {partition} differs")
        read = time.perf_counter() - begin
    return {"write_seconds": round(wrote, 3), "read_seconds": round(read, 3), "bytes": size()}


def in_sqlite(layout: str, keys: Keys) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "bands.sqlite")
        return once(LAYOUTS[layout](f"sqlite:{path}"), keys, lambda: path.stat().st_size)


def in_cassandra(address: str, layout: str, keys: Keys) -> dict[str, Any]:
    """Twice: the server's own compiler has to see the code first."""
    from cassandra.cluster import Cluster

    host, _, port = address.removeprefix("cassandra://").partition("/")[0].partition(":")
    session = Cluster([host], port=int(port or 9042)).connect()

    def size() -> int:
        subprocess.run([sys.executable, str(TOOL), "flush"], check=False)
        data = BENCH.parent / ".cassandra/server/data/data" / KEYSPACE
        return sum(path.stat().st_size for path in data.rglob("*") if path.is_file())

    for matrices in ([part[:, :2000] for part in keys[:3]], keys):
        session.execute(f"DROP KEYSPACE IF EXISTS {KEYSPACE}")
        url = LAYOUTS[layout](f"cassandra://{host}:{port or 9042}/{KEYSPACE}")
        result = once(url, matrices, size)
    session.execute(f"DROP KEYSPACE IF EXISTS {KEYSPACE}")
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--documents", type=int, default=100_000)
    parser.add_argument("--bands", type=int, default=23)
    parser.add_argument("--partitions", type=int, default=10)
    parser.add_argument("--cassandra", help="URL; by default that of `make cassandra`")
    args = parser.parse_args()
    rng = np.random.default_rng(1)
    sizes = np.diff(np.linspace(0, args.documents, args.partitions + 1).astype(int))
    keys = [rng.integers(0, 2**64, size=(args.bands, int(size)), dtype=np.uint64) for size in sizes]
    status = subprocess.run([sys.executable, str(TOOL), "status"], capture_output=True, text=True)
    url = args.cassandra or os.environ.get("NEARDUP_BENCH_CASSANDRA") or status.stdout.strip()
    stores: dict[str, Callable[[str, Keys], dict[str, Any]]] = {"sqlite": in_sqlite}
    if url:
        stores["cassandra"] = lambda layout, matrices: in_cassandra(url, layout, matrices)
    lines = []
    for store, function in stores.items():
        for layout in LAYOUTS:
            lines.append({"store": store, "layout": layout, **function(layout, keys)})
            say(str(lines[-1]))
    names = ("store", "layout", "bytes", "write_seconds", "read_seconds")
    print(table(list(names), [[str(line[name]) for name in names] for line in lines]))
    about = {name: getattr(args, name) for name in ("documents", "bands", "partitions")}
    print(save("stores", {**about, "stores": lines}))


if __name__ == "__main__":
    main()
