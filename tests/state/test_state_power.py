"""Power loss: of what was not synced, any of the writes may be lost, in any order."""

from __future__ import annotations

import random
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from test_state_run import POSIX, STEPS, changes, everything, filled, words_of

pytestmark = POSIX
FILES = ("run.sqlite", "run.sqlite-journal")
TRACED = "trace=openat,pwrite64,fdatasync,fsync,ftruncate"
_OPEN = re.compile(r'openat\([^,]+, "((?:\\x..)*)", [^)]*\)\s+= (\d+)')
_WRITE = re.compile(r'pwrite64\((\d+), "((?:\\x..)*)", \d+, (\d+)\)')
_CUT = re.compile(r"ftruncate\((\d+), (\d+)\)")
_SYNC = re.compile(r"f(?:data)?sync\((\d+)\)")


class Call(NamedTuple):
    """A call to the system: a write at a place, a cut to a length, or a sync."""

    file: str
    at: int = 0
    data: bytes | None = None
    syncs: bool = False

    def apply(self, content: bytes) -> bytes:
        if self.data is None:
            return content[: self.at].ljust(self.at, b"\0")
        end = self.at + len(self.data)
        return content[: self.at].ljust(self.at, b"\0") + self.data + content[end:]


def calls(log: Path, folder: Path) -> Iterator[Call]:
    """Yield what a traced process did to the files of a run, in order."""
    lines = sorted(line for p in log.parent.glob("log.*") for line in p.read_text().splitlines())
    open_files: dict[str, str] = {}
    for line in lines:
        if match := _OPEN.search(line):
            name = Path(bytes.fromhex(match[1].replace("\\x", "")).decode())
            open_files[match[2]] = name.name if name.parent == folder else ""
        elif (match := _WRITE.search(line)) and open_files.get(match[1]) in FILES:
            data = bytes.fromhex(match[2].replace("\\x", ""))
            yield Call(open_files[match[1]], int(match[3]), data)
        elif (match := _CUT.search(line)) and open_files.get(match[1]) in FILES:
            yield Call(open_files[match[1]], int(match[2]))
        elif (match := _SYNC.search(line)) and open_files.get(match[1]) in FILES:
            yield Call(open_files[match[1]], syncs=True)


@pytest.mark.long
def test_power_is_lost_at_any_moment(tmp_path: Path) -> None:
    if shutil.which("strace") is None:
        pytest.skip("strace, which stops it at each call to the system, is not installed")
    states = changes(tmp_path)
    folder, log, crashed = tmp_path / "run", tmp_path / "log", tmp_path / "crashed"
    filled(folder).close()
    synced = {name: (folder / name).read_bytes() for name in FILES}
    trace = ["strace", "-ff", "-ttt", "-xx", "-s", "200000", "-o", str(log), "-e", TRACED]
    subprocess.run([*trace, *words_of(STEPS, folder)], check=True)
    waiting: list[Call] = []
    chance = random.Random(3)
    durable, reached = 0, set()

    def crash(kept: float) -> int:
        """Return the state that is found if so many of the waiting writes get to the disk."""
        shutil.rmtree(crashed, ignore_errors=True)
        crashed.mkdir()
        (crashed / "lock").touch()
        for name in FILES:
            content = synced[name]
            for call in waiting:
                if call.file == name and chance.random() < kept:
                    content = call.apply(content)
            (crashed / name).write_bytes(content)
        return states.index(everything(crashed))

    for number, call in enumerate(calls(log, folder)):
        if call.syncs:
            for done in waiting:
                if done.file == call.file:
                    synced[call.file] = done.apply(synced[call.file])
            waiting = [other for other in waiting if other.file != call.file]
        else:
            waiting.append(call)
        before, durable = durable, crash(0.0)
        assert durable >= before
        for kept in (0.3, 0.8) if number % 3 == 0 else ():
            found = crash(kept)
            assert found >= durable
            reached.add(found)
    assert not waiting and durable == len(states) - 1
    assert len(reached) >= len(states) - 1
