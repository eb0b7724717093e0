"""Answers about a linkage: plain values that print as the command shows them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from neardup.records.outputs.link_text import render_evaluation
from neardup.report.numbers import aligned, labelled
from neardup.report.visible import name

_WIDTH = 20
#: Characters of a value that are shown.
_SHOWN = 30


class LinkEvaluation(dict[str, Any]):
    """A linkage next to the ground truth; see ``docs/formats.md``."""

    def __str__(self) -> str:
        return render_evaluation(self)

    __repr__ = __str__


class LinkExplanation(dict[str, Any]):
    """Why two records are one, or are not: match weights that add up to log odds, in bits."""

    def __str__(self) -> str:
        rows = [["prior", "", "", "", _bits(self["prior"])]]
        rows += [_field(line) for line in self["fields"]]
        rows += [
            [name, "", "", "", _bits(self[name])]
            for name in ("dependences", "veto", "labels")
            if self[name]
        ]
        rows.append(["total", "", "", "", _bits(self["total"])])
        head = ["field", "first", "second", "similarity", "bits"]
        left = 3
        if not any("values" in line for line in self["fields"]):
            head, *rows = ([row[0], *row[3:]] for row in (head, *rows))
            left = 1
        table = aligned(head, rows, left)
        return f"{table}\n\n{labelled(_verdict(self), _WIDTH)}"

    __repr__ = __str__


def _field(line: dict[str, Any]) -> list[str]:
    if "similarity" not in line:  # whether they are each other's best
        return [name(line["field"]), "", "", "", _bits(line["bits"])]
    similarity = "missing" if line["similarity"] is None else f"{line['similarity']:.2f}"
    if line["frequency"] is not None:
        similarity = f"equal, in {line['frequency']:,}"
    if line["swapped"]:
        similarity += ", swapped"
    values = map(_cut, line.get("values", ("", "")))
    return [name(line["field"]), *values, similarity, _bits(line["bits"])]


def _verdict(found: dict[str, Any]) -> Iterator[tuple[str, str]]:
    sure = f"{'a' if found['match'] else 'no'} match at {found['decide_at']:g}"
    if not found["candidate"]:
        sure = "no match, as they were no candidates"
    at = f"{found['probability']:.6g}, {sure}"
    yield ("score" if found["score"] else "probability"), at
    yield "similarity", f"{found['similarity']:.3f}"
    yield "cluster", "the same" if found["same_cluster"] else "different ones"
    is_one = "yes" if found["candidate"] else "no, so they were not compared"
    yield "candidate", is_one
    yield "blocking similarity", f"{found['block_similarity']:.3f}"


def _bits(value: float | None) -> str:
    return "" if value is None else f"{value:+.2f}"


def _cut(value: str) -> str:
    return name(value if len(value) <= _SHOWN else value[: _SHOWN - 3] + "...")
