"""Which documents an index takes: new ones, or all whose ids are free."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from itertools import islice
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
import pyarrow as pa

from neardup.errors import DuplicateIdError, InputError, SpecError, rows_from
from neardup.index.copy_texts import enter
from neardup.index.storing.bodies import Id
from neardup.index.storing.snapshot import bucket_names
from neardup.index.storing.transactions import Batch, Core, Sketched
from neardup.match.bucketing import bucket_documents, group, one_bucket, plausible
from neardup.match.resolve import NO_LIMITS, Limits, resolve
from neardup.match.verifying import make_sets, taken
from neardup.sketch.document_groups import mix_groups
from neardup.sketch.sketcher import Signer, Sketches, band_keys
from neardup.sketch.texts import Ragged
from neardup.tuning import TUNING

#: What happens where an index has an id already.
Conflict = Literal["error", "replace", "skip"]


class Decisions(NamedTuple):
    """Decisions about some documents.

    Attributes:
        duplicate_of: The document that each removed one is a duplicate of; None for a kept one.
        similarity: float64[n]: exact similarity of the two; NaN for a kept one.
    """

    duplicate_of: list[Id | None]
    similarity: np.ndarray


def check_conflict(on_conflict: str) -> None:
    """Raise `SpecError` unless this is one of `Conflict`."""
    if on_conflict not in get_args(Conflict):
        raise SpecError(f"`on_conflict` is {on_conflict!r}; expected 'error', 'replace' or 'skip'")


def add_all(core: Core, batches: Iterable[Batch], on_conflict: str) -> int:
    """Do `insert_all` with documents that come in; return how many were inserted."""
    count = done = 0
    for batch in batches:
        step = TUNING.inserted_documents
        for low in range(0, len(batch.texts), step):
            with rows_from(done + low):
                count += insert_all(core, core.with_ids(batch, low, step), on_conflict)
        done += len(batch.texts)
    return count


def add_new(core: Core, batches: Iterable[Batch]) -> tuple[list[Id], Decisions]:
    """Do `insert_new` with documents that come in, and note the representatives of the others.

    Returns:
        Their ids, and their answers.
    """
    ids: list[Id] = []
    parts: list[Decisions] = []
    for batch in batches:
        batch_with_ids = core.with_ids(batch, 0, len(batch.texts))
        core.require_kind(batch_with_ids.ids)
        with rows_from(len(ids)):
            parts.append(insert_new(core, batch_with_ids))
        ids += batch_with_ids.ids
        _note(core, batch_with_ids.ids, parts[-1])
    if len(parts) == 1:
        return ids, parts[0]
    return ids, Decisions(
        [of for part in parts for of in part.duplicate_of],
        np.concatenate([np.empty(0), *(part.similarity for part in parts)]),
    )


def _note(core: Core, ids: list[Id], answers: Decisions) -> None:
    pairs = zip(ids, answers.duplicate_of, strict=True)
    if found := [(id_, of) for id_, of in pairs if of is not None]:
        core.duplicates.note(found)


def replace(core: Core, batch: Batch, if_new: bool) -> tuple[Decisions, list[Id]]:
    """Replace the text of a document.

    Args:
        core: The index.
        batch: The document, with its new text.
        if_new: Leave the new text out where it is similar to that of another document.

    Returns:
        Its answer; and the ids of documents that were duplicates of the old text.

    Raises:
        UnknownIdError: There is no such document.
    """
    batch = batch.compared()
    core.remove(batch.ids)
    released = core.release(batch.ids)
    if if_new:
        answers = insert_new(core, batch)
        _note(core, batch.ids, answers)
        return answers, released
    known = core.sketched(batch.texts)
    found = core.matches(known, core.threshold, first=True)
    insert(core, batch, known)
    answers = Decisions([None], np.array([np.nan]))
    return Decisions(list(found.id), found.similarity) if found.id else answers, released


def merge_all(core: Core, other: Core, on_conflict: str) -> int:
    """Insert all documents of another index, and its notes of their duplicates.

    Returns:
        How many documents were inserted.

    Raises:
        RecipeError: The other index has another recipe.
        InputError: It stores shingles only, and this one texts; or keys were made elsewhere.
        SpecError: It is the same index.
        DuplicateIdError: An id is in both, and that is an error.
    """
    core.recipe.require_same(other.recipe, f"the index {core.name}")
    if core.stores_texts and not other.stores_texts:
        raise InputError(
            "the other index stores shingles only, and this one stores texts",
            "merge it into an index with store_text=False",
        )
    if any("seed" in each.catalogue.about() for each in (core, other)):
        raise InputError("an index of MinHashLSH has keys of its own", "use MinHashLSH.merge")
    if other is core:
        raise SpecError("an index can't be merged with itself")
    with ExitStack() as locks:
        # In one order, whoever merges whom.
        for each in sorted((core, other), key=id):
            locks.enter_context(each.catalogue.thread_lock())
        locks.enter_context(other.reading())
        state = locks.enter_context(core.writing())
        count = add_all(core, other.batches(), on_conflict)
        noted = other.duplicates.pairs()
        while pairs := list(islice(noted, TUNING.inserted_documents)):
            there = core.numbers(list({of for _, of in pairs}))
            core.duplicates.note([p for p in pairs if there.get(p[1], -1) >= state.next])
    return count


def insert(core: Core, batch: Batch, known: Sketched | None = None) -> None:
    """Insert documents, whatever they are similar to; their ids must be new."""
    if not batch.ids:
        return
    if pa.types.is_large_binary(batch.texts.type):
        _insert_stored(core, batch)
        return
    parts = [] if known is None else [known.sketches]

    def work(low: int) -> tuple[Sketches | None, list[bytes]]:
        texts, sets, made = batch.texts.slice(low, TUNING.sketched_documents), list[Ragged](), None
        if known is None:
            made = core.sketcher(texts, None if core.stores_texts else sets)
        else:
            sets = [Ragged(known.sets.values, known.sets.offsets[low : low + len(texts) + 1])]
        return made, core.verifier.bodies(texts, sets)

    def bodies() -> Iterator[bytes]:
        # Threads prepare the documents that follow while some are stored.
        steps = range(0, len(batch.ids), TUNING.sketched_documents)
        done = core.verifier.pool.ordered(work, steps) if len(steps) > 1 else map(work, steps)
        for made, packed in done:
            if made is not None:
                parts.append(made)
            yield from packed

    first = core.store(batch.ids, bodies())
    if known is not None:
        core.verifier.learn(np.arange(first, first + len(batch.ids)), known.sets)
    keys = parts[0].keys if len(parts) == 1 else np.concatenate([p.keys for p in parts])
    tokens = parts[0].tokens if len(parts) == 1 else np.concatenate([p.tokens for p in parts])
    filled = np.flatnonzero(tokens)
    core.enter(first, batch.ids, filled, bucket_names(keys[filled]))
    if core.copies is not None:
        enter(core, first, batch.texts)


def _insert_stored(core: Core, batch: Batch) -> None:
    """Insert documents whose shingles another index has stored."""
    stored: Any = batch.texts
    bodies = stored.to_pylist()
    filled, keys = stored_keys(core, bodies)
    first = core.store(batch.ids, bodies)
    core.enter(first, batch.ids, filled, bucket_names(keys[filled]))


def stored_keys(core: Core, bodies: Sequence[bytes]) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows with shingles, int64[m], of some stored sets, and uint64[n, num_bands]: keys.

    Args:
        core: An index that stores no texts.
        bodies: Sets of shingles as they are stored.
    """
    recipe = core.recipe
    sets, groups = core.verifier.stored_sets(bodies)
    keys = np.empty((len(bodies), recipe.num_bands), dtype=np.uint64)
    if recipe.num_bands:
        signer = Signer(recipe.num_hashes, recipe.scheme, recipe.seed)
        if groups is not None:
            mix_groups(sets, groups)  # takes them off: keys are those of the words
        keys = band_keys(signer(sets), recipe.num_bands, recipe.rows)
        if groups is not None:
            keys ^= groups[:, None]
    return np.flatnonzero(np.diff(sets.offsets)), keys


