"""An index of records: numbers, checks, explanations, removed and replaced records, relinking."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from made_records import NAMES, made_persons, true_pairs

import neardup
from common import Command, Tune, tries

People = tuple[pa.Table, pa.Table]


@pytest.fixture
def index(linked: neardup.LinkRun, tmp_path: Path) -> Iterator[neardup.RecordIndex]:
    with linked.index(tmp_path / "people.index") as made:
        yield made


def clusters_of(index: neardup.RecordIndex) -> dict[str, int]:
    table = index.clusters
    return dict(zip(table["id"].to_pylist(), table["cluster"].to_pylist(), strict=True))


def test_numbers_and_check(index: neardup.RecordIndex, linked: neardup.LinkRun) -> None:
    stats, counts = index.stats(), linked.summary["counts"]
    assert [stats[k] for k in ("records", "clusters", "largest", "entities")] == [
        counts[k] for k in ("records", "clusters", "largest", "entities")
    ]
    assert stats["fields"].split(",") == [name.partition(":")[0] for name in NAMES]
    assert index.check() == []
    store = index._store
    with store.core.writing():
        store.core.catalogue.execute("UPDATE sizes SET size = size + 1 WHERE size = 1")
    assert "sizes of clusters" in index.check()[0]
    with store.core.writing():
        store.core.catalogue.execute("UPDATE learnt SET data = x'00' WHERE name = 'model'")
    assert "model" in index.check()[0]


def test_explained_as_by_the_linkage(index: neardup.RecordIndex, linked: neardup.LinkRun) -> None:
    for row in linked.pairs.slice(0, 20).to_pylist():
        ids = row["id_a"], row["id_b"]
        here, there = index.explain(*ids), linked.explain(*ids)
        assert here["match"] and here["candidate"]
        assert here["fields"] == there["fields"]
        assert here["total"] == pytest.approx(there["total"], abs=0.01)
    ids = index.clusters["id"].to_pylist()
    assert not index.explain(ids[0], ids[1])["match"]
    with pytest.raises(neardup.InputError):
        index.explain(ids[0], "nobody")


def test_removed_records_are_gone(index: neardup.RecordIndex, people: People) -> None:
    before = clusters_of(index)
    cluster = max(before.values(), key=list(before.values()).count)
    gone = [id_ for id_, of in before.items() if of == cluster]
    index.remove(gone)
    assert clusters_of(index) == {k: v for k, v in before.items() if k not in gone}
    assert index.check() == []
    with pytest.raises(neardup.InputError):
        index.remove([gone[0], next(iter(before))])
    assert len(index) == len(before) - len(gone)
    table = people[0]
    again = table.take(np.flatnonzero([id_ in gone for id_ in table["id"].to_pylist()]))
    back = neardup.link(again, against=index)
    # They are linked with one another only, by numbers that were never given away.
    assert set(back.clusters["cluster"].to_pylist()).isdisjoint(before.values())
    assert index.check() == [] and len(index) == len(before)


def test_replaced_records(index: neardup.RecordIndex, people: People) -> None:
    table, before = people[0], clusters_of(index)
    first, other = table.slice(0, 1), table.slice(1, 1)
    changed = other.set_column(0, "id", first["id"])
    run = index.update(changed)
    assert run.clusters["cluster"].to_pylist() == [before[other["id"][0].as_py()]]
    after = clusters_of(index)
    assert len(after) == len(before)
    rest = [id_ for id_ in before if id_ != first["id"][0].as_py()]
    assert all(after[id_] == before[id_] for id_ in rest)
    assert index.check() == []
    assert [c.as_py() for c in run.pairs["id_a"]].count(other["id"][0].as_py()) == 1


def small_index(**more: object) -> neardup.RecordIndex:
    table, _ = made_persons(60, seed=2)
    return neardup.link(table, id="id", fields=NAMES, **more).index()  # type: ignore[arg-type]


def groups_of(index: neardup.RecordIndex) -> set[frozenset[str]]:
    groups: dict[int, set[str]] = {}
    for id_, cluster in clusters_of(index).items():
        groups.setdefault(cluster, set()).add(id_)
    return {frozenset(group) for group in groups.values()}


@pytest.mark.long
@pytest.mark.parametrize(
    ("rows", "segments"), [([0], True), ([7, 20, 3], False), ([*range(36)], True)]
)
def test_unchanged_records_are_updated_as_if_they_came_last(
    rows: list[int], segments: bool, tune: Tune
) -> None:
    if segments:
        tune(logged_documents=1)
    table, _ = made_persons(300)
    given = table.take(rows)
    rest = table.filter(pa.array(~np.isin(np.arange(len(table)), rows)))
    with neardup.link(table, id="id", fields=NAMES).index() as index:
        before = clusters_of(index)
        run = index.update(given)
        assert index.check() == []
        after = clusters_of(index)
        last = groups_of(index)
    ids = given["id"].to_pylist()
    assert list(after) == [id_ for id_ in before if id_ not in ids] + ids
    assert all(after[id_] == before[id_] for id_ in rest["id"].to_pylist())
    assert run.clusters["id"].to_pylist() == ids
    with neardup.link(rest, id="id", fields=NAMES).index() as index:
        neardup.link(given, against=index)
        assert groups_of(index) == last


@pytest.mark.long
def test_removed_records_are_no_candidates(tmp_path: Path) -> None:
    table, _ = made_persons(300)
    given = table.slice(0, 36)
    run = neardup.link(table, id="id", fields=NAMES)
    with run.index() as one, run.index(tmp_path / "other") as other, run.index() as third:
        one.update(given)
        other.remove(given["id"].to_pylist())
        third.remove(given["id"].to_pylist())
        found = neardup.link(given, against=third)
        assert not set(found.pairs["id_a"].to_pylist()) - set(table["id"].to_pylist())
        other.close()
        with neardup.RecordIndex.open(tmp_path / "other") as again:
            neardup.link(given, against=again)
            assert again.check() == third.check() == []
            assert clusters_of(again) == clusters_of(one) == clusters_of(third)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(tries(2, 3)))
def test_random_histories(seed: int, tune: Tune) -> None:
    if seed % 2:
        tune(logged_documents=5)
    random = np.random.default_rng(seed)
    table, _ = made_persons(60, seed=2)
    persons = {row["id"]: row for row in table.to_pylist()}
    out: dict[str, dict[str, str]] = {}
    with small_index() as index:
        for step in range(12):
            before = clusters_of(index)
            assert list(before) == list(persons)
            count = int(random.integers(1, 12))
            kind = ("update", "remove", "link")[step % 3 if step < 6 else random.integers(3)]
            chosen = random.permutation(list(out if kind == "link" else persons))[:count].tolist()
            if not chosen:
                continue
            if kind == "link":
                rows = {id_: out.pop(id_) for id_ in chosen}
                neardup.link(pa.Table.from_pylist(list(rows.values())), against=index)
            else:
                rows = {id_: persons.pop(id_) for id_ in chosen}
                if kind == "remove":
                    index.remove(chosen)
                    out |= rows
                    rows = {}
                else:  # by the values of somebody else, or their own
                    other = random.choice(list(persons or rows))
                    rows[chosen[0]] = {**(persons | rows)[other], "id": chosen[0]}
                    index.update(pa.Table.from_pylist(list(rows.values())))
            persons |= rows
            after = clusters_of(index)
            assert index.check() == [] and list(after) == list(persons)
            assert all(after[id_] == before[id_] for id_ in persons if id_ not in rows)
            if kind == "update" and other in persons:
                assert after[chosen[0]] == after[other]
            stored = index._store.everything().columns
            names = [name.partition(":")[0] for name in NAMES]
            for name, column in zip(names, stored, strict=True):
                assert column.to_pylist() == [row[name] or "" for row in persons.values()]


def test_notes_are_on_the_new_records() -> None:
    two = {"id": ["1", "2"], "name": ["anna bell", "karl zorn"], "month": ["7", "7"]}
    run = neardup.link(two, id="id", fields="name,month:digits")
    assert any("'month' has one value" in note for note in run.notes)
    table, _ = made_persons(100)
    months = [str(k % 12) for k in range(100)]
    new = {"id": table["id"], "name": table["surname"], "month": months}
    with run.index() as index:
        assert not any("one value" in note for note in neardup.link(new, against=index).notes)
        assert set(index.stats()).isdisjoint({"pending", "removed", "segments", "bytes_segments"})


@pytest.mark.long
def test_explained_as_by_the_run_that_inserted_them() -> None:
    """The share of matches among its pairs is another one than among those of the first records."""
    table, _ = made_persons(400, seed=6, near=0.5)
    fields = ["given_name", "surname", "birth:digits"]
    first = neardup.link(table.slice(0, 300), id="id", fields=fields)
    with first.index() as index:
        run = neardup.link(table.slice(300), against=index)
        assert not any("learnt again" in note for note in run.notes)
        rows = run.candidates.to_pylist()[::4]
        found = [index.explain(row["id_a"], row["id_b"]) for row in rows]
        for explained, row in zip(found, rows, strict=True):
            assert explained["score"] == pytest.approx(row["score"], abs=1e-6)
        for row in first.candidates.to_pylist()[:50:2]:
            explained = index.explain(row["id_a"], row["id_b"])
            assert explained["score"] == pytest.approx(row["score"], abs=0.001)


def test_relinking_with_labels() -> None:
    """An index has the marks, so that one linkage of all its records changes nothing."""
    table, truth = made_persons(400, seed=9, near=0.5)
    fields = ["given_name", "surname", "suburb"]
    one = neardup.link(table, id="id", fields=fields)
    true = true_pairs(truth)
    rows = one.candidates.to_pylist()[:300]
    labels = [(r["id_a"], r["id_b"], (r["id_a"], r["id_b"]) in true) for r in rows]
    with neardup.link(table, id="id", fields=fields, labels=labels).index() as index:
        found = index.relink()
        assert found.agreement == 1 and not found.changed.num_rows
        assert index.unmark([(b, a) for a, b, _ in labels]) == len(labels)
        assert index.unmark([labels[0][:2]]) == 0


def test_relinking_records_without_values() -> None:
    table, _ = made_persons(5, seed=1)
    with neardup.link(table, id="id", fields=["given_name", "surname"]).index() as index:
        empty = {"id": ["a", "b"], "given_name": ["", None], "surname": [None, ""]}
        neardup.link(empty, against=index)
        index.remove(table["id"].to_pylist())
        found = index.relink()
        assert (found.records, found.together, found.then, found.agreement) == (2, 0, 0, 1.0)


@pytest.mark.long
def test_relinking_says_what_would_change(people: People) -> None:
    table = people[0]
    run = neardup.link(table.slice(0, 750), id="id", fields=NAMES)
    with run.index() as index:
        neardup.link(table.slice(750), against=index)
        before = clusters_of(index)
        found = index.relink()
        assert clusters_of(index) == before
    one = neardup.link(table, id="id", fields=NAMES)
    assert found.records == 1500 and found.agreement >= 0.98
    sizes = one.clusters["size"].to_numpy()
    assert found.then == pytest.approx(sum(sizes - 1) / 2, abs=3)
    assert found.changed.num_rows <= 20
    assert f"{found.records:,}" in str(found)
    same = neardup.link({"n": ["anna maria", "anna mari", "peter"]}, fields="n", decide_at=0.1)
    with same.index() as index:
        assert index.relink().agreement == 1.0


@pytest.mark.long
def test_weights_are_learnt_again_from_half_as_many_again(people: People, tmp_path: Path) -> None:
    table, path = people[0], tmp_path / "growing"
    one = neardup.link(table, id="id", fields=NAMES)
    pairs = [(row["id_a"], row["id_b"]) for row in one.pairs.slice(0, 8).to_pylist()]
    first = neardup.link(table.slice(0, 700), id="id", fields=NAMES)
    with first.index(path) as index, neardup.RecordIndex.open(path, readonly=True) as other:
        neardup.link(table.slice(700, 300), against=index)
        assert index.stats()["learnt_from"] == other.stats()["learnt_from"] == 700
        before = clusters_of(index)
        neardup.link(table.slice(1000), against=index)
        # What another process has open takes the new weights over: those of one linkage of all.
        for pair in pairs:
            assert str(other.explain(*pair)) == str(index.explain(*pair))
            assert other.explain(*pair)["total"] == pytest.approx(one.explain(*pair)["total"])
        assert other.stats()["learnt_from"] == 1500
        after = clusters_of(other)
        assert all(after[id_] == cluster for id_, cluster in before.items())
        assert index.check() == []
        # The keys of records that come now are like those of the first ones.
        again = table.slice(0, 40).set_column(0, "id", pa.array([f"again-{k}" for k in range(40)]))
        run = neardup.link(again, against=index)
        assert run.pairs.num_rows >= 40
        found = run.clusters["cluster"].to_pylist()
        assert found == [after[id_] for id_ in table["id"].to_pylist()[:40]]


def test_marks_hold_in_an_index(people: People, tmp_path: Path) -> None:
    """For records that come again, and with weights learnt again, until they are taken back."""
    table = people[0].slice(0, 300)
    run = neardup.link(table, id="id", fields=NAMES)
    sure, none = run.pairs.to_pylist()[0], (table["id"][5].as_py(), table["id"][9].as_py())
    labels = [(sure["id_a"], sure["id_b"], False), (*none, True)]

    def answers() -> list[bool]:
        of = clusters_of(index)
        return [of[a] == of[b] for a, b, _ in labels]

    run = neardup.link(table, id="id", fields=NAMES, labels=labels, out=tmp_path / "run")
    with neardup.open(tmp_path / "run").index(tmp_path / "i") as index:
        assert answers() == [False, True]
        assert index.explain(*none)["known"] == "marked"
        rows = [table["id"].to_pylist().index(id_) for _, id_, _ in labels]
        for _ in range(2):
            again = index.update(table.take(rows), id="id")
            assert answers() == [False, True]
        assert none in zip(
            *(again.pairs[name].to_pylist() for name in ("id_a", "id_b")), strict=True
        )
        neardup.link(people[0].slice(300, 900), against=index)
        assert index.stats()["learnt_from"] == 1200 and answers() == [False, True]
        assert index.unmark([none]) == 1
        index.update(table.take(rows), id="id")
        assert index.explain(*none)["known"] is None


def test_commands(index: neardup.RecordIndex, people: People, command: Command) -> None:
    folder = index.path
    assert folder is not None
    ids = index.clusters["id"].to_pylist()[:2]
    expected = index.stats(), str(index.explain(*ids))
    index.close()
    assert json.loads(command("index", "stats", folder, "--json").out) == expected[0]
    checked = command("index", "check", folder)
    assert checked.code == 0 and checked.out.startswith("no errors, ")
    assert checked.out.endswith(" records\n")
    assert command("explain", folder, *ids).out == expected[1] + "\n"
    assert command("index", "remove", folder, ids[0]).code == 0
    answer = command("index", "remove", folder, ids[0])
    assert "no record with the id" in answer.error
    assert "clusters.parquet" in answer.lines[1]
    changed = folder.parent / "changed.parquet"
    pq.write_table(people[0].slice(0, 1), changed)
    assert command("index", "update", folder, changed).code == 0
    answer = command("link", changed, "--against", folder.parent / "none", "-o", folder / "x")
    assert answer.lines[1] == "hint: make one with neardup link --index"
    assert "agreement" in command("index", "relink", folder).out
    for line in (("add", folder, changed), ("query", folder, changed), ("compact", folder)):
        assert "is an index of records" in command("index", *line).error
    for other in ("audit", "recluster", "pairs"):
        more = ["-o", folder.parent / "x"] if other == "recluster" else []
        assert "is an index" in command(other, folder, *more).error
