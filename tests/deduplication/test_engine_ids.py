"""Ids of many partitions become one array."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from neardup.deduplication.documents.identifiers import joined_ids
from neardup.files.scratch import Disk, Scratch

LARGE = 150_000  # such ids are not in memory where none is left


def chunked(values: list[Any], kind: Any) -> Any:
    """Values in parts of different sizes, the first of them empty, others behind an offset."""
    every: Any = pa.array(values, kind)
    starts = [0, 0, 1, 3, 3, len(values) // 2]
    ends = [*starts[1:], len(values)]
    parts: Any = [every.slice(a, b - a) for a, b in zip(starts, ends, strict=True)]
    return pa.chunked_array(parts, kind)


def is_mapped(ids: Any) -> bool:
    """Whether the values of ids belong to a file."""
    address = ids.chunk(0).buffers()[-1].address
    for line in Path("/proc/self/maps").read_text().splitlines():
        limits, _, _, _, inode, *_ = line.split()
        low, high = (int(limit, 16) for limit in limits.split("-"))
        if low <= address < high:
            return inode != "0"
    return False


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="the system has no such list")
@pytest.mark.parametrize("budget", [None, 0])
@pytest.mark.parametrize("count", [7, LARGE])
def test_joined_ids(tmp_path: Path, count: int, budget: int | None) -> None:
    texts = ["", "é", *(f"note {n}" for n in range(count - 2))]
    for values, kind in (
        (list(range(-3, count - 3)), pa.int64()),
        ([2**64 - 1 - n for n in range(count)], pa.uint64()),
        (texts, pa.large_string()),
        ([b"\xff" + text.encode() for text in texts], pa.large_binary()),
    ):
        given = chunked(values, kind)
        scratch = Scratch(budget, Disk(tmp_path))
        found: Any = joined_ids(given, scratch)
        if count == LARGE:  # in its memory, or in its files
            assert (scratch.used >= found.nbytes - 1) == (budget is None)
            assert is_mapped(found) == (budget == 0)
        assert (found.num_chunks, found.type) == (1, kind)
        assert found.equals(given)
        found.validate(full=True)


def test_ids_that_are_one_already(tmp_path: Path) -> None:
    one: Any = pa.chunked_array([pa.array(["a", "b"], pa.large_string())])
    assert joined_ids(one, Scratch()) is one
    assert joined_ids(None, Scratch()) is None
    empty: Any = pa.chunked_array([pa.array([], pa.large_string())] * 2)
    found: Any = joined_ids(empty, Scratch())
    assert found.equals(empty)
