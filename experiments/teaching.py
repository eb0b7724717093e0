"""The numbers of three texts that teach this subject, beside ours: docs/paper/sources.md.

Slides, a notebook, and a blog on 400,000 job advertisements: see `experiments.documents`.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

import neardup
from experiments import markdown, results
from neardup.compat.lsh import Cache, MinHasher
from neardup.sketch.bands import candidate_probability, steepest

NAME = "sources"
#: The two texts of the notebook.
LOREM = "Lorem Ipsum dolor sit amet"
MORE = LOREM + " is how dummy text starts"
#: Rows of the matrix of the slides in which each document has a one, and the permutations.
DOCUMENTS = ({1, 2, 6, 7}, {3, 4, 5}, {1, 6, 7}, {2, 3, 4, 5})
PERMUTATIONS = ((2, 3, 7, 6, 1, 5, 4), (4, 2, 1, 3, 6, 7, 5), (3, 4, 7, 2, 6, 1, 5))
#: Bands of the notebook: pieces and their size.
PIECES = ((2, 50), (50, 2), (10, 10), (5, 20), (20, 5))
#: Recipe of the blog.
BLOG = neardup.Spec(shingle=neardup.ShingleSpec(n=3), threshold=0.5, num_bands=42, rows=3)


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
    """Compute the numbers of the notebook; made notes stand in for the news."""
    spec = neardup.ShingleSpec("char", 5, keep_case=True)
    estimates: dict[str, list[float]] = {}
    for count in (100, 1000):
        hashers = [MinHasher(count, 5, seed) for seed in range(5)]
        equal = [(one.fingerprint(LOREM) == one.fingerprint(MORE)).mean() for one in hashers]
        estimates[str(count)] = [round(float(share), 3) for share in equal]
    texts = adverts(documents, 3)
    candidates = []
    for bands in (2, 5, 10, 20):
        cache = Cache(MinHasher(100, 5, 1), bands)
        for number, text in enumerate(texts):
            cache.update(text, number)
        found = cache.get_all_duplicates()
        candidates.append({"bands": bands, "candidates": len(found)})
    near = [pair for pair in found if cache.hasher.jaccard(texts[pair[0]], texts[pair[1]]) >= 0.9]
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
        "near": len(near),
    }


def adverts(count: int, seed: int) -> list[str]:
    """Make advertisements: a common frame, words of a trade, and some that repeat others."""
    draw = np.random.default_rng(seed)
    frame = [f"frame{i}" for i in range(200)]
    words = [f"word{i}" for i in range(20_000)]
    made: list[str] = []
    for _ in range(count):
        if made and draw.random() < 0.15:
            text = made[int(draw.integers(len(made)))].split()
            for place in draw.integers(len(text), size=int(draw.integers(12))).tolist():
                text[place] = words[int(draw.integers(len(words)))]
        else:
            begin = int(draw.integers(150))
            own = (len(words) * draw.random(100) ** 2).astype(int).tolist()
            text = [*frame[begin : begin + 30], *(words[i] for i in own)]
        made.append(" ".join(text))
    return made


def blog(documents: int) -> dict[str, Any]:
    """Repeat the job of the blog on made advertisements: query, then insert, one by one."""
    point = steepest(42, 3)
    width = 1e-6
    slope = (
        candidate_probability(point + width, 42, 3) - candidate_probability(point - width, 42, 3)
    ) / (2 * width)
    texts = adverts(documents, 4)
    index = neardup.Index.create(spec=BLOG, store_text=False)
    begin = time.perf_counter()
    pairs = 0
    for number, text in enumerate(texts):
        pairs += index.query(text).num_rows
        index.add([text], ids=[number])
    seconds = time.perf_counter() - begin
    signed = neardup.signatures(texts[:2000], 126, shingle=BLOG.shingle)
    a, b = neardup.candidate_pairs(neardup.band_keys(signed, 42, 3))
    chosen = np.random.default_rng(5).permutation(len(a))[:5000]
    found = [neardup.similarity(texts[a[i]], texts[b[i]], BLOG.shingle) for i in chosen]
    return {
        "steepest": round(point, 3),
        "near": round((1 / 42) ** (1 / 3), 3),
        "slope": round(float(slope), 2),
        "estimate_of_slope": round(3 / (np.e * point), 2),
        "at_0.5": float(candidate_probability(0.5, 42, 3)),
        "at_0.05": float(candidate_probability(0.05, 42, 3)),
        "documents": documents,
        "seconds": round(seconds, 1),
        "pairs": pairs,
        "histogram": np.histogram(found, bins=20, range=(0, 1))[0].tolist(),
    }


def teaching(documents: int, advertisements: int) -> dict[str, Any]:
    """Compute all numbers."""
    return {
        "slides": slides(),
        "notebook": notebook(documents),
        "blog": blog(advertisements),
    }


def draw(folder: Path, found: dict[str, Any]) -> None:
    """Draw the curves, the candidates by bands, and the histogram with the curve over it."""
    with mpl.rc_context({"svg.hashsalt": "neardup", "svg.fonttype": "none"}):
        figure = Figure(figsize=(12, 4), layout="constrained")
        curves, bars, histogram = figure.subplots(1, 3)
        s = np.linspace(0.001, 1, 300)
        for b, r in (*PIECES, (42, 3)):
            curves.plot(s, candidate_probability(s, b, r), label=f"{b} x {r}")
        curves.set(xlabel="similarity", ylabel="P(candidate)", title="Bands x rows")
        curves.legend(fontsize=8)
        rows = found["notebook"]["by_bands"]
        bars.bar([str(row["bands"]) for row in rows], [row["candidates"] for row in rows])
        bars.set(xlabel="bands", ylabel="candidate pairs", title="Candidates, 100 hashes")
        counts = found["blog"]["histogram"]
        histogram.bar(np.arange(20) / 20 + 0.025, counts, width=0.045)
        histogram.set(xlabel="similarity", ylabel="pairs", title="Candidates of 42 x 3")
        over = histogram.twinx()
        over.plot(s, candidate_probability(s, 42, 3), color="black")
        over.set_ylim(0, 1)
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
    share = "{:.3f}".format

    def row(what: str, theirs: str, ours: str, call: str, word: str = "") -> list[str]:
        return [what, theirs, ours, f"`{call}`" if call else "", word]

    header = ["number", "there", "ours", "call", "remark"]
    curve = ", ".join(share(value) for value in a["curve"])
    one = [
        row("bigrams of abcab: set, bag", "3, 4", f"{a['shingles']}, {a['bag']}", "shingle_sets"),
        row("pairs of a million documents", "5 x 10^11", f"{a['pairs']:,}", ""),
        row("days at a million a second", "5", str(a["days"]), "", "rounded down there"),
        row("similarities of the columns", "0.75, 0.75, 0, 0", _list(a["similarities"]), ""),
        row("of the signatures", "0.67, 1.00, 0, 0", _list(a["estimates"]), ""),
        row(
            "20 bands of 5, s = 0.2 to 0.8",
            ".006 .047 .186 .470 .802 .975 .9996",
            curve,
            "candidate_probability(s, 20, 5)",
        ),
        row("missed at 0.8", "0.00035", f"{a['missed']:.5f}", "candidate_probability(0.8, 20, 5)"),
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
        row("pairs of 1,000 lines", "499,000", "499,500", "", "1,000 x 999 / 2"),
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
            f"{c['documents']:,} in {c['seconds']:,} s",
            "Index.query, Index.add",
            "verified here, candidates there; texts there were hashed before",
        ),
        row("pairs", "7 million candidates", f"{c['pairs']:,} that reach 0.5", ""),
    ]
    parts = [
        "# The numbers of the teaching sources",
        "Slides, a notebook and a blog teach MinHash and banding. Here are their numbers and ours. "
        "`make experiments` computes them and writes this page. Texts that are not public here are "
        "replaced by made ones, so that counts of these differ.",
        "## Slides: Finding near-duplicates",
        markdown.table(header, one),
        "## Notebook of mattilyra/lsh",
        markdown.table(header, two),
        f"Candidate pairs of {b['documents']:,} made texts ({b['pairs']:,} pairs in all) by 100 "
        f"hashes in so many bands; with 20 bands, {b['near']:,} of them reach 0.9:",
        markdown.table(["bands", "candidates"], bands),
        "## Blog: 400,000 job advertisements",
        markdown.table(header, three),
        "The threshold of datasketch is where an integral of the curve is smallest, not where "
        "pairs are found. So it says little about what is missed.",
        markdown.chart(NAME, "Curves, candidates by bands, and similarities of candidates"),
    ]
    text = markdown.wrapped("\n\n".join(parts))
    (folder / f"{NAME}.md").write_text(text + "\n", encoding="utf-8")


def _list(values: list[float], digits: int = 2) -> str:
    return ", ".join(f"{value:.{digits}f}" for value in values)


def _range(values: list[float]) -> str:
    return f"{min(values):.3f} to {max(values):.3f}"
