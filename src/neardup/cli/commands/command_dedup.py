"""``neardup dedup``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from neardup.cli import options as o
from neardup.cli.showing import show_events, show_record
from neardup.errors import SpecError

#: Options that go with --against, besides those that say how the input is read.
_OF_ALL = ("inputs", "out", "against", "text", "json_", "quiet", "debug")


@o.grouped(
    "neardup dedup notes.jsonl -o out --id note_id --threshold 0.8\n"
    "neardup dedup shards/ -o out --preset clinical --memory 4GB --resume"
)
@o.inputs_argument
@o.out_option
@o.output_options
@o.option("--resume", is_flag=True, group=o.OUTPUT, help="Continue the interrupted run in OUT.")
@o.option(
    "--work",
    metavar="DIR",
    type=o.PATH,
    group=o.OUTPUT,
    help="Local folder for the run while it is at work; needed to resume where OUT is a URL. "
    "[default: OUT/.run; for a URL a temporary folder]",
)
@o.option(
    "--keep-run",
    is_flag=True,
    group=o.OUTPUT,
    help="Keep OUT/.run, so that neardup recluster need not sketch the input again.",
)
@o.option(
    "--against",
    metavar="INDEX|RUN",
    type=o.PATH,
    group=o.INPUT,
    help="Remove what is similar to this index, or to the kept documents of this output folder, "
    "too. The settings are those of the old corpus.",
)
@o.input_options
@o.skip_large_option
@o.spec_options
@o.store_options
@o.resource_options
@o.json_option
@o.quiet_option
def dedup(
    inputs: tuple[str, ...],
    out: str,
    overwrite: bool,
    resume: bool,
    work: Path | None,
    quiet: bool,
    against: Path | None,
    json_: bool,
    **options: Any,
) -> None:
    """Find near-duplicates in INPUT and write a deduplicated corpus.

    INPUT is a file, a folder, a pattern, a URL (s3://, gs://, abfs://, hf://, https://) or - for
    standard input: JSON lines, Parquet, CSV, TSV,
    Arrow IPC or plain text; the textual ones also as .gz and .zst. A folder of plain text files is
    one document a file, with its path as its id.

    OUT gets clean/ (the kept documents, in the format of the input), clusters.parquet (one row for
    each document: its cluster, whether it is kept, and the kept document that it is a duplicate
    of) and run.json (what was done). Pairs go into edges.parquet with --pairs all and with all
    clusterings but star. After a crash the same command with --resume continues the run.

    With --against, OUT gets clean/, duplicates.parquet (one row for each document: whether it is
    kept, and what it is a duplicate of) and against.json.

    With --run, the sketches that neardup sketch put into the store are used.

    With --json, what is in run.json, or in against.json, is printed as well.
    """
    if against is not None:
        record = _dedup_against(inputs, out, against, {**options, "overwrite": overwrite})
        if json_:
            click.echo(json.dumps(record, indent=2))
        elif not quiet:
            _show_against(record["counts"])
        return
    from neardup.api.running import run_in_folder
    from neardup.clock import process_start

    with show_events(not quiet) as listener:
        request = o.request_of(inputs, options, begin=process_start(), listener=listener)
        found = run_in_folder(request, out, overwrite=overwrite, resume=resume, work=work)
    show_record(found.record, out, json_, quiet)


def _dedup_against(
    inputs: tuple[str, ...], out: str, against: Path, options: dict[str, Any]
) -> dict[str, Any]:
    """Do it with ``--against``; return its record.

    Raises:
        SpecError: A setting is given that comes from the old corpus.
    """
    from neardup.api.dedup import dedup as find

    of_batch = (
        *("id", "format", "overwrite", "input_format", "encoding_errors", "delimiter"),
        *("max_document", "skip_large"),
    )
    known = {name: options[name] for name in of_batch}
    other = [name for name in o.given_options() if name not in (*of_batch, *_OF_ALL)]
    if other:
        raise SpecError(
            f"`{other[0]}` does not go with `against`, where the settings are those of the old "
            "corpus, and the first one is kept",
            "leave it out",
        )
    paths, text = [Path(name) for name in inputs], options["text"].split(",")
    return find(paths, text=text, against=against, out=out, **known).summary


def _show_against(counts: dict[str, int]) -> None:
    for name in ("documents", "similar_to_old", "similar_within", "kept"):
        click.echo(f"{counts[name]:>14,}   {name.replace('_', ' ')}", err=True)
    if counts["skipped"]:
        click.echo(f"{counts['skipped']:>14,}   left out, above --max-document", err=True)
