"""Candidates scored by the real Splink and recordlinkage; run where these are installed.

python hand_over.py OUT.json
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa

import neardup
from neardup.synth.persons import PersonSpec, person_truth, persons

NAMES = ["given_name", "surname", "birth:digits", "street", "suburb", "postcode", "phone:digits"]
COLUMNS = [name.partition(":")[0] for name in NAMES]


def with_splink(sources: list[pa.Table], found: neardup.Blocks, names: tuple[str, str]) -> Any:
    """Pairs of ids that Splink scored, with their weights."""
    import splink.comparison_library as cl
    from splink import DuckDBAPI, Linker, SettingsCreator

    api = DuckDBAPI()
    settings = SettingsCreator(
        link_type="dedupe_only" if len(sources) == 1 else "link_only",
        unique_id_column_name="id",
        comparisons=[cl.JaroWinklerAtThresholds(name, [0.9]) for name in COLUMNS],
        blocking_rules_to_generate_predictions=[],
    )
    tables = [
        api.register(table, dataset_display_name=name)
        for table, name in zip(sources, names, strict=False)
    ]
    linker = Linker(tables, settings)
    linker.training.estimate_u_using_random_sampling(max_pairs=1e5)
    pairs = api.register(found.to_splink(names))
    linker.table_management.register_blocked_pairs_for_predict(pairs)
    scored = linker.inference.predict().as_pandas_dataframe()
    columns = ["id_l", "id_r", "match_weight"]
    return [[str(row[0]), str(row[1]), float(row[2])] for row in scored[columns].to_numpy()]


def with_recordlinkage(sources: list[pa.Table], found: neardup.Blocks) -> Any:
    """Pairs of ids that recordlinkage scored, with the sum of their scores."""
    import recordlinkage

    frames = [table.to_pandas().set_index("id").fillna("") for table in sources]
    compare = recordlinkage.Compare()
    for name in COLUMNS:
        compare.string(name, name, method="jarowinkler", label=name)
    scored = compare.compute(found.to_recordlinkage(), *frames)
    return [[*pair, float(total)] for pair, total in zip(scored.index, scored.sum(1), strict=True)]


def main() -> None:
    """Score the candidates of one file, and those of two."""
    spec = PersonSpec(600, seed=11)
    table = persons(spec)
    answers: dict[str, Any] = {}
    for name, sources in (("one", [table]), ("two", [table.slice(0, 300), table.slice(300)])):
        found = neardup.blocks(*sources, id="id", fields=NAMES)
        pairs = found.pairs.select(["id_a", "id_b"]).to_pydict()
        answers[name] = {
            "pairs": [list(pair) for pair in zip(*pairs.values(), strict=True)],
            "splink": with_splink(sources, found, ("first", "second")),
            "recordlinkage": with_recordlinkage(sources, found),
        }
    answers["truth"] = person_truth(spec).to_pydict()
    Path(sys.argv[1]).write_text(json.dumps(answers))


if __name__ == "__main__":
    main()
