"""The page says what was found, and what was found is found again."""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from experiments import clustering, page, results
from experiments.claims import accuracy_claims, clustering_claims, slope, time_claims
from experiments.limits import MEMORY, _estimate, most_notes
from experiments.matrix import opened, write_and_read
from experiments.measured import measure, stores
from experiments.notes import Source, made_notes

SPANNING = "the maximum spanning tree tears no more pairs apart than bands in their order"
PAPER = Path(__file__).parents[2] / "docs" / "paper"


def stored(name: str) -> dict[str, Any]:
    found = results.load(PAPER, name)
    assert found is not None
    return found


def test_the_page_is_what_was_found(tmp_path: Path) -> None:
    for path in PAPER.glob("*.json"):
        shutil.copy(path, tmp_path)
    page.write(tmp_path)
    written = (tmp_path / "index.md").read_text(encoding="utf-8")
    assert written == (PAPER / "index.md").read_text(encoding="utf-8")
    assert "None" not in written and "nan" not in written


def test_a_page_needs_all_parts(tmp_path: Path) -> None:
    shutil.copy(PAPER / "limits.json", tmp_path)
    with pytest.raises(SystemExit, match="accuracy, time, clustering, corpus"):
        page.write(tmp_path)


def test_figures_are_there_in_both_formats() -> None:
    text = (PAPER / "index.md").read_text(encoding="utf-8")
    shown = re.findall(r"!\[[^]]+\]\((\S+)\.svg\)", text)
    assert len(shown) == len(set(shown)) >= 10
    for name in shown:
        assert f"[as PNG]({name}.png)" in text
        assert (PAPER / f"{name}.svg").read_bytes().startswith(b"<?xml")
        assert (PAPER / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    drawn = {path.stem for path in (*PAPER.glob("*.svg"), *PAPER.glob("*.png"))}
    assert drawn == set(shown)


def test_counts_are_found_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clustering, "EDGES", (clustering.EDGE,))
    monkeypatch.setattr(clustering, "CANDIDATES", clustering.CANDIDATES[:1])
    found = clustering.clustering(Source("made", "made notes", made_notes()))
    before = [
        row
        for row in stored("clustering")["made"]["rows"]
        if row["edge_threshold"] == clustering.EDGE and row["bands"] == "34 x 4"
    ]
    assert found["rows"] == before


def test_what_was_to_be_reached() -> None:
    """On the made notes, which have groups as large as the paper's."""
    claims = clustering_claims(stored("clustering")["made"])
    assert all(holds for _, holds in claims.values())
    assert claims[SPANNING] == ("at no threshold more", True)


def test_claims_fail_where_they_do_not_hold() -> None:
    found = stored("accuracy")["made"]
    said, holds = accuracy_claims(found)["they give some 250 false candidates at worst"]
    assert holds
    for row in found["rows"]:
        row["false"] += 300
    claims = accuracy_claims(found)
    assert claims["they give some 250 false candidates at worst"] == (str(int(said) + 300), False)
    found["rows"][-1]["missed"] = 10**6
    said, holds = accuracy_claims(found)["more bands miss less, more rows miss more"]
    assert said == "in 253 of 255 comparisons, the others beyond chance" and not holds
    clusters = stored("clustering")["made"]
    for row in clusters["rows"]:
        row["same_low"] = 1
        row["different_high"] += 9 * (row["method"] == "bounded-mst")
    broken = [claim for claim, (_, holds) in clustering_claims(clusters).items() if not holds]
    assert broken == ["no two notes of a bounded set are below the tree threshold", SPANNING]


def test_claims_of_time_follow_the_figures() -> None:
    names = ("memory", "Design 1, SQLite", "Design 2, SQLite")
    speed = dict(zip(names, (1.0, 5.0, 1.1), strict=True))

    def lines(what: str) -> list[dict[str, Any]]:
        return [
            {"store": name, what: value, "seconds": value * speed[name]}
            for value in (10, 80)
            for name in names
        ]

    measured = {
        "stores": {**dict.fromkeys(names, True), "Design 1, Cassandra": False},
        **{what: lines(what) for what in ("bands", "notes", "words")},
        "flush": {name: ([1.0] * 24 + [speed[name]]) * 2 for name in names},
        "matrix": [
            {"store": name, "notes": n, "anonymous_bytes": n * (400 if name == "memory" else 30)}
            for n in (100, 200)
            for name in names
        ],
    }
    assert slope(measured, "memory") == 400
    claims = time_claims(measured)
    assert [claim for claim, (_, holds) in claims.items() if not holds] == [
        "each flush of a part is a spike (Design 2, SQLite)"
    ]
    assert not any("Cassandra" in claim for claim in claims)
    for line in measured["notes"]:
        line["seconds"] += 0.1 * (line["notes"] == 80)
    assert not time_claims(measured)["time grows with notes, not faster than in proportion"][1]


@pytest.mark.parametrize("store", ["memory", "sqlite"])
def test_the_most_notes_of_the_plan(store: str) -> None:
    most = most_notes(store)
    taken = [
        (lambda e: e.needed if store == "memory" else e.least)(_estimate(store, notes, 50))
        for notes in (most, most + most // 9)
    ]
    assert taken[0] <= MEMORY < taken[1]


@pytest.mark.parametrize(("url", "design"), [("memory", 2), ("sqlite", 1), ("sqlite", 2)])
def test_a_matrix_is_read_back(url: str, design: int, tmp_path: Path) -> None:
    with opened(url, design, tmp_path) as store:
        assert write_and_read(store, documents=250, num_bands=4, part=100) == 1000


def test_commands_are_measured_from_outside() -> None:
    code = "import time; held = bytearray(60_000_000); held[::4096] = held[::4096]; time.sleep(0.3)"
    found = measure([sys.executable, "-c", code])
    assert 60e6 <= found["anonymous_bytes"] <= 120e6
    with pytest.raises(RuntimeError, match="exit code 3"):
        measure([sys.executable, "-c", "raise SystemExit(3)"])


def test_stores_without_a_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("experiments.measured._server", lambda: "")
    monkeypatch.delenv("NEARDUP_BENCH_CASSANDRA", raising=False)
    assert [store.url for store in stores()] == ["memory", "sqlite", "sqlite", None, None]
    named = stores("cassandra://host:1/keyspace")
    assert named[-1].url == "cassandra://host:1/neardup_experiments"


def test_results_come_back(tmp_path: Path) -> None:
    found = {"a": [{"x": 1, "y": None}, {"x": 2.5, "y": "é"}], "b": {"c": [1, 2]}, "d": True}
    results.store(tmp_path, "some", found)
    assert results.load(tmp_path, "some") == found
    assert results.load(tmp_path, "other") is None
    results.write_csv(tmp_path, "some", found["a"])
    assert (tmp_path / "some.csv").read_text(encoding="utf-8") == "x,y\n1,\n2.5,é\n"
