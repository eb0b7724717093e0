"""The run whose clean corpus passages are looked for in: both steps in one report."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

from neardup.copied_passages.finding import Inputs
from neardup.errors import InputError
from neardup.files.given_path import GivenPath
from neardup.io.remote import Url
from neardup.output.clean import CLEAN
from neardup.result_record import RECORD, read_record
from neardup.result_record.decoding import require_members

#: Commands that leave near-duplicates out.
_COMMANDS = ("dedup", "recluster", "dedup --against")


def step_before(inputs: Inputs) -> dict[str, Any] | None:
    """Return the run that has written the corpus, and how many documents it has left out.

    None where the corpus is not the complete clean corpus, in a local folder, of such a run.
    """
    folders = {_folder_of(path) for path in inputs.new.given}
    if len(folders) != 1 or (folder := folders.pop()) is None:
        return None
    record = None
    with suppress(InputError):  # damaged: passages are found without it
        if (found := read_record(folder)) is not None:
            require_members(found, RECORD)
            record = found
    if record is None or record["command"] not in _COMMANDS:
        return None
    counts = record["counts"]
    if counts["kept"] != inputs.new.documents + sum(
        inputs.new.skipped[:2]
    ):  # a part of it, or changed
        return None
    about = {"folder": str(folder), "command": record["command"], "date": record["date"]}
    return {**about, **{name: counts[name] for name in ("documents", "removed", "kept")}}


def _folder_of(given: Url | GivenPath) -> Path | None:
    """Return the folder of a run that a clean corpus, or a file of one, belongs to."""
    if isinstance(given, Url):
        return None
    path = given.path
    return next((part.parent for part in (path, *path.parents[:1]) if part.name == CLEAN), None)
