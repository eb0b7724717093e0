"""Why a document was removed or kept, and how two documents of a run are related."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from neardup.errors import InputError, SpecError
from neardup.inspect.compare import Comparison, Forms, compare_forms, forms_of
from neardup.results.results import Results
from neardup.sketch.bands import candidate_probability
from neardup.sketch.baskets import sorted_lines
from neardup.sketch.document_groups import with_groups
from neardup.sketch.sketcher import Sketcher
from neardup.sketch.texts import as_text
from neardup.stages.exact import HOW, NEAR, counts_of_kinds
from neardup.threads import check_threads
from neardup.values.json_values import plain_id
from neardup.values.shown import Shown

#: Largest difference of a similarity from that in the tables: both are a quotient of two integers.
_SAME = 1e-9


@dataclass(frozen=True, slots=True)
class Document:
    """A document of the run; the fields are in ``docs/formats.md``, JSON of explain."""

    doc: int
    doc_id: Any
    cluster: int
    members: int
    members_kept: int
    kept: bool
    duplicate_of: Any
    similarity: float | None
    how: str | None  # alike the two are: same, words or near
    in_old: bool = False  # whether `duplicate_of` is a document of an old corpus
    tokens: int | None = None
    form: str | None = None


@dataclass(frozen=True, slots=True)
class CommonBuckets:
    """Which buckets two documents share.

    None are needed for equal token sequences, which are put together before banding, and for a
    join, which searches all pairs. Documents of different groups share none.
    """

    how: Literal["equal", "join", "bands", "groups", "none"]
    bands: tuple[int, ...] = ()  # those in which they share one, from 1
    num_bands: int = 0
    probability: float = 1.0  # that two documents of their similarity share one


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A duplicate of the document that was asked about."""

    doc: int
    doc_id: Any
    similarity: float  # exact
    how: str | None  # as of a `Document`
    together: bool  # whether the two are in one cluster


@dataclass(frozen=True, slots=True, repr=False)
class Explanation(Shown):
    """The decision of a run about a document, or about two, and its reasons.

    The fields are in ``docs/formats.md``, JSON of explain. Fields that need the input
    are None where it was not read, and values that were not asked for are None.
    """

    shown_as = "dedup", "explain"

    run: str
    threshold: float
    cluster: str
    shingle: str
    document: Document
    # The second that was asked about; else the kept one that it is a duplicate of; else the most
    # similar of its duplicates, of which those with equal words come last.
    other: Document | None
    second_asked: bool
    comparison: Comparison | None
    buckets: CommonBuckets | None
    only_same: bool  # whether the run compared bytes only
    listed: bool  # whether the run listed pairs; else there are no edges
    edge: bool  # whether it lists them, or documents with the same shingles
    edge_of: tuple[Any, ...]  # ids of such documents, listed instead; else empty
    duplicates: tuple[Neighbour, ...]
    duplicates_count: int
    same: int  # how many of the duplicates have equal bytes; they come last
    equal_words: int  # and how many have equal words by other characters
    notes: tuple[str, ...]
    texts: tuple[str, ...] | None = field(repr=False)

    @property
    def why(self) -> str:
        """Why the document was removed or kept, in a few words."""
        document, many, threshold = self.document, self.duplicates_count, f"{self.threshold:g}"
        if not document.kept:
            pair, other = self.comparison, self.other
            kept = f"the kept document {plain_id(document.duplicate_of)}"
            if document.in_old:
                name = plain_id(document.duplicate_of)
                kept = f"{'a document' if name is None else f'document {name}'} of the old corpus"
            if pair and pair.equal and other and other.doc_id == document.duplicate_of:
                return f"removed: equal to {kept}; {pair.note}"
            return f"removed: similarity {document.similarity:.4f} to {kept}"
        if many:
            return f"kept: {many:,} removed document{'s are' if many > 1 else ' is'} similar to it"
        if document.form == "no group":
            return "kept: it has no value in the column of the groups, and is compared with none"
        if document.form == "empty":
            return "kept: empty documents are never duplicates"
        if document.form == "short" and not self.only_same:
            return "kept: shorter than a shingle, and no kept document has equal tokens"
        if self.only_same:
            return "kept: no kept document has its bytes"
        return f"kept: no kept document that it was compared with reaches {threshold}"

    def as_dict(self) -> dict[str, Any]:
        """Return plain values; ids are of the type that they have in the input."""
        values: dict[str, Any] = {**asdict(self), "why": self.why}
        return {**values, "comparison": self.comparison and self.comparison.as_dict()}


