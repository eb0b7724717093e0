"""``neardup tune``."""

from __future__ import annotations

import json
from pathlib import Path

import click

from neardup.cli.options import debug_option
from neardup.cli.plots import check_plot, plot_option
from neardup.errors import SpecError

__all__ = ["tune"]


@click.command(no_args_is_help=True)
@click.option(
    "--at",
    "points",
    multiple=True,
    metavar="SIMILARITY:PROBABILITY",
    help="A point asked for, such as 0.5:0.99; repeat for more. From probability 0.5 on it is to "
    "be reached, below it is not to be exceeded.",
)
@click.option(
    "--num-hashes",
    type=int,
    metavar="N",
    help="Length of the signature; bands times rows is at most that. [default: 128]",
)
@click.option(
    "--bands", multiple=True, type=int, metavar="B", help="Look at these bands; needs --rows."
)
@click.option(
    "--rows",
    multiple=True,
    type=int,
    metavar="R",
    help="Rows of these bands. Repeat both to compare several.",
)
@click.option("--all", "all_", is_flag=True, help="Show all lines, not only the first ten.")
@click.option("--json", "json_", is_flag=True, help="Print all choices as JSON.")
@plot_option("the curves of the first choices")
@debug_option
def tune(
    points: tuple[str, ...],
    num_hashes: int | None,
    bands: tuple[int, ...],
    rows: tuple[int, ...],
    all_: bool,
    json_: bool,
    plot: Path | None,
) -> None:
    """Find bands and rows for points of the S-curve.

    Pairs of similarity s become candidates with probability 1 - (1 - s^rows)^bands. All bands and
    rows that satisfy the points are shown, the cheapest first; if there are none, the whole
    signature is cut into bands, those first that come nearest to the points, and what they miss is
    marked. Of each: the similarities found with probability 0.1 %, 50 % and 99 %, and the one at
    which the curve is steepest.
    """
    if len(bands) != len(rows):
        raise SpecError("bands and rows must be given together", "give both, equally often")
    if bands and num_hashes is not None:
        raise SpecError("--num-hashes is given with --bands and --rows", "leave one out")
    import neardup
    from neardup.report.tune import by_rows, render

    check_plot(plot)
    hashes = 128 if num_hashes is None else num_hashes
    tuning = neardup.tune(points, hashes, tuple(zip(bands, rows, strict=True)))
    if plot is not None:
        from neardup.report.charts import s_curves, save

        firsts = tuning.choices if bands else [group[0] for group in by_rows(tuning)]
        drawn = [(c.num_bands, c.rows) for c in firsts][:4]
        save(s_curves(drawn, [(p.similarity, p.probability) for p in tuning.points]), plot)
    if json_:
        click.echo(json.dumps(tuning.as_dict(), indent=2))
    else:
        click.echo(render(tuning, bool(bands), None if all_ else 10))
