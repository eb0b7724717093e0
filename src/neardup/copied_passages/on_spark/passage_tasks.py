"""Tasks that make passages of segments, and find the characters of their ends."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from neardup.arrays import array_of
from neardup.copied_passages.building import Passages, bridges, largest_sources
from neardup.copied_passages.offsets import key_of
from neardup.copied_passages.on_spark.anchor_tasks import NONE, divided, range_of
from neardup.copied_passages.on_spark.packing import (
    HERE,
    ShuffleRows,
    pack,
    steps_of,
    targets,
    undo_steps,
    unpack,
)
from neardup.copied_passages.on_spark.run_tasks import unpack_segments, unpack_spans
from neardup.copied_passages.passage_spec import SOURCES, PassageSpec
from neardup.copied_passages.repeated.equal_rows import rows_of
from neardup.files.scratch import Scratch
from neardup.kernels.passages.growing import grow, share_words
from neardup.spark.stages.batches import Batches
from neardup.spark.stages.batches import Rows as Out

_U32, _U64, _I32, _I64 = np.uint32, np.uint64, np.int32, np.int64
_DOCUMENT, _TOKEN = _U64(32), _U64(0xFFFFFFFF)


class _Shares(NamedTuple):
    """Documents of a range that are looked at together, and the tokens they need of others."""

    begins: np.ndarray  # int64[shares + 1]: segments
    share: np.ndarray  # int64[n]
    document: np.ndarray  # int64[n]
    low: np.ndarray  # int64[n]: first token
    high: np.ndarray  # int64[n]: token after the last


def _shares_of(table: list[np.ndarray], first: int, limit: int, old: int) -> _Shares:
    """Cut the documents of a range into shares that need about ``limit`` tokens of other ranges.

    A passage grows along its runs, and along those of the candidates for its source: a candidate of
    a run is looked at from where the stretch of repeated runs around it would begin to where it
    would end. ``first`` is the first document of the range; those before ``old`` are left out.
    """
    skipped = int(np.searchsorted(table[0], _U64(old << 32)))
    position, runs, _, origin, latest, _ = (values[skipped:] for values in table)
    document = (position >> _DOCUMENT).astype(_I64)
    token = (position & _TOKEN).astype(_I64)
    repeated = latest != NONE
    joined = np.zeros(len(position), np.bool_)
    joined[1:] = repeated[1:] & repeated[:-1] & (position[1:] == position[:-1] + runs[:-1])
    begins = np.flatnonzero(~joined)
    sizes = np.diff(np.append(begins, len(position)))
    lows = np.repeat(token[begins], sizes)
    highs = np.repeat((token + runs)[begins + sizes - 1], sizes)
    rows = np.flatnonzero(repeated)
    of = np.concatenate([document[rows]] * 2)
    earlier = np.concatenate([origin[rows], latest[rows]])
    there, at = (earlier >> _DOCUMENT).astype(_I64), (earlier & _TOKEN).astype(_I64)
    back = np.concatenate([(token - lows)[rows]] * 2)
    ahead = np.concatenate([(highs - token)[rows]] * 2)
    far = there < first
    of, there, low, high = of[far], there[far], (at - back)[far], (at + ahead)[far]
    of, there, low, high = _hulls(of, there, np.maximum(low, 0), high)
    every, starts = np.unique(document, return_index=True)
    needed = np.zeros(len(every), _I64)
    np.add.at(needed, np.searchsorted(every, of), high - low)
    number = (np.cumsum(needed) - needed) // limit
    number = np.unique(number, return_inverse=True)[1].reshape(-1)
    cuts = np.append(starts[np.unique(number, return_index=True)[1]], len(position)) + skipped
    share = number[np.searchsorted(every, of)]
    return _Shares(cuts, *_hulls(share, there, low, high))


def _hulls(
    of: np.ndarray, there: np.ndarray, low: np.ndarray, high: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Join the rows of equal ``of`` and ``there``, in their order."""
    if not len(of):
        return of, there, low, high
    order = np.lexsort((there, of))
    of, there = of[order], there[order]
    new = np.ones(len(of), np.bool_)
    new[1:] = (of[1:] != of[:-1]) | (there[1:] != there[:-1])
    begins = np.flatnonzero(new)
    low = np.minimum.reduceat(low[order], begins)
    return of[begins], there[begins], low, np.maximum.reduceat(high[order], begins)


