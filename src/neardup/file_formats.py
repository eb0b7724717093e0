"""The formats of files, each once: its endings, its codecs, and the code that reads it."""

from itertools import chain
from typing import NamedTuple

_ENTRIES = "entries.entry_partitions"


class FileFormat(NamedTuple):
    """A format of texts in files.

    Attributes:
        endings: Of the names of files.
        reader: Module of `neardup.io.formats` that reads it; none of a format that is only written.
        codecs: Those that can be asked for; none of a format that nothing is converted to. The
            first is the default of one whose parts are compressed.
        packed: Whether its parts are compressed: an ending after its own means nothing.
        text: The columns that are meant by ``text``.
    """

    endings: tuple[str, ...]
    reader: str = ""
    codecs: tuple[str, ...] = ()
    packed: bool = False
    text: tuple[str, ...] = ("text",)

    @property
    def has_entries(self) -> bool:
        """Whether a record is some lines of text, which are written as they were read."""
        return self.reader == _ENTRIES


_OF_LINES = ("gzip", "zstd", "none")
_OF_CITATIONS = ("title", "abstract")
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
    "excel": FileFormat((".xlsx", ".xls", ".xlsb", ".xlsm", ".ods"), "excel", packed=True),
    "ris": FileFormat((".ris",), _ENTRIES, text=_OF_CITATIONS),
    "nbib": FileFormat((".nbib",), _ENTRIES, text=_OF_CITATIONS),
    "bibtex": FileFormat((".bib",), _ENTRIES, text=_OF_CITATIONS),
    "endnote": FileFormat((".xml",), _ENTRIES, text=_OF_CITATIONS),
    "vcard": FileFormat((".vcf",), _ENTRIES),
}
#: Options of reading that are for files of some formats.
APPLIES_TO = {"delimiter": ("csv", "tsv"), "sheet": ("excel",), "header_row": ("excel",)}
#: Names of those that are read, and of those that a corpus can be converted to.
READ = tuple(name for name, of in FORMATS.items() if of.reader)
WRITTEN = tuple(name for name, of in FORMATS.items() if of.codecs)
#: All codecs, each once.
CODECS = tuple(dict.fromkeys(chain.from_iterable(of.codecs for of in FORMATS.values())))
