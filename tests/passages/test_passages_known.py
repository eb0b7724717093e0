"""Templates that the first pass finds: what it says of each anchor, and records of runs."""

from __future__ import annotations

import random
from collections import Counter
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
import pytest
import reference_passages as reference

import neardup
from neardup.copies.repeated import known_text, repeats
from neardup.files.scratch import Scratch
from neardup.kernels.bits import mix
from neardup.kernels.passages import characters, run_records
from neardup.kernels.passages.anchoring import COUNT, DONE, MOST, NUMBER, window_anchors
from neardup.kernels.passages.hashing import contents_of_anchors
from neardup.kernels.passages.known import match_known, no_known
from neardup.kernels.passages.positions import COPY
from neardup.sketch.run_anchors import RunLength, anchors_of
from neardup.sketch.texts import Ragged

SEEDS = range(60)


def with_templates(rng: random.Random) -> list[list[int]]:
    """Documents over few words, most of them with one of two templates, or with both.

    Some have a word that differs in the template, or a row of them.
    """
    words = rng.choice([2, 5, 1000])
    templates = [[rng.randrange(1, words + 1) for _ in range(rng.randrange(40))] for _ in range(2)]
    made = []
    for _ in range(rng.randrange(1, 40)):
        document = [rng.randrange(1, words + 1) for _ in range(rng.randrange(30))]
        for _ in range(rng.choice([0, 1, 1, 2])):
            at = rng.randrange(len(document) + 1)
            template = [*rng.choice(templates)]
            if template and rng.random() < 0.5:
                changed = rng.randrange(len(template))
                other = [rng.randrange(2000, 10**9) for _ in range(rng.choice([1, 2, 30]))]
                template[changed : changed + 1] = other
            document[at:at] = template
        made.append(document)
    return made


@pytest.mark.parametrize("seed", SEEDS)
def test_every_run_is_in_a_stretch_listed_or_left(seed: int) -> None:
    rng = random.Random(seed)
    documents, gram, window = with_templates(rng), rng.randrange(1, 5), rng.randrange(1, 8)
    words, done, first = gram + window - 1, 0, 0
    slots, store, near = rng.choice([1, 16, 1024]), rng.choice([1, 60, 2000]), rng.choice([1, 16])
    known = no_known(slots, store, np.zeros(near, np.uint64))
    origins: dict[tuple[int, int], tuple[int, int]] = {}  # of runs in stretches
    keys_of: dict[tuple[int, int], int] = {}
    kept: dict[int, list[int]] = {}  # numbers of the anchors with each key
    content_of: dict[int, int] = {}  # of each anchor
    listed, left = set(), set()
    while done < len(documents):
        some = documents[done : done + rng.randrange(1, 9)]
        tokens = np.array([token for each in some for token in each], np.uint64)
        offsets = np.array([0, *accumulate(map(len, some))], np.int64)
        keys, since = np.empty(len(tokens), np.uint64), np.empty(len(tokens), np.int32)
        counts = np.empty(len(some), np.int32)
        none = np.zeros((len(some), 2), np.int32)
        count = window_anchors(tokens, offsets, none, gram, window, keys, since, counts)
        keys, since = keys[:count], since[:count]
        size = 2 * count + int(known.filled[2])
        out: Any = (np.empty(size, np.uint64), np.empty(size, np.int64), np.empty(size, np.uint64))
        out += (np.empty(2 * count, np.uint64), np.empty(2 * count, np.int32))
        out += (np.empty(len(some), np.int32), np.empty(2 * count, np.uint8))
        out += (np.empty((count, 7), np.uint64),)
        contents, space = np.empty(count, np.uint64), np.empty(len(tokens) + 1, np.uint64)
        anchors = keys, since, counts
        contents_of_anchors(tokens, offsets, none, anchors, words, space, contents)
        kinds = np.int32, np.int32, np.bool_
        more = tuple(np.empty(len(keys), kind) for kind in kinds)
        rows, _, found = match_known(
            tokens, offsets, (*anchors, contents), (done, first), (words, gram), known, more, out
        )
        content_of |= enumerate(contents.tolist(), start=first)
        number = 0
        for d, values in enumerate(some):
            total = len(values) - words + 1
            of_document = range(number, number + int(counts[d]))
            for a in of_document:
                end = int(since[a + 1]) if a + 1 in of_document else total
                keys_of |= {(done + d, run): int(keys[a]) for run in range(since[a], end)}
            number += int(counts[d])
        for position, origin, length in out[7][:found, :3].tolist():
            for k in range(length):
                run = position >> 32, (position & 0xFFFFFFFF) + k
                assert run not in origins
                origins[run] = origin >> 32, (origin & 0xFFFFFFFF) + k
        ends = np.append(0, np.cumsum(out[5])).tolist()
        for d, (low, high) in enumerate(pairwise(ends)):
            stops = [*out[4][low + 1 : high].tolist(), len(some[d]) - words + 1]
            for key, begin, end, mark in zip(
                *(each[low:high].tolist() for each in (out[3], out[4])),
                stops[: high - low],
                out[6][low:high].tolist(),
                strict=True,
            ):
                if mark:
                    new = {(done + d, run) for run in range(begin, end)}
                    assert not new & listed and all(keys_of[run] == key for run in new)
                    listed |= new
        for key, row, content in zip(*(each[:rows].tolist() for each in out[:3]), strict=True):
            one, more = row & int(NUMBER | DONE), row >> int(COUNT) & int(MOST)
            # A row of many is not the only one with its key, or the sort of rows would not see it.
            assert not more or kept[key]
            for anchor in range(one, one + more + 1):
                kept.setdefault(key, []).append(anchor)
                assert content_of[anchor & int(NUMBER)] == content
        done, first = done + len(some), first + count
    left = {run for run in keys_of if run not in origins and run not in listed}
    assert not listed & set(origins)
    waiting = {anchor for every in kept.values() for anchor in every if anchor < DONE}
    for run in origins:  # of a run that is in no stretch itself, and equal
        other = origins[run]
        assert other not in origins and other < run
        here, there = (documents[d][i : i + words] for d, i in (run, other))
        assert here == there
        # It is listed, or its anchor has a key that is there twice, and is read again.
        assert other in listed or len(kept[keys_of[other]]) > 1
    for run in listed | left:
        assert keys_of[run] in kept
    ends = {run for run in origins if (run[0], run[1] + 1) not in origins}
    begins = {run for run in origins if (run[0], run[1] - 1) not in origins}
    grams_at = [(d, run + words + more - gram) for d, run in ends for more in (1, 2)]
    grams_at += [(d, run - more) for d, run in begins for more in (1, 2)]
    next_keys = {
        reference.window_anchors(documents[d][at : at + gram], gram, 1)[0][0]
        for d, at in grams_at
        if at >= 0 and at + gram <= len(documents[d])
    }
    # Equal to another one, or between two stretches close by, or next to one.
    for document, run in listed:
        before = max((k for d, k in ends if d == document and k < run), default=-len(keys_of))
        behind = min((k for d, k in origins if d == document and k > run), default=len(keys_of))
        is_between = behind - before - 1 <= 2 * words
        key = keys_of[document, run]
        assert is_between or len(kept[key]) > 1 or key in next_keys
    assert len(waiting) >= len({keys_of[run] for run in left})


