"""JSON lines: what Arrow would lose or refuse, and where errors are."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from neardup.corpus import TableWriter, open_corpus, open_files
from neardup.errors import ColumnError, EncodingError, FormatError, InputError

from .conftest import table_of, texts_of

Write = Callable[..., Path]
SIZES = [64, 300, 8 << 20]
chunked = pytest.mark.parametrize("chunk_bytes", SIZES)


def refused(path: Path, kind: type[InputError], chunk_bytes: int = 8 << 20) -> str:
    with pytest.raises(kind) as caught:
        texts_of(open_corpus(path, chunk_bytes=chunk_bytes))
    assert "SECRET" not in str(caught.value).replace(str(path), "")
    assert "\n" not in str(caught.value) and str(path) in str(caught.value)
    return str(caught.value)


@chunked
def test_line_ends_blanks_bom_and_last_line(tmp_path: Path, chunk_bytes: int) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'\xef\xbb\xbf{"text":"a"}\r\n\r\n \n{"text":"b"}\n\n\n{"text":"c"}')
    assert texts_of(open_corpus(path, chunk_bytes=chunk_bytes)) == ["a", "b", "c"]


@pytest.mark.parametrize("raw", [b"", b"\n\n", b"\xef\xbb\xbf"])
def test_nothing_in_the_file(tmp_path: Path, raw: bytes) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(raw)
    assert texts_of(open_corpus(path)) == []


@chunked
def test_times_stay_strings(jsonl: Write, chunk_bytes: int) -> None:
    rows = [
        {"text": "2020-01-01", "d": f"2020-01-0{i}", "n": {"d": ["2020-01-01T00:00:00Z"]}}
        for i in range(1, 9)
    ]
    rows += [{"text": "x", "d": "soon", "late": "2021-01-01"}]
    table = table_of(open_corpus(jsonl(*rows), chunk_bytes=chunk_bytes))
    assert table.column_names == ["text", "d", "n", "late"]
    assert table.to_pylist()[:8] == [row | {"late": None} for row in rows[:8]]
    assert table.column("late").to_pylist()[-1] == "2021-01-01"


@chunked
def test_mixed_columns_become_json_text_and_return(
    jsonl: Write, tmp_path: Path, chunk_bytes: int
) -> None:
    rows = [
        {"text": "a", "m": 1, "n": [1], "w": 2**53 + 1, "o": {}, "u": 12345678901234567890},
        {"text": "b", "m": "one", "n": ["é", None], "w": 0.5, "o": {"k": [True]}, "u": 2**70},
        {"text": "c", "m": None, "n": [{"k": 1}], "w": -3, "o": {"k": []}, "u": 1},
        {"text": "d", "m": {"x": [1.5, None]}, "n": [], "w": 1e300, "o": None, "u": -(2**63)},
    ]
    table = table_of(open_corpus(jsonl(*rows), chunk_bytes=chunk_bytes))
    for name in ("m", "n", "w", "u"):
        values = table.column(name).to_pylist()
        assert [value and json.loads(value) for value in values] == [row[name] for row in rows]
    out = tmp_path / "out.jsonl"
    with TableWriter(out, table.schema, "jsonl") as writer:
        writer.write(table)
    back = [json.loads(line) for line in out.read_text().splitlines()]
    back[0]["o"] = {}  # {} among structs becomes {"k": null}
    assert back == rows


def test_ints_and_floats_in_different_chunks_become_floats(jsonl: Write) -> None:
    rows = [{"text": "x" * 60, "n": n} for n in (1, 2.5, None, 4)]
    table = table_of(open_corpus(jsonl(*rows), chunk_bytes=64))
    assert table.column("n").to_pylist() == [1.0, 2.5, None, 4.0]


@chunked
def test_duplicate_keys_absent_keys_and_column_order(jsonl: Write, chunk_bytes: int) -> None:
    path = jsonl(b'{"z":1,"text":"a","z":2}', {"text": None}, {"new": 1}, {"z": 3, "text": "b"})
    corpus = open_corpus(path, chunk_bytes=chunk_bytes)
    assert texts_of(corpus) == ["a", "", "", "b"]
    assert table_of(corpus).column_names[:2] == ["z", "text"]
    assert table_of(corpus).column("z").to_pylist() == [2, None, None, 3]


@pytest.mark.parametrize("depth", [50, 101, 900])
@pytest.mark.parametrize("brackets", ["[]", "{}"])
def test_deep_nesting(jsonl: Write, depth: int, brackets: str) -> None:
    opening = "[" if brackets == "[]" else '{"k":'
    value = opening * depth + "1" + brackets[1] * depth
    path = jsonl(f'{{"text":"a","v":{value}}}'.encode())
    assert texts_of(open_corpus(path)) == ["a"]


def test_nesting_without_end_is_an_error_not_a_crash(jsonl: Write) -> None:
    path = jsonl({"text": "a"}, b'{"text":"b","v":' + b"[" * 300_000 + b"]" * 300_000 + b"}")
    assert "line 2 nests too deep" in refused(path, FormatError)


@chunked
@pytest.mark.parametrize(
    ("line", "kind", "says"),
    [
        (b'{"text":"SECRET"', FormatError, "not valid JSON"),
        (b'{"text":"SECRET"} {"text":"SECRET"}', FormatError, "not valid JSON"),
        (b'{"text":"SECRET', FormatError, "not valid JSON"),
        (b'["SECRET"]', FormatError, "an array, not an object"),
        (b"12", FormatError, "a number, not an object"),
        (b'{"text":"x","n":' + b"9" * 5000 + b"}", FormatError, "too many digits"),
        (b'{"text":["SECRET"]}', ColumnError, "'text' is an array"),
        (b'{"text":7}', ColumnError, "'text' is a number"),
        (b'{"text":"SECRET\xff"}', EncodingError, "not valid UTF-8"),
        (b'{"text":"SECRET\\ud800"}', EncodingError, "surrogate"),
        (b'{"text":"SECRET\\uDC00"}', EncodingError, "surrogate"),
        (b'{"text":"a","n":"SECRET\xff"}', EncodingError, "not valid UTF-8"),
        (b'{"text":"a","SECRET\xff":1}', EncodingError, "not valid UTF-8"),
    ],
)
def test_errors_name_the_line(
    jsonl: Write, line: bytes, kind: type[InputError], says: str, chunk_bytes: int
) -> None:
    good = [{"text": "x" * (i % 90)} for i in range(40)]
    path = jsonl(*good[:20], b"", b" ", *good[20:], line, *good)
    message = refused(path, kind, chunk_bytes)
    assert "line 43" in message and says in message


def test_objects_over_several_lines_are_refused_for_any_chunk(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text('{"text":\n "SECRET"}\n{"text":\n "b"}\n')
    for chunk_bytes in SIZES:
        assert "line 1 " in refused(path, FormatError, chunk_bytes)


def test_array_file_has_a_hint(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(' [\n{"text": "SECRET"}]')
    with pytest.raises(FormatError) as caught:
        next(open_corpus(path).chunks())
    assert "jq" in caught.value.hint


@chunked
def test_column_that_no_object_has(jsonl: Write, chunk_bytes: int) -> None:
    path = jsonl({"body": "a"}, {"id": 1}, {"body": "b", "url": "u"})
    message = refused(path, ColumnError, chunk_bytes)
    assert message.endswith("no column 'text'; there are body, id, url")
    with pytest.raises(ColumnError, match="no column 'key'"):
        texts_of(open_corpus(path, text="body", id="key", chunk_bytes=chunk_bytes))
    assert texts_of(open_corpus(path, text="body", chunk_bytes=chunk_bytes)) == ["a", "", "b"]


def test_the_text_column_may_come_late(jsonl: Write) -> None:
    rows = [{"other": "x" * 50}] * 100 + [{"text": "here"}]
    for chunk_bytes in SIZES:
        assert texts_of(open_corpus(jsonl(*rows), chunk_bytes=chunk_bytes))[-1] == "here"


@chunked
def test_replace_counts_documents(jsonl: Write, chunk_bytes: int) -> None:
    path = jsonl(
        {"text": "good", "k": 1},
        b'{"text":"a\xff\xfe","k":"\xff"}',
        b'{"text":"b\\ud800","k":1}',
        b'{"text":"c \\ud83d\\ude00","k":1}',
    )
    corpus = open_corpus(path, encoding_errors="replace", chunk_bytes=chunk_bytes)
    assert texts_of(corpus) == ["good", "a\ufffd\ufffd", "b\ufffd", "c \U0001f600"]
    assert sum(chunk.read().replaced for chunk in corpus.chunks()) == 2


def test_one_object_larger_than_many_chunks(jsonl: Write) -> None:
    big = "word " * 400_000
    path = jsonl({"text": "a"}, {"text": big}, {"text": "b"})
    assert texts_of(open_corpus(path, chunk_bytes=4096)) == ["a", big, "b"]


def test_stdin(monkeypatch: pytest.MonkeyPatch) -> None:
    class Stdin:
        buffer = io.BytesIO(b'{"text":"a"}\n{"text":"b"}\n{"text":3}\n')

    monkeypatch.setattr(sys, "stdin", Stdin)
    corpus = open_files("-", chunk_bytes=64)
    assert corpus.total_bytes is None and corpus.inputs == []
    with pytest.raises(ColumnError, match="-: line 3"):
        texts_of(corpus)
    with pytest.raises(InputError, match="once"):
        texts_of(corpus)


def test_nan_is_read(jsonl: Write) -> None:
    table = table_of(open_corpus(jsonl(b'{"text":"a","n":NaN}', {"text": "b", "n": 1.5})))
    assert table.column("n").type == pa.float64()


def test_depth_kernel_against_counting(jsonl: Write) -> None:
    import random

    import numpy as np

    from neardup.kernels.csvcut import json_bounds, json_depth

    random.seed(11)
    for _ in range(300):
        raw = bytes(random.choices(b'[]{}"\\ab\n', k=random.randint(0, 5000)))
        data = np.frombuffer(raw, np.uint8)
        whole = len(raw) // 8
        bound, newlines, starts = json_bounds(
            np.frombuffer(raw, np.uint64, whole), data[8 * whole :]
        )
        assert newlines == raw.count(b"\n")
        assert starts == sum(line[:1] in (b"{", b"[") for line in raw.split(b"\n") if line)
        lines = [line.count(b"[") + line.count(b"{") for line in raw.split(b"\n")]
        assert json_depth(data) <= max(lines) <= bound <= raw.count(b"[") + raw.count(b"{")
