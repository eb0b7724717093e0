"""On Spark the answer is that of one machine; what can't be answered is refused before the work."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from doc_pages import DOCS, blocks
from spark_parts import NO_SPARK, PATHS, expected, found

import neardup
from common import Command, Tune, write_lines
from neardup.errors import (
    ColumnError,
    DependencyError,
    DuplicateIdError,
    FormatError,
    InputNotFoundError,
    OutputError,
    ResumeError,
    SpecError,
)
from neardup.spec import Spec
from neardup.testing import small_corpora

pytestmark = pytest.mark.skipif(bool(NO_SPARK), reason=NO_SPARK)


@pytest.fixture(scope="module")
def table() -> pa.Table:
    rng = np.random.default_rng(5)
    return small_corpora.random_documents(rng, 500)


@pytest.fixture(scope="module")
def folder(table: pa.Table, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The rows in random order, in three files."""
    folder = tmp_path_factory.mktemp("input")
    shuffled = table.take(np.random.default_rng(6).permutation(len(table)))
    for number, first in enumerate(range(0, len(table), 200)):
        pq.write_table(shuffled.slice(first, 200), folder / f"{number}.parquet")
    return folder


@pytest.fixture(scope="module")
def df(spark: Any, folder: Path) -> Any:
    return spark.read.parquet(str(folder))


@pytest.mark.parametrize(
    ("partitions", "spec"),
    [
        (4, Spec()),
        (1, Spec(cluster="bounded", keep="longest", threshold=0.6)),
        (4, Spec(cluster="components", keep="max:quality")),
        (4, Spec(pairs="all", keep="min:rank")),
    ],
    ids=["star", "bounded", "components", "all pairs"],
)
def test_the_answer_is_that_of_one_machine(
    spark: Any, df: Any, table: pa.Table, partitions: int, spec: Spec
) -> None:
    from neardup.spark import dedup

    spark.conf.set("spark.sql.shuffle.partitions", str(partitions))
    try:
        run = dedup(df.repartition(partitions) if partitions == 1 else df, spec=spec)
        clusters, edges = expected(table, spec)
        assert found(run) == (clusters, edges)
        assert sum(not row[2] for row in clusters) > 100
    finally:
        spark.conf.set("spark.sql.shuffle.partitions", "2")


def test_64_partitions_of_few_rows(spark: Any, df: Any, table: pa.Table) -> None:
    from neardup.spark import dedup, steps

    few = table.filter(pc.less(table["id"], "id-0060"))
    spark.conf.set("spark.sql.shuffle.partitions", "64")
    try:
        run = dedup(df.where("id < 'id-0060'"), num_bands=5, rows=5)
        assert steps.partitions_of(df, 0, 1) == 64
        assert found(run) == expected(few, Spec(num_bands=5, rows=5))
    finally:
        spark.conf.set("spark.sql.shuffle.partitions", "2")


def test_a_family_and_ids_that_are_numbers_as_text(spark: Any) -> None:
    from neardup.spark import dedup

    template = [f"word{n}" for n in range(40)]
    texts = [" ".join([*template, f"own{n}"]) for n in range(1200)]
    ids = [str(n) for n in np.random.default_rng(1).permutation(1200)]
    rows = list(zip(ids, texts, strict=True))
    run = dedup(spark.createDataFrame(rows, "id string, text string"))
    clusters, _ = found(run)
    assert clusters == expected(pa.table({"id": ids, "text": texts}), Spec())[0]
    assert {row[3] for row in clusters} == {None, "0"}  # not that of the ids as texts


