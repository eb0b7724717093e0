"""Have the kernels compiled that tests call, before several processes compile them at once.

python tests/all_kernels.py
"""

from __future__ import annotations

import neardup

__all__ = ["compile_all"]

TEXTS = ["some text to begin with", "and another"]


def compile_all() -> None:
    """Compile what runs call, unless it is on disk already."""
    for shingle in ("word:5", "char:5"):
        neardup.dedup(TEXTS, shingle=shingle, cluster="bounded")


if __name__ == "__main__":
    compile_all()
