"""Messages of files in the command and in Python; what each hint says works."""

from __future__ import annotations

import gzip
import json
import os
import re
import shlex
import zipfile
from pathlib import Path
from typing import Any

import pytest

import neardup
from common import Command
from neardup.errors import NeardupError

TEXTS = [" ".join(f"w{of}x{j}" for j in range(20)) for of in (0, 0, 1)]
LINES = "".join(json.dumps({"text": text}) + "\n" for text in TEXTS)
TABLE = "id,text\n" + "".join(f"{i},{text} größe\n" for i, text in enumerate(TEXTS))
RIS = "TY  - JOUR\nTI  - {}\nER  - \n"


def _zip() -> bytes:
    with zipfile.ZipFile("made.zip", "w") as made:
        made.writestr("a.jsonl", LINES)
    return Path("made.zip").read_bytes()


def _encrypted() -> bytes:
    data = bytearray(_zip())
    for magic, at in ((b"PK\3\4", 6), (b"PK\1\2", 8)):
        data[data.find(magic) + at] |= 1
    return bytes(data)


#: Name and content of a file, the message, the hint, and what is done then: options, or a name.
CASES: list[tuple[str, Any, str, str, str]] = [
    ("r.docx", _zip, "a zip archive (Word?), no plain text", "convert it to text: pandoc", ""),
    ("a.7z", b"7z\xbc\xaf\x27\x1c", "compressed by 7z, which is not read", "xz and zip are", ""),
    ("a.csv", _zip, "a zip archive, no plain text", "a file with the ending .zip", "a.zip"),
    ("a.csv", TABLE.encode("utf-16")[2:], "UTF-16 without a byte order mark", "", "--encoding"),
    ("a.csv", TABLE.encode("cp1252"), "not valid UTF-8 (line 2, byte 115: 0xF6)", "", "--encoding"),
    ("a.csv", TABLE.replace(",", ";").encode(), "no column 'text'; the only", "", "--delimiter"),
    ("a.txt", "\n".join(TEXTS).encode(), "one plain text is one doc", "", "--input-format"),
    ("a.jsonl.gz", LINES.encode(), "not compressed by gzip", "rename it to a.jsonl", "a.jsonl"),
    ("a.md.gz", gzip.compress(b"\n".join(map(str.encode, TEXTS))), "unknown ending '.md'", "", "x"),
    ("a.jsonl", LINES.encode() + b"nothing\n", "line 4 is not valid JSON", "", "--skip-bad"),
    ("a.ris", f"TI  - x\n{RIS * 2}".encode(), "no record before this tag", "", "--skip-bad"),
    ("a.zip", _encrypted, "encrypted", "unpack it first", ""),
]


@pytest.mark.parametrize("number", range(len(CASES)))
def test_messages_and_hints(
    number: int, tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch, kernels: None
) -> None:
    monkeypatch.chdir(tmp_path)
    name, content, said, remedy, then = CASES[number]
    Path(name).write_bytes(content() if callable(content) else content)
    done = command("dedup", name, "-o", "out")
    assert done.code == 1 and done.lines[0].startswith(f"error: {name}")
    assert said in done.lines[0] and remedy in done.lines[1]
    with pytest.raises(NeardupError) as caught:
        neardup.dedup(Path(name), progress=False)
    assert said in str(caught.value)
    if then.startswith("--"):
        options = shlex.split(done.lines[1][done.lines[1].index(then) :])[:2]
        options[1] = options[1].removesuffix(";") or ";"
        options = options[:1] if then == "--skip-bad" else options
        asked = f"`{then[2:].replace('-', '_')}`="
        assert re.search(rf"{asked}('|True)", caught.value.hint)
    elif then == "x":  # a text for itself, which may be read as lines
        assert "--input-format text" in done.lines[1]
        options = ["--input-format", "lines"]
    elif then:
        Path(name).rename(then)
        name, options = then, []
    else:
        return
    assert command("dedup", name, "-o", "out", "--quiet", *options).code == 0
    assert neardup.open("out").summary["counts"]["kept"] == (1 if name == "a.ris" else 2)  # type: ignore[union-attr]


