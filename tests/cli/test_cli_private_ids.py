"""Ids that no message and no page may have, and the removed documents as a file."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest

import neardup
from common import Answer, Command, some_rows, write_lines

PATIENT = "patient-4711-"


@pytest.fixture
def private(command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run of notes with private ids."""
    monkeypatch.chdir(tmp_path)
    rows = [{**row, "id": f"{PATIENT}{i}"} for i, row in enumerate(some_rows())]
    write_lines(tmp_path / "notes.jsonl", rows)
    done = command("dedup", "notes.jsonl", "--id", "id", "-o", "out", "--private-ids")
    assert done.code == 0 and PATIENT not in done.err
    return tmp_path / "out"


def test_no_message_or_page_has_an_id(command: Command, private: Path, tmp_path: Path) -> None:
    assert PATIENT in pq.read_table(private / "clusters.parquet").column("doc_id").to_pylist()[0]
    lines = (
        f"explain out {PATIENT}2",
        f"explain out {PATIENT}2 --json --no-text",
        "explain out --html pair.html",
        f"explain out {PATIENT}1 {PATIENT}2",
        f"explain out {PATIENT}99",
        "audit out --sample 30",
        "audit out --sample 30 --json",
        "report out -o page.html",
        "recluster out -o again --threshold 0.8",
        f"explain again {PATIENT}2",
        "report again -o again.html",
        "pairs out",
        "dedup notes.jsonl --id id --against out -o batch --private-ids",
        f"explain batch {PATIENT}2",
        "passages notes.jsonl --id id --words 10 -o passages --private-ids",
        f"explain passages {PATIENT}2",
        f"explain passages {PATIENT}99",
        "report passages -o passages.html",
        "decontaminate notes.jsonl --id id --against notes.jsonl -o found --private-ids",
    )
    for line in lines:
        words = line.replace("out --html", f"out {PATIENT}2 --html").split()
        done = command(*words)
        assert PATIENT not in done.out + done.err, (line, done.out, done.err)
        assert done.code == (f"{PATIENT}99" in line), (line, done.err)
    for name in ("page", "again", "pair", "passages"):
        page = (tmp_path / f"{name}.html").read_text()
        assert PATIENT not in page and "row 2" in page, name
    assert "row 2" in command("explain", "out", "row 2", "--no-text").out
    assert "row 2" in command("explain", "passages", "row 2", "--no-text").out
    assert "are private" in command("report", "out", "-o", "p.html", "--show", "id").error
    (tmp_path / "truth.csv").write_text(f"id_a,id_b\n{PATIENT}1,{PATIENT}2x\n")
    assert PATIENT not in command("evaluate", "out", "--truth", "truth.csv").error


def test_two_documents_with_one_private_id(command: Command, tmp_path: Path) -> None:
    source = write_lines(tmp_path / "a.jsonl", [{"id": PATIENT, "text": "a b"}] * 2)
    for name, more in (("dedup", []), ("passages", []), ("decontaminate", ["--against", source])):
        line = [name, source, *more, "--id", "id", "-o", tmp_path / "out"]
        assert PATIENT in command(*line).error
        found = command(*line, "--private-ids").error
        assert PATIENT not in found and "record 2 has an id" in found


