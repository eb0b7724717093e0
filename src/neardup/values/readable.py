"""Numbers as a person reads them, and tables of them."""

import datetime
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any


def counted(number: int, one: str) -> str:
    """Return a number of things.

    >>> counted(1, "pair"), counted(2000, "pair")
    ('1 pair', '2,000 pairs')
    """
    return f"{number:,} {one if number == 1 else one + 's'}"


def day(date: str) -> str:
    """Return the day of a time in the form of ISO 8601, where this runs.

    >>> day("2026-11-05")
    '5 November 2026'
    """
    ended = datetime.datetime.fromisoformat(date).astimezone()
    return f"{ended.day} {ended:%B %Y}"


def having(number: int, one: str) -> str:
    """Return a number of things as the subject of a sentence.

    >>> having(1, "pair"), having(2000, "pair")
    ('1 pair has', '2,000 pairs have')
    """
    return f"{counted(number, one)} {'has' if number == 1 else 'have'}"


def percent(part: float | None) -> str:
    """Return a share in percent: one decimal, and as many as it takes near 0 and 1, up to four.

    >>> percent(0.9963), percent(0.0000123), percent(0.99996), percent(1e-9)
    ('99.6 %', '0.0012 %', '99.996 %', 'below 0.0001 %')
    """
    if part is None or math.isnan(part):
        return "none"
    value = 100 * part
    if value in (0.0, 100.0):
        return f"{value:.0f} %"
    rest = min(value, 100 - value)
    if rest < 1e-4:
        return "below 0.0001 %" if value < 50 else "above 99.9999 %"
    if rest >= 0.095:
        return f"{value:.1f} %"
    digits = -math.floor(math.log10(rest))
    # Near 1 one digit of the rest is enough; it is never rounded to nothing.
    return f"{value:.{min(4, digits + (value < 50))}f} %"


def share(count: int, total: int) -> str:
    """Return a count in percent of the total; 0 of 0 is 0 %."""
    return percent(count / total) if total else "0 %"


def short(value: float) -> str:
    """Return a count or a time in three digits or so.

    >>> short(12), short(0.034), short(1234), short(1234567)
    ('12', '0.034', '1,234', '1.23 M')
    """
    value = float(value)
    for unit, scale in (("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e4)):
        if abs(value) >= scale:
            return f"{value / (1e3 if unit == 'k' else scale):.3g} {unit}"
    if value == int(value) or abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.2g}" if abs(value) < 10 else f"{value:.1f}"


def with_interval(values: Mapping[str, Any], name: str, of: str = "") -> str:
    """Return the share ``values[name]`` with its 95 % interval; see `interval` for ``of``."""
    return f"{percent(values[name])} {interval(values, of or name)}".rstrip()


def interval(values: Mapping[str, Any], of: str) -> str:
    """Return the 95 % interval from ``OF_low`` to ``OF_high`` and a space; empty if it is none."""
    low, high = values[f"{of}_low"], values[f"{of}_high"]
    return "" if low == high else f"(95 % interval {percent(low)} to {percent(high)}) "


def labelled(lines: Iterable[tuple[str, ...]], width: int = 12) -> str:
    """Return a line for each label, its value and a remark on that."""
    shown = ((label, " ".join(filter(None, rest))) for label, *rest in lines)
    return "\n".join(f"{label:<{width}}{text}" for label, text in shown)


def aligned(heads: Sequence[str], rows: Sequence[Sequence[str]], left: int = 0) -> str:
    """Return a table of plain text: the rows below their heads, columns two spaces apart.

    Each row has as many cells as there are heads. The first ``left`` columns are set flush left,
    the others flush right.
    """
    lines = [heads, *rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    cells = (f"{{:{'<' if k < left else '>'}{width}}}" for k, width in enumerate(widths))
    form = "  ".join(cells)
    return "\n".join(form.format(*line).rstrip() for line in lines)
