"""The interface of inputs: a source gives partitions, a partition documents.

One thread cuts partitions in input order, which is cheap, and many read them. Each pass reads only
the data that it needs: texts and a few columns, texts of some documents, or records of kept ones.
"""

import os
from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa

from neardup.errors import FormatError, InputError, InputNotFoundError, SpecError
from neardup.files.given_path import GivenPath
from neardup.io.reading_ahead import ReadAhead
from neardup.io.remote import Url, is_remote, stamps
from neardup.spec import LENGTH


@dataclass(frozen=True)
class SourceFile:
    """One input file as it was when the source was opened."""

    path: str  # as the user named it, or below the folder that the user named; "-"; or a URL
    name: str  # Posix name that no other file of the source has; the name of its output
    format: str  # of `neardup.file_formats.FORMATS`
    compression: str | None  # of `neardup.file_formats.COMPRESSIONS`
    size: int | None  # bytes on disk; None for a pipe that was not copied
    mtime_ns: int  # time of the last change, in nanoseconds since 1970; 0 for pipes
    copy: str | None = None  # the copy of a pipe, which is read instead
    content: bytes | None = field(default=None, repr=False)  # all bytes of a pipe
    delimiter: str = ""  # of CSV and TSV, where it is another one than by the format
    escape: str = ""  # of CSV and TSV: takes the quote behind it, or itself, as text
    encoding: str = ""  # of a text that is not UTF-8
    decoding: str = "strict"  # what becomes of bytes that are not in this encoding
    directory: str = ""  # that a relative path is relative to
    archive: "SourceFile | None" = None  # the zip archive that it is in
    member: str = ""  # its name there
    #: Remarks from reading it, a sentence each; and tables that stay in memory once they were read.
    notes: list[str] = field(default_factory=list, repr=False, compare=False)
    decoded: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)
    #: Reads a file of a source that is too large for the cache of the system.
    ahead: ReadAhead | None = field(default=None, repr=False, compare=False)

    @property
    def local_path(self) -> str:
        """Where its bytes are, absolute; "-" for a pipe that was not copied."""
        return self.copy or os.fspath(self.given)

    @property
    def given(self) -> GivenPath:
        """Its local path, or that of its archive."""
        return GivenPath(self.path if self.archive is None else self.archive.path, self.directory)

    @property
    def location(self) -> Url | GivenPath:
        """Its local path, or its URL."""
        return Url(self.path) if is_remote(self.path) else self.given

    @property
    def is_remote(self) -> bool:
        return self.copy is None and is_remote(self.path)

    @property
    def is_plain(self) -> bool:
        """Whether any range of its records can be read at any time."""
        return self.is_seekable and self.compression is None and not self.encoding

    @property
    def is_seekable(self) -> bool:
        """Whether its bytes are on the disk as they are, to be read from anywhere."""
        return self.size is not None and self.archive is None


#: Bytes of one document and of one record, unless another limit is given, and the largest limit:
#: kernels address the bytes of a partition by int32, and several records may wait together.
MAX_DOCUMENT, _LARGEST_LIMIT = 256_000_000, 512 << 20


@dataclass(frozen=True)
class Columns:
    """Columns that a run needs, and the treatment of invalid UTF-8 and of large documents."""

    text: tuple[str, ...] = ("text",)  # several are joined by one space each
    id: str | None = None  # column with the ids
    encoding_errors: str = "strict"  # refuses invalid UTF-8; "replace" writes U+FFFD instead
    extra: tuple[str, ...] = ()  # other columns that the first pass reads
    max_document: int = MAX_DOCUMENT  # bytes of a text, and of a record of JSON lines or CSV
    #: Leave out larger ones, and count them; else one is refused. None where it can't be chosen.
    skip_large: bool | None = None
    skip_bad: bool = False  # leave out records that can't be read, and count them
    sheet: str | None = None  # of Excel and LibreOffice; the first one without it
    header_row: int | None = None  # of such a sheet, from 1; the first with a cell without it
    items: bool = False  # texts are baskets: lists of items, see `neardup.sketch.baskets`
    memory: int | None = None  # bytes for tables that are decoded at once; None for no limit

    def __post_init__(self) -> None:
        if len(set(self.text)) < len(self.text):
            raise SpecError(f"`text` names a column twice: {', '.join(self.text)}")
        if self.encoding_errors not in ("strict", "replace"):
            raise SpecError(
                f"`encoding_errors` is {self.encoding_errors!r}, expected 'strict' or 'replace'"
            )
        if not 0 < self.max_document <= _LARGEST_LIMIT:
            raise SpecError(
                f"`max_document` is {self.max_document:,} bytes, expected at most "
                f"{_LARGEST_LIMIT >> 20} MiB",
                "split longer documents",
            )

    @property
    def replaces(self) -> bool:
        return self.encoding_errors == "replace"

    @property
    def required(self) -> tuple[str, ...]:
        """The columns that every file must have, each once."""
        ids = () if self.id is None else (self.id,)
        extra = (name for name in self.extra if name != LENGTH)
        return tuple(dict.fromkeys((*self.text, *ids, *extra)))


