"""The entry point: a source from files, from frames, or from whatever is given."""

import importlib
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple, TypeGuard, TypeVar

from neardup.errors import InputError, SpecError
from neardup.file_formats import APPLIES_TO, FORMATS
from neardup.files.given_path import GivenPath
from neardup.io.hive import HivePartition, hive_values
from neardup.io.paths import all_exist, find_files
from neardup.io.reading_ahead import ReadAhead
from neardup.io.remote import Url, located
from neardup.io.source import Columns, Layout, Partition, Source, SourceFile
from neardup.io.streams import STDIN, copied
from neardup.io.unpacking.encodings import check_encoding
from neardup.io.unpacking.first_bytes import MarkedEncodingError
from neardup.memory_plan import memory_of_machine
from neardup.tuning import TUNING

A = TypeVar("A")
_FIRST_BYTES = 1 << 16  # searched for columns that are names of folders too
_MINIMUM_BYTES = 64  # the first block must contain a byte order mark


class Characters(NamedTuple):
    """How files of text are written, as a user names it: None for what their format has."""

    delimiter: str | None = None
    escape: str | None = None
    encoding: str | None = None


#: What each format has.
USUAL = Characters()


def open_source(
    source: object,
    columns: Columns,
    input_format: str | None = None,
    characters: Characters = USUAL,
    partition_bytes: int | None = None,
    copy_folder: Path | None = None,
) -> Source:
    """Open files or a frame, see `neardup.dedup`; stdin, ``-``, is JSON lines.

    Files without tables among them are plain texts, one document a file, with the columns ``path``,
    which is their id, and ``text``, as the column of a list of strings is called, too.

    ``partition_bytes`` is about the size of a partition; a single document may be larger. Pipes are
    copied to ``copy_folder``, and read again from there, also by a later call.
    """
    if partition_bytes is None:
        partition_bytes = TUNING.partition_bytes
    if partition_bytes < _MINIMUM_BYTES:
        raise SpecError(
            f"`partition_bytes` is {partition_bytes}, expected at least {_MINIMUM_BYTES}"
        )
    of_sheets = {"sheet": columns.sheet, "header_row": columns.header_row}
    for_formats = {**characters._asdict(), **of_sheets}
    paths = given_paths(source)
    if paths is None:
        for name, value in {"input_format": input_format, **for_formats}.items():
            if value is not None:
                raise SpecError(f"`{name}` is {value!r} for a frame; it is for files only")
        for name in ("skip_large", "skip_bad"):
            if getattr(columns, name):
                raise SpecError(f"`{name}` is given for a frame; it is for files only")
        from neardup.io.frames import FrameSource

        return FrameSource(source, replace(columns, skip_large=None), partition_bytes)
    files = find_files(paths, input_format)
    for name, value in for_formats.items():
        if value is not None and not any(file.format in APPLIES_TO[name] for file in files):
            what = {"excel": "of Excel or LibreOffice", "csv": "CSV"}.get(
                APPLIES_TO[name][0], "text"
            )
            hint = f"leave it out, or set `input_format`={APPLIES_TO[name][0]!r}"
            raise SpecError(f"`{name}` is given, and no input is {what}", hint)
    files = _as_csv(_encoded(files, characters.encoding, columns), characters)
    if copy_folder is not None:
        files = [
            copied(file, copy_folder / f"input-{number}") if file.size is None else file
            for number, file in enumerate(files)
        ]
    sheets = [file for file in files if file.format == "excel"]
    if sheets and columns.memory is not None:
        _of("excel").check_memory(sheets, columns.memory)
    return FileSource(files, columns, partition_bytes)


def _read_ahead(files: list[SourceFile]) -> list[SourceFile]:
    """Have JSON lines read ahead that are with the others too large for the system's cache.

    CSV is cut by reading all of it, which brings it into the cache.
    """
    total = sum(file.size or 0 for file in files)
    if total < TUNING.cached_source or not hasattr(os, "O_DIRECT"):
        return files
    if total < memory_of_machine() // 4 * 3:
        return files
    ahead = ReadAhead()
    return [
        replace(file, ahead=ahead) if file.format == "jsonl" and not file.is_remote else file
        for file in files
    ]


def _as_csv(files: list[SourceFile], named: Characters) -> list[SourceFile]:
    delimiter = "\t" if named.delimiter == "\\t" else named.delimiter
    for name, value, example in (
        ("delimiter", delimiter, "such as ';' or '\\t'"),
        ("escape", named.escape, "such as '\\'"),
    ):
        if value is not None and (len(value) != 1 or not value.isascii() or value in '"\r\n\0'):
            raise SpecError(f"`{name}` is {value!r}; expected one ASCII character", example)
    if delimiter is not None and delimiter == named.escape:
        raise SpecError(f"`delimiter` and `escape` are both {delimiter!r}")
    how, applies = (delimiter or "", named.escape or ""), APPLIES_TO["delimiter"]
    return [
        replace(file, delimiter=how[0], escape=how[1]) if file.format in applies else file
        for file in files
    ]


def _encoded(files: list[SourceFile], encoding: str | None, columns: Columns) -> list[SourceFile]:
    named = check_encoding(encoding)
    named = "" if named == "utf-8" else named
    how = "mark" if columns.skip_bad and not columns.replaces else columns.encoding_errors
    return [
        replace(file, encoding=named, decoding=how)
        if (named, how) != (file.encoding, file.decoding) and FORMATS[file.format].is_text
        else file
        for file in files
    ]


def accepted(source: Any) -> Any:
    """Take the paths that a source has, see `given_paths`; a frame is returned unchanged."""
    given = given_paths(source)
    if given is None:
        return source
    return given[0] if isinstance(source, str | os.PathLike) else given


