"""The contract of commands, as tests to inherit: each promise about the output of a command."""

from __future__ import annotations

import contextlib
import io
import json
import os
import pickle
import re
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import pyarrow.parquet as pq
import pytest

import neardup
from neardup.cli import main
from neardup.deduplication.clock import Event


class Ending(NamedTuple):
    """The end of a command: its exit code, and its output."""

    code: int
    out: str
    err: str


def called(*line: object) -> Ending:
    """Run ``neardup`` with arguments, in this process."""
    out, err, code = io.StringIO(), io.StringIO(), 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main([str(argument) for argument in line])
        except SystemExit as stop:
            code = stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    return Ending(code, out.getvalue(), err.getvalue())


def succeed(*line: object) -> Ending:
    """Run ``neardup`` with arguments; it must succeed."""
    done = called(*line)
    assert done.code == 0, done.err
    return done


def files_of(folder: Path) -> dict[str, bytes]:
    """Return all files below a folder, by relative path."""
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def written(out: Path) -> dict[str, Any]:
    """Return the content of an output folder, without what differs between two equal runs."""
    found: dict[str, Any] = dict(files_of(out))
    record = json.loads(found.pop("run.json"))
    for path in found:
        if path.endswith(".parquet"):
            found[path] = pq.read_table(out / path).to_pylist()
    return found | {"run.json": record["counts"]}


