"""What the experiments found, in docs/paper: as JSON to write the page from, as CSV for others."""

from __future__ import annotations

import csv
import json
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


def store(folder: Path, name: str, found: dict[str, Any]) -> None:
    """Keep what an experiment found, an item of a list on each line."""
    text = _dumped(found, 0)
    (folder / f"{name}.json").write_text(text + "\n", encoding="utf-8")


def _dumped(value: Any, depth: int) -> str:
    pad = " " * (depth + 1)
    if isinstance(value, dict) and any(isinstance(v, dict | list) for v in value.values()):
        items = (f"{pad}{json.dumps(k)}: {_dumped(v, depth + 1)}" for k, v in value.items())
        return "{\n" + ",\n".join(items) + "\n" + " " * depth + "}"
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return "[\n" + ",\n".join(pad + json.dumps(v) for v in value) + "\n" + " " * depth + "]"
    return json.dumps(value)


def write_csv(folder: Path, name: str, lines: Sequence[dict[str, Any]]) -> None:
    """Write lines that have the same names."""
    with (folder / f"{name}.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(lines[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(lines)
