"""Progress of a run: a bar on a terminal or in a notebook, a line now and then elsewhere."""

from __future__ import annotations

import html
import sys
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from typing import Any

from neardup.announcing import announced_to
from neardup.deduplication.clock import Event, Listener
from neardup.errors import SpecError, spelled
from neardup.options.option_groups import Progress
from neardup.tuning import TUNING

#: Seconds between two lines where there is no terminal, and between two states of a bar.
_PAUSE, _REFRESH = 10.0, 0.2


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
        hear = None if listener is None else lambda note: listener(Event("compile", note=note))
        with announced_to(hear):
            yield listener


def _shown(progress: Progress) -> AbstractContextManager[Listener | None]:
    if callable(progress):
        return nullcontext(progress)
    if not isinstance(progress, bool | None) and str(progress) != "auto":
        given = f"`progress` is {spelled(progress)}"
        raise SpecError(f"{given}; expected 'auto', True, False or a function")
    if not progress or sys.stderr is None:
        return nullcontext()
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    if shell is not None and "IPKernelApp" in getattr(shell, "config", {}):
        return _notebook_bar()
    if sys.stderr.isatty():
        return _bars()
    return nullcontext(_lines(("compile",) if progress == "auto" else None))


@contextmanager
def _notebook_bar() -> Iterator[Listener]:
    """Show a bar until all is done; it needs no widgets. Short work shows none."""
    from IPython.display import HTML, display

    shown: Any = None
    last, note = time.monotonic(), ""

    def listen(event: Event) -> None:
        nonlocal last, note, shown
        now, note = time.monotonic(), event.note or note
        if now - last < (_REFRESH if shown else TUNING.bar_after) and not event.note:
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
    """Show bars from the first event on: many calls have none."""
    with ExitStack() as shown:
        bars: Any = None
        tasks: dict[str, Any] = {}

        def listen(event: Event) -> None:
            nonlocal bars
            if bars is None:
                from rich.console import Console
                from rich.progress import Progress

                bars = shown.enter_context(Progress(console=Console(stderr=True), transient=True))
            if event.note:  # which says nothing of how far the stage is
                bars.console.print(f"{event.stage}: {event.note}", highlight=False, markup=False)
                return
            if event.stage not in tasks:
                tasks[event.stage] = bars.add_task(event.stage, total=event.total)
            done, total, visible = event.done, event.total, not event.finished
            bars.update(tasks[event.stage], completed=done, total=total, visible=visible)

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
