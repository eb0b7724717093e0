"""The formats of files, each once: its endings, its codecs, and the code that reads it."""

from itertools import chain
from typing import NamedTuple


class FileFormat(NamedTuple):
    """A format of texts in files.

    Attributes:
        endings: Of the names of files.
        reader: Module of `neardup.io.formats` that reads it; none of a format that is only written.
        codecs: Those that can be asked for; none of a format that nothing is converted to. The
            first is the default of one whose parts are compressed.
        packed: Whether its parts are compressed: an ending after its own means nothing.
    """

    endings: tuple[str, ...]
    reader: str = ""
    codecs: tuple[str, ...] = ()
    packed: bool = False


_OF_LINES = ("gzip", "zstd", "none")
_OF_PARQUET = ("zstd", "snappy", "gzip", "brotli", "lz4", "none")
FORMATS = {
    "jsonl": FileFormat((".jsonl", ".ndjson", ".json"), "jsonl", _OF_LINES),
    "parquet": FileFormat((".parquet",), "parquet", _OF_PARQUET, packed=True),
    "csv": FileFormat((".csv",), "csv_tables", _OF_LINES),
    "tsv": FileFormat((".tsv",), "csv_tables", _OF_LINES),
    "arrow": FileFormat(
        (".arrow", ".feather", ".ipc"), "arrow_tables", ("lz4", "zstd", "none"), packed=True
    ),
    "text": FileFormat((".txt",), "text_files"),
}
#: Names of those that are read, and of those that a corpus can be converted to.
READ = tuple(name for name, of in FORMATS.items() if of.reader)
WRITTEN = tuple(name for name, of in FORMATS.items() if of.codecs)
#: All codecs, each once.
CODECS = tuple(dict.fromkeys(chain.from_iterable(of.codecs for of in FORMATS.values())))
