"""The objects, the files, the page and the commands of a linkage."""

from __future__ import annotations

import json
import stat
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from made_records import NAMES, true_pairs

import neardup
from common import Command

People = tuple[pa.Table, pa.Table]
FIELDS = ",".join(NAMES)


@pytest.fixture
def files(people: People, tmp_path: Path) -> tuple[Path, Path]:
    paths = tmp_path / "people.parquet", tmp_path / "truth.parquet"
    for table, path in zip(people, paths, strict=True):
        pq.write_table(table, path)
    return paths


def test_synthetic_persons_are_found(people: People, linked: neardup.LinkRun) -> None:
    found = linked.evaluate(people[1])
    assert found["decision"]["pairs"]["f1"] > 0.97
    assert found["decision"]["clusters"]["b_cubed"]["f1"] > 0.98
    assert found["blocking"]["pairs_completeness"] > 0.99
    assert linked.threshold.kind == "valley"
    assert found["decision"]["best"]["f1"] >= found["decision"]["pairs"]["f1"] - 1e-9


def test_scores_are_counted_from_pairs(people: People, linked: neardup.LinkRun) -> None:
    true = true_pairs(people[1])
    columns = (linked.pairs[name].to_pylist() for name in ("id_a", "id_b"))
    pairs = {tuple(sorted(pair)) for pair in zip(*columns, strict=True)}
    scores = linked.evaluate(people[1])["decision"]["pairs"]
    assert (scores["given"], scores["true"]) == (len(pairs), len(pairs & true))
    assert scores["recall"] == len(pairs & true) / len(true)
    assert linked.evaluate(list(true))["decision"]["pairs"] == scores


def test_blocking_and_decision_are_never_mixed(people: People, linked: neardup.LinkRun) -> None:
    found = linked.evaluate(people[1])
    assert not {"precision", "recall", "f1"} & set(found["blocking"])
    assert not {"pairs_quality", "reduction_ratio"} & set(found["decision"])
    assert set(linked.blocks.evaluate(people[1])) == set(found) - {"decision"}


def test_tables(linked: neardup.LinkRun) -> None:
    clusters = linked.clusters
    assert clusters.column_names == ["source", "id", "cluster", "size"]
    assert clusters.num_rows == 1500
    of = dict(zip(clusters["id"].to_pylist(), clusters["cluster"].to_pylist(), strict=True))
    together = [of[r["id_a"]] == of[r["id_b"]] for r in linked.pairs.to_pylist()]
    assert sum(together) > 0.95 * len(together)
    assert min(linked.pairs["score"].to_pylist()) >= linked.decide_at == 0.5
    assert linked.candidates.num_rows == linked.summary["counts"]["candidates"]
    assert "1,500 records" in repr(linked)
    assert "recall 0.99" in repr(linked.blocks)


def test_another_score_is_a_look_at_what_is_known(linked: neardup.LinkRun) -> None:
    strict = linked.at(0.9999999)
    assert strict.decide_at == 0.9999999
    wanted = sum(p >= 0.9999999 for p in linked.candidates["score"].to_pylist())
    assert strict.pairs.num_rows == wanted < linked.pairs.num_rows
    with pytest.raises(neardup.NeardupError, match="`decide_at` is 7"):
        linked.at(7)


def test_explain(people: People, linked: neardup.LinkRun) -> None:
    row = linked.pairs.to_pylist()[0]
    found = linked.explain(row["id_a"], row["id_b"])
    assert found["match"]
    assert found["candidate"]
    assert found["similarity"] == pytest.approx(row["similarity"])
    assert [field["field"] for field in found["fields"]] == [n.partition(":")[0] for n in NAMES]
    ids = people[0]["id"].to_pylist()
    assert not linked.explain(ids[0], ids[1])["match"]


