"""The charts of results, by their names."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from neardup.errors import SpecError
from neardup.frame.run import Run
from neardup.sketch.bands import candidate_probability
from neardup.values.readable import counted, percent
from neardup.values.shown import Bar, Chart, Curve, Curves, CurveSplit
from neardup.views import cards
from neardup.views.copied_shares import GroupShare, columns_of, of_groups, of_months, of_years
from neardup.views.page.link_page import field_weights_shown, odds_histogram
from neardup.views.page.page_charts import by_similarity, cluster_sizes, heat_map
from neardup.views.page.page_texts import check_columns, measure
from neardup.views.page.survey import survey

if TYPE_CHECKING:
    from neardup.api.decontaminating import DecontaminateRun
    from neardup.api.finished.link_runs import LinkRun
    from neardup.api.finished.runs import DedupRun
    from neardup.forecast.tune import TunedBands
    from neardup.inspect.audit import Audit
    from neardup.sketch.bands import Bands

#: Bars of a chart at most, labels of months, and curves.
_BARS, _LABELS, _CURVES = 30, 8, 4
#: Similarities at which curves have points.
_AT = np.linspace(0, 1, 201)


def _counts(title: str, rows: Sequence[tuple[str, int]]) -> Chart:
    most = max([1, *(count for _, count in rows)])
    return Chart(title, [Bar(label, count / most, f"{count:,}") for label, count in rows])


def _clusters(run: DedupRun) -> Chart:
    return _counts("Clusters by number of documents", cluster_sizes(survey(run._results)))


def _sources(run: DedupRun, by: str | None = None) -> Chart:
    if by is None:
        raise SpecError("the chart of sources needs a column", "give it as `by`")
    results = run._results
    about = results.record["source"] or results.record["frame"] or {}
    if by in about.get("text", []):
        raise SpecError("`by` is the column of the texts, which are in no figure", "name another")
    found = survey(results)
    check_columns(results, [by])
    title = f"Whose documents are duplicates of whose, by {by}"
    if not len(found.members):
        return Chart(title, [])
    values = measure(results, found.members, [by]).column(by)
    heat = heat_map(found, values, by, results.spec.threshold)
    rows = [
        (f"{heat.names[of]} from {heat.names[source]}", int(count))
        for of, line in enumerate(heat.counts)
        for source, count in enumerate(line)
        if count
    ]
    return _counts(title, sorted(rows, key=lambda row: -row[1])[:_BARS])


def _months(run: Run[Any]) -> Curves:
    months = of_months(run.summary)
    if not months:
        raise SpecError("the run has no months", "run it with `order_by`, a column of dates")
    step = max(1, -(-len(months) // _LABELS))
    ticks = [(float(k), months[k].label) for k in range(0, len(months), step)]
    heights = [100 * one.share if one.documents else None for one in months]
    line = Curve("copied words", [float(k) for k in range(len(months))], heights)
    return Curves("Copied words by month", "month", "copied words (%)", [line], ticks)


def _groups(title: str, groups: Sequence[GroupShare]) -> Chart:
    bars = [
        Bar(one.label, one.share, f"{percent(one.share)} of {counted(one.words, 'word')}")
        for one in groups
    ]
    return Chart(title, bars)


def _authors(run: Run[Any]) -> Chart:
    by = columns_of(run.summary)
    if not by:
        raise SpecError("the run has no groups", "run it with `by`, a column such as an author")
    return _groups(f"Copied words by {by}", of_groups(run.summary))


def _years(run: Run[Any]) -> Chart:
    years = of_years(run.summary)
    if not years:
        raise SpecError("the run has no years", "run it with `order_by`, a column of dates")
    return _groups("Copied words by year", years)


def _copied(run: Run[Any]) -> Chart:
    found = run.table("documents", ["copied_share"]).column(0).to_numpy()
    bins = np.bincount(np.ceil(np.round(found, 9) * 10).astype(np.int64), minlength=11).tolist()
    labels = ["none", *(f"up to {10 * k} %" for k in range(1, 11))]
    return _counts("Documents by copied share", list(zip(labels, bins, strict=True)))


def _items(run: DecontaminateRun) -> Chart:
    found = run.items.slice(0, _BARS)
    name = "test_doc" if run._results.private_ids else "test_id"
    row = "row " if name == "test_doc" else ""
    ids, counts = found.column(name).to_pylist(), found.column("documents").to_numpy().tolist()
    title = "Documents with a test item"
    if len(run.items) > _BARS:
        title += f", of the {_BARS} items that most have"
    return _counts(title, [(f"{row}{id_}", n) for id_, n in zip(ids, counts, strict=True)])


def _containment(run: DecontaminateRun) -> Chart:
    found = run.table("matches", ["containment"]).column(0).to_numpy()
    lowest = min(0.9, math.floor(10 * found.min(initial=1.0)) / 10)
    labels, numbers = by_similarity(found, lowest)
    return _counts("Matches by containment", list(zip(labels, numbers, strict=True)))


def _odds(run: LinkRun) -> Curves:
    rows = odds_histogram(run._linked)
    line = Curve("candidates", [low for low, _ in rows], [count or None for _, count in rows])
    return Curves("Candidates by log odds", "bits", "candidates", [line], logarithmic=True)


def _weights(run: LinkRun) -> Chart:
    found = field_weights_shown(run._linked)
    most = max(1e-9, *(line["high"] for line in found)) if found else 1
    bars = [
        Bar(
            line["field"],
            max(0.0, line["high"]) / most,
            f"{line['high']:.1f} bits for, {-line['low']:.1f} against",
        )
        for line in found
    ]
    return Chart("Weight of equal values, by field", bars)


def _reliability(run: LinkRun, truth: object = None) -> Curves:
    if truth is None:
        raise SpecError("the chart of reliability needs known pairs", "give them as `truth`")
    lines = [one for one in run.evaluate(truth)["decision"]["reliability"] if one["pairs"]]
    at = [line["predicted"] for line in lines]
    found = Curve("found", at, [line["true"] for line in lines], points=True)
    best = Curve("as predicted", [0, 1], [0, 1])
    return Curves("Reliability", "score", "share of true matches", [best, found])


def _recall(audit: Audit) -> Curves:
    lines = audit.curve
    at = [(line["begin"] + line["end"]) / 2 for line in lines]
    seen = Curve("observed", at, [line["observed"] for line in lines], points=True)
    said = Curve("predicted", at, [line["predicted"] for line in lines])
    return _s_curve("Pairs that share a bucket", [said, seen])


def _s_curve(title: str, curves: Sequence[Curve]) -> Curves:
    return Curves(title, "similarity", "probability", curves)


def curve_of(num_bands: int, rows: int) -> Curve:
    """Return the probability that a pair is found, by its similarity."""
    heights = candidate_probability(_AT, num_bands, rows)
    name = f"{counted(num_bands, 'band')} of {counted(rows, 'row')}"
    return Curve(name, _AT.tolist(), heights.tolist())


def _tuned(tuning: TunedBands) -> Curves:
    curves = [curve_of(one.num_bands, one.rows) for one in tuning.choices[:_CURVES]]
    if tuning.points:
        at = [point.similarity for point in tuning.points]
        heights = [point.probability for point in tuning.points]
        curves.append(Curve("asked for", at, heights, points=True))
    first = tuning.choices[0]
    false, missed = first.errors()
    below = f"false candidates below {first.threshold:.3f}: {false:.3f}"
    split = CurveSplit(first.threshold, below, f"missed above it: {missed:.3f}")
    return _s_curve("Probability that a pair is found", curves)._replace(split=split)


def _bands(bands: Bands) -> Curves:
    return _s_curve("Probability that a pair is found", [curve_of(bands.num_bands, bands.rows)])


_Charts = Mapping[str, Callable[..., Chart | Curves]]
OF_DEDUP: _Charts = {
    "similarity": cards.chart_of_dedup,
    "clusters": _clusters,
    "sources": _sources,
}
OF_AGAINST: _Charts = {"similarity": cards.chart_of_dedup}
OF_MATCHES: _Charts = {"items": _items, "containment": _containment}
OF_PASSAGES: _Charts = {"month": _months, "author": _authors, "share": _copied, "year": _years}
OF_LINKAGE: _Charts = {"log_odds": _odds, "weights": _weights, "reliability": _reliability}
OF_AUDIT: _Charts = {"recall": _recall}
OF_TUNING: _Charts = {"curve": _tuned}
OF_BANDS: _Charts = {"curve": _bands}
