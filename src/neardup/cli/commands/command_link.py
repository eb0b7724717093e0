"""``neardup link`` and ``neardup blocks``: records."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from neardup.cli import command_options as o
from neardup.cli.showing import show_events
from neardup.errors import OutputError, SpecError
from neardup.frame.options import Reading

if TYPE_CHECKING:
    from neardup.records.outputs.link_runs import LinkRun

_EXAMPLE = (
    "neardup {0} people.csv --id rec_id --fields given_name,surname,birth:digits -o out\n"
    "neardup {0} a.csv b.csv --id rec_id --fields name,postcode:exact:0.5 -o out"
)
_AGAINST = (
    "\nneardup link people.csv --id rec_id --fields given_name,surname -o out --index people.index"
    "\nneardup link new.csv --against people.index -o out2"
)
_files = click.argument("files", metavar="A [B]", nargs=-1, required=True, type=o.PATH)
_FIELDS: dict[str, Any] = {
    "metavar": "NAME[:COMPARE[:WEIGHT]],...",
    "group": o.INPUT,
    "help": "Columns that are compared: as text, digits, exact or numeric; text if not given.",
}
_block_at = o.option(
    "--block-at",
    type=float,
    metavar="S",
    group=o.COMPARED,
    help="Jaccard similarity of two records at which the recall is stated. [default: 0.3; 0.5 for "
    "more than 200,000 records]",
)
_recall = o.option(
    "--recall",
    type=float,
    default=0.99,
    metavar="P",
    group=o.COMPARED,
    help="Probability that such a pair becomes a candidate.",
)
_tagged = o.option(
    "--tagged",
    is_flag=True,
    group=o.ADVANCED,
    help="Keep the fields apart: swapped values share nothing.",
)
_seed = o.option(
    "--seed", type=int, default=0, group=o.ADVANCED, help="Seed of the hash functions."
)


@o.grouped(_EXAMPLE.format("link") + _AGAINST)
@_files
@o.option("--fields", **_FIELDS)
@o.option(
    "--against",
    metavar="INDEX",
    type=o.PATH,
    group=o.INPUT,
    help="Link the records of A with those of an index, and insert them; all other settings are "
    "those of the index.",
)
@_block_at
@_recall
@o.option(
    "--similarity",
    type=click.Choice(["mixed", "fields", "record", "idf"]),
    default="mixed",
    group=o.COMPARED,
    help="Similarity of the histogram. fields: weighted mean over the fields; record: 3-grams of "
    "the record; idf: the same, rare ones weighing more; mixed: a mean of fields and idf.",
)
@o.option(
    "--decide-at",
    type=float,
    metavar="P",
    default=0.5,
    group=o.COMPARED,
    help="Probability from which on two records are one.",
)
@o.option("--one-to-one", is_flag=True, group=o.KEPT, help="Of each record the best pair only.")
@o.option(
    "--cluster",
    type=click.Choice(["average", "complete"]),
    default="average",
    group=o.KEPT,
    help="average: the mean of the log odds of two clusters decides. complete: any two records of "
    "a cluster are one by themselves.",
)
@o.option(
    "--labels",
    metavar="FILE",
    type=o.PATH,
    group=o.INPUT,
    help="Pairs that are known: id_a, id_b, duplicate (true or false), such as those marked on "
    "the page of a report.",
)
@o.local_out_option
@o.overwrite_option
@o.option(
    "--index",
    type=o.LOCAL_TARGET,
    metavar="FOLDER",
    group=o.OUTPUT,
    help="Make an index of the records too, for --against.",
)
@o.file_option("--report", what="Write a page with charts, clusters and pairs too.")
@o.json_option
@_tagged
@_seed
@o.table_options
@o.resource_options
@o.quiet_option
def link(
    files: tuple[Path, ...],
    out: Path,
    overwrite: bool,
    index: Path | None,
    report: Path | None,
    json_: bool,
    quiet: bool,
    **options: Any,
) -> None:
    """Find the records that are one, in a file A or across two files A and B.

    OUT gets pairs.parquet, candidates.parquet, clusters.parquet and run.json. neardup evaluate
    compares it with known pairs.
    """
    from neardup.report.outfile import check_file
    from neardup.state.run_state import RUN_FOLDER, RunState

    if report is not None:
        check_file(report, files, overwrite)
    if index is not None and options["against"] is not None:
        raise SpecError("`index` makes an index, and `against` uses one", "give one of them")
    if index is not None and len(files) > 1:
        raise SpecError(
            "`index` is made of a linkage within one file, and there are two",
            "put all records into one file, or link the others against the index",
        )
    if index is not None:
        RunState.refuse_used(index / RUN_FOLDER)
    if index is not None and index.exists():
        raise OutputError(f"{index} exists already", "name another folder")
    from neardup.api.linking import link

    with show_events(not quiet) as listener:
        heard = listener or False
        run = link(*_two(files), **options, out=out, overwrite=overwrite, progress=heard)
    if index is not None:
        run.index(index).close()
    if report is not None:
        run.report(report, overwrite=overwrite)
    show_link(run, out, json_, quiet)


def show_link(run: LinkRun, out: Path, as_json: bool, quiet: bool) -> None:
    """Show the summary of a linkage in its folder, and its record as JSON."""
    from neardup.records.outputs.link_text import WIDTH, render
    from neardup.report.summary_text import took, written

    if as_json:
        click.echo(json.dumps(run.summary, indent=2))
    if not quiet:
        label, seconds, memory = took(run.summary)
        click.echo(f"{render(run.summary)}\n\n{label:<{WIDTH}}{seconds}, {memory}", err=True)
        click.echo(written(run.summary, str(out), WIDTH), err=True)


@o.grouped(_EXAMPLE.format("blocks").replace("-o out", "-o pairs.parquet"))
@_files
@o.option("--fields", required=True, **_FIELDS)
@_block_at
@_recall
@o.file_option(
    *("-o", "--output", "out"),
    what="Pairs of ids with their similarity: .parquet or .csv, by ending.",
    required=True,
)
@o.option(
    "--for",
    "target",
    type=click.Choice(["pairs", "splink"]),
    default="pairs",
    group=o.OUTPUT,
    help="pairs: id_a, id_b, similarity. splink: join_key_l, join_key_r, match_key.",
)
@o.option(
    "--column NAME",
    group=o.OUTPUT,
    help="Write a row for each record instead: its id, and in this column its block, a connected "
    "component of candidates. Blocks are no clusters: often one has nearly all records.",
)
@o.overwrite_option
@o.json_option
@_tagged
@_seed
@o.table_options
@o.resource_options
@o.quiet_option
def blocks(
    files: tuple[Path, ...],
    out: Path,
    target: str,
    column: str | None,
    overwrite: bool,
    json_: bool,
    quiet: bool,
    **options: Any,
) -> None:
    """Find candidates only: pairs of records for a tool that scores them."""
    from neardup.api.linking import blocks
    from neardup.records.outputs.link_files import BlocksFile

    file = BlocksFile.of(out, files, overwrite)
    if column is not None and target != "pairs":
        raise SpecError("`for` is splink, which takes pairs, and `column` is given")
    with show_events(not quiet) as listener:
        found = blocks(*_two(files), **options, progress=listener or False)
    if column is not None:
        file.write_tables([found.labels(column)])
    else:
        file.write(found._blocked, target == "splink")
    if json_:
        click.echo(json.dumps({**found.summary, "notes": found.notes}, indent=2))
    if not quiet:
        from neardup.records.outputs.link_text import render_blocks

        click.echo(render_blocks(found.summary), err=True)
        for note in found.notes:
            click.echo(f"note: {note}", err=True)


def _two(files: tuple[Path, ...]) -> tuple[Path, Path | None]:
    if len(files) > 2:
        raise SpecError(f"{len(files)} files; expected one or two", "put the others into one file")
    return files[0], files[1] if len(files) > 1 else None


def evaluate_links_of(
    run: Path, truth: Path, columns: list[str] | None, json_: bool, options: dict[str, Any]
) -> None:
    """Compare pairs of ``neardup blocks``, or an index of records, with known pairs."""
    if options.pop("only_named"):
        raise SpecError("`only_named` is for runs of neardup dedup", "leave it out")
    from neardup.records.incremental.record_index import RecordIndex
    from neardup.records.outputs.link_scores import evaluate_pairs
    from neardup.records.outputs.link_text import render_evaluation

    if run.is_file():
        how = o.group_of(Reading, options)
        asked = {name: options[name] for name in ("kind", "missing")}
        result = evaluate_pairs(run, truth, columns=columns, how=how, **asked)
    else:
        with RecordIndex.open(run) as index:
            result = index.evaluate(truth, columns=columns, **options)
    click.echo(json.dumps(result, indent=2) if json_ else render_evaluation(result))
