"""The figures of the tutorial, from what is stored and from what needs no data."""

from __future__ import annotations

from pathlib import Path

import pytest

from experiments import results, tutorial

PAPER = Path(__file__).parents[2] / "docs" / "paper"


@pytest.mark.long
def test_the_page_of_figures_is_made_from_what_is_stored(tmp_path: Path) -> None:
    results.store(tmp_path, tutorial.NAME, results.load(PAPER, tutorial.NAME))
    tutorial.page(tmp_path)
    assert "](records.md)" not in (tmp_path / "tutorial.md").read_text()
    (tmp_path / "records.md").touch()
    tutorial.page(tmp_path)
    assert (tmp_path / "tutorial.md").read_bytes() == (PAPER / "tutorial.md").read_bytes()
    for name in ("bands", "heat", "scatter"):
        for folder in (tmp_path, PAPER):
            picture = (folder / f"tutorial/{name}.png").read_bytes()
            assert picture.startswith(b"\x89PNG")


def test_curves_and_the_matrix() -> None:
    stored = results.load(PAPER, tutorial.NAME)
    assert stored is not None
    without = {**stored, "cora": {"scatter": []}}
    assert stored["cora"]["error"] == pytest.approx(stored["cora"]["expected"], rel=0.1)
    assert stored["cora"]["plain_with_na"] > stored["cora"]["plain"]
    low, high = (
        dict(zip(tutorial.BANDS, stored["curve"][s], strict=True)) for s in ("0.25", "0.75")
    )
    assert [round(low[b], 4) for b in (60, 90, 120)] == [0.0145, 0.2969, 0.8489]
    assert all(high[b] > 0.9999 for b in (60, 90, 120))
    found = tutorial.matrix()
    assert sum(a and b for _, a, b in found["rows"]) == 6 and len(found["rows"]) == 15
    assert found == stored["matrix"]
    # Where there are no records, what was found before stays.
    if not (tutorial.DATA / "cora").is_dir():
        assert tutorial.tutorial(without)["cora"] == without["cora"]
    assert results.load(PAPER, "none") is None
