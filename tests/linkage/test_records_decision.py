"""The decision: what is found, and what is not, on files that may fail silently."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from made_records import NAMES, made_persons

import neardup
from neardup.linkage.decision.threshold import find_valley
from neardup.linkage.decision.weights.agreement_classes import EQUAL
from neardup.linkage.decision.weights.dependences import learn_tree
from neardup.linkage.decision.weights.tallies import tally

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


def test_a_minimum_between_two_modes_of_different_records_is_no_valley() -> None:
    rng = np.random.default_rng(0)
    modes = ((0.27, 0.015, 6000), (0.42, 0.02, 9000), (0.85, 0.04, 500))
    parts = [rng.normal(at, width, count) for at, width, count in modes]
    parts.append(rng.uniform(0.45, 0.95, 1200))
    found = find_valley(np.clip(np.concatenate(parts), 0, 0.99), 0.3)
    assert found.kind == "valley" and found.bottom is not None
    assert 0.5 < found.bottom < 0.85


@pytest.mark.parametrize("fields", [FEW, NAMES])
def test_without_matches_none_are_found(fields: list[str]) -> None:
    first, _ = made_persons(1500, seed=1, near=0)
    second, _ = made_persons(1500, seed=2, near=0)
    for run in (neardup.link(first, fields=fields), neardup.link(first, second, fields=fields)):
        assert run.pairs.num_rows == 0
        assert any("there is no match" in note for note in run.notes)
        row = run.candidates.to_pylist()[0]
        found = run.explain(row["id_a"], row["id_b"])
        assert found["log_odds"] == pytest.approx(row["log_odds"])
        assert len(found["fields"]) >= len(fields)


def _households(table: pa.Table, group: list[str], most: int) -> dict[str, list[str]]:
    """Let up to so many persons share a surname, a street, a suburb and a telephone."""
    rng, names = np.random.default_rng(0), list(dict.fromkeys(group))
    homes: dict[str, int] = {}
    while len(homes) < len(names):
        first = len(homes)
        homes.update(dict.fromkeys(names[first : first + int(rng.integers(1, most + 1))], first))
    columns: dict[str, list[str]] = table.to_pydict()
    place = {name: group.index(name) for name in names}
    for name in ("surname", "street", "suburb", "postcode", "phone"):
        values = columns[name]
        columns[name] = [values[place[names[homes[of]]]] for of in group]
    return columns


@pytest.mark.long
@pytest.mark.parametrize("fields", [NAMES, [*FEW, "street"], ["given_name", "surname", "street"]])
def test_households_are_no_matches(fields: list[str]) -> None:
    table, truth = made_persons(2000, seed=9)
    columns = _households(table, truth["group"].to_pylist(), 4)
    run = neardup.link(columns, id="id", fields=fields)
    assert f1(run, truth) > 0.8
    assert any("are taken for members of groups" in note for note in run.notes)
    table, truth = made_persons(1500, seed=9, near=0)
    columns = _households(table, truth["id"].to_pylist(), 4)
    assert neardup.link(columns, id="id", fields=fields).pairs.num_rows < 5


def test_a_household_of_a_quarter_of_a_file() -> None:
    """A quarter of a file is one household; the given name is all that its members differ in."""
    table, truth = made_persons(1000, seed=1)
    columns, groups = table.to_pydict(), truth["group"].to_pylist()
    home = set(list(dict.fromkeys(groups))[::4])
    for name in ("surname", "street", "suburb"):
        columns[name] = [
            "lindgarth" if group in home else value
            for group, value in zip(groups, columns[name], strict=True)
        ]
    fields = ["given_name", "surname", "street", "suburb"]
    run = neardup.link(columns, id="id", fields=fields)
    assert f1(run, truth) > 0.7
    more = neardup.link(columns, id="id", fields=[*fields, "birth:digits"])
    assert f1(more, truth) > f1(run, truth)


def test_values_that_repeat_by_chance_are_no_evidence() -> None:
    rng = np.random.default_rng(0)
    colours = rng.choice(["red", "green", "blue", "white"], 1000).tolist()
    sizes = rng.integers(10, 40, 1000).astype(str).tolist()
    prices = rng.lognormal(3, 1, 1000).round(2).astype(str).tolist()
    things = {"colour": colours, "size": sizes, "city": colours[::-1], "price": prices}
    for fields in (["colour", "size", "city"], ["price:numeric"], ["size", "price:numeric"]):
        run = neardup.link(things, fields=fields)
        assert run.pairs.num_rows == 0
        assert any("no evidence" in note for note in run.notes), run.notes


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


@pytest.mark.long
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
        rows = run.candidates.select(["id_a", "id_b", "score"]).to_pylist()
        pairs = {(*sorted((r["id_a"], r["id_b"])), r["score"]) for r in rows}
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
    with pytest.raises(neardup.NeardupError, match="no record with the id"):
        neardup.link(table, id="id", fields=["surname"], labels=[("a", "b", True)])


def test_the_parts_of_a_pair_add_up() -> None:
    table, _ = made_persons(600, seed=8)
    run = neardup.link(table, id="id", fields=NAMES)
    for row in (run.pairs.to_pylist()[0], run.candidates.to_pylist()[-1]):
        found = run.explain(row["id_a"], row["id_b"])
        total = found["prior"] + found["dependences"] + found["veto"]
        total += sum(field["bits"] for field in found["fields"])
        assert total == pytest.approx(found["total"], abs=0.01)
        assert found["score"] == pytest.approx(row["score"])
        missing = [field["bits"] for field in found["fields"] if field["missing"]]
        assert missing == [0] * len(missing)


def test_dependences() -> None:
    rng = np.random.default_rng(0)
    alike = rng.random(5000) < 0.1
    classes = np.where(alike[:, None], EQUAL, 0).astype(np.int8).repeat(2, axis=1)
    classes = np.column_stack([classes, rng.choice([0, EQUAL], 5000)]).astype(np.int8)
    tree = learn_tree(tally(classes, np.ones(5000)), 3)
    assert (tree[0].one, tree[0].two) == (0, 1)
    assert tree[0].ratios[3, 3] == pytest.approx(np.log(10), abs=0.2)
    assert all(edge.strength < 0.01 for edge in tree[1:])
