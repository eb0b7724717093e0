"""``neardup spark``."""

from __future__ import annotations

from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import Any

from neardup.cli import command_options as o
from neardup.cli.showing import show_record
from neardup.copied_passages.passage_spec import PassageSpec
from neardup.deduplication.clock import Clock
from neardup.errors import SpecError
from neardup.options.option_groups import Writing
from neardup.spec import ShingleSpec, Spec

_PASSAGES = {field.name for field in fields(PassageSpec)}
#: Options of duplicates; of passages, the only ones with boilerplate on Spark; and of both kinds.
_DEDUP = {field.name for kind in (Spec, ShingleSpec) for field in fields(kind)} - {"boilerplate"}
_OF_PASSAGES = _PASSAGES - _DEDUP
_OF_BOTH = {"preset", *_PASSAGES} - _OF_PASSAGES
_OF_DEDUP = _DEDUP - _OF_BOTH


def _refuse_others(passages: bool) -> None:
    """Raise SpecError for an option that the other kind of job has."""
    for name in o.given_options():
        if passages and name in _OF_DEDUP:
            raise SpecError(f"`{name}` does not apply to `passages`", "leave it out")
        if not passages and name in {*_OF_PASSAGES, "no_text"}:
            raise SpecError(f"`{name}` is for copied passages", "add `passages`")


@o.grouped(
    "neardup spark notes.parquet -o out --id note_id --preset clinical\n"
    "neardup spark notes.parquet -o out --id note_id --passages --within patient\n"
    "spark-submit neardup-spark.py hdfs:///notes/*.parquet -o hdfs:///out --id note_id"
)
@o.inputs_argument
@o.out_option
@o.of_input("--id COLUMN", required=True, help="Column with unique ids.")
@o.of_input("--text COLUMN", default="text", help="Column with the text.")
@o.of_input(
    "--against PATH",
    help="Old corpus: its documents stay, and documents similar to one of them are removed.",
)
@o.of_input(
    "--input-format [parquet|jsonl|csv|tsv|delta]",
    help="Format of the input. [default: by its ending]",
)
@o.of_output(
    "--format [parquet|jsonl|csv|tsv]",
    help="Format of the clean corpus. [default: that of the input]",
)
@o.of_output("--single-file", help="Write each output as one local file.")
@o.shared(Writing, "overwrite", "resume")
@o.of_output(
    "--checkpoint FOLDER",
    type=str,
    help="Store finished stages there; the same command with --resume continues from them.",
)
@o.private_ids_option
@o.spec_options
@o.compared("--passages", help="Find copied passages, as neardup passages does, not duplicates.")
@o.shared(PassageSpec, but=_OF_BOTH)
@o.of_output("--no-text", help="Leave the texts of boilerplate out of its table.")
@o.of_resources(
    "--master URL",
    help="Spark master, such as local[*]. [default: that of spark-submit, or local[*]]",
)
@o.json_option
@o.quiet_option
def spark(
    inputs: tuple[str, ...],
    out: str,
    input_format: str | None,
    single_file: bool,
    passages: bool,
    no_text: bool,
    overwrite: bool,
    resume: bool,
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
    _refuse_others(passages)
    from neardup.spark import need_pyspark

    need_pyspark()
    from neardup.copied_passages.on_spark import passage_job
    from neardup.frame.command import Request
    from neardup.spark import files, spark_job, writing
    from neardup.spark.spark_run import SparkJob
    from neardup.spec import plain_values
    from neardup.state.run_state import RUN_FOLDER, RunState

    job: Any = passage_job if passages else spark_job
    if passages:
        settings = o.chosen({name: options[name] for name in _PASSAGES})
        spec = job.spec_of(settings, options["preset"] if o.given_options("preset") else None)
    else:
        chosen = options.keys() & (_OF_BOTH | _OF_DEDUP)
        spec = o.spec_of({name: options[name] for name in chosen})
    RunState.refuse_used(Path(out) / RUN_FOLDER)  # before Spark starts, which takes seconds
    against, clock = options["against"], Clock()
    read = writing.on_this_machine(filter(None, (*inputs, against)))
    format = options["format"] or input_format or files.format_of(inputs[0])
    format = "parquet" if format == "delta" else format
    how = {name: options[name] for name in ("text", "id", "checkpoint", "private_ids")}
    with files.session(options["master"], options["quiet"]) as session:

        def opened(_: object) -> writing.SparkSteps:
            df = files.read(session, list(inputs), input_format)
            old = None if against is None else files.read(session, [against], input_format)
            given = SparkJob(df, against=old, clock=clock, **how)
            more = {"texts": not no_text} if passages else {}
            find = partial(job.find, given, spec, **more)
            return writing.SparkSteps(given, find, plain_values(spec), format, single_file, True)

        written = Writing(out=out, overwrite=overwrite, resume=resume)
        request = Request(job.COMMAND, read, written, clock, opened)
        found = writing.execute_on(session, request, single_file)
    show_record(found.record, out, options["json_"], options["quiet"])
