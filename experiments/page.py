"""The page: each number next to that of the paper, what holds, and why they differ."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from experiments import (
    page_clustering,
    page_counts,
    page_measures,
    paper,
    results,
    teaching,
    tutorial,
)
from experiments.claims import ACCURACY, CLUSTERING
from experiments.claims_time import flush_claims, memory_claims, one_round, time_claims
from experiments.documents import PAPER
from experiments.markdown import count, table, with_links_to, wrapped
from experiments.notes import FREE
from experiments.page_differences import differences
from experiments.page_summary import summary
from experiments.verdicts import Claim, judged, line, said, verdict
from neardup import Spec

__all__ = ["EXPERIMENTS", "OTHERS", "write"]

Found = dict[str, Any]
#: What this page is about; and of other documents, with pages of their own.
EXPERIMENTS = ("accuracy", "lists", "clustering", "time", "limits", "corpus")
OTHERS = ("records", teaching.NAME, tutorial.NAME)

_CLAIMS = """# What holds

Each claim of the paper, the rule by which it is taken to hold, and the numbers that decide. [The
page](index.md) has what they come from."""
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
    found = {name: results.load(folder, name) for name in EXPERIMENTS}
    sections: list[tuple[str, str, Callable[[Found], str]]] = [
        ("accuracy", "Accuracy: figures 1 to 3", page_counts.accuracy),
        ("lists", "Without bands: section 3.6", page_counts.lists),
        ("time", "Time and memory: figures 4 to 8", page_measures.time),
        ("clustering", "Clustering: tables 5 to 7, figure 9", page_clustering.clustering),
        ("limits", "Limits: section 11", lambda value: page_measures.limits(value, found)),
        ("corpus", "The corpus: section 12", page_measures.corpus),
    ]
    text = [_beginning(found)]
    for name, title, make in sections:
        value = found[name]
        before = "python bench/ten_million.py && " if name == "corpus" else ""
        missing = f"Not run yet: `{before}python -m experiments {name}`."
        text.append(f"## {title}\n\n{missing if value is None else make(value)}")
    text += [_how(found), differences()]
    if runs := results.load(folder, "runs"):
        text.append(_end(runs))
    _write(folder, "verdicts", [_claims(found)])  # which the page links to
    _write(folder, "index", text)


def _write(folder: Path, name: str, text: list[str]) -> None:
    lines = "\n\n".join(wrapped(with_links_to(folder, section)) for section in text)
    (folder / f"{name}.md").write_text(lines + "\n", encoding="utf-8")


def _beginning(found: dict[str, Found | None]) -> str:
    return f"""# The paper, repeated

{PAPER.cited}. This page repeats its experiments with neardup; the clustering `disjoint-sets` and
the preset `clinical` come from this paper. Its claims, our numbers in several draws, and whether
the claims hold:

{summary(found)}

