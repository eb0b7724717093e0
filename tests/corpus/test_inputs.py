"""Which files are read: endings, folders, patterns, plain texts, pipes, compressed files."""

from __future__ import annotations

import gzip
import io
import json
import os
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from neardup.corpus import open_corpus, open_files
from neardup.errors import (
    ColumnError,
    EncodingError,
    FormatError,
    InputError,
    InputNotFoundError,
    SpecError,
)

from .conftest import table_of, texts_of


def put(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    raw = (json.dumps({"text": text}) + "\n").encode()
    if path.suffix == ".parquet":
        pq.write_table(pa.table({"text": [text]}), path)
    elif path.suffix == ".gz":
        path.write_bytes(gzip.compress(raw))
    elif path.suffix in (".jsonl", ".ndjson", ".json"):
        path.write_bytes(raw)
    elif path.suffix == ".csv":
        path.write_text(f"text\n{text}\n")
    else:
        path.write_text(text)
    return path


def test_folder_of_tables(tmp_path: Path) -> None:
    names = ["b.jsonl", "a/z.parquet", "a/b.csv", "c.JSON.gz", "d.ndjson"]
    for name in names:
        put(tmp_path / name, name)
    put(tmp_path / ".hidden.xyz", "no")
    put(tmp_path / ".git/x.jsonl", "no")
    corpus = open_corpus(tmp_path)
    assert texts_of(corpus) == sorted(names)
    assert corpus.id_column is None
    assert Path(corpus.inputs[0].path).name == "b.csv"
    put(tmp_path / "notes.md", "x")
    with pytest.raises(FormatError, match=r"notes\.md") as caught:
        open_corpus(tmp_path)
    assert "--input-format" in caught.value.hint
    (tmp_path / "notes.md").rename(tmp_path / "notes.txt")
    with pytest.raises(FormatError, match="mixed") as caught:
        open_corpus(tmp_path)
    assert "--input-format" in caught.value.hint


@pytest.mark.parametrize("chunk_bytes", [64, 8 << 20])
def test_folder_of_texts(tmp_path: Path, chunk_bytes: int) -> None:
    names = ["b.txt", "a/z.md", "c", "a/nul.txt"]
    for name in names:
        put(tmp_path / name, name + "\x00\r\n" + "é" * 40)
    (tmp_path / "empty.txt").touch()
    corpus = open_corpus(tmp_path, chunk_bytes=chunk_bytes)
    table = table_of(corpus)
    assert table.column("path").to_pylist() == sorted([*names, "empty.txt"])
    assert texts_of(corpus)[0] == "a/nul.txt\x00\r\n" + "é" * 40
    assert corpus.id_column == "path"
    assert sum(chunk.size for chunk in corpus.chunks()) == corpus.total_bytes
    with pytest.raises(ColumnError, match="there are path, text"):
        texts_of(open_corpus(tmp_path, text="body"))


def test_text_files_and_their_encoding(tmp_path: Path) -> None:
    one = put(tmp_path / "x/a.txt", "one")
    put(tmp_path / "y/a.txt", "two")
    assert texts_of(open_corpus(one)) == ["one"]
    table = table_of(open_files([tmp_path / "x", tmp_path / "y"]))
    assert [path.split("/")[-2:] for path in table.column("path").to_pylist()] == [
        ["x", "a.txt"],
        ["y", "a.txt"],
    ]
    one.write_bytes(b"\xef\xbb\xbfbad \xff")
    with pytest.raises(EncodingError, match=r"a\.txt"):
        texts_of(open_corpus(one))
    corpus = open_corpus(one, encoding_errors="replace")
    assert texts_of(corpus) == ["bad \ufffd"]
    assert sum(chunk.read().replaced for chunk in corpus.chunks()) == 1


def test_patterns_and_order(tmp_path: Path) -> None:
    for name in ("b.jsonl", "a.jsonl", "deep/c.jsonl", "[x].jsonl"):
        put(tmp_path / name, name)
    assert texts_of(open_corpus(f"{tmp_path}/?.jsonl")) == ["a.jsonl", "b.jsonl"]
    assert len(texts_of(open_corpus(f"{tmp_path}/**"))) == 4
    assert texts_of(open_corpus(f"{tmp_path}/[x].jsonl")) == ["[x].jsonl"]  # a file by this name
    order = [tmp_path / "b.jsonl", tmp_path / "a.jsonl"]
    assert texts_of(open_corpus(order)) == ["b.jsonl", "a.jsonl"]
    with pytest.raises(InputNotFoundError, match="pattern"):
        open_corpus(f"{tmp_path}/*.csv")


def test_what_is_refused_at_once(tmp_path: Path) -> None:
    path = put(tmp_path / "a.jsonl", "a")
    odd = put(tmp_path / "a.xyz", "a")
    (tmp_path / "none").mkdir()
    with pytest.raises(InputNotFoundError, match="no such file"):
        open_corpus(tmp_path / "nope.jsonl")
    with pytest.raises(InputNotFoundError, match="no files"):
        open_corpus(tmp_path / "none")
    with pytest.raises(FormatError, match=r"unknown ending '\.xyz'") as caught:
        open_corpus(odd)
    assert "--input-format" in caught.value.hint
    with pytest.raises(FormatError, match=r"unknown ending '\.gz'"):
        open_corpus(put(tmp_path / "t.parquet.gz", "a"))
    with pytest.raises(InputError, match="given twice"):
        open_files([path, f"{tmp_path}/*.jsonl"])
    for empty in ([], ()):
        with pytest.raises(InputError, match="no input"):
            open_corpus(empty)
    with pytest.raises(FormatError, match="mixed"):
        open_files([path, put(tmp_path / "b.txt", "b")])
    for setting in (
        {"text": ()},
        {"text": ("a", "a")},
        {"input_format": "xml"},
        {"encoding_errors": "ignore"},
        {"chunk_bytes": 1},
    ):
        with pytest.raises(SpecError):
            open_files(path, **setting)
    with pytest.raises(SpecError, match="files only"):
        open_corpus(["a"], input_format="jsonl")


def test_input_format_wins(tmp_path: Path) -> None:
    path = put(tmp_path / "a.xyz", '{"text": "a"}')
    assert texts_of(open_corpus(path, input_format="jsonl")) == ["a"]
    assert texts_of(open_corpus(path, input_format="text")) == ['{"text": "a"}']
    assert texts_of(open_corpus(tmp_path, input_format="jsonl")) == ["a"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_no_right_to_read(tmp_path: Path) -> None:
    path = put(tmp_path / "a.jsonl", "a")
    path.chmod(0)
    with pytest.raises(InputError, match="permission denied"):
        texts_of(open_corpus(path))


def test_file_is_gone(tmp_path: Path) -> None:
    for name in ("a.jsonl", "a.csv", "a.txt", "a.parquet"):
        path = put(tmp_path / name, "a")
        corpus = open_corpus(path)
        path.unlink()
        with pytest.raises(InputNotFoundError):
            texts_of(corpus)


def test_columns_may_differ_between_files(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("text,n\na,1\nb,\n")
    (tmp_path / "b.jsonl").write_text('{"id": "x", "text": "c", "n": 2.5}\n')
    pq.write_table(pa.table({"text": ["d"], "z": [[1]]}), tmp_path / "c.parquet")
    corpus = open_corpus(tmp_path)
    assert table_of(corpus).to_pylist() == [
        {"text": "a", "n": 1.0, "id": None, "z": None},
        {"text": "b", "n": None, "id": None, "z": None},
        {"text": "c", "n": 2.5, "id": "x", "z": None},
        {"text": "d", "n": None, "id": None, "z": [1]},
    ]
    with pytest.raises(ColumnError, match=r"a\.csv: no column 'id'"):
        texts_of(open_corpus(tmp_path, id="id"))


@pytest.mark.parametrize("codec", ["gzip", "zstd"])
@pytest.mark.parametrize("name", ["a.jsonl", "a.csv", "a.txt"])
def test_damaged_compression(tmp_path: Path, codec: str, name: str) -> None:
    raw = pa.Codec(codec).compress(b'"text"\n' + os.urandom(5000), asbytes=True)
    path = tmp_path / (name + {"gzip": ".gz", "zstd": ".zst"}[codec])
    for damaged in (raw[:-10], raw[:20], b"SECRET not compressed"):
        path.write_bytes(damaged)
        with pytest.raises(FormatError, match="cut off or damaged") as caught:
            texts_of(open_corpus(path, input_format=None, encoding_errors="replace"))
        assert str(path) in str(caught.value)
    path.write_bytes(b"")
    assert texts_of(open_corpus(path)) == ([""] if name == "a.txt" else [])


@pytest.mark.parametrize("format", ["jsonl", "csv", "tsv", "text", "parquet", "arrow"])
def test_stdin(monkeypatch: pytest.MonkeyPatch, format: str) -> None:
    table = pa.table({"text": ["one", "two"]})
    sink = io.BytesIO()
    if format == "parquet":
        pq.write_table(table, sink)
    elif format == "arrow":
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
    elif format == "jsonl":
        sink.write(b'{"text":"one"}\n{"text":"two"}')
    else:
        sink.write(b"one\ntwo" if format == "text" else b"text\none\ntwo")

    class Stdin:
        buffer = io.BytesIO(sink.getvalue())

    monkeypatch.setattr(sys, "stdin", Stdin)
    corpus = open_files("-", input_format=format)
    assert corpus.total_bytes is None
    assert texts_of(corpus) == (["one\ntwo"] if format == "text" else ["one", "two"])


def test_named_pipe(tmp_path: Path) -> None:
    import threading

    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_bytes(b'{"text":"a"}\n'))
    writer.start()
    corpus = open_files(pipe, input_format="jsonl")
    assert corpus.total_bytes is None
    assert texts_of(corpus) == ["a"]
    writer.join()
