"""A linkage as one page that opens in any browser, without network or server."""

from __future__ import annotations

import html
import os
from pathlib import Path
from typing import Any

import numpy as np

from neardup.arrays import array_of
from neardup.errors import SpecError
from neardup.records.decision.model import logit
from neardup.records.explaining import explain_pair
from neardup.records.link_steps import Blocked, Linked
from neardup.records.outputs.link_tables import cluster_table, ids_of, weight_table
from neardup.records.outputs.link_text import about_threshold, render
from neardup.report.outfile import check_file, write_file
from neardup.report.visible import html_page, visible

#: Pairs on each side of the threshold that are shown, clusters, and records of a cluster.
_SHOWN, _CLUSTERS, _RECORDS = 20, 300, 20
#: Log odds at the ends of the histogram, in bits, and its classes.
_WIDEST, _BINS = 40, 40


def write_link_page(
    linked: Linked,
    summary: dict[str, Any],
    path: str | os.PathLike[str],
    overwrite: bool,
    evaluation: dict[str, Any] | None = None,
    texts: bool = True,
) -> Path:
    """Write the page; only its owner can read it.

    Args:
        linked: The linkage.
        summary: Of it.
        path: File to write.
        overwrite: Replace it.
        evaluation: Result of `LinkRun.evaluate`, if there is a truth.
        texts: Show the values of the fields; ids are shown in any case.

    Raises:
        OutputError: The file exists, or can't be written.
        SpecError: Values are left out, and the ids are those of a field.
    """
    id, spec = linked.blocked.records.id, linked.blocked.spec
    if not texts and id in spec.names:
        raise SpecError(
            f"`texts` leaves out the values of fields, and the ids are those of the field {id!r}",
            "link the records with other ids, or by positions",
        )
    target = check_file(path, (), overwrite)
    shown, records = clusters_shown(linked, texts)
    page = html_page(
        f"{__package__}:link.html.jinja",
        ["plain.css", f"{__package__}:link.css"],
        [f"{__package__}:link.js"],
        title=" and ".join(linked.blocked.records.names),
        about=about_threshold(summary["threshold"]),
        summary=summary,
        counts=summary["counts"],
        histogram=odds_histogram(linked),
        weights=field_weights_shown(linked),
        decision=None if evaluation is None else evaluation["decision"],
        fields=spec.names if texts else [],
        clusters=shown,
        records=records,
        groups=_around(linked, texts),
    )
    return write_file(target, page.encode())


def card(linked: Linked, summary: dict[str, Any]) -> str:
    """Return the view in a notebook: a few lines and the histogram, without values of records."""
    bars = odds_histogram(linked)
    most = max([1.0, *(np.log1p(bar["count"]) for bar in bars)])
    rects = "".join(
        f'<rect x="{k * 10}" y="{80 - 80 * np.log1p(bar["count"]) / most:.1f}" width="9" '
        f'height="{80 * np.log1p(bar["count"]) / most:.1f}" fill="#2a9d8f"/>'
        for k, bar in enumerate(bars)
    )
    return (
        f"<pre>{html.escape(visible(render(summary, histogram=False)))}</pre>"
        f'<svg width="{10 * len(bars)}" height="80" role="img" '
        f'aria-label="Candidates by log odds">{rects}</svg>'
    )


def odds_histogram(linked: Linked) -> list[dict[str, Any]]:
    """Return the candidates by log odds, in bits; the first and the last class are open."""
    bits = np.clip(linked.decision.log_odds / np.log(2), -_WIDEST, _WIDEST - 1e-9)
    counts, edges = np.histogram(bits, _BINS, (-_WIDEST, _WIDEST))
    return [
        {"from": float(low), "count": count}
        for low, count in zip(edges[:-1], counts.tolist(), strict=True)
    ]


def field_weights_shown(linked: Linked) -> list[dict[str, Any]]:
    """Return the weights of the lowest and the highest agreement of each field, in bits."""
    found: dict[str, list[list[float]]] = {}
    views: dict[tuple[str, str], list[float]] = {}
    for row in weight_table(linked).to_pylist():
        views.setdefault((row["field"], row["view"]), []).append(row["bits"])
    for (field, _), bits in views.items():
        found.setdefault(field, []).append(bits)
    return [
        {"field": field, "low": float(mean[0]), "high": float(mean[-1])}
        for field, bits in found.items()
        for mean in [np.mean(bits, axis=0)]
    ]


def clusters_shown(linked: Linked, texts: bool = True) -> tuple[list[dict[str, Any]], int]:
    """Return the largest clusters with the values of their records, and how many there are."""
    table, blocked = cluster_table(linked), linked.blocked
    columns = blocked.records.columns if texts else ()
    labels = linked.clusters[blocked.new :]
    order = np.argsort(labels, kind="stable")
    starts = np.flatnonzero(np.diff(labels[order], prepend=-1))
    sizes = np.diff(np.append(starts, len(order)))
    several = np.flatnonzero(sizes > 1)
    picked = several[np.lexsort((starts[several], -sizes[several]))][:_CLUSTERS]
    shown = []
    for k in picked.tolist():
        rows = order[starts[k] : starts[k] + min(sizes[k], _RECORDS)]
        ids = table.take(array_of(rows)).to_pylist()
        if blocked.records.private_ids:
            names = [_row(blocked, row) for row in rows.tolist()]
            ids = [{**line, "id": name} for line, name in zip(ids, names, strict=True)]
        members = [
            {
                "source": line["source"],
                "id": str(line["id"]),
                "cells": [str(column[row + blocked.new]) for column in columns],
            }
            for row, line in zip(rows.tolist(), ids, strict=True)
        ]
        cluster = int(labels[order[starts[k]]])
        shown.append({"cluster": cluster, "size": int(sizes[k]), "members": members})
    return shown, len(several)


def _around(linked: Linked, texts: bool) -> list[tuple[str, list[dict[str, Any]]]]:
    """Return explanations of the pairs that are closest to the threshold, above and below it."""
    found, log_odds = linked.blocked.candidates, linked.decision.log_odds
    order = np.argsort(log_odds, kind="stable")
    middle = int(np.searchsorted(log_odds[order], logit(linked.blocked.spec.decide_at)))
    above, below = order[middle : middle + _SHOWN], order[max(0, middle - _SHOWN) : middle][::-1]
    return [
        (title, [_explained(linked, int(found.a[k]), int(found.b[k]), texts) for k in rows])
        for title, rows in (("Just above the threshold", above), ("Just below it", below))
    ]


def _explained(linked: Linked, a: int, b: int, texts: bool) -> dict[str, Any]:
    blocked = linked.blocked
    ids = [
        str(ids_of(blocked, np.array([doc]), second)[0]) for doc, second in ((a, False), (b, True))
    ]
    if blocked.records.private_ids:
        ids = [_row(blocked, doc - blocked.new) for doc in (a, b)]
    return {**explain_pair(linked, a, b, texts), "ids": ids}


def _row(blocked: Blocked, row: int) -> str:
    """Return the name of a record whose id is private: its row in its file, or in the index."""
    if row < 0:
        return "a record of the index"
    several = len(blocked.records.ids) > 1
    return f"row {row - blocked.records.first if several and row >= blocked.records.first else row}"
