"""The charts: what was counted or measured, drawn; nothing is computed here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, PercentFormatter

from experiments import paper, results
from experiments.accuracy import THRESHOLDS
from experiments.clustering import BANDS, MAIN, PUBLISHED, named

__all__ = ["draw"]

Found = dict[str, Any]
Lines = Sequence[Found]
#: Name in the legend, colour, marker, line.
Style = tuple[str, str, str, str]

#: Colours that people with any kind of sight tell apart (Okabe and Ito).
BLACK, ORANGE, SKY, GREEN = "#000000", "#E69F00", "#56B4E9", "#009E73"
BLUE, VERMILION, PINK = "#0072B2", "#D55E00", "#CC79A7"
_ROWS: dict[int, Style] = {
    rows: (f"{rows} row{'s' * (rows > 1)}", colour, marker, "-")
    for rows, colour, marker in zip(
        range(1, 6), (VERMILION, ORANGE, GREEN, BLUE, PINK), "os^Dv", strict=True
    )
}
_STORES: dict[str, Style] = {
    name: (name, colour, marker, line)
    for name, colour, marker, line in (
        ("in memory", BLACK, "o", "-"),
        ("Design 1, SQLite", VERMILION, "s", "-"),
        ("Design 2, SQLite", BLUE, "^", "-"),
        ("Design 2, SQLite, 10 parts", GREEN, "v", "-."),
        ("Design 1, Cassandra", ORANGE, "s", "--"),
        ("Design 2, Cassandra", SKY, "^", "--"),
    )
}
_SOURCES = {
    "synthetic": (BLUE, "o", "-"),
    "mtsamples": (ORANGE, "s", "-"),
    "aci_bench": (GREEN, "^", "-"),
}
_KINDS: dict[str, Style] = {
    "same_high": ("same set, high", BLUE, "o", "-"),
    "same_mid": ("same set, mid", ORANGE, "s", "--"),
    "different_high": ("different sets, high", VERMILION, "^", ":"),
}
_STYLE: Any = {
    "font.size": 12,
    "axes.titlesize": 12,
    "axes.titlelocation": "left",
    "axes.labelsize": 12,
    "axes.grid": True,
    "grid.color": "#dddddd",
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
    "svg.hashsalt": "neardup",
    "savefig.dpi": 110,
    "figure.facecolor": "white",
}


def draw(folder: Path) -> None:
    """Draw the charts of all experiments that have been run, as SVG and PNG; remove others."""
    charts: dict[str, Figure] = {}
    found = {name: results.load(folder, name) for name in ("accuracy", "time", "clustering")}
    with mpl.rc_context(_STYLE):
        if found["accuracy"]:
            for number, threshold in enumerate(THRESHOLDS, start=1):
                charts[f"fig{number}"] = _errors(found["accuracy"], threshold)
        if timed := found["time"]:
            charts["fig4-bands"] = _by_bands(timed["bands"])
            charts["fig5-notes"] = _by_store(timed["notes"], "notes", "notes")
            charts["fig6-words"] = _by_store(timed["words"], "words", "words of a note")
            charts["fig7-writes"] = _writes(timed["flush"]["seconds"])
            charts["fig8-memory"] = _memory(timed["memory"], timed["stored"])
        if found["clustering"]:
            charts["tables5-6"] = _by_threshold(found["clustering"])
            charts["fig9"] = _categories(found["clustering"], named(paper.BANDS))
            charts["fig9-more-rows"] = _categories(found["clustering"], named(BANDS))
        for path in (*folder.glob("*.svg"), *folder.glob("*.png")):
            if path.stem not in charts:
                path.unlink()
        for name, figure in charts.items():  # the same figure gives the same bytes
            figure.savefig(folder / f"{name}.svg", metadata={"Date": None})
            figure.set_layout_engine("none")  # it is done
            figure.savefig(folder / f"{name}.png", metadata={"Software": None})


def _panels(rows: int, columns: int, width: float, height: float) -> tuple[Figure, Any]:
    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False)


def _line(panel: Any, style: Style, x: Iterable[float], y: Iterable[float]) -> None:
    label, colour, marker, line = style
    panel.plot(list(x), list(y), label=label, color=colour, marker=marker, ls=line, ms=5)


def _each(panel: Any, lines: Lines, key: str, styles: dict[Any, Style], x: str, y: str) -> None:
    """Draw a line for each value of a key that there is."""
    for value, style in styles.items():
        chosen = [line for line in lines if line[key] == value]
        if chosen:
            _line(panel, style, (line[x] for line in chosen), (line[y] for line in chosen))


def _timed(panel: Any, lines: Lines, key: str, styles: dict[Any, Style], x: str) -> None:
    """Draw medians of the rounds, a line for each value of a key, with the fastest and slowest."""
    for value, (label, colour, marker, dashes) in styles.items():
        chosen = [(line[x], line["seconds"]) for line in lines if line[key] == value]
        if chosen:
            middle = np.array([np.median(seconds) for _, seconds in chosen])
            ends = np.array([[min(seconds), max(seconds)] for _, seconds in chosen]).T
            error = [middle - ends[0], ends[1] - middle]
            look = {"color": colour, "marker": marker, "ls": dashes, "ms": 5, "capsize": 3}
            panel.errorbar([at for at, _ in chosen], middle, error, label=label, **look)


def _thousands(axis: Any) -> None:
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))


def _logarithmic(panel: Any, subs: Sequence[float]) -> None:
    panel.set_yscale("log")
    panel.yaxis.set_major_locator(LogLocator(subs=subs, numticks=9))
    panel.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    panel.yaxis.set_minor_formatter(FuncFormatter(lambda value, _: ""))


def _symmetric(panel: Any, label: str | None = None) -> None:
    """Make an axis of counts that is linear below 1, so that 0 is on it."""
    panel.set_yscale("symlog", linthresh=1)
    panel.set_ylim(-0.1, max(1.3, panel.get_ylim()[1]))
    _thousands(panel.yaxis)
    if label:
        panel.set_ylabel(label)


def _thresholds(panel: Any) -> None:
    shown = [f"{value:.2f}" for value in paper.THRESHOLDS]
    panel.set_xticks(paper.THRESHOLDS, shown, fontsize=9)
    panel.set_xlabel("threshold")


def _errors(found: Found, threshold: float) -> Figure:
    """Draw false candidates and missed pairs against bands, a line for each number of rows."""
    figure, axes = _panels(len(found), 2, 10, 0.8 + 3.0 * len(found))
    for source, row in zip(found.values(), axes, strict=True):
        shown = [line for line in source["rows"] if line["threshold"] == threshold]
        for panel, what in zip(row, ("false", "missed"), strict=True):
            counted = {rows: (*style[:3], "") for rows, style in _ROWS.items()}
            predicted = {rows: (label, c, "", "--") for rows, (label, c, *_) in _ROWS.items()}
            _each(panel, shown, "rows", counted, "bands", what)
            _each(panel, shown, "rows", predicted, "bands", f"predicted_{what}")
            _symmetric(panel, "false candidates" if what == "false" else "missed pairs")
            panel.set_xlabel("bands")
            panel.set_title(source["title"])
    handles = [
        *(
            Line2D([], [], color=c, marker=m, ls="", label=label)
            for label, c, m, _ in _ROWS.values()
        ),
        Line2D([], [], color="#666666", marker="o", ls="", label="counted"),
        Line2D([], [], color="#666666", ls="--", label="predicted"),
    ]
    figure.legend(handles=handles, loc="outside right center")
    return figure


def _by_bands(lines: Lines) -> Figure:
    """Draw the seconds of jobs in memory, a line for each number of rows."""
    figure, axes = _panels(1, 1, 7.5, 4)
    _timed(axes[0, 0], lines, "rows", _ROWS, "bands")
    axes[0, 0].set(ylim=(0, None), xlabel="bands", ylabel="whole job in memory (seconds)")
    figure.legend(loc="outside right center")
    return figure


def _by_store(lines: Lines, what: str, label: str) -> Figure:
    """Draw the seconds of whole jobs, a line for each store."""
    figure, axes = _panels(1, 1, 7.5, 4)
    panel = axes[0, 0]
    _timed(panel, lines, "store", _STORES, what)
    panel.set(xscale="log", xlabel=label, ylabel="whole job (seconds)")
    panel.set_xticks(sorted({line[what] for line in lines}))
    panel.minorticks_off()
    _thousands(panel.xaxis)
    _logarithmic(panel, (1, 2, 5))
    figure.legend(loc="outside right center")
    return figure


def _writes(seconds: dict[str, list[float]]) -> Figure:
    """Draw the time of each note, a panel for each store."""
    names = [name for name in _STORES if name in seconds]
    figure, axes = _panels(len(names), 1, 8, 1.2 + 1.4 * len(names))
    every = [1000 * value for name in names for value in seconds[name]]
    for panel, name in zip(axes[:, 0], names, strict=True):
        milliseconds = [1000 * value for value in seconds[name]]
        panel.plot(range(1, len(milliseconds) + 1), milliseconds, color=_STORES[name][1], lw=1)
        panel.set_title(name)
        _logarithmic(panel, (1,))
        panel.set_ylim(min(every) / 1.5, max(every) * 1.6)
    axes[-1, 0].set_xlabel("note")
    figure.supylabel("milliseconds for a note", fontsize=12)
    return figure


def _memory(jobs: Lines, stored: Lines) -> Figure:
    """Draw peaks of private memory: whole jobs, and a store by itself above an empty process."""
    figure, axes = _panels(1, 2, 10.5, 4.2)
    empty = min(line["private_bytes"] for line in stored if not line["notes"])
    filled = [line for line in stored if line["notes"]]
    titles = ("whole job", "store by itself, above an empty process")
    for panel, lines, off, title in zip(axes[0], (jobs, filled), (0, empty), titles, strict=True):
        known = [
            {**line, "MB": (line["private_bytes"] - off) / 1e6}
            for line in lines
            if line["private_bytes"] is not None
        ]
        _each(panel, known, "store", _STORES, "notes", "MB")
        panel.set(xlim=(0, None), ylim=(0, None), xlabel="notes", title=title)
        panel.set_ylabel("peak of private memory (MB)")
        _thousands(panel.xaxis)
        _thousands(panel.yaxis)
        panel.locator_params(axis="x", nbins=5)
    _legend_below(figure, axes)
    return figure


def _by_threshold(found: Found) -> Figure:
    """Draw tables 5 and 6: of disjoint sets in the published order, with the paper's points."""
    figure, axes = _panels(1, 3, 13, 4.2)
    excluded = {t: n / paper.CANDIDATES for t, n in paper.EXCLUDED.items()}
    columns: list[tuple[str, Callable[[Found, Found], float], dict[float, float]]] = [
        ("candidates not compared", lambda row, of: row["excluded"] / of["candidates"], excluded),
        ("modularity", lambda row, _: row["modularity"], paper.MODULARITY),
        ("clusters of two or more", lambda row, _: row["clusters"], paper.CLUSTERS),
    ]
    for panel, (label, value, published) in zip(axes[0], columns, strict=True):
        for name, source in found.items():
            for bands, dashes in ((named(paper.BANDS), "-"), (named(BANDS), "--")):
                setting = source["settings"][bands]
                rows = [row for row in setting["rows"] if row["method"] == PUBLISHED]
                y = [value(row, setting) for row in rows]
                style = (f"{source['title']} {bands}", *_SOURCES[name][:2], dashes)
                _line(panel, style, paper.THRESHOLDS, y)
        _line(panel, ("paper", VERMILION, "D", ""), published, published.values())
        panel.set(ylim=(min(0, panel.get_ylim()[0]), None), ylabel=label)
        _thresholds(panel)
    axes[0, 0].yaxis.set_major_formatter(PercentFormatter(1, decimals=0))
    _legend_below(figure, axes)
    return figure


