"""A finished run with other settings equals a full run with the same bands, table for table."""

from __future__ import annotations

import functools
import json
import pickle
import random
import shutil
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from inspect_calls import recluster

import neardup
from common import Tune, core, files_of, tries, write_lines
from neardup.deduplication.clock import Event
from neardup.errors import (
    ColumnError,
    InputError,
    NeardupError,
    OutputError,
    ResumeError,
    SpecError,
)
from neardup.results.results import Results, open_results
from neardup.spec import CLUSTERINGS, ShingleSpec, Spec

#: Lower thresholds are tried too.
pytestmark = pytest.mark.filterwarnings("ignore::neardup.RecallWarning")
BASE = Spec(shingle=ShingleSpec(n=3), threshold=0.5, num_bands=20, rows=2)
ALLPAIRS = {"method": "allpairs", "num_bands": None, "rows": None}
STARTS: dict[str, dict[str, Any]] = {
    "default": {},
    "all pairs": {"pairs": "all"},
    "components": {"cluster": "components"},
    "bounded": {"cluster": "bounded", "tree_threshold": 0.3},
    "longest": {"keep": "longest", "pairs": "all"},
    "ordered": {"order_by": "rank", "pairs": "all"},
    "best": {"keep": "max:quality"},
    "join": {**ALLPAIRS, "cluster": "components"},
}
CHANGES: list[dict[str, Any]] = [
    {},
    *({"cluster": name, "threshold": 0.7} for name in CLUSTERINGS),
    {"threshold": 0.6, "tree_threshold": 0.45, "cluster": "bounded"},
    {"threshold": 0.4},
    {"pairs": "all", "cluster": "star"},
    {"pairs": "kept", "cluster": "components"},
    {"keep": "longest", "threshold": 0.55},
    {"keep": "min:quality", "cluster": "components"},
]


def corpus() -> list[dict[str, Any]]:
    """Chains of texts that drift away from each other, copies, short and empty ones."""
    draw = random.Random(5)
    rows: list[dict[str, Any]] = []
    for chain in range(25):
        words = [f"w{chain}x{i}" for i in range(40)]
        for step in range(draw.randint(1, 6)):
            rows.append({"id": f"c{chain}s{step}", "text": " ".join(words)})
            for _ in range(draw.randint(0, 3)):
                words[draw.randrange(len(words))] = f"n{len(rows)}"
    rows += [{"id": f"copy{i}", "text": rows[3 * i]["text"].upper()} for i in range(20)]
    # Other words in another order: equal sets of shingles, which are no exact duplicates.
    loop = [f"l{i}" for i in range(8)]
    rows += [{"id": f"loop{i}", "text": " ".join([*loop[i:], *loop, *loop])} for i in range(4)]
    rows += [{"id": f"short{i}", "text": "one two"} for i in range(3)]
    rows.append({"id": "empty", "text": ""})
    draw.shuffle(rows)
    ranks = draw.sample(range(len(rows)), len(rows))
    return [
        {**row, "rank": rank, "quality": draw.randrange(4)}
        for row, rank in zip(rows, ranks, strict=True)
    ]


ROWS = corpus()


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory, kernels: None) -> list[Path]:
    folder = tmp_path_factory.mktemp("recluster")
    half = len(ROWS) // 2
    return [write_lines(folder / f"{k}.jsonl", ROWS[k * half :][: half + k]) for k in (0, 1)]


@pytest.fixture(scope="module")
def full(source: list[Path]) -> Callable[[Spec], Results]:
    """A full run; each is done once."""

    @functools.cache
    def result(wanted: Spec) -> Results:
        return neardup.dedup(source, id="id", spec=wanted)._results

    return result


def check(found: Results, expected: Results, frame: bool = False) -> None:
    wanted_clusters = expected.clusters()
    if frame:  # it has neither file nor row
        wanted_clusters = wanted_clusters.drop_columns(["file", "row"])
    assert found.clusters().equals(wanted_clusters)
    edges, wanted = found.edges(), expected.edges()
    assert (edges is None) == (wanted is None)
    assert edges is None or wanted is None or edges.equals(wanted)
    names = {"documents", "kept", "removed", "clusters", "largest_cluster", "equal_tokens"}
    for name in names | {"clusters_of_two_or_more", "empty", "short"}:
        assert found.record["counts"][name] == expected.record["counts"][name], name
    assert found.recipe == expected.recipe and found.spec == expected.spec


