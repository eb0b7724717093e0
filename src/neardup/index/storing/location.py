"""Location of an index, and whether its file system is one on which it can work."""

from __future__ import annotations

import functools
import os
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from neardup.errors import IndexMovedError, InputNotFoundError, OutputError, StoreError
from neardup.files.given_path import GivenPath
from neardup.files.private_files import system_errors
from neardup.state.output_folder import output_folder, remove_leftovers
from neardup.state.run_state import RUN_FOLDER

#: File systems of other machines, on which SQLite's log and locks can't be relied on.
_REMOTE = re.compile(
    "(fuse.)?(nfs4?|cifs|smb[0-9a-z]*|afs|afpfs|ncpfs|davfs2?|webdav|sshfs|s3fs|rclone|gcsfuse|"
    "glusterfs|lustre|ceph|beegfs|gpfs|9p|virtiofs|vboxsf|prl_fs|vmhgfs(-fuse)?|juicefs|blobfuse2?)",
    re.IGNORECASE,
)

#: The file of `CommitNote`: a note of transactions that survive a power failure, then of others.
NOTE = "committed"
_NOTED = 16  # bytes of each: the transaction, when the system started, a checksum


def file_system_of(path: Path) -> str:
    """Return the name of the file system that a path is on; empty where that is not known."""
    import psutil

    try:
        mounts = psutil.disk_partitions(all=True)
    except OSError:
        return ""
    real = os.path.realpath(path)
    above = [
        mount
        for mount in mounts
        if real == mount.mountpoint or real.startswith(mount.mountpoint.rstrip(os.sep) + os.sep)
    ]
    # Of several mounts at one path the last one is seen, as over an automounter.
    return max(reversed(above), key=lambda mount: len(mount.mountpoint)).fstype if above else ""


def is_writable_disk(path: Path) -> bool:
    """Return whether the file system that a path is on takes writes from anybody."""
    if not hasattr(os, "statvfs"):
        return True
    return not os.statvfs(path).f_flag & os.ST_RDONLY


@contextmanager
def index_folder(given: GivenPath) -> Iterator[Path]:
    """Give an empty folder, whose content appears as ``given`` unless there was an error.

    Raises:
        OutputError: There is something else, or it can't be written.
    """
    folder = given.path
    with given.in_messages(), system_errors(folder):
        if folder.exists() and (
            not folder.is_dir() or any(path.name != RUN_FOLDER for path in folder.iterdir())
        ):
            remove_leftovers(folder)
            raise OutputError(f"{folder} exists already", "open it, or name another folder")
    with output_folder(given, overwrite=False, writes=()) as made:
        yield made


class FolderIdentity:
    """The database of an open index and its folder, by their devices and inodes.

    SQLite and this package find other files of an index by path: where there is another folder
    now, the files of two indexes would be mixed up. While the database is open, no other file gets
    its inode.

    Args:
        database: The database.
        known: `known` of another object for the same index; empty to take that of the first call.
    """

    def __init__(self, database: Path, known: tuple[int, ...] = ()) -> None:
        self._database = database
        #: Devices and inodes; empty until they are asked for.
        self.known = known

    def require(self) -> None:
        """Refuse if it is not where it was; it may come back.

        Raises:
            IndexMovedError: It was moved, deleted or replaced.
        """
        found = self._found()
        self.known = self.known or found
        if found != self.known:
            raise IndexMovedError(
                f"{self._database.parent}: the folder of this index was moved, deleted or replaced "
                "while it was open",
                "put it back, or open the index again where it is now",
            )

    def _found(self) -> tuple[int, ...]:
        with system_errors(self._database), suppress(FileNotFoundError, NotADirectoryError):
            both = self._database.parent.stat(), self._database.stat()
            return tuple(number for each in both for number in (each.st_dev, each.st_ino))
        return ()


class CommitNote:
    """Says which transaction was committed last, and can't be lost any more.

    SQLite takes a damaged transaction, and all that follow it, for some that were not finished.

    Args:
        database: The database.
        power: Transactions survive a power failure; else the end of their process, until the system
            restarts.
    """

    def __init__(self, database: Path, power: bool) -> None:
        self._path, self._power = database.with_name(NOTE), power
        self._handle = -1

    def open(self) -> None:
        """Open the file before a commit, while it is known that its folder is the right one."""
        if self._handle < 0:
            flags = os.O_CREAT | os.O_WRONLY | getattr(os, "O_BINARY", 0)
            with suppress(OSError):  # as in `write`
                self._handle = os.open(self._path, flags, 0o600)

    def write(self, generation: int) -> None:
        """Write down a transaction."""
        if self._handle < 0:
            return
        data = generation.to_bytes(8, "little") + (bytes(4) if self._power else _this_boot())
        with suppress(OSError):  # it is committed without the note too
            os.lseek(self._handle, 0 if self._power else _NOTED, os.SEEK_SET)
            os.write(self._handle, data + zlib.crc32(data).to_bytes(4, "little"))

    def close(self) -> None:
        """Let go of the file."""
        handle, self._handle = self._handle, -1
        if handle >= 0:
            os.close(handle)

    __del__ = close


def noted_commit(database: Path) -> int:
    """Return the generation that was noted last; 0 without a note.

    Raises:
        StoreError: The note is damaged.
    """
    note = database.with_name(NOTE)
    try:
        data = note.read_bytes()
    except FileNotFoundError:
        return 0
    last = 0
    for entry in (data[:_NOTED], data[_NOTED:]):
        if not any(entry):  # only one of the two kinds was committed
            continue
        if len(entry) != _NOTED or zlib.crc32(entry[:12]) != int.from_bytes(entry[12:], "little"):
            raise StoreError(f"{note} is damaged", "delete it if nothing else is damaged")
        if entry[8:12] in (bytes(4), _this_boot()):
            last = max(last, int.from_bytes(entry[:8], "little"))
    return last


@functools.cache
def _this_boot() -> bytes:
    """Return four bytes that change when the system restarts."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_bytes()
    except OSError:
        import psutil

        boot = str(int(psutil.boot_time())).encode()
    return zlib.crc32(boot).to_bytes(4, "little")


def require_index(database: Path, what: str, hint: str) -> None:
    """Refuse a folder without an index, or with one whose database is gone.

    Raises:
        InputNotFoundError: There is no ``what``; the hint is the one given.
        StoreError: There are other files of one.
    """
    if database.is_file():
        return
    folder = database.parent
    if database.with_name(NOTE).is_file():
        raise StoreError(
            f"{database} is missing, and {folder} has other files of an index",
            "restore the index from a copy, or make it again",
        )
    raise InputNotFoundError(f"{folder}: there is no {what}", hint)


def require_local(path: Path) -> None:
    """Refuse a network file system.

    Raises:
        StoreError: The message names it.
    """
    kind = file_system_of(path)
    if _REMOTE.fullmatch(kind):
        raise StoreError(
            f"{path} is on a network file system ({kind}), where several processes can't share an "
            "index safely",
            "put the index on a local disk",
        )
