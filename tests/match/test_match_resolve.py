"""What is a duplicate of what, against the definition in plain Python."""

from __future__ import annotations

import numpy as np
import pytest
from numba import config

from common import Tune, tries
from neardup.errors import InputError
from neardup.kernels.jaccard import Sets
from neardup.kernels.resolving import Buckets
from neardup.match.bucketing import bucket_documents, group, one_bucket, plausible
from neardup.match.pairs import join, pairs_of_buckets, pairs_outside_windows
from neardup.match.prefix_index import RarestIndex
from neardup.match.resolve import Limits, resolve
from neardup.match.verifying import make_sets, similarities
from neardup.sketch.texts import Ragged
from neardup.testing import definition
from neardup.threads import Pool

#: Without the compiler, kernels take a thousand times as long.
SLOW = bool(config.DISABLE_JIT)


def random_sets(rng: np.random.Generator, documents: int) -> list[set[int]]:
    """Sets of which many are changed copies of others, and some share a template."""
    values = rng.integers(0, 2**64, 400, dtype=np.uint64)
    template = set(rng.choice(values, 30, replace=False).tolist())
    sets: list[set[int]] = []
    for _ in range(documents):
        kind = rng.random()
        if sets and kind < 0.5:
            base = set(sets[rng.integers(len(sets))])
        elif kind < 0.8:
            base = set(template)
        else:
            base = set(rng.choice(values, rng.integers(1, 40), replace=False).tolist())
        for _ in range(rng.integers(0, 8)):
            base.add(int(rng.choice(values)))
            if len(base) > 1 and rng.random() < 0.6:
                base.remove(sorted(base)[rng.integers(len(base))])
        sets.append(base)
    return sets


def ragged(sets: list[set[int]]) -> Ragged:
    offsets = np.cumsum([0, *map(len, sets)])
    values = np.array([v for s in sets for v in sorted(s)], dtype=np.uint64)
    return Ragged(values, offsets)


def keys_of(rng: np.random.Generator, sets: list[set[int]], bands: int, spread: int) -> np.ndarray:
    """Keys that similar documents often share; few different ones make large buckets."""
    salts = rng.integers(1, 2**63, bands, dtype=np.uint64) | np.uint64(1)
    keys = np.empty((bands, len(sets)), dtype=np.uint64)
    for doc, values in enumerate(sets):
        array = np.array(sorted(values), dtype=np.uint64)
        for band, salt in enumerate(salts):
            hashes = array * salt
            keys[band, doc] = hashes.min() if spread == 0 else hashes[0] % np.uint64(spread)
    return keys


@pytest.mark.jit_off
@pytest.mark.parametrize("threads", [1] if SLOW else [1, 2])
@pytest.mark.parametrize("seed", range(7 if SLOW else tries(8, 25)))
def test_resolving_equals_the_definition(seed: int, threads: int, tune: Tune) -> None:
    rng = np.random.default_rng(seed)
    documents = int(rng.integers(2, 130 if SLOW else 160))
    python_sets = random_sets(rng, documents)
    bands = int(rng.integers(1, 6))
    keys = keys_of(rng, python_sets, bands, int(rng.choice([0, 0, 2, 5])))
    threshold = float(rng.choice([0.3, 0.5, 0.7, 0.8, 1.0]))
    # Every path: plain lists of kept documents, and the index of rarest shingles.
    if seed % 3:
        tune(
            large_bucket=int(rng.choice([1, 3, 8])),
            indexed_bucket=int(rng.choice([0, 2, 10])),
            clear_share=float(rng.choice([0.0, 0.01, 0.3])),
            full_bucket=int(rng.choice([0, 4, 12, 10_000])),
            visit_cost=float(rng.choice([0.0, 0.01, 8.0])),
            adding_cost=int(rng.choice([-1, 0, 8000])),
            counted_members=int(rng.choice([5, 8192])),
            ranked_documents=int(rng.choice([1, 5, 4096])),
            ranked_shingles=int(rng.choice([1, 60, 1 << 23])),
        )
    tune(
        kept_pairs=int(rng.choice([1, 2000, 1 << 18])),
        resolved_documents=int(rng.choice([1, 7, 64])),
        resolved_in_large=int(rng.choice([1, 5, 32])),
    )

    names = [[(b, int(keys[b, d])) for b in range(bands)] for d in range(documents)]
    edges = definition.edges(python_sets, definition.pairs_in_buckets(names), threshold)
    duplicate_of, similarity = definition.resolve(documents, edges)

    sets = make_sets(ragged(python_sets))
    with Pool(threads) as pool:
        found_bands = [group(keys[b]) for b in range(bands)]
        marked = plausible(found_bands, sets.size, sets.bitmaps[:, :4], threshold, pool)
        assert all(marked[a] and marked[b] for a, b in edges)
        found, counts = resolve(
            sets, bucket_documents(found_bands, documents, bands), threshold, pool
        )
        all_pairs = pairs_of_buckets(
            sets, bucket_documents(found_bands, documents, bands), threshold, pool
        )
    assert found.duplicate_of.tolist() == duplicate_of
    expected = [np.nan if s is None else s for s in similarity]
    assert np.array_equal(found.similarity, expected, equal_nan=True)
    assert counts.not_compared == 0
    check_old(sets, bucket_documents(found_bands, documents, bands), edges, threshold, rng)
    listed = {
        (a, b): s
        for part in all_pairs.parts
        for a, b, s in zip(*(column.tolist() for column in part), strict=True)
    }
    assert listed == edges
    assert sum(len(part[0]) for part in all_pairs.parts) == len(edges)
    assert all_pairs.not_compared == 0


