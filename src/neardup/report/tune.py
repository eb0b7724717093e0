"""What bands and rows give, as a table."""

from __future__ import annotations

from collections.abc import Iterator

from neardup.core.points import TOLD, Choice, Tuning
from neardup.report.numbers import percent
from neardup.report.tables import aligned

__all__ = ["by_rows", "render"]


def by_rows(tuning: Tuning) -> Iterator[list[Choice]]:
    """Give the choices by their number of rows, fewest bands first, in the order of the first."""
    groups: dict[int, list[Choice]] = {}
    for choice in tuning.choices:
        groups.setdefault(choice.rows, []).append(choice)
    yield from (sorted(group, key=lambda c: c.num_bands) for group in groups.values())


def render(tuning: Tuning, chosen: bool = False, limit: int | None = 10) -> str:
    """Return a line for each number of rows, with what the fewest bands of it give.

    Args:
        tuning: From `neardup.tune`.
        chosen: Whether the choices were given, rather than found; each has a line then.
        limit: Lines at most; None for all.
    """
    groups = [[c] for c in tuning.choices] if chosen else list(by_rows(tuning))
    heads = ["bands", "rows", "hashes"]
    heads += [
        f"{p.similarity:g} {'>=' if p.at_least else '<='} {percent(p.probability)}"
        for p in tuning.points
    ]
    heads += [f"s at {percent(p)}" for p in TOLD] + ["steepest"]
    lines = []
    for group in groups[:limit]:
        first = group[0]
        missed = first.missed
        lines.append(
            [
                str(first.num_bands) + f"-{group[-1].num_bands}" * (len(group) > 1),
                str(first.rows),
                str(first.num_hashes) + f"-{group[-1].num_hashes}" * (len(group) > 1),
                *(
                    ("! " if point in missed else "") + percent(probability)
                    for point, probability in zip(tuning.points, first.probabilities, strict=True)
                ),
                *(f"{first.similarity_at(p):.3f}" for p in TOLD),
                f"{first.steepest:.3f}",
            ]
        )
    says = [*_head(tuning, chosen), aligned(heads, lines)]
    if len(groups) > len(lines):
        says.append(f"... and {len(groups) - len(lines)} more; --all shows them")
    if any(len(group) > 1 for group in groups):
        says.append("Figures are those of the fewest bands; more bands find more.")
    return "\n".join(says)


def _head(tuning: Tuning, chosen: bool) -> Iterator[str]:
    if chosen:
        return
    if tuning.satisfied:
        yield (
            f"{len(tuning.choices)} choices of up to {tuning.num_hashes} hashes satisfy all "
            "points; the cheapest first."
        )
        return
    first = tuning.choices[0]
    yield (
        f"No choice of up to {tuning.num_hashes} hashes satisfies all points. The whole signature "
        "in bands, the nearest first:"
    )
    yield f"{first.num_bands} bands of {first.rows} rows miss what is marked with !" + (
        "; no bands and rows satisfy all points."
        if tuning.longer is None
        else f"; {tuning.longer.num_bands} bands of {tuning.longer.rows} rows "
        f"({tuning.longer.num_hashes} hashes) would satisfy all."
    )
