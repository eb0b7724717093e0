"""CSV and TSV: quoting, cuts, where errors are, and records that are copied byte for byte."""

from __future__ import annotations

import csv
import io
import random
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from io_samples import names_of, opened, rows_of, texts_of

from neardup.errors import ColumnError, EncodingError, FormatError
from neardup.io.outputs import check_output

SIZES = [64, 300, 8 << 20]
cut = pytest.mark.parametrize("size", SIZES)


def made(folder: Path, raw: bytes | str, name: str = "a.csv") -> Path:
    path = folder / name
    path.write_bytes(raw if isinstance(raw, bytes) else raw.encode())
    return path


@cut
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_quoting_and_line_ends(tmp_path: Path, end: str, size: int) -> None:
    rows = ['id,"te""xt",c', '1,"a,b",x', "", '2,"q ""x""\n\nmore",y', '3,a"b"c,z', '4,"",', "5,,"]
    path = made(tmp_path, "\ufeff" + end.join(rows))
    source = opened(path, size, text='te"xt', id="id", extra=("c",))
    assert texts_of(source) == ["a,b", 'q "x"\n\nmore', 'a"b"c', "", ""]
    assert rows_of(source, ("id", "c")) == [
        {"id": str(i + 1), "c": c} for i, c in enumerate(("x", "y", "z", None, None))
    ]
    assert names_of(source) == ("id", 'te"xt', "c")
    parts = list(source.partitions())
    counts = [len(part.read().text) for part in parts]
    tables = [part.table(None, n) for part, n in zip(parts, counts, strict=True)]
    assert pa.concat_tables(tables).column("c").to_pylist() == ["x", "y", "z", "", ""]
    copied = b"".join(bytes(p.records(None, n)) for p, n in zip(parts, counts, strict=True))
    lines = [row + end for row in rows if row]
    lines[-1] = lines[-1].removesuffix(end) + "\n"  # the last line has none
    assert source.layout(0).header + copied == ("\ufeff" + "".join(lines)).encode()


@cut
def test_random_tables_as_python_reads_them(tmp_path: Path, size: int) -> None:
    generator = random.Random(3)
    pieces = ['"', ",", "\n", "\r\n", "a", "é", " ", "漢", "''", "x" * 50]
    for trial in range(20):
        rows = [
            [str(i), "".join(generator.choices(pieces, k=generator.randint(0, 8)))]
            for i in range(30)
        ]
        buffer = io.StringIO()
        csv.writer(buffer).writerows([["id", "text"], *rows])
        source = opened(made(tmp_path, buffer.getvalue(), f"{trial}.csv"), size)
        assert texts_of(source) == [text for _, text in rows]
        copied = source.layout(0).header
        for part in source.partitions():
            count = len(part.read().text)
            copied += bytes(part.records(np.arange(0, count, 2), count))
        back = list(csv.reader(io.StringIO(copied.decode(), newline="")))
        assert len(back) >= 16 and all(row in [["id", "text"], *rows] for row in back)


@cut
@pytest.mark.parametrize(
    ("row", "says"),
    [
        ("SECRET", "line 92 has 1 field, the header 2"),
        ("1,SECRET,3", "line 92 has 3 fields, the header 2"),
        ('1,"SECRET" x', "line 92 has text after a closing quote"),
    ],
)
def test_records_that_are_refused(tmp_path: Path, row: str, says: str, size: int) -> None:
    good = '1,"a\nb"\n\n' * 30
    path = made(tmp_path, f"id,text\n{good}{row}\n{good}")
    with pytest.raises(FormatError, match=says) as caught:
        texts_of(opened(path, size))
    assert "SECRET" not in str(caught.value).replace(str(path), "")


@cut
@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz"])
def test_open_quote(tmp_path: Path, name: str, size: int) -> None:
    import gzip

    raw = ("id,text\n" + '1,"a\nb"\n' * 30 + '2,"SECRET\n' + "3,x\n" * 30).encode()
    path = made(tmp_path, gzip.compress(raw) if name.endswith("gz") else raw, name)
    with pytest.raises(FormatError, match="quote opened in line 62 is not closed"):
        texts_of(opened(path, size))


