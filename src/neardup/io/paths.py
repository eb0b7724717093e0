"""From names (files, folders, patterns, ``-``) to the list of files to read."""

import functools
import glob
import os
import stat
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import chain
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from neardup.errors import FormatError, InputError, InputNotFoundError, SpecError
from neardup.file_formats import COMPRESSIONS, FORMATS, READ
from neardup.files.given_path import GivenPath
from neardup.io.formats.unread import unread
from neardup.io.remote import Url, find_remote, is_stored_file, located, short_name
from neardup.io.source import SourceFile, unreadable
from neardup.io.streams import STDIN
from neardup.io.unpacking.first_bytes import HEAD, LEAVE_OUT
from neardup.result_record import INDEX, RECORD, RECORD_INDEX, read_record

_ENDINGS = {ending: name for name in READ for ending in FORMATS[name].endings}
_COMPRESSIONS = {of.ending: name for name, of in COMPRESSIONS.items()}


def find_files(
    paths: Sequence[str | os.PathLike[str]], input_format: str | None
) -> list[SourceFile]:
    """Files, folders, patterns and URLs as a list of files, in the order given.

    Where none of them is a table, all are plain texts; patterns and folders are sorted, and hidden
    files in them are left out.
    """
    if input_format is not None and input_format not in READ:
        raise SpecError(f"`input_format` is {input_format!r}, expected one of {', '.join(READ)}")
    if not paths:
        raise InputError("no input is given", "name at least one file, folder or pattern")
    groups = [group for path in paths for group in _expanded(path)]
    empty = next((group.top for group in groups if not group.files), None)
    if empty is not None:
        raise InputNotFoundError(f"{empty}: no files in this folder", "hidden files are skipped")
    found = list(chain.from_iterable(group.files for group in groups))
    formats = [format_of(file.name, input_format or file.format) for file in found]
    if len(found) > 1 and all(of[0] == "text" or of == (None, None) for of in formats):
        formats = [("text", compression) for _, compression in formats]
    files = [
        replace(file, format=format or "", compression=compression)
        for file, (format, compression) in zip(found, formats, strict=True)
    ]
    _check_known(files)
    _check_once(files)
    first = {file.format == "text": file.path for file in files}
    if len(first) > 1:
        top = groups[0].top if len(groups) == 1 else ""
        raise FormatError(
            f"{f'{top}: the files' if top else 'the inputs'} are plain texts and tables mixed, "
            f"such as {first[True]} and {first[False]}",
            "name the files to read, or read all of them the same way with `input_format`",
        )
    # Names are relative to the one folder given, or to the folder that all files share.
    return files if len(groups) == 1 else _named(files)


class _Group(NamedTuple):
    """The files of one name; ``top`` is the folder, if it is one."""

    top: str
    files: list[SourceFile]


def _expanded(path: str | os.PathLike[str]) -> list[_Group]:
    if str(path) == STDIN:
        return [_Group("", [SourceFile(STDIN, "stdin", "jsonl", None, None, 0)])]
    given = located(path)
    if isinstance(given, Url):
        return _remote(given)
    if os.path.lexists(given) or not glob.has_magic(given.name):
        return [_local(given)]
    # Path.glob takes no absolute patterns and lists hidden files.
    top = given.directory or None
    names = sorted(glob.glob(given.name, root_dir=top, recursive=True))  # noqa: PTH207
    if not names:
        raise InputNotFoundError(f"{given}: no file matches the pattern", "check the pattern")
    matches = [replace(given, name=name) for name in names]
    for match in matches:
        if match.path.name == RECORD:
            _refuse_result(match.path.parent, given)
    # `data/**` matches the folders on the way to the files too, and those would come twice.
    return [_local(m) for m in [m for m in matches if not m.path.is_dir()] or matches]


def _remote(url: str) -> list[_Group]:
    top, found = find_remote(url)
    files = []
    for file in found:
        name = file.url[len(top) + 1 :] if top else short_name(file.url)
        if not top or not _is_hidden(name):
            files.append(SourceFile(file.url, name, "", None, file.size, file.stamp))
    return [_Group(top, files)] if top else [_Group("", [file]) for file in files]


def _local(given: GivenPath) -> _Group:
    path = Path(given.name)
    try:
        if not stat.S_ISDIR(given.path.stat().st_mode):
            file = _described(given, path.name)
            return _Group(str(given), _members(file)) if _is_zip(file) else _Group("", [file])
        top = replace(given, name="" if path == Path() else str(path))
        files = [_described(top / name, name) for name in _walk(given)]
        inner = (_members(file, f"{file.name}/") if _is_zip(file) else [file] for file in files)
        return _Group(str(given), list(chain.from_iterable(inner)))
    except OSError as error:
        raise unreadable(given.shown(str(error.filename or given)), error) from error


def _is_zip(file: SourceFile) -> bool:
    return file.size is not None and file.name.lower().endswith(".zip")


def _members(archive: SourceFile, top: str = "") -> list[SourceFile]:
    """The members of a zip archive, which is read as a folder; without hidden ones."""
    from neardup.io.unpacking.zip_members import members

    taken = set[str]()
    return members(
        archive, lambda name: None if _is_hidden(name) else top + unique_name(name, taken)
    )


