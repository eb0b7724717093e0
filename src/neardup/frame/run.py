"""Base of the results of every command: tables, verbs, and what becomes of a verb it lacks."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, TypeVar

import pyarrow as pa

from neardup.commands import COMMANDS, imported
from neardup.errors import NoTableError, RefusedError, SpecError, spelled
from neardup.frame.dataframes import as_pandas, as_polars
from neardup.frame.storage import Storage, opened
from neardup.values.shown import Shown

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

#: The names of the tables of a result.
T = TypeVar("T", bound=str)


class Run(Shown, Generic[T]):
    """Base of the results of every command, in memory or in their folder.

    Its verbs are methods. One that means nothing for a result is not there; a call of it is a
    `RefusedError`, which names those that are.

    Args:
        storage: Record, tables and input.
    """

    #: Commands whose output it opens.
    commands: ClassVar[tuple[str, ...]]
    #: Its tables, and how to ask for those that not every run has; the first is the default.
    tables: ClassVar[Mapping[str, str]]
    #: What to do instead of a verb that it does not have.
    advice: ClassVar[str] = ""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage

    @classmethod
    def open(cls, folder: str | os.PathLike[str]) -> Self:
        """Open the output folder of the command, or a URL of one.

        Raises:
            InputNotFoundError: There is none.
            InputError: Another command made it, or another version, or it is damaged.
        """
        return cls(opened(folder, cls.commands))

    @classmethod
    def verbs(cls) -> list[str]:
        """Return the verbs of these results: their methods, without those of every command."""
        every = inspect.getmembers(cls, inspect.isfunction)
        return [name for name, _ in every if name[0] != "_" and not hasattr(Run, name)]

    @property
    def shown_as(self) -> tuple[str, str]:
        return self.command, "run on spark" if "engine" in self.summary else "run"

    @property
    def command(self) -> str:
        """The command that made the results."""
        return str(self.summary["command"])

    @property
    def path(self) -> Path | None:
        """The output folder, absolute; None for results in memory only, or at a URL."""
        return self._storage.folder

    @property
    def summary(self) -> dict[str, Any]:
        """Settings, counts, seconds and bytes: the content of ``run.json``."""
        return self._storage.record

    @property
    def notes(self) -> list[str]:
        """Remarks on the input and the results, a sentence each."""
        return list(self.summary.get("notes", []))

    def table(self, name: T, columns: Sequence[str] | None = None) -> pa.Table:
        """Return a table by its name.

        Args:
            name: One of ``tables``.
            columns: Those that are wanted; all without it.

        Raises:
            SpecError: There is no such table.
        """
        if not isinstance(name, str) or name not in self.tables:
            known = ", ".join(self.tables)
            raise SpecError(f"`table` is {spelled(name)}; expected one of {known}")
        return self._table(name, columns)

    def _table(self, name: str, columns: Sequence[str] | None = None) -> pa.Table:
        if not self._storage.has(name):
            raise NoTableError(f"this run has no table {name!r}", self.tables[name])
        return self._storage.table(name, columns)

    def to_pandas(self, table: T | None = None) -> pd.DataFrame:
        """Return a table as a pandas DataFrame.

        Args:
            table: One of ``tables``; the first of them by default.

        Raises:
            DependencyError: pandas is not installed.
            SpecError: There is no such table.
        """
        return as_pandas(self.table(self._named(table)))

    def to_polars(self, table: T | None = None) -> pl.DataFrame:
        """Return a table as a Polars DataFrame.

        Args:
            table: As for `to_pandas`.

        Raises:
            DependencyError: Polars is not installed.
            SpecError: There is no such table.
        """
        return as_polars(self.table(self._named(table)))

    def _named(self, table: T | None) -> Any:
        return next(iter(self.tables)) if table is None else table

    def __reduce__(self) -> tuple[Callable[..., Run[Any]], tuple[Any, ...]]:
        return _restored, (type(self), *self._storage.reduced())

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if name in self.tables:  # which it has not made: its property said so
                return self._table(name)
            if not name.startswith("_") and name in _every_name():
                self.require(name)
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def require(self, verb: str) -> None:
        """Raise RefusedError unless there is such a method."""
        if verb in self.verbs():
            return
        what = f"{self._storage.name} was made by neardup {self.command}"
        ways = filter(None, (", ".join(self.verbs()), "the tables, which neardup.open gives"))
        hint = f"use {' or '.join(ways)}"
        raise RefusedError(
            f"{what}; {verb} does not work on it", "; ".join(filter(None, (hint, self.advice)))
        )


def class_of(command: str) -> type[Run[Any]]:
    """Return the class of the results of a command."""
    found: type[Run[Any]] = imported(COMMANDS[command].run)
    return found


def _every_name() -> set[str]:
    """Return the verbs and tables of all results."""
    kinds = [class_of(command) for command in COMMANDS]
    return {name for kind in kinds for name in (*kind.verbs(), *kind.tables)}


def _restored(
    kind: type[Run[Any]], make: Callable[..., Storage], given: tuple[Any, ...]
) -> Run[Any]:
    """Return a result that was pickled."""
    return kind(make(*given))
