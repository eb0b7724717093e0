"""``neardup evaluate``: the truth in all its forms, the figures, and what is refused."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.metrics import adjusted_rand_score

import neardup
from common import SECRET, Command, write_lines
from neardup.errors import InputError, NeardupError
from neardup.report.evaluate import render
from neardup.synth import SynthSpec, write

WORDS = [f"w{k}" for k in range(40)]


def text(document: int, changed: int = 0) -> str:
    """40 words of a document, the last ones changed."""
    words = [f"{w}x{document}" for w in WORDS]
    return " ".join(words[: 40 - changed] + [f"c{changed}"] * changed)


#: 0, 1 and 2 are alike, 3 and 4 too, 5 and 6 are equal, 7 to 9 are alone.
TEXTS = [text(0), text(0, 1), text(0, 2), text(3), text(3, 1), text(5), text(5)] + [
    text(k) for k in (7, 8, 9)
]
#: What a person says: 2 is another one, 8 and 9 are alike.
GROUPS = ["a", "a", None, "b", "b", "c", "c", None, "d", "d"]
TRUE = {(0, 1), (3, 4), (5, 6), (8, 9)}
FOUND = {(0, 1), (0, 2), (1, 2), (3, 4), (5, 6)}


@pytest.fixture
def run(tmp_path: Path, command: Command) -> Path:
    """All pairs, so that the edges are known."""
    rows = [{"id": f"n{k}", "text": t} for k, t in enumerate(TEXTS)]
    path = write_lines(tmp_path / "notes.jsonl", rows)
    done = command("dedup", path, "-o", tmp_path / "out", "--id", "id", "--pairs", "all", "--quiet")
    assert done.code == 0
    return tmp_path / "out"


def groups_table() -> pa.Table:
    return pa.table({"id": [f"n{k}" for k in range(10)], "group": GROUPS})


def pairs_table() -> pa.Table:
    a, b = zip(*sorted(TRUE), strict=True)
    return pa.table({"id_a": [f"n{k}" for k in b], "id_b": [f"n{k}" for k in a]})


def as_csv(table: pa.Table, path: Path, delimiter: str = ",") -> Path:
    table.to_pandas().to_csv(path, index=False, sep=delimiter)
    return path


def as_parquet(table: pa.Table, path: Path) -> Path:
    pq.write_table(table, path)
    return path


def as_lines(table: pa.Table, path: Path) -> Path:
    lines = "".join(json.dumps(row) + "\n" for row in table.to_pylist()).encode()
    if path.suffix == ".gz":
        lines = gzip.compress(lines)
    if path.suffix == ".zst":
        lines = pa.compress(lines, "zstd", asbytes=True)
    path.write_bytes(lines)
    return path


WRITERS: dict[str, Callable[[pa.Table, Path], Path]] = {
    "t.csv": as_csv,
    "t.tsv": lambda table, path: as_csv(table, path, "\t"),
    "t.csv.gz": as_csv,
    "t.parquet": as_parquet,
    "t.jsonl": as_lines,
    "t.jsonl.gz": as_lines,
    "t.ndjson.zst": as_lines,
}


def evaluated(command: Command, *arguments: Any) -> dict[str, Any]:
    done = command("evaluate", *arguments, "--json")
    assert done.code == 0, done.err
    return json.loads(done.out)


def test_figures(run: Path, command: Command, tmp_path: Path) -> None:
    """All of them by hand, from pairs, and by scikit-learn."""
    found = evaluated(command, run, "--truth", as_csv(groups_table(), tmp_path / "t.csv"))
    both = len(TRUE & FOUND)
    wanted = {
        "given": 5,
        "true": both,
        "precision": both / 5,
        "recall": both / 4,
        "f1": 2 * both / 9,
    }
    assert found["edges"] == pytest.approx(wanted)
    assert found["clusters"]["pairwise"] == pytest.approx(wanted)
    clusters = pq.read_table(run / "clusters.parquet")["cluster"].to_pylist()
    truth = [group or k for k, group in enumerate(GROUPS)]
    assert found["clusters"]["adjusted_rand_index"] == pytest.approx(
        adjusted_rand_score(list(map(str, truth)), clusters)
    )
    precision = (2 * 2 / 3 + 1 / 3 + 7) / 10
    recall = (8 + 2 * 0.5) / 10
    assert found["clusters"]["b_cubed"] == pytest.approx(
        {
            "precision": precision,
            "recall": recall,
            "f1": 2 * precision * recall / (precision + recall),
        }
    )
    counts = json.loads((run / "run.json").read_text())["counts"]
    compared = counts["verified"] + counts["exact_duplicates"]
    assert compared >= 5
    assert found["blocking"] == {
        "compared": compared,
        "found": both,
        "pairs_completeness": pytest.approx(both / 4),
        "pairs_quality": pytest.approx(both / compared),
        "reduction_ratio": pytest.approx(1 - compared / 45),
    }
    assert found["truth"] == {
        "kind": "groups",
        "pairs": 4,
        "documents": 10,
        "skipped": 0,
        "only_named": False,
    }


def test_by_threshold(run: Path, command: Command, tmp_path: Path) -> None:
    found = evaluated(command, run, "--truth", as_csv(groups_table(), tmp_path / "t.csv"))
    edges = pq.read_table(run / "edges.parquet").to_pylist()
    lines = found["by_threshold"]
    assert [line["edge_threshold"] for line in lines] == [0.7, *(k / 100 for k in range(71, 101))]
    assert lines[0] == {"edge_threshold": 0.7, **found["edges"]}
    for line in lines:
        left = [e for e in edges if e["similarity"] >= line["edge_threshold"]]
        true = [e for e in left if (e["doc_a"], e["doc_b"]) in TRUE]
        assert (line["given"], line["true"]) == (len(left), len(true))
        assert line["recall"] == pytest.approx(len(true) / 4)
    assert lines[-1]["given"] == 1  # the two equal ones


@pytest.mark.parametrize("name", WRITERS)
def test_all_formats_and_both_kinds_say_the_same(
    name: str, run: Path, command: Command, tmp_path: Path
) -> None:
    expected = neardup.evaluate(run, groups_table())
    groups = evaluated(command, run, "--truth", WRITERS[name](groups_table(), tmp_path / name))
    assert groups == expected
    (tmp_path / name).unlink()
    pairs = evaluated(command, run, "--truth", WRITERS[name](pairs_table(), tmp_path / name))
    assert pairs.pop("truth") == {
        "kind": "pairs",
        "pairs": 4,
        "documents": 8,
        "skipped": 0,
        "only_named": False,
    }
    expected.pop("truth")
    assert pairs == expected


def test_python_takes_tables(run: Path) -> None:
    table = pairs_table()
    expected = neardup.evaluate(str(run), table)
    assert neardup.evaluate(run, table.to_pydict()) == expected
    assert neardup.evaluate(run, pd.DataFrame(table.to_pydict())) == expected
    with pytest.raises(InputError, match="the truth is a int"):
        neardup.evaluate(run, 3)


def test_pairs_as_they_are_and_links_closed(run: Path) -> None:
    table = pa.table({"a": ["n0", "n1", "n3"], "b": ["n1", "n2", "n4"]})
    pairs = neardup.evaluate(run, table)
    assert (pairs["truth"]["pairs"], pairs["edges"]["true"]) == (3, 3)
    assert pairs["clusters"]["pairwise"]["true"] == 4  # clusters are closed in any case
    links = neardup.evaluate(run, table, kind="links")
    assert (links["truth"]["pairs"], links["edges"]["true"]) == (4, 4)
    assert links["clusters"] == pairs["clusters"]


def test_pairs_named_twice_and_with_themselves_count_once(run: Path) -> None:
    table = pa.table({"a": ["n0", "n1", "n0", "n4"], "b": ["n1", "n0", "n1", "n4"]})
    found = neardup.evaluate(run, table)
    assert (found["truth"]["pairs"], found["edges"]["true"]) == (1, 1)
    assert "truth       1 pair; it names" in render(found)


def test_pairs_within_a_cluster_are_found_without_an_edge(tmp_path: Path, command: Command) -> None:
    rows = [{"id": k, "text": text(0, k)} for k in range(5)]
    path = write_lines(tmp_path / "notes.jsonl", rows)
    out = tmp_path / "out"
    assert command("dedup", path, "-o", out, "--id", "id", "--quiet").code == 0
    edges = pq.read_table(out / "edges.parquet").num_rows
    assert edges < 10
    found = neardup.evaluate(out, {"id": list(range(5)), "group": [1] * 5})
    assert found["edges"]["recall"] == edges / 10
    assert found["blocking"]["pairs_completeness"] == 1
    as_pairs = {"a": [a for a, _ in combinations(range(5), 2)]}
    as_pairs["b"] = [b for _, b in combinations(range(5), 2)]
    assert neardup.evaluate(out, as_pairs)["blocking"] == found["blocking"]
    done = command("evaluate", out, "--truth", as_csv(pa.table(as_pairs), tmp_path / "t.csv"))
    assert "--pairs all has more" in done.out


def test_only_named(run: Path) -> None:
    """Without 2, whose edges are wrong, all that was found is right."""
    table = groups_table().filter(pa.array([k != 2 for k in range(10)]))
    everything = neardup.evaluate(run, table)
    named = neardup.evaluate(run, table, only_named=True)
    assert everything["edges"]["precision"] == pytest.approx(3 / 5)
    assert named["edges"]["precision"] == named["clusters"]["b_cubed"]["precision"] == 1
    assert named["edges"]["given"] == 3
    assert named["truth"]["documents"] == 9
    assert named["blocking"]["pairs_quality"] is None


def test_made_notes(tmp_path: Path, command: Command) -> None:
    """The truth of `neardup synth` is taken as it is."""
    write(SynthSpec(400, family=()), tmp_path / "notes.jsonl")
    out = tmp_path / "out"
    assert command("dedup", tmp_path / "notes.jsonl", "-o", out, "--id", "id", "--quiet").code == 0
    found = evaluated(command, out, "--truth", tmp_path / "notes.truth.parquet")
    assert found["truth"]["kind"] == "links"
    assert found["edges"]["precision"] == 1
    assert found["clusters"]["pairwise"]["recall"] > 0.3
    # A run agrees with itself.
    same = evaluated(command, out, "--truth", out / "clusters.parquet")
    assert same["clusters"]["adjusted_rand_index"] == same["clusters"]["pairwise"]["f1"] == 1
    assert same["truth"]["kind"] == "groups"
    same = evaluated(command, out, "--truth", out / "edges.parquet")
    assert same["edges"]["f1"] == 1


@pytest.mark.parametrize("kind", ["strings", "numbers", "floats", "int32"])
def test_ids_by_position(kind: str, notes: Path, tmp_path: Path, command: Command) -> None:
    out = tmp_path / "out"
    assert command("dedup", notes, "-o", out, "--quiet").code == 0
    ids: Any = {
        "strings": pa.array(["1", "4"]),
        "numbers": pa.array([1, 4]),
        "floats": pa.array([1.0, 4.0]),
        "int32": pa.array([1, 4], pa.int32()),
    }[kind]
    found = neardup.evaluate(out, pa.table({"a": ids, "b": pa.array([2, 5])}))
    assert found["edges"]["true"] == found["truth"]["pairs"] == 2


def test_ids_are_not_guessed(notes: Path, tmp_path: Path, command: Command) -> None:
    out = tmp_path / "out"
    assert command("dedup", notes, "-o", out, "--quiet").code == 0
    with pytest.raises(InputError, match="the id '007'"):
        neardup.evaluate(out, {"a": ["007"], "b": ["1"]})


def test_columns(run: Path, command: Command, tmp_path: Path) -> None:
    table = pairs_table().rename_columns(["one", "two"])
    path = as_csv(table, tmp_path / "t.csv")
    found = evaluated(command, run, "--truth", path, "--columns", "one,two", "--kind", "pairs")
    assert found["edges"]["true"] == 3
    error = command("evaluate", run, "--truth", path)
    assert error.code == 1
    assert error.error.endswith("t.csv: no columns that are known; its columns are one, two")
    assert command("evaluate", run, "--truth", path, "--columns", "one,two").code == 2
    error = command("evaluate", run, "--truth", path, "--columns", "one,too", "--kind", "pairs")
    assert "no column 'too', or several; its columns are one, two" in error.error
    error = command("evaluate", run, "--truth", path, "--columns", "one")
    assert error.error == "error: columns names 1; expected two"


def test_ids_that_are_texts_are_not_quoted(tmp_path: Path, command: Command) -> None:
    texts = [f"{SECRET} {text(k)}" for k in range(3)]
    notes = write_lines(tmp_path / "notes.jsonl", [{"text": t} for t in texts])
    out = tmp_path / "out"
    assert command("dedup", notes, "-o", out, "--id", "text", "--quiet").code == 0
    truth = tmp_path / "t.csv"
    truth.write_text(f"id,group\n{texts[0]},a\n{SECRET},a\n")
    assert "row 2" in command("evaluate", out, "--truth", truth).error
    truth.write_text(f"id,group\n{texts[0]},a\n{texts[0]},b\n")
    assert "document 0 is in two groups" in command("evaluate", out, "--truth", truth).error


@pytest.mark.parametrize("kind", ["pairs", "groups"])
def test_unknown_ids(kind: str, run: Path, command: Command, tmp_path: Path) -> None:
    table = {"pairs": pairs_table, "groups": groups_table}[kind]().to_pydict()
    for column, values in table.items():
        values.append("nobody" if column != "group" else "a")
    path = as_csv(pa.table(table), tmp_path / "t.csv")
    error = command("evaluate", run, "--truth", path)
    assert error.code == 1
    row = len(table["group" if kind == "groups" else "id_a"])
    assert f"t.csv: row {row}: {run} has no document with the id 'nobody'" in error.error
    found = evaluated(command, run, "--truth", path, "--missing", "skip")
    assert found["truth"]["skipped"] == 1
    assert found["edges"]["true"] == 3
    shown = command("evaluate", run, "--truth", path, "--missing", "skip").out
    assert "skipped     1 row with" in shown
    only_unknown = {name: values[-1:] for name, values in table.items()}
    with pytest.raises(InputError, match="none of its rows has ids that"):
        neardup.evaluate(run, only_unknown, missing="skip")


BAD: dict[str, tuple[str, bytes, str]] = {
    "ending": ("t.xlsx", b"", "unknown ending '.xlsx'"),
    "none": ("", b"", "no such file"),
    "empty csv": ("t.csv", b"", "not readable as csv, or empty"),
    "csv that is not": ("t.csv", b"id,group\na,b,c\n", "not readable as csv"),
    "bytes": ("t.csv", b"id,group\n\xff\xfe,1\n", "not readable as csv"),
    "parquet": ("t.parquet", b"PAR", "not readable as parquet"),
    "gzip": ("t.csv.gz", b"id,group\nn0,1\n", "can't be read, or not what its ending says"),
    "lines": ("t.jsonl", b'{"id": "n0", "group": 1}\n[1]\n', "line 2 is no JSON object"),
    "nothing in lines": ("t.jsonl", b"", "it has no columns"),
    "twice a name": ("t.csv", b"id,id,group\nn0,n1,a\n", "no columns that are known"),
    "null id": ("t.csv", b"id,group\nn0,a\n,a\n", "row 2 has no id"),
    "two groups": (
        "t.csv",
        b"id,group\nn0,a\nn1,a\nn0,b\n",
        "the id 'n0' of document 0 is in two groups",
    ),
    "lists": ("t.jsonl", b'{"id": "n0", "group": {"a": [1]}}\n', "can't name groups"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_truth(case: str, run: Path, command: Command, tmp_path: Path) -> None:
    name, data, message = BAD[case]
    path = tmp_path / (name or "none.csv")
    if name:
        path.write_bytes(data)
    done = command("evaluate", run, "--truth", path)
    assert done.code == 1
    assert message in done.error


def test_more_that_is_refused(run: Path, command: Command, tmp_path: Path) -> None:
    truth = as_csv(groups_table(), tmp_path / "t.csv")
    assert "no finished run" in command("evaluate", tmp_path, "--truth", truth).error
    assert "is a folder" in command("evaluate", run, "--truth", tmp_path).error
    assert command("evaluate", run, "--truth", truth, "--plot", tmp_path / "a.pdf").code == 2
    assert command("evaluate", run).code == 2
    for more in ({"kind": "both"}, {"missing": "maybe"}):
        with pytest.raises(NeardupError, match="expected"):
            neardup.evaluate(run, groups_table(), **more)


def test_a_truth_of_nothing(run: Path, command: Command, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("id_a,id_b\n")
    found = evaluated(command, run, "--truth", path)
    assert found["edges"]["recall"] is None
    assert found["edges"]["precision"] == 0
    done = command("evaluate", run, "--truth", path, "--plot", tmp_path / "a.svg")
    assert "none" in done.out and "all that the run found counts as wrong" in done.out


def test_table_and_plot(run: Path, command: Command, tmp_path: Path) -> None:
    truth = as_csv(groups_table(), tmp_path / "t.csv")
    done = command("evaluate", run, "--truth", truth, "--plot", tmp_path / "a.html")
    assert done.code == 0
    assert done.err == ""
    lines = done.out.splitlines()
    assert lines[0] == "truth       4 pairs; it names 10 of 10 documents"
    assert lines[3].split() == ["edges", "5", "3", "60.0", "%", "75.0", "%", "66.7", "%"]
    assert any(line.startswith("adjusted Rand index") for line in lines)
    assert (
        "Precision and recall of the edges: from 0.7 on: precision 60.0 %"
        in (tmp_path / "a.html").read_text()
    )
