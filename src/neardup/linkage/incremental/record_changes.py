"""An index of records: two of its records explained, records removed, and a check of all of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from neardup.errors import NeardupError, UnknownIdError
from neardup.index.answers import id_values
from neardup.index.storing.bodies import Id
from neardup.index.storing.index_check import problems_of
from neardup.linkage.blocks.record_blocks import Candidates, common_of
from neardup.linkage.deciding import by_known_weights
from neardup.linkage.decision.weights.frequencies import ValueCounts
from neardup.linkage.decision.weights.model import Agreements, Model
from neardup.linkage.explaining import check_two, explain_pair
from neardup.linkage.features import Features
from neardup.linkage.field_similarity import compare
from neardup.linkage.incremental.record_store import RecordStore
from neardup.linkage.link_steps import Against, Blocked, Linked
from neardup.linkage.record_files import Records
from neardup.threads import Pool


def explain_stored(store: RecordStore, ids: Sequence[Id], texts: bool) -> dict[str, Any]:
    """Explain two records of an index as they were decided, see `LinkRun.explain`.

    Weights that were learnt again since then are the new ones. The two are a candidate if they
    share a bucket.

    Raises:
        SpecError: The two ids are the same.
        UnknownIdError: No record has one of the ids.
    """
    with store.core.reading() as state, Pool(1) as pool:
        store.refresh()
        numbers = _numbers(store, ids)
        check_two(*(numbers[id_] for id_ in ids))
        docs = np.unique(list(numbers.values()))
        found, kind, total = store.fetch(docs), state.ids, state.documents
        records = Records(
            ("the index",), (id_values(found.ids, kind),), found.columns, (len(docs),)
        )
        features = store.features(found.columns, pool)
        keys = store.keys(features, found.columns, pool)
        where = [found.ids.index(id_) for id_ in ids]
        a, b = (np.array([doc], np.int32) for doc in sorted(where))
        full = len(keys.rows) == 2
        collide = full and bool(((keys.values[0] == keys.values[1]) & (keys.values[0] != 0)).any())
        compared = compare(features, store.spec, a, b, pool)
        labels = store.labels(found.ids)
        one = np.flatnonzero([collide or labels is not None])
        candidates = Candidates(
            a[one],
            b[one],
            np.zeros(len(one)),
            store.bands,
            compared=len(one),
            not_compared=0,
            common=common_of(features),
            only_common=0,
            possible=1,
        )
        agreements = Agreements(a, b, compared.classes, compared.similarity)
        model, values = _decided_with(store, docs, features, pool)
        decision = by_known_weights(compared, agreements, values, model, store.threshold)
        decision = decision.answered(store.spec, replace(candidates, a=a, b=b), labels)
        pairs = np.flatnonzero(decision.margin(store.spec.decide_at)[: len(one)] >= 0)
        against = Against(total, len(docs))
        blocked = Blocked(records, store.spec, features, candidates, (), against)
        sizes = np.ones(len(docs), np.int64)
        linked = Linked(blocked, decision, pairs, found.clusters, sizes, ())
        return explain_pair(linked, where[0], where[1], texts)


def _decided_with(
    store: RecordStore, docs: np.ndarray, features: Features, pool: Pool
) -> tuple[Model, ValueCounts]:
    """Return the match weights, and the counts of values, that decided some records.

    Args:
        store: The index.
        docs: Numbers of the records, int64[], ascending.
        features: Of these.
        pool: Threads.
    """
    model, batch = store.decided_with(int(docs[-1]))
    if batch is None:
        return model, store.values.of(features, len(docs))
    every = np.union1d(docs, store.between(*batch))
    of_every = store.features(store.fetch(every).columns, pool)
    values = store.values.of(of_every, int(np.searchsorted(every, batch[0])))
    return model, values._replace(counts=values.counts[np.searchsorted(every, docs)])


def remove_stored(store: RecordStore, ids: Sequence[Id]) -> None:
    """Remove records; the others keep their clusters. Within a transaction.

    Raises:
        UnknownIdError: No record has one of the ids; nothing was removed.
    """
    numbers = _numbers(store, ids)
    clusters = store.fetch(np.unique(list(numbers.values()))).clusters
    store.core.remove(ids)
    store.count(clusters, -1)


def _numbers(store: RecordStore, ids: Sequence[Id]) -> dict[Id, int]:
    found = store.core.numbers(ids)
    for id_ in ids:
        if id_ not in found:
            raise UnknownIdError(
                f"the index has no record with the id {id_!r}",
                "`RecordIndex.clusters` has all ids",
            ).private("the index has no record with that id")
    return found


def problems_in(store: RecordStore) -> list[str]:
    """Return the defects of an index, a line for each; all of it is read."""
    found = problems_of(store.core)
    if found:
        return found
    try:
        with store.core.reading():
            store.require_learnt()
            clusters, sizes = np.unique(store.everything().clusters, return_counts=True)
            rows = store.core.catalogue.rows("SELECT cluster, size FROM sizes ORDER BY cluster")
            store.sizes(clusters)
    except NeardupError as error:
        return [str(error)]
    if rows != list(zip(clusters.tolist(), sizes.tolist(), strict=True)):
        return ["the sizes of clusters are not those of the records"]
    return []
