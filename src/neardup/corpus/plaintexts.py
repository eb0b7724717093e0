"""Plain text files: one document a file, with the columns ``path`` and ``text``."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from neardup.corpus.documents import Chunk, Columns, Documents
from neardup.corpus.inputs import STDIN, InputFile, find_inputs
from neardup.corpus.streams import ByteStream, read_all, without_bom
from neardup.corpus.texts import REPLACE_HINT, check_schema, to_documents
from neardup.errors import EncodingError, InputError, InputNotFoundError

__all__ = ["PATH_COLUMN", "cut_texts", "read_text", "texts_of_files"]

PATH_COLUMN = "path"

_SCHEMA = pa.schema([(PATH_COLUMN, pa.string()), ("text", pa.large_string())])
_MOST_FILES = 4096  # in a chunk, for folders of very small files


@dataclass(frozen=True)
class _TextChunk(Chunk):
    files: tuple[InputFile, ...]
    size: int
    columns: Columns

    def read(self) -> Documents:
        replaced = 0
        texts = []
        for file in self.files:
            text, wrong = _decoded(file.path, read_all(file), self.columns.replaces)
            texts.append(text)
            replaced += wrong
        labels = [file.label for file in self.files]
        table = pa.table([labels, texts], schema=_SCHEMA)
        return to_documents(table, self.columns, self._where, replaced)

    def read_again(
        self, rows: np.ndarray, count: int, schema: pa.Schema | None = None
    ) -> Documents:
        """Read some of the files once more, and no others."""
        return replace(self, files=tuple(self.files[row] for row in rows)).read()

    def _where(self, row: int) -> str:
        return self.files[row].path


def cut_texts(files: Iterable[InputFile], columns: Columns, chunk_bytes: int) -> Iterator[Chunk]:
    """Chunks of whole files, several small ones together.

    Raises:
        ColumnError: The text or id column is neither ``path`` nor ``text``.
    """
    check_schema("plain text files", _SCHEMA, columns)
    held: list[InputFile] = []
    size = 0
    for file in files:
        held.append(file)
        size += file.size or 0
        if size >= chunk_bytes or len(held) == _MOST_FILES:
            yield _TextChunk(tuple(held), size, columns)
            held, size = [], 0
    if held:
        yield _TextChunk(tuple(held), size, columns)


def texts_of_files(files: Sequence[InputFile], columns: Columns) -> list[Chunk]:
    """Return some files as one chunk; none where there are none.

    Raises:
        As `cut_texts`.
    """
    check_schema("plain text files", _SCHEMA, columns)
    return [_TextChunk(tuple(files), sum(f.size or 0 for f in files), columns)] if files else []


def read_text(path: str | Path, most: int, encoding_errors: str = "strict") -> str:
    """Return the text of one plain text file, whatever its ending; ``-`` is stdin.

    Args:
        path: The file; with the ending ``.gz`` or ``.zst`` it is decompressed.
        most: Bytes that it may have, decompressed.
        encoding_errors: See `neardup.corpus.open_corpus`.

    Raises:
        InputNotFoundError: There is no such file.
        InputError: It is a folder, larger, or can't be read.
        EncodingError: It is not UTF-8.
    """
    name = os.fspath(path)
    if Path(name).is_dir():
        raise InputError(f"{name} is a folder; expected a file with one text")
    if name != STDIN and not os.path.lexists(name):
        raise InputNotFoundError(f"{name}: no such file", "check the path")
    (file,) = find_inputs([name], "text")
    blocks, size = [], 0
    with ByteStream(file) as stream:
        while block := stream.read(1 << 20):
            blocks.append(block)
            size += len(block)
            if size > most:
                raise InputError(f"{name}: larger than {most >> 20} MiB, for one text")
    return _decoded(name, b"".join(blocks), encoding_errors == "replace")[0]


def _decoded(name: str, raw: bytes, replaces: bool) -> tuple[str, int]:
    """The text, and 1 if some of it had to be replaced."""
    raw = without_bom(name, raw)
    try:
        return raw.decode(), 0
    except UnicodeDecodeError as error:
        if not replaces:
            raise EncodingError(
                f"{name}: not valid UTF-8 (byte {error.start + 1})", REPLACE_HINT
            ) from error
        return raw.decode(errors="replace"), 1
