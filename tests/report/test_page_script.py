"""The script that compares two texts, in a real Chromium."""

from __future__ import annotations

import random
from collections.abc import Iterator
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

import pytest
from page_visit import plain

import neardup

ASSETS = Path(neardup.__file__).parent / "report" / "page"


@pytest.fixture
def differ(chromium: Any) -> Iterator[Any]:
    """A page that has the functions which compare texts."""
    context = chromium.new_context()
    page = context.new_page()
    for name in ("text.js", "differences.js"):
        page.add_script_tag(content=(ASSETS / name).read_text(encoding="utf-8"))
    yield page
    context.close()


def _pairs() -> Iterator[tuple[str, str]]:
    draw = random.Random(11)
    yield from [("", ""), ("", "a b"), ("a b", ""), ("  ", "\n"), ("a", "b"), ("漢字 x", "漢 x")]
    for case in range(60):
        words = ["a", "b", "c", "d.", "e\n", "f, "][: draw.randint(2, 6)]
        if case % 2:
            words = [f"w{k}" for k in range(60)] + [".\n", "𝒳", "é"]
        a = [draw.choice(words) for _ in range(draw.randint(0, 80))]
        b = list(a)
        for _ in range(draw.randint(0, 12)):
            at = draw.randint(0, len(b))
            b[at : at + draw.randint(0, 3)] = [
                draw.choice(words) for _ in range(draw.randint(0, 3))
            ]
        yield " ".join(a), " ".join(b)


def test_differences_give_both_texts_back_and_are_few(differ: Any) -> None:
    """Parts are in order and complete; equal ones are equal; no more is changed than need be."""

    for a, b in _pairs():
        found = differ.evaluate(
            """([a, b]) => {
                const found = compareTexts(a, b);
                return { ...found, rows: rowsOf(found) };
            }""",
            [a, b],
        )
        words_a, words_b, parts = found["a"], found["b"], found["parts"]
        assert "".join(words_a) == a and "".join(words_b) == b
        at = (0, 0)
        for k, (equal, from_a, to_a, from_b, to_b) in enumerate(parts):
            assert (from_a, from_b) == at
            at = (to_a, to_b)
            assert k == 0 or parts[k - 1][0] != equal
            if equal:
                assert [w.rstrip() for w in words_a[from_a:to_a]] == [
                    w.rstrip() for w in words_b[from_b:to_b]
                ]
        assert at == (len(words_a), len(words_b))
        for side, text in (("a", a), ("b", b)):
            shown = "".join(piece for row in found["rows"] for _, piece in row[side])
            assert plain(shown).replace(" ", "") == plain(text).replace(" ", "")
        # As much is equal as a longest common subsequence has, but for matches by chance.
        keys = [[w.rstrip() or " " for w in words] for words in (words_a, words_b)]
        blocks = SequenceMatcher(None, *keys, autojunk=False).get_matching_blocks()
        equal = sum(to_a - from_a for same, from_a, to_a, _, _ in parts if same)
        assert equal >= 0.5 * sum(block.size for block in blocks) - 4


@pytest.mark.parametrize("kind", ["near", "inserted", "unrelated", "two words"])
def test_long_notes_are_compared_quickly(differ: Any, kind: str) -> None:
    """5,000 words each: some hundredths of a second; the limit leaves room for a busy machine."""
    draw = random.Random(3)
    few = 2 if kind == "two words" else 3000
    words = [f"w{draw.randint(0, few)}" for _ in range(5000)]
    other = [f"w{draw.randint(0, few)}" for _ in range(5000)]
    if kind == "near":
        other = [w if draw.random() > 0.1 else "x" + w for w in words]
    elif kind == "inserted":
        other = words[:2500] + other[:2000] + words[2500:]
    found = differ.evaluate(
        """([a, b]) => {
            const times = [];
            let parts = null;
            for (let k = 0; k < 5; k++) {
                const start = performance.now();
                const found = compareTexts(a, b);
                rowsOf(found);
                times.push(performance.now() - start);
                parts = found.parts;
            }
            return { time: Math.min(...times), equal: parts.filter((p) => p[0])
                .reduce((sum, p) => sum + p[2] - p[1], 0) };
        }""",
        [" ".join(words), " ".join(other)],
    )
    assert found["time"] < 200
    if kind == "near":
        assert found["equal"] > 0.85 * 5000
    elif kind == "inserted":
        assert found["equal"] == 5000
