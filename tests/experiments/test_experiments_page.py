"""The page says what was found, and what was found is found again."""

from __future__ import annotations

import copy
import itertools
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pyarrow.csv as pcsv
import pyarrow.parquet as pq
import pytest

import neardup
from experiments import __main__ as command
from experiments import (
    clustering,
    jobs,
    page,
    page_records,
    paper,
    results,
    running,
    scale,
    teaching,
    timing,
)
from experiments.claims import ACCURACY, CLUSTERING
from experiments.claims_time import flush_claims, memory_claims, one_round, slope, time_claims
from experiments.notes import DATA, Source, synthetic_notes
from experiments.sizes import FULL
from experiments.stores import find_stores, measure, opened, server
from experiments.verdicts import judged, line
from neardup.errors import DependencyError

ROOT = Path(__file__).parents[2]
PAPER = ROOT / "docs" / "paper"


def stored(name: str) -> dict[str, Any]:
    found = results.load(PAPER, name)
    assert found is not None
    return copy.deepcopy(found)


@pytest.fixture
def no_server(monkeypatch: pytest.MonkeyPatch) -> None:
    none = CompletedProcess([], 3, stdout="", stderr="no Cassandra here: a test has none")
    monkeypatch.setattr("experiments.stores._server", lambda _: none)
    monkeypatch.delenv("NEARDUP_BENCH_CASSANDRA", raising=False)


@pytest.fixture
def ten_million(tmp_path: Path) -> Path:
    """What bench/ten_million.py writes, as far as it is read."""
    stages = {"other": 1.0, "read and sketch": 90.0, "pairs": 8.0, "write clean corpus": 60.0}
    counts = ("candidates", "pairs_compared", "not_compared", "edges", "removed")
    counts = {name: 10**6 + i for i, name in enumerate(counts)}
    counts |= {"equal_tokens": 7, "clusters_of_two_or_more": 5, "largest_cluster": 3}
    bands = {"num_bands": 9, "rows": 3}
    run = {"record": {"counts": counts, "seconds": stages, "bands": bands}}
    corpus = {"documents": 10_000_000, "bytes": 22 * 10**9}
    corpus["equal"] = {"groups": 4, "largest": 3, "copies": 7}
    median = {"seconds": 160.0, "anonymous_bytes": 2 * 10**9}
    path = tmp_path / "ten_million.json"
    presets = {"clinical": {"median": median, "runs": [run]}}
    machine = {"versions": {"neardup": neardup.__version__}}
    path.write_text(json.dumps({"machine": machine, "corpus": corpus, "presets": presets}))
    return path


