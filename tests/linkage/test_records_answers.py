"""What a linkage says of two files, of records that are not there, and without values."""

from __future__ import annotations

import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click
import pyarrow as pa
import pyarrow.csv as pcsv
import pyarrow.parquet as pq
import pytest
from made_records import NAMES

import neardup
from common import Command
from neardup.cli.showing import on_run
from neardup.views.text.link_text import draw_histogram

People = tuple[pa.Table, pa.Table]


def items_of(page: str) -> list[dict[str, Any]]:
    """What the page lists."""
    data = page.partition('id="data">')[2].partition("</script>")[0]
    items: list[dict[str, Any]] = json.loads(data)["items"]
    return items


def pairs_of(page: str) -> list[tuple[str, str]]:
    """Ids of the pairs that can be marked."""
    pairs = [[id for _, id in one["pair"]] for one in items_of(page) if one["pair"]]
    return [(a, b) for a, b in pairs]


@pytest.fixture(scope="module", params=[250, 550])
def halves(people: People, request: pytest.FixtureRequest) -> tuple[pa.Table, pa.Table]:
    """Two files whose ids differ; the first one is the shorter, or the longer one."""
    table, first = people[0].slice(0, 800), request.param
    parts = []
    for name, part in (("a", table.slice(0, first)), ("b", table.slice(first))):
        ids = pa.array([f"{name}{k:03d}" for k in range(part.num_rows)])
        parts.append(part.set_column(part.column_names.index("id"), "id", ids))
    return parts[0], parts[1]


@pytest.mark.long
def test_a_page_of_two_files_has_the_ids_of_each(
    halves: tuple[pa.Table, pa.Table], tmp_path: Path
) -> None:
    a, b = halves
    run = neardup.link(a, b, id="id", fields=NAMES, progress=False)
    page = run.report(tmp_path / "page.html").read_text(encoding="utf-8")
    pairs = pairs_of(page)
    there = zip(*(run.candidates[name].to_pylist() for name in ("id_a", "id_b")), strict=True)
    assert len(pairs) >= 20 and set(pairs) <= set(there)
    values = run.explain(*pairs[0])["fields"][0]["values"]
    assert items_of(page)[0]["rows"][0][1:3] == values
    # As the page saves them.
    rows = [f'"{x}","{y}",{"true" if k < 20 else "false"}' for k, (x, y) in enumerate(pairs)]
    (tmp_path / "labels.csv").write_text("\n".join(["id_a,id_b,duplicate", *rows, ""]))
    again = neardup.link(a, b, id="id", fields=NAMES, labels=tmp_path / "labels.csv")
    assert again.summary["counts"]["candidates"] == run.summary["counts"]["candidates"]


@pytest.mark.long
def test_a_page_of_positions_of_two_files(
    halves: tuple[pa.Table, pa.Table], tmp_path: Path
) -> None:
    a, b = halves
    run = neardup.link(a, b, fields=NAMES)
    page = run.report(tmp_path / "page.html").read_text(encoding="utf-8")
    pairs = pairs_of(page)
    there = zip(*(run.candidates[name].to_pylist() for name in ("id_a", "id_b")), strict=True)
    assert len(pairs) >= 20 and set(pairs) <= {(f"a:{x}", f"b:{y}") for x, y in there}


@pytest.mark.long
def test_no_values_without_texts(
    people: People, linked: neardup.LinkRun, tmp_path: Path, command: Command
) -> None:
    row = linked.pairs.to_pylist()[0]
    ids, out, page = (row["id_a"], row["id_b"]), tmp_path / "out", tmp_path / "page.html"
    linked.save(out)
    assert command("report", out, "-o", page, "--no-text").code == 0
    shown = page.read_text(encoding="utf-8")
    assert len(pairs_of(shown)) >= 20
    values = {
        str(v) for name in ("street", "suburb", "surname") for v in people[0][name].to_pylist()
    }
    cells = {cell for one in items_of(shown) for row in one["rows"] for cell in row}
    assert (
        cells
        and not cells & values
        and not any(value in shown for value in values if len(value) > 12)
    )
    full = linked.report(tmp_path / "full.html").read_text(encoding="utf-8")
    assert {cell for one in items_of(full) for row in one["rows"] for cell in row} & values
    done = command("explain", out, *ids, "--no-text")
    street = linked.explain(*ids)["fields"][3]["values"][0]
    assert street in command("explain", out, *ids).out and street not in done.out
    assert "street" in done.out and "similarity" in done.out
    found = linked.explain(*ids, texts=False)
    assert not any("values" in field for field in found["fields"]) and str(found) == done.out[:-1]
    index = linked.index()
    assert not any("values" in f for f in index.explain(*ids, texts=False)["fields"])


def test_ids_that_are_a_field_are_no_page_without_values(tmp_path: Path) -> None:
    people = {"name": ["anna schmidt", "anna schmitt", "peter huber"]}
    run = neardup.link(people, id="name", fields="name")
    with pytest.raises(neardup.SpecError, match="the ids are those of the field 'name'"):
        run.report(tmp_path / "page.html", texts=False)


