"""What is said before a run, and the hint of a run that found few duplicates."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path

import pytest

import neardup
from common import Command, Tune, write_lines
from neardup.copied_passages.finding import Inputs
from neardup.copied_passages.passage_spec import CutSpec, PassageSpec
from neardup.copied_passages.passage_steps import MEMORY, PassageSteps
from neardup.corpora.corpus import InputCorpus
from neardup.deduplication.clock import Clock
from neardup.errors import SpecError
from neardup.frame.command import Means
from neardup.memory_plan import PrivatePeak
from neardup.options.option_groups import Reading


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    """Notes that are no near-duplicates, a third of whose words are a copy."""
    rng = random.Random(2)
    shared = [" ".join(f"s{k}x{i}" for i in range(40)) for k in range(3)]
    return write_lines(
        tmp_path / "notes.jsonl",
        [
            {"id": i, "text": " ".join(f"w{rng.randrange(10**6)}" for _ in range(80)) + " " + s}
            for i, s in enumerate(rng.choices(shared, k=200))
        ],
    )


def test_plan(notes: Path, command: Command, tune: Tune) -> None:
    found = json.loads(command("plan", notes, "--passages", 25, "--json").out)
    assert found["documents"] == found["sampled"] == 200 and found["words"] == 200 * 120
    assert found["copied_share"] == pytest.approx(197 * 40 / 24_000, abs=1e-4)
    assert found["disk"][0] <= found["disk"][1] and found["seconds"][0] < found["seconds"][1]
    said = command("plan", notes, "--passages", 25).out
    assert "copied      32.8 % of the words of 200 documents\n" in said  # all of them
    tune(sampled_documents=50)
    said = command("plan", notes, "--passages", 25).out
    assert "of the words of the first 50 documents only; the rest may have another share" in said
    assert "expected 2 to" in command("plan", notes, "--passages", 1).error


def test_plan_of_groups(notes: Path, command: Command) -> None:
    def share(*options: str) -> float:
        found = json.loads(command("plan", notes, "--passages", 25, "--json", *options).out)
        return float(found["copied_share"])

    assert share("--within", "id") == 0.0
    assert share("--across", "id") == share() == share("--order-by", "id") > 0.3
    assert (
        "exclude each other"
        in command("plan", notes, "--passages", 25, "--within", "id", "--across", "id").error
    )
    assert "no column" in command("plan", notes, "--passages", 25, "--within", "who").error
    assert "is of --passages" in command("plan", notes, "--across", "id").error


def test_the_hint(notes: Path, tmp_path: Path, command: Command) -> None:
    said = command("dedup", notes, "-o", tmp_path / "out", "--id", "id").err
    assert "32.8 % of the words of the first 200 documents" in said
    assert "neardup passages" in said
    other = write_lines(
        tmp_path / "other.jsonl", [{"text": f"text {i} with words"} for i in range(50)]
    )
    assert "passages" not in command("dedup", other, "-o", tmp_path / "other").err
    same = write_lines(tmp_path / "same.jsonl", [{"text": "one two three " * 20}] * 9)
    assert "passages" not in command("dedup", same, "-o", tmp_path / "same").err


@pytest.mark.long
@pytest.mark.parametrize("template", [0, 200])
def test_the_disk_is_that_of_the_run(
    template: int, tmp_path: Path, command: Command, tune: Tune
) -> None:
    """Also where all documents have the same words, whose runs are stored with one another."""
    rng = random.Random(3)
    form = " ".join(f"form{i}" for i in range(template))
    texts = (" ".join(f"w{rng.randrange(10**6)}" for _ in range(200)) for _ in range(3000))
    path = write_lines(tmp_path / "notes.jsonl", [{"text": f"{form} {text}"} for text in texts])
    plan = ("plan", path, "--passages", 25, "--json")
    assert json.loads(command(*plan).out)["disk"] == [0, 0]
    tune(spill_share=2000, spill_part=1 << 17)  # of 1 GB; many parts, as of a large corpus
    planned = json.loads(command(*plan).out)["disk"]
    assert command("passages", path, "-o", tmp_path / "out").code == 0
    used = json.loads((tmp_path / "out" / "run.json").read_text())["temporary_bytes"]
    assert 0.8 * planned[0] < used < 1.1 * planned[0]


def test_too_little_memory_is_refused(tmp_path: Path, command: Command) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text("".join(f'{{"text": "some words of note {n}"}}\n' for n in range(50)))
    says = "is 1 MB; at least 231 MB are needed (estimated: one thread)"
    for out in (None, tmp_path / "out"):
        with pytest.raises(SpecError, match=re.escape(says)):
            neardup.passages(path, words=3, memory="1MB", threads=2, out=out)
    assert not (tmp_path / "out").exists()
    for options in (
        ["passages", path, "-o", tmp_path / "out", "--words", 3],
        ["plan", path, "--passages", 3],
    ):
        said = command(*options, "--memory", "1MB", "--threads", 2)
        assert said.code == 2 and f"--memory {says}" in said.err and "more memory" in said.err
        assert command(*options, "--memory", "231MB", "--threads", 2).code == 0


def test_a_large_text_is_refused_before_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps({"text": "some words of a long text " * 10**6}))
    says = re.escape("is 400 MB; at least 411 MB are needed (estimated: texts of 26 MB that")
    with pytest.raises(SpecError, match=says):
        neardup.passages(path, memory="400MB")


@pytest.mark.long
def test_as_many_threads_work_as_fit(tmp_path: Path, command: Command) -> None:
    path = tmp_path / "a.jsonl"
    line = json.dumps({"text": "some words of a text " * 5000})
    path.write_text(f"{line}\n" * 400)  # 42 MB
    said = command("passages", path, "-o", tmp_path / "out", "--memory", "400MB", "--threads", 16)
    assert said.code == 0 and "2 of 16 threads, as the memory allows" in said.err


def test_many_threads_need_more_than_the_default(tmp_path: Path, tune: Tune) -> None:
    tune(searching_bytes=10**9)
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps({"text": "some words of a long text " * 10**6}))
    asked = PassageSteps(
        Inputs(InputCorpus.open(path, Reading())), PassageSpec(), CutSpec(), threads=300
    )
    assert asked.least(300) > MEMORY
    with PrivatePeak() as peak, asked.searching(Means(Clock(), peak)) as given:
        assert given.memory == asked.least(300)
