"""Private memory stays under ``--memory``, as seen from outside."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import neardup
from bench.notes import Family, SynthSpec, write
from common import Command, Tune, core
from neardup.deduplication.beginning import Head, begin, check_documents
from neardup.deduplication.job import Job
from neardup.deduplication.local import _Sketching
from neardup.deduplication.reading import Reader
from neardup.errors import InputError, OutputError, SpecError
from neardup.files.scratch import Disk, Scratch, Slabs
from neardup.io.opening import open_source
from neardup.io.source import Columns
from neardup.match import bucketing
from neardup.match.bucketing import GROUPING, bands_at_once, bucket_bands
from neardup.memory_plan import (
    MemoryPlan,
    PrivatePeak,
    Workload,
    parse_size,
    plan_memory,
    show_size,
)
from neardup.options.how_read import OpenInput
from neardup.options.option_groups import Resources
from neardup.spec import preset
from neardup.state import Header
from neardup.state.memory_store import MemoryStore
from neardup.threads import Pool

NEARDUP = [sys.executable, "-c", "from neardup.cli import main; main()"]
DOCUMENTS = 80_000


def short_texts(documents: int) -> dict[str, np.ndarray | list[str]]:
    """Texts of 12 words, of which a half are near-duplicates of another one."""
    rng = np.random.default_rng(1)
    words = rng.integers(0, 50_000, (documents, 12))
    words[1::4], words[1::4, -1] = words[::4], words[1::4, 0]
    texts = np.full(documents, "", "U1").astype(object)
    names = np.array([f"w{n:05d} " for n in range(50_000)], dtype=object)
    for column in words.T:
        texts = texts + names[column]
    return {"id": np.arange(documents), "text": texts.tolist()}


@pytest.fixture(scope="module")
def notes(kernels: None, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Short notes, many; fewer, for what is slow; and a family of half of all."""
    folder = tmp_path_factory.mktemp("bounded")
    specs = {
        "many.jsonl": SynthSpec(DOCUMENTS, words=(8, 24)),
        "table.parquet": SynthSpec(DOCUMENTS, words=(8, 24)),
        "few.jsonl": SynthSpec(5_000, words=(50, 250)),
        "large.jsonl": SynthSpec(8_000, words=(8, 24), families=(Family(2_500, 0.6, 0.8),)),
    }
    for name, spec in specs.items():
        write(spec, folder / name)
    pq.write_table(pa.table(short_texts(120_000)), folder / "many.parquet", row_group_size=20_000)
    # 54 MB of text in some kB: what is encoded says little of the memory.
    table = pa.table({"text": ["many words " * 165] * 30_000})
    pq.write_table(table, folder / "repeated.parquet")
    return {path.name: path for path in folder.iterdir()}


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
    "parquet, ids": ("table.parquet", ["--id", "id"]),
    "longest, pairs": ("many.jsonl", ["--id", "id", "--keep", "longest", "--pairs", "all"]),
    "bounded, large family": ("large.jsonl", ["--cluster", "bounded", "--threshold", "0.7"]),
    "order": ("many.jsonl", ["--order-by", "quality", "--no-clean"]),
    "repeated": ("repeated.parquet", []),
    "char": ("few.jsonl", ["--id", "id", "--shingle", "char:5"]),
    "8 threads": ("many.parquet", ["--id", "id", "--threads", "8"]),
}


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
@pytest.mark.parametrize("case", core(CASES, "repeated"))
def test_stays_below(case: str, notes: dict[str, Path], tmp_path: Path, command: Command) -> None:
    name, more = CASES[case]
    settings = ["--threads", "2", *more]
    said = command("dedup", notes[name], "-o", tmp_path / "o", *settings, "--memory", "1MB").err
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


def test_too_little_is_refused(notes: dict[str, Path], tmp_path: Path, command: Command) -> None:
    done = command("dedup", notes["few.jsonl"], "-o", tmp_path / "o", "--memory", "90MB")
    assert done.code == 2
    error, hint = done.err.splitlines()
    assert re.fullmatch(
        r"error: --memory is 90 MB; at least .* MB are needed \(.*\d,\d{3} documents\)", error
    )
    assert "more memory" in hint
    assert not (tmp_path / "o").exists()


