"""Figures over similarity: S-curves, histograms, what was found, precision and recall."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.ticker import PercentFormatter

from neardup.core.tune import similarity_at
from neardup.report.drawing import (
    COLOURS,
    FINE,
    SIMILARITY,
    count_axis,
    found,
    line,
    new_axes,
    probabilities,
    put_legend,
    share_axes,
    styled,
    threshold_line,
    told,
)
from neardup.report.figures import INK, Chart
from neardup.report.numbers import percent, short

__all__ = ["observed_curve", "precision_recall", "s_curves", "similarity_histogram"]


@styled
def s_curves(
    choices: Sequence[tuple[int, int]], points: Sequence[tuple[float, float]] = ()
) -> Chart:
    """Draw P(candidate) by similarity for some bands and rows, and the points asked for.

    With a point, two regions of the first choice are shaded, on both sides of the least similarity
    that is to be found (or of the highest that is not, if none is): missed pairs above the curve,
    and pairs that are compared in vain below it.

    Args:
        choices: ``(num_bands, rows)``, the first one being the one chosen; up to five are drawn.
        points: ``(similarity, probability)``; below a half means at most, from a half on at least.

    Raises:
        ValueError: No choices, or more than five.
    """
    if not 1 <= len(choices) <= len(COLOURS):
        raise ValueError(f"{len(choices)} choices; expected 1 to {len(COLOURS)}")
    figure, axes = new_axes(
        "Which pairs become candidates", SIMILARITY, "P(candidate)", legend=True
    )
    asked = [s for s, p in points if p >= 0.5]
    split = min(asked) if asked else max((s for s, _ in points), default=None)
    if split is not None:
        first = probabilities(*choices[0])
        _shade(axes, 1, "//", first, 1, split <= FINE, "missed (false negatives)")
        _shade(axes, 0, "\\\\", 0, first, split >= FINE, "in vain (false positives)")
    for k, (num_bands, rows) in enumerate(choices):
        axes.plot(
            *(FINE, probabilities(num_bands, rows)), **line(k), label=f"{num_bands} bands of {rows}"
        )
    for kind, marker, chosen in (
        ("at least, asked for", "^", [x for x in points if x[1] >= 0.5]),
        ("at most, asked for", "v", [x for x in points if x[1] < 0.5]),
    ):
        if chosen:
            x, y = zip(*chosen, strict=True)
            axes.plot(x, y, marker, ms=10, mew=2, mfc="none", mec=INK, label=kind, clip_on=False)
    share_axes(axes)
    put_legend(figure, axes)
    says = [
        f"{b} bands of {r} rows find a similarity of {similarity_at(0.5, b, r):.2f} with "
        f"probability 50 % and one of {similarity_at(0.99, b, r):.2f} with 99 %"
        for b, r in choices
    ]
    says += [
        f"asked for was {percent(p)} at {s:g}; the first choice has {found(s, choices[0])}"
        for s, p in points
    ]
    return told(figure, says)


@styled
def similarity_histogram(
    counts: Sequence[float] | np.ndarray,
    limits: Sequence[float] | np.ndarray,
    bands: tuple[int, int] | None = None,
    edge_threshold: float | None = None,
    what: str = "pairs",
) -> Chart:
    """Draw how many pairs there are of each similarity, with the S-curve over it.

    Args:
        counts: [classes] pairs in each class, as `numpy.histogram` gives them.
        limits: [classes + 1] where the classes begin and end.
        bands: ``(num_bands, rows)``; None without banding.
        edge_threshold: Drawn as a line.
        what: What is counted, such as ``"edges"``.
    """
    counts, limits = np.asarray(counts, float), np.asarray(limits, float)
    figure, axes = new_axes(f"Similarities of {what}", SIMILARITY, what, legend=True)
    axes.bar(
        *(limits[:-1], counts, np.diff(limits)),
        align="edge",
        color=COLOURS[0],
        alpha=0.85,
        linewidth=0,
        label=f"{what} (left)",
    )
    count_axis(axes, counts)
    axes.set_xlim(min(0.0, limits[0]), max(1.0, limits[-1]))
    threshold_line(axes, edge_threshold)
    if bands is not None:
        right = axes.twinx()
        right.plot(
            FINE,
            probabilities(*bands),
            **line(1),
            label=f"P(candidate), {bands[0]} x {bands[1]} (right)",
        )
        right.set_ylabel("P(candidate)")
        right.set_ylim(0, 1.02)
        right.yaxis.set_major_formatter(PercentFormatter(1, decimals=0, symbol=" %"))
        right.grid(visible=False)
        right.spines["right"].set_visible(True)
    put_legend(figure, *figure.axes)
    total = counts.sum()
    says = [f"{short(total)} {what}"]
    if total:
        top = int(counts.argmax())
        says[0] += (
            f"; most of them, {short(counts[top])}, between {limits[top]:.2f} and "
            f"{limits[top + 1]:.2f}"
        )
        middle = limits[np.searchsorted(np.cumsum(counts), total / 2) + 1]
        says.append(f"half of them are below {middle:.2f}")
    if edge_threshold is not None:
        says.append(f"the edge threshold is {edge_threshold:g}")
    if bands is not None and edge_threshold is not None:
        share = found(edge_threshold, bands)
        says.append(f"there {bands[0]} bands of {bands[1]} rows find {share}")
    return told(figure, says)


@styled
def observed_curve(
    similarity: Sequence[float] | np.ndarray,
    share: Sequence[float] | np.ndarray,
    low: Sequence[float] | np.ndarray,
    high: Sequence[float] | np.ndarray,
    bands: tuple[int, int] | None = None,
    edge_threshold: float | None = None,
) -> Chart:
    """Draw which share of the pairs shares a bucket, by similarity, beside the S-curve.

    Without banding, it is the share of the pairs that was found.

    Args:
        similarity: [classes] where the classes are drawn, such as the mean similarity in each.
        share: [classes] that share, 0 to 1; NaN where there were no pairs.
        low, high: [classes] 95 % interval of it.
        bands: ``(num_bands, rows)``; None without banding.
        edge_threshold: Drawn as a line.
    """
    x, y, low, high = (np.asarray(v, float) for v in (similarity, share, low, high))
    there = ~np.isnan(y)
    x, y, low, high = (v[there] for v in (x, y, low, high))
    if bands is None:
        title, share_of, did = "Pairs that were found", "share of pairs found", "were found"
    else:
        title = "Pairs that share a bucket, predicted and observed"
        share_of, did = "share of pairs that share a bucket", "share a bucket"
    figure, axes = new_axes(title, SIMILARITY, share_of, legend=True)
    if bands is not None:
        axes.plot(
            *(FINE, probabilities(*bands)),
            **line(0),
            label=f"predicted, {bands[0]} bands of {bands[1]}",
        )
    threshold_line(axes, edge_threshold)
    if len(x):
        error = np.maximum(0, [y - low, high - y])
        axes.errorbar(
            *(x, y, error),
            fmt="o",
            color=COLOURS[1],
            ms=6,
            capsize=4,
            linewidth=1.6,
            label="observed, with 95 % interval",
        )
    share_axes(axes)
    put_legend(figure, axes)
    says = [
        f"of pairs around {s:.2f}, {percent(f)} {did} (95 % interval {percent(a)} to "
        f"{percent(b)})" + ("" if bands is None else f", {found(s, bands)} predicted")
        for s, f, a, b in zip(x, y, low, high, strict=True)
    ]
    return told(figure, says or ["no pairs were observed"])


@styled
def precision_recall(
    thresholds: Sequence[float] | np.ndarray,
    precision: Sequence[float] | np.ndarray,
    recall: Sequence[float] | np.ndarray,
    f1: Sequence[float] | np.ndarray | None = None,
) -> Chart:
    """Draw precision, recall and F1 of the pairs, by the similarity from which they are taken.

    Args:
        thresholds: [points] pairs of this similarity and more are taken.
        precision, recall, f1: [points] 0 to 1; NaN where there are none.
    """
    x = np.asarray(thresholds, float)
    figure, axes = new_axes(
        "Precision and recall of the edges", "edge threshold (Jaccard)", "share", legend=True
    )
    given = {"precision": precision, "recall": recall, **({} if f1 is None else {"F1": f1})}
    for k, (name, values) in enumerate(given.items()):
        axes.plot(
            *(x, np.asarray(values, float)),
            **line(k),
            marker="os^"[k],
            ms=5,
            markevery=max(1, len(x) // 8),
            label=name,
        )
    share_axes(axes)
    if len(x):
        axes.set_xlim(max(0.0, x.min() - 0.02), 1.01)
    put_legend(figure, axes)
    says = []
    for at in sorted({0, len(x) - 1}) if len(x) else ():
        words = ", ".join(
            f"{name} {percent(float(np.asarray(v, float)[at]))}" for name, v in given.items()
        )
        says.append(f"from {x[at]:g} on: {words}")
    if f1 is not None and np.isfinite(np.asarray(f1, float)).any():
        best = int(np.nanargmax(np.asarray(f1, float)))
        says.append(f"F1 is highest, {percent(float(np.asarray(f1)[best]))}, at {x[best]:g}")
    return told(figure, says or ["no edges"])


def _shade(
    axes: Any,
    k: int,
    hatch: str,
    low: np.ndarray | float,
    high: np.ndarray | float,
    where: np.ndarray,
    label: str,
) -> None:
    axes.fill_between(
        *(FINE, low, high),
        where=where,
        facecolor=COLOURS[k],
        edgecolor=COLOURS[k],
        alpha=0.35,
        hatch=hatch,
        linewidth=0,
        label=label,
    )
