"""A stream into an index for a long time: readers, kills, compactions, removals, full disks.

    python -m fuzz.soak [--minutes M] [--seed K] [--rest S]

The index is on a small disk in memory that is full now and then; where none can be mounted, which
takes root on Linux, files may not grow instead. At the end the index holds what was answered, and
no process grew.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import queue
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter, deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import neardup
from neardup.errors import InputError

_NEARDUP = (
    *(sys.executable, "-c"),
    "from neardup.cli import main; from neardup.tuning import TUNING\n"
    "with TUNING.replaced(logged_documents=300): main()",
)
_READERS = 4
_SIZE = 256 << 20  # of the disk, in bytes
_WORDS = [f"w{i}" for i in range(80)]
#: Documents above which the oldest are removed, so that the index does not grow for ever.
_MOST, _REMOVED = 6000, 2000
#: How much private memory may grow between the first and the last third, in bytes.
_GROWTH = 64 << 20


def main(arguments: list[str] | None = None) -> int:
    """Return 1 where something went wrong."""
    parser = argparse.ArgumentParser(prog="python -m fuzz.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rest", type=float, default=0.005, help="seconds after a line or query")
    given = parser.parse_args(arguments)
    with _disk() as (folder, mounted):
        print(f"the index is {'on a disk of its own' if mounted else 'in ' + str(folder)}")
        soak = Soak(folder / "index", mounted, given.seed, given.rest)
        try:
            problems = soak.run(time.monotonic() + 60 * given.minutes)
        finally:
            print(json.dumps(dict(soak.counts)))
    print("\n".join(problems) or "nothing went wrong")
    return 1 if problems else 0


@contextmanager
def _disk() -> Iterator[tuple[Path, bool]]:
    """A folder, and whether it is a disk of its own."""
    with tempfile.TemporaryDirectory(prefix="neardup-soak-") as folder:
        mounted = os.name == "posix" and os.geteuid() == 0 and _mount(folder, f"size={_SIZE}")
        try:
            yield Path(folder), mounted
        finally:
            if mounted:
                subprocess.run(["umount", "-l", folder], check=True)


def _mount(folder: str | Path, options: str) -> bool:
    words = ["mount", "-t", "tmpfs", "-o", options, "none", str(folder)]
    return subprocess.run(words, capture_output=True, check=False).returncode == 0


class Soak:
    """Feeds a stream, and disturbs it.

    Attributes:
        counts: What was done.
    """

    def __init__(self, place: Path, mounted: bool, seed: int, rest: float) -> None:
        self.counts: Counter[str] = Counter()
        self._rest = rest
        self._place, self._mounted, self._draw = place, mounted, random.Random(seed)
        self._stored: dict[int, str] = {}
        self._known: deque[str] = deque(maxlen=500)
        self._number = 0
        self._problems: list[str] = []
        spec = neardup.Spec(shingle=neardup.ShingleSpec(n=2), threshold=0.6, num_bands=8, rows=2)
        neardup.Index.create(place, spec=spec).close()

    def run(self, end: float) -> list[str]:
        """Go on until a time; return what went wrong."""
        context = multiprocessing.get_context("spawn")
        stop, reports = context.Event(), context.Queue()
        readers = [
            context.Process(
                target=_read, args=(str(self._place), number, self._rest, stop, reports)
            )
            for number in range(_READERS)
        ]
        for reader in readers:
            reader.start()
        try:
            while time.monotonic() < end and not self._problems:
                self._stream(full=self._draw.random() < 0.2)
                if len(self._stored) > _MOST:
                    self._remove()
                if self._draw.random() < 0.5:
                    self._compact()
        finally:
            stop.set()
        for _ in readers:
            try:
                counts, memory, problems = reports.get(timeout=300)
            except queue.Empty:
                self._problems.append("a reader did not end within 300 s")
                continue
            self.counts.update(counts)
            self._problems += problems + _grown("a reader", memory)
        for reader in readers:
            reader.join(60)
        self._check()
        return self._problems

    def _stream(self, full: bool) -> None:
        """Send lines to one process until it is killed, or finds no room."""
        words = [*_NEARDUP, "stream", "--index", str(self._place), "--line-buffered"]
        words += ["--durable", "process", "--timeout", "60"]
        room = self._draw.randrange(50_000, 400_000)
        largest = max(path.stat().st_size for path in self._place.iterdir())
        if full and self._mounted:
            used = shutil.disk_usage(self._place).used
            assert _mount(self._place.parent, f"remount,size={used + room}")
        with subprocess.Popen(
            words,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            preexec_fn=partial(_limit, largest + room) if full and not self._mounted else None,
        ) as process:
            assert process.stdin and process.stdout and process.stderr
            life = 150 if self._draw.random() < 0.1 else self._draw.uniform(4, 30)
            timer = threading.Timer(life, process.kill)
            timer.start()
            memory: list[int] = []
            line: dict[str, Any] = {}
            while True:
                if not line:
                    self._number += 1
                    line = {"id": self._number, "text": self._text()}
                try:
                    process.stdin.write(json.dumps(line).encode() + b"\n")
                    process.stdin.flush()
                    answer = process.stdout.readline()
                except BrokenPipeError:
                    break
                if not answer.endswith(b"\n"):
                    break
                self.counts["answers"] += 1
                if self.counts["answers"] % 500 == 0:
                    memory.append(_private(process.pid))
                if json.loads(answer)["kept"]:
                    self._stored[line["id"]] = line["text"]
                line = {}
                time.sleep(self._rest)
            timer.cancel()
            with suppress(BrokenPipeError):  # a line that the process did not take any more
                process.stdin.close()
            self._problems += _grown("the stream", memory)
            said = process.stderr.read().decode()
        if full and self._mounted:
            assert _mount(self._place.parent, f"remount,size={_SIZE}")
        if process.returncode == -signal.SIGKILL:
            self.counts["kills"] += 1
        elif full and process.returncode == 1 and ": can't be written: " in said:
            self.counts["full disks"] += 1
        else:
            self._problems.append(f"the stream ended with {process.returncode}: {said}")
        # Whether the last line was added is not known: it is sent again.
        with neardup.Index.open(self._place) as index:
            found = index.add_if_new(line["id"], line["text"])
        if found.kept:
            self._stored[line["id"]] = line["text"]

    def _text(self) -> str:
        draw = self._draw
        if self._known and draw.random() < 0.4:
            words = draw.choice(self._known).split()
            words[draw.randrange(len(words))] = draw.choice(_WORDS)
        else:
            words = draw.choices(_WORDS, k=draw.randrange(5, 40))
        text = " ".join(words)
        self._known.append(text)
        return text

    def _remove(self) -> None:
        some = list(self._stored)[:_REMOVED]
        self._command("remove", *map(str, some))
        for id_ in some:
            del self._stored[id_]
        self.counts["removed"] += len(some)

    def _compact(self) -> None:
        """Compact in a process that is sometimes killed."""
        words = [*_NEARDUP, "index", "compact", str(self._place), "--timeout", "60"]
        words += ["--purge"] if self._draw.random() < 0.3 else []
        if self._draw.random() < 0.3:
            with subprocess.Popen(words, stderr=subprocess.DEVNULL) as process:
                time.sleep(self._draw.uniform(0, 2))
                process.kill()
            self.counts["kills"] += 1
        else:
            self._command("compact", *words[len(_NEARDUP) + 3 :])
        self.counts["compactions"] += 1

    def _command(self, name: str, *more: str) -> None:
        words = [*_NEARDUP, "index", name, str(self._place), *more]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        if done.returncode:
            self._problems.append(f"neardup index {name}: {done.stderr}")

    def _check(self) -> None:
        with neardup.Index.open(self._place) as index:
            self._problems += index.check()
            found = {id_: index.get(id_) for id_ in index.ids().to_pylist()}
        if found != self._stored:
            lost, more = self._stored.keys() - found.keys(), found.keys() - self._stored.keys()
            self._problems.append(f"documents lost: {len(lost)}, too many: {len(more)}")
        self.counts["documents"] = len(found)


def _limit(size: int) -> None:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def _read(place: str, number: int, rest: float, stop: Any, reports: Any) -> None:
    """Ask for documents and what is similar to them; report what was wrong."""
    counts: Counter[str] = Counter()
    memory: list[int] = []
    problems: list[str] = []
    draw = random.Random(number)
    index = neardup.Index.open(place, readonly=True)
    while not stop.is_set():
        try:
            _ask(index, draw)
            counts["queries"] += 1
        except Exception as error:  # noqa: BLE001  (all of them are findings)
            problems.append(f"a reader: {error!r}")
            break
        if counts["queries"] % 200 == 0:
            memory.append(_private())
        if draw.random() < 0.005:
            index.close()
            index = neardup.Index.open(place, readonly=True)
        time.sleep(rest)
    reports.put((counts, memory, problems))


def _ask(index: neardup.Index, draw: random.Random) -> None:
    ids = index.ids().to_pylist()
    if not ids:
        return
    id_ = draw.choice(ids)
    try:
        text = index.get(id_)
    except InputError:  # removed since
        return
    found = index.query(text).column("id").to_pylist()
    assert id_ in found or id_ not in index, "a document does not find itself"


def _private(pid: int | str = "self") -> int:
    """Bytes of a process of Linux; 0 where it has ended."""
    status = Path(f"/proc/{pid}/status").read_text()
    found = re.search(r"RssAnon:\s+(\d+)", status)
    return int(found[1]) * 1024 if found else 0


def _grown(what: str, memory: list[int]) -> list[str]:
    """Return a problem where the last third of some measurements is far above the first."""
    third = len(memory) // 3
    if not third:
        return []
    first, last = median(memory[:third]), median(memory[-third:])
    print(f"{what}: {first / 1e6:.0f} MB of private memory first, {last / 1e6:.0f} MB at last")
    return [f"{what} grew"] if last - first > _GROWTH else []


if __name__ == "__main__":
    sys.exit(main())
