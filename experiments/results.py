"""What the experiments found, in docs/paper: as JSON to write the page from, as CSV for others."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

__all__ = ["load", "store", "write_csv"]


def load(folder: Path, name: str) -> dict[str, Any] | None:
    """Return what an experiment found last, or None."""
    path = folder / f"{name}.json"
    if not path.exists():
        return None
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def store(folder: Path, name: str, found: dict[str, Any] | None) -> None:
    """Keep what an experiment found, innermost lists and objects on one line; nothing for None."""
    path = folder / f"{name}.json"
    if found is None:
        path.unlink(missing_ok=True)
        return
    text = json.dumps(found, indent=1)
    text = re.sub(r"[\[{][^][{}]*[\]}]", lambda inner: " ".join(inner[0].split()), text)
    path.write_text(text + "\n", encoding="utf-8")


def write_csv(folder: Path, name: str, lines: Sequence[dict[str, Any]]) -> None:
    """Write lines that have the same names."""
    with (folder / f"{name}.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(lines[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(lines)
