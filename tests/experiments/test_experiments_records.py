"""The page on records, from what is stored and from what needs no data."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from experiments import page_records, records, results

PAPER = Path(__file__).parents[2] / "docs" / "paper"


@pytest.mark.long
def test_the_page_is_made_from_what_is_stored(tmp_path: Path) -> None:
    results.store(tmp_path, "records", results.load(PAPER, "records"))
    page_records.write(tmp_path)
    for name in ("records.md", "records/histogram.svg"):
        assert (tmp_path / name).read_bytes() == (PAPER / name).read_bytes()
    for folder in (tmp_path, PAPER):
        assert (folder / "records/histogram.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.skipif(
    not (records.DATA / "rldata500").is_dir(), reason=f"no public records in {records.DATA}"
)
def test_the_exercise_is_found_again() -> None:
    stored = results.load(PAPER, "records")
    assert stored is not None
    assert records.exercise() == stored["exercise"]


def test_the_worked_example() -> None:
    found = records.worked_example()
    assert (found["shared"], found["either"], found["similarity"]) == (6, 15, 0.4)
    assert found["curve"][0.25] == pytest.approx(0.29690, abs=1e-5)
    assert found["curve"][0.75] > 0.99999


def test_estimates_are_around_the_truth() -> None:
    """400 seeds: the mean is within 4 standard errors, the deviation within a fifth."""
    for line in records.estimates():
        error = line["expected"] / np.sqrt(400)
        assert abs(line["mean"] - line["similarity"]) < 4 * error
        assert line["deviation"] == pytest.approx(line["expected"], rel=0.2)


def test_what_is_stored_says_what_the_page_claims() -> None:
    found = results.load(PAPER, "records")
    assert found is not None
    cora = found["cora"]
    assert cora["largest"] > 0.99 * cora["records"]
    assert cora["blocks_reduction"] < 0.02
    assert cora["candidates"] == pytest.approx(cora["expected"], rel=0.1)
    assert all(line["clusters_f1"] > 0.7 for line in found["clusters"])
    assert found["exercise"][-1]["completeness"] == 1
    text = (PAPER / "records.md").read_text(encoding="utf-8")
    assert len(re.findall(r"^## ", text, re.M)) == 5


def test_without_data_earlier_counts_stay(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(records, "DATA", tmp_path)
    monkeypatch.setattr(records, "estimates", list)
    monkeypatch.setattr(records, "schemes", list)
    assert records.records({"cora": {"records": 7}})["cora"] == {"records": 7}
    assert "cora" not in records.records(None)
