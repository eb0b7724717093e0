"""Processes that tests kill: quick to start, and talkative about what they do.

Run as a program, this file loads everything that ``neardup`` needs and then forks a process for
each command that comes in, so that a run starts within milliseconds. A command can have its process
killed at a certain call to the system, as ``kill -9`` would at that moment, and have noted down
what it does.
"""

from __future__ import annotations

import json
import os
import re
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

#: Calls that change what is on the disk; ``commit`` is a transaction of the run's own file.
_CALLS = ("fsync", "replace", "rename", "unlink", "rmdir", "mkdir")
#: Bytes of a partition of the small corpora here, so that there are many.
PARTITION = 1 << 16


@dataclass
class Ended:
    """How a process ended: code, or minus the signal, and what it said."""

    code: int
    out: str
    err: str
    seconds: float

    @property
    def error(self) -> str:
        """The one line of an error with its hint, if it has one."""
        lines = [line for line in self.err.splitlines() if not line.startswith("neardup: ")]
        assert lines and lines[0].startswith("error: "), self.err
        assert all(line.startswith("hint: ") for line in lines[1:]) and len(lines) <= 2, self.err
        assert "unexpected" not in self.err and "Traceback" not in self.err, self.err
        return "\n".join(lines)

    def check(self, code: int = 0) -> Ended:
        """Make sure that it ended so, and quietly."""
        assert self.code == code, (self.code, self.err)
        assert "Traceback" not in self.err and "unexpected" not in self.err, self.err
        return self


class Process:
    """One command under way."""

    def __init__(self, forge: Forge, pid: int, said: Path, trace: Path | None) -> None:
        self._forge, self.pid, self._said, self._trace = forge, pid, said, trace
        self._begin = time.monotonic()
        self._ended: Ended | None = None

    def running(self) -> bool:
        if self._ended is None:
            answer = self._forge.ask({"poll": self.pid})
            if answer["code"] is not None:
                out, err = (self._said.with_suffix(s).read_text() for s in (".out", ".err"))
                self._ended = Ended(answer["code"], out, err, time.monotonic() - self._begin)
        return self._ended is None

    def kill(self, number: int = signal.SIGKILL) -> None:
        """Send a signal; nothing happens where it has ended."""
        if self.running():
            os.kill(self.pid, number)

    def wait(self, seconds: float = 60.0) -> Ended:
        """Wait for its end."""
        end = time.monotonic() + seconds
        while self.running():
            if time.monotonic() > end:
                os.kill(self.pid, signal.SIGKILL)
                raise AssertionError(f"still at work after {seconds} s")
            time.sleep(0.003)
        assert self._ended is not None
        return self._ended

    def done(self, kind: str) -> list[list[str]]:
        """What was noted down of a kind: ``call``, ``put``, ``sketched``, ``sets``, ``clean``..."""
        assert self._trace is not None
        with suppress(FileNotFoundError):
            lines = [line.split("\t") for line in self._trace.read_text().splitlines()]
            return [words[1:] for words in lines if words[0] == kind]
        return []

    def numbers(self, kind: str) -> list[int]:
        return [int(words[0]) for words in self.done(kind)]


