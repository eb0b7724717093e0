"""Parquet, Arrow IPC and frames: partitions, types that are refused, damage, UTF-8, real sizes."""

from __future__ import annotations

import random
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
from io_samples import frame, opened, rows_of, texts_of

import neardup
from common import WRITES_VIEWS, Tune
from neardup.errors import ColumnError, EncodingError, FormatError, InputError
from neardup.io.formats import parquet
from neardup.tuning import TUNING


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
    table = pa.table({"text": [1], "body": ["x"], "l": [["x"]], "A long name": [1]})
    path = write(tmp_path / f"a{ending}", table)
    for text, says in (
        ("text", "'text' has the type int64, expected strings"),
        ("l", "'l' has the type list"),
        ("none", "no column 'none'; there are text, body, l, column 4"),
    ):
        with pytest.raises(ColumnError, match=says):
            texts_of(opened(path, text=text))
    with pytest.raises(ColumnError, match="no column 'id'"):
        texts_of(opened(path, text="body", id="id"))
    with pytest.raises(ColumnError, match=r"'l' has the type list.* which can't be an id"):
        texts_of(opened(path, text="body", id="l"))
    twice = pa.Table.from_arrays([pa.array(["a"])] * 2, names=["text", "text"])
    with pytest.raises(ColumnError, match="two columns"):
        texts_of(opened(twice))


@endings
@pytest.mark.parametrize("type", ["large_string", "dictionary", "null", "string_view"])
def test_types_of_text(tmp_path: Path, ending: str, type: str) -> None:
    array = pa.array(["a", None, "long " * 10])
    if type == "dictionary":
        array = array.dictionary_encode()
    elif type == "null":
        array = pa.nulls(3)
    else:
        array = array.cast(getattr(pa, type)())
    source = opened(write(tmp_path / f"a{ending}", pa.table({"text": array})))
    expected = ["", "", ""] if type == "null" else ["a", "", "long " * 10]
    assert texts_of(source) == expected
    (part,) = source.partitions()
    assert part.texts(np.array([0, 2]), 3).to_pylist() == expected[::2]
    assert part.records(np.array([1]), 3).column("text").to_pylist() == [None]


@endings
@WRITES_VIEWS
def test_views_are_written_as_views(tmp_path: Path, ending: str) -> None:
    """Where the format is that of the input; elsewhere they are strings."""
    view, raw = pa.string_view(), pa.binary_view()
    rows = {
        "id": pa.array([1, 2, 3]),
        "text": pa.array(["one two three four"] * 2 + ["five six seven"], view),
        "more": pa.array(["q", None, "longer than twelve bytes"], view),
        "raw": pa.array([b"\xff", None, b"x"], raw),
        "tags": pa.array([["a"], None, []], pa.list_(view)),
    }
    table = pa.table(rows)
    path = write(tmp_path / f"a{ending}", table)
    for source in (path, table):
        out = tmp_path / type(source).__name__
        neardup.dedup(source, out=out)
        (found,) = (out / "clean").iterdir()
        if found.suffix == ".parquet":
            assert pq.read_schema(found).equals(table.schema)
            assert pq.read_table(found).to_pylist() == [table.to_pylist()[row] for row in (0, 2)]
        else:
            with pa.ipc.open_file(found) as opened:
                assert opened.schema.equals(table.schema)
    neardup.dedup(table.drop_columns(["raw", "tags"]), out=tmp_path / "csv", format="csv")
    (found,) = (tmp_path / "csv" / "clean").iterdir()
    assert found.read_text().splitlines()[0] == "id,text,more"


@endings
def test_invalid_utf8(tmp_path: Path, ending: str) -> None:
    text, other = invalid(b"ok", b"SECRET\xff", b"x"), invalid(b"a", b"\xff", b"\xfe")
    table = pa.table({"text": text, "id": other, "d": text.dictionary_encode()})
    path = write(tmp_path / f"a{ending}", pa.concat_tables([table] * 20), row_group_size=30)
    with pytest.raises(EncodingError, match="record 2: column 'text' is not valid") as caught:
        texts_of(opened(path, 64))
    assert "SECRET" not in str(caught.value).replace(str(path), "")
    source = opened(path, 64, id="id", encoding_errors="replace")
    assert texts_of(source) == ["ok", "SECRET\ufffd", "x"] * 20
    assert sum(part.read(("id",)).replaced for part in source.partitions()) == 40
    assert texts_of(opened(path, 64, text="d", encoding_errors="replace"))[1] == "SECRET\ufffd"
    # What is held does not change what is written.
    for part in source.partitions():
        held = part.read(None)
        count = len(held.text)
        records = part.records(None, count, cached=held)
        assert (
            records.column("text")
            .cast(pa.binary())
            .equals(part.records(None, count).column("text").cast(pa.binary()))
        )


