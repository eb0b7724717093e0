"""Compiling is announced, since it takes some seconds: once by each process that compiles."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

_NOTE = "compiling kernels, once on this machine (neardup warmup compiles all of them)"

_listeners: list[Callable[[str], None] | None] = []
_announced = False


@contextmanager
def announced_to(listener: Callable[[str], None] | None) -> Iterator[None]:
    """Give announcements to a function, or drop them, instead of writing them to stderr."""
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)


def listen_to_compiler(package: str) -> None:
    """Announce each function of a package that Numba compiles, and does not load from the disk."""
    from numba.core.event import Listener, register

    class Compiling(Listener):  # type: ignore[misc]
        def on_start(self, event: Any) -> None:
            if event.data["dispatcher"].py_func.__module__.startswith(package):
                announce_compiling()

        def on_end(self, event: Any) -> None:
            pass

    register("numba:compile", Compiling())


def announce_compiling() -> None:
    """Announce that kernels are compiled, unless this process did so before."""
    global _announced
    listener = _listeners[-1] if _listeners else _to_stderr
    if listener is not None and not _announced:
        _announced = True
        listener(_NOTE)


def _to_stderr(note: str) -> None:
    if sys.stderr is not None:
        sys.stderr.write(f"neardup: {note}\n")
