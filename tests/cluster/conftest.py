"""Makes the reference implementations of kernels, and `experiments`, importable."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "kernels"))
sys.path.append(str(Path(__file__).parents[2]))
