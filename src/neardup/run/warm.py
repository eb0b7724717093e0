"""Have the kernels compiled or loaded before the work begins, and say which of the two it was."""

from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np
from numba.core.dispatcher import Dispatcher

from neardup.core.bounded import bounded, content_hashes
from neardup.core.cluster import SMALL_BUCKET, Clustering, PairSet
from neardup.core.descending import descending
from neardup.core.edges import Edges
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

__all__ = ["warm"]

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

    Numba compiles a kernel when it is first called and keeps it on disk. So that this happens once
    and not in the middle of somebody's second run, all kernels are compiled if any had to be; but
    those of the second round, which few ask for and which take half as long as all others, wait.

    Args:
        spec: The run to come.
        stages: Gets the stage ``kernels``.
    """
    before = compiled()
    with stages.stage("kernels"):
        _try(spec)
        second = spec.second_round or spec.cluster == "bounded-mst"
        if second:
            _try_giant_clusters()
        if compiled() > before:
            stages.emit(Event("kernels", note="compiling kernels, which happens once"))
            for other in (
                Spec(scheme="affine32"),
                Spec(scheme="oph32", pairs="all"),
                Spec(cluster="star", shingle=ShingleSpec(unit="char", n=3, bag=True)),
                Spec(cluster="components", shingle=ShingleSpec(stem="english")),
                Spec(method="allpairs", cluster="star"),
            ):
                _try(other)
            _try_giant_buckets()
            if second:
                _try(Spec(cluster="bounded-mst", second_round=True))
    if compiled() > before:
        stages.emit(
            Event(
                "kernels",
                finished=True,
                note=f"compiled {compiled() - before} kernels in "
                f"{stages.seconds['kernels']:.1f} s, once",
            )
        )


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


def compiled() -> int:
    """Return how many kernels this process had to compile, rather than load."""
    return sum(
        sum(kernel.stats.cache_misses.values())
        for name, module in list(sys.modules.items())
        if name.startswith("neardup.kernels.")
        for kernel in vars(module).values()
        if isinstance(kernel, Dispatcher) and kernel.__module__ == name
    )


def _try(spec: Spec) -> None:
    keep = "first" if ":" in spec.keep else spec.keep
    spec = replace(spec, keep=keep, num_bands=2, rows=1)
    run(Job(open_corpus(_TEXTS), spec, Storage(store="memory"), Stages(), threads=1))
