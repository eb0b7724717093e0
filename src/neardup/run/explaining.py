"""Why a document was removed or kept, and what two of a run have to do with each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow.compute as pc

from neardup.core.band import band_keys
from neardup.core.compare import Comparison, Forms, compare_forms, forms_of
from neardup.core.path import best_path
from neardup.core.sign import Signer
from neardup.core.threads import check_threads
from neardup.core.tune import candidate_probability
from neardup.errors import InputError, SpecError
from neardup.run.explanation import Document, Explanation, Meeting, Neighbour, Repeat
from neardup.run.finished import FinishedRun

__all__ = ["explain"]

#: Largest difference of a similarity from that in the tables: both are a quotient of two integers.
_SAME = 1e-9


def explain(
    out: str | Path,
    id: Any,
    other: Any = None,
    *,
    limit: int = 20,
    texts: bool = True,
    threads: int | None = None,
) -> Explanation:
    """Say what a document of a run repeats or is repeated by, or what it has to do with another.

    The documents are read from the input again, and shingled and signed as the run did it.

    Args:
        out: Output folder of the run.
        id: Id of the document; its position where the run had no ids.
        other: Id of another document; by default the kept one that it repeats, or the nearest
            that repeats it.
        limit: Neighbours of each kind that are named; all are counted.
        texts: Give the texts too. Without them, an input that can't be read is no error: what only
            the input could tell is None then, and a note says so.
        threads: Threads that read.

    Raises:
        InputNotFoundError: There is no run.
        InputError: There is no document of that id; or the input is gone, or has changed.
        SpecError: Both ids are those of one document, the limit is negative, or ``threads`` is not
            at least 1.
    """
    check_threads(threads)
    if limit < 0:
        raise SpecError(f"limit is {limit}; expected 0 or more")
    run = FinishedRun(out)
    about = _Tables(run)
    docs = run.positions([id] if other is None else [id, other]).tolist()
    if len(set(docs)) < len(docs):
        raise SpecError(
            f"both ids are those of one document, {str(id)[:100]}", "name two, or one alone"
        )
    first = about.document(docs[0])
    if other is None and not first.kept:
        docs.append(about.keeper(first.doc))
    repeats, near = about.repeats(first)
    if other is None and len(repeats):
        # Equal ones show no differences.
        docs.append(int(repeats[np.argmax(np.where(near < 1, near, -1))]))
    second = about.document(docs[1]) if len(docs) > 1 else None
    around = about.neighbours(docs, limit)
    repeated_by = about.repeating(repeats[:limit], near[:limit])
    compared = repeated_by if other is None else ()
    rows = list(dict.fromkeys([*docs, *(one.doc for one in compared)]))
    forms, notes = _read(run, rows, texts, threads)
    comparison = meeting = None
    if forms is not None:
        keys = _keys(run, forms) if len(rows) > 1 else None
        first = _with_form(first, forms, 0, run)
        if second is not None:
            second = _with_form(second, forms, 1, run)
            told = around.edge
            if told is None and first.kept_by == second.doc_id:
                told = first.similarity
            comparison, meeting = _pair(run, forms, keys, 1, told)
        if compared:
            repeated_by = tuple(
                Repeat(
                    *(one.doc, one.doc_id, one.similarity),
                    *_pair(run, forms, keys, rows.index(one.doc), one.similarity),
                )
                for one in compared
            )
    return Explanation(
        run=str(run.out),
        edge_threshold=run.spec.edge_threshold,
        tree_threshold=run.spec.tree_threshold,
        cluster=run.spec.cluster,
        shingle=str(run.spec.shingle),
        n=run.spec.shingle.n,
        document=first,
        other=second,
        second_asked=other is not None,
        comparison=comparison,
        meeting=meeting,
        edge=around.edge is not None,
        path=around.path,
        repeated_by=repeated_by,
        repeats=len(repeats),
        edges=around.inside,
        edges_count=around.inside_count,
        refused=around.outside,
        refused_count=around.outside_count,
        notes=notes,
        texts=tuple(forms.texts[: len(docs)]) if texts and forms is not None else None,
    )


@dataclass(frozen=True, slots=True)
class _Around:
    """What the table of edges says about one document, or about two; with counts of all."""

    edge: float | None
    path: tuple[Neighbour, ...]
    inside: tuple[Neighbour, ...]
    inside_count: int
    outside: tuple[Neighbour, ...]
    outside_count: int


class _Tables:
    """What the tables of a run say about single documents."""

    def __init__(self, run: FinishedRun) -> None:
        self._run = run
        self._cluster = run.array("cluster")
        self._kept = np.asarray(run.clusters(["kept"]).column(0).to_numpy())
        self._repeats = run.clusters(["kept_by", "similarity"]).columns

    def document(self, doc: int) -> Document:
        members = self._cluster == self._cluster[doc]
        kept = bool(self._kept[doc])
        kept_by, similarity = self._repeats
        return Document(
            doc=doc,
            doc_id=self._run.ids[doc].as_py(),
            cluster=int(self._cluster[doc]),
            members=int(members.sum()),
            members_kept=int((members & self._kept).sum()),
            kept=kept,
            kept_by=kept_by[doc].as_py(),
            similarity=similarity[doc].as_py(),
        )

    def keeper(self, doc: int) -> int:
        """Return the position of the document that a removed one repeats.

        Raises:
            InputError: The table names none that there is.
        """
        kept_by = self._repeats[0][doc]
        place: int = pc.index(self._run.ids, kept_by).as_py() if kept_by.is_valid else -1
        if place < 0:
            raise InputError(
                f"{self._run.out / 'clusters.parquet'}: row {doc + 1} is removed, and its kept_by "
                "is no document",
                "neardup audit finds all such rows; run neardup dedup again",
            )
        return place

    def neighbours(self, docs: Sequence[int], limit: int) -> _Around:
        """Look at the edges of the first document, and at the way from it to the second."""
        doc = docs[0]
        members = self._cluster == self._cluster[doc]
        a, b, similarity = self._run.edges_of(np.flatnonzero(members))
        inside = members[a] & members[b]
        edge: float | None = None
        path: tuple[Neighbour, ...] = ()
        if len(docs) > 1:
            low, high = min(docs), max(docs)
            found = similarity[(a == low) & (b == high)]
            edge = float(found[0]) if len(found) else None
            if members[docs[1]]:
                way = best_path(a[inside], b[inside], similarity[inside], doc, docs[1])
                path = self._named(way.docs[1:], way.similarity)
        mine = (a == doc) | (b == doc)
        ends = np.where(a == doc, b, a)
        order = np.lexsort((ends, -similarity))
        near, far = order[(mine & inside)[order]], order[(mine & ~inside)[order]]
        return _Around(
            edge,
            path,
            self._named(ends[near[:limit]], similarity[near[:limit]]),
            len(near),
            self._named(ends[far[:limit]], similarity[far[:limit]]),
            len(far),
        )

    def repeats(self, document: Document) -> tuple[np.ndarray, np.ndarray]:
        """Return the documents that repeat a kept one, in order, and how similar they are."""
        if not document.kept:
            return np.zeros(0, dtype=np.int64), np.zeros(0)
        kept_by, similarity = self._repeats
        same = pc.equal(kept_by, self._run.ids[document.doc])
        docs = np.flatnonzero(pc.fill_null(same, False).to_numpy())
        return docs, similarity.take(docs).to_numpy()

    def repeating(self, docs: np.ndarray, similarity: np.ndarray) -> tuple[Repeat, ...]:
        return tuple(Repeat(n.doc, n.doc_id, n.similarity) for n in self._named(docs, similarity))

    def _named(self, docs: np.ndarray, similarity: np.ndarray) -> tuple[Neighbour, ...]:
        ids = self._run.ids
        return tuple(
            Neighbour(doc, ids[doc].as_py(), value)
            for doc, value in zip(docs.tolist(), similarity.tolist(), strict=True)
        )


def _read(
    run: FinishedRun, docs: list[int], texts: bool, threads: int | None
) -> tuple[Forms | None, tuple[str, ...]]:
    """Read the documents again; say what was made of them, or why that can't be."""
    try:
        forms = forms_of(run.texts(np.array(docs), threads), run.spec)
    except InputError as error:
        if not texts:
            return None, (f"the input was not read: {error}; texts are not compared",)
        hint = f"{error.hint}, or " if error.hint else ""
        raise InputError(
            str(error), f"{hint}see with --no-text what the tables of the run say"
        ) from error
    if len(docs) == 1:
        return forms, ("read from the input again: the text of the document",)
    signed = "shingle sets" if run.record["bands"] is None else "shingle sets and signatures"
    read = "both" if len(docs) == 2 else f"{len(docs):,}"
    return forms, (f"read from the input again: {read} texts; made again: their {signed}",)


