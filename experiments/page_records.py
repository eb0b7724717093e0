"""The page on records: each number of the tutorial next to ours."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from experiments import results
from experiments.charts import save, similarity_histogram
from experiments.documents import TUTORIAL
from experiments.markdown import chart, count, table, wrapped
from experiments.records import BANDS, HASHES, ROWS
from neardup.sketch.bands import candidate_probability

__all__ = ["write"]

Found = dict[str, Any]
#: The tutorial's numbers on Cora, 1,879 records.
THERE = {
    "all pairs": "1,764,381 in 165 s (R)",
    "distinct shingles": "3,551",
    "candidates": "a histogram",
    "pairs completeness": "",
    "pairs quality": "",
    "reduction ratio": "",
    "connected components of candidates": "only the first is shown",
    "records in the largest": "",
    "reduction ratio of the components": "",
}
#: Published on RLdata500, with all fields: pairs missed, false positives.
PUBLISHED_BY = (
    "M. Beręsewicz, A. Struzik: *blocking: An R package for blocking of records for record linkage "
    "and deduplication*, 2025 (the last table of `paper-blocking.tex` in "
    "github.com/ncn-foreigners/paper-blocking-rpkg, commit 02d5057)"
)
PUBLISHED = (
    ("klsh, 10 blocks", "20 %", "10.14 %"),
    ("klsh, 100 blocks", "18 %", "0.94 %"),
    ("LSH of mlpack", "2 %", "3.74 %"),
    ("kd, nnd, annoy, hnsw", "0 %", "0.73 to 0.80 %"),
)


def write(folder: Path) -> None:
    """Write ``records.md``, and its chart, from what was found."""
    found = results.load(folder, "records")
    if found is None:
        return
    sections = [_beginning(found), _worked(found["worked"])]
    if "cora" in found:
        sections += [_cora(folder, found), _exercise(found["exercise"])]
    sections += [_estimates(found["estimates"]), _schemes(found["schemes"])]
    text = "\n\n".join(wrapped(section) for section in sections)
    (folder / "records.md").write_text(text + "\n", encoding="utf-8")


def _beginning(found: Found) -> str:
    ours = count(found["cora"]["records"]) if "cora" in found else "fewer"
    return f"""# The tutorial on records, repeated

{TUTORIAL.cited}. This page repeats its numbers and goes
from its candidates to verified clusters. `make experiments` writes it;
`python -m experiments records --out /tmp/paper` runs this one, and leaves this page as it is; [the
other page](index.md) says what to install, where the records come from and which versions this was
run with. Its signatures have {HASHES} hashes, in {BANDS} bands
of {ROWS} rows.

There are two sets called Cora: the tutorial's has 1,879 records, ours is the one of {ours} records
that entity resolution commonly uses. So counts differ, and the tutorial's are next to ours. Records
are not in the repository; where they are not available, earlier counts are kept.

