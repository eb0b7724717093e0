"""A corpus is gone through several times, each time with the same chunks, some read in part."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from neardup.corpus import Chunk, Corpus, columnar, conform, open_corpus, open_frame, unify
from neardup.errors import FormatError

from .conftest import table_of, texts_of
from .test_same_texts import FILES, KINDS, frame, made

SMALL = 1000


def described(chunks: list[Chunk]) -> list[tuple[int, list[Any], list[str]]]:
    found = [(chunk.size, chunk.read()) for chunk in chunks]
    return [(size, docs.table.to_pylist(), docs.text.to_pylist()) for size, docs in found]


def opened(folder: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> Corpus:
    """A corpus of many chunks, from a file or a frame."""
    if name == "texts":
        for i in range(30):
            (folder / f"{i:02}.txt").write_text(f"text {i}" * i)
        return open_corpus(folder, chunk_bytes=SMALL)
    if name == "split.parquet":
        monkeypatch.setattr(columnar, "_LARGE_GROUP", 100)
        pq.write_table(pa.table({"text": [f"t{i} " * 9 for i in range(900)]}), folder / name)
        return open_corpus(folder / name, chunk_bytes=SMALL)
    if name in FILES:
        return open_corpus(made(folder, name), chunk_bytes=SMALL)
    return open_corpus(frame(name), chunk_bytes=SMALL)


every = pytest.mark.parametrize("name", [*FILES, *KINDS, "list", "texts", "split.parquet"])


@every
def test_the_same_chunks_each_time(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus = opened(tmp_path, name, monkeypatch)
    assert corpus.rereadable
    first = described(list(corpus.chunks()))
    assert len(first) > 1
    assert described(list(corpus.chunks())) == first
    # Of a third pass only every other chunk is read, while it is gone through.
    for i, chunk in enumerate(corpus.chunks()):
        if i % 2:
            assert described([chunk]) == [first[i]]


@every
def test_some_documents_of_chunks_that_were_not_read(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus = opened(tmp_path, name, monkeypatch)
    documents = [chunk.read() for chunk in corpus.chunks()]
    schema = unify(d.table.schema for d in documents)
    for step in (1, 2, 3, 1000):
        for chunk, whole in zip(corpus.chunks(), documents, strict=True):
            count = len(whole.text)
            for rows in (np.arange(0, count, step), np.arange(0)):
                some = chunk.read_again(rows, count, schema)
                assert some.text.to_pylist() == whole.text.take(rows).to_pylist()
                expected = conform(whole.table, schema).take(rows)
                assert conform(some.table, schema).to_pylist() == expected.to_pylist()


def test_what_can_be_read_once_only() -> None:
    table = pa.table({"text": ["a"]})
    for source in (
        table.to_reader(),
        iter(["a"]),
        (text for text in ["a"]),
        frame("hf").to_iterable_dataset(),
        {"a": 1}.keys(),
    ):
        assert not open_frame(source).rereadable


def test_lines_that_are_no_documents(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    rows = [{"text": f"t{i}", "n": 2**70 if i == 5 else i} for i in range(9)]
    path.write_text("\n \n".join(map(json.dumps, rows)) + "\n\n")
    for chunk in open_corpus(path).chunks():
        again = chunk.read_again(np.array([1, 8]), 9)
        assert again.text.to_pylist() == ["t1", "t8"]


def test_mixed_values_are_written_as_they_were(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    values = [3, 2.5, "x", {"a": 1}, {"b": 2}, None, 2**70]
    path.write_text("".join(json.dumps({"text": "t", "m": v}) + "\n" for v in values))
    corpus = open_corpus(path)
    schema = unify([table_of(corpus).schema])
    (chunk,) = corpus.chunks()
    for rows in ([0, 1], [3, 4], [0, 6], [5], list(range(7))):
        table = conform(chunk.read_again(np.array(rows), 7, schema).table, schema)
        texts = table.column("m").to_pylist()
        assert [None if t is None else json.loads(t) for t in texts] == [values[r] for r in rows]
        assert texts == [
            None if v is None else json.dumps(v, separators=(",", ":"))
            for v in (values[r] for r in rows)
        ]


def test_objects_across_lines_are_refused(tmp_path: Path) -> None:
    # As many lines as objects, which therefore can't be told by their number.
    path = tmp_path / "a.jsonl"
    path.write_bytes(
        b'{"text":"z"} {"text":"y"}\n{"u":[\n{"text":"c"}\n],"text":"d"} {"text":""}\n'
    )
    with pytest.raises(FormatError, match="line 1"):
        texts_of(open_corpus(path))


@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz", "a.csv", "a.parquet", "a.arrow"])
def test_a_source_that_has_changed(tmp_path: Path, name: str) -> None:
    path = tmp_path / name

    def write(count: int) -> None:
        table = pa.table({"text": [f"t{i}" for i in range(count)]})
        lines = "".join(f'{{"text":"t{i}"}}\n' for i in range(count)).encode()
        if name.endswith(".gz"):
            path.write_bytes(gzip.compress(lines))
        elif name.endswith(".jsonl"):
            path.write_bytes(lines)
        elif name.endswith(".csv"):
            path.write_text("text\n" + "".join(f"t{i}\n" for i in range(count)))
        elif name.endswith(".parquet"):
            pq.write_table(table, path)
        else:
            with pa.ipc.new_file(path, table.schema) as writer:
                writer.write_table(table)

    write(20)
    corpus = open_corpus(path)
    (chunk,) = corpus.chunks()
    assert len(chunk.read().text) == 20
    corpus.check_unchanged()
    write(10)
    rows = np.array([0, 15])
    with pytest.raises(FormatError, match=r"changed|shorter"):
        [c.read_again(rows, 20) for c in corpus.chunks()]
    with pytest.raises(Exception, match="changed while"):
        corpus.check_unchanged()
    path.unlink()
    with pytest.raises(Exception, match="taken away"):
        corpus.check_unchanged()
