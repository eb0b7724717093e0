"""Commands that read a run: ``neardup recluster``, ``report``, ``audit`` and ``evaluate``."""

import json
from pathlib import Path
from typing import Any

import click

from neardup.cli import command_options as o
from neardup.cli.showing import context_option, on_run, open_run, show_events, show_record
from neardup.errors import SpecError
from neardup.linkage.fields import LinkSpec
from neardup.options.option_groups import PageForm, Resources, Writing
from neardup.result_record import INDEX, RECORD_INDEX
from neardup.spec import Spec, check_similarity

_CHANGED = ("threshold", "cluster", "tree_threshold", "keep", "pairs")


@o.grouped("neardup recluster out -o stricter --threshold 0.85")
@o.run_argument
@o.out_option
@o.shared(Spec, *_CHANGED, group=o.KEPT, help="[default: as in RUN]")
@o.shared(
    LinkSpec,
    "decide_at",
    group=o.KEPT,
    help="Of a linkage: minimum score. [default: as in RUN]",
)
@o.output_options
@o.shared(Writing, "resume", "work")
@o.resource_options
@o.json_option
@o.quiet_option
def recluster(run: Path, out: str, quiet: bool, json_: bool, **options: Any) -> None:
    """Re-cluster a finished run with other settings.

    RUN is the output folder of neardup dedup, or of neardup link; of the latter, --decide-at is
    the only setting, and nothing is compared again.
    Of neardup dedup, the result is that of a full run with these settings
    and the bands of RUN. With --no-clean, the tables of RUN suffice for a higher threshold if pairs
    were listed (--pairs all), or if no removed document falls below it. Else the input is read
    again, and must not have changed; its sketches are reused if RUN was made with --keep-run.
    """
    from neardup.deduplication.clock import Clock, process_start
    from neardup.inspect.recluster import Reclustering, changed
    from neardup.state.run_state import RUN_FOLDER, RunState

    RunState.refuse_used(Path(out) / RUN_FOLDER)  # before the run is read
    opened = open_run(run, "recluster")
    if opened.command == "link":
        from neardup.cli.commands.command_link import show_link

        found = on_run(opened, "recluster", out, **options)
        show_link(found, out, json_, quiet)
        return
    opened.require("recluster")
    if options.pop("decide_at") is not None:
        raise SpecError(
            f"`decide_at` does not apply to an output of neardup {opened.command}",
            "it has `threshold` instead",
        )
    results = opened._results
    options["out"] = out
    writing, resources = o.group_of(Writing, options), o.group_of(Resources, options)
    check_similarity(results.spec, "reclustering")
    spec = changed(results.spec, **options)
    with show_events(not quiet) as listener:
        clock = Clock(listener, process_start())
        found = Reclustering(results, spec, resources, writing, clock).run()
    show_record(found.record, out, json_, quiet)


@o.grouped(
    "neardup report out -o report.html\n"
    "neardup report out -o report.html --title 'Notes of 2024' --show title,source --by source\n"
    "neardup report unique cut published -o README.md --format markdown --by source"
)
@click.argument("runs", metavar="RUN...", type=o.PATH, nargs=-1, required=True)
@o.file_option("-o", "--output", "out", what="File to make, such as report.html.", required=True)
@o.of_output(
    "--format [html|markdown|json]",
    "format_",
    default="html",
    help="A page, or a data card of all RUNs, which are the steps of a pipeline, in order.",
)
@o.shared(PageForm, "title", "max_items", "max_size")
@o.of_output(
    "--print [full|summary]",
    "printed",
    default="full",
    help="Content on paper: with ten examples at most, or without them.",
)
@o.of_output(
    "--show COLUMN[,COLUMN...]",
    help="Columns of the input that are shown next to ids, and that sort and filter the list.",
)
@o.of_output(
    "--by COLUMN",
    help="Add a table of whose documents are duplicates of whose, such as --by source; of a data "
    "card, the numbers of each source.",
)
@o.no_text_option
@o.of_output(
    "--min-group N",
    type=click.IntRange(1),
    default=10,
    help="Of passages: authors, years and other groups of fewer documents are put together.",
)
@context_option
@o.of_output("--overwrite", help="Replace FILE if it exists.")
@o.threads_option
@o.quiet_option
def report(
    runs: tuple[Path, ...],
    out: Path,
    format_: str,
    show: str | None,
    no_text: bool,
    quiet: bool,
    **options: Any,
) -> None:
    """Write the results of a run, or the content of an index, as one page for any browser.

    RUN is the output folder of a command, or an index of texts. The page needs no
    network and no server. Of a run it shows the result, the similarities with a slider for the
    threshold, and the clusters: search them, open them, see what their documents share, compare
    each with the one that it is a duplicate of, and judge it (the judgements are saved as a file
    that neardup evaluate reads). Texts are read from the input again, which must not have changed.
    An audit that was done before (neardup audit RUN) is shown too. Of an index it shows numbers,
    and which similarities it finds; then only --title, --overwrite and --quiet apply. Of passages
    it shows how much is copied, and the documents with the most copied words next to their sources;
    --no-text leaves the texts out. Of neardup
    decontaminate, neardup dedup --against and neardup spark it shows the numbers, the counts of
    each file with test items, and matches or removed documents; of matches
    with the passage in its context. Of neardup link it shows the doubtful pairs, which are marked
    as the same or not; the file that is saved is for --labels. Every page is made to be printed,
    too.

    With --format markdown or json it writes a data card of one RUN or of several instead, such as
    neardup dedup, then passages, then decontaminate, each of which has read the clean corpus of the
    one before: documents, words and bytes before and after, removed documents and cut words,
    recall, settings, versions and commands, and a paragraph on the methods. Only --by, --title,
    --overwrite and --quiet apply then. Markdown has the head of a dataset card of Hugging Face.
    """
    if format_ != "html":
        _write_card(runs, out, format_, options)
        if not quiet:
            click.echo(f"written     {out}", err=True)
        return
    if len(runs) > 1:
        raise SpecError("a page is of one run", "give one, or `format` markdown or json")
    (run,) = runs
    from neardup.memory_plan import show_size

    if (run / INDEX).is_file():
        from neardup.cli.commands.of_index.command_index import report_index

        path = report_index(run, out, o.group_of(PageForm, options))
    else:
        found = open_run(run, "report")
        columns = tuple(show.split(",")) if show else ()
        how = options | {"show": columns, "texts": not no_text}
        with show_events(not quiet) as listener:
            path = on_run(found, "report", out, **how, progress=listener)
    if not quiet:
        click.echo(f"written     {out}: {show_size(path.stat().st_size)}", err=True)


