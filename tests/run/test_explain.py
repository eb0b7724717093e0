"""What became of documents, and why, is told as it was."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from explained import FILES, ROWS, SPEC, run

import neardup
from neardup.errors import InputError, InputNotFoundError, SpecError
from neardup.run.finished import FinishedRun


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory, kernels: None) -> Path:
    return run(tmp_path_factory.mktemp("explained"))


def test_a_removed_document(out: Path) -> None:
    found = neardup.explain(out, "near")
    assert not found.document.kept
    assert found.other is not None and found.comparison is not None and found.meeting is not None
    assert found.document.kept_by == found.other.doc_id == "family"
    assert found.document.similarity == found.comparison.similarity == 90 / 105
    assert (found.comparison.containment_a, found.comparison.containment_b) == (90 / 95, 90 / 100)
    assert found.document.cluster == found.other.cluster == 0
    assert (found.document.members, found.document.members_kept) == (4, 1)
    assert found.edge and [n.doc_id for n in found.path] == ["family"]
    assert found.path[0].similarity == 90 / 105
    assert found.meeting.how == "band"
    assert found.texts == (ROWS["near"], ROWS["family"])
    assert "texts" in found.notes[0] and "signatures" in found.notes[0]


def test_the_band_in_which_they_met(out: Path) -> None:
    """Against signatures made of the texts one by one."""
    for one, two in (("near", "family"), ("chain-0", "chain-1"), ("crowd-03", "crowd")):
        signer = neardup.Signer(160, SPEC.scheme, SPEC.seed)
        signatures = neardup.sign([ROWS[one], ROWS[two]], signer, SPEC.shingle)
        equal = [
            band
            for band in range(40)
            if (
                signatures[0, 4 * band : 4 * band + 4] == signatures[1, 4 * band : 4 * band + 4]
            ).all()
        ]
        met = neardup.explain(out, one, two).meeting
        assert met is not None and equal
        assert (met.how, met.band, met.shared_bands) == ("band", equal[0] + 1, len(equal))
        assert met.num_bands == 40 and 0.9 < met.probability <= 1


def test_exact_duplicates(out: Path) -> None:
    for one, two, equal in (
        ("copy", "family", "bytes"),
        ("capitals", "family", "tokens"),
        ("capitals", "copy", "tokens"),
    ):
        found = neardup.explain(out, one, two)
        assert found.comparison is not None and found.meeting is not None
        assert (found.comparison.equal, found.comparison.similarity) == (equal, 1.0)
        assert found.meeting.how == "collapsed"
    # Of exact duplicates each has an edge with the first one: the way goes by it.
    assert [n.doc_id for n in found.path] == ["family", "copy"] and not found.edge


def test_kept_ones_say_who_repeats_them(out: Path) -> None:
    found = neardup.explain(out, "crowd")
    assert found.document.kept and not found.second_asked
    assert found.repeats == 30 and len(found.repeated_by) == 20
    assert [n.doc_id for n in found.repeated_by] == [f"crowd-{i:02}" for i in range(20)]
    assert {n.similarity for n in found.repeated_by} == {60 / 61}
    assert len(neardup.explain(out, "crowd", limit=100).repeated_by) == 30
    # Each with what it shares and how they met; the nearest one as if it had been asked about.
    for one in found.repeated_by:
        pair = neardup.explain(out, "crowd", one.doc_id)
        assert (one.comparison, one.meeting) == (pair.comparison, pair.meeting)
        assert pair.comparison is not None and pair.comparison.containment_b == 60 / 61
    assert found.other is not None and found.other.doc_id == "crowd-00"
    assert (found.comparison, found.path[-1].similarity) == (
        found.repeated_by[0].comparison,
        60 / 61,
    )
    assert found.texts == (ROWS["crowd"], ROWS["crowd-00"])
    family = neardup.explain(out, "family")
    assert [n.doc_id for n in family.repeated_by] == ["copy", "capitals", "near"]
    assert [n.meeting.how for n in family.repeated_by if n.meeting] == [
        *("collapsed", "collapsed", "band")
    ]
    assert family.other is not None and family.other.doc_id == "near"  # equal ones come last
    none = neardup.explain(out, "crowd", limit=0)
    assert (none.repeated_by, none.repeats, none.edges) == ((), 30, ())
    assert none.edges_count >= 30


def test_alone_and_why(out: Path) -> None:
    for id, form in (("alone", "long"), ("empty", "empty")):
        found = neardup.explain(out, id)
        assert found.document.kept and found.document.members == 1 and found.document.form == form
        assert found.repeats == found.edges_count == found.refused_count == 0
        assert found.texts == (ROWS[id],)


def test_edges_that_could_not_join(out: Path) -> None:
    """The chain falls apart: its last window has an edge to another cluster."""
    found = neardup.explain(out, "chain-2")
    assert found.document.kept and found.document.members == 1
    assert [(n.doc_id, n.similarity) for n in found.refused] == [("chain-1", 85 / 115)]
    assert found.refused_count == 1 and found.edges_count == 0
    pair = neardup.explain(out, "chain-2", "chain-1")
    assert pair.edge and pair.path == () and pair.comparison is not None
    assert pair.comparison.duplicates
    far = neardup.explain(out, "chain-2", "chain-0")
    assert not far.edge and far.comparison is not None
    assert far.comparison.similarity == 70 / 130 and not far.comparison.duplicates


def test_paths_stay_in_the_cluster(tmp_path: Path, kernels: None) -> None:
    spec = SPEC.replace(cluster="components")
    out = run(tmp_path, spec=spec)
    found = neardup.explain(out, "chain-0", "chain-2")
    assert [n.doc_id for n in found.path] == ["chain-1", "chain-2"]
    assert [n.similarity for n in found.path] == [85 / 115] * 2
    assert not found.edge


@pytest.mark.parametrize(
    "changes",
    [
        {"method": "allpairs", "num_bands": None, "rows": None},
        {"pairs": "all"},
        {"cluster": "star"},
    ],
)
def test_other_ways_to_run(tmp_path: Path, kernels: None, changes: dict) -> None:
    found = neardup.explain(run(tmp_path, spec=SPEC.replace(**changes)), "near")
    assert found.comparison is not None and found.meeting is not None
    assert found.comparison.similarity == 90 / 105 and found.path[-1].doc_id == "family"
    assert found.meeting.how == ("join" if "method" in changes else "band")


@pytest.mark.parametrize("name", FILES)
def test_texts_are_read_back_from_every_format(tmp_path: Path, name: str, kernels: None) -> None:
    out = run(tmp_path, name)
    again = FinishedRun(out)
    texts = list(ROWS.values())
    assert len(again.ends) > 1 or name == "texts"
    assert again.texts(np.arange(len(texts))) == texts
    for docs in ([0], [len(texts) - 1], [7, 3, 3, 20]):
        assert again.texts(np.array(docs)) == [texts[doc] for doc in docs]
    ids = list(ROWS) if name != "texts" else [f"{i:02} {key}" for i, key in enumerate(ROWS)]
    found = neardup.explain(out, ids[3])
    assert found.comparison is not None and found.comparison.similarity == 90 / 105
    assert found.texts == (texts[3], texts[0])


def test_many_texts_at_once(out: Path) -> None:
    """Beyond some, the source is gone through instead of looking each up."""
    again = FinishedRun(out)
    docs = np.arange(len(ROWS)).repeat(3)
    assert again.texts(docs) == [text for text in ROWS.values() for _ in range(3)]
    few, finished = neardup.run.finished._FEW, again
    try:
        neardup.run.finished._FEW = 0
        assert finished.texts(np.array([5, 2])) == [list(ROWS.values())[i] for i in (5, 2)]
    finally:
        neardup.run.finished._FEW = few


def test_seen_from_another_folder(
    tmp_path: Path, kernels: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    out = run(Path())
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert neardup.explain(tmp_path / out, "near").texts == (ROWS["near"], ROWS["family"])


def test_positions_are_ids_without_ids(tmp_path: Path, kernels: None) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in ROWS.values()))
    neardup.dedup_files(path, tmp_path / "out", spec=SPEC)
    found = neardup.explain(tmp_path / "out", 3)
    assert found.document.doc_id == 3 and found.document.kept_by == 0
    assert neardup.explain(tmp_path / "out", "3", "0").comparison == found.comparison
    for bad, says in (("99", "no document has the id 99"), ("near", "ids there are of type int64")):
        with pytest.raises(InputError, match=says) as raised:
            neardup.explain(tmp_path / "out", bad)
        assert "positions" in raised.value.hint


@pytest.mark.parametrize(
    "ids",
    [
        pa.array([2**60 + i for i in range(4)]),
        pa.array([1.5, 2.0, 3.25, 4.0]),
        pa.array([10, 20, 30, 40], pa.date32()),
        pa.array(["a", "b", "c", "d"]).dictionary_encode(),
        pa.array([b"a", b"b", b"c", b"d"]),
    ],
    ids=lambda ids: str(ids.type),
)
def test_ids_of_any_type(tmp_path: Path, kernels: None, ids: pa.Array) -> None:
    texts = ["one two three four five six", "other words here", "One two three four five six", "x"]
    pq.write_table(pa.table({"key": ids, "text": texts}), tmp_path / "n.parquet")
    neardup.dedup_files(tmp_path / "n.parquet", tmp_path / "out", id="key")
    shown = ids[2].as_py()
    found = neardup.explain(tmp_path / "out", shown.decode() if isinstance(shown, bytes) else shown)
    assert found.document.doc == 2 and found.document.kept_by == ids[0].as_py()
    assert found.meeting is not None and found.meeting.how == "collapsed"


def test_short_documents(tmp_path: Path, kernels: None) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text("".join(json.dumps({"text": t}) + "\n" for t in ("a b", "c", "A b.", "")))
    neardup.dedup_files(path, tmp_path / "out")
    assert neardup.explain(tmp_path / "out", 1).document.form == "short"
    found = neardup.explain(tmp_path / "out", 2)
    assert found.comparison is not None
    assert found.comparison.equal == "tokens" and found.document.kept_by == 0
    empty = neardup.explain(tmp_path / "out", 3, 1)
    assert empty.comparison is not None and empty.meeting is not None
    assert empty.comparison.similarity == 0 and empty.meeting.how == "none"


def test_errors(out: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no document has the id nobody"):
        neardup.explain(out, "nobody")
    with pytest.raises(InputError, match="no document has the id nobody"):
        neardup.explain(out, "near", "nobody")
    with pytest.raises(SpecError, match="both ids are those of one document, near"):
        neardup.explain(out, "near", "near")
    with pytest.raises(SpecError, match="limit"):
        neardup.explain(out, "near", limit=-1)
    with pytest.raises(SpecError, match="threads is 0"):
        neardup.explain(out, "near", threads=0)
    with pytest.raises(SpecError, match="threads is 0"):
        neardup.write_report(out, tmp_path / "page.html", threads=0)
    with pytest.raises(InputNotFoundError, match="no finished run"):
        neardup.explain(tmp_path, "near")


def test_an_input_that_is_gone_or_changed(tmp_path: Path, kernels: None) -> None:
    out = run(tmp_path)
    path = tmp_path / "n.jsonl"
    raw, times = path.read_bytes(), path.stat()

    def refused(match: str) -> str:
        with pytest.raises(InputError, match=match) as raised:
            neardup.explain(out, "near")
        assert "--no-text" in raised.value.hint
        # The tables alone still say a lot.
        found = neardup.explain(out, "near", texts=False)
        assert found.document.similarity == 90 / 105 and found.path[-1].doc_id == "family"
        assert found.comparison is None and found.meeting is None and found.texts is None
        assert found.document.tokens is None
        return found.notes[0]

    path.unlink()
    assert "not read" in refused(r"n\.jsonl, an input of .*, is gone")
    path.write_bytes(raw + b"\n")
    refused(r"n\.jsonl has changed since the run")
    path.write_bytes(raw)
    refused(r"n\.jsonl has changed since the run")
    # Replaced without a trace, which only the texts betray.
    path.write_bytes(raw.replace(b" f7 ", b" g7 ", 1))
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    with pytest.raises(InputError, match="no longer gives the similarities"):
        neardup.explain(out, "near")
    path.write_bytes(raw)
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert neardup.explain(out, "near").texts is not None


def test_a_frame_can_not_be_read_again(tmp_path: Path, kernels: None) -> None:
    rows = pa.table({"id": list(ROWS), "text": list(ROWS.values())})
    neardup.dedup(rows, spec=SPEC, id="id").write(tmp_path / "out")
    with pytest.raises(InputError, match="a frame or a pipe"):
        neardup.explain(tmp_path / "out", "near")
    found = neardup.explain(tmp_path / "out", "near", texts=False)
    assert found.document.kept_by == "family" and found.edge


def test_damaged_tables(tmp_path: Path, kernels: None) -> None:
    out = run(tmp_path)
    for name in ("edges.parquet", "clusters.parquet"):
        raw = (out / name).read_bytes()
        (out / name).write_bytes(raw[:-9])
        with pytest.raises(InputError, match=f"{name}: not readable, or damaged"):
            neardup.explain(out, "near")
        (out / name).unlink()
        with pytest.raises(InputNotFoundError, match=f"{name} is gone"):
            neardup.explain(out, "near")
        (out / name).write_bytes(raw)


def test_plain_values(out: Path) -> None:
    values = neardup.explain(out, "near").as_dict()
    assert json.loads(json.dumps(values)) == json.loads(json.dumps(values, default=str))
    assert values["comparison"]["duplicates"] is True
    assert values["document"]["kept_by"] == "family"
