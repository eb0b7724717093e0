"""The record of a result, ``run.json``: which command made a folder, and which files are its."""

import json
from pathlib import Path
from typing import Any

from neardup.errors import InputError
from neardup.result_record.decoding import header_of, is_record

#: Its name; it is written last.
RECORD = "run.json"
#: Written by an audit, next to the result.
AUDIT = "audit.json"


def read_record(folder: Path) -> dict[str, Any] | None:
    """Return the record of a result of neardup; None where there is none.

    Its command and files are known to be there; `require_members` looks at all others.

    Raises:
        InputError: It is damaged.
    """
    try:
        data = (folder / RECORD).read_bytes()
    except OSError:
        return None
    return record_of(data, str(folder / RECORD))


def record_of(data: bytes, name: str) -> dict[str, Any] | None:
    """Return the record in a file that may be one of another program; see `read_record`."""
    try:
        if not is_record(json.loads(data)):
            return None
    except (ValueError, RecursionError):
        return None
    return header_of(data, name)


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
