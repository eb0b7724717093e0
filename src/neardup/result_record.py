"""The record of a result, ``run.json``: which command made a folder, and which files are its."""

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

#: Its name; it is written last.
RECORD = "run.json"
#: Written by an audit, next to the result.
AUDIT = "audit.json"


def read_record(folder: Path) -> dict[str, Any] | None:
    """Return the record of a result of neardup; None where there is none."""
    with suppress(OSError, ValueError):
        found = json.loads((folder / RECORD).read_text(encoding="utf-8"))
        if isinstance(found, dict) and "command" in found and isinstance(found.get("files"), dict):
            return found
    return None


def result_in(folder: Path) -> str | None:
    """Return the command that made a folder; None for a folder that is no result of neardup."""
    found = read_record(folder)
    return None if found is None else str(found["command"])
