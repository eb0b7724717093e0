"""Kernels that group, compare and search sets against their references."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import pytest
import reference_sets as reference
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import config

from common import tries
from neardup.kernels import grouping, prefixes, resolving
from neardup.kernels import jaccard as kernels
from neardup.kernels.jaccard import Sets
from neardup.kernels.resolving import Answers, BitmapLanes, Buckets, KeptMembers, Working
from neardup.match.bucketing import BandBuckets, bucket_documents
from neardup.match.prefix_index import search_memory
from neardup.match.verifying import make_sets
from neardup.sketch.texts import Ragged

pytestmark = pytest.mark.jit_off

#: Without the compiler, kernels take a thousand times as long.
SLOW = bool(config.DISABLE_JIT)
THRESHOLDS = (0.1, 0.3, 1 / 3, 0.5, 0.7, 0.8, 0.9, 1.0)
Lists = list[list[int]]

small_sets = st.lists(
    st.lists(st.integers(0, 2**64 - 1).map(lambda v: v % 40 << 58 | v % 40), max_size=14).map(
        lambda values: sorted(set(values))
    ),
    min_size=2,
    max_size=8,
)
thresholds = st.sampled_from(THRESHOLDS)


def ragged_of(lists: Sequence[Sequence[int]]) -> Ragged:
    offsets = np.cumsum([0, *map(len, lists)]).astype(np.int64)
    return Ragged(np.array([v for values in lists for v in values], dtype=np.uint64), offsets)


def made(lists: Sequence[Sequence[int]]) -> Sets:
    return make_sets(ragged_of(lists))


def family(rng: np.random.Generator, documents: int, size: int = 25) -> Lists:
    """Sets of which many are changed copies of others, in a space of few values; some are empty."""
    values = rng.integers(0, 2**64, 12 * size, dtype=np.uint64)
    template = rng.choice(values, size, replace=False)
    found: Lists = []
    for _ in range(documents):
        kind = rng.random()
        if kind < 0.05:
            found.append([])
            continue
        base = template if kind < 0.4 else rng.choice(values, rng.integers(1, size), replace=False)
        if found and kind > 0.6:
            base = np.array(found[rng.integers(len(found))] or [1], dtype=np.uint64)
        kept = base[rng.random(len(base)) > rng.random() * 0.4]
        own = rng.choice(values, rng.integers(0, 5))
        found.append(sorted({*kept.tolist(), *own.tolist()}))
    return found


def buckets_of(rng: np.random.Generator, documents: int, bands: int, count: int) -> list[Lists]:
    """For each band some buckets of two documents and more; not every document is in one."""
    found = []
    for _ in range(bands):
        names = rng.integers(0, count, documents)
        found.append(
            [b for name in range(1, count) if len(b := np.flatnonzero(names == name).tolist()) > 1]
        )
    return found


def gathered(bands: list[Lists], documents: int) -> Buckets:
    def arrays(buckets: Lists) -> BandBuckets:
        starts = np.cumsum([0, *map(len, buckets)]).astype(np.int32)
        members = np.array([d for docs in buckets for d in docs], dtype=np.int32)
        return BandBuckets(members, starts)

    return bucket_documents([arrays(b) for b in bands], documents, len(bands))


# Similarity, and what rules pairs out.


def test_needed_overlap() -> None:
    totals = range(0, 200, 7) if SLOW else range(200)
    for total, threshold in itertools.product(totals, (*THRESHOLDS, 0.6180339887, 1e-9)):
        found = kernels.needed_overlap(total, threshold)
        assert found == reference.needed_overlap(total, threshold)


@given(small_sets, thresholds)
@settings(max_examples=20 if SLOW else tries(50, 200), deadline=None)
def test_weighted_overlap(lists: Lists, threshold: float) -> None:
    sets = made(lists)
    weights = np.random.default_rng(len(lists)).random(16).astype(np.float32)
    pairs = list(itertools.product(range(len(lists)), repeat=2))
    a, b = np.array(pairs, dtype=np.int32).T.copy()
    shared, total = np.full((2, len(pairs)), 7.0)
    kernels.weighted_overlap(sets, weights, a, b, 1, len(pairs), shared, total)
    expected = reference.weighted_overlap(lists, weights.tolist(), pairs[1:])
    assert shared[0] == total[0] == 7.0
    np.testing.assert_allclose(np.column_stack([shared, total])[1:], expected, rtol=1e-6)


@given(small_sets, st.lists(st.booleans(), min_size=8, max_size=8))
@settings(max_examples=20 if SLOW else tries(50, 200), deadline=None)
def test_drop_common(lists: Lists, common: list[bool]) -> None:
    values, offsets = ragged_of(lists)
    out, ends = np.empty(len(values), np.uint64), np.empty(len(lists) + 1, np.int64)
    sizes = np.diff(offsets).astype(np.int32)
    kernels.drop_common(values, offsets[:-1], sizes, np.array(common), out, ends)
    found = [out[low:high].tolist() for low, high in itertools.pairwise(ends.tolist())]
    assert found == reference.drop_common(lists, common)


@given(small_sets, thresholds)
@settings(max_examples=20 if SLOW else tries(50, 200), deadline=None)
def test_jaccard_verify_and_may_reach(lists: Lists, threshold: float) -> None:
    sets = made(lists)
    pairs = list(itertools.product(range(len(lists)), repeat=2))
    a, b = np.array(pairs, dtype=np.int32).T.copy()
    slack = (1 - threshold) / (1 + threshold)
    bitmaps = [reference.fill_bitmaps(values, 16, True) for values in lists]
    assert sets.bitmaps.tolist() == bitmaps
    for limit in (threshold, 0.0):
        out = np.full(len(pairs) + 1, 7.0)
        kernels.verify(sets, a, b, 1, len(pairs), limit, out[:-1])
        assert out.tolist() == [7.0, *reference.verify(lists, pairs[1:], limit), 7.0]
    for x, y in pairs:
        exact = reference.jaccard(lists[x], lists[y])
        cut = exact if exact >= threshold else -1.0
        assert kernels.jaccard(sets, x, y, threshold) == cut
        may = kernels.may_reach(sets.size, sets.bitmaps, x, y, slack)
        sizes, maps = (len(lists[x]), len(lists[y])), (bitmaps[x], bitmaps[y])
        assert may == reference.may_reach(sizes, maps, threshold)
        assert may or exact < threshold


@given(small_sets, thresholds, st.integers(0, 2**32 - 24))  # no document has the number 2**32 - 1
@settings(max_examples=20 if SLOW else tries(50, 200), deadline=None)
def test_pairs_of_what_is_remembered(lists: Lists, threshold: float, first: int) -> None:
    """Of eight slots; every second document comes, numbers far apart share a slot."""
    ragged, sets = ragged_of(lists), made(lists)
    docs = np.arange(first, first + 2 * len(lists), 2)
    docs[-1] += 8 * (first % 2)
    known = kernels.Known(np.zeros(8, np.uint64), np.zeros((8, 16), np.uint64))
    kernels.remember(known, docs, ragged.values, ragged.offsets)
    expected = reference.remember(docs.tolist(), lists, 8)
    assert sorted(int(tag >> 32) - 1 for tag in known.tags if tag) == sorted(expected)
    every = range(first, first + 2 * len(lists) + 9)
    pairs = list(itertools.product(range(len(lists)), every))
    rows, other = np.array(pairs, dtype=np.int64).T.copy()
    slack = (1 - threshold) / (1 + threshold)
    count = kernels.keep_reachable(sets.size, sets.bitmaps, known, slack, rows, other)
    kept = list(zip(rows[:count].tolist(), other[:count].tolist(), strict=True))
    assert kept == reference.keep_reachable(lists, expected, pairs, threshold, 16)


@pytest.mark.parametrize("threshold", THRESHOLDS)
def test_may_reach_never_rules_out_a_pair_exactly_at_the_threshold(threshold: float) -> None:
    """Sets of all sizes whose similarity is as near to the threshold as their sizes permit."""
    rng = np.random.default_rng(3)
    for total in range(2, 40) if SLOW else range(2, 400):
        overlap = reference.needed_overlap(total, threshold)
        if 2 * overlap > total:
            continue
        values = rng.integers(0, 2**64, total - overlap, dtype=np.uint64)
        cut = int(rng.integers(overlap, total - overlap + 1))
        one, two = values[:cut], np.concatenate([values[:overlap], values[cut:]])
        assert len(one) + len(two) == total
        sets = made([sorted(one.tolist()), sorted(two.tolist())])
        exact = overlap / (total - overlap)
        assert exact >= threshold
        assert kernels.jaccard(sets, 0, 1, threshold) == exact
        assert kernels.may_reach(sets.size, sets.bitmaps, 0, 1, (1 - threshold) / (1 + threshold))


def test_jaccard_of_sets_that_end_in_each_others_middle() -> None:
    lists = [list(range(1, 100)), list(range(50, 400)), [50], [1000], []]
    sets = made(lists)
    for a, b in itertools.product(range(5), repeat=2):
        assert kernels.jaccard(sets, a, b, 0.0) == reference.jaccard(lists[a], lists[b])


@pytest.mark.parametrize("words", [1, 2, 4, 16])
@pytest.mark.parametrize("distinct", [False, True])
def test_fill_bitmaps(words: int, distinct: bool) -> None:
    """Also of sets in another order, and with gaps between them."""
    rng = np.random.default_rng(words)
    values = rng.integers(0, 2**64, 600, dtype=np.uint64)
    begin, size = np.array([500, 0, 100, 7]), np.array([90, 99, 0, 300], dtype=np.int32)
    out = np.full((4, words), 5, dtype=np.uint64)
    kernels.fill_bitmaps(values, begin, size, distinct, out)
    lists = [values[b : b + n].tolist() for b, n in zip(begin, size, strict=True)]
    assert out.tolist() == [reference.fill_bitmaps(v, words, distinct) for v in lists]


# Buckets.


def grouped(keys: Sequence[int]) -> Lists:
    members = np.empty(len(keys), dtype=np.int32)
    starts = np.empty(len(keys) // 2 + 1, dtype=np.int32)
    count = grouping.group_keys(
        np.array(keys, dtype=np.uint64), grouping.GroupingBuffers.of(len(keys)), members, starts
    )
    return [members[a:b].tolist() for a, b in itertools.pairwise(starts[: count + 1])]


@given(st.lists(st.integers(0, 30), max_size=80), st.sampled_from(["low", "high", "spread"]))
@settings(max_examples=20 if SLOW else tries(37, 150), deadline=None)
def test_group_keys(keys: list[int], kind: str) -> None:
    change = {"low": 1, "high": 1 << 59, "spread": 0x9E3779B97F4A7C15}[kind]
    keys = [key * change % 2**64 for key in keys]
    assert grouped(keys) == reference.group_keys(keys)


@pytest.mark.parametrize("distinct", [1, 2, 500, 100_000])
def test_group_keys_of_many(distinct: int) -> None:
    rng = np.random.default_rng(distinct)
    count = 1_500 if SLOW else 100_000
    keys = rng.choice(rng.integers(0, 2**64, size=distinct, dtype=np.uint64), size=count)
    keys[::1000] = rng.integers(0, 2**64, size=len(keys[::1000]), dtype=np.uint64)
    keys[5:9] = [0, 2**64 - 1, 0, 2**64 - 1]
    assert grouped(keys.tolist()) == reference.group_keys(keys.tolist())


@pytest.mark.parametrize("seed", range(3 if SLOW else tries(8, 20)))
def test_mark_plausible_and_name_buckets(seed: int) -> None:
    rng = np.random.default_rng([1, seed])
    documents = 70 if SLOW else 200
    lists = family(rng, documents)
    sets = made(lists)
    bitmaps = np.ascontiguousarray(sets.bitmaps[:, :4])
    threshold = THRESHOLDS[seed % len(THRESHOLDS)]
    marked = np.zeros(documents, dtype=np.bool_)
    expected: set[int] = set()
    of, bands = [], []
    first = 0
    for buckets in buckets_of(rng, documents, 3, 2 if seed == 0 else 40):
        starts = np.cumsum([0, *map(len, buckets)]).astype(np.int32)
        members = np.array([d for docs in buckets for d in docs], dtype=np.int32)
        grouping.mark_plausible(members, starts, sets.size, bitmaps, threshold, marked)
        expected |= reference.mark_plausible(
            buckets, sets.size.tolist(), bitmaps.tolist(), threshold
        )
        of.append(reference.name_buckets(buckets, first, documents))
        named = np.full((documents, 3), -1, dtype=np.int32)
        grouping.name_buckets(members, starts, first, 1, named)
        assert named[:, 1].tolist() == of[-1]
        assert (named[:, ::2] == -1).all()
        bands.append(BandBuckets(members, starts))
        first += len(buckets)
    assert set(np.flatnonzero(marked).tolist()) == expected
    assert 0 < len(expected) <= documents
    rows = np.array(of, dtype=np.int32).T.copy()
    assert np.array_equal(bucket_documents(bands, documents, len(bands)).of, rows)
    lists_of = list(zip(*of, strict=True))
    for x, y in itertools.islice(itertools.combinations(range(documents), 2), 0, None, 17):
        found = resolving.share_a_bucket(rows, x, y)
        assert found == reference.share_a_bucket(lists_of, x, y)


# What is kept.


def columns_of(sizes: np.ndarray, large: int) -> BitmapLanes:
    """Room for the bitmaps of the kept documents of buckets above a size."""
    room = [-(-int(s) // resolving.LANES) * resolving.LANES if s > large else 0 for s in sizes]
    first = np.cumsum([0, *room])[:-1]
    return BitmapLanes(
        np.where(sizes > large, first, -1).astype(np.int64),
        np.zeros(sum(room) * resolving.FOLDED_WORDS, np.uint64),
        np.zeros(sum(room), np.int32),
    )


@pytest.mark.parametrize("seed", range(4 if SLOW else tries(10, 40)))
def test_against_kept_and_among_themselves(seed: int) -> None:
    """Batch by batch, with plain buckets and large ones, and with a limit in some runs."""
    rng = np.random.default_rng([2, seed])
    documents = int(rng.integers(2, 90 if SLOW else 250))
    lists = family(rng, documents)
    threshold = float(rng.choice(THRESHOLDS))
    bands = buckets_of(rng, documents, int(rng.integers(1, 4)), int(rng.choice([2, 4, 30])))
    buckets, sets = gathered(bands, documents), made(lists)
    limit, old = int(rng.choice([2**31 - 1, 2**31 - 1, 3])), int(rng.choice([0, documents // 3]))
    sizes = np.diff(buckets.starts)
    kept = KeptMembers(np.zeros(len(sizes), np.int32), np.zeros(len(sizes), np.int32), limit, old)
    columns = columns_of(sizes, int(rng.choice([0, 8, 10_000])))
    answers = Answers(np.full(documents, -1, np.int32), np.full(documents, np.nan))
    working, counts = Working.of(np.full(documents, -1, np.int32)), np.zeros(3, np.int64)
    nowhere = np.zeros(documents, np.bool_)
    state = reference.State(lists, buckets.of.tolist(), threshold, limit, old)
    step = int(rng.choice([1, 7, 64, 1000]))
    for first in range(0, documents, step):
        last = min(first + step, documents)
        new = max(first, old)
        common = buckets, kept, columns, sets, threshold
        resolving.against_kept(new, last, *common, nowhere, working, answers, counts)
        reference.against_kept(state, new, last)
        check_answers(answers, state)
        resolving.among_themselves(first, last, *common, working, answers, counts)
        reference.among_themselves(state, first, last)
        check_answers(answers, state)
        for bucket, low in enumerate(buckets.starts[:-1]):
            held = buckets.members[low : low + kept.filled[bucket]].tolist()
            assert held == state.kept.get(bucket, [])
            assert kept.beyond[bucket] == state.beyond.get(bucket, 0)
    assert counts[2] == state.not_compared
    pairs = {p for docs in itertools.chain(*bands) for p in itertools.combinations(docs, 2)}
    assert len(state.answers) <= counts[0] <= len(pairs) * len(bands)


def check_answers(answers: Answers, state: reference.State) -> None:
    documents = len(answers.duplicate_of)
    assert answers.duplicate_of.tolist() == [state.answers.get(d, -1) for d in range(documents)]
    for doc, other in state.answers.items():
        expected = reference.jaccard(state.sets[doc], state.sets[other])
        assert answers.similarity[doc] == expected >= state.threshold
    assert np.isnan(answers.similarity).sum() == documents - len(state.answers)


def test_what_was_found_elsewhere_is_improved_in_small_buckets_only() -> None:
    lists = [[1, 2, 3, 4], [1, 2, 3, 4, 5], [9], [1, 2, 3, 4]]
    sets = made(lists)
    for large, elsewhere, expected in ((0, True, 1), (0, False, 0), (9, True, 0)):
        buckets = gathered([[[0, 1, 2, 3]]], 4)
        kept = KeptMembers(np.array([3], np.int32), np.zeros(1, np.int32), 2**31 - 1, 0)
        columns = columns_of(np.array([4]), large)
        if large == 0:
            for place in range(3):
                columns.size[place] = sets.size[place]
                for w in range(resolving.FOLDED_WORDS):
                    folded = (
                        sets.bitmaps[place, w] ^ sets.bitmaps[place, w + resolving.FOLDED_WORDS]
                    )
                    columns.bits[w * 64 + place] = folded
        answers = Answers(np.array([-1, -1, -1, 1], np.int32), np.array([np.nan] * 3 + [0.8]))
        resolving.against_kept(
            3, 4, buckets, kept, columns, sets, 0.5, np.full(4, elsewhere),
            Working.of(np.full(4, -1, np.int32)), answers, np.zeros(3, np.int64),
        )  # fmt: skip
        assert answers.duplicate_of[3] == expected
        assert answers.similarity[3] == (1.0 if expected == 0 else 0.8)


# Pairs.


@pytest.mark.parametrize("seed", range(3 if SLOW else tries(8, 25)))
def test_window_pairs(seed: int) -> None:
    """With room for few edges, so that it stops and goes on; counts are exact."""
    rng = np.random.default_rng([3, seed])
    documents = int(rng.integers(2, 50 if SLOW else 150))
    lists = family(rng, documents)
    bands = buckets_of(rng, documents, 2, int(rng.choice([2, 5, 30])))
    buckets, sets = gathered(bands, documents), made(lists)
    threshold = float(rng.choice(THRESHOLDS))
    seen, counts = np.full(documents, -1, np.int32), np.zeros(2, np.int64)
    room = int(rng.choice([1, 20, 5000]))
    room = max(room, 2 * documents)  # a document's edges always fit
    out = np.empty(room, np.int32), np.empty(room, np.int32), np.empty(room)
    first, last = sorted(rng.integers(0, documents + 1, 2).tolist())
    found, low = [], first
    while low < last:
        before = low
        low, filled = grouping.window_pairs(low, last, buckets, sets, threshold, seen, out, counts)
        assert low > before
        found += list(zip(*(column[:filled].tolist() for column in out), strict=True))
    pairs = reference.window_pairs(range(first, last), list(itertools.chain(*bands)))
    expected = {
        (x, y, s) for x, y in pairs if (s := reference.jaccard(lists[x], lists[y])) >= threshold
    }
    assert len(found) == len(set(found)) and set(found) == expected
    maps = sets.bitmaps.tolist()
    passed = sum(
        reference.may_reach((len(lists[x]), len(lists[y])), (maps[x], maps[y]), threshold)
        for x, y in pairs
    )
    assert counts.tolist() == [passed, len(pairs) - passed]


@pytest.mark.parametrize("seed", range(3 if SLOW else 25))
def test_pairs_with_old(seed: int) -> None:
    """With capacity for few edges, so that it stops and continues; counts are exact."""
    rng = np.random.default_rng([4, seed])
    documents = int(rng.integers(2, 50 if SLOW else 150))
    lists = family(rng, documents)
    bands = buckets_of(rng, documents, 2, int(rng.choice([2, 5, 30])))
    buckets, sets = gathered(bands, documents), made(lists)
    threshold, old = float(rng.choice(THRESHOLDS)), int(rng.integers(0, documents + 1))
    seen, counts = np.full(documents, -1, np.int32), np.zeros(2, np.int64)
    capacity = old + int(rng.choice([0, 20, 5000]))  # a document's edges always fit
    out = np.empty(capacity, np.int32), np.empty(capacity, np.int32), np.empty(capacity)
    found, low = [], old
    while low < documents:
        before = low
        common = old, buckets, sets, threshold, seen, out, counts
        low, filled = grouping.pairs_with_old(low, documents, *common)
        assert low > before
        found += list(zip(*(column[:filled].tolist() for column in out), strict=True))
    pairs = reference.pairs_with_old(range(old, documents), old, list(itertools.chain(*bands)))
    expected = {
        (y, x, s) for y, x in pairs if (s := reference.jaccard(lists[y], lists[x])) >= threshold
    }
    assert len(found) == len(set(found)) and set(found) == expected
    assert counts.sum() == len(pairs)


@pytest.mark.long
@pytest.mark.skipif(SLOW, reason="a million pairs")
@pytest.mark.parametrize("documents", [1024, 1025, 1900])
def test_window_pairs_of_a_large_bucket(documents: int) -> None:
    rng = np.random.default_rng(documents)
    values = rng.integers(0, 40, documents)
    sets = made([[int(value)] for value in values])
    everyone = list(range(documents))
    buckets = gathered([[everyone]], documents)
    room = np.empty(documents * 1024, np.int32), np.empty(documents * 1024, np.int32)
    out = (*room, np.empty(documents * 1024))
    seen, counts = np.full(documents, -1, np.int32), np.zeros(2, np.int64)
    low, filled = grouping.window_pairs(0, documents, buckets, sets, 0.5, seen, out, counts)
    assert low == documents
    found = set(zip(out[0][:filled].tolist(), out[1][:filled].tolist(), strict=True))
    pairs = reference.window_pairs(range(documents), [everyone])
    assert found == {(x, y) for x, y in pairs if values[x] == values[y]}
    assert counts.sum() == len(pairs)
    assert (len(pairs) == documents * (documents - 1) // 2) == (documents == 1024)


# The index of rarest shingles.


def prefix_lengths(lists: Sequence[Sequence[int]], threshold: float) -> list[int]:
    """All but the shingles that a similar set must share, and one more."""
    return [
        len(v) - min(o for o in range(len(v) + 1) if o / len(v) >= threshold) + 1 if v else 0
        for v in lists
    ]


def chains_of(room: int) -> prefixes.PrefixChains:
    return prefixes.PrefixChains(np.full(64, -1, np.int32), np.empty((room, 3), np.int32))


def walked(chains: prefixes.PrefixChains) -> dict[int, list[int]]:
    """Documents by shingle, in the order of the chains."""
    found: dict[int, list[int]] = {}
    for head in chains.head.tolist():
        entry = head
        while entry >= 0:
            entry, doc, tag = chains.entries[entry].tolist()
            found.setdefault(tag, []).append(doc)
    return found


@pytest.mark.parametrize("seed", range(3 if SLOW else tries(8, 30)))
def test_count_shingles_rank_prefixes_add_to_chains_and_probe(seed: int) -> None:
    rng = np.random.default_rng([4, seed])
    documents = int(rng.integers(2, 40 if SLOW else 120))
    lists = family(rng, documents)
    sets = made(lists)
    threshold = float(rng.choice(THRESHOLDS))
    docs = np.flatnonzero(sets.size).astype(np.int32)
    counters = np.zeros(16 if seed % 2 else 1 << 12, np.uint32)
    prefixes.count_shingles(sets, docs, counters)
    assert counters.tolist() == reference.count_shingles(lists, len(counters))

    lengths = prefix_lengths([lists[d] for d in docs], threshold)
    starts = np.cumsum([0, *lengths]).astype(np.int64)
    found = prefixes.Prefixes(docs, starts[:-1], starts[1:], np.zeros(starts[-1], np.uint64))
    cut = len(docs) // 3
    prefixes.rank_prefixes(sets, counters, found, 0, cut)
    assert not found.values[starts[cut] :].any()
    prefixes.rank_prefixes(sets, counters, found, cut, len(docs))
    ranked = [
        reference.rank_prefixes(lists[d], counters.tolist(), n)
        for d, n in zip(docs, lengths, strict=True)
    ]
    assert found.values.tolist() == list(itertools.chain(*ranked))

    chosen = rng.random(len(docs)) < 0.7
    chains = chains_of(len(found.values))
    half = np.arange(len(docs)) < cut
    entries = 0
    for some in (chosen & half, chosen & ~half):
        entries = prefixes.add_to_chains(found.take(some), chains, entries)
    prefixes_of = [(int(d), r) for d, r, c in zip(docs, ranked, chosen, strict=True) if c]
    tags = [(doc, [value % 2**31 for value in values]) for doc, values in prefixes_of]
    assert walked(chains) == reference.add_to_chains(tags)
    assert entries == sum(len(values) for _, values in prefixes_of)

    indexed = [doc for doc, _ in prefixes_of]
    expected = reference.probe(lists, docs.tolist(), indexed, threshold)
    anywhere = np.empty((documents, 0), np.int32)
    memory, counts = search_memory(documents), np.zeros(2, np.int64)
    out = np.empty(documents, np.int32), np.empty(documents, np.int32), np.empty(documents)
    nothing = Answers(np.empty(0, np.int32), np.empty(0))
    got, low = [], 0
    while low < len(docs):
        before = low
        low, filled = prefixes.probe(
            found, low, len(docs), chains, sets, anywhere, threshold, True, memory, nothing, out,
            counts,
        )  # fmt: skip
        assert low > before
        got += list(zip(*(column[:filled].tolist() for column in out), strict=True))
    assert got == expected
    assert counts[0] >= len(expected)

    # The first one that shares a bucket.
    of = gathered(buckets_of(rng, documents, 2, 6), documents).of
    answers = Answers(np.full(documents, -1, np.int32), np.full(documents, np.nan))
    prefixes.probe(
        found, 0, len(docs), chains, sets, of, threshold, False, search_memory(documents), answers,
        (np.empty(0, np.int32), np.empty(0, np.int32), np.empty(0)), counts,
    )  # fmt: skip
    firsts: dict[int, tuple[int, float]] = {}
    for y, x, similarity in expected:
        if reference.share_a_bucket(of.tolist(), x, y):
            firsts.setdefault(x, (y, similarity))
    for doc in range(documents):
        y, similarity = firsts.get(doc, (-1, np.nan))
        assert answers.duplicate_of[doc] == y
        assert np.array_equal(answers.similarity[doc], similarity, equal_nan=True)
