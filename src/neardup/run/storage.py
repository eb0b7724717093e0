"""Where a run keeps what it makes, and how much memory it may use."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from neardup.corpus import CHUNK_BYTES
from neardup.errors import SpecError
from neardup.stores import open_store

__all__ = ["Shard", "Storage"]


@dataclass(frozen=True)
class Storage:
    """Settings that the result does not depend on.

    Attributes:
        store: Where the band matrix lies: ``auto`` (memory if everything fits into it, else
            SQLite), ``memory``, ``sqlite``, ``sqlite:PATH`` or ``cassandra://host:port/keyspace``.
        design: 2 for a row per band and part, 1 for a row per cell.
        memory: Bytes of anonymous memory that may be used; None for half of what is free.
        part_bytes: Bytes of the source in a part, which is what is signed, stored and, after a
            crash, repeated as a whole. A part is never less than one chunk.
        folder: Run folder, for `resume`; None to keep nothing on disk that outlives the run.
        resume: Go on with the run in the folder, if there is one.
        keep_run: Leave the folder and the store as they are at the end.
        name: Name of a run that was signed into the store beforehand.

    Raises:
        SpecError: A setting is out of range.
    """

    store: str = field(default="auto", repr=False)  # it may have a password in it
    design: int = 2
    memory: int | None = None
    part_bytes: int = 64 << 20
    folder: Path | None = None
    resume: bool = False
    keep_run: bool = False
    name: str | None = None

    def __post_init__(self) -> None:
        if self.design not in (1, 2):
            raise SpecError(f"design is {self.design}; expected 1 or 2")
        if self.memory is not None and self.memory <= 0:
            raise SpecError(f"memory is {self.memory}; expected more than 0 bytes")
        if self.part_bytes <= 0:
            raise SpecError(f"part_bytes is {self.part_bytes}; expected more than 0")
        if self.store != "auto":  # refuses a URL that names no store; nothing is opened
            folder = Path() if self.store == "sqlite" else None
            open_store(self.store, design=self.design, folder=folder).close()
        if self.name is not None and not self.shared:
            raise SpecError(
                f"a run named {self.name!r} needs a store that several processes can reach, "
                f"not {self.store}",
                "name it: sqlite:PATH or cassandra://host:port/keyspace",
            )

    @property
    def shared(self) -> bool:
        """Whether the store lies outside the run folder."""
        return self.store.startswith(("sqlite:", "cassandra:"))

    @property
    def chunk_bytes(self) -> int:
        """Bytes of the source that are parsed at a time."""
        return min(CHUNK_BYTES, self.part_bytes)

    @property
    def public_store(self) -> str:
        """The store without user and password."""
        scheme, separator, rest = self.store.partition("://")
        return f"{scheme}{separator}{rest.rpartition('@')[2]}" if separator else self.store


@dataclass(frozen=True)
class Shard:
    """One of several equal shares of the parts of a corpus.

    Attributes:
        number: From 1.
        of: How many there are.

    Raises:
        SpecError: There is no such share.
    """

    number: int = 1
    of: int = 1

    def __post_init__(self) -> None:
        if not 1 <= self.number <= self.of:
            raise SpecError(f"there is no shard {self.number} of {self.of}", "count from 1: 3/8")

    @classmethod
    def parse(cls, text: str) -> Shard:
        """Read ``3/8``."""
        number, slash, of = text.partition("/")
        if not (slash and number.isdecimal() and of.isdecimal()):
            raise SpecError(f"{text!r} is not a shard", "write it as 3/8")
        return cls(int(number), int(of))

    def has(self, part: int) -> bool:
        """Whether a part belongs to it."""
        return part % self.of == self.number - 1

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"
