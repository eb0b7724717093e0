"""The finished work of a run, from which it is resumed after it was killed."""

import json
import re
import shutil
import sqlite3
import uuid
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, nullcontext, suppress
from pathlib import Path
from typing import Self, cast

from neardup.errors import NeardupError, OutputError, ResumeError
from neardup.files.private_files import replacing, sync_folder, system_errors
from neardup.state.blob_table import Blob, BlobTable
from neardup.state.database import Database, FileKind, lock_file, refuse_links, refuse_locked
from neardup.state.sqlite_store import RunStore
from neardup.values.json_values import JSON

#: Name of the run folder in the output folder.
RUN_FOLDER = ".run"

_KIND = FileKind(
    application=0x4E445253,  # "NDRS"
    version=2,
    unwritable=OutputError,
    unusable=ResumeError,
    again="start again with overwrite=True",
)
_FILE, _LOCK, _OWNER, _SCRATCH = "run.sqlite", "lock", "owner", ".scratch"
_MANIFEST = ("", 0)  # among the steps
_TRIES = 100  # to make a folder that others remove


class RunState(AbstractContextManager["RunState"]):
    """Manifest, results of steps, and lock of one run, in one file of the run folder.

    A step is named by a stage and a number. Its result is stored with `put` and read with `get`;
    from then on it survives whatever happens to process and machine.

    Make one with `create` or `open`. It is a context manager that lets go of the folder.
    """

    def __init__(self, folder: Path, made: Sequence[Path] = ()) -> None:
        self.folder = folder
        self._made = made  # folders made for it, outermost first
        self._lock = lock_file(folder / _LOCK)
        self._database = Database(folder / _FILE, _KIND)
        self._steps = BlobTable(self._database, "steps")
        self._index: dict[tuple[str, int], JSON] = {}

    # The folder.

    @classmethod
    def create(cls, folder: Path, *, overwrite: bool = False, resumable: bool = True) -> Self:
        """Begin a run in a folder, which may be missing, or replace the run in it.

        One that is not ``resumable`` has a lock and scratch folders only.
        """
        for _ in range(_TRIES):
            try:
                return cls._create(folder, overwrite, resumable)
            except OutputError as error:
                # A run that ends at this moment removes the folder; others make it.
                if not isinstance(error.__cause__, (FileNotFoundError, FileExistsError)):
                    raise
        return cls._create(folder, overwrite, resumable)

    @classmethod
    def _create(cls, folder: Path, overwrite: bool, resumable: bool) -> Self:
        refuse_links(folder, folder / _FILE)
        with ExitStack() as undo:
            with system_errors(folder):
                missing = [p for p in (folder, *folder.parents) if not p.exists()]
                for path in reversed(missing):
                    undo.callback(_remove_empty, path)
                    private = path in (folder, folder.parent)
                    # Another process may make it at the same time.
                    path.mkdir(mode=0o700 if private else 0o777, exist_ok=True)
                    sync_folder(path.parent)
                names = {path.name for path in folder.iterdir()}
            if names and not names & {_LOCK, _FILE}:
                raise OutputError(
                    f"{folder} is not a run folder of neardup",
                    "move it away, or name another output",
                )
            state = cls(folder, missing[::-1])
            undo.push(state)
            try:
                if cls.exists(folder) and not overwrite:
                    raise OutputError(
                        f"{folder} has an interrupted run",
                        "continue it with resume=True, or start again with overwrite=True",
                    )
                state._remove_files()
                if resumable:
                    state._database.create(state._fill)
                    state._load()
            except BaseException:
                if missing:
                    with suppress(NeardupError):  # the first error counts
                        state.remove()
                raise
            undo.pop_all()
        return state

    @classmethod
    def open(cls, folder: Path) -> Self:
        """Continue the run in a folder; ResumeError where none is, or a damaged one."""
        refuse_links(folder, folder / _FILE)
        if not cls.exists(folder):
            raise ResumeError(f"{folder} has no run", "start without resume=True")
        with ExitStack() as undo:
            state = cls(folder)
            undo.push(state)
            if state._database.version() == 0:
                raise state._database.damaged("the file")
            state._database.check()
            state._load()
            undo.pop_all()
        return state

    @staticmethod
    def exists(folder: Path) -> bool:
        path = folder / _FILE
        with suppress(OSError):
            if path.with_name(path.name + "-journal").exists():
                # Killed while the file was made: SQLite takes half a transaction back.
                with suppress(NeardupError), closing(Database(path, _KIND, patience=1.0)) as half:
                    half.version()
            return path.stat().st_size > 0
        return False

    @staticmethod
    def refuse_used(folder: Path) -> None:
        """Raise ResumeError where another process, or thread, is at work in a run folder."""
        refuse_links(folder)
        refuse_locked(folder / _LOCK)

    def remove(self) -> None:
        """Remove all that belongs to the run, and the folders that were made for it, if empty."""
        self._database.close()
        with closing(self._lock), system_errors(self.folder):
            self._remove_files()
            (self.folder / _OWNER).unlink(missing_ok=True)
            try:
                (self.folder / _LOCK).unlink(missing_ok=True)
            except PermissionError:  # of Windows, while the file is open
                self._lock.close()
                (self.folder / _LOCK).unlink(missing_ok=True)
        for path in dict.fromkeys((self.folder, *reversed(self._made))):
            _remove_empty(path)

    def close(self) -> None:
        with closing(self._lock):
            self._database.close()

    def __exit__(self, kind: object, *error: object) -> None:
        with nullcontext() if kind is None else suppress(Exception):  # the first error counts
            self.close()

    def size(self) -> int:
        return sum(path.lstat().st_size for path in self.folder.rglob("*"))

    def _remove_files(self) -> None:
        self._database.remove()
        for pattern in ("*" + _SCRATCH, ".neardup-*.partial"):
            for path in self.folder.glob(pattern):
                remove_path(path)

    # The manifest.

    @property
    def manifest(self) -> dict[str, JSON]:
        """The identity of the run; empty until it is set. Setting it replaces all of it."""
        return dict(cast("dict[str, JSON]", self._index[_MANIFEST]))

    @manifest.setter
    def manifest(self, values: Mapping[str, JSON]) -> None:
        self._put(_MANIFEST, b"", values)

    def _fill(self, connection: sqlite3.Connection) -> None:
        self._steps.create(connection)
        self._steps.put(connection, _MANIFEST, about={})

    def _load(self) -> None:
        self._index = self._steps.index()
        if _MANIFEST not in self._index:
            raise self._database.damaged("the manifest")

    # Steps.

    def put(self, stage: str, number: int, data: Blob = b"", about: JSON = None) -> None:
        """Store the result of a step, replacing an earlier one, and note the step as done.

        ``about`` is a JSON value, for `about`. OutputError is raised where it can't be stored.
        """
        if not stage or number < 0:
            raise ValueError(f"step is {stage!r} {number}; expected a name, and 0 or more")
        self._put((stage, number), data, about)

    def _put(self, step: tuple[str, int], data: Blob, about: JSON) -> None:
        about = json.loads(json.dumps(about))
        with self._database.transaction() as connection:
            self._steps.put(connection, step, data, about)
        self._index[step] = about

    def get(self, stage: str, number: int) -> memoryview:
        """Return the bytes that a step stored, read-only; ResumeError where they are not intact."""
        found = self._steps.get(stage, number)
        if found is None:
            raise ResumeError(f"{self._database.path}: {stage} {number} is missing", _KIND.again)
        return found

    def about(self, stage: str, number: int) -> JSON:
        """Return the JSON value that was stored with a step; KeyError where it is not done."""
        return self._index[stage, number]

    def done(self, stage: str) -> set[int]:
        return {number for name, number in list(self._index) if name == stage}

    # Other files of a run.

    def scratch_folder(self, name: str) -> Path:
        """Return a folder, made if missing, that is as private as the run's, and goes with it.

        Its content is neither durable nor checked: store a checksum with `put`, and compare when
        the run is resumed.
        """
        if not re.fullmatch(r"[a-z0-9_-]+", name):
            raise ValueError(f"name is {name!r}; expected small letters, digits, '-' and '_'")
        path = self.folder / (name + _SCRATCH)
        refuse_links(path)
        with system_errors(path):
            path.mkdir(mode=0o700, exist_ok=True)
        return path

    def owner(self) -> str:
        """Return the name of this folder in a shared store, which no other folder of its path has.

        It stays if the run is replaced: then its remains in the store can be removed.
        """
        path = self.folder / _OWNER
        refuse_links(path)
        with system_errors(path):
            if not path.exists():
                with replacing(path) as file:
                    file.write(uuid.uuid4().hex.encode())
            return path.read_text(encoding="ascii")

    def band_store(self) -> RunStore:
        """Return the store of band keys in the file of the run, neither created nor opened yet."""
        return RunStore(self._database)


def remove_path(path: Path) -> None:
    """Remove a file, a folder with all that is in it, or a link; or nothing, if it is missing."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _remove_empty(folder: Path) -> None:
    """Remove a folder, unless somebody put something in."""
    with suppress(OSError):
        folder.rmdir()
