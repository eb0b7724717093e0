"""The option ``--plot`` of several commands."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

import click

__all__ = ["check_plot", "hush_matplotlib", "plot_option"]

F = TypeVar("F", bound=Callable[..., Any])


def plot_option(what: str) -> Callable[[F], F]:
    """``--plot FILE``, as the parameter ``plot``.

    Args:
        what: What is drawn, for the help.
    """
    return click.option(
        "--plot",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help=f"Draw {what}, to .svg, .png or .html.",
    )


def check_plot(plot: Path | None, run: Path | None = None, inputs: Iterable[Path] = ()) -> None:
    """Refuse, before any work, what can't or must not be written.

    Args:
        plot: What was given.
        run: The run that is drawn, whose inputs stay.
        inputs: Other files that stay.

    Raises:
        SpecError: Another ending.
        OutputError: As for `neardup.report.outfile.check_file`.
        InputError: There is no finished run.
    """
    if plot is None:
        return
    hush_matplotlib()
    from neardup.report.figures import check_path

    of_run: list[Path] = []
    if run is not None:
        from neardup.run.finished import FinishedRun

        of_run = FinishedRun(run).inputs
    check_path(plot, [*inputs, *of_run])


def hush_matplotlib() -> None:
    """Let a command print lines of its own only, not those about Matplotlib's caches."""
    logging.getLogger("matplotlib").setLevel(logging.ERROR)
