"""The page: each number next to that of the paper, what holds, and why they differ."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from experiments import page_counts, page_measures, results
from experiments.claims import REASONS, RULES, Cell, accuracy_claims, clustering_claims, time_claims
from experiments.clustering import MAIN
from experiments.markdown import count, per_cent, table, wrapped
from experiments.notes import FREE
from neardup import Spec

__all__ = ["write"]

Found = dict[str, Any]


#: The public data, and where it comes from.
DATA_SETS = (
    (
        "MTSamples",
        "transcribed clinical notes; 2,444 of 4,999, whole groups of near-duplicates",
        "mtsamples.com; `data/mtsamples.rda` of ML4LHS/clinspacy on GitHub, commit 2efc73a",
        "CC0",
        "`mtsamples/docs.parquet`",
    ),
    (
        "ACI-BENCH",
        "414 notes and dialogues of 207 visits that were acted",
        "`data/challenge_data` of wyim/aci-bench on GitHub, commit b909b2b",
        "CC BY 4.0",
        "`aci_bench/docs.parquet`",
    ),
    (
        "Cora",
        "1,295 citations, 17,184 true pairs",
        "`data/der/cora` of AI-team-UoA/pyJedAI on GitHub, commit 619b00e",
        "data for research; its repository is Apache-2.0",
        "`cora/records.csv`, `cora/truth_pairs.csv`",
    ),
    (
        "RLdata500",
        "500 made persons, 50 true pairs",
        "the R package RecordLinkage; `examples/RLdata500.csv` of cleanzr/dblink on GitHub, "
        "commit dc3dd0d",
        "GPL-2 or later; that CSV GPL-3",
        "`rldata500/records.csv`, `rldata500/truth_pairs.csv`",
    ),
)


def write(folder: Path) -> None:
    """Write ``index.md`` from what the experiments found; what has not been run says so."""
    names = ("accuracy", "time", "clustering", "limits", "corpus")
    found = {name: results.load(folder, name) for name in names}
    sections: list[tuple[str, str, Callable[[Found], str]]] = [
        ("accuracy", "Accuracy: figures 1 to 3", page_counts.accuracy),
        ("time", "Time and memory: figures 4 to 8", page_measures.time),
        ("clustering", "Clustering: tables 5 to 7, figure 9", page_counts.clustering),
        ("limits", "Limits: section 11", lambda value: page_measures.limits(value, found)),
        ("corpus", "The corpus: section 12", page_measures.corpus),
    ]
    text = [_beginning(found), _claims(found)]
    for name, title, make in sections:
        value = found[name]
        before = "python bench/ten_million.py && " if name == "corpus" else ""
        missing = f"Not run yet: `{before}python -m experiments {name}`."
        text.append(f"## {title}\n\n{missing if value is None else make(value)}")
    if runs := results.load(folder, "runs"):
        text.append(_end(runs))
    lines = "\n\n".join(wrapped(section) for section in text)
    (folder / "index.md").write_text(lines + "\n", encoding="utf-8")


def _beginning(found: dict[str, Found | None]) -> str:
    counted = found["clustering"] or found["accuracy"] or {}
    sizes = ", ".join(f"{s['title']} ({count(s['notes'])})" for s in counted.values())
    machine = found["time"]["machine"] if found["time"] else None
    measured = ""
    if machine:
        noisy = ", so that they are noisy" if machine["load"] > 1 else ""
        measured = f"""Times and memory are from a machine with {machine["cores"]} cores
({machine["processor"]}, Python {machine["python"]}); its load was {machine["load"]}
before{noisy}."""
    return f"""# The paper, repeated

S. Shenoy, T.-T. Kuo, R. Gabriel, J. McAuley, C.-N. Hsu: *Deduplication in a massive clinical note
dataset*, 2017 (arXiv 1704.05617). The clustering `bounded` and the preset `clinical` come from this
paper. This page repeats its experiments with neardup and shows all of its numbers next to ours.

`make experiments` runs all experiments and writes this page. One of them, in the folder of the
source:

```console
pip install '.[experiments]'
python -m experiments clustering --out /tmp/paper
```

Without `--out` it replaces the numbers of this page. The experiments are {
        ", ".join(
            f"`{name}`"
            for name in ("accuracy", "clustering", "time", "limits", "corpus", "records")
        )
    } and
