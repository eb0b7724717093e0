"""Each stage by itself: batches in, batches of the declared schema out."""

from __future__ import annotations

import inspect
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from neardup import Recipe, ShingleSpec
from neardup.arrays import binary_of, numbers, words
from neardup.match.bucketing import candidate_pairs
from neardup.match.resolve import Limits
from neardup.sketch.sketcher import Sketcher
from neardup.sketch.tokenising import shingle_sets
from neardup.spark.stages import batches as arrow
from neardup.spark.stages.bucket_stage import BUCKETS, FIRSTS, band_rows, bucket, exact
from neardup.spark.stages.candidate_stage import ROOTS, SHARES, forest, mark, spread, union
from neardup.spark.stages.cluster_stage import CLUSTERS, cluster
from neardup.spark.stages.match_stage import ANSWERS, EDGES, pairs, resolve
from neardup.spark.stages.sketch_stage import SETS, sets, sketch, sketch_schema
from neardup.stages.exact import expand_to_duplicates
from neardup.testing import definition

RECIPE = Recipe(ShingleSpec(n=2), num_bands=6, rows=2)
TEXTS = ["one two three four", "One, two three FOUR!", None, "two three four five", "alone", ""]
STAGES: list[Callable[..., Iterator[pa.RecordBatch]]] = [
    sketch, exact, band_rows, bucket, sets, resolve, pairs, cluster,
    spread, forest, union, mark,
]  # fmt: skip


def batch(**columns: Any) -> pa.RecordBatch:
    arrays = {n: c if isinstance(c, pa.Array) else pa.array(c) for n, c in columns.items()}
    return pa.RecordBatch.from_arrays(list(arrays.values()), names=list(arrays))


def texts_from(first: int = 0) -> pa.RecordBatch:
    return batch(doc=pa.array(range(first, first + len(TEXTS)), pa.int64()), text=pa.array(TEXTS))


def sets_batch(lists: dict[int, list[int]]) -> pa.RecordBatch:
    kind = pa.large_list(pa.uint64())
    return pa.RecordBatch.from_arrays(
        [pa.array(list(lists), pa.int64()), pa.array(list(lists.values()), kind)], schema=SETS
    )


def buckets_batch(*rows: tuple[int, list[int]]) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays(
        [
            pa.array([band for band, _ in rows], pa.int32()),
            pa.array([docs for _, docs in rows], pa.large_list(pa.int64())),
        ],
        schema=BUCKETS,
    )


def table(found: Iterator[pa.RecordBatch]) -> list[dict[str, Any]]:
    return [row for part in found for row in part.to_pylist()]


# The stages.


def sketches_in(batch: pa.RecordBatch) -> Iterator[np.ndarray]:
    """The columns of sketches as arrays."""
    for name in ("hash", "content", "tokens", "shingles", "bitmap"):
        column = batch.column(name)
        found = words(column) if name in ("hash", "bitmap") else numbers(column)
        yield found.view(np.uint64) if name == "content" else found
    yield np.array(batch["keys"].to_pylist(), np.uint64)


def test_sketch() -> None:
    given = [texts_from(10), texts_from(0).slice(1, 3)]
    found = list(sketch(given, RECIPE))
    assert [part.schema for part in found] == [sketch_schema(RECIPE)] * 2
    assert found[1]["doc"].to_pylist() == [1, 2, 3]
    whole = Sketcher(RECIPE)(TEXTS)
    for part, rows in zip(found, (slice(None), slice(1, 4)), strict=True):
        for one, other in zip(sketches_in(part), whole, strict=True):
            assert np.array_equal(one, other[rows])
    cut = sketches_in(found[0].slice(2, 3))
    for one, other in zip(cut, whole, strict=True):
        assert np.array_equal(one, other[2:5])
    assert list(sketch([], RECIPE)) == []


def test_sets() -> None:
    found = list(sets([texts_from(), texts_from().slice(3, 2)], RECIPE))
    assert [part.schema for part in found] == [SETS] * 2
    expected = shingle_sets(TEXTS, RECIPE.shingle)
    lists = np.split(expected.values, expected.offsets[1:-1])
    assert found[0]["shingles"].to_pylist() == [values.tolist() for values in lists]
    assert found[1]["shingles"].to_pylist() == [values.tolist() for values in lists[3:5]]


