"""The file of a page: its size, what is left out of it, and when it is not written."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from page_corpus import spec

import neardup
from common import Command, write_lines
from neardup.errors import InputError, OutputError
from neardup.run.events import Event


def _families(count: int, size: int, name: str) -> list[dict[str, Any]]:
    """Rows of families whose members differ in a word."""
    draw = random.Random(7)
    rows = []
    for family in range(count):
        words = [f"w{draw.randint(0, 5000)}" for _ in range(60)]
        for k in range(size):
            text = " ".join([*words[:59], f"only{k}"])
            rows.append({"id": f"{family}-{k}-{name}", "text": text})
    return rows


def test_long_ids_do_not_make_the_file_long(tmp_path: Path, kernels: None) -> None:
    """Not the first ones, but most: what is measured is what is written."""
    rows = _families(60, 40, "short")
    for row in rows[1000:]:
        row["id"] += "<&>\u00e9" * 100
    notes = write_lines(tmp_path / "notes.jsonl", rows)
    neardup.dedup_files(notes, tmp_path / "run", spec=spec(), id="id")
    made = neardup.write_report(tmp_path / "run", tmp_path / "page.html", max_clusters=50)
    # 4 kB for each cluster, at least 400 kB, and less than 300 kB for the rest.
    assert made["bytes"] == (tmp_path / "page.html").stat().st_size < 700_000
    assert made["clusters"] == 50 and made["of_clusters"] == 60
    assert made["texts"] >= 100


def test_the_command_and_its_refusals(
    command: Command, tmp_path: Path, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert command("dedup", notes, "-o", "run", "--id", "id", "--quiet").code == 0
    done = command("report", "run", "-o", "page.html", "--max-clusters", 3)
    assert done.code == 0 and done.out == ""
    assert "3 of 10 clusters, 6 texts" in done.lines[-1]
    # It is not written over anything by chance, and never over the run or its input.
    before = Path("page.html").read_bytes()
    Path("other").mkdir()
    Path("other/run.json").touch()
    Path("other/clusters.parquet").touch()
    again = command("report", "run", "-o", "page.html")
    assert again.code == 1 and again.error == "error: page.html exists"
    for own in ("run/run.json", "run/audit.json", "other/clusters.parquet", notes):
        refused = command("report", "run", "-o", own, "--overwrite")
        assert refused.code == 1
        assert f"{own} is {'an input' if own == notes else 'a file of a run'}" in refused.error
    assert "is a folder" in command("report", "run", "-o", ".").error
    assert "there is no folder" in command("report", "run", "-o", "none/page.html").error
    assert "no finished run" in command("report", "none", "-o", "other.html").error
    assert Path("page.html").read_bytes() == before
    assert {path.name for path in tmp_path.iterdir()} == {
        *("notes.jsonl", "run", "other", "page.html")
    }


def test_an_input_that_is_gone(notes: Path, tmp_path: Path, kernels: None) -> None:
    run = tmp_path / "run"
    neardup.dedup_files(notes, run, id="id")
    notes.unlink()
    with pytest.raises(InputError) as caught:
        neardup.write_report(run, tmp_path / "page.html")
    assert str(notes) in str(caught.value) and "--no-text" in str(caught.value.hint)
    assert not (tmp_path / "page.html").exists()
    told: list[Event] = []
    neardup.write_report(run, tmp_path / "page.html", texts=False, on_event=told.append)
    assert "lengths are not measured" in told[0].note
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "Its input could not be read again" in page
    assert "Most different lengths first" not in page
    with pytest.raises(OutputError, match="exists"):
        neardup.write_report(run, tmp_path / "page.html", texts=False)


def test_ids_that_are_texts_are_left_out_too(tmp_path: Path, kernels: None) -> None:
    rows = _families(3, 4, "name")
    notes = write_lines(tmp_path / "notes.jsonl", rows)
    neardup.dedup_files(notes, tmp_path / "run", spec=spec(), text="text", id="text")
    neardup.write_report(tmp_path / "run", tmp_path / "page.html", texts=False)
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert not [word for row in rows for word in row["text"].split() if f"{word} " in page]
    data = page.partition('id="data">')[2].partition("</script>")[0]
    members = [member[0] for one in json.loads(data)["clusters"] for member in one["members"]]
    assert sorted(members, key=int) == [str(k) for k in range(12)]
