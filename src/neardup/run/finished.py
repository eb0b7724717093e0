"""A finished run, opened again: its record, its tables, and the texts that it was made of."""

from __future__ import annotations

import functools
import glob
import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from neardup.core.threads import Pool
from neardup.corpus import Corpus, Documents, open_files
from neardup.corpus.inputs import find_inputs
from neardup.errors import InputError, InputNotFoundError
from neardup.run.record import FORMAT, inputs_digest
from neardup.run.source import Source
from neardup.spec import Spec

__all__ = ["FinishedRun"]

A = TypeVar("A")

#: Documents up to which looking up each by itself is quicker than going through the source.
_FEW = 64


class FinishedRun:
    """What `neardup.dedup_files` left in its output folder.

    Args:
        out: The folder.

    Attributes:
        out: The folder.
        record: What ``run.json`` holds, see ``docs/formats.md``.
        spec: What was asked for.
        documents: How many documents the corpus has.

    Raises:
        InputNotFoundError: There is no such folder, or no run in it.
        InputError: It was made by another version, or is damaged.
    """

    def __init__(self, out: str | Path) -> None:
        self.out = Path(out)
        path = self.out / "run.json"
        try:
            self.record: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
            found = self.record.get("format")
            if found != FORMAT:
                raise InputError(
                    f"{path}: made by another version of neardup (format {found}, this one has "
                    f"{FORMAT})",
                    "run neardup dedup again",
                )
            self.spec = Spec.from_dict(self.record["spec"])
            self.documents = int(self.record["counts"]["documents"])
        except (FileNotFoundError, NotADirectoryError) as error:
            raise InputNotFoundError(
                f"{self.out}: no finished run of neardup dedup is there",
                "name the folder that was given to it with -o",
            ) from error
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise InputError(f"{path}: not readable, or damaged") from error

    # The tables.

    def clusters(self, columns: Sequence[str] | None = None) -> Any:
        """Return the table of clusters, or some of its columns; one row per document, in order."""
        return self._table("clusters", columns)

    def edges(self, columns: Sequence[str] | None = None) -> Any:
        """Return the table of edges, or some of its columns."""
        return self._table("edges", columns)

    def array(self, column: str) -> np.ndarray:
        """Return a column of the clusters without nulls as an array.

        Null is -1 for positions and NaN for similarities.
        """
        values = self.clusters([column]).column(0)
        if not values.null_count:
            return np.asarray(values.to_numpy())
        if pa.types.is_floating(values.type):
            return np.asarray(values.fill_null(float("nan")).to_numpy())
        return np.asarray(values.fill_null(-1).to_numpy())

    def _table(self, name: str, columns: Sequence[str] | None) -> Any:
        path = self.out / f"{name}.parquet"
        with _reading(path):
            return pq.read_table(path, columns=None if columns is None else list(columns))

    @functools.cached_property
    def ids(self) -> Any:
        """The ids of all documents, as an Arrow column."""
        return self.clusters(["doc_id"]).column(0)

    def positions(self, ids: Sequence[Any]) -> np.ndarray:
        """Return the positions of documents by their ids, as the user writes them.

        Args:
            ids: Values, or texts that say them; ids of bytes as bytes, or as text.

        Returns:
            int64[ids].

        Raises:
            InputError: There is no document with one of the ids.
        """
        type = self.ids.type
        hint = f"its ids are the column doc_id of {self.out / 'clusters.parquet'}"
        raw = pa.types.is_large_binary(type) or pa.types.is_fixed_size_binary(type)
        try:
            if raw:
                wanted = pa.array(
                    [i if isinstance(i, bytes) else os.fsencode(str(i)) for i in ids], type
                )
            else:
                wanted = pa.array([str(i) for i in ids], pa.large_string()).cast(type)
        except (ValueError, pa.ArrowNotImplementedError) as error:
            raise InputError(
                f"{self.out}: ids there are of type {type}, and one given is not", hint
            ) from error
        found = np.array([pc.index(self.ids, value).as_py() for value in wanted], dtype=np.int64)
        if (found < 0).any():
            missing = str(ids[int(np.argmax(found < 0))])[:100]
            raise InputError(f"{self.out}: no document has the id {missing}", hint)
        return found

    def edges_of(self, docs: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the edges that have an end among some documents, sorted by position.

        The table is gone through a row group at a time, since it may have 100 million rows.

        Args:
            docs: int64[], ascending.

        Returns:
            (``a`` int64[edges], ``b`` int64[edges], similarity float64[edges]), ``a < b``.
        """
        among = np.zeros(self.documents, dtype=np.bool_)
        among[docs] = True
        last = int(docs[-1]) if len(docs) else -1
        found = [(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0))]
        path = self.out / "edges.parquet"
        with _reading(path), pq.ParquetFile(path) as file:
            for group in range(file.num_row_groups):
                table = file.read_row_group(group, columns=["doc_a", "doc_b", "similarity"])
                a, b, similarity = (column.to_numpy() for column in table.columns)
                if len(a) and a[0] > last:  # both ends of all that follow come later
                    break
                rows = among[a] | among[b]
                found.append((a[rows], b[rows], similarity[rows]))
        a, b, similarity = (np.concatenate(part) for part in zip(*found, strict=True))
        return a, b, similarity

    # The texts.

    @functools.cached_property
    def source(self) -> Source:
        """The corpus, opened again.

        Raises:
            InputNotFoundError: A file is gone.
            InputError: It was no file, or has changed since.
        """
        about = self._about
        try:
            corpus = self._open(about)
        except InputNotFoundError as error:
            gone = self._gone()
            if gone is None:
                raise
            raise gone from error
        inputs = [[file.path, file.size, file.mtime_ns] for file in corpus.inputs]
        if inputs_digest(inputs) != about["files_digest"]:
            gone = self._gone()
            if gone is not None:
                raise gone
            changed = f"the input of {self.out}"
            for before, now in zip(about["inputs"], inputs, strict=False):
                if before[1:] != now[1:]:
                    changed = str(now[0])
                    break
            raise InputError(f"{changed} has changed since the run", "run neardup dedup again")
        return Source(corpus)

    def _gone(self) -> InputNotFoundError | None:
        """Return the error for a path that was read and is no longer there; None if all are."""
        about = self._about
        for name in (*about["given"], *(file[0] for file in about["inputs"])):
            path = self._from_here(name)
            if not os.path.lexists(path) and not glob.has_magic(name):
                return InputNotFoundError(
                    f"{path}, an input of {self.out}, is gone",
                    "put it back, or run neardup dedup again",
                )
        return None

    @property
    def _about(self) -> dict[str, Any]:
        about: dict[str, Any] | None = self.record["source"]
        if about is None:
            raise InputError(
                f"{self.out}: its input was a frame or a pipe and can't be read again",
                "write it to a file and run neardup dedup on that",
            )
        return about

    @functools.cached_property
    def given(self) -> list[Path]:
        """The paths that the run was given, so that they can be found from here."""
        return [self._from_here(path) for path in self._about["given"]]

    def _from_here(self, path: str) -> Path:
        directory = Path(self._about["directory"])
        return Path(path if Path.cwd() == directory else os.path.normpath(directory / path))

    @property
    def inputs(self) -> list[Path]:
        """The files that it read, as far as they can be found; none of a frame or a pipe."""
        about = self.record["source"]
        if about is None:
            return []
        if about["inputs"]:
            return [self._from_here(file[0]) for file in about["inputs"]]
        # Of very many the record has no list.
        try:
            return [Path(file.path) for file in find_inputs(self.given, about["input_format"])]
        except InputError:
            return []

    def _open(self, about: dict[str, Any]) -> Corpus:
        return open_files(
            self.given,
            text=about["text"],
            id=about["id"],
            input_format=about["input_format"],
            encoding_errors=about["encoding_errors"],
            chunk_bytes=about["chunk_bytes"],
        )

    @functools.cached_property
    def ends(self) -> np.ndarray:
        """int64[chunks]: position after the last document of each chunk of the source."""
        counts = self._about["chunk_documents"].split()
        return np.cumsum(np.array(counts, dtype=np.int64))

    def texts(self, docs: np.ndarray, threads: int | None = None) -> list[str]:
        """Return the texts of some documents, read from the source again.

        Few of them are looked up where they lie, unless the source is compressed as a whole.

        Args:
            docs: int[]: positions, in any order.
            threads: Threads.

        Raises:
            InputError: The source has changed, or could be read once only.
        """
        wanted = np.unique(docs).astype(np.int64)
        found: list[str] | None = None
        if len(wanted) <= _FEW:
            sizes = np.array(self._about["chunk_sizes"].split(), dtype=np.int64)
            found = self.source.corpus.fetch(wanted, self.ends, sizes)
        if found is None:
            found = []
            for texts in self.visit(wanted, lambda documents: documents.text.to_pylist(), threads):
                found += texts
        if len(found) != len(wanted):
            raise InputError(f"the input of {self.out} has changed", "run neardup dedup again")
        places = np.searchsorted(wanted, docs)
        return [found[place] for place in places]

    def visit(
        self, docs: np.ndarray, work: Callable[[Documents], A], threads: int | None = None
    ) -> Iterator[A]:
        """Go through some documents of the source, chunk by chunk, in order.

        Only the chunks that hold them are parsed, and few are held at a time.

        Args:
            docs: int[], ascending: positions.
            work: Called in several threads with those documents of a chunk that are wanted.
            threads: Threads.

        Yields:
            What ``work`` returned, for each chunk of which something is wanted.

        Raises:
            InputError: The source has changed, or could be read once only.
        """
        wanted = np.asarray(docs, dtype=np.int64)
        starts = np.concatenate([[0], self.ends])
        bounds = np.searchsorted(wanted, starts)
        last = int(np.searchsorted(self.ends, wanted[-1], side="right")) if len(wanted) else -1

        def rows(chunk: int) -> np.ndarray:
            if chunk > last:
                return np.zeros(0, dtype=np.int64)
            return wanted[bounds[chunk] : bounds[chunk + 1]] - starts[chunk]

        def count(chunk: int) -> int:
            return int(starts[chunk + 1] - starts[chunk])

        def boxed(_: int, __: np.ndarray, documents: Documents) -> tuple[A]:
            return (work(documents),)

        with Pool(threads) as pool:
            for chunk, box in enumerate(self.source.again(rows, count, pool, boxed)):
                if box is not None:
                    yield box[0]
                if chunk >= last:
                    break


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    """Make our errors of those that a table raises."""
    try:
        yield
    except FileNotFoundError as error:
        raise InputNotFoundError(f"{path} is gone", "run neardup dedup again") from error
    except (OSError, pa.ArrowException, IndexError) as error:
        raise InputError(f"{path}: not readable, or damaged", "run neardup dedup again") from error
