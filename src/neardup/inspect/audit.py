"""Audit of a finished run by exact search for the near-duplicates of a sample of its documents."""

import hashlib
import json
import math
import threading
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.compute as pc

from neardup.deduplication.clock import Clock, Event, Listener
from neardup.errors import InputError, SpecError
from neardup.files.private_files import replacing
from neardup.inspect.audit_counts import COUNTER_BYTES, LISTED, CurveClass, PairList, Tally
from neardup.inspect.corpus_search import CorpusSearch
from neardup.kernels.jaccard import Sets
from neardup.match.exact_search import SHINGLE_BYTES, ExactSearch, Similar
from neardup.match.verifying import make_sets, similarities, taken
from neardup.memory_plan import PrivatePeak, Workload, plan_memory, require_memory
from neardup.options.option_groups import Resources
from neardup.result_record import AUDIT
from neardup.result_record.decoding import require
from neardup.results.results import Results
from neardup.sketch.texts import Ragged
from neardup.spec import check_similarity
from neardup.state.output_folder import add_to_record
from neardup.threads import Pool
from neardup.values.intervals import estimate
from neardup.values.json_values import plain_id
from neardup.values.shown import Shown

#: Version of the fields of `Audit.as_dict`.
FORMAT = 2
_Check = Callable[..., None]
#: Name of the file in the output folder.
# Memory in bytes: of a sampled document but for its shingles (number, id, entry in the index), and
# in each thread its counters; of each of its band keys; of a shingle, before the index is made.
_SAMPLED, _PER_THREAD, _KEY, _PER_SHINGLE = 400, 21, 8, 16


@dataclass(frozen=True, repr=False)
class Audit(Shown):
    """Result of `audit`.

    A true pair is one whose exact similarity reaches the threshold; it is found if the two share a
    bucket, unless both are kept, as then they were not compared. Shares are 0 to 1, and None where
    there was nothing to take a share of; ``_low`` and ``_high`` are the ends of intervals of 95 %.
    The fields are those of ``audit.json``, see ``docs/formats.md``; the definitions are in
    ``docs/method.md``. Lists of pairs have the 10,000 most similar ones, all are counted.
    """

    shown_as = "dedup", "audit"

    run: str
    documents: int
    empty: int
    sampled: int
    seed: int
    threshold: float
    bands: dict[str, int] | None
    kept_documents: int
    kept_sampled: int
    kept_near: int
    kept_near_share: float | None
    kept_near_low: float
    kept_near_high: float
    kept_pairs: list[dict[str, Any]]
    kept_pairs_count: int
    with_neighbours: int
    pairs: int
    recall: float | None
    recall_low: float
    recall_high: float
    predicted_recall: float
    expected_recall: float | None
    missed: list[dict[str, Any]]
    missed_pairs: int
    curve: list[CurveClass]
    removed: int
    removed_checked: int
    wrong_removed: int
    wrong: list[dict[str, Any]]
    seconds: dict[str, float]
    peak_private_memory: int

    def as_dict(self) -> dict[str, Any]:
        """Return plain values, with ``format``, the version of their layout."""
        return {"format": FORMAT, **asdict(self)}


def audit(
    results: Results, sample: int, seed: int, resources: Resources, listener: Listener | None
) -> Audit:
    """Measure the recall of a run, see `neardup.DedupRun.audit`."""
    for name, value, minimum in (("sample", sample, 1), ("seed", seed, 0)):
        if value < minimum:
            raise SpecError(f"`{name}` is {value}; expected {minimum} or more")
    check_similarity(results.spec, "an audit")
    clock = Clock(listener)
    with Pool(resources.threads) as pool, PrivatePeak() as peak:
        check = _memory_check(results, sample, resources.bytes, pool.threads)
        source = results.source
        with clock.stage("tables", results.documents):
            tables = _Tables(results)
        with clock.stage("sample", sample):
            corpus = CorpusSearch(results, pool)
            drawn = _draw(tables, corpus, sample, seed, check)
        with clock.stage("search", results.documents) as advance:
            search = _AuditSearch(tables, corpus, drawn)
            for done in corpus.search(search.queries, search.lowest, search.look):
                advance(done)
        source.check_unchanged()
        found = search.findings()
    clock.lap("other")
    seconds = {name: round(value, 4) for name, value in clock.seconds.items()}
    return Audit(**found, seed=seed, seconds=seconds, peak_private_memory=peak.peak)