def test_an_unknown_id_and_one_record_twice(people: People, linked: neardup.LinkRun) -> None:
    a, b = people[0].slice(0, 300), people[0].slice(300, 300)
    two, id_ = neardup.link(a, b, id="id", fields=NAMES), a["id"][0].as_py()
    with pytest.raises(neardup.InputError, match="no record has the id '9999'") as caught:
        two.explain(id_, 9999)
    assert caught.value.hint == "the id of the first file comes first"
    positions = neardup.link(a, fields=NAMES)
    with pytest.raises(neardup.InputError, match="no record has the id 'x'") as caught:
        positions.explain("x", 1)
    assert caught.value.hint == "ids are positions, from 0"
    index = linked.index()
    for explain, same in ((positions.explain, 1), (linked.explain, id_), (index.explain, id_)):
        with pytest.raises(neardup.SpecError, match="the same record"):
            explain(same, same)


def test_pairs_that_are_no_candidates(people: People, linked: neardup.LinkRun) -> None:
    ids = people[0]["id"].to_pylist()
    found = next(f for id_ in ids[1:] if not (f := linked.explain(ids[0], id_))["candidate"])
    assert "no match, as they were no candidates" in str(found)
    row = linked.pairs.to_pylist()[0]
    assert "a match at 0.5" in str(linked.explain(row["id_a"], row["id_b"]))


def test_hints_on_labels_name_options_of_a_linkage(
    people: People, tmp_path: Path, command: Command
) -> None:
    pcsv.write_csv(people[0].slice(0, 300), tmp_path / "people.csv")
    labels, known = tmp_path / "labels.csv", people[0]["id"].to_pylist()
    link = ("link", tmp_path / "people.csv", "--id", "id", "--fields", "surname,street")
    for text, says in (
        ("x,y,duplicate\n1,2,true\n", "id_a, id_b and duplicate"),
        (f"id_a,id_b\n{known[0]},{known[1]}\n", "id_a, id_b and duplicate"),
        ("id_a,id_b,duplicate\nnone,2,true\n", "leave out those with other ids"),
    ):
        labels.write_text(text)
        done = command(*link, "--labels", labels, "-o", tmp_path / "out")
        assert done.code == 1 and says in done.err, done.err
        assert not re.search("--(columns|kind|missing)", done.err), done.err


def test_an_index_of_two_files_is_refused_before_the_work(tmp_path: Path, command: Command) -> None:
    # The files are not there, and would be missed first.
    line = ("link", tmp_path / "a.csv", tmp_path / "b.csv", "--fields", "name")
    done = command(*line, "-o", tmp_path / "out", "--index", tmp_path / "index")
    assert done.code == 2 and "--index is made of a linkage within files" in done.error
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("threshold", [k / 40 for k in range(41)])
def test_one_line_of_the_histogram_is_marked(threshold: float) -> None:
    lines = draw_histogram([3] * 40, threshold).splitlines()
    (marked,) = [line for line in lines if "<- separated" in line]
    assert marked.startswith(f"{min(threshold, 39 / 40):5.3f}")


def test_a_truth_of_other_ids_is_refused(
    people: People, linked: neardup.LinkRun, tmp_path: Path, command: Command
) -> None:
    known = people[0]["id"][0].as_py()
    for rows, column in (
        ([("x", "y"), ("x", "z")], "'a' and 'b'"),
        ([(known, "y")], "'b'"),
        ([("x", known)], "'a'"),
    ):
        with pytest.raises(
            neardup.InputError, match=rf"ids that the linkage has, in {column}(\n|$)"
        ):
            linked.evaluate(rows, missing="skip")
    pq.write_table(people[0].slice(0, 300), tmp_path / "people.parquet")
    pairs, truth = tmp_path / "pairs.parquet", tmp_path / "truth.csv"
    options = ("--id", "id", "--fields", "surname,street", "-o", pairs, "--quiet")
    assert command("blocks", tmp_path / "people.parquet", *options).err == ""
    truth.write_text("id_a,id_b\n1,2\n")
    done = command("evaluate", pairs, "--truth", truth)
    assert done.code == 1 and "ids that a candidate has, in 'id_a'" in done.error


def test_one_record_is_removed(people: People, tmp_path: Path, command: Command) -> None:
    table = people[0].slice(0, 300)
    neardup.link(table, id="id", fields=NAMES).index(tmp_path / "i").close()
    done = command("index", "remove", tmp_path / "i", table["id"][0].as_py())
    assert done.err == "removed 1 record\n"


def test_progress(people: People) -> None:
    table = people[0].slice(0, 300)
    assert neardup.decontaminate(["a b c"], ["a b c"], progress=False).matches.num_rows
    assert neardup.blocks(table, fields="surname", progress=False).pairs.num_rows
    with pytest.raises(neardup.SpecError, match="`progress` is 'loud'"):
        neardup.link(table, fields="surname", progress="loud")
    run = neardup.link(table, id="id", fields=NAMES)
    with run.index() as index:
        assert neardup.link(
            table.slice(0, 1).set_column(0, "id", [["new"]]), against=index, progress=False
        )


def test_no_option_is_ignored_silently() -> None:
    run = SimpleNamespace(command="old", report=lambda path: path)
    with click.Context(click.Command("report")):
        assert on_run(run, "report", "page", texts=True) == "page"
        with pytest.raises(neardup.SpecError, match="`texts` does not apply to an output"):
            on_run(run, "report", "page", texts=False)
