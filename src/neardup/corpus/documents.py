"""What the rest of the package sees of an input: a corpus gives chunks, a chunk gives documents.

Chunks are cut in input order by one thread and read by many; the cut is cheap, the read is not.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from neardup.errors import FormatError, InputError, SpecError

__all__ = ["Chunk", "Columns", "Corpus", "Documents", "SourceFile", "Spread"]


@dataclass(frozen=True)
class SourceFile:
    """One input file as it was when the corpus was opened: what a manifest needs of it.

    Args:
        path: The path as the user gave it, or below the folder that the user gave.
        size: Bytes on disk (compressed size for compressed files).
        mtime_ns: Time of the last change, in nanoseconds since 1970; 0 for pipes.
        is_pipe: A copy of it is read; see ``spool`` of `open_files`.
    """

    path: str
    size: int
    mtime_ns: int
    is_pipe: bool = False


@dataclass(frozen=True)
class Documents:
    """The documents of one chunk, in input order.

    Args:
        table: All columns of the input as they were, ``n`` rows.
        text: ``n`` texts, ``large_string``: no nulls, offset 0, first offset 0. Several text
            columns are joined by one blank each; null counts as empty.
        replaced: How many of the ``n`` documents had invalid UTF-8 that was replaced by U+FFFD.
        origin: The one file that they come from, for messages; empty where there is none or more.
    """

    table: pa.Table
    text: pa.Array
    replaced: int
    origin: str = ""


class Chunk(ABC):
    """A run of successive documents, cut off but not parsed yet.

    ``size`` is the number of bytes of the source that it stands for, for progress; for compressed
    files these are compressed bytes. The sizes of a file's chunks add up to the file's size.
    """

    size: int
    #: Whether reading it again costs more than holding what was read, while there is room.
    worth_holding = True

    @abstractmethod
    def read(self) -> Documents:
        """Parse and check the chunk; safe in any thread and in any order of chunks.

        Raises:
            FormatError: The bytes are not what the format says.
            ColumnError: A text is not a string.
            EncodingError: A text is not UTF-8 and the corpus was opened with ``"strict"``.
        """

    def read_again(
        self, rows: np.ndarray, count: int, schema: pa.Schema | None = None
    ) -> Documents:
        """Read some of the documents once more, in the same pass over the corpus or a later one.

        A chunk of a plain file holds no bytes between reads, so that a corpus can be gone through
        several times without being held in memory. The chunk need not have been read: it may come
        from another call of `Corpus.chunks`, or from another process.

        Args:
            rows: int64[], ascending: which of the chunk's documents.
            count: How many documents the chunk has, as `read` found it.
            schema: What the table will be brought into by `conform`; None where only the texts
                are wanted. Some readers read less of the source where it has no JSON text.

        Returns:
            These documents; column types may be narrower than those of the whole chunk, and
            ``replaced`` may count the whole chunk or these documents only.

        Raises:
            FormatError: The chunk has not ``count`` documents: the source has changed.
        """
        documents = self.read()
        if len(documents.text) != count:
            raise FormatError(
                f"{documents.origin or 'the input'} has changed while it was read",
                "start again once it is complete",
            )
        if len(rows) == count:
            return documents
        return Documents(
            documents.table.take(rows),
            documents.text.take(rows),
            documents.replaced,
            documents.origin,
        )


@dataclass(frozen=True)
class Spread:
    """Blocks of documents drawn from places all over a source.

    The source is cut into blocks of about equal size, and one is drawn from each of as many equal
    stretches as blocks are wanted: the same ones each time.

    Attributes:
        chunks: The documents of each block, in input order.
        whole: They are the whole source.
        everywhere: They come from all over it; else from the begin of files that can't be entered
            elsewhere (CSV, compressed files, very large row groups of Parquet).
        documents: How many the source has, where that is known without reading it.
    """

    chunks: list[Chunk]
    whole: bool
    everywhere: bool
    documents: int | None = None


class Corpus(ABC):
    """An input that has been opened; nothing of it is held in memory between chunks.

    Attributes:
        total_bytes: Size of the source for progress; None where it is unknown (a pipe, a stream).
        rereadable: Whether `chunks` may be called again, and then gives equal chunks.
        id_column: Column that holds the ids, or None where documents have none.
        inputs: The files, in the order in which they are read; without pipes that are not copied,
            and empty for frames.
    """

    total_bytes: int | None
    rereadable: bool
    id_column: str | None
    inputs: list[SourceFile]

    @abstractmethod
    def chunks(self) -> Iterator[Chunk]:
        """Cut the source into chunks, in input order; the caller reads them where it likes.

        Where the corpus is `rereadable`, the n-th chunk has the same documents each time. To pass
        a chunk over without reading it costs next to nothing with JSON lines, plain texts, Parquet
        and Arrow; CSV is scanned, compressed files are decompressed, and very large row groups of
        Parquet are decoded.

        Raises:
            InputError: The source can't be read; its leaves say why.
        """

    def spread(self, blocks: int, block_bytes: int) -> Spread | None:
        """Draw blocks of documents from places all over the source, without going through it.

        Args:
            blocks: How many, at most, where not the whole source is drawn.
            block_bytes: Bytes of the source in a block, about.

        Returns:
            The blocks; None where the source can be read but once. There are none of them where it
            can be read only as a whole.

        Raises:
            InputError: The source can't be read; its leaves say why.
        """
        return None

    def fetch(self, docs: np.ndarray, ends: np.ndarray, sizes: np.ndarray) -> list[str] | None:
        """Return the texts of some documents, without going through the source to get there.

        Args:
            docs: int64[], ascending: positions.
            ends: int64[chunks]: position after the last document of each chunk, as read before.
            sizes: int64[chunks]: ``size`` of each chunk.

        Returns:
            The texts; None where the source has to be gone through.

        Raises:
            InputError: The source can't be read, or has not as many documents.
        """
        return None

    def check_unchanged(self) -> None:
        """Make sure that the files are still what they were when the corpus was opened.

        Raises:
            InputError: One is gone, or has another size or time.
        """
        for file in self.inputs:
            if file.is_pipe:
                continue
            try:
                now = Path(file.path).stat()
            except OSError as error:
                raise InputError(f"{file.path} was taken away while it was read") from error
            if (now.st_size, now.st_mtime_ns) != (file.size, file.mtime_ns):
                raise InputError(
                    f"{file.path} has changed while it was read", "start again once it is complete"
                )


@dataclass(frozen=True)
class Columns:
    """Which columns hold the text and the id, and what happens to invalid UTF-8.

    Raises:
        SpecError: No text column, one named twice, or an unknown ``encoding_errors``.
    """

    text: tuple[str, ...]
    id: str | None
    encoding_errors: str = "strict"

    def __post_init__(self) -> None:
        if not self.text:
            raise SpecError("text names no column", "name at least one column that holds text")
        if len(set(self.text)) < len(self.text):
            raise SpecError(f"text names a column twice: {', '.join(self.text)}")
        if self.encoding_errors not in ("strict", "replace"):
            raise SpecError(
                f"encoding_errors is {self.encoding_errors!r}, expected 'strict' or 'replace'"
            )

    @classmethod
    def of(cls, text: Sequence[str], id: str | None, encoding_errors: str) -> Columns:
        """The same from loose settings; a single string names one text column."""
        return cls((text,) if isinstance(text, str) else tuple(text), id, encoding_errors)

    @property
    def replaces(self) -> bool:
        """Whether invalid UTF-8 is replaced instead of refused."""
        return self.encoding_errors == "replace"

    @property
    def required(self) -> tuple[str, ...]:
        """The columns that every file must have."""
        if self.id is None or self.id in self.text:
            return self.text
        return (*self.text, self.id)


class OneShot:
    """Guard of a source that can be read once only, such as a pipe."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._used = False

    def take(self) -> None:
        """Raises:
        InputError: The source has been read before.
        """
        if self._used:
            raise InputError(
                f"{self._name} can be read once only and has been read",
                "write it to a file and give the file",
            )
        self._used = True
