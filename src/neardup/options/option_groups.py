"""Options that calls share: how a source is read, with which means, and where a result goes.

Each stands once: as a field of a group, with its description and its word on the command line. A
function takes some of them, those of its `TypedDict`, see `neardup.options.arguments.expanded`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from inspect import cleandoc
from typing import TYPE_CHECKING, Any, TypeAlias, TypedDict

from neardup.errors import SpecError, spelled
from neardup.file_formats import CODECS, READ, WRITTEN
from neardup.files.given_path import GivenPath
from neardup.memory_plan import memory_of, parse_size
from neardup.spec import check_integer, one_of, option

if TYPE_CHECKING:
    from neardup.deduplication.clock import Listener

#: What callers may ask for: ``"auto"``, yes, no, or a function that gets each event.
Progress: TypeAlias = "bool | str | Listener | None"

#: Formats of tables.
TABLE_FORMATS = ("parquet", "csv")
#: What of a page is printed.
PRINTED = ("full", "summary")


@dataclass(frozen=True)
class Reading:
    """How a source is read; give it to several calls as ``reading``, instead of the keywords.

    Args:
        text: Column with the text, or several, which are joined by a space; or a path, such as
            ``"meta.text"`` or ``"messages[].content"``.
        id: Column with your ids, each once, or a path; positions without it.
        input_format: Format of all files; by the ending of each without it.
        delimiter: Of CSV files, such as ``";"``; a comma, or a tab for TSV, by default.
            A file whose header has only the usual one is read with that.
        escape: Character of CSV files before a quote, or before itself, that is text in a quoted
            field, such as a backslash; a quote in a field is doubled without it.
        sheet: Sheet of Excel or LibreOffice; the first one by default.
        header_row: Its row with the names of the columns, from 1; the first that is not empty by
            default.
        encoding: Encoding of files of text, such as ``"cp1252"``; UTF-8 without it, or UTF-16 where
            a file has its mark.
        encoding_errors: ``"strict"`` refuses text that is not UTF-8, or of the encoding;
            ``"replace"`` repairs and counts it.
        max_document: Size that a text, or a record of JSON lines or CSV, may have, in bytes or as
            text such as ``"256MB"``; at most 512 MiB.
        skip_large: Leave out documents above ``max_document`` and count them, instead of refusing
            the input. Files only.
        skip_bad: Leave out lines and records that can't be read, and count them, instead of
            refusing the input. Files only.
        private_ids: Keep ids out of messages and pages: rows, such as ``row 17``, replace them.
            Tables and clean corpus have them.

    Raises:
        SpecError: ``text`` names no columns, ``max_document`` is no size, or ``header_row`` no row.
    """

    text: str | Sequence[str] = option("text", "NAME[,NAME...]")
    id: str | None = option(None, "NAME")
    input_format: str | None = option(None, one_of(READ))
    delimiter: str | None = option(None, "CHARACTER")
    escape: str | None = option(None, "CHARACTER")
    sheet: str | None = option(None, "NAME")
    header_row: int | None = option(None, "N")
    encoding: str | None = option(None, "NAME")
    encoding_errors: str = option("strict", "[strict|replace]")
    max_document: int | str = option("256MB", "SIZE")
    skip_large: bool = option(False)
    skip_bad: bool = option(False)
    private_ids: bool = option(False)

    def __post_init__(self) -> None:
        text = (self.text,) if isinstance(self.text, str) else self.text
        if not isinstance(text, Sequence) or not all(isinstance(name, str) for name in text):
            raise SpecError(f"`text` is {spelled(text)}; expected the name of a column, or several")
        if not text:
            raise SpecError("`text` names no column", "name at least one column with the text")
        object.__setattr__(self, "text", tuple(text))
        if self.header_row is not None:
            check_integer("`header_row`", self.header_row, 1, 1 << 20)
        object.__setattr__(self, "max_document", parse_size(self.max_document, "max_document"))


@dataclass(frozen=True)
class Resources:
    """Means of a call, which its result does not depend on; given as ``resources``.

    Args:
        memory: Memory that may be used, in bytes or as text such as ``"4GB"``; half of the free
            memory by default.
        threads: Number of threads; all cores by default.
        store: Where band keys are stored: ``"auto"``, ``"sqlite:FILE"`` or
            ``"cassandra://HOST/KEYSPACE"``.
        run: Name of a run in a store of many runs. Sketches are used that `neardup.sketch_corpus`
            has put there of the same source.
        progress: ``"auto"`` shows a bar on a terminal and in a notebook; True, False, or a function
            that gets each `neardup.deduplication.clock.Event`.

    Raises:
        SpecError: A value is out of range, or a named run has no store to be in.
    """

    memory: int | str | None = option(None, "SIZE")
    threads: int | None = option(None, "N")
    store: str = option("auto", "auto|sqlite:FILE|cassandra://HOST:PORT/KEYSPACE")
    run: str | None = option(None, "NAME")
    progress: Progress = "auto"
    #: The file of a store in one.
    store_file: GivenPath | None = field(default=None, init=False, compare=False)

    def __post_init__(self) -> None:
        from neardup.threads import check_threads  # whose imports the help does not need

        check_threads(self.threads)
        object.__setattr__(self, "memory", memory_of(self.memory))
        if self.store != "auto":
            from neardup.state import check_store

            check_store(self.store)
        scheme, _, name = self.store.partition(":")
        file = scheme == "sqlite" and bool(name)
        object.__setattr__(self, "store_file", GivenPath.of(name) if file else None)
        if self.run is not None and not self.shared:
            raise SpecError(
                "a named run needs a store that several processes can reach",
                "for example store='sqlite:keys.sqlite'",
            )

    @property
    def bytes(self) -> int | None:
        """The memory, in bytes of private memory; None for half of the free memory."""
        return memory_of(self.memory)

    @property
    def shared(self) -> bool:
        """Whether the store is outside the run's own file."""
        return self.store not in ("auto", "memory", "sqlite")

    @property
    def store_url(self) -> str:
        """The store, whose file is absolute."""
        return self.store if self.store_file is None else f"sqlite:{os.fspath(self.store_file)}"

    @property
    def public_store(self) -> str:
        """The store without user and password."""
        head, at, tail = self.store.rpartition("@")
        return f"{head.partition('://')[0]}://{tail}" if at else self.store


