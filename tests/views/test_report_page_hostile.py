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
from page_corpus import HOSTILE, TEXTS
from page_visit import Visit, plain, signs

from neardup.api.dedup import dedup

#: What an open cluster shows, and what it is made of.
SHOWN = """() => {
    const texts = (selector) =>
        [...document.querySelectorAll('#detail ' + selector)].map((e) => e.innerText);
    const made = [...document.querySelectorAll('#panes *:not(.bar, .bar *), .heat *')];
    const names = made.flatMap((e) => [...e.attributes].map((a) => a.name));
    return {
        template: texts('.template .note')[0],
        names: texts('.compared th'),
        texts: [1, 2].map((n) => texts(`.compared tbody td:nth-child(${n})`).join('')),
        elements: [...new Set(made.map((e) => e.tagName.toLowerCase()))],
        attributes: names.filter((name) => /^on|^href$|^src/.test(name)),
    };
}"""


@pytest.mark.long
def test_hostile_texts_are_text(visit: Callable[..., Visit], page_file: Path) -> None:
    one = visit(page_file)
    for k, payload in enumerate(HOSTILE):
        one.show(f"hostile-{k}-a")
        one.unfold()
        shown = one.page.evaluate(SHOWN)
        assert signs(payload) in plain(shown["template"])
        assert sorted(shown["names"]) == [f"hostile-{k}-a", f"hostile-{k}-b"]
        for name, text in zip(shown["names"], shown["texts"], strict=True):
            assert plain(text).replace(" ", "") == signs(TEXTS[name]).replace(" ", "")
        # All elements are of kinds that the script makes itself, without handlers or addresses.
        assert shown["attributes"] == []
        forbidden = {"script", "img", "iframe", "svg", "a", "b", "style", "textarea"}
        assert not forbidden & set(shown["elements"])
    assert one.page.locator("script").count() == 2


@pytest.mark.long
def test_hostile_ids_are_text(visit: Callable[..., Visit], page_file: Path) -> None:
    one = visit(page_file)
    one.show("evil name")
    heading = one.page.locator("#detail h3")
    assert re.search("<b onmouseover=window.__pwned=1>id</b>U\\+202E[ab]", heading.inner_text())
    heading.locator(".id").hover()
    assert "\u202e" not in one.page.locator("body").inner_text()
    # A file has them as they are: nothing looks at it but programs.
    saved = one.saved("Save as CSV")
    assert '"<b onmouseover=window.__pwned=1>id</b>\u202ea"' in saved


@pytest.mark.long
def test_marks_of_direction_change_nothing_outside(
    visit: Callable[..., Visit], page_file: Path
) -> None:
    one = visit(page_file)
    one.show("hostile-15-a")
    isolated = one.page.evaluate(
        """() => [...document.querySelectorAll('#panes bdi, .compared td[dir]')]
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


@pytest.mark.long
def test_names_of_files_and_columns_are_text(
    visit: Callable[..., Visit], tmp_path: Path, kernels: None
) -> None:
    evil = "</script><script>window.__pwned=1<img src=x onerror=window.__pwned=1>\u202e\u2028\"'"
    notes = tmp_path / f"{evil.replace('/', '')}.jsonl"
    text = " ".join(f"word{k}" for k in range(20))
    rows = ({evil: f"{text} {k // 2}", "id": k, f"{evil}2": evil} for k in (1, 2, 3))
    notes.write_text("".join(json.dumps(row) + "\n" for row in rows))
    run = dedup(notes, text=evil, keep=f"max:{evil}", out=tmp_path / "run", progress=False)
    columns = {"show": [f"{evil}2"], "by": f"{evil}2"}
    path = run.report(tmp_path / "page.html", title=f"{evil} {notes.name}", **columns)
    one = visit(path)
    assert "<img src=x onerror=window.__pwned=1>" in one.page.locator("h1").inner_text()
    method = plain(one.page.locator("#method").inner_text())
    assert signs(evil) in method.replace("⟨", "").replace("⟩", "")
    assert one.page.locator("[data-cell]").count() == 1
    assert one.page.locator("img, iframe, body svg [onload]").count() == 0
    assert not re.search("[\u202a-\u202e\u2028]", path.read_text("utf-8"))
