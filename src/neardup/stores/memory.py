"""Bands in memory, and in files beside it where a run is to outlive its process."""

from __future__ import annotations

import json
import os
import re
import socket
import struct
import threading
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np

from neardup.errors import StoreError
from neardup.stores.base import BandStore, PartEntry, check_row, checksum, system_error

__all__ = ["MemoryStore"]

_TEXT_MAGIC = b"NDBTEXT1"
_TEXT = struct.Struct("<8sQI")  # magic, bytes, CRC-32 of them
_PART_MAGIC = b"NDBPART1"
# Magic, run, part, bands, documents, bytes of facts, CRC-32 of the facts. The CRC-32s of all bands
# follow, one of all before it, the keys band by band, and the facts.
_PART = struct.Struct("<8s16sQQQQI")
_CRC = struct.Struct("<I")
_HEADER_NAME = "bands.header"
_PART_NAME = re.compile(r"bands-(\d{8,})\.part")
_OURS = re.compile(r"bands-\d{8,}\.part|bands-\w{16}\.note|\.bands.*\.tmp")
_AGAIN = "start again"


@dataclass(slots=True)
class _Part:
    """A part: held, or where it lies in its file."""

    entry: PartEntry
    sums: np.ndarray  # uint32[num_bands]
    keys: np.ndarray | None = None
    facts: bytes | None = None
    path: Path | None = None
    stamp: tuple[int, int, int] = (0, 0, 0)  # tells a file that another process put in its place

    @property
    def keys_at(self) -> int:
        return _PART.size + 4 * len(self.sums) + _CRC.size

    @property
    def facts_at(self) -> int:
        return self.keys_at + 8 * len(self.sums) * self.entry.documents

    @property
    def bytes(self) -> int:
        return 8 * len(self.sums) * self.entry.documents + self.entry.facts_bytes


