"""The kernels stepped through as plain Python equal their twins too."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def test_kernels_equal_their_twins_with_the_jit_off() -> None:
    tests = Path(__file__).parents[1]
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-p",
            "no:cacheprovider",
            "-W",
            "ignore:overflow:RuntimeWarning",  # scalars of NumPy warn where kernels mean to wrap
            "-k",
            "(twin or dense or descending) and not (any_size or many_keys)",
            str(tests / "kernels" / "test_text.py"),
            str(tests / "core" / "test_pairs.py"),
            str(tests / "core" / "test_clusterings.py"),
            str(tests / "core" / "test_second_round.py"),
            str(tests / "core" / "test_quality.py"),
            str(tests / "core" / "test_search.py"),
        ],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:]
    assert " passed" in done.stdout
