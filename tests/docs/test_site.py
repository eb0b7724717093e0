"""The documentation builds without a network, has every page, loads nothing from elsewhere."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

pytestmark = pytest.mark.long

ROOT = Path(__file__).parents[2]
pytest.importorskip("mkdocs")
pytest.importorskip("material")


class Page(HTMLParser):
    """What a page loads, what it links to, and the anchors that it has."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self.anchors.add(values.get("id", ""))
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        elif tag == "link" and values.get("rel") not in ("canonical", "prev", "next"):
            self.loads.append(values["href"])
        elif "src" in values:
            self.loads.append(values["src"])


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "-d", str(out)],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1", "http_proxy": "http://127.0.0.1:9"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return out


def test_every_page_is_there_and_leads_somewhere(site: Path) -> None:
    sources = {path.relative_to(ROOT / "docs") for path in (ROOT / "docs").rglob("*.md")}
    for source in sources:
        page = source.with_suffix(".html")
        if source.name == "README.md":  # the index of its folder
            page = source.with_name("index.html")
        assert (site / page).exists(), source
    pages = {path: Page(path) for path in site.rglob("*.html") if path.name != "404.html"}
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not target.is_relative_to(site) or re.search(r"\.\./(README|CHANGELOG|bench)", link):
                continue  # of the code, which the site is not part of
            assert target.exists(), f"{path.name}: {link}"
            if parts.fragment and target in pages:
                assert unquote(parts.fragment) in pages[target].anchors, f"{path.name}: {link}"


def test_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    for path in site.rglob("*.html"):
        for load in Page(path).loads:
            assert not urlsplit(load).netloc, f"{path.name}: {load}"
    for path in site.rglob("*.css"):
        for load in re.findall(r"url\(([^)]*)\)", path.read_text(encoding="utf-8")):
            assert not urlsplit(load.strip("\"'")).netloc, f"{path.name}: {load}"


def test_all_public_names_are_in_the_reference(site: Path) -> None:
    import neardup

    anchors = {a for page in (site / "reference").rglob("*.html") for a in Page(page).anchors}
    told = {anchor.rpartition(".")[2] for anchor in anchors}
    assert set(neardup.__all__) - {"__version__"} <= told


def test_every_parameter_is_documented(site: Path) -> None:
    """Arguments of the main calls show up with what is said of each, or on the page of options."""
    import inspect

    import neardup

    pages = [site / "reference" / f"{name}.html" for name in ("dedup", "options")]
    text = "".join(page.read_text(encoding="utf-8") for page in pages)
    for name in inspect.signature(neardup.dedup).parameters:
        assert f"<li><code>{name}</code>: " in text or f"<li><p><code>{name}</code>: " in text, name
