"""No more room, in whatever stage: one clear line, and the run continues once there is room."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from killing import Work, least, outputs, steps

from common import tries

#: Bytes that a file may grow to, and settings.
LIMITS = [
    (3_000, []),
    (60_000, []),
    (140_000, []),
    (500_000, []),
    (1_200_000, []),
    (3_000, ["--store", "sqlite:{}"]),
    (500_000, ["--store", "sqlite:{}"]),
    (250_000, ["--memory", "LEAST", "--threads", "2"]),
    (700_000, ["--memory", "LEAST", "--threads", "2", "--pairs", "all"]),
]


@pytest.mark.long
@pytest.mark.parametrize(("limit", "words"), LIMITS[:: tries(2, 1)])
def test_files_may_not_grow(limit: int, words: list[str], work: Work, tmp_path: Path) -> None:
    out = tmp_path / "out"
    settings = [word.format(tmp_path / "keys") for word in words]
    if "LEAST" in settings:
        place = settings.index("LEAST")
        settings[place] = least(work, *settings[place + 1 :])
    ended = work.run(out, *settings, limit=limit)
    assert ended.code == 1, "the limit is too high for this corpus"
    said = ended.error
    assert "file too large" in said, said
    assert "limit" in said.partition("hint: ")[2], said
    assert outputs(out) == {} if out.exists() else True
    if out.exists():
        assert "--resume" in said
    work.run(out, *settings, "--resume").check()
    work.same(out, *(["--pairs", "all"] if "--pairs" in settings else []))


@pytest.mark.parametrize("there", [False, True], ids=["new", "overwrite"])
def test_an_earlier_result_stays_until_the_new_one_is_whole(
    there: bool, few: Work, tmp_path: Path
) -> None:
    out = tmp_path / "deep" / "out"
    before: dict[str, bytes] = {}
    if there:
        few.run(out, "--seed", "3").check()
        (out / "mine.txt").write_text("mine")
        before = outputs(out)
    for format in ("jsonl", "csv", "parquet"):
        ended = few.run(out, "--overwrite", "--format", format, limit=250_000)
        assert ended.code == 1, format
        assert outputs(out) == before
    few.run(out, "--overwrite").check()
    if there:
        assert (out / "mine.txt").read_text() == "mine"
        (out / "mine.txt").unlink()
    few.same(out)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A small disk of its own."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=200m", "none", str(folder)]
    try:
        if os.geteuid() or subprocess.run(mount, capture_output=True).returncode:
            pytest.skip("only root may mount a small disk, and not in every container")
    except FileNotFoundError:
        pytest.skip("there is no command mount, for a small disk")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


@pytest.mark.parametrize("size", ["300k", "1m", "1700k", "3m"][:: tries(2, 1)])
def test_a_disk_is_full(size: str, disk: Path, work: Work) -> None:
    """It then grows. What was done stays done."""
    subprocess.run(["mount", "-o", f"remount,size={size}", str(disk)], check=True)
    out = disk / "out"
    ended = work.run(out)
    assert ended.code == 1, "the disk is too large for this corpus"
    said = ended.error
    assert "no space left on device" in said, said
    assert "free some space" in said
    assert "--resume" in said or not out.exists()
    assert str(disk) in said
    before = steps(out) if out.exists() else {}
    subprocess.run(["mount", "-o", "remount,size=200m", str(disk)], check=True)
    resumed = work.start(out, "--resume", trace=True)
    resumed.wait().check()
    work.same(out)
    assert set(resumed.numbers("sketched")) & before.get("sketched", set()) == set()


def test_the_copy_of_a_pipe_finds_no_room(disk: Path, work: Work) -> None:
    subprocess.run(["mount", "-o", "remount,size=1m", str(disk)], check=True)
    out = disk / "out"
    said = work.forge.run("dedup", "-", "-o", out, "--id", "id", stdin=work.notes).check(1).error
    assert "no space left on device" in said
    assert not out.exists()
