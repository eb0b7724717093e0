"""The documents of one cluster, with their texts."""

from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np

from neardup.arrays import array_of
from neardup.errors import InputError, SpecError
from neardup.io.source import Partition
from neardup.results.results import Results
from neardup.values.shown import Shown


class Member(NamedTuple):
    """A document of a cluster."""

    doc: int
    doc_id: Any
    kept: bool
    duplicate_of: Any
    similarity: float | None
    text: str
    copies: int  # documents of the cluster with the same text that are not shown


@dataclass(frozen=True, repr=False)
class Cluster(Shown):
    """One cluster: the document that was asked about, and others of it.

    Attributes:
        cluster: Its number, that of its first document.
        documents: How many it has.
        texts: How many different texts they have.
        members: Those that are shown, one of each text: kept ones first, then the most similar ones
            first. The document that was asked about is one of them.
    """

    shown_as = "dedup", "cluster"

    cluster: int
    documents: int
    texts: int
    members: tuple[Member, ...]

    @property
    def left_out(self) -> int:
        """Documents whose text is not shown."""
        return self.documents - sum(1 + member.copies for member in self.members)


def cluster_of(results: Results, id: object, limit: int, threads: int | None) -> Cluster:
    """Do `neardup.DedupRun.cluster`."""
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
    docs = docs[order]
    text_of = _equal_texts(results, docs, threads)
    first = np.unique(text_of, return_index=True)[1]
    row = int(np.flatnonzero(docs == asked)[0])
    chosen = np.sort(first)[:limit]
    if row not in chosen:
        # It takes the row of its text, but for that of the kept document; else the last one.
        others = chosen[(text_of[chosen] != text_of[row]) | (chosen == 0)]
        chosen = np.sort(np.append(others[: limit - 1], row))
    shown, shown_texts = docs[chosen], text_of[chosen]
    sizes = np.bincount(text_of)[shown_texts]
    copies = np.where(np.append(True, shown_texts[1:] != shown_texts[0]), sizes - 1, 0)
    copies[0] -= int((shown_texts[1:] == shown_texts[0]).sum())
    ids: Any = results.public_ids.take(array_of(shown))
    targets = results.clusters(["duplicate_of"]).column(0).take(array_of(shown)).to_pylist()
    if results.private_ids:
        of = results.duplicate_of[shown]
        targets = results.public_ids.take(array_of(of, null=of < 0)).to_pylist()
    near = (None if np.isnan(one) else float(one) for one in results.array("similarity")[shown])
    texts = results.texts(shown, threads)
    columns = (shown.tolist(), ids.to_pylist(), kept[shown].tolist(), targets, near, texts)
    members = tuple(Member(*row) for row in zip(*columns, copies.tolist(), strict=True))
    return Cluster(int(labels[asked]), len(docs), len(first), members)


def _equal_texts(results: Results, docs: np.ndarray, threads: int | None) -> np.ndarray:
    """Return int64[docs]: equal numbers for documents with the same text; no text stays."""
    positions = docs if results.positions_of is None else results.positions_of[docs]

    def read(partition: Partition, rows: np.ndarray, count: int) -> list[str]:
        texts = partition.texts(rows, count).to_pylist()
        return [blake2b((text or "").encode(), digest_size=16).hexdigest() for text in texts]

    parts = results.at(np.sort(positions)).visit(read, threads)
    digests = np.array([digest for part in parts for digest in part], "S32")
    return np.unique(digests, return_inverse=True)[1].reshape(-1)[np.argsort(np.argsort(positions))]
