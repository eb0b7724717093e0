"""Matches, duplicates of an old corpus, and the output of Spark, each as one page."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup.frame.run import Run
from neardup.results.results import Results, rows_as_ids
from neardup.values.readable import counted, day, share
from neardup.values.visible import name
from neardup.views import how_done
from neardup.views.page.page_charts import by_similarity, counted_bars
from neardup.views.page.page_model import (
    Bars,
    Figures,
    Item,
    Listing,
    Mark,
    NumberCell,
    Page,
    SmallTable,
    Texts,
    by_columns,
)
from neardup.views.page.page_texts import shown_columns, values_of
from neardup.views.text.summary_text import rows as summary_rows
from neardup.views.view import PageOptions

#: Characters of an id that are in a page.
_LONG_ID = 1000
#: Characters of a text before and after a passage, and of a document without one.
_AROUND, _BEGINNING = 120, 400
#: Characters of a longer passage that are shown, and how many of them are its end.
_PASSAGE, _PASSAGE_END = 600, 200
#: Words of passages at which another class begins.
_WORDS = (10, 25, 50, 100, 200)
#: Sizes of clusters that are shown.
_SIZES = 40
_REMARKS = ("note", "warning", "replaced", "left out", "not compared")
#: Numbers that have the colours of the parts of the bar.
_KINDS = {"kept": "kept", "removed": "near"}
_GROUPS = [("", "All"), ("0", "Duplicates of the old corpus"), ("1", "Duplicates within the batch")]
_TITLES = {
    "decontaminate": "Test items in the training corpus",
    "dedup --against": "A batch against an old corpus",
    "dedup": "Near-duplicates, found on Apache Spark",
}


def listed_page(run: Run[Any], options: PageOptions) -> Page:
    """Return the page of a run of one of the commands above.

    Raises:
        InputError: The input is gone or has changed, and texts are wanted.
    """
    results = Results(run._storage)
    record = results.record
    command = record["command"]
    rows = summary_rows(record)
    show = shown_columns(results, options)
    total, listed = _LISTS[command](results, options, show)
    return Page(
        title=options.title or f"{_TITLES[command]}: {Path(results.name).name}",
        date=f"Run of {day(record['date'])}",
        verdict=_verdict(record["counts"], command),
        shares=_shares(record["counts"]),
        numbers=[
            row._replace(label=row.label.capitalize(), kind=_KINDS.get(row.label, ""))
            for row in rows
            if row.label not in ("", *_REMARKS)
        ],
        remarks=[f"{row.number} {row.remark}".strip() for row in rows if row.label in _REMARKS],
        figures=_figures(results),
        listing=_listing(command, total, listed, options.texts and "engine" not in record, show),
        steps=list(_STEPS[command](record)),
    )


def _verdict(counts: dict[str, Any], command: str) -> str:
    removed, total = counts["removed"], counts["documents"]
    none = f"None of {counted(total, 'document')}"
    if command == "decontaminate":
        found = counts["contaminated"]
        if not found:
            return f"{none} has a test item, or a passage of one."
        of = f"{found:,} of {counted(total, 'document')} ({share(found, total)})"
        return f"{of} {'has' if found == 1 else 'have'} a test item, or a passage of one."
    if not removed:
        return f"{none} is a near-duplicate of another one; all are kept."
    of = f"{removed:,} of {counted(total, 'document')} ({share(removed, total)})"
    says = f"{of} {'is' if removed == 1 else 'are'} removed, as near-duplicates of others"
    if "similar_to_old" not in counts:
        return f"{says}."
    old, within = counts["similar_to_old"], counts["similar_within"]
    return f"{says}: {old:,} of the old corpus, and {within:,} of the batch itself."


def _shares(counts: dict[str, Any]) -> list[tuple[str, int]]:
    return [("kept", counts["kept"]), ("near", counts["removed"])]


def _figures(results: Results) -> Figures | None:
    """Return charts of similarities, matches, or clusters that Spark made; none of nothing."""
    shown: list[Bars | SmallTable]
    if results.record["command"] == "decontaminate":
        shown = [*_of_files(results.record.get("test_files", [])), *_of_matches(results)]
        return Figures("Where it was found", "Found", shown) if shown else None
    shown = [*_similarities(results), *(_sizes(results) if "engine" in results.record else ())]
    return Figures("Found", "Found", shown) if shown else None


def _of_files(files: Sequence[dict[str, Any]]) -> Iterator[SmallTable]:
    """Yield the counts of each file of test items."""
    heads = ["file", "items", "found", "", "documents", "matches"]
    rows = [
        [
            file["file"],
            file["test_items"],
            file["test_items_found"],
            NumberCell(share(file["test_items_found"], file["test_items"])),
            file["documents"],
            file["matches"],
        ]
        for file in files
    ]
    if rows:
        yield SmallTable("By file of test items", "", heads, rows, broad=True)


def _of_matches(results: Results) -> Iterator[Bars]:
    """Yield how long the passages of matches are, and how much of an item they have."""
    table, settings = results.table("matches"), results.record["settings"]
    words = table.column("passage").to_numpy()
    edges = [0, *_WORDS, np.inf]
    labels = [f"{low or 'up'} to {high - 1:,}" for low, high in pairwise([0, *_WORDS])]
    numbers = np.histogram(words, edges)[0].tolist()
    rows = zip([*labels, f"{_WORDS[-1]:,} or more"], numbers, strict=True)
    says = "How many matches have an equal passage of so many words."
    yield from _not_empty(counted_bars("Words in a row", says, list(rows)))
    if settings["threshold"] is not None:
        found = table.column("containment").to_numpy()
        labels, numbers = by_similarity(found, settings["threshold"])
        says = "How many matches have so much of a test item."
        rows = zip(labels, numbers, strict=True)
        yield from _not_empty(counted_bars("Containment", says, list(rows)))


def _similarities(results: Results) -> Iterator[Bars]:
    """Yield how similar removed documents are to those they are duplicates of."""
    similarity = results.array("similarity")
    parts = {"Similarity": np.isfinite(similarity)}
    clusters: Any = results.table("clusters")
    if "in_old" in clusters.column_names:
        old = np.asarray(clusters.column("in_old").fill_null(False))
        names = "Similarity to the old corpus", "Similarity within the batch"
        parts = dict(zip(names, (old, parts["Similarity"] & ~old), strict=True))
    for title, of in parts.items():
        labels, numbers = by_similarity(similarity[of], results.spec.threshold)
        says = "How many removed documents have each similarity to the kept one."
        rows = list(zip(labels, numbers, strict=True))
        yield from _not_empty(counted_bars(title, says, rows))


def _not_empty(charts: Iterator[Bars]) -> Iterator[Bars]:
    return (chart for chart in charts if any(length for *_, length in chart.rows))


def _listing(
    command: str, total: int, listed: list[Item], texts: bool, show: Sequence[str]
) -> Listing:
    one, many, what = "document", "documents", "the lowest similarity"
    title = "Removed documents"
    if command == "decontaminate":
        one, many, title, what = "match", "matches", "Matches", "the longest passages"
    lead = f"All {total:,} are listed." if total else "There are none."
    if len(listed) < total:
        lead = f"{len(listed):,} of {total:,} are listed: those with {what}; --max-items lists "
        lead += "more."
    return Listing(
        title=title,
        one=one,
        many=many,
        lead=lead,
        search="Search ids and texts" if texts else "Search ids",
        nothing=f"Open a {one} to see it.",
        items=[item.data() for item in listed],
        orders=[
            ("first", f"{what.removeprefix('the ').capitalize()} first"),
            ("source", "By test item" if one == "match" else "By the kept document"),
            *by_columns(show),
            ("input", "As in the input"),
        ],
        columns=show,
        groups=_GROUPS if command == "dedup --against" else (),
        examples=f"Those with {what}." if listed else "",
    )


def _matches(results: Results, options: PageOptions, show: Sequence[str]) -> tuple[int, list[Item]]:
    """Return the matches with the longest passages, each with its passage."""
    table = results.table("matches")
    order = pc.sort_indices(table, [("passage", "descending"), ("train_doc", "ascending")])
    chosen: Any = table.take(order.slice(0, options.most))
    docs = chosen.column("train_doc").to_numpy()
    texts = _texts(results, docs, options.texts)
    # The folder has the ids of these documents only.
    names: Any = chosen.column("train_id").to_pylist()
    if results.private_ids:
        names = rows_as_ids(results.documents).take(pa.array(docs)).to_pylist()
    items = []
    values = values_of(results, docs, show)
    for row, train, text, of in zip(chosen.to_pylist(), names, texts, values, strict=True):
        item = f"row {row['test_doc']}" if results.private_ids else name(row["test_id"], _LONG_ID)
        how = {"item": "the complete item; ", "similarity": "similar; "}.get(row["by"], "")
        says = f"{how}{row['passage']:,} words in a row"
        says += "" if row["by"] == "item" else f", containment {row['containment']:.3f}"
        span = row["train_start"], row["train_end"]
        parts = None if text is None or None in span else _around(text, *span)
        train = name(train, _LONG_ID)
        detail = _detail(f"{train} has the test item {item}", says, parts)
        shown = [f"test item {item}", says]
        sort = {"input": row["train_doc"], "source": item}
        items.append(Item(detail, train, shown, also=[item], sort=sort, values=of))
    return table.num_rows, items


def _removed(results: Results, options: PageOptions, show: Sequence[str]) -> tuple[int, list[Item]]:
    """Return removed documents, those of the old corpus first, then by similarity."""
    table = results.table("clusters")
    removed = table.filter(pc.invert(table.column("kept")))
    by_old = "in_old" in table.column_names
    keys: list[Any] = [("similarity", "ascending"), ("doc", "ascending")]
    if by_old:
        keys.insert(0, ("in_old", "descending"))
    chosen: Any = removed.take(pc.sort_indices(removed, keys).slice(0, options.most))
    docs = chosen.column("doc").to_numpy()
    # Only Spark has read its input.
    known = "engine" not in results.record
    texts = _texts(results, docs, options.texts and known)
    items = []
    named = zip(_names(results, docs), values_of(results, docs, show), strict=True)
    for row, (doc, of), text in zip(chosen.to_pylist(), named, texts, strict=True):
        other = "a document" if results.private_ids else name(row["duplicate_of"], _LONG_ID)
        where = ", of the old corpus" if row.get("in_old") else ", of the batch" if by_old else ""
        says = f"similarity {row['similarity']:.3f}"
        parts = None if text is None else _around(text, 0, 0)
        detail = _detail(f"{doc} is a duplicate of {other}{where}", says, parts)
        items.append(
            Item(
                detail,
                doc,
                [f"{says}{where}"],
                also=[other],
                group=int(not row.get("in_old")),
                sort={"input": row["doc"], "source": other},
                values=of,
            )
        )
    return removed.num_rows, items


def _detail(heading: str, says: str, parts: tuple[str, str, str] | None) -> Texts:
    """Return a text of which the second part is marked."""
    mark = Mark("", "", "", "match")
    shown = None
    if parts is not None:
        numbered = zip(parts, (-1, 0, -1), strict=True)
        shown = [(text, number, False) for text, number in numbered if text]
    return Texts(heading, f"{says[0].upper()}{says[1:]}.", shown, [mark])


_Lists = Callable[[Results, PageOptions, Sequence[str]], tuple[int, list[Item]]]
_LISTS: dict[str, _Lists] = {
    "decontaminate": _matches,
    "dedup --against": _removed,
    "dedup": _removed,
}


_STEPS = {
    "decontaminate": how_done.of_matches,
    "dedup --against": how_done.of_batch,
    "dedup": how_done.of_batch,
}


def _names(results: Results, docs: np.ndarray) -> Iterator[str]:
    ids: Any = results.public_ids.take(pa.array(docs))
    return (name(value, _LONG_ID) for value in ids.to_pylist())


def _texts(results: Results, docs: np.ndarray, shown: bool) -> Sequence[str | None]:
    return results.texts(docs) if shown and len(docs) else [None] * len(docs)


def _around(text: str, start: int, end: int) -> tuple[str, str, str]:
    """Return a passage with some characters before and after it."""
    low = max(0, start - _AROUND)
    high = min(len(text), end + (_AROUND if end else _BEGINNING))
    passage = text[start:end]
    if len(passage) > _PASSAGE:
        passage = f"{passage[: _PASSAGE - _PASSAGE_END]} … {passage[-_PASSAGE_END:]}"
    before = ("…" if low else "") + text[low:start]
    after = text[end:high] + ("…" if high < len(text) else "")
    return before, passage, after


def _sizes(results: Results) -> Iterator[Bars]:
    """Yield how many clusters have how many documents."""
    sizes = np.bincount(results.array("cluster"))
    values, counts = np.unique(sizes[sizes > 1], return_counts=True)
    rows = zip(values[:_SIZES].tolist(), counts[:_SIZES].tolist(), strict=True)
    items = [(counted(size, "document"), count) for size, count in rows]
    yield from counted_bars("Clusters by number of documents", "", items)
