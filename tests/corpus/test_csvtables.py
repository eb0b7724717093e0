"""CSV and TSV: quoting, cuts, types, and where errors are."""

from __future__ import annotations

import csv
import io
import itertools
import random
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from neardup.corpus import open_corpus
from neardup.errors import ColumnError, EncodingError, FormatError
from neardup.kernels.csvcut import cut_records, find_record, new_state

from .conftest import table_of, texts_of

SIZES = [64, 300, 8 << 20]
chunked = pytest.mark.parametrize("chunk_bytes", SIZES)
SEED = 3


def made(tmp_path: Path, raw: bytes | str, name: str = "a.csv") -> Path:
    path = tmp_path / name
    path.write_bytes(raw if isinstance(raw, bytes) else raw.encode())
    return path


@chunked
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_quoting_and_line_ends(tmp_path: Path, end: str, chunk_bytes: int) -> None:
    rows = ['id,"te""xt",c', '1,"a,b",x', "", '2,"q ""x""\n\nmore",y', '3,a"b"c,z', '4,"",', "5,,"]
    path = made(tmp_path, "\ufeff" + end.join(rows))
    corpus = open_corpus(path, text='te"xt', chunk_bytes=chunk_bytes)
    assert texts_of(corpus) == ["a,b", 'q "x"\n\nmore', 'a"b"c', "", ""]
    table = table_of(corpus)
    assert table.column("id").type == pa.int64()
    assert table.column("c").to_pylist() == ["x", "y", "z", "", ""]


@chunked
def test_random_tables_as_python_reads_them(tmp_path: Path, chunk_bytes: int) -> None:
    generator = random.Random(SEED)
    pieces = ['"', ",", "\n", "\r\n", "a", "é", " ", "漢", "''", "x" * 50]
    for trial in range(20):
        rows = [
            [str(i), "".join(generator.choices(pieces, k=generator.randint(0, 8)))]
            for i in range(30)
        ]
        buffer = io.StringIO()
        csv.writer(buffer).writerows([["id", "text"], *rows])
        path = made(tmp_path, buffer.getvalue(), f"{trial}.csv")
        assert texts_of(open_corpus(path, chunk_bytes=chunk_bytes)) == [text for _, text in rows]


def test_kernel_cuts_where_the_reference_does() -> None:
    generator = random.Random(SEED)
    for _ in range(300):
        raw = bytes(generator.choices(b'",\n\ra', k=generator.randint(1, 60)))
        ends = record_ends(raw)
        state, cuts, start = new_state(), [], 0
        while start < len(raw):  # in random blocks
            block = raw[start : start + generator.randint(1, 9)]
            cut = cut_records(np.frombuffer(block, np.uint8), state, ord(","), 1 << 60)
            cuts += [start + cut] if cut else []
            start += len(block)
        assert set(cuts) <= set(ends), raw
        assert state[2] == sum(1 for _ in filter(None, split(raw, ends)[:-1])), raw


def record_ends(raw: bytes) -> list[int]:
    """Byte by byte, as it is defined."""
    ends, quoted, at_start, i = [], False, True, 0
    while i < len(raw):
        c = raw[i : i + 1]
        i += 1
        if quoted:
            if c == b'"' and raw[i : i + 1] == b'"':
                i += 1
            elif c == b'"':
                quoted = False
            continue
        if c in (b"\n", b"\r"):
            ends.append(i)
            if raw[i - 1 : i + 1] == b"\r\n":
                i += 1
                ends.append(i)
            at_start = True
        elif c == b",":
            at_start = True
        else:
            quoted = c == b'"' and at_start
            at_start = False
    return ends


def split(raw: bytes, ends: list[int]) -> list[bytes]:
    places = [0, *ends, len(raw)]
    parts = [raw[a:b] for a, b in itertools.pairwise(places)]
    return [part.strip(b"\r\n") for part in parts]


def test_find_record() -> None:
    data = np.frombuffer(b'a,b\n"x\ny",c\r\n\r\nd\ne,f', np.uint8)
    assert find_record(data, ord(","), 2, -1) == (4, 1)
    assert find_record(data, ord(","), 2, 1) == (1, 2)
    assert find_record(data[:12], ord(","), 2, -1) == (-1, 0)


