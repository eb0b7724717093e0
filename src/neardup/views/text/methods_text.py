"""How a result was made, as a paragraph for the methods section of a publication."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from neardup.sketch.bands import candidate_probability
from neardup.spec import ShingleSpec, Spec
from neardup.values.readable import counted, percent, share

_UNITS = {"word": "word", "char": "character"}
_BRODER = (
    "A. Z. Broder. On the resemblance and containment of documents. Compression and Complexity of "
    "Sequences, 1997."
)
_INDYK = (
    "P. Indyk and R. Motwani. Approximate nearest neighbors: towards removing the curse of "
    "dimensionality. STOC, 1998."
)
_SHENOY = (
    "S. Shenoy, T.-T. Kuo, R. Gabriel, J. McAuley, C.-N. Hsu. Deduplication in a massive clinical "
    "note dataset. arXiv:1704.05617, 2017."
)
_LEE = (
    "K. Lee, D. Ippolito, A. Nystrom, C. Zhang, D. Eck, C. Callison-Burch, N. Carlini. "
    "Deduplicating training data makes language models better. ACL, 2022."
)
_FELLEGI = (
    "I. P. Fellegi and A. B. Sunter. A theory for record linkage. Journal of the American "
    "Statistical Association 64, 1969."
)


class Methods(NamedTuple):
    """A paragraph without line breaks.

    Attributes:
        says: It, with each reference in brackets.
        references: All of these, in the order of the paragraph.
    """

    says: str
    references: tuple[str, ...]

    @property
    def text(self) -> str:
        """The paragraph with numbers of its references."""
        return self.numbered(self.references)

    @property
    def lines(self) -> list[str]:
        """The paragraph, and each of its references with its number."""
        return [self.text, *(f"[{number}] {of}" for number, of in enumerate(self.references, 1))]

    def numbered(self, references: Sequence[str]) -> str:
        """Return the paragraph with the numbers that references have in a list."""
        says = self.says
        for number, of in enumerate(references, 1):
            says = says.replace(_mark(of), f" [{number}]")
        return says


def methods_of(record: Mapping[str, Any]) -> Methods:
    """Return how the result of any command was made, by its record."""
    says, references = _OF[record["command"]](record)
    where = ", on Apache Spark" if "engine" in record else ""
    return _methods(record["versions"]["neardup"], f"{where}, {says}", references)


def methods_of_index(stats: Mapping[str, Any], spec: Spec, version: str) -> Methods:
    """Return how an index answers, by its numbers."""
    how = _similar(spec.as_dict(), {name: stats[name] for name in ("num_bands", "rows")})
    says = f", an index of {counted(stats['documents'], 'document')} was searched for "
    return _methods(version, f"{says}near-duplicates. {how}", [_BRODER, _INDYK])


def _methods(version: str, says: str, references: Sequence[str]) -> Methods:
    """Return a paragraph on the work of a version, which it cites."""
    itself = f"The neardup developers. neardup {version}: near-duplicate texts, exactly verified. "
    itself += "Software."
    says = f"With neardup {version}{_mark(itself)}{says}"
    there = [of for of in (itself, *references) if _mark(of) in says]
    return Methods(says, tuple(sorted(there, key=lambda of: says.index(_mark(of)))))


def _mark(reference: str) -> str:
    return f" [{reference}]"


def _similar(spec: Mapping[str, Any], bands: Mapping[str, Any] | None) -> str:
    """Return how near-duplicates are defined, and found."""
    shingle = Spec.from_dict(dict(spec)).shingle
    says = f"Texts were compared by their sets of {_shingles(shingle)}{_form(spec['shingle'])}. "
    says += f"Two texts are near-duplicates from a Jaccard similarity of {spec['threshold']:g} on"
    says += f"{_mark(_BRODER)}. "
    if spec["within"]:
        says += f"Only documents with the same “{spec['within']}” were compared. "
    if not bands or not bands["num_bands"]:
        return says + "All pairs that can reach it were searched for, exactly."
    number, rows = bands["num_bands"], bands["rows"]
    found = percent(candidate_probability(spec["threshold"], number, rows))
    says += f"Candidates were found by MinHash signatures in {number} bands of {rows} rows"
    says += f"{_mark(_INDYK)}, which find a pair at the threshold with probability {found}, and "
    return says + "more similar ones more often; each similarity was then computed exactly."


def _shingles(shingle: ShingleSpec) -> str:
    if shingle.unit == "item":
        return "items"
    unit = _UNITS[shingle.unit]
    return f"{unit}s" if shingle.n == 1 else f"{shingle.n} consecutive {unit}s"


def _form(values: Mapping[str, Any]) -> str:
    """Return which differences of words do not count."""
    left = [] if values["keep_case"] else ["case"]
    left += ["punctuation", "white space"] if not values.get("raw") else []
    left += ["accents"] if values["strip_accents"] else []
    without = ", ".join(left[:-1]) + " and " + left[-1] if len(left) > 1 else "".join(left)
    says = f", without regard to {without}" if left else ""
    if stem := values.get("stem"):
        says += f", by their {stem.capitalize()} stems"
    return says


def _dedup(record: Mapping[str, Any]) -> tuple[str, list[str]]:
    counts, spec = record["counts"], record["spec"]
    total, removed = counts["documents"], counts["removed"]
    says = "documents were removed that are equal, byte for byte, to one that is kept. "
    if not spec["only_same"]:
        says = f"near-duplicates were removed. {_similar(spec, record['bands'])} "
        says += f"Documents were taken in order ({_order(spec)}), and one was removed if it is a "
        says += "near-duplicate of one that was kept before. "
    kinds = ""
    if "equal_words" in counts:
        near = removed - counts["same"] - counts["equal_words"]
        kinds = f": {counts['same']:,} were the same, byte for byte, {counts['equal_words']:,} had "
        kinds += f"equal words, and {near:,} were near-duplicates"
    says += f"Of {counted(total, 'document')}, {removed:,} ({share(removed, total)}) were removed"
    says += f"{kinds}."
    if spec["cluster"] == "bounded" and not spec["only_same"]:
        says += f" Clusters are bounded{_mark(_SHENOY)}."
    return says, [_BRODER, _INDYK, _SHENOY]


def _order(spec: Mapping[str, Any]) -> str:
    if spec["keep"] == "first" and spec["order_by"]:
        return f"by “{spec['order_by']}”"
    keep = {"first": "the first one first", "longest": "the longest one first"}.get(spec["keep"])
    return keep or f"by {spec['keep']}"


def _against(record: Mapping[str, Any]) -> tuple[str, list[str]]:
    counts = record["counts"]
    says = "documents of a batch were removed that are near-duplicates of an old corpus of "
    says += f"{counted(counts['old_documents'], 'document')}, or of an earlier one of the batch. "
    says += f"{_similar(record['spec'], record['bands'])} "
    says += f"Of {counted(counts['documents'], 'document')}, "
    says += f"{counts['removed']:,} ({share(counts['removed'], counts['documents'])}) were removed:"
    says += f" {counts['similar_to_old']:,} are similar to the old corpus, and "
    return says + f"{counts['similar_within']:,} to the batch itself.", [_BRODER, _INDYK]


def _passages(record: Mapping[str, Any]) -> tuple[str, list[str]]:
    counts, spec, cut = record["counts"], record["spec"], record["cut"]
    earlier = "an earlier document"
    earlier += f" of the same “{spec['within']}”" if spec["within"] else ""
    earlier += f" of another “{spec['across']}”" if spec["across"] else ""
    order = f"by “{spec['order_by']}”" if spec["order_by"] else "of the input"
    says = "copied passages were searched for. A word is copied if it is in a run of "
    says += f"{spec['words']} consecutive words or more{_form(spec)}, that occurs in {earlier}, in "
    says += f"the order {order}{_mark(_LEE)}; the search is exact. Of {counts['words']:,} words in "
    says += f"{counted(counts['documents'], 'document')}, {counts['copied_words']:,} "
    says += f"({share(counts['copied_words'], counts['words'])}) are copied"
    if spec["boilerplate"]:
        says += f", and {counts['boilerplate_words']:,} are boilerplate: runs in "
        says += f"{spec['boilerplate']:,} documents or more"
    says += "."
    if cut["cut"] or cut["cut_boilerplate"]:
        says += f" {counts['cut_words']:,} words were cut."
    if counts["dropped"]:
        says += f" {counted(counts['dropped'], 'document')} were left out."
    return says, [_LEE]


def _decontaminate(record: Mapping[str, Any]) -> tuple[str, list[str]]:
    counts, settings = record["counts"], record["settings"]
    unit, _, n = settings["shingle"].partition(":")
    what = f"{n} consecutive {_UNITS[unit]}s"
    says = "a training corpus was searched for test items, exactly. A document matches an item if "
    if settings["by"] == "passage":
        says += f"both have {what} in common{_form(settings)}"
    elif settings["by"] == "containment":
        says += f"it has {percent(settings['threshold'])} or more of the item's runs of {what}"
        says += f"{_form(settings)}{_mark(_BRODER)}"
    else:
        says += f"the Jaccard similarity of their runs of {what}{_form(settings)} is "
        says += f"{settings['threshold']:g} or more{_mark(_BRODER)}"
    says += (
        f". {counts['test_items_found']:,} of {counted(counts['test_items'], 'test item')} were "
    )
    says += f"found in {counts['contaminated']:,} of {counted(counts['documents'], 'document')} "
    says += f"({share(counts['contaminated'], counts['documents'])}); "
    cut = f"{counts['cut_words']:,} words that match were cut."
    says += cut if settings["cut"] else "these documents were removed."
    if left := counts["test_items_left_out"]:
        says += (
            f" {counted(left, 'item')} that more than {percent(settings['max_documents'])} of the "
        )
        says += f"documents have {'was' if left == 1 else 'were'} left out."
    return says, [_BRODER]


def _link(record: Mapping[str, Any]) -> tuple[str, list[str]]:
    counts, spec = record["counts"], record["spec"]
    names = ", ".join(f"“{field['name']}”" for field in spec["fields"])
    says = f"{counted(counts['records'], 'record')} of {counted(counts['sources'], 'source')} were "
    says += f"linked by {names}. Of {counts['possible']:,} possible pairs {counts['candidates']:,} "
    says += f"were candidates, with an expected recall of {percent(counts['recall'])} at a "
    says += f"similarity of {counts['block_at']:g}{_mark(_INDYK)}. Pairs were decided by the log "
    says += "odds of the agreement of their fields, with weights that were learnt from the records "
    says += f"themselves{_mark(_FELLEGI)}. {counted(counts['pairs'], 'pair')} are one, in "
    return says + f"{counted(counts['clusters'], 'group')}.", [_INDYK, _FELLEGI]


_OF: dict[str, Callable[[Mapping[str, Any]], tuple[str, list[str]]]] = {
    "dedup": _dedup,
    "recluster": _dedup,
    "dedup --against": _against,
    "passages": _passages,
    "decontaminate": _decontaminate,
    "link": _link,
}
