"""A finished run against duplicates that are known: the ground truth.

Pairs completeness, pairs quality and reduction ratio are those of P. Christen, Data Matching,
Springer 2012, chapter 7.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from neardup.cluster.agreement import Agreement, b_cubed, pair_counts, pairs_between
from neardup.cluster.methods import connected
from neardup.errors import InputError
from neardup.options.option_groups import Reading
from neardup.results.ground_truth import GroundTruth, KnownIds, read_truth
from neardup.results.results import Results
from neardup.values.intervals import wilson


class Listed(NamedTuple):
    """The edges that were listed, each for the pairs of all documents like its two.

    Documents are alike if they have equal shingles; each such group goes by its first document.
    """

    groups: np.ndarray  # int64[documents]: the first one of each group
    a: np.ndarray  # int64[pairs]: groups
    b: np.ndarray  # int64[pairs]: other groups, or the same ones
    similarity: np.ndarray  # float64[pairs]
    given: np.ndarray  # int64[pairs]: for how many pairs of documents in scope


def evaluate(  # noqa: PLR0913 - as `DedupRun.evaluate`
    results: Results,
    truth: object,
    columns: Sequence[str] | None = None,
    kind: str | None = None,
    missing: str = "error",
    only_named: bool = False,
    how: Reading | None = None,
) -> dict[str, Any]:
    """Compare a run with the ground truth: precision, recall, F1.

    See `neardup.DedupRun.evaluate`. The definitions are in ``docs/method.md``.
    """
    of = KnownIds(results.ids, results.name, results.record["secret_ids"])
    known = read_truth(of, truth, columns, kind, missing, how)
    labels = results.array("cluster").astype(np.int64)
    judge = Judge(known, results.documents)
    scope = judge.named if only_named else np.ones(results.documents, dtype=np.bool_)
    edges = _listed(results, labels, scope)
    about = {
        "documents": results.documents,
        "threshold": results.spec.threshold,
        "pairs": results.spec.pairs,
        "cluster": results.spec.cluster,
        "truth": {
            "kind": known.kind,
            "pairs": judge.pairs,
            "documents": int(judge.named.sum()),
            "skipped": known.skipped,
            "only_named": only_named,
            **_apart(results, judge),
        },
    }
    if known.kind == "judged":
        return {**about, "judged": _judged(known, labels, edges)}
    removed = np.flatnonzero(scope & (results.duplicate_of >= 0))
    removed = removed[scope[results.duplicate_of[removed]]]
    a, b = results.duplicate_of[removed], removed
    alike, total = judge.alike(a, b), len(removed)
    removable = int(scope.sum()) - len(np.unique(judge.labels[scope]))
    right = Agreement(int(alike.sum()), total, removable)
    clusters = labels[scope], judge.labels[scope]
    # The threshold of the run, and each hundredth above it.
    lowest = results.spec.threshold
    at = [lowest, *(k / 100 for k in range(1, 101) if k / 100 > lowest)]
    if edges is None:
        counted = _by_stars(results.array("similarity")[scope], *clusters, at)
    else:
        a, b, alike, total = edges.a, edges.b, judge.alike_in(edges, scope), int(edges.given.sum())
        counted = _by_edges(edges, alike, judge.pairs, at)
    lines = [{"threshold": t, **counts.scores()} for t, counts in zip(at, counted, strict=True)]
    given = Agreement(int(alike.sum()), total, judge.pairs)
    apart = int(alike[labels[a] != labels[b]].sum())
    scored = [line for line in lines if line["f1"] is not None]
    return {
        **about,
        "removed": right.scores(),
        "edges": None if edges is None else given.scores(),
        "clusters": {"pairwise": pair_counts(*clusters).scores(), "b_cubed": b_cubed(*clusters)},
        "blocking": _blocking(results, given, judge.within(labels) + apart),
        "by_threshold": {"of": "clusters" if edges is None else "edges", "lines": lines},
        "best": max(scored, key=lambda line: (line["f1"], -line["threshold"]), default=None),
    }


def _apart(results: Results, judge: "Judge") -> dict[str, int | None]:
    """Count true pairs that are not compared, as their groups differ or one has none."""
    try:
        groups = results.groups(np.arange(results.documents))
    except InputError:  # the input is gone
        return {"other_groups": None}
    if groups is None:
        return {}
    _, labels = np.unique(groups, return_inverse=True)
    none = np.flatnonzero(groups == 0)
    labels[none] = len(labels) + none
    return {"other_groups": judge.pairs - judge.within(labels)}


class Judge:
    """The truth about pairs: labels of true clusters, documents named, number of pairs."""

    def __init__(self, known: GroundTruth, documents: int) -> None:
        there = (known.others >= 0) & known.right
        x, y = known.docs[there], known.others[there]
        self.named = np.zeros(documents, dtype=np.bool_)
        self.named[known.docs] = True
        if known.kind == "groups":
            self.labels = int(y.max(initial=-1)) + 1 + np.arange(documents, dtype=np.int64)
            self.labels[x] = y
        else:
            self.named[known.others[known.others >= 0]] = True
            self.labels = connected(x, y, documents).astype(np.int64)
        self._documents, self._codes = documents, np.unique(_codes(x, y, documents)[x != y])
        self._closed = known.kind in ("groups", "links")
        closed = pair_counts(self.labels, self.labels).true if self._closed else 0
        self.pairs = closed if self._closed else len(self._codes)

    def alike(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Return bool[pairs]: whether each pair, int64[pairs] twice, is a true one."""
        if self._closed:
            return np.asarray(self.labels[a] == self.labels[b])
        return np.isin(_codes(a, b, self._documents), self._codes)

    def alike_in(self, edges: Listed, scope: np.ndarray) -> np.ndarray:
        """Return int64[edges]: how many of the pairs in scope that an edge is for are true."""
        if (np.diff(edges.groups) == 1).all():  # each document is one by itself
            return np.asarray(self.alike(edges.a, edges.b) & (edges.given > 0))
        if self._closed:
            return pairs_between(edges.a, edges.b, edges.groups[scope], self.labels[scope])
        x, y = (edges.groups[doc] for doc in np.divmod(self._codes, max(1, self._documents)))
        codes, counts = np.unique(_codes(x, y, self._documents), return_counts=True)
        found = _codes(edges.a, edges.b, self._documents)
        if not len(codes):
            return np.zeros(len(found), np.int64)
        slot = np.minimum(np.searchsorted(codes, found), len(codes) - 1)
        return np.where(codes[slot] == found, counts[slot], 0)

    def within(self, labels: np.ndarray) -> int:
        if self._closed:
            return pair_counts(labels, self.labels).shared
        a, b = np.divmod(self._codes, max(1, self._documents))
        return int((labels[a] == labels[b]).sum())


