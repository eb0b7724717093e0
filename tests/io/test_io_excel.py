"""Sheets of Excel and LibreOffice: values as texts, headers further down, and bad files."""

from __future__ import annotations

import csv
import datetime
import re
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from io_samples import opened

import neardup
from common import Command
from neardup.errors import ColumnError, FormatError, InputError, SpecError
from neardup.io.source import Source

#: Rows below two rows of titles, and what is read of them.
ROWS: list[list[Any]] = [
    ["id", "born", "count", "p", "flag", "error", "at", None, "note\nin two lines"],
    ["007", datetime.date(1980, 2, 1), 7, 1 / 3, True, "#N/A", datetime.time(12, 30), None, "a"],
    [8, None, 7.0, 1e-12, False, "=1/0", datetime.datetime(1980, 2, 1, 13, 5), None, "0"],
    [None] * 9,
    ["12345", datetime.date(1999, 12, 31), 0, 0, None, None, "12:31", "x", ""],
]
NAMES = ["id", "born", "count", "p", "flag", "error", "at", "column_8", "note in two lines"]
READ = [
    ["007", "1980-02-01", "7", "0.333333333333333", "true", None, "12:30:00", None, "a"],
    ["8", None, "7", "1e-12", "false", None, "1980-02-01 13:05:00", None, "0"],
    ["12345", "1999-12-31", "0", "0", None, None, "12:31", "x", None],
]


def book(path: Path, rows: list[list[Any]], *others: str, title: str = "") -> Path:
    """A workbook; with a title, the header is in row 3."""
    made = openpyxl.Workbook()
    sheet = made.active
    assert sheet is not None
    sheet.title = "Data"
    if title:
        sheet["A1"] = title
        sheet.merge_cells("A1:I1")
    for number, row in enumerate(rows, 3 if title else 1):
        for place, value in enumerate(row, 1):
            sheet.cell(number, place, value)
    for name in others:
        made.create_sheet(name)["A1"] = "id"
    made.save(path)
    return path


def rows_of(path: Path, **how: Any) -> list[list[str | None]]:
    parts = opened(path, text=how.pop("text", "id"), **how).partitions()
    tables = [part.table(None, len(part.read().text)) for part in parts]
    return [list(row.values()) for table in tables for row in table.to_pylist()]


def layout_names(source: Source) -> list[str]:
    schema = source.layout(0).schema
    assert schema is not None
    return list(schema.names)


def test_values_are_texts(tmp_path: Path) -> None:
    path = book(tmp_path / "a.xlsx", ROWS)
    source = opened(path, text="id")
    assert rows_of(path) == READ and layout_names(source) == NAMES
    assert source.files[0].notes == [
        f"{path}: column 'id' has numbers, and texts that begin with 0: zeros before a number that "
        "only its format shows are lost"
    ]


def test_a_title_above_the_header(tmp_path: Path) -> None:
    path = book(tmp_path / "a.xlsx", ROWS, title="Patients of 2024")
    with pytest.raises(FormatError) as caught:
        rows_of(path)
    assert str(caught.value) == f"{path}: row 1 has one cell of 8; is the header further down?"
    assert caught.value.hint == "`header_row`=3"
    assert rows_of(path, header_row=3) == READ
    for row in (2, 30):
        with pytest.raises(ColumnError, match=f"row {row} has no cell") as other:
            rows_of(path, header_row=row)
        assert other.value.hint == "`header_row`=1"
    with pytest.raises(SpecError, match="header_row"):
        neardup.dedup(path, header_row=0)


def test_empty_rows_and_columns_before_the_table(tmp_path: Path) -> None:
    path = book(tmp_path / "a.xlsx", [[], [None, "id", "text"], [None, 1, "a"], [], [None, 2, "b"]])
    assert rows_of(path) == [["1", "a"], ["2", "b"]]


