"""The clean corpus is read as it is by the tools that people use."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import neardup

ROWS = [
    {"id": f"n{i:02}", "text": text, "score": i / 2, "tags": ["a", str(i % 3)]}
    for i, text in enumerate(
        [
            "one two three four five six seven",
            "One, two, three: four five six seven!",
            'a text of its own, with a comma and a "quote"',
            "one two three four five six seven eight",
            "grüße aus Köln, and nothing else here at all",
            "",
        ]
    )
]
KEPT = ["n00", "n02", "n04", "n05"]


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    if path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
    elif path.suffix == ".csv":
        import csv

        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(rows[0])
            writer.writerows([[*list(r.values())[:-1], "|".join(r["tags"])] for r in rows])
    else:
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.fixture(params=["jsonl", "csv", "parquet"])
def clean(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Folder of a clean corpus of two files."""
    sources = []
    for number in range(2):
        rows = [{**row, "id": f"{row['id']}-{number}"} for row in ROWS] if number else ROWS
        sources.append(write(tmp_path / f"part{number}.{request.param}", rows))
    neardup.dedup(sources, id="id", out=tmp_path / "out", progress=False)
    found = tmp_path / "out" / "clean"
    assert sorted(path.name for path in found.iterdir()) == [s.name for s in sources]
    return found


def expected() -> list[str]:
    return [*KEPT, "n05-1"]


def test_pandas(clean: Path) -> None:
    import pandas as pd

    read = {"jsonl": lambda p: pd.read_json(p, lines=True), "csv": pd.read_csv}
    frames = [read.get(path.suffix[1:], pd.read_parquet)(path) for path in sorted(clean.iterdir())]
    frame = pd.concat(frames)
    assert frame["id"].tolist() == expected()
    assert frame["score"].tolist() == [0.0, 1.0, 2.0, 2.5, 2.5]


def test_polars(clean: Path) -> None:
    import polars as pl

    suffix = next(clean.iterdir()).suffix
    scan = {".jsonl": pl.scan_ndjson, ".csv": pl.scan_csv, ".parquet": pl.scan_parquet}[suffix]
    frame = scan(clean / f"*{suffix}").collect()
    assert frame["id"].to_list() == expected()


def test_duckdb(clean: Path) -> None:
    import duckdb

    suffix = next(clean.iterdir()).suffix
    rows = duckdb.sql(f"SELECT id FROM '{clean}/*{suffix}' ORDER BY id").fetchall()
    assert [row[0] for row in rows] == sorted(expected())


