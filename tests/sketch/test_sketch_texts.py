"""Texts to tokens, shingles, sets and sketches: equal to plain Python for every option."""

from __future__ import annotations

import itertools
import random
import threading
import unicodedata
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import reference_sets
import reference_text as reference
import Stemmer

import neardup
from common import Tune
from neardup.errors import ShortTextWarning, SpecError
from neardup.recipe import Recipe
from neardup.sketch.sketcher import Signer, Sketcher, Sketches
from neardup.sketch.texts import Ragged, as_text
from neardup.sketch.tokenising import Stemmer as OurStemmer
from neardup.sketch.tokenising import Tokeniser, batches
from neardup.spec import SCHEMES, ShingleSpec

PIECES = [
    "The", "patients'", "running", "NOSES", "were", "treated", "naïvely", "2nd_hand", "é",
    "e\u0301", "ﬁne", "Ⅳ", "ｆｕｌｌ", "病院", "の検査", "ไทย", "İstanbul", "ΣΑΣ", "ς", "ǅ",
    "한국어", "x", "😀", "\u0301", "...", "\n\t", "\u3000", "a" * 40, "run\u00adning",
    "run\u00ad\n", "\u200b", "o\u0302\u0323", "\u1112\u1161\u11ab", "❤\ufe0f", "ـ", "نا\u200cم",
]  # fmt: skip
UNITS: list[dict[str, Any]] = [
    {"n": 1},
    {"n": 5},
    {"n": 2, "keep_case": True},
    {"n": 3, "stem": "english"},
    {"n": 2, "stem": "german", "keep_case": True},
    {"unit": "char", "n": 1},
    {"unit": "char", "n": 5},
    {"unit": "char", "n": 3, "raw": True},
    {"unit": "char", "n": 3, "raw": True, "keep_case": True},
]
EVERY = [
    ShingleSpec(**unit, nfkc=nfkc, strip_accents=accents, bag=bag)
    for unit, nfkc, accents, bag in itertools.product(UNITS, *[(False, True)] * 3)
]


def texts(seed: int = 3, count: int = 60) -> list[str | None]:
    generator = random.Random(seed)
    made: list[str | None] = [None, "", " ", "one", "one two three four five"]
    for _ in range(count):
        words = generator.choices(PIECES, k=generator.choice([1, 2, 4, 20, 60]))
        made.append(generator.choice([" ", "", ", ", "  "]).join(words))
    return made


def tokens(text: str | None, spec: ShingleSpec) -> list[int]:
    """The tokens of a text by plain Python: hashes of words and signs, or code points."""
    text = text or ""
    if spec.nfkc:
        text = unicodedata.normalize("NFKC", text)
    if spec.strip_accents:
        bare = (c for c in unicodedata.normalize("NFD", text) if unicodedata.category(c) != "Mn")
        text = unicodedata.normalize("NFC", "".join(bare))
    if spec.unit == "char":
        return reference.characters(text, spec.keep_case, 0 if spec.raw else 2)
    words = reference.words(text, spec.keep_case)
    if not words:
        whole = reference.without_words(text, spec.keep_case)
        return [whole] * (whole != 0)
    stem = Stemmer.Stemmer(spec.stem).stemWord if spec.stem else str
    if len(words) < spec.n:
        return reference.with_signs(text, spec.keep_case, spec.n - 1, stem)
    return [reference.hash_tokens(stem(word)) for word in words]


def rows(ragged: Ragged) -> list[list[int]]:
    return [ragged.values[a:b].tolist() for a, b in itertools.pairwise(ragged.offsets)]


def equal(one: Sketches, other: Sketches) -> None:
    for name, a, b in zip(one._fields, one, other, strict=True):
        assert a.dtype == b.dtype and np.array_equal(a, b), name


def expected(some: list[str | None], recipe: Recipe) -> Sketches:
    """The sketches of some texts by plain Python."""
    spec = recipe.shingle
    out = Sketches.empty(len(some), recipe.num_bands)
    draws = [reference.splitmix(recipe.seed, i) for i in range(recipe.num_hashes)]
    for row, text in enumerate(some):
        found = tokens(text, spec)
        shingles = reference.shingle_tokens(found, spec.n)
        members = reference.sort_sets(shingles, spec.bag)
        out.hashes[row] = reference.sequence_hash(found)
        out.contents[row] = reference.hash_tokens(text or "")
        out.tokens[row], out.shingles[row] = len(found), len(shingles)
        out.bitmaps[row] = reference_sets.fill_bitmaps(members, 4, False)
        if recipe.scheme == SCHEMES["affine32"]:
            a, b = [d >> 32 | 1 for d in draws], [d % 2**32 for d in draws]
            signature = reference.sign_affine(members, a, b)
        else:
            signature = reference.sign_oph(members, recipe.num_hashes, recipe.seed)
        out.keys[row] = reference.band_keys(signature, recipe.num_bands, recipe.rows)
    return out


