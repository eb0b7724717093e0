"""Kernels of passages against their references."""

from __future__ import annotations

import random
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
import pytest
import reference_passages as reference
from numba import config

from neardup.copied_passages.repeated.equal_rows import rows_of
from neardup.kernels.passages import (
    anchoring,
    equal_runs,
    following,
    growing,
    hashing,
    online,
    run_records,
    run_segments,
)
from neardup.kernels.passages import sources as kernels
from neardup.kernels.passages.positions import COPY, NONE

pytestmark = pytest.mark.jit_off

SEEDS = range(30)
#: Without the compiler, kernels take a thousand times as long.
FEW = range(12) if config.DISABLE_JIT else SEEDS
Lists = list[list[int]]
SEGMENT = (np.uint64, np.uint32, np.uint64, np.uint64, np.uint64, np.uint32)


def documents_of(rng: random.Random) -> Lists:
    """Documents over a few tokens, some of them large numbers."""
    tokens = [
        rng.choice([rng.randrange(9), rng.randrange(2**64)])
        for _ in range(rng.choice([1, 2, 4, 20]))
    ]
    return [rng.choices(tokens, k=rng.randrange(40)) for _ in range(rng.randrange(6))]


def ragged(lists: Lists) -> tuple[np.ndarray, np.ndarray]:
    offsets = np.array([0, *accumulate(map(len, lists))], np.int64)
    return np.array([value for values in lists for value in values], np.uint64), offsets


@pytest.mark.parametrize("seed", SEEDS)
def test_anchors_and_their_runs(seed: int) -> None:
    rng = random.Random(seed)
    documents = documents_of(rng)
    for document in list(documents):
        documents.insert(0, documents[0][: rng.randrange(40)] + document)
        documents[:0] = [list(documents[0]) for _ in range(rng.randrange(3))]
    gram, window = rng.randrange(1, 6), rng.randrange(1, 8)
    tokens, offsets = ragged(documents)
    keys, since = np.empty(len(tokens), np.uint64), np.empty(len(tokens), np.int32)
    counts = np.empty(len(documents), np.int32)
    count = anchoring.window_anchors(tokens, offsets, gram, window, keys, since, counts)
    anchors = [reference.window_anchors(values, gram, window) for values in documents]
    assert counts.tolist() == [len(each) for each in anchors]
    flat = [anchor for each in anchors for anchor in each]
    assert list(zip(keys[:count].tolist(), since[:count].tolist(), strict=True)) == flat

    known = np.unique(np.array([key for key, _ in flat if rng.random() < 0.1], np.uint64))
    shift = np.uint64(rng.choice([60, 63]))
    leading = np.arange(2 ** (64 - int(shift)) + 1)
    begins = np.searchsorted(known >> shift, leading.astype(np.uint64)).astype(np.int32)
    there = np.ones(len(documents), np.bool_)
    anchoring.with_anchors(keys, counts, (known, begins, shift), there)
    of_each = [[key for key, _ in each] for each in anchors]
    assert there.tolist() == [reference.with_anchors(each, known.tolist()) for each in of_each]

    words = gram + window - 1
    found = contents(tokens, offsets, (since[:count], counts), words)
    texts = [
        (*values[begin : end + words - 1],)
        for values, each in zip(documents, anchors, strict=True)
        for (_, begin), end in zip(
            each, [*(k for _, k in each[1:]), len(values) - words + 1], strict=False
        )
    ]
    assert len(set(zip(found, texts, strict=True))) == len(set(found)) == len(set(texts))

    most = rng.choice([2, 3])
    alike = {text: rng.randrange(most + 1) for text in texts}  # as those with equal keys
    marked = [alike[text] if alike[text] < 3 else 2 for text in texts]
    for text in (text for text in alike if alike[text] == 3):
        marked[texts.index(text)] = 3
    numbers = np.array(rng.sample(range(2**31), len(documents)), np.int64)
    chosen = (keys[:count], since[:count], counts, np.array(marked, np.uint8))
    recent = np.full((rng.choice([1, 4, 64]), 3), NONE)
    records = np.empty(2 * len(tokens) + 4 * count, np.uint64), np.empty(count, np.uint64)
    filled, made = hashing.runs_of_anchors(tokens, offsets, numbers, chosen, words, recent, records)
    expected, done = [], 0
    for number, values, each in zip(numbers.tolist(), documents, anchors, strict=True):
        rows = reference.runs_of_anchors(values, each, marked[done : done + len(each)], words)
        done += len(each)
        expected += [(high, low, number << 32 | run, *more) for high, low, run, *more in rows]
    if most == 2:
        assert expanded(records[0][:filled].tolist(), records[1][:made].tolist()) == expected
    each_run, done = [], 0
    for number, values, each in zip(numbers.tolist(), documents, anchors, strict=True):
        ones = [1 if alike[text] == 3 else alike[text] for text in texts[done : done + len(each)]]
        done += len(each)
        rows = reference.runs_of_anchors(values, each, ones, words)
        each_run += [(high, low, number << 32 | run, step) for high, low, run, step, _ in rows]
    assert unpacked(records[0][:filled]) == sorted(each_run)


