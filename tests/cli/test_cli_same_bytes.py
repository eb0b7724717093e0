"""The same bytes in OUT for any number of threads, any cut, and any format of the same texts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

from common import Command, files_of
from neardup.synth import SynthSpec, generate

COUNT = 2000


@pytest.fixture(scope="module")
def table() -> pa.Table:
    spec = SynthSpec(documents=COUNT, seed=5, words=(30, 120), family=(150,), family_values=3)
    made = generate(spec, 0, COUNT)
    return made.append_column("number", pa.array(range(COUNT), pa.int64())).replace_schema_metadata(
        {"made": "for a test"}
    )


@pytest.fixture(scope="module")
def inputs(table: pa.Table, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("same")
    paths = {k: folder / f"notes.{k}" for k in ("jsonl", "csv", "parquet", "arrow")}
    rows = table.to_pylist()
    paths["jsonl"].write_text("".join(json.dumps(row) + "\n" for row in rows))
    pacsv.write_csv(table, paths["csv"])
    pq.write_table(table, paths["parquet"], row_group_size=333)
    feather.write_feather(table, paths["arrow"], chunksize=100)
    for name, type in {"large": pa.large_string(), "view": pa.string_view()}.items():
        schema = pa.schema(
            [f.with_type(type) if f.type == pa.string() else f for f in table.schema]
        )
        paths[name] = folder / f"{name}.arrow"
        with pa.ipc.new_file(paths[name], schema) as writer:
            writer.write_table(table.cast(schema))
    return paths


#: What depends on the machine, on threads, on the cut, or on where the input lies.
OF_THE_MACHINE = ("seconds", "peak_memory", "peak_anonymous", "stage_memory", "disk", "cores")
OF_THE_MACHINE += ("store", "asked")


def outputs(command: Command, path: Path, out: Path, *args: Any) -> dict[str, Any]:
    answer = command("dedup", path, "-o", out, "--id", "id", *args)
    assert answer.code == 0, answer.err
    found: dict[str, Any] = dict(files_of(out))
    record = json.loads(found["run.json"])
    assert record["counts"]["removed"] > 100
    for name in OF_THE_MACHINE:
        del record[name]
    record["bytes"].pop("read and sign")  # of the source, which each format has others of
    for name in ("took", "seconds", "memory", "disk", "sample"):
        del record["predicted"][name]
    # Where the texts are, and how they were cut; the cuts have all documents.
    source = record.pop("source")
    documents = sum(map(int, source["chunk_documents"].split()))
    record["source"] = {name: source[name] for name in ("text", "id", "encoding_errors", "files")}
    assert documents == record["counts"]["documents"]
    found["run.json"] = record
    return found


CHUNKS = (1 << 14, 100_000)
OPTIONS = ([], ["--pairs", "all", "--cluster", "star", "--keep", "max:quality", "--format", "csv"])


@pytest.fixture(scope="module")
def expected() -> dict[int, dict[str, Any]]:
    return {}


@pytest.mark.parametrize("options", range(len(OPTIONS)))
@pytest.mark.parametrize("kind", ["jsonl", "csv", "parquet", "arrow", "large", "view"])
def test_same_bytes(
    kind: str,
    options: int,
    inputs: dict[str, Path],
    expected: dict[int, dict[str, Any]],
    tmp_path: Path,
    command: Command,
) -> None:
    args = OPTIONS[options]
    first = outputs(command, inputs["jsonl"], tmp_path / "first", "--threads", 1, *args)
    first = expected.setdefault(options, first)
    for threads, chunk in [(1, None), (2, None), (5, CHUNKS[0]), (2, CHUNKS[1])]:
        again = tmp_path / f"{threads}-{chunk}"
        size = ["--part-size", chunk] if chunk else []
        found = outputs(command, inputs[kind], again, "--threads", threads, *size, *args)
        assert set(found) == set(first)
        for name in first:
            assert found[name] == first[name], f"{name}, {threads} threads, chunks of {chunk}"


def test_many_small_documents(tmp_path: Path, command: Command) -> None:
    """More documents than a row group holds, cut in two ways."""
    path = tmp_path / "many.csv"
    rows = (
        f"{i},word{i // 2 % 70_000} and {'more ' * (i % 5)},{i % 7 / 4}\n" for i in range(200_000)
    )
    path.write_text("id,text,score\n" + "".join(rows))
    found = []
    for k, chunk in enumerate((8 << 20, 300_001)):
        size = ["--part-size", chunk]
        found.append(outputs(command, path, tmp_path / f"out{k}", "--threads", k + 1, *size))
    for name in found[0]:
        assert found[0][name] == found[1][name], name
    assert pq.ParquetFile(tmp_path / "out0" / "clean.parquet").num_row_groups > 1
