"""Tokens, shingles and signatures against their twins, bit for bit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from neardup.core.band import band_keys, buckets
from neardup.core.shingle import Ragged, as_text, shingle, shingle_sets, to_sets, tokenise
from neardup.core.sign import Signer, _affine_parameters
from neardup.kernels import reference
from neardup.kernels.hashing import mix, splitmix
from neardup.kernels.shingles import sequence_hashes
from neardup.spec import ShingleSpec

# Characters that were assigned before any Python in use was made: its own tables and ours agree.
SCRIPTS = (
    "abcXYZ 019_-.,'\"\n\t\0\x1f\x7f\x85 éÄßİıſΣσςДжЙйאבגّعرب़कानि中文字漢ひらがなカタカナーｶﾞ"
    "ไทยກ່ກကာខ្មែ한국어②½Ⅷ²°µ—“”…€👍🏽👩‍👩‍👧\u200b\u202e\ufeff\u0301\u00a0\u3000𝔘𐐀𐐨Ǆǅ"
)
texts = st.lists(st.text(st.sampled_from(SCRIPTS), max_size=60), min_size=1, max_size=6)
wide = st.lists(
    st.text(st.characters(max_codepoint=0x2FFF, exclude_categories=["Cs", "Cn"]), max_size=40),
    min_size=1,
    max_size=4,
)


def rows(ragged: Ragged) -> list[list[int]]:
    values = ragged.values.tolist()
    return [values[a:b] for a, b in zip(ragged.offsets[:-1], ragged.offsets[1:], strict=True)]


def hashes(texts: list[str], keep_case: bool = False) -> list[list[int]]:
    return [[reference.token_hash(w) for w in reference.words(t, keep_case)] for t in texts]


@given(texts | wide, st.booleans())
@example(["A\u0301b\u0301 \u0301x", "中\u0301b文c", "", "a" * 9 + "É" * 8, "İİ"], False)
@settings(max_examples=150, deadline=None)
def test_words_equal_their_twin(texts: list[str], keep_case: bool) -> None:
    got = tokenise(as_text(texts), ShingleSpec(keep_case=keep_case))
    assert rows(got) == hashes(texts, keep_case)


@given(texts | wide, st.booleans(), st.booleans())
@settings(max_examples=150, deadline=None)
def test_characters_equal_their_twin(texts: list[str], keep_case: bool, raw: bool) -> None:
    spec = ShingleSpec(unit="char", n=3, keep_case=keep_case, raw=raw)
    got = tokenise(as_text(texts), spec)
    assert rows(got) == [reference.characters(t, keep_case, raw) for t in texts]


@given(
    st.lists(st.lists(st.integers(0, 2**64 - 1), max_size=30), min_size=1, max_size=5),
    st.integers(1, 9),
    st.booleans(),
)
@settings(max_examples=150, deadline=None)
def test_shingles_sets_and_sequence_hashes_equal_their_twins(
    tokens: list[list[int]], n: int, bag: bool
) -> None:
    offsets = np.cumsum([0] + [len(t) for t in tokens]).astype(np.int64)
    flat = Ragged(np.array([v for t in tokens for v in t], dtype=np.uint64), offsets)
    expected = [reference.shingles(t, n) for t in tokens]
    got = shingle(flat, n)
    assert rows(got) == expected
    assert rows(to_sets(got, bag)) == [reference.shingle_set(s, bag) for s in expected]
    out = np.empty((len(tokens), 2), dtype=np.uint64)
    sequence_hashes(flat.values, offsets, out)
    assert [tuple(r) for r in out.tolist()] == [reference.sequence_hash(t) for t in tokens]


@pytest.mark.parametrize("size", [0, 1, 24, 25, 300, 70_000])
@pytest.mark.parametrize("bag", [False, True])
def test_sets_of_any_size_with_many_repetitions(size: int, bag: bool) -> None:
    rng = np.random.default_rng(size)
    values = rng.integers(0, 2**64, size=max(1, size // 3), dtype=np.uint64)
    values = rng.choice(values, size=size)
    got = to_sets(Ragged(values.copy(), np.array([0, size], dtype=np.int64)), bag)
    assert got.values.tolist() == reference.shingle_set(values.tolist(), bag)


@given(
    st.lists(st.lists(st.integers(0, 2**64 - 1), max_size=20), min_size=1, max_size=4),
    st.integers(1, 20),
    st.integers(0, 2**63 - 1),
)
@settings(max_examples=100, deadline=None)
def test_signatures_and_band_keys_equal_their_twins(
    sets: list[list[int]], num_hashes: int, seed: int
) -> None:
    offsets = np.cumsum([0] + [len(s) for s in sets]).astype(np.int64)
    flat = Ragged(np.array([v for s in sets for v in s], dtype=np.uint64), offsets)
    affine = Signer(num_hashes, "affine32/1", seed)(flat)
    a, b = (p.tolist() for p in _affine_parameters(seed, num_hashes))
    assert affine.tolist() == [reference.affine32(s, a, b) for s in sets]
    oph = Signer(num_hashes, "oph32/1", seed)(flat)
    assert oph.tolist() == [reference.oph32(s, num_hashes, seed) for s in sets]
    num_bands = max(1, num_hashes // 3)
    num_rows = num_hashes // num_bands
    keys = band_keys(affine, num_bands, num_rows)
    expected = [reference.band_keys(s, num_bands, num_rows) for s in affine.tolist()]
    assert keys.T.tolist() == expected


@given(st.lists(st.integers(0, 30), max_size=80), st.booleans())
@settings(max_examples=100, deadline=None)
def test_buckets_equal_their_twin(keys: list[int], spread: bool) -> None:
    mixed = [reference.mix(k) if spread else k for k in keys]
    got = buckets(np.array(mixed, dtype=np.uint64))
    found = [
        got.members[a:b].tolist() for a, b in zip(got.starts[:-1], got.starts[1:], strict=True)
    ]
    assert found == reference.buckets(mixed)


@pytest.mark.parametrize("distinct", [1, 2, 500, 100_000])
def test_buckets_of_many_keys(distinct: int) -> None:
    rng = np.random.default_rng(distinct)
    keys = rng.choice(rng.integers(0, 2**64, size=distinct, dtype=np.uint64), size=100_000)
    keys[::1000] = rng.integers(0, 2**64, size=100, dtype=np.uint64)
    got = buckets(keys)
    found = [
        got.members[a:b].tolist() for a, b in zip(got.starts[:-1], got.starts[1:], strict=True)
    ]
    assert found == reference.buckets(keys.tolist())


def test_mixing_equals_its_twin() -> None:
    with np.errstate(over="ignore"):
        for value in (0, 1, 12345, 2**63, 2**64 - 1):
            assert int(mix(np.uint64(value))) == reference.mix(value)
            assert int(splitmix(np.uint64(value), np.uint64(7))) == reference.splitmix(value, 7)


def test_short_texts_are_one_shingle_of_their_own() -> None:
    sets = shingle_sets(["a b", "A, b!", "b a", "a b c d e", "a b c d", ""], ShingleSpec(n=5))
    one, two, other, full, four, none = rows(sets)
    assert one == two and len(one) == 1 and none == []
    assert len({one[0], other[0], full[0], four[0]}) == 4


def test_stemming_is_that_of_snowball() -> None:
    from Stemmer import Stemmer

    text = "The patients' running noses were treated; Running, RUNS and ran: naïvely 2nd_hand"
    got = tokenise(as_text([text, text]), ShingleSpec(stem="english"))
    stems = Stemmer("english").stemWords(reference.words(text))
    assert rows(got) == [[reference.token_hash(s) for s in stems]] * 2


def test_accents_and_compatibility_forms() -> None:
    pairs = [("Café naïve", "cafe naive"), ("e\u0301te\u0301", "été")]
    for one, two in pairs:
        sets = shingle_sets([one, two], ShingleSpec(n=1, strip_accents=True))
        assert rows(sets)[0] == rows(sets)[1]
    sets = shingle_sets(["ﬁne Ⅳ ｆｕｌｌ", "fine IV full"], ShingleSpec(n=1, nfkc=True))
    assert rows(sets)[0] == rows(sets)[1]
    sets = shingle_sets(["ﬁne", "fine"], ShingleSpec(n=1))
    assert rows(sets)[0] != rows(sets)[1]
