"""A folder of a linkage is read by the commands and the function that read any folder."""

from __future__ import annotations

import csv
import io
import json
from html import escape
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from made_records import NAMES

import neardup
from common import Command
from neardup.errors import NeardupError, OutputError, SpecError

People = tuple[pa.Table, pa.Table]


#: Heads of two records side by side.
FIELDS = ["field", "first", "second", "similarity", "bits"]


@pytest.fixture
def folder(linked: neardup.LinkRun, tmp_path: Path) -> Path:
    path = linked.save(tmp_path / "out").path
    assert path is not None
    return path


#: Members of a record that differ between two equal linkages.
TIMES = ("date", "seconds", "peak_memory", "peak_private_memory", "bytes", "files")


def of_linkage(run: neardup.LinkRun) -> object:
    """The record of a linkage without its times, in JSON values."""
    found = {name: value for name, value in run.summary.items() if name not in TIMES}
    return json.loads(json.dumps(found))


def test_it_opens_as_it_was(people: People, linked: neardup.LinkRun, folder: Path) -> None:
    run = neardup.open(folder)
    assert (type(run), run.path) == (neardup.LinkRun, folder)
    assert of_linkage(run) == of_linkage(linked)
    for table in ("pairs", "candidates", "clusters"):
        assert getattr(run, table).equals(getattr(linked, table))
    assert run.weights().equals(linked.weights())
    a, b = linked.pairs["id_a"][0].as_py(), linked.pairs["id_b"][0].as_py()
    assert run.explain(a, b) == linked.explain(a, b)
    assert run.evaluate(people[1]) == linked.evaluate(people[1])
    assert run.at(0.99).clusters.equals(linked.at(0.99).clusters)


def test_a_folder_that_is_there_is_refused_before_a_file_is_read(folder: Path) -> None:
    with pytest.raises(OutputError, match="exists"):
        neardup.link(folder / "nothing.csv", out=folder, fields=NAMES)
    with pytest.raises(SpecError, match="`overwrite` needs an output folder"):
        neardup.link(folder / "nothing.csv", fields=NAMES, overwrite=True)


def test_a_call_against_an_index_writes_a_folder(tmp_path: Path) -> None:
    old = {"id": [f"{i}" for i in range(20)], "name": [f"anna bell{i * i} x{i}" for i in range(20)]}
    index = neardup.link(old, fields="name", id="id").index()
    new = {"id": ["a"], "name": ["anna bell9 x3"]}
    run = neardup.link(new, against=index, out=tmp_path / "out")
    assert run.path == tmp_path / "out" and (run.path / "clusters.parquet").is_file()


def test_commands_read_it(
    people: People, linked: neardup.LinkRun, folder: Path, command: Command
) -> None:
    row = linked.pairs.to_pylist()[0]
    ids = row["id_a"], row["id_b"]
    done = command("explain", folder, *ids)
    assert done.out == f"{linked.explain(*ids)}\n" and "prior" in done.out
    assert json.loads(command("explain", folder, *ids, "--json").out) == linked.explain(*ids)
    one = json.loads(command("explain", folder, ids[0], "--json", "--limit", "3").out)
    assert one == linked.explain(ids[0], limit=3) and len(one["pairs"]) <= 3
    assert f"record              {ids[0]}" in command("explain", folder, ids[0]).out
    assert "no record has the id 'nobody'" in command("explain", folder, "nobody", ids[1]).error
    page = folder.parent / "page.html"
    assert command("report", folder, "-o", page).code == 0
    assert ids[0] in page.read_text(encoding="utf-8")
    truth = folder.parent / "truth.parquet"
    pq.write_table(people[1], truth)
    assert command("evaluate", folder, "--truth", truth).out.strip() == str(
        linked.evaluate(people[1])
    )
    answer = command("audit", folder)
    assert answer.code == 1 and "was made by neardup link" in answer.error
    lines = command("pairs", folder).out.splitlines()
    assert len(lines) == 1 + linked.pairs.num_rows and lines[0].startswith("id_a,id_b,score")
    doubtful = command("pairs", folder, "--doubtful", "--limit", 5).out.splitlines()
    assert len(doubtful) == 6 and doubtful[0] == lines[0]
    assert command("pairs", folder, "--limit", 5).code == 2


