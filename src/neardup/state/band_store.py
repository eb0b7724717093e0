"""The contract of band stores: where the band keys of documents are kept.

Public methods are final and check arguments and results; a backend fills the hooks below them.
"""

import json
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import asdict, dataclass, field
from typing import ClassVar, NamedTuple, final

import numpy as np

from neardup.errors import RecipeError, StoreError
from neardup.values.json_values import JSON, differences

#: Version of the content of stores. Another one is refused.
STORE_FORMAT = 3


@dataclass(frozen=True, slots=True)
class Header:
    """The purpose of a store; kept in it, and compared when it is opened."""

    digest: str  # of the recipe: keys of equal digests are comparable
    num_bands: int
    recipe: Mapping[str, JSON] = field(default_factory=dict)  # names what differs
    about: Mapping[str, JSON] = field(default_factory=dict)  # for the user of the store
    format: int = STORE_FORMAT


class Entry(NamedTuple):
    """One partition that is wholly in a store: its documents, and the length of its metadata."""

    documents: int
    bytes: int


def _run_of(header: str | None) -> str | None:
    """Return the name that a user gave to a run; None where there is none, or it is damaged."""
    with suppress(ValueError, KeyError, TypeError, AttributeError):
        run = json.loads(header or "{}")["about"]["run"]
        return run if isinstance(run, str) and not run.startswith("dedup-") else None
    return None


