"""What only a real process shows: rights, limits, interrupts, pipes, terminals, imports."""

from __future__ import annotations

import json
import os
import pty
import re
import resource
import select
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cli_process import NEARDUP

from bench.notes import SynthSpec, write
from common import SECRET, Command, files_of, some_rows, write_lines

pytestmark = pytest.mark.usefixtures("kernels")

NOBODY = 65534
ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def run(*args: Any, start: list[str] = NEARDUP, **options: Any) -> subprocess.CompletedProcess[str]:
    command = [*start, *map(str, args)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, **options)


def one_error(done: subprocess.CompletedProcess[str]) -> str:
    assert done.returncode == 1
    lines = done.stderr.splitlines()
    errors = [line for line in lines if line.startswith("error: ")]
    assert len(errors) == 1, done.stderr
    assert "Traceback" not in done.stderr and SECRET not in done.stderr
    assert done.stdout == ""
    return errors[0]


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Notes that take a while."""
    path = tmp_path_factory.mktemp("many") / "many.jsonl"
    write(SynthSpec(documents=60_000, words=(50, 250)), path)
    return path


#: As `NEARDUP`, but without any right that others don't have.
AS_NOBODY = [
    sys.executable,
    "-c",
    "import os\n"
    "import difflib, neardup.api.running, neardup.views.text.summary_text\n"
    "import neardup.cli.commands.command_dedup, neardup.io.formats.jsonl\n"
    "from neardup.cli import main\n"
    "if os.geteuid() == 0:\n"
    f"    os.setgroups([]); os.setgid({NOBODY}); os.setuid({NOBODY})\n"
    "main()",
]


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that everybody can look into, which those of pytest are not."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o777)
        yield folder


@pytest.mark.long
def test_no_right_to_read(open_folder: Path) -> None:
    path = write_lines(open_folder / "a.jsonl", some_rows())
    folder = open_folder / "closed"
    folder.mkdir()
    write_lines(folder / "b.jsonl", some_rows())
    path.chmod(0)
    folder.chmod(0)
    for name in (path, folder, folder / "b.jsonl"):
        done = run("dedup", name, "-o", open_folder / "out", start=AS_NOBODY)
        assert f"{name}: can't be read: permission denied" in one_error(done)
        assert not (open_folder / "out").exists()
    folder.chmod(0o700)


@pytest.mark.long
def test_no_right_to_write(open_folder: Path) -> None:
    path = write_lines(open_folder / "a.jsonl", some_rows())
    path.chmod(0o644)
    (open_folder / "closed").mkdir(mode=0o555)
    (open_folder / "secret").mkdir(mode=0)
    for out in ("closed/out", "secret/out"):
        done = run("dedup", path, "-o", open_folder / out, start=AS_NOBODY)
        assert str(open_folder / out.partition("/")[0]) in one_error(done)
    (open_folder / "secret").chmod(0o700)
    assert not files_of(open_folder / "closed") and not files_of(open_folder / "secret")


def small_files() -> None:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # the write fails then, instead of the process
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))


def test_files_may_not_grow(many: Path, tmp_path: Path) -> None:
    """What an earlier run wrote stays."""
    out = tmp_path / "out"
    (out / "clean").mkdir(parents=True)
    (out / "clean" / "notes.jsonl").write_bytes(b"of an earlier run")
    files = {"run.json": None, "clean": ["notes.jsonl"]}
    (out / "run.json").write_text(json.dumps({"command": "dedup", "files": files}))
    before = files_of(out)
    error = one_error(run("dedup", many, "-o", out, "--overwrite", preexec_fn=small_files))
    assert str(out) in error and "file too large" in error
    left = {name: raw for name, raw in files_of(out).items() if not name.startswith(".run")}
    assert left == before


@pytest.mark.parametrize(("threads", "seconds"), [(1, 1.2), (2, 0.8)])
def test_interrupt(threads: int, seconds: float, many: Path, tmp_path: Path) -> None:
    """Ctrl-C ends the run within two seconds, wherever it is."""
    out = tmp_path / "out"
    options = ["--pairs", "all", "--bands", "150", "--rows", "6", "--threads", str(threads)]
    while True:
        process = subprocess.Popen(
            [*NEARDUP, "dedup", many, "-o", out, "--overwrite", *options],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        time.sleep(seconds)
        running = process.poll() is None
        start = time.monotonic()
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
        if running:
            break
        assert process.returncode == 0 and seconds > 0.1, err
        seconds /= 2  # the machine is faster than this test took it to be
    assert process.returncode == 130, err
    assert time.monotonic() - start < 2
    assert "Traceback" not in err
    if (out / ".run").exists():
        assert err.splitlines()[-1] == "interrupted; continue with the same command and --resume"
    else:
        assert err.splitlines()[-1] == "interrupted"
        assert not out.exists()


@pytest.mark.long
def test_an_interrupt_in_a_callback_is_not_lost() -> None:
    script = """