def test_clusters_and_two_records(linked: neardup.LinkRun) -> None:
    table = linked.clusters_by_size().to_pylist()
    sizes = [row["records"] for row in table]
    assert sizes == sorted(sizes, reverse=True) and min(sizes) > 1
    assert sum(sizes) == sum(row["size"] > 1 for row in linked.clusters.to_pylist())
    first = table[0]
    members = linked.cluster(first["id"]).to_pylist()
    assert len(members) == sizes[0] and members[0]["id"] == first["id"]
    assert list(members[0]) == ["source", "id", *(one.partition(":")[0] for one in NAMES)]
    a, b = members[0], members[1]
    fields = linked.compare(a["id"], b["id"])
    assert str(fields) == repr(fields) and str(fields).splitlines()[0].split() == FIELDS
    named = [line for line in fields if line["field"] in a]
    assert [line["a"] for line in named] == [str(a[line["field"]]) for line in named]
    assert [line["b"] for line in named] == [str(b[line["field"]]) for line in named]
    explained = linked.explain(a["id"], b["id"])
    assert [line["bits"] for line in fields] == [line["bits"] for line in explained["fields"]]
    for shown in (fields, explained, linked.explain(a["id"])):
        assert f"<pre>{escape(str(shown))}</pre>" in shown._repr_html_()
    for wrong in (lambda: linked.cluster("nobody"), lambda: linked.compare(a["id"], a["id"])):
        with pytest.raises(neardup.NeardupError):
            wrong()


def test_private_ids_are_in_no_pairs(
    people: People, linked: neardup.LinkRun, tmp_path: Path, command: Command
) -> None:
    """Nor in those to mark, whose rows are taken as marks."""
    out, marks = tmp_path / "private", tmp_path / "marks.csv"
    how: dict[str, Any] = {"id": "id", "fields": NAMES, "private_ids": True}
    run = neardup.link(people[0], out=out, **how)
    for more in ((), ("--doubtful",)):
        lines = csv.DictReader(io.StringIO(command("pairs", out, *more).out))
        assert all(line[of].startswith("row ") for line in lines for of in ("id_a", "id_b"))
    with marks.open("w", newline="") as file:
        doubtful = run.doubtful(limit=3).select(["id_a", "id_b"]).to_pylist()
        writer = csv.DictWriter(file, ["id_a", "id_b", "duplicate"])
        writer.writeheader()
        writer.writerows({**line, "duplicate": "true"} for line in doubtful)
    marked = neardup.link(people[0], labels=marks, **how)
    assert marked.explain(doubtful[0]["id_a"], doubtful[0]["id_b"])["known"] == "marked"


def test_decided_again(linked: neardup.LinkRun, folder: Path, command: Command) -> None:
    out = folder.parent / "sure"
    done = command("recluster", folder, "-o", out, "--decide-at", 0.999)
    assert done.code == 0 and "0.999" in done.err
    assert neardup.open(out).pairs.equals(linked.at(0.999).pairs)
    assert "exists" in command("recluster", folder, "-o", out, "--decide-at", 0.9).error
    again = command("recluster", folder, "-o", out, "--decide-at", 0.9, "--overwrite")
    assert again.code == 0
    wrong = command("recluster", folder, "-o", folder.parent / "x", "--threshold", 0.9)
    assert "--threshold does not apply to an output of neardup link" in wrong.error
    assert "it has --decide-at instead" in wrong.err
    missing = command("recluster", folder, "-o", folder.parent / "x")
    assert "another score" in missing.error
    assert "`decide_at` is 7" in command(
        "recluster", folder, "-o", folder.parent / "x", "--decide-at", 7
    ).error.replace("--decide-at", "`decide_at`")


def test_a_linkage_against_an_index_names_what_works(tmp_path: Path, command: Command) -> None:
    people = {"id": ["7", "8"], "name": ["anna bell", "peter huber"]}
    with neardup.link(people, id="id", fields="name").index(tmp_path / "index") as index:
        later = neardup.link({"id": ["9"], "name": ["anna bell"]}, id="id", against=index)
    later.save(tmp_path / "later")
    refused = command("report", tmp_path / "later", "-o", tmp_path / "page.html")
    assert refused.code == 2 and "neardup explain, evaluate and index relink" in refused.err
    assert command("explain", tmp_path / "index", "7", "9").code == 0
    assert command("index", "relink", tmp_path / "index").code == 0
    refused = command("report", tmp_path / "index", "-o", tmp_path / "page.html")
    assert refused.lines[0].endswith("is an index of records; neardup report does not work on it")
    assert "the folder of neardup link has a page" in refused.err
    assert "takes two ids" in command("explain", tmp_path / "index", "7").error


