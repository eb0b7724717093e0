"""A made corpus and its truth, streamed to files.

Chunks of documents are made by threads and written in order by the caller's thread, a few chunks
ahead at most: memory does not grow with the number of documents.
"""

from __future__ import annotations

import json
import os
import zlib
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from neardup.errors import SpecError
from neardup.kernels.synth import write_lines
from neardup.synth.files import ending, open_stream, partial, refuse
from neardup.synth.plan import chunk_documents, document_bytes, setting, tables
from neardup.synth.spec import SynthSpec
from neardup.synth.tables import document_schema, documents_batch, slices, truth_schema
from neardup.synth.tables import truth as make_truth

__all__ = ["Written", "truth_path", "write"]

_ROW_GROUP_CHUNKS = 4
_TRUTH_ROWS = 1 << 18

_LINE_PARTS = tuple(
    np.frombuffer(part, np.uint8)
    for part in (b'{"id":"', b'","text":"', b'","date":"', b'","kind":"', b'","quality":', b"}\n")
)

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Written:
    """What was written.

    Attributes:
        documents: Number of documents.
        bytes: Their size before any compression: of the JSON lines, or of the Arrow columns.
        output, truth: The two files.
    """

    documents: int
    bytes: int
    output: Path
    truth: Path


def truth_path(output: str | os.PathLike[str]) -> Path:
    """Return where the truth goes if nobody says: ``<stem>.truth.parquet`` beside the output.

    >>> truth_path("made/notes.jsonl.gz").name
    'notes.truth.parquet'

    Raises:
        SpecError: The ending of ``output`` names no format.
    """
    path = Path(output)
    return path.with_name(path.name.removesuffix(ending(path)) + ".truth.parquet")


def write(
    spec: SynthSpec,
    output: str | os.PathLike[str],
    truth: str | os.PathLike[str] | None = None,
    overwrite: bool = False,
    threads: int | None = None,
    on_progress: Progress | None = None,
) -> Written:
    """Write a made corpus and its truth; both files appear, by rename, when both are complete.

    Args:
        spec: What the corpus depends on.
        output: Documents, by ending: ``.jsonl``, ``.jsonl.gz``, ``.jsonl.zst`` or ``.parquet``.
        truth: Truth, with the same endings; None for ``truth_path(output)``.
        overwrite: Replace files that exist.
        threads: Threads that make documents; None for as many as there are processors to use. The
            files don't depend on it.
        on_progress: Called in the caller's thread with the numbers of documents and of
            uncompressed bytes so far.

    Returns:
        What was written. With the defaults and two threads the process takes about 330 MB,
        whatever the number of documents; the first call ever compiles for some seconds.

    Raises:
        SpecError: An ending that names no format, the same file twice, or threads below 1.
        OutputError: A file exists, or can't be written.
    """
    if threads is not None and threads < 1:
        raise SpecError(f"threads is {threads}; expected 1 or more")
    data = Path(output)
    facts = truth_path(data) if truth is None else Path(truth)
    data_ending, facts_ending = ending(data), ending(facts)
    if data.resolve() == facts.resolve():
        raise SpecError(f"documents and truth would both go to {data}", "give another --truth")
    refuse(data, overwrite)
    refuse(facts, overwrite)
    with partial(facts) as new_facts, partial(data) as new_data:
        sink: _Sink
        if data_ending == ".parquet":
            sink = _ParquetSink(spec, new_data)
        else:
            sink = _LineSink(spec, new_data, data_ending)
        with closing(sink):
            size = _stream(spec, sink, threads or _processors(), on_progress)
        _write_truth(spec, new_facts, facts_ending)
        # The documents come last: who sees them may rely on the truth being there.
        new_facts.replace(facts)
        new_data.replace(data)
    return Written(spec.documents, size, data, facts)


