"""All pairs of documents, where many have the same text: made in batches of any size."""

from __future__ import annotations

import itertools
import random

import pytest

import neardup
from common import Tune


@pytest.mark.parametrize("size", [3, 1 << 21])
def test_pairs_of_copies(tune: Tune, size: int) -> None:
    tune(edges=size)
    generator = random.Random(1)
    common = [f"w{i}" for i in range(30)]
    # Of each text up to five copies; texts of a group differ in the last word.
    groups = [
        " ".join([f"g{group}", *common, f"end{variant}"])
        for group, variant in itertools.product(range(3), range(3))
    ]
    texts = [text for text in groups for _ in range(generator.randint(1, 5))]
    generator.shuffle(texts)
    run = neardup.dedup(texts, spec=neardup.Spec(pairs="all", method="allpairs", threshold=0.9))
    expected = {
        (a, b): neardup.compare(texts[a], texts[b]).similarity
        for a, b in itertools.combinations(range(len(texts)), 2)
    }
    expected = {pair: similarity for pair, similarity in expected.items() if similarity >= 0.9}
    found = run.edges
    assert found is not None and found.num_rows == run.summary["counts"]["edges"] > 30
    ends = zip(found["doc_a"].to_pylist(), found["doc_b"].to_pylist(), strict=True)
    assert dict(zip(ends, found["similarity"].to_pylist(), strict=True)) == expected
