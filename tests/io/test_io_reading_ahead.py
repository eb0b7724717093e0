"""Sources that are larger than memory: read ahead, past the cache, with the same bytes."""

from __future__ import annotations

import copy
import gzip
import os
import pickle
import random
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import neardup
from common import Tune
from neardup.arrays import PAD
from neardup.deduplication.reading import Reader
from neardup.errors import FormatError
from neardup.io import opening, reading_ahead
from neardup.io.reading_ahead import ReadAhead
from neardup.io.source import Columns, Source

pytestmark = pytest.mark.skipif(
    not hasattr(os, "O_DIRECT"), reason="the system has no direct reading"
)


def can_read(folder: Path) -> bool:
    path = folder / "direct"
    path.write_bytes(b"x")
    return ReadAhead().take(str(path), 0, 1) is not None


@pytest.fixture
def direct(tmp_path: Path) -> None:
    if not can_read(tmp_path):
        pytest.skip("the file system of temporary files has no direct reading")


@pytest.fixture
def little_memory(monkeypatch: pytest.MonkeyPatch, tune: Tune) -> None:
    tune(cached_source=0)
    monkeypatch.setattr(opening, "memory_of_machine", lambda: 1000)


@pytest.mark.parametrize("threads", [1, 4])
def test_ranges_are_those_of_the_file(direct: None, tmp_path: Path, threads: int) -> None:
    """Asked for or not, taken in any order or never, of any size and position."""
    path = tmp_path / "a"
    path.write_bytes(random.Random(1).randbytes(300_001))
    data, ahead, choose = path.read_bytes(), ReadAhead(), random.Random(2)
    every: list[tuple[int, int]] = []
    for _ in range(400):
        start = choose.choice([choose.randrange(len(data)), choose.randrange(74) * 4096])
        every.append((start, choose.choice([0, 1, 4096, choose.randrange(50_000)])))
    every = [(start, min(size, len(data) - start)) for start, size in every]
    every.append((0, len(data)))

    def check(number: int) -> None:
        start, size = every[number]
        if number % 3:
            ahead.ask(str(path), start, size)
        if number % 7 == 1:
            return
        found = ahead.take(str(path), start, size)
        assert found is not None
        assert found[: size + PAD].tobytes() == data[start : start + size] + bytes(PAD)

    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(check, range(len(every))))


