"""``neardup dedup``."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click

from neardup.cli.options import (
    debug_option,
    input_options,
    output_options,
    paths_of,
    quiet_option,
    refuse_settings,
    source_of,
    spec_options,
    store_options,
)
from neardup.cli.progress import progress

__all__ = ["dedup"]


@click.command(no_args_is_help=True)
@click.argument("inputs", metavar="INPUT...", nargs=-1)
@click.option("-o", "--output", "out", metavar="OUT", help="Folder to make.")
@input_options
@spec_options
@store_options
@output_options
@click.option("--resume", is_flag=True, help="Go on with the run in OUT that was interrupted.")
@click.option("--keep-run", is_flag=True, help="Leave OUT/.run and the store as they are.")
@click.option("--plan", "plan_", is_flag=True, help="Say what it would take, and do nothing.")
@quiet_option
@debug_option
def dedup(
    out: str | None,
    format_: str,
    compression: str,
    overwrite: bool,
    plan_: bool,
    quiet: bool,
    **options: Any,
) -> None:
    """Say what repeats what in the INPUTs; write a clean corpus.

    INPUT is a file, a folder, a pattern or - for standard input: JSON lines, Parquet, CSV, TSV,
    Arrow IPC or plain text; the textual ones also as .gz and .zst. A folder of plain text files is
    one document a file, with its path as its id.

    OUT gets clusters.parquet (one row per document: its cluster, whether it is kept, and the kept
    document that it repeats), edges.parquet (verified pairs), clean.FORMAT (the kept documents)
    and run.json (what was done). Until then OUT/.run has what was done so far: after a crash the
    same command with --resume goes on where it was.

    With --run, what neardup sign put into the store is gone on with; no INPUT is needed then.
    """
    paths = paths_of(options)
    if paths is None and options["run_"] is None:
        raise click.UsageError("Missing argument 'INPUT...'.")
    if paths is None:
        refuse_settings("the run in the store has the settings that it was signed with")
    if out is None and not plan_:
        raise click.UsageError("Missing option '-o' / '--output'.")
    # Arrow's allocator gives memory back to the system so eagerly that getting it again costs more
    # than what is done with it; this process uses it again within milliseconds.
    os.environ.setdefault("MIMALLOC_PURGE_DELAY", "100")
    source = source_of(options)
    if plan_ or out is None:
        from neardup.cli.plan import show

        show(paths, source, out)
        return
    from neardup.run.outputs import check_output

    folder = Path(out)
    check_output(folder, format_, overwrite, resume=options["resume"])
    with progress(quiet) as listener:
        import neardup

        record = neardup.dedup_files(
            paths,
            folder,
            **source,
            format=format_,
            compression=compression,
            overwrite=overwrite,
            on_event=listener,
        )
    if not quiet:
        from neardup.report.summary import render

        click.echo(render(record, out, format_), err=True)