def test_parquet_partitions(tmp_path: Path) -> None:
    texts = [f"{i} " * 50 for i in range(5000)]
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"text": texts}), path, row_group_size=50)
    few = list(opened(path, 1 << 20).partitions())
    assert 1 < len(few) < 10  # small row groups are put together
    many = list(opened(path, 4096).partitions())
    assert 20 <= len(many) <= 100
    for parts in (few, many):
        assert sum(part.size for part in parts) == path.stat().st_size
        assert all(a.start + a.size == b.start for a, b in pairwise(parts))
        with ThreadPoolExecutor(3) as pool:
            read = pool.map(lambda part: part.read().text.to_pylist(), parts)
            assert [text for part in read for text in part] == texts


@pytest.mark.parametrize("dictionary", [True, False])
def test_a_large_row_group_is_sliced(tmp_path: Path, dictionary: bool) -> None:
    texts = [str(i) * 20 for i in range(9000)]
    path = write(tmp_path / "a.parquet", pa.table({"text": texts}), use_dictionary=dictionary)
    parts = list(opened(path, 8192).partitions())
    assert len(parts) > 50
    assert sum(part.size for part in parts) == path.stat().st_size
    assert [text for part in parts for text in part.read().text.to_pylist()] == texts
    assert max(part.read().text.nbytes for part in parts) < 5 * 8192


@pytest.mark.parametrize("at_once", [TUNING.looked_up_bytes, 1 << 16])
@pytest.mark.parametrize("rest", [0, 2000])
def test_repeated_texts_have_their_real_size(
    tmp_path: Path, tune: Tune, rest: int, at_once: int
) -> None:
    """A file of some kB that holds 40 MB of text is read in partitions of about 64 kB."""
    tune(looked_up_bytes=at_once)
    texts = ["words " * 300] * 20_000 + ["other " * 300] * 2000
    texts += [f"{i} " * 300 for i in range(rest)]
    path = write(tmp_path / "a.parquet", pa.table({"text": texts, "id": range(len(texts))}))
    assert rest or path.stat().st_size < 300_000
    parts = list(opened(path, 1 << 16, id="id").partitions())
    sizes = [part.read(("id",)).text.nbytes for part in parts]
    assert sum(sizes) > 39_000_000 and max(sizes) < 4 << 16


@pytest.mark.long
def test_repeated_texts_count_up_to_the_end_of_the_dictionary(tmp_path: Path) -> None:
    """Also those of the batch in which it ends."""
    texts = ["words " * 30_000, *(f"{n:06} {'y' * 30}" for n in range(19_000))]
    texts += texts[:1] * 1000 + [f"z{n:06} {'y' * 30}" for n in range(30_000)]
    path = write(tmp_path / "a.parquet", pa.table({"text": texts}))
    parts = list(opened(path, 1 << 20).partitions())
    assert 150 < len(parts) < 250  # of 183 MB