def _codes(a: np.ndarray, b: np.ndarray, documents: int) -> np.ndarray:
    return np.asarray(np.minimum(a, b) * documents + np.maximum(a, b))


def _listed(results: Results, labels: np.ndarray, scope: np.ndarray) -> Listed | None:
    """Return the edges if they were listed; see `neardup.output.tables`."""
    table = results.edges(["doc_a", "doc_b", "similarity"])
    if table is None:
        return None
    a, b, similarity = (np.asarray(column.to_numpy()) for column in table.columns)
    groups = np.arange(results.documents)
    if results.spec.pairs != "all" and results.record["counts"].get("equal_tokens", 1):
        equal = (similarity == 1) & (labels[a] == labels[b])
        groups = connected(a[equal], b[equal], results.documents).astype(np.int64)
        codes, rows = np.unique(_codes(groups[a], groups[b], len(groups)), return_index=True)
        (a, b), similarity = np.divmod(codes, len(groups)), similarity[rows]
    size = np.bincount(groups[scope], minlength=len(groups))
    given = np.where(a == b, size[a] * (size[a] - 1) // 2, size[a] * size[b])
    return Listed(groups, a, b, similarity, given)


def _judged(known: GroundTruth, labels: np.ndarray, edges: Listed | None) -> dict[str, Any]:
    """Score the pairs that were judged: those that the run has in one cluster, or as an edge."""
    a, b, right = known.docs, known.others, known.right
    given = labels[a] == labels[b]
    if edges is not None:
        listed = _codes(edges.a, edges.b, len(labels))
        given |= np.isin(_codes(edges.groups[a], edges.groups[b], len(labels)), listed)
    counts = Agreement(int((given & right).sum()), int(given.sum()), int(right.sum()))
    low, high = wilson(counts.shared / max(1, counts.given), counts.given)
    return {"pairs": len(a), **counts.scores(), "precision_low": low, "precision_high": high}


def _blocking(results: Results, given: Agreement, found: int) -> dict[str, Any]:
    counts = results.record["counts"]
    shares = {"found": found, "pairs_completeness": found / given.true if given.true else None}
    if "pairs_compared" not in counts:  # on Spark they are not counted
        return {**shares, "compared": None, "pairs_quality": None, "reduction_ratio": None}
    # Pairs that were looked at: compared, ruled out, or known to be equal without that.
    looked_at = counts["pairs_compared"] + counts["pairs_ruled_out"] + counts["equal_tokens"]
    looked_at = max(looked_at, given.given)
    possible = results.documents * (results.documents - 1) // 2
    return {
        "compared": looked_at,
        **shares,
        "pairs_quality": given.shared / looked_at if looked_at else None,
        "reduction_ratio": 1 - looked_at / possible if possible else None,
    }


def _by_edges(
    edges: Listed, alike: np.ndarray, true: int, thresholds: list[float]
) -> Iterator[Agreement]:
    order = np.argsort(edges.similarity, kind="stable")
    hits, given = (np.append(0, np.cumsum(of[order])) for of in (alike, edges.given))
    for begin in np.searchsorted(edges.similarity[order], thresholds):
        yield Agreement(int(hits[-1] - hits[begin]), int(given[-1] - given[begin]), true)


def _by_stars(
    similarity: np.ndarray, labels: np.ndarray, true_labels: np.ndarray, thresholds: list[float]
) -> Iterator[Agreement]:
    """Count the pairs within stars whose documents reach each threshold with the kept one."""
    true = pair_counts(true_labels, true_labels).true
    several = np.bincount(labels)[labels] > 1
    similarity, labels, true_labels = (of[several] for of in (similarity, labels, true_labels))
    singletons = labels.max(initial=0) + 1 + np.arange(len(labels))
    for threshold in thresholds:
        cut = np.where(similarity < threshold, singletons, labels)
        yield pair_counts(cut, true_labels)._replace(true=true)
