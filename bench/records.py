"""Record linkage next to Splink, recordlinkage and dedupe: candidates, decision, time, memory.

    python bench/records.py [SET[:TOOL] ...]

Each tool runs in a process of its own, in the environment of tools/link_tools.py, and dedupe in
that of bench/setup_peers.py; a tool is stopped after `LIMIT` seconds. neardup uses its default
settings, whose decision needs no labels. Splink and recordlinkage block on the equality of each
field; of Splink the decision at probability 0.5 and the best threshold by the truth are reported,
of recordlinkage what its unsupervised ECM classifier decides. Of neardup F1 of three samples of
70 % of the records is there, too. dedupe can't do without labels: it
gets `LABELS` true pairs and as many others. The Brier score is the mean squared error of the
probabilities of all candidates. Sets of two files have a column `source`. Public sets are in
../shared/data or NEARDUP_DATA. The table of bench/README.md is written again from all results.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import math
import os
import random
import resource
import subprocess
import sys
import sysconfig
import time
import warnings
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
DATA = Path(os.environ.get("NEARDUP_DATA") or ROOT.parent / "shared/data")
RESULTS = ROOT / "bench/results/records.json"
PAGE = ROOT / "bench/README.md"
TOOLS = ("neardup", "splink", "recordlinkage", "dedupe")
#: Seconds after which a tool is stopped, and pairs of each kind that dedupe learns from.
LIMIT, LABELS = 120, 100
_BEGIN, _END = "<!-- records -->", "<!-- end of records -->"
_PERSON = "given_name surname street_number address_1 suburb postcode date_of_birth soc_sec_id"
SETS = {
    "rldata500": "fname_c1 lname_c1 by bm bd",
    "rldata500-names": "fname_c1 lname_c1",
    "febrl1": _PERSON,
    "febrl2": _PERSON,
    "febrl3": _PERSON,
    "restaurant": "name addr city phone:digits type",
    "cora": "author title venue year:digits pages:digits",
    "fake1000": "first_name surname dob:digits city email",
    "bib_respiratory": "title author year:digits journal volume number pages:digits",
    "bib_haematology": "title author year:digits journal volume number pages:digits",
    "abt_buy": "name description price:numeric",
    "census": "surname first middle number:digits street",
    "parks": "name",
    "imdb_tmdb": "title name episodeNumber:exact seasonNumber:exact genre_list",
    "imdb_tvdb": "title name episodeNumber:digits seasonNumber:digits",
    "rldata10000": "fname_c1 fname_c2 lname_c1 lname_c2 by bm bd",
    "bib_digital_work": "title author year:digits journal booktitle volume number pages doi "
    "abstract",
    "personsfew-5000": "given_name surname birth:digits",
    "personsfew-20000": "given_name surname birth:digits",
    "persons-20000": "given_name surname birth:digits street suburb postcode phone:digits",
    "households-4000": "given_name surname birth:digits street suburb postcode phone:digits",
    "distinct-4000": "given_name surname birth:digits street suburb postcode phone:digits",
}


#: Sets whose column `source` names two files, whose pairs are across these.
TWO_FILES = ("abt_buy", "census", "parks", "imdb_tmdb", "imdb_tvdb")
#: Share of the records in a sample, and samples of which F1 is measured.
_SHARE, _SAMPLES = 0.7, 3
#: Persons that live together at most, in households and in a file without any duplicate.
_TOGETHER = 4


def names(name: str) -> list[str]:
    """Return the columns of a set that are compared."""
    return [field.partition(":")[0] for field in SETS[name].split()]


def sources(frame: Any) -> list[Any]:
    """Return the frames of a set: one, or two."""
    if "source_dataset" not in frame:
        return [frame]
    which = frame["source_dataset"]
    parts = [frame[which == name].reset_index(drop=True) for name in which.unique()]
    return [part.drop(columns="source_dataset") for part in parts]


def load(name: str) -> tuple[Any, set[tuple[int, int]]]:
    """Return a frame of strings, whose index is the position, and the true pairs."""
    import pandas as pd

    made = name.partition("-")[0]
    if made in ("persons", "personsfew", "households", "distinct"):
        from neardup.synth.persons import PersonSpec, person_truth, persons

        spec = PersonSpec(int(name.partition("-")[2]), **{"near": 0} if made == "distinct" else {})
        frame = persons(spec).to_pandas()
        if made in ("households", "distinct"):
            share_homes(frame, person_truth(spec)["group"].to_pylist())
        groups: dict[str, list[int]] = {}
        for row, group in enumerate(person_truth(spec)["group"].to_pylist()):
            groups.setdefault(group, []).append(row)
        true = {pair for rows in groups.values() for pair in itertools.combinations(rows, 2)}
    else:
        folder = DATA / name.partition("-")[0]
        frame = pd.read_csv(folder / "records.csv", dtype=str)
        pairs = pd.read_csv(folder / "truth_pairs.csv")
        true = {(min(a, b), max(a, b)) for a, b in pairs.itertuples(index=False)}
    source = frame["source"] if name in TWO_FILES else None
    frame = frame[names(name)]
    frame.insert(0, "unique_id", range(len(frame)))
    if source is not None:
        frame.insert(1, "source_dataset", source)
    return frame, true


def share_homes(frame: Any, group: list[str]) -> None:
    """Let up to `_TOGETHER` persons have the surname and address of one of them."""
    draw, first = random.Random(0), dict[str, int]()
    for row, name in enumerate(group):
        first.setdefault(name, row)
    names, homes = list(first), dict[str, int]()
    while len(homes) < len(names):
        begin = len(homes)
        home = names[begin : begin + draw.randint(1, _TOGETHER)]
        homes.update(dict.fromkeys(home, first[home[0]]))
    for column in ("surname", "street", "suburb", "postcode", "phone"):
        values = frame[column].tolist()
        frame[column] = [values[homes[name]] for name in group]


def samples_f1(frame: Any, fields: list[str], true: set[tuple[int, int]]) -> list[float]:
    """Return F1 of the pairs of neardup on samples of a file."""
    import numpy as np

    found = []
    for seed in range(1, _SAMPLES + 1):
        rows = np.random.default_rng(seed).permutation(len(frame))[: int(_SHARE * len(frame))]
        kept = set(rows.tolist())
        part = frame.iloc[np.sort(rows)].reset_index(drop=True)
        scores, _ = with_neardup(part, fields)
        decided = {pair for pair, bits in scores.items() if bits >= 0}
        there = {pair for pair in true if kept.issuperset(pair)}
        found.append(_f1(len(decided & there), len(decided), len(there)))
    return found


def with_neardup(frame: Any, fields: list[str]) -> tuple[Any, Any]:
    import neardup

    run = neardup.link(*sources(frame), id="unique_id", fields=fields, threads=2)
    every = run.candidates
    rows = zip(*(every[name].to_pylist() for name in ("id_a", "id_b", "log_odds")), strict=True)
    scores = {(min(a, b), max(a, b)): odds / math.log(2) for a, b, odds in rows}
    clusters = dict(
        zip(*(run.clusters[name].to_pylist() for name in ("id", "cluster")), strict=True)
    )
    return scores, clusters


def with_splink(frame: Any, fields: list[str]) -> tuple[Any, Any]:
    import splink.comparison_library as cl
    from splink import DuckDBAPI, Linker, SettingsCreator, block_on

    api = DuckDBAPI()
    fields = [field.partition(":")[0] for field in fields]
    parts = [part.where(part.notna(), None) for part in sources(frame)]
    settings = SettingsCreator(
        link_type="dedupe_only" if len(parts) == 1 else "link_only",
        comparisons=[cl.JaroWinklerAtThresholds(name, [0.9, 0.7]) for name in fields],
        blocking_rules_to_generate_predictions=[block_on(name) for name in fields],
    )
    tables = [api.register(part, dataset_display_name=f"file{k}") for k, part in enumerate(parts)]
    linker = Linker(tables, settings)
    linker.training.estimate_u_using_random_sampling(max_pairs=1e6)
    for name in fields[:3]:
        # A rule without pairs teaches nothing.
        with contextlib.suppress(Exception):
            linker.training.estimate_parameters_using_expectation_maximisation(block_on(name))
    scored = linker.inference.predict().as_pandas_dataframe()
    rows = zip(scored["unique_id_l"], scored["unique_id_r"], scored["match_weight"], strict=True)
    scores = {(min(a, b), max(a, b)): weight for a, b, weight in rows}
    return scores, None


def with_recordlinkage(frame: Any, fields: list[str]) -> tuple[Any, Any]:
    import recordlinkage

    fields = [field.partition(":")[0] for field in fields]
    tables = [part.set_index("unique_id").fillna("") for part in sources(frame)]
    indexer = recordlinkage.Index()
    for name in fields:
        indexer.block(name)
    pairs = indexer.index(*tables)
    compare = recordlinkage.Compare()
    for name in fields:
        compare.string(name, name, method="jarowinkler", threshold=0.85, label=name)
    features = compare.compute(pairs, *tables)
    model = recordlinkage.ECMClassifier()
    model.fit_predict(features)
    odds = [math.log2(max(p, 1e-9) / max(1 - p, 1e-9)) for p in model.prob(features)]
    return {(min(p), max(p)): score for p, score in zip(pairs, odds, strict=True)}, None


def with_dedupe(frame: Any, fields: list[str], true: set[tuple[int, int]]) -> tuple[Any, Any]:
    import dedupe
    from dedupe import variables

    columns = [field.partition(":")[0] for field in fields]
    parts = [part.set_index("unique_id")[columns] for part in sources(frame)]
    data = [
        {row: {k: v or None for k, v in values.items()} for row, values in part.items()}
        for part in (part.fillna("").to_dict("index") for part in parts)
    ]
    compared = [variables.String(name, has_missing=True) for name in columns]
    linker = (dedupe.Dedupe if len(data) == 1 else dedupe.RecordLink)(compared, num_cores=1)
    draw, first, last = random.Random(0), list(data[0]), list(data[-1])
    linker.prepare_training(*data)
    known = draw.sample(sorted(true), min(LABELS, len(true)))
    others: list[tuple[int, int]] = []
    while len(others) < len(known):
        a, b = draw.choice(first), draw.choice(last)
        if a != b and (min(a, b), max(a, b)) not in true:
            others.append((a, b))
    # The lower number is of the first file.
    kinds = {"match": known, "distinct": others}
    marked = {
        kind: [(data[0][min(pair)], data[-1][max(pair)]) for pair in pairs]
        for kind, pairs in kinds.items()
    }
    linker.mark_pairs(marked)
    linker.train(index_predicates=False)
    scored = linker.score(linker.pairs(*data))
    odds = [math.log2(max(p, 1e-9) / max(1 - p, 1e-9)) for p in scored["score"].tolist()]
    return {(min(p), max(p)): o for p, o in zip(scored["pairs"].tolist(), odds, strict=True)}, None


def _f1(right: int, given: int, true: int) -> float:
    return 2 * right / max(1, given + true)


def _brier(scores: dict[tuple[int, int], float], true: set[tuple[int, int]]) -> float:
    """Return the mean squared error of the probabilities of match weights, in bits."""
    errors = [
        (1 / (1 + 2 ** -min(max(bits, -500), 500)) - (pair in true)) ** 2
        for pair, bits in scores.items()
    ]
    return sum(errors) / max(1, len(errors))


def _within(clusters: dict[int, int], frame: Any) -> set[tuple[int, int]]:
    """Return the pairs within clusters; of two files those across them."""
    members: dict[int, list[int]] = {}
    for row, cluster in clusters.items():
        members.setdefault(cluster, []).append(row)
    of = dict(zip(frame["unique_id"], frame.get("source_dataset", frame["unique_id"]), strict=True))
    return {
        (a, b)
        for rows in members.values()
        for a, b in itertools.combinations(sorted(rows), 2)
        if of[a] != of[b]
    }


def measure(name: str, tool: str) -> dict[str, Any]:
    """Run one tool on one set, in this process."""
    warnings.simplefilter("ignore")
    frame, true = load(name)
    run = {
        "neardup": with_neardup,
        "splink": with_splink,
        "recordlinkage": with_recordlinkage,
        "dedupe": lambda frame, fields: with_dedupe(frame, fields, true),
    }
    if tool == "neardup":  # kernels are compiled once for a machine
        with_neardup(frame.head(50), SETS[name].split())
    begin = time.perf_counter()
    scores, clusters = run[tool](frame, SETS[name].split())
    seconds = time.perf_counter() - begin
    sizes = [len(part) for part in sources(frame)]
    possible = math.prod(sizes) if len(sizes) > 1 else math.comb(len(frame), 2)
    ordered = sorted(scores, key=lambda pair: -scores[pair])
    hits = itertools.accumulate(pair in true for pair in ordered)
    best = max((_f1(h, k, len(true)) for k, h in enumerate(hits, 1)), default=0.0)
    decided = {pair for pair, bits in scores.items() if bits >= 0}
    within = None if clusters is None else _within(clusters, frame)
    sampled = samples_f1(frame, SETS[name].split(), true) if tool == "neardup" else []
    return {
        "set": name,
        "tool": tool,
        "candidates": len(scores),
        "completeness": len(scores.keys() & true) / max(1, len(true)),
        "pairs": len(decided),
        "reduction": 1 - len(scores) / possible,
        "f1": _f1(len(decided & true), len(decided), len(true)),
        "best_f1": best,
        "samples_f1": sampled,
        "clusters_f1": None if within is None else _f1(len(within & true), len(within), len(true)),
        "brier": _brier(scores, true),
        "seconds": seconds,
        "peak_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
    }


def _write(line: dict[str, Any]) -> None:
    """Put a line in the place of an earlier one of that set and tool."""
    line["load"] = round(os.getloadavg()[0], 1)
    lines = json.loads(RESULTS.read_text()) if RESULTS.exists() else []
    kept = {(old["set"], old["tool"]): old for old in lines}
    kept[line["set"], line["tool"]] = line
    RESULTS.write_text(json.dumps(list(kept.values()), indent=1) + "\n")


def _interpreters() -> dict[str, str | None]:
    """Return the interpreter of each tool; None where it can't be installed."""
    sys.path.insert(0, str(ROOT / "tools"))
    from harness import peer_python
    from link_tools import interpreter
    from setup_peers import install

    found: dict[str, str | None] = dict.fromkeys(TOOLS, str(interpreter()))
    try:
        install("dedupe")
        found["dedupe"] = str(peer_python("dedupe"))
    except RuntimeError as error:
        print(f"dedupe: {error}")
        found["dedupe"] = None
    return found


