"""Run kernels over ranges in a pool of threads; the results never depend on how many."""

import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from neardup.errors import SpecError, spelled

A = TypeVar("A")
B = TypeVar("B")

if TYPE_CHECKING:
    import numpy as np

#: Values of an array that are computed together.
_PART = 1 << 16


def available_cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def check_threads(threads: int | None) -> None:
    """Raise `SpecError` unless it is a number of threads, or None."""
    if threads is not None and (type(threads) is not int or threads < 1):
        raise SpecError(f"`threads` is {spelled(threads)}; expected an integer, 1 or more")


class Local(Generic[A]):
    """A value for each thread that asks for it, which ``make()`` makes."""

    def __init__(self, make: Callable[[], A]) -> None:
        self._make = make
        self._local = threading.local()
        self._lock = threading.Lock()
        #: The values of all threads so far.
        self.all: list[A] = []

    def __call__(self) -> A:
        if not hasattr(self._local, "value"):
            self._local.value = self._make()
            with self._lock:
                self.all.append(self._local.value)
        return self._local.value  # type: ignore[no-any-return]


def in_threads(work: Callable[[A], B], items: Iterable[A], threads: int) -> Iterator[B]:
    """Yield ``work(item)`` in order; after an error, calls that have begun are waited for."""
    with ThreadPoolExecutor(threads) as executor:
        futures = [executor.submit(work, item) for item in items]
        try:
            for future in futures:
                yield future.result()
        finally:
            for future in futures:
                future.cancel()


class FairLock:
    """A lock that its owner can take again, and that goes to a thread that waits for it.

    The locks of `threading` may go back to the thread that has just released them, again and again.
    """

    def __init__(self) -> None:
        self._next, self._lock = threading.Lock(), threading.Lock()
        self._owner = self._depth = 0

    def acquire(self, timeout: float = -1) -> bool:
        """Take it; return False if that takes more than ``timeout`` seconds, -1 for no limit."""
        me = threading.get_ident()
        if self._owner != me:
            timeout = min(timeout, threading.TIMEOUT_MAX)
            end = time.monotonic() + timeout
            if not self._next.acquire(timeout=timeout):
                return False
            try:  # who releases the lock has to wait for this one before it takes it again
                left = -1 if timeout < 0 else max(0.0, end - time.monotonic())
                if not self._lock.acquire(timeout=left):
                    return False
            finally:
                self._next.release()
            self._owner = me
        self._depth += 1
        return True

    def release(self) -> None:
        """Give it back, as often as it was taken."""
        self._depth -= 1
        if not self._depth:
            self._owner = 0
            self._lock.release()


@contextmanager
def not_timed(
    name: str, total: int | None = None, unit: str = "documents"
) -> Iterator[Callable[[int], None]]:
    """Begin a stage that no clock times."""
    yield lambda more: None


class Pool:
    """A pool of threads, all cores by default, for kernels that release the GIL.

    ``empty`` makes the large arrays that they fill, as `numpy.empty` or `Scratch.empty` do.
    ``stage`` times a stage of their work, as `Clock.stage` does.
    """

    def __init__(
        self,
        threads: int | None = None,
        empty: Callable[..., Any] | None = None,
        stage: Callable[..., AbstractContextManager[Callable[[int], None]]] = not_timed,
    ) -> None:
        self.threads, self.stage = threads or available_cores(), stage
        if empty is None:
            import numpy

            empty = numpy.empty
        self.empty = empty
        #: Whether an item of `ordered` takes so much memory that no other is worked on meanwhile.
        self.is_large: Callable[[object], bool] = lambda item: False
        self._begin()

    def _begin(self) -> None:
        self._pid = os.getpid()
        self._pool = ThreadPoolExecutor(self.threads, thread_name_prefix="neardup")

    @property
    def _executor(self) -> ThreadPoolExecutor:
        if self._pid != os.getpid():  # a fork has no threads of its parent
            self._begin()
        return self._pool

    def __enter__(self) -> "Pool":
        return self

    def __exit__(self, *error: object) -> None:
        # After an error or Ctrl-C, calls that have not begun are not waited for.
        self._executor.shutdown(wait=error[0] is None, cancel_futures=True)

    def submit(self, work: Callable[[], A]) -> Future[A]:
        return self._executor.submit(work)

    def ranges(
        self, work: Callable[[int, int], A], total: int, step: int = 4096, first: int = 0
    ) -> list[A]:
        """Call ``work(low, high)`` on slices of ``range(first, total)``; return results in order.

        The step must not change the combined result.
        """
        slices = [(low, min(low + step, total)) for low in range(first, total, step)]
        if len(slices) < 2:
            return [work(*s) for s in slices]
        # Also with one thread: the main one has to react to Ctrl-C.
        return list(self._executor.map(lambda s: work(*s), slices))

    def filled(
        self, work: Callable[[int, int], Any], total: int, dtype: Any = "f8"
    ) -> "np.ndarray":
        """Return an array of ``total`` values: ``work(low, high)`` returns those of a range."""
        out: np.ndarray = self.empty(total, dtype)

        def part(low: int, high: int) -> None:
            out[low:high] = work(low, high)

        self.ranges(part, total, _PART)
        return out

    def ordered(self, work: Callable[[A], B], items: Iterable[A], most: int = 0) -> Iterator[B]:
        """Yield ``work(item)`` in the order of the items, which are taken in this thread.

        At most ``most`` items are begun and not yet yielded; 0 for one more than twice the threads.
        """
        most = most or 2 * self.threads + 1
        waiting: deque[Future[B]] = deque()
        try:
            for item in items:
                is_large = self.is_large(item)
                if is_large:
                    wait(waiting)
                waiting.append(self._executor.submit(work, item))
                if is_large:
                    wait(waiting)
                if len(waiting) >= most:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()
