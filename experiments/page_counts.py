"""The sections of the page with counts: accuracy and clustering."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from experiments import paper
from experiments.accuracy import THRESHOLDS
from experiments.claims import row_of
from experiments.clustering import BANDS, LOUVAIN, MAIN, METHODS, PUBLISHED, TREE, WIDE_BANDS
from experiments.markdown import chart, count, per_cent, table

__all__ = ["accuracy", "clustering"]

Found = dict[str, Any]

_BANDS, _WIDE = ("{} bands of {} rows".format(*bands) for bands in (BANDS, WIDE_BANDS))
_WHY = {
    1: """the paper misses none with 50 bands of 2 rows. Of pairs exactly at 0.2 one in eight is
missed, so that a few of ours are too, where there are pairs just above 0.2.""",
    2: """the prediction follows the similarities that there are. Counts scatter around it, and
widely where pairs come in groups: notes of one family share a phrase, and so share a bucket
together or not at all.""",
    3: """as with 0.3; few pairs are just above 0.4, so that fewer are missed, and all candidates
below it count as false.""",
}
#: Columns of table 7, as in `paper.TABLE_7`.
_TABLE_7 = ("same_high", "same_mid", "same_low", "different_high", "modularity", "clusters")


def accuracy(found: Found) -> str:
    """Return the section with figures 1 to 3."""
    titles = [source["title"] for source in found.values()]
    first = next(iter(found.values()))
    figures = "\n\n".join(
        f"""### Figure {number}: threshold {threshold}

{chart(f"fig{number}", f"False candidates and missed pairs against bands, threshold {threshold}")}

Why they differ: {_WHY[number]}"""
        for number, threshold in enumerate(THRESHOLDS, start=1)
    )
    worst = ", ".join(_worst(source) for source in found.values())
    return f"""\
The notes and {first["duplicates"]} near-duplicates with 10 % of the words changed. Candidates of
banding are compared with the pairs whose exact similarity reaches the threshold. Points are
counted; dashed lines are what `1 - (1 - s^r)^b` predicts for the similarities that there are. The
axes of counts are linear up to 1, so that 0 is on them, and logarithmic from there; points on one
another are equal counts. All counts are in [accuracy.csv](accuracy.csv). The paper has curves, and
two numbers in its text.

With 50 bands of 2 rows; the prediction is in parentheses:

{table(["", "paper", *titles], _at_50_by_2(found))}

Why they differ: false candidates come from pairs not far below the threshold, of which our notes
have other numbers than the paper's. And a prediction is a mean. Counts scatter widely around it
where many notes share one phrase.

*About 250 at worst* is read as a number of 50 bands of 2 rows. Over all bands and rows of
accuracy.csv, false candidates reach {worst}.

{figures}"""


def _worst(source: Found) -> str:
    row = max(source["rows"], key=lambda row: row["false"])
    return f"{count(row['false'])} ({source['title']}: {row['bands']} x {row['rows']})"


def _at_50_by_2(found: Found) -> list[list[str]]:
    rows = [
        [f"pairs that reach {t}", "", *(count(s["true"][str(t)]) for s in found.values())]
        for t in THRESHOLDS
    ]
    shown = {"missed": ("missed pairs", "0"), "false": ("false candidates", "about 250 at worst")}
    for what, (label, published) in shown.items():
        for threshold in THRESHOLDS:
            cells = [
                f"{count(row[what])} ({row[f'predicted_{what}']:.1f})"
                for source in found.values()
                for row in source["rows"]
                if (row["bands"], row["rows"], row["threshold"]) == (50, 2, threshold)
            ]
            rows.append([f"{label} at {threshold}", published, *cells])
    return rows


def clustering(found: Found) -> str:
    """Return the section with tables 5 to 7 and figure 9."""
    titles = [source["title"] for source in found.values()]
    columns = ["paper", *titles]
    first = next(iter(found.values()))
    sizes = [
        [f"{label}: {count(published)}", *(count(source[key]) for source in found.values())]
        for label, key, published in (
            ("documents; the paper", "documents", paper.DOCUMENTS),
            ("candidate pairs; the paper", "candidates", paper.CANDIDATES),
        )
    ]
    wide = ", ".join(
        f"{count(s['wide']['excluded'])} of {count(s['wide']['candidates'])} ({s['title']})"
        for s in found.values()
    )
    sections = "\n\n".join(f"{source['title']}:\n\n{_table_7(source)}" for source in found.values())
    table_6 = [f"{kind}: {name}" for kind in ("modularity", "clusters") for name in columns]
    sets = row_of(first, PUBLISHED)
    needed = first["candidates"] - sets["excluded"]
    louvain = sum(row_of(first, LOUVAIN)[f"same_{kind}"] for kind in ("high", "mid", "low"))
    return f"""\
The notes and {first["duplicates"]} near-duplicates with 0 to 20 % of the words changed; tree
threshold {TREE}, threshold {paper.THRESHOLDS[0]} to {paper.THRESHOLDS[-1]}. Candidates are those of
{_BANDS}, which find a pair at {paper.THRESHOLDS[0]} with a probability of 0.99; like the paper's,
they are the same for all thresholds. All counts are in [clustering.csv](clustering.csv).

{table(["", *titles], sizes)}

