"""Results as the contract of engines has them."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from neardup.testing.engine_contract import EngineAnswer


def answer_of(run: Any) -> EngineAnswer:
    """The answer of a run; no edges and clusters where not all pairs were compared."""
    rows = run.clusters.rename_columns({"doc_id": "id"})
    complete = run.summary["counts"].get("not_compared", 0) == 0
    if "in_old" in rows.column_names:  # clusters have no documents of the old corpus
        return EngineAnswer(rows.drop_columns(["cluster"]))
    name = dict(zip(rows["doc"].to_pylist(), rows["id"].to_pylist(), strict=True))
    clusters = pa.array([name[doc] for doc in rows["cluster"].to_pylist()], rows["id"].type)
    at = rows.column_names.index("cluster")
    rows = rows.set_column(at, "cluster", clusters) if complete else rows.remove_column(at)
    return EngineAnswer(rows, run.edges if complete else None)
