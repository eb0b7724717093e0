"""Private memory stays under ``--memory``, as seen from outside."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bench.notes import Family, SynthSpec, write
from neardup.errors import OutputError, SpecError
from neardup.memory_plan import (
    MemoryPlan,
    PrivatePeak,
    Workload,
    parse_size,
    plan_memory,
    show_size,
)
from neardup.scratch import Scratch

NEARDUP = [sys.executable, "-c", "from neardup.cli import main; main()"]
DOCUMENTS = 120_000


@pytest.fixture(scope="module")
def notes(kernels: None, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Short notes, many; fewer, for what is slow; and a family of half of all."""
    folder = tmp_path_factory.mktemp("bounded")
    specs = {
        "many.jsonl": SynthSpec(DOCUMENTS, words=(8, 24)),
        "table.parquet": SynthSpec(DOCUMENTS, words=(8, 24)),
        "few.jsonl": SynthSpec(5_000, words=(50, 250)),
        "family.jsonl": SynthSpec(12_000, words=(8, 24), families=(Family(1_500, 0.6, 0.8),)),
        "large.jsonl": SynthSpec(12_000, words=(8, 24), families=(Family(6_000, 0.6, 0.8),)),
    }
    for name, spec in specs.items():
        write(spec, folder / name)
    # 90 MB of text in some kB: what is encoded says little of the memory.
    table = pa.table({"text": ["many words " * 165] * 50_000})
    pq.write_table(table, folder / "repeated.parquet")
    return {path.name: path for path in folder.iterdir()}


def run(*args: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*NEARDUP, *map(str, args)], capture_output=True, text=True)


def private(pid: int) -> int:
    """RssAnon of a process and its children, in bytes."""
    total = 0
    try:
        found = re.search(r"RssAnon:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())
        total += int(found[1]) * 1024 if found else 0
        for task in Path(f"/proc/{pid}/task").iterdir():
            total += sum(map(private, map(int, (task / "children").read_text().split())))
    except OSError:
        pass
    return total


def peak(*args: str | Path) -> int:
    """Run ``neardup`` and return the largest private memory that was seen."""
    process = subprocess.Popen(
        [*NEARDUP, *map(str, args)], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True
    )
    most = 0

    def watch() -> None:
        nonlocal most
        while process.poll() is None:
            most = max(most, private(process.pid))
            time.sleep(0.01)

    thread = threading.Thread(target=watch)
    thread.start()
    _, said = process.communicate()
    thread.join()
    assert process.returncode == 0, said
    return most


CASES: dict[str, tuple[str, list[str]]] = {
    "jsonl": ("many.jsonl", []),
    "parquet, ids": ("table.parquet", ["--id", "id"]),
    "longest, pairs": ("many.jsonl", ["--id", "id", "--keep", "longest", "--pairs", "all"]),
    "bounded, family": ("family.jsonl", ["--cluster", "bounded", "--threshold", "0.7"]),
    "bounded, large family": ("large.jsonl", ["--cluster", "bounded", "--threshold", "0.7"]),
    "order": ("many.jsonl", ["--order-by", "quality", "--no-clean"]),
    "repeated": ("repeated.parquet", []),
    "char": ("few.jsonl", ["--id", "id", "--shingle", "char:5"]),
}


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
@pytest.mark.parametrize("case", CASES)
def test_stays_below(case: str, notes: dict[str, Path], tmp_path: Path) -> None:
    name, more = CASES[case]
    settings = [*more, "--threads", "2"]
    said = run("dedup", notes[name], "-o", tmp_path / "o", *settings, "--memory", "1MB").stderr
    found = re.search(r"at least ([\d.]+) MB", said)
    assert found is not None, said
    memory = float(found[1]) + 0.1  # it is rounded
    most = peak(
        "dedup", notes[name], "-o", tmp_path / "out", *settings, "--memory", f"{memory:.1f}MB"
    )
    assert most < memory * 1_000_000, f"{case}: peak {most / 1e6:.0f} MB of {memory:.0f} MB"
    record = json.loads((tmp_path / "out" / "run.json").read_text())
    assert record["peak_private_memory"] < memory * 1_000_000
    assert abs(record["peak_private_memory"] - most) < 0.15 * most
    assert record["peak_memory"] >= record["peak_private_memory"]


def test_too_little_is_refused(notes: dict[str, Path], tmp_path: Path) -> None:
    done = run("dedup", notes["few.jsonl"], "-o", tmp_path / "o", "--memory", "90MB")
    assert done.returncode == 2
    error, hint = done.stderr.splitlines()
    assert re.fullmatch(
        r"error: --memory is 90 MB; at least .* MB are needed \(.*\d,\d{3}\).*", error
    )
    assert "memory" in hint and "threads" in hint
    assert not (tmp_path / "o").exists()


# The parts of the plan.


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("500MB", 500 * 10**6), ("4GB", 4 * 10**9), ("4GiB", 4 * 2**30), ("1.5gb", 1_500_000_000),
        ("64k", 64_000), ("64KiB", 65_536), (" 2 TB ", 2 * 10**12), ("77", 77), (77, 77),
    ],
)  # fmt: skip
def test_sizes(text: str | int, size: int) -> None:
    assert parse_size(text, "memory") == size


