"""A command for the frame that executes it: names, steps, and results that become files."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import pyarrow as pa

from neardup import __version__
from neardup.deduplication.clock import Clock
from neardup.files.given_path import GivenPath
from neardup.frame.inputs import Input
from neardup.io.remote import Url
from neardup.memory_plan import PrivatePeak
from neardup.options.how_read import OpenInput
from neardup.options.option_groups import Writing
from neardup.output.clean import CleanCorpus
from neardup.result_record import RECORD
from neardup.state.run_state import RunState
from neardup.threads import Pool
from neardup.values.json_values import JSON

#: Calls a function with many values, and yields its results in order: `map`, or one with threads.
Each: TypeAlias = Callable[..., Iterator[pa.Table]]


@dataclass(frozen=True)
class Command:
    """A command that writes an output folder.

    Attributes:
        name: In the record.
        begins: Its first stage, which notes on the beginning are about.
        tables: Tables that it may write.
        corpora: And corpora, which are folders.
        formats: Endings that its tables may have.
        resumes: Whether a run that was killed continues from its last step; else it starts again,
            unless all files were written.
    """

    name: str
    begins: str
    tables: tuple[str, ...]
    corpora: tuple[str, ...] = ()
    formats: tuple[str, ...] = ("parquet",)
    resumes: bool = False

    @property
    def writes(self) -> tuple[str, ...]:
        """Names of the files and folders that it may write."""
        tables = (f"{name}.{ending}" for name in self.tables for ending in self.formats)
        return (*self.corpora, *tables, RECORD)


class TableParts(NamedTuple):
    """A table that is made some rows at a time.

    Attributes:
        parts: Makes its parts, one at least unless there is a schema.
        schema: That of the parts.
        varied: Columns whose values hardly repeat.
        most: Parts that may be begun at a time; 0 for some more than there are threads.
    """

    parts: Callable[[Each], Iterable[pa.Table]]
    schema: pa.Schema | None = None
    varied: tuple[str, ...] = ()
    most: int = 0


@dataclass
class Made:
    """The results of the steps of a command, of which files or tables are made.

    Attributes:
        tables: By name.
        about: Makes the members of the record that are the command's own.
        pool: Threads that write.
        corpora: By the name of the folder; they are written before the tables.
        largest: The table that takes longest: the others are written at the same time. Without it
            they are written one after the other.
        inputs: Inputs that can be read again.
        state: The tables are made of it, if it is pickled with them.
        write: Writes all files but the record into a folder, by itself: there are no tables and
            corpora that the frame could write.
    """

    tables: Mapping[str, TableParts]
    about: Callable[[], dict[str, Any]]
    pool: Pool
    corpora: Mapping[str, CleanCorpus] = field(default_factory=dict)
    largest: str | None = None
    inputs: Mapping[str, Input] = field(default_factory=dict)
    state: Any = None
    write: Callable[[Path], None] | None = None


class Means(NamedTuple):
    """Clock, memory and state that the frame gives to the steps of a command.

    Attributes:
        clock: Times the stages.
        peak: Watches the memory.
        state: The finished work of a run; None where nothing is written.
    """

    clock: Clock
    peak: PrivatePeak
    state: RunState | None = None

    @property
    def folder(self) -> Path | None:
        """For large arrays; None for that of the system."""
        return None if self.state is None else self.state.folder


class Steps(ABC):
    """The work of a command whose inputs are open."""

    @property
    def reads(self) -> Sequence[OpenInput]:
        """The inputs that are read; none of a command that opens them where it needs them."""
        return []

    @property
    def files(self) -> Sequence[Any]:
        """Local files and URLs that are read, and must not be replaced."""
        return [file.location for one in self.reads for file in one.source.files]

    @property
    def comparable(self) -> bool:
        """Whether the inputs can be compared with those of another call."""
        return all(one.source.files and one.source.rereadable for one in self.reads)

    def identity(self) -> dict[str, JSON]:
        """Return the version and the inputs, for the manifest."""
        return {"neardup": __version__, "inputs": [one.identity() for one in self.reads]}

    @abstractmethod
    def manifest(self) -> dict[str, JSON]:
        """Return the settings and inputs that the result depends on."""

    @abstractmethod
    def work(self, means: Means) -> AbstractContextManager[Made]:
        """Do the work; files are written while it is open, and published afterwards.

        Raises:
            SpecError: The memory does not suffice; before any work.
        """

    def is_settled(self, state: RunState) -> bool:
        """Return whether all that a run changes elsewhere is there, once its files are written."""
        return True

    def close(self, done: bool) -> bool:
        """Clear up outside the output folder, at the end or after an error.

        Returns:
            Whether the state of the run must stay, since something could not be removed.
        """
        return False


@dataclass
class Saving(Steps):
    """Results in memory that are written; nothing is read.

    Attributes:
        made: Gives them; its arguments are further members of their record.
        asked: The settings and inputs that they depend on.
        record: Their record so far, of which time and memory are kept.
    """

    made: Callable[..., AbstractContextManager[Made]]
    asked: dict[str, JSON]
    record: Mapping[str, Any]
    reads: Sequence[OpenInput] = ()

    def manifest(self) -> dict[str, JSON]:
        return self.asked

    def work(self, means: Means) -> AbstractContextManager[Made]:
        names = ("seconds", "peak_memory", "peak_private_memory")
        return self.made(**{name: self.record[name] for name in names if name in self.record})


@dataclass(frozen=True)
class Request:
    """A call of a command.

    Attributes:
        command: The command.
        given: Files, folders, patterns and URLs that it reads; none of a frame.
        writing: How the result is written, and where.
        clock: Times the stages.
        open: Opens the inputs. Pipes are copied into the state of the run, if there is one.
    """

    command: Command
    given: Sequence[Url | GivenPath]
    writing: Writing
    clock: Clock
    open: Callable[[RunState | None], Steps]
