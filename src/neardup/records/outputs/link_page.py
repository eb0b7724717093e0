"""A linkage as one page that opens in any browser, without network or server."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from neardup.records.decision.model import logit
from neardup.records.explaining import explain_pair
from neardup.records.link_steps import Linked
from neardup.records.outputs.link_text import about_threshold
from neardup.report.outfile import check_file, write_file
from neardup.report.visible import html_page

#: Pairs on each side of the threshold that are shown.
_SHOWN = 12


def write_link_page(linked: Linked, summary: dict[str, Any], path: Path, overwrite: bool) -> Path:
    """Write the page; only its owner can read it.

    Raises:
        OutputError: The file exists, or can't be written.
    """
    path = check_file(path, (), overwrite)
    page = html_page(
        f"{__package__}:link.html.jinja",
        ["plain.css", f"{__package__}:link.css"],
        title=" and ".join(linked.blocked.records.names),
        about=about_threshold(summary["threshold"]),
        summary=summary,
        counts=summary["counts"],
        threshold=summary["threshold"],
        groups=_around(linked),
    )
    write_file(path, page.encode())
    return path


def _around(linked: Linked) -> list[tuple[str, list[dict[str, Any]]]]:
    """Return explanations of the pairs that are closest to the threshold, above and below it."""
    found, log_odds = linked.blocked.candidates, linked.decision.log_odds
    order = np.argsort(log_odds, kind="stable")
    middle = int(np.searchsorted(log_odds[order], logit(linked.blocked.spec.decide_at)))
    above, below = order[middle : middle + _SHOWN], order[max(0, middle - _SHOWN) : middle][::-1]
    return [
        (title, [explain_pair(linked, int(found.a[k]), int(found.b[k])) for k in rows])
        for title, rows in (("Just above the threshold", above), ("Just below it", below))
    ]
