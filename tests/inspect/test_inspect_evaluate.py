"""Agreement with the ground truth, against scikit-learn, plain Python and the definitions."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import neardup
from common import SECRET, write_lines
from neardup.cluster.agreement import Agreement, b_cubed, pair_counts
from neardup.errors import ColumnError, InputError, NeardupError, SpecError
from neardup.inspect.evaluate import evaluate
from neardup.results.results import Results
from neardup.spec import Spec
from neardup.values.intervals import wilson
from neardup.views.text.evaluate_text import render

WORDS = [f"w{k}" for k in range(40)]


def text(document: int, changed: int = 0) -> str:
    """40 words of a document, the last ones changed."""
    words = [f"{w}x{document}" for w in WORDS]
    return " ".join(words[: 40 - changed] + [f"c{changed}"] * changed)


#: 0, 1 and 2 are similar, 3 and 4 too, 5 and 6 are equal, 7 to 9 are alone.
TEXTS = [text(0), text(0, 1), text(0, 2), text(3), text(3, 1), text(5), text(5)] + [
    text(k) for k in (7, 8, 9)
]
IDS = [f"n{k}" for k in range(10)]
#: What a person says: 2 is another one, 8 and 9 are duplicates.
GROUPS = ["a", "a", None, "b", "b", "c", "c", None, "d", "d"]
TRUE = {(0, 1), (3, 4), (5, 6), (8, 9)}
FOUND = {(0, 1), (0, 2), (1, 2), (3, 4), (5, 6)}


@pytest.fixture(scope="module")
def listed(kernels: None) -> Results:
    """A run that listed all pairs."""
    return neardup.dedup({"id": IDS, "text": TEXTS}, id="id", pairs="all")._results


@pytest.fixture(scope="module")
def plain(kernels: None) -> Results:
    return neardup.dedup({"id": IDS, "text": TEXTS}, id="id")._results


def groups_table() -> pa.Table:
    return pa.table({"id": IDS, "group": GROUPS})


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


@pytest.mark.parametrize("sizes", [(1, 1, 1), (2, 1, 2), (30, 4, 5), (200, 150, 170), (40, 40, 1)])
def test_statistics_of_clusters(sizes: tuple[int, int, int]) -> None:
    documents, a, b = sizes
    random = np.random.default_rng(documents)
    given, true = random.integers(0, a, documents), random.integers(-b, b, documents)
    metrics = pytest.importorskip("sklearn.metrics.cluster")  # late: it takes a second
    confusion = metrics.pair_confusion_matrix(true, given) // 2
    found = pair_counts(given, true)
    assert found == (confusion[1, 1], confusion[:, 1].sum(), confusion[1].sum())
    precision = recall = 0.0
    for i in range(documents):
        mine, ours = given == given[i], true == true[i]
        precision += (mine & ours).sum() / mine.sum() / documents
        recall += (mine & ours).sum() / ours.sum() / documents
    f1 = 2 * precision * recall / (precision + recall)
    expected = {"precision": precision, "recall": recall, "f1": f1}
    assert b_cubed(given, true) == pytest.approx(expected)
    other = 10**12 - 7 * given  # labels are names only
    assert pair_counts(other, true) == found
    assert b_cubed(other, true) == pytest.approx(b_cubed(given, true))


def test_b_cubed_of_the_example_of_its_paper() -> None:
    """Bagga and Baldwin (1998): chains of 5, 2 and 5 mentions, two of them joined."""
    true = np.repeat([0, 1, 2], [5, 2, 5])
    for joined, precision in (([0, 1, 1], 0.7619), ([0, 1, 0], 0.5833)):
        found = b_cubed(np.repeat(joined, [5, 2, 5]), true)
        assert found["precision"] == pytest.approx(precision, abs=1e-4)


def test_counts_beyond_32_bits_and_nothing_to_divide_by() -> None:
    found = pair_counts(np.zeros(300_000, np.int64), np.arange(300_000) // 150_000)
    assert found.given == 300_000 * 299_999 // 2 and found.true == 2 * (150_000 * 149_999 // 2)
    empty = {"given": 0, "true": 0, "precision": None, "recall": None, "f1": None}
    assert Agreement(0, 0, 0).scores() == empty
    assert Agreement(0, 0, 3).scores()["recall"] == 0
    none = np.zeros(0, np.int64)
    assert pair_counts(none, none) == (0, 0, 0) and b_cubed(none, none)["f1"] is None


def test_scores(listed: Results) -> None:
    """All of them computed from the pairs."""
    found = evaluate(listed, groups_table())
    both = len(TRUE & FOUND)
    wanted = {"given": 5, "true": both, "precision": 0.6, "recall": 0.75, "f1": 2 * both / 9}
    assert found["edges"] == pytest.approx(wanted)
    assert found["clusters"]["pairwise"] == pytest.approx(wanted)
    # Removed are 1 and 2 for 0, 4 for 3, 6 for 5; by the truth one of each of four groups.
    removed = {"given": 4, "true": 3, "precision": 0.75, "recall": 0.75, "f1": 0.75}
    assert found["removed"] == removed
    precision, recall = (2 * 2 / 3 + 1 / 3 + 7) / 10, (8 + 2 * 0.5) / 10
    assert found["clusters"]["b_cubed"] == pytest.approx(
        {
            "precision": precision,
            "recall": recall,
            "f1": 2 * precision * recall / (precision + recall),
        }
    )
    counts = listed.record["counts"]
    compared = counts["pairs_compared"] + counts["pairs_ruled_out"] + counts["equal_tokens"]
    assert compared >= 5
    assert found["blocking"] == {
        "compared": compared,
        "found": both,
        "pairs_completeness": pytest.approx(both / 4),
        "pairs_quality": pytest.approx(both / compared),
        "reduction_ratio": pytest.approx(1 - compared / 45),
    }
    about = {"kind": "groups", "pairs": 4, "documents": 10, "skipped": 0, "only_named": False}
    assert found["truth"] == about


def test_by_threshold_and_the_best_of_them(listed: Results, plain: Results) -> None:
    found = evaluate(listed, groups_table())
    edges = listed.edges().to_pylist()
    lines = found["by_threshold"]["lines"]
    assert found["by_threshold"]["of"] == "edges"
    assert [line["threshold"] for line in lines] == [0.7, *(k / 100 for k in range(71, 101))]
    assert lines[0] == {"threshold": 0.7, **found["edges"]}
    for line in lines:
        left = [e for e in edges if e["similarity"] >= line["threshold"]]
        true = [e for e in left if (e["doc_a"], e["doc_b"]) in TRUE]
        assert (line["given"], line["true"]) == (len(left), len(true))
        assert line["recall"] == pytest.approx(len(true) / 4)
    assert lines[-1]["given"] == 1  # the two equal ones
    best = max(line["f1"] for line in lines)
    assert found["best"] == next(line for line in lines if line["f1"] == best)
    assert 0.7 < found["best"]["threshold"] < 0.95 and "recluster" in render(found)

    # Without edges: the stars, cut where a document is less similar to the kept one.
    found = evaluate(plain, groups_table())
    assert found["edges"] is None and found["by_threshold"]["of"] == "clusters"
    rows = plain.clusters().to_pylist()
    for line in found["by_threshold"]["lines"]:
        star = [
            r["cluster"] if r["kept"] or r["similarity"] >= line["threshold"] else -1 - r["doc"]
            for r in rows
        ]
        given = {(a, b) for a, b in combinations(range(10), 2) if star[a] == star[b]}
        assert (line["given"], line["true"]) == (len(given), len(given & TRUE))
        assert line["recall"] == pytest.approx(len(given & TRUE) / 4)
    lines = found["by_threshold"]["lines"]
    assert lines[0] == {"threshold": 0.7, **found["clusters"]["pairwise"]}
    assert lines[-1]["given"] == 1


@pytest.mark.parametrize("name", WRITERS)
def test_all_formats_and_both_kinds_say_the_same(
    name: str, listed: Results, tmp_path: Path
) -> None:
    expected = evaluate(listed, groups_table())
    assert evaluate(listed, WRITERS[name](groups_table(), tmp_path / name)) == expected
    (tmp_path / name).unlink()
    pairs = evaluate(listed, WRITERS[name](pairs_table(), tmp_path / name))
    about = {"kind": "pairs", "pairs": 4, "documents": 8, "skipped": 0, "only_named": False}
    assert pairs.pop("truth") == about
    expected.pop("truth")
    assert pairs == expected


def test_tables_and_lists_of_pairs(listed: Results) -> None:
    table = pairs_table()
    expected = evaluate(listed, table)
    assert evaluate(listed, table.to_pydict()) == expected
    assert evaluate(listed, pd.DataFrame(table.to_pydict())) == expected
    pairs = list(zip(*table.to_pydict().values(), strict=True))
    assert evaluate(listed, pairs) == evaluate(listed, set(pairs)) == expected
    for odd in (3, [1, 2], [("n0",)]):
        with pytest.raises(InputError, match=r"type list|documents from int"):
            evaluate(listed, odd)


def test_pairs_as_they_are_and_links_closed(listed: Results) -> None:
    table = pa.table({"a": ["n0", "n1", "n3"], "b": ["n1", "n2", "n4"]})
    pairs = evaluate(listed, table)
    assert (pairs["truth"]["pairs"], pairs["edges"]["true"]) == (3, 3)
    assert pairs["clusters"]["pairwise"]["true"] == 4  # clusters are closed in any case
    links = evaluate(listed, table, kind="links")
    assert (links["truth"]["pairs"], links["edges"]["true"]) == (4, 4)
    assert links["clusters"] == pairs["clusters"]
    twice = pa.table({"a": ["n0", "n1", "n0", "n4"], "b": ["n1", "n0", "n1", "n4"]})
    found = evaluate(listed, twice)
    assert (found["truth"]["pairs"], found["edges"]["true"]) == (1, 1)
    assert "truth       1 pair; it names" in render(found)


def test_judged_pairs(listed: Results, plain: Results, tmp_path: Path) -> None:
    """As the report saves them: nothing is said of pairs that are not listed."""
    path = tmp_path / "review.csv"
    path.write_text(
        "id_a,id_b,duplicate\nn0,n1,true\nn0,n2,false\nn3,n4,TRUE\nn8,n9,true\nn7,n8,false\n"
    )
    low, high = wilson(2 / 3, 3)
    for results in (listed, plain):
        found = evaluate(results, path)
        assert found["truth"] == {
            "kind": "judged",
            "pairs": 3,
            "documents": 8,
            "skipped": 0,
            "only_named": False,
        }
        assert found["judged"] == pytest.approx(
            {
                "pairs": 5,
                "given": 3,
                "true": 2,
                "precision": 2 / 3,
                "recall": 2 / 3,
                "f1": 2 / 3,
                "precision_low": low,
                "precision_high": high,
            }
        )
        assert "judged      5 pairs; the run found 3 of them" in render(found)
    path.write_text("id_a,id_b,duplicate\nn0,n1,perhaps\n")
    with pytest.raises(InputError, match="row 1: duplicate is neither true nor false"):
        evaluate(listed, path)
    with pytest.raises(ColumnError, match="judged pairs need a column 'duplicate'"):
        evaluate(listed, pairs_table(), kind="judged")


def test_only_named(listed: Results) -> None:
    """Without 2, whose edges are wrong, all that was found is right."""
    table = groups_table().filter(pa.array([k != 2 for k in range(10)]))
    everything = evaluate(listed, table)
    named = evaluate(listed, table, only_named=True)
    assert everything["edges"]["precision"] == pytest.approx(3 / 5)
    assert named["edges"]["precision"] == named["clusters"]["b_cubed"]["precision"] == 1
    assert named["edges"]["given"] == 3 and named["removed"]["precision"] == 1
    assert named["truth"]["documents"] == 9
    assert "the others are left out" in render(named)


def test_a_run_agrees_with_itself(listed: Results, tmp_path: Path) -> None:
    clusters = as_parquet(listed.clusters(), tmp_path / "clusters.parquet")
    same = evaluate(listed, clusters)
    assert same["clusters"]["pairwise"]["f1"] == same["clusters"]["b_cubed"]["f1"] == 1
    assert same["truth"]["kind"] == "groups" and same["removed"]["f1"] == 1
    edges = as_parquet(listed.edges(), tmp_path / "edges.parquet")
    assert evaluate(listed, edges)["edges"]["f1"] == 1


@pytest.mark.parametrize("kind", ["strings", "numbers", "floats", "int32", "dictionary"])
def test_ids_are_positions(kind: str, kernels: None) -> None:
    results = neardup.dedup(TEXTS)._results
    ids: Any = {
        "strings": pa.array(["1", "4"]),
        "numbers": pa.array([1, 4]),
        "floats": pa.array([1.0, 4.0]),
        "int32": pa.array([1, 4], pa.int32()),
        "dictionary": pa.array(["1", "4"]).dictionary_encode(),
    }[kind]
    found = evaluate(results, pa.table({"a": ids, "b": pa.array([0, 3])}))
    assert found["removed"]["true"] == found["truth"]["pairs"] == 2
    with pytest.raises(InputError, match="the id '007'"):
        evaluate(results, {"a": ["007"], "b": ["1"]})


def test_columns(listed: Results) -> None:
    table = pairs_table().rename_columns(["one", "two"])
    assert evaluate(listed, table, columns=["one", "two"], kind="pairs")["edges"]["true"] == 3
    with pytest.raises(ColumnError, match="no columns that are known; its columns are one, two"):
        evaluate(listed, table)
    for options, error, says in (
        ({"columns": ["one", "two"]}, SpecError, "may be pairs, links or groups"),
        ({"columns": ["one", "too"], "kind": "pairs"}, ColumnError, "no column 'too', or several"),
        ({"columns": ["one"]}, SpecError, "`columns` names 1; expected two"),
        ({"kind": "none"}, SpecError, "`kind` is 'none'"),
        ({"missing": "none"}, SpecError, "`missing` is 'none'"),
    ):
        with pytest.raises(error, match=says):
            evaluate(listed, table, **options)


def test_ids_that_are_texts_are_not_quoted(kernels: None) -> None:
    texts = [f"{SECRET} {text(k)}" for k in range(3)]
    results = neardup.dedup({"text": texts}, id="text")._results
    for groups, says in (
        ({"id": [texts[0], SECRET], "group": ["a", "a"]}, "row 2: the run has no document with"),
        ({"id": [texts[0], texts[0]], "group": ["a", "b"]}, "document 0 is in two groups"),
    ):
        with pytest.raises(InputError, match=says) as error:
            evaluate(results, groups)
        assert SECRET not in str(error.value)


@pytest.mark.parametrize("kind", ["pairs", "groups"])
def test_unknown_ids(kind: str, listed: Results) -> None:
    table = {"pairs": pairs_table, "groups": groups_table}[kind]().to_pydict()
    for column, values in table.items():
        values.append("nobody" if column != "group" else "a")
    rows = len(table["group" if kind == "groups" else "id_a"])
    with pytest.raises(InputError, match=f"row {rows}: the run has no document with the id 'nob"):
        evaluate(listed, table)
    found = evaluate(listed, table, missing="skip")
    assert found["truth"]["skipped"] == 1 and found["edges"]["true"] == 3
    assert "skipped     1 row with" in render(found)
    with pytest.raises(InputError, match="none of its rows has ids that"):
        evaluate(listed, {name: values[-1:] for name, values in table.items()}, missing="skip")


def test_one_id_that_is_not_text_spares_the_others(kernels: None, tmp_path: Path) -> None:
    ids = pa.array([*(id.encode() for id in IDS[:-1]), b"\xff"], pa.binary())
    results = neardup.dedup(pa.table({"id": ids, "text": TEXTS}), id="id")._results
    (tmp_path / "t.csv").write_text("id_a,id_b\nn0,n1\nn5,n6\n")
    assert evaluate(results, tmp_path / "t.csv")["truth"]["skipped"] == 0


BAD: dict[str, tuple[str, bytes, str]] = {
    "ending": ("t.dta", b"", "unknown ending '.dta'"),
    "none": ("", b"", "no such file"),
    "empty csv": ("t.csv", b"", "no columns that are known; it has no columns|header|empty"),
    "csv that is not": ("t.csv", b"id,group\na,b,c\n", "has 3 fields, the header 2"),
    "bytes": ("t.csv", b"id,group\n\xff\xfe,1\n", "UTF-8"),
    "parquet": ("t.parquet", b"PAR", "Parquet"),
    "gzip": ("t.csv.gz", b"id,group\nn0,1\n", "gz"),
    "lines": ("t.jsonl", b'{"id": "n0", "group": 1}\n[1]\n', "line 2 is an array, not an object"),
    "nothing in lines": ("t.jsonl", b"", "it has no columns"),
    "twice a name": ("t.csv", b"id,id,group\nn0,n1,a\n", "is the name of two columns"),
    "null id": ("t.csv", b"id,group\nn0,a\n,a\n", "row 2 has no id"),
    "two groups": ("t.csv", b"id,group\nn0,a\nn1,a\nn0,b\n", "'n0' of document 0 is in two groups"),
    "a text": ("t.txt", b"n0 n1", "no columns that are known; its columns are path, text"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_truth(case: str, listed: Results, tmp_path: Path) -> None:
    name, data, message = BAD[case]
    path = tmp_path / (name or "none.csv")
    if name:
        path.write_bytes(data)
    with pytest.raises(NeardupError, match=message):
        evaluate(listed, path)


def test_groups_of_any_kind(listed: Results, tmp_path: Path) -> None:
    lists = write_lines(tmp_path / "t.jsonl", [{"id": "n0", "group": {"a": [1]}}])
    assert evaluate(listed, lists)["truth"]["pairs"] == 0  # a group of any kind has a name
    assert "all that was found is wrong" in render(evaluate(listed, lists))


@pytest.mark.parametrize("kind", ["pairs", "links", "groups"])
@pytest.mark.parametrize("only_named", [False, True])
def test_edges_count_for_exact_copies(kind: str, only_named: bool, kernels: None) -> None:
    """A run lists one edge for each copy, and is scored as one that lists all of them."""
    texts = [text(k, changed) for k in (0, 1, 2) for changed in (0, 0, 1, 1, 0, 2, 1)]
    # The same shingles, but not the same words: similarity 1 without being an exact copy.
    ring = [f"r{k}" for k in range(12)]
    texts += [" ".join(ring * 3), " ".join(ring * 4), " ".join(ring * 4), text(7), text(7)]
    ids = np.arange(len(texts))
    random = np.random.default_rng(3)
    truth: Any = pa.table({"id": ids[::2], "group": random.integers(0, 5, len(ids[::2]))})
    if kind != "groups":
        a, b = random.integers(0, len(texts), (2, 9))
        truth = pa.table({"a": a, "b": b})
    options: Any = {"kind": kind, "only_named": only_named}
    every = neardup.dedup(texts, pairs="all", cluster="components")
    found = neardup.dedup(texts, cluster="components")
    assert len(found._results.edges()) < len(every._results.edges())
    wanted, scores = (evaluate(run._results, truth, **options) for run in (every, found))
    for field in ("edges", "clusters", "by_threshold", "best"):
        assert scores[field] == wanted[field], field
    assert 0 < scores["edges"]["true"] < scores["edges"]["given"]
    assert scores["blocking"]["found"] == wanted["blocking"]["found"]


@pytest.mark.parametrize("name", ["t.csv", "t.parquet"])
def test_a_truth_without_pairs(name: str, listed: Results, tmp_path: Path) -> None:
    """Columns, and no rows: what a file of controls has."""
    none = pairs_table().slice(0, 0)
    found = evaluate(listed, WRITERS[name](none, tmp_path / name))
    assert found["truth"]["pairs"] == 0 and found["edges"]["precision"] == 0
    assert found == evaluate(listed, none)


def test_judged_pairs_of_exact_copies(kernels: None) -> None:
    """Two copies, the second of which has no edge but the one to the first."""
    results = neardup.dedup([text(0), text(0, 1), text(0, 1)], cluster="components")._results
    found = evaluate(results, {"a": [0, 1], "b": [2, 2], "duplicate": [True, True]})
    assert found["judged"]["given"] == 2


def test_a_run_in_another_order(kernels: None) -> None:
    """Numbers of documents are not their positions."""
    rows = {"id": IDS, "text": TEXTS, "rank": list(range(10))}
    back = {name: values[::-1] for name, values in rows.items()}
    for pairs in ("kept", "all"):
        spec = Spec(pairs=pairs, order_by="rank")
        found = evaluate(neardup.dedup(back, id="id", spec=spec)._results, groups_table())
        expected = evaluate(neardup.dedup(rows, id="id", pairs=pairs)._results, groups_table())
        assert found == expected


@pytest.mark.parametrize("kind", ["pairs", "links", "judged", "groups"])
def test_true_pairs_of_other_groups(kind: str, tmp_path: Path) -> None:
    """They are missed, and named as such: no run within groups compares them."""
    same, groups = "one and the same text of seven words", ["a", "a", "b", "", None, "b"]
    rows = [{"id": n, "text": same, "of": of} for n, of in enumerate(groups)]
    path = write_lines(tmp_path / "x.jsonl", rows)
    run = neardup.dedup(path, id="id", within="of", out=tmp_path / "out")
    if kind == "groups":  # all 15 pairs of which 2 are of one group
        truth, other = pa.table({"id": range(6), "group": ["x"] * 6}), 13
    else:
        truth = pa.table({"a": [0, 0, 2, 3, 1], "b": [1, 2, 5, 4, 4]})
        other = 13 if kind == "links" else 3
    if kind == "judged":
        truth = truth.append_column("duplicate", pa.array([True] * 5))
    found = run.evaluate(truth, kind=kind)
    assert found["truth"]["other_groups"] == other
    line = f"apart       {other} true pairs not compared: their groups differ, or one has none"
    assert line in str(found).splitlines()
    assert "other_groups" not in neardup.dedup(path, id="id").evaluate(truth, kind=kind)["truth"]
    path.unlink()
    gone = neardup.open(tmp_path / "out").evaluate(truth, kind=kind)
    assert gone["truth"]["other_groups"] is None and "apart" not in str(gone)


def test_no_documents_in_groups() -> None:
    nothing = pa.table(
        {"id": pa.array([], pa.int64()), "text": pa.array([], pa.string()), "of": []}
    )
    truth = pa.table({"a": pa.array([], pa.int64()), "b": pa.array([], pa.int64())})
    found = neardup.dedup(nothing, id="id", within="of").evaluate(truth)
    assert found["truth"]["other_groups"] == 0