class _Sink(Protocol):
    """A file format: ``make`` runs in threads, ``put`` in order, and returns uncompressed bytes."""

    def make(self, start: int, stop: int) -> Any: ...

    def put(self, made: Any) -> int: ...

    def close(self) -> None: ...


class _LineSink:
    """JSON lines, composed by the kernel."""

    def __init__(self, spec: SynthSpec, path: Path, kind: str) -> None:
        self._spec = spec
        self._gzip = kind == ".jsonl.gz"
        self._stream = open_stream(path, kind)

    def make(self, start: int, stop: int) -> tuple[Any, int]:
        spec = self._spec
        out = np.empty((stop - start) * document_bytes(spec), np.uint8)
        size = write_lines(start, stop, setting(spec), tables(spec), _LINE_PARTS, out)
        lines = out[:size]
        # gzip is the slow part, so each chunk is a member of its own, compressed by its thread;
        # members one after another are one gzip file (RFC 1952, section 2.2).
        return (zlib.compress(lines.data, level=1, wbits=31) if self._gzip else lines), size

    def put(self, made: tuple[Any, int]) -> int:
        payload, size = made
        self._stream.write(payload)
        return size

    def close(self) -> None:
        self._stream.close()


class _ParquetSink:
    """Parquet with zstd; a row group is four chunks, about 35 MB of text."""

    def __init__(self, spec: SynthSpec, path: Path) -> None:
        self._spec = spec
        self._schema = document_schema(spec)
        self._waiting: list[pa.RecordBatch] = []
        self._writer = pq.ParquetWriter(
            path,
            self._schema,
            compression="zstd",
            use_dictionary=["date", "kind"],
            write_statistics=["id", "date", "kind", "quality"],
        )

    def make(self, start: int, stop: int) -> pa.RecordBatch:
        return documents_batch(self._spec, start, stop)

    def put(self, made: pa.RecordBatch) -> int:
        self._waiting.append(made)
        if len(self._waiting) == _ROW_GROUP_CHUNKS:
            self._flush()
        return int(made.nbytes)

    def _flush(self) -> None:
        if self._waiting:
            self._writer.write_table(pa.Table.from_batches(self._waiting, schema=self._schema))
            self._waiting.clear()

    def close(self) -> None:
        try:
            self._flush()
        finally:
            self._writer.close()


def _stream(spec: SynthSpec, sink: _Sink, threads: int, on_progress: Progress | None) -> int:
    """Make chunks with threads, put them in order, and return the uncompressed bytes."""
    tables(spec)  # once, before the threads would each make them
    documents = size = 0
    ahead: deque[tuple[int, Future[Any]]] = deque()
    pool = ThreadPoolExecutor(threads, thread_name_prefix="synth")

    def put_next() -> None:
        nonlocal documents, size
        stop, future = ahead.popleft()
        size += sink.put(future.result())
        documents = stop
        if on_progress is not None:
            on_progress(documents, size)

    try:
        for start, stop in slices(spec, 0, None, chunk_documents(spec)):
            ahead.append((stop, pool.submit(sink.make, start, stop)))
            if len(ahead) > threads + 1:
                put_next()
        while ahead:
            put_next()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
    return size


def _write_truth(spec: SynthSpec, path: Path, kind: str) -> None:
    ranges = slices(spec, 0, None, _TRUTH_ROWS)
    if kind == ".parquet":
        with pq.ParquetWriter(path, truth_schema(spec), compression="zstd") as writer:
            for start, stop in ranges:
                writer.write_table(make_truth(spec, start, stop))
        return
    with closing(open_stream(path, kind)) as stream:
        for start, stop in ranges:
            rows = make_truth(spec, start, stop).to_pylist()
            lines = "".join(json.dumps(row) + "\n" for row in rows).encode()
            stream.write(zlib.compress(lines, level=1, wbits=31) if ".gz" in kind else lines)


def _processors() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not every system says which processors a process may use
        return os.cpu_count() or 1
