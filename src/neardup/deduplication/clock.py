"""Progress of a run, and the time of each stage; only the command line prints."""

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from neardup.tuning import TUNING


@dataclass(frozen=True, slots=True)
class Event:
    """How far a stage is.

    Attributes:
        stage: Name of the stage.
        done: How much is done, in ``unit``.
        total: How much there is to do; None where that is not known.
        unit: Of both, such as ``"bytes"``, ``"documents"``, ``"records"`` or ``"pairs"``.
        finished: The stage is over.
        note: A remark for the user, in a few words.
    """

    stage: str
    done: int = 0
    total: int | None = None
    unit: str = "documents"
    finished: bool = False
    note: str = ""


Listener = Callable[[Event], None]


def process_start() -> float:
    """Return when this process was started, on the clock of `time.monotonic`, in seconds."""
    now = time.monotonic()
    if sys.platform == "linux":
        with suppress(OSError, ValueError, IndexError):
            import os

            # Field 22, counted from after the name, which may contain spaces and parentheses.
            fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
            started = int(fields[19]) / os.sysconf("SC_CLK_TCK")
            return now - (time.clock_gettime(time.CLOCK_BOOTTIME) - started)
    import psutil

    return now - (time.time() - psutil.Process().create_time())


@dataclass
class Clock:
    """Assigns every moment to one stage: the times of the stages add up to the total."""

    listener: Listener | None = None  # called from the thread that runs
    begin: float = field(default_factory=time.monotonic)
    #: Wall seconds by stage; time between stages is counted as ``other``.
    seconds: dict[str, float] = field(default_factory=dict)
    #: Bytes that a stage read or wrote, where it did.
    sizes: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._last, self._in_stage = self.begin, False

    def lap(self, name: str) -> None:
        """Give the time since the last lap to a stage."""
        now = time.monotonic()
        self.seconds[name] = self.seconds.get(name, 0.0) + now - self._last
        self._last = now

    def emit(self, event: Event) -> None:
        if self.listener is not None:
            self.listener(event)

    def tell(self, stage: str, notes: Iterable[str]) -> None:
        """Pass notes on to who listens."""
        for note in notes:
            self.emit(Event(stage, note=note))

    @contextmanager
    def stage(
        self, name: str, total: int | None = None, unit: str = "documents"
    ) -> Iterator[Callable[[int], None]]:
        """Time a stage; yields a function to call with the work done since its last call.

        A stage whose work is not counted is done at its end. One within another belongs to that.
        """
        if self._in_stage:
            yield lambda more: None
            return
        self.lap("other")
        self._in_stage, done = True, 0

        def advance(more: int) -> None:
            nonlocal done
            done += more
            self.emit(Event(name, done, total, unit))

        self.emit(Event(name, 0, total, unit))
        try:
            yield advance
        finally:
            self._in_stage = False
        self.lap(name)
        self.emit(Event(name, done or total or 0, total, unit, finished=True))


@dataclass
class Watch:
    """Passes on how far comparing is, and says once why it will take long."""

    clock: Clock
    stage: str  # ``pairs`` or ``resolve``
    largest: int  # documents of the largest bucket
    documents: int
    advance: Callable[[int], None]
    done: int = 0
    said: bool = False
    begin: float = field(default_factory=time.monotonic)

    def __call__(self, documents: int, pairs: int) -> None:
        self.done += documents
        self.advance(documents)
        passed = time.monotonic() - self.begin
        if self.said or passed < TUNING.estimate_after:
            return
        # In a family that is kept, each document is compared with more than the one before it.
        estimate = passed * (self.documents / self.done) ** 2
        if estimate > TUNING.long_run:
            self.said = True
            note = (
                f"this may take {estimate / 60:,.0f} minutes: {self.largest:,} documents share a "
                f"bucket, and {pairs:,} pairs were compared so far"
            )
            if self.stage == "resolve":  # where pairs are listed it does not
                note += "; `max_bucket` limits that"
            self.clock.emit(Event(self.stage, self.done, self.documents, note=note))
