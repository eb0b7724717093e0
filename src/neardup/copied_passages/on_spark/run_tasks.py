"""Tasks of the second pass: runs whose anchors occur twice, and their earlier positions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup.arrays import numbers
from neardup.copied_passages.on_spark.anchor_tasks import NONE, divided, range_of, tokeniser_of
from neardup.copied_passages.on_spark.packing import (
    HERE,
    ShuffleRows,
    column,
    pack,
    steps_of,
    targets,
    undo_steps,
    unpack,
)
from neardup.copied_passages.repeated.equal_rows import rows_of
from neardup.kernels.passages import ranged
from neardup.kernels.passages.hashing import runs_of_anchors
from neardup.kernels.passages.positions import COPY
from neardup.kernels.passages.run_records import columns_of
from neardup.kernels.passages.run_segments import join_segments
from neardup.sketch.run_anchors import RunLength, anchors_of
from neardup.sketch.spans import ends_of
from neardup.sketch.tokenising import batches
from neardup.spark.stages.batches import Batches
from neardup.spark.stages.batches import Rows as Out
from neardup.spec import ShingleSpec

_U8, _U32, _U64, _I32, _I64 = np.uint8, np.uint32, np.uint64, np.int32, np.int64
#: Kinds of rows of the second pass.
RUNS, SPANS = 0, 1
#: Anchors whose runs are looked for among those of others.
_RECENT = 1 << 12
#: A size of a gap or a word that does not fit a byte.
_LARGE = 255
_SALT = _U64(0x9E3779B97F4A7C15)


@dataclass(frozen=True)
class SparkRule:
    """Which equal runs are sources.

    Attributes:
        words: Of a run.
        groups: ``""``, ``"within"`` or ``"across"``: documents of the same group, or of others.
        boilerplate: Documents from which on groups don't count for a run; 0 for never.
    """

    words: int
    groups: str = ""
    boilerplate: int = 0


# From texts to runs.


class _Range:
    """Runs and characters of the documents of a range in a batch."""

    def __init__(self) -> None:
        self.rows: list[list[np.ndarray]] = []
        self.stretches: list[np.ndarray] = []  # uint64[n, 2]: position and tokens
        self.spans: list[np.ndarray] = []  # rows of all covered tokens, of the batch: begin, end


def runs(rows: Batches, shingle: ShingleSpec, words: int, borders: np.ndarray) -> Out:
    """Send the runs of marked anchors to their ranges, and the characters of their words.

    Rows have ``rank``, ``marks``, ``text`` and, where groups are compared, ``group``.
    """
    out, recent = ShuffleRows(), np.empty((_RECENT, 3), _U64)
    for batch in rows:
        before = -1  # a copy is in the same row as the other anchor
        order: Any = pc.sort_indices(batch["rank"])
        batch = batch.take(order)
        ranks = numbers(batch["rank"])
        of = range_of(borders, ranks)
        found: dict[int, _Range] = {}
        asked_rows, asked = [np.empty(0, _I64)], [np.empty(0, _I64)]
        tokeniser, length = tokeniser_of(shingle), RunLength(words)
        data, offsets = tokeniser.normalise(batch["text"])
        done = 0
        for first, last in batches(offsets):
            tokens, _ = tokeniser.tokens(data, offsets[first : last + 1])
            keys, since, counts = anchors_of(tokens, length)
            chosen = _chosen(batch["marks"].slice(first, last - first), counts)
            ends = np.append(0, np.cumsum(counts, dtype=_I64))
            begin, size, document = _stretches(tokens.offsets, since, counts, chosen > 0, words)
            token = np.repeat(begin - (np.cumsum(size) - size), size) + np.arange(size.sum())
            asked_rows.append(np.repeat(np.repeat(document + first, size), 2))
            asked.append(np.stack([2 * token, 2 * token + 1], 1).reshape(-1))
            covered = np.append(0, np.cumsum(size))
            for target, low, high in divided(of[first:last]):
                if target != before:
                    recent[:] = NONE
                    before = target
                of_range = found.setdefault(target, _Range())
                space, slots = (
                    tokens.offsets[high] - tokens.offsets[low],
                    slice(ends[low], ends[high]),
                )
                number = int(ends[high] - ends[low])
                records = np.empty(2 * (space + number), _U64), np.empty(number, _U64)
                filled, count = runs_of_anchors(
                    tokens.values,
                    tokens.offsets[low : high + 1],
                    ranks[first + low : first + high],
                    (keys[slots], since[slots], counts[low:high], chosen[slots]),
                    words,
                    recent,
                    records,
                )
                columns = tuple(np.empty(space, _U64) for _ in range(4))
                count = columns_of(records[0][:filled], records[1][:count], columns)
                of_range.rows.append([values[:count].copy() for values in columns])
                a, b = np.searchsorted(document, [low, high]).tolist()
                position = ranks[first + document[a:b]].astype(_U64) << _U64(32)
                position |= begin[a:b].astype(_U64)
                of_range.stretches.append(np.stack([position, size[a:b].astype(_U64)], 1))
                of_range.spans.append(done + np.arange(covered[a], covered[b]))
            done += int(covered[-1])
        characters = ends_of(
            tokeniser, _text(batch), np.concatenate(asked_rows), np.concatenate(asked)
        ).reshape(-1, 2)
        grouped = batch["group"] if "group" in batch.schema.names else None
        for target, of_range in found.items():
            out.add(target, RUNS, _packed_runs(of_range, ranks, of == target, grouped))
            stretches = np.concatenate(of_range.stretches)
            out.add(
                target, SPANS, pack_spans(stretches, characters[np.concatenate(of_range.spans)])
            )
        yield from out.full()
    yield from out.rest()


def _text(batch: pa.RecordBatch) -> Any:
    text: Any = batch["text"]
    return pc.fill_null(text, "").cast(pa.large_string())


def _chosen(marks: Any, counts: np.ndarray) -> np.ndarray:
    """Return uint8[anchors]: which are marked."""
    offsets = np.frombuffer(marks.buffers()[1], _I32)[marks.offset : marks.offset + len(marks) + 1]
    bits = np.frombuffer(marks.buffers()[2] or b"\0", _U8)
    begins = np.cumsum(counts, dtype=_I64) - counts
    local = np.arange(int(counts.sum())) - np.repeat(begins, counts)
    sizes = np.repeat(np.diff(offsets), counts)
    at = np.repeat(offsets[:-1].astype(_I64), counts) + (local >> 3)
    stored = (local >> 3) < sizes
    value = bits[np.where(stored, at, 0)] >> (local & 7).astype(_U8)
    return np.asarray(stored & ((value & 1) != 0)).astype(np.uint8)


def _stretches(
    offsets: np.ndarray, since: np.ndarray, counts: np.ndarray, chosen: np.ndarray, words: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return first token, number of tokens and document of what marked anchors cover."""
    if not chosen.any():
        nothing = np.empty(0, _I64)
        return nothing, nothing, nothing
    document = np.repeat(np.arange(len(counts)), counts)
    runs = np.diff(offsets)[document] - words + 1
    end = np.append(since[1:], 0).astype(_I64)
    last = np.append(document[1:] != document[:-1], True)
    end[last] = runs[last]
    begin = (offsets[document] - offsets[0] + since)[chosen]
    end = (offsets[document] - offsets[0] + end + words - 1)[chosen]
    document = document[chosen]
    new = np.ones(len(begin), np.bool_)
    new[1:] = (document[1:] != document[:-1]) | (begin[1:] > end[:-1])
    rows = np.flatnonzero(new)
    stop = end[np.append(rows[1:], len(begin)) - 1]
    begin, document = begin[rows], document[rows]
    return begin - (offsets[document] - offsets[0]), stop - begin, document


