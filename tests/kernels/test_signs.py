"""Signs as tokens, and texts without words, against plain Python."""

from __future__ import annotations

import random
import unicodedata
from itertools import accumulate, chain

import numpy as np
import pytest
import reference_text as reference
from hypothesis import example, given, settings
from hypothesis import strategies as st

from common import tries
from neardup.kernels import bits
from neardup.kernels.compiling import kernel
from neardup.kernels.text import few_words, signs
from neardup.kernels.text.canonical import MEMORY, alphabet
from neardup.sketch.texts import Ragged, as_text, text_buffers
from neardup.sketch.tokenising import Tokeniser
from neardup.spec import ShingleSpec

CHARACTERS = (
    "aB1_ \n.,*/|~#$%&@+<=>--5٥€¥×÷≠≮±−°™®→∀\u2adc\u2605\u2764\ufe0f\ufe0e\u200d\u0338\u0301\u00ad"
    "\U0001f44d\U0001f3fd\U0001f3f4\U000e0067éД中\u20e3Ⓐ\u3164ａ＄"
)
texts = st.lists(st.text(st.sampled_from(CHARACTERS), max_size=90), min_size=1, max_size=5)


def expected(text: str, spec: ShingleSpec) -> list[int]:
    """The definition of the tokens of a document that is compared as a whole."""
    words = reference.word_spans(text)
    if not words:
        token = reference.without_words(text, spec.keep_case)
        return [token] if token else []
    if spec.signs == "all":
        return reference.with_signs(text, spec.keep_case)
    if spec.signs == "short" and len(words) < spec.n:
        return reference.with_signs(text, spec.keep_case, spec.n - 1)
    return [reference.hash_tokens(word) for word in reference.words(text, spec.keep_case)]


def rows(ragged: Ragged) -> list[list[int]]:
    values = ragged.values.tolist()
    return [values[a:b] for a, b in zip(ragged.offsets[:-1], ragged.offsets[1:], strict=True)]


@settings(max_examples=tries(60, 2000), deadline=None)
@given(texts, st.sampled_from(["short", "all", "none"]), st.integers(1, 6), st.booleans())
@example(["C#", "C++", "C", "", "a" * 80 + " +"], "short", 5, False)
@example(["-5 a -b 3-5 _-5 \u00ad-5", "-", "x-"], "short", 5, False)
def test_documents(given: list[str], which: str, n: int, keep_case: bool) -> None:
    spec = ShingleSpec(n=n, signs=which, keep_case=keep_case)
    tokeniser = Tokeniser(spec)
    found = tokeniser.documents(*tokeniser.normalise(given))
    assert rows(found) == [expected(text, spec) for text in given]


@settings(max_examples=tries(30, 500), deadline=None)
@given(texts)
def test_one_canonical_form(given: list[str]) -> None:
    for which in ("short", "all"):
        tokeniser = Tokeniser(ShingleSpec(n=4, signs=which))
        forms = [[unicodedata.normalize(f, t) for t in given] for f in ("NFC", "NFD")]
        a, b = (rows(tokeniser.documents(*tokeniser.normalise(form))) for form in forms)
        assert a == b


@pytest.mark.jit_off
@settings(max_examples=tries(30, 500), deadline=None)
@given(texts, st.integers(1, 4), st.booleans())
def test_words_and_signs(given: list[str], most: int, wanted: bool) -> None:
    """Their tokens, and where they are; and a bound of their number."""
    tokeniser = Tokeniser(ShingleSpec())
    data, offsets = text_buffers(as_text(given))
    found, spans = tokeniser._words(data, offsets, signs=True, want_bytes=wanted)
    assert rows(found) == [reference.with_signs(text) for text in given]
    if wanted:
        limits = spans.bytes.reshape(-1, 2)[: len(found.values)].tolist()
        spelled = [text[a:b] for text in given for a, b in reference.word_spans(text, signs=True)]
        assert [data[a:b].tobytes().decode() for a, b in limits] == spelled
    before, sizes = rows(found), np.diff(found.offsets)
    few_words.without_tokens(data, offsets, alphabet(False), sizes)
    assert sizes.tolist() == reference.without_tokens(given, [len(row) for row in before])
    count = few_words.at_most(*found, most)
    assert rows(Ragged(found.values[:count], found.offsets)) == reference.at_most(before, most)


