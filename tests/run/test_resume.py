"""``kill -9`` at any moment, then ``--resume``: the same bytes, and nothing done twice."""

from __future__ import annotations

import random
import signal
import time
from pathlib import Path

import pytest
from killing import Process, Work, steps, wait_for

SEED = 20240611
#: Store, design, format of the clean corpus.
KINDS = {
    "memory": ("--store", "memory", "--format", "parquet"),
    "memory-jsonl": ("--store", "memory", "--format", "jsonl"),
    "sqlite2": ("--store", "sqlite", "--design", "2", "--format", "parquet"),
    "sqlite1-jsonl": ("--store", "sqlite", "--design", "1", "--format", "jsonl"),
    "sqlite-path": ("--store", "sqlite:{}", "--format", "parquet"),
}
STAGES = ("begun", "sign", "band", "sets", "cluster", "write clean")


def settings(kind: str, folder: Path) -> list[str]:
    return [word.format(folder / "bands.sqlite") for word in KINDS[kind]]


def reference(kind: str) -> tuple[str, ...]:
    """The settings that the bytes depend on."""
    return KINDS[kind][-2:]


def kill_at(
    process: Process, out: Path, stage: str, item: int, delay: float
) -> dict[str, set[int]]:
    """Kill a run a little after a step has been noted, or after it has begun."""
    if stage == "begun":
        wait_for(process, lambda: (out / ".run").is_dir())
        time.sleep(4 * delay)  # it reads, and chooses bands, before there is a manifest
    else:
        wait_for(process, lambda: item in steps(out).get(stage, ()))
        time.sleep(delay)
    process.kill()
    process.wait()
    return steps(out)


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("kind", KINDS)
def test_killed(kind: str, stage: str, work: Work, tmp_path: Path) -> None:
    """Thirty seeded moments; every third time the resumed run is killed as well."""
    number = list(KINDS).index(kind) * len(STAGES) + STAGES.index(stage)
    chance = random.Random(SEED + number)
    most = {"begun": 1, "sign": 24, "band": 6, "sets": 24, "cluster": 6, "write clean": 3}[stage]
    item, delay = chance.randrange(most), chance.random() * 0.03
    out, args = tmp_path / "out", settings(kind, tmp_path)
    before = kill_at(work.start(out, *args), out, stage, item, delay)
    if number % 3 == 0:
        again = work.start(out, *args, "--resume")
        time.sleep(chance.random() * 0.6)
        again.kill()
        again.wait()
        before = steps(out) or before
    resumed = work.start(out, *args, "--resume", trace=True)
    resumed.wait().check()
    work.same(out, *reference(kind))
    assert not (out / ".run").exists()
    assert not (tmp_path / "bands.sqlite").exists()
    made = [(stage, int(item)) for what, stage, item in by_kind(resumed, "step")]
    assert len(made) == len(set(made))
    repeated = [step for step in made if step[1] in before.get(step[0], ())]
    assert repeated == [], f"seed {SEED + number}"


def by_kind(process: Process, kind: str) -> list[list[str]]:
    return [words for words in process.done() if words[0] == kind]


def calls(process: Process) -> list[tuple[str, str]]:
    return [(name, path) for _, name, path in by_kind(process, "call")]


@pytest.mark.parametrize("kind", ["sqlite2"])
def test_killed_at_each_call_of_the_end(kind: str, few: Work, tmp_path: Path) -> None:
    """Renaming the outputs and clearing up are a few calls to the system: before each of them."""
    args = settings(kind, tmp_path)
    whole = few.start(tmp_path / "whole", *args, trace=True)
    whole.wait().check()
    made = calls(whole)
    written = max(i for i, (_, path) in enumerate(made) if path.startswith(".clean"))
    removing = next(i for i in range(written, len(made)) if made[i][0] == "unlink")
    moments = [
        *range(written - 2, removing + 2),
        *range(removing + 2, len(made) - 3, 20),
        *range(len(made) - 3, len(made)),
    ]
    worked = {}
    for moment in moments:
        out = tmp_path / f"out{moment}"
        ended = few.run(out, *args, crash=moment)
        if ended.code == 0:  # threads do things in another order, so that it may have been shorter
            continue
        assert ended.code == -signal.SIGKILL
        resumed = few.start(out, *args, "--resume", trace=True)
        assert resumed.wait().code == 0, (made[moment], resumed.wait().err)
        few.same(out, *reference(kind))
        assert not (out / ".run").exists(), made[moment]
        # Kernels are tried on a few words first.
        if any(int(size) > 10_000 for _, size in by_kind(resumed, "signed")):
            worked[moment] = made[moment]
    assert worked == {}, "all was written, and it was begun again"


