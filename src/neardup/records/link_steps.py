"""The complete linkage: records to candidates, similarities, pairs and clusters."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from neardup.cluster.edges import Edges
from neardup.errors import InputError, SpecError
from neardup.memory_plan import require_for_records
from neardup.records.blocking import Candidates, check_hashes, find_candidates
from neardup.records.deciding import cluster_records, matches
from neardup.records.features import Features, make_features
from neardup.records.field_notes import field_notes
from neardup.records.field_similarity import Compared, compare
from neardup.records.fields import LinkSpec
from neardup.records.record_files import Records, Source, read_records
from neardup.records.threshold import Threshold, find_valley, given_threshold
from neardup.threads import Pool

#: No valley is looked for below, where candidates are incomplete.
_LOWEST = 0.3


class Against(NamedTuple):
    """The index that new records were linked against.

    Attributes:
        records: Records that it had.
        fetched: Those of them that come first, as they may be candidates.
    """

    records: int
    fetched: int


@dataclass(frozen=True)
class Blocked:
    """Records with their candidates.

    Attributes:
        records: The records.
        spec: What was asked for.
        features: What is compared.
        candidates: Pairs that are worth a comparison.
        notes: What a person should know, a sentence each.
        against: The index that the last records are new to, if any.
    """

    records: Records
    spec: LinkSpec
    features: Features
    candidates: Candidates
    notes: tuple[str, ...]
    against: Against | None = None

    @property
    def new(self) -> int:
        """Number of the first record that was given."""
        return self.against.fetched if self.against else 0


@dataclass(frozen=True)
class Linked:
    """What was decided.

    Attributes:
        blocked: Records and candidates.
        compared: Similarities of the candidates.
        threshold: From which similarity on two records are one.
        pairs: int64[]: the candidates that are one record, ascending.
        clusters: int64[records]: the number of each one's cluster: that of its lowest record.
        sizes: int64[records]: records of that cluster.
        notes: What a person should know, a sentence each.
    """

    blocked: Blocked
    compared: Compared
    threshold: Threshold
    pairs: np.ndarray
    clusters: np.ndarray
    sizes: np.ndarray
    notes: tuple[str, ...]


def block(given: Source, spec: LinkSpec, pool: Pool, memory: int | None = None) -> Blocked:
    """Read records and find the candidates.

    Raises:
        InputError: The records can't be used; its subclasses say why.
        SpecError: ``memory``, bytes, does not suffice for them.
    """
    records = read_records(given, spec)
    size = sum(column.nbytes for column in records.columns)
    require_for_records(len(records), size, pool.threads, memory)
    spec = spec.for_records(len(records))
    check_hashes(spec)
    features = make_features(records.columns, spec, pool)
    _check(records, features)
    candidates = find_candidates(features, spec, records.first, pool)
    notes = block_notes(records, features, candidates, spec)
    return Blocked(records, spec, features, candidates, notes)


def block_notes(
    records: Records, features: Features, candidates: Candidates, spec: LinkSpec
) -> tuple[str, ...]:
    """Return what a person should know of records and their candidates."""
    notes = list(field_notes(records, features, spec))
    without = int((features.records.size == 0).sum())
    if without:
        notes.append(f"{without:,} of {len(records):,} records have no value in any field")
    if candidates.only_common:
        notes.append(
            f"{candidates.only_common:,} of {len(records):,} records have no shingle that is rare "
            "enough to be hashed by itself; they are candidates of one another only"
        )
    if candidates.not_compared:
        notes.append(
            f"{candidates.not_compared:,} pairs in oversized buckets were not compared; a higher "
            "`block_at` or one more field makes buckets smaller"
        )
    return tuple(notes)


def decide(blocked: Blocked, pool: Pool) -> Linked:
    """Compare the candidates, choose the threshold, and group the records that are one."""
    spec, candidates = blocked.spec, blocked.candidates
    compared = compare(blocked.features, spec, candidates.a, candidates.b, pool)
    if spec.decide_at is not None:
        threshold = given_threshold(spec.decide_at, compared.similarity)
    else:
        threshold = find_valley(compared.similarity, min(_LOWEST, spec.block_at or _LOWEST))
    return _grouped(blocked, compared, threshold)


def decide_again(linked: Linked, decide_at: float) -> Linked:
    """Return the same with another threshold.

    Raises:
        SpecError: Records are in clusters of an index, which has one threshold.
    """
    blocked = linked.blocked
    if blocked.against is not None:
        raise SpecError(
            "clusters of an index have one threshold", "make an index with another `decide_at`"
        )
    spec = replace(blocked.spec, decide_at=decide_at)
    threshold = given_threshold(decide_at, linked.compared.similarity)
    return _grouped(replace(blocked, spec=spec), linked.compared, threshold)


def _grouped(blocked: Blocked, compared: Compared, threshold: Threshold) -> Linked:
    spec, candidates, similarity = blocked.spec, blocked.candidates, compared.similarity
    pairs = matches(candidates.a, candidates.b, similarity, threshold.value, spec.one_to_one)
    edges = matched(candidates, compared, pairs)
    labels = cluster_records(edges, len(blocked.records), spec.cluster)
    notes = blocked.notes + _about(threshold)
    sizes = np.bincount(labels)[labels]
    return Linked(blocked, compared, threshold, pairs, labels.astype(np.int64), sizes, notes)


def matched(found: Candidates, compared: Compared, pairs: np.ndarray) -> Edges:
    """Return candidates that are one record as edges."""
    return Edges(found.a[pairs], found.b[pairs], compared.similarity[pairs])


def _about(threshold: Threshold) -> tuple[str, ...]:
    if threshold.kind == "shoulder":
        return (
            f"the histogram of similarities has no valley; {threshold.value:g} is where it bends: "
            "look at the pairs around it, and give `decide_at`",
        )
    if threshold.kind == "default":
        return (
            f"the candidates have no histogram with two modes; {threshold.value:g} is a guess: "
            "look at the pairs around it, and give `decide_at`",
        )
    return ()


def _check(records: Records, features: Features) -> None:
    """Refuse records that do not differ."""
    name = " and ".join(records.names)
    if not features.present.any():
        raise InputError(f"{name}: no record has a value in any field", "name other fields")
    if (features.distinct <= 1).all() and len(records) > 2 and features.present.all():
        raise InputError(
            f"{name}: all {len(records):,} records are alike in the fields that are compared",
            "name fields in which records differ",
        )
