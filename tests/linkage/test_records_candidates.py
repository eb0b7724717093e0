"""Which pairs become candidates: with which recall, across which files, by which shingles."""

from __future__ import annotations

import itertools
import subprocess
import sys
import unicodedata
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from made_records import NAMES, grams, made_persons, true_pairs

import neardup
from common import Tune
from neardup import ShingleSpec
from neardup.errors import SpecError
from neardup.linkage.blocks.field_blocks import of_one_field
from neardup.linkage.blocks.groups import equal_pairs_of, group_values
from neardup.linkage.blocks.record_blocks import Most, find_at_most, find_candidates
from neardup.linkage.features import make_features
from neardup.linkage.fields import Field, LinkSpec
from neardup.threads import Pool


def ids(table: pa.Table) -> set[tuple[str, str]]:
    pairs = zip(table["id_a"].to_pylist(), table["id_b"].to_pylist(), strict=True)
    return {(min(pair), max(pair)) for pair in pairs}


@pytest.mark.long
def test_blocks_are_components_of_candidates(tmp_path: Path) -> None:
    names = ["Anna Schmidt", "Peter Huber", "Ana Schmitd", "Peter Hubert", "Zoe"]
    found = neardup.blocks({"name": names, "id": list("abcde")}, id="id", fields="name")
    assert {tuple(sorted(pair)) for pair in ids(found.pairs)} == {("a", "c"), ("b", "d")}
    labels = found.labels()
    assert labels.to_pydict() == {"id": list("abcde"), "block": [0, 1, 0, 1, 4]}
    two = neardup.blocks({"name": names[:2]}, {"name": names[2:]}, fields="name").labels("group")
    assert two.column_names == ["id", "source", "group"]
    assert two["source"].to_pylist() == list("aabbb")
    assert two["group"].to_pylist() == [0, 1, 0, 1, 4]
    with pytest.raises(SpecError, match="there is a column 'id' already"):
        found.labels("id")
    source, out = tmp_path / "names.csv", tmp_path / "blocks.csv"
    source.write_text(
        "id,name\n" + "".join(f"{i},{n}\n" for i, n in zip("abcde", names, strict=True))
    )
    words = ["--id", "id", "--fields", "name", "--column", "block", "-o", str(out), "--quiet"]
    command = [sys.executable, "-m", "neardup", "blocks", str(source), *words]
    subprocess.run(command, check=True)
    assert out.read_text().split() == ["id,block", "a,0", "b,1", "c,0", "d,1", "e,4"]


def test_recall_at_block_at() -> None:
    """Pairs around the similarity that the recall is stated at: 0.9 of 800, 4 sigma below."""
    rng = np.random.default_rng(3)
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    left, right = [], []
    for _ in range(800):
        shared = "".join(rng.choice(letters, 26))
        own = ["".join(rng.choice(letters, 29)) for _ in range(2)]
        left.append(shared + own[0])
        right.append(shared + own[1])
    similarity = [
        len(grams(x, 3) & grams(y, 3)) / len(grams(x, 3) | grams(y, 3))
        for x, y in zip(left, right, strict=True)
    ]
    at = float(np.quantile(similarity, 0.02))
    found = neardup.blocks({"v": left}, {"v": right}, fields="v", block_at=at, recall=0.9)
    assert 0.25 < at < 0.35
    assert found.recall >= 0.9
    pairs = found.pairs
    hit = set(zip(pairs["id_a"].to_pylist(), pairs["id_b"].to_pylist(), strict=True))
    near = [k for k, s in enumerate(similarity) if s >= at]
    share = sum((k, k) in hit for k in near) / len(near)
    assert share > 0.9 - 4 * np.sqrt(0.09 / len(near))


def test_the_reported_similarity_is_that_of_the_records(linked: neardup.LinkRun) -> None:
    values = {"v": ["anna maria", "anna marie", "annamaria", "otto", "ott"]}
    for row in neardup.blocks(values, fields="v").pairs.to_pylist():
        x, y = (grams(values["v"][row[name]], 3) for name in ("id_a", "id_b"))
        assert row["similarity"] == len(x & y) / len(x | y)


