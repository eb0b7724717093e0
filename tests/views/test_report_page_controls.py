"""Filters, orders, keys and the button Copy of every page, used in a real Chromium."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from page_visit import Visit, plain

import neardup

pytestmark = pytest.mark.long

Rows = list[dict[str, Any]]
#: Of each page, what its list can be sorted by, and of the first row then a part.
ORDERS = {
    "dedup": {"size": "4", "lowest": "similarity from 0.", "input": "d0"},
    "against": {"first": "d3", "source": "d3", "input": "d0"},
    "decontaminate": {"first": "d8", "source": "test item q0", "input": "d0"},
    "link": {"doubt": "score 0.", "size": "3 records", "similarity": "similarity 0."},
}


def documents() -> Rows:
    """Twelve documents of three families, of two sources; each differs from the one before."""
    words = [[f"w{family}x{k}" for k in range(40)] for family in range(3)]
    found: Rows = []
    for k in range(12):
        text = [*words[k // 4][: 40 - k % 4], *(f"other{k}{j}" for j in range(k % 4))]
        found.append({"id": f"d{k}", "text": " ".join(text), "source": ("web", "books")[k % 2]})
    return found


def items() -> Rows:
    """A test item of each family, the last one the longest."""
    texts = (documents()[4 * k]["text"].split()[: 12 + 8 * k] for k in range(3))
    return [{"id": f"q{k}", "text": " ".join(text)} for k, text in enumerate(texts)]


def people() -> Rows:
    """Forty persons of two towns; some have two or three records."""
    found: Rows = []
    for k in range(40):
        for copy in range(1 + (k < 20) + (k < 3)):
            name = f"person{k} {k * k}bell{'s' * copy}"
            found.append({"id": f"p{k}-{copy}", "name": name, "town": ("york", "bath")[k % 2]})
    return found


@pytest.fixture(scope="module")
def pages(kernels: None, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    how: dict[str, Any] = {"id": "id", "progress": False}
    old = [{"id": f"old{k}", "text": documents()[4 * k]["text"]} for k in range(3)]
    runs = {
        "dedup": neardup.dedup(documents(), **how),
        "against": neardup.against(documents(), old, **how),
        "decontaminate": neardup.decontaminate(documents(), items(), test_id="id", **how),
    }
    found = {
        name: run.report(folder / f"{name}.html", show=["source"]) for name, run in runs.items()
    }
    linked = neardup.link(people(), fields=["name", "town"], **how)
    return {**found, "link": linked.report(folder / "link.html")}


def texts(one: Visit) -> list[str]:
    return [plain(text) for text in one.rows.all_inner_texts()]


@pytest.mark.parametrize("name", ORDERS)
def test_orders(visit: Callable[..., Visit], pages: dict[str, Path], name: str) -> None:
    one = visit(pages[name])
    there = one.page.locator("#order option").evaluate_all("all => all.map((it) => it.value)")
    assert [order for order in there if not order.startswith("column")] == [*ORDERS[name]]
    for order, first in ORDERS[name].items():
        one.page.select_option("#order", order)
        assert first in texts(one)[0], order


@pytest.mark.parametrize(("name", "column"), [("against", "source"), ("decontaminate", "source")])
def test_a_filter_leaves_rows_of_its_value(
    visit: Callable[..., Visit], pages: dict[str, Path], name: str, column: str
) -> None:
    one = visit(pages[name])
    of = {row["id"]: row[column] for row in documents()}
    chosen = f"select[data-column='{column}']"
    every = len(texts(one))
    shown = 0
    for value in ("web", "books"):
        one.page.select_option(chosen, value)
        found = texts(one)
        ids = [next(word for word in text.split() if word in of) for text in found]
        assert ids and {of[id] for id in ids} == {value}
        assert one.status.startswith(f"{len(found)} of {every} ")
        shown += len(found)
    assert shown == every
    one.page.select_option(chosen, "")
    one.page.select_option("#order", "column 0")
    ids = [next(word for word in text.split() if word in of) for text in texts(one)]
    assert [of[id] for id in ids] == sorted(of[id] for id in ids)


def test_pairs_and_groups_are_filtered(visit: Callable[..., Visit], pages: dict[str, Path]) -> None:
    one = visit(pages["link"])
    one.page.select_option("#group", "1")
    every = len(texts(one))
    assert every == 20 and all("records" in text for text in texts(one))
    one.page.select_option("select[data-column='town']", "bath")
    assert len(texts(one)) == 10 and all("bath" in text for text in texts(one))
    one.search("person3 bath")
    assert len(texts(one)) == 1 and texts(one)[0].startswith("p3-0")


@pytest.mark.parametrize("name", ORDERS)
def test_keys(visit: Callable[..., Visit], pages: dict[str, Path], name: str) -> None:
    one = visit(pages[name], viewport={"width": 1280, "height": 600})
    keys, rows = one.page.keyboard, len(texts(one))
    keys.press("/")
    assert one.focused("id") == "search"
    keys.press("ArrowDown")
    keys.press("ArrowDown")
    assert one.focused("textContent") == one.rows.nth(1).text_content()
    keys.press("End")
    assert one.focused("textContent") == one.rows.nth(rows - 1).text_content()
    keys.press("Enter")
    assert one.focused("tagName") == "H3" and one.rows.nth(rows - 1).get_attribute("aria-current")
    keys.press("Escape")
    assert one.focused("textContent") == one.rows.nth(rows - 1).text_content()
    assert not one.page.locator("#detail h3").count()


def test_the_list_follows_marks(visit: Callable[..., Visit], pages: dict[str, Path]) -> None:
    one = visit(pages["link"], viewport={"width": 1280, "height": 700})
    for key in "sd" * 5:
        one.page.keyboard.press(key)
    # Both at one moment: the page scrolls smoothly.
    row, box = one.page.evaluate(
        """() => ['[aria-current]', '#rows'].map((name) => {
            const { top, bottom } = document.querySelector(name).getBoundingClientRect();
            return [top, bottom];
        })"""
    )
    assert box[0] <= row[0] + 1 and row[1] <= box[1] + 1


@pytest.mark.parametrize("name", ORDERS)
def test_the_methods_are_copied(
    visit: Callable[..., Visit], pages: dict[str, Path], name: str
) -> None:
    one = visit(pages[name])
    one.context.grant_permissions(["clipboard-read", "clipboard-write"])
    one.page.click("#copy")
    one.page.get_by_text("Copied", exact=True).wait_for()
    copied = one.page.evaluate("navigator.clipboard.readText()").splitlines()
    shown = one.page.locator("#paragraph p").all_inner_texts()
    assert [*map(plain, copied)] == [*map(plain, shown)]
    assert copied[0].startswith("With neardup ") and copied[1].startswith("[1] ")


def test_what_may_not_be_copied_is_selected(
    visit: Callable[..., Visit], pages: dict[str, Path]
) -> None:
    one = visit(pages["dedup"])
    one.page.evaluate("() => { navigator.clipboard.writeText = () => Promise.reject(); }")
    one.page.click("#copy")
    one.page.wait_for_function("getSelection().toString().includes('With neardup')")
    assert one.page.locator("#copy").inner_text() == "Copy"
