"""One way to open what any command wrote."""

from __future__ import annotations

import os
from typing import Any

from neardup.errors import SpecError
from neardup.files.given_path import GivenPath
from neardup.frame.run import class_of
from neardup.frame.storage import PartsStorage, opened
from neardup.io.remote import Url, located
from neardup.options.arguments import expanded
from neardup.result_record import INDEX, RECORD_INDEX


@expanded
def open(folder: str | os.PathLike[str], *, source: object = None) -> Any:
    """Open the output folder of a command, or an index.

    Args:
        folder: The one given to the command with ``-o``, or to a function as ``out``; a folder or
            a URL.
        source: The input of a run of `neardup.dedup`, if it can't find that itself: a frame, or
            files that are elsewhere now. It is compared with a digest of the texts, and by its ids.

    Returns:
        The `neardup.Run` of the command that made the folder: `neardup.DedupRun` (``dedup``,
        ``recluster``), `neardup.AgainstRun`, `neardup.PassagesRun`, `neardup.DecontaminateRun` or
        `neardup.LinkRun`; a `neardup.Index` or `neardup.RecordIndex` that is only read, where it is
        one.

    Raises:
        InputNotFoundError: There is no finished run in it.
        InputError: It was made by another version, or is damaged; or ``source`` is another input.
        SpecError: ``source`` is given for something else.
    """
    target = located(folder)
    found = _index(target)
    if found is None:
        storage = opened(target)
        found = class_of(storage.record["command"])(storage)
    if source is not None:
        of_dedup = getattr(found, "command", "index") in ("dedup", "recluster")
        if not of_dedup or isinstance(found._storage, PartsStorage):
            raise SpecError(
                f"`source` is for runs of neardup dedup, and {folder} is none", "leave it out"
            )
        found._results.give(source)
    return found


def _index(target: Url | GivenPath) -> Any:
    """Return an index in a local folder; None where there is none."""
    if isinstance(target, Url):
        return None
    if (target.path / INDEX).is_file():
        from neardup.api.indexes.indexing import Index

        return Index.open(target, readonly=True)
    if (target.path / RECORD_INDEX).is_file():
        from neardup.api.indexes.record_index import RecordIndex

        return RecordIndex.open(target, readonly=True)
    return None