def test_other_sheets(tmp_path: Path) -> None:
    path = book(tmp_path / "a.xlsx", [["id"], ["a"]], "Second", "Third")
    source = opened(path, text="id")
    assert [len(part.read().text) for part in source.partitions()] == [1]
    assert source.files[0].notes == [f"{path}: sheet 'Data' was read, and not 'Second', 'Third'"]
    assert rows_of(path, sheet="Data") == [["a"]] and rows_of(path, sheet="Third") == []
    with pytest.raises(ColumnError, match="no sheet 'Secnd'; there are 'Data', 'Second', 'Third'"):
        rows_of(path, sheet="Secnd")
    run = neardup.dedup(path, text="id")
    assert run.notes[0].endswith("was read, and not 'Second', 'Third'")
    empty = book(tmp_path / "empty.xlsx", [], "Second")
    with pytest.raises(InputError, match="sheet 'Data' is empty") as caught:
        rows_of(empty)
    assert caught.value.hint == "`sheet`='Second'"
    assert rows_of(book(tmp_path / "none.xlsx", [])) == []
    assert rows_of(book(tmp_path / "header.xlsx", [["id", "b"]])) == []


def test_options_are_for_sheets_only(tmp_path: Path) -> None:
    other = tmp_path / "a.csv"
    other.write_text("id,text\n1,a\n")
    for option, value in (("sheet", "Data"), ("header_row", 2)):
        with pytest.raises(SpecError, match=f"`{option}` is given, and no input is of Excel"):
            neardup.dedup(other, **{option: value})
        with pytest.raises(SpecError, match=f"`{option}` is .* for a frame"):
            neardup.dedup(["a", "b"], **{option: value})


def test_columns_without_or_with_one_name(tmp_path: Path) -> None:
    path = book(tmp_path / "a.xlsx", [["id", "id"], ["a", "b"]])
    with pytest.raises(ColumnError, match="'id' is the name of two columns"):
        rows_of(path)
    with pytest.raises(ColumnError, match="no column 'text'; there are id, b"):
        rows_of(book(tmp_path / "b.xlsx", [["id", "b"], ["a", "b"]]), text="text")


def test_libreoffice_and_old_excel(tmp_path: Path) -> None:
    import xlwt
    from odf import opendocument, table, text

    old = xlwt.Workbook()
    sheet = old.add_sheet("Data")
    day = xlwt.XFStyle()
    day.num_format_str = "YYYY-MM-DD"
    cells = [["id", "born", "n"], ["007", datetime.date(1980, 2, 1), 7], ["8", None, 0.25]]
    for number, row in enumerate(cells):
        for place, value in enumerate(row):
            style = day if isinstance(value, datetime.date) else xlwt.Style.default_style
            if value is not None:
                sheet.write(number, place, value, style)
    old.save(str(tmp_path / "a.xls"))
    new = opendocument.OpenDocumentSpreadsheet()
    data = table.Table(name="Data")
    for row in cells:
        line = table.TableRow()
        for value in row:
            if isinstance(value, datetime.date):
                cell = table.TableCell(valuetype="date", datevalue=value.isoformat())
            elif isinstance(value, int | float):
                cell = table.TableCell(valuetype="float", value=value)
            else:
                cell = table.TableCell(valuetype="string") if value else table.TableCell()
            if value is not None:
                cell.addElement(text.P(text=str(value)))
            line.addElement(cell)
        data.addElement(line)
    new.spreadsheet.addElement(data)
    new.save(str(tmp_path / "a.ods"))
    for ending in ("xls", "ods"):
        assert rows_of(tmp_path / f"a.{ending}") == [
            ["007", "1980-02-01", "7"],
            ["8", None, "0.25"],
        ]


def test_the_clean_corpus_is_csv(tmp_path: Path) -> None:
    words = [f"An evaluation of memory number {'abcd'[i % 4] * 3}" for i in range(12)]
    rows: list[list[Any]] = [["id", "title", "born"]]
    rows += [[f"{i:03}", title, datetime.date(1980, 1, 1 + i)] for i, title in enumerate(words)]
    folder = tmp_path / "in"
    folder.mkdir()
    book(folder / "a.xlsx", rows)
    out = tmp_path / "out"
    how: dict[str, Any] = {"text": "title", "id": "id", "shingle": "word:2", "progress": False}
    run = neardup.dedup(folder / "a.xlsx", out=out, removed=True, **how)
    with (out / "clean/part-00000.csv").open(newline="") as file:
        found = list(csv.reader(file))
    assert found[:2] == [["id", "title", "born"], ["000", words[0], "1980-01-01"]]
    assert len(found) == 5 and run.summary["counts"]["kept"] == 4
    # It is read again, and compared with a table of another format.
    assert "tokens; removed" in str(neardup.open(out).explain("004"))
    pairs = neardup.link(folder / "a.xlsx", out / "clean/part-00000.csv", fields=["title", "born"])
    assert len(pairs.pairs) == 4
    book(folder / "b.xlsx", rows)
    neardup.dedup(folder, out=tmp_path / "both", **{**how, "id": None})
    names = sorted(path.name for path in (tmp_path / "both/clean").iterdir())
    assert names == ["a.csv", "b.csv"]
    neardup.dedup(folder / "a.xlsx", out=tmp_path / "json", format="jsonl", **how)
    assert (tmp_path / "json/clean/part-00000.jsonl").read_text().count("\n") == 4


