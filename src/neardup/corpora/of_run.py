"""The kept documents of a finished run, as batches for an index."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import numpy as np

from neardup.deduplication.reading import compared_again
from neardup.index.incoming import checked_ids
from neardup.index.storing.transactions import Batch
from neardup.io.source import Partition
from neardup.results.results import Results, open_results
from neardup.sketch.texts import as_text


def results_of(run: Any) -> Results:
    """Return the results of a run, or of its folder."""
    if isinstance(run, str | os.PathLike):
        return open_results(run)
    found: Results = run._results
    return found


def kept_batches(results: Results) -> Iterator[Batch]:
    """Yield the kept documents in the order of the input.

    Raises:
        InputError: The input has changed, or can't be read again.
    """
    kept, within = np.flatnonzero(results.array("kept")), results.recipe.within
    positions = kept if results.positions_of is None else results.positions_of[kept]
    order = np.argsort(positions)
    ids = results.ids
    done = 0

    def read(partition: Partition, rows: np.ndarray, count: int) -> Any:
        return compared_again(partition, rows, count, within)

    for texts in results.kept_documents().visit(read):
        batch = kept[order[done : done + len(texts)]]
        done += len(texts)
        yield Batch(checked_ids(ids.take(batch)), as_text(texts))
