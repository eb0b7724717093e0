"""On executors of their own: losses are made up for, and no text enters a shuffle."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from spark_killing import killing
from spark_parts import NO_SPARK, PATHS, expected, found, rows_of, spark_session

import neardup
from neardup.spec import Spec
from neardup.testing import small_corpora

pytestmark = pytest.mark.skipif(bool(NO_SPARK), reason=NO_SPARK)


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("events")


@pytest.fixture(scope="module")
def spark(log: Path) -> Iterator[Any]:
    with spark_session(
        "local-cluster[2,1,1024]",
        spark_executor_memory="1g",
        spark_eventLog_enabled="true",
        spark_eventLog_dir=log.as_uri(),
        spark_eventLog_compress="false",
        spark_eventLog_rolling_enabled="false",
        spark_shuffle_compress="false",
        spark_task_maxFailures="10",
        spark_sql_shuffle_partitions="2",
    ) as session:
        yield session


@pytest.fixture(scope="module")
def table() -> pa.Table:
    """Texts that are far longer than their sets: each is there a hundred times."""
    rows = small_corpora.random_documents(np.random.default_rng(9), 250)
    longer = [text and " ".join([text] * 100) for text in rows["text"].to_pylist()]
    return rows.set_column(1, "text", pa.array(longer, pa.string()))


@pytest.fixture(scope="module")
def source(table: pa.Table, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("input")
    for number in range(2):
        pq.write_table(table.slice(125 * number, 125), folder / f"{number}.parquet")
    return folder


def events(log: Path) -> list[dict[str, Any]]:
    (path,) = (p for p in log.rglob("*") if p.is_file() and p.suffix != ".crc")
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_a_lost_executor_in_each_stage_changes_nothing(
    spark: Any,
    source: Path,
    table: pa.Table,
    log: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from neardup.spark import dedup, steps

    monkeypatch.setattr(steps, "mapped", killing(steps.mapped, tmp_path))
    run = dedup(spark.read.parquet(str(source)), cluster="components")
    assert found(run) == expected(table, Spec(cluster="components"))
    stages = {path.name for path in tmp_path.iterdir()}
    tasks = {"sketch", "exact", "spread", "forest", "union", "mark", "sets", "solve"}
    assert stages == tasks | {"nothing"}
    lost = [e for e in events(log) if e["Event"] == "SparkListenerExecutorRemoved"]
    assert len(lost) == len(stages)


#: Tasks of passages that kill their executors, a few for the time that each takes; all of them
#: with SPARK_KILLS=all.
KILLS = ("by_range", "runs", "before_each", "segments", "answers", "rows_of_passages")


def test_passages_with_lost_executors_and_without_texts_in_shuffles(
    spark: Any, source: Path, table: pa.Table, log: Path, tmp_path: Path, monkeypatch: Any
) -> None:
    from neardup.spark import passages, steps

    only = () if os.environ.get("SPARK_KILLS") == "all" else KILLS
    monkeypatch.setattr(steps, "mapped", killing(steps.mapped, tmp_path, only))
    before = len(events(log))
    run = passages(spark.read.parquet(str(source)), words=10, task_bytes=64 * 20_000)
    one = neardup.passages(table.sort_by("id"), id="id", words=10, progress=False)
    assert len(rows_of(run.passages)) > 200
    assert rows_of(run.passages) == rows_of(one.passages)
    assert rows_of(run.documents) == rows_of(one.documents)
    done = {path.name for path in tmp_path.iterdir()}
    assert done >= set(KILLS)
    since = events(log)[before:]
    lost = [e for e in since if e["Event"] == "SparkListenerExecutorRemoved"]
    assert len(lost) == len(done)
    columns = exchanged(since)
    assert any("data#" in each for each in columns)
    assert not any("text" in each for each in columns)


def exchanged(since: list[dict[str, Any]]) -> list[str]:
    """The columns of all that went between machines."""
    plans = [str(e.get("physicalPlanDescription", "")) for e in since]
    return [
        columns
        for plan in plans
        for columns in re.findall(r"\) (?:Broadcast)?Exchange\s+Input \[\d+\]: (.*)", plan)
    ]


def test_no_text_enters_a_shuffle(spark: Any, source: Path, table: pa.Table, log: Path) -> None:
    from neardup.spark import dedup

    before = len(events(log))
    run = dedup(spark.read.parquet(str(source)), pairs="all")
    assert found(run) == expected(table, Spec(pairs="all"))
    assert run.clean.count() + run.removed.count() == len(table)
    since = events(log)[before:]
    inputs = exchanged(since)
    assert any("hash#" in columns for columns in inputs)
    assert any("set#" in columns for columns in inputs)
    assert not any("text" in columns for columns in inputs)
    # And by numbers: what all shuffles wrote, uncompressed, is a fraction of the texts.
    ends = [e for e in since if e["Event"] == "SparkListenerTaskEnd"]
    written = sum(e["Task Metrics"]["Shuffle Write Metrics"]["Shuffle Bytes Written"] for e in ends)
    texts = sum(len(text.encode()) for text in table["text"].to_pylist() if text)
    assert 0 < written < texts / 2


def test_a_killed_driver_continues_from_its_checkpoint(
    spark: Any, source: Path, table: pa.Table, tmp_path: Path
) -> None:
    from neardup.spark import dedup

    checkpoint = tmp_path / "checkpoint"
    script = [sys.executable, str(Path(__file__).with_name("spark_killing.py"))]
    process = subprocess.run(
        [*script, str(source), str(checkpoint)],
        env={**os.environ, "PYTHONPATH": PATHS},
        capture_output=True,
    )
    assert process.returncode == -signal.SIGKILL, process.stderr[-2000:]
    done = {path.parent.name for path in checkpoint.glob("*/_SUCCESS")}
    assert done == {"about", "sketches", "duplicates", "candidates"}
    stored = {path: path.stat().st_mtime_ns for path in checkpoint.rglob("*") if path.is_file()}
    run = dedup(spark.read.parquet(str(source)), checkpoint=str(checkpoint))
    assert found(run) == expected(table, Spec())
    assert {path: path.stat().st_mtime_ns for path in stored} == stored
    assert len(list(checkpoint.glob("*/_SUCCESS"))) > len(done)
