"""What a run would find, take and cost, as a person reads it."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import Any

from neardup.report.numbers import percent, short, size
from neardup.report.tables import aligned

__all__ = ["render"]

_WIDTH = 96


def render(plan: dict[str, Any], start: float = 0.0) -> str:
    """Return what a person wants to know before a run.

    Args:
        plan: As `neardup.plan` returns it.
        start: Seconds that a process needs before it begins with the first stage.
    """
    parts = [
        "\n".join(_found(plan)),
        _similarities(plan),
        _stages(plan, start),
        "\n".join(_taken(plan)),
        "\n".join(_warnings(plan)),
    ]
    return "\n\n".join(part for part in parts if part)


def _found(plan: dict[str, Any]) -> Iterator[str]:
    unknown = "at least " if plan["inputs"] is None else "about "
    about = "" if plan["documents_exact"] else unknown
    sample = plan["sample"]
    between = plan["documents_between"]
    yield (
        f"documents   {about}{plan['documents']:,}"
        + ("" if between[0] == between[1] else f" ({between[0]:,} to {between[1]:,})")
        + f", {size(plan['text'])} of text"
    )
    yield (
        f"sample      {sample['documents']:,} documents, "
        + {
            "all": "which is all",
            "everywhere": f"from {sample['blocks']} places all over the input",
            "begin": "from the beginning of the input",
        }[sample["of"]]
    )
    lengths = plan["lengths"]
    for title, of in lengths.items():
        yield (
            f"{title:<11} {short(of['median'])} in the median text, {short(of['mean'])} on "
            f"average, {short(of['low'])} to {short(of['high'])} in nine of ten, "
            f"{short(of['longest'])} in the longest"
        )
    yield (
        f"short       {percent(plan['short'])} of the texts have fewer tokens than a shingle, "
        f"{percent(plan['empty'])} none"
    )
    equal = _between(plan["exact_duplicates"])
    yield f"equal       {equal} documents repeat an earlier one exactly"
    predicted = plan["predicted"]
    yield (
        f"edges       {_between(plan['edges'])} pairs of different texts reach the edge threshold; "
        f"{_about(plan)}{short(predicted['kept'])} documents are kept"
    )
    if not plan["num_bands"]:
        yield "bands       none: an exact join of all pairs"
        return
    candidates = plan["candidates"]
    by_band = sorted(candidates["by_band"])
    yield f"bands       {plan['num_bands']} of {plan['rows']} rows"
    yield (
        f"recall      {percent(predicted['recall'])} of the pairs at and above the edge threshold, "
        f"{percent(plan['predicted_recall'])} of those just at it"
    )
    yield (
        f"candidates  {_between(candidates)} pairs: {short(by_band[0])} to {short(by_band[-1])} a "
        f"band, {short(by_band[len(by_band) // 2])} in the median one"
    )


def _similarities(plan: dict[str, Any]) -> str:
    """The distribution of similarities, and what the bands find of it."""
    seen = plan["similarities"]
    if plan["documents"] < 2:
        return ""
    step = len(seen["pairs"]) // 10
    chances = {c["similarity"]: c["probability"] for c in plan["curve"]}
    rows = []
    for k in range(9, -1, -1):
        pairs = sum(seen["pairs"][k * step : (k + 1) * step])
        low = k / 10
        chance = "all" if not chances else percent(chances[low] if k else 0.0)
        top = "all" if not chances else percent(chances[round(low + 0.1, 2)])
        rows.append([f"{low:.1f} to {low + 0.1:.1f}", short(pairs), chance, top])
    heads = ["similarity", "pairs, about", "found: from", "to"]
    table = aligned(heads, [row for row in rows if row[1] != "0" or row is rows[-1]], left=1)
    head = (
        f"Pairs of different texts, by exact search of {seen['queries']:,} in "
        f"{seen['against']:,}, and how many of them become candidates:"
    )
    return f"{head}\n{table}"


def _stages(plan: dict[str, Any], start: float) -> str:
    predicted = plan["predicted"]
    seconds = dict(predicted["seconds"])
    if start:
        seconds = {"start": start, **seconds}
    rows = [[name, _seconds(value)] for name, value in seconds.items()]
    rows.append(["all", _seconds(sum(seconds.values()))])
    threads = plan["threads"]
    how = "timed here" if plan["rates"]["measured"] else "as on the machine of the benchmarks"
    head = f"Time, with {threads} thread{'s' * (threads > 1)}, {how}:"
    return f"{head}\n{aligned(['stage', 'about'], rows, left=1)}"


def _taken(plan: dict[str, Any]) -> Iterator[str]:
    enough = plan["needed"] <= plan["memory"]
    predicted = plan["predicted"]
    yield (
        f"memory      {size(plan['memory'])} may be used; everything would take "
        f"{size(plan['needed'])}, the least is {size(plan['least'])}"
    )
    yield f"peak        about {size(predicted['memory'])} of memory"
    yield (
        f"store       {plan['store']}: {size(plan['keys'])} of band keys, {size(plan['facts'])} "
        "of what is kept of each document"
    )
    yield (
        "arrays      "
        + ("in memory" if enough else f"up to {size(plan['budget'])} in memory, others in files")
        + f": {size(plan['state'])}"
    )
    yield (
        f"disk        about {size(predicted['disk'])} at its peak, with the outputs; the run "
        f"folder alone up to {size(plan['disk'])} if every document meets another one"
    )
    yield f"outputs     up to {size(plan['outputs'])}, if every document is kept"
    yield (
        f"passes      the input is read three times; each band is grouped in {plan['passes']} "
        f"pass{'es' * (plan['passes'] > 1)}"
    )
    if plan["memory"] < plan["least"]:
        yield (
            f"refused     --memory is below the least, {size(plan['least'])}: give more --memory, "
            "or fewer --threads"
        )


def _warnings(plan: dict[str, Any]) -> Iterator[str]:
    for warning in plan["warnings"]:
        yield textwrap.fill(f"warning     {warning['text']}", _WIDTH, subsequent_indent=" " * 12)


def _about(plan: dict[str, Any]) -> str:
    return "" if plan["sample"]["of"] == "all" else "about "


def _between(found: dict[str, Any]) -> str:
    if found["low"] == found["high"]:
        return short(found["expected"])
    return f"about {short(found['expected'])} ({short(found['low'])} to {short(found['high'])})"


def _seconds(value: float) -> str:
    if value < 100:
        return f"{value:.1f} s" if value >= 0.95 else f"{value:.2f} s"
    if value < 7200:
        return f"{value / 60:.1f} min"
    return f"{value / 3600:.1f} h"
