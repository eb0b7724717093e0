"""A plan as text for a terminal."""

import functools
import textwrap
from collections.abc import Iterator

from neardup.forecast.passage_plan import PassagePlan
from neardup.forecast.plan import Plan, Share
from neardup.memory_plan import show_size as size
from neardup.values.readable import counted, labelled, percent, short
from neardup.views.text.summary_text import NO_DOCUMENTS
from neardup.views.view import Row

_WIDTH = 96
_READ = {
    "all": "of the input",
    "spread": "of the input, parts from all over it",
    "head": "of the input, from its beginning",
}


def render(plan: Plan) -> str:
    fill = functools.partial(textwrap.fill, width=_WIDTH, subsequent_indent=" " * 12)
    warnings = (fill(f"{'warning':<12}{one.text}") for one in plan.warnings)
    return "\n\n".join([labelled(found(plan)), labelled(taken(plan)), *warnings])


def found(plan: Plan) -> Iterator[Row]:
    about = "" if plan.exact else "at least about " if plan.sample == "head" else "about "
    tokens = {name: short(value) for name, value in plan.tokens.items()}
    yield Row("documents", f"{about}{plan.documents:,}", f"of {size(plan.text)} of text")
    yield Row("read", "all" if plan.exact else percent(plan.read), _READ[plan.sample])
    chosen = "all of them" if plan.sampled == plan.documents else "chosen by their content"
    yield Row("sample", f"{plan.sampled:,}", f"documents were compared, {chosen}")
    most = f"{tokens['low']} to {tokens['high']} in nine of ten"
    yield Row("length", tokens["median"], f"tokens in the median text, {most}")
    none = f"{percent(plan.empty)} none"
    yield Row("short", percent(plan.short), f"have fewer tokens than a shingle, {none}")
    of = "" if plan.sample != "head" else f", in the first {percent(plan.read)} of the input only"
    yield Row("equal", range_of(plan.equal_tokens), f"have the words of an earlier one{of}")
    yield Row("near", range_of(plan.near_duplicates), f"of the others are near-duplicates{of}")
    bucket = f"of these share a bucket with one that may be similar{of}"
    yield Row("compared", range_of(plan.compared), bucket)
    if not plan.documents:
        yield Row("note", "", NO_DOCUMENTS)
    number, bands = "", "none: an exact join of all pairs"
    if plan.num_bands:
        number, bands = (
            str(plan.num_bands),
            f"of {plan.rows} rows; a pair at the threshold is found with ",
        )
        bands += f"probability {percent(plan.predicted_recall)}"
    yield Row("bands", number, bands)


def taken(plan: Plan) -> Iterator[Row]:
    needed = f"one thread needs {size(plan.memory_minimum)}, {size(plan.memory_wanted)} caches all"
    yield Row("memory", size(plan.memory), f"may be used; {needed}")
    stay = f"at its peak, of which {size(plan.disk_output)} stay"
    yield Row("disk", f"about {size(plan.disk)}", stay)
    if plan.memory < plan.memory_minimum:
        yield Row("refused", "", "the memory is below the minimum: allow more, or split the input")


def range_of(share: Share) -> str:
    """Return the range of a share in words."""
    low, high = percent(share.low), percent(share.high)
    return low if low == high else f"{low} to {high}"


def render_passages(plan: PassagePlan) -> str:
    """Return the estimate for passages."""
    return labelled(_of_passages(plan))


def _of_passages(plan: PassagePlan) -> Iterator[Row]:
    low, high = (size(one) for one in plan.disk)
    read = counted(plan.sampled, "document")
    if plan.sampled < plan.documents:
        read = f"the first {read} only; the rest may have another share, and sources in these"
    yield Row("documents", f"about {plan.documents:,}, {size(plan.text)}, {plan.words:,} words")
    yield Row("copied", f"{percent(plan.copied_share)} of the words of {read}")
    yield Row("memory", f"at most {size(plan.memory)}")
    yield Row("disk", f"{low} of temporary files, {high} if all words are copied")
    yield Row("time", f"{plan.seconds[0]:,.0f} to {plan.seconds[1]:,.0f} s")
    if not plan.documents:
        yield Row("note", NO_DOCUMENTS)
