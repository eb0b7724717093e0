"""The figures of a page."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from neardup.report import charts
from neardup.report.audit import chart as audit_chart
from neardup.report.page.survey import Survey
from neardup.run.finished import FinishedRun

__all__ = ["Figure", "figures"]


class Figure(NamedTuple):
    """A figure and what to see in it.

    Attributes:
        name: Of its element in the page.
        svg: The drawing, which says in words what it shows.
        says: How to read it.
    """

    name: str
    svg: str
    says: str


def figures(run: FinishedRun, found: Survey, audit: dict[str, Any] | None) -> Iterator[Figure]:
    """Draw what is known of a run.

    Args:
        run: The run.
        found: Its clusters.
        audit: What an audit of the run found; None if there was none.
    """
    record, threshold = run.record, run.spec.edge_threshold
    bands = record["bands"] and (record["bands"]["num_bands"], record["bands"]["rows"])

    low = min(threshold, 0.98)
    limits = np.linspace(low, 1, 1 + max(10, round((1 - low) / 0.01)))
    counts = np.histogram(np.clip(found.edges, low, 1), limits)[0]
    chart = charts.similarity_histogram(counts, limits, bands, threshold, "edges")
    says = "How alike the pairs are that were found; exact duplicates are the bar at 1."
    if bands:
        says += " The curve is the probability with which a pair of that similarity is found."
    yield Figure("similarities", charts.to_svg(chart), says)

    sizes, clusters = np.unique(found.sizes, return_counts=True)
    chart = charts.cluster_sizes(dict(zip(sizes.tolist(), clusters.tolist(), strict=True)))
    says = (
        "How many clusters there are of each size. A point far to the right is a text that very "
        "many documents share, such as a template."
    )
    yield Figure("sizes", charts.to_svg(chart), says)

    what = "shares a bucket, so that they are compared" if bands else "is found"
    says = f"Which share of the pairs {what}: by theory"
    if audit is None:
        chart = charts.observed_curve([], [], [], [], bands, threshold)
        says += ". What this run did find is not measured yet; neardup audit measures it."
    else:
        chart = audit_chart(audit)
        says += ", and as an audit of this run observed it, with 95 % intervals."
    yield Figure("curve", charts.to_svg(chart), says)

    chart = charts.candidates_per_band(record["candidates_by_band"])
    says = (
        "Pairs that each band put up for comparison. Bands that stand out met a text that many "
        "documents share."
    )
    yield Figure("candidates", charts.to_svg(chart), says)

    chart = charts.bucket_sizes(record["bucket_sizes"])
    says = (
        "Documents that agreed in a band are one bucket. Large buckets are templates, and cost "
        "most of the time."
    )
    yield Figure("buckets", charts.to_svg(chart), says)

    chart = charts.stages(record["seconds"], record["stage_memory"])
    yield Figure("stages", charts.to_svg(chart), "Where time and memory went.")
