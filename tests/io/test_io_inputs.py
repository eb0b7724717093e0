"""Which files are read: endings, folders, patterns, plain texts, pipes, compressed files."""

from __future__ import annotations

import gzip
import io
import json
import os
import sys
import threading
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from io_samples import names_of, opened, rows_of, texts_of

from neardup.errors import (
    ColumnError,
    EncodingError,
    FormatError,
    InputError,
    InputNotFoundError,
    SpecError,
)
from neardup.io.opening import open_source
from neardup.io.paths import find_files
from neardup.io.source import Columns


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
    source = opened(tmp_path)
    assert texts_of(source) == sorted(names) == [file.name for file in source.files]
    assert source.id_column is None and source.format == "mixed"
    assert [part.file for part in source.partitions()] == list(range(5))
    assert [part.file for part in source.partitions(3)] == [3]
    put(tmp_path / "notes.md", "x")
    with pytest.raises(FormatError, match=r"notes\.md") as caught:
        opened(tmp_path)
    assert "`input_format`" in caught.value.hint
    (tmp_path / "notes.md").rename(tmp_path / "notes.txt")
    with pytest.raises(FormatError, match="mixed"):
        opened(tmp_path)


@pytest.mark.parametrize("size", [64, 8 << 20])
def test_folder_of_texts(tmp_path: Path, size: int) -> None:
    names = ["b.txt", "a/z.md", "c", "a/nul.txt"]
    for name in names:
        put(tmp_path / name, name + "\x01\r\n" + "é" * 40)
    (tmp_path / "empty.txt").touch()
    source = opened(tmp_path, size)
    rows = rows_of(source, ("path", "text"))
    assert [row["path"] for row in rows] == sorted([*names, "empty.txt"])
    assert texts_of(source)[0] == "a/nul.txt\x01\r\n" + "é" * 40 == rows[0]["text"]
    assert source.id_column == "path" and names_of(source) == ("path", "text")
    assert sum(part.size for part in source.partitions()) == source.total_bytes
    with pytest.raises(ColumnError, match="there are path, text"):
        texts_of(opened(tmp_path, text="body"))


def test_text_files_and_their_encoding(tmp_path: Path) -> None:
    one = put(tmp_path / "x/a.txt", "one")
    put(tmp_path / "y/a.txt", "two")
    assert texts_of(opened(one)) == ["one"]
    both = opened([tmp_path / "x", tmp_path / "y"])
    assert rows_of(both, ("path",)) == [{"path": "x/a.txt"}, {"path": "y/a.txt"}]
    one.write_bytes(b"\xef\xbb\xbfbad \xff")
    with pytest.raises(EncodingError, match=r"a\.txt: not valid UTF-8 \(line 1, byte 5: 0xFF\)"):
        texts_of(opened(one))
    source = opened(one, encoding_errors="replace")
    assert texts_of(source) == ["bad \ufffd"]
    assert sum(part.read().replaced for part in source.partitions()) == 1


def test_names_that_are_not_utf8(tmp_path: Path) -> None:
    (tmp_path / "texts").mkdir()
    name = os.fsdecode(b"a\xff.txt")
    try:
        (tmp_path / "texts" / name).write_text("one")
    except OSError:
        pytest.skip("this file system takes UTF-8 only")
    with pytest.raises(EncodingError, match="column 'path' is not valid UTF-8"):
        rows_of(opened(tmp_path / "texts"), ("path",))
    found = rows_of(opened(tmp_path / "texts", encoding_errors="replace"), ("path",))
    assert found == [{"path": "a\ufffd.txt"}]


def test_patterns_order_and_names(tmp_path: Path) -> None:
    for name in ("b.jsonl", "a.jsonl", "deep/c.jsonl", "[x].jsonl"):
        put(tmp_path / name, name)
    assert texts_of(opened(f"{tmp_path}/?.jsonl")) == ["a.jsonl", "b.jsonl"]
    every = opened(f"{tmp_path}/**")
    assert len(texts_of(every)) == 4
    assert sorted(f.name for f in every.files) == [
        "[x].jsonl",
        "a.jsonl",
        "b.jsonl",
        "deep/c.jsonl",
    ]
    assert texts_of(opened(f"{tmp_path}/[x].jsonl")) == ["[x].jsonl"]  # a file by this name
    order = [tmp_path / "b.jsonl", str(tmp_path / "a.jsonl")]
    assert texts_of(opened(order)) == ["b.jsonl", "a.jsonl"]
    with pytest.raises(InputNotFoundError, match="pattern"):
        opened(f"{tmp_path}/*.csv")


