"""Files on which a linkage may fail silently: clean, constant, common, or with odd values."""

from __future__ import annotations

import random
import time
import warnings
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from made_records import made_persons

import neardup
from neardup.errors import SpecError
from neardup.linkage.blocks.record_blocks import choose_rows
from neardup.linkage.decision.clusters import Scored, matches
from neardup.linkage.decision.threshold import find_valley
from neardup.linkage.fields import fields_of
from neardup.synth.persons import FIELDS


def word(draw: random.Random, length: int) -> str:
    return "".join(draw.choices("abcdefghijklmnopqrstuvwxyz", k=length))


@pytest.mark.parametrize("seed", range(3))
def test_a_clean_file_keeps_all_its_matches(seed: int) -> None:
    """The candidates are exactly the true pairs, with two modes of their own."""
    draw = random.Random(seed)
    rows = [(word(draw, 7), word(draw, 9), f"{draw.randrange(10**8):08}") for _ in range(300)]
    rows += [(given[:-1] + "x", *rest) for given, *rest in rows[:60]]
    data = dict(zip("gsd", map(list, zip(*rows, strict=True)), strict=True))
    run = neardup.link(data, fields=["g", "s", "d:digits"])
    pairs = zip(run.pairs["id_a"].to_pylist(), run.pairs["id_b"].to_pylist(), strict=True)
    assert {(k, k + 300) for k in range(60)} <= set(pairs)
    assert "with low scores" in run.notes[-1]


def test_a_household_of_half_a_file_has_no_contradictory_notes() -> None:
    """Most candidates are alike, and are no matches: no note takes them for matches."""
    draw = random.Random(3)
    family = "familienname", "schlossallee 1", "5551234"
    rows = [(word(draw, 7), *family) for _ in range(150)]
    rows += [(word(draw, 7), word(draw, 9), word(draw, 12), word(draw, 8)) for _ in range(150)]
    data = dict(
        zip(("given", "name", "street", "phone"), map(list, zip(*rows, strict=True)), strict=True)
    )
    run = neardup.link(data, fields=list(data))
    assert len(run.pairs) < len(run.candidates) / 2
    said = " ".join(run.notes)
    assert "nearly all candidates" not in said
    assert "there is no match" in said or "matches are uncertain" in said


@pytest.mark.parametrize("others", [0, 300])
def test_two_modes_of_matches_have_no_valley_between_them(others: int) -> None:
    rng = np.random.default_rng(others)
    modes = [rng.normal(0.78, 0.02, 500), rng.normal(0.9, 0.02, 500), rng.normal(0.2, 0.04, others)]
    found = find_valley(np.concatenate(modes), 0.3)
    assert 0.3 < found.value < 0.72
    assert found.kind == ("valley" if others else "matches")


@pytest.mark.parametrize("matches_only", [False, True])
def test_equal_records_have_no_valley_below_them(matches_only: bool) -> None:
    """Neither above a long tail, nor above a broad mode of matches."""
    rng = np.random.default_rng(4)
    some = rng.normal(0.66, 0.1, 9000) if matches_only else 0.25 + rng.exponential(0.13, 8000)
    equal = np.ones(1500 if matches_only else 12)
    found = find_valley(np.append(some[some < 0.93], equal), 0.3)
    assert found.value == 0.5 if matches_only else found.value < 0.8
    assert found.kind == ("matches" if matches_only else "none")


def test_a_dip_by_chance_is_no_valley() -> None:
    for seed in range(16):
        found = find_valley(np.random.default_rng(seed).beta(3, 12, 3000), 0.3)
        assert found.kind == "none"


def test_records_of_frequent_values_are_candidates_or_counted() -> None:
    draw = random.Random(2)
    rare = [(word(draw, 6), word(draw, 8)) for _ in range(2000)]
    rows = [("hanoi", "nguyen")] * 1100 + rare
    data = {"g": [g for g, _ in rows], "s": [s for _, s in rows]}
    run = neardup.link(data, fields=["g", "s"], decide_at=0.5)
    missed = 1100 * 1099 // 2 - run.pairs.num_rows
    assert run.pairs.num_rows > 30_000
    assert 0 < missed <= run.blocks.summary["not_compared"]
    assert run.summary["counts"]["largest"] == 1100
    assert any("844 of 3,100 records come after 256 that equal them" in n for n in run.notes)


def test_explain_has_the_similarity_of_the_candidates() -> None:
    draw = random.Random(2)
    rows = [(word(draw, 6), ("smith", "jones", word(draw, 8))[k % 3]) for k in range(4000)]
    rows += [("xor", "smith"), ("xor", "smith"), (rows[0][0], "smyth")]
    data = {"g": [g for g, _ in rows], "s": [s for _, s in rows]}
    run = neardup.link(data, fields=["g", "s"], decide_at=0.5)
    found = run.blocks.pairs.to_pylist()
    assert run.blocks.summary["common_shingles"]
    assert len(found) > 1
    for row in found[:5] + found[-5:]:
        explained = run.explain(row["id_a"], row["id_b"])
        assert explained["block_similarity"] == pytest.approx(row["similarity"])


