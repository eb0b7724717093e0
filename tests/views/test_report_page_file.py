"""The file of a page: its size, what is left out of it, and when it is not written."""

from __future__ import annotations

import copy
import json
import random
import re
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from page_corpus import SECRET, TEXTS, rows, spec, write_notes

import neardup
from common import Command, Tune, write_lines
from neardup.api.dedup import dedup
from neardup.api.finished.runs import DedupRun
from neardup.deduplication.clock import Event
from neardup.errors import ColumnError, DependencyError, InputError, OutputError, SpecError
from neardup.views.page.survey import survey


def families(count: int, size: int, name: str) -> list[dict[str, Any]]:
    """Rows of families whose members differ in a word."""
    draw = random.Random(7)
    found = []
    for family in range(count):
        words = [f"w{draw.randint(0, 5000)}" for _ in range(60)]
        for k in range(size):
            text = " ".join([*words[:59], f"only{k}"])
            found.append({"id": f"{family}-{k}-{name}", "text": text})
    return found


def data_of(path: Path) -> Any:
    source = path.read_text(encoding="utf-8")
    return json.loads(source.partition('id="data">')[2].partition("</script>")[0])


def test_equal_runs_make_equal_pages_for_their_owner_only(
    star_run: DedupRun, tmp_path: Path
) -> None:
    one = star_run.report(tmp_path / "one.html", show=["title"], threads=1)
    two = star_run.report(str(tmp_path / "two.html"), show="title", threads=2)
    assert one == tmp_path / "one.html"
    assert one.read_bytes() == two.read_bytes()
    assert one.stat().st_mode & 0o777 == 0o600


def test_all_there_is_in_the_page(star_run: DedupRun, page_file: Path) -> None:
    """Members, similarities and texts, against the table of clusters."""
    table = {row["doc_id"]: row for row in star_run.clusters.to_pylist()}
    sizes: dict[int, int] = {}
    for row in table.values():
        sizes[row["cluster"]] = sizes.get(row["cluster"], 0) + 1
    data = data_of(page_file)
    clusters = data["items"]
    assert {c["cluster"]: c["documents"] for c in clusters} == {
        label: size for label, size in sizes.items() if size > 1
    }
    for cluster in clusters:
        first = cluster["members"][0]
        assert table[first[1]]["kept"] and first[2] is None and first[3] == -1
        lowest = 1.0
        for member in cluster["members"][1:]:
            row = table[member[1]]
            assert not row["kept"] and row["duplicate_of"] == first[1] and member[3] == 0
            assert member[2] == member[4] == pytest.approx(row["similarity"], abs=1e-4)
            assert (member[2] == 1) is (row["similarity"] == 1)
            lowest = min(lowest, member[2])
        assert cluster["lowest"] == lowest
        assert [member[6] for member in cluster["members"]] == [
            len(TEXTS[member[1]]) for member in cluster["members"]
        ]
        assert walked(cluster) == {
            place: TEXTS[cluster["members"][place][1]] for place in walked(cluster)
        }
    removed = [row["similarity"] for row in table.values() if not row["kept"]]
    assert data["slider"]["removed"] == [
        sum(round(value, 4) >= at - 1e-9 for value in removed) for at in data["slider"]["at"]
    ]
    assert sum(bar[2] for bar in data["histogram"]) == len(removed)


def walked(cluster: Any) -> dict[int, str]:
    """The texts of a cluster as the page puts them together; all of them are in the BMP or not."""
    found: dict[int, bytes] = {}
    for place, value in cluster.get("texts", {}).items():
        if isinstance(value, str):
            found[int(place)] = value.encode("utf-16-le")
            continue
        base, at, text = found[cluster["members"][int(place)][3]], 0, b""
        for part in value:
            units = part if isinstance(part, int) else part[0]
            own = base[2 * at : 2 * (at + units)]
            text += own if isinstance(part, int) else part[1].encode("utf-16-le")
            at += units
        found[int(place)] = text
    return {place: text.decode("utf-16-le") for place, text in found.items()}


