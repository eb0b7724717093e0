"""New records against an index: old clusters stay, and pairs are those of the obvious way."""

from __future__ import annotations

import itertools
import json
import math
import sqlite3
import stat
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from made_records import NAMES, grams, made_persons

import neardup
from common import Command, Tune, tries
from neardup.errors import DuplicateIdError, InputError, InputNotFoundError, SpecError, StoreError
from neardup.linkage.decision.clusters import Scored, join_clusters

People = tuple[pa.Table, pa.Table]
TEXT = ["given_name", "surname", "street", "suburb"]


def clusters(table: pa.Table) -> dict[Any, int]:
    return dict(zip(table["id"].to_pylist(), table["cluster"].to_pylist(), strict=True))


def rows_of(table: pa.Table) -> list[dict[str, str]]:
    return [{name: value or "" for name, value in row.items()} for row in table.to_pylist()]


@pytest.fixture(scope="module")
def first(people: People) -> neardup.LinkRun:
    return neardup.link(people[0].slice(0, 900), id="id", fields=NAMES)


@pytest.fixture
def grown(
    people: People, first: neardup.LinkRun
) -> tuple[neardup.RecordIndex, neardup.LinkRun, list[neardup.LinkRun]]:
    """An index of 900 persons, and two linkages against it, of 400 and 200."""
    table = people[0]
    index = first.index()
    more = [neardup.link(table.slice(*some), against=index) for some in ((900, 400), (1300,))]
    return index, first, more


@pytest.mark.long
def test_clusters_stay(people: People, grown: Any) -> None:
    index, first, more = grown
    ids = people[0]["id"].to_pylist()
    of = clusters(index.clusters)
    assert list(of) == ids
    for run in (first, *more):
        assert clusters(run.clusters).items() <= of.items()
    joined = [k for k, id in enumerate(ids) if k >= 900 and of[id] < 900]
    assert len(joined) > 50
    # A cluster has the number of its first record, so that none is used again.
    assert all(of[ids[of[id]]] == of[id] <= k for k, id in enumerate(ids))
    sizes = np.unique(list(of.values()), return_counts=True)
    assert index.clusters["size"].to_pylist() == [
        dict(zip(*sizes, strict=True))[of[i]] for i in ids
    ]
    last = more[1].clusters
    assert last["size"].to_pylist() == index.clusters["size"].to_pylist()[1300:]


@pytest.mark.long
def test_they_are_as_good_as_those_of_all_records_at_once(people: People, grown: Any) -> None:
    index, _, _ = grown
    found = index.evaluate(people[1])["clusters"]["pairwise"]["f1"]
    whole = neardup.link(people[0], id="id", fields=NAMES).evaluate(people[1])
    assert found > whole["decision"]["clusters"]["pairwise"]["f1"] - 0.01


def test_similarities_are_those_with_the_weights_of_the_first() -> None:
    table, _ = made_persons(360, seed=4, near=0.5)
    settings = {"fields": TEXT, "similarity": "fields"}
    first = neardup.link(table.slice(0, 300), id="id", **settings)
    run = neardup.link(table.slice(300), against=first.index())
    rows = rows_of(table)
    sets = [[grams(row[name], 2) for name in TEXT] for row in rows]
    distinct = [len({frozenset(row[k]) for row in sets[:300]} - {frozenset()}) for k in range(4)]
    number = {row["id"]: k for k, row in enumerate(rows)}
    found = run.candidates.to_pylist()
    assert len(found) > 100
    compared = {(row["id_a"], row["id_b"]) for row in found}
    alike = 0
    for a, b in itertools.product(range(360), range(300, 360)):
        both = [k for k in range(4) if sets[a][k] and sets[b][k]]
        weights = [math.log(distinct[k]) for k in both]
        shared = [len(sets[a][k] & sets[b][k]) / len(sets[a][k] | sets[b][k]) for k in both]
        if a < b and sum(weights) and np.dot(weights, shared) / sum(weights) >= 0.6:
            alike += 1  # and a candidate: no pair as similar as this one is lost
            assert (rows[a]["id"], rows[b]["id"]) in compared
    assert alike > 20
    for row in found:
        a, b = number[row["id_a"]], number[row["id_b"]]
        both = [k for k in range(4) if sets[a][k] and sets[b][k]]
        weights = [math.log(distinct[k]) for k in both]
        agreed = [len(sets[a][k] & sets[b][k]) / len(sets[a][k] | sets[b][k]) for k in both]
        expected = np.dot(weights, agreed) / sum(weights) if both else 0
        assert row["similarity"] == pytest.approx(expected, abs=1e-6)