def test_few_texts_are_looked_at_where_a_dictionary_soon_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ordinary files begin with a dictionary that the first thousand texts fill."""
    texts = [f"{i} " * 300 for i in range(9000)]
    path = write(tmp_path / "a.parquet", pa.table({"text": texts}))
    seen: list[int] = []
    batches = pq.ParquetFile.iter_batches

    def counted(self: pq.ParquetFile, *options: Any, **more: Any) -> Iterator[pa.RecordBatch]:
        for batch in batches(self, *options, **more):
            seen.append(len(batch))
            yield batch

    monkeypatch.setattr(pq.ParquetFile, "iter_batches", counted)
    parts = list(opened(path, 1 << 19).partitions())
    assert 0 < sum(seen) <= 2000
    assert [text for part in parts for text in part.read().text.to_pylist()] == texts


def test_many_short_texts_are_cut(tmp_path: Path) -> None:
    path = write(tmp_path / "a.parquet", pa.table({"text": ["a"] * 100_000}))
    parts = list(opened(path, 1 << 16).partitions())
    assert max(len(part.read().text) for part in parts) <= 2048


def test_only_what_is_needed_is_decoded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = pa.table({"id": range(9), "text": list("abcdefghi"), "other": ["x" * 99] * 9})
    source = opened(write(tmp_path / "a.parquet", table), id="id")
    (part,) = source.partitions()
    asked: list[Any] = []
    load = parquet._ParquetFile.groups

    def groups(self: Any, groups: range, names: Any) -> pa.Table:
        asked.append(names)
        return load(self, groups, names)

    monkeypatch.setattr(parquet._ParquetFile, "groups", groups)
    part.read(("id",))
    part.texts(np.array([1]), 9)
    held = part.read(("text", "id"))
    records = part.records(np.array([0, 8]), 9, cached=held)
    assert [list(names) for names in asked] == [["text", "id"], ["text"], ["text", "id"], ["other"]]
    assert records.equals(table.take(pa.array([0, 8])))
    part.records(None, 9, cached=part.read(None))
    assert len(asked) == 5


@endings
def test_damaged(tmp_path: Path, ending: str) -> None:
    path = write(tmp_path / f"a{ending}", pa.table({"text": ["SECRET " * 100] * 1000}))
    raw = path.read_bytes()
    for damaged in (raw[: len(raw) // 2], b"SECRET", raw[:8] + b"\xff" * 400 + raw[408:]):
        path.write_bytes(damaged)
        try:
            texts_of(opened(path))
        except InputError as error:
            assert isinstance(error, FormatError | EncodingError)
            assert "SECRET" not in str(error) and path.name in str(error)
        else:
            assert len(damaged) == len(raw) and ending == ".arrow"  # Arrow has no checksums
    path.write_bytes(b"")
    assert texts_of(opened(path)) == []


@pytest.mark.long
@pytest.mark.parametrize("ending", [".parquet", ".arrow", ".stream.arrow"])
def test_mutated_files_end_in_one_clear_error(tmp_path: Path, ending: str) -> None:
    table = pa.table(
        {
            "text": [f"text {i}" for i in range(40)],
            "l": [["a", "b" * i] for i in range(40)],
            "s": [{"x": f"y{i}"} for i in range(40)],
            "d": pa.array(["a", "b"] * 20).dictionary_encode(),
        }
    )
    path = tmp_path / f"a{ending}"
    if ending == ".stream.arrow":
        with pa.ipc.new_stream(path, table.schema) as stream:
            stream.write_table(table)
    else:
        write(path, table)
    raw = path.read_bytes()
    generator = random.Random(1)
    read = 0
    for _ in range(400):
        damaged = bytearray(raw)
        for _ in range(generator.randint(1, 4)):
            damaged[generator.randrange(len(raw))] = generator.randrange(256)
        path.write_bytes(damaged)
        try:
            for part in opened(path, 1000).partitions():
                documents = part.read(None)
                part.records(np.arange(0, len(documents.text), 2), len(documents.text))
            read += 1
        except InputError as error:
            assert path.name in str(error) and "\n" not in str(error)
    assert 0 < read < 400


@pytest.mark.parametrize("ending", [".parquet", ".arrow"])
@pytest.mark.parametrize("word", [b"oddname", b"metakey", b"metavalue"])
def test_names_and_metadata_that_are_not_utf8(tmp_path: Path, ending: str, word: bytes) -> None:
    """They are copied, or refused in one line; no error of another library comes through."""
    table = pa.table({"text": ["SECRET a", "SECRET b"], "oddname": ["c", "d"]})
    path = write(tmp_path / f"a{ending}", table.replace_schema_metadata({"metakey": "metavalue"}))
    raw = path.read_bytes()
    assert word in raw
    path.write_bytes(raw.replace(word, b"\xff" * len(word)))
    try:
        run = neardup.dedup(path, out=tmp_path / "out")
    except InputError as error:
        assert "SECRET" not in str(error) and "\n" not in str(error) and path.name in str(error)
        assert not (tmp_path / "out").exists()
    else:
        assert run.keep_mask.tolist() == [True, True]


def test_offsets_of_other_columns_are_checked(tmp_path: Path) -> None:
    good = pa.table({"text": ["a"] * 3, "l": [["x"], ["y"], ["z"]]})
    path = write(tmp_path / "a.arrow", good)
    raw = path.read_bytes()
    offsets = np.array([0, 1, 2, 3], np.int32).tobytes()
    at = raw.rindex(offsets)  # those of the strings in the lists
    bad = np.array([0, 1, 1 << 20, 3], np.int32).tobytes()
    path.write_bytes(raw[:at] + bad + raw[at + len(bad) :])
    with pytest.raises(FormatError, match="not Arrow IPC, or cut off or damaged"):
        texts_of(opened(path))


def test_frames_that_are_refused() -> None:
    for source, says in (
        (3, "can't read documents from int"),
        ({"train": frame("hf")}, "mapping"),
        ({}, "mapping"),
        (b"text", "single string"),
        (["a", 3], "record 2 is int"),
    ):
        with pytest.raises(InputError, match=says):
            texts_of(opened(source))
    with pytest.raises(ColumnError, match="there is text"):
        texts_of(opened(["a"], text="body"))
    with pytest.raises(ColumnError, match="'text'"):
        opened(pa.table({"body": ["a"]}))


def test_strings_with_lone_surrogates() -> None:
    with pytest.raises(EncodingError, match="record 2 has half a surrogate pair"):
        texts_of(opened(["a", "b\ud800"]))
    source = opened(["a", "b\ud800", None], encoding_errors="replace")
    assert texts_of(source) == ["a", "b\ufffd", ""]
    assert sum(part.read().replaced for part in source.partitions()) == 1


def test_pandas_with_objects_of_several_types() -> None:
    pandas = pytest.importorskip("pandas")
    data = pandas.DataFrame({"text": ["a", "b"], "m": [1, "SECRET"]})
    (part,) = opened(data).partitions()
    assert part.records(None, 2).column("m").to_pylist() == ["1", "SECRET"]
    for odd in ([object(), "SECRET"], pandas.arrays.SparseArray([0, 7])):
        data = pandas.DataFrame({"text": ["a", "b"], "m": odd}, index=[7, 8])
        assert texts_of(opened(data)) == ["a", "b"]  # it stops only what writes
        for how in ({}, {"text": ("m",)}):
            with pytest.raises(ColumnError, match="'m' has values of several types") as caught:
                opened(data, **how).layout(-1)
            assert "SECRET" not in str(caught.value)
    data = pandas.DataFrame({"text": ["SECRET\ud800"]}, dtype=object)
    with pytest.raises(EncodingError, match="surrogate"):
        texts_of(opened(data))


def test_hugging_face_with_indices_and_streams() -> None:
    dataset = frame("hf").select([5, 3, 3, 0])
    texts = [frame("hf")[i]["text"] for i in (5, 3, 3, 0)]
    assert texts_of(opened(dataset)) == texts
    streamed = opened(dataset.to_iterable_dataset())
    assert texts_of(streamed) == texts == texts_of(streamed)


def test_text_offsets_of_slices_with_nulls() -> None:
    array = pa.array(["skip", None, "漢字", "x", None])
    for kind in (pa.string(), pa.large_string(), pa.string_view()):
        (part,) = opened(pa.table({"text": array.cast(kind)}).slice(1, 3)).partitions()
        text = part.read().text
        offsets = np.frombuffer(text.buffers()[1], np.int64)[: len(text) + 1]
        assert offsets.tolist() == [0, 0, 6, 7]
        assert text.to_pylist() == ["", "漢字", "x"]


def test_ids_keep_their_types() -> None:
    table = pa.table(
        {"text": ["a"], "id": pa.array([1], pa.uint16()), "b": pa.array([b"x"], pa.binary(1))}
    )
    assert rows_of(opened(table, id="id", extra=("b",)), ("id", "b")) == [{"id": 1, "b": b"x"}]


def test_rows_of_arrow_files_do_not_stay_in_memory(tmp_path: Path) -> None:
    path = tmp_path / "a.arrow"
    feather.write_feather(pa.table({"text": ["some words"] * 1000}), path, chunksize=100)
    source = opened(path, 1000)
    before = pa.total_allocated_bytes()
    parts = sum(1 for _ in source.partitions())
    assert parts > 5 and pa.total_allocated_bytes() <= before
