"""What the paper says of time and memory, and whether it holds here, run by run."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from experiments.sizes import PARTITION
from experiments.verdicts import Claim, Found, Verdict

__all__ = [
    "NOTES_AND_WORDS",
    "SPIKE",
    "flush_claims",
    "growth",
    "memory_claims",
    "one_round",
    "points",
    "slope",
    "spikes",
    "time_claims",
]

#: How the time of a note with a write must exceed the median of the others to be a spike.
SPIKE = 2.0
#: "Only a small percentage" slower than in memory.
_CLOSE = 1.1
_SEEN = "Where 50 keys of each band are written faster than a note is read, nothing is seen."
#: Curves of whole jobs by store.
NOTES_AND_WORDS = ("notes", "words")
_PARTS = "Design 2, SQLite, 10 parts"


def one_round(measured: Found, number: int) -> dict[str, Any]:
    """Return what was measured with the seconds of one round only."""
    curves = ("bands", *NOTES_AND_WORDS)
    lines = {
        what: [{**line, "seconds": line["seconds"][number]} for line in measured[what]]
        for what in curves
    }
    return {**measured, **lines}


def _there(measured: Found) -> list[str]:
    return [name for name, there in measured["stores"].items() if there]


def _seconds(measured: Found, what: str, store: str, value: int) -> float:
    """Return the seconds of a job, of one round."""
    lines: list[dict[str, Any]] = measured[what]
    return next(float(r["seconds"]) for r in lines if (r["store"], r[what]) == (store, value))


def growth(measured: Found, what: str) -> tuple[float, dict[str, float]]:
    """Return the ratio of the highest to the lowest value, and by store that of their times."""
    values = [line[what] for line in measured[what]]
    low, high = min(values), max(values)
    return high / low, {
        s: _seconds(measured, what, s, high) / _seconds(measured, what, s, low)
        for s in _there(measured)
    }


def _proportional(what: str) -> Callable[[Found], Verdict]:
    def judge(measured: Found) -> Verdict:
        times, ratios = growth(measured, what)
        slowest = max(ratios.values())
        return Verdict((times, slowest), slowest <= times)

    return judge


def _at_most_notes(measured: Found, one: str, two: str) -> tuple[int, float]:
    """Return the most notes, and how many times as long a store takes for them as another."""
    notes = max(line["notes"] for line in measured["notes"])
    return notes, _seconds(measured, "notes", one, notes) / _seconds(measured, "notes", two, notes)


def _faster(backend: str) -> Callable[[Found], Verdict]:
    def judge(measured: Found) -> Verdict:
        designs = (f"Design {number}, {backend}" for number in (1, 2))
        notes, times = _at_most_notes(measured, *designs)
        return Verdict((times, notes), times > 1)

    return judge


def _close(backend: str) -> Callable[[Found], Verdict]:
    def judge(measured: Found) -> Verdict:
        notes, times = _at_most_notes(measured, f"Design 2, {backend}", "in memory")
        return Verdict((times, notes), times <= _CLOSE)

    return judge


def _linear(measured: Found) -> Verdict:
    lines = measured["bands"]
    low, high = (end(line["bands"] for line in lines) for end in (min, max))
    seconds = {(line["rows"], line["bands"]): line["seconds"] for line in lines}
    ratios = [seconds[rows, high] / seconds[rows, low] for rows in {r for r, _ in seconds}]
    return Verdict((high / low, max(ratios)), min(ratios) >= high / low / 2)


def _rather_notes(measured: Found) -> Verdict:
    notes, words = (growth(measured, what)[1] for what in NOTES_AND_WORDS)
    more = sum(notes[store] > words[store] for store in notes)
    return Verdict((more, len(notes)), more == len(notes))


def time_claims(stores: Found) -> list[Claim]:
    """Return the claims of section 9.2 on the seconds of whole jobs; they take one round.

    Args:
        stores: By name, whether each was there.
    """
    claims = [
        Claim(
            f"grows_with_{what}",
            f"time grows with {what}, not faster than in proportion",
            "true of every store",
            f"{{:.0f}} times as many {what} take at most {{:.1f}} times as long",
            _proportional(what),
            "Rounds scatter where the machine does other work, see the charts, and a row for each "
            "key costs the more the larger its table is.",
        )
        for what in NOTES_AND_WORDS
    ]
    claims += [
        Claim(
            "linear",
            "time is linear in the number of bands (figure 4)",
            "it grows at least half as much as the bands do, for every number of rows",
            "{:.0f} times as many bands take at most {:.1f} times as long",
            _linear,
            "Reading and shingling take the same time for any number of bands, and hashing is "
            "compiled code.",
        ),
        Claim(
            "rather_notes",
            "time depends more on notes than on words (figure 6)",
            "the larger ratio for as many times the notes, in every store",
            "in {:.0f} of {:.0f} stores",
            _rather_notes,
            "Words are what is read and hashed, and a job in memory does little else: it depends "
            "on both alike. With a row for each key, notes decide.",
        ),
    ]
    for backend in ("SQLite", "Cassandra"):
        if stores.get(f"Design 2, {backend}"):
            claims += [
                Claim(
                    f"faster_{backend}",
                    f"Design 2 is faster than Design 1 ({backend})",
                    "less time at the most notes",
                    "{:.1f} times at {:,.0f} notes",
                    _faster(backend),
                ),
                Claim(
                    f"close_{backend}",
                    f"Design 2 is only a small percentage slower than in memory ({backend})",
                    f"at most {_CLOSE:g} times as long at the most notes",
                    "{:.2f} times as long at {:,.0f} notes",
                    _close(backend),
                    "A job in memory takes seconds here, hours in the paper, so that what a store "
                    "adds is much of it.",
                ),
            ]
    return claims


def spikes(seconds: Sequence[float], each: int) -> tuple[float, float, float, float]:
    """Return seconds of notes: shortest and longest of every so many, after the others' median.

    The last one is the longest of all.

    Args:
        seconds: Of each note.
        each: Notes of a write of Design 2.
    """
    others = [value for i, value in enumerate(seconds, start=1) if i % each]
    writes = seconds[each - 1 :: each]
    return statistics.median(others), min(writes), max(writes), max(seconds)


def flush_claims(measured: Found) -> list[Claim]:
    """Return the claims on figure 7; they take one pass: by store, what `spikes` returns."""

    def judge(store: str) -> Callable[[Found], Verdict]:
        def heights(one: Found) -> Verdict:
            others, shortest, longest, _ = one[store]
            stands_out = shortest / others > SPIKE
            return Verdict((shortest / others, longest / others), stands_out == ("2" in store))

        return heights

    def claim(store: str, says: str, test: str) -> Claim:
        heights = "at least {:.1f} times, at most {:.1f} times"
        return Claim(f"spikes_{store}", f"{says} ({store})", test, heights, judge(store), _SEEN)

    above = f"more than {SPIKE:g} times the median of the others"
    return [
        claim(store, "each write of 50 notes is a spike", f"each is {above}")
        if "Design 2" in store
        else claim(store, "a write with each note leaves no spikes", f"not every 50th is {above}")
        for store in measured["flush"]["passes"][0]
        if store != "in memory"
    ]


def points(measured: Found, store: str) -> list[tuple[int, int]]:
    """Return notes and bytes of a store by itself, where it was filled."""
    return [
        (line["notes"], line["private_bytes"])
        for line in measured["stored"]
        if line["store"] == store and line["notes"] and line["private_bytes"] is not None
    ]


def slope(measured: Found, store: str) -> float:
    """Return the bytes that a further note takes in a store by itself: the line of best fit."""
    notes, sizes = zip(*points(measured, store), strict=True)
    return float(np.polyfit(notes, sizes, 1)[0])


def memory_claims() -> list[Claim]:
    """Return the claims on figure 8; they take all that was measured."""

    def shares(measured: Found) -> Verdict:
        values = [slope(measured, store) for store in ("in memory", "Design 2, SQLite")]
        return Verdict(values, values[0] > 4 * values[1])

    def more(measured: Found) -> Verdict:
        values = [max(0, slope(measured, s)) for s in (_PARTS, "Design 1, SQLite")]
        return Verdict(values, values[0] > 2 * max(values[1], 1))

    def more_fixed(measured: Found) -> Verdict:
        notes = max(notes for notes, _ in points(measured, "Design 1, SQLite"))
        stores = ("Design 2, SQLite", "Design 1, SQLite")
        values = [dict(points(measured, store))[notes] / 1e6 for store in stores]
        return Verdict((*values, notes), values[0] > 1.1 * values[1])

    return [
        Claim(
            "share",
            "in memory each note takes its share, in a store less than a quarter of that",
            "the first slope is more than 4 times the second",
            "{:.0f} bytes a note in memory, {:.0f} by Design 2",
            shares,
        ),
        Claim(
            "more_parts",
            "Design 2 needs significantly more memory than Design 1 (9.2.1); 10 parts, as there",
            "the first slope is more than 2 times the second",
            "{:.0f} bytes a note by Design 2, {:.0f} by Design 1",
            more,
        ),
        Claim(
            "more_fixed",
            f"the same; partitions of {PARTITION:,} notes, as in the package",
            "more than 1.1 times the peak of Design 1, at the most notes that it has",
            "{:.0f} MB by Design 2, {:.0f} MB by Design 1, {:,.0f} notes",
            more_fixed,
            "A partition of fixed size takes the same memory however many there are, and both "
            "designs get it from the run in this size.",
        ),
    ]
