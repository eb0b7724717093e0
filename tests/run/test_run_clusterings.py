"""Whole runs with each clustering: what they promise, and what they must not depend on."""

from __future__ import annotations

import json
import random
import sys
import time
from itertools import combinations
from pathlib import Path
from typing import Any

import networkx
import pyarrow.parquet as pq
import pytest
from killing import Forge, Work, steps, wait_for

from common import Command, write_lines
from neardup.core.shingle import shingle_sets
from neardup.spec import CLUSTERINGS, ShingleSpec
from neardup.synth import SynthSpec, write

EDGE, TREE = 0.6, 0.45
WAYS = {
    **{name: ("--cluster", name) for name in CLUSTERINGS},
    **{
        f"{name}, second": ("--cluster", name, "--second-round")
        for name in ("bounded", "bounded-mst")
    },
    "bounded, allpairs": ("--cluster", "bounded", "--method", "allpairs"),
}
SETTINGS = ("--id", "id", "--edge-threshold", EDGE, "--tree-threshold", TREE)


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Notes with a family whose members lie astride the edge threshold."""
    path = tmp_path_factory.mktemp("made") / "notes.jsonl"
    spec = SynthSpec(
        documents=900, near=0.4, changed=(0, 0.1), words=(20, 120), family=(150,), family_values=2
    )
    write(spec, path)
    return path


@pytest.fixture(scope="session")
def family(forge: Forge, made: Path, tmp_path_factory: pytest.TempPathFactory) -> Work:
    return Work(forge, tmp_path_factory.mktemp("family"), made, {})


def labels(out: Path) -> dict[str, int]:
    table = pq.read_table(out / "clusters.parquet")
    return dict(zip(table["doc_id"].to_pylist(), table["cluster"].to_pylist(), strict=True))


def edges(out: Path) -> list[tuple[str, str, float]]:
    table = pq.read_table(out / "edges.parquet", columns=["doc_id_a", "doc_id_b", "similarity"])
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


def groups(clusters: dict[str, int]) -> set[frozenset[str]]:
    found: dict[int, set[str]] = {}
    for name, cluster in clusters.items():
        found.setdefault(cluster, set()).add(name)
    return {frozenset(group) for group in found.values()}


def said(out: Path) -> dict[str, Any]:
    return json.loads((out / "run.json").read_text())


@pytest.mark.parametrize("way", WAYS)
def test_runs_keep_their_promises(way: str, made: Path, tmp_path: Path, command: Command) -> None:
    """What ``run.json`` says of the clusters is what brute force finds, and the bound holds."""
    out = tmp_path / "out"
    assert command("dedup", made, "-o", out, *SETTINGS, *WAYS[way]).code == 0
    rows = [json.loads(line) for line in made.read_text().splitlines()]
    sets = shingle_sets([row["text"] for row in rows], ShingleSpec())
    bounds = sets.offsets.tolist()
    shingles = {
        row["id"]: frozenset(sets.values[bounds[i] : bounds[i + 1]].tolist())
        for i, row in enumerate(rows)
    }
    clusters = labels(out)
    # Equal documents count as one.
    first: dict[str, str] = {}
    for row in rows:
        first.setdefault(" ".join(row["text"].lower().split()), row["id"])
    leaders = set(first.values())
    same = [0, 0, 0]
    for group in groups({name: clusters[name] for name in leaders}):
        for a, b in combinations(group, 2):
            value = len(shingles[a] & shingles[b]) / len(shingles[a] | shingles[b])
            same[0 if value >= EDGE else 1 if value >= TREE else 2] += 1
    quality = said(out)["quality"]
    assert [quality[f"same_{name}"] for name in ("high", "mid", "low")] == same
    assert quality["exact"] and quality["pairs_within"] == quality["looked_at"] == sum(same)
    if way.startswith("bounded"):
        assert same[2] == 0
    sizes = [len(group) for group in groups({name: clusters[name] for name in leaders})]
    assert quality["clusters_of_two_or_more"] == sum(size > 1 for size in sizes)
    assert quality["largest_cluster"] == max(sizes) > 5
    between = [e for e in edges(out) if e[0] in leaders and e[1] in leaders]
    different = sum(clusters[a] != clusters[b] for a, b, _ in between)
    assert quality["different_high"] == different
    graph = networkx.Graph()
    graph.add_weighted_edges_from(between)
    parts = groups({name: clusters[name] for name in graph})
    assert quality["modularity"] == pytest.approx(
        networkx.community.modularity(graph, parts), abs=1e-9
    )
    if way == "components":
        assert parts == {frozenset(c) for c in networkx.connected_components(graph)}
    counts = said(out)["counts"]
    assert ("second" in way) == (counts["second_checked"] > 0)
    assert (counts["second_merged"] > 0) == ("second" in way)


def test_the_second_round_brings_edges_between_clusters_down(
    made: Path, tmp_path: Path, command: Command
) -> None:
    for cluster in ("bounded", "bounded-mst"):
        found = []
        for more in ([], ["--second-round"]):
            out = tmp_path / f"{cluster}{len(more)}"
            args = [*SETTINGS, "--cluster", cluster, *more]
            assert command("dedup", made, "-o", out, *args).code == 0
            found.append((said(out)["quality"]["different_high"], labels(out)))
        (before, apart), (after, merged) = found
        assert after < before
        assert all(any(g <= other for other in groups(merged)) for g in groups(apart))


@pytest.mark.parametrize("way", WAYS)
def test_the_same_with_other_threads_stores_and_parts(way: str, family: Work) -> None:
    args = (*map(str, SETTINGS[2:]), *WAYS[way])
    for number, more in enumerate(
        [
            ("--threads", 1, "--store", "sqlite", "--design", "1"),
            ("--threads", 3, "--store", "memory", "--part-size", "40KB"),
            ("--threads", 2, "--store", "sqlite", "--design", "2", "--part-size", "1MB"),
        ]
    ):
        out = family.folder / f"{way}{number}"
        family.run(out, *args, *more).check()
        family.same(out, *args)


@pytest.mark.parametrize("way", WAYS)
def test_killed_while_clusters_are_made(way: str, family: Work, tmp_path: Path) -> None:
    """Between bands, and after the last one, when clusters are made of the edges."""
    args = (*map(str, SETTINGS[2:]), *WAYS[way])
    chance = random.Random(way)
    last = said_bands(family, args)
    moments = [0, last] if last == 0 else [chance.randrange(last), last]
    for number, item in enumerate(moments):
        out = tmp_path / f"out{number}"
        process = family.start(out, *args, slow=0.01)
        wait_for(process, lambda out=out, item=item: item in steps(out).get("cluster", ()))
        time.sleep(chance.random() * 0.02)
        process.kill()
        process.wait()
        family.run(out, *args, "--resume", trace=True).check()
        family.same(out, *args)
        assert not (out / ".run").exists()


def said_bands(work: Work, args: tuple[str, ...]) -> int:
    """The last step of the stage that verifies and clusters."""
    found = work.undisturbed(*args)[1]
    one = found["spec"]["method"] == "allpairs" or found["spec"]["cluster"] == "star"
    return 0 if one else found["bands"]["num_bands"] - 1


@pytest.mark.parametrize("how", [("--method", "allpairs"), ("--bands", "12", "--rows", "2")])
@pytest.mark.parametrize("way", ["bounded-mst", "bounded-mst, second", "components"])
def test_the_order_of_the_input_does_not_matter(
    way: str, how: tuple[str, ...], made: Path, tmp_path: Path, command: Command
) -> None:
    rows = [json.loads(line) for line in made.read_text().splitlines()]
    found = []
    for seed in range(3):
        random.Random(seed).shuffle(rows)
        path = write_lines(tmp_path / f"{seed}.jsonl", rows)
        out = tmp_path / f"out{seed}"
        args = [*SETTINGS, *WAYS[way], *how, "--pairs", "all"]
        assert command("dedup", path, "-o", out, *args).code == 0
        quality = said(out)["quality"]
        del quality["modularity"]  # added up in another order
        found.append((groups(labels(out)), quality))
    assert found[0] == found[1] == found[2]
    assert max(map(len, found[0][0])) > 5


def test_components_of_giant_buckets_do_not_depend_on_the_order(
    tmp_path: Path, command: Command
) -> None:
    """With ``--pairs collapsed``, as long as nothing was left uncompared."""
    write(SynthSpec(documents=700, family=(400,), family_values=2), tmp_path / "notes.jsonl")
    rows = [json.loads(line) for line in (tmp_path / "notes.jsonl").read_text().splitlines()]
    found = []
    for seed in range(3):
        random.Random(seed).shuffle(rows)
        path, out = write_lines(tmp_path / f"{seed}.jsonl", rows), tmp_path / f"out{seed}"
        assert command("dedup", path, "-o", out, "--id", "id", "--cluster", "components").code == 0
        counts = said(out)["counts"]
        assert counts["giant_buckets"] > 0 == counts["not_compared"]
        found.append(groups(labels(out)))
    assert found[0] == found[1] == found[2]
    assert max(map(len, found[0])) > 100


def test_a_second_round_needs_a_bounded_clustering(
    made: Path, tmp_path: Path, command: Command
) -> None:
    for cluster in ("star", "components", "louvain"):
        answer = command(
            "dedup", made, "-o", tmp_path / "out", "--cluster", cluster, "--second-round"
        )
        assert answer.code == 2
        assert f"the second round needs a bounded clustering, and the clustering is {cluster}" in (
            answer.error
        )
        assert not (tmp_path / "out").exists()


def test_without_igraph_nothing_is_begun(
    made: Path, tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "igraph", None)
    answer = command("dedup", made, "-o", tmp_path / "out", "--cluster", "louvain")
    assert answer.code == 1
    assert answer.error == "error: the clustering louvain needs the package igraph"
    assert answer.lines[1] == "hint: pip install 'neardup[graph]'"
    assert not (tmp_path / "out").exists()
