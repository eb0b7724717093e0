"""What is known of why a document was removed or kept."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

from neardup.core.compare import Comparison

__all__ = ["Document", "Explanation", "Meeting", "Neighbour", "Repeat"]


@dataclass(frozen=True, slots=True)
class Document:
    """A document of the run.

    Attributes:
        doc: Its position.
        doc_id: Its id.
        cluster: The lowest position in its cluster.
        members: How many documents the cluster has.
        members_kept: How many of them are kept.
        kept: Whether it is in the clean corpus.
        kept_by: Id of the kept document that it repeats; None where it is kept.
        similarity: Exact similarity to that one; None where it is kept.
        tokens: How many it has, repetitions included; None where the input was not read.
        form: ``"empty"`` without tokens, ``"short"`` with fewer than a shingle has, else
            ``"long"``; None where the input was not read.
    """

    doc: int
    doc_id: Any
    cluster: int
    members: int
    members_kept: int
    kept: bool
    kept_by: Any
    similarity: float | None
    tokens: int | None = None
    form: Literal["empty", "short", "long"] | None = None


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A document with its exact similarity to another one."""

    doc: int
    doc_id: Any
    similarity: float


@dataclass(frozen=True, slots=True)
class Meeting:
    """How banding brought two documents together.

    Attributes:
        how: ``"collapsed"``: they are exact duplicates, put together before banding;
            ``"join"``: by the exact join of all pairs; ``"band"``: in a band;
            ``"none"``: in no band.
        band: The first band in which their keys are equal, from 1.
        shared_bands: In how many they are equal.
        num_bands: How many there are.
        probability: With which two documents of their similarity share a band.
    """

    how: Literal["collapsed", "join", "band", "none"]
    band: int | None = None
    shared_bands: int = 0
    num_bands: int = 0
    probability: float = 1.0


@dataclass(frozen=True, slots=True)
class Repeat:
    """A removed document that repeats the one that was asked about.

    Attributes:
        doc, doc_id: Its position and its id.
        similarity: Exact.
        comparison: What the two share, the one that was asked about first; None where the input
            was not read, or a second document was asked about.
        meeting: How they met; None where there is no comparison.
    """

    doc: int
    doc_id: Any
    similarity: float
    comparison: Comparison | None = None
    meeting: Meeting | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return plain values."""
        values = asdict(self)
        if self.comparison is not None:
            values["comparison"] = self.comparison.as_dict()
        return values


@dataclass(frozen=True, slots=True)
class Explanation:
    """What a run did with a document, or with two, and why.

    Attributes:
        run: The output folder of the run.
        edge_threshold, tree_threshold, cluster: As they were asked for.
        shingle: The shingles that were compared, such as ``word:5``.
        n: Tokens in a shingle.
        document: The document that was asked about.
        other: The one that it is compared with: the second that was asked about; else the kept
            one that it repeats; else the most similar of those that repeat it, of which equal ones
            come last. None where there is none.
        second_asked: A second document was asked about.
        comparison: What the two share; None where there is no other, or the input was not read.
        meeting: How they met; None where there is no comparison.
        edge: Whether their pair is in the table of edges.
        path: Documents on the way from ``document`` to ``other``, by edges within their cluster,
            each with the similarity of the edge that leads to it; empty where there is none.
        repeated_by: Removed documents that repeat ``document``, in order of position; at most
            ``limit``.
        repeats: How many there are.
        edges: The edges of ``document`` within its cluster, the most similar first; at most
            ``limit``.
        edges_count: How many there are.
        refused: Its edges to documents of other clusters, the most similar first; at most
            ``limit``.
        refused_count: How many there are.
        notes: What was made again from the input, or is missing because that can't be read.
        texts: Those of ``document`` and ``other``; None where they were not asked for.
    """

    run: str
    edge_threshold: float
    tree_threshold: float
    cluster: str
    shingle: str
    n: int
    document: Document
    other: Document | None
    second_asked: bool
    comparison: Comparison | None
    meeting: Meeting | None
    edge: bool
    path: tuple[Neighbour, ...]
    repeated_by: tuple[Repeat, ...]
    repeats: int
    edges: tuple[Neighbour, ...]
    edges_count: int
    refused: tuple[Neighbour, ...]
    refused_count: int
    notes: tuple[str, ...]
    texts: tuple[str, ...] | None

    def as_dict(self) -> dict[str, Any]:
        """Return plain values; ids are of the type that they have in the input."""
        values = asdict(self)
        if self.comparison is not None:
            values["comparison"] = self.comparison.as_dict()
        values["repeated_by"] = [one.as_dict() for one in self.repeated_by]
        return values
