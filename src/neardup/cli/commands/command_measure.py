"""``neardup audit`` and ``neardup evaluate``: how good a run was."""

import json
from pathlib import Path
from typing import Any

import click

from neardup.cli import options as o
from neardup.cli.showing import show_events


@o.grouped("neardup audit out\nneardup audit out --sample 5000 --json")
@o.run_argument
@o.option("--sample N", default=1000, help="Documents whose near-duplicates are searched for.")
@o.option("--seed", type=int, default=0, help="Another seed, another sample.")
@o.json_option
@o.resource_options
@o.quiet_notes_option
def audit(run: Path, json_: bool, quiet: bool, **options: Any) -> None:
    """Measure what a run missed, on your own data.

    RUN is the output folder of neardup dedup. Documents are drawn at random, and all their
    near-duplicates are searched for in the whole corpus, which is read again. The result: which
    share of the kept documents still has a near-duplicate among them; the recall, and the pairs
    that were missed; the S-curve, predicted and observed; and whether each removed document has a
    kept one that reaches the threshold. RUN/audit.json keeps it for neardup report.
    """
    from neardup import open as open_run

    with show_events(not quiet) as listener:
        found = open_run(run).audit(progress=listener, **options).as_dict()
    from neardup.report.audit_text import render

    click.echo(json.dumps(found, indent=2) if json_ else render(found))


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
    if run.is_file() or any((run / name).is_file() for name in ("link.json", "records.sqlite")):
        from neardup.cli.commands.command_link import evaluate_links_of

        evaluate_links_of(run, truth, columns, json_, options)
        return
    from neardup import open as open_run
    from neardup.report.evaluate_text import render

    named = None if columns is None else columns.split(",")
    result = open_run(run).evaluate(truth, columns=named, **options)
    click.echo(json.dumps(result, indent=2) if json_ else render(result))
