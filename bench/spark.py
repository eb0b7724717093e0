"""neardup on Apache Spark on this machine: speed of each step, shuffles, skew, a chain.

    python bench/spark.py [--only notes,above,chain,...] [--documents N] [--cores 2]

`notes` are 100,000 mixed notes with 17 bands, and `many` are 500,000, step by step; `job` is the
whole `dedup` of the first, its checks and the start of the Python workers included, and `tiny` the
command on 100 notes. With another number of documents the result has it in its name. `above`,
`around` and `below` are 200,000 notes of which 30 % are one family above, around or below the
threshold; `passages` are the copied passages of 100,000 notes, and `template` those of the same
with the same 200 words in each; `chain` is a million documents, each similar to the next, that no
task may hold. Each answer is compared with that of one machine. `neardup`, `mllib` and `text-dedup`
find the pairs of 20,000 notes: Spark's own MinHashLSH, and the functions of text-dedup's program
for Spark, which need `pip install scipy rich` and `pip install --no-deps text-dedup==0.3.1`; pairs
that an exact join finds are the truth. Each is a process of its own. Writes
bench/results/spark.json.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

import neardup
from harness import DATA, load, save, say, synthetic, table, text_bytes
from neardup.spark import dedup, files, passages, steps
from neardup.spark.stages import candidate_stage
from neardup.spec import Spec
from notes import Family
from shapes import chain

SIZES = {"notes": 100_000, "job": 100_000, "tiny": 100, "many": 500_000}
SIZES |= {"passages": 100_000, "template": 100_000}
SIZES |= {"above": 200_000, "around": 200_000, "below": 200_000, "chain": 1_000_000}
SIZES |= dict.fromkeys(("neardup", "mllib", "text-dedup"), 20_000)
FAMILIES = {"above": (0.85, 0.95), "around": (0.65, 0.75), "below": (0.4, 0.5)}
#: 17 bands, as in the table of bytes in docs/scaling.md.
NOTES = Spec(threshold=0.75, num_bands=17, rows=5)


class Watch:
    """CPU seconds of this process and all below it, and the peak of a Python worker."""

    def __init__(self) -> None:
        self.worker = 0
        self._begin = time.monotonic(), self.cpu()
        self._stop = threading.Event()
        threading.Thread(target=self._sample, daemon=True).start()

    def read(self) -> dict[str, float]:
        """What was taken since this was made."""
        seconds, cpu = time.monotonic() - self._begin[0], self.cpu() - self._begin[1]
        return {"seconds": seconds, "cpu_seconds": cpu, "worker_bytes": self.worker}

    def cpu(self) -> float:
        total = 0.0
        for process in [psutil.Process(), *psutil.Process().children(recursive=True)]:
            try:
                total += sum(process.cpu_times()[:4])  # without the time that it waited
            except psutil.Error:
                continue
        return total

    def _sample(self) -> None:
        while not self._stop.wait(0.2):
            for process in psutil.Process().children(recursive=True):
                try:
                    if "pyspark.daemon" in " ".join(process.cmdline()):
                        self.worker = max(self.worker, process.memory_info().rss)
                except psutil.Error:
                    continue


@contextmanager
def session(cores: int, log: Path, **more: str) -> Iterator[SparkSession]:
    settings = {
        "spark.driver.memory": "2g",
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": str(8 * cores),
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": log.as_uri(),
        "spark.eventLog.compress": "false",
        "spark.eventLog.rolling.enabled": "false",
        **more,
    }
    options = " ".join(f"--conf {n.replace('_', '.')}={value}" for n, value in settings.items())
    os.environ["PYSPARK_SUBMIT_ARGS"] = f"{options} pyspark-shell"
    with files.session(f"local[{cores}]", quiet=True) as spark:
        yield spark


def by_step(log: Path) -> dict[str, dict[str, Any]]:
    """Bytes of shuffles and durations of tasks, by the name of the step, from the event log."""
    (path,) = (p for p in log.iterdir() if p.suffix != ".crc")
    steps_of: dict[int, str] = {}
    found: dict[str, dict[str, Any]] = {}
    for line in path.read_text().splitlines():
        event = json.loads(line)
        if event["Event"] == "SparkListenerJobStart":
            name = event["Properties"].get("spark.jobGroup.id")
            steps_of |= dict.fromkeys(event["Stage IDs"], name)
        if event["Event"] == "SparkListenerTaskEnd":
            step = found.setdefault(steps_of[event["Stage ID"]], {"shuffled": 0, "tasks": {}})
            info, metrics = event["Task Info"], event["Task Metrics"]
            step["shuffled"] += metrics["Shuffle Write Metrics"]["Shuffle Bytes Written"]
            seconds = (info["Finish Time"] - info["Launch Time"]) / 1000
            step["tasks"].setdefault(event["Stage ID"], []).append(seconds)
    for step in found.values():
        all_tasks = step.pop("tasks").values()
        longest = max(all_tasks, key=max)
        step |= {"longest_task": max(longest), "median_task": statistics.median(longest)}
    return found


def run_steps(path: Path, spec: Spec, cores: int) -> dict[str, Any]:
    """The job step by step, and its answer against that of one machine."""
    measured: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder, session(cores, Path(folder)) as spark:
        df = spark.read.parquet(str(path))
        watch = Watch()

        def step(name: str, make: Callable[[], Any]) -> Any:
            spark.sparkContext.setJobGroup(name, name)
            seconds, cpu = time.monotonic(), watch.cpu()
            made = make().persist(StorageLevel.DISK_ONLY)
            rows = made.count()
            measured[name] = {
                "seconds": time.monotonic() - seconds,
                "cpu_seconds": watch.cpu() - cpu,
                "rows": rows,
            }
            return made

        step("start", lambda: steps.sketch(df.limit(1), spec))
        sketches = step("sketch", lambda: steps.sketch(df, spec))
        step("bands", lambda: spread(sketches, spec, 8 * cores))
        same = step("duplicates", lambda: steps.duplicates(sketches, spec))
        some = step("candidates", lambda: steps.candidates(sketches, same, spec, df.count()))
        compared = step(
            "compare", lambda: steps.compare(some, steps.shingle_sets(df, some, spec), spec)
        )
        clusters = step("resolve", lambda: steps.resolve(sketches, same, compared))
        kept = {row["id"] for row in clusters.where("kept").select("id").collect()}
        worker = watch.worker
        spark.stop()
        for name, numbers in by_step(Path(folder)).items():
            if name in measured:
                measured[name] |= numbers
    return {"steps": measured, "worker_bytes": worker, "equal": kept == single(path, spec)}


def spread(sketches: Any, spec: Spec, parts: int) -> Any:
    """The shuffle of band keys alone."""
    keys = sketches.select("doc", "keys")
    schema = "share int, entries binary"
    return steps.mapped(keys, candidate_stage.spread, schema, shares=3 * parts).repartition(
        parts, "share"
    )


def single(path: Path, spec: Spec) -> set[Any]:
    """The ids that one machine keeps."""
    clusters = neardup.dedup(path, id="id", spec=spec.replace(order_by="id")).clusters
    return set(clusters.filter(pc.field("kept"))["doc_id"].to_pylist())


def run_chain(size: int, cores: int) -> dict[str, Any]:
    path = DATA / f"chain-{size}-ids.parquet"
    rows = pq.read_table(chain(size))
    pq.write_table(rows.append_column("id", [list(range(size))]), path)
    watch = Watch()
    with tempfile.TemporaryDirectory() as folder, session(cores, Path(folder)) as spark:
        run = dedup(spark.read.parquet(str(path)), task_bytes=size * 800 // 4)
        kept = {row["id"] for row in run.clusters.where("kept").select("id").collect()}
        taken = watch.read()
    return {**taken, "equal": kept == single(path, Spec())}


def run_job(path: Path, cores: int) -> dict[str, Any]:
    """The whole job, checks included, from the session's start and without it."""
    begun = Watch()
    default = {"spark_sql_shuffle_partitions": "200"}
    with tempfile.TemporaryDirectory() as folder, session(cores, Path(folder), **default) as spark:
        df = spark.read.parquet(str(path))
        watch = Watch()
        rows = dedup(df, spec=NOTES).clusters.where("kept").select("id").collect()
        taken, whole = watch.read(), begun.read()
    start = {f"{name}_with_start": whole[name] for name in ("seconds", "cpu_seconds")}
    size = text_bytes(path) / 1e6
    for what, cpu in (
        ("dedup()", taken["cpu_seconds"]),
        ("with the session", whole["cpu_seconds"]),
    ):
        say(f"{what}: {cpu:.1f} s of CPU, {size / cpu:.1f} MB/s a core")
    return {**taken, **start, "equal": {row["id"] for row in rows} == single(path, NOTES)}


