"""Kills under load, full disks, and requests of any kind."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import random
import shutil
import signal
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hypothesis
import psutil
import pytest
from serve_process import Service, require_serve, serving

import neardup
from neardup.errors import IndexMovedError, NeardupError

pytestmark = pytest.mark.long

require_serve()

#: More of them by `make kills`.
KILLS = int(os.environ.get("NEARDUP_SERVE_KILLS", "1"))
#: More of them by `make fuzz`.
REQUESTS = int(os.environ.get("NEARDUP_SERVE_REQUESTS", "60"))
#: Seconds of calls whose memory is watched; half an hour by `make soak`.
SOAK = float(os.environ.get("NEARDUP_SERVE_SOAK", "1"))
#: Bytes by which memory may grow in the soak: it makes about a million calls.
LEAK = 16 << 20
WORDS = [f"w{i}" for i in range(30)]


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    path = tmp_path_factory.mktemp("faults") / "i"
    neardup.Index.create(path, shingle="word:2", threshold=0.5).close()
    with serving(path) as found:
        yield found


@contextlib.contextmanager
def files_may_grow_by(service: Service, size: int) -> Iterator[None]:
    """The process that writes may make no file larger than the largest one and so many bytes."""
    writer, infinite = psutil.Process(service.process.pid), psutil.RLIM_INFINITY
    largest = max(path.stat().st_size for path in service.index.iterdir())
    writer.rlimit(psutil.RLIMIT_FSIZE, (largest + size, infinite))
    try:
        yield
    finally:
        writer.rlimit(psutil.RLIMIT_FSIZE, (infinite, infinite))


def made_text(draw: random.Random) -> str:
    return " ".join(draw.choices(WORDS, k=draw.randrange(3, 12)))


def test_kills_under_load_lose_nothing_that_was_answered(tmp_path: Path) -> None:
    path = tmp_path / "i"
    neardup.Index.create(path, shingle="word:2", threshold=0.5).close()
    answers: dict[str, tuple[str, Any]] = {}
    doubtful: dict[str, str] = {}
    draw = random.Random(3)
    for kill in range(KILLS):
        service = Service(path).wait()
        stop = threading.Event()

        def client(number: int, kill: int = kill, stop: Any = stop, url: str = service.url) -> None:
            mine = random.Random(f"{kill} {number}")
            with contextlib.suppress(NeardupError), neardup.connect(url, retries=0) as index:
                for n in range(10**6):
                    if stop.is_set():
                        return
                    id_, text = f"{kill}-{number}-{n}", made_text(mine)
                    doubtful[id_] = text
                    answers[id_] = text, index.add_if_new(id_, text)
                    del doubtful[id_]

        threads = [threading.Thread(target=client, args=(number,)) for number in range(6)]
        for thread in threads:
            thread.start()
        time.sleep(draw.uniform(0.2, 1.0))
        if draw.random() < 0.5:
            service.kill()
        else:
            os.killpg(service.process.pid, signal.SIGKILL)
            service.process.wait()
        for thread in threads:
            thread.join()
        stop.set()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(service.process.pid, signal.SIGKILL)
    assert answers
    with serving(path) as service, neardup.connect(service.url) as index:
        assert index.check() == []
        stored = index.ids().to_pylist()
        assert len(set(stored)) == len(stored)
        assert set(stored) <= answers.keys() | doubtful.keys()
        names = list(answers)
        again = index.add_if_new([answers[name][0] for name in names], ids=names).to_pylist()
        for row in again:
            _, first = answers[row["id"]]
            assert (first.kept, first.duplicate_of, first.similarity) == (
                row["kept"], row["duplicate_of"], row["similarity"],
            ), row  # fmt: skip
        assert index.ids().to_pylist() == stored


def test_a_full_disk_is_answered_and_reading_goes_on(service: Service) -> None:
    first = {"documents": [{"id": "a", "text": "some text that is there"}]}
    assert service.post("add_if_new", first)[0] == 200
    draw = random.Random(1)
    text = " ".join(f"{draw.random()}" for _ in range(20_000))
    second = {"documents": [{"id": "b", "text": text}]}
    with files_may_grow_by(service, 100):
        status, found = service.post("add_if_new", second)
        assert (status, found["error"]) == (507, "OutputError"), found
        assert service.post("get", {"id": "a"})[1]["text"] == "some text that is there"
        assert service.post("contains", {"ids": ["b"]})[1] == {"contained": [False]}
    assert service.post("add_if_new", second)[0] == 200
    assert service.post("check", {})[1] == {"problems": []}


def test_a_folder_that_is_moved_or_replaced(tmp_path: Path) -> None:
    path, aside = tmp_path / "i", tmp_path / "aside"
    with neardup.Index.create(path, shingle="word:2", threshold=0.5) as made:
        made.add("a", "some text that is there")
    new = {"id": "b", "text": "quite another text"}
    calls = {"add_if_new": new, "remove": {"ids": ["a"]}, "compact": {}, "check": {}}
    unready = {"ready": False, "reason": "the folder of the index was moved, deleted or replaced"}
    with serving(path) as service:
        for replace in (False, True):
            path.rename(aside)
            if replace:
                shutil.copytree(aside, path)
            before = {file: file.read_bytes() for file in path.glob("*")}
            assert service.call("GET", "/readyz")[:2] == (503, unready)
            for name, body in calls.items():
                status, found, headers = service.call("POST", f"/v1/{name}", body)
                assert (status, found["error"]) == (503, "IndexMovedError"), name
                assert "was moved, deleted or replaced" in found["detail"]
                assert headers["retry-after"] == "1"
            with neardup.connect(service.url, retries=0) as index:
                with pytest.raises(IndexMovedError):
                    index.add("b", "quite another text")
                assert index.get("a") == "some text that is there"  # of the one that is open
            if replace:
                # A process that is started now answers nothing from the other folder.
                psutil.Process(service.process.pid).children()[0].kill()
                end, found = time.monotonic() + 60, None
                while found != unready:
                    assert time.monotonic() < end, found
                    with contextlib.suppress(OSError, http.client.HTTPException):
                        found = service.call("GET", "/readyz", timeout=5)[1]
                status, found = service.post("get", {"id": "a"})
                assert (status, found["error"]) == (503, "IndexMovedError")
                assert before == {file: file.read_bytes() for file in path.glob("*")}
                shutil.rmtree(path)
            aside.rename(path)
            assert service.wait().post("add_if_new", new)[0] == 200
        assert service.post("check", {})[1] == {"problems": []}
    with neardup.Index.open(path, readonly=True) as found:
        assert found.ids().to_pylist() == ["a", "b"]


def test_a_document_without_space_fails_alone(service: Service) -> None:
    draw, answers = random.Random(2), dict[str, int]()
    texts = {f"small {n}": f"{draw.random()} {draw.random()}" for n in range(4)}
    texts["large"] = " ".join(f"{draw.random()}" for _ in range(80_000))

    def ask(id_: str) -> None:
        body = {"documents": [{"id": id_, "text": texts[id_]}]}
        answers[id_] = service.post("add_if_new", body)[0]

    threads = [threading.Thread(target=ask, args=(id_,)) for id_ in texts]
    with contextlib.ExitStack() as limited:
        with neardup.Index.open(service.index) as other, other._core.writing():
            for thread in threads:
                thread.start()
            service.until("neardup_queue_calls", len(texts))  # one transaction has most of them
            limited.enter_context(files_may_grow_by(service, 256 << 10))
        for thread in threads:
            thread.join()
    assert answers == {id_: 507 if id_ == "large" else 200 for id_ in texts}


def private_bytes(service: Service) -> list[int]:
    """Private memory of the process that writes, then of those that answer."""
    writer = psutil.Process(service.process.pid)
    return [each.memory_full_info().uss for each in (writer, *writer.children())]


def growth(sizes: list[int]) -> int:
    """Return by how much memory has grown since caches were filled: after a third of the time."""
    steady = sizes[len(sizes) // 3 :]
    part = max(1, len(steady) // 4)
    return min(steady[-part:]) - max(steady[:part])


def test_growth_is_seen() -> None:
    draw = random.Random(2)
    peaks = [(100 << 20) + draw.randrange(40 << 20) for _ in range(60)]
    filling = [min(number, 20) * (3 << 20) for number in range(60)]
    leak = [number << 20 for number in range(60)]  # 60 MB in all
    assert growth([a + b for a, b in zip(peaks, filling, strict=True)]) <= 0
    assert growth(leak) > LEAK
    assert growth([a + b for a, b in zip(filling, leak, strict=True)]) > LEAK


def test_memory_stays_what_it_is(tmp_path: Path) -> None:
    """The same number of documents all the time: what is added is removed later."""
    path, kept = tmp_path / "i", 500
    neardup.Index.create(path, shingle="word:2", threshold=0.5).close()
    with serving(path, "--workers", "2") as service, neardup.connect(service.url) as index:
        draw, added, sizes = random.Random(5), list[int](), list[list[int]]()
        end, watched = time.monotonic() + SOAK, time.monotonic() + SOAK / 10
        number = calls = 0
        while time.monotonic() < end:
            for _ in range(20):
                number, text = number + 1, made_text(draw) + f" n{draw.random()}"
                if index.add_if_new(number, text).kept:
                    added.append(number)
                assert index.is_duplicate(text)
                index.query([made_text(draw) for _ in range(9)], top=3)
                calls += 3
            if len(added) > kept:
                index.remove(added[: kept // 2])
                del added[: kept // 2]
            if number % 1000 == 0:  # else memory has waves of 16,384 documents, which take minutes
                index.compact()
            with contextlib.suppress(NeardupError):
                index.get("an id of another kind")
            if time.monotonic() > watched:
                watched += max(1.0, SOAK / 60)
                sizes.append(private_bytes(service))
        index.compact()
        assert index.ids().to_pylist() == added
        assert index.check() == []
        assert calls > 20 * SOAK
    processes = [list(each) for each in zip(*sizes, strict=True)]  # the one that writes first
    for each in processes:
        megabytes = [size >> 20 for size in (each[0], each[len(each) // 3], each[-1])]
        sys.stdout.write(
            f"{calls:,} calls, MB at the begin, after a third, at the end: {megabytes}\n"
        )
    if SOAK >= 600:
        assert len(processes) == 3 and len(processes[0]) >= 30
        assert max(map(growth, processes)) < LEAK, sizes


def sent(operation: Any, mode: Any, examples: int) -> int:
    """Send requests to one call; return how many."""
    documented = {int(status) for status in operation.definition.raw["responses"]} | {400, 405}
    count = 0

    @hypothesis.settings(
        max_examples=examples,
        database=None,
        deadline=None,
        derandomize=True,
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    @hypothesis.given(case=operation.as_strategy(generation_mode=mode))
    def run(case: Any) -> None:
        nonlocal count
        count += 1
        answer = case.call(timeout=60)
        assert answer.status_code in documented - {500}, (case, answer.text)

    with contextlib.suppress(hypothesis.errors.Unsatisfiable):
        run()
    return count


def test_requests_of_any_kind_get_only_documented_statuses(service: Service) -> None:
    """A fuzzer makes requests from the description, valid ones and others."""
    schemathesis = pytest.importorskip("schemathesis")
    before = service.log.stat().st_size

    @schemathesis.serializer("application/x-ndjson")  # type: ignore[untyped-decorator]
    def lines(_: Any, value: Any) -> bytes:
        return value if isinstance(value, bytes) else str(value).encode(errors="replace")

    schema = schemathesis.openapi.from_url(service.url + "/openapi.json")
    operations = [found.ok() for found in schema.get_all_operations()]
    each = max(2, REQUESTS // len(operations))
    modes = schemathesis.GenerationMode
    counts = [
        sent(operation, mode, each // 2 or 1)
        for operation in operations
        for mode in (modes.POSITIVE, modes.NEGATIVE)
    ]
    assert sum(counts) > REQUESTS // 4
    assert service.call("GET", "/readyz")[0] == 200
    log = service.log.read_bytes()[before:].decode()
    assert "ERROR" not in log and "Traceback" not in log, log[-2000:]
    assert json.loads(json.dumps(service.post("check", {})[1])) == {"problems": []}
