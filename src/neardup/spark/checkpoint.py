"""The checkpoint that a job continues from."""

import json
import os
import re
from collections.abc import Callable
from typing import Any, NamedTuple, Self

from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession

from neardup.deduplication.clock import Clock
from neardup.errors import ResumeError
from neardup.files.given_path import GivenPath
from neardup.values.json_values import differences


def hadoop_file(spark: SparkSession, path: str) -> tuple[Any, Any]:
    """Return a path of any file system that Spark knows, and that file system."""
    context: Any = spark.sparkContext
    name = context._jvm.org.apache.hadoop.fs.Path(path)
    return name, name.getFileSystem(context._jsc.hadoopConfiguration())


def placed(spark: SparkSession, path: str) -> str:
    """Return a path for Spark: a local one is absolute, by the directory of this process.

    The process of Spark stays in the directory in which it was started.
    """
    name, system = hadoop_file(spark, path)
    if name.isAbsolute() or system.getUri().getScheme() != "file":
        return path
    return os.fspath(GivenPath.of(path))


def without_history(df: DataFrame) -> DataFrame:
    """Return a persisted table whose plan does not contain those of the tables before it.

    If an executor is lost, Spark can make it again, other than after ``localCheckpoint``.
    """
    java: Any = df._jdf
    session: Any = df.sparkSession
    rows = java.queryExecution().toRdd()
    cut = session._jsparkSession.internalCreateDataFrame(rows, java.schema(), False)
    return DataFrame(cut, session)


class Checkpoint(NamedTuple):
    """Where the tables of finished stages are; without a folder Spark keeps them while it runs."""

    df: DataFrame
    folder: str | None
    clock: Clock

    @classmethod
    def of(cls, df: DataFrame, folder: str | None, clock: Clock) -> Self:
        """Return that of a job, in a folder that is absolute from now on."""
        return cls(df, None if folder is None else placed(df.sparkSession, folder), clock)

    def begin(self, about: dict[str, Any]) -> None:
        """Store the settings of the job; raise ResumeError if another job was begun here."""
        if self.folder is None:
            return
        path, session = f"{self.folder}/about", self.df.sparkSession
        if not self._done(path):
            lines = session.createDataFrame([(json.dumps(about),)], "value string")
            lines.coalesce(1).write.mode("overwrite").text(path)
        try:
            stored = json.loads(session.read.text(path).collect()[0][0])
        except (ValueError, LookupError) as error:
            raise ResumeError(f"{path} is damaged", "use another `checkpoint`") from error
        if found := differences(stored, about):
            message = f"{self.folder}: the checkpoint has other settings or inputs: {found}"
            raise ResumeError(message, "use the same as before, or another `checkpoint`")

    def stage(self, name: str, make: Callable[[], DataFrame], final: bool = False) -> DataFrame:
        """Return the table of a stage, which is not run again if it is stored.

        Without a folder, a final one can't be recomputed if an executor is lost. But its plan does
        not contain those of all earlier stages. They would double with each round.
        """
        with self.clock.stage(re.sub(r"-\d+", "", name)):  # all rounds are one
            return self._made(name, make, final)

    def _made(self, name: str, make: Callable[[], DataFrame], final: bool) -> DataFrame:
        if self.folder is None and final:
            return make().localCheckpoint(storageLevel=StorageLevel.DISK_ONLY)
        if self.folder is None:
            (made := make().persist(StorageLevel.DISK_ONLY)).count()
            return made
        path = f"{self.folder}/{name}"
        if not self._done(path):
            make().write.mode("overwrite").parquet(path)
        return self.df.sparkSession.read.parquet(path)

    def _done(self, path: str) -> bool:
        name, system = hadoop_file(self.df.sparkSession, f"{path}/_SUCCESS")
        return bool(system.exists(name))
