"""A linkage as one page that opens in any browser, without network or server."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

import numpy as np

from neardup.arrays import array_of
from neardup.errors import SpecError
from neardup.linkage.explaining import explain_pair
from neardup.linkage.link_steps import Blocked, Linked
from neardup.linkage.outputs.link_tables import cluster_table, weight_table
from neardup.values.readable import counted, day, percent
from neardup.views import how_done
from neardup.views.page.page_charts import counted_bars
from neardup.views.page.page_model import (
    Bars,
    ComparedFields,
    Figures,
    Histogram,
    Item,
    Judging,
    Listing,
    NumberCell,
    Page,
    PageBar,
    SmallTable,
)
from neardup.views.text.link_text import about_threshold
from neardup.views.view import PageOptions, Row

if TYPE_CHECKING:
    from neardup.api.finished.link_runs import LinkRun

#: Pairs that are shown at least, and records of a cluster at most.
_LEAST, _RECORDS = 20, 20
_GROUPS = ("Doubtful pairs", "Groups of the same")
#: Fields that filter the list, and values of each, at most.
_FILTERS, _FILTERED = 4, 30
#: Sizes of groups that are shown.
_SIZES = 25
#: Odds of a doubtful pair, at most: it is decided rightly nine times of ten, or less often.
_DOUBTFUL = np.log(9)
#: Similarities from which on values agree, and are alike.
_AGREE, _ALIKE = 0.95, 0.5
#: Summands next to the weights of the fields, and their sum.
_SUMS = ("prior", "dependences", "veto", "labels", "total")
#: Bits of the longest bar of a weight.
_HEAVIEST = 20
#: Log odds at the ends of the histogram, in bits, and its classes.
_WIDEST, _BINS = 40, 40


def link_page(run: LinkRun, options: PageOptions) -> Page:
    """Return the page of a linkage.

    Raises:
        SpecError: Values are left out, and the ids are those of a field.
    """
    linked, summary, texts = run._linked, run.summary, options.texts
    id, spec = linked.blocked.records.id, linked.blocked.spec
    if not texts and id in spec.names:
        raise SpecError(
            f"`texts` leaves out the values of fields, and the ids are those of the field {id!r}",
            "link the records with other ids, or by positions",
        )
    counts, names = summary["counts"], linked.blocked.records.names
    doubtful, pairs = _doubtful(linked, -(-options.most // 2), texts)
    clusters, several, grouped = clusters_shown(linked, options.most - len(pairs), texts)
    fields = spec.names if texts else ()
    items = [_pair(pair, doubt) for doubt, pair in enumerate(pairs)]
    items += [_cluster(one, fields, counts["sources"] > 1) for one in clusters]
    columns = _with_few_values(fields, items)
    files = " and ".join(PurePath(one).name or one for one in names)
    return Page(
        title=options.title or f"Records of {files}",
        date=f"Run of {day(summary['date'])}" if "date" in summary else "",
        verdict=_verdict(counts, grouped, doubtful),
        shares=[("kept", counts["records"] - grouped), ("near", grouped)],
        numbers=list(_numbers(counts, grouped, doubtful)),
        remarks=summary["notes"],
        figures=_found(linked),
        listing=_listing(items, len(clusters), (several, doubtful, len(pairs)), texts, columns),
        steps=list(how_done.of_linkage(summary)),
        charts=Figures(
            "How it was decided",
            "Decision",
            list(_figures(linked, summary, options.evaluation)),
            "Log odds, weights of fields, blocks and scores",
        ),
        judge=Judging("The same?", "Same", "Different", "labels.csv", _key(names, summary), "sd"),
    )


def _verdict(counts: dict[str, Any], grouped: int, doubtful: int) -> str:
    """Return the result as a sentence that needs no other."""
    records, unsure = counted(counts["records"], "record"), having_doubt(doubtful)
    if not counts["clusters"]:
        return f"No two of {records} are the same. {unsure}"
    groups = counted(counts["clusters"], "group")
    says = f"{groups} of {counted(grouped, 'record')}: the records of a group are the same. "
    says += f"So {records} are {counts['entities']:,} different ones. "
    return says + unsure


def _found(linked: Linked) -> Figures | None:
    """Return how many groups there are of each size."""
    sizes = np.bincount(linked.clusters[linked.blocked.new :])
    sizes, counts = np.unique(sizes[sizes > 1], return_counts=True)
    rows = zip(sizes[:_SIZES].tolist(), counts[:_SIZES].tolist(), strict=True)
    says = "How many groups have so many records; large ones are worth a look."
    bars = list(counted_bars("Groups by number of records", says, [(f"{k:,}", n) for k, n in rows]))
    return Figures("Found", "Found", bars) if bars else None


def having_doubt(pairs: int) -> str:
    """Return how many pairs are doubtful."""
    if not pairs:
        return "No pair is doubtful."
    return f"{counted(pairs, 'pair')} {'is' if pairs == 1 else 'are'} doubtful."


def _key(names: Sequence[str], summary: dict[str, Any]) -> str:
    """Return a key of marks that is equal for the same records, with any settings."""
    records = summary["counts"]["records"], summary["counts"]["skipped"]
    about = json.dumps([list(names), summary["id"], *records], default=str)
    return hashlib.sha256(about.encode()).hexdigest()[:12]


def _numbers(counts: dict[str, Any], grouped: int, doubtful: int) -> Iterator[Row]:
    against = "in all"
    if counts["against"] is not None:
        against = f"against {counts['against']:,} of an index"
    yield Row("Records", f"{counts['records']:,}", against)
    says = "of two or more records"
    if grouped:
        says = f"of {counted(grouped, 'record')}; the largest has {counts['largest']:,}"
    yield Row("Groups of the same", f"{counts['clusters']:,}", says, "near")
    yield Row("Different", f"{counts['entities']:,}", "if each group counts once")
    says = "of which a person should say whether they are the same"
    yield Row("Doubtful pairs", f"{doubtful:,}", says)


def _figures(
    linked: Linked, summary: dict[str, Any], evaluation: dict[str, Any] | None
) -> Iterator[Bars | Histogram | SmallTable]:
    says = "In bits; the scale of the bars is logarithmic. From the line on, two records are one. "
    says += f"Similarities: {about_threshold(summary['threshold'])}."
    bars = [(f"from {low:g} bits on", count) for low, count in odds_histogram(linked)]
    ticks = [str(at) for at in (-_WIDEST, 0, _WIDEST)]
    yield Histogram("Candidates by log odds", says, bars, ticks, 0.5)
    if weights := field_weights_shown(linked):
        says = "Bits that equal values, and values that have nothing in common, count for and "
        says += "against a match; rare values count more."
        yield SmallTable(
            "Match weights", says, ["field", "against", "for", ""], list(map(_weight, weights))
        )
    if evaluation is not None and (decision := evaluation.get("decision")):
        yield _reliability(decision)
    counts = summary["counts"]
    rows: list[list[str | int]] = [
        [block["name"], block["pairs"], block["added"]] for block in counts["blocks"]
    ]
    says = (
        f"{counts['candidates']:,} pairs were compared, {counts['candidates_per_record']:.1f} per "
    )
    says += f"record: {percent(counts['recall'])} of those of similarity {counts['block_at']}. "
    says += f"{percent(counts['reduction_ratio'])} of all pairs were not compared."
    yield SmallTable("Candidates by block", says, ["block", "candidates", "added"], rows)
    lines = summary["scores"]
    yield SmallTable(
        "Other scores",
        "Pairs that there would be at another one.",
        ["score", "pairs"],
        [[str(line["score"]), line["pairs"]] for line in lines],
    )


def _weight(line: dict[str, Any]) -> list[str | NumberCell | PageBar]:
    low, high = line["low"], line["high"]
    lengths = (min(1.0, max(0.0, bits / _HEAVIEST)) for bits in (high, -low))
    return [line["field"], NumberCell(f"{low:.1f}"), NumberCell(f"{high:.1f}"), PageBar(*lengths)]


def _reliability(decision: dict[str, Any]) -> SmallTable:
    says = f"F1 of the pairs {percent(decision['pairs']['f1'])}, of the clusters "
    says += f"{percent(decision['clusters']['pairwise']['f1'])}."
    if decision["brier"] is not None:
        says = f"Brier score {decision['brier']:.4f}; {says}"
    rows = [
        [
            f"{line['from']} to {line['to']}",
            line["pairs"],
            NumberCell(f"{line['predicted']:.3f}"),
            NumberCell(f"{line['true']:.3f}"),
        ]
        for line in decision["reliability"]
        if line["pairs"]
    ]
    heads = ["score", "candidates", "predicted", "true"]
    return SmallTable("Reliability", says, heads, rows)


def _listing(
    items: list[Item],
    clusters: int,
    counts: tuple[int, int, int],
    texts: bool,
    columns: Sequence[str],
) -> Listing:
    several, doubtful, shown = counts
    lead = "The pairs that are decided least surely, the most doubtful first: mark each as the "
    lead += "same or as different, and save the marks as labels.csv, which neardup link takes with "
    lead += "--labels. "
    if doubtful > shown:
        lead += f"{shown:,} of {doubtful:,} doubtful pairs are listed; --max-items shows more. "
    if several and not clusters:
        lead += f"None of {several:,} groups is listed; --max-items shows them."
    elif clusters < several:
        lead += f"Below them are the {clusters:,} largest of {several:,} groups; --max-items shows "
        lead += "more."
    elif several:
        lead += (
            f"Below them {'is the only group' if several == 1 else f'are all {several:,} groups'}."
        )
    return Listing(
        title="Pairs and groups",
        one="entry",
        many="entries",
        lead=lead,
        search="Search ids and values" if texts else "Search ids",
        nothing="Open a pair to say whether it is one record, or a group to see its records.",
        items=[item.data() for item in items],
        columns=columns,
        groups=[("", "All"), *((str(k), title) for k, title in enumerate(_GROUPS))],
        orders=[
            ("doubt", "Most doubtful first"),
            ("size", "Largest group first"),
            ("similarity", "Lowest similarity first"),
        ],
        examples="The most doubtful pairs, and the largest groups.",
    )


def _pair(pair: dict[str, Any], doubt: int) -> Item:
    """Return two records: each field with both values, their similarity and its weight."""
    ids = [id for _, id in pair["pair"]]
    heads, numbers = ["field", *ids, "similarity", "bits"], (3, 4)
    rows = [_field(field) for field in pair["fields"]]
    sums = [name for name in _SUMS if pair[name]]
    rows += [[name, "", "", "", f"{pair[name]:+.1f}"] for name in sums]
    if not any("values" in field for field in pair["fields"]):
        heads, numbers = ["field", "similarity", "bits"], (1, 2)
        rows = [[row[0], *row[3:]] for row in rows]
    says = f"score {pair['score']:.3f}, similarity {pair['similarity']:.3f}"
    first = [field["values"] for field in pair["fields"] if "values" in field]
    text = " / ".join(" ".join(values) for values in zip(*first, strict=True))
    about = f"Taken for {'the same' if pair['match'] else 'different'}: {says}. {_why(pair)}"
    heading = f"{ids[0]} and {ids[1]}"
    detail = ComparedFields(heading, about, heads, rows, numbers, len(sums), pair["pair"])
    sort = {"doubt": doubt, "size": -2, "similarity": pair["similarity"]}
    of = {field["field"]: field["values"] for field in pair["fields"] if "values" in field}
    return Item(detail, heading, [says], text, also=ids, sort=sort, values=of)


def _with_few_values(fields: Sequence[str], items: Sequence[Item]) -> list[str]:
    """Return the fields that may filter the list; a name or a title has too many values."""
    values = {name: {it for item in items for it in item.values.get(name, ())} for name in fields}
    few = [name for name in fields if 1 < len(values[name]) <= _FILTERED]
    return sorted(few, key=lambda name: len(values[name]))[:_FILTERS]


def _why(pair: dict[str, Any]) -> str:
    """Return in words which fields agree and differ."""
    kinds: dict[str, list[str]] = {"agree": [], "alike": [], "differ": [], "missing": []}
    for field in pair["fields"]:
        if "similarity" in field:
            kinds[_kind(field["similarity"])].append(field["field"])
    says = {"agree": "Equal", "alike": "similar", "differ": "different", "missing": "missing"}
    parts = [f"{says[kind]}: {', '.join(names)}" for kind, names in kinds.items() if names]
    return f"{'; '.join(parts)}." if parts else ""


def _kind(similarity: float | None) -> str:
    if similarity is None:
        return "missing"
    if similarity >= _AGREE:
        return "agree"
    return "alike" if similarity >= _ALIKE else "differ"


def _field(field: dict[str, Any]) -> list[str]:
    similarity = ""
    if "similarity" in field:
        value = field["similarity"]
        similarity = "missing" if value is None else f"{value:.2f}"
        similarity += ", swapped" if field["swapped"] else ""
    bits = "" if field["bits"] is None else f"{field['bits']:+.1f}"
    return [field["field"], *field.get("values", ("", "")), similarity, bits]


def _cluster(cluster: dict[str, Any], fields: Sequence[str], sources: bool) -> Item:
    """Return the records of a cluster below each other."""
    size, members = cluster["size"], cluster["members"]
    heads = [*(["file"] if sources else []), "id", *fields]
    rows = [
        [*([str(line["source"])] if sources else []), line["id"], *line["cells"]]
        for line in members
    ]
    about = f"The first {len(members)} of them." if size > len(members) else "All of them."
    ids = [line["id"] for line in members]
    heading = f"{size:,} records like {ids[0]}"
    detail = ComparedFields(heading, about, heads, rows)
    text = " ".join(members[0]["cells"])
    sort = {"doubt": 1 << 30, "size": -size, "similarity": 2}
    says = [f"{size:,} records"]
    cells = zip(*(line["cells"] for line in members), strict=True)
    of = dict(zip(fields, map(list, cells), strict=True))
    return Item(detail, ids[0], says, text, also=ids[1:], group=1, sort=sort, values=of)


def odds_histogram(linked: Linked) -> list[tuple[float, int]]:
    """Return the candidates by log odds, in bits; the first and the last class are open."""
    bits = np.clip(linked.decision.log_odds / np.log(2), -_WIDEST, _WIDEST - 1e-9)
    counts, edges = np.histogram(bits, _BINS, (-_WIDEST, _WIDEST))
    return list(zip(edges[:-1].tolist(), counts.tolist(), strict=True))


def field_weights_shown(linked: Linked) -> list[dict[str, Any]]:
    """Return the weights of the lowest and the highest agreement of each field, in bits."""
    found: dict[str, list[list[float]]] = {}
    views: dict[tuple[str, str], list[float]] = {}
    for row in weight_table(linked).to_pylist():
        views.setdefault((row["field"], row["view"]), []).append(row["bits"])
    for (field, _), bits in views.items():
        found.setdefault(field, []).append(bits)
    return [
        {"field": field, "low": float(mean[0]), "high": float(mean[-1])}
        for field, bits in found.items()
        for mean in [np.mean(bits, axis=0)]
    ]


def clusters_shown(
    linked: Linked, most: int, texts: bool = True
) -> tuple[list[dict[str, Any]], int, int]:
    """Return so many of the largest clusters with the values of their records.

    And how many clusters of several records there are, and how many records they have.
    """
    table, blocked = cluster_table(linked), linked.blocked
    columns = blocked.records.columns if texts else ()
    labels = linked.clusters[blocked.new :]
    order = np.argsort(labels, kind="stable")
    starts = np.flatnonzero(np.diff(labels[order], prepend=-1))
    sizes = np.diff(np.append(starts, len(order)))
    several = np.flatnonzero(sizes > 1)
    picked = several[np.lexsort((starts[several], -sizes[several]))][:most]
    shown = []
    for k in picked.tolist():
        rows = order[starts[k] : starts[k] + min(sizes[k], _RECORDS)]
        ids = table.take(array_of(rows)).to_pylist()
        if blocked.records.private_ids:
            names = [_row(blocked, row) for row in rows.tolist()]
            ids = [{**line, "id": name} for line, name in zip(ids, names, strict=True)]
        members = [
            {
                "source": line["source"],
                "id": str(line["id"]),
                "cells": [str(column[row + blocked.new]) for column in columns],
            }
            for row, line in zip(rows.tolist(), ids, strict=True)
        ]
        cluster = int(labels[order[starts[k]]])
        shown.append({"cluster": cluster, "size": int(sizes[k]), "members": members})
    return shown, len(several), int(sizes[several].sum())


def _doubtful(linked: Linked, most: int, texts: bool) -> tuple[int, list[dict[str, Any]]]:
    """Return how many pairs are doubtful, and explanations of those that are so most.

    Pairs whose answer is known are not.
    """
    found = linked.blocked.candidates
    margin = np.abs(linked.decision.margin(linked.blocked.spec.decide_at))
    doubtful = int(np.count_nonzero(margin < _DOUBTFUL))
    rows = np.argsort(margin, kind="stable")[: min(most, max(doubtful, _LEAST))]
    rows = rows[np.isfinite(margin[rows])]
    return doubtful, [_explained(linked, int(found.a[k]), int(found.b[k]), texts) for k in rows]


def _explained(linked: Linked, a: int, b: int, texts: bool) -> dict[str, Any]:
    blocked = linked.blocked
    ids = [str(blocked.records.marked_ids[doc]) for doc in (a, b)]
    if blocked.records.private_ids:
        ids = [_row(blocked, doc - blocked.new) for doc in (a, b)]
    return {**explain_pair(linked, a, b, texts), "pair": list(zip((a, b), ids, strict=True))}


def _row(blocked: Blocked, row: int) -> str:
    """Return the name of a record whose id is private: its row in its file, or in the index."""
    if row < 0:
        return "a record of the index"
    return str(blocked.records.marked_ids[row])
