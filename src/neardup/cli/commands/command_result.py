"""``neardup recluster`` and ``neardup report``: what else can be made of a run."""

from pathlib import Path
from typing import Any

import click

from neardup.cli import options as o
from neardup.cli.showing import context_option, show_events, show_record
from neardup.spec import CLUSTERINGS

_AS_BEFORE = "[default: as in RUN]"


@o.grouped("neardup recluster out -o stricter --threshold 0.85")
@o.run_argument
@o.out_option
@o.kept("--threshold T", help=_AS_BEFORE)
@o.kept(f"--cluster [{'|'.join(CLUSTERINGS)}]", help=_AS_BEFORE)
@o.kept("--tree-threshold T", help=_AS_BEFORE)
@o.kept("--keep first|longest|max:COLUMN|min:COLUMN", help=_AS_BEFORE)
@o.kept("--pairs [kept|all]", help=_AS_BEFORE)
@o.output_options
@o.resource_options
@o.json_option
@o.quiet_option
def recluster(
    run: Path, out: str, quiet: bool, json_: bool, overwrite: bool, **options: Any
) -> None:
    """Re-cluster a finished run with other settings.

    RUN is the output folder of neardup dedup. The result is that of a full run with these settings
    and the bands of RUN. With --no-clean, the tables of RUN suffice for a higher threshold if pairs
    were listed (--pairs all), or if no removed document falls below it. Else the input is read
    again, and must not have changed; its sketches are reused if RUN was made with --keep-run.
    """
    from neardup.inspect.recluster import Reclustering, changed, recluster
    from neardup.output.results import FolderResults
    from neardup.stages.clock import Clock, process_start

    results = FolderResults(run)
    writing, resources = o.writing_of(options), o.resources_of(options)
    spec = changed(results.spec, **options)
    asked = Reclustering(spec, resources, writing, out, overwrite)
    with show_events(not quiet) as listener:
        found = recluster(results, asked, Clock(listener, process_start()))
    show_record(found.record, out, json_, quiet)


@o.grouped(
    "neardup report out -o report.html\n"
    "neardup report out -o report.html --title 'Notes of 2024' --show title,source --by source"
)
@o.run_argument
@o.file_option("-o", "--output", "out", what="Page to make, such as report.html.", required=True)
@o.of_output("--title TEXT", help="Heading. [default: the name of the input]")
@o.of_output("--show COLUMN[,COLUMN...]", help="Columns of the input that are shown next to ids.")
@o.of_output(
    "--by COLUMN",
    help="Add a table of whose documents are duplicates of whose, such as --by source.",
)
@o.no_text_option
@o.of_output(
    "--max-clusters N",
    type=click.IntRange(0),
    default=1000,
    help="Clusters shown with their texts: half of them the largest, half those with the lowest "
    "similarity. The file has up to 8 kB for each.",
)
@context_option
@o.of_output("--overwrite", help="Replace FILE if it exists.")
@o.threads_option
@o.quiet_option
def report(
    run: Path, out: Path, show: str | None, no_text: bool, quiet: bool, **options: Any
) -> None:
    """Write what a run did and found, or what an index holds, as one page for any browser.

    RUN is the output folder of neardup dedup, or an index. The page needs no network and no server.
    Of a run it shows the result, the similarities with a slider for the threshold, and the
    clusters: search them, open them, see what their documents share, compare each with the one that
    it is a duplicate of, and judge it (the judgements are saved as a file that neardup evaluate
    reads). Texts are read from the input again, which must not have changed. An audit that was done
    before (neardup audit RUN) is shown too. Of an index it shows numbers, and which similarities it
    finds; then only --title, --overwrite and --quiet apply.
    """
    if (run / "index.sqlite").is_file():
        from neardup.cli.commands.command_index import report_index

        report_index(run, out, quiet, options["title"], options["overwrite"])
        return
    from neardup.memory import show_size
    from neardup.output.results import FolderResults
    from neardup.report.page import write_report

    options |= {"show": tuple(show.split(",")) if show else (), "texts": not no_text}
    with show_events(not quiet) as listener:
        path = write_report(FolderResults(run), out, listener=listener, **options)
    if not quiet:
        click.echo(f"written     {path}: {show_size(path.stat().st_size)}", err=True)
