"""Texts and ids of strangers in a real Chromium: shown as text, and nothing of them runs."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from page_corpus import HOSTILE
from page_visit import TEXTS, Visit, plain, signs

import neardup


def test_hostile_texts_are_text(visit: Callable[..., Visit], page_file: Path) -> None:
    one = visit(page_file)
    detail = one.page.locator("#detail")
    for k, payload in enumerate(HOSTILE):
        one.show(f"hostile-{k}-a")
        assert signs(payload) in plain(detail.locator(".template .note").inner_text())
        names = detail.locator(".compared th").all_inner_texts()
        assert sorted(names) == [f"hostile-{k}-a", f"hostile-{k}-b"]
        texts = detail.locator(".compared tbody td").all_inner_texts()
        for name, shown in zip(names, (texts[::2], texts[1::2]), strict=True):
            assert plain("".join(shown)).replace(" ", "") == signs(TEXTS[name]).replace(" ", "")
        # All elements are of kinds that the script makes itself, without handlers or addresses.
        made = one.page.evaluate(
            """() => {
                const found = new Set();
                for (const e of document.querySelectorAll('#panes *')) {
                    found.add(e.tagName.toLowerCase());
                    for (const a of e.attributes) {
                        if (/^on|^href$|^src/.test(a.name)) found.add('!' + a.name);
                    }
                }
                return [...found];
            }"""
        )
        assert not {name for name in made if name.startswith("!")}
        assert not {"script", "img", "iframe", "svg", "a", "b", "style", "textarea"} & set(made)
    assert one.page.locator("script").count() == 2


def test_hostile_ids_are_text(visit: Callable[..., Visit], page_file: Path) -> None:
    one = visit(page_file)
    one.show("evil name")
    heading = one.page.locator("#detail h3")
    assert re.search("<b onmouseover=window.__pwned=1>id</b>U\\+202E[ab]", heading.inner_text())
    heading.locator(".id").hover()
    option = one.page.get_by_label("Text on the left").locator("option").first
    assert "\u202e" not in option.inner_text() and "U+202E" in option.inner_text()
    assert "\u202e" not in one.page.locator("body").inner_text()


def test_marks_of_direction_change_nothing_outside(
    visit: Callable[..., Visit], page_file: Path
) -> None:
    one = visit(page_file)
    one.show("hostile-15-a")
    isolated = one.page.evaluate(
        """() => [...document.querySelectorAll('#panes bdi, .compared td')]
            .every((e) => getComputedStyle(e).unicodeBidi.includes('isolate'))"""
    )
    assert isolated
    source = page_file.read_text(encoding="utf-8")
    assert not re.search("[\u202a-\u202e\u2066-\u2069\u200e\u200f\u2028\u2029\0]", source)


@pytest.fixture
def elsewhere() -> Iterator[tuple[str, list[str]]]:
    """The address of a server, and what it was asked for."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_error(404)

        def do_POST(self) -> None:
            self.do_GET()

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/", asked
        server.shutdown()
        thread.join()


def test_the_policy_forbids_everything_else(
    chromium: Any, page_file: Path, elsewhere: tuple[str, list[str]]
) -> None:
    """What an attacker would do, if any of it got in, is refused by the browser."""
    address, asked = elsewhere
    page = chromium.new_page()
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.goto(page_file.as_uri())
    policy = page.locator("meta[http-equiv]").get_attribute("content")
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy and "http" not in policy
    # Code that the browser is told to evaluate may itself evaluate, so the tries are made from a
    # timer, where the policy of the page holds.
    refused = page.evaluate(
        """(address) => new Promise((resolve) => setTimeout(async () => {
            const out = {};
            const tries = {
                fetch: () => fetch(address + 'fetch'),
                markup: () => { document.body.innerHTML = '<img src=x onerror=window.__pwned=1>'; },
                code: () => eval('window.__pwned=1'),
                maker: () => new Function('window.__pwned=1')(),
            };
            for (const [name, action] of Object.entries(tries)) {
                try { await action(); out[name] = false; } catch { out[name] = true; }
            }
            const add = (tag, attributes) => {
                const e = document.createElement(tag);
                for (const [name, value] of Object.entries(attributes)) {
                    try { e.setAttribute(name, value); } catch { /* refused, as it should be */ }
                }
                document.body.append(e);
            };
            add('img', { src: address + 'a.png' });
            add('iframe', { src: address });
            add('link', { rel: 'stylesheet', href: address + 'a.css' });
            add('object', { data: address + 'object' });
            add('video', { src: address + 'video' });
            add('div', { onclick: 'window.__pwned=1', id: 'bait' });
            document.getElementById('bait').click();
            new Image().src = address + 'b.png';
            navigator.sendBeacon(address + 'beacon');
            setTimeout(() => resolve(out), 500);
        }))""",
        address,
    )
    assert refused == {"fetch": True, "markup": True, "code": True, "maker": True}
    assert asked == []
    assert page.evaluate("typeof window.__pwned") == "undefined"
    for what in ("connect-src", "img-src", "frame-src", "style-src", "TrustedScript"):
        assert any(what in line for line in said), what
    # The server does hear those whom no policy holds back.
    page.goto(address)
    assert asked and asked[0] == "/"
    page.close()


def test_names_of_files_and_columns_are_text(
    visit: Callable[..., Visit], tmp_path: Path, kernels: None
) -> None:
    evil = "</script><script>window.__pwned=1<img src=x onerror=window.__pwned=1>\u202e\u2028\"'"
    notes = tmp_path / f"{evil.replace('/', '')}.jsonl"
    notes.write_text("".join(json.dumps({evil: f"word{k}", "id": k}) + "\n" for k in (1, 1, 2)))
    spec = neardup.Spec(keep=f"max:{evil}")
    neardup.dedup_files(notes, tmp_path / "run", text=evil, spec=spec)
    neardup.write_report(tmp_path / "run", tmp_path / "page.html")
    one = visit(tmp_path / "page.html")
    assert "<img src=x onerror=window.__pwned=1>" in one.page.locator("h1").inner_text()
    assert signs(evil) in plain(one.page.locator("#method").inner_text()).replace("⟨", "").replace(
        "⟩", ""
    )
    assert one.page.locator("img, iframe, body svg [onload]").count() == 0
    assert not re.search("[\u202a-\u202e\u2028]", (tmp_path / "page.html").read_text("utf-8"))
