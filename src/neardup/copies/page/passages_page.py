"""Passages as one page that opens in any browser, without network or server."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from neardup.copies.page.one_document import ShownDocument, is_of_source, parts_of, show
from neardup.copies.page.without_ids import public
from neardup.copies.passage_results import PassageResults
from neardup.report.outfile import check_file, write_file
from neardup.report.page.page_clusters import as_json
from neardup.report.visible import html_page, name, need_jinja, visible

#: Characters of a document that are shown.
_LONGEST = 60_000
#: Characters of an id that are shown: addresses of pages often begin alike.
_LONG_ID = 1000
#: Rows of the tables of values, of months and of boilerplate that are shown.
_ROWS = 100
#: Rows of boilerplate among which those are looked for, and characters of each that are shown.
_LOOKED_AT, _SHOWN = 1000, 600


class PageOptions(NamedTuple):
    """Settings of a page.

    Attributes:
        title: Heading; the name of the folder without it.
        texts: Whether texts of documents are in it.
        max_documents: Documents that are shown, those with the most copied words.
    """

    title: str | None = None
    texts: bool = True
    max_documents: int = 300


def write_passages_page(
    results: PassageResults,
    path: str | os.PathLike[str],
    options: PageOptions,
    overwrite: bool = False,
    inputs: Iterable[Path] = (),
) -> Path:
    """Write the page; only its owner can read it.

    Args:
        results: The passages that were found.
        path: File to write.
        options: Settings of the page.
        overwrite: Replace the file.
        inputs: Files that are never replaced.

    Raises:
        OutputError: The file exists, or can't be written.
    """
    need_jinja()
    target, texts = check_file(path, inputs, overwrite), options.texts
    results = public(results)
    documents, record = results.table("documents"), results.record
    copied = np.asarray(documents.column("copied_words").to_numpy())
    words = np.asarray(documents.column("words").to_numpy())
    order = np.argsort(-copied, kind="stable")[: options.max_documents]
    order = order[copied[order] > 0]
    shown = show(results, order, texts)
    templates: list[dict[str, Any]] = []
    if record["spec"]["boilerplate"]:
        rows = results.table("boilerplate").slice(0, _LOOKED_AT).to_pylist()
        templates = (_with_texts(results, rows) if texts else rows)[:_ROWS]
    page = html_page(
        f"{__package__}:passages.html.jinja",
        ["plain.css", f"{__package__}:passages.css"],
        [f"{__package__}:passages.js"],
        title=options.title or Path(results.name).name,
        record=record,
        counts=record["counts"],
        spec=record["spec"],
        values=record.get("by_value", [])[:_ROWS],
        months=record.get("by_month", []),
        years=record.get("by_year", []),
        shares=_histogram(copied / np.maximum(words, 1)),
        templates=templates,
        texts=texts,
        total=int(np.count_nonzero(copied)),
        data=as_json([_as_data(one) for one in shown]),
        listed=len(shown),
    )
    return write_file(target, page.encode())


def _histogram(shares: np.ndarray) -> list[tuple[str, int]]:
    """Return how many documents have which share of their words copied."""
    names = ["none", *(f"up to {10 * k} %" for k in range(1, 11))]
    bins = np.ceil(np.round(shares, 9) * 10).astype(np.int64)
    return list(zip(names, np.bincount(bins, minlength=11).tolist(), strict=True))


def _with_texts(results: PassageResults, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return rows of boilerplate with their texts, but for those that are part of one before.

    Rows of the corpus compared against have no text.
    """
    ids = results.table("documents", ["doc_id"]).column(0).to_pylist() if rows else []
    position_of = {id: position for position, id in enumerate(ids)}
    here = [row for row in rows if not row.get("in_old")]
    positions = np.array([position_of[row["doc_id"]] for row in here], np.int64)
    texts = results.texts(positions) if here else []
    text_of = {
        id(row): text[row["start"] : row["end"]] for row, text in zip(here, texts, strict=True)
    }
    found: list[dict[str, Any]] = []
    complete: list[str] = []
    for row in rows:
        text = text_of.get(id(row))
        if text is not None:
            if any(text in other for other in complete):
                continue
            complete.append(text)
        found.append({**row, "text": text and text[:_SHOWN]})
    return found


def _as_data(shown: ShownDocument) -> dict[str, Any]:
    row = shown.row
    numbers: dict[Any, int] = {}  # of the sources, as they come
    passages = []
    for passage, source in zip(shown.passages, shown.sources, strict=True):
        key = (passage["source_id"], passage.get("in_old", False))
        number = numbers.setdefault(key, len(numbers))
        passages.append(
            {
                "source": name(passage["source_id"], _LONG_ID),
                "old": bool(passage.get("in_old")),
                "colour": number,
                "words": passage["words"],
                "documents": passage["documents"],
                "kind": passage["kind"],
                "here": [passage["start"], passage["end"]],
                "at": [passage["source_start"], passage["source_end"]],
                "origin": None if is_of_source(passage) else name(passage["origin_id"], _LONG_ID),
                "originOld": bool(passage.get("origin_in_old")),
                "text": None if source is None else [visible(part) for part in source],
            }
        )
    found: dict[str, Any] = {
        "id": name(row["doc_id"], _LONG_ID),
        "words": row["words"],
        "copied": row["copied_words"],
        "share": round(row["copied_share"], 4),
        "common": row.get("boilerplate_words", 0),
        "changed": row.get("changed_words", 0),
        "kept": row["kept"],
        "main": None if row["source_id"] is None else name(row["source_id"], _LONG_ID),
        "passages": passages,
        "parts": None,
        "cut": False,
    }
    if shown.text is not None:
        text = shown.text[:_LONGEST]
        copied = [p for p in shown.passages if p["start"] < len(text)]
        found["cut"] = len(text) < len(shown.text)
        found["parts"] = [
            [visible(part.text), part.passage, int(part.changed)] for part in parts_of(text, copied)
        ]
    return found