@pytest.mark.jit_off
@settings(max_examples=tries(60, 2000), deadline=None)
@given(st.text(st.sampled_from(CHARACTERS + "--##55"), max_size=40))
def test_signs_of_ascii(text: str) -> None:
    encoded = text.encode()[:64].decode(errors="ignore")
    data = np.frombuffer(encoded.encode().ljust(64), np.uint8)
    bounds = np.int64(0), np.int64(len(encoded.encode()))
    *looked_at, alone, before_others = _signs(data, bounds, alphabet(False, signs=True))
    assert tuple(looked_at) == reference.ascii_signs(data.tobytes())
    assert (alone, before_others) == reference.true_signs(encoded)


@kernel
def _signs(data, bounds, letters):  # type: ignore[no-untyped-def]
    found, doubtful = signs.ascii_signs(data, 0)
    alone, in_run = signs.true_signs(data, np.int64(0), bounds, letters, found, doubtful)
    return found, doubtful, alone, in_run


@pytest.mark.jit_off
@settings(max_examples=tries(30, 500), deadline=None)
@given(texts)
def test_without_words(given: list[str]) -> None:
    out = np.empty(len(given), np.uint64)
    marks = np.empty(MEMORY, np.int64)
    few_words.without_words(*text_buffers(as_text(given)), alphabet(False), marks, out)
    assert out.tolist() == [reference.without_words(text) for text in given]


@pytest.mark.jit_off
def test_replace_rows() -> None:
    rng = random.Random(0)
    for _ in range(50):
        given = [[rng.randrange(9) for _ in range(rng.randrange(4))] for _ in range(7)]
        others = {i: [rng.randrange(9)] * rng.randrange(3) for i in range(7) if rng.random() < 0.4}
        all_rows = [given, [others[i] for i in sorted(others)]]
        values = [np.array(list(chain(*each)), np.uint64) for each in all_rows]
        starts = [np.array([0, *accumulate(map(len, each))], np.int64) for each in all_rows]
        out, out_starts = np.empty(len(values[0]) + len(values[1]), np.uint64), starts[0].copy()
        which = np.array(sorted(others), np.int64)
        few_words.replace_rows(values[0], starts[0], which, values[1], starts[1], out, out_starts)
        found = rows(Ragged(out[: out_starts[-1]], out_starts))
        assert found == reference.replace_rows(given, others)


def test_every_code_point() -> None:
    """The table agrees with that of Python, for what both know."""
    pages, *_, table = alphabet(False, signs=True)
    for code in [*range(0xD800), *range(0xE000, 0x20000)]:
        char = chr(code)
        if unicodedata.category(char) != "Cn":
            at = int(pages[code >> 8]) << 8 | code & 255
            digit = 2 * (unicodedata.category(char) == "Nd")
            assert table[at] == (int(reference._symbol(char) or char == "-") or digit), hex(code)


@pytest.mark.jit_off
@pytest.mark.parametrize(("first", "count"), [(0x80, 0x80), (0x2D, 1), (0x23, 4), (0, 1)])
def test_within(first: int, count: int) -> None:
    data = np.random.default_rng(0).permutation(np.arange(256, dtype=np.uint8))
    expected = reference.within(data[9:73].tobytes(), first, count)
    assert _within(data, np.uint8(first), np.uint8(count)) == expected


@kernel
def _within(data: np.ndarray, first: np.uint8, count: np.uint8) -> int:
    return bits.within(data, 9, first, count)  # type: ignore[no-any-return]
