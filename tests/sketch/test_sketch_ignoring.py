"""What is ignored becomes spaces before tokens are made, and offsets stay those of the original."""

from __future__ import annotations

import json
import re
import time
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import reference_text as reference
from hypothesis import given, settings
from hypothesis import strategies as st

import neardup
from neardup import ShingleSpec
from neardup.errors import InputError, SpecError
from neardup.recipe import Recipe
from neardup.sketch.sequences import TokenSequences
from neardup.sketch.texts import Ragged
from neardup.sketch.tokenising import Tokeniser
from neardup.tuning import TUNING

DATE = r"\d{1,2}\.\d{1,2}\.\d{4}"


def compared(texts: list[str], **ignored: Any) -> list[str]:
    found: Any = Tokeniser(ShingleSpec(**ignored)).compared(texts)
    result: list[str] = found.to_pylist()
    return result


small = st.lists(st.integers(1, 3), max_size=4)


@given(st.lists(st.lists(st.integers(1, 3), max_size=12), max_size=4), st.lists(small, max_size=6))
@settings(max_examples=100, deadline=None)
def test_sequences(documents: list[list[int]], wanted: list[list[int]]) -> None:
    offsets = np.cumsum([0, *map(len, documents)])
    flat = Ragged(np.array([t for d in documents for t in d], np.uint64), offsets)
    with TUNING.replaced(sequence_hits=1):  # many calls
        hits = TokenSequences([np.array(row, np.uint64) for row in wanted])(flat)
    found = list(zip(hits.position.tolist(), hits.sequence.tolist(), strict=True))
    assert sorted(found) == reference.find_sequences(documents, wanted)
    assert hits.position.tolist() == sorted(hits.position.tolist())


@given(
    st.lists(st.text("a1é2 .\n漢😀", max_size=30), min_size=1, max_size=4),
    st.sets(st.sampled_from([r"[0-9]+", "é", r"a.", "漢|😀", r"(?s)1.*?2", r"a*"]), min_size=1),
)
@settings(max_examples=150, deadline=None)
def test_matches_become_spaces_byte_by_byte(texts: list[str], patterns: set[str]) -> None:
    expected = []
    for text in texts:
        data = bytearray(text.encode())
        for pattern in patterns:
            for found in re.finditer(pattern, text):
                low, high = (len(text[:at].encode()) for at in found.span())
                data[low:high] = b" " * (high - low)
        expected.append(data.decode())
    array = pa.array(["1é2", *texts], pa.large_string())[1:]  # a slice of an array
    assert compared(array, ignore=tuple(patterns)) == expected


def test_stop_passages_are_found_word_by_word() -> None:
    head = "Klinik Süd, Abt. 3\nStraße 1"
    texts = ["KLINIK süd abt 3; straße 1: gut", "Klinik Süd, Abt. 4, Straße 1", "1 Klinik", ""]
    assert compared(texts, stop_passages=[head]) == [" " * 28 + ": gut", *texts[1:]]
    upper = compared([texts[0], head], stop_passages=[head], keep_case=True)
    assert upper[0] == texts[0] and not upper[1].strip()
    # What is ignored in them is ignored in both.
    printed = ["Printed 1.2.2020 by", "x printed 12.12.2021 BY y"]
    both = compared(printed, stop_passages=[printed[0]], ignore=[DATE])
    assert [text.split() for text in both] == [[], ["x", "y"]]
    # Of two that overlap, both go.
    (text,) = compared(["a b c d"], stop_passages=["a b", "b c", "a b c x"])
    assert text.split() == ["d"]


def test_ignored_texts_are_duplicates_and_stay_as_they_were(tmp_path: Path) -> None:
    body = "the patient was seen and is well and goes home today"
    rows = [f"Seen 1.2.2020: {body}", f"SEEN 12.11.1999 {body}", f"seen {body} again 1.1.2000"]
    lines = "".join(json.dumps({"text": row, "n": 1.50}) + "\n" for row in rows)
    (tmp_path / "notes.jsonl").write_text(lines)
    run = neardup.dedup(tmp_path / "notes.jsonl", ignore=DATE, out=tmp_path / "out")
    assert run.keep_mask.tolist() == [True, False, False]
    similarity = run.clusters.column("similarity").to_pylist()
    assert similarity[1] == 1.0 and similarity[2] < 1
    clean = "".join(
        path.read_text() for path in (tmp_path / "out").glob("clean*/**/*") if path.is_file()
    )
    assert clean == lines.splitlines(keepends=True)[0]
    assert run.recipe.shingle.ignore == (DATE,)
    record = json.loads((tmp_path / "out" / "run.json").read_text())
    assert record["recipe"]["shingle"]["ignore"] == [DATE]
    stored = Recipe.from_dict(record["recipe"])
    assert stored == run.recipe and stored.digest == run.recipe.digest
    assert stored.digest != neardup.dedup(rows).recipe.digest
    # A finished run is known again, and another pattern is another run.
    again = neardup.dedup(tmp_path / "notes.jsonl", ignore=DATE, out=tmp_path / "out", resume=True)
    assert again.keep_mask.tolist() == [True, False, False]
    assert neardup.dedup(rows).keep_mask.tolist() != [True, False, False]


