"""Passages as one page that opens in any browser, without network or server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from neardup.copied_passages.passage_results import PassageResults
from neardup.frame.run import Run
from neardup.inspect.one_document import ShownDocument, is_of_source, parts_of, public, show
from neardup.values.readable import counted, day, percent, share
from neardup.views.page.page_model import (
    Bars,
    Figures,
    Item,
    Listing,
    Mark,
    NumberCell,
    Page,
    PageBar,
    SmallTable,
    Texts,
)
from neardup.views.view import PageOptions, Row
from neardup.views.visible import name

#: Characters of a document that are shown.
_LONGEST = 60_000
#: Characters of an id that are shown: addresses of pages often begin alike.
_LONG_ID = 1000
#: Rows of the tables of values, of months and of boilerplate that are shown.
_ROWS = 100
#: Rows of boilerplate among which those are looked for, and characters of each that are shown.
_LOOKED_AT, _SHOWN = 1000, 600


def passages_page(run: Run[Any], options: PageOptions) -> Page:
    """Return the page of the passages that were found.

    Raises:
        InputError: The input is gone or has changed, and texts are wanted.
    """
    results, texts = public(PassageResults(run._storage)), options.texts
    documents, record = results.table("documents"), results.record
    copied = np.asarray(documents.column("copied_words").to_numpy())
    words = np.asarray(documents.column("words").to_numpy())
    order = np.argsort(-copied, kind="stable")[: options.most]
    order = order[copied[order] > 0]
    shown = show(results, order, texts)
    templates: list[dict[str, Any]] = []
    if record["spec"]["boilerplate"]:
        rows = results.table("boilerplate").slice(0, _LOOKED_AT).to_pylist()
        templates = (_with_texts(results, rows) if texts else rows)[:_ROWS]
    counts = record["counts"]
    return Page(
        title=f"Copied passages of {options.title or Path(results.name).name}",
        date=f"Run of {day(record['date'])}",
        verdict=_verdict(record["spec"]),
        shares=_shares(counts),
        numbers=list(_numbers(record)),
        remarks=record["notes"],
        figures=Figures(
            "How much is copied",
            "Copied",
            [
                *_figures(record, copied / np.maximum(words, 1)),
                *_templates(record, templates, texts),
            ],
        ),
        listing=_listing(
            [_item(one, int(at)) for one, at in zip(shown, order, strict=True)],
            int(np.count_nonzero(copied)),
            texts,
        ),
    )


def _verdict(spec: dict[str, Any]) -> str:
    says = f"Runs of {spec['words']} words or more that occur earlier"
    if spec["order_by"]:
        says += f", in the order of {spec['order_by']}"
    if spec["within"]:
        return f"{says}, within the same {spec['within']}."
    return f"{says}, in another {spec['across']}." if spec["across"] else f"{says}."


def _shares(counts: dict[str, Any]) -> list[tuple[str, int]]:
    parts = (("kept", "novel"), ("near", "copied"), ("exact", "boilerplate"))
    return [(kind, counts[f"{name}_words"]) for kind, name in parts]


def _numbers(record: dict[str, Any]) -> Iterator[Row]:
    counts, boilerplate = record["counts"], record["spec"]["boilerplate"]
    words = counts["words"]
    if before := record.get("step_before"):
        where = f"neardup {before['command']} in {before['folder']}, {before['date'][:10]}"
        yield Row("Texts before", f"{before['documents']:,}", f"of {where}")
        says = f"{share(before['removed'], before['documents'])}; as near-duplicates"
        yield Row("Removed before", f"{before['removed']:,}", says)
        yield Row("Left", f"{before['kept']:,}", "in which passages were looked for")
    where = f"of {counts['documents']:,} have copied words"
    yield Row("Documents", f"{counts['documents_with_copies']:,}", where)
    says = f"{share(counts['novel_words'], words)} of {words:,} words"
    yield Row("Novel words", f"{counts['novel_words']:,}", says, "kept")
    says = f"{share(counts['copied_words'], words)} of the words"
    yield Row("Copied words", f"{counts['copied_words']:,}", says, "near")
    if boilerplate:
        says = f"{share(counts['boilerplate_words'], words)}; in {boilerplate:,} documents or more"
        yield Row("Boilerplate", f"{counts['boilerplate_words']:,}", says, "exact")
    yield Row("Passages", f"{counts['passages']:,}", "each of which occurs earlier")
    if cut := counts.get("cut_words"):
        yield Row("Cut words", f"{cut:,}", f"{share(cut, words)}; not in the clean corpus")


def _figures(record: dict[str, Any], shares: np.ndarray) -> Iterator[Bars | SmallTable]:
    most = max(1, record["counts"]["documents"])
    rows = [(label, f"{count:,}", count / most) for label, count in _histogram(shares)]
    yield Bars("Documents by copied share", "How much of their words is copied.", rows)
    by = record["spec"]["by"] or ""
    tables = (
        ("year", "by_year", "year"),
        ("month", "by_month", "month"),
        (by, "by_value", "value"),
    )
    for label, kept_as, key in tables:
        if lines := record.get(kept_as, []):
            heads = [label, "documents", "words", "copied", ""]
            table = [_total(line, key) for line in lines[:_ROWS]]
            yield SmallTable(f"By {label}", "", heads, table)


def _total(line: dict[str, Any], key: str) -> list[Any]:
    label = f"{line['others']:,} others" if "others" in line else line[key]
    words, copied = line["words"], line["copied_words"]
    numbers = [
        line["documents"],
        words,
        NumberCell(share(copied, words)),
        PageBar(copied / max(1, words)),
    ]
    return ["none" if label is None else str(label), *numbers]


def _templates(
    record: dict[str, Any], templates: list[dict[str, Any]], texts: bool
) -> Iterator[SmallTable]:
    if not templates:
        return
    says = "Texts of boilerplate, first those that take most words in all. Documents: at least so "
    says += f"many have each run of {record['spec']['words']} words of the text. Times: how often "
    says += "the text is a complete passage, and once more for the source of the first."
    heads = ["documents", "times", "words", "source"]
    rows = [
        [row["documents"], row["occurrences"], row["words"], str(row["doc_id"])]
        for row in templates
    ]
    if texts:
        says += " Parts of a text that is listed are left out."
        heads.append("text")
        rows = [[*line, row["text"] or ""] for line, row in zip(rows, templates, strict=True)]
    yield SmallTable("The largest templates", says, heads, rows, broad=texts)


def _listing(items: list[Item], total: int, texts: bool) -> Listing:
    lead = f"All documents with copied words: {total:,}."
    if len(items) < total:
        lead = f"The {len(items):,} documents with the most copied words, of {total:,}."
    return Listing(
        title="Documents",
        one="document",
        many="documents",
        lead=lead if texts else f"{lead} Texts are not shown.",
        search=f"Search ids, sources{' and texts' if texts else ''}",
        nothing="Open a document to see what of it is copied, and from where.",
        items=[item.data() for item in items],
        orders=[
            ("words", "Most copied words first"),
            ("share", "Largest copied share first"),
            ("input", "As in the input"),
        ],
        examples="Those with the most copied words.",
    )


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


def _item(shown: ShownDocument, position: int) -> Item:
    """Return a document of the list, with its text in parts."""
    row = shown.row
    marks = list(_marks(shown))
    parts, cut = None, False
    if shown.text is not None:
        text = shown.text[:_LONGEST]
        copied = [p for p in shown.passages if p["start"] < len(text)]
        cut = len(text) < len(shown.text)
        parts = [(part.text, part.passage, part.changed) for part in parts_of(text, copied)]
    id = name(row["doc_id"], _LONG_ID)
    says = f"{counted(row['copied_words'], 'word')} copied, {percent(row['copied_share'])}"
    return Item(
        Texts(id, _about(row), parts, marks, cut),
        name=id,
        says=[says],
        also=list(dict.fromkeys(name(one["source_id"], _LONG_ID) for one in shown.passages)),
        sort={"share": -row["copied_share"], "input": position},
    )


def _about(row: dict[str, Any]) -> str:
    copied = f"{counted(row['copied_words'], 'word')} of {row['words']:,} copied"
    about = [f"{copied}, {percent(row['copied_share'])}"]
    if common := row.get("boilerplate_words"):
        about.append(f"{counted(common, 'word')} of boilerplate")
    if changed := row.get("changed_words"):
        about.append(counted(changed, "changed word"))
    if row["source_id"] is not None:
        about.append(f"most from {name(row['source_id'], _LONG_ID)}")
    if not row["kept"]:
        about.append("left out of the clean corpus")
    return f"{'; '.join(about)}."


def _marks(shown: ShownDocument) -> Iterator[Mark]:
    """Yield what each passage of a document leads to; those of one source have one colour."""
    numbers: dict[Any, int] = {}
    for passage, source in zip(shown.passages, shown.sources, strict=True):
        key = (passage["source_id"], passage.get("in_old", False))
        of = name(passage["source_id"], _LONG_ID)
        if passage["kind"] == "within":
            of = "the same document"
        here = f"characters {passage['start']} to {passage['end']}"
        words = counted(passage["words"], "word")
        at = f"characters {passage['source_start']} to {passage['source_end']}"
        about = f"{words}, {at}; in {counted(passage['documents'], 'document')}"
        if not is_of_source(passage):
            origin = name(passage["origin_id"], _LONG_ID)
            about += f"; first in {origin}{_of_other(passage.get('origin_in_old'))}"
        yield Mark(
            name="boilerplate" if passage["kind"] == "boilerplate" else of,
            heading=f"Source: {of}{_of_other(passage.get('in_old'))}",
            about=about,
            kind=passage["kind"],
            colour=numbers.setdefault(key, len(numbers)),
            here=f"{here}: {words} from {of}",
            text=source,
        )


def _of_other(in_old: bool | None) -> str:
    return ", in the old corpus" if in_old else ""
