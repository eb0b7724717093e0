"""Files and frames as an old corpus, and documents of the batch that stay."""

from __future__ import annotations

import csv
import json
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest

import neardup
from common import Command, write_lines
from neardup.errors import ColumnError, InputNotFoundError, SpecError
from neardup.sketch.bands import recipe_for
from neardup.sketch.sketcher import Sketcher
from neardup.spec import ShingleSpec, Spec
from neardup.state.run_state import RunState
from neardup.testing.small_corpora import similar_texts


def test_settings_are_those_of_the_call() -> None:
    old, batch = ["a b c d e f 1.2.2020"], ["a b c d e f 3.4.2021", "a b c d x f", "a b c d x f"]
    given = {"old": old, "ignore": r"\d\.\d\.\d{4}", "shingle": "word:1", "threshold": 0.9}
    found = neardup.against(batch, **given)
    assert found.keep_mask.tolist() == [False, True, False]
    found = neardup.against(batch, **{**given, "threshold": 0.7})
    assert found.keep_mask.tolist() == [False, False, False]
    spec = Spec(threshold=0.9).replace(shingle="word:1")
    assert neardup.against(batch, old, spec=spec).keep_mask.tolist() == [True, True, False]


@pytest.mark.parametrize("kind", ["corpus", "run", "index"])
def test_only_what_is_similar_to_the_old_corpus_is_removed(kind: str) -> None:
    rows = similar_texts()
    half = rows.num_rows // 2
    old, batch = rows.slice(0, half), rows.slice(half)
    against: Any = old
    stays = old
    if kind != "corpus":
        against = neardup.dedup(old, id="id")
        stays = old.filter(pa.array(against.keep_mask.tolist()))
    if kind == "index":
        against = neardup.Index.from_run(against)
    found = neardup.against(batch, against, id="id", old_only=True)
    alone = neardup.against(batch, against, id="id")
    in_old = alone.clusters.column("in_old").to_pylist()
    assert found.keep_mask.tolist() == [not inside for inside in in_old]
    rows_of_old = [
        (row["doc_id"], row["duplicate_of"], row["similarity"])
        for row in alone.clusters.to_pylist()
        if row["in_old"]
    ]
    matches = found.matches.to_pylist()
    first = {row["doc_id"]: row for row in reversed(matches)}
    assert rows_of_old == [
        (doc, first[doc]["old_id"], first[doc]["similarity"]) for doc, _, _ in rows_of_old
    ]
    both = neardup.dedup(pa.concat_tables([stays, batch]), id="id", pairs="all")
    ids = set(stays.column("id").to_pylist())
    edges = {
        frozenset((row["id_a"], row["id_b"]))
        for row in both.edges.to_pylist()
        if (row["id_a"] in ids) != (row["id_b"] in ids)
    }
    assert {frozenset((row["doc_id"], row["old_id"])) for row in matches} >= edges
    counts = found.summary["counts"]
    assert counts["similar_within"] == 0 and counts["matches"] == len(matches)
    assert counts["old_documents_found"] == len({row["old_id"] for row in matches})
    with pytest.raises(SpecError, match="no table 'matches'"):
        _ = alone.matches


def small_corpora(seed: int) -> tuple[list[str], list[str]]:
    """Texts over few words: many exact duplicates and near-duplicates, in both and across."""
    rng = np.random.default_rng([11, seed])

    def texts(count: int, bases: list[list[str]]) -> list[str]:
        found = []
        for _ in range(count):
            words = list(bases[rng.integers(len(bases))])
            for _ in range(rng.integers(0, 3)):
                words[rng.integers(len(words))] = f"x{rng.integers(6)}"
            found.append(" ".join(words[: rng.integers(1, 20)]))
        return [*found, "", found[0]]

    bases = [[f"w{n}" for n in rng.integers(0, 400, 14)] for _ in range(6)]
    return texts(int(rng.integers(0, 40)) + 1, bases), texts(int(rng.integers(1, 60)), bases)


