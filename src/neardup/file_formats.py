"""The formats of files, and how they are compressed, each once: endings, codecs, who reads it."""

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
    def is_text(self) -> bool:
        """Whether its bytes are text, which has an encoding."""
        return not self.packed

    @property
    def has_entries(self) -> bool:
        """Whether a record is some lines of text, which are written as they were read."""
        return self.reader == _ENTRIES


class Compression(NamedTuple):
    """How the bytes of a file are compressed.

    Attributes:
        ending: Of the names of files, behind that of the format.
        magic: First bytes.
        tool: Decompresses to standard output.
        name: In messages.
    """

    ending: str
    magic: bytes
    tool: str
    name: str


COMPRESSIONS = {
    "gzip": Compression(".gz", b"\x1f\x8b", "zcat", "gzip"),
    "zstd": Compression(".zst", b"\x28\xb5\x2f\xfd", "zstdcat", "zstd"),
    "bz2": Compression(".bz2", b"BZh", "bzcat", "bzip2"),
    "xz": Compression(".xz", b"\xfd7zXZ\0", "xzcat", "xz"),
}
_OF_LINES = (*COMPRESSIONS, "none")
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
    "lines": FileFormat((), "line_texts"),
    "excel": FileFormat((".xlsx", ".xls", ".xlsb", ".xlsm", ".ods"), "excel", packed=True),
    "ris": FileFormat((".ris",), _ENTRIES, text=_OF_CITATIONS),
    "nbib": FileFormat((".nbib",), _ENTRIES, text=_OF_CITATIONS),
    "bibtex": FileFormat((".bib",), _ENTRIES, text=_OF_CITATIONS),
    "endnote": FileFormat((".xml",), _ENTRIES, text=_OF_CITATIONS),
    "vcard": FileFormat((".vcf",), _ENTRIES),
    "xlsx": FileFormat((".xlsx",), packed=True),
}
#: Options of reading that are for files of some formats.
_CSV, _SHEETS = ("csv", "tsv"), ("excel",)
APPLIES_TO = {
    "delimiter": _CSV,
    "escape": _CSV,
    "sheet": _SHEETS,
    "header_row": _SHEETS,
    "encoding": tuple(name for name, of in FORMATS.items() if of.reader and of.is_text),
}
#: Names of those that are read, and of those that a corpus can be converted to.
READ = tuple(name for name, of in FORMATS.items() if of.reader)
WRITTEN = tuple(name for name, of in FORMATS.items() if of.codecs)
#: And of those that merged records can have; those of which no value can be replaced.
MERGED_AS = (*WRITTEN, "ris", "bibtex", "xlsx")
FIXED = ("endnote", "vcard")
#: All codecs, each once.
CODECS = tuple(dict.fromkeys(chain.from_iterable(of.codecs for of in FORMATS.values())))
