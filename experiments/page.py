"""The page: each figure and table beside what the paper has, and why they differ."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from experiments import page_counts, page_measures, results
from experiments.claims import Cell, accuracy_claims, clustering_claims, time_claims
from experiments.clustering import EDGE
from experiments.markdown import count, per_cent, table, wrapped
from experiments.notes import FREE

__all__ = ["write"]

Found = dict[str, Any]


def write(folder: Path) -> None:
    """Write ``index.md`` from what the experiments found.

    Raises:
        SystemExit: One of them has not been run.
    """
    found = {
        name: results.load(folder, name)
        for name in ("accuracy", "time", "clustering", "limits", "corpus")
    }
    missing = [name for name, value in found.items() if value is None]
    if missing:
        raise SystemExit(f"no page yet: run {', '.join(missing)} too")
    parts = [
        _beginning(found),
        _claims(found),
        page_counts.accuracy(found["accuracy"]),
        page_measures.time(found["time"]),
        page_counts.clustering(found["clustering"]),
        page_measures.limits(found["limits"], found["time"]),
        page_measures.corpus(found["corpus"]),
    ]
    text = "\n\n".join(wrapped(part) for part in parts) + "\n"
    (folder / "index.md").write_text(text, encoding="utf-8")


def _beginning(found: Found) -> str:
    sources = found["clustering"]
    sizes = ", ".join(f"{s['title']} ({count(s['notes'])})" for s in sources.values())
    machine = found["time"]["machine"]
    noisy = ", so that they are noisy" if machine["load"] > 1 else ""
    return f"""# The paper, repeated

S. Shenoy, T.-T. Kuo, R. Gabriel, J. McAuley, C.-N. Hsu: *Deduplication in a massive clinical note
dataset*, 2017, is where the clustering `bounded` and the preset `clinical` come from. This page has
its experiments, done again with neardup, beside its numbers.

`make experiments` does all of it and writes this page; `python -m experiments time` does one part.
Counts are the same at each run. Times and memory are of a machine with {machine["cores"]} cores
({machine["processor"]}, Python {machine["python"]}), whose load was {machine["load"]}
before{noisy}.

**Notes.** The paper's are not public, so that no count can be the same. There are three sources:
{sizes}.

* *Made notes*: {100 * FREE:.0f} % are free text, the rest printouts that differ in a few words,
forms that differ in many places, and chains of notes, each copied from the one before and edited
(`experiments/notes.py`). How many there are of each, and how they differ, is set so that about as
many pairs become candidates as in the paper's section 10, and lie as close together.
* *MTSamples*, transcribed notes, drawn at random.
* *ACI-BENCH*, all notes of a set without near-duplicates. Neither text is part of the project;
where they are not at hand, what was counted of them stays as it was.

Similarity is that of sets of 8 stemmed words in a row, the paper's choice. A near-duplicate is a
note, drawn at random, with a share of its words replaced, deleted, or preceded by a new one, a
third of them each, at random places."""


def _claims(found: Found) -> str:
    kinds = ((found["accuracy"], accuracy_claims), (found["clustering"], clustering_claims))
    titles = [source["title"] for source in found["clustering"].values()]
    rows, failing = [], []
    for sources, claims in kinds:
        cells = [claims(source) for source in sources.values()]
        rows += [[claim, *(_verdict(each[claim]) for each in cells)] for claim in cells[0]]
        for title, each in zip(titles, cells, strict=True):
            failing += [
                f"* {claim}: not on {title} ({said})."
                for claim, (said, holds) in each.items()
                if not holds
            ]
    timed = time_claims(found["time"])
    failing += [f"* {c}: not here ({said})." for c, (said, holds) in timed.items() if not holds]
    shown = "\n".join(failing) or "Nothing."
    return f"""## What holds

Of sections 9.1 and 10, and what we set out to reach besides:

{table(["claim", *titles], rows)}

Of section 9.2, the shapes of its curves:

{table(["claim", "here"], [[claim, _verdict(cell)] for claim, cell in timed.items()])}

What does not hold on our data:

{shown}

A pair at 0.2 becomes a candidate of 50 bands of 2 rows with a probability of 0.87 only, so that
some just above 0.2 are missed wherever there are enough of them. And a clustering can save
comparisons within large groups alone: n notes take at least n - 1 comparisons of n (n - 1) / 2. The
groups of the real notes are a note and one or two near-duplicates, most of which changed too much
to reach {EDGE}; there is hardly anything to save, whatever the clustering.

Within chance is a difference of less than three standard deviations of a count: rows more draw
other hashes.

{_spanning(found["clustering"]["made"]["others"])}

{_others(found["clustering"]["made"]["others"])}"""


def _verdict(cell: Cell) -> str:
    said, holds = cell
    return f"{said}: {'holds' if holds else '**does not hold**'}"


def _others(lines: list[dict[str, Any]]) -> str:
    lines = [line for line in lines if line["edge_threshold"] == EDGE]
    shares = [line["saved"] / line["candidates"] for line in lines]
    met = [line["candidates"] for line in lines]
    once, twice = (
        [line["different_high"][name] for line in lines]
        for name in ("bounded", "bounded, second round")
    )
    return f"""The made notes are one draw. Of {len(lines)} others (seeds {lines[0]["seed"]} to
{lines[-1]["seed"]}), {count(min(met))} to {count(max(met))} pairs are candidates, at {EDGE} bounded
sets save {per_cent(min(shares))} to {per_cent(max(shares))} of the comparisons, and tear
{min(once)} to {max(once)} pairs apart, {min(twice)} to {max(twice)} after a second round."""


def _spanning(lines: list[dict[str, Any]]) -> str:
    """Say what of the spanning tree is ours, and how it does on other draws."""
    apart = [line["different_high"] for line in lines]
    good = sum(each["bounded-mst"] <= each["bounded"] for each in apart)
    return f"""The paper suggests a maximum spanning tree, but not which of two roots of equal rank
stays one. `bounded-mst` keeps the one with more edges, and goes by a hash of what they hold if that
is the same too. The hash alone, tried first, often kept a document at the edge of a family, which
notes at the other edge are too far from, and tore more pairs apart than bands in their order. Of
{len(lines)} settings of other draws (seeds, and edge thresholds up to {EDGE}) it tears no more
apart than `bounded` in {good}."""
