"""Charts of results: every kind is drawn, by Python and by the command."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import neardup
from common import Command, write_lines
from neardup.errors import OutputError, SpecError
from neardup.views.all_views import VIEWS

pytest.importorskip("matplotlib", reason="Matplotlib is not installed")


@pytest.fixture(autouse=True)
def closed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("MPLBACKEND", "agg")
    from matplotlib import pyplot

    pyplot.switch_backend("agg")
    yield
    pyplot.close("all")


def notes() -> list[dict[str, Any]]:
    rng = random.Random(5)
    rows: list[dict[str, Any]] = []
    for k in range(60):
        words = [f"w{rng.randrange(900)}" for _ in range(30)]
        if k % 3:
            words[:20] = rows[-1]["text"].split()[:20]
        text = rows[-1]["text"] if k % 20 == 19 else " ".join(words)
        rows.append({"id": f"n{k}", "who": f"$Dr{k % 4}$", "date": f"2020-{1 + k // 6:02d}-01"})
        rows[-1]["text"] = text
    return rows


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory, kernels: None) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("charts")
    path = write_lines(folder / "notes.jsonl", notes())
    how: dict[str, Any] = {"id": "id", "progress": False}
    neardup.dedup(path, threshold=0.3, shingle="word:1", out=folder / "dedup", **how)
    neardup.passages(path, words=5, order_by="date", by="who", out=folder / "passages", **how)
    people = [
        {"id": f"{k}{s}", "name": f"person{k} {k * k}bell", "town": "x"[k % 2 :]}
        for k in range(80)
        for s in "ab"
    ]
    neardup.link(
        write_lines(folder / "people.jsonl", people),
        fields=["name", "town"], out=folder / "link", **how,
    )  # fmt: skip
    neardup.against(path, path, id="id", out=folder / "against", progress=False)
    items = [row["text"][:60] for row in notes()]
    neardup.decontaminate(path, items, out=folder / "matches", private_ids=True, **how)
    return {name: folder / name for name in ("dedup", "passages", "link", "against", "matches")}


TRUTH = [(f"{k}a", f"{k}b") for k in range(80)]
KINDS: list[tuple[str, str, dict[str, Any]]] = [
    ("dedup", "similarity", {}),
    ("dedup", "clusters", {}),
    ("dedup", "sources", {"by": "who"}),
    ("passages", "month", {}),
    ("passages", "author", {}),
    ("passages", "year", {}),
    ("passages", "share", {}),
    ("against", "similarity", {}),
    ("matches", "items", {}),
    ("matches", "containment", {}),
    ("link", "log_odds", {}),
    ("link", "weights", {}),
    ("link", "reliability", {"truth": TRUTH}),
]


@pytest.mark.parametrize(("name", "kind", "of"), KINDS)
def test_every_kind_is_drawn(
    name: str, kind: str, of: dict[str, Any], folders: dict[str, Path]
) -> None:
    run = neardup.open(folders[name])
    axes = run.plot(kind, **of)
    assert axes.patches or axes.lines
    mine = run.plot(kind, axes.figure.subplots(), **of)
    assert mine.figure is axes.figure
    axes.figure.canvas.draw()  # a dollar in a name is no formula


def test_a_curve_of_each_object(folders: dict[str, Path]) -> None:
    run = neardup.open(folders["dedup"])
    audit = run.audit(sample=20, progress=False)
    bands = neardup.choose_bands(0.7, 0.99)
    tuned = neardup.tune(["0.5:0.99"])
    for shown, kind in ((audit, "recall"), (bands, "curve"), (tuned, "curve")):
        axes = shown.plot(kind)
        assert axes.get_xlabel() == "similarity" and axes.lines
        assert ("<" in shown._repr_html_() and len(repr(shown)) < 200) or shown is audit
    assert repr(bands) == "<Bands: 17 bands of 4 rows, recall 0.9906>" and bands[:2] == (17, 4)
    assert repr(tuned).startswith("<TunedBands: ") and "bands  rows" in str(tuned)
    found = neardup.compare("a b c d e f", "a b c d e g")
    assert repr(found).startswith("<Comparison: similarity 0.3333, not duplicates")
    assert "<svg" in found._repr_html_()


def test_labels_of_a_figure_are_private_and_short(folders: dict[str, Path]) -> None:
    labels = neardup.open(folders["matches"]).plot("items").get_yticklabels()
    assert {label.get_text().split()[0] for label in labels} == {"row"}
    long = [{"id": k, "who": f"https://example.org/{'x' * 90}/\n{k % 2}"} for k in range(6)]
    rows = [{**row, "text": "one two three four five six"} for row in long]
    run = neardup.dedup(pa.Table.from_pylist(rows), id="id", progress=False)
    (label,) = {t.get_text() for t in run.plot("sources", by="who").get_yticklabels()[:1]}
    assert len(label) <= 40 and "…" in label and "\n" not in label


def test_what_can_t_be_drawn_is_refused(folders: dict[str, Path]) -> None:
    run = neardup.open(folders["dedup"])
    wanted = "there is no chart 'pie'; expected one of similarity, clusters, sources"
    with pytest.raises(SpecError, match=wanted):
        run.plot("pie")
    with pytest.raises(SpecError, match="the texts, which are in no figure"):
        run.plot("sources", by="text")
    with pytest.raises(SpecError, match="needs a column"):
        run.plot("sources")
    with pytest.raises(SpecError, match="`by` does not apply to the chart 'clusters'"):
        run.plot("clusters", by="who")
    bare = neardup.passages(["a b c"], words=2, progress=False)
    for kind, lacks in (("month", "no months"), ("author", "no groups"), ("year", "no years")):
        with pytest.raises(SpecError, match=lacks):
            bare.plot(kind)
    assert neardup.passages([], words=2, progress=False).plot("share") is not None
    assert neardup.dedup([], progress=False).plot("clusters") is not None
    nothing = neardup.decontaminate(["a b c"], ["x y"], progress=False)
    assert nothing.plot() is not None and nothing.plot("containment") is not None


def test_every_kind_is_in_the_gallery() -> None:
    page = (Path(__file__).parents[2] / "docs/index.md").read_text(encoding="utf-8")
    kinds = {kind for view in VIEWS.values() for kind in view.charts} - {"shares"}
    assert kinds == {kind for _, kind, _ in KINDS} | {"recall", "curve"}
    assert all(f"| `{kind}` of " in page and f"(figures/{kind}.svg)" in page for kind in kinds)


@pytest.mark.parametrize("ending", ["svg", "pdf", "png"])
def test_the_command(
    ending: str, folders: dict[str, Path], command: Command, tmp_path: Path
) -> None:
    out = tmp_path / f"figure.{ending}"
    done = command("plot", folders["dedup"], "sources", "--by", "who", "-o", out)
    assert (done.code, done.out, done.err) == (0, "", "")
    begins = {"svg": b"<?xml", "pdf": b"%PDF", "png": b"\x89PNG"}[ending]
    assert out.read_bytes().startswith(begins)
    assert "exists" in command("plot", folders["dedup"], "clusters", "-o", out).error
    assert command("plot", folders["dedup"], "clusters", "-o", out, "--overwrite").code == 0


def test_the_command_refuses(folders: dict[str, Path], command: Command, tmp_path: Path) -> None:
    said = command("plot", folders["dedup"], "pie", "-o", tmp_path / "a.svg").error
    assert "similarity, clusters, sources" in said
    said = command("plot", folders["dedup"], "clusters", "-o", tmp_path / "a.doc").error
    assert "is not named as a figure" in said
    assert not list(tmp_path.iterdir())
    assert issubclass(OutputError, neardup.NeardupError)


def test_no_axes_are_shown_as_text(folders: dict[str, Path]) -> None:
    """As the last value of a cell, of which a notebook shows the text."""
    formatting = pytest.importorskip("IPython.core.formatters", reason="IPython is not installed")
    axes = neardup.open(folders["dedup"]).plot()
    assert formatting.DisplayFormatter().format(axes) == ({}, {})


def test_clusters_by_size_and_two_documents(folders: dict[str, Path]) -> None:
    run = neardup.open(folders["dedup"])
    table = run.clusters_by_size().to_pylist()
    sizes = [row["documents"] for row in table]
    assert sizes == sorted(sizes, reverse=True) and min(sizes) > 1
    counts = run.summary["counts"]
    assert len(table) == counts["clusters_of_two_or_more"]
    assert sizes[0] == counts["largest_cluster"] == run.cluster(table[0]["doc_id"]).documents
    first, other = run.duplicates["duplicate_of"][0].as_py(), run.duplicates["doc_id"][0].as_py()
    assert run.compare(first, other).similarity == run.duplicates["similarity"][0].as_py()