@dataclass(frozen=True)
class Writing:
    """How a result is written, and where; given as ``writing``. All others need ``out``.

    Args:
        out: Folder to write to, or URL of one; without it the result is in memory only.
        clean: Write the kept documents.
        removed: Write the removed documents to the folder ``removed/`` too, each with
            ``duplicate_of`` and ``similarity``.
        annotate: Write all documents to the clean corpus, each with its results: ``cluster``,
            ``kept``, ``duplicate_of``, ``similarity`` and ``cluster_size``.
        format: Format of the clean corpus; that of the input by default.
        compression: Compression of the clean corpus; that of the input by default.
        tables: ``"csv"`` writes each table as CSV too, next to Parquet, for spreadsheets: a text
            that begins like a formula gets an apostrophe before it.
        overwrite: Replace the output of an earlier run.
        resume: Continue an interrupted run.
        work: Where ``out`` is a URL: local folder for the state of a run at work, needed to resume;
            in the system's temporary folder by default.
        keep_run: Keep the run folder; `DedupRun.recluster` need not start again then.

    Raises:
        SpecError: There is no such format of tables.
    """

    out: str | os.PathLike[str] | None = option(None, "OUT")
    clean: bool = option(True)
    removed: bool = option(False)
    annotate: bool = option(False)
    format: str | None = option(None, one_of(WRITTEN))
    compression: str | None = option(None, one_of(CODECS))
    tables: str = option("parquet", one_of(TABLE_FORMATS))
    overwrite: bool = option(False)
    resume: bool = option(False)
    work: str | os.PathLike[str] | None = option(None, "FOLDER")
    keep_run: bool = option(False)

    def __post_init__(self) -> None:
        if self.tables not in TABLE_FORMATS:
            known = " or ".join(map(repr, TABLE_FORMATS))
            raise SpecError(f"`tables` is {self.tables!r}; expected {known}")

    def require_out(self) -> None:
        """Raise SpecError where something is to be written and there is no folder for it."""
        given = [f.name for f in fields(self) if getattr(self, f.name) != f.default]
        if self.out is None and given:
            raise SpecError(f"`{given[0]}` needs an output folder", "give `out`")

    def as_dict(self) -> dict[str, Any]:
        """Return the options that the files depend on, in JSON values."""
        names = ("clean", "format", "annotate", "compression", "tables", "removed")
        return {name: getattr(self, name) for name in names}


@dataclass(frozen=True)
class PageForm:
    """How the page of a result is written; given as ``page``.

    Args:
        title: Heading; the name of the input without it.
        texts: Whether texts of documents, or values of records, may be in it. Without, the input
            may be gone.
        max_items: Clusters, documents, matches or pairs that are listed with all that is known of
            them, at most. Of clusters, one half are the largest, the others have the lowest
            similarity.
        max_size: Size that the file may have, in bytes or as text such as ``"10MB"``. What does not
            fit is left out from the end of the list, and the page says so.
        printed: Content on paper: ``"full"``, with ten examples at most, or ``"summary"``,
            without them.
        overwrite: Replace the file.

    Raises:
        SpecError: ``max_items`` is negative, ``max_size`` is no size, or nothing is printed so.
    """

    title: str | None = option(None, "TEXT")
    texts: bool = option(True)
    max_items: int = option(1000, "N")
    max_size: int | str = option("10MB", "SIZE")
    printed: str = option("full", one_of(PRINTED))
    overwrite: bool = option(False)

    def __post_init__(self) -> None:
        check_integer("`max_items`", self.max_items, 0, 1 << 31)
        object.__setattr__(self, "max_size", parse_size(self.max_size, "max_size"))
        if self.printed not in PRINTED:
            known = " or ".join(map(repr, PRINTED))
            raise SpecError(f"`printed` is {self.printed!r}; expected {known}")


