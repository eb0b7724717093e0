"""Notes of patients in which earlier notes are copied forward, and which words were copied.

The words before and after a copied stretch, and those that replace changed ones, occur
once in the corpus. So the ground truth is exact: no copy is longer by chance.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count, islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from neardup.spec import check_integer, check_probability
from neardup.synth.demo_notes import VOCABULARY, draw
from neardup.synth.note_files import Written, write_notes

#: Words of the shortest and the longest copy, and notes of a patient that it may come from.
_SHORTEST, _LONGEST, _BACK = 5, 400, 5
_TEMPLATES, _AUTHORS, _NOTES = 5, 20, 10
_BATCH = 1000

_NAME: pa.DataType = pa.string()
_NUMBER: pa.DataType = pa.int64()
NOTES = pa.schema(dict.fromkeys(("id", "text", "patient", "date", "author"), _NAME))
TRUTH = pa.schema(
    {
        "id": _NAME,
        "first_word": _NUMBER,
        "words": _NUMBER,
        "source_id": _NAME,
        "source_first_word": _NUMBER,
        "kind": _NAME,
    }
)


@dataclass(frozen=True, slots=True)
class CopySpec:
    """The settings of the notes.

    Attributes:
        documents: Number of notes; a patient has some ten.
        seed: Another seed, another corpus.
        edits: Share of the copied words that are changed.
        templates: Share of the notes that begin with a template.
    """

    documents: int
    seed: int = 0
    edits: float = 0.02
    templates: float = 0.3

    def __post_init__(self) -> None:
        check_integer("documents", self.documents, 1, 10_000_000)
        check_integer("seed", self.seed, 0, 2**63 - 1)
        for name in ("edits", "templates"):
            check_probability(name, getattr(self, name), low_open=False, high_open=False)


@dataclass
class _Note:
    id: str
    words: list[str]


class _Writer:
    """One note that is being written: its words, and the stretches that were copied."""

    def __init__(self, id: str, once: Iterator[str]) -> None:
        self.note, self._once = _Note(id, []), once
        self.rows: list[dict[str, Any]] = []

    def add(self, words: list[str]) -> None:
        self.note.words += words

    def copy(self, source: _Note, first: int, words: int, kind: str) -> None:
        """Copy words, between two that occur nowhere else."""
        self.add([next(self._once)])
        self.rows.append(
            {
                "id": self.note.id,
                "first_word": len(self.note.words),
                "words": words,
                "source_id": source.id,
                "source_first_word": first,
                "kind": kind,
            }
        )
        self.add(source.words[first : first + words])
        self.add([next(self._once)])


def notes(spec: CopySpec) -> Iterator[tuple[dict[str, Any], list[dict[str, Any]]]]:
    """Generate each note, and the stretches that were copied into it, in the order of dates."""
    rng = np.random.default_rng((spec.seed, 2))
    once = (f"x{k}" for k in count())
    templates = [_words(rng, 30, 120) for _ in range(_TEMPLATES)]
    first: dict[int, tuple[_Note, int]] = {}  # where each template was written first
    patients = max(1, spec.documents // _NOTES)
    earlier: list[list[_Note]] = [[] for _ in range(patients)]
    day = datetime.date(2015, 1, 1)
    for number in range(spec.documents):
        of = int(rng.integers(patients))
        one = _Writer(f"note-{number:07}", once)
        if rng.random() < spec.templates:
            which = int(rng.integers(_TEMPLATES))
            if which in first:
                source, at = first[which]
                one.copy(source, at, len(templates[which]), "template")
            else:
                one.add([next(once)])
                first[which] = one.note, len(one.note.words)
                one.add(templates[which])
                one.add([next(once)])
        one.add(_words(rng, 20, 150))
        for _ in range(int(rng.integers(0, 3)) if earlier[of] else 0):
            _copy_stretches(one, earlier[of], rng, spec.edits)
            one.add(_words(rng, 5, 40))
        earlier[of] = [*earlier[of][1 - _BACK :], one.note]
        yield (
            {
                "id": one.note.id,
                "text": " ".join(one.note.words),
                "patient": f"patient-{of:06}",
                "date": (day + datetime.timedelta(number * 3000 // spec.documents)).isoformat(),
                "author": f"author-{int(rng.integers(_AUTHORS)):02}",
            },
            one.rows,
        )


def _words(rng: np.random.Generator, low: int, high: int) -> list[str]:
    """Return some words, each of which is one word to everybody."""
    drawn = draw(rng, int(rng.integers(low, high))).tolist()
    return ["".join(filter(str.isalnum, VOCABULARY[word])) for word in drawn]


def _copy_stretches(
    one: _Writer, earlier: list[_Note], rng: np.random.Generator, edits: float
) -> None:
    """Copy a stretch of a note, up to each word that is changed."""
    source = earlier[int(rng.integers(len(earlier)))]
    words = int(rng.integers(_SHORTEST, _LONGEST + 1))
    begin = int(rng.integers(max(1, len(source.words) - words)))
    end = min(begin + words, len(source.words))
    changed = (begin + np.flatnonzero(rng.random(end - begin) < edits)).tolist()
    for low, high in zip([begin, *(k + 1 for k in changed)], [*changed, end], strict=True):
        if high > low:
            one.copy(source, low, high - low, "copy")


def write(
    spec: CopySpec, output: Path, truth: Path | None = None, overwrite: bool = False
) -> Written:
    """Write notes as JSON lines or Parquet, and the copied stretches as Parquet, both by rename."""
    return write_notes(_batches(spec), (NOTES, TRUTH), output, truth, overwrite)


def _batches(spec: CopySpec) -> Iterator[tuple[list[dict[str, Any]], list[dict[str, Any]]]]:
    every = notes(spec)
    while batch := list(islice(every, _BATCH)):
        yield [note for note, _ in batch], [row for _, rows in batch for row in rows]
