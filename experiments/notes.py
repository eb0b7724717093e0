"""Notes to experiment on: synthetic ones, real ones where they are there, and near-duplicates.

All is drawn with `random.Random`, whose numbers are the same on every version of Python, so that
the counts of the experiments are the same at each run. No text leaves this module but as a list.
"""

from __future__ import annotations

import bisect
import itertools
import os
import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from experiments import paper
from neardup.synth.synthetic_words import make_words

__all__ = ["DATA", "FREE", "Source", "changed", "near_duplicates", "sources", "synthetic_notes"]

#: Where real notes are looked for.
DATA = Path(os.environ.get("NEARDUP_DATA") or Path(__file__).parents[2] / "shared" / "data")
#: Names and titles of the real ones.
REAL = {"mtsamples": "MTSamples", "aci_bench": "ACI-BENCH"}

#: Printouts of machines: size of each family. Members differ in a few words.
_PRINTOUTS = (68, 36, 18, 10, 6, 4, 3, 3, 2, 2)
#: Notes of a patient, each copied from that of the day before and edited: length of each chain.
_CHAINS = (12, 9, 7, 6, 5, 4, 4, 3, 3, 2, 2)
#: Forms that people fill in: size of each family. Members differ in many places.
_FORMS = (9, 7, 6, 5, 4, 4, 3, 3, 2, 2)
#: Share of the synthetic notes that is free text.
FREE = 1 - sum(map(sum, (_PRINTOUTS, _CHAINS, _FORMS))) / paper.NOTES
_VOCABULARY = 20_000


@dataclass(frozen=True)
class Source:
    """Notes with a name.

    Attributes:
        name: In names of files.
        title: In charts and tables.
        notes: The texts.
    """

    name: str
    title: str
    notes: list[str]


class _Words:
    """Words of a vocabulary in which the frequency of a word falls as 1/rank."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._words = make_words(_VOCABULARY)
        self._sums = list(itertools.accumulate(1 / rank for rank in range(1, _VOCABULARY + 1)))

    def draw(self, count: int) -> list[str]:
        draws = (self._rng.random() * self._sums[-1] for _ in range(count))
        return [self._words[bisect.bisect_left(self._sums, draw)] for draw in draws]


def synthetic_notes(seed: int = 1) -> list[str]:
    """Return 521 notes that overlap as those of a hospital do.

    About half are free text of 50 to 800 words, some of them with a paragraph that their
    department puts into every note. The others come in families: printouts of machines, of which
    two differ in a few words, forms, of which two differ in many places, and chains, in which each
    note is the one before with a few words changed. Sizes and looseness of the families are set so
    that, with 500 near-duplicates, about as many pairs become candidates as in the paper, 6,388.

    Args:
        seed: Another seed gives other notes.
    """
    rng = random.Random(seed)
    words = _Words(rng)
    notes = []
    for size in _PRINTOUTS:
        blank = words.draw(rng.randint(200, 320))
        for _ in range(size):
            notes.append(_filled(blank, min(6, int(rng.expovariate(1.1))), words, rng))
    for size in _FORMS:
        blank = words.draw(rng.randint(150, 300))
        for _ in range(size):
            notes.append(_filled(blank, rng.randint(2, 14), words, rng))
    for length in _CHAINS:
        note = " ".join(words.draw(rng.randint(200, 400)))
        for _ in range(length):
            notes.append(note)
            note = _filled(note.split(), rng.randint(1, 6), words, rng)
    paragraphs = [words.draw(rng.randint(30, 60)) for _ in range(8)]
    while len(notes) < paper.NOTES:
        length = int(rng.triangular(50, 800, 200))
        text = words.draw(length)
        if rng.random() < 0.3:
            at = rng.randrange(length)
            text[at:at] = rng.choice(paragraphs)
        notes.append(" ".join(text))
    rng.shuffle(notes)
    return notes


def _filled(blank: list[str], slots: int, words: _Words, rng: random.Random) -> str:
    """Put other words into some places of a form."""
    text = list(blank)
    for at in rng.sample(range(len(text)), slots):
        text[at : at + 1] = words.draw(1)
    return " ".join(text)


def changed(text: str, share: float, fresh: Callable[[], str], rng: random.Random) -> str:
    """Change a share of the words of a text: a third replaced, deleted, and preceded by another.

    Args:
        text: Words between white space.
        share: Of the words, rounded to whole ones.
        fresh: Gives a word to put in.
        rng: Decides on places and kinds.
    """
    words = text.split()
    for at in sorted(rng.sample(range(len(words)), round(share * len(words))), reverse=True):
        kind = rng.randrange(3)
        words[at : at + (kind != 2)] = [] if kind == 1 else [fresh()]
    return " ".join(words)


def near_duplicates(
    notes: list[str], count: int, shares: tuple[float, float], seed: int
) -> list[str]:
    """Return near-duplicates, each of a note drawn at random.

    Args:
        notes: What they are derived from; words that are put in come from there too.
        count: How many.
        shares: Lowest and highest share of the words that is changed, uniform between them.
        seed: Another seed gives other near-duplicates.
    """
    rng = random.Random(seed)
    pool = [word for note in notes for word in note.split()]
    found = []
    for _ in range(count):
        note = notes[rng.randrange(len(notes))]
        found.append(changed(note, rng.uniform(*shares), lambda: rng.choice(pool), rng))
    return found


def sources(notes: int = paper.NOTES, seed: int = 1) -> list[Source]:
    """Return one draw of the synthetic notes, and of real ones where they are there.

    Args:
        notes: How many of each, at most.
        seed: Another one makes other synthetic notes, and chooses others of the real ones.
    """
    import pyarrow.parquet as pq

    found = [Source("synthetic", "synthetic notes", synthetic_notes(seed)[:notes])]
    for name, title in REAL.items():
        path = DATA / name / "docs.parquet"
        if path.exists():
            column = pq.read_table(path, columns=["text"])["text"].to_pylist()
            texts = [str(text) for text in column if len(str(text).split()) >= 20]
            chosen = random.Random(seed).sample(texts, min(notes, len(texts)))
            found.append(Source(name, title, chosen))
    return found
