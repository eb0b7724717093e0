"""Runs cases in processes with limits of time and memory, and stores what breaks."""

from __future__ import annotations

import hashlib
import importlib
import multiprocessing
import os
import shutil
import tempfile
import time
import traceback
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import psutil

from fuzz.paths import FUZZ

TARGETS = ("readers", "kernels", "options", "engines", "state", "indexes", "crashes")
FINDINGS = FUZZ / "findings"
#: CPU seconds that a first case may take, which loads the kernels; and resident bytes of a worker.
_FIRST, _BYTES = 240.0, 2 << 30
#: Where the files of cases are: in memory where there is such a folder, as no case needs a disk.
_FOLDER = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
#: Findings after which a search ends.
_ENOUGH = 50


class Limits(NamedTuple):
    """How long to search."""

    cases: int
    seconds: float
    workers: int
    #: Seconds of the processor that a case may take; and times as many seconds that may pass, as
    #: other processes may have the cores.
    case: float = 20.0
    patience: float = 50


class _Worker:
    """A process that checks every so many-th case, from one on."""

    def __init__(
        self, target: str, seed: int, numbers: range, limits: Limits, findings: Path
    ) -> None:
        context = multiprocessing.get_context("spawn")
        self.numbers, self._limits = numbers, limits
        # Case, its start on the clock and in CPU seconds, whether all are done.
        self._state = context.Array("d", [-1.0, time.monotonic(), 0.0, 0.0])
        self.folder = Path(tempfile.mkdtemp(prefix="neardup-fuzz-", dir=_FOLDER))
        self._process = context.Process(
            target=_work,
            args=(target, seed, numbers, self._state, str(self.folder), str(findings)),
        )  # (a daemon could start no processes)
        self._process.start()

    @property
    def case(self) -> int:
        """Number of the case that is being checked; -1 before the first one."""
        return int(self._state[0])

    @property
    def done(self) -> int:
        """Number of cases that were begun."""
        return len(range(self.numbers.start, self.case + 1, self.numbers.step))

    def ended(self) -> str | None:
        """Return why this process is over; an empty text if all is done, None if it goes on."""
        if self._process.is_alive():
            since = time.monotonic() - self._state[1]
            limit = self._limits.case if self.case > self.numbers.start else _FIRST
            try:
                process = psutil.Process(self._process.pid)
                taken, times = process.memory_info().rss, process.cpu_times()
            except psutil.Error:
                return None
            if (
                times.user + times.system - self._state[2] > limit
                or since > self._limits.patience * limit
            ):
                return self._kill(f"no end after {since:.0f} s")
            return self._kill(f"{taken / 1e9:.1f} GB of memory") if taken > _BYTES else None
        if self._state[3]:
            return ""
        return f"the process ended with {self._process.exitcode}"

    def close(self) -> None:
        """End the process and remove its files."""
        self._process.kill()
        self._process.join()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _kill(self, why: str) -> str:
        self._process.kill()
        self._process.join()
        return why


def run(target: str, seed: int, limits: Limits, findings: Path) -> tuple[int, list[Path]]:
    """Check cases until one of the limits is reached.

    Returns:
        Cases that were checked, and a file for each that broke something, with the reason in a
        file of the same name and ``.why``.
    """
    end = time.monotonic() + limits.seconds
    before, done, step = _files(findings), 0, limits.workers
    numbers = [range(first, limits.cases, step) for first in range(step)]
    workers = [_Worker(target, seed, some, limits, findings) for some in numbers]
    try:
        while workers and time.monotonic() < end and len(_files(findings) - before) < _ENOUGH:
            time.sleep(0.05)
            for worker in list(workers):
                why = worker.ended()
                if why is None:
                    continue
                workers.remove(worker)
                done += worker.done
                worker.close()
                if why and worker.case < 0:
                    raise RuntimeError(why)
                if why:  # the process is gone; the others of its cases are checked by another one
                    _store(target, seed, worker.case, why, findings)
                    if rest := worker.numbers[worker.done :]:
                        workers.append(_Worker(target, seed, rest, limits, findings))
    finally:
        for worker in workers:
            done += worker.done
            worker.close()
    return done, sorted(_files(findings) - before)


def _files(folder: Path) -> set[Path]:
    return {path for path in folder.glob("*") if path.suffix != ".why"}


def replay(path: Path) -> None:
    """Check one finding or seed, whose name is TARGET-ANYTHING.ENDING."""
    target, _, rest = path.name.partition("-")
    with tempfile.TemporaryDirectory(prefix="neardup-fuzz-") as folder:
        _module(target).check(rest.partition(".")[2], path.read_bytes(), Path(folder))


def _module(target: str) -> Any:
    return importlib.import_module(f"fuzz.{target}" if target in TARGETS else target)


def _case(target: str, seed: int, number: int) -> tuple[str, bytes]:
    found: tuple[str, bytes] = _module(target).make(np.random.default_rng([seed, number]))
    return found


def _work(target: str, seed: int, numbers: range, state: Any, place: str, findings: str) -> None:
    warnings.simplefilter("ignore")
    folder, module = Path(place), _module(target)
    for number in numbers:
        state[0], state[1], state[2] = number, time.monotonic(), time.process_time()
        cases = folder / "case"
        cases.mkdir()
        try:
            module.check(*_case(target, seed, number), cases)
        except Exception:  # noqa: BLE001  (all of them are findings)
            _store(target, seed, number, traceback.format_exc(limit=-6), Path(findings))
        shutil.rmtree(cases)
    state[3] = 1


def _store(target: str, seed: int, number: int, why: str, findings: Path) -> Path:
    ending, data = _case(target, seed, number)
    findings.mkdir(parents=True, exist_ok=True)
    digest = hashlib.sha256(data).hexdigest()[:12]
    path = findings / f"{target}-{digest}.{ending}"
    path.write_bytes(data)
    path.with_name(path.name + ".why").write_text(f"seed {seed}, case {number}\n{why}\n")
    return path