def insert_new(core: Core, batch: Batch) -> Decisions:
    """Insert those documents that are similar to none before them.

    Documents that are there with the same text are answered as kept, and not inserted.

    Raises:
        DuplicateIdError: An id is there with another text.
    """
    answers = Decisions([None] * len(batch.ids), np.full(len(batch.ids), np.nan))
    low = 0
    while low < len(batch.ids):
        high = low + _without_repetition(batch.ids, low, low + TUNING.inserted_documents)
        _insert_new(core, batch.part(low, high), low, answers)
        low = high
    return answers


def _insert_new(core: Core, batch: Batch, base: int, answers: Decisions) -> None:
    ids = batch.ids
    there = core.numbers(ids)
    rows = np.arange(len(ids))
    if there:
        stored = {row.id: row for row in core.catalogue.fetch(list(there.values()))}
        for i, id_ in enumerate(batch.ids):
            if id_ in stored and not core.verifier.is_same(stored[id_], batch.texts.slice(i, 1)):
                raise DuplicateIdError(
                    f"the index has a document with the id {id_!r} and another text",
                    "give another id, or replace it: neardup index update, or Index.update()",
                ).private("the index has a document with this id and another text", base + i)
        rows = np.array([i for i, id_ in enumerate(batch.ids) if id_ not in there], np.int64)
        batch = batch.take(rows)
    if not len(rows):
        return
    known = core.sketched(batch.texts)
    old = core.matches(known, core.threshold, first=True)
    for row, id_, similarity in zip(
        rows[old.row].tolist(), old.id, old.similarity.tolist(), strict=True
    ):
        answers.duplicate_of[base + row] = id_
        answers.similarity[base + row] = similarity
    new = np.ones(len(rows), dtype=np.bool_)
    new[old.row] = False
    left = np.flatnonzero(new)
    removed, of, how = resolve_sketched(core, known, left)
    for row, other, similarity in zip(
        rows[removed].tolist(), rows[of].tolist(), how.tolist(), strict=True
    ):
        answers.duplicate_of[base + row] = ids[other]
        answers.similarity[base + row] = similarity
    kept = np.setdiff1d(left, removed, assume_unique=True)
    if not len(kept):
        return
    insert(core, batch.take(kept), known.take(kept))


