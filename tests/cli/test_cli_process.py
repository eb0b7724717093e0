"""What only a real process shows: rights, full disks, interrupts, pipes, terminals, imports."""

from __future__ import annotations

import json
import os
import pty
import re
import resource
import select
import shlex
import shutil
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

from common import files_of, some_rows, write_lines
from neardup.synth import SynthSpec, write

pytestmark = pytest.mark.usefixtures("kernels")

NOBODY = 65534
ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def run(*args: Any, start: list[str] = NEARDUP, **options: Any) -> subprocess.CompletedProcess[str]:
    command = [*start, *map(str, args)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, **options)


def one_error(done: subprocess.CompletedProcess[str]) -> str:
    lines = done.stderr.splitlines()
    errors = [line for line in lines if line.startswith("error: ")]
    assert len(errors) == 1, done.stderr
    assert "Traceback" not in done.stderr
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
    "import difflib, neardup.api, neardup.cli.dedup, neardup.report.summary\n"
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


def test_no_right_to_read(open_folder: Path) -> None:
    path = write_lines(open_folder / "a.jsonl", some_rows())
    folder = open_folder / "closed"
    folder.mkdir()
    write_lines(folder / "b.jsonl", some_rows())
    path.chmod(0)
    folder.chmod(0)
    for name in (path, folder, folder / "b.jsonl"):
        done = run("dedup", name, "-o", open_folder / "out", start=AS_NOBODY)
        assert done.returncode == 1
        assert f"{name}: can't be read: permission denied" in one_error(done)
        assert not (open_folder / "out").exists()
    folder.chmod(0o700)


def test_no_right_to_write(open_folder: Path) -> None:
    path = write_lines(open_folder / "a.jsonl", some_rows())
    path.chmod(0o644)
    (open_folder / "closed").mkdir(mode=0o555)
    (open_folder / "secret").mkdir(mode=0)
    for out in ("closed/out", "secret/out"):
        done = run("dedup", path, "-o", open_folder / out, start=AS_NOBODY)
        assert done.returncode == 1
        assert str(open_folder / out.partition("/")[0]) in one_error(done)
    (open_folder / "secret").chmod(0o700)
    assert not files_of(open_folder / "closed") and not files_of(open_folder / "secret")


def small_files() -> None:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # the write fails then, instead of the process
    resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))


@pytest.mark.parametrize("format", ["parquet", "jsonl", "csv"])
@pytest.mark.parametrize("there", [False, True], ids=["new", "overwrite"])
def test_files_may_not_grow(format: str, there: bool, tmp_path: Path) -> None:
    path = tmp_path / "notes.jsonl"
    write(SynthSpec(documents=2000), path)
    out = tmp_path / "deep" / "out"
    if there:
        out.mkdir(parents=True)
        (out / f"clean.{format}").write_bytes(b"of an earlier run")
    before = files_of(tmp_path)
    args = ["dedup", path, "-o", out, "--format", format, "--overwrite"]
    done = run(*args, preexec_fn=small_files)
    assert done.returncode == 1
    error = one_error(done)
    assert str(out) in error and "file too large" in error
    assert "limit on the size of files" in done.stderr
    assert files_of(tmp_path) == before
    assert (tmp_path / "deep").exists() == there


