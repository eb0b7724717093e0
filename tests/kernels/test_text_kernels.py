"""Kernels from text to band keys against their references, bit for bit."""

from __future__ import annotations

import random
import re
import unicodedata
from collections.abc import Sequence
from itertools import accumulate

import numpy as np
import pytest
import reference_text as reference
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numba import config, njit

from common import tries
from neardup.kernels import bits, searching
from neardup.kernels.text import canonical, code_points, shingling, signing
from neardup.kernels.text import tokens as kernels
from neardup.sketch.texts import Ragged, as_text, text_buffers

pytestmark = pytest.mark.jit_off

#: Without the compiler, kernels take a thousand times as long.
SLOW = bool(config.DISABLE_JIT)
MASK = 2**64 - 1
# Characters that were assigned before any Python in use was made: its own tables and ours agree.
SCRIPTS = (
    "abcXYZ 019_-.,'\"\n\t\0\x1f\x7f\x85 éÄßİıſΣσςДжЙйאבגّعرب़कानि中文字漢ひらがなカタカナーｶﾞ"
    "ไทยກ່ກကာខ្មែ한국어②½Ⅷ²°µ—“”…€👍🏽👩‍👩‍👧\u200b\u202e\ufeff\u0301\u00a0\u3000𝔘𐐀𐐨Ǆǅ"
    "\u00ad\u00ad\r\u0640\u200d\ufe0f\u20e3\u3099\u0323\u0302\u0338=≠ḱJǰ\u030cợ\uf902\u212a\u1112\u1161\u11ab"
)
#: Bases and marks whose forms depend on each other.
FORMS = (
    "aeouAEOUİJǰσς=1_ \u00ad\n\u200c\u200dợỆ\u1e9b\u0958\u09cb\u09c7\u0bca\u0dde\u1026\u30ac"
    "\uf902\ufb2c\u2adc\u212b\u2126\u0344\u1fee\u1f82\uac00\uac01\u1100\u1161\u11a8\u11ff\u1f00"
    "कशश\u093c\u094d\u09be\u09d7\u0dcf\u0dca\u0bbe\u102e\u3099か\u309aハ\u0e38\u0e48\u0e33ก\u0f71\u0f72\u0f74"
)
MARKS = (
    "".join(c for c in map(chr, range(0x300, 0x370)) if unicodedata.combining(c))[::3] + "\u0345"
)
of_forms = st.lists(
    st.text(st.sampled_from(FORMS + 2 * MARKS), max_size=60), min_size=1, max_size=4
)
#: More than is entered of a form.
of_scripts = st.lists(st.text(st.sampled_from(SCRIPTS), max_size=60), min_size=1, max_size=6)
wide = st.lists(
    st.text(st.characters(max_codepoint=0x2FFF, exclude_categories=["Cs", "Cn"]), max_size=40),
    min_size=1,
    max_size=4,
)
numbers = st.integers(0, MASK)
rows_of_numbers = st.lists(st.lists(numbers, max_size=30), min_size=1, max_size=5)


def rows(ragged: Ragged) -> list[list[int]]:
    values = ragged.values.tolist()
    return [values[a:b] for a, b in zip(ragged.offsets[:-1], ragged.offsets[1:], strict=True)]


def ragged(lists: Sequence[Sequence[int]]) -> Ragged:
    offsets = np.cumsum([0, *map(len, lists)]).astype(np.int64)
    return Ragged(np.array([v for values in lists for v in values], dtype=np.uint64), offsets)


def words(texts: list[str], keep_case: bool = False) -> tuple[Ragged, kernels.Spans, np.ndarray]:
    """The hashes of the words of some texts, where the words are, and the texts as bytes."""
    data, offsets = text_buffers(as_text(texts))
    size = int(offsets[-1] - offsets[0])
    most = (size + len(texts)) // 2 + 1
    buffers = kernels.WordBuffers(
        np.empty(size + 2 * bits.LANES, np.uint8),
        np.empty(2 * most + bits.LANES, np.int32),
        np.empty(len(texts) + 1, np.int32),
        np.empty(most, np.uint64),
        np.empty(most, np.uint64),
        np.empty(most, np.uint8),
        np.empty(most + 1, np.int32),
        np.empty(bits.LANES, np.uint8),
        np.empty(canonical.MEMORY, np.int64),
    )
    tokens, starts = np.empty(most, np.uint64), np.empty(len(texts) + 1, np.int64)
    ends = (np.empty(2 * most, np.uint32) for _ in range(2))
    spans = kernels.Spans(*ends, np.empty(len(texts) + 1, np.int64), int(offsets[0]))
    lower = np.uint8(0 if keep_case else 32)
    alphabet = canonical.alphabet(keep_case)
    count = kernels.words(data, offsets, alphabet, lower, buffers, tokens, starts, spans)
    return Ragged(tokens[:count], starts), spans, data


