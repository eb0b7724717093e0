"""Answers of an index as Arrow tables, and a walk through its buckets."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

import numpy as np
import pyarrow as pa

from neardup.arrays import ArrowArray, array_of, integers_of, reals_of, strings_of
from neardup.errors import SpecError, spelled
from neardup.index.inserting import Decisions, stored_keys
from neardup.index.storing.bodies import Id, id_keys
from neardup.index.storing.segments import Entries
from neardup.index.storing.snapshot import band_offsets, bucket_names
from neardup.index.storing.transactions import Batch, Core, no_document
from neardup.index.storing.verified import Matches
from neardup.recipe import Recipe
from neardup.sketch.bands import candidate_probability
from neardup.spec import Spec
from neardup.tuning import TUNING

MATCH_COLUMNS = ["query", "id", "similarity", "query_contained", "match_contained"]
_NOWHERE = np.empty(0, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class NewAnswer:
    """Result of `neardup.Index.add_if_new` for a document.

    Attributes:
        id: Its id.
        kept: Whether it is in the index now.
        duplicate_of: Id of the first document that it is similar to; None if it was kept.
        similarity: Exact similarity of the two; None if it was kept.
    """

    id: Id
    kept: bool
    duplicate_of: Id | None
    similarity: float | None


@dataclass(frozen=True, slots=True)
class UpdateAnswer:
    """Result of `neardup.Index.update` for a document.

    Attributes:
        id: Its id.
        kept: Whether it is in the index now, with the new text.
        duplicate_of: Id of the first other document that the new text is similar to, or None.
            Where ``kept`` is true, both are in the index now.
        similarity: Exact similarity of the two, or None.
        released: Ids of documents that were answered as duplicates of the old text, ascending. The
            index has none in their stead now: send them again.
    """

    id: Id
    kept: bool
    duplicate_of: Id | None
    similarity: float | None
    released: list[Id]


def id_values(ids: Sequence[Id | None], kind: str) -> ArrowArray:
    """Return ids as an Arrow array.

    Args:
        ids: Ids; None is null.
        kind: ``"int"``; else they are strings.
    """
    if kind == "int":
        if None not in ids:
            return integers_of(cast(Sequence[int], ids))
        null = np.array([id_ is None for id_ in ids], dtype=np.bool_)
        return array_of(np.array([id_ or 0 for id_ in ids], dtype=np.int64), null=null)
    return strings_of([None if id_ is None else str(id_).encode() for id_ in ids])


def stored_text(core: Core, id_: Id) -> str | None:
    """Return the text of a document, as it is compared; None where only shingles are stored.

    Where documents have groups, it is behind the key of its group.

    Raises:
        UnknownIdError: There is no such document.
    """
    with core.reading():
        found = core.numbers([id_])
        if not found:
            raise no_document(id_)
        (stored,) = core.catalogue.fetch(list(found.values()))
        return core.verifier.text_of(stored)


def best_first(matches: Matches, top: int | None) -> list[int]:
    """Return the order of matches: by row, the most similar first, ties by id; at most ``top``."""
    rows, similarity, ids = matches.row.tolist(), matches.similarity.tolist(), matches.id
    order = sorted(range(len(rows)), key=lambda i: (rows[i], -similarity[i], ids[i]))
    if top is None:
        return order
    kept, row, count = [], -1, 0
    for i in order:
        row, count = (rows[i], 1) if rows[i] != row else (row, count + 1)
        if count <= top:
            kept.append(i)
    return kept


def matches_table(
    matches: Matches, base: int, names: ArrowArray | None, kind: str, top: int | None = None
) -> pa.Table:
    """Return matches as a table.

    Args:
        matches: Pairs that reach the threshold.
        base: Number of the first row of the question.
        names: Id of each row of the question; None for its number.
        kind: Type of the ids.
        top: Matches of a row, at most; None for all.
    """
    if not len(matches.row):  # nearly always
        return no_matches(pa.int64() if names is None else names.type, kind)
    # Lists: most answers have one match, and many calls of NumPy cost 1 us.
    similarity, row_size, doc_size = (
        values.tolist() for values in (matches.similarity, matches.row_size, matches.doc_size)
    )
    # The sizes are integers: rounding restores the overlap.
    shared = [
        round(s * (a + b) / (1 + s)) for s, a, b in zip(similarity, row_size, doc_size, strict=True)
    ]
    order = best_first(matches, top)
    rows = matches.row.tolist()
    columns = [
        integers_of([rows[i] + base for i in order])
        if names is None
        else names.take(array_of(matches.row[order])),
        id_values([matches.id[i] for i in order], kind),
        reals_of([similarity[i] for i in order]),
        reals_of([shared[i] / max(row_size[i], 1) for i in order]),
        reals_of([shared[i] / max(doc_size[i], 1) for i in order]),
    ]
    return pa.Table.from_arrays(columns, schema=_matches_schema(columns[0].type, columns[1].type))


@functools.cache
def _matches_schema(names: pa.DataType, ids: pa.DataType) -> pa.Schema:
    kinds = [names, ids, *[pa.float64()] * 3]
    return pa.schema(list(zip(MATCH_COLUMNS, kinds, strict=True)))


@functools.cache
def no_matches(names: pa.DataType, kind: str) -> pa.Table:
    """Return a table of matches without rows; ``names`` is the type of its first column."""
    # `Schema.empty_table` would import pandas.
    asked: Any = id_values([], "str") if names == pa.large_string() else array_of(_NOWHERE, names)
    columns = [asked, id_values([], kind), *[array_of(np.empty(0))] * 3]
    return pa.Table.from_arrays(columns, names=MATCH_COLUMNS)


def found_in(
    core: Core,
    batches: Iterable[Batch],
    threshold: float,
    *,
    first: bool = False,
    top: int | None = None,
) -> pa.Table:
    """Return, as a table, the documents that are similar to some texts.

    Args:
        core: The index.
        batches: The texts, with ids that name them in the table; without, their rows do.
        threshold: Lowest similarity.
        first: Only the first document of each text.
        top: Documents of a text, at most; None for all.
    """
    tables: list[pa.Table] = []
    base = 0
    with core.reading() as state:
        for batch in batches:
            for low in range(0, max(1, len(batch.texts)), TUNING.inserted_documents):
                part = batch.part(low, low + TUNING.inserted_documents).compared()
                found = core.matches(part.texts, threshold, first)
                names = id_values(part.ids, type(part.ids[0]).__name__) if part.ids else None
                tables.append(matches_table(found, base + low, names, state.ids, top))
            base += len(batch.texts)
        if not tables:
            tables.append(no_matches(pa.int64(), state.ids))
    return tables[0] if len(tables) == 1 else pa.concat_tables(tables)


def numbers_of(core: Core, spec: Spec) -> dict[str, Any]:
    """Return numbers of documents, segments and bytes, by name, and how texts become keys."""
    with core.reading() as state:
        storage = storage_of(core)
    return {
        "documents": state.documents,
        "duplicates": state.duplicates,
        **storage,
        "threshold": spec.threshold,
        "shingle": str(spec.shingle),
        "store_text": core.stores_texts,
        "recipe": core.digest,
    }


def storage_of(core: Core) -> dict[str, Any]:
    """Return numbers of segments and bytes, and bands, by name."""
    with core.reading() as state:
        sizes = [segment.bytes for segment in core.snapshot.segments]
        copies = {} if core.copies is None else core.copies.numbers()
        pages = [core.catalogue.rows(f"PRAGMA {n}")[0][0] for n in ("page_count", "page_size")]
    return {
        "removed": state.removed,
        "pending": core.snapshot.pending,
        "segments": len(sizes),
        "bytes_segments": sum(sizes),
        "bytes_documents": pages[0] * pages[1],
        "num_bands": core.recipe.num_bands,
        "rows": core.recipe.rows,
        **copies,
    }


def answers_table(ids: Sequence[Id], answers: Decisions, kind: str) -> pa.Table:
    """Return the answers for some documents as a table."""
    null = np.isnan(answers.similarity)
    columns = [
        id_values(ids, kind),
        array_of(null),
        id_values(answers.duplicate_of, kind),
        array_of(answers.similarity, null=null),
    ]
    return pa.Table.from_arrays(columns, names=["id", "kept", "duplicate_of", "similarity"])


def first_answer(answers: Decisions) -> tuple[Id | None, float | None]:
    """Return ``duplicate_of`` of one document, and the similarity; None twice if it is kept."""
    of = answers.duplicate_of[0]
    return of, None if of is None else float(answers.similarity[0])


def required_threshold(spec: Spec, recipe: Recipe, threshold: float | None) -> float:
    """Return the threshold of a query; that of the index where none is given.

    Raises:
        SpecError: It is none, or below that of the index.
    """
    lowest = spec.threshold
    if threshold is None:
        return lowest
    if not isinstance(threshold, int | float) or not 0 < threshold <= 1:
        raise SpecError(f"threshold is {spelled(threshold)}; expected a number in (0, 1]")
    if threshold < lowest and recipe.num_bands:
        found = candidate_probability(threshold, recipe.num_bands, recipe.rows)
        raise SpecError(
            f"threshold {threshold:g} is below {lowest:g}, which the bands were chosen for: they "
            f"would find {found:.1%} of the pairs at {threshold:g}",
            "make an index for the lower threshold",
        )
    return float(threshold)


class Bucket(NamedTuple):
    """A bucket of an index.

    Attributes:
        band: Number of its band, from 0.
        key: The key of its documents in this band, see `neardup.band_keys`; 0 without bands.
        ids: Their ids.
    """

    band: int
    key: int
    ids: list[Id]


def buckets_of(core: Core, minimum: int, keys: bool = False) -> Iterator[Bucket]:
    """Yield the buckets of so many documents or more, as they are at the first call.

    Args:
        core: The index.
        minimum: Documents of a bucket, at least.
        keys: Whether band and key are asked for, which all documents are signed again for; else
            these have no meaning.
    """
    with core.reading():
        listed = core.catalogue.listed()
        there = np.array([doc for doc, _ in listed], dtype=np.int64)
        ids = [id_ for _, id_ in listed]
        none = np.empty(0, np.uint64)
        of_ids = np.sort(id_keys(ids)) if minimum < 2 else none  # a bucket of one each
        found = [_shared(part, there, of_ids, minimum) for part in core.snapshot.entries()]
        names = np.concatenate([none, *(part[2] for part in found)])
        bands = _bands_of(core, names) if keys else np.zeros(len(names), np.int64)
    of_bands = names - band_offsets(max(1, core.recipe.num_bands))[bands]
    numbered = zip(bands.tolist(), of_bands.tolist(), strict=True)
    for docs, ends, _ in found:
        rows = np.searchsorted(there, docs).tolist()
        first = 0
        for end in ends.tolist():
            yield Bucket(*next(numbered), [ids[row] for row in rows[first:end]])
            first = end


def _bands_of(core: Core, names: np.ndarray) -> np.ndarray:
    """Return int64[buckets]: the bands of buckets by their names, uint64[buckets], ascending."""
    bands = np.zeros(len(names), np.int64)
    for batch in core.batches():
        if core.stores_texts:
            of = bucket_names(core.sketched(batch.texts).sketches.keys)
        else:
            stored: Any = batch.texts
            of = bucket_names(stored_keys(core, stored.to_pylist())[1])
        at = np.minimum(np.searchsorted(names, of), len(names) - 1)
        row, band = np.nonzero(names[at] == of) if len(names) else (at[:0], at[:0])
        bands[at[row, band]] = band
    return bands


def _shared(
    part: Entries, there: np.ndarray, others: np.ndarray, minimum: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return documents by bucket, int64[m], where each bucket ends, and their names, uint64[]."""
    keys, docs = part.keys, part.docs.astype(np.int64)
    stored = np.isin(docs, there) & ~np.isin(keys, others)
    keys, docs = keys[stored], docs[stored]
    first = np.flatnonzero(np.append(True, keys[1:] != keys[:-1])) if len(keys) else keys[:0]
    sizes: np.ndarray = np.diff(np.append(first, len(keys)).astype(np.int64))
    large = sizes >= minimum
    return docs[np.repeat(large, sizes)], np.cumsum(sizes[large]), keys[first[large]]