def test_saved_and_evaluated_from_the_folder(
    people: People, linked: neardup.LinkRun, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    assert linked.save(out).path == out
    assert {path.name for path in out.iterdir()} == {
        *("pairs.parquet", "candidates.parquet", "clusters.parquet", "records.parquet", "run.json"),
        *("merged", "merges.parquet"),
    }
    assert stat.S_IMODE(out.stat().st_mode) == 0o700
    assert all(stat.S_IMODE(path.stat().st_mode) & 0o077 == 0 for path in out.iterdir())
    assert pq.read_table(out / "pairs.parquet").num_rows == linked.pairs.num_rows
    assert neardup.LinkRun.open(out).evaluate(people[1]) == linked.evaluate(people[1])
    with pytest.raises(neardup.NeardupError, match="exists"):
        linked.save(out)
    linked.save(out, overwrite=True)


def test_page(linked: neardup.LinkRun, tmp_path: Path) -> None:
    page = linked.report(tmp_path / "page.html").read_text(encoding="utf-8")
    assert "Groups of the same" in page
    threshold = linked.summary["threshold"]
    assert page.count("<rect ") >= 40 + 2 * len(NAMES)
    assert f"separated at {threshold['value']:g}, in the valley" in page
    assert "http" not in page.replace("http-equiv", "").replace("http://www.w3.org/2000/svg", "")


def test_commands(
    files: tuple[Path, Path], people: People, linked: neardup.LinkRun, command: Command
) -> None:
    people_file, truth = files
    out, page = people_file.parent / "out", people_file.parent / "page.html"
    options = ("--id", "id", "--fields", FIELDS)
    done = command("link", people_file, *options, "-o", out, "--report", page)
    assert (done.code, done.out) == (0, "")
    assert "<- separated" in done.err
    assert page.exists()
    assert json.loads((out / "run.json").read_text())["counts"] == linked.summary["counts"]
    done = command("evaluate", out, "--truth", truth, "--json")
    assert json.loads(done.out) == linked.evaluate(people[1])
    shown = command("evaluate", out, "--truth", truth).out
    assert shown.index("Blocking") < shown.index("Decision")
    assert command("link", people_file, *options, "-o", out).error == f"error: {out} exists"


def test_the_command_for_candidates(files: tuple[Path, Path], command: Command) -> None:
    people_file, _ = files
    out = people_file.parent / "pairs.csv"
    options = ("--id", "id", "--fields", FIELDS, "-o", out)
    done = command("blocks", people_file, *options, "--json")
    counts = json.loads(done.out)
    lines = out.read_text().splitlines()
    assert lines[0] == "id_a,id_b,similarity"
    assert len(lines) == counts["candidates"] + 1
    done = command("blocks", people_file, *options, "--for", "splink", "--overwrite", "--quiet")
    assert (done.code, done.err) == (0, "")
    assert out.read_text().startswith("join_key_l,join_key_r,match_key\n")


@pytest.mark.parametrize(("sources", "kind"), [(1, "groups"), (1, "pairs"), (2, "pairs")])
def test_candidates_are_evaluated(
    people: People, tmp_path: Path, command: Command, sources: int, kind: str
) -> None:
    table, truth = people
    true = sorted(true_pairs(truth))
    parts = [table] if sources == 1 else [table.slice(0, 700), table.slice(700)]
    if sources == 2:
        first = set(parts[0]["id"].to_pylist())
        true = [pair for pair in true if len(first & set(pair)) == 1]
    names = dict(zip(("id_a", "id_b"), map(list, zip(*true, strict=True)), strict=True))
    pq.write_table(truth if kind == "groups" else pa.table(names), tmp_path / "truth.parquet")
    for k, part in enumerate(parts):
        pq.write_table(part, tmp_path / f"{k}.parquet")
    files = [tmp_path / f"{k}.parquet" for k in range(sources)]
    # Two fields, so that true pairs are missed.
    out, options = tmp_path / "pairs.parquet", ("--id", "id", "--fields", "surname,phone:digits")
    assert command("blocks", *files, *options, "-o", out).code == 0
    done = command("evaluate", out, "--truth", tmp_path / "truth.parquet", "--json")
    found = neardup.blocks(*parts, id="id", fields=["surname", "phone:digits"])
    expected = found.evaluate(tmp_path / "truth.parquet")
    assert json.loads(done.out) == expected
    assert 0.5 < expected["blocking"]["pairs_completeness"] < 1
    assert "Blocking" in command("evaluate", out, "--truth", tmp_path / "truth.parquet").out


def test_other_files_of_pairs_are_refused(tmp_path: Path, command: Command) -> None:
    pq.write_table(pa.table({"id_a": ["x"], "id_b": ["y"]}), tmp_path / "other.parquet")
    (tmp_path / "pairs.csv").write_text("id_a,id_b\nx,y\n")
    for name in ("other.parquet", "pairs.csv"):
        done = command("evaluate", tmp_path / name, "--truth", tmp_path / "pairs.csv")
        assert "has no candidates of neardup blocks as Parquet" in done.error


def test_two_files_by_command(people: People, tmp_path: Path, command: Command) -> None:
    import pyarrow.csv as pcsv

    paths = [tmp_path / "a.csv", tmp_path / "b.csv"]
    for path, part in zip(paths, (people[0].slice(0, 700), people[0].slice(700)), strict=True):
        pcsv.write_csv(part, path)
    out = tmp_path / "out"
    done = command("link", *paths, "--id", "id", "--fields", FIELDS, "--one-to-one", "-o", out)
    assert done.code == 0
    assert "of 2 files, across them only" in done.err
    pairs = pq.read_table(out / "pairs.parquet")
    assert len(set(pairs["id_a"].to_pylist())) == pairs.num_rows
    assert set(pq.read_table(out / "clusters.parquet")["source"].to_pylist()) == {"a", "b"}


def test_synth_persons(tmp_path: Path, command: Command) -> None:
    for name in ("one.csv", "two.csv"):
        done = command("synth", "--kind", "persons", "-n", "300", "-o", tmp_path / name)
        assert done.code == 0
    assert (tmp_path / "one.csv").read_bytes() == (tmp_path / "two.csv").read_bytes()
    truth = pq.read_table(tmp_path / "one.truth.parquet")
    assert truth.column_names == ["id", "group"]
    assert 300 - len(set(truth["group"].to_pylist())) == 60


@pytest.mark.long
def test_neither_pandas_nor_matplotlib_is_imported(files: tuple[Path, Path]) -> None:
    code = (
        "import sys, neardup\n"
        f"run = neardup.link({str(files[0])!r}, id='id', fields={FIELDS!r})\n"
        "run.pairs, run.clusters, run.to_splink(), run.save(sys.argv[1])\n"
        "sys.exit('pandas' in sys.modules or 'matplotlib' in sys.modules)"
    )
    words = [sys.executable, "-c", code, str(files[0].parent / "out")]
    assert subprocess.run(words, timeout=300).returncode == 0
