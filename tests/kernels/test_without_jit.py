"""The kernels as plain Python, with every index checked, equal their references too."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.long

TESTS = Path(__file__).parents[1]
#: Marked test functions by file; one that loses its mark or is removed makes this test fail.
MARKED = {
    "test_anchor_marks.py": 3,
    "test_cluster_bounded.py": 5,
    "test_cluster_kept.py": 2,
    "test_cluster_spanning.py": 1,
    "test_index_segments.py": 2,
    "test_inspect_search.py": 2,
    "test_match_resolve.py": 6,
    "test_passage_kernels.py": 6,
    "test_record_kernels.py": 11,
    "test_set_kernels.py": 16,
    "test_signs.py": 3,
    "test_text_kernels.py": 19,
}
ROOMS = (
    "kernels",
    "match",
    "cluster",
    "inspect/test_inspect_search.py",
    "index/test_index_segments.py",
)
#: Without the compiler they would take minutes.
TOO_LARGE = {"test_window_pairs_of_a_large_bucket"}


def test_kernels_equal_their_references_with_the_jit_off() -> None:
    path = os.pathsep.join([str(TESTS / "kernels"), os.environ.get("PYTHONPATH", "")])
    settings = {"NUMBA_DISABLE_JIT": "1", "PYTEST_ADDOPTS": "", "PYTHONPATH": path}
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-p",
            "no:cacheprovider",
            "-p",
            "bits_without_jit",
            "-W",
            "ignore:overflow:RuntimeWarning",  # scalars of NumPy warn where kernels mean to wrap
            "-m",
            "jit_off",
            "-o",
            "addopts=-v",
            *(str(TESTS / room) for room in ROOMS),
        ],
        env={**os.environ, **settings},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr
    passed = set(re.findall(r"(test_\w+\.py)::(test_\w+)\S* PASSED", done.stdout))
    counts = {name: sum(file == name for file, _ in passed) for name in {f for f, _ in passed}}
    assert {
        name: counts.get(name, 0) for name in MARKED if counts.get(name, 0) < MARKED[name]
    } == {}
    assert set(re.findall(r"::(test_\w+)\S* SKIPPED", done.stdout)) == TOO_LARGE
