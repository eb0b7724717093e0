"""How a run agrees with the ground truth, in a few lines."""

from collections.abc import Iterator
from typing import Any

from neardup.values.readable import aligned, counted, labelled, percent, with_interval
from neardup.views.view import Row

_SCORES = ("precision", "recall", "f1")
_STARS = (
    "A star has the documents that are similar to one kept document: true pairs between "
    "two stars count as not found; the other clusterings join more."
)


def render(result: dict[str, Any]) -> str:
    if "judged" in result:
        return labelled((*_judged(result["judged"]), *_other_groups(result["truth"])))
    blocking, recall = labelled(_blocking(result), 21), result["clusters"]["pairwise"]["recall"]
    if result["edges"] is None and recall is not None and recall < 0.9:
        blocking = f"{_STARS}\n{blocking}"
    blocks = (labelled(_truth(result)), _scores(result), blocking, _by_threshold(result))
    return "\n\n".join(blocks)


def _judged(judged: dict[str, Any]) -> Iterator[Row]:
    pairs = counted(judged["pairs"], "pair")
    yield Row("judged", f"{pairs}; the run found {judged['given']:,} of them")
    share = with_interval(judged, "precision")
    yield Row("precision", f"{share}: {judged['true']:,} of those are duplicates")
    yield Row("recall", f"{percent(judged['recall'])} of the judged pairs that are duplicates")


def _truth(result: dict[str, Any]) -> Iterator[Row]:
    truth = result["truth"]
    named = f"it names {truth['documents']:,} of {counted(result['documents'], 'document')}"
    others = ", the others are left out" if truth["only_named"] else ""
    yield Row("truth", f"{counted(truth['pairs'], 'pair')}; {named}{others}")
    if not truth["pairs"]:
        yield Row("warning", "no two documents are duplicates by it: all that was found is wrong")
    if truth["skipped"]:
        yield Row("skipped", f"{counted(truth['skipped'], 'row')} with ids that the run has not")
    yield from _other_groups(truth)


def _other_groups(truth: dict[str, Any]) -> Iterator[Row]:
    if number := truth.get("other_groups"):
        pairs = counted(number, "true pair")
        yield Row("apart", f"{pairs} not compared: their groups differ, or one has none")


def _scores(result: dict[str, Any]) -> str:
    rows = [score_row("removed documents", result["removed"])]
    if result["edges"] is not None:
        rows.append(score_row("edges", result["edges"]))
    return scored([*rows, *cluster_rows(result["clusters"])])


def cluster_rows(clusters: dict[str, Any]) -> list[list[str]]:
    """Return the rows of the scores of clusters."""
    b_cubed = (percent(clusters["b_cubed"][of]) for of in _SCORES)
    pairs = score_row("pairs within clusters", clusters["pairwise"])
    return [pairs, ["B-cubed of clusters", "", "", *b_cubed]]


def scored(rows: list[list[str]]) -> str:
    """Return a table of scores."""
    return aligned(["", "found", "of them true", "precision", "recall", "F1"], rows, left=1)


def _blocking(result: dict[str, Any]) -> Iterator[Row]:
    blocking = result["blocking"]
    found = f"{counted(blocking['found'], 'true pair')} in one cluster or an edge"
    yield Row("pairs completeness", f"{percent(blocking['pairs_completeness'])}: {found}")
    if blocking["compared"] is None:
        return
    compared = f"true ones among {counted(blocking['compared'], 'pair')} compared"
    yield Row("pairs quality", f"{percent(blocking['pairs_quality'])}: {compared}")
    reduction = percent(blocking["reduction_ratio"])
    yield Row("reduction ratio", f"{reduction}: pairs that were not compared")


def _by_threshold(result: dict[str, Any]) -> str:
    lines, of = result["by_threshold"]["lines"], result["by_threshold"]["of"]
    heads = [f"{of} from", "pairs", "of them true", "precision", "recall", "F1"]
    steps = [line for line in lines[1:] if round(line["threshold"] * 100) % 5 == 0]
    rows = [score_row(f"{line['threshold']:g}", line) for line in (*lines[:1], *steps)]
    best = result["best"]
    if best is None:
        return aligned(heads, rows)
    at, rest = f"{best['threshold']:g}", "the threshold of the run; a lower one was not tried"
    if best["threshold"] > result["threshold"]:
        rest = f"which neardup recluster RUN -o OUT --threshold {at} applies"
    return f"{aligned(heads, rows)}\nThe best F1, {percent(best['f1'])}, is at {at}, {rest}."


def score_row(name: str, scores: dict[str, Any]) -> list[str]:
    """Return a row of a table of scores."""
    numbers = [f"{scores[of]:,}" for of in ("given", "true")]
    return [name, *numbers, *(percent(scores[of]) for of in _SCORES)]
