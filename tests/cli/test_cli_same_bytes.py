"""The same result for any format of the same texts, threads, memory, store and partitions."""

from __future__ import annotations

import csv
import gzip
import json
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

from bench.notes import Family, SynthSpec, generate
from common import Command, Tune, files_of, some_rows, write_lines

COUNT = 1000


def lines_of(table: pa.Table) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in table.to_pylist()).encode()


def csv_of(table: pa.Table, delimiter: str) -> bytes:
    sink = pa.BufferOutputStream()
    pacsv.write_csv(table, sink, pacsv.WriteOptions(delimiter=delimiter))
    return sink.getvalue().to_pybytes()


def zstd(raw: bytes) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as stream:
        stream.write(raw)
    return sink.getvalue().to_pybytes()


def with_strings(table: pa.Table, type: pa.DataType) -> pa.Table:
    fields = [f.with_type(type) if f.type == pa.string() else f for f in table.schema]
    return table.cast(pa.schema(fields))


def arrow(path: Path, table: pa.Table) -> None:
    with pa.ipc.new_file(path, table.schema) as writer:
        writer.write_table(table, 100)


def folder_of_csv(path: Path, table: pa.Table) -> None:
    path.mkdir()
    for part in range(4):
        rows = table.slice(part * COUNT // 4, COUNT // 4)
        (path / f"{part}.csv").write_bytes(csv_of(rows, ","))


WRITERS: dict[str, Callable[[Path, pa.Table], Any]] = {
    "a.jsonl": lambda path, table: path.write_bytes(lines_of(table)),
    "a.ndjson": lambda path, table: path.write_bytes(lines_of(table)),
    "a.jsonl.gz": lambda path, table: path.write_bytes(gzip.compress(lines_of(table), 1)),
    "a.jsonl.zst": lambda path, table: path.write_bytes(zstd(lines_of(table))),
    "a.csv": lambda path, table: path.write_bytes(csv_of(table, ",")),
    "a.csv.gz": lambda path, table: path.write_bytes(gzip.compress(csv_of(table, ","), 1)),
    "a.tsv": lambda path, table: path.write_bytes(csv_of(table, "\t")),
    "a.tsv.zst": lambda path, table: path.write_bytes(zstd(csv_of(table, "\t"))),
    "a.parquet": lambda path, table: pq.write_table(table, path, row_group_size=333),
    "a.arrow": lambda path, table: feather.write_feather(table, path, chunksize=100),
    "large.arrow": lambda path, table: arrow(path, with_strings(table, pa.large_string())),
    "view.arrow": lambda path, table: arrow(path, with_strings(table, pa.string_view())),
    "parts": folder_of_csv,
}


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the same notes in every format."""
    family = (Family(150, 0.65, 0.75),)
    table = generate(SynthSpec(COUNT, seed=5, words=(30, 120), families=family), 0, COUNT)
    table = table.append_column("number", pa.array(range(COUNT), pa.int64()))
    folder = tmp_path_factory.mktemp("same")
    for name, put in WRITERS.items():
        put(folder / name, table)
    return folder


def outputs(command: Command, path: Path, out: Path, *args: Any) -> dict[str, Any]:
    """What was found, as bytes; of the record what must not depend on how."""
    answer = command("dedup", path, "-o", out, "--id", "id", "--quiet", *args)
    assert answer.code == 0, answer.err
    return found_in(out)


def without_places(out: Path) -> list[dict[str, Any]]:
    """The clusters without the names of the files."""
    table = pq.read_table(out / "clusters.parquet")
    return table.select(
        [name for name in table.column_names if name not in ("file", "row")]
    ).to_pylist()


def found_in(out: Path) -> dict[str, Any]:
    found: dict[str, Any] = files_of(out)
    found["clusters.parquet"] = without_places(out)
    record = json.loads(found.pop("run.json"))
    assert record["counts"]["removed"] > 100
    return {**found, "counts": record["counts"], "recipe": record["recipe"]}


@pytest.fixture(scope="module")
def expected(inputs: Path, kernels: None, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What the plain file of JSON lines gives, by options; each is made once."""
    found: dict[tuple[str, ...], dict[str, Any]] = {}

    def of(command: Command, *args: str) -> dict[str, Any]:
        if args not in found:
            out = tmp_path_factory.mktemp("expected") / "out"
            found[args] = outputs(command, inputs / "a.jsonl", out, "--threads", "1", *args)
        return found[args]

    return of


@pytest.mark.parametrize("name", WRITERS)
def test_formats(name: str, inputs: Path, expected: Any, tmp_path: Path, command: Command) -> None:
    """Tables are the same bytes; the clean corpus has the same bytes once it is in one format."""
    args = ("--pairs", "all", "--keep", "max:number", "--no-clean")
    first = expected(command, *args)
    assert outputs(command, inputs / name, tmp_path / "out", "--threads", 3, *args) == first


SETTINGS: dict[str, list[str]] = {
    "sqlite, blob": ["--store", "sqlite:{}/bands", "--threads", "3"],
    "one thread": ["--threads", "1"],
    "five threads": ["--threads", "5"],
    "little memory": ["--memory", "400MB", "--threads", "1"],
    "much memory": ["--memory", "100GB", "--threads", "2"],
}


@pytest.mark.parametrize("partition", [None, 1 << 14, 100_000])
@pytest.mark.parametrize("name", SETTINGS)
def test_settings(
    name: str,
    partition: int | None,
    inputs: Path,
    expected: Any,
    tmp_path: Path,
    command: Command,
    tune: Tune,
) -> None:
    first = expected(command)
    if partition is not None:
        tune(smallest_partition=partition, few_partitions=100)
    settings = [word.format(tmp_path) for word in SETTINGS[name]]
    assert outputs(command, inputs / "a.jsonl", tmp_path / "out", *settings) == first
    assert not (tmp_path / "out" / ".run").exists()


@pytest.mark.parametrize("kind", ["jsonl", "csv"])
@pytest.mark.parametrize("several", [False, True], ids=["one", "several"])
def test_clean_files_have_the_bytes_of_their_inputs(
    kind: str, several: bool, tmp_path: Path, command: Command
) -> None:
    """One file for each input, of the same name, with the records that are kept as they were."""
    table, out = pa.Table.from_pylist(some_rows()), tmp_path / "out"
    files = [tmp_path / f"{i}.{kind}" for i in range(3 if several else 1)]
    size, header = len(table) // len(files), kind == "csv"
    for i, file in enumerate(files):
        rows = table.slice(i * size, size)
        # Spaces that no writer would put there, and no end of the last line.
        raw = csv_of(rows, ",") if header else lines_of(rows).replace(b": ", b" :  ")
        file.write_bytes(raw[:-1])
    assert command("dedup", *files, "-o", out).code == 0
    made = sorted((out / "clean").iterdir())
    names = [file.name for file in files] if several else [f"part-00000.{kind}"]
    assert [path.name for path in made] == names
    for k, (file, clean) in enumerate(zip(files, made, strict=True)):
        lines = file.read_bytes().splitlines()
        kept = [line for i, line in enumerate(lines[header:], k * size) if i % 3 != 2]
        assert clean.read_bytes().splitlines() == [*lines[:header], *kept]


@pytest.mark.parametrize("kind", ["jsonl", "csv", "parquet"])
def test_standard_input(
    kind: str,
    inputs: Path,
    expected: Any,
    tmp_path: Path,
    command: Command,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first = expected(command, "--no-clean")
    words = ["dedup", "-", "-o", tmp_path / "out", "--id", "id", "--no-clean"]
    with (inputs / f"a.{kind}").open() as stdin:  # its bytes are read
        monkeypatch.setattr(sys, "stdin", stdin)
        assert command(*words, "--input-format", kind).code == 0
    assert found_in(tmp_path / "out") == first


def test_a_named_pipe(inputs: Path, expected: Any, tmp_path: Path, command: Command) -> None:
    pipe = tmp_path / "notes.jsonl"
    os.mkfifo(pipe)
    writer = threading.Thread(
        target=lambda: pipe.write_bytes((inputs / "a.jsonl").read_bytes()), daemon=True
    )
    writer.start()
    found = outputs(command, pipe, tmp_path / "out", "--no-clean")
    writer.join(10)
    assert found == expected(command, "--no-clean")


def test_input_format_for_any_ending(notes: Path, tmp_path: Path, command: Command) -> None:
    notes.rename(tmp_path / "notes.dat")
    args = ["dedup", tmp_path / "notes.dat", "-o", tmp_path / "out", "--input-format", "jsonl"]
    assert command(*args).code == 0


def test_folders_and_patterns(tmp_path: Path, command: Command) -> None:
    rows = some_rows()
    folder = tmp_path / "parts"
    folder.mkdir()
    for i in range(3):
        write_lines(folder / f"{i}.jsonl", rows[10 * i : 10 * i + 10])
    pq.write_table(pa.Table.from_pylist(rows[10:20]), tmp_path / "1.parquet")
    found = []
    for k, inputs in enumerate(
        [
            [folder],
            [folder / "*.jsonl"],
            [folder / "[01].jsonl", folder / "2.jsonl"],
            [folder / "0.jsonl", tmp_path / "1.parquet", folder / "2.jsonl"],
        ]
    ):
        answer = command("dedup", *inputs, "-o", tmp_path / f"out{k}", "--no-clean")
        assert answer.code == 0, answer.err
        found.append(without_places(tmp_path / f"out{k}"))
    assert all(clusters == found[0] for clusters in found)


def test_folder_of_texts(tmp_path: Path, command: Command) -> None:
    rows = some_rows()
    folder = tmp_path / "texts"
    (folder / "deep").mkdir(parents=True)
    names = [f"{'deep/' if i % 2 else ''}{i:02}.txt" for i in range(len(rows))]
    for name, row in zip(names, rows, strict=True):
        (folder / name).write_text(row["text"])
    out = tmp_path / "out"
    assert command("dedup", folder, "-o", out).code == 0
    table = pq.read_table(out / "clusters.parquet")
    assert table["doc_id"].to_pylist() == sorted(names)
    pairs = [{names[i - 1], names[i]} for i in range(2, len(rows), 3)]
    removed = [row for row in table.to_pylist() if not row["kept"]]
    assert sorted(sorted((r["doc_id"], r["duplicate_of"])) for r in removed) == sorted(
        map(sorted, pairs)
    )
    clean = {str(p.relative_to(out / "clean")) for p in (out / "clean").rglob("*.txt")}
    assert clean == set(names) - {row["doc_id"] for row in removed}


def test_text_columns_are_joined(tmp_path: Path, command: Command) -> None:
    rows: list[dict[str, Any]] = [
        {"head": "one two three", "body": "four five six seven"},
        {"head": "one two three four", "body": "five six seven"},
        {"head": None, "body": "one two three four five six seven"},
        {"head": "one two three", "body": "something else is said in here"},
    ]
    path = tmp_path / "a.csv"
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, ["head", "body"])
        writer.writeheader()
        writer.writerows(rows)
    assert command("dedup", path, "--text", "head,body", "-o", tmp_path / "out").code == 0
    found = pq.read_table(tmp_path / "out" / "clusters.parquet")
    assert found["cluster"].to_pylist() == [0, 0, 0, 3]
