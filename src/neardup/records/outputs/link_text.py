"""A linkage, and how it agrees with the ground truth, in a few lines."""

from __future__ import annotations

import math
from bisect import bisect
from collections.abc import Iterator, Sequence
from typing import Any

from neardup.report.numbers import aligned, counted, labelled, percent

WIDTH = 20
_BAR = 40
_SCORES = ("precision", "recall", "f1")


def render_blocks(counts: dict[str, Any]) -> str:
    """Return the summary of candidates as text."""
    return _labelled([*_blocks(counts)])


def render(summary: dict[str, Any], histogram: bool = True) -> str:
    """Return the summary of a linkage as text."""
    counts, threshold = summary["counts"], summary["threshold"]
    lines = [*_blocks(counts), ("similarities", about_threshold(threshold))]
    at = f"{summary['spec']['decide_at']:g}"
    lines.append(("pairs", f"{counts['pairs']:,} of probability {at} or more"))
    clusters = f"{counts['clusters']:,} of two records and more; the largest has"
    lines.append(("clusters", f"{clusters} {counts['largest']:,}"))
    lines += [("note", note) for note in summary["notes"]]
    shown = [_labelled(lines)]
    if histogram and counts["candidates"]:
        shown.append(draw_histogram(threshold["histogram"], threshold["value"]))
    return "\n\n".join(shown)


def _labelled(lines: list[tuple[str, str]]) -> str:
    """Labels are names of blocks too, which may be longer than the others."""
    return labelled(lines, max(WIDTH, *(len(label) + 2 for label, _ in lines)))


def draw_histogram(counts: Sequence[int], threshold: float) -> str:
    """Return the histogram of similarities with one line for each class; bars are logarithmic.

    A line also has the number of pairs from there on.
    """
    bits = [math.log1p(count) for count in counts]
    widest = max(1.0, *bits)
    rows = []
    edges = [k / len(counts) for k in range(len(counts))]
    marked = max(0, bisect(edges, threshold) - 1)
    for k, (low, count) in enumerate(zip(edges, counts, strict=True)):
        mark = "<- separated" if k == marked else ""
        bar = "#" * round(_BAR * bits[k] / widest)
        if count or mark or (any(counts[:k]) and any(counts[k:])):
            pairs = sum(counts[k:])
            rows.append(f"{low:5.3f} {count:>11,} {pairs:>11,} {bar:<{_BAR}} {mark}".rstrip())
    head = "similarity from, candidates, pairs from it on; bars on a logarithmic scale"
    return "\n".join([head, *rows])


def _blocks(counts: dict[str, Any]) -> Iterator[tuple[str, str]]:
    files = "of two files" if counts["sources"] > 1 else "of one file"
    if counts["against"] is not None:
        files = f"against {counts['against']:,} of the index"
    yield "records", f"{counts['records']:,} {files}"
    if counts["skipped"]:
        yield "left out", f"{counts['skipped']:,} larger than allowed"
    each = f"{counts['candidates_per_record']:.1f} per record"
    yield "candidates", f"{counts['candidates']:,}, {each}"
    yield "reduction ratio", percent(counts["reduction_ratio"])
    bands = f"{counts['bands']} bands of {counts['rows']} rows"
    at = f"{percent(counts['recall'])} of the pairs of similarity {counts['block_at']:g}"
    yield "recall", f"{at}, predicted for {bands}"
    for block in counts["blocks"][1:]:
        yield f"by {block['name']}", f"{block['added']:,} more candidates of {block['pairs']:,}"


def about_threshold(threshold: dict[str, Any]) -> str:
    """Return a threshold and where it comes from."""
    words = {
        "valley": "in the valley of the histogram",
        "shoulder": "at the bend of the histogram, which has no valley",
        "default": "a guess, as the histogram has no valley",
        "few": "a guess, as there are too few pairs",
        "matches": "a guess, as nearly all pairs are similar",
        "index": "that of the index",
    }
    shown = f"separated at {threshold['value']:g}, {words[threshold['kind']]}"
    if threshold["modes"] is not None:
        low, high = threshold["modes"]
        shown += f" between its modes at {low:.2f} and {high:.2f}"
    return shown


def render_evaluation(result: dict[str, Any]) -> str:
    """Return how candidates and decision agree with the truth, each by itself."""
    truth = result["truth"]
    pairs = counted(truth["pairs"], "true pair")
    skipped = f"; {counted(truth['skipped'], 'row')} skipped" if truth["skipped"] else ""
    shown = [f"truth: {pairs}{skipped}"]
    if "blocking" in result:
        shown.append("Blocking\n" + labelled(_blocking(result), WIDTH))
    if "decision" in result:
        shown.append("Decision\n" + _decision(result["decision"]))
    if "clusters" in result:
        shown.append("Clusters\n" + _scored(_clusters(result["clusters"])))
    return "\n\n".join(shown)


def _blocking(result: dict[str, Any]) -> Iterator[tuple[str, str]]:
    blocking = result["blocking"]
    yield "pairs completeness", percent(blocking["pairs_completeness"])
    yield "pairs quality", percent(blocking["pairs_quality"])
    yield "reduction ratio", percent(blocking["reduction_ratio"])
    each = f"{blocking['candidates_per_record']:.1f} per record"
    yield "candidates", f"{blocking['candidates']:,}, {each}"


def _decision(decision: dict[str, Any]) -> str:
    pairs = _row(f"pairs from {decision['decide_at']:g}", decision["pairs"])
    shown = _scored([pairs, *_clusters(decision["clusters"])])
    best = decision["best"]
    if best is None:
        return shown
    at = f"{percent(best['f1'])}, is at probability {best['probability']:g}"
    shown += f"\nThe best F1 of the pairs, {at}."
    if decision["brier"] is not None:  # of no candidate
        shown += f" Brier score: {decision['brier']:.4f}."
    return f"{shown}\n\nReliability\n{_reliability(decision['reliability'])}"


def _reliability(lines: list[dict[str, Any]]) -> str:
    rows = [
        [
            f"{line['from']:g} to {line['to']:g}",
            f"{line['pairs']:,}",
            f"{line['predicted']:.3f}",
            f"{line['true']:.3f}",
        ]
        for line in lines
        if line["pairs"]
    ]
    return aligned(["probability", "candidates", "predicted", "true"], rows, left=1)


def _clusters(clusters: dict[str, Any]) -> list[list[str]]:
    return [
        _row("pairs within clusters", clusters["pairwise"]),
        ["B-cubed of clusters", "", "", *(percent(clusters["b_cubed"][of]) for of in _SCORES)],
    ]


def _scored(rows: list[list[str]]) -> str:
    return aligned(["", "found", "of them true", "precision", "recall", "F1"], rows, left=1)


def _row(label: str, scores: dict[str, Any]) -> list[str]:
    numbers = [f"{scores[of]:,}" for of in ("given", "true")]
    return [label, *numbers, *(percent(scores[of]) for of in _SCORES)]
