"""Whether texts of which few are near-duplicates have long runs of words in common."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from neardup.copied_passages.finding import Inputs
from neardup.copied_passages.passage_spec import CutSpec, PassageSpec
from neardup.copied_passages.passage_steps import PassageSteps, count_of
from neardup.corpora.corpus import InputCorpus
from neardup.errors import NeardupError
from neardup.options.option_groups import Reading
from neardup.results.results import Results
from neardup.values.readable import percent

#: Documents that are looked at, and their share of removed ones up to which a hint is due.
_SAMPLE, _FEW = 1000, 0.1
#: Share of copied words from which on a hint is due.
_COPIED = 0.05


def hint(results: Results) -> str:
    """Return a sentence for a run that found few duplicates in texts that share long runs, or none.

    Some of the first documents are read again; nothing is said where that can't be done.
    """
    counts = results.record["counts"]
    if counts["documents"] < 2 or counts["removed"] > _FEW * counts["documents"]:
        return ""
    try:
        texts = results.texts(np.arange(min(_SAMPLE, counts["documents"])))
        sample = InputCorpus.open(pa.table({"text": pa.array(texts, pa.large_string())}), Reading())
        counts, _ = count_of(PassageSteps(Inputs(sample), PassageSpec(), CutSpec()))
    except NeardupError:  # a pipe, or a frame
        return ""
    words, copied = (counts[name] for name in ("words", "copied_words"))
    if not words or copied < _COPIED * words:
        return ""
    return (
        f"{percent(copied / words)} of the words of the first {len(texts):,} documents are in runs "
        "of 25 words that occur earlier; neardup passages finds them"
    )