def test_true_pairs_are_candidates(people: tuple[pa.Table, pa.Table]) -> None:
    table, truth = people
    found = neardup.blocks(table, id="id", fields=NAMES)
    true, candidates = true_pairs(truth), ids(found.pairs)
    assert len(true & candidates) >= 0.99 * len(true)
    assert len(candidates) < 0.02 * found.summary["possible"]
    assert found.summary["candidates"] == len(candidates) == found.pairs.num_rows


def test_neither_threads_nor_the_order_of_records_matter(
    people: tuple[pa.Table, pa.Table],
) -> None:
    table, _ = people
    order = np.random.default_rng(1).permutation(table.num_rows)
    one = neardup.blocks(table, id="id", fields=NAMES, threads=1).pairs
    two = neardup.blocks(table, id="id", fields=NAMES, threads=2).pairs
    assert one.equals(two)
    assert ids(one) == ids(neardup.blocks(table.take(pa.array(order)), id="id", fields=NAMES).pairs)


def test_two_files_give_cross_pairs_only() -> None:
    table, _ = made_persons(600, seed=5)
    half = table.num_rows // 2
    first, second = table.slice(0, half), table.slice(half)
    apart = neardup.blocks(first, second, id="id", fields=NAMES)
    assert apart.summary["possible"] == half * (table.num_rows - half)
    assert apart.pairs.num_rows
    assert set(apart.pairs["id_a"].to_pylist()) <= set(first["id"].to_pylist())
    assert set(apart.pairs["id_b"].to_pylist()) <= set(second["id"].to_pylist())


def test_ids_of_two_files_may_coincide() -> None:
    table, _ = made_persons(300, seed=6)
    same = neardup.link(table, table, id="id", fields=NAMES, one_to_one=True)
    assert same.pairs["id_a"].to_pylist() == same.pairs["id_b"].to_pylist()
    # The others are equal to another record in what is compared, so that no best is the only one.
    assert same.pairs.num_rows > 280


def test_swapped_fields_share_a_bucket_unless_tagged() -> None:
    rng = np.random.default_rng(2)
    names = ["".join(rng.choice(list("abcdefghijklmnop"), 9)) for _ in range(400)]
    first = {"given": names[:200], "surname": names[200:]}
    second = {"given": names[200:], "surname": names[:200]}
    fields = ["given", "surname"]
    free = neardup.blocks(first, second, fields=fields).pairs
    assert sum(map(bool, pc.equal(free["id_a"], free["id_b"]).to_pylist())) == 200
    assert neardup.blocks(first, second, fields=fields, tagged=True).pairs.num_rows == 0


def test_no_shingle_crosses_a_border() -> None:
    """With shingles across fields, these would share most of theirs."""
    run = neardup.blocks({"x": ["abcdef", "abc"], "y": ["", "def"]}, fields=["x", "y"])
    assert all(s < 1 for s in run.pairs["similarity"].to_pylist())
    assert grams("abcdef", 3) & (grams("abc", 3) | grams("def", 3)) == {
        "\x02ab",
        "abc",
        "def",
        "ef\x03",
    }


@pytest.mark.parametrize("shingle", ["char:2", "word:1", ShingleSpec("char:3", alphanumeric=True)])
def test_shingles_and_bands_that_are_given(shingle: str | ShingleSpec) -> None:
    """The similarity is that of these shingles; values have borders, unless letters alone count."""
    names = ["Anna Schmidt", "Ana Schmidt", "Peter Huber", "anna schmid"]
    found = neardup.blocks(
        {"name": names}, fields="name", block_at=0.2, shingle=shingle, num_bands=90, rows=2
    )
    assert (found.summary["bands"], found.summary["rows"]) == (90, 2)
    assert found.recall == pytest.approx(neardup.candidate_probability(0.2, 90, 2))
    bordered = [f"\x02{name}\x03" for name in names]
    for row in found.pairs.to_pylist():
        a, b = bordered[row["id_a"]], bordered[row["id_b"]]
        assert row["similarity"] == neardup.similarity(a, b, shingle)
    assert (0, 1) in {(row["id_a"], row["id_b"]) for row in found.pairs.to_pylist()}


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"num_bands": 3}, "must be given together"),
        ({"rows": 3}, "must be given together"),
        ({"num_bands": 0, "rows": 1}, "bands is 0"),
        ({"shingle": "item"}, "the shingle is item"),
        ({"shingle": "chars:2"}, "expected word:N"),
    ],
)
def test_shingles_and_bands_that_are_refused(wrong: dict[str, Any], says: str) -> None:
    with pytest.raises(SpecError, match=says):
        neardup.blocks({"name": ["a", "b"]}, fields="name", **wrong)


