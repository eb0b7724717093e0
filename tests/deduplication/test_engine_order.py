"""Which document is kept, in which order documents come, and what their ids may be."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from ordered_values import COLUMNS, expected_order

import neardup
from common import Command, Tune, write_lines
from neardup import Spec
from neardup.deduplication import comparing
from neardup.deduplication.documents import ordering
from neardup.errors import ColumnError, DuplicateIdError
from neardup.match import resolve as resolving
from neardup.testing import small_corpora

TEXT = "the same text of a few words"


def kept_of(table: pa.Table, **settings: Any) -> list[bool]:
    return neardup.dedup(table, **settings).keep_mask.tolist()


# What is kept.


@pytest.mark.parametrize("type", [pa.int64(), pa.string()])
def test_large_numbers_are_compared_exactly(type: pa.DataType) -> None:
    values = pa.array([2**53, 2**53 + 1, 7]).cast(type)
    table = pa.table({"text": [TEXT] * 3, "q": values})
    for keep, kept in (("max:q", 1), ("min:q", 2)):
        assert kept_of(table, keep=keep) == [i == kept for i in range(3)]


def test_decimals_in_text_are_compared_as_numbers() -> None:
    table = pa.table({"text": [TEXT, TEXT], "q": ["9.5", "10.25"]})
    assert kept_of(table, keep="max:q") == [False, True]
    table = pa.table({"text": [TEXT, TEXT], "q": ["9.5", "10.25 stars"]})
    assert kept_of(table, keep="max:q") == [True, False]  # as text, then


@pytest.mark.long
@pytest.mark.parametrize(
    ("values", "says"),
    [
        (["3.2.2024", "12.1.2024"], "dates"),
        (["2024-2-3", "2024-11-12"], "dates"),
        (["03/02/2024 10:15", "12/01/2024 9:00"], "dates"),
        (["2021-02-03", "2024/01/12"], "dates"),
        (["3. Februar 2024", "12. März 2024"], "dates"),
        (["Feb 3, 2024", None], "dates"),
        (["12", "7", "n/a"], "numbers"),
        (["2024-02-03", "2024-11-12T10:00:00Z", "", None], ""),
        (["2024/02/03", "2024/11/12"], ""),
        (["1.2", "1.10"], ""),
        (["a", "b", "3.2.2024"], ""),
        ([None, ""], ""),
    ],
)
def test_text_that_looks_like_dates_is_noted(
    values: list[str | None], says: str, tmp_path: Path, command: Command
) -> None:
    count = len(values)
    table = pa.table({"text": [TEXT] * count, "when": pa.array(values, pa.string())})
    run = neardup.dedup(table, order_by="when", keep="min:when")
    notes = run.summary["notes"]
    assert len(notes) == bool(says) and all(says in note and "'when'" in note for note in notes)
    assert not any(value and value in note for value in values for note in notes)
    assert ("as text" in str(run)) == bool(says)
    old = neardup.against(table, ["x"], order_by="when")
    assert old.summary["notes"] == notes
    assert notes == neardup.dedup(table, keep="max:when").summary["notes"]
    passages = neardup.passages(table, order_by="when", words=3, progress=False)
    assert all(note in passages.summary["notes"] for note in notes)
    if says:
        source = write_lines(tmp_path / "a.jsonl", table.to_pylist())
        out = tmp_path / "out"
        shown = command("dedup", source, "-o", out, "--order-by", "when")
        assert f"note{' ' * 9}" in shown.err and "as text" in shown.err
        again = command("recluster", out, "-o", tmp_path / "again", "--no-clean", "--threshold", 1)
        assert "as text" in again.err


@pytest.mark.parametrize(
    ("values", "largest"),
    [
        (["12345678901234567890", "12345678901234567891", "7"], 1),
        (["9007199254740992", "9007199254740993", "0.5"], 1),
        (["0.25", "1e300", "-inf"], None),
        (["0.25", "1e15", "-inf"], 1),
    ],
)
def test_numbers_as_text_never_become_equal(values: list[str], largest: int | None) -> None:
    table = pa.table({"text": [TEXT] * 3, "q": values})
    if largest is None:
        with pytest.raises(ColumnError, match=r"'q'.* exactly"):
            kept_of(table, keep="max:q")
    else:
        assert kept_of(table, keep="max:q") == [i == largest for i in range(3)]
        assert kept_of(table, keep="min:q") == [False, False, True]
        assert kept_of(table, order_by="q") == [False, False, True]


@pytest.mark.parametrize(
    "values",
    [
        pa.array([1.5, 3.5, 2.5]),
        pa.array(["2020-01-01", "2021-05-01", "2020-09-09"]).cast(pa.date32()),
        pa.array([1, 3, 2]).cast(pa.timestamp("us")),
        pa.array([1, 3, 2]).cast(pa.decimal128(21, 2)),
        pa.array(["a", "c", "b"]),
        pa.array(["a", "c", "b"]).dictionary_encode(),
        pa.array([False, True, False]),
        pa.array([None, 3, None], pa.int8()),
    ],
    ids=lambda values: str(values.type)[:12],
)
def test_columns_of_any_type_that_has_an_order(values: pa.Array) -> None:
    table = pa.table({"text": [TEXT] * 3, "q": values})
    assert kept_of(table, keep="max:q") == [False, True, False]
    lowest = 1 if values.null_count else 0
    assert kept_of(table, keep="min:q") == [i == lowest for i in range(3)]


def test_ties_and_nulls_go_by_the_order_of_the_documents() -> None:
    table = pa.table(
        {"text": [TEXT] * 4, "q": [None, 2, 2, 1], "n": [3, 2, 1, 0], "null": pa.nulls(4)}
    )
    assert kept_of(table, keep="max:q") == [False, True, False, False]
    assert kept_of(table, keep="max:q", order_by="n") == [False, False, True, False]
    assert kept_of(table, keep="max:null") == [True, False, False, False]
    assert kept_of(table, order_by="null") == [True, False, False, False]
    assert kept_of(table, order_by="n") == [False, False, False, True]
    assert kept_of(table, order_by="q") == [False, False, False, True]  # nulls come last


def test_the_longest_has_most_characters() -> None:
    texts = ["aaaa bbbb cccc dddd eeee ffff", "AAAA, bbbb, cccc, dddd, eeee, ffff", None, ""]
    assert kept_of(pa.table({"text": texts}), keep="longest") == [False, True, True, True]
    # Not bytes.
    texts = ["ääää öööö üüüü ßßßß àààà", "ääää öööö üüüü ßßßß àààà."]
    assert kept_of(pa.table({"text": texts}), keep="longest") == [False, True]
    # Several columns are one text.
    table = pa.table({"a": ["x y", "x"], "b": ["z w v", "y z w v   "]})
    assert kept_of(table, text=["a", "b"], keep="longest") == [False, True]


@pytest.mark.parametrize("setting", [{"keep": "max:stars"}, {"order_by": "stars"}])
@pytest.mark.parametrize("how", ["frame", "jsonl"])
def test_a_column_to_order_by_is_missing(setting: dict[str, str], how: str, tmp_path: Path) -> None:
    source: Any = pa.table({"text": ["a"], "id": [1]})
    if how == "jsonl":
        source = write_lines(tmp_path / "a.jsonl", [{"text": "a", "id": 1}])
    with pytest.raises(ColumnError, match="stars"):
        neardup.dedup(source, **setting)


def test_a_column_that_has_no_order() -> None:
    table = pa.table({"text": ["a", "b"], "q": [[1], [2]]})
    for setting in ({"keep": "max:q"}, {"order_by": "q"}):
        with pytest.raises(ColumnError, match=r"column 'q'.* list<.*can't be"):
            neardup.dedup(table, **setting)


def test_a_column_whose_type_differs_between_partitions(tmp_path: Path, tune: Tune) -> None:
    """Numbers in one partition, numbers with a fraction or nothing in others."""
    tune(smallest_partition=1 << 10)
    rows: list[dict[str, Any]] = [
        {"text": f"{TEXT} {i // 2}", "q": [i, i + 0.5, None][i // 40 % 3]} for i in range(240)
    ]
    path = write_lines(tmp_path / "a.jsonl", rows)
    run = neardup.dedup(path, keep="max:q", threshold=1.0)
    assert len(run.summary["source"]["partition_documents"].split()) > 3
    expected = [
        (rows[i]["q"] is None and i % 2 == 0) or (rows[i]["q"] is not None and i % 2 == 1)
        for i in range(240)
    ]
    assert run.keep_mask.tolist() == expected


# The order of the rows.


def shuffled(rows: pa.Table, seed: int) -> pa.Table:
    return rows.take(np.random.default_rng(seed).permutation(len(rows)))


SETTINGS: dict[str, dict[str, Any]] = {
    "star": {},
    "bounded": {"cluster": "bounded"},
    "disjoint-sets": {"cluster": "disjoint-sets"},
    "components": {"cluster": "components", "pairs": "all"},
    "louvain": {"cluster": "louvain"},
    "keep": {"keep": "max:quality", "pairs": "all"},
    "char": {"shingle": "char:4", "threshold": 0.5},
}


@pytest.mark.parametrize("name", SETTINGS)
def test_shuffled_rows_in_a_given_order_give_the_same_tables(name: str) -> None:
    if name == "louvain":
        pytest.importorskip("igraph")
    rows = small_corpora.random_documents(np.random.default_rng(3), 300)
    settings = {"threshold": 0.6, **SETTINGS[name]}
    whole = neardup.dedup(rows, id="id", order_by="rank", **settings)
    assert whole.summary["counts"]["removed"] > 50
    for seed in (1, 2):
        run = neardup.dedup(shuffled(rows, seed), id="id", order_by="rank", **settings)
        assert run.clusters.equals(whole.clusters)
        assert (run.edges is None) == (whole.edges is None)
        if run.edges is not None and whole.edges is not None:
            # One edge of an exact duplicate is to the first of them, whichever that is.
            assert run.edges.equals(whole.edges)
        assert run.summary["counts"] == whole.summary["counts"]
        # By position it is another order.
        ids = shuffled(rows, seed)["id"].to_pylist()
        assert [i for i, kept in zip(ids, run.keep_mask, strict=True) if kept] == (
            run.clean()["id"].to_pylist()
        )


def test_large_buckets_list_the_same_pairs_in_any_order() -> None:
    """Which pairs of a large bucket are listed depends on what is in the bucket alone."""
    rng = np.random.default_rng(8)
    template = " ".join(f"w{i}" for i in range(40))
    texts = [
        f"{template} " + " ".join(f"x{v}" for v in rng.integers(0, 20, 6)) for _ in range(1300)
    ]
    rows = pa.table({"text": texts, "id": range(1300), "rank": rng.permutation(1300)})
    spec = Spec(threshold=0.8, cluster="components", num_bands=8, rows=3)
    settings: dict[str, Any] = {"id": "id", "order_by": "rank", "spec": spec}
    whole = neardup.dedup(rows, **settings)
    assert whole.summary["counts"]["not_compared"] > 0
    for seed in (1, 2):
        run = neardup.dedup(shuffled(rows, seed), **settings)
        assert run.summary["counts"] == whole.summary["counts"]
        assert run.edges is not None and whole.edges is not None
        assert run.edges.equals(whole.edges)
        assert run.clusters.equals(whole.clusters)


def test_documents_that_are_alone_change_nothing() -> None:
    """Neither do others that share no bucket with a family."""
    rows = small_corpora.random_documents(np.random.default_rng(5), 150)
    spec = Spec(threshold=0.6, num_bands=12, rows=2)
    whole = neardup.dedup(rows, id="id", spec=spec)
    strangers = pa.table(
        {
            "id": [f"s{i}" for i in range(50)],
            "text": [" ".join(f"s{i}w{j}" for j in range(20)) for i in range(50)],
            "quality": pa.array([0.0] * 50),
            "rank": pa.array(range(1000, 1050), pa.int64()),
            "group": pa.array(["a"] * 50),
        }
    )
    both = pa.concat_tables(
        [strangers, rows, strangers.set_column(0, "id", [[f"t{i}" for i in range(50)]])]
    )
    run = neardup.dedup(both, id="id", spec=spec)
    mine = {
        r["doc_id"]: (r["kept"], r["duplicate_of"], r["similarity"])
        for r in run.clusters.to_pylist()
    }
    for row in whole.clusters.to_pylist():
        assert mine[row["doc_id"]] == (row["kept"], row["duplicate_of"], row["similarity"])


# Buckets with a limit.


def test_max_bucket_compares_with_the_first_kept_ones() -> None:
    """Unlike texts that share a template fill a bucket; those behind are not compared with all."""
    template = " ".join(f"t{i}" for i in range(40))
    texts = [f"{template} {' '.join(f'x{i}y{j}' for j in range(30))}" for i in range(100)]
    near = [*texts, *(f"{text} more" for text in texts)]
    spec = Spec(num_bands=1, rows=1, threshold=0.8)
    free = neardup.dedup(near, spec=spec)
    run = neardup.dedup(near, spec=spec.replace(max_bucket=3))
    counts, all_counts = run.summary["counts"], free.summary["counts"]
    assert all_counts["not_compared"] == 0 < counts["not_compared"]
    assert 0 < counts["removed"] < all_counts["removed"]
    assert counts["candidates"] == all_counts["candidates"]
    # What was found is what is found without a limit, by documents near the front of a bucket.
    for row, other in zip(run.clusters.to_pylist(), free.clusters.to_pylist(), strict=True):
        assert row["kept"] or row == other


def test_a_limit_that_is_never_reached_changes_nothing() -> None:
    rows = small_corpora.random_documents(np.random.default_rng(6), 200)
    whole = neardup.dedup(rows, id="id", spec=Spec(threshold=0.6))
    run = neardup.dedup(rows, id="id", spec=Spec(threshold=0.6, max_bucket=10_000))
    assert run.clusters.equals(whole.clusters)
    assert run.summary["counts"] == whole.summary["counts"]


# Ids.


@pytest.mark.parametrize("type", [pa.binary(), pa.large_binary(), pa.binary(2)])
def test_ids_may_be_any_bytes(type: pa.DataType) -> None:
    ids = pa.array([b"\xff\xfe", b"\xff\x00", b"\xff\xfe"], type)
    table = pa.table({"text": ["a", "b", "c"], "id": ids})
    with pytest.raises(DuplicateIdError, match="record 3"):
        neardup.dedup(table, id="id")
    run = neardup.dedup(table[:2], id="id")
    assert run.clusters["doc_id"].to_pylist() == [b"\xff\xfe", b"\xff\x00"]
    assert run.clusters["doc_id"].type == pa.large_binary()


@pytest.mark.parametrize(
    ("ids", "same"),
    [
        (pa.array([3, 1], pa.int8()), pa.int64()),
        (pa.array([3, 2**64 - 1], pa.uint64()), pa.uint64()),
        (pa.array(["a", "b"]), pa.large_string()),
        (pa.array(["a", "b"]).dictionary_encode(), pa.large_string()),
        (pa.array(["2020-01-01", "2020-01-02"]).cast(pa.date32()), pa.large_string()),
        (pa.array([1, 2]).cast(pa.decimal128(21, 2)), pa.large_string()),
    ],
    ids=lambda value: str(value)[:9] if isinstance(value, pa.DataType) else "",
)
def test_ids_get_a_plain_type(ids: pa.Array, same: pa.DataType) -> None:
    run = neardup.dedup(pa.table({"text": [TEXT, TEXT], "id": ids}), id="id")
    assert run.clusters["doc_id"].type == run.clusters["duplicate_of"].type == same
    assert run.clusters["doc_id"].to_pylist() == ids.cast(same).to_pylist()
    assert run.clusters["duplicate_of"].to_pylist() == [None, ids.cast(same)[0].as_py()]


@pytest.mark.parametrize(
    "ids",
    [pa.array([1.5, 2.5]), pa.array([True, False]), pa.array([[1], [2]]), pa.array([{"a": 1}, {}])],
    ids=lambda ids: str(ids.type),
)
def test_what_can_not_be_an_id(ids: pa.Array) -> None:
    with pytest.raises(ColumnError, match="can't be an id"):
        neardup.dedup(pa.table({"text": ["a", "b"], "id": ids}), id="id")


def test_equal_ids_are_named_by_where_they_are(tmp_path: Path) -> None:
    one = write_lines(tmp_path / "a.jsonl", [{"id": i, "text": "x"} for i in range(50)])
    two = write_lines(tmp_path / "b.jsonl", [{"id": i, "text": "x"} for i in (60, 61, 30, 8)])
    with pytest.raises(DuplicateIdError) as caught:
        neardup.dedup([one, two], id="id")
    assert f"{two}: record 3 has the id 30 that {one}: record 31 has too" in str(caught.value)


def test_ids_that_hash_alike_are_different(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "neardup.deduplication.documents.identifiers._hashes",
        lambda chunk: np.zeros(len(chunk), np.uint64),
    )
    table = pa.table({"text": [f"x{i}" for i in range(20)], "id": [f"i{i}" for i in range(20)]})
    assert len(neardup.dedup(table, id="id")) == 20
    with pytest.raises(DuplicateIdError, match="record 20 has the id 'i7' that record 8 has too"):
        neardup.dedup(table.set_column(1, "id", [[f"i{i}" for i in range(19)] + ["i7"]]), id="id")


def test_numbers_and_strings_as_ids_in_one_file(tmp_path: Path, tune: Tune) -> None:
    tune(smallest_partition=1 << 10)
    rows = [{"id": i if i < 100 else f"n{i}", "text": f"{TEXT} {i}"} for i in range(200)]
    run = neardup.dedup(write_lines(tmp_path / "a.jsonl", rows), id="id")
    assert run.clusters["doc_id"].to_pylist() == [str(row["id"]) for row in rows]


# The check of the promises, which every test of the suite makes.


def test_a_broken_promise_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [f"one two three four five {i // 2}" for i in range(20)]
    resolve = resolving.resolve

    def keep_all(*args: Any) -> Any:
        found, counts = resolve(*args)
        found.duplicate_of[:] = -1
        found.similarity[:] = np.nan
        return found, counts

    def keep_none(*args: Any) -> Any:
        found, counts = resolve(*args)
        found.duplicate_of[1:] = 0
        found.similarity[1:] = 1.0
        return found, counts

    spec = Spec(num_bands=30, rows=1, threshold=0.3)
    neardup.dedup(texts, spec=spec)
    for broken, says in ((keep_all, "two kept documents"), (keep_none, "another similarity")):
        monkeypatch.setattr(comparing, "resolve", broken)
        with pytest.raises(AssertionError, match=says):
            neardup.dedup(texts, spec=spec)


def test_a_run_says_what_it_counted(tmp_path: Path) -> None:
    """Numbers that add up, against plain counts."""
    rows = small_corpora.random_documents(np.random.default_rng(2), 250)
    run = neardup.dedup(rows, id="id", threshold=0.6, out=tmp_path / "out")
    counts = json.loads((tmp_path / "out" / "run.json").read_text())["counts"]
    assert counts == run.summary["counts"]
    assert counts["documents"] == 250 == counts["kept"] + counts["removed"]
    assert counts["kept"] == run.keep_mask.sum() == counts["clusters"]
    sizes = np.unique(run.labels, return_counts=True)[1]
    assert counts["clusters_of_two_or_more"] == (sizes > 1).sum()
    assert counts["largest_cluster"] == sizes.max()
    empty = [not (t or "").strip() for t in rows["text"].to_pylist()]
    assert counts["empty"] == sum(empty)
    assert counts["candidates"] == sum(run.summary["candidates_by_band"])
    buckets = run.summary["bucket_sizes"]
    assert sum(buckets.values()) > 0 and "2" in buckets
    assert counts["compared_documents"] <= 250 - counts["equal_tokens"]
    assert counts["not_compared"] == 0


@pytest.mark.parametrize("name", COLUMNS)
def test_values_have_the_order_that_spark_has(name: str) -> None:
    """See the test of the same table on Spark."""
    column = COLUMNS[name]
    table = pa.table({"q": column.values})
    for descending in (True, False):
        spec = Spec(keep=f"{'max' if descending else 'min'}:q")
        if column.one_machine:
            found = ordering.keep_order(table, len(table), spec, None)
            assert np.argsort(found).tolist() == expected_order(column, descending)
        else:
            with pytest.raises(ColumnError, match="can't be compared exactly"):
                ordering.keep_order(table, len(table), spec, None)
