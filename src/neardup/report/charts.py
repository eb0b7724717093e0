"""The figures of this package, each a function from plain numbers to a Matplotlib figure.

What they return is a `matplotlib.figure.Figure`, made without pyplot: no window, no global state.
Notebooks draw it; ``figure.heading`` and ``figure.alternative`` say in words what it shows.
`neardup.report.figures.save` writes it to a file, `to_svg` makes it fit for a page.

Colours can be told apart by those who see few of them, and lines differ in dashes too.
"""

from __future__ import annotations

from neardup.report.curves import (
    observed_curve,
    precision_recall,
    s_curves,
    similarity_histogram,
)
from neardup.report.figures import Chart, alternative, save, to_svg
from neardup.report.sizes import bucket_sizes, candidates_per_band, cluster_sizes, stages

__all__ = [
    "Chart",
    "alternative",
    "bucket_sizes",
    "candidates_per_band",
    "cluster_sizes",
    "observed_curve",
    "precision_recall",
    "s_curves",
    "save",
    "similarity_histogram",
    "stages",
    "to_svg",
]