def test_a_search_that_stops_early_finds_the_same_or_nothing() -> None:
    """Whatever the limit: all candidates of a field, or the answer that they are too many."""
    table, _ = made_persons(3000, seed=4)
    columns = (table["street"].combine_chunks().cast(pa.large_string()).fill_null(""),)
    spec = of_one_field(Field("street"), LinkSpec((Field("street"),)))
    with Pool(2) as pool:
        features = make_features(columns, spec, pool)
        plain = find_candidates(features, spec, None, pool)
        for left in (len(plain.a), len(plain.a) - 1, len(plain.a) // 20, 0):
            found = find_at_most(features, spec, Most(left, lambda a, b: len(a)), pool)
            assert (found is None) == (left < len(plain.a))
            if found is not None:
                assert np.array_equal(found.a, plain.a) and np.array_equal(found.b, plain.b)
                assert np.array_equal(found.similarity, plain.similarity)
    assert len(plain.a) > 2000


def test_characters_that_become_several(tune: Tune) -> None:
    """More shingles than there are bytes: U+FDFA is three bytes, and a sentence of 18 letters."""
    tune(prepared_records=3)
    values = [chr(0xFDFA) + letter for letter in "abcdefghijklmnopqrst"]
    spelled = [unicodedata.normalize("NFKC", value) for value in values]
    with Pool(2) as pool:
        one, two = (
            make_features((pa.array(of, pa.large_string()),), LinkSpec((Field("x"),)), pool)
            for of in (values, spelled)
        )
    assert len(one.records.values) > sum(len(value.encode()) + 1 for value in values)
    for kind in ("records", "values"):
        for x, y in zip(getattr(one, kind), getattr(two, kind), strict=True):
            assert np.array_equal(x, y)


@pytest.mark.parametrize("splits", [[], [13], [27], [13, 27], [0, 5, 5, 30], [*range(10)]])
def test_pairs_of_equal_and_similar_values(splits: list[int]) -> None:
    """Counted before they are made; of several files those across them."""
    rng = np.random.default_rng(sum(splits))
    file = np.searchsorted(splits, np.arange(40), side="right").astype(np.int32)
    apart = file if splits else None
    hashes = rng.integers(0, 9, 40).astype(np.uint64)
    groups = group_values(hashes, apart)
    alike = groups.with_similar(np.array([0, 2]), np.array([1, 5]))
    values = hashes[groups.example].tolist()
    near = {(values[0], values[1]), (values[2], values[5])}
    expected = [
        a * 40 + b
        for a, b in itertools.combinations(range(40), 2)
        if hashes[a]
        and hashes[b]
        and (not splits or file[a] != file[b])
        and (hashes[a] == hashes[b] or {(hashes[a], hashes[b]), (hashes[b], hashes[a])} & near)
    ]
    assert alike.make_pairs().tolist() == expected
    equal = equal_pairs_of(hashes, apart)
    assert equal == groups.equal_pairs() == len(groups.make_pairs())
    between = groups.pairs_between(alike.one, alike.two)
    assert equal + between == len(expected) or (
        len(splits) == 10 and equal + between > len(expected)
    )


@pytest.mark.parametrize("records", [1, 2, 3])
def test_few_records(records: int) -> None:
    found = neardup.blocks({"v": ["anna"] * records}, {"v": ["anna", "otto"]}, fields="v")
    assert found.pairs["id_b"].to_pylist() == [0] * records