def check_old(
    sets: Sets,
    buckets: Buckets,
    edges: dict[tuple[int, int], float],
    threshold: float,
    rng: np.random.Generator,
) -> None:
    """The documents of an old corpus stay, and the others may be compared with them only."""
    documents, among = len(sets.size), bool(rng.integers(2))
    old = int(rng.integers(0, documents + 1))
    if not among:
        edges = {(a, b): s for (a, b), s in edges.items() if a < old}
    expected, _ = definition.resolve(documents, edges, old)
    with Pool(2) as pool:
        found, _ = resolve(sets, buckets, threshold, pool, Limits(old=old, among=among))
    assert found.duplicate_of.tolist() == expected
    assert (found.duplicate_of[:old] < 0).all()


@pytest.mark.parametrize("among", [True, False])
def test_a_family_in_an_old_corpus_takes_one_pass(among: bool) -> None:
    """Each new document is compared with the first old one, and no old one with another."""
    family = {1, 2, 3, 4, 5, 6, 7, 8, 9}
    sets = make_sets(ragged([family] * 300 + [{*family, 10}] * 100 + [{11, 12}]))
    with Pool(2) as pool:
        found, counts = resolve(sets, one_bucket(401), 0.5, pool, Limits(old=300, among=among))
    assert found.duplicate_of.tolist() == [-1] * 300 + [0] * 100 + [-1]
    assert counts.compared == 100


@pytest.mark.parametrize(
    ("shared", "done", "pays"), [(30, 0.5, True), (80, 0.5, False), (30, 0.95, False)]
)
def test_an_index_is_for_families_whose_rare_shingles_are_their_own(
    shared: int, done: float, pays: bool, tune: Tune
) -> None:
    template, own = range(shared), 100 - shared
    sets = [{*template, *range(1000 + own * d, 1000 + own * (d + 1))} for d in range(3000)]
    hashes = np.random.default_rng(1).integers(0, 2**64, 1000 + own * 3000, dtype=np.uint64)
    found = make_sets(ragged([{int(hashes[v]) for v in values} for values in sets]))
    buckets = one_bucket(len(sets))
    decided = int(len(sets) * done)
    tune(adding_cost=500)  # of a family much smaller than those that it is for
    with Pool(1) as pool:
        index = RarestIndex(found, buckets.of, np.ones(1, np.bool_), 0.7, pool)
        assert index.pays(np.ones(1, np.bool_), np.array([decided]), decided) == pays


@pytest.mark.jit_off
@pytest.mark.parametrize("seed", range(3 if SLOW else tries(8, 12)))
def test_the_join_finds_every_pair(seed: int, tune: Tune) -> None:
    rng = np.random.default_rng([7, seed])
    tune(kept_pairs=[1, 30, 1 << 18][seed % 3])
    python_sets = random_sets(rng, int(rng.integers(2, 50 if SLOW else 150)))
    threshold = float(rng.choice([0.2, 0.5, 0.7, 1.0]))
    every = {(a, b) for b in range(len(python_sets)) for a in range(b)}
    edges = definition.edges(python_sets, every, threshold)
    sets = make_sets(ragged(python_sets))
    with Pool(2) as pool:
        found = join(sets, threshold, pool)
        kept, _ = resolve(sets, one_bucket(len(sets.size)), threshold, pool)
    listed = {
        (a, b): s
        for part in found.parts
        for a, b, s in zip(*(column.tolist() for column in part), strict=True)
    }
    assert listed == edges
    assert kept.duplicate_of.tolist() == definition.resolve(len(python_sets), edges)[0]


def test_an_index_of_too_many_shingles_is_refused(tune: Tune) -> None:
    """Its entries are numbered by int32; without a check some documents would not be found."""
    tune(most_entries=2)
    sets = make_sets(ragged([{1, 2, 3}, {1, 2, 4}, {5, 6, 7}]))
    with (
        Pool(1) as pool,
        pytest.raises(InputError, match="are 3; an index takes at most 2"),
    ):
        join(sets, 0.7, pool)