def test_files_of_one_name_have_names_of_their_own(tmp_path: Path) -> None:
    one, two = put(tmp_path / "x/a.jsonl", "1"), put(tmp_path / "y/A.jsonl", "2")
    assert [f.name for f in opened([one, two]).files] == ["x/a.jsonl", "y/A.jsonl"]
    pipe = tmp_path / "p/a.jsonl"
    pipe.parent.mkdir()
    os.mkfifo(pipe)
    names = [f.name for f in opened([pipe, one]).files]
    assert names == ["a.jsonl", "a-2.jsonl"]


def test_what_is_refused_at_once(tmp_path: Path) -> None:
    path = put(tmp_path / "a.jsonl", "a")
    odd = put(tmp_path / "a.xyz", "a")
    (tmp_path / "none").mkdir()
    with pytest.raises(InputNotFoundError, match="no such file"):
        opened(tmp_path / "nope.jsonl")
    with pytest.raises(InputNotFoundError, match="no files"):
        opened(tmp_path / "none")
    with pytest.raises(FormatError, match=r"unknown ending '\.xyz'") as caught:
        opened(odd)
    assert "`input_format`" in caught.value.hint
    with pytest.raises(FormatError, match="parquet within gzip, which is not read"):
        opened(put(tmp_path / "t.parquet.gz", "a"))
    with pytest.raises(InputError, match="given twice"):
        opened([path, Path(f"{tmp_path}/*.jsonl")])
    with pytest.raises(FormatError, match="mixed"):
        opened([path, put(tmp_path / "b.txt", "b")])
    settings: tuple[dict[str, Any], ...] = (
        {"text": ("a", "a")},
        {"encoding_errors": "ignore"},
    )
    for setting in settings:
        with pytest.raises(SpecError):
            opened(path, **setting)
    with pytest.raises(SpecError, match="partition_bytes"):
        opened(path, 1)
    with pytest.raises(SpecError, match="'xml'"):
        open_source(path, Columns(), input_format="xml")
    with pytest.raises(SpecError, match="files only"):
        open_source(["a"], Columns(), input_format="jsonl")


def test_a_list_of_names_of_files_is_no_list_of_texts(tmp_path: Path) -> None:
    paths = [str(put(tmp_path / name, "a")) for name in ("a.jsonl", "b.jsonl")]
    with pytest.raises(InputError, match="all of them are names of files") as caught:
        opened(paths)
    assert "pathlib.Path" in caught.value.hint
    assert texts_of(opened([*paths, "a text"])) == [*paths, "a text"]
    assert texts_of(opened(["", "x" * 10_000, "nul \0"])) == ["", "x" * 10_000, "nul \0"]


def test_input_format_wins(tmp_path: Path) -> None:
    path = put(tmp_path / "a.xyz", '{"text": "a"}')
    for format, text in (("jsonl", "a"), ("text", '{"text": "a"}')):
        assert texts_of(open_source(path, Columns(), input_format=format)) == [text]
    assert texts_of(open_source(tmp_path, Columns(), input_format="jsonl")) == ["a"]


@pytest.mark.skipif(os.name == "posix" and os.geteuid() == 0, reason="root may read everything")
def test_no_right_to_read(tmp_path: Path) -> None:
    path = put(tmp_path / "a.jsonl", "a")
    path.chmod(0)
    with pytest.raises(InputError, match="permission denied"):
        texts_of(opened(path))


@pytest.mark.parametrize("name", ["a.jsonl", "a.csv", "a.txt", "a.parquet", "a.jsonl.gz"])
def test_file_is_gone(tmp_path: Path, name: str) -> None:
    path = put(tmp_path / name, "a")
    source = opened(path)
    path.unlink()
    with pytest.raises(InputNotFoundError):
        texts_of(source)


def _made(path: Path, rows: pa.Table) -> None:
    """Write a table in a format that is not read."""
    import sqlite3

    import pyarrow.orc as orc

    if path.suffix == ".orc":
        orc.write_table(rows, path)
    elif path.suffix == ".pkl":
        rows.to_pandas().to_pickle(path)
    elif path.suffix == ".avro":
        polars = pytest.importorskip("polars")
        polars.from_arrow(rows).write_avro(path)
    else:
        with sqlite3.connect(path) as database:
            rows.to_pandas().to_sql("notes", database)
        database.close()


