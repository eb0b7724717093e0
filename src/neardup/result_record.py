"""The record of a result, ``run.json``: which command made a folder, and which files are its."""

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

from neardup.errors import InputError

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


#: Commands that read a folder again, by the command that made it, and the advice for all others.
_WORK: dict[str, tuple[str, str]] = {
    "dedup": ("report explain audit evaluate recluster pairs", ""),
    "recluster": ("report explain audit evaluate recluster pairs", ""),
    "dedup --against": (
        "report explain pairs",
        "the old corpus is not in it; run neardup dedup over both corpora for this",
    ),
    "decontaminate": ("report", "matches.parquet in it has a row for each match"),
    "passages": ("report explain", ""),
    "link": ("report explain evaluate recluster", ""),
    "spark": (
        "report explain evaluate",
        "for this run neardup dedup on one machine, with --order-by and the column of the ids",
    ),
}


def refusal(name: str, command: str, what: str) -> InputError:
    """Return the error for a folder of one command that was given to another one.

    Args:
        name: The folder.
        command: The command that made it.
        what: The command that does not work on it, such as ``audit``.
    """
    works, advice = _WORK.get(command, ("", ""))
    hint = f"use neardup {', '.join(works.split())}" if works else ""
    hint = f"{hint} or neardup.open" if hint else "use neardup.open"
    return InputError(
        f"{name} was made by neardup {command}; neardup {what} does not work on it",
        "; ".join(filter(None, (hint, advice))),
    )
