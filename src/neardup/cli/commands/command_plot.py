"""A figure of a result: ``neardup plot``."""

from pathlib import Path
from typing import Any

import click

from neardup.cli import command_options as o
from neardup.cli.showing import open_run
from neardup.errors import OutputError

#: Endings of figures.
_ENDINGS = (".svg", ".pdf", ".png")


@o.grouped(
    "neardup plot out similarity -o similarity.svg\n"
    "neardup plot forward month -o month.pdf\n"
    "neardup plot out sources --by source -o sources.png"
)
@o.run_argument
@click.argument("kind")
@o.file_option("-o", "--output", "out", what="Figure to make: .svg, .pdf or .png.", required=True)
@o.of_output("--by COLUMN", help="Of sources: a column of the input.")
@o.of_input("--truth FILE", help="Of reliability: pairs that are known, as for neardup evaluate.")
@o.of_output("--overwrite", help="Replace FILE if it exists.")
def plot(run: Path, kind: str, out: Path, overwrite: bool, **of: Any) -> None:
    """Draw a chart of a result as a figure.

    RUN is the output folder of a command, and KIND the name of the chart: of neardup dedup
    similarity, clusters or sources; of neardup passages month, year, author (the column of --by) or
    share; of neardup link log_odds, weights or reliability; of neardup decontaminate items or
    containment; with --against similarity. Another name is refused with those that there are. The
    figure has no text of a document. Matplotlib is needed.
    """
    import io
    import os

    from neardup.output.outfile import check_file, write_file

    if out.suffix.lower() not in _ENDINGS:
        raise OutputError(f"{out} is not named as a figure", f"name it {', '.join(_ENDINGS)}")
    os.environ.setdefault("MPLBACKEND", "agg")  # which needs no screen
    found = open_run(run, "plot")
    target = check_file(out, [], overwrite)
    figure = found.plot(kind, **of).figure
    written = io.BytesIO()
    figure.savefig(written, format=out.suffix[1:].lower(), bbox_inches="tight")
    write_file(target, written.getvalue())
