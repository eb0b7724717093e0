"""Processes that the tests of this folder kill: quick to start, and talkative about what they do.

Run as a program, this file loads everything that ``neardup`` needs and then forks a process for
each command that comes in, so that a run starts within milliseconds. A command can have its process
killed at a certain call to the system, as ``kill -9`` would at that moment, and have noted down
what it does.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

#: Calls that change what is on the disk.
_CALLS = ("fsync", "replace", "link", "unlink", "rmdir", "mkdir")


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
                self._note(answer["code"])
        return self._ended is None

    def _note(self, code: int) -> None:
        out, err = (self._said.with_suffix(s).read_text() for s in (".out", ".err"))
        self._ended = Ended(code, out, err, time.monotonic() - self._begin)

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
            time.sleep(0.005)
        assert self._ended is not None
        return self._ended

    def done(self) -> list[list[str]]:
        """What was noted down: kind, and more."""
        assert self._trace is not None
        if not self._trace.exists():
            return []
        return [line.split("\t") for line in self._trace.read_text().splitlines()]


class Forge:
    """Starts processes."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
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

    def start(
        self,
        *args: Any,
        trace: bool = False,
        crash: int | None = None,
        stdin: Path | None = None,
        limit: int | None = None,
        slow: float = 0.0,
        cwd: Path | None = None,
    ) -> Process:
        """Run ``neardup`` with these arguments.

        Args:
            args: Of the command line.
            trace: Note down what it does.
            crash: Number of the call to the system that changes the disk, from 0, before which it
                is killed.
            stdin: What it reads; nothing by default.
            limit: Bytes that a file may grow to.
            slow: Seconds that each ``fsync`` takes longer.
            cwd: Where it runs.
        """
        self._count += 1
        said = self._folder / f"said{self._count}"
        log = self._folder / f"trace{self._count}" if trace or crash is not None else None
        if log is not None:
            log.unlink(missing_ok=True)
        pid = self.ask(
            {
                "args": [str(a) for a in args],
                "said": str(said),
                "trace": log and str(log),
                "crash": crash,
                "stdin": str(stdin or os.devnull),
                "limit": limit,
                "slow": slow,
                "cwd": str(cwd or self._folder),
            }
        )["pid"]
        return Process(self, pid, said, log)

    def run(self, *args: Any, **options: Any) -> Ended:
        return self.start(*args, **options).wait()

    def close(self) -> None:
        assert self._server.stdin is not None and self._server.stdout is not None
        self._server.stdin.close()
        self._server.wait()
        self._server.stdout.close()


def steps(out: Path) -> dict[str, set[int]]:
    """The steps that the manifest in a folder of outputs has as done, by stage."""
    try:
        _, _, body = (out / ".run" / "manifest.json").read_bytes().partition(b"\n")
    except FileNotFoundError:
        return {}
    found = json.loads(body)["steps"]
    return {stage: {int(item) for item in items} for stage, items in found.items()}


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
    """What a run wrote, but for ``run.json``, which has times."""
    return {
        path.name: path.read_bytes()
        for path in sorted(out.iterdir())
        if path.is_file() and path.name != "run.json"
    }


def record(out: Path) -> dict[str, Any]:
    """What ``run.json`` says that must not depend on how a run went."""
    found = json.loads((out / "run.json").read_text())
    return {
        key: found[key] for key in ("spec", "digest", "bands", "counts", "quality", "bucket_sizes")
    }


#: Small parts, so that there are many.
PARTS = ("--part-size", "256KB")


@dataclass
class Work:
    """A corpus, and what an undisturbed run makes of it."""

    forge: Forge
    folder: Path
    notes: Path
    known: dict[tuple[str, ...], tuple[dict[str, bytes], dict[str, Any]]]

    def args(self, out: Path, *more: Any) -> list[Any]:
        """The command of a run."""
        return ["dedup", self.notes, "-o", out, "--id", "id", *PARTS, *more]

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
        assert [name for name in files if files[name] != found[name]] == []
        assert record(out) == said


# The program.


def _note_calls(log: str, crash: int | None, slow: float) -> None:
    """Note down the steps of a run and its calls to the system; end it at one of them."""
    import neardup.run.folder as folder
    import neardup.run.signing as signing
    from neardup.run import clustering

    handle = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    calls = 0

    def say(*words: object) -> None:
        os.write(handle, ("\t".join(map(str, words)) + "\n").encode())

    def wrapped(name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def inner(*args: Any, **kwargs: Any) -> Any:
            nonlocal calls
            if crash is not None and calls == crash:
                os.kill(os.getpid(), signal.SIGKILL)
            calls += 1
            where = os.fspath(args[0]) if not isinstance(args[0], int) else ""
            say("call", name, Path(str(where)).name)
            return call(*args, **kwargs)

        return inner

    for name in _CALLS:
        setattr(os, name, wrapped(name, getattr(os, name)))

    real_add = folder.RunFolder._add

    def add(self: Any, stage: str, item: int, make: Any) -> None:
        say("step", stage, item)
        real_add(self, stage, item, make)

    folder.RunFolder._add = add  # type: ignore[method-assign]
    real_sign = signing.sign_chunk

    def sign(size: int, documents: Any, recipe: Any) -> Any:
        found = real_sign(size, documents, recipe)
        say("signed", size)
        return found

    signing.sign_chunk = sign
    real_buckets = clustering.buckets

    def buckets(*args: Any) -> Any:
        found = real_buckets(*args)
        say("grouped", len(args[0]))
        return found

    clustering.buckets = buckets
    real_band = clustering.Clustering.add_band

    def add_band(self: Any, *args: Any) -> None:
        real_band(self, *args)
        say("clustered", len(args[0]))

    clustering.Clustering.add_band = add_band  # type: ignore[method-assign]


def _slow_down(seconds: float) -> None:
    real = os.fsync

    def fsync(descriptor: int) -> None:
        time.sleep(seconds)
        real(descriptor)

    os.fsync = fsync


def _child(command: dict[str, Any]) -> None:
    from neardup.cli import main
    from neardup.run import outputs, tables

    # Several tables and checkpoints, for a small corpus.
    tables._ROWS, outputs._CHECKPOINT = 2048, 1 << 20
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
    main()


def _serve() -> None:
    import neardup.api
    import neardup.cli.dedup
    import neardup.cli.plan
    import neardup.cli.sign
    import neardup.report.plan
    import neardup.report.summary  # noqa: F401
    from neardup import Spec, dedup

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Load the kernels; a pool of one thread each, which is gone afterwards.
    dedup(["some text to begin with", "and another"], spec=Spec(), threads=1)
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
