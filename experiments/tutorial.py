"""Figures of the tutorial on records that `experiments.records` does not have, and their page."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.csv as pcsv
from matplotlib.figure import Figure

import neardup
from experiments import results
from experiments.charts import drawn, new_axes, save
from experiments.documents import TUTORIAL
from experiments.markdown import chart, count, table, with_links_to, wrapped
from experiments.notes import DATA
from experiments.records import CHARACTERS, HASHES, NAMES
from neardup.match.verifying import make_sets, similarities
from neardup.spec import ShingleSpec
from neardup.threads import Pool

__all__ = ["NAME", "page", "tutorial"]

NAME = "tutorial"
#: Of the curve: numbers of bands of 360 hashes, and the two similarities.
BANDS = (30, 36, 45, 60, 72, 90, 120, 180, 360)
LOW, HIGH = 0.25, 0.75
#: Pairs of records that are drawn for the scatter; cells of the heat map on a side.
_DRAWN, _CELLS = 2000, 144
#: The tutorial's numbers: of 1,879 records.
THEIRS = {"strings": "7.37 MB", "hashes": "0.64 MB", "minutes": "2.35 minutes (R)"}

Found = dict[str, Any]


def tutorial(before: Found | None) -> Found:
    """Compute the figures; those of public records stay where these are not there."""
    curve = {
        str(s): [neardup.candidate_probability(s, b, HASHES // b) for b in BANDS]
        for s in (LOW, HIGH)
    }
    found: Found = {"matrix": matrix(), "curve": curve}
    if (DATA / "cora").is_dir():
        return {**found, "cora": cora()}
    return {**found, **({"cora": before["cora"]} if before and "cora" in before else {})}


def matrix() -> Found:
    """The characteristic matrix of two names by 2-shingles, and the first entries of signatures."""
    grams = [{name[i : i + 2] for i in range(len(name) - 1)} for name in NAMES]
    rows = sorted(grams[0] | grams[1])
    pairs = ShingleSpec("char", 2, keep_case=True)
    made = neardup.signatures(list(NAMES), HASHES, shingle=pairs)
    return {
        "rows": [[row, *(int(row in one) for one in grams)] for row in rows],
        "signatures": made[:, :6].T.tolist(),
        "estimate": float((made[0] == made[1]).mean()),
    }


def cora() -> Found:
    """Citations by title, author and venue."""
    source = pcsv.read_csv(DATA / "cora/records.csv")
    columns = [source.column(name).to_pylist() for name in ("title", "author", "venue")]
    records = list(zip(*columns, strict=True))
    texts = [" ".join(value or "" for value in row) for row in records]
    # As R has them: of letters and digits only, and NA where a value is missing.
    plain, with_na = (
        {text[i : i + 3] for text in _plain(records, missing) for i in range(len(text) - 2)}
        for missing in ("", "NA")
    )
    sets = neardup.shingle_sets(texts, CHARACTERS)
    strings = [[text[i : i + 3] for i in range(len(text) - 2)] for text in texts]
    begin = time.perf_counter()
    a, b = (x.astype(np.int32) for x in np.triu_indices(len(texts), 1))
    with Pool() as pool:
        exact = np.maximum(0, similarities(make_sets(sets), a, b, 0.0, pool))
    seconds = time.perf_counter() - begin
    square = np.zeros((len(texts), len(texts)))
    square[a, b] = square[b, a] = exact
    np.fill_diagonal(square, 1)
    ends = np.linspace(0, len(texts), _CELLS + 1).astype(int)[:-1]
    cells = np.add.reduceat(np.add.reduceat(square, ends, axis=0), ends, axis=1)
    sides = np.diff(np.append(ends, len(texts)))
    # As many pairs of each class of similarity, so that the rare similar ones are seen.
    draw = np.random.default_rng(0)
    classes = [np.flatnonzero((exact * 10).astype(int) == k) for k in range(10)]
    chosen = np.concatenate(
        [draw.choice(c, min(len(c), _DRAWN // 10), replace=False) for c in classes if len(c)]
    )
    made = neardup.signatures(texts, HASHES, shingle=CHARACTERS)
    estimates = (made[a[chosen]] == made[b[chosen]]).mean(axis=1)
    shingles = len(sets.values)
    return {
        "records": len(texts),
        "shingles": shingles,
        "bytes_strings": sum(sys.getsizeof(row) + 8 * len(row) for row in strings),
        "bytes_8": 8 * shingles,
        "bytes_4": 4 * shingles,
        "seconds": round(seconds, 2),
        "plain": len(plain),
        "plain_with_na": len(with_na),
        "missing": sum(value is None or value == "" for row in records for value in row),
        "heat": np.round(cells / np.outer(sides, sides), 2).tolist(),
        "scatter": np.round([exact[chosen], estimates], 4).tolist(),
        "error": float(np.sqrt(np.mean((estimates - exact[chosen]) ** 2))),
        "expected": float(np.sqrt(np.mean(exact[chosen] * (1 - exact[chosen]) / HASHES))),
    }


def _plain(records: Sequence[Sequence[str]], missing: str) -> Iterator[str]:
    for row in records:
        yield re.sub("[^0-9a-z]", "", " ".join(value or missing for value in row).lower())


def page(folder: Path) -> None:
    """Write ``tutorial.md``, and its charts, from what was found."""
    found = results.load(folder, NAME)
    if found is None:
        return
    charts = folder / NAME
    charts.mkdir(exist_ok=True)
    for kind in ("svg", "png"):
        save(bands_chart(found["curve"]), charts / f"bands.{kind}")
    sections = [_beginning(), _matrix(found["matrix"]), _bands(found["curve"])]
    if "cora" in found:
        save(heat_map(found["cora"]), charts / "heat.png")
        save(scatter(found["cora"]), charts / "scatter.png")
        sections += [_sizes(found["cora"]), _pairs(found["cora"])]
    text = "\n\n".join(wrapped(with_links_to(folder, section)) for section in sections)
    (folder / f"{NAME}.md").write_text(text + "\n", encoding="utf-8")


@drawn
def bands_chart(curve: dict[str, list[float]]) -> Figure:
    """Draw P(candidate) by the number of bands, at both similarities."""
    chart, axes = new_axes(
        f"Pairs that become candidates, of {HASHES} hashes", "number of bands", "P(candidate)"
    )
    every = [b for b in range(1, HASHES + 1) if HASHES % b == 0]
    for colour, dash, mark, s in (("#1f80c0", "-", "o", HIGH), ("#d55e00", "--", "s", LOW)):
        y = [neardup.candidate_probability(s, b, HASHES // b) for b in every]
        axes.plot(every, y, color=colour, linestyle=dash, marker=mark, ms=4, label=f"J = {s:g}")
    axes.axvline(90, color="#7f7f7f", linewidth=1, label="90 bands of 4 rows")
    axes.set(xscale="log", xlim=(1, HASHES), ylim=(-0.02, 1.02))
    axes.set_xticks([1, 3, 10, 30, 90, 360], ["1", "3", "10", "30", "90", "360"])
    axes.minorticks_off()
    chart.legend(loc="outside lower center", ncols=3)
    return chart


@drawn
def heat_map(cora: Found) -> Figure:
    """Draw the similarities of all pairs of records, in the order of the file."""
    name = "Mean similarity of all pairs of records"
    chart, axes = new_axes(name, "record", "record")
    size, heat = cora["records"], np.array(cora["heat"])
    image = axes.imshow(
        heat, cmap="viridis", vmin=0, vmax=1, extent=(0, size, size, 0), interpolation="nearest"
    )
    axes.grid(False)
    chart.colorbar(image, ax=axes, label="Jaccard similarity of 3-shingles")
    return chart


@drawn
def scatter(cora: Found) -> Figure:
    """Draw estimates over similarities, with two standard deviations around the truth."""
    chart, axes = new_axes(
        f"Estimates of {HASHES} hashes", "similarity of a pair (Jaccard)", "estimate"
    )
    exact, estimates = cora["scatter"]
    axes.plot(exact, estimates, ".", color="#1f80c0", ms=3, alpha=0.35, label="a pair of records")
    fine = np.linspace(0, 1, 201)
    width = 2 * np.sqrt(fine * (1 - fine) / HASHES)
    axes.plot(fine, fine, color="#1b1f24", linewidth=1.2, label="equal")
    look = {"color": "#d55e00", "linewidth": 1.2, "linestyle": "--"}
    axes.plot(fine, fine + width, **look, label="two standard deviations")
    axes.plot(fine, fine - width, **look)
    axes.set(xlim=(0, 1), ylim=(0, 1))
    chart.legend(loc="outside lower center", ncols=3)
    return chart


def _beginning() -> str:
    return f"""# Figures of the tutorial on records

