"""Small valid files of every format, made of generated records."""

from __future__ import annotations

import gzip
import io
import json
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.ipc as ipc
import pyarrow.parquet as pq

#: In every text, so that an error that quotes a text can be found.
MARK = "Zq7private"


def records(rng: np.random.Generator, count: int = 12) -> pa.Table:
    """Texts, ids and columns of many types."""
    words = [f"w{i}" for i in range(30)] + ["größe", "病院", 'quo"te', "com,ma", "ba\\ck"]
    texts = [f"{MARK} " + " ".join(rng.choice(words, rng.integers(1, 20))) for _ in range(count)]
    numbers = rng.integers(-5, 2**40, count)
    return pa.table(
        {
            "id": [f"id-{i}" for i in range(count)],
            "text": [text if i % 5 else None for i, text in enumerate(texts, 1)],
            "number": numbers,
            "share": rng.random(count),
            "flag": pa.array([None if i % 3 else i % 2 == 0 for i in range(count)]),
            "list": [[f"a{i}"] * (i % 3) for i in range(count)],
            "about": [{"x": int(n), "y": "z"} for n in numbers],
            "when": pa.array(numbers, pa.timestamp("us")),
            "kind": pa.array([f"k{i % 3}" for i in range(count)]).dictionary_encode(),
        }
    )


def samples(seed: int = 7) -> list[tuple[str, bytes]]:
    """Return (ending, content) of each sample."""
    rng = np.random.default_rng(seed)
    table = records(rng)
    plain = table.drop_columns(["list", "about", "kind"])
    rows = table.drop_columns(["when"]).to_pylist()
    lines = "".join(json.dumps(row, ensure_ascii=bool(i % 2)) + "\n" for i, row in enumerate(rows))
    found = [("jsonl", lines.encode()), ("jsonl.gz", gzip.compress(lines.encode(), mtime=0))]
    found.append(("jsonl.zst", _packed(lines.encode())))
    for ending, delimiter in (("csv", ","), ("tsv", "\t")):
        sink = io.BytesIO()
        csv.write_csv(plain, sink, csv.WriteOptions(delimiter=delimiter))
        found.append((ending, sink.getvalue()))
    kinds: list[dict[str, Any]] = [
        {"compression": "snappy"},
        {"compression": "zstd", "row_group_size": 5, "data_page_version": "2.0"},
        {"compression": "none", "use_dictionary": False},
    ]
    for options in kinds:
        sink = io.BytesIO()
        pq.write_table(table, sink, **options)
        found.append(("parquet", sink.getvalue()))
    for new, codec in ((ipc.new_file, None), (ipc.new_stream, None), (ipc.new_file, "zstd")):
        sink = io.BytesIO()
        with new(sink, table.schema, options=ipc.IpcWriteOptions(compression=codec)) as writer:
            writer.write_table(table, max_chunksize=5)
        found.append(("arrow", sink.getvalue()))
    found.append(("txt", f"{MARK} one text, not many".encode()))
    return found


def _packed(data: bytes) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as stream:
        stream.write(data)
    return sink.getvalue().to_pybytes()
