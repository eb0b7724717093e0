"""What is ignored is part of the recipe: batch and index find what they do without it.

On Spark: `test_spark_ignored`.
"""

from __future__ import annotations

from pathlib import Path

import neardup
import parity_corpus as corpus


def test_batch_and_index(tmp_path: Path) -> None:
    rows, spec = corpus.table("int"), corpus.ignoring()
    expected, noisy = corpus.expected(rows), corpus.noisy(rows)
    assert corpus.found(neardup.dedup(noisy, id="id", spec=spec).clusters) == expected
    assert corpus.found(neardup.dedup(noisy, id="id").clusters) != expected
    half = rows.num_rows // 2
    with neardup.Index.create(tmp_path / "index", spec=spec, durable="process") as index:
        answers = corpus.found(index.add_if_new(noisy.slice(0, half), id="id"), ("id",))
    with neardup.Index.open(tmp_path / "index", durable="process") as index:
        assert index.recipe.shingle == spec.shingle
        answers += corpus.found(index.add_if_new(noisy.slice(half), id="id"), ("id",))
    assert answers == expected
