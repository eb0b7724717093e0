"""New records against those of an index: candidates, pairs, and clusters that stay."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa

from neardup.cluster.edges import Edges
from neardup.index.answers import id_values
from neardup.index.bodies import Id
from neardup.index.incoming import checked_ids
from neardup.match.verifying import similarities
from neardup.records.blocking import (
    common_of,
    find_candidates,
    hashed_sets,
    lowest_similarity,
    record_keys,
    worth,
)
from neardup.records.deciding import Joined, join_clusters, matches
from neardup.records.field_similarity import compare
from neardup.records.incremental.record_store import RecordStore, Stored
from neardup.records.link_steps import Against, Blocked, Linked, block_notes, matched
from neardup.records.record_files import Records, Source, read_records
from neardup.records.threshold import given_threshold
from neardup.threads import Pool

#: An index that has grown to so many times what it was made of is worth a new one.
_GROWN = 4


def link_new(store: RecordStore, given: Source, pool: Pool) -> Linked:
    """Link new records against those of an index and one another, and insert them.

    All of it is one transaction.

    Args:
        store: The index.
        given: One file; its ``id`` is None for that of the index.
        pool: Threads.

    Raises:
        DuplicateIdError: An id is in the index.
        InputError: The records can't be used; its subclasses say why.
        StoreError: Another process writes.
    """
    spec = store.spec
    records = read_records(given._replace(id=given.id or store.id), spec, alone=1)
    features = store.features(records.columns, pool)
    filled = np.flatnonzero(features.records.size)
    keys = record_keys(features, filled, store.bands, spec.seed, pool)
    among = find_candidates(features, spec, len(records), pool, store.bands)
    notes = block_notes(records, features, among, spec)
    with store.core.writing() as state:
        numbers = state.documents + np.arange(len(records))
        ids = checked_ids(numbers if records.id is None else records.ids[0])
        store.require_new(ids)
        found = store.candidates(keys)
        docs, place = np.unique(found.doc, return_inverse=True)
        old, against = store.fetch(docs), Against(state.documents, len(docs))
        every = _together(old, ids, records)
        if len(docs):
            features = store.features(every.columns, pool)
        pairs = place.reshape(-1).astype(np.int32), (filled[found.row] + len(docs)).astype(np.int32)
        notes += _grown(store, state.documents + len(ids))
        blocked = _with_pairs(Blocked(every, spec, features, among, notes, against), *pairs, pool)
        linked, joined = _decided(blocked, store, old.joined, numbers, pool)
        store.insert(Stored(ids, records.columns, joined), filled, keys)
    store.after_insert()
    return linked


def _grown(store: RecordStore, records: int) -> tuple[str, ...]:
    if records <= _GROWN * store.counted:
        return ()
    return (
        f"the index has {records:,} records, and was made of {store.counted:,}; weights and bands "
        "are those of the first: make a new one from a linkage of all records",
    )


def _together(old: Stored, ids: list[Id], new: Records) -> Records:
    """Return the records of an index that may be candidates, and new ones after them."""
    ids = old.ids + ids
    kind = "int" if isinstance(ids[0], int) else "str"
    columns = tuple(
        pa.concat_arrays([one, two]) for one, two in zip(old.columns, new.columns, strict=True)
    )
    return Records(new.names, (id_values(ids, kind),), columns, len(ids), new.id)


def _with_pairs(blocked: Blocked, a: np.ndarray, b: np.ndarray, pool: Pool) -> Blocked:
    """Return the same with candidates among the new records, and those pairs that are any, too."""
    features, spec, among = blocked.features, blocked.spec, blocked.candidates
    every = np.arange(len(blocked.records))
    hashed = hashed_sets(features.records, every, common_of(features))
    similarity = similarities(hashed, a, b, lowest_similarity(spec), pool)
    reached = np.flatnonzero(similarity >= 0)
    part = a[reached], b[reached], similarity[reached]
    kept = reached[worth(features, spec, part, pool)]
    inside = among.a + blocked.new, among.b + blocked.new, among.similarity
    edges = Edges.gather([(a[kept], b[kept], similarity[kept]), inside])
    assert blocked.against is not None
    possible = blocked.against.records * (len(every) - blocked.new) + among.possible
    found = replace(
        among,
        a=edges.a,
        b=edges.b,
        similarity=edges.similarity,
        compared=among.compared + len(a),
        possible=possible,
    )
    return replace(blocked, candidates=found)


def _decided(
    blocked: Blocked, store: RecordStore, old: Joined, numbers: np.ndarray, pool: Pool
) -> tuple[Linked, Joined]:
    """Compare the candidates, and let new records join clusters."""
    spec, found = blocked.spec, blocked.candidates
    compared = compare(blocked.features, spec, found.a, found.b, pool)
    similarity = compared.similarity
    threshold = replace(given_threshold(store.threshold, similarity), kind="index")
    pairs = matches(found.a, found.b, similarity, threshold.value, one_to_one=False)
    edges = matched(found, compared, pairs)
    sizes = store.sizes(old.clusters)
    joined = join_clusters(edges, old, sizes, numbers, spec.cluster)
    for cluster in joined.clusters[blocked.new :].tolist():
        sizes[cluster] = sizes.get(cluster, 0) + 1
    of = np.array([sizes[cluster] for cluster in joined.clusters.tolist()], np.int64)
    linked = Linked(blocked, compared, threshold, pairs, joined.clusters, of, blocked.notes)
    return linked, Joined(joined.clusters[blocked.new :], joined.centres[blocked.new :])
