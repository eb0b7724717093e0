"""Parquet, Arrow and frames: chunks, types that are refused, damage, UTF-8."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from neardup.corpus import open_corpus, open_frame
from neardup.errors import ColumnError, EncodingError, FormatError, InputError

from .conftest import texts_of


def invalid(*values: bytes) -> pa.Array:
    """Strings as they come from a file that nobody has checked."""
    raw = pa.array(values, pa.binary())
    return pa.StringArray.from_buffers(len(raw), *raw.buffers()[1:])


def write(path: Path, table: pa.Table, **options: Any) -> Path:
    if path.suffix == ".parquet":
        pq.write_table(table, path, **options)
    else:
        with pa.ipc.new_file(path, table.schema) as writer:
            writer.write_table(table)
    return path


endings = pytest.mark.parametrize("ending", [".parquet", ".arrow"])


@endings
def test_columns(tmp_path: Path, ending: str) -> None:
    path = write(tmp_path / f"a{ending}", pa.table({"text": [1], "body": ["x"], "l": [["x"]]}))
    for text, says in (
        ("text", "'text' holds int64"),
        ("l", "'l' holds list"),
        ("none", "no column 'none'; there are text, body, l"),
    ):
        with pytest.raises(ColumnError, match=says):
            texts_of(open_corpus(path, text=text))
    with pytest.raises(ColumnError, match="no column 'id'"):
        texts_of(open_corpus(path, text="body", id="id"))
    twice = pa.Table.from_arrays([pa.array(["a"])] * 2, names=["text", "text"])
    with pytest.raises(ColumnError, match="two columns"):
        texts_of(open_corpus(twice))


@endings
@pytest.mark.parametrize("type", ["large_string", "string_view", "dictionary", "null"])
def test_types_of_text(tmp_path: Path, ending: str, type: str) -> None:
    array = pa.array(["a", None, "long " * 10])
    if type == "dictionary":
        array = array.dictionary_encode()
    elif type == "null":
        array = pa.nulls(3)
    else:
        array = array.cast(getattr(pa, type)())
    path = write(tmp_path / f"a{ending}", pa.table({"text": array}))
    assert texts_of(open_corpus(path)) == (
        ["", "", ""] if type == "null" else ["a", "", "long " * 10]
    )


@endings
def test_invalid_utf8(tmp_path: Path, ending: str) -> None:
    text, other = invalid(b"ok", b"SECRET\xff", b"x"), invalid(b"a", b"\xff", b"\xfe")
    table = pa.table({"text": text, "id": other, "d": text.dictionary_encode()})
    path = write(tmp_path / f"a{ending}", pa.concat_tables([table] * 20), row_group_size=30)
    with pytest.raises(EncodingError, match="record 2: column 'text'") as caught:
        texts_of(open_corpus(path, chunk_bytes=64))
    assert "SECRET" not in str(caught.value).replace(str(path), "")
    corpus = open_corpus(path, id="id", chunk_bytes=64, encoding_errors="replace")
    assert texts_of(corpus) == ["ok", "SECRET\ufffd", "x"] * 20
    assert sum(chunk.read().replaced for chunk in corpus.chunks()) == 40
    for chunk in corpus.chunks():
        chunk.read().table.validate(full=True)


def test_parquet_chunks(tmp_path: Path) -> None:
    texts = [str(i) * 20 for i in range(10_000)]
    path = write(tmp_path / "a.parquet", pa.table({"text": texts}), row_group_size=100)
    few = list(open_corpus(path).chunks())
    assert len(few) == 1  # small row groups are put together
    many = list(open_corpus(path, chunk_bytes=4096).chunks())
    assert 20 <= len(many) <= 100
    for chunks in (few, many):
        assert sum(chunk.size for chunk in chunks) == path.stat().st_size
        with ThreadPoolExecutor(3) as pool:
            read = pool.map(lambda chunk: chunk.read().text.to_pylist(), chunks)
            assert [text for part in read for text in part] == texts


def test_a_large_row_group_is_split(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from neardup.corpus import columnar

    monkeypatch.setattr(columnar, "_LARGE_GROUP", 1000)
    texts = [str(i) * 20 for i in range(1000)]
    path = write(tmp_path / "a.parquet", pa.table({"text": texts}))
    chunks = list(open_corpus(path, chunk_bytes=4096).chunks())
    assert len(chunks) > 5
    assert sum(chunk.size for chunk in chunks) == path.stat().st_size
    assert [text for chunk in chunks for text in chunk.read().text.to_pylist()] == texts


@endings
def test_damaged(tmp_path: Path, ending: str) -> None:
    path = write(tmp_path / f"a{ending}", pa.table({"text": ["SECRET " * 100] * 1000}))
    raw = path.read_bytes()
    for damaged in (raw[: len(raw) // 2], b"SECRET", raw[:8] + b"\xff" * 400 + raw[408:]):
        path.write_bytes(damaged)
        try:
            texts_of(open_corpus(path))
        except InputError as error:
            assert isinstance(error, FormatError | EncodingError)
            assert "SECRET" not in str(error) and path.name in str(error)
        else:
            assert len(damaged) == len(raw) and ending == ".arrow"  # Arrow has no checksums
    path.write_bytes(b"")
    assert texts_of(open_corpus(path)) == []


def test_frames_that_are_refused() -> None:
    for source, says in (
        (3, "can't read documents from int"),
        ({"train": []}, "mapping"),
        ("text", "single string"),
        (["a", 3], "record 2 is int"),
    ):
        with pytest.raises(InputError, match=says):
            texts_of(open_frame(source))
    with pytest.raises(ColumnError, match="there is text"):
        texts_of(open_frame(["a"], text="body"))
    with pytest.raises(ColumnError):
        open_frame(pa.table({"body": ["a"]}))


def test_strings_with_lone_surrogates() -> None:
    with pytest.raises(EncodingError, match="record 2"):
        texts_of(open_frame(["a", "b\ud800"]))
    corpus = open_frame(["a", "b\ud800", None], encoding_errors="replace")
    assert texts_of(corpus) == ["a", "b\ufffd", ""]
    assert sum(chunk.read().replaced for chunk in corpus.chunks()) == 1


def test_pandas_with_objects_of_several_types() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"text": ["a", "b"], "m": [1, "SECRET"]})
    with pytest.raises(InputError) as caught:
        texts_of(open_frame(frame))
    assert "SECRET" not in str(caught.value)
    frame = pandas.DataFrame({"text": ["SECRET\ud800"]}, dtype=object)
    with pytest.raises(EncodingError, match="surrogate"):
        texts_of(open_frame(frame))


def test_text_offsets_of_slices_with_nulls() -> None:
    array = pa.array(["skip", None, "漢字", "x", None])
    for kind in (pa.string(), pa.large_string(), pa.string_view()):
        table = pa.table({"text": array.cast(kind)}).slice(1, 3)
        (chunk,) = open_frame(table).chunks()
        text = chunk.read().text
        offsets = np.frombuffer(text.buffers()[1], np.int64)[: len(text) + 1]
        assert offsets.tolist() == [0, 0, 6, 7]
        assert text.to_pylist() == ["", "漢字", "x"]