def requests(rows: Batches, borders: np.ndarray, limit: int, old: int) -> Out:
    """Ask other ranges for the segments that the passages of a range may grow along."""
    out = ShuffleRows()
    for target, found in targets(rows):
        for _, data in found:
            shares = _shares_of(unpack_segments(data), int(borders[target]), limit, old)
            of = range_of(borders, shares.document)
            for share, begin, end in divided(shares.share):
                for other, low, high in divided(of[begin:end]):
                    asked = slice(begin + low, begin + high)
                    columns = (shares.document[asked], shares.low[asked], shares.high[asked])
                    out.add(other, target, pack(np.array([share]), *columns))
        yield from out.full()
    yield from out.rest()


def answers(rows: Batches) -> Out:
    """Answer `requests`, which come after the segments of their target, of kind `HERE`."""
    out = ShuffleRows()
    for _, found in targets(rows):
        found.sort(key=lambda row: row[0])
        position, runs, first, *_ = unpack_segments(found[0][1])
        for target, data in found[1:]:
            share, document, low, high = unpack(data, _I64, _I64, _I64, _I64)
            begin, end = (
                np.searchsorted(position, document.astype(_U64) << _DOCUMENT | token.astype(_U64))
                for token in (low, high)
            )
            # The segment before may have runs up to there; of an earlier document it does no harm.
            begin = np.maximum(begin - 1, 0)
            begin = np.maximum(begin, np.append(0, end[:-1]))
            size = np.maximum(end - begin, 0)
            row = np.repeat(begin - (np.cumsum(size) - size), size) + np.arange(size.sum())
            found_rows = steps_of(position[row]), runs[row], steps_of(first[row])
            out.add(target, int(share[0]), pack(*found_rows))
            yield from out.full()
    yield from out.rest()


#: Arrays of a row of passages: of passages position, words, source, origin, documents, gained, text
#: and number of joined ones, -1 for none; of documents number, copied words, words of boilerplate,
#: largest source (-1 for none), words from it, changed words; and the first number of the share.
PASSAGE_TYPES = (_U64, _I64, _U64, _U64, _I64, _I32, _U64, _I64)
DOCUMENT_TYPES = (_I64, _I32, _I32, _I64, _I64, _I64)


def passages(rows: Batches, spec: PassageSpec, borders: np.ndarray, limit: int, old: int) -> Out:
    """Make the passages of ranges, share by share, of their segments and of `answers`."""
    out = ShuffleRows()
    for target, found in targets(rows):
        found.sort(key=lambda row: row[0])
        table = unpack_segments(found[0][1])
        begins = _shares_of(table, int(borders[target]), limit, old).begins
        at = 1
        for share in range(len(begins) - 1):
            fetched = []
            while at < len(found) and found[at][0] == share:
                fetched.append(unpack(found[at][1], _U64, _U32, _U64))
                at += 1
            made = _grown(table, fetched, begins[share], begins[share + 1], spec)
            out.add(target, share, made)
            yield from out.full()
    yield from out.rest()


