"""Pages of decontaminate, dedup --against and Spark: numbers, and what was found, with texts."""

from __future__ import annotations

import json
import pickle
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from page_visit import Visit

import neardup
from common import Command
from neardup.errors import InputError
from neardup.result_record.dedup_record import SparkCounts, SparkRecord

pytestmark = pytest.mark.long

WORDS = [f"w{k}" for k in range(60)]
HOSTILE = "<script>window.__pwned=1</script>"


def write(path: Path, texts: list[str], name: str = "text") -> Path:
    first = {"a": "q", "b": "r"}.get(path.stem, "d")
    rows = [{"id": f"{first}{i}", name: text} for i, text in enumerate(texts)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture
def made(tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch) -> dict[str, Path]:
    monkeypatch.chdir(tmp_path)
    body = " ".join(WORDS)
    write(tmp_path / "train.jsonl", [f"before {HOSTILE} {body} after", "something else"])
    write(tmp_path / "a.jsonl", [" ".join(WORDS[10:30]), "w3 w4"], "q")
    write(tmp_path / "b.jsonl", ["not there at all"], "q")
    write(tmp_path / "old.jsonl", [body])
    write(tmp_path / "new.jsonl", [f"{HOSTILE} {body}", "x y z", "x y z"])
    calls = {
        "decontaminate": "decontaminate train.jsonl --against a.jsonl --against b.jsonl "
        "--test-text q --test-id id --id id -o decontaminate",
        "against": "dedup new.jsonl --against old.jsonl --id id -o against",
    }
    found = {}
    for name, line in calls.items():
        for given in (line.split(), ["report", name, "-o", f"{name}.html"]):
            done = command(*given)
            assert done.code == 0, done.err
        found[name] = tmp_path / f"{name}.html"
    return found


def test_matches_with_their_passages(visit: Callable[..., Visit], made: dict[str, Path]) -> None:
    one = visit(made["decontaminate"])
    assert one.page.evaluate("window.__pwned") is None
    files = one.page.locator("#figures .broad tbody tr").all_inner_texts()
    words, shares = one.page.locator("#figures figure:not(.broad)").all_inner_texts()
    assert "10 to 24" in words and "Containment" in shares
    assert [re.sub(r"\s+", " ", row) for row in files] == [
        "a.jsonl 2 2 100 % 1 2",
        "b.jsonl 1 0 0 % 0 0",
    ]
    detail = one.page.locator("#detail")
    assert detail.locator("h3").inner_text() == "d0 has the test item q0"
    assert detail.locator("mark").inner_text() == " ".join(WORDS[10:30])
    assert HOSTILE in detail.inner_text()
    one.rows.nth(1).click()
    assert detail.locator("mark").inner_text() == "w3 w4"
    assert "The complete item; 2 words in a row" in detail.inner_text()
    numbers = one.page.locator(".facts").inner_text()
    assert "Test items" in numbers and "Recall" in numbers
    one.search("q0")
    assert one.rows.count() == 1 and "test item q0" in one.rows.inner_text()


def headings(one: Visit) -> list[str]:
    """Open each item; return what it is."""
    found = []
    for row in one.rows.all():
        row.click()
        found.append(one.page.locator("#detail h3").inner_text())
    return found


def test_duplicates_of_an_old_corpus(visit: Callable[..., Visit], made: dict[str, Path]) -> None:
    one = visit(made["against"])
    assert headings(one) == [
        "d0 is a duplicate of d0, of the old corpus",
        "d2 is a duplicate of d1, of the batch",
    ]
    one.page.select_option("#group", "0")
    assert headings(one) == ["d0 is a duplicate of d0, of the old corpus"]
    assert HOSTILE in one.page.locator("#detail .note").inner_text()
    assert one.status == "1 of 2 documents found"


@pytest.mark.parametrize("width", [390, 703])
def test_nothing_is_cut_on_a_telephone_or_on_paper(
    visit: Callable[..., Visit], made: dict[str, Path], width: int
) -> None:
    for path in made.values():
        one = visit(path, viewport={"width": width, "height": 800})
        one.page.emulate_media(media="print" if width == 703 else "screen")
        assert one.page.evaluate("document.documentElement.scrollWidth") <= width
        if width == 703:
            assert one.page.locator(".example .note").count() == 2
            assert not one.page.locator("button:visible, input:visible").count()


def test_without_texts_and_with_private_ids(tmp_path: Path, made: dict[str, Path]) -> None:
    run = neardup.open(tmp_path / "decontaminate")
    page = run.report(tmp_path / "plain.html", texts=False, title="A title").read_text()
    assert "A title" in page and "w12" not in page and "d0" in page
    found = neardup.decontaminate(["a b c"], ["a b"])
    assert "a b" in found.report(tmp_path / "none.html").read_text()
    batch = neardup.against(["a b c d e f"] * 2, ["q"])
    assert "is a duplicate of" in batch.report(tmp_path / "memory.html").read_text()


def test_options_that_do_not_apply(command: Command, made: dict[str, Path]) -> None:
    del made
    answer = command("report", "decontaminate", "-o", "x.html", "--by", "site")
    assert answer.code == 2 and "--by does not apply" in answer.error


def spark_folder(path: Path) -> Path:
    """What a small job writes, by the tables of a run of one machine."""
    texts = [" ".join(WORDS), " ".join(WORDS), " ".join([*WORDS[:-1], "x"]), "other text"]
    run = neardup.dedup(write(path.parent / "in.jsonl", texts), id="id", out=path)
    table: Any = run.clusters
    ids = table.column("doc_id")
    labels = [ids[row] for row in table.column("cluster").to_pylist()]
    found = table.rename_columns([{"doc_id": "id"}.get(n, n) for n in table.column_names])
    found = found.set_column(
        found.schema.get_field_index("cluster"), "cluster", [[v.as_py() for v in labels]]
    )
    import pyarrow.parquet as pq

    pq.write_table(found, path / "clusters.parquet")
    record = json.loads((path / "run.json").read_text())
    record |= {"engine": "spark", "source": None, "secret_ids": False, "private_ids": False}
    record["frame"] = {"text": ["text"], "id": "id", "input_format": "json"}
    record["output"] = {"clean": True, "annotate": False, "tables": "parquet", "format": "json"}
    of_spark = {name: record[name] for name in SparkRecord.__struct_fields__}
    counts = record["counts"]
    of_spark["counts"] = {n: counts[n] for n in SparkCounts.__struct_fields__ if n in counts}
    (path / "run.json").write_text(json.dumps(of_spark))
    return path


def test_a_record_of_spark_that_is_damaged(tmp_path: Path) -> None:
    path = spark_folder(tmp_path / "spark") / "run.json"
    whole = json.loads(path.read_text())
    for key, member, value in (
        ("files", "clean", None),
        ("output", "clean", False),
        ("spec", "order_by", "date"),
        ("counts", "kept", 9),
    ):
        made = {name: value for name, value in whole[key].items() if name != member}
        if value is not None:
            made[member] = value
        path.write_text(json.dumps({**whole, key: made}))
        with pytest.raises(InputError, match="does not agree with"):
            neardup.open(path.parent)


def test_a_folder_of_spark(tmp_path: Path, visit: Callable[..., Visit]) -> None:
    run = neardup.open(spark_folder(tmp_path / "spark"))
    one = visit(run.report(tmp_path / "spark.html"))
    assert headings(one) == ["d2 is a duplicate of d0", "d1 is a duplicate of d0"]
    assert "3 documents" in one.page.locator("#figures").inner_text()
    assert one.page.locator("#figures figure").last.locator("rect").count() == 1


def test_a_folder_of_spark_says_what_needs_its_texts(tmp_path: Path) -> None:
    run = neardup.open(spark_folder(tmp_path / "spark"))
    assert isinstance(run, neardup.DedupRun) and run.pairs(texts=False).num_rows == 2
    assert "removed" in run.explain("d1", texts=False).why and "recall" in run._repr_html_()
    again = pickle.loads(pickle.dumps(run))
    assert again.clusters.equals(run.clusters) and repr(again) == repr(run)
    for ask in (
        lambda: run.audit(progress=False),
        lambda: run.recluster(threshold=0.9, progress=False),
        lambda: run.recluster(tmp_path / "again", threshold=0.9, clean=False, progress=False),
        lambda: run.explain("d1"),
        run.pairs,
    ):
        with pytest.raises(neardup.InputError, match="was read by Apache Spark"):
            ask()
    with pytest.raises(neardup.SpecError, match="`show` and `by`"):
        run.report(tmp_path / "x.html", by="site")


def test_nothing_that_was_found_is_said_in_a_sentence(tmp_path: Path, kernels: None) -> None:
    texts, other = [" ".join(WORDS)], [" ".join(f"v{k}" for k in range(60))]
    runs = [
        (neardup.decontaminate(texts, other), "None of 1 document has a test item, or a passage"),
        (neardup.against(texts, other), "None of 1 document is a near-duplicate of another one"),
        (neardup.passages(texts), "None of 60 words was copied from an earlier document in a run"),
    ]
    for number, (run, says) in enumerate(runs):
        page = run.report(tmp_path / f"{number}.html").read_text(encoding="utf-8")
        assert says in page and ">Examples<" not in page
    read = neardup.decontaminate(
        write(tmp_path / "c.jsonl", texts), write(tmp_path / "a.jsonl", other)
    )
    page = read.report(tmp_path / "read.html").read_text(encoding="utf-8")
    assert "1 documents were read from c.jsonl. 1 test items were read from a.jsonl." in page
    assert repr(read) == "<DecontaminateRun: 1 documents, 0 with one of 1 test items, 0 matches>"


def test_what_is_left_out_is_said_with_its_option(tmp_path: Path, kernels: None) -> None:
    people = [{"name": f"person{k} {k * k}bell{'s' * copy}"} for k in range(30) for copy in (0, 1)]
    linked = neardup.link(people, fields="name")
    texts = [" ".join([*(f"{word}x{k // 2}" for word in WORDS), str(k)]) for k in range(30)]
    for run in (linked, neardup.dedup(texts), neardup.passages(texts)):
        page = run.report(tmp_path / f"{run.command}.html", max_items=4).read_text(encoding="utf-8")
        assert "--max-items</span> shows more" in page, run.command
