"""Charts over similarity, each a function from plain numbers to a Matplotlib figure.

They are made without pyplot: no window, no global state. ``chart.heading`` and
``chart.alternative`` describe in words what a chart shows, and `save` writes it to a file. Colours
can be distinguished by those who see few of them, and lines differ in dashes too.

Raises:
    DependencyError: Matplotlib is not installed.
"""

from __future__ import annotations

import base64
import io
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from neardup.errors import DependencyError, SpecError
from neardup.report.numbers import percent, with_interval
from neardup.report.outfile import check_file, write_file
from neardup.report.visible import html_page
from neardup.sketch.bands import candidate_probability, similarity_at

try:
    import matplotlib.style
    from matplotlib.figure import Figure
    from matplotlib.ticker import PercentFormatter
except ImportError as error:
    raise DependencyError("charts need Matplotlib", "pip install 'neardup[report]'") from error

_ENDINGS = (".svg", ".png", ".html")
#: Colour of text and axes.
INK = "#1b1f24"
_STYLE = {
    "font.size": 12,
    "legend.fontsize": 11,
    "legend.frameon": False,
    "lines.linewidth": 2.2,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.18,
    "grid.linewidth": 0.8,
    "hatch.linewidth": 0.7,
    # Text as outlines: drawn alike wherever it is opened, whichever fonts are there.
    "svg.fonttype": "path",
    "svg.hashsalt": "neardup",
    **dict.fromkeys(
        ("text.color", "axes.edgecolor", "axes.labelcolor", "axes.titlecolor", "grid.color"), INK
    ),
    **dict.fromkeys(("xtick.color", "ytick.color", "hatch.color", "patch.edgecolor"), INK),
}
# Close to blue, vermilion, green and purple of Okabe and Ito, and a grey; each has a contrast of
# 3 and more to white.
_COLOURS = ("#1f80c0", "#d55e00", "#009e73", "#c070a0", "#7f7f7f")
_DASHES = ("-", (0, (5, 2)), (0, (1, 1.3)), (0, (6, 2, 1.5, 2)), (0, (9, 3)))
_SIMILARITY = "similarity of a pair (Jaccard)"
_CANDIDATE = "P(candidate)"
#: Where S-curves are computed.
_FINE = np.linspace(0, 1, 401)


class Chart(Figure):
    """A Matplotlib figure that notebooks draw without pyplot.

    Attributes:
        heading: What it shows, in a few words.
        alternative: What can be seen in it, in one or two sentences.
    """

    heading = ""
    alternative = ""

    def _repr_png_(self) -> bytes:
        return _drawn(self, "png", dpi=110)


@contextmanager
def _style() -> Iterator[None]:
    """Draw in our style, whatever the user's settings of Matplotlib are; they are put back."""
    with matplotlib.style.context(["default", _STYLE]):
        yield


def save(chart: Chart, path: str | os.PathLike[str]) -> Path:
    """Write a chart to a file, which appears as a whole; one that exists is replaced.

    The ending is ``.svg``, ``.png`` (200 dots per inch), or ``.html`` for a page with the chart and
    its description.

    Raises:
        SpecError: Another ending.
        OutputError: The file can't be written.
    """
    path = check_path(path)
    kind = path.suffix.lower()
    data = _drawn(chart, "png" if kind == ".png" else "svg", dpi=200)
    if kind == ".html":
        data = html_page(
            "chart.html.jinja",
            ["plain.css"],
            heading=chart.heading,
            caption=chart.alternative,
            image=f"data:image/svg+xml;base64,{base64.b64encode(data).decode()}",
        ).encode()
    write_file(path, data)
    return path


def _drawn(chart: Chart, kind: str, dpi: float) -> bytes:
    """Return a file that is the same for equal charts."""
    about: dict[str, str | None] = {"Software": None}
    if kind == "svg":
        about = dict.fromkeys(("Date", "Creator", "Format", "Type"))
        about |= {"Title": chart.heading, "Description": chart.alternative}
    file = io.BytesIO()
    with _style():
        chart.savefig(file, format=kind, dpi=dpi, facecolor="white", metadata=about)
    return file.getvalue()


def check_path(path: str | os.PathLike[str], inputs: Iterable[str | os.PathLike[str]] = ()) -> Path:
    """Return the path if `save` can write there, as far as can be known before the work."""
    path = Path(path)
    if path.suffix.lower() not in _ENDINGS:
        known = "known endings are " + ", ".join(_ENDINGS)
        raise SpecError(f"no chart can be written as {path.name!r}", known)
    return check_file(path, inputs)