def test_exact() -> None:
    hashes = {9: (1, 1), 2: (2, 5), 5: (1, 1), 7: (1, 2), 4: (2, 5), 8: (1, 2), 1: (9, 9)}
    binary = [np.array(h, dtype=np.uint64).tobytes() for h in hashes.values()]
    whole = batch(doc=pa.array(list(hashes), pa.int64()), hash=pa.array(binary, pa.binary(16)))
    (found,) = exact([whole.slice(0, 4), whole.slice(4)])
    assert found.schema == FIRSTS
    assert dict(zip(found["doc"].to_pylist(), found["first"].to_pylist(), strict=True)) == {
        9: 5, 5: 5, 2: 2, 4: 2, 7: 7, 8: 7, 1: 1,
    }  # fmt: skip
    (none,) = exact([whole.slice(0, 0)])
    assert none.schema == FIRSTS and len(none) == 0
    assert table(exact([])) == []


def test_band_rows_and_buckets() -> None:
    keys = {3: [5, 5], 1: [5, 6], 8: [7, 5], 2: [7, 5], 9: [5, 9]}
    lists = arrow.fixed_lists_of(np.array(list(keys.values()), dtype=np.uint64))
    whole = batch(doc=pa.array(list(keys), pa.int64()), keys=lists)
    rows = list(band_rows([whole.slice(0, 2), whole.slice(2)]))
    seen = {(r["band"], r["key"], r["doc"]) for part in rows for r in part.to_pylist()}
    assert seen == {(b, key, doc) for doc, both in keys.items() for b, key in enumerate(both)}
    (found,) = bucket(rows)
    assert found.schema == BUCKETS
    assert sorted((r["band"], r["docs"]) for r in found.to_pylist()) == [
        (0, [1, 3, 9]),
        (0, [2, 8]),
        (1, [2, 3, 8]),
    ]
    (none,) = bucket([])
    assert none.schema == BUCKETS and len(none) == 0


LISTS = {40: [1, 2, 3, 4], 2: [1, 2, 3, 4, 5], 7: [1, 2, 3, 9, 10], 11: [1, 2, 3, 4, 9], 5: []}


@pytest.mark.parametrize("threads", [1, 3])
def test_resolve_and_pairs(threads: int) -> None:
    """Documents and batches in any order; a document that is in no bucket is kept."""
    lists = {**LISTS, 3: [1, 2, 3, 4]}
    buckets = [buckets_batch((1, [2, 11, 40])), buckets_batch((0, [7, 2]), (1, [5, 7]))]
    given = [
        sets_batch({40: lists[40], 2: lists[2]}),
        sets_batch({d: lists[d] for d in (7, 11, 5, 3)}),
    ]
    (found,) = resolve(buckets, given, 0.6, threads)
    assert found.schema == ANSWERS
    order = sorted(lists)
    names = {d: [] for d in order}
    for part in buckets:
        for row in part.to_pylist():
            for d in row["docs"]:
                names[d].append((row["band"], tuple(row["docs"])))
    edges = definition.edges(
        [set(lists[d]) for d in order],
        definition.pairs_in_buckets([names[d] for d in order]),
        0.6,
    )
    of, how = definition.resolve(len(order), edges)
    assert {r["doc"]: (r["duplicate_of"], r["similarity"]) for r in found.to_pylist()} == {
        d: (None if of[i] < 0 else order[of[i]], how[i]) for i, d in enumerate(order)
    }
    (listed,) = pairs(buckets, given, 0.6, threads)
    assert listed.schema == EDGES
    assert [(e["a"], e["b"], e["similarity"]) for e in listed.to_pylist()] == [
        (order[a], order[b], s) for (a, b), s in sorted(edges.items())
    ]
    assert len(edges) == 3


def test_members_whose_sets_are_not_there_count_for_nothing() -> None:
    """Neither as the next document, nor where no set of the bucket is there."""
    given = [sets_batch({2: [1, 2, 3], 7: [1, 2, 3], 9: [8]})]
    buckets = [buckets_batch((0, [2, 5, 9]), (0, [1, 3]), (1, [2, 99, 100])), buckets_batch()]
    (found,) = resolve(buckets, given, 0.6)
    assert found["doc"].to_pylist() == [2, 7, 9]
    assert found["duplicate_of"].to_pylist() == [None, None, None]
    (listed,) = pairs(buckets, given, 0.6)
    assert len(listed) == 0
    (listed,) = pairs([buckets_batch((0, [1, 2, 5, 7, 99]))], given, 0.6)
    assert listed.to_pylist() == [{"a": 2, "b": 7, "similarity": 1.0}]


