"""An open object is where it was opened, whatever becomes of the current directory."""

from __future__ import annotations

import os
import pickle
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import neardup
from common import files_of, some_rows, write_lines
from neardup.errors import InputNotFoundError, NeardupError, OutputError

#: Folders of the same names are in both.
PLACES = ("here", "there")
PEOPLE = "rec_id,name,born\n"
FIELDS = ["name", "born"]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, kernels: None) -> Path:
    """Two folders with an output of each command, by names that are relative to them."""
    top = tmp_path_factory.mktemp("places")
    before = Path.cwd()
    try:
        for place, count in zip(PLACES, (30, 24), strict=True):
            (top / place).mkdir()
            os.chdir(top / place)
            _make(place, count)
    finally:
        os.chdir(before)
    return top


def _make(place: str, count: int) -> None:
    rows = [{**row, "text": f"{row['text']} {place}"} for row in some_rows(count)]
    write_lines(Path("notes.jsonl"), rows)
    write_lines(Path("more.jsonl"), rows[:12])
    lines = (f"n{i},{'ab'[i % 2] * 3}{i - i % 2} {place},19{50 + i // 2}\n" for i in range(count))
    Path("people.csv").write_text(PEOPLE + "".join(lines))
    notes, more = Path("notes.jsonl"), Path("more.jsonl")
    run = neardup.dedup(notes, id="id", out="run", keep_run=True, progress=False)
    run.recluster("again", threshold=0.8, progress=False)
    how: dict[str, Any] = {"id": "id", "progress": False}
    neardup.against(more, notes, out="batch", **how)
    neardup.against(more, "run", out="batch of run", **how)
    neardup.decontaminate(notes, more, out="matches", **how)
    neardup.passages(notes, words=10, against=more, cut=True, out="passages", **how)
    linked = neardup.link("people.csv", id="rec_id", fields=FIELDS, progress=False)
    linked.save("linked")
    linked.index("records").close()
    neardup.Index.from_run("run", "index").close()


def _page(run: Any, page: Path) -> str:
    """The page of a result, without the moment at which it was made."""
    text = run.report(page, overwrite=True).read_text()
    return "".join(line for line in text.splitlines() if "date" not in line)


#: What the results of each command are asked; the folder of a page comes second.
ASKED: dict[str, Callable[[Any, Path], list[Any]]] = {
    "run": lambda run, here: [
        run.clusters.to_pydict(),
        run.clean().to_pydict(),
        str(run.explain("n2")),
        str(run.cluster("n2")),
        run.pairs().to_pydict(),
        dict(run.evaluate([("n1", "n2")])),
        run.recluster(threshold=0.9, progress=False).clean().to_pydict(),
        run.recluster(here / "again", threshold=0.9, overwrite=True, progress=False)
        .clean()
        .to_pydict(),
        run.audit(sample=5, progress=False).as_dict()["pairs"],
        _page(run, here / "page.html"),
        len(neardup.Index.from_run(run)),
    ],
    "again": lambda run, here: [run.clean().to_pydict(), str(run.explain("n2"))],
    "batch": lambda run, here: [
        run.clusters.to_pydict(),
        run.clean().to_pydict(),
        run.pairs().to_pydict(),
        _page(run, here / "page.html"),
    ],
    "batch of run": lambda run, here: [run.pairs().to_pydict()],
    "matches": lambda run, here: [run.matches.to_pydict(), _page(run, here / "page.html")],
    "passages": lambda run, here: [
        run.passages.to_pydict(),
        run.clean().to_pydict(),
        str(run.explain("n20", texts=True)),
        _page(run, here / "page.html"),
    ],
    "linked": lambda run, here: [
        run.clusters.to_pydict(),
        str(run.explain("n2", "n3")),
        run.pairs.to_pydict(),
    ],
}


@contextmanager
def nothing_else_changes(made: Path) -> Iterator[None]:
    """Files of the other place are the same afterwards."""
    before = files_of(made / "there")
    yield
    assert files_of(made / "there") == before


