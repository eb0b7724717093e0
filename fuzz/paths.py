"""The oracles of the tests, where the harness can import them."""

from __future__ import annotations

import sys
from pathlib import Path

FUZZ = Path(__file__).parent
TESTS = FUZZ.parent / "tests"
for folder in (TESTS, TESTS / "kernels", TESTS / "deduplication", TESTS / "spark"):
    if str(folder) not in sys.path:
        sys.path.append(str(folder))
