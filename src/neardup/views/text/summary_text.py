"""The record of any command in a few lines: a label, a number, and its unit."""

from collections.abc import Iterator
from typing import Any

from neardup.result_record import RECORD
from neardup.values.readable import counted, percent, share
from neardup.views.view import Row

#: A warning is due where so many documents have so large a share of duplicates.
_MANY, _NEARLY_ALL = 20, 0.9
#: What may help where nearly all documents are similar.
SHARED_TEXT = (
    "if they share boilerplate, such as letterheads or menus, --boilerplate N compares the rest; "
    "--within COLUMN compares documents of one group only"
)
#: A note, since it may be the wrong input.
NO_DOCUMENTS = "the input has no documents"
EQUAL_WORDS = (
    "the words of the kept one, but other case, spaces, punctuation or signs: "
    "neardup pairs OUT --texts shows them; --signs all and --keep-case compare more"
)
_NO_OLD = "the old corpus has no documents"
_NO_ITEMS = "there are no test items"
#: Recall at the threshold below which "still alike 0" would mislead.
_ENOUGH = 0.9
#: Files with test items that are listed.
_FILES = 20
#: Items that are named as left out.
_NAMED = 5
_LOOK = "; take it out of the test items if it is no question of the test"
_UNITS = {"word": "word", "char": "character", "item": "item"}


def render(record: dict[str, Any], out: str) -> str:
    """Return the main numbers of ``run.json``; ``out`` is its folder."""
    return f"{aligned(record)}\n{written(record, out)}"


def written(record: dict[str, Any], out: str, width: int = 13) -> str:
    """Return the line with the files that a command has written; ``width`` is that of labels."""
    files = [f"{name}/" if inner is not None else name for name, inner in record["files"].items()]
    kinds = sorted(files, key=lambda name: (name == RECORD, not name.endswith("/")))
    return f"{'written':<{width}}{out}: {', '.join(kinds)}"


def aligned(record: dict[str, Any]) -> str:
    """Return the same without the files."""
    lines = rows(record)
    width = max(len(row.number) for row in lines)
    return "\n".join(
        f"{row.label:<13}{row.number:>{width}}  {row.remark}".rstrip() for row in lines
    )


def rows(record: dict[str, Any]) -> list[Row]:
    """Return the rows of a command."""
    return [*ROWS.get(record["command"], _of_counts)(record), took(record)]


def _of_run(record: dict[str, Any]) -> Iterator[Row]:
    yield from found(record)
    if record["spec"]["only_same"]:
        yield Row("compared", "", "bytes only; near-duplicates stay")
        return
    yield from _compared(record)
    yield recall(record)


def _of_counts(record: dict[str, Any]) -> Iterator[Row]:
    for name, count in record["counts"].items():
        yield Row(name.replace("_", " "), f"{count:,}")
    yield from _of_input(record["counts"])
    yield from _notes(record)


