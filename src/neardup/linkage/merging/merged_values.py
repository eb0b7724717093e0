"""The merged records: which value comes from which record of a cluster."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from neardup.arrays import array_of, strings_of
from neardup.cluster.edges import batches
from neardup.deduplication.reading import Reader
from neardup.io.formats.entries.citation_columns import OTHERS
from neardup.io.formats.json_text import nested
from neardup.io.paths import unique_name
from neardup.linkage.columns.field_columns import named_files
from neardup.linkage.link_steps import Linked
from neardup.linkage.merging.joined_sources import JoinedNames, JoinedSource
from neardup.linkage.merging.members import (
    Members,
    column_of,
    filled,
    in_order,
    lengths,
    ranks,
    read_members,
    texts,
)
from neardup.linkage.outputs.link_tables import cluster_table
from neardup.threads import Pool

#: The column with the ids of the records that a merged one was made of.
MERGED_FROM = "merged_from"
#: Between the values of a list in a text.
BETWEEN = "; "
#: Clusters that are merged together.
_TOGETHER = 1 << 14


class Merging:
    """Merged records of a linkage, which are made some at a time.

    Args:
        linked: The linkage, whose inputs can be read again.
        pool: Reads them.
        folder: For temporary files; None for that of the system.

    Raises:
        ColumnError: A column that is named is in no input.
        InputError: The inputs have changed.
        SpecError: A list can't be made of the values of a column.
    """

    def __init__(self, linked: Linked, pool: Pool, folder: Path | None = None) -> None:
        assert linked.merge is not None
        self._linked, self.spec = linked, linked.merge
        records = linked.blocked.records
        self.reader = Reader(JoinedSource([one.source for one in records.opened]))
        names = linked.blocked.spec.names
        of_files = records.read, records.opened, records.sizes
        joined = JoinedNames(names, *of_files, self.spec.format)
        self._id = joined.id
        self.members: Members = read_members(self.reader, linked.sizes > 1, pool, joined, folder)
        table, clusters = self.members.table, linked.clusters[self.members.docs]
        for name in self.spec.columns:
            column_of(table, name)
        self.spec.check_types(table.schema)
        of_file = self._of_file()[self.members.docs]
        self._order = in_order(self.members, clusters, of_file, self.spec, self._id)
        ordered = clusters[self._order]
        self._starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]][: len(ordered)])
        self._ends = np.append(self._starts, len(ordered))[1:]
        #: Numbers of the records that stay, of those clusters; ascending.
        stay = self.members.docs[self._order[self._starts]]
        by_number = np.argsort(stay)
        self._starts, self._ends = self._starts[by_number], self._ends[by_number]
        self.stay = stay[by_number]
        self.kept = linked.sizes == 1
        self.kept[self.stay] = True

    def _of_file(self) -> np.ndarray:
        """bool[records]: which are of the input that is named."""
        rule, name = self.spec.rule
        records = self._linked.blocked.records
        numbers = named_files(records.names).get(name, ()) if rule == "file" else ()
        return np.isin(records.file, list(numbers))

    @cached_property
    def ids_column(self) -> str:
        """Name of the column with the ids of the records that each is from, which is a new one."""
        there = {name.casefold() for name in self.members.schema.names}
        return unique_name(MERGED_FROM, there)

    def groups_of(self, docs: np.ndarray) -> np.ndarray:
        """int64[docs]: numbers of the clusters in which records stay; -1 for those of no cluster.

        Args:
            docs: int64[n]: numbers of records that stay.
        """
        at = np.minimum(np.searchsorted(self.stay, docs), max(0, len(self.stay) - 1))
        if not len(self.stay):
            return np.full(len(docs), -1)
        return np.where(self.stay[at] == docs, at, -1)

    @cached_property
    def _known(self) -> pa.Table:
        """Source and id of each member."""
        found = cluster_table(self._linked).select(["source", "id"])
        return found.take(array_of(self.members.docs))

    def rows(self, groups: np.ndarray) -> MergedRows:
        """Return the merged records of some clusters, by their numbers, int64[]."""
        return MergedRows(self, groups)

    def table(self) -> Iterator[pa.Table]:
        """Yield which value comes from which record, see `LinkRun.merges`."""
        for part in list(batches(len(self.stay), _TOGETHER)) or [slice(0, 0)]:
            yield self.rows(np.arange(len(self.stay))[part]).origins()


class MergedRows:
    """Merged records of some clusters.

    Attributes:
        table: A row for each, in the schema of all records.
        changed: bool[clusters, columns]: which values are not those of the record that stays.
        ids: Ids of the records of each.
    """

    def __init__(self, merging: Merging, groups: np.ndarray) -> None:
        self._merging, spec = merging, merging.spec
        starts, ends = merging._starts[groups], merging._ends[groups]
        sizes = ends - starts
        self._first = np.cumsum(sizes) - sizes
        within = np.arange(int(sizes.sum())) - np.repeat(self._first, sizes)
        self._rows = merging._order[np.repeat(starts, sizes) + within]
        self._sizes, self._group = sizes, np.repeat(np.arange(len(groups)), sizes)
        self._every = merging.members.table.take(array_of(self._rows))
        names = self._every.column_names
        self._combined = {one.field: one for one in spec.combined}
        self._from = np.repeat(self._first[:, None], len(names), axis=1)
        self._lists: dict[str, list[list[int]]] = {}
        columns: list[Any] = []
        self.changed = np.zeros((len(groups), len(names)), np.bool_)
        for k, name in enumerate(names):
            column = self._every.column(name)
            values = self._column(k, name, column)
            columns.append(values)
            self.changed[:, k] = self._from[:, k] != self._first
        for name, rows in self._lists.items():
            number = names.index(name)
            self.changed[:, number] |= np.array([len(of) > 1 for of in rows], np.bool_)
        self.table = pa.Table.from_arrays(columns, schema=merging.members.schema)

    @cached_property
    def ids(self) -> list[list[str]]:
        """Ids of the records of each, the one that stays first."""
        every = texts(self._merging._known.column("id").take(array_of(self._rows))).to_pylist()
        return [every[a : a + n] for a, n in zip(self._first, self._sizes, strict=True)]

    def _column(self, k: int, name: str, column: Any) -> Any:
        """Return the values of a column, and note from which rows they are."""
        merging, there = self._merging, filled(column)
        asked = self._combined.get(name)
        if asked is not None and asked.how == "list":
            return self._listed(k, name, column, there)
        if name == OTHERS and merging.spec.fill:
            return self._all_others(name, column, there)
        by: np.ndarray | None = None
        if asked is not None:
            of = self._every.column(asked.by)
            by = lengths(column) if asked.how == "longest" else ranks(of)
        elif merging.spec.fill and name != merging._id:
            by = np.zeros(len(there))
        if by is not None and len(there):
            order = np.lexsort((np.arange(len(there)), -by, ~there, self._group))
            best = order[self._first]
            self._from[:, k] = np.where(there[best], best, self._first)
        return column.take(array_of(self._from[:, k]))

    def _listed(self, k: int, name: str, column: Any, there: np.ndarray) -> Any:
        """Return each value once; texts are joined."""
        values, found, rows = column.to_pylist(), [], []
        for a, n in zip(self._first.tolist(), self._sizes.tolist(), strict=True):
            items: dict[Any, int] = {}
            has_lists = pa.types.is_nested(column.type)
            for row in range(a, a + n):
                every = nested(values[row])  # those of JSON lines are texts
                has_lists |= isinstance(every, list)
                if there[row] and not isinstance(every, list):
                    every = values[row].split(BETWEEN)
                for item in every if there[row] else ():
                    items.setdefault(json.dumps(item, default=str), row)
            got = [json.loads(item) for item in items]
            rows.append(sorted({*items.values()}))
            found.append((got if has_lists else BETWEEN.join(got)) if got else values[a])
        self._lists[name] = rows
        self._from[:, k] = [of[0] if of else a for of, a in zip(rows, self._first, strict=True)]
        if pa.types.is_nested(column.type):
            return pa.array(found, column.type)
        spelled = [json.dumps(v, ensure_ascii=False) if isinstance(v, list) else v for v in found]
        return pa.array(spelled, pa.large_string()).cast(column.type)

    def _all_others(self, name: str, column: Any, there: np.ndarray) -> Any:
        """Return the fields of entries that have no column: of others those that one lacks."""
        values, found, rows = column.to_pylist(), [], []
        for a, n in zip(self._first.tolist(), self._sizes.tolist(), strict=True):
            every: dict[str, Any] = {}
            of = []
            for row in range(a, a + n):
                more = json.loads(values[row]) if there[row] else {}
                if more.keys() - every.keys():
                    of.append(row)
                every = {**more, **every}
            found.append(json.dumps(every, ensure_ascii=False) if every else "")
            rows.append(of)
        self._lists[name] = rows
        return pa.array(found, column.type)

    def patches(self) -> list[dict[str, Any]]:
        """Return the values of each that are not those of the record that stays, and its ids."""
        found: list[dict[str, Any]] = [{} for _ in self._sizes]
        for k, name in enumerate(self.table.column_names):
            rows = np.flatnonzero(self.changed[:, k])
            if len(rows):
                values = self.table.column(k).take(array_of(rows)).to_pylist()
                for row, value in zip(rows.tolist(), values, strict=True):
                    found[row][name] = value
        for row, ids in enumerate(self.ids):
            found[row][self._merging.ids_column] = ids
        return found

    def origins(self) -> pa.Table:
        """Return a row for each value and record that it is from."""
        nothing = np.empty(0, np.int64)
        parts = [self._origin("", strings_of([]), nothing, nothing)]
        for k, name in enumerate(self.table.column_names):
            there = np.flatnonzero(filled(self.table.column(k)))
            groups, rows = there, self._from[there, k]
            if (lists := self._lists.get(name)) is not None:
                of = [(group, row) for group in there.tolist() for row in lists[group]]
                groups, rows = np.array(of, np.int64).reshape(-1, 2).T
            value = self._every.column(k).take(array_of(rows))
            parts.append(self._origin(name, value, groups, rows))
        return pa.concat_tables(parts).sort_by("cluster")

    def _origin(self, name: str, value: Any, groups: np.ndarray, rows: np.ndarray) -> pa.Table:
        merging = self._merging
        known: Any = merging._known
        docs = merging.members.docs
        members, stays = self._rows[rows], self._rows[self._first[groups]]
        return pa.table(
            {
                "cluster": array_of(merging._linked.clusters[docs[members]]),
                "source": known.column("source").take(array_of(stays)),
                "id": known.column("id").take(array_of(stays)),
                "field": strings_of([name.encode()]).take(array_of(np.zeros(len(rows), np.int32))),
                "value": texts(value),
                "from_source": known.column("source").take(array_of(members)),
                "from_id": known.column("id").take(array_of(members)),
            }
        )