The tutorial's Cora, 1,879 records of 16 columns, can be had in public. On a copy of yours, a CSV
file, `python -m experiments records --cora FILE` prints the tutorial's counts next to those of the
file, and writes nothing."""


def _worked(found: Found) -> str:
    curve = found["curve"]
    rows = [
        ["similarity of MICHAELVOGEL and MICHAELMEYER, 2-shingles", "6/15 = .4"],
        ["P(candidate) at .25", "29.7 %"],
        ["P(candidate) at .75", "100.0 %"],
    ]
    ours = [
        f"{found['shared']}/{found['either']} = {found['similarity']:g}",
        f"{curve['0.25']:.5f}",
        f"{curve['0.75']:.5f}",
    ]
    lines = [[*row, own] for row, own in zip(rows, ours, strict=True)]
    return "## The worked example\n\n" + table(["", "tutorial", "neardup"], lines)


def _cora(folder: Path, found: Found) -> str:
    cora = found["cora"]
    ours = [
        f"{cora['pairs']:,} in {cora['exact_seconds']:.2g} s",
        count(cora["shingles"]),
        f"{cora['candidates']:,} ({cora['expected']:,.0f} expected)",
        f"{cora['completeness']:.4f}",
        f"{cora['quality']:.3f}",
        f"{cora['reduction']:.4f}",
        count(cora["blocks"]),
        f"{cora['largest']:,} of {cora['records']:,}",
        f"{cora['blocks_reduction']:.4f}",
    ]
    lines = [[*there, own] for there, own in zip(THERE.items(), ours, strict=True)]
    head = ["", "tutorial, 1,879", f"neardup, {cora['records']:,}"]
    drawn = similarity_histogram(cora["histogram"], _curve)
    (folder / "records").mkdir(exist_ok=True)
    for kind in ("svg", "png"):
        save(drawn, folder / f"records/histogram.{kind}")
    verified = [
        [
            line["clusters"],
            count(line["entities"]),
            count(line["largest"]),
            f"{line['pairs_f1']:.3f}",
            f"{line['clusters_f1']:.3f}",
            f"{line['b_cubed']:.3f}",
        ]
        for line in found["clusters"]
    ]
    components = [
        *("components of candidates (at most)", count(cora["blocks"]), count(cora["largest"])),
        *("", f"{_components_f1(cora):.3f}", ""),
    ]
    curve = [
        [
            f"{k / len(cora['histogram']):.2f}",
            count(pairs),
            f"{hit / pairs:.3f}",
            f"{_curve(np.array([(k + 0.5) / len(cora['histogram'])]))[0]:.3f}",
        ]
        for k, (pairs, hit) in enumerate(zip(cora["histogram"], cora["collided"], strict=True))
        if pairs
    ]
    heads = ["", "entities", "largest", "F1 of pairs", "F1 of clusters", "B-cubed F1"]
    return "\n\n".join(
        [
            "## Cora by title, author and venue",
            table(head, lines),
            "The tutorial's last step makes blocks of the connected components of its candidates. "
            "There, one block has nearly all records, so that nothing is saved: a chain of pairs "
            "that nobody compared connects what has nothing in common. Clusters of verified pairs "
            "do not:",
            table(heads, [components, *verified]),
            "`neardup.link` with all fields and its default settings, whose threshold "
            f"{found['clusters'][0]['threshold']:g} comes from the valley of the histogram. Pairs "
            f"from it on: precision {found['clusters'][0]['pairs_precision']:.3f}, recall "
            f"{found['clusters'][0]['pairs_recall']:.3f}.",
            "The similarities of all pairs, and the share of them that are candidates, over the "
            "curve. These are similarities of title, author and venue as one text, so that the "
            "threshold of `neardup.link`, of a similarity of all fields, is not on them. The axis "
            "of pairs is linear up to 1 and logarithmic from there:",
            chart("records/histogram", "Similarities of all pairs of Cora, and P(candidate)"),
            table(["similarity from", "pairs", "candidates", "predicted"], curve),
        ]
    )


def _curve(similarity: np.ndarray) -> np.ndarray:
    return candidate_probability(similarity, BANDS, ROWS)


def _components_f1(cora: Found) -> float:
    inside = (1 - cora["blocks_reduction"]) * cora["pairs"]
    true = cora["quality"] * cora["candidates"] / cora["completeness"]
    # All true pairs that are candidates are inside of a component, and the others may be.
    return float(2 * true / (inside + true))


def _exercise(lines: list[Found]) -> str:
    rows = [
        [
            line["what"],
            count(line["candidates"]),
            f"{1 - line['completeness']:.0%}".replace("%", " %"),
            f"{100 * line['false_positives']:.2f} %",
            f"{line['reduction']:.4f}",
            f"{line['f1']:.3f}" if "f1" in line else "",
        ]
        for line in lines
    ]
    rows += [[f"published: {name}", "", missed, false, "", ""] for name, missed, false in PUBLISHED]
    heads = ["", "candidates", "true pairs missed", "false positives", "reduction", "F1"]
    return "\n\n".join(
        [
            "## The exercise: RLdata500 by first and last name",
            "The tutorial leaves it to the reader. 500 records have 50 true pairs. False positives "
            "are candidates that are no true pairs, over all pairs that are none. Published "
            f"numbers are those of {PUBLISHED_BY}, which takes all of the fields.",
            table(heads, rows),
            "Names alone find all true pairs and can't decide: different persons have equal names. "
            "With the date of birth, the decision is made without labels.",
        ]
    )


def _estimates(lines: list[Found]) -> str:
    rows = [
        [
            f"{line['similarity']:.4f}",
            f"{line['mean']:.4f}",
            f"{line['deviation']:.4f}",
            f"{line['expected']:.4f}",
            " ".join(f"{q:.3f}" for q in line["quantiles"]),
        ]
        for line in lines
    ]
    heads = ["similarity", "mean", "deviation", "sqrt(J (1 - J) / k)", "5 %, 50 %, 95 %"]
    about = f"Estimates of {HASHES} hashes over 400 seeds are distributed around the similarity:"
    return f"## Estimates around the truth\n\n{about}\n\n{table(heads, rows)}"


def _schemes(lines: list[Found]) -> str:
    rows = [
        [count(line["shingles"]), line["scheme"], f"{line['micros']:.0f}", f"{line['error']:.4f}"]
        for line in lines
    ]
    heads = [
        "shared shingles",
        "scheme",
        "processor time (microseconds) per document",
        "error (root mean square)",
    ]
    about = (
        "One permutation whose bins are filled by further rounds (`oph32`) next to one function "
        f"for each of {HASHES} entries (`affine32`), with the processor time of all threads, that "
        "for tokens and shingles too:"
    )
    of = {(line["shingles"], line["scheme"]): line for line in lines}
    few, many = (end(line["shingles"] for line in lines) for end in (min, max))
    times, errors = (
        [of[size, "oph32"][what] / of[size, "affine32"][what] for size in (few, many)]
        for what in ("micros", "error")
    )
    says = (
        "The tutorial calls one permutation faster. Next to these functions it takes "
        f"{times[0]:.1f} times as long with {few} shingles, and {times[1]:.1f} times with "
        f"{count(many)}. Its error is {errors[0]:.2f} and {errors[1]:.2f} times theirs."
    )
    return f"## One permutation next to k functions\n\n{about}\n\n{table(heads, rows)}\n\n{says}"
