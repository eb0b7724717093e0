"""Run one command and measure it: wall time, CPU time and peak memory of its process tree.

    python bench/measure.py REPORT.json [--seconds S] [--bytes B] -- COMMAND...

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
from pathlib import Path

INTERVAL = 0.02
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


def stop(process: subprocess.Popen) -> None:
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def watch(process: subprocess.Popen, begin: float, seconds: float, limit: int) -> tuple[int, str]:
    """Sample until the end. Returns the peak, and why the process was stopped, if it was.

    Memory shared between processes takes the kernel a while to add up: trees of several are
    sampled so seldom that it costs at most about a fiftieth of the time.
    """
    peak = 0
    while process.poll() is None:
        now = time.perf_counter()
        peak = max(peak, memory(tree(process.pid)))
        if now - begin > seconds:
            stop(process)
            return peak, f"not finished in {seconds:.0f} s"
        if peak > limit:
            stop(process)
            return peak, f"stopped at {peak / 1e9:.1f} GB of memory"
        pause = max(INTERVAL, 50 * (time.perf_counter() - now))
        try:
            process.wait(min(pause, 1.0))
        except subprocess.TimeoutExpired:
            continue
    return peak, ""


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("report", type=Path)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--bytes", type=int, default=sys.maxsize)
    parser.add_argument("command", nargs="+")
    args = parser.parse_args()
    log = args.report.with_suffix(".log")
    with log.open("wb") as sink:
        load = os.getloadavg()[0]
        begin = time.perf_counter()
        process = subprocess.Popen(
            args.command, stdout=sink, stderr=sink, stdin=subprocess.DEVNULL, start_new_session=True
        )
        peak, stopped = watch(process, begin, args.seconds, args.bytes)
        seconds = time.perf_counter() - begin
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    if process.returncode and not stopped:
        lines = log.read_text(errors="replace").strip().splitlines() or [""]
        reason = lines[-1].replace(f"{Path(__file__).resolve().parents[1]}/", "")
        stopped = f"exit code {process.returncode}: {reason}"[:300]
    report = {
        "seconds": round(seconds, 4),
        "cpu_seconds": round(used.ru_utime + used.ru_stime, 4),
        "peak_bytes": max(peak, used.ru_maxrss * 1024),
        "load_before": load,
        "failed": stopped or None,
    }
    args.report.write_text(json.dumps(report))
    return 0


if __name__ == "__main__":
    sys.exit(main())
