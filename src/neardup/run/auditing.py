"""What a finished run missed, by exact search for all partners of some of its documents."""

from __future__ import annotations

import hashlib
import json
import math
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from neardup.core.search import INDEX_BYTES, Index, take
from neardup.core.shingle import Ragged, Stemmer, shingle_sets
from neardup.core.tally import TALLY_BYTES
from neardup.core.threads import Pool
from neardup.core.verify import ShingleSets, verify
from neardup.corpus import Documents
from neardup.errors import SpecError
from neardup.kernels.search import share_a_band
from neardup.run.events import Event, Listener, Stages
from neardup.run.findings import FORMAT, Audit, tell
from neardup.run.finished import FinishedRun
from neardup.run.folder import FOLDER
from neardup.run.memory import AnonymousPeak, default_memory, show
from neardup.run.outputs import AUDIT
from neardup.run.partners import Sample, Search
from neardup.run.results import Results
from neardup.run.warm import saying

__all__ = ["Audit", "audit", "stored_audit"]

# Measured, in bytes: libraries and kernels; a thread, by words and by characters; a document of the
# corpus.
_BASE = 190_000_000
_THREAD, _THREAD_CHAR = 90_000_000, 420_000_000
_DOCUMENT = 24
# A sampled document, but for its shingles: positions, ids, and its place in the index; in each
# thread, its places in a search; with each band, its key.
_SAMPLED, _SEARCHED, _KEY = 400, 21, 8
# Shingles are held once in pieces and once as a whole, before an index is made of them.
_HELD_BYTES = 16


def audit(
    out: str | Path,
    sample: int = 1000,
    seed: int = 0,
    *,
    memory: int | None = None,
    threads: int | None = None,
    write: bool = True,
    on_event: Listener | None = None,
) -> Audit:
    """Measure what a run missed: find all partners of some documents by exact search.

    The corpus is read again; every document is compared with the sampled ones by an inverted index
    of their shingles.

    Args:
        out: The output folder of `neardup.dedup_files`.
        sample: Documents to draw, without replacement; all that are not empty if there are fewer.
        seed: Another seed, another sample.
        memory: Bytes of anonymous memory that may be used; None for half of what is free.
        threads: Threads; the cores there are by default. They don't change the result.
        write: Leave the result in the folder as ``audit.json``, where ``neardup report`` finds it.
        on_event: Called with each `neardup.run.events.Event`, from the calling thread.

    Raises:
        InputError: There is no finished run, or its input is gone or has changed.
        SpecError: A setting is out of range, or the sample does not fit into the memory.
    """
    for name, value, least in (("sample", sample, 1), ("seed", seed, 0), ("threads", threads, 1)):
        if value is not None and value < least:
            raise SpecError(f"{name} is {value}; expected {least} or more")
    run = FinishedRun(out)
    stages = Stages(on_event)
    with Pool(threads) as pool, AnonymousPeak() as watched:
        stages.memory = watched
        room = _room(run, sample, memory, pool.threads)
        source = run.source
        remade = _remade(run)
        stages.emit(Event("results", note=remade))
        with stages.stage("kernels"):
            _warm(stages)
        with stages.stage("results", run.documents):
            results = Results(run)
        with stages.stage("sample", sample):
            drawn = _draw(run, sample, seed, results, pool, room)
        with stages.stage("search", run.documents) as advance:
            search = Search(run, drawn, results.pairs_of(drawn.docs))
            for done in search.chunks(run, pool):
                advance(done)
        source.corpus.check_unchanged()
        told = tell(run, search, results, drawn, seed, remade)
    found = Audit(
        **told,
        seconds={name: round(value, 4) for name, value in stages.seconds.items()},
        peak_anonymous=watched.peak,
    )
    if write:
        _write(run, found, stages)
    return found


def stored_audit(run: FinishedRun) -> dict[str, Any] | None:
    """Return the last audit that was left in the folder of a run; None where there is none.

    One of an earlier run in the same folder, or of another version, is none.
    """
    try:
        held: dict[str, Any] = json.loads((run.out / AUDIT).read_text(encoding="utf-8"))
        same = held.pop("of") == _digest(run) and held["format"] == FORMAT
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    return held if same else None


def _digest(run: FinishedRun) -> str:
    return hashlib.sha256((run.out / "run.json").read_bytes()).hexdigest()


def _write(run: FinishedRun, found: Audit, stages: Stages) -> None:
    text = json.dumps({"of": _digest(run), **found.as_dict()}, indent=2, ensure_ascii=False)
    partial = run.out / f".{AUDIT}.{os.getpid()}.partial"
    try:
        partial.write_text(text + "\n", encoding="utf-8")
        partial.replace(run.out / AUDIT)
    except OSError as error:
        with suppress(OSError):
            partial.unlink(missing_ok=True)
        # The answer is there, and was minutes of work.
        reason = (error.strerror or "the system refused it").lower()
        stages.emit(Event("search", note=f"{run.out / AUDIT} can't be written: {reason}"))


