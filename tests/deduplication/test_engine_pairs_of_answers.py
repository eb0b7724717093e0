"""The pair of each removed document and its duplicate_of is in the table of edges."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import neardup
from neardup.spec import Spec
from neardup.testing.small_corpora import template_texts


@pytest.mark.parametrize("settings", [{"cluster": "components"}, {"pairs": "all"}])
def test_the_pair_of_each_answer_is_an_edge(settings: dict[str, Any], kernels: None) -> None:
    spec = Spec(threshold=0.8, num_bands=8, rows=3, **settings)
    run = neardup.dedup(pa.table({"text": template_texts(1300)}), spec=spec)
    counts, edges = run.summary["counts"], run.edges
    assert edges is not None and counts["not_compared"] > 0
    assert counts["edges"] == edges.num_rows
    columns = (edges.column(name).to_pylist() for name in ("doc_a", "doc_b", "similarity"))
    listed = {(a, b): how for a, b, how in zip(*columns, strict=True)}
    assert len(listed) == edges.num_rows
    rows = run.clusters.to_pydict()
    answers = zip(rows["doc"], rows["duplicate_of"], rows["similarity"], strict=True)
    removed = [(doc, of, how) for doc, of, how in answers if of is not None]
    assert len(removed) > 100
    for doc, of, how in removed:
        assert listed[min(doc, of), max(doc, of)] == how
    if "cluster" in settings:
        cluster = rows["cluster"]
        assert all(cluster[doc] == cluster[of] for doc, of, _ in removed)
