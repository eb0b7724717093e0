"""An explanation, or a comparison of two texts, in words: on a terminal, and as a page."""

import dataclasses
import functools
import sys
from collections.abc import Iterator
from dataclasses import dataclass

from neardup.inspect.compare import Comparison
from neardup.inspect.explain import CommonBuckets, Document, Explanation
from neardup.values.readable import counted, percent
from neardup.values.visible import name, visible
from neardup.views.differences import Difference, Fold, differences, folded
from neardup.views.html_page import html_page
from neardup.views.view import Row

_STYLES = [*(f"page/{name}.css" for name in ("base", "opened", "texts", "sides")), "compared.css"]
_RED, _GREEN, _PLAIN = "\x1b[9;31m", "\x1b[4;32m", "\x1b[0m"


@dataclass(frozen=True)
class ComparedView:
    """The result in a sentence, notes with a label each, and none, one or two named texts."""

    head: str
    notes: tuple[Row, ...]
    names: tuple[str, ...]
    texts: tuple[str, ...] = ()

    @functools.cached_property
    def parts(self) -> list[Difference]:
        """The differences of the two texts; nothing without two."""
        return differences(*self.texts) if len(self.texts) == 2 else []


def render(view: ComparedView, colour: bool = False, context: int = sys.maxsize) -> str:
    """Return the headline, the notes, and the texts with their differences marked."""
    width = max((len(note.label) for note in view.notes), default=0)
    lines = [visible(view.head)]
    lines += [f"{note.label:<{width}}  {visible(note.remark)}" for note in view.notes]
    if any(part.op != "equal" for part in view.parts):
        legend = f"{_only('only in the first', 0, colour)} {_only('only in the second', 1, colour)}"
        shown = (marked(part, colour) for part in folded(view.parts, context))
        lines += ["", legend, "", "".join(shown)]
    elif view.texts:
        lines += ["", visible(view.texts[0])]
    return "\n".join(lines)


def marked(part: Difference | Fold, colour: bool) -> str:
    """Return a part of both texts: words of only the first come before those of the second."""
    if isinstance(part, Fold):
        return f"\n[... {counted(part.words, 'equal word')} ...]\n"
    if part.op == "equal":
        return visible(part.text_b)
    return _only(part.text_a, 0, colour) + _only(part.text_b, 1, colour)


def _only(text: str, side: int, colour: bool) -> str:
    """Return the words that only one text has, marked; nothing without text."""
    text = visible(text)
    if not colour:
        return text and ("[-", "{+")[side] + text + ("-]", "+}")[side]
    # Each line is painted by itself, as pagers want it, and its end is visible.
    paint = (_RED, _GREEN)[side]
    lines = text.replace("\n", "↵\n").split("\n")
    return "\n".join(line and f"{paint}{line}{_PLAIN}" for line in lines)


def page(view: ComparedView, context: int) -> str:
    """Return a page with a headline, notes, and the texts with what differs marked in each."""
    parts, sides = list(folded(view.parts, context)), []
    for side, text in enumerate(view.texts):
        sides.append((view.names[side], [_of_side(part, side) for part in parts] or [("", text)]))
    return html_page("compared.html.jinja", _STYLES, view=view, sides=sides)


def _of_side(part: Difference | Fold, side: int) -> tuple[str, str]:
    """Return how a part of one text is shown (``""``, ``del``, ``ins``, a count), and the text."""
    text = part.text_b if side else part.text_a
    if isinstance(part, Fold):
        return counted(part.words, "equal word"), text
    return "" if part.op == "equal" else ("del", "ins")[side], text


def view(found: Explanation) -> ComparedView:
    documents = [d for d in (found.document, found.other) if d is not None]
    names = tuple(name(document.doc_id) for document in documents)
    return ComparedView(
        _headline(found, *names), tuple(_notes(found, *names)), names, found.texts or ()
    )


def view_of_pair(
    pair: Comparison, shingle: str, names: tuple[str, str], texts: tuple[str, ...]
) -> ComparedView:
    """Return the view of a comparison of two texts, or none, by their shingles."""
    this, that = (name(one) for one in names)
    notes = tuple(_notes_of_pair(pair, this, that, shingle))
    return ComparedView(_headline_of_pair(pair, this, that), notes, (this, that), texts)


def _headline(found: Explanation, this: str, that: str = "") -> str:
    document, other = found.document, found.other
    if other is None or (document.kept and not found.second_asked):
        return f"{this} is {found.why}."
    if not document.kept and document.duplicate_of == other.doc_id:
        return f"{this} is removed: it is a duplicate of {that}, which is kept."
    if not other.kept and other.duplicate_of == document.doc_id:
        return f"{that} is removed: it is a duplicate of {this}, which is kept."
    if found.comparison is not None:
        return _headline_of_pair(found.comparison, this, that)
    return f"{this} and {that} have {'an' if found.edge else 'no'} edge."