def _packed_runs(found: _Range, ranks: np.ndarray, mine: np.ndarray, grouped: Any | None) -> bytes:
    high, low, position, key = (np.concatenate(column) for column in zip(*found.rows, strict=True))
    copied = (position & COPY) != 0
    plain = ~copied
    groups = [np.empty(0, _I64), np.empty(0, _I64), np.empty(0, np.bool_)]
    if grouped is not None:
        valid = grouped.is_valid().to_numpy(zero_copy_only=False)
        values = numbers(grouped.fill_null(0))
        groups = [ranks[mine], values[mine], valid[mine]]
    keys = np.bitwise_xor(key, np.append(_U64(0), key[:-1])) if len(key) else key
    return pack(
        high[plain],
        low[plain],
        steps_of(position[plain]),
        steps_of(high[copied]),
        low[copied],
        steps_of(position[copied] ^ COPY),
        copied,
        keys,
        *groups,
    )


def pack_spans(stretches: np.ndarray, characters: np.ndarray) -> bytes:
    """Pack positions of stretches and their words, and begin and end of each word, int64[n, 2]."""
    position, size = stretches[:, 0], stretches[:, 1].astype(_I64)
    begin, end = characters[:, 0], characters[:, 1]
    document = np.repeat(position >> _U64(32), size)
    before = np.append(0, end[:-1]) if len(end) else end
    new = np.ones(len(end), np.bool_)
    new[1:] = document[1:] != document[:-1]
    before[new] = 0
    gap, length = begin - before, end - begin
    large = [np.flatnonzero(values >= _LARGE) for values in (gap, length)]
    return pack(
        steps_of(position),
        size.astype(_U32),
        np.minimum(gap, _LARGE).astype(_U8),
        np.minimum(length, _LARGE).astype(_U8),
        large[0].astype(_U32),
        gap[large[0]].astype(_U32),
        large[1].astype(_U32),
        length[large[1]].astype(_U32),
    )


