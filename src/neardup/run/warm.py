"""Have the kernels compiled or loaded before the work begins, and say which of the two it was."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
from numba.core.event import Listener, install_listener

from neardup.core.bounded import bounded, content_hashes
from neardup.core.cluster import SMALL_BUCKET, Clustering, PairSet
from neardup.core.descending import descending
from neardup.core.edges import Edges
from neardup.core.search import Index
from neardup.core.second import second_round
from neardup.core.shingle import shingle_sets
from neardup.core.space import Space
from neardup.core.threads import Pool
from neardup.core.verify import ShingleSets
from neardup.corpus import open_corpus
from neardup.run.events import Event, Stages
from neardup.run.job import Job
from neardup.run.pipeline import run
from neardup.run.storage import Storage
from neardup.spec import ShingleSpec, Spec

__all__ = ["saying", "warm"]

_WORD = ShingleSpec(n=1)
_TEXTS = [
    "one two three four",
    "One, two, three: four!",
    "one two three four five six seven eight",
    "one two three four five six seven eight nine",
    "six ä",
    "",
]


def warm(spec: Spec, stages: Stages) -> None:
    """Run a few words through everything that the spec needs.

    Numba compiles a kernel when it is first called and keeps it on disk. So that this happens
    before the work begins, and not in the middle of it, those are called too that only large
    buckets or clusters need. Those of other specs wait until somebody asks for them.

    Args:
        spec: The run to come.
        stages: Gets the stage ``kernels``.
    """
    with stages.stage("kernels"), saying(stages) as compiled:
        _try(spec)
        if spec.second_round or spec.cluster == "bounded-mst":
            _try_giant_clusters()
        if compiled:
            _try_giant_buckets()


@contextmanager
def saying(stages: Stages) -> Iterator[list[str]]:
    """Say when the first kernel has to be compiled, rather than loaded, and how many were at last.

    Args:
        stages: Get the events.

    Yields:
        The names of the kernels compiled so far.
    """
    compiling = _Compiling(stages)
    begin = time.perf_counter()
    with install_listener("numba:compile", compiling):
        yield compiling.names
    if compiling.names:
        took, count = time.perf_counter() - begin, len(compiling.names)
        note = f"compiled {count} kernel{'s' if count > 1 else ''} in {took:.1f} s, once"
        stages.emit(Event("kernels", finished=True, note=note))


class _Compiling(Listener):
    def __init__(self, stages: Stages) -> None:
        self.names: list[str] = []
        self._stages = stages

    def on_start(self, event: Any) -> None:
        kernel = event.data["dispatcher"].py_func
        if not kernel.__module__.startswith("neardup.kernels."):
            return
        if not self.names:
            self._stages.emit(Event("kernels", note="compiling kernels, which happens once"))
        self.names.append(kernel.__qualname__)

    def on_end(self, event: Any) -> None:
        pass


def _try_giant_buckets() -> None:
    """Send more documents through one bucket than are compared pair by pair."""
    count = SMALL_BUCKET + 50
    words = " ".join(f"w{i}" for i in range(60))
    alike = [f"{words} x{i} y{i} z{i} {words}" for i in range(count)]
    strangers = [f"{i} a{i} b{i} c{i} d{i} e{i}" for i in range(count)]
    with Pool(1) as pool:
        for texts, budget in ((alike, 1 << 20), (strangers, 1 << 20), (strangers, 0)):
            sets = ShingleSets.of(shingle_sets(texts))
            spec = Spec(edge_threshold=0.81)  # the similarity of those alike is 0.8
            clustering = Clustering(sets, spec, pool, budget)
            for _ in range(2):
                clustering.add_band(
                    np.arange(count, dtype=np.int32), np.array([0, count], dtype=np.int32)
                )
            clustering.replay(clustering.take_log())
        for _ in Index(sets).search(shingle_sets(strangers), 0.5):
            pass  # a look ahead at a large corpus does that
        pairs = PairSet()
        pairs.reserve(len(pairs.table))


def _try_giant_clusters() -> None:
    """Send clusters through the second round that fit together, or don't, and are large or not."""
    count = 2 * SMALL_BUCKET
    sets = ShingleSets.of(shingle_sets([f"a b c d e f g h x{i}" for i in range(count)], _WORD))
    a, b = np.zeros(count - 1, np.int32), np.arange(1, count, dtype=np.int32)
    edges = Edges(a, b, np.full(count - 1, 0.8))
    docs = np.arange(count, dtype=np.int32)
    with Pool(1) as pool:
        for tree_threshold in (0.7, 0.9):
            for labels in (docs, docs % 2):
                second_round(labels, edges, sets, tree_threshold, pool)
        bounded(sets, a, b, 0.7, 0.5)
        hashes = content_hashes(sets, docs, pool, Space())
        list(descending(edges.parts(), hashes, np.not_equal, Space(), limit=count // 2))


def _try(spec: Spec) -> None:
    keep = "first" if ":" in spec.keep else spec.keep
    spec = replace(spec, keep=keep, num_bands=2, rows=1)
    run(Job(open_corpus(_TEXTS), spec, Storage(store="memory"), Stages(), threads=1))