@pytest.mark.parametrize("start", core(STARTS, "default"))
def test_equal_to_a_full_run(
    source: list[Path], tmp_path: Path, start: str, full: Callable[[Spec], Results]
) -> None:
    """From kept sketches and from the input; in memory, and with all files.

    All starts together meet every change, and each of them some.
    """
    every = [*range(len(CHANGES))]
    middle = every[1:-2]
    own = middle[list(STARTS).index(start) % len(middle)]
    which = tries([0, own, *every[-2:]], every)
    spec = BASE.replace(**STARTS[start])
    runs = [
        neardup.dedup(source, id="id", spec=spec)._results,
        neardup.dedup(source, id="id", spec=spec, out=tmp_path / "kept", keep_run=True)._results,
    ]
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "kept").rglob("*")}
    used = set()
    for number in which:
        changes = CHANGES[number]
        # A spec as recluster makes it, given to a full run.
        again = recluster(runs[0], **changes)
        expected = full(again.spec)
        check(again, expected)
        out = tmp_path / f"out{number}"
        written = recluster(runs[1], out, **changes)
        check(written, expected)
        assert written.record == json.loads((out / "run.json").read_text())
        assert not (out / ".run").exists()
        kept = [
            row["id"]
            for path in sorted((out / "clean").iterdir())
            for row in map(json.loads, path.read_text().splitlines())
        ]
        positions = expected.positions_of
        rows = range(len(ROWS)) if positions is None else positions.tolist()
        wanted = {ROWS[row]["id"] for row, k in zip(rows, expected.array("kept"), strict=True) if k}
        assert kept == [row["id"] for row in ROWS if row["id"] in wanted]
        assert again.record["recluster"]["run"] == "the run"
        assert written.record["recluster"]["run"] == str(tmp_path / "kept")
        used |= {again.record["recluster"]["used"], written.record["recluster"]["used"]}
        # In memory, and without a clean corpus: the tables decide what they can.
        bare = recluster(runs[1], **changes)
        check(bare, expected)
        if number % 2:
            alone = recluster(runs[1], tmp_path / f"bare{number}", clean=False, **changes)
            check(alone, expected)
            assert bare.record["recluster"] == alone.record["recluster"]
        assert bare.positions_of is None or bare.texts(np.arange(9)) == expected.texts(np.arange(9))
        used.add(bare.record["recluster"]["used"])
    assert {p: p.stat().st_mtime_ns for p in before} == before  # the run is only read
    assert used - {"tables"} == {"input", "sketches"}
    assert ("tables" in used) == (start in ("default", "all pairs", "ordered", "best"))


@pytest.mark.long
def test_what_is_used(source: list[Path], tmp_path: Path) -> None:
    def made(name: str, **changes: Any) -> Results:
        options = {"keep_run": changes.pop("keep_run", False)}
        spec = BASE.replace(**changes)
        return neardup.dedup(source, id="id", spec=spec, out=tmp_path / name, **options)._results

    cases = [
        (made("gone"), {"threshold": 0.7}, "input"),
        (made("kept", keep_run=True), {"threshold": 0.7}, "sketches"),
        # Lengths of texts, or a column, that the sketches don't have.
        (open_results(tmp_path / "kept"), {"keep": "longest"}, "input"),
        (open_results(tmp_path / "kept"), {"keep": "max:quality"}, "input"),
        (made("all", pairs="all"), {"threshold": 0.7}, "input"),
        (open_results(tmp_path / "all"), {"cluster": "components"}, "input"),
    ]
    for number, (results, changes, used) in enumerate(cases):
        found = recluster(results, tmp_path / f"{number}", **changes)
        assert found.record["recluster"]["used"] == used, changes
    # What was reclustered can be reclustered, and read.
    again = recluster(open_results(tmp_path / "4"), cluster="components")
    check(again, neardup.dedup(source, id="id", spec=again.spec)._results)
    assert neardup.open(tmp_path / "5").explain("short1").document.duplicate_of is not None


def test_keys_are_copied_by_a_file(source: list[Path], tmp_path: Path, tune: Tune) -> None:
    tune(scratch_bytes=0)
    neardup.dedup(source, id="id", spec=BASE, pairs="all", out=tmp_path / "run", keep_run=True)
    found = recluster(open_results(tmp_path / "run"), tmp_path / "out", threshold=0.7)
    assert found.record["recluster"]["used"] == "sketches"
    check(found, neardup.dedup(source, id="id", spec=found.spec)._results)


