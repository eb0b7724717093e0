"""The clean corpus: the kept documents in the format of the input or another one."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias, cast

import numpy as np
import pyarrow as pa

from neardup.deduplication.reading import PartitionRows, Reader
from neardup.files.private_files import sync_folder
from neardup.io.formats.json_text import common_schema, joined_tables
from neardup.io.outputs import OutputFile, plan_outputs
from neardup.io.source import Records
from neardup.io.writers import open_writer
from neardup.state.run_state import RunState
from neardup.threads import Pool, in_threads

#: The folders of kept and of removed documents, and of merged records, and the steps of the run
#: state with their files.
CLEAN, REMOVED, MERGED = "clean", "removed", "merged"
#: Size and time of a file.
Stamp: TypeAlias = "list[int] | None"


class Form(NamedTuple):
    """How documents are written."""

    format: str | None = None  # of `neardup.file_formats.WRITTEN`; None for the input's
    compression: str | None = None  # None for that of the input
    #: Makes the columns that are added to some documents, by their positions int64[].
    adding: Callable[[np.ndarray], pa.Table] | None = None
    added: pa.Schema | None = None
    #: Changes the texts of some records.
    changing: Callable[[PartitionRows, Records], Records] | None = None


@dataclass
class CleanCorpus:
    reader: Reader
    begins: list[tuple[int, int]]  # file and start of each partition
    ends: np.ndarray  # int64[partitions]: documents up to the end of each
    kept: np.ndarray  # bool[documents] that are written
    form: Form
    pool: Pool
    state: RunState | None = None  # of a run that can be resumed
    step: str = CLEAN
    _together: int = 1  # files that are written at once

    def _outputs(self) -> list[OutputFile]:
        source, format = self.reader.source, self.form.format
        schema = None
        if format not in (None, "jsonl") and source.format in ("jsonl", "mixed"):
            # The columns of JSON lines have to be known before the first is written.
            partitions = self.reader.partitions()
            schema = common_schema(self.pool.ordered(lambda each: each[1].schema(), partitions))
        added, compression = self.form.added, self.form.compression
        return plan_outputs(source, self.begins, format, added, schema, compression)

    def write(self, folder: Path, advance: Callable[[int], None] = lambda _: None) -> None:
        """Write all files; those that were finished before an interruption are not written again.

        ``advance`` is called with the number of documents that were done since.
        """
        self.reader.source.check_unchanged()
        outputs, state = self._outputs(), self.state
        folder.mkdir(mode=0o700, exist_ok=True)
        done = set() if state is None else state.done(self.step)

        def write(number: int) -> int:
            output = outputs[number]
            path = folder / output.name if output.name else folder
            there = number in done and is_as_written(folder, state, number, self.step)
            if not there:
                path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                self._write(output, path)
                if state is not None:
                    state.put(self.step, number, about=[output.name, stamp(path)])
            return int(self._starts[output.end] - self._starts[output.first])

        # Compression takes most of the time, and a file is compressed by one thread: some at once.
        together = 1 if self._in_sequence(outputs) else len(outputs)
        self._together = min(self.pool.threads, max(1, together))
        for written in in_threads(write, range(len(outputs)), self._together):
            advance(written)
        for path in sorted({folder, *(p for p in folder.rglob("*") if p.is_dir())}):
            sync_folder(path)

    def _in_sequence(self, outputs: list[OutputFile]) -> bool:
        """Return whether two files have documents that are decoded one after the other."""
        if len(outputs) < 2 or len(self.reader.source.files) > 1:
            return False
        cached = self.reader.cached
        sequences = [part.sequence(cached.get(n)) for n, part in self.reader.partitions()]
        return any(
            sequences[output.first] is not None
            and sequences[output.first] == sequences[output.first - 1]
            for output in outputs[1:]
        )

    def table(self) -> pa.Table:
        """Return all documents to write as a table in memory."""
        every = self._selected(range(len(self.begins)), None)
        parts = self.pool.ordered(lambda selected: self._documents(selected, True), every)
        return joined_tables(list(parts), self.reader.schema)

    @property
    def _starts(self) -> np.ndarray:
        return np.append(0, self.ends)

    def _write(self, output: OutputFile, path: Path) -> None:
        with open_writer(path, output.layout) as writer:

            def prepare(selected: PartitionRows) -> Any:
                return writer.prepare(self._documents(selected, output.converted))

            # Several files are written at once: batches that wait for all of them are bounded.
            most = 1 + -(-self.pool.threads // self._together)
            numbers, source = range(output.first, output.end), self.reader.source
            of = {file for file, _ in self.begins[output.first : output.end]}
            one = len(of) == 1 and len(source.files) > 1 and source.rereadable
            file = of.pop() if one and source.format != "text" else None
            for prepared in self.pool.ordered(prepare, self._selected(numbers, file), most):
                writer.write(prepared)

    def _documents(self, selected: PartitionRows, as_table: bool) -> Any:
        """Return the documents of a partition, with all that is added and changed."""
        cached = self.reader.cached.pop(selected.number, None)  # for the last time
        kind = selected.partition.table if as_table else selected.partition.records
        positions = _positions(selected)
        added = None if self.form.adding is None else self.form.adding(positions)
        found = kind(selected.rows, selected.documents, added, cached)
        return found if self.form.changing is None else self.form.changing(selected, found)

    def _selected(self, numbers: range, file: int | None) -> Iterator[PartitionRows]:
        """Yield the partitions of these numbers; ``file`` has all of them, if it is given."""
        if file is not None:
            found = self.reader.source.partitions(file)
        else:
            every = self.reader.partitions()
            found = (partition for _, partition in islice(every, numbers.start, None))
        starts = self._starts
        for number, partition in zip(numbers, found, strict=False):
            first, last = starts[number : number + 2].tolist()
            rows_kept = np.flatnonzero(self.kept[first:last])
            if len(rows_kept):
                partition.ask()
                rows = None if len(rows_kept) == last - first else rows_kept
                yield PartitionRows(number, partition, first, rows, last - first)


def _positions(selected: PartitionRows) -> np.ndarray:
    rows = np.arange(selected.documents) if selected.rows is None else selected.rows
    return selected.first + rows


def stamp(path: Path) -> Stamp:
    """Return size and time of a file, to notice a change; None for a folder, [] for nothing."""
    if not path.exists():
        return []
    status = path.stat()
    return None if path.is_dir() else [status.st_size, status.st_mtime_ns]


def is_as_written(folder: Path, state: RunState | None, number: int, step: str) -> bool:
    """Return whether a file of a corpus is as a run has stored that it wrote it."""
    if state is None:
        return False
    name, before = cast("tuple[str, Stamp]", state.about(step, number))
    return stamp(folder / name) == before
