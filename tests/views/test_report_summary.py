"""The summary that a person reads after a run."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from neardup.api.dedup import dedup
from neardup.views.text.summary_text import render

TEXT = " ".join(f"w{k}" for k in range(30))


@pytest.fixture(scope="module")
def record(kernels: None) -> dict[str, Any]:
    texts = [TEXT, f"{TEXT} more", TEXT, TEXT.upper(), "short one", "", "1 2 3 4 5 6 7 8"]
    found = copy.deepcopy(dedup(texts).summary)
    found["bytes"]["text"] = 30_000_000
    found["seconds"] = {"read": 1.5, "other": 0.5}
    found["peak_memory"] = 312_000_000
    found["files"] = {"run.json": None, "clean": ["part-00000.jsonl"], "clusters.parquet": None}
    return found


def lines(record: dict[str, Any]) -> dict[str, str]:
    """What each line says, by its name."""
    shown = render(record, "out").splitlines()
    assert all(len(line) <= 100 for line in shown if not line.startswith("note"))
    return {line[:13].strip(): " ".join(line[13:].split()) for line in shown}


def test_what_a_person_wants_to_know(record: dict[str, Any]) -> None:
    shown = lines(record)
    assert list(shown) == [
        *("documents", "kept", "removed", "clusters", "still alike"),
        *("note", "compared", "threshold", "recall", "took", "written"),
    ]
    assert shown["documents"] == "7 1 empty, 1 shorter than 5 words"
    assert shown["kept"] == "4 57.1 %"
    assert shown["removed"] == "3 42.9 %: 1 the same, 1 with equal words, 1 near-duplicate"
    assert shown["clusters"] == "1 of two documents or more; the largest has 4"
    assert shown["still alike"].startswith("0 among the kept")
    assert shown["note"].startswith("1 removed document has the words of the kept one, but other")
    assert shown["took"] == "2.0 s 15 MB/s of text, peak memory 312 MB"
    assert shown["written"] == "out: clean/, clusters.parquet, run.json"


def test_what_is_worth_knowing_only_where_it_is_so(record: dict[str, Any]) -> None:
    other = copy.deepcopy(record)
    other["counts"]["not_compared"] = 12_345
    other["spec"]["max_bucket"] = 100
    other["counts"]["encoding_replaced"] = 2
    other["bands"] = None
    other["spec"]["shingle"]["stem"] = "english"
    del other["bytes"]["text"]
    shown = lines(other)
    assert shown["not compared"].startswith("12,345 pairs")
    assert shown["not compared"].endswith("kept documents may still be alike")
    assert "still alike" not in shown
    # Without a limit, pairs are left out of the list only.
    other["spec"]["max_bucket"] = None
    assert lines(other)["not compared"].endswith("the kept set is not affected")
    assert shown["replaced"].startswith("2 texts")
    assert "exact search" in shown["recall"]
    assert "MB/s" not in shown["took"]
    assert "English" in shown["compared"]


def test_a_warning_where_most_texts_are_short(record: dict[str, Any]) -> None:
    """As where a column of codes was named as the text."""
    other = copy.deepcopy(record)
    other["counts"]["short"] = 3
    assert "warning" not in lines(other)
    other["counts"]["short"] = 4
    assert lines(other)["warning"] == (
        "57.1 % of the texts are shorter than a shingle; of them only equal ones are found"
    )
    shown = dedup(["a", "b", "a", "c"] + [TEXT] * 3)._repr_html_()
    assert '57.1 %</td><td style="text-align:left">of the texts are shorter' in shown


def test_speed_of_small_inputs_is_left_out(record: dict[str, Any]) -> None:
    other = copy.deepcopy(record)
    other["bytes"]["text"] = 1_999_999
    assert lines(other)["took"] == "2.0 s peak memory 312 MB"
