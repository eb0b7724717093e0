"""Tasks on Spark: which rows one takes, and a Python that can't do the work."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from spark_parts import NO_SPARK, PATHS, expected, found

from common import Command, write_lines
from neardup.spec import Spec
from neardup.testing import small_corpora

pytestmark = pytest.mark.skipif(bool(NO_SPARK), reason=NO_SPARK)


@pytest.fixture(scope="module")
def table() -> pa.Table:
    return small_corpora.random_documents(np.random.default_rng(5), 300)


@pytest.fixture(scope="module")
def df(spark: Any, table: pa.Table, tmp_path_factory: pytest.TempPathFactory) -> Any:
    path = tmp_path_factory.mktemp("input") / "a.parquet"
    pq.write_table(table, path)
    return spark.read.parquet(str(path))


def test_ids_of_one_hash_are_different_documents(
    df: Any, table: pa.Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pyspark.sql import functions as f

    from neardup.spark import dedup, steps

    monkeypatch.setattr(steps, "_number_of", lambda id: f.pmod(f.xxhash64(id), f.lit(5)))
    assert found(dedup(df)) == expected(table, Spec())


def test_partitions_are_as_many_as_their_bytes_take(df: Any) -> None:
    from neardup.spark import candidates, compare, duplicates, shingle_sets, sketch

    spec = Spec(num_bands=2, rows=2)
    sketches = sketch(df, spec)
    same = duplicates(sketches, spec, documents=300, task_bytes=3_000)
    assert same.rdd.getNumPartitions() == 10
    marked = candidates(sketches, same, spec, 300, 1_200)
    compared = compare(marked, shingle_sets(df, marked, spec), spec, 10_000, 1_000)
    assert compared.rdd.getNumPartitions() == 10


def test_each_range_has_a_partition_of_its_own(spark: Any) -> None:
    from pyspark.sql import functions as f

    from neardup.spark.rounds import one_per_partition

    for partitions in (1, 7, 100):
        numbers = one_per_partition(spark, partitions)
        rows = spark.createDataFrame([(n,) for n in numbers * 2], "root long")
        where = rows.repartition(partitions, "root").select("root", f.spark_partition_id())
        assert {tuple(row) for row in where.collect()} == set(
            zip(numbers, range(partitions), strict=True)
        )


def test_nothing_is_found_in_nothing(df: Any, tmp_path: Path) -> None:
    from neardup.spark import dedup, write

    run = dedup(df.where("false"), cluster="components", keep="max:quality")
    assert found(run) == ([], [])
    counts = write(run, str(tmp_path / "out")).summary["counts"]
    assert set(counts.values()) == {0}
    assert pq.read_table(tmp_path / "out" / "clean").num_rows == 0
    assert dedup(df, against=df.where("false")).summary["counts"]["documents"] == 300


def test_the_command_notes_that_there_is_nothing(
    spark: Any, tmp_path: Path, command: Command
) -> None:
    """Of an empty file of JSON lines no column is known."""
    (tmp_path / "a.jsonl").touch()
    args = ["spark", tmp_path / "a.jsonl", "--against", tmp_path / "a.jsonl", "--id", "key"]
    answer = command(*args, "-o", tmp_path / "out")
    assert answer.code == 0, answer.err
    assert "the input has no documents" in answer.err
    assert pq.read_table(tmp_path / "out" / "clusters").num_rows == 0


def without_packages(folder: Path) -> str:
    venv.create(folder, with_pip=False)
    return str(folder / "bin" / "python")


@pytest.mark.parametrize("python", ["no packages", "no Python"])
def test_a_python_that_can_not_do_the_work(python: str, tmp_path: Path) -> None:
    """Before the input is looked at, which has an id twice, in one line and a hint."""
    path, says = {
        "no packages": (without_packages(tmp_path / "bare"), "numpy is not installed on an exec"),
        "no Python": ("/bin/false", "Python can't be used on an executor"),
    }[python]
    notes = write_lines(tmp_path / "notes.jsonl", [{"id": 1, "text": "a"}, {"id": 1, "text": "b"}])
    arguments = ["neardup", "spark", notes, "--id", "id", "--master", "local[1]", "--quiet"]
    done = subprocess.run(
        [sys.executable, "-m", *arguments, "-o", tmp_path / "out"],
        env={**os.environ, "PYTHONPATH": PATHS, "PYSPARK_PYTHON": path},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    error, hint = [line for line in done.stderr.splitlines() if line][-2:]
    assert error.partition("error: ")[2].startswith(says), done.stderr
    assert hint.startswith(
        f"hint: set PYSPARK_PYTHON, here {path}, to a Python with neardup[spark]"
    )
    assert "\tat " not in done.stderr and "Traceback" not in done.stderr
    assert not (tmp_path / "out").exists()


def test_an_error_of_executors_has_no_trace_of_java(spark: Any) -> None:
    from pyspark.errors import PySparkException

    from neardup.errors import DependencyError
    from neardup.spark.spark_errors import worker_errors

    for text, says in (
        ("[PACKAGE_NOT_INSTALLED] PyArrow >= 18.0.0 must be installed\n\tat org", "PyArrow >= 18"),
        ('java.io.IOException: Cannot run program "/x": error=2\n\tat', "it does not start"),
        ("ModuleNotFoundError: No module named 'numba'\n\tat org", "numba is not installed"),
        ("No package metadata was found for PyStemmer\n\tat", "PyStemmer is not installed"),
        ("[PYTHON_VERSION_MISMATCH] Python in worker has", "Python has another version"),
        ("ImportError: libX.so: cannot open\n\tat org", "executor: libX.so: cannot open"),
    ):
        with pytest.raises(DependencyError, match=says) as caught, worker_errors():
            raise PySparkException(text)
        assert caught.value.__cause__ is None and caught.value.__suppress_context__
        assert "\tat" not in str(caught.value)
