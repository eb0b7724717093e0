"""What an audit says of a run is what comparing all pairs says."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from inspect_calls import audit

import neardup
from bench.notes import SynthSpec, write
from neardup.deduplication.clock import Event
from neardup.errors import InputError, SpecError
from neardup.inspect.audit import Audit, stored_audit
from neardup.inspect.audit_counts import COUNTER_BYTES, PairList, Tally, class_limits
from neardup.recipe import Recipe
from neardup.results.results import Results, open_results
from neardup.sketch.bands import candidate_probability
from neardup.sketch.sketcher import Sketcher
from neardup.spec import ShingleSpec, Spec
from neardup.testing import definition
from neardup.values.intervals import wilson
from neardup.views.text.audit_text import render

MEASURED = ("seconds", "peak_private_memory", "run")


def run(source: Any, spec: Spec, out: Path | None = None, **options: Any) -> Results:
    made = neardup.dedup(source, spec=spec, id="id", out=out, **options)
    return made._results


def word_sets(texts: list[str], n: int, bag: bool) -> list[set[Any]]:
    """Shingle sets in plain Python."""
    sets = []
    for text in texts:
        words = text.split()
        starts = range(max(1, len(words) - n + 1)) if words else ()
        shingles = [tuple(words[i : i + n]) for i in starts]
        # The second occurrence is one of its own in a bag, and nothing new in a set.
        sets.append({(s, shingles[:i].count(s) * bag) for i, s in enumerate(shingles)})
    return sets


SPECS = {
    "few bands": {"num_bands": 2, "rows": 8},
    "one band": {"num_bands": 1, "rows": 6, "cluster": "bounded"},
    "all pairs of bands": {"num_bands": 2, "rows": 8, "pairs": "all", "cluster": "components"},
    "allpairs": {"method": "allpairs"},
    "longest": {"num_bands": 3, "rows": 7, "keep": "longest"},
    "chosen": {},
    "bag": {"bag": True, "scheme": "oph32", "num_bands": 2, "rows": 8},
    "low": {"threshold": 0.08, "num_bands": 4, "rows": 3},
    "equal only": {"threshold": 1.0, "num_bands": 1, "rows": 8},
    "limited buckets": {"num_bands": 1, "rows": 1, "max_bucket": 1},
}


@pytest.mark.parametrize("name", SPECS)
def test_it_says_what_comparing_all_pairs_says(texts: list[str], source: Path, name: str) -> None:
    """The whole corpus is the sample, so that nothing is left to chance."""
    changes: dict[str, Any] = dict(SPECS[name])
    spec = Spec(shingle=ShingleSpec(n=3, bag=changes.pop("bag", False)), **changes)
    results = run(source, spec)
    found = audit(results, sample=10_000)
    sets = word_sets(texts, 3, spec.shingle.bag)
    every = {
        p: definition.jaccard(sets[p[0]], sets[p[1]]) for p in combinations(range(len(sets)), 2)
    }
    true = {p: s for p, s in every.items() if s >= spec.threshold}
    kept = results.array("kept")
    recipe = results.recipe
    keys = Sketcher(recipe)(texts).keys if recipe.num_bands else None

    def shared(a: int, b: int) -> bool:
        return keys is None or bool((keys[a] == keys[b]).any())

    missed = {p: s for p, s in true.items() if not shared(*p) or (kept[p[0]] and kept[p[1]])}
    filled = [i for i, s in enumerate(sets) if s]
    assert (found.documents, found.sampled) == (len(texts), len(filled))
    assert found.empty == len(texts) - len(filled)
    listed = {(m["doc_a"], m["doc_b"]): m["similarity"] for m in found.missed}
    assert listed == missed and found.missed_pairs == len(missed)
    assert [m["similarity"] for m in found.missed] == sorted(missed.values(), reverse=True)
    for pair in found.missed:
        assert (pair["doc_id_a"], pair["doc_id_b"]) == (f"n{pair['doc_a']}", f"n{pair['doc_b']}")
        assert pair["shared"] == shared(pair["doc_a"], pair["doc_b"])
    if name in ("few bands", "one band", "low", "bag"):
        assert len(missed) > 2
    if name == "allpairs":
        assert not missed and found.recall == 1
    assert found.with_neighbours == len({doc for pair in true for doc in pair})
    assert found.pairs == len(true)
    assert found.recall == pytest.approx(1 - len(missed) / len(true))
    assert found.recall_low == found.recall == found.recall_high  # nothing is not in the sample

    # What is left among the kept documents.
    left = {p: s for p, s in true.items() if kept[p[0]] and kept[p[1]]}
    assert found.kept_documents == found.kept_sampled == sum(kept[i] for i in filled)
    assert found.kept_near == len({doc for pair in left for doc in pair})
    assert found.kept_near_share == found.kept_near / found.kept_sampled
    assert found.kept_near_low == found.kept_near_share == found.kept_near_high
    assert {(m["doc_a"], m["doc_b"]): m["similarity"] for m in found.kept_pairs} == left
    assert found.kept_pairs_count == len(left)
    assert any(m["shared"] for m in found.kept_pairs) == (name == "limited buckets")
    if name in ("few bands", "one band", "bag"):
        assert left

    # The curve: which pairs share a bucket is what the run's own keys say.
    lowest = min(0.1, spec.threshold)
    assert sum(c["pairs"] for c in found.curve) == sum(s >= lowest for s in every.values())
    for kind in found.curve:
        last = kind["end"] == 1 and kind["begin"] != 1 and spec.threshold != 1
        within = {
            p: s
            for p, s in every.items()
            if kind["begin"] <= s and (s < kind["end"] or last or kind["begin"] == 1)
        }
        of_first: dict[int, list[bool]] = {}
        for a, b in within:  # each pair counts with one document
            of_first.setdefault(a, []).append(shared(a, b))
        shares = [np.mean(some) for some in of_first.values()]
        assert kind["pairs"] == len(within) and kind["documents"] == len(shares)
        assert kind["similarity"] == pytest.approx(np.mean(list(within.values())), abs=1e-7)
        assert kind["observed"] == pytest.approx(np.mean(shares))
        interval = wilson(kind["observed"], len(shares))
        assert (kind["observed_low"], kind["observed_high"]) == pytest.approx(interval)
        chance = 1.0
        if recipe.num_bands:
            chance = candidate_probability(kind["similarity"], recipe.num_bands, recipe.rows)
        assert kind["predicted"] == pytest.approx(chance)
    if recipe.num_bands:
        chances = candidate_probability(
            np.array(list(true.values())), recipe.num_bands, recipe.rows
        )
        assert found.expected_recall == pytest.approx(chances.mean(), abs=1e-6)

    # Removals.
    assert found.wrong == [] and found.wrong_removed == 0
    assert found.removed == found.removed_checked == int((~kept).sum()) > 0
    assert "\x1b" not in render(found.as_dict())


def test_in_folders_frames_and_other_orders_it_says_the_same(
    texts: list[str], source: Path, tmp_path: Path
) -> None:
    """Documents have other numbers where they have another order; nothing else changes."""
    spec = Spec(shingle=ShingleSpec(n=3), num_bands=2, rows=8)
    rows = {"id": [f"n{i}" for i in range(len(texts))], "text": texts}
    back = {**rows, "rank": list(range(len(texts)))}
    shuffled = np.random.default_rng(1).permutation(len(texts)).tolist()
    mixed = {name: [values[i] for i in shuffled] for name, values in back.items()}
    found = [
        audit(run(source, spec, tmp_path / "out")),
        audit(run(pa.table(rows), spec)),
        audit(run(mixed, spec.replace(order_by="rank"), None)),
        audit(run(mixed, spec.replace(order_by="rank", pairs="all"), None)),
    ]
    expected = {k: v for k, v in found[0].as_dict().items() if k not in MEASURED}
    for one in found[1:]:
        assert {k: v for k, v in one.as_dict().items() if k not in MEASURED} == expected
    assert expected["missed"]


def test_intervals_hold_the_shares_of_all_documents(source: Path) -> None:
    """Many samples of one run: nineteen of twenty intervals, less what chance may take."""
    results = run(source, Spec(shingle=ShingleSpec(n=3), num_bands=2, rows=8))
    whole = audit(results, sample=10_000)
    assert whole.recall is not None and 0.2 < whole.recall < 0.98
    assert whole.kept_near_share is not None and whole.kept_near_share > 0.05
    rounds = [audit(results, sample=60, seed=seed) for seed in range(30)]
    held = [a.recall_low <= whole.recall <= a.recall_high for a in rounds]
    left = [a.kept_near_low <= whole.kept_near_share <= a.kept_near_high for a in rounds]
    least = 0.95 - 3 * math.sqrt(0.05 * 0.95 / len(rounds))
    assert np.mean(held) > least and np.mean(left) > least
    # Empty documents may be drawn, and are left out.
    assert all(58 <= a.sampled <= 62 and 58 <= a.kept_sampled <= 62 for a in rounds)
    assert all(a.recall_high - a.recall_low < 0.5 for a in rounds)
    assert len({a.pairs for a in rounds}) > 10  # another seed, another sample


def test_equal_for_any_number_of_threads(source: Path) -> None:
    results = run(source, Spec(shingle=ShingleSpec(n=3), num_bands=2, rows=8))
    found = [audit(results, sample=80, seed=5, threads=n).as_dict() for n in (1, 3)]
    for one in found:
        for name in MEASURED:
            one.pop(name)
    assert found[0] == found[1] and found[0]["missed"]


def test_wrong_removals_are_found(source: Path, tmp_path: Path) -> None:
    """Tables that say what is not so, each in another way."""
    out = tmp_path / "out"
    run(source, Spec(shingle=ShingleSpec(n=3)), out)
    table = pq.read_table(out / "clusters.parquet")
    rows = table.to_pylist()
    gone = [r["doc"] for r in rows if not r["kept"]]
    nobody, other, low, false, removed, null = gone[:6]
    strange = next(r for r in rows if r["kept"] and r["cluster"] != rows[other]["cluster"])
    rows[nobody]["duplicate_of"] = "nobody"
    rows[other]["duplicate_of"] = strange["doc_id"]
    rows[low]["similarity"] = 0.69
    rows[false]["similarity"] = 0.7171
    rows[removed]["duplicate_of"] = rows[gone[6]]["doc_id"]
    rows[null]["duplicate_of"] = None
    pq.write_table(pa.Table.from_pylist(rows, schema=table.schema), out / "clusters.parquet")
    whole = audit(open_results(out), sample=10_000)
    assert [w["doc"] for w in whole.wrong] == sorted(gone[:6])
    assert whole.wrong_removed == 6
    said = {w["doc"]: w for w in whole.wrong}
    assert said[nobody]["duplicate_of"] == "nobody" and said[nobody]["similarity"] is None
    assert said[low]["stated"] == 0.69 and said[low]["similarity"] >= 0.7
    assert said[false]["stated"] == 0.7171 != said[false]["similarity"]
    assert said[other]["similarity"] < 0.7 and said[other]["doc_id"] == f"n{other}"
    assert said[null]["duplicate_of"] is None
    # What the tables alone give away is found whatever the sample is.
    few = audit(open_results(out), sample=1)
    assert {nobody, low, removed, null} <= {w["doc"] for w in few.wrong}
    assert "all but" in render(json.loads(json.dumps(few.as_dict())))


def test_without_near_duplicates_and_without_any_text(tmp_path: Path, kernels: None) -> None:
    different = run({"id": [*range(30)], "text": [f"a{i} b{i} c{i}" for i in range(30)]}, Spec())
    found = audit(different)
    assert (found.recall, found.recall_low, found.recall_high) == (None, 0.0, 1.0)
    assert (found.sampled, found.with_neighbours, found.missed, found.curve) == (30, 0, [], [])
    assert (found.kept_near_share, found.kept_near_high) == (0, 0)
    assert "no document has a near-duplicate, and all 30 were sampled" in render(found.as_dict())
    few = audit(different, sample=29)
    assert few.kept_near_low == 0 < few.kept_near_high < 0.05
    assert "a larger --sample may have some" in render(few.as_dict())
    found = audit(run({"id": [*range(5)], "text": [" "] * 5}, Spec()))
    assert (found.sampled, found.recall, found.documents) == (0, None, 5)
    assert (found.kept_near_share, found.kept_near_high) == (None, 1)
    assert "all documents are empty" in render(found.as_dict())
    mostly = ["" if i % 10 else f"a{i} b{i} c{i} d{i // 20}" for i in range(2000)]
    results = run({"id": [*range(2000)], "text": mostly}, Spec())
    assert 100 < audit(results, sample=150).sampled < 200
    assert audit(results, sample=1000).sampled == 200


def test_it_is_left_in_the_folder_until_the_next_run(source: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    spec = Spec(shingle=ShingleSpec(n=3))
    results = run(source, spec, out)
    assert stored_audit(results) is None
    audit(results, sample=20, write=False)
    assert not (out / "audit.json").exists()
    found = audit(results, sample=20)
    assert stored_audit(results) == found.as_dict()
    assert (out / "audit.json").stat().st_mode & 0o777 == 0o600
    assert sorted(p.name for p in out.iterdir() if "audit" in p.name) == ["audit.json"]
    record = (out / "run.json").read_bytes()
    (out / "run.json").write_bytes(record.replace(b'"format"', b' "format"'))
    assert stored_audit(results) is None
    (out / "run.json").write_bytes(record)
    written = (out / "audit.json").read_bytes()
    for damaged in (b"", b"[]", b'{"of": 1}', b"\xff"):
        (out / "audit.json").write_bytes(damaged)
        assert stored_audit(results) is None
    whole = json.loads(written)
    for key in whole:
        others = {name: value for name, value in whole.items() if name != key}
        for made in (others, {**whole, key: {"x": "x"}}):
            (out / "audit.json").write_text(json.dumps(made))
            assert stored_audit(results) is None, key
    (out / "audit.json").write_bytes(written)
    assert stored_audit(results) == found.as_dict()
    run(source, spec, out, overwrite=True)
    assert not (out / "audit.json").exists()
    # What can't be left there is returned all the same.
    (out / "audit.json").mkdir()
    events: list[Event] = []
    assert audit(open_results(out), sample=20, listener=events.append).sampled >= 19
    assert any("audit.json can't be written" in e.note for e in events)
    assert [e.stage for e in events if e.finished] == ["tables", "sample", "search"]
    assert not [p for p in out.iterdir() if p.name.startswith(".audit")]
    assert stored_audit(run({"id": ["a"], "text": ["b"]}, spec)) is None


def test_what_is_refused(source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    moved = tmp_path / "moved.jsonl"
    moved.write_bytes(source.read_bytes())
    out = tmp_path / "out"
    results = run(moved, Spec(), out)
    for name, says in (("sample", "`sample` is 0"), ("threads", "`threads` is 0")):
        with pytest.raises(SpecError, match=says):
            audit(results, **{name: 0})
    with pytest.raises(SpecError, match="`seed` is -1"):
        audit(results, seed=-1)
    with pytest.raises(SpecError, match=r"`memory` is 100 MB; at least \d+ MB are needed"):
        audit(results, sample=5, memory="100MB")
    clusters = (out / "clusters.parquet").read_bytes()
    (out / "clusters.parquet").write_bytes(clusters[:-20])
    with pytest.raises(InputError, match=r"clusters.parquet: not readable, or damaged"):
        audit(open_results(out))
    table = pq.read_table(pa.BufferReader(clusters))
    pq.write_table(table.slice(1), out / "clusters.parquet")
    with pytest.raises(InputError, match=r"the table of clusters has \d+ rows; expected"):
        audit(open_results(out))
    (out / "clusters.parquet").write_bytes(clusters)
    with moved.open("a") as file:
        file.write('{"text": "more"}\n')
    with pytest.raises(InputError, match="has changed since the run"):
        audit(open_results(out))
    run({"id": ["a", "b"], "text": ["one text", "another"]}, Spec(), tmp_path / "frame")
    with pytest.raises(InputError, match="was a frame or a pipe"):
        audit(open_results(tmp_path / "frame"))


def test_a_sample_of_long_texts_that_does_not_fit(kernels: None) -> None:
    """Room for texts of mean length is made sure of before; a long one shows when it is read."""
    texts = ["long " + " ".join(map(str, range(60_000))), *(f"short {i}" for i in range(79))]
    results = run({"id": list(range(80)), "text": texts}, Spec())
    with pytest.raises(SpecError, match="a sample with 30,0") as error:
        audit(results, sample=20, memory="1MB", threads=1)
    needed = float(error.value.message.split("at least ")[1].split()[0])
    memory = int(1e6 * needed) + 1_000_000
    refused = 0
    for seed in range(8):
        try:
            assert audit(results, sample=20, seed=seed, memory=memory, threads=1).sampled == 20
        except SpecError as error:
            assert "allow more memory" in error.hint
            refused += 1
    assert 0 < refused < 8


@pytest.mark.parametrize("threshold", [0.04, 0.1, 0.5, 0.705, 0.72, 0.95, 0.995, 1.0])
def test_classes_are_on_one_side_of_the_threshold(threshold: float) -> None:
    lowest = min(0.1, threshold)
    limits = class_limits(threshold, lowest)
    assert limits[0] == lowest and limits[-1] == 1 and threshold in limits
    assert (np.diff(limits) >= 0.0049).all() or threshold >= 0.99
    assert 16 * (len(limits) - 1) + 24 <= COUNTER_BYTES  # the memory that is counted for them
    recipe = Recipe(num_bands=20, rows=4)
    tally = Tally(1, threshold, lowest, recipe)
    values = np.unique([*np.linspace(lowest, 1, 400), threshold])
    rows, true = np.zeros(len(values), dtype=np.int32), values >= threshold
    tally.add(rows, values, ~true, true, np.ones(len(values), dtype=np.bool_))
    assert tally.neighbours[0] == tally.found[0] == tally.pairs == true.sum() > 0
    assert sum(line["pairs"] for line in tally.curve()) == len(values)


def test_tally_counts_as_a_loop_does() -> None:
    rng = np.random.default_rng(1)
    tally = Tally(6, 0.7, 0.1, Recipe(num_bands=8, rows=3))
    rows = []
    for _ in range(5):
        part = (
            rng.integers(0, 5, 40).astype(np.int32),
            rng.uniform(0.1, 1, 40),
            *(rng.random(40) < 0.5 for _ in range(3)),
        )
        tally.add(*part)
        rows += list(zip(*(c.tolist() for c in part), strict=True))
    for doc in range(6):
        mine = [row for row in rows if row[0] == doc and row[1] >= 0.7]
        assert tally.neighbours[doc] == len(mine)
        assert tally.found[doc] == sum(row[3] for row in mine)
    assert tally.pairs == sum(row[1] >= 0.7 and row[4] for row in rows)
    chances = [1 - (1 - row[1] ** 3) ** 8 for row in rows if row[1] >= 0.7]
    assert tally.expected() == pytest.approx(np.mean(chances), abs=1e-6)
    for kind in tally.curve():
        some = [row for row in rows if row[4] and kind["begin"] <= row[1] < kind["end"]]
        docs = sorted({row[0] for row in some})
        shares = [np.mean([row[2] for row in some if row[0] == doc]) for doc in docs]
        assert (kind["pairs"], kind["documents"]) == (len(some), len(docs))
        assert kind["observed"] == pytest.approx(np.mean(shares))


def test_the_most_similar_pairs_are_held() -> None:
    everything = [(5, 3, 0.8), (3, 7, 0.9), (9, 1, 0.7), (9, 5, 0.95)]
    for order in (everything, everything[::-1]):
        pairs = PairList(3)
        for pair in order:
            a, b, similarity = (np.array([x]) for x in pair)
            pairs.add(a, b, similarity, similarity > 0.85)
        assert pairs.total == 4
        assert pairs.rows() == [(5, 9, 0.95, True), (3, 7, 0.9, True), (3, 5, 0.8, False)]


def test_ids_of_other_types(tmp_path: Path, kernels: None) -> None:
    """What a file holds as an id and JSON has no word for."""
    words = [" ".join(f"w{i}" for i in range(k, k + 30)) for k in (0, 0, 1, 500)]
    for ids in (
        pa.array([b"\xff\x00", b"b", b"c", b"d"]),
        pa.array([1, 2, 3, 4], pa.date32()),
    ):
        pq.write_table(pa.table({"text": words, "id": ids}), tmp_path / "a.parquet")
        out = tmp_path / "out"
        run(tmp_path / "a.parquet", Spec(), out, overwrite=True)
        found = audit(open_results(out))
        assert found.removed == found.removed_checked == 2 and found.wrong == []
        table = pq.read_table(out / "clusters.parquet")
        wrong = [0.5 if value else None for value in table["similarity"].to_pylist()]
        table = table.set_column(5, "similarity", pa.array(wrong, pa.float64()))
        pq.write_table(table, out / "clusters.parquet")
        said = audit(open_results(out)).as_dict()["wrong"]
        assert len(said) == 2 and json.dumps(said)


@pytest.mark.long
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_it_stays_within_memory(tmp_path: Path, kernels: None) -> None:
    write(SynthSpec(documents=10_000, words=(20, 200)), tmp_path / "notes.jsonl")
    results = run(tmp_path / "notes.jsonl", Spec(), tmp_path / "out")
    with pytest.raises(SpecError) as error:
        audit(results, memory="200MB", threads=2)
    needed = math.ceil(float(error.value.message.split("at least ")[1].split()[0])) + 1
    code = (
        "import neardup, sys; "
        f"found = neardup.open(sys.argv[1]).audit(memory='{needed}MB', threads=2); "
        "print(found.sampled, found.peak_private_memory)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "out")],
        capture_output=True,
        text=True,
        check=True,
    )
    sampled, peak = map(int, done.stdout.split())
    assert sampled == 1000 and 0 < peak < needed * 1_000_000


def test_an_audit_is_plain_values(source: Path) -> None:
    found = audit(run(source, Spec()), sample=20)
    assert isinstance(found, Audit)
    assert json.loads(json.dumps(found.as_dict())) == found.as_dict()
