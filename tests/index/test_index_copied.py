"""Copied passages by an index, document by document, against the definition in plain Python."""

from __future__ import annotations

import json
import os
import random
import resource
import signal
import sqlite3
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import neardup
from common import Command, tries, write_lines
from neardup.errors import InputError, NeardupError, OutputError, SpecError, StoreError
from neardup.index import copied, copy_texts
from neardup.index.copy_texts import without_keys
from neardup.index.storing.catalogue import Catalogue
from neardup.tuning import TUNING

sys.path.insert(0, str(Path(__file__).parents[1] / "passages"))
from oracle_passages import Oracle, planted, spans

#: 2,000 take minutes: `make kills` asks for them.
HISTORIES = int(os.environ.get("NEARDUP_COPY_HISTORIES") or 24)
#: Without bands: only passages are asked for.
SPEC = neardup.Spec(shingle=neardup.ShingleSpec(n=1), threshold=0.9, num_bands=1, rows=1)


def expected(documents: list[list[str]], words: list[str], length: int) -> list[list[Any]]:
    """Rows of an answer by the definition: those of the last one of all documents."""
    oracle = Oracle([*documents, words], length, old=len(documents))
    at = [spans(each) for each in oracle.documents]
    own, rows = at[-1], []
    for p in oracle.passages:
        (e, j), (o, k) = p.source, p.origin
        rows.append(
            [
                *(own[p.first][0], own[p.first + p.words - 1][1], p.words),
                *(None if e == len(documents) else e, at[e][j][0], at[e][j + p.words - 1][1]),
                *(None if o == len(documents) else o, at[o][k][0], p.documents, p.kind),
            ]
        )
    return rows


def check_answers(
    index: neardup.Index,
    stored: list[list[str]],
    asked: list[list[str]],
    length: int,
    about: Any,
    counts: bool = True,
) -> int:
    """Compare answers to some texts with the definition; return how many rows there were.

    Without ``counts`` it doesn't matter how many documents have a run.
    """
    table = index.copied([" ".join(words) for words in asked])
    found = [list(row.values()) for row in table.to_pylist()]
    rows = [[i, *row] for i, words in enumerate(asked) for row in expected(stored, words, length)]
    if not counts:
        found, rows = ([[*row[:9], row[10]] for row in each] for each in (found, rows))
    assert found == rows, about
    return len(rows)


def killed_add(index: neardup.Index, texts: list[str], first: int, call: int) -> None:
    """Add documents in a process that is killed at a call of the database or of the disk."""
    pid = os.fork()
    if pid:
        os.waitpid(pid, 0)
        return
    left = call

    def counted(method: Any) -> Any:
        def called(*values: Any, **named: Any) -> Any:
            nonlocal left
            left -= 1
            if not left:
                os.kill(os.getpid(), signal.SIGKILL)
            return method(*values, **named)

        return called

    try:
        for name in ("rows", "execute", "insert", "change"):
            setattr(Catalogue, name, counted(getattr(Catalogue, name)))
        os.fsync = counted(os.fsync)
        index.add(texts, ids=range(first, first + len(texts)))
    finally:
        os._exit(0)


def history(seed: int, folder: Path | None, weak: bool = False) -> int:
    """Add documents in random batches, ask before each, open again; return how many rows.

    With ``weak`` many different runs have the same key.
    """
    rng = random.Random(seed)
    documents = [words for _ in range(rng.randrange(1, 4)) for words in planted(rng)]
    rng.shuffle(documents)
    length, count, done = rng.randrange(2, 13), 0, 0
    bounds = TUNING.replaced(
        frequent_anchor=rng.choice([1, 2, 3, 8]),
        run_part=rng.choice([1, 2, 3]),
        batched_keys=rng.choice([1, 200, 1 << 17]),
        logged_keys=rng.choice([1, 100, 1 << 18]),
        copied_texts=rng.choice([1, 3, 256]),
        copied_texts_of_thread=rng.choice([1, 16]),
    )
    with pytest.MonkeyPatch.context() as patch, bounds:
        if weak:
            few = np.uint64(7 << 2)
            patch.setattr(copy_texts, "run_keys", lambda keys: keys & few | np.uint64(1))
            for module in (copied, copy_texts):
                patch.setattr(module, "anchor_keys", lambda keys: keys & few)
        index = neardup.Index.create(folder, spec=SPEC, passages=length, durable="process")
        while done < len(documents):
            more = rng.choice([1, 1, 2, 5, len(documents)])
            batch = documents[done : done + more]
            count += check_answers(index, documents[:done], batch[:3], length, seed, not weak)
            texts = [" ".join(words) for words in batch]
            if folder is not None and rng.random() < 0.3:
                killed_add(index, texts, done, rng.randrange(1, 25))
                assert len(index) in (done, done + len(batch))
            if len(index) == done:
                index.add(texts, ids=range(done, done + len(batch)))
            done += len(batch)
            if rng.random() < 0.2:
                index.compact()
            if folder is not None and rng.random() < 0.3:
                index.close()
                index = neardup.Index.open(folder, durable="process")
        rest = documents[:1] + documents[-1:]
        count += check_answers(index, documents, rest, length, seed, not weak)
        assert index.check() == []
        index.close()
    return count


