"""The session of a job on Spark, and its files as DataFrames."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from neardup.errors import FormatError
from neardup.io import paths
from neardup.spark.checkpoint import placed
from neardup.spark.spark_errors import worker_errors

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
UNCUT: dict[str, Any] = dict.fromkeys(_CUT, False)


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
    reader = with_options(spark.read, format, _STRICT)
    names = [placed(spark, name) for name in inputs]
    found: DataFrame = reader.load(names if format != "delta" else names[0])
    return found


def format_of(name: str) -> str:
    """Return the format that the ending of a path says; FormatError if it says nothing."""
    format, _ = paths.format_of(name.rstrip("/*"))
    if format not in ("parquet", *_FORMATS):
        raise FormatError(f"{name}: the ending names no format of Spark", "give `input_format`")
    return format


def with_options(side: Any, format: str, options: dict[str, Any]) -> Any:
    """Return a reader or writer of a format, with options if that is one of text."""
    name, defaults = _FORMATS.get(format, (format, None))
    return side.format(name).options(**({} if defaults is None else defaults | options))