def _categories(found: Found, bands: str) -> Figure:
    """Draw figure 9: pairs of three kinds against the threshold, a panel for each source."""
    figure, axes = _panels(1, len(found), 1 + 4 * len(found), 4.2)
    _, mid, _, apart, *_ = paper.TABLE_7["paper: disjoint sets"]
    published = {"same_mid": int(mid), "different_high": int(apart)}
    for panel, source in zip(axes[0], found.values(), strict=True):
        setting = source["settings"][bands]
        rows = [row for row in setting["rows"] if row["method"] == PUBLISHED]
        for kind, style in _KINDS.items():
            _line(panel, style, paper.THRESHOLDS, (row[kind] for row in rows))
        for kind, value in published.items():
            look = {"color": _KINDS[kind][1], "mfc": "none", "ms": 10, "mew": 1.5}
            panel.plot(MAIN, value, "D", **look)
        _symmetric(panel)
        panel.set_title(f"{source['title']} {bands}")
        _thresholds(panel)
    axes[0, 0].set_ylabel("candidate pairs")
    paper_line = Line2D([], [], color="#666666", marker="D", mfc="none", ls="", label="paper")
    axes[0, 0].add_line(paper_line)
    _legend_below(figure, axes)
    return figure


def _legend_below(figure: Figure, axes: Any) -> None:
    shown: dict[str, Any] = {}
    for panel in axes.flat:
        handles, labels = panel.get_legend_handles_labels()
        shown = dict(zip(labels, handles, strict=True)) | shown
    figure.legend(shown.values(), shown.keys(), loc="outside lower center", ncols=4)