@_style()
def s_curves(
    choices: Sequence[tuple[int, int]], points: Sequence[tuple[float, float]] = ()
) -> Chart:
    """Draw P(candidate) by similarity for some bands and rows, and the points asked for.

    With a point, two regions of the first choice are shaded, on both sides of the lowest similarity
    that is to be found (or of the highest that is not, if none is): missed pairs above the curve,
    and pairs that are compared in vain below it.

    Args:
        choices: ``(num_bands, rows)``, the first one being the one chosen; up to five are drawn.
        points: ``(similarity, probability)``; below a half is a maximum, from a half on a minimum.

    Raises:
        ValueError: No choices, or more than five.
    """
    if not 1 <= len(choices) <= len(_COLOURS):
        raise ValueError(f"{len(choices)} choices; expected 1 to {len(_COLOURS)}")
    chart, axes = _new_axes("Which pairs become candidates", _SIMILARITY, _CANDIDATE)
    minima, maxima = ([x for x in points if (x[1] >= 0.5) is high] for high in (True, False))
    if points:
        split = min(minima)[0] if minima else max(maxima)[0]
        curve = candidate_probability(_FINE, *choices[0])
        for colour, hatch, limit, where, label in (
            (_COLOURS[1], "//", 1, split <= _FINE, "missed (false negatives)"),
            (_COLOURS[0], "\\\\", 0, split >= _FINE, "in vain (false positives)"),
        ):
            look = {"facecolor": colour, "edgecolor": colour, "alpha": 0.35, "linewidth": 0}
            axes.fill_between(_FINE, limit, curve, where=where, hatch=hatch, label=label, **look)
    for k, bands in enumerate(choices):
        _s_curve(axes, k, bands, "{} bands of {}")
    for chosen, marker, label in (
        (minima, "^", "at least, asked for"),
        (maxima, "v", "at most, asked for"),
    ):
        look = {"ms": 10, "mew": 2, "mfc": "none", "mec": INK, "clip_on": False}
        if chosen:
            axes.plot(*zip(*chosen, strict=True), marker, label=label, **look)
    _share_axes(axes)
    says = [
        f"{b} bands of {r} rows find a similarity of {similarity_at(0.5, b, r):.2f} with "
        f"probability 50 % and one of {similarity_at(0.99, b, r):.2f} with 99 %"
        for b, r in choices
    ]
    says += [
        f"asked for was {percent(p)} at {s:g}; the first choice has {_found(s, choices[0])}"
        for s, p in points
    ]
    return _finished(chart, says)


@_style()
def observed_curve(audit: Mapping[str, Any]) -> Chart:
    """Draw which share of the pairs shares a bucket, by similarity, next to the S-curve.

    Without banding, it is the share of the pairs that was found. The audit is given as a dict, as
    ``Audit.as_dict`` returns it.
    """
    curve, threshold = audit["curve"], audit["threshold"]
    bands = audit["bands"] and (audit["bands"]["num_bands"], audit["bands"]["rows"])
    title, share_of, did = "Pairs that were found", "share of pairs found", "were found"
    if bands is not None:
        title = "Pairs that share a bucket, predicted and observed"
        share_of, did = "share of pairs that share a bucket", "share a bucket"
    chart, axes = _new_axes(title, _SIMILARITY, share_of)
    if bands is not None:
        _s_curve(axes, 0, bands, "predicted, {} bands of {}")
    look = {"color": INK, "linewidth": 1.4, "linestyle": (0, (3, 2))}
    axes.axvline(threshold, label=f"threshold {threshold:g}", **look)
    if curve:
        columns = ("similarity", "observed", "observed_low", "observed_high")
        x, y, low, high = (np.array([line[of] for line in curve]) for of in columns)
        error = np.maximum(0, [y - low, high - y])
        look = {"fmt": "o", "color": _COLOURS[1], "ms": 6, "capsize": 4, "linewidth": 1.6}
        axes.errorbar(x, y, error, label="observed, with 95 % interval", **look)
    _share_axes(axes)
    says = []
    for line in curve:
        share = with_interval(line, "observed")
        predicted = f", {_found(line['similarity'], bands)} predicted" if bands else ""
        says.append(f"of pairs around {line['similarity']:.2f}, {share} {did}{predicted}")
    return _finished(chart, says or ["no pairs were observed"])


