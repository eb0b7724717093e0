"""Results of jobs on Spark as output folders, by the frame of all commands."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
from pyspark.sql import DataFrame, SparkSession

from neardup import __version__
from neardup.errors import OutputError, SpecError
from neardup.files.given_path import GivenPath
from neardup.frame.command import Made, Means, Request, Steps
from neardup.frame.execute import about_call, execute
from neardup.frame.run import Run, class_of
from neardup.frame.storage import PartsStorage, Storage
from neardup.io.remote import Url, located
from neardup.io.writers import write_tables
from neardup.memory_plan import PrivatePeak
from neardup.options.option_groups import Writing
from neardup.output.clean import CLEAN
from neardup.result_record import RECORD
from neardup.spark.checkpoint import hadoop_file
from neardup.spark.files import UNCUT, with_options
from neardup.spark.spark_errors import worker_errors
from neardup.spark.spark_run import SparkJob, SparkRun
from neardup.state.run_state import RUN_FOLDER
from neardup.threads import Pool
from neardup.values.json_values import JSON


@dataclass(frozen=True)
class SparkSteps(Steps):
    """A job whose input is open.

    Attributes:
        job: Its input.
        find: Does the work.
        spec: Its settings, as plain values.
        format: Of the clean corpus.
        single_file: Write each table as one file, with the writers of neardup.
        comparable: Whether the input is files, which can be compared with those of another call.
    """

    job: SparkJob
    find: Callable[[], SparkRun]
    spec: dict[str, JSON]
    format: str
    single_file: bool
    comparable: bool = False

    @property
    def files(self) -> Sequence[Any]:
        return on_this_machine(name for df in self.job.frames for name in df.inputFiles())

    @worker_errors()
    def manifest(self) -> dict[str, JSON]:
        job = self.job
        return {
            "neardup": __version__,
            "engine": "spark",
            "spec": self.spec,
            "read": [job.text, job.id, job.private_ids],
            "output": [self.format, self.single_file],
            "inputs": [_identity(df) for df in job.frames] if self.comparable else None,
        }

    @contextmanager
    def work(self, means: Means) -> Iterator[Made]:
        with worker_errors():
            run = self.find()
        about, write = partial(self.about, run), partial(self.write, run)
        yield Made({}, about, Pool(1), write=lambda staged: write(f"file://{staged.absolute()}"))

    @worker_errors()
    def about(self, run: SparkRun) -> dict[str, Any]:
        """Return the members of the record that this job has."""
        job = self.job
        output = {"clean": CLEAN in run.tables, "annotate": False, "tables": "parquet"}
        return {
            "engine": "spark",
            **run.summary,
            "source": None,
            "frame": {"text": [job.text], "id": job.id, "input_format": self.format},
            "secret_ids": job.text == job.id,
            "private_ids": job.private_ids,
            "output": {**output, "format": self.format},
        }

    @worker_errors()
    def write(self, run: SparkRun, folder: str) -> None:
        """Write all tables into a folder that Spark reaches."""
        for name, table in run.tables.items():
            format = self.format if name == CLEAN else "parquet"
            if self.single_file:
                _write_one(table, Path(folder.removeprefix("file://")), name, format)
            else:
                with_options(table.write, format, UNCUT).save(f"{folder}/{name}")


def on_this_machine(names: Iterable[str]) -> list[Url | GivenPath]:
    """Return the paths on this machine: no others can be in the way of an output there."""
    return [located(name) for name in names if name.startswith("file:") or "://" not in name]


def _identity(df: DataFrame) -> list[JSON]:
    """Return name, bytes and time of each file of an input."""
    found: list[JSON] = []
    context: Any = df.sparkSession.sparkContext
    for name in sorted(df.inputFiles()):
        path = context._jvm.org.apache.hadoop.fs.Path(context._jvm.java.net.URI(name))
        status = path.getFileSystem(context._jsc.hadoopConfiguration()).getFileStatus(path)
        found.append([name, status.getLen(), status.getModificationTime()])
    return found


def _write_one(table: DataFrame, folder: Path, name: str, format: str) -> None:
    parts = folder / f".{name}"
    table.write.parquet(f"file://{parts}")
    found = ds.dataset(sorted(parts.glob("part-*.parquet")), format="parquet")
    batches = (pa.Table.from_batches([batch]) for batch in found.to_batches())
    write_tables(folder / f"{name}.{format}", batches, format, found.schema)
    shutil.rmtree(parts)


def write(
    run: SparkRun,
    folder: str,
    format: str = "parquet",
    single_file: bool = False,
    overwrite: bool = False,
) -> Run[Any]:
    """Write the clean corpus, the tables and ``run.json`` into a folder.

    Args:
        run: The result of a job.
        folder: Where; Spark must be able to write there.
        format: Of the clean corpus: ``parquet``, ``jsonl``, ``csv`` or ``tsv``.
        single_file: Write each table as one file, with neardup's own writers; then the folder must
            be one of this machine.
        overwrite: Replace the output of an earlier run, in a folder of this machine.

    Returns:
        The result, as `neardup.open` gives it.

    Raises:
        OutputError: The folder is there, or can't be written to.
        ResumeError: Another process, or thread, of this machine is at work in it.
    """
    steps = SparkSteps(run.job, lambda: run, run.about["spec"], format, single_file)
    writing = Writing(out=folder, overwrite=overwrite)
    request = Request(run.command, [], writing, run.job.clock, lambda state: steps)
    return class_of(run.command.name)(execute_on(run.df.sparkSession, request, single_file))


def execute_on(spark: SparkSession, request: Request, single_file: bool = False) -> Storage:
    """Do a job whose result is written, in the order of all commands.

    Raises:
        OutputError: The output exists, or can't be written.
        ResumeError: The run to resume has other settings or inputs.
        SpecError: The folder is of a file system that has no way to replace or resume an output.
    """
    folder = str(request.writing.out)
    if single_file or _is_local(spark, folder):
        return execute(request)
    return _elsewhere(spark, request, folder)


def _elsewhere(spark: SparkSession, request: Request, folder: str) -> Storage:
    """Do a job whose result goes to a file system that only Spark is sure to reach.

    Its writers commit each table there by themselves. There is no lock and no exchange of folders,
    and nothing is stored on a disk of this machine: so an output is new, and its record comes last.
    """
    writing, clock = request.writing, request.clock
    for name in ("overwrite", "resume"):
        if getattr(writing, name):
            raise SpecError(f"`{name}` needs a folder of this machine", "name a new folder")
    check_new(spark, folder)
    with PrivatePeak() as peak:
        steps = request.open(None)
        assert isinstance(steps, SparkSteps)
        with worker_errors():
            run = steps.find()
        with clock.stage("write tables"):
            steps.write(run, folder)
        about = about_call(request, steps.manifest(), peak) | steps.about(run)
    # How many files each has is not known here.
    record = about | {"files": {**dict.fromkeys(run.tables, 0), RECORD: None}}
    path, system = hadoop_file(spark, f"{folder}/{RECORD}")
    with worker_errors():
        stream = system.create(path)
        stream.write(bytearray(json.dumps(record, indent=1).encode()))
        stream.close()
    return PartsStorage(Url(folder), record)


@worker_errors()
def _is_local(spark: SparkSession, folder: str) -> bool:
    """Return whether a folder is one of this machine."""
    _, system = hadoop_file(spark, folder)
    return bool(system.getUri().getScheme() == "file")


@worker_errors()
def check_new(spark: SparkSession, folder: str) -> None:
    """Raise `OutputError` if there is such a folder, and it is not empty."""
    path, system = hadoop_file(spark, folder)
    there = system.listStatus(path) if system.exists(path) else []
    if {status.getPath().getName() for status in there} - {RUN_FOLDER}:
        raise OutputError(f"{folder} exists", "name another folder, or remove it")