def _write_card(runs: tuple[Path, ...], out: Path, kind: str, options: dict[str, Any]) -> None:
    from neardup.api.finished.data_cards import data_card

    taken = ("by", "title", "overwrite")
    for name in o.given_options("show", "no_text", *options):
        if name not in taken:
            raise SpecError(f"`{name}` is of a page, and this is a data card", "leave it out")
    opened = [open_run(run, "report") for run in runs]
    how = {name: options[name] for name in taken}
    data_card(*opened, path=out, format=kind, **how)


@o.grouped("neardup audit out\nneardup audit out --sample 5000 --json")
@o.run_argument
@o.option("--sample N", default=1000, help="Documents whose near-duplicates are searched for.")
@o.option("--seed", type=int, default=0, help="Another seed, another sample.")
@o.json_option
@o.resource_options
@o.quiet_notes_option
def audit(run: Path, json_: bool, quiet: bool, **options: Any) -> None:
    """Measure the recall of a run on your own data.

    RUN is the output folder of neardup dedup. Documents are drawn at random, and all their
    near-duplicates are searched for in all of the corpus, which is read again. The result: which
    share of the kept documents still has a near-duplicate among them; the recall, and the pairs
    that were missed; the S-curve, predicted and observed; and whether each removed document has a
    kept one that reaches the threshold. RUN/audit.json keeps it for neardup report.
    """
    opened = open_run(run, "audit")
    with show_events(not quiet) as listener:
        found = on_run(opened, "audit", progress=listener, **options)
    click.echo(json.dumps(found.as_dict(), indent=2) if json_ else str(found))


@o.grouped("neardup evaluate out --truth pairs.csv")
@o.run_argument
@o.of_input(
    "--truth FILE",
    required=True,
    help="Pairs of ids, or an id and its group: CSV, TSV, JSON lines, Parquet or Arrow; or the "
    "judgements that were saved from a report.",
)
@o.of_input(
    "--columns A,B",
    help="The two columns. [default: by their names, such as id_a and id_b, or id and group]",
)
@o.of_input(
    "--kind [pairs|links|groups|judged]",
    help="Meaning of the columns: pairs, links (pairs, closed transitively), groups, or judged "
    "(pairs with a column that says whether they are duplicates). [default: by their names]",
)
@o.of_input(
    "--missing [error|skip]",
    default="error",
    help="Refuse ids that the run has not, or leave out their rows and count them.",
)
@o.file_options
@o.option(
    "--only-named",
    help="Leave out documents that the truth does not name; else they have no duplicates.",
)
@o.json_option
def evaluate(run: Path, truth: Path, columns: str | None, json_: bool, **options: Any) -> None:
    """Compare a run with known duplicates: precision, recall, F1.

    RUN is the output folder of neardup dedup or neardup link, its index of records, or
    pairs.parquet of neardup blocks.
    Scored are the removed documents; the edges, if pairs were listed; and the clusters, by the
    pairs within them and by B-cubed; the pairs by threshold too. Also reports blocking metrics:
    pairs completeness, pairs quality, reduction ratio.
    """
    named = None if columns is None else columns.split(",")
    if run.is_file() or (run / RECORD_INDEX).is_file():
        from neardup.cli.commands.command_link import evaluate_links_of

        evaluate_links_of(run, truth, named, json_, options)
        return
    found = open_run(run, "evaluate")
    result = on_run(found, "evaluate", truth, columns=named, **options)
    click.echo(json.dumps(result, indent=2) if json_ else str(result))