@pytest.mark.long
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
@pytest.mark.parametrize("name", ["plan", "against", "decontaminate"])
def test_the_least_that_a_command_names_suffices(
    name: str, notes: dict[str, Path], tmp_path: Path, command: Command
) -> None:
    """With more threads than there are cores, each of which would like a large row group."""
    given = [notes["many.parquet"], "--id", "id", "--threads", "8"]
    if name == "against":
        assert command("dedup", notes["few.jsonl"], "--id", "id", "-o", tmp_path / "a").code == 0
        given += ["--against", tmp_path / "a"]
    if name == "decontaminate":
        given += ["--against", notes["few.jsonl"]]
    if name != "plan":
        given += ["-o", tmp_path / "o"]
    name = "dedup" if name == "against" else name
    refused = command(name, *given, "--memory", "1MB")
    assert refused.code == 2, refused.err
    found = re.search(r"at least (\d+) MB are needed", refused.err)
    assert found is not None, refused.err
    assert not (tmp_path / "o").exists()
    most = peak(name, *given, "--memory", f"{found[1]}MB")
    assert most < int(found[1]) * 10**6, f"peak {most / 1e6:.0f} MB of {found[1]} MB"


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
            with pytest.raises(SpecError, match=f"at least {-(-found.minimum // 10**6)} MB"):
                found.check()
            continue
        found.check()
        further = (found.threads - 1) * found.thread
        assert found.minimum + further + found.arrays + found.cached <= memory
        assert found.keys == 8 * 20 * 10**6
    # A quarter of the texts, or nothing of them.
    assert plan(10**10).cached > plan(2 * 10**9).cached > 10**9 // 4
    assert plan(6 * 10**8).cached == 0
    # More of anything needs more.
    base = plan(10**9).minimum
    assert plan(10**9, 2 * 10**6).minimum > base
    assert plan(10**9, columns=10**8).minimum > base
    assert plan(10**9, partition=10**7).minimum > base
    assert plan(10**9, rows=10**6).minimum > base


def test_threads_that_do_not_fit_are_left_out() -> None:
    minimum = plan(10**9).minimum
    assert plan(minimum, threads=16).threads == 1
    thread = plan(minimum, threads=16).thread
    assert plan(minimum + 5 * thread, threads=16).threads == 6
    assert plan(minimum + 50 * thread, threads=16).threads == 16
    assert plan(minimum, threads=16).minimum == minimum  # whatever number is asked for


def test_bands_in_flight_are_bounded() -> None:
    """Eight threads may group eight bands at once, and do so only where the memory is there."""
    documents, alive, most = 10_000, 0, 0
    lock = threading.Lock()
    rng = np.random.default_rng(0)

    def keys_of(band: int) -> np.ndarray:
        nonlocal alive, most
        with lock:
            alive += 1
            most = max(most, alive)
        time.sleep(0.01)
        return rng.integers(0, 2**63, documents, dtype=np.uint64)

    with Pool(8) as pool:
        for left, bands in ((0, 1), (3 * GROUPING * documents + 1000, 4), (1 << 40, 9)):
            assert bands_at_once(documents, pool, left) == bands
            alive = most = 0
            for _ in bucket_bands(keys_of, 24, pool, None, bands):
                with lock:
                    alive -= 1
            assert most <= bands + 1  # and the one that was yielded
            assert most >= min(bands, 4)


def test_too_many_buckets_and_documents_are_refused(tune: Tune) -> None:
    bucketing.check_buckets(2**31 - 1)
    with pytest.raises(
        InputError, match=r"2,147,483,648 buckets .* at most 2,147,483,647"
    ) as found:
        bucketing.check_buckets(2**31)
    assert "recall" in str(found.value.hint)
    check_documents(2**31 - 1)
    with pytest.raises(InputError, match="2,147,483,648 documents; a run takes at most"):
        check_documents(2**31)
    tune(most_buckets=3)
    texts = [f"{word} one two three four five six {n}" for word in "abcd" for n in range(2)]
    with pytest.raises(InputError, match="a run takes at most 3"):
        neardup.dedup(texts, spec=neardup.Spec(num_bands=9, rows=1))