def test_matching_nothing() -> None:
    for stage, schema in ((resolve, ANSWERS), (pairs, EDGES)):
        (found,) = stage([], [], 0.5)
        assert found.schema == schema and len(found) == 0
        (found,) = stage([], [sets_batch({})], 0.5)
        assert len(found) == 0


@pytest.mark.parametrize("method", ["star", "components", "bounded", "louvain"])
def test_cluster(method: str) -> None:
    """A chain whose ends are unlike: bounded keeps them apart, components don't."""
    if method == "louvain":
        pytest.importorskip("igraph")
    lists = {30: list(range(20)), 10: list(range(5, 25)), 20: list(range(10, 30)), 1: [7]}
    edges = pa.RecordBatch.from_arrays(
        [pa.array([10, 10], pa.int64()), pa.array([30, 20], pa.int64()), pa.array([0.6, 0.6])],
        schema=EDGES,
    )
    given = [] if method in ("star", "components") else [sets_batch(lists)]
    (found,) = cluster([edges.slice(1), edges.slice(0, 1)], given, method, tree_threshold=0.4)
    assert found.schema == CLUSTERS
    labels = dict(zip(found["doc"].to_pylist(), found["cluster"].to_pylist(), strict=True))
    if method == "bounded":
        assert labels[10] in (labels[20], labels[30]) and labels[20] != labels[30]
    else:
        assert labels == {10: 10, 20: 10, 30: 10}
    (none,) = cluster([], [], method)
    assert none.schema == CLUSTERS and len(none) == 0


def test_equal_tokens_share_what_was_found_for_the_first() -> None:
    first = np.array([0, 0, 2, 2, 4])
    of = np.array([-1, -1, 0, -1, -1])
    similarity = np.array([np.nan, np.nan, 0.8, np.nan, np.nan])
    expand_to_duplicates(first, of, similarity)
    assert of.tolist() == [-1, 0, 0, 0, -1]
    assert np.array_equal(similarity, [np.nan, 1.0, 0.8, 0.8, np.nan], equal_nan=True)


# What only a cluster needs.


def connected_rows(keys: np.ndarray, rows: np.ndarray) -> set[frozenset[int]]:
    """Groups of rows that are connected by keys they share."""
    groups = {int(row): {int(row)} for row in rows}
    for a, b in zip(*candidate_pairs(keys), strict=True):
        if a in groups and b in groups:
            both = groups[int(a)] | groups[int(b)]
            groups |= dict.fromkeys(both, both)
    return {frozenset(group) for group in groups.values() if len(group) > 1}


def groups_of(found: pa.RecordBatch) -> set[frozenset[int]]:
    groups: dict[int, set[int]] = {}
    for doc, root in zip(found["doc"].to_pylist(), found["root"].to_pylist(), strict=True):
        groups.setdefault(root, set()).add(doc)
    return {frozenset(group) for group in groups.values()}


def test_components_of_candidates_from_shares_of_their_keys() -> None:
    rng = np.random.default_rng(8)
    keys = rng.integers(0, 150, (60, 3), dtype=np.uint64) << np.uint64(7)
    columns = {"doc": pa.array(range(60)), "keys": binary_of(keys)}
    whole = batch(**columns)
    entries = list(spread([whole.slice(0, 25), whole.slice(25)], 4))
    assert entries[0].schema == SHARES
    rows = pa.Table.from_batches(entries).to_pylist()
    trees = []
    for side in (0, 1):
        some = [row for row in rows if row["share"] % 2 == side]
        trees += forest(pa.Table.from_pylist(some, schema=SHARES).to_batches())
    (found,) = union(trees)
    assert found.schema == ROOTS
    expected = connected_rows(keys, np.arange(60))
    assert groups_of(found) == expected and len(expected) > 5
    # Whole components are thinned out: no bitmap of 1 and of 2 bits is near the other.
    near = rng.random(60) < 0.5
    bits = np.where(near, 1, rng.permutation(60) + 2).astype(np.uint64)
    bitmaps = np.column_stack([np.uint64(2) ** bits, np.zeros((60, 3), np.uint64)])
    columns |= {"shingles": pa.array([1] * 60, pa.int32()), "bitmap": binary_of(bitmaps)}
    (left,) = mark([batch(**columns).take(pa.array(rng.permutation(60)))], 0.5)
    both = [(a, b) for a, b in zip(*candidate_pairs(keys), strict=True) if near[a] and near[b]]
    assert groups_of(left) == connected_rows(keys, np.unique(both))
    assert len(left) < len(found)