@pytest.mark.parametrize(("keep", "task_bytes"), [("first", 130_000), ("max:quality", 85_000)])
def test_a_chain_larger_than_a_task_is_resolved_in_rounds(
    spark: Any, keep: str, task_bytes: int, tmp_path: Path, tune: Tune
) -> None:
    """Each document is similar to the one before it, and to no other.

    The smaller task can't even hold the chain to mark it.
    """
    from neardup.spark import dedup

    words = [f"w{n}" for n in range(4_000)]
    texts = [" ".join(words[5 * n : 5 * n + 60]) for n in range(300)]
    values = [0.0, 1.5, 2.5, 7.0, float("nan"), None]
    quality = [values[n] for n in np.random.default_rng(2).integers(0, 6, 300)]
    table = pa.table({"id": range(300), "text": texts, "quality": quality})
    df = spark.createDataFrame(
        list(zip(range(300), texts, quality, strict=True)), "id int, text string, quality double"
    )
    spec = Spec(keep=keep)
    tune(joined_tables=3, many_ranges=1)
    with pytest.warns(UserWarning, match="may be connected are .* ranges, which takes .* jobs"):
        run = dedup(df, spec=spec, task_bytes=task_bytes, checkpoint=str(tmp_path / "checkpoint"))
    assert (tmp_path / "checkpoint" / "rounds-1" / "_SUCCESS").exists()
    # The sets of the chain are 134,400 bytes. Each round is stored by itself.
    ranges = pq.read_table(tmp_path / "checkpoint" / "ranges")["range"].to_pylist()
    assert len(set(ranges)) == 5 * 134_400 // (2 * task_bytes) + 1
    assert max(map(ranges.count, set(ranges))) * 448 < task_bytes / 2
    last = max(ranges)
    assert (tmp_path / "checkpoint" / f"round-{last - 1}-later" / "_SUCCESS").exists()
    rows, _ = found(run)
    assert rows == expected(table, spec)[0]
    assert 100 < sum(row[2] for row in rows) < 200
    if keep == "first":
        with pytest.raises(SpecError, match="one task needs to list their pairs"):
            dedup(df, spec=spec, task_bytes=task_bytes, cluster="components")


def test_an_old_corpus_and_a_chain_larger_than_a_task(spark: Any, tmp_path: Path) -> None:
    """Some of the chain is old, neighbours too; ranges hold old documents, new ones, or both."""
    from neardup.spark import dedup

    words = [f"w{n}" for n in range(2_000)]
    texts = pa.array([" ".join(words[5 * n : 5 * n + 60]) for n in range(200)])
    rng = np.random.default_rng(3)
    is_old = rng.random(200) < 0.4
    both = pa.table({"id": rng.permutation(200), "text": texts})
    paths = [str(tmp_path / f"{name}.parquet") for name in ("new", "old")]
    new, old = (both.filter(pa.array(rows)).sort_by("id") for rows in (~is_old, is_old))
    for path, rows in zip(paths, (new, old), strict=True):
        pq.write_table(rows, path)
    df, before = map(spark.read.parquet, paths)
    run = dedup(df, against=before, task_bytes=80_000, checkpoint=str(tmp_path / "checkpoint"))
    ranges = pq.read_table(tmp_path / "checkpoint" / "ranges").to_pydict()
    assert (
        len(set(zip(ranges["range"], ranges["old"], strict=True))) > len(set(ranges["range"])) > 2
    )
    clusters, _ = found(run)
    assert [(row[0], *row[2:]) for row in clusters] == with_index(old, new)[0]
    assert 20 < sum(row[2] for row in clusters) < len(new) - 20


def with_index(old: pa.Table, new: pa.Table) -> tuple[list[tuple[Any, ...]], dict[str, int]]:
    """Return ids, kept, duplicate_of and similarity of one machine, and its counts."""
    from neardup.spark import steps

    index = neardup.Index.create(spec=Spec(), recipe=steps.recipe_of(Spec()))
    index.add(old, id="id")
    run = neardup.against(new, index, id="id")
    names = ("doc_id", "kept", "duplicate_of", "similarity")
    columns = (run.clusters[name].to_pylist() for name in names)
    return list(zip(*columns, strict=True)), run.summary["counts"]


