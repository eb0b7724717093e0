"""``neardup spark``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from neardup.cli import command_options as o
from neardup.cli.showing import show_record
from neardup.errors import SpecError

#: Options that both kinds of jobs have, and those of passages.
_OF_BOTH = (
    *("preset", "order_by", "stem", "keep_case", "nfkc", "strip_accents", "ignore"),
    "stop_passages",
)
_OF_PASSAGES = (
    *("words", "within", "across", "name_source", "boilerplate", "bridge"),
    *_OF_BOTH,
)
#: Options of neither.
_OF_ALL = (
    *("inputs", "out", "id", "text", "against", "input_format", "single_file", "checkpoint"),
    *("master", "private_ids", "passages", "json_", "quiet"),
)


def _refuse_others(passages: bool) -> None:
    """Raise SpecError for an option that the other kind of job has."""
    for name in o.given_options():
        if passages and name not in (*_OF_ALL, *_OF_PASSAGES):
            raise SpecError(f"`{name}` does not apply to `passages`", "leave it out")
        if not passages and name in _OF_PASSAGES and name not in _OF_BOTH:
            raise SpecError(f"`{name}` is for copied passages", "add `passages`")


@o.grouped(
    "neardup spark notes.parquet -o out --id note_id --preset clinical\n"
    "neardup spark notes.parquet -o out --id note_id --passages --within patient\n"
    "spark-submit neardup-spark.py hdfs:///notes/*.parquet -o hdfs:///out --id note_id"
)
@o.inputs_argument
@o.out_option
@o.option("--id", metavar="COLUMN", required=True, group=o.INPUT, help="Column with unique ids.")
@o.option("--text", metavar="COLUMN", default="text", group=o.INPUT, help="Column with the text.")
@o.option(
    "--against",
    metavar="PATH",
    group=o.INPUT,
    help="Old corpus: its documents stay, and documents similar to one of them are removed.",
)
@o.option(
    "--input-format",
    type=click.Choice(["parquet", "jsonl", "csv", "tsv", "delta"]),
    group=o.INPUT,
    help="Format of the input. [default: by its ending]",
)
@o.option(
    "--format",
    type=click.Choice(["parquet", "jsonl", "csv", "tsv"]),
    group=o.OUTPUT,
    help="Format of the clean corpus. [default: that of the input]",
)
@o.option(
    "--single-file", is_flag=True, group=o.OUTPUT, help="Write each output as one local file."
)
@o.option(
    "--checkpoint",
    metavar="FOLDER",
    group=o.OUTPUT,
    help="Store finished stages there; the same command continues from them.",
)
@o.private_ids_option
@o.spec_options
@o.compared("--passages", help="Find copied passages, as neardup passages does, not duplicates.")
@o.compared("--words L", type=int, help="As for neardup passages, with --passages.")
@o.compared("--within COLUMN", help="The same.")
@o.compared("--across COLUMN", help="The same.")
@o.compared("--source [longest|latest|first]", "name_source", help="The same.")
@o.compared("--boilerplate N", type=int, help="The same.")
@o.compared("--bridge G", type=int, help="The same.")
@o.option(
    "--master",
    metavar="URL",
    group=o.RESOURCES,
    help="Spark master, such as local[*]. [default: that of spark-submit, or local[*]]",
)
@o.json_option
@o.quiet_option
def spark(
    inputs: tuple[str, ...],
    out: str,
    id: str,
    text: str,
    against: str | None,
    input_format: str | None,
    format: str | None,
    single_file: bool,
    checkpoint: str | None,
    master: str | None,
    private_ids: bool,
    passages: bool,
    json_: bool,
    quiet: bool,
    **options: Any,
) -> None:
    """Find near-duplicates, or copied passages, in INPUT on Apache Spark.

    INPUT is Parquet, JSON lines, CSV, TSV or a Delta table, anywhere that Spark reads. The
    answer is that of neardup dedup --order-by COLUMN with the column of the ids.

    OUT gets clean/ (the kept documents), clusters/ and, where pairs are listed, edges/, each a
    folder that Spark writes, and run.json. With --passages these are passages/, documents/ and,
    where it is looked for, boilerplate/: the tables of neardup passages.
    """
    if single_file and "://" in out:
        raise SpecError("`single_file` needs a folder of this machine")
    of_passages = {name: options.pop(name) for name in _OF_PASSAGES if name not in _OF_BOTH}
    _refuse_others(passages)
    asked: dict[str, Any]
    if passages:
        of_passages |= {name: options[name] for name in _OF_BOTH}
        of_passages = {k: v for k, v in of_passages.items() if v is not None}
        if not o.given_options("preset"):
            of_passages.pop("preset", None)
        asked = of_passages
    else:
        asked = {"spec": o.spec_of(options)}
    from neardup import spark as job
    from neardup.spark import files
    from neardup.state.run_state import RUN_FOLDER, RunState

    RunState.refuse_used(Path(out) / RUN_FOLDER)  # before Spark starts, which takes seconds
    with files.session(master, quiet) as session, files.locked(session, out, single_file) as write:
        df = files.read(session, list(inputs), input_format)
        old = None if against is None else files.read(session, [against], input_format)
        how: dict[str, Any] = {"checkpoint": checkpoint, "private_ids": private_ids}
        find = job.passages if passages else job.dedup
        run = find(df, text=text, id=id, against=old, **asked, **how)
        known = format or input_format or files.format_of(inputs[0])
        known = "parquet" if known == "delta" else known
        record = write(run, known)
    show_record(record, out, json_, quiet)
