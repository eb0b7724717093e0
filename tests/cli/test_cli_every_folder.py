"""A folder of each command, given to every other command: it works, or says what does."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import neardup
from common import Command, some_rows, write_lines

#: Commands that read a folder, with the arguments that follow it.
READERS = {
    "report": ["-o", "page.html"],
    "explain": ["n2"],
    "audit": ["--sample", 20],
    "evaluate": ["--truth", "truth.csv"],
    "recluster": ["-o", "again"],
    "pairs": ["--texts"],
}
#: Those that work on the folder of each command, and the class that opens it.
WORK = {
    "dedup": ("report explain audit evaluate recluster pairs", "DedupRun"),
    "recluster": ("report explain audit evaluate recluster pairs", "DedupRun"),
    "dedup --against": ("report explain pairs", "AgainstRun"),
    "decontaminate": ("report pairs", "DecontaminateRun"),
    "passages": ("report explain pairs", "PassagesRun"),
    "link": ("report explain evaluate recluster pairs", "LinkRun"),
}


@pytest.fixture
def folders(command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Path]:
    """An output of each command, by its name."""
    monkeypatch.chdir(tmp_path)
    write_lines(tmp_path / "notes.jsonl", some_rows())
    write_lines(tmp_path / "more.jsonl", some_rows(12))
    (tmp_path / "truth.csv").write_text("id_a,id_b\nn1,n2\n")
    people = (f"n{i},{'ab'[i % 2] * 3}{i - i % 2} smith,19{50 + i // 2}" for i in range(30))
    (tmp_path / "people.csv").write_text("rec_id,name,born\n" + "\n".join(people) + "\n")
    made = {
        "dedup": "dedup notes.jsonl --id id -o dedup",
        "recluster": "recluster dedup -o recluster --threshold 0.8",
        "dedup --against": "dedup more.jsonl --id id --against dedup -o against",
        "decontaminate": "decontaminate notes.jsonl --id id --against more.jsonl -o decontaminate",
        "passages": "passages notes.jsonl --id id --words 10 -o passages",
        "link": "link people.csv --id rec_id --fields name,born -o link",
    }
    found = {}
    for name, line in made.items():
        done = command(*line.split())
        assert done.code == 0, done.err
        # One kind of summary: labels, numbers, and where it was written.
        labels = [line[:13].strip() for line in done.lines]
        assert labels[-2:] == ["took", "written"] and "recall" in labels, done.err
        assert labels[0] == "records" if name == "link" else {"documents", "removed"} <= set(labels)
        out = found[name] = tmp_path / line.split()[line.split().index("-o") + 1]
        assert " ".join(done.lines[-1].split()).startswith(f"written {out.name}: "), done.err
        record = json.loads((out / "run.json").read_text())
        assert record["command"] == name and record["format"] and sum(record["seconds"].values())
        listed = {f"{n}/" if inner else n for n, inner in record["files"].items()}
        assert set(done.lines[-1].split(": ")[1].split(", ")) == listed
    return found


def test_every_folder_is_read_by_every_command(command: Command, folders: dict[str, Path]) -> None:
    for name, folder in folders.items():
        works = WORK[name][0].split()
        for reader, more in READERS.items():
            page = Path("page.html")
            page.unlink(missing_ok=True)
            if reader == "recluster":
                more = [*more, "--overwrite", *(["--decide-at", 0.9] if name == "link" else [])]
            if (name, reader) == ("link", "explain"):
                more = ["n2", "n3"]
            answer = command(reader, folder.name, *more)
            what = f"{reader} of {name}: {answer.err}"
            if reader in works:
                assert answer.code == 0, what
                continue
            assert answer.code == 1 and f"{folder.name} was made by neardup {name};" in answer.error
            assert f"{reader} does not work on it" in answer.error, what
            assert "neardup.open" in answer.lines[1], what
            for work in works:  # of a linkage, pairs are a table
                assert work in answer.lines[1] or (name, work) == ("link", "pairs"), what


def test_every_folder_as_an_input(command: Command, folders: dict[str, Path]) -> None:
    for name, folder in folders.items():
        for line in (
            f"dedup {folder.name} -o x",
            f"passages {folder.name} -o x",
            f"decontaminate {folder.name} --against more.jsonl -o x",
            f"plan {folder.name}",
        ):
            answer = command(*line.split())
            assert answer.code == 1 and f"an output of neardup {name};" in answer.error, answer.err
        line = f"dedup more.jsonl --id id --against {folder.name} -o y"
        answer = command(*line.split(), "--overwrite")
        if name in ("dedup", "recluster"):
            assert answer.code == 0, answer.err
        else:
            assert answer.code == 1 and f"was made by neardup {name};" in answer.error, answer.err
            assert "neardup dedup or recluster" in answer.error, answer.err


def test_every_folder_opens_and_shows_itself(folders: dict[str, Path]) -> None:
    calls: dict[str, Callable[[Any], Any]] = {
        "audit": lambda run: run.audit(sample=20, progress=False),
        "evaluate": lambda run: run.evaluate([("n1", "n2")]),
        "explain": lambda run: run.explain("n2"),
    }
    for name, folder in folders.items():
        run = neardup.open(folder)
        works, kind = WORK[name]
        assert type(run).__name__ == kind and run.path == folder and run.command in (name, "dedup")
        if name == "link":
            assert run.summary["counts"]["records"] == 30 and str(run).startswith("records")
            continue
        assert run.summary["counts"]["documents"] in (12, 30)
        shown = str(run).splitlines()
        assert shown[0].startswith("documents") and shown[-1].startswith("took")
        assert "recall" in run._repr_html_()
        for call, made in calls.items():
            if call in works.split():
                # In a plain shell an answer is its text.
                assert repr(made(run)) == str(made(run)) and "object at" not in str(made(run))
            else:
                with pytest.raises(neardup.InputError, match=f"made by neardup {name}"):
                    made(run)
    with pytest.raises(neardup.SpecError, match="is none"):
        neardup.open(folders["passages"], source=["a"])


def test_options_that_a_folder_has_no_use_for(command: Command, folders: dict[str, Path]) -> None:
    passages = folders["passages"].name
    for line, says in (
        (f"report {passages} -o p.html --by site", "--by does not apply"),
        (f"explain {passages} n1 n2", "takes one id"),
        (f"explain {passages} n1 --html p.html", "--html does not apply"),
        (f"explain {passages} n1 --limit 3", "--limit does not apply"),
    ):
        answer = command(*line.split())
        assert answer.code == 2 and says in answer.error, answer.err


def test_an_explanation_of_a_batch(folders: dict[str, Path]) -> None:
    run = neardup.open(folders["dedup --against"])
    removed = run.explain("n2")
    assert "of the old corpus" in removed.why and removed.document.in_old
    assert run.clean().num_rows == run.summary["counts"]["kept"]


def test_indexes(command: Command, folders: dict[str, Path]) -> None:
    assert command("index", "create", "i", "--from-run", folders["dedup"].name).code == 0
    index = neardup.open("i")
    assert isinstance(index, neardup.Index) and len(index)
    index.close()
    for reader in ("explain", "audit", "evaluate", "recluster", "pairs"):
        answer = command(reader, "i", *READERS[reader])
        assert answer.code == 1 and "i is an index" in answer.error, answer.err
    assert command("report", "i", "-o", "i.html").code == 0


def test_pairs_of_matches_and_of_records(command: Command, folders: dict[str, Path]) -> None:
    answer = command("pairs", folders["passages"].name, "--texts")
    assert answer.out.startswith("doc_id,source_id,words,kind,text,") and answer.code == 0
    answer = command("pairs", "decontaminate", "--texts")
    rows = list(csv.DictReader(io.StringIO(answer.out)))
    texts = {row["id"]: row["text"] for row in some_rows()}
    assert rows and all(row["passage_text"] in texts[row["train_id"]] for row in rows)
    run = neardup.open("decontaminate")
    assert [row["train_id"] for row in run.pairs(texts=False).to_pylist()] == [
        row["train_id"] for row in rows
    ]
    passages = neardup.passages(list(texts.values()) * 2, words=5)
    for row in passages.pairs().to_pylist():
        assert row["text"] == row["source_text"] and row["words"] >= 5
    assert len(passages.pairs(texts=False)) == len(passages.passages) > 0
    answer = command("pairs", folders["link"].name, "--bom", "-o", "pairs.csv")
    assert answer.code == 0
    made = Path("pairs.csv").read_bytes()
    assert made.startswith(b"\xef\xbb\xbf")
    heads, *rows = csv.reader(io.StringIO(made.decode("utf-8-sig")))
    assert len(rows) == len(neardup.open(folders["link"]).pairs)
    assert heads[:5] == ["id_a", "id_b", "score", "name_a", "name_b"]