@pytest.mark.parametrize("ending", [".orc", ".pkl", ".avro", ".sqlite"])
def test_hints_convert_what_is_not_read(
    tmp_path: Path, ending: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("pandas")
    monkeypatch.chdir(tmp_path)
    _made(Path(f"a{ending}"), pa.table({"text": ["one", "two"]}))
    what = {".sqlite": "a database of SQLite, no plain text"}.get(ending, "unknown ending")
    with pytest.raises(FormatError, match=what) as caught:
        opened(Path(f"a{ending}"))
    code = caught.value.hint.partition('python -c "')[2].removesuffix('"')
    exec(code.replace("NAME", "notes"), {})
    assert texts_of(opened(Path("a.parquet"))) == ["one", "two"]


def test_endings_of_compressed_files(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    for name in ("a.md.gz", "b.md.gz"):
        (tmp_path / "notes" / name).write_bytes(gzip.compress(b"one text"))
    with pytest.raises(FormatError, match=r"a\.md\.gz: unknown ending '\.md'") as caught:
        opened(tmp_path / "notes")
    assert caught.value.hint == "name its format: `input_format`='text'"
    source = open_source(tmp_path / "notes", Columns(), input_format="text")
    assert texts_of(source) == ["one text"] * 2
    for name, what, remedy in (
        ("x.tar.gz", "tar within gzip", "tar xf"),
        ("x.feather.zst", "feather within zstd", "unzstd"),
        ("x.tgz", "unknown ending '.tgz'", "tar xf"),
        ("README.gz", "unknown ending '.gz'", "`input_format`"),
        ("x y.dta", "unknown ending '.dta'", "read_stata('FILE.dta')"),
    ):
        with pytest.raises(FormatError, match=what) as caught:
            opened(put(tmp_path / name, "a"))
        assert remedy in caught.value.hint


def test_columns_may_differ_between_files(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("text,n\na,1\nb,\n")
    (tmp_path / "b.jsonl").write_text('{"id": "x", "text": "c", "n": 2.5}\n')
    pq.write_table(pa.table({"text": ["d"], "n": [7]}), tmp_path / "c.parquet")
    source = opened(tmp_path, extra=("n",))
    assert rows_of(source, ("n",)) == [{"n": "1"}, {"n": None}, {"n": 2.5}, {"n": 7}]
    with pytest.raises(ColumnError, match=r"a\.csv: no column 'id'"):
        texts_of(opened(tmp_path, id="id"))


@pytest.mark.parametrize("codec", ["gzip", "zstd"])
@pytest.mark.parametrize("name", ["a.jsonl", "a.csv", "a.txt"])
def test_damaged_compression(tmp_path: Path, codec: str, name: str) -> None:
    raw = pa.Codec(codec).compress(b'"text"\n' + os.urandom(5000), asbytes=True)
    path = tmp_path / (name + {"gzip": ".gz", "zstd": ".zst"}[codec])
    other = {"gzip": "zstd", "zstd": "gzip"}[codec]
    as_other = name + {"gzip": ".gz", "zstd": ".zst"}[other]
    for content, said, remedy in (
        (raw[:-10], "data is cut off or damaged", "fetch or compress the file again"),
        (raw[:20], "data is cut off or damaged", "fetch or compress the file again"),
        (raw[:3], "data is cut off or damaged", "fetch or compress the file again"),
        (b"SECRET not compressed", "not compressed by", f"rename it to {name}"),
        (
            pa.Codec(other).compress(b"x", asbytes=True),
            "not compressed",
            f"rename it to {as_other}",
        ),
    ):
        path.write_bytes(content)
        with pytest.raises(FormatError, match=said) as caught:
            texts_of(opened(path, encoding_errors="replace"))
        assert str(path) in str(caught.value) and codec in str(caught.value)
        assert caught.value.hint == remedy
    path.write_bytes(b"")
    assert texts_of(opened(path)) == ([""] if name == "a.txt" else [])


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
    source = open_source("-", Columns(), input_format=format)
    assert source.total_bytes is None and not source.rereadable
    assert texts_of(source) == (["one\ntwo"] if format == "text" else ["one", "two"])
    with pytest.raises(InputError, match="can be read once only"):
        texts_of(source)


def test_lines_of_stdin_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    class Stdin:
        buffer = io.BytesIO(b'{"text":"a"}\n{"text":"b"}\n{"text":3}\n')

    monkeypatch.setattr(sys, "stdin", Stdin)
    with pytest.raises(ColumnError, match="-: line 3"):
        texts_of(opened("-", 64))


def test_named_pipe(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_bytes(b'{"text":"a"}\n'))
    writer.start()
    source = open_source(pipe, Columns(), input_format="jsonl")
    assert texts_of(source) == ["a"]
    writer.join()


def test_a_link_to_another_input_is_named(tmp_path: Path) -> None:
    path, link = put(tmp_path / "b.jsonl", "a"), tmp_path / "a.jsonl"
    link.symlink_to("b.jsonl")
    with pytest.raises(InputError, match="given twice") as caught:
        find_files([tmp_path], None)
    said = f"{link} is a link to {path.resolve()}: remove it, or leave it out by a pattern"
    assert caught.value.hint == said
    with pytest.raises(InputError, match="given twice") as caught:
        find_files([link, link], None)
    assert caught.value.hint == "name each input once"


def test_a_link_to_nothing_in_a_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / "link.jsonl").symlink_to("gone.jsonl")
    with pytest.raises(InputNotFoundError, match=r"/link\.jsonl: no such file"):
        find_files([tmp_path], None)
