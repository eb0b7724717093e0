"""The clusters of a page as plain values, which its script draws."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from neardup.core.threads import Pool
from neardup.core.verify import verify
from neardup.report.page.members import Bounds, Listed
from neardup.report.page.reading import Excerpts
from neardup.report.page.shown import as_delta, as_json, shared_parts
from neardup.report.page.survey import Survey, suspicion

__all__ = ["Entries", "entries"]


@dataclass
class Entries:
    """Clusters and texts of a page.

    Attributes:
        clusters: See `_entry`.
        texts: Strings, or what they differ in from others, see `neardup.report.page.shown`.
        shown: Documents whose texts are in the page.
        cut: Of those, the ones of which only the beginning is.
    """

    clusters: list[dict[str, Any]] = field(default_factory=list)
    texts: list[Any] = field(default_factory=list)
    shown: int = 0
    cut: int = 0


def entries(
    found: Survey,
    chosen: Sequence[Listed],
    ids: Sequence[str],
    read: Excerpts | None,
    kept_by: Sequence[str | None],
    bounds: Bounds,
    show_texts: bool,
) -> Entries:
    """Make the values that the script of a page gets.

    Args:
        found: All clusters.
        chosen: Those that are listed, and their documents.
        ids: Of these documents, cluster by cluster.
        read: Texts and sets of the documents to be compared, ascending, each once; None where the
            input can't be read.
        kept_by: Of the documents, as ``ids``: the id of the kept document; None where kept.
        bounds: What keeps the page small.
        show_texts: Whether texts may be in the page.
    """
    out = Entries()
    at = 0
    for one in chosen:
        after = at + len(one.docs)
        out.clusters.append(_entry(found, one, ids[at:after], kept_by[at:after]))
        at = after
    if read is not None and chosen:
        _compare(found, chosen, read, out)
    _score(out.clusters)
    if read is not None and show_texts:
        size = bounds.bytes - len(as_json(out.clusters).encode())
        _Pool(found, chosen, read, out, bounds.characters, size).fill()
    return out


def _entry(
    found: Survey, one: Listed, ids: Sequence[str], kept_by: Sequence[str | None]
) -> dict[str, Any]:
    """A cluster: label, sizes, similarities, and a row for each document listed.

    ``members`` has ``[id, kept, place or id of the kept one that it repeats, similarity to that,
    characters, steps from the root, place of the nearest listed document before it, steps to that,
    similarity to its parent]``.
    """
    k = one.cluster
    docs = one.docs.tolist()
    place = {doc: i for i, doc in enumerate(docs)}
    place_of_id = {name: i for i, name in enumerate(ids)}
    parent, steps, near = found.tree.parent, found.tree.steps, found.tree.similarity
    members = []
    for i, doc in enumerate(docs):
        repeated = kept_by[i]
        before, up = int(parent[doc]), 1
        while before >= 0 and before not in place:
            before, up = int(parent[before]), up + 1
        members.append(
            [
                ids[i],
                int(found.kept[doc]),
                repeated and place_of_id.get(repeated, repeated),
                _rounded(found.similarity[doc]),
                None if found.lengths is None else int(found.lengths.characters[doc]),
                int(steps[doc]),
                place.get(before, -1),
                up if before >= 0 else 0,
                _rounded(near[doc]),
            ]
        )
    size = int(found.sizes[k])
    return {
        "cluster": int(found.label[k]),
        "documents": size,
        "kept": int(found.kept[found.documents(k)].sum()),
        "steps": int(found.steps[k]),
        "least": _rounded(found.seen[k]),
        "every": size == 2,
        "longest": int(found.longest[k]),
        "shortest": int(found.shortest[k]),
        "members": members,
    }


def _compare(found: Survey, chosen: Sequence[Listed], read: Excerpts, out: Entries) -> None:
    """Compare documents of each cluster with each other; ``pairs`` has their similarities."""
    read_docs = _read_docs(chosen)
    every = [np.triu_indices(len(one.compared), 1) for one in chosen]
    rows = [np.searchsorted(read_docs, one.compared) for one in chosen]
    a, b = (
        np.concatenate([row[pair[side]] for row, pair in zip(rows, every, strict=True)])
        for side in (0, 1)
    )
    with Pool() as pool:
        similarity = verify(read.sets, a.astype(np.int32), b.astype(np.int32), 0.0, pool)
    ends = np.cumsum([len(pair[0]) for pair in every])
    for one, entry, values in zip(
        chosen, out.clusters, np.split(similarity, ends[:-1]), strict=True
    ):
        place = {doc: i for i, doc in enumerate(one.docs.tolist())}
        entry["compared"] = [place[doc] for doc in one.compared.tolist()]
        entry["pairs"] = [_ten_thousandths(value) for value in values.tolist()]
        if len(values):
            lowest = float(max(0.0, values.min()))
            entry["least"] = _rounded(float(np.fmin(lowest, found.seen[one.cluster])))
        entry["every"] = len(one.compared) == int(found.sizes[one.cluster])


def _score(clusters: list[dict[str, Any]]) -> None:
    least = [0.0 if entry["least"] is None else entry["least"] for entry in clusters]
    score = suspicion(
        np.array([entry["steps"] for entry in clusters]),
        np.array(least),
        np.array([entry["longest"] for entry in clusters]),
        np.array([entry["shortest"] for entry in clusters]),
    )
    for entry, value in zip(clusters, score.tolist(), strict=True):
        entry["score"] = round(value, 4)


class _Pool:
    """Puts texts and templates into a page while there is room.

    The first text of each cluster goes before the second of any, so that all clusters get some.
    """

    def __init__(
        self,
        found: Survey,
        chosen: Sequence[Listed],
        read: Excerpts,
        out: Entries,
        characters: int,
        room: int,
    ) -> None:
        self._found, self._chosen, self._out = found, chosen, out
        self._characters, self._room = characters, room
        read_docs = _read_docs(chosen)
        self._texts = [
            [read.texts[row] for row in np.searchsorted(read_docs, one.compared)] for one in chosen
        ]
        self._held: list[dict[str, int]] = [{} for _ in chosen]

    def fill(self) -> None:
        for entry in self._out.clusters:
            entry["texts"] = [-1] * len(entry["compared"])
        for turn in range(max((len(texts) for texts in self._texts), default=0)):
            for k, texts in enumerate(self._texts):
                if turn < len(texts):
                    self._put(k, turn)
            if turn == 1:  # each cluster that can has a pair: now say what they share
                self._templates()

    def _put(self, k: int, turn: int) -> None:
        text, entry, held = self._texts[k][turn], self._out.clusters[k], self._held[k]
        number = held.get(text)
        if number is None:
            base = entry["texts"][0] if turn else -1
            value = text if base < 0 else as_delta(text, self._texts[k][0], base)
            if not self._takes(value):
                return
            number = held[text] = len(self._out.texts)
            self._out.texts.append(value)
        entry["texts"][turn] = number
        self._out.shown += 1
        doc = int(self._chosen[k].compared[turn])
        assert self._found.lengths is not None
        self._out.cut += int(self._found.lengths.characters[doc]) > self._characters

    def _templates(self) -> None:
        for entry, texts in zip(self._out.clusters, self._texts, strict=True):
            if entry["texts"][0] >= 0:
                parts = shared_parts(texts)
                if self._takes(parts):
                    entry["template"] = parts

    def _takes(self, value: Any) -> bool:
        size = len(as_json(value).encode()) + 1
        if size > self._room:
            return False
        self._room -= size
        return True


def _read_docs(chosen: Sequence[Listed]) -> np.ndarray:
    """int64[]: all documents that are compared, ascending, as they are read."""
    if not chosen:
        return np.zeros(0, dtype=np.int64)
    return np.unique(np.concatenate([one.compared for one in chosen]))


def _rounded(value: float) -> float | None:
    """Four decimals; what is shown as 1 is 1."""
    if math.isnan(value):
        return None
    return 1.0 if value == 1 else min(0.9999, round(value, 4))


def _ten_thousandths(value: float) -> int:
    return round(10_000 * (_rounded(max(0.0, value)) or 0.0))