def test_what_is_cached_is_never_more_than_planned() -> None:
    """Threads look at what is left and subtract in one step."""
    texts = [f"{n} " * 2000 for n in range(400)]  # 2.6 MB
    table = pa.table({"text": pa.array(texts, pa.large_string())})
    memory = plan_memory(Workload(400, 2_600_000, 0, 11, 8, False, False, 0, 0), None)
    for _ in range(3):
        job = Job(
            OpenInput(open_source(table, Columns(), partition_bytes=1 << 14), {}),
            preset("web"),
            Resources(threads=8),
        )
        store, reader = MemoryStore(), Reader(job.source)
        beginning = begin(job, store, reader)
        beginning = beginning._replace(plan=replace(memory, cached=500_000))
        with Pool(8) as pool:
            _Sketching(job, store, reader, beginning, pool).run()
        assert 0 < sum(d.text.nbytes + d.columns.nbytes for d in reader.cached.values()) <= 500_000


def test_keys_in_memory_are_on_scratch() -> None:
    """What `dedup` without ``out`` keeps for another threshold is within the budget, too."""
    scratch = Scratch(0)
    store = MemoryStore()
    store.slabs = Slabs(scratch.empty)
    store.create(Header("d", 2))
    for number in range(3):
        keys = np.arange(2 * 10**5, dtype=np.uint64).reshape(2, -1) + np.uint64(number)
        store.put(number, keys, bytes([number]) * 10)
    assert scratch.used == 0  # all are mapped
    assert [found[1][:2].tolist() for found in store.band(1)] == [
        [10**5 + n, 10**5 + n + 1] for n in range(3)
    ]
    assert [bytes(store.metadata(n)) for n in range(3)] == [bytes([n]) * 10 for n in range(3)]
    within = Scratch(64 << 20)
    slabs = Slabs(within.empty)
    blocks = [slabs.copy(b"x" * 1000) for _ in range(1000)]
    assert within.used == 8 << 20 and bytes(blocks[-1]) == b"x" * 1000
    assert not blocks[0].flags.writeable


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
    scratch = Scratch(0, Disk(tmp_path))
    held = scratch.filled(1 << 20, "int64", 5)
    assert (held == 5).all() and list(tmp_path.iterdir()) == []
    with pytest.raises(OutputError, match="no space for"):
        Scratch(0, Disk(tmp_path / "nowhere")).empty(1 << 20, "int64")


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
    parents = np.ones(30_000_000)  # 240 MB
    code = "from neardup.memory_plan import peak_memory; print(peak_memory())"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert 1e6 < int(found.stdout) < parents.nbytes


def test_few_large_documents_are_read_before_the_run_begins(tmp_path: Path) -> None:
    path = tmp_path / "large.jsonl"
    path.write_text((json.dumps({"text": "word " * 200_000}) + "\n") * 60)
    head = Head.of(Reader(open_source(path, Columns(), partition_bytes=1 << 20)), ())
    assert 16 << 20 <= sum(found.text.nbytes for found in head.read) < 18 << 20
    assert not head.complete and 2 < head.scale(path.stat().st_size) < 5


@pytest.mark.long
def test_documents_are_counted_while_they_are_read(tmp_path: Path, command: Command) -> None:
    """The first ones may be large, and the others small."""
    path, large = tmp_path / "notes.jsonl", json.dumps({"text": "word " * 8000}) + "\n"
    path.write_text(large * 600 + (json.dumps({"text": "a"}) + "\n") * 3_000_000)
    done = command("dedup", path, "-o", tmp_path / "out", "--memory", "470MB")
    assert done.code == 2 and "documents read so far, or more" in done.err
    assert not (tmp_path / "out").exists()
