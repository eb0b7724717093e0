"""The complete linkage: records to candidates, similarities, pairs and clusters."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from neardup.cluster.edges import Edges
from neardup.cluster.methods import lowest
from neardup.errors import InputError, SpecError
from neardup.files.scratch import Scratch
from neardup.linkage.blocks.field_blocks import BlockSettings, add_field_blocks
from neardup.linkage.blocks.large_groups import MOST_EQUAL, find_copies, large_values, without
from neardup.linkage.blocks.record_blocks import (
    Block,
    Candidates,
    add_copies,
    block_at,
    check_hashes,
    find_candidates,
    hashed_sets,
)
from neardup.linkage.columns.presets import agreeing
from neardup.linkage.deciding import MatchDecision, decide_candidates, differ
from neardup.linkage.decision.clusters import Scored, cluster_records, matches
from neardup.linkage.decision.labels import Labels
from neardup.linkage.decision.weights.frequencies import row_hashes
from neardup.linkage.features import RECORD, Features, make_features
from neardup.linkage.field_notes import (
    constant_fields,
    decision_notes,
    empty_notes,
    field_notes,
)
from neardup.linkage.field_similarity import compare
from neardup.linkage.fields import LinkSpec
from neardup.linkage.merging.merge_spec import MergeSpec
from neardup.linkage.placeholders import find_placeholders, without_placeholders
from neardup.linkage.record_files import Records, RecordSource, read_records
from neardup.linkage.two_kinds import two_kinds
from neardup.match.verifying import similarities
from neardup.memory_plan import plan_records
from neardup.sketch.bands import Bands, candidate_probability
from neardup.spec import ShingleSpec
from neardup.state.run_state import RunState
from neardup.threads import Pool

#: Files that are named in a message on all of them.
_NAMED = 3


class Against(NamedTuple):
    """The index that new records were linked against.

    Attributes:
        records: Records that it had.
        fetched: Those of them that come first, as they may be candidates.
    """

    records: int
    fetched: int


class Hashing(NamedTuple):
    """How candidates by complete records are found.

    Attributes:
        shingle: How the values of a record become its shingles.
        bands: Bands and rows; chosen without them.
    """

    shingle: ShingleSpec = RECORD
    bands: tuple[int, int] | None = None


HASHING = Hashing()


@dataclass(frozen=True)
class Blocked:
    """Records with their candidates.

    Attributes:
        records: The records.
        spec: Settings of the call.
        features: Sets, hashes and numbers that are compared.
        candidates: Pairs that are worth a comparison.
        notes: Remarks on the records, a sentence each.
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
    """Matches and clusters.

    Attributes:
        blocked: Records and candidates.
        decision: How likely the candidates are matches.
        pairs: int64[]: the candidates that are one record, ascending.
        clusters: int64[records]: the number of each one's cluster: that of its lowest record.
        sizes: int64[records]: records of that cluster.
        notes: Remarks on the decision, a sentence each.
        merge: How the records of a cluster become one; None where they do not.
    """

    blocked: Blocked
    decision: MatchDecision
    pairs: np.ndarray
    clusters: np.ndarray
    sizes: np.ndarray
    notes: tuple[str, ...]
    merge: MergeSpec | None = None

    @property
    def can_merge(self) -> bool:
        """Whether the inputs have all records of the clusters, and can be read again."""
        is_complete = bool(self.blocked.records.opened) and self.blocked.against is None
        return is_complete and self.merge is not None


def opened(
    given: RecordSource, spec: LinkSpec, state: RunState | None = None
) -> tuple[RecordSource, LinkSpec]:
    """Open files, and return them with the settings: of a preset the fields that any of them has.

    Raises:
        ColumnError: A file has no column for a field.
        InputError: It can't be used; its subclasses say why.
    """
    given = given.open(spec.fields, state, spec.preset is not None)
    there = [k for k in range(len(spec.fields)) if any(columns[k] for columns in given.columns)]
    if not there:
        return given, spec
    fields = tuple(spec.fields[k] for k in there)
    columns = tuple(tuple(of_file[k] for k in there) for of_file in given.columns)
    agree = dict.fromkeys((*spec.must_agree, *agreeing(spec.preset, fields)))
    return given._replace(columns=columns), replace(spec, fields=fields, must_agree=tuple(agree))


def block(
    given: RecordSource,
    spec: LinkSpec,
    pool: Pool,
    memory: int | None = None,
    hashing: Hashing = HASHING,
) -> Blocked:
    """Read records and find the candidates.

    Raises:
        InputError: The records can't be used; its subclasses say why.
        SpecError: ``memory``, bytes, does not suffice for them.
    """
    return block_records(read(given, spec, pool, memory), spec, pool, hashing)


def read(given: RecordSource, spec: LinkSpec, pool: Pool, memory: int | None) -> Records:
    """Read records; arrays of their candidates have the memory then.

    Raises:
        InputError: The records can't be used; its subclasses say why.
        SpecError: ``memory``, bytes, does not suffice for them.
    """
    check = functools.partial(plan_records, threads=pool.threads, memory=memory)
    records = read_records(given, spec, pool, check)
    use_memory(records, pool, memory)
    return records


