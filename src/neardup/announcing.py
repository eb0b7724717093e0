"""Compiling is announced, since it takes some seconds: once by each process that compiles."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

_NOTE = "compiling kernels, once on this machine (neardup warmup compiles all of them)"

_hearers: list[Callable[[str], None] | None] = []
_announced = False


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
        def on_start(self, event: Any) -> None:
            if event.data["dispatcher"].py_func.__module__.startswith(package):
                announce_compiling()

        def on_end(self, event: Any) -> None:
            pass

    register("numba:compile", Compiling())


def announce_compiling() -> None:
    """Announce that kernels are compiled, unless this process did so before."""
    global _announced
    hear = _hearers[-1] if _hearers else _to_stderr
    if hear is not None and not _announced:
        _announced = True
        hear(_NOTE)


def _to_stderr(note: str) -> None:
    if sys.stderr is not None:
        sys.stderr.write(f"neardup: {note}\n")
