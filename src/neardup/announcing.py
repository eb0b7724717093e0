"""Compiling is announced, since it takes some seconds: once for all kernels in a row."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

_NOTE = "compiling kernels, which happens once and takes some seconds"
#: Seconds without compiling after which it is announced again.
_PAUSE = 5.0

_hearers: list[Callable[[str], None] | None] = []
_last = float("-inf")


@contextmanager
def heard_by(hear: Callable[[str], None] | None) -> Iterator[None]:
    """Give announcements to a function, or to nobody, instead of writing them to stderr."""
    _hearers.append(hear)
    try:
        yield
    finally:
        _hearers.remove(hear)


def listen_to_compiler(package: str) -> None:
    """Announce each function of a package that Numba compiles, and does not load from the disk."""
    from numba.core.event import Listener, register

    class Compiling(Listener):  # type: ignore[misc]
        def on_end(self, event: Any) -> None:
            self.on_start(event, begins=False)

        def on_start(self, event: Any, begins: bool = True) -> None:
            if event.data["dispatcher"].py_func.__module__.startswith(package):
                announce_compiling(begins)

    register("numba:compile", Compiling())


def announce_compiling(begins: bool = True) -> None:
    """Announce that kernels are compiled, unless that was announced just now."""
    global _last
    hear = _hearers[-1] if _hearers else _to_stderr
    if hear is None:
        return
    before, _last = _last, time.monotonic()
    if begins and _last - before > _PAUSE:
        hear(_NOTE)


def _to_stderr(note: str) -> None:
    if sys.stderr is not None:
        sys.stderr.write(f"neardup: {note}\n")