def test_the_order_of_records_does_not_choose_the_bands(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is drawn to choose them is drawn from contents."""
    draw = random.Random(3)
    values = [word(draw, 2) + word(draw, draw.randrange(2, 9)) for _ in range(400)]
    seen = []

    def noted(sets: Any, *rest: Any) -> Any:
        seen.append(sets.size[:50].tolist())
        return choose_rows(sets, *rest)

    monkeypatch.setattr("neardup.linkage.blocks.record_blocks.choose_rows", noted)
    neardup.blocks({"v": values}, fields="v")
    neardup.blocks({"v": values[::-1]}, fields="v")
    assert seen[0] == seen[1]
    assert len(set(seen[0])) > 1


def test_exact_is_exact() -> None:
    data = {"n": ["anna bell"] * 4, "x": ["A+", "A-", "a+", " A+ "], "y": ["+", "-", "+", ""]}
    run = neardup.link(data, fields=["n", "x:exact", "y:exact"], decide_at=0.1)
    found = {
        pair: [field["similarity"] for field in run.explain(*pair)["fields"]]
        for pair in ((0, 1), (0, 2), (0, 3))
    }
    assert found == {(0, 1): [1, 0, 0], (0, 2): [1, 0, 1], (0, 3): [1, 1, None]}


def test_fields_that_can_not_be_used_are_noted() -> None:
    names = ["anna bell", "anna ball", "carl dorn"]
    data = {"n": names, "b": ["1980-02-01"] * 3, "c": ["unknown"] * 3, "d": ["NA", "n/a", "graz"]}
    run = neardup.link(data, fields=["n", "b:numeric", "c:digits", "d"], decide_at=0.3)
    assert run.notes[:3] == [
        "the table: the field 'b' has no number in 100% of the records",
        "the table: the field 'c' has no digit in 100% of the records",
        "the table: the field 'd' has NA or the like in 67% of the records, and these agree; "
        "leave such values empty",
    ]
    second = {"n": names, "b": ["1", "2", "3"], "c": ["4", "5", "6"], "d": ["", "x", "y"]}
    run = neardup.link(second, data, fields=["n", "b:numeric", "c:digits"], decide_at=0.3)
    assert [note[:16] for note in run.notes[:2]] == ["the second table"] * 2


def test_a_number_out_of_range_is_missing() -> None:
    data = {"n": ["anna", "anna", "carl"], "x": ["1e999", "1e999", "5"]}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run = neardup.link(data, fields=["n", "x:numeric"], decide_at=0.3)
    assert run.pairs["similarity_x"].to_pylist() == [None]
    assert run.notes[0] == "the table: the field 'x' has no number in 67% of the records"


@pytest.mark.parametrize("similarity", ["fields", "mixed"])
def test_equal_records_of_constant_fields_are_equal(similarity: str) -> None:
    one = {"n": ["anna schmidt"], "c": ["graz"]}
    found = neardup.link(one, one, fields=["n", "c"], similarity=similarity, decide_at=0.1)
    assert found.pairs["similarity"].to_pylist() == [1.0]


def test_one_to_one_of_many_ties_is_linear() -> None:
    """Of 600 equal records in both files, whose 360,000 pairs are all as good."""
    a, b = (x.ravel().astype(np.int32) for x in np.indices((600, 600)))
    begin = time.process_time()
    found = matches(Scored(a, b + 600, np.ones(len(a))), np.repeat([0, 1], 600))
    assert time.process_time() - begin < 1.0
    assert found.tolist() == [k * 601 for k in range(600)]


def test_ids_that_are_categories() -> None:
    ids = pa.array(["x", "y", "z"]).dictionary_encode()
    data = pa.table({"id": ids, "n": ["anna bell", "anna bell", "carl"]})
    run = neardup.link(data, id="id", fields="n", decide_at=0.5)
    assert run.pairs["id_b"].to_pylist() == ["y"]


def test_timestamps_at_midnight_are_dates() -> None:
    days = pa.array([315_964_800, 318_211_200, None], pa.timestamp("s"))
    first = pa.table({"n": ["anna bell", "carl dorn", "otto"], "d": days.cast(pa.timestamp("ns"))})
    second = {"n": ["anna bell"], "d": ["1980-01-06"]}
    run = neardup.link(first, second, fields=["n", "d:digits"], decide_at=0.5)
    assert run.pairs["similarity_d"].to_pylist() == [1.0]
    hours = pa.table({"n": ["anna", "anna"], "d": pa.array([1, 2], pa.timestamp("s"))})
    found = neardup.link(hours, fields=["n", "d"], decide_at=0.1).explain(0, 1)["fields"][1]
    assert found["values"] == ["1970-01-01 00:00:01", "1970-01-01 00:00:02"]


def test_fields_from_a_generator() -> None:
    assert [field.name for field in fields_of(name for name in "xy")] == ["x", "y"]
    with pytest.raises(SpecError, match="`fields` is of type int"):
        fields_of(3)  # type: ignore[arg-type]


def test_a_recall_that_needs_too_many_hashes() -> None:
    with pytest.raises(SpecError, match=r"`block_at` of 0.02 needs 1,726,9\d\d hashes per record"):
        neardup.link({"n": ["anna", "ana"]}, fields="n", block_at=0.02)


def test_the_errors_of_a_person_are_independent() -> None:
    """A record has as many errors, on average, whichever field has one."""
    table, truth = made_persons(6000, seed=3, near=0.5, missing=0, swapped=0)
    place = {id: k for k, id in enumerate(table["id"].to_pylist())}
    source = [place[group] for group in truth["group"].to_pylist()]
    columns = [np.array(table[name].to_pylist()) for name in FIELDS]
    wrong = np.column_stack([column != column[source] for column in columns])
    errors = [wrong[wrong[:, k]].sum(axis=1).mean() for k in range(len(FIELDS))]
    assert max(errors) - min(errors) < 0.15
