"""What a sample says of a corpus: unbiased over many corpora and draws, exact on the whole."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from neardup.core.band import Buckets, buckets
from neardup.core.exact import first_of_group
from neardup.core.expect import (
    About,
    Drawn,
    copies,
    documents,
    joined,
    no_pairs,
    pair_counts,
    partners_met,
    recall,
    share_removed,
)
from neardup.core.tune import candidate_probability

SEED = 7


def pairs_of(found: Buckets) -> list[tuple[int, int]]:
    """The obvious version: all pairs, one by one."""
    ends = itertools.pairwise(found.starts.tolist())
    members = found.members.tolist()
    return [pair for low, high in ends for pair in itertools.combinations(members[low:high], 2)]


def corpus(random: np.random.Generator, blocks: int, size: int) -> np.ndarray:
    """Keys of documents: a family, pairs near each other, pairs far apart, and others."""
    total = blocks * size
    keys = random.integers(0, 1 << 62, total, dtype=np.uint64)
    family = random.choice(total, total // 20, replace=False)
    keys[family] = 1
    near = random.choice(total - 1, total // 10, replace=False)
    keys[near + 1] = keys[near]
    far = random.choice(total, total // 5, replace=False)
    keys[far[::2]] = keys[far[1::2]]
    return keys


def drawn_blocks(
    random: np.random.Generator, keys: np.ndarray, blocks: int, size: int, wanted: int
) -> tuple[np.ndarray, Drawn]:
    chosen = np.sort(random.choice(blocks, wanted, replace=False))
    rows = (chosen[:, None] * size + np.arange(size)).ravel()
    return keys[rows], Drawn(np.repeat(np.arange(wanted), size), wanted, blocks / wanted)


def test_pairs_are_counted_one_by_one() -> None:
    random = np.random.default_rng(SEED)
    for blocks in (1, 2, 20, 40):
        size = 50
        keys = random.integers(0, 60, blocks * size, dtype=np.uint64) << np.uint64(50)
        drawn = Drawn(np.repeat(np.arange(blocks), size), blocks, 3.0)
        found = buckets(keys)
        counted = pair_counts(found, drawn)
        pairs = pairs_of(found)
        assert counted.seen == len(pairs)
        near = [p for p in pairs if drawn.block[p[0]] == drawn.block[p[1]]]
        assert counted.within.sum() == len(near)
        wanted = float(drawn.weights(*np.array(pairs).T).sum())
        assert counted.expected().value == pytest.approx(wanted)


def test_the_whole_corpus_is_exact() -> None:
    random = np.random.default_rng(SEED)
    keys = corpus(random, 10, 100)
    drawn = Drawn(np.repeat(np.arange(10), 100), 10, 1.0)
    found = buckets(keys)
    count = float(len(pairs_of(found)))
    assert pair_counts(found, drawn).expected() == About(count, count, count)
    assert sum([pair_counts(found, drawn)] * 3, no_pairs(drawn)).expected().value == 3 * count


def test_expected_pairs_are_unbiased() -> None:
    """200 draws of 32 of 200 blocks: the mean is within 4 standard errors of the truth, and the
    intervals hold the truth in most draws.
    """
    random = np.random.default_rng(SEED)
    keys = corpus(random, 200, 20)
    truth = len(pairs_of(buckets(keys)))
    values, held = [], 0
    for _ in range(200):
        some, drawn = drawn_blocks(random, keys, 200, 20, 32)
        about = pair_counts(buckets(some), drawn).expected()
        values.append(about.value)
        held += about.low <= truth <= about.high
    error = np.std(values) / np.sqrt(len(values))
    assert abs(np.mean(values) - truth) < 4 * error, f"seed {SEED}"
    assert held >= 170, f"seed {SEED}: {held} of 200"


def test_documents() -> None:
    random = np.random.default_rng(SEED)
    sizes = random.normal(1000, 100, 500)
    counts = np.round(sizes / 10 + random.normal(0, 5, 500))
    held = 0
    for _ in range(200):
        some = random.choice(500, 40, replace=False)
        about = documents(sizes[some], counts[some], float(sizes.sum()))
        held += about.low <= counts.sum() <= about.high
        assert about.value == pytest.approx(counts.sum(), rel=0.05)
    assert held >= 180, f"seed {SEED}: {held} of 200"
    whole = documents(sizes, counts, float(sizes.sum()))
    assert whole == About(counts.sum(), counts.sum(), counts.sum())


def groups_of(random: np.random.Generator, sizes: list[int]) -> np.ndarray:
    """uint64[documents, 2]: hashes of groups of equal documents of these sizes, in any order."""
    owner = np.repeat(np.arange(len(sizes), dtype=np.uint64), sizes)
    owner = random.permutation(owner) * np.uint64(0x9E3779B97F4A7C15)
    return np.stack([owner, owner], axis=1)


@pytest.mark.parametrize(
    ("sizes", "tolerance"),
    [
        ([1] * 4000, 0.002),
        ([1] * 3000 + [2] * 500, 0.03),  # a few hundred copies, one in four seen: 3 sigma is 0.03
        ([1] * 2000 + [1000, 500, 500], 0.02),
        ([4] * 1000, 0.06),
        ([50] * 80, 0.06),
    ],
    ids=["none", "pairs", "large groups", "fours", "fifties"],
)
def test_copies(sizes: list[int], tolerance: float) -> None:
    random = np.random.default_rng(SEED)
    hashes = groups_of(random, sizes)
    truth = len(hashes) - len(sizes)
    blocks, size, wanted = 200, 20, 50
    chosen = np.sort(random.choice(blocks, wanted, replace=False))
    some = hashes[(chosen[:, None] * size + np.arange(size)).ravel()]
    docs = np.arange(len(some), dtype=np.int32)
    drawn = Drawn(np.repeat(np.arange(wanted), size), wanted, blocks / wanted)
    about = copies(first_of_group(some, docs), docs, drawn)
    assert abs(about.value - truth) <= tolerance * len(hashes), (about, truth)
    assert about.low <= truth <= about.high or abs(about.value - truth) < 0.05 * len(hashes)
    whole = Drawn(np.zeros(len(hashes), np.int32), 1, 1.0)
    every = np.arange(len(hashes), dtype=np.int32)
    assert copies(first_of_group(hashes, every), every, whole) == About(truth, truth, truth)


def test_copies_beside_each_other() -> None:
    """From the begin of a corpus nothing tells where copies lie: as near as they do here."""
    hashes = np.repeat(np.arange(100, dtype=np.uint64), 2)[:, None].repeat(2, axis=1)
    docs = np.arange(200, dtype=np.int32)
    drawn = Drawn(np.repeat(np.arange(10), 20), 10, 50.0, everywhere=False)
    about = copies(first_of_group(hashes, docs), docs, drawn)
    assert about.value == 5000 and about.low == 100 and about.high >= 5000


def test_share_removed_is_the_most_there_can_be() -> None:
    """Against random groups with the same mean number of partners."""
    random = np.random.default_rng(SEED)
    for _ in range(200):
        sizes = random.integers(1, random.integers(2, 30), 50)
        partners = float((sizes * (sizes - 1)).sum() / sizes.sum())
        assert (sizes - 1).sum() / sizes.sum() <= share_removed(partners) + 1e-12, f"seed {SEED}"


def test_partners_met() -> None:
    """A family of a tenth, whose documents meet each other with probability 0.02."""
    random = np.random.default_rng(SEED)
    total, family, ratio = 20_000, 2_000, 20
    chosen = random.choice(total, total // ratio, replace=False)
    of_family = chosen < family
    inside = int(of_family.sum())
    meets = np.triu(random.random((inside, inside)) < 0.02, 1)
    partners = np.zeros(len(chosen), dtype=np.int64)
    partners[of_family] = meets.sum(axis=0) + meets.sum(axis=1)
    drawn = Drawn(np.zeros(len(chosen), np.int32), 1, ratio)
    assert partners_met(partners, 0.0, drawn) == pytest.approx(family, rel=0.25)
    # And 1,000 pairs of copies besides, hardly any of which is in the sample.
    assert partners_met(partners, 1000.0, drawn) == pytest.approx(family + 2000, rel=0.25)
    nobody = np.zeros(len(chosen), dtype=np.int64)
    assert partners_met(nobody, 0.0, drawn) == 0
    # As many meetings as documents, no two of the same: by chance all over.
    once = np.ones(len(chosen), dtype=np.int64)
    assert partners_met(once, 0.0, drawn) == pytest.approx(total, rel=0.01)


def test_recall() -> None:
    """Pairs that banding found say how many there were."""
    random = np.random.default_rng(SEED)
    similarity = random.uniform(0.5, 1, 20_000)
    chance = np.array([candidate_probability(float(s), 9, 3) for s in similarity])
    found = random.random(len(chance)) < chance
    about = recall(similarity[found], np.ones(int(found.sum())), 9, 3, 0.75)
    edges = similarity >= 0.75
    truth = (found & edges).sum() / edges.sum()
    assert about.value == pytest.approx(truth, abs=0.003)
    assert about.low <= truth <= about.high
    # With hardly a pair hardly anything is certain.
    few = recall(np.array([0.8]), np.ones(1), 9, 3, 0.75)
    assert few.low < 0.5
    none = recall(np.zeros(0), np.zeros(0), 9, 3, 0.75)
    assert none.value == pytest.approx(candidate_probability(0.75, 9, 3))


def test_joined() -> None:
    a, b = np.array([0, 1, 5, 0]), np.array([1, 2, 6, 2])
    assert joined(a, b, 10) == 3
