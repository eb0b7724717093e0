"""The calls of two other packages."""

from __future__ import annotations

import hashlib
import pickle
import random
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

import neardup
from neardup.compat import datasketch
from neardup.compat.datasketch import LeanMinHash, MinHash, MinHashLSH, MinHashLSHForest
from neardup.compat.lsh.cache import Cache
from neardup.compat.lsh.minhash import MinHasher
from neardup.errors import InputError, RecipeError, SpecError

LOREM = "Lorem Ipsum dolor sit amet"
MORE = "Lorem Ipsum dolor sit amet is how dummy text starts"


def test_the_steps_of_the_notebook(tmp_path: Path) -> None:
    hasher = MinHasher(seeds=100, char_ngram=5, hashbytes=4, random_state=0)
    print_a, print_b = (hasher.fingerprint(text.encode("utf8")) for text in (LOREM, MORE))
    assert print_a.dtype == np.uint32 and len(print_a) == 100
    exact = neardup.similarity(LOREM, MORE, neardup.ShingleSpec("char", 5, keep_case=True))
    assert hasher.jaccard(LOREM, MORE) == exact == 22 / 47
    assert abs(float((print_a == print_b).mean()) - exact) < 0.15
    for cache in (Cache(num_bands=20, hasher=hasher), Cache(bands=20, hasher=hasher)):
        cache.add_fingerprint(print_a, doc_id=0)
        cache.add_fingerprint(print_b, doc_id=1)
        cache.update("something else altogether", 2)
        assert [sum(len(ids) for ids in bins.values()) for bins in cache.bins] == [3] * 20
        assert cache.get_all_duplicates() == {(0, 1)}
        texts = {0: LOREM, 1: MORE}
        assert cache.get_all_duplicates(min_jaccard=0.4, data=texts) == {(0, 1)}
        assert cache.get_all_duplicates(min_jaccard=0.6, data=texts) == set()
    cache.to_json(tmp_path / "cache.json")
    assert oct((tmp_path / "cache.json").stat().st_mode)[-3:] == "600"
    again = Cache.from_json(tmp_path / "cache.json")
    assert again.bins == cache.bins and again.get_all_duplicates() == {(0, 1)}
    hasher.to_json(tmp_path / "hasher.json")
    same = MinHasher.from_json_file(tmp_path / "hasher.json")
    assert np.array_equal(same.fingerprint(LOREM), print_a)
    seeded = MinHasher(np.arange(100), char_ngram=5)
    assert seeded.fingerprint(LOREM).dtype == np.uint64
    assert not np.array_equal(seeded.fingerprint(LOREM), print_a)


def test_a_cache() -> None:
    cache = Cache(MinHasher(seeds=200, char_ngram=3, random_state=1), num_bands=50)
    text = "A somewhat longer document with several different words in it"
    assert not cache.is_duplicate(text)
    cache.update(text, "a")
    cache.update(text + "!", "b")
    cache.update("no such words", "c")
    assert cache.get_duplicates_of(text) == {"a", "b"} == cache.get_duplicates_of(doc_id="a")
    assert cache.get_duplicates_of(text, min_jaccard=1.0) == {"a"}
    assert cache.get_all_duplicates(min_jaccard=0.9) == {("a", "b")}
    assert cache.is_duplicate("no such words") and cache.is_duplicate("no such words", "c")
    assert cache.get_duplicates_of("no such words") - {"c"} == set()
    cache.remove_id("b")
    assert cache.get_all_duplicates() == set() and cache.seen_ids == {"a", "c"}
    cache.remove_doc(text)
    assert cache.seen_ids == {"c"} and sum(len(bins) for bins in cache.bins) == 50
    with pytest.raises(KeyError):
        cache.remove_id("b")
    with pytest.raises(ValueError):
        cache.get_duplicates_of(doc_id="b")
    with pytest.raises(AssertionError):
        Cache(num_bands=7)
    with pytest.raises(ValueError):
        MinHasher(hashbytes=16)
    cache.clear()
    assert not cache.is_duplicate("no such words")


