"""How much the experiments try."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["FULL", "PARTITION", "QUICK", "Sizes"]

#: Documents of a partition of a store by itself.
PARTITION = 10_000


@dataclass(frozen=True)
class Sizes:
    """How much is tried.

    Attributes:
        notes: Notes of a source, at most.
        few: Near-duplicates of section 9.1.
        many: Near-duplicates of section 10.
        bands: Numbers of bands of figures 1 to 3; 50 is one of them.
        rows: Numbers of rows of figures 1 to 4; 2 is one of them.
        draws: Draws of each source, on which verdicts rest.
        job_bands: Numbers of bands of figure 4.
        job_notes: Numbers of notes of figure 5, and of whole jobs in figure 8.
        job_words: Numbers of words of a note of figure 6.
        base_notes: Notes of figures 4 and 6.
        rounds: Runs of each job; in each round, the stores take turns.
        passes: Passes over the notes of figure 7; in each, the stores take turns.
        lines: Made texts in place of the lines of news of the notebook.
        adverts: Made advertisements of the blog's job.
        listed: Notes of the methods without bands.
        pairs: Pairs whose similarity is one over the entries of a signature.
        stored: Notes of a store by itself in figure 8; 0 is the empty process.
        written: Notes of a store that is filled by the writes of figure 7.
    """

    notes: int = 521
    few: int = 10
    many: int = 500
    bands: tuple[int, ...] = tuple(range(10, 101, 10))
    rows: tuple[int, ...] = (1, 2, 3, 4, 5)
    draws: int = 6
    job_bands: tuple[int, ...] = (10, 25, 50, 75, 100)
    job_notes: tuple[int, ...] = (2_500, 5_000, 10_000, 20_000)
    job_words: tuple[int, ...] = (75, 150, 300, 600)
    base_notes: int = 5_000
    rounds: int = 3
    passes: int = 5
    lines: int = 1_000
    adverts: int = 400_000
    listed: tuple[int, ...] = (1_000, 10_000, 100_000)
    pairs: int = 20_000
    stored: tuple[int, ...] = (0, 50_000, 100_000, 200_000, 400_000, 800_000)
    written: tuple[int, ...] = (0, 2_000, 4_000, 8_000)


#: For the page.
FULL = Sizes()
#: All that the page needs, of as little as possible; for tests.
QUICK = Sizes(
    notes=60,
    few=5,
    many=40,
    bands=(10, 50),
    rows=(1, 2),
    draws=2,
    job_bands=(10, 50),
    job_notes=(100, 200),
    job_words=(75, 150),
    base_notes=100,
    rounds=2,
    passes=1,
    lines=60,
    adverts=80,
    listed=(60, 120),
    pairs=20,
    stored=(0, 500, 1_000, 2_000),
    written=(0, 50, 100),
)
