"""Swapped fields, and how rare the values are that two records share."""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa
import pytest
from made_records import made_persons

import neardup
from neardup.linkage.blocks.field_blocks import MOST, _too_many, of_one_field
from neardup.linkage.blocks.record_blocks import Most
from neardup.linkage.decision.weights.frequencies import ValueCounts
from neardup.linkage.features import _NO_DIGIT, _NO_WORD, _replaced
from neardup.linkage.fields import Field, LinkSpec
from neardup.threads import Pool

FEW = ["given_name", "surname", "birth:digits"]


def f1(run: neardup.LinkRun, truth: pa.Table) -> float:
    return float(run.evaluate(truth)["decision"]["pairs"]["f1"])


def test_swapped_names_are_compared_crosswise() -> None:
    table, truth = made_persons(3000, seed=2, near=0.3, swapped=0.4)
    run = neardup.link(table, id="id", fields=FEW)
    assert f1(run, truth) > 0.93
    assert any("given_name and surname are swapped in some records" in n for n in run.notes)
    rows = dict(zip(table["id"].to_pylist(), table.to_pylist(), strict=True))
    pair = next(
        (a, b)
        for a, b in zip(run.pairs["id_a"].to_pylist(), run.pairs["id_b"].to_pylist(), strict=True)
        if rows[a]["given_name"]
        and rows[a]["given_name"] == rows[b]["surname"] != rows[b]["given_name"]
    )
    found = run.explain(*pair)
    assert [field["swapped"] for field in found["fields"]] == [True, True, False]
    assert "swapped" in str(found)
    # Of the shingles that know their fields, those of swapped ones are different.
    tagged = neardup.link(table, id="id", fields=FEW, tagged=True)
    assert not any("swapped" in note for note in tagged.notes)
    assert f1(tagged, truth) < 0.8


def test_swapped_names_of_two_files() -> None:
    table, truth = made_persons(3000, seed=4, near=0.3, swapped=0.2)
    groups = dict(zip(*(truth[name].to_pylist() for name in ("id", "group")), strict=True))
    first, second = table.slice(0, 1500), table.slice(1500)
    of: dict[str, list[str]] = {}
    for id_ in second["id"].to_pylist():
        of.setdefault(groups[id_], []).append(id_)
    true = [(a, b) for a in first["id"].to_pylist() for b in of.get(groups[a], [])]
    fields = [*FEW, "street", "suburb", "phone:digits"]
    run = neardup.link(first, second, id="id", fields=fields)
    assert run.evaluate(true)["decision"]["pairs"]["f1"] > 0.98


def test_values_that_are_in_both_fields_by_chance_are_not_swapped() -> None:
    rng = np.random.default_rng(0)
    names = [f"{a}{b}" for a in ("an", "be", "cor", "da") for b in ("na", "lla", "ra", "vid", "mo")]
    data = {
        "given": rng.choice(names, 3000).tolist(),
        "surname": rng.choice(names, 3000).tolist(),
        "birth": rng.integers(19_000_101, 20_001_231, 3000).astype(str).tolist(),
    }
    run = neardup.link(data, fields=["given", "surname", "birth:digits"])
    assert not any("swapped" in note for note in run.notes)


def test_an_index_compares_crosswise_too() -> None:
    table, truth = made_persons(2000, seed=2, near=0.3, swapped=0.3)
    run = neardup.link(table.slice(0, 1200), id="id", fields=FEW)
    with run.index() as index:
        neardup.link(table.slice(1200), against=index)
        found = index.evaluate(truth)["clusters"]["pairwise"]["f1"]
    assert found > 0.9


def test_an_error_in_a_rare_value_counts_more() -> None:
    """Either value may be the true one: two common values are no error of one another."""
    counts = np.array([[90], [90], [2], [1]], np.int32)
    values = ValueCounts(counts, np.array([1000]), np.zeros(1))
    a, b = np.array([0, 0, 2]), np.array([1, 3, 3])
    both_common, one_rare, both_rare = values.rarity(a, b, 0).tolist()
    assert both_common == pytest.approx(np.log(999 / 89))
    assert one_rare == pytest.approx(np.log(999 * (2 + 1 / 89) / 2))
    assert both_common < one_rare < both_rare

    table, _ = made_persons(4000, seed=1)
    run = neardup.link(table, id="id", fields=["given_name", "surname", "suburb"])
    rows = run.candidates.to_pylist()
    surnames = dict(zip(table["id"].to_pylist(), table["surname"].to_pylist(), strict=True))
    times = {name: table["surname"].to_pylist().count(name) for name in set(surnames.values())}
    near = [r for r in rows if r["similarity_surname"] and 0.5 < r["similarity_surname"] < 0.6]
    bits = []
    for row in near[:60]:
        of = [times[surnames[row[name]]] for name in ("id_a", "id_b")]
        bits.append((min(of), run.explain(row["id_a"], row["id_b"])["fields"][1]["bits"]))
    rare, common = min(bits), max(bits)
    assert common[0] > rare[0]
    assert rare[1] > common[1] + 1


@pytest.mark.parametrize(("pattern", "by"), [(_NO_WORD, " "), (_NO_DIGIT, "")])
def test_values_in_ascii_are_replaced_as_by_the_pattern(pattern: str, by: str) -> None:
    rng = np.random.default_rng(0)
    plain = ["", "  ", "a--b", "-", "x_y", "12 main  st.", "\t1\n", "a", "--", "9"]
    plain += ["".join(rng.choice(list("aZ09 -_."), 6)) for _ in range(300)]
    kept = "[^A-Za-z0-9]+" if by else "[^0-9]+"
    column = pa.array(["before", *plain], pa.large_string()).slice(1)
    assert _replaced(column, pattern, by).to_pylist() == [re.sub(kept, by, v) for v in plain]
    other = pa.array(["é--1", "a  b"], pa.large_string())
    assert _replaced(other, pattern, by).to_pylist() == (["é 1", "a b"] if by else ["1", ""])


def test_too_many_pairs_are_seen_in_some_of_the_values() -> None:
    table, _ = made_persons(8000, seed=4)
    column = table["street"].combine_chunks().cast(pa.large_string()).fill_null("")
    spec = of_one_field(Field("street"), LinkSpec((Field("street"),)))
    hashes = np.random.default_rng(0).permutation(8000)
    with Pool(2) as pool:
        for left, expected in ((100, True), (MOST * 10**6, False)):
            most = Most(left, lambda a, b: len(a))
            assert _too_many(hashes, column, spec, most, pool) is expected
