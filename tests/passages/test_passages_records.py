"""Records of runs, as they are written to files."""

from __future__ import annotations

import random
from collections import Counter

import numpy as np
import pytest

from neardup.copied_passages.repeated.hashed_runs import HashedRuns
from neardup.files.scratch import Scratch
from neardup.kernels.bits import mix
from neardup.kernels.passages import run_records
from neardup.kernels.passages.positions import COPY
from neardup.sketch.run_anchors import RunLength, anchors_of
from neardup.sketch.texts import Ragged

SEEDS = range(60)


def test_memory_for_records_of_a_large_document_is_given_back() -> None:
    scratch, rng = Scratch(), np.random.default_rng(1)
    records = HashedRuns(8, scratch.empty)
    tokens = Ragged(rng.integers(0, 1 << 60, 2_000_000).astype(np.uint64), np.array([0, 2_000_000]))
    keys, since, counts = anchors_of(tokens, RunLength(8))
    marked = np.ones(len(keys), np.uint8)
    for _ in range(2):
        records.add(tokens, np.arange(1), (keys, since, counts, marked))
        words, ends = records.divided(3)
        assert len(words) == ends[-1] > 0
        assert scratch.used == words.nbytes
        del words
        assert scratch.used == 0
        records.begin()


def slot_of(position: int, seen: np.ndarray) -> int:
    return int(mix(np.uint64(position))) % (64 * seen.shape[1])


def noted_slots(records: list[list[int]], slots: int) -> set[int]:
    """Slots of hashes that occur twice, and of the positions of originals."""
    counts: Counter[int] = Counter()
    originals = set()
    for position, runs, *rest in records:
        if position & int(COPY):
            originals.add(int(mix(np.uint64(rest[0]))) % slots)
        elif runs >> 62 != 2:
            hashes = rest[2:] if runs >> 62 else rest
            counts.update(value % slots for value in hashes[::2])
    return originals | {slot for slot, count in counts.items() if count > 1}