def found(record: dict[str, Any]) -> Iterator[Row]:
    counts, shingle = record["counts"], record["spec"]["shingle"]
    total, removed = counts["documents"], counts["removed"]
    few = f", {counts['short']:,} shorter than {counted(shingle['n'], _UNITS[shingle['unit']])}"
    few = "" if shingle["unit"] == "item" else few
    yield Row("documents", f"{total:,}", f"{counts['empty']:,} empty{few}")
    near = removed - counts["same"] - counts["equal_words"]
    kinds = f"{counts['same']:,} the same, {counts['equal_words']:,} with equal words, "
    yield from _kept_and_removed(counts, kinds + counted(near, "near-duplicate"))
    largest = f"of two documents or more; the largest has {counts['largest_cluster']:,}"
    yield Row("clusters", f"{counts['clusters_of_two_or_more']:,}", largest)
    spec = record["spec"]
    if not (spec["max_bucket"] or spec["only_same"]) and _recall(record) >= _ENOUGH:
        yield Row(
            "still alike", "0", "among the kept, of the pairs found; neardup audit measures more"
        )
    if "pairs" in counts:
        yield from _pairs(record)
    if "candidate_pairs" in counts:
        pairs, saved = counts["candidate_pairs"], counts["set_pairs_saved"]
        yield Row("candidates", f"{pairs:,}", "pairs of documents that share a bucket")
        what = f"pairs were compared for disjoint sets; {saved:,} saved, {share(saved, pairs)}"
        yield Row("sets", f"{counts['set_pairs_compared']:,}", what)
    if counts.get("not_compared"):
        what = "pairs in very large buckets; edges may be missing, the kept set is not affected"
        if spec["max_bucket"]:
            what = "pairs in buckets above --max-bucket; kept documents may still be alike"
        yield Row("not compared", f"{counts['not_compared']:,}", what)
    yield from _of_input(counts)
    yield from _notes(record)
    if counts["short"] > total / 2 and not spec["only_same"]:
        what = "of the texts are shorter than a shingle; of them only equal ones are found"
        yield Row("warning", share(counts["short"], total), what)
    if total >= _MANY and removed > _NEARLY_ALL * total:
        what = "of the documents are removed: few texts are nearly all"
        yield Row("warning", share(removed, total), f"{what}; {SHARED_TEXT}")
    elif total >= _MANY and counts["largest_cluster"] > _NEARLY_ALL * total:
        what = "of the documents are one cluster"
        yield Row("warning", share(counts["largest_cluster"], total), f"{what}; {SHARED_TEXT}")


def _pairs(record: dict[str, Any]) -> Iterator[Row]:
    counts, found = record["counts"], list(record["pairs_by_similarity"].items())
    what = f"share a bucket and reach {record['spec']['threshold']:g}"
    yield Row(
        "pairs", f"{counts['pairs']:,}", f"{what}; {counts['pairs_in_clusters']:,} in clusters"
    )
    for (low, pairs), (high, _) in zip(found, [*found[1:], ("", 0)], strict=True):
        yield Row("", f"{pairs:,}", f"from {low} to below {high}" if high else f"at {low}")


def _of_input(counts: dict[str, Any]) -> Iterator[Row]:
    """Yield remarks on an input that not all corpora give a reason for."""
    if counts.get("encoding_replaced"):
        what = "texts that were not UTF-8, and were repaired"
        yield Row("replaced", f"{counts['encoding_replaced']:,}", what)
    if counts.get("skipped"):
        yield Row("left out", f"{counts['skipped']:,}", "documents above --max-document")
    if counts.get("skipped_bad"):
        yield Row("left out", f"{counts['skipped_bad']:,}", "records that can't be read")
    if many := counts.get("equal_words"):
        has = "document has" if many == 1 else "documents have"
        yield Row("note", "", f"{many:,} removed {has} {EQUAL_WORDS}")
    if not counts["documents"]:
        yield Row("note", "", NO_DOCUMENTS)


def _notes(record: dict[str, Any]) -> Iterator[Row]:
    for note in record.get("notes", []):
        yield Row("note", "", note)


def _recall(record: dict[str, Any]) -> float:
    return 1.0 if record["bands"] is None else float(record["bands"]["predicted_recall"])


def recall(record: dict[str, Any]) -> Row:
    """Return which share of the pairs at the threshold is found."""
    bands = record["bands"]
    if bands is None:
        return Row("recall", "1", "of the pairs from the threshold up, by an exact search")
    what = f"of the pairs at the threshold, predicted ({counted(bands['num_bands'], 'band')} of "
    what += counted(bands["rows"], "row") + ")"
    if _recall(record) < _ENOUGH:
        what += "; run dedup again at this threshold to find the others"
    return Row("recall", f"{_recall(record):.3f}", what)