class BandStore(AbstractContextManager["BandStore"]):
    """Band keys of documents, and metadata of those documents, by partition.

    A partition is a run of successive documents, and is stored completely or not at all, whatever
    happens. One thread at a time puts partitions in; several may read bands. A store is a context
    manager that closes it.

    Every method but `close` raises StoreError where the store can't be reached or written, or is
    damaged; the one in the file of a run raises OutputError and ResumeError.

    Args:
        url: Where it is, for messages: without user and password.
    """

    durable: ClassVar[bool] = False  # the content outlives the process
    concurrent_writers: ClassVar[bool] = False  # several processes may put partitions in at once

    def __init__(self, url: str) -> None:
        self.url = url
        self._header: Header | None = None
        self._closed = False

    # Called by a run.

    @final
    def create(self, header: Header) -> None:
        """Begin an empty band matrix; StoreError where there is one already."""
        self._reach()
        text = json.dumps(asdict(header), ensure_ascii=False, sort_keys=True)
        # Another process may have been faster between the two, so writing reports it too.
        if (found := self._read_header()) is not None or not self._write_header(text):
            run = _run_of(found or self._read_header())
            has = f"has the run {run!r}" if run else "has a run already"
            use = f"use its sketches with run='{run}'" if run else "resume it, drop it"
            raise StoreError(f"{self.url}: {has}", f"{use}, or name another store")
        self._header = header

    @final
    def open(self, digest: str | None = None, recipe: Mapping[str, JSON] | None = None) -> Header:
        """Continue with a band matrix of a digest, or of any; the recipe is for the message.

        Raises:
            RecipeError: It was made with another recipe.
            StoreError: There is none, or it has another version.
        """
        self._reach()
        found = self._read_header()
        if found is None:
            raise StoreError(f"{self.url}: has no run", "check the store and the name of the run")
        try:
            header = Header(**json.loads(found))
        except (ValueError, TypeError) as error:
            raise self._error("its header is damaged") from error
        if header.format != STORE_FORMAT:
            raise StoreError(
                f"{self.url}: was made by another version of neardup (format {header.format}, "
                f"this one has {STORE_FORMAT})",
                "continue with that version, or start again",
            )
        if digest is not None and header.digest != digest:
            fields = differences(header.recipe, recipe or header.recipe)
            raise RecipeError(
                f"{self.url}: was made with another recipe" + (f": {fields}" if fields else ""),
                "use the same settings as before, or start again",
            )
        self._header = header
        return header

    @final
    def put(self, partition: int, keys: np.ndarray, metadata: bytes) -> None:
        """Store a complete partition, replacing an earlier one; durable afterwards.

        Args:
            partition: Number, from 0; in any order.
            keys: uint64[num_bands, documents].
            metadata: Opaque to the store.

        Raises:
            ValueError: The keys have another shape or type.
        """
        num_bands = self._ready().num_bands
        if partition < 0:
            raise ValueError(f"partition is {partition}; expected 0 or more")
        if keys.dtype != np.uint64 or keys.ndim != 2 or len(keys) != num_bands:
            raise ValueError(
                f"keys are {keys.dtype}{list(keys.shape)}; expected uint64[{num_bands}, documents]"
            )
        self._put(partition, keys, metadata)

    def together(self) -> AbstractContextManager[object]:
        """Return a block at whose end all calls of `put` are durable, at the latest."""
        return nullcontext()

    @final
    def partitions(self) -> dict[int, Entry]:
        """Return the partitions that are wholly there, in ascending order."""
        self._ready()
        return dict(sorted(self._partitions().items()))

    @final
    def metadata(self, partition: int) -> bytes | memoryview:
        """Return the metadata of a partition; StoreError where there is none."""
        self._ready()
        found = self._metadata(partition)
        if found is None:
            raise self._error(f"partition {partition} is missing")
        return found

    @final
    def band(self, band: int) -> Iterator[tuple[int, np.ndarray]]:
        """Yield partition and keys, uint64[documents], of a band, in ascending order."""
        num_bands = self._ready().num_bands
        if not 0 <= band < num_bands:
            raise ValueError(f"band is {band}; the store has {num_bands}")
        entries = self.partitions()
        found = self._band(band, entries)
        for number, entry in entries.items():
            partition, keys = next(found, (-1, None))
            if keys is None or partition != number or len(keys) != entry.documents:
                raise self._error(f"keys of band {band}, partition {number} are missing or damaged")
            yield number, keys

    @final
    def note(self, name: str, text: str) -> None:
        """Keep a short text under a name, such as that a shard is complete."""
        self._ready()
        self._write_note(name, text)

    @final
    def notes(self) -> dict[str, str]:
        """Return all notes by name."""
        self._ready()
        return dict(sorted(self._read_notes().items()))

    @final
    def size(self) -> int:
        """Return the bytes that the run takes up in the store, about."""
        bands = self._ready().num_bands
        return sum(8 * bands * e.documents + e.bytes for e in self._partitions().values())

    @final
    def drop(self) -> None:
        """Remove the run from the store; other runs stay. Does nothing where there is none."""
        self._reach()
        self._drop()
        self._header = None

    @final
    def close(self) -> None:
        """Let go of files and connections; a second call does nothing."""
        if not self._closed:
            self._closed = True
            self._close()

    def __exit__(self, *error: object) -> None:
        self.close()

    def _reach(self) -> None:
        if self._closed:
            raise ValueError(f"{self.url}: the store is closed")
        self._open()

    def _ready(self) -> Header:
        if self._closed or self._header is None:
            raise ValueError(f"{self.url}: the store is not open")
        return self._header

    def _error(self, message: str) -> StoreError:
        return StoreError(f"{self.url}: {message}", "start again")

    # Implemented by a backend, which turns native errors into ours in one function.

    def _open(self) -> None:
        """Connect; may be called more than once. Makes nothing where no run is."""

    @abstractmethod
    def _read_header(self) -> str | None:
        """Return the text of the header, None where no run is."""

    @abstractmethod
    def _write_header(self, text: str) -> bool:
        """Keep the header; False where there is one by now."""

    @abstractmethod
    def _put(self, partition: int, keys: np.ndarray, metadata: bytes) -> None: ...

    @abstractmethod
    def _partitions(self) -> dict[int, Entry]: ...

    @abstractmethod
    def _metadata(self, partition: int) -> bytes | memoryview | None:
        """Return the metadata, checked; None where there is no such partition."""

    @abstractmethod
    def _band(self, band: int, entries: dict[int, Entry]) -> Iterator[tuple[int, np.ndarray]]:
        """Yield (partition, keys) of those partitions, in that order; end at damaged ones."""

    @abstractmethod
    def _write_note(self, name: str, text: str) -> None: ...

    @abstractmethod
    def _read_notes(self) -> dict[str, str]: ...

    @abstractmethod
    def _drop(self) -> None: ...

    def _close(self) -> None:
        """Release the resources of `_open` and the others."""