@pytest.mark.long
@pytest.mark.parametrize("block", range(4))
def test_random_histories(block: int, tmp_path: Path, kernels: None) -> None:
    """Answers equal the definition after any batches, merges of segments, openings and kills."""
    seeds = range(block, HISTORIES, 4)
    assert (
        sum(history(seed, tmp_path / str(seed) if seed % 3 == 0 else None) for seed in seeds) > 30
    )


def test_equal_keys_of_different_runs_change_no_passage(kernels: None) -> None:
    assert sum(history(seed, None, weak=True) for seed in range(tries(10, 30))) > 30


TEXTS = {
    "A": "the patient is well and goes home today",
    "B": "seen at noon the patient is well and has no pain",
    "C": "the patient is well and goes home today",
    "D": "no pain no pain no pain no pain",
}


def test_the_worked_example(kernels: None) -> None:
    """Document by document, the rows of the batch; ids of the texts, and their positions."""
    table = pa.table({"id": list(TEXTS), "text": list(TEXTS.values())})
    index = neardup.Index.create(passages=3)
    rows = []
    for id_, text in TEXTS.items():
        answer = index.copied({"id": [id_], "text": [text]}, id="id").to_pylist()
        for row in answer:
            for name in ("source_id", "origin_id"):
                row[name] = row[name] or id_
        rows += answer
        assert index.add([text], ids=[id_]) == 1
    run = neardup.passages(table, id="id", words=3, progress=False)
    batch = run.passages.rename_columns(["query", *run.passages.column_names[1:]]).to_pylist()
    # Documents that come later don't count for one that was asked about before.
    assert rows == [{**row, "documents": rows[i]["documents"]} for i, row in enumerate(batch)]
    assert [row["documents"] for row in rows] == [2, 2, 1]
    both = index.copied(["nothing here", TEXTS["A"]])
    assert both["query"].to_pylist() == [1] and both["documents"].to_pylist() == [3]
    assert both.schema == index.copied([]).schema


def test_words_are_those_of_the_index(kernels: None) -> None:
    """Case, accents, stems and ignored text, as in a run with the same settings."""
    texts = ["Die Häuser SIND <b>alt</b> und schön", "die hausern sind alt und schon 中文"]
    shingle = neardup.ShingleSpec(
        n=3, stem="german", strip_accents=True, ignore=(r"<[^>]*>",), stop_passages=("und",)
    )
    index = neardup.Index.create(shingle=shingle, passages=3)
    index.add(texts[:1])
    found = index.copied(texts[1]).drop_columns(["query"]).to_pylist()
    options: Any = {"stem": "german", "strip_accents": True, "ignore": r"<[^>]*>"}
    run = neardup.passages(texts, words=3, stop_passages=["und"], progress=False, **options)
    assert found and found == run.passages.drop_columns(["doc_id"]).to_pylist()


def test_what_such_an_index_refuses(tmp_path: Path) -> None:
    index = neardup.Index.create(tmp_path / "i", passages=3)
    index.add(["one two three four", "five"], ids=["a", "b"])
    assert not index.add_if_new("c", "one two three four").kept
    calls = [
        lambda: index.remove("a"),
        lambda: index.update("b", "six"),
        lambda: index.add(["x"], ids=["a"], on_conflict="replace"),
    ]
    for call in calls:
        with pytest.raises(InputError, match="keeps its documents"):
            call()
    assert index.remove("c") == []  # of a duplicate only its id is known
    assert index.ids().to_pylist() == ["a", "b"] and index.check() == []
    with pytest.raises(InputError, match="does not answer copied passages"):
        neardup.Index.create().copied("one two three")
    for options in (
        {"passages": 1},
        {"passages": 3, "store_text": False},
        {"passages": 3, "shingle": "item"},
    ):
        with pytest.raises(SpecError):
            neardup.Index.create(**options)  # type: ignore[arg-type]


def test_it_is_merged_copied_and_made_of_a_run(tmp_path: Path, kernels: None) -> None:
    run = neardup.dedup(pa.table({"id": list(TEXTS), "text": list(TEXTS.values())}), id="id")
    of_run = neardup.Index.from_run(run, tmp_path / "run", passages=3)
    assert of_run.ids().to_pylist() == ["A", "B", "D"]  # C is a duplicate
    plain = neardup.Index.create(recipe=of_run.recipe)
    plain.add(list(TEXTS.values()), ids=list("abcd"))
    of_run.merge(plain)
    of_run.backup(tmp_path / "copy")
    of_run.compact(purge=True)
    with neardup.Index.open(tmp_path / "copy", readonly=True) as copy:
        answers = [index.copied(TEXTS["C"]).to_pylist() for index in (of_run, copy)]
        assert answers[0] == answers[1] and answers[0][0]["documents"] == 4
        assert copy.check() == of_run.check() == []
        assert copy.stats()["copy_keys"] == of_run.stats()["copy_keys"] > 0


