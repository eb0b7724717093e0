"""Tasks of the first pass: anchors of all documents, and which of them occur twice."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pyarrow as pa

from neardup.arrays import array_of, numbers
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
from neardup.match.bucketing import group
from neardup.sketch.run_anchors import RunLength, anchors_of
from neardup.sketch.short_texts import short_texts
from neardup.sketch.tokenising import Tokeniser, batches
from neardup.spark.stages.batches import Batches
from neardup.spark.stages.batches import Rows as Out
from neardup.spec import ShingleSpec

_U8, _U64, _I32 = np.uint8, np.uint64, np.int32
NONE = _U64(0xFFFFFFFFFFFFFFFF)


@functools.lru_cache(maxsize=4)
def tokeniser_of(shingle: ShingleSpec) -> Tokeniser:
    return Tokeniser(shingle)


def binaries(values: np.ndarray, ends: np.ndarray) -> Any:
    """Return bytes as a binary array; row i has those from ``ends[i]`` to ``ends[i + 1]``."""
    offsets = np.ascontiguousarray(ends, np.int32)
    buffers = [None, pa.py_buffer(offsets.data), pa.py_buffer(np.ascontiguousarray(values).data)]
    return pa.Array.from_buffers(pa.binary(), len(ends) - 1, buffers)


def anchors(rows: Batches, shingle: ShingleSpec, words: int) -> Out:
    """Turn ``rank`` and ``text`` to ``rank``, ``tokens``, ``short`` and ``keys``.

    There is a key for each anchor; for ``short`` see `short_texts`.
    """
    tokeniser, length = tokeniser_of(shingle), RunLength(words)
    for batch in rows:
        data, offsets = tokeniser.normalise(batch["text"])
        rank = numbers(batch["rank"])
        for first, last in batches(offsets):
            tokens, _ = tokeniser.tokens(data, offsets[first : last + 1])
            keys, _, counts = anchors_of(tokens, length)
            ends = np.append(0, np.cumsum(counts, dtype=np.int64)) * 8
            yield pa.RecordBatch.from_arrays(
                [
                    array_of(rank[first:last]),
                    array_of(np.diff(tokens.offsets).astype(_I32)),
                    array_of(short_texts(tokens, words).view(np.int64)),
                    binaries(keys, ends),
                ],
                names=["rank", "tokens", "short", "keys"],
            )


def range_of(borders: np.ndarray, ranks: np.ndarray) -> np.ndarray:
    """Return int64[n], the range of each document; ``borders`` has the first of each range."""
    return np.searchsorted(borders, ranks, side="right") - 1


def divided(values: np.ndarray) -> list[tuple[int, int, int]]:
    """Return (value, begin, end) of each stretch of equal values."""
    if not len(values):
        return []
    cuts = np.flatnonzero(values[1:] != values[:-1]) + 1
    begins = np.concatenate([[0], cuts])
    ends = np.append(cuts, len(values))
    return list(zip(values[begins].tolist(), begins.tolist(), ends.tolist(), strict=True))


def by_range(rows: Batches, borders: np.ndarray) -> Out:
    """Send the keys of documents to their ranges."""
    out = ShuffleRows()
    for batch in rows:
        ranks, of = numbers(batch["rank"]), range_of(borders, numbers(batch["rank"]))
        keys: Any = batch["keys"]
        ends = np.frombuffer(keys.buffers()[1], _I32)[keys.offset : keys.offset + len(keys) + 1]
        values, offsets = np.frombuffer(keys.buffers()[2] or b"", _U64), ends.astype(np.int64) // 8
        for target, begin, end in divided(of):
            counts = np.diff(offsets[begin : end + 1]).astype(_I32)
            found = values[offsets[begin] : offsets[end]]
            out.add(target, HERE, pack(ranks[begin:end], counts, found))
        yield from out.full()
    yield from out.rest()


def share_anchors(rows: Batches, shares: int) -> Out:
    """Send each distinct key of a range to its share of all keys, once.

    Keys that a range has twice need no answer: the positions of their anchors go `HERE`.
    """
    out = ShuffleRows()
    for target, found in targets(rows):
        documents = [unpack(data, np.int64, _I32, _U64) for _, data in found]
        ranks, counts = column(documents, 0, np.int64), column(documents, 1, _I32)
        keys = column(documents, 2, _U64)
        begins = np.cumsum(counts, dtype=np.int64) - counts
        local = np.arange(len(keys)) - np.repeat(begins, counts)
        position = np.repeat(ranks, counts).astype(_U64) << _U64(32) | local.astype(_U64)
        order = np.argsort(position)
        keys, position = keys[order], position[order]
        members, starts = group(keys)
        single = np.ones(len(keys), np.bool_)
        single[members] = False
        twice = np.sort(keys[members[starts[:-1]]])
        out.add(HERE, target, pack(steps_of(np.sort(position[members]))))
        every = np.concatenate([keys[single], twice])
        where = np.concatenate([position[single], np.full(len(twice), NONE)])
        share = (every % _U64(shares)).astype(np.int64)
        order = np.argsort(share, kind="stable")
        for number, begin, end in divided(share[order]):
            chosen = order[begin:end]
            out.add(number, target, pack(every[chosen], steps_of(where[chosen])))
        yield from out.full()
    yield from out.rest()


def repeated_anchors(rows: Batches) -> Out:
    """Of a share of all keys, send those that are there twice back to their ranges."""
    out = ShuffleRows()
    for _, found in targets(rows):
        pairs = [unpack(data, _U64, _U64) for _, data in found]
        keys = column(pairs, 0, _U64)
        where = np.concatenate([undo_steps(steps) for _, steps in pairs])
        of = np.repeat([kind for kind, _ in found], [len(key) for key, _ in pairs])
        marked = np.zeros(len(keys), np.bool_)
        marked[group(keys).members] = True
        # A range that has a key twice says so in a row without a position.
        marked &= where != NONE
        where, of = where[marked], of[marked]
        order = np.lexsort((where, of))
        for number, begin, end in divided(of[order]):
            out.add(number, HERE, pack(steps_of(where[order[begin:end]])))
        yield from out.full()
    yield from out.rest()


def marks(rows: Batches) -> Out:
    """Return ``rank`` and ``marks``: a bit for each anchor up to the last that occurs twice."""
    for _, found in targets(rows):
        position = np.concatenate([undo_steps(unpack(data, _U64)[0]) for _, data in found])
        position.sort()
        if not len(position):
            continue
        rank, anchor = (position >> _U64(32)).astype(np.int64), position & _U64(0xFFFFFFFF)
        lasts = np.append(np.flatnonzero(rank[1:] != rank[:-1]), len(rank) - 1)
        sizes = (anchor[lasts] >> _U64(3)).astype(np.int64) + 1
        ends = np.append(0, np.cumsum(sizes))
        document = np.repeat(np.arange(len(lasts)), np.diff(lasts, prepend=-1))
        bits = np.zeros(ends[-1], _U8)
        at = ends[document] + (anchor >> _U64(3)).astype(np.int64)
        np.bitwise_or.at(bits, at, _U8(1) << (anchor & _U64(7)).astype(_U8))
        yield pa.RecordBatch.from_arrays(
            [array_of(rank[lasts]), binaries(bits, ends)], names=["rank", "marks"]
        )
