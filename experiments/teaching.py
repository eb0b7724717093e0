"""The numbers of three texts that teach this subject, beside ours: docs/paper/sources.md.

Slides, a notebook, and a blog on 400,000 job advertisements: see `experiments.documents`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

import neardup
from experiments import markdown, results
from experiments.adverts import BANDS, ROWS, adverts, blog
from experiments.documents import BLOG, NOTEBOOK, SLIDES
from neardup.compat.lsh.cache import Cache
from neardup.compat.lsh.minhash import MinHasher
from neardup.match.verifying import make_sets, similarities
from neardup.sketch.bands import candidate_probability
from neardup.threads import Pool

NAME = "sources"
#: The two texts of the notebook.
LOREM = "Lorem Ipsum dolor sit amet"
MORE = LOREM + " is how dummy text starts"
#: Rows of the matrix of the slides in which each document has a one, and the permutations.
DOCUMENTS = ({1, 2, 6, 7}, {3, 4, 5}, {1, 6, 7}, {2, 3, 4, 5})
PERMUTATIONS = ((2, 3, 7, 6, 1, 5, 4), (4, 2, 1, 3, 6, 7, 5), (3, 4, 7, 2, 6, 1, 5))
#: Bands of the notebook: pieces and their size.
PIECES = ((2, 50), (50, 2), (10, 10), (5, 20), (20, 5))


def shares(sets: tuple[set[int], ...], a: int, b: int) -> float:
    """Return the Jaccard similarity of two of some sets."""
    return len(sets[a] & sets[b]) / len(sets[a] | sets[b])


def slides() -> dict[str, Any]:
    """Compute the numbers of the slides."""
    signatures = [
        [min(order[row - 1] for row in document) for document in DOCUMENTS]
        for order in PERMUTATIONS
    ]
    pairs = ((0, 2), (1, 3), (0, 1), (2, 3))
    bigrams = neardup.ShingleSpec("char", 2)
    bag = neardup.ShingleSpec("char", 2, bag=True)
    return {
        "shingles": len(neardup.shingle_sets(["abcab"], bigrams).values),
        "bag": len(neardup.shingle_sets(["abcab"], bag).values),
        "signatures": signatures,
        "similarities": [round(shares(DOCUMENTS, a, b), 2) for a, b in pairs],
        "estimates": [
            round(sum(row[a] == row[b] for row in signatures) / len(signatures), 2)
            for a, b in pairs
        ],
        "pairs": 10**6 * (10**6 - 1) // 2,
        "days": round(10**6 * (10**6 - 1) / 2 / 10**6 / 86400, 1),
        "curve": [float(candidate_probability(s / 10, 20, 5)) for s in range(2, 9)],
        "one_band": [0.8**5, 0.3**5],
        "missed": 1 - float(candidate_probability(0.8, 20, 5)),
    }


def notebook(documents: int) -> dict[str, Any]:
    """Compute the numbers of the notebook; synthetic adverts are in the place of its news."""
    spec = neardup.ShingleSpec("char", 5, keep_case=True)
    estimates: dict[str, list[float]] = {}
    for count in (100, 1000):
        hashers = [MinHasher(count, 5, seed) for seed in range(5)]
        equal = [(one.fingerprint(LOREM) == one.fingerprint(MORE)).mean() for one in hashers]
        estimates[str(count)] = [round(float(share), 3) for share in equal]
    texts = adverts(documents, 3)
    candidates = []
    for bands in (2, 5, 10, 20):
        found = _duplicates(texts, bands)
        candidates.append({"bands": bands, "candidates": len(found)})
    near = _near(texts)
    return {
        "similarity": round(neardup.similarity(LOREM, MORE, spec), 4),
        "shingles": len(neardup.shingle_sets([LOREM], spec).values),
        "estimates": estimates,
        "pieces": [
            {"pieces": b, "size": r, "at_0.95": float(candidate_probability(0.95, b, r))}
            for b, r in PIECES
        ],
        "documents": documents,
        "pairs": documents * (documents - 1) // 2,
        "by_bands": candidates,
        "first": min(100, documents),
        "of_first": len(_duplicates(texts[:100], 10)),
        "near": len(near),
        "near_found": len(near & found),
    }


def _duplicates(texts: list[str], bands: int) -> set[tuple[int, int]]:
    """Return the candidate pairs of 100 hashes in so many bands."""
    cache = Cache(MinHasher(100, 5, 1), bands)
    for number, text in enumerate(texts):
        cache.update(text, number)
    return {(min(pair), max(pair)) for pair in cache.get_all_duplicates()}


def _near(texts: list[str]) -> set[tuple[int, int]]:
    """Return all pairs whose 5-grams of characters have a similarity of 0.9 and more."""
    spec = neardup.ShingleSpec("char", 5, keep_case=True)
    a, b = (ends.astype(np.int32) for ends in np.triu_indices(len(texts), 1))
    with Pool() as pool:
        sets = make_sets(neardup.shingle_sets(texts, spec))
        found = similarities(sets, a, b, 0.9, pool) >= 0.9
    return set(zip(a[found].tolist(), b[found].tolist(), strict=True))


def teaching(documents: int, advertisements: int, runs: int) -> dict[str, Any]:
    """Compute all numbers; times are medians of some runs."""
    return {
        "slides": slides(),
        "notebook": notebook(documents),
        "blog": blog(advertisements, runs),
    }


def draw(folder: Path, found: dict[str, Any]) -> None:
    """Draw the curves, the candidates by bands, and the histogram with the curve over it."""
    with mpl.rc_context({"svg.hashsalt": "neardup", "svg.fonttype": "none"}):
        figure = Figure(figsize=(12, 4.4), layout="constrained")
        curves, bars, histogram = figure.subplots(1, 3)
        s = np.linspace(0.001, 1, 300)
        for b, r in (*PIECES, (BANDS, ROWS)):
            curves.plot(s, candidate_probability(s, b, r), label=f"{b} x {r}")
        curves.set(xlabel="similarity", ylabel="P(candidate)", title="Bands x rows")
        figure.legend(loc="outside lower left", ncols=len(PIECES) + 1)
        rows = found["notebook"]["by_bands"]
        bars.bar([str(row["bands"]) for row in rows], [row["candidates"] for row in rows])
        bars.set(xlabel="bands", ylabel="candidate pairs", title="Candidates, 100 hashes")
        counts = found["blog"]["histogram"]
        histogram.bar(np.arange(20) / 20 + 0.025, counts, width=0.045)
        histogram.set(xlabel="similarity", ylabel="pairs", title="Candidates of 42 x 3")
        histogram.set_yscale("symlog", linthresh=1)
        over = histogram.twinx()
        over.plot(s, candidate_probability(s, BANDS, ROWS), color="black")
        over.set(ylim=(0, 1), ylabel="P(candidate)")
        for ending in ("svg", "png"):
            metadata = {"Date": None} if ending == "svg" else {}
            figure.savefig(folder / f"{NAME}.{ending}", metadata=metadata)


def page(folder: Path) -> None:
    """Write the page from what was computed last."""
    found = results.load(folder, NAME)
    if found is None:
        for ending in ("md", "svg", "png"):
            (folder / f"{NAME}.{ending}").unlink(missing_ok=True)
        return
    draw(folder, found)
    a, b, c = found["slides"], found["notebook"], found["blog"]
    curve = ", ".join(f"{value:.3f}" if value < 0.9995 else f"{value:.4f}" for value in a["curve"])

    def row(what: str, theirs: str, ours: str, call: str, word: str = "") -> list[str]:
        return [what, theirs, ours, f"`{call}`" if call else "", word]

    header = ["number", "there", "ours", "call", "remark"]
    one = [
        row("bigrams of abcab: set, bag", "3, 4", f"{a['shingles']}, {a['bag']}", "shingle_sets"),
        row("pairs of a million documents", "5 x 10^11", f"{a['pairs']:,}", ""),
        row("days at a million a second", "5", str(a["days"]), "", "rounded down there"),
        row("similarities of the columns", "0.75, 0.75, 0, 0", _list(a["similarities"]), ""),
        row("of the signatures", "0.67, 1.00, 0, 0", _list(a["estimates"]), ""),
        row(
            "20 bands of 5, s = 0.2 to 0.8",
            ".006, .047, .186, .470, .802, .975, .9996",
            curve,
            "candidate_probability(s, 20, 5)",
        ),
        row(
            "missed at 0.8",
            "0.00035",
            f"{a['missed']:.5f}",
            "candidate_probability(0.8, 20, 5)",
            "from 0.328, rounded, there",
        ),
        row("one band at 0.8, 0.3", "0.328, 0.00243", _list(a["one_band"], 5), ""),
    ]
    two = [
        row(
            "similarity of the two texts",
            "0.4565",
            str(b["similarity"]),
            "similarity",
            "21 / 46 leaves out the last position, 22 / 47 does not",
        ),
        row(
            "5-grams of the first text",
            "21",
            str(b["shingles"]),
            "shingle_sets",
            "one position is left out there",
        ),
        row(
            "estimates, 100 hashes",
            "0.40 to 0.50",
            _range(b["estimates"]["100"]),
            "MinHasher.fingerprint",
            "values found anywhere are counted there, not entry by entry",
        ),
        row("estimates, 1,000 hashes", "0.412 to 0.484", _range(b["estimates"]["1000"]), ""),
        row(
            "2 pieces of 50 at 0.95",
            "80 %",
            f"{b['pieces'][0]['at_0.95']:.0%}",
            "candidate_probability(0.95, 2, 50)",
            "the formula does not give 80 %",
        ),
        row("pairs of 1,000 lines", "499,000", f"{b['pairs']:,}", "", "1,000 x 999 / 2"),
        row(
            "candidates, first 100, 10 bands",
            "8",
            f"{b['of_first']:,} of {b['first']:,} texts",
            "Cache.get_all_duplicates",
            "news there, of 806,791 lines in all",
        ),
        row("candidates of 20 bands", "111", f"{b['by_bands'][-1]['candidates']:,}", ""),
        row(
            "pairs that reach 0.9, found by 20 bands",
            "27 of 27",
            f"{b['near_found']:,} of {b['near']:,}",
            "",
        ),
    ]
    bands = [[str(r["bands"]), f"{r['candidates']:,}"] for r in b["by_bands"]]
    three = [
        row("steepest point of 42 x 3", "near (1/b)^(1/r)", f"{c['steepest']}, {c['near']}", ""),
        row("slope there", "about r / (e s)", f"{c['slope']}, {c['estimate_of_slope']}", ""),
        row("found at 0.5", "99.6 %", f"{c['at_0.5']:.1%}", "candidate_probability(0.5, 42, 3)"),
        row("candidates at 0.05", "0.5 %", f"{c['at_0.05']:.1%}", ""),
        row(
            "query, then insert, one by one",
            "400,000 in 15 minutes",
            f"{c['documents']:,} in {c['seconds']:,} s ({c['processor_seconds']:,} s of processor "
            f"time; load {c['load']} before; {_runs(c)})",
            "Index.query, Index.add",
            "verified here, candidates there; texts there were hashed before",
        ),
        row(
            "candidates of all pairs",
            f"7 million of 80 billion, {7e6 / 80e9:.4%}",
            f"{c['candidates']:,} of {c['all_pairs']:,}, {c['candidates'] / c['all_pairs']:.4%}",
            "candidate_pairs",
            "sizes of agencies are set so that it is about as many at 400,000",
        ),
        row("pairs that reach 0.5", "", f"{c['pairs']:,}", "Index.query"),
        row(
            "signatures",
            "half an hour, 200 MB",
            f"{c['signing_seconds']:,} s, {c['signature_bytes'] / 1e6:,.0f} MB",
            "signatures",
            f"128 hashes there, {BANDS * ROWS} here",
        ),
        row(
            "P at the threshold (1/b)^(1/r)",
            "1 - 1/e = 0.632",
            f"{c['at_threshold']:.3f}",
            "candidate_probability",
        ),
        row(
            "from P = 0.1 to 0.9, 42 x 3, then 1,764 x 6",
            "half the width",
            "{} to {}, then {} to {}".format(*c["twice"]),
            "candidate_probability",
            "twice the rows, the bands squared",
        ),
    ]
    parts = [
        "# The numbers of the teaching sources",
        "Slides, a notebook and a blog teach MinHash and banding. Here are their numbers and ours. "
        "`make experiments` computes them and writes this page. Texts that are not public here are "
        "replaced by synthetic ones, so that counts of these differ. Times are of a machine with "
        "two cores; the load says what else it did.",
        "## Slides: Finding near-duplicates",
        f"{SLIDES.cited}.",
        markdown.table(header, one),
        "## Notebook of mattilyra/lsh",
        f"{NOTEBOOK.cited}.",
        markdown.table(header, two),
        f"Candidate pairs of {b['documents']:,} synthetic adverts ({b['pairs']:,} pairs in all) by "
        "100 hashes in so many bands:",
        markdown.table(["bands", "candidates"], bands),
        "## Blog: 400,000 job advertisements",
        f"{BLOG.cited}. Our adverts are synthetic (`experiments/adverts.py`): each agency puts the "
        "same text about itself into its adverts, and some adverts repeat an earlier one.",
        markdown.table(header, three),
        "The threshold of datasketch is where an integral of the curve is smallest, not where "
        "pairs are found. So it says little about what is missed.",
        f"On the right, the similarities of {c['sample']:,} candidates, drawn at random from all, "
        "on an axis that is linear up to 1 and logarithmic from there: "
        f"{_share(c['histogram'], 0.15, 0.35)} are from 0.15 to 0.35, near 0.25 as in the blog, "
        "since two adverts of one agency share its text. The curve is steepest there: of pairs at "
        f"0.25, {markdown.per_cent(candidate_probability(0.25, BANDS, ROWS))} become candidates. "
        "The blog has a small spike near 0 too, of pairs that share a phrase by chance; of ours, "
        f"{_share(c['histogram'], 0, 0.1)} are below 0.1.",
        markdown.chart(NAME, "Curves, candidates by bands, and similarities of candidates"),
    ]
    text = markdown.wrapped("\n\n".join(parts))
    (folder / f"{NAME}.md").write_text(text + "\n", encoding="utf-8")


def _runs(found: dict[str, Any]) -> str:
    runs = found.get("runs", 1)
    return "one run" if runs == 1 else f"median of {runs} runs"


def _list(values: list[float], digits: int = 2) -> str:
    return ", ".join(f"{value:.{digits}f}" for value in values)


def _share(histogram: list[int], low: float, high: float) -> str:
    """Return which share of a histogram of similarities is in classes between two values."""
    first, end = (round(value * len(histogram)) for value in (low, high))
    return markdown.per_cent(sum(histogram[first:end]) / max(1, sum(histogram)))


def _range(values: list[float]) -> str:
    return f"{min(values):.3f} to {max(values):.3f}"
