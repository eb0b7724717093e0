"""A finished run as one page that opens in any browser, without network or server."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup.deduplication.clock import Event
from neardup.errors import ColumnError, InputError, SpecError
from neardup.inspect.audit import stored_audit
from neardup.results.results import Results
from neardup.stages.exact import SAME
from neardup.tuning import TUNING
from neardup.values.readable import counted, day
from neardup.views.how_done import of_versions
from neardup.views.page import page_charts, run_words
from neardup.views.page.page_clusters import LONGEST_ID, Clusters, Measured, to_show
from neardup.views.page.page_model import (
    Figures,
    Filters,
    HeatMap,
    Judging,
    Listing,
    Page,
    by_columns,
)
from neardup.views.page.page_texts import (
    CHARACTERS,
    beginnings,
    check_columns,
    measure,
    shown_columns,
)
from neardup.views.page.survey import Survey, chosen, survey
from neardup.views.page.write import FRAME, larger
from neardup.views.view import PageOptions

if TYPE_CHECKING:
    from neardup.api.finished.runs import DedupRun

#: Bytes of a page for each cluster shown, and at least.
_BYTES, _MINIMUM = 8_000, 400_000


def dedup_page(run: DedupRun, options: PageOptions) -> Page:
    """Return the clusters of a run as a page, with charts, and texts that are read again.

    Raises:
        InputError: A table of the run is damaged; or its input is gone and texts are wanted.
        ColumnError: The input has no such column.
        SpecError: ``context`` is negative.
    """
    results, texts, by = run._results, options.texts, options.by
    if options.context < 0:
        raise SpecError(f"`context` is {options.context}; expected 0 or more")
    show = shown_columns(results, options)
    found = survey(results)
    columns = [*show, *([] if by is None or by in show else [by])]
    table: pa.Table | None = None
    try:
        check_columns(results, columns)
        if len(found.members):
            table = measure(results, found.members, columns, options.threads)
    except InputError as error:
        if isinstance(error, ColumnError):
            raise
        if texts:
            error.hint = f"{error.hint}; or make the page with texts=False".removeprefix("; or ")
            raise
        if options.listener is not None:
            options.listener(Event("report", note=f"{error}; lengths are not measured"))
    heat = None
    if table is not None and by is not None:
        heat = page_charts.heat_map(found, table.column(by), by, results.spec.threshold)
    full, others = chosen(found, options.most)
    size = int(options.form.max_size)
    most = max(_MINIMUM, int(0.95 * size) - FRAME)
    capacity = min(max(_MINIMUM, _BYTES * options.most), most)
    hidden = results.private_ids or (not texts and bool(results.record["secret_ids"]))
    measured = _measured(found, results.how, table, show, heat)
    clusters = Clusters(results, found, measured, hidden, capacity)
    id_bytes, complete = _ids(results)
    shown = list(to_show(found, full, id_bytes, capacity // 2))
    read = None
    if texts and shown:
        compared = np.concatenate([one.docs[one.compared] for one in shown])
        read = beginnings(results, compared, options.threads)
    clusters.add(shown, read)
    used = capacity - clusters.capacity
    clusters.add_ids(others, max(0, min(TUNING.page_ids, most - used)))
    about = _about(results, found, table)
    counts = about["counts"]
    same, words = counts["same"], counts["equal_words"]
    near = counts["removed"] - same - words
    judged = complete and not hidden
    return Page(
        title=options.title or f"Near-duplicates in {about['name']}",
        date=f"Run of {about['date']}",
        verdict=run_words.verdict(about),
        shares=[("kept", counts["kept"]), ("near", near), ("words", words), ("exact", same)],
        numbers=list(run_words.numbers(about)),
        remarks=list(run_words.remarks(about)),
        filters=_filters(results, found, heat, about) if clusters.listed else None,
        listing=_listing(found, clusters, read is not None, judged, show, options),
        steps=[*run_words.steps(about), of_versions(about)],
        charts=Figures(
            "Charts for developers",
            "Charts",
            list(page_charts.developer_charts(about, found)),
            "Clusters, bands, buckets and time",
            printed=False,
        ),
        judge=Judging("A duplicate?", "Right", "Wrong", "review.csv", about["asked"][:12])
        if judged
        else None,
        footer=_footer(about, read is not None, table is not None or not len(found.members)),
    )


def _filters(
    results: Results, found: Survey, heat: HeatMap | None, about: dict[str, Any]
) -> Filters:
    bars, steps = page_charts.histogram(results, found), heat.steps if heat else {}
    data = {"slider": page_charts.slider(results, found), "histogram": bars, "heat": steps}
    says = run_words.at_one(about, int(bars[-1][2]))
    return Filters(data, says, heat)


def _listing(
    found: Survey,
    clusters: Clusters,
    texts: bool,
    judged: bool,
    show: Sequence[str],
    options: PageOptions,
) -> Listing:
    orders = [("size", "Largest first"), ("lowest", "Lowest similarity first")]
    if (found.steps > 1).any():
        orders.append(("steps", "Longest path first"))
    settings = {
        "texts": texts,
        "characters": CHARACTERS,
        "clusters": len(found.label),
        "context": options.context,
    }
    examples = "Of the largest clusters, and of those with the lowest similarity, the pair that "
    examples += "differs most."
    return Listing(
        title="Clusters",
        one="cluster",
        many="clusters",
        lead=_lead(found, clusters, judged, int(options.form.max_size)),
        search="Search ids and texts" if clusters.texts else "Search ids",
        nothing="Open a cluster to see what its documents share and where they differ.",
        items=clusters.entries,
        orders=[*orders, *by_columns(show), ("input", "As in the input")],
        columns=show,
        settings=settings,
        more={"brief": clusters.brief},
        examples=examples if clusters.texts else "",
    )


def _lead(found: Survey, clusters: Clusters, judged: bool, size: int) -> str:
    """Return what of the clusters is in the page."""
    total, listed = len(found.label), len(clusters.entries) + len(clusters.brief)
    if not total:
        return "There are none: no document is a duplicate of another one."
    says = f"All {total:,} clusters are listed"
    if listed < total:
        says = f"{listed:,} of {total:,} clusters are listed"
    elif total == 1:
        says = "The only cluster is listed"
    if clusters.texts and clusters.brief:
        says += f", {len(clusters.entries):,} of them with texts: the largest, and those with the "
        says += "lowest similarity; --max-items shows more"
    documents = len(found.members)
    of = "all" if clusters.listed == documents else f"{clusters.listed:,} of the"
    says += f". Search covers the ids of {of} {documents:,} documents in clusters"
    if clusters.texts:
        says += f", and {counted(clusters.texts, 'different text')}"
    says += "."
    if clusters.listed < documents:
        says += f" --max-size {larger(size)} leaves out less."
    if not clusters.texts:
        says += " Texts were left out of this page."
    if clusters.hidden:
        says += " Ids are texts and were left out too: documents are named by their numbers, and "
        says += "pairs cannot be judged."
    elif not judged:
        says += " Some ids are too long for this page, or are not text: pairs cannot be judged."
    if clusters.cut:
        one = "1 text is" if clusters.cut == 1 else f"{clusters.cut:,} texts are"
        says += f" {one} cut after {CHARACTERS:,} characters."
    return says


def _footer(about: dict[str, Any], texts: bool, measured: bool) -> str:
    says = "The input could not be read again; lengths are missing."
    if measured:
        says = f"{'Texts and lengths' if texts else 'Lengths'} were read from the input again."
    return f"Recipe {about['recipe']}. {says}"


def _measured(
    found: Survey,
    how: np.ndarray,
    table: pa.Table | None,
    show: Sequence[str],
    heat: HeatMap | None,
) -> Measured:
    """Return measures of the documents of clusters, as far as their texts were read."""
    characters, rows, cells = (np.full(len(found.base), value) for value in (0, -1, -1))
    # Of a document without a measured text the table says whether it is a copy.
    contents = np.where(how == SAME, found.duplicate_of, np.arange(len(found.base)))
    rows[found.members] = np.arange(len(found.members))
    if table is not None:
        characters[found.members] = np.asarray(table.column("characters").to_numpy())
        contents[found.members] = np.asarray(table.column("content").to_numpy())
    if heat is not None:
        cells = heat.cells
    columns = None if table is None or not show else table.select(list(show)).combine_chunks()
    return Measured(characters, contents, cells, rows, columns)


def _about(results: Results, found: Survey, table: pa.Table | None) -> dict[str, Any]:
    record = results.record
    frame, source = record["frame"], record["source"]
    name = "standard input" if frame and frame["given"] else "a frame"
    if source is not None and source["given"]:
        names = [PurePath(path).name or str(path) for path in source["given"]]
        more = f" and {len(names) - 3} more" if len(names) > 3 else ""
        name = ", ".join(names[:3]) + more
    removed_bytes = None
    if table is not None:
        gone = found.duplicate_of[found.members] >= 0
        removed_bytes = int(np.asarray(table.column("size").to_numpy())[gone].sum())
    return {
        **record,
        "audit": stored_audit(results),
        "date": day(record["date"]),
        "name": name,
        "recipe": record["recipe_digest"][:12],
        "removed_bytes": removed_bytes,
        "spec": results.spec,
        "threshold": f"{results.spec.threshold:g}",
    }


def _ids(results: Results) -> tuple[np.ndarray, bool]:
    """Return int64[documents], the bytes of each id, and whether the page can have them uncut."""
    ids: Any = results.ids
    uncut = True
    try:
        ids = ids.cast(pa.large_string())
    except pa.ArrowException:  # bytes that are no text
        uncut = False
    lengths = np.asarray(pc.binary_length(ids).to_numpy(), dtype=np.int64)
    return lengths, uncut and int(lengths.max(initial=0)) <= LONGEST_ID
