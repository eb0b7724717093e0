"""Cuts in texts of which normalisation makes several words of one character, or joins two."""

from __future__ import annotations

import json
import random
import unicodedata
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow.parquet as pq
import pytest
from oracle_passages import Oracle

import neardup
from common import Command, tries, write_lines
from neardup.sketch.texts import as_text
from neardup.sketch.tokenising import Tokeniser
from neardup.spec import ShingleSpec

_PIECES = ["\u00bd", "\u00b2", "\ufdfa", "\u337f", "\u0e33", "\ufb01", "\u338f", "\u2460", "\u2122"]
_PLAIN = ["1", "2", "a", "\u0e17", "\u0e32", "\u682a", "\u5f0f", "fi"]
_BETWEEN = ["", "", " ", " ", "-", "\n", ". "]
_STAYED = [
    (["x 2 2 y", "\u00bd \u00b2 9"], "\u00bd 9", 1),
    (["x \u0e32 \u0e01 y", "\u0e17\u0e33 \u0e01 \u0e02"], "\u0e17\u0e33 \u0e02", 1),
]


class Words(NamedTuple):
    """The words of a text as it is compared."""

    hashes: list[int]
    spans: list[tuple[int, int]]  # characters of the original text


def words_of(text: str) -> Words:
    normal, origin = "", []
    for at, character in enumerate(text):  # no two of these characters become one
        made = unicodedata.normalize("NFKC", character)
        normal += made
        origin += [at] * len(made)
    assert normal == unicodedata.normalize("NFKC", text)
    tokens, spans = Tokeniser(ShingleSpec(n=1)).tokens(*_buffers(normal), want_characters=True)
    count, found = int(tokens.offsets[-1]), []
    for begin, end in spans.characters.reshape(-1, 2)[:count].tolist():
        found.append((origin[begin], origin[end - 1] + 1))
    return Words([int(value) for value in tokens.values[:count]], found)


def _buffers(text: str) -> Any:
    return Tokeniser(ShingleSpec(n=1)).normalise(as_text([text]))


def texts(seed: int) -> list[str]:
    rng = random.Random(seed)
    pieces = rng.sample(_PIECES, rng.randrange(1, 4)) + rng.sample(_PLAIN, rng.randrange(1, 4))
    made: list[list[str]] = []
    for _ in range(rng.randrange(2, 12)):
        parts = [rng.choice(rng.choice([pieces, _BETWEEN])) for _ in range(rng.randrange(30))]
        if made:
            other = rng.choice(made)
            at, where = rng.randrange(len(other) + 1), rng.randrange(len(parts) + 1)
            parts[where:where] = other[at : at + rng.randrange(12)]
        made.append(parts)
    return ["".join(parts) for parts in made]


def apart(words: Words, cut: set[int]) -> set[int]:
    """The words to cut without those that share a character with one that stays."""
    while True:
        stay = {
            at
            for i, (start, end) in enumerate(words.spans)
            if i not in cut
            for at in range(start, end)
        }
        left = {i for i in cut if stay.isdisjoint(range(*words.spans[i]))}
        if left == cut:
            return cut
        cut = left


def expected(given: list[str], length: int, boilerplate: int) -> Iterator[tuple[Words, set[int]]]:
    """Words of each document, and those of them that are cut."""
    every = [words_of(text) for text in given]
    oracle = Oracle([words.hashes for words in every], length, boilerplate=boilerplate)
    for number, words in enumerate(every):
        cut: set[int] = set()
        common: set[int] = set()
        for passage in oracle.passages:
            if passage.document == number:
                where = common if passage.kind == "boilerplate" else cut
                where |= set(range(passage.first, passage.first + passage.words))
        yield words, apart(words, cut - common)


@pytest.mark.parametrize(
    "options",
    [{}, {"mask": "zz"}, {"boilerplate": 3}, {"whole": "line"}, {"whole": "sentence"}],
    ids=str,
)
@pytest.mark.parametrize("seed", range(tries(12, 30)))
def test_the_words_that_are_cut(options: dict[str, Any], seed: int, kernels: None) -> None:
    given, length = texts(seed), 2 + seed % 2
    run = neardup.passages(given, words=length, nfkc=True, cut=True, progress=False, **options)
    clean: list[str] = run.clean().column("text").to_pylist()
    counts, rows = run.summary["counts"], run.cuts.to_pylist()
    gone = total = 0
    every = list(expected(given, length, options.get("boilerplate", 0)))
    for number, (words, cut) in enumerate(every):
        if "whole" in options:  # what units are is tested elsewhere
            own = [range(row["start"], row["end"]) for row in rows if row["doc_id"] == number]
            touched = [any(a < r.stop and r.start < b for r in own) for a, b in words.spans]
            assert {i for i, is_cut in enumerate(touched) if is_cut} <= cut
            cut = {i for i, is_cut in enumerate(touched) if is_cut}
        left: list[int] = []
        marked = [(i in cut, value) for i, value in enumerate(words.hashes)]
        for is_cut, group in groupby(marked, lambda each: each[0]):
            left += words_of(options.get("mask", "")).hashes if is_cut else [h for _, h in group]
        assert words_of(clean[number]).hashes == left
        gone, total = gone + len(cut), total + len(words.hashes)
    assert counts["cut_words"] == gone and counts["words"] == total
    boilerplate = counts.get("boilerplate_words", 0)
    assert total == counts["novel_words"] + counts["copied_words"] + boilerplate


