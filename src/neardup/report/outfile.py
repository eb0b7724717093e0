"""Files that a command writes besides: figures and pages."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterable
from pathlib import Path
from zlib import crc32

from neardup.errors import OutputError

__all__ = ["check_file", "write_file"]

#: What a run leaves in its folder, beside ``run.json``; and the folder of what it needs to go on.
_OF_A_RUN = frozenset(
    [
        "clusters.parquet",
        "edges.parquet",
        "run.json",
        "audit.json",
        "clean.parquet",
        "clean.jsonl",
        "clean.csv",
    ]
)
_FOLDER = ".run"


def check_file(
    path: str | os.PathLike[str],
    inputs: Iterable[str | os.PathLike[str]] = (),
    overwrite: bool = True,
) -> Path:
    """Return the path if a file can and may be written there, as far as can be told before work.

    Args:
        path: Where it is to go.
        inputs: Files that are never replaced. Nor are those of any run.
        overwrite: Another file that is there may be replaced.

    Raises:
        OutputError: It is a folder, its folder is not there or can't be written to, or there is a
            file that must stay.
    """
    path = Path(path)
    # Not pathlib's: names that are too long, and closed folders, are no folders to os.path.
    if os.path.isdir(path):  # noqa: PTH112
        raise OutputError(f"{path} is a folder; expected a file")
    if not os.path.isdir(path.parent):  # noqa: PTH112
        raise OutputError(f"there is no folder {path.parent}", "make it first")
    # Also where a link leads to, since that is what would be replaced.
    for place in (Path(os.path.abspath(path)), Path(os.path.realpath(path))):  # noqa: PTH100
        beside_record = place.name in _OF_A_RUN and os.path.lexists(place.with_name("run.json"))
        if beside_record or _FOLDER in place.parts:
            raise OutputError(f"{path} is a file of a run", "name another file")
    if os.path.lexists(path):
        if os.path.realpath(path) in map(os.path.realpath, inputs):
            raise OutputError(f"{path} is an input", "name another file")
        if os.path.exists(path) and not os.path.isfile(path):  # noqa: PTH110, PTH113
            raise OutputError(f"{path} is no regular file", "name another file")
        if not overwrite:
            raise OutputError(f"{path} exists", "use --overwrite, or name another file")
    if not os.access(path.parent, os.W_OK | os.X_OK):
        raise OutputError(f"{path.parent} can't be written to", "name another place")
    return path


def write_file(path: Path, data: bytes) -> None:
    """Write a file where nobody looks, then rename it.

    Raises:
        OutputError: There is no space, or no right.
    """
    target = Path(os.path.realpath(path))  # a link stays one
    # A name that is no longer than others, however long that of the target is.
    partial = target.with_name(f".{os.getpid()}-{crc32(target.name.encode()):08x}.partial")
    try:
        partial.write_bytes(data)
        partial.replace(target)
    except OSError as error:
        hint = "free some space, or write elsewhere" if error.errno == errno.ENOSPC else ""
        raise OutputError(f"can't write {path}: {error.strerror or error}", hint) from error
    finally:
        with contextlib.suppress(OSError):
            partial.unlink(missing_ok=True)
