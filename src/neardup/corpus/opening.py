"""Where the corpus room is entered: from files, from frames, or from either."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from neardup.corpus.columnar import cut_arrow, cut_parquet
from neardup.corpus.csvtables import cut_csv
from neardup.corpus.documents import Chunk, Columns, Corpus, OneShot, SourceFile, Spread
from neardup.corpus.fetching import fetch_texts
from neardup.corpus.frames import FrameCorpus
from neardup.corpus.inputs import InputFile, find_inputs
from neardup.corpus.jsonlines import cut_json
from neardup.corpus.plaintexts import PATH_COLUMN, cut_texts
from neardup.corpus.spool import spooled
from neardup.corpus.spread import Cutter, spread_files
from neardup.errors import SpecError

__all__ = ["open_corpus", "open_files", "open_frame"]

CHUNK_BYTES = 8 << 20
_LEAST_CHUNK = 64  # the first block must hold a byte order mark

_CUTTERS: dict[str, Cutter] = {
    "jsonl": cut_json,
    "csv": cut_csv,
    "tsv": cut_csv,
    "parquet": cut_parquet,
    "arrow": cut_arrow,
}


def open_corpus(
    source: Any,
    *,
    text: Sequence[str] = ("text",),
    id: str | None = None,
    input_format: str | None = None,
    encoding_errors: str = "strict",
    chunk_bytes: int = CHUNK_BYTES,
    spool: Path | None = None,
) -> Corpus:
    """Open files or a frame, whichever the source is.

    A string or a path, or several paths in a list, are files, see `open_files`; all else is a
    frame, see `open_frame`. A list of strings is a list of texts: name several files by paths, or
    use `open_files`.

    Args:
        source: What to read.
        text: Columns that hold the text; several are joined by one blank each.
        id: Column that holds the ids, which every file must have.
        input_format: One of ``jsonl, parquet, csv, tsv, arrow, text``; for files without a telling
            ending, and for stdin. Files only.
        encoding_errors: ``strict`` refuses text that is not UTF-8, ``replace`` puts U+FFFD in.
        chunk_bytes: Bytes of a chunk, about; a single document may be larger.
        spool: Folder to which pipes are copied first, so that they can be read again; what was
            copied to it before is read in their place. None to read pipes as they come, once.

    Raises:
        OutputError: ``spool`` can't be written to, or its disk is full.
        SpecError: A setting out of range.
        InputError: The source is not there or not readable; its leaves say why. What shows only
            when the bytes are read is raised by the chunks.
    """
    paths = _paths(source)
    if paths is not None:
        return open_files(
            paths,
            text=text,
            id=id,
            input_format=input_format,
            encoding_errors=encoding_errors,
            chunk_bytes=chunk_bytes,
            spool=spool,
        )
    if input_format is not None:
        raise SpecError(f"input format {input_format!r} is given for a frame, it is for files only")
    return open_frame(
        source, text=text, id=id, encoding_errors=encoding_errors, chunk_bytes=chunk_bytes
    )


def _paths(source: Any) -> Sequence[str | Path] | None:
    if isinstance(source, str | Path):
        return [source]
    if isinstance(source, list | tuple) and any(isinstance(item, Path) for item in source):
        return source
    # An empty list names no file and holds no text; the error for it is that of no input.
    return [] if isinstance(source, list | tuple) and not source else None


def open_files(
    paths: str | Path | Sequence[str | Path],
    *,
    text: Sequence[str] = ("text",),
    id: str | None = None,
    input_format: str | None = None,
    encoding_errors: str = "strict",
    chunk_bytes: int = CHUNK_BYTES,
    spool: Path | None = None,
) -> Corpus:
    """Open files, folders, patterns (``*``, ``?``, ``[...]``, ``**``) or ``-`` for stdin.

    The format is told by the ending: ``.jsonl .ndjson .json`` JSON lines, ``.parquet``, ``.csv``,
    ``.tsv``, ``.arrow .feather .ipc`` Arrow IPC, ``.txt`` one document a file; the textual ones
    with ``.gz`` or ``.zst`` behind. A folder with none of these but ``.txt`` is a folder of texts.
    Plain texts have the columns ``path``, which is their id, and ``text``. Stdin is JSON lines.

    Args and raises as `open_corpus`.
    """
    _check_chunk(chunk_bytes)
    columns = Columns.of(text, id, encoding_errors)
    files = find_inputs([paths] if isinstance(paths, str | Path) else list(paths), input_format)
    if spool is not None:
        files = spooled(files, spool)
    return _FileCorpus(files, columns, chunk_bytes)


def open_frame(
    source: Any,
    *,
    text: Sequence[str] = ("text",),
    id: str | None = None,
    encoding_errors: str = "strict",
    chunk_bytes: int = CHUNK_BYTES,
) -> Corpus:
    """Open data that is in memory or comes from another library.

    A pyarrow Table, RecordBatch, RecordBatchReader or Dataset, a pandas or Polars frame (all that
    has ``__arrow_c_stream__``), a Hugging Face Dataset, or an iterable of strings, whose column is
    called ``text``. Readers and iterators can be read once only.

    Args and raises as `open_corpus`.
    """
    _check_chunk(chunk_bytes)
    return FrameCorpus(source, Columns.of(text, id, encoding_errors), chunk_bytes)


def _check_chunk(chunk_bytes: int) -> None:
    if chunk_bytes < _LEAST_CHUNK:
        raise SpecError(f"chunk_bytes is {chunk_bytes}, expected at least {_LEAST_CHUNK}")


class _FileCorpus(Corpus):
    def __init__(self, files: list[InputFile], columns: Columns, chunk_bytes: int) -> None:
        self._files = files
        self._chunk_bytes = chunk_bytes
        self._texts = files[0].format == "text"
        self._pipes = {f.path: OneShot(f.path) for f in files if f.size is None}
        sizes = [file.size for file in files if file.size is not None]
        self.total_bytes = sum(sizes) if len(sizes) == len(files) else None
        self.rereadable = not self._pipes
        self.id_column = columns.id or (PATH_COLUMN if self._texts else None)
        self.inputs = [
            SourceFile(file.path, file.size, file.mtime_ns, file.spool is not None)
            for file in files
            if file.size is not None
        ]
        self._columns = columns

    def chunks(self) -> Iterator[Chunk]:
        for pipe in self._pipes.values():
            pipe.take()
        if self._texts:
            yield from cut_texts(self._files, self._columns, self._chunk_bytes)
            return
        for file in self._files:
            yield from _CUTTERS[file.format](file, self._columns, self._chunk_bytes)

    def spread(self, blocks: int, block_bytes: int) -> Spread | None:
        if self._pipes:
            return None
        return spread_files(self._files, self._columns, _CUTTERS, blocks, block_bytes)

    def fetch(self, docs: np.ndarray, ends: np.ndarray, sizes: np.ndarray) -> list[str] | None:
        return fetch_texts(self._files, self._columns, docs, ends, sizes)