@pytest.mark.long
def test_long_ids_do_not_make_the_file_long(tmp_path: Path, kernels: None, tune: Tune) -> None:
    """Not the first ones, but most: what is measured is what is written."""
    many = families(60, 40, "short")
    for row in many[1000:]:
        row["id"] += "<&>\u00e9" * 50
    notes = write_lines(tmp_path / "notes.jsonl", many)
    run = dedup(notes, out=tmp_path / "run", spec=spec(), id="id", progress=False)
    path = run.report(tmp_path / "page.html", max_items=40)
    data = data_of(path)
    assert (len(data["items"]), len(data["brief"])) == (40, 20)
    assert all("texts" in cluster for cluster in data["items"])
    page = path.read_text(encoding="utf-8")
    assert "All 60 clusters are listed, 40 of them with texts" in page
    assert "Search covers the ids of all 2,400 documents in clusters" in page
    tune(page_ids=300_000)
    path = run.report(path, max_items=40, overwrite=True)
    # 400 kB for clusters, 300 kB for ids, and less than 100 kB for the rest.
    assert path.stat().st_size < 800_000


def test_ids_of_all_documents_are_in_the_page(tmp_path: Path, kernels: None) -> None:
    """Of a cluster too large to be listed, and of clusters without texts."""
    every = [*families(1, 260, "x"), *families(4, 3, "y")[3:]]
    run = dedup(pa.Table.from_pylist(every), id="id", spec=spec(), progress=False)
    data = data_of(run.report(tmp_path / "page.html", max_items=1))
    (large,), brief = data["items"], data["brief"]
    assert len(large["members"]) <= 200 and "rest" not in large
    table = {row["doc_id"]: row for row in run.clusters.to_pylist()}
    listed = [row[1] for row in (*large["members"], *large["more"])]
    rows = [*large["more"]]
    for label, documents, kept, lowest, steps, *members in brief:
        assert (documents, kept, steps) == (len(members), 1, 1) and members[0][2] is None
        assert lowest == min(row[2] for row in members[1:])
        assert {table[row[1]]["cluster"] for row in members} == {label}
        listed += [row[1] for row in members]
        rows += members
    assert sorted(listed) == sorted(table)
    for _, name, similarity, _ in rows:
        assert (similarity is None) is table[name]["kept"]
        assert similarity == pytest.approx(table[name]["similarity"], abs=1e-4)


def test_search_says_what_it_covers(tmp_path: Path, kernels: None, tune: Tune) -> None:
    run = dedup([row["text"] for row in families(30, 5, "x")], spec=spec(), progress=False)
    path = run.report(tmp_path / "page.html", max_items=10)
    page = path.read_text(encoding="utf-8")
    assert "Search covers the ids of all 150 documents in clusters, and 50 different texts" in page
    tune(page_ids=2000)
    page = run.report(path, max_items=10, overwrite=True).read_text(encoding="utf-8")
    found = re.search(r"Search covers the ids of (\d+) of the 150 documents", page)
    assert found is not None and 50 < int(found[1]) < 150
    listed = 10 + len(data_of(path)["brief"])
    assert f"{listed} of 30 clusters are listed, 10 of them with texts" in page
    page = run.report(path, max_items=0, overwrite=True).read_text(encoding="utf-8")
    assert data_of(path)["brief"] and "Texts were left out of this page." in page


def test_brief_clusters_name_what_they_are_duplicates_of(tmp_path: Path, kernels: None) -> None:
    texts = [" ".join(f"w{k}" for k in range(begin, begin + 100)) for begin in range(0, 56, 8)]
    run = dedup(texts, spec=spec(cluster="components"), progress=False)
    ((label, documents, kept, _, steps, *members),) = data_of(
        run.report(tmp_path / "page.html", max_items=0)
    )["brief"]
    assert (label, documents, kept) == (0, 7, 3) and steps > 1
    named = [(number, *target) for number, _, _, _, *target in members]
    assert named == [(0,), (1,), (2,), (3,), (4, "3"), (5, "3"), (6,)]