@pytest.mark.parametrize("text", ["", "much", "4XB", "-1", "1iB", "4 G B", 0, -1, True, 1.5, None])
def test_what_is_no_size(text: str) -> None:
    with pytest.raises(SpecError, match=r"`max_document` is .*, which is not a size"):
        parse_size(text, "max_document")


def test_sizes_are_shown_as_people_write_them() -> None:
    for size, shown in (
        (999, "999 B"),
        (1500, "1.5 kB"),
        (4_321_000_000, "4.32 GB"),
        (3 * 10**12, "3 TB"),
    ):
        assert show_size(size) == shown


def plan(memory: int, documents: int = 10**6, **changes: int) -> MemoryPlan:
    fields = {"text": 10**9, "columns": 10**7, "num_bands": 20, "threads": 2, **changes}
    return plan_memory(Workload(documents=documents, char=False, **fields), memory)


def test_the_plan_divides_what_there_is() -> None:
    for memory in (10**8, 5 * 10**8, 10**9, 10**10):
        found = plan(memory)
        if memory < found.minimum:
            with pytest.raises(SpecError, match=f"at least {show_size(found.minimum)}"):
                found.check(10**6)
            continue
        found.check(10**6)
        assert found.minimum + found.arrays + found.held <= memory
        assert found.keys == 8 * 20 * 10**6
    assert plan(10**10).held > plan(6 * 10**8).held
    # More of anything needs more.
    base = plan(10**9).minimum
    assert plan(10**9, 2 * 10**6).minimum > base
    assert plan(10**9, columns=10**8).minimum > base
    assert plan(10**9, threads=4).minimum > base


def test_scratch_counts_what_is_alive() -> None:
    scratch = Scratch(10 << 20)
    first = scratch.empty(4 << 20, "uint8")
    view = scratch.filled((1 << 20,), "int32", 7)[5:9]
    assert scratch.used == 8 << 20
    assert not scratch.fits(4 << 20) and scratch.fits(2 << 20)
    third = scratch.filled(4 << 20, "uint8", 0)
    assert scratch.used == 8 << 20 and not third.any()
    third[...] = 3
    del first
    assert scratch.used == 4 << 20 and scratch.fits(4 << 20)
    assert view.tolist() == [7] * 4
    del view, third
    assert scratch.used == 0
    small = scratch.empty((3, 2), "float64")
    assert small.shape == (3, 2) and scratch.used == 0
    assert Scratch().fits(1 << 60)


def test_scratch_leaves_no_file(tmp_path: Path) -> None:
    scratch = Scratch(0, tmp_path)
    held = scratch.filled(1 << 20, "int64", 5)
    assert (held == 5).all() and list(tmp_path.iterdir()) == []
    with pytest.raises(OutputError, match="no room for"):
        Scratch(0, tmp_path / "nowhere").empty(1 << 20, "int64")


def test_the_peak_is_seen_while_it_lasts() -> None:
    with PrivatePeak(0.001) as watch:
        before = watch.peak
        block = bytearray(80 << 20)
        block[::4096] = b"x" * len(block[::4096])
        time.sleep(0.1)
        del block
    assert watch.peak > before + (60 << 20)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_the_peak_is_of_this_process_alone() -> None:
    """Linux counts what a parent had in memory as the peak of its child, at first."""
    parents = np.ones(60_000_000)  # 480 MB
    code = "from neardup.memory_plan import peak_memory; print(peak_memory())"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert 1e6 < int(found.stdout) < parents.nbytes
