"""What every command has: a cell for each command and each promise about its output.

A command that lacks something is in `LACKS`, with the reason; the test of that cell must fail then,
so that the mark goes with the mend. A command is added as a line of `COMMANDS`.
"""

from __future__ import annotations

import json
import os
import pickle
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow.parquet as pq
import pytest
from killing import Forge
from remote_servers import BUCKET, Store, object_store

import neardup
from common import Command, files_of, some_rows, write_lines
from neardup.errors import OutputError


class Row(NamedTuple):
    """A command.

    Attributes:
        line: The command line but for its output.
        call: The function, given keywords of the output.
        tables: Properties of its result.
    """

    line: str
    call: Callable[..., Any]
    tables: tuple[str, ...]


COMMANDS = {
    "dedup": Row(
        "dedup notes.jsonl --id id",
        lambda **how: neardup.dedup("notes.jsonl", id="id", **how),
        ("clusters",),
    ),
    "recluster": Row(
        "recluster first --threshold 0.9",
        lambda **how: neardup.open("first").recluster(threshold=0.9, **how),
        ("clusters",),
    ),
    "against": Row(
        "dedup more.jsonl --id id --against first",
        lambda **how: neardup.against("more.jsonl", "first", id="id", **how),
        ("clusters",),
    ),
    "passages": Row(
        "passages notes.jsonl --id id --words 10 --cut",
        lambda **how: neardup.passages("notes.jsonl", id="id", words=10, cut=True, **how),
        ("passages", "documents"),
    ),
    "decontaminate": Row(
        "decontaminate notes.jsonl --id id --against more.jsonl --test-id id",
        lambda **how: neardup.decontaminate(
            "notes.jsonl", "more.jsonl", id="id", test_id="id", **how
        ),
        ("matches",),
    ),
    "link": Row(
        "link people.csv --id id --fields name,born",
        lambda **how: neardup.link("people.csv", id="id", fields="name,born", **how),
        ("pairs", "clusters"),
    ),
}
_STARTS_AGAIN = "an interrupted one starts again: it has no state between its steps"
_NO_URL = "its output folder is local"
#: What a command has not, by cell: the command and the reason.
LACKS: dict[str, dict[str, str]] = {
    "url": {
        "against": _NO_URL,
        "decontaminate": _NO_URL,
        "link": _NO_URL,
    },
    "resume_killed": {
        "recluster": _STARTS_AGAIN,
        "against": _STARTS_AGAIN,
        "decontaminate": _STARTS_AGAIN,
        "link": _STARTS_AGAIN,
    },
    "resume_complete": {
        "recluster": "no --resume",
        "against": "--resume does not apply",
        "decontaminate": "no --resume",
        "link": "no --resume",
    },
}


def cells(name: str) -> Any:
    """A parameter for each command, marked where it lacks this."""
    lacks = LACKS.get(name, {})
    marks = {
        command: [pytest.mark.xfail(strict=True, reason=lacks[command])] if command in lacks else []
        for command in COMMANDS
    }
    return pytest.mark.parametrize(
        "name", [pytest.param(command, marks=found) for command, found in marks.items()]
    )


def some_people(count: int = 40) -> str:
    """Records of persons, of which every second one is the one before with another letter."""
    rows = ["id,name,born"]
    for i in range(count):
        of = i - i % 2
        name = f"{chr(97 + of % 26) * 3}{of * 37 % 91}er {chr(122 - of % 26) * 4}{of}"
        rows.append(f"p{i},{name}{'x' * (i % 2)},19{50 + of}-0{1 + of % 9}-1{of % 10}")
    return "\n".join(rows) + "\n"


