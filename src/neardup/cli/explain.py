"""``neardup explain``."""

from __future__ import annotations

from pathlib import Path

import click

from neardup.cli.options import debug_option, quiet_notes_option
from neardup.cli.showing import check_html, html_options, json_option, show

__all__ = ["explain"]


@click.command(no_args_is_help=True)
@click.argument("run", metavar="RUN")
@click.argument("id_", metavar="ID")
@click.argument("other", metavar="[ID2]", required=False)
@click.option(
    "--limit",
    metavar="N",
    type=click.IntRange(0),
    default=20,
    show_default=True,
    help="Neighbours of each kind that are named; all are counted.",
)
@click.option("--no-text", is_flag=True, help="Leave the texts out.")
@json_option
@html_options
@quiet_notes_option
@debug_option
def explain(
    run: str,
    id_: str,
    other: str | None,
    limit: int,
    no_text: bool,
    json_: bool,
    html: Path | None,
    overwrite: bool,
    quiet: bool,
) -> None:
    """Say what a document repeats or is repeated by, and why.

    RUN is the OUT folder of neardup dedup, and ID an id in it; its position from 0 if the run had
    no ids. With ID2, say what these two documents have to do with each other. Similarity is exact;
    bands are counted from 1; the path goes by verified edges within the cluster. The documents are
    read from the input again, which must not have changed. Put -- before ids that begin with -.
    """
    from neardup.report.explain import view
    from neardup.run.explaining import explain as look
    from neardup.run.finished import FinishedRun

    if html is not None:
        check_html(html, FinishedRun(run).inputs, overwrite)
    found = look(run, id_, other, limit=limit, texts=not no_text)
    if not (json_ or quiet):
        for note in found.notes:
            click.echo(f"note: {note}", err=True)
    show(view(found), found.as_dict(), json_, html)
