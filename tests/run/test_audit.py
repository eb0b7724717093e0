"""What an audit says of a run is what comparing all pairs says."""

from __future__ import annotations

import json
import math
import random
import shutil
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import neardup
from common import write_lines
from neardup.core.intervals import wilson
from neardup.core.tally import TALLY_BYTES
from neardup.errors import InputError, InputNotFoundError, SpecError
from neardup.report.audit import render
from neardup.run import auditing
from neardup.run.auditing import stored_audit
from neardup.run.events import Event
from neardup.run.finished import FinishedRun
from neardup.spec import ShingleSpec, Spec

Pairs = dict[tuple[int, int], float]


def texts() -> list[str]:
    """Copies with more and more changes, templates, equal texts, reordered ones, empty ones."""
    rng = random.Random(3)
    words = [f"w{i}" for i in range(3000)]
    made = []
    for _ in range(60):
        base = rng.choices(words, k=rng.randrange(20, 60))
        made.append(base)
        for _ in range(rng.randrange(4)):
            copy = [w if rng.random() < 0.985 else rng.choice(words) for w in base]
            made.append(copy)
    template = rng.choices(words, k=40)
    made += [[*template, *rng.choices(words, k=4)] for _ in range(40)]
    made += [rng.choices(words[:3], k=30) for _ in range(12)]
    made += [list(rng.choice(made)) for _ in range(25)]
    made += [[], ["!"], []]
    rng.shuffle(made)
    return [" ".join(some) for some in made]


TEXTS = texts()


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory, kernels: None) -> Path:
    folder = tmp_path_factory.mktemp("audited")
    rows = [{"id": f"n{i}", "text": text} for i, text in enumerate(TEXTS)]
    return write_lines(folder / "texts.jsonl", rows)


def similarities(n: int, bag: bool = False) -> Pairs:
    """All pairs, by plain Python on words."""
    sets = []
    for text in TEXTS:
        words = [w for w in text.split() if w != "!"]
        runs = range(max(1, len(words) - n + 1)) if words else ()
        shingles = [tuple(words[i : i + n]) for i in runs]
        # The second occurrence is one of its own in a bag, and nothing new in a set.
        sets.append({(s, shingles[:i].count(s) * bag) for i, s in enumerate(shingles)})
    return {
        (a, b): len(sets[a] & sets[b]) / len(sets[a] | sets[b])
        for a, b in combinations(range(len(sets)), 2)
        if sets[a] & sets[b]
    }


def found_pairs(out: Path) -> tuple[set[tuple[int, int]], list[int]]:
    """Edges, and those of equal words for each edge of theirs; clusters."""
    edges = pq.read_table(out / "edges.parquet")
    cluster = pq.read_table(out / "clusters.parquet")["cluster"].to_pylist()
    first: dict[str, int] = {}
    for doc, text in enumerate(TEXTS):
        first.setdefault(text, doc)
    linked = {
        frozenset((first[TEXTS[a]], first[TEXTS[b]]))
        for a, b in zip(edges["doc_a"].to_pylist(), edges["doc_b"].to_pylist(), strict=True)
    }
    return {
        (a, b)
        for a, b in combinations(range(len(TEXTS)), 2)
        if cluster[a] == cluster[b] or frozenset((first[TEXTS[a]], first[TEXTS[b]])) in linked
    }, cluster


SPECS = {
    "few bands": {"num_bands": 2, "rows": 8},
    "one band": {"num_bands": 1, "rows": 6, "tree_threshold": 0.65},
    "all pairs of bands": {"num_bands": 2, "rows": 8, "pairs": "all", "cluster": "components"},
    "allpairs": {"method": "allpairs"},
    "star": {"num_bands": 3, "rows": 7, "cluster": "star"},
    "chosen": {},
    "bag": {"bag": True, "scheme": "oph32", "num_bands": 2, "rows": 8},
    "low": {"edge_threshold": 0.08, "tree_threshold": 0.05, "num_bands": 4, "rows": 3},
    "equal only": {"edge_threshold": 1.0, "tree_threshold": 0.0, "num_bands": 1, "rows": 8},
}


