"""``neardup report``."""

from __future__ import annotations

from pathlib import Path

import click

from neardup.cli.options import debug_option, quiet_option
from neardup.cli.plots import hush_matplotlib
from neardup.cli.progress import progress

__all__ = ["report"]


@click.command(no_args_is_help=True)
@click.argument("run", metavar="RUN", type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--output",
    "out",
    metavar="FILE",
    required=True,
    type=click.Path(path_type=Path),
    help="Page to make, such as report.html.",
)
@click.option("--no-text", is_flag=True, help="Leave all texts out; ids stay.")
@click.option(
    "--max-clusters",
    metavar="N",
    type=click.IntRange(0),
    help="Clusters listed at most: half of them the largest, half the most suspicious. The file "
    "has some 4 kB for each. [default: 1000]",
)
@click.option("--overwrite", is_flag=True, help="Replace FILE if it exists.")
@click.option(
    "--threads", metavar="N", type=click.IntRange(1), help="[default: the cores there are]"
)
@quiet_option
@debug_option
def report(
    run: Path,
    out: Path,
    no_text: bool,
    max_clusters: int | None,
    overwrite: bool,
    threads: int | None,
    quiet: bool,
) -> None:
    """Write what a run did and found as one page for any browser.

    RUN is the OUT folder of neardup dedup. The page needs no network and no server: what was done,
    in words; what came out; figures; and the clusters, to be searched, sorted and opened, with what
    their documents share and any two texts side by side. Texts are read from the input again, which
    must not have changed. An audit that was done before (neardup audit RUN) is shown too.
    """
    hush_matplotlib()
    from neardup.report.numbers import size
    from neardup.report.page import MAX_CLUSTERS, write_report

    with progress(quiet) as listener:
        made = write_report(
            run,
            out,
            texts=not no_text,
            max_clusters=MAX_CLUSTERS if max_clusters is None else max_clusters,
            overwrite=overwrite,
            threads=threads,
            on_event=listener,
        )
    if not quiet:
        click.echo(
            f"written     {out}: {size(made['bytes'])}, {made['clusters']:,} of "
            f"{made['of_clusters']:,} clusters, {made['texts']:,} texts",
            err=True,
        )
