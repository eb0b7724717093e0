"""The persistent index, measured: ``index.py [--documents N] [--adverts N] [--peers]``.

Texts of 300 words, 17 bands of 4 rows, warm page cache. Results go to ``bench/results/index.json``,
each beside the number that is accepted. Peers, where they are installed, at 100,000 documents.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import neardup

sys.path.insert(0, str(Path(__file__).parents[1]))  # the experiments

SPEC = neardup.Spec(num_bands=17, rows=4)
ADVERTS = neardup.Spec(shingle=neardup.ShingleSpec(n=3), threshold=0.5, num_bands=42, rows=3)
WORDS = np.array([f"word{i}" for i in range(20_000)])
BATCH = 10_000
#: What is accepted: a lowest rate, or a highest time, size or ratio.
ACCEPT = {
    "query_us_p50": 300,
    "query_us_p99": 3_000,
    "first_query_ms": 100,
    "batch_query_per_s": 20_000,
    "add_per_s": 20_000,
    "add_if_new_per_s_process": 3_000,
    "add_if_new_per_s_power": 200,
    "bytes_per_document": 300,
    "private_mb": 100,
    "readers_p99_ratio": 3,
    "adverts_s": 120,
    "new_ms_of_1": 1.2,
    "new_of_8_per_s": 2_500,
    "new_of_64_per_s": 6_000,
    "new_of_1000_per_s": 12_000,
    "query_of_1_ms": 0.3,
    "passages_add_per_s": 2_000,
    "passages_copied_per_s": 2_000,
    "passages_bytes_per_byte": 1.0,
}


def texts(count: int, seed: int, words: int = 300) -> list[str]:
    """Texts of random words, frequent and rare."""
    places = (len(WORDS) * np.random.default_rng(seed).random((count, words)) ** 2).astype(int)
    return [" ".join(row) for row in WORDS[places].tolist()]


def timed(work: Callable[[], object]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def percentiles(work: Callable[[str], object], some: list[str]) -> tuple[float, float]:
    """Microseconds of a call: median, and 99 of 100."""
    seconds = [timed(lambda text=text: work(text)) for text in some]  # type: ignore[misc]
    half, most = np.percentile(seconds, [50, 99]) * 1e6
    return round(float(half)), round(float(most))


def filled(path: Path, documents: int, found: dict[str, Any]) -> None:
    """Make the index in batches of 10,000."""
    index = neardup.Index.create(path, spec=SPEC)
    seconds = 0.0
    for low in range(0, documents, BATCH):
        some = texts(min(BATCH, documents - low), low)
        ids = range(low, low + len(some))
        seconds += timed(lambda some=some, ids=ids: index.add(some, ids=ids))  # type: ignore[misc]
    found["add_per_s"] = round(documents / seconds)
    found["compact_s"] = round(timed(index.compact), 1)
    stats = index.stats()
    bodies = index._core.catalogue.rows("SELECT sum(length(body)) FROM documents")[0][0]
    size = stats["bytes_segments"] + stats["bytes_documents"] - bodies
    found["bytes_per_document"] = round(size / documents)
    found["bytes_per_document_text"] = round(bodies / documents)
    index.close()


def private_bytes() -> int:
    """Resident memory that belongs to no file; segments are mapped from files."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("RssAnon")) * 1024


def asked(path: Path, documents: int, found: dict[str, Any]) -> None:
    """Queries of texts that are similar to nothing, and of some that are there."""
    code = (
        "import time, neardup, sys\n"
        "i = neardup.Index.open(sys.argv[1], readonly=True)\n"
        "t = time.perf_counter(); i.query('some words that are not there at all')\n"
        "print((time.perf_counter() - t) * 1e3)"
    )
    first = [sys.executable, "-c", code, str(path)]
    subprocess.run(first, check=True, capture_output=True)
    done = subprocess.run(first, check=True, capture_output=True, text=True)
    found["first_query_ms"] = round(float(done.stdout), 1)
    with neardup.Index.open(path, readonly=True) as index:
        before = private_bytes()
        half = texts(500, 10**7) + texts(min(BATCH, documents), 0)[:500]
        for text in half[:50]:
            index.query(text)
        found["query_us_p50"], found["query_us_p99"] = percentiles(index.query, half)
        found["query_hit_us_p50"], _ = percentiles(index.query, half[500:])
        batch = texts(BATCH, 2 * 10**7)
        found["batch_query_per_s"] = round(BATCH / timed(lambda: index.query(batch)))
        found["private_mb"] = round((private_bytes() - before) / 2**20)