def test_documents_of_an_old_corpus_stay(
    spark: Any, table: pa.Table, tmp_path: Path, command: Command
) -> None:
    """The answer is that of an index of them, although many are similar to each other."""
    from neardup.spark import dedup

    old, new = table.slice(0, 200).sort_by("id"), table.slice(200).sort_by("id")
    pq.write_table(old, tmp_path / "old.parquet")
    pq.write_table(new, tmp_path / "new.parquet")
    wanted, numbers = with_index(old, new)
    args = ["spark", tmp_path / "new.parquet", "--against", tmp_path / "old.parquet", "--id", "id"]
    found = command(*args, "-o", tmp_path / "out")
    assert found.code == 0, found.err
    rows = pq.read_table(tmp_path / "out" / "clusters").sort_by("id")
    columns = (rows[name].to_pylist() for name in ("id", "kept", "duplicate_of", "similarity"))
    assert list(zip(*columns, strict=True)) == wanted
    counts = json.loads((tmp_path / "out" / "run.json").read_text())["counts"]
    assert counts["documents"] == len(new)
    assert counts["kept"] == numbers["kept"]
    assert min(numbers[f"similar_{where}"] for where in ("to_old", "within")) > 10
    df, before = (spark.read.parquet(str(tmp_path / f"{n}.parquet")) for n in ("new", "old"))
    with pytest.raises(DuplicateIdError, match="two documents have the id"):
        dedup(df, against=df)
    with pytest.raises(ColumnError, match="'id' is of type string, and of type bigint in `against"):
        dedup(df, against=before.drop("id").withColumnRenamed("rank", "id"))


def test_the_command_writes_what_was_found(
    df: Any, folder: Path, table: pa.Table, tmp_path: Path, command: Command
) -> None:
    out, checkpoint = tmp_path / "out", tmp_path / "checkpoint"
    args = ["spark", folder, "--input-format", "parquet", "--id", "id", "--checkpoint", checkpoint]
    answer = command(*args, "-o", out)
    assert answer.code == 0, answer.err
    clusters, _ = expected(table, Spec())
    kept = [row[0] for row in clusters if row[2]]
    shown = {line[:13].strip(): line[13:].split() for line in answer.lines}
    assert shown["documents"][0] == f"{len(clusters):,}" and shown["kept"][0] == f"{len(kept):,}"
    assert {"removed", "recall", "took"} <= shown.keys() and answer.out == ""
    assert f"{out}: clean/, clusters/, run.json" in answer.err
    clean = pq.read_table(out / "clean")
    assert sorted(clean["id"].to_pylist()) == kept
    assert clean.column_names == table.column_names
    summary = json.loads((out / "run.json").read_text())
    assert summary["counts"]["kept"] == len(kept)
    assert summary["counts"]["empty"] > 0
    assert summary["counts"]["clusters"] == len({row[1] for row in clusters})
    # The folder opens as a run whose documents have the order of their ids.
    run = neardup.open(out)
    assert sorted(run.kept.tolist()) == kept and run.clean().num_rows == len(kept)
    ids = run.clusters["doc_id"].to_pylist()
    assert [ids[n] for n in run.clusters["cluster"].to_pylist()] == [row[1] for row in clusters]
    removed = run.removed.tolist()[0]
    assert "removed" in run.explain(removed, texts=False).why
    pairs = [(row["doc_id"], row["duplicate_of"]) for row in run.duplicates.to_pylist()]
    assert run.evaluate(pairs).get("removed")["precision"] == 1
    assert "recall" in str(run)
    for reader, more in {"audit": [], "recluster": ["-o", tmp_path / "x"]}.items():
        refused = command(reader, out, *more)
        assert "was read by Apache Spark" in refused.error and "one machine" in refused.err
    # The stages are there: the second time they are read.
    stored = {path: path.stat().st_mtime_ns for path in checkpoint.rglob("*")}
    answer = command(*args, "-o", tmp_path / "one", "--single-file", "--format", "jsonl", "--quiet")
    assert (answer.code, answer.err) == (0, "")
    assert {path: path.stat().st_mtime_ns for path in checkpoint.rglob("*")} == stored
    lines = (tmp_path / "one" / "clean.jsonl").read_text().splitlines()
    assert sorted(json.loads(line)["id"] for line in lines) == kept
    assert sorted(pq.read_table(tmp_path / "one" / "clusters.parquet")["id"].to_pylist()) == [
        row[0] for row in clusters
    ]
    assert sorted(p.name for p in (tmp_path / "one").iterdir() if p.suffix != ".crc") == [
        "clean.jsonl",
        "clusters.parquet",
        "run.json",
    ]
    files = [path for path in [*out.rglob("*"), *checkpoint.rglob("*")] if path.is_file()]
    assert all(path.stat().st_mode & 0o077 == 0 for path in files)
    # Neither another recipe nor another input continues from it.
    other = command(*args, "-o", tmp_path / "other", "--threshold", "0.9")
    assert other.code == 1
    assert "spec.threshold was 0.7 and is 0.9" in other.error
    # Folders are those of all commands: complete ones stay, or are replaced, others' files never.
    assert command(*args, "-o", out).error == f"error: {out} exists"
    record = json.loads((out / "run.json").read_text())
    assert (record["command"], record["engine"]) == ("dedup", "spark")
    assert {"sketches", "candidates", "compared", "clusters", "write tables"} < record[
        "seconds"
    ].keys()
    assert command(*args, "-o", out, "--resume", "--quiet").code == 0
    assert json.loads((out / "run.json").read_text()) == record
    refused = command(*args, "-o", out, "--resume", "--format", "jsonl")
    assert refused.error == f"error: {out} exists and is complete, with other settings or inputs"
    (out / "clean" / "mine.txt").touch()
    refused = command(*args, "-o", out, "--overwrite", "--format", "jsonl")
    assert "mine.txt is a file that neardup did not write" in refused.error
    (out / "clean" / "mine.txt").unlink()
    (out / "notes.txt").touch()
    answer = command(*args, "-o", out, "--overwrite", "--format", "jsonl", "--quiet")
    assert (answer.code, answer.err) == (0, "")
    assert sorted(path.name for path in out.iterdir()) == [
        *("clean", "clusters", "notes.txt", "run.json")
    ]
    assert not list((out / "clean").glob("*.parquet"))
    refused = command(*args, "-o", folder / "out")
    assert "which is an input" in refused.error
    # Elsewhere only Spark's own writers are: there is nothing to replace or continue.
    refused = command(*args, "-o", "nosuch://host/out", "--overwrite")
    assert "nosuch" in refused.error


