"""The section of the page on clustering: tables 5 to 7 and figure 9."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from experiments import paper
from experiments.claims import row_of
from experiments.clustering import (
    BANDS,
    LOUVAIN,
    MAIN,
    METHODS,
    PUBLISHED,
    ROOTS,
    ROOTS_SKIPPED,
    SECOND,
    TREE,
    named,
)
from experiments.markdown import chart, count, per_cent, table

__all__ = ["clustering"]

Found = dict[str, Any]

#: Columns of table 7, as in `paper.TABLE_7`.
_TABLE_7 = ("same_high", "same_mid", "same_low", "different_high", "modularity", "clusters")
_PAPER, _OURS = named(paper.BANDS), named(BANDS)


def _each(found: Found) -> Iterator[tuple[str, Found]]:
    """Yield the title and the counts of each source with each number of bands."""
    for source in found.values():
        for bands, setting in source["settings"].items():
            yield f"{source['title']} {bands}", setting


def clustering(found: Found) -> str:
    """Return the section with tables 5 to 7 and figure 9."""
    first = next(iter(found.values()))
    documents = ", ".join(f"{s['title']} {count(s['documents'])}" for s in found.values())
    candidates = [[title, count(setting["candidates"])] for title, setting in _each(found)]
    ours = first["settings"][_OURS]
    sets = row_of(ours, PUBLISHED)
    needed = ours["candidates"] - sets["excluded"]
    louvain = sum(row_of(ours, LOUVAIN)[f"same_{kind}"] for kind in ("high", "mid", "low"))
    table_7 = "\n\n".join(f"{title}:\n\n{_table_7(setting)}" for title, setting in _each(found))
    return f"""\
The notes and {first["duplicates"]} near-duplicates with 0 to 20 % of the words changed; tree
threshold {TREE}, threshold {paper.THRESHOLDS[0]} to {paper.THRESHOLDS[-1]}. Candidates are those of
{_PAPER} bands and rows, as in the paper from section 9.2 on, and beside them those of {_OURS}, the
fewest of 4 rows that find a pair at {paper.THRESHOLDS[0]} with a probability of 0.99; they are the
same for all thresholds. All counts are in [clustering.csv](clustering.csv). Tables have draw 1;
verdicts above rest on all draws. Documents: {documents}; the paper {count(paper.DOCUMENTS)}.

{table(["candidate pairs", ""], [["paper", count(paper.CANDIDATES)], *candidates])}

* *{PUBLISHED}*: section 6 as its prose says. Candidate pairs are taken in the order of bands, and
two notes that are in one set already are not compared
(`experiments.published.bounded_in_given_order`).
* *{ROOTS}*, and *{ROOTS_SKIPPED}*: other readings of section 6.5, see below. The second one is
what `--cluster disjoint-sets` gives (`neardup.cluster.disjoint_sets`).
* *{SECOND}*: the first one, and then clusters merge that are similar, see below
(`experiments.second_round`).
* *bounded*, *star*, *components*, *louvain*: what `--cluster` gives. These are functions of the
edges, that is of the candidates that reach the threshold, and need all of their similarities.
`bounded` has the guarantee of disjoint sets, and takes edges from the most similar one down.
* *{LOUVAIN}*: Louvain on the graph of all candidates, weighted by similarity, as in table 7.

Pairs are candidate pairs, and modularity is that of the graph of the candidates, weighted by
similarity: the paper's three numbers for Louvain add up to its {count(paper.CANDIDATES)}
candidates, as ours do to {count(louvain)} ({first["title"]}, {_OURS}). The columns `all_...` of the
CSV count all pairs of documents.

{chart("tables5-6", "Candidates not compared, modularity and clusters against the threshold")}

### Table 5: pairs excluded from comparison

{_by_threshold(found, "paper", _excluded)}

Candidates over pairs compared, the speed-up:

{_by_threshold(found, "paper", _speed_up)}

In the published order. Why they differ: what can be excluded are pairs within large groups. With
{_OURS}, the paper excludes about as many up to {MAIN} and fewer above it, as our synthetic notes
do. With {_PAPER}, far more distant pairs are candidates here than in the paper, and distant ones
are always compared. In the real notes hardly any group is large enough.

### Section 6.5, read in three ways

The prose compares the documents of a bucket that are not in one set yet. The pseudo-code of
`find_candidate_pairs` puts the root of its set in place of each document first, and compares all
pairs of roots: such pairs may be no candidates themselves. The third reading leaves out, too, what
has been united meanwhile. *Excluded* is how many fewer distinct pairs are compared than there are
candidates, at {MAIN}; the paper has {per_cent(paper.EXCLUDED[MAIN] / paper.CANDIDATES)}.