def test_a_lower_threshold_is_said_to_miss_more(source: list[Path]) -> None:
    results = neardup.dedup(source, id="id", spec=BASE)._results
    events: list[Event] = []
    found = recluster(results, threshold=0.3, listener=events.append)
    notes = [e.note for e in events if "bands were chosen" in e.note]
    assert notes == [
        "warning: the bands were chosen for 0.5; of the pairs at 0.3 they find 84.8 % "
        "(predicted); run dedup again with `threshold`=0.3 to find the others"
    ]
    assert found.record["bands"]["predicted_recall"] == pytest.approx(0.848, abs=1e-3)


def test_a_lower_threshold_never_misleads(source: list[Path], tmp_path: Path) -> None:
    run = neardup.dedup(source, id="id", threshold=0.9, shingle="word:4")
    assert "still alike" in str(run)
    with pytest.warns(neardup.RecallWarning, match=r"chosen for 0\.9; .* run dedup again") as found:
        lower = run.recluster(threshold=0.5)
    assert found[0].filename == __file__
    assert lower.summary["bands"]["predicted_recall"] < 0.9
    for shown in (str(lower), lower._repr_html_()):
        assert "still alike" not in shown
        assert "run dedup again at this threshold to find the others" in shown
    page = lower.report(tmp_path / "lower.html", progress=False).read_text()
    assert "Still alike" not in page and "Run dedup again at this threshold" in page
    assert "Still alike" in run.report(tmp_path / "run.html", progress=False).read_text()
    # An old corpus that misses so much is refused, with a remedy.
    with pytest.raises(neardup.RecipeError) as refused:
        neardup.against(["a"], lower)
    assert refused.value.hint == "run neardup dedup again at the threshold 0.5"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        higher = run.recluster(threshold=0.95)
        higher.recluster(threshold=0.92)  # its bands find these, too


@pytest.mark.long
def test_annotated_and_converted(source: list[Path], tmp_path: Path) -> None:
    neardup.dedup(source, id="id", spec=BASE, pairs="all", out=tmp_path / "run")
    results = open_results(tmp_path / "run")
    recluster(results, tmp_path / "a", threshold=0.7, annotate=True)
    recluster(results, tmp_path / "b", threshold=0.7, format="parquet")
    neardup.dedup(
        source,
        id="id",
        spec=BASE.replace(pairs="all", threshold=0.7),
        out=tmp_path / "c",
        annotate=True,
    )
    assert files_of(tmp_path / "a" / "clean") == files_of(tmp_path / "c" / "clean")
    kept = pa.parquet.read_table(tmp_path / "b" / "clean")
    assert kept.num_rows == recluster(results, threshold=0.7).record["counts"]["kept"]


def test_frames(source: list[Path], full: Callable[[Spec], Results], tmp_path: Path) -> None:
    table = pa.Table.from_pylist(ROWS)
    for pairs in ("kept", "all"):
        results = neardup.dedup(table, id="id", spec=BASE, pairs=pairs)._results
        for changes in ({"threshold": 0.7}, {"keep": "max:quality"}):
            found = recluster(results, **changes)
            check(found, full(found.spec), frame=True)
            written = recluster(results, tmp_path / "o", overwrite=True, **changes)
            check(written, full(found.spec), frame=True)


def test_errors(source: list[Path], tmp_path: Path, kernels: None) -> None:
    copy = tmp_path / "in.jsonl"
    copy.write_bytes(source[0].read_bytes())
    run, out = tmp_path / "run", tmp_path / "out"
    neardup.dedup(copy, id="id", spec=BASE, out=run)
    results = open_results(run)
    for changes, message in [
        ({"threshold": 1.4}, "threshold is 1.4"),
        ({"tree_threshold": 0.6, "cluster": "bounded"}, "tree threshold 0.6 is above the"),
        ({"tree_threshold": 0.4}, "a tree threshold is for bounded and disjoint-sets"),
        ({"cluster": "none"}, "no clustering"),
        ({"keep": "best"}, "keep is 'best'"),
    ]:
        with pytest.raises(SpecError, match=message):
            recluster(results, out, **changes)
    with pytest.raises(ColumnError, match="no column 'nothing'"):
        recluster(results, out, keep="max:nothing")
    with pytest.raises(ColumnError, match="no column 'nothing'"):
        recluster(neardup.dedup(pa.Table.from_pylist(ROWS), spec=BASE)._results, keep="max:nothing")
    for place in (run, run / "sub"):
        with pytest.raises(SpecError, match="is the run itself, or in its folder"):
            recluster(results, place, overwrite=True)
    out.mkdir()
    (out / "mine").touch()
    with pytest.raises(OutputError, match="exists, and neardup did not write it"):
        recluster(results, out, overwrite=True)
    (out / "mine").unlink()
    with copy.open("a") as file:
        file.write('{"id": "more", "text": "more"}\n')
    with pytest.raises(InputError, match=r"in\.jsonl has changed since the run"):
        recluster(open_results(run), out, overwrite=True)
    copy.unlink()
    with pytest.raises(NeardupError, match=r"an input of .*, is gone"):
        recluster(open_results(run), out, overwrite=True)
    assert list(out.iterdir()) == []