def _walk(given: GivenPath) -> list[str]:
    """Posix paths of the files below a folder, relative to it, sorted; without hidden ones."""
    names, folder = [], given.path

    def refuse(error: OSError) -> None:  # os.walk would skip folders that it may not list
        raise error

    for top, folders, files in os.walk(folder, onerror=refuse):
        if RECORD in files:
            _refuse_result(Path(top), given)
        if INDEX in files or RECORD_INDEX in files:
            what = "an index of records" if RECORD_INDEX in files else "an index"
            raise InputError(f"{given.shown(top)} is {what}", "name the files with the documents")
        folders[:] = [f for f in folders if not f.startswith(".")]
        below = Path(top).relative_to(folder).as_posix()
        names += [f"{below}/{f}".removeprefix("./") for f in files if not _is_hidden(f)]
    return sorted(names)


def _refuse_result(found: Path, given: GivenPath) -> None:
    """Refuse a folder that neardup wrote, below a path: its tables are no documents."""
    record = read_record(found)
    if record is not None:
        folder = Path(given.shown(str(found)))
        clean = next((name for name in record["files"] if name.partition(".")[0] == "clean"), None)
        what = f"its clean corpus is {folder / clean}" if clean else "it has no clean corpus"
        raise InputError(
            f"{folder} is an output of neardup {record['command']}; {what}",
            "name the files to read" if clean is None else f"read {folder / clean}",
        )


def _is_hidden(name: str) -> bool:
    """Whether a file in a folder is none of its data, such as ``_SUCCESS`` of Spark."""
    parts = name.split("/")
    marker = parts[-1].startswith("_") and format_of(parts[-1])[0] is None
    return marker or any(part.startswith(".") for part in parts)


def format_of(path: str, input_format: str | None = None) -> tuple[str | None, str | None]:
    """Format and compression by the ending; a format that the user names wins."""
    name = path.rstrip("/").rpartition("/")[2].lstrip(".")
    suffixes = [f".{ending}" for ending in name.lower().split(".")[1:][-2:]]
    compression = _COMPRESSIONS.get(suffixes[-1]) if suffixes else None
    ending = suffixes[0] if compression and len(suffixes) == 2 else (suffixes or [""])[-1]
    format = input_format or _ENDINGS.get(ending)
    if format is not None and FORMATS[format].packed:
        return (None, compression) if compression and not input_format else (format, None)
    return format, compression


def _described(given: GivenPath, name: str) -> SourceFile:
    found = os.stat(given)  # noqa: PTH116 - there may be a million
    is_file = stat.S_ISREG(found.st_mode)
    size, time = (found.st_size, found.st_mtime_ns) if is_file else (None, 0)
    return SourceFile(str(given), name, "", None, size, time, directory=given.directory)


def _check_known(files: list[SourceFile]) -> None:
    unknown = next((file for file in files if not file.format), None)
    if unknown is not None:
        what, hint = unread(unknown.path, unknown.compression, ", ".join(READ), _head(unknown))
        other = next((file for file in files if file.format), None)
        if other is not None:
            name = PurePosixPath(other.name)
            count = -2 if name.suffix in _COMPRESSIONS else -1
            pattern = f"**/*{''.join(name.suffixes[count:])}"
            hint = (
                f"leave it out by a pattern, such as '{pattern}', or {hint.removesuffix(LEAVE_OUT)}"
            )
        raise FormatError(f"{unknown.path}: {what}", hint)


def _head(file: SourceFile) -> bytes:
    """The first bytes of a file on the disk, as they are; none where it can't be read."""
    with suppress(OSError):
        if file.is_seekable and not file.is_remote:
            with Path(file.local_path).open("rb") as opened:
                return opened.read(HEAD)
    return b""


def _check_once(files: list[SourceFile]) -> None:
    # A file that is read twice would be reported as duplicates of itself. To follow links all the
    # way takes long for a million files: only those of one size and time are looked at.
    counts = Counter((file.size, file.mtime_ns) for file in files)
    seen: dict[str, GivenPath] = {}
    real_path = functools.cache(os.path.realpath)  # members of an archive have one
    for file in files:
        if counts[file.size, file.mtime_ns] > 1:
            is_local = file.path != STDIN and not file.is_remote
            key = real_path(file.given) if is_local else file.path
            key += f"/{file.member}" if file.archive else ""
            if key in seen:
                hint, both = "name each input once", (file.given, seen[key])
                links = [given for given in both if given.path.is_symlink()]
                if links and file.given != seen[key]:
                    hint = f"{links[0]} is a link to {key}: remove it, or leave it out by a pattern"
                raise InputError(f"{file.path}: given twice", hint)
            seen[key] = file.given


def _named(files: list[SourceFile]) -> list[SourceFile]:
    """The files with names that are relative to the folder that they share, each name once."""
    regular = [_absolute(file) for file in files if file.size is not None]
    try:
        top = os.path.commonpath([os.path.dirname(path) for path in regular])  # noqa: PTH120
    except ValueError:  # none, or on several drives
        top = ""
    named = []
    taken: set[str] = set()
    for file in files:
        name = file.name
        if file.size is not None and top:
            name = Path(os.path.relpath(_absolute(file), top)).as_posix()
        named.append(replace(file, name=unique_name(name, taken)))
    return named


def _absolute(file: SourceFile) -> str:
    """A path as `os.path` compares it; each URL has a root folder, an archive is one."""
    if file.is_remote:
        return f"{os.sep}{file.path}"
    inner = f"{os.sep}{file.name.removeprefix(file.archive.name + '/')}" if file.archive else ""
    return os.path.normpath(file.given) + inner


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
        isinstance(name, str)
        and len(name) < 4096
        and "\0" not in name
        and (is_stored_file(name) or os.path.lexists(name))
        for name in names
    )
