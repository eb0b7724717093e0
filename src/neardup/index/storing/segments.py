"""Segments: immutable files of sorted keys, each with the document that has it, mapped to memory.

A file is a row of blocks of 24 KiB, then the first key and the checksum of each block, then a
header in JSON with the recipe's digest, then where these begin and their checksum. A block is
checked when it is first read: opening a segment reads the end of the file only.
"""

from __future__ import annotations

import json
import mmap
import os
import struct
import zlib
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

from neardup.errors import NeardupError, StoreError
from neardup.files.private_files import sync_folder, system_error, system_errors
from neardup.kernels.lookups import (
    ENTRIES,
    STRIDE,
    KeyBlocks,
    checksum,
    find_in_blocks,
    spans_in_blocks,
)

_MAGIC = b"NDINDEX2"
_END = struct.Struct("<QQ8s")  # where the table of blocks begins, its checksum, the magic
_BLOCK = 8 * STRIDE
#: Key of entries that fill the last block, and the document of them.
_NO_KEY, _NO_DOC = np.uint64(2**64 - 1), np.uint32(2**32 - 1)
#: Entries that are merged at a time.
_MERGED = 1 << 20
_AGAIN = "make the index again, or restore it from a copy"


class SegmentEntry(NamedTuple):
    """A segment of the manifest."""

    number: int
    entries: int
    checksum: int


class Entries(NamedTuple):
    """Keys, ascending, with their documents.

    Attributes:
        keys: uint64[n].
        docs: uint32[n].
    """

    keys: np.ndarray
    docs: np.ndarray

    @classmethod
    def sorted(cls, keys: np.ndarray, docs: np.ndarray) -> Entries:
        """Return the entries of some documents.

        Args:
            keys: uint64[documents, bands].
            docs: int64[documents], ascending.
        """
        flat = keys.reshape(-1)
        order = np.argsort(flat, kind="stable")
        return cls(flat[order], np.repeat(docs.astype(np.uint32), keys.shape[1])[order])


class Sink(Protocol):
    """A file that a segment is written to."""

    def write(self, data: bytes, /) -> object: ...