def resolve_sketched(
    core: Core, known: Sketched, rows: np.ndarray, limits: Limits = NO_LIMITS
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Decide some documents among themselves; ``rows``, int64[m], are theirs, in keep order.

    Returns:
        int64[r], the rows of those that are removed, int64[r], of their representatives, and
        float64[r], the similarity of the two.
    """
    pool, threshold, sketches = core.verifier.pool, core.threshold, known.sketches
    docs = rows[sketches.tokens[rows] > 0]
    bands = core.recipe.num_bands
    if bands:
        docs = docs[_sharing(bucket_names(sketches.keys[docs]))]
        # With few, it takes longer than it saves; a limit counts the plausible ones.
        if len(docs) > TUNING.sketched_documents or limits.max_bucket is not None:
            grouped = [group(keys) for keys in np.ascontiguousarray(sketches.keys[docs].T)]
            sizes, bitmaps = sketches.shingles[docs], sketches.bitmaps[docs]
            docs = docs[plausible(grouped, sizes, bitmaps, threshold, pool)]
    if len(docs) < 2:
        return docs[:0], docs[:0], np.empty(0)
    if bands:
        grouped = [group(keys) for keys in np.ascontiguousarray(sketches.keys[docs].T)]
        buckets = bucket_documents(grouped, len(docs), bands)
    else:
        buckets = one_bucket(len(docs))
    done, _ = resolve(make_sets(taken(known.sets, docs)), buckets, threshold, pool, limits)
    removed = np.flatnonzero(done.duplicate_of >= 0)
    return docs[removed], docs[done.duplicate_of[removed]], done.similarity[removed]


def _sharing(names: np.ndarray) -> np.ndarray:
    """Return which documents share a bucket, bool[n], by the names of theirs, uint64[n, bands]."""
    flat = names.reshape(-1)
    order = np.argsort(flat)
    ordered = flat[order]
    same = ordered[1:] == ordered[:-1]
    found = np.zeros(len(names), dtype=np.bool_)
    for shared in (order[1:][same], order[:-1][same]):
        found[shared // names.shape[1]] = True
    return found


def insert_all(core: Core, batch: Batch, on_conflict: str) -> int:
    """Insert documents, whatever they are similar to; return how many.

    One after the other: an id that is given twice is there already when it comes again.

    Raises:
        DuplicateIdError: An id is there, and that is an error.
    """
    core.require_kind(batch.ids)
    count = low = 0
    while low < len(batch.ids):
        high = low + _without_repetition(batch.ids, low, len(batch.ids))
        if high < len(batch.ids) and on_conflict == "error":
            raise DuplicateIdError("two documents have the same id", "give each one of its own")
        with rows_from(low):
            count += _insert_all(core, batch.part(low, high), on_conflict)
        low = high
    return count


def _insert_all(core: Core, batch: Batch, on_conflict: str) -> int:
    there = core.numbers(batch.ids)
    if there and on_conflict == "error":
        shown = next(id_ for id_ in batch.ids if id_ in there)
        raise DuplicateIdError(
            f"the index has a document with the id {shown!r}",
            "use `on_conflict` to replace or skip it",
        ).private("the index has a document with this id", batch.ids.index(shown))
    if there and on_conflict == "replace":
        core.remove(list(there))
    elif there:
        rows = [i for i, id_ in enumerate(batch.ids) if id_ not in there]
        batch = batch.take(np.array(rows, dtype=np.int64))
    insert(core, batch)
    return len(batch.ids)


def _without_repetition(ids: Sequence[Id], low: int, high: int) -> int:
    """Return how many ids from one on are different, at most up to another."""
    seen: set[Id] = set()
    for id_ in ids[low:high]:
        if id_ in seen:
            break
        seen.add(id_)
    return len(seen)
