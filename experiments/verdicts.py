"""Claims of the paper, what was found of them in several draws or runs, and the verdicts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from string import Formatter
from typing import Any, NamedTuple

__all__ = ["Claim", "Found", "Verdict", "judged", "line", "said", "verdict"]

#: What an experiment found in one draw or run.
Found = Mapping[str, Any]


class Verdict(NamedTuple):
    """What one draw or run says of a claim.

    Attributes:
        values: The numbers that decide.
        holds: Whether they are what the paper says.
    """

    values: Sequence[float]
    holds: bool


class Claim(NamedTuple):
    """What the paper says, and how to decide whether it holds: by numbers alone.

    Attributes:
        key: In files.
        name: What the paper says.
        rule: When it is taken to hold.
        shown: The values as text, with a replacement field for each.
        judge: Takes what was found, returns the verdict.
        reason: Why it does not hold, where it does not.
    """

    key: str
    name: str
    rule: str
    shown: str
    judge: Callable[[Any], Verdict]
    reason: str = ""


def judged(claims: Iterable[Claim], found: Any) -> dict[str, dict[str, Any]]:
    """Return the verdicts of one draw or run, by the keys of the claims, for a file."""
    verdicts = {claim.key: claim.judge(found) for claim in claims}
    return {
        key: {"values": [round(float(value), 6) for value in one.values], "holds": bool(one.holds)}
        for key, one in verdicts.items()
    }


def said(claim: Claim, verdicts: Sequence[Found]) -> str:
    """Return the values as text; where draws differ, the lowest and the highest.

    >>> claim = Claim("key", "name", "rule", "{:.1f} of {:,.0f} pairs", lambda _: Verdict((), True))
    >>> said(claim, [{"values": [1, 2000]}, {"values": [1, 3000]}])
    '1.0 of 2,000 to 3,000 pairs'
    """
    columns = list(zip(*(one["values"] for one in verdicts), strict=True))
    text, at = "", 0
    for literal, field, spec, _ in Formatter().parse(claim.shown):
        text += literal
        if field is not None:
            low, high = (format(end, spec or "") for end in (min(columns[at]), max(columns[at])))
            text += low if low == high else f"{low} to {high}"
            at += 1
    return text


def verdict(verdicts: Sequence[Found]) -> str:
    """Return in how many draws or runs a claim holds.

    >>> verdict([{"holds": True}, {"holds": False}])
    '**holds in 1 of 2**'
    """
    good = sum(one["holds"] for one in verdicts)
    if good == len(verdicts):
        return "holds"
    return f"**holds in {good} of {len(verdicts)}**" if good else "**does not hold**"


def line(claim: Claim, columns: Sequence[Sequence[Found]]) -> list[str]:
    """Return a line of a table: the claim, its rule, and a cell for each column of verdicts."""
    cells = (f"{said(claim, column)}: {verdict(column)}" for column in columns)
    return [claim.name, claim.rule, *cells]