def test_values_that_differ_in_punctuation_are_one(tmp_path: Path, kernels: None) -> None:
    body = [" ".join(f"{side}{k}" for k in range(30)) for side in "ab"]
    slots = ("alpha beta", "alpha,\nBETA", "gamma delta", "Gamma-delta")
    texts = [f"{body[0]} {slot} {body[1]} {k}" for k, slot in enumerate(slots)]
    run = dedup(texts, spec=spec(), progress=False)
    (cluster,) = data_of(run.report(tmp_path / "page.html"))["items"]
    slot, _ = (part for part in cluster["template"] if isinstance(part, list))
    assert slot[1:] == [2, [["alpha beta", 2], ["gamma delta", 2]]]


def test_copies_are_one_line(page_file: Path) -> None:
    clusters = data_of(page_file)["items"]
    (copies,) = (c for c in clusters if c["members"][0][1].startswith("copy-"))
    assert copies["lowest"] == 1 and copies["documents"] == 20
    assert [member[7] for member in copies["members"]] == [-1, *[0] * 19]
    assert list(copies["texts"]) == ["0"] and "template" not in copies
    (wrapped,) = (c for c in clusters if c["members"][0][1].startswith("wrapped-"))
    # Only the last words differ; line ends, commas and case do not.
    changes = [part for part in wrapped["texts"]["1"] if isinstance(part, list) and len(part) == 2]
    assert len(changes) == 1


def test_runs_in_memory_and_in_another_order(tmp_path: Path, kernels: None) -> None:
    notes = write_notes(tmp_path)
    path = tmp_path / "page.html"
    columns = {name: [row[name] for row in rows()] for name in ("id", "text", "title")}
    dedup(columns, spec=spec(), id="id").report(path, show=["title"])
    in_memory = data_of(path)
    dedup(notes, spec=spec(), id="id").report(path, show=["title"], overwrite=True)
    assert data_of(path)["items"] == in_memory["items"]
    assert "Near-duplicates in notes.jsonl" in path.read_text(encoding="utf-8")
    ordered = dedup(notes, spec=spec(order_by="id", keep="longest"), id="id")
    ordered.report(path, show=["title"], overwrite=True)
    for cluster in data_of(path)["items"]:
        texts = walked(cluster)
        for place, text in texts.items():
            assert text == TEXTS[cluster["members"][place][1]]
        assert cluster["shown"] == [[f"Title {member[1]}"] for member in cluster["members"]]