def fill(folder: Path, shift: int = 0) -> Path:
    """Make the inputs of all commands in a folder; with ``shift`` other ones of the same names."""
    folder.mkdir(exist_ok=True)
    rows = some_rows(60 + 3 * shift)
    for row in rows:
        row["text"] = row["text"].replace("x", f"y{shift}x" if shift else "x")
    write_lines(folder / "notes.jsonl", rows)
    write_lines(
        folder / "more.jsonl",
        [
            *rows[20 : 40 + shift],
            *({"id": f"m{i}", "text": f"a new text of the number {i} {shift}"} for i in range(5)),
        ],
    )
    (folder / "people.csv").write_text(some_people(40 + 2 * shift))
    neardup.dedup(folder / "notes.jsonl", id="id", out=folder / "first")
    return folder


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return fill(tmp_path_factory.mktemp("inputs"))


@pytest.fixture
def here(inputs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with the inputs, and nothing else."""
    for path in inputs.iterdir():
        (tmp_path / path.name).symlink_to(path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def forge(kernels: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Forge]:
    found = Forge(tmp_path_factory.mktemp("forge"))
    yield found
    found.close()


@pytest.fixture(scope="module")
def store() -> Iterator[Store]:
    with object_store() as found:
        yield found


def answers(name: str, run: Any) -> dict[str, Any]:
    """The tables of a result."""
    return {table: getattr(run, table).to_pylist() for table in COMMANDS[name].tables}


def written(out: Path) -> dict[str, Any]:
    """All that is in an output folder, without what differs between two equal runs."""
    found: dict[str, Any] = dict(files_of(out))
    record = json.loads(found.pop("run.json"))
    for path in found:
        if path.endswith(".parquet"):
            found[path] = pq.read_table(out / path).to_pylist()
    return found | {"run.json": record["counts"]}


@cells("memory")
def test_memory_and_command_line_agree(name: str, here: Path, command: Command) -> None:
    assert command(*COMMANDS[name].line.split(), "-o", "out").code == 0
    assert answers(name, COMMANDS[name].call()) == answers(name, neardup.open("out"))


@cells("folder")
def test_folder(name: str, here: Path, command: Command) -> None:
    run = COMMANDS[name].call(out="out")
    assert run.path == here / "out" and run.path.is_dir()
    opened = neardup.open("out")
    assert type(opened) is type(run)
    assert answers(name, run) == answers(name, opened) == answers(name, COMMANDS[name].call())
    assert command(*COMMANDS[name].line.split(), "-o", "by-command").code == 0
    assert written(here / "out") == written(here / "by-command")


@cells("url")
def test_url(name: str, here: Path, store: Store, command: Command) -> None:
    line = COMMANDS[name].line.split()
    done = command(*line, "-o", f"s3://{BUCKET}/{name}")
    assert done.code == 0, done.err
    assert command(*line, "-o", "out").code == 0
    assert sorted(store.files(name)) == sorted(files_of(here / "out"))
    assert answers(name, neardup.open(f"s3://{BUCKET}/{name}")) == answers(
        name, neardup.open("out")
    )


@cells("resume_killed")
def test_resume_after_a_kill(name: str, here: Path, forge: Forge, command: Command) -> None:
    forge.folder, line = here, COMMANDS[name].line.split()
    assert command(*line, "-o", here / "whole").code == 0
    forge.run(*line, "-o", here / "out", crash=16).check(-signal.SIGKILL)
    again = command(*line, "-o", here / "out")
    assert again.code == 1 and "--resume" in again.err  # it is known to be interrupted
    forge.run(*line, "-o", here / "out", "--resume").check()
    assert written(here / "out") == written(here / "whole")


@cells("resume_complete")
def test_resume_when_complete(name: str, here: Path, command: Command) -> None:
    line = [*COMMANDS[name].line.split(), "-o", "out", "--resume"]
    assert command(*line).code == 0  # nothing is there to resume
    before = files_of(here / "out")
    assert command(*line).code == 0
    assert files_of(here / "out") == before


@cells("overwrite")
def test_overwrite(name: str, here: Path, command: Command) -> None:
    line = [*COMMANDS[name].line.split(), "-o", "out"]
    assert command(*line).code == 0
    before = files_of(here / "out")
    refused = command(*line)
    assert refused.code == 1 and "--overwrite" in refused.err and "exists" in refused.error
    assert files_of(here / "out") == before
    assert command(*line, "--overwrite").code == 0
    assert files_of(here / "out").keys() == before.keys()
    assert files_of(here / "out")["run.json"] != before["run.json"]


@cells("foreign")
def test_a_foreign_file_stays(name: str, here: Path, command: Command) -> None:
    line = [*COMMANDS[name].line.split(), "-o", "out"]
    (here / "out").mkdir()
    (here / "out" / "mine.txt").write_text("mine")
    refused = command(*line)
    assert refused.code == 1 and files_of(here / "out") == {"mine.txt": b"mine"}
    (here / "out" / "mine.txt").rename(here / "mine.txt")
    (here / "out").rmdir()
    assert command(*line).code == 0
    (here / "mine.txt").rename(here / "out" / "mine.txt")
    before = files_of(here / "out")
    again = command(*line, "--overwrite")
    if again.code:
        assert again.code == 1 and "mine.txt" in again.err and files_of(here / "out") == before
    else:
        assert files_of(here / "out")["mine.txt"] == b"mine"


@cells("chdir")
def test_another_directory(
    name: str, here: Path, command: Command, tmp_path_factory: pytest.TempPathFactory
) -> None:
    assert command(*COMMANDS[name].line.split(), "-o", "out").code == 0
    other = fill(tmp_path_factory.mktemp("other"), 1)
    run = neardup.open("out")
    expected = answers(name, run)
    os.chdir(other)
    assert command(*COMMANDS[name].line.split(), "-o", "out").code == 0
    assert answers(name, neardup.open("out")) != expected
    run_before = neardup.open(here / "out")
    os.chdir(here)
    run = neardup.open("out")
    os.chdir(other)
    for found in (run, run_before, pickle.loads(pickle.dumps(run))):
        assert answers(name, found) == expected
        assert found.path == here / "out"


@cells("pickle_folder")
def test_pickle_of_a_folder(name: str, here: Path, command: Command) -> None:
    assert command(*COMMANDS[name].line.split(), "-o", "out").code == 0
    run = neardup.open("out")
    again = pickle.loads(pickle.dumps(run))
    assert answers(name, again) == answers(name, run) and repr(again) == repr(run)


@cells("pickle_memory")
def test_pickle_in_memory(name: str, here: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    run = COMMANDS[name].call()
    expected = answers(name, run)
    data = pickle.dumps(run)
    os.chdir(tmp_path_factory.mktemp("elsewhere"))
    again = pickle.loads(data)
    assert answers(name, again) == expected and repr(again) == repr(run)
    assert type(again) is type(run) and again.summary == run.summary
    os.chdir(here)


@cells("threads")
def test_two_threads(name: str, here: Path, command: Command) -> None:
    """Two of them at the same time, as two runs, and into one folder: one of them is refused."""
    call, found, errors = COMMANDS[name].call, list[Any](), list[Exception]()

    def work(**how: Any) -> None:
        try:
            found.append(answers(name, call(**how)))
        except OutputError as error:
            errors.append(error)

    threads = [threading.Thread(target=work, kwargs={"threads": n}) for n in (1, 4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 2 and found[0] == found[1] and not errors


@cells("private_ids")
def test_private_ids(name: str, here: Path, command: Command) -> None:
    line = [*COMMANDS[name].line.split(), "-o", "out"]
    if name != "recluster":
        line.append("--private-ids")
    else:
        first = "dedup notes.jsonl --id id -o secret --private-ids"
        assert command(*first.split()).code == 0
        line[1] = "secret"
    done = command(*line)
    assert done.code == 0, done.err
    run = neardup.open("out")
    shown = [done.out, done.err, repr(run), str(run), run._repr_html_()]
    shown.append(json.dumps(run.summary["notes"]) if "notes" in run.summary else "")
    assert command("report", "out", "-o", "page.html").code == 0
    shown.append((here / "page.html").read_text())
    ids = [f"{'p' if name == 'link' else 'n'}{i}" for i in range(40)]
    for text in shown:
        for quoted in (f'"{i}"' for i in ids):
            assert quoted not in text