def check_words(texts: list[str], keep_case: bool = False) -> None:
    """Hashes are those of the words, and the spans are where these are."""
    found, spans, data = words(texts, keep_case)
    expected = [reference.words(text, keep_case) for text in texts]
    assert rows(found) == [[reference.hash_tokens(w) for w in each] for each in expected]
    flat = [word for each in expected for word in each]
    spans_of = [reference.word_spans(text) for text in texts]
    joined, count = "".join(texts), len(found.values)
    begins = np.array([0, *accumulate(map(len, texts))])
    assert np.array_equal(spans.begins, begins)
    of_bytes, of_characters = (ends.reshape(-1, 2)[:count].tolist() for ends in spans[:2])
    data = data[spans.first :]
    as_written = [data[a:b].tobytes().decode() for a, b in of_bytes]
    assert [joined[a:b] for a, b in of_characters] == as_written
    before = zip(begins[:-1].tolist(), spans_of, strict=True)
    expected_ends = [[first + a, first + b] for first, ends in before for a, b in ends]
    assert of_characters == expected_ends
    assert [reference.token(word, keep_case) for word in as_written] == flat


def of_all_lengths(generator: random.Random, length: int) -> str:
    """A text whose words begin and end at all places of windows of 64 bytes."""
    out: list[str] = []
    while sum(map(len, out)) < length:
        word = "".join(
            generator.choices("abZ9_", k=generator.choice([1, 2, 3, 7, 8, 9, 15, 16, 40, 70]))
        )
        if generator.random() < 0.2:
            place = generator.randrange(len(word) + 1)
            word = word[:place] + generator.choice(SCRIPTS) + word[place:]
        out += [
            word,
            generator.choice([" ", "  ", ".", ", ", "\n", " " * generator.randint(1, 130)]),
        ]
    return "".join(out)


@given(of_scripts | of_forms | wide, st.booleans())
@example(["A\u0301b\u0301 \u0301x", "中\u0301b文c", "", "a" * 9 + "É" * 8, "İİ"], False)
@settings(max_examples=10 if SLOW else tries(37, 150), deadline=None)
def test_words(texts: list[str], keep_case: bool) -> None:
    check_words(texts, keep_case)


@pytest.mark.parametrize("keep_case", [False, True])
def test_words_at_the_borders_of_windows(keep_case: bool) -> None:
    generator = random.Random(5)
    lengths = [*range(60, 70), 127, 128, 129] if SLOW else [*range(200), *[500] * 50]
    check_words([of_all_lengths(generator, length) for length in lengths], keep_case)


def assigned() -> list[str]:
    """Characters that this Python knows; their properties do not change any more."""
    return [
        chr(code)
        for code in range(0x110000)
        if unicodedata.category(chr(code)) not in ("Cn", "Cs", "Co")
    ]


@pytest.mark.long
@pytest.mark.parametrize("keep_case", [False, True])
def test_every_character(keep_case: bool) -> None:
    """By itself, and between letters."""
    every = assigned()[:: 500 if SLOW else 5 if keep_case else 1]
    check_words([f"a{c}b {c}{c}" for c in every], keep_case)
    for form in range(3):
        found = characters(every, keep_case, form)
        assert rows(found) == [reference.characters(c, keep_case, form) for c in every]


def characters(texts: list[str], keep_case: bool, form: int) -> Ragged:
    data, offsets = text_buffers(as_text(texts))
    tokens, marks = np.empty(2 * int(offsets[-1]), np.uint64), np.empty(canonical.MEMORY, np.int64)
    ends = np.empty(len(texts) + 1, np.int64)
    how = canonical.alphabet(keep_case), form, marks
    count = code_points.characters(data, offsets, *how, tokens, ends)
    return Ragged(tokens[:count], ends)


@given(of_scripts | of_forms | wide, st.booleans(), st.integers(0, 2))
@settings(max_examples=10 if SLOW else tries(37, 150), deadline=None)
def test_characters(texts: list[str], keep_case: bool, form: int) -> None:
    found = characters(texts, keep_case, form)
    assert rows(found) == [reference.characters(t, keep_case, form) for t in texts]


