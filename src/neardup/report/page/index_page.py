"""A persistent index as one page that opens in any browser: its content, and its recall."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from neardup import __version__
from neardup.report.outfile import check_file, write_file
from neardup.report.page.page_charts import chances
from neardup.report.visible import html_page, need_jinja
from neardup.sketch.bands import candidate_probability
from neardup.spec import Spec


def write_index_report(
    folder: Path,
    stats: Mapping[str, Any],
    spec: Spec,
    path: Path,
    title: str | None = None,
    overwrite: bool = False,
) -> Path:
    """Write the numbers of an index as one HTML file, which has no text of a document.

    Args:
        folder: The index.
        stats: Result of `neardup.Index.stats`.
        spec: The settings of the index.
        path: File to write; it appears when complete, and only its owner can read it.
        title: Heading of the page; without it, the name of the folder.
        overwrite: Replace the file if it is there.

    Returns:
        The path.
    """
    need_jinja()
    target = check_file(path, folder.iterdir(), overwrite)
    bands = {name: stats[name] for name in ("num_bands", "rows")} if stats["num_bands"] else None
    recall = candidate_probability(spec.threshold, *bands.values()) if bands else 1.0
    now = datetime.datetime.now()
    page = html_page(
        "page/index.html.jinja",
        [f"page/{name}.css" for name in ("base", "result", "narrow", "print")],
        title=title or f"Index {folder.name}",
        version=__version__,
        date=f"{now.day} {now:%B %Y}",
        stats=stats,
        spec=spec,
        threshold=f"{spec.threshold:g}",
        bands=bands,
        recall=recall,
        chances=chances(bands, None),
    )
    return write_file(target, page.encode())
