"""Record linkage next to Splink and recordlinkage: candidates, decision, seconds, memory.

    python bench/records.py [SET[:TOOL] ...]

Each tool runs in a process of its own, in the environment of tools/link_tools.py. neardup uses its
default settings, whose threshold needs no labels. Splink and recordlinkage block on the equality of
each field; of Splink the best threshold by the truth is reported, of recordlinkage what its
unsupervised ECM classifier decides. Public sets are in ../shared/data or NEARDUP_DATA.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import resource
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
DATA = Path(os.environ.get("NEARDUP_DATA") or ROOT.parent / "shared/data")
RESULTS = ROOT / "bench/results/records.json"
TOOLS = ("neardup", "splink", "recordlinkage")
_PERSON = "given_name surname street_number address_1 suburb postcode date_of_birth soc_sec_id"
SETS = {
    "rldata500": "fname_c1 lname_c1 by bm bd",
    "febrl1": _PERSON,
    "febrl3": _PERSON,
    "restaurant": "name addr city phone type",
    "cora": "author title venue year pages",
    "persons-20000": "given_name surname birth street suburb postcode phone",
}


def load(name: str) -> tuple[Any, set[tuple[int, int]]]:
    """Return a frame of strings, whose index is the position, and the true pairs."""
    import pandas as pd

    if name.startswith("persons"):
        from neardup.records.persons import PersonSpec, person_truth, persons

        spec = PersonSpec(int(name.partition("-")[2]))
        frame = persons(spec).to_pandas()
        groups: dict[str, list[int]] = {}
        for row, group in enumerate(person_truth(spec)["group"].to_pylist()):
            groups.setdefault(group, []).append(row)
        true = {pair for rows in groups.values() for pair in itertools.combinations(rows, 2)}
    else:
        frame = pd.read_csv(DATA / name / "records.csv", dtype=str)
        pairs = pd.read_csv(DATA / name / "truth_pairs.csv")
        true = {(min(a, b), max(a, b)) for a, b in pairs.itertuples(index=False)}
    frame = frame[SETS[name].split()]
    frame.insert(0, "unique_id", range(len(frame)))
    return frame, true


def with_neardup(frame: Any, fields: list[str]) -> tuple[Any, Any]:
    import neardup

    run = neardup.link(frame, id="unique_id", fields=fields, threads=2)
    return (
        _pairs(run.blocks.pairs["id_a"], run.blocks.pairs["id_b"]),
        _pairs(run.pairs["id_a"], run.pairs["id_b"]),
    )


def with_splink(frame: Any, fields: list[str]) -> tuple[Any, Any]:
    import splink.comparison_library as cl
    from splink import DuckDBAPI, Linker, SettingsCreator, block_on

    api = DuckDBAPI()
    settings = SettingsCreator(
        link_type="dedupe_only",
        comparisons=[cl.JaroWinklerAtThresholds(name, [0.9, 0.7]) for name in fields],
        blocking_rules_to_generate_predictions=[block_on(name) for name in fields],
    )
    linker = Linker(api.register(frame.where(frame.notna(), None)), settings)
    linker.training.estimate_u_using_random_sampling(max_pairs=1e6)
    for name in fields[:3]:
        # A rule without pairs teaches nothing.
        with contextlib.suppress(Exception):
            linker.training.estimate_parameters_using_expectation_maximisation(block_on(name))
    scored = linker.inference.predict().as_pandas_dataframe()
    rows = zip(scored["unique_id_l"], scored["unique_id_r"], scored["match_weight"], strict=True)
    scores = {(min(a, b), max(a, b)): weight for a, b, weight in rows}
    return set(scores), scores


def with_recordlinkage(frame: Any, fields: list[str]) -> tuple[Any, Any]:
    import recordlinkage

    table = frame.set_index("unique_id").fillna("")
    indexer = recordlinkage.Index()
    for name in fields:
        indexer.block(name)
    pairs = indexer.index(table)
    compare = recordlinkage.Compare()
    for name in fields:
        compare.string(name, name, method="jarowinkler", threshold=0.85, label=name)
    features = compare.compute(pairs, table)
    found = recordlinkage.ECMClassifier().fit_predict(features)
    return {(min(p), max(p)) for p in pairs}, {(min(p), max(p)) for p in found}


def _pairs(a: Any, b: Any) -> set[tuple[int, int]]:
    return {(min(x, y), max(x, y)) for x, y in zip(a.to_pylist(), b.to_pylist(), strict=True)}


def measure(name: str, tool: str) -> dict[str, Any]:
    """Run one tool on one set, in this process."""
    warnings.simplefilter("ignore")
    frame, true = load(name)
    run = {"neardup": with_neardup, "splink": with_splink, "recordlinkage": with_recordlinkage}
    if tool == "neardup":  # kernels are compiled once for a machine
        with_neardup(frame.head(50), SETS[name].split())
    begin = time.perf_counter()
    candidates, decided = run[tool](frame, SETS[name].split())
    seconds = time.perf_counter() - begin
    possible = len(frame) * (len(frame) - 1) // 2
    if isinstance(decided, dict):
        ordered = sorted(decided, key=lambda pair: -decided[pair])
        hits = itertools.accumulate(pair in true for pair in ordered)
        f1 = max((2 * h / (k + len(true)) for k, h in enumerate(hits, 1)), default=0.0)
    else:
        f1 = 2 * len(decided & true) / max(1, len(decided) + len(true))
    return {
        "set": name,
        "tool": tool,
        "candidates": len(candidates),
        "completeness": len(candidates & true) / len(true),
        "reduction": 1 - len(candidates) / possible,
        "f1": f1,
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


def main() -> None:
    """Measure all sets that are asked for, and write what was found."""
    if sys.argv[1:2] == ["--one"]:
        print("RESULT " + json.dumps(measure(*sys.argv[2:4])))
        return
    sys.path.insert(0, str(ROOT / "tools"))
    from link_tools import interpreter

    python = interpreter()
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    asked = [word.partition(":") for word in sys.argv[1:] or SETS]
    for name, tool in ((n, t) for n, _, only in asked for t in TOOLS if only in ("", t)):
        words = [str(python), __file__, "--one", name, tool]
        done = subprocess.run(words, capture_output=True, text=True, env=environment)
        answers = [x for x in done.stdout.splitlines() if x.startswith("RESULT ")]
        if not answers:
            why = (done.stderr.strip().splitlines() or ["no answer"])[-1]
            print(f"{name:14} {tool:14} failed: {why[:100]}", flush=True)
            _write({"set": name, "tool": tool, "failed": why[:200]})
            continue
        line = json.loads(answers[0].removeprefix("RESULT "))
        _write(line)
        print(
            f"{name:14} {tool:14} {line['candidates']:>9,} candidates, completeness "
            f"{line['completeness']:.4f}, reduction {line['reduction']:.4f}, F1 {line['f1']:.4f}, "
            f"{line['seconds']:.2f} s, {line['peak_bytes'] / 1e6:.0f} MB",
            flush=True,
        )


if __name__ == "__main__":
    main()
