"""Marks of an index of records: whatever comes, each marked pair has its answer."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pcsv
import pytest
from made_records import NAMES, made_persons

import neardup
from common import Command, core, tries

Mark = tuple[str, str, bool]


@pytest.fixture(scope="module")
def table() -> pa.Table:
    return made_persons(300, seed=4, near=0.4)[0]


def check(index: neardup.RecordIndex, marks: list[Mark]) -> None:
    """Compare clusters with marks of records that are there, and sizes with clusters."""
    of = dict(zip(*(index.clusters[name].to_pylist() for name in ("id", "cluster")), strict=True))
    for a, b, match in marks:
        if a in of and b in of:
            assert (of[a] == of[b]) is match, (a, b, match)
    assert index.check() == []


def written(path: Path, marks: list[Mark]) -> Path:
    rows = [f"{a},{b},{str(match).lower()}" for a, b, match in marks]
    path.write_text("\n".join(["id_a,id_b,duplicate", *rows, ""]))
    return path


def test_marks_of_new_and_old_records_by_the_command(
    table: pa.Table, tmp_path: Path, command: Command
) -> None:
    """A pair across, one of new records, and two of old ones; each against the evidence."""
    pcsv.write_csv(table.slice(0, 250), tmp_path / "old.csv")
    pcsv.write_csv(table.slice(250), tmp_path / "new.csv")
    folder = tmp_path / "people.index"
    fields = ",".join(NAMES)
    made = ("link", tmp_path / "old.csv", "--id", "id", "--fields", fields, "-o", tmp_path / "old")
    assert command(*made, "--index", folder).code == 0
    old, new = table["id"].to_pylist()[:250], table["id"].to_pylist()[250:]
    found = neardup.open(tmp_path / "old").pairs.to_pylist()[0]
    marks = [
        (old[3], new[7], True),
        (new[1], new[2], True),
        (old[10], old[20], True),
        (found["id_a"], found["id_b"], False),
    ]
    labels = written(tmp_path / "labels.csv", marks)
    linking = ("link", tmp_path / "new.csv", "--against", folder, "--labels", labels)
    done = command(*linking, "-o", tmp_path / "out")
    assert done.code == 0, done.error
    run = neardup.open(tmp_path / "out")
    assert any("the evidence contradicts 2 of the 2 marked pairs" in note for note in run.notes)
    assert any("marks contradict clusters of the index" in note for note in run.notes)
    pairs = {(row["id_a"], row["id_b"]) for row in run.pairs.to_pylist()}
    assert {(old[3], new[7]), (new[1], new[2])} <= pairs
    with neardup.RecordIndex.open(folder) as index:
        check(index, marks)
        of = dict(zip(*(index.clusters[n].to_pylist() for n in ("id", "cluster")), strict=True))
        rows = run.clusters.to_pylist()
        assert {row["id"]: row["cluster"] for row in rows} == {id_: of[id_] for id_ in new}
        assert index.explain(old[10], old[20])["known"] == "marked"
    # Later records leave the marks as they are; the marks are taken back one by one.
    assert command("index", "update", folder, tmp_path / "old.csv").code == 0
    with neardup.RecordIndex.open(folder) as index:
        check(index, marks)
    assert command("index", "unmark", folder, old[20], old[10]).code == 0
    assert "has no mark" in command("index", "unmark", folder, old[20], old[10]).error
    assert command("index", "update", folder, tmp_path / "old.csv").code == 0
    with neardup.RecordIndex.open(folder) as index:
        check(index, [*marks[:2], (old[10], old[20], False), marks[3]])


def test_doubtful_pairs_of_an_increment(table: pa.Table, tmp_path: Path, command: Command) -> None:
    """The folder lists them as the run does, and the index takes the marks."""
    index, out = tmp_path / "index", tmp_path / "out"
    neardup.link(table.slice(0, 250), id="id", fields=NAMES[:3]).index(index).close()
    run = neardup.link(table.slice(250), against=index, out=out)
    found = neardup.open(out)
    assert isinstance(found, neardup.LinkRun)
    assert found.pairs_with_records().equals(run.pairs_with_records())
    assert command("pairs", out, "--doubtful", "--limit", 9).out.count("\n") == 10
    row, of = found.doubtful(limit=1).to_pylist()[0], {one["id"]: one for one in table.to_pylist()}
    name = NAMES[0].partition(":")[0]
    assert [row[f"{name}_{k}"] for k in "ab"] == [of[row[f"id_{k}"]][name] or "" for k in "ab"]
    mark = (row["id_a"], row["id_b"], row["score"] < 0.5)
    assert command("index", "mark", index, written(tmp_path / "labels.csv", [mark])).code == 0
    with neardup.RecordIndex.open(index) as opened:
        check(opened, [mark])
    others = table.slice(0, 2).set_column(0, "id", pa.array(["x", "y"]))
    private = neardup.link(others, against=index, private_ids=True)
    with pytest.raises(neardup.SpecError, match="without their ids"):
        private.doubtful()


def test_marks_that_are_no_marks(table: pa.Table, tmp_path: Path, command: Command) -> None:
    run = neardup.link(table, id="id", fields=NAMES)
    ids = table["id"].to_pylist()
    with run.index(tmp_path / "i") as index:
        before = index.clusters
        index.mark([(ids[0], ids[1], True)])
        with pytest.raises(neardup.InputError, match="contradict each other") as wrong:
            index.mark([(ids[1], ids[2], True), (ids[0], ids[2], False)])
        assert {*re.findall(r"person-\d+", str(wrong.value))} == {*ids[:3]}
        with pytest.raises(neardup.InputError) as private:
            index.mark([(ids[0], ids[1], False)], private_ids=True)
        assert "person" not in str(private.value)
        with pytest.raises(neardup.InputError, match="no record with the id"):
            index.mark([(ids[0], "nobody", True)])
        new = {name: ["x"] for name in table.column_names}
        with pytest.raises(neardup.InputError, match="contradict"):
            neardup.link(new, against=index, labels=[(ids[0], ids[1], False)])
        assert len(index) == 300 and index._store.marks == [(ids[0], ids[1], True)]
        index.unmark([(ids[1], ids[0])])
        assert index.clusters.num_rows == before.num_rows
    labels = written(tmp_path / "labels.csv", [(ids[5], ids[6], True)])
    assert command("index", "mark", tmp_path / "i", labels).err == "2 records linked again\n"
    with neardup.RecordIndex.open(tmp_path / "i") as index:
        check(index, [(ids[5], ids[6], True)])


def test_marks_that_clusters_never_obey_end_in_an_error(
    table: pa.Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However linking again goes on, it ends, and nothing of it stays."""
    with neardup.link(table, fields=NAMES, id="id").index() as index:
        before, (a, b) = index.clusters, table["id"].to_pylist()[:2]
        one = index._store.fetch(np.array([0]))
        rounds: list[int] = []

        def misplaced(store: object) -> object:
            rounds.append(1)
            return one

        monkeypatch.setattr("neardup.linkage.incremental.linking_new.misplaced", misplaced)
        with pytest.raises(neardup.InputError, match="can't be made to agree with its marks"):
            index.mark([(a, b, True)])
        assert len(rounds) == 3 and index.clusters.equals(before) and index.check() == []