def _grown(
    table: list[np.ndarray],
    fetched: list[list[np.ndarray]],
    begin: int,
    end: int,
    spec: PassageSpec,
) -> bytes:
    """Return the passages of some segments; ``fetched`` are those of earlier documents."""
    documents = np.unique((table[0][begin:end] >> _DOCUMENT).astype(_I64))
    extra = [[undo_steps(steps), runs, undo_steps(first)] for steps, runs, first in fetched]
    position, runs, first = (np.concatenate([table[k], *(e[k] for e in extra)]) for k in range(3))
    none = np.full(len(position) - len(table[0]), NONE)
    origin, latest = (np.append(table[k], none) for k in (3, 4))
    holders = np.append(table[5], np.zeros(len(none), _U32))
    order = np.argsort(position)
    every = rows_of([v[order] for v in (position, runs, first, origin, latest, holders)])
    low = int(np.searchsorted(position[order], table[0][begin]))
    high = low + end - begin
    rule, parts, start = SOURCES.index(spec.name_source), [], 0
    while low < high:
        rows = np.empty((high - low + 1, 6), _U64)
        span = (low, start), high
        count, low, start = grow(every, *span, rule, spec.boilerplate, rows)
        parts.append(rows[:count])
    rows = np.concatenate(parts)
    # Documents are numbered from 0 for the counts.
    number = np.searchsorted(documents, (rows[:, 0] >> _DOCUMENT).astype(_I64))
    local = rows.copy()
    local[:, 0] = number.astype(_U64) << _DOCUMENT | rows[:, 0] & _TOKEN
    words = spec.words
    ends = (rows[:, 0] & _TOKEN) + rows[:, 1] + _U64(words - 1)
    tokens = np.zeros(len(documents), _I32)
    np.maximum.at(tokens, number, ends.astype(_I32))
    gained = np.empty(len(rows), _I32)
    copied, common = np.empty(len(documents), _I32), np.empty(len(documents), _I32)
    starts = np.searchsorted(number, np.arange(len(documents) + 1))
    share_words(local, starts, tokens, words, spec.boilerplate, gained, copied, common)
    size, having = rows[:, 1].astype(_I64) + words - 1, rows[:, 4].astype(_I64)
    boilerplate = having >= (spec.boilerplate or 1 << 32)
    columns = local[:, 0], size, rows[:, 2], rows[:, 3], having, boilerplate, gained, rows[:, 5]
    found = Passages(*map(np.ascontiguousarray, columns))
    largest = largest_sources(found, len(documents), Scratch())
    joined, changed = np.full(len(rows), -1, _I64), np.zeros(len(documents), _I64)
    if spec.bridge:
        joined, more = bridges(found, spec.bridge, Scratch())
        np.add.at(changed, number, more)
    return pack(
        np.ascontiguousarray(rows[:, 0]),
        *(found.words, found.source, found.origin, found.documents, found.gained, found.text),
        joined,
        *(documents, copied, common, largest.source, largest.words, changed),
    )


def _unpacked(data: bytes) -> tuple[list[np.ndarray], list[np.ndarray]]:
    found = unpack(data, *PASSAGE_TYPES, *DOCUMENT_TYPES)
    return found[: len(PASSAGE_TYPES)], found[len(PASSAGE_TYPES) :]


# Characters.


def _keys(position: np.ndarray, words: np.ndarray, source: np.ndarray, origin: np.ndarray) -> Any:
    more = (words - 1).astype(_U64)
    return [
        key_of(position, False),
        key_of(position + more, True),
        key_of(source, False),
        key_of(source + more, True),
        key_of(origin, False),
    ]


def ask_characters(rows: Batches, borders: np.ndarray) -> Out:
    """Ask the ranges of passages, of their sources and origins for characters."""
    out = ShuffleRows()
    for target, found in targets(rows):
        for share, data in found:
            (position, words, source, origin, *_), _ = _unpacked(data)
            keys = np.unique(np.concatenate(_keys(position, words, source, origin)))
            of = range_of(borders, (keys >> _U64(33)).astype(_I64))
            for other, begin, end in divided(of):
                asked = pack(np.array([share]), steps_of(keys[begin:end]))
                out.add(other, target, asked)
        yield from out.full()
    yield from out.rest()