@_style()
def precision_recall(evaluation: Mapping[str, Any]) -> Chart:
    """Draw precision, recall and F1 of the pairs, by the similarity from which they are taken."""
    lines = evaluation["by_threshold"]["lines"]
    title = "Precision and recall of the edges"
    chart, axes = _new_axes(title, "threshold (Jaccard)", "share")
    names = ("threshold", "precision", "recall", "f1")
    x, *scores = (np.array([line[of] for line in lines], float) for of in names)
    look = {"ms": 5, "markevery": max(1, len(x) // 8)}
    labels = ("precision", "recall", "F1")
    for k, (label, y) in enumerate(zip(labels, scores, strict=True)):
        axes.plot(x, y, **_line(k), marker="os^"[k], label=label, **look)
    _share_axes(axes)
    if not len(x):
        return _finished(chart, ["no edges"])
    axes.set_xlim(max(0.0, x.min() - 0.02), 1.01)
    says = []
    for at in sorted({0, len(x) - 1}):
        values = (f"{label} {percent(y[at])}" for label, y in zip(labels, scores, strict=True))
        says.append(f"from {x[at]:g} on: {', '.join(values)}")
    f1 = scores[2]
    if np.isfinite(f1).any():
        best = int(np.nanargmax(f1))
        says.append(f"F1 is highest, {percent(f1[best])}, at {x[best]:g}")
    return _finished(chart, says)


@_style()
def similarity_histogram(
    counts: Sequence[int],
    threshold: float,
    modes: tuple[float, float] | None = None,
    candidates: Callable[[np.ndarray], np.ndarray] | None = None,
) -> Chart:
    """Draw how many pairs of records have which similarity, and where the threshold is.

    Args:
        counts: Pairs in classes of equal width from 0 to 1.
        threshold: Drawn as a line.
        modes: Similarities of the two modes, drawn as lines.
        candidates: P(candidate) by similarity, drawn over the histogram.
    """
    title = "Candidates by similarity"
    chart, axes = _new_axes(title, "similarity of two records", "candidates")
    edges = np.linspace(0, 1, len(counts) + 1)
    high = edges[:-1] >= threshold - 1e-9
    for colour, hatch, some, label in (
        (_COLOURS[4], "", ~high, "below the threshold"),
        (_COLOURS[0], "//", high, "from the threshold on"),
    ):
        look = {"width": edges[1], "align": "edge", "color": colour, "alpha": 0.6, "hatch": hatch}
        axes.bar(edges[:-1][some], np.asarray(counts)[some], label=label, **look)
    axes.set_yscale("symlog", linthresh=1)
    axes.set_xlim(0, 1)
    axes.axvline(threshold, color=INK, linewidth=1.4, label=f"threshold {threshold:g}")
    for mode in modes or ():
        axes.axvline(mode, color=_COLOURS[1], linewidth=1.2, linestyle=_DASHES[2])
    if candidates is not None:
        other = axes.twinx()
        other.plot(_FINE, candidates(_FINE), **_line(1), label="P(candidate)")
        other.set(ylabel="P(candidate)", ylim=(0, 1.02))
    says = [f"{int(np.asarray(counts)[high].sum()):,} of {sum(counts):,} candidates reach it"]
    if modes is not None:
        says.append(f"the modes are at {modes[0]:.2f} and {modes[1]:.2f}")
    return _finished(chart, says)


def _new_axes(heading: str, x: str, y: str) -> tuple[Chart, Any]:
    chart = Chart(figsize=(6.2, 4.8), layout="constrained")
    chart.heading = heading
    axes = chart.subplots()
    axes.set(title=heading, xlabel=x, ylabel=y)
    return chart, axes


def _line(k: int) -> dict[str, Any]:
    """Return how the k-th line looks: distinguished by colour, and by dashes."""
    return {"color": _COLOURS[k], "linestyle": _DASHES[k]}


def _s_curve(axes: Any, k: int, bands: tuple[int, int], label: str) -> None:
    axes.plot(_FINE, candidate_probability(_FINE, *bands), **_line(k), label=label.format(*bands))


def _found(similarity: float, bands: tuple[int, int]) -> str:
    """Return P(candidate) in percent."""
    return percent(candidate_probability(float(similarity), *bands))


def _share_axes(axes: Any) -> None:
    """Let both axes go from 0 to 1, the second one in percent."""
    axes.set_xlim(0, 1.01)
    axes.set_ylim(0, 1.02)
    axes.yaxis.set_major_formatter(PercentFormatter(1, decimals=0, symbol=" %"))


def _finished(chart: Chart, says: Sequence[str]) -> Chart:
    """Put one legend below the axes, and give the chart its description."""
    handles: list[Any] = []
    labels: list[str] = []
    for axes in chart.axes:
        handles += axes.get_legend_handles_labels()[0]
        labels += axes.get_legend_handles_labels()[1]
    columns = 2 if sum(map(len, labels)) > 48 else len(labels)
    if labels:
        chart.legend(handles, labels, loc="outside lower center", ncols=columns, handlelength=2.8)
    chart.alternative = f"{chart.heading}: {'; '.join(says)}."
    return chart