{_readings(found)}

{first["title"]}, excluded by threshold:

{_readings_by_threshold(first)}

All three make nearly the same sets. The last one compares fewest pairs by far where groups are
large; the first one is nearest to the paper's numbers with {_OURS}.

### A second round

Section 10.1 says in a sentence that a second round of clustering may merge clusters of highly
similar documents; it gives neither a rule nor a number. neardup had it as an option and [dropped
it](../decisions/0025-no-second-round.md). Here, two sets that a compared pair joins, one that
reaches the threshold, are compared document by document, and merge if all of their pairs reach the
tree threshold:

{_second_round(found)}

So it mends most of what the bound separates at low thresholds, for few comparisons more, and at
{MAIN} and above there is little to mend.

### Table 6: modularity and number of clusters

{_by_threshold(found, "modularity: paper", _modularity)}

{_by_threshold(found, "clusters: paper", _clusters)}

In the published order; clusters of two or more documents. Documents in no such cluster, singletons,
which the paper mentions without numbers; the last line is that of Louvain's clusters:

{_singletons(found)}

Why they differ: {_table_6_says(first["settings"][_OURS])}

### Figure 9: pairs by category

With {_PAPER}:

{chart("fig9", f"Pairs in the same set and in different sets against the threshold, {_PAPER}")}

With {_OURS}:

{chart("fig9-more-rows", f"Pairs in the same and in different sets against the threshold, {_OURS}")}

Same set, high / different sets, high / same set, mid; the axis is linear up to 1 and logarithmic
from there. The paper has curves, and numbers at {MAIN} alone (table 7), drawn as diamonds; in its
text, high pairs in different sets are fewest from 80 % on, and mid pairs
peak at 70 %:

{_by_threshold(found, "paper", _figure_9)}

### Table 7: disjoint sets and Louvain at {MAIN}

{table_7}

*Pairs compared* of disjoint sets are the candidates that are not excluded, and comparisons of the
roots of two trees, which the tree threshold asks for: on the {first["title"]} with {_OURS}
{count(ours["candidates"])} - {count(sets["excluded"])} = {count(needed)} candidates, and
{count(sets["compared"] - needed)} comparisons of roots. The paper's number is its
candidates less those excluded. The speed-up is of all pairs compared.

Why they differ: the families of the synthetic notes give about as many candidates as the paper's
notes, but far more of them are high. How many are just above and just below {MAIN}, where sets
separate pairs and Louvain joins mid ones, is a matter of the notes. Nearly all that is similar in
MTSamples are exact copies and our own near-duplicates, in groups of two to five. No note of
ACI-BENCH is similar to another one, so that all groups are a note and its near-duplicates, of which
few reach {MAIN}. In small groups there is hardly a pair to exclude or to separate."""


def _by_threshold(found: Found, first: str, cells: Callable[[Found, float], list[str]]) -> str:
    """Return a table with a line for each threshold; the paper's number is the first cell."""
    rows = [[f"{t:.2f}", *cells(found, t)] for t in paper.THRESHOLDS]
    return table(["threshold", first, *(title for title, _ in _each(found))], rows)


def _rows(found: Found, threshold: float) -> Iterator[tuple[Found, Found]]:
    for _, setting in _each(found):
        yield setting, row_of(setting, PUBLISHED, threshold)


def _excluded(found: Found, threshold: float) -> list[str]:
    numbers = [(paper.EXCLUDED[threshold], paper.CANDIDATES)]
    numbers += [(row["excluded"], of["candidates"]) for of, row in _rows(found, threshold)]
    return [f"{count(excluded)} ({per_cent(excluded / of)})" for excluded, of in numbers]


def _speed_up(found: Found, threshold: float) -> list[str]:
    published = paper.CANDIDATES / (paper.CANDIDATES - paper.EXCLUDED[threshold])
    times = [of["candidates"] / row["compared"] for of, row in _rows(found, threshold)]
    return [f"{value:.2f}" for value in (published, *times)]


def _readings(found: Found) -> str:
    rows = []
    for title, setting in _each(found):
        for method in (PUBLISHED, ROOTS, ROOTS_SKIPPED):
            row, of = row_of(setting, method), setting["candidates"]
            cells = (count(row["compared"]), per_cent(row["excluded"] / of))
            times = f"{of / row['compared']:.2f}"
            rest = (count(row["clusters"]), count(row["different_high"]))
            rows.append([title, method, *cells, times, *rest])
    header = ["", "reading", "pairs compared", "excluded", "speed-up", "clusters"]
    return table([*header, "high pairs separated"], rows)