@pytest.mark.parametrize("name", SPECS)
def test_it_says_what_comparing_all_pairs_says(source: Path, tmp_path: Path, name: str) -> None:
    """The whole corpus is the sample, so that nothing is left to chance."""
    changes: dict[str, Any] = dict(SPECS[name])
    spec = Spec(shingle=ShingleSpec(n=3, bag=changes.pop("bag", False)), **changes)
    out = tmp_path / "out"
    neardup.dedup_files(source, out, spec=spec, id="id")
    audit = neardup.audit(out, 10_000)
    all_pairs = similarities(3, spec.shingle.bag)
    true = {p: s for p, s in all_pairs.items() if s >= spec.edge_threshold}
    found, cluster = found_pairs(out)
    missed = {p: s for p, s in true.items() if p not in found}
    filled = [i for i, text in enumerate(TEXTS) if text not in ("", "!")]

    assert (audit.documents, audit.sampled) == (len(TEXTS), len(filled))
    listed = {(m["doc_a"], m["doc_b"]): m["similarity"] for m in audit.missed}
    assert listed == missed and audit.missed_pairs == len(missed)
    assert [m["similarity"] for m in audit.missed] == sorted(missed.values(), reverse=True)
    for pair in audit.missed:
        assert (pair["doc_id_a"], pair["doc_id_b"]) == (f"n{pair['doc_a']}", f"n{pair['doc_b']}")
    if name in ("few bands", "one band", "low", "bag"):
        assert len(missed) > 2
    if name == "allpairs":
        assert not missed and audit.recall == 1
    shares = []
    for doc in filled:
        mine = [pair for pair in true if doc in pair]
        if mine:
            shares.append(sum(pair in found for pair in mine) / len(mine))
    assert audit.with_partners == len(shares) and audit.partners == 2 * len(true)
    assert audit.pairs == len(true) and audit.empty == len(TEXTS) - len(filled)
    assert audit.document_recall == pytest.approx(np.mean(shares))
    assert audit.recall == pytest.approx(1 - len(missed) / len(true))
    assert audit.recall_low == audit.recall == audit.recall_high  # nothing is not in the sample

    # The curve: which pairs share a bucket is what the run's own signatures say.
    table = neardup.band_keys
    least = min(0.1, spec.edge_threshold, spec.tree_threshold or 0.1)
    assert sum(c["pairs"] for c in audit.curve) == sum(s >= least for s in all_pairs.values())
    if audit.bands is None:
        assert all(c["observed"] is None and c["predicted"] is None for c in audit.curve)
        assert audit.missed_candidates is None and audit.predicted_recall == 1
    else:
        b, r = audit.bands["num_bands"], audit.bands["rows"]
        signer = neardup.Signer(b * r, spec.scheme, spec.seed)
        keys = table(neardup.sign(TEXTS, signer, spec.shingle), b, r)
        for kind in audit.curve:
            within = {
                p: s
                for p, s in all_pairs.items()
                if kind["begin"] <= s and (s < kind["end"] or s == kind["end"] == 1)
            }
            if kind["end"] == 1 and kind["begin"] < 1 and spec.edge_threshold == 1:
                within = {p: s for p, s in within.items() if s < 1}
            met = []
            expected = []
            for doc in {first for first, _ in within}:  # each pair counts with one document
                mine = [pair for pair in within if pair[0] == doc]
                met.append(np.mean([(keys[:, x] == keys[:, y]).any() for x, y in mine]))
                chances = [neardup.candidate_probability(within[p], b, r) for p in mine]
                expected.append(np.mean(chances))
            assert kind["documents"] == len(met)
            assert kind["observed"] == pytest.approx(np.mean(met))
            # That all documents are in the sample does not make the draw of the hashes any surer.
            interval = wilson(kind["observed"], len(met))
            assert (kind["observed_low"], kind["observed_high"]) == pytest.approx(interval)
            assert kind["predicted"] == pytest.approx(np.mean(expected), abs=1e-7)
            assert (kind["found"] is None) == (kind["begin"] < spec.edge_threshold)
        shared = [(keys[:, a] == keys[:, b_]).any() for a, b_ in missed]
        assert audit.missed_candidates == sum(shared)

    # Removals and clusters.
    assert audit.removed["wrong"] == [] and audit.removed["wrong_documents"] == 0
    kept = pq.read_table(out / "clusters.parquet")["kept"].to_pylist()
    assert audit.removed["documents"] == audit.removed["checked"] == kept.count(False) > 0
    mates = [p for p in combinations(range(len(TEXTS)), 2) if cluster[p[0]] == cluster[p[1]]]
    far = sum(all_pairs.get(p, 0.0) < spec.tree_threshold for p in mates)
    assert audit.clusters == {
        "pairs": len(mates),
        "below_tree_threshold": far,
        "bounded": spec.cluster == "bounded",
    }
    assert not (far and spec.cluster == "bounded")