@given(of_forms, st.booleans())
@settings(max_examples=10 if SLOW else tries(37, 150), deadline=None)
def test_forms_of_a_text_have_the_same_tokens(texts: list[str], keep_case: bool) -> None:
    """Canonical forms of each, but for more marks in a row than are put in order together."""
    texts = [text for text in texts if not re.search(f"[{MARKS}]{{40}}", text)]
    forms = [texts, *([unicodedata.normalize(f, t) for t in texts] for f in ("NFC", "NFD"))]
    of_words = [rows(words(each, keep_case)[0]) for each in forms]
    assert of_words[0] == of_words[1] == of_words[2]
    of_characters = [rows(characters(each, keep_case, 2)) for each in forms]
    assert of_characters[0] == of_characters[1] == of_characters[2]


@pytest.mark.parametrize("size", [63, 64, 65, 66, 128, 129, 300])
def test_many_marks_in_a_row(size: int) -> None:
    generator = random.Random(size)
    texts = [
        f"x{first}" + "".join(generator.choices(MARKS, k=size)) + "\u09be o"
        for first in "aeо=\u09c7"
    ]
    check_words(texts)
    assert rows(characters(texts, False, 2)) == [reference.characters(t) for t in texts]


def _composed(data, alphabet, marks, out):  # type: ignore[no-untyped-def]
    pending, count, i = (np.int64(-1), np.int64(0), np.int64(0)), 0, 0
    while i < data.shape[0]:
        code, size = canonical.decode(data, i)
        at = np.int64(alphabet.page[code >> 8]) << 8 | code & 255
        pending, more = canonical.enter(code, np.int64(alphabet.kind[at]), pending, alphabet, marks)
        out[count : count + more] = marks[canonical.OUT : canonical.OUT + more]
        count, i = count + more, i + size
    starter, size = canonical.settle(pending[0], pending[1], alphabet, marks)
    if starter >= 0:
        out[count] = starter
        count += 1
    for k in range(size):
        out[count + k] = marks[k] & canonical.CODE
    return count + size


def _around(data, at, last, alphabet):  # type: ignore[no-untyped-def]
    behind = canonical.behind_line_end(data, at, last)
    return behind, canonical.kind_at(data, last, alphabet), canonical.decode(data, last)[0]


if not SLOW:
    _composed, _around = njit(_composed), njit(_around)


@pytest.mark.long
@given(st.text(st.sampled_from(FORMS + 2 * MARKS), max_size=60), st.booleans())
@settings(max_examples=10 if SLOW else tries(37, 150), deadline=None)
def test_composed(text: str, keep_case: bool) -> None:
    """Characters that are not compared too, and any of them as the first one."""
    data, marks = np.frombuffer(text.encode(), np.uint8), np.empty(canonical.MEMORY, np.int64)
    out = np.empty(4 * len(data) + 4, np.int64)
    count = _composed(data, canonical.alphabet(keep_case), marks, out)
    assert "".join(map(chr, out[:count].tolist())) == reference.composed(text, keep_case)


@given(st.text(st.sampled_from(" \t\r\na"), max_size=7), st.sampled_from(FORMS))
@settings(max_examples=30 if SLOW else tries(50, 200), deadline=None)
def test_line_ends_and_the_character_behind_them(text: str, char: str) -> None:
    data, last = (text + char).encode(), len(text)
    found = _around(np.frombuffer(data, np.uint8), 0, last, canonical.alphabet(False))
    expected = reference.behind_line_end(data, 0, last), reference.kind_at(data, last)
    assert found == (*expected, *reference.code_points(char.encode()))


@given(of_scripts | wide)
@settings(max_examples=10 if SLOW else tries(25, 100), deadline=None)
def test_hash_tokens(strings: list[str]) -> None:
    out = np.empty(len(strings), np.uint64)
    kernels.hash_tokens(*text_buffers(as_text(strings)), out)
    assert out.tolist() == [reference.hash_tokens(s) for s in strings]


@given(st.lists(st.integers(0, 20), max_size=30).map(sorted), st.integers(0, 21))
@settings(max_examples=20 if SLOW else tries(50, 200), deadline=None)
def test_searching(values: list[int], value: int) -> None:
    array = np.array(values, np.uint64)
    for low in range(0, len(values) + 1, 7):
        of = array, np.int64(low), np.int64(len(values)), np.uint64(value)
        assert searching.first_not_below(*of) == reference.first_not_below(values, low, value)
        assert searching.first_above(*of) == reference.first_above(values, low, value)