def _remade(run: FinishedRun) -> str:
    """Say what is made again, and of what."""
    gone = "" if (run.out / FOLDER).exists() else f"{run.out / FOLDER} is gone; "
    names = [str(path) for path in run.given]
    more = f" and {len(names) - 3:,} more" if len(names) > 3 else ""
    return f"{gone}shingle sets are made again from {', '.join(names[:3])}{more}"


def _room(run: FinishedRun, sample: int, memory: int | None, threads: int) -> int:
    """Return the bytes that the sample may take.

    Raises:
        SpecError: There are none, or not enough of them.
    """
    memory = default_memory() if memory is None else memory
    each = _THREAD_CHAR if run.spec.shingle.unit == "char" else _THREAD
    counts, bands = run.record["counts"], run.record["bands"]
    filled = run.documents - int(counts["empty"])
    documents = min(sample, filled)
    sampled = _SAMPLED + threads * _SEARCHED + TALLY_BYTES
    sampled += _KEY * bands["num_bands"] if bands else 0
    least = _BASE + threads * each + _DOCUMENT * run.documents + sampled * documents
    wanted = documents * counts["shingles"] // max(1, filled)
    _check(least + wanted * INDEX_BYTES, memory, run, sample)
    return memory - least


def _check(needed: int, memory: int, run: FinishedRun, sample: int) -> None:
    if needed > memory:
        raise SpecError(
            f"--memory is {show(memory)}; {min(sample, run.documents):,} documents of "
            f"{run.documents:,} need at least {show(needed)}",
            "give more memory, fewer --threads, or a smaller --sample",
        )


def _warm(stages: Stages) -> None:
    """Have the kernels compiled or loaded, and say so if it takes its time."""
    with saying(stages):
        sets = shingle_sets(["one two three four five six", "two three four five six seven"])
        for partners in Index(ShingleSets.of(sets)).search(sets, 0.1):
            same = np.empty(len(partners.doc), dtype=np.bool_)
            keys = np.zeros((2, 1), dtype=np.uint64)
            share_a_band(keys, keys, partners.query, partners.doc, same)


def _draw(
    run: FinishedRun, sample: int, seed: int, results: Results, pool: Pool, room: int
) -> Sample:
    """Draw documents that are not empty, and make their sets and those of their kept ones."""
    documents, empty = run.documents, int(run.record["counts"]["empty"])
    order = np.random.Generator(np.random.PCG64(seed)).choice(
        documents, min(documents, sample + empty), replace=False
    )
    # So many that hardly ever too few of them hold anything.
    share = documents / max(1, documents - empty)
    most = sample if not empty else math.ceil(sample * share * 1.1) + 16
    while True:
        drawn = order[:most]
        out = drawn[~results.kept[drawn]]
        keepers, stated = results.keepers(out)
        there = keepers >= 0
        both = _sets(run, np.concatenate([drawn, keepers[there]]), pool.threads, room)
        size = both.size[: len(drawn)]
        rows = np.flatnonzero(size)[:sample]
        if len(rows) == sample or most >= len(order):
            break
        most *= 2
    _check_shingles(int(size[rows].sum()), INDEX_BYTES, room)
    a, b = np.flatnonzero(~results.kept[drawn])[there], len(drawn) + np.arange(int(there.sum()))
    exact = np.full(len(out), -1.0)
    exact[there] = verify(both, a.astype(np.int32), b.astype(np.int32), 0.0, pool)
    rows = rows[np.argsort(drawn[rows])]
    ours = np.isin(out, drawn[rows])
    # Those of the kept ones are not needed any more.
    held = take(Ragged(both.values, both.begin), rows, both.size[rows].astype(np.int64))
    sets = ShingleSets.of(held)
    return Sample(drawn[rows], sets, out[ours], keepers[ours], stated[ours], exact[ours])


def _sets(run: FinishedRun, docs: np.ndarray, threads: int, room: int) -> ShingleSets:
    """Make the sets of some documents, in their order, and stop as soon as they don't fit.

    Raises:
        SpecError: They are too large.
    """
    wanted, back = np.unique(docs, return_inverse=True)
    shingle = run.spec.shingle
    stemmer = None if shingle.stem is None else Stemmer(shingle.stem, shingle.keep_case)
    parts = [Ragged(np.zeros(0, dtype=np.uint64), np.zeros(1, dtype=np.int64))]
    total = 0

    def made(documents: Documents) -> Ragged:
        return shingle_sets(documents.text, shingle, stemmer)

    for part in run.visit(wanted, made, threads):
        total += len(part.values)
        _check_shingles(total, _HELD_BYTES, room)
        parts.append(part)
    sizes = np.concatenate([np.diff(part.offsets) for part in parts])
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    sets = ShingleSets.of(Ragged(np.concatenate([part.values for part in parts]), offsets))
    return ShingleSets(sets.values, sets.begin[back], sets.size[back], sets.bitmaps[back])


def _check_shingles(shingles: int, each: int, room: int) -> None:
    """Refuse a sample of texts that are too long."""
    if shingles * each > room:
        raise SpecError(
            f"the sample has {shingles:,} shingles and more, which take {show(shingles * each)}; "
            f"there is room for {show(room)}",
            "give more --memory, fewer --threads, or a smaller --sample",
        )
