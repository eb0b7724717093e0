"""Texts go through the steps in batches, large ones in parts, with the same result."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import neardup
from common import Tune
from neardup import ShingleSpec
from neardup.sketch.spans import ends_of
from neardup.sketch.texts import as_text, text_buffers
from neardup.sketch.tokenising import Tokeniser


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


@pytest.mark.parametrize("more", [[], ["!"], ["!", "word word"], [" a", "", "b c d e"]])
def test_texts_that_are_little_more_than_what_they_have_in_common(more: list[str]) -> None:
    form = " ".join(f"word{i}" for i in range(60))
    texts = [form, *(f"{form} {k * more[k % len(more)] if more else ''}" for k in range(12))]
    found = neardup.passages(texts, words=8).documents
    assert found.column("copied_words").to_pylist()[0] == 0
    assert all(words >= 60 for words in found.column("copied_words").to_pylist()[1:])


@pytest.mark.parametrize("options", [{}, {"nfkc": True}, {"ignore": ["w1[0-9]*"]}, {"stem": "en"}])
def test_batches_change_nothing(options: dict[str, object], tune: Tune) -> None:
    if "stem" in options:
        pytest.importorskip("Stemmer")
        options = {"stem": "english"}
    texts = {"text": corpus(1)}
    expected = neardup.passages(texts, words=8, **options)  # type: ignore[arg-type]
    tune(text_bytes=2000)
    found = neardup.passages(texts, words=8, **options)  # type: ignore[arg-type]
    for name in ("passages", "documents"):
        assert getattr(found, name).equals(getattr(expected, name))
    assert len(found.passages) > 100


@pytest.mark.parametrize("spec", [ShingleSpec(n=1), ShingleSpec(n=1, keep_case=True)])
def test_a_large_document_is_the_same_in_parts(spec: ShingleSpec, tune: Tune) -> None:
    data, offsets = text_buffers(as_text(["before", " ".join(corpus(4)), "behind"]))
    tokeniser = Tokeniser(spec)

    def found() -> list[np.ndarray]:
        tokens, spans = tokeniser.tokens(data, offsets[1:3], want_bytes=True, want_characters=True)
        limits = (ends[: 2 * len(tokens.values)].copy() for ends in spans[:2])
        return [*(values.copy() for values in tokens), *limits, spans.begins]

    expected = found()
    tune(large_text=300, near_bytes=16)
    assert len(expected[0]) > 9000
    assert all(np.array_equal(a, b) for a, b in zip(found(), expected, strict=True))


@pytest.mark.parametrize(
    "options", [{}, {"nfkc": True}, {"strip_accents": True}, {"ignore": ("x\u00e9+",)}]
)
def test_ends_of_words_that_are_not_there(options: dict[str, Any]) -> None:
    """Such as those of a document that has become shorter: the caller says so."""
    tokeniser = Tokeniser(ShingleSpec(n=1, **options))
    text = as_text(["\u00e9\u00e9 x\u00e9\u00e9 b", "", "\U0001f44d a", "\u0301"])
    last = 2 if "ignore" in options else 4
    ends = np.array([0, last, last + 1, last + 2, 0, 0, 1, 2, 2, 7])
    found = ends_of(tokeniser, text, np.array([0, 0, 0, 0, 1, 2, 2, 2, 3, 3]), ends)
    assert found.tolist() == [0, 7, 8, -1, -1, 2, 3, -1, -1, -1]
