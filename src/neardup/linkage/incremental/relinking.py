"""An index that has grown next to one linkage of all its records."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from neardup.arrays import array_of
from neardup.cluster.agreement import pair_counts
from neardup.index.answers import id_values
from neardup.index.storing.bodies import Id
from neardup.linkage.features import make_features
from neardup.linkage.incremental.record_store import RecordStore
from neardup.linkage.link_steps import Blocked, candidates_of, decide
from neardup.linkage.record_files import Records
from neardup.threads import Pool
from neardup.values.readable import labelled


class Relinked(NamedTuple):
    """Changes that one linkage of all records would make; the index stays as it is.

    Attributes:
        records: Records of the index.
        together: Pairs of records that are in one cluster of the index.
        then: The same after one linkage of all.
        both: Those that are in one cluster both times.
        agreement: F1 of one against the other; 1 where nothing changes.
        changed: A row for each record whose cluster would have other records: ``id``, ``cluster``,
            and ``then``, the cluster after it, by the number of its first record.
    """

    records: int
    together: int
    then: int
    both: int
    agreement: float
    changed: pa.Table

    def as_dict(self) -> dict[str, Any]:
        """Return plain values; of the table, the number of its rows."""
        return {**self._asdict(), "changed": self.changed.num_rows}

    def __str__(self) -> str:
        lines = [
            ("records", f"{self.records:,}"),
            ("pairs in clusters", f"{self.together:,}; after one linkage of all {self.then:,}"),
            ("in both", f"{self.both:,}, agreement (F1) {self.agreement:.4f}"),
            ("records changed", f"{self.changed.num_rows:,}"),
        ]
        return labelled(lines, 20)


def relinked(store: RecordStore, pool: Pool) -> Relinked:
    """Link all records of an index at once, and compare the clusters."""
    with store.core.reading() as state:
        found = store.everything()
        ids = id_values(found.ids, state.ids)
    records = Records(("the index",), (ids,), found.columns, (len(found.ids),), id=store.id)
    then = _at_once(store, records, found.ids, pool)
    now = np.unique(found.clusters, return_inverse=True)[1].reshape(-1)
    counts = pair_counts(now, then)
    f1 = counts.scores()["f1"]
    changed = np.flatnonzero(_differ(now, then))
    table = pa.Table.from_arrays(
        [ids.take(array_of(changed)), array_of(found.clusters[changed]), array_of(then[changed])],
        ["id", "cluster", "then"],
    )
    agreement = 1.0 if f1 is None else f1
    pairs = counts.given, counts.true, counts.shared
    return Relinked(len(now), *pairs, agreement, table)


def _at_once(store: RecordStore, records: Records, ids: list[Id], pool: Pool) -> np.ndarray:
    """Return int64[records]: clusters of one linkage of all records."""
    features = make_features(records.columns, store.spec, pool)
    found = candidates_of(records, features, store.spec, pool)
    blocked = Blocked(records, store.spec, features, found, ())
    return decide(blocked, pool, store.labels(ids)).clusters


def _differ(one: np.ndarray, two: np.ndarray) -> np.ndarray:
    """Return bool[n]: of which records the two clusters have other records."""
    size_one, size_two = np.bincount(one)[one], np.bincount(two)[two]
    joint = np.unique(np.column_stack([one, two]), axis=0, return_inverse=True)[1].reshape(-1)
    same = np.bincount(joint)[joint]
    return np.asarray((same != size_one) | (same != size_two))