def test_documents_that_stay() -> None:
    lists = {0: [1, 2, 3, 4], 1: [1, 2, 3, 5], 2: [1, 2, 3, 6], 3: [7, 8, 9], 4: [7, 8, 9, 10]}
    buckets, of = [buckets_batch((0, [0, 1, 2]), (0, [3, 4]))], [sets_batch(lists)]
    (found,) = resolve(buckets, of, 0.5, limits=Limits(old=2))
    assert found.schema == ANSWERS
    assert found["duplicate_of"].to_pylist() == [None, None, 0, None, 3]
    (found,) = resolve(buckets, of, 0.5, limits=Limits(old=2, among=False))
    assert found["duplicate_of"].to_pylist() == [None, None, 0, None, None]


# What engines rely on.


def test_stages_and_their_arguments_can_be_pickled() -> None:
    for stage in STAGES:
        assert inspect.isgeneratorfunction(stage)
        assert pickle.loads(pickle.dumps(stage)) is stage
    for value in (RECIPE, texts_from(), sets_batch(LISTS), buckets_batch((0, [2, 7]))):
        again = pickle.loads(pickle.dumps(value))
        assert again == value
    first = [pickle.loads(pickle.dumps(part)) for part in sketch([texts_from()], RECIPE)]
    assert first[0].schema == sketch_schema(RECIPE)
    assert table(band_rows(first)) == table(band_rows(sketch([texts_from()], RECIPE)))


def test_stages_import_neither_files_nor_engines_nor_the_command_line() -> None:
    code = (
        "import sys\n"
        "sys.modules['coverage'] = None\n"  # Numba imports it where it is installed
        "import neardup.spark.stages.bucket_stage, neardup.spark.stages.cluster_stage\n"
        "import neardup.spark.stages.candidate_stage\n"
        "import neardup.spark.stages.match_stage, neardup.spark.stages.sketch_stage\n"
        "import neardup.spark.stages.batches\n"
        "from neardup import Recipe\n"
        "rooms = ('io', 'state', 'engines', 'output', 'api', 'cli', 'inspect', 'forecast')\n"
        "print([m for m in sys.modules if m.split('.')[0] in ('click', 'sqlite3', 'pandas')\n"
        "       or m.startswith(tuple('neardup.' + room for room in rooms))])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


# Between Arrow and NumPy.


def test_arrays_go_to_arrow_and_back() -> None:
    rng = np.random.default_rng(1)
    rows = rng.integers(0, 2**64, (7, 3), dtype=np.uint64)
    assert np.array_equal(words(binary_of(rows)), rows)
    assert np.array_equal(words(binary_of(rows)[2:5]), rows[2:5])
    assert words(binary_of(rows[:0])).shape == (0, 3)
    assert arrow.fixed_lists_of(rows).to_pylist() == rows.tolist()
    offsets = np.array([0, 2, 2, 5])
    lists = arrow.lists_of(np.arange(5), offsets)
    assert lists.to_pylist() == [[0, 1], [], [2, 3, 4]]
    for part in (slice(0, 3), slice(1, 3), slice(2, 2)):
        found = arrow.ragged(lists[part])
        assert [
            found.values[a:b].tolist()
            for a, b in zip(found.offsets[:-1], found.offsets[1:], strict=True)
        ] == lists[part].to_pylist()
    assert arrow.array_of(rows[:, 1]).to_pylist() == rows[:, 1].tolist()
    small = pa.array([[1, 2], [3]], pa.list_(pa.int64()))
    assert arrow.ragged(small[1:]).values.tolist() == [3]


def test_groups_are_complete_however_batches_are_cut() -> None:
    rng = np.random.default_rng(4)
    for size in (0, 1, 100, 10**9):
        root = np.repeat(np.arange(40), rng.integers(1, 30, 40))
        rows = batch(root=root, value=np.arange(len(root)))
        cuts = np.sort(rng.integers(0, len(root) + 1, 12))
        ends = zip([0, *cuts], [*cuts, len(root)], strict=True)
        found = list(arrow.groups_of((rows.slice(a, b - a) for a, b in ends), "root", size))
        tables = [pa.Table.from_batches(each) for each in found]
        assert pa.concat_tables(tables).equals(pa.Table.from_batches([rows]))
        roots = [set(each["root"].to_pylist()) for each in tables]
        assert sum(map(len, roots)) == 40  # each is in one
        assert all(table.nbytes >= size for table in tables[:-1])
        assert size or len(found) > 5
    assert list(arrow.groups_of([], "root", 1)) == []
