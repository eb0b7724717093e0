"""Members that the records of several commands have, with their types.

A member without a default is always there; one of another name is refused.
"""

from __future__ import annotations

import datetime
from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from neardup.file_formats import FORMATS
from neardup.result_record.spec_members import Count, RecordPart

Number = Annotated[int, Meta(ge=-(1 << 63), le=(1 << 63) - 1)]
#: A file or a folder in the output folder: nothing is reached through it that is elsewhere.
Name = Annotated[str, Meta(pattern=r"^(?!\.{1,2}$)[^/\\\x00]+$")]
#: A file in such a folder, relative to it.
Inner = Annotated[str, Meta(pattern=r"(?s)^(?!/)(?!(.*/)?\.{1,2}(/|$))[^\x00]+$")]
Files = dict[Name, Count | list[Inner] | None]
Format = Annotated[str, Meta(pattern=f"^({'|'.join(FORMATS)})$")]
Columns = Annotated[list[str], Meta(min_length=1)]
Numbers = Annotated[str, Meta(pattern=r"^(\d{1,18}( \d{1,18})*)?$")]
InputFile = tuple[str, Count | None, Number]


def agree(key: str, agrees: bool, others: str) -> None:
    """Refuse a member that contradicts others."""
    if not agrees:
        raise ValueError(f"{key} does not agree with {others}")


class RecordHeader(Struct, kw_only=True):
    """Members of every record, of any version."""

    command: str
    files: Files
    format: Count | UnsetType = UNSET


class InputSource(RecordPart):
    directory: str
    given: Columns
    text: Columns
    id: str | None
    input_format: Format | None
    encoding_errors: Literal["strict", "replace"]
    delimiter: Annotated[str, Meta(max_length=2)] | None
    escape: Annotated[str, Meta(max_length=1)] | None
    sheet: str | None
    header_row: Count | None
    encoding: str | None
    max_document: Count
    skip_large: bool
    skip_bad: bool
    partition_bytes: Count
    items: bool
    private_ids: bool
    partition_documents: Numbers
    files: Count
    files_digest: str
    inputs: list[InputFile]

    def __post_init__(self) -> None:
        agree("inputs", len(self.inputs) in (0, self.files), "files")

    def require_documents(self, key: str, count: int) -> None:
        """Refuse a source, a member of this key, that has other documents than were counted."""
        total = sum(map(int, self.partition_documents.split()))
        agree(f"{key}.partition_documents", total == count, "the number of documents")


class Frame(RecordPart):
    given: list[str]
    text: Columns
    id: str | None
    encoding_errors: Literal["strict", "replace"]


class SparkFrame(RecordPart):
    text: Columns
    id: str
    input_format: str


class Output(RecordPart):
    clean: bool
    annotate: bool
    tables: Literal["parquet", "csv"]


class OutputOfTwo(Output):
    """Kept and removed documents."""

    format: Format | None
    removed: bool


class SparkOutput(Output):
    format: str


class Versions(RecordPart):
    neardup: str
    python: str
    numpy: str
    numba: str
    pyarrow: str


class Record(RecordPart):
    """Members of every record."""

    command: str
    files: Files
    format: Count
    date: datetime.datetime
    versions: Versions
    bytes: dict[str, Count]
    peak_memory: Count
    cores: Count
    seconds: dict[str, float]
    asked: str
    peak_private_memory: Count

    def __post_init__(self) -> None:
        agree("files.run.json", "run.json" in self.files, "the name of the record")

    def require_corpus(self, name: str, written: bool) -> None:
        """Refuse a record that has a folder of documents, or has none, against its settings."""
        there = self.files.get(name) is not None
        agree(f"files.{name}", there == written, f"output.{name}")

    def require_tables(self, written: dict[str, bool], others: str) -> None:
        """Refuse a record whose tables are not those of its settings."""
        for name, expected in written.items():
            file = f"{name}.parquet"
            agree(f"files.{file}", (file in self.files) == expected, others)


class OfCorpus(Record):
    """Of commands that read a corpus on one machine."""

    source: InputSource | None
    frame: Frame | None
    secret_ids: bool
    private_ids: bool
    output: Any
    counts: Any

    def __post_init__(self) -> None:
        super().__post_init__()
        agree("source", (self.source is None) != (self.frame is None), "frame")
        if self.source is not None:
            self.source.require_documents("source", self.counts.documents)
        self.require_corpus("clean", self.output.clean)


class KeptCounts(RecordPart, kw_only=True):
    documents: Count
    kept: Count
    removed: Count

    def __post_init__(self) -> None:
        agree("documents", self.kept + self.removed == self.documents, "kept and removed")


class OfSpark(Record):
    engine: Literal["spark"]
    source: None
    frame: SparkFrame
    secret_ids: bool
    private_ids: bool
    output: SparkOutput

    def __post_init__(self) -> None:
        super().__post_init__()
        # A folder, or one file.
        clean = any(name.partition(".")[0] == "clean" for name in self.files)
        agree("files.clean", clean == self.output.clean, "output.clean")