#: The groups, by the keyword that takes one.
GROUPS: dict[str, type[Reading | Resources | Writing | PageForm]] = {
    "reading": Reading,
    "resources": Resources,
    "writing": Writing,
    "page": PageForm,
}


class FileOptions(TypedDict, total=False):
    """How files are read of which all columns are: those of the ground truth."""

    input_format: str | None
    delimiter: str | None
    escape: str | None
    sheet: str | None
    header_row: int | None
    encoding: str | None
    encoding_errors: str
    max_document: int | str
    skip_large: bool
    skip_bad: bool
    private_ids: bool
    reading: Reading


class TableOptions(FileOptions, total=False):
    """How records are read."""

    id: str | None


class ReadingOptions(TableOptions, total=False):
    """How texts are read: all of `Reading`."""

    text: str | Sequence[str]


class ProgressOptions(TypedDict, total=False):
    """Whether a call shows how far it is."""

    progress: Progress
    resources: Resources


class AddingOptions(TableOptions, ProgressOptions, total=False):
    """Options of a call that adds documents to an index."""


class ResourceOptions(ProgressOptions, total=False):
    """Means of any call."""

    memory: int | str | None
    threads: int | None


class StoreOptions(ResourceOptions, total=False):
    """Means of a call that puts band keys into a store: all of `Resources`."""

    store: str
    run: str | None


class CallOptions(ReadingOptions, ResourceOptions, total=False):
    """Options of a call that reads texts."""


class OldOptions(TypedDict, total=False):
    """How an old corpus is read that a new one is compared with, see `another`."""

    old_text: str | Sequence[str] | None
    old_id: str | None
    old_input_format: str | None
    old_delimiter: str | None
    old_reading: Reading


class TargetOptions(TypedDict, total=False):
    """How a result is written to a target that is an argument of its own."""

    overwrite: bool
    writing: Writing


class FormatOptions(TargetOptions, total=False):
    """The same of a result that has a corpus."""

    format: str | None


class CorpusOptions(FormatOptions, total=False):
    """The same where it can be compressed."""

    compression: str | None


class TableFormatOptions(TypedDict, total=False):
    """How tables are written."""

    tables: str


class ResultOptions(CorpusOptions, TableFormatOptions, total=False):
    """The same of a run."""

    clean: bool
    removed: bool
    annotate: bool


class OutputOptions(TargetOptions, total=False):
    """Where a result is written."""

    out: str | os.PathLike[str] | None


class ResumeOptions(TargetOptions, total=False):
    """How a result is written by a call that can be resumed."""

    resume: bool
    work: str | os.PathLike[str] | None


class WritingOptions(ResultOptions, OutputOptions, ResumeOptions, total=False):
    """How a run is written: all of `Writing`."""

    keep_run: bool


class PageFormOptions(TypedDict, total=False):
    """How the page of a result is written: all of `PageForm`."""

    title: str | None
    texts: bool
    max_items: int
    max_size: int | str
    printed: str
    overwrite: bool
    page: PageForm


def another(first: Reading, given: Mapping[str, object], prefix: str, *same: str) -> Reading:
    """Return how a second corpus is read, such as test items.

    Args:
        first: How the first one is read.
        given: Options of the call, those of the second corpus with a prefix.
        prefix: Such as ``"test_"``.
        same: Which of the options are those of the first corpus where they are not given.
    """
    found = given.get(f"{prefix}reading")
    if isinstance(found, Reading):
        return found
    values: dict[str, Any] = {}
    for name in ("text", "id", "input_format", "delimiter", "sheet", "header_row"):
        value = given.get(prefix + name)
        values[name] = getattr(first, name) if value is None and name in same else value
    values["text"] = values["text"] or "text"
    return replace(first, skip_large=first.skip_large and "skip_large" in same, **values)


def described(group: type) -> dict[str, str]:
    """Return the descriptions of the fields of a group or a spec, by name, from its docstring."""
    return descriptions(cleandoc(group.__doc__ or ""))


def descriptions(doc: str) -> dict[str, str]:
    """Return the descriptions of arguments, or of attributes, by name, from a docstring.

    >>> descriptions("A call.\\n\\nArgs:\\n    a: One\\n        thing.\\n    b: Other.")
    {'a': 'One thing.', 'b': 'Other.'}
    """
    _, _, rest = doc.replace("\nAttributes:\n", "\nArgs:\n").partition("\nArgs:\n")
    found: dict[str, str] = {}
    name = ""
    for line in rest.partition("\n\n")[0].splitlines():
        if not line.startswith(" " * 8):
            name, _, line = line.strip().partition(":")
        found[name] = f"{found.get(name, '')} {line.strip()}".strip()
    return found
