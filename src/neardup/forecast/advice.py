"""Warnings about texts and settings before a run, with their numbers."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup.deduplication.local import Outcome
from neardup.sketch.bands import advice_on_bands
from neardup.sketch.ignoring import HYPHEN

#: From this share of the documents on, many have fewer tokens than a shingle.
_SHORT = 0.05
#: From this share of the documents on, words that were cut at line ends are mentioned.
_CUT = 0.01
#: Density is reported where so many documents share a bucket with another one, and each has so many
#: others in its buckets of a band on average, as a number and as a share of all.
_COMPARED, _OTHERS, _DENSITY = 0.8, 10, 0.02
#: Of so many documents or more, a cluster of a larger share than this is named.
_MANY, _MOST = 20, 0.5


@dataclass(frozen=True)
class Advice:
    kind: str  # ``one text``, ``empty``, ``short``, ``cut words``, ``boilerplate`` ...
    text: str
    value: float  # the number that it is about


def advice(
    outcome: Outcome, texts: pa.LargeStringArray, tokens: np.ndarray, empty: float, total: int
) -> Iterator[Advice]:
    """Yield warnings for a run over some documents.

    Args:
        outcome: Of a run over a sample of them, with these ``texts``.
        tokens: int32[]: numbers of tokens of many documents; 0 for one that is not compared.
        empty: Share of those without a token.
        total: All documents.
    """
    counts, spec = outcome.answer.counts, outcome.job.spec
    n, one, documents = spec.shingle.n, spec.shingle.unit_name, counts["documents"]
    unit, word, items = f"{one}s", one == "word", one == "item"
    if empty >= _SHORT:
        text = f"{_percent(empty)} of the texts are empty or missing; all of these are kept"
        yield Advice("empty", text, empty)
    short = float(((tokens > 0) & (tokens < n)).mean())
    if short >= _SHORT:
        text = f"{_percent(short)} of the texts have fewer than {n} {unit}, the length of a shingle"
        yield Advice("short", f"{text}; of these only equal ones are found", short)
    median = float(np.median(tokens[tokens > 0])) if (tokens > 0).any() else 0.0
    reached = one_word_changed(median, n)
    if median > 0 and not items and reached < spec.threshold:
        fits = [k for k in range(n - 1, 0, -1) if one_word_changed(median, k) >= spec.threshold]
        remedy = f"; shingle='{spec.shingle.unit}:{fits[0]}' would find it" if fits else ""
        text = f"a shingle of {n} {unit} is long for these texts: with one {one} changed, a text "
        text += f"of median length ({median:.0f} {unit}) has a similarity of {reached:.2f}, below "
        text += f"the threshold of {spec.threshold:g}{remedy}"
        yield Advice("long shingle", text, reached)
    if not (items or spec.shingle.raw or spec.shingle.join_hyphens):
        found: Any = pc.match_substring_regex(texts, HYPHEN)
        cut = found.true_count / max(1, len(texts))
        if cut > _CUT:
            text = f"in {_percent(cut)} of the texts a hyphen cuts a word at a line end, and the "
            text += "halves are compared as two words; `join_hyphens` joins them"
            yield Advice("cut words", text, cut)
    largest = counts["largest_cluster"]
    if documents >= _MANY and largest > _MOST * documents:
        text = (
            f"{_percent(largest / documents)} of the documents are in one cluster; if they share "
        )
        text += "boilerplate, such as letterheads or menus, `boilerplate`=N compares the rest, and "
        text += "`within`=COLUMN compares documents of one group only"
        yield Advice("boilerplate", text, largest / documents)
    if density := _density(outcome):
        share = _percent(density)
        text = f"nearly all documents share buckets, each with {share} of the others in each band, "
        text += "and time grows with the square of their number; "
        longer = f"use {'longer' if word else 'words as'} shingles for texts of this length, or "
        text += "" if items else longer
        yield Advice("dense", f"{text}raise the `threshold`", density)
    if text := advice_on_bands(spec, total):
        yield Advice("many", text, total)


def one_word_changed(tokens: float, n: int) -> float:
    """Return the similarity of two texts of so many tokens that differ in one in the middle.

    Of the ``tokens - n + 1`` shingles of each, up to n have that token.

    >>> round(one_word_changed(40, 8), 3), one_word_changed(5, 8)
    (0.61, 0.0)
    """
    shingles = tokens - n + 1
    if shingles < 1:
        return 0.0
    changed = min(n, shingles)
    return float((shingles - changed) / (shingles + changed))


def _density(outcome: Outcome) -> float:
    """Return the share of the others that a document shares a bucket with; 0 if it is low."""
    counts, bands = outcome.answer.counts, outcome.recipe.num_bands
    none = counts["empty"] + counts.get("without_group", 0)
    documents = counts["documents"] - none - counts["equal_tokens"]
    if not bands or counts["compared_documents"] < _COMPARED * documents:
        return 0.0
    others = 2 * counts["candidates"] / bands / max(1, documents)
    return others / documents if others >= max(_OTHERS, _DENSITY * documents) else 0.0


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %" if share >= 0.1 else f"{100 * share:.1f} %"