`sources`; [the end of this page](#versions-and-seeds) says how long each takes. Counts are the same
at each run. {measured}

**Words.** The paper's *edge threshold* is our `threshold`; its *tree threshold* is our minimum
similarity within a cluster, `tree_threshold`. *High* pairs reach the threshold, *mid* pairs reach
the tree threshold only, *low* pairs not even that. *Design 1* stores a row for each key
(`experiments/row_stores.py`), *Design 2* a blob for each band and partition, as the package does.

**Notes.** The paper's notes are not public, so that no count can be the same. There are three
sources: {sizes}.

* *Synthetic notes*: {100 * FREE:.0f} % are free text; the others are printouts that differ in a few
words, forms that differ in many places, and chains of notes, each copied from the one before and
edited (`experiments/notes.py`). Sizes and looseness of these families are set so that about as many
pairs become candidates as in section 10 of the paper.
* *MTSamples*: transcribed notes, drawn at random from the 2,444 that we have.
* *ACI-BENCH*: all notes of a set without near-duplicates.

The texts of these two sets, and the records of [the tutorial](records.md), are not in the
repository. They are read from the folder that the environment variable `NEARDUP_DATA` names.
Where they are not there, the command says so, and their earlier counts are kept.

{table(["set", "what", "from", "licence", "file"], DATA_SETS)}

`docs.parquet` has a column `text`; `records.csv` has a column `row`, numbered from 0, and the
fields; `truth_pairs.csv` has the columns `a` and `b`, rows of the same entity.

Similarity is the Jaccard similarity of sets of 8 consecutive stemmed words, as in the paper. A
near-duplicate is a note, drawn at random, with a share of its words changed at random places: a
third of them replaced, a third deleted, a third preceded by a new word."""


def _end(runs: Found) -> str:
    """Return the last section: versions, times and seeds."""
    columns = ("neardup", "python", "numpy", "pyarrow")
    rows = [
        [name, count(run["seconds"]), *(run[column] for column in columns)]
        for name, run in runs.items()
    ]
    return f"""## Versions and seeds

{table(["experiment", "seconds", "neardup", "Python", "NumPy", "pyarrow"], rows)}

Seconds are those of the last run, on two cores that did other work too; a dash is what was not
recorded. `time` takes some minutes, with Cassandra more. To cite neardup, see
[README](../../README.md#cite).
Synthetic notes and the choice of real ones are drawn with seed 1, near-duplicates with seed 2
(figures 1 to 3) and 3 (tables 5 to 7, figure 9), the other draws with seeds 2 to 6 and, for their
near-duplicates, 4 to 8; hashes with seed {Spec().seed}."""


def _claims(found: dict[str, Found | None]) -> str:
    sections, failing = ["## What holds"], []
    counted = ((found["accuracy"], accuracy_claims), (found["clustering"], clustering_claims))
    rows: list[list[str]] = []
    titles: list[str] = []
    for sources, claims in counted:
        if sources is None:
            continue
        titles = [source["title"] for source in sources.values()]
        cells = [claims(source) for source in sources.values()]
        rows += [
            [claim, RULES[claim], *(_verdict(each[claim]) for each in cells)] for claim in cells[0]
        ]
        failing += [
            _failing(claim, [(t, c[claim]) for t, c in zip(titles, cells, strict=True)])
            for claim in cells[0]
        ]
    if rows:
        sections += ["Of sections 9.1, 10 and 6:", table(["claim", "holds if", *titles], rows)]
    if found["time"] is not None:
        timed = time_claims(found["time"])
        shown = [[claim, RULES[claim], _verdict(cell)] for claim, cell in timed.items()]
        sections += [
            "Of section 9.2, the shapes of its curves:",
            table(["claim", "holds if", "here"], shown),
        ]
        failing += [_failing(claim, [("this machine", cell)]) for claim, cell in timed.items()]
    lines = "\n".join(filter(None, failing)) or "Nothing."
    sections += ["What does not hold on our data:", lines]
    sections.append("*Within chance* is less than three standard deviations of a count.")
    clustered = found["clustering"]
    if clustered is not None:
        sections.append(_other_draws(clustered["synthetic"]["others"]))
    return "\n\n".join(sections)


def _verdict(cell: Cell) -> str:
    return f"{cell.said}: {'holds' if cell.holds else '**does not hold**'}"


def _failing(claim: str, cells: list[tuple[str, Cell]]) -> str:
    """Return an item that says where a claim does not hold, and why; empty where it does."""
    where = ", ".join(f"{title} ({cell.said})" for title, cell in cells if not cell.holds)
    return f"* *{claim}*: not on {where}. {REASONS.get(claim, '')}" if where else ""


def _other_draws(lines: list[Found]) -> str:
    main = [line for line in lines if line["threshold"] == MAIN]
    shares = [line["excluded"] / line["candidates"] for line in main]
    candidates = [line["candidates"] for line in main]
    published, ordered = zip(*(line["separated"] for line in main), strict=True)
    good = sum(line["separated"][1] <= line["separated"][0] for line in lines)
    return f"""The synthetic notes are one draw. In {len(main)} more (seeds {main[0]["seed"]} to
{main[-1]["seed"]}), {count(min(candidates))} to {count(max(candidates))} pairs are candidates. At
{MAIN}, disjoint sets in the published order exclude {per_cent(min(shares))} to
{per_cent(max(shares))} of them from comparison, and separate {min(published)} to {max(published)}
high pairs; from the most similar edge down (`bounded`) {min(ordered)} to {max(ordered)}. Of
{len(lines)} settings (seeds, and thresholds up to {MAIN}), the second order separates no more pairs
than the first in {good}."""