def defined(old: list[str], new: list[str], spec: Spec, only: bool) -> tuple[list[Any], list[Any]]:
    """What the definition says: the answers of new texts, and all pairs of a new and an old one."""
    every = [*old, *new]
    sketches = Sketcher(recipe_for(spec))(pa.array(every, pa.large_string()))
    values, offsets = neardup.shingle_sets(every, spec.shingle)
    sets = [set(part.tolist()) for part in np.split(values, offsets[1:-1])]
    keys = [set(enumerate(row)) for row in sketches.keys.tolist()]

    def similarity(x: int, y: int) -> float:
        if not sets[x] or not sets[y] or (spec.method == "lsh" and not keys[x] & keys[y]):
            return 0.0
        found = len(sets[x] & sets[y]) / len(sets[x] | sets[y])
        return found if found >= spec.threshold else 0.0

    here, there = range(len(old), len(every)), range(len(old))
    pairs = [(x, y, how) for x in here for y in there if (how := similarity(x, y))]
    by_length = spec.keep == "longest"
    answers: dict[int, tuple[int, float] | None] = {}
    for x in sorted(here, key=lambda x: (-len(every[x]) if by_length else 0, x)):
        kept = [y for y in answers if answers[y] is None and not only]
        found = ((y, how) for y in (*there, *kept) if (how := similarity(x, y)))
        answers[x] = next(found, None)
    first = len(old)
    return (
        [answers[x] for x in here],
        [(x - first, y, how) for x, y, how in pairs],
    )


