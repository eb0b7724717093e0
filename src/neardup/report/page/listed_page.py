"""Matches, duplicates of an old corpus, and the output of Spark, each as one page."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup.report.outfile import check_file, write_file
from neardup.report.summary_text import rows as summary_rows
from neardup.report.visible import html_page, name, need_jinja, visible
from neardup.results.results import Results, rows_as_ids

#: Characters of a text before and after a passage, and of a document without one.
_AROUND, _BEGINNING = 120, 400
#: Characters of a longer passage that are shown, and how many of them are its end.
_PASSAGE, _PASSAGE_END = 600, 200
_TITLES = {
    "decontaminate": "Test items in the training corpus",
    "dedup --against": "A batch against an old corpus",
    "spark": "Near-duplicates, found on Apache Spark",
}


class ListedOptions(NamedTuple):
    """Title and content of a page.

    Attributes:
        title: Heading; by the command without it.
        texts: Whether texts are in it.
        most: Rows that are listed.
    """

    title: str | None = None
    texts: bool = True
    most: int = 300


class Row(NamedTuple):
    """A document, the one that it is named with, and its text in three parts."""

    document: str
    other: str
    says: str
    text: tuple[str, str, str] | None = None


def write_listed_page(
    results: Results, path: str | os.PathLike[str], options: ListedOptions, overwrite: bool = False
) -> Path:
    """Write the page; only its owner can read it. It has no script, and prints as it is.

    Args:
        results: Of a folder of one of the commands above.
        path: File to write.
        options: Its title and content.
        overwrite: Replace the file.

    Raises:
        InputError: The input is gone or has changed, and texts are wanted.
        OutputError: The file exists, or can't be written.
    """
    need_jinja()
    record = results.record
    command = record["command"]
    # What Spark has read is not known here.
    target = check_file(path, [] if command == "spark" else results.inputs, overwrite)
    total, listed = _LISTS[command](results, options)
    page = html_page(
        "page/listed.html.jinja",
        ["plain.css", "page/listed.css"],
        title=options.title or f"{_TITLES[command]}: {Path(results.name).name}",
        numbers=[row for row in summary_rows(record) if row[0]],
        files=record.get("test_files", []),
        sizes=_sizes(results) if command == "spark" else [],
        total=total,
        listed=listed,
        matches=command == "decontaminate",
        date=record["date"][:10],
    )
    return write_file(target, page.encode())


def _matches(results: Results, options: ListedOptions) -> tuple[int, list[Row]]:
    """Return the matches with the longest passages, each with its passage."""
    table = results.table("matches")
    order = pc.sort_indices(table, [("passage", "descending"), ("train_doc", "ascending")])
    chosen: Any = table.take(order.slice(0, options.most))
    docs = chosen.column("train_doc").to_numpy()
    texts = _texts(results, docs, options)
    # The folder has the ids of these documents only.
    names: Any = chosen.column("train_id").to_pylist()
    if results.private_ids:
        names = rows_as_ids(results.documents).take(pa.array(docs)).to_pylist()
    rows = []
    for row, train, text in zip(chosen.to_pylist(), names, texts, strict=True):
        item = f"row {row['test_doc']}" if results.private_ids else name(row["test_id"])
        how = {"item": "the complete item; ", "similarity": "similar; "}.get(row["by"], "")
        says = f"{how}{row['passage']:,} words in a row"
        says += "" if row["by"] == "item" else f", containment {row['containment']:.3f}"
        span = row["train_start"], row["train_end"]
        shown = None if text is None or None in span else _around(text, *span)
        rows.append(Row(name(train), item, says, shown))
    return table.num_rows, rows


def _of_old(results: Results, options: ListedOptions) -> tuple[int, list[Row]]:
    """Return removed documents, those of the old corpus first, then by similarity."""
    table = results.table("clusters")
    removed = table.filter(pc.invert(table.column("kept")))
    order = pc.sort_indices(removed, [("in_old", "descending"), ("similarity", "ascending")])
    chosen: Any = removed.take(order.slice(0, options.most))
    docs = chosen.column("doc").to_numpy()
    names, texts = _names(results, docs), _texts(results, docs, options)
    rows = []
    for row, document, text in zip(chosen.to_pylist(), names, texts, strict=True):
        private = results.private_ids
        other = "a document" if private else name(row["duplicate_of"])
        where = "of the old corpus" if row["in_old"] else "of the batch"
        shown = None if text is None else _around(text, 0, 0)
        rows.append(
            Row(document, f"{other}, {where}", f"similarity {row['similarity']:.3f}", shown)
        )
    return removed.num_rows, rows


def _of_spark(results: Results, options: ListedOptions) -> tuple[int, list[Row]]:
    """Return removed documents by similarity; only Spark has read the input."""
    table = results.table("clusters")
    removed = table.filter(pc.invert(table.column("kept")))
    order = pc.sort_indices(removed, [("similarity", "ascending"), ("doc", "ascending")])
    chosen: Any = removed.take(order.slice(0, options.most))
    rows = [
        Row(document, name(row["duplicate_of"]), f"similarity {row['similarity']:.3f}")
        for row, document in zip(
            chosen.to_pylist(), _names(results, chosen.column("doc").to_numpy()), strict=True
        )
    ]
    return removed.num_rows, rows


_Lists = Callable[[Results, ListedOptions], tuple[int, list[Row]]]
_LISTS: dict[str, _Lists] = {
    "decontaminate": _matches,
    "dedup --against": _of_old,
    "spark": _of_spark,
}


def _names(results: Results, docs: np.ndarray) -> Iterator[str]:
    ids: Any = results.public_ids.take(pa.array(docs))
    return (name(value) for value in ids.to_pylist())


def _texts(results: Results, docs: np.ndarray, options: ListedOptions) -> list[str | None]:
    if not options.texts or not len(docs):
        return [None] * len(docs)
    found: list[str | None] = [*results.texts(docs)]
    return found


def _around(text: str, start: int, end: int) -> tuple[str, str, str]:
    """Return a passage with some characters before and after it."""
    low = max(0, start - _AROUND)
    high = min(len(text), end + (_AROUND if end else _BEGINNING))
    passage = text[start:end]
    if len(passage) > _PASSAGE:
        passage = f"{passage[: _PASSAGE - _PASSAGE_END]} … {passage[-_PASSAGE_END:]}"
    before = ("…" if low else "") + text[low:start]
    after = text[end:high] + ("…" if high < len(text) else "")
    return visible(before), visible(passage), visible(after)


def _sizes(results: Results) -> list[tuple[str, int, float]]:
    """Return how many clusters have how many documents, with the lengths of their bars."""
    cluster = results.array("cluster")
    sizes = np.bincount(cluster)
    values, counts = np.unique(sizes[sizes > 1], return_counts=True)
    most = np.log1p(counts.max(initial=1))
    return [
        (f"{size:,} documents", int(count), 100 * float(np.log1p(count) / most))
        for size, count in zip(values.tolist(), counts.tolist(), strict=True)
    ][:40]
