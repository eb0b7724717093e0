"""Run a command of neardup under strace, which sees and disturbs its calls to the system.

strace stops a process at each of its calls. Those of an import are thousands, and take longer than
all else that a short command does. So processes are forked from one that has loaded the modules,
and strace comes when they begin.
"""

from __future__ import annotations

import atexit
import ctypes
import functools
import multiprocessing
import os
import runpy
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from multiprocessing.context import ForkServerContext
from pathlib import Path
from subprocess import CompletedProcess

_ANY_PROCESS_MAY_TRACE = 0x59616D61, ctypes.c_ulong(-1), 0, 0, 0  # of prctl


@functools.cache
def _context() -> ForkServerContext:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["fuzz.loaded"])
    return context


def _run(words: Sequence[str], cwd: Path, files: tuple[str, str, str]) -> None:
    """Wait for strace, then do what an interpreter does with these arguments."""
    os.chdir(cwd)
    for number, name in enumerate(files):
        os.dup2(os.open(name, os.O_WRONLY if number else os.O_RDONLY), number)
    sys.stdin, sys.stdout, sys.stderr = (
        open(number, mode, encoding="utf-8", closefd=False)  # noqa: SIM115
        for number, mode in enumerate("rww")
    )
    ctypes.CDLL(None).prctl(*_ANY_PROCESS_MAY_TRACE)
    os.kill(os.getpid(), signal.SIGSTOP)
    kind, what, *rest = words
    sys.argv = [kind, *rest]
    try:
        if kind == "-m":
            runpy.run_module(what, run_name="__main__", alter_sys=True)
        else:
            exec(compile(what, kind, "exec"), {"__name__": "__main__"})
    finally:
        atexit._run_exitfuncs()


def traced(
    words: Sequence[str],
    options: Sequence[str],
    *,
    log: str = os.devnull,
    cwd: Path | None = None,
    stdin: str = os.devnull,
    seconds: float = 300,
) -> CompletedProcess[str]:
    """Run a command of Python, ``-m MODULE`` or ``-c CODE`` with arguments, and return its end.

    Args:
        words: The interpreter, and its arguments.
        options: Of strace: which calls, and what happens at them.
        log: File for the calls.
        cwd: Folder that it runs in.
        stdin: File that is its standard input.
        seconds: After these it is killed, and an error raised.
    """
    with tempfile.NamedTemporaryFile() as out, tempfile.NamedTemporaryFile() as err:
        arguments = words[1:], cwd or Path.cwd(), (stdin, out.name, err.name)
        process = _context().Process(target=_run, args=arguments)
        process.start()
        try:
            tracer = _tracer(process.pid or 0, ["-f", "-qqq", "-o", log, *options])
            process.join(seconds)
            if process.exitcode is None:
                raise TimeoutError(f"no end after {seconds} s: {words}")
            tracer.wait()
        finally:
            process.kill()
            process.join()
        answers = (Path(file.name).read_text(encoding="utf-8") for file in (out, err))
        return CompletedProcess(list(words), process.exitcode, *answers)


def _tracer(pid: int, options: Sequence[str]) -> subprocess.Popen[bytes]:
    """Attach strace to a process that waits for it, and let that go on."""
    _wait(lambda: _status(pid, "State")[0] in "TZ")
    tracer = subprocess.Popen(["strace", *options, "-p", str(pid)], stderr=subprocess.DEVNULL)
    _wait(lambda: _status(pid, "TracerPid") != "0" or tracer.poll() is not None)
    if tracer.poll() is not None:
        raise RuntimeError("strace can't attach to a process")
    os.kill(pid, signal.SIGCONT)
    return tracer


def _wait(done: Callable[[], bool]) -> None:
    while not done():
        time.sleep(0.002)


def _status(pid: int, name: str) -> str:
    """Return the first word of a line of the status of a process."""
    lines = Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines()
    return next(line.split()[1] for line in lines if line.startswith(f"{name}:"))