def test_hashers_draw_seeds_of_their_own() -> None:
    """As in the notebook: estimates scatter, and less with more entries."""

    def estimates(entries: int) -> list[float]:
        hashers = [MinHasher(entries, 5) for _ in range(12)]
        return [float((h.fingerprint(LOREM) == h.fingerprint(MORE)).mean()) for h in hashers]

    few, many = estimates(100), estimates(2000)
    assert len(set(few)) > 1 and np.std(many) < np.std(few)
    assert abs(np.mean(many) - 22 / 47) < 0.02
    hasher = MinHasher(100)
    same = MinHasher.from_json_str(hasher.jsonable())
    assert np.array_equal(same.fingerprint(MORE), hasher.fingerprint(MORE))
    drawn = [MinHasher(100, random_state=np.random.RandomState(7)) for _ in range(2)]
    assert np.array_equal(*(hasher.fingerprint(MORE) for hasher in drawn))


def test_what_is_lacking_names_the_page() -> None:
    for name in ("MinHashLSHBloom", "WeightedMinHashGenerator", "MinHashLSHEnsemble"):
        with pytest.raises(ImportError, match=f"no {name}; see docs/howto/migrate.md") as error:
            exec(f"from neardup.compat.datasketch import {name}")
        assert getattr(error.value, "hint", "")
        assert f"| `{name}` |" in Path("docs/howto/migrate.md").read_text()
    with pytest.raises(AttributeError):
        datasketch.no_such_name  # noqa: B018


def minhash(items: range, num_perm: int = 128) -> MinHash:
    made = MinHash(num_perm)
    made.update_batch(str(i).encode() for i in items)
    return made


def test_signatures_are_those_of_datasketch_1() -> None:
    made = MinHash(4, 1)
    made.update(b"Hello")
    assert made.hashvalues.tolist() == [734825475, 960773806, 359816889, 342714745]
    a, b = made.permutations.tolist()
    x = int.from_bytes(hashlib.sha1(b"Hello").digest()[:4], "little")
    expected = [((p * x + q) % 2**64) % (2**61 - 1) % 2**32 for p, q in zip(a, b, strict=True)]
    assert made.hashvalues.tolist() == expected


def test_signatures_of_pairs() -> None:
    """As those of weighted sets: pairs of integers, equal where both are."""

    class Weighted(NamedTuple):
        hashvalues: np.ndarray
        seed: int = 1

        def __len__(self) -> int:
            return len(self.hashvalues)

    draw = np.random.default_rng(1)
    one, other = (Weighted(draw.integers(-5, 1000, (128, 2))) for _ in range(2))
    near = Weighted(one.hashvalues.copy())
    near.hashvalues[:8, 1] += 1
    lsh, forest = MinHashLSH(threshold=0.5), MinHashLSHForest()
    for key, weighted in {"one": one, "near": near, "other": other}.items():
        lsh.insert(key, weighted)  # type: ignore[arg-type]
        forest.add(key, weighted)  # type: ignore[arg-type]
    forest.index()
    assert sorted(lsh.query(one)) == ["near", "one"]  # type: ignore[arg-type]
    assert forest.query(near, 1) == ["near"]  # type: ignore[arg-type]
    assert (
        forest.get_minhash_hashvalues("one") != forest.get_minhash_hashvalues("near")
    ).sum() == 8


