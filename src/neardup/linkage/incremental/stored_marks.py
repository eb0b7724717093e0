"""Marks of an index of records: more of them, and the records whose clusters contradict them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from neardup.arrays import array_of
from neardup.cluster.methods import connected, lowest
from neardup.index.answers import id_values
from neardup.index.storing.bodies import Id
from neardup.linkage.decision.labels import labels_of
from neardup.linkage.incremental.record_store import RecordStore, StoredRecords
from neardup.linkage.outputs.label_files import read_labels, require_consistent
from neardup.linkage.record_files import Records

_NOTHING = StoredRecords([], (), np.empty(0, np.int64))


def add_marks(store: RecordStore, given: object, new: Sequence[Id] = ()) -> None:
    """Add marked pairs to those of an index; within a transaction.

    Args:
        store: The index.
        given: See `read_labels`.
        new: Ids of records that are not inserted yet.

    Raises:
        InputError: They can't be read, name ids that no record has, or contradict each other or
            those that the index has.
    """
    ids = [*(id_ for _, id_ in store.core.catalogue.listed()), *new]
    kind = "int" if ids and isinstance(ids[0], int) else "str"
    labels = read_labels(given, Records(("the index",), (id_values(ids, kind),), (), (len(ids),)))
    rows = zip(labels.a.tolist(), labels.b.tolist(), labels.match.tolist(), strict=True)
    marks = [*store.marks, *((ids[a], ids[b], match) for a, b, match in rows)]
    marks = list({(frozenset(mark[:2]), mark[2]): mark for mark in marks}.values())
    every = list(dict.fromkeys(id_ for mark in marks for id_ in mark[:2]))
    if (known := labels_of(marks, every)) is not None:
        require_consistent(known, every)
    store.mark(marks)


def misplaced(store: RecordStore) -> StoredRecords:
    """Return the records that have to be linked again, as their clusters contradict marks.

    Of marked records that are one and are in several clusters, the cluster of the first of them
    stays. Of a cluster with two records that are none, those stay that are marked as one with the
    first of the two.
    """
    numbers = store.core.numbers(list({id_ for mark in store.marks for id_ in mark[:2]}))
    marked = sorted(numbers, key=numbers.__getitem__)
    labels = store.labels(marked)
    if labels is None:
        return _NOTHING
    clusters = store.fetch(np.array([numbers[id_] for id_ in marked])).clusters
    a, b, match = labels
    first = lowest(connected(a[match], b[match], len(marked)))
    leave = {*clusters[clusters != clusters[first]].tolist()}
    apart = np.flatnonzero(~match & (clusters[a] == clusters[b]))
    stay = {int(clusters[a[k]]): int(min(first[a[k]], first[b[k]])) for k in apart}
    if not leave and not stay:
        return _NOTHING
    kept = {id_ for k, id_ in enumerate(marked) if stay.get(int(clusters[k])) == first[k]}
    every = store.everything()
    rows = [
        row
        for row, (id_, cluster) in enumerate(zip(every.ids, every.clusters.tolist(), strict=True))
        if cluster in leave or (cluster in stay and id_ not in kept)
    ]
    at = array_of(np.array(rows, np.int64))
    columns = tuple(column.take(at) for column in every.columns)
    return StoredRecords([every.ids[row] for row in rows], columns, every.clusters[rows])
