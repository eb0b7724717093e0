"""Candidates by one field, or by two, which the shingles of complete records do not find.

Two records of a product may have nothing in common but a rare word of the name. Candidates of one
field are found as those of records are, among its distinct values. A field whose blocks would have
more than a few candidates per record is left out; it is counted before any pair is made. Of the
fields that are left out, pairs of fields may do, by equal values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import combinations
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from neardup.arrays import array_of
from neardup.cluster.edges import Edges
from neardup.linkage.blocks.groups import equal_pairs_of, group_values
from neardup.linkage.blocks.record_blocks import (
    Block,
    Candidates,
    Most,
    common_of,
    find_at_most,
    find_candidates,
    hashed_sets,
)
from neardup.linkage.decision.weights.frequencies import both
from neardup.linkage.features import Features, make_features
from neardup.linkage.fields import Field, LinkSpec
from neardup.match.verifying import similarities
from neardup.threads import Pool

#: Candidates per record that blocks of one field may have, and those of all pairs of fields.
MOST = 5
#: Similarity of two values of a field at which the recall is stated.
_ALIKE = 0.5
#: Fields of which pairs are tried: those with the fewest pairs of equal values.
_PAIRED = 8
#: Values of a field that are drawn to estimate the number of its pairs: a share of them, at least
#: and at most so many; and how many times too many that number has to be.
_DRAWN_SHARE, _DRAWN_LEAST, _DRAWN_MOST, _FAR = 8, 1000, 20_000, 4
#: Fields whose pairs are made before they are looked at.
_AHEAD = 2
#: For fields that are known to be asked for.
_NO_LIMIT = 2**62


class BlockSettings(NamedTuple):
    """Settings of the blocks of fields.

    Attributes:
        spec: Settings of the call.
        apart: int32[records]: file of each, where pairs are across files only; None for all pairs.
        known: Numbers of the fields of the blocks that are wanted; chosen without it.
    """

    spec: LinkSpec
    apart: np.ndarray | None
    known: tuple[tuple[int, ...], ...] = ()

    def wants(self, fields: tuple[int, ...]) -> bool:
        """Return whether blocks of these fields may be made."""
        return not self.known or fields in self.known


def add_field_blocks(
    found: Candidates,
    features: Features,
    columns: tuple[pa.LargeStringArray, ...],
    asked: BlockSettings,
    pool: Pool,
) -> Candidates:
    """Add the candidates of single fields and of pairs of fields to those of complete records.

    Args:
        found: Candidates of complete records.
        features: Of the records.
        columns: Values of each field.
        asked: Settings.
        pool: Threads.
    """
    if len(asked.spec.fields) < 2:
        return found
    records = len(features.hashes)
    keys = pool.filled(
        lambda low, high: found.a[low:high].astype(np.int64) * records + found.b[low:high],
        len(found.a),
        np.int64,
    )
    blocks, new = list(found.blocks), list[np.ndarray]()
    with pool.stage("find candidates by field", len(_blocked(asked)), "fields") as advance:
        for fields, pairs in _of_fields(features, columns, asked, pool, advance):
            added = pairs
            for known in (keys, *new):
                added = added[~_among(added, known)]
            name = " + ".join(asked.spec.fields[k].name for k in fields)
            blocks.append(Block(name, len(pairs), len(added), fields))
            new.append(added)
        if not sum(map(len, new)):
            return replace(found, blocks=tuple(blocks))
        more = np.concatenate(new)
        a, b = (more // records).astype(np.int32), (more % records).astype(np.int32)
        hashed = hashed_sets(features.records, np.arange(records), common_of(features))
        similarity = np.maximum(similarities(hashed, a, b, 0.0, pool), 0.0)
        parts = [(found.a, found.b, found.similarity), (a, b, similarity)]
        edges = Edges.gather(parts, pool.empty)
    return replace(found, a=edges.a, b=edges.b, similarity=edges.similarity, blocks=tuple(blocks))


def _blocked(asked: BlockSettings) -> list[int]:
    """Return the numbers of the fields that have blocks of their own."""
    fields = enumerate(asked.spec.fields)
    return [k for k, field in fields if field.compare != "numeric" and asked.wants((k,))]


def _of_fields(
    features: Features,
    columns: tuple[pa.LargeStringArray, ...],
    asked: BlockSettings,
    pool: Pool,
    advance: Callable[[int], None],
) -> Iterator[tuple[tuple[int, ...], np.ndarray]]:
    """Yield numbers of fields and their pairs, ``a * records + b``, ascending; fewest first."""
    most = MOST * len(features.hashes)
    single, common, every = [], [], _blocked(asked)
    grouped = pool.ordered(
        lambda k: group_values(features.hashes[:, k], asked.apart), every, _AHEAD
    )
    for k, groups in zip(every, grouped, strict=True):
        field = asked.spec.fields[k]
        equal, found = groups.equal_pairs(), None
        left = _NO_LIMIT if asked.known else most - equal
        if left >= 0:
            few = Most(left, groups.pairs_between)
            found = _similar(groups.example, columns[k], of_one_field(field, asked.spec), few, pool)
        if found is None:
            common.append((equal, k))
        else:
            count = equal + groups.pairs_between(*found)
            single.append((count, k, groups.with_similar(*found)))
        advance(1)
    for _, k, groups in sorted(single, key=lambda one: one[:2]):
        yield (k,), groups.make_pairs()
    tried: list[tuple[int, ...]] = [fields for fields in asked.known if len(fields) == 2]
    if not asked.known:
        tried = [*combinations(sorted(k for _, k in sorted(common)[:_PAIRED]), 2)]
    yield from _of_two_fields(features, asked, tried, pool)


def _of_two_fields(
    features: Features, asked: BlockSettings, tried: list[tuple[int, ...]], pool: Pool
) -> Iterator[tuple[tuple[int, ...], np.ndarray]]:
    left = MOST * len(features.hashes)

    def hashes_of(fields: tuple[int, ...]) -> np.ndarray:
        one, two = (features.hashes[:, k] for k in fields)
        return both(one, two)

    def count(first: int, last: int) -> list[int]:
        return [equal_pairs_of(hashes_of(fields), asked.apart) for fields in tried[first:last]]

    counts = [of for part in pool.ranges(count, len(tried), 1) for of in part]
    few = []
    for pairs, fields in sorted(zip(counts, tried, strict=True)):
        left -= pairs
        if left < 0 and not asked.known:
            break
        few.append(fields)
    made = pool.ordered(
        lambda fields: group_values(hashes_of(fields), asked.apart).make_pairs(), few, _AHEAD
    )
    yield from zip(few, made, strict=True)


def _similar(
    example: np.ndarray, column: pa.LargeStringArray, spec: LinkSpec, most: Most, pool: Pool
) -> tuple[np.ndarray, np.ndarray] | None:
    """Return the pairs of distinct values that are candidates, int64 twice; None for too many.

    Args:
        example: int64[values]: a record of each.
        column: Values of all records.
        spec: How the values of the field are blocked.
        most: How many pairs of records there may be.
        pool: Threads.
    """
    if spec.fields[0].compare == "exact" or len(example) < 2:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    if _too_many(example, column, spec, most, pool):
        return None
    features = make_features((column.take(array_of(example)),), spec, pool)
    found = find_at_most(features, spec, most, pool)
    return None if found is None else (found.a.astype(np.int64), found.b.astype(np.int64))


def _too_many(
    example: np.ndarray, column: pa.LargeStringArray, spec: LinkSpec, most: Most, pool: Pool
) -> bool:
    """Return whether some of the values show that there are far too many pairs; see `_similar`.

    Values are in the order of their hashes, so the first ones are drawn at random.
    """
    drawn = min(max(len(example) // _DRAWN_SHARE, _DRAWN_LEAST), _DRAWN_MOST)
    if drawn > len(example) // 2:
        return False
    features = make_features((column.take(array_of(example[:drawn])),), spec, pool)
    found = find_candidates(features, spec, None, pool)
    alike = found.similarity >= _ALIKE
    expected = most.of(found.a[alike], found.b[alike]) * (len(example) / drawn) ** 2
    return expected > _FAR * most.pairs


def _among(numbers: np.ndarray, keys: np.ndarray) -> np.ndarray:
    """Return bool[]: which of some numbers are among others; both are ascending."""
    if not len(keys):
        return np.zeros(len(numbers), np.bool_)
    return np.asarray(keys[np.minimum(np.searchsorted(keys, numbers), len(keys) - 1)] == numbers)


def of_one_field(field: Field, spec: LinkSpec) -> LinkSpec:
    """Return how the values of one field are blocked."""
    return LinkSpec(
        (replace(field, weight=1.0),), block_at=_ALIKE, recall=spec.recall, seed=spec.seed
    )
