"""The clusters of a page as plain values, which its script draws."""

import functools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from neardup.results.results import Results
from neardup.values.json_values import plain_id
from neardup.views.differences import cut
from neardup.views.page.page_texts import CHARACTERS, template, walk
from neardup.views.page.survey import Survey, from_each_step, rounded, spread
from neardup.views.page.write import as_json

#: Documents of a cluster that are listed at most, fewer where less capacity is left; and those of
#: the first clusters whose texts are shown, and of the others.
_LISTED = (200, 100, 50, 24, 12, 6, 3)
_FIRST, _COMPARED_OF_FIRST, _COMPARED = 100, 24, 12
#: Bytes that a listed document takes besides its id.
_ROW = 48
#: Bytes up to which the page has an id uncut.
LONGEST_ID = 1000


@dataclass(frozen=True)
class ShownCluster:
    """A cluster of the survey and what of it is in the page.

    ``docs`` are listed, each after the one before it on its path; ``compared`` are their indices
    of those whose texts are shown, the first document first.
    """

    cluster: int
    docs: np.ndarray
    compared: list[int]


def to_show(
    found: Survey, full: np.ndarray, id_bytes: np.ndarray, capacity: int
) -> Iterator[ShownCluster]:
    """Yield clusters with as many documents as fit, in bytes of their rows."""
    starts, sizes = found.starts[full], found.sizes[full]
    mean = np.add.reduceat(np.append(id_bytes[found.members], 0), starts) / np.maximum(1, sizes)
    for most in _LISTED:
        if (np.minimum(sizes, most) * (mean + _ROW)).sum() <= capacity:
            break
    for rank, cluster in enumerate(full.tolist()):
        docs = found.documents(cluster)
        if len(docs) > most:
            docs = np.array(spread(found, docs, most))
        docs = _in_order(found, docs)
        count = _COMPARED_OF_FIRST if rank < _FIRST else _COMPARED
        varied = docs[found.near[docs] != 1]
        picked = spread(found, varied if len(varied) > 1 else docs[:2], count)
        index = {doc: i for i, doc in enumerate(docs.tolist())}
        yield ShownCluster(cluster, docs, [index[doc] for doc in picked])


def _in_order(found: Survey, docs: np.ndarray) -> np.ndarray:
    """Return documents each behind the one that it hangs on, the most similar one first."""
    children: dict[int, list[int]] = {}
    for doc in docs[np.lexsort((docs, -found.near[docs]))].tolist():
        children.setdefault(int(found.base[doc]), []).append(doc)
    out, waiting = [], children[-1]
    while waiting:
        doc = waiting.pop()
        out.append(doc)
        waiting += reversed(children.get(doc, []))
    return np.array(out)


class Measured(NamedTuple):
    """Measures of the texts of clusters: arrays int64[documents]."""

    characters: np.ndarray  # length of each text, 0 where it is not known
    contents: np.ndarray  # equal for equal texts
    cells: np.ndarray  # where each removed one is in the heat map; -1 for none
    rows: np.ndarray  # of each one in ``columns``
    columns: pa.Table | None  # those that are shown next to ids


