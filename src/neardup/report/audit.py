"""What an audit found, in a few lines, and as a chart."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from neardup.report.charts import Chart, observed_curve
from neardup.report.numbers import percent
from neardup.report.tables import aligned

__all__ = ["chart", "render", "without_partners"]


def render(audit: dict[str, Any], limit: int = 10) -> str:
    """Return what a person wants to know.

    Args:
        audit: From `neardup.run.auditing.Audit.as_dict`.
        limit: Missed pairs and wrong removals that are shown, of each kind.
    """
    return "\n".join(
        [*_recall(audit), *_missed(audit, limit), *_removed(audit, limit), *_curve(audit)]
    )


def chart(audit: dict[str, Any]) -> Chart:
    """Return the share of pairs that share a bucket, observed and predicted, by similarity.

    Without banding it is the share that was found, from the edge threshold on.

    Args:
        audit: From `neardup.run.auditing.Audit.as_dict`.
    """
    bands = audit["bands"]
    name = "observed" if bands else "found"
    lines = [line for line in audit["curve"] if line[name] is not None]
    return observed_curve(
        [line["similarity"] for line in lines],
        [line[name] for line in lines],
        [line[f"{name}_low"] for line in lines],
        [line[f"{name}_high"] for line in lines],
        bands and (bands["num_bands"], bands["rows"]),
        audit["edge_threshold"],
    )


def without_partners(audit: dict[str, Any]) -> str:
    """Say why there is no recall, and whether a larger sample may help."""
    filled = audit["documents"] - audit["empty"]
    if not filled:
        return "all documents are empty"
    if audit["sampled"] == filled:
        return (
            f"no document has a partner, and all {filled:,}"
            + (" that are not empty" if audit["empty"] else "")
            + " were sampled"
        )
    return "no sampled document has a partner; a larger --sample may have some"


def _recall(audit: dict[str, Any]) -> Iterator[str]:
    threshold = audit["edge_threshold"]
    yield (
        f"sampled     {audit['sampled']:,} of {audit['documents']:,} documents (seed "
        f"{audit['seed']}); {audit['with_partners']:,} have partners of similarity {threshold:g} "
        f"and more, in {audit['pairs']:,} pairs"
    )
    if audit["recall"] is None:
        yield f"recall      none: {without_partners(audit)}"
    else:
        yield (
            f"recall      {_with(audit, 'recall')} of all true pairs were found; "
            f"{percent(audit['expected_recall'])} expected"
        )
        yield f"by document {_with(audit, 'document_recall')} of a document's partners, on average"
    bands = audit["bands"]
    yield (
        f"predicted   {percent(audit['predicted_recall'])} for a pair exactly at {threshold:g}, by "
        + (f"{bands['num_bands']} bands of {bands['rows']} rows" if bands else "an exact join")
    )


def _with(audit: dict[str, Any], name: str) -> str:
    low, high = percent(audit[f"{name}_low"]), percent(audit[f"{name}_high"])
    return f"{percent(audit[name])} (95 % interval {low} to {high})"


def _missed(audit: dict[str, Any], limit: int) -> Iterator[str]:
    pairs, met = audit["missed_pairs"], audit["missed_candidates"]
    yield f"missed      {pairs:,} of {audit['pairs']:,} pairs" + (
        f", {met:,} of which shared a bucket" if pairs and met is not None else ""
    )
    if not pairs:
        return
    some = audit["missed"][:limit]
    yield ""
    yield aligned(
        ["one", "other", "similarity", "shared a bucket"],
        [
            [
                _id(p["doc_id_a"]),
                _id(p["doc_id_b"]),
                f"{p['similarity']:.4f}",
                {True: "yes", False: "no", None: ""}[p["candidate"]],
            ]
            for p in some
        ],
        left=2,
    )
    if pairs > len(some):
        yield f"... and {pairs - len(some):,} more; --json lists them, the most similar first"
    yield ""


def _removed(audit: dict[str, Any], limit: int) -> Iterator[str]:
    removed, clusters = audit["removed"], audit["clusters"]
    wrong = removed["wrong_documents"]
    yield (
        f"removed     {removed['documents']:,} documents, "
        + ("each" if not wrong else f"all but {wrong:,}")
        + f" with a kept one that is near enough; {removed['checked']:,} were compared again"
    )
    if wrong:
        yield ""
        yield aligned(
            ["wrongly removed", "kept by", "similarity", "stated"],
            [
                [_id(w["doc_id"]), _id(w["kept_by"]), _value(w["similarity"]), _value(w["stated"])]
                for w in removed["wrong"][:limit]
            ],
            left=2,
        )
        if wrong > limit:
            yield f"... and {wrong - limit:,} more; --json lists them"
        yield ""
    yield (
        f"clusters    {clusters['below_tree_threshold']:,} of {clusters['pairs']:,} pairs in one "
        f"cluster are below the tree threshold {audit['tree_threshold']:g}"
        + ("" if clusters["bounded"] else ", which this clustering does not promise")
    )


def _curve(audit: dict[str, Any]) -> Iterator[str]:
    lines = audit["curve"]
    if not lines:
        return
    banded = audit["bands"] is not None
    heads = ["similarity", "pairs", "documents"]
    heads += ["predicted", "observed", "95 % interval"] * banded + ["found"]
    yield ""
    yield aligned(
        heads,
        [
            [
                f"{line['begin']:g} to {line['end']:g}",
                f"{line['pairs']:,}",
                f"{line['documents']:,}",
                *(
                    [
                        percent(line["predicted"]),
                        percent(line["observed"]),
                        f"{percent(line['observed_low'])} to {percent(line['observed_high'])}",
                    ]
                    if banded
                    else []
                ),
                _share(line["found"]),
            ]
            for line in lines
        ],
    )
    if banded:
        yield (
            "Predicted and observed: pairs that share a bucket, by the hashes drawn. Found: this "
            "run's. Means over the documents."
        )


def _share(value: float | None) -> str:
    return "" if value is None else percent(value)


def _value(value: float | None) -> str:
    return "" if value is None or math.isnan(value) else f"{value:.4f}"


def _id(value: Any) -> str:
    """An id on one line, and not longer than a line."""
    text = "".join(c if c.isprintable() else "?" for c in str(value))
    return text if len(text) <= 60 else text[:57] + "..."