def store_audit(results: Results, made: Audit, listener: Listener | None) -> None:
    """Leave an audit in the folder of its run; where that can't be, a note says so."""
    if results.folder is None:
        return
    path = results.folder / AUDIT
    try:
        if not add_to_record(results.folder, AUDIT):
            note = f"{path} can't be written: it is a file that neardup did not write"
            Clock(listener).emit(Event("search", note=note))
            return
        stored = {"of": _digest(results.folder), **made.as_dict()}
        with replacing(path) as file:
            file.write(f"{json.dumps(stored, indent=1, ensure_ascii=False)}\n".encode())
    except OSError as error:
        # The answer is there, and was minutes of work.
        reason = (error.strerror or "the system refused it").lower()
        Clock(listener).emit(Event("search", note=f"{path} can't be written: {reason}"))


def stored_audit(results: Results) -> dict[str, Any] | None:
    """Return the last audit that was left in the folder of a run; None where there is none.

    One of an earlier run in the same folder, of another version, or that is damaged, is none.
    """
    if results.folder is None:
        return None
    try:
        stored: dict[str, Any] = json.loads((results.folder / AUDIT).read_text(encoding="utf-8"))
        same = stored.pop("of") == _digest(results.folder) and stored["format"] == FORMAT
        require(stored, Audit, AUDIT)
        same = same and all(0 <= line["similarity"] <= 1 for line in stored["curve"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    return stored if same else None


def _digest(folder: Path) -> str:
    return hashlib.sha256((folder / "run.json").read_bytes()).hexdigest()


def _memory_check(results: Results, sample: int, memory: int | None, threads: int) -> _Check:
    """Return a function that raises SpecError for more shingles than fit into the memory."""
    counts, num_bands = results.record["counts"], results.recipe.num_bands
    char = results.recipe.shingle.unit == "char"
    load = Workload(results.documents, 0, results.ids.nbytes, num_bands, threads, char)
    plan = plan_memory(load, memory)
    filled = max(1, results.documents - results.compared_with_none)
    documents = min(2 * sample, filled)
    each_document = _SAMPLED + COUNTER_BYTES + threads * _PER_THREAD + _KEY * num_bands

    def check(shingles: int, each: int = _PER_SHINGLE) -> None:
        working = plan.minimum + (threads - 1) * plan.thread
        needed = working + each_document * documents + shingles * each
        what = f"a sample with {shingles:,} shingles"
        remedy = "allow more memory, use fewer threads, or draw a smaller `sample`"
        require_memory(plan.memory, needed, what, remedy)

    check(documents * int(counts["shingles"]) // filled, SHINGLE_BYTES)
    return check


class _Tables:
    """The tables, and the removed documents that they do not justify by themselves."""

    def __init__(self, results: Results) -> None:
        self.results = results
        self.kept, self.stated = results.array("kept"), results.array("similarity")
        self.named: Any = results.clusters(["duplicate_of"]).column(0)
        rows: Any = pc.index_in(self.named, value_set=results.ids, skip_nulls=True)
        #: The same as pages and messages have it.
        self.public: Any = results.public_ids.take(rows) if results.private_ids else self.named
        self.duplicate_of = np.asarray(pc.fill_null(rows, -1).to_numpy(), dtype=np.int64)
        if len(self.kept) != results.documents:
            what = f"the table of clusters has {len(self.kept):,} rows"
            expected = f"expected {results.documents:,}"
            raise InputError(f"{results.name}: {what}; {expected}", results.again)
        right = self.kept[self.duplicate_of] & (self.stated >= results.spec.threshold)
        self.wrong = np.flatnonzero(~self.kept & ~(right & (self.duplicate_of >= 0)))


@dataclass(frozen=True)
class _Sample:
    """The numbers of sampled documents, ascending, and their sets."""

    docs: np.ndarray
    sets: Sets
    #: bool[]: whether each was drawn from all documents, and from the kept ones.
    of_all: np.ndarray
    of_kept: np.ndarray
    #: Those drawn from all that were removed, and their exact similarity to the kept one.
    removed: np.ndarray
    exact: np.ndarray


def _draw(tables: _Tables, corpus: CorpusSearch, sample: int, seed: int, check: _Check) -> _Sample:
    """Draw documents that are not empty, and make their sets and those of their kept ones."""
    kept, documents = tables.kept, len(tables.kept)
    empty = tables.results.compared_with_none
    order = np.random.Generator(np.random.PCG64(seed)).permutation(documents)
    drawn = []
    for docs in (order, order[kept[order]]):
        # So many that about as many as are asked for are not empty; empty ones are all kept.
        share = (len(docs) - empty) / max(1, len(docs))
        drawn.append(docs[: math.ceil(sample / share) if share else 0])
    both = np.union1d(*drawn)
    removed = drawn[0][~kept[drawn[0]]]
    removed = removed[tables.duplicate_of[removed] >= 0]
    sets = corpus.sets(np.concatenate([both, tables.duplicate_of[removed]]), check)
    a = np.searchsorted(both, removed).astype(np.int32)
    b = len(both) + np.arange(len(removed), dtype=np.int32)
    exact = similarities(sets, a, b, 0.0, corpus.pool)
    # Those of the kept ones are not needed any more, nor are empty ones.
    rows = np.flatnonzero(sets.size[: len(both)])
    docs = both[rows]
    check(int(sets.size[rows].sum()), SHINGLE_BYTES)
    of_all, of_kept = (np.isin(docs, sample_of) for sample_of in drawn)
    return _Sample(docs, make_sets(taken(sets, rows)), of_all, of_kept, removed, exact)


class _AuditSearch:
    def __init__(self, tables: _Tables, corpus: CorpusSearch, sample: _Sample) -> None:
        self._tables, self._corpus, self._sample = tables, corpus, sample
        self._recipe, self._threshold = tables.results.recipe, tables.results.spec.threshold
        # As far down as the curve goes.
        self.lowest = min(0.1, self._threshold)
        self.queries = ExactSearch(sample.sets)
        self._keys = corpus.keys(sample.sets, np.arange(len(sample.docs)), sample.docs)
        self._tally = Tally(len(sample.docs), self._threshold, self.lowest, self._recipe)
        self._missed, self._left = PairList(), PairList()
        self._has_kept_neighbour = np.zeros(len(sample.docs), dtype=np.bool_)
        self._lock = threading.Lock()

    def look(self, similar: Similar, sets: Ragged, numbers: np.ndarray) -> None:
        """Count near-duplicates of the sample among some documents; in several threads."""
        sample, kept = self._sample, self._tables.kept
        other = sample.docs[similar.query] != numbers[similar.doc]
        doc, query, similarity = (column[other] for column in similar)
        a, b = sample.docs[query], numbers[doc]
        shared = np.ones(len(a), dtype=np.bool_)
        if self._recipe.num_bands:
            new = np.diff(doc, prepend=-1) > 0  # they ascend
            keys = self._corpus.keys(sets, doc[new], numbers[doc[new]])
            rows = np.cumsum(new) - 1
            for low in range(0, len(a), 1 << 16):
                batch = slice(low, low + (1 << 16))
                shared[batch] = (self._keys[query[batch]] == keys[rows[batch]]).any(axis=1)
        true = similarity >= self._threshold
        # Of two kept documents that reach the threshold and share a bucket one must be removed.
        between = true & kept[a] & kept[b]
        found = shared & ~between
        # Two sampled documents find each other.
        slot = np.minimum(np.searchsorted(sample.docs, b), len(sample.docs) - 1)
        again = (a > b) & (sample.docs[slot] == b)
        of_all, of_kept = sample.of_all[query], sample.of_kept[query]
        once = of_all & ~(again & sample.of_all[slot])
        columns = (query, similarity, shared, found, once)
        left = between & of_kept & ~(again & sample.of_kept[slot])
        with self._lock:
            self._tally.add(*(column[of_all] for column in columns))
            self._has_kept_neighbour[query[between & of_kept]] = True
            for pairs, rows in ((self._missed, once & true & ~found), (self._left, left)):
                pairs.add(a[rows], b[rows], similarity[rows], shared[rows])

    def findings(self) -> dict[str, Any]:
        """Return the fields of an `Audit`, but for those about the audit itself."""
        results, sample, tally = self._tables.results, self._sample, self._tally
        documents, empty = results.documents, results.compared_with_none
        bands, rows = self._recipe.num_bands, self._recipe.rows
        drawn, kept_drawn = int(sample.of_all.sum()), int(sample.of_kept.sum())
        kept = int(self._tables.kept.sum()) - empty
        sampled = drawn / max(1, documents - empty)
        recall = estimate(tally.found, tally.neighbours, sampled, weighted=True)
        with_neighbour = self._has_kept_neighbour[sample.of_kept]
        left = estimate(with_neighbour, np.ones(kept_drawn), kept_drawn / max(1, kept))
        return {
            "run": results.name,
            "documents": documents,
            "empty": empty,
            "sampled": drawn,
            "threshold": self._threshold,
            "bands": {"num_bands": bands, "rows": rows} if bands else None,
            "kept_documents": kept,
            "kept_sampled": kept_drawn,
            "kept_near": int(with_neighbour.sum()),
            "kept_near_share": left.share if left.number else None,
            "kept_near_low": left.low,
            "kept_near_high": left.high,
            "kept_pairs": self._listed(self._left),
            "kept_pairs_count": self._left.total,
            "with_neighbours": recall.number,
            "pairs": tally.pairs,
            "recall": recall.share if recall.number else None,
            "recall_low": recall.low,
            "recall_high": recall.high,
            "predicted_recall": float(tally.chance(np.array(self._threshold))),
            "expected_recall": tally.expected(),
            "missed": self._listed(self._missed),
            "missed_pairs": self._missed.total,
            "curve": list(tally.curve()),
            "removed": int((~self._tables.kept).sum()),
            "removed_checked": len(sample.removed),
            **self._wrong(),
        }

    def _listed(self, pairs: PairList) -> list[dict[str, Any]]:
        names = ("doc_a", "doc_b", "doc_id_a", "doc_id_b", "similarity", "shared")
        ids = self._tables.results.public_ids
        rows = ((a, b, _plain(ids[a]), _plain(ids[b]), *rest) for a, b, *rest in pairs.rows())
        return [dict(zip(names, row, strict=True)) for row in rows]

    def _wrong(self) -> dict[str, Any]:
        tables, removed, exact = self._tables, self._sample.removed, self._sample.exact
        bad = (exact < self._threshold) | (exact != tables.stated[removed])
        docs = np.union1d(tables.wrong, removed[bad])
        known = dict(zip(removed.tolist(), exact.tolist(), strict=True))
        wrong = [
            {
                "doc": doc,
                "doc_id": _plain(tables.results.public_ids[doc]),
                "duplicate_of": _plain(tables.public[doc]),
                "similarity": known.get(doc),
                "stated": float(tables.stated[doc]) if tables.stated[doc] >= 0 else None,
            }
            for doc in docs[:LISTED].tolist()
        ]
        return {"wrong_removed": len(docs), "wrong": wrong}


def _plain(id: Any) -> Any:
    return plain_id(id.as_py()) if id.is_valid else None
