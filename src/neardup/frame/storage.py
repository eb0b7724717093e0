"""How results are stored: in memory, or in a folder or at a URL."""

from __future__ import annotations

import dataclasses
import functools
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from neardup.errors import InputError, InputNotFoundError, ResumeError
from neardup.files.given_path import GivenPath, current_directory
from neardup.frame.inputs import Input, RecordedInput
from neardup.frame.parts import in_order
from neardup.io.frames import FrameSource
from neardup.io.remote import Url, located, open_remote
from neardup.io.remote_errors import failed, is_of_transfer
from neardup.options.how_read import HowRead
from neardup.output.clean import CLEAN
from neardup.output.publishing import remote_names
from neardup.result_record import RECORD
from neardup.result_record.decoding import (
    again,
    header_of,
    kind_of,
    require_command,
    require_members,
)
from neardup.state.about_work import FORMAT
from neardup.state.run_state import RUN_FOLDER, RunState

#: Further errors that damaged tables and records raise.
DAMAGED = ValueError, LookupError, TypeError, AttributeError, RecursionError
#: The inputs of a result: the member of the record about each.
SOURCE, OLD = "source", "against"


class Storage(ABC):
    """Record, tables and inputs of a result."""

    #: The content of ``run.json``, see ``docs/formats.md``.
    record: dict[str, Any]
    #: In messages.
    name: str = "the run"
    #: The output folder; None in memory, or at a URL.
    folder: Path | None = None
    #: The state of which the tables were made, as long as this process has it.
    made: Any = None

    @property
    def again(self) -> str:
        """The remedy for results that are damaged, or no longer those of their input."""
        record: dict[str, Any] | None = getattr(self, "record", None)  # while it is read
        return "run the command again" if record is None else again(kind_of(record))

    @abstractmethod
    def has(self, name: str) -> bool:
        """Return whether there is a table, or a corpus that was written."""

    @abstractmethod
    def table(self, name: str, columns: Sequence[str] | None = None) -> pa.Table:
        """Return a table that is there, with the columns named."""

    def batches(self, name: str, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Yield some columns of a table, a batch at a time."""
        yield from self.table(name, columns).to_batches()

    @abstractmethod
    def corpus(self, input: str = SOURCE) -> Input:
        """Return an input, or a corpus that was written; InputError where it can't be read."""

    @abstractmethod
    def clean(self) -> pa.Table:
        """Return the corpus that was written, or else the input, as a table."""

    @property
    @abstractmethod
    def frame(self) -> FrameSource | None:
        """The frame that the run was given, while this process has it."""

    @property
    @abstractmethod
    def inputs(self) -> list[GivenPath]:
        """The local files that the run has read, as far as they can be found."""

    @property
    @abstractmethod
    def read_from(self) -> list[Url | GivenPath]:
        """Files, folders, patterns and URLs that it was given; none of a frame."""

    @abstractmethod
    def reduced(self) -> tuple[Callable[..., Storage], tuple[Any, ...]]:
        """Return a function and its arguments that make the same in another process."""


Tables = Mapping[str, pa.Table | Callable[[], pa.Table]]


class MemoryStorage(Storage):
    """Results in memory; tables are made when they are asked for.

    Args:
        record: The record, or what makes it.
        tables: By name, or what makes them.
        corpora: The inputs.
        made: See `Storage.made`; it is pickled, and so are the functions that make the tables.
        clean: Makes the corpus that would be written, if that is not the input.
    """

    def __init__(
        self,
        record: dict[str, Any] | Callable[[], dict[str, Any]],
        tables: Tables,
        corpora: Mapping[str, Input],
        made: Any = None,
        clean: pa.Table | Callable[[], pa.Table] | None = None,
    ) -> None:
        self._record, self._tables, self._corpora = record, tables, corpora
        self.made, self._clean = made, clean
        self._known: dict[str, pa.Table] = {}

    @functools.cached_property
    def record(self) -> dict[str, Any]:  # type: ignore[override]
        return self._record() if callable(self._record) else self._record

    def has(self, name: str) -> bool:
        return name in self._tables

    def table(self, name: str, columns: Sequence[str] | None = None) -> pa.Table:
        if name not in self._known:
            self._known[name] = _table_of(self._tables[name])
        found = self._known[name]
        return found if columns is None else found.select(list(columns))

    def corpus(self, input: str = SOURCE) -> Input:
        return self._corpora[input]

    def clean(self) -> pa.Table:
        return self.corpus().every().table() if self._clean is None else _table_of(self._clean)

    @property
    def frame(self) -> FrameSource | None:
        return _frame_of(self._corpora.get(SOURCE))

    @property
    def inputs(self) -> list[GivenPath]:
        files = self.corpus().reader.source.files
        return [file.given for file in files if file.copy is None and not file.is_remote]

    @property
    def read_from(self) -> list[Url | GivenPath]:
        return self.corpus().opened.given

    def reduced(self) -> tuple[Callable[..., Storage], tuple[Any, ...]]:
        tables, clean = self._tables, self._clean
        if self.made is None:
            tables = {name: self.table(name) for name in tables}
            clean = None if clean is None else self.clean()
        given = self._corpora, self.made, clean
        return MemoryStorage, (self.record, tables, *given)


def _table_of(given: pa.Table | Callable[[], pa.Table]) -> pa.Table:
    return given() if callable(given) else given


def _frame_of(input: Input | None) -> FrameSource | None:
    source = None if input is None else input.reader.source
    return source if isinstance(source, FrameSource) else None


class FolderStorage(Storage):
    """Results in a folder, or at a URL.

    Args:
        folder: Where they are.
        record: Their record, if this process has just written it; else it is read, and checked.
        source: The input, if this process has it.

    Raises:
        InputError: There are none, or another version of neardup made them, or the record is
            damaged.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        record: dict[str, Any] | None = None,
        source: Input | None = None,
    ) -> None:
        self.location: Url | GivenPath = located(folder)
        self.folder = None if isinstance(self.location, Url) else self.location.path
        name = str(self.location)
        self.name = name.rstrip("/") if self.folder is None else str(Path(name))
        self._opened_in, self.source = current_directory(), source
        self.record = self._read_record() if record is None else record

    def _read_record(self) -> dict[str, Any]:
        path = f"{self.name}/{RECORD}"
        with self._reading(RECORD) as file:
            data = file.read()
        self.record = record = header_of(data, path)
        require_command(record, path)
        if (found := record.get("format", FORMAT)) != FORMAT:
            which = f"made by another version of neardup (format {found}, this one has {FORMAT})"
            raise InputError(f"{path}: {which}", self.again)
        require_members(record, path)
        return record

    def has(self, name: str) -> bool:
        return self._written(name) is not None

    def table(self, name: str, columns: Sequence[str] | None = None) -> pa.Table:
        names = None if columns is None else list(columns)
        with self._reading(f"{name}.parquet") as file:
            return pq.read_table(file, columns=names)

    def batches(self, name: str, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        with self._reading(f"{name}.parquet") as opened, pq.ParquetFile(opened) as file:
            yield from file.iter_batches(columns=list(columns))

    def corpus(self, input: str = SOURCE) -> Input:
        if input not in (SOURCE, OLD):
            written = self._written(input)
            assert written is not None
            given, about = self.location / written, self.record["frame"]
            if about is None:  # written in another format, perhaps
                about = {**self.record["source"], "partition_bytes": None}
                if about["input_format"] != "lines" or self.record["output"].get("format"):
                    about["input_format"] = None
            how = HowRead.of(about).of_another(given)
            opened = how.open(given)
            if opened.format != "text":  # the others are UTF-8 now
                opened = dataclasses.replace(how, encoding=None).open(given)
            return Input.counted(opened)
        if input == OLD:
            return self._recorded(self.record[OLD]).open()
        if self.source is None:
            found = self._recorded(self.record["source"]).open()
            ids = self.record.get("id_type", "int64")
            if found.reader.source.id_column is None and ids != "int64":
                what = "null, but the ids are no positions"
                where = f"{self.name}/{RECORD} is damaged at source.id"
                raise InputError(f"{where}: {what}", self.again)
            self.source = found
        return self.source

    def clean(self) -> pa.Table:
        return self.corpus(CLEAN if self.has(CLEAN) else SOURCE).every().table()

    @property
    def frame(self) -> FrameSource | None:
        return _frame_of(self.source)

    @property
    def inputs(self) -> list[GivenPath]:
        return self._recorded(self.record.get("source")).files

    @property
    def read_from(self) -> list[Url | GivenPath]:
        return self._recorded(self.record.get("source")).given

    def reduced(self) -> tuple[Callable[..., Storage], tuple[Any, ...]]:
        source = None if self.frame is None else self.source
        return type(self), (self.location, None, source)

    def _written(self, name: str) -> str | None:
        """Return the file or folder of a table or a corpus."""
        files: dict[str, Any] = self.record["files"]
        return next((file for file in files if file.partition(".")[0] == name), None)

    def _recorded(self, about: dict[str, Any] | None) -> RecordedInput:
        return RecordedInput(about, self.name, self.again, self._opened_in)

    def _no_run(self) -> InputNotFoundError:
        """Return the error for a folder without a record, with the likely reason."""
        if self.folder is not None and not self.folder.exists():
            return InputNotFoundError(f"{self.name}: no such folder", "check the path")
        hint = "name the output folder of a command"
        if self.folder is not None and (self.folder / RUN_FOLDER).exists():
            hint = _hint_of_unfinished(self.folder / RUN_FOLDER)
        elif self.folder is not None and (self.folder.parent / RECORD).is_file():
            hint = f"did you mean {Path(self.name).parent}?"
        return InputNotFoundError(f"{self.name}: no finished run of neardup is there", hint)

    @contextmanager
    def _reading(self, name: str) -> Iterator[Any]:
        """Open one of its files, and turn errors of reading into ours."""
        path = f"{self.name}/{name}"
        try:
            if self.folder is None:
                opened = open_remote(path)
            else:
                opened = pa.OSFile(str(self.folder / name), "rb")
            with opened as file:
                yield file
        except (FileNotFoundError, NotADirectoryError) as error:
            if name == RECORD:
                raise self._no_run() from error
            raise InputNotFoundError(f"{path} is gone", self.again) from error
        except (OSError, pa.ArrowException, *DAMAGED) as error:
            if isinstance(error, InputError):
                raise
            if self.folder is None and is_of_transfer(error):
                raise failed(path, error) from error
            what = f"{path}: not readable, or damaged"
            raise InputError(what, self.again) from error


def _hint_of_unfinished(run: Path) -> str:
    """Return the remedy for a folder in which a run is at work, or was interrupted."""
    try:
        RunState.refuse_used(run)
    except ResumeError:
        return "a run is at work there: wait for it"
    how = ", with resume=True" if RunState.exists(run) else ""
    return f"a run was interrupted there: give its command again{how}"


class PartsStorage(FolderStorage):
    """Results that Apache Spark has written, in parts whose rows have no order.

    The input is not read here.
    """

    @functools.cached_property
    def _known(self) -> dict[str, pa.Table]:
        return {}

    def table(self, name: str, columns: Sequence[str] | None = None) -> pa.Table:
        if name not in self._known:
            self._known[name] = in_order(name, self._read)
        found = self._known[name]
        return found if columns is None else found.select(list(columns))

    def batches(self, name: str, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        yield from self.table(name, columns).to_batches()

    def corpus(self, input: str = SOURCE) -> Input:
        if input != CLEAN:
            raise InputError(
                f"{self.name}: its input was read by Apache Spark, and is not read here",
                "leave the texts out, or run neardup on one machine",
            )
        return super().corpus(input)

    def _read(self, name: str) -> pa.Table:
        """Return a table that Spark has written in parts, or as one file."""
        parts = [f"{name}.parquet"]
        if parts[0] not in self.record["files"]:
            parts = [f"{name}/{part}" for part in self._below(name) if part.startswith("part-")]
        tables = []
        for part in parts:
            with self._reading(part) as file:
                tables.append(pq.read_table(file))
        if not tables:
            raise InputError(f"{self.name}/{name} has no files", self.again)
        return pa.concat_tables(tables)

    def _below(self, name: str) -> list[str]:
        if self.folder is None:
            return sorted(remote_names(f"{self.name}/{name}"))
        return sorted(path.name for path in (self.folder / name).glob("part-*"))


def opened(
    folder: str | os.PathLike[str],
    commands: Sequence[str] = (),
    record: dict[str, Any] | None = None,
    source: Input | None = None,
) -> FolderStorage:
    """Open the output folder of a command.

    Args:
        folder: A folder or a URL.
        commands: Commands whose output it may be; any without them.
        record: As for `FolderStorage`, as is ``source``.

    Raises:
        InputError: There is no result, or one of another command or version, or it is damaged.
    """
    found = FolderStorage(folder, record, source)
    command = found.record["command"]
    if commands and command not in commands:
        raise InputError(
            f"{found.name} was made by neardup {command}; expected an output of neardup "
            f"{' or '.join(commands)}",
            "name another folder, or open this one with neardup.open",
        )
    return PartsStorage(found.location, found.record) if "engine" in found.record else found