@pytest.mark.parametrize("kind", ["memory", "sqlite2"])
def test_killed_at_calls_all_over(kind: str, few: Work, tmp_path: Path) -> None:
    """Before ten seeded calls that change the disk."""
    args = settings(kind, tmp_path)
    whole = few.start(tmp_path / "whole", *args, trace=True)
    whole.wait().check()
    chance = random.Random(SEED)
    for moment in chance.sample(range(len(calls(whole)) * 3 // 4), 5):
        out = tmp_path / f"out{moment}"
        few.run(out, *args, crash=moment)
        few.run(out, *args, "--resume").check()
        few.same(out, *reference(kind))


@pytest.mark.parametrize("threads", [1, 2])
def test_at_most_a_part_for_each_thread_and_a_band_are_lost(
    threads: int, work: Work, tmp_path: Path
) -> None:
    """What a run had worked out when it was killed, and the manifest did not have yet."""
    lost = {}
    for stage, item in (("sign", 9), ("sign", 20), ("band", 2), ("cluster", 2)):
        out = tmp_path / f"{stage}{item}"
        process = work.start(out, "--threads", threads, trace=True, slow=0.002)
        noted = kill_at(process, out, stage, item, 0.004)
        # Kernels are tried in the same process first, on a few words.
        done = [words for words in process.done() if words[0] != "call"]
        signed = [w for w in done if w[0] == "signed" and int(w[1]) > 10_000]
        lost[stage, item] = {
            "parts": len(signed) - len(noted.get("sign", ())),
            "bands": sum(int(w[1]) > 100 for w in done if w[0] == "grouped")
            - len(noted.get("band", ())),
            "clustered": sum(int(w[1]) > 100 for w in done if w[0] == "clustered")
            - len(noted.get("cluster", ())),
        }
    print(lost)  # noqa: T201
    for found in lost.values():
        assert found["parts"] <= threads, lost
        assert found["bands"] <= 1 and found["clustered"] <= 1, lost


def test_a_kept_run_is_quick_to_resume(work: Work, tmp_path: Path) -> None:
    out = tmp_path / "out"
    work.run(out, "--keep-run", "--store", "sqlite").check()
    assert (out / ".run" / "manifest.json").exists()
    assert (out / ".run" / "store" / "bands.sqlite").exists()
    times = {path: path.stat().st_mtime_ns for path in (out / ".run").rglob("*.npz")}
    assert times
    resumed = work.start(out, "--keep-run", "--store", "sqlite", "--resume", trace=True)
    ended = resumed.wait().check()
    assert ended.seconds < 1.5
    assert all(int(size) < 10_000 for _, size in by_kind(resumed, "signed"))
    assert not by_kind(resumed, "step")
    assert times == {path: path.stat().st_mtime_ns for path in (out / ".run").rglob("*.npz")}
    work.same(out)
    work.run(out, "--store", "sqlite", "--resume").check()
    assert not (out / ".run").exists()
    work.same(out)


def test_nothing_to_resume(few: Work, tmp_path: Path) -> None:
    out = tmp_path / "out"
    few.run(out, "--resume").check()
    few.same(out)
    resumed = few.start(out, "--resume", trace=True)
    resumed.wait().check()
    assert all(int(size) < 10_000 for _, size in by_kind(resumed, "signed"))
    assert "exists, and is complete" in few.run(out, "--resume", "--seed", 1).check(1).error
    few.same(out)


def test_a_pipe_is_copied_once(few: Work, tmp_path: Path) -> None:
    """A resumed run does not need the pipe any more; another one must not get what it gave."""
    out = tmp_path / "out"
    args = ["dedup", "-", "-o", out, "--id", "id", "--part-size", "256KB"]
    process = few.forge.start(*args, stdin=few.notes)
    kill_at(process, out, "band", 1, 0)
    few.forge.run(*args, "--resume").check()
    few.same(out)
    # Nobody knows whether the same would come out of it.
    assert "exists, and is complete" in few.forge.run(*args, "--resume").check(1).error


def test_another_pipe_takes_the_place_of_a_copy(few: Work, tmp_path: Path) -> None:
    """Killed after the pipe was copied and before there is a manifest, then begun anew."""
    out, other = tmp_path / "out", tmp_path / "other.jsonl"
    other.write_text('{"id": "a", "text": "one two three"}\n')
    args = ["dedup", "-", "-o", out, "--id", "id", "--part-size", "256KB"]
    for moment in range(3, 20):
        few.forge.run(*args, "--overwrite", stdin=few.notes, crash=moment)
        if (out / ".run" / "input-0").exists():
            break
    assert not steps(out)
    few.forge.run(*args, "--overwrite", stdin=other).check()
    assert (out / "clusters.parquet").stat().st_size < 10_000


@pytest.mark.parametrize("stage", ["sign", "sets", "cluster"])
def test_ctrl_c(stage: str, work: Work, tmp_path: Path) -> None:
    out = tmp_path / "out"
    process = work.start(out)
    wait_for(process, lambda: 1 in steps(out).get(stage, ()))
    begin = time.monotonic()
    process.kill(signal.SIGINT)
    ended = process.wait().check(130)
    took = time.monotonic() - begin
    print(f"Ctrl-C in {stage}: ended after {took:.2f} s")  # noqa: T201
    assert took < 2
    last = ended.err.splitlines()[-1]
    assert "interrupted" in last and "--resume" in last
    assert not (out / "run.json").exists()
    work.run(out, "--resume").check()
    work.same(out)


def test_ctrl_c_of_a_signed_run(few: Work, tmp_path: Path) -> None:
    """Parts are in the store, and not in the folder; bands and sets are in the folder."""
    named = ["--store", f"sqlite:{tmp_path / 'bands'}", "--run", "r", "--part-size", "256KB"]
    few.forge.run("sign", few.notes, "--id", "id", *named).check()
    out = tmp_path / "out"
    process = few.forge.start("dedup", *named, "-o", out, slow=0.03)
    wait_for(process, lambda: 1 in steps(out).get("sets", ()))
    process.kill(signal.SIGINT)
    ended = process.wait().check(130)
    assert "--resume" in ended.err.splitlines()[-1]
    assert steps(out)["band"]
    few.forge.run("dedup", *named, "-o", out, "--resume").check()
    few.same(out)


def test_terminated(few: Work, tmp_path: Path) -> None:
    """``kill`` without a number leaves what ``kill -9`` leaves."""
    out = tmp_path / "out"
    process = few.start(out, slow=0.01)
    wait_for(process, lambda: 1 in steps(out).get("sign", ()))
    process.kill(signal.SIGTERM)
    assert process.wait().code == -signal.SIGTERM
    few.run(out, "--resume").check()
    few.same(out)