def test_hugging_face_datasets(clean: Path, tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets", reason="the extra hf is not installed")
    suffix = next(clean.iterdir()).suffix
    kind = {".jsonl": "json", ".csv": "csv", ".parquet": "parquet"}[suffix]
    files = sorted(str(path) for path in clean.iterdir())
    found = datasets.load_dataset(
        kind, data_files=files, split="train", cache_dir=str(tmp_path / "cache")
    )
    assert found["id"][:] == expected()


def test_parquet_keeps_schema_metadata_and_compression(tmp_path: Path) -> None:
    table = pa.Table.from_pylist(ROWS).replace_schema_metadata({"origin": "made"})
    source = tmp_path / "in.parquet"
    pq.write_table(
        table,
        source,
        compression={"text": "gzip", "id": "gzip"}
        | dict.fromkeys(["score", "tags.list.element"], "gzip"),
    )
    neardup.dedup(source, id="id", out=tmp_path / "out", progress=False)
    (path,) = (tmp_path / "out" / "clean").iterdir()
    found = pq.ParquetFile(path)
    assert found.schema_arrow.equals(pq.read_schema(source), check_metadata=True)
    assert found.metadata.row_group(0).column(1).compression == "GZIP"
    assert found.read().column("id").to_pylist() == KEPT


def test_a_frame_of_polars_keeps_its_types(tmp_path: Path) -> None:
    import polars as pl

    kinds = {"e": pl.Enum(["b", "a"]), "c": pl.Categorical, "d": pl.Decimal(9, 2), "b": pl.Binary}
    frame = pl.DataFrame({"text": ["one", "two"], "e": ["a", "b"], "c": ["x", "y"], "d": 1})
    frame = frame.with_columns(b=pl.lit(b"1")).cast(kinds)  # type: ignore[arg-type]
    neardup.dedup(frame, out=tmp_path / "out")
    found = pl.read_parquet(tmp_path / "out" / "clean" / "*")
    assert found.equals(frame)
    # Polars 1.10 gives Arrow an enumeration as plain categories.
    through_arrow = pl.from_arrow(frame.to_arrow())
    assert isinstance(through_arrow, pl.DataFrame)
    assert found.schema == through_arrow.schema


def test_annotated_records_have_all_documents_and_what_was_found(tmp_path: Path) -> None:
    source = write(tmp_path / "in.jsonl", ROWS)
    run = neardup.dedup(source, id="id", out=tmp_path / "out", annotate=True, progress=False)
    (path,) = (tmp_path / "out" / "clean").iterdir()
    lines = path.read_text(encoding="utf-8").splitlines()
    found = [json.loads(line) for line in lines]
    added = ("cluster", "kept", "duplicate_of", "similarity", "cluster_size")
    assert [{k: v for k, v in row.items() if k not in added} for row in found] == ROWS
    by_id = {row["doc_id"]: row for row in run.clusters.to_pylist()}
    for row in found:
        other = by_id[row["id"]]
        assert all(row[name] == other[name] for name in added[:-1])
    assert [row["cluster_size"] for row in found] == [3, 3, 1, 3, 1, 1]


def test_no_clean_corpus_where_none_is_wanted(tmp_path: Path) -> None:
    source = write(tmp_path / "in.jsonl", ROWS)
    neardup.dedup(source, id="id", out=tmp_path / "out", clean=False, progress=False)
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == ["clusters.parquet", "run.json"]


@pytest.mark.parametrize("format", ["jsonl", "csv", "parquet", "arrow"])
def test_formats_are_converted(tmp_path: Path, format: str) -> None:
    rows = [{k: v for k, v in row.items() if k != "tags"} for row in ROWS]
    source = write(tmp_path / "in.jsonl", rows)
    neardup.dedup(source, id="id", out=tmp_path / "out", format=format, progress=False)
    (path,) = (tmp_path / "out" / "clean").iterdir()
    assert path.name == f"part-00000.{format}"
    again = neardup.dedup(path, id="id", threshold=1.0, progress=False)
    assert again.clusters["doc_id"].to_pylist() == KEPT


def test_a_folder_of_texts_is_converted(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for row in ROWS:
        (tmp_path / "in" / f"{row['id']}.txt").write_text(row["text"], encoding="utf-8")
    neardup.dedup(tmp_path / "in", out=tmp_path / "out", format="jsonl", progress=False)
    (path,) = (tmp_path / "out" / "clean").iterdir()
    found = [json.loads(line)["path"] for line in path.read_text(encoding="utf-8").splitlines()]
    assert found == [f"{name}.txt" for name in KEPT]


def test_a_kept_run_is_converted(tmp_path: Path) -> None:
    """When the texts were sketched nobody asked for the types of the columns."""
    source = write(tmp_path / "in.jsonl", ROWS)
    run = neardup.dedup(source, id="id", out=tmp_path / "one", keep_run=True, progress=False)
    again = run.recluster(tmp_path / "two", format="parquet", progress=False)
    assert again.summary["recluster"]["used"] == "sketches"
    table = pq.read_table(tmp_path / "two" / "clean")
    assert table.column("id").to_pylist() == KEPT
    assert table.column_names == ["id", "text", "score", "tags"]


def test_names_of_inputs_that_are_not_utf8(tmp_path: Path) -> None:
    try:
        source = write(tmp_path / os.fsdecode(b"a\xff.jsonl"), ROWS)
    except OSError:
        pytest.skip("this file system takes UTF-8 only")
    run = neardup.dedup(source, id="id", out=tmp_path / "out", progress=False)
    assert run.summary["source"]["inputs"][0][0] == str(source)
    assert len(run.clean()) == len(KEPT)
