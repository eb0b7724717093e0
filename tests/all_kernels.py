"""Have the kernels compiled that tests call, before several processes compile them at once.

python tests/all_kernels.py
"""

from __future__ import annotations

import gc

import neardup

__all__ = ["compile_all"]

TEXTS = ["some text to begin with", "and another"]


def compile_all() -> None:
    """Compile what runs call, unless it is on disk already."""
    for shingle in ("word:5", "char:5"):
        neardup.dedup(TEXTS, shingle=shingle, cluster="bounded")


def compile_more() -> None:
    """Compile what other commands call, which fewer tests do."""
    words = [f"word{number}" for number in range(12)]
    texts = [" ".join(words), " ".join(words[2:])]
    neardup.passages(texts, words=3, progress=False)
    rows = {"id": ["a", "b"], "name": ["Anna Schmidt", "Ana Schmitd"]}
    neardup.link(rows, id="id", fields=["name"], decide_at=0.5)


if __name__ == "__main__":
    gc.disable()  # the compiler makes millions of objects: to look for cycles takes a tenth
    compile_all()
    compile_more()