def with_df(run: Any, df: Any) -> Any:
    return replace(run, job=replace(run.job, df=df))


def test_texts_of_csv_stay_as_they_are(spark: Any, tmp_path: Path) -> None:
    """The folder and the column have names that are quoted elsewhere."""
    from neardup.spark import dedup, files
    from neardup.spark import write as write_run

    folder = tmp_path / "my notes %20"
    folder.mkdir()
    name = 'note.id, "new"'
    texts = ["  blanks first", "and last \t", 'a "quoted, one"', "lines\r\nof\ntext", "\\", None]
    rows = [{name: str(n), "text": text} for n, text in enumerate([*texts, texts[0]])]

    def write() -> None:
        with (folder / "notes.csv").open("w", newline="") as file:
            writer = csv.DictWriter(file, [name, "text"], lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)

    write()
    df = files.read(spark, [str(folder / "notes.csv")])
    run = dedup(df, id=name, checkpoint=str(folder / "checkpoint"))
    assert [row[name] for row in run.removed.collect()] == ["6"]
    for format in ("csv", "jsonl"):
        write_run(run, str(folder / format), format)
    opened = write_run(run, str(folder / "one"), "csv", single_file=True)
    assert opened.duplicates["doc_id"].to_pylist() == ["6"]
    for paths in ((folder / "csv" / "clean").glob("*.csv"), [folder / "one" / "clean.csv"]):
        found: list[dict[str, str]] = []
        for path in paths:
            with path.open(newline="") as file:
                found += csv.DictReader(file)
        by_id = sorted(found, key=lambda row: row[name])
        assert [row["text"] for row in by_id] == [text or "" for text in texts]
    nested = with_df(run, df.selectExpr("*", "array(text) tags"))
    with pytest.raises(
        SpecError, match="CSV datasource doesn't support the column `tags`"
    ) as error:
        write_run(nested, str(folder / "nested"), "csv")
    assert not (folder / "nested").exists()
    assert error.value.hint == "give `format` another value"
    annotated = with_df(run, df.selectExpr("*", "'1' duplicate_of", "0.5 Similarity"))
    answers = annotated.removed.select("duplicate_of", "similarity").collect()
    assert list(map(tuple, answers)) == [("0", 1.0)]
    lines = "".join(path.read_text() for path in (folder / "jsonl" / "clean").glob("*.json"))
    stored = [json.loads(line) for line in lines.splitlines()]
    assert sorted(stored, key=lambda row: row[name]) == rows[:-1]  # null is not left out
    # Another input, of which only a text differs, does not continue from the checkpoint.
    rows[1]["text"] = "another"
    write()
    with pytest.raises(ResumeError, match=r"hash was"):
        dedup(df, id=name, checkpoint=str(folder / "checkpoint"))
    (about,) = (folder / "checkpoint" / "about").glob("part-*")
    about.write_text("{")
    about.with_name(f".{about.name}.crc").unlink()
    with pytest.raises(ResumeError, match="about is damaged"):
        dedup(df, id=name, checkpoint=str(folder / "checkpoint"))


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("b.csv", "text,id\nsecret,2\n", r"my.+notes/b\.csv: the header differs"),
        ("b.csv", "id,text\n2,secret,more\n", r"my.+notes/b\.csv: a record is malformed"),
        ("b.csv", "id,text\nsecret\n", r"my.+notes/b\.csv: a record is malformed"),
        ("b.jsonl", '{"id": 1, "text": "x"}\n{"id": 2, "text": "secret\n', "a record is malformed"),
        ("b.jsonl", '{"id": 1, "text": "x"}\n"secret"\n', "a record is malformed"),
        ("b.parquet", "PAR1 a secret text, and no Parquet", r"my notes/b\.parquet: can't be read"),
    ],
    ids=["other order", "too many", "too few", "json", "no object", "parquet"],
)
def test_malformed_files_are_refused(
    spark: Any, tmp_path: Path, name: str, content: str, message: str
) -> None:
    from neardup.spark import dedup, files

    folder = tmp_path / "my notes"
    folder.mkdir()
    (folder / "a.csv").write_text("id,text\n1,one\n")
    (folder / name).write_text(content)
    names = ["a.csv", name] if name == "b.csv" else [name]
    with pytest.raises(FormatError, match=message) as error:
        dedup(files.read(spark, [str(folder / name) for name in names]))
    assert "secret" not in str(error.value)
    assert "\n" not in str(error.value)
    assert error.value.__cause__ is None
    with pytest.raises(InputNotFoundError, match=r"none\.parquet: there is no such file"):
        files.read(spark, [str(tmp_path / "none.parquet")])