@cut
def test_invalid_utf8(tmp_path: Path, size: int) -> None:
    path = made(tmp_path, b"id,text\n" + b'1,"a\nb"\n' * 30 + b"\xff,SECRET\xff\n2,x\n")
    with pytest.raises(EncodingError, match=r"not valid UTF-8 \(line 62, byte 9: 0xFF\)"):
        texts_of(opened(path, size))
    source = opened(path, size, encoding_errors="replace")
    assert texts_of(source)[-2:] == ["SECRET\ufffd", "x"]
    assert sum(part.read().replaced for part in source.partitions()) == 1


def test_header(tmp_path: Path) -> None:
    def read(raw: bytes | str) -> list[str]:
        return texts_of(opened(made(tmp_path, raw)))

    with pytest.raises(ColumnError, match="'text' is the name of two columns"):
        read("text,text\na,b\n")
    with pytest.raises(ColumnError, match="there are id, body"):
        read("id,body\n1,b\n")
    with pytest.raises(ColumnError, match="there is body"):
        read("body")
    with pytest.raises(EncodingError, match=r"not valid UTF-8 \(line 1, byte 6: 0xFF\)"):
        read(b"text,\xff\na,b\n")
    assert read("text\na\n".encode("utf-16")) == ["a"]
    for odd in "\x0b\x0c\x85\u2028":  # no line ends
        assert read(f"a{odd}b,text\n1,2\n") == ["2"]
    for raw in ("", "text\n", "text", "\n\ntext\r\n\r\n"):
        assert read(raw) == []
        assert opened(tmp_path / "a.csv").layout(0).header.strip() == raw.strip().encode()


def test_a_file_without_a_header_does_not_show_its_first_record(tmp_path: Path) -> None:
    path = made(tmp_path, "17,SECRET was seen today,yes\n18,b,no\n")
    with pytest.raises(ColumnError) as caught:
        texts_of(opened(path))
    assert str(caught.value).endswith("no column 'text'; there are column 1, column 2, yes")
    path = made(tmp_path, "SECRET was seen,SECRET was seen\n")
    with pytest.raises(ColumnError) as caught:
        texts_of(opened(path, text="SECRET was seen"))
    assert "the name of column 2 is the name of two columns" in str(caught.value)


def test_a_record_larger_than_many_partitions(tmp_path: Path) -> None:
    big = "word,\n" * 300_000
    path = made(tmp_path, f'id\ttext\n1\t"{big}"\n2\tx\n', "a.tsv")
    assert texts_of(opened(path, 4096)) == [big, "x"]


def test_added_fields(tmp_path: Path) -> None:
    path = made(tmp_path, 'id,text\r\n1,"a\nb"\r\n2,c\r\n3,d')
    source = opened(path)
    (part,) = source.partitions()
    added = pa.table(
        {
            "cluster": [0, 1],
            "kept": [True, False],
            "s": [1.0, None],
            "by": ['say "x"', ""],
            "n": [[1], None],
        }
    )
    out = bytes(part.records(np.array([0, 2]), 3, added))
    assert out == b'1,"a\nb",0,true,1.0,"say ""x""",[1]\r\n3,d,1,false,,"",\n'
    with pytest.raises(ColumnError, match="there is a column 'text' already"):
        check_output(source, None, pa.schema([("cluster", pa.int64()), ("text", pa.int64())]))
    check_output(source, None, pa.schema([("cluster", pa.int64())]))


def test_empty_fields_of_one_column(tmp_path: Path) -> None:
    """Empty lines are no records, a quoted empty field is one: none is lost when it is copied."""
    path = made(tmp_path, 'text\na\n\n""\nb\n')
    source = opened(path)
    assert texts_of(source) == ["a", "", "b"]
    (part,) = source.partitions()
    assert bytes(part.records(None, 3)) == b'a\n""\nb\n'


def test_nothing_of_the_memory_is_behind_values(tmp_path: Path) -> None:
    """Arrow writes what follows the last value, up to 63 bytes, to files."""
    (part,) = opened(made(tmp_path, "text,c\na,b\nc,d\n")).partitions()
    for size in range(1024):  # what was held there before is given out again
        [np.full(size, 65, np.uint8) for _ in range(8)].clear()
    for column in part.table(None, 2).columns:
        assert bytes(column.chunk(0).buffers()[2])[2:] == bytes(64)