* *{PUBLISHED}*: the algorithm of section 6. Candidate pairs are taken in the order of bands, and
two notes that are in one set already are not compared
(`experiments.published.bounded_in_given_order`).
* *bounded*, *star*, *components*, *louvain*: what `--cluster` gives. These are functions of the
edges, that is of the candidates that reach the threshold, and need all of their similarities.
`bounded` has the guarantee of disjoint sets, and takes edges from the most similar one down.
* *{LOUVAIN}*: Louvain on the graph of all candidates, weighted by similarity, as in table 7.

Pairs are candidate pairs, and modularity is that of the graph of the candidates, weighted by
similarity: the paper's three numbers for Louvain add up to its {count(paper.CANDIDATES)}
candidates, as ours do to {count(louvain)}. The columns `all_...` of the CSV count all pairs of
documents.

{chart("tables5-6", "Candidates not compared, modularity and clusters against the threshold")}

### Table 5: pairs excluded from comparison

{_by_threshold(found, columns, _excluded)}

In the published order. With {_WIDE}, as in section 9.1, far more distant pairs are candidates here,
and at {MAIN} these are not compared: {wide}.

Why they differ: what can be excluded are pairs within large groups. The paper excludes about as
many up to {MAIN} and fewer above it, as our synthetic notes do; in the real notes hardly any group
is large enough.

### Table 6: modularity and number of clusters

{_by_threshold(found, table_6, _table_6)}

In the published order; clusters of two or more documents.

Why they differ: {_table_6_says(first)}

### Figure 9: pairs by category

{chart("fig9", "Pairs in the same set and in different sets against the threshold")}

Same set, high / different sets, high / same set, mid; the axis is linear up to 1 and logarithmic
from there. The paper has curves, and numbers at {MAIN} alone (table 7), drawn as diamonds; in its
text, high pairs in different sets are fewest from 80 % on, and mid pairs
peak at 70 %:

{_by_threshold(found, columns, _figure_9)}

### Table 7: disjoint sets and Louvain at {MAIN}

{sections}

*Pairs compared* of disjoint sets are the candidates that are not excluded, and comparisons of the
roots of two trees, which the tree threshold asks for: on the {first["title"]}
{count(first["candidates"])} - {count(sets["excluded"])} = {count(needed)} candidates, and
{count(sets["compared"] - needed)} comparisons of roots. The paper's number is its
candidates less those excluded. The speed-up above is of all pairs compared.

Why they differ: the families of the synthetic notes give about as many candidates as the paper's
notes, but far more of them are high. How many are just above and just below {MAIN}, where sets
separate pairs and Louvain joins mid ones, is a matter of the notes. Nearly all that is similar in
MTSamples are exact copies and our own near-duplicates, in groups of two to five. No note of
ACI-BENCH is similar to another one, so that all groups are a note and its near-duplicates, of which
few reach {MAIN}. In small groups there is hardly a pair to exclude or to separate."""


def _by_threshold(
    found: Found, header: list[str], cells: Callable[[Found, float], list[str]]
) -> str:
    rows = [[f"{t:.2f}", *cells(found, t)] for t in paper.THRESHOLDS]
    return table(["threshold", *header], rows)


def _excluded(found: Found, threshold: float) -> list[str]:
    numbers = [(paper.EXCLUDED[threshold], paper.CANDIDATES)]
    for source in found.values():
        numbers.append((row_of(source, PUBLISHED, threshold)["excluded"], source["candidates"]))
    return [f"{count(excluded)} ({per_cent(excluded / of)})" for excluded, of in numbers]


def _table_6(found: Found, threshold: float) -> list[str]:
    lines = [row_of(source, PUBLISHED, threshold) for source in found.values()]
    modularity = [paper.MODULARITY[threshold], *(line["modularity"] for line in lines)]
    clusters = [paper.CLUSTERS[threshold], *(line["clusters"] for line in lines)]
    return [*(f"{value:.3f}" for value in modularity), *map(count, clusters)]


def _figure_9(found: Found, threshold: float) -> list[str]:
    kinds = ("same_high", "different_high", "same_mid")
    lines = [row_of(source, PUBLISHED, threshold) for source in found.values()]
    high, mid, _, apart, *_ = paper.TABLE_7["paper: disjoint sets"]
    published = f"{high} / {apart} / {mid}" if threshold == MAIN else ""
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
synthetic notes {modularity}. Ours is higher, since more of the candidates are high. The paper has
{paper.CLUSTERS[low]} clusters at {low}, and from {MAIN} to {high} always {paper.CLUSTERS[high]}: as
many have a pair that reaches {high} as have one that reaches {MAIN}. Ours fall from
{ours["clusters"][0]} to {ours["clusters"][2]}, since many are a note and one near-duplicate with up
to 20 % of its words changed, which a high threshold separates."""


def _table_7(source: Found) -> str:
    compared = count(paper.CANDIDATES - paper.EXCLUDED[MAIN])
    rows = [
        [name, *cells, "", compared if "sets" in name else ""]
        for name, cells in paper.TABLE_7.items()
    ]
    for method in METHODS:
        row = row_of(source, method)
        cells = [f"{row[k]:.3f}" if k == "modularity" else count(row[k]) for k in _TABLE_7]
        rows.append([method, *cells, count(row["largest"]), count(row["compared"])])
    header = ["", "same set: high", "mid", "low", "different sets: high", "modularity", "clusters"]
    return table([*header, "largest", "pairs compared"], rows)