def test_arrays_of_pairs_do_not_stay_empty(tune: Tune) -> None:
    """A document that might have more pairs than an array has room for has few."""
    rng = np.random.default_rng(9)
    tune(kept_pairs=3000)
    template = rng.integers(0, 2**64, 60, dtype=np.uint64).tolist()
    own = rng.integers(0, 2**64, (1024, 47), dtype=np.uint64).tolist()
    sets = [{*template, *values[: 32 + d % 15]} for d, values in enumerate(own)]
    one = group(np.zeros(1024, np.uint64))
    allocated = 0

    def allocate(size: int, dtype: type[np.generic]) -> np.ndarray:
        nonlocal allocated
        allocated += size * np.dtype(dtype).itemsize
        return np.empty(size, dtype)

    with Pool(1) as pool:
        buckets = bucket_documents([one] * 3, 1024, 3)
        found = pairs_of_buckets(make_sets(ragged(sets)), buckets, 0.45, pool, allocate)
    listed = 16 * sum(len(a) for a, _, _ in found.parts)
    assert listed > 10 * 16 * 3000
    assert allocated < 2 * listed + 16 * (3000 + 2 * 3 * 1024)


@pytest.mark.jit_off
@pytest.mark.parametrize("seed", [6, 34, 35] if SLOW else range(40))
def test_different_shingles_of_equal_rank_lose_no_pair(seed: int) -> None:
    """A rank has 44 bits of a hash, so that shingles that differ in others are equal in it."""
    rng = np.random.default_rng([8, seed])
    values = [(h << 20) + low for h in range(1, 8) for low in range(6)]
    python_sets = [set(values[: rng.integers(1, 43)]) for _ in range(4)]
    for _ in range(16):
        chosen = rng.choice(values, rng.integers(3, 42), replace=False)
        python_sets.append({int(v) for v in chosen})
    threshold = float(rng.choice([0.4, 0.5, 0.6, 0.8]))
    every = {(a, b) for b in range(len(python_sets)) for a in range(b)}
    with Pool(1) as pool:
        found = join(make_sets(ragged(python_sets)), threshold, pool)
    listed = {
        (a, b)
        for part in found.parts
        for a, b in zip(part[0].tolist(), part[1].tolist(), strict=True)
    }
    assert listed == set(definition.edges(python_sets, every, threshold))


@pytest.mark.jit_off
def test_the_index_has_the_smallest_set_that_can_be_similar(
    tune: Tune,
) -> None:
    """715 / 1300 is 0.55, but 0.55 * 1300 is more than 715 as float64."""
    values = np.random.default_rng(4).integers(0, 2**63, 1300).tolist()
    sets = make_sets(ragged([set(values[:715]), set(values)]))
    tune(large_bucket=1, indexed_bucket=0, resolved_in_large=1)
    # Bitmaps are taken to be of use for the smaller one, so that only the other is searched for.
    slack = (1 - 0.55) / (1 + 0.55)
    clear = 2 * slack * 1000 / (64 * sets.bitmaps.shape[1])
    tune(clear_share=clear)
    with Pool(1) as pool:
        found, _ = resolve(sets, one_bucket(2), 0.55, pool)
    assert found.duplicate_of.tolist() == [-1, 0]
    assert found.similarity[1] == 0.55


@pytest.mark.jit_off
def test_a_full_bucket_leaves_out_and_counts() -> None:
    # Twenty documents without anything in common, in one bucket of three at most.
    sets = make_sets(ragged([{i} for i in range(20)]))
    with Pool(2) as pool:
        found, counts = resolve(sets, one_bucket(20), 0.5, pool, Limits(3))
    assert (found.duplicate_of < 0).all()
    assert counts.not_compared == sum(range(17))


def test_large_buckets_list_the_following_documents_only() -> None:
    documents = 5000
    sets = make_sets(ragged([{1, 2, 3} for _ in range(documents)]))
    with Pool(2) as pool:
        found = pairs_of_buckets(sets, one_bucket(documents), 0.9, pool)
    a = np.concatenate([part[0] for part in found.parts])
    b = np.concatenate([part[1] for part in found.parts])
    assert ((b - a) <= 256).all()
    assert len(a) == 256 * documents - 256 * 257 // 2
    assert found.not_compared == pairs_outside_windows(np.array([documents]))
    assert len(a) + found.not_compared == documents * (documents - 1) // 2


@pytest.mark.jit_off
def test_similarities_are_exact_and_below_the_threshold_minus_one() -> None:
    rng = np.random.default_rng(3)
    python_sets = random_sets(rng, 60)
    sets = make_sets(ragged(python_sets))
    a, b = (x.astype(np.int32) for x in np.triu_indices(60, k=1))
    with Pool(2) as pool:
        found = similarities(sets, a, b, 0.5, pool)
    for x, y, s in zip(a.tolist(), b.tolist(), found.tolist(), strict=True):
        exact = definition.jaccard(python_sets[x], python_sets[y])
        assert s == (exact if exact >= 0.5 else -1.0)
