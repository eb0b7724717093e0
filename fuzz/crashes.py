"""Processes that are killed, or refused by the system, at a call that writes; then they continue.

Runs, streams into an index, and additions to one. Needs strace, which injects the faults.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import neardup
from fuzz import paths  # noqa: F401  (the tests can be imported)
from fuzz.tracing import traced

#: Calls that change what is on the disk.
_CALLS = (
    *("write", "pwrite64", "fsync,fdatasync", "rename,renameat,renameat2", "unlink,unlinkat"),
    *("mkdir,mkdirat", "ftruncate", "openat"),
)
_FAULTS = ("signal=SIGKILL", "signal=SIGKILL", "signal=SIGTERM", "error=ENOSPC", "error=EIO")
#: What is done: a run with these options, or what an index is given.
_WAYS = (
    *("", "--pairs all", "--cluster bounded", "--annotate", "--threads 1"),
    *("stream", "stream", "stream", "add", "add"),
)
_MAIN = (
    "from neardup.cli import main; from neardup.tuning import TUNING\n"
    "with TUNING.replaced(logged_documents=200): main()"
)
_CALLED = re.compile(r"^\d+\s+(\w+)\(", re.MULTILINE)


def make(rng: np.random.Generator) -> tuple[str, bytes]:
    """Return what is done, and the faults of a first and a second try, as JSON.

    A fault has its place as a share of all calls of a kind, since only a run knows their number.
    """
    tries = []
    for _ in range(1 + int(rng.random() < 0.3)):
        call = _CALLS[rng.integers(len(_CALLS))]
        fault = _FAULTS[rng.integers(len(_FAULTS))]
        if fault.startswith("error") and call == "openat":
            fault = "signal=SIGKILL"  # a library that can't be loaded is no fault of the disk
        tries.append([call, fault, round(float(rng.random()), 4)])
    way = _WAYS[rng.integers(len(_WAYS))]
    return "json", json.dumps({"way": way, "tries": tries}).encode()


def check(ending: str, data: bytes, folder: Path) -> None:
    """Do it with faults, then without; all is as it is without faults."""
    del ending
    case = json.loads(data)
    way, whole = case["way"], _whole(case["way"])
    if way in ("stream", "add"):
        shutil.copytree(_inputs().index, folder / "it")
    for call, fault, place in case["tries"]:
        times = sum(whole.calls[name] for name in call.split(","))
        ended = _do(way, folder / "it", f"inject={call}:{fault}:when={1 + int(place * times)}")
        code = ended.returncode if ended.returncode >= 0 else 128 - ended.returncode
        assert code <= 2 or code in (130, 137, 143), f"exit code {code}: {ended.stderr}"
        assert "Traceback" not in ended.stderr, ended.stderr
        assert "unexpected" not in ended.stderr, ended.stderr
        if way == "stream":  # what was answered is there
            answers = [
                json.loads(line) for line in ended.stdout.splitlines(True) if line[-1] == "\n"
            ]
            kept = {answer["id"] for answer in answers if answer["kept"]}
            with neardup.Index.open(folder / "it", readonly=True) as index:
                assert kept <= set(index.ids().to_pylist()), "an answered document is lost"
    ended = _do(way, folder / "it")
    assert ended.returncode == 0, ended.stderr
    assert _result(way, folder / "it", ended) == whole.result, "another result than without faults"


class _Inputs(NamedTuple):
    files: list[Path]
    lines: Path  # of JSON
    index: Path  # with some documents


class _Whole(NamedTuple):
    result: Any
    calls: Counter[str]


def _do(way: str, place: Path, options: str | None = None, log: str = os.devnull) -> Any:
    """Run the command of a way, in an output folder or an index; ``options`` are for strace."""
    files, lines, _ = _inputs()
    words = [sys.executable, "-c", _MAIN]
    if way == "stream":
        words += ["stream", "--index", str(place)]
    elif way == "add":
        words += ["index", "add", str(place), *map(str, files), "--id", "id"]
        words += ["--on-conflict", "skip"]
    else:
        words += ["dedup", *map(str, files), "-o", str(place), "--id", "id", "--resume"]
        words += ["--quiet", "--store", "auto", *way.split()]
    if options is not None:
        return traced(words, ["-e", options], log=log, stdin=str(lines), seconds=900)
    with lines.open() as given:
        return subprocess.run(
            words, stdin=given, capture_output=True, text=True, timeout=900, check=False
        )


def _result(way: str, place: Path, ended: Any) -> Any:
    """Return what a way leaves behind, in values that can be compared."""
    if way in ("stream", "add"):
        with neardup.Index.open(place, readonly=True) as index:
            assert index.check() == [], "the index is damaged"
            stored = {id_: index.get(id_) for id_ in index.ids().to_pylist()}
        return ended.stdout, stored
    found = {}
    for path in sorted(path for path in place.rglob("*") if path.is_file()):
        content = path.read_bytes()
        if path.name == "run.json":  # which has times
            content = json.dumps(json.loads(content)["counts"]).encode()
        found[path.relative_to(place).as_posix()] = hashlib.sha256(content).hexdigest()
    return found


@functools.cache
def _inputs() -> _Inputs:
    import made_corpora

    from neardup.testing import small_corpora

    if shutil.which("strace") is None:
        raise RuntimeError("strace is needed to inject faults, and is not installed")
    folder = Path(tempfile.mkdtemp(prefix="neardup-fuzz-"))
    rows = small_corpora.random_documents(np.random.default_rng(4), 1500)
    files = made_corpora.write(rows, folder, "jsonl", 3)
    lines = folder / "lines"
    lines.write_text("".join(path.read_text() for path in files))
    with neardup.Index.create(folder / "index", threshold=0.6) as index:
        index.add(["one two three four five six", "an old text of some words"], ids=["a", "b"])
    return _Inputs(files, lines, folder / "index")


@functools.cache
def _whole(way: str) -> _Whole:
    """Do it without faults, and count its calls."""
    place = _inputs().lines.with_name(f"whole{_WAYS.index(way)}")
    if way in ("stream", "add"):
        shutil.copytree(_inputs().index, place)
    log = place.with_suffix(".log")
    ended = _do(way, place, "trace=" + ",".join(_CALLS), str(log))
    assert ended.returncode == 0, ended.stderr
    return _Whole(_result(way, place, ended), Counter(_CALLED.findall(log.read_text())))
