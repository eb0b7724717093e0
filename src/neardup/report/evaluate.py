"""How a run agrees with the truth, in a few lines, and as a chart."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from neardup.report.numbers import counted, percent
from neardup.report.tables import aligned

if TYPE_CHECKING:
    from neardup.report.charts import Chart

__all__ = ["chart", "render"]


def render(result: dict[str, Any]) -> str:
    """Return what a person wants to know.

    Args:
        result: As `neardup.evaluate` returns it.
    """
    truth, edges, clusters = result["truth"], result["edges"], result["clusters"]
    blocking = result["blocking"]
    says = [
        f"truth       {counted(truth['pairs'], 'pair')}; it names {truth['documents']:,} of "
        f"{counted(result['documents'], 'document')}"
        + (", the others are left out" if truth["only_named"] else "")
    ]
    if not truth["pairs"]:
        says.append(
            "warning     no two documents are alike by it: all that the run found counts as wrong"
        )
    if truth["skipped"]:
        says.append(f"skipped     {counted(truth['skipped'], 'row')} with ids that the run has not")
    pairwise = clusters["pairwise"]
    rows = [
        ["edges", f"{edges['given']:,}", f"{edges['true']:,}", *_scores(edges)],
        ["clusters, pairs", f"{pairwise['given']:,}", f"{pairwise['true']:,}", *_scores(pairwise)],
        ["clusters, B-cubed", "", "", *_scores(clusters["b_cubed"])],
    ]
    rand = clusters["adjusted_rand_index"]
    says += [
        "",
        aligned(["", "pairs", "of them true", "precision", "recall", "F1"], rows, left=1),
        "",
        "adjusted Rand index  " + ("none" if rand is None else f"{rand:z.4f}"),
        f"pairs completeness   {_share(blocking['pairs_completeness'])}: "
        f"{counted(blocking['found'], 'true pair')} joined by an edge or within one cluster",
        f"pairs quality        {_share(blocking['pairs_quality'])}: true edges among "
        f"{counted(blocking['compared'], 'pair')} compared",
        f"reduction ratio      {_share(blocking['reduction_ratio'])}: pairs that were not compared",
        "",
        aligned(
            ["edges from", "pairs", "of them true", "precision", "recall", "F1"],
            [
                [
                    f"{line['edge_threshold']:g}",
                    f"{line['given']:,}",
                    f"{line['true']:,}",
                    *_scores(line),
                ]
                for k, line in enumerate(result["by_threshold"])
                if k == 0 or round(line["edge_threshold"] * 100) % 5 == 0
            ],
        ),
    ]
    if result["pairs"] == "collapsed":
        says.append(
            "With --pairs collapsed, edges are those that clustering needed; --pairs all has more."
        )
    return "\n".join(says)


def chart(result: dict[str, Any]) -> Chart:
    """Return precision, recall and F1 of the edges by edge threshold.

    Args:
        result: As `neardup.evaluate` returns it.
    """
    from neardup.report.charts import precision_recall  # most callers want no chart

    lines = result["by_threshold"]
    scores = [
        [math.nan if line[name] is None else line[name] for line in lines]
        for name in ("precision", "recall", "f1")
    ]
    return precision_recall([line["edge_threshold"] for line in lines], *scores)


def _scores(scores: dict[str, Any]) -> list[str]:
    return [_share(scores[name]) for name in ("precision", "recall", "f1")]


def _share(value: float | None) -> str:
    return "none" if value is None else percent(value)
