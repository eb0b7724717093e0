"""Merged records: which one stays, what it takes from the others, and formats that come back."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pyarrow.parquet as pq
import pytest
import rispy
from bibtexparser import parse_file
from made_records import made_persons, true_pairs

import neardup
from common import Command
from neardup.api.finished.link_runs import LinkRun
from neardup.errors import NeardupError

RIS = """\
TY  - JOUR
AU  - Smith, Anna
AU  - Jones, Bob
TI  - The effect of rain on the growth of wheat in Europe
PY  - 2019/03/01/
SP  - 100
EP  - 110
CY  - Bern
N1  - a note
ER  -@

TY  - JOUR
AU  - Meyer, Carl
TI  - Quantum computing with trapped ions and lasers
PY  - 2020
DO  - 10.1000/qc
ER  -@

TY  - JOUR
AU  - Smith, Anna
TI  - The effect of rain on the growth of wheat in Europe.
PY  - 2019
DO  - 10.1000/wheat
KW  - wheat
KW  - rain
T3  - A series
ER  -@

TY  - BOOK
AU  - Adams, Dora
TI  - A history of bridges
PY  - 1999
ER  -@
""".replace("@", " ")
BIBTEX = """\
@string{pl = "Physics Letters"}
@article{meyer20,
  author = {Meyer, Carl},
  title = {Quantum Computing with Trapped Ions and Lasers},
  journal = pl,
  year = 2020,
  publisher = {Foo \\& Sons}
}

