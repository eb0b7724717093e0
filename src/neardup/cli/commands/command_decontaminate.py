"""``neardup decontaminate``."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from neardup.cli import command_options as o
from neardup.cli.showing import show_events, show_record
from neardup.copied_passages.passage_spec import ContainSpec
from neardup.errors import SpecError
from neardup.options.option_groups import Writing
from neardup.spec import FORMS, ShingleSpec
from neardup.values.readable import aligned, percent
from neardup.values.visible import visible
from neardup.views.text import summary_text

if TYPE_CHECKING:
    from neardup.api.decontaminating import DecontaminateRun

_CUT = ("cut", "mask")
#: Items that a dry run lists, at most.
_LISTED = 20


@o.grouped(
    "neardup decontaminate train/ --against benchmark.jsonl -o out\n"
    "neardup decontaminate train.parquet --against test.jsonl -o out --passage 13"
)
@o.inputs_argument
@o.of_input(
    *("--against TEST", "tests"),
    multiple=True,
    required=True,
    help="Test items: a file, folder or pattern; may be given several times.",
)
@o.input_options
@o.second_options("test_", "of the test items")
@o.shared(ContainSpec, but=_CUT)
@o.shared(ShingleSpec, *FORMS, "signs")
@o.shared(ContainSpec, *_CUT, group=o.KEPT)
@o.optional_out_option
@o.of_output(
    "--dry-run",
    help="Write nothing: show which test items are in how many documents. -o is left out.",
)
@o.of_output("--texts", help="Give each match with the text of its passage.")
@o.shared(Writing, "format", "overwrite", "resume", "work")
@o.shared(
    Writing,
    "removed",
    help="Write the documents that match too, to OUT/removed/, each with the test_id of the item "
    "of which it has the highest containment, and that.",
)
@o.resource_options
@o.json_option
@o.quiet_option
def decontaminate(
    inputs: tuple[str, ...],
    tests: tuple[str, ...],
    json_: bool,
    quiet: bool,
    dry_run: bool,
    **options: Any,
) -> None:
    """Find the training documents of INPUT that contain a test item, exactly.

    The test items are in memory, and INPUT may have any size. Texts are compared word by word:
    line breaks never matter. Items shorter than a shingle are looked for as they are. OUT
    gets matches.parquet (a row for each document and item that match, with the containment, and the
    characters of the longest passage that both have), clean/ (the documents without a match, or
    with --cut all of them without the words that match, in the format of the input) and run.json;
    with --cut also cuts.parquet. --dry-run writes nothing, and shows which test items are in how
    many documents; --max-documents leaves out those that many have.
    """
    from neardup.api.decontaminating import decontaminate

    if options["passage"] is not None and o.given_options("shingle", "by", "threshold"):
        raise SpecError(
            "`passage` defines a match by itself", "leave out `shingle`, `by` and `threshold`"
        )
    if dry_run == (options["out"] is not None):
        what = "a dry run writes nothing" if dry_run else "no output folder is named"
        raise SpecError(what, "give `out` or `dry_run`, not both")
    with show_events(not quiet) as listener:
        found = decontaminate(
            [Path(name) for name in inputs],
            [Path(name) for name in tests],
            progress=listener or False,
            **o.chosen(options),
        )
    if dry_run:
        _show_items(found, json_)
        return
    show_record(found.summary, str(options["out"]), json_, quiet)


def _show_items(run: "DecontaminateRun", as_json: bool) -> None:
    """Show which test items are in how many documents."""
    rows, private = run.items.to_pylist(), run.summary["private_ids"]
    if private:
        rows = [row | {"test_id": None} for row in rows]
    if as_json:
        click.echo(
            json.dumps({"counts": run.summary["counts"], "items": rows}, indent=2, default=str)
        )
        return
    cells = [
        (
            f"row {row['test_doc']}" if private else visible(str(row["test_id"])),
            f"{row['documents']:,}",
            percent(row["share"]),
        )
        for row in rows[:_LISTED]
    ]
    click.echo(summary_text.aligned(run.summary))
    if cells:
        click.echo("\n" + aligned(("test item", "documents", "share"), cells, left=1))
    if len(rows) > _LISTED:
        click.echo(f"and {len(rows) - _LISTED:,} more, which --json lists")
