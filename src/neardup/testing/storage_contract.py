"""The contract of the storage of results, as tests to inherit."""

from __future__ import annotations

import json
import os
import pickle
from abc import ABC, abstractmethod
from pathlib import Path
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pytest

import neardup
from neardup.errors import InputError
from neardup.frame.storage import Storage
from neardup.testing.small_corpora import similar_texts

#: Columns in another order than that of the table.
_COLUMNS = ("kept", "doc_id")


def same(table: pa.Table, other: pa.Table) -> None:
    """Compare types and rows of tables; that a column has no nulls need not be stated."""
    assert table.schema.types == other.schema.types
    assert table.to_pydict() == other.to_pydict()


class StorageContract(ABC):
    """Tests that a storage passes; a class that inherits them defines how one is made.

    Attributes:
        outlives: The tables are in files, which are read when they are asked for.
        reads_input: The input can be read again.
    """

    outlives: ClassVar[bool] = True
    reads_input: ClassVar[bool] = True

    @abstractmethod
    def make_storage(self, corpus: Path, out: Path) -> Storage:
        """Return the result of ``neardup dedup CORPUS --id id``.

        Args:
            corpus: A file of JSON lines, as a path relative to the current directory.
            out: Where files of the result may be written, as a relative path.
        """

    def damage(self, storage: Storage, out: Path) -> None:
        """Make the table of clusters unreadable; needed where files are not in ``out``."""
        for path in [*out.glob("clusters.*"), *out.glob("clusters/*")]:
            path.write_bytes(b"damaged")

    def remove(self, storage: Storage, out: Path) -> None:
        """Remove the files of the table of clusters."""
        for path in [*out.glob("clusters.*"), *out.glob("clusters/*")]:
            path.unlink()

    @pytest.fixture
    def here(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        """The current directory, in which the corpus is."""
        monkeypatch.chdir(tmp_path)
        rows = similar_texts().to_pylist()
        (tmp_path / "notes.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        return tmp_path

    @pytest.fixture
    def storage(self, here: Path) -> Storage:
        """The storage to test."""
        return self.make_storage(Path("notes.jsonl"), Path("out"))

    @pytest.fixture
    def clusters(self, here: Path) -> pa.Table:
        """Columns of the table of clusters that every engine has."""
        found = neardup.dedup(Path("notes.jsonl"), id="id").clusters
        return found.select(["doc_id", "kept", "duplicate_of", "similarity"])

    def test_tables(self, storage: Storage, clusters: pa.Table) -> None:
        """A table has its rows in order, and the columns that are asked for, in their order."""
        assert storage.has("clusters") and not storage.has("edges")
        for _ in range(2):
            same(storage.table("clusters").select(clusters.column_names), clusters)
            same(storage.table("clusters", _COLUMNS), clusters.select(list(_COLUMNS)))

    def test_batches(self, storage: Storage, clusters: pa.Table) -> None:
        """Batches are the rows of the table, in order."""
        found = pa.Table.from_batches(list(storage.batches("clusters", _COLUMNS)))
        same(found, clusters.select(list(_COLUMNS)))

    def test_record(self, storage: Storage, clusters: pa.Table) -> None:
        """The record is JSON, with the counts of the tables."""
        assert json.loads(json.dumps(storage.record)) == storage.record
        counts = storage.record["counts"]
        assert counts["documents"] == clusters.num_rows
        assert counts["removed"] == counts["documents"] - clusters["duplicate_of"].null_count
        assert storage.name and "run" in storage.again

    def test_input(self, storage: Storage, clusters: pa.Table) -> None:
        """Ids, and texts in the order of the positions; or an error that says why not."""
        if not self.reads_input:
            with pytest.raises(InputError) as caught:
                storage.corpus()
            assert storage.name in caught.value.message and caught.value.hint
            return
        corpus, texts = storage.corpus(), similar_texts()["text"].to_pylist()
        assert corpus.documents == clusters.num_rows
        ids = corpus.ids()
        assert ids is not None and ids.to_pylist() == clusters["doc_id"].to_pylist()
        positions = np.array([7, 0, 200, 7])
        assert corpus.texts(positions) == [texts[p] or "" for p in positions]

    def test_clean_corpus(self, storage: Storage, clusters: pa.Table) -> None:
        """The kept documents, where they were written; else all of the input."""
        if self.reads_input or storage.has("clean"):
            kept = clusters if not storage.has("clean") else clusters.filter(clusters["kept"])
            assert storage.clean()["id"].to_pylist() == kept["doc_id"].to_pylist()

    @pytest.mark.parametrize("how", ["changed", "gone"])
    def test_another_input(self, storage: Storage, how: str, here: Path) -> None:
        """An input that has changed since, or is gone, is refused."""
        if not self.reads_input:
            pytest.skip("this storage does not read the input")
        path = here / "notes.jsonl"
        if how == "gone":
            path.unlink()
        else:
            path.write_text('{"id": 1, "text": "another"}\n')
        with pytest.raises(InputError, match=r"notes\.jsonl") as caught:
            storage.corpus().texts(np.array([0]))
        assert "another" not in str(caught.value)

    @pytest.mark.parametrize("how", ["damage", "remove"])
    def test_damaged_files(self, storage: Storage, how: str) -> None:
        """A table that can't be read is refused with its name and a remedy."""
        if not self.outlives:
            pytest.skip("this storage has no files")
        getattr(self, how)(storage, Path("out"))
        with pytest.raises(InputError, match="clusters") as caught:
            storage.table("clusters")
        assert "\n" not in caught.value.message and caught.value.hint

    def test_another_process(
        self, storage: Storage, clusters: pa.Table, tmp_path_factory: pytest.TempPathFactory
    ) -> None:
        """It is pickled, and read in another directory."""
        data = pickle.dumps(storage.reduced())
        os.chdir(tmp_path_factory.mktemp("elsewhere"))
        make, given = pickle.loads(data)  # noqa: S301
        for each in (make(*given), storage):
            assert type(each) is type(storage) and each.record == storage.record
            assert each.name == storage.name or each.folder == storage.folder
            same(each.table("clusters").select(clusters.column_names), clusters)
            if self.reads_input:
                assert each.corpus().documents == clusters.num_rows
