"""Files as people have them: packed, in archives, in other encodings, with bad records."""

from __future__ import annotations

import bz2
import io
import json
import lzma
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import neardup
from neardup.errors import EncodingError, FormatError, InputError, NeardupError, SpecError
from neardup.io.unpacking.encodings import ENCODINGS, Utf8Stream

TEXTS = [" ".join(f"w{of}x{j}" for j in range(20)) for of in (0, 0, 1, 2, 3)]
LINES = "".join(json.dumps({"id": f"n{i}", "text": t}) + "\n" for i, t in enumerate(TEXTS))
PACKERS: dict[str, Callable[[bytes], bytes]] = {"bz2": bz2.compress, "xz": lzma.compress}
UNPACKERS: dict[str, Callable[[bytes], bytes]] = {"bz2": bz2.decompress, "xz": lzma.decompress}


def dedup(path: Path, **how: Any) -> Any:
    return neardup.dedup(path, progress=False, **how)


def opened(folder: Path) -> Any:
    return neardup.open(folder)


def texts(run: Any) -> list[str]:
    found: list[str] = run.clean()["text"].to_pylist()
    return found


@pytest.mark.parametrize("codec", PACKERS)
def test_packed_streams(tmp_path: Path, codec: str) -> None:
    data, pack = LINES.encode(), PACKERS[codec]
    path = tmp_path / f"a.jsonl.{codec}"
    path.write_bytes(pack(data[:300]) + pack(data[300:]))
    run = dedup(path, out=tmp_path / "out")
    written = (tmp_path / "out" / "clean" / f"part-00000.jsonl.{codec}").read_bytes()
    kept = LINES.splitlines(keepends=True)
    assert UNPACKERS[codec](written).decode() == "".join([kept[0], *kept[2:]])
    assert texts(opened(tmp_path / "out")) == [TEXTS[0], *TEXTS[2:]] == texts(run)
    path.write_bytes(pack(data)[:-9])
    with pytest.raises(FormatError, match="data is cut off or damaged"):
        dedup(path)
    path.write_bytes(pack(data) + b"other")
    with pytest.raises(FormatError, match="data is cut off or damaged"):
        dedup(path)
    path.write_bytes(data)
    with pytest.raises(FormatError, match="though its name says so") as caught:
        dedup(path)
    assert caught.value.hint == "rename it to a.jsonl"


