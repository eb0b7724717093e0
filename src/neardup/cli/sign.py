"""``neardup sign``."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click

from neardup.cli.options import input_options, spec_of, spec_options, storage_of, store_options
from neardup.cli.progress import progress

__all__ = ["sign"]


@click.command(no_args_is_help=True)
@click.argument("inputs", metavar="INPUT...", nargs=-1, required=True)
@click.option("--shard", metavar="I/N", default="1/1", show_default=True, help="Do one share of N.")
@input_options
@spec_options
@store_options
@click.option("--quiet", is_flag=True, help="No progress, no summary.")
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
def sign(
    inputs: tuple[str, ...],
    shard: str,
    text: str,
    id_: str | None,
    input_format: str | None,
    encoding_errors: str,
    store: str,
    design: str,
    memory: str | None,
    part_size: str,
    run_: str | None,
    threads: int | None,
    quiet: bool,
    debug: bool,
    **settings: Any,
) -> None:
    """Sign the INPUTs into a store, so that several machines can share the work.

    Each of them calls this with the same options and another --shard, such as 3/8; once all are
    done, neardup dedup --run NAME --store URL -o OUT goes on from there. INPUTs must have the same
    paths, sizes and times everywhere. Called again after a crash, it does what is missing.
    """
    if run_ is None:
        raise click.UsageError("Missing option '--run'.")
    os.environ.setdefault("MIMALLOC_PURGE_DELAY", "100")
    storage = storage_of(store, design, memory, part_size, run_)
    with progress(quiet) as listener:
        import neardup

        done = neardup.sign_files(
            [Path(i) for i in inputs],
            text=text.split(","),
            id=id_,
            spec=spec_of(settings),
            threads=threads,
            input_format=input_format,
            encoding_errors=encoding_errors,
            storage=storage,
            shard=neardup.Shard.parse(shard),
            on_event=listener,
        )
    if not quiet:
        click.echo(
            f"signed      {done['documents']:,} documents in {done['parts']} of {done['of']} parts,"
            f" shard {shard} of run {run_}",
            err=True,
        )
