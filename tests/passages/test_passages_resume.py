"""Runs that are killed or refused by a full disk: the same bytes after --resume."""

from __future__ import annotations

import json
import os
import random
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from killing import Forge, outputs

import neardup
from common import Tune
from neardup.state.run_state import RunState

#: 300 take ten minutes: NEARDUP_KILLS=300 python -m pytest tests/passages -k killed
KILLS = int(os.environ.get("NEARDUP_KILLS") or 2)
WAYS: tuple[tuple[str, ...], ...] = (
    (),
    ("--cut", "--boilerplate", "8", "--cut-boilerplate"),
    ("--order-by", "rank", "--within", "who", "--annotate"),
    ("--cut", "--whole", "sentence", "--drop-below", "5", "--keep-sources", "--bridge", "2"),
)
#: So little that rows go to files at once, see `killing`.
COMMON = ("--id", "id", "--words", "6", "--memory", "240MB", "--by", "who")


def rows(seed: int, count: int) -> list[dict[str, Any]]:
    rng = random.Random(seed)
    made: list[list[str]] = []
    for _ in range(count):
        words = [f"w{rng.randrange(4000)}" for _ in range(rng.randrange(20, 90))]
        words[5:5] = ["general", "hospital", "department", "of", "internal", "medicine"]
        if made and rng.random() < 0.6:
            other = rng.choice(made)
            at = rng.randrange(len(other))
            words[10:10] = other[at : at + rng.randrange(60)]
        made.append(words)
    return [
        {
            "id": f"n{i}",
            "rank": rng.randrange(1000),
            "who": rng.choice([None, "a", "b", "c"]),
            "text": ". ".join(" ".join(words[k : k + 9]) for k in range(0, len(words), 9)),
        }
        for i, words in enumerate(made)
    ]


@pytest.fixture(scope="module")
def forge(kernels: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Forge]:
    found = Forge(tmp_path_factory.mktemp("forge"))
    yield found
    found.close()


@pytest.fixture(scope="module")
def notes(forge: Forge) -> Path:
    """Two files, in some eight partitions."""
    folder = forge.folder / "notes"
    folder.mkdir()
    made = rows(1, 1_000)
    for number, some in enumerate((made[:700], made[700:])):
        lines = "".join(json.dumps(row) + "\n" for row in some)
        (folder / f"{number}.jsonl").write_text(lines)
    return folder


def command(notes: Path, out: Path, way: tuple[str, ...]) -> list[Any]:
    return ["passages", notes, "-o", out, *COMMON, *way]


@pytest.fixture(scope="module")
def known(forge: Forge, notes: Path) -> list[tuple[dict[str, bytes], int, float]]:
    """Outputs, calls to the system and seconds of runs that nothing disturbs."""
    found = []
    for number, way in enumerate(WAYS[:KILLS]):
        out = forge.folder / f"undisturbed{number}"
        process = forge.start(*command(notes, out, way), trace=True)
        ended = process.wait().check()
        found.append((outputs(out), len(process.done("call")), ended.seconds))
    return found


@pytest.mark.long
def test_killed_runs_end_with_the_same_bytes(
    forge: Forge, notes: Path, known: list[tuple[dict[str, bytes], int, float]]
) -> None:
    rng = random.Random(KILLS)
    stages: dict[str, int] = {}
    for number in range(KILLS):
        which = number % len(WAYS)
        expected, calls, seconds = known[which]
        out, way = forge.folder / f"killed{number}", WAYS[which]
        resume: tuple[str, ...] = ()
        for _ in range(rng.choice([1, 1, 2])):
            asked = [*command(notes, out, way), *resume]
            if rng.random() < 0.7:
                forge.run(*asked, crash=rng.randrange(calls))
            else:
                process = forge.start(*asked)
                time.sleep(rng.random() * seconds)
                process.kill(signal.SIGKILL)
                process.wait()
            resume = ("--resume", "--memory", rng.choice(["240MB", "400MB"]))
        for stage in ("anchors", "marked", "runs", "rows", "found", "written"):
            stages[stage] = stages.get(stage, 0) + (stage in _done(out))
        forge.run(*command(notes, out, way), *(resume or ("--resume",))).check()
        assert outputs(out) == expected, (number, way)
        assert not (out / ".run").exists()
    assert KILLS < 40 or min(stages["marked"], stages["runs"], stages["rows"]) > 1