@pytest.mark.parametrize("seed", SEEDS)
def test_records_of_runs(seed: int) -> None:
    rng = random.Random(seed)
    records: list[list[int]] = []
    keys: list[int] = []
    some_hashes = [rng.randrange(2**64) for _ in range(rng.choice([2, 30, 1000]))]
    for _ in range(rng.randrange(20)):
        position, runs = rng.randrange(1000) << 32 | rng.randrange(9), rng.randrange(1, 6)
        keys.append(rng.randrange(2**64))
        kind = rng.randrange(5)
        one = [record for record in records if record[1] >> 63 and not record[0] & int(COPY)]
        if kind == 0:
            copies, first = rng.randrange(1, 4) << 32, rng.randrange(2**20) << 32
            if one and rng.random() < 0.6:  # of runs with one hash, in the same part
                original = rng.choice(one)
                keys[-1] = keys[records.index(original)]
                first, runs = original[0], original[1] & 0xFFFFFFFF
            records.append([position | int(COPY), copies | runs, first])
        elif kind == 4 and one:  # as others, of which one may be a leader
            number = records.index(rng.choice(one))
            runs, keys[-1] = records[number][1] & 0xFFFFFFFF, keys[number]
            records.append([position, runs | 1 << 63, *records[number][2:4]])
        else:
            hashes = [rng.choice(some_hashes) for _ in range(2 if kind == 1 else 2 * runs)]
            head = runs | (kind == 1) << 63
            if kind == 3:
                head, hashes[:0] = runs | 3 << 62, [rng.randrange(2**64) for _ in range(2)]
            records.append([position, head, *hashes])
    flat = np.array([word for record in records for word in record], np.uint64)
    parts = rng.randrange(1, 6)
    ends, words = np.empty(parts + 1, np.int64), np.empty(len(flat), np.uint64)
    run_records.divide_records(flat, np.array(keys, np.uint64), parts, ends, words)
    for part in range(parts):
        some = [r for r, key in zip(records, keys, strict=True) if key % parts == part]
        rows, copies = [], []
        seen = np.zeros((2, rng.choice([1, 4, 64])), np.uint64)
        noted = noted_slots(some, 64 * seen.shape[1])
        leaders = {(*rest[:2],): p for p, runs, *rest in some if runs >> 62 == 3}
        moved: dict[int, int] = {}
        for position, runs, *rest in some:
            if position & int(COPY):
                first = moved.get(rest[0], rest[0])
                copies.append((first, runs, position))
            elif runs >> 62 == 2 and (*rest,) in leaders:
                moved[position] = leaders[*rest]
                one = 1 << 32 | runs & 0xFFFFFFFF
                copies.append((leaders[*rest], one, position | int(COPY)))
            elif runs >> 62 == 2:
                rows.append((*rest, position, runs ^ 1 << 63))
            else:
                every = runs >> 62 or slot_of(position, seen) in noted
                rest = rest[2:] if runs >> 62 else rest
                for k, pair in enumerate(zip(rest[::2], rest[1::2], strict=True)):
                    if every or pair[0] % (64 * seen.shape[1]) in noted:
                        rows.append((*pair, position + k, 1))
        of_part = words[ends[part] : ends[part + 1]]
        run_records.note_hashes(of_part, seen)
        counts = run_records.count_rows(of_part, seen)
        assert counts[0] >= len(rows) and counts[1] >= len(copies) and counts[2] == len(leaders)
        kinds = (np.uint64, np.uint64, np.uint64, np.int32)
        both = (
            [np.empty(counts[0], kind) for kind in kinds],
            [np.empty(counts[1], np.uint64) for _ in range(3)],
        )
        slots = [2 << count.bit_length() if counts[2] else 0 for count in (counts[2], counts[1])]
        tables = tuple(np.zeros((each, 3), np.uint64) for each in slots)
        sizes = run_records.unpack_runs(of_part, tables, seen, *map(tuple, both))
        assert sizes == (len(rows), len(copies), sum(runs >> 32 for _, runs, _ in copies))
        for found, expected, size in zip(both, (rows, copies), sizes, strict=False):
            listed = list(zip(*(each[:size].tolist() for each in found), strict=True))
            assert listed == expected


@pytest.mark.parametrize("seed", SEEDS)
def test_records_as_rows(seed: int) -> None:
    rng = random.Random(seed)
    words: list[int] = []
    keys, rows = [], []
    for number in range(rng.randrange(9)):
        position, key, runs = (
            number << 32 | rng.randrange(9),
            rng.randrange(99),
            rng.randrange(1, 5),
        )
        keys.append(key)
        if rng.random() < 0.5:
            copies, origin = rng.randrange(1, 4), rng.randrange(number + 1) << 32
            words += [position | int(COPY), runs | copies << 32, origin]
            at = [position + k * runs | int(COPY) for k in range(copies)]
            rows += [(origin, runs, each, key) for each in at]
        else:
            hashes = [(rng.randrange(2**64), rng.randrange(2**64)) for _ in range(runs)]
            words += [position, runs, *(half for each in hashes for half in each)]
            rows += [(*each, position + k, key) for k, each in enumerate(hashes)]
    columns = [np.empty(len(rows), np.uint64) for _ in range(4)]
    arguments = np.array(words, np.uint64), np.array(keys, np.uint64), tuple(columns)
    assert run_records.columns_of(*arguments) == len(rows)
    assert list(zip(*(each.tolist() for each in columns), strict=True)) == rows


def test_digests_tell_words_and_their_order() -> None:
    words = np.arange(9, dtype=np.uint64)
    found = {int(run_records.digest_of(words, np.uint64(0)))}
    for other in (words[::-1].copy(), words[:8], words + np.uint64(1)):
        found.add(int(run_records.digest_of(other, np.uint64(0))))
    assert len(found) == 4
    half = np.uint64(run_records.digest_of(words[:4], np.uint64(0)))
    assert int(run_records.digest_of(words[4:], half)) in found
