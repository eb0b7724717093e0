"""What bands and rows give, as a table."""

from __future__ import annotations

from collections.abc import Iterator

from neardup.forecast.tune import REPORTED, Choice, Tuning
from neardup.report.numbers import aligned, percent


def by_rows(tuning: Tuning) -> list[list[Choice]]:
    """Return the choices by their number of rows, fewest bands first, in the order of the first."""
    groups: dict[int, list[Choice]] = {}
    for choice in tuning.choices:
        groups.setdefault(choice.rows, []).append(choice)
    return [sorted(group, key=lambda c: c.num_bands) for group in groups.values()]


def render(tuning: Tuning) -> str:
    """Return a line for each of ten numbers of rows, with what the fewest bands of it give."""
    groups = by_rows(tuning)
    asked = (
        f"{p.similarity:g} {'>=' if p.at_least else '<='} {percent(p.probability)}"
        for p in tuning.points
    )
    reported = (f"s at {percent(p)}" for p in REPORTED)
    heads = ["bands", "rows", "hashes", *asked, *reported, "steepest"]
    rows = [_row(group[0], group[-1]) for group in groups[:10]]
    text = [*_head(tuning), aligned(heads, rows)]
    if len(groups) > len(rows):
        text.append(f"... and {len(groups) - len(rows)} more; --json lists them")
    if any(len(group) > 1 for group in groups):
        text.append("Numbers are those of the fewest bands; more bands find more.")
    return "\n".join(text)


def _row(first: Choice, last: Choice) -> list[str]:
    several = first.num_bands < last.num_bands
    probabilities = zip(first.points, first.probabilities, strict=True)
    return [
        f"{first.num_bands}-{last.num_bands}" if several else str(first.num_bands),
        str(first.rows),
        f"{first.num_hashes}-{last.num_hashes}" if several else str(first.num_hashes),
        *(("! " if point in first.missed else "") + percent(p) for point, p in probabilities),
        *(f"{first.similarity_at(p):.3f}" for p in REPORTED),
        f"{first.steepest:.3f}",
    ]


def _head(tuning: Tuning) -> Iterator[str]:
    up_to = f"up to {tuning.num_hashes} hashes"
    if tuning.satisfied:
        yield f"{len(tuning.choices)} choices of {up_to} satisfy all points; the cheapest first."
        return
    yield (
        f"No choice of {up_to} satisfies all points. The whole signature in bands, the nearest "
        "first:"
    )
    first, longer = tuning.choices[0], tuning.longer
    rest = "no bands and rows satisfy all points."
    if longer is not None:
        rest = f"{longer.num_bands} bands of {longer.rows} rows ({longer.num_hashes} hashes) would "
        rest += "satisfy all."
    yield f"{first.num_bands} bands of {first.rows} rows miss what is marked with !; {rest}"
