"""What the tests on Spark share: sessions, and answers as rows that can be compared."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import neardup
from neardup.spec import Spec

#: What executors import from.
PATHS = os.pathsep.join([str(Path(neardup.__file__).parents[1]), str(Path(__file__).parent)])


def _no_spark() -> str:
    """Return why there is no Spark here; empty if there is."""
    try:
        import pyspark  # noqa: F401
    except ImportError:
        return "no pyspark: pip install 'neardup[spark]', or make test-spark"
    java = shutil.which("java")
    if java is None:
        return "no java, which pip install 'neardup[spark]' does not bring: Spark needs Java 17"
    found = subprocess.run([java, "-version"], capture_output=True, text=True)
    return "" if found.returncode == 0 else f"{java} does not run"


NO_SPARK = _no_spark()


@contextmanager
def spark_session(master: str, **settings: str) -> Iterator[Any]:
    """A session that is ended with its JVM."""
    if NO_SPARK:
        pytest.skip(NO_SPARK)
    from pyspark import SparkContext

    from neardup.spark import files

    given = {
        "spark.driver.memory": "1g",
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.shuffle.partitions": "2",
        # Tables are small: to compile takes longer than to interpret.
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "spark.executorEnv.PYTHONPATH": PATHS,
        **{name.replace("_", "."): value for name, value in settings.items()},
    }
    arguments = [f"--conf '{name}={value}'" for name, value in given.items()]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        patch.setenv("PYTHONPATH", PATHS)
        patch.setenv("PYSPARK_SUBMIT_ARGS", " ".join([*arguments, "pyspark-shell"]))
        try:
            with files.session(master, quiet=True) as session:
                yield session
        finally:
            gateway: Any = SparkContext._gateway
            gateway.shutdown()
            gateway.proc.stdin.close()
            gateway.proc.wait(30)
            SparkContext._gateway = SparkContext._jvm = None


Rows = list[tuple[Any, ...]]


def found(run: Any) -> tuple[Rows, Rows | None]:
    """Return clusters and edges of a job on Spark, sorted."""
    names = ("id", "cluster", "kept", "duplicate_of", "similarity")
    clusters = sorted(tuple(row[n] for n in names) for row in run.clusters.collect())
    return clusters, None if run.edges is None else sorted(map(tuple, run.edges.collect()))


def expected(table: pa.Table, spec: Spec) -> tuple[Rows, Rows | None]:
    """Return the same of one machine."""
    run = neardup.dedup(table, id="id", spec=spec.replace(order_by="id"))
    rows = run.clusters.to_pydict()
    ids = rows["doc_id"]
    clusters = [ids[first] for first in rows["cluster"]]
    others = (rows[name] for name in ("kept", "duplicate_of", "similarity"))
    found = sorted(zip(ids, clusters, *others, strict=True))
    if run.edges is None:
        return found, None
    edges = run.edges.to_pydict()
    return found, sorted(zip(edges["id_a"], edges["id_b"], edges["similarity"], strict=True))


def rows_of(table: Any) -> list[tuple[Any, ...]]:
    """The rows of a table, of either engine, in an order of their own."""
    rows = table.to_pylist() if isinstance(table, pa.Table) else map(tuple, table.collect())
    return sorted((tuple(row.values()) if isinstance(row, dict) else row for row in rows), key=repr)
