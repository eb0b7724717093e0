"""What a finished run says of its documents, read slice by slice: which pairs it found, what it
removed, and whether that holds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from neardup.core.shingle import text_buffers
from neardup.errors import InputError, InputNotFoundError
from neardup.kernels.clusters import find_all
from neardup.kernels.search import unite
from neardup.kernels.shingles import byte_hashes
from neardup.run.finished import FinishedRun
from neardup.run.ids import id_texts, plain_id

__all__ = ["FoundPairs", "Results"]

#: Rows that are looked at together.
_SLICE = 1 << 18
_MIX = np.uint64(0x9E3779B97F4A7C15)


class Results:
    """Clusters and edges of a finished run, by position.

    What is held takes 9 bytes for each document, and 21 while it is made.

    Args:
        run: The run.

    Attributes:
        cluster: int32[documents].
        kept: bool[documents].
        removed: How many are not kept.
        wrong: Positions of removed documents for which the tables don't name a kept document of the
            same cluster with a similarity of at least the edge threshold; must be none.

    Raises:
        InputError: A table is missing or damaged.
    """

    def __init__(self, run: FinishedRun) -> None:
        self._run = run
        documents = run.documents
        self.cluster = np.empty(documents, dtype=np.int32)
        self.kept = np.empty(documents, dtype=np.bool_)
        keys = np.empty(documents, dtype=np.uint64)
        end = 0
        for low, (cluster, kept, ids) in self._slices("clusters", ["cluster", "kept", "doc_id"]):
            end = low + len(kept)
            if end > documents:
                raise self._damaged("clusters")
            self.cluster[low:end], self.kept[low:end] = cluster.to_numpy(), _bits(kept)
            keys[low:end] = _keys(ids, self.cluster[low:end])
        if end != documents:
            raise self._damaged("clusters")
        keys = keys[self.kept]
        keys.sort()
        self.removed = documents - len(keys)
        self.wrong = self._check(keys)
        self._same: np.ndarray | None = None

    def _check(self, keys: np.ndarray) -> np.ndarray:
        """Find removals that the tables don't justify.

        Args:
            keys: uint64[kept], sorted: ids and clusters of kept documents.
        """
        wrong = [np.zeros(0, dtype=np.int64)]
        for low, (kept_by, similarity) in self._slices("clusters", ["kept_by", "similarity"]):
            removed = np.flatnonzero(~self.kept[low : low + len(kept_by)])
            named = kept_by.take(pa.array(removed))
            wanted = _keys(named, self.cluster[low + removed])
            if len(keys):
                place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
                right = keys[place] == wanted
            else:
                right = np.zeros(len(removed), dtype=np.bool_)
            right &= _bits(named.is_valid())
            near = similarity.take(pa.array(removed)).fill_null(-1.0).to_numpy()
            right &= near >= self._run.spec.edge_threshold
            wrong.append(low + removed[~right])
        return np.concatenate(wrong)

    def sizes(self, docs: np.ndarray) -> np.ndarray:
        """Return the size of the cluster of each document, int64[docs]."""
        if not len(docs):
            return np.zeros(0, dtype=np.int64)
        labels, place = np.unique(self.cluster[docs], return_inverse=True)
        counts = np.zeros(len(labels), dtype=np.int64)
        for low in range(0, len(self.cluster), _SLICE):
            some = self.cluster[low : low + _SLICE]
            at = np.minimum(np.searchsorted(labels, some), len(labels) - 1)
            counts += np.bincount(at[labels[at] == some], minlength=len(labels))
        return np.asarray(counts[place])

    def ids(self, docs: np.ndarray) -> list[Any]:
        """Return the users' ids of some documents, as values that JSON has."""
        return [plain_id(i) for i in self._values("doc_id", docs).to_pylist()]

    def kept_by(self, docs: np.ndarray) -> tuple[list[Any], list[float]]:
        """Return what the table has as ``kept_by`` (ids) and ``similarity`` (NaN for null)."""
        named = self._values("kept_by", docs).to_pylist()
        stated = self._values("similarity", docs).fill_null(np.nan).to_pylist()
        return [None if i is None else plain_id(i) for i in named], stated

    def keepers(self, docs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return (position of the kept document that each removed one repeats, their similarity).

        Args:
            docs: int64[]: removed documents.

        Returns:
            (int64[docs], -1 where there is none of that id; float64[docs] as the run has it.)
        """
        if not len(docs):
            return np.zeros(0, dtype=np.int64), np.zeros(0)
        named = self._values("kept_by", docs)
        wanted = pc.unique(named)
        found = np.full(len(wanted), -1, dtype=np.int64)
        for low, (ids,) in self._slices("clusters", ["doc_id"]):
            place = pc.index_in(ids, value_set=wanted)
            there = np.flatnonzero(_bits(place.is_valid()))
            found[place.take(pa.array(there)).to_numpy()] = low + there
        if named.null_count:  # a null is a value of its own, and no document has it
            found[_bits(wanted.is_null())] = -1
        at = pc.index_in(named, value_set=wanted).to_numpy()
        return found[at], self._values("similarity", docs).fill_null(np.nan).to_numpy()

    def pairs_of(self, docs: np.ndarray) -> FoundPairs:
        """Return which pairs with one of these documents were found.

        Args:
            docs: int64[]: positions.
        """
        same = self._same
        if same is None:
            same = self._same = self._equals()
        ours = np.zeros(len(same), dtype=np.bool_)
        ours[same[docs]] = True
        keys = [np.zeros(0, dtype=np.uint64)]
        for _, (a, b) in self._slices("edges", ["doc_a", "doc_b"]):
            x, y = same[a.to_numpy()], same[b.to_numpy()]
            some = ours[x] | ours[y]
            keys.append(np.unique(_pair(x[some], y[some])))
        return FoundPairs(self.cluster, same, np.unique(np.concatenate(keys)))

    def _equals(self) -> np.ndarray:
        """Return, for each document, one that stands for all of equal content that edges join.

        With collapsed pairs an exact duplicate has one edge, to the document that it equals; what
        is known of that one is known of it.
        """
        same = np.arange(self._run.documents, dtype=np.int32)
        if self._run.spec.pairs != "all":
            for _, (a, b, similarity) in self._slices("edges", ["doc_a", "doc_b", "similarity"]):
                equal = similarity.to_numpy() == 1.0
                unite(same, a.to_numpy()[equal], b.to_numpy()[equal])
            for low in range(0, len(same), _SLICE):
                docs = np.arange(low, min(low + _SLICE, len(same)), dtype=np.int32)
                find_all(same, docs, same[low : low + _SLICE])
        return same

    def _values(self, column: str, docs: np.ndarray) -> Any:
        """Return a column at some positions, in the order of ``docs``, as one Arrow array."""
        wanted, back = np.unique(docs, return_inverse=True)
        parts = []
        for low, (values,) in self._slices("clusters", [column]):
            first, last = np.searchsorted(wanted, [low, low + len(values)])
            parts.append(values.take(pa.array(wanted[first:last] - low)))
        return pa.concat_arrays(parts).take(pa.array(back))

    def _slices(self, name: str, columns: Sequence[str]) -> Iterator[tuple[int, list[Any]]]:
        """Yield (first row, columns as Arrow arrays) of a table."""
        path = self._run.out / f"{name}.parquet"
        low = 0
        try:
            with pq.ParquetFile(path) as file:
                for batch in file.iter_batches(_SLICE, columns=list(columns)):
                    yield low, [batch.column(column) for column in columns]
                    low += len(batch)
        except FileNotFoundError as error:
            raise InputNotFoundError(f"{path} is gone", "run neardup dedup again") from error
        except (OSError, KeyError, pa.ArrowException) as error:
            raise self._damaged(name) from error

    def _damaged(self, name: str) -> InputError:
        return InputError(
            f"{self._run.out / name}.parquet: not readable, or damaged", "run neardup dedup again"
        )


class FoundPairs:
    """Which pairs a run found: both in one cluster, or an edge. Safe in several threads.

    Args:
        cluster: int32[documents].
        same: int32[documents]: the document of equal content that stands for each.
        keys: uint64[], sorted: edges between those, as `_pair` packs them.
    """

    def __init__(self, cluster: np.ndarray, same: np.ndarray, keys: np.ndarray) -> None:
        self._cluster, self._same, self._keys = cluster, same, keys

    def __call__(self, a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return (whether each pair was found, whether its documents are in one cluster).

        Args:
            a, b: int64[pairs]: positions.
        """
        together = self._cluster[a] == self._cluster[b]
        found = together.copy()
        rest = np.flatnonzero(~together)
        if len(rest) and len(self._keys):
            wanted = _pair(self._same[a[rest]], self._same[b[rest]])
            place = np.minimum(np.searchsorted(self._keys, wanted), len(self._keys) - 1)
            found[rest] = self._keys[place] == wanted
        return found, together


def _pair(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    low, high = np.minimum(a, b).astype(np.uint64), np.maximum(a, b).astype(np.uint64)
    return low << np.uint64(32) | high


def _keys(ids: Any, cluster: np.ndarray) -> np.ndarray:
    """Return a hash of id and cluster, uint64[]."""
    out = np.empty(len(ids), dtype=np.uint64)
    if len(ids):
        text = id_texts(ids, "doc_id")
        byte_hashes(*text_buffers(text.fill_null("")), out)
    return out ^ cluster.astype(np.uint64) * _MIX


def _bits(values: Any) -> np.ndarray:
    return np.asarray(values.to_numpy(zero_copy_only=False))