def unpacked(words: np.ndarray) -> list[tuple[int, ...]]:
    """Both hashes, position and number of runs of rows, those of copies too; sorted."""
    every = np.full((2, 1), NONE)  # none is left out
    count, records, leaders = run_records.count_rows(words, every)
    kinds = np.uint64, np.uint64, np.uint64, np.int32
    rows = tuple(np.empty(count, kind) for kind in kinds)
    copies = tuple(np.empty(records, np.uint64) for _ in range(3))
    tables = tables_for(leaders, records)
    made = run_records.unpack_runs(words, tables, every, rows, copies)
    count, records, copied = made
    found = list(zip(*(column[:count].tolist() for column in rows), strict=True))
    of = {row[2]: row for row in found}
    total = 0
    for first, size, position in zip(*(c[:records].tolist() for c in copies), strict=True):
        runs = size & 0xFFFFFFFF
        for k in range(size >> 32):
            total, at = total + 1, 0
            while at < runs:
                high, low, _, step = of[first + at]
                found.append((high, low, (position ^ int(COPY)) + k * runs + at, step))
                at += step
    assert total == copied
    return sorted(found)


def tables_for(leaders: int, copies: int) -> tuple[np.ndarray, np.ndarray]:
    """Working memory of `unpack_runs`."""
    counts = (leaders, copies) if leaders else (0, 0)
    slots = [2 << (int(count) - 1).bit_length() if count else 0 for count in counts]
    return np.zeros((slots[0], 3), np.uint64), np.zeros((slots[1], 3), np.uint64)


def contents(
    tokens: np.ndarray, offsets: np.ndarray, anchors: tuple[np.ndarray, ...], words: int
) -> list[int]:
    found, space = np.empty(len(anchors[0]), np.uint64), np.empty(len(tokens) + 1, np.uint64)
    hashing.contents_of_anchors(tokens, offsets, anchors, words, space, found)
    return found.tolist()  # type: ignore[no-any-return]


def expanded(words: list[int], keys: list[int]) -> list[tuple[int, ...]]:
    """Records of runs and of copies as rows: both hashes, position, number of runs, key."""
    copy, found, at = int(COPY), [], 0
    rows: dict[int, list[tuple[int, int, int, int]]] = {}  # of each anchor that is no copy
    for key in keys:
        position, runs = words[at : at + 2]
        if position & copy:
            for k in range(runs >> 32):
                begin = (position ^ copy) + k * (runs & 0xFFFFFFFF)
                first = words[at + 2]
                found += [(*row[:2], begin + row[2] - first, row[3], key) for row in rows[first]]
            at += 3
            continue
        size = 1 if runs >> 63 else runs
        hashes = words[at + 2 : at + 2 + 2 * size]
        rows[position] = [
            (*hashes[2 * k : 2 * k + 2], position + k, runs & (1 << 63) - 1 if runs >> 63 else 1)
            for k in range(size)
        ]
        found += [(*row, key) for row in rows[position]]
        at += 2 + 2 * size
    assert at == len(words)
    return found


