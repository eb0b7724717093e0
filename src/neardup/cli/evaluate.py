"""``neardup evaluate``."""

from __future__ import annotations

import json
from pathlib import Path

import click

from neardup.cli.options import debug_option
from neardup.cli.plots import check_plot, plot_option

__all__ = ["evaluate"]


@click.command(no_args_is_help=True)
@click.argument("run", metavar="RUN", type=click.Path(path_type=Path))
@click.option(
    "--truth",
    required=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Pairs of ids, or an id and its group: .csv, .tsv, .jsonl (also .gz, .zst), .parquet.",
)
@click.option(
    "--columns",
    metavar="A,B",
    help="The two columns. [default: by their names, such as id_a and id_b, or id and group]",
)
@click.option(
    "--kind",
    type=click.Choice(["pairs", "links", "groups"]),
    help="What the columns hold, where their names don't tell; links are pairs of which all that "
    "they connect are alike.",
)
@click.option(
    "--missing",
    type=click.Choice(["error", "skip"]),
    default="error",
    show_default=True,
    help="Refuse ids that the run has not, or leave out their rows and count them.",
)
@click.option(
    "--only-named",
    is_flag=True,
    help="Leave out documents that the truth does not name; else they are like no other.",
)
@click.option("--json", "json_", is_flag=True, help="Print all figures as JSON.")
@plot_option("precision and recall by edge threshold")
@debug_option
def evaluate(
    run: Path,
    truth: Path,
    columns: str | None,
    kind: str | None,
    missing: str,
    only_named: bool,
    json_: bool,
    plot: Path | None,
) -> None:
    """Compare a run with the truth: precision, recall, F1.

    RUN is the folder that neardup dedup made. Pairs are the edges, by edge threshold too; clusters
    are compared by the pairs within them, by B-cubed and by the adjusted Rand index. Pairs
    completeness, pairs quality and reduction ratio say what banding found and spared.
    """
    check_plot(plot, run, [truth])
    import neardup
    from neardup.report.evaluate import chart, render

    result = neardup.evaluate(
        *(run, truth),
        columns=None if columns is None else columns.split(","),
        kind=kind,
        missing=missing,
        only_named=only_named,
    )
    if plot is not None:
        from neardup.report.figures import save

        save(chart(result), plot)
    click.echo(json.dumps(result, indent=2) if json_ else render(result))
