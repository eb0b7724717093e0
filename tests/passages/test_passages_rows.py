"""Rows in files: their disk, which is given back, and files that are damaged."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import neardup
from common import Tune
from neardup.copied_passages.repeated.spill import Flush, Spill, Stored
from neardup.errors import ResumeError
from neardup.files.scratch import Disk
from neardup.synth.copy_forward import CopySpec, write

pytestmark = pytest.mark.long

PARTS = 5
COLUMNS = (np.uint64, np.int64)


def added(spill: Spill, seed: int) -> list[list[np.ndarray]]:
    """Add rows; return the columns of each part."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(0, 3000, PARTS)
    ends = np.append(0, np.cumsum(sizes))
    rows = [rng.integers(0, 1 << 60, ends[-1]).astype(kind) for kind in COLUMNS]
    spill.add_divided(rows, ends)
    return [[column[a:b] for column in rows] for a, b in pairwise(ends)]


def filled(path: Path | None, disk: Disk) -> tuple[Spill, list[Flush], list[list[np.ndarray]]]:
    spill, flushes = Spill(COLUMNS, PARTS, 1000, disk, path=path), []
    parts: list[list[np.ndarray]] = [[np.empty(0, kind) for kind in COLUMNS] for _ in range(PARTS)]
    for seed in range(4):
        for part, rows in enumerate(added(spill, seed)):
            parts[part] = [np.append(*pair) for pair in zip(parts[part], rows, strict=True)]
        if seed < 3:
            flushes.append(spill.flush())
    return spill, flushes, parts


def equal(spill: Spill, parts: list[list[np.ndarray]], first: int) -> bool:
    return all(
        np.array_equal(got, wanted)
        for part in range(first, PARTS)
        for got, wanted in zip(spill.take(part), parts[part], strict=True)
    )


def test_memory_of_rows_is_used_again(tmp_path: Path) -> None:
    """By the next rows, until no more follow."""
    spill = Spill(COLUMNS, PARTS, 1 << 20, Disk(tmp_path))
    parts = [[np.empty(0, kind) for kind in COLUMNS] for _ in range(PARTS)]
    memory = set[int]()
    for seed in range(6):
        for part, rows in enumerate(added(spill, seed)):
            parts[part] = [np.append(*pair) for pair in zip(parts[part], rows, strict=True)]
        memory.add(spill._shared.columns[0].ctypes.data)
        if seed in (1, 2):
            spill.flush()
    assert len(memory) == 1
    assert equal(spill, parts, 0)
    spill.end()  # most are in the file
    assert not spill._shared.columns
    assert equal(spill, parts, 0)
    spill.close()


@pytest.mark.parametrize("named", [True, False])
def test_parts_that_are_given_back(named: bool, tmp_path: Path) -> None:
    disk = Disk(tmp_path)
    spill, _, parts = filled(tmp_path / "rows" if named else None, disk)
    assert equal(spill, parts, 0)
    size = disk.most
    assert size == spill.written
    spill.free(1)
    spill.free(3)
    assert equal(spill, parts, 3)
    if named:
        assert (tmp_path / "rows").stat().st_blocks * 512 < 0.7 * size
    spill.end()
    assert equal(spill, parts, 3)
    assert disk.most < 1.1 * size  # else 4 / 3 of it
    spill.close()
    assert not list(tmp_path.iterdir())


def test_a_file_from_before(tmp_path: Path) -> None:
    disk, path = Disk(), tmp_path / "rows"
    spill, flushes, parts = filled(path, disk)
    spill.sync()
    spill.free(2)
    spill.forget()
    stored = Stored(flushes, 2)
    again = Spill(COLUMNS, PARTS, 1000, disk, path=path, stored=stored)
    for seed in (3, 4):
        rows = added(again, seed)
    again.end()
    parts = [
        [np.append(*pair) for pair in zip(before, new, strict=True)]
        for before, new in zip(parts, rows, strict=True)
    ]
    assert equal(again, parts, 2)
    again.forget()
    with pytest.raises(ResumeError, match="is damaged or missing"):
        Spill(COLUMNS, PARTS, 1000, disk, path=path, stored=Stored(flushes))  # parts are gone
    with path.open("r+b") as file:
        file.seek(flushes[1].begin + 16 * (flushes[1].rows[0] + flushes[1].rows[1]) + 5)
        file.write(b"damage")
    with pytest.raises(ResumeError, match="is damaged or missing"):
        Spill(COLUMNS, PARTS, 1000, disk, path=path, stored=stored)


@pytest.mark.parametrize(("words", "most"), [(25, 1.2), (10, 1.7)])
def test_notes_of_which_most_is_copied(
    words: int, most: float, tmp_path: Path, tune: Tune, kernels: None
) -> None:
    """All rows go to files, as those of a corpus that is much larger than the memory."""
    tune(spill_share=2000, spill_part=200_000)
    path = tmp_path / "notes.jsonl"
    write(CopySpec(3000, seed=1), path)
    run = neardup.passages(path, id="id", words=words, out=tmp_path / "out", progress=False)
    assert run.summary["counts"]["copied_words"] > 0.4 * run.summary["counts"]["words"]
    assert 0.5 < run.summary["temporary_bytes"] / path.stat().st_size < most
