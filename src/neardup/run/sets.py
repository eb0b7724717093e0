"""Shingle sets of the documents that met another one."""

from __future__ import annotations

import mmap
import os
import zlib
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from neardup.core.shingle import shingle_sets
from neardup.core.space import Space, reserve
from neardup.core.threads import Pool
from neardup.core.verify import ShingleSets
from neardup.corpus import Documents
from neardup.errors import ResumeError
from neardup.kernels.sets import fill_bitmaps
from neardup.kernels.shingles import place_sets
from neardup.run.facts import Facts
from neardup.run.folder import RunFolder, disk_errors
from neardup.run.memory import free_memory
from neardup.run.parts import Recipe
from neardup.run.source import Source

__all__ = ["make_sets"]

_STAGE = "sets"
_BLOCK = 1 << 22


def make_sets(
    source: Source,
    facts: Facts,
    recipe: Recipe,
    wanted: np.ndarray,
    part_chunks: int,
    folder: RunFolder | None,
    space: Space,
    pool: Pool,
    advance: Callable[[int], None],
) -> ShingleSets:
    """Make the shingle sets of some documents, by reading and shingling their texts again.

    Most documents meet no other, so that this costs less than keeping all sets, or all texts, from
    the start: memory that is touched for the first time is slower than parsing.

    Args:
        source: The corpus.
        facts: Of its documents.
        recipe: What they become.
        wanted: bool[documents].
        part_chunks: Chunks that are done, or repeated after a crash, together.
        folder: With it the sets lie in a mapped file of it, and are found again.
        space: Where arrays go.
        pool: Threads.
        advance: Told the documents that are done.
    """
    documents = facts.documents
    begin = space.zeros(documents, np.int64)
    total = 0
    for low in range(0, documents, 1 << 20):  # sums of a million documents at a time
        sizes = facts.shingles[low : low + (1 << 20)] * wanted[low : low + (1 << 20)]
        ends = np.cumsum(sizes, dtype=np.int64) + total
        begin[low : low + len(ends)] = ends - sizes
        total = int(ends[-1])
    size = space.zeros(documents, np.int32)
    bitmaps = space.zeros((documents, 4), np.uint64)
    file = None
    if folder is None:
        values = space.empty(total, np.uint64)
    else:
        with disk_errors(folder.path):
            file = _SetFile(folder.path / _STAGE, total)
        values = file.values
    chunks = len(facts.ends)
    sets = ShingleSets(values, begin, size, bitmaps)

    def rows(chunk: int) -> np.ndarray:
        if chunk >= chunks or (folder is not None and folder.done(_STAGE, chunk // part_chunks)):
            return np.zeros(0, dtype=np.int64)
        first, last = facts.chunk_rows(chunk)
        return np.flatnonzero(wanted[first:last])

    def count(chunk: int) -> int:
        first, last = facts.chunk_rows(chunk)
        return last - first

    def work(chunk: int, mine: np.ndarray, documents: Documents) -> None:
        found = shingle_sets(documents.text, recipe.shingle, recipe.stemmer)
        docs = (mine + facts.chunk_rows(chunk)[0]).astype(np.int32)
        # Sets are shorter than the room that was left for them; each goes to its own place.
        place_sets(found.values, found.offsets, docs, values, begin, size)
        fill_bitmaps(values, begin, size, docs, bitmaps)

    def part_docs(part: int) -> np.ndarray:
        first = facts.chunk_rows(part * part_chunks)[0]
        last = facts.chunk_rows(min((part + 1) * part_chunks, chunks) - 1)[1]
        return (np.flatnonzero(wanted[first:last]) + first).astype(np.int32)

    def room(docs: np.ndarray) -> tuple[int, int]:
        if len(docs) == 0:
            return 0, 0
        last = int(docs[-1])
        return int(begin[docs[0]]), int(begin[last]) + int(facts.shingles[last])

    if folder is not None and file is not None:
        for part in range(folder.count(_STAGE)):
            # What earlier attempts made is checked, so that nothing damaged is taken for a set.
            about, docs = folder.load(_STAGE, part), part_docs(part)
            low, high = room(docs)
            if len(about["size"]) != len(docs) or file.checksum(low, high) != int(about["crc"]):
                raise ResumeError(
                    f"{file.path}: damaged, or from another run", "start again with --overwrite"
                )
            size[docs] = about["size"]
            fill_bitmaps(values, begin, size, docs, bitmaps)
    for chunk, _ in enumerate(source.again(rows, count, pool, work)):
        advance(count(chunk) if chunk < chunks else 0)
        if (
            folder is not None
            and file is not None
            and ((chunk + 1) % part_chunks == 0 or chunk + 1 == chunks)
        ):
            part = chunk // part_chunks
            if not folder.done(_STAGE, part):
                docs = part_docs(part)
                low, high = room(docs)
                folder.save(_STAGE, part, partial(_safe, file, low, high, size[docs]))
    if folder is not None and file is not None:
        folder.settle()
        file.settle_in()
    return sets


def _safe(file: _SetFile, low: int, high: int, sizes: np.ndarray) -> dict[str, np.ndarray]:
    """Have the sets of a part on the disk, and return what is noted of them."""
    file.flush(low, high)
    return {"size": sizes, "crc": np.array(file.checksum(low, high), dtype=np.int64)}


class _SetFile:
    """A file of shingle hashes that is mapped for reading and writing.

    Args:
        folder: Where it lies.
        total: Hashes that it has room for.
    """

    def __init__(self, folder: Path, total: int) -> None:
        folder.mkdir(exist_ok=True)
        self.path = folder / "values"
        descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            length = max(8 * total, mmap.PAGESIZE)
            if os.fstat(descriptor).st_size > length:
                os.ftruncate(descriptor, length)
            held = os.fstat(descriptor)
            # One that is whole is not touched: another run may share it.
            if held.st_size < length or 512 * held.st_blocks < length:
                reserve(descriptor, 0, length)
            self._map = mmap.mmap(descriptor, length)
        finally:
            os.close(descriptor)
        self.values = np.frombuffer(self._map, dtype=np.uint64)[:total]

    def flush(self, low: int, high: int) -> None:
        """Have the hashes in a range written to the disk."""
        if high > low:
            start = 8 * low // mmap.PAGESIZE * mmap.PAGESIZE
            self._map.flush(start, 8 * high - start)

    def settle_in(self) -> None:
        """Have the file in the page cache if it fits, before sets are looked up here and there.

        While it was made, the corpus went through the cache and may have driven it out. To read it
        once from its begin to its end takes seconds, to fault it in page by page minutes.
        """
        size = self.values.nbytes
        if size > free_memory() // 2:
            self._map.madvise(mmap.MADV_RANDOM)
            return
        with self.path.open("rb", buffering=0) as file:
            block = bytearray(_BLOCK)
            while size > 0 and (read := file.readinto(block)):
                size -= read

    def checksum(self, low: int, high: int) -> int:
        return zlib.crc32(self.values[low:high].data)
