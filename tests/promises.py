"""What every run promises, whatever its settings, recomputed from the texts."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from neardup.deduplication.local import Outcome
from neardup.deduplication.reading import as_compared
from neardup.match.bucketing import group
from neardup.match.verifying import make_sets, similarities
from neardup.sketch.sketcher import Sketcher
from neardup.sketch.texts import Ragged, joined
from neardup.stages.exact import HOW
from neardup.threads import Pool

__all__ = ["LIMIT", "check"]

#: Corpora with more documents are not checked; of a bucket of kept ones, the first so many are,
#: and fewer where all documents are one: tests of that method compare its pairs with all others.
LIMIT, _BUCKET, _ALL = 50_000, 3000, 300


def check(outcome: Outcome) -> None:
    """Make sure that a run kept its promises.

    No two kept documents share a bucket and reach the threshold; every removed document reaches it
    with the one that it is a duplicate of, which is kept; and similarities are exact. How the two
    are alike is as their bytes and their tokens say.
    """
    answer, spec, recipe = outcome.answer, outcome.job.spec, outcome.recipe
    documents = len(answer.duplicate_of)
    if documents > LIMIT or spec.max_bucket is not None:
        return
    columns = () if recipe.within is None else (recipe.within,)
    read = (partition.read(columns) for _, partition in outcome.reader.partitions())
    texts = pa.chunked_array(
        [as_compared(found, recipe.within) for found in read], pa.large_string()
    ).combine_chunks()
    assert len(texts) == documents
    sketcher = Sketcher(recipe)
    parts: list[Ragged] = []
    sketches = sketcher(texts, parts)
    sets = make_sets(joined(parts))
    filled = np.flatnonzero(sketches.tokens).astype(np.int32)
    kept = filled[answer.duplicate_of[filled] < 0]
    removed = np.flatnonzero(answer.duplicate_of >= 0).astype(np.int32)
    of = answer.duplicate_of[removed].astype(np.int32)
    strings = texts.to_pylist()
    same = [strings[a] == strings[b] for a, b in zip(removed.tolist(), of.tolist(), strict=True)]
    words = (sketches.hashes[removed] == sketches.hashes[of]).all(axis=1)
    how = [HOW[0 if equal else 1 if word else 2] for equal, word in zip(same, words, strict=True)]
    assert [HOW[kind] for kind in answer.how[removed]] == how, "alike in another way"
    assert (answer.how[answer.duplicate_of < 0] == -1).all(), "a kept one is alike to none"
    if spec.only_same:
        assert all(same), "removed for other bytes"
        left = [strings[doc] for doc in kept.tolist()]
        assert len(set(left)) == len(left), "two kept documents have the same bytes"
        return

    assert (answer.duplicate_of[sketches.tokens == 0] == -1).all(), "an empty one is removed"
    assert (answer.duplicate_of[of] == -1).all(), "a duplicate of one that is not kept"
    with Pool(1) as pool:
        exact = similarities(sets, removed, of, 0.0, pool)
        assert np.array_equal(answer.similarity[removed], exact), "another similarity"
        assert (exact >= spec.threshold).all(), "removed below the threshold"
        assert np.isnan(answer.similarity[answer.duplicate_of < 0]).all()
        for a, b in _pairs(sketches.keys, kept):
            found = similarities(sets, a, b, spec.threshold, pool)
            assert (found < 0).all(), "two kept documents share a bucket and reach the threshold"
    # The other way round: it was found by a bucket, or its text is that of another.
    shared = (sketches.keys[removed] == sketches.keys[of]).any(axis=1) | (recipe.num_bands == 0)
    assert (shared | (exact == 1.0)).all(), "a pair that shares no bucket"


def _pairs(keys: np.ndarray, docs: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """The pairs of documents that share a bucket, band by band; all pairs without bands."""
    bands = [group(np.ascontiguousarray(band), docs) for band in keys[docs].T]
    for members, starts in bands or [(docs, np.array([0, len(docs)]))]:
        place = np.arange(len(members)) - np.repeat(starts[:-1], np.diff(starts))
        # Pairs of each with those before it in its bucket.
        before = np.where(place < (_BUCKET if bands else _ALL), place, 0)
        first = np.repeat(np.arange(len(members)) - place, before)
        within = np.arange(before.sum()) - np.repeat(np.cumsum(before) - before, before)
        yield members[first + within], np.repeat(members, before)