@pytest.mark.long
def test_threads_do_not_matter_and_neither_does_the_disk(tmp_path: Path, tune: Tune) -> None:
    """A batch is large enough for a segment, and another one for the log."""
    tune(logged_documents=1000)
    table, _ = made_persons(1800, seed=2)
    first = neardup.link(table.slice(0, 1300), id="id", fields=NAMES)
    new = table.slice(1300)
    in_memory, folder = first.index(), tmp_path / "people.index"
    first.index(folder).close()
    found = [
        neardup.link(new, against=against, threads=threads)
        for against, threads in ((in_memory, 1), (folder, 2))
    ]
    assert found[0].pairs.equals(found[1].pairs)
    assert found[0].clusters.equals(found[1].clusters)
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o600}
    assert any(path.name.startswith("segment-") for path in folder.iterdir())
    with neardup.RecordIndex.open(folder) as index:
        assert len(index) == 1800
        assert index.clusters.equals(in_memory.clusters)
        assert "1,800 records" in repr(index)


def test_positions_continue() -> None:
    index = neardup.link(
        {"n": ["anna bell", "ann bell", "otto"]}, fields="n", decide_at=0.4
    ).index()
    for k, cluster in ((3, 0), (4, 4), (5, 4)):
        names = "anna bell" if k == 3 else "carl dorn"
        run = neardup.link({"n": [names]}, against=index)
        assert clusters(run.clusters) == {k: cluster}
        assert run.explain(0, k)["same_cluster"] == (cluster == 0) if k == 3 else True


def test_records_without_values_are_in_clusters_of_their_own() -> None:
    index = neardup.link({"n": ["anna bell", "ann bell", ""]}, fields="n", decide_at=0.4).index()
    run = neardup.link({"n": ["", None]}, against=index)
    assert clusters(run.clusters) == {3: 3, 4: 4}
    assert "2 of 2 records have no value in any field" in run.notes
    assert run.summary["counts"]["against"] == 3


def test_an_index_that_has_grown_is_noted() -> None:
    index = neardup.link({"n": ["anna bell", "otto"]}, fields="n", decide_at=0.4).index()
    run = neardup.link({"n": [f"person {k}" for k in range(9)]}, against=index)
    assert "learnt again, from all 11 records" in run.notes[-1]


@pytest.mark.parametrize("seed", range(tries(10, 30)))
@pytest.mark.parametrize("method", ["average", "complete"])
def test_joining_is_the_obvious_way(seed: int, method: str) -> None:
    rng = np.random.default_rng(seed)
    first, n = 10, 24
    names = rng.integers(0, 6, first)
    pairs = [(a, b) for a, b in itertools.combinations(range(n), 2) if b >= first]
    pairs = [pair for pair in pairs if rng.random() < 0.35]
    margin = rng.uniform(-2, 5, len(pairs))
    scored = Scored(*np.array(pairs).T, margin)
    sizes = {int(name): int((names == name).sum()) for name in np.unique(names)}
    numbers = 100 + np.arange(n - first)
    found = join_clusters(scored, names, sizes, numbers, method)
    assert found[:first].tolist() == names.tolist()
    weight = dict(zip(pairs, margin.tolist(), strict=True))
    for members in (averaged if method == "average" else merged)(weight, names, n):
        old = {int(names[k]) for k in members if k < first}
        number = old.pop() if old else min(members) + 100 - first
        assert not old
        assert {int(found[k]) for k in members} == {number}


def averaged(weight: Any, names: np.ndarray, n: int) -> list[set[int]]:
    first = len(names)
    found = [{k for k in range(first) if names[k] == name} for name in np.unique(names)]
    found += [{k} for k in range(first, n)]
    while True:
        best: tuple[float, Any, Any] = (-1.0, None, None)
        for one, two in itertools.combinations(found, 2):
            if min(one) < first and min(two) < first:
                continue
            pairs = [(min(p), max(p)) for p in itertools.product(one, two)]
            mean = float(np.mean([np.clip(weight.get(p, -3.0), -3, 5) for p in pairs]))
            best = max(best, (mean, one, two), key=lambda found: found[0])
        if best[0] < 0:
            return found
        found = [c for c in found if c not in best[1:]] + [best[1] | best[2]]


