"""The page in a real Chromium, read: what was done, and what an open cluster shows."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from page_corpus import SECRET
from page_visit import FIGURES, TEXTS, Visit, plain

import neardup


def test_it_says_what_was_done_and_what_came_out(
    visit: Callable[..., Visit], page_file: Path, run_folder: Path
) -> None:
    page = visit(page_file).page
    record = json.loads((run_folder / "run.json").read_text())
    audit = json.loads((run_folder / "audit.json").read_text())
    counts = record["counts"]
    facts = {
        fact.locator("dt").inner_text(): fact.locator(".value").inner_text()
        for fact in page.locator(".fact").all()
    }
    exact = counts["exact_duplicates"]
    removed = {
        row["doc_id"]
        for row in neardup.dedup(
            run_folder.parent / "notes.jsonl", spec=neardup.Spec(**_spec_of(record)), id="id"
        ).clusters.to_pylist()
        if not row["kept"]
    }
    gone = sum(len(TEXTS[name].encode()) for name in removed)
    assert facts["Documents"] == str(counts["documents"]) == str(len(TEXTS))
    assert facts["Kept"] == str(counts["kept"])
    assert facts["Exact duplicates"] == str(exact)
    assert facts["Near duplicates"] == str(counts["removed"] - exact)
    assert facts["Can go"].replace("\xa0", " ") == f"{gone / 1000:.3g} kB"
    assert facts["Recall, predicted"].endswith("%")
    assert facts["Recall, audited"].startswith(f"{100 * audit['recall']:.0f}"[:3])
    method = page.locator("#method").inner_text()
    for words in ("runs of 3 words", "0.7", "20 bands of 3 rows", "notes.jsonl", "first one"):
        assert words in method, words


def _spec_of(record: dict[str, Any]) -> dict[str, Any]:
    spec = dict(record["spec"])
    return {**spec, "shingle": neardup.ShingleSpec(**spec["shingle"])}


def test_an_open_cluster_shows_members_similarities_and_tree(
    visit: Callable[..., Visit], page_file: Path, run_folder: Path
) -> None:
    one = visit(page_file)
    one.show("chain-2")
    detail = one.page.locator("#detail")
    table = neardup.run.finished.FinishedRun(run_folder).clusters().to_pylist()
    label = next(row["cluster"] for row in table if row["doc_id"] == "chain-2")
    members = {row["doc_id"]: row for row in table if row["cluster"] == label}
    assert f"{len(members)} documents" in detail.locator("h3").inner_text()
    seen = detail.locator(".members tbody tr")
    assert {row.locator("th").inner_text() for row in seen.all()} == set(members)
    for row in seen.all():
        member = members[row.locator("th").inner_text()]
        if member["kept"]:
            assert "kept" in row.inner_text()
            continue
        assert member["kept_by"] in row.inner_text()
        shown = float(row.locator(".similarity").inner_text())
        assert member["similarity"] - 0.001 < shown <= member["similarity"]
        assert str(len(TEXTS[member["doc_id"]])) in row.inner_text().replace(",", "")
    nodes = detail.locator(".tree .node .id").all_inner_texts()
    assert sorted(nodes) == sorted(members)
    # Who hangs on whom is an edge of the run.
    edges = {
        frozenset((row["doc_id_a"], row["doc_id_b"])): row["similarity"]
        for row in neardup.run.finished.FinishedRun(run_folder).edges().to_pylist()
    }
    links = one.page.evaluate(
        """() => [...document.querySelectorAll('.tree li li')].map((item) => [
            item.parentElement.closest('li').querySelector('.id').textContent,
            item.querySelector('.id').textContent,
            Number(item.querySelector('.similarity').textContent)])"""
    )
    assert len(links) == len(members) - 1
    for parent, child, similarity in links:
        exact = edges[frozenset((parent, child))]
        assert exact - 0.001 < similarity <= exact


def test_the_template_shows_what_is_shared_and_the_slots(
    visit: Callable[..., Visit], page_file: Path
) -> None:
    one = visit(page_file)
    one.show("family-07")
    template = one.page.locator(".template .note")
    shared = "".join(template.locator(".shared").all_inner_texts())
    for line in TEXTS["family-07"].splitlines():
        assert line.partition(" end.")[0].rpartition(" ")[0].removesuffix(" not") in shared
    assert template.locator(".slot").count() == 6
    slot = template.locator(".slot").first
    slot.click()
    assert slot.get_attribute("aria-expanded") == "true"
    values = template.locator(".values").inner_text()
    assert all(value in values for value in ("yes", "no", "not asked"))
    slot.click()
    assert template.locator(".values").count() == 0
    # Exact copies have nothing that varies.
    one.show("pair-01")
    assert one.page.locator(".template .slot").count() == 0
    assert "the same, character by character" in one.page.locator(".template").inner_text()


def test_any_two_texts_side_by_side(visit: Callable[..., Visit], page_file: Path) -> None:
    one = visit(page_file)
    one.show("family-07")
    left, right = (one.page.get_by_label(f"Text on the {side}") for side in ("left", "right"))
    names = left.locator("option").all_inner_texts()
    assert len(names) > 10
    for a, b in [(names[1], names[5]), (names[8], names[2])]:
        left.select_option(label=a)
        right.select_option(label=b)
        cells = one.page.locator(".compared tbody td")
        texts = cells.all_inner_texts()
        assert plain(" ".join(texts[::2])) == plain(TEXTS[a])
        assert plain(" ".join(texts[1::2])) == plain(TEXTS[b])
        exact = neardup.similarity(TEXTS[a], TEXTS[b], neardup.ShingleSpec(n=3))
        shown = float(one.page.locator(".pair .similarity").inner_text())
        assert abs(exact - shown) < 0.0006
        # What is marked is what differs: the values of slots.
        changed = set(
            " ".join(one.page.locator(".compared del, .compared ins").all_inner_texts()).split()
        )
        assert changed <= {"yes", "no", "not", "asked"}
        different = plain(TEXTS[a]) != plain(TEXTS[b])
        assert bool(changed) == different
    # Only what differs.
    before = one.page.locator(".compared tbody tr").count()
    one.page.get_by_label("only what differs").check()
    assert one.page.locator(".compared tr.same").count() == 0
    assert one.page.locator(".compared tbody tr").count() <= before
    one.page.get_by_label("Swap the two").click()
    assert (
        left.input_value() == str(names.index(names[2]))
        or left.locator("option:checked").inner_text() == names[2]
    )
    # A button beside each document.
    one.page.locator(".members tbody tr", has_text=names[4]).get_by_text("Compare").first.click()
    assert right.locator("option:checked").inner_text() == names[4]


def test_without_texts(visit: Callable[..., Visit], run_folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "bare.html"
    neardup.write_report(run_folder, path, texts=False)
    source = path.read_text(encoding="utf-8")
    assert SECRET not in source
    assert not any(re.search(r"\bw\d+ w\d+\b", line) for line in source.splitlines())
    one = visit(path)
    assert one.page.locator("label[for=search]").inner_text() == "Search ids"
    one.search(SECRET)
    assert one.rows.count() == 0
    one.show("family-07")
    assert one.page.locator(".template, .compared").count() == 0
    assert one.page.locator(".members tbody tr").count() == 30
    # Similarities are there all the same.
    assert 0 < float(one.page.locator(".pair .similarity").inner_text()) <= 1


def test_pages_of_runs_without_clusters_or_bands(
    visit: Callable[..., Visit], tmp_path: Path, kernels: None
) -> None:
    notes = tmp_path / "notes.jsonl"
    notes.write_text("".join(json.dumps({"text": f"word{k} and more{k}"}) + "\n" for k in range(9)))
    neardup.dedup_files(notes, tmp_path / "run", spec=neardup.Spec(method="allpairs"))
    neardup.write_report(tmp_path / "run", tmp_path / "none.html")
    page = visit(tmp_path / "none.html").page
    assert "None of the 9 documents repeats another one" in page.locator(".verdict").inner_text()
    assert page.locator("#figures svg").count() == len(FIGURES)
    assert page.locator("#rows").count() == 0
