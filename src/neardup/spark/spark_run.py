"""Input and means of any job on Spark, and its result: tables as DataFrames."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from pyspark.sql import DataFrame

from neardup.deduplication.clock import Clock
from neardup.frame.command import Command
from neardup.spark.checks import Ids
from neardup.spark.steps import TASK_BYTES
from neardup.spark.workers import versions
from neardup.spec import check_integer


def command_of(name: str, begins: str, *tables: str) -> Command:
    """Return a command whose tables are folders of Spark, or files."""
    return Command(name, begins, tables, tables, ("parquet", "csv", "tsv", "jsonl"))


@dataclass(frozen=True)
class SparkJob:
    """Documents, how they are read, and with which means: see `neardup.spark.dedup`."""

    df: DataFrame
    text: str = "text"
    id: str = "id"
    against: DataFrame | None = None
    checkpoint: str | None = None
    task_bytes: int = TASK_BYTES
    private_ids: bool = False
    clock: Clock = field(default_factory=Clock)

    def __post_init__(self) -> None:
        check_integer("`task_bytes`", self.task_bytes, 1, 2**63 - 1)

    @property
    def frames(self) -> list[DataFrame]:
        """All that is read."""
        return [self.df] if self.against is None else [self.df, self.against]

    def identity(self, ids: Sequence[Ids]) -> dict[str, Any]:
        """Return values that a checkpoint depends on, with the ``ids`` of each frame."""
        return {
            "text": self.text,
            "id": self.id,
            "task_bytes": self.task_bytes,
            "private_ids": self.private_ids,
            "versions": dict(versions()[:2]),
            "input": [{"documents": each.documents, "hash": each.digest} for each in ids],
        }


@dataclass(frozen=True)
class SparkRun(ABC):
    """The result of a job, as DataFrames.

    Attributes:
        job: The input, and how it was read.
        about: Settings, as plain values.
    """

    job: SparkJob = field(repr=False)
    about: dict[str, Any] = field(repr=False)

    command: ClassVar[Command]

    @property
    def df(self) -> DataFrame:
        """The input."""
        return self.job.df

    @property
    @abstractmethod
    def tables(self) -> dict[str, DataFrame]:
        """The tables that are written, by name; a clean corpus is ``clean``."""

    @property
    @abstractmethod
    def summary(self) -> dict[str, Any]:
        """Settings and counts: members of ``run.json``."""