class BadRecord(NamedTuple):
    """A record that can't be read."""

    file: int  # index into `Source.files`
    start: int  # decompressed bytes of the file before it
    line: int | None  # from 1; 0 for a complete file, None where nothing has counted lines
    what: str  # why


class Skipped(NamedTuple):
    """Records that were left out, and are not among the documents."""

    large: int = 0  # for their size
    bad: int = 0  # since they can't be read
    first: tuple[BadRecord, ...] = ()  # the first few of these

    @classmethod
    def of(cls, values: Sequence[Any]) -> "Skipped":
        """Take it from JSON."""
        large, bad, first = values
        return cls(large, bad, tuple(BadRecord(*record) for record in first))

    @classmethod
    def total(cls, every: "Iterable[Skipped]") -> "Skipped":
        """Add several, in order."""
        large = bad = 0
        first: list[BadRecord] = []
        for one in every:
            large, bad, first = large + one.large, bad + one.bad, [*first, *one.first][:LISTED_BAD]
        return cls(large, bad, tuple(first))

    def counts(self) -> dict[str, int]:
        """Return the members of counts in a record."""
        return {"skipped": self.large, "skipped_bad": self.bad}


#: Records that can't be read of which a note is made, at most.
LISTED_BAD = 10
NONE_SKIPPED = Skipped()


@dataclass(frozen=True)
class Documents:
    """The ``n`` documents of a partition, in input order."""

    text: pa.LargeStringArray  # no nulls (they are empty), offset 0, first offset 0
    columns: pa.Table  # those asked for, n rows
    replaced: int  # documents with invalid UTF-8 that was replaced by U+FFFD
    unchanged: str | None = None  # the column whose values the texts are, as they were read
    skipped: Skipped = NONE_SKIPPED
    missing: int = 0  # documents whose text is null, NaN or empty


class TextFiles(NamedTuple):
    """Plain text files as they are on disk: names, relative to the output folder, and bytes."""

    names: list[str]
    contents: list[bytes]


#: Documents in a clean corpus: bytes of records, rows of a table, or complete files.
Records: TypeAlias = memoryview | pa.Table | TextFiles
#: Which documents of a partition: int64[], ascending; None for all.
Rows: TypeAlias = np.ndarray | None
#: Fields to put into each of some records, a row for each.
Added: TypeAlias = pa.Table | None
#: The result of `Partition.read`, if it is in memory; it is not decoded twice.
Cached: TypeAlias = Documents | None


class Partition(ABC):
    """A run of successive documents, cut but not parsed; picklable.

    Methods may be called in any thread and order, more than once. They take the rows that are
    wanted, int64[], ascending, and the number of documents that the partition has, as `read` found
    it; they raise FormatError if it has another one now.
    """

    file: int  # index into `Source.files`; -1 for frames
    start: int  # bytes of its file before it
    size: int  # bytes of its file, as on disk; those of all partitions add up to the file's size

    def sequence(self, cached: Cached = None) -> Hashable:
        """Partitions of one sequence are decoded one after the other; None for one by itself.

        Args:
            cached: Documents of the partition that `records` will be given.
        """
        return None

    def read(self, columns: tuple[str, ...] | None = ()) -> Documents:
        """Parse and check the partition.

        Args:
            columns: The columns that are needed besides the text; None for all, as in `table`. One
                of them may be `neardup.spec.LENGTH`, int32, the characters of the texts. Of
                JSON lines, each has the type that all its values in this partition have: int64,
                float64, bool, null (no value), else large_string; ids are int64, null or strings.
                Of CSV they are strings, and null where the field is empty.

        Raises:
            FormatError: The bytes are not of the format.
            ColumnError: A text is not a string, or an id is a list or an object.
            EncodingError: A text is not UTF-8, and the source was opened with ``strict``.
        """
        if columns is None or LENGTH not in columns:
            return self.parsed(columns)
        import pyarrow.compute as pc

        found = self.parsed(tuple(name for name in columns if name != LENGTH))
        length: Any = pc.utf8_length(found.text)
        every: dict[str, Any] = {name: found.columns[name] for name in found.columns.column_names}
        return replace(found, columns=pa.table({**every, LENGTH: length.cast(pa.int32())}))

    @abstractmethod
    def parsed(self, columns: tuple[str, ...] | None) -> Documents:
        """Return what `read` does, of columns of the records only."""

    @abstractmethod
    def texts(self, rows: np.ndarray, count: int) -> pa.LargeStringArray: ...

    @abstractmethod
    def records(
        self, rows: Rows, count: int, added: Added = None, cached: Cached = None
    ) -> Records:
        """Return some documents as a clean corpus in the format of the input has them.

        JSON lines, CSV, TSV: the bytes of the records, each with a line end. Parquet, Arrow,
        frames: a table with all columns. Plain texts: the files. No existing column is added.
        """

    @abstractmethod
    def table(self, rows: Rows, count: int, added: Added = None, cached: Cached = None) -> pa.Table:
        """Return the same as a table with all columns, for another format than the input's.

        Columns of CSV are strings. Those of JSON lines have types as in `read`, which may differ
        between partitions, see `common_schema`; arrays and objects are JSON text, numbers among
        strings are strings.
        """

    @abstractmethod
    def schema(self) -> pa.Schema:
        """Return the schema of `table`; JSON lines are parsed for it."""

    def ask(self) -> None:  # noqa: B027
        """Say that the partition will soon be read, for files that are read ahead."""

    def halves(self) -> "Sequence[Partition]":
        """Return both halves of the records of a text; nothing where it can't be divided."""
        return ()

    def present(self, names: Sequence[str]) -> list[str]:
        """Return those names that are columns of the records themselves."""
        there = set(self.schema().names)
        return [name for name in names if name in there]

    def lists(self) -> list[str]:
        """Return the columns that have lists."""
        return lists_of(self.schema())