def run_passages(path: Path, cores: int) -> dict[str, Any]:
    """Copied passages, beside those of one machine: CPU, bytes of shuffles, longest tasks."""
    default = {"spark_sql_shuffle_partitions": "200"}
    rows = {}
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder)
        with session(cores, log, **default) as spark:
            df = spark.read.parquet(str(path))
            watch = Watch()
            run = passages(df)
            for name in ("passages", "documents"):
                rows[name] = getattr(run, name).toArrow()
            taken = watch.read()
        of_steps = by_step(log).values()
        taken["shuffled"] = sum(step["shuffled"] for step in of_steps)
        taken["longest_task"] = max(step["longest_task"] for step in of_steps)
    size = text_bytes(path) / 1e6
    watch = Watch()
    one = neardup.passages(path, id="id", order_by="id", threads=cores, progress=False)
    single = watch.read()
    equal = all(same_rows(table, getattr(one, name)) for name, table in rows.items())
    share = one.summary["counts"]["copied_words"] / one.summary["counts"]["words"]
    for who, found in (("Spark", taken), ("one machine", single)):
        cpu, seconds = found["cpu_seconds"], found["seconds"]
        say(f"{who}: {seconds:.1f} s, {cpu:.1f} s of CPU, {size / cpu:.1f} MB/s a core")
    say(f"shuffled: {taken['shuffled'] / 1e6 / size:.2f} bytes a byte of text")
    return {**taken, "text": size, "single": single, "copied_share": share, "equal": equal}


