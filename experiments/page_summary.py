"""The beginning of the page: ten claims of the paper, a line each, and whether they hold here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from experiments import paper
from experiments.claims import ACCURACY, CLUSTERING
from experiments.claims_time import memory_claims, one_round, time_claims
from experiments.clustering import BANDS, named
from experiments.markdown import count, table
from experiments.verdicts import Claim, judged, said

__all__ = ["summary"]

Found = dict[str, Any]

_PAPER, _OURS = named(paper.BANDS), named(BANDS)
_TIME = "#time-and-memory-figures-4-to-8"
_TABLE_5 = "#table-5-pairs-excluded-from-comparison"
_TABLE_7 = "#table-7-disjoint-sets-and-louvain-at-075"
#: Claims by key, each with its words in the table and its section; clustering with the bands.
_COUNTED = (
    ("accuracy", "no_misses", "", "50 bands of 2 rows miss no pair", "#accuracy-figures-1-to-3"),
    ("accuracy", "worst", "", "at worst 250 false candidates, 50 x 2", "#accuracy-figures-1-to-3"),
    (
        "clustering",
        "excluded_documents",
        _PAPER,
        "sets spare 53 % of comparisons, 50 x 2",
        _TABLE_5,
    ),
    ("clustering", "excluded_documents", _OURS, "the same, 34 x 4", _TABLE_5),
    ("clustering", "none_low", _PAPER, "no pair of a set is below the tree threshold", _TABLE_7),
    ("clustering", "modularity", _PAPER, "Louvain has the higher modularity", _TABLE_7),
)


def summary(found: dict[str, Found | None]) -> str:
    """Return a table of ten lines; what has not been run is not in it."""
    lines = [*_counts(found), *_measures(found)]
    return table(["the paper says", "here, synthetic notes", "real notes", "so it"], lines)


def _verdict(draws: Sequence[Found]) -> str:
    good = sum(one["holds"] for one in draws)
    return {0: "**does not hold**", len(draws): "holds"}.get(
        good, f"**holds in {good} of {len(draws)}**"
    )


def _counts(found: dict[str, Found | None]) -> Iterator[list[str]]:
    for name, key, setting, words, section in _COUNTED:
        if (sources := found[name]) is None:
            continue
        claim = next(one for one in (*ACCURACY, *CLUSTERING) if one.key == key)
        synthetic, real = [], []
        for source, one in sources.items():
            draws = [draw[setting][key] for draw in one["draws"]]
            (synthetic if source == "synthetic" else real).extend(draws)
        cells = [said(claim, draws) if draws else "" for draws in (synthetic, real)]
        yield [f"[{words}]({section})", *cells, _verdict([*synthetic, *real])]


def _measures(found: dict[str, Found | None]) -> Iterator[list[str]]:
    if timed := found["time"]:
        claims = {claim.key: claim for claim in time_claims(timed["stores"])}
        rounds = [
            judged(claims.values(), one_round(timed, number))
            for number in range(timed["settings"]["rounds"])
        ]
        for key, words in (
            ("linear", "time is linear in the bands"),
            ("faster_SQLite", "Design 2 is faster than Design 1 (SQLite)"),
        ):
            yield _line(claims[key], [one[key] for one in rounds], words, _TIME)
        share = memory_claims()[0]
        words = "in memory a note takes 400 bytes, in a store less"
        yield _line(share, [judged([share], timed)[share.key]], words, "#limits-section-11")
    if (corpus := found["corpus"]) and (shape := corpus["shape"]):
        ours, there, notes = shape["runs"][_PAPER], paper.CORPUS, shape["known"]["documents"]
        hours = there["first_hours"] + there["second_hours"]
        yield [
            f"[ten million notes take {hours} h](#in-the-shape-of-the-paper), with {_PAPER} hashes "
            f"and {there['pairs'] / 1e6:.0f} million pairs",
            f"{ours['seconds']:.0f} s for {count(notes)} notes, with {_PAPER} hashes and "
            f"{ours['pairs'] / 1e6:.0f} million pairs",
            "",
            "is the same job on made notes, many years later",
        ]


def _line(claim: Claim, runs: Sequence[Found], words: str, section: str) -> list[str]:
    return [f"[{words}]({section})", said(claim, runs), "", _verdict(runs)]
