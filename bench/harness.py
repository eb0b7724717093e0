"""The corpora, the tools and the machine: what run.py and targets.py share."""

from __future__ import annotations

import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

BENCH = Path(__file__).parent
DATA = BENCH / "data"
RESULTS = BENCH / "results"
NEARDUP = str(Path(sys.executable).with_name("neardup"))
PEERS = ("daft", "gaoya", "rensa", "datasketch", "text_dedup")
THREADS = 2


@dataclass(frozen=True)
class Corpus:
    """Made notes, the same as JSON lines and as Parquet."""

    documents: int
    family: int
    family_values: int
    seed: int = 1

    @property
    def name(self) -> str:
        return f"notes-{self.documents}-family{self.family}x{self.family_values}-seed{self.seed}"

    @property
    def jsonl(self) -> Path:
        return DATA / f"{self.name}.jsonl"

    @property
    def parquet(self) -> Path:
        return DATA / f"{self.name}.parquet"

    @property
    def bytes(self) -> int:
        """Size as JSON lines; all speeds refer to it, whichever format a tool reads."""
        return self.jsonl.stat().st_size

    def make(self) -> Corpus:
        DATA.mkdir(exist_ok=True)
        options = f"--seed {self.seed} --near 0.2 --exact 0.1 --quiet --overwrite".split()
        options += ["--family", str(self.family), "--family-values", str(self.family_values)]
        for path in (self.jsonl, self.parquet):
            if not path.exists():
                truth = path.with_suffix(".truth.parquet")
                made = ["-o", str(path), "--truth", str(truth)]
                command = [NEARDUP, "synth", "-n", str(self.documents), *made, *options]
                subprocess.run(command, check=True)
        return self


def measure(
    command: list[str],
    seconds: float = float("inf"),
    memory: int = sys.maxsize,
    environment: dict[str, str] | None = None,
    disk: Sequence[Path] = (),
) -> dict[str, Any]:
    """Run a command in a fresh process; see measure.py for what is measured.

    Of `disk`, folders whose size is watched, the first holds the others.
    """
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.json")
        limits = ["--seconds", str(seconds), "--bytes", str(memory)]
        limits += [f"--disk={path}" for path in disk]
        wrapper = [sys.executable, "-S", str(BENCH / "measure.py"), str(report), *limits, "--"]
        subprocess.run([*wrapper, *command], check=True, env={**os.environ, **(environment or {})})
        return json.loads(report.read_text())


def median(runs: list[dict[str, Any]]) -> dict[str, float]:
    """Medians of the runs that finished; empty if one did not."""
    if any(run["failed"] for run in runs):
        return {}
    keys = ("seconds", "cpu_seconds", "peak_bytes")
    return {key: statistics.median(run[key] for run in runs) for key in keys}


def neardup(source: Path, output: Path, *options: str) -> list[str]:
    """The command that is measured, with its defaults for web text."""
    common = ["--preset", "web", "--threads", str(THREADS), "--quiet", "--overwrite"]
    return [NEARDUP, "dedup", str(source), "-o", str(output), *common, *options]


def peer(name: str, source: Path, output: Path) -> list[str]:
    script = BENCH / "peers" / f"with_{name}.py"
    options = f"--threads {THREADS} --threshold 0.7 --num-hashes 128 --shingle 5".split()
    return [str(peer_python(name)), str(script), str(source), str(output), *options]


def peer_python(name: str) -> Path:
    return BENCH / ".venvs" / name / "bin" / "python"


def missing_peer(name: str) -> str | None:
    """Why a peer cannot run, or None."""
    note = BENCH / ".venvs" / f"{name}.failed"
    if note.exists():
        return f"could not be installed: {note.read_text()}"
    if not peer_python(name).exists():
        return "not installed: run bench/setup_peers.py"
    return None


def peer_version(name: str) -> str:
    """The pinned version, from the peer's requirements."""
    lines = (BENCH / "peers" / f"requirements-{name}.txt").read_text().splitlines()
    pins = dict(line.split("==") for line in lines if "==" in line)
    return pins[name.replace("_", "-")]


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


def write_result(name: str, content: dict[str, Any]) -> Path:
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.json"
    path.write_text(json.dumps(content, indent=1) + "\n")
    return path


def table(header: list[str], rows: list[list[str]]) -> str:
    """A Markdown table, its columns padded; the first is left-aligned."""
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]

    def line(cells: list[str]) -> str:
        first, *rest = zip(cells, widths, strict=True)
        return "| " + " | ".join([first[0].ljust(first[1]), *(c.rjust(w) for c, w in rest)]) + " |"

    rule = "|-" + "|-".join("-" * w + ("-" if i == 0 else ":") for i, w in enumerate(widths)) + "|"
    return "\n".join([line(header), rule, *map(line, rows)])