def lists_of(schema: pa.Schema) -> list[str]:
    """Return the columns of a schema that have lists."""
    tests = pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list
    return [field.name for field in schema if any(test(field.type) for test in tests)]


@dataclass(frozen=True)
class Layout:
    """All that a writer has to know of an output file; picklable."""

    format: str  # jsonl, csv, tsv, parquet, arrow, lines or text
    compression: str | None = None  # of bytes; for Parquet and Arrow the codec, in Arrow's words
    header: bytes = b""  # first bytes of a file of CSV, TSV or entries, with the line end
    schema: pa.Schema | None = None  # of the records as a table; None for JSON lines
    text: tuple[str, ...] = ()  # columns of long texts: Parquet does not try a dictionary
    delimiter: str = ""  # see `SourceFile`
    escape: str = ""  # see `SourceFile`
    views: pa.Schema | None = None  # the same as the input has it, if that has views of strings
    footer: bytes = b""  # last bytes of a file of entries


class Source(ABC):
    """An input that has been opened; picklable."""

    files: list[SourceFile]  # in the order in which they are read; empty for frames
    format: str  # of the files; "mixed" if they differ, "frame" for frames
    columns: Columns  # the settings
    id_column: str | None  # column with the ids: `columns.id`, or "path" for plain texts
    total_bytes: int | None  # sum of the partitions' sizes, for frames about; None if unknown
    converted: Sequence[str] = ()  # columns of several types, which are read as strings
    rereadable: bool  # whether `partitions` may be called again, and then gives equal partitions

    @abstractmethod
    def partitions(self, file: int | None = None) -> Iterator[Partition]:
        """Cut the source, or one of its files, into partitions in input order.

        Compressed files and Arrow IPC are decoded for it, and the first pass over CSV scans it.
        """

    @abstractmethod
    def layout(self, file: int) -> Layout:
        """Return how the records of a file, or of a frame (-1), are written without conversion."""

    def present(self, file: int, names: Sequence[str]) -> list[str]:
        """Return those names that are columns of the first records of a file."""
        return []

    def lists(self, file: int) -> list[str]:
        """Return the columns that have lists in the first records of a file, or in a frame."""
        return lists_of(self.layout(file).schema or pa.schema([]))

    def schema(self) -> pa.Schema | None:
        """The columns of the frame or of the first file; None for JSON lines and pipes."""
        if self.files and self.files[0].size is None:
            return None
        return self.layout(0 if self.files else -1).schema

    def check_unchanged(self) -> None:
        every = dict.fromkeys(file.archive or file for file in self.files)
        known = [file for file in every if file.copy is None and file.size is not None]
        remote = dict(stamps([file.path for file in known if file.is_remote]))
        for file in known:
            now = remote[file.path] if file.is_remote else _stamp(file.local_path)
            if now is None:
                raise InputError(f"{file.path} was removed while it was read")
            if now != (file.size, file.mtime_ns):
                raise changed(file.path)


def _stamp(path: str) -> tuple[int, int] | None:
    """Size and time of a file as it is now; None where it is gone."""
    with suppress(OSError):
        now = os.stat(path)  # noqa: PTH116 - there may be a million
        return now.st_size, now.st_mtime_ns
    return None


def changed(name: str) -> FormatError:
    return FormatError(f"{name} has changed while it was read", "start again once it is complete")


def unreadable(path: str, error: OSError) -> InputError:
    """The error for a file that the operating system does not give out."""
    if isinstance(error, FileNotFoundError):
        return InputNotFoundError(f"{path}: no such file or folder", "check the path")
    reason = os.strerror(error.errno).lower() if error.errno else "the system gave no reason"
    hint = "check the permissions of the file" if isinstance(error, PermissionError) else ""
    return InputError(f"{path}: can't be read: {reason}", hint)
