"""The same texts come from every format and frame, whatever the partitions, in every pass."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from io_samples import FILES, FRAMES, ROWS, TEXTS, frame, made, names_of, opened, rows_of, texts_of

from common import Tune
from neardup.errors import FormatError, InputError
from neardup.io.source import Partition, Source

SIZES = [64, 1000, 8 << 20]


@pytest.mark.parametrize("partition_bytes", SIZES)
@pytest.mark.parametrize("name", FILES)
def test_files(tmp_path: Path, name: str, partition_bytes: int) -> None:
    path = made(tmp_path, name)
    source = opened(path, partition_bytes, id="id", extra=("score",))
    assert texts_of(source) == TEXTS
    text = name.startswith(("a.csv", "a.tsv"))
    expected = [{"id": row["id"], "score": row["score"]} for row in ROWS]
    if text:  # columns of CSV are strings
        expected = [{name: str(value) for name, value in row.items()} for row in expected]
    assert rows_of(source, ("id", "score")) == expected
    assert source.total_bytes == path.stat().st_size == source.files[0].size
    start = 0
    for part in source.partitions():
        assert (part.file, part.start) == (0, start) and part.size >= 0
        start += part.size
    assert start == source.total_bytes


@pytest.mark.parametrize("partition_bytes", SIZES)
@pytest.mark.parametrize("kind", FRAMES)
def test_frames(kind: str, partition_bytes: int) -> None:
    source = opened(frame(kind), partition_bytes)
    expected = TEXTS[:50] if kind == "sliced" else TEXTS
    for _ in range(2):
        assert texts_of(source) == expected
    assert source.files == [] and source.format == "frame" and source.rereadable
    if kind not in ("list", "iterator"):
        assert rows_of(source, ("id",)) == [{"id": i} for i in range(len(expected))]
        assert names_of(source) == ("id", "text", "score")


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_series(kind: str) -> None:
    source = opened(frame(kind)["text"], text="body")
    assert texts_of(source) == TEXTS
    assert names_of(source) == ("body",)


def test_strings_that_have_a_schema_of_their_own() -> None:
    class Texts(list[str]):
        schema = "v1"

    assert texts_of(opened(Texts(TEXTS))) == TEXTS


def described(part: Partition) -> tuple[int, list[Any], list[str]]:
    documents = part.read(None)
    return part.size, documents.columns.to_pylist(), documents.text.to_pylist()


def many(folder: Path, name: str, tune: Tune) -> Source:
    """A source of many partitions, from a file, a frame, or a folder of texts."""
    if name == "texts":
        for i in range(30):
            (folder / f"{i:02}.txt").write_text(f"text {i}" * i)
        return opened(folder, 1000)
    if name == "sliced.parquet":
        import pyarrow.parquet as pq

        tune(sliced_partitions=1, waiting_slices=2)
        table = pa.table({"text": [f"t{i} " * 9 for i in range(900)], "n": range(900)})
        pq.write_table(table, folder / name, row_group_size=400)
        return opened(folder / name, 1000)
    return opened(made(folder, name) if name in FILES else frame(name), 1000)


every = pytest.mark.parametrize("name", [*FILES, *FRAMES, "texts", "sliced.parquet"])


@every
def test_the_same_partitions_each_time(tmp_path: Path, name: str, tune: Tune) -> None:
    source = many(tmp_path, name, tune)
    first = [described(part) for part in source.partitions()]
    assert len(first) > 1
    assert [described(part) for part in source.partitions()] == first
    # Of a third pass every other partition is read, and some of them against the order.
    again = list(source.partitions())
    for i in (1, len(first) - 1, len(first) // 2, 0):
        assert described(again[i]) == first[i]


@every
def test_some_documents_once_more(tmp_path: Path, name: str, tune: Tune) -> None:
    source = many(tmp_path, name, tune)
    documents = [part.read(None) for part in source.partitions()]
    for step in (1, 2, 3, 1000):
        for part, whole in zip(source.partitions(), documents, strict=True):
            count = len(whole.text)
            for rows in (np.arange(0, count, step), np.arange(0)):
                text = part.texts(rows, count)
                assert text.to_pylist() == whole.text.take(pa.array(rows)).to_pylist()
                assert text.type == pa.large_string() and not text.offset
                expected = whole.columns.take(pa.array(rows)).to_pylist()
                assert part.table(rows, count).to_pylist() == expected
            assert part.table(None, count).to_pylist() == whole.columns.to_pylist()
            assert part.table(None, count).schema.equals(part.schema())
            with pytest.raises(FormatError, match="changed"):
                part.records(None, count + 1)


@pytest.mark.parametrize("name", [n for n in FILES if n.endswith((".jsonl", "csv", "parquet"))])
def test_partitions_of_plain_files_are_small_when_pickled(tmp_path: Path, name: str) -> None:
    source = opened(made(tmp_path, name), 1000, id="id")
    for part in source.partitions():
        raw = pickle.dumps(part)
        assert len(raw) < 1500
        other = pickle.loads(raw)
        assert other.read(("id",)).text.equals(part.read().text)


@every
def test_sources_are_picklable(tmp_path: Path, name: str, tune: Tune) -> None:
    source = many(tmp_path, name, tune)
    other = pickle.loads(pickle.dumps(source))
    assert texts_of(other) == texts_of(source)
    assert other.layout(0 if source.files else -1) == source.layout(0 if source.files else -1)


def test_threads_read_slices_of_a_row_group_in_any_order(tmp_path: Path, tune: Tune) -> None:
    from concurrent.futures import ThreadPoolExecutor

    source = many(tmp_path, "sliced.parquet", tune)
    parts = list(source.partitions())
    expected = [f"t{i} " * 9 for i in range(900)]
    with ThreadPoolExecutor(4) as pool:
        for order in (parts, parts[::-1]):
            found = list(pool.map(lambda part: part.read().text.to_pylist(), order))
            assert [text for texts in found[:: 1 if order is parts else -1] for text in texts] == (
                expected
            )


@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz", "a.csv", "a.parquet", "file.feather"])
def test_a_source_that_has_changed(tmp_path: Path, name: str) -> None:
    path = made(tmp_path, name)
    source = opened(path)
    (part,) = source.partitions()
    assert len(part.read().text) == len(TEXTS)
    source.check_unchanged()
    raw = path.read_bytes()
    path.write_bytes(raw[: len(raw) // 2])
    if name not in ("a.jsonl.gz", "file.feather"):  # these hold what they read
        with pytest.raises(FormatError, match=r"changed|not Parquet"):
            part.texts(np.arange(2), len(TEXTS))
    with pytest.raises(FormatError, match="has changed while it was read"):
        source.check_unchanged()
    path.unlink()
    with pytest.raises(InputError, match="removed"):
        source.check_unchanged()


def test_text_array_is_dense_and_shares_bytes() -> None:
    table = pa.Table.from_pylist(ROWS)
    (part,) = opened(table).partitions()
    text = part.read().text
    assert text.buffers()[2].address == table.column("text").chunk(0).buffers()[2].address
    for part in opened(table, 1000).partitions():
        text = part.read().text
        text.validate(full=True)
        assert text.offset == 0 and text.null_count == 0
        assert int.from_bytes(text.buffers()[1].to_pybytes()[:8], "little") == 0


def test_text_columns_are_joined_and_null_is_empty(tmp_path: Path) -> None:
    table = pa.table({"a": ["x", None, "z"], "b": ["1", "2", None], "c": pa.nulls(3)})
    path = tmp_path / "a.jsonl"
    path.write_text('{"a":"x","b":"1"}\n{"b":"2","a":null,"c":null}\n{"a":"z"}\n')
    for source in (table, path):
        assert texts_of(opened(source, text=("a", "b"))) == ["x 1", " 2", "z "]
        assert texts_of(opened(source, text=("b", "a"))) == ["1 x", "2 ", " z"]
        assert texts_of(opened(source, text="a")) == ["x", "", "z"]
        assert texts_of(opened(source, text="c")) == ["", "", ""]