def _headline_of_pair(pair: Comparison, this: str, that: str) -> str:
    if pair.other_group:
        return f"{this} and {that} are {pair.note}."
    both = f"{this} and {that} are"
    if not (pair.tokens_a and pair.tokens_b):
        return f"{both} not duplicates: {pair.note}."
    if pair.equal is not None:
        return f"{both} duplicates: {pair.note}."
    if pair.duplicates:
        return f"{both} near-duplicates: their similarity reaches {pair.threshold:g}."
    return f"{both} not duplicates: their similarity is below {pair.threshold:g}."


def _notes(found: Explanation, this: str, that: str = "") -> Iterator[Row]:
    document, other = found.document, found.other
    yield Row("document", remark=_described(document, this))
    if other is not None:
        nearest = document.kept and not found.second_asked
        yield Row("nearest" if nearest else "other", remark=_described(other, that))
        if found.comparison is not None:
            yield from _notes_of_pair(found.comparison, this, that, found.shingle)
        if found.buckets is not None:
            yield Row("buckets", remark=_shared(found.buckets, found.threshold))
        if found.listed:
            yield Row("edge", remark=_edge(found))
    if document.kept:
        yield Row("duplicates", remark=_duplicates(found))
    for note in found.notes:
        yield Row("note", remark=note)


def _edge(found: Explanation) -> str:
    if not found.edge_of:
        return "listed" if found.edge else "none"
    has = "has" if len(found.edge_of) == 1 else "have"
    return f"listed for {' and '.join(map(name, found.edge_of))}, which {has} the same shingles"


def _described(document: Document, this: str) -> str:
    size = f", {counted(document.tokens, 'token')}" if document.tokens is not None else ""
    form = f" ({document.form})" if document.form in ("empty", "short", "no group") else ""
    state, cluster = "kept", "the only one in its cluster"
    if not document.kept:
        of = name(document.duplicate_of)
        state = f"removed, a duplicate of {of} at {document.similarity:.4f}"
    if document.in_old:
        cluster = "in no cluster of the batch; the text of the other one is not compared here"
    elif document.members > 1:
        kept = f"{document.members_kept:,} kept"
        cluster = f"cluster {document.cluster} of {document.members:,} documents, {kept}"
    return f"{this}: number {document.doc}{size}{form}; {state}; {cluster}"


def _duplicates(found: Explanation) -> str:
    """Return the duplicates of the document; equal ones by their number."""
    near = [one for one in found.duplicates if one.how not in ("same", "words")]
    parts = [f"{name(one.doc_id)} at {one.similarity:.4f}" for one in near]
    more = found.duplicates_count - found.same - found.equal_words - len(near)
    parts += [f"{more:,} more"] * (more > 0)
    for kind, many, what in (
        ("words", found.equal_words, "with equal words"),
        ("same", found.same, "the same"),
    ):
        such = [f", such as {name(one.doc_id)}" for one in found.duplicates if one.how == kind]
        parts += [f"{many:,} {what}{such[0] if such else ''}"] * (many > 0)
    return ", ".join(parts) or "none"


def _notes_of_pair(pair: Comparison, this: str, that: str, shingle: str) -> Iterator[Row]:
    reaches = "reaches" if pair.duplicates else "is below"
    what = "items" if shingle == "item" else f"{shingle} shingles"
    yield Row("similarity", remark=f"{pair.similarity:.4f} of {what}; {reaches} {pair.threshold:g}")
    both = f"{percent(pair.containment_b)} of {that} is in {this}"
    yield Row("containment", remark=f"{percent(pair.containment_a)} of {this} is in {that}, {both}")
    only = f"{pair.only_a:,} only in {this}, {pair.only_b:,} only in {that}"
    yield Row(
        "items" if shingle == "item" else "shingles", remark=f"{pair.shared:,} shared, {only}"
    )
    if pair.note:
        yield Row("note", remark=pair.note)


def _shared(buckets: CommonBuckets, threshold: float) -> str:
    if buckets.how == "equal":
        return "not needed: documents with equal words are put together before banding"
    if buckets.how == "groups":
        return "none: only documents of one group share any"
    if buckets.how == "join":
        return "not needed: all pairs were searched"
    if not buckets.num_bands:
        return f"none: the exact join reports pairs from {threshold:g} on"
    chance = percent(buckets.probability)
    expected = f"a pair of their similarity shares one with probability {chance}"
    all_bands = counted(buckets.num_bands, "band")
    if buckets.how == "none":
        return f"shared in none of the {all_bands}; {expected}"
    bands = ", ".join(map(str, buckets.bands[:8])) + ", ..." * (len(buckets.bands) > 8)
    return f"shared in {len(buckets.bands)} of {all_bands} ({bands}); {expected}"


def explained(found: Explanation) -> str:
    """Return why a document was removed or kept, without texts."""
    return render(dataclasses.replace(view(found), texts=()))
