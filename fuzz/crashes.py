"""Runs that are killed, or refused by the system, at some call that writes; then they continue.

Needs strace, which injects the faults.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from fuzz import paths  # noqa: F401  (the tests can be imported)

#: Calls that change what is on the disk, and how often a small run makes each, about.
_CALLS = {
    "write": 60, "pwrite64": 400, "fsync,fdatasync": 20, "rename,renameat,renameat2": 4,
    "unlink,unlinkat": 15, "mkdir,mkdirat": 6, "ftruncate": 4, "openat": 2500,
}  # fmt: skip
_FAULTS = ("signal=SIGKILL", "signal=SIGKILL", "signal=SIGTERM", "error=ENOSPC", "error=EIO")
#: More ways of a run: what it does besides the default.
_WAYS = ((), ("--pairs", "all"), ("--cluster", "bounded"), ("--annotate",), ("--threads", "1"))


def make(rng: np.random.Generator) -> tuple[str, bytes]:
    """Return the faults of a first and a second try, as JSON."""
    tries = []
    for _ in range(1 + int(rng.random() < 0.3)):
        call = list(_CALLS)[rng.integers(len(_CALLS))]
        fault = _FAULTS[rng.integers(len(_FAULTS))]
        if fault.startswith("error") and call == "openat":
            fault = "signal=SIGKILL"  # a library that can't be loaded is no fault of the disk
        tries.append(f"{call}:{fault}:when={rng.integers(1, _CALLS[call])}")
    return "json", json.dumps({"way": int(rng.integers(len(_WAYS))), "tries": tries}).encode()


def check(ending: str, data: bytes, folder: Path) -> None:
    """Run with faults, then without; the outputs are those of a run without faults."""
    del ending
    case = json.loads(data)
    way = _WAYS[case["way"]]
    out = folder / "out"
    for fault in case["tries"]:
        code, said = _run(out, way, fault)
        assert code <= 2 or code in (130, 137, 143), f"exit code {code}: {said}"
        assert "Traceback" not in said, said
        assert "unexpected" not in said, said
    code, said = _run(out, way)
    assert code == 0, said
    assert _digests(out) == _expected(way), "other outputs than those of a run without faults"


def _run(out: Path, way: tuple[str, ...], fault: str | None = None) -> tuple[int, str]:
    words = [sys.executable, "-m", "neardup", "dedup", *map(str, _source()), "-o", str(out)]
    words += ["--id", "id", "--resume", "--quiet", "--store", "auto", *way]
    if fault is not None:
        words = ["strace", "-f", "-qqq", "-o", os.devnull, "-e", f"inject={fault}", *words]
    ended = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)
    code = ended.returncode if ended.returncode >= 0 else 128 - ended.returncode
    return code, ended.stderr


def _digests(out: Path) -> dict[str, str]:
    """Return what each output holds; times are left out of the record."""
    found = {}
    for path in sorted(path for path in out.rglob("*") if path.is_file()):
        name = path.relative_to(out).as_posix()
        if name == "run.json":
            content = json.dumps(json.loads(path.read_text())["counts"]).encode()
        else:
            content = path.read_bytes()
        found[name] = hashlib.sha256(content).hexdigest()
    return found


@functools.cache
def _source() -> list[Path]:
    import made_corpora

    if shutil.which("strace") is None:
        raise RuntimeError("strace is needed to inject faults, and is not installed")
    rows = made_corpora.table(np.random.default_rng(4), 3000)
    return made_corpora.write(rows, Path(tempfile.mkdtemp(prefix="neardup-fuzz-")), "jsonl", 3)


@functools.cache
def _expected(way: tuple[str, ...]) -> dict[str, str]:
    out = _source()[0].parent / "-".join(["whole", *way])
    code, said = _run(out, way)
    assert code == 0, said
    return _digests(out)
