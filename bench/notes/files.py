"""A corpus and its ground truth, streamed to files.

Threads generate batches, and the caller's thread writes them in order, a few batches behind:
memory does not grow with the number of documents.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import IO, Any

import pyarrow as pa

from neardup.synth.note_files import Written, both_files, ending_of, truth_path
from neardup.threads import Pool, check_threads

from . import tables
from .shapes import SynthSpec

ENDINGS = (".jsonl", ".parquet")


def write(
    spec: SynthSpec,
    output: str | os.PathLike[str],
    truth: str | os.PathLike[str] | None = None,
    overwrite: bool = False,
    threads: int | None = None,
    row_group: int = 16_384,
) -> Written:
    """Write a corpus and its ground truth; both files appear, by rename, when both are complete.

    The format goes by the ending of ``output``, one of `ENDINGS`. The files do not depend on
    threads. The ground truth goes to ``<stem>.truth.parquet`` unless another file is named.
    """
    check_threads(threads)
    size = 0

    def make(item: tuple[int, int]) -> tuple[Any, int]:
        batch = tables.documents_batch(spec, *item)
        data: Any = batch if ending == ".parquet" else tables.lines(batch)
        return data, batch.nbytes if ending == ".parquet" else data.size

    def made() -> Iterator[Any]:
        nonlocal size
        for data, more in pool.ordered(make, ranges(tables.batch_size(spec))):
            yield data
            size += more

    notes, ending = Path(output), ending_of(Path(output), ENDINGS)
    truth_file = None if truth is None else Path(truth)
    ranges = partial(tables.batches, spec, 0, None)
    with (
        both_files(notes, truth_file, ENDINGS, overwrite) as (opened, known),
        Pool(threads) as pool,
    ):
        make((0, 0))  # builds the cached lexicon once, before each thread would build it
        if ending == ".parquet":
            _write_parquet(opened, made(), row_group)
        else:
            opened.writelines(made())
        known_batches = (tables.truth_batch(spec, *at) for at in ranges(row_group))
        _write_parquet(known, known_batches, row_group)
    return Written(spec.documents, size, notes, truth_path(notes, truth_file))


def _write_parquet(file: IO[bytes], batches: Iterator[pa.RecordBatch], rows: int) -> None:
    import pyarrow.parquet as pq

    held = [next(batches)]
    # As users' files are: Snappy and dictionaries, by pyarrow's defaults, in several row groups.
    with pq.ParquetWriter(file, held[0].schema) as writer:
        for batch in batches:
            if sum(map(len, held)) >= rows:
                writer.write_table(pa.Table.from_batches(held), row_group_size=rows)
                held = []
            held.append(batch)
        writer.write_table(pa.Table.from_batches(held), row_group_size=rows)
