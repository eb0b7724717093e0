"""Plain text files: one document a file, with the columns ``path`` and ``text``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from neardup.corpus.documents import Chunk, Columns, Documents
from neardup.corpus.inputs import InputFile
from neardup.corpus.streams import read_all, without_bom
from neardup.corpus.texts import REPLACE_HINT, check_schema, to_documents
from neardup.errors import EncodingError

__all__ = ["PATH_COLUMN", "cut_texts"]

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
            raw = without_bom(file.path, read_all(file))
            try:
                texts.append(raw.decode())
            except UnicodeDecodeError as error:
                if not self.columns.replaces:
                    raise EncodingError(
                        f"{file.path}: not valid UTF-8 (byte {error.start + 1})", REPLACE_HINT
                    ) from error
                texts.append(raw.decode(errors="replace"))
                replaced += 1
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
