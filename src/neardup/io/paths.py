"""From what the user names (files, folders, patterns, ``-``) to the list of files to read."""

from __future__ import annotations

import glob
import os
import stat
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from neardup.errors import FormatError, InputError, InputNotFoundError, SpecError
from neardup.io.source import SourceFile, unreadable
from neardup.io.streams import STDIN

FORMATS = ("jsonl", "parquet", "csv", "tsv", "arrow", "text")

_ENDINGS = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".parquet": "parquet",
    ".csv": "csv",
    ".tsv": "tsv",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".txt": "text",
}
_COMPRESSIONS = {".gz": "gzip", ".zst": "zstd"}
_BINARY = ("parquet", "arrow")  # these compress inside, an ending after theirs means nothing
_FORMAT_HINT = f"name its format with `input_format` ({', '.join(FORMATS)})"


def find_files(
    paths: Sequence[str | os.PathLike[str]], input_format: str | None
) -> list[SourceFile]:
    """Files, folders and patterns as a list of files, in the order given.

    A folder without any table in it is a folder of plain texts; patterns and folders are sorted,
    and hidden files in them are left out.

    Raises:
        SpecError: ``input_format`` is not one of `FORMATS`.
        InputError: Nothing is there, or something is given twice or can't be read.
    """
    if input_format is not None and input_format not in FORMATS:
        raise SpecError(f"`input_format` is {input_format!r}, expected one of {', '.join(FORMATS)}")
    if not paths:
        raise InputError("no input is given", "name at least one file, folder or pattern")
    found = [name for path in paths for name in _expanded(os.fspath(path))]
    files = [file for path in found for file in _files_at(path, input_format)]
    _check_once(files)
    _check_kinds("the inputs", files)
    # Names are relative to the one folder given, or to the folder that all files share.
    return files if len(found) == 1 else _named(files)


def _expanded(name: str) -> list[str]:
    if name == STDIN or os.path.lexists(name) or not glob.has_magic(name):
        return [name]
    # Path.glob takes no absolute patterns and lists hidden files.
    matches = sorted(glob.glob(name, recursive=True))  # noqa: PTH207
    if not matches:
        raise InputNotFoundError(f"{name}: no file matches the pattern", "check the pattern")
    # `data/**` matches the folders on the way to the files too, and those would come twice.
    return [m for m in matches if not Path(m).is_dir()] or matches


def _files_at(path: str, input_format: str | None) -> list[SourceFile]:
    if path == STDIN:
        return [SourceFile(STDIN, "stdin", input_format or "jsonl", None, None, 0)]
    try:
        if stat.S_ISDIR(Path(path).stat().st_mode):
            return _files_below(path, input_format)
        return [_described(path, Path(path).name, *_format_of(path, input_format))]
    except OSError as error:
        if isinstance(error, InputError):  # our not-found error is an OSError as well
            raise
        raise unreadable(path, error) from error


def _files_below(folder: str, input_format: str | None) -> list[SourceFile]:
    names = _walk(folder)
    if not names:
        raise InputNotFoundError(f"{folder}: no files in this folder", "hidden files are skipped")
    found = [(name, *_format_of(name, input_format)) for name in names]
    if all(format in (None, "text") for _, format, _ in found):
        found = [(name, "text", how if format else None) for name, format, how in found]
    top = "" if Path(folder) == Path() else str(Path(folder))
    files = [
        _described(os.path.join(top, name), name, format, how)  # noqa: PTH118 - maybe a million
        for name, format, how in found
    ]
    _check_kinds(f"{folder}: the files", files)
    return files


def _walk(folder: str) -> list[str]:
    """Posix paths of the files below a folder, relative to it, sorted; without hidden ones."""
    names = []

    def refuse(error: OSError) -> None:  # os.walk would skip what it may not list
        raise error

    for top, folders, files in os.walk(folder, onerror=refuse):
        folders[:] = [f for f in folders if not f.startswith(".")]
        below = Path(top).relative_to(folder).as_posix()
        start = "" if below == "." else f"{below}/"
        names += [start + f for f in files if not f.startswith(".")]
    return sorted(names)


def _format_of(path: str, input_format: str | None) -> tuple[str | None, str | None]:
    """Format and compression by the ending; a format that the user names wins."""
    name = path.rstrip("/").rpartition("/")[2].lstrip(".")
    suffixes = [f".{ending}" for ending in name.lower().split(".")[1:][-2:]]
    compression = _COMPRESSIONS.get(suffixes[-1]) if suffixes else None
    ending = suffixes[0] if compression and len(suffixes) == 2 else (suffixes or [""])[-1]
    format = input_format or _ENDINGS.get(ending)
    if format in _BINARY:
        return (None if compression and not input_format else format), None
    return format, compression


def _described(path: str, name: str, format: str | None, compression: str | None) -> SourceFile:
    if format is None:
        raise FormatError(f"{path}: unknown ending {Path(path).suffix!r}", _FORMAT_HINT)
    found = os.stat(path)  # noqa: PTH116 - there may be a million
    if stat.S_ISREG(found.st_mode):
        return SourceFile(path, name, format, compression, found.st_size, found.st_mtime_ns)
    return SourceFile(path, name, format, compression, None, 0)


def _check_once(files: list[SourceFile]) -> None:
    # A file that is read twice would be reported as duplicates of itself. To follow links all the
    # way takes long for a million files: only those of one size and time are looked at.
    counts = Counter((file.size, file.mtime_ns) for file in files)
    seen: set[str] = set()
    for file in files:
        if counts[file.size, file.mtime_ns] > 1:
            key = STDIN if file.path == STDIN else os.path.realpath(file.path)
            if key in seen:
                raise InputError(f"{file.path}: given twice", "name each input once")
            seen.add(key)


def _check_kinds(what: str, files: list[SourceFile]) -> None:
    first = {file.format == "text": file.path for file in files}
    if len(first) > 1:
        raise FormatError(
            f"{what} are plain texts and tables mixed, such as {first[True]} and {first[False]}",
            "name the files to read, or read all of them the same way with `input_format`",
        )


def _named(files: list[SourceFile]) -> list[SourceFile]:
    """The files with names that are relative to the folder that they share, each name once."""
    regular = [os.path.abspath(file.path) for file in files if file.size is not None]  # noqa: PTH100
    try:
        top = os.path.commonpath([os.path.dirname(path) for path in regular])  # noqa: PTH120
    except ValueError:  # none, or on several drives
        top = ""
    named = []
    taken: set[str] = set()
    for file in files:
        name = file.name
        if file.size is not None and top:
            name = Path(os.path.relpath(file.path, top)).as_posix()
        named.append(replace(file, name=unique_name(name, taken)))
    return named


def unique_name(name: str, taken: set[str]) -> str:
    """The name, or one with a number before its endings, that is not taken; takes it.

    >>> unique_name("b/x.csv.gz", {"b/x.csv.gz"})
    'b/x-2.csv.gz'
    """
    folder, slash, base = name.rpartition("/")
    stem, dot, endings = base.partition(".")
    number = 1
    # Some file systems take small letters and capitals for the same.
    while name.casefold() in taken:
        number += 1
        name = f"{folder}{slash}{stem}-{number}{dot}{endings}"
    taken.add(name.casefold())
    return name


def all_exist(names: Iterable[Any]) -> bool:
    """Whether strings are all names of files, which a list of texts hardly is."""
    return all(
        isinstance(name, str) and len(name) < 4096 and "\0" not in name and os.path.lexists(name)
        for name in names
    )
