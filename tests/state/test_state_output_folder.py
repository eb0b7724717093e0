"""Output folders: what is replaced in them, and what a kill at any system call leaves there."""

from __future__ import annotations

import itertools
import json
import os
import re
import shutil
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from common import Command, core, files_of, some_rows, tries, write_lines
from fuzz.tracing import traced
from neardup.cli import main
from neardup.errors import OutputError
from neardup.state import output_folder as folders
from neardup.state.output_folder import check_folder, output_folder, write_record

#: Calls that change names or make them durable.
_CALLS = "rename,renameat,renameat2,unlink,unlinkat,rmdir,mkdir,mkdirat,link,linkat,fsync,fdatasync"
_EVERY = "NEARDUP_KILLS" in os.environ
_STRACE = pytest.mark.skipif(
    shutil.which("strace") is None, reason="strace, which injects the kills, is not installed"
)
#: Commands that make a folder: `A` and `B` are inputs, `RUN` is an output of dedup.
COMMANDS = {
    "dedup": "dedup A -o OUT --id id",
    "against": "dedup A --against RUN -o OUT --id id",
    "decontaminate": "decontaminate A --against B -o OUT --id id --removed",
    "link": "link A --fields text --id id -o OUT",
    "passages": "passages A -o OUT --id id --words 3 --cut",
    "recluster": "recluster RUN -o OUT --threshold 0.9",
}


def make(out: Path, content: str, names: tuple[str, ...] = ("a", "sub/b")) -> None:
    with output_folder(out, True, ("a", "sub")) as folder:
        for name in names:
            path = folder / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(content)
        write_record(folder, "dedup", {})


def texts_of(out: Path) -> dict[str, str]:
    found = files_of(out)
    return {name: raw.decode() for name, raw in found.items() if name != "run.json"}


