"""A corpus and its ground truth, streamed to files.

Threads generate batches, and the caller's thread writes them in order, a few batches behind:
memory does not grow with the number of documents.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import IO, Any, NamedTuple

import pyarrow as pa

from neardup.errors import OutputError, SpecError
from neardup.private_files import replacing
from neardup.synth import note_tables
from neardup.synth.shapes import SynthSpec
from neardup.threads import Pool, check_threads

ENDINGS = (".jsonl", ".parquet")
_ROW_GROUP = 16_384


class Written(NamedTuple):
    """Number of documents, their bytes before any compression, and both files."""

    documents: int
    bytes: int
    output: Path
    truth: Path


def write(
    spec: SynthSpec,
    output: str | os.PathLike[str],
    truth: str | os.PathLike[str] | None = None,
    overwrite: bool = False,
    threads: int | None = None,
) -> Written:
    """Write a corpus and its ground truth; both files appear, by rename, when both are complete.

    The format goes by the ending of ``output``, one of `ENDINGS`. The files do not depend on
    threads. The ground truth goes to ``<stem>.truth.parquet`` unless another file is named.
    """
    check_threads(threads)
    size = 0

    def make(item: tuple[int, int]) -> tuple[Any, int]:
        batch = note_tables.documents_batch(spec, *item)
        data: Any = batch if ending == ".parquet" else note_tables.lines(batch)
        return data, batch.nbytes if ending == ".parquet" else data.size

    def made() -> Iterator[Any]:
        nonlocal size
        for data, more in pool.ordered(make, ranges(note_tables.batch_size(spec))):
            yield data
            size += more

    notes, ending = Path(output), ending_of(Path(output), ENDINGS)
    ranges = partial(note_tables.batches, spec, 0, None)
    with both_files(notes, truth, ENDINGS, overwrite) as (opened, known), Pool(threads) as pool:
        make((0, 0))  # builds the cached lexicon once, before each thread would build it
        if ending == ".parquet":
            _write_parquet(opened, made())
        else:
            opened.writelines(made())
        _write_parquet(known, (note_tables.truth_batch(spec, *at) for at in ranges(_ROW_GROUP)))
    return Written(spec.documents, size, notes, truth_path(notes, truth))


def truth_path(output: Path, truth: str | os.PathLike[str] | None = None) -> Path:
    """Return where the ground truth goes: to ``<stem>.truth.parquet`` unless it is named."""
    return output.with_suffix(".truth.parquet") if truth is None else Path(truth)


def ending_of(path: Path, endings: tuple[str, ...]) -> str:
    """Return the ending of a file; SpecError where it is none of those that are known."""
    if path.suffix not in endings:
        known = "known are " + ", ".join(endings)
        raise SpecError(f"the ending of {path} names no format", known)
    return path.suffix


@contextmanager
def both_files(
    output: Path, truth: str | os.PathLike[str] | None, endings: tuple[str, ...], overwrite: bool
) -> Iterator[tuple[IO[bytes], IO[bytes]]]:
    """Give the files of a corpus and its ground truth, which get their names at the end."""
    ending_of(output, endings)
    known = truth_path(output, truth)
    if ending_of(known, (".parquet",)) and known.resolve() == output.resolve():
        raise SpecError(f"truth is {known}; expected another file than {output}")
    for path in (output, known):
        if path.is_dir():
            raise OutputError(f"{path} is a folder; expected a file")
        if path.exists() and not overwrite:
            raise OutputError(f"{path} exists", "choose another name, or overwrite it")
        if not path.parent.is_dir():
            raise OutputError(f"there is no folder {path.parent}", "create it first")
    # The documents come last: who sees them may rely on the ground truth.
    with replacing(output) as notes, replacing(known) as other:
        yield notes, other


def _write_parquet(file: IO[bytes], batches: Iterator[pa.RecordBatch]) -> None:
    import pyarrow.parquet as pq

    held = [next(batches)]
    names = held[0].schema.names
    options: dict[str, Any] = {"compression": "zstd", "compression_level": 1}
    options["use_dictionary"] = [name for name in names if name in ("date", "kind")]
    options["write_statistics"] = [name for name in names if name != "text"]
    with pq.ParquetWriter(file, held[0].schema, **options) as writer:
        for batch in batches:
            if sum(map(len, held)) >= _ROW_GROUP:
                writer.write_table(pa.Table.from_batches(held), row_group_size=_ROW_GROUP)
                held = []
            held.append(batch)
        writer.write_table(pa.Table.from_batches(held), row_group_size=_ROW_GROUP)
