"""The notes that experiments are made on."""

from __future__ import annotations

import hashlib
import random

import pytest

from experiments.notes import DATA, REAL, changed, near_duplicates, sources, synthetic_notes
from experiments.paper import NOTES


class Kind(random.Random):
    """Draws the kind of each change that it is given."""

    def __init__(self, kind: int) -> None:
        super().__init__(1)
        self._kind = kind

    def randrange(self, *args: int) -> int:
        return self._kind


WORDS = [f"w{i}" for i in range(200)]


def put_in(kind: int, share: float) -> list[str]:
    return changed(" ".join(WORDS), share, lambda: "new", Kind(kind)).split()


@pytest.mark.parametrize("share", [0.0, 0.1, 0.123, 1.0])
def test_words_are_replaced_deleted_or_preceded(share: float) -> None:
    count = round(share * len(WORDS))
    replaced, deleted, preceded = (put_in(kind, share) for kind in range(3))
    assert replaced.count("new") == count
    assert all(a == b or a == "new" for a, b in zip(replaced, WORDS, strict=True))
    assert len(deleted) == len(WORDS) - count and set(deleted) <= set(WORDS)
    assert preceded.count("new") == count
    assert [word for word in preceded if word != "new"] == WORDS


def test_all_kinds_of_changes_come() -> None:
    text = changed(" ".join(WORDS), 0.5, lambda: "new", random.Random(1)).split()
    kept = [word for word in text if word != "new"]
    touched = 100
    assert len(WORDS) - touched < len(kept) < len(WORDS)
    assert 0 < text.count("new") < touched
    assert kept == sorted(kept, key=WORDS.index)


def test_near_duplicates_are_of_the_notes() -> None:
    notes = [" ".join(f"{name}{i}" for i in range(50)) for name in "abc"]
    assert set(near_duplicates(notes, 30, (0, 0), 1)) == set(notes)
    once = near_duplicates(notes, 30, (0.1, 0.1), 1)
    assert (
        once
        == near_duplicates(notes, 30, (0.1, 0.1), 1)
        != near_duplicates(notes, 30, (0.1, 0.1), 2)
    )
    assert all(45 <= len(text.split()) <= 55 and text not in notes for text in once)


def test_synthetic_notes_are_the_same_everywhere() -> None:
    notes = synthetic_notes()
    assert len(notes) == NOTES
    digest = hashlib.sha256("\n".join(notes).encode()).hexdigest()
    assert digest.startswith("f3f7b2a32798a80b"), digest
    assert synthetic_notes(2) != notes


def test_real_notes_where_they_are() -> None:
    found = {source.name: source.notes for source in sources()}
    assert len(found["synthetic"]) == NOTES
    there = {name for name in REAL if (DATA / name / "docs.parquet").exists()}
    assert set(found) == {"synthetic", *there}
    if not there:
        pytest.skip(f"no real texts in {DATA}")
    assert all(len(found[name]) in (414, NOTES) for name in there)
