"""The results of an audit in a few lines."""

from collections.abc import Iterator
from typing import Any

from neardup.values.readable import aligned, counted, interval, labelled, percent
from neardup.values.visible import name
from neardup.views.view import Row


def render(audit: dict[str, Any], limit: int = 10) -> str:
    """Return the main numbers. At most ``limit`` pairs and removals of each kind."""
    blocks = (
        labelled(kept(audit)),
        _pairs(audit["kept_pairs"][:limit], audit["kept_pairs_count"]),
        labelled(recall(audit)),
        _pairs(audit["missed"][:limit], audit["missed_pairs"]),
        labelled(removed(audit)),
        _wrong(audit["wrong"][:limit], audit["wrong_removed"]),
        _curve(audit),
    )
    return "\n\n".join(filter(None, blocks))


def kept(audit: dict[str, Any]) -> Iterator[Row]:
    if audit["kept_near_share"] is None:
        yield Row("kept", "", "no document that is not empty is kept")
        return
    which = f"of the kept documents still have a kept one that reaches {audit['threshold']:g}"
    yield Row("kept", percent(audit["kept_near_share"]), f"{interval(audit, 'kept_near')}{which}")
    of = f"{audit['kept_documents']:,} that are kept and not empty"
    yield Row(
        "", "", f"found for {audit['kept_near']:,} of {audit['kept_sampled']:,} sampled, of {of}"
    )
    shared = sum(pair["shared"] for pair in audit["kept_pairs"])
    if shared:
        yield Row(
            "",
            f"{shared:,}",
            f"{'pair' if shared == 1 else 'pairs'} of them shared a bucket and were not compared",
        )


def recall(audit: dict[str, Any]) -> Iterator[Row]:
    threshold, bands = f"{audit['threshold']:g}", audit["bands"]
    pairs = counted(audit["pairs"], "pair")
    sampled = f"of {counted(audit['documents'], 'document')}"
    near = f"near-duplicates of similarity {threshold} or more, in {pairs}"
    sampled += f" (seed {audit['seed']}); {audit['with_neighbours']:,} have {near}"
    yield Row("sampled", f"{audit['sampled']:,}", sampled)
    if audit["recall"] is None:
        yield Row("recall", "", f"none: {_without_neighbours(audit)}")
    else:
        found = f"of all true pairs were found; {percent(audit['expected_recall'])} expected"
        yield Row("recall", percent(audit["recall"]), f"{interval(audit, 'recall')}{found}")
    how = f"{bands['num_bands']} bands of {bands['rows']} rows" if bands else "an exact join"
    predicted = percent(audit["predicted_recall"])
    yield Row("predicted", predicted, f"for a pair exactly at {threshold}, by {how}")
    yield Row("missed", f"{audit['missed_pairs']:,}", f"of {pairs}")


def _without_neighbours(audit: dict[str, Any]) -> str:
    filled = audit["documents"] - audit["empty"]
    if not filled:
        return "all documents are empty"
    if audit["sampled"] == filled:
        which = " that are not empty" if audit["empty"] else ""
        return f"no document has a near-duplicate, and all {filled:,}{which} were sampled"
    return "no sampled document has a near-duplicate; a larger --sample may have some"


def removed(audit: dict[str, Any]) -> Iterator[Row]:
    which = f"all but {audit['wrong_removed']:,}" if audit["wrong_removed"] else "each"
    documents = "document" if audit["removed"] == 1 else "documents"
    those = f"{documents}, {which} with a kept one that reaches {audit['threshold']:g}"
    yield Row(
        "removed",
        f"{audit['removed']:,}",
        f"{those}; {audit['removed_checked']:,} were compared again",
    )


def _pairs(pairs: list[dict[str, Any]], count: int) -> str:
    heads = ["one", "other", "similarity", "share a bucket"]
    rows = []
    for pair in pairs:
        similarity, shared = f"{pair['similarity']:.4f}", "yes" if pair["shared"] else "no"
        rows.append([name(pair["doc_id_a"]), name(pair["doc_id_b"]), similarity, shared])
    return _first_rows(heads, rows, count, "--json lists them, the most similar first")


def _wrong(wrong: list[dict[str, Any]], count: int) -> str:
    heads, rows = ["wrongly removed", "duplicate of", "similarity", "stated"], []
    for one in wrong:
        ids = ("" if one[of] is None else name(one[of]) for of in ("doc_id", "duplicate_of"))
        numbers = (one[of] for of in ("similarity", "stated"))
        rows.append([*ids, *("" if n is None else f"{n:.4f}" for n in numbers)])
    return _first_rows(heads, rows, count, "--json lists them")


def _first_rows(heads: list[str], rows: list[list[str]], count: int, how: str) -> str:
    """Return some rows of a longer table, and how the others are seen; nothing without rows."""
    if not rows:
        return ""
    more = count - len(rows)
    return aligned(heads, rows, left=2) + (f"\n... and {more:,} more; {how}" if more > 0 else "")


def _curve(audit: dict[str, Any]) -> str:
    if not audit["curve"] or audit["bands"] is None:
        return ""
    heads = ["similarity", "pairs", "documents", "predicted", "observed", "95 % interval"]
    rows = [
        [
            f"{line['begin']:g} to {line['end']:g}",
            *(f"{line[of]:,}" for of in ("pairs", "documents")),
            *(percent(line[of]) for of in ("predicted", "observed")),
            f"{percent(line['observed_low'])} to {percent(line['observed_high'])}",
        ]
        for line in audit["curve"]
    ]
    what = "Pairs that share a bucket, predicted and observed: a mean over the documents.\n"
    what += "A pair of two sampled documents counts once, for one of the two documents."
    return f"{aligned(heads, rows)}\n{what}"