def same_rows(rows: pa.Table, others: pa.Table) -> bool:
    """Whether two tables have equal rows, in any order."""
    order: Any = [(name, "ascending") for name in others.column_names]
    found = (each.cast(others.schema).sort_by(order) for each in (rows, others))
    return next(found).equals(next(found))


def with_template(path: Path) -> Path:
    """The same notes, each with the same 200 words at its end."""
    found = path.with_name(f"template-{path.name}")
    if not found.exists():
        rows = pq.read_table(path)
        end = " ".join(f"clause{n}" for n in range(200))
        text: Any = pc.binary_join_element_wise(rows["text"], end, " ")
        pq.write_table(rows.set_column(rows.column_names.index("text"), "text", text), found)
    return found


def run_tiny(path: Path, cores: int) -> dict[str, Any]:
    """The command, from its start to its end."""
    watch = Watch()
    with tempfile.TemporaryDirectory() as folder:
        command = [
            "spark",
            path,
            "-o",
            f"{folder}/out",
            "--id",
            "id",
            "--master",
            f"local[{cores}]",
        ]
        subprocess.run([sys.executable, "-m", "neardup", *map(str, command)], check=True)
    return {"seconds": watch.read()["seconds"]}


Pairs = set[tuple[int, int]]


def run_pairs(find: Callable[[DataFrame, Pairs], Pairs], path: Path, cores: int) -> dict[str, Any]:
    """Time and memory of a way to find pairs, and the share of all similar ones that it found."""
    spec = Spec(threshold=NOTES.threshold, method="allpairs", pairs="all")
    edges = neardup.dedup(path, id="id", spec=spec).edges
    assert edges is not None
    truth = set(zip(*(edges[name].to_pylist() for name in ("id_a", "id_b")), strict=True))
    truth = {(min(pair), max(pair)) for pair in truth}
    # What loops in the JVM needs both of its compilers, which is Spark's default.
    more = {} if find is with_neardup else {"spark_driver_extraJavaOptions": "-server"}
    watch = Watch()
    with tempfile.TemporaryDirectory() as folder, session(cores, Path(folder), **more) as spark:
        found = find(spark.read.parquet(str(path)), truth)
        taken = watch.read()
    return {**taken, "pairs": len(truth), "recall": len(found & truth) / len(truth)}


def with_neardup(df: DataFrame, truth: Pairs) -> Pairs:
    edges = dedup(df, spec=NOTES.replace(pairs="all")).edges
    assert edges is not None
    return {(row["id_a"], row["id_b"]) for row in edges.collect()}


def with_mllib(df: DataFrame, truth: Pairs) -> Pairs:
    """With so many hash tables that a pair at the threshold is found with probability 0.996."""
    from pyspark.ml.feature import HashingTF, MinHashLSH, NGram, RegexTokenizer

    df = RegexTokenizer(inputCol="text", outputCol="words", pattern=r"\W+").transform(df)
    df = NGram(n=5, inputCol="words", outputCol="grams").transform(df.drop("text"))
    counts = HashingTF(numFeatures=1 << 18, binary=True, inputCol="grams", outputCol="set")
    df = counts.transform(df.where(f.size("grams") > 0)).select("id", "set")
    model = MinHashLSH(inputCol="set", outputCol="hashes", numHashTables=4, seed=1).fit(df)
    joined = model.approxSimilarityJoin(df, df, 1 - NOTES.threshold + 1e-9)
    pairs = joined.where("datasetA.id < datasetB.id").select("datasetA.id", "datasetB.id")
    return {(a, b) for a, b in pairs.collect()}


