"""Files of a job on Spark: inputs to a DataFrame, and results to a folder."""

import json
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Protocol

import pyarrow as pa
import pyarrow.dataset as ds
from pyspark.sql import DataFrame, SparkSession

from neardup.errors import FormatError, OutputError
from neardup.files.given_path import GivenPath
from neardup.io import paths
from neardup.io.writers import write_tables
from neardup.result_record import RECORD
from neardup.spark.checkpoint import hadoop_file, placed
from neardup.spark.spark_errors import worker_errors
from neardup.state.about_work import about_work
from neardup.state.output_folder import Write, locked_folder, write_record
from neardup.state.run_state import RUN_FOLDER, RunState

_CSV = {"header": True, "multiLine": True, "escape": '"'}
#: Spark's names for formats of text, with their options.
_FORMATS: dict[str, tuple[str, dict[str, Any]]] = {
    "csv": ("csv", _CSV),
    "tsv": ("csv", _CSV | {"sep": "\t"}),
    "jsonl": ("json", {}),
}
#: Options of Spark's readers: by default they take the columns of the first file for all others,
#: and make nulls of values that they can't read, or of those in columns that are not selected.
_STRICT = {"mode": "FAILFAST", "enforceSchema": False, "columnPruning": False}
#: And of its writers: by default they cut blanks, and leave out members that are null.
_CUT = ("ignoreLeadingWhiteSpace", "ignoreTrailingWhiteSpace", "ignoreNullFields")
_UNCUT = dict.fromkeys(_CUT, False)


@contextmanager
def session(master: str | None = None, quiet: bool = False) -> Iterator[SparkSession]:
    """Give the session of spark-submit, or one of this machine; files are for their owner.

    It is stopped at the end, unless there was one before.
    """
    before = SparkSession.getActiveSession()
    if master is None and "PYSPARK_GATEWAY_PORT" not in os.environ:
        master = "local[*]"  # else spark-submit has given one
    settings: dict[str, Any] = {
        "spark.app.name": "neardup",
        "spark.hadoop.fs.permissions.umask-mode": "077",
        "spark.ui.showConsoleProgress": not quiet,
    }
    settings |= {"spark.master": master} if master else {}
    if (master or "").startswith("local"):
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        os.environ.setdefault("PYTHONWARNINGS", "ignore::FutureWarning")  # of PySpark's workers
        # Of 100,000 notes two fifths of the JVM's CPU were the second compiler's, for no gain, and
        # of the rest a tenth that of a garbage collector for short pauses.
        names = "JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS"
        given = "".join(os.environ.get(name, "") for name in names)
        collector = "" if "GC" in given else " -XX:+UseParallelGC"  # Java refuses two
        options = f"-XX:TieredStopAtLevel=1{collector}"
        roles = ("spark.driver.extraJavaOptions", "spark.executor.extraJavaOptions")
        settings |= dict.fromkeys(roles, options)
    umask = os.umask(0o077)  # Spark inherits it
    builder: Any = SparkSession.builder
    try:
        with worker_errors():
            found: SparkSession = builder.config(map=settings).getOrCreate()
    finally:
        os.umask(umask)
    found.sparkContext.setLogLevel("OFF")  # errors come as exceptions
    try:
        yield found
    finally:
        if before is None:
            found.stop()


@worker_errors()
def read(spark: SparkSession, inputs: list[str], format: str | None = None) -> DataFrame:
    """Return files, folders or patterns as a DataFrame.

    Args:
        spark: The session.
        inputs: Paths, as Spark takes them.
        format: ``parquet``, ``jsonl``, ``csv``, ``tsv`` or ``delta``; by the ending without it.

    Raises:
        FormatError: The ending says nothing, or a file is malformed. Most of CSV is read later.
        InputNotFoundError: There is no such file.
    """
    format = format or format_of(inputs[0])
    reader = _with_options(spark.read, format, _STRICT)
    names = [placed(spark, name) for name in inputs]
    found: DataFrame = reader.load(names if format != "delta" else names[0])
    return found


def format_of(name: str) -> str:
    """Return the format that the ending of a path says; FormatError if it says nothing."""
    format, _ = paths.format_of(name.rstrip("/*"))
    if format not in ("parquet", *_FORMATS):
        raise FormatError(f"{name}: the ending names no format of Spark", "give `input_format`")
    return format


def _with_options(side: Any, format: str, options: dict[str, Any]) -> Any:
    """Return a reader or writer of a format, with options if that is one of text."""
    name, defaults = _FORMATS.get(format, (format, None))
    return side.format(name).options(**({} if defaults is None else defaults | options))