def _compared(record: dict[str, Any]) -> Iterator[Row]:
    spec = record["spec"]
    shingle = spec["shingle"]
    stems = f" of {shingle['stem'].capitalize()} stems" if shingle["stem"] else ""
    runs = f"runs of {counted(shingle['n'], _UNITS[shingle['unit']])}{stems}"
    how = f"pairs, by {'items' if shingle['unit'] == 'item' else runs}, exactly"
    if "pairs_compared" in record["counts"]:
        yield Row("compared", f"{record['counts']['pairs_compared']:,}", how)
    yield Row("threshold", f"{spec['threshold']:g}", "similarity of a near-duplicate (Jaccard)")


def took(record: dict[str, Any]) -> Row:
    """Return the time of a run, its rate and its memory."""
    seconds = sum(record["seconds"].values())
    rate = record["bytes"].get("text", 0) / 1e6 / seconds if seconds else 0
    memory = f"peak memory {record['peak_memory'] / 1e6:,.0f} MB"
    return Row(
        "took",
        f"{seconds:.1f} s",
        f"{rate:,.0f} MB/s of text, {memory}" if rate >= 1 else memory,
    )


def _kept_and_removed(counts: dict[str, Any], kinds: str) -> Iterator[Row]:
    total = counts["documents"]
    yield Row("kept", f"{counts['kept']:,}", share(counts["kept"], total))
    yield Row("removed", f"{counts['removed']:,}", f"{share(counts['removed'], total)}: {kinds}")


def of_batch(record: dict[str, Any]) -> Iterator[Row]:
    """Return the main numbers of a batch that was compared with an old corpus."""
    counts = record["counts"]
    yield Row("documents", f"{counts['documents']:,}", "of the batch")
    kinds = f"{counts['similar_to_old']:,} similar to the old corpus, "
    yield from _kept_and_removed(
        counts, kinds + f"{counts['similar_within']:,} to the batch itself"
    )
    if record["old_only"]:
        there, old = counts["old_documents_found"], counts["old_documents"]
        yield Row("matches", f"{counts['matches']:,}", f"pairs; {there:,} of {old:,} old documents")
    largest = (
        f"of two documents or more of the batch; the largest has {counts['largest_cluster']:,}"
    )
    yield Row("clusters", f"{counts['clusters_of_two_or_more']:,}", largest)
    yield from _of_input(counts)
    yield from _notes(record)
    if not counts["old_documents"]:
        yield Row("note", "", _NO_OLD)
    yield from _compared(record)
    yield recall(record)


def of_matches(record: dict[str, Any]) -> Iterator[Row]:
    """Return the main numbers of a training corpus that was searched for test items."""
    counts, settings = record["counts"], record["settings"]
    yield Row("documents", f"{counts['documents']:,}", "of the training corpus")
    if settings["cut"]:
        contaminated = counts["contaminated"]
        yield from _kept_and_removed(counts, "words that match are cut instead")
        yield Row(
            "cut", f"{counts['cut_words']:,}", f"words, of {counted(contaminated, 'document')}"
        )
    else:
        yield from _kept_and_removed(counts, "they contain a test item, or a passage of it")
    items, there = counts["test_items"], counts["test_items_found"]
    yield Row("test items", f"{items:,}", f"{there:,} of them found, {share(there, items)}")
    files = record["test_files"]
    for file in files[:_FILES] if len(files) > 1 else []:
        where = counted(file["documents"], "document")
        found = f"of {file['test_items']:,} found, in {where}: {file['file']}"
        yield Row("", f"{file['test_items_found']:,}", found)
    if len(files) > _FILES:
        yield Row("", f"{len(files) - _FILES:,}", f"more files are in {RECORD}")
    size = settings["shingle"]
    if short := counts["test_items_shorter_than_a_shingle"]:
        only = counted(counts["only_by_short_items"], "document")
        what = f"of the test items, shorter than {size}, looked for as they are; {only} for "
        yield Row("short", f"{short:,}", what + "them only")
    if short := counts["test_items_too_short"]:
        least = counted(settings["min_words"], "word")
        yield Row(
            "too short", f"{short:,}", f"of the test items, of fewer than {least}, not looked for"
        )
    if left := counts["test_items_left_out"]:
        named = ", ".join(map(_item, record["left_out_items"][:_NAMED]))
        more = f" and {left - _NAMED:,} more, in {RECORD}" if left > _NAMED else ""
        least = percent(settings["max_documents"])
        what = f"of the test items, which more than {least} of the documents has: {named}{more}"
        yield Row("left out", f"{left:,}", what)
    yield from _of_input(counts)
    yield from _notes(record)
    if not items:
        yield Row("note", "", _NO_ITEMS)
    yield from _frequent(record)
    yield Row(
        "matches", f"{counts['matches']:,}", f"of a document and a test item, by {settings['by']}"
    )
    if settings["threshold"] is not None:
        yield Row("threshold", f"{settings['threshold']:g}", f"lowest {settings['by']} of a match")
    what = f"of the matches by {settings['by']}, of words as they are compared"
    yield Row("recall", "1", what + _as_compared(settings))


