"""Segments: their kernel against its reference, their files, and what damage does to them."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
import reference_blocks as reference
from hypothesis import given, settings
from hypothesis import strategies as st

import neardup
from common import Tune
from neardup.errors import StoreError
from neardup.index.storing.segments import Entries, KeyMatches, Segment, merged, write_file
from neardup.kernels import lookups as kernels

DIGEST = "d" * 64


@pytest.mark.jit_off
@given(
    st.lists(st.integers(0, 30) | st.sampled_from([1, 3, 5, 7]), min_size=1, max_size=300)
    | st.lists(st.sampled_from([1, 3]), min_size=1, max_size=9)
    | st.integers(1, 3 * kernels.ENTRIES).map(lambda n: [i // 700 for i in range(n)]),
    st.lists(st.integers(0, 2**64 - 1), max_size=4),
    st.sampled_from([0, 7, 5000]),
)
@settings(max_examples=25, deadline=None)
def test_which_documents_have_keys(numbers: list[int], more: list[int], room: int) -> None:
    entries = [(key, 2**31 + doc) for doc, key in enumerate(sorted(numbers))]
    wanted = [*more, 0, 1, 3, 30, 2**64 - 2, 2**64 - 1]
    expected = reference.find_in_blocks(entries, wanted)
    keys, docs = np.array(entries, dtype=np.uint64).T.copy()
    asked = np.array(wanted, dtype=np.uint64)
    places, found = np.full(room, -1, np.int64), np.full(room, -1, np.int64)

    fill = -len(keys) % kernels.ENTRIES
    words = np.full((len(keys) + fill) // kernels.ENTRIES * kernels.STRIDE, 2**64 - 1, np.uint64)
    rows = words.reshape(-1, kernels.STRIDE)
    halves = words.view(np.uint32)
    for i, (key, doc) in enumerate(entries):
        block, within = divmod(i, kernels.ENTRIES)
        rows[block, within] = key
        halves[2 * (block * kernels.STRIDE + kernels.ENTRIES) + within] = doc
    sums = np.array([reference.checksum(row.tolist()) for row in rows], dtype=np.uint64)
    verified = np.zeros(len(rows), np.bool_)
    words.flags.writeable = halves.flags.writeable = False
    blocks = kernels.KeyBlocks(words, halves, rows[:, 0].copy(), sums, verified)
    for before in (0, 3):
        count = kernels.find_in_blocks(blocks, len(keys), asked, places, found, before)
        assert count == before + len(expected)
        pairs = list(zip(places, found, strict=True))[before:count]
        assert pairs == expected[: max(0, room - before)]

    spans = [np.full(len(wanted), value, np.int64) for value in (0, 2**40, -1)]
    assert kernels.spans_in_blocks(blocks, len(keys), asked, *spans)
    spans[1][spans[0] == 0] = -1
    found_spans = list(zip(*(values.tolist() for values in spans), strict=True))
    assert found_spans == reference.spans_in_blocks(entries, wanted)
    assert verified[:1].all() or not len(verified)

    nothing, before = np.full(8, -1, np.int32), np.empty(len(keys), np.int32)
    chains = kernels.Chains(nothing, keys * 0, np.empty(len(keys), np.int64), before)
    half = len(keys) // 2
    numbers_ = docs.astype(np.int64)
    added: list[tuple[int, int]] = []
    for first, last in ((0, half), (half, len(keys))):
        some = keys[first:last, None], numbers_[first:last]
        kernels.add_entries(chains, first, *some)
        added = reference.add_entries(added, *(values.tolist() for values in some))
    newest = reference.find_in_chains(added, wanted)
    for before in (0, 3):
        count = kernels.find_in_chains(chains, asked, places, found, before)
        assert count == before + len(newest)
        pairs = list(zip(places, found, strict=True))[before:count]
        assert pairs == newest[: max(0, room - before)]


@pytest.mark.jit_off
def test_a_checksum_is_that_of_the_reference_and_finds_damage() -> None:
    random_ = np.random.default_rng(7)
    words = random_.integers(0, 2**64 - 1, 64, dtype=np.uint64)
    words[20:40] = 0
    good = kernels.checksum(words, 0, 64)
    assert good == reference.checksum(words.tolist())
    assert kernels.checksum(words, 8, 48) == reference.checksum(words[8:48].tolist())
    for place in range(64):
        for bit in (0, 31, 63):
            words[place] ^= np.uint64(1 << bit)
            assert kernels.checksum(words, 0, 64) != good
            words[place] ^= np.uint64(1 << bit)
    words[[20, 24]] = 1 << 63  # of one sum
    assert kernels.checksum(words, 0, 64) != good


def some_entries(seed: int, documents: int, first: int) -> Entries:
    """Keys of three bands; every tenth document shares one with many."""
    random_ = np.random.default_rng(seed)
    keys = random_.integers(0, 2**64 - 1, (documents, 3), dtype=np.uint64)
    keys[::10, 0] = 77
    return Entries.sorted(keys, np.arange(first, first + documents))


def opened(path: Path, entries: Entries, number: int = 1) -> Segment:
    _, checksum = write_file(path, iter([entries]), DIGEST)
    return Segment.open(path, number, DIGEST, checksum)


def found_in(segment: Segment, keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    found = KeyMatches(1)
    segment.find(keys, found)
    return found.indices, found.docs


def test_a_segment_finds_what_was_put_in(tmp_path: Path) -> None:
    entries = some_entries(1, 3000, 500)
    segment = opened(tmp_path / "a", entries)
    assert oct((tmp_path / "a").stat().st_mode)[-3:] == "600"
    asked = np.array([77, int(entries.keys[-5]), 12345, 2**64 - 1], dtype=np.uint64)
    place, docs = found_in(segment, asked)
    assert sorted(docs[place == 0].tolist()) == list(range(500, 3500, 10))
    assert docs[place == 1].tolist() == [int(entries.docs[-5])]
    assert not (place >= 2).any()  # what fills the last block is nobody's
    assert segment.check().tolist() == list(range(500, 3500))


def test_a_merge_has_the_entries_of_all(tmp_path: Path) -> None:
    parts = [some_entries(i, 1000 * (i + 1), 5000 * i) for i in range(3)]
    segments = [opened(tmp_path / str(i), part, i) for i, part in enumerate(parts)]
    whole = opened(tmp_path / "whole", next(iter(merged(segments))))
    expected = sorted((int(k), int(d)) for part in parts for k, d in zip(*part, strict=True))
    found = next(whole.slices(1))
    assert sorted(zip(found.keys.tolist(), found.docs.tolist(), strict=True)) == expected
    assert (np.diff(found.keys.astype(float)) >= 0).all()
    several = [part.keys.tolist() for part in whole.slices(7)]
    assert [key for part in several for key in part] == found.keys.tolist()


def test_an_empty_segment(tmp_path: Path) -> None:
    nothing = Entries(np.empty(0, np.uint64), np.empty(0, np.uint32))
    segment = opened(tmp_path / "a", nothing)
    assert [len(a) for a in found_in(segment, np.array([1, 2], dtype=np.uint64))] == [0, 0]
    assert len(segment.check()) == 0


def test_every_damaged_byte_is_found(tmp_path: Path) -> None:
    entries = some_entries(2, 1500, 0)
    path = tmp_path / "a"
    _, checksum = write_file(path, iter([entries]), DIGEST)
    good = path.read_bytes()
    places = [*random.Random(3).sample(range(len(good)), 150), 0, len(good) - 1, len(good) - 20]
    for place in places:
        bad = bytearray(good)
        bad[place] ^= 1 << place % 8
        with pytest.raises(StoreError, match="damaged"):
            Segment(1, bytes(bad), "a", DIGEST, checksum).check()
    for size in (0, 10, 24, len(good) // 2, len(good) - 1):
        with pytest.raises(StoreError, match="damaged"):
            Segment(1, good[:size], "a", DIGEST, checksum).check()
    path.write_bytes(b"")
    with pytest.raises(StoreError, match="damaged"):
        Segment.open(path, 1, DIGEST, checksum)


def test_reading_finds_damage_before_it_answers(tmp_path: Path) -> None:
    entries = some_entries(4, 3000, 0)
    path = tmp_path / "a"
    _, checksum = write_file(path, iter([entries]), DIGEST)
    good = path.read_bytes()
    every = entries.keys.copy()
    for place in range(100, 3000 * 3 * 12, 9973):
        bad = bytearray(good)
        bad[place] ^= 4
        with pytest.raises(StoreError, match="damaged"):
            Segment(1, bytes(bad), "a", DIGEST, checksum).find(every, KeyMatches(10))


def test_a_segment_of_another_recipe(tmp_path: Path) -> None:
    path = tmp_path / "a"
    _, checksum = write_file(path, iter([some_entries(5, 10, 0)]), DIGEST)
    with pytest.raises(StoreError, match="another recipe"):
        Segment.open(path, 1, "e" * 64, checksum)


def test_a_reader_reads_the_log_again_only_once_it_is_a_segment(tmp_path: Path, tune: Tune) -> None:
    tune(logged_documents=40, batched_documents=30)
    draw, count, kept = random.Random(7), 0, 0
    with (
        neardup.Index.create(tmp_path / "i", shingle="word:1", threshold=0.5) as index,
        neardup.Index.open(tmp_path / "i", readonly=True) as reader,
    ):
        for _ in range(80):
            many = draw.choice([1, 3, 9, 35])  # the last are a segment at once
            texts = [f"a{draw.randrange(30)} b{draw.randrange(30)}" for _ in range(many)]
            before, log = reader._core.snapshot, reader._core.snapshot._log
            segments, pending = list(before.segments), before.pending
            index.add(texts, ids=range(count, count + many))
            count += many
            if draw.random() < 0.1:
                index.remove(draw.randrange(count - 9, count))
            assert reader.query(texts) == index.query(texts)
            if pending and many == 35 and reader._core.snapshot._log is log:
                assert before.segments != segments
                kept += 1
            with reader._core.reading():
                (stored,) = reader._core.catalogue.rows("SELECT count(*) FROM log")[0]
            assert stored <= before.pending <= stored + 9
        assert kept > 3
        index.compact()
        assert reader.query(texts) == index.query(texts)
        assert reader._core.snapshot.pending == 0
