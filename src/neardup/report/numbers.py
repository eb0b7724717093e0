"""Numbers as a person reads them."""

from __future__ import annotations

import math

__all__ = ["counted", "percent", "short", "size"]


def counted(number: int, one: str) -> str:
    """Return a number of things.

    >>> counted(1, "pair"), counted(2000, "pair")
    ('1 pair', '2,000 pairs')
    """
    return f"{number:,} {one}{'s' * (number != 1)}"


def percent(share: float) -> str:
    """Return a share in percent: one decimal, and as many as it takes near 0 and 1, up to four.

    >>> percent(0.9963), percent(0.005237), percent(0.0000123), percent(0.99996), percent(1.0)
    ('99.6 %', '0.5 %', '0.0012 %', '99.996 %', '100 %')
    >>> percent(1e-9), percent(1 - 1e-9)
    ('below 0.0001 %', 'above 99.9999 %')
    """
    if math.isnan(share):
        return "none"
    value = 100 * share
    if value in (0.0, 100.0):
        return f"{value:.0f} %"
    rest = min(value, 100 - value)
    if rest < 1e-4:
        return "below 0.0001 %" if value < 50 else "above 99.9999 %"
    if rest >= 0.095:
        return f"{value:.1f} %"
    digits = -math.floor(math.log10(rest))
    # Near 1 one digit of what is missing is enough; it is never rounded to nothing.
    return f"{value:.{min(4, digits + (value < 50))}f} %"


def short(value: float) -> str:
    """Return a count or a time in three digits or so.

    >>> short(12), short(0.034), short(1234), short(1234567), short(3.2e9)
    ('12', '0.034', '1,234', '1.23 M', '3.2 G')
    """
    value = float(value)
    for unit, scale in (("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e4)):
        if abs(value) >= scale:
            return f"{value / (1e3 if unit == 'k' else scale):.3g} {unit}"
    if value == int(value) or abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.2g}" if abs(value) < 10 else f"{value:.1f}"


def size(value: float) -> str:
    """Return bytes in three digits.

    >>> size(1_500_000), size(3.25e9), size(12)
    ('1.5 MB', '3.25 GB', '12 B')
    """
    for unit, scale in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if value >= scale:
            return f"{value / scale:.3g} {unit}"
    return f"{value:.0f} B"