def test_clusters_without_the_bound_are_told(source: Path, tmp_path: Path) -> None:
    rows = [{"text": " ".join(f"w{i}" for i in range(k, k + 40))} for k in range(0, 60, 3)]
    chain = write_lines(tmp_path / "chain.jsonl", rows)
    spec = Spec(cluster="components", tree_threshold=0.6)
    neardup.dedup_files(chain, tmp_path / "out", spec=spec)
    audit = neardup.audit(tmp_path / "out", 100)
    assert audit.clusters["below_tree_threshold"] > 50 and not audit.clusters["bounded"]
    assert audit.missed == []


def test_intervals_hold_the_recall_of_all_documents(source: Path, tmp_path: Path) -> None:
    """Many samples of one run: nineteen of twenty intervals, less what chance may take."""
    out = tmp_path / "out"
    spec = Spec(shingle=ShingleSpec(n=3), num_bands=2, rows=8)
    neardup.dedup_files(source, out, spec=spec)
    whole = neardup.audit(out, 10_000)
    assert whole.recall is not None and 0.3 < whole.recall < 0.98
    rounds = [neardup.audit(out, 60, seed, write=False) for seed in range(40)]
    held = [a.recall_low <= whole.recall <= a.recall_high for a in rounds]
    mean = whole.document_recall
    by_document = [a.document_recall_low <= mean <= a.document_recall_high for a in rounds]
    least = 0.95 - 3 * math.sqrt(0.05 * 0.95 / len(rounds))
    assert np.mean(held) > least and np.mean(by_document) > least
    assert all(a.sampled == 60 and a.recall_high - a.recall_low < 0.5 for a in rounds)
    assert len({a.partners for a in rounds}) > 10  # another seed, another sample


def test_equal_for_any_number_of_threads_and_chunks(source: Path, tmp_path: Path) -> None:
    spec = Spec(shingle=ShingleSpec(n=3), num_bands=2, rows=8)
    audits = []
    for size, threads in ((64 << 20, 1), (64 << 20, 3), (4_000, 2)):
        out = tmp_path / f"out{size}-{threads}"
        neardup.dedup_files(source, out, spec=spec, storage=neardup.Storage(part_bytes=size))
        found = neardup.audit(out, 80, 5, threads=threads).as_dict()
        audits.append({k: v for k, v in found.items() if k not in MEASURED})
    assert audits[0] == audits[1] == audits[2]
    assert audits[0]["missed"]


MEASURED = ("seconds", "peak_anonymous", "run", "remade")


def test_wrong_removals_are_found(source: Path, tmp_path: Path) -> None:
    """Tables that say what is not so, each in another way."""
    out = tmp_path / "out"
    spec = Spec(shingle=ShingleSpec(n=3))
    neardup.dedup_files(source, out, spec=spec, id="id")
    table = pq.read_table(out / "clusters.parquet")
    rows = table.to_pylist()
    gone = [r["doc"] for r in rows if not r["kept"]]
    assert len(gone) > 12
    nobody, other, low, false, removed = gone[:5]
    strange = next(r for r in rows if r["kept"] and r["cluster"] != rows[other]["cluster"])
    rows[nobody]["kept_by"] = "nobody"
    rows[other]["kept_by"] = strange["doc_id"]
    rows[low]["similarity"] = 0.69
    rows[false]["similarity"] = 0.7171
    rows[removed]["kept_by"] = rows[gone[6]]["doc_id"]
    rows[gone[5]]["kept_by"] = None
    wanted = sorted(gone[:6])
    pq.write_table(pa.Table.from_pylist(rows, schema=table.schema), out / "clusters.parquet")
    whole = neardup.audit(out, 10_000).removed
    assert [w["doc"] for w in whole["wrong"]] == wanted
    assert whole["wrong_documents"] == len(wanted)
    told = {w["doc"]: w for w in whole["wrong"]}
    assert told[nobody]["kept_by"] == "nobody" and told[nobody]["similarity"] is None
    assert told[low]["stated"] == 0.69 and told[low]["similarity"] >= 0.7
    assert told[false]["stated"] == 0.7171 != told[false]["similarity"]
    assert told[other]["similarity"] < 0.7 and told[other]["doc_id"] == f"n{other}"
    assert told[gone[5]]["kept_by"] is None
    # What the tables alone give away is found whatever the sample is.
    few = neardup.audit(out, 1)
    assert {nobody, other, low, removed, gone[5]} <= {w["doc"] for w in few.removed["wrong"]}
    assert json.loads(json.dumps(few.as_dict()))["removed"]["checked"] <= 1