def check_charts(folder: Path) -> None:
    """Every chart of the page is there in both formats, and no other one is."""
    text = "".join(p.read_text(encoding="utf-8") for p in sorted(folder.glob("*.md")))
    shown = re.findall(r"!\[[^]]+\]\((\S+)\.svg\)", text)
    assert len(shown) == len(set(shown)) >= 5
    for name in shown:
        assert (folder / f"{name}.svg").read_bytes().startswith(b"<?xml")
        if "/" in name:  # of the page on records, which has it as SVG alone
            continue
        assert f"[as PNG]({name}.png)" in text
        assert (folder / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    assert {p.stem for p in (*folder.glob("*.svg"), *folder.glob("*.png"))} == {
        name for name in shown if "/" not in name
    }
    for page_of in sorted(folder.glob("*.md")):
        for name in re.findall(r"\]\(([^)#\s]+)", page_of.read_text(encoding="utf-8")):
            assert (folder / name).exists(), (page_of.name, name)


@pytest.mark.long
@pytest.mark.usefixtures("no_server")
def test_all_runs_end_to_end(
    tmp_path: Path, ten_million: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes = itertools.count(10**6, 10**6)

    def measured(words: list[str]) -> dict[str, Any]:
        with monkeypatch.context() as inside:  # in this process: that others are watched is below
            inside.setattr(sys, "argv", words[2:])
            jobs.main()
        return {"anonymous_bytes": next(sizes)}

    monkeypatch.setattr("experiments.notes.DATA", tmp_path)
    monkeypatch.setattr(timing, "measure", measured)
    monkeypatch.setattr(running, "corpus", lambda: scale.corpus(ten_million))
    out = tmp_path / "page"
    command.main(["--quick", "--out", str(out)])
    text = (out / "index.md").read_text(encoding="utf-8")
    check_charts(out)
    assert not re.search(r"None|\bnan\b|Not run yet|not measured", text)
    for name in (*page.EXPERIMENTS, *page.OTHERS):
        assert f"`{name}`" in text
        assert re.search(rf"\| {name} \| \d+ \| {neardup.__version__} \| 3\.", text)
    assert "| Design 1, Cassandra | not run | not run |" in text
    # All numbers of the paper.
    for excluded, modularity, clusters in zip(
        paper.EXCLUDED.values(), paper.MODULARITY.values(), paper.CLUSTERS.values(), strict=True
    ):
        assert f"| {excluded:,} (" in text
        assert f"| {modularity:.3f} |" in text and f"| {clusters} |" in text
    for name, cells in paper.TABLE_7.items():
        assert f"| {name} | {' | '.join(cells)} |" in text
    for number in ("10 million", "500 million", "100 million", "75 h", "24 h", "341 million"):
        assert number in text
    for name in ("equal_groups", "largest_equal", "clusters", "largest_cluster"):
        assert f"| {paper.CORPUS[name]:,} |" in text
    # Without numbers the page says what is missing, and has no charts.
    for path in out.glob("*.json"):
        path.unlink()
    command.main(["page", "--out", str(out)])
    text = (out / "index.md").read_text(encoding="utf-8")
    for name in page.EXPERIMENTS:
        assert re.search(
            rf"Not run yet: `(python bench/.* && )?python -m experiments {name}`", text
        )
    assert not [*out.glob("*.svg"), *out.glob("*.png")] and "](fig" not in text


@pytest.mark.long
def test_some_experiments_run_as_a_command(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "experiments", "limits", "sources", "--quick", "--out", "out"]
    paths = os.pathsep.join(filter(None, [str(PAPER.parents[1]), os.environ.get("PYTHONPATH")]))
    environment = {**os.environ, "PYTHONPATH": paths}
    subprocess.run(words, check=True, cwd=tmp_path, env=environment, capture_output=True)
    assert set(results.load(tmp_path / "out", "runs") or {}) == {"limits", "sources"}
    assert (tmp_path / "out/sources.md").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["tyme"], "no experiment tyme; known are accuracy, lists"),
        (["--quick"], "--quick would replace the numbers of the page; give --out"),
    ],
)
def test_what_is_refused(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        command.main(words)
    assert said in capsys.readouterr().err


def test_what_is_missing_is_said_in_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object) -> None:
        raise DependencyError("louvain needs igraph", "install neardup[experiments]")

    monkeypatch.setattr("experiments.notes.DATA", tmp_path)
    monkeypatch.setattr(running, "sources", fail)
    with pytest.raises(SystemExit, match=r"^error: louvain needs igraph\nhint: install .*$"):
        command.main(["clustering", "--out", str(tmp_path / "out")])
    said = capsys.readouterr().out
    expected = f"mtsamples, aci_bench not found in {tmp_path} (NEARDUP_DATA): synthetic data only\n"
    assert said == expected


def test_the_page_is_what_was_found(tmp_path: Path) -> None:
    folder = tmp_path / "docs/paper"
    shutil.copytree(PAPER, folder)
    decision = tmp_path / "docs/decisions/0025-no-second-round.md"
    decision.parent.mkdir()
    for linked in (tmp_path / "README.md", decision):
        linked.touch()
    for written in folder.glob("*.md"):
        written.write_text("")
    page_records.write(folder)
    teaching.page(folder)
    page.write(folder)
    for name in ("index.md", "verdicts.md", "sources.md", "records.md"):
        text = (folder / name).read_text(encoding="utf-8")
        assert text == (PAPER / name).read_text(encoding="utf-8")
    check_charts(PAPER)


def test_what_was_found_is_of_this_version() -> None:
    """The version is that of the package, by which an experiment, or the bench, was run."""
    assert {run["neardup"] for run in stored("runs").values()} == {neardup.__version__}
    assert stored("corpus")["version"] == neardup.__version__