def explain(
    results: Results, id: object, other: object, texts: bool, limit: int, threads: int | None
) -> Explanation:
    """Do `neardup.DedupRun.explain`: texts are read again, and sketched as the run did."""
    check_threads(threads)
    if limit < 0:
        raise SpecError(f"`limit` is {limit}; expected 0 or more")
    docs = results.numbers([id] if other is None else [id, other]).tolist()
    if len(set(docs)) < len(docs):
        raise SpecError("both ids are those of one document", "name two, or only one")
    names = ["cluster", "kept", "duplicate_of", "similarity", "how"]
    names += ["in_old"] if results.has_old else []
    table, ids = results.clusters(names), results.public_ids
    if results.private_ids:
        of = pa.array(results.duplicate_of, mask=results.duplicate_of < 0)
        table = table.set_column(2, "duplicate_of", ids.take(of))
    cluster, kept = (np.asarray(table.column(i).to_numpy()) for i in range(2))
    duplicates = np.flatnonzero(results.duplicate_of == docs[0])
    # Equal ones come last: they show few differences, or none.
    duplicates = duplicates[np.argsort(-results.how[duplicates], kind="stable")]
    near, how = results.array("similarity")[duplicates], results.how[duplicates]
    if other is None and not kept[docs[0]]:
        target = int(results.duplicate_of[docs[0]])
        docs += [target] if target >= 0 else []
    elif other is None and len(duplicates):
        docs.append(int(duplicates[np.argmax(np.where(how == NEAR, near, how - 2.0))]))
    forms: Forms | None = None
    notes: tuple[str, ...] = ()
    groups: np.ndarray | None = None
    try:
        groups = results.groups(np.array(docs), threads)
        forms = forms_of(results.texts(np.array(docs), threads), results.usable_recipe.shingle)
    except InputError as error:
        if texts:
            error.hint += f"{'; ' if error.hint else ''}texts=False answers from the tables"
            raise
        notes = (f"the input was not read: {error}; texts are not compared",)
    shown = []
    for row, doc in enumerate(docs):
        members, tokens, form = cluster == cluster[doc], None, None
        if forms is not None:
            tokens = len(forms.tokens[row])
            long = tokens >= results.recipe.shingle.n
            form = "empty" if not tokens else "long" if long else "short"
            if groups is not None and not groups[row]:
                form = "no group"
        numbers = {"members": int(members.sum()), "members_kept": int((members & kept).sum())}
        values = numbers | table.slice(doc, 1).to_pylist()[0]
        shown.append(Document(doc=doc, doc_id=ids[doc].as_py(), tokens=tokens, form=form, **values))
    first, *rest = shown
    edge, listed = _edge(results, *docs) if rest else (None, [])
    comparison = buckets = None
    if forms is not None and rest:
        known = first.similarity if first.duplicate_of == rest[0].doc_id else edge
        comparison, buckets = _pair(results, forms, known, groups)
        buckets = None if results.spec.only_same else buckets
    kinds = (*HOW, None)  # -1 is unknown
    together = cluster[duplicates] == cluster[docs[0]]
    listed_first = (column[:limit].tolist() for column in (duplicates, near, how, together))
    return Explanation(
        run=results.name,
        threshold=results.spec.threshold,
        cluster=results.spec.cluster,
        shingle=str(results.recipe.shingle),
        document=first,
        other=rest[0] if rest else None,
        second_asked=other is not None,
        comparison=comparison,
        buckets=buckets,
        only_same=results.spec.only_same,
        listed=results.spec.enumerates,
        edge=edge is not None,
        edge_of=tuple(ids[doc].as_py() for doc in listed if doc not in docs),
        duplicates=tuple(
            Neighbour(doc, ids[doc].as_py(), value, kinds[kind], one)
            for doc, value, kind, one in zip(*listed_first, strict=True)
        ),
        duplicates_count=len(duplicates),
        **counts_of_kinds(how),
        notes=notes,
        texts=_shown(results, forms.texts) if texts and forms is not None else None,
    )