@pytest.mark.parametrize("seed", range(24))
def test_the_definition_on_small_corpora(seed: int, tmp_path: Path) -> None:
    old, new = small_corpora(seed)
    only, kind = bool(seed % 2), ("corpus", "run", "file")[seed % 3]
    spec = Spec(
        threshold=(0.5, 0.7, 0.9)[seed // 2 % 3],
        shingle=ShingleSpec(n=2),
        keep=("first", "longest")[seed // 4 % 2],
        method=("lsh", "lsh", "allpairs")[seed // 3 % 3],
    )
    given: Any = old
    settings: dict[str, Any] = {"spec": spec}
    positions = list(range(len(old)))
    if kind == "run":
        given, settings = neardup.dedup(old, spec=spec), {}
        positions = np.flatnonzero(given.keep_mask).tolist()
    if kind == "file":
        rows = [{"text": text} for text in old]
        given = Path(write_lines(tmp_path / "old.jsonl", rows))
    memory, threads = (None, "600MB")[seed // 5 % 2], 1 + seed % 2
    found = neardup.against(
        new, given, old_only=only, memory=memory, threads=threads, progress=False, **settings
    )
    answers, pairs = defined([old[i] for i in positions], new, spec, only)
    rows = found.clusters.to_pylist()
    names = [*positions, *range(len(new))]
    expected = [
        (True, None, None, False)
        if answer is None
        else (False, names[answer[0]], answer[1], answer[0] < len(positions))
        for answer in answers
    ]
    columns = ("kept", "duplicate_of", "similarity", "in_old")
    assert [tuple(row[name] for name in columns) for row in rows] == expected
    for row in rows:
        of_batch = None if row["in_old"] else row["doc"] if row["kept"] else row["duplicate_of"]
        assert row["cluster"] == of_batch
    if only:
        listed = [
            (row["doc"], row["old_id"], row["similarity"]) for row in found.matches.to_pylist()
        ]
        assert listed == [(x, positions[y], how) for x, y, how in pairs]


@pytest.mark.parametrize("given", ["call", "run"])
def test_the_column_of_the_order_decides_and_the_tables_stay(given: str, tmp_path: Path) -> None:
    text = "one two three four five six"
    rows = [{"id": name, "text": text, "when": when} for name, when in (("a", 2), ("b", 1))]
    path = write_lines(tmp_path / "new.jsonl", rows)
    old: Any = pa.table({"id": ["o"], "text": ["other words"], "when": [5]})
    settings: dict[str, Any] = {"order_by": "when"}
    if given == "run":
        old, settings = neardup.dedup(old, id="id", **settings), {}
    run = neardup.against(path, old, id="id", out=tmp_path / "out", **settings)
    for found in (run, neardup.open(tmp_path / "out")):
        assert found.clusters.column("duplicate_of").to_pylist() == ["b", None]
        assert found.keep_mask.tolist() == [False, True]
        assert found.clean("arrow").column("id").to_pylist() == ["b"]


def test_the_command(tmp_path: Path, command: Any) -> None:
    body = "one two three four five six seven eight"
    old = [{"key": f"o{i}", "body": text} for i, text in enumerate([body, f"{body} nine", "x y"])]
    new = [{"id": f"n{i}", "text": text} for i, text in enumerate([body, "y z", "y z"])]
    for name, rows in (("old", old), ("new", new)):
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
    given = ("dedup", tmp_path / "new.jsonl", "--against", tmp_path / "old.jsonl", "--id", "id")
    answer = command(*given, "-o", tmp_path / "out")
    assert answer.code == 1 and "--old-text" in answer.err and "--old-id" in answer.err
    names = ("--old-text", "body", "--old-id", "key")
    answer = command(*given, *names, "-o", tmp_path / "out", "--old-only", "--threshold", 0.75)
    assert answer.code == 0, answer.err
    run = neardup.open(tmp_path / "out")
    assert run.keep_mask.tolist() == [False, True, True] and run.spec.threshold == 0.75
    rows = pq.read_table(tmp_path / "out" / "matches.parquet").to_pylist()
    found = [(row["doc_id"], row["old_id"], row["similarity"]) for row in rows]
    assert found == [("n0", "o0", 1.0), ("n0", "o1", 0.8)]
    assert run.matches.to_pylist() == rows
    assert "2 of 3 old documents" in answer.err
    answer = command(*given, *names, "-o", tmp_path / "both")
    assert neardup.open(tmp_path / "both").keep_mask.tolist() == [False, True, False]
    assert not (tmp_path / "both" / "matches.parquet").exists()
    # Of an index or a run, the settings hold.
    against = (
        "dedup",
        tmp_path / "new.jsonl",
        "--against",
        tmp_path / "both",
        "-o",
        tmp_path / "x",
    )
    for option, value in (("--threshold", 0.8), ("--old-text", "body"), ("--ignore", "a")):
        answer = command(*against, option, value)
        assert answer.code == 2 and f"{option} does not go with this --against" in answer.err
    answer = command("dedup", tmp_path / "new.jsonl", "-o", tmp_path / "x", "--old-only")
    assert answer.code == 2 and "--old-only needs an old corpus" in answer.err


def old_and_new() -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Documents of an old corpus, and a batch: of it, of itself, and a new one."""
    body = [f"w{i}" for i in range(20)]
    old = [{"id": 40 + i, "text": " ".join([*body[i:], "x" * (i + 1)])} for i in (0, 9)]
    new = [old[0], {"text": " ".join(body[10:]) + " yes"}, {"text": "a b c d e f"}]
    texts = [row["text"] for row in [*new, new[-1]]]
    return old, [{"id": f"patient-{i}", "text": text} for i, text in enumerate(texts)]


@pytest.mark.parametrize("format", ["jsonl", "csv", "parquet"])
def test_removed_documents_are_written(command: Command, tmp_path: Path, format: str) -> None:
    old, new = old_and_new()
    paths = [write_lines(tmp_path / f"{i}.jsonl", rows) for i, rows in enumerate((old, new))]
    line = ["dedup", paths[1], "--id", "id", "--against", paths[0], "--threshold", 0.5]
    if format != "jsonl":
        line += ["--format", format]
    done = command(*line, "-o", tmp_path / "out", "--removed")
    assert done.code == 0 and "clean/, removed/, clusters.parquet" in done.err, done.err
    run = neardup.open(tmp_path / "out")
    (file,) = (tmp_path / "out" / "removed").iterdir()
    assert file.name == f"part-00000.{format}"
    if format == "jsonl":
        rows = [json.loads(line) for line in file.read_text().splitlines()]
    else:
        rows = (pacsv.read_csv(file) if format == "csv" else pq.read_table(file)).to_pylist()
    names = ("duplicate_of", "similarity", "in_old")
    assert [(r["id"], *(str(r[n]) for n in names)) for r in rows] == [
        (r["doc_id"], *(str(r[n]) for n in names))
        for r in run.clusters.to_pylist()
        if not r["kept"]
    ]
    assert [row["text"] for row in rows] == [new[i]["text"] for i in (0, 1, 3)]
    # Another one without them leaves none behind; where nothing is removed, there are none.
    assert command(*line, "-o", tmp_path / "out", "--overwrite").code == 0
    assert not (tmp_path / "out" / "removed").exists()
    with_field = write_lines(tmp_path / "2.jsonl", [{**row, "in_old": 1} for row in new])
    line[1] = with_field
    assert "in_old" in command(*line, "-o", tmp_path / "out2", "--removed").error
    with pytest.raises(SpecError, match="`removed` needs an output folder"):
        neardup.against(["a"], ["a"], removed=True)


@pytest.mark.parametrize("kind", ["corpus", "run", "index", "shingles", "frame"])
def test_pairs_of_a_batch_have_the_texts_of_both(
    command: Command, tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    old, new = old_and_new()
    write_lines(tmp_path / "old.jsonl", old)
    write_lines(tmp_path / "new.jsonl", new)
    settings: dict[str, Any] = {"threshold": 0.5}
    against: Any = "old.jsonl"
    if kind != "corpus":
        run = neardup.dedup("old.jsonl", id="id", out="run", threshold=0.5)
        assert len(run.kept) == 2
        against, settings = run if kind == "frame" else "run", {}
    if kind in ("index", "shingles"):
        with neardup.Index.create("index", threshold=0.5, store_text=kind == "index") as index:
            index.add(Path("old.jsonl"), id="id")
        against = "index"
    if kind == "frame":
        against, settings = pa.Table.from_pylist(old), {"threshold": 0.5}
    found = neardup.against("new.jsonl", against, id="id", out="out", **settings)
    expected = [
        ("40", "patient-0", 1.0, True, old[0]["text"], new[0]["text"]),
        ("49", "patient-1", pytest.approx(2 / 3), True, old[1]["text"], new[1]["text"]),
        ("patient-2", "patient-3", 1.0, False, new[2]["text"], new[3]["text"]),
    ]
    names = ["id_a", "id_b", "similarity", "in_old", "text_a", "text_b"]
    with pytest.warns(match="has no texts") if kind == "shingles" else nullcontext():
        table = found.pairs()
    assert table.column_names == names
    if kind == "shingles":
        expected = [(*row[:4], None if row[3] else row[4], row[5]) for row in expected]
    assert [tuple(row.values()) for row in table.to_pylist()] == expected
    shown = command("pairs", "out", "--texts")
    assert shown.code == 0, shown.err
    rows = list(csv.reader(shown.out.splitlines()))
    assert rows[0] == names and [row[:2] for row in rows[1:]] == [list(r[:2]) for r in expected]
    unread = {"shingles": "has no texts", "frame": "a frame or a pipe"}.get(kind)
    if unread:
        assert unread in shown.err and [row[4] for row in rows[1:]] == ["", "", new[2]["text"]]
        return
    assert shown.err == "" and [row[4] for row in rows[1:]] == [row[4] for row in expected]
    if kind == "index":  # which has the texts itself
        return
    # What has changed is not shown.
    write_lines(tmp_path / "old.jsonl", [{**row, "text": "other"} for row in old])
    answer = command("pairs", "out", "--texts", "-o", "pairs.csv")
    assert answer.code == 0 and "has changed" in answer.lines[0], answer.err
    assert answer.lines[0].startswith("note         the texts of the old corpus")
    assert "40,patient-0,1.0,True,," in Path("pairs.csv").read_text()
    assert "text_a" not in command("pairs", "out").out


def test_all_pairs_of_an_old_corpus_without_ids_of_either(command: Command, tmp_path: Path) -> None:
    old, new = old_and_new()
    paths = [write_lines(tmp_path / f"{i}.jsonl", rows) for i, rows in enumerate((old, new))]
    out = tmp_path / "out"
    line = ["dedup", paths[1], "--id", "id", "--against", paths[0], "--threshold", 0.5]
    line += ["--old-only", "--private-ids", "-o", out]
    assert command(*line).code == 0
    shown = command("pairs", out, "--texts")
    rows = list(csv.reader(shown.out.splitlines()))[1:]
    assert [row[:4] for row in rows] == [
        ["old document 0", "row 0", "1.0", "True"],
        ["old document 1", "row 1", rows[1][2], "True"],
    ]
    assert [row[4:] for row in rows] == [[old[i]["text"], new[i]["text"]] for i in (0, 1)]


def test_an_interrupted_comparison_starts_again(command: Command, tmp_path: Path) -> None:
    old, new = old_and_new()
    paths = [write_lines(tmp_path / f"{i}.jsonl", rows) for i, rows in enumerate((old, new))]
    line = ["dedup", paths[1], "--id", "id", "--against", paths[0], "-o", tmp_path / "out"]
    # Of one that was killed before it began, this is left.
    RunState.create(tmp_path / "out" / ".run", overwrite=True, resumable=False).close()
    assert command(*line).code == 0


def test_refused(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="no argument 'against'"):
        neardup.dedup(["a"], against=["b"])  # type: ignore[call-arg]
    with pytest.raises(SpecError, match="`old_text` does not apply"):
        neardup.against(["a"], neardup.dedup(["b"]), old_text="t")
    with pytest.raises(InputNotFoundError) as missing:
        neardup.against(["a"], tmp_path / "nothing")
    assert "the folder of an index, the output of neardup dedup, or files" in missing.value.hint
    with pytest.raises(ColumnError) as column:
        neardup.against(["a"], pa.table({"q": ["a"]}))
    assert "`old_text`" in column.value.hint
    with pytest.raises(SpecError, match="no argument 'cluster'"):
        neardup.against(["a"], ["b"], cluster="components")  # type: ignore[call-arg]
