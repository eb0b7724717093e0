"""Columns by paths, in every format and every command that reads columns."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

import neardup
from common import Command, write_lines
from neardup.errors import ColumnError, InputError, NeardupError, SpecError
from neardup.io.formats.column_paths import follow, shape_of, shape_of_values, why_missing
from neardup.io.opening import open_source
from neardup.io.source import Columns
from neardup.serve.stream_lines import LineReading

TEXT = "the quick brown fox jumps over the lazy dog and runs on"
#: Of equal texts in each path, the last has the lowest rank.
ROWS: list[dict[str, Any]] = [
    {
        "meta": {"deep": {"more": {"rank": 3}}, "key": "a", "text": TEXT},
        "chat": [{"content": TEXT, "role": "u"}, {"content": None, "role": "a"}],
        "tags": ["x", TEXT],
    },
    {
        "meta": {"text": TEXT.upper(), "key": "b", "deep": {"more": {"rank": 1}}},
        "chat": [{"role": "u", "content": TEXT}],
        "tags": ["x", None, TEXT],
    },
    {"meta": {"text": None, "key": "c", "deep": None}, "chat": [], "tags": None},
    {"meta": {"key": "d", "deep": {"more": None}}, "chat": None, "tags": [None, "y"]},
]
FORMATS = ["jsonl", "json", "gz", "parquet", "arrow", "table", "pandas", "polars", "records"]
PATHS = ["meta.text", "chat[].content", "tags[]"]


def _given(folder: Path, format: str, rows: list[dict[str, Any]]) -> Any:
    """The rows in a format."""
    table, path = pa.Table.from_pylist(rows), folder / f"rows.{format}"
    if format == "parquet":
        pq.write_table(table, path, row_group_size=3)
    elif format == "arrow":
        feather.write_feather(table, path)
    elif format in ("jsonl", "json"):
        write_lines(path, rows)
    elif format == "gz":
        import gzip

        path = folder / "rows.jsonl.gz"
        path.write_bytes(gzip.compress("".join(json.dumps(row) + "\n" for row in rows).encode()))
    else:
        frames: dict[str, Callable[[], Any]] = {
            "table": lambda: table,
            "pandas": lambda: pd.DataFrame(rows),
            "polars": lambda: pl.DataFrame(rows),
            "records": lambda: rows,
        }
        return frames[format]()
    return path


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("path", PATHS)
def test_texts_and_ranks_by_paths(kernels: None, tmp_path: Path, format: str, path: str) -> None:
    run = neardup.dedup(
        _given(tmp_path, format, ROWS), text=path, id="meta.key", keep="min:meta.deep.more.rank"
    )
    assert run.keep_mask.tolist() == [False, True, True, True]
    assert run.to_pandas("clusters")["doc_id"].tolist() == list("abcd")


def test_values_of_a_list_are_lines(kernels: None, tmp_path: Path) -> None:
    rows = [{"c": [{"t": "one"}, {"t": None}, {}, {"t": 'two "2"\n\u00e9'}]}, {"c": []}]
    for format in FORMATS:
        source = open_source(_source(tmp_path, format, rows), Columns(("c[].t",)))
        texts = [t for part in source.partitions() for t in part.read().text.to_pylist()]
        assert texts == ['one\ntwo "2"\n\u00e9', ""], format


def _source(folder: Path, format: str, rows: list[dict[str, Any]]) -> Any:
    given = _given(folder, format, rows)
    return [given] if isinstance(given, Path) else given


@pytest.mark.parametrize("format", ["jsonl", "parquet", "arrow", "table", "records"])
def test_a_column_of_that_name_wins(kernels: None, tmp_path: Path, format: str) -> None:
    rows = [
        {"m.t": TEXT, "m": {"t": f"{i} other words for each of the two documents"}} for i in "12"
    ]
    source = _given(tmp_path, format, rows)
    assert neardup.dedup(source, text="m.t").keep_mask.tolist() == [True, False]
    rows = [{"a.b": {"c.d": [{"x y": TEXT}]}, "a": {"b": {"c": {"d": i}}}} for i in "12"]
    source = _given(tmp_path, format, rows)
    assert neardup.dedup(source, text="a.b.c.d[].x y").keep_mask.tolist() == [True, False]


def test_only_the_leaves_are_read(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.Table.from_pylist(ROWS), path)
    source = open_source([path], Columns(("chat[].content", "meta.text"), extra=("meta.key",)))
    (part,) = source.partitions()
    read: Any = part
    schema = read.decoded(["chat[].content", "meta.key"]).schema
    assert set(schema.names) == {"meta", "chat"}
    assert schema.field("meta").type == pa.struct([("key", pa.string())])
    assert [f.name for f in schema.field("chat").type.value_type] == ["content"]
    found = part.read(("meta.key",))
    assert found.columns.column_names == ["meta.key"]
    assert found.columns.column(0).to_pylist() == list("abcd")


def test_texts_in_a_dictionary_have_their_size(tmp_path: Path) -> None:
    path, rows = tmp_path / "rows.parquet", [{"m": {"t": "x" * 10_000}}] * 2000
    pq.write_table(pa.Table.from_pylist(rows), path)
    assert path.stat().st_size < 100_000
    source = open_source([path], Columns(("m.t",)), partition_bytes=1_000_000)
    assert 15 < len(list(source.partitions())) < 30


@pytest.mark.parametrize("format", ["jsonl", "parquet"])
def test_the_clean_corpus_is_as_it_was(kernels: None, tmp_path: Path, format: str) -> None:
    source = _given(tmp_path, format, ROWS)
    neardup.dedup(source, text="meta.text", out=tmp_path / "out")
    (clean,) = (tmp_path / "out/clean").iterdir()
    if format == "jsonl":
        lines = source.read_bytes().splitlines(True)
        assert clean.read_bytes() == b"".join([lines[0], *lines[2:]])
    else:
        found = pq.read_table(clean)
        assert found.equals(pq.read_table(source).take([0, 2, 3]))


COMMANDS: dict[str, Callable[[Any], Any]] = {
    "against": lambda s: neardup.against(s, s, text="meta.text", id="meta.key").keep_mask.tolist(),
    "passages": lambda s: len(
        neardup.passages(
            s, text="chat[].content", id="meta.key", words=5, order_by="meta.key"
        ).table("passages")
    ),
    "within": lambda s: len(
        neardup.passages(s, text="meta.text", words=5, within="meta.key").table("passages")
    ),
    "decontaminate": lambda s: len(
        neardup.decontaminate(s, s, text="meta.text", id="meta.key").table("matches")
    ),
    "plan": lambda s: str(neardup.plan(s, text="tags[]")) != "",
    "index": lambda s: _index(s),
    "link": lambda s: (
        neardup.link(s, fields=["meta.text", "meta.key"], id="meta.key").table("clusters").num_rows
    ),
}
EXPECTED = {
    "against": [False, False, True, True],
    "passages": 1,
    "within": 0,
    "index": ["a", "b"],
    "link": 4,
}


def _index(source: Any) -> list[str]:
    with neardup.Index.create() as index:
        index.add(source, text="meta.text", id="meta.key")
        return list(index.query(TEXT).column("id").to_pylist())


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("format", ["jsonl", "parquet", "records"])
def test_commands(kernels: None, tmp_path: Path, command: str, format: str) -> None:
    found = COMMANDS[command](_given(tmp_path, format, ROWS))
    assert found == EXPECTED.get(command, found)


@pytest.mark.parametrize("format", ["jsonl", "parquet"])
def test_texts_in_structs_are_cut(kernels: None, tmp_path: Path, format: str) -> None:
    long = " ".join(f"w{i}" for i in range(30))
    rows = [
        {"m": {"t": f"{long} end", "k": [1]}},
        {"m": None},
        {"m": {"t": f'"a" {long}', "k": None}},
    ]
    source = _given(tmp_path, format, rows)
    neardup.passages(source, text="m.t", words=20, cut=True, out=tmp_path / "out")
    (file,) = (tmp_path / "out/clean").iterdir()
    read = pq.read_table(file).to_pylist() if format == "parquet" else None
    clean = read or [json.loads(line) for line in file.read_text().splitlines()]
    assert clean == [rows[0], rows[1], {"m": {"t": '"a" ', "k": None}}]
    with pytest.raises(SpecError, match="in lists, and it can't be cut"):
        neardup.passages(source, text="m.k[]", words=20, cut=True, out=tmp_path / "no")


#: Path, what is said of it, and the remedy.
REFUSED = [
    ("meta.txt", "no column 'meta.txt': 'meta' has 'deep', 'key', 'text'", "'meta.text'"),
    ("meta.deep.rank", "'meta.deep' has 'more'", ""),
    ("chat.content", "'chat' has lists", "`text`='chat[].content'"),
    ("chat", "column 'chat' ", "`text`='chat[].content'"),
    ("meta", "column 'meta' ", "`text`='meta.text'"),
    ("chat[].contents", "'chat[]' has 'content', 'role'", "'chat[].content'"),
    ("meta[]", "'meta' has no lists", ""),
    ("meta.text.x", "'meta.text' has values of type str", ""),
    ("other.text", "no column 'other.text'; there are meta, chat, tags", ""),
    ("lists[].x", "", ""),
    ("lists.x", "", ""),
    ("lists[][].x", "", ""),
    ("meta.", "", ""),
    ("meta..text", "", ""),
    ("[]", "", ""),
    ("chat[]", "", ""),
]


@pytest.mark.parametrize("format", ["jsonl", "parquet", "records"])
@pytest.mark.parametrize(("path", "said", "hint"), REFUSED)
def test_paths_to_nothing(
    kernels: None, tmp_path: Path, command: Command, format: str, path: str, said: str, hint: str
) -> None:
    rows = [{**row, "lists": [[{"x": TEXT}]]} for row in ROWS]
    source = _given(tmp_path, format, rows)
    with pytest.raises(ColumnError) as found:
        neardup.dedup(source, text=path, shingle="word:3")
    assert said in found.value.message and hint in found.value.hint
    if format == "records" or not hint:
        return
    done = command("dedup", source, "--text", path, "-o", tmp_path / "no", "--quiet")
    assert done.code == 1 and said in done.err
    *_, told = done.lines
    flag = told.partition("--text ")[2] or f"'{told.split(chr(39))[1]}'"
    (leads_to,) = shlex.split(flag)
    again = command("dedup", source, "--text", leads_to, "-o", tmp_path / "yes", "--quiet")
    assert again.code == 0, again.err


@pytest.mark.parametrize("option", ["--id", "--order-by", "--keep"])
@pytest.mark.parametrize("path", ["chat[].role", "tags[]", "meta", "chat", "meta.no"])
@pytest.mark.parametrize("format", ["jsonl", "parquet"])
def test_scalars_are_in_no_list(
    tmp_path: Path, command: Command, option: str, path: str, format: str
) -> None:
    source = _given(tmp_path, format, ROWS)
    value = f"max:{path}" if option == "--keep" else path
    done = command("dedup", source, "--text", "meta.text", option, value, "-o", tmp_path / "out")
    assert done.code == 1 and path in done.error


MIXED = [
    ({"m": "text"}, "leads through a string"),
    ({"m": [1]}, "leads through an array"),
    ({"m": 5}, "leads through a number"),
    ({"m": {"t": 5}}, "is a number, expected a string"),
    ({"m": {"t": [TEXT]}}, "is an array, expected a string"),
]


@pytest.mark.parametrize(("row", "said"), MIXED)
def test_records_of_another_shape(tmp_path: Path, row: dict[str, Any], said: str) -> None:
    path = write_lines(tmp_path / "a.jsonl", [{"m": {"t": TEXT}}, {"m": {}}, {}, {"m": None}, row])
    with pytest.raises(ColumnError, match=said) as found:
        neardup.dedup(path, text="m.t")
    assert "line 5" in str(found.value)


def test_lists_of_other_values(tmp_path: Path) -> None:
    for row in ({"c": [{"t": [TEXT]}]}, {"c": [5]}, {"c": [[{"t": TEXT}]]}, {"c": [{"t": 1}]}):
        path = write_lines(tmp_path / "a.jsonl", [{"c": [{"t": TEXT}]}, row])
        with pytest.raises(ColumnError, match=r"line 2: column 'c\[\].t' has other values"):
            neardup.dedup(path, text="c[].t")
    (tmp_path / "a.jsonl").write_text('{"m": {"t": "a", "t": "b"}}\n')
    with pytest.raises(NeardupError, match="line 1 has a key twice"):
        neardup.dedup(tmp_path / "a.jsonl", text="m.t")
    (tmp_path / "a.jsonl").write_text('{"c": [{"t": "a", "n": %s}]}\n' % ("9" * 5000))
    assert neardup.dedup(tmp_path / "a.jsonl", text="c[].t").summary["counts"]["empty"] == 0
    (tmp_path / "a.jsonl").write_text('{"c": [{"t": "\\ud800"}]}\n')
    with pytest.raises(NeardupError, match="half a surrogate"):
        neardup.dedup(tmp_path / "a.jsonl", text="c[].t")
    assert neardup.dedup(tmp_path / "a.jsonl", text="c[].t", encoding_errors="replace")


@pytest.mark.parametrize("delimiter", [";", "\t", "|"])
def test_another_delimiter(kernels: None, tmp_path: Path, command: Command, delimiter: str) -> None:
    path, out = tmp_path / "a.csv", tmp_path / "out"
    path.write_text(f"id{delimiter}text\n1{delimiter}{TEXT}\n2{delimiter}{TEXT}\n")
    for call in (neardup.dedup, neardup.passages):
        with pytest.raises(ColumnError, match="no column 'text'; the only column is") as found:
            call(path)
        assert found.value.hint == f"`delimiter`={delimiter!r}"
    done = command("dedup", path, "-o", out, "--quiet")
    assert done.code == 1 and "a.csv: no column 'text'; the only column is" in done.error
    told = done.lines[-1].removeprefix("hint: ")
    assert command("dedup", path, "-o", out, "--quiet", *shlex.split(told)).code == 0


def test_lists_of_dicts_are_records(kernels: None) -> None:
    rows: list[Any] = [{"text": TEXT, "id": "a"}, {"id": "b", "text": TEXT, "more": 1}, {"id": "c"}]
    assert neardup.dedup(rows, id="id").keep_mask.tolist() == [True, False, True]
    assert neardup.dedup(iter(rows), id="id").keep_mask.tolist() == [True, False, True]
    baskets = [{"text": ["a", "b"]}, {"text": ["b", "a"]}]
    assert neardup.dedup(baskets).keep_mask.tolist() == [True, False]
    with pytest.raises(InputError, match="record 2 is str, the first one a dict"):
        neardup.dedup([rows[0], "text"])
    with pytest.raises(ColumnError, match="no column 'text'"):
        neardup.dedup([{}])


def test_pairs_of_strings_are_refused(kernels: None) -> None:
    pairs = [("a", TEXT), ("b", TEXT)]
    index = neardup.Index.create()
    calls: list[Callable[[], Any]] = [
        lambda: neardup.dedup(pairs),
        lambda: neardup.plan(pairs),
        lambda: neardup.passages(pairs),
        lambda: neardup.against(pairs, pairs),
        lambda: neardup.decontaminate(pairs, pairs),
        lambda: index.add(pairs),
    ]
    for call in calls:
        with pytest.raises(
            InputError, match="the documents are pairs of strings: \\(id, text\\)"
        ) as e:
            call()
        assert e.value.hint.startswith("give {'id': [...], 'text': [...]} with id='id'")
    given = dict(zip(("id", "text"), map(list, zip(*pairs, strict=True)), strict=True))
    assert neardup.dedup(given, id="id").keep_mask.tolist() == [True, False]
    assert neardup.dedup(pairs, shingle="item").keep_mask.tolist() == [True, True]
    assert neardup.dedup([["a", "b"], ["b", "a"]]).keep_mask.tolist() == [True, False]
    assert neardup.dedup([("a", "b", "c"), ("a", "b")]).keep_mask.tolist() == [True, True]


def test_lines_of_a_stream() -> None:
    reading = LineReading("m.id", ("m.t", "c[].x"), 10_000, False, "input")
    row: dict[str, Any] = {"m": {"id": 7, "t": "a"}, "c": [{"x": "b"}, {}, {"x": "c"}]}
    (line,) = reading.lines([json.dumps(row).encode()])
    assert (line.id, line.text) == (7, "a b\nc")
    for wrong, said in (
        ({"m": {"id": 7, "t": "a"}}, "line 1 has no field 'c\\[\\].x'"),
        ({**row, "c": {"x": 1}}, "no text or id at 'c"),
        ({**row, "c": [{"x": 1}]}, "no text or id at 'c"),
        ({**row, "m": {"t": "a"}}, "the id is neither a string nor an integer"),
    ):
        with pytest.raises(NeardupError, match=said):
            list(reading.lines([json.dumps(wrong).encode()]))


def test_shapes() -> None:
    kind = pa.struct([("a", pa.list_(pa.int64())), ("b", pa.string())])
    assert shape_of(kind) == {"a": ["int64"], "b": "string"}
    assert shape_of_values([{"a": [1]}, {"b": None}, None]) == {"a": ["int"], "b": "null"}
    assert why_missing({"a": ["int"]}, "a[].b").where == "a[]"
    assert follow({"a.b": {"c": [1, None]}}, ".a.b.c[]") == [1, None]
