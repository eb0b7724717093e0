"""Pipes copied to files, so that they can be read more than once."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from neardup.corpus.inputs import InputFile
from neardup.corpus.streams import ByteStream
from neardup.corpus.writers import unwritable
from neardup.errors import InputError

__all__ = ["spooled"]

_BLOCK = 1 << 20


def spooled(files: Sequence[InputFile], folder: Path) -> list[InputFile]:
    """The files, with a copy in ``folder`` for each pipe; the n-th input's is ``input-n``.

    A copy that is there is complete, since it got its name last: its pipe is not touched.

    Raises:
        OutputError: The folder can't be written to, or the disk is full.
        InputError: A pipe can't be read.
    """
    return [
        _spooled(file, folder / f"input-{number}") if file.size is None else file
        for number, file in enumerate(files)
    ]


def _spooled(file: InputFile, copy: Path) -> InputFile:
    try:
        if not copy.exists():
            _copy(file, copy)
        return replace(file, spool=str(copy), size=copy.stat().st_size)
    except OSError as error:
        if isinstance(error, InputError):  # one of them is an OSError as well
            raise
        raise unwritable(copy, error) from error


def _copy(file: InputFile, copy: Path) -> None:
    partial = copy.with_name(f".{copy.name}.partial")
    try:
        # The bytes as they come: compressed ones stay so.
        with partial.open("wb") as target, ByteStream(replace(file, compression=None)) as stream:
            while block := stream.read(_BLOCK):
                target.write(block)
            target.flush()
            os.fsync(target.fileno())
        partial.replace(copy)
        folder = os.open(copy.parent, os.O_RDONLY)
        try:
            os.fsync(folder)  # the new name
        finally:
            os.close(folder)
    except BaseException:
        with suppress(OSError):  # the first error counts
            partial.unlink(missing_ok=True)
        raise
