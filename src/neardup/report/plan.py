"""What a run would take, in a few lines."""

from __future__ import annotations

from typing import Any

__all__ = ["render"]


def render(plan: dict[str, Any]) -> str:
    """Return what a person wants to know before a run.

    Args:
        plan: As `neardup.plan` returns it.
    """
    about = "" if plan["documents_exact"] else "about "
    enough = plan["needed"] <= plan["memory"]
    lines = [
        f"documents   {about}{plan['documents']:,}, {_size(plan['text'])} of text",
        f"bands       {plan['num_bands']} of {plan['rows']} rows"
        if plan["num_bands"]
        else "bands       none: an exact join of all pairs",
        f"memory      {_size(plan['memory'])} may be used; everything would take "
        f"{_size(plan['needed'])}, the least is {_size(plan['least'])}",
        f"store       {plan['store']}: {_size(plan['keys'])} of band keys, "
        f"{_size(plan['facts'])} of what is kept of each document",
        "arrays      "
        + (
            "in memory"
            if enough
            else f"up to {_size(plan['budget'])} in memory, others in mapped files"
        )
        + f": {_size(plan['state'])}",
        f"disk        up to {_size(plan['disk'])} while it runs, of that {_size(plan['sets'])} "
        "if every document meets another one",
        f"outputs     up to {_size(plan['outputs'])}, if every document is kept",
        f"passes      the input is read three times; each band is grouped in {plan['passes']} "
        f"pass{'es' * (plan['passes'] > 1)}",
    ]
    if plan["memory"] < plan["least"]:
        lines.append("refused     give more --memory, or fewer --threads")
    return "\n".join(lines)


def _size(size: int) -> str:
    for unit, scale in (("TB", 10**12), ("GB", 10**9), ("MB", 10**6)):
        if size >= scale:
            return f"{size / scale:.1f} {unit}"
    return f"{size / 1000:.0f} kB"
