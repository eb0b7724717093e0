"""The beginning of a source, read by a thread while the rest of the process starts."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from queue import SimpleQueue
from typing import NamedTuple

from neardup.errors import NeardupError
from neardup.io.opening import Reading
from neardup.io.source import Documents, Partition, Source
from neardup.memory import half_of_free

_BYTES = 256 << 20  # of documents that wait for the first pass, at most


class Item(NamedTuple):
    """A partition of a source, and what was read of it already."""

    number: int
    partition: Partition
    documents: Documents | None = None


class Ahead:
    """All partitions of a source, once; of the first ones the documents.

    Compiled kernels and their library take half a second to load, in one thread. Parquet is decoded
    without the interpreter, so that another core can do it in that time.
    """

    def __init__(
        self, source: Source, reading: Reading, wanted: tuple[str, ...], memory: int
    ) -> None:
        self.source, self.reading = source, reading
        items = (Item(*pair) for pair in enumerate(source.partitions()))
        # Modules of a format are imported here, not in two threads at once.
        self._items = itertools.chain(list(itertools.islice(items, 1)), items)
        self._columns = tuple(dict.fromkeys(name for name in (source.id_column, *wanted) if name))
        self._room = min(_BYTES, memory // 8)
        self._read: SimpleQueue[Item | None] = SimpleQueue()
        self._stopped = False
        executor = ThreadPoolExecutor(1)
        self._thread = executor.submit(self._run)
        executor.shutdown(wait=False)

    def _run(self) -> None:
        try:
            while self._room > 0 and not self._stopped and (item := next(self._items, None)):
                documents = item.partition.read(self._columns)
                self._room -= documents.text.nbytes + documents.columns.nbytes
                self._read.put(item._replace(documents=documents))
        finally:
            self._read.put(None)

    def stop(self) -> None:
        """Read no more: from now on there are other threads that read."""
        self._stopped = True

    def __iter__(self) -> Iterator[Item]:
        while (item := self._read.get()) is not None:
            yield item
        self._thread.result()  # raises what was raised there
        yield from self._items


def read_ahead(
    source: object, reading: Reading, wanted: tuple[str, ...], memory: int | None
) -> Ahead | None:
    """Begin to read a source, see `Reading.open`; None where that is of no use.

    What can't be opened is of no use either: who opens it next gets the error.
    """
    with suppress(NeardupError):
        opened, sized = reading.open_sized(source, wanted)
        if opened.format == "parquet" and opened.rereadable:
            return Ahead(opened, sized, wanted, memory or half_of_free())
    return None
