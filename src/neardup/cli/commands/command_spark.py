"""``neardup spark``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from neardup.cli import options as o
from neardup.cli.showing import show_record
from neardup.errors import SpecError


@o.grouped(
    "neardup spark notes.parquet -o out --id note_id --preset clinical\n"
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
    json_: bool,
    quiet: bool,
    **options: Any,
) -> None:
    """Find near-duplicates in INPUT on Apache Spark.

    INPUT is Parquet, JSON lines, CSV, TSV or a Delta table, anywhere that Spark reads. The
    answer is that of neardup dedup --order-by COLUMN with the column of the ids.

    OUT gets clean/ (the kept documents), clusters/ and, where pairs are listed, edges/, each a
    folder that Spark writes, and run.json.
    """
    if single_file and "://" in out:
        raise SpecError("`single_file` needs a folder of this machine")
    asked = o.spec_of(options)
    from neardup.spark import files, spark_job
    from neardup.state.output_folder import check_folder

    with files.session(master, quiet) as session:
        if single_file:
            check_folder(Path(out), False)
        else:
            files.check_new(session, out)
        df = files.read(session, list(inputs), input_format)
        old = None if against is None else files.read(session, [against], input_format)
        how: dict[str, Any] = {"checkpoint": checkpoint, "private_ids": private_ids}
        run = spark_job.dedup(df, text=text, id=id, against=old, spec=asked, **how)
        known = format or input_format or files.format_of(inputs[0])
        known = "parquet" if known == "delta" else known
        record = files.write(run, out, known, single_file)
    show_record(record, out, json_, quiet)
