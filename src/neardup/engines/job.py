"""What a run is given."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from neardup import __version__
from neardup.engines.clock import Clock
from neardup.errors import SpecError
from neardup.io.source import Source
from neardup.spec import Spec
from neardup.state import check_store
from neardup.state.band_store import Layout
from neardup.state.private_files import file_checksum
from neardup.state.run_state import RunState
from neardup.threads import check_threads


@dataclass(frozen=True)
class Resources:
    """Settings that the result does not depend on.

    Attributes:
        memory: Bytes of private memory that may be used; None for half of what is free.
        threads: Threads; None for the cores that there are.
        store: Where band keys are stored: ``auto`` (in memory and in the run's own file),
            ``sqlite:FILE`` or ``cassandra://HOST[:PORT]/KEYSPACE``.
        layout: ``blob``, a blob for each band and partition, or ``row``, a row for each key.
        run: Name of the run in a store that several processes use.
        keep_run: Keep the run folder when all is done.

    Raises:
        SpecError: A setting is out of range.
    """

    memory: int | None = None
    threads: int | None = None
    store: str = "auto"
    layout: Layout = "blob"
    run: str | None = None
    keep_run: bool = False

    def __post_init__(self) -> None:
        check_threads(self.threads)
        if self.store != "auto":
            check_store(self.store, self.layout)
        if self.run is not None and not self.shared:
            raise SpecError(
                "a named run needs a store that several processes can reach",
                "for example store='sqlite:keys.sqlite'",
            )

    @property
    def shared(self) -> bool:
        """Whether the store is outside the run's own file."""
        return self.store not in ("auto", "memory", "sqlite")

    @property
    def public_store(self) -> str:
        """The store without user and password."""
        head, at, tail = self.store.rpartition("@")
        return f"{head.partition('://')[0]}://{tail}" if at else self.store


@dataclass(frozen=True)
class Shard:
    """A share of the partitions of a corpus: those whose number leaves a remainder.

    Attributes:
        number: From 1 to ``of``.
        of: Number of shards.

    Raises:
        SpecError: There is no such shard.
    """

    number: int = 1
    of: int = 1

    def __post_init__(self) -> None:
        if not 1 <= self.number <= self.of:
            raise SpecError(f"shard is {self.number}/{self.of}; expected 1/{self.of} or above")

    def has(self, partition: int) -> bool:
        """Return whether a partition belongs to it."""
        return partition % self.of == self.number - 1

    @classmethod
    def parse(cls, text: str) -> Shard:
        """Make a shard from ``"3/8"``.

        >>> Shard.parse("3/8").of
        8
        """
        number, slash, of = text.partition("/")
        if not slash or not number.isdigit() or not of.isdigit():
            raise SpecError(f"shard is {text!r}; expected NUMBER/OF", "for example 3/8")
        return cls(int(number), int(of))

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"


@dataclass(frozen=True)
class Job:
    """What a run is given.

    Attributes:
        source: The documents.
        spec: What is asked for.
        resources: Where things are kept, and what may be used.
        reading: JSON values that say how the source is read.
        clock: Time and events.
        state: What the run has done so far; None to keep nothing.
        output: JSON values that say how the clean corpus is written.
        recipe: JSON values of a recipe to use instead of choosing bands; None to choose.
    """

    source: Source
    spec: Spec
    resources: Resources
    reading: Mapping[str, Any]
    clock: Clock = field(default_factory=Clock)
    state: RunState | None = None
    output: Mapping[str, Any] = field(default_factory=dict)
    recipe: Mapping[str, Any] | None = None

    @property
    def secret_ids(self) -> bool:
        """Whether ids are texts, which no message may quote."""
        return self.source.id_column in self.source.columns.text

    @property
    def wanted(self) -> tuple[str, ...]:
        """Columns that the run needs besides the texts."""
        return wanted_columns(self.spec, self.source.id_column)

    def identity(self) -> dict[str, Any]:
        """What the result depends on: inputs with sizes and times, and how they are read."""
        inputs = [
            [file.path, file.size, file_checksum_of(file.copy) if file.copy else file.mtime_ns]
            for file in self.source.files
        ]
        return {"neardup": __version__, **self.reading, "inputs": inputs}

    def manifest(self) -> dict[str, Any]:
        """What the manifest of a run must say, for that run to be this one."""
        return {
            **self.identity(),
            "spec": self.spec.as_dict(),
            "output": dict(self.output),
            "store": self.resources.public_store,
            "layout": self.resources.layout,
            "run": self.resources.run,
        }


def wanted_columns(spec: Spec, id_column: str | None) -> tuple[str, ...]:
    """Return the columns that a run needs besides the texts: ids, and what orders documents."""
    names = (id_column, spec.keep.partition(":")[2], spec.order_by)
    return tuple(dict.fromkeys(name for name in names if name))


def file_checksum_of(path: str | os.PathLike[str]) -> int:
    """Return the checksum of the copy of a pipe."""
    from pathlib import Path

    return file_checksum(Path(path))
