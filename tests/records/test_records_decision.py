"""The decision: what is found, and what is not, on files that may fail silently."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from made_records import NAMES, made_persons

import neardup
from neardup.records.decision.agreement_classes import EQUAL, classes_of
from neardup.records.decision.dependences import learn_tree

FEW = ["given_name", "surname", "birth:digits"]


def f1(run: neardup.LinkRun, truth: pa.Table) -> float:
    return float(run.evaluate(truth)["decision"]["pairs"]["f1"])


def test_few_fields_are_decided_by_evidence() -> None:
    """Where a mean over fields finds three quarters at most."""
    table, truth = made_persons(5000)
    run = neardup.link(table, id="id", fields=FEW)
    found = run.evaluate(truth)["decision"]
    assert found["pairs"]["f1"] > 0.92
    assert found["brier"] < 0.01
    assert found["best"]["f1"] >= found["pairs"]["f1"]
    for line in found["reliability"]:
        if line["pairs"] > 100:
            assert abs(line["predicted"] - line["true"]) < 0.1


@pytest.mark.parametrize("fields", [FEW, NAMES])
def test_without_matches_none_are_found(fields: list[str]) -> None:
    first, _ = made_persons(1500, seed=1, near=0)
    second, _ = made_persons(1500, seed=2, near=0)
    for run in (neardup.link(first, fields=fields), neardup.link(first, second, fields=fields)):
        assert run.pairs.num_rows == 0
        assert any("there is no match" in note for note in run.notes)


def test_a_frequent_class_does_not_take_over() -> None:
    """All records share a city, and a quarter of them all but the given name and the birth."""
    table, truth = made_persons(1200, seed=3)
    columns = table.to_pydict()
    columns["city"] = ["graz"] * 1200
    family = set(truth["group"].to_pylist()[:300])
    for k in [k for k, group in enumerate(truth["group"].to_pylist()) if group in family]:
        columns["surname"][k], columns["street"][k] = "oberhuber", "12 main street"
        columns["suburb"][k], columns["postcode"][k] = "lend", "8010"
        columns["phone"][k] = "5551234"
    run = neardup.link(columns, id="id", fields=[*NAMES, "city"])
    found = run.evaluate(truth)["decision"]["pairs"]
    assert found["precision"] > 0.95
    assert found["recall"] > 0.4
    assert run.summary["counts"]["largest"] < 10
    assert any("'city' has one value" in note for note in run.notes)


def test_neither_order_nor_threads_change_the_answer() -> None:
    table, _ = made_persons(1000, seed=6)
    order = np.random.default_rng(0).permutation(1000)
    runs = [
        neardup.link(table, id="id", fields=NAMES, threads=1),
        neardup.link(table, id="id", fields=NAMES, threads=3),
        neardup.link(table.take(pa.array(order)), id="id", fields=NAMES),
    ]
    found = []
    for run in runs:
        rows = run.candidates.select(["id_a", "id_b", "probability"]).to_pylist()
        pairs = {(*sorted((r["id_a"], r["id_b"])), r["probability"]) for r in rows}
        clusters: dict[int, set[str]] = {}
        for row in run.clusters.to_pylist():
            clusters.setdefault(row["cluster"], set()).add(row["id"])
        found.append((pairs, sorted(map(sorted, clusters.values()))))
    assert found[0] == found[1] == found[2]
    assert not any(np.isnan(p) for *_, p in found[0][0])


def test_two_files_are_decided_by_each_others_best() -> None:
    table, truth = made_persons(2000, seed=4, near=0.3)
    groups = dict(zip(*(truth[name].to_pylist() for name in ("id", "group")), strict=True))
    first, second = table.slice(0, 1000), table.slice(1000)
    ids = first["id"].to_pylist(), second["id"].to_pylist()
    true = [(a, b) for a in ids[0] for b in ids[1] if groups[a] == groups[b]]
    run = neardup.link(first, second, id="id", fields=FEW)
    found = run.evaluate(true)["decision"]["pairs"]
    assert found["f1"] > 0.7
    names = [line["field"] for line in run.explain(*true[0])["fields"]]
    assert names[-1] == "each other's best"


def test_labels_set_the_threshold_where_there_is_no_valley() -> None:
    """One field of names, of which the truth calls equal ones matches only."""
    table, truth = made_persons(800, seed=5)
    groups = dict(zip(*(truth[name].to_pylist() for name in ("id", "group")), strict=True))
    run = neardup.link(table, id="id", fields=["surname"])
    rows = run.candidates.to_pylist()
    labels = [(r["id_a"], r["id_b"], groups[r["id_a"]] == groups[r["id_b"]]) for r in rows]
    marked = neardup.link(table, id="id", fields=["surname"], labels=labels[::3])
    before, after = (r.evaluate(truth)["decision"]["brier"] for r in (run, marked))
    assert after < before
    with pytest.raises(neardup.NeardupError, match="not two ids and a bool"):
        neardup.link(table, id="id", fields=["surname"], labels=[("a", "b")])
    with pytest.raises(neardup.NeardupError, match="no document with the id"):
        neardup.link(table, id="id", fields=["surname"], labels=[("a", "b", True)])


def test_the_parts_of_a_pair_add_up() -> None:
    table, _ = made_persons(600, seed=8)
    run = neardup.link(table, id="id", fields=NAMES)
    for row in (run.pairs.to_pylist()[0], run.candidates.to_pylist()[-1]):
        found = run.explain(row["id_a"], row["id_b"])
        total = found["prior"] + found["dependences"] + found["veto"]
        total += sum(field["bits"] for field in found["fields"])
        assert total == pytest.approx(found["total"], abs=0.01)
        assert found["probability"] == pytest.approx(row["probability"])
        missing = [field["bits"] for field in found["fields"] if field["missing"]]
        assert missing == [0] * len(missing)


def test_classes_and_dependences() -> None:
    similarity = np.array([[0.0, 0.5], [0.95, np.nan]], np.float32)
    found = classes_of(similarity, np.zeros((2, 2), bool))
    assert found.tolist() == [[0, 3], [6, -1]]
    rng = np.random.default_rng(0)
    alike = rng.random(5000) < 0.1
    classes = np.where(alike[:, None], EQUAL, 0).astype(np.int8).repeat(2, axis=1)
    classes = np.column_stack([classes, rng.choice([0, EQUAL], 5000)]).astype(np.int8)
    tree = learn_tree(classes, np.ones(5000))
    assert (tree[0].one, tree[0].two) == (0, 1)
    assert tree[0].ratios[3, 3] == pytest.approx(np.log(10), abs=0.2)
    assert all(edge.strength < 0.01 for edge in tree[1:])