def test_a_reader_sees_what_others_add(tmp_path: Path, kernels: None) -> None:
    writer = neardup.Index.create(tmp_path / "i", passages=3)
    reader = neardup.Index.open(tmp_path / "i", readonly=True)
    for number in range(4):
        found = reader.copied(TEXTS["A"])["documents"].to_pylist()
        assert found == ([number + 1] if number else [])
        writer.add([TEXTS["A"]], ids=[number])
        if number == 2:
            writer.compact()


def test_a_template_takes_few_keys(kernels: None) -> None:
    """However many documents have it; and a document that no key names is not missed."""
    index = neardup.Index.create(passages=3)
    for number in range(40):
        index.add([TEXTS["A"]] * 5, ids=range(5 * number, 5 * number + 5))
    before = index.stats()["copy_keys"]
    index.compact()
    assert index.stats()["copy_keys"] < before / 5 and index.check() == []
    (row,) = index.copied(TEXTS["A"] + " again").to_pylist()
    assert (row["documents"], row["source_id"], row["origin_id"]) == (201, 199, 0)
    core = index._core
    with core.reading():
        assert without_keys(core, np.array([0])) == 1  # nothing is before the first
        assert without_keys(core, np.array([50, 120])) == 0


def test_damage_is_found(tmp_path: Path, kernels: None) -> None:
    """Of segments, and of the log; keys that are lost too."""
    folder = tmp_path / "i"
    texts = [f"{text} {number}" for number in range(20) for text in TEXTS.values()]
    with neardup.Index.create(folder, passages=3) as index:
        index.add(texts[:40])
        index.compact()
        index.add(texts[40:], ids=range(40, 80))
        (segment,) = (s.number for s in index._core.copies.segments)  # type: ignore[union-attr]
    path = folder / f"segment-{segment:08d}"
    good = path.read_bytes()
    for at in range(5, len(good), len(good) // 9):
        path.write_bytes(good[:at] + bytes([good[at] ^ 4]) + good[at + 1 :])
        try:
            with neardup.Index.open(folder, readonly=True) as index:
                assert index.check(), at
                with pytest.raises(NeardupError):
                    index.copied(texts)
                    raise StoreError("in a block that no question has read")
        except StoreError as error:
            assert "damaged" in str(error)
    path.write_bytes(good)
    for statement, problem in (
        ("UPDATE copy_log SET entries = zeroblob(24)", "log of copied passages is damaged"),
        ("DELETE FROM copy_log", "log of copied passages is damaged"),
    ):
        with closing(sqlite3.connect(folder / "index.sqlite")) as database, database:
            database.execute(statement)
        with neardup.Index.open(folder, readonly=True) as index:
            assert any(problem in line for line in index.check())


def test_a_full_disk_is_one_error_and_no_harm(tmp_path: Path, kernels: None) -> None:
    folder = tmp_path / "i"
    neardup.Index.create(folder, passages=3).close()
    texts = [f"{text} {number}" for number in range(500) for text in TEXTS.values()]
    pid = os.fork()
    if pid == 0:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
        try:
            neardup.Index.open(folder).add(texts)
        except OutputError:
            os._exit(7)
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
    with neardup.Index.open(folder) as index:
        assert len(index) == 0 and index.check() == []
        index.add(texts)
        assert index.copied(TEXTS["B"])["documents"].to_pylist() == [501]


def test_the_commands(command: Command, tmp_path: Path) -> None:
    path, index = tmp_path / "notes.jsonl", tmp_path / "i"
    write_lines(path, [{"id": id_, "text": text} for id_, text in TEXTS.items()])
    assert command("index", "create", index, "--passages", 3).code == 0
    assert command("index", "add", index, path, "--id", "id").code == 0
    answer = command("index", "copied", index, path, "--id", "id")
    rows = [json.loads(line) for line in answer.out.splitlines()]
    with neardup.Index.open(index, readonly=True) as opened:
        table = opened.copied(path, id="id")
    assert rows == table.to_pylist() and rows[0]["query"] == "A"
    stats = json.loads(command("index", "stats", index, "--json").out)
    assert stats["passages"] == 3 and stats["copy_keys"] > 0
    assert command("index", "check", index).code == 0
    answer = command("index", "remove", index, "A")
    assert answer.code == 1 and "keeps its documents" in answer.error
    assert command("index", "create", tmp_path / "j", "--passages", 1).code == 2