@pytest.mark.parametrize("seed", FEW)
def test_passages_of_single_texts(seed: int) -> None:
    rng = random.Random(seed)
    documents, words, gram = documents_of(rng), rng.randrange(1, 6), rng.randrange(1, 3)
    for document in list(documents):
        at = rng.randrange(len(document) + 1)
        documents.append([*document[at : at + 9], *document])  # copies of others, and within
    half = len(documents) // 2
    stored, asked = documents[:half], documents[half:]
    read = []
    for each in (stored, asked):
        tokens, offsets = ragged(each)
        keys = np.zeros(len(tokens), np.uint64)
        online.run_keys(tokens, offsets, words, keys)
        for values, first in zip(each, offsets.tolist(), strict=False):
            expected = reference.run_keys(values, words)
            assert keys[first : first + len(expected)].tolist() == expected
        read.append((tokens, offsets, keys))

    tokens, offsets, keys = read[1]
    window = max(1, words - gram + 1)
    gram = words - window + 1
    hashes, since = np.empty(len(tokens), np.uint64), np.empty(len(tokens), np.int32)
    counts = np.empty(len(asked), np.int32)
    count = anchoring.window_anchors(tokens, offsets, gram, window, hashes, since, counts)
    marked = [rng.random() < 0.5 for _ in range(count)]
    of = since[:count], counts, np.array(marked, np.bool_)
    out = np.empty(len(tokens), np.uint64), np.empty(len(tokens), np.int64)
    count = online.runs_of_marked(offsets, np.arange(len(asked)), of, words, keys, out)
    expected_runs, done = [], 0
    for d, values in enumerate(asked):
        anchors = reference.window_anchors(values, gram, window)
        runs = max(0, len(values) - words + 1)
        chosen = reference.runs_of_marked(anchors, marked[done : done + len(anchors)], runs)
        done += len(anchors)
        expected_runs += [(int(keys[offsets[d] + run]), d) for run in chosen]
    assert list(zip(*(column[:count].tolist() for column in out), strict=True)) == expected_runs

    rows = [sorted(rng.sample(range(half), rng.randrange(half + 1))) for _ in asked]
    pairs = ragged(rows)
    places = [np.zeros(len(tokens), kind) for kind in (np.uint64, np.uint64, np.int64)]
    passages = np.empty((len(tokens), 6), np.uint64)
    limits = (pairs[1], pairs[0].astype(np.int32))
    found_rows = []
    for low, high in ((0, 1), (1, len(asked))) if len(asked) > 1 else ((0, len(asked)),):
        which = (low, high)
        online.positions_of_runs(read[1], which, words, read[0], limits, tuple(places))
        count = online.grow_copied(read[1], which, words, read[0], tuple(places), passages)
        found_rows += passages[:count].tolist()
    expected_rows = []
    none = int(NONE)
    for d, (values, of_text) in enumerate(zip(asked, rows, strict=True)):
        at = reference.positions_of_runs(values, stored, of_text, words)
        here = slice(int(offsets[d]), int(offsets[d]) + len(at))
        shown = [(none if a is None else a, none if b is None else b, n) for a, b, n in at]
        assert list(zip(*(column[here].tolist() for column in places), strict=True)) == shown
        grown = reference.grow_copied(values, stored, at, words)
        expected_rows += [[d, *row] for row in grown]
    assert found_rows == expected_rows

    # Tokens that are alike but for a multiple of the prime have equal hashes.
    alike = [[value % 3 + rng.choice([0, 0, reference.PRIME]) for value in each] for each in stored]
    many = [*stored, *asked, *alike]
    every = np.array([[d, e] for d in range(len(many)) for e in range(0, len(many), 3)], np.int64)
    longest = np.full((len(every), 3), -1)
    online.longest_shared(ragged(many), ragged(many), every.reshape(-1, 2), words, longest)
    assert [tuple(row) for row in longest.tolist()] == [
        reference.longest_shared(many[d], many[e]) for d, e in every.tolist()
    ]


