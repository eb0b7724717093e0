"""An output folder in which another process, or thread, is at work: refused at once, everywhere."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

import neardup
from common import Command, some_rows, write_lines
from neardup.api.indexes.indexing import Index
from neardup.errors import InputError, NeardupError, ResumeError
from neardup.linkage.columns import field_columns
from neardup.options.how_read import HowRead
from neardup.state.database import lock_file, refuse_locked
from neardup.state.output_folder import output_folder
from neardup.state.run_state import RunState

SAYS = "another neardup process uses"


class _GivenUpError(Exception):
    """Nothing is to be published."""


#: Calls with inputs that are missing: they are refused before these are looked for.
SECOND = {
    "dedup": "dedup GONE -o OUT",
    "against": "dedup GONE --against RUN -o OUT",
    "passages": "passages GONE -o OUT",
    "decontaminate": "decontaminate GONE --against GONE2 -o OUT",
    "link": "link GONE --fields text -o OUT",
    "recluster": "recluster RUN -o OUT --threshold 0.9",
    "recluster link": "recluster LINK -o OUT --decide-at 0.9",
    "index create": "index create OUT",
    "index of a run": "index create OUT --from-run RUN",
    "index of a linkage": "link GONE --fields text -o OTHER --index OUT",
}
MORE = {
    "dedup": ("--overwrite", "--resume"),
    "passages": ("--overwrite", "--resume"),
    **dict.fromkeys(("against", "decontaminate", "link", "recluster"), ("--overwrite",)),
}
HOLD = """
import sys
from contextlib import suppress
from pathlib import Path
from neardup.state.run_state import RunState
state = RunState.create(Path(sys.argv[1]) / ".run")
state.manifest = {"begun": True}
print("held", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: Command) -> Path:
    monkeypatch.chdir(tmp_path)
    write_lines(tmp_path / "A", some_rows())
    (tmp_path / "A").rename(tmp_path / "A.jsonl")
    assert command("dedup", "A.jsonl", "-o", "RUN", "--id", "id").code == 0
    assert command("link", "A.jsonl", "-o", "LINK", "--id", "id", "--fields", "text").code == 0
    return tmp_path


def words(call: str, *more: str) -> list[str]:
    names = {"A": "A.jsonl", "GONE": "gone.jsonl", "GONE2": "gone2.jsonl"}
    return [*(names.get(word, word) for word in call.split()), *more]


def test_every_command_says_so(place: Path, command: Command) -> None:
    """With and without the options that replace or continue; held by a thread of this process."""
    state = RunState.create(place / "OUT" / ".run")
    state.manifest = {"begun": True}
    with state:
        for name, call in SECOND.items():
            for more in ((), *((option,) for option in MORE.get(name, ()))):
                answer = command(*words(call, *more))
                assert answer.code == 1 and f"{SAYS} OUT/.run" in answer.error, (name, more)
    assert not (place / "OTHER").exists()
    # Nobody is at work any more: the run can be continued, or replaced.
    for name in ("dedup", "passages"):
        answer = command(*words(SECOND[name]))
        assert "OUT has an interrupted run" in answer.error and "--resume" in answer.err


def test_a_process_that_is_at_work_and_one_that_died(place: Path, command: Command) -> None:
    pipe = subprocess.PIPE
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, "OUT"], stdin=pipe, stdout=pipe, text=True
    )
    assert holder.stdout is not None and holder.stdout.readline() == "held\n"
    assert SAYS in command("dedup", "gone.jsonl", "-o", "OUT").error
    assert SAYS in command("dedup", "gone.jsonl", "-o", "OUT", "--overwrite").error
    holder.kill()
    holder.communicate()
    assert "has an interrupted run" in command("dedup", "A.jsonl", "-o", "OUT").error
    assert command("dedup", "A.jsonl", "-o", "OUT", "--overwrite").code == 0


def test_a_result_that_is_not_finished(place: Path, command: Command) -> None:
    """The hint says whether a run is at work, and whether it can be resumed."""
    calls = ("report OUT -o page.html", "explain OUT n1", "recluster OUT -o NEW")
    for resumable, how in ((True, "with --resume"), (False, "command again")):
        state = RunState.create(place / "OUT" / ".run", overwrite=True, resumable=resumable)
        with state:
            for call in calls:
                answer = command(*words(call))
                assert answer.code == 1 and "a run is at work there: wait for it" in answer.err
        for call in calls:
            answer = command(*words(call))
            assert "a run was interrupted there" in answer.err and how in answer.err, call
            assert ("--resume" in answer.err) == resumable


