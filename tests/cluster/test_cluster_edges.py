"""Lists of edges: sorted, each once, read-only, in memory or mapped."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from made_edges import edges_of, listed, mapped

from common import Tune
from neardup.cluster.edges import Edges
from neardup.tuning import TUNING


@pytest.mark.parametrize("batch", [1, 7, 100, 1 << 21])
def test_edges_are_gathered_from_parts_in_any_order(batch: int) -> None:
    rng = np.random.default_rng(batch)
    pairs = {tuple(sorted(p)) for p in rng.integers(0, 300_000, size=(900, 2)).tolist()}
    pairs |= {(5, i) for i in range(6, 80)}  # a document with many edges
    expected = sorted((a, b, (a + b) % 97 / 97) for a, b in pairs if a < b)
    found = [*expected, *expected[::3]]
    order = rng.permutation(len(found))
    parts = []
    for rows in [*np.array_split(order, 5), order[:0]]:
        a, b, similarity = (np.array([found[i][k] for i in rows]) for k in range(3))
        parts.append((a.astype(np.int32), b.astype(np.int32), similarity.astype(np.float64)))
    made: list[tuple[int, object]] = []

    def allocate(size: int, dtype: object) -> np.ndarray:
        made.append((size, dtype))
        return np.empty(size, dtype)

    with TUNING.replaced(edges=batch):
        edges = Edges.gather(parts, allocate)
    assert listed(edges) == expected
    assert made == [(len(found), np.int32), (len(found), np.int32), (len(found), np.float64)]
    edges.check(300_000)


def test_no_edges_are_edges() -> None:
    none = Edges.gather([])
    assert (len(none), none.a.dtype, none.similarity.dtype) == (0, np.int32, np.float64)
    none.check(0)
    assert len(Edges.gather([(none.a, none.b, none.similarity)])) == len(none.at_least(0.5)) == 0


def test_columns_are_read_only_views_of_the_right_types(tmp_path: Path) -> None:
    a = np.array([0, 1], np.int32)
    edges = Edges(a, np.array([1, 2]), [0.5, 1])
    assert [c.dtype for c in (edges.a, edges.b, edges.similarity)] == [
        np.int32,
        np.int32,
        np.float64,
    ]
    assert np.shares_memory(edges.a, a) and a.flags.writeable
    with pytest.raises(ValueError, match="read-only"):
        edges.a[0] = 5
    files = mapped(edges, tmp_path)
    # As arrays in memory are, so that a kernel is compiled once.
    assert type(files.a) is np.ndarray and not files.a.flags.writeable
    copy = pickle.loads(pickle.dumps(files))
    assert listed(copy) == listed(edges) and not copy.a.flags.writeable
    with pytest.raises(ValueError, match=r"b is of shape \(1,\); expected \(2,\)"):
        Edges(a, a[:1], np.zeros(2))


def test_edges_at_another_threshold() -> None:
    edges = edges_of([(0, 1, 0.5), (0, 2, 0.7), (1, 2, 0.7000001)])
    assert listed(edges.at_least(0.7)) == [(0, 2, 0.7), (1, 2, 0.7000001)]


@pytest.mark.parametrize(
    ("a", "b", "message"),
    [
        ([0, 1], [1, 9], "documents 1 to 9; expected 0 to 4"),
        ([-1, 1], [1, 2], "documents -1 to 1; expected 0 to 4"),
        ([0, 2], [1, 2], "edges 0 to 2: expected a < b, sorted and distinct"),
        ([1, 0], [2, 1], "edges 0 to 2: expected a < b, sorted and distinct"),
        ([0, 0], [2, 1], "sorted and distinct"),
        ([0, 0], [2, 2], "sorted and distinct"),
    ],
)
def test_wrong_edges_are_refused_before_a_kernel_sees_them(
    a: list[int], b: list[int], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        Edges(a, b, np.full(2, 0.9)).check(5)


def test_order_is_checked_across_batches(tune: Tune) -> None:
    tune(edges=2)
    Edges([0, 1, 2, 3], [1, 2, 3, 4], np.ones(4)).check(5)
    with pytest.raises(ValueError, match="edges 0 to 2: expected a < b, sorted"):
        Edges([0, 2, 1, 3], [1, 3, 2, 4], np.ones(4)).check(5)


def test_nothing_heavy_is_imported() -> None:
    code = (
        "import sys, neardup.cluster.methods\n"
        "print(*{'igraph', 'networkx', 'pandas', 'pyarrow'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""
