"""An explanation, or a comparison of two texts, in words."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from neardup.core.compare import Comparison
from neardup.report.differences import Difference, differences
from neardup.report.marked import LEGEND, marked
from neardup.report.numbers import percent
from neardup.report.visible import name, visible
from neardup.run.explanation import Document, Explanation, Meeting, Neighbour

__all__ = ["Fact", "View", "render", "view", "view_of_pair"]

#: A label, and what is said under it.
Fact = tuple[str, str]

_WHY_REFUSED = {
    "bounded": "any two documents of one cluster would not be sure to reach {:g}",
    "bounded-mst": "any two documents of one cluster would not be sure to reach {:g}",
    "star": "a cluster holds only what is near its kept document",
    "louvain": "they are in different communities",
}


def _headline(found: Explanation) -> str:
    """What became of the document, in one sentence."""
    document, other, least = found.document, found.other, found.edge_threshold
    this = name(document.doc_id)
    if other is not None and (found.second_asked or not document.kept):
        for one, two in ((document, other), (other, document)):
            if not one.kept and one.kept_by == two.doc_id:
                return (
                    f"{name(one.doc_id)} is removed: it repeats {name(two.doc_id)}, which is kept."
                )
        return _of_two(found, this, name(other.doc_id))
    if found.repeats:
        many = "1 document repeats" if found.repeats == 1 else f"{found.repeats:,} documents repeat"
        return f"{this} is kept: {many} it."
    if document.members > 1:
        return f"{this} is kept: no kept document of its cluster reaches {least:g} with it."
    if document.form == "empty":
        return f"{this} is kept and alone: it is empty, and empty documents are never paired."
    if document.form == "short":
        return (
            f"{this} is kept and alone: it is short, {document.tokens} of {found.n} tokens of a "
            "shingle, so that only the same tokens would repeat it."
        )
    if found.refused_count:
        return f"{this} is kept and alone: its verified edges lead to documents of other clusters."
    return f"{this} is kept and alone: no document was found that reaches {least:g} with it."


def _of_two(found: Explanation, this: str, that: str) -> str:
    pair = found.comparison
    if pair is not None:
        return _headline_of_pair(pair, this, that)
    joined = "have a verified edge" if found.edge else "have no verified edge"
    return f"{this} and {that} {joined}."


def _headline_of_pair(pair: Comparison, this: str, that: str) -> str:
    """Whether two texts are duplicates, in one sentence."""
    least = pair.edge_threshold
    if not (pair.tokens_a and pair.tokens_b):
        which = this if pair.tokens_b else that if pair.tokens_a else "both"
        verb = "are" if which == "both" else "is"
        return f"{this} and {that} are not duplicates: {which} {verb} empty, and never paired."
    if pair.equal is not None:
        how = "byte for byte" if pair.equal == "bytes" else "after normalising"
        return f"{this} and {that} are exact duplicates: the same {how}."
    if pair.duplicates:
        return f"{this} and {that} are near-duplicates: their similarity reaches {least:g}."
    return f"{this} and {that} are not duplicates: their similarity is below {least:g}."


def _facts(found: Explanation) -> Iterator[Fact]:
    """What is known, in the order of interest."""
    document, other = found.document, found.other
    this = name(document.doc_id)
    yield "document", _told(document)
    if other is not None:
        that = name(other.doc_id)
        yield "nearest" if _chosen(found) else "other", _told(other)
        if found.comparison is not None:
            yield from _facts_of_pair(found.comparison, this, that, found.shingle)
            if found.meeting is not None:
                yield "met", _met(found.meeting, found.edge_threshold)
        yield "edge", _edge(found)
        yield "path", _path(found, this)
    if document.kept:
        yield from _repeated(found, this)
    if not found.second_asked and document.kept and document.members > 1:
        yield "edges", _listed(found.edges, found.edges_count) + " in its cluster"
    if found.refused_count:
        why = _WHY_REFUSED.get(found.cluster, "").format(found.tree_threshold)
        yield (
            "refused",
            f"verified edges to {_listed(found.refused, found.refused_count)}, in other clusters"
            + f", since {why}" * bool(why),
        )


def _chosen(found: Explanation) -> bool:
    """Whether the other one is only the nearest of those that repeat the document."""
    return found.document.kept and not found.second_asked


def _repeated(found: Explanation, this: str) -> Iterator[Fact]:
    """Each document that repeats the one that was asked about, in a line."""
    for one in found.repeated_by:
        told = f"{name(one.doc_id)} at {one.similarity:.4f}"
        if one.comparison is not None and one.meeting is not None:
            told += f"; {_contained(one.comparison, this, 'it')}; {_where(one.meeting)}"
        yield "repeated by", told
    more = found.repeats - len(found.repeated_by)
    if more or not found.repeats:
        some = " more" if found.repeated_by else ""
        yield "repeated by", f"{more:,}{some}" if more else "none"


def _told(document: Document) -> str:
    state = "kept"
    if not document.kept:
        state = f"removed, repeats {name(document.kept_by)} at {document.similarity:.4f}"
    if document.members == 1:
        cluster = "alone in its cluster"
    else:
        kept = (
            "all kept"
            if document.members_kept == document.members
            else (f"{document.members_kept:,} kept")
        )
        cluster = f"cluster {document.cluster} with {document.members:,} documents, {kept}"
    size = f", {document.tokens:,} tokens" if document.tokens is not None else ""
    form = f" ({document.form})" if document.form in ("empty", "short") else ""
    return f"{name(document.doc_id)}: position {document.doc}{size}{form}; {state}; {cluster}"


def _facts_of_pair(pair: Comparison, this: str, that: str, shingle: str) -> list[Fact]:
    """The figures of two texts."""
    yes = "reaches" if pair.duplicates else "is below"
    found = [
        (
            "similarity",
            f"{pair.similarity:.4f} of {shingle} shingles; {yes} {pair.edge_threshold:g}",
        ),
        (
            "containment",
            _contained(pair, this, that),
        ),
        (
            "shingles",
            f"{pair.shared:,} shared, {pair.only_a:,} only in {this}, "
            f"{pair.only_b:,} only in {that}",
        ),
    ]
    if pair.equal is not None:
        how = "byte for byte" if pair.equal == "bytes" else "after normalising, not byte for byte"
        found.append(("equal", how))
    return found


def _contained(pair: Comparison, this: str, that: str) -> str:
    return (
        f"{percent(pair.containment_a)} of {this} is in {that}, "
        f"{percent(pair.containment_b)} of {that} is in {this}"
    )


def _where(met: Meeting) -> str:
    """How two documents met, in a few words."""
    if met.how == "band":
        return f"met in band {met.band} of {met.num_bands}"
    return {
        "collapsed": "met before banding, equal",
        "join": "met by the exact join",
        "none": "met in no band",
    }[met.how]


def _met(met: Meeting, least: float) -> str:
    if met.how == "collapsed":
        return "before banding: exact duplicates are collapsed to one document"
    if met.how == "join":
        return "by an exact join of all pairs"
    if not met.num_bands:
        return f"not at all: the exact join gives pairs from {least:g} on"
    expected = f"a pair of their similarity shares one with probability {percent(met.probability)}"
    if met.how == "none":
        return f"in none of the {met.num_bands} bands; {expected}"
    return f"in band {met.band} of {met.num_bands}; they share {met.shared_bands}; {expected}"


def _edge(found: Explanation) -> str:
    pair, other = found.comparison, found.other
    assert other is not None
    apart = other.cluster != found.document.cluster
    if found.edge:
        return "verified" + ", but refused: they are in different clusters" * apart
    if pair is None or not pair.duplicates:
        return "none"
    if pair.equal is not None:
        return "none: exact duplicates have an edge with the first of them only"
    if not apart:
        return "none: they were in one cluster already when they could have been compared"
    if found.meeting is not None and found.meeting.how == "none":
        return "none: banding did not bring them together"
    return "none: they met, and only the roots of their clusters were compared"


def _path(found: Explanation, this: str) -> str:
    assert found.other is not None
    if found.path:
        return this + "".join(f" -{n.similarity:.4f}-> {name(n.doc_id)}" for n in found.path)
    if found.other.cluster != found.document.cluster:
        return "none: they are in different clusters"
    return "none of verified edges within the cluster"


def _listed(neighbours: Sequence[Neighbour], count: int) -> str:
    shown = ", ".join(f"{name(n.doc_id)} at {n.similarity:.4f}" for n in neighbours)
    if count > len(neighbours):
        rest = f"{count - len(neighbours):,} more"
        return f"{shown} and {rest}" if shown else rest
    return shown or "none"


@dataclass(frozen=True)
class View:
    """What is shown of an explanation or a comparison.

    Attributes:
        head: What came out, in a sentence.
        facts: A label and a sentence each.
        names: Of the documents, as they are shown.
        texts: Of none, one or two documents.
    """

    head: str
    facts: tuple[Fact, ...]
    names: tuple[str, ...]
    texts: tuple[str, ...] = ()

    @functools.cached_property
    def parts(self) -> list[Difference]:
        """The differences of the two texts; nothing without two."""
        return differences(*self.texts) if len(self.texts) == 2 else []


def view(found: Explanation) -> View:
    """Return what is shown of an explanation."""
    documents = [d for d in (found.document, found.other) if d is not None]
    return View(
        _headline(found),
        tuple(_facts(found)),
        tuple(name(document.doc_id) for document in documents),
        found.texts or (),
    )


def view_of_pair(
    pair: Comparison, shingle: str, names: tuple[str, str], texts: tuple[str, ...]
) -> View:
    """Return what is shown of a comparison.

    Args:
        pair: From `neardup.compare`.
        shingle: The shingles that were compared, such as ``word:5``.
        names: Of the texts; any.
        texts: Those that were compared; none to leave them out.
    """
    this, that = name(names[0]), name(names[1])
    return View(
        _headline_of_pair(pair, this, that),
        tuple(_facts_of_pair(pair, this, that, shingle)),
        (this, that),
        texts,
    )


def render(shown: View, colour: bool = False) -> str:
    """Return the headline, the facts, and the texts with their differences marked.

    Args:
        shown: From `view` or `view_of_pair`.
        colour: Whether a terminal shows it.
    """
    width = max((len(label) for label, _ in shown.facts), default=0)
    lines = [shown.head, *(f"{label.ljust(width)}  {told}" for label, told in shown.facts)]
    if any(part.op != "equal" for part in shown.parts):
        lines += ["", LEGEND[colour], "", marked(shown.parts, colour)]
    elif shown.texts:
        lines += ["", visible(shown.texts[0])]
    return "\n".join(lines)