def test_a_run_has_its_folder_before_it_reads(
    place: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []

    def look(*_: object, **__: object) -> None:
        with pytest.raises(ResumeError, match=SAYS):
            RunState.refuse_used(place / "OUT" / ".run")
        seen.append(name)
        raise InputError("enough")

    monkeypatch.setattr(HowRead, "open", look)
    monkeypatch.setattr(field_columns, "open_table", look)
    calls = {name: call for name, call in SECOND.items() if "-o OUT" in call}
    for name in ("dedup", "against", "passages", "decontaminate", "link"):
        assert "enough" in command(*words(calls[name])).error
        assert not (place / "OUT").exists()
    assert len(seen) == 5


def test_calls_of_two_threads(place: Path) -> None:
    texts = ["some words that are there", "and others"]
    run, linked = neardup.dedup(texts), neardup.link({"a": texts}, fields="a")
    calls: list[Callable[[], Any]] = [
        lambda: neardup.dedup("gone.jsonl", out="OUT"),
        lambda: neardup.against("gone.jsonl", run, out="OUT"),
        lambda: neardup.passages("gone.jsonl", out="OUT", words=3),
        lambda: neardup.decontaminate("gone.jsonl", "gone2.jsonl", out="OUT"),
        lambda: run.save("OUT"),
        lambda: run.save("OUT", overwrite=True),
        lambda: run.recluster("OUT", threshold=0.9),
        lambda: linked.save("OUT"),
        lambda: linked.recluster("OUT", decide_at=0.9),
        lambda: linked.index("OUT"),
        lambda: Index.create("OUT"),
        lambda: Index.create().backup("OUT"),
    ]
    with suppress(_GivenUpError), output_folder(Path("OUT"), False, ()):
        for call in calls:
            with pytest.raises(ResumeError, match=SAYS):
                call()
        raise _GivenUpError
    run.save("OUT")


def test_runs_that_begin_at_the_same_moment(tmp_path: Path) -> None:
    """Each is done, or is told that another one has the folder; nobody has a folder twice."""
    out, inside, errors = tmp_path / "a" / "out", [0], list[BaseException]()
    done, start = [0], threading.Barrier(8)

    def work() -> None:
        start.wait()
        for _ in range(25):
            try:
                with suppress(_GivenUpError), output_folder(out, True, ()):
                    inside[0] += 1
                    assert inside[0] == 1
                    time.sleep(0.001)
                    inside[0] -= 1
                    done[0] += 1
                    raise _GivenUpError
            except ResumeError as error:
                assert SAYS in str(error)
            except BaseException as error:
                errors.append(error)
                raise

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors and done[0]


def test_a_lock_file_that_is_removed_while_it_is_locked_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else two would have a lock, each on a file of its own."""
    from neardup.state import database

    path, locked, calls = tmp_path / "lock", database._locked, []

    def late(where: Path, *statements: str) -> Any:
        calls.append(where)
        if len(calls) == 1:
            found = locked(where, *statements)
            path.unlink()
            return found
        return locked(where, *statements)

    monkeypatch.setattr(database, "_locked", late)
    lock = lock_file(path)
    assert len(calls) == 2 and path.exists()
    with pytest.raises(NeardupError, match=SAYS):
        refuse_locked(path)
    lock.close()
    refuse_locked(path)


@contextmanager
def held_work(folder: Path) -> Iterator[None]:
    with RunState.create(folder / ".run", resumable=False) as state:
        try:
            yield
        finally:
            state.remove()


def test_a_work_folder_is_refused_before_its_url_is_asked(place: Path, command: Command) -> None:
    """Whoever is refused must not have taken the mark of the run at work there."""
    (place / "W").mkdir()
    with held_work(place / "W"):
        for name in ("dedup", "passages"):
            call = words(f"{name} GONE -o s3://nobody.example/b --work W")
            assert f"{SAYS} W/.run" in command(*call).error


def test_two_runs_that_synthesise_into_one_file(place: Path, command: Command) -> None:
    from neardup.synth.note_files import both_files

    with both_files(place / "n.jsonl", None, (".jsonl",), False):
        for more in ((), ("--overwrite",)):
            answer = command("synth", "-n", "20", "-o", "n.jsonl", *more)
            assert f"another neardup process writes {Path('n.jsonl')}" in answer.error
    assert command("synth", "-n", "20", "-o", "n.jsonl", "--overwrite").code == 0
    assert not list(place.glob(".neardup-*"))