def test_numbers_of_the_bench_are_those_of_its_file() -> None:
    """On this page, in README and in the Makefile."""
    assert stored("corpus") == json.loads(json.dumps(scale.corpus()))
    assert stored("corpus")["shape"]["version"] == neardup.__version__
    measured = json.loads(scale.RESULTS.read_text(encoding="utf-8"))["presets"]
    web, clinical = (f"{measured[p]['median']['seconds']:.0f} s" for p in ("web", "clinical"))
    readme, text = (
        path.read_text(encoding="utf-8") for path in (ROOT / "README.md", PAPER / "index.md")
    )
    said = f"{web} with 4 GB (`--preset web`; {clinical} with `clinical`)"
    assert said in " ".join(readme.split())
    assert f"| together | 99 h | {clinical} |" in text
    minutes = round(sum(run["seconds"] for run in stored("runs").values()) / 60)
    assert f"in about {minutes} minutes" in (ROOT / "Makefile").read_text(encoding="utf-8")


def test_the_page_begins_with_ten_lines() -> None:
    text = (PAPER / "index.md").read_text(encoding="utf-8")
    head, rule, *rows = re.findall(r"^\|.*$", text.partition("\n## ")[0], re.M)
    assert head.startswith("| the paper says") and rule.startswith("| ---") and len(rows) == 10
    names = {slug(line) for line in re.findall(r"^#+ (.*)$", text, re.M)}
    for row in rows:
        (section,) = re.findall(r"\]\(#(\S+?)\)", row)
        assert section in names
    rows = (PAPER / "verdicts.md").read_text(encoding="utf-8")
    claims, verdicts = re.findall(r"are (\d+) on (\d+) claims", text)[0][::-1]
    assert sum(line.startswith("| ") for line in rows.splitlines()) == int(claims) + 6
    assert len(re.findall(r": (?:\*\*)?(?:holds|does not hold)[^|]*\|", rows)) == int(verdicts)


def slug(title: str) -> str:
    return re.sub(r"[^a-z0-9 -]", "", title.lower()).replace(" ", "-")


