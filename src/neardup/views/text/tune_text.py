"""Recall of bands and rows, as a table."""

from collections.abc import Iterator

from neardup.forecast.tune import REPORTED, Choice, TunedBands
from neardup.sketch.bands import steepest
from neardup.values.readable import aligned, percent


def render(tuning: TunedBands, limit: int | None = 10) -> str:
    """Return a line for each number of rows, with the numbers of its fewest bands.

    Choices that were given, rather than found, have a line each. Of similarities that were asked
    for, only their probabilities are shown. ``limit`` is a number of lines.
    """
    if similarities := tuning.choices[0].similarities:
        return aligned(
            ["bands", "rows", *(f"s = {s:g}" for s in similarities)],
            [
                [str(c.num_bands), str(c.rows), *(f"{c.probability(s):.4f}" for s in similarities)]
                for c in tuning.choices
            ],
        )
    chosen = tuning.given
    by_rows: dict[int, list[Choice]] = {}
    for choice in sorted(tuning.choices, key=lambda c: c.num_bands):
        by_rows.setdefault(choice.rows, []).append(choice)
    in_order = dict.fromkeys(choice.rows for choice in tuning.choices)
    groups = [[c] for c in tuning.choices] if chosen else [by_rows[rows] for rows in in_order]
    points, signs = tuning.points, {True: ">=", False: "<="}
    asked = (f"{p.similarity:g} {signs[p.at_least]} {percent(p.probability)}" for p in points)
    reported = (f"s at {percent(p)}" for p in REPORTED)
    heads = ["bands", "rows", "hashes", *asked, *reported, "steepest"]
    rows = [_row(group[0], group[-1]) for group in groups[:limit]]
    text = [*([] if chosen else _head(tuning)), aligned(heads, rows)]
    if len(groups) > len(rows):
        text.append(f"... and {len(groups) - len(rows)} more; --all shows them")
    if any(len(group) > 1 for group in groups):
        text.append("Numbers are those of the fewest bands; more bands find more.")
    return "\n".join(text)


def shown(tuning: TunedBands) -> str:
    """Return the same for a shell or a notebook."""
    return render(tuning).replace("; --all shows them", "")


def _row(first: Choice, last: Choice) -> list[str]:
    several = first.num_bands < last.num_bands
    probabilities = zip(first.points, first.probabilities, strict=True)
    return [
        f"{first.num_bands}-{last.num_bands}" if several else str(first.num_bands),
        str(first.rows),
        f"{first.num_hashes}-{last.num_hashes}" if several else str(first.num_hashes),
        *(("! " if point in first.missed else "") + percent(p) for point, p in probabilities),
        *(f"{first.similarity_at(p):.3f}" for p in REPORTED),
        f"{steepest(first.num_bands, first.rows):.3f}",
    ]


def _head(tuning: TunedBands) -> Iterator[str]:
    up_to = f"up to {tuning.num_hashes} hashes"
    if tuning.satisfied:
        yield f"{len(tuning.choices)} choices of {up_to} satisfy all points; the cheapest first."
        return
    none = f"No choice of {up_to} satisfies all points."
    yield f"{none} The complete signature in bands, the nearest first:"
    first, longer = tuning.choices[0], tuning.longer
    rest = "no bands and rows satisfy all points"
    if longer is not None:
        of = f"{longer.num_bands} bands of {longer.rows} rows ({longer.num_hashes} hashes)"
        rest = f"{of} would satisfy all"
    yield f"{first.num_bands} bands of {first.rows} rows miss those marked with !; {rest}."
