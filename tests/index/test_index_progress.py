"""How far adding documents to an index is: stages, counts, and what an interrupted call leaves."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import neardup
from neardup.deduplication.clock import Event

TEXTS = [f"w{i} w{i + 1} w{i + 2} w{i + 3} w{i + 4} w{i + 5}" for i in range(0, 600, 6)]


def lines(path: Path, texts: list[str]) -> Path:
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    return path


def counted(events: list[Event], stage: str) -> tuple[int, int | None]:
    """What a stage has done, at its end, and its total."""
    of_stage = [event for event in events if event.stage == stage]
    assert [event.done for event in of_stage] == sorted(event.done for event in of_stage)
    assert [event.finished for event in of_stage] == [False] * (len(of_stage) - 1) + [True]
    return of_stage[-1].done, of_stage[-1].total


@pytest.mark.parametrize("method", ["add", "add_if_new"])
def test_files_are_counted_in_bytes(tmp_path: Path, method: str) -> None:
    path, events = lines(tmp_path / "notes.jsonl", TEXTS), list[Event]()
    with neardup.Index.create() as index:
        getattr(index, method)(path, progress=events.append)
        assert len(index) == 100
    size = path.stat().st_size
    assert counted(events, "add documents") == (size, size)


@pytest.mark.parametrize("method", ["add", "add_if_new"])
def test_many_texts_are_counted(tune: Callable[..., None], method: str) -> None:
    few, events = list[Event](), list[Event]()
    with neardup.Index.create() as index, neardup.Index.create() as other:
        getattr(index, method)(TEXTS, progress=few.append)
        tune(inserted_documents=30)
        getattr(other, method)(TEXTS, progress=events.append)
        assert other.ids().to_pylist() == index.ids().to_pylist()
    assert few == []
    assert counted(events, "add documents") == (100, 100)
    assert len(events) == 6


def test_those_of_a_run_are_counted(tmp_path: Path) -> None:
    path, events = lines(tmp_path / "notes.jsonl", [*TEXTS, TEXTS[0]]), list[Event]()
    neardup.dedup(path, out=tmp_path / "out", progress=False)
    neardup.Index.from_run(tmp_path / "out", tmp_path / "index", progress=events.append).close()
    assert counted(events, "add documents") == (100, 100)
    assert counted(events, "merge segments") == (0, None)


def interrupt(event: Event) -> None:
    if event.done:
        raise KeyboardInterrupt


def test_an_interrupted_call_leaves_whole_partitions(tmp_path: Path) -> None:
    texts = [lines(tmp_path / f"{k}.jsonl", TEXTS[k : k + 50]) for k in (0, 50)]
    neardup.Index.create(tmp_path / "index").close()
    with neardup.Index.open(tmp_path / "index") as index:
        with pytest.raises(KeyboardInterrupt):
            index.add(texts, progress=interrupt)
        assert len(index) == 50
        assert index.check() == []
        with pytest.raises(KeyboardInterrupt):
            index.add_if_new(texts[1], progress=interrupt)
        assert len(index) == 50


def test_an_interrupted_index_of_a_run_is_not_there(tmp_path: Path) -> None:
    neardup.dedup(lines(tmp_path / "notes.jsonl", TEXTS), out=tmp_path / "out", progress=False)
    with pytest.raises(KeyboardInterrupt):
        neardup.Index.from_run(tmp_path / "out", tmp_path / "index", progress=interrupt)
    assert not (tmp_path / "index" / "index.sqlite").exists()
    neardup.Index.from_run(tmp_path / "out", tmp_path / "index", progress=False).close()


def test_means_that_it_has_not_are_refused() -> None:
    with neardup.Index.create() as index, pytest.raises(neardup.SpecError, match="does not apply"):
        index.add(["a"], resources=neardup.Resources(threads=1))
