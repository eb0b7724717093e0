"""The list of clusters in a real Chromium: searched, sorted, paged, by keyboard, by address."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from page_corpus import TEXTS
from page_visit import Visit, plain


def test_search(visit: Callable[..., Visit], page_file: Path) -> None:
    one = visit(page_file)
    of = len(one.data()["items"])
    # By id.
    one.search("family-07")
    assert one.status.startswith(f"1 of {of} clusters")
    assert one.rows.count() == 1
    assert not one.page.locator("#pages").is_visible()
    # By text, in any case, over white space; terms are marked in the piece that is shown.
    sentence = plain(TEXTS["chain-2"].splitlines()[3])
    one.search(f'"{sentence.upper()}"')
    assert "chain" in one.rows.first.inner_text()
    assert one.page.locator("#rows mark").first.inner_text().lower() in sentence
    # All terms must be there; order does not matter.
    first, second = sentence.split()[:2]
    one.search(f"{second} {first} chain-2")
    assert one.rows.count() >= 1
    one.search("chain-2 nowhere-to-be-found")
    assert one.rows.count() == 0
    assert one.status.startswith(f"0 of {of} clusters")
    one.page.press("#search", "Escape")
    assert one.page.input_value("#search") == ""
    assert one.status.startswith(f"{of} clusters")
    one.search("<script>")
    assert one.rows.count() >= 3
    # Columns that are shown are searched too.
    one.search('"Title family-07"')
    assert one.rows.count() == 1


@pytest.mark.long
def test_sort_and_pages(visit: Callable[..., Visit], path_file: Path) -> None:
    one = visit(path_file)
    clusters = one.data()["items"]
    keys: dict[str, Callable[[dict[str, Any]], Any]] = {
        "size": lambda c: -c["documents"],
        "lowest": lambda c: c["lowest"],
        "steps": lambda c: -c["steps"],
        "input": lambda c: 0,
    }
    assert set(keys) == {
        option.get_attribute("value") for option in one.page.locator("#order option").all()
    }
    for order, key in keys.items():
        one.page.select_option("#order", order)
        wanted = [str(c["cluster"]) for c in sorted(clusters, key=lambda c: (key(c), c["cluster"]))]
        seen: list[str] = []
        while True:
            seen += one.rows.evaluate_all("rows => rows.map((row) => row.dataset.item)")
            following = one.page.get_by_label("Next page")
            if following.is_disabled():
                break
            following.click()
        assert seen == wanted, order
    one.page.get_by_label("First page").click()
    assert one.page.locator("#pages").inner_text().count("1 of ") == 1
    # The chain has the longest path, and says so.
    one.page.select_option("#order", "steps")
    assert "path of" in one.rows.first.inner_text()


@pytest.mark.long
def test_keyboard_alone(visit: Callable[..., Visit], page_file: Path) -> None:
    one = visit(page_file)
    keys = one.page.keyboard

    focused = one.focused
    keys.press("Tab")
    assert focused("textContent") == "Skip to the clusters"
    assert one.page.evaluate("document.activeElement.getBoundingClientRect().top >= 0")
    keys.press("Enter")
    assert focused("id") == "items"
    keys.press("Tab")
    assert focused("id") == "search"
    one.page.evaluate("document.activeElement.blur()")
    keys.press("/")
    assert focused("id") == "search" and one.page.input_value("#search") == ""
    keys.press("ArrowDown")
    first = focused("dataset.item")
    keys.press("ArrowDown")
    second = focused("dataset.item")
    labels = [row.get_attribute("data-item") for row in one.rows.all()]
    assert [first, second] == labels[:2]
    # What has the focus is seen to have it.
    outline = one.page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert outline not in ("none", "")
    keys.press("End")
    assert focused("dataset.item") == labels[-1]
    keys.press("ArrowDown")
    assert one.page.locator("#pages").inner_text().count("2 of ") == 1
    keys.press("ArrowUp")
    assert focused("dataset.item") == labels[-1]
    keys.press("PageDown")
    keys.press("PageUp")
    keys.press("Home")
    assert focused("dataset.item") == labels[0]
    keys.press("Enter")
    assert focused("tagName") == "H3"
    assert one.page.locator("#detail section").count() == 3
    assert one.page.url.endswith(f"#cluster-{first}")
    # Everything in it can be reached.
    reached = set()
    for _ in range(80):
        keys.press("Tab")
        inside = one.page.evaluate(
            "document.querySelector('#detail').contains(document.activeElement)"
        )
        if not inside:
            break
        reached.add(focused("tagName"))
    assert {"BUTTON", "DIV"} <= reached
    keys.press("Escape")
    assert one.page.locator("#detail section").count() == 0
    assert focused("dataset.item") == first
    # Only one row is a stop of Tab.
    assert one.page.locator("#rows button[tabindex='0']").count() == 1


def test_the_first_cluster_is_open(visit: Callable[..., Visit], page_file: Path) -> None:
    one = visit(page_file)
    first = one.rows.first
    assert first.get_attribute("aria-current") == "true"
    assert first.locator(".id").inner_text() in one.page.locator("#detail h3").inner_text()
    # Nothing has moved there.
    assert one.focused("tagName") == "BODY" and "#" not in one.page.url
    assert one.page.evaluate("scrollY") == 0
    # Where the list and a cluster are not next to each other, the list is seen first.
    narrow = visit(page_file, viewport={"width": 390, "height": 800})
    assert narrow.page.locator("#detail h3").count() == 0
    assert narrow.rows.first.is_visible()


@pytest.mark.long
def test_an_address_opens_its_cluster(visit: Callable[..., Visit], page_file: Path) -> None:
    one = visit(page_file, "#<img src=x onerror=window.__pwned=1>")
    assert one.rows.count() > 0
    label = one.data()["items"][3]["cluster"]
    one.page.evaluate(f"location.hash = '#cluster-{label}'")
    one.page.locator(f"#rows [data-item='{label}'][aria-current]").wait_for()
    assert one.page.locator("#detail h3").count() == 1
    one.page.reload()
    assert one.page.locator(f"#rows [data-item='{label}'][aria-current]").count() == 1
    other = visit(page_file, "#cluster-99999999")
    assert other.rows.first.get_attribute("aria-current") == "true"
