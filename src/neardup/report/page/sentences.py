"""Sentences of a page: what came out, what is listed, where it comes from."""

from __future__ import annotations

from typing import Any

from neardup.report.numbers import size
from neardup.report.page.clusters import Entries
from neardup.report.page.words import name_of, share
from neardup.run.finished import FinishedRun

__all__ = ["listed_words", "remarks", "shares_words", "source_words", "verdict"]


def verdict(run: FinishedRun, removed_bytes: tuple[int, int] | None) -> str:
    """Return the result in a sentence or two."""
    counts = run.record["counts"]
    removed, total = counts["removed"], counts["documents"]
    if not removed:
        if total == 1:
            return "There is one document only, and nothing that it could repeat."
        return f"None of the {total:,} documents repeats another one."
    says = (
        f"{removed:,} of {total:,} documents ({share(removed, total)}) repeat another one and can "
        "go"
    )
    if removed_bytes is not None:
        says += f", and with them {size(removed_bytes[0])} of {size(removed_bytes[1])} of text"
    many = counts["clusters_of_two_or_more"]
    clusters = "1 cluster" if many == 1 else f"{many:,} clusters"
    return (
        f"{says}. Those that repeat each other form {clusters}; the largest has "
        f"{counts['largest_cluster']:,} documents."
    )


def shares_words(run: FinishedRun) -> str:
    """Return what the bar of shares shows."""
    counts = run.record["counts"]
    total, exact = counts["documents"], counts["exact_duplicates"]
    near = counts["removed"] - exact
    return (
        f"Of all documents {share(counts['kept'], total)} are kept, {share(near, total)} are near "
        f"duplicates and {share(exact, total)} are exact duplicates."
    )


def listed_words(found: Entries, clusters: int, texts: bool, characters: int) -> str:
    """Return what of the clusters is in the page, and what is not.

    Args:
        found: What is in it.
        clusters: All there are.
        texts: Whether texts may be in it.
        characters: After which texts are cut.
    """
    listed = len(found.clusters)
    if not clusters:
        return "There are none: no document repeats another one."
    if not listed:
        return f"None of the {clusters:,} clusters is listed here (--max-clusters 0)."
    if listed == clusters:
        says = [f"All {clusters:,} are listed." if clusters > 1 else "There is one."]
    else:
        half = listed - listed // 2
        says = [
            f"{listed:,} of {clusters:,} are listed: the {half:,} largest and the "
            f"{listed - half:,} most suspicious of the others (--max-clusters lists more)."
        ]
    there = sum(len(entry["members"]) for entry in found.clusters)
    of = sum(entry["documents"] for entry in found.clusters)
    if there < of:
        says.append(f"Of their {of:,} documents {there:,} are listed.")
    if not texts:
        says.append("Texts were left out of this page (--no-text).")
    elif found.shown < of:
        says.append(f"The texts of {found.shown:,} are in the page.")
    if found.cut:
        texts_are = "1 text is" if found.cut == 1 else f"{found.cut:,} texts are"
        says.append(f"{texts_are} cut after {characters:,} characters.")
    return " ".join(says)


def source_words(run: FinishedRun, measured: bool, texts: bool) -> str:
    """Return where texts and lengths come from."""
    if not measured:
        return "Its input could not be read again; lengths and further similarities are missing."
    what = "Texts, lengths" if texts else "Lengths"
    return f"{what} and further similarities were made again from the input, {name_of(run)}."


def remarks(run: FinishedRun, audit: dict[str, Any] | None) -> list[str]:
    """Return what a reader should know besides."""
    counts, found = run.record["counts"], []
    if counts["encoding_replaced"]:
        found.append(
            f"{counts['encoding_replaced']:,} texts were not valid UTF-8; what was wrong in them "
            "was replaced by �."
        )
    if counts["not_compared"]:
        found.append(
            f"{counts['not_compared']:,} pairs met in very large buckets and were compared by one "
            "document of each cluster only (--pairs all compares them)."
        )
    if counts["kept_unsure"]:
        found.append(
            f"{counts['kept_unsure']:,} documents are kept without having been compared with all "
            "kept ones of their cluster."
        )
    if counts["second_left_out"]:
        found.append(
            f"{counts['second_left_out']:,} pairs of clusters were not looked at in the second "
            "round."
        )
    if audit is not None and audit["removed"]["wrong_documents"]:
        found.append(
            f"The audit found {audit['removed']['wrong_documents']:,} documents that were removed "
            "though no kept one is near enough."
        )
    return found
