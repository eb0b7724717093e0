"""A small corpus of which everything is known, for the tests of explanations."""

from __future__ import annotations

import csv
import gzip
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq

import neardup

#: Shingles of one word, so that similarities can be counted by hand.
SPEC = neardup.Spec().replace(n=1, edge_threshold=0.7, tree_threshold=0.4, num_bands=40, rows=4)

#: ``family``: one text, its copies byte for byte and in capitals, and a near one.
_FAMILY = [f"f{i}" for i in range(100)]
#: ``chain``: windows of which neighbours share 85 of 115 words, the next but one 70 of 130.
_CHAIN = [[f"c{i}" for i in range(15 * k, 15 * k + 100)] for k in range(3)]
#: ``crowd``: a text and 30 that repeat it, each with a word of its own.
_CROWD = [f"m{i}" for i in range(60)]

ROWS: dict[str, str] = {
    "family": " ".join(_FAMILY),
    "copy": " ".join(_FAMILY),
    "capitals": ", ".join(_FAMILY).upper() + "!",
    "near": " ".join([*_FAMILY[:90], *(f"x{i}" for i in range(5))]),
    "alone": " ".join(f"u{i}" for i in range(50)),
    "empty": " ... ",
    **{f"chain-{k}": " ".join(words) for k, words in enumerate(_CHAIN)},
    "crowd": " ".join(_CROWD),
    **{f"crowd-{i:02}": " ".join([*_CROWD, f"y{i}"]) for i in range(30)},
}

#: What a run can read back.
FILES = ["n.jsonl", "n.jsonl.gz", "n.jsonl.zst", "n.csv", "n.csv.gz", "n.tsv", "n.parquet"]
FILES += ["n.arrow", "n.feather", "texts"]


def write(folder: Path, name: str) -> Path:
    """Write the corpus in the format of a name."""
    path = folder / name
    rows: list[dict[str, Any]] = [{"id": key, "text": text} for key, text in ROWS.items()]
    table = pa.Table.from_pylist(rows)
    lines = "".join(json.dumps(row) + "\n" for row in rows).encode()
    if name == "texts":
        path.mkdir()
        for i, (key, text) in enumerate(ROWS.items()):
            (path / f"{i:02} {key}").write_text(text)
    elif ".csv" in name or name.endswith(".tsv"):
        with path.with_suffix(".plain").open("w", newline="") as file:
            writer = csv.DictWriter(file, ["id", "text"], delimiter="\t" if "tsv" in name else ",")
            writer.writeheader()
            writer.writerows(rows)
        raw = path.with_suffix(".plain").read_bytes()
        path.write_bytes(gzip.compress(raw) if name.endswith(".gz") else raw)
    elif name.endswith(".gz"):
        path.write_bytes(gzip.compress(lines))
    elif name.endswith(".zst"):
        path.write_bytes(pa.Codec("zstd").compress(lines, asbytes=True))
    elif name.endswith(".jsonl"):
        path.write_bytes(lines)
    elif name.endswith(".parquet"):
        pq.write_table(table, path, row_group_size=7)
    elif name.endswith(".arrow"):
        with pa.ipc.new_stream(path, table.schema) as stream:
            stream.write_table(table, 9)
    else:
        feather.write_feather(table, path, chunksize=9)
    return path


def run(folder: Path, name: str = "n.jsonl", spec: neardup.Spec = SPEC, **more: Any) -> Path:
    """Write the corpus, go through it in chunks of about a kilobyte, and return the run."""
    path = write(folder, name)
    out = folder / f"run {name}"
    storage = neardup.Storage(part_bytes=1 << 10)
    ids = None if name == "texts" else "id"
    neardup.dedup_files(path, out, spec=spec, id=ids, storage=storage, **more)
    return out
