"""Texts are read again up to the last word that is needed, with the same result."""

from __future__ import annotations

import numpy as np
import pytest

import neardup
from neardup import ShingleSpec
from neardup.sketch import tokenising
from neardup.sketch.beginnings import Part, beginnings
from neardup.sketch.common_beginnings import tokens_of
from neardup.sketch.texts import Ragged, as_text, text_buffers
from neardup.sketch.tokenising import Tokeniser

NAMES = ("passages", "documents")


def corpus(seed: int) -> list[str]:
    """Texts with a template in front, in the middle or at the end; also long and empty ones."""
    rng = np.random.default_rng(seed)
    template = " ".join(f"form{i}" for i in range(30))
    texts = ["", "é" * 400, "語" * 300, template]
    for number in range(150):
        words = [f"w{k}" if k % 7 else f"größe{k}\n" for k in rng.integers(0, 3000, 60).tolist()]
        at = (0, 30, 60, 0)[number % 4]
        words[at:at] = [template] if number % 5 else []
        long = " ".join(f"{'x' * 9}{k}" for k in rng.integers(0, 10**6, 200).tolist())
        texts.append(" ".join(words) + (f" {long}" if number % 11 == 0 else ""))
    return texts


@pytest.mark.parametrize("want_spans", [False, True])
@pytest.mark.parametrize(
    "spec",
    [ShingleSpec(n=1), ShingleSpec(n=1, keep_case=True), ShingleSpec(n=1, stem="english")],
    ids=["lower", "as written", "stems"],
)
def test_what_texts_have_in_common_is_read_once(spec: ShingleSpec, want_spans: bool) -> None:
    if spec.stem:
        pytest.importorskip("Stemmer")
    form = "Größe: form " + " ".join(f"field{i}" for i in range(40))
    texts = [f"{form} {text}" if number % 9 else text for number, text in enumerate(corpus(5))]
    texts += [form, f"{form}s", form[:200], f"{form} ", f"{form}\n{form}", form.upper()]
    data, offsets = text_buffers(as_text(["before", *texts]))
    offsets, tokeniser = offsets[1:], Tokeniser(spec)
    expected, spans = tokeniser.tokens(data, offsets, want_spans)
    size = len(expected.values) if want_spans else 0
    tokens = expected.values.copy()
    places = [side[:size].copy() for side in spans]
    found, shared, spans = tokens_of(tokeniser, data, offsets, want_spans)
    assert np.array_equal(found.values, tokens)
    assert np.array_equal(found.offsets, expected.offsets)
    for place, side in zip(places, spans, strict=True):
        assert np.array_equal(side[:size], place)
    rows, model = np.split(tokens, expected.offsets[1:-1]), 0
    for number, count in enumerate(shared.tolist()):
        model = model if count else number
        assert np.array_equal(rows[number][:count], rows[model][:count])
    assert np.count_nonzero(shared >= 40) > 100


@pytest.mark.parametrize("more", [[], ["!"], ["!", "word word"], [" a", "", "b c d e"]])
def test_texts_that_are_little_more_than_what_they_have_in_common(more: list[str]) -> None:
    form = " ".join(f"word{i}" for i in range(60))
    texts = [form, *(f"{form} {k * more[k % len(more)] if more else ''}" for k in range(12))]
    found = neardup.passages(texts, words=8).documents
    assert found.column("copied_words").to_pylist()[0] == 0
    assert all(words >= 60 for words in found.column("copied_words").to_pylist()[1:])


@pytest.mark.parametrize("options", [{}, {"nfkc": True}, {"ignore": ["w1[0-9]*"]}, {"stem": "en"}])
def test_parts_change_nothing(options: dict[str, object], monkeypatch: pytest.MonkeyPatch) -> None:
    if "stem" in options:
        pytest.importorskip("Stemmer")
        options = {"stem": "english"}
    texts = {"text": corpus(1)}
    expected = neardup.passages(texts, words=8, **options)  # type: ignore[arg-type]
    monkeypatch.setattr(tokenising, "_BATCH_BYTES", 2000)
    found = neardup.passages(texts, words=8, **options)  # type: ignore[arg-type]
    for name in NAMES:
        assert getattr(found, name).equals(getattr(expected, name))
    assert len(found.passages) > 100


def test_parts_have_what_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokenising, "_BATCH_BYTES", 2000)
    texts, tokeniser = corpus(2), Tokeniser(ShingleSpec(n=1))
    data, offsets = text_buffers(as_text(texts))
    every = tokeniser.tokens(data, offsets)[0]
    tokens = [row.copy() for row in np.split(every.values, every.offsets[1:-1])]
    sizes = np.array([len(row) for row in tokens])
    needed = np.random.default_rng(3).integers(0, sizes + 1)
    needed[::3] = np.minimum(needed[::3], 5)

    def look(part: Part) -> tuple[Ragged, np.ndarray]:
        found = tokeniser.tokens(part.data, part.offsets)[0]
        return Ragged(found.values.copy(), found.offsets), np.diff(found.offsets)

    seen, shorter = np.zeros(len(texts), np.bool_), 0
    for first, last, part, found in beginnings(tokeniser, data, offsets, needed, look):
        for k, row in enumerate(np.split(found.values, found.offsets[1:-1]), first):
            assert len(row) >= needed[k] and np.array_equal(row, tokens[k][: len(row)])
            assert part.complete[k - first] or len(row) < sizes[k]
            shorter += len(row) < sizes[k]
        seen[first:last] = True
    assert seen[needed > 0].all() and shorter > 30


@pytest.mark.parametrize("spec", [ShingleSpec(n=1), ShingleSpec(n=1, keep_case=True)])
def test_a_large_document_is_the_same_in_parts(
    spec: ShingleSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, offsets = text_buffers(as_text(["before", " ".join(corpus(4)), "behind"]))
    tokeniser = Tokeniser(spec)

    def found() -> list[np.ndarray]:
        tokens, spans = tokeniser.tokens(data, offsets[1:3], want_spans=True)
        count = len(tokens.values)
        return [*(values.copy() for values in tokens), *(side[:count].copy() for side in spans)]

    expected = found()
    monkeypatch.setattr(tokenising, "_TOGETHER", 300)
    monkeypatch.setattr(tokenising, "_NEAR", 16)
    assert len(expected[0]) > 9000
    assert all(np.array_equal(a, b) for a, b in zip(found(), expected, strict=True))