def _run_one(python: str | None, name: str, tool: str) -> tuple[list[str], str]:
    """Return the lines with a result, and else why there is none."""
    if python is None:
        return [], "could not be installed"
    # dedupe has packages of its own only; the others see those of neardup.
    paths = [str(ROOT / "src"), *([sysconfig.get_path("purelib")] if tool == "dedupe" else [])]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths)}
    words = [python, __file__, "--one", name, tool]
    try:
        done = subprocess.run(words, capture_output=True, text=True, env=environment, timeout=LIMIT)
    except subprocess.TimeoutExpired:
        return [], f"stopped after {LIMIT} s"
    answers = [x for x in done.stdout.splitlines() if x.startswith("RESULT ")]
    lines = done.stderr.splitlines()
    # (DuckDB shows a line of its statement after the error.)
    errors = [x for x in lines if x[:1].isalpha() and ":" in x and not x.startswith("LINE ")]
    return answers, (errors or ["no answer"])[-1]


def _sampled(line: dict[str, Any]) -> str:
    return " ".join(f"{f1:.3f}" for f1 in line.get("samples_f1", ()))


def _counted(line: dict[str, Any]) -> str:
    return f"{line['pairs']:,}" if "pairs" in line else ""


def _write_page() -> None:
    """Write the table of all results to the page of the benchmarks."""
    lines = [
        "| set | tool | candidates | completeness | reduction | pairs | F1 | of samples | best F1 "
        "| Brier | seconds | MB | load |",
        "|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    found = {(line["set"], line["tool"]): line for line in json.loads(RESULTS.read_text())}
    for line in (found[of] for of in itertools.product(SETS, TOOLS) if of in found):
        begin = f"| {line['set']} | {line['tool']} |"
        if "failed" in line:
            lines.append(f"{begin} {line['failed']} | | | | | | | | | | {line['load']:.0f} |")
            continue
        lines.append(
            f"{begin} {line['candidates']:,} | {line['completeness']:.3f} | {line['reduction']:.4f}"
            f" | {_counted(line)} | {line['f1']:.3f} | {_sampled(line)} |"
            f" {line['best_f1']:.3f} | {line['brier']:.4f} |"
            f" {line['seconds']:.1f} | {line['peak_bytes'] / 1e6:,.0f} | {line['load']:.0f} |"
        )
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(_BEGIN)
    after = rest.partition(_END)[2]
    table = "\n".join(lines)
    PAGE.write_text(f"{before}{_BEGIN}\n\n{table}\n\n{_END}{after}", encoding="utf-8")


def main() -> None:
    """Measure all sets that are asked for, and write what was found."""
    if sys.argv[1:2] == ["--one"]:
        print("RESULT " + json.dumps(measure(*sys.argv[2:4])))
        return
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sets", nargs="*", metavar="SET[:TOOL]")
    asked = [word.partition(":") for word in parser.parse_args().sets or SETS]
    pythons = _interpreters()
    for name, tool in ((n, t) for n, _, only in asked for t in TOOLS if only in ("", t)):
        answers, why = _run_one(pythons[tool], name, tool)
        if not answers:
            print(f"{name:14} {tool:14} failed: {why[:100]}", flush=True)
            _write({"set": name, "tool": tool, "failed": why[:200]})
            continue
        line = json.loads(answers[0].removeprefix("RESULT "))
        _write(line)
        print(
            f"{name:14} {tool:14} {line['candidates']:>9,} candidates, completeness "
            f"{line['completeness']:.4f}, reduction {line['reduction']:.4f}, F1 {line['f1']:.4f} "
            f"(best {line['best_f1']:.4f}), Brier {line['brier']:.4f}, "
            f"{line['seconds']:.2f} s, {line['peak_bytes'] / 1e6:.0f} MB",
            flush=True,
        )
    _write_page()


if __name__ == "__main__":
    main()
