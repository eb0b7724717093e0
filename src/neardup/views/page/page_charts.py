"""Charts of a page: similarities, and whose documents are duplicates of whose."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup.io.columns import Column
from neardup.results.results import Results
from neardup.sketch.bands import candidate_probability
from neardup.values.readable import percent, short
from neardup.views.page.page_model import Bars, HeatMap
from neardup.views.page.survey import Survey, from_each_step, rounded, steps_of

#: Bars of the histogram at most: a finger can hit each; and how wide one may be.
_BARS, _WIDTHS = 15, (0.01, 0.02, 0.05, 0.1)
#: Values of a column that have a separate row and column.
_VALUES = 8
_OTHER, _NONE = "other values", "no value"


def slider(results: Results, found: Survey) -> dict[str, list[Any]]:
    """Return the numbers from each similarity up: removed documents, and clusters with any."""
    threshold = results.spec.threshold
    similarity = found.similarity[found.members]
    highest = np.where(np.isnan(similarity), -1, similarity)
    if len(found.label):
        highest = np.maximum.reduceat(highest, found.starts[:-1])
    each = {"removed": similarity, "clusters": highest}
    steps = {name: from_each_step(values, threshold) for name, values in each.items()}
    return {"at": steps_of(threshold).tolist(), **steps}


def histogram(results: Results, found: Survey) -> list[list[float]]:
    """Return (from, to, removed documents) of each bar; the last one is those at 1."""
    low = results.spec.threshold
    width = next((w for w in _WIDTHS if (1 - low) / w <= _BARS - 1), _WIDTHS[-1])
    above = np.arange(np.floor(low / width + 1e-9) + 1, round(1 / width)) * width
    limits = np.round(np.concatenate([[low], above, [1.0]] if low < 1 else [[1.0]]), 4)
    similarity = rounded(found.similarity[found.duplicate_of >= 0])
    counts = np.histogram(similarity[similarity < 1], limits)[0] if low < 1 else limits[:0]
    bars = zip(limits[:-1].tolist(), limits[1:].tolist(), counts.tolist(), strict=True)
    return [*(list(bar) for bar in bars), [1.0, 2.0, int((similarity == 1).sum())]]


def heat_map(found: Survey, values: Column, column: str, threshold: float) -> HeatMap:
    """Count whose documents are duplicates of whose, by the values of the clusters' members."""
    empty = pc.equal(values, pa.scalar("", values.type))
    filled: Any = pc.fill_null(pc.if_else(empty, None, values), _NONE)
    counted: Any = pc.value_counts(filled)
    common = sorted(counted.to_pylist(), key=lambda one: (-one["counts"], one["values"]))
    names = [one["values"] for one in common[:_VALUES]]
    group: Any = pc.index_in(filled, value_set=pa.array(names, values.type))
    groups = np.full(len(found.similarity), -1, dtype=np.int64)
    groups[found.members] = np.asarray(pc.fill_null(group, len(names)).to_numpy())
    if len(common) > len(names):
        names.append(_OTHER)
    of = np.where(found.duplicate_of < 0, -1, groups[found.duplicate_of])
    cells = np.where((groups < 0) | (of < 0), -1, 100 * groups + of)
    counts = np.zeros((len(names), len(names)), dtype=np.int64)
    steps = {}
    for cell in np.unique(cells[cells >= 0]).tolist():
        steps[cell] = from_each_step(found.similarity[cells == cell], threshold)
        counts[divmod(cell, 100)] = steps[cell][0]
    return HeatMap(column, names, counts.tolist(), cells, steps)


def cluster_sizes(found: Survey) -> list[tuple[str, int]]:
    """Return how many clusters there are of each size, by the power of two that it reaches."""
    powers = np.left_shift(1, np.ceil(np.log2(found.sizes)).astype(np.int64))
    sizes = zip(*(part.tolist() for part in np.unique(powers, return_counts=True)), strict=True)
    return [("2" if k == 2 else f"{k // 2 + 1}-{k}", n) for k, n in sizes]


def chances(bands: dict[str, Any] | None, audit: dict[str, Any] | None) -> list[tuple[Any, ...]]:
    """Return similarities with the share of pairs that is found, predicted and observed."""
    if not bands:
        return []
    curve, shape = audit["curve"] if audit else [], (bands["num_bands"], bands["rows"])
    observed = {round(line["similarity"], 2): line["observed"] for line in curve}
    at = sorted({0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, *observed})
    return [(s, candidate_probability(s, *shape), observed.get(s)) for s in at]


def developer_charts(run: dict[str, Any], found: Survey) -> Iterator[Bars]:
    """Yield charts of clusters, bands, buckets and time."""
    says = "Very large ones are texts that many documents share, such as templates."
    yield from counted_bars("Clusters by number of documents", says, cluster_sizes(found))
    if run["bands"]:
        more = "" if run["audit"] else "; neardup audit measures what this run did find"
        yield chance_bars("Pairs found by similarity", "a pair", run["bands"], run["audit"], more)
        says = "A band far above the others has a very large bucket."
        bands = [(str(k + 1), count) for k, count in enumerate(run["candidates_by_band"])]
        yield from counted_bars("Pairs that share a bucket, by band", says, bands)
        says = "Documents that agree in a band are one bucket. Large ones are templates."
        buckets = list(run["bucket_sizes"].items())
        yield from counted_bars("Buckets by number of documents", says, buckets)
    seconds = run["seconds"]
    most = max(seconds.values(), default=0) or 1
    rows = [(name, f"{short(value)} s", value / most) for name, value in seconds.items()]
    yield Bars("Time of each stage", "", rows)


def by_similarity(found: np.ndarray, threshold: float) -> tuple[list[str], list[int]]:
    """Return labels of five ranges of similarities from the threshold on, and how many are there.

    The last one is those at 1.
    """
    limits = np.linspace(threshold, 1, 6)
    numbers = [*np.histogram(found[found < 1], limits)[0].tolist(), int((found == 1).sum())]
    return [*(f"{low:.2f} to {high:.2f}" for low, high in pairwise(limits)), "1"], numbers


def counted_bars(name: str, says: str, items: Sequence[tuple[str, int]]) -> Iterator[Bars]:
    """Yield bars of counts, none of nothing; logarithmic where small ones would not be seen."""
    if not items:
        return
    values = np.array([count for _, count in items], np.float64)
    if values.max() > 100 * max(1, values.min()):
        values, says = np.log1p(values), f"{says} The bars are logarithmic."
    lengths = (values / max(1.0, values.max())).tolist()
    labels = ((label, f"{count:,}") for label, count in items)
    rows = [(*label, length) for label, length in zip(labels, lengths, strict=True)]
    yield Bars(name, says, rows)


def chance_bars(
    name: str, what: str, bands: dict[str, Any], audit: dict[str, Any] | None = None, more: str = ""
) -> Bars:
    """Return the share of pairs or documents that are found, by similarity."""
    says = f"Probability that {bands['num_bands']} bands of {bands['rows']} rows find {what}, by "
    says += f"its similarity{more}."
    rows = []
    for similarity, part, seen in chances(bands, audit):
        also = "" if seen is None else f", observed {percent(seen)}"
        rows.append((f"{similarity:g}", f"{percent(part)}{also}", part))
    return Bars(name, says, rows)