def test_what_is_out_of_reach_is_named(spark: Any, df: Any, tmp_path: Path) -> None:
    from neardup.spark import dedup, files, writing

    with pytest.raises(DependencyError, match="format or file system: delta"):
        files.read(spark, [str(tmp_path)], "delta")
    with pytest.raises(DependencyError, match='file system: "nosuch"'):
        writing.check_new(spark, "nosuch://host/out")
    (tmp_path / "file").touch()
    with pytest.raises(OutputError, match="refused: Parent path is not a directory"):
        dedup(df, checkpoint=str(tmp_path / "file"))


def test_a_folder_that_only_spark_reaches(
    spark: Any, df: Any, tmp_path: Path, command: Command
) -> None:
    """A mount of Hadoop, which is a file system of its own to Spark."""
    settings = spark.sparkContext._jsc.hadoopConfiguration()
    settings.set("fs.viewfs.mounttable.default.link./there", tmp_path.as_uri())
    df.where("id < 'id-0060'").write.parquet(str(tmp_path / "in.parquet"))
    args = ["spark", "viewfs:///there/in.parquet", "--id", "id", "--bands", 5, "--rows", 5]
    done = command(*args, "-o", "viewfs:///there/out", "--quiet")
    assert (done.code, done.err) == (0, "")
    run = neardup.open(tmp_path / "out")
    assert len(run) == df.where("id < 'id-0060'").count() == run.summary["counts"]["documents"]
    again = command(*args, "-o", "viewfs:///there/out")
    assert again.error == "error: viewfs:///there/out exists"
    refused = command(*args, "-o", "viewfs:///there/more", "--resume")
    assert refused.error == "error: --resume needs a folder of this machine"


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("JDK_JAVA_OPTIONS", "-XX:+UseSerialGC", "none.parquet: there is no such file"),
        ("JAVA_HOME", "/nowhere", "error: Java does not start"),
    ],
)
def test_java_may_have_options_but_must_be_there(
    name: str, value: str, message: str, tmp_path: Path
) -> None:
    args = [sys.executable, "-m", "neardup", "spark", tmp_path / "none.parquet", "--id", "id"]
    done = subprocess.run(
        [*args, "-o", tmp_path / "out", "--quiet"],
        env={**os.environ, "PYTHONPATH": PATHS, name: value},
        capture_output=True,
        text=True,
    )
    assert message in done.stderr


