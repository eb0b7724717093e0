"""How passages, linkages and matches were found, in words that need no knowledge of the method."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Any

from neardup.spec import ShingleSpec, Spec
from neardup.values.readable import counted, percent
from neardup.views.page import run_words
from neardup.views.page.page_model import Step

_FORMS = {
    "nfkc": "different spellings of one character were made the same",
    "strip_accents": "accents were removed",
    "join_hyphens": "words were joined that had been cut at a line end",
}


def of_versions(record: Mapping[str, Any]) -> Step:
    """Return with which versions a result was made."""
    versions = record.get("versions", {})
    named = (f"{'Python' if name == 'python' else name} {it}" for name, it in versions.items())
    return Step("Versions", f"{', '.join(named)}." if versions else "Not noted.")


def of_passages(record: Mapping[str, Any]) -> Iterator[Step]:
    """Yield how copied passages were found."""
    counts, spec, cut = record["counts"], record["spec"], record["cut"]
    yield _reading(record, f"{counts['documents']:,} documents")
    yield _words(spec)
    yield Step("Finding", _finding(record), _options(spec, "words", "order_by", "within", "across"))
    says = "All such runs were found: the search is exact. A passage that was written in other "
    says += "words is not found, and a phrase that many people use counts as copied."
    yield Step("Recall", says)
    if spec["boilerplate"]:
        says = f"A run that {spec['boilerplate']:,} documents or more have is boilerplate, and is "
        says += "counted apart from copied words."
        yield Step("Boilerplate", says, _options(spec, "boilerplate"))
    if cut["cut"] or cut["cut_boilerplate"]:
        says = f"{counts['cut_words']:,} words were left out of the clean corpus; each of them "
        says += "stands in a document before."
        yield Step("Cutting", says, _options(cut, *cut))
    yield of_versions(record)


def _finding(record: Mapping[str, Any]) -> str:
    spec = record["spec"]
    says = f"A run of {spec['words']:,} words is copied if an equal one begins in an earlier "
    says += "document"
    if spec["within"]:
        says += f" of the same {spec['within']}"
    if spec["across"]:
        says += f" of another {spec['across']}"
    says += f", by {spec['order_by']}" if spec["order_by"] else ", in the order of the input"
    says += ", or before in the same one. A word counts once, in however many runs it is."
    if record["against"] is not None:
        says += " Documents of the old corpus are earlier than all others."
    if spec["bridge"]:
        says += f" Passages with up to {counted(spec['bridge'], 'other word')} between them are "
        says += "one, and these words count as changed."
    return says


def of_matches(record: Mapping[str, Any]) -> Iterator[Step]:
    """Yield how test items were found in documents."""
    counts, spec = record["counts"], record["settings"]
    reading = _reading(record, f"{counts['documents']:,} documents")
    items = f"{reading.says} {counts['test_items']:,} test items were read"
    yield reading._replace(says=f"{items}{_from(record['test_source']['given'])}.")
    yield _words(spec)
    what = run_words.runs(ShingleSpec(spec["shingle"]))
    says = f"A document matches if it has a complete item, or from a share of {spec['threshold']:g}"
    says += f" on of the {what} of one within so many words."
    if spec["by"] == "similarity":
        says = f"A document matches if its similarity to an item is {spec['threshold']:g} or more: "
        says += f"the share of {what} that both have, among all that either has."
    yield Step("Finding", says, _options(spec, "by", "threshold", "shingle", "min_words"))
    says = "All matches were found: the search is exact. An item in other words, or translated, is "
    yield Step("Recall", f"{says}not found.")
    what = "cut out of its documents" if spec["cut"] else "left out with its document"
    yield Step("Removing", f"A match is {what}.", _options(spec, "cut", "mask"))
    yield of_versions(record)


def of_batch(record: Mapping[str, Any]) -> Iterator[Step]:
    """Yield how a batch was compared with an old corpus, or a corpus with itself on Spark."""
    counts, spec = record["counts"], Spec.from_dict(record["spec"])
    yield _reading(record, f"{counts['documents']:,} documents")
    yield from run_words.comparing(spec)
    says = "All pairs that can reach the threshold were compared exactly."
    if bands := record["bands"]:
        says = f"Candidates share one of {bands['num_bands']} bands of {bands['rows']} rows of "
        says += "their signatures, and were compared exactly. A pair with a similarity of "
        says += (
            f"{spec.threshold:g} is found with probability {percent(bands['predicted_recall'])}."
        )
    yield Step("Finding", says, run_words.band_options(bands))
    if "old_documents" in counts:
        says = f"The {counts['old_documents']:,} documents of the old corpus come first: a document"
        says += " is removed if it is similar to one of them, or to a kept one of the batch."
        yield Step("Keeping", says)
    else:
        yield run_words.keeping(spec)
    yield of_versions(record)


def of_linkage(summary: Mapping[str, Any]) -> Iterator[Step]:
    """Yield how records were linked."""
    counts, spec = summary["counts"], summary["spec"]
    fields = [field["name"] for field in spec["fields"]]
    says = f"{counts['records']:,} records were compared by {', '.join(fields)}."
    yield Step("Reading", says, f"--fields {','.join(fields)}")
    says = "Pairs that may be the same share a part of a record or of a field: "
    says += f"{counts['candidates']:,} of {counts['possible']:,} pairs were compared. A pair of "
    says += f"similarity {counts['block_at']:g} is among them with probability "
    says += f"{percent(counts['recall'])}."
    yield Step("Finding", says, _options(spec, "block_at", "recall"))
    says = "Each field of a pair speaks for or against it, the more the rarer an equal value is. "
    says += "The weights were learnt from the records, and from marks where there are enough. A "
    says += f"pair is the same from a score of {spec['decide_at']:g} on, which is its probability "
    says += "if fields are independent."
    if spec["must_agree"]:
        says += " Records that differ in a field that must agree are different."
    yield Step("Deciding", says, _options(spec, "decide_at", "must_agree"))
    says = "Records are grouped such that most pairs of a group are the same by themselves."
    if spec["cluster"] != "average":
        says = f"Records are grouped by the method “{spec['cluster']}”."
    yield Step("Grouping", says, _options(spec, "cluster", "one_to_one"))
    says = "Scores near the limit are often wrong: mark doubtful pairs, and link again with the "
    yield Step("Limits", f"{says}marks.", "--labels labels.csv")
    if "versions" in summary:
        yield of_versions(summary)


def _reading(record: Mapping[str, Any], what: str) -> Step:
    source = record["source"]
    if not source:
        return Step("Reading", f"{what} were read.")
    options = _options({**source, "text": ",".join(source["text"])}, "text", "id")
    return Step("Reading", f"{what} were read{_from(source['given'])}.", options)


def _from(given: Sequence[str]) -> str:
    """Return the names of some files, the first three of them; nothing of a frame."""
    names = [PurePath(path).name or str(path) for path in given]
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return f" from {', '.join(names[:3])}{more}" if names else ""


def _words(spec: Mapping[str, Any]) -> Step:
    says = ["Words were compared, without white space and punctuation"]
    says += [] if spec["keep_case"] else ["case was ignored"]
    says += [text for name, text in _FORMS.items() if spec.get(name)]
    if spec.get("stem"):
        says.append(f"words count by their {spec['stem'].capitalize()} stem")
    return Step("Comparing", f"{'; '.join(says)}.", _options(spec, "stem", "keep_case", *_FORMS))


def _options(spec: Mapping[str, Any], *names: str) -> str:
    """Return settings as options of the command line, but for those that are not set."""
    found = []
    for name in names:
        value, flag = spec.get(name), f"--{name.replace('_', '-')}"
        if value is True:
            found.append(flag)
        elif value not in (None, False, [], ()):
            listed = ",".join(map(str, value)) if isinstance(value, list | tuple) else value
            found.append(f"{flag} {listed}")
    return " ".join(found)
