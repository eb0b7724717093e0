"""How the page looks in a real Chromium: bars, colours, paper, and pictures to be looked at."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from page_visit import CHARTS, Visit

from neardup.api.dedup import dedup
from neardup.api.finished.runs import DedupRun

pytestmark = pytest.mark.long


@pytest.mark.parametrize("width", [1280, 390])
def test_charts_for_developers(
    visit: Callable[..., Visit], page_file: Path, star_run: DedupRun, width: int
) -> None:
    page = visit(page_file, viewport={"width": width, "height": 900}).page
    page.locator("#charts summary").click()
    names = [text.rstrip(".") for text in page.locator("#charts strong").all_inner_texts()]
    assert names == CHARTS
    for number, figure in enumerate(page.locator("#charts figure").all()):
        box = figure.bounding_box()
        assert box["x"] >= 0 and box["x"] + box["width"] <= width
        bars = figure.locator("rect").evaluate_all("all => all.map((e) => e.width.baseVal.value)")
        assert bars and min(bars) >= 0 and 99 < max(bars) <= 100, CHARTS[number]
    shown = page.locator("#charts figure").nth(2).locator("td.value-cell").all_inner_texts()
    assert [int(text) for text in shown] == star_run.summary["candidates_by_band"]
    observed = page.locator("#charts figure").nth(1).inner_text()
    assert "observed" in observed  # by the audit of this run


@pytest.mark.parametrize(("width", "height"), [(1280, 900), (390, 844)])
def test_screenshots(
    visit: Callable[..., Visit], page_file: Path, tmp_path: Path, width: int, height: int
) -> None:
    """Pictures to be looked at; nothing in them sticks out, and all of it can be read."""
    folder = Path(os.environ.get("NEARDUP_SCREENSHOTS", tmp_path))
    folder.mkdir(parents=True, exist_ok=True)
    size = {"width": width, "height": height}
    one = visit(
        page_file,
        viewport=size,
        has_touch=width < 500,
        is_mobile=width < 500,
        reduced_motion="reduce",  # no colour is on its way to another one
    )

    def shoot(name: str, whole: bool = False) -> None:
        assert one.page.evaluate("document.documentElement.scrollWidth") <= width
        for scheme in ("light", "dark"):
            one.page.emulate_media(color_scheme=scheme)
            path = folder / f"{name}-{width}-{scheme}.png"
            one.page.screenshot(path=path, full_page=whole)
            assert path.stat().st_size > 10_000
            assert one.page.evaluate(CONTRAST) == []
        if width < 500:
            assert one.page.evaluate(SMALL) == []

    shoot("page", whole=True)
    one.show("family-07")
    one.page.locator(".slot").first.click()
    one.page.keyboard.press("y")
    shoot("cluster", whole=True)
    one.page.locator(".sides").scroll_into_view_if_needed()
    shoot("sides")
    one.page.locator("#cutoff").fill("12")
    one.page.locator("#bars button:enabled").last.click()
    one.page.locator("#found").scroll_into_view_if_needed()
    shoot("found")
    if width < 500:
        # One after the other: the cluster takes the place of the list, and gives it back.
        assert not one.page.locator("#rows").is_visible()
        one.page.locator("#items").scroll_into_view_if_needed()
        one.page.get_by_label("Close this cluster").click()
        assert one.page.locator("#rows").is_visible()
        assert not one.page.locator("#detail").is_visible()


#: What a finger can hardly hit: targets of less than 44 pixels, or of 24 within a text (WCAG 2.5).
SMALL = """() => [...document.querySelectorAll('a, button, select, input:not([type=checkbox])')]
    .filter((e) => e.offsetParent && !e.matches('.skip'))
    .map((e) => [e.matches('.slot, .fold, .bar-button') ? 24 : 44, e])
    .map(([least, e]) => [least, e.getBoundingClientRect(), e.outerHTML])
    .filter(([least, box]) => Math.round(Math.min(box.width, box.height)) < least)
    .map(([, , source]) => source.slice(0, 80))"""

#: Texts whose contrast with what is behind them is below 4.5, as WCAG 2 (1.4.3) counts it.
CONTRAST = """() => {
    const colour = (text) => text.match(/[\\d.]+/g).map((n, k) =>
        Number(n) * (text.startsWith('color(srgb') && k < 3 ? 255 : 1));
    const light = ([r, g, b]) => {
        const [x, y, z] = [r, g, b].map((c) => c / 255)
            .map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
        return 0.2126 * x + 0.7152 * y + 0.0722 * z;
    };
    const bad = [];
    const seen = new Set();
    for (const e of document.querySelectorAll('body *')) {
        if (e.closest('svg, .below') || e.disabled || !e.offsetParent) continue;
        if (![...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim())) continue;
        const style = getComputedStyle(e);
        let behind = e;
        while (behind && colour(getComputedStyle(behind).backgroundColor)[3] === 0) {
            behind = behind.parentElement;
        }
        const ground = behind ? getComputedStyle(behind).backgroundColor : 'rgb(255,255,255)';
        const [a, b] = [light(colour(style.color)), light(colour(ground))].sort((x, y) => y - x);
        const ratio = (a + 0.05) / (b + 0.05);
        const name = e.tagName + '.' + e.className + ' ' + ratio.toFixed(2);
        if (ratio < 4.5 && !seen.has(name)) bad.push(name);
        seen.add(name);
    }
    return bad;
}"""


def test_long_ids_and_words_break(
    visit: Callable[..., Visit], tmp_path: Path, kernels: None
) -> None:
    notes = tmp_path / ("long" * 50 + ".jsonl")
    rows = [{"id": "n" * 300 + str(k), "text": "w" * 4000 + f" and {k // 2}"} for k in range(4)]
    notes.write_text("".join(json.dumps(row) + "\n" for row in rows))
    run = dedup(notes, out=tmp_path / "run", id="id", preset="records", progress=False)
    run.report(tmp_path / "page.html")
    for width in (390, 1280):
        page = visit(tmp_path / "page.html", viewport={"width": width, "height": 844}).page
        page.locator("#rows button").first.click()
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        for summary in page.locator(".copies summary").all():
            summary.click()
        # What was cut out of an id is its middle: ends tell ids apart.
        names = page.locator(".members tbody th .id").all_inner_texts()
        assert len(set(names)) == len(names) == 4
        # No column of the table is pushed out by the ids in it.
        assert page.evaluate(
            """() => { const box = document.querySelector('.members .scroll');
                       return box.scrollWidth <= box.clientWidth; }"""
        )


def test_colours_can_be_chosen(visit: Callable[..., Visit], page_file: Path) -> None:
    one = visit(page_file, color_scheme="light")

    def ground() -> float:
        text = one.page.evaluate("getComputedStyle(document.body).backgroundColor")
        return float(np.mean([int(n) for n in re.findall(r"\d+", text)[:3]]))

    assert ground() > 200
    found = [ground()]
    for _ in range(3):
        one.page.locator("#theme").click()
        found.append(ground())
    # Light as the system is, light, dark, and again as the system is.
    assert [value > 200 for value in found] == [True, True, False, True]
    one.page.emulate_media(color_scheme="dark")
    assert ground() < 60


def test_paper_and_calm(visit: Callable[..., Visit], page_file: Path) -> None:
    one = visit(page_file, color_scheme="dark", reduced_motion="reduce")
    calm = "getComputedStyle(document.documentElement).scrollBehavior"
    assert one.page.evaluate(calm) == "auto"
    one.show("family-07")
    one.page.emulate_media(media="print", color_scheme="dark")
    assert one.page.evaluate("getComputedStyle(document.body).color") == "rgb(27, 31, 36)"
    for hidden in (".top", ".tools", ".close", "#pages"):
        assert not one.page.locator(hidden).is_visible(), hidden
    for shown in (".facts", ".example .compared", ".bars", ".steps"):
        assert one.page.locator(shown).first.is_visible(), shown
    assert one.page.pdf().startswith(b"%PDF")
