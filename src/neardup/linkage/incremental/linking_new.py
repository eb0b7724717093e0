"""New records against those of an index: candidates, pairs, and clusters that stay."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from neardup.arrays import array_of
from neardup.cluster.edges import Edges
from neardup.errors import InputError, hint_instead, ids_left_out
from neardup.index.answers import id_values
from neardup.index.incoming import ids_as_stored
from neardup.index.storing.bodies import Id
from neardup.linkage.blocks.field_blocks import BlockSettings, add_field_blocks, of_one_field
from neardup.linkage.blocks.record_blocks import (
    Block,
    Candidates,
    block_at,
    common_of,
    find_candidates,
    hashed_sets,
    lowest_similarity,
    worth,
)
from neardup.linkage.deciding import agreements_of, by_known_weights, contradicted
from neardup.linkage.decision.clusters import Scored, follow_clusters, join_clusters, matches
from neardup.linkage.decision.labels import Labels
from neardup.linkage.decision.weights.learning import rescaled
from neardup.linkage.features import Features, make_features
from neardup.linkage.field_notes import empty_notes
from neardup.linkage.field_similarity import Compared, compare
from neardup.linkage.incremental.record_changes import remove_stored
from neardup.linkage.incremental.record_store import Keys, RecordStore, StoredRecords
from neardup.linkage.incremental.stored_marks import add_marks, misplaced
from neardup.linkage.link_steps import (
    Against,
    Blocked,
    Linked,
    block_notes,
    candidates_of,
    decide,
    use_memory,
    with_labels,
)
from neardup.linkage.placeholders import without_placeholders
from neardup.linkage.record_files import Records, RecordSource, read_records
from neardup.match.verifying import similarities
from neardup.memory_plan import plan_records
from neardup.state.run_state import RunState
from neardup.threads import Pool

#: Weights are learnt again from so many times the records that they were learnt from.
_AGAIN = 1.5
#: Those that labels have changed are not: from so many times on, a new index is worth it.
_GROWN = 4


class _Again(NamedTuple):
    """Weights were learnt again.

    Attributes:
        clusters: int64[new]: those of the new records, as one linkage of all records has them; None
            where it may not decide.
    """

    clusters: np.ndarray | None


def _hint(store: RecordStore) -> str:
    return f"the fields of the index are {', '.join(store.spec.names)}; `id` names the ids"


def opened_for(
    store: RecordStore, given: RecordSource, state: RunState | None = None
) -> RecordSource:
    """Open new records, which must have the fields of an index; pipes are copied into the state."""
    reading = dataclasses.replace(given.reading, id=given.reading.id or store.id)
    with hint_instead(_hint(store), "fields"):
        return given._replace(reading=reading).open(
            store.spec.fields, state, store.spec.preset is not None
        )


def link_new(
    store: RecordStore,
    given: RecordSource,
    pool: Pool,
    replace: bool = False,
    memory: int | None = None,
) -> Linked:
    """Link new records against those of an index, and insert them; see `linking_new`."""
    with linking_new(store, given, pool, replace, memory) as linked:
        return linked


@contextmanager
def linking_new(
    store: RecordStore,
    given: RecordSource,
    pool: Pool,
    replace: bool = False,
    memory: int | None = None,
    labels: object = None,
) -> Iterator[Linked]:
    """Link new records against those of an index and one another, and insert them.

    All of it is one transaction, which ends with the block: after an error in it nothing has
    changed.

    Args:
        store: The index.
        given: One file; its ``id`` is None for that of the index.
        pool: Threads.
        replace: Remove the records of the index that have these ids.
        memory: Bytes that may be used; half of the free memory without it.
        labels: Pairs that are known, of these records and those of the index, if any.

    Raises:
        DuplicateIdError: An id is in the index, and not to be replaced.
        InputError: The records can't be used; its subclasses say why.
        StoreError: Another process writes.
    """
    given = given if given.opened else opened_for(store, given)
    with hint_instead(_hint(store), "fields"):
        check = functools.partial(plan_records, threads=pool.threads, memory=memory)
        records = read_records(given, store.spec, pool, check)
    use_memory(records, pool, memory)
    new = _prepared(store, records, pool)
    with store.core.writing() as state:
        changed = store.refresh()
        if records.id is None:
            ids = store.new_ids(len(records))
        else:
            ids = ids_as_stored(records.ids[0], state.ids)
        if replace:
            remove_stored(store, list(store.core.numbers(ids)))
        store.require_new(ids, records.names[0])
        if labels is not None:
            with ids_left_out(records.private_ids):
                add_marks(store, labels, ids)
        linked = _inserted(store, new, ids, pool, changed=changed)
        yield _settled(store, linked, pool)
    store.after_insert()


def mark_stored(store: RecordStore, labels: object, pool: Pool) -> int:
    """Mark pairs of an index, see `RecordIndex.mark`; return how many records were linked again."""
    with store.core.writing():
        store.refresh()
        add_marks(store, labels)
        moved = _settle(store, pool)
    store.after_insert()
    return len(moved)


def _settle(store: RecordStore, pool: Pool) -> set[Id]:
    """Link records again until no cluster contradicts a mark; within a transaction.

    Returns:
        Ids of these records.

    Raises:
        InputError: Clusters still contradict marks after one round more than there are marks.
    """
    moved = set[Id]()
    for _ in range(len(store.marks) + 1):
        if not (found := misplaced(store)).ids:
            return moved
        ids = id_values(found.ids, store.core.catalogue.state().ids)
        records = Records(("the index",), (ids,), found.columns, (len(found.ids),), id=store.id)
        remove_stored(store, found.ids)
        _inserted(store, _prepared(store, records, pool), found.ids, pool, learns=False)
        moved |= {*found.ids}
    if misplaced(store).ids:
        raise InputError(
            "clusters of the index can't be made to agree with its marks, which stay as they were",
            "link all records with these `labels`, into another index",
        )
    return moved


def _settled(store: RecordStore, linked: Linked, pool: Pool) -> Linked:
    """Have the clusters of an index obey its marks; return the linkage with these."""
    moved = _settle(store, pool)
    if not moved:
        return linked
    ids = linked.blocked.records.ids[0].to_pylist()
    numbers = store.core.numbers(ids)
    docs = np.array([numbers[id_] for id_ in ids], np.int64)
    order = np.argsort(docs)
    clusters = np.empty(len(docs), np.int64)
    clusters[order] = store.fetch(docs[order]).clusters
    of = store.sizes(clusters)
    sizes = np.array([of[cluster] for cluster in clusters.tolist()], np.int64)
    note = (
        f"marks contradict clusters of the index: {len(moved):,} of its records were linked again"
    )
    notes = (*linked.notes, note)
    return dataclasses.replace(linked, clusters=clusters, sizes=sizes, notes=notes)


class _Prepared(NamedTuple):
    """Records that an index does not have, as they are looked up in it.

    Attributes:
        records: Without values that the index takes for missing ones.
        features: Sets, hashes and numbers that are compared.
        keys: Theirs.
        among: Candidates among them.
        notes: Remarks, a sentence each.
    """

    records: Records
    features: Features
    keys: Keys
    among: Candidates
    notes: tuple[str, ...]


def _prepared(store: RecordStore, records: Records, pool: Pool) -> _Prepared:
    spec, features = store.spec, store.features(records.columns, pool)
    records, missing = without_placeholders(records, features, store.placeholders, spec)
    if missing:
        features = store.features(records.columns, pool)
    with pool.stage("make keys"):
        keys = store.keys(features, records.columns, pool)
    among = find_candidates(features, spec, None, pool, store.bands)
    if store.blocks:
        asked = BlockSettings(spec, None, store.blocks)
        among = add_field_blocks(among, features, records.columns, asked, pool)
    notes = block_notes(records, features, among, spec) + missing
    if not len(records):
        notes += tuple(empty_notes(records))
    return _Prepared(records, features, keys, among, notes)


def _inserted(
    store: RecordStore,
    new: _Prepared,
    ids: list[Id],
    pool: Pool,
    *,
    changed: bool = False,
    learns: bool = True,
) -> Linked:
    """Link records against those of an index and one another, and insert them.

    Args:
        store: The index.
        new: The records.
        ids: Theirs, which the index does not have.
        pool: Threads.
        changed: Whether the index has learnt weights since the records were prepared.
        learns: Whether weights may be learnt again.
    """
    records, features, keys, among, notes = new
    state = store.core.catalogue.state()
    numbers = state.next + np.arange(len(records))
    again = _learn_again(store, records, ids, numbers, pool) if learns else None
    with pool.stage("search the index"):
        docs, found = store.candidates(keys)
        docs = np.union1d(docs, store.marked_with(ids))
        old, against = store.fetch(docs), Against(state.documents, len(docs))
    every = _together(old, ids, records)
    if len(docs) or changed or again is not None:
        features = store.features(every.columns, pool)
    pairs = [
        (
            np.searchsorted(docs, part.doc).astype(np.int32),
            (part.row + len(docs)).astype(np.int32),
        )
        for part in found
    ]
    notes += _grown(store, state.documents + len(ids), again is not None)
    blocked = Blocked(every, store.spec, features, among, notes, against)
    with pool.stage("join candidates"):
        blocked = _with_pairs(blocked, store, pairs, pool)
        labels = _labels(blocked, store)
        if labels is not None:
            found_all = with_labels(blocked, labels, pool)
            blocked = dataclasses.replace(blocked, candidates=found_all)
    linked = _decided(blocked, store, again, (old.clusters, numbers), pool)
    with pool.stage("insert"):
        store.insert(StoredRecords(ids, records.columns, linked.clusters[blocked.new :]), keys)
    return linked


def _grown(store: RecordStore, records: int, again: bool) -> tuple[str, ...]:
    """Return a note on the weights of an index that has grown."""
    if again:
        said = f"the weights were learnt again, from all {records:,} records of the index"
    elif records > _GROWN * store.counted:
        said = f"the index has {records:,} records, and weights of {store.counted:,}, which stay"
    else:
        return ()
    return (f"{said}: `relink` reports the changes by one linkage of all records",)


def _learn_again(
    store: RecordStore,
    new: Records,
    ids: list[Id],
    numbers: np.ndarray,
    pool: Pool,
) -> _Again | None:
    """Learn weights from all records, if they are half as many again as the last time or more.

    New records then join the clusters into which one linkage of all puts them; but two records of a
    complete cluster have to match, and those of an old one and of a new one may not.

    Weights stay where all records have too few candidates to learn from. Within a transaction,
    before the new records are inserted.

    Args:
        store: The index.
        new: The new records.
        ids: Theirs.
        numbers: Numbers for them, int64[new].
        pool: Threads.

    Returns:
        None where the weights stay.
    """
    model, records = store.model, store.core.catalogue.state().documents + len(new)
    if not len(new) or records < _AGAIN * store.counted:
        return None
    old = store.everything()
    columns = tuple(pa.concat_arrays(parts) for parts in zip(old.columns, new.columns, strict=True))
    rows: tuple[pa.Array[Any], ...] = (array_of(np.arange(records)),)
    every = Records(new.names, rows, columns, (records,))
    features = make_features(columns, store.spec, pool)
    found = candidates_of(every, features, store.spec, pool)
    labels = store.labels([*old.ids, *ids])
    linked = decide(Blocked(every, store.spec, features, found, ()), pool, labels)
    if model.views and not linked.decision.model.views:
        return None
    store.learn(features, linked.decision)
    if store.spec.cluster == "complete":
        return _Again(None)
    return _Again(follow_clusters(linked.clusters, old.clusters, numbers))


def _together(old: StoredRecords, ids: list[Id], new: Records) -> Records:
    """Return the records of an index that may be candidates, and new ones after them."""
    ids = old.ids + ids
    kind = "int" if ids and isinstance(ids[0], int) else "str"
    columns = tuple(
        pa.concat_arrays([one, two]) for one, two in zip(old.columns, new.columns, strict=True)
    )
    of = (id_values(ids, kind),)
    return dataclasses.replace(new, ids=of, columns=columns, sizes=(len(ids),), origin=None)


def _with_pairs(
    blocked: Blocked, store: RecordStore, pairs: list[tuple[np.ndarray, np.ndarray]], pool: Pool
) -> Blocked:
    """Return the same with candidates among the new records, and those pairs that are any, too.

    Args:
        blocked: The new records with their candidates.
        store: The index.
        pairs: Old and new records that share a bucket: of complete records, then of each block.
        pool: Threads.
    """
    features, spec, among = blocked.features, blocked.spec, blocked.candidates
    hashed = hashed_sets(features.records, np.arange(len(blocked.records)), common_of(features))
    a, b = pairs[0]
    similarity = similarities(hashed, a, b, lowest_similarity(spec), pool)
    reached = np.flatnonzero(similarity >= 0)
    part = a[reached], b[reached], similarity[reached]
    kept = reached[worth(features, spec, part, pool)]
    parts = [(a[kept], b[kept], similarity[kept])]
    blocks = [among.blocks[0]._replace(pairs=len(kept), added=len(kept))]
    seen = _keys(*parts[0][:2])
    for fields, (x, y) in zip(store.blocks, pairs[1:], strict=True):
        x, y = _alike(blocked, fields, x, y, pool)
        new = ~np.isin(_keys(x, y), seen)
        seen = np.concatenate([seen, _keys(x[new], y[new])])
        name = " + ".join(spec.fields[k].name for k in fields)
        blocks.append(Block(name, len(x), int(new.sum()), fields))
        similarity = np.maximum(similarities(hashed, x[new], y[new], 0.0, pool), 0.0)
        parts.append((x[new], y[new], similarity))
    new_pairs = among.a + blocked.new, among.b + blocked.new, among.similarity
    edges = Edges.gather([*parts, new_pairs])
    assert blocked.against is not None
    records = len(blocked.records) - blocked.new
    found = dataclasses.replace(
        among,
        a=edges.a,
        b=edges.b,
        similarity=edges.similarity,
        compared=among.compared + sum(len(x) for x, _ in pairs),
        possible=blocked.against.records * records + among.possible,
        blocks=_sum(tuple(blocks), among.blocks),
    )
    return dataclasses.replace(blocked, candidates=found)


def _labels(blocked: Blocked, store: RecordStore) -> Labels | None:
    """Return the marks of new records; those of old ones decide nothing more."""
    labels = store.labels(blocked.records.ids[0].to_pylist())
    if labels is None:
        return None
    new = labels.b >= blocked.new
    return Labels(*(column[new] for column in labels)) if new.any() else None


def _keys(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.asarray(a.astype(np.int64) << 32 | b)


def _sum(one: tuple[Block, ...], two: tuple[Block, ...]) -> tuple[Block, ...]:
    """Add up what blocks found against the index and among the new records."""
    more = {block.fields: block for block in two}
    return tuple(
        block._replace(
            pairs=block.pairs + more[block.fields].pairs,
            added=block.added + more[block.fields].added,
        )
        if block.fields in more
        else block
        for block in one
    )


def _alike(
    blocked: Blocked, fields: tuple[int, ...], a: np.ndarray, b: np.ndarray, pool: Pool
) -> tuple[np.ndarray, np.ndarray]:
    """Return the pairs whose values are equal, or of one field similar."""
    hashes = blocked.features.hashes
    equal = np.ones(len(a), np.bool_)
    for k in fields:
        equal &= (hashes[a, k] == hashes[b, k]) & (hashes[a, k] != 0)
    field = blocked.spec.fields[fields[0]]
    if len(fields) == 1 and field.compare != "exact" and not equal.all():
        docs, which = np.unique(np.concatenate([a, b]), return_inverse=True)
        single = of_one_field(field, blocked.spec)
        values = blocked.records.columns[fields[0]].take(array_of(docs))
        sets = make_features((values,), single, pool).records
        x, y = np.split(which.reshape(-1).astype(np.int32), 2)
        equal |= similarities(sets, x, y, block_at(single), pool) >= 0
    return a[equal], b[equal]


def _decided(
    blocked: Blocked,
    store: RecordStore,
    again: _Again | None,
    clusters_of: tuple[np.ndarray, np.ndarray],
    pool: Pool,
) -> Linked:
    """Compare the candidates, and let new records join clusters.

    Args:
        blocked: Records with their candidates.
        store: The index.
        again: Given, if the weights were learnt from the new records, too.
        clusters_of: int64[] of old and of new records: their clusters, and numbers for these.
        pool: Threads.
    """
    spec, found = blocked.spec, blocked.candidates
    compared = compare(blocked.features, spec, found.a, found.b, pool)
    with pool.stage("cluster"):
        return _joined(blocked, compared, store, again, clusters_of, pool)


def _joined(
    blocked: Blocked,
    compared: Compared,
    store: RecordStore,
    again: _Again | None,
    clusters_of: tuple[np.ndarray, np.ndarray],
    pool: Pool,
) -> Linked:
    old, numbers = clusters_of
    spec, found = blocked.spec, blocked.candidates
    agreements = agreements_of(found, compared, None, pool)
    counted = blocked.new if again is None else len(blocked.records)
    values, model = store.values.of(blocked.features, counted), store.model
    if again is None:
        model = rescaled(model, agreements, values, found.possible)
        store.note_batch(numbers, model)
    decision = by_known_weights(compared, agreements, values, model, store.threshold, pool)
    labels = _labels(blocked, store)
    notes = blocked.notes + contradicted(decision.log_odds, found, labels, spec)
    decision = decision.answered(spec, found, labels)
    scored = Scored(found.a, found.b, decision.margin(spec.decide_at))
    if again is None or again.clusters is None:
        sizes = store.sizes(old)
        clusters = join_clusters(scored, old, sizes, numbers, spec.cluster)
    else:
        clusters = np.concatenate([old, again.clusters])
        sizes = store.sizes(clusters)
    for cluster in clusters[blocked.new :].tolist():
        sizes[cluster] = sizes.get(cluster, 0) + 1
    of = np.array([sizes[cluster] for cluster in clusters.tolist()], np.int64)
    pairs = matches(scored)
    return Linked(blocked, decision, pairs, clusters, of, notes)
