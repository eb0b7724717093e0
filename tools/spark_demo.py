"""Run the main job on two executors of this machine, and compare it with the run of one machine.

python tools/spark_demo.py NOTES RUN OUT
"""

from __future__ import annotations

import json
import shutil
import sys
import time
from pathlib import Path

import neardup
from neardup.cli import main
from neardup.spec import Spec


def compare(run: Path, out: Path) -> str:
    """Say how two results differ; fail if they do."""
    import pyarrow.parquet as pq

    one = neardup.open(run).clusters.to_pydict()
    ids = one["doc_id"]
    rows = zip(one["cluster"], one["kept"], one["duplicate_of"], one["similarity"], strict=True)
    mine = {id: (ids[first], *others) for id, (first, *others) in zip(ids, rows, strict=True)}
    other = pq.read_table(out / "clusters").to_pydict()
    names = ("cluster", "kept", "duplicate_of", "similarity")
    theirs = dict(zip(other["id"], zip(*(other[n] for n in names), strict=True), strict=True))
    if mine != theirs:
        differ = sum(mine[id] != theirs.get(id) for id in mine)
        raise SystemExit(f"{differ:,} of {len(mine):,} documents differ")
    kept = sum(row[1] for row in mine.values())
    return f"One machine and Spark keep the same {kept:,} of {len(mine):,} documents."


def demo(notes: str, run: Path, out: Path) -> None:
    # In the order of the ids the notes are in the order of the file.
    record = json.loads((run / "run.json").read_text())
    shutil.rmtree(out, ignore_errors=True)
    bands = record["bands"]
    options = ["--bands", bands["num_bands"], "--rows", bands["rows"], "--preset", "clinical"]
    master = ["--master", "local-cluster[2,1,1024]"]
    begin = time.monotonic()
    try:
        main([str(a) for a in ["spark", notes, "-o", out, "--id", "id", *options, *master]])
    except SystemExit as stop:
        if stop.code:
            raise
    assert Spec.from_dict(record["spec"]).order_by is None
    print(compare(run, out), f"Spark took {time.monotonic() - begin:.0f} s.")


if __name__ == "__main__":
    demo(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]))
