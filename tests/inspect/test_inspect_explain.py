"""Why documents were removed or kept is what happened."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from inspect_calls import explain

import neardup
from neardup.errors import InputError, InputNotFoundError, SpecError
from neardup.inspect.compare import compare
from neardup.inspect.explain import Explanation
from neardup.results.results import Results, open_results
from neardup.sketch.sketcher import Sketcher
from neardup.spec import ShingleSpec, Spec
from neardup.views.compared import render, view
from neardup.views.view import Row

#: 40 bands of 4, so that what reaches 0.7 is found.
SPEC = Spec(shingle=ShingleSpec(n=1), threshold=0.7, num_bands=40, rows=4)


def window(start: int, size: int = 100, name: str = "f") -> str:
    return " ".join(f"{name}{i}" for i in range(start, start + size))


#: By id: a family, a chain of windows, a crowd of which each member adds a word, and singles.
ROWS = {
    "family": window(0),
    "copy": window(0),
    "capitals": window(0).upper() + "!",
    "near": window(0, 90) + " " + window(0, 5, "g"),
    "chain-0": window(0, 100, "c"),
    "chain-1": window(15, 100, "c"),
    "chain-2": window(30, 100, "c"),
    "crowd": window(0, 60, "k"),
    **{f"crowd-{i:02}": window(0, 60, "k") + f" extra{i}" for i in range(30)},
    "alone": window(0, 50, "x"),
    "empty": " ",
}


def written(folder: Path) -> Path:
    path = folder / "n.jsonl"
    rows = [json.dumps({"id": id, "text": text}) for id, text in ROWS.items()]
    path.write_text("\n".join(rows) + "\n")
    return path


def run(source: Any, out: Path | None = None, **changes: Any) -> Results:
    return neardup.dedup(source, id="id", spec=SPEC.replace(**changes), out=out)._results


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory, kernels: None) -> Path:
    folder = tmp_path_factory.mktemp("explained")
    run(written(folder), folder / "out", pairs="all")
    return folder / "out"


@pytest.fixture(scope="module")
def results(out: Path) -> Results:
    return open_results(out)


def test_a_removed_document(results: Results) -> None:
    found = explain(results, "near")
    assert not found.document.kept and found.why.startswith("removed: similarity 0.8571")
    assert found.other is not None and found.comparison is not None
    assert found.document.duplicate_of == found.other.doc_id == "family"
    assert found.document.similarity == found.comparison.similarity == 90 / 105
    assert (found.comparison.containment_a, found.comparison.containment_b) == (90 / 95, 90 / 100)
    assert found.document.cluster == found.other.cluster == 0
    assert (found.document.members, found.document.members_kept) == (4, 1)
    assert found.listed and found.edge
    assert found.buckets is not None and found.buckets.how == "bands"
    assert found.texts == (ROWS["near"], ROWS["family"])
    assert found.comparison == compare(ROWS["near"], ROWS["family"], SPEC)


def test_the_bands_in_which_they_share_a_bucket(results: Results) -> None:
    """Against keys made of the texts one by one."""
    sketcher = Sketcher(results.recipe)
    for one, two in (("near", "family"), ("chain-0", "chain-1"), ("crowd-03", "crowd")):
        keys = [sketcher([ROWS[id]]).keys[0] for id in (one, two)]
        bands = tuple((np.flatnonzero(keys[0] == keys[1]) + 1).tolist())
        found = explain(results, one, two).buckets
        assert found is not None and bands
        assert (found.how, found.bands, found.num_bands) == ("bands", bands, 40)
        assert 0.9 < found.probability <= 1


def test_equal_tokens(results: Results) -> None:
    for one, two, equal in (
        ("copy", "family", "bytes"),
        ("capitals", "family", "tokens"),
        ("capitals", "copy", "tokens"),
    ):
        found = explain(results, one, two)
        assert found.comparison is not None and found.buckets is not None
        assert (found.comparison.equal, found.comparison.similarity) == (equal, 1.0)
        assert found.comparison.note and found.buckets.how == "equal"


def test_kept_ones_name_their_duplicates(results: Results) -> None:
    found = explain(results, "crowd")
    assert found.document.kept and not found.second_asked
    assert found.duplicates_count == 30 and len(found.duplicates) == 20
    assert [n.doc_id for n in found.duplicates] == [f"crowd-{i:02}" for i in range(20)]
    assert {n.similarity for n in found.duplicates} == {60 / 61}
    assert len(explain(results, "crowd", limit=100).duplicates) == 30
    # The nearest one is compared with, as if it had been asked about.
    assert found.other is not None and found.other.doc_id == "crowd-00"
    assert found.comparison == explain(results, "crowd", "crowd-00").comparison
    family = explain(results, "family")
    assert [n.doc_id for n in family.duplicates] == ["near", "capitals", "copy"]
    assert [n.similarity for n in family.duplicates] == [90 / 105, 1, 1]
    assert [n.how for n in family.duplicates] == ["near", "words", "same"]
    assert (family.same, family.equal_words) == (1, 1)
    assert family.other is not None and family.other.doc_id == "near"  # equal ones come last
    none = explain(results, "crowd", limit=0)
    assert (none.duplicates, none.duplicates_count) == ((), 30)


def test_alone_and_why(results: Results) -> None:
    for id, form, why in (("alone", "long", "no kept document"), ("empty", "empty", "never")):
        found = explain(results, id)
        assert found.document.kept and found.document.members == 1 and found.document.form == form
        assert found.duplicates_count == 0 and found.other is None and why in found.why
        assert found.texts == (ROWS[id],)


def test_edges_are_known_where_pairs_were_listed(tmp_path: Path, kernels: None) -> None:
    source = written(tmp_path)
    joined = explain(run(source, cluster="components"), "chain-0", "chain-2")
    assert not joined.edge and joined.document.members == 3
    star = explain(run(source, pairs="all"), "chain-1", "chain-2")
    assert star.edge and star.document.cluster != star.other.cluster
    assert star.comparison is not None and star.comparison.duplicates
    unlisted = explain(run(source), "chain-1", "chain-2")
    assert not unlisted.listed and not unlisted.edge
    assert unlisted.comparison == star.comparison and unlisted.buckets == star.buckets


def test_the_edge_of_a_copy_is_listed_for_another(kernels: None) -> None:
    first, second = ROWS["family"], ROWS["near"]
    texts = [first, second, second, first, ROWS["alone"]]
    listed = neardup.dedup(texts, cluster="components")
    for id, other, of, says in (
        (2, 0, (), "listed"),
        (2, 3, (0, 1), "listed for 0 and 1, which have the same shingles"),
        (1, 0, (), "listed"),
        (1, 2, (), "listed"),
        (4, 3, (), "none"),
    ):
        found = listed.explain(id, other)
        assert (found.edge, found.edge_of) == (says != "none", of)
        assert Row("edge", remark=says) in view(found).notes
    twice = neardup.dedup([second, *[first] * 3], cluster="components").explain(2, 3)
    assert twice.edge and twice.edge_of == (1,)


def test_all_pairs_need_no_buckets(tmp_path: Path, kernels: None) -> None:
    results = run(written(tmp_path), method="allpairs", num_bands=None, rows=None)
    found = explain(results, "near")
    assert found.buckets is not None and found.buckets.how == "join"
    far = explain(results, "chain-0", "chain-2").buckets
    assert far is not None and (far.how, far.num_bands) == ("none", 0)


def plain(found: Explanation) -> dict[str, Any]:
    values = found.as_dict()
    return {k: v for k, v in values.items() if k not in ("run", "listed", "edge")}


def test_a_run_in_memory_explains_the_same(results: Results) -> None:
    rows = pa.table({"id": list(ROWS), "text": list(ROWS.values())})
    for source in (rows, rows.to_pydict()):
        for ids in (("near",), ("crowd",), ("copy", "capitals"), ("empty",)):
            assert plain(explain(run(source), *ids)) == plain(explain(results, *ids))


def test_positions_are_ids_without_ids(tmp_path: Path, kernels: None) -> None:
    made = neardup.dedup(list(ROWS.values()), spec=SPEC)._results
    found = explain(made, 3)
    assert found.document.doc_id == 3 and found.document.duplicate_of == 0
    assert explain(made, "3", "0").comparison == found.comparison
    for bad, says in (("99", "no document has the id 99"), ("near", "ids are of type int64")):
        with pytest.raises(InputError, match=says):
            explain(made, bad)


def test_short_documents(kernels: None) -> None:
    made = neardup.dedup(["a b", "c", "A b.", ""])._results
    short = explain(made, 1)
    assert short.document.form == "short" and "shorter than a shingle" in short.why
    found = explain(made, 2)
    assert found.comparison is not None
    assert found.comparison.equal == "tokens" and found.document.duplicate_of == 0
    empty = explain(made, 3, 1)
    assert empty.comparison is not None and empty.buckets is not None
    assert empty.comparison.similarity == 0 and empty.buckets.how == "none"
    assert "one text is empty" in empty.comparison.note


def test_errors(results: Results) -> None:
    with pytest.raises(InputError, match="no document has the id nobody"):
        explain(results, "nobody")
    with pytest.raises(SpecError, match="both ids are those of one document"):
        explain(results, "near", "near")
    with pytest.raises(SpecError, match="`limit` is -1"):
        explain(results, "near", limit=-1)
    with pytest.raises(SpecError, match="`threads` is 0"):
        explain(results, "near", threads=0)


def test_an_input_that_is_gone_or_changed(tmp_path: Path, kernels: None) -> None:
    path = written(tmp_path)
    run(path, tmp_path / "out", pairs="all")
    raw, times = path.read_bytes(), path.stat()

    def refused(match: str) -> str:
        with pytest.raises(InputError, match=match) as raised:
            explain(open_results(tmp_path / "out"), "near")
        assert "texts=False" in raised.value.hint
        # The tables alone still say a lot.
        found = explain(open_results(tmp_path / "out"), "near", texts=False)
        assert found.document.similarity == 90 / 105 and found.document.duplicate_of == "family"
        assert found.comparison is None and found.buckets is None and found.texts is None
        assert found.document.tokens is None and "is removed" in render(view(found))
        return found.notes[0]

    path.unlink()
    assert "not read" in refused(r"n\.jsonl, an input of .*, is gone")
    path.write_bytes(raw + b"\n")
    refused(r"n\.jsonl has changed since the run")
    # Replaced without a trace, which only the texts betray.
    path.write_bytes(raw.replace(b" f7 ", b" g7 ", 1))
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    with pytest.raises(InputError, match="differs from the stored one"):
        explain(open_results(tmp_path / "out"), "near")
    path.write_bytes(raw)
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert explain(open_results(tmp_path / "out"), "near").texts is not None


def test_damaged_tables(tmp_path: Path, kernels: None) -> None:
    out = tmp_path / "out"
    run(written(tmp_path), out, pairs="all")
    for name in ("edges.parquet", "clusters.parquet"):
        raw = (out / name).read_bytes()
        (out / name).write_bytes(raw[:-9])
        with pytest.raises(InputError, match=f"{name}: not readable, or damaged"):
            explain(open_results(out), "near")
        (out / name).unlink()
        with pytest.raises(InputError, match=f"{name} is gone"):
            explain(open_results(out), "near")
        (out / name).write_bytes(raw)
    table = pq.read_table(out / "clusters.parquet")
    rows = table.to_pylist()
    rows[3]["duplicate_of"] = "nobody"
    pq.write_table(pa.Table.from_pylist(rows, schema=table.schema), out / "clusters.parquet")
    with pytest.raises(InputError, match="a document is a duplicate of one that is not there"):
        explain(open_results(out), "near")


def test_what_is_no_run(tmp_path: Path) -> None:
    with pytest.raises(InputNotFoundError, match="no finished run of neardup is there"):
        neardup.open(written(tmp_path))
    with pytest.raises(InputNotFoundError, match="nowhere: no such folder"):
        neardup.open(tmp_path / "nowhere")
    (tmp_path / "clean").mkdir()
    (tmp_path / "run.json").write_text("{}")
    with pytest.raises(InputNotFoundError) as caught:
        neardup.open(tmp_path / "clean")
    assert caught.value.hint == f"did you mean {tmp_path}?"
    (tmp_path / "run.json").unlink()
    (tmp_path / ".run").mkdir()
    with pytest.raises(InputNotFoundError) as caught:
        neardup.open(tmp_path)
    assert caught.value.hint == "a run was interrupted there: give its command again"
    (tmp_path / ".run/run.sqlite").write_text("begun")
    with pytest.raises(InputNotFoundError) as caught:
        neardup.open(tmp_path)
    assert caught.value.hint.endswith("again, with resume=True")
    for damaged in ("", "[]", "[" * 100_000, '{"format": 3}'):
        (tmp_path / "run.json").write_text(damaged)
        with pytest.raises(InputError, match=r"run\.json is damaged") as caught:
            neardup.open(tmp_path)
        assert caught.value.hint == "run the command again"


def test_inputs_are_found_from_another_folder(
    tmp_path: Path, kernels: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(tmp_path)
    monkeypatch.chdir(tmp_path)
    results = run("n.jsonl", tmp_path / "out")
    assert [str(path) for path in results.inputs] == ["n.jsonl"]
    (tmp_path / "other").mkdir()
    monkeypatch.chdir("other")
    assert [path.path for path in results.inputs] == [tmp_path / "n.jsonl"]
    again = open_results(tmp_path / "out")
    assert [str(path) for path in again.inputs] == [str(tmp_path / "n.jsonl")]


def test_plain_values(results: Results) -> None:
    values = explain(results, "near").as_dict()
    assert json.loads(json.dumps(values)) == json.loads(json.dumps(values, default=str))
    assert values["comparison"]["duplicates"] is True and values["why"]
    assert values["document"]["duplicate_of"] == "family"
