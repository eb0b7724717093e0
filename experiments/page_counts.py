"""The section of the page on accuracy."""

from __future__ import annotations

from typing import Any

from experiments import paper
from experiments.accuracy import THRESHOLDS
from experiments.markdown import chart, count, per_cent, table
from neardup.sketch.bands import candidate_probability

__all__ = ["accuracy", "lists"]

Found = dict[str, Any]

_ALT = "False candidates and missed pairs against bands, threshold"
_WHY = {
    1: f"""the paper misses none with 50 bands of 2 rows. Of pairs exactly at 0.2
{per_cent(1 - candidate_probability(0.2, *paper.BANDS))} are missed, so that a few of ours are too,
where there are pairs just above 0.2.""",
    2: """the prediction follows the similarities that there are. Counts scatter around it, and
widely where pairs come in groups: notes of one family share a phrase, and so share a bucket
together or not at all.""",
    3: """as with 0.3; few pairs are just above 0.4, so that fewer are missed, and all candidates
below it count as false.""",
}


def accuracy(found: Found) -> str:
    """Return the section with figures 1 to 3."""
    titles = [source["title"] for source in found.values()]
    first = next(iter(found.values()))
    figures = "\n\n".join(
        f"""### Figure {number}: threshold {threshold}

{chart(f"fig{number}", f"{_ALT} {threshold}")}

Why they differ: {_WHY[number]}"""
        for number, threshold in enumerate(THRESHOLDS, start=1)
    )
    worst = ", ".join(_worst(source) for source in found.values())
    return f"""\
The notes and {first["duplicates"]} near-duplicates with 10 % of the words changed. Candidates of
banding are compared with the pairs whose exact similarity reaches the threshold. Points are
counted; dashed lines are what `1 - (1 - s^r)^b` predicts for the similarities that there are. The
axes of counts are linear up to 1, so that 0 is on them, and logarithmic from there; points on one
another are equal counts. All counts are in [accuracy.csv](accuracy.csv). The paper has curves, and
two numbers in its text.

With 50 bands of 2 rows; the prediction is in parentheses:

{table(["", "paper", *titles], _at_50_by_2(found))}

Why they differ: false candidates come from pairs not far below the threshold, of which our notes
have other numbers than the paper's. And a prediction is a mean. Counts scatter widely around it
where many notes share one phrase.

Over all bands and rows of accuracy.csv, false candidates reach {worst}. With 50 bands of 2 rows,
candidates are {_fewer(found)} pairs. Counts of this section are of draw 1.

{figures}"""


def lists(found: Found) -> str:
    """Return the section on the two methods without bands."""
    rows = [
        [
            f"{count(row['notes'])}, {row['method']}",
            count(row["candidates"]),
            f"{row['seconds']:.2f} s",
            f"{row['bytes'] / 1e6:,.0f} MB",
        ]
        for row in found["rows"]
    ]
    even = found["chance"]
    share = per_cent(even["found"] / even["pairs"])
    return f"""\
Two notes are candidates where any of {found["entries"]} entries of their signatures is the same.
The first method has a list of the notes of each value in memory; the second one sorts pairs of
value and note in runs, and merges these. Both find the same candidates. Banding stands beside, with
as many entries. Notes are those of `neardup synth`; times begin with the signatures, and memory is
that by which the process grew. No numbers are in the paper.

{table(["notes, method", "candidates", "time", "memory"], rows)}

The section says that a pair with a similarity of 1/M has an even chance with M entries. It has a
better one, `1 - (1 - 1/M)^M` or {per_cent(even["predicted"])}: of {count(even["pairs"])} pairs at
1/{found["entries"]}, {count(even["found"])} are found ({share})."""


def _fewer(found: Found) -> str:
    shares = []
    for source in found.values():
        row = next(r for r in source["rows"] if (r["bands"], r["rows"]) == paper.BANDS)
        shares.append(f"{count(row['candidates'])} of {count(source['pairs'])} ({source['title']})")
    return ", ".join(shares)


def _worst(source: Found) -> str:
    row = max(source["rows"], key=lambda row: row["false"])
    return f"{count(row['false'])} ({source['title']}: {row['bands']} x {row['rows']})"


def _at_50_by_2(found: Found) -> list[list[str]]:
    rows = [
        [f"pairs that reach {t}", "", *(count(s["true"][str(t)]) for s in found.values())]
        for t in THRESHOLDS
    ]
    shown = {
        "missed": ("missed pairs", "0"),
        "false": ("false candidates", f"about {paper.FALSE_AT_WORST} at worst"),
    }
    for what, (label, published) in shown.items():
        for threshold in THRESHOLDS:
            cells = [
                f"{count(row[what])} ({row[f'predicted_{what}']:.1f})"
                for source in found.values()
                for row in source["rows"]
                if (row["bands"], row["rows"], row["threshold"]) == (*paper.BANDS, threshold)
            ]
            rows.append([f"{label} at {threshold}", published, *cells])
    return rows
