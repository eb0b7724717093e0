"""The command ``neardup synth``."""

from __future__ import annotations

import math
import sys
import time
from pathlib import Path
from typing import Any

import click

from neardup.cli.options import debug_option, quiet_option

__all__ = ["synth"]


class _Range(click.ParamType):
    """``LOW:HIGH``, two numbers of one type."""

    name = "LOW:HIGH"

    def __init__(self, number: type[int] | type[float]) -> None:
        self._number = number

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not isinstance(value, str):
            return value
        low, _, high = value.partition(":")
        try:
            return self._number(low), self._number(high)
        except ValueError:
            self.fail(f"{value!r} is not LOW:HIGH, two numbers", param, ctx)


@click.command(context_settings={"show_default": True})
@click.option("-n", "--documents", type=int, required=True, metavar="N", help="Number of notes.")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    required=True,
    help="Notes: .jsonl, .jsonl.gz, .jsonl.zst or .parquet, by ending.",
)
@click.option(
    "--truth",
    type=click.Path(path_type=Path),
    show_default="OUTPUT's stem + .truth.parquet",
    help="What each note was made from, and how; endings as for --output.",
)
@click.option("--seed", type=int, default=0, help="Another seed, another corpus.")
@click.option(
    "--near", type=float, default=0.2, metavar="SHARE", help="Share of near-duplicates of notes."
)
@click.option(
    "--exact", type=float, default=0.1, metavar="SHARE", help="Share of exact copies of notes."
)
@click.option(
    "--changed",
    type=_Range(float),
    default="0:0.2",
    help="Share of its source's words that a near-duplicate changes.",
)
@click.option(
    "--family",
    type=int,
    multiple=True,
    metavar="SIZE",
    show_default="one of N // 20 notes",
    help="Notes of a template family: 200 words of boilerplate and 20 slots. Repeat for more "
    "families; 0 for none.",
)
@click.option(
    "--family-values",
    type=int,
    default=1000,
    metavar="K",
    help="Values of a slot, the r-th with weight 1/r. With 1000 two members differ in nearly "
    "all slots; with 2 they agree in 5 of 9, around Jaccard 0.7 of 5-word shingles.",
)
@click.option(
    "--words",
    type=_Range(int),
    default="50:800",
    help="Words of a note that is not of a family; the mean is at a third of the range.",
)
@click.option(
    "--vocabulary", type=int, default=50_000, metavar="N", help="Different words, Zipf-distributed."
)
@click.option(
    "--threads",
    type=int,
    metavar="N",
    show_default="all processors",
    help="Threads; the notes don't depend on it.",
)
@click.option("--overwrite", is_flag=True, help="Replace files that exist.")
@quiet_option
@debug_option
def synth(
    output: Path,
    truth: Path | None,
    threads: int | None,
    overwrite: bool,
    quiet: bool,
    family: tuple[int, ...],
    **fields: Any,
) -> None:
    """Make texts like clinical notes, and the truth about them.

    Near-duplicates and exact copies are made from notes before them, at random places; families
    are spread at random. Equal options give equal notes.
    """
    from neardup.synth import SynthSpec, write

    sizes = tuple(size for size in family if size != 0) if family else None
    spec = SynthSpec(family=sizes, **fields)
    progress = _Progress(spec.documents, shown=not quiet and sys.stderr.isatty())
    with progress:
        written = write(spec, output, truth, overwrite, threads, progress.update)
    if not quiet:
        counts = ", ".join(f"{count:,} {kind}" for kind, count in spec.counts.items())
        speed = written.bytes / 1e6 / progress.seconds
        click.echo(
            f"{written.documents:,} notes ({counts}), {written.bytes / 1e6:,.1f} MB in "
            f"{progress.seconds:.1f} s ({speed:,.0f} MB/s)\n"
            f"notes: {written.output}\ntruth: {written.truth}",
            err=True,
        )


class _Progress:
    """A bar on stderr if ``shown``, and the time since the beginning in any case."""

    def __init__(self, documents: int, shown: bool) -> None:
        self._begin = time.perf_counter()
        self._end = math.nan
        self._documents = documents
        self._bar: Any = None
        self._task: Any = None
        if shown:
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

            columns = ("notes", BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
            self._bar = Progress(*columns, console=Console(stderr=True), transient=True)

    def __enter__(self) -> _Progress:
        if self._bar is not None:
            self._bar.start()
            self._task = self._bar.add_task("notes", total=self._documents)
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()
        self._end = time.perf_counter()

    def update(self, documents: int, _size: int) -> None:
        if self._bar is not None:
            self._bar.update(self._task, completed=documents)

    @property
    def seconds(self) -> float:
        return self._end - self._begin
