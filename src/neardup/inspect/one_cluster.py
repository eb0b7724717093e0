"""The documents of one cluster, with their texts."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from neardup.arrays import array_of
from neardup.errors import InputError, SpecError
from neardup.results.results import Results
from neardup.results.shown import Shown


class Member(NamedTuple):
    """A document of a cluster."""

    doc: int
    doc_id: Any
    kept: bool
    duplicate_of: Any
    similarity: float | None
    text: str


@dataclass(frozen=True, repr=False)
class Cluster(Shown):
    """One cluster: the document that was asked about, and others of it.

    Attributes:
        cluster: Its number, that of its first document.
        documents: How many it has.
        members: Those that are shown, kept ones first, then the most similar ones first.
    """

    cluster: int
    documents: int
    members: tuple[Member, ...]


def cluster_of(results: Results, id: object, limit: int, threads: int | None) -> Cluster:
    """Do `neardup.Run.cluster`."""
    if limit < 1:
        raise SpecError(f"`limit` is {limit}; expected 1 or more")
    (asked,) = results.numbers([id]).tolist()
    labels, kept = results.array("cluster"), results.array("kept")
    if labels[asked] < 0:
        raise InputError(
            "the document is a duplicate of one of the old corpus, and has no cluster",
            "`clusters` names that one in `duplicate_of`; `explain` shows the similarity",
        )
    docs = np.flatnonzero(labels == labels[asked])
    similarity = results.array("similarity")[docs]
    order = np.lexsort((docs, np.where(kept[docs], -np.inf, -similarity), ~kept[docs]))
    shown = docs[order][:limit]
    if asked not in shown:
        shown = np.append(shown[:-1], asked)
    ids: Any = results.public_ids.take(array_of(shown))
    targets = results.clusters(["duplicate_of"]).column(0).take(array_of(shown)).to_pylist()
    if results.private_ids:
        of = results.duplicate_of[shown]
        targets = results.public_ids.take(array_of(of, null=of < 0)).to_pylist()
    near = (None if np.isnan(one) else float(one) for one in results.array("similarity")[shown])
    texts = results.texts(shown, threads)
    columns = (shown.tolist(), ids.to_pylist(), kept[shown].tolist(), targets, near, texts)
    members = tuple(Member(*row) for row in zip(*columns, strict=True))
    return Cluster(int(labels[asked]), len(docs), members)
