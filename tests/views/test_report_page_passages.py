"""The page of passages in a real Chromium, and one document in the terminal."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from page_corpus import HOSTILE
from page_visit import Visit

import neardup
from common import Command, write_lines

HEADER = "General hospital department of internal medicine"


def notes() -> list[dict[str, Any]]:
    rng = random.Random(1)
    rows: list[dict[str, Any]] = []
    for i in range(60):
        words = [f"w{rng.randrange(3000)}" for _ in range(30)]
        if rows:
            old = rng.choice(rows)["text"].split()[6:]
            words[10:10] = [*old[:9], "changed", *old[10:20]]
        rows.append(
            {
                "id": f"n{i}",
                "who": f"Dr {i % 3}",
                "date": f"2020-0{1 + i // 12}-11",
                "text": f"{HEADER} {' '.join(words)}",
            }
        )
    for i, text in enumerate(HOSTILE):
        id = f"{text[:40]}-{i}"
        rows.append({"id": id, "who": text, "date": "2021-01-01", "text": f"{HEADER} {text} a b"})
        rows.append(
            {"id": f"h{i}", "who": "x", "date": "2021-01-02", "text": f"{HEADER} {text} a b"}
        )
    return rows


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, kernels: None) -> neardup.PassagesRun:
    folder = tmp_path_factory.mktemp("passages")
    path = write_lines(folder / "notes.jsonl", notes())
    return neardup.passages(
        path,
        id="id",
        words=4,
        order_by="date",
        by="who",
        boilerplate=40,
        bridge=2,
        out=folder / "out",
        progress=False,
    )


@pytest.fixture(scope="module")
def page(made: neardup.PassagesRun, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made.report(tmp_path_factory.mktemp("page") / "passages.html", title="Notes")


def show(one: Visit, id: str) -> None:
    """Open a document by its id."""
    one.search(id)
    names = one.rows.locator(".id").all_inner_texts()
    one.rows.nth(names.index(id)).click()


def test_a_document_and_its_source(visit: Callable[..., Visit], page: Path) -> None:
    one = visit(page)
    show(one, "n31")
    assert one.page.locator("#detail h3").inner_text() == "n31"
    assert "boilerplate" in one.page.locator(".legend").inner_text()
    mark = one.page.locator("#detail .note.whole mark.copy").first
    mark.click()
    assert mark.get_attribute("aria-pressed") == "true"
    inside = one.page.locator(".source .note mark").inner_text()
    assert len(inside.split()) >= 4
    assert "words, characters" in one.page.locator(".source").inner_text()
    # By the keyboard too.
    one.page.locator("#detail .note.whole mark").first.press("Enter")
    assert HEADER in one.page.locator(".source .note mark").inner_text()
    one.search("no such text at all")
    assert one.page.locator("#status").inner_text().startswith("0 of 81 documents found")
    one.search("CHANGED")
    assert int(one.page.locator("#status").inner_text().split()[0]) > 10


@pytest.mark.long
def test_the_source_is_in_sight_wherever_the_passage_is(
    visit: Callable[..., Visit], tmp_path: Path, kernels: None
) -> None:
    """Of a long document, below what the window shows."""
    rng = random.Random(3)
    words = [" ".join(f"s{k}x{rng.randrange(9000)}" for _ in range(60)) for k in range(40)]
    rows = [{"id": f"d{k}", "text": text} for k, text in enumerate(words)]
    rows.append({"id": "long", "text": " between. ".join(words)})
    run = neardup.passages(
        write_lines(tmp_path / "a.jsonl", rows), id="id", words=5, progress=False
    )
    page = run.report(tmp_path / "page.html")
    for width in (1280, 390):
        one = visit(page, viewport={"width": width, "height": 800})
        show(one, "long")
        marks = one.page.locator("#detail .note.whole mark")
        marks.nth(35).click()
        box = one.page.locator(".source mark").bounding_box()
        assert box is not None and 0 <= box["y"] < 800
        colours = [
            mark.evaluate("(e) => getComputedStyle(e).backgroundColor") for mark in marks.all()
        ]
        assert len(set(colours)) == len(colours) == 40


@pytest.mark.long
def test_the_largest_templates_are_complete(
    visit: Callable[..., Visit], tmp_path: Path, kernels: None
) -> None:
    """Parts of them that are in more documents are not listed before them."""
    rng = random.Random(4)
    forms = [[f"form{k}w{i}" for i in range(size)] for k, size in enumerate((40, 25))]
    rows = []
    for i in range(90):
        own = [f"w{rng.randrange(9000)}" for _ in range(20)]
        form = list(forms[i % 2])
        if i > 59:
            form[rng.randrange(len(form))] = "edited"
        rows.append({"id": f"n{i}", "text": " ".join(own[:10] + form + own[10:])})
    path = write_lines(tmp_path / "notes.jsonl", rows)
    run = neardup.passages(path, id="id", words=5, boilerplate=10, progress=False)
    assert run.to_pandas("boilerplate")["words"].tolist()[:2] == [40, 25]
    one = visit(run.report(tmp_path / "page.html"))
    texts = one.page.locator("#figures .broad tbody td:last-child").all_inner_texts()
    firsts = [" ".join(form) for form in forms]
    assert texts == [f"{firsts[0][:240]}…", firsts[1]]


@pytest.mark.long
@pytest.mark.parametrize("private", [False, True])
def test_templates_of_the_other_corpus_have_no_text(
    private: bool, visit: Callable[..., Visit], tmp_path: Path, kernels: None
) -> None:
    """A document of this corpus may have the same id."""
    form = " ".join(f"form{i}" for i in range(20))
    old = write_lines(tmp_path / "old.jsonl", [{"id": "a", "text": form}])
    texts = [f"alpha{i} beta{i} {form} gamma{i}" for i in range(9)]
    new = [{"id": "abcdefghi"[i], "text": text} for i, text in enumerate(texts)]
    run = neardup.passages(
        write_lines(tmp_path / "new.jsonl", new),
        against=old,
        id="id",
        words=5,
        name_source="first",
        boilerplate=5,
        private_ids=private,
        progress=False,
    )
    assert run.to_pandas("boilerplate")["in_old"].tolist() == [True]
    cells = visit(run.report(tmp_path / "page.html")).page.locator(
        "#figures .broad tbody td:last-child"
    )
    assert cells.all_inner_texts() == [""]


@pytest.mark.long
def test_changed_words_have_another_colour(visit: Callable[..., Visit], page: Path) -> None:
    one = visit(page)
    changed = [
        doc
        for doc in one.data()["items"]
        if "changed word" in doc["about"] and any(part[2] for part in doc["parts"])
    ]
    assert changed
    show(one, changed[0]["name"])
    assert "changed" in one.page.locator("#detail .note.whole .changed").first.inner_text()
    assert "changed words" in one.page.locator(".legend").inner_text()


@pytest.mark.long
@pytest.mark.parametrize(
    "settings",
    [
        {"viewport": {"width": 390, "height": 844}},
        {"color_scheme": "dark"},
        {"viewport": {"width": 1280, "height": 900}},
    ],
)
def test_looks(settings: dict[str, Any], visit: Callable[..., Visit], page: Path) -> None:
    """Nothing is wider than the window; text can be read on its colour; printing shows it all."""
    one = visit(page, **settings)
    one.rows.first.click()
    one.page.locator("#detail .note.whole mark").first.click()
    width = one.page.evaluate("document.documentElement.scrollWidth")
    assert width <= one.page.viewport_size["width"]
    contrast = one.page.evaluate(
        """() => {
            const light = (text) => {
                const part = text.match(/[\\d.]+/g).map(Number).slice(0, 3).map((v) => v / 255)
                    .map((v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
                return 0.2126 * part[0] + 0.7152 * part[1] + 0.0722 * part[2];
            };
            return [...document.querySelectorAll('mark')].map((e) => {
                const style = getComputedStyle(e);
                const two = [light(style.color), light(style.backgroundColor)].sort();
                return (Math.max(...two) + 0.05) / (Math.min(...two) + 0.05);
            });
        }"""
    )
    assert min(contrast) > 4.5
    one.page.emulate_media(media="print")
    assert not one.page.locator("nav").is_visible()
    assert one.page.locator(".example .note mark").first.is_visible()


@pytest.mark.long
def test_hostile_texts_are_text(visit: Callable[..., Visit], page: Path) -> None:
    one = visit(page)
    for number in range(len(HOSTILE)):
        show(one, f"h{number}")
        one.page.locator("#detail .note.whole mark").first.click()
    made = one.page.evaluate(
        "() => [...document.querySelectorAll('#panes *')].flatMap((e) => "
        "[e.tagName, ...[...e.attributes].map((a) => a.name)])"
    )
    assert not {"SCRIPT", "IMG", "IFRAME", "SVG", "A", "STYLE", "onerror", "href"} & set(made)
    assert "\u202e" not in one.page.locator("body").inner_text()


@pytest.mark.long
def test_without_texts(
    made: neardup.PassagesRun, tmp_path: Path, visit: Callable[..., Visit]
) -> None:
    path = made.report(tmp_path / "private.html", texts=False, max_items=5)
    content = path.read_text(encoding="utf-8")
    assert "hospital" not in content and not any(f"w{k} w" in content for k in range(3000))
    one = visit(path)
    one.page.locator("#detail .places mark").first.click()
    assert len(one.data()["items"]) == 5


def test_one_document_in_the_terminal(
    made: neardup.PassagesRun, command: Command, tmp_path: Path
) -> None:
    said = command("explain", made.path, "n31").out
    assert said.startswith("n31: ") and HEADER in said and "boilerplate" in said
    assert "hospital" not in command("explain", made.path, "n31", "--no-text").out
    values = json.loads(command("explain", made.path, "n31", "--json").out)
    assert values["passages"] == made.explain("n31")["passages"] and HEADER in values["text"]
    assert "no document has the id" in command("explain", made.path, "none").error
    assert "takes one id" in command("explain", made.path, "n1", "n2").error
    done = command("report", made.path, "-o", tmp_path / "p.html", "--no-text", "--quiet")
    assert done.code == 0 and done.err == ""
    assert "exists" in command("report", made.path, "-o", tmp_path / "p.html").error
    for name in ("audit", "recluster"):
        more = ("-o", tmp_path / "x") if name == "recluster" else ()
        assert "neardup passages" in command(name, made.path, *more).error


def test_runs_that_are_read_back(made: neardup.PassagesRun) -> None:
    assert made.path is not None
    again = neardup.PassagesRun.open(made.path)
    assert again.clean().num_rows == len(again) == len(notes())
    assert len(again.to_pandas("documents")) == len(again)
    assert again.to_polars().height == again.passages.num_rows
    assert again.passages.equals(made.passages)
    assert repr(neardup.open(made.path)) == repr(again)


def test_what_spark_wrote_has_a_page_without_texts(tmp_path: Path, command: Command) -> None:
    """Its tables are folders of parts, whose rows have no order, and its input is not read."""
    path = write_lines(tmp_path / "notes.jsonl", notes()[:60])
    run = neardup.passages(path, id="id", words=5, out=tmp_path / "out", progress=False)
    spark = tmp_path / "spark"
    for name in ("passages", "documents"):
        rows = getattr(run, name)
        (spark / name).mkdir(parents=True)
        shuffled = random.Random(2).sample(range(len(rows)), len(rows))
        pq.write_table(rows.take(shuffled), spark / name / "part-0.parquet")
    record = json.loads((tmp_path / "out/run.json").read_text())
    frame = {"text": ["text"], "id": "id", "input_format": "parquet"}
    record |= {"engine": "spark", "source": None, "frame": frame}
    output = {"clean": False, "annotate": False, "tables": "parquet", "format": "parquet"}
    record |= {"output": output, "files": {"passages": 1, "documents": 1, "run.json": None}}
    del record["temporary_bytes"]
    (spark / "run.json").write_text(json.dumps(record))
    opened = neardup.open(spark)
    in_order = run.passages.sort_by([("doc_id", "ascending"), ("start", "ascending")])
    assert opened.passages.to_pylist() == in_order.to_pylist()
    assert opened.explain("n7") == run.explain("n7")
    done = command("report", spark, "--no-text", "-o", tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert done.code == 0 and "n7" in page and HEADER not in page
    refused = command("report", spark, "-o", tmp_path / "more.html")
    assert "its input was read by Apache Spark" in refused.error


def test_the_headline_and_the_charts(visit: Callable[..., Visit], page: Path) -> None:
    one = visit(page)
    verdict = one.page.locator(".verdict").inner_text()
    assert re.match(r"\d+\.\d.% of [\d,]+ words were copied from an earlier document", verdict)
    figures = one.page.locator("#figures figure strong").all_inner_texts()
    assert figures[:4] == [
        "Copied by month.", "Documents by copied share.", "Copied by year.", "Copied by who."
    ]  # fmt: skip
    # A month of few documents has no point.
    titles = one.page.locator(".line-of title").all_text_contents()
    assert titles[0].startswith("2020-01: ") and "12 documents" in titles[0]
    assert titles[5] == "2020-06: few documents" and titles[-1].endswith("32 documents")
    rows = one.page.locator("#figures figure").nth(3).locator("tr").all_inner_texts()
    assert len(rows) >= 4 and sum("Dr" in row for row in rows) == 3
    assert any("others of who" in row for row in rows)  # of fewer than ten documents
    assert not any("onerror" in row for row in rows)
    # The list is filtered by the column, and sorted by it.
    one.page.select_option("#columns select", "Dr 1")
    shown = [item for item in one.data()["items"] if item["values"]["who"] == ["Dr 1"]]
    assert one.status.startswith(f"{len(shown)} of ")
    one.page.select_option("#order", "source")


def test_authors_have_numbers_where_ids_are_private(
    visit: Callable[..., Visit], tmp_path: Path, kernels: None
) -> None:
    rows = [row | {"who": f"Secret{row['who']}"} for row in notes()[:60]]
    run = neardup.passages(
        write_lines(tmp_path / "notes.jsonl", rows),
        id="id",
        words=4,
        by="who",
        private_ids=True,
        progress=False,
    )
    path = run.report(tmp_path / "page.html", min_group=1)
    content = path.read_text(encoding="utf-8")
    assert "Secret" not in content and '"n31"' not in content
    one = visit(path)
    labels = one.page.locator("#figures figure").last.locator("th").all_inner_texts()
    assert sorted(labels) == ["who 1", "who 2", "who 3"]
    assert one.page.locator("#columns option").all_inner_texts()[1:] == sorted(labels)


def test_a_page_has_a_size_and_says_what_is_left_out(
    made: neardup.PassagesRun, tmp_path: Path, visit: Callable[..., Visit], command: Command
) -> None:
    path = made.report(tmp_path / "small.html", max_size="300kB")
    assert path.stat().st_size < 300_000
    one = visit(path)
    lead = one.page.locator("#items .lead").inner_text()
    assert "Only the first" in lead and "--max-size 1MB" in lead
    done = command("report", made.path, "-o", tmp_path / "all.html", "--max-size", "1MB")
    assert done.code == 0
    assert len(visit(tmp_path / "all.html").data()["items"]) == 81
    assert (
        "is not a size"
        in command("report", made.path, "-o", tmp_path / "x.html", "--max-size", "large").error
    )


def test_a_summary_has_no_examples(
    made: neardup.PassagesRun, tmp_path: Path, visit: Callable[..., Visit]
) -> None:
    one = visit(made.report(tmp_path / "short.html", printed="summary"))
    one.page.emulate_media(media="print")
    assert one.page.locator(".example").count() == 0
    for paper in ("A4", "Letter"):
        pages = one.page.pdf(format=paper).count(b"/Type /Page\n")
        assert pages <= 3


def test_long_ids_are_shortened_in_the_middle_and_whole_on_demand(
    tmp_path: Path, visit: Callable[..., Visit], command: Command
) -> None:
    long = [f"https://example.org/{'path/' * 40}{k}" for k in range(2)]
    rows = [{"id": id, "text": "a b c d e f g h"} for id in long]
    run = neardup.passages(
        write_lines(tmp_path / "notes.jsonl", rows),
        id="id", words=4, out=tmp_path / "out", progress=False,
    )  # fmt: skip
    one = visit(run.report(tmp_path / "page.html"))
    row = one.rows.first.locator(".id").inner_text()
    assert row.startswith("https://") and row.endswith("/1") and len(row) <= 36
    head = one.page.locator("#detail h3")
    assert "…" in head.inner_text()
    head.get_by_text("all of it").click()
    assert head.inner_text() == long[1]
    assert long[0] in command("explain", tmp_path / "out", long[1]).out
