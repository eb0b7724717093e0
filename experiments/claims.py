"""What the paper says, and whether it holds on our data: decided by the figures, not by hand."""

from __future__ import annotations

import math
import statistics
from typing import Any

from experiments.clustering import CANDIDATES, EDGE
from experiments.markdown import count, per_cent
from experiments.timing import PART, STEP

__all__ = [
    "SPIKE",
    "Cell",
    "accuracy_claims",
    "clustering_claims",
    "flushes",
    "growth",
    "points",
    "row_of",
    "slope",
    "time_claims",
]

#: What is said of a source or of a measurement, and whether that is what the paper says.
Cell = tuple[str, bool]

#: The suggestion to take edges in descending order, put to the test.
_SPANNING = "the maximum spanning tree tears no more pairs apart than bands in their order"
#: How the time of a step with a flush must exceed the median of the others to be a spike.
SPIKE = 2.0
_ORDERS = ("bounded", "bounded-mst")
_MAIN = "{} x {}".format(*CANDIDATES[0])


def row_of(found: dict[str, Any], method: str, edge: float = EDGE, bands: str = _MAIN) -> Any:
    """Return the line of a clustering.

    Args:
        found: Of one source.
        method: Name of the clustering.
        edge: Edge threshold.
        bands: Bands and rows.
    """
    return next(
        row
        for row in found["rows"]
        if (row["method"], row["edge_threshold"], row["bands"]) == (method, edge, bands)
    )


def accuracy_claims(found: dict[str, Any]) -> dict[str, Cell]:
    """Return the claims of section 9.1 for one source."""
    rows = [row for row in found["rows"] if (row["bands"], row["rows"]) == (50, 2)]
    missed = {row["edge_threshold"]: row["missed"] for row in rows}
    worst = max(row["false"] for row in rows)
    shown = ", ".join(f"{value} at {threshold}" for threshold, value in missed.items())
    return {
        "50 bands of 2 rows miss no pair": (shown, not any(missed.values())),
        "they give some 250 false candidates at worst": (count(worst), worst <= 250),
        "more bands miss less, more rows miss more": _ordered(found),
    }


def _ordered(found: dict[str, Any]) -> Cell:
    """Say how often further bands miss no more, and a further row no less, and whether by chance.

    Bands only add candidates. Rows draw other hashes, so that their counts scatter: an exception
    is put down to chance within three standard deviations of a count.
    """
    missed = {(r["edge_threshold"], r["rows"], r["bands"]): r["missed"] for r in found["rows"]}
    less = [
        (missed[key], more)
        for threshold, rows, bands in missed
        for key, more in (
            ((threshold, rows, bands), missed.get((threshold, rows, bands - 10))),
            ((threshold, rows - 1, bands), missed[threshold, rows, bands]),
        )
        if key in missed and more is not None
    ]
    others = [(low, high) for low, high in less if low > high]
    chance = all(low <= high + 3 * math.sqrt(low + 1) for low, high in others)
    said = f"in {len(less) - len(others)} of {len(less)} comparisons"
    if others:
        said += ", the others within chance" if chance else ", the others beyond chance"
    return said, chance


def clustering_claims(found: dict[str, Any]) -> dict[str, Cell]:
    """Return the claims of section 10, and what we set out to reach, for one source."""
    bounded = row_of(found, "bounded")
    second = row_of(found, "bounded, second round")
    louvain = row_of(found, "louvain, candidates")
    share = bounded["saved"] / bounded["candidates"]
    more = [
        f"{edge:.2f} ({pair[1]} to {pair[0]})"
        for edge in sorted({row["edge_threshold"] for row in found["rows"]})
        for pair in [[row_of(found, name, edge)["different_high"] for name in _ORDERS]]
        if pair[1] > pair[0]
    ]
    guaranteed = [r["same_low"] for r in found["rows"] if r["method"].startswith("bounded")]
    return {
        f"at {EDGE}, bounded sets save 53 % of the comparisons": (per_cent(share), share >= 0.53),
        "no two notes of a bounded set are below the tree threshold": (
            f"{max(guaranteed)} pairs at worst",
            not any(guaranteed),
        ),
        "Louvain's clusters hold such pairs": (
            f"{count(louvain['same_low'])} pairs",
            louvain["same_low"] > 0,
        ),
        "Louvain's hold more pairs between the thresholds": (
            f"{count(louvain['same_mid'])} to {count(bounded['same_mid'])}",
            louvain["same_mid"] > bounded["same_mid"],
        ),
        "bounded sets tear few pairs apart (56), Louvain none": (
            f"{bounded['different_high']} and {louvain['different_high']}",
            bounded["different_high"] < 56 and louvain["different_high"] == 0,
        ),
        "ours: a second round leaves fewer than 10 of them": (
            str(second["different_high"]),
            second["different_high"] < 10,
        ),
        _SPANNING: (f"more at {', '.join(more)}" if more else "at no threshold more", not more),
    }


