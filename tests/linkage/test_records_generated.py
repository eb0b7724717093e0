"""Files on which a decision without labels may collapse, made here, with their truth."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from made_records import NAMES, made_persons, true_pairs

import neardup
from common import core

Pairs = set[tuple[Any, Any]]
Table = dict[str, list[str]]


def word(draw: random.Random, least: int = 4, most: int = 9) -> str:
    return "".join(draw.choices("abcdefghijklmnopqrstuvwxyz", k=draw.randint(least, most)))


def wrong(draw: random.Random, value: str) -> str:
    """Return a value with one other letter."""
    at = draw.randrange(len(value))
    return value[:at] + draw.choice("abcdefghijklmnopqrstuvwxyz") + value[at + 1 :]


def found_in(run: neardup.LinkRun) -> Pairs:
    return set(zip(*(run.pairs[name].to_pylist() for name in ("id_a", "id_b")), strict=True))


def clusters_of(run: neardup.LinkRun) -> dict[Any, int]:
    return dict(zip(*(run.clusters[name].to_pylist() for name in ("id", "cluster")), strict=True))


def f1(run: neardup.LinkRun, true: Pairs) -> float:
    found = found_in(run)
    return 2 * len(found & true) / max(1, len(found) + len(true))


def columns_of(rows: Sequence[Sequence[str]], names: Sequence[str]) -> Table:
    return dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))


def countries(seed: int) -> tuple[Table, Table, Pairs]:
    """Two files of countries, of which most are in both, and a third are written otherwise."""
    draw = random.Random(seed)
    names = [" ".join(word(draw) for _ in range(draw.choice((1, 1, 2)))) for _ in range(220)]
    capitals = [word(draw) for _ in names]
    areas = [str(draw.randrange(1_000, 2_000_000)) for _ in names]
    rows = list(zip(names, capitals, areas, strict=True))
    other = [
        (
            wrong(draw, name) if draw.random() < 0.3 else name,
            wrong(draw, capital) if draw.random() < 0.2 else capital,
            area if draw.random() < 0.7 else str(int(area) + draw.randrange(200)),
        )
        for name, capital, area in rows[20:]
    ]
    order = draw.sample(range(len(other)), len(other))
    fields = ("name", "capital", "area")
    true = {(k + 20, at) for at, k in enumerate(order)} - {(k, 0) for k in range(20)}
    return (
        columns_of(rows[:200], fields),
        columns_of([other[k] for k in order], fields),
        {pair for pair in true if pair[0] < 200},
    )


@pytest.mark.parametrize("seed", core(range(1, 11), 1, 2, 3))
def test_one_more_agreeing_field_never_lowers_f1(seed: int) -> None:
    first, second, true = countries(seed)
    every = ["name", "capital", "area:numeric"]
    found = [f1(neardup.link(first, second, fields=every[:k]), true) for k in (1, 2, 3)]
    assert found[1] >= found[0] - 0.01 and found[2] >= found[1] - 0.01, found
    assert found[2] > 0.9


def with_twins(seed: int, twins: int, near: float = 0.0) -> tuple[Table, Pairs, Pairs]:
    """Persons, of whom some have a twin; return the true pairs, and those of twins."""
    table, truth = made_persons(600, seed=seed, near=near)
    columns, rng = table.to_pydict(), np.random.default_rng(seed)
    groups = truth["group"].to_pylist()
    single = [k for k, group in enumerate(groups) if groups.count(group) == 1][:twins]
    pairs = set()
    for k in single:
        pairs.add((columns["id"][k], f"twin-{k}"))
        given = columns["given_name"][int(rng.integers(600))]
        for name, values in columns.items():
            values.append({"id": f"twin-{k}", "given_name": given}.get(name, values[k]))
    return columns, true_pairs(truth), pairs


PERSON = [name for name in NAMES if name != "postcode"]


@pytest.mark.parametrize("seed", core(range(10), 0, 1, 2))
def test_twins_without_duplicates_are_no_matches(seed: int) -> None:
    columns, _, _ = with_twins(seed, 150)
    run = neardup.link(columns, id="id", fields=PERSON)
    assert run.pairs.num_rows == 0
    assert any("no evidence of any match" in note for note in run.notes)


@pytest.mark.parametrize("fields", [NAMES[:2], NAMES[:3], NAMES])
def test_two_files_without_matches_have_none(fields: list[str]) -> None:
    first, second = (made_persons(800, seed=seed, near=0)[0] for seed in (11, 12))
    assert neardup.link(first, second, fields=fields).pairs.num_rows == 0


def two_kinds(seed: int, matches: bool) -> tuple[Table, Table, Pairs]:
    """Two files of persons with a name only, and of episodes with a title and numbers."""
    draw = random.Random(seed)

    def person() -> tuple[str, str, str, str]:
        return ("", f"{word(draw)} {word(draw)}", "", "")

    def episode() -> tuple[str, str, str, str]:
        title = " ".join(word(draw) for _ in range(draw.randint(1, 4)))
        return (title, "", str(draw.randint(1, 24)), str(draw.randint(1, 9)))

    rows = [person() for _ in range(400)] + [episode() for _ in range(400)]
    both = range(0, 800, 2) if matches else ()
    others = [person() for _ in range(400)] + [episode() for _ in range(400)]
    for k in both:
        title, name, number, season = rows[k]
        if draw.random() < 0.2:
            title, name = (value and wrong(draw, value) for value in (title, name))
        others[k] = title, name, number, season
    names = ("title", "name", "episode", "season")
    return columns_of(rows, names), columns_of(others, names), {(k, k) for k in both}


@pytest.mark.parametrize("seed", range(3))
def test_two_kinds_of_records_in_two_files(seed: int) -> None:
    fields = ["title", "name", "episode:digits", "season:digits"]
    first, second, true = two_kinds(seed, matches=True)
    assert f1(neardup.link(first, second, fields=fields), true) > 0.9
    first, second, _ = two_kinds(seed, matches=False)
    assert neardup.link(first, second, fields=fields).pairs.num_rows == 0


@pytest.mark.parametrize("share", core((0.0, 0.02, 0.05, 0.1, 0.2, 0.4), 0.05))
def test_a_placeholder_is_a_missing_value(share: float) -> None:
    table, truth = made_persons(2000, seed=3)
    columns, rng = table.to_pydict(), np.random.default_rng(0)
    fields = ["given_name", "surname", "birth:digits", "street"]
    for k in np.flatnonzero(rng.random(2000) < share).tolist():
        columns["birth"][k] = "1900-01-01"
    run = neardup.link(columns, id="id", fields=fields)
    plain = f1(neardup.link(table, id="id", fields=fields), true_pairs(truth))
    assert f1(run, true_pairs(truth)) > plain - 0.12
    said = [note for note in run.notes if "is taken for a missing one" in note]
    assert len(said) == (share > 0)
    assert all("'1900-01-01' of birth" in note for note in said)
    private = neardup.link(columns, id="id", fields=fields, private_ids=True)
    assert all("1900" not in note for note in private.notes)


def test_many_duplicates_of_one_record_have_no_placeholders() -> None:
    table, _ = made_persons(800, seed=3, near=0)
    columns = {name: values + values[:1] * 30 for name, values in table.to_pydict().items()}
    columns["id"] = [str(k) for k in range(830)]
    run = neardup.link(columns, id="id", fields=NAMES)
    assert not any("a missing one" in note for note in run.notes)
    assert run.summary["counts"]["largest"] == 31


def test_an_index_knows_placeholders() -> None:
    table, _ = made_persons(1200, seed=3, near=0)
    columns = table.to_pydict()
    columns["birth"][::20] = ["1900-01-01"] * 60
    table = pa.table(columns)
    run = neardup.link(table.slice(0, 1000), id="id", fields=NAMES[:3])
    with run.index() as index:
        more = neardup.link(table.slice(1000), against=index)
        assert any("is taken for a missing one" in note for note in more.notes)
        assert more.pairs.num_rows == 0


def test_a_field_that_is_mostly_empty_makes_no_groups() -> None:
    """Its values differ in matches, as those of a day of visit."""
    table, truth = made_persons(2000, seed=4)
    columns, rng = table.to_pydict(), np.random.default_rng(0)
    days = [
        f"20{rng.integers(10, 30)}-{rng.integers(10, 13)}-{rng.integers(10, 29)}"
        for _ in range(2000)
    ]
    columns["visit"] = [day if rng.random() < 0.24 else "" for day in days]
    fields = NAMES[:4]
    run = neardup.link(columns, id="id", fields=[*fields, "visit:digits"])
    plain = f1(neardup.link(table, id="id", fields=fields), true_pairs(truth))
    assert not any("members of groups" in note for note in run.notes)
    assert f1(run, true_pairs(truth)) > plain - 0.02


@pytest.mark.long
def test_many_fields_of_few_values_in_a_large_file() -> None:
    draw = random.Random(1)
    many = [1 / k for k in range(1, 400)]
    names = [word(draw) for _ in many]

    def person() -> list[str]:
        three = [draw.choices(names, many)[0] for _ in range(3)]
        sizes = (80, 12, 28, 60, 30)
        return [*three, *(str(draw.randrange(of) + 10) for of in sizes)]

    rows = [person() for _ in range(9000)]
    source = draw.sample(range(9000), 1000)
    for k in source:
        row, at = list(rows[k]), draw.randrange(8)
        row[at] = wrong(draw, row[at]) if at < 3 else str(draw.randrange(90) + 10)
        rows.append(row)
    true = {(k, 9000 + at) for at, k in enumerate(source)}
    names = [f"f{k}" for k in range(8)]
    run = neardup.link(columns_of(rows, names), fields=names)
    assert f1(run, true) > 0.9
    kept = sorted(draw.sample(range(10_000), 7000))
    place = {k: at for at, k in enumerate(kept)}
    part = neardup.link(columns_of([rows[k] for k in kept], names), fields=names)
    assert f1(part, {(place[a], place[b]) for a, b in true if a in place and b in place}) > 0.9


def test_each_marked_pair_has_its_answer() -> None:
    columns, true, twins = with_twins(5, 120, near=0.3)
    run = neardup.link(columns, id="id", fields=PERSON)
    assert sum(pair in found_in(run) for pair in twins) > 100
    assert any("are these two kinds of pairs" in note for note in run.notes)
    some, marked = sorted(twins), sorted(true)[:30]
    labels = [(*pair, False) for pair in some[:30]] + [(*pair, True) for pair in marked]
    labels.append((some[40][0], some[50][1], True))
    for one_to_one in (labels[:1] + labels[-1:], labels):
        again = neardup.link(columns, id="id", fields=PERSON, labels=one_to_one)
        found = {frozenset(pair) for pair in found_in(again)}
        of = dict(
            zip(
                again.clusters["id"].to_pylist(), again.clusters["cluster"].to_pylist(), strict=True
            )
        )
        for a, b, match in one_to_one:
            assert (frozenset((a, b)) in found) == match == (of[a] == of[b])
        assert any("the evidence contradicts" in note for note in again.notes)
    # All are marked that are needed to tell twins from others.
    assert sum(frozenset(pair) in found for pair in twins) < 12
    assert f1(again, true) > 0.9
    with pytest.raises(neardup.NeardupError, match="contradict each other: 'a' is 'b', and 'b'"):
        table = {"id": list("abc"), "n": ["anna", "otto", "paul"]}
        labels = [("a", "b", True), ("b", "c", True), ("c", "a", False)]
        neardup.link(table, id="id", fields="n", labels=labels)


def test_fields_that_must_agree() -> None:
    columns, _, twins = with_twins(6, 120, near=0.3)
    run = neardup.link(columns, id="id", fields=PERSON, must_agree="given_name:0.45")
    given = dict(zip(columns["id"], columns["given_name"], strict=True))
    there = {pair for pair in twins if all(given[id_] for id_ in pair)}
    of = clusters_of(run)
    assert sum(of[a] == of[b] for a, b in there) < 5
    exact = neardup.link(columns, id="id", fields=PERSON, must_agree=["birth"])
    for row in exact.pairs.to_pylist():
        assert row["similarity_birth"] in (None, 1.0)
    with run.index() as index:
        assert index.stats()["records"] == len(of)
        record = {name: [values[0]] for name, values in columns.items()}
        record |= {"id": ["new"], "given_name": ["zzzzzz"]}
        assert neardup.link(record, against=index).pairs.num_rows == 0
    for wrong_one in ("suburb:2", "nothing", 7):
        with pytest.raises(neardup.NeardupError, match="`must_agree`"):
            neardup.link(columns, id="id", fields=PERSON, must_agree=wrong_one)  # type: ignore[arg-type]


@pytest.mark.long
@pytest.mark.parametrize("fields", [NAMES[:3], NAMES[:4], NAMES])
def test_two_thirds_of_a_file_are_decided_like_all(fields: list[str]) -> None:
    table, truth = made_persons(2400, seed=8)
    every = f1(neardup.link(table, id="id", fields=fields), true_pairs(truth))
    for seed in range(2):
        rows = np.sort(np.random.default_rng(seed).permutation(2400)[:1600])
        part = neardup.link(table.take(pa.array(rows)), id="id", fields=fields)
        of = truth.take(pa.array(rows))
        assert abs(f1(part, true_pairs(of)) - every) < 0.05


@pytest.mark.long
@pytest.mark.parametrize(("groups", "most"), [(1, 10), (5, 13)])
def test_a_field_whose_values_share_common_words_is_blocked(groups: int, most: int) -> None:
    """It has few candidates a record; in a part of its values, common words are not common."""
    draw = random.Random(2)
    common, rare = ([word(draw, *of) for _ in range(20_000)] for of in ((8, 8), (3, most)))
    rows = [(f"{draw.choice(common[:18])} {rare[k // groups]}", rare[k]) for k in range(20_000)]
    run = neardup.blocks(columns_of(rows, ("title", "code")), fields=["title", "code:exact"])
    (title,) = (block for block in run.summary["blocks"] if block["name"] == "title")
    assert title["pairs"] < 5 * 20_000


def test_a_small_file_of_which_all_matches_differ() -> None:
    """No two values of a match are equal but those of a field that says little."""
    draw = random.Random(4)
    names = [f"{word(draw, 6, 8)} {word(draw, 5, 8)}" for _ in range(70)]
    rows = [(name, str(k % 3)) for k, name in enumerate(names)]
    rows += [(f"{name}s", str(k % 3)) for k, name in enumerate(names)]
    run = neardup.link(columns_of(rows, ("name", "town")), fields=["name", "town"])
    assert f1(run, {(k, k + 70) for k in range(70)}) > 0.9
