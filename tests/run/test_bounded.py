"""Anonymous memory stays under ``--memory``, as seen from outside; and the plan says so before."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from neardup.synth import SynthSpec, write

NEARDUP = [sys.executable, "-c", "from neardup.cli import main; main()"]


@pytest.fixture(scope="module")
def notes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Short notes, many; and fewer, for what is slow."""
    folder = tmp_path_factory.mktemp("bounded")
    found = {}
    for name, documents in (("many.jsonl", 100_000), ("table.parquet", 100_000)):
        found[name] = folder / name
        write(SynthSpec(documents=documents, words=(10, 40)), found[name])
    found["few.jsonl"] = folder / "few.jsonl"
    write(SynthSpec(documents=6_000, words=(50, 250)), found["few.jsonl"])
    return found


def least(*args: str | Path) -> int:
    """The least memory, in MB, that the plan accepts."""
    said = subprocess.run(
        [*NEARDUP, "plan", *map(str, args), "--memory", "1TB"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    number, unit = said.partition("the least is ")[2].split()[:2]
    scale = {"MB": 1, "GB": 1000}[unit]
    return int(float(number) * scale + max(20, 0.06 * scale))  # it is rounded


def children(pid: int) -> list[int]:
    found = [pid]
    try:
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in (task / "children").read_text().split():
                found.extend(children(int(child)))
    except OSError:
        pass
    return found


def anonymous(pid: int) -> int:
    """RssAnon of a process and its children, in bytes."""
    total = 0
    for process in children(pid):
        try:
            found = re.search(r"RssAnon:\s+(\d+)", Path(f"/proc/{process}/status").read_text())
        except OSError:
            continue
        total += int(found[1]) * 1024 if found else 0
    return total


def peak(*args: str | Path) -> int:
    """Run ``neardup`` and return the largest anonymous memory that was seen."""
    process = subprocess.Popen(
        [*NEARDUP, *map(str, args)], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True
    )
    most = 0

    def watch() -> None:
        nonlocal most
        while process.poll() is None:
            most = max(most, anonymous(process.pid))
            time.sleep(0.01)

    thread = threading.Thread(target=watch)
    thread.start()
    _, said = process.communicate()
    thread.join()
    assert process.returncode == 0, said
    return most


CASES = {
    "jsonl": ("many.jsonl", []),
    "parquet": ("table.parquet", ["--id", "id"]),
    "ids, longest, star": (
        "many.jsonl",
        ["--id", "id", "--keep", "longest", "--cluster", "star"],
    ),
    "components, memory": ("many.jsonl", ["--cluster", "components", "--store", "memory"]),
    "bounded-mst, second round": (
        "many.jsonl",
        ["--id", "id", "--cluster", "bounded-mst", "--second-round"],
    ),
    "char": ("few.jsonl", ["--id", "id", "--shingle", "char:5"]),
}


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
@pytest.mark.parametrize("case", CASES)
def test_stays_below(case: str, notes: dict[str, Path], tmp_path: Path) -> None:
    name, more = CASES[case]
    settings = [*more] if "--threads" in more else [*more, "--threads", "2"]
    memory = least(notes[name], *settings)
    found = peak("dedup", notes[name], "-o", tmp_path / "out", *settings, "--memory", f"{memory}MB")
    print(f"{case}: peak {found / 1e6:.0f} MB of {memory} MB")  # noqa: T201
    assert found < memory * 1_000_000
    record = json.loads((tmp_path / "out" / "run.json").read_text())
    assert record["peak_anonymous"] < memory * 1_000_000
    assert abs(record["peak_anonymous"] - found) < 0.15 * found


def test_too_little_is_refused(notes: dict[str, Path], tmp_path: Path) -> None:
    done = subprocess.run(
        [*NEARDUP, "dedup", str(notes["few.jsonl"]), "-o", str(tmp_path / "o"), "--memory", "90MB"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2
    lines = done.stderr.splitlines()
    assert re.fullmatch(
        r"error: --memory is 90(\.0)? MB; .*\d,\d{3} documents need at least \d+\.\d MB", lines[0]
    )
    assert lines[1] == "hint: give more memory, or fewer --threads"
    assert not (tmp_path / "o").exists()
