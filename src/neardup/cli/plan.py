"""``neardup plan``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from neardup.cli.options import input_options, spec_of, spec_options, storage_of, store_options

__all__ = ["plan", "show"]


@click.command(no_args_is_help=True)
@click.argument("inputs", metavar="INPUT...", nargs=-1, required=True)
@input_options
@spec_options
@store_options
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
def plan(
    inputs: tuple[str, ...],
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
    debug: bool,
    **settings: Any,
) -> None:
    """Say what neardup dedup with the same options would take: memory, disk and passes.

    Only the first documents are read, so that most figures are estimates.
    """
    show(
        [Path(i) for i in inputs],
        {
            "text": text.split(","),
            "id": id_,
            "spec": spec_of(settings),
            "threads": threads,
            "input_format": input_format,
            "encoding_errors": encoding_errors,
            "storage": storage_of(store, design, memory, part_size, run_),
        },
    )


def show(paths: list[Path] | None, source: dict[str, Any]) -> None:
    """Print the plan."""
    import neardup
    from neardup.report.plan import render

    click.echo(render(neardup.plan(paths, **source)))
