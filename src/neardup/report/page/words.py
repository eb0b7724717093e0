"""What a run did and found, in words that need no knowledge of the method."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePath
from typing import Any, NamedTuple

from neardup.report.audit import without_partners
from neardup.report.numbers import percent, size
from neardup.report.visible import visible
from neardup.run.finished import FinishedRun
from neardup.spec import BOUNDED, ShingleSpec, Spec

__all__ = ["Fact", "Step", "facts", "name_of", "share", "steps"]


class Step(NamedTuple):
    """Something that was done.

    Attributes:
        name: In a word or two.
        says: In some sentences.
        options: As they are called on the command line.
    """

    name: str
    says: str
    options: str = ""


class Fact(NamedTuple):
    """A number that came out.

    Attributes:
        name: What it counts.
        value: As a person reads it.
        says: What it means.
        kind: ``kept``, ``near``, ``exact`` or ``""``: its colour.
    """

    name: str
    value: str
    says: str
    kind: str = ""

    @property
    def number(self) -> bool:
        """Whether the value is known."""
        return self.value[0].isdigit()


def name_of(run: FinishedRun) -> str:
    """Return what the corpus is called: the names of its files, without folders."""
    source = run.record["source"]
    if source is None or not source["given"]:
        return "a table or a pipe"
    names = [visible(PurePath(path).name or str(path)) for path in source["given"]]
    shown = ", ".join(names[:3])
    return shown if len(names) <= 3 else f"{shown} and {len(names) - 3} more"


def facts(
    run: FinishedRun, removed_bytes: tuple[int, int] | None, audit: dict[str, Any] | None
) -> list[Fact]:
    """Return the figures of a run, the first ones first.

    Args:
        run: The run.
        removed_bytes: Bytes of the texts that are removed, and of all; None if not known.
        audit: What an audit of the run found; None if there was none.
    """
    counts = run.record["counts"]
    total, exact = counts["documents"], counts["exact_duplicates"]
    near = counts["removed"] - exact
    found = [
        Fact("Documents", f"{total:,}", f"read from {name_of(run)}"),
        Fact(
            "Kept",
            f"{counts['kept']:,}",
            f"{share(counts['kept'], total)}; these are the clean corpus",
            "kept",
        ),
        Fact(
            "Near duplicates",
            f"{near:,}",
            f"{share(near, total)}; removed, since a kept text is nearly the same",
            "near",
        ),
        Fact(
            "Exact duplicates",
            f"{exact:,}",
            f"{share(exact, total)}; the same words in the same order as an earlier text"
            + (
                f", {counts['equal_bytes']:,} of them the same byte for byte"
                if counts["equal_bytes"] < exact
                else ""
            ),
            "exact",
        ),
    ]
    if removed_bytes is None:
        found.append(Fact("Can go", "not known", "the texts could not be read to measure them"))
    else:
        gone, of = removed_bytes
        found.append(
            Fact(
                "Can go",
                size(gone),
                f"of {size(of)} of text ({share(gone, of)}): the removed texts, in UTF-8",
            )
        )
    return [*found, *_recall(run, audit)]


def _recall(run: FinishedRun, audit: dict[str, Any] | None) -> Iterator[Fact]:
    spec, bands = run.spec, run.record["bands"]
    if bands is None:
        yield Fact("Recall, predicted", "100 %", "all pairs were searched for, exactly")
    else:
        yield Fact(
            "Recall, predicted",
            percent(bands["predicted_recall"]),
            f"of the pairs whose similarity is just {spec.edge_threshold:g} are found; more of "
            "those that are more alike",
        )
    if audit is None:
        yield Fact("Recall, audited", "not yet", "neardup audit measures it on these documents")
    elif audit["recall"] is None:
        yield Fact(
            "Recall, audited",
            "not known",
            without_partners(audit),
        )
    else:
        low, high = percent(audit["recall_low"]), percent(audit["recall_high"])
        missed = audit["missed_pairs"]
        yield Fact(
            "Recall, audited",
            percent(audit["recall"]),
            f"of the true partners of {audit['sampled']:,} documents, drawn at random, were found "
            f"(95 % interval {low} to {high}); "
            + ("no pair was missed" if not missed else f"{missed:,} pairs were missed"),
        )


def steps(run: FinishedRun) -> list[Step]:
    """Return what was done, in order."""
    return [
        _read(run),
        _compared(run.spec.shingle),
        Step(
            "Similarity",
            f"Two texts are as similar as the share of {_runs(run.spec.shingle)} that both have, "
            "among all that either has: 1 if they have the same ones, 0 if they have none in "
            f"common. From {run.spec.edge_threshold:g} on, one counts as a near duplicate of the "
            "other.",
            f"--edge-threshold {run.spec.edge_threshold:g}",
        ),
        _found(run),
        _grouped(run.spec),
        _kept(run.spec),
    ]


def _read(run: FinishedRun) -> Step:
    counts, source = run.record["counts"], run.record["source"]
    says = f"{counts['documents']:,} documents were read from {name_of(run)}"
    options = ""
    if source is not None:
        columns = [visible(name) for name in source["text"]]
        says += f"; the text is {' and '.join(f'“{name}”' for name in columns)}"
        options = f"--text {','.join(columns)}"
        if source["id"] is not None:
            says += f", the id “{visible(source['id'])}”"
            options += f" --id {visible(source['id'])}"
    extra = []
    if counts["empty"]:
        extra.append(
            f"{counts['empty']:,} without any word are kept, and nothing is said to repeat them"
        )
    if counts["short"]:
        extra.append(
            f"{counts['short']:,} are shorter than {_runs(run.spec.shingle, one=True)}; such a "
            "text is found only where it is repeated word for word"
            if run.spec.shingle.unit == "word"
            else f"{counts['short']:,} are shorter than {_runs(run.spec.shingle, one=True)}; such "
            "a text is found only where it is repeated as it is"
        )
    return Step("Reading", ". ".join([says, *extra]) + ".", options)


def _compared(shingle: ShingleSpec) -> Step:
    before = []
    if shingle.nfkc:
        before.append("brought different spellings of the same character into one form")
    if shingle.strip_accents:
        before.append("taken off accents")
    if not shingle.keep_case:
        before.append("turned into lower case")
    says = f"Each text was {_list(before)}" if before else "Each text was taken as it is"
    if shingle.unit == "word":
        says += " and cut into words, without punctuation"
        if shingle.stem is not None:
            language = shingle.stem.capitalize()
            says += f"; words count by their {language} stem, so that endings don't matter"
        says += f". {_runs(shingle).capitalize()} are what is compared"
    else:
        if not shingle.raw:
            says += "; several blanks count as one"
        says += f". {_runs(shingle).capitalize()} are what is compared, punctuation included"
    says += (
        "; one that occurs twice counts twice" if shingle.bag else "; how often one occurs is not"
    )
    options = f"--shingle {shingle}"
    options += f" --stem {shingle.stem}" if shingle.stem else ""
    for name in ("keep_case", "nfkc", "strip_accents", "raw", "bag"):
        if getattr(shingle, name):
            options += " --" + name.replace("_", "-")
    return Step("Comparing", says + ".", options)


def _found(run: FinishedRun) -> Step:
    spec, bands, counts = run.spec, run.record["bands"], run.record["counts"]
    verified = f"{counts['verified']:,} pairs were compared exactly"
    if bands is None:
        says = (
            "All pairs that can reach this similarity were looked for, without sampling and "
            f"without estimates; {verified}."
        )
        return Step("Finding", says, "--method allpairs")
    says = (
        f"Texts that may be similar were found by {bands['num_bands']} bands of {bands['rows']} "
        "rows of their signatures: short summaries, which agree the more often the more alike two "
        f"texts are. A pair of similarity {spec.edge_threshold:g} is found this way with a "
        f"probability of {percent(bands['predicted_recall'])}. {verified}; nothing was decided by "
        "an estimate."
    )
    return Step("Finding", says, f"--bands {bands['num_bands']} --rows {bands['rows']}")


def _grouped(spec: Spec) -> Step:
    edge = f"{spec.edge_threshold:g}"
    says = {
        "star": f"Documents joined a kept one that they are similar to by {edge} or more.",
        "components": "Documents that are joined by similar pairs, over however many steps, are "
        "one cluster. Those at its ends may have little in common.",
        "louvain": "Documents were grouped so that similar pairs lie within clusters and few "
        "between them (Louvain).",
    }.get(
        spec.cluster,
        f"Documents that are joined by similar pairs are one cluster, as long as any two documents "
        f"of it are sure to have a similarity of {spec.tree_threshold:g} or more.",
    )
    options = f"--cluster {spec.cluster}"
    if spec.cluster in BOUNDED:
        options += f" --tree-threshold {spec.tree_threshold:g}"
        if spec.cluster == "bounded-mst":
            says += " The most similar pairs were joined first."
        if spec.second_round:
            says += (
                " In a second round, clusters were merged where all of their documents turned out "
                "to be that similar."
            )
            options += " --second-round"
    return Step("Grouping", says, options)


def _kept(spec: Spec) -> Step:
    how, _, column = spec.keep.partition(":")
    column = visible(column)
    which = {
        "first": "the first one in the input",
        "longest": "the longest one",
        "max": f"the one with the highest “{column}”",
        "min": f"the one with the lowest “{column}”",
    }[how]
    says = (
        f"Of documents that repeat each other, {which} is kept. A document is removed only if a "
        f"kept one of its cluster has a similarity of {spec.edge_threshold:g} or more with it, "
        "computed exactly."
    )
    return Step("Keeping", says, f"--keep {visible(spec.keep)}")


def _runs(shingle: ShingleSpec, one: bool = False) -> str:
    what = "word" if shingle.unit == "word" else "character"
    if shingle.n == 1:
        return f"one {what}" if one else f"single {what}s"
    return f"{shingle.n} {what}s" if one else f"runs of {shingle.n} {what}s"


def _list(items: list[str]) -> str:
    if len(items) < 3:
        return " and ".join(items)
    return ", ".join(items[:-1]) + " and " + items[-1]


def share(part: int, whole: int) -> str:
    """Return a part in percent of the whole."""
    return f"{100 * part / whole:.1f} %" if whole else "0 %"
