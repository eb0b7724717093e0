"""Run one command and measure it: wall time, CPU time, peak memory and disk of its process tree.

    python bench/measure.py REPORT.json [--seconds S] [--bytes B] [--disk FOLDER]... -- COMMAND...

A program of its own, on the standard library alone, because the kernel counts what the parent
had in memory when it forked towards its child's peak.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

INTERVAL = 0.02
DISK_INTERVAL = 0.1
PAGE = os.sysconf("SC_PAGE_SIZE")


def tree(pid: int) -> list[int]:
    """`pid` and all its descendants that are alive."""
    found = [pid]
    for parent in found:
        for task in Path(f"/proc/{parent}/task").glob("*/children"):
            try:
                found += map(int, task.read_text().split())
            except OSError:
                continue
    return found


def memory(pids: list[int]) -> int:
    """Resident bytes; pages that several processes share are counted once."""
    total = 0
    for pid in pids:
        try:
            if len(pids) == 1:
                total += int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE
                continue
            for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
                if line.startswith("Pss:"):
                    total += int(line.split()[1]) * 1024
        except (OSError, IndexError):
            continue
    return total


def anonymous(pids: list[int]) -> int:
    """Resident bytes that belong to no file (`RssAnon`), of all processes together."""
    total = 0
    for pid in pids:
        try:
            for line in Path(f"/proc/{pid}/status").read_text().splitlines():
                if line.startswith("RssAnon:"):
                    total += int(line.split()[1]) * 1024
        except (OSError, IndexError):
            continue
    return total


def disk(folders: list[str]) -> list[int]:
    """Bytes that the files in each folder take on the disk; the first folder holds the others."""
    totals = [0] * len(folders)
    for here, _, names in os.walk(folders[0]):
        inside = [i for i, folder in enumerate(folders) if f"{here}/".startswith(f"{folder}/")]
        for name in names:
            try:
                size = os.stat(f"{here}/{name}").st_blocks * 512  # noqa: PTH116
            except OSError:
                continue
            for i in inside:
                totals[i] += size
    return totals


def free(folder: str) -> int:
    """Free bytes of the file system on which a folder lies, or is to lie."""
    while not Path(folder).exists():
        folder = str(Path(folder).parent)
    found = os.statvfs(folder)
    return found.f_bavail * found.f_frsize


@dataclass
class Peaks:
    """The largest values seen so far, and when the anonymous memory was at its peak."""

    begin: float
    folders: list[str]
    memory: int = 0
    anonymous: int = 0
    anonymous_at: float = 0.0
    disk: list[int] = field(default_factory=list)
    taken: int = 0

    def __post_init__(self) -> None:
        self.disk = [0] * len(self.folders)
        self._free = free(self.folders[0]) if self.folders else 0
        self._next = 0.0

    def look(self, pid: int) -> None:
        now = time.perf_counter()
        pids = tree(pid)
        self.memory = max(self.memory, memory(pids))
        own = anonymous(pids)
        if own > self.anonymous:
            self.anonymous, self.anonymous_at = own, now - self.begin
        if self.folders and now >= self._next:
            self.look_at_disk()

    def look_at_disk(self) -> None:
        if not self.folders:
            return
        begin = time.process_time()
        self.disk = list(map(max, self.disk, disk(self.folders)))
        self.taken = max(self.taken, self._free - free(self.folders[0]))
        pause = 50 * (time.process_time() - begin)
        self._next = time.perf_counter() + min(max(DISK_INTERVAL, pause), 0.5)


def stop(process: subprocess.Popen) -> None:
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def watch(process: subprocess.Popen, peaks: Peaks, seconds: float, limit: int) -> str:
    """Sample until the end. Returns why the process was stopped, if it was.

    To look takes a core a while, all the more where processes share memory: there is a look so
    seldom that it costs at most about a fiftieth of the time. So it is with folders.
    """
    while process.poll() is None:
        now, used = time.perf_counter(), time.process_time()
        peaks.look(process.pid)
        if now - peaks.begin > seconds:
            stop(process)
            return f"not finished in {seconds:.0f} s"
        if peaks.memory > limit:
            stop(process)
            return f"stopped at {peaks.memory / 1e9:.1f} GB of memory"
        pause = max(INTERVAL, 50 * (time.process_time() - used))
        try:
            process.wait(min(pause, 1.0))
        except subprocess.TimeoutExpired:
            continue
    return ""


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("report", type=Path)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--bytes", type=int, default=sys.maxsize)
    parser.add_argument("--disk", action="append", default=[], metavar="FOLDER")
    parser.add_argument("command", nargs="+")
    args = parser.parse_args()
    log = args.report.with_suffix(".log")
    with log.open("wb") as sink:
        load = os.getloadavg()[0]
        begin = time.perf_counter()
        process = subprocess.Popen(
            args.command, stdout=sink, stderr=sink, stdin=subprocess.DEVNULL, start_new_session=True
        )
        peaks = Peaks(begin, args.disk)
        stopped = watch(process, peaks, args.seconds, args.bytes)
        seconds = time.perf_counter() - begin
        peaks.look_at_disk()
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    if process.returncode and not stopped:
        lines = log.read_text(errors="replace").strip().splitlines() or [""]
        reason = lines[-1].replace(f"{Path(__file__).resolve().parents[1]}/", "")
        stopped = f"exit code {process.returncode}: {reason}"[:300]
    report = {
        "seconds": round(seconds, 4),
        "cpu_seconds": round(used.ru_utime + used.ru_stime, 4),
        "peak_bytes": max(peaks.memory, used.ru_maxrss * 1024),
        "anonymous_bytes": peaks.anonymous,
        "anonymous_at": round(peaks.anonymous_at, 2),
        "load_before": load,
        "failed": stopped or None,
    }
    if args.disk:
        report["disk_bytes"] = peaks.disk
        report["disk_taken_bytes"] = peaks.taken
        report["read_bytes"], report["written_bytes"] = used.ru_inblock * 512, used.ru_oublock * 512
    args.report.write_text(json.dumps(report))
    return 0


if __name__ == "__main__":
    sys.exit(main())