def zipped(path: Path, files: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return path


@pytest.mark.parametrize("method", [0, 8, 12, 14])
def test_zip_is_a_folder(tmp_path: Path, method: int) -> None:
    files = {f"../sub/t{i}.txt": text.encode() for i, text in enumerate(TEXTS)}
    files |= {".hidden.txt": b"x", "__MACOSX/._t": b"x", "sub/": b""}
    path = zipped(tmp_path / "z.zip", files, method)
    before = sorted(tmp_path.rglob("*"))
    run = dedup(path, out=tmp_path / "out")
    assert run.clusters["doc_id"].to_pylist() == [f"sub/t{i}.txt" for i in range(5)]
    clean = tmp_path / "out" / "clean"
    written = {p.relative_to(clean).as_posix(): p.read_text() for p in clean.rglob("*.txt")}
    assert written == {f"sub/t{i}.txt": TEXTS[i] for i in (0, 2, 3, 4)}
    assert (
        sorted(p for p in tmp_path.rglob("*") if tmp_path / "out" not in (p, *p.parents)) == before
    )
    again = opened(tmp_path / "out")
    assert again.explain("sub/t1.txt", texts=True).texts[0] == TEXTS[1]
    path.write_bytes(path.read_bytes()[:-1] + b"\0\0")
    with pytest.raises(InputError):
        opened(tmp_path / "out").explain("sub/t1.txt", texts=True)


def test_zip_of_tables(tmp_path: Path) -> None:
    pq.write_table(pa.table({"id": ["p"], "text": [TEXTS[2]]}), tmp_path / "b.parquet")
    files = {"a.jsonl.bz2": bz2.compress(LINES.encode())}
    files["b.parquet"] = (tmp_path / "b.parquet").read_bytes()
    files["c.csv"] = ("id,text\nc," + TEXTS[3] + " ü\n").encode()
    (tmp_path / "b.parquet").unlink()
    path = zipped(tmp_path / "z.zip", files)
    run = dedup(path, id="id", out=tmp_path / "out")
    names = {p.name for p in (tmp_path / "out" / "clean").iterdir()}
    assert names == {"a.jsonl.bz2", "b.parquet", "c.csv"}
    assert run.summary["counts"]["kept"] == 4
    both = tmp_path / "in"
    both.mkdir()
    for name in ("x.zip", "y.zip"):
        zipped(both / name, {"a.jsonl": LINES.encode()})
    dedup(both, out=tmp_path / "two")
    clean = tmp_path / "two" / "clean"
    assert {p.relative_to(clean).as_posix() for p in clean.rglob("*.jsonl")} == {
        "x.zip/a.jsonl",
        "y.zip/a.jsonl",
    }


def test_zips_that_are_refused(tmp_path: Path) -> None:
    path = zipped(tmp_path / "z.zip", {"a.txt": b"a b", "b.txt": b"c d"})
    inner = zipped(tmp_path / "y.zip", {"in.zip": path.read_bytes()})
    with pytest.raises(FormatError, match=r"y\.zip/in\.zip: a zip in a zip"):
        dedup(inner)
    data = path.read_bytes()
    encrypted = bytearray(data)
    for magic, at in ((b"PK\3\4", 6), (b"PK\1\2", 8)):
        encrypted[data.find(magic) + at] |= 1
    path.write_bytes(encrypted)
    with pytest.raises(FormatError, match=r"z\.zip: encrypted") as caught:
        dedup(path)
    assert caught.value.hint == "unpack it first"
    path.write_bytes(data[:40])
    with pytest.raises(FormatError, match="no zip archive, or cut off or damaged"):
        dedup(path)
    at = data.find(b"a b")
    stored = zipped(tmp_path / "s.zip", {"a.txt": b"a b", "b.txt": b"c d"}, 0).read_bytes()
    at = stored.find(b"a b")
    path.write_bytes(stored[:at] + b"A B" + stored[at + 3 :])
    with pytest.raises(FormatError, match=r"z\.zip/a\.txt: the zip data is cut off or damaged"):
        dedup(path)
    large = zipped(tmp_path / "l.zip", {"a.txt": b"x " * 10_000_000, "b.txt": b"c d"})
    with pytest.raises(FormatError, match="a text of more than 1,000,000 bytes"):
        dedup(large, max_document="1MB")


def test_names_that_are_one_when_unpacked(tmp_path: Path) -> None:
    files = {name: TEXTS[i].encode() for i, name in enumerate(("a.txt", "./a.txt", "../A.TXT"))}
    run = dedup(zipped(tmp_path / "z.zip", files))
    assert sorted(run.clusters["doc_id"].to_pylist()) == ["A.TXT", "a-2.txt", "a-3.txt"]


def test_sizes_that_lie(tmp_path: Path) -> None:
    """A text is complete, or refused."""
    text = b"one two " * 5000
    path = zipped(tmp_path / "z.zip", {"a.txt": text, "b.txt": b"c d"})
    data, real = path.read_bytes(), len(text).to_bytes(4, "little")
    for size in (0, 10, len(text) - 1):
        path.write_bytes(data.replace(real, size.to_bytes(4, "little")))
        with pytest.raises(FormatError, match=r"z\.zip/a\.txt: the zip data is cut off or damaged"):
            dedup(path)
    path.write_bytes(data.replace(real, (1 << 31).to_bytes(4, "little")))
    assert texts(dedup(path)) == [text.decode(), "c d"]


def test_many_members(tmp_path: Path) -> None:
    count = 2000
    path = zipped(
        tmp_path / "z.zip", {f"{i % 97}/t{i}.txt": b"w%d" % (i // 2) for i in range(count)}
    )
    assert dedup(path, threads=2).summary["counts"]["kept"] == count // 2


@pytest.mark.parametrize("ending", ["jsonl", "csv", "txt"])
def test_utf16_with_a_mark(tmp_path: Path, ending: str) -> None:
    words = [f"{text} größer 漢字" for text in TEXTS]
    lines = "".join(json.dumps({"text": w}, ensure_ascii=False) + "\n" for w in words)
    content = {"jsonl": lines, "csv": "text\n" + "\n".join(words), "txt": "\n".join(words)}[ending]
    for encoding in ("utf-16-le", "utf-16-be"):
        path = tmp_path / f"{encoding}.{ending}"
        data = ("\ufeff" + content).encode(encoding)
        path.write_bytes(data)
        how = {"input_format": "lines"} if ending == "txt" else {}
        out = tmp_path / f"out-{encoding}"
        run = dedup(path, out=out, **how)
        assert texts(run) == [words[0], *words[2:]] == texts(opened(out))
        assert run.summary["notes"] == [
            f"records are written as UTF-8; they were read as {encoding}"
        ]
        written = next((out / "clean").iterdir()).read_text(encoding="utf-8")
        assert words[2] in written and "\ufeff" not in written
        path.write_bytes(data[2:])
        with pytest.raises(EncodingError, match="UTF-16 without a byte order mark") as caught:
            dedup(path, **how)
        assert caught.value.hint == f"`encoding`='{encoding}'"
        assert texts(dedup(path, encoding=encoding, **how)) == texts(run)


def test_plain_texts_stay_in_their_encoding(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    for i, text in enumerate(TEXTS):
        (folder / f"{i}.txt").write_bytes(f"{text} Größe".encode("cp1252"))
    with pytest.raises(
        EncodingError, match=r"not valid UTF-8 \(line 1, byte \d+: 0xF6\)"
    ) as caught:
        dedup(folder)
    assert "`encoding`='cp1252'" in caught.value.hint
    dedup(folder, encoding="cp1252", out=tmp_path / "out")
    for path in (tmp_path / "out" / "clean").iterdir():
        assert path.read_bytes() == (folder / path.name).read_bytes()
    assert texts(opened(tmp_path / "out"))[0].endswith("Größe")


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_each_encoding(tmp_path: Path, encoding: str) -> None:
    sample = {"cp1250": "ąęŐ", "cp1251": "привет", "cp1253": "λόγος", "cp1254": "ğış"}
    sample |= {"cp1255": "שלום", "cp1256": "سلام", "cp1257": "šū", "cp1258": "ăđ", "koi8-r": "мир"}
    sample |= {
        "shift_jis": "東京タワー",
        "gb18030": "北京大学图书馆",
        "big5": "臺灣大學",
        "euc-kr": "한국어",
    }
    word = sample.get(encoding, "Größe")
    path = tmp_path / "a.csv"
    path.write_bytes(f"text\n{word} one\nother {word}\n".encode(encoding))
    assert texts(dedup(path, encoding=encoding)) == [f"{word} one", f"other {word}"]


def test_encodings_that_contradict(tmp_path: Path) -> None:
    a, b = tmp_path / "a.csv", tmp_path / "b.csv"
    a.write_bytes("text\nGröße eins\n".encode("cp1252"))
    b.write_bytes("text\nGröße zwei\n".encode())
    with pytest.raises(EncodingError, match=r"b\.csv: the file is UTF-8, and"):
        neardup.dedup([a, b], encoding="cp1252", progress=False)
    b.write_bytes("\ufefftext\nGröße zwei\n".encode())  # a mark is sure
    assert neardup.dedup([a, b], encoding="cp1252", progress=False).clean()["text"].to_pylist() == [
        "Größe eins",
        "Größe zwei",
    ]
    with pytest.raises(SpecError, match="`encoding` is 'latin-9000'"):
        dedup(a, encoding="latin-9000")
    with pytest.raises(SpecError, match="for files only"):
        neardup.dedup(TEXTS, encoding="cp1252", progress=False)
    a.write_bytes(b"text\n" + b"x" * 3_000_000 + b"\ny\x81\n")
    with pytest.raises(EncodingError, match=r"\(line 3, byte 3,000,008 of the file: 0x81\)"):
        dedup(a, encoding="cp1252")
    run = dedup(a, encoding="cp1252", encoding_errors="replace")
    assert texts(run)[1] == "y\ufffd" and run.summary["counts"]["encoding_replaced"] == 1


def test_bytes_far_behind() -> None:
    """As if three billion bytes were decoded before."""
    stream = Utf8Stream(
        io.BytesIO(b"x" * 70_000 + b"\n" + b"y" * 9 + b"\x81"), "a.csv", "cp1252", "strict"
    )
    stream.readinto(bytearray(10))
    stream._done += 3_000_000_000
    stream._lines += 2**31
    with pytest.raises(EncodingError) as caught:
        stream.readall()
    assert str(caught.value) == (
        "a.csv: not valid cp1252 (line 2,147,483,650, byte 3,000,070,011 of the file: 0x81)"
    )


def test_cp1252_from_excel(tmp_path: Path) -> None:
    """Each hint leads on, until the values are right."""
    path = tmp_path / "a.csv"
    path.write_bytes("id;name;Straße\n1;Jürgen;Große Straße 1\n".encode("cp1252"))
    with pytest.raises(EncodingError, match=r"not valid UTF-8 \(line 1, byte 13: 0xDF\)") as caught:
        dedup(path)
    assert "`encoding`='cp1252'" in caught.value.hint
    with pytest.raises(NeardupError, match="the only column is 'id;name;Straße'") as second:
        dedup(path, encoding="cp1252")
    assert second.value.hint == "`delimiter`=';'"
    run = dedup(path, encoding="cp1252", delimiter=";", text="Straße", id="id")
    assert run.clean().to_pylist() == [{"id": "1", "name": "Jürgen", "Straße": "Große Straße 1"}]


@pytest.mark.parametrize("first", ["sep=;", '"sep=;"', "\ufeffSEP=;"])
def test_first_line_names_the_delimiter(tmp_path: Path, first: str) -> None:
    path = tmp_path / "a.csv"
    rows = "".join(f"{i};{text}\r\n" for i, text in enumerate(TEXTS))
    path.write_bytes(f"{first}\r\nid;text\r\n{rows}".encode())
    out = tmp_path / "out"
    assert texts(dedup(path, id="id", out=out)) == [TEXTS[0], *TEXTS[2:]]
    written = (out / "clean" / "part-00000.csv").read_bytes().decode()
    assert written.startswith(f"{first}\r\nid;text\r\n0;") and "\r\n1;" not in written
    assert texts(opened(out)) == [TEXTS[0], *TEXTS[2:]]
    dedup(path, id="id", out=tmp_path / "more", annotate=True)
    more = (tmp_path / "more" / "clean" / "part-00000.csv").read_bytes().decode().splitlines()
    assert more[1].startswith("id;text;cluster;")


def test_a_file_with_the_usual_delimiter_is_read_by_that(tmp_path: Path) -> None:
    """Of files that are read together some have the delimiter that is named, some the usual one."""
    half = len(TEXTS) // 2
    for name, delimiter, rows in (("a.csv", ";", TEXTS[:half]), ("b.csv", ",", TEXTS[half:])):
        table = pandas.DataFrame({"id": [f"{name}{k}" for k in range(len(rows))], "text": rows})
        table.to_csv(tmp_path / name, index=False, sep=delimiter)
    files = [tmp_path / name for name in ("a.csv", "b.csv")]
    assert texts(dedup(files, delimiter=";", id="id")) == [TEXTS[0], *TEXTS[2:]]
    with pytest.raises(NeardupError, match=r"b\.csv: no column 'no'; the only column is"):
        dedup(files[1], delimiter=";", text="no")
    files[1].write_text("sep=,\nid,text\n1,a b c d e f\n", encoding="utf-8")
    assert dedup(files, delimiter=";", id="id").summary["counts"]["documents"] == half + 1
    files[1].write_text('"text, whole"\na b c d e f\n', encoding="utf-8")
    assert dedup(files[1], delimiter=";", text="text, whole").summary["counts"]["documents"] == 1


def test_escapes(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b'id,text,path\n1,"say \\"a, b\\" C:\\\\d \\n","x\\\\"\n2,C:\\temp,"\\""\n')
    with pytest.raises(FormatError, match="a quote opened in line 3 is not closed") as caught:
        dedup(path)
    assert "`escape`='\\'" in caught.value.hint
    rows = dedup(path, escape="\\", out=tmp_path / "out").clean().to_pylist()
    assert rows == [
        {"id": "1", "text": 'say "a, b" C:\\d \\n', "path": "x\\"},
        {"id": "2", "text": "C:\\temp", "path": '"'},
    ]
    assert (tmp_path / "out" / "clean" / "part-00000.csv").read_bytes() == path.read_bytes()
    assert opened(tmp_path / "out").clean().to_pylist() == rows
    large = tmp_path / "b.csv"
    large.write_bytes(b'text\n"' + b'\\",\n\\\\' * 40_000 + b'"\nlast\n')
    run = dedup(large, escape="\\", max_document=100_000, skip_large=True)
    assert texts(run) == ["last"] and run.summary["counts"]["skipped"] == 1
    for wrong in ("", '"', "ab", "é"):
        with pytest.raises(SpecError, match="expected one ASCII character"):
            dedup(path, escape=wrong)
    with pytest.raises(SpecError, match="both"):
        dedup(path, escape=";", delimiter=";")


def test_lines(tmp_path: Path) -> None:
    path = tmp_path / "notes.log"
    content = "\ufeff" + TEXTS[0] + "\r\n\r\n \t\n  " + TEXTS[2] + "\n" + TEXTS[0] + "\nlast"
    path.write_bytes(content.encode())
    out = tmp_path / "out"
    run = dedup(path, input_format="lines", out=out)
    assert run.clusters["doc_id"].to_pylist() == [0, 1, 2, 3]
    assert texts(run) == [TEXTS[0], f"  {TEXTS[2]}", "last"] == texts(opened(out))
    written = (out / "clean" / "part-00000.txt").read_bytes().decode()
    assert written == f"{TEXTS[0]}\r\n  {TEXTS[2]}\nlast\n"
    with pytest.raises(SpecError, match="lines have no ids"):
        dedup(path, input_format="lines", id="path")
    dedup(path, input_format="lines", format="csv", out=tmp_path / "csv")
    assert texts(opened(tmp_path / "csv")) == texts(run)


def test_one_text(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("\n".join(TEXTS))
    with pytest.raises(InputError, match="one plain text is one document") as caught:
        dedup(path)
    assert "`input_format`='lines'" in caught.value.hint
    assert dedup(path, input_format="lines").summary["counts"]["kept"] == 4
    notes = neardup.passages(path, progress=False).summary["notes"]
    assert "one plain text is one document" in notes[0]


BINARY = {
    "report.docx": (b"PK\3\4" + b"x" * 30, r"a zip archive \(Word\?\), no plain text"),
    "a.pdf": (b"%PDF-1.7\n", "PDF, no plain text"),
    "a.doc": (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 9, "old Office"),
    "a.png": (b"\x89PNG\r\n\x1a\n", "an image"),
    "a.exe": (b"MZ\x90\0", "a program"),
    "a.bin": (b"abc\0def", "binary data, no plain text"),
    "a.7z": (b"7z\xbc\xaf\x27\x1c", "compressed by 7z, which is not read"),
}


@pytest.mark.parametrize("name", BINARY)
def test_binary_files_are_no_texts(tmp_path: Path, name: str) -> None:
    data, what = BINARY[name]
    (tmp_path / name).write_bytes(data)
    for i, text in enumerate(TEXTS):
        (tmp_path / f"{i}.txt").write_text(text)
    for how in ({}, {"encoding_errors": "replace"}, {"encoding": "cp1252"}):
        with pytest.raises(FormatError, match=what) as caught:
            dedup(tmp_path, **how)
        assert name in str(caught.value)
        assert (
            "leave it out by a pattern" in caught.value.hint or "zip are read" in caught.value.hint
        )
    assert neardup.dedup(tmp_path / "*.txt", progress=False).summary["counts"]["kept"] == 4
    run = dedup(tmp_path, skip_bad=True)
    assert run.summary["counts"] | {"kept": 4, "skipped_bad": 1} == run.summary["counts"]


BAD_LINES = [
    ("nope", "is not valid JSON"),
    ("[1,2]", "is an array"),
    ('{"text": 5}', "column 'text' is a number"),
    ('{"text": "a', "is not valid JSON"),
    ('{"text":"a","text":"b"}', "has the key 'text' twice"),
    ('{"text":"\\ud800"}', "is not valid UTF-8"),
]


@pytest.mark.parametrize("packed", [False, True])
def test_bad_lines(tmp_path: Path, packed: bool) -> None:
    lines = LINES.splitlines()
    for at, (line, _) in enumerate(BAD_LINES):
        lines.insert(2 * at, line) if at < 3 else lines.append(line)
    path = tmp_path / ("a.jsonl.xz" if packed else "a.jsonl")
    data = ("\n".join(lines) + "\n").encode()
    path.write_bytes(lzma.compress(data) if packed else data)
    with pytest.raises(FormatError, match="line 1 is not valid JSON") as caught:
        dedup(path, id="id")
    assert "`skip_bad`=True leaves such lines out and counts them" in caught.value.hint
    out = tmp_path / "out"
    run = dedup(path, id="id", skip_bad=True, out=out)
    assert run.summary["counts"]["skipped_bad"] == len(BAD_LINES)
    for note, (line, what) in zip(run.summary["notes"], BAD_LINES, strict=True):
        assert f"line {lines.index(line) + 1} " in note and what in note
    kept = LINES.splitlines(keepends=True)
    written = next((out / "clean").iterdir()).read_bytes()
    assert (lzma.decompress(written) if packed else written).decode() == "".join(
        [kept[0], *kept[2:]]
    )
    assert opened(out).explain("n1", texts=True).texts[0] == TEXTS[1]
    for threads in (1, 2):
        again = dedup(path, id="id", skip_bad=True, threads=threads)
        assert again.clusters.equals(run.clusters)
    with pytest.raises(NeardupError, match="no column 'nix'"):
        dedup(path, skip_bad=True, text="nix")


def test_many_bad_lines(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(LINES + "x\n" * 5000 + LINES.replace("n", "m"))
    run = dedup(path, skip_bad=True)
    assert run.summary["counts"]["skipped_bad"] == 5000
    assert len(run.summary["notes"]) == 11
    assert run.summary["notes"][-1] == "4,990 more records that can't be read are left out"


def test_bad_records_of_csv(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(
        'id,text\n1,a b c\n2,x,y\n3,"q" r\n4,"multi\nline",z\n5,d e f\n6,"open\n7,g h\n'
    )
    run = dedup(path, skip_bad=True)
    assert run.clean()["id"].to_pylist() == ["1", "5", "7"]
    assert [note.split(" ")[1:3] for note in run.summary["notes"]] == [
        ["line", number] for number in ("3", "4", "5", "8")
    ]
    linked = neardup.link(path, fields="text", skip_bad=True, progress=False)
    assert linked.summary["counts"]["skipped_bad"] == 4
    with pytest.raises(SpecError, match="for files only"):
        neardup.dedup(TEXTS, skip_bad=True, progress=False)


@pytest.mark.parametrize("encoding", ["DELTA_BYTE_ARRAY", "DELTA_LENGTH_BYTE_ARRAY"])
@pytest.mark.parametrize("column", ["text", "other"])
def test_parquet_of_other_writers(tmp_path: Path, encoding: str, column: str) -> None:
    path = tmp_path / "a.parquet"
    table = pa.table({"text": TEXTS, "other": list("aabbc")})
    others = [name for name in table.column_names if name != column]
    how: Any = {"use_dictionary": others, "column_encoding": {column: encoding}}
    pq.write_table(table, path, **how)
    assert texts(dedup(path, out=tmp_path / "out")) == [TEXTS[0], *TEXTS[2:]]
    assert opened(tmp_path / "out").clean()["other"].to_pylist() == list("abbc")


@pytest.mark.parametrize("kind", ["cp1252", "escape", "lines"])
def test_passages_are_cut_as_files_are_written(tmp_path: Path, kind: str) -> None:
    copied = " ".join(f"word{i}ö" for i in range(40))
    first, second = f"one {copied}", f'two "quoted" {copied}'
    out, how = tmp_path / "out", dict[str, Any]()
    if kind == "lines":
        path = tmp_path / "a.txt"
        path.write_bytes(f"{first}\n{second}\r\n".encode())
        how = {"input_format": "lines"}
    elif kind == "escape":
        path = tmp_path / "a.csv"
        row = second.replace('"', '\\"')
        path.write_bytes(f'id,text\n"\\"1",{first}\n2,"{row}"\n'.encode())
        how = {"escape": "\\"}
    else:
        path = tmp_path / "in"
        path.mkdir()
        for name, text in (("a.txt", first), ("b.txt", second)):
            (path / name).write_bytes(text.encode("cp1252"))
        how = {"encoding": "cp1252"}
    run = neardup.passages(path, cut=True, out=out, progress=False, **how)
    found = [text.strip() for text in opened(out).clean()["text"].to_pylist()]
    assert found == [first, 'two "quoted"'] and run.summary["counts"]["cut_words"] == 40
