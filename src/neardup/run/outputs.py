"""What a run found, as files: each appears by rename, all or none."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from neardup.corpus import OUTPUT_FORMATS, TableWriter
from neardup.errors import OutputError, ResumeError, SpecError
from neardup.run.folder import FOLDER, RunFolder, disk_errors, file_checksum

__all__ = ["AUDIT", "WRITTEN", "Output", "check_output", "finish_outputs", "write_outputs"]

#: What an audit left in the folder; it goes when another run takes the place of its own.
AUDIT = "audit.json"

#: The step after which only renaming is left, and where files lie until then.
WRITTEN, _PLACE = "written", "outputs"


def check_output(
    out: Path, format: str, overwrite: bool, inputs: Iterable[str] = (), resume: bool = False
) -> None:
    """Refuse an output that can't or must not be written, before any work is done.

    Args:
        out: Folder to make.
        format: Of the clean corpus.
        overwrite: What an earlier run left in ``out`` is to be replaced.
        inputs: Files that must not be replaced by what is made of them.
        resume: A run that was interrupted may be there.

    Raises:
        OutputError: ``out`` exists and ``overwrite`` is not set, or it is no folder, or the
            folder it is to lie in is not there or not writable.
        SpecError: The format is not known.
    """
    if format not in OUTPUT_FORMATS:
        raise SpecError(f"no output format {format!r}", "known are " + ", ".join(OUTPUT_FORMATS))
    with disk_errors(out):
        if out.exists() or out.is_symlink():
            if not out.is_dir():
                raise OutputError(f"{out} exists and is not a folder", "name another with -o")
            begun = (out / FOLDER).is_dir()
            if begun and not (resume or overwrite or (out / "run.json").exists()):
                raise OutputError(
                    f"{out} holds a run that was interrupted",
                    "go on with --resume, or start again with --overwrite",
                )
            # A run may have been killed just after it was complete: then there is nothing to do.
            complete = resume and (out / "run.json").exists()
            if not overwrite and not complete and not (begun and resume):
                raise OutputError(
                    f"{out} exists", "use --overwrite, or name another folder with -o"
                )
            for name in _names(OUTPUT_FORMATS):
                if (out / name).is_dir():
                    raise OutputError(f"{out / name} is a folder", "name another with -o")
            replaced = {os.path.realpath(out / name) for name in _names(OUTPUT_FORMATS)}
            for path in inputs:
                if os.path.realpath(path) in replaced:
                    raise OutputError(
                        f"{path} is an input and would be replaced", "name another folder with -o"
                    )
        existing = next(p for p in [out, *out.absolute().parents] if p.exists())
    if not existing.is_dir() or not os.access(existing, os.W_OK | os.X_OK):
        raise OutputError(
            f"{existing} is not a folder that can be written to", "name another with -o"
        )


@dataclass(frozen=True)
class Output:
    """One table to write.

    Attributes:
        name: Of the file, without ending.
        schema: Of all its tables.
        tables: Called with the rows that are written already, which whole tables made up; returns
            the tables after them.
        format: ``parquet``, ``jsonl`` or ``csv``.
        compression: Codec of Parquet.
        checkpoint: Bytes of the tables after which its progress is noted, to go on from there after
            a crash; 0 for a table that is quickly written again.
    """

    name: str
    schema: Any
    tables: Callable[[int], Iterable[Any]]
    format: str = "parquet"
    compression: str = "zstd"
    checkpoint: int = 0

    @property
    def file(self) -> str:
        return f"{self.name}.{self.format}"


def write_outputs(
    out: Path,
    tables: list[Output],
    record: Callable[[dict[str, int]], Any],
    folder: RunFolder | None = None,
) -> dict[str, int]:
    """Write all files where nobody looks for them, then rename them all.

    Args:
        out: Folder; made if it is not there, and removed again if writing fails.
        tables: What to write besides ``run.json``.
        record: Called with {file name: bytes} once the tables are written; returns what goes into
            ``run.json``.
        folder: With it, what was written before a crash is gone on with.

    Returns:
        Bytes by file name.

    Raises:
        OutputError: The disk is full, or the folder can't be written to.
    """
    made: list[Path] = []
    files: dict[str, Path] = {}
    checks: dict[str, int] = {}
    moved: list[Path] = []
    try:
        with disk_errors(out):
            for parent in reversed([out, *out.absolute().parents]):
                if not parent.exists():
                    parent.mkdir()
                    made.append(parent)
            place = out if folder is None else folder.path / _PLACE
            place.mkdir(exist_ok=True)
            for output in tables:
                files[output.file] = place / _hidden(output.file)
                checks[output.file] = _write(files[output.file], output, folder)
            sizes = {name: path.stat().st_size for name, path in files.items()}
            files["run.json"] = place / _hidden("run.json")
            text = json.dumps(record(sizes), indent=2, ensure_ascii=False)
            files["run.json"].write_text(text + "\n", encoding="utf-8")
            for path in files.values():
                with path.open("rb+") as file:
                    os.fsync(file.fileno())
            if folder is not None:
                checks["run.json"] = file_checksum(files["run.json"])
                folder.mark(WRITTEN, files=checks)
                folder.settle()
            _move(out, files, moved)
            return sizes
    except BaseException:
        if folder is None:
            with suppress(OSError):  # the first error counts
                for path in [*files.values(), *moved]:
                    path.unlink(missing_ok=True)
                for parent in reversed(made):
                    parent.rmdir()  # refuses, as it should, where somebody put something in
        raise


def finish_outputs(out: Path, folder: RunFolder) -> Any:
    """Rename what a run had written when it was killed; return what ``run.json`` holds.

    Raises:
        ResumeError: A file is missing or damaged.
    """
    names = folder.about(WRITTEN)["files"]
    with disk_errors(out):
        place = folder.path / _PLACE
        files = {n: place / _hidden(n) for n in names if (place / _hidden(n)).exists()}
        for name, check in names.items():
            if name in files and file_checksum(files[name]) != check:
                raise ResumeError(
                    f"{files[name]}: damaged, or from another run", "start again with --overwrite"
                )
            if name not in files and not (out / name).exists():
                raise ResumeError(f"{out / name}: is gone", "start again with --overwrite")
        _move(out, files, [], names)
        return json.loads((out / "run.json").read_text(encoding="utf-8"))


def _write(path: Path, output: Output, folder: RunFolder | None) -> int:
    """Write one table, where it is worth it so that it can be gone on with.

    Returns:
        Its CRC-32; 0 without a folder, where nobody asks for it.
    """
    stage = f"write {output.name}"
    resumed = folder if output.checkpoint else None
    done = 0 if resumed is None else resumed.count(stage)
    state: bytes | None = None
    rows = size = check = 0
    if resumed is not None and done:
        held = resumed.load(stage, done - 1)
        state = held["state"].tobytes()
        rows, size, check = held["progress"].tolist()
        if not path.exists() or file_checksum(path, 0, size) != check:
            raise ResumeError(
                f"{path}: damaged, or from another run", "start again with --overwrite"
            )
    progress = _Progress(path, size, check)
    with TableWriter(path, output.schema, output.format, output.compression, state) as writer:
        since = 0
        for table in output.tables(rows):
            writer.write(table)
            rows += len(table)
            since += table.nbytes
            if resumed is not None and since >= output.checkpoint:
                since = 0
                # The thread of the folder waits for the disk, while the next tables are written.
                state = writer.checkpoint(sync=False)
                note = partial(progress.note, state, rows, path.stat().st_size)
                resumed.save(stage, done, partial(_replacing, resumed, stage, done - 2, note))
                done += 1
    if folder is None:
        return 0
    folder.settle()
    return file_checksum(path, progress.size, None, progress.check)


def _replacing(
    folder: RunFolder, stage: str, old: int, note: Callable[[], dict[str, np.ndarray]]
) -> dict[str, np.ndarray]:
    """Make a note, and give up one that later ones stand for; those before this one are safe."""
    if old >= 0:
        folder.drop(stage, old)
    return note()


class _Progress:
    """Has what was written of a table on the disk, and sums it up.

    Args:
        path: The file.
        size: Bytes that are summed up already.
        check: Their CRC-32.
    """

    def __init__(self, path: Path, size: int, check: int) -> None:
        self._path, self.size, self.check = path, size, check

    def note(self, state: bytes, rows: int, size: int) -> dict[str, np.ndarray]:
        """Return what is needed to go on from here; called in the order of the file."""
        with self._path.open("rb+") as file:
            os.fsync(file.fileno())
        self.check = file_checksum(self._path, self.size, size, self.check)
        self.size = size
        return {
            "state": np.frombuffer(state, dtype=np.uint8),
            "progress": np.array([rows, size, self.check], dtype=np.int64),
        }


def _move(
    out: Path, files: dict[str, Path], moved: list[Path], names: Iterable[str] | None = None
) -> None:
    """Rename the files to where they belong; note those that were not there before."""
    for name, path in files.items():
        final = out / name
        if not final.exists():
            moved.append(final)
        path.replace(final)
    # A clean corpus in another format is from an earlier run, and so is an audit, unless all had
    # been renamed before.
    stale = set(_names(OUTPUT_FORMATS)) - set(files if names is None else names)
    for name in stale if files else stale - {AUDIT}:
        (out / name).unlink(missing_ok=True)


def _hidden(name: str) -> str:
    return f".{name}.partial"


def _names(formats: Iterable[str]) -> list[str]:
    """The names that files of a run may have."""
    return [
        "clusters.parquet",
        "edges.parquet",
        "run.json",
        AUDIT,
        *(f"clean.{format}" for format in formats),
    ]
