"""``neardup spark``."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

from neardup.cli import command_options as o
from neardup.cli.showing import show_record
from neardup.copied_passages.passage_spec import PassageSpec
from neardup.errors import SpecError
from neardup.spec import ShingleSpec, Spec

_PASSAGES = {field.name for field in fields(PassageSpec)}
#: Options of passages only, and those that both kinds of jobs have.
_OF_PASSAGES = _PASSAGES - {field.name for kind in (Spec, ShingleSpec) for field in fields(kind)}
_OF_BOTH = {"preset", *_PASSAGES} - _OF_PASSAGES
_OF_DEDUP = {field.name for kind in (Spec, ShingleSpec) for field in fields(kind)} - _OF_BOTH


def _refuse_others(passages: bool) -> None:
    """Raise SpecError for an option that the other kind of job has."""
    for name in o.given_options():
        if passages and name in _OF_DEDUP:
            raise SpecError(f"`{name}` does not apply to `passages`", "leave it out")
        if not passages and name in _OF_PASSAGES:
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
@o.of_output(
    "--checkpoint FOLDER",
    type=str,
    help="Store finished stages there; the same command continues from them.",
)
@o.private_ids_option
@o.spec_options
@o.compared("--passages", help="Find copied passages, as neardup passages does, not duplicates.")
@o.shared(PassageSpec, but=_OF_BOTH)
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
    asked: dict[str, Any]
    if passages:
        names = _PASSAGES | ({"preset"} & set(o.given_options()))
        asked = o.chosen({name: options[name] for name in names})
    else:
        settings = options.keys() & (_OF_BOTH | _OF_DEDUP)
        asked = {"spec": o.spec_of({name: options[name] for name in settings})}
    from neardup import spark as job
    from neardup.spark import files
    from neardup.state.run_state import RUN_FOLDER, RunState

    RunState.refuse_used(Path(out) / RUN_FOLDER)  # before Spark starts, which takes seconds
    quiet, against = options["quiet"], options["against"]
    with (
        files.session(options["master"], quiet) as session,
        files.locked(session, out, single_file) as write,
    ):
        df = files.read(session, list(inputs), input_format)
        old = None if against is None else files.read(session, [against], input_format)
        how = {name: options[name] for name in ("text", "id", "checkpoint", "private_ids")}
        run = (job.passages if passages else job.dedup)(df, against=old, **asked, **how)
        known = options["format"] or input_format or files.format_of(inputs[0])
        known = "parquet" if known == "delta" else known
        record = write(run, known)
    show_record(record, out, options["json_"], quiet)
