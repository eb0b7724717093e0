"""Power loss: outputs are on the disk before what would make them again is removed."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import made_corpora
import numpy as np
import pytest

from common import Command
from fuzz.tracing import traced
from neardup.testing.small_corpora import random_documents

pytestmark = pytest.mark.long

_TRACED = "openat,write,pwrite64,writev,ftruncate,fsync,fdatasync,mkdir,mkdirat,rename,renameat,"
_TRACED += "renameat2,unlink,unlinkat"
_CALL = re.compile(r"^(\d+\.\d+) (\w+)\((.*)\)\s+= (-?\d+)(?:<(.*)>)?")
_NAME = re.compile(r'"([^"]*)"')
_OPEN = re.compile(r"^\d+<([^>]*)>")


class Disk:
    """Which writes and names are not yet on the disk."""

    def __init__(self) -> None:
        self.contents: set[Path] = set()
        self.names: set[Path] = set()

    def waiting(self, below: Path) -> set[Path]:
        run = below / ".run"
        every = {path for path in self.contents | self.names if path.is_relative_to(below)}
        return {path for path in every if not path.is_relative_to(run)}

    def apply(self, call: str, arguments: str, result: str | None) -> None:
        paths = [Path(name) for name in _NAME.findall(arguments)]
        of = _OPEN.match(arguments)
        if call == "openat" and "O_CREAT" in arguments:
            self.names.add(Path(result or ""))
        elif call in ("write", "pwrite64", "writev", "ftruncate") and of:
            self.contents.add(Path(of[1]))
        elif call in ("fsync", "fdatasync") and of:
            self.contents.discard(Path(of[1]))
            self.names = {name for name in self.names if name.parent != Path(of[1])}
        elif call in ("mkdir", "mkdirat"):
            self.names.add(paths[-1])
        elif call.startswith("rename"):
            old, new = paths
            for waiting in (self.contents, self.names):
                moved = {path for path in waiting if path.is_relative_to(old)}
                waiting -= moved
                waiting |= {new / path.relative_to(old) for path in moved}
            self.names.add(new)
        elif call.startswith("unlink"):
            folder = Path(of[1]) if of else Path()
            self.contents.discard(folder / paths[-1])
            self.names.discard(folder / paths[-1])


def calls(log: Path) -> Iterator[tuple[str, str, str | None]]:
    """Yield what all threads of a traced process did, in order."""
    lines = [line for path in log.parent.glob("log.*") for line in path.read_text().splitlines()]
    found = [match for match in map(_CALL.match, lines) if match and not match[4].startswith("-")]
    for match in sorted(found, key=lambda match: float(match[1])):
        yield match[2], match[3], match[5]


@pytest.mark.parametrize("more", [[], ["--pairs", "all", "--annotate"], ["--overwrite"]])
def test_outputs_are_on_the_disk_before_the_run_folder_goes(
    tmp_path: Path, more: list[str], command: Command
) -> None:
    if shutil.which("strace") is None:
        pytest.skip("strace, which says what a process does to the disk, is not installed")
    rows = random_documents(np.random.default_rng(3), 300)
    made_corpora.write(rows, tmp_path / "in" / "below", "jsonl", 2)
    made_corpora.write(rows, tmp_path / "in", "csv", 1)
    out = tmp_path / "out"
    words = [sys.executable, "-m", "neardup", "dedup", str(tmp_path / "in"), "-o", str(out)]
    if "--overwrite" in more:
        assert command(*words[3:], "--quiet").code == 0
    options = ["-ff", "-ttt", "-y", "-s", "500", "-e", f"trace={_TRACED}"]
    done = traced([*words, "--quiet", *more], options, log=str(tmp_path / "log"))
    assert done.returncode == 0, done.stderr
    disk, gone = Disk(), False
    for call, arguments, result in calls(tmp_path / "log"):
        if call.startswith("unlink") and 'run.sqlite"' in arguments:
            assert disk.waiting(out) == set()
            gone = True
        disk.apply(call, arguments, result)
    assert gone
    written = {path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_file()}
    assert {"run.json", "clusters.parquet", "clean/part0.csv", "clean/below/part1.jsonl"} <= written