def merged(weight: Any, names: np.ndarray, n: int) -> list[set[int]]:
    first = len(names)
    order = np.unique(names).tolist()
    weight = {pair: margin for pair, margin in weight.items() if margin >= 0}
    found = [{k for k in range(first) if names[k] == name} for name in order]
    found += [{k} for k in range(first, n)]
    unit = [order.index(names[k]) if k < first else len(order) + k - first for k in range(n)]
    for x, y in sorted(weight, key=lambda e: (-weight[e], unit[e[0]], unit[e[1]])):
        one, other = (next(c for c in found if k in c) for k in (x, y))
        joins = one is not other and not (min(one) < first and min(other) < first)
        if joins and all((min(p), max(p)) in weight for p in itertools.product(one, other)):
            found = [c for c in found if c is not one and c is not other] + [one | other]
    return found


@pytest.mark.long
def test_complete_clusters_of_an_index(people: People) -> None:
    table = people[0]
    first = neardup.link(table.slice(0, 900), id="id", fields=NAMES, cluster="complete")
    index = first.index()
    run = neardup.link(table.slice(900), against=index)
    of = clusters(index.clusters)
    assert clusters(first.clusters).items() <= of.items()
    names = ("id_a", "id_b")
    pairs = {tuple(row[k] for k in names) for r in (first, run) for row in r.pairs.to_pylist()}
    groups: dict[int, list[Any]] = {}
    for id, cluster in of.items():
        groups.setdefault(cluster, []).append(id)
    together = {pair for ids in groups.values() for pair in itertools.combinations(ids, 2)}
    assert together <= pairs
    assert len(together) > 200


@pytest.mark.long
@pytest.mark.parametrize("seed", [3, 4, 5])
def test_complete_clusters_of_an_index_that_learns_again(seed: int) -> None:
    """One linkage of all may have new records with some old ones that do not match others."""
    table, _ = made_persons(400, seed=seed, near=0.7, missing=0.3)
    fields = ["given_name", "surname", "suburb"]
    first = neardup.link(table.slice(0, 200), id="id", fields=fields, cluster="complete")
    index = first.index()
    run = neardup.link(table.slice(200), against=index)
    assert "learnt again" in run.notes[-1]
    pairs = {(row["id_a"], row["id_b"]) for r in (first, run) for row in r.pairs.to_pylist()}
    groups: dict[int, list[Any]] = {}
    for id, cluster in clusters(index.clusters).items():
        groups.setdefault(cluster, []).append(id)
    together = {pair for ids in groups.values() for pair in itertools.combinations(ids, 2)}
    assert together <= pairs
    assert len(together) > 30


@pytest.mark.long
def test_ids_are_text_in_a_file_and_integers_in_a_frame() -> None:
    table, _ = made_persons(240, seed=9)
    numbered = table.set_column(0, "id", pa.array(range(240)))
    spelled = numbered.set_column(0, "id", numbered["id"].cast(pa.string()))
    for one, other in ((numbered, spelled), (spelled, numbered)):
        index = neardup.link(one.slice(0, 200), id="id", fields=NAMES).index()
        run = neardup.link(other.slice(200), against=index)
        kind = one.schema.field("id").type
        assert run.clusters["id"].type in (kind, pa.large_string())
        assert index.clusters["id"].to_pylist() == one["id"].to_pylist()
        index.update(other.slice(10, 1))
        assert len(index) == 240
        with pytest.raises(DuplicateIdError, match="record 1 has an id that the index has already"):
            neardup.link(other.slice(7, 1), against=index)
    index = neardup.link(numbered, id="id", fields=NAMES).index()
    for id in ("007", " 7", "x"):
        new = spelled.slice(0, 1).set_column(0, "id", pa.array([id]))
        with pytest.raises(InputError, match="ids of this index are integers"):
            neardup.link(new, against=index)
        assert len(index) == 240


