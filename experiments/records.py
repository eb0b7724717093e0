"""The tutorial on hashing for record linkage, repeated: counts, times, and what else can be done.

Source: `experiments.documents.TUTORIAL`.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow.csv as pcsv

import neardup
from experiments.notes import DATA
from neardup.cluster.methods import connected
from neardup.match.bucketing import candidate_pairs
from neardup.match.verifying import make_sets, similarities
from neardup.spec import ShingleSpec
from neardup.threads import Pool

__all__ = ["records"]

#: The tutorial's signatures.
HASHES, BANDS = 360, 90
ROWS = HASHES // BANDS
CHARACTERS = ShingleSpec(unit="char", n=3)
#: Two names, joined without a space as in the tutorial.
NAMES = ("MICHAELVOGEL", "MICHAELMEYER")
_CORA = "address author editor institution month note pages publisher title venue volume year"
_CLASSES = 20

Found = dict[str, Any]


def records(before: Found | None) -> Found:
    """Repeat the tutorial; counts of public records stay where these are not there.

    Args:
        before: What was found last.
    """
    found: Found = {"worked": worked_example(), "estimates": estimates(), "schemes": schemes()}
    if not (DATA / "cora").is_dir():
        return {**(before or {}), **found}
    return {**found, "cora": cora(), "exercise": exercise(), "clusters": clusters()}


def worked_example() -> Found:
    """The two names, and the S-curve at two similarities."""
    grams = [{name[i : i + 2] for i in range(len(name) - 1)} for name in NAMES]
    both, either = (len(s) for s in (grams[0] & grams[1], grams[0] | grams[1]))
    curve = {s: neardup.candidate_probability(s, BANDS, ROWS) for s in (0.25, 0.75)}
    exact = neardup.similarity(*NAMES, ShingleSpec(unit="char", n=2, keep_case=True))
    return {"shared": both, "either": either, "similarity": exact, "curve": curve}


def cora() -> Found:
    """Citations by title, author and venue: all pairs, candidates, and components of these."""
    table = pcsv.read_csv(DATA / "cora/records.csv")
    columns = [table.column(name).to_pylist() for name in ("title", "author", "venue")]
    texts = [" ".join(value or "" for value in row) for row in zip(*columns, strict=True)]
    count = len(texts)
    begin = time.perf_counter()
    sets = neardup.shingle_sets(texts, CHARACTERS)
    a, b = (x.astype(np.int32) for x in np.triu_indices(count, 1))
    with Pool() as pool:
        similarity = np.maximum(0, similarities(make_sets(sets), a, b, 0.0, pool))
    exact_seconds = time.perf_counter() - begin
    begin = time.perf_counter()
    keys = neardup.band_keys(neardup.signatures(texts, HASHES, shingle=CHARACTERS), BANDS, ROWS)
    x, y = candidate_pairs(keys)
    seconds = time.perf_counter() - begin
    true = _true("cora", count)
    hits = int(np.isin(x.astype(np.int64) * count + y, true).sum())
    blocks = connected(x, y, count)
    _, sizes = np.unique(blocks, return_counts=True)
    inside = int((sizes * (sizes - 1) // 2).sum())
    total = len(a)
    of = np.minimum((similarity * _CLASSES).astype(int), _CLASSES - 1)
    # Candidates are sorted as all pairs are, so that each has a place among them.
    place = x.astype(np.int64) * (2 * count - x - 1) // 2 + y - x - 1
    pairs = np.bincount(of, minlength=_CLASSES)
    collided = np.bincount(of[place], minlength=_CLASSES)
    return {
        "records": count,
        "pairs": total,
        "shingles": len(np.unique(sets.values)),
        "exact_seconds": round(exact_seconds, 2),
        "seconds": round(seconds, 2),
        "expected": float(neardup.candidate_probability(similarity, BANDS, ROWS).sum()),
        "candidates": len(x),
        "completeness": hits / len(true),
        "reduction": 1 - len(x) / total,
        "quality": hits / len(x),
        "blocks": len(sizes),
        "largest": int(sizes.max()),
        "blocks_reduction": 1 - inside / total,
        "histogram": pairs.tolist(),
        "collided": collided.tolist(),
    }


def clusters() -> list[Found]:
    """Verified clusters of Cora, next to components of candidates."""
    run = neardup.link(DATA / "cora/records.csv", id="row", fields=_CORA.split())
    strict = neardup.link(
        DATA / "cora/records.csv", id="row", fields=_CORA.split(), cluster="complete"
    )
    truth = pcsv.read_csv(DATA / "cora/truth_pairs.csv")
    lines = []
    for name, one in (("star", run), ("complete", strict)):
        scores = one.evaluate(truth)["decision"]
        counts = one.summary["counts"]
        lines.append(
            {
                "clusters": name,
                "entities": counts["entities"],
                "largest": counts["largest"],
                "threshold": one.threshold.value,
                **{f"pairs_{k}": scores["pairs"][k] for k in ("precision", "recall", "f1")},
                "clusters_f1": scores["clusters"]["pairwise"]["f1"],
                "b_cubed": scores["clusters"]["b_cubed"]["f1"],
            }
        )
    return lines


def exercise() -> list[Found]:
    """RLdata500 by first and last name, and by all fields: the exercise, solved."""
    table = pcsv.read_csv(DATA / "rldata500/records.csv")
    count = table.num_rows
    true = _true("rldata500", count)
    names = [table.column(name).to_pylist() for name in ("fname_c1", "lname_c1")]
    texts = [" ".join(row) for row in zip(*names, strict=True)]
    lines = []
    for label, n in (("2-shingles", 2), ("3-shingles", 3)):
        shingle = ShingleSpec(unit="char", n=n)
        keys = neardup.band_keys(neardup.signatures(texts, HASHES, shingle=shingle), BANDS, ROWS)
        x, y = candidate_pairs(keys)
        what = f"names, {label}, {BANDS} bands of {ROWS}"
        lines.append(_blocks(what, x.astype(np.int64) * count + y, true, count))
    for label, fields in (
        ("neardup, names", ["fname_c1", "lname_c1"]),
        ("neardup, all fields", ["fname_c1", "fname_c2", "lname_c1", "lname_c2", "by", "bm", "bd"]),
    ):
        run = neardup.link(DATA / "rldata500/records.csv", id="row", fields=fields)
        pairs = run.blocks.pairs
        x, y = (np.array(pairs[name].to_pylist(), np.int64) for name in ("id_a", "id_b"))
        line = _blocks(label, np.minimum(x, y) * count + np.maximum(x, y), true, count)
        scores = run.evaluate(pcsv.read_csv(DATA / "rldata500/truth_pairs.csv"))["decision"]
        lines.append({**line, "f1": scores["pairs"]["f1"], "threshold": run.threshold.value})
    return lines


def estimates() -> list[Found]:
    """How far estimates of 360 hashes are from the truth, over 400 seeds."""
    lines = []
    for similarity in (0.25, 0.5, 0.75):
        shared = round(200 * similarity)
        alone = 200 - shared
        words = [f"w{i}" for i in range(200)]
        one = " ".join(words[: shared + alone // 2])
        other = " ".join([*words[:shared], *words[shared + alone // 2 :]])
        found = [_estimate(one, other, seed) for seed in range(400)]
        exact = neardup.similarity(one, other, ShingleSpec(n=1))
        lines.append(
            {
                "similarity": exact,
                "mean": float(np.mean(found)),
                "deviation": float(np.std(found)),
                "expected": float(np.sqrt(exact * (1 - exact) / HASHES)),
                "quantiles": [float(q) for q in np.quantile(found, (0.05, 0.5, 0.95))],
            }
        )
    return lines


def schemes() -> list[Found]:
    """One permutation in bins next to one function for each entry: processor time and error."""
    rng = np.random.default_rng(0)
    lines = []
    for size in (20, 200, 2000):
        texts = []
        for _ in range(200):
            shared = rng.integers(10**9, size=size)
            texts += [
                " ".join(map(str, np.append(shared, rng.integers(10**9, size=size // 3))))
                for _ in range(2)
            ]
        sets = make_sets(neardup.shingle_sets(texts, ShingleSpec(n=1)))
        a = np.arange(0, 400, 2, dtype=np.int32)
        with Pool() as pool:
            exact = similarities(sets, a, a + 1, 0.0, pool)
        for scheme in ("affine32", "oph32"):
            seconds, errors = [], []
            for seed in range(3):
                begin = time.process_time()  # of all threads, whatever else the machine does
                made = neardup.signatures(
                    texts, HASHES, shingle=ShingleSpec(n=1), scheme=scheme, seed=seed
                )
                seconds.append(time.process_time() - begin)
                errors.append((made[a] == made[a + 1]).mean(axis=1) - exact)
            error = float(np.sqrt(np.mean(np.square(errors))))
            micros = 1e6 * min(seconds) / len(texts)
            lines.append({"shingles": size, "scheme": scheme, "micros": micros, "error": error})
    return lines


def _estimate(one: str, other: str, seed: int) -> float:
    made = neardup.signatures([one, other], HASHES, shingle=ShingleSpec(n=1), seed=seed)
    return float((made[0] == made[1]).mean())


def _true(name: str, count: int) -> np.ndarray:
    truth = pcsv.read_csv(DATA / name / "truth_pairs.csv")
    a, b = (np.array(truth[column].to_pylist(), np.int64) for column in ("a", "b"))
    return np.asarray(np.minimum(a, b) * count + np.maximum(a, b))


def _blocks(what: str, codes: Sequence[int] | np.ndarray, true: np.ndarray, count: int) -> Found:
    hits, possible = int(np.isin(codes, true).sum()), count * (count - 1) // 2
    return {
        "what": what,
        "candidates": len(codes),
        "completeness": hits / len(true),
        "reduction": 1 - len(codes) / possible,
        "false_positives": (len(codes) - hits) / (possible - len(true)),
    }
