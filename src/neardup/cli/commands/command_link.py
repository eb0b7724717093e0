"""``neardup link`` and ``neardup blocks``: records."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from neardup.cli import command_options as o
from neardup.cli.showing import show_events
from neardup.errors import OutputError, SpecError
from neardup.linkage.fields import LinkSpec
from neardup.linkage.merging.merge_spec import MergeSpec
from neardup.options.option_groups import Reading, Writing
from neardup.spec import Spec

if TYPE_CHECKING:
    from neardup.api.finished.link_runs import LinkRun

_EXAMPLE = (
    "neardup {0} people.csv --id rec_id --fields given_name,surname,birth:digits -o out\n"
    "neardup {0} a.csv b.csv --id rec_id --fields name,postcode:exact:0.5 -o out\n"
    "neardup {0} scopus.csv pubmed.nbib other.bib --preset citations -o out"
)
_AGAINST = (
    "\nneardup link people.csv --id rec_id --fields given_name,surname -o out --index people.index"
    "\nneardup link new.csv --against people.index -o out2"
)
_files = click.argument("files", metavar="FILE...", nargs=-1, required=True, type=o.PATH)
_FIELDS: dict[str, Any] = {
    "metavar": "NAME[:COMPARE[:WEIGHT]],...",
    "help": "Columns that are compared: as text, digits, exact or numeric; text if not given.",
}
_KEPT = ("one_to_one", "cluster")
_files_options = o.all_of(
    o.of_input("--fields", **_FIELDS),
    o.shared(LinkSpec, "preset", group=o.INPUT),
    o.of_input(
        "--map FILE:FIELD=COLUMN",
        multiple=True,
        help="The column of a field in a file that calls it otherwise, or without FILE in all of "
        "them; several times.",
    ),
    o.of_input(
        "--across-files-only/--within-files",
        "across_files_only",
        default=None,
        help="Look for pairs across the files only, as it is for two files; or within them too, as "
        "it is for more.",
    ),
)


@o.grouped(_EXAMPLE.format("link") + _AGAINST)
@_files
@_files_options
@o.of_input(
    "--against INDEX",
    type=o.PATH,
    help="Link the records with those of an index, and insert them; all other settings are "
    "those of the index.",
)
@o.shared(LinkSpec, but=("fields", "preset", "across_files_only", *_KEPT))
@o.shared(LinkSpec, *_KEPT, group=o.KEPT)
@o.of_input(
    "--labels FILE",
    help="Pairs that are known: id_a, id_b, duplicate (true or false), such as those marked on "
    "the page of a report.",
)
@o.out_option
@o.shared(Writing, "overwrite", "resume", "work")
@o.of_output("--no-merged", help="Write no merged records.")
@o.shared(MergeSpec, group=o.OUTPUT)
@o.of_output(
    "--index FOLDER",
    type=o.LOCAL_TARGET,
    help="Make an index of the records too, for --against.",
)
@o.file_option("--report", what="Write a page with charts, clusters and pairs too.")
@o.json_option
@o.table_options
@o.resource_options
@o.quiet_option
def link(
    files: tuple[Path, ...],
    index: Path | None,
    report: Path | None,
    json_: bool,
    no_merged: bool,
    **options: Any,
) -> None:
    """Find the records that are one, within a file or across any number of files.

    OUT gets the merged records in merged/, one for each cluster, and pairs.parquet,
    candidates.parquet, clusters.parquet, merges.parquet and run.json. neardup evaluate compares it
    with known pairs.
    """
    from neardup.output.outfile import check_file
    from neardup.state.run_state import RUN_FOLDER, RunState

    out, overwrite, quiet = (options[name] for name in ("out", "overwrite", "quiet"))
    if report is not None:
        check_file(report, files, overwrite)
    if index is not None and options["against"] is not None:
        raise SpecError("`index` makes an index, and `against` uses one", "give one of them")
    across = options["across_files_only"]
    if index is not None and LinkSpec.across_of(len(files), across, options["one_to_one"]):
        raise SpecError(
            "`index` is made of a linkage within files, and pairs are across them only",
            "give --within-files, or link the others against the index",
        )
    if index is not None:
        RunState.refuse_used(index / RUN_FOLDER)
    if index is not None and index.exists():
        raise OutputError(f"{index} exists already", "name another folder")
    from neardup.api.linking import link

    with show_events(not options.pop("quiet")) as listener:
        merged = not no_merged
        run = link(*files, **_chosen(options), merged=merged, progress=listener or False)
    if index is not None:
        run.index(index).close()
    if report is not None:
        run.report(report, overwrite=overwrite)
    show_link(run, out, json_, quiet)


def _chosen(options: dict[str, Any]) -> dict[str, Any]:
    """Return the options that have a value: false is one of pairs across the files."""
    return {**o.chosen(options), "across_files_only": options["across_files_only"]}


def show_link(run: LinkRun, out: str, as_json: bool, quiet: bool) -> None:
    """Show the summary of a linkage in its folder, and its record as JSON."""
    from neardup.views.text.link_text import WIDTH, render
    from neardup.views.text.summary_text import took, written

    if as_json:
        click.echo(json.dumps(run.summary, indent=2))
    if not quiet:
        row = took(run.summary)
        line = f"{row.label:<{WIDTH}}{row.number}, {row.remark}"
        click.echo(f"{render(run.summary)}\n\n{line}", err=True)
        click.echo(written(run.summary, out, WIDTH), err=True)


@o.grouped(_EXAMPLE.format("blocks").replace("-o out", "-o pairs.parquet"))
@_files
@_files_options
@o.shared(LinkSpec, "block_at", "recall", "tagged", "seed")
@o.shared(
    Spec,
    "shingle",
    help="How the values of a record become its shingles. [default: char:3]",
    metavar="word:N|char:N",
)
@o.shared(Spec, "num_bands", "rows")
@o.file_option(
    *("-o", "--output", "out"),
    what="Pairs of ids with their similarity: .parquet or .csv, by ending.",
    required=True,
)
@o.of_output(
    *("--for [pairs|splink]", "target"),
    default="pairs",
    help="pairs: id_a, id_b, similarity. splink: join_key_l, join_key_r, match_key.",
)
@o.of_output(
    "--column NAME",
    help="Write a row for each record instead: its id, and in this column its block, a connected "
    "component of candidates. Blocks are no clusters: often one has nearly all records.",
)
@o.overwrite_option
@o.json_option
@o.table_options
@o.resource_options
@o.quiet_option
def blocks(
    files: tuple[Path, ...], out: Path, target: str, column: str | None, quiet: bool, **options: Any
) -> None:
    """Find candidates only: pairs of records for a tool that scores them."""
    from neardup.api.linking import blocks
    from neardup.linkage.outputs.link_files import BlocksFile

    json_ = options.pop("json_")
    file = BlocksFile.of(out, files, options.pop("overwrite"))
    if column is not None and target != "pairs":
        raise SpecError("`for` is splink, which takes pairs, and `column` is given")
    with show_events(not quiet) as listener:
        found = blocks(*files, **_chosen(options), progress=listener or False)
    if column is not None:
        file.write_tables([found.labels(column)])
    else:
        file.write(found._blocked, target == "splink")
    if json_:
        click.echo(json.dumps({**found.summary, "notes": found.notes}, indent=2))
    if not quiet:
        from neardup.views.text.link_text import render_blocks

        click.echo(render_blocks(found.summary, found._blocked.records.across), err=True)
        for note in found.notes:
            click.echo(f"note: {note}", err=True)


def evaluate_links_of(
    run: Path, truth: Path, columns: list[str] | None, json_: bool, options: dict[str, Any]
) -> None:
    """Compare pairs of ``neardup blocks``, or an index of records, with known pairs."""
    if options.pop("only_named"):
        raise SpecError("`only_named` is for runs of neardup dedup", "leave it out")
    from neardup.api.indexes.record_index import RecordIndex
    from neardup.inspect.link_scores import evaluate_pairs
    from neardup.views.text.link_text import render_evaluation

    if run.is_file():
        how = o.group_of(Reading, options)
        asked = {name: options[name] for name in ("kind", "missing")}
        result = evaluate_pairs(run, truth, columns=columns, how=how, **asked)
    else:
        with RecordIndex.open(run) as index:
            result = index.evaluate(truth, columns=columns, **options)
    click.echo(json.dumps(result, indent=2) if json_ else render_evaluation(result))
