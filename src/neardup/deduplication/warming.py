"""Compile the kernels that a run needs, in a second process while this one compiles others.

Numba compiles a kernel when it is first called, and keeps it on disk. So this happens once on a
machine; later runs load the kernels that they call.
"""

import gc
import json
import subprocess
import sys
from pathlib import Path
from typing import Any, cast

import numpy as np

from neardup.announcing import announce_compiling
from neardup.kernels import grouping, resolving, unions
from neardup.kernels.text import tokens
from neardup.spec import Spec
from neardup.threads import Pool


class Warming:
    """Compiles the kernels that a spec needs, if they are not on disk yet, and announces it."""

    def __init__(self, spec: Spec) -> None:
        self._spec, self._begun = spec, False
        self._process: subprocess.Popen[bytes] | None = None

    def begin(self, aside: bool) -> None:
        """Announce it; with ``aside``, a second process compiles kernels that are called later.

        It happens at the first call only.
        """
        if self._begun:
            return
        spec, self._begun = self._spec, True
        # Of each stage the kernel that is compiled last.
        later: list[Any] = [resolving.among_themselves] if _resolves(spec) else []
        later += [grouping.window_pairs] if spec.enumerates else []
        later += [grouping.tally_pairs] if spec.pairs == "count" else []
        later += [unions.unite_bounded] if spec.cluster == "bounded" else []
        later += [unions.unite_roots] if spec.cluster == "disjoint-sets" else []
        cold = any(map(_is_cold, later))
        if not cold and not _is_cold(tokens.words):
            return
        announce_compiling()
        # This process compiles those of the first pass as it comes to them.
        if cold and aside and sys.executable:
            values = json.dumps(spec.as_dict())
            try:
                self._process = subprocess.Popen(  # noqa: S603
                    [sys.executable, "-m", "neardup.deduplication.warming", values],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                )
            except OSError:
                self._process = None  # they are compiled here, later

    def finish(self) -> None:
        """Wait until all kernels are there."""
        if self._process is not None:
            self._process.wait()
            self._process = None

    def close(self) -> None:
        """End the other process, once its kernels are not needed any more."""
        if self._process is not None:
            self._process.kill()
        self.finish()


def _is_cold(kernel: Any) -> bool:
    if not hasattr(kernel, "stats"):  # the compiler is switched off
        return False
    function = kernel.py_func
    stem = f"{Path(function.__code__.co_filename).stem}.{function.__name__}-*.nbi"
    return not any(Path(kernel.stats.cache_path).glob(stem))


def _resolves(spec: Spec) -> bool:
    """Return whether documents are compared with the kept ones, and not all pairs listed first."""
    return not spec.enumerates or spec.max_bucket is not None


def compile_kernels(spec: Spec) -> None:
    """Send a few shingles through the kernels that come after the first pass."""
    from neardup.cluster.disjoint_sets import disjoint_sets
    from neardup.cluster.edges import Edges
    from neardup.match.bucketing import BandBuckets, bucket_documents, group, plausible
    from neardup.match.pair_counts import PairTallying, Represented
    from neardup.match.pairs import count_candidates, pairs_of_buckets
    from neardup.match.resolve import resolve
    from neardup.match.verifying import make_sets
    from neardup.sketch.texts import Ragged
    from neardup.sketch.tokenising import Tokeniser
    from neardup.stages.clustering import clusters_of

    values = np.array([1, 2, 1, 2, 3, 4, 3, 4], dtype=np.uint64)
    shingles = Ragged(values, np.array([0, 2, 4, 6, 8], dtype=np.int64))
    # The first pass sorts no sets, so this has time until the second one.
    sets = make_sets(Tokeniser(spec.shingle).to_sets(shingles))
    bands = [BandBuckets(np.arange(4, dtype=np.int32), np.array([0, 2, 4], np.int32))] * 2
    with Pool(1) as pool:
        plausible(bands, sets.size, sets.bitmaps[:, :4].copy(), 0.5, pool)
        if _resolves(spec):
            resolve(sets, bucket_documents(bands, 4, 2), 0.5, pool)
        else:  # else this takes longer than the first pass, whose process then compiles `group`
            group(np.zeros(2, np.uint64))
        if spec.cluster == "disjoint-sets":
            buckets = bucket_documents(bands, 4, 2)
            disjoint_sets(sets, buckets, spec.threshold, spec.minimum_in_cluster, pool)
            count_candidates(buckets, pool)
        if spec.pairs == "count":
            of = Represented(np.ones(4, np.int64), np.zeros(4, np.int32))
            PairTallying(sets, bucket_documents(bands, 4, 2), 0.5, of).run(pool)
        if spec.enumerates:
            pairs_of_buckets(sets, bucket_documents(bands, 4, 2), 0.5, pool)
            edges = Edges(np.array([0]), np.array([1]), np.array([1.0]))
            for cluster in {"star", spec.cluster} & {"star", "bounded"}:
                clusters_of(cluster, edges, sets, 0.0, pool)


if __name__ == "__main__":
    gc.disable()  # it makes millions of objects: to look for cycles takes a tenth of the time
    # As in `neardup.cli.main`: Numba loads SciPy for functions that no kernel calls.
    cast("dict[str, Any]", sys.modules).setdefault("scipy", None)
    compile_kernels(Spec.from_dict(json.loads(sys.argv[1])))
