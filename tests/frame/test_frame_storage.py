"""Results in memory, in a folder, at a URL, and in parts that Spark has written."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from remote_servers import BUCKET, Store, object_store

import neardup
from neardup.frame.storage import FolderStorage, MemoryStorage, PartsStorage, Storage
from neardup.result_record.dedup_record import SparkCounts, SparkRecord
from neardup.testing import StorageContract

pytestmark = pytest.mark.usefixtures("kernels")


def storage_of(run: Any, kind: type[Storage]) -> Any:
    assert type(run._storage) is kind
    return run._storage


def spark_record(record: dict[str, Any]) -> dict[str, Any]:
    """The record that a job on Spark with the same result has."""
    files = {**record["files"], "clusters": record["files"]["clusters.parquet"]}
    del files["clusters.parquet"]
    counts = {name: record["counts"].get(name, 0) for name in SparkCounts.__struct_fields__}
    del counts["edges"]
    made = {
        "engine": "spark",
        "files": files,
        "source": None,
        "frame": {"text": ["text"], "id": "id", "input_format": "jsonl"},
        "secret_ids": False,
        "output": {"clean": True, "annotate": False, "tables": "parquet", "format": "jsonl"},
        "counts": counts,
    }
    return {name: (record | made)[name] for name in SparkRecord.__struct_fields__}


class TestMemory(StorageContract):
    outlives = False

    def make_storage(self, corpus: Path, out: Path) -> Storage:
        return storage_of(neardup.dedup(corpus, id="id"), MemoryStorage)


class TestMadeTables(StorageContract):
    """Without the state of a run, of which tables are made: tables, and functions of them."""

    outlives = False

    def make_storage(self, corpus: Path, out: Path) -> Storage:
        run = neardup.dedup(corpus, id="id")
        corpora = {"source": run._storage.corpus()}
        return MemoryStorage(run.summary, {"clusters": lambda: run.clusters}, corpora)


class TestFolder(StorageContract):
    def make_storage(self, corpus: Path, out: Path) -> Storage:
        return storage_of(neardup.dedup(corpus, id="id", out=out), FolderStorage)


class TestOpenedCsv(StorageContract):
    def make_storage(self, corpus: Path, out: Path) -> Storage:
        neardup.dedup(corpus, id="id", out=out, tables="csv")
        return storage_of(neardup.open(out), FolderStorage)


class TestUrl(StorageContract):
    @pytest.fixture(autouse=True, scope="class")
    def store(self, request: pytest.FixtureRequest) -> Iterator[None]:
        with object_store() as request.cls.remote:
            yield

    remote: Store

    def make_storage(self, corpus: Path, out: Path) -> Storage:
        url = f"s3://{BUCKET}/{out}"
        run = neardup.dedup(corpus, id="id", out=url, overwrite=True)
        return storage_of(run, FolderStorage)

    def damage(self, storage: Storage, out: Path) -> None:
        self.remote.put(f"{out}/clusters.parquet", b"damaged")

    def remove(self, storage: Storage, out: Path) -> None:
        self.remote.remove(f"{out}/clusters.parquet")


class TestParts(StorageContract):
    """In parts as Spark writes them, without Spark."""

    reads_input = False

    def make_storage(self, corpus: Path, out: Path) -> Storage:
        run = neardup.dedup(corpus, id="id", out=out)
        ids, names = run.clusters["doc_id"], ("kept", "duplicate_of", "similarity", "how")
        rows = pa.table(
            {
                "id": ids,
                "cluster": ids.take(run.clusters["cluster"]),
                **{name: run.clusters[name] for name in names},
            }
        )
        (out / "clusters.parquet").unlink()
        (out / "clusters").mkdir()
        for number in range(3):
            part = rows.take(pa.array(range(number, len(rows), 3)))
            pq.write_table(part, out / "clusters" / f"part-{number}.parquet")
        (out / "run.json").write_text(json.dumps(spark_record(run.summary)))
        return storage_of(neardup.open(out), PartsStorage)