def one_by_one(path: Path, found: dict[str, Any]) -> None:
    """Look up and insert, a document at a time."""
    for durable, count in (("process", 3000), ("power", 300)):
        with neardup.Index.open(path, durable=durable) as index:  # type: ignore[arg-type]
            some = texts(count, 3 * 10**7 + count)
            base = 10**9 + 10**6 * count
            seconds = timed(lambda: [index.add_if_new(base + i, t) for i, t in enumerate(some)])  # noqa: B023
            found[f"add_if_new_per_s_{durable}"] = round(count / seconds)


def small_calls(path: Path, count: int, found: dict[str, Any]) -> None:
    """Calls of few notes of 2.2 kB, a third of which repeat others; each call is durable."""
    from notes import SynthSpec, generate

    notes = generate(SynthSpec.shaped("mixed", 2 * count, 5)).column("text").to_pylist()
    rest = iter(range(count, 2 * count))
    with neardup.Index.create(path, spec=SPEC) as index:
        index.add_if_new(notes[:count], ids=range(count))
        for size, calls in ((1, 500), (8, 100), (64, 50), (1000, 9)):
            seconds, cpu = [], time.process_time()
            for _ in range(calls):
                ids = [next(rest) for _ in range(size)]
                some = [notes[i] for i in ids]
                if size == 1:
                    work = lambda: index.add_if_new(ids[0], some[0])  # noqa: B023, E731
                else:
                    work = lambda: index.add_if_new(some, ids=ids)  # noqa: B023, E731
                seconds.append(timed(work))
            found[f"new_cpu_ms_of_{size}"] = round((time.process_time() - cpu) / calls * 1e3, 2)
            half = float(np.median(seconds))
            name = "new_ms_of_1" if size == 1 else f"new_of_{size}_per_s"
            found[name] = round(half * 1e3, 2) if size == 1 else round(size / half)
        asked = [notes[next(rest)] for _ in range(500)] + notes[:500]
        half = percentiles(index.query, asked)[0]
        found["query_of_1_ms"] = round(half / 1e3, 3)


