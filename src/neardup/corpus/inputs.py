"""From what the user names (files, folders, patterns, ``-``) to the list of files to read."""

from __future__ import annotations

import glob
import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from neardup.errors import FormatError, InputError, InputNotFoundError, SpecError

__all__ = ["FORMATS", "STDIN", "InputFile", "find_inputs", "unreadable"]

FORMATS = ("jsonl", "parquet", "csv", "tsv", "arrow", "text")
STDIN = "-"

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
_FORMAT_HINT = f"say what it is with --input-format ({', '.join(FORMATS)})"


@dataclass(frozen=True)
class InputFile:
    """One file to read.

    Args:
        path: Where it is; ``-`` is stdin. Messages name it so.
        label: What the ``path`` column says of a plain text file; posix, relative to the folder.
        format: One of `FORMATS`.
        compression: ``gzip``, ``zstd`` or None.
        size: Bytes on disk; None for stdin and other pipes, unless they were copied.
        mtime_ns: Time of the last change; 0 for pipes.
        spool: The copy of a pipe, which is read in its place; None for others.
    """

    path: str
    label: str
    format: str
    compression: str | None
    size: int | None
    mtime_ns: int
    spool: str | None = None

    @property
    def source(self) -> str:
        """Where the bytes lie."""
        return self.spool or self.path


def unreadable(path: str, error: OSError) -> InputError:
    """The error for a file that the operating system does not give out."""
    if isinstance(error, FileNotFoundError):
        return InputNotFoundError(f"{path}: no such file or folder", "check the path")
    reason = os.strerror(error.errno).lower() if error.errno else "the system gave no reason"
    hint = "check the rights of the file" if isinstance(error, PermissionError) else ""
    return InputError(f"{path}: can't be read: {reason}", hint)


def find_inputs(paths: Sequence[str | Path], input_format: str | None) -> list[InputFile]:
    """Files, folders and patterns as a list of files, in the order given.

    A folder without any table in it is a folder of plain texts; patterns and folders are sorted.

    Raises:
        SpecError: ``input_format`` is not one of `FORMATS`.
        InputNotFoundError: A path or pattern that there is not, or a folder without files.
        FormatError: An unknown ending, or texts mixed with tables.
        InputError: Nothing given, something given twice, or no right to read.
    """
    if input_format is not None and input_format not in FORMATS:
        raise SpecError(f"input format is {input_format!r}, expected one of {', '.join(FORMATS)}")
    if not paths:
        raise InputError("no input is given", "name at least one file, folder or pattern")
    files: list[InputFile] = []
    for path in paths:
        for found in _expanded(path):
            # With one folder the label is relative to it; with several it says which folder.
            files += _files_at(found, input_format, prefix=len(paths) > 1)
    _check_once(files)
    kinds = {file.format == "text" for file in files}
    if len(kinds) > 1:
        raise _mixed("the inputs", files)
    return files


def _expanded(path: str | Path) -> list[str]:
    name = os.fspath(path)
    if name == STDIN or os.path.lexists(name) or not glob.has_magic(name):
        return [name]
    # Path.glob takes no absolute patterns and lists hidden files.
    matches = sorted(glob.glob(name, recursive=True))  # noqa: PTH207
    if not matches:
        raise InputNotFoundError(f"{name}: no file matches the pattern", "check the pattern")
    # `data/**` matches the folders on the way to the files too, and those would come twice.
    return [m for m in matches if not Path(m).is_dir()] or matches


def _files_at(path: str, input_format: str | None, prefix: bool) -> list[InputFile]:
    if path == STDIN:
        return [InputFile(STDIN, STDIN, input_format or "jsonl", None, None, 0)]
    try:
        if stat.S_ISDIR(Path(path).stat().st_mode):
            return _files_below(path, input_format, prefix)
        format, compression = _format_of(path, input_format)
        if format is None:
            raise FormatError(f"{path}: unknown ending {Path(path).suffix!r}", _FORMAT_HINT)
        return [_described(path, Path(path).as_posix(), format, compression)]
    except OSError as error:
        if isinstance(error, InputError):  # our not-found error is an OSError as well
            raise
        raise unreadable(path, error) from error


def _files_below(folder: str, input_format: str | None, prefix: bool) -> list[InputFile]:
    names = _walk(folder)
    if not names:
        raise InputNotFoundError(f"{folder}: no files in this folder", "hidden files are skipped")
    found = [(name, *_format_of(name, input_format)) for name in names]
    if all(format in (None, "text") for _, format, _ in found):
        found = [(name, "text", how if format else None) for name, format, how in found]
    files = []
    top = "" if Path(folder) == Path() else str(Path(folder))
    for name, format, compression in found:
        path = os.path.join(top, name)  # noqa: PTH118 - there may be a million
        if format is None:
            raise FormatError(
                f"{path}: unknown ending {Path(path).suffix!r} in a folder of tables", _FORMAT_HINT
            )
        files.append(_described(path, path if prefix else name, format, compression))
    if len({file.format == "text" for file in files}) > 1:
        raise _mixed(f"{folder}: the files", files)
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


def _described(path: str, label: str, format: str, compression: str | None) -> InputFile:
    found = os.stat(path)  # noqa: PTH116 - there may be a million
    regular = stat.S_ISREG(found.st_mode)
    return InputFile(
        path,
        label,
        format,
        compression,
        found.st_size if regular else None,
        found.st_mtime_ns if regular else 0,
    )


def _check_once(files: list[InputFile]) -> None:
    # A file that is read twice would be reported as duplicates of itself. To follow links all the
    # way takes long for a million files: only what the system has in one place is looked at.
    places: dict[object, list[InputFile]] = {}
    for file in files:
        try:
            found = None if file.path == STDIN else os.stat(file.path)  # noqa: PTH116
        except OSError as error:
            raise unreadable(file.path, error) from error
        places.setdefault(found and (found.st_dev, found.st_ino), []).append(file)
    seen: set[str] = set()
    for file in (file for alike in places.values() if len(alike) > 1 for file in alike):
        key = STDIN if file.path == STDIN else os.path.realpath(file.path)
        if key in seen:
            raise InputError(f"{file.path}: given twice", "name each input once")
        seen.add(key)


def _mixed(what: str, files: list[InputFile]) -> FormatError:
    text = next(file.path for file in files if file.format == "text")
    table = next(file.path for file in files if file.format != "text")
    return FormatError(
        f"{what} are plain texts and tables mixed, such as {text} and {table}",
        "name the files to read, or read all of them the same way with --input-format",
    )
