"""Results of a linkage as tables, and in the formats of other tools."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup.arrays import array_of, strings_of
from neardup.cluster.methods import connected, lowest
from neardup.errors import DependencyError, SpecError
from neardup.io.columns import string_scalar
from neardup.linkage.columns.field_columns import letters
from neardup.linkage.decision.weights.agreement_classes import CLASSES, EDGES
from neardup.linkage.decision.weights.model import probability
from neardup.linkage.link_steps import Blocked, Linked
from neardup.linkage.record_files import Records

if TYPE_CHECKING:
    import pandas

#: Metadata of a table of candidates: how many records and pairs there are.
COUNTS = "neardup.blocks"
#: Names of two tables, unless others are given.
NAMES = ("a", "b")
#: What Splink puts between the name of a table and an id.
_SEPARATOR = "-__-"


@dataclass(frozen=True)
class DecidedPairs:
    """Input of an evaluation: candidates, and decisions, by numbers of records.

    Attributes:
        ids: Ids of the records of each of the one or two sources.
        a: int32[candidates]: first records.
        b: int32[candidates]: second records.
        possible: Pairs in all, or pairs across the two sources.
        log_odds: float64[candidates]: what decides; None where nothing was decided.
        match: bool[candidates]: whether the two are one record; None where nothing was decided.
        labels: int64[records]: label of each one's cluster; None where nothing was decided.
        decide_at: Minimum score of a match; None where nothing was decided.
        file: int32[records]: the file of each, if matches are of different files; else None.
    """

    ids: tuple[Any, ...]
    a: np.ndarray
    b: np.ndarray
    possible: int
    log_odds: np.ndarray | None = None
    match: np.ndarray | None = None
    labels: np.ndarray | None = None
    decide_at: float | None = None
    file: np.ndarray | None = None


def decided(found: Blocked | Linked) -> DecidedPairs:
    """Return the input of an evaluation of candidates, or of a linkage.

    Raises:
        SpecError: It is against an index, most of whose records it does not have.
    """
    blocked = found.blocked if isinstance(found, Linked) else found
    if blocked.against is not None:
        raise SpecError(
            "a linkage against an index can't be evaluated by itself",
            "evaluate the index, which has the clusters of all records",
        )
    candidates = blocked.candidates
    known = (blocked.records.ids, candidates.a, candidates.b, candidates.possible)
    if isinstance(found, Blocked):
        return DecidedPairs(*known)
    match = np.zeros(len(candidates.a), np.bool_)
    match[found.pairs] = True
    spec = blocked.spec
    log_odds = found.decision.log_odds
    file = blocked.records.file if spec.one_to_one else None
    return DecidedPairs(*known, log_odds, match, found.clusters, spec.decide_at, file)


def ids_of(records: Records, docs: np.ndarray, second: bool, public: bool = False) -> Any:
    """Return the ids of records, or their rows.

    Args:
        records: The records.
        docs: int64[]: their numbers.
        second: They are of the second file, where two have their own ids.
        public: Rows instead, where ids are private.
    """
    ids = records.public_ids if public else records.ids
    if second and len(ids) > 1:
        return ids[1].take(array_of(docs - records.sizes[0]))
    return ids[0].take(array_of(docs))


def candidate_table(blocked: Blocked, rows: slice = slice(None)) -> pa.Table:
    """Return ``id_a``, ``id_b`` and ``similarity`` (Jaccard of hashed shingles) of candidates."""
    found = blocked.candidates
    counts = {"records": len(blocked.records) - blocked.new, "sources": len(blocked.records.ids)}
    table = pa.Table.from_arrays(
        [
            ids_of(blocked.records, found.a[rows], second=False),
            ids_of(blocked.records, found.b[rows], second=True),
            array_of(found.similarity[rows]),
        ],
        ["id_a", "id_b", "similarity"],
    )
    about = json.dumps({**counts, "possible": found.possible})
    return table.replace_schema_metadata({COUNTS: about})


def label_table(blocked: Blocked, name: str) -> pa.Table:
    """Return a row for each record: ``id``, its ``source`` if there are several, and its block.

    A block is a connected component of candidates, by the number of its first record.
    """
    if blocked.against is not None:
        raise SpecError("a linkage against an index has no blocks: most records are in the index")
    records, found = blocked.records, blocked.candidates
    labels = lowest(connected(found.a, found.b, len(records))).astype(np.int64)
    source, ids = _named(records)
    columns: dict[str, Any] = {"id": ids}
    if len(records.sizes) > 1:
        columns["source"] = source
    if name in columns:
        raise SpecError(
            f"there is a column {name!r} already", "give that of the blocks another name"
        )
    return pa.table({**columns, name: array_of(labels)})


def scored_table(linked: Linked, rows: np.ndarray | slice) -> pa.Table:
    """Return ids, scores and similarities of candidates.

    Args:
        linked: The linkage.
        rows: int64[] or a slice: which candidates.
    """
    blocked, compared = linked.blocked, linked.decision.compared
    found, spec = blocked.candidates, blocked.spec
    by_field = compared.by_field[rows]
    columns = {
        "id_a": ids_of(blocked.records, found.a[rows], second=False),
        "id_b": ids_of(blocked.records, found.b[rows], second=True),
        "score": array_of(probability(linked.decision.log_odds[rows])),
        "log_odds": array_of(linked.decision.log_odds[rows]),
        "similarity": array_of(compared.similarity[rows]),
        "present": _present(by_field, spec.names),
    }
    for k, name in enumerate(spec.names):
        values = np.ascontiguousarray(by_field[:, k])
        columns[f"similarity_{name}"] = array_of(values, null=np.isnan(values))
    return pa.Table.from_arrays(list(columns.values()), list(columns))


def cluster_table(linked: Linked) -> pa.Table:
    """Return a row for each record given: ``source``, ``id``, ``cluster`` and ``size`` of that."""
    records = linked.blocked.records
    columns = [*_named(records), array_of(linked.clusters), array_of(linked.sizes)]
    table = pa.Table.from_arrays(columns, ["source", "id", "cluster", "size"])
    return table.slice(linked.blocked.new)


def record_table(blocked: Blocked) -> pa.Table:
    """Return ``source``, ``id`` and ``value_FIELD`` (string) of each record, in their order."""
    records = blocked.records
    values = [f"value_{name}" for name in blocked.spec.names]
    columns = [*_named(records), *records.columns]
    return pa.Table.from_arrays(columns, ["source", "id", *values])


class ScoredRecords(NamedTuple):
    """Records and scores of a linkage, without what explains these.

    Attributes:
        records: The records.
        names: Names of the fields.
        a: int32[candidates]: first records.
        b: int32[candidates]: second records.
        log_odds: float64[candidates]: of a match.
        pairs: int64[pairs]: candidates that are one record.
    """

    records: Records
    names: Sequence[str]
    a: np.ndarray
    b: np.ndarray
    log_odds: np.ndarray
    pairs: np.ndarray

    @classmethod
    def of(cls, linked: Linked) -> ScoredRecords:
        blocked, found = linked.blocked, linked.blocked.candidates
        odds = linked.decision.log_odds
        return cls(blocked.records, blocked.spec.names, found.a, found.b, odds, linked.pairs)


def pairs_with_records(found: ScoredRecords, rows: np.ndarray | None = None) -> pa.Table:
    """Return the pairs that are one record, or other candidates, with the values of both.

    Args:
        found: The linkage.
        rows: int64[]: which candidates, to be marked.

    Columns: ``id_a``, ``id_b``, rows where ids are private, `Records.marked_ids` of candidates;
    ``score``; then ``FIELD_a`` and ``FIELD_b``; for a field named ``id``, ``id_field_a`` and
    ``id_field_b``.
    """
    rows, marked = (found.pairs, False) if rows is None else (rows, True)
    columns: dict[str, Any] = {}
    for side, docs in (("a", found.a), ("b", found.b)):
        columns[f"id_{side}"] = (
            found.records.marked_ids.take(array_of(docs[rows]))
            if marked
            else ids_of(found.records, docs[rows], side == "b", public=True)
        )
    columns["score"] = array_of(probability(found.log_odds[rows]))
    for name, values in zip(found.names, found.records.columns, strict=True):
        # A field of that name would replace the ids.
        shown = "id_field" if name == "id" else name
        for side, docs in (("a", found.a), ("b", found.b)):
            columns[f"{shown}_{side}"] = values.take(array_of(docs[rows]))
    return pa.Table.from_arrays(list(columns.values()), list(columns))


def clusters_by_size(linked: Linked) -> pa.Table:
    """Return a row for each cluster of two records or more; see `LinkRun.clusters_by_size`."""
    sums: Any = [("source", "first"), ("id", "first"), ("size", "first")]
    found = cluster_table(linked).group_by("cluster", use_threads=False).aggregate(sums)
    found = found.rename_columns(["cluster", "source", "id", "records"])
    found = found.filter(pc.field("records") > 1)
    return found.sort_by([("records", "descending"), ("cluster", "ascending")])


def records_of(linked: Linked, doc: int) -> pa.Table:
    """Return the records of the cluster of a record, given by its number, with their values."""
    same = linked.clusters == linked.clusters[doc]
    table = record_table(linked.blocked).filter(array_of(same))
    return table.rename_columns([*table.column_names[:2], *linked.blocked.spec.names])


def weight_table(linked: Linked) -> pa.Table:
    """Return the match weight of each class of agreement of each field, see `LinkRun.weights`."""
    model, names = linked.decision.model, [*linked.blocked.spec.names, "each other's best"]
    rows: dict[str, list[Any]] = {
        name: [] for name in ("view", "field", "from", "to", "m", "u", "bits")
    }
    for view in model.views:
        for k, weights in enumerate(view.weights):
            bounds = _bounds(len(weights))
            for c, weight in enumerate(weights.tolist()):
                values = (view.name, names[k], *bounds[c], float(view.m[k][c]), float(view.u[k][c]))
                for name, value in zip(rows, (*values, weight / math.log(2)), strict=True):
                    rows[name].append(value)
    return pa.table(
        {
            name: pa.array(values, pa.string() if name in ("view", "field") else pa.float64())
            for name, values in rows.items()
        }
    )


def _bounds(classes: int) -> list[tuple[float, float]]:
    """Return the similarities between which each class is; of ranks, how many are the best."""
    if classes != CLASSES:
        return [(k, k) for k in range(classes)]
    edges = [0.0, *map(float, EDGES.round(2)), 1.0]
    return [*itertools.pairwise([round(edge, 2) for edge in edges]), (1.0, 1.0)]


def splink_table(pairs: pa.Table, sources: int, names: tuple[str, str]) -> pa.Table:
    """Return pairs as Splink takes them: ``join_key_l``, ``join_key_r`` and ``match_key``.

    Args:
        pairs: ``id_a`` and ``id_b``.
        sources: 1 for ids as they are; 2 for ``NAME-__-ID``.
        names: Names of the two tables in Splink.

    Raises:
        SpecError: Names are equal, or no strings.
    """
    if len(names) != 2 or not all(isinstance(n, str) and n for n in names) or len({*names}) < 2:
        raise SpecError(f"`names` is {names!r}; expected two different names of tables")
    keys = []
    for column, name in zip(("id_a", "id_b"), names, strict=True):
        ids: Any = pairs.column(column)
        if sources > 1:
            prefix, none = string_scalar(name + _SEPARATOR), string_scalar("")
            joined: Any = pc.binary_join_element_wise
            ids = joined(prefix, ids.cast(pa.large_string()), none)
        keys.append(ids)
    rule = strings_of([b"0"]).take(array_of(np.zeros(pairs.num_rows, np.int32)))
    return pa.Table.from_arrays([*keys, rule], ["join_key_l", "join_key_r", "match_key"])


def pandas_index(pairs: pa.Table) -> pandas.MultiIndex:
    """Return pairs as recordlinkage takes them: an index of ids.

    Raises:
        DependencyError: pandas is not installed.
    """
    try:
        import pandas
    except ImportError as error:
        raise DependencyError("an index of pairs needs pandas", "pip install pandas") from error
    columns = [pairs.column(name).to_pandas() for name in ("id_a", "id_b")]
    return pandas.MultiIndex.from_arrays(columns, names=["id_a", "id_b"])


def _present(by_field: np.ndarray, names: list[str]) -> Any:
    """Return the names of the fields that both records have, joined by commas, as a dictionary."""
    there = ~np.isnan(by_field)
    which = np.zeros(len(there), np.int64)
    for column in np.packbits(there, axis=1).T:
        # The numbers of the combinations so far stay small.
        which = which * 256 + column
        which = (np.cumsum(np.bincount(which) > 0) - 1)[which]
    example = np.zeros(int(which.max(initial=-1)) + 1, np.int64)
    example[which] = np.arange(len(which))
    spelled = [
        ",".join(name for name, is_there in zip(names, row, strict=True) if is_there).encode()
        for row in there[example]
    ]
    indices = array_of(which.astype(np.int32))
    # As a folder of Parquet gives them again.
    return pa.DictionaryArray.from_arrays(indices, strings_of(spelled).cast(pa.string()))


def _named(records: Records) -> tuple[Any, Any]:
    """Return the letters of the file of each record, and its id."""
    names = strings_of([name.encode() for name in letters(len(records.sizes))])
    kind = _common([part.type for part in records.ids])
    ids = pa.concat_arrays([part.cast(kind) for part in records.ids])
    return names.take(array_of(records.file)), ids


def _common(types: list[pa.DataType]) -> pa.DataType:
    """Return the type of the ids of all sources; strings where they differ."""
    return types[0] if all(kind == types[0] for kind in types) else pa.large_string()


#: What makes the tables of a linkage.
MADE: dict[str, Callable[[Linked], pa.Table]] = {
    "pairs": lambda linked: scored_table(linked, linked.pairs),
    "candidates": lambda linked: scored_table(linked, slice(None)),
    "clusters": cluster_table,
    "weights": weight_table,
    "pairs_with_records": lambda linked: pairs_with_records(ScoredRecords.of(linked)),
}
#: Columns more that a folder has of the candidates, by which it is opened.
STORED = ("row_a", "row_b", "match", "block_similarity", "marked")
