"""``neardup audit``, ``explain`` and ``compare``: what they print, write and refuse."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import neardup
from common import Command, some_rows, write_lines
from neardup.cli import showing
from neardup.errors import SpecError

#: What a terminal would obey, or a browser run.
POLICY = "default-src &#39;none&#39;"
HOSTILE = "\x1b[2J \x9b31m \x07 \u202e </script><script>alert(1)</script> "


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory, kernels: None) -> Path:
    """30 notes, every third of which nearly repeats the one before it; two hostile ones."""
    rows = some_rows()
    words = [f"h{k}" for k in range(40)]
    rows += [
        {**rows[0], "id": "-h", "text": HOSTILE + " ".join(words)},
        {**rows[0], "id": "\x1b[31m", "text": HOSTILE + " ".join([*words[:-1], "other"])},
        {**rows[0], "id": "empty", "text": ""},
    ]
    folder = tmp_path_factory.mktemp("why")
    neardup.dedup(write_lines(folder / "notes.jsonl", rows), id="id", out=folder / "out")
    return folder / "out"


def harmless(text: str) -> bool:
    return all(c.isprintable() or c in "\n␛␇⟨⟩" for c in text) and "\u202e" not in text


def test_audit(run: Path, command: Command, tmp_path: Path) -> None:
    done = command("audit", run, "--sample", "1000", "--seed", "3")
    assert done.code == 0, done.err
    for line in (
        "kept        0 % of the kept documents still have a kept one that reaches 0.7",
        "of 33 documents (seed 3); 22 have near-duplicates of similarity 0.7 or more, in 11 pairs",
        "recall      100 % of all true pairs were found",
        "missed      0 of 11 pairs",
        "removed     11 documents, each with a kept one that reaches 0.7; 11 were compared again",
    ):
        assert line in done.out
    found = json.loads(command("audit", run, "--json", "--quiet").out)
    assert (found["recall"], found["recall_low"], found["recall_high"]) == (1, 1, 1)
    assert (found["sampled"], found["missed"], found["wrong"]) == (32, [], [])
    stored = json.loads((run / "audit.json").read_text())
    assert {k: v for k, v in stored.items() if k != "of"} == found


def test_an_audit_that_finds_what_was_missed(command: Command, tmp_path: Path) -> None:
    """With one band, and with a table that removes what is no duplicate of a kept document."""
    notes = write_lines(tmp_path / "n.jsonl", some_rows(120))
    out = tmp_path / "out"
    bands = ("--bands", "1", "--rows", "16")
    assert command("dedup", notes, "-o", out, "--id", "id", *bands, "--quiet").code == 0
    found = json.loads(command("audit", out, "--json", "--quiet").out)
    missed = found["missed"]
    assert missed and found["removed"] and len(missed) + found["removed"] == 40
    assert found["kept_pairs"] == missed and found["kept_near"] == 2 * len(missed)
    for pair in missed:
        one, other = int(pair["doc_id_a"][1:]), int(pair["doc_id_b"][1:])
        assert (one % 3, other) == (1, one + 1)
        assert pair["similarity"] == 35 / 37 and pair["shared"] is False
    rows = pq.read_table(out / "clusters.parquet").to_pylist()
    rows[0] |= {"kept": False, "duplicate_of": "n3", "similarity": 0.9}
    schema = pq.read_schema(out / "clusters.parquet")
    pq.write_table(pa.Table.from_pylist(rows, schema=schema), out / "clusters.parquet")
    text = command("audit", out, "--quiet").out
    assert "all but 1 with a kept one that reaches 0.7" in text
    assert "wrongly removed  duplicate of  similarity  stated" in text


def test_what_an_audit_refuses(run: Path, command: Command, tmp_path: Path) -> None:
    for arguments, says in (
        (("--sample", "0"), "--sample is 0"),
        (("--memory", "9"), "--memory is 9 B; at least"),
    ):
        refused = command("audit", run, *arguments)
        assert refused.code in (1, 2) and says in refused.error
    assert "no finished run" in command("audit", tmp_path).error
    assert "no finished run" in command("audit", __file__).error


def test_explain(run: Path, command: Command, tmp_path: Path) -> None:
    done = command("explain", run, "n2")
    assert done.code == 0 and done.lines == []
    assert done.out.startswith("n2 is removed: it is a duplicate of n1, which is kept.\n")
    for line in (
        "similarity   0.9459 of word:5 shingles; reaches 0.7",
        "containment  97.2 % of n2 is in n1, 97.2 % of n1 is in n2",
        "buckets      shared in ",
        "[-changed-]{+w1x39+}",
    ):
        assert line in done.out
    found = json.loads(command("explain", run, "n2", "--json").out)
    assert found["document"]["duplicate_of"] == "n1" and found["buckets"]["how"] == "bands"
    assert [part["op"] for part in found["differences"]] == ["equal", "replace"]
    page = tmp_path / "why.html"
    assert command("explain", run, "n0", "n1", "--html", page).out.startswith("n0 and n1 are not")
    assert POLICY in page.read_text()
    kept = command("explain", run, "n1")
    assert kept.out.startswith("n1 is kept: 1 removed document is similar to it.\n")
    for line in (
        "duplicates   n2 at 0.9459\n",
        "[-w1x39-]{+changed+}",
    ):
        assert line in kept.out
    assert "w1x39" not in command("explain", run, "n1", "--no-text").out
    assert "empty documents are never" in command("explain", run, "empty").out
    assert "no document has the id n99" in command("explain", run, "n99").error
    assert "both ids are those of one" in command("explain", run, "n1", "n1").error
    (run.parent / "notes.jsonl").rename(run.parent / "moved")
    gone = command("explain", run, "n1")
    (run.parent / "moved").rename(run.parent / "notes.jsonl")
    assert gone.code == 1 and "--no-text" in gone.err


def test_nothing_that_is_needed_is_written_over(run: Path, command: Command) -> None:
    """Neither the inputs nor any file of a run, even if it is asked for; others if so only."""
    notes, page = run.parent / "notes.jsonl", run.parent / "page.html"
    link, own, hidden = (run.parent / name for name in ("link.html", "own.html", "hidden.html"))
    link.symlink_to(run / "clusters.parquet")
    files = {p: p.read_bytes() for p in [notes, *run.rglob("*")] if p.is_file()}
    assert {"clusters.parquet", "run.json"} <= {path.name for path in files}
    assert any(path.parent == run / "clean" for path in files)
    for path in [*files, run / "audit.json", run / ".run" / "run.sqlite", link]:
        path.parent.mkdir(exist_ok=True)
        refused = command("explain", run, "n2", "--html", path, "--overwrite")
        assert refused.code == 1
        assert f"{path} is {'an input' if path == notes else 'a file of a run'}" in refused.error
    (run / ".run").rmdir()
    hidden.symlink_to(notes)
    refused = command("explain", run, "n2", "--html", hidden, "--overwrite")
    assert f"{hidden} is an input" in refused.error
    assert {path: path.read_bytes() for path in files} == files
    own.write_text("mine")
    for one in (("explain", run, "n2"), ("compare", notes, notes)):
        page.write_text("mine")
        assert command(*one, "--html", page).error == f"error: {page} exists"
        assert page.read_text() == "mine"
        assert command(*one, "--html", page, "--overwrite", "--no-text").code == 0
        assert POLICY in page.read_text()
    refused = command("compare", notes, own, "--html", own, "--overwrite")
    assert f"{own} is an input" in refused.error and own.read_text() == "mine"
    refused = command("compare", notes, notes, "--html", fifo(run), "--overwrite")
    assert "is not a regular file" in refused.error


def fifo(run: Path) -> Path:
    path = run.parent / "pipe.html"
    os.mkfifo(path)
    return path


def test_no_text_of_a_stranger_moves_a_terminal(
    run: Path, command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor do ids; and one that looks like an option is given after two dashes."""
    page = tmp_path / "why.html"
    arguments = ("explain", run, "--html", page, "--overwrite", "--", "-h", "\x1b[31m")
    plain = command(*arguments)
    assert plain.code == 0 and harmless(plain.out) and "␛[2J" in plain.out
    assert harmless(command("explain", run, "--json", "--", "-h", "\x1b[31m").out)
    assert "<script" not in page.read_text() and harmless(page.read_text())
    unknown = command("explain", run, "\x1b[32m")
    assert "\\x1b" in unknown.error
    # In colour the only escapes are ours.
    monkeypatch.setattr(showing, "in_colour", lambda: True)
    painted = command(*arguments).out
    for ours in ("\x1b[9;31m", "\x1b[4;32m", "\x1b[0m"):
        assert ours in painted
        painted = painted.replace(ours, "")
    assert harmless(painted)


