"""Files that appear by rename, and the streams behind their endings."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

from neardup.errors import NeardupError, OutputError, SpecError

__all__ = ["ENDINGS", "ending", "open_stream", "partial", "refuse"]

ENDINGS = (".jsonl", ".jsonl.gz", ".jsonl.zst", ".parquet")


def ending(path: Path) -> str:
    """Return which of ``ENDINGS`` a path has.

    Raises:
        SpecError: It has none of them.
    """
    for known in ENDINGS:
        if path.name.endswith(known) and path.name != known:
            return known
    raise SpecError(f"the ending of {path} names no format", "known are " + ", ".join(ENDINGS))


def refuse(path: Path, overwrite: bool) -> None:
    """Check that a file may be written there, before any work is done.

    Raises:
        OutputError: It exists and may not be overwritten, or its folder does not exist.
    """
    if path.is_dir():
        raise OutputError(f"{path} is a folder; expected a file")
    if path.exists() and not overwrite:
        raise OutputError(f"{path} exists", "choose another name, or --overwrite")
    if not path.parent.is_dir():
        raise OutputError(f"there is no folder {path.parent}", "make it first")


@contextmanager
def partial(path: Path) -> Iterator[Path]:
    """Give the name to write to, ``<name>.partial``, and remove that file if all does not go well.

    Moving it to ``path`` is left to the caller, so that several files can appear together.

    Raises:
        OutputError: Any OSError within, such as a full disk.
    """
    unfinished = path.with_name(path.name + ".partial")
    try:
        yield unfinished
    except NeardupError:
        raise
    except OSError as error:
        reason = error.strerror or str(error)
        hint = "free some space, or write elsewhere" if error.errno == errno.ENOSPC else ""
        raise OutputError(f"can't write {path}: {reason}", hint) from error
    finally:
        unfinished.unlink(missing_ok=True)  # gone already if it was moved


def open_stream(path: Path, kind: str) -> Any:
    """Open a file for bytes: compressed here for ``.jsonl.zst``, as they come for the others."""
    if kind == ".jsonl.zst":
        return pa.CompressedOutputStream(str(path), "zstd")
    return path.open("wb")
