"""Characters that count as the same, through the public functions."""

from __future__ import annotations

import random
import unicodedata
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import neardup
from common import Tune
from neardup import Index, ShingleSpec, similarity
from neardup.errors import RecipeError, SpecError
from neardup.sketch.spans import characters
from neardup.sketch.tokenising import Tokeniser

VIETNAMESE = "Tất cả mọi người sinh ra đều được tự do và bình đẳng về nhân phẩm và quyền"
KOREAN = "모든 인간은 태어날 때부터 자유로우며 그 존엄과 권리에 있어 동등하다"
ENGLISH = f"{' '.join(f'word{n}' for n in range(14))} Senate {' '.join(f'x{n}' for n in range(14))}"
PERSIAN = "او هر روز کتاب می\u200cخواند و شب\u200cها به خانه خود باز گشت است"
BANGLA = "\u09a8\u09cc\u0995\u09be"


def nfd(text: str) -> str:
    return unicodedata.normalize("NFD", text)


SAME: list[tuple[str, str, dict[str, Any]]] = [
    (VIETNAMESE, nfd(VIETNAMESE), {}),
    (KOREAN, nfd(KOREAN), {}),
    (BANGLA, nfd(BANGLA), {"n": 1}),
    *((ENGLISH, ENGLISH.replace("Senate", f"Sen{c}ate"), {}) for c in "\u00ad\u200b\u2060"),
    ("\u0643\u062a\u0640\u0640\u0627\u0628 one two", "\u0643\u062a\u0627\u0628 one two", {}),
    ("\u304b\u3099\u3063\u3053\u3046", "\u304c\u3063\u3053\u3046", {}),
    ("\u1112\u1161\u11ab\u1100\u116e\u11a8", "\ud55c\uad6d", {"n": 1}),
    (PERSIAN, PERSIAN.replace("\u200c", ""), {}),
    ("\uf902", "\u8eca", {"n": 1}),
    ("great \u2764\ufe0f day of my friends of the sea", "great day of my friends of the sea", {}),
    ("a \u2260 b c d e f", "a =\u0338 b c d e f", {}),
    ("J\u030c", "\u01f0", {"n": 1}),
    *((f"Sen\u00ad{end}ate", "Senate", {"n": 1}) for end in (" \r\n", "\n", "\t\r  ", "\n\t")),
    ("exam-\nple", "example", {"n": 1, "join_hyphens": True}),
    ("exam\u2010 \r\n\tple", "example", {"n": 1, "join_hyphens": True}),
    ("a-\nb-\nc-\nd", "abcd", {"n": 1, "join_hyphens": True}),
    ("1\ufe0f\u20e3", "1", {"n": 1}),
    ("\u0130zm\u0130r", "i\u0307zmi\u0307r", {"n": 1}),
]  # fmt: skip
OTHER: list[tuple[str, str, dict[str, Any]]] = [
    ("J\u030c", "\u01f0", {"n": 1, "keep_case": True}),
    ("exam-\nple", "example", {"n": 1}),
    ("exam-\nPle", "examPle", {"n": 1, "join_hyphens": True}),
    ("Sen\u00ad\n\nate", "Senate", {"n": 1}),
    ("Sen\u00ad ate", "Senate", {"n": 1}),
    ("\uff21", "a", {"n": 1}),
    ("2\u00b2", "22", {"n": 1}),
]


@pytest.mark.parametrize(("a", "b", "options"), SAME)
def test_the_same_text(a: str, b: str, options: dict[str, Any]) -> None:
    assert similarity(a, b, ShingleSpec(**options)) == 1
    of_characters = ShingleSpec("char", 3, **{k: v for k, v in options.items() if k != "n"})
    if "\u2764" not in a:
        assert similarity(a, b, of_characters) == 1


@pytest.mark.parametrize(("a", "b", "options"), OTHER)
def test_another_text(a: str, b: str, options: dict[str, Any]) -> None:
    assert similarity(a, b, ShingleSpec(**options)) == 0


def test_a_blank_for_a_joiner_is_another_text() -> None:
    assert 0 < similarity(PERSIAN, PERSIAN.replace("\u200c", " ")) < 1
    blanks = ShingleSpec(ignore=(r"\x{200C}",))
    assert similarity(PERSIAN, PERSIAN.replace("\u200c", " "), blanks) == 1


def test_raw_characters_and_items_stay_as_they_are() -> None:
    raw = ShingleSpec("char", 1, raw=True)
    assert similarity("e\u0301", "\u00e9", raw) == 0
    assert similarity(["e\u0301"], ["\u00e9"]) == 0
    for wrong in ({"unit": "item", "n": 1}, {"unit": "char", "raw": True}):
        with pytest.raises(SpecError, match="join_hyphens"):
            ShingleSpec(**wrong, join_hyphens=True)  # type: ignore[arg-type]


def spans_of(text: str, spec: ShingleSpec) -> list[str]:
    tokeniser, texts = Tokeniser(spec), pa.array([text], pa.large_string())
    words = len(tokeniser.tokens(*tokeniser.normalise(texts))[0].values)
    runs = np.array([[number, 1] for number in range(words)], np.int64).reshape(-1, 2)
    found = characters(tokeniser, texts, np.zeros(words, np.int64), runs).tolist()
    return [text[first:last] for first, last in found]


SINHALA = "\u0dc1\u0dca\u200d\u0dbb\u0dd3 \u0dbd\u0d82\u0d9a\u0dcf"
WORDS = [*SINHALA.split(), "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u062f"]