def test_records_of_a_cluster_follow_a_mark(table: pa.Table) -> None:
    """Two clusters of three that are said to be one, then to be none again."""
    first, other = (table.slice(k, 1) for k in (0, 5))
    copies = [
        one.set_column(0, "id", pa.array([f"{name}{k}"]))
        for name, one in (("a", first), ("b", other))
        for k in range(3)
    ]
    rows = pa.concat_tables([table, *copies])
    with neardup.link(rows, id="id", fields=NAMES).index() as index:
        assert index.mark([("a1", "b2", True)]) >= 3
        check(index, [("a1", "b2", True), ("a0", "a1", True), ("a0", "b0", False)])
        index.unmark([("a1", "b2")])
        assert index.mark([("a1", "b2", False)]) >= 1
        check(index, [("a1", "b2", False), ("b0", "b1", True), ("b0", "b2", True)])


@pytest.mark.parametrize("seed", range(tries(2, 6)))
@pytest.mark.parametrize("cluster", core(["average", "complete"], "complete"))
def test_each_mark_has_its_answer_always(seed: int, cluster: str, table: pa.Table) -> None:
    """Random marks, most of which contradict evidence and one another's clusters."""
    random = np.random.default_rng(seed)
    ids, marks = table["id"].to_pylist(), list[Mark]()
    groups = random.integers(60, size=len(ids))  # records of one number are marked as one
    run = neardup.link(table.slice(0, 150), id="id", fields=NAMES, cluster=cluster)
    with run.index() as index:
        for low in range(150, 300, 50):
            there = low + 50
            new = [
                (ids[a], ids[b], bool(groups[a] == groups[b]))
                for a, b in random.integers(there, size=(60, 2)).tolist()
                if a != b
            ]
            same = random.integers(60)
            chain = np.flatnonzero(groups[:there] == same).tolist()
            new += [(ids[a], ids[b], True) for a, b in itertools.pairwise(chain)]
            known = {frozenset(mark[:2]) for mark in new}
            marks = [mark for mark in marks if frozenset(mark[:2]) not in known] + new
            neardup.link(table.slice(low, 50), against=index, labels=new)
            check(index, marks)
            changed = random.permutation(there)[:30].tolist()
            index.update(table.take(changed))
            check(index, marks)
        index.remove(ids[10])
        index.mark([(ids[0], ids[200], bool(groups[0] == groups[200]))])
        check(index, marks)
        index.relink()