def test_signatures_that_grow() -> None:
    whole, one = minhash(range(100)), MinHash()
    assert one.is_empty() and one.count() == 0
    for i in range(100):
        one.update(str(i).encode())
    assert one == whole and one.jaccard(whole) == 1.0 and len(one) == 128
    assert abs(one.count() - 100) < 30
    waiting = MinHash()
    for i in range(5000):
        waiting.update(str(i).encode())
    copied = pickle.loads(pickle.dumps(waiting))
    assert copied == waiting == minhash(range(5000)) and len(waiting.elements) == 5000  # type: ignore[arg-type]
    other = minhash(range(50, 150))
    assert one.exact_jaccard(other) == 1 / 3 and abs(one.jaccard(other) - 1 / 3) < 0.15
    union = MinHash.union(one, other)
    assert union == minhash(range(150)) and union.exact_jaccard(one) == 2 / 3
    assert MinHash.bulk([[b"a"], [b"b"]], num_perm=4)[0] == MinHash.bulk([[b"a"]], num_perm=4)[0]
    again = pickle.loads(pickle.dumps(one))
    assert again == one and again.copy() == one
    again.clear()
    assert again.is_empty() and again != one
    with pytest.raises(ValueError):
        one.jaccard(MinHash(64))
    with pytest.raises(ValueError):
        one.merge(MinHash(seed=2))
    with pytest.raises(ValueError):
        MinHash(hashobj=1)
    with pytest.raises(ValueError):
        MinHash(0)
    with pytest.raises(ValueError):
        MinHash(scheme="affine32")
    with pytest.warns(UserWarning, match="the processor signs"):
        assert MinHash(gpu_mode="always", scheme="legacy").is_empty()
    lean = LeanMinHash(one)
    assert {lean: 1}[LeanMinHash(one)] == 1 and lean.jaccard(one) == 1.0
    for order in "@=<>!":
        buffer = bytearray(lean.bytesize(order))
        lean.serialize(buffer, order)
        assert LeanMinHash.deserialize(buffer, order) == lean
        with pytest.raises(ValueError):
            LeanMinHash.deserialize(buffer[:50], order)
    with pytest.raises(ValueError):
        lean.serialize(bytearray(3))
    with pytest.raises(TypeError):
        lean.update(b"x")
    with pytest.raises(ValueError):
        lean.exact_jaccard(one)
    with pytest.raises(ValueError):
        LeanMinHash(seed=1)
    assert LeanMinHash.union(lean, LeanMinHash(other)) == LeanMinHash(union)
    assert pickle.loads(pickle.dumps(lean)) == lean


@pytest.mark.parametrize("disk", [False, True])
@pytest.mark.parametrize("verified", [False, True])
def test_sets_in_buckets(verified: bool, disk: bool, tmp_path: Path) -> None:
    config = {"type": "sqlite", "path": tmp_path / "sets"} if disk else None
    lsh = MinHashLSH(threshold=0.5, storage_config=config, verified=verified)
    # At the threshold itself nearly all are found.
    found = neardup.candidate_probability(0.5, lsh.b, lsh.r)
    assert found >= 0.99 and lsh.b * lsh.r <= lsh.h == 128
    sets = {f"s{i}": minhash(range(10 * i, 10 * i + 60)) for i in range(20)}
    assert lsh.is_empty()
    with lsh.insertion_session() as session:
        for key, value in sets.items():
            session.insert(key, value)
    for key, value in sets.items():
        similar = {k: value.exact_jaccard(other) for k, other in sets.items()}
        answer = set(lsh.query(value))
        assert {k for k, s in similar.items() if s > 0.7} <= answer and key in lsh
        if verified:
            assert answer == {k for k, s in similar.items() if s >= 0.5}
        assert list(lsh.query(value)) == sorted(answer, key=list(sets).index)
    assert [sum(table.values()) for table in lsh.get_counts()] == [20] * lsh.b
    assert [sum(t.values()) for t in lsh.get_subset_counts("s1", "no")] == [1] * lsh.b
    for band, name in enumerate(lsh.keys["s3"]):
        assert "s3" in lsh.hashtables[band][name]
    with pytest.raises(ValueError):
        lsh.insert("s3", sets["s3"])
    with pytest.raises(ValueError):
        lsh.insert("new", MinHash(64))
    with pytest.raises(InputError):
        lsh.remove("none")
    lsh.insert("s3", sets["s9"], check_duplication=False)
    assert {"s3", "s9"} <= set(lsh.query(sets["s9"]))
    lsh.remove("s9")
    with lsh.deletion_session() as gone:
        gone.remove("s3")
    assert not {"s3", "s9"} & set(lsh.query(sets["s9"]))
    lsh.add_to_query_buffer(sets["s1"])
    lsh.add_to_query_buffer(sets["s1"])
    assert set(lsh.collect_query_buffer()) == set(lsh.query(sets["s1"]))
    assert lsh.collect_query_buffer() == []
    again = pickle.loads(pickle.dumps(lsh))
    assert again.query(sets["s1"]) == lsh.query(sets["s1"]) and len(again.keys) == 18
    other = MinHashLSH(threshold=0.5, verified=verified)
    other.insert("s1", sets["s1"])
    other.insert("other", sets["s2"])
    lsh.merge(other)
    assert "other" in lsh.query(sets["s2"]) and len(lsh.keys) == 19
    with pytest.raises(ValueError):
        lsh.merge(other, check_overlap=True)
    with pytest.raises(ValueError):
        lsh.merge(MinHashLSH(threshold=0.9, verified=verified))
    if verified:
        with pytest.raises(SpecError, match="items"):
            lsh.insert("lean", LeanMinHash(sets["s1"]))
    if disk:
        reopened = MinHashLSH(threshold=0.5, storage_config=config, verified=verified)
        assert reopened.query(sets["s1"]) == lsh.query(sets["s1"])
        with pytest.raises(RecipeError):
            MinHashLSH(threshold=0.9, storage_config=config)