@pytest.mark.parametrize("options", [{}, {"nfkc": True}, {"strip_accents": True}])
def test_passages_have_offsets_of_the_original(options: dict[str, Any]) -> None:
    texts = [
        "one two thrée four five",
        "ﬁx é 1.2.2020 LETTERHEAD Süd one 3.4.2021 two thrée é1.1.1999é four x five",
    ]
    ignored = {"ignore": DATE, "stop_passages": ["letterhead süd"], **options}
    run = neardup.passages([texts[0].replace("four", "é é four"), texts[1]], words=3, **ignored)
    (found,) = run.passages.to_pylist()
    assert texts[1][found["start"] : found["end"]] == "one 3.4.2021 two thrée é1.1.1999é four"
    assert found["words"] == 6
    run = neardup.passages([texts[0], texts[0].replace(" ", " 1.1.1999 ")], words=3, **ignored)
    assert run.documents.column("copied_words").to_pylist() == [0, 5]


def test_a_command_takes_patterns_and_a_file(tmp_path: Path, command: Any) -> None:
    body = "the patient was seen and is well and goes home today"
    rows = [f"Klinik Süd {body}", f"{body} 1.2.2020", f"{body} #12"]
    (tmp_path / "notes.jsonl").write_text("".join(json.dumps({"text": r}) + "\n" for r in rows))
    (tmp_path / "stop.txt").write_text("Other head\nline\n\nKlinik\nSüd\n")
    (tmp_path / "stop.jsonl").write_text('{"text": "klinik süd"}\n')
    for number, stop in enumerate(("stop.txt", "stop.jsonl")):
        out = tmp_path / str(number)
        given = ("--ignore", DATE, "--ignore", r"#\d+", "--stop-passages", tmp_path / stop)
        answer = command("dedup", tmp_path / "notes.jsonl", "-o", out, *given)
        assert answer.code == 0, answer.err
        found = neardup.open(out).clusters.column("similarity").to_pylist()
        assert found == [None, 1.0, 1.0]
    answer = command("compare", tmp_path / "stop.txt", tmp_path / "stop.txt", "--ignore", "(")
    assert answer.code == 2 and "is no regular expression of RE2: missing ): (" in answer.err


def test_patterns_that_backtracking_can_not_do_take_linear_time() -> None:
    begin = time.perf_counter()
    texts = compared(["a" * 200_000 + "!"], ignore=["(a+)+$", "(a|aa)+b", "(.*)(.*)(.*)x"])
    assert texts == ["a" * 200_000 + "!"]
    assert time.perf_counter() - begin < 10


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "syntax": ({"ignore": ["("]}, r"`ignore` has '\(', which is no regular expression of RE2"),
    "look-around": ({"ignore": ["(?=a)"]}, "invalid perl operator"),
    "back-reference": ({"ignore": [r"(a)\1"]}, "invalid escape sequence"),
    "a large one": ({"ignore": ["(a{1000}){1000}"]}, "no regular expression of RE2"),
    "empty": ({"ignore": ["a", " "]}, "an entry of `ignore` is empty"),
    "no list": ({"ignore": "a"}, "`ignore` is of type str; expected a sequence of strings"),
    "numbers": ({"stop_passages": [1]}, "`stop_passages` is of type list"),
    "items": ({"unit": "item", "ignore": ["a"]}, "items are compared as they are"),
    "raw": ({"unit": "char", "raw": True, "ignore": ["a"]}, "`ignore` leaves spaces"),
}


@pytest.mark.parametrize("case", BAD)
def test_refused(case: str) -> None:
    given, message = BAD[case]
    with pytest.raises(SpecError, match=message):
        ShingleSpec(**given)


def test_a_file_without_passages_is_refused(tmp_path: Path) -> None:
    (tmp_path / "stop.txt").write_text("\n \n")
    with pytest.raises(InputError, match="there are no stop passages"):
        neardup.dedup(["a"], stop_passages=tmp_path / "stop.txt")


def test_a_pattern_that_matches_all_takes_little_memory() -> None:
    texts = pa.array(["the date 2024-05-06 is here and 12 others " * 20] * 4000, pa.large_string())
    tokeniser = Tokeniser(ShingleSpec(ignore=("[a-z]", r"\d")))
    tracemalloc.start()
    try:
        found = tokeniser.compared(texts.slice(7))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 8 * texts.nbytes
    assert found.to_pylist() == [re.sub(r"[a-z\d]", " ", text) for text in texts[7:].to_pylist()]
