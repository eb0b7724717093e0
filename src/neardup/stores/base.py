"""The contract of band stores: where the band matrix lies between signing and clustering.

Public methods are final and guard what goes in and out; a backend fills the hooks below them. The
suite in `neardup.testing` says what holds for every store.
"""

from __future__ import annotations

import errno
import json
import os
import zlib
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any, Self, final

import numpy as np

from neardup.errors import StoreError

__all__ = [
    "STORE_FORMAT",
    "BandStore",
    "Header",
    "PartEntry",
    "check_row",
    "checksum",
    "system_error",
]

#: Version of what stores hold. Another one is refused, never guessed at.
STORE_FORMAT = 1


@dataclass(frozen=True, slots=True)
class Header:
    """What a store was made for; kept in it, and compared when it is opened again.

    Attributes:
        digest: Of all that the keys depend on: spec, bands, inputs and how they are cut.
        num_bands: Rows of the band matrix.
        about: Whatever the run wants to find again, as JSON values.
        format: `STORE_FORMAT`.
    """

    digest: str
    num_bands: int
    about: dict[str, Any] = field(default_factory=dict)
    format: int = STORE_FORMAT

    def to_json(self) -> str:
        return json.dumps(asdict(self), ensure_ascii=False, sort_keys=True)

    @classmethod
    def from_json(cls, text: str, where: str) -> Header:
        """Read a header back.

        Args:
            text: As made by `to_json`.
            where: The store, for messages.

        Raises:
            StoreError: It is damaged, or of another version.
        """
        try:
            header = cls(**json.loads(text))
        except (ValueError, TypeError) as error:
            raise StoreError(f"{where}: its header is damaged", "remove it and start again") from (
                error
            )
        if header.format != STORE_FORMAT:
            raise StoreError(
                f"{where}: made by a neardup whose stores have format {header.format}; "
                f"this one has {STORE_FORMAT}",
                "go on with that version, or start again",
            )
        return header


@dataclass(frozen=True, slots=True)
class PartEntry:
    """One part that is wholly in a store.

    Attributes:
        documents: How many it has.
        facts_bytes: Length of its facts.
        checksum: CRC-32 of its facts.
    """

    documents: int
    facts_bytes: int
    checksum: int