def test_hints_of_sheets_and_damaged_characters(
    tmp_path: Path, command: Command, kernels: None
) -> None:
    import openpyxl

    sheet, table = tmp_path / "a.xlsx", tmp_path / "a.csv"
    book = openpyxl.Workbook()
    for row in (
        ["Patients"],
        [],
        ["id", "text"],
        *([f"00{i}", text] for i, text in enumerate(TEXTS)),
    ):
        book.active.append(row)  # type: ignore[union-attr]
    book.save(sheet)
    table.write_bytes(TABLE.encode("cp1252"))
    for path, said in (
        (sheet, "row 1 has one cell of 2; is the header further down?"),
        (table, "not valid UTF-8"),
    ):
        done = command("dedup", path, "-o", tmp_path / "out")
        assert done.code == 1 and said in done.lines[0]
        option, value = re.findall(r"(--[a-z-]+) (\w+)", done.lines[1])[-1]
        again = command(
            "dedup", path, "-o", tmp_path / f"{path.name}-out", option, value, "--quiet"
        )
        assert again.code == 0, again.err
        assert neardup.open(tmp_path / f"{path.name}-out").summary["counts"]["kept"] == 2  # type: ignore[union-attr]


def test_one_text_is_noted(tmp_path: Path, command: Command, kernels: None) -> None:
    path = tmp_path / "a.txt"
    path.write_text("\n".join(TEXTS))
    shown = " ".join(command("plan", path).out.split())
    assert "one plain text is one document; if each line is a document: --input-format" in shown
    (warning,) = [w for w in neardup.plan(path).warnings if w.kind == "one text"]
    assert "`input_format`='lines'" in warning.text
    assert command("passages", path, "-o", tmp_path / "out").code == 0


def test_zips_that_are_no_files(tmp_path: Path, command: Command) -> None:
    pipe = tmp_path / "a.zip"
    os.mkfifo(pipe)
    done = command("dedup", pipe, "-o", tmp_path / "out")
    assert "a zip archive in a pipe or at a URL, which is not read" in done.lines[0]
    assert done.lines[1] == "hint: copy it to a file, and name that"


def test_indexes_say_which_records_they_leave_out(
    tmp_path: Path, command: Command, kernels: None
) -> None:
    path, folder = tmp_path / "a.csv", tmp_path / "index"
    path.write_bytes((TABLE + "9,a,b\n").encode("cp1252"))
    how = ("--encoding", "cp1252", "--skip-bad")
    assert command("index", "create", folder).code == 0
    added = command("index", "add", folder, path, *how)
    said = "a.csv: line 5 has 3 fields, the header 2; left out"
    assert said in added.err and "added 3 documents" in added.err
    found = command("index", "query", folder, path, *how)
    assert said in found.err and len(found.out.splitlines()) == 5


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_second_corpora_are_read_as_the_first(
    ending: str, tmp_path: Path, command: Command, kernels: None
) -> None:
    """Where they are files of that kind; notes name the file."""
    new, old = tmp_path / "new.csv", tmp_path / f"old.{ending}"
    new.write_bytes((TABLE + "9,a,b\n").encode("cp1252"))
    content = TABLE + "9,a,b\n" if ending == "csv" else LINES.replace('"}', ' größe"}') + "x\n"
    old.write_bytes(content.encode("cp1252"))
    for name, count in (
        ("dedup", "similar_to_old"),
        ("passages", ""),
        ("decontaminate", "removed"),
    ):
        out = tmp_path / f"out-{name}"
        how = ("--encoding", "cp1252", "--escape", "\\", "--skip-bad", "--quiet", "-o", out)
        done = command(name, new, "--against", old, *how)
        assert done.code == 0, done.err
        record = json.loads((out / "run.json").read_text(encoding="utf-8"))
        assert record["counts"]["skipped_bad"] == 1
        assert record["counts"].get(count, 3) == 3
        assert sum("; left out" in note for note in record["notes"]) == 2
        assert sum("written as UTF-8" in note for note in record["notes"]) == 1