def given_paths(source: object) -> list[Url | GivenPath] | None:
    """Take the files, folders, patterns and URLs that a source names; None for a frame.

    They are absolute: a change of the current directory has no effect on them.
    """
    if isinstance(source, str | os.PathLike):
        source = [source]
    elif not _are_paths(source):
        return None
    return [GivenPath(STDIN) if str(path) == STDIN else located(path) for path in source]


def _are_paths(source: object) -> TypeGuard[Sequence[str | os.PathLike[str]]]:
    if not isinstance(source, list | tuple):
        return False
    if any(isinstance(item, os.PathLike) for item in source):
        return True
    if source and all_exist(source):
        raise InputError(
            "the list has strings, and all of them are names of files: a list of strings is a "
            "list of texts",
            "give pathlib.Path objects to read the files",
        )
    return False


class FileSource(Source):
    """A source from files; all of them are plain texts, or none."""

    def __init__(self, files: list[SourceFile], columns: Columns, partition_bytes: int) -> None:
        self.files = _read_ahead(files)
        formats = {file.format for file in files}
        self.format = formats.pop() if len(formats) == 1 else "mixed"
        self.columns = columns
        if self.format in FORMATS:
            self.columns = self._of_format(0)
        self.id_column = columns.id or ("path" if self.format == "text" else None)
        sizes = [file.size for file in files if file.size is not None]
        self.rereadable = len(sizes) == len(files)
        self.total_bytes = sum(sizes) if self.rereadable else None
        self._partition_bytes = partition_bytes
        self._cut: dict[int, list[Partition]] = {}
        self._used: set[int] = set()
        self._layouts: dict[int, Layout] = {}
        self._hive: dict[int, dict[str, str | None]] = {}

    def partitions(self, file: int | None = None) -> Iterator[Partition]:
        numbers = range(len(self.files)) if file is None else range(file, file + 1)
        for number in numbers:
            if self.files[number].size is None:
                if number in self._used:
                    raise InputError(
                        f"{self.files[number].path} can be read once only and has been read",
                        "write it to a file and give the file",
                    )
                self._used.add(number)
        if self.format == "text":
            files = self.files[numbers.start : numbers.stop]
            yield from _of("text").cut(numbers.start, files, self.columns, self._partition_bytes)
            return
        for number in numbers:
            yield from self._of_file(number)

    def _of_file(self, number: int) -> Iterator[Partition]:
        file = self.files[number]
        if number in self._cut:
            yield from self._cut[number]
            return
        # Partitions without bytes and rows are cached.
        values = self._values(number)
        columns, first = self._columns_of(number), list[Partition]()

        def begun(file: SourceFile) -> Iterator[Partition]:
            every: Iterator[Partition] = iter(
                _of(file.format).cut(number, file, columns, self._partition_bytes)
            )
            first.extend(islice(every, 1))
            return every

        rest = self._decoded(number, begun)
        file = self.files[number]
        light = file.is_plain and file.format != "arrow"
        found = []
        for partition in chain(first, rest):
            if values:
                partition = HivePartition(partition, values)
            if light:
                found.append(partition)
            yield partition
        if light:
            self._cut[number] = found

    def _values(self, number: int) -> dict[str, str | None]:
        """Values of the folders of a file, of extra columns that its records do not have."""
        file, extra = self.files[number], self.columns.extra
        if not extra or self.format == "text":  # plain texts are read together
            return {}
        if number not in self._hive:
            values = {k: v for k, v in hive_values(file.name).items() if k in extra}
            if values and file.size is not None:  # pipes can't be looked into
                for name in self.present(number, list(values)):
                    del values[name]
            self._hive[number] = values
        return self._hive[number]

    def present(self, file: int, names: Sequence[str]) -> list[str]:
        first = self._first(file)
        return [] if first is None else first.present(names)

    def lists(self, file: int) -> list[str]:
        first = self._first(file)
        return [] if first is None else first.lists()

    def _first(self, file: int) -> Partition | None:
        """Return the first records of a file."""
        columns = replace(self._of_format(file), extra=())

        def begun(found: SourceFile) -> Partition | None:
            return next(_of(found.format).cut(file, found, columns, _FIRST_BYTES), None)

        return self._decoded(file, begun)

    def _decoded(self, number: int, read: Callable[[SourceFile], A]) -> A:
        """Read a file, once more where it has the mark of UTF-16."""
        try:
            return read(self.files[number])
        except MarkedEncodingError as mark:
            self.files[number] = replace(self.files[number], encoding=mark.encoding)
            return read(self.files[number])

    def _columns_of(self, number: int) -> Columns:
        extra = [name for name in self.columns.extra if name not in self._values(number)]
        return replace(self._of_format(number), extra=tuple(extra))

    def _of_format(self, number: int) -> Columns:
        """Return the columns, with those of a file that its format has for ``text``."""
        if self.columns.text != ("text",):
            return self.columns
        return replace(self.columns, text=FORMATS[self.files[number].format].text)

    def layout(self, file: int) -> Layout:
        if file not in self._layouts:
            columns = self._columns_of(file)
            self._layouts[file] = self._decoded(
                file, lambda found: _of(found.format).layout(found, columns)
            )
        return self._layouts[file]


def _of(format: str) -> Any:
    """The module of a format, imported when it is needed: importing pyarrow.parquet takes 40 ms.

    Each cuts a file into partitions (`cut`) and knows how its records are written (`layout`).
    """
    return importlib.import_module(f"neardup.io.formats.{FORMATS[format].reader}")