class MemoryStore(BandStore):
    """Holds parts in memory; with a folder, each also is a file there before `put` returns.

    Files appear by rename, so a part is there as a whole or not at all. Every byte of them is under
    a checksum. Several processes may put parts into the same folder.

    Args:
        folder: Where files go; without one nothing is durable. Made if it is not there.
        budget: Bytes of keys and facts to hold; what is beyond is read from its file whenever it
            is asked for. None holds all. Without a folder there is nowhere else, and all is held.
    """

    durable = False

    def __init__(self, folder: Path | None = None, budget: int | None = None) -> None:
        super().__init__("memory" if folder is None else f"memory in {folder}")
        self.durable = folder is not None
        self._folder = folder
        self._budget = budget
        self._held = 0
        self._text: str | None = None
        self._run = bytes(16)  # parts of another run in the same folder are told by it
        self._known: dict[int, _Part] = {}
        self._said: dict[str, str] = {}
        self._lock = threading.Lock()

    def _open(self) -> None:
        if self._folder is None or not self._folder.is_dir():
            return
        with self._errors(self._folder):
            for path in self._folder.glob(".bands*.tmp"):
                if _is_abandoned(path.name):
                    path.unlink(missing_ok=True)

    def _read_header(self) -> str | None:
        if self._folder is None:
            return self._text
        data = self._read_text(self._folder / _HEADER_NAME)
        if data is None:
            return None
        try:
            run, text = data["run"], data["header"]
            self._run = bytes.fromhex(run)
            return str(text)
        except (KeyError, TypeError, ValueError) as error:
            raise _damaged(self._folder / _HEADER_NAME) from error

    def _write_header(self, text: str) -> bool:
        if self._folder is None:
            self._text = text
            return True
        with self._errors(self._folder):
            self._folder.mkdir(parents=True, exist_ok=True)
        self._run = os.urandom(16)
        about = {"run": self._run.hex(), "header": text}
        return self._write_text(self._folder / _HEADER_NAME, about, replace=False)

    def _put(self, part: int, keys: np.ndarray, facts: bytes, entry: PartEntry) -> None:
        keys = np.ascontiguousarray(keys)
        facts = bytes(facts)
        sums = np.array([checksum(row) for row in keys], dtype=np.uint32)
        new = _Part(entry, sums)
        if self._folder is not None:
            new.path = self._path(part)
            head = _PART.pack(
                _PART_MAGIC, self._run, part, *keys.shape, entry.facts_bytes, entry.checksum
            )
            head += sums.astype("<u4").tobytes()
            head += _CRC.pack(zlib.crc32(head))
            new.stamp = self._write(new.path, [head, keys.astype("<u8", copy=False), facts])
        with self._lock:
            old = self._known.get(part)
            if old is not None and old.keys is not None:
                self._held -= old.bytes
            if new.path is None or self._budget is None or self._held + new.bytes <= self._budget:
                new.keys = keys.copy()  # the caller may write over its own
                new.keys.flags.writeable = False
                new.facts = facts
                self._held += new.bytes
            self._known[part] = new

    def _parts(self) -> dict[int, PartEntry]:
        return {number: part.entry for number, part in self._look().items()}

    def _entry(self, part: int) -> PartEntry | None:
        known = self._known.get(part)
        return known.entry if known is not None else super()._entry(part)

    def _look(self) -> dict[int, _Part]:
        """Take notice of what other processes put into the folder meanwhile."""
        with self._lock:
            if self._folder is not None:
                found = {}
                with self._errors(self._folder), os.scandir(self._folder) as files:
                    for file in files:
                        match = _PART_NAME.fullmatch(file.name)
                        if match:
                            found[int(match[1])] = Path(file.path)
                # What another thread put in since is there by now.
                for number in self._known.keys() - found.keys():
                    found[number] = self._path(number)
                for number, path in found.items():
                    self._look_at(number, path)
            return dict(self._known)

    def _look_at(self, number: int, path: Path) -> None:
        known = self._known.get(number)
        with self._errors(path):
            try:
                stamp = _stamp(path.stat())
            except FileNotFoundError:
                stamp = None
        if known is not None and known.stamp == stamp:
            return
        if known is not None and known.keys is not None:
            self._held -= known.bytes
        read = None if stamp is None else self._read_part(number, path)
        if read is None:
            self._known.pop(number, None)
        else:
            self._known[number] = read

    def _read_part(self, number: int, path: Path) -> _Part | None:
        """Read all of a part's file but its keys and facts, and check it.

        None where it was left by another run, whose header is gone: it will be replaced.
        """
        with self._errors(path), path.open("rb") as file:
            status = os.fstat(file.fileno())
            head = file.read(_PART.size)
            if len(head) < _PART.size:
                raise _damaged(path)
            magic, run, part, bands, documents, facts_bytes, facts_sum = _PART.unpack(head)
            # Before anything is read by a length that may be damaged.
            beside = _PART.size + 4 * bands + _CRC.size
            if status.st_size != beside + 8 * bands * documents + facts_bytes:
                raise _damaged(path)
            sums = file.read(4 * bands)
            expected = file.read(_CRC.size)
        if magic != _PART_MAGIC or expected != _CRC.pack(zlib.crc32(head + sums)):
            raise _damaged(path)
        if run != self._run:
            return None
        if part != number or (self._header is not None and bands != self._header.num_bands):
            raise _damaged(path)
        return _Part(
            PartEntry(documents, facts_bytes, facts_sum),
            np.frombuffer(sums, dtype="<u4"),
            path=path,
            stamp=_stamp(status),
        )

    def _path(self, part: int) -> Path:
        assert self._folder is not None
        return self._folder / f"bands-{part:08}.part"

    def _facts(self, part: int) -> bytes:
        known = self._known.get(part)
        if known is None:
            raise StoreError(f"{self.url}: part {part} is missing", _AGAIN)
        if known.facts is not None:
            return known.facts
        facts = self._slice(known, known.facts_at, known.entry.facts_bytes)
        if checksum(facts) != known.entry.checksum:
            raise _damaged(known.path)
        return facts

    def _band(self, band: int, parts: list[int]) -> Iterator[tuple[int, np.ndarray]]:
        for number in parts:
            known = self._known.get(number)
            if known is None:
                raise StoreError(f"{self.url}: part {number} is missing", _AGAIN)
            if known.keys is not None:
                yield number, known.keys[band]
                continue
            length = 8 * known.entry.documents
            data = self._slice(known, known.keys_at + band * length, length)
            yield number, check_row(str(known.path), band, number, data, int(known.sums[band]))

    def _slice(self, part: _Part, start: int, length: int) -> bytes:
        # Read, not mapped: a file that is cut short, or a failing disk, must be an error and
        # not a signal that ends the process.
        assert part.path is not None
        with self._errors(part.path), part.path.open("rb") as file:
            file.seek(start)
            return file.read(length)

    def _write_note(self, name: str, text: str) -> None:
        if self._folder is None:
            self._said[name] = text
            return
        stem = blake2b(name.encode(), digest_size=8).hexdigest()
        note = {"run": self._run.hex(), "name": name, "text": text}
        self._write_text(self._folder / f"bands-{stem}.note", note)

    def _read_notes(self) -> dict[str, str]:
        if self._folder is None:
            return self._said
        notes = {}
        with self._errors(self._folder):
            paths = sorted(self._folder.glob("bands-*.note"))
        for path in paths:
            note = self._read_text(path)
            if note is not None and note.get("run") == self._run.hex():
                notes[note["name"]] = note["text"]
        return notes

    def _size(self) -> int:
        return sum(part.bytes for part in self._look().values())

    def _drop(self) -> None:
        if self._folder is not None and self._folder.is_dir():
            # The header goes last: what is left when this is interrupted is a run with fewer parts.
            self._remove_files()
            with self._errors(self._folder):
                (self._folder / _HEADER_NAME).unlink(missing_ok=True)
                _sync_folder(self._folder)
        self._clear()

    def _remove_files(self) -> None:
        assert self._folder is not None
        with self._errors(self._folder):
            for path in sorted(self._folder.iterdir()):
                if _OURS.fullmatch(path.name):
                    path.unlink(missing_ok=True)

    def _clear(self) -> None:
        with self._lock:
            self._text = None
            self._known = {}
            self._said = {}
            self._held = 0

    def _close(self) -> None:
        self._clear()

    # Files.

    def _write_text(self, path: Path, value: Any, replace: bool = True) -> bool:
        data = json.dumps(value, ensure_ascii=False).encode()
        head = _TEXT.pack(_TEXT_MAGIC, len(data), zlib.crc32(data))
        return self._write(path, [head, data], replace) != (0, 0, 0)

    def _read_text(self, path: Path) -> dict[str, Any] | None:
        try:
            with self._errors(path):
                data = path.read_bytes()
        except StoreError as error:
            if isinstance(error.__cause__, FileNotFoundError):
                return None
            raise
        if len(data) < _TEXT.size:
            raise _damaged(path)
        magic, length, expected = _TEXT.unpack(data[: _TEXT.size])
        body = data[_TEXT.size :]
        if magic != _TEXT_MAGIC or length != len(body) or zlib.crc32(body) != expected:
            raise _damaged(path)
        value: dict[str, Any] = json.loads(body)
        return value

    def _write(self, path: Path, blocks: list[Any], replace: bool = True) -> tuple[int, int, int]:
        """Write a file, safely, and return its stamp; zeros where it may not be replaced."""
        partial = path.with_name(f".{path.name}.{_whose()}.tmp")
        with self._errors(path):
            try:
                with partial.open("wb") as file:
                    for block in blocks:
                        file.write(block)
                    file.flush()
                    os.fsync(file.fileno())
                    stamp = _stamp(os.fstat(file.fileno()))
                if replace:
                    partial.replace(path)
                else:
                    try:
                        os.link(partial, path)  # refuses where a file is; a rename would not
                    except FileExistsError:
                        return (0, 0, 0)
                    finally:
                        partial.unlink()
                _sync_folder(path.parent)
            except BaseException:
                with suppress(OSError):  # the first error counts
                    partial.unlink(missing_ok=True)
                raise
        return stamp

    @contextmanager
    def _errors(self, path: Path) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise system_error(str(path), error) from error


def _damaged(path: Path | None) -> StoreError:
    return StoreError(f"{path}: is damaged", _AGAIN)


def _stamp(status: os.stat_result) -> tuple[int, int, int]:
    return status.st_ino, status.st_size, status.st_mtime_ns


def _whose() -> str:
    host = blake2b(socket.gethostname().encode(), digest_size=4).hexdigest()
    return f"{host}-{os.getpid()}"


def _is_abandoned(name: str) -> bool:
    """Whether a temporary file is of a process of this machine that is no more."""
    match = re.search(r"\.(\w+)-(\d+)\.tmp$", name)
    if match is None or match[1] != _whose().partition("-")[0]:
        return False
    if int(match[2]) == os.getpid():
        return True  # one thread at a time writes, and it is not writing now
    try:
        os.kill(int(match[2]), 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return False


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
