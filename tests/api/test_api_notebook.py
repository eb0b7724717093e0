"""What a notebook shows: short, escaped, and with texts in explanations only."""

from __future__ import annotations

import re
import sys
import time
import types
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

import neardup
from common import SECRET, Tune
from neardup import announcing
from neardup.api import progress
from neardup.deduplication.clock import Event

EVIL = "<script>alert(1)</script> <img src=x onerror=alert(2)> \u202e & \x1b[2J"
TAGS = {"div", "span", "b", "table", "tr", "td", "svg", "text", "rect", "path", "i", "del", "ins"}
WORDS = " ".join(f"w{i}" for i in range(40))
ROWS = {
    "id": [f"<b>{i}</b>" for i in range(26)],
    "text": [f"{SECRET} {EVIL} {WORDS}", f"{SECRET} {EVIL} {WORDS} {SECRET}X </div>"]
    + [f"{SECRET} {WORDS.upper()}", "", "short"]
    + ["the same line of seven words here"] * 21,
}


class Seen(HTMLParser):
    """Tags, and what is read."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: set[str] = set()
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.fixture(scope="module")
def run(kernels: None) -> neardup.DedupRun:
    return neardup.dedup(ROWS, id="id")


@pytest.mark.parametrize("name", ["run", "audit", "plan", "explanation", "alone", "nothing"])
def test_what_is_shown(run: neardup.DedupRun, name: str) -> None:
    shown: Any = {
        "run": lambda: run,
        "audit": lambda: run.audit(sample=30),
        "plan": lambda: neardup.plan(ROWS, id="id"),
        "explanation": lambda: run.explain("<b>1</b>"),
        "alone": lambda: run.explain("<b>4</b>"),
        "nothing": lambda: neardup.dedup([""]),
    }[name]()
    page = shown._repr_html_()
    seen = Seen(page)
    assert {*seen.tags} <= TAGS
    assert not {a for a in seen.attributes if a.startswith("on") or a in ("src", "href")}
    assert "\x1b" not in page and "\u202e" not in page and len(page) < 12_000
    assert ("svg" in seen.tags) == (name not in ("alone", "nothing"))
    assert (SECRET in page) == (name == "explanation")
    said = {
        "run": "20 the same, 0 with equal words, 2 near-duplicates",
        "audit": "of all true pairs were found",
        "plan": "documents26of ",
        "explanation": "<b>1</b> is removed: it is a duplicate of <b>0</b>, which is kept.",
        "alone": "<b>4</b> is kept: shorter than a shingle",
        "nothing": "0 of 1 document are duplicates.",
    }[name]
    assert said in seen.text


def test_differences_are_marked(run: neardup.DedupRun) -> None:
    page = run.explain("<b>1</b>")._repr_html_()
    assert f"<del>{SECRET}X &lt;/div&gt;</del>" in page and "equal words" in page
    names = "&lt;b&gt;{}&lt;/b&gt;"
    assert f"<del>only in {names.format(1)}</del> <ins>only in {names.format(0)}</ins>" in page
    assert "run.audit() measures more" in run._repr_html_()
    assert run.explain("<b>1</b>").why.endswith("to the kept document <b>0</b>")


def test_what_is_printed(run: neardup.DedupRun) -> None:
    """The text of the commands, and no text of a document."""
    shown = [run.audit(sample=30), neardup.plan(ROWS, id="id"), run.explain("<b>1</b>")]
    for each, line in zip(shown, ["kept  ", "documents  ", "document  "], strict=True):
        assert re.search(f"^{line}", str(each), re.MULTILINE) and SECRET not in str(each)


def test_exact_copies_are_one_number(run: neardup.DedupRun) -> None:
    from neardup.views.compared import view
    from neardup.views.view import Row

    found = run.explain("<b>5</b>")
    assert found.same == found.duplicates_count == 20
    assert Row("duplicates", remark="20 the same, such as <b>6</b>") in view(found).notes
    assert found.why == "kept: 20 removed documents are similar to it"
    copy = run.explain("<b>25</b>")
    assert copy.why == "removed: equal to the kept document <b>5</b>; " + copy.comparison.note


def test_texts_are_in_no_repr(run: neardup.DedupRun) -> None:
    for shown in (run, run.explain("<b>1</b>"), run.audit(sample=30)):
        assert SECRET not in repr(shown) and SECRET not in str(shown)


def test_a_bar_in_a_notebook(monkeypatch: pytest.MonkeyPatch, tune: Tune) -> None:
    """It is updated in place, escapes what it is told, and goes at the end."""
    display = pytest.importorskip("IPython.display")
    shell = types.SimpleNamespace(config={"IPKernelApp": {}})
    updates: list[str] = []

    def shown(first: Any, display_id: bool) -> Any:
        updates.append(first.data)
        return types.SimpleNamespace(update=lambda html: updates.append(html.data))

    monkeypatch.setattr(sys.modules["IPython"], "get_ipython", lambda: shell)
    monkeypatch.setattr(display, "display", shown)
    with progress.show_progress("auto") as listener:
        assert listener is not None
        listener(Event("resolve", 3, 12))
    assert updates == []  # what is done soon leaves no empty output
    tune(bar_after=0.0)
    with progress.show_progress("auto") as listener:
        assert listener is not None
        listener(Event("resolve", 3, 12))
        listener(Event("compile", note="<b>compiling</b>"))
        listener(Event("resolve", 4, 12))  # too soon to be shown
    assert updates[0] == updates[-1] == "" and len(updates) == 4
    assert 'value="0.250"' in updates[1] and "&lt;b&gt;compiling" in updates[2]


def test_names_of_folders_are_no_markup(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    with progress.show_progress("auto") as listener:
        assert listener is not None
        listener(Event("sketch", note="continuing the run in out[/b]/.run"))
    assert "in out[/b]/.run" in capsys.readouterr().err


def test_bars_on_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """None before there is something to show, none for a note, and no share of what is unknown."""
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    with progress.show_progress("auto"):
        pass
    assert capsys.readouterr().err == ""
    with progress.show_progress("auto") as listener:
        assert listener is not None
        listener(Event("compile", note="kernels"))
        listener(Event("metadata"))
        time.sleep(0.3)  # it is drawn ten times a second
        first = capsys.readouterr().err
        listener(Event("metadata", finished=True))
        listener(Event("resolve", 1, 4))
    assert first.count("compile") == 1 and "metadata" in first and "%" not in first
    assert "25%" in capsys.readouterr().err


def test_compiling_is_announced_where_nobody_looks(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(announcing, "_announced", False)
    with progress.show_progress("auto") as listener:
        assert listener is not None
        announcing.announce_compiling()
        announcing.announce_compiling()  # just said
        listener(Event("resolve", note="this may take long"))
    note = "compiling kernels, once on this machine (neardup warmup compiles all of them)"
    assert capsys.readouterr().err == f"neardup: {note}\n"
    monkeypatch.setattr(announcing, "_announced", False)
    with progress.show_progress(False):
        announcing.announce_compiling()
    assert capsys.readouterr().err == ""
    announcing.announce_compiling()  # nothing shows progress
    assert capsys.readouterr().err == f"neardup: {note}\n"


@pytest.mark.long
def test_the_notebook_of_the_documentation_runs() -> None:
    """Every cell runs, and what ours show is what is stored."""
    pytest.importorskip("nbclient")
    nbformat = pytest.importorskip("nbformat")
    sys.path.append(str(Path(__file__).parents[2] / "tools"))
    import make_notebook

    stored = nbformat.read(make_notebook.NOTEBOOK, as_version=4)
    made = make_notebook.executed()

    def pages(notebook: Any) -> list[str]:
        outputs = [one for cell in notebook.cells for one in cell.get("outputs", ())]
        found = [one.data.get("text/html", "") for one in outputs]
        return [page for page in found if page.startswith('<div style="max-width')]

    assert pages(made) == pages(stored) and len(pages(made)) == 3
