"""Band keys to buckets to clusters, band by band."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import overload

import numpy as np

from neardup.core.band import Buckets, buckets
from neardup.core.cluster import Clustering, Counts
from neardup.core.edges import EdgeLog
from neardup.core.from_edges import cluster_edges, merge_clusters
from neardup.core.join import join
from neardup.core.space import Space
from neardup.core.star import star_of_buckets
from neardup.core.threads import Pool
from neardup.core.verify import ShingleSets
from neardup.run.events import Stages
from neardup.run.folder import RunFolder
from neardup.spec import Spec
from neardup.stores import BandStore

__all__ = ["BandBuckets", "cluster", "find_buckets", "found_edges"]

_BAND, _CLUSTER = "band", "cluster"


class BandBuckets(Sequence[Buckets]):
    """The buckets of all bands: in memory while there is room, else in the run folder.

    Args:
        folder: Where they are found again; None where there is none.
        space: Which says how much room there is.
    """

    def __init__(self, folder: RunFolder | None, space: Space) -> None:
        self._folder = folder
        self._space = space
        self._held: list[Buckets | None] = []
        #: Pairs that share a bucket, in each band.
        self.candidates_by_band: list[int] = []
        self.sizes: np.ndarray = np.zeros(0, dtype=np.int64)

    def append(self, found: Buckets) -> None:
        """Take the buckets of the next band."""
        sizes = np.diff(found.starts).astype(np.int64)
        self.candidates_by_band.append(int((sizes * (sizes - 1)).sum()) // 2)
        by_size = np.bincount(sizes)
        longer, shorter = sorted((by_size, self.sizes), key=len, reverse=True)
        longer = longer.copy()
        longer[: len(shorter)] += shorter
        self.sizes = longer
        if self._folder is not None and not self._space.claim(
            found.members.nbytes + found.starts.nbytes
        ):
            self._held.append(None)
            return
        self._held.append(Buckets(*(self._kept(array) for array in found)))

    def _kept(self, array: np.ndarray) -> np.ndarray:
        if self._folder is not None:
            return array
        out = self._space.empty(len(array), array.dtype)
        out[...] = array
        return out

    def __len__(self) -> int:
        return len(self._held)

    @overload
    def __getitem__(self, band: int) -> Buckets: ...
    @overload
    def __getitem__(self, band: slice) -> Sequence[Buckets]: ...
    def __getitem__(self, band: int | slice) -> Buckets | Sequence[Buckets]:
        if isinstance(band, slice):
            return [self[i] for i in range(*band.indices(len(self)))]
        found = self._held[band]
        if found is None:
            assert self._folder is not None
            found = Buckets(**self._folder.load(_BAND, band))
        return found

    def classes(self) -> dict[str, int]:
        """Count buckets by size, in classes that double."""
        found: dict[str, int] = {}
        low, high = 2, 2
        while low < len(self.sizes):
            found[str(low) if low == high else f"{low}-{high}"] = int(
                self.sizes[low : high + 1].sum()
            )
            low, high = high + 1, high * 2
        return found


def find_buckets(
    store: BandStore,
    documents: int,
    docs: np.ndarray,
    num_bands: int,
    passes: int,
    folder: RunFolder | None,
    space: Space,
    pool: Pool,
    stages: Stages,
) -> BandBuckets:
    """Group the documents of each band by key.

    Args:
        store: Which has the keys.
        documents: Of the whole corpus.
        docs: int32[], ascending: those that take part.
        num_bands: Bands.
        passes: See `neardup.core.band.buckets`.
        folder: With it, what was grouped is found again.
        space: Where keys go.
        pool: Threads.
        stages: Gets the stage ``band``.
    """
    found = BandBuckets(folder, space)
    done = 0 if folder is None else folder.count(_BAND)

    def work(band: int) -> Buckets:
        if folder is not None and band < done:
            return Buckets(**folder.load(_BAND, band))
        keys = space.empty(documents, np.uint64)
        at = 0
        for part in store.band(band):
            keys[at : at + len(part)] = part
            at += len(part)
        return buckets(keys, docs, passes)

    with stages.stage(_BAND, num_bands, "bands") as advance:
        # One at a time: grouping is quick, and what it takes in memory is not.
        for band, of_band in enumerate(pool.ordered(work, range(num_bands), 0)):
            if folder is not None and band >= done:
                folder.save(_BAND, band, of_band._asdict)
                folder.settle()
            found.append(of_band)
            advance(1)
    return found


def cluster(
    bands: Sequence[Buckets],
    sets: ShingleSets,
    docs: np.ndarray,
    priority: np.ndarray,
    spec: Spec,
    folder: RunFolder | None,
    space: Space,
    pool: Pool,
    stages: Stages,
    known: EdgeLog | None = None,
) -> tuple[np.ndarray, EdgeLog, Counts]:
    """Verify what met, and make clusters of it.

    Args:
        bands: Buckets of every band; none for a join.
        sets: Shingle sets of the documents in them.
        docs: int32[]: documents that take part in a join.
        priority: int64[documents], a permutation; lower is kept rather.
        spec: What is asked for.
        folder: With it, what was done band by band is found again.
        space: Where arrays go.
        pool: Threads.
        stages: Gets the stages ``verify and cluster`` and, if it is asked for, ``second round``.
        known: All edges, if they are known already; then nothing is looked for.

    Returns:
        (int32[documents] label of each document's cluster, edges, counts).

    Raises:
        DependencyError: The clustering needs a package that is not installed.
    """
    with stages.stage("verify and cluster", max(1, len(bands)), "bands") as advance:
        if known is not None or spec.method == "allpairs":
            edges, counts = _at_once(known, sets, docs, spec, folder, space, pool)
            labels = cluster_edges(spec, edges, sets, priority, pool, counts, space)
            advance(1)
        elif spec.cluster == "star" and not spec.every_pair:
            counts = Counts()
            # In a thread, because the main one has to listen for Ctrl-C.
            labels, edges = pool.submit(
                partial(star_of_buckets, bands, sets, priority, spec, counts, space)
            ).result()
            edges.settle()  # here, since the thread of the folder is to read only
            if folder is not None:
                folder.save(_CLUSTER, 0, partial(_edges_of, edges))
            advance(len(bands))
        else:
            clustering = _by_band(bands, sets, spec, folder, space, pool, advance)
            edges, counts = clustering.edges, clustering.counts
            if spec.of_edges:
                labels = cluster_edges(spec, edges, sets, priority, pool, counts, space)
            else:
                labels = clustering.roots()
    if spec.second_round:
        with stages.stage("second round", len(sets.size)):
            labels = merge_clusters(spec, labels, edges, sets, pool, counts, space)
    return labels, edges, counts


def _by_band(
    bands: Sequence[Buckets],
    sets: ShingleSets,
    spec: Spec,
    folder: RunFolder | None,
    space: Space,
    pool: Pool,
    advance: Callable[[int], None],
) -> Clustering:
    """Compare what met, band by band; what was done before a crash is not done again."""
    clustering = Clustering(sets, spec, pool, space=space)
    done = 0 if folder is None else folder.count(_CLUSTER)
    for step in range(len(bands)):
        if folder is not None and step < done:
            clustering.replay(folder.load(_CLUSTER, step))
        else:
            clustering.add_band(*bands[step])
            log = clustering.take_log()
            if folder is not None:
                folder.save(_CLUSTER, step, partial(dict, log))
                folder.settle()
        advance(1)
    return clustering


def _at_once(
    known: EdgeLog | None,
    sets: ShingleSets,
    docs: np.ndarray,
    spec: Spec,
    folder: RunFolder | None,
    space: Space,
    pool: Pool,
) -> tuple[EdgeLog, Counts]:
    """Return all edges: those given, or those of an exact join, found again after a crash."""
    documents = len(sets.size)
    if folder is not None and folder.count(_CLUSTER):
        comparisons = int(folder.load(_CLUSTER, 0)["comparisons"][0])
        return found_edges(folder, documents, space), Counts(verified=comparisons)
    edges, counts = known, Counts()
    if edges is None:
        pairs = join(sets, docs, spec.edge_threshold, pool)
        edges = EdgeLog(documents, space)
        edges.add(pairs.a, pairs.b, pairs.similarity)
        edges.settle()
        counts.verified += pairs.comparisons
    if folder is not None:
        compared = np.array([counts.verified], dtype=np.int64)
        folder.save(_CLUSTER, 0, lambda: {**_edges_of(edges), "comparisons": compared})
        folder.settle()
    return edges, counts


def found_edges(folder: RunFolder, documents: int, space: Space) -> EdgeLog:
    """Return the edges that a run had found when it was interrupted."""
    edges = EdgeLog(documents, space)
    for step in range(folder.count(_CLUSTER)):
        log = folder.load(_CLUSTER, step)
        edges.add(*(log[f"edges_{name}"] for name in ("a", "b", "similarity")))
        edges.settle()
    return edges


def _edges_of(edges: EdgeLog) -> dict[str, np.ndarray]:
    names = {"edges_a": np.int32, "edges_b": np.int32, "edges_similarity": np.float64}
    return {
        name: np.concatenate([np.zeros(0, dtype), *(part[i] for part in edges.parts())])
        for i, (name, dtype) in enumerate(names.items())
    }