def _with_form(document: Document, forms: Forms, row: int, run: FinishedRun) -> Document:
    tokens = int(forms.tokens.offsets[row + 1] - forms.tokens.offsets[row])
    form: Literal["empty", "short", "long"] = "long"
    if tokens < run.spec.shingle.n:
        form = "short" if tokens else "empty"
    return replace(document, tokens=tokens, form=form)


def _keys(run: FinishedRun, forms: Forms) -> np.ndarray | None:
    """Sign the documents as the run did; None where it had no bands."""
    bands = run.record["bands"]
    if bands is None:
        return None
    signer = Signer(bands["num_bands"] * bands["rows"], run.spec.scheme, run.spec.seed)
    return band_keys(signer(forms.sets), bands["num_bands"], bands["rows"])


def _pair(
    run: FinishedRun, forms: Forms, keys: np.ndarray | None, row: int, told: float | None
) -> tuple[Comparison, Meeting]:
    """Compare the first document with another; see that they are those of the run."""
    comparison = compare_forms(forms, 0, row, run.spec.edge_threshold)
    _check(run, told, comparison)
    return comparison, _meeting(run, keys, row, comparison)


def _meeting(
    run: FinishedRun, keys: np.ndarray | None, row: int, comparison: Comparison
) -> Meeting:
    """Look for equal keys of the first document and another."""
    if comparison.equal is not None and comparison.tokens_a:
        return Meeting("collapsed")
    if keys is None:
        return Meeting("join" if comparison.duplicates else "none")
    num_bands, rows = len(keys), run.record["bands"]["rows"]
    probability = candidate_probability(comparison.similarity, num_bands, rows)
    shared = np.flatnonzero(keys[:, 0] == keys[:, row])
    if not (len(shared) and comparison.tokens_a and comparison.tokens_b):
        return Meeting("none", None, 0, num_bands, probability)
    return Meeting("band", int(shared[0]) + 1, len(shared), num_bands, probability)


def _check(run: FinishedRun, told: float | None, comparison: Comparison) -> None:
    """Make sure that the texts are those of the run: a file can be replaced without a trace."""
    if told is not None and abs(told - comparison.similarity) > _SAME:
        raise InputError(
            f"{run.out}: its input no longer gives the similarities of the run",
            "the texts, or the libraries that normalise them, are others now: run it again",
        )
