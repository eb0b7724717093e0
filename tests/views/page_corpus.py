"""A small corpus with all that a page has to cope with."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

from neardup.api.dedup import dedup
from neardup.api.finished.runs import DedupRun
from neardup.spec import ShingleSpec, Spec

#: What must show as text and run nothing. Each would set ``window.__pwned``.
HOSTILE = [
    "<script>window.__pwned=1</script>",
    "</script><script>window.__pwned=1</script>",
    "</SCRIPT ><img src=x onerror=window.__pwned=1>",
    "<!--<script>",
    "'\"><svg onload=window.__pwned=1>",
    "javascript:window.__pwned=1",
    '<a href="javascript:window.__pwned=1">click</a>',
    "<iframe srcdoc='<script>parent.__pwned=1</script>'></iframe>",
    "</title></style></textarea><b>bold</b>",
    "{{ 7 * 7 }} {% raw %} ${7*7}",
    "&lt;b&gt; &#x3c; &amp;",
    "]]> --> %3Cscript%3E",
    "\u202eright to left\u202c \u2066isolated\u2069 \u200fmark\u200e",
    "nul \x00 escape \x1b[31m bell \x07 del \x7f",
    "separators \u2028 and \u2029 hidden\u200bblank \ufeff",
    "مريض يعاني من السعال and 患者は咳をしている。 and 👩‍⚕️ 𝒳",
]
#: In no text but these: no page without texts may hold it.
SECRET = "zebrafinch"
#: Exact copies of one text.
COPIES = 20


def rows() -> list[dict[str, Any]]:
    """Rows with id and text: families, exact copies, hostile texts, a chain, single texts."""
    draw = random.Random(5)
    words = [f"w{k}" for k in range(3000)]

    def some(count: int) -> list[str]:
        return draw.choices(words, k=count)

    found: list[dict[str, Any]] = []

    def add(name: str, text: str, source: str = "one") -> None:
        found.append({"id": name, "text": text, "title": f"Title {name}", "source": source})

    # A family of 30, with a slot in each of six sentences.
    boilerplate = [f"Section {k}: {SECRET} " + " ".join(some(30)) for k in range(6)]
    for i in range(30):
        slots = [draw.choice(["yes", "no", "not asked"]) for _ in boilerplate]
        lines = [f"{line} {slot} end." for line, slot in zip(boilerplate, slots, strict=True)]
        add(f"family-{i:02}", "\n".join(lines), "family")
    for k, payload in enumerate(HOSTILE):
        body = " ".join(some(60))
        for side in "ab":
            add(f"hostile-{k}-{side}", f"{body} {payload} {SECRET} seen by {side}.", payload)
    evil = "<b onmouseover=window.__pwned=1>id</b>\u202e"
    for side in "ab":
        add(evil + side, " ".join(["evil", "name", *(f"e{k}" for k in range(50)), side]))
    sentences = [" ".join(some(9)) + "." for _ in range(60)]
    for k in range(5):
        add(f"chain-{k}", "\n".join(sentences[2 * k : 2 * k + 26]))
    for k in range(25):
        text = " ".join(some(40))
        for copy in range(2 + k % 2):
            add(
                f"pair-{k:02}-{copy}", text if k % 3 else f"{text} {copy}", "two" if copy else "one"
            )
    same = " ".join(some(40))
    for copy in range(COPIES):
        add(f"copy-{copy:02}", same)
    wrapped = some(60)
    add("wrapped-a", " ".join(wrapped) + " alpha")
    lines = (" ".join(wrapped[at : at + 6]) for at in range(0, 60, 6))
    add("wrapped-b", ",\n".join(lines).upper() + ",\nbeta!")
    for k in range(20):
        add(f"single-{k}", " ".join(some(30)))
    draw.shuffle(found)
    return found


TEXTS = {row["id"]: row["text"] for row in rows()}


def spec(**changes: Any) -> Spec:
    return Spec(ShingleSpec(n=3), threshold=0.7, num_bands=20, rows=3).replace(**changes)


def write_notes(folder: Path) -> Path:
    notes = folder / "notes.jsonl"
    with notes.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows())
    return notes


def write_run(folder: Path, **changes: Any) -> DedupRun:
    """Write the corpus and a run on it."""
    notes = write_notes(folder)
    return dedup(notes, out=folder / "run", spec=spec(**changes), id="id", progress=False)