def test_such_texts_have_words_that_stay() -> None:
    """Otherwise the test above could not fail."""
    stayed = 0
    for seed in range(30):
        every = [words_of(text) for text in texts(seed)]
        oracle = Oracle([words.hashes for words in every], 2 + seed % 2)
        copied = [(p.document, p.first + i) for p in oracle.passages for i in range(p.words)]
        cut = sum(len(cut) for _, cut in expected(texts(seed), 2 + seed % 2, 0))
        stayed += len(set(copied)) > cut > 0
    assert stayed > 10


def test_characters_that_become_one(kernels: None) -> None:
    """A half-width mark, and a vowel of Hangul after a blank, do not blur the rest of a text."""
    given = ["1 \uff76\uff9e 2 \u314f 3", "\u30ac 2 x", "2 \u1161 3"]
    run = neardup.passages([*given[1:], given[0]], words=2, nfkc=True, progress=False)
    rows = [(row["start"], row["end"]) for row in run.passages.to_pylist()]
    assert rows == [(2, 6), (5, 10)]


@pytest.mark.parametrize(("given", "left", "cut_words"), _STAYED)
def test_a_character_of_which_a_word_is_novel(
    given: list[str],
    left: str,
    cut_words: int,
    tmp_path: Path,
    command: Command,
    kernels: None,
) -> None:
    lines = write_lines(tmp_path / "in.jsonl", [{"text": text} for text in given])
    command("passages", lines, "-o", tmp_path / "out", "--words", "2", "--nfkc", "--cut")
    clean = (tmp_path / "out/clean/part-00000.jsonl").read_text("utf-8").splitlines()
    assert [json.loads(line)["text"] for line in clean] == [given[0], left]
    counts = json.loads((tmp_path / "out/run.json").read_text())["counts"]
    assert counts["cut_words"] == cut_words and counts["copied_words"] == 2


def test_a_stretch_that_becomes_empty(kernels: None) -> None:
    given = ["x 2 2 y", "\u00bd\u2082\u00b2 9", "\u00bd \u00bd", "\u00bd \u00bd 3"]
    run = neardup.passages(given, words=2, nfkc=True, cut=True, drop_below=1, progress=False)
    for number, (words, cut) in enumerate(expected(given, 2, 0)):
        kept = len(words.hashes) > len(cut)
        assert run.documents.column("kept").to_pylist()[number] == kept
    assert run.clean().column("text").to_pylist()[1] == given[1]


def test_words_in_test_items(tmp_path: Path, kernels: None) -> None:
    """`decontaminate` cuts by the same rule."""
    train, items = ["\u00bd \u00b2 9", "\u00bd"], ["2 2 9", "7 8"]
    neardup.decontaminate(
        train,
        against=items,
        out=tmp_path / "out",
        shingle=ShingleSpec(n=2, nfkc=True),
        threshold=0.1,
        cut=True,
        progress=False,
    )
    (clean,) = (tmp_path / "out/clean").iterdir()
    left = [row["text"].rstrip() for row in pq.read_table(clean).to_pylist()]
    assert left == ["\u00bd", "\u00bd"]


@pytest.mark.parametrize(
    "options", [{"ignore": [r"\d+\.\d+\.\d+"]}, {"stop_passages": ["5 6 2021"]}]
)
def test_ignored_text_goes_with_the_words_around_it(options: dict[str, Any], kernels: None) -> None:
    given = ["seen on 1.2.2020 and well", "5.6.2021 seen on 5.6.2021 and well 5.6.2021"]
    note = "text that was ignored is cut with the copied words around it"
    run = neardup.passages(given, words=4, cut=True, progress=False, **options)
    if "ignore" in options:
        assert run.clean().column("text").to_pylist()[1] == "5.6.2021 5.6.2021"
    assert any(each.startswith(note) for each in run.summary["notes"])
    run = neardup.passages(given, words=4, progress=False, **options)
    assert not any(each.startswith(note) for each in run.summary["notes"])
