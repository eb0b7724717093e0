"""Texts are read again up to the last word that is needed, with the same result."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import neardup
from common import Tune
from neardup import ShingleSpec
from neardup.copies.repeated import known_text, repeats
from neardup.sketch.beginnings import Part, beginnings
from neardup.sketch.common_parts import CommonPart, no_part, part_between, tokens_of
from neardup.sketch.run_anchors import RunLength, anchors_of
from neardup.sketch.spans import ends_of
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


@pytest.mark.parametrize("wanted", [False, True])
@pytest.mark.parametrize(
    "spec",
    [ShingleSpec(n=1), ShingleSpec(n=1, keep_case=True), ShingleSpec(n=1, stem="english")],
    ids=["lower", "as written", "stems"],
)
def test_what_texts_have_in_common_is_read_once(spec: ShingleSpec, wanted: bool) -> None:
    if spec.stem:
        pytest.importorskip("Stemmer")
    form = "Größe: form " + " ".join(f"field{i}" for i in range(40))
    texts = list[str]()
    for number, text in enumerate(corpus(5)):
        words = text.split(" ")
        at = (0, len(words) // 2, len(words))[number % 3]
        words[at:at] = [form] if number % 9 else []
        texts.append(" ".join(words))
    texts += [form, f"{form}s", form[:200], f"{form} ", f"{form}\n{form}", form.upper()]
    texts += [f"a{form}", f"\u0301 {form} \u0301", f"é\n{form}\té", f"{form}\u0301 {form}"]
    data, offsets = text_buffers(as_text(["before", *texts]))
    offsets, tokeniser = offsets[1:], Tokeniser(spec)
    expected, spans = tokeniser.tokens(data, offsets, want_characters=wanted)
    size = 2 * len(expected.values) if wanted else 0
    tokens = expected.values.copy()
    characters, begins = spans.characters[:size].copy(), spans.begins
    part = CommonPart.of(np.frombuffer(form.encode(), np.uint8))
    found, shared, spans = tokens_of(tokeniser, data, offsets, wanted, part)
    assert np.array_equal(found.values, tokens)
    assert np.array_equal(found.offsets, expected.offsets)
    assert np.array_equal(spans.characters[:size], characters)
    assert np.array_equal(spans.begins, begins)
    rows = np.split(tokens, expected.offsets[1:-1])
    model = int(np.flatnonzero(shared[:, 1] < 0)[0])
    begin, words = shared[model] * (1, -1)
    of_part = rows[model][begin : begin + words]
    assert words == 42
    for row, (begin, count) in zip(rows, shared.tolist(), strict=True):
        assert np.array_equal(row[begin : begin + abs(count)], of_part[: abs(count)])
        assert abs(count) in (0, 42)
    assert np.count_nonzero(shared[:, 1] == 42) > 100


def test_parts_end_at_white_space() -> None:
    text = "x" * 9 + " " + "word " * 40 + "(form) and." + " more"
    data = np.frombuffer(text.encode(), np.uint8)

    def between(begin: int, end: int) -> str:
        return part_between(data, (begin, end), (0, len(data))).data.tobytes().decode()

    assert between(0, len(data)) == text
    assert between(3, len(data) - 3) == text[10:-5]
    assert between(10, 210) == text[10:209]
    assert between(10, 209) == text[10:209]
    assert between(10, 60) == between(0, 9) == ""
    joined = np.frombuffer(b" " + b"abc," * 40 + b" ", np.uint8)
    assert len(part_between(joined, (1, 161), (0, 162)).data) == 160
    assert not len(part_between(joined, (2, 161), (0, 162)).data)
    assert not len(part_between(joined, (1, 160), (0, 162)).data)
    assert not len(no_part().data)


def test_parts_are_found_in_the_next_texts(
    kernels: None, monkeypatch: pytest.MonkeyPatch, tune: Tune
) -> None:
    """Wherever a template is, its words are read in few texts."""
    form, seen = " ".join(f"form{i}" for i in range(60)), list[np.ndarray]()

    def noted(*arguments: Any) -> Any:
        found = tokens_of(*arguments)
        seen.append(found[1])
        return found

    monkeypatch.setattr(repeats, "tokens_of", noted)
    tune(text_bytes=20_000)
    for at in (0, 20, 40):
        texts = []
        for i in range(400):
            own = [f"w{i}x{k}" for k in range(40)]
            texts.append(" ".join([*own[:at], form, *own[at:]]))
        seen.clear()
        expected = 399 * 60
        for options in ({}, {"nfkc": True}):
            found = neardup.passages(texts, words=8, progress=False, **options)
            assert found.summary["counts"]["copied_words"] == expected
        shared = np.concatenate(seen)
        assert np.count_nonzero(shared[:, 1] == 60) > 600


def test_a_part_without_words_is_dropped() -> None:
    tokeniser = Tokeniser(ShingleSpec(n=1))
    text = known_text.PartitionText(8, np.empty, np.zeros(16, np.uint64))
    dashes = "".join(random.Random(1).choices("-+*=.:", k=150))
    data, offsets = text_buffers(as_text([f"w{i} {dashes} x{i}" for i in range(9)]))
    text.part = CommonPart.of(np.frombuffer(dashes.encode(), np.uint8))
    tokens, shared, _ = tokens_of(tokeniser, data, offsets, False, text.part)
    assert shared[:, 0].all()  # it is found
    text.add(tokens, shared, anchors_of(tokens, RunLength(8), shared=shared))
    assert not len(text.part.data)


@pytest.mark.parametrize("more", [[], ["!"], ["!", "word word"], [" a", "", "b c d e"]])
def test_texts_that_are_little_more_than_what_they_have_in_common(more: list[str]) -> None:
    form = " ".join(f"word{i}" for i in range(60))
    texts = [form, *(f"{form} {k * more[k % len(more)] if more else ''}" for k in range(12))]
    found = neardup.passages(texts, words=8).documents
    assert found.column("copied_words").to_pylist()[0] == 0
    assert all(words >= 60 for words in found.column("copied_words").to_pylist()[1:])


@pytest.mark.parametrize("options", [{}, {"nfkc": True}, {"ignore": ["w1[0-9]*"]}, {"stem": "en"}])
def test_parts_change_nothing(options: dict[str, object], tune: Tune) -> None:
    if "stem" in options:
        pytest.importorskip("Stemmer")
        options = {"stem": "english"}
    texts = {"text": corpus(1)}
    expected = neardup.passages(texts, words=8, **options)  # type: ignore[arg-type]
    tune(text_bytes=2000)
    found = neardup.passages(texts, words=8, **options)  # type: ignore[arg-type]
    for name in NAMES:
        assert getattr(found, name).equals(getattr(expected, name))
    assert len(found.passages) > 100


def test_parts_have_what_is_needed(tune: Tune) -> None:
    tune(text_bytes=2000)
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
