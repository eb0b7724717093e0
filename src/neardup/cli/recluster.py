"""``neardup recluster``."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click

from neardup.cli.options import debug_option, output_options, quiet_option
from neardup.cli.progress import progress
from neardup.spec import CLUSTERINGS

__all__ = ["recluster"]


@click.command(no_args_is_help=True)
@click.argument("run", metavar="RUN")
@click.option("-o", "--output", "out", metavar="OUT", required=True, help="Folder to make.")
@click.option("--edge-threshold", metavar="T", type=float, help="[default: as in RUN]")
@click.option("--tree-threshold", metavar="T", type=float, help="[default: as in RUN]")
@click.option("--cluster", type=click.Choice(CLUSTERINGS), help="[default: as in RUN]")
@click.option("--second-round/--no-second-round", default=None, help="[default: as in RUN]")
@output_options
@click.option(
    "--store",
    metavar="URL",
    default="auto",
    help="Where the band matrix lies, if it needs a user and a password. [default: as in RUN]",
)
@click.option("--memory", metavar="SIZE", help="Such as 4GB. [default: half of what is free]")
@click.option(
    "--threads", metavar="N", type=click.IntRange(1), help="[default: the cores there are]"
)
@click.option("--resume", is_flag=True, help="Go on with the run in OUT that was interrupted.")
@click.option("--keep-run", is_flag=True, help="Leave OUT/.run as it is.")
@quiet_option
@debug_option
def recluster(
    run: str,
    out: str,
    format_: str,
    compression: str,
    overwrite: bool,
    store: str,
    memory: str | None,
    threads: int | None,
    resume: bool,
    keep_run: bool,
    quiet: bool,
    **changes: Any,
) -> None:
    """Cluster a finished RUN otherwise, without signing again.

    RUN is the OUT folder of neardup dedup. Thresholds may be raised, not lowered. The files are
    those of a full run with these settings and the bands of RUN. If RUN was done with --keep-run,
    its band keys, buckets and shingle sets are used; its edges, if it looked at every pair
    (--method allpairs or --pairs all). What is not there is made again from the input, and said.
    """
    os.environ.setdefault("MIMALLOC_PURGE_DELAY", "100")
    changes = {name: value for name, value in changes.items() if value is not None}
    from neardup.run.memory import parse_size
    from neardup.run.storage import Storage

    storage = Storage(
        store=store,
        memory=None if memory is None else parse_size(memory),
        resume=resume,
        keep_run=keep_run,
    )
    with progress(quiet) as listener:
        import neardup

        record = neardup.recluster(
            Path(run),
            Path(out),
            storage=storage,
            threads=threads,
            on_event=listener,
            format=format_,
            compression=compression,
            overwrite=overwrite,
            **changes,
        )
    if not quiet:
        from neardup.report.summary import render

        click.echo(render(record, out, format_), err=True)
