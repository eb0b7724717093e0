"""The pairs of a run next to each other, for a person who goes through them."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from neardup.arrays import array_of
from neardup.results.results import Results

#: Pairs whose texts are in memory at once.
_ROWS = 20_000
NAMES = ("id_a", "id_b", "similarity")


def pairs(results: Results, texts: bool, rows: int = _ROWS) -> Iterator[pa.Table]:
    """Yield the pairs of a run, some rows at a time, in the order of the input.

    They are the edges if pairs were listed; else each removed document and its ``duplicate_of``.

    Args:
        results: The run.
        texts: Add both texts, which are read from the input again.
        rows: Of a table.

    Yields:
        ``id_a``, ``id_b``, ``similarity`` float64 and, with ``texts``, ``text_a`` and ``text_b``.
    """
    edges = results.edges(["doc_a", "doc_b", "similarity"])
    if edges is None:
        b = np.flatnonzero(results.duplicate_of >= 0)
        a, similarity = results.duplicate_of[b], results.array("similarity")[b]
    else:
        a, b, similarity = (np.asarray(column.to_numpy()) for column in edges.columns)
    ids: Any = results.public_ids.combine_chunks()
    for first in range(0, max(1, len(a)), rows):
        batch = slice(first, first + rows)
        columns = [
            *(ids.take(array_of(docs[batch])) for docs in (a, b)),
            array_of(similarity[batch]),
        ]
        names: Sequence[str] = NAMES
        if texts:
            docs, both = np.unique(np.append(a[batch], b[batch]), return_inverse=True)
            found: Any = pa.array(results.texts(docs), pa.large_string())
            half = len(both) // 2
            columns += [found.take(array_of(rows)) for rows in (both[:half], both[half:])]
            names = (*NAMES, "text_a", "text_b")
        yield pa.table(dict(zip(names, columns, strict=True)))
