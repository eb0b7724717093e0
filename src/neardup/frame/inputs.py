"""The input of a result, and documents of it that are read again."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa

from neardup.deduplication.documents.identifiers import id_array
from neardup.deduplication.reading import PartitionRows, Reader
from neardup.errors import InputError, InputNotFoundError
from neardup.files.given_path import GivenPath
from neardup.io.formats.json_text import joined_tables
from neardup.io.paths import find_files
from neardup.io.remote import Url, again
from neardup.io.source import Partition, Source
from neardup.options.how_read import HowRead, OpenInput, how_given, inputs_digest
from neardup.threads import Pool

A = TypeVar("A")
#: A member of a zip archive, and the archive.
_MEMBER = re.compile(r"(.*?\.zip)[/\\]", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True)
class Input:
    """An input that was read, and is read again.

    Attributes:
        reader: Goes through it.
        ends: int64[partitions]: documents up to the end of each.
        how: How it is read, see `OpenInput`.
        of: Whose it is, in messages.
        again: The remedy where it has changed.
    """

    reader: Reader
    ends: np.ndarray
    how: Mapping[str, Any] = field(default_factory=dict)
    of: str = "the run"
    again: str = "run the command again"

    @classmethod
    def counted(cls, source: Source) -> Input:
        """Read a source once to count its documents."""
        reader = Reader(source)
        with Pool() as pool:
            read = pool.ordered(lambda item: len(item[1].read().text), reader.partitions())
            return cls(reader, np.cumsum(list(read), dtype=np.int64))

    @property
    def source(self) -> Source:
        """The source; FormatError where it has changed."""
        self.reader.source.check_unchanged()
        return self.reader.source

    @property
    def opened(self) -> OpenInput:
        """Its source, which may have changed, and how it is read."""
        return OpenInput(self.reader.source, self.how)

    @property
    def documents(self) -> int:
        return int(self.ends.max(initial=0))

    def ids(self) -> pa.ChunkedArray[Any] | None:
        """Read the ids again; None where positions are the ids."""
        name = self.reader.source.id_column
        if name is None:
            return None

        def read(item: tuple[int, Partition]) -> list[pa.Array[Any]]:
            return id_array(item[1].read((name,)).columns.column(name), name).chunks

        with Pool() as pool:
            chunks = [*chain.from_iterable(pool.ordered(read, self.reader.partitions()))]
        return pa.chunked_array(chunks or [pa.array([], pa.int64())])

    def every(self) -> Selection:
        """Return all documents."""
        return self.at(np.arange(self.documents))

    def at(self, positions: np.ndarray) -> Selection:
        """Return some documents; ``positions``, int64[], are ascending."""
        return Selection(self, positions)

    def texts(self, positions: np.ndarray, threads: int | None = None) -> list[str]:
        """Return the texts of documents by their positions, in any order.

        Raises:
            InputError: The input has changed.
        """
        ascending = np.unique(positions).astype(np.int64)

        def read(partition: Partition, rows: np.ndarray, count: int) -> list[str | None]:
            return partition.texts(rows, count).to_pylist()

        found = list(chain.from_iterable(self.at(ascending).visit(read, threads)))
        if len(found) != len(ascending):
            raise changed(self.of, self.again)
        return [found[row] or "" for row in np.searchsorted(ascending, positions)]


class Selection(NamedTuple):
    """Some documents of an input."""

    input: Input
    positions: np.ndarray  # int64[], ascending

    def visit(
        self, work: Callable[[Partition, np.ndarray, int], A], threads: int | None = None
    ) -> Iterator[A]:
        """Go through them, partition by partition, in order.

        ``work`` is called in several threads with a partition, the rows wanted of it, and the
        number of its documents; its results are yielded.
        """

        def done(selected: PartitionRows) -> A:
            assert selected.rows is not None
            return work(selected.partition, selected.rows, selected.documents)

        reader, ends = self.input.reader, self.input.ends
        with Pool(threads) as pool:
            yield from pool.ordered(done, reader.again(ends, self.positions))

    def table(self) -> pa.Table:
        """Return them with all their columns."""

        def read(partition: Partition, rows: np.ndarray, count: int) -> pa.Table:
            return partition.table(None if len(rows) == count else rows, count)

        return joined_tables(list(self.visit(read)), self.input.reader.schema)


def changed(of: str, again: str, file: str = "") -> InputError:
    """Return the error for an input, or a file of it, that is no longer as the run read it."""
    return InputError(f"{file or f'the input of {of}'} has changed since the run", again)


@dataclass(frozen=True)
class RecordedInput:
    """The input that a record is about.

    Attributes:
        about: Member of the record; None of a frame or a pipe.
        of: Whose input it is, in messages.
        remedy: What to do where it is gone or has changed.
        here: The current directory when the record was opened: names of files start there.
    """

    about: dict[str, Any] | None
    of: str
    remedy: str
    here: str | None = None

    @cached_property
    def given(self) -> list[Url | GivenPath]:
        """The paths that the run was given; none of a frame."""
        return [] if self.about is None else [self._from_here(path) for path in self.about["given"]]

    @property
    def files(self) -> list[GivenPath]:
        """The local files that the run has read, as far as they can be found."""
        if self.about is None:
            return []
        if self.about["inputs"]:
            found = [self._from_here(file[0]) for file in self.about["inputs"]]
            return [path for path in found if isinstance(path, GivenPath)]
        # Of very many the record has no list.
        try:
            files = find_files(self.given, self.about["input_format"])
            return [file.given for file in files if not file.is_remote]
        except InputError:
            return []

    def open(self) -> Input:
        """Open it again.

        Raises:
            InputError: It is gone, or has changed, or can't be read again.
        """
        about = self.about
        if about is None:
            raise InputError(
                f"{self.of}: its input was a frame or a pipe and can't be read again",
                "give it again from Python, neardup.open(folder, source=frame), or write it to a "
                "file and run neardup dedup on that",
            )
        try:
            how = HowRead.of(about)
            source = how.open(self.given)
        except InputNotFoundError as error:
            raise self._gone(about) or error from error
        inputs = [[file.path, file.size, file.mtime_ns] for file in source.files]
        if inputs_digest(inputs) != about["files_digest"]:
            if gone := self._gone(about):
                raise gone
            pairs = zip(about["inputs"], inputs, strict=False)
            others = (str(now[0]) for old, now in pairs if old[1:] != now[1:])
            raise changed(self.of, self.remedy, next(others, ""))
        counts = np.array(about["partition_documents"].split(), dtype=np.int64)
        given = how_given(self.given, how)
        return Input(Reader(source), np.cumsum(counts), given, self.of, self.remedy)

    def _gone(self, about: dict[str, Any]) -> InputNotFoundError | None:
        """Return the error for a path that was read and is no longer there; None if all are."""
        for name in (*about["given"], *(file[0] for file in about["inputs"])):
            path = self._from_here(name)
            there = isinstance(path, Url) or os.path.lexists(path)
            if not there and not glob.has_magic(name):
                return InputNotFoundError(
                    f"{path}, an input of {self.of}, is gone", f"put it back, or {self.remedy}"
                )
        return None

    def _from_here(self, name: str) -> Url | GivenPath:
        assert self.about is not None
        directory = self.about["directory"]
        (path,) = again([name], directory)
        if isinstance(path, Url):
            return path
        archive = _MEMBER.match(path.name)
        if archive and not os.path.lexists(path):
            member = replace(path, name=archive[1])
            path = member if member.path.is_file() else path
        return path if self.here == directory else GivenPath(os.path.normpath(path))
