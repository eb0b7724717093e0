"""Reference of `neardup.kernels.prefixes`, in plain Python: compare all pairs."""

from __future__ import annotations

from collections.abc import Sequence


def overlaps(
    documents: Sequence[Sequence[int]],
    queries: Sequence[Sequence[int]],
    minimum: float,
    contained: bool = False,
) -> list[tuple[int, int, float]]:
    """Return (document, query, similarity) of all pairs that share something and reach a minimum.

    Args:
        documents: Sets.
        queries: Sets.
        minimum: Lowest similarity.
        contained: Measure the share of the query that the document has.
    """
    found = []
    for d, document in enumerate(documents):
        for q, query in enumerate(queries):
            shared = len(set(document) & set(query))
            whole = len(query) if contained else len(document) + len(query) - shared
            if shared and shared / whole >= minimum:
                found.append((d, q, shared / whole))
    return found