#: Added to the value of a run for each run before it in the same row.
FURTHER = 100


def runs_of(rng: random.Random) -> list[tuple[int, int]]:
    """Positions, ascending, and values of runs: rows of them in a few documents.

    Values from `FURTHER` on always follow the same others: together they are a row.
    """
    values = range(rng.choice([1, 2, 4, 12]))
    sizes = [rng.choice([1, 1, 2, 4]) for _ in values]
    found = []
    for document in range(rng.randrange(1, 9)):
        at = 0
        before = [run for run in found if run[0] >> 32 == document - 1]
        if rng.random() < 0.3:
            found += [(position + (1 << 32), value) for position, value in before]
            continue
        while rng.random() < 0.7:
            at += rng.choice([0, 0, 1, 3])
            for _ in range(rng.randrange(1, 8)):
                value = rng.choice(values)
                for k in range(sizes[value]):
                    found.append((document << 32 | at, value + k * FURTHER))
                    at += 1
    return found


def sources(
    rng: random.Random, runs: list[tuple[int, int]], words: int, limit: int
) -> tuple[list[np.ndarray], list[int] | None, bool]:
    """What `sources_of_runs` finds; the groups of documents, and whether others are compared.

    Some documents without gaps are copies of others: these have no rows.
    """
    groups = rng.choice([None, [rng.randrange(-1, 3) for _ in range(9)]])
    others = rng.random() < 0.5
    own: dict[int, list[tuple[int, int]]] = {}  # runs of each document, by token
    for position, value in runs:
        own.setdefault(position >> 32, []).append((position & 0xFFFFFFFF, value))
    copied = {d: min(e for e in own if own[e] == own[d]) for d in own}
    copied = {
        d: e
        for d, e in copied.items()
        if d != e and own[d][-1][0] - own[d][0][0] == len(own[d]) - 1 and rng.random() < 0.9
    }
    rows, sizes = [], []
    for run in runs:
        if run[0] >> 32 in copied:
            continue
        if run[1] < FURTHER:
            rows.append(run)
            sizes.append(0)
        sizes[-1] += 1
    position = np.array([p for p, _ in rows], np.uint64)
    low = np.array([value for _, value in rows], np.uint64)
    numbers = {p: row for row, (p, _) in enumerate(rows)}
    copies: list[list[int]] = [[] for _ in rows]
    of = np.full(len(rows), -1, np.int32)
    for document, other in copied.items():
        first = numbers[other << 32 | own[other][0][0]]
        copies[first].append(document << 32 | own[document][0][0])
        of[first : first + sum(value < FURTHER for _, value in own[other])] = first
    firsts = np.array([0, *accumulate(map(len, copies))], np.int64)
    places = np.array([place for each in copies for place in each], np.uint64)

    lists: dict[int, list[int]] = {}
    for row, (_, value) in enumerate(rows):  # some values share their high hash
        lists.setdefault(value % 5, []).append(row)
    members_of = np.array([row for each in lists.values() for row in each], np.int32)
    starts = np.array([0, *accumulate(map(len, lists.values()))], np.int32)
    group_of, members = np.full(len(rows), -1, np.int32), np.empty(len(rows), np.int32)
    ends = np.zeros(len(rows) + 1, np.int64)
    count = equal_runs.split_groups(members_of, starts, low, (group_of, of, 0), members, ends)
    count = equal_runs.add_copied(group_of, of, count, members, ends)
    after = np.empty(count, np.int32)
    chosen = (group_of, members, ends[: count + 1])
    runs_of_rows = np.array(sizes, np.int32)
    base = position, runs_of_rows
    later = np.empty(count, np.bool_)
    total = equal_runs.follow_groups(base, chosen, of, firsts, after, later)

    found = [np.empty(total, kind) for kind in SEGMENT]
    table = np.full((3, 0 if groups is None else 3), -1, np.int64)
    kernels.sources_of_runs(
        (*base, of),
        (firsts, places),
        (members, ends[: count + 1], after, later),
        words,
        (np.array([] if groups is None else groups, np.int32), others, limit, table),
        np.empty(total, np.uint64),
        tuple(found),
    )
    return found, groups, others


