"""Two texts on a terminal and as a page: marked, folded, and harmless."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from page_corpus import HOSTILE
from page_visit import Visit, plain

from neardup.views.compared import ComparedView, page, render
from neardup.views.view import Row

LONG = " ".join(f"w{k}" for k in range(200))
PAIR = ComparedView(
    "a and b are near-duplicates.",
    (Row("similarity", remark="0.9 of word:5 shingles"), Row("note", remark="see it")),
    ("a", "b"),
    (f"{LONG} seen on\nMonday, {LONG}", f"{LONG} seen on Friday {LONG}"),
)


def test_differences_are_marked_and_the_rest_is_folded() -> None:
    whole = render(PAIR)
    assert whole.splitlines()[:3] == [
        "a and b are near-duplicates.",
        "similarity  0.9 of word:5 shingles",
        "note        see it",
    ]
    assert "[-Monday-]{+Friday+}" in whole and "words ...]" not in whole
    # The line end that one has and the other has not is no difference.
    assert whole.count("[-") == 2 and whole.count("{+") == 2  # once in the legend
    short = render(PAIR, context=2)
    assert "seen on [-Monday-]{+Friday+} w0 w1 \n[..." in short
    assert short.count("equal words ...]") == 2
    assert "w100" not in short
    in_colour = render(PAIR, colour=True, context=2)
    assert "\x1b[9;31mMonday\x1b[0m\x1b[4;32mFriday\x1b[0m" in in_colour


def test_texts_that_differ_in_nothing() -> None:
    same = ComparedView("same", (), ("a", "b"), ("one two", "one\ttwo"))
    assert render(same) == "same\n\none two"
    assert "<del>" not in page(same, 3)
    alone = ComparedView("one", (Row("x", remark="y"),), ("a",), ("text",))
    assert render(alone).endswith("\n\ntext")
    assert render(ComparedView("none", (), ("a", "b"))) == "none"


def test_strangers_do_nothing_to_a_terminal() -> None:
    view = ComparedView(
        "h\x1b[2J\u202e", (Row("f", remark="\x07"),), ("n",), ("\x1b]0;title\x07 a", "\x9b31m b")
    )
    for colour in (False, True):
        shown = render(view, colour)
        assert not re.search("[\x00-\x09\x0b-\x1a\x1c-\x1f\x7f-\x9f\u202e]", shown)
        assert not re.search(r"\x1b(?!\[(9;31|4;32|0)m)", shown)


def test_a_page_of_hostile_texts(visit: Callable[..., Visit], tmp_path: Path) -> None:
    notes = tuple(Row(payload, remark=payload) for payload in HOSTILE)
    every = " ".join(HOSTILE)
    source = page(ComparedView(every, notes, (every, "b"), (f"x {every} y {LONG}", f"x {LONG}")), 3)
    assert not re.search("[\u202a-\u202e\u2066-\u2069\u200e\u200f\u2028\u2029\0\x1b]", source)
    assert "default-src &#39;none&#39;" in source and "script-src" not in source
    path = tmp_path / "pair.html"
    path.write_text(source, encoding="utf-8")
    one = visit(path)
    assert one.page.locator("script, img, svg, iframe, a, b").count() == 0
    assert one.page.locator("del").count() == 1
    assert one.page.locator("dt").all_inner_texts()[:3] == HOSTILE[:3]


def test_a_page_unfolds_without_a_script(visit: Callable[..., Visit], tmp_path: Path) -> None:
    path = tmp_path / "pair.html"
    path.write_text(page(PAIR, 3), encoding="utf-8")
    for width in (390, 1280):
        one = visit(path, viewport={"width": width, "height": 800}, java_script_enabled=True)
        assert one.page.evaluate("document.documentElement.scrollWidth") <= width
        assert one.page.locator("del").inner_text() == "Monday"
        assert "w100" not in one.page.locator(".note").first.inner_text()
        one.page.locator("summary").first.click()
        shown = plain(one.page.locator(".note").first.inner_text())
        assert "w99 w100 w101" in shown