@pytest.fixture(params=["exchange", "move"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Both ways to publish: by one exchange, and file by file."""
    if request.param == "move":
        monkeypatch.setattr(folders, "_exchanged", lambda *_: False)
    return str(request.param)


def test_what_is_not_ours_stays(way: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    make(out, "1", ("a", "gone", "sub/b"))
    (out / "thesis.txt").write_text("mine")
    (out / "more" / "deep").mkdir(parents=True)
    (out / "more" / "deep" / "x").write_text("mine")
    (out / "link").symlink_to(tmp_path / "nowhere")
    inode = (out / "thesis.txt").stat().st_ino
    make(out, "2")
    mine = {"thesis.txt": "mine", "more/deep/x": "mine"}
    assert texts_of(out) == {"a": "2", "sub/b": "2", **mine}
    assert (out / "link").is_symlink() and (out / "thesis.txt").stat().st_ino == inode
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_folder_whose_name_is_like_ours_stays(tmp_path: Path) -> None:
    """Beside a result a folder is ours only where its name has the twelve digits of one."""
    mine, left = tmp_path / ".out.mine.neardup", tmp_path / ".out.0123456789ab.neardup"
    for folder in (mine, left):
        folder.mkdir()
        (folder / "thesis.txt").write_text("mine")
    make(tmp_path / "out", "1")
    folders.remove_leftovers(tmp_path / "out")
    assert texts_of(mine) == {"thesis.txt": "mine"} and not left.exists()


def test_what_is_refused_is_untouched(tmp_path: Path) -> None:
    def refused(out: Path, what: str) -> None:
        before = files_of(out)
        with pytest.raises(OutputError, match=what) as caught:
            make(out, "2")
        assert "folder" in caught.value.hint
        assert files_of(out) == before and not (out / ".run").exists()

    foreign = tmp_path / "foreign"
    (foreign / "clean").mkdir(parents=True)
    (foreign / "clean" / "thesis.txt").write_text("mine")
    refused(foreign, "foreign exists, and neardup did not write it")
    (foreign / "run.json").write_text('{"name": "of another program"}')
    refused(foreign, r"run.json is damaged, or of another program")
    out = tmp_path / "out"
    make(out, "1", ("sub/b",))
    (out / "a").write_text("mine, under a name that a result would take")
    refused(out, "out/a is a file that neardup did not write")
    (out / "a").unlink()
    (out / "sub" / "mine").write_text("mine, in a folder of the result")
    refused(out, "out/sub/mine is a file that neardup did not write")
    (out / "sub" / "mine").unlink()
    make(out, "2")
    with pytest.raises(OutputError, match="out exists"):
        check_folder(out, False)


def test_a_file_that_appears_meanwhile_stays(way: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    make(out, "1", ("sub/b",))
    with (
        pytest.raises(OutputError, match="out/a is a file that neardup did not write"),
        output_folder(out, True, ("a", "sub")) as folder,
    ):
        (folder / "a").write_text("2")
        write_record(folder, "dedup", {})
        (out / "a").write_text("mine")
    assert texts_of(out) == {"sub/b": "1", "a": "mine"}


def test_a_file_that_is_added_to_a_folder_of_ours_meanwhile_stays(way: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    make(out, "1", ("a", "sub/b"))
    with (
        pytest.raises(OutputError, match="out/sub/c is a file that neardup did not write"),
        output_folder(out, True, ("a", "sub")) as folder,
    ):
        (folder / "a").write_text("2")
        write_record(folder, "dedup", {})
        (out / "sub" / "c").write_text("mine")
    assert texts_of(out) == {"a": "1", "sub/b": "1", "sub/c": "mine"}


def test_a_file_that_appears_at_the_last_moment_stays(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    make(out, "1", ("a",))
    exchange = folders._exchange

    def late(a: Path, b: Path) -> None:
        (out / "late").write_text("mine")
        exchange(a, b)

    monkeypatch.setattr(folders, "_exchange", late)
    make(out, "2", ("a",))
    assert texts_of(out) == {"a": "2", "late": "mine"}


def test_an_empty_folder_is_taken_and_an_error_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    make(tmp_path / "out", "1")
    for name in ("new", "empty"):
        if name == "empty":
            (tmp_path / name).mkdir()
        with pytest.raises(ZeroDivisionError), output_folder(tmp_path / name, False, ()) as folder:
            (folder / "a").write_text("half")
            raise ZeroDivisionError
    assert not (tmp_path / "new").exists() and not list((tmp_path / "empty").iterdir())


def test_a_working_directory_stays_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(tmp_path / "out", "1")
    monkeypatch.chdir(tmp_path / "out")
    make(Path(), "2")
    assert texts_of(Path()) == {"a": "2", "sub/b": "2"} and Path.cwd().exists()


_MAKE = """
import sys
from pathlib import Path
from neardup.state import output_folder as folders
if sys.argv[2] == "move":
    folders._exchanged = lambda *_: False
with folders.output_folder(Path(sys.argv[1]), True, ("a", "sub")) as folder:
    (folder / "sub").mkdir()
    (folder / "a").write_text("2")
    (folder / "sub/b").write_text("2")
    folders.write_record(folder, "dedup", {})
"""


def killed_at(number: int, words: list[str], cwd: Path, calls: str = _CALLS) -> Any:
    """Run a command that is killed at its nth call; without an end where it has fewer."""
    fault = f"inject={calls}:signal=SIGKILL:when={number}"
    return traced(words, ["-e", f"trace={calls}", "-e", fault], cwd=cwd)


def moments(words: list[str], cwd: Path) -> list[tuple[str, int]]:
    """Run a command; return at which of its calls to kill others like it, as (name, number).

    In the middle of the work, and around the exchange of the folders that publishes the result.
    Numba makes its folders while modules are imported; those calls say nothing.
    """
    log = cwd / "calls.log"
    done = traced(words, ["-e", f"trace={_CALLS}"], cwd=cwd, log=str(log))
    assert done.returncode == 0, done.stderr
    lines = re.findall(r"^(\d+)\s+(\w+)\((.*)", log.read_text(), re.M)
    called = [(name, rest) for process, name, rest in lines if process == lines[0][0]]
    seen: Counter[str] = Counter()
    found = []
    for name, rest in called:
        seen[name] += 1
        if "__pycache__" not in rest:
            found.append((name, seen[name]))
    if _EVERY:
        return found
    exchange = found.index(("renameat2", seen["renameat2"]))
    return [found[place] for place in (exchange // 2, exchange, exchange + 1)]


@_STRACE
@pytest.mark.parametrize("way", ["exchange", "move"])
def test_killed_between_any_two_calls(way: str, tmp_path: Path) -> None:
    """The user's file stays, and the old or the new result is there, complete.

    Where files are moved one by one it may be neither, but then nothing says that it is one.
    """
    old, new = {"a": "1", "sub/b": "1", "gone": "1"}, {"a": "2", "sub/b": "2"}
    killed, step = 0, tries(3, 1)
    for number in itertools.count(1, step):
        top = tmp_path / str(number)
        out = top / "out"
        make(out, "1", ("a", "gone", "sub/b"))
        (out / "thesis.txt").write_text("mine")
        done = killed_at(number, [sys.executable, "-c", _MAKE, str(out), way], tmp_path)
        found = {n: t for n, t in texts_of(out).items() if not n.startswith(".run/")}
        assert found.pop("thesis.txt") == "mine"
        if way == "exchange" or (out / "run.json").exists():
            assert found in (old, new), number
        make(out, "2")
        assert texts_of(out) == new | {"thesis.txt": "mine"}
        assert [path.name for path in top.iterdir()] == ["out"]
        if done.returncode == 0:
            break
        killed += 1
    assert killed * step > 5


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory, kernels: None) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("killed")
    write_lines(folder / "A.jsonl", some_rows())
    write_lines(folder / "B.jsonl", some_rows()[:7])
    call("dedup A -o RUN --id id", folder, folder / "RUN")
    call("dedup B -o OUT --id id --keep longest", folder, folder / "BEFORE")
    yield folder


def words_of(line: str, inputs: Path, out: Path) -> list[str]:
    names = {name: str(inputs / name) for name in ("A", "B", "RUN")}
    names = {n: v if n == "RUN" else f"{v}.jsonl" for n, v in names.items()} | {"OUT": str(out)}
    words = [names.get(word, word) for word in line.split()]
    return [sys.executable, "-m", "neardup", *words, "--quiet"]


def call(line: str, inputs: Path, out: Path) -> None:
    main(words_of(line, inputs, out)[3:])


def content_of(out: Path) -> dict[str, Any]:
    """Return all that a command left, but times and memory."""
    found: dict[str, Any] = dict(files_of(out))
    if "run.json" in found:
        record = json.loads(found["run.json"])
        found["run.json"] = record["command"], sorted(record["files"]), record.get("counts")
    return {name: each for name, each in found.items() if not name.startswith(".run/")}


@_STRACE
@pytest.mark.parametrize("name", core(COMMANDS, "dedup"))
def test_a_killed_command_leaves_the_old_or_the_new_result(
    name: str, inputs: Path, tmp_path: Path, command: Command
) -> None:
    line, before, wanted = COMMANDS[name], tmp_path / "before", tmp_path / "wanted"
    shutil.copytree(inputs / "BEFORE", before)
    (before / "thesis.txt").write_text("mine")
    old = content_of(before)
    shutil.copytree(before, wanted)
    places = moments(words_of(f"{line} --overwrite", inputs, wanted), tmp_path)
    new = content_of(wanted)
    assert new["thesis.txt"] == b"mine" and new["run.json"] != old["run.json"]
    left = []  # by those that were killed
    for call_name, number in places:
        out = tmp_path / f"{call_name} {number}" / "out"
        shutil.copytree(before, out)
        done = killed_at(number, words_of(f"{line} --overwrite", inputs, out), tmp_path, call_name)
        found = content_of(out)
        assert found in (old, new), (call_name, number)
        # A call that threads share out otherwise this time may not come.
        assert done.returncode in (-9, 137) or found == new, done.stderr
        if done.returncode:
            left.append(found)
        again = command(*words_of(f"{line} --overwrite", inputs, out)[3:])
        assert again.code == 0, again.err
        assert content_of(out) == new
        assert [path.name for path in out.parent.iterdir()] == ["out"]
    assert left[0] == old and new in left


@pytest.mark.long
@_STRACE
def test_a_killed_creation_of_an_index_can_be_repeated(tmp_path: Path, command: Command) -> None:
    words = [sys.executable, "-m", "neardup", "index", "create"]
    found = set()
    for call_name, number in moments([*words, str(tmp_path / "first")], tmp_path):
        out = tmp_path / f"{call_name} {number}" / "it"
        out.parent.mkdir()
        done = killed_at(number, [*words, str(out)], tmp_path, call_name)
        assert done.returncode in (-9, 137), done.stderr
        there = out.exists() and any(path.name != ".run" for path in out.iterdir())
        again = command("index", "create", out)
        assert ("exists already" in again.err) if there else again.code == 0
        assert command("index", "stats", out).code == 0
        assert [path.name for path in out.parent.iterdir()] == ["it"]
        found.add(there)
    assert found == {False, True}


def test_no_mixed_outputs(
    tmp_path: Path, inputs: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A command over the output of another one leaves its own files alone."""
    monkeypatch.chdir(tmp_path)
    alone = {}
    for name, line in COMMANDS.items():
        assert command(*words_of(line, inputs, tmp_path / name)[3:]).code == 0
        alone[name] = set(files_of(tmp_path / name))
    names = [*COMMANDS]
    few = [*zip(names, names[1:] + names[:1], strict=True)]
    for first, second in tries(few, [*itertools.permutations(names, 2)]):
        out = tmp_path / f"{first} {second}"
        shutil.copytree(tmp_path / first, out)
        words = words_of(COMMANDS[second], inputs, out)[3:]
        assert command(*words).code == 1
        assert command(*words, "--overwrite").code == 0
        assert set(files_of(out)) == alone[second], (first, second)


def test_an_earlier_output_as_input_is_recognised(
    tmp_path: Path, inputs: Path, command: Command
) -> None:
    refused = command("dedup", run := inputs / "RUN", "-o", tmp_path / "out")
    assert refused.code == 1 and not (tmp_path / "out").exists()
    assert (
        f"{run} is an output of neardup dedup; its clean corpus is {run / 'clean'}" in refused.err
    )
    assert command("dedup", inputs / "RUN" / "clean", "-o", tmp_path / "out").code == 0