@pytest.fixture
def tiny_disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)]
    try:
        subprocess.run(mount, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("no right to mount a small disk")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.parametrize("format", ["parquet", "jsonl", "csv"])
def test_disk_full(format: str, tiny_disk: Path, tmp_path: Path) -> None:
    path = tmp_path / "notes.jsonl"
    write(SynthSpec(documents=2000), path)
    out = tiny_disk / "deep" / "out"
    done = run("dedup", path, "-o", out, "--format", format)
    assert done.returncode == 1
    assert str(out) in one_error(done) and "no space left" in done.stderr
    assert "free some space" in done.stderr and "--resume" in done.stderr
    assert [p.name for p in out.iterdir()] == [".run"]


@pytest.mark.parametrize(("threads", "seconds"), [(1, 1.0), (2, 1.0), (2, 1.8), (1, 3.0)])
def test_interrupt(threads: int, seconds: float, many: Path, tmp_path: Path) -> None:
    """Ctrl-C ends the run within two seconds, wherever it is."""
    out = tmp_path / "out"
    options = ["--pairs", "all", "--bands", "150", "--rows", "6", "--threads", str(threads)]
    while True:
        process = subprocess.Popen(
            [*NEARDUP, "dedup", many, "-o", out, *options],
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
        shutil.rmtree(out)
        seconds /= 2  # the machine is faster than this test took it to be
    assert process.returncode == 130, err
    assert time.monotonic() - start < 2
    assert "Traceback" not in err
    if (out / ".run").exists():
        assert err.splitlines()[-1] == "interrupted; go on with the same command and --resume"
    else:
        assert err.splitlines()[-1] == "interrupted; nothing was written"
        assert not out.exists()


def test_interrupt_while_it_reads_a_pipe(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [*NEARDUP, "dedup", "-", "-o", tmp_path / "out"],
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    time.sleep(2)
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=10) == 130
    assert process.stderr is not None and process.stdin is not None
    assert process.stderr.read().strip() == "interrupted; nothing was written"
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


def test_nobody_listens_to_the_summary(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "a.jsonl", some_rows())
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run([*NEARDUP, "dedup", path, "-o", tmp_path / "out"], stderr=writer)
    os.close(writer)
    assert done.returncode == 1
    assert (tmp_path / "out" / "run.json").exists()  # all was written before


def test_closed_streams(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "a.jsonl", some_rows())
    for name, code in ((path, 0), (tmp_path / "nope.jsonl", 1)):
        words = [*NEARDUP, "dedup", str(name), "-o", str(tmp_path / "out")]
        done = subprocess.run(["bash", "-c", f"{shlex.join(words)} >&- 2>&- <&-"])
        assert done.returncode == code
    assert (tmp_path / "out" / "run.json").exists()


def test_help_imports_nothing_heavy() -> None:
    heavy = ["numba", "llvmlite", "pyarrow", "numpy", "rich", "Stemmer", "asyncio", "concurrent"]
    for args in (["--help"], ["--version"], ["dedup", "--help"], ["synth", "--help"]):
        code = (
            "import sys\nfrom neardup.cli import main\n"
            f"try:\n    main({args!r})\n"
            "finally:\n"
            f"    print([m for m in {heavy!r} if m in sys.modules], file=sys.stderr)"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        assert done.returncode == 0
        assert done.stderr.strip() == "[]", args


def test_piped_progress_has_no_escapes(many: Path, tmp_path: Path) -> None:
    done = run("dedup", many, "-o", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert "\x1b" not in done.stderr and "\r" not in done.stderr
    assert done.stdout == ""


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


def test_progress_on_a_terminal(tmp_path: Path) -> None:
    notes = tmp_path / "notes.jsonl"
    write(SynthSpec(documents=60_000), notes)  # enough for the bar to be drawn at work
    code, got = on_a_terminal("dedup", notes, "-o", tmp_path / "out")
    assert code == 0, got
    plain = ESCAPE.sub("", got)
    assert re.search(r"read and sign +[━╸╺ ]+ +\d+ % +[\d,]+ MB/s +\d+:\d\d:\d\d", plain), plain
    assert got.count("\x1b[?25l") == got.count("\x1b[?25h") > 0  # the cursor is back
    left = [line for line in screen_of(got) if line]
    summary = {"documents", "kept", "removed", "clusters", "pairs", "edges", "not", "recall"}
    for line in left:
        word = line.split()[0].rstrip(":")
        assert word in summary | {"took", "written", "kernels"} or "compared" in word, left
    assert left[-1].startswith("written")


def test_error_on_a_terminal(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    rows = "".join(json.dumps({"text": f"note {i}"}) + "\n" for i in range(1000))
    path.write_text(rows + "{\n")
    code, got = on_a_terminal("dedup", path, "-o", tmp_path / "out")
    assert code == 1
    left = [line for line in screen_of(got) if line and not line.startswith("kernels:")]
    assert left[0].startswith("error: ") and "line 1001" in " ".join(left)
    assert "Traceback" not in got
    assert got.count("\x1b[?25l") == got.count("\x1b[?25h")


def test_quiet_on_a_terminal(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "a.jsonl", some_rows())
    assert on_a_terminal("dedup", path, "-o", tmp_path / "out", "--quiet") == (0, "")