def test_the_command_and_its_refusals(
    command: Command, tmp_path: Path, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert command("dedup", notes, "-o", "run", "--id", "id", "--quiet").code == 0
    done = command("report", "run", "-o", "page.html", "--title", "My <notes>", "--show", "number")
    assert done.code == 0 and done.out == ""
    assert re.match(r"written     page.html: [\d.]+ kB", done.lines[-1])
    page = Path("page.html").read_text(encoding="utf-8")
    assert "<bdi>My &lt;notes&gt;</bdi>" in page
    assert data_of(Path("page.html"))["settings"]["columns"] == ["number"]
    # It is not written over anything by chance, and never over the run or its input.
    before = Path("page.html").read_bytes()
    Path("other").mkdir()
    files = {"run.json": None, "clusters.parquet": None}
    Path("other/run.json").write_text(json.dumps({"command": "link", "files": files}))
    Path("other/clusters.parquet").touch()
    again = command("report", "run", "-o", "page.html")
    assert again.code == 1 and again.error == "error: page.html exists"
    for own in ("run/run.json", "run/clean/notes.jsonl", "other/clusters.parquet", notes):
        refused = command("report", "run", "-o", own, "--overwrite")
        assert refused.code == 1
        assert f"{own} is {'an input' if own == notes else 'a file of a run'}" in refused.error
    assert "is a folder" in command("report", "run", "-o", ".").error
    assert "there is no folder" in command("report", "run", "-o", "none/page.html").error
    assert "none: no such folder" in command("report", "none", "-o", "other.html").error
    unknown = command("report", "run", "-o", "other.html", "--by", "nothing")
    assert "no column 'nothing'" in unknown.error or "has a column 'nothing'" in unknown.error
    both = command("report", "run", "-o", "other.html", "--by", "number", "--no-text")
    assert both.code == 2 and "--by" in both.error
    assert Path("page.html").read_bytes() == before
    assert {path.name for path in tmp_path.iterdir()} == {
        *("notes.jsonl", "run", "other", "page.html")
    }


def test_wrong_arguments(star_run: DedupRun, tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="`context` is -2"):
        star_run.report(tmp_path / "page.html", context=-2)
    with pytest.raises(SpecError, match="`max_items` is -1"):
        star_run.report(tmp_path / "page.html", max_items=-1)
    with pytest.raises(ColumnError, match="'nothing'"):
        star_run.report(tmp_path / "page.html", show=["nothing"])
    with pytest.raises(SpecError, match="texts=True"):
        star_run.report(tmp_path / "page.html", show=["title"], texts=False)
    assert list(tmp_path.iterdir()) == []


def test_what_is_missing_is_named_before_any_work(
    star_run: DedupRun, tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(DependencyError) as caught:
        star_run.report(tmp_path / "page.html")
    assert "neardup[report]" in caught.value.hint
    run, page = star_run.path, tmp_path / "page.html"
    for arguments in (
        ("report", run, "-o", page),
        ("explain", run, "no such id", "--html", page),
    ):
        done = command(*arguments)
        assert (done.code, done.out) == (1, "")
        assert "need Jinja" in done.error
        assert "pip install 'neardup[report]'" in done.lines[-1]
    assert list(tmp_path.iterdir()) == []


def test_an_input_that_is_gone(notes: Path, tmp_path: Path, kernels: None) -> None:
    run = dedup(notes, out=tmp_path / "run", id="id", progress=False)
    notes.unlink()
    with pytest.raises(InputError) as caught:
        run.report(tmp_path / "page.html")
    assert str(notes) in str(caught.value) and "texts=False" in caught.value.hint
    assert not (tmp_path / "page.html").exists()
    told: list[Event] = []
    path = run.report(tmp_path / "page.html", texts=False, progress=told.append)
    assert "lengths are not measured" in told[0].note
    page = path.read_text(encoding="utf-8")
    assert "The input could not be read again" in page
    assert all(member[6] == 0 for c in data_of(path)["items"] for member in c["members"])
    with pytest.raises(OutputError, match="exists"):
        run.report(tmp_path / "page.html", texts=False)


def test_without_texts_no_text_is_in_it(star_run: DedupRun, tmp_path: Path) -> None:
    path = star_run.report(tmp_path / "bare.html", texts=False)
    source = path.read_text(encoding="utf-8")
    assert SECRET not in source
    assert not any(re.search(r"\bw\d+ w\d+\b", line) for line in source.splitlines())
    assert "Texts were left out of this page." in source


def test_ids_that_are_texts_are_left_out_too(tmp_path: Path, kernels: None) -> None:
    many = families(3, 4, "name")
    notes = write_lines(tmp_path / "notes.jsonl", many)
    run = dedup(notes, out=tmp_path / "run", spec=spec(), text="text", id="text", progress=False)
    path = run.report(tmp_path / "page.html", texts=False)
    page = path.read_text(encoding="utf-8")
    assert not [word for row in many for word in row["text"].split() if f"{word} " in page]
    members = [member[1] for one in data_of(path)["items"] for member in one["members"]]
    assert sorted(members) == sorted(f"row {k}" for k in range(12))
    # Numbers are no ids, so that no file can name pairs by them.
    assert data_of(path)["settings"]["judge"] is None
    assert "documents are named by their numbers, and pairs cannot be judged" in page


def test_what_was_not_compared(star_run: DedupRun, path_run: DedupRun, tmp_path: Path) -> None:
    """Only with a limit on buckets may kept documents be alike."""
    for name, run, limit, words in (
        ("star", star_run, 5, "Kept documents may still be alike."),
        ("paths", path_run, None, "kept and removed documents do not depend on them"),
    ):
        again = DedupRun.open(run.path)
        results = again._results
        assert "were not compared" not in remarks_of(again, tmp_path / f"{name}-none.html")
        results.record = copy.deepcopy(results.record)
        results.record["counts"]["not_compared"] = 1234
        results.record["spec"]["max_bucket"] = limit
        results.__dict__.pop("spec", None)  # made from the record again
        remarks = remarks_of(again, tmp_path / f"{name}.html")
        assert "1,234 pairs in very large buckets were not compared" in remarks
        assert words in remarks


def remarks_of(run: DedupRun, path: Path) -> str:
    page = run.report(path, texts=False).read_text(encoding="utf-8")
    return page.partition('<section id="found"')[0].partition('<ul class="remarks apart">')[2]


def test_copies_of_removed_documents_are_explained(tmp_path: Path, kernels: None) -> None:
    """They are near-duplicates of the kept document, whatever they are copies of."""
    words = [f"w{k}" for k in range(60)]
    near = " ".join([*words[:59], "other"])
    apart = [" ".join(f"{k}v{i}" for i in range(60)) for k in range(2)]
    for texts, at_one in (([" ".join(words), near, near], 0), ([*apart, apart[0]], 1)):
        run = dedup(texts, spec=spec(), progress=False)
        path = run.report(tmp_path / f"{at_one}.html")
        page = path.read_text(encoding="utf-8")
        assert run.summary["counts"]["equal_tokens"] == 1
        assert data_of(path)["histogram"][-1][2] == at_one
        assert run.summary["counts"]["same"] == at_one and "are at 1, and" not in page


def test_equal_tokens_of_stems_and_the_tree_threshold_used(tmp_path: Path, kernels: None) -> None:
    words = "was seen for the usual indication of the chest"
    texts = [words, words.replace("indication", "indications")]
    for settings, exact, says in (
        (neardup.preset("clinical"), 1, "has the same word stems in the same order"),
        (spec(), 0, "has the same words in the same order"),
    ):
        run = dedup(texts, spec=settings, progress=False)
        assert run.summary["counts"]["equal_tokens"] == exact
        assert says in run.report(tmp_path / f"{exact}.html").read_text(encoding="utf-8")
        assert run.summary["tree_threshold"] == (0.4 if settings.cluster == "bounded" else None)


def test_the_lowest_similarity_is_of_two_documents_of_the_cluster(kernels: None) -> None:
    """One document of a bounded cluster is a duplicate of another cluster's, from farther away."""
    texts = [" ".join(f"w{k}" for k in range(begin, begin + 100)) for begin in (0, 15, 18)]
    bounded = spec(cluster="bounded", tree_threshold=0.7)
    results = dedup(texts, spec=bounded, progress=False)._results
    found = survey(results)
    assert results.array("cluster").tolist() == [0, 1, 1]
    assert results.duplicate_of.tolist() == [-1, 0, -1]
    assert found.lowest.tolist() == [95 / 101]


def test_rows_without_a_value_are_named(tmp_path: Path, kernels: None) -> None:
    text = "one two three four five six"
    run = dedup({"text": [text] * 3, "source": ["", None, "x"]})
    page = run.report(tmp_path / "report.html", by="source").read_text(encoding="utf-8")
    assert re.findall(r"<bdi>([^<]*)</bdi></th>", page) == ["no value", "x"] * 2