def test_bad_files(tmp_path: Path) -> None:
    path = tmp_path / "a.xlsx"
    for content in (b"zebrafinch", b"PK\3\4zebrafinch", b"\xd0\xcf\x11\xe0" + bytes(600), b"%PDF-"):
        path.write_bytes(content)
        with pytest.raises(FormatError, match="no table of Excel or LibreOffice") as caught:
            rows_of(path)
        assert "zebrafinch" not in str(caught.value)
    book(path, [["id", "text"], ["a", "b"]])
    made = openpyxl.load_workbook(path)
    made["Data"].cell(1048576, 16384, "far")
    made.save(path)
    with pytest.raises(InputError, match="a sheet reaches to the cell XFD1048576"):
        rows_of(path)
    path.write_bytes(b"")
    with pytest.raises(FormatError, match="no table of Excel"):
        rows_of(path)
    path.write_bytes(b"id,text\n1,a\n")
    with pytest.raises(FormatError, match="no table of Excel") as caught:
        rows_of(path)
    assert caught.value.hint == "if it is CSV: `input_format`='csv'"
    run = neardup.dedup(path, input_format="csv", progress=False)
    assert run.summary["counts"]["kept"] == 1


@pytest.mark.parametrize(
    "words",
    [
        *("dedup {a} -o {out}", "dedup {a} --against {b} -o {out}", "passages {a} -o {out}"),
        *("dedup {b} --against {a} -o {out}", "passages {b} --against {a} -o {out}"),
        *("plan {a}", "plan {a} --passages 5", "link {a} --fields text -o {out}"),
        *("link {b} {a} --fields text -o {out}", "blocks {a} --fields text -o {out}.csv"),
        "decontaminate {a} --against {b} -o {out}",
        "decontaminate {b} --against {a} -o {out}",
    ],
)
def test_sheets_need_memory(words: str, tmp_path: Path, command: Command) -> None:
    """It is refused before it is decoded, and works with as much as the message says."""
    path, other = book(tmp_path / "a.xlsx", [["text"], ["a b"]]), tmp_path / "b.csv"
    made = openpyxl.load_workbook(path)
    made["Data"].cell(160_000, 20, "far")
    made.save(path)
    other.write_text("text\nc d\n")
    given = words.format(a=path, b=other, out=tmp_path / "out").split()
    done = command(*given, "--memory", "300MB")
    assert done.code == 2, done.err
    said = re.search(
        r"at least (\d+) MB are needed \(estimated: a sheet is decoded at once", done.err
    )
    assert said, done.err
    assert done.lines[1] == "hint: allow more memory, or save the table as CSV"
    assert command(*given, "--memory", f"{said[1]}MB").code == 0


def test_what_is_missing_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "fastexcel", None)
    path = book(tmp_path / "a.xlsx", ROWS)
    with pytest.raises(neardup.errors.DependencyError) as caught:
        rows_of(path)
    assert str(caught.value) == f"{path} needs neardup[office]"
    assert caught.value.hint == "pip install 'neardup[office]'"
    monkeypatch.setitem(sys.modules, "neardup.io.formats.entries.bibtex", None)
    other = tmp_path / "a.bib"
    other.write_text("@misc{a, title={b}}")
    with pytest.raises(neardup.errors.DependencyError) as caught:
        opened(other).layout(0)
    assert caught.value.hint == "pip install 'neardup[citations]'"
