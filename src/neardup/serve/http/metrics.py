"""Numbers for Prometheus: counts, latencies, queue and sizes; never a text or an id.

Each process writes its own files, in a folder that `start` makes known before the library is
loaded; whichever is asked adds them up.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

_FOLDER = "PROMETHEUS_MULTIPROC_DIR"
_SECONDS = (0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.128, 0.256, 0.512, 1, 2, 4, 8, 30)
_DOCUMENTS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048)


def start(folder: Path) -> None:
    """Have this process, and those that it starts, write their numbers into a folder."""
    os.environ[_FOLDER] = str(folder)


class CallMetrics:
    """Numbers of a process that answers."""

    def __init__(self) -> None:
        from prometheus_client import Counter, Gauge, Histogram

        labels = ("call", "status")
        self._calls = Counter("neardup_calls", "Calls that were answered.", labels)
        self._seconds = Histogram(
            "neardup_call_seconds", "Seconds of a call.", ("call",), buckets=_SECONDS
        )
        self._waiting = Gauge(
            "neardup_queue_calls",
            "Calls that wait for the writer.",
            multiprocess_mode="livesum",
        )
        self._known: dict[tuple[str, int], tuple[Any, Any]] = {}

    def answered(self, call: str, status: int, seconds: float) -> None:
        """Count a call."""
        if (call, status) not in self._known:
            self._known[call, status] = (
                self._calls.labels(call, str(status)),
                self._seconds.labels(call),
            )
        count, histogram = self._known[call, status]
        count.inc()
        histogram.observe(seconds)

    def waiting(self, count: int) -> None:
        """Note how many calls wait."""
        self._waiting.set(count)


class WriterMetrics:
    """Numbers of the process that writes."""

    def __init__(self) -> None:
        from prometheus_client import Counter, Histogram

        self._seconds = Histogram(
            "neardup_commit_seconds", "Seconds of a transaction.", buckets=_SECONDS
        )
        self._calls = Histogram(
            "neardup_commit_calls", "Calls of a transaction.", buckets=_DOCUMENTS
        )
        self._failed = Counter("neardup_commit_failures", "Transactions that failed.")

    def committed(self, calls: int, seconds: float) -> None:
        """Count a transaction."""
        self._calls.observe(calls)
        self._seconds.observe(seconds)

    def failed(self) -> None:
        """Count a transaction that failed."""
        self._failed.inc()


def text(sizes: dict[str, int]) -> bytes:
    """Return all numbers as Prometheus reads them.

    Args:
        sizes: Sizes of the index, by name.
    """
    from prometheus_client import CollectorRegistry, generate_latest
    from prometheus_client.multiprocess import MultiProcessCollector

    registry = CollectorRegistry()
    MultiProcessCollector(registry)
    return generate_latest(registry) + _sizes(sizes)


def _sizes(sizes: dict[str, int]) -> bytes:
    lines = []
    for name, value in sizes.items():
        full = f"neardup_index_{name}"
        lines += [f"# HELP {full} {name} of the index.", f"# TYPE {full} gauge", f"{full} {value}"]
    return "".join(line + "\n" for line in lines).encode()


def forget(process: int) -> None:
    """Have a process that has ended no longer counted as one that waits."""
    from prometheus_client.multiprocess import mark_process_dead

    mark_process_dead(process)
