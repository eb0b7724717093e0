"""Compile the kernels that a run needs, in a second process while this one compiles others.

Numba compiles a kernel when it is first called, and keeps it on disk. So this happens once on a
machine; later runs load what they call.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

from neardup.engines.clock import Clock, Event
from neardup.kernels import grouping, resolving, tokens, unions
from neardup.recipe import Recipe
from neardup.sketch.sketcher import Sketcher
from neardup.sketch.tokenising import Tokeniser
from neardup.spec import Spec
from neardup.threads import Pool

_TEXTS: list[str | None] = [
    "one two three four",
    "One, two, three: four!",
    "one two three four five six seven eight",
    "one two three four five six seven eight nine",
    "six \u00e4",
    "",
]
#: A kernel of each group, compiled last, that says whether the group is on disk.
_LAST: dict[str, Any] = {
    "sketch": tokens.words,
    "match": resolving.among_themselves,
    "pairs": grouping.window_pairs,
    "bounded": unions.unite_bounded,
}


class Warming:
    """Compiles kernels, if they are not on disk yet, and says so.

    Args:
        spec: What the run needs kernels for.
        clock: Gets a note.
    """

    def __init__(self, spec: Spec, clock: Clock) -> None:
        groups = ["sketch", "match"]
        groups += ["pairs"] if spec.enumerates else []
        groups += ["bounded"] if spec.cluster == "bounded" else []
        cold = [group for group in groups if _is_cold(group)]
        self._process: subprocess.Popen[bytes] | None = None
        if not cold:
            return
        clock.emit(Event("compile", note="compiling kernels, which happens once"))
        # This process compiles those of the first pass as it comes to them.
        others = [group for group in cold if group != "sketch"]
        if others and sys.executable:
            values = json.dumps([others, spec.as_dict()])
            try:
                self._process = subprocess.Popen(  # noqa: S603
                    [sys.executable, "-m", "neardup.engines.warming", values],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                )
            except OSError:
                self._process = None  # they are compiled here, later

    def finish(self) -> None:
        """Wait for the other process."""
        if self._process is not None:
            self._process.wait()
            self._process = None

    def stop(self) -> None:
        """End the other process, where nobody waits for it any more."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()


def _is_cold(group: str) -> bool:
    """Return whether a group of kernels has to be compiled."""
    kernel = _LAST[group]
    if not hasattr(kernel, "stats"):  # the compiler is switched off
        return False
    function = kernel.py_func
    stem = f"{Path(function.__code__.co_filename).stem}.{function.__name__}-*.nbi"
    return not any(Path(kernel.stats.cache_path).glob(stem))


def compile_kernels(groups: list[str], spec: Spec) -> None:
    """Send a few words through the kernels of some groups.

    Args:
        groups: Of ``sketch``, ``match``, ``pairs``, ``bounded``.
        spec: What a document becomes.
    """
    from neardup.cluster.edges import Edges
    from neardup.match.bucketing import bucket_documents, group, plausible
    from neardup.match.pairs import pairs_of_buckets
    from neardup.match.resolve import resolve
    from neardup.match.verifying import make_sets
    from neardup.stages.cluster_stage import clusters_of

    recipe = Recipe(spec.shingle, spec.scheme, spec.seed, 2, 1)
    # The first pass sorts no sets, so this has time until the second one.
    sets = make_sets(Tokeniser(spec.shingle).to_sets(_toy_sets()))
    keys = np.array([[1, 1, 2, 2], [3, 4, 3, 4]], dtype=np.uint64)
    with Pool(1) as pool:
        bands = [group(row) for row in keys]
        if "match" in groups:
            plausible(bands, sets.size, sets.bitmaps[:, :4].copy(), 0.5, pool)
            resolve(sets, bucket_documents(bands, 4, 2), 0.5, pool)
        if "pairs" in groups:
            pairs_of_buckets(sets, bucket_documents(bands, 4, 2), 0.5, pool)
            edges = Edges(np.array([0]), np.array([1]), np.array([1.0]))
            clusters_of("star", edges, sets, 0.0, pool)
        if "bounded" in groups:
            edges = Edges(np.array([0]), np.array([1]), np.array([1.0]))
            clusters_of("bounded", edges, sets, 0.0, pool)
        if "sketch" in groups:
            sketcher = Sketcher(recipe)
            sketcher(_TEXTS)
            sketcher.tokeniser.sets(_TEXTS)


def _toy_sets() -> Any:
    from neardup.sketch.texts import Ragged

    values = np.array([1, 2, 1, 2, 3, 4, 3, 4], dtype=np.uint64)
    return Ragged(values, np.array([0, 2, 4, 6, 8], dtype=np.int64))


if __name__ == "__main__":
    chosen, values = json.loads(sys.argv[1])
    compile_kernels(chosen, Spec.from_dict(values))