@book{knuth,
  author = {Knuth, Donald},
  title = {The art of computer programming},
  year = 1968
}
"""
FIELDS = ["title", "author", "year:digits"]
PEOPLE = {
    "id": ["p1", "p2", "p3", "p4"],
    "name": ["Anna Schmidt", "Anna Schmidt", "Peter Huber", "Anna Schmitt"],
    "birth": ["1980-02-01", "1980-02-01", "1975-11-30", "1980-02-01"],
    "email": ["", "a@x.org", "p@x.org", "anna@x.org"],
    "updated": ["2001-01-01", "2003-05-05", "2002-02-02", "2002-01-01"],
    "tags": [["a"], ["b", "a"], None, []],
    "age": [1, 2, 3, 4],
}
KNOWN = [("p1", "p2", True), ("p1", "p4", True), ("p1", "p3", False)]


@pytest.fixture
def ris(tmp_path: Path) -> Path:
    (tmp_path / "a.ris").write_text(RIS)
    return tmp_path / "a.ris"


def _people(**asked: Any) -> LinkRun:
    return neardup.link(
        pandas.DataFrame(PEOPLE), fields=["name", "birth:digits"], id="id", labels=KNOWN, **asked
    )


def _one(run: LinkRun) -> dict[str, Any]:
    """Return the merged record of three."""
    (found,) = [row for row in run.merged().to_pylist() if row["merged_from"]]
    return found


def test_a_round_trip_of_ris_loses_nothing(ris: Path, tmp_path: Path) -> None:
    run = neardup.link(ris, fields=FIELDS, out=tmp_path / "out", fill=True, keep="first")
    (file,) = (tmp_path / "out" / "merged").iterdir()
    text = file.read_text()
    before, after = rispy.loads(RIS), rispy.loads(text)
    assert file.name == "part-00000.ris"
    assert after[1:] == [before[1], before[3]]
    for record in RIS.split("\n\n")[1::2]:  # without duplicates
        assert record.strip() in text
    merged = after[0]
    assert merged["doi"] == "10.1000/wheat" and merged["keywords"] == ["wheat", "rain"]
    assert merged["place_published"] == "Bern" and merged["tertiary_title"] == "A series"
    assert merged["notes"] == ["a note", "merged_from: 0; 2"]
    kept = ("primary_title", "title", "authors", "year", "start_page", "end_page")
    assert all(merged.get(name) == before[0].get(name) for name in kept)
    assert run.summary["merge"]["fill"] and "merged" in " ".join(run.summary["files"])
    origins = {(row["field"], row["from_id"]) for row in run.merges.to_pylist()}
    assert {("title", 0), ("doi", 2), ("keywords", 2), ("pages", 0)} <= origins
    assert {("other_fields", 0), ("other_fields", 2)} <= origins
    opened = neardup.open(tmp_path / "out")
    assert opened.merged().column("title").to_pylist() == run.merged().column("title").to_pylist()


@pytest.mark.parametrize("format", ["ris", "bibtex", "csv", "tsv", "jsonl", "parquet", "xlsx"])
def test_files_of_two_formats_become_one(ris: Path, tmp_path: Path, format: str) -> None:
    (tmp_path / "b.bib").write_text(BIBTEX)
    out = tmp_path / "out"
    run = neardup.link(ris, tmp_path / "b.bib", fields=FIELDS, out=out, fill=True, format=format)
    (file,) = (out / "merged").iterdir()
    again = neardup.open(out).merged()
    titles = [title.lower() for title in again.column("title").to_pylist()]
    assert len(titles) == 5 and len({*titles}) == 5
    row = again.to_pylist()[titles.index("quantum computing with trapped ions and lasers")]
    assert row["doi"] == "10.1000/qc" and "Sons" in row["other_fields"]
    assert row["journal"] == "Physics Letters" and row["id"] == "meyer20"
    if format == "bibtex":
        library = parse_file(str(file))
        assert not library.failed_blocks and len(library.entries) == 5
        assert BIBTEX.split("\n\n")[1].strip() in file.read_text()
    assert run.merged().num_rows == 5


def test_files_of_two_delimiters_are_merged_with_one(tmp_path: Path) -> None:
    """Whether an option names it, or the first line of a file."""
    rows = [["id", "name"], ["1", "Anna Miller"], ["2", "Bob Smith"], ["3", "Rob Jones"]]
    for name, delimiter, first in (("a.csv", ";", ""), ("b.csv", ",", ""), ("c.csv", ";", "sep=;")):
        text = io.StringIO(f"{first}\n" if first else "")
        text.seek(0, io.SEEK_END)
        csv.writer(text, delimiter=delimiter, lineterminator="\n").writerows(rows)
        (tmp_path / name).write_text(text.getvalue())
    for one, other, options in (
        ("a", "b", {"delimiter": ";"}),
        ("b", "a", {"delimiter": ";"}),
        ("b", "c", {}),
        ("c", "b", {}),
    ):
        files, out = [tmp_path / f"{name}.csv" for name in (one, other)], tmp_path / one / other
        labels = [(str(k), str(k), k == 1) for k in (1, 2, 3)]
        neardup.link(*files, fields="name", id="id", labels=labels, out=out, **options)  # type: ignore[arg-type]
        lines = (out / "merged" / "part-00000.csv").read_text().splitlines()
        assert lines[0] == ("sep=;" if one == "c" else lines[0])
        by = "," if one == "b" else ";"
        found = [row[:2] for row in csv.reader(lines, delimiter=by)]
        assert [row for row in found if row[-1]] == [*rows, *rows[2:]]


def test_csv_and_json_lines_stay_as_they_are(tmp_path: Path) -> None:
    rows = [["id", "name", "n"], ["1", 'A "x", B', "1"], ["2", "Peter Huber", "007"]]
    rows += [["3", 'A "x", B', ""], ["4", "Maria Lopez", ""]]
    text = io.StringIO()
    csv.writer(text, delimiter=";", lineterminator="\r\n").writerows(rows)
    (tmp_path / "a.csv").write_text(text.getvalue(), newline="")
    asked: Any = {"fields": "name", "id": "id", "labels": [("1", "3", True), ("1", "2", False)]}
    out = tmp_path / "out"
    neardup.link(tmp_path / "a.csv", out=out, delimiter=";", **asked)
    lines = text.getvalue().split("\r\n")
    wanted = [f"{lines[0]};merged_from", f"{lines[1]};1; 3", f"{lines[2]};", f"{lines[4]};"]
    found = (out / "merged" / "part-00000.csv").read_bytes().decode().split("\r\n")
    assert found[:1] + found[2:4] == [wanted[0], wanted[2], wanted[3]]
    (record,) = csv.reader([found[1]], delimiter=";")
    assert record == ["1", 'A "x", B', "1", "1; 3"]

    objects = [
        {"id": "1", "name": "Anna Schmidt", "n": 1.10, "list": [{"a": 1}]},
        {"id": "2", "name": "Peter Huber", "n": {"x": None}},
        {"id": "3", "name": "Anna Schmidt", "more": [1, 2]},
    ]
    lines = [json.dumps(one) for one in objects]
    (tmp_path / "a.jsonl").write_text("\n".join(lines) + "\n")
    combine = ["list=list", "more=list"]
    neardup.link(tmp_path / "a.jsonl", out=tmp_path / "o2", fill=True, combine=combine, **asked)
    first, second = (tmp_path / "o2" / "merged" / "part-00000.jsonl").read_text().splitlines()
    assert second == lines[1]
    assert json.loads(first) == {**objects[0], "more": [1, 2], "merged_from": ["1", "3"]}


@pytest.mark.parametrize(
    ("keep", "stays"),
    [
        ("most-complete", "p2"),
        ("first", "p1"),
        ("max:updated", "p2"),
        ("min:updated", "p1"),
        ("longest", "p2"),
    ],
)
def test_which_record_stays(keep: str, stays: str) -> None:
    found = _one(_people(keep=keep))
    assert found["id"] == stays and sorted(found["merged_from"]) == ["p1", "p2", "p4"]
    assert found["merged_from"][0] == stays


def test_a_record_of_the_named_file_stays(tmp_path: Path) -> None:
    first, second = ({"id": [1], "name": ["Anna Schmidt"], of: ["x"]} for of in ("one", "two"))
    for name, table in (("a", first), ("b", second)):
        pandas.DataFrame(table).to_csv(tmp_path / f"{name}.csv", index=False)
    files = tmp_path / "a.csv", tmp_path / "b.csv"
    asked: Any = {"fields": "name", "id": "id", "labels": [("1", "1", True)]}
    run = neardup.link(*files, keep="file:b.csv", fill=True, **asked)
    (row,) = run.merged().to_pylist()
    assert row["one"] == row["two"] == "x" and row["merged_from"] == ["1", "1"]
    assert run.merges.column("source").to_pylist() == ["b"] * 4
    assert neardup.link(*files, keep="file:b", **asked).merged()["two"].to_pylist() == ["x"]
    with pytest.raises(NeardupError, match=r"names the file 'c\.csv'"):
        neardup.link(*files, keep="file:c.csv", **asked)


def test_fields_are_filled_and_combined() -> None:
    found = _one(_people(keep="first", fill=True, combine="tags=list"))
    assert found["email"] == "a@x.org" and found["updated"] == "2001-01-01"
    assert found["tags"] == ["a", "b"]
    asked = ["email=list", "tags=list", "updated=newest", "name=longest"]
    run = _people(keep="first", combine=asked)
    found = _one(run)
    assert found["email"] == "a@x.org; anna@x.org" and found["tags"] == ["a", "b"]
    assert found["updated"] == "2003-05-05" and found["name"] == "Anna Schmidt"
    assert _one(_people(combine="email=newest:updated"))["email"] == "a@x.org"
    origins = [row for row in run.merges.to_pylist() if row["field"] == "email"]
    assert [row["from_id"] for row in origins] == ["p2", "p4"]


def test_results_in_memory_and_in_a_folder_are_the_same(tmp_path: Path) -> None:
    here = _people(fill=True, combine="tags=list")
    there = here.save(tmp_path / "out")
    saved = pq.read_table(tmp_path / "out" / "merged" / "part-00000.parquet")
    assert saved.to_pylist() == here.merged().to_pylist() == there.merged().to_pylist()
    assert neardup.open(tmp_path / "out").merges.equals(here.merges)
    assert here.at(0.9).merged().num_rows == 2  # marks stay
    none = _people(out=tmp_path / "none", merged=False)
    assert none.summary["merge"] is None and not (tmp_path / "none" / "merged").exists()
    with pytest.raises(NeardupError, match="no merged records"):
        neardup.open(tmp_path / "none").merged()


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"combine": "mail=list"}, "no input has the column 'mail'"),
        ({"keep": "max:mail"}, "no input has the column 'mail'"),
        ({"fill": True}, "the column 'tags' has lists"),
        ({"combine": "age=list"}, "makes a list of the column 'age', which has int64"),
        ({"keep": "file:a.csv"}, "names the file 'a.csv'"),
        ({"combine": "email=most"}, "`combine` has 'email=most'"),
        ({"combine": ["email=list", "email=longest"]}, "names 'email' twice"),
        ({"keep": "best"}, "`keep` is 'best'"),
        ({"format": "pdf"}, "`format` is 'pdf'"),
        ({"merged": False, "fill": True}, "no merged records"),
    ],
)
def test_bad_input(asked: dict[str, Any], message: str) -> None:
    with pytest.raises(NeardupError) as refused:
        _people(**asked)
    assert message in str(refused.value)


def test_an_input_is_not_replaced(ris: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    neardup.link(ris, fields=FIELDS, out=out)
    before = (out / "merged" / "part-00000.ris").read_bytes()
    for target in (out, out / "merged"):
        with pytest.raises(NeardupError):
            neardup.link(out / "merged" / "part-00000.ris", fields=FIELDS, out=target)
        with pytest.raises(NeardupError):
            neardup.link(
                out / "merged" / "part-00000.ris", fields=FIELDS, out=target, overwrite=True
            )
    assert (out / "merged" / "part-00000.ris").read_bytes() == before


def test_500_marks_raise_a_hard_set_and_stand_everywhere(tmp_path: Path) -> None:
    table, truth = made_persons(2500)
    pairs, fields = true_pairs(truth), ["given_name", "surname", "suburb"]
    run = neardup.link(table, id="id", fields=fields)
    doubtful = run.doubtful(limit=500).to_pylist()
    marks = [
        (row["id_a"], row["id_b"], tuple(sorted((row["id_a"], row["id_b"]))) in pairs)
        for row in doubtful
    ]
    yes = {(a, b) for a, b, match in marks if match}
    no = {(a, b) for a, b, match in marks if not match}
    assert len(marks) == 500 and yes and no
    scores = np.abs([row["score"] - 0.5 for row in doubtful])
    assert (np.diff(scores) >= -1e-9).all()

    with (tmp_path / "labels.csv").open("w") as file:  # as the page saves it
        csv.writer(file).writerows([("id_a", "id_b", "duplicate"), *marks])
    asked: Any = {"id": "id", "labels": tmp_path / "labels.csv", "fill": True}
    marked = neardup.link(table, fields=fields, out=tmp_path / "out", **asked)

    def f1(of: LinkRun) -> float:
        return float(of.evaluate(truth)["decision"]["pairs"]["f1"])

    assert f1(marked) > f1(run) + 0.02
    # The same marks with other settings.
    others = neardup.link(table, fields=[*fields, "birth:digits"], cluster="complete", **asked)
    for found in (marked, others, neardup.open(tmp_path / "out")):
        ids = zip(*(found.pairs[name].to_pylist() for name in ("id_a", "id_b")), strict=True)
        are = {pair for a, b in ids for pair in ((a, b), (b, a))}
        assert yes <= are and not no & are
        _check_marks(found.clusters.to_pylist(), yes, no)
        merged = found.merged().select(["id", "merged_from"]).to_pylist()
        of = [
            {"id": id, "cluster": k}
            for k, row in enumerate(merged)
            for id in row["merged_from"] or [row["id"]]
        ]
        _check_marks(of, yes, no)
        more = found.doubtful(limit=100)
        ids = zip(*(more[name].to_pylist() for name in ("id_a", "id_b")), strict=True)
        assert more.num_rows == 100 and not {*ids} & (yes | no)
    with marked.index(tmp_path / "index") as index:
        for rows in (table.slice(0, 200), table.slice(1000, 300)):
            index.update(rows, id="id")
            _check_marks(index.clusters.to_pylist(), yes, no)


def _check_marks(rows: list[dict[str, Any]], yes: set[Any], no: set[Any]) -> None:
    of = {row["id"]: row["cluster"] for row in rows}
    assert all(of[a] == of[b] for a, b in yes) and not any(of[a] == of[b] for a, b in no)


def test_columns_of_other_names_become_one(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id,given,city\n1,Anna Schmidt,\n2,Peter Huber,Basel\n")
    (tmp_path / "b.csv").write_text("nr,first,town\n7,Anna Schmidt,Bern\n8,Karl Frei,Zug\n")
    (tmp_path / "e.csv").write_text("")
    line = {"first": "Anna Schmidt", "tags": ["x"], "o": {"k": [1]}}
    (tmp_path / "c.jsonl").write_text(f"{json.dumps(line)}\n{json.dumps({'first': 'Zoe Li'})}\n")
    names = ("a.csv", "b.csv", "c.jsonl", "e.csv")
    a, b, c, e = (tmp_path / name for name in names)
    of_file = {"given": "first"}
    asked: Any = {"fields": "given", "combine": "tags=list", "fill": True}
    asked["map"] = {"b.csv": of_file, "c.jsonl": of_file}
    out = tmp_path / "out"
    neardup.link(a, b, c, e, out=out, **asked)
    rows = list(csv.DictReader((out / "merged" / "part-00000.csv").read_text().splitlines()))
    (one,) = [row for row in rows if row["given"] == "Anna Schmidt"]
    assert (one["town"], one["nr"], one["tags"]) == ("Bern", "7", '["x"]')
    assert {row["given"] for row in rows} >= {"Peter Huber", "Karl Frei", "Zoe Li"}
    asked["map"] = {"c.jsonl": of_file}
    neardup.link(a, c, out=tmp_path / "o2", format="jsonl", **asked)
    lines = map(json.loads, (tmp_path / "o2/merged/part-00000.jsonl").read_text().splitlines())
    of = {line["given"]: line for line in lines}
    assert of["Anna Schmidt"]["o"] == {"k": [1]} and of["Zoe Li"] == {"given": "Zoe Li"}
    # A merged file is merged again.
    again = neardup.link(out / "merged" / "part-00000.csv", a, fields="given", out=tmp_path / "o3")
    assert {"merged_from", "merged_from-2"} <= {*again.merged().column_names}


def test_ids_of_other_names_are_ids_of_merged_records(tmp_path: Path) -> None:
    """Merged records have an id each, whatever file they are from, and are linked again by it."""
    sheet, ris = tmp_path / "b.csv", tmp_path / "a.ris"
    ris.write_text("TY  - BOOK\nID  - r1\nTI  - A history of bridges\nSP  - 1\nEP  - 9\nER  - \n")
    sheet.write_text(
        "EID,Title,Page start,Page end\n2-s2.1,Soil and its worms,3,9\n2-s2.2,Of mice,1,2\n"
    )
    asked: Any = {"preset": "citations", "id": "id", "map": {"b.csv": {"id": "EID"}}}
    asked |= {"across_files_only": False, "labels": [("2-s2.1", "2-s2.2", True)], "fill": True}
    for first, second in ((ris, sheet), (sheet, ris)):
        run = neardup.link(first, second, format="ris", out=tmp_path / first.stem, **asked)
        (file,) = (tmp_path / first.stem / "merged").iterdir()
        assert "EID" not in file.read_text()
        again = neardup.link(file, preset="citations", id="id")
        assert "2-s2.1" in again.clusters["id"].to_pylist()
        names = run.merged().column_names
        assert "id" in names and "pages" in names and "Page start + Page end" not in names


def test_records_of_pubmed_stay_apart(tmp_path: Path) -> None:
    title = "The effect of rain on the growth of wheat"
    (tmp_path / "a.nbib").write_text(f"PMID- 1\nTI  - {title}\n\nPMID- 2\nTI  - Bridges of Bern")
    (tmp_path / "b.nbib").write_text(f"PMID- 3\nTI  - {title}\nPL  - England\n")
    files = tmp_path / "a.nbib", tmp_path / "b.nbib"
    asked: Any = {"fields": "title", "id": "id", "fill": True, "out": tmp_path / "out"}
    neardup.link(*files, labels=[("1", "3", True)], keep="file:b", **asked)
    text = (tmp_path / "out" / "merged" / "part-00000.nbib").read_text()
    records = [record.splitlines()[0] for record in text.split("\n\n") if record]
    assert records == ["PMID- 2", "PMID- 3"] and "GN  - merged_from: 3; 1" in text
    with pytest.raises(NeardupError, match="can't be written as nbib"):
        neardup.link(files[0], [{"title": title}], fields="title")


def test_marks_that_a_spreadsheet_has_saved(tmp_path: Path, command: Command) -> None:
    names = ["Anna Schmidt", "Anna Schmid", "Maria Lopez", "Maria Lopes", "Peter Huber"]
    ids = ["-1", "=2", "@3", "+4", "5"]
    rows = "".join(f"{id},{name}\n" for id, name in zip(ids, names, strict=True))
    file, out = tmp_path / "a.csv", tmp_path / "out"
    file.write_text(f"id,name\n{rows}")
    asked = ("link", file, "--id", "id", "--fields", "name")
    assert command(*asked, "-o", out, "--no-merged").code == 0
    assert not (out / "merged").exists()
    assert command("pairs", out, "--doubtful", "-o", tmp_path / "doubtful.csv").code == 0
    listed = list(csv.reader((tmp_path / "doubtful.csv").read_text("utf-8-sig").splitlines()))
    # Semicolons, an apostrophe before an id, other words, and a pair without a mark.
    marked = [[*listed[0], "label"], [*listed[1], "different"], [*listed[2], ""]]
    with (tmp_path / "labels.csv").open("w", newline="") as labels:
        csv.writer(labels, delimiter=";").writerows(marked)
    again = neardup.link(file, id="id", fields="name", labels=tmp_path / "labels.csv")
    apart = tuple(id.removeprefix("'") for id in listed[1][:2])
    found = {(row["id_a"], row["id_b"]) for row in again.pairs.to_pylist()}
    assert apart not in found and len(found) == 1
    within = ("link", file, file, "--id", "id", "--fields", "name", "--within-files")
    assert command(*within, "-o", tmp_path / "within").code == 0
    spec = neardup.open(tmp_path / "within").summary["spec"]
    assert spec["across_files_only"] is False
