"""What the kernel of segments does, in plain Python."""

from __future__ import annotations

from collections.abc import Sequence


def locate(
    keys: Sequence[int], verified: Sequence[bool], entries: int, wanted: Sequence[int]
) -> tuple[list[tuple[int, int] | None], set[int]]:
    """Where each key begins and ends among sorted keys, None if that needs a block to be checked;
    and these blocks.
    """
    fences = keys[::entries]
    found: list[tuple[int, int] | None] = []
    needed: set[int] = set()
    for key in wanted:
        first = max(sum(fence < key for fence in fences) - 1, 0)
        last = max(sum(fence <= key for fence in fences) - 1, 0)
        unread = {block for block in range(first, last + 1) if not verified[block]}
        needed |= unread
        place = (sum(k < key for k in keys), sum(k <= key for k in keys))
        found.append(None if unread else place)
    return found, needed
