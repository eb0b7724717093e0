"""How removed documents are alike to the kept ones: the same bytes, equal words, or near."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import neardup
from neardup import SpecError
from neardup.views.compared import render, view

COMMON = "one two three four five six seven eight nine ten eleven twelve"


def drawn(seed: int, count: int = 120) -> list[str]:
    """Few different texts, in several forms: as they are, in other case and signs, changed."""
    rng = random.Random(seed)
    texts = []
    for _ in range(count):
        words = COMMON.split()[: rng.choice((2, 3, 12))]
        words += [rng.choice("ab")] if rng.random() < 0.5 else []
        text = rng.choice((" ", " ", ", ")).join(words)
        texts.append(rng.choice((text, text, text.upper(), f"{text}!", "", " ")))
    return texts


def expected(texts: list[str], duplicate_of: list[int | None]) -> list[str | None]:
    """The definition: bytes, then words, then neither."""

    def words(text: str) -> list[str]:
        return text.lower().replace(",", " ").replace("!", " ").split()

    def how(text: str, of: str) -> str:
        return "same" if text == of else "words" if words(text) == words(of) else "near"

    return [
        None if of is None else how(text, texts[of])
        for text, of in zip(texts, duplicate_of, strict=True)
    ]


def columns(run: Any, *names: str) -> list[list[Any]]:
    return [run.clusters.column(name).to_pylist() for name in names]


@pytest.mark.parametrize("settings", [{}, {"pairs": "all"}, {"keep": "longest"}])
def test_the_definition(settings: dict[str, str], kernels: None) -> None:
    for seed in range(5):
        texts = drawn(seed)
        run = neardup.dedup(texts, **settings)
        of, how = columns(run, "duplicate_of", "how")
        assert how == expected(texts, of) and "words" in how
        counts = run.summary["counts"]
        assert (counts["same"], counts["equal_words"]) == (how.count("same"), how.count("words"))


def test_against_a_corpus_or_an_index(tmp_path: Path, kernels: None) -> None:
    for seed in range(3):
        old, new = drawn(seed, 40), drawn(seed + 100, 80)
        kept = neardup.dedup(old)
        texts = [text for text, keep in zip(old, kept.keep_mask, strict=True) if keep]
        both = neardup.dedup([*texts, *new])
        (want,) = columns(both, "how")
        indexes = []
        for stored in (True, False):
            index = neardup.Index.create(tmp_path / f"{seed}{stored}", store_text=stored)
            index.add(texts, ids=range(len(texts)))
            indexes.append(index)
        for given in (texts, kept, indexes[0]):
            run = neardup.against(new, given)
            assert columns(run, "how") == [want[len(texts) :]]
            equal = [run.summary["counts"][name] for name in ("same", "equal_words")]
            assert equal == [want[len(texts) :].count(kind) for kind in ("same", "words")]
        run = neardup.against(new, indexes[1])
        how, in_old, similarity = columns(run, "how", "in_old", "similarity")
        for found, kind, old_one, value in zip(
            how, want[len(texts) :], in_old, similarity, strict=True
        ):
            assert found == (None if old_one and value == 1 else kind)


def test_other_settings_of_a_run(kernels: None) -> None:
    words = [f"w{k}" for k in range(40)]
    near = " ".join([*words[:39], "x"])
    texts = [" ".join(words), near, near, near.upper(), *drawn(1)]
    for settings in ({}, {"pairs": "all"}, {"cluster": "components"}):
        run = neardup.dedup(texts, **settings)
        for threshold in (0.7, 0.8, 0.99):
            found = run.recluster(threshold=threshold)
            of, how = columns(found, "duplicate_of", "how")
            assert how == expected(texts, of)
            assert found.summary["counts"]["same"] == how.count("same")


def test_tables_decide_what_they_say(tmp_path: Path, kernels: None) -> None:
    """At a higher threshold another document may be kept; then texts say how it is alike."""
    words = [f"w{k}" for k in range(40)]
    near = " ".join([*words[:39], "x"])
    texts = [" ".join(words), near, near]
    file = tmp_path / "a.jsonl"
    file.write_text("".join(f'{{"text": "{text}"}}\n' for text in texts))
    neardup.dedup(file, pairs="all", out=tmp_path / "out")
    for threshold, used in ((0.75, "input"), (0.99, "input"), (0.7, "tables")):
        run = neardup.open(tmp_path / "out")
        found = run.recluster(threshold=threshold, clean=False, out=tmp_path / f"{threshold}")
        assert found.summary["recluster"]["used"] == used
        how = ["near"] * 2 if threshold < 0.9 else [None, "same"]
        assert columns(found, "how") == [[None, *how]]


@pytest.mark.parametrize("seed", range(3))
def test_only_the_same(seed: int, kernels: None) -> None:
    texts = drawn(seed)
    run = neardup.dedup(texts, only_same=True)
    first = {text: i for i, text in reversed(list(enumerate(texts)))}
    of = [first[t] if t.strip() and first[t] < i else None for i, t in enumerate(texts)]
    how = [None if original is None else "same" for original in of]
    assert columns(run, "duplicate_of", "how") == [of, how]
    assert run.summary["counts"]["equal_words"] == 0 and run.summary["bands"] is None
    assert "near-duplicates stay" in str(run)


def test_what_has_no_effect_is_refused(tmp_path: Path, kernels: None) -> None:
    same = neardup.preset("web").replace(only_same=True)
    run = neardup.dedup(["a", "a"], spec=same)
    calls: list[tuple[Callable[[], object], str]] = [
        (lambda: neardup.dedup(["a"], only_same=True, threshold=0.8), "`threshold` has no effect"),
        (lambda: neardup.dedup(["a"], only_same=True, pairs="all"), "`pairs` has no effect"),
        (lambda: neardup.dedup(["a"], only_same=True, preset="clinical"), "`preset` has no effect"),
        (lambda: neardup.dedup(["a"], only_same=True, ignore="a"), "`ignore` has no effect"),
        (lambda: same.replace(method="allpairs"), "`method` has no effect"),
        (lambda: neardup.preset("clinical").replace(only_same=True), "`cluster` has no effect"),
        (lambda: same.replace(only_same=1), "`only_same` is 1"),
        (lambda: neardup.against(["a"], ["a"], spec=same), "searches for similar"),
        (lambda: neardup.against(["a"], run), "searches for similar"),
        (lambda: neardup.plan(["a"], spec=same), "searches for similar"),
        (run.audit, "searches for similar"),
        (lambda: run.recluster(threshold=0.9), "searches for similar"),
        (lambda: neardup.Index.create(spec=same), "not for an index"),
    ]
    for call, says in calls:
        with pytest.raises(SpecError, match=says):
            call()
    assert "has its bytes" in neardup.dedup(["a", "b"], only_same=True).explain(1).why


def test_differences_of_equal_words(kernels: None) -> None:
    texts = [f"{COMMON} < 5", f"{COMMON} > 5", f"{COMMON}  < 5"]
    run = neardup.dedup(texts)
    assert columns(run, "how") == [[None, "words", "words"]]
    shown = render(view(run.explain(1, texts=True)))
    assert "[->-]{+<+}" in shown and "exact" not in shown and "equal words" in shown
    assert neardup.compare("C#", "C++").equal is None
