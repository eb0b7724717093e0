"""What a run tells its caller while it works. The library emits; only the CLI prints."""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from neardup.run.memory import AnonymousPeak

__all__ = ["Event", "Listener", "Stages", "peak_memory"]


@dataclass(frozen=True, slots=True)
class Event:
    """How far a stage is.

    Attributes:
        stage: Name of the stage.
        done, total: In ``unit``; ``total`` is None where it is not known.
        unit: ``"bytes"``, ``"documents"`` or ``"bands"``.
        finished: The stage is over.
        note: What a person should know besides, in a few words.
    """

    stage: str
    done: int = 0
    total: int | None = None
    unit: str = "documents"
    finished: bool = False
    note: str = ""


Listener = Callable[[Event], None]


def peak_memory() -> int:
    """Return the largest resident memory of this process so far, in bytes."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


@dataclass
class Stages:
    """Clock and mouthpiece of a run.

    Attributes:
        listener: Called with each event; None for silence.
        seconds: Wall seconds by stage.
        sizes: Bytes that a stage read or wrote, where it did.
        memory: What watches the memory; None where nothing does.
    """

    listener: Listener | None = None
    seconds: dict[str, float] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)
    memory: AnonymousPeak | None = None

    def emit(self, event: Event) -> None:
        if self.listener is not None:
            self.listener(event)

    @contextmanager
    def stage(
        self, name: str, total: int | None = None, unit: str = "documents"
    ) -> Iterator[Callable[[int], None]]:
        """Time a stage; the value given is called with what was done since the last call."""
        start = time.perf_counter()
        done = 0

        def advance(more: int) -> None:
            nonlocal done
            done += more
            self.emit(Event(name, done, total, unit))

        self.emit(Event(name, 0, total, unit))
        memory = self.memory
        if memory is not None:
            memory.begin(name)
        yield advance
        self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - start
        if memory is not None:
            memory.end(name)
        self.emit(Event(name, done, total, unit, finished=True))
