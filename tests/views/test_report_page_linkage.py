"""The page of a linkage in a real Chromium: pairs are judged and saved, clusters are searched."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from page_corpus import HOSTILE
from page_visit import Visit

import neardup

pytestmark = pytest.mark.long

FIELDS = ["name", "town"]
TOWNS = ("zebrafield", "oldbridge", "newmarket")


def people() -> pa.Table:
    """Persons with hostile names, each twice, with slips; ids are hostile too."""
    names = [f"person{k} {k * k}bell" for k in range(60)] + HOSTILE
    rows = []
    for k, name in enumerate(names):
        town = TOWNS[k % 3]
        rows.append({"id": f"a{k}<b>", "name": name, "town": town})
        rows.append({"id": f'b{k}",\u202e', "name": f"{name}s", "town": town if k % 4 else ""})
    return pa.Table.from_pylist(rows)


@pytest.fixture(scope="module")
def run(kernels: None) -> neardup.LinkRun:
    return neardup.link(people(), id="id", fields=FIELDS, progress=False)


@pytest.fixture(scope="module")
def page(run: neardup.LinkRun, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run.report(tmp_path_factory.mktemp("page") / "linkage.html")


def test_pairs_are_judged_and_saved_as_labels(
    visit: Callable[..., Visit], page: Path, tmp_path: Path
) -> None:
    one = visit(page)
    pairs = [item["pair"] for item in one.data()["items"] if item["pair"]]
    judged = []
    for key in "sds":
        heads = one.page.locator("#detail thead th").all_inner_texts()
        assert heads[0] == "field" and heads[3:] == ["similarity", "bits"]
        one.page.keyboard.press(key)
        judged.append("true" if key == "s" else "false")
    assert "3 pairs judged: 2 same, 1 different" in one.page.locator("#review").inner_text()
    saved = one.saved("Save labels.csv")
    rows = list(csv.DictReader(io.StringIO(saved)))
    wanted = [(*(id for _, id in pair), mark) for pair, mark in zip(pairs, judged, strict=False)]
    assert [tuple(row.values()) for row in rows] == wanted
    path = tmp_path / "labels.csv"
    path.write_text(saved, encoding="utf-8", newline="")
    again = neardup.link(people(), id="id", fields=FIELDS, labels=path, progress=False)
    assert again.explain(rows[0]["id_a"], rows[0]["id_b"])["known"] == "marked"
    # What was marked is there again, and the same button takes it back.
    one.page.wait_for_timeout(500)  # another process of the browser stores it
    one.page.reload()
    assert "3 pairs judged" in one.page.locator("#review").inner_text()
    one.rows.first.click()
    button = one.page.get_by_text("✓ Same")
    assert button.get_attribute("aria-pressed") == "true"
    button.click()
    assert "2 pairs judged: 1 same" in one.page.locator("#review").inner_text()


def test_the_last_pair_is_not_followed_by_a_cluster(
    visit: Callable[..., Visit], page: Path
) -> None:
    one = visit(page)
    last = max(k for k, item in enumerate(one.data()["items"]) if item["pair"])
    one.page.evaluate(f"location.hash = '#entry-{last}'")
    one.page.locator(f"#rows [data-item='{last}'][aria-current], #detail .judge").first.wait_for()
    one.page.keyboard.press("s")
    assert one.page.locator("#detail .judge").is_visible()
    assert one.page.url.endswith(f"#entry-{last}")


def test_clusters_are_searched_by_values(visit: Callable[..., Visit], page: Path) -> None:
    one = visit(page)
    one.page.select_option("#group", "1")
    one.search("PERSON7 zebrafield")
    assert one.rows.count() == 0
    one.search("PERSON7 oldbridge")
    one.rows.first.click()
    assert one.page.locator("#detail h3").inner_text().startswith("2 records like a7<b>")
    cells = one.page.locator("#detail tbody tr").first.locator("th, td").all_inner_texts()
    assert cells == ["a7<b>", "person7 49bell", "oldbridge"]
    assert one.page.locator("#detail .judge").count() == 0


def test_hostile_values_are_text(visit: Callable[..., Visit], page: Path) -> None:
    one = visit(page)
    for row in one.rows.all():
        row.click()
    made = one.page.evaluate("[...document.querySelectorAll('#panes *')].map((e) => e.tagName)")
    assert not {"SCRIPT", "IMG", "IFRAME", "A", "STYLE", "B"} & set(made)
    assert "\u202e" not in one.page.locator("body").inner_text()


@pytest.mark.parametrize(("width", "media"), [(390, "screen"), (1280, "screen"), (703, "print")])
def test_nothing_is_wider_than_the_page(
    visit: Callable[..., Visit], page: Path, width: int, media: str
) -> None:
    one = visit(page, viewport={"width": width, "height": 800})
    one.rows.first.click()
    one.page.emulate_media(media=media)
    assert one.page.evaluate("document.documentElement.scrollWidth") <= width
    if media == "print":
        assert not one.page.locator("button:visible, input:visible").count()
        assert one.page.locator(".example table").count() == 10


def test_without_values(visit: Callable[..., Visit], run: neardup.LinkRun, tmp_path: Path) -> None:
    path = run.report(tmp_path / "bare.html", texts=False)
    assert "zebrafield" not in path.read_text(encoding="utf-8")
    one = visit(path)
    heads = one.page.locator("#detail thead th").all_inner_texts()
    assert heads == ["field", "similarity", "bits"]
    one.page.keyboard.press("s")
    assert "1 pair judged" in one.page.locator("#review").inner_text()


def test_the_most_doubtful_pairs_come_first_and_marks_are_undone(
    visit: Callable[..., Visit], page: Path, run: neardup.LinkRun
) -> None:
    one = visit(page)
    verdict = one.page.locator(".verdict").inner_text()
    counts = run.summary["counts"]
    assert verdict.startswith(f"{counts['clusters']} groups of ") and "doubtful" in verdict
    pairs = [item["pair"] for item in one.data()["items"] if item["pair"]]
    candidates = {(row["id_a"], row["id_b"]): row for row in run.candidates.to_pylist()}
    log_odds = [candidates[pair[0][1], pair[1][1]]["log_odds"] for pair in pairs]
    assert [*map(abs, log_odds)] == sorted(map(abs, log_odds)) and len(pairs) >= 20
    assert "Taken for" in one.page.locator("#detail").inner_text()
    first = one.page.locator("#detail h3").inner_text()
    for key in "sdu":
        one.page.keyboard.press(key)
    assert "1 pair judged: 1 same, 0 different" in one.page.locator("#review").inner_text()
    assert one.page.locator("#detail h3").inner_text() != first
    one.page.get_by_text("Undo", exact=True).click()
    assert one.page.locator("#detail h3").inner_text() == first
    assert not one.page.locator("#review").is_visible()
    one.page.select_option("#order", "size")
    assert "records" in one.rows.first.inner_text()
    # Statistics are behind a heading, and on paper before the examples.
    assert not one.page.locator("#charts figure").first.is_visible()
    one.page.emulate_media(media="print")
    assert one.page.locator("#charts figure").first.is_visible()
    order = one.page.evaluate("[...document.querySelectorAll('main > section')].map((s) => s.id)")
    assert order.index("charts") < order.index("examples")


def test_a_pair_takes_a_third_of_a_sheet(
    visit: Callable[..., Visit], run: neardup.LinkRun, tmp_path: Path
) -> None:
    long = pa.table(
        {
            "id": ["a", "b", "c", "d"],
            "name": ["word " * 900 + end for end in ("x", "x y", "z", "q")],
            "more": ["other " * 900 + end for end in ("x", "x", "u", "w")],
        }
    )
    made = neardup.link(long, id="id", fields=["name", "more"], progress=False)
    one = visit(made.report(tmp_path / "long.html"), viewport={"width": 703, "height": 1000})
    one.page.emulate_media(media="print")
    one.page.locator(".example").first.wait_for()
    heights = one.page.evaluate(
        "[...document.querySelectorAll('.example')].map((e) => e.getBoundingClientRect().height)"
    )
    assert heights and max(heights) < 1017 / 3  # of A4 without its margins


def test_a_group_with_many_columns_fits_on_paper(
    visit: Callable[..., Visit], tmp_path: Path
) -> None:
    fields = [f"{name}_{k}" for k in range(7) for name in ("telephone", "day")]
    rows = [
        {"id": f"record-{k}", **{field: f"w{k // 3}x{field[-1]}" for field in fields}}
        for k in range(60)
    ]
    rows[0]["day_0"] = f"https://example.org/{'x' * 90}"
    made = neardup.link(rows, id="id", fields=fields, progress=False)
    one = visit(made.report(tmp_path / "wide.html"), viewport={"width": 703, "height": 1000})
    one.page.emulate_media(media="print")
    groups = one.page.locator(".example", has_text="Their first 10 columns.")
    assert groups.first.locator("thead th").count() == 10
    assert one.page.evaluate("document.documentElement.scrollWidth") <= 703
    lines = groups.first.locator("thead th").evaluate_all(
        "all => all.map((e) => e.getBoundingClientRect().height)"
    )
    assert max(lines) < 50  # two lines: names are broken after low lines only
