"""A corpus and its ground truth, streamed to files.

Threads generate batches, and the caller's thread writes them in order, a few batches behind:
memory does not grow with the number of documents.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any

import pyarrow as pa

from neardup.errors import OutputError, SpecError
from neardup.private_files import system_errors
from neardup.synth import note_tables
from neardup.synth.shapes import SynthSpec
from neardup.threads import Pool, check_threads

ENDINGS = (".jsonl", ".parquet")
_ROW_GROUP = 16_384


@dataclass(frozen=True, slots=True)
class Written:
    """Number of documents, their bytes before any compression, and both files."""

    documents: int
    bytes: int
    output: Path
    truth: Path


def truth_path(output: str | os.PathLike[str], endings: Sequence[str] = ENDINGS) -> Path:
    """Return where the ground truth goes by default: to ``<stem>.truth.parquet``."""
    path = Path(output)
    return path.with_name(path.name.removesuffix(ending_of(path, endings)) + ".truth.parquet")


def write(
    spec: SynthSpec,
    output: str | os.PathLike[str],
    truth: str | os.PathLike[str] | None = None,
    overwrite: bool = False,
    threads: int | None = None,
    on_progress: Callable[[int], object] = lambda documents: None,
) -> Written:
    """Write a corpus and its ground truth; both files appear, by rename, when both are complete.

    The format goes by the ending of ``output``, one of `ENDINGS`. The files do not depend on
    threads. ``on_progress`` is called in the caller's thread with the number of documents so far.
    """
    check_threads(threads)
    notes, known = Path(output), truth_path(output) if truth is None else Path(truth)
    ending = ending_of(notes)
    if ending_of(known) != ".parquet" or notes.resolve() == known.resolve():
        raise SpecError(f"truth is {known}; expected another file than {notes}, ending in .parquet")
    for path in (notes, known):
        check_free(path, overwrite)
    with partial(known) as new_known, partial(notes) as new_notes, Pool(threads) as pool:
        size = _write_notes(spec, new_notes, ending, pool, on_progress)
        ranges = note_tables.batches(spec, 0, None, _ROW_GROUP)
        _write_parquet(new_known, (note_tables.truth_batch(spec, *item) for item in ranges))
        # The documents come last: who sees them may rely on the ground truth.
        new_known.replace(known)
        new_notes.replace(notes)
    return Written(spec.documents, size, notes, known)


def ending_of(path: Path, endings: Sequence[str] = ENDINGS) -> str:
    """Return the ending of a file, which must be a known one.

    Raises:
        SpecError: It names no format.
    """
    for known in endings:
        if path.name.endswith(known) and path.name != known:
            return known
    raise SpecError(f"the ending of {path} names no format", "known are " + ", ".join(endings))


def check_free(path: Path, overwrite: bool) -> None:
    """Refuse a file that exists, unless it may be replaced, or that can't be there."""
    if path.is_dir():
        raise OutputError(f"{path} is a folder; expected a file")
    if path.exists() and not overwrite:
        raise OutputError(f"{path} exists", "choose another name, or overwrite it")
    if not path.parent.is_dir():
        raise OutputError(f"there is no folder {path.parent}", "create it first")


@contextmanager
def partial(path: Path) -> Iterator[Path]:
    """Give the name to write to, and remove that file if it was not renamed."""
    unfinished = path.with_name(path.name + ".partial")
    try:
        with system_errors(path):
            yield unfinished
    finally:
        unfinished.unlink(missing_ok=True)


def _write_notes(
    spec: SynthSpec, path: Path, ending: str, pool: Pool, on_progress: Callable[[int], object]
) -> int:
    """Write the documents and return their uncompressed bytes."""
    ranges = list(note_tables.batches(spec, 0, None, note_tables.batch_size(spec)))
    total = 0

    def make(item: tuple[int, int]) -> tuple[Any, int]:
        batch = note_tables.documents_batch(spec, *item)
        if ending == ".parquet":
            return batch, batch.nbytes
        lines = note_tables.lines(batch)
        return lines, lines.size

    def made() -> Iterator[Any]:
        nonlocal total
        for (_, stop), (data, size) in zip(ranges, pool.ordered(make, ranges), strict=True):
            yield data
            total += size
            on_progress(stop)

    make((0, 0))  # builds the cached lexicon once, before each thread would build it
    if ending == ".parquet":
        _write_parquet(path, made())
    else:
        with path.open("wb") as stream:
            stream.writelines(made())
    return total


def _write_parquet(path: Path, found: Iterable[pa.RecordBatch]) -> None:
    """Write row groups of 16,384 rows, of which the sizes of all batches are divisors."""
    import pyarrow.parquet as pq

    found = iter(found)
    first = next(found)
    names = first.schema.names
    options: dict[str, Any] = {"compression": "zstd", "compression_level": 1}
    options["use_dictionary"] = [name for name in names if name in ("date", "kind")]
    options["write_statistics"] = [name for name in names if name != "text"]
    found = chain([first], found)
    with pq.ParquetWriter(path, first.schema, **options) as writer:
        while group := list(islice(found, -(-_ROW_GROUP // first.num_rows))):
            writer.write_table(pa.Table.from_batches(group), row_group_size=_ROW_GROUP)
