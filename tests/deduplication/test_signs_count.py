"""Signs in short texts, in all texts and in none; texts without words; in each engine."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

import neardup
from common import Command
from neardup import ShingleSpec, SpecError

LONG = " ".join(f"w{i}" for i in range(38))
#: Texts, how many are kept with `--signs short`, and the counts that say so.
ROWS: list[tuple[list[str], int, dict[str, int]]] = [
    (["C#", "C++", "C"], 3, {"short": 3}),
    (["LGPL-2.1", "LGPL-2.1+"], 2, {}),
    (["price $50", "price €50"], 2, {}),
    (["Hello!", "hello"], 1, {"equal_words": 1}),
    (["a (b) [c] *d*", "a b c d"], 1, {"equal_words": 1}),
    (["x = 5", "x = -5", "x = 2-5", "x = 2 5"], 3, {"equal_words": 1}),
    (["x \u2260 y", "x =\u0338 y", "x = y"], 2, {"equal_words": 1}),
    ([f"{LONG} < 5", f"{LONG} > 5"], 1, {"equal_words": 1}),
    (["★★★★★", "★★★★★", "★★★☆☆"], 2, {"same": 1, "empty": 0, "short": 3}),
    (["❤️❤️", "☀️☀️"], 2, {"empty": 0}),
    (["❤️", "❤"], 1, {"equal_words": 1}),
    (["∀ ∃", "∀∃"], 1, {}),
    (["", "  ", "\u3164"], 3, {"empty": 3, "short": 0}),
    (["🏴\U000e0067\U000e0062\U000e007f", "🏴"], 2, {}),
]


@pytest.mark.parametrize(("texts", "kept", "counts"), ROWS)
def test_what_is_kept(
    texts: list[str],
    kept: int,
    counts: dict[str, int],
    tmp_path: Path,
    command: Command,
    kernels: None,
) -> None:
    run = neardup.dedup(texts)
    assert int(run.keep_mask.sum()) == kept
    assert {name: run.summary["counts"][name] for name in counts} == counts
    file = tmp_path / "a.jsonl"
    file.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    assert command("dedup", file, "-o", tmp_path / "out").code == 0
    found = json.loads((tmp_path / "out" / "run.json").read_text())
    assert found["counts"]["kept"] == kept
    assert found["recipe"]["shingle"]["signs"] == "short"


def test_all_and_none(kernels: None) -> None:
    for texts, how in (
        (["C#", "C++", "C"], {"all": [None] * 3, "none": [None, "words", "words"]}),
        ([f"{LONG} < 5", f"{LONG} > 5"], {"all": [None, "near"], "none": [None, "words"]}),
    ):
        for signs, expected in how.items():
            run = neardup.dedup(texts, signs=signs)
            assert run.clusters.column("how").to_pylist() == expected
    # The set of a longer text is that of its words, unless all signs count.
    spec = ShingleSpec(signs="none")
    assert neardup.similarity(f"{LONG} < 5", LONG + " 5", ShingleSpec()) == 1
    assert neardup.similarity(f"{LONG} < 5", LONG + " 5", spec) == 1
    assert neardup.similarity(f"{LONG} < 5", LONG + " 5", ShingleSpec(signs="all")) < 1


@pytest.mark.parametrize("signs", ["short", "all", "none"])
def test_every_engine_finds_the_same(signs: str, tmp_path: Path, kernels: None) -> None:
    rng = random.Random(signs)
    words = ["C", "x", "price", "5", *LONG.split()[:12]]
    marks = [" ", " # ", " + ", " $", ", ", " -", " ≠ ", " ★ "]

    def text() -> str:
        if rng.random() < 0.2:
            return "".join(rng.choice("★☆❤≠ ") for _ in range(3))
        row = rng.choices(words[:4], k=rng.randrange(4)) + words[4:] * (rng.random() < 0.3)
        return "".join(word + rng.choice(marks) for word in row)

    old, new = [text() for _ in range(60)], [text() for _ in range(120)]
    spec = neardup.preset("web").replace(signs=signs)
    first = neardup.dedup(old, spec=spec)
    kept = [t for t, keep in zip(old, first.keep_mask, strict=True) if keep]
    want = neardup.dedup([*kept, *new], spec=spec).keep_mask.tolist()[len(kept) :]
    index = neardup.Index.create(tmp_path / "index", spec=spec)
    index.add(kept, ids=range(len(kept)))
    assert neardup.against(new, kept, spec=spec).keep_mask.tolist() == want
    assert neardup.against(new, index).keep_mask.tolist() == want
    exact = neardup.dedup([*kept, *new], spec=spec.replace(method="allpairs"))
    assert exact.keep_mask.tolist()[len(kept) :] == want
    answers = index.add_if_new(new, ids=range(1000, 1000 + len(new)))
    assert answers.column("kept").to_pylist() == want


def test_decontaminate(kernels: None) -> None:
    train = [f"a b c was {sign} 5 d e f g h i" for sign in "<>"]
    item = ["b c was < 5 d e f"]
    for signs, expected in (("short", [1, 1]), ("none", [1, 1]), ("all", [1])):
        found = neardup.decontaminate(train, item, signs=signs, threshold=0.5)
        assert found.matches.column("containment").to_pylist() == expected
        assert found.summary["settings"]["signs"] == signs
    # Short items are looked for in longer texts, whose signs don't count.
    assert neardup.decontaminate(train, ["was < 5"]).keep_mask.tolist() == [False, False]


def test_refused(kernels: None) -> None:
    calls: list[tuple[Any, str]] = [
        (lambda: ShingleSpec("char", signs="all"), "is for words as shingles, and they are char"),
        (lambda: ShingleSpec("item", signs="none"), "is for words as shingles, and they are items"),
        (lambda: ShingleSpec(signs="some"), "no value of signs 'some'"),
        (lambda: ShingleSpec(signs=True), "no value of signs"),
        (lambda: neardup.dedup(["a"], shingle="char:3", signs="all"), "is for words"),
        (
            lambda: neardup.decontaminate(["a"], ["a"], passage=5, signs="all"),
            "passages are of words",
        ),
    ]
    for call, says in calls:
        with pytest.raises(SpecError, match=says):
            call()
    index = neardup.Index.create(spec=neardup.preset("web").replace(signs="all"))
    with pytest.raises(SpecError, match="settings are those of the index"):
        neardup.against(["a"], index, signs="none")