def test_own_records_are_compared_with_the_tutorial(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "mine.csv"
    path.write_text("Title,authors,journal,year\nHello world,,x,1\nHello world,A B,x,2\n")
    command.main(["records", "--cora", str(path)])
    said = capsys.readouterr().out
    assert "| records | 1,879 | 2 |" in said and "| 1,764,381 | 1 |" in said
    # hel ell llo low owo wor orl rld; ldn dna nax, or ldx; lda dab abx
    assert "| 3,551 | 14 |" in said and "|  | 12 |" in said and "| .297 | .297 |" in said
    path.write_text("title,year\na,1\n")
    for wrong, why in ((path, "has no column author or authors"), (tmp_path / "no", "not exist")):
        with pytest.raises(SystemExit, match=why):
            command.main(["records", "--cora", str(wrong)])
    with pytest.raises(SystemExit):
        command.main(["--cora", str(path)])


def test_every_number_of_runs_is_of_a_run() -> None:
    """The page says how long each experiment took, and with which versions."""
    assert set(stored("runs")) == {*page.EXPERIMENTS, *page.OTHERS}
    assert all(run["seconds"] is not None for run in stored("runs").values())


def test_sizes_of_the_sets_are_those_of_the_files() -> None:
    checked = 0
    for title, what, _, _, names in page.DATA_SETS:
        for file in re.findall("`(.+?)`", names):
            if (path := DATA / file).exists():
                read = pq.read_table if path.suffix == ".parquet" else pcsv.read_csv
                assert f"{read(path).num_rows:,} " in what, (title, file)
                checked += 1
    assert checked in (0, 6)


@pytest.mark.long
def test_counts_are_found_again() -> None:
    found = clustering.clustering(Source("synthetic", "synthetic notes", synthetic_notes()))
    assert found["settings"] == stored("clustering")["synthetic"]["settings"]


def not_holding(verdicts: dict[str, Any]) -> set[str]:
    return {key for key, one in verdicts.items() if not one["holds"]}


def test_verdicts_are_those_of_the_counts() -> None:
    for source in stored("clustering").values():
        assert len(source["draws"]) == FULL.draws
        for bands, setting in source["settings"].items():
            assert judged(CLUSTERING, setting) == source["draws"][0][bands]
    for source in stored("accuracy").values():
        assert len(source["draws"]) == FULL.draws
        assert judged(ACCURACY, source) == source["draws"][0][""]


def test_what_the_paper_says_of_sets() -> None:
    """On the synthetic notes, which have groups as large as the paper's."""
    first = stored("clustering")["synthetic"]["draws"][0]
    assert not_holding(first["34 x 4"]) == {
        "excluded_roots",  # 38.4 %
        "excluded_skipped",  # 84.3 %: more than the paper has
        "speed_up_roots",
        "louvain_high",
        "constant",
    }
    assert {"excluded_documents", "speed_up_documents"} <= not_holding(first["50 x 2"])


def test_claims_fail_where_they_do_not_hold() -> None:
    found = stored("accuracy")["synthetic"]
    before = judged(ACCURACY, found)
    assert before["worst"]["holds"]
    for row in found["rows"]:
        row["false"] += 300
    after = judged(ACCURACY, found)
    assert after["worst"]["values"] == [before["worst"]["values"][0] + 300]
    assert not after["worst"]["holds"]
    found["rows"][-1]["missed"] = 10**6
    assert judged(ACCURACY, found)["missed"]["holds"] is False
    clusters = stored("clustering")["synthetic"]["settings"]["34 x 4"]
    before = judged(CLUSTERING, clusters)
    for row in clusters["rows"]:
        row["all_same_low"] = 1
        row["different_high"] += 99 * (row["method"] == "bounded")
        row["singletons"] = 7
    after = judged(CLUSTERING, clusters)
    assert not_holding(after) - not_holding(before) == {"none_low", "spanning", "singletons"}


def test_draws_that_differ_are_shown() -> None:
    claim = CLUSTERING[0]
    draws = [{"values": [50.6], "holds": False}, {"values": [63.4], "holds": True}]
    assert line(claim, [draws, draws[1:]])[2:] == [
        "50.6 to 63.4 %: **holds in 1 of 2**",
        "63.4 %: holds",
    ]


def test_claims_of_time_follow_the_numbers() -> None:
    speed = {"in memory": 1.0, "Design 1, SQLite": 5.0, "Design 2, SQLite": 1.05}
    measured: dict[str, Any] = {
        what: [
            {"store": name, what: value, "seconds": [value * factor, 2 * value * factor]}
            for value in (10, 80)
            for name, factor in speed.items()
        ]
        for what in ("notes", "words")
    }
    held = {"in memory": 400, "Design 1, SQLite": 8, "Design 2, SQLite": 30}
    held["Design 2, SQLite, 10 parts"] = 48
    measured |= {
        "bands": [{"rows": 2, "bands": b, "seconds": [1.0, 1.0 * b]} for b in (10, 100)],
        "stores": {**dict.fromkeys(speed, True), "Design 1, Cassandra": False},
        "flush": {"passes": [{name: [1.0, f, f + 1, f + 1] for name, f in speed.items()}]},
        "stored": [
            {"store": name, "notes": n, "private_bytes": n * held[name]}
            for n in (100, 200, 300)
            for name in held
        ],
    }
    assert slope(measured, "in memory") == pytest.approx(400)
    claims = time_claims(measured["stores"])
    assert not any("Cassandra" in claim.name for claim in claims)
    first, second = (judged(claims, one_round(measured, number)) for number in (0, 1))
    assert not_holding(first) == {"linear", "rather_notes"}
    assert not_holding(second) == {"rather_notes"}
    spiked, even = [f"spikes_Design {number}, SQLite" for number in (1, 2)]
    (one,) = measured["flush"]["passes"]
    assert not_holding(judged(flush_claims(measured), one)) == {spiked, even}
    one = {"Design 1, SQLite": [1.0, 1.9, 9, 9], "Design 2, SQLite": [1.0, 2.1, 3, 3]}
    assert not_holding(judged(flush_claims(measured), one)) == set()
    assert not_holding(judged(memory_claims(), measured)) == set()
    for row in measured["notes"]:
        row["seconds"] = [s + 0.1 * (row["notes"] == 80) for s in row["seconds"]]
    after = judged(claims, one_round(measured, 0))
    assert "grows_with_notes" in not_holding(after) and after["rather_notes"]["holds"]


@pytest.mark.parametrize("held", [True, False])
def test_the_notes_that_the_plan_allows(held: bool) -> None:
    notes = scale.fitting_notes(held)
    fits = [
        found.minimum + (found.keys if held else 0) <= paper.MEMORY
        for found in (scale.plan(notes), scale.plan(notes + notes // 9))
    ]
    assert fits == [True, False]


def test_the_run_of_ten_million(tmp_path: Path, ten_million: Path) -> None:
    every = scale.corpus(ten_million)
    assert every is not None and set(every) == {"clinical", "version", "shape"}
    assert every["shape"] is None and scale.in_shape(tmp_path) is None
    found = every["clinical"]
    assert (found["first_seconds"], found["second_seconds"]) == (90.0, 10.0)
    assert found["hashes"] == 27
    assert scale.corpus(tmp_path / "nothing.json") is None
    ten_million.write_text(ten_million.read_text().replace('"copies": 7', '"copies": 8'))
    with pytest.raises(LookupError, match="different notes"):
        scale.corpus(ten_million)


@pytest.mark.parametrize("url", ["memory", "sqlite", "sqlite-rows"])
def test_keys_are_read_back(url: str, tmp_path: Path) -> None:
    url = url if url == "memory" else f"{url}:{tmp_path / 'keys.sqlite'}"
    with opened(url, "keys") as store:
        assert jobs.store_keys(store, documents=250, num_bands=4, partition=100) == 1000


@pytest.mark.long
def test_processes_are_measured_from_outside(tmp_path: Path) -> None:
    # It stays longer than the longest pause between two looks (1 s), also on a busy machine.
    code = "import time; held = bytearray(60_000_000); held[::4096] = held[::4096]; time.sleep(2)"
    found = measure([sys.executable, "-c", code])
    assert 60e6 <= found["anonymous_bytes"] <= 120e6
    words = f"-m experiments.jobs keys sqlite-rows:{tmp_path}/keys.sqlite 100 3 40".split()
    assert measure([sys.executable, *words])["anonymous_bytes"] > 1e6
    with pytest.raises(RuntimeError, match="exit code 3"):
        measure([sys.executable, "-c", "raise SystemExit(3)"])


@pytest.mark.usefixtures("no_server")
def test_stores_without_a_server(monkeypatch: pytest.MonkeyPatch) -> None:
    assert [store.url for store in find_stores()] == [
        "memory",
        "sqlite-rows",
        "sqlite",
        None,
        None,
    ]
    monkeypatch.setenv("NEARDUP_BENCH_CASSANDRA", "cassandra://host:1/keyspace")
    assert find_stores()[-1].url == "cassandra://host:1/neardup_experiments"


@pytest.mark.parametrize(
    ("running", "code", "verbs"),
    [("cassandra://h/k", 0, ["status"]), ("", 0, ["status", "start", "stop"])],
)
def test_a_server_runs_meanwhile(
    running: str, code: int, verbs: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    called = []

    def answer(verb: str) -> CompletedProcess[str]:
        called.append(verb)
        return CompletedProcess([], code, stdout=running if verb == "status" else "", stderr="")

    monkeypatch.delenv("NEARDUP_BENCH_CASSANDRA", raising=False)
    monkeypatch.setattr("experiments.stores._server", answer)
    with pytest.raises(KeyError), server():
        raise KeyError
    assert called == verbs


@pytest.mark.usefixtures("no_server")
def test_without_a_server_it_says_why(capsys: pytest.CaptureFixture[str]) -> None:
    with server():
        pass
    assert capsys.readouterr().out.startswith("time: without Cassandra: ")


def test_results_come_back(tmp_path: Path) -> None:
    found = {"a": [{"x": 1, "y": None}, {"x": 2.5, "y": "é"}], "b": {"c": [1, 2]}, "d": True}
    results.store(tmp_path, "some", found)
    assert results.load(tmp_path, "some") == found
    results.store(tmp_path, "some", None)
    assert results.load(tmp_path, "some") is None
    results.write_csv(tmp_path, "some", found["a"])
    assert (tmp_path / "some.csv").read_text(encoding="utf-8") == "x,y\n1,\n2.5,é\n"
