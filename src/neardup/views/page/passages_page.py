"""Passages as one page that opens in any browser, without network or server."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from neardup.copied_passages.passage_results import PassageResults
from neardup.errors import InputError
from neardup.frame.run import Run
from neardup.inspect.one_document import ShownDocument, is_of_source, parts_of, public, show
from neardup.values.readable import counted, day, percent, share
from neardup.values.visible import name
from neardup.views import how_done
from neardup.views.copied_shares import (
    GroupShare,
    columns_of,
    of_groups,
    of_months,
    of_years,
    pseudonyms,
)
from neardup.views.page.page_model import (
    Bars,
    Figures,
    Item,
    LineChart,
    Listing,
    Mark,
    Page,
    SmallTable,
    Texts,
    by_columns,
)
from neardup.views.view import PageOptions, Row

#: Characters of a document that are shown.
_LONGEST = 60_000
#: Characters of an id that are shown: addresses of pages often begin alike.
_LONG_ID, _SHORT_ID = 1000, 40
#: Templates that are shown, those among which they are looked for, and characters of each.
_ROWS, _LOOKED_AT, _SHOWN = 20, 1000, 240


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
    by = _values(results, order) if texts else {}
    return Page(
        title=f"Copied passages of {options.title or Path(results.name).name}",
        date=f"Run of {day(record['date'])}",
        verdict=_verdict(record),
        shares=_shares(counts),
        numbers=list(_numbers(record)),
        remarks=record["notes"],
        figures=Figures(
            "How much is copied",
            "Copied",
            [
                *_figures(record, copied / np.maximum(words, 1), options.min_group),
                *_templates(record, templates, texts),
            ],
        ),
        listing=_listing(
            [_item(one, int(at), by) for one, at in zip(shown, order, strict=True)],
            int(np.count_nonzero(copied)),
            texts,
            list(by),
        ),
        steps=list(how_done.of_passages(record)),
    )


def _verdict(record: dict[str, Any]) -> str:
    """Return the result as a sentence that needs no other."""
    counts, spec = record["counts"], record["spec"]
    part = share(counts["copied_words"], counts["words"])
    run = f"a run of {spec['words']} words or more"
    says = f"{part} of {counts['words']:,} words were copied from {_earlier(record)}: they are in "
    says += f"{run} that occurs there."
    if not counts["copied_words"]:
        says = f"None of {counts['words']:,} words was copied from {_earlier(record)} in {run}."
    if common := counts["boilerplate_words"]:
        says += f" {share(common, counts['words'])} are boilerplate, which "
        says += f"{spec['boilerplate']:,} documents or more have."
    return says


def _earlier(record: dict[str, Any]) -> str:
    """Return where words may have been copied from."""
    spec = record["spec"]
    says = "an earlier document"
    if spec["within"]:
        says += f" of the same {spec['within']}"
    elif spec["across"]:
        says += f" of another {spec['across']}"
    return says if record["against"] is None else f"{says}, or from the old corpus"


def _values(results: PassageResults, docs: np.ndarray) -> dict[str, dict[int, str]]:
    """Return the value of each document in each of the columns that were asked for."""
    by, ascending = results.record["spec"]["by"], np.sort(docs).astype(np.int64)
    if not by or not len(docs):
        return {}

    def read(partition: Any, rows: np.ndarray, count: int) -> pa.Table:
        taken: Any = pa.array(rows)
        columns: pa.Table = partition.read(tuple(by)).columns.select(by).take(taken)
        return columns.cast(pa.schema([(name, pa.large_string()) for name in by]))

    found = pa.concat_tables(results.storage.corpus().at(ascending).visit(read))
    if len(found) != len(ascending):
        raise InputError("the input has changed since the run", results.storage.again)
    return {
        name: dict(zip(ascending.tolist(), (of.get(it, "other") for it in column), strict=True))
        for name, of, column in zip(
            by, pseudonyms(results.record), found.to_pydict().values(), strict=True
        )
    }


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


def _figures(record: dict[str, Any], shares: np.ndarray, least: int) -> Iterator[Bars | LineChart]:
    months = of_months(record)
    if sum(one.documents >= least for one in months) > 1:
        yield _line(months, least)
    most = max(1, record["counts"]["documents"])
    rows = [(label, f"{count:,}", count / most) for label, count in _histogram(shares)]
    yield Bars("Documents by copied share", "How much of their words is copied.", rows)
    grouped = (("year", of_years(record, least)), (columns_of(record), of_groups(record, least)))
    for label, groups in grouped:
        if len(groups) > 1:
            says = "Share of their words that is copied, and how many documents there are."
            highest = max(1e-9, *(one.share for one in groups))
            labels = (name(one.label, _SHORT_ID) for one in groups)
            parts = ((_of_group(one), one.share / highest) for one in groups)
            bars = [(label, *part) for label, part in zip(labels, parts, strict=True)]
            yield Bars(f"Copied by {label}", says, bars)


def _of_group(group: GroupShare) -> str:
    return f"{percent(group.share)}, {counted(group.documents, 'document')}"


def _line(months: list[GroupShare], least: int) -> LineChart:
    says = "Share of the words of each month that is copied; below it, how many documents there "
    says += "are."
    if any(0 < one.documents < least for one in months):
        says += f" Months of fewer than {least:,} documents have no point."
    shares = [one.share if one.documents >= least else None for one in months]
    top = max((one for one in shares if one is not None), default=0)
    points = [
        (one.label, _of_group(one) if part is not None else "few documents", part, one.documents)
        for one, part in zip(months, shares, strict=True)
    ]
    return LineChart("Copied by month", says, points, min(1.0, max(0.1, np.ceil(10 * top) / 10)))


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
        [row["documents"], row["occurrences"], row["words"], name(row["doc_id"], _SHORT_ID)]
        for row in templates
    ]
    if texts:
        says += " Parts of a text that is listed are left out."
        heads.append("first words")
        rows = [[*line, row["text"] or ""] for line, row in zip(rows, templates, strict=True)]
    yield SmallTable("The largest templates", says, heads, rows, broad=texts)


def _listing(items: list[Item], total: int, texts: bool, columns: list[str]) -> Listing:
    lead = f"All documents with copied words: {total:,}." if total else "There are none."
    if len(items) < total:
        lead = f"The {len(items):,} documents with the most copied words, of {total:,}; "
        lead += "--max-items shows more."
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
            ("source", "By their main source"),
            *by_columns(columns),
            ("input", "As in the input"),
        ],
        columns=columns,
        examples="Those with the most copied words." if items else "",
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
        cut = text and (text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…")
        found.append({**row, "text": cut})
    return found


def _item(shown: ShownDocument, position: int, by: Mapping[str, Mapping[int, str]]) -> Item:
    """Return a document of the list, with its text in parts."""
    row = shown.row
    source = "" if row["source_id"] is None else name(row["source_id"], _LONG_ID)
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
        sort={"share": -row["copied_share"], "input": position, "source": source},
        values={column: [values[position]] for column, values in by.items()},
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