def test_keys_and_seeds_of_sets_in_memory(tmp_path: Path) -> None:
    lsh = MinHashLSH(threshold=0.5)
    lsh.insert(("any", "key"), minhash(range(50)))
    assert lsh.query(minhash(range(50))) == [("any", "key")]
    disk = MinHashLSH(threshold=0.5, storage_config={"type": "sqlite", "path": tmp_path / "x"})
    for one in (lsh, disk):
        one.insert("a", minhash(range(50)))
        with pytest.raises(SpecError, match="seed"):
            one.insert("b", MinHash(seed=2))
        with pytest.raises(SpecError, match="seed"):
            one.query(MinHash(seed=2))
        with pytest.raises(ValueError), one.insertion_session() as session:
            session.insert("c", minhash(range(9)))
            session.insert("c", minhash(range(9)))
        assert "c" not in one
    with pytest.raises(InputError):
        disk.insert(("any", "key"), minhash(range(50)))


def test_settings_of_sets_in_buckets() -> None:
    assert (MinHashLSH(params=(4, 8)).b, MinHashLSH(params=(4, 8)).r) == (4, 8)
    # Who does not want to miss anything gets more bands, and who fears false ones fewer.
    shapes = [MinHashLSH(0.8, weights=(w, 1 - w)) for w in (0.1, 0.4, 0.6, 0.9)]
    assert [(one.b, one.r) for one in shapes] == [(14, 9), (10, 12), (9, 14), (6, 21)]
    for wrong in (
        {"threshold": 0},
        {"num_perm": 1},
        {"weights": (0.5, 0.9)},
        {"weights": (-0.5, 1.5)},
        {"params": (100, 100)},
        {"storage_config": {"type": "redis"}},
    ):
        with pytest.raises(ValueError):
            MinHashLSH(**wrong)  # type: ignore[arg-type]


def test_a_forest() -> None:
    draw = random.Random(1)
    forest = MinHashLSHForest()
    sets = {i: minhash(range(15 * i, 15 * i + 60)) for i in range(30)}
    for key in draw.sample(list(sets), 30):
        forest.add(key, sets[key])
    assert forest.is_empty() and forest.query(sets[1], 3) == []
    with pytest.raises(ValueError):
        forest.add(1, sets[1])
    forest.index()
    assert not forest.is_empty() and 1 in forest and 99 not in forest
    for key, value in sets.items():
        found = forest.query(value, 3)
        assert found[0] == key and len(found) <= 3
        assert {abs(other - key) for other in found} <= {0, 1, 2, 3}
    assert np.array_equal(forest.get_minhash_hashvalues(3), sets[3].hashvalues)
    with pytest.raises(ValueError):
        forest.get_minhash_hashvalues(99)
    with pytest.raises(ValueError):
        forest.query(sets[1], 0)
    with pytest.raises(ValueError):
        MinHashLSHForest(l=0)
    again = pickle.loads(pickle.dumps(forest))
    assert again.hashtables == forest.hashtables and again.keys == forest.keys
