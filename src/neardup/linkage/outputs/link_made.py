"""Tables and record of a linkage, also of one in memory that is written to a folder."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from neardup.arrays import array_of
from neardup.cluster.edges import batches
from neardup.frame.command import Command, Each, Made, Saving, TableParts
from neardup.linkage.link_steps import Linked
from neardup.linkage.merging.merged_corpus import merged_corpus
from neardup.linkage.outputs import link_tables as tables
from neardup.linkage.outputs.link_summary import about_link
from neardup.output.clean import MERGED, CleanCorpus
from neardup.threads import Pool
from neardup.values.json_values import JSON

_TABLES = ("pairs", "candidates", "clusters", "records")
LINK = Command("link", "read records", (*_TABLES, "merges"), (MERGED,))
#: Rows of a table that are made together.
_ROWS = 1 << 18


@contextmanager
def made_of(
    linked: Linked, writes: bool = False, folder: Path | None = None, **more: Any
) -> Iterator[Made]:
    """Give tables and record of a linkage.

    The records have the values of the fields: the folder can be opened again.

    Args:
        linked: The linkage.
        writes: Whether merged records are written, where the inputs can be read again.
        folder: For temporary files; None for that of the system.
        more: Further members of the record.
    """
    parts = {"pairs": _pairs, "candidates": _candidates, "clusters": _clusters, "records": _records}
    made = {name: TableParts(partial(part, linked)) for name, part in parts.items()}
    with Pool(1) as pool:  # all columns of a table are compressed in one thread: two at once
        corpora: dict[str, CleanCorpus] = {}
        if writes and linked.can_merge:
            corpora[MERGED] = corpus = merged_corpus(linked, pool, folder)
            made["merges"] = TableParts(lambda each: corpus.merging.table())
        merge = linked.merge if linked.can_merge else None
        merged = None if merge is None else merge.as_dict()
        yield Made(
            made,
            lambda: about_link(linked) | {"merge": merged} | more,
            pool,
            corpora,
            largest="candidates",
            state=linked,
        )


def parts_of(rows: int) -> list[slice]:
    """Return slices of rows that are written together; one at least."""
    return list(batches(rows, _ROWS)) or [slice(0, 0)]


def _pairs(linked: Linked, each: Each) -> Iterator[pa.Table]:
    for rows in parts_of(len(linked.pairs)):
        yield tables.scored_table(linked, linked.pairs[rows])


def _candidates(linked: Linked, each: Each) -> Iterator[pa.Table]:
    """Yield all candidates, some at a time, with the columns by which the folder is opened."""
    found = linked.blocked.candidates
    match = np.zeros(len(found.a), np.bool_)
    match[linked.pairs] = True
    labels, marked = linked.decision.labels, np.zeros(len(found.a), np.int8)
    if labels is not None:
        at = labels.rows(found)
        marked[at[at >= 0]] = np.where(labels.match[at >= 0], 1, -1)
    for rows in parts_of(len(found.a)):
        table = tables.scored_table(linked, rows)
        more = found.a, found.b, match, found.similarity, marked
        for name, column in zip(tables.STORED, more, strict=True):
            table = table.append_column(name, array_of(column[rows]))
        yield table


def _clusters(linked: Linked, each: Each) -> list[pa.Table]:
    return [tables.cluster_table(linked)]


def _records(linked: Linked, each: Each) -> list[pa.Table]:
    return [tables.record_table(linked.blocked)]


def saving(linked: Linked, record: Mapping[str, Any], writes: bool = True, **more: Any) -> Saving:
    """Return a linkage in memory, and its record; ``more`` are members that stay as they are."""
    asked: dict[str, JSON] = {"link": linked.blocked.spec.as_dict()}
    asked["merge"] = None if linked.merge is None else linked.merge.as_dict()
    opened = linked.blocked.records.opened
    return Saving(partial(made_of, linked, writes, **more), asked, record, opened)
