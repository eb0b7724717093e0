"""``neardup audit``."""

from __future__ import annotations

import json
from pathlib import Path

import click

from neardup.cli.options import debug_option, quiet_notes_option
from neardup.cli.plots import check_plot, plot_option
from neardup.cli.progress import progress

__all__ = ["audit"]


@click.command(no_args_is_help=True)
@click.argument("run", metavar="RUN", type=click.Path(path_type=Path))
@click.option(
    "--sample",
    type=int,
    default=1000,
    show_default=True,
    metavar="N",
    help="Documents whose partners are searched for.",
)
@click.option(
    "--seed", type=int, default=0, show_default=True, help="Another seed, another sample."
)
@click.option(
    "--memory",
    metavar="SIZE",
    help="Memory that may be used, such as 4GB. [default: half of what is free]",
)
@click.option(
    "--threads", metavar="N", type=click.IntRange(1), help="[default: the cores there are]"
)
@click.option("--json", "json_", is_flag=True, help="Print all figures as JSON.")
@plot_option("the S-curve, predicted and observed")
@quiet_notes_option
@debug_option
def audit(
    run: Path,
    sample: int,
    seed: int,
    memory: str | None,
    threads: int | None,
    json_: bool,
    plot: Path | None,
    quiet: bool,
) -> None:
    """Measure what a run missed, on your own data.

    RUN is the folder that neardup dedup made. Documents are drawn at random, and all their
    partners, that is other documents with an exact similarity of at least the edge threshold, are
    searched for in the whole corpus, which is read again. What comes out: recall with its 95 %
    interval, the pairs that were missed, the S-curve predicted and observed, and whether each
    removed document has a kept one that is near enough. RUN/audit.json keeps it for neardup report.
    """
    import neardup
    from neardup.run.memory import parse_size

    room = None if memory is None else parse_size(memory)
    check_plot(plot, run)
    with progress(quiet) as listener:
        found = neardup.audit(
            run, sample, seed, memory=room, threads=threads, on_event=listener
        ).as_dict()
    from neardup.report.audit import chart, render

    if plot is not None:
        from neardup.report.figures import save

        save(chart(found), plot)
    click.echo(json.dumps(found, indent=2) if json_ else render(found))
