"""A linkage, and how it agrees with the ground truth, in a few lines."""

from __future__ import annotations

import math
from bisect import bisect
from collections.abc import Iterator, Sequence
from typing import Any

from neardup.values.readable import aligned, counted, labelled, percent
from neardup.values.visible import name
from neardup.views.text.evaluate_text import cluster_rows, score_row, scored
from neardup.views.view import Row

WIDTH = 20
#: Characters of a value that are shown.
_SHOWN = 30
_BAR = 40
#: Files whose columns are named.
_FILES = 20


def render_blocks(counts: dict[str, Any], across: bool) -> str:
    """Return the summary of candidates as text."""
    records = Row("records", f"{counts['records']:,} {_files(counts, across)}")
    return _labelled([records, *_blocks(counts)])


def render(summary: dict[str, Any], histogram: bool = True) -> str:
    """Return the summary of a linkage as text."""
    counts, threshold = summary["counts"], summary["threshold"]
    shown = [_labelled([*_found(summary), *(Row("note", note) for note in summary["notes"])])]
    at = f"two records are the same from a score of {summary['spec']['decide_at']:g} on"
    how = [*_blocks(counts), Row("decision", at), Row("similarities", about_threshold(threshold))]
    shown.append("How it was decided\n" + _labelled(how))
    if histogram and counts["candidates"]:
        shown.append(draw_histogram(threshold["histogram"], threshold["value"]))
    return "\n\n".join(shown)


def _found(summary: dict[str, Any]) -> Iterator[Row]:
    counts = summary["counts"]
    across = bool(summary["spec"]["across_files_only"])
    yield Row("records", f"{counts['records']:,} {_files(counts, across)}")
    yield from _columns(summary)
    yield Row("found", found_words(counts))
    yield Row("different", f"{counts['entities']:,}, if each group counts once")


def _files(counts: dict[str, Any], across: bool) -> str:
    if counts["against"] is not None:
        return f"against {counts['against']:,} of the index"
    sources = counts["sources"]
    if sources == 1:
        return "of one file"
    return f"of {sources:,} files, {'across them only' if across else 'within and across them'}"


def _columns(summary: dict[str, Any]) -> Iterator[Row]:
    """Yield the fields whose columns have other names, or are in some files only."""
    fields, files = summary["spec"]["fields"], summary["columns"][:_FILES]
    for field, columns in zip(fields, zip(*files, strict=True), strict=True):
        if set(columns) != {field["name"]} or field["columns"]:
            shown = dict.fromkeys(name(column) if column else "none" for column in columns)
            yield Row(name(field["name"]), f"{field['compare']}, from {', '.join(shown)}")


def found_words(counts: dict[str, Any]) -> str:
    """Return the result in words that need no knowledge of the method."""
    if not counts["pairs"]:
        return "no two records that are the same"
    pairs = counted(counts["pairs"], "pair")
    groups = f"{counted(counts['clusters'], 'group')} of two or more"
    return (
        f"{pairs} of records that are the same, in {groups}; the largest has {counts['largest']:,}"
    )


def _labelled(lines: list[Row]) -> str:
    """Labels are names of blocks too, which may be longer than the others."""
    return labelled(lines, max(WIDTH, *(len(row.label) + 2 for row in lines)))


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


def _blocks(counts: dict[str, Any]) -> Iterator[Row]:
    if counts["skipped"]:
        yield Row("left out", f"{counts['skipped']:,} larger than allowed")
    if counts["skipped_bad"]:
        yield Row("left out", f"{counts['skipped_bad']:,} that can't be read")
    each = f"{counts['candidates_per_record']:.1f} per record"
    yield Row("candidates", f"{counts['candidates']:,}, {each}")
    yield Row("reduction ratio", percent(counts["reduction_ratio"]))
    bands = f"{counts['bands']} bands of {counts['rows']} rows"
    at = f"{percent(counts['recall'])} of the pairs of similarity {counts['block_at']:g}"
    yield Row("recall", f"{at}, predicted for {bands}")
    for block in counts["blocks"][1:]:
        yield Row(
            f"by {block['name']}", f"{block['added']:,} more candidates of {block['pairs']:,}"
        )