def _done(out: Path) -> set[str]:
    from neardup.errors import NeardupError

    if not RunState.exists(out / ".run"):
        return set()
    try:
        with RunState.open(out / ".run") as state:
            return {stage for stage, _ in state._index}
    except NeardupError:
        return set()


def test_a_full_disk(forge: Forge, notes: Path) -> None:
    out = forge.folder / "full"
    error = forge.run(*command(notes, out, WAYS[1]), limit=60_000).check(1).error
    assert "can't be written" in error or "no capacity" in error or "full" in error
    forge.run(*command(notes, out, WAYS[1]), "--resume").check()
    assert neardup.PassagesRun.open(out).summary["counts"]["documents"] == 1_000


@pytest.mark.long
def test_what_is_not_resumed(forge: Forge, tmp_path: Path) -> None:
    path, out = tmp_path / "a.jsonl", tmp_path / "out"
    lines = "".join(json.dumps(row) + "\n" for row in rows(2, 300))
    path.write_text(lines)
    forge.run(*command(path, tmp_path / "other", ()), trace=True).check()
    for moment in range(12, 100):  # until something is stored
        forge.run(*command(path, out, ()), "--overwrite", crash=moment)
        if "marked" in _done(out):
            break
    assert "interrupted run" in forge.run(*command(path, out, ())).check(1).error
    other = forge.run(*command(path, out, ("--bridge", "3")), "--resume").check(1).error
    assert "other settings" in other and "bridge" in other
    path.write_text(lines + '{"id": "new", "text": "x"}\n')
    changed = forge.run(*command(path, out, ()), "--resume").check(1).error
    assert "a.jsonl has changed" in changed
    path.write_text(lines)
    with RunState.open(out / ".run") as state:
        state.manifest = {**state.manifest, "stored_form": 1}
    older = forge.run(*command(path, out, ()), "--resume").check(1).error
    assert "stored_form was 1 and is " in older
    forge.run(*command(path, out, ()), "--overwrite").check()
    before = outputs(out)
    forge.run(*command(path, out, ()), "--resume").check()  # all is done
    assert outputs(out) == before
    complete = forge.run(*command(path, out, ("--bridge", "3")), "--resume").check(1).error
    assert "with other settings" in complete


def test_documents_that_change_between_the_passes(
    tmp_path: Path, kernels: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    from neardup.copied_passages.repeated import repeats

    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows(3, 50)))
    real = repeats.Anchors.marked

    def changed(self: Any) -> Any:
        with path.open("a") as file:
            file.write('{"id": "x", "text": "y"}\n')
        return real(self)

    monkeypatch.setattr(repeats.Anchors, "marked", changed)
    with pytest.raises(neardup.NeardupError) as caught:
        neardup.passages(path, id="id", words=6, out=tmp_path / "out", progress=False)
    assert "changed" in str(caught.value)


@pytest.mark.parametrize(("brief", "stored"), [(1e9, set()), (0.0, {"marked", "found"})])
def test_a_brief_search_stores_nothing(
    brief: float,
    stored: set[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    tune: Tune,
    kernels: None,
) -> None:
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows(2, 60)))
    stages, put = set(), RunState.put

    def noted(state: RunState, stage: str, *step: Any, **more: Any) -> None:
        stages.add(stage)
        put(state, stage, *step, **more)

    monkeypatch.setattr(RunState, "put", noted)
    tune(repeated_pass=brief)
    neardup.passages(tmp_path / "a.jsonl", id="id", words=6, out=tmp_path / "out")
    assert stages & {"anchors", "marked", "runs", "found"} == stored