import ctypes, os, signal, time
from neardup.cli.main import _prepare
_prepare()
def callback():
    os.kill(os.getpid(), signal.SIGINT)
    for _ in range(1000):
        pass
try:
    ctypes.CFUNCTYPE(None)(callback)()
    time.sleep(5)
except KeyboardInterrupt:
    print("heard")
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("heard\n", "")


@pytest.mark.long
def test_interrupt_while_it_reads_a_pipe(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [*NEARDUP, "dedup", "-", "-o", tmp_path / "out"],
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    while not (tmp_path / "out" / ".run").exists():
        assert process.poll() is None
        time.sleep(0.05)
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=10) == 130
    assert process.stderr is not None and process.stdin is not None
    assert process.stderr.read().strip() == "interrupted"
    assert not (tmp_path / "out").exists()
    process.stderr.close()
    process.stdin.close()


@pytest.mark.parametrize("args", [["dedup", "--help"], ["--help"], ["dedup", "nope.jsonl", "-o"]])
def test_nobody_listens(args: list[str], tmp_path: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    command = [*NEARDUP, *args, *([str(tmp_path / "out")] if args[-1] == "-o" else [])]
    done = subprocess.run(command, stdout=writer, stderr=writer)
    os.close(writer)
    assert done.returncode == 1


@pytest.mark.long
def test_nobody_listens_to_the_summary(tmp_path: Path, command: Command) -> None:
    path = write_lines(tmp_path / "a.jsonl", some_rows())
    command("dedup", path, "-o", tmp_path / "first")  # so that nothing is compiled, and announced
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run([*NEARDUP, "dedup", path, "-o", tmp_path / "out"], stderr=writer)
    os.close(writer)
    assert done.returncode == 1
    assert (tmp_path / "out" / "run.json").exists()  # all was written before


@pytest.mark.long
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no device that is full")
@pytest.mark.parametrize("args", [["--help"], ["stream"], ["index", "query"]])
def test_standard_output_is_full(args: list[str], tmp_path: Path, command: Command) -> None:
    path = write_lines(tmp_path / "a.jsonl", some_rows())
    command("index", "create", tmp_path / "index")
    if args == ["stream"]:
        args = ["stream", "--index", str(tmp_path / "index")]
    elif args != ["--help"]:
        command("index", "add", tmp_path / "index", path, "--id", "id")
        args = [*args, str(tmp_path / "index"), str(path)]
    with Path("/dev/full").open("w") as full, path.open() as notes:
        done = subprocess.run(
            [*NEARDUP, *args], stdin=notes, stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert done.returncode == 1
    said = "error: can't write to standard output: no space left on device"
    lines = [line for line in done.stderr.splitlines() if "compiling kernels" not in line]
    assert lines == [said]


@pytest.mark.long
def test_closed_streams(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "a.jsonl", some_rows())
    for name, code in ((path, 0), (tmp_path / "nope.jsonl", 1)):
        words = [*NEARDUP, "dedup", str(name), "-o", str(tmp_path / "out")]
        done = subprocess.run(["bash", "-c", f"{shlex.join(words)} >&- 2>&- <&-"])
        assert done.returncode == code
    assert (tmp_path / "out" / "run.json").exists()


def test_as_a_module(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(f'{{"text": "{SECRET}" oops\n')
    done = run("dedup", path, "-o", tmp_path / "out", start=[sys.executable, "-m", "neardup"])
    assert "a.jsonl: line 1 is not valid JSON" in one_error(done)
    assert len(done.stderr.splitlines()) <= 2


def test_help_imports_nothing_heavy() -> None:
    heavy = ["numba", "llvmlite", "pyarrow", "numpy", "rich", "Stemmer", "asyncio", "concurrent"]
    code = (
        "import sys\nfrom neardup.cli import main\n"
        "for args in (['--help'], ['--version'], ['dedup', '--help'], ['report', '--help']):\n"
        "    try:\n        main(args)\n"
        "    except SystemExit as stop:\n        assert not stop.code\n"
        f"print([m for m in {heavy!r} if m in sys.modules], file=sys.stderr)"
    )
    done = run("-c", code, start=[sys.executable])
    assert done.returncode == 0
    assert done.stderr.strip() == "[]"


def on_a_terminal(*args: Any) -> tuple[int, str]:
    """The exit code, and all that a terminal of 100 columns got."""
    leader, follower = pty.openpty()
    import fcntl
    import struct
    import termios

    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 100, 0, 0))
    process = subprocess.Popen(
        [*NEARDUP, *map(str, args)],
        stdin=follower,
        stdout=follower,
        stderr=follower,
        env={**os.environ, "TERM": "xterm-256color"},
        close_fds=True,
    )
    os.close(follower)
    got = b""
    while select.select([leader], [], [], 60)[0]:
        try:
            block = os.read(leader, 65536)
        except OSError:  # the other end is closed
            break
        if not block:
            break
        got += block
    os.close(leader)
    return process.wait(timeout=60), got.decode()


def screen_of(got: str) -> list[str]:
    """What is left on the screen: a terminal that knows what progress bars use."""
    lines, row, column = [""], 0, 0
    for token in re.findall(r"\x1b\[[0-9;?]*[A-Za-z]|\r|\n|[^\x1b\r\n]+", got):
        if token == "\r":
            column = 0
        elif token == "\n":
            row, column = row + 1, 0
            lines += [""] * (row + 1 - len(lines))
        elif token.startswith("\x1b["):
            if token.endswith("A"):
                row = max(0, row - int(token[2:-1] or 1))
            elif token.endswith("K"):
                lines[row] = "" if token == "\x1b[2K" else lines[row][:column]
        else:
            line = lines[row].ljust(column)
            lines[row] = line[:column] + token + line[column + len(token) :]
            column += len(token)
    return [line.rstrip() for line in lines]


@pytest.mark.long
def test_progress_on_a_terminal_and_in_a_pipe(many: Path, tmp_path: Path) -> None:
    code, got = on_a_terminal("dedup", many, "-o", tmp_path / "out")
    assert code == 0, got
    plain = ESCAPE.sub("", got)
    assert re.search(r"read and sketch +[━╸╺ ]+ +\d+% +\d+:\d\d:\d\d", plain), plain
    assert got.count("\x1b[?25l") == got.count("\x1b[?25h") > 0  # the cursor is back
    left = [line for line in screen_of(got) if line and not line.startswith("compile:")]
    done = run("dedup", many, "-o", tmp_path / "again")
    assert done.returncode == 0, done.stderr
    assert "\x1b" not in done.stderr and "\r" not in done.stderr and done.stdout == ""
    # Nothing is left but the summary, which is the same elsewhere.
    summary = [line.split()[0] for line in done.stderr.splitlines()]
    assert [line.split()[0] for line in left] == summary and summary[-1] == "written"


@pytest.mark.long
def test_error_on_a_terminal(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    rows = "".join(json.dumps({"text": f"note {i}"}) + "\n" for i in range(1000))
    path.write_text(rows + "{\n")
    code, got = on_a_terminal("dedup", path, "-o", tmp_path / "out")
    assert code == 1
    left = [line for line in screen_of(got) if line and "compil" not in line]
    assert left[0].startswith("error: ") and "line 1001" in " ".join(left)
    assert "Traceback" not in got
    assert got.count("\x1b[?25l") == got.count("\x1b[?25h")


@pytest.mark.long
def test_quiet_on_a_terminal(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "a.jsonl", some_rows())
    assert on_a_terminal("dedup", path, "-o", tmp_path / "out", "--quiet") == (0, "")
