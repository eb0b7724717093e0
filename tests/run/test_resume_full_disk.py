"""No more room, in whatever stage: one clear line, and the run goes on once there is room."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from killing import Work

#: Bytes that a file may grow to, and the store.
LIMITS = [
    (5_000, "memory"),
    (60_000, "memory"),
    (250_000, "memory"),
    (900_000, "memory"),
    (2_000_000, "memory"),
    (5_000, "sqlite"),
    (900_000, "sqlite"),
    (2_000_000, "sqlite"),
]


@pytest.mark.parametrize(("limit", "store"), LIMITS)
def test_files_may_not_grow(limit: int, store: str, work: Work, tmp_path: Path) -> None:
    out = tmp_path / "out"
    ended = work.run(out, "--store", store, limit=limit)
    assert ended.code == 1, "the limit is too high for this corpus"
    said = ended.error
    assert "file too large" in said or "limit on files" in said, said
    if (out / ".run").exists():
        assert "--resume" in said
    else:
        assert not out.exists()
    assert not (out / "run.json").exists()
    work.run(out, "--store", store, "--resume").check()
    work.same(out)


@pytest.mark.parametrize("size", ["1500k", "4m"])
def test_a_disk_is_full(size: str, work: Work, tmp_path: Path) -> None:
    """A small disk of its own, which then grows."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "none", str(disk)]
    try:
        if os.geteuid() or subprocess.run(mount, capture_output=True).returncode:
            pytest.skip("no right to mount")
    except FileNotFoundError:
        pytest.skip("no mount")
    try:
        out = disk / "out"
        said = work.run(out, "--store", "memory").check(1).error
        assert "no space left on device" in said or "disk is full" in said, said
        assert "--resume" in said or not out.exists()
        subprocess.run(["mount", "-o", "remount,size=200m", str(disk)], check=True)
        work.run(out, "--store", "memory", "--resume").check()
        work.same(out)
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)


def test_ids_are_put_away_where_files_may_not_grow(work: Work, tmp_path: Path) -> None:
    """Columns that memory has no room for go to a file, which can be refused as well."""
    notes = tmp_path / "notes.jsonl"
    with notes.open("w") as file:
        for i in range(6_000):
            file.write(f'{{"id": "{i:0700}", "text": "w{i} x{i} y{i} z{i} a{i} b{i}"}}\n')
    args = ["dedup", notes, "-o", tmp_path / "out", "--id", "id", "--store", "memory"]
    args += ["--part-size", "2MB"]  # each fits, all their ids together do not
    least = int(_least(work, notes, "--id", "id")) + 1
    ended = work.forge.run(*args, "--memory", f"{least}MB", limit=3_000_000)
    assert "file too large" in ended.check(1).error or "limit on files" in ended.error


def _least(work: Work, notes: Path, *more: str) -> float:
    out = work.forge.run("plan", notes, "--memory", "1TB", *more).check().out
    number, unit = out.partition("the least is ")[2].split()[:2]
    return float(number) * {"MB": 1, "GB": 1000}[unit]