def use_memory(records: Records, pool: Pool, memory: int | None) -> None:
    """Have arrays of candidates that do not fit into memory made in files.

    Raises:
        SpecError: ``memory``, bytes, does not suffice for the records.
    """
    size = sum(column.nbytes for column in records.columns)
    pool.empty = Scratch(plan_records(len(records), size, pool.threads, memory)).empty


def block_records(
    records: Records, spec: LinkSpec, pool: Pool, hashing: Hashing = HASHING
) -> Blocked:
    """Find the candidates among records.

    Raises:
        InputError: They do not differ.
    """
    spec = spec.for_records(len(records))
    if hashing.bands is None:
        check_hashes(spec)
    features = make_features(records.columns, spec, pool, hashing.shingle)
    _check(records, features)
    notes = tuple(constant_fields(records, features, spec))
    if len(spec.fields) > 1 and (found := find_placeholders(features)):
        records, missing = without_placeholders(records, features, found, spec)
        features = make_features(records.columns, spec, pool, hashing.shingle)
        notes += missing
    candidates = candidates_of(records, features, spec, pool, hashing.bands)
    before = (*records.notes, *empty_notes(records))
    notes = (*before, *block_notes(records, features, candidates, spec), *notes)
    return Blocked(records, spec, features, candidates, notes)


def candidates_of(
    records: Records,
    features: Features,
    spec: LinkSpec,
    pool: Pool,
    given: tuple[int, int] | None = None,
) -> Candidates:
    """Return the candidates among records: by complete ones, by single fields, by two of them."""
    apart = records.apart
    copies = find_copies(features, apart)
    others = without(features, copies)
    bands = None
    if given is not None:
        bands = Bands(*given, candidate_probability(block_at(spec), *given))
    found = find_candidates(others, spec, apart, pool, bands)
    found = add_field_blocks(found, others, records.columns, BlockSettings(spec, apart), pool)
    return add_copies(found, copies, pool)


def block_notes(
    records: Records, features: Features, candidates: Candidates, spec: LinkSpec
) -> tuple[str, ...]:
    """Return the notes on records and their candidates."""
    notes = list(field_notes(records, features, spec))
    without = int((features.records.size == 0).sum())
    if without:
        notes.append(f"{without:,} of {len(records):,} records have no value in any field")
    if candidates.only_common:
        notes.append(
            f"{candidates.only_common:,} of {len(records):,} records have no shingle that is rare "
            "enough to be hashed by itself; they are candidates of one another only"
        )
    notes += _large_notes(records, features, candidates, spec)
    return tuple(notes)


def _large_notes(
    records: Records, features: Features, candidates: Candidates, spec: LinkSpec
) -> Iterator[str]:
    """Yield the notes on groups that are so large that some of their pairs are left out."""
    copies = candidates.copies
    if copies.number:
        largest = MOST_EQUAL + int(np.bincount(copies.of[copies.are]).max())
        yield (
            f"{copies.number:,} of {len(records):,} records come after {MOST_EQUAL} that equal "
            "them in all fields; each is compared with one of these only, and joins the cluster of "
            f"the first; the largest group has {largest:,} records"
        )
    not_compared = candidates.not_compared - copies.left_out
    if not_compared:
        yield (
            f"{not_compared:,} pairs in oversized buckets were not compared; a higher "
            "`block_at` or one more field makes buckets smaller"
        )
    if candidates.left_out:
        yield (
            f"{candidates.left_out:,} candidates were left out, as there are too many: each record "
            f"keeps the {candidates.each:,} most similar ones, and those that keep it; a higher "
            "`block_at` or one more field makes fewer"
        )
    if not_compared or candidates.left_out:
        large = [f"{count:,} records in {spec.names[k]}" for k, count in large_values(features)]
        if large:
            yield f"the largest groups that share a value: {', '.join(large)}"


def decide(blocked: Blocked, pool: Pool, labels: Labels | None = None) -> Linked:
    """Learn how likely the candidates are matches, and group the records that are one."""
    if labels is not None:
        blocked = replace(blocked, candidates=with_labels(blocked, labels, pool))
    decision = decide_candidates(
        blocked.records, blocked.features, blocked.spec, blocked.candidates, labels, pool
    )
    with pool.stage("cluster"):
        return grouped(blocked, decision)


def with_labels(blocked: Blocked, labels: Labels, pool: Pool) -> Candidates:
    """Return the candidates with all pairs that are known."""
    found, features = blocked.candidates, blocked.features
    new = labels.rows(found) < 0
    if not new.any():
        return found
    a, b = labels.a[new].astype(np.int32), labels.b[new].astype(np.int32)
    hashed = hashed_sets(features.records, np.arange(len(features.hashes)), found.common)
    similarity = np.maximum(similarities(hashed, a, b, 0.0, pool), 0.0)
    parts = [(found.a, found.b, found.similarity), (a, b, similarity)]
    edges = Edges.gather(parts, pool.empty)
    return replace(
        found,
        a=edges.a,
        b=edges.b,
        similarity=edges.similarity,
        blocks=(*found.blocks, Block("labels", len(labels.a), int(new.sum()))),
    )


