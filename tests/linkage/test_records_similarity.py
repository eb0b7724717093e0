"""What decides: similarities by field and as a whole, missing values, the threshold."""

from __future__ import annotations

import numpy as np
import pytest
from made_records import fields_similarity, grams, made_persons

import neardup
from neardup.linkage.decision.threshold import find_valley

FIELDS = ["given_name", "surname", "street", "suburb"]


def rows(count: int, seed: int) -> list[dict[str, str]]:
    table = made_persons(count, seed, near=0.4, missing=0.15)[0].select(FIELDS)
    return [{k: v or "" for k, v in row.items()} for row in table.to_pylist()]


def frame(found: list[dict[str, str]]) -> dict[str, list[str]]:
    return {name: [row[name] for row in found] for name in FIELDS}


def test_fields_against_the_obvious_way() -> None:
    made = rows(120, 4)
    run = neardup.link(frame(made), fields=FIELDS, similarity="fields", decide_at=0.01)
    assert run.candidates.num_rows > 40
    for row in run.candidates.to_pylist():
        expected = fields_similarity(made, row["id_a"], row["id_b"])
        assert row["similarity"] == pytest.approx(expected, abs=1e-6)


def test_fields_by_themselves_and_those_that_are_present() -> None:
    made = rows(120, 7)
    run = neardup.link(frame(made), fields=FIELDS, decide_at=0.01)
    for row in run.candidates.to_pylist():
        x, y = made[row["id_a"]], made[row["id_b"]]
        present = [name for name in FIELDS if grams(x[name], 2) and grams(y[name], 2)]
        assert row["present"] == ",".join(present)
        for name in FIELDS:
            one, other = grams(x[name], 2), grams(y[name], 2)
            expected = len(one & other) / len(one | other) if name in present else None
            assert row[f"similarity_{name}"] == (expected and pytest.approx(expected))


def test_record_and_idf_of_records_without_missing_values() -> None:
    made = [row for row in rows(200, 9) if all(row.values())]
    sets = [set().union(*(grams(value, 3) for value in row.values())) for row in made]
    count = {gram: sum(gram in s for s in sets) for s in sets for gram in s}
    weight = {gram: np.log((len(made) + 1) / times) for gram, times in count.items()}
    for similarity, of in (("record", dict.fromkeys(count, 1.0)), ("idf", weight)):
        run = neardup.link(frame(made), fields=FIELDS, similarity=similarity, decide_at=0.01)
        for row in run.candidates.to_pylist():
            x, y = sets[row["id_a"]], sets[row["id_b"]]
            expected = sum(of[g] for g in x & y) / sum(of[g] for g in x | y)
            assert row["similarity"] == pytest.approx(expected, abs=0.01)


# The share of a missing field in the weight of a record is estimated from its length.
@pytest.mark.parametrize(
    ("similarity", "off"), [("fields", 1e-6), ("record", 0.02), ("idf", 0.25), ("mixed", 0.125)]
)
def test_missing_is_neither_agreement_nor_disagreement(similarity: str, off: float) -> None:
    full = {"name": ["anna bell", "anna bell", "carl dorn"], "city": ["graz", "graz", "linz"]}
    gone = {"name": full["name"], "city": ["graz", "", "linz"]}
    settings = {"fields": ["name", "city"], "similarity": similarity, "decide_at": 0.5}
    for data in (full, gone):
        found = neardup.link(data, **settings).explain(0, 1)
        assert found["similarity"] == pytest.approx(1.0, abs=off)
    assert found["fields"][1]["similarity"] is None


def test_exact_digits_and_numeric() -> None:
    data = {
        "phone": ["310/246-1501", "310-246-1501"],
        "code": ["AB-1 ", "AB-1"],
        "size": ["10", "8.0"],
        "name": ["rosa lind", "rosa lind"],
    }
    names = ["phone:digits", "code:exact", "size:numeric", "name"]
    run = neardup.link(data, fields=names, decide_at=0.1)
    found = {field["field"]: field["similarity"] for field in run.explain(0, 1)["fields"]}
    assert found == {"phone": 1.0, "code": 1.0, "size": pytest.approx(0.8), "name": 1.0}


