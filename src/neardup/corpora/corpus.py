"""A corpus that is read once or twice, and the clean one that is written of it."""

from __future__ import annotations

import json
import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from neardup.engines.identifiers import Ids, check_ids, id_array
from neardup.engines.reading import Reader
from neardup.errors import OutputError
from neardup.io.formats.json_text import common_schema
from neardup.io.opening import Reading
from neardup.io.outputs import check_output, plan_outputs
from neardup.io.source import Documents, Partition
from neardup.io.writers import open_writer
from neardup.private_files import open_private, sync_folder, system_errors, write_private


@dataclass
class Corpus:
    """An input, and what is known of its partitions once it was read.

    Attributes:
        reader: Goes through it.
        id_column: Column with the ids; None where positions are the ids.
        places: File and start of each partition that was read.
        counts: Documents of each.
        skipped: Documents that were left out for their size.
    """

    reader: Reader
    id_column: str | None
    places: list[tuple[int, int]] = field(default_factory=list)
    counts: list[int] = field(default_factory=list)
    skipped: int = 0
    _ids: list[pa.ChunkedArray[Any]] = field(default_factory=list)

    @classmethod
    def open(cls, source: Any, reading: Reading) -> Corpus:
        """Open an input, as `neardup.dedup` does.

        Raises:
            InputError: It can't be used; the subclasses say why.
        """
        opened = reading.open(source)
        return cls(Reader(opened), opened.id_column)

    @property
    def documents(self) -> int:
        """Documents that were read."""
        return sum(self.counts)

    def read(self, partition: Partition) -> Documents:
        """Read a partition; for any thread."""
        return partition.read((self.id_column,) if self.id_column else ())

    def enter(self, partition: Partition, documents: Documents) -> None:
        """Note that a partition was read; in the order of the input."""
        self.places.append((partition.file, partition.start))
        self.counts.append(len(documents.text))
        self.skipped += documents.skipped
        if self.id_column:
            self._ids.append(id_array(documents.columns.column(self.id_column), self.id_column))

    def ids(self) -> Ids:
        """Return the ids of all documents, once they are known to be unique.

        Raises:
            DuplicateIdError: Two documents have the same id.
        """
        if self.id_column is None:
            return None
        found: Any = pa.chunked_array([chunk for ids in self._ids for chunk in ids.chunks])
        check_ids(found, self.id_column, lambda place: f"record {place + 1}", False)
        return found  # type: ignore[no-any-return]

    def write(self, kept: np.ndarray, folder: Path, format: str | None) -> None:
        """Write some of the documents, in the format of the input or another one.

        Args:
            kept: bool[documents].
            folder: An empty folder.
            format: One of `neardup.io.outputs.OUTPUT_FORMATS`; None for that of the input.

        Raises:
            OutputError: The disk is full.
        """
        source = self.reader.source
        schema = None
        if format not in (None, "jsonl") and source.format in ("jsonl", "mixed"):
            schema = common_schema(part.schema() for _, part in self.reader.partitions())
        outputs = plan_outputs(source, self.places, format, None, schema)
        ends = np.cumsum([0, *self.counts])
        partitions = self.reader.partitions()
        for output in outputs:
            path = folder / output.name if output.name else folder
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with open_writer(path, output.layout) as writer:
                for number in range(output.first, output.end):
                    _, partition = next(partitions)
                    rows = np.flatnonzero(kept[ends[number] : ends[number + 1]])
                    if len(rows):
                        take = partition.table if output.converted else partition.records
                        writer.write(writer.prepare(take(rows, self.counts[number])))


def check_formats(corpus: Corpus, format: str | None) -> None:
    """Refuse a format that the clean corpus can't have, before any work is done."""
    check_output(corpus.reader.source, format)


@contextmanager
def new_folder(out: Path, overwrite: bool, record: str) -> Iterator[Path]:
    """A folder that appears under its name when all is written, and not after an error.

    Args:
        out: Its name.
        overwrite: Replace what an earlier call has left there.
        record: Name of a file that such a folder has.

    Raises:
        OutputError: There is something else, or it can't be written.
    """
    if out.exists() and not (overwrite and (out / record).is_file()):
        hint = "use overwrite=True, or name another output folder"
        raise OutputError(f"{out} exists", "name another output folder" if overwrite else hint)
    partial = out.with_name(f".{out.name}.{uuid.uuid4().hex[:8]}")
    with system_errors(out):
        partial.mkdir(mode=0o700)
        try:
            yield partial
            sync_folder(partial)
            if out.exists():
                old = partial.with_name(partial.name + ".old")
                out.rename(old)
                partial.rename(out)
                shutil.rmtree(old)
            else:
                partial.rename(out)
        finally:
            shutil.rmtree(partial, ignore_errors=True)


def write_table(path: Path, table: pa.Table) -> None:
    """Write a table as Parquet."""
    import pyarrow.parquet as pq

    with open_private(path) as file:
        pq.write_table(table, file, compression="zstd")
        file.flush()
        os.fsync(file.fileno())


def write_record(path: Path, values: dict[str, Any]) -> None:
    """Write what was done as JSON."""
    write_private(path, (json.dumps(values, indent=1) + "\n").encode())
