"""The page in a real Chromium, read: what came out, what was done, what an open cluster shows."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from page_corpus import SECRET, TEXTS
from page_visit import CHARTS, Visit, plain

from neardup.api.dedup import dedup
from neardup.api.finished.runs import DedupRun
from neardup.inspect.compare import similarity as exact_similarity
from neardup.spec import ShingleSpec

pytestmark = pytest.mark.long


def test_verdict_first_then_clusters_then_method(
    visit: Callable[..., Visit], page_file: Path, star_run: DedupRun
) -> None:
    page = visit(page_file).page
    counts = star_run.summary["counts"]
    facts = {
        fact.locator("dt").inner_text(): fact.locator(".value").inner_text()
        for fact in page.locator(".fact").all()
    }
    same, words = counts["same"], counts["equal_words"]
    removed = star_run.removed.tolist()
    gone = sum(len(TEXTS[name].encode()) for name in removed)
    assert facts["Documents"] == str(counts["documents"]) == str(len(TEXTS))
    assert facts["Kept"] == str(counts["kept"])
    assert facts["The same"] == str(same) and facts["Equal words"] == str(words)
    assert facts["Near-duplicates"] == str(counts["removed"] - same - words)
    assert facts["Still alike, audited"].replace("\xa0", " ") == "0 %"
    assert facts["Recall, audited"].endswith("%")
    verdict = page.locator(".verdict").inner_text().replace("\xa0", " ")
    assert verdict.startswith(f"{len(removed)} of {len(TEXTS)} documents (61.3 %) are duplicates")
    assert f"{gone / 1000:.3g} kB of text" in verdict
    assert re.fullmatch(r"Run of \d{1,2} [A-Z][a-z]+ \d{4}", page.locator(".date").inner_text())
    method = page.locator("#method").inner_text()
    for words in ("runs of 3 words", "0.7", "20 bands of 3 rows", "notes.jsonl", "first document"):
        assert words in method, words
    order = ["result", "found", "items", "method", "charts", "examples"]
    assert page.evaluate("[...document.querySelectorAll('main > section')].map((s) => s.id)") == (
        order
    )


def test_an_open_cluster_shows_its_documents(
    visit: Callable[..., Visit], page_file: Path, star_run: DedupRun
) -> None:
    one = visit(page_file)
    one.show("family-07")
    table = {row["doc_id"]: row for row in star_run.clusters.to_pylist()}
    rows = one.page.evaluate(
        """() => [...document.querySelectorAll('.members tbody tr')].map((row) =>
            ['.id', '.badge', '.shown', '.number', '.similarity'].map(
                (part) => row.querySelector(part)?.innerText ?? ''))"""
    )
    seen = []
    for name, fate, title, characters, similarity in rows:
        known = table[name]
        assert fate == ("kept" if known["kept"] else "removed")
        assert title == f"Title {name}"
        assert int(characters.replace(",", "")) == len(TEXTS[name])
        if not known["kept"]:
            assert abs(float(similarity) - known["similarity"]) <= 0.0011
            seen.append(float(similarity))
    assert seen == sorted(seen, reverse=True) and len(seen) > 10
    lowest = min(seen)
    facts = one.page.locator(".cluster-facts").inner_text()
    assert f"{lowest:.3f}" in facts
    assert f"at least {2 * lowest - 1:.2f}"[:-1] in facts


def test_paths_where_pairs_were_listed(
    visit: Callable[..., Visit], path_file: Path, path_run: DedupRun
) -> None:
    one = visit(path_file)
    one.show("chain-2")
    table = {row["doc_id"]: row for row in path_run.clusters.to_pylist()}
    edges = path_run.edges
    assert edges is not None
    known = {frozenset((e["id_a"], e["id_b"])): e["similarity"] for e in edges.to_pylist()}
    (cluster,) = (c for c in one.data()["items"] if any(m[1] == "chain-2" for m in c["members"]))
    assert cluster["steps"] >= 2 and len(cluster["members"]) == 5
    for member in cluster["members"][1:]:
        before = cluster["members"][member[3]]
        assert member[4] == pytest.approx(known[frozenset((before[1], member[1]))], abs=1e-4)
        assert member[5] == before[5] + 1
        # Where the kept document is another one than that before it, it is named.
        target = table[member[1]]["duplicate_of"]
        assert member[8] == (None if target in (None, before[1]) else target)
    names = one.page.locator(".members tbody th .id").all_inner_texts()
    assert {f"chain-{k}" for k in range(5)} <= set(names)
    assert "Longest path" in one.page.locator(".cluster-facts").inner_text()


def test_the_template_shows_what_is_shared_and_the_slots(
    visit: Callable[..., Visit], page_file: Path
) -> None:
    one = visit(page_file)
    one.show("family-07")
    template = one.page.locator(".template .note")
    assert (
        one.page.locator("#title-template").inner_text() == "What these 24 share (a sample of 30)"
    )
    one.unfold()
    shared = "".join(template.locator(".shared").all_inner_texts())
    for line in TEXTS["family-07"].splitlines():
        assert line.partition(" end.")[0].rpartition(" ")[0].removesuffix(" not") in shared
    assert template.locator(".slot").count() == 6
    slot = template.locator(".slot").first
    slot.click()
    assert slot.get_attribute("aria-expanded") == "true"
    values = template.locator(".values").inner_text()
    assert all(value in values for value in ("yes", "no", "not asked"))
    slot.click()
    assert template.locator(".values").count() == 0
    # Exact copies are one line, and there is nothing to compare.
    one.show("copy-00")
    assert one.page.locator("#detail h3").inner_text().startswith("20 equal documents: copy-")
    assert one.page.locator(".template, .sides").count() == 0
    copies = one.page.locator(".copies")
    copies.locator("summary").click()
    assert copies.locator(".id").count() == 19
    assert copies.inner_text().count(" · Title copy-") == 19


def test_each_document_next_to_the_kept_one(visit: Callable[..., Visit], page_file: Path) -> None:
    one = visit(page_file)
    one.show("family-07")
    many = int(one.page.locator(".controls .quiet").inner_text().partition(" of ")[2])
    assert many > 10
    before, after = one.page.get_by_label("Pair before"), one.page.get_by_label("Next pair")
    while not before.is_disabled():
        before.click()
    for number in range(1, 4):
        assert one.page.locator(".controls .quiet").inner_text() == f"{number} of {many}"
        a, b = one.page.locator(".compared th").all_inner_texts()
        assert one.page.locator(".members tr.open .id").first.inner_text() == b
        # What is marked is what differs: the values of slots.
        marked = one.page.locator(".compared del, .compared ins").all_inner_texts()
        assert set(" ".join(marked).split()) <= {"yes", "no", "not", "asked"}
        assert bool(marked) == (TEXTS[a] != TEXTS[b])
        exact = exact_similarity(TEXTS[a], TEXTS[b], ShingleSpec(n=3))
        assert abs(exact - float(one.page.locator(".pair .similarity").inner_text())) < 0.0011
        # Folded words unfold to the whole texts.
        one.unfold()
        for name, column in ((a, 1), (b, 2)):
            cells = one.page.locator(f".compared tbody td:nth-child({column})").all_inner_texts()
            assert plain(" ".join(cells)).replace(" ", "") == plain(TEXTS[name]).replace(" ", "")
        after.click()


def test_line_ends_punctuation_and_case_are_not_marked(
    visit: Callable[..., Visit], page_file: Path
) -> None:
    one = visit(page_file)
    one.show("wrapped-a")
    assert one.page.locator(".compared del").count() == 1
    assert {one.page.locator(f".compared {tag}").inner_text() for tag in ("del", "ins")} == {
        "alpha",
        "beta",
    }
    assert one.page.locator(".template .slot").count() == 1


def test_less_context_folds_more(
    visit: Callable[..., Visit], star_run: DedupRun, tmp_path: Path
) -> None:
    folds = []
    for context in (2, 100):
        one = visit(star_run.report(tmp_path / f"{context}.html", context=context))
        one.show("family-07")
        folds.append([one.page.locator(f"{part} .fold").count() for part in (".note", ".compared")])
    assert min(folds[0]) >= 5 and folds[1] == [0, 0]


def test_without_texts(visit: Callable[..., Visit], star_run: DedupRun, tmp_path: Path) -> None:
    one = visit(star_run.report(tmp_path / "bare.html", texts=False))
    assert one.page.locator("label[for=search]").inner_text() == "Search ids"
    one.search(SECRET)
    assert one.rows.count() == 0
    one.show("family-07")
    assert one.page.locator(".template, .compared").count() == 0
    assert one.page.locator(".members tbody tr").count() == 30
    # Similarities are there all the same, and can be judged.
    assert 0 < float(one.page.locator(".pair .similarity").inner_text()) <= 1
    one.page.keyboard.press("y")
    assert "1 pair judged" in one.page.locator("#review").inner_text()


@pytest.mark.parametrize("method", ["lsh", "allpairs"])
def test_pages_of_runs_without_clusters(
    visit: Callable[..., Visit], tmp_path: Path, kernels: None, method: str
) -> None:
    texts = [f"word{k} and more{k}" for k in range(9)]
    run = dedup(texts, spec=star_spec(method), progress=False)
    page = visit(run.report(tmp_path / "none.html")).page
    verdict = page.locator(".verdict").inner_text()
    assert "None of the 9 documents is a duplicate of another one" in verdict
    # Without clusters, and without pairs that share a bucket, some have nothing to show.
    charts = [text.rstrip(".") for text in page.locator("#charts strong").all_text_contents()]
    assert set(charts) <= set(CHARTS) and CHARTS[-1] in charts
    assert (CHARTS[1] in charts) == (method == "lsh")
    assert page.locator("#rows, #found").count() == 0


def star_spec(method: str) -> object:
    from page_corpus import spec

    if method == "lsh":
        return spec()
    return spec(method="allpairs", num_bands=None, rows=None)
