"""The record of a result, ``run.json``: which command made a folder, and which files are its."""

import json
from pathlib import Path
from typing import Any

from neardup.result_record.decoding import header_of, is_record

#: Its name; it is written last.
RECORD = "run.json"
#: The database of an index of documents, and of one of records, in their folders.
INDEX, RECORD_INDEX = "index.sqlite", "records.sqlite"
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
