"""Events to lines: a bar on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from neardup.run.events import Event, Listener

__all__ = ["progress"]

#: Seconds between two lines where there is no terminal.
_PAUSE = 10.0


@contextmanager
def progress(quiet: bool) -> Iterator[Listener | None]:
    """Give a listener that shows events on stderr, or None."""
    if quiet or sys.stderr is None:
        yield None
    elif sys.stderr.isatty():
        with _bars() as listener:
            yield listener
    else:
        yield _lines()


@contextmanager
def _bars() -> Iterator[Listener]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

    with Progress(
        TextColumn("{task.description:<18}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f} %"),
        TextColumn("{task.fields[rate]:>16}"),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    ) as bars:
        tasks: dict[str, tuple[TaskID, float]] = {}

        def listen(event: Event) -> None:
            if event.stage not in tasks:
                tasks[event.stage] = (
                    bars.add_task(event.stage, total=event.total, rate=""),
                    time.monotonic(),
                )
            task, start = tasks[event.stage]
            if event.note:
                bars.console.print(f"{event.stage}: {event.note}", highlight=False)
            rate = _rate(event, time.monotonic() - start)
            bars.update(task, completed=event.done, total=event.total, rate=rate)
            if event.finished:
                bars.update(task, visible=False)

        yield listen


def _lines() -> Listener:
    start = last = time.monotonic()

    def listen(event: Event) -> None:
        nonlocal last
        now = time.monotonic()
        if event.note:
            print(f"neardup: {event.note}", file=sys.stderr, flush=True)
        elif now - last >= _PAUSE and event.done:
            share = f" {100 * event.done / event.total:.0f} %" if event.total else ""
            print(
                f"neardup: {event.stage}{share}, {now - start:.0f} s so far",
                file=sys.stderr,
                flush=True,
            )
            last = now

    return listen


def _rate(event: Event, seconds: float) -> str:
    if seconds < 0.1 or not event.done:
        return ""
    if event.unit == "bytes":
        return f"{event.done / seconds / 1e6:,.0f} MB/s"
    return f"{event.done / seconds:,.0f} {event.unit}/s"