def with_text_dedup(df: DataFrame, truth: Pairs) -> Pairs:
    """Its steps in their order; the program itself reads from BigQuery. Of its components, the
    pairs that are similar: it does not compare."""
    import numpy as np
    from text_dedup import minhash_spark as published

    bands, rows = NOTES.num_bands or 0, NOTES.rows or 0
    ranges = [(band * rows, (band + 1) * rows) for band in range(bands)]
    rng, prime = np.random.RandomState(42), published.MERSENNE_PRIME
    draws = [rng.randint(low, prime, bands * rows, dtype=np.uint64) for low in (1, 0)]

    def keys(row: Any) -> Any:
        text = row["text"] or ""
        return published.generate_hash_values(
            text, row["id"], bands * rows, 5, 5, ranges, np.array(draws)
        )

    found = df.select("id", "text").rdd.flatMap(keys).groupBy(lambda key: key[:2])
    a = found.flatMap(lambda x: published.generate_edges([i[2] for i in x[1]])).distinct().cache()
    while True:
        b = a.flatMap(published.large_star_map).groupByKey().flatMap(published.large_star_reduce)
        b = b.distinct().cache()
        a = b.map(published.small_star_map).groupByKey().flatMap(published.small_star_reduce)
        a = a.distinct().cache()
        if not a.subtract(b).union(b.subtract(a)).collect():
            break
    root = dict(a.collect())
    return {pair for pair in truth if len({root.get(id, id) for id in pair}) == 1}


PEERS = {"neardup": with_neardup, "mllib": with_mllib, "text-dedup": with_text_dedup}


def show(name: str, found: dict[str, Any], size: int, bytes: int) -> None:
    say(f"{name}: {size:,} documents, {bytes / 1e6:.0f} MB, answer equal: {found['equal']}")
    header = [
        "step",
        "s",
        "CPU s",
        "MB/s a core",
        "B shuffled a document",
        "longest task, s",
        "median",
    ]
    rows = [
        [step]
        + [f"{numbers[key]:.1f}" for key in ("seconds", "cpu_seconds")]
        + [
            f"{bytes / 1e6 / max(numbers['cpu_seconds'], 0.01):.0f}",
            f"{numbers['shuffled'] / size:.0f}",
        ]
        + [f"{numbers[key]:.1f}" for key in ("longest_task", "median_task")]
        for step, numbers in found["steps"].items()
    ]
    say(table(header, rows))
    whole = [numbers for step, numbers in found["steps"].items() if step not in ("start", "bands")]
    cpu, shuffled = (sum(n[key] for n in whole) for key in ("cpu_seconds", "shuffled"))
    say(
        f"all: {cpu:.1f} s of CPU, {bytes / 1e6 / cpu:.1f} MB/s a core, "
        f"{shuffled / size:.0f} bytes shuffled a document"
    )
    say(f"largest Python worker: {found['worker_bytes'] / 1e6:.0f} MB\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default=",".join(SIZES), help="by comma")
    parser.add_argument("--documents", type=int, help="other than the usual number")
    parser.add_argument("--cores", type=int, default=2)
    args = parser.parse_args()
    names = args.only.split(",")
    if len(names) > 1:  # a JVM that has done something before is faster
        for name in names:
            options = ["--cores", str(args.cores)]
            options += ["--documents", str(args.documents)] if args.documents else []
            subprocess.run([sys.executable, __file__, "--only", name, *options], check=True)
        return
    (name,) = names
    size = args.documents or SIZES[name]
    found: dict[str, Any] = {"documents": size}
    if name == "chain":
        found |= run_chain(size, args.cores)
        say(f"chain of {size:,}: {found}\n")
    else:
        changes: dict[str, Any] = {}
        if name in FAMILIES:
            changes["families"] = (Family(3 * size // 10, *FAMILIES[name]),)
        path = synthetic("mixed", size, ("parquet",), **changes).parquet
        assert path is not None
        if name in ("passages", "template"):
            path = path if name == "passages" else with_template(path)
            found |= run_passages(path, args.cores)
            say(f"{name} of {size:,}: {found}\n")
        elif name in ("job", "tiny"):
            found["bytes"] = text_bytes(path)
            found |= (run_job if name == "job" else run_tiny)(path, args.cores)
            say(f"{name} of {size:,}: {found}\n")
        elif name in PEERS:
            found |= run_pairs(PEERS[name], path, args.cores)
            say(f"{name} on {size:,} notes: {found}\n")
        else:
            found["bytes"] = text_bytes(path)
            found |= run_steps(path, Spec() if name in FAMILIES else NOTES, args.cores)
            show(name, found, size, found["bytes"])
    before: dict[str, Any] = (load("spark") or {}).get("found", {})
    key = name if size == SIZES[name] else f"{name}-{size}"
    save("spark", {"found": before | {key: found}})


if __name__ == "__main__":
    main()