@pytest.mark.parametrize("name", ASKED)
def test_a_result_is_asked_elsewhere(
    name: str, made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(made / "here")
    run = neardup.open(name)
    assert run.path == made / "here" / name
    expected = ASKED[name](neardup.open(made / "here" / name), tmp_path)
    pickled = pickle.dumps(run)
    with nothing_else_changes(made):
        monkeypatch.chdir(made / "there")
        assert ASKED[name](run, tmp_path) == expected
        assert ASKED[name](pickle.loads(pickled), tmp_path) == expected
        assert run.path == pickle.loads(pickled).path == made / "here" / name


def test_a_result_in_memory_is_asked_elsewhere(
    made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its input is read again."""
    how: dict[str, Any] = {"id": "id", "progress": False}
    notes, more = [Path("notes.jsonl")], [Path("more.jsonl")]
    monkeypatch.chdir(made / "here")
    run = neardup.dedup(notes, **how)
    batch = neardup.against(more, notes, **how)
    copies = neardup.passages(notes, words=10, against=more, cut=True, **how)
    pickled = pickle.dumps(run)
    expected = [
        ASKED[name](neardup.open(made / "here" / name), tmp_path)
        for name in ("run", "batch", "passages")
    ]
    with nothing_else_changes(made):
        monkeypatch.chdir(made / "there")
        for found in (run, pickle.loads(pickled)):
            assert found.clean().to_pydict() == expected[0][1]
            assert str(found.explain("n2")).splitlines()[1:] == expected[0][2].splitlines()[1:]
            assert found.save(tmp_path / "saved", overwrite=True).clean().to_pydict()
        assert batch.clean().to_pydict() == expected[1][1]
        assert batch.pairs().to_pydict() == expected[1][2]
        assert copies.clean().to_pydict() == expected[2][1]
        assert str(copies.explain("n20", texts=True)) == expected[2][2]


def test_an_index_is_changed_elsewhere(
    made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(made / "here")
    neardup.Index.open("index").backup(tmp_path / "index")
    neardup.Index.open("index").backup(tmp_path / "namesakes" / "index")
    monkeypatch.chdir(tmp_path)
    namesake = files_of(tmp_path / "namesakes")
    index = neardup.Index.open("index")
    count = len(index)
    monkeypatch.chdir(tmp_path / "namesakes")
    for number in range(3):  # segments are made, and merged
        texts = [f"text {number} {i} of a batch that is new" for i in range(200)]
        index.add(texts, ids=[f"{number}-{i}" for i in range(200)])
        index.compact(purge=number == 2)
    assert index.remove(["0-0"]) == [] and index.check() == []
    index.backup("copy")
    index.close()
    assert index.path == tmp_path / "index"
    assert len(neardup.Index.open(tmp_path / "index")) == count + 599
    assert len(neardup.Index.open(tmp_path / "namesakes" / "copy")) == count + 599
    assert files_of(tmp_path / "namesakes" / "index") == {
        name.partition("/")[2]: data for name, data in namesake.items()
    }


def test_an_index_of_records_is_changed_elsewhere(
    made: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(made / "here")
    new = pa.table({"rec_id": ["x1"], "name": ["aaa0 here"], "born": ["1950"]})
    with nothing_else_changes(made):
        index = neardup.RecordIndex.open("records")
        count = len(index)
        monkeypatch.chdir(made / "there")
        neardup.link(new, id="rec_id", against=index, progress=False)
        index.close()
    assert len(neardup.RecordIndex.open(made / "here" / "records", readonly=True)) == count + 1


def test_messages_show_paths_as_they_were_given(
    made: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They name what a user named, but what is opened from elsewhere."""
    monkeypatch.chdir(made / "here")
    notes = Path("notes.jsonl")
    calls: dict[str, Callable[[], object]] = {
        "run exists": lambda: neardup.dedup(notes, out="run"),
        "passages exists": lambda: neardup.passages(notes, out="passages"),
        "matches exists": lambda: neardup.decontaminate(notes, notes, out="matches"),
        "index exists already": lambda: neardup.Index.create("index"),
        "nowhere: there is no index": lambda: neardup.Index.open("nowhere"),
        "nowhere: no such folder": lambda: neardup.open("nowhere"),
        "nowhere.jsonl: no such file": lambda: neardup.dedup(Path("nowhere.jsonl")),
        "run is an output of neardup dedup": lambda: neardup.dedup(Path("run")),
        "./run exists": lambda: neardup.dedup(notes, out="./run"),
    }
    for message, call in calls.items():
        with pytest.raises(NeardupError) as caught:
            call()
        shown = message.removeprefix("./")
        assert str(caught.value).startswith(shown), caught.value
        assert str(made) not in str(caught.value) + caught.value.hint
        assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)
    opened = neardup.Index.open("index", readonly=True)
    monkeypatch.chdir(made / "there")
    with pytest.raises(NeardupError, match=r"^index/index\.sqlite was opened for reading only"):
        opened.add(["one text"], ids=["1"])
    with pytest.raises(OutputError, match=r"^\.\./there/run exists"):
        neardup.dedup(notes, out="../there/run")


def test_another_thread_changes_the_directory(made: Path, tmp_path: Path) -> None:
    """The directory is that of the process: no call may need it after it has begun."""
    before = Path.cwd()
    try:
        os.chdir(made / "here")
        run, copies = neardup.open("run"), neardup.open("passages")
        index = neardup.Index.open("index", readonly=True)
        in_memory = neardup.dedup([Path("notes.jsonl")], id="id", progress=False)
        text = in_memory.clean().column("text")[0].as_py()
        expected = [run.clean(), copies.clean(), in_memory.clean()]
        done = threading.Event()

        def wander() -> None:
            while not done.is_set():
                for place in PLACES:
                    os.chdir(made / place)

        thread = threading.Thread(target=wander)
        thread.start()
        try:
            for number in range(3):
                assert [run.clean(), copies.clean(), in_memory.clean()] == expected
                assert str(run.explain("n2", texts=True))
                assert index.is_duplicate(text)
                saved = in_memory.save(tmp_path / f"saved {number}")
                assert saved.clean() == expected[2]
        finally:
            done.set()
            thread.join()
    finally:
        os.chdir(before)


def test_the_directory_is_removed_during_a_run(
    made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tmp_path / "gone"

    def remove(event: object) -> None:
        if gone.exists():
            gone.rmdir()

    notes = made / "here" / "notes.jsonl"
    calls: dict[str, Callable[[Path], Any]] = {
        "dedup": lambda out: neardup.dedup(notes, id="id", out=out, progress=remove),
        "passages": lambda out: neardup.passages(
            notes, id="id", words=10, cut=True, out=out, progress=remove
        ),
    }
    for name, call in calls.items():
        gone.mkdir()
        monkeypatch.chdir(gone)
        run = call(tmp_path / name)
        assert not gone.exists()
        assert neardup.open(tmp_path / name).clean() == run.clean()
        assert run.report(tmp_path / f"{name}.html").exists()
        with pytest.raises(InputNotFoundError, match=r"notes\.jsonl: the current directory"):
            neardup.dedup(Path("notes.jsonl"), out=tmp_path / "other")


def test_a_run_is_continued_from_elsewhere(
    made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A relative output is the one that was named, not a namesake."""
    monkeypatch.chdir(made / "here")
    first = neardup.dedup(made / "here" / "notes.jsonl", id="id", out=tmp_path / "out")
    monkeypatch.chdir(tmp_path)
    again = neardup.dedup(made / "here" / "notes.jsonl", id="id", out="out", resume=True)
    assert again.path == first.path == tmp_path / "out" and str(again.summary["date"])
    assert again.clusters == first.clusters