class SegmentWriter:
    """Writes entries, given in ascending order, as a segment.

    Args:
        sink: A file that is open for writing.
        digest: Digest of the recipe.
    """

    def __init__(self, sink: Sink, digest: str) -> None:
        self._sink, self._digest = sink, digest
        self._fences: list[int] = []
        self._checksums: list[int] = []
        self._rest = Entries(np.empty(0, np.uint64), np.empty(0, np.uint32))
        self._entries = 0

    def add(self, more: Entries) -> None:
        """Add entries that follow those before."""
        self._entries += len(more.keys)
        keys, docs = (np.concatenate(pair) for pair in zip(self._rest, more, strict=True))
        complete = len(keys) // ENTRIES * ENTRIES
        self._write(keys[:complete], docs[:complete])
        self._rest = Entries(keys[complete:], docs[complete:])

    def _write(self, keys: np.ndarray, docs: np.ndarray) -> None:
        """Write complete blocks."""
        blocks = np.empty((len(keys) // ENTRIES, STRIDE), dtype="<u8")
        blocks[:, :ENTRIES] = keys.reshape(-1, ENTRIES)
        blocks[:, ENTRIES:] = docs.astype("<u4").view("<u8").reshape(-1, ENTRIES // 2)
        words = blocks.reshape(-1)
        words.flags.writeable = False  # as those that are read: one kernel for both
        self._fences += blocks[:, 0].tolist()
        ends = range(STRIDE, len(words) + STRIDE, STRIDE)
        self._checksums += [int(checksum(words, end - STRIDE, end)) for end in ends]
        self._sink.write(words.tobytes())

    def finish(self) -> tuple[int, int]:
        """Write the last block; return the number of entries and the checksum of the table."""
        keys, docs = self._rest
        missing = -len(keys) % ENTRIES
        if missing:
            self._write(
                np.concatenate([keys, np.full(missing, _NO_KEY)]),
                np.concatenate([docs, np.full(missing, _NO_DOC)]),
            )
        header = json.dumps({"recipe": self._digest, "entries": self._entries}).encode()
        table = (
            np.array(self._fences, dtype="<u8").tobytes()
            + np.array(self._checksums, dtype="<u8").tobytes()
            + header
        )
        checksum = zlib.crc32(table)
        self._sink.write(table)
        self._sink.write(_END.pack(len(self._fences) * _BLOCK, checksum, _MAGIC))
        return self._entries, checksum


class Segment:
    """A segment that is open for reading, by several threads.

    Args:
        number: Its number.
        data: The file, mapped or in memory.
        name: For messages.
        digest: Digest that the recipe must have.
        checksum: Checksum of the table, as the catalogue has it.

    Raises:
        StoreError: It is damaged, or of another recipe.
    """

    def __init__(
        self, number: int, data: Any, name: str, digest: str, checksum: int | None = None
    ) -> None:
        self.number, self._name, self._data = number, name, data
        view = memoryview(data)
        self.bytes = len(view)
        try:
            table, found, magic = _END.unpack(view[-_END.size :])
            rest = view[table : -_END.size]
            blocks = table // _BLOCK
            if magic != _MAGIC or table % _BLOCK or zlib.crc32(rest) != found:
                raise ValueError
            if checksum is not None and found != checksum:
                raise ValueError
            about = json.loads(bytes(rest[16 * blocks :]))
            self.entries = int(about["entries"])
            if blocks != -(-self.entries // ENTRIES):
                raise ValueError
        except (struct.error, ValueError, KeyError, TypeError) as error:
            raise self._damaged() from error
        self.entry = SegmentEntry(number, self.entries, found)
        if about["recipe"] != digest:
            raise StoreError(f"{name} belongs to an index of another recipe", _AGAIN)
        words, halves = (np.frombuffer(view[:table], dtype=kind) for kind in ("<u8", "<u4"))
        tables = np.frombuffer(rest[: 16 * blocks], dtype="<u8").astype(np.uint64)
        fences, sums = tables.reshape(2, blocks)
        self._blocks = KeyBlocks(words, halves, fences, sums, np.zeros(blocks, dtype=np.bool_))

    @property
    def content(self) -> memoryview:
        """All its bytes, also if its file was removed since."""
        return memoryview(self._data)

    @classmethod
    def open(cls, path: Path, number: int, digest: str, checksum: int) -> Segment:
        """Open a file.

        Raises:
            FileNotFoundError: It is not there.
            StoreError: It can't be read, or is damaged.
        """
        try:
            with path.open("rb") as file:
                data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except FileNotFoundError:
            raise
        except ValueError as error:  # an empty file can't be mapped
            raise StoreError(f"{path}: the segment is damaged", _AGAIN) from error
        except OSError as error:
            raise system_error(StoreError, path, error) from error
        if hasattr(data, "madvise"):
            data.madvise(mmap.MADV_RANDOM)
        return cls(number, data, str(path), digest, checksum)

    def find(self, keys: np.ndarray, found: KeyMatches) -> None:
        """Add the documents that have some keys, each with the index of its key.

        Args:
            keys: uint64[n].
            found: Gets the indices and documents.

        Raises:
            StoreError: A block that is read is damaged.
        """
        if not found.add(lambda *arrays: find_in_blocks(self._blocks, self.entries, keys, *arrays)):
            raise self._damaged()

    def spans(self, keys: np.ndarray, found: KeySpans) -> None:
        """Add how many documents have some keys, with the smallest and the greatest of each.

        Only of segments whose entries are in order of key, then document.

        Args:
            keys: uint64[n].
            found: Of these keys.

        Raises:
            StoreError: A block that is read is damaged.
        """
        if not spans_in_blocks(self._blocks, self.entries, keys, *found):
            raise self._damaged()

    def _verify(self, block: int) -> None:
        words, _, _, sums, verified = self._blocks
        if int(checksum(words, block * STRIDE, (block + 1) * STRIDE)) != int(sums[block]):
            raise self._damaged()
        verified[block] = True

    def slices(self, count: int) -> Iterator[Entries]:
        """Yield all entries in so many ranges of keys, the same ranges for every segment."""
        if not self.entries:
            for _ in range(count):
                yield Entries(np.empty(0, np.uint64), np.empty(0, np.uint32))
            return
        limits = _limits(count)
        low = 0
        for number in range(count):
            high = self.entries
            if number < count - 1:
                high = self._first_at(limits[number])
            yield self._range(low, high)
            low = high

    def _first_at(self, key: int) -> int:
        """Return the first entry whose key is not below one."""
        block = max(int(np.searchsorted(self._blocks.fences, np.uint64(key))) - 1, 0)
        if not self._blocks.verified[block]:
            self._verify(block)
        keys = self._blocks.words[block * STRIDE : block * STRIDE + ENTRIES]
        return min(block * ENTRIES + int(np.searchsorted(keys, np.uint64(key))), self.entries)

    def _range(self, low: int, high: int) -> Entries:
        first, end = low // ENTRIES, -(-high // ENTRIES)
        for number in range(first, end):
            if not self._blocks.verified[number]:
                self._verify(number)
        within = slice(low - first * ENTRIES, high - first * ENTRIES)
        words, halves = self._blocks.words, self._blocks.halves
        keys = words.reshape(-1, STRIDE)[first:end, :ENTRIES].reshape(-1)[within]
        docs = halves.reshape(-1, 2 * STRIDE)[first:end, 2 * ENTRIES :].reshape(-1)[within]
        return Entries(keys.astype(np.uint64, copy=False), docs.astype(np.uint32, copy=False))

    def check(self, named: Callable[[Entries], np.ndarray] | None = None) -> np.ndarray:
        """Read all of it; return its documents, uint32[], ascending, each once.

        Args:
            named: Returns the documents of entries; all by default.

        Raises:
            StoreError: It is damaged.
        """
        for block in range(len(self._blocks.sums)):
            self._verify(block)
        docs: list[np.ndarray] = [np.empty(0, np.uint32)]
        last = 0
        for part in self.slices(self._ranges()):
            if (part.keys[1:] < part.keys[:-1]).any() or int(part.keys[:1].sum()) < last:
                raise self._damaged()
            last = int(part.keys[-1]) if len(part.keys) else 0
            docs.append(distinct((named(part) if named else part.docs).copy()))
        return distinct(np.concatenate(docs))

    def _ranges(self) -> int:
        return max(1, self.entries // _MERGED)

    def _damaged(self) -> NeardupError:
        return StoreError(f"{self._name}: the segment is damaged", _AGAIN)


def distinct(values: np.ndarray) -> np.ndarray:
    """Sort numbers, in the array given; return each once. `numpy.unique` takes longer."""
    values.sort()
    new = np.ones(len(values), dtype=np.bool_)
    np.not_equal(values[1:], values[:-1], out=new[1:])
    return values[new]


class KeySpans(NamedTuple):
    """How many documents have each of some keys.

    Attributes:
        counts: int64[n].
        firsts: int64[n]: the smallest; greater than any without one.
        lasts: int64[n]: the greatest; -1 without one.
    """

    counts: np.ndarray
    firsts: np.ndarray
    lasts: np.ndarray

    @classmethod
    def none(cls, keys: int) -> KeySpans:
        """Return those of keys that no document has."""
        return cls(np.zeros(keys, np.int64), np.full(keys, 2**32), np.full(keys, -1))


class KeyMatches:
    """Indices of keys, and documents that have them, one segment after the other.

    Args:
        capacity: Length of the arrays at first.
    """

    def __init__(self, capacity: int) -> None:
        self._count = 0
        self._indices, self._docs = np.empty(capacity, np.int64), np.empty(capacity, np.int64)

    def add(self, find: Callable[[np.ndarray, np.ndarray, int], int]) -> bool:
        """Add the entries that a kernel finds; return False if it read a damaged block.

        ``find(indices, docs, count)`` writes from ``count`` on, as far as the arrays reach, and
        returns the new count; it is called again with larger arrays if that is above their length.
        A negative count means damage.
        """
        while True:
            before, capacity = self._count, len(self._indices)
            count = find(self._indices, self._docs, before)
            if count <= capacity:
                self._count = max(count, before)
                return count >= 0
            more = np.empty(count + count // 4 - before, np.int64)
            self._indices = np.concatenate([self._indices[:before], more])
            self._docs = np.concatenate([self._docs[:before], more])

    @property
    def indices(self) -> np.ndarray:
        """int64[m]: indices into the keys that were asked for."""
        return self._indices[: self._count]

    @property
    def docs(self) -> np.ndarray:
        """int64[m]: documents."""
        return self._docs[: self._count]


def _limits(count: int) -> list[int]:
    """Return the first key of each of so many ranges, but for that of the first.

    Keys that differ in their lowest two bits are in one.
    """
    return [(2**64 * i) // count // 4 * 4 for i in range(1, count)]


def in_order(keys: np.ndarray, docs: np.ndarray) -> Entries:
    """Return entries in order of key, then document."""
    order = np.argsort(keys, kind="stable")
    found = Entries(keys[order], docs[order])
    same = found.keys[1:] == found.keys[:-1]
    if (found.docs[1:][same] < found.docs[:-1][same]).any():
        order = np.lexsort((docs, keys))
        found = Entries(keys[order], docs[order])
    return found


def merged(
    segments: list[Segment], others: Entries | None = None, by_document: bool = False
) -> Iterator[Entries]:
    """Yield the entries of some segments in ascending order, and others with them.

    The entries of a key are in one part.

    Args:
        segments: Segments.
        others: More entries, by key.
        by_document: Whether those of a key are in order of their documents.
    """
    count = max(1, sum(segment.entries for segment in segments) // _MERGED)
    every: list[Iterable[Entries]] = [segment.slices(count) for segment in segments]
    if others is not None:
        ends = np.searchsorted(others.keys, np.array(_limits(count), np.uint64)).tolist()
        bounds = pairwise([0, *ends, len(others.keys)])
        every.append([Entries(others.keys[i:j], others.docs[i:j]) for i, j in bounds])
    for parts in zip(*every, strict=True):
        keys = np.concatenate([part.keys for part in parts])
        docs = np.concatenate([part.docs for part in parts])
        if by_document:
            yield in_order(keys, docs)
            continue
        order = np.argsort(keys, kind="stable")
        yield Entries(keys[order], docs[order])


def write_file(path: Path, parts: Iterator[Entries], digest: str) -> tuple[int, int]:
    """Write a segment to a new file, durably; return its entries and the checksum of its table.

    Raises:
        OutputError: The disk is full.
    """
    try:
        with system_errors(path):
            handle = os.open(path, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600)
            with os.fdopen(handle, "wb", buffering=1 << 20) as file:
                writer = SegmentWriter(file, digest)
                for part in parts:
                    writer.add(part)
                found = writer.finish()
                file.flush()
                os.fsync(file.fileno())
            sync_folder(path.parent)
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    return found
