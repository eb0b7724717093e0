"""A linkage that was saved: tables and values are read, features computed from these."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from neardup.arrays import numbers
from neardup.errors import FormatError, InputError, SpecError
from neardup.files.scratch import Scratch
from neardup.frame.storage import Storage
from neardup.io.source import Skipped
from neardup.linkage.blocks.large_groups import find_copies
from neardup.linkage.blocks.record_blocks import Block, Candidates, common_of
from neardup.linkage.deciding import MatchDecision, agreements_of, counts_of
from neardup.linkage.decision.labels import Labels
from neardup.linkage.decision.threshold import Threshold
from neardup.linkage.decision.weights.model import Model
from neardup.linkage.features import make_features
from neardup.linkage.field_similarity import Pairs, compared_of
from neardup.linkage.fields import LinkSpec
from neardup.linkage.link_steps import Blocked, Linked
from neardup.linkage.merging.merge_spec import MergeSpec
from neardup.linkage.outputs.link_tables import ScoredRecords
from neardup.linkage.record_files import Records
from neardup.memory_plan import available_memory
from neardup.sketch.bands import Bands
from neardup.threads import Pool


def open_links(storage: Storage) -> Linked:
    """Compute the features and agreements of a linkage from its tables.

    Raises:
        InputError: They are damaged, or gone.
        SpecError: The linkage was against an index.
    """
    if storage.record["counts"]["against"] is not None:
        raise SpecError(
            f"{storage.name} is a linkage against an index, which has the other records",
            "neardup explain, evaluate and index relink work on the index; the folder has the "
            "clusters and pairs of the records that were given",
        )
    with _damage(storage):
        return _linked(storage)


def open_scored(storage: Storage) -> ScoredRecords:
    """Return records and scores of a linkage, which may be against an index.

    Raises:
        InputError: Its tables are damaged, or gone.
    """
    with _damage(storage), Pool(1, empty=Scratch(available_memory(None)).empty) as pool:
        spec = LinkSpec.from_dict(storage.record["spec"])
        found = _stored(storage, storage.record["counts"]["candidates"], spec, pool)
        records, pairs = _records(storage, spec), np.flatnonzero(found.match)
        return ScoredRecords(records, spec.names, found.a, found.b, found.log_odds, pairs)


@contextmanager
def _damage(storage: Storage) -> Iterator[None]:
    """Raise FormatError where tables of a folder do not fit."""
    try:
        yield
    except InputError:
        raise
    except (ValueError, KeyError, IndexError, TypeError, pa.ArrowException) as error:
        raise FormatError(f"{storage.name} is damaged", storage.again) from error


def _linked(storage: Storage) -> Linked:
    record = storage.record
    spec = LinkSpec.from_dict(record["spec"])
    records = _records(storage, spec)
    counts = record["counts"]
    with Pool(empty=Scratch(available_memory(None)).empty) as pool:
        features = make_features(records.columns, spec, pool)
        copies = find_copies(features, records.apart)
        values = counts_of(features, copies, pool)
        stored = _stored(storage, counts["candidates"], spec, pool)
        compared = compared_of(
            features, stored.similarity, stored.by_field, Pairs(stored.a, stored.b, pool)
        )
    candidates = Candidates(
        stored.a,
        stored.b,
        stored.block_similarity,
        Bands(counts["bands"], counts["rows"], counts["recall"]),
        counts["compared"],
        counts["not_compared"],
        common_of(features),
        0,
        counts["possible"],
        tuple(Block(**{**block, "fields": tuple(block["fields"])}) for block in counts["blocks"]),
        counts["left_out"],
        counts["each"],
        copies,
    )
    about = record["threshold"]
    threshold = Threshold(
        about["value"],
        about["kind"],
        about["bottom"],
        None if about["modes"] is None else tuple(about["modes"]),
        np.array(about["histogram"]),
    )
    agreements = agreements_of(candidates, compared, records.apart, pool)
    decision = MatchDecision(
        compared,
        agreements,
        values,
        Model.from_dict(record["model"]),
        threshold,
        stored.log_odds,
        labels=stored.labels,
    )
    clusters = storage.table("clusters")
    labels, sizes = (numbers(clusters.column(c).combine_chunks()) for c in ("cluster", "size"))
    notes = tuple(record["notes"])
    blocked = Blocked(records, spec, features, candidates, notes)
    merge = None if record["merge"] is None else MergeSpec.from_dict(record["merge"])
    return Linked(blocked, decision, np.flatnonzero(stored.match), labels, sizes, notes, merge)


class _Stored(NamedTuple):
    """Columns of the table of candidates."""

    a: np.ndarray
    b: np.ndarray
    block_similarity: np.ndarray
    similarity: np.ndarray
    log_odds: np.ndarray
    match: np.ndarray
    marked: np.ndarray
    by_field: np.ndarray

    @property
    def labels(self) -> Labels | None:
        """Pairs that are marked; None without any."""
        rows = np.flatnonzero(self.marked)
        if not len(rows):
            return None
        a, b = (column[rows].astype(np.int64) for column in (self.a, self.b))
        return Labels(a, b, self.marked[rows] > 0)


def _stored(storage: Storage, rows: int, spec: LinkSpec, pool: Pool) -> _Stored:
    """Read the candidates, some at a time."""
    names = ["row_a", "row_b", "block_similarity", "similarity", "log_odds", "match", "marked"]
    dtypes = [np.int32, np.int32, np.float64, np.float64, np.float64, np.bool_, np.int8]
    columns: list[np.ndarray] = [pool.empty(rows, dtype) for dtype in dtypes]
    by_field = pool.empty((rows, len(spec.names)), np.float32)
    of_fields, end = [f"similarity_{name}" for name in spec.names], 0
    for table in storage.batches("candidates", [*names, *of_fields]):
        part = slice(end, end + table.num_rows)
        for column, name in zip(columns, names, strict=True):
            column[part] = numbers(table.column(name))
        for k, name in enumerate(of_fields):
            by_field[part, k] = _similarities(table.column(name))
        end += table.num_rows
    if end != rows:
        raise FormatError(f"{storage.name} is damaged", storage.again)
    columns.append(by_field)
    return _Stored(*columns)


def _records(storage: Storage, spec: LinkSpec) -> Records:
    table, record = storage.table("records"), storage.record
    sizes = tuple(record["sizes"])
    ids: Any = table.column("id").combine_chunks()
    types = [pa.type_for_alias(kind) for kind in record["id_types"]]
    parts = (ids.slice(0, sizes[0]), ids.slice(sizes[0])) if len(types) > 1 else (ids,)
    columns: Any = tuple(
        table.column(f"value_{name}").cast(pa.large_string()).combine_chunks()
        for name in spec.names
    )
    ids_of = tuple(part.cast(kind) for part, kind in zip(parts, types, strict=True))
    return Records(
        tuple(record["names"]),
        ids_of,
        columns,
        sizes,
        len(sizes) > 1 and bool(spec.across_files_only),
        record["id"],
        private_ids=bool(record.get("private_ids")),
        skipped=Skipped(*(record["counts"][name] for name in ("skipped", "skipped_bad"))),
        placeholders=tuple((field, int(value)) for field, value in record["placeholders"]),
        read=tuple(map(tuple, record["columns"])),
    )


def _similarities(column: Any) -> np.ndarray:
    return np.asarray(column.to_numpy(zero_copy_only=False), np.float64)
