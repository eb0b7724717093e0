"""The corpora, the tools and the machine: what all programs here share."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

BENCH = Path(__file__).resolve().parent
DATA = BENCH / "data"
RESULTS = BENCH / "results"
TEXTS = Path(os.environ.get("NEARDUP_DATA") or BENCH.parents[1] / "shared/data")
NEARDUP = str(Path(sys.executable).with_name("neardup"))
SHAPES = ("few", "mixed", "above", "around", "below")
OURS = {"neardup": "parquet", "neardup-jsonl": "jsonl"}
PEERS = ("daft", "gaoya", "rensa", "datasketch", "duplodocus")
#: Peers without threads, also as their documentation runs them: in one process.
SINGLE = {"rensa-single": "rensa", "datasketch-single": "datasketch"}
TOOLS = (*OURS, *PEERS, *SINGLE)
THREADS = 2
THRESHOLD = 0.7
SEED = 1

Run = dict[str, Any]


@dataclass(frozen=True)
class Corpus:
    """Documents with a column ``text``, in one or both formats."""

    name: str
    documents: int
    parquet: Path | None = None
    jsonl: Path | None = None

    @property
    def bytes(self) -> int:
        """Size of the JSON lines, or of the texts; all speeds refer to it, whatever is read."""
        if self.jsonl is not None:
            return self.jsonl.stat().st_size
        return text_bytes(self.parquet)


def text_bytes(path: Path | None) -> int:
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    batches = pq.ParquetFile(path).iter_batches(columns=["text"])
    return sum(pc.sum(pc.binary_length(batch["text"])).as_py() or 0 for batch in batches)


def synthetic(
    shape: str, documents: int, forms: Sequence[str] = ("parquet", "jsonl"), **changes: Any
) -> Corpus:
    """Notes of a shape, with changes to it, written unless they are there."""
    from notes import SynthSpec, write

    spec = SynthSpec.shaped(shape, documents, SEED, **changes)
    digest = hashlib.sha256(json.dumps(spec.as_dict()).encode()).hexdigest()[:8]
    name = f"{shape}-{documents}"
    DATA.mkdir(exist_ok=True)
    paths = {form: DATA / f"{name}-{digest}.{form}" for form in forms}
    for path in paths.values():
        if not path.exists():
            truth = path.with_name(path.name + ".truth.parquet")
            write(spec, path, truth, overwrite=True)
            truth.unlink()
    return Corpus(name, documents, paths.get("parquet"), paths.get("jsonl"))


def real_texts(smallest: int = 1_000_000) -> list[Corpus]:
    """The sets of texts in ``NEARDUP_DATA`` with so many bytes of text or more."""
    import pyarrow.parquet as pq

    found = []
    for path in sorted(TEXTS.glob("*/docs.parquet")):
        if text_bytes(path) >= smallest:
            rows = pq.read_metadata(path).num_rows
            found.append(Corpus(f"real-{path.parent.name}", rows, path))
    return found


def measure(
    command: list[str],
    seconds: float = float("inf"),
    memory: int = sys.maxsize,
    environment: dict[str, str] | None = None,
    disk: Sequence[Path] = (),
) -> Run:
    """Run a command in a fresh process; see measure.py for what is measured.

    Of `disk`, folders whose size is watched, the first holds the others.
    """
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.json")
        limits = ["--seconds", str(seconds), "--bytes", str(memory)]
        limits += [f"--disk={path}" for path in disk]
        wrapper = [sys.executable, "-S", str(BENCH / "measure.py"), str(report), *limits, "--"]
        subprocess.run([*wrapper, *command], check=True, env={**os.environ, **(environment or {})})
        result: Run = json.loads(report.read_text())
        return result


def median(runs: list[Run]) -> Run:
    """Medians of the runs; empty if one of them failed."""
    if not runs or any(run["failed"] for run in runs):
        return {}
    keys = ("seconds", "cpu_seconds", "peak_bytes", "anonymous_bytes")
    return {key: statistics.median(run[key] for run in runs) for key in keys}


def neardup(source: Path, output: Path, *options: str, preset: str = "web") -> list[str]:
    """The command that is measured."""
    common = ["--preset", preset, "--threads", str(THREADS), "--quiet", "--overwrite"]
    return [NEARDUP, "dedup", str(source), "-o", str(output), *common, *options]


def command(tool: str, corpus: Corpus, output: Path) -> list[str] | None:
    """The command of a tool, with the format that it reads; None where it is not there."""
    if tool in OURS:
        source = corpus.parquet if OURS[tool] == "parquet" else corpus.jsonl
        return None if source is None else neardup(source, output)
    source = corpus.jsonl if tool == "duplodocus" else corpus.parquet
    if source is None:
        return None
    peer, threads = SINGLE.get(tool, tool), 1 if tool in SINGLE else THREADS
    script = BENCH / "peers" / f"with_{peer}.py"
    options = f"--threads {threads} --threshold {THRESHOLD} --num-hashes 128 --shingle 5".split()
    return [str(peer_python(peer)), str(script), str(source), str(output), *options]


def peer_python(name: str) -> Path:
    return BENCH / ".venvs" / name / "bin" / "python"


def missing_peer(tool: str) -> str | None:
    """Why a peer cannot run, or None."""
    name = SINGLE.get(tool, tool)
    note = BENCH / ".venvs" / f"{name}.failed"
    if note.exists():
        return f"could not be installed: {note.read_text()}"
    if not peer_python(name).exists():
        return "not installed: run bench/setup_peers.py"
    return None


def peer_version(name: str) -> str:
    """The pinned version, from the peer's requirements; a revision, where no registry has it."""
    lines = (BENCH / "peers" / f"requirements-{name}.txt").read_text().splitlines()
    return dict(line.removeprefix("# ").split("==") for line in lines)[name]


def machine() -> dict[str, Any]:
    info = Path("/proc/cpuinfo").read_text().splitlines()
    models = [line.split(":", 1)[1].strip() for line in info if line.startswith("model name")]
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    libraries = ("neardup", "numba", "numpy", "pyarrow")
    return {
        "cpu": models[0] if models else platform.processor(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_bytes": pages,
        "system": platform.system(),
        "python": platform.python_version(),
        "versions": {name: version(name) for name in libraries}
        | {name: peer_version(name) for name in PEERS},
    }


def clear(path: Path) -> None:
    """Remove an output of any tool."""
    if path.is_dir():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)
    path.with_suffix(".pairs").unlink(missing_ok=True)


def load(name: str) -> dict[str, Any] | None:
    """What an earlier program wrote, if it did."""
    path = RESULTS / f"{name}.json"
    return json.loads(path.read_text()) if path.exists() else None


def save(name: str, content: dict[str, Any]) -> Path:
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.json"
    path.write_text(json.dumps({"machine": machine(), **content}, indent=1) + "\n")
    return path


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def table(header: list[str], rows: list[list[str]]) -> str:
    """A Markdown table, its columns padded; the first is left-aligned."""
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]

    def line(cells: list[str]) -> str:
        first, *rest = zip(cells, widths, strict=True)
        return "| " + " | ".join([first[0].ljust(first[1]), *(c.rjust(w) for c, w in rest)]) + " |"

    rule = "|-" + "|-".join("-" * w + ("-" if i == 0 else ":") for i, w in enumerate(widths)) + "|"
    return "\n".join([line(header), rule, *map(line, rows)])