def test_the_truth_of_two_files_is_pairs(tmp_path: Path, command: Command) -> None:
    """A truth of groups names records of either file, and the error says what is expected."""
    a, b = {"id": ["1"], "name": ["anna bell"]}, {"id": ["2"], "name": ["anna bell"]}
    neardup.link(a, b, id="id", fields="name").save(tmp_path / "two")
    truth = tmp_path / "truth.csv"
    truth.write_text("id,group\n1,x\n2,x\n")
    refused = command("evaluate", tmp_path / "two", "--truth", truth)
    assert refused.code == 1 and "pairs of an id of each" in refused.err
    refused = command("evaluate", tmp_path / "two", "--truth", truth, "--missing", "skip")
    assert refused.code == 2 and "an id of each file" in refused.err
    truth.write_text("id_a,id_b\n1,2\n")
    assert command("evaluate", tmp_path / "two", "--truth", truth).code == 0


def test_damaged_folders_are_refused(folder: Path) -> None:
    (folder / "records.parquet").unlink()
    run = neardup.open(folder)
    assert run.pairs.num_rows
    with pytest.raises(neardup.InputError, match=r"records.parquet is gone"):
        run.explain(*run.pairs.select(["id_a", "id_b"]).to_pylist()[0].values())
    record = json.loads((folder / "run.json").read_text())
    fewer = [of_file[1:] for of_file in record["columns"]]
    (folder / "run.json").write_text(json.dumps({**record, "columns": fewer}))
    with pytest.raises(NeardupError, match="at columns: does not agree"):
        neardup.open(folder)
    (folder / "run.json").write_text(json.dumps({**record, "format": 1}))
    with pytest.raises(neardup.InputError, match="another version"):
        neardup.open(folder)


def test_ids_may_be_text_that_spells_them(folder: Path) -> None:
    data = {"n": [1, 2, 3], "name": ["anna schmidt", "anna schmitt", "peter huber"]}
    run = neardup.link(data, id="n", fields="name")
    assert run.explain(1, 2) == run.explain("1", "2")
    text = neardup.link({**data, "n": ["1", "2", "3"]}, id="n", fields="name")
    assert text.explain(1, 2) == text.explain("1", "2")


def test_a_file_of_two_sources_is_noted(people: People) -> None:
    table = people[0].slice(0, 600)
    source = pa.array(["left", "right"] * 300)
    run = neardup.link(table.append_column("Source", source), id="id", fields=NAMES)
    (note,) = [note for note in run.notes if "two sources" in note]
    within = [
        (a, b)
        for a, b in zip(*(run.pairs[name].to_pylist() for name in ("id_a", "id_b")), strict=True)
        if abs(table["id"].to_pylist().index(a) - table["id"].to_pylist().index(b)) % 2 == 0
    ]
    assert f"{len(within):,} of {run.pairs.num_rows:,} pairs" in note


def test_a_field_named_id_leaves_the_ids(people: People) -> None:
    table = people[0].slice(0, 1500).rename_columns(
        ["id" if name == "surname" else f"key_{name}" if name == "id" else name
         for name in people[0].column_names]
    )  # fmt: skip
    run = neardup.link(table, fields=["id", "given_name"])
    rows = run.pairs_with_records().to_pylist()
    names = table.column("id").to_pylist()
    shown = {row["id_field_a"] for row in rows}
    assert shown and shown <= {name or "" for name in names}
    assert [(row["id_a"], row["id_b"]) for row in rows] == [
        (row["id_a"], row["id_b"]) for row in run.pairs.to_pylist()
    ]


def test_an_index_that_is_opened_as_a_result_is_only_read(
    linked: neardup.LinkRun, tmp_path: Path
) -> None:
    linked.index(tmp_path / "i").close()
    index = neardup.open(tmp_path / "i")
    with pytest.raises(neardup.NeardupError, match=r"only|readonly"):
        index.remove(linked.pairs["id_a"][0].as_py())
    index.close()
