"""JSON lines: what is read, what is refused with its line, and what is copied byte for byte."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from io_samples import opened, rows_of, texts_of

import neardup
from neardup.errors import ColumnError, EncodingError, FormatError, InputError
from neardup.io.formats.json_text import common_schema, conform
from neardup.io.outputs import check_output

SIZES = [64, 300, 8 << 20]
cut = pytest.mark.parametrize("size", SIZES)


def write(folder: Path, *lines: dict[str, Any] | bytes) -> Path:
    path = folder / "a.jsonl"
    raw = [line if isinstance(line, bytes) else json.dumps(line).encode() for line in lines]
    path.write_bytes(b"".join(line + b"\n" for line in raw))
    return path


def refused(path: Path, kind: type[InputError], size: int = 8 << 20, **columns: Any) -> str:
    with pytest.raises(kind) as caught:
        texts_of(opened(path, size, **columns))
    assert "SECRET" not in str(caught.value).replace(str(path), "")
    assert "\n" not in str(caught.value) and str(path) in str(caught.value)
    return str(caught.value)


@cut
def test_line_ends_blanks_bom_and_last_line(tmp_path: Path, size: int) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'\xef\xbb\xbf{"text":"a"}\r\n\r\n \n{"text":"b"}\n\n\n  {"text":"c"} ')
    source = opened(path, size)
    assert texts_of(source) == ["a", "b", "c"]
    records = b"".join(
        bytes(part.records(None, len(part.read().text))) for part in source.partitions()
    )
    assert records == b'{"text":"a"}\r\n{"text":"b"}\n{"text":"c"} \n'


@pytest.mark.parametrize("raw", [b"", b"\n\n", b"\xef\xbb\xbf"])
def test_nothing_in_the_file(tmp_path: Path, raw: bytes) -> None:
    (tmp_path / "a.jsonl").write_bytes(raw)
    assert texts_of(opened(tmp_path / "a.jsonl", id="id")) == []


@cut
def test_other_columns_hold_anything(tmp_path: Path, size: int) -> None:
    lines: list[dict[str, Any] | bytes] = [
        {"text": "a", "m": 1, "late": "2020-01-01"},
        {"text": "b", "m": {"x": ["one"]}},
        b'{"text":"c","m":1E400,"m":NaN,"z":"\xff\\ud800"}',
        b'{"text":"d","n":' + b"[" * 900 + b"1" + b"]" * 900 + b"}",
        {f"k{i}": i for i in range(300)},
        {"text": None},
    ]
    path = write(tmp_path, *lines)
    source = opened(path, size)
    assert texts_of(source) == ["a", "b", "c", "d", "", ""]
    records = [part.records(None, len(part.read().text)) for part in source.partitions()]
    assert b"".join(bytes(r) for r in records) == path.read_bytes()


@cut
@pytest.mark.parametrize(
    ("values", "type", "found"),
    [
        ([1, -2, None, 2**63 - 1], pa.int64(), [1, -2, None, 2**63 - 1]),
        (["a", "1", None, "é\n"], pa.large_string(), ["a", "1", None, "é\n"]),
        ([1, "a", "1", 2], pa.large_string(), ["1", "a", "1", "2"]),
        ([1, 2**63, -1, None], pa.large_string(), ["1", str(2**63), "-1", None]),
        ([1, 1.5, True, None], pa.large_string(), ["1", "1.5", "true", None]),
        ([1.5, 2.0, 1e300, None], pa.large_string(), ["1.5", "2.0", "1e+300", None]),
        ([None] * 4, pa.null(), [None] * 4),
    ],
)
def test_types_of_ids(
    tmp_path: Path, values: list[Any], type: pa.DataType, found: list[Any], size: int
) -> None:
    path = write(tmp_path, *({"text": "x" * 40, "id": value} for value in values), b"")
    if all(value is None for value in values):
        path.write_bytes(path.read_bytes())
    source = opened(path, size, id="id")
    tables = [part.read(("id",)).columns for part in source.partitions()]
    if size == SIZES[-1]:
        assert tables[0].column("id").type == type
        assert tables[0].column("id").to_pylist() == found
    else:  # each partition has the type that all its values have
        texts = [str(v) if v is not None else None for v in found]
        assert [
            None if v is None else str(v) for t in tables for v in t.column("id").to_pylist()
        ] == [t if t != "True" else "true" for t in texts]


def test_types_of_needed_columns(tmp_path: Path) -> None:
    rows = [{"text": "a", "q": 1, "b": True}, {"text": "b", "q": 0.5}, {"q": None, "b": False}]
    table = next(opened(write(tmp_path, *rows), extra=("q", "b")).partitions()).read(("b", "q"))
    assert table.columns.to_pydict() == {"b": [True, None, False], "q": [1.0, 0.5, None]}
    assert table.columns.schema.types == [pa.bool_(), pa.float64()]


@cut
@pytest.mark.parametrize(
    ("line", "kind", "says"),
    [
        (b'{"text":"SECRET"', FormatError, "not valid JSON at character 17"),
        (b'{"text":"SECRET"} {"text":"SECRET"}', FormatError, "at character 19: Extra data"),
        (b'{"text":"SECRET', FormatError, "not valid JSON"),
        (b'{"text":"SECRET" "n":1}', FormatError, "not valid JSON at character 18"),
        (b'{"text":"SECRET","n":01}', FormatError, "not valid JSON"),
        (b'{"text":"SEC\tRET"}', FormatError, "not valid JSON"),
        (b'{"text":"SECRET","text":"b"}', FormatError, "has the key 'text' twice"),
        (b'["SECRET"]', FormatError, "an array, not an object"),
        (b'"SECRET"', FormatError, "a string, not an object"),
        (b"12", FormatError, "a number, not an object"),
        (b"null", FormatError, "null, not an object"),
        (b'{"text":"x","n":' + b"[" * 1001 + b"]" * 1001 + b"}", FormatError, "levels deep"),
        (b'{"text":"x","n":' + b"[" * 300_000, FormatError, "levels deep"),
        (b'{"text":["SECRET"]}', ColumnError, "'text' is an array, expected a string"),
        (b'{"text":7}', ColumnError, "'text' is a number"),
        (b'{"text":"SECRET\xff"}', EncodingError, "not valid UTF-8 (line 43, byte 16: 0xFF)"),
        (b'{"text":"SECRET\\ud800"}', EncodingError, "surrogate"),
        (b'{"text":"SECRET\\uDC00"}', EncodingError, "surrogate"),
    ],
)
def test_errors_name_the_line(
    tmp_path: Path, line: bytes, kind: type[InputError], says: str, size: int
) -> None:
    good = [{"text": "x" * (i % 90)} for i in range(40)]
    path = write(tmp_path, *good[:20], b"", b" ", *good[20:], line, *good)
    message = refused(path, kind, size)
    assert "line 43" in message and says in message


def test_errors_in_compressed_lines_name_the_line(tmp_path: Path) -> None:
    import gzip

    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(gzip.compress(b'{"text":"a"}\n\n' * 50 + b'{"text":3}\n'))
    assert "line 101: column 'text' is a number" in refused(path, ColumnError, 64)


@cut
def test_ids_that_are_nested(tmp_path: Path, size: int) -> None:
    path = write(tmp_path, {"text": "a", "id": 1}, {"text": "a" * 99, "id": [1]})
    with pytest.raises(ColumnError, match="line 2: column 'id' is an array, which can't be an id"):
        rows_of(opened(path, size, id="id"), ("id",))


def test_objects_over_several_lines_are_refused(tmp_path: Path) -> None:
    for raw in (
        b'{"text":\n "SECRET"}\n{"text":\n "b"}\n',
        # As many lines as objects, and each line begins as an object does.
        b'{"text":"z"} {"text":"y"}\n{"u":\n{"text":"c"}}\n',
    ):
        path = tmp_path / "a.json"
        path.write_bytes(raw)
        for size in SIZES:
            assert "line 1 " in refused(path, FormatError, size)


def test_array_file_has_a_hint(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(' [\n{"text": "SECRET"}]')
    with pytest.raises(FormatError) as caught:
        next(opened(path).partitions())
    assert "jq" in caught.value.hint


@cut
def test_column_that_no_object_has(tmp_path: Path, size: int) -> None:
    path = write(tmp_path, {"body": "a"}, {"id": 1}, {"body": "b", "url": "u", "A b": 1})
    message = refused(path, ColumnError, size)
    assert message.endswith("no column 'text'; there are body, id, url, column 4")
    with pytest.raises(ColumnError, match="no column 'key'"):
        texts_of(opened(path, size, text="body", id="key"))
    with pytest.raises(ColumnError, match="no column 'stars'"):
        texts_of(opened(path, size, text="body", extra=("stars",)))
    assert texts_of(opened(path, size, text="body")) == ["a", "", "b"]


def test_the_text_column_may_come_late(tmp_path: Path) -> None:
    path = write(tmp_path, *[{"other": "x" * 50}] * 150, {"text": "here"})
    for size in SIZES:
        assert texts_of(opened(path, size))[-1] == "here"


def test_keys_are_compared_without_their_escapes(tmp_path: Path) -> None:
    path = write(tmp_path, b'{"te\\u0078t":"a","\\u00e9":1}', '{"text":"b","é":2}'.encode())
    source = opened(path, id="é")
    assert texts_of(source) == ["a", "b"] and rows_of(source, ("é",)) == [{"é": 1}, {"é": 2}]


@cut
def test_replace_counts_documents(tmp_path: Path, size: int) -> None:
    path = write(
        tmp_path,
        {"text": "good", "k": 1},
        b'{"text":"a\xff\xfe","k":"\xff"}',
        b'{"text":"b\\ud800","k":1}',
        b'{"text":"c \\ud83d\\ude00","k":1}',
    )
    source = opened(path, size, encoding_errors="replace")
    assert texts_of(source) == ["good", "a\ufffd\ufffd", "b\ufffd", "c \U0001f600"]
    assert sum(part.read().replaced for part in source.partitions()) == 2
    records = [part.records(None, len(part.read().text)) for part in source.partitions()]
    assert b"".join(bytes(r) for r in records) == path.read_bytes()


def test_one_object_larger_than_many_partitions(tmp_path: Path) -> None:
    big = "word " * 400_000
    path = write(tmp_path, {"text": "a"}, {"text": big}, {"text": "b"})
    assert texts_of(opened(path, 4096)) == ["a", big, "b"]


def test_added_members(tmp_path: Path) -> None:
    lines = [b'{"text":"a"}', b" {} ", b'{ "text":"b", "n":{} }\r', b'{\t"id":1}', b'{"text":"c"}']
    path = write(tmp_path, *lines)
    (part,) = opened(path).partitions()
    added = pa.table(
        {
            "cluster": [0, 1, 2],
            "kept": [True, False, None],
            "similarity": [1.0, 0.1, None],
            "by": ['say "é"\n\x01', None, "x"],
            "day": pa.array([1, 2, None], pa.date32()),
        }
    )
    out = bytes(part.records(np.array([0, 1, 2]), 5, added))
    assert out.startswith(b'{"text":"a","cluster":0,"kept":true,"similarity":1.0,"by":"say ')
    assert [json.loads(line) for line in out.splitlines()] == [
        json.loads(line) | {k: str(v) if k == "day" and v else v for k, v in row.items()}
        for line, row in zip(lines, added.to_pylist(), strict=False)
    ]
    assert out.splitlines()[1].startswith(b'{"cluster":1')


@cut
def test_tables_hold_all_columns(tmp_path: Path, size: int) -> None:
    rows: list[dict[str, Any]] = [
        {"text": "2020-01-01", "i": 1, "f": 1, "m": 1, "n": [1, {"é": 1}], "u": 2**64},
        {"text": "b", "i": None, "f": 0.5, "m": "one\n", "n": {}, "u": 1, "v": 1.5},
        {"text": "c", "b": True, "m": None, "w": 2**53 + 1, "t": "2020-01-01T00:00:00Z"},
        {"text": "d", "b": False, "m": {"x": [1.5, None]}, "t": "soon", "v": True},
    ]
    path = write(tmp_path, *rows, b'{"text":"e","x":-Infinity,"y":NaN}', {"text": "f", "y": 1.0})
    source = opened(path, size)
    tables = [part.table(None, len(part.read().text)) for part in source.partitions()]
    schema = common_schema(table.schema for table in tables)
    assert schema.names == ["text", "i", "f", "m", "n", "u", "v", "b", "w", "t", "x", "y"]
    found = pa.concat_tables([conform(table, schema, "a") for table in tables])
    for name in ("text", "i", "f", "b", "w", "t"):
        assert found.column(name).to_pylist()[:4] == [row.get(name) for row in rows], name
    # What has no common type becomes strings, and nested values JSON text.
    assert found.column("m").to_pylist()[:4] == ["1", "one\n", None, '{"x": [1.5, null]}']
    assert json.loads(found.column("n").to_pylist()[0]) == [1, {"é": 1}]
    assert found.column("u").to_pylist()[:2] == [str(2**64), "1"]
    assert found.column("v").to_pylist()[:4] == [None, "1.5", None, "true"]
    assert found.column("x").to_pylist()[4:] == [-math.inf, None]
    missing, one = found.column("y").to_pylist()[4:]
    assert math.isnan(missing) and one == 1.0
    assert schema.field("i").type == pa.int64() and schema.field("f").type == pa.float64()
    assert schema.field("t").type == pa.large_string() and schema.field("y").type == pa.float64()


def test_integers_that_floats_would_round(tmp_path: Path) -> None:
    path = write(tmp_path, {"text": "a" * 60, "w": 2**53 + 1}, {"text": "b" * 60, "w": 0.5})
    (part,) = opened(path).partitions()
    assert part.table(None, 2).column("w").to_pylist() == [str(2**53 + 1), "0.5"]
    tables = [part.table(None, 1) for part in opened(path, 64).partitions()]
    schema = common_schema(table.schema for table in tables)
    with pytest.raises(FormatError, match="column 'w' is int64 here and double elsewhere"):
        conform(tables[0], schema, "a")


FLOATS = {"0.0": "0.0", "-0e9": "-0.0", "1E300": "1e+300", "NaN": "nan", "-Infinity": "-inf"}


@pytest.mark.long
def test_numbers_that_a_float_does_not_hold_are_never_changed(tmp_path: Path) -> None:
    lines = [f'{{"text":"t{i}","x":{x}}}'.encode() for i, x in enumerate([*FLOATS, "null"])]
    path, out = write(tmp_path, *lines), tmp_path / "out"
    (part,) = opened(path).partitions()
    assert str(part.table(None, 6).column("x").to_pylist()) == (
        "[0.0, -0.0, 1e+300, nan, -inf, None]"
    )
    neardup.dedup(path, out=tmp_path / "csv", format="csv")
    written = (tmp_path / "csv/clean/part-00000.csv").read_text().splitlines()
    assert written[1:] == [f"t{i},{x}" for i, x in enumerate([*FLOATS.values(), ""])]
    for number in ("1E400", "-1e999", "1e-400", "-0.003E-999"):
        path = write(tmp_path, *lines, b'{"text":"SECRET","x":%s}' % number.encode())
        for format in ("parquet", "csv", "arrow"):
            with pytest.raises(ColumnError, match="line 7: column 'x' has a number") as caught:
                neardup.dedup(path, out=out, format=format)
            assert "format of the input" in caught.value.hint
            assert "SECRET" not in str(caught.value) and not out.exists()
        neardup.dedup(path, out=tmp_path / number)
        copied = (tmp_path / number / "clean" / "part-00000.jsonl").read_bytes()
        assert copied == path.read_bytes()


def test_tables_with_a_key_for_each_record_are_refused(tmp_path: Path) -> None:
    path = write(tmp_path, *({"text": "a", f"k{i}": i} for i in range(5000)))
    (part,) = opened(path).partitions()
    assert len(part.read().text) == 5000
    with pytest.raises(FormatError, match="line 839 has one new key more than a table"):
        part.table(None, 5000)


def test_a_key_twice_is_refused_for_a_table(tmp_path: Path) -> None:
    (part,) = opened(write(tmp_path, b'{"text":"a","z":1,"z":2}')).partitions()
    assert len(part.read().text) == 1
    with pytest.raises(FormatError, match="line 1 has the key 'z' twice"):
        part.table(None, 1)


def test_members_that_are_there_already(tmp_path: Path) -> None:
    added = pa.table({"kept": [True] * 4000})
    path = write(tmp_path, *({"text": "x" * 20} for _ in range(3999)), {"text": "a", "kept": 1})
    source = opened(path)
    check_output(source, None, added.schema)  # looks at the first records only
    (part,) = source.partitions()
    with pytest.raises(ColumnError, match="there is a column 'kept' already"):
        part.records(None, 4000, added)
    with pytest.raises(ColumnError, match="there is a column 'kept' already"):
        check_output(opened(write(tmp_path, {"kept": 1, "text": "a"})), None, added.schema)
    damaged = opened(write(tmp_path, {"text": "a"}, b"{bad"))
    check_output(damaged, None, added.schema)  # reading says what is wrong
    with pytest.raises(FormatError, match="line 2 is not valid JSON"):
        texts_of(damaged)