class CommandContract(ABC):
    """Tests that a command passes; a class that inherits them defines how it is called.

    Attributes:
        line: The command line but for its output.
        tables: Properties of the result that are tables.
        ids: Ids of the documents or records.
        lacks: Tests that the command does not pass yet, by name without ``test_``, and the reason;
            each of them must fail.
        page: Options that the page of its result needs.
    """

    line: ClassVar[str]
    tables: ClassVar[Sequence[str]]
    ids: ClassVar[Sequence[str]]
    lacks: ClassVar[Mapping[str, str]] = {}
    page: ClassVar[Sequence[str]] = ()

    @abstractmethod
    def call(self, **how: Any) -> Any:
        """Call the function of the command with the same inputs, and keywords of its output."""

    @abstractmethod
    def fill(self, folder: Path, version: int = 0) -> Path:
        """Write the inputs to a folder; those of another version have other contents."""

    @abstractmethod
    def run_apart(self, *line: object, killed: bool = False) -> None:
        """Run a command line in a separate process.

        Args:
            line: Arguments of ``neardup``; files are relative to the current directory.
            killed: Kill it in the middle of its work; else it must succeed.
        """

    def private_line(self) -> list[str]:
        """Return the command line of a run with private ids."""
        return [*self.line.split(), "--private-ids"]

    @pytest.fixture
    def url(self) -> str:
        """A folder at a URL, which is empty."""
        pytest.skip("there is no store of objects")

    def files_at(self, url: str) -> set[str]:
        """Return the names of all files below a URL; a class with a fixture `url` gives it."""
        raise NotImplementedError("a class with a fixture `url` gives `files_at` too")

    @pytest.fixture(scope="class")
    def inputs(self, tmp_path_factory: pytest.TempPathFactory) -> Path:
        """A folder with the inputs, for all tests of the class."""
        return self.fill(tmp_path_factory.mktemp("inputs"))

    @pytest.fixture
    def here(self, inputs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        """The current directory: it has the inputs, and no other files."""
        for path in inputs.iterdir():
            (tmp_path / path.name).symlink_to(path)
        monkeypatch.chdir(tmp_path)
        return tmp_path

    @pytest.fixture(autouse=True)
    def _expected_to_fail(self, request: pytest.FixtureRequest) -> None:
        reason = self.lacks.get(request.node.originalname.removeprefix("test_"))
        if reason:
            request.applymarker(pytest.mark.xfail(strict=True, reason=reason))

    def to(self, out: object, *more: object) -> list[object]:
        """Return the command line with an output, and more arguments."""
        return [*self.line.split(), "-o", out, *more]

    def answers(self, run: Any) -> dict[str, Any]:
        """Return the tables of a result."""
        return {table: getattr(run, table).to_pylist() for table in self.tables}

    def test_memory(self, here: Path) -> None:
        """The function without an output has the result of the command line."""
        succeed(*self.to("out"))
        assert self.answers(self.call()) == self.answers(neardup.open("out"))

    def test_folder(self, here: Path) -> None:
        """The function writes the same files, and its result is that of the folder."""
        run = self.call(out="out")
        assert run.path == here / "out" and run.path.is_dir()
        opened = neardup.open("out")
        assert type(opened) is type(run)
        assert self.answers(run) == self.answers(opened) == self.answers(self.call())
        succeed(*self.to("by-command"))
        assert written(here / "out") == written(here / "by-command")

    def test_url(self, here: Path, url: str) -> None:
        """A URL gets the files that a folder gets."""
        succeed(*self.to(url))
        succeed(*self.to("out"))
        assert self.files_at(url) == files_of(here / "out").keys()
        assert self.answers(neardup.open(url)) == self.answers(neardup.open("out"))

    def test_resume_killed(self, here: Path) -> None:
        """A command that was killed is continued, and its output is that of any other."""
        succeed(*self.to("expected"))
        self.run_apart(*self.to("out"), killed=True)
        again = called(*self.to("out"))
        assert again.code == 1 and "--resume" in again.err  # it is known to be interrupted
        self.run_apart(*self.to("out", "--resume"))
        assert written(here / "out") == written(here / "expected")

    def test_resume_complete(self, here: Path) -> None:
        """A complete output is left as it is."""
        succeed(*self.to("out", "--resume"))  # nothing is there to resume
        before = files_of(here / "out")
        succeed(*self.to("out", "--resume"))
        assert files_of(here / "out") == before

    def test_overwrite(self, here: Path) -> None:
        """An output is replaced only where that is asked for."""
        succeed(*self.to("out"))
        before = files_of(here / "out")
        refused = called(*self.to("out"))
        assert refused.code == 1 and "--overwrite" in refused.err and "exists" in refused.err
        assert files_of(here / "out") == before
        succeed(*self.to("out", "--overwrite"))
        assert files_of(here / "out").keys() == before.keys()
        assert files_of(here / "out")["run.json"] != before["run.json"]

    def test_foreign(self, here: Path) -> None:
        """A file of others in the output folder stays, whatever is asked for."""
        out = here / "out"
        out.mkdir()
        (out / "mine.txt").write_text("mine")
        assert called(*self.to("out")).code == 1 and files_of(out) == {"mine.txt": b"mine"}
        (out / "mine.txt").rename(here / "mine.txt")
        out.rmdir()
        succeed(*self.to("out"))
        (here / "mine.txt").rename(out / "mine.txt")
        before = files_of(out)
        assert called(*self.to("out")).code == 1 and files_of(out) == before
        succeed(*self.to("out", "--overwrite"))
        assert files_of(out).keys() == before.keys() and files_of(out)["mine.txt"] == b"mine"

    def test_chdir(self, here: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
        """A result stays that of its folder where another one has the same relative path."""
        succeed(*self.to("out"))
        other = self.fill(tmp_path_factory.mktemp("other"), 1)
        expected = self.answers(neardup.open("out"))
        os.chdir(other)
        succeed(*self.to("out"))
        assert self.answers(neardup.open("out")) != expected
        before = neardup.open(here / "out")
        os.chdir(here)
        run = neardup.open("out")
        os.chdir(other)
        for found in (run, before, pickle.loads(pickle.dumps(run))):  # noqa: S301
            assert self.answers(found) == expected
            assert found.path == here / "out"

    def test_pickle_folder(self, here: Path) -> None:
        """A result in a folder is pickled."""
        succeed(*self.to("out"))
        run = neardup.open("out")
        again = pickle.loads(pickle.dumps(run))  # noqa: S301
        assert self.answers(again) == self.answers(run) and repr(again) == repr(run)

    def test_pickle_memory(self, here: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
        """A result in memory is pickled, and read in another directory."""
        run = self.call()
        expected = self.answers(run)
        data = pickle.dumps(run)
        os.chdir(tmp_path_factory.mktemp("elsewhere"))
        again = pickle.loads(data)  # noqa: S301
        assert self.answers(again) == expected and repr(again) == repr(run)
        assert type(again) is type(run) and again.summary == run.summary

    def test_threads(self, here: Path) -> None:
        """Two of them at the same time have the same result."""
        with ThreadPoolExecutor(2) as pool:
            found = [pool.submit(self.call, threads=count) for count in (1, 4)]
            one, other = (self.answers(each.result()) for each in found)
        assert one == other

    def test_stages(self, here: Path) -> None:
        """Each moment is in the record as that of a stage, and each stage ends at its total."""
        events = list[Event]()
        begin = time.monotonic()
        self.call(out="out", progress=events.append)
        passed = time.monotonic() - begin
        seconds = json.loads((here / "out" / "run.json").read_text(encoding="utf-8"))["seconds"]
        assert min(seconds.values()) >= 0 and sum(seconds.values()) <= passed
        assert all(re.fullmatch("[a-z]+( [a-z]+)*", stage) for stage in seconds)
        assert {event.stage for event in events if not event.note} == seconds.keys() - {"other"}
        counted, last = set[str](), Event("", finished=True)
        for event in (event for event in events if not event.note):
            if last.finished:
                assert event.done == 0 and not event.finished  # one after the other
            else:
                assert (event.stage, event.total) == (last.stage, last.total)
                assert event.done >= last.done
                if event.finished:
                    assert event.total in (None, event.done)
                else:
                    counted.add(event.stage)
            last = event
        assert last.finished
        assert counted  # to read, if nothing else

    def test_private_ids(self, here: Path) -> None:
        """No id is printed, or is on the page."""
        done = succeed(*self.private_line(), "-o", "out")
        run = neardup.open("out")
        shown = [done.out, done.err, repr(run), str(run), run._repr_html_(), json.dumps(run.notes)]
        succeed("report", "out", "-o", "page.html", *self.page)
        shown.append((here / "page.html").read_text(encoding="utf-8"))
        for text in shown:
            assert not [id for id in self.ids if f'"{id}"' in text]