def test_ids_of_an_index_are_in_no_message(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def asked(*line: Any) -> Answer:
        given = io.TextIOWrapper(io.BytesIO(changed.read_bytes()))
        monkeypatch.setattr("sys.stdin", given)
        return command(*line)

    texts = [row["text"] for row in some_rows(4)]
    rows = [{"id": f"{PATIENT}{i}", "text": text} for i, text in enumerate(texts)]
    source = write_lines(tmp_path / "a.jsonl", rows)
    changed = write_lines(tmp_path / "b.jsonl", [*rows[:2], {**rows[2], "text": "other words"}])
    new = [{**row, "id": f"{PATIENT}new-{i}"} for i, row in enumerate(rows)]
    mixed = write_lines(tmp_path / "c.jsonl", [*new[:3], rows[3]])
    folder, other = tmp_path / "index", tmp_path / "other"
    for made in (folder, other):
        assert command("index", "create", made).code == 0
        assert command("index", "add", made, source, "--id", "id").code == 0
    for line, says in (
        (["index", "add", folder, source, "--id", "id"], "row 0: the index has a document"),
        (["index", "add", folder, mixed, "--id", "id"], "row 3: the index has a document"),
        (["index", "remove", folder, f"{PATIENT}99"], "the index has no document with that id"),
        (["index", "merge", folder, other], "row 0: the index has a document with this id"),
        (["stream", "--index", folder], "row 2: the index has a document with this id and another"),
    ):
        assert PATIENT in asked(*line).error
        answer = asked(*line, "--private-ids")
        assert answer.code == 1 and PATIENT not in answer.err and says in answer.error, answer.err
    answer = asked("stream", "--index", folder, "--line-buffered", "--private-ids")
    assert "row 2: " in answer.error and len(answer.out.splitlines()) == 2


@pytest.mark.long
def test_ids_of_records_are_in_no_page(command: Command, tmp_path: Path) -> None:
    names = ["anna schmidt", "ana schmidt", "peter huber", "petra maier"]
    for which in "ab":
        lines = (
            f"{PATIENT}{which}{i},{name} {i // 2},19{50 + i // 2}"
            for i, name in enumerate(names * 8)
        )
        (tmp_path / f"{which}.csv").write_text("key,name,born\n" + "\n".join(lines) + "\n")
    for files, pair in ((["a.csv"], ("a0", "a1")), (["a.csv", "b.csv"], ("a0", "b1"))):
        out, page = tmp_path / f"out{len(files)}", tmp_path / f"{len(files)}.html"
        paths = [tmp_path / file for file in files]
        line = ["link", *paths, "--id", "key", "--fields", "name,born", "-o", out, "--report", page]
        assert command(*line).code == 0 and PATIENT in page.read_text()
        line += ["--private-ids", "--overwrite"]
        index = tmp_path / "people"
        done = command(*line, *(["--index", index] if len(files) == 1 else []))
        assert done.code == 0, done.err
        assert PATIENT not in page.read_text() + done.err and 'row 1"' in page.read_text()
        assert PATIENT in str(pq.read_table(out / "pairs.parquet").column("id_a")[0])
        run = neardup.open(out)
        again = run.report(tmp_path / "again.html", overwrite=True)
        assert again.read_text().count("row ") and PATIENT not in again.read_text()
        by_id = command("explain", out, *(f"{PATIENT}{name}" for name in pair))
        assert by_id.out == command("explain", out, "row 0", "row 1").out != ""
        assert PATIENT not in command("explain", out, f"{PATIENT}x", "row 1").err
        marked = tmp_path / "marked.csv"
        marked.write_text("id_a,id_b\nrow 0,row 1\n")
        assert run.evaluate(marked)["truth"]["pairs"] == 1
        marked.write_text("id_a,id_b,duplicate\nrow 0,row 1,true\n")
        assert command(*line, "--labels", marked).code == 0
    line = [*line[:3], "--fields", "key,name", "--id", "key", "-o", tmp_path / "no"]
    refused = command(*line, "--private-ids")
    assert refused.code == 2 and "those of the field 'key'" in refused.error
    assert PATIENT in command("index", "remove", index, f"{PATIENT}x").error
    answer = command("index", "remove", index, f"{PATIENT}x", "--private-ids")
    assert answer.code == 1 and PATIENT not in answer.err and "no record with that id" in answer.err


def test_private_ids_in_python(kernels: None, tmp_path: Path) -> None:
    rows = some_rows()
    frame: dict[str, Any] = {name: [row[name] for row in rows] for name in ("id", "text")}
    run = neardup.dedup(frame, id="id", private_ids=True, out=tmp_path / "out")
    for found in (run, neardup.open(tmp_path / "out", source=frame)):
        again = found.recluster(threshold=0.8)
        for one in (found, again):
            assert one.explain("n2").document.doc_id == "row 2"
            assert one.cluster("n2").members[0].doc_id == "row 1"
            assert one.pairs().column("id_a").to_pylist()[0] == "row 1"
    assert run.removed.tolist()[0] == "n2"  # tables have them


@pytest.mark.parametrize("format", ["jsonl", "csv", "parquet"])
def test_removed_documents_are_written(command: Command, tmp_path: Path, format: str) -> None:
    source = write_lines(tmp_path / "notes.jsonl", some_rows())
    if format != "jsonl":
        line = ["dedup", source, "-o", tmp_path / "as", "--format", format, "--threshold", 1]
        assert command(*line).code == 0
        source = tmp_path / "as" / "clean" / f"part-00000.{format}"
    out = tmp_path / "out"
    done = command("dedup", source, "--id", "id", "-o", out, "--removed")
    assert done.code == 0 and "clean/, removed/, clusters.parquet" in done.err, done.err
    (file,) = (out / "removed").iterdir()
    assert file.name == f"part-00000.{format}"
    if format == "jsonl":
        rows = [json.loads(line) for line in file.read_text().splitlines()]
    else:
        rows = (pacsv.read_csv(file) if format == "csv" else pq.read_table(file)).to_pylist()
    run = neardup.open(out)
    table = run.duplicates.to_pylist()
    assert [(r["id"], r["duplicate_of"], r["similarity"]) for r in rows] == [
        (r["doc_id"], r["duplicate_of"], r["similarity"]) for r in table
    ]
    assert all("text" in row and "quality" in row for row in rows) and len(rows) == 10
    # Another run without it leaves nothing of it behind.
    line = ["recluster", out, "-o", tmp_path / "again", "--removed", "--threshold", 0.99]
    assert command(*line).code == 0 and (tmp_path / "again" / "removed").is_dir()
    assert command("dedup", source, "-o", out, "--overwrite").code == 0
    assert not (out / "removed").exists()


def test_removed_documents_that_can_not_be_written(command: Command, tmp_path: Path) -> None:
    rows = [{**row, "similarity": 1} for row in some_rows(3)]
    source = write_lines(tmp_path / "a.jsonl", rows)
    out = tmp_path / "out"
    assert "similarity" in command("dedup", source, "-o", out, "--removed").error
    (tmp_path / "b.txt").write_text("words")
    assert "no fields" in command("dedup", tmp_path / "b.txt", "-o", out, "--removed").error
    with pytest.raises(neardup.SpecError, match="`removed`"):
        neardup.dedup(["a"], removed=True)
