"""Progress of a run: a bar on a terminal or in a notebook, a line now and then elsewhere."""

from __future__ import annotations

import html
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from neardup.announcing import heard_by
from neardup.engines.clock import Event, Listener
from neardup.errors import SpecError

#: What callers may ask for: ``"auto"``, yes, no, or a function that gets each event.
Progress = bool | str | Listener | None

#: Seconds between two lines where there is no terminal, and between two states of a bar.
_PAUSE, _REFRESH = 10.0, 0.2
_SOON = 1.0  # seconds after which a notebook shows a bar


@contextmanager
def show_progress(progress: Progress) -> Iterator[Listener | None]:
    """Give a listener that shows events on stderr or in a notebook, or None.

    Args:
        progress: ``"auto"`` shows bars on a terminal and in a notebook, and elsewhere only that
            kernels are compiled; True shows at least lines; False shows nothing; a function is
            called with each event.

    Raises:
        SpecError: Another value.
    """
    with _shown(progress) as listener:
        if listener is None:
            with heard_by(None):
                yield None
            return
        with heard_by(lambda note: listener(Event("compile", note=note))):
            yield listener


@contextmanager
def _shown(progress: Progress) -> Iterator[Listener | None]:
    if callable(progress):
        yield progress
        return
    if progress not in ("auto", True, False, None):
        raise SpecError(f"`progress` is {progress!r}; expected 'auto', True, False or a function")
    if not progress or sys.stderr is None:
        yield None
    elif _in_notebook():
        with _notebook_bar() as listener:
            yield listener
    elif sys.stderr.isatty():
        with _bars() as listener:
            yield listener
    else:
        yield _lines(("compile",) if progress == "auto" else None)


def _in_notebook() -> bool:
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return shell is not None and "IPKernelApp" in getattr(shell, "config", {})


@contextmanager
def _notebook_bar() -> Iterator[Listener]:
    """Show a bar that goes when all is done; it needs no widgets. What is done soon shows none."""
    from IPython.display import HTML, display

    shown: Any = None
    last, note = time.monotonic(), ""

    def listen(event: Event) -> None:
        nonlocal last, note, shown
        now, note = time.monotonic(), event.note or note
        if now - last < (_REFRESH if shown else _SOON) and not event.note:
            return
        last = now
        share = f' value="{event.done / event.total:.3f}"' if event.total else ""
        line = f"<progress{share}></progress> {html.escape(event.stage)}"
        bar = HTML(f"<div>{line} <small>{html.escape(note)}</small></div>")
        shown = shown or display(HTML(""), display_id=True)
        shown.update(bar)

    try:
        yield listen
    finally:
        if shown:
            shown.update(HTML(""))


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
                task = bars.add_task(event.stage, total=event.total, rate="")
                tasks[event.stage] = task, time.monotonic()
            task, start = tasks[event.stage]
            if event.note:
                bars.console.print(f"{event.stage}: {event.note}", highlight=False)
            rate = _rate(event, time.monotonic() - start)
            bars.update(task, completed=event.done, total=event.total, rate=rate)
            if event.finished:
                bars.update(task, visible=False)

        yield listen


def _lines(stages: tuple[str, ...] | None) -> Listener:
    """Write notes, those of some stages only or else of all, and how far the run is."""
    start = last = time.monotonic()

    def listen(event: Event) -> None:
        nonlocal last
        if stages is not None and event.stage not in stages:
            return
        now, line = time.monotonic(), event.note
        if not line and event.done and now - last >= _PAUSE:
            share = f" {100 * event.done / event.total:.0f} %" if event.total else ""
            line, last = f"{event.stage}{share}, {now - start:.0f} s so far", now
        if line:
            sys.stderr.write(f"neardup: {line}\n")
            sys.stderr.flush()

    return listen


def _rate(event: Event, seconds: float) -> str:
    if seconds < 0.1 or not event.done:
        return ""
    if event.unit == "bytes":
        return f"{event.done / seconds / 1e6:,.0f} MB/s"
    return f"{event.done / seconds:,.0f} {event.unit}/s"