def test_without_partners_and_without_any_text(tmp_path: Path, kernels: None) -> None:
    lines = write_lines(tmp_path / "a.jsonl", [{"text": f"a{i} b{i} c{i}"} for i in range(30)])
    neardup.dedup_files(lines, tmp_path / "out")
    audit = neardup.audit(tmp_path / "out")
    assert (audit.recall, audit.recall_low, audit.recall_high) == (None, 0.0, 1.0)
    assert (audit.sampled, audit.with_partners, audit.missed, audit.curve) == (30, 0, [], [])
    assert audit.document_recall is audit.expected_recall is None
    assert "no document has a partner, and all 30 were sampled" in render(audit.as_dict())
    few = neardup.audit(tmp_path / "out", 29).as_dict()
    assert "no sampled document has a partner; a larger --sample may have some" in render(few)
    empty = write_lines(tmp_path / "b.jsonl", [{"text": "..."}] * 5)
    neardup.dedup_files(empty, tmp_path / "nothing")
    audit = neardup.audit(tmp_path / "nothing")
    assert (audit.sampled, audit.recall, audit.documents) == (0, None, 5)
    assert "all documents are empty" in render(audit.as_dict())


def test_empty_documents_are_not_drawn(tmp_path: Path, kernels: None) -> None:
    rows = [{"text": "" if i % 10 else f"a{i} b{i} c{i} d{i // 20}"} for i in range(2000)]
    neardup.dedup_files(write_lines(tmp_path / "a.jsonl", rows), tmp_path / "out")
    assert neardup.audit(tmp_path / "out", 150).sampled == 150
    assert neardup.audit(tmp_path / "out", 1000).sampled == 200


