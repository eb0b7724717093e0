"""A page that is open in a browser, as the tests use it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from neardup.values.visible import visible

#: Charts for developers.
CHARTS = [
    "Clusters by number of documents",
    "Pairs found by similarity",
    "Pairs that share a bucket, by band",
    "Buckets by number of documents",
    "Time of each stage",
]


class Visit:
    """A page that is open, and what it said and asked for."""

    def __init__(self, browser: Any, path: Path, anchor: str = "", **settings: Any) -> None:
        self.context = browser.new_context(
            **{"viewport": {"width": 1280, "height": 900}, **settings}
        )
        self.url = path.as_uri()
        self.said: list[str] = []
        self.asked: list[str] = []
        # Nothing gets out, and all that tries is noted.
        self.context.route(lambda url: not url.startswith("file:"), self._refuse)
        self.page = self.context.new_page()
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("dialog", lambda dialog: (self.said.append("dialog"), dialog.dismiss()))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.goto(self.url + anchor)

    def _refuse(self, route: Any) -> None:
        self.asked.append(route.request.url)
        route.abort()

    @property
    def rows(self) -> Any:
        return self.page.locator("#rows button")

    @property
    def status(self) -> str:
        return str(self.page.locator("#status").inner_text())

    def search(self, query: str) -> None:
        """Search, and wait until the list is new."""
        self.page.evaluate("document.querySelector('#status').textContent = ''")
        self.page.fill("#search", query)
        self.page.locator("#status:not(:empty)").wait_for()

    def show(self, query: str) -> None:
        """Open the first cluster found."""
        self.search(query)
        self.rows.first.click()

    def unfold(self) -> None:
        """Show all equal words of the open cluster."""
        self.page.evaluate(
            """() => { let fold; while (fold = document.querySelector('#detail button.fold'))
                       fold.click(); }"""
        )

    def data(self) -> Any:
        return json.loads(self.page.locator("#data").text_content())

    def saved(self, label: str) -> str:
        """Press a button that saves a file; return its text."""
        with self.page.expect_download() as waiting:
            self.page.get_by_text(label, exact=True).click()
        return Path(waiting.value.path()).read_text(encoding="utf-8")

    def focused(self, what: str) -> Any:
        return self.page.evaluate(f"document.activeElement.{what}")

    def check(self) -> None:
        """Nothing was complained of, nothing was asked for, nothing hostile ran."""
        assert self.said == []
        assert {url.partition("#")[0] for url in self.asked if url[:5] != "blob:"} == {self.url}
        assert self.page.evaluate("typeof window.__pwned") == "undefined"


def plain(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()


def signs(text: str) -> str:
    """What the page shows of a text, without the frames of signs."""
    return plain(re.sub("⟨(U\\+[0-9A-F]+)⟩", r"\1", visible(text)))