def _shown(results: Results, texts: list[str]) -> tuple[str, ...]:
    """Return texts as they are, and baskets with their items in order."""
    items = results.recipe.shingle.unit == "item"
    return tuple(map(sorted_lines, texts)) if items else tuple(texts)


def _edge(results: Results, doc: int, other: int) -> tuple[float | None, list[int]]:
    """Return the similarity of the edge of two documents, and which two it lists.

    A document with equal tokens has one edge, to its representative: the edges of that one are
    its edges as well.
    """
    found = _joins(results, np.array([doc]), np.array([other]))
    if found is None and results.spec.pairs != "all":
        equals, others = _equal(results, doc), _equal(results, other)
        if len(shared := np.intersect1d(equals, others)):
            return 1.0, [int(shared[0])]
        found = _joins(results, equals, others)
    return found or (None, [])


def _edges(results: Results) -> Iterator[tuple[np.ndarray, ...]]:
    for batch in results.edge_batches(("doc_a", "doc_b", "similarity")):
        yield tuple(np.asarray(column.to_numpy()) for column in batch.columns)


def _joins(results: Results, left: np.ndarray, right: np.ndarray) -> tuple[float, list[int]] | None:
    for a, b, similarity in _edges(results):
        there = np.isin(a, left) & np.isin(b, right) | np.isin(b, left) & np.isin(a, right)
        if there.any():
            row = int(np.argmax(there))
            return float(similarity[row]), [int(a[row]), int(b[row])]
    return None


def _equal(results: Results, doc: int) -> np.ndarray:
    """Return the document and those that edges of similarity 1 join to it."""
    equal = [np.array([doc])]
    for a, b, similarity in _edges(results):
        equal += [b[(a == doc) & (similarity == 1)], a[(b == doc) & (similarity == 1)]]
    return np.concatenate(equal)


def _pair(
    results: Results, forms: Forms, known: float | None, groups: np.ndarray | None
) -> tuple[Comparison, CommonBuckets]:
    """Compare two documents; the similarity must be the one that the tables have."""
    recipe, found = results.recipe, compare_forms(forms, results.spec)
    if groups is not None and (groups[0] != groups[1] or not groups[0]):
        return replace(found, other_group=True), CommonBuckets("groups")
    if known is not None and abs(known - found.similarity) > _SAME:
        what = f"{results.name}: a similarity computed now differs from the stored one"
        why = "the input or the library that normalises texts has changed"
        raise InputError(what, f"{why}; {results.again}")
    if found.equal is not None and found.tokens_a:
        return found, CommonBuckets("equal")
    if not recipe.num_bands:
        return found, CommonBuckets("join" if found.duplicates else "none")
    texts = as_text(forms.texts)
    keys = Sketcher(recipe)(texts if groups is None else with_groups(texts, groups)).keys
    same = (keys[0] == keys[1]) & bool(found.tokens_a and found.tokens_b)
    bands = tuple((np.flatnonzero(same) + 1).tolist())
    probability = candidate_probability(found.similarity, recipe.num_bands, recipe.rows)
    how: Literal["bands", "none"] = "bands" if bands else "none"
    return found, CommonBuckets(how, bands, recipe.num_bands, probability)