def passages(path: Path, count: int, found: dict[str, Any]) -> None:
    """Copied passages of 25 words of notes of 2.2 kB, asked and added in batches of 2,000."""
    from notes import SynthSpec, generate

    notes = generate(SynthSpec.shaped("mixed", count, 5)).column("text").to_pylist()
    adding = asking = rows = asked = 0.0
    with neardup.Index.create(path, passages=25) as index:
        for low in range(0, count, 2000):
            some = notes[low : low + 2000]
            if low % 10_000 == 0:
                begin = time.perf_counter()
                rows += index.copied(some).num_rows
                asking += time.perf_counter() - begin
                asked += len(some)
            ids = range(low, low + len(some))
            adding += timed(lambda some=some, ids=ids: index.add(some, ids=ids))  # type: ignore[misc]
        some = notes[:: max(1, count // 200)][:200]
        half = percentiles(index.copied, some)[0]
        index.compact()
        stats = index.stats()
    size = sum(len(text.encode()) for text in notes)
    names = "bytes_documents", "bytes_segments", "bytes_copies"
    found["passages_load"] = round(os.getloadavg()[0], 1)
    found["passages_documents"], found["passages_rows"] = count, int(rows)
    found["passages_add_per_s"] = round(count / adding)
    found["passages_copied_per_s"] = round(asked / asking)
    found["passages_copied_of_1_ms"] = round(half / 1e3, 2)
    found["passages_bytes_per_byte"] = round(sum(stats[name] for name in names) / size, 3)
    found["passages_keys_per_byte"] = round(stats["bytes_copies"] / size, 3)


def _read(path: Path, seconds: float, out: Any) -> None:
    index = neardup.Index.open(path, readonly=True)
    some = texts(200, os.getpid())
    end = time.monotonic() + seconds
    times = []
    while time.monotonic() < end:
        for text in some:
            times.append(timed(lambda text=text: index.query(text)))  # type: ignore[misc]
    out.put(float(np.percentile(times, 99)))


def together(path: Path, seconds: float, found: dict[str, Any]) -> None:
    """A writer and four readers at the same time; the latter alone first."""
    context = multiprocessing.get_context("spawn")
    measured = []
    for writing in (False, True):
        out = context.Queue()
        readers = [context.Process(target=_read, args=(path, seconds, out)) for _ in range(4)]
        for reader in readers:
            reader.start()
        if writing:
            with neardup.Index.open(path, durable="process") as index:
                end, number = time.monotonic() + seconds, 10**12
                while time.monotonic() < end:
                    index.add_if_new(number, texts(1, number)[0])
                    number += 1
        measured.append(float(np.median([out.get() for _ in readers])))
        for reader in readers:
            reader.join()
            assert reader.exitcode == 0
    found["readers_p99_ratio"] = round(measured[1] / measured[0], 2)


def adverts(count: int, found: dict[str, Any]) -> None:
    """The job of the blog: query, then insert, one after the other; 42 bands of 3."""
    from experiments.adverts import adverts as made

    some = made(count, 4)
    index = neardup.Index.create(spec=ADVERTS, store_text=False)
    seconds = timed(lambda: [index.add_if_new(i, text) for i, text in enumerate(some)])
    found["adverts"], found["adverts_s"] = count, round(seconds, 1)


def peers(count: int, found: dict[str, Any]) -> None:
    """Insert and query, by those that are installed: signed beforehand, gaoya from texts."""
    some = texts(count, 0)
    signed = neardup.signatures(some, 68)
    environments = Path(__file__).parent / ".venvs"
    for name in ("datasketch", "rensa", "gaoya"):
        folders = (environments / name).glob("lib/python*/site-packages")
        sys.path += map(str, folders)  # at the end: what both have is ours
        try:
            found[name] = {"documents": count, **_peer(name, signed, some)}
        except ImportError:
            found[name] = "not installed"


def _peer(name: str, signed: np.ndarray, some: list[str]) -> dict[str, float]:
    made: list[Any]
    if name == "gaoya":
        from gaoya.minhash import MinHashStringIndex

        lsh = MinHashStringIndex(
            hash_size=32,
            jaccard_threshold=0.7,
            num_bands=17,
            band_size=4,
            analyzer="word",
            lowercase=True,
            ngram_range=(5, 5),
        )
        made = some
    elif name == "datasketch":
        from datasketch import MinHash, MinHashLSH

        lsh = MinHashLSH(num_perm=68, params=(17, 4))
        made = [MinHash(num_perm=68, hashvalues=row, scheme="legacy") for row in signed]
    else:
        from rensa import RMinHash, RMinHashLSH

        lsh = RMinHashLSH(threshold=0.7, num_perm=68, num_bands=17)
        made = []
        for row in signed:
            one = RMinHash(num_perm=68, seed=1)
            one.update([str(value) for value in row.tolist()])
            made.append(one)
    put = lsh.insert_document if name == "gaoya" else lsh.insert
    insert = timed(lambda: [put(i, one) for i, one in enumerate(made)])
    times = [timed(lambda one=one: lsh.query(one)) for one in made[:1000]]  # type: ignore[misc]
    return {
        "insert_per_s": round(len(made) / insert),
        "query_us_p50": round(float(np.median(times)) * 1e6),
    }


def show(found: dict[str, Any]) -> None:
    for name, value in found.items():
        accept = ACCEPT.get(name)
        at_least = name.endswith(("_per_s", "_process", "_power"))
        met = "" if accept is None else value >= accept if at_least else value <= accept
        print(f"{name:28} {value!s:>14} {accept or '':>10} {met}")


def write(path: Path, found: dict[str, Any]) -> None:
    path.write_text(json.dumps({**found, "accept": ACCEPT}, indent=1) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=1_000_000)
    parser.add_argument("--adverts", type=int, default=400_000)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--small", action="store_true", help="calls of few documents only")
    parser.add_argument("--passages", action="store_true", help="copied passages only")
    parser.add_argument("--peers", action="store_true")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results/index.json")
    options = parser.parse_args()
    found: dict[str, Any] = {"documents": options.documents, "load": round(os.getloadavg()[0], 1)}
    folder = Path(tempfile.mkdtemp(dir=os.environ.get("NEARDUP_BENCH_DATA")))
    try:
        path = folder / "bench.index"
        if options.passages:
            found = json.loads(options.out.read_text())  # the others stay as they were
            found.pop("accept")
            passages(folder / "passages.index", min(100_000, options.documents), found)
            show(found)
            write(options.out, found)
            return
        small_calls(folder / "small.index", min(20_000, options.documents), found)
        if options.small:
            show(found)
            return
        filled(path, options.documents, found)
        asked(path, options.documents, found)
        one_by_one(path, found)
        together(path, options.seconds, found)
        adverts(options.adverts, found)
        passages(folder / "passages.index", min(100_000, options.documents), found)
        if options.peers:
            peers(min(options.documents, 100_000), found)
    finally:
        shutil.rmtree(folder)
    show(found)
    write(options.out, found)


if __name__ == "__main__":
    main()
