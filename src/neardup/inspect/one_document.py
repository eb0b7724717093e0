"""A document with its copied passages: which characters belong to which passage; without ids."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup.arrays import array_of
from neardup.copied_passages.passage_results import PassageResults
from neardup.results.results import rows_as_ids
from neardup.values.shown import Shown

_IDS = ("doc_id", "source_id", "origin_id")
_OLD = "a document of the old corpus"
#: Characters of a source that are shown before and behind a passage.
_AROUND = 240
#: Columns of a passage next to its source; and passages that are read at once.
_PAIRED = ("doc_id", "source_id", "words", "kind", "in_old")
_ROWS = 5000


class PassageExplanation(Shown, dict[str, Any]):
    """A document and its passages, as plain values that print as the command shows them."""

    shown_as = "passages", "explain"


class Part(NamedTuple):
    """Some characters of a document."""

    text: str
    passage: int  # which passage of the document; -1 for none
    changed: bool = False  # between two joined passages


class ShownDocument(NamedTuple):
    """A document as it is shown: its row, passages and texts."""

    row: dict[str, Any]  # of the table of documents
    passages: list[dict[str, Any]]  # rows of the table of passages
    text: str | None  # None where texts are not shown
    sources: list[tuple[str, str, str] | None]  # before, in and behind each source


def parts_of(text: str, passages: Sequence[Mapping[str, Any]]) -> Iterator[Part]:
    """Yield the parts of a text.

    Characters of two passages belong to boilerplate, else to the one that starts first.

    >>> [tuple(part)[:2] for part in parts_of("abcdef", [{"start": 1, "end": 4, "kind": "copy"}])]
    [('a', -1), ('bcd', 0), ('ef', -1)]
    """
    points = {0, len(text), *(min(row[k], len(text)) for row in passages for k in ("start", "end"))}
    active: list[int] = []
    following, before = 0, -1
    begin = 0
    for start, end in pairwise(sorted(points)):
        while following < len(passages) and passages[following]["start"] <= start:
            active.append(following)
            following += 1
        active = [k for k in active if passages[k]["end"] > start]
        best = min(active, key=lambda k: (passages[k]["kind"] != "boilerplate", k), default=-1)
        if start and best != before:
            yield Part(text[begin:start], before, _is_changed(passages, before, following))
            begin = start
        before = best
        if end == len(text):
            yield Part(text[begin:end], best)


def _is_changed(passages: Sequence[Mapping[str, Any]], owner: int, following: int) -> bool:
    """Whether characters are between two joined passages; the second is before ``following``."""
    if owner >= 0 or following < 2:
        return False
    one, two = (passages[k].get("bridge") for k in (following - 2, following - 1))
    return one is not None and one == two


def show(results: PassageResults, positions: np.ndarray, texts: bool) -> list[ShownDocument]:
    """Return some documents, int64[], by their positions in the input, as they are shown."""
    documents = results.table("documents").take(array_of(positions))
    every = results.table("documents", ["doc_id"]).column(0)
    ids: Any = documents.column("doc_id")
    passages = results.table("passages")
    of: Any = pc.index_in(passages.column("doc_id"), value_set=ids)
    passages = passages.filter(of.is_valid())
    rows: list[list[dict[str, Any]]] = [[] for _ in range(len(positions))]
    for number, row in zip(of.drop_null().to_pylist(), passages.to_pylist(), strict=True):
        rows[number].append(row)
    if not texts:
        shown = zip(documents.to_pylist(), rows, strict=True)
        return [ShownDocument(row, copied, None, [None] * len(copied)) for row, copied in shown]
    sources = _positions(passages, every)
    needed = np.unique(np.concatenate([positions, sources[sources >= 0]]))
    text_of = dict(zip(needed.tolist(), results.texts(needed), strict=True))
    position_of = dict(zip(passages.column("source_id").to_pylist(), sources.tolist(), strict=True))
    in_old: Any = passages.column("in_old") if "in_old" in passages.column_names else None
    old = {} if in_old is None else results.old_texts(passages.filter(in_old)["source_id"].unique())
    found = []
    for position, row, copied in zip(positions.tolist(), documents.to_pylist(), rows, strict=True):
        around = [
            _source(
                passage,
                old.get(passage["source_id"])
                if passage.get("in_old")
                else text_of.get(position_of[passage["source_id"]]),
            )
            for passage in copied
        ]
        found.append(ShownDocument(row, copied, text_of[position], around))
    return found


def pairs_of_passages(results: PassageResults, texts: bool) -> Iterator[pa.Table]:
    """Yield passages next to their sources, some rows at a time.

    Args:
        results: Of a search for passages.
        texts: Add both texts, which are read from the input again.

    Yields:
        ``doc_id``, ``source_id``, ``words``, ``kind``, and ``in_old`` where there is an old corpus;
        with ``texts``, ``text`` and ``source_text``, null in an old corpus.
    """
    passages = results.table("passages")
    every = results.table("documents", ["doc_id"]).column(0)
    names = [name for name in _PAIRED if name in passages.column_names]
    for first in range(0, max(1, passages.num_rows), _ROWS):
        table = passages.slice(first, _ROWS)
        shown = table.select(names)
        if texts:
            of: Any = pc.index_in(table.column("doc_id"), value_set=every)
            both = np.asarray(of.to_numpy(), np.int64), _positions(table, every)
            needed = np.unique(np.concatenate(both))
            needed = needed[needed >= 0]
            known = dict(zip(needed.tolist(), results.texts(needed), strict=True))
            for prefix, docs in zip(("", "source_"), both, strict=True):
                spans = table.select([f"{prefix}start", f"{prefix}end"]).to_pydict().values()
                cut = [
                    known[doc][start:end] if doc >= 0 else None
                    for doc, start, end in zip(docs.tolist(), *spans, strict=True)
                ]
                shown = shown.append_column(f"{prefix}text", pa.array(cut, pa.large_string()))
        yield shown


def _positions(passages: pa.Table, ids: Any) -> np.ndarray:
    """Return int64[passages]: the position of each source; -1 in the corpus compared against."""
    source: Any = passages.column("source_id")
    found: Any = pc.index_in(source.cast(ids.type, safe=False), value_set=ids)
    positions = np.asarray(found.fill_null(-1).to_numpy(), np.int64).copy()
    if "in_old" in passages.column_names:
        positions[np.asarray(passages.column("in_old").to_numpy())] = -1
    return positions


def _source(passage: Mapping[str, Any], text: str | None) -> tuple[str, str, str] | None:
    """Return the text of a document before, in and behind a source."""
    if text is None:
        return None
    start, end = passage["source_start"], passage["source_end"]
    before, behind = text[max(0, start - _AROUND) : start], text[end : end + _AROUND]
    # Cut off where a word ends, if there is one.
    if start > len(before):
        before = "\u2026" + (before[before.find(" ") :] if " " in before else before)
    if end + len(behind) < len(text):
        behind = (behind[: behind.rfind(" ") + 1] or behind) + "\u2026"
    return before, text[start:end], behind


def is_of_source(passage: Mapping[str, Any]) -> bool:
    """Whether the origin of a passage is in the document that is its source."""
    origin = passage["origin_id"], passage.get("origin_in_old")
    return origin == (passage["source_id"], passage.get("in_old"))


def public(results: PassageResults) -> PassageResults:
    """Return results for a page or a message: without ids where these are private."""
    return _WithoutIds(results.storage) if results.record.get("private_ids") else results


class _WithoutIds(PassageResults):
    def table(self, name: str, columns: Sequence[str] | None = None) -> pa.Table:
        found = super().table(name, columns)
        ids: Any = super().table("documents", ["doc_id"]).column(0)
        names = rows_as_ids(len(ids))
        for column in set(_IDS) & set(found.column_names):
            values: Any = found.column(column)
            rows: Any = pc.index_in(values.cast(ids.type, safe=False), value_set=ids)
            shown: Any = names.take(rows)
            is_source = column != "doc_id" or name == "boilerplate"
            mark = "origin_in_old" if column == "origin_id" else "in_old"
            if is_source and mark in found.column_names:
                shown = pc.if_else(found.column(mark), _OLD, shown)
            found = found.set_column(found.column_names.index(column), column, shown)
        return found

    def old_texts(self, ids: pa.ChunkedArray[Any]) -> dict[Any, str]:
        """Return nothing: a document without an id is not found again."""
        return {}
