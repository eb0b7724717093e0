"""What is refused before the work, and the checkpoint that a job continues from."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

from pyspark import StorageLevel
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from neardup import errors
from neardup.errors import ColumnError, DependencyError, DuplicateIdError, InputError, ResumeError
from neardup.spark.tasks import Work, check_versions
from neardup.spec import Spec
from neardup.state.json_values import differences

_IDS = ("string", "bigint", "int", "smallint", "tinyint")
#: Whole numbers as text, which are ordered as numbers, as one machine does; and other numbers.
_WHOLE, _NUMBER = "^(0|-?[1-9][0-9]{0,17})$", r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"


@contextmanager
def worker_errors() -> Iterator[None]:
    """Raise an error of ours that a worker raised as what it is, in one line."""
    try:
        yield
    except PySparkException as error:
        text = str(error)
        if found := re.search(r"neardup\.errors\.(\w+): ([^\n]*)(?:\nhint: ([^\n]*))?", text):
            kind = getattr(errors, found[1])
            raise kind(found[2], found[3] or "") from error
        if "No module named" in text or "PYTHON_VERSION_MISMATCH" in text:
            missing = re.search(r"No module named '([\w.]+)'", text)
            what = f"{missing[1]} is not installed" if missing else "Python has another version"
            hint = "install neardup with the same versions on all machines"
            raise DependencyError(f"{what} on an executor", hint) from error
        raise


def check_columns(df: DataFrame, text: str, id: str, spec: Spec) -> None:
    """Refuse columns that are not there, or of another type.

    Raises:
        ColumnError: The message names the column.
    """
    types = dict(df.dtypes)
    keep = spec.keep.partition(":")[2]
    for setting, name in (("text", text), ("id", id), *([("keep", keep)] if keep else [])):
        if name not in types:
            raise ColumnError(
                f"`{setting}` is {name!r}, and there is no such column",
                f"there are {', '.join(types)}",
            )
    if types[text] != "string":
        raise ColumnError(f"column {text!r} is of type {types[text]}; expected string")
    if types[id] not in _IDS:
        raise ColumnError(f"column {id!r} is of type {types[id]}; expected string or whole numbers")


def check_executors(df: DataFrame, work: Work) -> None:
    """Refuse to start where executors have other versions than the driver.

    Raises:
        DependencyError: The message names the first that differs, or is missing.
    """
    context = df.sparkSession.sparkContext
    tasks = max(2, context.defaultParallelism)
    with worker_errors():
        context.parallelize(range(tasks), tasks).foreach(partial(check_versions, work=work))


@dataclass(frozen=True)
class Ids:
    """What is known of the ids: how many, whether all are whole numbers as text, and a hash."""

    documents: int
    numeric: bool
    digest: int


def check_ids(df: DataFrame, id: str) -> Ids:
    """Make sure that every document has an id of its own.

    Raises:
        DuplicateIdError: The message names one that is there twice.
        InputError: There are no documents.
    """
    groups = df.groupBy(f.col(id).alias("id")).count()
    found: Any = groups.agg(
        f.sum("count"),
        f.min(f.when(f.col("count") > 1, f.col("id"))),
        f.sum(f.col("id").isNull().cast("long")),
        f.bool_and(f.col("id").cast("string").rlike(_WHOLE)),
        f.bit_xor(f.xxhash64("id")),
    ).first()
    documents, doubled, nulls, numeric, digest = found
    if not documents:
        raise InputError("the input holds no documents", "is this the right table?")
    hint = "give a column in which each value is there once"
    if nulls:
        raise DuplicateIdError(f"a document has no id in column {id!r}", hint)
    if doubled is not None:
        message = f"two documents have the id {str(doubled)[:40]!r} in column {id!r}"
        raise DuplicateIdError(f"{message}; ids must be unique", hint)
    return Ids(documents, bool(numeric) and dict(df.dtypes)[id] == "string", digest)


def as_numbers(df: DataFrame, name: str) -> DataFrame:
    """Return a column of text as numbers if all of its values are; CSV has no others."""
    if not name or dict(df.dtypes)[name] != "string":
        return df
    column = f.col(name)
    tests = (f.bool_and(column.rlike(pattern)) for pattern in (_WHOLE, _NUMBER))
    whole, number = df.agg(*tests).first() or (False, False)
    kind = "bigint" if whole else "double" if number else "string"
    return df.withColumn(name, column.cast(kind))


def hadoop_file(spark: SparkSession, path: str) -> tuple[Any, Any]:
    """Return a path of any file system that Spark knows, and that file system."""
    context: Any = spark.sparkContext
    name = context._jvm.org.apache.hadoop.fs.Path(path)
    return name, name.getFileSystem(context._jsc.hadoopConfiguration())


@dataclass(frozen=True)
class Checkpoint:
    """Where the tables of finished stages are; without a folder Spark keeps them while it runs."""

    df: DataFrame
    folder: str | None

    def begin(self, about: dict[str, Any], ids: Ids) -> None:
        """Write down what the job is, or make sure that it is the one that was begun.

        Raises:
            ResumeError: The checkpoint is of other settings or another input.
        """
        if self.folder is None:
            return
        files = [[name, *self._status(name)] for name in sorted(self.df.inputFiles())]
        listed = hashlib.sha256(json.dumps(files).encode()).hexdigest()
        about |= {"input": {"documents": ids.documents, "ids": ids.digest, "files": listed}}
        path, session = f"{self.folder}/about", self.df.sparkSession
        if not self._done(path):
            lines = session.createDataFrame([(json.dumps(about),)], "value string")
            lines.coalesce(1).write.mode("overwrite").text(path)
        stored = json.loads(session.read.text(path).collect()[0][0])
        if found := differences(stored, json.loads(json.dumps(about))):
            message = f"{self.folder}: the checkpoint has other settings or inputs: {found}"
            raise ResumeError(message, "use the same as before, or another `checkpoint`")

    def stage(self, name: str, make: Callable[[], DataFrame]) -> DataFrame:
        """Return the table of a stage, which is not run again if it is stored."""
        if self.folder is None:
            made = make().persist(StorageLevel.DISK_ONLY)
            with worker_errors():
                made.count()
            return made
        path, session = f"{self.folder}/{name}", self.df.sparkSession
        if not self._done(path):
            with worker_errors():
                make().write.mode("overwrite").parquet(path)
        return session.read.parquet(path)

    def _done(self, path: str) -> bool:
        name, system = self._file(f"{path}/_SUCCESS")
        return bool(system.exists(name))

    def _status(self, path: str) -> list[int]:
        name, system = self._file(path)
        found = system.getFileStatus(name)
        return [found.getLen(), found.getModificationTime()]

    def _file(self, path: str) -> tuple[Any, Any]:
        return hadoop_file(self.df.sparkSession, path)
