"""The only room that knows formats: files and frames as Arrow batches of documents, and back.

`open_corpus` gives a `Corpus`; its chunks are cut in order by one thread and read by many. Chunks
are typed one by one; `unify` makes one schema of theirs and `conform` brings a table into it.
"""

from neardup.corpus.documents import Chunk, Corpus, Documents, SourceFile, Spread
from neardup.corpus.inputs import FORMATS
from neardup.corpus.opening import CHUNK_BYTES, open_corpus, open_files, open_frame
from neardup.corpus.plaintexts import read_text
from neardup.corpus.schemas import conform, unify
from neardup.corpus.writers import OUTPUT_FORMATS, TableWriter, write_hint

__all__ = [
    "CHUNK_BYTES",
    "FORMATS",
    "OUTPUT_FORMATS",
    "Chunk",
    "Corpus",
    "Documents",
    "SourceFile",
    "Spread",
    "TableWriter",
    "conform",
    "open_corpus",
    "open_files",
    "open_frame",
    "read_text",
    "unify",
    "write_hint",
]
