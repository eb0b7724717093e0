"""The page itself: a template, styles, scripts and data put into one file."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Sequence
from importlib import resources
from typing import Any

import jinja2

from neardup import __version__
from neardup.report.page.drawn import Figure
from neardup.report.page.shown import as_json
from neardup.report.page.words import Fact, Step
from neardup.run.finished import FinishedRun

__all__ = ["render"]

_STYLES = (
    *("base.css", "result.css", "list.css", "cluster.css", "sides.css"),
    *("narrow.css", "print.css"),
)
_SCRIPTS = ("text.js", "differences.js", "list.js", "cluster.js", "page.js")


def render(
    run: FinishedRun,
    words: dict[str, Any],
    facts: Sequence[Fact],
    steps: Sequence[Step],
    figures: Sequence[Figure],
    data: dict[str, Any],
) -> str:
    """Return the page.

    The browser is told to run the one script and to use the one style sheet that are in it, by
    their digests, and to load nothing.

    Args:
        run: The run.
        words: Other values of the template.
        facts, steps, figures: See `neardup.report.page.words` and `neardup.report.page.drawn`.
        data: What the script gets.
    """
    style = "\n".join(_asset(name) for name in _STYLES)
    script = '"use strict";\n(() => {\n' + "\n".join(_asset(name) for name in _SCRIPTS) + "})();\n"
    policy = "; ".join(
        [
            "default-src 'none'",
            f"style-src {_digest(style)}",
            f"script-src {_digest(script)}",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
            "require-trusted-types-for 'script'",
        ]
    )
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["unbroken"] = _unbroken
    template = environment.from_string(_asset("page.html.jinja"))
    return template.render(
        **words,
        policy=policy,
        style=style,
        script=script,
        data=as_json(data),
        facts=facts,
        shares=_shares(run.record["counts"]),
        steps=steps,
        figures=figures,
        version=__version__,
        digest=run.record["digest"][:12],
        has_clusters=bool(data["clusters"]),
    )


def _asset(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")


def _unbroken(text: str) -> str:
    """Keep numbers and their units on one line."""
    return re.sub(r"(?<=\d) (?=%|B\b|[kMGT]B\b)", "\u00a0", text)


def _digest(source: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()}'"


def _shares(counts: dict[str, int]) -> list[dict[str, Any]]:
    """Kept, near and exact duplicates as parts of a bar of 1000 units."""
    exact = counts["exact_duplicates"]
    parts = {"kept": counts["kept"], "near": counts["removed"] - exact, "exact": exact}
    shares, at = [], 0.0
    for kind, value in parts.items():
        width = 1000 * value / counts["documents"]
        shares.append({"kind": kind, "x": f"{at:.2f}", "width": f"{width:.2f}"})
        at += width
    return shares