def _readings_by_threshold(source: Found) -> str:
    settings = source["settings"].items()
    methods = (PUBLISHED, ROOTS, ROOTS_SKIPPED)
    rows = [
        [f"{t:.2f}", per_cent(paper.EXCLUDED[t] / paper.CANDIDATES)]
        + [
            per_cent(row_of(setting, method, t)["excluded"] / setting["candidates"])
            for _, setting in settings
            for method in methods
        ]
        for t in paper.THRESHOLDS
    ]
    names = ("documents", "roots", "roots, united ones skipped")
    header = [f"{bands}: {name}" for bands, _ in settings for name in names]
    return table(["threshold", "paper", *header], rows)


def _second_round(found: Found) -> str:
    rows = []
    for title, setting in _each(found):
        for threshold in (paper.THRESHOLDS[0], MAIN, paper.THRESHOLDS[-1]):
            before, after = (row_of(setting, m, threshold) for m in (PUBLISHED, SECOND))
            pairs = [
                f"{count(before[key])} / {count(after[key])}"
                for key in ("different_high", "same_mid", "clusters")
            ]
            more = after["compared"] - before["compared"]
            numbers = map(count, (after["tried"], after["merged"], more))
            rows.append([f"{title}, {threshold:.2f}", *pairs, *numbers])
    header = ["before / after", "high pairs separated", "mid pairs within", "clusters"]
    return table([*header, "pairs of clusters", "merged", "more comparisons"], rows)


def _modularity(found: Found, threshold: float) -> list[str]:
    values = [row["modularity"] for _, row in _rows(found, threshold)]
    return [f"{value:.3f}" for value in (paper.MODULARITY[threshold], *values)]


def _clusters(found: Found, threshold: float) -> list[str]:
    values = [row["clusters"] for _, row in _rows(found, threshold)]
    return [count(value) for value in (paper.CLUSTERS[threshold], *values)]


def _singletons(found: Found) -> str:
    rows = [
        [f"{t:.2f}", *(count(row["singletons"]) for _, row in _rows(found, t))]
        for t in paper.THRESHOLDS
    ]
    communities = (row_of(setting, LOUVAIN)["singletons"] for _, setting in _each(found))
    rows.append([LOUVAIN, *map(count, communities)])
    return table(["threshold", *(title for title, _ in _each(found))], rows)


def _figure_9(found: Found, threshold: float) -> list[str]:
    kinds = ("same_high", "different_high", "same_mid")
    high, mid, _, apart, *_ = paper.TABLE_7["paper: disjoint sets"]
    published = f"{high} / {apart} / {mid}" if threshold == MAIN else ""
    lines = [row for _, row in _rows(found, threshold)]
    return [published, *(" / ".join(count(line[kind]) for kind in kinds) for line in lines)]


def _table_6_says(found: Found) -> str:
    """Compare the shape of the paper's curves with those of one source."""
    low, high = paper.THRESHOLDS[0], paper.THRESHOLDS[-1]
    lines = {t: row_of(found, PUBLISHED, t) for t in (low, MAIN, high)}
    ours = {
        kind: [lines[t][kind] for t in (low, MAIN, high)] for kind in ("modularity", "clusters")
    }
    modularity, published = (
        "{:.3f}, {:.3f} and {:.3f}".format(*values)
        for values in (ours["modularity"], [paper.MODULARITY[t] for t in lines])
    )
    return f"""modularity counts the similarity that stays within sets, which becomes less where the
threshold separates pairs: in the paper it is {published} at {low}, {MAIN} and {high}, on our
synthetic notes ({_OURS}) {modularity}. Ours is higher, since more of the candidates are high. The
paper has {paper.CLUSTERS[low]} clusters at {low}, and from {MAIN} to {high} always
{paper.CLUSTERS[high]}: as many have a pair that reaches {high} as have one that reaches {MAIN}.
Ours fall from {ours["clusters"][0]} to {ours["clusters"][2]}, since many are a note and one
near-duplicate with up to 20 % of its words changed, which a high threshold separates."""


def _table_7(setting: Found) -> str:
    compared = count(paper.CANDIDATES - paper.EXCLUDED[MAIN])
    rows = [
        [name, *cells, "", "", compared if "sets" in name else ""]
        for name, cells in paper.TABLE_7.items()
    ]
    for method in METHODS:
        row = row_of(setting, method)
        cells = [f"{row[k]:.3f}" if k == "modularity" else count(row[k]) for k in _TABLE_7]
        rest = (count(row[key]) for key in ("singletons", "largest", "compared"))
        rows.append([method, *cells, *rest])
    header = ["", "same set: high", "mid", "low", "different sets: high", "modularity", "clusters"]
    return table([*header, "singletons", "largest", "pairs compared"], rows)