def _as_compared(settings: dict[str, Any]) -> str:
    """Return which texts an exact comparison takes for different, unless an option is given."""
    others = {"nfkc": "other widths of letters", "strip_accents": "accents"}
    left = [name for name in others if not settings[name]]
    if not left:
        return ""
    options = ", ".join(f"--{name.replace('_', '-')}" for name in left)
    return f"; {' and '.join(others[name] for name in left)} make other words ({options})"


def _item(item: dict[str, Any]) -> str:
    id_ = f"in row {item['test_doc']}" if item["test_id"] is None else str(item["test_id"])
    return f"{id_} ({counted(item['documents'], 'document')})"


def _frequent(record: dict[str, Any]) -> Iterator[Row]:
    """Yield a warning for each test item that many documents have."""
    total = record["counts"]["documents"]
    for item in record["frequent_items"]:
        id_ = f"in row {item['test_doc']}" if item["test_id"] is None else str(item["test_id"])
        count, words = item["documents"], item["words"]
        what = f"of the documents ({count:,}) have the test item {id_}, of "
        what += counted(words, "word")
        what += f"; --min-words {words + 1} leaves out such short ones" if item["short"] else _LOOK
        yield Row("warning", share(count, total), what)


def of_passages(record: dict[str, Any]) -> Iterator[Row]:
    """Return the main numbers of copied passages."""
    counts = record["counts"]
    words = counts["words"]
    if before := record.get("step_before"):
        removed = f"{before['removed']:,} of them removed as near-duplicates"
        yield Row("texts in", f"{before['documents']:,}", f"of {before['folder']}; {removed}")
    yield Row("documents", f"{counts['documents']:,}", f"of {words:,} words")
    copied, where = counts["copied_words"], counted(counts["documents_with_copies"], "document")
    yield Row("copied", f"{copied:,}", f"words, {share(copied, words)}")
    if counts["boilerplate_words"]:
        where = f"of copied words, in {where}, and of boilerplate"
        yield Row("passages", f"{counts['passages']:,}", where)
        part = share(counts["boilerplate_words"], words)
        yield Row("boilerplate", f"{counts['boilerplate_words']:,}", f"words, {part}")
    else:
        yield Row("passages", f"{counts['passages']:,}", f"in {where}")
    if counts.get("cut_words"):
        yield Row("cut", f"{counts['cut_words']:,}", f"words, {share(counts['cut_words'], words)}")
    if "dropped" in counts:
        yield Row("removed", f"{counts['dropped']:,}", "document" + "s" * (counts["dropped"] != 1))
    yield from _of_input(counts)
    yield Row("recall", "1", f"of the runs of {record['spec']['words']} words that occur earlier")


#: The rows of each command; its counts without it.
ROWS = {
    **dict.fromkeys(("dedup", "recluster"), _of_run),
    "dedup --against": of_batch,
    "decontaminate": of_matches,
    "passages": of_passages,
}
