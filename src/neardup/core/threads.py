"""Run kernels over ranges in a pool of threads; the results never depend on how many."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np

from neardup.errors import SpecError

__all__ = ["Pool", "ahead", "available_cores", "check_threads", "scratch"]

A = TypeVar("A")
B = TypeVar("B")


def available_cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def check_threads(threads: int | None) -> None:
    """Refuse a number of threads that is none.

    Raises:
        SpecError: It is less than 1.
    """
    if threads is not None and threads < 1:
        raise SpecError(f"threads is {threads}; expected 1 or more")


class Pool:
    """A pool of threads for kernels that release the GIL.

    Args:
        threads: Number of threads; None for the cores there are.
    """

    def __init__(self, threads: int | None = None) -> None:
        self.threads = threads or available_cores()
        self._executor = ThreadPoolExecutor(self.threads, thread_name_prefix="neardup")

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *error: object) -> None:
        # After an error or Ctrl-C, what has not begun is not waited for.
        self._executor.shutdown(wait=error[0] is None, cancel_futures=True)

    def submit(self, work: Callable[[], A]) -> Future[A]:
        """Call ``work()`` in some thread, soon."""
        return self._executor.submit(work)

    def ranges(
        self, work: Callable[[int, int], Any], total: int, step: int = 4096, first: int = 0
    ) -> list[Any]:
        """Call ``work(low, high)`` on slices of ``range(first, total)``; return results in order.

        Args:
            work: Called from several threads at once.
            total: End of the whole range.
            step: Length of a slice. It must not change what the results amount to.
            first: Begin of the whole range.
        """
        slices = [(low, min(low + step, total)) for low in range(first, total, step)]
        if len(slices) < 2:
            return [work(*s) for s in slices]
        # Also with one thread: the main one has to listen for Ctrl-C.
        return list(self._executor.map(lambda s: work(*s), slices))

    def ordered(
        self, work: Callable[[A], B], items: Iterable[A], ahead: int | None = None
    ) -> Iterator[B]:
        """Yield ``work(item)`` in the order of the items, with few under way at any time.

        Args:
            work: Called in several threads at once.
            items: Taken in this thread.
            ahead: How many are begun before the first of them is asked for; twice the threads.
        """
        ahead = 2 * self.threads if ahead is None else ahead
        waiting: deque[Future[B]] = deque()
        try:
            for item in items:
                waiting.append(self._executor.submit(work, item))
                if len(waiting) > ahead:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


def ahead(items: Iterator[A]) -> Iterator[A]:
    """Yield the items, each made by another thread while the one before it is worked on."""
    end = object()
    with ThreadPoolExecutor(1, thread_name_prefix="neardup-ahead") as executor:
        future: Future[Any] = executor.submit(next, items, end)
        while (item := future.result()) is not end:
            future = executor.submit(next, items, end)
            yield item


class _Scratch(threading.local):
    def __init__(self) -> None:
        self.arrays: dict[tuple[str, Any], np.ndarray] = {}


_scratch = _Scratch()


def scratch(name: str, dtype: Any, size: int) -> np.ndarray:
    """Return this thread's array of that name, uninitialised, ``size`` long.

    Arrays of many MB that are made anew for every batch cost more in page faults than the kernels
    that fill them. The caller must be done with it before it asks for the same name again.
    """
    key = (name, np.dtype(dtype))
    array = _scratch.arrays.get(key)
    if array is None or len(array) < size:
        array = np.empty(max(size, 1024), dtype=dtype)
        _scratch.arrays[key] = array
    return array[:size]