class Written(Protocol):
    """The result of a job: tables, and values for ``run.json``."""

    command: ClassVar[str]

    @property
    def df(self) -> DataFrame:
        """The input."""
        ...

    @property
    def text(self) -> str:
        """Its column with the text."""
        ...

    @property
    def id(self) -> str:
        """Its column with the ids."""
        ...

    @property
    def begin(self) -> float:
        """When the job began, on the clock of `time.monotonic`."""
        ...

    @property
    def tables(self) -> dict[str, DataFrame]:
        """The tables by name; a clean corpus is ``clean``."""
        ...

    @property
    def record(self) -> dict[str, Any]:
        """Members of ``run.json`` that depend on the settings and the answer."""
        ...


@contextmanager
def locked(
    spark: SparkSession, folder: str, single_file: bool = False
) -> Iterator[Callable[[Written, str], dict[str, Any]]]:
    """Keep others away from a folder of this machine until the result of a job is written there.

    Args:
        spark: The session.
        folder: Where; Spark must be able to write there.
        single_file: Write each table as one file, with neardup's own writers; then the folder must
            be one of this machine.

    Yields:
        A function that takes a result and the format of the clean corpus, writes the tables and
        ``run.json``, and returns the content of that.

    Raises:
        OutputError: The folder is there, or can't be written to.
        ResumeError: Another process, or thread, of this machine is at work in it.
    """
    if single_file:
        with locked_folder(GivenPath.of(folder), False, [RECORD]) as write_folder:
            yield partial(_write_files, write_folder)
        return
    given, folder = GivenPath.of(folder), placed(spark, folder)
    with given.in_messages(), ExitStack() as holding:
        here = _local(spark, folder)
        if here is not None:
            RunState.refuse_used(here / RUN_FOLDER)
        check_new(spark, folder)
        if here is not None:
            state = RunState.create(here / RUN_FOLDER, overwrite=True, resumable=False)
            holding.callback(state.remove)
        yield partial(_write_tables, folder)


@worker_errors()
def write(
    run: Written, folder: str, format: str = "parquet", single_file: bool = False
) -> dict[str, Any]:
    """Write the clean corpus, the tables and ``run.json`` into a new folder, see `locked`."""
    with locked(run.df.sparkSession, folder, single_file) as write_to:
        return write_to(run, format)


def _write_files(write_folder: Write, run: Written, format: str) -> dict[str, Any]:
    with write_folder() as staged:
        for name, table in run.tables.items():
            _write_one(table, staged, name, _kind(name, format))
        return write_record(staged, run.command, _record(run, format))


@worker_errors()
def _write_tables(folder: str, run: Written, format: str) -> dict[str, Any]:
    spark, tables = run.df.sparkSession, run.tables
    for name, table in tables.items():
        _with_options(table.write, _kind(name, format), _UNCUT).save(f"{folder}/{name}")
    values = _record(run, format)
    if (here := _local(spark, folder)) is not None:
        return write_record(here, run.command, values)
    # How many files each has is not known here.
    files = {**dict.fromkeys(tables, 0), RECORD: None}
    record = {"command": run.command, **values, "files": files}
    path, system = hadoop_file(spark, f"{folder}/{RECORD}")
    stream = system.create(path)
    stream.write(bytearray(json.dumps(record, indent=1).encode()))
    stream.close()
    return record


def _kind(name: str, format: str) -> str:
    return format if name == "clean" else "parquet"


@worker_errors()
def _local(spark: SparkSession, folder: str) -> Path | None:
    """Return a folder of this machine, None for one of another file system."""
    path, system = hadoop_file(spark, folder)
    if system.getUri().getScheme() != "file":
        return None
    return Path(system.makeQualified(path).toUri().getPath())


def _record(run: Written, format: str) -> dict[str, Any]:
    """Return the content of ``run.json``, as far as the job knows it."""
    values, clean = run.record, "clean" in run.tables
    return {
        **about_work({"spark": time.monotonic() - run.begin}, {}),
        **values,
        "source": None,
        "frame": {"text": [run.text], "id": run.id, "input_format": format},
        "secret_ids": run.text == run.id,
        "output": {"clean": clean, "annotate": False, "tables": "parquet", "format": format},
    }


@worker_errors()
def check_new(spark: SparkSession, folder: str) -> None:
    """Raise `OutputError` if there is such a folder, and it is not empty."""
    path, system = hadoop_file(spark, folder)
    there = system.listStatus(path) if system.exists(path) else []
    if {status.getPath().getName() for status in there} - {RUN_FOLDER}:
        raise OutputError(f"{folder} exists", "name another folder, or remove it")


def _write_one(table: DataFrame, folder: Path, name: str, format: str) -> None:
    parts = folder.absolute() / f".{name}"
    table.write.parquet(f"file://{parts}")
    found = ds.dataset(sorted(parts.glob("part-*.parquet")), format="parquet")
    batches = (pa.Table.from_batches([batch]) for batch in found.to_batches())
    write_tables(folder / f"{name}.{format}", batches, format, found.schema)
    shutil.rmtree(parts)
