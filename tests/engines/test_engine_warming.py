"""Kernels are compiled once on a machine, which is said; later runs compile nothing."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from functools import partial
from pathlib import Path

import made_corpora
import numpy as np
import pytest
from numba import config

import neardup
from neardup.announcing import announced_to
from neardup.engines.warming import Warming
from neardup.kernels.bits import mix
from neardup.spec import Spec

#: Two kinds of runs, which together call all kernels that are compiled beforehand.
RUNS = {
    "bounded": ["--shingle", "char:4", "--cluster", "bounded", "--pairs", "all"],
    "star": ["--shingle", "word:2"],
}


def kernels_in(folder: Path) -> set[str]:
    """Compiled code, by file and type of arguments."""
    return {str(path.relative_to(folder)) for path in folder.rglob("*.nbc")}


CALLS = """
import neardup, sys
from neardup import announcing
texts = ["one two three four five six", "one two three four five"]
neardup.compare(*texts)
print("compared", file=sys.stderr)
neardup.dedup(texts, shingle="word:1", progress=False)
print("quiet", file=sys.stderr)
announcing._announced = False
neardup.link({"name": ["Anna Schmidt", "Ana Schmitd"]}, fields="name", decide_at=0.5)
"""
NOTE = "neardup: compiling kernels, once on this machine (neardup warmup compiles all of them)"


def test_what_compiles_says_so_once(tmp_path: Path) -> None:
    """Also where there is no progress to ask for. Later calls and runs compile nothing.

    All share what is compiled, so that each kernel is compiled once here.
    """
    cache = tmp_path / "cache"
    rng = np.random.default_rng(1)
    paths = [
        made_corpora.write(made_corpora.table(rng, documents), tmp_path / str(documents), "jsonl")
        for documents in (40, 300)
    ]

    def said(*args: object) -> str:
        return subprocess.run(
            [sys.executable, *map(str, args)],
            env={**os.environ, "NUMBA_CACHE_DIR": str(cache)},
            capture_output=True,
            text=True,
            check=True,
        ).stderr

    def run(name: str, number: int) -> str:
        out = tmp_path / f"{name} {number}"
        return said("-m", "neardup", "dedup", *paths[number], "-o", out, *RUNS[name])

    assert said("-c", CALLS).splitlines() == [NOTE, "compared", "quiet", NOTE]
    assert said("-c", CALLS).splitlines() == ["compared", "quiet"]
    for name in RUNS:
        compiled = run(name, 0)
        assert name == "star" or NOTE in compiled
        there = kernels_in(cache)
        assert len(there) > 10
        assert "compiling" not in run(name, 1)
        assert kernels_in(cache) == there, name


@pytest.mark.parametrize("cluster", ["star", "bounded"])
def test_nothing_is_said_or_started_where_all_is_compiled(cluster: str, tmp_path: Path) -> None:
    texts = made_corpora.texts(np.random.default_rng(2), 30)
    neardup.dedup(texts, spec=Spec(cluster=cluster))
    said: list[str] = []
    with announced_to(said.append):
        warming = Warming(Spec(cluster=cluster))
        warming.begin(aside=True)
    assert said == [] and warming._process is None
    warming.finish()
    warming.close()


SHORT = """
import neardup, sys
neardup.dedup(["one two three four five six", "one two three four five"], progress=False)
print("numba.typed.typedset" in sys.modules)
"""


@pytest.mark.skipif(bool(config.DISABLE_JIT), reason="kernels are plain functions")
def test_kernels_are_loaded_without_what_only_compiling_takes(tmp_path: Path) -> None:
    env = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    run = partial(subprocess.run, env=env, capture_output=True, text=True, check=True)
    said = [run([sys.executable, "-c", SHORT]).stdout.strip() for _ in range(2)]
    assert said == ["True", "False"]


ZIPPED = """
import neardup.spark.stages.match_stage, neardup.spark.stages.sketch_stage
from neardup.kernels import bits
print(bits.__file__, bits.mix(5))
"""


def test_the_package_may_be_in_a_zip(tmp_path: Path) -> None:
    """As Spark sends it to its executors, see docs/spark.md."""
    package = Path(neardup.__file__).parent
    path = tmp_path / "neardup.zip"
    with zipfile.ZipFile(path, "w") as file:
        for found in package.rglob("*"):
            if "__pycache__" not in found.parts:
                file.write(found, found.relative_to(package.parent))
    done = subprocess.run(
        [sys.executable, "-c", ZIPPED],
        env={**os.environ, "PYTHONPATH": str(path), "XDG_CACHE_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    place, number = done.stdout.split()
    assert place.startswith(str(path))
    assert int(number) == int(mix(5))