def test_it_is_left_in_the_folder_until_the_next_run(source: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    spec = Spec(shingle=ShingleSpec(n=3))
    neardup.dedup_files(source, out, spec=spec, storage=neardup.Storage(keep_run=True))
    run = FinishedRun(out)
    assert stored_audit(run) is None
    neardup.audit(out, 20, write=False)
    assert not (out / "audit.json").exists()
    found = neardup.audit(out, 20)
    assert stored_audit(run) == found.as_dict()
    assert sorted(p.name for p in out.iterdir() if "audit" in p.name) == ["audit.json"]
    # Of a run that is complete nothing is done again, and what was audited is still that.
    again = neardup.Storage(resume=True, keep_run=True)
    neardup.dedup_files(source, out, spec=spec, storage=again)
    assert stored_audit(run) == found.as_dict()
    record = (out / "run.json").read_bytes()
    (out / "run.json").write_bytes(record.replace(b'"format"', b' "format"'))
    assert stored_audit(run) is None
    (out / "run.json").write_bytes(record)
    for damaged in (b"", b"[]", b'{"of": 1}', b"\xff"):
        (out / "audit.json").write_bytes(damaged)
        assert stored_audit(run) is None
    neardup.dedup_files(source, out, spec=spec, overwrite=True)
    assert not (out / "audit.json").exists()


def test_what_can_not_be_left_there_is_told_all_the_same(source: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    neardup.dedup_files(source, out)
    (out / "audit.json").mkdir()
    events: list[Event] = []
    audit = neardup.audit(out, 20, on_event=events.append)
    assert audit.sampled == 20
    assert any("audit.json can't be written" in e.note for e in events)
    assert not [p for p in out.iterdir() if p.name.startswith(".audit")]


def test_it_says_what_it_makes_again(source: Path, tmp_path: Path) -> None:
    for keep in (True, False):
        out = tmp_path / f"out{keep}"
        neardup.dedup_files(source, out, storage=neardup.Storage(keep_run=keep))
        events: list[Event] = []
        audit = neardup.audit(out, 10, on_event=events.append)
        assert audit.remade in [e.note for e in events]
        assert str(source) in audit.remade
        assert (f"{out}/.run is gone" in audit.remade) != keep
        stages = [e.stage for e in events if e.finished]
        assert stages == ["kernels", "results", "sample", "search"]
        last = [e for e in events if e.stage == "search"][-1]
        assert last.done == last.total == len(TEXTS)


def test_what_is_refused(source: Path, tmp_path: Path) -> None:
    with pytest.raises(InputNotFoundError, match="no finished run"):
        neardup.audit(tmp_path)
    moved = tmp_path / "moved.jsonl"
    moved.write_bytes(source.read_bytes())
    out = tmp_path / "out"
    neardup.dedup_files(moved, out)
    for name in ("sample", "threads"):
        with pytest.raises(SpecError, match=f"{name} is 0; expected 1 or more"):
            neardup.audit(out, **{name: 0})
    with pytest.raises(SpecError, match="seed is -1"):
        neardup.audit(out, seed=-1)
    with pytest.raises(SpecError, match=r"--memory is 100\.0 MB; 5 documents of"):
        neardup.audit(out, 5, memory=100_000_000)
    # Of each sampled document there are counters and, by band, a key.
    run = FinishedRun(out)
    few, many = (auditing._room(run, n, 10**9, 1) for n in (1, 101))
    assert few - many > 100 * (TALLY_BYTES + 8 * run.record["bands"]["num_bands"])
    clusters = (out / "clusters.parquet").read_bytes()
    (out / "clusters.parquet").write_bytes(clusters[:-20])
    with pytest.raises(InputError, match=r"clusters.parquet: not readable, or damaged"):
        neardup.audit(out)
    table = pq.read_table(pa.BufferReader(clusters))
    pq.write_table(table.slice(1), out / "clusters.parquet")
    with pytest.raises(InputError, match=r"clusters.parquet: not readable, or damaged"):
        neardup.audit(out)
    (out / "clusters.parquet").write_bytes(clusters)
    (out / "edges.parquet").unlink()
    with pytest.raises(InputNotFoundError, match=r"edges\.parquet is gone"):
        neardup.audit(out)
    with moved.open("a") as file:
        file.write('{"text": "more"}\n')
    with pytest.raises(InputError, match="has changed since the run"):
        neardup.audit(out)
    neardup.dedup(["one text", "another"]).write(tmp_path / "frame")
    with pytest.raises(InputError, match="was a frame or a pipe"):
        neardup.audit(tmp_path / "frame")


def test_a_file_that_is_gone_is_named(
    tmp_path: Path, kernels: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One of a folder, of a pattern, or the only one; from here and from elsewhere."""
    monkeypatch.chdir(tmp_path)
    for given in ("notes", "notes/*.jsonl", "notes/one.jsonl"):
        Path("notes").mkdir(exist_ok=True)
        for name in ("one", "two"):
            write_lines(Path(f"notes/{name}.jsonl"), [{"text": f"{name} a b c d e"}])
        neardup.dedup_files(Path(given), "out", overwrite=True)
        Path("notes/one.jsonl").unlink()
        with pytest.raises(InputNotFoundError, match=r"^notes/one\.jsonl, an input of out, is"):
            neardup.audit("out")
    shutil.rmtree("notes")
    monkeypatch.chdir("/")
    with pytest.raises(InputNotFoundError) as raised:
        neardup.audit(tmp_path / "out")
    assert f"{tmp_path / 'notes/one.jsonl'}, an input of {tmp_path / 'out'}" in str(raised.value)


def test_ids_of_other_types(tmp_path: Path, kernels: None) -> None:
    """What a file holds as an id and JSON has no word for."""
    words = [" ".join(f"w{i}" for i in range(k, k + 30)) for k in (0, 0, 1, 500)]
    for ids in (
        pa.array([b"\xff\x00", b"b", b"c", b"d"]),
        pa.array([1.5, 2.5, 3.5, 4.5]),
        pa.array([1, 2, 3, 4], pa.timestamp("us")),
    ):
        pq.write_table(pa.table({"text": words, "id": ids}), tmp_path / "a.parquet")
        out = tmp_path / "out"
        neardup.dedup_files(tmp_path / "a.parquet", out, id="id", overwrite=True)
        audit = neardup.audit(out)
        assert audit.removed["documents"] == audit.removed["checked"] == 2
        assert audit.removed["wrong"] == []
        table = pq.read_table(out / "clusters.parquet")
        column = table["similarity"].combine_chunks().fill_null(0.0).to_numpy().copy()
        column[column > 0] = 0.5
        kept = table["kept"]
        wrong = table.set_column(5, "similarity", pa.array(column, mask=kept.to_numpy()))
        pq.write_table(wrong, out / "clusters.parquet")
        told = neardup.audit(out).as_dict()["removed"]["wrong"]
        assert len(told) == 2 and json.dumps(told)