class Forge:
    """Starts processes."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._count = 0
        self._server = subprocess.Popen(
            [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def ask(self, question: dict[str, Any]) -> dict[str, Any]:
        assert self._server.stdin is not None and self._server.stdout is not None
        self._server.stdin.write(json.dumps(question) + "\n")
        self._server.stdin.flush()
        answer: dict[str, Any] = json.loads(self._server.stdout.readline())
        return answer

    def start(self, *args: Any, **options: Any) -> Process:
        """Run ``neardup`` with these arguments.

        Args:
            args: Of the command line.
            options: ``trace`` notes down what it does; ``crash`` is the number of the call to the
                system, from 0, before which it is killed; ``stdin`` is a file that it reads;
                ``limit`` the bytes that a file may grow to; ``slow`` the seconds that each
                transaction takes longer.
        """
        self._count += 1
        said = self.folder / f"said{self._count}"
        trace = options.pop("trace", False) or "crash" in options
        log = self.folder / f"trace{self._count}" if trace else None
        question = {
            "args": [str(a) for a in args],
            "said": str(said),
            "trace": log and str(log),
            "crash": options.pop("crash", None),
            "stdin": str(options.pop("stdin", os.devnull)),
            "limit": options.pop("limit", None),
            "slow": options.pop("slow", 0.0),
            "cwd": str(self.folder),
        }
        assert not options
        return Process(self, self.ask(question)["pid"], said, log)

    def run(self, *args: Any, **options: Any) -> Ended:
        return self.start(*args, **options).wait()

    def close(self) -> None:
        assert self._server.stdin is not None and self._server.stdout is not None
        self._server.stdin.close()
        self._server.wait()
        self._server.stdout.close()


def steps(out: Path) -> dict[str, set[int]]:
    """What the run folder of an output folder has as done, by stage; nobody may use it."""
    from neardup.errors import NeardupError
    from neardup.state.run_state import RunState

    folder = out / ".run"
    if not RunState.exists(folder):
        return {}
    with RunState.open(folder) as state:
        found = {stage: state.done(stage) for stage in ("answer", "clean", "written")}
        if state.manifest:
            found["begun"] = {0}
            with suppress(NeardupError), state.band_store() as store:
                store.open()
                found["sketched"] = set(store.partitions())
        return {stage: numbers for stage, numbers in found.items() if numbers}


def least(work: Work, *more: str) -> str:
    """The smallest memory with which a run begins, so that next to nothing is held."""
    said = work.run(work.folder / "never", "--memory", "1MB", *more).check(2).error
    found = re.search(r"at least (\d+) MB", said)
    assert found is not None, said
    return f"{found[1]}MB"


def wait_for(process: Process, condition: Callable[[], bool], seconds: float = 30.0) -> bool:
    """Wait for something to be so; False where the process ended before."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        if not process.running():
            return condition()
        time.sleep(0.001)
    raise AssertionError("waited in vain")


def outputs(out: Path) -> dict[str, bytes]:
    """What a run wrote, but for ``run.json``, which has times, and its run folder."""
    return {
        str(path.relative_to(out)): path.read_bytes()
        for path in sorted(out.rglob("*"))
        if path.is_file() and path.name != "run.json" and ".run" not in path.parts
    }


def record(out: Path) -> dict[str, Any]:
    """What ``run.json`` says that must not depend on how a run went."""
    found = json.loads((out / "run.json").read_text())
    names = ("spec", "recipe", "bands", "counts", "bucket_sizes", "candidates_by_band")
    return {name: found[name] for name in names}


@dataclass
class Work:
    """A corpus, and what an undisturbed run makes of it.

    Attributes:
        forge: Starts processes.
        folder: Where undisturbed runs go.
        notes: The corpus: a file, or a folder of files.
        known: Outputs and records by settings.
    """

    forge: Forge
    folder: Path
    notes: Path
    known: dict[tuple[str, ...], tuple[dict[str, bytes], dict[str, Any]]] = field(
        default_factory=dict
    )

    def args(self, out: Path, *more: Any) -> list[Any]:
        """The command of a run."""
        return ["dedup", self.notes, "-o", out, "--id", "id", *more]

    def start(self, out: Path, *more: Any, **options: Any) -> Process:
        return self.forge.start(*self.args(out, *more), **options)

    def run(self, out: Path, *more: Any, **options: Any) -> Ended:
        return self.forge.run(*self.args(out, *more), **options)

    def undisturbed(self, *more: str) -> tuple[dict[str, bytes], dict[str, Any]]:
        """Outputs and record of an undisturbed run of the same settings; stores don't count."""
        if more not in self.known:
            out = self.folder / f"undisturbed{len(self.known)}"
            self.run(out, *more).check()
            self.known[more] = outputs(out), record(out)
        return self.known[more]

    def same(self, out: Path, *more: str) -> None:
        """Make sure that a run ended as an undisturbed one does, and left nothing behind."""
        files, said = self.undisturbed(*more)
        found = outputs(out)
        assert found.keys() == files.keys()
        names = [name for name in files if files[name] != found[name]]
        if names == ["clusters.parquet"]:  # of a copy of the input, which has another name
            import pyarrow as pa
            import pyarrow.parquet as pq

            tables = [pq.read_table(pa.BufferReader(of[names[0]])) for of in (files, found)]
            assert tables[0].drop_columns(["file"]).equals(tables[1].drop_columns(["file"]))
            names = []
        assert names == []
        assert record(out) == said
        assert not (out / ".run").exists()


# The program.