def packed(rng: random.Random, table: tuple[np.ndarray, ...]) -> np.ndarray:
    """The rows of a table that was written as words and read again."""
    share = rng.choice([1, 2, 9])
    ranges = -(-9 // share)
    ends = np.empty(ranges + 1, np.int64)
    run_segments.pack_segments(table, share, ends, np.empty(0, np.uint64))
    words = np.empty(int(ends[-1]), np.uint64)
    run_segments.pack_segments(table, share, ends, words)
    rows: Any = list(zip(*(column.tolist() for column in table), strict=True))
    expected = reference.pack_segments(rows, share, ranges)
    assert [words[a:b].tolist() for a, b in pairwise(ends.tolist())] == expected
    count = run_segments.unpack_segments(words, np.empty((0, 5), np.uint64))
    read = np.empty((count, 5), np.uint64)
    run_segments.unpack_segments(words, read)
    found = as_tuples(read)
    assert found == reference.unpack_segments(words.tolist())
    assert found == [row for row in rows if row[0] != row[2]]
    return read


def as_tuples(rows: np.ndarray) -> list[tuple[int, ...]]:
    """Position, runs, first, first earlier, latest earlier position, and documents."""
    return [
        (row[0], row[1] & 0xFFFFFFFF, *row[2:], row[1] >> 32) for row in map(tuple, rows.tolist())
    ]


@pytest.mark.parametrize("seed", SEEDS)
def test_sources_and_passages(seed: int) -> None:
    rng = random.Random(seed)
    runs, words = runs_of(rng), rng.randrange(2, 6)
    boilerplate = rng.choice([0, 2, 3, 4])
    limit = boilerplate or 1 << 32
    found, groups, others = sources(rng, runs, words, limit)
    expected = reference.sources_of_runs(runs, words, groups, others, limit)
    none = int(NONE)
    rows = []  # of each run
    for position, length, *places, documents in zip(*(c.tolist() for c in found), strict=True):
        for i in range(length):
            moved = [None if place == none else place + i for place in places]
            rows.append((position + i, *moved, documents))
    kept = [i for i, row in enumerate(expected) if row[0] is not None]
    assert sorted(rows) == [(runs[i][0], *expected[i]) for i in kept]

    single = [(runs[i][0], 1, *expected[i]) for i in kept]
    joined = reference.join_segments(single)  # type: ignore[arg-type]
    order = np.argsort(found[0])
    columns = [column[order] for column in found]
    table = rows_of(columns)
    table = table[: run_segments.join_segments(table)]
    assert [tuple(None if v == none else v for v in row) for row in as_tuples(table)] == joined

    by_position = {runs[i][0]: expected[i] for i in kept}
    if rng.random() < 0.5:  # those that are the first are left out of files
        table = packed(rng, tuple(columns))
        table = table[: run_segments.join_segments(table)]
    space, count = rng.choice([1, 3, 1000]), len(table)
    for rule in range(3):
        made, row, start = [], 0, 0
        while row < count:
            out = np.empty((space, 6), np.uint64)
            span = (row, start), count
            filled, row, start = growing.grow(table, *span, rule, boilerplate, out)
            made += list(map(tuple, out[:filled].tolist()))
        assert made == reference.grow(by_position, rule, boilerplate)  # type: ignore[arg-type]


def passages_of(rng: random.Random) -> tuple[list[tuple[int, int, int]], list[int]]:
    """Passages, as position, words and source, none within another; tokens of each document."""
    found: list[tuple[int, int, int]] = []
    tokens = [rng.randrange(5, 30) for _ in range(6)]
    for document in range(1, 6):
        at = end = 0
        while True:
            at += rng.randrange(1, 6)
            words = rng.randrange(3, 8)
            if at + words <= end:
                continue
            end = at + words
            if end > tokens[document]:
                break
            source = rng.randrange(document)
            there = rng.randrange(max(1, tokens[source] - words))
            found.append((document << 32 | at, words, source << 32 | there))
    return found, tokens


@pytest.mark.parametrize("seed", SEEDS)
def test_words_of_passages(seed: int) -> None:
    rng = random.Random(seed)
    passages, tokens = passages_of(rng)
    words, boilerplate = 3, rng.choice([0, 4])
    rows = np.zeros((len(passages), 6), np.uint64)
    for row, (position, size, _) in zip(rows, passages, strict=True):
        row[:] = position, size - words + 1, 0, 0, rng.randrange(2, 8), 0
    limits = np.arange(len(tokens) + 1, dtype=np.uint64) << np.uint64(32)
    starts = np.searchsorted(rows[:, 0], limits)
    gained = np.empty(len(rows), np.int32)
    copied, common = (np.empty(len(tokens), np.int32) for _ in range(2))
    counts = np.array(tokens, np.int32)
    growing.share_words(rows, starts, counts, words, boilerplate, gained, copied, common)
    for document in range(len(tokens)):
        low, high = starts[document], starts[document + 1]
        own = [
            (int(p) & 0xFFFFFFFF, int(runs), bool(boilerplate and holders >= boilerplate))
            for p, runs, _, _, holders, _ in rows[low:high]
        ]
        expected = reference.share_words(own, words)
        assert (gained[low:high].tolist(), copied[document], common[document]) == expected


@pytest.mark.parametrize("seed", SEEDS)
def test_bridges(seed: int) -> None:
    rng = random.Random(seed)
    passages, _ = passages_of(rng)
    gap = rng.randrange(8)
    position = np.array([row[0] for row in passages], np.uint64)
    words = np.array([row[1] for row in passages], np.int64)
    numbers, changed = (np.empty(len(passages), np.int64) for _ in range(2))
    there = np.array([row[2] for row in passages], np.uint64)
    following.bridge(position, words, there, gap, numbers, changed)
    found = [None if number < 0 else number for number in numbers.tolist()]
    assert (found, changed.tolist()) == reference.bridge(passages, gap)


@pytest.mark.parametrize("seed", SEEDS)
def test_words_that_are_left_nowhere(seed: int) -> None:
    rng = random.Random(seed)
    passages, tokens = passages_of(rng)
    covered = sorted({first + i for first, words, _ in passages for i in range(words)})
    cuts: list[tuple[int, int]] = []
    for word in covered:
        if cuts and word == sum(cuts[-1]):
            cuts[-1] = cuts[-1][0], cuts[-1][1] + 1
        elif rng.random() < 0.8:
            cuts.append((word, 1))
    dropped = {d for d in range(len(tokens)) if rng.random() < 0.3}
    common = [rng.random() < 0.3 for _ in passages]
    columns = [np.array(column, np.uint64) for column in zip(*passages, strict=True)]
    columns = columns or [np.empty(0, np.uint64)] * 3
    position, words, source = columns
    first, size = (np.array([row[k] for row in cuts], np.uint64) for k in range(2))
    lost, needed = np.zeros(len(tokens), np.int64), np.zeros(len(tokens), np.bool_)
    following.last_sources(
        position,
        words.astype(np.int64),
        source,
        np.array(common, np.bool_),
        first,
        size.astype(np.int64),
        np.array([d in dropped for d in range(len(tokens))]),
        lost,
        needed,
    )
    expected = reference.last_sources(passages, common, cuts, dropped)
    assert {d: n for d, n in enumerate(lost.tolist()) if n} == expected[0]
    assert set(np.flatnonzero(needed).tolist()) == expected[1]
