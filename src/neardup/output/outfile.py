"""Files that are written on request, besides those of a run: pages."""

import os
from collections.abc import Iterable
from pathlib import Path

from neardup.errors import OutputError
from neardup.files.given_path import GivenPath
from neardup.files.private_files import replacing
from neardup.output.targets import check_outside
from neardup.result_record import AUDIT, read_record
from neardup.state.run_state import RUN_FOLDER


def check_file(
    path: str | os.PathLike[str],
    inputs: Iterable[str | os.PathLike[str]] = (),
    overwrite: bool = True,
    given: Iterable[str | os.PathLike[str]] = (),
) -> GivenPath:
    """Take the path if a file can and may be written there, as far as can be known before work.

    Files of a run and ``inputs`` are never replaced, others only with ``overwrite``. Nothing is
    written in folders that are read, which are among the ``given`` names.
    """
    target = GivenPath.of(path)
    with target.in_messages():
        _check_file(target.path, inputs, overwrite, given)
    return target


def _check_file(
    path: Path,
    inputs: Iterable[str | os.PathLike[str]],
    overwrite: bool,
    given: Iterable[str | os.PathLike[str]],
) -> None:
    # Not pathlib's: names that are too long, and closed folders, are no folders to os.path.
    if os.path.isdir(path):  # noqa: PTH112
        raise OutputError(f"{path} is a folder; expected a file")
    if not os.path.isdir(path.parent):  # noqa: PTH112
        raise OutputError(f"there is no folder {path.parent}", "create it first")
    # Also where a link leads to, since that is what would be replaced.
    for target in (Path(os.path.normpath(path)), Path(os.path.realpath(path))):
        if _is_of_run(target):
            raise OutputError(f"{path} is a file of a run", "name another file")
    if os.path.lexists(path):
        if os.path.realpath(path) in map(os.path.realpath, inputs):
            raise OutputError(f"{path} is an input", "name another file")
        if os.path.exists(path) and not os.path.isfile(path):  # noqa: PTH110, PTH113
            raise OutputError(f"{path} is not a regular file", "name another file")
        if not overwrite:
            raise OutputError(f"{path} exists", "use overwrite=True, or name another file")
    check_outside(path, given)
    if not os.access(path.parent, os.W_OK | os.X_OK):
        raise OutputError(f"{path.parent} can't be written to", "name another folder")


def _is_of_run(path: Path) -> bool:
    records = {folder: read_record(folder) for folder in path.parents}
    return RUN_FOLDER in path.parts or any(
        record is not None and path.relative_to(folder).parts[0] in {*record["files"], AUDIT}
        for folder, record in records.items()
    )


def write_file(path: str | os.PathLike[str], data: bytes) -> Path:
    """Write a file that appears when complete; only its owner can read it, and a link stays one.

    Returns:
        Its absolute path.
    """
    given = GivenPath.of(path)
    with given.in_messages(), replacing(Path(os.path.realpath(given))) as file:
        file.write(data)
    return given.path