@pytest.mark.parametrize("number", range(len(EVERY)), ids=lambda n: str(EVERY[n])[:8] + f"-{n}")
def test_sets_and_sketches_equal_their_reference(number: int) -> None:
    spec, some = EVERY[number], texts()
    sets = Tokeniser(spec).sets(some)
    members = [
        reference.sort_sets(reference.shingle_tokens(tokens(t, spec), spec.n), spec.bag)
        for t in some
    ]
    assert rows(sets) == members
    scheme = SCHEMES[("affine32", "oph32")[number % 2]]
    recipe = Recipe(spec, scheme, number * 7, 1 + number % 5, 1 + number % 3)
    few = some[:25]
    equal(Sketcher(recipe)(few), expected(few, recipe))


@pytest.mark.parametrize("size", [1, 7, 100, 3000])
@pytest.mark.parametrize("unit", [{"n": 3}, {"n": 2, "stem": "english"}, {"unit": "char", "n": 4}])
def test_batches_of_any_size_give_the_same(size: int, unit: dict[str, Any], tune: Tune) -> None:
    some = texts(5)
    recipe = Recipe(ShingleSpec(**unit), SCHEMES["affine32"], 1, 4, 3)
    whole, sets = Sketcher(recipe)(some), Tokeniser(recipe.shingle).sets(some)
    tune(text_bytes=size, signature_entries=1 + size // 100 * recipe.num_hashes)
    equal(Sketcher(recipe)(some), whole)
    again = Tokeniser(recipe.shingle).sets(some)
    assert np.array_equal(again.values, sets.values)
    assert np.array_equal(again.offsets, sets.offsets)


def test_batches_have_every_document_once() -> None:
    rng = np.random.default_rng(2)
    for _ in range(50):
        sizes = rng.choice([0, 0, 1, 1000, 100_000, 300_000, 900_000], rng.integers(0, 40))
        offsets = np.concatenate([[17], 17 + np.cumsum(sizes)])
        cuts = batches(offsets)
        assert [first for first, _ in cuts] == [0, *(last for _, last in cuts)][: len(cuts)]
        assert all(first < last for first, last in cuts)
        assert (cuts[-1][1] if cuts else 0) == len(sizes)
        for first, last in cuts:  # one by itself, or at most so much
            assert last - first == 1 or offsets[last] - offsets[first] <= 256 << 10


@pytest.mark.parametrize(
    "kind", ["list", "string", "large", "view", "chunks", "slice", "dictionary"]
)
def test_texts_in_any_array(kind: str) -> None:
    some = texts(7)
    recipe = Recipe(ShingleSpec(n=2, strip_accents=True), num_bands=3, rows=2)
    whole = Sketcher(recipe)(some)
    array: Any = pa.array(some, pa.string())
    given: Any = {
        "list": some,
        "string": array,
        "large": array.cast(pa.large_string()),
        "view": array.cast(getattr(pa, "string_view", pa.string)()),  # not in older Arrow
        "chunks": pa.chunked_array([array[:9], array[9:9], array[9:]]),
        "slice": pa.concat_arrays([pa.array(["before", "this"]), array])[2:],
        "dictionary": array.dictionary_encode(),
    }[kind]
    equal(Sketcher(recipe)(given), whole)


@pytest.mark.parametrize("text", ["a", "é", "病", ".", ""])
def test_as_many_tokens_as_bytes(text: str) -> None:
    """Documents of one character, without anything between them."""
    count = 300_000
    sketches = Sketcher(Recipe(ShingleSpec(), num_bands=1, rows=1))([text] * count)
    tokens_of_one = len(tokens(text, ShingleSpec()))
    assert sketches.tokens.sum() == sketches.shingles.sum() == count * tokens_of_one
    assert (sketches.hashes == sketches.hashes[0]).all()
    sets = Tokeniser(ShingleSpec()).sets([text] * count)
    assert len(sets.values) == count * tokens_of_one


def test_no_texts() -> None:
    for unit in UNITS:
        sketches = Sketcher(Recipe(ShingleSpec(**unit), num_bands=2, rows=2))([])
        assert [len(column) for column in sketches] == [0] * 6
        assert Tokeniser(ShingleSpec(**unit)).sets([]).offsets.tolist() == [0]
    assert len(as_text([])) == 0


def test_threads_share_a_sketcher() -> None:
    """Each has its own working memory, and all have one table of stems."""
    recipe = Recipe(ShingleSpec(n=2, stem="english"), num_bands=3, rows=2)
    shared = Sketcher(recipe)
    parts = [texts(seed, 40) for seed in range(8)]
    found: dict[int, Sketches] = {}

    def work(number: int) -> None:
        for _ in range(5):
            found[number] = shared(parts[number])

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number, part in enumerate(parts):
        equal(found[number], Sketcher(recipe)(part))


def test_each_word_is_stemmed_about_once() -> None:
    tokeniser = Tokeniser(ShingleSpec(n=1, stem="english"))
    stemmer: OurStemmer = tokeniser._stemmer  # type: ignore[assignment]
    words = [f"word{i}ing running" for i in range(3000)]
    first = tokeniser.sets(words)
    assert stemmer._count == 3001
    assert np.array_equal(tokeniser.sets(words).values, first.values)
    assert stemmer._count == 3001


def test_without_bands_there_are_no_keys() -> None:
    sketches = Sketcher(Recipe(ShingleSpec(n=2)))(["a b c", "a b d"])
    assert sketches.keys.shape == (2, 0)
    assert sketches.shingles.tolist() == [2, 2]


@pytest.mark.parametrize("scheme", ["affine32", "oph32"])
@pytest.mark.parametrize("spec", [ShingleSpec(n=2), ShingleSpec(unit="char", n=3, bag=True)])
def test_public_functions_make_what_sketches_hold(scheme: str, spec: ShingleSpec) -> None:
    some = ["one two three one two", "", "an other one"]
    made = neardup.signatures(some, 20, shingle=spec, scheme=scheme, seed=9)
    assert made.shape == (3, 20) and made.dtype == np.uint32
    assert (made[1] == 0xFFFFFFFF).all()
    keys = neardup.band_keys(made, 6, 3)
    recipe = Recipe(spec, SCHEMES[scheme], 9, 6, 3)
    if scheme == "affine32":  # the first hashes do not depend on their number
        assert np.array_equal(Sketcher(recipe)(some).keys, keys)
    exact = neardup.signatures(some, 18, shingle=spec, scheme=scheme, seed=9)
    assert np.array_equal(Sketcher(recipe)(some).keys, neardup.band_keys(exact, 6, 3))
    with pytest.raises(SpecError, match="5 bands of 5 rows need 25 hashes; the signatures have 20"):
        neardup.band_keys(made, 5, 5)
    with pytest.raises(SpecError, match="no signature scheme 'md5'"):
        neardup.signatures(some, 20, scheme="md5")
    with pytest.raises(SpecError, match="no signature scheme"):
        Signer(20, "affine32/2")


def test_short_texts_are_one_shingle_of_their_own() -> None:
    sets = neardup.shingle_sets(["a b", "A, b!", "b a", "a b c d e", "a b c d", ""], ShingleSpec())
    one, two, other, full, four, none = rows(sets)
    assert one == two and len(one) == 1 and none == []
    assert len({one[0], other[0], full[0], four[0]}) == 4


def test_accents_and_compatibility_forms() -> None:
    for one, two in [("Café naïve", "cafe naive"), ("e\u0301te\u0301", "été")]:
        assert neardup.similarity(one, two, ShingleSpec(n=1, strip_accents=True)) == 1.0
    assert neardup.similarity("ﬁne Ⅳ ｆｕｌｌ", "fine IV full", ShingleSpec(n=1, nfkc=True)) == 1.0
    assert neardup.similarity("ﬁne", "fine", ShingleSpec(n=1)) == 0.0


def test_one_word_in_front_keeps_the_pair() -> None:
    """Position sampling would lose it."""
    rng = np.random.default_rng(4)
    text = " ".join(f"w{i}" for i in rng.integers(0, 5000, size=400))
    for n in (4, 5, 8):
        value = neardup.similarity(text, "preface " + text, ShingleSpec(n=n))
        assert value == pytest.approx((400 - n + 1) / (400 - n + 2), abs=1e-2)


def test_similarity_of_empty_texts_is_zero() -> None:
    for other in ("", "a"):
        with pytest.warns(ShortTextWarning, match="empty, and empty texts are never duplicates"):
            assert neardup.similarity("", other) == 0.0
    assert neardup.similarity("a", "A!") == 1.0
