"""A finished run clustered otherwise gives the bytes of a full run with the same bands."""

from __future__ import annotations

import functools
import json
import random
import shutil
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import neardup
from common import write_lines
from neardup.core.edges import EdgeLog
from neardup.errors import InputError, NeardupError, OutputError, ResumeError, SpecError

CLUSTERINGS = ("bounded", "bounded-mst", "star", "components", "louvain")


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Chains of texts that drift away from each other, copies, short and empty ones."""
    draw = random.Random(5)
    rows: list[dict[str, Any]] = []
    for chain in range(40):
        words = [f"w{chain}x{i}" for i in range(60)]
        for step in range(draw.randint(1, 6)):
            rows.append({"id": f"c{chain}s{step}", "text": " ".join(words)})
            for _ in range(draw.randint(0, 3)):
                words[draw.randrange(len(words))] = f"n{len(rows)}"
    rows += [{"id": f"copy{i}", "text": rows[3 * i]["text"]} for i in range(20)]
    rows += [{"id": f"short{i}", "text": "one two"} for i in range(3)]
    rows.append({"id": "empty", "text": ""})
    draw.shuffle(rows)
    return write_lines(tmp_path_factory.mktemp("recluster") / "in.jsonl", rows)


def spec(**changes: Any) -> neardup.Spec:
    start = neardup.Spec(edge_threshold=0.5, tree_threshold=0.2, num_bands=40, rows=2)
    return start.replace(**changes)


def result_of(out: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in out.glob("*.parquet")}


@pytest.fixture(scope="module")
def full(
    corpus: Path, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[neardup.Spec], dict[str, bytes]]:
    """What a full run gives; each is done once."""

    @functools.cache
    def result(wanted: neardup.Spec) -> dict[str, bytes]:
        out = tmp_path_factory.mktemp("full") / "out"
        neardup.dedup_files(corpus, out, id="id", spec=wanted)
        return result_of(out)

    return result


@pytest.mark.parametrize("keep_run", [False, True])
@pytest.mark.parametrize(
    "start",
    [
        {},
        {"pairs": "all"},
        {"cluster": "star", "keep": "longest"},
        {"cluster": "bounded-mst"},
        {"method": "allpairs", "num_bands": None, "rows": None},
        {"method": "allpairs", "num_bands": None, "rows": None, "pairs": "all"},
    ],
    ids=["collapsed", "all pairs of bands", "star", "mst", "join", "join, all pairs"],
)
def test_same_bytes_as_a_full_run(
    corpus: Path,
    tmp_path: Path,
    start: dict[str, Any],
    keep_run: bool,
    full: Callable[[neardup.Spec], dict[str, bytes]],
) -> None:
    base = spec(**start)
    neardup.dedup_files(
        corpus, tmp_path / "run", id="id", spec=base, storage=neardup.Storage(keep_run=keep_run)
    )
    for number, changes in enumerate(
        [
            *({"cluster": name, "edge_threshold": 0.7} for name in CLUSTERINGS),
            {"edge_threshold": 0.6, "tree_threshold": 0.45, "cluster": "bounded"},
            {"cluster": "bounded", "second_round": True},
            {},
        ]
    ):
        out = tmp_path / f"out{number}"
        record = neardup.recluster(tmp_path / "run", out, **changes)
        assert result_of(out) == full(base.replace(**changes)), changes
        assert record == json.loads((out / "run.json").read_text())
        assert record["recluster"]["run"] == str(tmp_path / "run")
        assert not (out / ".run").exists()
    assert (tmp_path / "run" / ".run").exists() == keep_run


def test_what_is_taken_and_what_is_made_again(corpus: Path, tmp_path: Path) -> None:
    kept = neardup.Storage(keep_run=True)
    neardup.dedup_files(corpus, tmp_path / "kept", spec=spec(), storage=kept)
    neardup.dedup_files(corpus, tmp_path / "gone", spec=spec())
    neardup.dedup_files(corpus, tmp_path / "all", spec=spec(pairs="all"))
    notes: list[str] = []

    def listen(event: Any) -> None:
        if event.note and "compil" not in event.note:
            notes.append(event.note)

    made = neardup.recluster(tmp_path / "kept", tmp_path / "1", cluster="star", on_event=listen)
    assert made["recluster"]["taken"] == ["band keys", "buckets", "shingle sets"]
    assert made["recluster"]["made_again"] == []
    made = neardup.recluster(tmp_path / "gone", tmp_path / "2", cluster="star", on_event=listen)
    assert made["recluster"]["taken"] == []
    assert made["recluster"]["made_again"] == ["band keys", "shingle sets"]
    assert any("made again from the input: band keys and shingle sets" in note for note in notes)
    made = neardup.recluster(tmp_path / "all", tmp_path / "3", cluster="star", on_event=listen)
    assert made["recluster"]["taken"] == ["edges"]
    assert made["recluster"]["made_again"] == ["shingle sets"]
    assert made["bands"]["num_bands"] == 40
    # What was reclustered can be reclustered.
    again = neardup.recluster(tmp_path / "3", tmp_path / "4", cluster="components")
    assert again["recluster"]["taken"] == ["edges"]


@pytest.mark.parametrize("keep_run", [False, True])
@pytest.mark.parametrize("method", ["lsh", "allpairs"])
@pytest.mark.parametrize("stage", ["shingle sets", "verify and cluster", "keep", "write"])
def test_resumes(
    corpus: Path,
    tmp_path: Path,
    stage: str,
    method: str,
    keep_run: bool,
    full: Callable[[neardup.Spec], dict[str, bytes]],
) -> None:
    base = spec() if method == "lsh" else spec(method=method, num_bands=None, rows=None)
    storage = neardup.Storage(keep_run=keep_run, part_bytes=2000)
    neardup.dedup_files(corpus, tmp_path / "run", id="id", spec=base, storage=storage)

    def interrupt(event: Any) -> None:
        if event.stage == stage and event.finished:
            raise KeyboardInterrupt

    out = tmp_path / "out"
    with pytest.raises(KeyboardInterrupt, match="--resume"):
        neardup.recluster(
            tmp_path / "run", out, cluster="bounded", edge_threshold=0.7, on_event=interrupt
        )
    resumed = neardup.Storage(resume=True)
    with pytest.raises(ResumeError, match="edge_threshold"):
        neardup.recluster(
            tmp_path / "run", out, cluster="bounded", edge_threshold=0.8, storage=resumed
        )
    neardup.recluster(tmp_path / "run", out, cluster="bounded", edge_threshold=0.7, storage=resumed)
    assert result_of(out) == full(base.replace(edge_threshold=0.7))


def test_a_store_of_its_own(corpus: Path, tmp_path: Path) -> None:
    storage = neardup.Storage(store=f"sqlite:{tmp_path / 'bands.db'}", keep_run=True)
    neardup.dedup_files(corpus, tmp_path / "run", spec=spec(), storage=storage)
    for name in ("once", "twice"):  # what lies there is the first run's, and stays
        record = neardup.recluster(tmp_path / "run", tmp_path / name, edge_threshold=0.8)
        assert "band keys" in record["recluster"]["taken"]
    neardup.dedup_files(corpus, tmp_path / "full", spec=spec(edge_threshold=0.8))
    assert result_of(tmp_path / "twice") == result_of(tmp_path / "full")


def test_errors(corpus: Path, tmp_path: Path) -> None:
    copy = tmp_path / "in.jsonl"
    copy.write_bytes(corpus.read_bytes())
    run = tmp_path / "run"
    neardup.dedup_files(copy, run, spec=spec())
    out = tmp_path / "out"
    for changes, message in [
        ({"edge_threshold": 0.4}, "edge threshold 0.4 is below that of the run, 0.5"),
        ({"tree_threshold": 0.1}, "tree threshold 0.1 is below that of the run, 0.2"),
        ({"tree_threshold": 0.6}, "tree threshold 0.6 is above the edge threshold"),
        ({"cluster": "none"}, "no clustering"),
        ({"cluster": "star", "second_round": True}, "second round"),
        ({"seed": 3}, "seed"),
    ]:
        with pytest.raises(SpecError, match=message):
            neardup.recluster(run, out, **changes)
    with pytest.raises(SpecError, match="is the run"):
        neardup.recluster(run, run, overwrite=True)
    with pytest.raises(SpecError, match="lies in it"):
        neardup.recluster(run, run / "sub")
    with pytest.raises(NeardupError, match="no finished run"):
        neardup.recluster(tmp_path / "nothing", out)
    out.mkdir()
    with pytest.raises(OutputError, match="exists"):
        neardup.recluster(run, out)
    with copy.open("a") as file:
        file.write('{"text": "more"}\n')
    with pytest.raises(InputError, match=r"in\.jsonl has changed since the run"):
        neardup.recluster(run, out, overwrite=True)
    copy.unlink()
    with pytest.raises(NeardupError, match=r"an input of .*, is gone"):
        neardup.recluster(run, out, overwrite=True)
    neardup.dedup(["a b c d e f", "a b c d e f g"]).write(tmp_path / "frame")
    with pytest.raises(InputError, match="can't be read again"):
        neardup.recluster(tmp_path / "frame", out, overwrite=True)
    assert list(out.iterdir()) == []


@pytest.mark.parametrize("file", ["sets/values", "band/000002.npz", "manifest.json"])
def test_a_damaged_run_folder_is_named_and_can_be_removed(
    corpus: Path, tmp_path: Path, file: str
) -> None:
    run, out = tmp_path / "run", tmp_path / "out"
    storage = neardup.Storage(keep_run=True)
    neardup.dedup_files(corpus, run, id="id", spec=spec(), storage=storage)
    before = {path: path.stat().st_mtime_ns for path in run.rglob("*") if path.is_file()}
    neardup.recluster(run, out, edge_threshold=0.6)
    assert {path: path.stat().st_mtime_ns for path in before} == before  # RUN is only read
    held = bytearray((run / ".run" / file).read_bytes())
    held[200] ^= 1
    (run / ".run" / file).write_bytes(held)
    with pytest.raises(ResumeError, match=f"{run / '.run'}") as error:
        neardup.recluster(run, out, edge_threshold=0.6, overwrite=True)
    assert f"remove {run / '.run'}" in error.value.hint
    shutil.rmtree(run / ".run")
    neardup.recluster(run, out, edge_threshold=0.6, overwrite=True)


def test_a_run_that_was_signed_beforehand(corpus: Path, tmp_path: Path) -> None:
    url = f"sqlite:{tmp_path / 'bands.db'}"
    neardup.sign_files(
        corpus, id="id", spec=spec(), storage=neardup.Storage(store=url, name="notes")
    )
    storage = neardup.Storage(store=url, name="notes", keep_run=True)
    neardup.dedup_files(None, tmp_path / "run", storage=storage)
    record = neardup.recluster(tmp_path / "run", tmp_path / "out", edge_threshold=0.8)
    assert "band keys" in record["recluster"]["taken"]
    neardup.dedup_files(corpus, tmp_path / "full", id="id", spec=spec(edge_threshold=0.8))
    assert result_of(tmp_path / "out") == result_of(tmp_path / "full")
    again = neardup.Storage(resume=True)
    same = neardup.recluster(tmp_path / "run", tmp_path / "out", edge_threshold=0.8, storage=again)
    assert same["asked"] == record["asked"]
    with pytest.raises(OutputError, match="is complete"):
        neardup.recluster(tmp_path / "run", tmp_path / "out", cluster="star", storage=again)


def test_texts_whose_ids_are_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "x.txt").write_text("one two three four five six")
    monkeypatch.chdir(tmp_path)
    neardup.dedup_files([Path("a"), Path("b")], tmp_path / "run", spec=spec())
    neardup.recluster(Path("run"), Path("near"), cluster="star")
    monkeypatch.chdir(tmp_path / "a")
    with pytest.raises(InputError, match="ids are paths as seen from"):
        neardup.recluster(tmp_path / "run", tmp_path / "far", cluster="star")
    neardup.dedup_files(Path("../b"), tmp_path / "one", spec=spec())
    monkeypatch.chdir(tmp_path)
    neardup.recluster(Path("one"), Path("other"), cluster="star")
    assert result_of(tmp_path / "one").keys() == result_of(tmp_path / "other").keys()


@pytest.mark.parametrize(
    "changes", [{"cluster": "star"}, {"method": "allpairs", "num_bands": None, "rows": None}]
)
def test_edges_are_put_in_place_by_one_thread(
    corpus: Path, tmp_path: Path, changes: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run folder has a thread of its own, which reads them while they are counted."""
    settle, threads = EdgeLog.settle, defaultdict(set)

    def slowly(log: EdgeLog) -> Any:
        if log._waiting:
            threads[id(log)].add(threading.get_ident())
            time.sleep(0.1)
        return settle(log)

    monkeypatch.setattr(EdgeLog, "settle", slowly)
    neardup.dedup_files(corpus, tmp_path / "out", spec=spec(**changes))
    assert threads and all(len(some) == 1 for some in threads.values())
