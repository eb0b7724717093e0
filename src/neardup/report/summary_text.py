"""The record of a run in a few lines."""

from collections.abc import Iterator
from typing import Any

from neardup.report.numbers import counted, share

Row = tuple[str, str, str]
#: A warning is due where so many documents have so large a share of duplicates.
_MANY, _NEARLY_ALL = 20, 0.9
#: A note, since it may be the wrong input.
NO_DOCUMENTS = "the input has no documents"
#: Recall at the threshold below which "still alike 0" would mislead.
_ENOUGH = 0.9
_UNITS = {"word": "word", "char": "character", "item": "item"}


def render(record: dict[str, Any], out: str) -> str:
    """Return the main numbers of ``run.json``; ``out`` is its folder."""
    spec, output = record["spec"], record["output"]
    listed = spec["pairs"] == "all" or spec["cluster"] != "star"
    there = {"clusters": True, "edges": listed, "order": spec["order_by"]}
    files = ["clean/"] if output["clean"] else []
    files += [f"{name}.{output.get('tables', 'parquet')}" for name in there if there[name]]
    return f"{aligned(record)}\n{'written':<13}{out}: {', '.join([*files, 'run.json'])}"


def aligned(record: dict[str, Any]) -> str:
    """Return the same without the files."""
    rows = [*found(record), *_done(record)]
    width = max(len(value) for _, value, _ in rows)
    return "\n".join(f"{name:<13}{value:>{width}}  {text}" for name, value, text in rows)


def found(record: dict[str, Any]) -> Iterator[Row]:
    counts, shingle = record["counts"], record["spec"]["shingle"]
    total, removed, exact = (counts[k] for k in ("documents", "removed", "exact_duplicates"))
    few = f", {counts['short']:,} shorter than {counted(shingle['n'], _UNITS[shingle['unit']])}"
    few = "" if shingle["unit"] == "item" else few
    yield "documents", f"{total:,}", f"{counts['empty']:,} empty{few}"
    yield "kept", f"{counts['kept']:,}", share(counts["kept"], total)
    kinds = f"{counted(exact, 'exact duplicate')} and {counted(removed - exact, 'near-duplicate')}"
    yield "removed", f"{removed:,}", f"{share(removed, total)}: {kinds}"
    largest = f"of two documents or more; the largest has {counts['largest_cluster']:,}"
    yield "clusters", f"{counts['clusters_of_two_or_more']:,}", largest
    if not record["spec"]["max_bucket"] and _recall(record) >= _ENOUGH:
        yield "still alike", "0", "among the kept, of the pairs found; neardup audit measures more"
    if counts["not_compared"]:
        what = "pairs in very large buckets; edges may be missing, what is kept is not affected"
        if record["spec"]["max_bucket"]:
            what = "pairs in buckets above --max-bucket; kept documents may still be alike"
        yield "not compared", f"{counts['not_compared']:,}", what
    if counts["encoding_replaced"]:
        what = "texts that were not UTF-8, and were repaired"
        yield "replaced", f"{counts['encoding_replaced']:,}", what
    if counts.get("skipped"):
        yield "left out", f"{counts['skipped']:,}", "documents above --max-document"
    if not total:
        yield "note", "", NO_DOCUMENTS
    if counts["short"] > total / 2:
        what = "of the texts are shorter than a shingle; of them only equal ones are found"
        yield "warning", share(counts["short"], total), what
    if total >= _MANY and removed > _NEARLY_ALL * total:
        what = "of the documents are removed: few texts are nearly all; is it the right column?"
        yield "warning", share(removed, total), what


def _recall(record: dict[str, Any]) -> float:
    return 1.0 if record["bands"] is None else float(record["bands"]["predicted_recall"])


def recall(record: dict[str, Any]) -> Row:
    """Return which share of the pairs at the threshold is found."""
    bands = record["bands"]
    if bands is None:
        return "recall", "1", "of the pairs from the threshold up, by an exact search"
    what = f"of the pairs at the threshold, predicted ({counted(bands['num_bands'], 'band')} of "
    what += counted(bands["rows"], "row") + ")"
    if _recall(record) < _ENOUGH:
        what += "; run dedup again at this threshold to find the others"
    return "recall", f"{_recall(record):.3f}", what


def _done(record: dict[str, Any]) -> Iterator[Row]:
    spec = record["spec"]
    shingle = spec["shingle"]
    stems = f" of {shingle['stem'].capitalize()} stems" if shingle["stem"] else ""
    runs = f"runs of {counted(shingle['n'], _UNITS[shingle['unit']])}{stems}"
    how = f"pairs, by {'items' if shingle['unit'] == 'item' else runs}, exactly"
    yield "compared", f"{record['counts']['pairs_compared']:,}", how
    yield "threshold", f"{spec['threshold']:g}", "similarity of a near-duplicate (Jaccard)"
    yield recall(record)
    seconds = sum(record["seconds"].values())
    rate = record["bytes"].get("text", 0) / 1e6 / seconds if seconds else 0
    memory = f"peak memory {record['peak_memory'] / 1e6:,.0f} MB"
    yield "took", f"{seconds:.1f} s", f"{rate:,.0f} MB/s of text, {memory}" if rate >= 1 else memory