def test_limits_are_checked_before_the_work(spark: Any, df: Any) -> None:
    from neardup.spark import checks, steps

    checks.check_sent(spark, 1000)
    with pytest.raises(SpecError, match=r"the ids of 10,000,000,000 documents .* take 1,000,000,0"):
        checks.check_sent(spark, 10**10, " that share a bucket")
    with pytest.warns(UserWarning, match="bands are chosen for 5,000,000"):
        steps.warn_of_bands(Spec(), 200_000_000)
    steps.warn_of_bands(Spec(documents=200_000_000), 200_000_000)


def test_the_examples_of_the_page_run(
    spark: Any, table: pa.Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = table.select(["id", "text"]).slice(0, 40).to_pylist()
    write_lines(tmp_path / "notes.jsonl", rows)
    monkeypatch.chdir(tmp_path)
    names = {"spark": spark}
    for block in blocks(DOCS / "spark.md"):
        if block.language == "python":
            code = block.code.replace('"notes.jsonl"', repr(str(tmp_path / "notes.jsonl")))
            exec(code.replace('"clean"', repr(str(tmp_path / "clean"))), names)
    assert list((tmp_path / "clean").glob("*.parquet"))


@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        ({"text": "body"}, ColumnError, "`text` is 'body', and there is no such column"),
        ({"text": "rank"}, ColumnError, "column 'rank' is of type bigint; expected string"),
        ({"id": "quality"}, ColumnError, "column 'quality' is of type double"),
        ({"keep": "max:size"}, ColumnError, "`keep` is 'size', and there is no such column"),
        ({"method": "allpairs"}, SpecError, "`method` is 'allpairs', which is not for Spark"),
        ({"cluster": "louvain"}, SpecError, "needs the complete graph"),
        ({"order_by": "rank"}, SpecError, "`order_by`"),
        ({"keep": "max:tags"}, ColumnError, "column 'tags' of type array<int> can't be ordered"),
        ({"task_bytes": 0}, SpecError, "`task_bytes` is 0; expected an integer from 1"),
    ],
)
def test_what_can_not_be_used_is_refused(
    df: Any, wrong: dict[str, Any], error: type[Exception], message: str
) -> None:
    from neardup.spark import dedup, sketch

    with pytest.raises(error, match=message):
        dedup(df.selectExpr("*", "array(1) tags"), **wrong)
    if error is ColumnError:  # a step by itself, too
        options = {name: wrong.pop(name) for name in ("text", "id") if name in wrong}
        with pytest.raises(error, match=message):
            sketch(df.selectExpr("*", "array(1) tags"), Spec(**wrong), **options)


def test_ids_must_be_there_once(df: Any) -> None:
    from neardup.spark import dedup

    with pytest.raises(DuplicateIdError, match="two documents have the id 'id-0007' in column"):
        dedup(df.unionByName(df.where("id = 'id-0007'")))
    with pytest.raises(DuplicateIdError, match="a document has no id"):
        dedup(df.selectExpr("nullif(id, 'id-0007') id", "text"))
    with pytest.raises(ColumnError, match="two columns have the name `text`, but for upper"):
        dedup(df.withColumnRenamed("quality", "TEXT"))
    with pytest.raises(ColumnError, match="`id` is 'kept', which is also a column of the result"):
        dedup(df.withColumnRenamed("id", "kept"), id="kept")


def test_executors_must_have_the_versions_of_the_driver(
    df: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from neardup.spark import dedup, workers

    real = workers.versions()
    monkeypatch.setattr(workers, "versions", lambda: (real[0], ("Python", "3.9"), *real[2:]))
    with pytest.raises(DependencyError, match=r"Python is 3\.9 on the driver and 3\.1. on an exec"):
        dedup(df)
