"""From how a user wants a source to be read, to the source that was opened; what identifies it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np

from neardup import __version__
from neardup.file_formats import APPLIES_TO
from neardup.files.given_path import GivenPath
from neardup.io.opening import Characters, FileSource, accepted, given_paths, open_source
from neardup.io.paths import find_files
from neardup.io.remote import Url, again
from neardup.io.source import Columns, Source, unreadable
from neardup.memory_plan import parse_size
from neardup.options.option_groups import Reading
from neardup.state.database import file_checksum, sampled_checksum
from neardup.state.run_state import RunState
from neardup.tuning import TUNING
from neardup.values.json_values import JSON

#: Partitions of a source, about: not too many to keep track of.
_MANY_PARTITIONS = 4096
#: Files that are looked into, at most, besides their sizes and times; and so many are listed in a
#: record one by one: a message can name the one that has changed.
_MOST = 1000


@dataclass(frozen=True)
class HowRead(Reading):
    """How a source is read: as it was asked for, and as its size and the settings need it.

    Attributes:
        partition_bytes: About the bytes of a partition.
        items: Whether texts are lists of items.
        memory: Bytes that a call may use, for tables that are decoded at once; None for no limit.
    """

    partition_bytes: int = field(default_factory=lambda: TUNING.partition_bytes)
    items: bool = False
    memory: int | None = None

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Self:
        """Take its values from a mapping, such as ``run.json``, which may have others."""
        known = {field.name for field in fields(cls)}
        return cls(**{k: v for k, v in values.items() if k in known and v is not None})

    def of_another(self, source: object, *given: str) -> Self:
        """Return how another source is read: without options for formats that it has not.

        Args:
            source: The other one.
            given: Options that were given for it, and stay.

        Raises:
            InputError: Its files can't be found, or have formats that are not known.
        """
        paths = given_paths(source)
        none: dict[str, Any] = dict.fromkeys(name for name in APPLIES_TO if name not in given)
        if paths is None:
            return replace(self, skip_large=False, skip_bad=False, **none)
        if all(getattr(self, name) is None for name in none):
            return self
        there = {file.format for file in find_files(paths, self.input_format)}
        for name in [name for name in none if there & {*APPLIES_TO[name]}]:
            del none[name]
        return replace(self, **none)

    def as_dict(self) -> dict[str, Any]:
        """Return all of it that results depend on, in JSON values; not the memory."""
        found = {**asdict(self), "text": list(self.text)}
        del found["memory"]
        return found

    def open(
        self,
        source: object,
        extra: tuple[str, ...] = (),
        copy_folder: Path | None = None,
        texts: bool = True,
    ) -> Source:
        """Open a source, see `open_source`.

        Args:
            source: It.
            extra: Other columns that the first pass reads.
            copy_folder: Pipes are copied into it.
            texts: Whether the columns of texts and ids are read.
        """
        columns = Columns(
            tuple(self.text) if texts else (),
            self.id if texts else None,
            self.encoding_errors,
            extra,
            parse_size(self.max_document, "max_document"),
            self.skip_large,
            self.skip_bad,
            self.sheet,
            self.header_row,
            self.items,
            self.memory,
        )
        characters = Characters(self.delimiter, self.escape, self.encoding)
        how = self.input_format, characters, self.partition_bytes, copy_folder
        return open_source(source, columns, *how)

    def open_sized(
        self, source: object, extra: tuple[str, ...] = (), copy_folder: Path | None = None
    ) -> tuple[Source, Self]:
        """Open a source in partitions that suit its size; return it, and how it is read then."""
        opened = self.open(source, extra, copy_folder)
        if not opened.files:
            return opened, self
        total = opened.total_bytes or 0
        size = max(TUNING.smallest_partition, total // TUNING.few_partitions)
        size = max(min(TUNING.partition_bytes, size), total // _MANY_PARTITIONS)
        sized = replace(self, partition_bytes=size)
        return FileSource(opened.files, opened.columns, size), sized


def how_read(reading: Reading, **more: Any) -> HowRead:
    """Return how a source is read; ``more`` are fields of it that users do not name."""
    found = reading if isinstance(reading, HowRead) else HowRead(**vars(reading))
    return replace(found, **more)


@dataclass
class OpenInput:
    """A source, and how it is read.

    Attributes:
        source: It.
        how: How it is read, in JSON values; ``given`` are its paths, none for a frame.
        extra: Columns that are read besides texts and ids.
    """

    source: Source
    how: Mapping[str, Any]
    extra: tuple[str, ...] = ()

    @classmethod
    def open(
        cls,
        given: object,
        reading: Reading,
        extra: tuple[str, ...] = (),
        state: RunState | None = None,
        name: str = "inputs",
    ) -> Self:
        """Open an input, as `neardup.dedup` does.

        Args:
            given: The input.
            reading: How it is read.
            extra: Other columns that are read.
            state: Of a run that can be resumed: pipes are copied into it.
            name: Name of the folder there.

        Raises:
            InputError: It can't be used; the subclasses say why.
        """
        given = accepted(given)
        folder = None if state is None else state.scratch_folder(name)
        source, sized = how_read(reading).open_sized(given, extra, folder)
        return cls(source, how_given(given, sized), extra)

    @property
    def secret_ids(self) -> bool:
        """Whether no message may quote ids: they are texts, or were said to be private."""
        return self.private_ids or self.source.id_column in self.source.columns.text

    @property
    def private_ids(self) -> bool:
        return bool(self.how.get("private_ids"))

    @cached_property
    def inputs(self) -> list[list[Any]]:
        """Path, size, time and checksum of each file, as they are when first asked for."""
        files = self.source.files
        step = -(-len(files) // _MOST) or 1
        sampled = cache(lambda path: sampled_checksum(Path(path)))  # many may be in one archive
        found: list[list[Any]] = []
        for number, file in enumerate(files):
            time, checksum = file.mtime_ns, 0
            if file.copy:
                time, checksum = 0, file_checksum(Path(file.copy))
            elif number % step == 0:
                try:
                    checksum = sampled(file.local_path)
                except OSError as error:
                    raise unreadable(file.path, error) from error
            found.append([file.path, file.size, time, checksum])
        return found

    @property
    def directory(self) -> str:
        """The directory that relative names of files are relative to; empty without any."""
        return next((file.directory for file in self.source.files if file.directory), "")

    @property
    def given(self) -> list[Url | GivenPath]:
        """Files, folders, patterns and URLs as they were given; none for a frame."""
        return again(self.how.get("given", ()), self.directory)

    def identity(self) -> dict[str, Any]:
        """Return the files, and how they are read: a result depends on these."""
        return {"neardup": __version__, **self.how, "inputs": self.inputs}

    def record(self, ends: np.ndarray) -> dict[str, Any]:
        """Return the members of a record on the input, once it was read.

        ``ends``, int64[partitions], are the documents up to the end of each.
        """
        # Whether it can't be read again by its name.
        once = not self.how.get("given") or any(file.copy for file in self.source.files)
        return {
            "source": None if once else self._about_files(ends),
            "frame": self._about_frame() if once else None,
            "secret_ids": self.secret_ids,
            "private_ids": self.private_ids,
        }

    def _about_frame(self) -> dict[str, Any]:
        """How a frame or a pipe was read, which may be given again."""
        columns = self.source.columns
        return {
            "given": self.how.get("given", []),
            "text": list(columns.text),
            "id": columns.id,
            "encoding_errors": columns.encoding_errors,
        }

    def _about_files(self, ends: np.ndarray) -> dict[str, Any]:
        inputs = [found[:3] for found in self.inputs]
        return {
            "directory": self.directory,
            **self.how,
            # One line, not one for each partition.
            "partition_documents": " ".join(map(str, np.diff(ends, prepend=0).tolist())),
            "files": len(inputs),
            "files_digest": inputs_digest(inputs),
            "inputs": inputs if len(inputs) <= _MOST else [],
        }


def how_given(given: object, reading: HowRead) -> dict[str, Any]:
    """Return how an input is read, in JSON values."""
    return {"given": list(map(str, given_paths(given) or ())), **reading.as_dict()}


def digest_of(manifest: JSON) -> str:
    """Return the SHA-256 (hex) of all that was asked for, with names, sizes, times of inputs."""
    return hashlib.sha256(json.dumps(manifest, sort_keys=True).encode()).hexdigest()


def inputs_digest(inputs: list[list[Any]]) -> str:
    """Return the SHA-256 (hex) of the entries of the input files, without their paths."""
    return digest_of([[size, time] for _, size, time in inputs])
