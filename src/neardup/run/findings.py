"""What an audit found, as plain values."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from neardup.core.tally import Missed, Tally
from neardup.run.finished import FinishedRun
from neardup.run.partners import LISTED, Sample, Search
from neardup.run.results import Results
from neardup.spec import BOUNDED, Spec

__all__ = ["FORMAT", "Audit", "tell"]

#: Version of what `Audit.as_dict` gives.
FORMAT = 1


@dataclass(frozen=True)
class Audit:
    """What `audit` found. Shares are 0 to 1; None where there was nothing to take a share of.

    A true pair is one whose exact similarity reaches the edge threshold; it is found if the run has
    it as an edge or has both its documents in one cluster. ``docs/method.md`` has the definitions.

    Attributes:
        run: The folder.
        documents: Of the corpus.
        empty: Of those, documents without any token, which have no partners and are not drawn.
        sampled: Documents whose partners were searched for, drawn from those that are not empty.
        seed: By which they were drawn.
        edge_threshold, tree_threshold: Of the run.
        bands: Bands and rows; None where all pairs were joined.
        with_partners: Sampled documents that have a partner: another document, anywhere in the
            corpus, with which they are a true pair.
        partners, found: Partners of all sampled documents, summed up, and how many of them were
            found. Two sampled documents that are alike are a partner of each other.
        pairs: The true pairs that these are; one of two sampled documents counts once.
        recall, recall_low, recall_high: Share of all true pairs that was found, and its 95 %
            interval, in which the documents are counted, not their pairs.
        document_recall, document_recall_low, document_recall_high: The share of its partners that
            was found for a document, a mean over the documents that have some.
        predicted_recall: For a pair exactly at the edge threshold, as the run said.
        expected_recall: Share of the partners that bands and rows make one expect to be found, by
            their similarities.
        missed: Pairs not found, the most similar first, up to 10,000: ``doc_a``, ``doc_b``,
            ``doc_id_a``, ``doc_id_b``, ``similarity``, and ``candidate``, whether they shared a
            bucket (None without banding).
        missed_pairs: How many of ``pairs`` were not found.
        missed_candidates: Of those, pairs that shared a bucket and were not found all the same.
        curve: By class of similarity, from ``begin`` to below ``end``: mean ``similarity``,
            ``pairs``, each once, and sampled ``documents`` that they are counted with, share that
            shared a bucket as ``predicted`` and as ``observed`` with ``observed_low`` and
            ``observed_high``; and from the edge threshold on the share of a document's partners
            that was ``found`` with ``found_low`` and ``found_high``.
        removed: ``documents`` that were removed; ``checked``, those of the sample whose similarity
            to the kept one was computed again; ``wrong``, those removed though no kept one is near
            enough: ``doc``, ``doc_id``, ``kept_by``, ``similarity`` as it is and ``stated``.
            ``wrong_documents`` counts them; there must be none.
        clusters: ``pairs`` of sampled documents with others of their clusters, each once, those
            ``below_tree_threshold``, and whether the clustering says that there are none
            (``bounded``).
        remade: What was made again, and of what.
        seconds: By stage.
        peak_anonymous: Largest anonymous memory in bytes; 0 where it can't be told.
    """

    run: str
    documents: int
    empty: int
    sampled: int
    seed: int
    edge_threshold: float
    tree_threshold: float
    bands: dict[str, int] | None
    with_partners: int
    partners: int
    found: int
    pairs: int
    recall: float | None
    recall_low: float
    recall_high: float
    document_recall: float | None
    document_recall_low: float
    document_recall_high: float
    predicted_recall: float
    expected_recall: float | None
    missed: list[dict[str, Any]]
    missed_pairs: int
    missed_candidates: int | None
    curve: list[dict[str, Any]]
    removed: dict[str, Any]
    clusters: dict[str, Any]
    remade: str
    seconds: dict[str, float]
    peak_anonymous: int

    def as_dict(self) -> dict[str, Any]:
        """Return plain values, with ``format``, the version of their layout."""
        return {"format": FORMAT, **asdict(self)}


def tell(
    run: FinishedRun, search: Search, results: Results, sample: Sample, seed: int, remade: str
) -> dict[str, Any]:
    """Return the fields of an `Audit` but for what was measured of the audit itself."""
    spec, tally, about = run.spec, search.tally, run.record["bands"]
    empty = int(run.record["counts"]["empty"])
    share = len(sample.docs) / max(1, run.documents - empty)
    recall, by_document = tally.recall(share, weighted=True), tally.recall(share)
    missed = search.missed
    return {
        "run": str(run.out),
        "documents": run.documents,
        "empty": empty,
        "sampled": len(sample.docs),
        "seed": seed,
        "edge_threshold": spec.edge_threshold,
        "tree_threshold": spec.tree_threshold,
        "bands": about and {name: about[name] for name in ("num_bands", "rows")},
        "with_partners": recall.number,
        "partners": int(tally.partners.sum()),
        "found": int(tally.found.sum()),
        "pairs": tally.pairs,
        "recall": _number(recall.share),
        "recall_low": recall.low,
        "recall_high": recall.high,
        "document_recall": _number(by_document.share),
        "document_recall_low": by_document.low,
        "document_recall_high": by_document.high,
        "predicted_recall": about["predicted_recall"] if about else 1.0,
        "expected_recall": _number(tally.expected()),
        "missed": _missed(results, missed, about is not None),
        "missed_pairs": missed.total,
        "missed_candidates": missed.total - missed.unmet if about else None,
        "curve": _curve(tally, share, about is not None),
        "removed": _removed(results, sample, spec.edge_threshold),
        "clusters": _clusters(results, sample, tally, spec),
        "remade": remade,
    }


def _missed(results: Results, missed: Missed, banded: bool) -> list[dict[str, Any]]:
    a, b, similarity, met = missed.pairs()
    ids = results.ids(np.concatenate([a, b]))
    return [
        {
            "doc_a": x,
            "doc_b": y,
            "doc_id_a": ids[i],
            "doc_id_b": ids[len(a) + i],
            "similarity": value,
            "candidate": shared if banded else None,
        }
        for i, (x, y, value, shared) in enumerate(
            zip(a.tolist(), b.tolist(), similarity.tolist(), met.tolist(), strict=True)
        )
    ]


def _curve(tally: Tally, share: float, banded: bool) -> list[dict[str, Any]]:
    lines = []
    for kind in tally.classes(share):
        line: dict[str, Any] = {
            "begin": kind.begin,
            "end": kind.end,
            "similarity": kind.similarity,
            "pairs": kind.pairs,
            "documents": kind.met.number,
        }
        for name, value in (("observed", kind.met), ("found", kind.found)):
            there = value.number > 0 and (banded or name == "found")
            line |= {
                name: value.share if there else None,
                f"{name}_low": value.low if there else None,
                f"{name}_high": value.high if there else None,
            }
        lines.append({**line, "predicted": kind.predicted if banded else None})
    return lines


def _removed(results: Results, sample: Sample, edge_threshold: float) -> dict[str, Any]:
    """Bring together what the tables say of all, and the texts of the sample."""
    bad = (sample.exact < edge_threshold) | (sample.exact != sample.stated)
    docs = np.union1d(results.wrong, sample.removed[bad])
    listed = docs[:LISTED]
    ids, named, stated = results.ids(listed), *results.kept_by(listed)
    exact = dict(zip(sample.removed.tolist(), sample.exact.tolist(), strict=True))
    return {
        "documents": results.removed,
        "checked": len(sample.removed),
        "wrong_documents": len(docs),
        "wrong": [
            {
                "doc": doc,
                "doc_id": ids[i],
                "kept_by": named[i],
                "similarity": _number(exact.get(doc, -1.0)),
                "stated": _number(stated[i]),
            }
            for i, doc in enumerate(listed.tolist())
        ],
    }


def _clusters(results: Results, sample: Sample, tally: Tally, spec: Spec) -> dict[str, Any]:
    """Count the pairs of one cluster that have a sampled document, and those too far apart."""
    _, drawn = np.unique(results.cluster[sample.docs], return_counts=True)
    both = int((drawn * (drawn - 1) // 2).sum())  # these are the others of both their documents
    pairs = int((results.sizes(sample.docs) - 1).sum()) - both
    # Every two documents have a similarity of 0 at least, and the search gives none that low.
    far = pairs - tally.near if spec.tree_threshold else 0
    return {
        "pairs": pairs,
        "below_tree_threshold": far,
        "bounded": spec.cluster in BOUNDED,
    }


def _number(value: float) -> float | None:
    """A share, or None where there is none."""
    return None if math.isnan(value) or value < 0 else value