def unpack_spans(data: bytes) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return positions of stretches, their numbers of words, and int32[words, 2] characters."""
    types = (_U64, _U32, _U8, _U8, _U32, _U32, _U32, _U32)
    steps, size, gap, length, gaps, large_gaps, lengths, large = unpack(data, *types)
    position, size, gap, length = (
        undo_steps(steps),
        size.astype(_I64),
        gap.astype(_I64),
        length.astype(_I64),
    )
    gap[gaps], length[lengths] = large_gaps, large
    ends = np.cumsum(gap + length)
    document = np.repeat(position >> _U64(32), size)
    new = np.ones(len(ends), np.bool_)
    new[1:] = document[1:] != document[:-1]
    firsts = np.flatnonzero(new)
    before = np.where(firsts > 0, ends[firsts - 1], 0)
    ends -= np.repeat(before, np.diff(np.append(firsts, len(ends))))
    return position, size, np.stack([ends - length, ends], 1).astype(_I32)


# Runs of a range.


class _Runs(NamedTuple):
    """All runs of a range, in the order of their positions."""

    high: np.ndarray
    low: np.ndarray
    position: np.ndarray
    key: np.ndarray
    group: np.ndarray  # int64[n]: of its document; empty without groups
    grouped: np.ndarray  # bool[n]: whether it has one


def _runs_of(found: list[tuple[int, bytes]], rule: SparkRule) -> _Runs:
    types = (_U64, _U64, _U64, _U64, _U64, _U64, np.bool_, _U64, _I64, _I64, np.bool_)
    parts, tables = [], []
    for kind, data in found:
        if kind != RUNS:
            continue
        high, low, steps, of, sizes, copies, copied, keys, *groups = unpack(data, *types)
        position, plain = undo_steps(steps), ~copied
        key = np.bitwise_xor.accumulate(keys) if len(keys) else keys
        tables.append(groups)
        parts.append([high, low, position, key[plain]])
        if len(of):
            # A copy has the runs of another anchor of this task's.
            first, sizes = np.searchsorted(position, undo_steps(of)), sizes.astype(_I64)
            step = np.arange(int(sizes.sum())) - np.repeat(np.cumsum(sizes) - sizes, sizes)
            row = np.repeat(first, sizes) + step
            there = np.repeat(undo_steps(copies), sizes) + step.astype(_U64)
            parts.append([high[row], low[row], there, np.repeat(key[copied], sizes)])
    columns = [column(parts, k, _U64) for k in range(4)]
    order = np.argsort(columns[2])
    high, low, position, key = (values[order] for values in columns)
    group, grouped = np.empty(0, _I64), np.empty(0, np.bool_)
    if rule.groups:
        rank = column(tables, 0, _I64)
        by_rank = np.argsort(rank)
        row = by_rank[np.searchsorted(rank[by_rank], (position >> _U64(32)).astype(_I64))]
        group, grouped = column(tables, 1, _I64)[row], column(tables, 2, np.bool_)[row]
    return _Runs(high, low, position, key, group, grouped)


def _numbered(high: np.ndarray, low: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the number of each row, equal for equal hashes, and the first row of each number."""
    size = 16
    while size < 2 * len(high):
        size *= 2
    table, of = np.full(size, -1, _I32), np.empty(len(high), _I32)
    firsts = np.empty(len(high), _I32)
    count = ranged.number_equal(high, low, table, of, firsts)
    return of, firsts[:count]


def _salted(runs: _Runs) -> tuple[np.ndarray, np.ndarray]:
    """Return hashes of the runs with a group, equal for equal runs of one group."""
    rows = runs.grouped
    salt = _mixed(runs.group[rows].view(_U64) + _SALT)
    return runs.high[rows] ^ salt, runs.low[rows] ^ _mixed(salt + _SALT)


def _mixed(values: np.ndarray) -> np.ndarray:
    """Return `neardup.kernels.bits.mix` of each value."""
    return np.asarray(ranged.mixed(values, np.empty_like(values)))