def decide_again(linked: Linked, decide_at: float) -> Linked:
    """Return the same from another score on.

    Raises:
        SpecError: Records are in clusters of an index, which has one.
    """
    blocked = linked.blocked
    if blocked.against is not None:
        raise SpecError(
            "clusters of an index have one `decide_at`", "make an index with another one"
        )
    spec = replace(blocked.spec, decide_at=decide_at)
    return replace(grouped(replace(blocked, spec=spec), linked.decision), merge=linked.merge)


def grouped(blocked: Blocked, decision: MatchDecision) -> Linked:
    """Group the records that are one by a decision."""
    spec, candidates = blocked.spec, blocked.candidates
    scored = Scored(candidates.a, candidates.b, decision.margin(spec.decide_at))
    pairs = matches(scored, blocked.records.file if spec.one_to_one else None)
    labels = _clusters(blocked, scored, pairs)
    notes = blocked.notes + decision_notes(blocked.records, spec, candidates, decision, pairs)
    notes += tuple(two_kinds(blocked.records, spec.names, decision, pairs))
    sizes = np.bincount(labels)[labels]
    return Linked(blocked, decision, pairs, labels.astype(np.int64), sizes, notes)


def _clusters(blocked: Blocked, scored: Scored, pairs: np.ndarray) -> np.ndarray:
    """Return int64[records]: clusters in which no two records differ that must agree."""
    if blocked.spec.one_to_one:  # no others merge clusters
        rows = scored.margin < 0
        rows[pairs] = True
        scored = scored.take(np.flatnonzero(rows))
    labels = _clusters_of(blocked, scored)
    while len(apart := _differing(blocked, labels, scored)):
        a, b = apart.T
        more = Scored(a, b, np.full(len(a), -np.inf))
        scored = Scored(*(np.concatenate(parts) for parts in zip(scored, more, strict=True)))
        labels = _clusters_of(blocked, scored)
    return labels


def _clusters_of(blocked: Blocked, scored: Scored) -> np.ndarray:
    ranks = np.unique(row_hashes(blocked.features), return_inverse=True)[1].reshape(-1)
    copies = blocked.candidates.copies
    if not copies.number or blocked.spec.one_to_one:
        return cluster_records(scored, ranks, blocked.spec.cluster)
    known = np.isinf(scored.margin)
    are = copies.are
    are[scored.a[known]] = are[scored.b[known]] = False
    of_copies = are[scored.a] | are[scored.b]
    labels = cluster_records(scored.take(np.flatnonzero(~of_copies)), ranks, blocked.spec.cluster)
    # A record that is one with an equal one is so with the first of them.
    one = np.flatnonzero(of_copies & (scored.margin >= 0))
    docs = np.unique(np.concatenate([scored.a[one], scored.b[one]]))
    docs = docs[are[docs]]
    labels[docs] = labels[copies.of[docs]]
    return lowest(labels)


def _differing(blocked: Blocked, labels: np.ndarray, scored: Scored) -> np.ndarray:
    """Return int32[pairs, 2]: records of one cluster that differ where they must agree.

    They are no candidates, and one of each value in a cluster is enough.
    """
    features, spec, found = blocked.features, blocked.spec, set[tuple[int, int]]()
    docs = np.flatnonzero((np.bincount(labels)[labels] > 2) & ~blocked.candidates.copies.are)
    for k, _ in spec.agreeing():
        there = docs[features.hashes[docs, k] != 0]
        values = np.column_stack([labels[there].astype(np.uint64), features.hashes[there, k]])
        first = there[np.unique(values, axis=0, return_index=True)[1]]
        for _, rows in itertools.groupby(first.tolist(), lambda doc: int(labels[doc])):
            found.update(itertools.combinations(sorted(rows), 2))
    found -= {*zip(scored.a.tolist(), scored.b.tolist(), strict=True)} if found else set()
    pairs = np.array(sorted(found), np.int32).reshape(-1, 2)
    if not len(pairs):
        return pairs
    with Pool(1) as pool:
        compared = compare(features, spec, pairs[:, 0], pairs[:, 1], pool)
    return np.asarray(pairs[differ(spec, compared)])


def _check(records: Records, features: Features) -> None:
    """Refuse records that do not differ."""
    named = records.names[:_NAMED]
    name = " and ".join([*named, *(["others"] if len(named) < len(records.names) else [])])
    if len(records) and not features.present.any():
        raise InputError(f"{name}: no record has a value in any field", "name other fields")
    if (features.distinct <= 1).all() and len(records) > 2 and features.present.all():
        raise InputError(
            f"{name}: all {len(records):,} records are alike in the fields that are compared",
            "name fields in which records differ",
        )
