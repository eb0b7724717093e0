"""The page on paper: no backgrounds, nothing cut, no controls, ten examples with their texts."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from page_visit import Visit

from neardup.api.dedup import dedup

pytestmark = pytest.mark.long

#: Widths of A4 and Letter within the margins, in pixels of CSS.
PAPERS = {"A4": 703, "Letter": 725}
#: What is wider than the page, or than the box that it is in.
TOO_WIDE = """() => [...document.querySelectorAll('main *')].filter((e) =>
    e.getClientRects().length && e.getBoundingClientRect().right > innerWidth + 1
  ).map((e) => e.tagName + '.' + e.className).slice(0, 9)"""
#: Controls that are seen, but for numbers and labels of charts.
CONTROLS = """() => [...document.querySelectorAll('button, input, select, summary')].filter((e) =>
    e.checkVisibility() && !e.closest('#bars, .heat') && !e.matches('.fold')
  ).map((e) => e.textContent)"""


@pytest.mark.parametrize("paper", PAPERS)
def test_on_paper(visit: Callable[..., Visit], page_file: Path, paper: str) -> None:
    one = visit(page_file, viewport={"width": PAPERS[paper], "height": 1000})
    page = one.page
    page.emulate_media(media="print")
    assert page.evaluate(TOO_WIDE) == []
    assert page.evaluate(CONTROLS) == []
    for hidden in ("#items", "#charts", ".cutoff", ".top"):
        assert not page.locator(hidden).first.is_visible(), hidden
    # Bars are pictures, which are printed where backgrounds are not.
    assert page.locator("#bars svg rect").count() >= 3
    assert page.locator(".heat td").first.is_visible()
    examples = page.locator(".example")
    assert examples.count() == 10
    first = examples.first.inner_text()
    assert first.startswith("30 documents like ") and "similarity 0." in first
    assert all("zebrafinch" in text or "w" in text for text in examples.all_inner_texts())
    assert page.locator(".example del, .example ins").count() >= 10
    order = page.evaluate("[...document.querySelectorAll('h2')].map((h) => h.textContent)")
    assert order.index("How it was done") < order.index("Examples")
    assert page.pdf(format=paper, print_background=False).startswith(b"%PDF")
    page.emulate_media(media="screen")
    assert not page.locator("#examples").is_visible() and page.locator("#items").is_visible()


def bars_of(visit: Callable[..., Visit], texts: list[str], path: Path, **settings: Any) -> Visit:
    run = dedup(texts, shingle="word:1", threshold=settings.pop("threshold", 0.5))
    return visit(run.report(path), **settings)


def family(copies: int, near: int) -> list[str]:
    words = [f"w{k}" for k in range(40)]
    found = [" ".join(words)] * (copies + 1)
    return found + [" ".join([*words[:-1], f"x{k}"]) for k in range(near)]


def test_bars_have_one_scale_or_a_break(visit: Callable[..., Visit], tmp_path: Path) -> None:
    one = bars_of(visit, family(6, 3), tmp_path / "one.html")
    heights = one.page.evaluate(
        "[...document.querySelectorAll('#bars rect')].map((r) => Number(r.getAttribute('height')))"
    )
    assert heights == [50, 100] and one.page.locator("#broken").inner_text() == ""
    two = bars_of(visit, family(60, 3), tmp_path / "two.html")
    assert two.page.locator("#bars polygon").count() == 2
    assert "would be 20 times as high" in two.page.locator("#broken").text_content()


def test_labels_of_many_bars_on_a_telephone(visit: Callable[..., Visit], tmp_path: Path) -> None:
    size = {"width": 390, "height": 800}
    one = bars_of(visit, family(1200, 30), tmp_path / "a.html", viewport=size, threshold=0.3)
    for name in (".tick", ".number"):
        boxes = one.page.evaluate(
            """(name) => [...document.querySelectorAll('#bars ' + name)].filter((e) =>
              e.textContent && getComputedStyle(e).visibility === 'visible').map((e) => {
                const range = document.createRange();
                range.selectNodeContents(e);
                const { left, right } = range.getBoundingClientRect();
                return [left, right];
              })""",
            name,
        )
        assert all(a[1] <= b[0] + 0.5 for a, b in itertools.pairwise(boxes)), boxes
        assert boxes[-1][1] <= 390


def test_what_opens_first_has_differences(visit: Callable[..., Visit], tmp_path: Path) -> None:
    same = ["a b c d e f g h"] * 9
    one = bars_of(visit, [*same, *family(0, 2)], tmp_path / "page.html")
    assert one.page.locator("#detail h3").inner_text().startswith("3 documents like")
    assert one.rows.nth(0).inner_text().startswith("9")


def test_a_bound_that_says_nothing_is_left_out(visit: Callable[..., Visit], tmp_path: Path) -> None:
    words = [f"w{k}" for k in range(10)]
    texts = [" ".join(words), " ".join([*words[:6], "x1", "x2", "x3", "x4"])]
    one = bars_of(visit, texts, tmp_path / "page.html", threshold=0.3)
    facts = one.page.locator(".cluster-facts").inner_text()
    assert "0.429" in facts and "at least" not in facts


def test_words_are_apart_when_they_are_copied(visit: Callable[..., Visit], page_file: Path) -> None:
    one = visit(page_file)
    row = one.rows.first.text_content()
    assert "30 family-" in row and "1 kept 29 removed similarity" in row
    assert "Kept 1 Removed 29 Lowest" in one.page.locator(".cluster-facts").text_content()


def test_lists_that_scroll_show_it(visit: Callable[..., Visit], page_file: Path) -> None:
    one = visit(page_file, viewport={"width": 1280, "height": 500})
    for name in ("#rows", ".note", ".members .scroll"):
        image = one.page.locator(name).evaluate("(e) => getComputedStyle(e).backgroundImage")
        assert image.count("gradient") == 4, name


def test_long_texts_are_left_out_from_some_length_on(
    visit: Callable[..., Visit], tmp_path: Path
) -> None:
    texts = [
        " ".join(f"w{k}" if k % 9 or not number else f"{'long' * 9}{k}" for k in range(2000))
        for number in range(2)
    ]
    one = bars_of(visit, texts, tmp_path / "long.html", threshold=0.4)
    one.page.emulate_media(media="print")
    example = one.page.locator(".example")
    assert "The rest of both texts is left out on paper." in example.inner_text()
    assert 1200 < len(example.inner_text()) < 4000 and one.said == []
    # Two of them fit on a sheet of 1017 pixels, and the sheet may end after each.
    assert example.bounding_box()["height"] < 508
    ends = "(e) => getComputedStyle(e).breakAfter"
    assert one.page.locator(".rest").evaluate(ends) == "auto"
    assert one.page.locator(".example h3").evaluate(ends) == "avoid"
    # On the screen it is complete.
    one.page.emulate_media(media="screen")
    assert len(one.page.locator("#items").inner_text()) > 8000
