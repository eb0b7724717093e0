"""Settings and results of a run, in words that need no knowledge of the method."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from neardup.memory_plan import show_size
from neardup.spec import BOUNDED, ShingleSpec, Spec
from neardup.values.readable import counted, percent, share
from neardup.views.page.page_model import Step
from neardup.views.text.summary_text import EQUAL_WORDS
from neardup.views.view import Row

_UNITS = {"char": "character"}
_SIGNS = {
    "short": "; signs such as # and $ count in texts that are shorter than one",
    "all": "; signs such as # and $ count",
    "none": "",
}
_FLAGS = ("keep_case", "nfkc", "strip_accents", "join_hyphens", "raw", "alphanumeric", "bag")
#: Recall at the threshold below which "still alike 0" would mislead.
_ENOUGH = 0.9


def verdict(run: dict[str, Any]) -> str:
    counts = run["counts"]
    total = f"{counts['documents']:,} documents"
    if not counts["removed"]:
        return f"None of the {total} is a duplicate of another one; all are kept."
    part = share(counts["removed"], counts["documents"])
    gone, clusters = "", counted(counts["clusters_of_two_or_more"], "cluster")
    if run["removed_bytes"] is not None:
        gone = f", with {show_size(run['removed_bytes'])} of text"
    return (
        f"{counts['removed']:,} of {total} ({part}) are duplicates of others and are removed"
        f"{gone}. With the kept ones they form {clusters}; "
        f"the largest has {counted(counts['largest_cluster'], 'document')}."
    )


def numbers(run: dict[str, Any]) -> Iterator[Row]:
    """Yield the numbers of a run."""
    counts, shingle, bands, audit = run["counts"], run["spec"].shingle, run["bands"], run["audit"]
    total, same, words = (counts[name] for name in ("documents", "same", "equal_words"))
    near = counts["removed"] - same - words
    tokens = "word stems" if shingle.stem else f"{_UNITS.get(shingle.unit, shingle.unit)}s"
    yield Row("Documents", f"{total:,}", f"read from {run['name']}")
    kept = f"{share(counts['kept'], total)}; these are the clean corpus"
    yield Row("Kept", f"{counts['kept']:,}", kept, "kept")
    says = f"{share(near, total)}; removed, since a kept text is nearly the same"
    yield Row("Near-duplicates", f"{near:,}", says, "near")
    says = f"{share(words, total)}; removed, since a kept text has the same {tokens} in the same "
    says += "order, but other characters between or in them"
    yield Row("Equal words", f"{words:,}", says, "words")
    says = f"{share(same, total)}; removed, since a kept text is the same, byte for byte"
    yield Row("The same", f"{same:,}", says, "exact")
    if audit and audit["kept_near_share"] is not None:
        says = f"of {audit['kept_sampled']:,} kept documents, drawn at random, still have a "
        says += f"near-duplicate among the kept ones {_interval(audit, 'kept_near')}"
        yield Row("Still alike, audited", percent(audit["kept_near_share"]), says)
    elif run["spec"].only_same:
        yield Row("Compared", "", "bytes only: texts that are nearly the same are kept")
        return
    elif not bands or bands["predicted_recall"] >= _ENOUGH:
        says = "pairs of kept documents that the run found to be similar; neardup audit measures "
        yield Row("Still alike", "0", says + "those that it did not find")
    yield _recall(run)


def _recall(run: dict[str, Any]) -> Row:
    bands, audit = run["bands"], run["audit"]
    if audit and audit["recall"] is not None:
        says = f"of the similar pairs of {audit['sampled']:,} documents, drawn at random, were "
        says += f"found {_interval(audit, 'recall')}"
        return Row("Recall, audited", percent(audit["recall"]), says)
    if not bands:
        return Row("Recall", "100 %", "all pairs were searched for, exactly")
    says = f"of the pairs with a similarity of just {run['threshold']} are found, and more of "
    says += "those that are more similar; predicted"
    if bands["predicted_recall"] < _ENOUGH:
        says += ". Run dedup again at this threshold to find the others"
    return Row("Recall", percent(bands["predicted_recall"]), says)


def _interval(audit: dict[str, Any], of: str) -> str:
    low, high = (percent(audit[f"{of}_{end}"]) for end in ("low", "high"))
    return f"(95 % interval {low} to {high})"


def remarks(run: dict[str, Any]) -> Iterator[str]:
    """Yield warnings."""
    counts, audit = run["counts"], run["audit"]
    if words := counts["equal_words"]:
        yield f"{words:,} removed documents have {EQUAL_WORDS}."
    if replaced := counts["encoding_replaced"]:
        yield f"{replaced:,} texts were not valid UTF-8; wrong bytes in them were replaced by �."
    if missed := counts["not_compared"]:
        what = "Kept documents may still be alike."
        if not run["spec"].max_bucket:
            what = "Clusters and the list of pairs may lack some; kept and removed documents do "
            what += "not depend on them."
        many = f"{missed:,} pairs in very large buckets were not compared"
        yield f"{many} (a pair counts in each bucket). {what}"
    if wrong := audit["wrong_removed"] if audit else 0:
        yield (
            f"The audit found {wrong:,} documents that were removed though no kept one is similar "
            "enough."
        )


def at_one(run: dict[str, Any], number: int) -> str:
    """Return why so many documents have the similarity 1; nothing where it needs no reason."""
    equal = run["counts"]["same"] + run["counts"]["equal_words"]
    if number == equal:
        return ""
    return (
        f"{number:,} are at 1, and {equal:,} of them are the same as the kept text or have equal "
        f"words: the others have the same {runs(run['spec'].shingle)} in another order."
    )


def steps(run: dict[str, Any]) -> Iterator[Step]:
    """Yield how a run was done."""
    spec, bands, threshold = run["spec"], run["bands"], run["threshold"]
    yield _reading(run)
    if spec.only_same:
        says = "A text is removed if all its bytes are those of a text that is kept."
        yield Step("Comparing", says, "--only-same")
        yield keeping(spec)
        return
    yield from comparing(spec)
    says = "All pairs that can reach the threshold were searched for. "
    if bands:
        says = f"Texts that may be similar were found by {bands['num_bands']} bands of "
        says += f"{bands['rows']} rows of their signatures: short summaries, which agree the more "
        says += "often the more similar two texts are. A pair with a similarity of "
        says += f"{threshold} is found with probability {percent(bands['predicted_recall'])}. "
    pairs = run["counts"]["pairs_compared"]
    says += f"{counted(pairs, 'pair')} {'was' if pairs == 1 else 'were'} compared exactly; "
    yield Step("Finding", f"{says}no estimate decided anything.", band_options(bands))
    yield keeping(spec)
    options = f"--cluster {spec.cluster}"
    if spec.cluster in BOUNDED:
        options += f" --tree-threshold {spec.minimum_in_cluster:g}"
    yield Step("Grouping", _grouping(spec), options)


def comparing(spec: Spec) -> Iterator[Step]:
    """Yield how texts are compared, and when they are similar."""
    shingle, threshold = spec.shingle, f"{spec.threshold:g}"
    yield Step("Comparing", " ".join(_comparing(shingle)), shingle_options(shingle))
    says = f"The similarity of two texts is the share of {runs(shingle)} that both have, among all "
    says += "that either has: 1 if they have the same ones, 0 if they have none in common "
    says += f"(Jaccard). From {threshold} on, two texts are near-duplicates."
    yield Step("Similarity", says, f"--threshold {threshold}")


def band_options(bands: dict[str, Any] | None) -> str:
    if not bands:
        return "--method allpairs"
    return f"--bands {bands['num_bands']} --rows {bands['rows']}"


def _reading(run: dict[str, Any]) -> Step:
    counts, source = run["counts"], run["source"]
    says, options = f"{counts['documents']:,} documents were read from {run['name']}", ""
    if source:
        says += f"; the text is {' and '.join(f'“{name}”' for name in source['text'])}"
        options = f"--text {','.join(source['text'])}"
        if source["id"]:
            says += f", the id “{source['id']}”"
            options += f" --id {source['id']}"
    says += "."
    if counts["empty"]:
        says += f" {counts['empty']:,} without any word are kept and compared with nothing."
    if counts["short"]:
        says += f" {counts['short']:,} are shorter than {_one_run(run['spec'].shingle)}; such a "
        says += "text is found only where another one is the same."
    return Step("Reading", says, options)


def _comparing(shingle: ShingleSpec) -> Iterator[str]:
    says = f"{runs(shingle).capitalize()} were compared"
    if shingle.nfkc:
        says += "; different spellings of one character were made the same"
    if shingle.strip_accents:
        says += "; accents were removed"
    if shingle.join_hyphens:
        says += "; words were joined that had been cut at a line end"
    if not shingle.keep_case and shingle.unit != "item":
        says += "; case was ignored"
    if shingle.unit == "item":
        says += " as they are"
    elif shingle.unit == "word":
        says += "; white space and punctuation were ignored"
        says += _SIGNS[shingle.signs]
    elif shingle.alphanumeric:
        says += "; only letters and digits count"
    elif not shingle.raw:
        says += "; several spaces count as one"
    if shingle.stem:
        says += f"; words count by their {shingle.stem.capitalize()} stem"
    yield f"{says}."
    if many := len(shingle.ignore):
        one = "1 regular expression matches"
        what = one if many == 1 else f"{many:,} regular expressions match"
        yield f"Before that, what {what} was replaced by spaces."
    if many := len(shingle.stop_passages):
        yield f"The words of {counted(many, 'stop passage')} were replaced by spaces."
    if shingle.bag:
        yield "One that occurs twice counts twice."


def keeping(spec: Any) -> Step:
    """Return which documents are kept."""
    column = spec.keep.partition(":")[2]
    highest = "highest" if spec.keep.startswith("max:") else "lowest"
    first = {"first": "The first document", "longest": "The longest document"}.get(
        spec.keep, f"The document with the {highest} “{column}”"
    )
    says = f"{first} goes first. A document is removed if it is similar to one that was kept "
    says += "before, and kept otherwise. So no two kept documents are similar, as far as found, "
    says += "and each removed one has a kept one that it is a duplicate of."
    order = f" --order-by {spec.order_by}" if spec.order_by else ""
    return Step("Keeping", says, f"--keep {spec.keep}{order}")


def _grouping(spec: Any) -> str:
    if spec.cluster == "star":
        return "A cluster is a kept document with the documents that are removed for it."
    if spec.cluster in BOUNDED:
        least = f"{spec.minimum_in_cluster:g}"
        return (
            "A cluster is made of similar pairs, as long as any two of its documents are sure to "
            f"have a similarity of {least} or more."
        )
    if spec.cluster == "components":
        return (
            "Documents that are connected by similar pairs, in however many steps, are one "
            "cluster. Those at its ends may have little in common."
        )
    return (
        "Documents are grouped: many similar pairs are within clusters, and few between them "
        "(Louvain)."
    )


def runs(shingle: ShingleSpec) -> str:
    """Return the name of shingles."""
    what = _UNITS.get(shingle.unit, shingle.unit)
    if shingle.unit == "item":
        return "items"
    return f"single {what}s" if shingle.n == 1 else f"runs of {shingle.n} {what}s"


def _one_run(shingle: ShingleSpec) -> str:
    return counted(shingle.n, _UNITS.get(shingle.unit, shingle.unit))


def shingle_options(shingle: ShingleSpec) -> str:
    """Return the options of the command line for shingles."""
    parts = [f"--shingle {shingle}"]
    if shingle.stem:
        parts.append(f"--stem {shingle.stem}")
    parts += [f"--{flag.replace('_', '-')}" for flag in _FLAGS if getattr(shingle, flag)]
    if shingle.signs != "short":
        parts.append(f"--signs {shingle.signs}")
    if shingle.hash_bytes == 4:
        parts.append("--hash-bytes 4")
    parts += [f"--ignore '{pattern}'" for pattern in shingle.ignore]
    if shingle.stop_passages:
        parts.append("--stop-passages FILE")
    return " ".join(parts)