def test_a_weight_counts() -> None:
    data = {"x": ["anna", "anna", "otto"], "y": ["bell", "dorn", "bell"], "z": ["q1", "q1", "q1"]}
    settings = {"similarity": "fields", "decide_at": 0.1}
    even = neardup.link(data, fields=["x", "y"], **settings).explain(0, 1)["similarity"]
    heavy = neardup.link(data, fields=[neardup.Field("x", weight=3), "y"], **settings)
    assert even == pytest.approx(0.5)
    assert heavy.explain(0, 1)["similarity"] == pytest.approx(0.75)


def test_numbers_of_a_frame_that_became_floats() -> None:
    data = {"code": [4011.0, 4011.0, float("nan")], "name": ["anna", "anna", "anna"]}
    found = neardup.link(data, fields=["code", "name"], decide_at=0.1).explain(0, 2)
    assert found["fields"][0]["values"] == ["4011", ""]


@pytest.mark.parametrize("seed", range(5))
def test_valley_between_two_modes(seed: int) -> None:
    rng = np.random.default_rng(seed)
    low, high = rng.normal(0.25, 0.06, 20_000), rng.normal(0.85, 0.06, 800)
    found = find_valley(np.clip(np.concatenate([low, high, np.ones(5000)]), 0, 1), 0.3)
    assert found.kind == "valley"
    assert found.modes is not None
    assert found.modes == pytest.approx((0.25, 0.85), abs=0.05)
    assert 0.45 < found.value <= (found.bottom or 0) < 0.72
    assert found.counts.sum() == 25_800


@pytest.mark.parametrize("seed", range(5))
def test_few_pairs_have_a_valley_too(seed: int) -> None:
    rng = np.random.default_rng(seed)
    low, high = rng.normal(0.25, 0.05, 25), rng.normal(0.85, 0.05, 12)
    assert 0.3 < find_valley(np.clip(np.concatenate([low, high]), 0, 1), 0.3).value < 0.75


def test_equal_records_may_be_the_upper_mode() -> None:
    rng = np.random.default_rng(4)
    noise = np.clip(rng.normal(0.2, 0.04, 5000), 0, 1)
    found = find_valley(np.concatenate([noise, np.ones(300)]), 0.3)
    assert found.kind == "valley"
    assert 0.3 < found.value < 0.95


@pytest.mark.parametrize("seed", range(5))
def test_a_few_matches_below_equal_records_are_matches_too(seed: int) -> None:
    """As names with typing errors among many different ones: few, and near the others."""
    rng = np.random.default_rng(seed)
    noise, some = rng.normal(0.42, 0.06, 3300), rng.uniform(0.65, 0.78, 40)
    found = find_valley(np.concatenate([noise, some, np.ones(40)]), 0.3)
    assert found.kind == "valley"
    assert 0.55 < found.value < 0.68


@pytest.mark.parametrize("seed", range(200))
def test_any_similarities_have_a_threshold(seed: int) -> None:
    rng = np.random.default_rng(seed)
    parts = [rng.beta(*rng.uniform(0.2, 20, 2), rng.integers(0, 400)) for _ in range(3)]
    parts.append(np.full(rng.integers(0, 50), rng.choice([0.0, 0.99, 0.994, 1.0])))
    found = find_valley(np.concatenate(parts), float(rng.choice([0.05, 0.3])))
    assert 0 <= found.value <= 1


def test_the_end_of_the_range_is_no_bottom() -> None:
    """The mode of matches falls steeply at 0.8, towards equal records; the valley is at 0.46."""
    rng = np.random.default_rng(1)
    low, high = rng.gamma(9, 0.025, 100_000), rng.triangular(0.3, 0.65, 0.87, 16_000)
    found = find_valley(np.concatenate([low[low < 0.9], high, np.ones(1300)]), 0.3)
    assert found.kind == "valley"
    assert 0.4 < (found.bottom or 0) < 0.6


def test_without_two_modes_it_is_said() -> None:
    few = find_valley(np.array([0.2, 0.9]), 0.3)
    assert (few.kind, few.value) == ("few", 0.5)
    rng = np.random.default_rng(1)
    one = find_valley(np.clip(rng.normal(0.2, 0.05, 5000), 0, 1), 0.3)
    assert one.kind == "none"
    data = {"name": ["anna", "ana"]}
    assert "guess" in neardup.link(data, fields="name").notes[-1]
