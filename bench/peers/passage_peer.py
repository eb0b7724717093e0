"""What the scripts of peers of `neardup passages` share."""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterable
from pathlib import Path

_WORD = re.compile(r"\w+")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("source", type=Path, help="JSON lines with a column `text`")
    parser.add_argument("output", type=Path)
    parser.add_argument("--words", type=int, default=25)
    return parser.parse_args()


def texts_of(path: Path) -> list[str]:
    with path.open(encoding="utf-8") as lines:
        return [json.loads(line)["text"] for line in lines]


def count(text: str) -> int:
    return sum(1 for _ in _WORD.finditer(text))


def words_within(text: str, spans: Iterable[tuple[int, int]]) -> int:
    """Count the words that are in one of some spans of characters."""
    inside = bytearray(len(text) + 1)
    for start, end in spans:
        inside[start:end] = b"\1" * (end - start)
    return sum(1 for word in _WORD.finditer(text) if all(inside[word.start() : word.end()]))


def write(output: Path, copied: int) -> None:
    output.write_text(json.dumps({"copied_words": copied}))
