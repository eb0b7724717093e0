"""Figures of counts: clusters, buckets, candidates, and what each stage took."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.ticker import LogLocator, MaxNLocator

from neardup.report.drawing import (
    COLOURS,
    ShortFormatter,
    count_axis,
    line,
    new_axes,
    nothing,
    put_legend,
    styled,
    told,
)
from neardup.report.figures import INK, Chart
from neardup.report.numbers import short, size

__all__ = ["bucket_sizes", "candidates_per_band", "cluster_sizes", "stages"]


@styled
def cluster_sizes(sizes: Mapping[int, int]) -> Chart:
    """Draw how many clusters there are of each size, both axes logarithmic.

    Args:
        sizes: Number of clusters by number of documents; single documents may be left out.
    """
    pairs = sorted((int(s), int(n)) for s, n in sizes.items() if n)
    figure, axes = new_axes("Sizes of clusters", "documents in the cluster", "clusters")
    axes.set_xscale("log")
    axes.set_yscale("log")
    if not pairs:
        return nothing(figure, axes, "no clusters")
    x, y = np.array(pairs, float).T
    axes.plot(x, y, "o", color=COLOURS[0], ms=6, alpha=0.8, mew=0)
    axes.set_xlim(0.8 * x[0], 1.5 * x[-1])
    axes.set_ylim(0.6, 2 * y.max())
    for axis, values in ((axes.xaxis, x), (axes.yaxis, y)):
        # Within two decades, powers of ten alone would leave an axis with hardly a number.
        near = values.max() < 100 * values.min()
        axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if near else (1.0,)))
        axis.set_major_formatter(ShortFormatter())
        axis.set_minor_formatter("")
    several = [(s, n) for s, n in pairs if s > 1]
    says = [
        f"{short(sum(n for _, n in several))} clusters of two and more documents with "
        f"{short(sum(s * n for s, n in several))} documents together"
    ]
    if several:
        common = max(several, key=lambda p: p[1])
        says.append(
            f"the commonest size is {common[0]:,}, {short(common[1])} times; the largest cluster "
            f"has {several[-1][0]:,}"
        )
    alone = sizes.get(1, 0)
    if alone:
        says.append(f"{short(alone)} documents are alone")
    return told(figure, says)


@styled
def candidates_per_band(
    candidates: Sequence[float] | np.ndarray, expected: float | None = None
) -> Chart:
    """Draw how many candidate pairs each band gave.

    Args:
        candidates: [num_bands] pairs that shared a bucket of the band.
        expected: Pairs expected in each, drawn as a line.
    """
    values = np.asarray(candidates, float)
    figure, axes = new_axes(
        "Candidates of each band", "band", "candidate pairs", legend=expected is not None
    )
    if not len(values):
        return nothing(figure, axes, "no bands")
    axes.bar(
        *(1 + np.arange(len(values)), values),  # as `explain` counts them
        width=0.8,
        color=COLOURS[0],
        linewidth=0,
        label="candidate pairs",
    )
    count_axis(axes, values, even=True)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.grid(axis="x", visible=False)
    says = [
        f"{len(values)} bands gave {short(values.min())} to {short(values.max())} candidate pairs "
        f"each, {short(values.sum())} together"
    ]
    if expected is not None:
        axes.axhline(expected, **line(1), label=f"expected, {short(expected)}")
        put_legend(figure, axes)
        says.append(f"{short(expected)} were expected in each")
    return told(figure, says)


@styled
def bucket_sizes(sizes: Mapping[str, int]) -> Chart:
    """Draw how many buckets there are of each size.

    Args:
        sizes: ``bucket_sizes`` of ``run.json``: buckets by classes of sizes, such as ``"3-4"``.
    """
    figure, axes = new_axes("Sizes of buckets", "documents in the bucket", "buckets, all bands")
    names, values = list(sizes), np.array(list(sizes.values()), float)
    if not values.any():
        return nothing(figure, axes, "no buckets of two and more documents")
    axes.bar(range(len(names)), values, width=0.85, color=COLOURS[0], linewidth=0)
    axes.set_xticks(range(len(names)), names, rotation=40 if len(names) > 6 else 0)
    if len(names) > 6:
        for label in axes.get_xticklabels():
            label.set(ha="right", rotation_mode="anchor")
    axes.set_yscale("log")
    axes.set_ylim(0.6, 2 * values.max())
    axes.yaxis.set_major_formatter(ShortFormatter())
    axes.yaxis.set_minor_formatter("")
    axes.grid(axis="x", visible=False)
    return told(
        figure,
        [
            f"{short(values.sum())} buckets of two and more documents",
            f"{short(values[0])} of size {names[0]}; the largest are of size {names[-1]}, "
            f"{short(values[-1])} of them",
        ],
    )


@styled
def stages(
    seconds: Mapping[str, float],
    memory: Mapping[str, float] | None = None,
    predicted: Mapping[str, float] | None = None,
) -> Chart:
    """Draw time, and memory if it is known, of each stage of a run.

    Args:
        seconds: By stage, as in ``run.json``.
        memory: Bytes by stage, the peak in each.
        predicted: Seconds by stage, drawn as marks.
    """
    names = list(seconds)
    figure = Chart(figsize=(6.2, 1.5 + 0.42 * max(4, len(names))), layout="constrained")
    figure.heading = "Time of each stage" if not memory else "Time and memory of each stage"
    figure.suptitle(figure.heading, color=INK, fontsize=13)
    left, *right = figure.subplots(1, 1 + bool(memory), sharey=True, squeeze=False)[0]
    if not names:
        return nothing(figure, left, "no stages")
    y = np.arange(len(names))
    left.barh(y, list(seconds.values()), color=COLOURS[0], linewidth=0, label="taken")
    left.set_yticks(y, names)
    left.set_ylim(len(names) - 0.4, -0.6)
    left.set_xlabel("seconds")
    total = sum(seconds.values())
    longest = max(names, key=lambda n: seconds[n])
    says = [
        f"{short(total)} seconds in all",
        f"the longest stage was {longest} with {short(seconds[longest])} seconds",
    ]
    if predicted:
        known = [k for k, n in enumerate(names) if n in predicted]
        times = [predicted[names[k]] for k in known]
        left.plot(times, known, "D", ms=8, mew=2, mfc="none", mec=COLOURS[1], label="predicted")
        put_legend(figure, left)
        says.append(f"{short(sum(times))} seconds were predicted")
    if memory and right:
        held = [memory.get(n, 0) / 1e6 for n in names]
        right[0].barh(y, held, color=COLOURS[2], linewidth=0)
        right[0].set_xlabel("memory, MB")
        most = max(names, key=lambda n: memory.get(n, 0))
        says.append(f"memory was highest in {most} with {size(memory.get(most, 0))}")
    for axes in figure.axes:
        axes.grid(axis="y", visible=False)
        axes.xaxis.set_major_formatter(ShortFormatter())
        axes.xaxis.set_major_locator(MaxNLocator(5))
    return told(figure, says)