class BandStore(ABC):
    """The band matrix of one run, and what is known of its documents besides.

    A part is a run of successive documents. It is put in as a whole, and is there as a whole or not
    at all, whatever happens meanwhile. One thread at a time puts parts in; several may read bands.

    A store is a context manager; leaving it closes it.

    Attributes:
        url: Where it is, for messages: without user and password.
        design: 2 for a row per band and part with its keys as one blob, 1 for a row per cell.
        durable: What was put in outlives the process.
    """

    url: str
    design: int
    durable: bool = True

    def __init__(self, url: str, design: int = 2) -> None:
        self.url = url
        self.design = design
        self._header: Header | None = None
        self._closed = False

    # What a run calls.

    @final
    def create(self, header: Header) -> None:
        """Begin an empty band matrix.

        Raises:
            StoreError: There is one already; or the store can't be reached or written.
        """
        self._reach()
        # Another process may have been quicker between the two, so writing says so too.
        if self._read_header() is not None or not self._write_header(header.to_json()):
            raise StoreError(
                f"{self.url}: holds a run already", "resume it, drop it, or name another"
            )
        self._header = header

    @final
    def open(self, digest: str | None = None) -> Header:
        """Go on with a band matrix that is there; return its header.

        Args:
            digest: What it must have been made for; None takes any.

        Raises:
            StoreError: There is none, or it was made for something else, or is damaged.
        """
        self._reach()
        text = self._read_header()
        if text is None:
            raise StoreError(f"{self.url}: holds no run", "check the store and the name of the run")
        header = Header.from_json(text, self.url)
        if digest is not None and header.digest != digest:
            raise StoreError(
                f"{self.url}: was made for another input or other settings",
                "start again, or give the same input and settings as before",
            )
        self._header = header
        return header

    @final
    def put(self, part: int, keys: np.ndarray, facts: bytes) -> None:
        """Store a part as a whole; the same part again takes the place of the first.

        Args:
            part: Number of the part, from 0; in any order.
            keys: uint64[num_bands, documents].
            facts: What is known of its documents, opaque to the store.

        Raises:
            StoreError: The store can't be written.
            ValueError: Keys of another shape or type.
        """
        header = self._ready()
        if part < 0:
            raise ValueError(f"part is {part}; expected 0 or more")
        if keys.dtype != np.uint64 or keys.ndim != 2 or len(keys) != header.num_bands:
            raise ValueError(
                f"keys are {keys.dtype}{list(keys.shape)}; "
                f"expected uint64[{header.num_bands}, documents]"
            )
        self._put(part, keys, facts, PartEntry(keys.shape[1], len(facts), checksum(facts)))

    @final
    def parts(self) -> dict[int, PartEntry]:
        """Return the parts that are wholly there, in ascending order."""
        self._ready()
        return dict(sorted(self._parts().items()))

    @final
    def facts(self, part: int) -> bytes:
        """Return the facts of a part.

        Raises:
            StoreError: The part is not there, or damaged.
        """
        self._ready()
        entry = self._entry(part)
        if entry is None:
            raise StoreError(f"{self.url}: part {part} is missing", "start again")
        facts = self._facts(part)
        if len(facts) != entry.facts_bytes or checksum(facts) != entry.checksum:
            raise StoreError(f"{self.url}: part {part} is damaged", "start again")
        return facts

    @final
    def band(self, band: int) -> Iterator[np.ndarray]:
        """Yield the keys of a band, uint64[documents] for each part, in ascending order of parts.

        No more than a few parts are held at a time. Arrays may be read-only.

        Raises:
            StoreError: Keys are missing or damaged.
        """
        header = self._ready()
        if not 0 <= band < header.num_bands:
            raise ValueError(f"band is {band}; the store has {header.num_bands}")
        entries = self.parts()
        expected = iter(entries.items())
        for part, keys in self._band(band, list(entries)):
            number, entry = next(expected, (-1, None))
            if part != number or entry is None or len(keys) != entry.documents:
                raise StoreError(
                    f"{self.url}: keys of band {band}, part {number} are missing or damaged",
                    "start again",
                )
            yield keys
        number, entry = next(expected, (-1, None))
        if entry is not None:
            raise StoreError(
                f"{self.url}: keys of band {band}, part {number} are missing", "start again"
            )

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
        """Return the bytes that the run takes up in the store, about; 0 where that is not known."""
        self._ready()
        return self._size()

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

    def __enter__(self) -> Self:
        return self

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

    # What a backend fills in. Native errors become StoreError in one place of it.

    @abstractmethod
    def _open(self) -> None:
        """Connect; may be called more than once. Makes nothing where no run is."""

    @abstractmethod
    def _read_header(self) -> str | None:
        """Return the text of the header, None where no run is."""

    @abstractmethod
    def _write_header(self, text: str) -> bool:
        """Keep the header; False where there is one by now."""

    @abstractmethod
    def _put(self, part: int, keys: np.ndarray, facts: bytes, entry: PartEntry) -> None:
        """Store a part, safely, the entry last."""

    @abstractmethod
    def _parts(self) -> dict[int, PartEntry]: ...

    def _entry(self, part: int) -> PartEntry | None:
        """Return one of `_parts`; for stores that can do so without reading them all."""
        return self._parts().get(part)

    @abstractmethod
    def _facts(self, part: int) -> bytes: ...

    @abstractmethod
    def _band(self, band: int, parts: list[int]) -> Iterator[tuple[int, np.ndarray]]:
        """Yield (part, keys) of those parts, in that order; keys checked by checksums."""

    @abstractmethod
    def _write_note(self, name: str, text: str) -> None: ...

    @abstractmethod
    def _read_notes(self) -> dict[str, str]: ...

    @abstractmethod
    def _size(self) -> int: ...

    @abstractmethod
    def _drop(self) -> None: ...

    @abstractmethod
    def _close(self) -> None: ...


def checksum(data: Any) -> int:
    """Return the CRC-32 of bytes or of an array."""
    return zlib.crc32(np.ascontiguousarray(data).data if isinstance(data, np.ndarray) else data)


_HINTS = {
    errno.ENOSPC: "free some space, then resume",
    errno.EDQUOT: "free some space, then resume",
    errno.EFBIG: "raise the limit on the size of files, then resume",
    errno.EACCES: "check the rights of the folder",
    errno.EPERM: "check the rights of the folder",
    errno.EROFS: "put the store on another disk",
    errno.ENOENT: "create the folder first",
}


def system_error(where: str, error: OSError) -> StoreError:
    """Return what to raise, from ``error``, where the system refuses a store's files."""
    reason = os.strerror(error.errno).lower() if error.errno else "the system refused it"
    return StoreError(f"{where}: {reason}", _HINTS.get(error.errno or 0, ""))


def check_row(url: str, band: int, part: int, data: bytes, expected: int) -> np.ndarray:
    """Return the keys in a blob.

    Raises:
        StoreError: The checksum is another.
    """
    if len(data) % 8 or checksum(data) != expected:
        raise StoreError(f"{url}: keys of band {band}, part {part} are damaged", "start again")
    return np.frombuffer(data, dtype="<u8")
