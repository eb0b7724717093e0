"""Patterns and passages to ignore; the passages may be in a file."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import Any

from neardup.corpora.corpus import InputCorpus
from neardup.errors import InputError, hint_instead
from neardup.options.option_groups import Reading

_EXPECTED = "stop passages are plain text, .txt, or have the column text in a table, in UTF-8"
_BETWEEN = re.compile(r"\n[^\S\n]*\n\s*")


def ignored(
    ignore: str | Sequence[str], passages: str | os.PathLike[str] | Sequence[str] | None
) -> dict[str, tuple[str, ...]]:
    """Return those of these settings that were given, as `neardup.ShingleSpec` has them."""
    patterns = (ignore,) if isinstance(ignore, str) else tuple(ignore)
    found = {"ignore": patterns, "stop_passages": stop_passages(passages or ())}
    return {name: value for name, value in found.items() if value}


def stop_passages(given: str | os.PathLike[str] | Sequence[str]) -> tuple[str, ...]:
    """Return passages that are given as they are, or by the path of a file.

    In a plain text file an empty line is between two of them. A file of another format has one in
    each record, in the column ``text``.

    Raises:
        InputError: The file can't be used, or has none.
    """
    if not isinstance(given, str | os.PathLike):
        return tuple(given)
    found: list[str] = []
    with hint_instead(_EXPECTED):
        corpus = InputCorpus.open(given, Reading())
        for _, partition in corpus.reader.partitions():
            texts: list[Any] = corpus.read(partition).text.to_pylist()
            for text in texts:
                many = _BETWEEN.split(text) if corpus.source.format == "text" else [text]
                found += (passage.strip() for passage in many if passage.strip())
    if not found:
        raise InputError(
            f"{given}: there are no stop passages",
            "in plain text, an empty line is between two passages",
        )
    return tuple(found)
