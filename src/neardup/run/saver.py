"""A thread that makes the steps of a run safe, so that the run need not wait for the disk."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable

__all__ = ["Saver"]


class Saver:
    """Does things in order in a thread of its own, then has the manifest written.

    Args:
        commit: Writes the manifest.
    """

    def __init__(self, commit: Callable[[], None]) -> None:
        self._commit = commit
        self._queue: queue.Queue[Callable[[], None] | None] = queue.Queue()
        self._error: BaseException | None = None
        self._thread: threading.Thread | None = None

    def put(self, work: Callable[[], None]) -> None:
        """Have it done once what came before is done: so much, at most, is lost in a crash."""
        self.wait()
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="neardup-folder", daemon=True)
            self._thread.start()
        self._queue.put(work)

    def wait(self) -> None:
        self._queue.join()
        self._check()

    def stop(self) -> None:
        if self._thread is not None:
            self._queue.put(None)
            self._thread.join()
            self._thread = None

    def _check(self) -> None:
        # What follows a step that failed must never be noted, so the error stays.
        if self._error is not None:
            raise self._error

    def _run(self) -> None:
        while (work := self._queue.get()) is not None:
            try:
                if self._error is None:
                    work()
                    self._commit()
            except BaseException as error:
                self._error = error
            finally:
                self._queue.task_done()
        self._queue.task_done()
