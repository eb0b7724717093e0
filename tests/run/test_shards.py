"""Several processes sign shares of a corpus into one store; one goes on from there."""

from __future__ import annotations

import signal
import sqlite3
from pathlib import Path

import pytest
from killing import Process, Work, wait_for

PARTS = ("--part-size", "256KB")


def sign(work: Work, store: str, shard: str, *more: str, **options: float) -> Process:
    return work.forge.start(
        "sign", work.notes, "--id", "id", "--store", store, "--run", "r", "--shard", shard,
        *PARTS, *more, **options,
    )  # fmt: skip


def dedup(work: Work, store: str, out: Path, *more: str) -> list[object]:
    return ["dedup", "-o", out, "--store", store, "--run", "r", *PARTS, *more]


@pytest.mark.parametrize("design", ["1", "2"])
def test_four_at_once(design: str, work: Work, tmp_path: Path) -> None:
    store, out = f"sqlite:{tmp_path / 'bands'}", tmp_path / "out"
    under_way = [sign(work, store, f"{i}/4", "--design", design) for i in range(1, 5)]
    ended = [process.wait().check() for process in under_way]
    assert [f"shard {i}/4 of run r" in e.err for i, e in enumerate(ended, 1)] == [True] * 4
    work.forge.run(*dedup(work, store, out, "--design", design)).check()
    work.same(out)
    assert not (tmp_path / "bands").exists()


def test_a_missing_shard_is_named(few: Work, tmp_path: Path) -> None:
    store, out = f"sqlite:{tmp_path / 'bands'}", tmp_path / "out"
    go_on = dedup(few, store, out)
    assert "holds no run" in few.forge.run(*go_on).check(1).error
    for shard in ("1/4", "4/4", "2/4"):
        sign(few, store, shard).wait().check()
        said = few.forge.run(*go_on).check(1).error
        assert ("3/4" in said) and (shard not in said.partition("\n")[0]), said
        assert not out.exists()
    assert "2/4" not in said
    sign(few, store, "3/4").wait().check()
    few.forge.run(*go_on, "--keep-run").check()
    few.same(out)
    assert (tmp_path / "bands").exists()


def test_a_signer_is_killed(few: Work, tmp_path: Path) -> None:
    store, out = f"sqlite:{tmp_path / 'bands'}", tmp_path / "out"
    first, second = (sign(few, store, f"{i}/2", slow=0.02) for i in (1, 2))
    wait_for(first, lambda: entries(tmp_path / "bands") >= 2)
    first.kill()
    first.wait()
    second.wait().check()
    assert "shard 1/2 is missing" in few.forge.run(*dedup(few, store, out)).check(1).error
    again = sign(few, store, "1/2", trace=True)
    again.wait().check()
    few.forge.run(*dedup(few, store, out)).check()
    few.same(out)


def entries(path: Path) -> int:
    try:
        with sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=0.1) as connection:
            return int(connection.execute("SELECT count(*) FROM entries").fetchone()[0])
    except sqlite3.Error:
        return 0


def test_ctrl_c_of_a_signer(work: Work, tmp_path: Path) -> None:
    store = f"sqlite:{tmp_path / 'bands'}"
    process = sign(work, store, "1/1")
    wait_for(process, lambda: entries(tmp_path / "bands") >= 2)
    process.kill(signal.SIGINT)
    ended = process.wait().check(130)
    assert ended.seconds < 5
    assert "nothing was written" not in ended.err
    assert "same command" in ended.err or "again" in ended.err
    sign(work, store, "1/1").wait().check()
    work.forge.run(*dedup(work, store, tmp_path / "out")).check()
    work.same(tmp_path / "out")


def test_other_settings_are_refused(few: Work, tmp_path: Path) -> None:
    store = f"sqlite:{tmp_path / 'bands'}"
    sign(few, store, "1/2").wait().check()
    for named, more in {
        "edge_threshold": ["--edge-threshold", "0.8"],
        "seed": ["--seed", "1"],
        "chunk_bytes": ["--part-size", "300KB"],
    }.items():
        assert named in sign(few, store, "2/2", *more).wait().check(1).error
    sign(few, store, "2/2").wait().check()
    said = few.forge.run(
        "dedup", few.notes, "--id", "id", "--edge-threshold", "0.8",
        *dedup(few, store, tmp_path / "out")[1:],
    ).check(1).error  # fmt: skip
    assert "edge_threshold" in said
    few.forge.run(*dedup(few, store, tmp_path / "out"), few.notes, "--id", "id").check()
    few.same(tmp_path / "out")


@pytest.mark.parametrize("shard", ["0/4", "5/4", "3", "a/b", "1/0", "-1/4", "1/4/2"])
def test_no_such_shard(shard: str, few: Work, tmp_path: Path) -> None:
    ended = sign(few, f"sqlite:{tmp_path / 'bands'}", shard).wait().check(2)
    assert shard in ended.error or "there is no shard" in ended.error
    assert not (tmp_path / "bands").exists()


def test_signing_needs_a_store_and_a_name(few: Work, tmp_path: Path) -> None:
    said = few.forge.run("sign", few.notes, "--store", "memory", "--run", "r").check(2).error
    assert "sqlite:PATH" in said
    assert "--run" in few.forge.run("sign", few.notes, "--store", f"sqlite:{tmp_path / 'b'}").err


def test_a_complete_signed_run_is_resumed(few: Work, tmp_path: Path) -> None:
    """As the same command with ``--resume`` is after it was killed at its very end."""
    store, out = f"sqlite:{tmp_path / 'bands'}", tmp_path / "out"
    sign(few, store, "1/1").wait().check()
    few.forge.run(*dedup(few, store, out)).check()
    few.forge.run(*dedup(few, store, out), "--resume").check()
    few.same(out)
