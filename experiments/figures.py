"""Which figures there are, by what the experiments found."""

from __future__ import annotations

from pathlib import Path

from experiments import plots, results
from experiments.accuracy import THRESHOLDS
from experiments.clustering import CANDIDATES, EDGES
from experiments.timing import STEP

__all__ = ["PAPER_SAVED", "draw"]

#: Share of the candidate pairs that the paper did not compare, at its two ends (section 10).
PAPER_SAVED = {EDGES[0]: 3398 / 6388, EDGES[-1]: 1707 / 6388}


def draw(folder: Path) -> None:
    """Draw all figures whose experiment has been run, as SVG and PNG."""
    for name, found in (results.load(folder, "accuracy") or {}).items():
        for number, threshold in enumerate(THRESHOLDS, start=1):
            figure = plots.accuracy_figure(found["rows"], found["title"], threshold)
            plots.save(figure, folder, f"fig{number}-{name}")
    measured = results.load(folder, "time")
    if measured is not None:
        for number, (what, label) in enumerate(
            (("bands", "bands"), ("notes", "notes"), ("words", "words of a note")), start=4
        ):
            figure = plots.time_figure(measured[what], what, label)
            plots.save(figure, folder, f"fig{number}-{what}")
        plots.save(plots.flush_figure(measured["flush"], STEP), folder, "fig7-flush")
        base = min(line["anonymous_bytes"] for line in measured["matrix"] if not line["notes"])
        lines = [line for line in measured["matrix"] if line["notes"]]
        plots.save(plots.memory_figure(measured["memory"], lines, base), folder, "fig8-memory")
    main = "{} x {}".format(*CANDIDATES[0])
    for name, found in (results.load(folder, "clustering") or {}).items():
        rows = [row for row in found["rows"] if row["bands"] == main]
        plots.save(plots.modularity_figure(rows, found["title"]), folder, f"fig9-{name}")
        saved = [row for row in rows if row["method"] == "bounded"]
        figure = plots.excluded_figure(saved, found["title"], PAPER_SAVED)
        plots.save(figure, folder, f"table5-{name}")
