"""``neardup plan``."""

from __future__ import annotations

import json
import os
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import click

from neardup.cli.options import (
    debug_option,
    input_options,
    paths_of,
    source_of,
    spec_options,
    store_options,
)

__all__ = ["plan", "show"]


@click.command(no_args_is_help=True)
@click.argument("inputs", metavar="INPUT...", nargs=-1, required=True)
@input_options
@spec_options
@store_options
@click.option(
    "-o", "--output", "out", metavar="OUT", help="Where dedup would write: its disk is timed."
)
@click.option("--json", "json_", is_flag=True, help="Print all of it as JSON.")
@debug_option
def plan(out: str | None, json_: bool, **options: Any) -> None:
    """Say what dedup would find, take and cost.

    Some 20,000 documents from all over the INPUTs are looked at, for a few seconds: how many
    documents there are, how long and how similar to each other; the bands that dedup will choose,
    and which pairs these find; memory, disk, and the time of each stage on this machine; and
    warnings, where texts and options do not go together.
    """
    show(paths_of(options), source_of(options), out, json_)


def show(
    paths: list[Path] | None, source: dict[str, Any], out: str | None = None, json_: bool = False
) -> None:
    """Print the plan.

    Args:
        paths, source: As for `neardup.plan`.
        out: Folder to which the run would write.
        json_: As JSON.
    """
    import neardup

    begun = _seconds_since_start()
    found = neardup.plan(paths, out=out, **source)
    if json_:
        click.echo(json.dumps(found, indent=2))
        return
    from neardup.report.plan import render

    click.echo(render(found, begun))


def _seconds_since_start() -> float:
    """Return how long this process has been there: a run takes as long to begin. 0 if unknown."""
    with suppress(OSError, ValueError, IndexError):
        ticks = float(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])
        return max(0.0, time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK"))
    return 0.0
