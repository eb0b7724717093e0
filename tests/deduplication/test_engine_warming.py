"""Kernels are compiled once on a machine, which is said; later runs compile nothing."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import made_corpora
import numpy as np
import pytest
from numba import config

import neardup
from neardup.announcing import announced_to
from neardup.cli import main
from neardup.deduplication.warming import Warming
from neardup.kernels.bits import mix
from neardup.spec import Spec
from neardup.testing.small_corpora import random_documents, random_texts

pytestmark = pytest.mark.long

#: Two kinds of runs, which together call all kernels that are compiled beforehand.
RUNS = {
    "star": ["--shingle", "word:2"],
    "bounded": ["--shingle", "char:4", "--cluster", "bounded", "--pairs", "all"],
}
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
print("numba.typed.typedset" in sys.modules)
"""
#: Commands in one process: each of a small corpus, then of a larger one.
COMMANDS = """
import json, sys
from numba.core.dispatcher import Dispatcher
from neardup.cli import main

def called():
    modules = [m for name, m in list(sys.modules.items()) if name.startswith("neardup.kernels")]
    kernels = {k for m in modules for k in vars(m).values() if isinstance(k, Dispatcher)}
    return {(str(kernel), types) for kernel in kernels for types in kernel.signatures}

for small, large in json.loads(sys.argv[1]):
    main(small)
    there = called()
    main(large)
    assert len(there) > 10 and called() == there, called() - there
"""
NOTE = "neardup: compiling kernels, once on this machine (neardup warmup compiles all of them)"
#: Kernels that the copy below has to compile: of each of the calls one, and one of a run.
MISSING = (
    "shingling.sort_sets",
    "signing.band_keys",
    "record_pairs.count_crosswise",
    "unions.unite_bounded",
)


def compiled(folder: Path, kernel: str = "*") -> set[Path]:
    """Compiled code, by file and type of arguments."""
    return set(folder.rglob(f"{kernel}-*.nbc"))


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[list[str], list[str]]]:
    """Arguments of each kind of run, for a small corpus and a larger one."""
    folder, rng = tmp_path_factory.mktemp("runs"), np.random.default_rng(1)
    paths = [
        made_corpora.write(random_documents(rng, documents), folder / str(documents), "jsonl")[0]
        for documents in (40, 300)
    ]
    small, large = (
        [["dedup", str(path), "-o", str(folder / n), *RUNS[n], "--overwrite"] for n in RUNS]
        for path in paths
    )
    return list(zip(small, large, strict=True))


Python = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def copied(runs: list[tuple[list[str], list[str]]], tmp_path_factory: Any) -> tuple[Path, Python]:
    """A copy of the package with its compiled kernels but a few, and Python that imports it."""
    exec(CALLS, {})  # what is missing is compiled
    for small, large in runs:
        main(small)
        main(large)
    folder = tmp_path_factory.mktemp("copied")
    shutil.copytree(Path(neardup.__file__).parent, folder / "neardup")
    for kernel in MISSING:
        for path in folder.rglob(f"{kernel}-*.nb[ci]"):
            path.unlink()
    env = {**os.environ, "PYTHONPATH": str(folder)}
    env.pop("NUMBA_CACHE_DIR", None)
    run = partial(subprocess.run, env=env, capture_output=True, text=True, check=True)
    return folder, lambda *args: run([sys.executable, *args])


@pytest.fixture(scope="module")
def called(copied: tuple[Path, Python]) -> list[subprocess.CompletedProcess[str]]:
    """The same calls from Python twice: only the first ones compile."""
    return [copied[1]("-c", CALLS) for _ in range(2)]


def test_what_compiles_says_so_once(
    copied: tuple[Path, Python],
    called: list[subprocess.CompletedProcess[str]],
    runs: list[tuple[list[str], list[str]]],
) -> None:
    """Also where there is no progress to ask for. Later calls and runs compile nothing."""
    folder, python = copied
    first, second = (done.stderr.splitlines() for done in called)
    assert first == [NOTE, "compared", "quiet", NOTE]
    assert second == ["compared", "quiet"]
    assert python("-m", "neardup", *runs[-1][0]).stderr.splitlines().count(NOTE) == 1
    there = compiled(folder)
    assert all(compiled(folder, kernel) for kernel in MISSING)
    said = python("-c", COMMANDS, json.dumps(runs)).stderr
    assert "documents" in said
    assert "compiling" not in said
    assert compiled(folder) == there


@pytest.mark.parametrize("cluster", ["star", "bounded"])
def test_nothing_is_said_or_started_where_all_is_compiled(cluster: str, tmp_path: Path) -> None:
    texts = random_texts(np.random.default_rng(2), 30)
    neardup.dedup(texts, spec=Spec(cluster=cluster))
    said: list[str] = []
    with announced_to(said.append):
        warming = Warming(Spec(cluster=cluster))
        warming.begin(aside=True)
    assert said == [] and warming._process is None
    warming.finish()
    warming.close()


@pytest.mark.skipif(bool(config.DISABLE_JIT), reason="kernels are plain functions")
def test_kernels_are_loaded_without_what_only_compiling_takes(
    called: list[subprocess.CompletedProcess[str]],
) -> None:
    assert [done.stdout.strip() for done in called] == ["True", "False"]


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