def test_colour_is_for_terminals_that_want_it(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal:
        def isatty(self) -> bool:
            return True

    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert not showing.in_colour()  # captured, like a pipe
    monkeypatch.setattr("sys.stdout", Terminal())
    assert showing.in_colour()
    for name, value in (("NO_COLOR", "1"), ("TERM", "dumb")):
        with monkeypatch.context() as set_one:
            set_one.setenv(name, value)
            assert not showing.in_colour()


def test_compare(command: Command, tmp_path: Path) -> None:
    def file(name: str, content: bytes | str) -> Path:
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    a = file("a.txt", "Seen on Monday, with pain.\n" + HOSTILE)
    b = file("b.txt", "Seen today, with pain.\n" + HOSTILE)
    empty, binary = file("empty.txt", ""), file("b.bin", b"caf\xe9")

    def of(*arguments: Any) -> str:
        done = command("compare", *arguments)
        assert done.code == 0, done.err
        assert harmless(done.out)
        return done.out

    shown = of(a, b, "--shingle", "word:1", "--threshold", "0.5")
    assert "are near-duplicates: their similarity reaches 0.5." in shown
    assert "Seen [-on Monday-]{+today+}, with pain." in shown
    assert "pain" not in of(a, b, "--no-text")
    told = json.loads(of(a, b, "--json"))
    assert told["texts"] == [a.read_text(), b.read_text()] and not told["duplicates"]
    assert "".join(part["text_b"] for part in told["differences"]) == b.read_text()
    # A lower threshold needs nothing else: two texts make no clusters.
    assert "reaches 0.1" in of(a, b, "--preset", "records", "--threshold", "0.1")
    assert "one text is empty, and empty texts are never duplicates" in of(a, empty)
    for odd in (None, b"b", 3):
        with pytest.raises(SpecError, match="expected a str"):
            neardup.compare("a", odd)  # type: ignore[arg-type]
    assert "both texts are empty" in of(empty, empty)
    assert "equal, byte for byte" in of(binary, binary, "--encoding-errors", "replace")
    for arguments, says in (
        ((a, binary), "not valid UTF-8"),
        ((a, tmp_path / "none.txt"), "no such file"),
        ((a, tmp_path), "is a folder"),
        (("-", "-"), "both texts are to come from standard input"),
    ):
        assert says in command("compare", *arguments).error