def characters(rows: Batches) -> Out:
    """Answer `ask_characters`; rows of kind `HERE` have the characters of words."""
    out = ShuffleRows()
    for _, found in targets(rows):
        spans = [unpack_spans(data) for kind, data in found if kind == HERE]
        position, size = (np.concatenate([s[k] for s in spans]) for k in range(2))
        order = np.argsort(position)
        starts = (np.cumsum(size) - size)[order]
        position, values = position[order], np.concatenate([s[2] for s in spans])
        for target, data in found:
            if target != HERE:
                share, steps = unpack(data, _I64, _U64)
                keys = undo_steps(steps)
                word = keys >> _U64(1)
                stretch = np.searchsorted(position, word, side="right") - 1
                row = starts[stretch] + (word - position[stretch]).astype(_I64)
                ends = values[row, (keys & _U64(1)).astype(_I64)]
                out.add(target, 2 * int(share[0]) + 1, pack(steps, ends))
                yield from out.full()
    yield from out.rest()


def rows_of_passages(rows: Batches, spec: PassageSpec) -> Out:
    """Return passages with characters, a row for each.

    Rows of `passages` have an even kind, and the answers of `characters` the odd one behind it.
    """
    for target, found in targets(rows):
        found.sort(key=lambda row: row[0])
        at = 0
        while at < len(found):
            kind, data = found[at]
            at += 1
            parts = []
            while at < len(found) and found[at][0] == kind + 1:
                steps, ends = unpack(found[at][1], _U64, _I32)
                parts.append((undo_steps(steps), ends))
                at += 1
            if parts:
                yield _passage_rows(data, parts, target, kind // 2, spec)


def _passage_rows(
    data: bytes,
    parts: list[tuple[np.ndarray, np.ndarray]],
    target: int,
    share: int,
    spec: PassageSpec,
) -> pa.RecordBatch:
    (position, words, source, origin, having, _, text, joined), _ = _unpacked(data)
    keys, values = (np.concatenate([part[k] for part in parts]) for k in range(2))
    order = np.argsort(keys)
    keys, values = keys[order], values[order].astype(_I64)
    asked = _keys(position, words, source, origin)
    start, end, source_start, source_end, origin_start = (
        values[np.searchsorted(keys, key)] for key in asked
    )
    document, of, first = ((v >> _DOCUMENT).astype(_I64) for v in (position, source, origin))
    common = having >= (spec.boilerplate or 1 << 32)
    kind = np.where(common, 2, np.where(of == document, 1, 0))
    columns = {
        "rank": document,
        "start": start,
        "end": end,
        "words": words,
        "source_rank": of,
        "source_start": source_start,
        "source_end": source_end,
        "origin_rank": first,
        "origin_start": origin_start,
        "documents": having,
        "kind": kind.astype(_I32),
        "hash": text.view(_I64),
        "joined": joined,
        "range": np.full(len(words), target, _I32),
        "share": np.full(len(words), share, _I32),
    }
    arrays = {name: array_of(np.ascontiguousarray(values)) for name, values in columns.items()}
    return pa.RecordBatch.from_pydict(arrays)


#: Schema of `rows_of_passages`.
PASSAGE_ROWS = (
    "rank long, start long, end long, words long, source_rank long, source_start long, "
    "source_end long, origin_rank long, origin_start long, documents long, kind int, hash long, "
    "joined long, range int, share int"
)
#: Schema of `rows_of_documents`.
DOCUMENT_ROWS = (
    "rank long, copied int, common int, source_rank long, words_from_source long, changed long"
)


def rows_of_documents(rows: Batches) -> Out:
    """Return the counts of documents with passages, a row for each."""
    names = [part.split()[0] for part in DOCUMENT_ROWS.split(", ")]
    for _, found in targets(rows):
        for _, data in found:
            _, columns = _unpacked(data)
            yield pa.RecordBatch.from_arrays(list(map(array_of, columns)), names=names)