def sum_up(rows: Batches, rule: SparkRule, shares: int) -> Out:
    """Send each distinct run of a range to its share, with its first and last position there.

    Positions and numbers of all runs stay `HERE`, for `segments`.
    """
    out = ShuffleRows()
    for target, found in targets(rows):
        runs = _runs_of(found, rule)
        of, firsts = _numbered(runs.high, runs.low)
        local = [steps_of(runs.position), of]
        distinct = [_Distinct(of, firsts, runs.high[firsts], runs.low[firsts], 0)]
        if rule.groups == "within":
            rows_of = np.flatnonzero(runs.grouped)
            high, low = _salted(runs)
            numbered, first = _numbered(high, low)
            of_group = np.full(len(of), -1, _I32)
            of_group[rows_of] = numbered
            begin = len(firsts)
            of_groups = _Distinct(of_group, rows_of[first], high[first], low[first], begin)
            distinct.append(of_groups)
            local.append(np.where(of_group < 0, -1, of_group + begin).astype(_I32))
        elif rule.groups == "across":
            local += [runs.group, runs.grouped]
        for each in distinct:
            for share, data in _for_shares(runs, each, rule, shares):
                out.add(share, target, data)
        out.add(HERE, target, pack(*local))
        yield from out.full()
    yield from out.rest()


class _Distinct(NamedTuple):
    """The distinct runs of a range, or of its groups."""

    of: np.ndarray  # int32[runs]: number of each, or -1
    firsts: np.ndarray  # int[n]: first row of each number
    high: np.ndarray  # uint64[n]: hash of each number
    low: np.ndarray  # uint64[n]
    begin: int  # added to the numbers


def _for_shares(
    runs: _Runs, distinct: _Distinct, rule: SparkRule, shares: int
) -> Iterator[tuple[int, bytes]]:
    """Yield each share that has some of the distinct runs, with these."""
    of, firsts, high, low, begin = distinct
    ends, documents, _ = _summed(runs.position, of, len(firsts))
    share = (runs.key[firsts] % _U64(shares)).astype(_I64)
    order = np.argsort(share, kind="stable")
    more: list[np.ndarray] = []
    if rule.groups == "across":
        others, group = np.full((len(firsts), 4), NONE), np.zeros((len(firsts), 2), _I64)
        grouped = np.where(runs.grouped, of, -1).astype(_I32)
        ranged.sum_up_groups(runs.position, grouped, runs.group, others, group)
        more = [others, group]
    for number, at, end in divided(share[order]):
        rows = order[at:end]
        columns = [values[rows] for values in (high, low, ends, documents, *more)]
        columns[2] = _steps_of_columns(columns[2])
        yield number, pack(steps_of((rows + begin).astype(_U64)), *columns)


