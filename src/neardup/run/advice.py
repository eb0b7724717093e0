"""What a user should know of a corpus and a spec before a run: warnings, with their numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow.compute as pc

from neardup.run.expectation import Expected
from neardup.run.sampling import Sample
from neardup.run.similarities import Similarities
from neardup.spec import Spec

__all__ = ["advice", "one_word_changed", "share_without_blanks"]

#: From these shares of the documents on it is said that texts are short, or empty.
_SHORT, _EMPTY = 0.05, 0.01
#: From this share of the documents on a template is told of.
_TEMPLATE = 0.02
#: From this share of documents equal to an earlier one on it is told.
_EQUAL = 0.5
#: A pair for so many documents counts as nearly all being alike, or as nearly none.
_NEARLY_ALL, _NEARLY_NONE = 0.5, 0.001
#: From this share of the tokens on a language counts as written without blanks.
_BLANKLESS = 0.2
#: Characters that are tokens of their own, see `neardup.kernels.text`.
_WITHOUT_BLANKS = r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]"
#: Documents whose characters are looked at.
_LOOKED_AT = 2000


@dataclass(frozen=True)
class Seen:
    """What advice is given on.

    Attributes:
        sample: The sample.
        expected: What a run will find.
        similarities: Of the documents of the sample.
    """

    sample: Sample
    expected: Expected
    similarities: Similarities


def advice(seen: Seen, spec: Spec) -> list[dict[str, Any]]:
    """Return warnings: ``kind`` and ``text`` of each, and the numbers that it is about."""
    found = [
        *_equal(seen.expected),
        *_lengths(seen.sample, spec),
        *_templates(seen.similarities),
        *_threshold(seen, spec),
        *_scripts(seen.sample, spec),
        *_reach(seen.sample),
    ]
    return [{"kind": kind, "text": text, **numbers} for kind, text, numbers in found]


Warning_ = tuple[str, str, dict[str, Any]]


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %" if share >= 0.1 else f"{100 * share:.1f} %"


def one_word_changed(tokens: float, n: int) -> float:
    """Return the similarity of two texts of so many tokens that differ in one in the middle.

    Of the ``tokens - n + 1`` shingles of each, up to n hold that token.

    >>> round(one_word_changed(40, 8), 3), one_word_changed(5, 8)
    (0.61, 0.0)
    """
    shingles = tokens - n + 1
    if shingles < 1:
        return 0.0
    changed = min(n, shingles)
    return float((shingles - changed) / (shingles + changed))


def _equal(expected: Expected) -> list[Warning_]:
    share = expected.exact_duplicates.value / max(1.0, expected.filled)
    if share < _EQUAL:
        return []
    text = (
        f"{_percent(share)} of the texts repeat an earlier one exactly; what follows is of others"
    )
    return [("equal", text, {"share": share})]


def _lengths(sample: Sample, spec: Spec) -> list[Warning_]:
    found: list[Warning_] = []
    tokens, n = sample.tokens, spec.shingle.n
    if not len(tokens):
        return found
    unit = "words" if spec.shingle.unit == "word" else "characters"
    empty = float((tokens == 0).mean())
    short = float(((tokens > 0) & (tokens < n)).mean())
    if empty >= _EMPTY:
        text = f"{_percent(empty)} of the texts are empty; they are kept, and never paired"
        found.append(("empty", text, {"share": empty}))
    if short >= _SHORT:
        text = (
            f"{_percent(short)} of the texts have fewer than {n} {unit}, the length of a shingle; "
            "of these only equal ones are found"
        )
        found.append(("short", text, {"share": short}))
    median = float(np.median(tokens[tokens > 0])) if (tokens > 0).any() else 0.0
    reached = one_word_changed(median, n)
    if median > 0 and reached < spec.edge_threshold:
        fits = [
            k for k in range(n - 1, 0, -1) if one_word_changed(median, k) >= spec.edge_threshold
        ]
        remedy = f"; --shingle {spec.shingle.unit}:{fits[0]} would find it" if fits else ""
        one = "word" if spec.shingle.unit == "word" else "character"
        text = (
            f"a shingle of {n} {unit} is long for these texts: with one {one} changed, a text of "
            f"median length ({median:.0f} {unit}) has a similarity of {reached:.2f}, below the "
            f"edge threshold of {spec.edge_threshold:g}{remedy}"
        )
        numbers = {"median": median, "similarity": reached, "n": fits[0] if fits else None}
        found.append(("long shingle", text, numbers))
    return found


def _templates(seen: Similarities) -> list[Warning_]:
    return [
        (
            "template",
            f"{_percent(family.share)} of the texts share a template; two of them have a "
            f"similarity of {family.similarity:.2f} (median)",
            {"share": family.share, "similarity": family.similarity},
        )
        for family in seen.families
        if family.share >= _TEMPLATE
    ]


def _threshold(seen: Seen, spec: Spec) -> list[Warning_]:
    e, drawn = seen.expected, seen.sample.drawn
    different = max(1.0, e.filled - e.exact_duplicates.value)
    every = different * (different - 1) / 2
    if different < 2:
        return []
    share = e.edges.value / every
    if share >= _NEARLY_ALL:
        text = (
            f"nearly all is a pair: {_percent(share)} of all pairs reach the edge threshold of "
            f"{spec.edge_threshold:g}; a higher one, or longer shingles, tell them apart"
        )
        return [("nearly all", text, {"share": share})]
    # Where none is seen there may be some all the same: as many as three of the sample stand for.
    most = max(e.edges.high, 0.0 if drawn.whole else 3 * drawn.across)
    if most / different < _NEARLY_NONE:
        few = "no pair" if most < 1 else f"fewer than {round(most) + 1:,} pairs"
        text = (
            f"nearly nothing is a pair: {few} of different texts reach{'es' * (most < 1)} the edge "
            f"threshold of {spec.edge_threshold:g}; a lower one, or shorter shingles, find more"
        )
        return [("nearly nothing", text, {"pairs": most})]
    return []


def share_without_blanks(sample: Sample) -> float:
    """Return which share of the tokens are characters of scripts written without blanks."""
    docs = np.linspace(0, sample.count - 1, min(sample.count, _LOOKED_AT)).astype(np.int64)
    docs = np.unique(docs)
    tokens = int(sample.tokens[docs].sum())
    if not tokens:
        return 0.0
    counts = pc.count_substring_regex(sample.text_of(docs), _WITHOUT_BLANKS)
    return min(1.0, float(pc.sum(counts).as_py() or 0) / tokens)


def _scripts(sample: Sample, spec: Spec) -> list[Warning_]:
    if spec.shingle.unit != "word" or not sample.count:
        return []
    share = share_without_blanks(sample)
    if share < _BLANKLESS:
        return []
    n = spec.shingle.n
    text = (
        f"{_percent(share)} of the words are single characters of a script that is written "
        f"without blanks: a shingle of {n} words is {n} characters there"
    )
    return [("without blanks", text, {"share": share})]


def _reach(sample: Sample) -> list[Warning_]:
    found: list[Warning_] = []
    if not sample.exact and sample.drawn.whole:
        text = "only the first documents could be looked at, and nothing tells how many there are"
        found.append(("begin only", text, {}))
    elif not sample.drawn.everywhere:
        text = (
            "only the begin of the input could be looked at (CSV, compressed files and large row "
            "groups of Parquet can't be entered elsewhere); if the rest is not like it, these "
            "figures are wrong by as much"
        )
        found.append(("begin only", text, {}))
    return found