{TUTORIAL.cited}. Its
counts are on [the page on records](records.md); here are its figures, and what they are drawn from.
`python -m experiments {NAME} --out /tmp/paper` computes them. Where the records are not available,
earlier numbers are kept."""


def _matrix(found: Found) -> str:
    rows = [[f"`{gram}`", str(a), str(b)] for gram, a, b in found["rows"]]
    entries = [[f"entry {i + 1}", f"{a:,}", f"{b:,}"] for i, (a, b) in
               enumerate(found["signatures"])]  # fmt: skip
    shared = sum(a and b for _, a, b in found["rows"])
    return "\n\n".join(
        [
            "## From the characteristic matrix to the signatures",
            "A row for each shingle of two letters, a column for each name:",
            table(["", *NAMES], rows),
            f"{shared} of {len(rows)} rows have both: {shared / len(rows):g}. The first entries of "
            f"their signatures; of {HASHES}, {found['estimate']:.3f} are equal:",
            table(["", *NAMES], entries),
        ]
    )


def _bands(curve: dict[str, list[float]]) -> str:
    low, high = curve[str(LOW)], curve[str(HIGH)]
    rows = [
        [f"{b} x {HASHES // b}", f"{p:.4f}", f"{q:.4f}"]
        for b, p, q in zip(BANDS, low, high, strict=True)
    ]
    return "\n\n".join(
        [
            "## Which number of bands",
            "The tutorial draws the probability that a pair becomes a candidate over the number of "
            f"bands b of m = {HASHES} hashes, at a low and a high similarity, and takes 90. "
            "`neardup tune` prints the same table for similarities of your own.",
            chart(f"{NAME}/bands", "P(candidate) over the number of bands"),
            table(["bands x rows", f"J = {LOW:g}", f"J = {HIGH:g}"], rows),
        ]
    )


def _sizes(cora: Found) -> str:
    def mega(size: int) -> str:
        return f"{size / 1e6:.2f} MB"

    rows = [
        ["shingles as strings", THEIRS["strings"], f"{mega(cora['bytes_strings'])} (Python lists)"],
        ["hashes of 8 bytes", "", mega(cora["bytes_8"])],
        ["hashes of 4 bytes", THEIRS["hashes"], mega(cora["bytes_4"])],
        ["all pairs, with hashes", THEIRS["minutes"], f"{cora['seconds']:.2f} s"],
    ]
    return "\n\n".join(
        [
            "## What hashing shingles saves",
            table(["", "tutorial, 1,879 records", f"neardup, {cora['records']:,}"], rows),
            f"There are {count(cora['shingles'])} shingles in the sets of ours, each once for a "
            "record. An object in R or Python costs its pointer and its own bytes; a hash costs 8 "
            "or 4.",
            "The tutorial's characteristic matrix has 3,551 rows for its 1,879 records. Some of "
            "them are of no record: title, author and venue are joined by R's `paste()`, which "
            "writes the letters NA for a missing value; neardup writes nothing. How many they are "
            "can't be counted without these records. Of the "
            f"{count(cora['records'])} here, {count(cora['missing'])} values are missing. By "
            "letters and digits, as the tutorial's tokeniser takes them, they have "
            f"{count(cora['plain'])} distinct shingles, and "
            f"{cora['plain_with_na'] - cora['plain']} more with NA.",
        ]
    )


def _pairs(cora: Found) -> str:
    return "\n\n".join(
        [
            "## All pairs, and estimates",
            "The similarity of each record to each other one, in the order of the file, which has "
            f"records of an entity next to each other; a cell is a mean of "
            f"{round(cora['records'] / _CELLS)} x {round(cora['records'] / _CELLS)} pairs:",
            f"![Heat map of all pairs]({NAME}/heat.png)",
            f"Estimates by {HASHES} hashes over exact similarities, of "
            f"{count(len(cora['scatter'][0]))} pairs: of each tenth of similarity "
            f"{_DRAWN // 10}, or as many as there are. Their root mean "
            f"square error is {cora['error']:.4f}; sqrt(J (1 - J) / {HASHES}) gives "
            f"{cora['expected']:.4f}:",
            f"![Estimates over similarities]({NAME}/scatter.png)",
        ]
    )
