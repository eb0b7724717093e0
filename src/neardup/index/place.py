"""Where an index is stored, and whether that is a place where it can work."""

from __future__ import annotations

import os
import re
from pathlib import Path

from neardup.errors import StoreError

#: File systems of other machines, on which SQLite's log and locks can't be relied on.
_REMOTE = re.compile(
    "(fuse.)?(nfs4?|cifs|smb[0-9a-z]*|afs|afpfs|ncpfs|davfs2?|webdav|sshfs|s3fs|rclone|gcsfuse|"
    "glusterfs|lustre|ceph|beegfs|gpfs|9p|virtiofs|vboxsf|prl_fs|vmhgfs(-fuse)?|juicefs|blobfuse2?)",
    re.IGNORECASE,
)


def file_system_of(path: Path) -> str:
    """Return the name of the file system that a path is on; empty where that is not known."""
    import psutil

    try:
        mounts = psutil.disk_partitions(all=True)
    except OSError:
        return ""
    place = os.path.realpath(path)
    inside = [
        mount
        for mount in mounts
        if place == mount.mountpoint or place.startswith(mount.mountpoint.rstrip(os.sep) + os.sep)
    ]
    # Of several mounts at one place the last one is seen, as over an automounter.
    return max(reversed(inside), key=lambda mount: len(mount.mountpoint)).fstype if inside else ""


def is_writable_disk(path: Path) -> bool:
    """Return whether the file system that a path is on takes writes from anybody."""
    if not hasattr(os, "statvfs"):
        return True
    return not os.statvfs(path).f_flag & os.ST_RDONLY


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