def test_spans_are_whole_words() -> None:
    assert spans_of(" ".join(WORDS), ShingleSpec(n=1)) == WORDS
    text = "\u00e9 12:30 exam-\r\n ple \ufb01ne wo\u00adrd\u00ad\nx " + nfd("\u00e9t\u00e9")
    spec = ShingleSpec(n=1, join_hyphens=True, nfkc=True, ignore=("[0-9]+:[0-9]+",))
    expected = ["\u00e9", "exam-\r\n ple", "\ufb01ne", "wo\u00adrd\u00ad\nx", nfd("\u00e9t\u00e9")]
    assert spans_of(text, spec) == expected


@pytest.mark.parametrize("mask", [None, "*"])
def test_no_cut_is_within_a_word(mask: str | None) -> None:
    row = " ".join(WORDS * 2)
    texts = [f"one {row} two", f"three {row}\u200d four"]
    run = neardup.passages(texts, words=5, cut=True, mask=mask, progress=False)
    cuts = run.passages.select(["doc_id", "start", "end"]).to_pylist()
    assert cuts and all(texts[1][c["start"] : c["end"]].startswith(WORDS[0]) for c in cuts)
    assert all(texts[1][c["end"]] == " " for c in cuts)


def test_large_documents_are_not_cut_at_a_soft_hyphen(tune: Tune) -> None:
    """Across each border of the parts, and with each number of bytes before it."""
    tune(large_text=300, near_bytes=16)
    generator = random.Random(3)
    pieces = [
        "word",
        "Sen\u00ad \t\n  ate",
        "x\u00ad\r\ny",
        " ",
        "\n",
        "  \n ",
        "\u8eca\u3002",
        "\u00ad",
        " \u00ad \n z",
    ]
    for _ in range(60):
        text = " ".join(generator.choices(pieces, k=400))
        spec = ShingleSpec(n=1)
        whole = Tokeniser(spec)
        found = whole.tokens(*whole.normalise([text]))[0].values.copy()
        both = whole.tokens(*whole.normalise([text, "a"]))[0].values[:-1]
        assert np.array_equal(found, both)


def test_nine_megabytes_with_a_soft_hyphen_at_each_border() -> None:
    mib, line = 1 << 20, "abc defg "
    out, size = [], 0
    while size < 9 * mib:
        room = mib - size % mib
        piece = "Sen\u00ad \n ate " if room < 40 else line
        out.append(piece)
        size += len(piece.encode())
    text = "".join(out)
    tokeniser = Tokeniser(ShingleSpec(n=1))
    (tokens, _), _ = tokeniser.tokens(*tokeniser.normalise([text]))
    assert len(tokens) == sum(2 if piece == line else 1 for piece in out)


TRAIN = [
    nfd(VIETNAMESE),
    "some exam-\nple of a text that is short",
    "nothing of it at all here now",
]
TEST = [VIETNAMESE, "some example of a text that is short"]


def test_every_command_compares_the_same(tmp_path: Path) -> None:
    joined = ShingleSpec(join_hyphens=True)
    texts = [*TRAIN, *TEST]
    run = neardup.dedup(texts, shingle=joined, progress=False)
    assert run.keep_mask.tolist() == [True, True, True, False, False]
    old = neardup.against(TEST, TRAIN, shingle=joined, progress=False)
    assert old.keep_mask.tolist() == [False, False]
    found = neardup.decontaminate(TRAIN, TEST, join_hyphens=True, progress=False)
    assert found.keep_mask.tolist() == [False, False, True]
    copied = neardup.passages(texts, words=5, join_hyphens=True, progress=False)
    assert copied.passages["doc_id"].to_pylist() == [3, 4]
    with Index.create(tmp_path / "index", shingle=joined, threshold=0.7, passages=5) as index:
        index.add(TRAIN, ids=["a", "b", "c"])
        assert [index.query(text)["id"].to_pylist() for text in TEST] == [["a"], ["b"]]
    assert neardup.compare(TRAIN[1], TEST[1], neardup.Spec(shingle=joined)).equal == "tokens"
    plan = neardup.plan(TRAIN)
    assert "cut words" in [one.kind for one in plan.warnings]
    assert "cut words" not in [one.kind for one in neardup.plan(TRAIN, shingle=joined).warnings]


def test_values_of_records_are_compared_in_one_form() -> None:
    records = {
        "id": [1, 2, 3],
        "name": [
            nfd("Nguy\u1ec5n V\u0103n An"),
            "Nguy\u1ec5n V\u0103n A\u00adn",
            "Petra M\u00fcller",
        ],
        "code": ["\u00e9\u200b1", "e\u03011", "x"],
    }
    found = neardup.link(records, id="id", fields=["name", "code:exact"], progress=False).pairs
    assert found.select(["similarity_name", "similarity_code"]).to_pylist() == [
        {"similarity_name": 1.0, "similarity_code": 1.0}
    ]


def test_other_versions_of_tokens_are_never_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    says = "made with tokens/1, and this run uses tokens/2\nhint: make it again"
    with monkeypatch.context() as before:
        before.setattr("neardup.recipe.TOKENS", "1")
        run = neardup.dedup(TRAIN, out=tmp_path / "out", progress=False, keep_run=True)
        Index.create(tmp_path / "index").close()
        neardup.save_signatures(TRAIN, tmp_path / "s.parquet", num_hashes=4)
    with pytest.raises(RecipeError, match=says):
        neardup.read_signatures(tmp_path / "s.parquet")
    with pytest.raises(RecipeError, match=says):
        Index.open(tmp_path / "index")
    again = lambda: run.recluster(cluster="components")  # noqa: E731
    for ask in (again, run.audit, lambda: run.explain(0)):
        with pytest.raises(RecipeError, match=says):
            ask()