@chunked
def test_types(tmp_path: Path, chunk_bytes: int) -> None:
    columns = {
        "i": ["1", "", "-3"],
        "zero": ["007", "1", "2"],
        "f": ["1.5", "2.0", "1e-05"],
        "a": ["1.5", "2", ""],
        "mixed": ["1.5", "2", "3.0"],
        "b": ["true", "false", ""],
        "B": ["True", "False", ""],
        "big": ["9223372036854775807", "1", "2"],
        "over": ["9223372036854775808", "1", "2"],
        "none": ["", "", ""],
        "nan": ["nan", "inf", "1.5"],
        "quoted": ["1", '""', "2"],
        "text": ["1", "2", "3"],
        "date": ["2020-01-01"] * 3,
        "neg": ["-0", "1", "2"],  # a float, since no integer is spelled so
    }
    rows = [",".join(columns), *(",".join(row) for row in zip(*columns.values(), strict=True))]
    table = table_of(open_corpus(made(tmp_path, "\n".join(rows)), chunk_bytes=chunk_bytes))
    types = {name: str(table.schema.field(name).type) for name in columns}
    assert types == dict.fromkeys(columns, "string") | {
        "i": "int64",
        "f": "double",
        "a": "double",
        "neg": "double",
        "b": "bool",
        "big": "int64",
    }
    assert table.column("i").to_pylist() == [1, None, -3]
    assert table.column("a").to_pylist() == [1.5, 2.0, None]
    assert table.column("b").to_pylist() == [True, False, None]
    assert table.column("none").to_pylist() == ["", "", ""]
    assert table.column("quoted").to_pylist() == ["1", "", "2"]
    assert table.column("zero").to_pylist() == columns["zero"]


@chunked
@pytest.mark.parametrize(("row", "fields"), [("SECRET", 1), ("1,SECRET,3", 3)])
def test_ragged_rows(tmp_path: Path, row: str, fields: int, chunk_bytes: int) -> None:
    good = '1,"a\nb"\n\n' * 30
    path = made(tmp_path, f"id,text\n{good}{row}\n{good}")
    with pytest.raises(FormatError, match=f"line 92 has {fields} fields, the header 2") as caught:
        texts_of(open_corpus(path, chunk_bytes=chunk_bytes))
    assert "SECRET" not in str(caught.value).replace(str(path), "")


@chunked
def test_open_quote(tmp_path: Path, chunk_bytes: int) -> None:
    path = made(tmp_path, "id,text\n" + '1,"a\nb"\n' * 30 + '2,"SECRET\n' + "3,x\n" * 30)
    with pytest.raises(FormatError, match="quote opened in line 62 is not closed"):
        texts_of(open_corpus(path, chunk_bytes=chunk_bytes))


@chunked
def test_invalid_utf8(tmp_path: Path, chunk_bytes: int) -> None:
    path = made(tmp_path, b"id,text\n" + b'1,"a\nb"\n' * 30 + b"\xff,SECRET\xff\n2,x\n")
    with pytest.raises(EncodingError, match="line 62"):
        texts_of(open_corpus(path, chunk_bytes=chunk_bytes))
    corpus = open_corpus(path, encoding_errors="replace", chunk_bytes=chunk_bytes)
    assert texts_of(corpus)[-2:] == ["SECRET\ufffd", "x"]
    assert sum(chunk.read().replaced for chunk in corpus.chunks()) == 1


def test_header(tmp_path: Path) -> None:
    with pytest.raises(ColumnError, match="'text' twice"):
        texts_of(open_corpus(made(tmp_path, "text,text\na,b\n")))
    with pytest.raises(ColumnError, match="there are id, body"):
        texts_of(open_corpus(made(tmp_path, "id,body\n1,b\n")))
    with pytest.raises(EncodingError, match="header"):
        texts_of(open_corpus(made(tmp_path, b"text,\xff\na,b\n")))
    with pytest.raises(EncodingError, match="UTF-16"):
        texts_of(open_corpus(made(tmp_path, "text\na\n".encode("utf-16"))))
    for raw in ("", "text\n", "text", "\n\ntext\r\n\r\n"):
        assert texts_of(open_corpus(made(tmp_path, raw))) == []
    with pytest.raises(ColumnError):
        texts_of(open_corpus(made(tmp_path, "body")))


def test_a_row_larger_than_many_chunks(tmp_path: Path) -> None:
    big = "word,\n" * 300_000
    path = made(tmp_path, f'id\ttext\n1\t"{big}"\n2\tx\n', "a.tsv")
    assert texts_of(open_corpus(path, chunk_bytes=4096)) == [big, "x"]