def time_claims(measured: dict[str, Any]) -> dict[str, Cell]:
    """Return the claims of section 9.2."""
    claims: dict[str, Cell] = {}
    for what in ("bands", "notes", "words"):
        times, ratios = growth(measured, what)
        most = max(ratios, key=lambda store: ratios[store])
        claims[f"time grows with {what}, not faster than in proportion"] = (
            f"{times:.0f} times as many take {min(ratios.values()):.1f} to {ratios[most]:.1f} "
            f"times as long ({most})",
            ratios[most] <= times,
        )
    notes = measured["notes"][-1]["notes"]
    for backend in ("SQLite", "Cassandra"):
        if f"Design 2, {backend}" not in _stores(measured):
            continue
        one, two = (
            _at(measured["notes"], f"Design {i}, {backend}", "notes", notes) for i in (1, 2)
        )
        claims[f"Design 2 is faster than Design 1 ({backend})"] = (
            f"{one / two:.1f} times at {notes:,} notes",
            two < one,
        )
        for store in (f"Design 1, {backend}", f"Design 2, {backend}"):
            spikes, others = flushes(measured["flush"][store])
            low, high = min(spikes) / others, max(spikes) / others
            claims[f"each flush of a part is a spike ({store})"] = (
                f"steps with one take {low:.1f} to {high:.1f} times the median of the others",
                low > SPIKE,
            )
    held, stored = slope(measured, "memory"), slope(measured, "Design 2, SQLite")
    claims["in memory each note takes its share, in a store less than a quarter of it"] = (
        f"{held:.0f} bytes a note in memory, {stored:.0f} by Design 2",
        held > 4 * stored,
    )
    return claims


def growth(measured: dict[str, Any], what: str) -> tuple[float, dict[str, float]]:
    """Return how many times the least the most is, and by store how many times as long it takes."""
    lines = measured[what]
    first, last = lines[0][what], lines[-1][what]
    return last / first, {
        store: _at(lines, store, what, last) / _at(lines, store, what, first)
        for store in _stores(measured)
    }


def flushes(steps: list[float]) -> tuple[list[float], float]:
    """Return the seconds of the steps with a flush, and the median of the others."""
    each = PART // STEP
    others = [value for i, value in enumerate(steps, start=1) if i % each]
    return steps[each - 1 :: each], statistics.median(others)


def points(measured: dict[str, Any], store: str) -> list[tuple[int, int]]:
    """Return notes and bytes of a store by itself, where it was filled."""
    return [
        (line["notes"], line["anonymous_bytes"])
        for line in measured["matrix"]
        if line["store"] == store and line["notes"] and line["anonymous_bytes"] is not None
    ]


def slope(measured: dict[str, Any], store: str) -> float:
    """Return the bytes that a further note takes in a store by itself."""
    (x0, y0), *_, (x1, y1) = points(measured, store)
    return (y1 - y0) / (x1 - x0)


def _stores(measured: dict[str, Any]) -> list[str]:
    return [name for name, there in measured["stores"].items() if there]


def _at(lines: list[dict[str, Any]], store: str, what: str, value: int) -> float:
    return next(r["seconds"] for r in lines if r["store"] == store and r[what] == value)
