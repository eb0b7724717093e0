"""Where the time goes: ``seconds`` of a run account for the whole process, seen from outside."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

import neardup
from bench.notes import SynthSpec, write
from common import Tune
from neardup.deduplication.clock import Clock, Event, process_start

pytestmark = pytest.mark.long

#: Another process may take the cores at the wrong moment, after the last lap; one try is enough.
TRIES = 6


def apart(path: Path, out: Path, end: float) -> float:
    """The share of a process's wall time that its record does not account for.

    ``end`` are seconds that no record can hold: the system counts the start in hundredths, and the
    record is written before the files of the run are removed and the memory is given back.
    """
    begin = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", "neardup", "dedup", path, "-o", out, "--quiet"],
        capture_output=True,
        text=True,
    )
    wall = time.monotonic() - begin
    assert done.returncode == 0, done.stderr
    seconds = json.loads((out / "run.json").read_text())["seconds"]
    assert all(value >= 0 for value in seconds.values())
    assert {"begin", "read and sketch", "write tables", "other"} <= set(seconds)
    return max(0.0, abs(wall - sum(seconds.values())) - end) / wall


@pytest.mark.parametrize(("documents", "end"), [(100, 0.05), (40_000, 0.06)])
def test_seconds_add_up_to_the_wall_time(
    documents: int, end: float, kernels: None, tmp_path: Path
) -> None:
    path = tmp_path / "notes.parquet"
    write(SynthSpec(documents), path)
    tries: list[float] = []
    while min(tries, default=1.0) > 0.03 and len(tries) < TRIES:
        tries.append(apart(path, tmp_path / f"out-{len(tries)}", end))
    assert min(tries) <= 0.03, tries


def test_every_moment_belongs_to_one_stage() -> None:
    said: list[Event] = []
    clock = Clock(said.append, begin=time.monotonic() - 7.0)
    clock.lap("start")
    with clock.stage("one", 5) as advance:
        advance(2)
        time.sleep(0.01)
        advance(3)
    time.sleep(0.01)
    with clock.stage("two", 3), clock.stage("in two") as advance:
        advance(1)
    clock.lap("other")
    assert list(clock.seconds) == ["start", "other", "one", "two"]
    assert sum(clock.seconds.values()) == pytest.approx(time.monotonic() - clock.begin, abs=0.005)
    assert clock.seconds["start"] >= 7.0 and clock.seconds["one"] >= 0.01
    assert [(e.stage, e.done, e.finished) for e in said] == [
        ("one", 0, False), ("one", 2, False), ("one", 5, False), ("one", 5, True),
        ("two", 0, False), ("two", 3, True),
    ]  # fmt: skip


def test_a_process_knows_when_it_was_started() -> None:
    code = "from neardup.deduplication.clock import process_start; print(process_start())"
    begin = time.monotonic()
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert -0.1 < float(done.stdout) - begin < 1.0  # the system counts in hundredths
    assert process_start() < begin


@pytest.mark.parametrize("settings", [{}, {"pairs": "all"}, {"pairs": "all", "method": "allpairs"}])
def test_a_long_stage_says_so_once(settings: dict[str, str], tune: Tune) -> None:
    """And what would limit it only where it would."""
    tune(estimate_after=-1.0, long_run=-1.0)
    texts = [f"one two three four five six seven eight nine ten {i}" for i in range(20)]
    events: list[Event] = []
    spec = neardup.Spec(threshold=0.3, **settings)
    neardup.dedup(texts, spec=spec, progress=events.append)
    ((stage, note),) = [(e.stage, e.note) for e in events if "this may take" in e.note]
    assert stage == ("pairs" if settings else "resolve")
    assert "20 documents share a bucket" in note
    assert ("max_bucket" in note) == (not settings)
