"""Zip archives, which are read as folders: their members are files, and none is extracted."""

import functools
import lzma
import re
import stat
import weakref
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import IO

from neardup.errors import FormatError
from neardup.io.source import SourceFile, unreadable

ENDING = ".zip"
_UNPACK = "unpack it first"
#: What zipfile decompresses: stored, deflate, bzip2 and LZMA.
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)
_DAMAGE = (zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError)


@functools.lru_cache(2)  # a directory of 100,000 members takes half a second and 60 MB
def _opened(path: str, size: int, mtime_ns: int) -> zipfile.ZipFile:
    """Open an archive, whose members any thread reads; size and time say if it is another one."""
    file = Path(path).open("rb")  # noqa: SIM115 - closed with the archive
    try:
        found = zipfile.ZipFile(file)
    except BaseException:
        file.close()
        raise
    weakref.finalize(found, file.close)
    return found


def _archive(file: SourceFile) -> zipfile.ZipFile:
    return _opened(file.local_path, file.size or 0, file.mtime_ns)


def members(archive: SourceFile, name_of: Callable[[str], str | None]) -> list[SourceFile]:
    """Return the members of an archive that are files, sorted by name.

    Of several with one name the last counts, as where they are unpacked. Names lead to no other
    folder: ``..`` and the like are left out of them.

    Args:
        archive: It.
        name_of: From the name of a member to that of a file; None for one that is left out.

    Raises:
        FormatError: It is no archive, or damaged; or a member can't be read: it is encrypted, an
            archive, a link, or compressed in another way.
    """
    try:
        every = _archive(archive).NameToInfo.values()
    except OSError as error:
        raise unreadable(archive.path, error) from error
    except (*_DAMAGE, NotImplementedError, ValueError) as error:
        raise FormatError(
            f"{archive.path}: no zip archive, or cut off or damaged",
            "fetch the file again, or check its ending",
        ) from error
    found = []
    for info in sorted(every, key=lambda info: safe_name(info.filename)):
        if not info.is_dir() and (name := name_of(safe_name(info.filename))):
            file = replace(
                archive,
                path=f"{archive.path}/{info.filename}",
                name=name,
                size=info.file_size,
                archive=archive,
                member=info.filename,
                notes=[],
                decoded={},
            )
            _check(file, info)
            found.append(file)
    return found


def safe_name(member: str) -> str:
    """Return the name of a member below its archive, whatever the archive says.

    >>> safe_name("../a/./b.txt"), safe_name("C:\\\\x.txt")
    ('a/b.txt', 'C_/x.txt')
    """
    parts = re.split(r"[/\\]", member)
    return "/".join(re.sub(r"^(\w):", r"\1_", p) for p in parts if p not in ("", ".", ".."))


def _check(file: SourceFile, info: zipfile.ZipInfo) -> None:
    """Refuse a member that can't be read."""
    assert file.archive is not None
    if info.flag_bits & 1:
        raise FormatError(f"{file.archive.path}: encrypted", _UNPACK)
    if file.name.lower().endswith(ENDING):
        raise FormatError(f"{file.path}: a zip in a zip, which is not read", _UNPACK)
    if stat.S_ISLNK(info.external_attr >> 16):
        raise FormatError(f"{file.path}: a link, which is not followed in a zip", _UNPACK)
    if info.compress_type not in _METHODS:
        what = f"compressed by method {info.compress_type} of zip, which is not read"
        raise FormatError(f"{file.path}: {what}", _UNPACK)


@contextmanager
def open_member(file: SourceFile) -> Iterator[IO[bytes]]:
    """Open a member; it is decompressed as it is read, and checked at its end."""
    assert file.archive is not None
    try:
        archive = _archive(file.archive)
        with archive.open(archive.NameToInfo[file.member]) as opened:
            yield opened
    except (*_DAMAGE, KeyError, NotImplementedError) as error:
        raise FormatError(
            f"{file.path}: the zip data is cut off or damaged", "fetch the archive again"
        ) from error