@given(st.lists(st.integers(0, 60), max_size=40, unique=True), st.data())
@settings(max_examples=20 if SLOW else tries(50, 200), deadline=None)
def test_rows_in_ascending_order(different: list[int], data: st.DataObject) -> None:
    """Equal values are next to each other, in stretches that ascend or not."""
    times = data.draw(st.lists(st.integers(1, 4), min_size=40, max_size=40))
    values = [value for value, many in zip(different, times, strict=False) for _ in range(many)]
    array, order = np.array(values, np.uint64), np.empty(len(values), np.int64)
    searching.fill_order(array, np.sort(array), order)
    assert order.tolist() == reference.fill_order(values)


@given(
    st.lists(st.integers(1, 40), unique=True, max_size=30),
    st.lists(st.integers(1, 60), max_size=60),
    st.booleans(),
)
@settings(max_examples=20 if SLOW else tries(25, 100), deadline=None)
def test_replace_known_and_add_replacements(
    known: list[int], tokens: list[int], spread: bool
) -> None:
    """In two steps, in a table that is nearly full."""
    change = reference.mix if spread else lambda value: value << 20  # all in one chain
    known, tokens = [change(k) for k in known], [change(t) for t in tokens]
    keys, values = np.zeros(32, np.uint64), np.zeros(32, np.uint64)
    table: dict[int, int] = {}
    for part in (known[: len(known) // 2], known[len(known) // 2 :]):
        others = [reference.mix(token) for token in part]
        kernels.add_replacements(
            np.array(part, np.uint64), np.array(others, np.uint64), keys, values
        )
        table = reference.add_replacements(table, part, others)
    given_tokens = np.array(tokens, np.uint64)
    out, missing = np.empty_like(given_tokens), np.empty(len(tokens), np.int64)
    count = kernels.replace_known(given_tokens, keys, values, out, missing)
    assert (out.tolist(), missing[:count].tolist()) == reference.replace_known(tokens, table)
    kernels.replace_known(given_tokens, keys, values, given_tokens, missing)  # in place
    assert given_tokens.tolist() == out.tolist()


@given(rows_of_numbers, st.integers(1, 9), st.booleans())
@settings(max_examples=20 if SLOW else tries(37, 150), deadline=None)
def test_shingle_tokens_and_sort_sets(tokens: list[list[int]], n: int, bag: bool) -> None:
    flat = ragged(tokens)
    values, ends = np.empty(len(flat.values), np.uint64), np.empty(len(tokens) + 1, np.int64)
    hashes = np.empty((len(tokens), 2), np.uint64)
    count = shingling.shingle_tokens(flat.values, flat.offsets, n, values, ends, hashes)
    expected = [reference.shingle_tokens(t, n) for t in tokens]
    assert rows(Ragged(values[:count], ends)) == expected
    assert [tuple(row) for row in hashes.tolist()] == [reference.sequence_hash(t) for t in tokens]
    check_sets(expected, bag)


def check_sets(shingles: list[list[int]], bag: bool) -> None:
    flat = ragged(shingles)
    scratch = np.empty(max([1, *map(len, shingles)]), np.uint64)
    counts = np.empty((1 << 16) + 1, np.int64)
    size = shingling.sort_sets(flat.values, flat.offsets, bag, scratch, counts, flat.offsets)
    expected = [reference.sort_sets(s, bag) for s in shingles]
    assert rows(Ragged(flat.values[:size], flat.offsets)) == expected


@pytest.mark.parametrize("size", [0, 1, 24, 25, 300, 3_000 if SLOW else 70_000])
@pytest.mark.parametrize("bag", [False, True])
def test_sets_of_any_size_with_many_repetitions(size: int, bag: bool) -> None:
    rng = np.random.default_rng(size)
    values = rng.integers(0, 2**64, size=max(1, size // 3), dtype=np.uint64)
    check_sets([[7, 7], rng.choice(values, size=size).tolist(), [], [MASK, 0, MASK]], bag)


@given(
    st.lists(st.lists(numbers, max_size=20), min_size=1, max_size=4),
    st.integers(1, 20),
    st.integers(0, 2**63 - 1),
)
@settings(max_examples=15 if SLOW else tries(25, 100), deadline=None)
def test_sign_affine_sign_oph_and_band_keys(
    sets: list[list[int]], num_hashes: int, seed: int
) -> None:
    flat = ragged(sets)
    draws = [reference.splitmix(seed, i) for i in range(num_hashes)]
    a, b = [d >> 32 | 1 for d in draws], [d % 2**32 for d in draws]
    affine = np.empty((len(sets), num_hashes), np.uint32)
    signing.sign_affine(
        flat.values, flat.offsets, np.array(a, np.uint32), np.array(b, np.uint32), affine
    )
    assert affine.tolist() == [reference.sign_affine(s, a, b) for s in sets]
    oph = np.empty((len(sets), num_hashes), np.uint32)
    signing.sign_oph(flat.values, flat.offsets, np.uint64(seed), oph)
    assert oph.tolist() == [reference.sign_oph(s, num_hashes, seed) for s in sets]
    num_bands = max(1, num_hashes // 3)
    num_rows = num_hashes // num_bands
    keys = np.empty((len(sets), num_bands), np.uint64)
    signing.band_keys(affine, num_rows, keys)
    assert keys.tolist() == [reference.band_keys(s, num_bands, num_rows) for s in affine.tolist()]


@given(st.lists(numbers))
@settings(max_examples=50, deadline=None)
def test_shorten(values: list[int]) -> None:
    found = np.array(values, dtype=np.uint64)
    shingling.shorten(found)
    assert found.tolist() == reference.shorten(values)


@given(numbers, numbers)
@example(0, 0)
@example(MASK, MASK)
@settings(max_examples=100, deadline=None)
def test_mix_and_splitmix(value: int, seed: int) -> None:
    with np.errstate(over="ignore"):
        assert int(bits.mix(np.uint64(value))) == reference.mix(value)
        found = bits.splitmix(np.uint64(seed), np.uint64(value & 0xFFFF))
    assert int(found) == reference.splitmix(seed, value & 0xFFFF)


if not SLOW:

    @njit
    def _look(data, at, target, to, lower, value):  # type: ignore[no-untyped-def]
        return (
            bits.classify(data, at, target, to, lower),
            bits.load8(data, at),
            bits.popcount(value),
            bits.trailing_zeros(value),
            bits.high_product(value, ~value),
        )
else:

    def _look(data, at, target, to, lower, value):  # type: ignore[no-untyped-def]
        return (
            bits.classify(data, at, target, to, lower),
            bits.load8(data, at),
            bits.popcount(value),
            bits.trailing_zeros(value),
            bits.high_product(value, ~value),
        )


def _scan(data, at, bytes_, target, place):  # type: ignore[no-untyped-def]
    bits.copy32(data, at, target, place)
    return bits.mask32(data, at, bytes_[0], bytes_[1], bytes_[2], bytes_[3])


if not SLOW:
    _scan = njit(_scan)


@given(
    st.binary(min_size=41, max_size=41),
    st.integers(0, 9),
    st.lists(st.integers(0, 255), min_size=4, max_size=4),
)
@example(bytes(range(41)), 3, [4, 4, 40, 9])
@example(bytes(range(215, 256)), 0, [255, 216, 0, 220])
@settings(max_examples=100, deadline=None)
def test_mask32_and_copy32(data: bytes, at: int, wanted: list[int]) -> None:
    before = bytes(range(100, 150))
    target = np.frombuffer(before, np.uint8).copy()
    found = _scan(np.frombuffer(data, np.uint8), at, np.array(wanted, np.uint8), target, at)
    assert int(found) == reference.mask32(data[at : at + 32], *wanted)
    assert target.tobytes() == reference.copy32(data, at, before, at)


@given(st.binary(min_size=64, max_size=64), st.integers(0, 9), st.sampled_from([0, 32]), numbers)
@example(bytes(range(64)), 3, 32, 0)
@example(bytes(range(64, 128)), 0, 32, MASK)
@example(bytes(range(64, 128)), 0, 0, 1 << 63)
@example(bytes(range(192, 256)), 0, 32, 1)
@settings(max_examples=100, deadline=None)
def test_operations_of_the_machine(data: bytes, at: int, lower: int, value: int) -> None:
    source = np.frombuffer(bytes(at) + data, np.uint8)
    target = np.full(64 + 2 * at, 9, np.uint8)
    inside, word, ones, zeros, product = _look(
        source, at, target, at, np.uint8(lower), np.uint64(value)
    )
    expected, flags = reference.classify(data, lower)
    assert target.tobytes() == bytes([9] * at) + expected + bytes([9] * at)
    assert int(inside) == flags
    assert int(word) == reference.load8(data, 0)
    assert int(ones) == reference.popcount(value)
    assert int(zeros) == reference.trailing_zeros(value)
    assert int(product) == reference.high_product(value, value ^ MASK)
