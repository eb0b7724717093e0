"""The run folder: what a run has done so far, so that it can go on after it was killed.

Each step leaves a file; a step counts as done once its file is safely on the disk and the manifest,
which is replaced as a whole, says so. What is on the disk without being in the manifest is made
again.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

from neardup.corpus import write_hint
from neardup.errors import OutputError, ResumeError
from neardup.run.difference import difference
from neardup.run.saver import Saver

__all__ = ["FOLDER", "MANIFEST", "RunFolder", "disk_errors", "file_checksum"]

#: Name of the run folder in the output folder.
FOLDER = ".run"
#: Version of the layout. Another one is refused, never guessed at.
FORMAT = 1
MANIFEST = "manifest.json"
_AGAIN = "start again with --overwrite"
_BLOCK = 1 << 22


@contextmanager
def disk_errors(where: Path) -> Iterator[None]:
    """Turn errors of the system into ours.

    Raises:
        OutputError: The disk is full, or the folder can't be written to.
    """
    try:
        yield
    except OSError as error:
        if isinstance(error, OutputError):
            raise
        reason = (error.strerror or "the system refused it").lower()
        raise OutputError(f"can't write to {where}: {reason}", write_hint(error)) from error


class RunFolder:
    """Manifest, files and lock of one run; a context manager that lets go of the lock.

    Steps are named by a stage and a number. `save` and `mark` return at once; a thread of the
    folder makes things safe in their order, each while the next is worked at.

    Args:
        path: The folder. It is made if it is not there.
        resume: Read what it holds; else it is emptied, whatever it holds.

    Raises:
        OutputError: It can't be made.
        ResumeError: Another process is at work in it, or its manifest is damaged.
    """

    def __init__(self, path: Path, resume: bool) -> None:
        self.path = path
        self.manifest: dict[str, Any] = {}
        self._steps: dict[str, dict[str, Any]] = {}
        #: Folders that were made for it, outermost first.
        self.made: list[Path] = []
        with disk_errors(path):
            for folder in reversed([path, *path.absolute().parents]):
                if not folder.exists():
                    folder.mkdir()
                    self.made.append(folder)
            if any(path.iterdir()) and not (path / "lock").exists():
                raise OutputError(
                    f"{path} is not a run folder of neardup", "move it away, or name another output"
                )
            lock = path / "lock"
            # What a run left may lie where nothing can be written.
            readable = resume and lock.exists() and not os.access(lock, os.W_OK)
            self._lock = lock.open("rb" if readable else "ab")
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            self._lock.close()
            raise ResumeError(
                f"{path}: another run is at work in it", "wait for it, or name another output"
            ) from error
        self._saver = Saver(self._write)
        try:
            if resume:
                self._read()
            if not self.begun:
                self.clear()  # a copy of another pipe must not be taken for this one's
        except BaseException:
            self.close()
            raise

    # The manifest.

    @property
    def begun(self) -> bool:
        """Whether there is a run to go on with."""
        return bool(self.manifest)

    @property
    def worked(self) -> bool:
        """Whether any step is done."""
        return any(self._steps.values())

    def begin(self, manifest: dict[str, Any], steps: dict[str, Any] | None = None) -> None:
        """Start a run: from now on there is something to resume.

        Args:
            manifest: JSON values.
            steps: What was taken over from another run, see `adopt`.
        """
        self.manifest = {**manifest, "format": FORMAT}
        self._steps = {} if steps is None else steps
        with disk_errors(self.path):
            self._write()

    def adopt(self, other: RunFolder, stages: Iterable[str]) -> dict[str, Any]:
        """Take over the store of another run, and what it did, before this one is begun.

        Args:
            other: The folder of that run.
            stages: Those to take over, as far as their files are still there.

        Returns:
            The steps of these stages, for `begin`.
        """
        steps = {}
        with disk_errors(self.path):
            if (other.path / "store").is_dir():
                _take(other.path / "store", self.path / "store", shutil.copyfile)
            for stage in stages:
                done = other._steps.get(stage, {})
                files = any("checksum" in about for about in done.values())
                if not done or (files and not (other.path / stage).is_dir()):
                    continue
                if files:  # those of steps never change, so that the two runs can share them
                    _take(other.path / stage, self.path / stage, _link_or_copy)
                steps[stage] = dict(done)
        return steps

    def compare(self, now: dict[str, Any]) -> None:
        """Make sure that the run to go on with is the one that is asked for.

        Args:
            now: What the manifest must say; other things in it are not looked at.

        Raises:
            ResumeError: Something differs; the message names it.
        """
        found = difference(json.loads(json.dumps(now)), self.manifest)
        if found:
            raise ResumeError(
                f"{self.path.parent}: can't resume, {found}",
                f"give the same input and settings as before, or {_AGAIN}",
            )

    def _read(self) -> None:
        path = self.path / MANIFEST
        with suppress(OSError):
            (self.path / (MANIFEST + ".partial")).unlink()
        if not path.exists():
            return
        try:
            line, _, body = path.read_bytes().partition(b"\n")
            if line != _seal(body):
                raise ValueError("checksum")
            held = json.loads(body)
            manifest, steps = dict(held["manifest"]), dict(held["steps"])
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ResumeError(f"{path}: damaged, or not a manifest of neardup", _AGAIN) from error
        if manifest.get("format") != FORMAT:
            raise ResumeError(
                f"{path}: made by another version of neardup (format {manifest.get('format')}, "
                f"this one has {FORMAT})",
                f"go on with that version, or {_AGAIN}",
            )
        self.manifest, self._steps = manifest, steps

    def _write(self) -> None:
        # The thread of the folder may write while steps are added.
        steps = {stage: dict(items) for stage, items in list(self._steps.items())}
        body = json.dumps({"manifest": self.manifest, "steps": steps}, indent=1).encode()
        partial = self.path / (MANIFEST + ".partial")
        with partial.open("wb") as file:
            file.write(_seal(body) + b"\n" + body)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(self.path / MANIFEST)
        _sync_folder(self.path)

    # Steps.

    def done(self, stage: str, item: int = 0) -> bool:
        """Whether a step is done."""
        return str(item) in self._steps.get(stage, {})

    def count(self, stage: str) -> int:
        """How many steps of a stage are done."""
        return len(self._steps.get(stage, {}))

    def mark(
        self, stage: str, item: int = 0, safe: Callable[[], None] | None = None, **about: Any
    ) -> None:
        """Note a step as done.

        Args:
            stage, item: The step.
            safe: Called first, in the thread of the folder: has what the step made put on the disk.
            about: JSON values to find again with `about`.

        Raises:
            OutputError: An earlier step could not be made safe.
        """
        self._add(stage, item, (lambda: about) if safe is None else (lambda: safe() or about))

    def _add(self, stage: str, item: int, make: Callable[[], dict[str, Any]]) -> None:
        def work() -> None:
            about = make()
            self._steps.setdefault(stage, {})[str(item)] = about

        with disk_errors(self.path):
            self._saver.put(work)

    def about(self, stage: str, item: int = 0) -> dict[str, Any]:
        """Return what was noted with a step."""
        return dict(self._steps[stage][str(item)])

    def save(
        self, stage: str, item: int, arrays: Callable[[], dict[str, np.ndarray]], **about: Any
    ) -> None:
        """Keep what a step made, and note it as done.

        Args:
            stage, item: The step.
            arrays: Called in the thread of the folder; they must not change afterwards.
            about: As for `mark`.

        Raises:
            OutputError: An earlier step could not be made safe.
        """

        def make() -> dict[str, Any]:
            path = self._file(stage, item)
            path.parent.mkdir(exist_ok=True)
            partial = path.with_suffix(".partial")
            with partial.open("wb") as file:
                np.savez(file, allow_pickle=False, **arrays())
                file.flush()
                os.fsync(file.fileno())
            size, check = partial.stat().st_size, file_checksum(partial)
            partial.replace(path)
            _sync_folder(path.parent)
            return {**about, "bytes": size, "checksum": check}

        self._add(stage, item, make)

    def load(self, stage: str, item: int = 0) -> dict[str, np.ndarray]:
        """Return what a step made.

        Raises:
            ResumeError: The file is missing, or is not what was written.
        """
        path, about = self._file(stage, item), self._steps[stage][str(item)]
        try:
            size = path.stat().st_size
            if size == about["bytes"] and file_checksum(path) == about["checksum"]:
                with np.load(path, allow_pickle=False) as arrays:
                    return dict(arrays)
        except OSError as error:
            raise ResumeError(f"{path}: missing or not readable", _AGAIN) from error
        raise ResumeError(f"{path}: damaged, or from another run", _AGAIN)

    def drop(self, stage: str, item: int) -> None:
        """Remove the file of a step, which stays done."""
        self._file(stage, item).unlink(missing_ok=True)

    def discard(self, stage: str) -> None:
        """Remove the files of a stage that is no longer needed; its steps stay done."""
        self.settle()
        with suppress(OSError):
            shutil.rmtree(self.path / stage)

    def settle(self) -> None:
        """Wait until all steps so far are safe.

        Raises:
            OutputError: One could not be made safe.
        """
        with disk_errors(self.path):
            self._saver.wait()

    def size(self) -> int:
        """Return how many bytes its files take on the disk."""
        found = 0
        for path in self.path.rglob("*"):
            with suppress(OSError):  # it may be renamed meanwhile
                found += path.lstat().st_blocks * 512
        return found

    def _file(self, stage: str, item: int) -> Path:
        return self.path / stage / f"{item:06}.npz"

    # The end.

    def clear(self) -> None:
        """Remove everything that is in the folder, but for the lock; forget all steps."""
        self.settle()
        with disk_errors(self.path):
            # The manifest first: half of a run must not look like a whole one.
            (self.path / MANIFEST).unlink(missing_ok=True)
            for path in self.path.iterdir():
                if path.name == "lock":
                    continue
                if path.is_dir() and not path.is_symlink():
                    shutil.rmtree(path)
                else:
                    path.unlink()
        self.manifest, self._steps = {}, {}

    def remove(self) -> None:
        """Remove the folder, and those that were made for it and are empty."""
        with suppress(OutputError):
            self.clear()
        self.close()
        with suppress(OSError):
            shutil.rmtree(self.path)
            for folder in reversed([f for f in self.made if f != self.path]):
                folder.rmdir()  # refuses, as it should, where somebody put something in

    def close(self) -> None:
        """Let go of the folder as it is; what could not be made safe any more is not done."""
        self._saver.stop()
        self._lock.close()

    def __enter__(self) -> RunFolder:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def _take(source: Path, target: Path, copy: Callable[[Path, Path], Any]) -> None:
    """Copy the files of a folder into another one, without its rights."""
    target.mkdir(exist_ok=True)
    for path in source.iterdir():
        if path.is_dir():
            _take(path, target / path.name, copy)
        else:
            copy(path, target / path.name)


def _link_or_copy(source: Path, target: Path) -> None:
    try:
        if os.access(source, os.W_OK):
            os.link(source, target)
            return
    except OSError:
        pass  # another disk, or one without links
    shutil.copyfile(source, target)


def _seal(body: bytes) -> bytes:
    return b"neardup manifest %08x" % zlib.crc32(body)


def file_checksum(path: Path, low: int = 0, high: int | None = None, check: int = 0) -> int:
    """Return the CRC-32 of a part of a file, that goes on from ``check``."""
    with path.open("rb") as file:
        file.seek(low)
        left = (path.stat().st_size if high is None else high) - low
        while left > 0 and (block := file.read(min(_BLOCK, left))):
            check = zlib.crc32(block, check)
            left -= len(block)
    return check


def _sync_folder(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
