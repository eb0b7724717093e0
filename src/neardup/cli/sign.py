"""``neardup sign``."""

from __future__ import annotations

import os
from typing import Any

import click

from neardup.cli.options import (
    debug_option,
    input_options,
    paths_of,
    quiet_option,
    source_of,
    spec_options,
    store_options,
)
from neardup.cli.progress import progress

__all__ = ["sign"]


@click.command(no_args_is_help=True)
@click.argument("inputs", metavar="INPUT...", nargs=-1, required=True)
@click.option("--shard", metavar="I/N", default="1/1", show_default=True, help="Do one share of N.")
@input_options
@spec_options
@store_options
@quiet_option
@debug_option
def sign(shard: str, quiet: bool, **options: Any) -> None:
    """Sign the INPUTs into a store, by several machines if need be.

    Each of them calls this with the same options and another --shard, such as 3/8; once all are
    done, neardup dedup --run NAME --store URL -o OUT goes on from there. INPUTs must have the same
    paths, sizes and times everywhere. Called again after a crash, it does what is missing.
    """
    if options["run_"] is None:
        raise click.UsageError("Missing option '--run'.")
    os.environ.setdefault("MIMALLOC_PURGE_DELAY", "100")
    source = source_of(options)
    with progress(quiet) as listener:
        import neardup

        done = neardup.sign_files(
            paths_of(options), **source, shard=neardup.Shard.parse(shard), on_event=listener
        )
    if not quiet:
        click.echo(
            f"signed      {done['documents']:,} documents in {done['parts']} of {done['of']} parts,"
            f" shard {shard} of run {options['run_']}",
            err=True,
        )