def _note_calls(log: str, crash: int | None, slow: float) -> None:
    """Note down what a run does, and its calls to the system; end it at one of them."""
    from neardup.deduplication import comparing, local, reading
    from neardup.output import clean
    from neardup.state import database
    from neardup.state.run_state import RunState

    handle = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    calls = 0

    def say(*words: object) -> None:
        os.write(handle, ("\t".join(map(str, words)) + "\n").encode())

    def call(name: str, path: object) -> None:
        nonlocal calls
        if crash is not None and calls == crash:
            os.kill(os.getpid(), signal.SIGKILL)
        calls += 1
        say("call", name, Path(os.fspath(path)).name if not isinstance(path, int) else "")

    def put(state: Any, stage: str, number: int, *args: Any) -> None:
        say("put", stage, number)
        if slow and stage == "written":
            time.sleep(0.3)  # time to be killed before the outputs are renamed

    def before(owner: Any, name: str, note: Callable[..., None]) -> None:
        real = getattr(owner, name)

        def inner(*args: Any, **kwargs: Any) -> Any:
            note(*args, **kwargs)
            return real(*args, **kwargs)

        setattr(owner, name, inner)

    def after(owner: Any, name: str, note: Callable[..., None]) -> None:
        real = getattr(owner, name)

        def inner(*args: Any, **kwargs: Any) -> Any:
            found = real(*args, **kwargs)
            note(*args)
            return found

        setattr(owner, name, inner)

    for name in _CALLS:
        before(os, name, lambda path, *args, name=name, **kwargs: call(name, path))
    before(database.Database, "transaction", lambda self: call("commit", self.path))
    after(RunState, "put", put)
    after(local._Sketching, "_sketch", lambda self, number, *args: say("sketched", number))
    after(reading.Reader, "texts", lambda self, wanted: say("sets", wanted.number))
    after(comparing.Comparing, "run", lambda self: say("answered", 0))
    after(clean.CleanCorpus, "_write", lambda self, output, path: say("clean", output.name))


def _slow_down(seconds: float) -> None:
    from neardup.state.database import Database

    real = Database.transaction

    def transaction(self: Any) -> Any:
        time.sleep(seconds)
        return real(self)

    Database.transaction = transaction  # type: ignore[method-assign]


def _child(command: dict[str, Any]) -> None:
    from neardup.cli import main
    from neardup.tuning import TUNING

    os.chdir(command["cwd"])
    new = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    for descriptor, name, flags in (
        (0, command["stdin"], os.O_RDONLY),
        (1, command["said"] + ".out", new),
        (2, command["said"] + ".err", new),
    ):
        handle = os.open(name, flags, 0o644)
        os.dup2(handle, descriptor)
        os.close(handle)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if command["limit"] is not None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # the write fails, instead of the process
        resource.setrlimit(resource.RLIMIT_FSIZE, (command["limit"],) * 2)
    if command["slow"]:
        _slow_down(command["slow"])
    if command["trace"] is not None:
        _note_calls(command["trace"], command["crash"], command["slow"])
    sys.argv = ["neardup", *command["args"]]
    bounds = TUNING.replaced(
        # Several partitions and tables, for a small corpus.
        smallest_partition=PARTITION,
        table_rows=2048,
        repeated_pass=0,
        # With the least memory, copied passages of a few kilobytes go to files.
        spill_share=3000,
        scratch_share=3000,
        # In many parts.
        spill_part_share=30_000,
        sorted_rows=50,
    )
    with bounds:
        main()


def _serve() -> None:
    import importlib
    import tempfile

    for name in (
        "api.against",
        "api.copying",
        "api.decontaminating",
        "api.linking",
        "api.running",
        "cli.commands.command_decontaminate",
        "cli.commands.command_dedup",
        "cli.commands.command_link",
        "cli.commands.command_passages",
        "views.text.summary_text",
    ):
        importlib.import_module(f"neardup.{name}")
    from neardup import dedup

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with tempfile.TemporaryDirectory() as folder:
        # Load what a run calls; pools have one thread, which is gone afterwards.
        path = Path(folder) / "a.jsonl"
        path.write_text('{"id": 1, "text": "a b"}\n{"id": 2, "text": "a b c"}\n' * 1)
        for number, cluster in enumerate(("star", "bounded")):
            dedup(path, id="id", cluster=cluster, threads=1, out=Path(folder) / str(number))
    for line in sys.stdin:
        command = json.loads(line)
        if "poll" in command:
            pid, status = os.waitpid(command["poll"], os.WNOHANG)
            answer = {"code": os.waitstatus_to_exitcode(status) if pid else None}
        else:
            pid = os.fork()
            if pid == 0:
                code = 70
                try:
                    _child(command)
                except SystemExit as stop:
                    code = stop.code if isinstance(stop.code, int) else 1
                finally:
                    sys.stderr.flush()
                    os._exit(code)
            answer = {"pid": pid}
        print(json.dumps(answer), flush=True)  # noqa: T201


if __name__ == "__main__":
    _serve()