[All verdicts](verdicts.md) are {_numbers(found)}. *x* joins bands and rows. [How all of
this was made](#how-it-was-made) is at the end: notes, words, commands, versions."""


def _numbers(found: dict[str, Found | None]) -> str:
    """Return how many claims and verdicts there are."""
    claims = verdicts = 0
    for name, every in (("accuracy", ACCURACY), ("clustering", CLUSTERING)):
        if (sources := found[name]) is not None:
            claims += len(every)
            verdicts += len(every) * len(_columns(sources))
    if (timed := found["time"]) is not None:
        rows = len([*time_claims(timed["stores"]), *flush_claims(timed), *memory_claims()])
        claims, verdicts = claims + rows, verdicts + rows
    return f"{verdicts} on {claims} claims, with the reasons where one does not hold"


def _how(found: dict[str, Found | None]) -> str:
    counted = found["clustering"] or found["accuracy"] or {}
    sizes = ", ".join(f"{s['title']} ({count(s['notes'])})" for s in counted.values())
    candidates = ""
    if sets := found["clustering"]:
        first = next(iter(sets.values()))["settings"]
        each = " and ".join(f"{count(of['candidates'])} with {name}" for name, of in first.items())
        candidates = f""": {each}, for the {count(paper.CANDIDATES)} of the paper. So 34 x 4
suits us; both are in all tables"""
    measured = ""
    if found["time"]:
        machine = found["time"]["machine"]
        noisy = "other programs ran beside it" if machine["load"] > 1 else "it did nothing else"
        measured = f"""Times and memory are from one run of `time`, on a machine with
{machine["cores"]} cores ({machine["processor"]}, Python {machine["python"]}); its load was
{machine["load"]} before: {noisy}."""
    names = ", ".join(f"`{name}`" for name in (*EXPERIMENTS, *OTHERS[:-1]))
    return f"""## How it was made

`make experiments` runs all experiments and writes this page; it starts a Cassandra, and stops it.
One of them, in the folder of the source:

```console
pip install '.[experiments]'
python -m experiments clustering --out /tmp/paper
```

Without `--out` it replaces the numbers of this page. The experiments are {names}
and `{OTHERS[-1]}`; [the end of this page](#versions-and-seeds) says how long each takes. Counts
are the same at each run. {measured} `make times` takes all times again, three times each, on a
machine that does nothing else.

**Words.** The paper's *edge threshold* is our `threshold`; its *tree threshold* is our minimum
similarity within a cluster, `tree_threshold`. *High* pairs reach the threshold, *mid* pairs reach
the tree threshold only, *low* pairs not even that. *Design 1* stores a row for each key
(`experiments/row_stores.py`), *Design 2* a blob for each band and partition, as the package does.

**Notes.** The paper's notes are not public, so that no count can be the same. There are three
sources: {sizes}.

* *Synthetic notes*: {100 * FREE:.0f} % are free text; the others are printouts that differ in a few
words, forms that differ in many places, and chains of notes, each copied from the one before and
edited (`experiments/notes.py`). Sizes and looseness of these families are set so that, with
34 bands of 4 rows, about as many pairs become candidates as in section 10 of the
paper{candidates}.
* *MTSamples*: transcribed notes, drawn at random from the 2,444 that we have.
* *ACI-BENCH*: all notes of a set without near-duplicates.

The texts of these two sets, and the records of [the tutorial](records.md), are not in the
repository. They are read from the folder that the environment variable `NEARDUP_DATA` names. Where
they are not there, the command says so, and keeps earlier counts if the folder has some.

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

Seconds are those of the last run, on two cores that did other work too. To cite neardup, see
[README](../../README.md#cite). Draw k of the synthetic notes, and of the choice of real ones, has
seed k; near-duplicates have seed k + 1 (figures 1 to 3) and k + 2 (tables 5 to 7, figure 9); hashes
have seed {Spec().seed}."""


def _claims(found: dict[str, Found | None]) -> str:
    """Return the section with all verdicts."""
    sections, failing = [_CLAIMS], []
    for name, title, claims in (
        ("accuracy", "Of section 9.1", ACCURACY),
        ("clustering", "Of sections 10 and 6", CLUSTERING),
    ):
        sources = found[name]
        if sources is None:
            continue
        columns = _columns(sources)
        draws = len(next(iter(columns.values()))[claims[0].key])
        cells = [[column[claim.key] for column in columns.values()] for claim in claims]
        rows = [line(claim, each) for claim, each in zip(claims, cells, strict=True)]
        sections += [
            f"{title}, in {draws} draws of each source:",
            table(["claim", "holds if", *columns], rows),
        ]
        failing += [
            _failing(claim, dict(zip(columns, each, strict=True)))
            for claim, each in zip(claims, cells, strict=True)
        ]
    if (timed := found["time"]) is not None:
        settings = timed["settings"]
        rounds = [one_round(timed, number) for number in range(settings["rounds"])]
        parts = (
            (f"{len(rounds)} rounds", time_claims(timed["stores"]), rounds),
            (
                f"{len(timed['flush']['passes'])} passes",
                flush_claims(timed),
                timed["flush"]["passes"],
            ),
            ("1 run", memory_claims(), [timed]),
        )
        rows = []
        for runs, claims, views in parts:
            verdicts = [judged(claims, view) for view in views]
            for claim in claims:
                each = [one[claim.key] for one in verdicts]
                name, *rest = line(claim, [each])
                rows.append([f"{name} [{runs}]", *rest])
                failing.append(_failing(claim, {"this machine": each}))
        sections += [
            "Of section 9.2, the shapes of its curves; all stores run in each round, one after "
            "the other:",
            table(["claim", "holds if", "here"], rows),
        ]
    lines = "\n".join(filter(None, failing)) or "Nothing."
    sections += ["What does not hold, or not in all draws:", lines]
    sections.append(
        "Where draws differ, the lowest and the highest number are shown. *Beyond chance* is more "
        "than three standard deviations of a count. Draws of ACI-BENCH differ in their "
        "near-duplicates alone, as all of its notes are taken."
    )
    return "\n\n".join(sections)


def _columns(sources: Found) -> dict[str, dict[str, list[Found]]]:
    """Return, by the title of a column, the verdicts of all draws by the key of the claim."""
    columns: dict[str, dict[str, list[Found]]] = {}
    for source in sources.values():
        for draw in source["draws"]:
            for setting, verdicts in draw.items():
                column = columns.setdefault(f"{source['title']} {setting}".strip(), {})
                for key, one in verdicts.items():
                    column.setdefault(key, []).append(one)
    return columns


def _failing(claim: Claim, cells: dict[str, list[Found]]) -> str:
    """Return an item that says where a claim does not hold, and why; empty where it does."""
    where = "; ".join(
        f"{title} ({said(claim, verdicts)}: {verdict(verdicts).strip('*')})"
        for title, verdicts in cells.items()
        if not all(one["holds"] for one in verdicts)
    )
    return f"* *{claim.name}*: {where}. {claim.reason}" if where else ""