def test_what_is_refused(people: People, grown: Any, tmp_path: Path) -> None:
    index, first, more = grown
    table = people[0]
    with pytest.raises(
        DuplicateIdError,
        match="the table: record 1 has an id that the index has already, as 7 of 7",
    ):
        neardup.link(table.slice(1293, 7), against=index)
    assert len(index) == 1500
    for settings in ({"fields": NAMES}, {"decide_at": 0.6}, {"seed": 1}, {"cluster": "complete"}):
        with pytest.raises(SpecError, match="with the settings of the index"):
            neardup.link(table, against=index, **settings)
    with pytest.raises(SpecError, match="with the settings of the index"):
        neardup.link(table, table, against=index, across_files_only=True)
    with pytest.raises(SpecError, match="can't be evaluated by itself"):
        more[0].evaluate(people[1])
    with pytest.raises(SpecError, match="have one `decide_at`"):
        more[0].at(0.9)
    with pytest.raises(SpecError, match="made of a linkage within one file"):
        more[0].index()
    with pytest.raises(InputNotFoundError, match="there is no index of records"):
        neardup.link(table, against=tmp_path)
    with pytest.raises(neardup.NeardupError, match="exists already"):
        first.index(Path(__file__).parent)
    assert len(index) == 1500


def test_an_error_inserts_nothing(grown: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    index, _, _ = grown
    new = {name.partition(":")[0]: ["a", "b"] for name in ["id", *NAMES]}
    core = index._store.core
    inserted = core.catalogue.insert

    def full(text: str, rows: Any) -> None:
        if "sizes" in text:
            raise sqlite3.OperationalError("database or disk is full")
        inserted(text, rows)

    monkeypatch.setattr(core.catalogue, "insert", full)
    with pytest.raises(neardup.NeardupError):
        neardup.link(new, against=index)
    monkeypatch.undo()
    assert len(index) == 1500
    assert len(neardup.link(new, against=index).clusters) == 2


def test_damage_is_found(people: People, tmp_path: Path) -> None:
    run = neardup.link(people[0].slice(0, 100), id="id", fields=NAMES)
    folder = tmp_path / "people.index"
    for number, change in enumerate(
        ("UPDATE learnt SET data = substr(data, 2)", "UPDATE documents SET body = '[]'")
    ):
        path = folder.with_suffix(f".{number}")
        run.index(path).close()
        with sqlite3.connect(path / "records.sqlite") as database:
            database.execute(change)
        database.close()
        with pytest.raises(StoreError, match="is damaged"):
            neardup.link(people[0].slice(100), against=path)


def test_commands(people: People, tmp_path: Path, command: Command) -> None:
    table, truth = people
    paths = [tmp_path / name for name in ("a.parquet", "b.parquet", "truth.parquet")]
    for path, some in zip(paths, (table.slice(0, 900), table.slice(900), truth), strict=True):
        pq.write_table(some, path)
    index, fields = tmp_path / "people.index", ("--id", "id", "--fields", ",".join(NAMES))
    done = command("link", paths[0], *fields, "-o", tmp_path / "a", "--index", index)
    assert done.code == 0
    again = command("link", paths[0], *fields, "-o", tmp_path / "again", "--index", index)
    assert "exists already" in again.error
    both = command("link", paths[1], "--against", index, "-o", tmp_path / "c", "--index", index)
    assert (both.code, "give one of them" in both.err) == (2, True)
    out = tmp_path / "b"
    done = command("link", paths[1], "--against", index, "-o", out)
    assert done.code == 0
    assert "600 against 900 of the index" in done.err
    assert "that of the index" in done.err
    record = json.loads((out / "run.json").read_text())
    assert record["counts"]["records"] == pq.read_table(out / "clusters.parquet").num_rows == 600
    assert "against an index" in command("evaluate", out, "--truth", paths[2]).error
    done = command("evaluate", index, "--truth", paths[2], "--json")
    assert json.loads(done.out)["clusters"]["pairwise"]["f1"] > 0.95
    assert "B-cubed" in command("evaluate", index, "--truth", paths[2]).out
    refused = command("link", paths[0], "-o", tmp_path / "c")
    assert (refused.code, "--fields names no field" in refused.error) == (2, True)