def _summed(
    position: np.ndarray, of: np.ndarray, count: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the positions, documents and sizes of `neardup.kernels.passages.ranged.sum_up`."""
    ends = np.empty((count, 2), _U64)
    documents, sizes = np.empty(count, _U32), np.empty(count, _U32)
    ranged.sum_up(position, of, ends, documents, sizes)
    return ends, documents, sizes


def _steps_of_columns(values: np.ndarray) -> np.ndarray:
    """Return uint64[k * n] of uint64[n, k]: steps column by column."""
    return np.concatenate([steps_of(values[:, k]) for k in range(values.shape[1])])


def _of_columns(values: np.ndarray, width: int) -> np.ndarray:
    return np.stack([undo_steps(column) for column in values.reshape(width, -1)], 1)


def before_each(rows: Batches, rule: SparkRule) -> Out:
    """Answer the ranges of a share's runs: what stands before them, for runs of two ranges."""
    out, across = ShuffleRows(), rule.groups == "across"
    types = [_U64, _U64, _U64, _U64, _U32, *([_U64, _I64] if across else [])]
    for _, found in targets(rows):
        found.sort(key=lambda row: row[0])
        tables = [unpack(data, *types) for _, data in found]
        sizes = [len(table[0]) for table in tables]
        of, _ = _numbered(column(tables, 1, _U64), column(tables, 2, _U64))
        ends = np.concatenate([_of_columns(table[3], 2) for table in tables])
        documents = column(tables, 4, _U32)
        before, totals = np.empty((len(of), 2), _U64), np.empty(len(of), _U32)
        ranges = np.empty(len(of), _U32)
        ranged.before_each(of, ends, documents, before, totals, ranges)
        more: list[np.ndarray] = []
        if across:
            others = column(tables, 5, _U64).reshape(-1, 4)
            group = column(tables, 6, _I64).reshape(-1, 2)
            more = [np.empty_like(others), np.empty_like(group)]
            ranged.groups_before_each(of, others, group, *more)
        at = 0
        for (target, _), table, size in zip(found, tables, sizes, strict=True):
            kept = np.flatnonzero(ranges[at : at + size] > 1)
            if len(kept):
                row = at + kept
                number = undo_steps(table[0])[kept]
                answer = [_steps_of_columns(before[row]), totals[row], *(m[row] for m in more)]
                out.add(target, 0, pack(steps_of(number), *answer))
            at += size
        yield from out.full()
    yield from out.rest()


def segments(rows: Batches, rule: SparkRule) -> Out:
    """Find the earlier positions of the runs of a range that occur twice, as segments.

    Rows are what `sum_up` left, of kind `HERE`, and what `before_each` answers. Yields a row for
    each range, with what `pack_segments` packs.
    """
    out = ShuffleRows()
    for target, found in targets(rows):
        answers = [data for kind, data in found if kind != HERE]
        (local,) = [data for kind, data in found if kind == HERE]
        table = _segments(local, answers, rule)
        if len(table[0]):
            out.add(target, HERE, pack_segments(table))
        yield from out.full()
    yield from out.rest()


def pack_segments(table: list[np.ndarray]) -> bytes:
    """Pack positions, runs, first, origin, latest and documents of segments."""
    position, runs, first, origin, latest, documents = table
    return pack(
        steps_of(position), runs, steps_of(first), steps_of(origin), steps_of(latest), documents
    )


def unpack_segments(data: bytes) -> list[np.ndarray]:
    """Return what `pack_segments` was given."""
    position, runs, first, origin, latest, documents = unpack(
        data, _U64, _U32, _U64, _U64, _U64, _U32
    )
    steps = (undo_steps(values) for values in (position, first, origin, latest))
    position, first, origin, latest = steps
    return [position, runs, first, origin, latest, documents]


def _segments(local: bytes, answers: list[bytes], rule: SparkRule) -> list[np.ndarray]:
    across, within = rule.groups == "across", rule.groups == "within"
    more = [_I32] if within else [_I64, np.bool_] if across else []
    steps, of, *groups = unpack(local, _U64, _I32, *more)
    position = undo_steps(steps)
    count = int(of.max(initial=-1)) + 1
    numbers_ = max(count, int(groups[0].max(initial=-1)) + 1) if within else count
    ends, documents, sizes = (
        np.empty((count, 2), _U64),
        np.empty(count, _U32),
        np.empty(count, _U32),
    )
    ranged.sum_up(position, of, ends, documents, sizes)
    before = np.full((numbers_, 2), NONE)
    repeated = sizes > 1
    others, group = np.full((count, 4), NONE), np.zeros((count, 2), _I64)
    types = [_U64, _U64, _U32, *([_U64, _I64] if across else [])]
    for data in answers:
        steps, columns, totals, *there = unpack(data, *types)
        number = undo_steps(steps).astype(_I64)
        before[number] = _of_columns(columns, 2)
        plain = number < count  # the others are of runs in one group
        documents[number[plain]] = totals[plain]
        repeated[number[plain]] = True
        if across:
            others[number], group[number] = there[0].reshape(-1, 4), there[1].reshape(-1, 2)
    origin, latest = np.empty(len(position), _U64), np.empty(len(position), _U64)
    ranged.sources_in_range(position, of, before[:count], rule.words, origin, latest)
    first = np.where(before[of, 0] != NONE, before[of, 0], ends[of, 0])
    if rule.groups:
        mine = np.empty(len(position), _U64), np.empty(len(position), _U64)
        if within:
            ranged.sources_in_range(position, groups[0], before, rule.words, *mine)
        else:
            grouped = np.where(groups[1], of, -1).astype(_I32)
            ranged.sources_in_other_groups(position, grouped, groups[0], others, group, *mine)
        common = documents[of] >= (rule.boilerplate or 1 << 32)
        origin, latest = np.where(common, origin, mine[0]), np.where(common, latest, mine[1])
    rows = np.flatnonzero(repeated[of])
    ones = np.ones(len(rows), _U32)
    table = [position[rows], ones, first[rows], origin[rows], latest[rows], documents[of[rows]]]
    joined = rows_of(table)
    joined = joined[: join_segments(joined)]
    runs, documents = ((joined[:, 1] >> _U64(shift)).astype(_U32) for shift in (0, 32))
    position, first, origin, latest = (np.ascontiguousarray(joined[:, k]) for k in (0, 2, 3, 4))
    return [position, runs, first, origin, latest, documents]
