"""A persistent index as one page that opens in any browser: its content, and its recall."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from neardup import __version__
from neardup.memory_plan import show_size
from neardup.sketch.bands import candidate_probability
from neardup.spec import Spec
from neardup.values.readable import counted, day, percent
from neardup.views.page.page_charts import chance_bars
from neardup.views.page.page_model import Figures, Page, Step
from neardup.views.page.run_words import band_options, runs, shingle_options
from neardup.views.text.methods_text import methods_of_index
from neardup.views.view import PageOptions, Row

if TYPE_CHECKING:
    from neardup.api.indexes.indexing import Index


def index_page(index: Index, options: PageOptions) -> Page:
    """Return the numbers of an index as a page, which has no text of a document."""
    stats, spec = index.stats(), index.spec
    bands = {name: stats[name] for name in ("num_bands", "rows")} if stats["num_bands"] else None
    threshold = f"{spec.threshold:g}"
    charts = None
    if bands:
        bars = chance_bars(
            "Documents found by similarity", "a document", bands, more=" to the text"
        )
        charts = Figures("Recall of the bands", "Charts", [bars])
    name = "" if index.path is None else index.path.name
    return Page(
        title=options.title or f"Index {name}",
        date=f"State of {day(datetime.datetime.now().isoformat())}",
        verdict=f"The index has {counted(stats['documents'], 'document')}. A text is a "
        f"near-duplicate of one of them from a similarity of {threshold} on.",
        numbers=list(_numbers(stats, spec, bands)),
        method="How a text is answered",
        steps=list(_steps(spec, bands, threshold)),
        paragraph=methods_of_index(stats, spec, __version__).lines,
        charts=charts,
        footer=f"Recipe {stats['recipe'][:12]}. No text of a document is in this file.",
    )


def _numbers(stats: Mapping[str, Any], spec: Spec, bands: dict[str, Any] | None) -> Iterator[Row]:
    documents, recall, says = stats["documents"], 1.0, "every document is compared"
    yield Row("Documents", f"{documents:,}", "can be found, each by its id")
    if bands:
        recall = candidate_probability(spec.threshold, *bands.values())
        says = f"of the documents with a similarity of just {spec.threshold:g} are found, and more "
        says += "of those that are more similar; predicted"
    yield Row("Recall", percent(recall), says)
    stored = "texts are stored, compressed"
    if not stats["store_text"]:
        stored = "shingles are stored instead of texts"
    each = show_size(round(stats["bytes_documents"] / max(1, documents)))
    says = f"on disk, {each} a document; {stored}"
    yield Row("Texts and ids", show_size(stats["bytes_documents"]), says)
    pending = f"{counted(stats['pending'], 'document')} {'is' if stats['pending'] == 1 else 'are'}"
    says = f"on disk in {counted(stats['segments'], 'segment')}; {pending} still in the log"
    if removed := stats["removed"]:
        says += f"; keys of {counted(removed, 'removed document')} wait for a merge, or for "
        says += "neardup index compact"
    yield Row("Band keys", show_size(stats["bytes_segments"]), says)


def _steps(spec: Spec, bands: dict[str, Any] | None, threshold: str) -> Iterator[Step]:
    what = runs(spec.shingle)
    yield Step("Comparing", f"{what.capitalize()} are compared.", shingle_options(spec.shingle))
    says = "All documents are candidates."
    if bands:
        says = "Documents that may be similar are those that share one of "
        says += f"{bands['num_bands']} buckets with the text."
    yield Step("Finding", says, band_options(bands))
    says = "Candidates are compared exactly. The similarity of two texts is the share of "
    says += f"{what} that both have, among all that either has (Jaccard); no estimate decides "
    yield Step("Similarity", f"{says}anything.", f"--threshold {threshold}")