def about_threshold(threshold: dict[str, Any]) -> str:
    """Return a threshold and where it comes from."""
    words = {
        "valley": "in the valley of the histogram",
        "none": "a guess, as the histogram has no valley",
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
        shown.append("Clusters\n" + scored(cluster_rows(result["clusters"])))
    return "\n\n".join(shown)


def _blocking(result: dict[str, Any]) -> Iterator[Row]:
    blocking = result["blocking"]
    yield Row("pairs completeness", percent(blocking["pairs_completeness"]))
    yield Row("pairs quality", percent(blocking["pairs_quality"]))
    yield Row("reduction ratio", percent(blocking["reduction_ratio"]))
    each = f"{blocking['candidates_per_record']:.1f} per record"
    yield Row("candidates", f"{blocking['candidates']:,}, {each}")


def _decision(decision: dict[str, Any]) -> str:
    pairs = score_row(f"pairs from {decision['decide_at']:g}", decision["pairs"])
    shown = scored([pairs, *cluster_rows(decision["clusters"])])
    best = decision["best"]
    if best is None:
        return shown
    at = f"{percent(best['f1'])}, is at a score of {best['score']:g}"
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
    return aligned(["score", "candidates", "predicted", "true"], rows, left=1)


def render_pair(found: dict[str, Any]) -> str:
    """Return why two records are one, or are not: a line for each field."""
    rows = [["prior", "", "", "", _bits(found["prior"])]]
    rows += [_line_of(line) for line in found["fields"]]
    rows += [
        [name, "", "", "", _bits(found[name])]
        for name in ("dependences", "veto", "labels")
        if found[name]
    ]
    rows.append(["total", "", "", "", _bits(found["total"])])
    head = ["field", "first", "second", "similarity", "bits"]
    left = 3
    if not any("values" in line for line in found["fields"]):
        head, *rows = ([row[0], *row[3:]] for row in (head, *rows))
        left = 1
    table = aligned(head, rows, left)
    return f"{table}\n\n{labelled(_verdict(found), WIDTH)}"


def render_fields(rows: list[dict[str, Any]]) -> str:
    """Return the fields of two records next to each other."""
    head = ["field", "first", "second", "similarity", "bits"]
    lines = []
    for row in rows:
        similarity = "" if row["similarity"] is None else f"{row['similarity']:.2f}"
        values = ("" if row[side] is None else _cut(row[side]) for side in "ab")
        lines.append([name(row["field"]), *values, similarity, _bits(row["bits"])])
    return aligned(head, lines, 3)


def _line_of(line: dict[str, Any]) -> list[str]:
    if "similarity" not in line:  # whether they are each other's best
        return [name(line["field"]), "", "", "", _bits(line["bits"])]
    similarity = "missing" if line["similarity"] is None else f"{line['similarity']:.2f}"
    if line["frequency"] is not None:
        similarity = f"equal, in {line['frequency']:,}"
    if line["swapped"]:
        similarity += ", swapped"
    values = map(_cut, line.get("values", ("", "")))
    return [name(line["field"]), *values, similarity, _bits(line["bits"])]


def _verdict(found: dict[str, Any]) -> Iterator[Row]:
    sure = f"{'a' if found['match'] else 'no'} match at {found['decide_at']:g}"
    if not found["candidate"]:
        sure = "no match, as they were no candidates"
    if found["known"] is not None:
        sure = "a match" if found["match"] else "no match"
        sure += (
            ", as marked" if found["known"] == "marked" else ", as fields differ that must agree"
        )
    at = f"{found['score']:.6g}, {sure}"
    yield Row("score", at)
    yield Row("similarity", f"{found['similarity']:.3f}")
    yield Row("cluster", "the same" if found["same_cluster"] else "different ones")
    is_one = "yes" if found["candidate"] else "no, so they were not compared"
    yield Row("candidate", is_one)
    yield Row("blocking similarity", f"{found['block_similarity']:.3f}")


def _bits(value: float | None) -> str:
    return "" if value is None else f"{value:+.2f}"


def _cut(value: str) -> str:
    return name(value if len(value) <= _SHOWN else value[: _SHOWN - 3] + "...")


def render_record(found: dict[str, Any]) -> str:
    """Return a record with its cluster and its candidates."""
    head = ["record", "score", "match", "cluster", "bits", *map(name, found["fields"])]
    rows = [
        [
            name(str(line["id"])),
            f"{line['score']:.4f}",
            "yes" if line["match"] else "no",
            "the same" if line["same_cluster"] else "",
            f"{line['total']:+.2f}",
            *("" if bits is None else f"{bits:+.2f}" for bits in line["bits"]),
        ]
        for line in found["pairs"]
    ]
    text = labelled(_of_record(found), WIDTH)
    return f"{text}\n\n{aligned(head, rows, 1)}" if rows else text


def _of_record(found: dict[str, Any]) -> Iterator[Row]:
    yield Row("record", name(str(found["id"])))
    members = ", ".join(name(str(id_)) for id_ in found["members"])
    more = found["size"] - 1 - len(found["members"])
    members += f" and {more:,} more" if more else ""
    yield Row("cluster", f"{found['cluster']}, of {found['size']:,}")
    yield Row("with", members or "no other record")
    yield Row("candidates", f"{found['candidates']:,}, of which {found['matches']:,} match")
