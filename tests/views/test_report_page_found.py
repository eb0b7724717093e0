"""What was found, in a real Chromium: slider, histogram, table of a column, review, saved files."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from page_corpus import COPIES, TEXTS, spec
from page_visit import Visit

from neardup.api.dedup import dedup
from neardup.api.finished.runs import DedupRun

pytestmark = pytest.mark.long


def read(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def removed_from(run: DedupRun, low: float, high: float = 2.0) -> dict[str, float]:
    """Removed documents by id whose similarity is from one number to below another."""
    return {
        row["doc_id"]: row["similarity"]
        for row in run.duplicates.to_pylist()
        if low <= round(row["similarity"], 4) < high
    }


def test_the_slider_counts_anew(
    visit: Callable[..., Visit], page_file: Path, star_run: DedupRun
) -> None:
    one = visit(page_file)
    slider, says = one.page.locator("#cutoff"), one.page.locator("#cutoff-says")
    total = len(star_run.duplicates)
    clusters = len(one.data()["items"])
    assert says.inner_text().startswith(f"{total} of {total} removed documents")
    of = {row["doc_id"]: row["cluster"] for row in star_run.clusters.to_pylist()}
    for step, threshold in ((10, 0.8), (25, 0.95), (30, 1.0)):
        slider.fill(str(step))
        assert slider.get_attribute("aria-valuetext") == f"{threshold:g}"
        left = removed_from(star_run, threshold)
        found = {of[name] for name in left}
        assert says.inner_text().startswith(
            f"{len(left)} of {total} removed documents, in {len(found)} of {clusters} clusters"
        )
        assert f"--threshold {threshold:g}" in says.inner_text()
        assert one.status.startswith(f"{len(found)} of {clusters} clusters")
    # Of an open cluster, what is below is shown to be.
    slider.fill("0")
    one.show("family-07")
    shown = one.page.locator(".members tbody tr")
    slider.fill("20")
    for row in shown.all():
        name = row.locator(".id").first.inner_text()
        below = "below" in (row.get_attribute("class") or "")
        assert below == (name in removed_from(star_run, 0, 0.9)), name
    one.page.locator("#filters button").click()
    assert slider.input_value() == "0" and not one.page.locator("#filters").is_visible()
    # By keyboard.
    slider.focus()
    one.page.keyboard.press("ArrowRight")
    assert one.page.locator("#cutoff-value").inner_text() == "0.71"


def test_the_slider_shows_other_examples(
    visit: Callable[..., Visit], page_file: Path, star_run: DedupRun
) -> None:
    """Counts of the table, pairs of the open cluster, and which cluster is open."""
    one = visit(page_file)
    slider, heat = one.page.locator("#cutoff"), one.page.locator("[data-cell]")

    def total() -> int:
        return sum(int(text.replace(",", "")) for text in heat.all_inner_texts())

    assert total() == len(star_run.duplicates)
    one.show("family-07")
    similarity = one.page.locator(".pair .similarity")
    assert float(similarity.inner_text()) < 0.9
    slider.fill("20")
    left = removed_from(star_run, 0.9)
    assert total() == len(left)
    assert float(similarity.inner_text()) >= 0.9
    many = sum(name.startswith("family") for name in left)
    count = int(one.page.locator(".controls .quiet").inner_text().partition(" of ")[2])
    assert 0 < count <= many
    before = one.page.get_by_label("Pair before")
    while not before.is_disabled():
        before.click()
    for _ in range(count - 1):
        one.page.get_by_label("Next pair").click()
        assert float(similarity.inner_text()) >= 0.9
    assert one.page.get_by_label("Next pair").is_disabled()
    # Only exact copies are left: the first cluster with some is open.
    one.search("")
    slider.fill("30")
    assert one.page.locator("#rows [aria-current]").count() == 1
    assert "family" not in one.page.locator("#detail h3").inner_text()


def test_ids_that_are_not_listed_are_found(
    visit: Callable[..., Visit], tmp_path: Path, kernels: None
) -> None:
    body = " ".join(f"w{k}" for k in range(60))
    ids = [f"n{k:03}<img src=x onerror=window.__pwned=1>" for k in range(260)]
    texts = [f"{body} only{k}" for k in range(260)] + [f"{body[::-1]} {k}" for k in range(3)]
    ids += ["small-a", "small-b", "small-c"]
    run = dedup({"id": ids, "text": texts}, id="id", spec=spec(), progress=False)
    one = visit(run.report(tmp_path / "page.html", max_items=1))
    (large,) = one.data()["items"]
    name = large["more"][5][1]
    one.search(name)
    assert one.rows.count() == 1 and f"with {name}" in one.rows.first.inner_text()
    one.rows.first.click()
    more = one.page.locator("details.others")
    assert f"and {len(large['more'])} more documents" in more.inner_text()
    more.locator("summary").click()
    assert name in more.inner_text() and one.page.locator("img").count() == 0
    assert "A sample: " in one.page.locator(".sides").inner_text()
    rows = read(one.saved("Save as CSV"))
    assert sorted(row["doc_id"] for row in rows) == ids[:260]
    assert {row["duplicate_of"] for row in rows} == {"", ids[0]}
    # A cluster of which only ids are here.
    one.show("small-c")
    assert one.page.locator(".members tbody .id").all_inner_texts()[0] == "small-a"
    assert "Its texts are not in the page" in one.page.locator(".cluster-facts").inner_text()
    assert len(read(one.saved("Save as CSV"))) == 3
    # All of them are counted.
    assert one.page.locator("#cutoff-says").inner_text().startswith("261 of 261 removed")
    one.page.locator("#bars button:enabled").first.click()
    assert "261" not in one.page.locator("#status").inner_text()


def test_bars_open_their_documents(
    visit: Callable[..., Visit], page_file: Path, star_run: DedupRun
) -> None:
    one = visit(page_file)
    bars = one.page.locator("#bars button")
    histogram = one.data()["histogram"]
    assert bars.count() == len(histogram) <= 16
    for (low, high, number), bar in zip(histogram, bars.all(), strict=True):
        assert number == len(removed_from(star_run, low, high))
        label = bar.get_attribute("aria-label")
        assert label.endswith(f": {number} removed document{'' if number == 1 else 's'}")
        assert bar.is_disabled() == (number == 0)
    filled = [place for place, (_, _, number) in enumerate(histogram) if number]
    assert len(filled) > 3
    for place in (filled[0], filled[2], filled[-1]):
        bars.nth(place).click()
        assert bars.nth(place).get_attribute("aria-pressed") == "true"
        # The pair that is shown first is one of them.
        if one.page.locator(".compared").count():
            names = one.page.locator(".compared th").all_inner_texts()
            assert names[1] in removed_from(star_run, *histogram[place][:2])
        assert "Only" in one.page.locator("#filters").inner_text()
        bars.nth(place).click()
        assert bars.nth(place).get_attribute("aria-pressed") == "false"
    assert not one.page.locator("#filters").is_visible()


def test_the_table_of_a_column(
    visit: Callable[..., Visit], page_file: Path, star_run: DedupRun
) -> None:
    one = visit(page_file)
    heads = one.page.locator(".heat thead th").all_inner_texts()
    assert {"one", "two", "family", "other values"} <= set(heads)
    rows = {
        row.locator("th").inner_text(): row.locator("td").all_inner_texts()
        for row in one.page.locator(".heat tbody tr").all()
    }
    total = sum(int(cell) for cells in rows.values() for cell in cells if cell != "·")
    assert total == len(star_run.duplicates)
    assert rows["family"][heads.index("family")] == "29"
    crossed = rows["two"][heads.index("one")]
    cell = one.page.locator(".heat tbody tr").nth(list(rows).index("two")).locator("button").first
    assert cell.inner_text() == crossed
    cell.click()
    assert "two from one" in one.page.locator("#filters").inner_text()
    shown = one.page.locator("#rows .id").all_inner_texts()
    assert shown and all(name.startswith("pair-") for name in shown)
    # Together with the slider: only what both leave.
    one.page.locator("#cutoff").fill("30")
    assert one.page.locator("#filters button").count() == 2
    one.page.locator("#filters button", has_text="two from one").click()
    assert one.page.locator("#filters button").count() == 1


def test_review_by_keys_is_saved_and_read_by_evaluate(
    visit: Callable[..., Visit], page_file: Path, star_run: DedupRun, tmp_path: Path
) -> None:
    one = visit(page_file)
    one.page.select_option("#order", "lowest")
    one.rows.first.click()
    judged: list[tuple[list[str], str]] = []
    for key in "yynyny":
        judged.append((one.page.locator(".compared th").all_inner_texts(), key))
        one.page.keyboard.press(key)
    assert "6 pairs judged: 4 right, 2 wrong" in one.page.locator("#review").inner_text()
    # Keys that are typed into the search judge nothing.
    one.page.fill("#search", "")
    one.page.locator("#search").press_sequentially("yn")
    assert "6 pairs" in one.page.locator("#review").inner_text()
    rows = read(one.saved("Save review.csv"))
    assert [(r["id_a"], r["id_b"], r["duplicate"]) for r in rows] == [
        (a, b, "true" if key == "y" else "false") for (a, b), key in judged
    ]
    path = tmp_path / "review.csv"
    path.write_text(one.saved("Save review.csv"), encoding="utf-8")
    found = star_run.evaluate(path)
    assert found["judged"]["pairs"] == 6
    assert round(found["judged"]["precision"], 4) == round(4 / 6, 4)
    # What was judged is there again, and the same key takes it back.
    one.page.wait_for_timeout(500)  # another process of the browser stores it
    one.page.reload()
    assert "6 pairs judged" in one.page.locator("#review").inner_text()
    one.show(judged[2][0][1])
    one.page.locator(".members tr", has_text=judged[2][0][1]).get_by_text("Compare").click()
    wrong = one.page.get_by_text("✗ Wrong")
    assert wrong.get_attribute("aria-pressed") == "true"
    wrong.click()
    assert wrong.get_attribute("aria-pressed") == "false"
    assert "5 pairs judged: 4 right, 1 wrong" in one.page.locator("#review").inner_text()


@pytest.mark.parametrize(
    ("ids", "whole"),
    [
        (pa.array([2**63 + k for k in range(4)], pa.uint64()), True),
        (pa.array([f' "{k}", é\n' for k in range(4)]), True),
        (pa.array([f"n{k}".encode() for k in range(4)]), True),
        (pa.array([b"\xff%d" % k for k in range(4)]), False),
        (pa.array(["n" * 1200 + str(k) for k in range(4)]), False),
    ],
    ids=["uint64", "quotes", "bytes", "no text", "too long"],
)
def test_judgements_name_documents(
    visit: Callable[..., Visit], tmp_path: Path, kernels: None, ids: pa.Array[Any], whole: bool
) -> None:
    """Ids of all types are saved as `evaluate` knows them; without such ids, nothing is judged."""
    body = " ".join(f"w{k}" for k in range(40))
    texts = [f"{body} {k}" for k in range(4)]
    run = dedup(pa.table({"id": ids, "text": texts}), id="id", spec=spec(), progress=False)
    one = visit(run.report(tmp_path / "page.html"))
    one.page.keyboard.press("y")
    if not whole:
        assert one.page.locator("#review").is_hidden()
        assert one.page.locator(".judge, .save").count() == 0
        assert "pairs cannot be judged" in one.page.locator("#items .lead").inner_text()
        return
    path = tmp_path / "review.csv"
    path.write_text(one.saved("Save review.csv"), encoding="utf-8", newline="")
    found = run.evaluate(path)
    assert (found["judged"]["pairs"], found["judged"]["true"]) == (1, 1)


def test_judging_goes_on_to_the_next_cluster(visit: Callable[..., Visit], page_file: Path) -> None:
    one = visit(page_file)
    one.page.select_option("#order", "lowest")
    one.show("pair")
    seen = set()
    for _ in range(4):
        seen.add(one.page.url)
        one.page.get_by_text("✓ Right").click()
        assert one.page.locator(".sides").is_visible()
    assert len(seen) > 1
    assert one.page.evaluate("document.activeElement.closest('.sides') !== null")


def test_a_cluster_as_a_file(
    visit: Callable[..., Visit], page_file: Path, star_run: DedupRun
) -> None:
    one = visit(page_file)
    one.show("family-07")
    rows = read(one.saved("Save as CSV"))
    table: dict[str, Any] = {row["doc_id"]: row for row in star_run.clusters.to_pylist()}
    assert len(rows) == 30
    for row in rows:
        known = table[row["doc_id"]]
        assert row["kept"] == str(known["kept"]).lower()
        assert row["duplicate_of"] == (known["duplicate_of"] or "")
        assert row["title"] == f"Title {row['doc_id']}"
        assert row["text"] in ("", TEXTS[row["doc_id"]])
        if not known["kept"]:
            assert abs(float(row["similarity"]) - known["similarity"]) < 1e-4
    assert sum(row["text"] != "" for row in rows) > 10
    # Exact copies are one line in the page, and all of them in the file.
    one.show("copy-00")
    assert one.page.locator(".members tbody tr").count() == 1
    assert f"and {COPIES - 1} exact copies" in one.page.locator(".members").inner_text()
    assert len(read(one.saved("Save as CSV"))) == COPIES


def test_files_run_nothing_in_a_spreadsheet(
    visit: Callable[..., Visit], tmp_path: Path, kernels: None
) -> None:
    body = " ".join(f"w{k}" for k in range(40))
    texts = [f'=HYPERLINK("http://x") {body}', f"@SUM(A1) {body}", f'say "{body}"', f"-1 {body}"]
    run = dedup({"text": texts, "id": [f"={k}" for k in range(4)]}, id="id", threshold=0.5)
    one = visit(run.report(tmp_path / "page.html"))
    rows = read(one.saved("Save as CSV"))
    assert sorted(row["text"][:2] for row in rows) == ["'-", "'=", "'@", "sa"]
    # Ids are what other files know them by.
    assert sorted(row["doc_id"] for row in rows) == [f"={k}" for k in range(4)]


def test_many_copies_are_one_line(
    visit: Callable[..., Visit], tmp_path: Path, kernels: None
) -> None:
    text = " ".join(f"w{k}" for k in range(40))
    ids = [f"copy-{k:03}" for k in range(485)]
    run = dedup({"id": ids, "text": [text] * 485}, id="id", progress=False)
    one = visit(run.report(tmp_path / "page.html"))
    members = one.page.locator(".members")
    assert members.locator("tbody tr").count() == 1
    assert "and 484 exact copies" in members.inner_text()
    assert "and 285 more documents, by id, 285 of them copies" in members.inner_text()
    one.search("copy-480")
    assert "with copy-480" in one.rows.first.inner_text()
    assert len(read(one.saved("Save as CSV"))) == 485
