"""What the kernel of segments does, in plain Python."""

from __future__ import annotations

from collections.abc import Sequence


def locate(
    keys: Sequence[int], verified: Sequence[bool], entries: int, wanted: Sequence[int]
) -> list[tuple[int, int]] | int:
    """Where each key begins and ends among sorted keys; or a block that must be checked first."""
    fences = keys[::entries]
    found = []
    for key in wanted:
        first = max(sum(fence < key for fence in fences) - 1, 0)
        last = max(sum(fence <= key for fence in fences) - 1, 0)
        for block in range(first, last + 1):
            if not verified[block]:
                return block
        found.append((sum(k < key for k in keys), sum(k <= key for k in keys)))
    return found
