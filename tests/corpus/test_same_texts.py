"""The same texts are read from every format and frame, whatever the size of the chunks."""

from __future__ import annotations

import csv
import gzip
import json
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as pads
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

from neardup.corpus import open_corpus, open_files, open_frame

from .conftest import WEIRD, table_of, texts_of

SEED = 5
TEXTS = WEIRD + random.Random(SEED).choices(WEIRD, k=100)
ROWS = [{"id": i, "text": text, "score": i / 8} for i, text in enumerate(TEXTS)]
SIZES = [64, 1000, 8 << 20]


def lines() -> bytes:
    # Half of the lines with escapes, half without.
    rows = (json.dumps(row, ensure_ascii=i % 2 == 0) for i, row in enumerate(ROWS))
    return "".join(row + "\n" for row in rows).encode()


def write_csv(path: Path, dialect: str) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, ["id", "text", "score"], dialect=dialect)
        writer.writeheader()
        writer.writerows(ROWS)


def made(folder: Path, name: str) -> Path:
    path = folder / name
    table = pa.Table.from_pylist(ROWS)
    if name.endswith(".jsonl"):
        path.write_bytes(lines())
    elif name.endswith(".gz"):
        half = lines().find(b"\n", 3000) - 7  # two members, cut inside a line
        path.write_bytes(gzip.compress(lines()[:half]) + gzip.compress(lines()[half:]))
    elif name.endswith(".jsonl.zst"):
        path.write_bytes(pa.Codec("zstd").compress(lines(), asbytes=True))
    elif name.endswith(".csv"):
        write_csv(path, "excel")
    elif name.endswith(".tsv"):
        write_csv(path, "excel-tab")
    elif name.endswith(".csv.zst"):
        write_csv(folder / "plain", "unix")
        raw = (folder / "plain").read_bytes()
        path.write_bytes(pa.Codec("zstd").compress(raw, asbytes=True))
    elif name.endswith(".parquet"):
        pq.write_table(table, path, row_group_size=17)
    elif name.endswith(".arrow"):
        with pa.ipc.new_stream(path, table.schema) as writer:
            writer.write_table(table, 19)
    else:
        feather.write_feather(table, path, chunksize=23)
    return path


FILES = ["a.jsonl", "a.jsonl.gz", "a.jsonl.zst", "a.csv", "a.tsv", "a.csv.zst", "a.parquet"]
FILES += ["stream.arrow", "file.feather"]


@pytest.mark.parametrize("chunk_bytes", SIZES)
@pytest.mark.parametrize("name", FILES)
def test_files(tmp_path: Path, name: str, chunk_bytes: int) -> None:
    path = made(tmp_path, name)
    corpus = open_corpus(path, id="id", chunk_bytes=chunk_bytes)
    assert texts_of(corpus) == TEXTS
    table = table_of(corpus)
    assert table.column_names == ["id", "text", "score"]
    assert table.column("id").type == pa.int64()
    assert table.column("score").type == pa.float64()
    assert table.select(["id", "score"]).to_pylist() == [
        {"id": row["id"], "score": row["score"]} for row in ROWS
    ]
    sizes = [chunk.size for chunk in corpus.chunks()]
    assert corpus.total_bytes == path.stat().st_size
    assert [file.size for file in corpus.inputs] == [path.stat().st_size]
    if "arrow" not in name and "feather" not in name:  # their sizes are Arrow's, in memory
        assert sum(sizes) == corpus.total_bytes


def frame(kind: str) -> Any:
    table = pa.Table.from_pylist(ROWS)
    if kind == "table":
        return table
    if kind == "batch":
        return table.to_batches()[0]
    if kind == "sliced":
        return pa.concat_tables([table.slice(0, 50), table.slice(0, 3), table.slice(50)]).slice(
            0, 50
        )
    if kind == "dataset":
        return pads.dataset(table)
    if kind == "view":
        return table.set_column(1, "text", table.column("text").cast(pa.string_view()))
    if kind == "dictionary":
        return table.set_column(1, "text", table.column("text").dictionary_encode())
    if kind == "pandas":
        return pytest.importorskip("pandas").DataFrame(ROWS)
    if kind == "polars":
        return pytest.importorskip("polars").DataFrame(ROWS)
    if kind == "hf":
        return pytest.importorskip("datasets").Dataset.from_list(ROWS)
    return TEXTS


KINDS = ["table", "batch", "sliced", "dataset", "view", "dictionary", "pandas", "polars", "hf"]


@pytest.mark.parametrize("chunk_bytes", SIZES)
@pytest.mark.parametrize("kind", [*KINDS, "list"])
def test_frames(kind: str, chunk_bytes: int) -> None:
    corpus = open_corpus(frame(kind), chunk_bytes=chunk_bytes)
    expected = TEXTS[:50] if kind == "sliced" else TEXTS
    assert texts_of(corpus) == expected
    assert texts_of(corpus) == expected  # a second time
    assert corpus.inputs == []
    if kind != "list":
        assert table_of(corpus).column("id").to_pylist() == list(range(len(expected)))


def test_reader_and_iterator_are_read_once() -> None:
    from neardup.errors import InputError

    for source in (frame("table").to_reader(), iter(TEXTS)):
        corpus = open_frame(source)
        assert texts_of(corpus) == TEXTS
        with pytest.raises(InputError, match="once"):
            texts_of(corpus)


def test_hugging_face_with_indices() -> None:
    dataset = frame("hf").select([5, 3, 3, 0])
    assert texts_of(open_corpus(dataset)) == [TEXTS[i] for i in (5, 3, 3, 0)]
    streamed = frame("hf").to_iterable_dataset()
    assert texts_of(open_corpus(streamed)) == TEXTS


def test_text_array_is_dense_and_shares_bytes() -> None:
    table = pa.Table.from_pylist(ROWS)
    (chunk,) = open_corpus(table).chunks()
    text = chunk.read().text
    assert text.type == pa.large_string()
    assert text.buffers()[2].address == table.column("text").chunk(0).buffers()[2].address
    for chunk in open_corpus(table, chunk_bytes=1000).chunks():
        text = chunk.read().text
        text.validate(full=True)
        assert text.offset == 0 and text.null_count == 0
        assert int.from_bytes(text.buffers()[1].to_pybytes()[:8], "little") == 0


def test_text_columns_are_joined_and_null_is_empty() -> None:
    table = pa.table({"a": ["x", None, "z"], "b": ["1", "2", None], "c": pa.nulls(3)})
    assert texts_of(open_corpus(table, text=("a", "b"))) == ["x 1", " 2", "z "]
    assert texts_of(open_corpus(table, text=("a",))) == ["x", "", "z"]
    assert texts_of(open_corpus(table, text="c")) == ["", "", ""]


def test_dispatch(tmp_path: Path) -> None:
    path = made(tmp_path, "a.jsonl")
    assert texts_of(open_corpus(str(path))) == TEXTS
    assert texts_of(open_corpus([path])) == TEXTS
    assert texts_of(open_corpus([str(path)])) == [str(path)]  # a list of strings is texts
    assert texts_of(open_files([str(path)])) == TEXTS