def test_runs_with_a_word_or_two_next_to_a_template_are_not_read_again(
    kernels: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of two documents with the same word there, the first one is not known to have an equal."""
    form = " ".join(f"form{i}" for i in range(120))
    rows = []
    for i in range(2000):
        own = [f"w{i}x{k}" for k in range(60)]
        rows.append(" ".join([*own[:20], f"before{i // 2}", form, f"behind{i // 2}", *own[20:]]))
    again = read_again(monkeypatch)
    run = neardup.passages(rows, progress=False)
    assert run.summary["counts"]["copied_words"] == 1999 * 120 + 2 * 1000
    assert sum(again) <= 20


def test_memory_for_records_of_a_large_document_is_given_back() -> None:
    scratch, rng = Scratch(), np.random.default_rng(1)
    records = known_text.RunRecords(8, scratch.empty)
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


def read_again(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Numbers of documents that are read again, to be filled by runs."""
    again = list[int]()
    texts = repeats.Finder._first_tokens

    def counted(self: repeats.Finder, text: Any, needed: np.ndarray) -> Any:
        again.append(len(text))
        return texts(self, text, needed)

    monkeypatch.setattr(repeats.Finder, "_first_tokens", counted)
    return again


def slot_of(position: int, seen: np.ndarray) -> int:
    return int(mix(np.uint64(position))) % (64 * seen.shape[1])


def noted_slots(records: list[list[int]], more: int, slots: int) -> set[int]:
    """Slots of hashes that occur twice, and of the positions of originals."""
    counts: Counter[int] = Counter()
    originals = set()
    for position, runs, *rest in records:
        if position & int(COPY):
            originals.add(int(mix(np.uint64(rest[0] + more))) % slots)
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
    of_all = np.array([rng.random() < 0.1 for _ in range(rng.choice([0, 1010]))], np.bool_)
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
    more = rng.randrange(9) << 32
    run_records.shift_runs(words, np.uint64(more))
    for part in range(parts):
        some = [r for r, key in zip(records, keys, strict=True) if key % parts == part]
        rows, copies = [], []
        seen = np.zeros((2, rng.choice([1, 4, 64])), np.uint64)
        noted = noted_slots(some, more, 64 * seen.shape[1])
        leaders = {(*rest[:2],): p for p, runs, *rest in some if runs >> 62 == 3}
        moved: dict[int, int] = {}
        for position, runs, *rest in some:
            if position & int(COPY):
                first = moved.get(rest[0], rest[0])
                copies.append((first + more, runs, position + more))
            elif runs >> 62 == 2 and (*rest,) in leaders:
                moved[position] = leaders[*rest]
                one = 1 << 32 | runs & 0xFFFFFFFF
                copies.append((leaders[*rest] + more, one, position + more | int(COPY)))
            elif runs >> 62 == 2:
                rows.append((*rest, position + more, runs ^ 1 << 63))
            else:
                every = runs >> 62 or slot_of(position + more, seen) in noted
                every = every or (len(of_all) and of_all[position + more >> 32])
                rest = rest[2:] if runs >> 62 else rest
                for k, pair in enumerate(zip(rest[::2], rest[1::2], strict=True)):
                    if every or pair[0] % (64 * seen.shape[1]) in noted:
                        rows.append((*pair, position + more + k, 1))
        begin, end = ends[part : part + 2]
        cut = begin + sum(map(len, some[: rng.randrange(len(some) + 1)]))
        blocks = np.array([begin, cut]), np.array([cut, end])
        run_records.note_hashes(words, blocks, seen)
        counts = run_records.count_rows(words, blocks, seen, of_all)
        assert counts[0] >= len(rows) and counts[1] >= len(copies) and counts[2] == len(leaders)
        kinds = (np.uint64, np.uint64, np.uint64, np.int32)
        both = (
            [np.empty(counts[0], kind) for kind in kinds],
            [np.empty(counts[1], np.uint64) for _ in range(3)],
        )
        chosen = seen, of_all
        slots = [2 << count.bit_length() if counts[2] else 0 for count in (counts[2], counts[1])]
        tables = tuple(np.zeros((each, 3), np.uint64) for each in slots)
        sizes = run_records.unpack_runs(words, blocks, tables, chosen, *map(tuple, both))
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


@pytest.mark.parametrize("seed", SEEDS)
def test_characters_around_stretches(seed: int) -> None:
    rng = random.Random(seed)
    words, asked, expected, stretches = rng.randrange(2, 5), [], [], []
    size, limits, begins, tokens = 0, [], [], [0]
    for d in range(rng.randrange(1, 6)):
        own = [rng.choice("aä€😀") * rng.choice([1, 2, 300]) for _ in range(rng.randrange(40))]
        starts = [0, *accumulate(len(word) + 1 for word in own)]
        begins.append(size)
        limits += [
            size + a + k * len(word) for a, word in zip(starts, own, strict=False) for k in (0, 1)
        ]
        size += len(" ".join(own))
        tokens.append(tokens[-1] + len(own))
        first = 0
        while first + words <= len(own) and rng.random() < 0.7:
            runs = rng.randrange(1, len(own) - first - words + 2)
            stretches.append([d << 32 | first, 0, runs, 0, 0, 0, 0])
            first += runs
        for i, word in enumerate(own):
            for end in range(2):
                asked.append((d << 32 | i) << 1 | end)
                expected.append(starts[i] + end * len(word))
    table = np.array(stretches, np.uint64).reshape(-1, 7)
    where = np.array(limits, np.uint32), np.array(begins), np.array(tokens)
    characters.characters_around(*where, 0, words, table)
    keys, out = np.array(asked, np.uint64), np.empty(len(asked), np.int64)
    unknown = np.empty(len(asked), np.int64)
    count = characters.known_characters(keys, table, words, out, unknown)
    missing = set(unknown[:count].tolist())
    for row, value in enumerate(expected):
        assert row in missing or out[row] == value
    for position, _, runs, *_ in stretches:
        second, last = position + runs, position + runs + words - 2
        ends = position << 1, second << 1, last << 1 | 1
        assert not {asked.index(key) for key in ends} & missing


def test_documents_with_a_template_alone_are_not_read_again(
    kernels: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """But for the first ones of each partition, and few others."""
    form = [f"form{i}" for i in range(120)]
    rows = []
    for i in range(2000):
        own = [f"w{i}x{k}" for k in range(60)]
        form[60] = f"name{i}"
        rows.append(" ".join([*own[:20], *form, *own[20:]]))
    again = read_again(monkeypatch)
    run = neardup.passages(rows, progress=False)
    assert run.summary["counts"]["copied_words"] == 1999 * 119
    assert sum(again) <= 20
    monkeypatch.setattr(known_text, "_STORE", 1)  # nothing is known
    again.clear()
    assert neardup.passages(rows, progress=False).passages.equals(run.passages)
    assert sum(again) == 2000
