"""Nothing that only POSIX has is needed: modules and functions of the system are hidden."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from common import some_rows, write_lines

HIDDEN = """
import importlib, os, pkgutil, sys
import numpy, numba, pyarrow.parquet, psutil  # with whatever they import
POSIX = ("fcntl", "resource", "pwd", "grp", "termios", "syslog", "tty", "pty")
sys.modules.update(dict.fromkeys(POSIX))
for name in ("sched_getaffinity", "posix_fallocate", "posix_fadvise", "sync", "fork", "getuid"):
    vars(os).pop(name, None)
"""
IMPORTS = (
    HIDDEN
    + """
import neardup
optional = ("cassandra", "igraph", "sklearn", "pyspark", "py4j", "matplotlib", "jinja2")
for module in pkgutil.walk_packages(neardup.__path__, "neardup."):
    if not module.name.endswith("__main__"):
        try:
            importlib.import_module(module.name)
        except ImportError as error:
            name = getattr(error.__cause__ or error, "name", None)  # of an error of ours, its cause
            assert str(name).partition(".")[0] in optional, (module.name, error)
print("imported")
"""
)
RUN = (
    HIDDEN
    + """
from pathlib import Path
import neardup
from neardup.errors import ResumeError
from neardup.state.run_state import RunState
out = Path(sys.argv[2])
run = neardup.dedup(sys.argv[1], id="id", out=out, pairs="all", keep_run=True)
assert run.explain("n2").comparison is not None and run.clean().num_rows == 20
with RunState.open(out / ".run"):
    try:
        RunState.open(out / ".run")
    except ResumeError as error:
        assert "another neardup process" in str(error)
        print("locked")
RunState.open(out / ".run").close()
neardup.dedup(sys.argv[1], id="id", out=out, overwrite=True)
"""
)


def _python(code: str, *arguments: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.long
def test_every_module_is_imported() -> None:
    assert _python(IMPORTS) == "imported"


def test_a_run_and_its_lock(tmp_path: Path) -> None:
    notes = write_lines(tmp_path / "notes.jsonl", some_rows())
    assert _python(RUN, notes, tmp_path / "out") == "locked"
