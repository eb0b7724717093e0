"""Outputs that would replace an input, or that the next run would read."""

import os
from collections.abc import Iterable
from pathlib import Path, PurePath, PurePosixPath

from neardup.errors import OutputError
from neardup.io.remote import is_remote, located
from neardup.io.streams import STDIN


def check_inputs(
    out: str | os.PathLike[str],
    inputs: Iterable[str | os.PathLike[str]],
    writes: Iterable[str],
) -> None:
    """Refuse an output, a folder or a URL, that would replace inputs."""
    replaced = [_real(located(out) / name) for name in writes]
    for path in inputs:
        if any(map(_real(path).is_relative_to, replaced)):
            raise OutputError(
                f"{path} is an input and would be replaced", "name another output folder"
            )


def check_outside(out: str | os.PathLike[str], given: Iterable[str | os.PathLike[str]]) -> None:
    """Refuse an output in a folder that is read: the next run would read it as well."""
    target = located(out)
    for name in given:
        if str(name) == STDIN or is_remote(name) != is_remote(target):
            continue
        top, real = _real(os.fspath(name).partition("**")[0]), _real(target)
        hidden = any(part.startswith(".") for part in real.parts[len(top.parts) :])  # not read
        if real == top and Path(real).is_file():
            raise OutputError(f"{target} is an input", "name another output folder")
        if real.is_relative_to(top) and not hidden:
            raise OutputError(
                f"{target} is in {name}, which is an input: the next run would read it as well",
                "name an output that is not below an input folder",
            )


def _real(path: str | os.PathLike[str]) -> PurePath:
    return PurePosixPath(path) if is_remote(path) else Path(os.path.realpath(path))