@pytest.fixture
def begun(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Where the ranges begin that were read, by whichever thread."""
    found: list[int] = []
    read = ReadAhead._read

    def noted(self: ReadAhead, of: reading_ahead.Range) -> object:
        found.append(of[1])
        return read(self, of)

    monkeypatch.setattr(ReadAhead, "_read", noted)
    return found


def test_few_ranges_wait(direct: None, tmp_path: Path, begun: list[int]) -> None:
    path = tmp_path / "a"
    path.write_bytes(bytes(1_000_000))
    ahead = ReadAhead()
    for start in range(0, 1_000_000, 5000):
        ahead.ask(str(path), start, 5000)
    ahead._thread.submit(lambda: None).result()
    assert begun == [0, 5000, 10_000]
    for start in range(5000, 1_000_000, 5000):  # the first one is given up
        assert ahead.take(str(path), start, 5000) is not None
    assert sorted(begun) == [*range(0, 1_000_000, 5000)]
    assert not ahead._begun and not ahead._asked
    # Those that wait, and one each for the range before and for one that this thread reads itself.
    assert len(ahead._free) <= reading_ahead._READY + 2


def test_ranges_that_are_left_out_cost_little(
    direct: None, tmp_path: Path, begun: list[int]
) -> None:
    path = tmp_path / "a"
    path.write_bytes(bytes(1_000_000))
    ahead = ReadAhead()
    for start in range(0, 1_000_000, 1000):
        ahead.ask(str(path), start, 1000)
    for start in range(0, 1_000_000, 50_000):
        assert ahead.take(str(path), start, 1000) is not None
    ahead._thread.submit(lambda: None).result()
    assert len(begun) <= 20 + 20 * reading_ahead._READY
    assert len(ahead._asked) < 100


def test_what_cannot_be_read_directly(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"text")
    ahead = ReadAhead()
    for name, start, size in ((path, 0, 5), (path, 9000, 1), (tmp_path / "none", 0, 1)):
        assert ahead.take(str(name), start, size) is None
        ahead.ask(str(name), start, size)
        assert ahead.take(str(name), start, size) is None
    for other in (pickle.loads(pickle.dumps(ahead)), copy.deepcopy(ahead)):
        assert isinstance(other, ReadAhead)


def source_of(paths: list[Path]) -> Source:
    return opening.open_source(paths, Columns(("text",)), partition_bytes=1000)


def test_a_source_that_is_larger_than_memory_is_read_ahead(
    direct: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tune: Tune
) -> None:
    """JSON lines, those partitions that are needed; other files are read as ever."""
    folder = tmp_path / "site=north"
    folder.mkdir()
    paths = [tmp_path / "a.jsonl", tmp_path / "b.csv", tmp_path / "c.jsonl.gz", folder / "d.jsonl"]
    texts = [f"text number {n}" for n in range(500)]
    paths[0].write_text("".join(f'{{"text": "{text}"}}\n' for text in texts))
    paths[1].write_text("text\n" + "".join(f"{text}\n" for text in texts))
    paths[2].write_bytes(gzip.compress(paths[0].read_bytes()))
    paths[3].write_bytes(paths[0].read_bytes())
    taken = list[tuple[str, bool]]()
    take = ReadAhead.take

    def noted(self: ReadAhead, path: str, start: int, size: int) -> object:
        was_asked = (path, start, size) in {*self._begun, *self._asked}
        taken.append((Path(path).name, was_asked))
        return take(self, path, start, size)

    monkeypatch.setattr(ReadAhead, "take", noted)
    tune(cached_source=0)
    for memory in (10**9, 1000):
        monkeypatch.setattr(opening, "memory_of_machine", lambda: memory)  # noqa: B023
        taken.clear()
        reader = Reader(source_of(paths))
        read = [part.read().text.to_pylist() for _, part in reader.partitions()]
        assert [text for some in read for text in some] == 4 * texts
        assert {name for name, _ in taken} == ({"a.jsonl", "d.jsonl"} if memory == 1000 else set())
        taken.clear()
        positions = np.arange(0, 2000, 150)
        again = reader.again(np.cumsum([len(some) for some in read]), positions)
        found = [text for part in again for text in reader.texts(part).to_pylist()]
        assert found == [(4 * texts)[position] for position in positions]
        assert all(was_asked for _, was_asked in taken) and bool(taken) == (memory == 1000)


def test_a_fork_reads_by_itself(direct: None, tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"text" * 5_000_000)
    ahead = ReadAhead()
    ahead.ask(str(path), 0, 20_000_000)
    child = os.fork()
    if not child:
        found = ahead.take(str(path), 0, 20_000_000)
        os._exit(0 if found is not None and found[:4].tobytes() == b"text" else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_a_file_that_became_shorter_is_refused(little_memory: None, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": "some text"}\n' * 500)
    parts = list(source_of([path]).partitions())
    path.write_text('{"text": "some text"}\n' * 50)
    with pytest.raises(FormatError, match=r"a\.jsonl"):
        parts[-1].read()


def test_passages_are_the_same(little_memory: None, tmp_path: Path) -> None:
    choose = random.Random(3)
    words = [" ".join(choose.choices("abcdefghijklmnop", k=40)) for _ in range(300)]
    words += [f"{choose.choice(words)} {choose.choice(words)}" for _ in range(300)]
    path = tmp_path / "a.jsonl"
    path.write_text("".join(f'{{"text": "{text}"}}\n' for text in words))
    expected = neardup.passages(words, words=5)
    assert neardup.passages(path, words=5).passages.equals(expected.passages)