def test_a_damaged_run_folder_is_named_and_can_be_removed(
    source: list[Path], tmp_path: Path
) -> None:
    run, out = tmp_path / "run", tmp_path / "out"
    neardup.dedup(source, id="id", spec=BASE, out=run, keep_run=True)
    assert (
        recluster(open_results(run), out, threshold=0.6).record["recluster"]["used"] == "sketches"
    )
    state = run / ".run" / "run.sqlite"
    held = bytearray(state.read_bytes())
    for place in range(70_000, len(held), 5_000):
        held[place] ^= 1
    state.write_bytes(held)
    with pytest.raises(ResumeError, match=r"\.run") as error:
        recluster(open_results(run), out, threshold=0.6, overwrite=True)
    assert f"remove {run / '.run'}" in error.value.hint
    assert not (out / ".run").exists()
    shutil.rmtree(run / ".run")
    recluster(open_results(run), out, threshold=0.6, overwrite=True)


CHAIN = ["a b c d e f g h i j", "a b c d e f g h i x", "a b c d e f g y i x", "other words here"]


def chain(folder: Path, **options: Any) -> neardup.DedupRun:
    """A run whose input is gone: 1 is like 0 (0.67) and 2 (0.45), and 3 is alone."""
    texts = write_lines(folder / "gone.jsonl", [{"text": text} for text in CHAIN])
    settings = {"shingle": "word:1", "threshold": 0.4, "overwrite": True, **options}
    neardup.dedup(texts, out=folder / "run", **settings)
    texts.unlink()
    return neardup.open(folder / "run")


@pytest.mark.long
def test_tables_alone_as_far_as_they_go(tmp_path: Path, kernels: None) -> None:
    run = chain(tmp_path)
    assert run.keep_mask.tolist() == [True, False, False, True]
    similarity = run.duplicates["similarity"].to_pylist()
    assert similarity == pytest.approx([9 / 11, 8 / 12])
    same = run.recluster(threshold=0.66)
    assert same.clusters.equals(run.clusters) and same.spec.threshold == 0.66
    assert run.clusters.column_names[-2:] == ["file", "row"]
    assert same.summary["bands"]["predicted_recall"] > run.summary["bands"]["predicted_recall"]
    # 2 is a duplicate of 1 from 0.66 on, which only edges or texts say.
    for changes, says in (
        ({"threshold": 0.7}, "1 of 2 removed documents have a similarity below 0.7: the texts are"),
        ({"threshold": 0.3}, "a threshold below 0.4, that of the run, needs the texts"),
        ({"keep": "longest"}, "another `keep` needs the texts"),
        ({"cluster": "components"}, "edges or clusters of other settings need the texts"),
    ):
        with pytest.raises(InputError, match="is gone") as caught:
            run.recluster(**changes)
        assert says in caught.value.hint
    listed = chain(tmp_path, pairs="all")
    above = listed.recluster(tmp_path / "above", threshold=0.7, clean=False)
    assert above.summary["recluster"]["used"] == "tables"
    assert above.keep_mask.tolist() == [True, False, True, True]
    assert len(above.edges or ()) == 2 and len(listed.edges or ()) == 3
    assert above.summary["source"] == listed.summary["source"]
    assert above.recluster(threshold=0.85).keep_mask.all()
    again = pickle.loads(pickle.dumps(listed.recluster(threshold=0.7)))
    assert again.clusters.equals(above.clusters)
    with pytest.raises(InputError, match="is gone"):
        again.clean()
    with pytest.raises(InputError, match="is gone") as caught:
        listed.recluster(tmp_path / "clean", threshold=0.7)
    assert "leave out the clean corpus" in caught.value.hint


def test_a_folder_may_have_the_name_of_a_run_in_memory(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    run = neardup.dedup(CHAIN, shingle="word:1", threshold=0.4)
    assert run.recluster("the run", threshold=0.6).path == tmp_path / "the run"