@dataclass
class Clusters:
    """Makes the clusters of a page while they fit."""

    results: Results
    found: Survey
    measured: Measured
    hidden: bool  # no id may be in the page: they are private, or texts where it has no texts
    capacity: int  # bytes that are left
    entries: list[dict[str, Any]] = field(default_factory=list)  # see `_entry`
    # Clusters that are known by the ids of their documents only: label, documents, kept ones,
    # lowest similarity, steps, and a row of `_rows` for each document.
    brief: list[list[Any]] = field(default_factory=list)
    # Documents of clusters in full that are not listed there.
    left: list[tuple[dict[str, Any], np.ndarray]] = field(default_factory=list)
    listed: int = 0  # documents whose ids are in the page
    texts: int = 0  # documents whose texts are in it
    cut: int = 0  # of those, the ones of which only the beginning is

    def add(self, shown: Sequence[ShownCluster], texts: Sequence[str] | None) -> None:
        """Add clusters that are shown in full, and texts of those compared while they fit."""
        values: list[tuple[int, dict[str, Any], int, Any]] = []
        read = iter(texts or ())
        for one in shown:
            entry = self._entry(one.cluster, one.docs)
            if texts is not None:
                those = _values(entry, {index: next(read) for index in one.compared})
                values += [(turn, entry, *value) for turn, value in enumerate(those.items())]
            self.entries.append(entry)
            self.capacity -= len(as_json(entry))
        # The first text of each cluster before the second of any.
        for _, entry, index, value in sorted(values, key=lambda one: one[0]):
            self._add_value(entry, index, value)

    def add_ids(self, others: np.ndarray, capacity: int) -> None:
        """Add the ids of all other documents, of clusters in full first, as far as they fit."""
        found, self.capacity = self.found, capacity
        for entry, docs in self.left:
            if rows := self._rows(docs, entry["members"][0][0]):
                entry["more"] = rows
                del entry["rest"]
        for cluster in others.tolist():
            docs, label = found.documents(cluster), int(found.label[cluster])
            if rows := self._rows(docs[np.argsort(docs != label, kind="stable")], label):
                kept = sum(row[2] is None for row in rows)
                lowest = _plain(found.lowest[[cluster]])[0]
                numbers = [label, len(docs), kept, lowest, int(found.steps[cluster])]
                self.brief.append([*numbers, *rows])

    def _rows(self, docs: np.ndarray, first: int) -> list[list[Any]]:
        """Return ``[number, id, similarity or null if kept, cell]`` of each, if they fit.

        If it is a duplicate of another one than the first of its cluster, the id of that follows.
        """
        if len(docs) * _ROW // 2 > self.capacity:
            return []
        columns = [docs.tolist(), self._ids(docs), _plain(self.found.similarity[docs])]
        rows = [list(row) for row in zip(*columns, self.measured.cells[docs].tolist(), strict=True)]
        of = self.found.duplicate_of[docs]
        others = np.flatnonzero((of >= 0) & (of != first))
        for index, name in zip(others.tolist(), self._ids(of[others]), strict=True):
            rows[index].append(name)
        size = len(as_json(rows)) + _ROW
        if size > self.capacity:
            return []
        self.capacity -= size
        self.listed += len(docs)
        return rows

    @functools.cached_property
    def _one_array(self) -> Any:
        """All ids, from which some are taken many times."""
        return self.results.ids.combine_chunks()

    def _ids(self, docs: np.ndarray) -> list[str]:
        if self.hidden:
            return [f"row {doc}" for doc in docs.tolist()]
        values = self._one_array.take(pa.array(docs)).to_pylist()
        names, half = (str(plain_id(value)) for value in values), LONGEST_ID // 2
        return [n if len(n) <= LONGEST_ID else f"{n[:half]}…{n[-half:]}" for n in names]

    def _entry(self, cluster: int, docs: np.ndarray) -> dict[str, Any]:
        """Return a cluster: its label, its numbers, and a row for each document listed.

        ``members`` has ``[number, id, similarity to its duplicate_of or null if kept, index of the
        one that it hangs on, similarity to that, steps from the first, characters, index of the
        first one with the same text or -1, id of its duplicate_of where that is another one, cell
        of the heat map or -1]``; ``copies`` is the number of copies of the first one that are not
        listed, ``more`` all documents that are not, or if they don't fit ``rest``: the number
        of removed ones from each step of the slider on.
        """
        found, measured = self.found, self.measured
        base, of, every = found.base[docs], found.duplicate_of[docs], found.documents(cluster)
        indices = {doc: i for i, doc in enumerate(docs.tolist())}
        first: dict[int, int] = {}
        contents = measured.contents[docs].tolist()
        same = [first.setdefault(content, i) for i, content in enumerate(contents)]
        others = np.flatnonzero((of >= 0) & (of != base)).tolist()
        targets = dict(zip(others, self._ids(of[others]), strict=True))
        columns = (
            docs.tolist(),
            self._ids(docs),
            _plain(found.similarity[docs]),
            [indices.get(doc, -1) for doc in base.tolist()],
            _plain(found.near[docs]),
            found.depth[docs].tolist(),
            measured.characters[docs].tolist(),
            [-1 if i == k else i for k, i in enumerate(same)],
            [targets.get(i) for i in range(len(docs))],
            measured.cells[docs].tolist(),
        )
        entry: dict[str, Any] = {
            "cluster": int(found.label[cluster]),
            "documents": len(every),
            "kept": int((found.duplicate_of[every] < 0).sum()),
            "lowest": _plain(found.lowest[[cluster]])[0],
            "steps": int(found.steps[cluster]),
            "members": [list(row) for row in zip(*columns, strict=True)],
        }
        if measured.columns is not None:
            rows = measured.columns.take(pa.array(measured.rows[docs]))
            entry["shown"] = [list(row.values()) for row in rows.to_pylist()]
        if len(docs) < len(every):
            left = np.setdiff1d(every, docs)
            entry["copies"] = int((measured.contents[left] == contents[0]).sum())
            threshold = self.results.spec.threshold
            entry["rest"] = from_each_step(found.similarity[left], threshold)
            self.left.append((entry, left))
        self.listed += len(docs)
        return entry

    def _add_value(self, entry: dict[str, Any], index: int, value: Any) -> None:
        """Add a text, or what texts share (at index -1), if it fits."""
        texts, base = entry.get("texts", {}), str(entry["members"][index][3])
        possible = isinstance(value, str) or base in texts
        if index < 0:
            possible = len(texts) > 1
        size = len(as_json(value).encode()) + 8
        if not possible or size > self.capacity:
            return
        self.capacity -= size
        if index < 0:
            entry["template"] = value
            return
        entry["texts"] = {**texts, str(index): value}
        self.texts += 1
        self.cut += entry["members"][index][6] > CHARACTERS


def _values(entry: dict[str, Any], texts: dict[int, str]) -> dict[int, Any]:
    """Return the texts of a cluster that are shown, by index, and their shared words at index -1.

    Copies are left out.
    """
    members = entry["members"]
    indices = [index for index in texts if members[index][7] < 0]
    words = dict(zip(indices, cut(texts[index] for index in indices), strict=True))
    found: dict[int, Any] = {}
    for index in indices:
        base = members[index][3]
        found[index] = walk(words[base], words[index]) if base in words else texts[index]
        if len(found) == 2 and entry["lowest"] != 1:
            found[-1] = template(list(words.values()))
    listed = sum((index if row[7] < 0 else row[7]) in found for index, row in enumerate(members))
    entry["compared"] = listed + entry.get("copies", 0)
    return found


def _plain(similarity: np.ndarray) -> list[float | None]:
    return [None if math.isnan(value) else value for value in rounded(similarity).tolist()]
