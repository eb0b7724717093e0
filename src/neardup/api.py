"""The main job as one call."""

from __future__ import annotations

import functools
import json
import platform
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

from neardup import __version__
from neardup.core.threads import available_cores
from neardup.corpus import SourceFile, open_corpus
from neardup.errors import (
    ColumnError,
    DuplicateIdError,
    EncodingError,
    FormatError,
    NeardupError,
    OutputError,
    OutputSizeError,
    ResumeError,
    SpecError,
)
from neardup.run import outputs, tables
from neardup.run.begin import drop_store, look, sign, signed_run
from neardup.run.events import Event, Listener, Stages, peak_memory
from neardup.run.folder import FOLDER, MANIFEST, RunFolder, file_checksum
from neardup.run.ids import ids_of
from neardup.run.job import Job
from neardup.run.memory import AnonymousPeak
from neardup.run.outputs import WRITTEN, Output
from neardup.run.pipeline import Outcome, run
from neardup.run.storage import Shard, Storage
from neardup.run.warm import warm
from neardup.spec import Spec

__all__ = ["Result", "Storage", "dedup", "dedup_files", "plan", "sign_files"]

#: Version of the layout of ``run.json`` and of the tables.
FORMAT = 1


class Result:
    """What `dedup` found.

    Attributes:
        spec: What was asked for.
        summary: Counts, bands, seconds and bytes by stage: what ``run.json`` holds.
    """

    def __init__(self, job: Job, outcome: Outcome) -> None:
        self._job = job
        self._outcome = outcome
        self._ids = ids_of(outcome.facts, job.corpus.id_column)
        self.spec = job.spec

    @functools.cached_property
    def clusters(self) -> Any:
        """Arrow table, one row per document: see `neardup.run.tables.clusters_tables`."""
        return _whole(
            tables.clusters_schema(self._ids), tables.clusters_tables(self._outcome, self._ids)
        )

    @functools.cached_property
    def edges(self) -> Any:
        """Arrow table, one row per verified pair: see `neardup.run.tables.edges_tables`."""
        return _whole(tables.edges_schema(self._ids), self._edges())

    def _edges(self) -> Iterator[Any]:
        return tables.edges_tables(self._outcome, self._ids, self.spec.pairs == "all")

    @property
    def summary(self) -> dict[str, Any]:
        return _record(self._outcome, self._job, len(self.edges))

    def clean(self) -> Any:
        """Return the kept documents with all their columns, as one Arrow table.

        They are read from the source again.

        Raises:
            InputError: The source is no longer what it was.
        """
        self._job.corpus.check_unchanged()
        return _whole(
            tables.clean_schema(self._outcome),
            tables.clean_tables(self._outcome, self._job.threads),
        )

    def write(
        self,
        out: str | Path,
        *,
        format: str = "parquet",
        compression: str = "none",
        overwrite: bool = False,
    ) -> dict[str, Any]:
        """Write ``clusters``, ``edges``, ``clean`` and ``run.json``; return what the latter holds.

        Args:
            out: Folder to make.
            format: Of the clean corpus: ``parquet``, ``jsonl`` or ``csv``.
            compression: Of ``clean.parquet``: ``none``, ``lz4``, ``snappy`` or ``zstd``.
            overwrite: Replace the files of an earlier run.

        Raises:
            OutputError: The folder exists, or can't be written, or an input lies where an output
                is to go.
            SpecError: There is no such format or compression.
        """
        out = Path(out)
        inputs = [f.path for f in self._job.corpus.inputs]
        outputs.check_output(out, format, overwrite, inputs)
        return _write(self._job, self._outcome, out, format, compression)


def dedup(
    source: Any,
    *,
    text: str | Sequence[str] = "text",
    id: str | None = None,
    spec: Spec | None = None,
    threads: int | None = None,
    input_format: str | None = None,
    encoding_errors: str = "strict",
    storage: Storage | None = None,
    on_event: Listener | None = None,
) -> Result:
    """Find what repeats what, exactly verified, and which documents to keep.

    Nothing of it outlives the process; `dedup_files` works in a folder and can be resumed.

    Args:
        source: A path (file, folder or pattern) or a list of paths; a pyarrow Table,
            RecordBatchReader or Dataset; a pandas or Polars frame; a Hugging Face dataset; or a
            list of texts.
        text: Column or columns with the text; several are joined by a blank.
        id: Column with the user's ids; positions without it.
        spec: What to do; the ``web`` preset by default.
        threads: Threads; the cores there are by default. They don't change the result.
        input_format: ``jsonl``, ``parquet``, ``csv``, ``tsv``, ``arrow`` or ``text``; by the
            ending of each file without it.
        encoding_errors: ``"strict"``, or ``"replace"`` to go on where a text is not UTF-8.
        storage: Where the band matrix lies and how much memory may be used; neither changes the
            result.
        on_event: Called with each `neardup.run.events.Event`, from this thread.

    Raises:
        InputError: The input can't be used; its leaves say why.
        SpecError: A setting is out of range.
        StoreError: The store can't be used.

    Example:
        >>> result = dedup(["one two three four five six", "One, two; three four five six!", "x"])
        >>> result.clusters["cluster"].to_pylist()
        [0, 0, 2]
    """
    storage = storage or Storage()
    if storage.folder is not None or storage.resume or storage.name:
        raise SpecError("a run folder and a named run are for dedup_files")
    job = _job(
        source, text, id, spec, threads, input_format, encoding_errors, storage, Stages(on_event)
    )
    with AnonymousPeak() as memory:
        job.stages.memory = memory
        outcome = run(job)
    if storage.shared and not storage.keep_run:
        drop_store(job)
    return Result(job, outcome)


def dedup_files(
    source: Any,
    out: str | Path,
    *,
    text: str | Sequence[str] = "text",
    id: str | None = None,
    spec: Spec | None = None,
    threads: int | None = None,
    input_format: str | None = None,
    encoding_errors: str = "strict",
    format: str = "parquet",
    compression: str = "none",
    overwrite: bool = False,
    storage: Storage | None = None,
    on_event: Listener | None = None,
) -> dict[str, Any]:
    """Do the main job from files to files; return what ``run.json`` holds.

    What was done so far lies in the folder ``.run`` in ``out``, so that a run that was killed at
    any moment goes on where it was with ``Storage(resume=True)``, and ends with the same bytes.

    Args:
        source, text, id, spec, threads, input_format, encoding_errors, on_event: As for `dedup`.
            Without a source, ``storage.name`` says what was signed, and by which settings.
        out: Folder to make.
        format, compression, overwrite: As for `Result.write`.
        storage: Where things are kept, how much memory may be used, and whether to resume. Its
            folder is that in ``out``.

    Raises:
        InputError: The input can't be used; its leaves say why.
        OutputError: The folder exists, or can't be written.
        ResumeError: The run to go on with is another one, or damaged.
        SpecError: A setting is out of range.
        StoreError: The store can't be used.
    """
    out = Path(out)
    storage = storage or Storage()
    stages = Stages(on_event)
    outputs.check_output(out, format, overwrite, resume=storage.resume)
    made = partial(
        _job,
        source,
        text,
        id,
        spec,
        threads,
        input_format,
        encoding_errors,
        storage,
        stages,
        output={"format": format, "compression": compression},
    )
    if storage.resume and (out / "run.json").exists() and not (out / FOLDER / MANIFEST).exists():
        # The manifest goes first when all is done: the run may have been killed after that.
        record = _complete(made, out, storage)
        if record is not None:
            RunFolder(out / FOLDER, resume=False).remove()
            return record
        if not overwrite:
            raise OutputError(
                f"{out} exists, and is complete", "use --overwrite, or name another folder with -o"
            )
    with RunFolder(out / FOLDER, storage.resume) as folder:
        jobs: list[Job] = []
        with _interruptible(folder, jobs), AnonymousPeak() as memory:
            stages.memory = memory
            job = made(folder=folder)
            jobs.append(job)
            inputs = [f.path for f in job.corpus.inputs]
            outputs.check_output(out, format, True, inputs, resume=True)
            if folder.begun and not inputs:
                raise ResumeError(
                    f"{out}: can't resume, only files can be told to be the same as before",
                    "start again with overwrite, or write the table to a file",
                )
            if folder.done(WRITTEN):
                folder.compare(job.manifest())
                record = outputs.finish_outputs(out, folder)
            else:
                if folder.begun:
                    note = f"going on with the run in {folder.path}"
                    stages.emit(Event("read and sign", note=note))
                record = _write(job, run(job), out, format, compression)
        # All is where it belongs; what is left is to clean up.
        try:
            # The folder first: without its manifest the run is known to be complete.
            if not storage.keep_run:
                folder.remove()
                if storage.shared:
                    drop_store(job)
        except KeyboardInterrupt as error:
            raise KeyboardInterrupt("interrupted; all was written") from error
        return record


def _complete(made: Callable[[], Job], out: Path, storage: Storage) -> dict[str, Any] | None:
    """Return the record of what is in a folder if it is what this job would make; else None."""
    try:
        record: dict[str, Any] = json.loads((out / "run.json").read_text(encoding="utf-8"))
        if storage.name is not None:  # the run may be gone from the store by now
            same = record["run"] == storage.name
            return record if same and record["store"]["store"] == storage.public_store else None
        job = made()
        # Of a pipe nobody knows whether the same comes out of it.
        return record if job.corpus.rereadable and record["asked"] == job.digest else None
    except (OSError, ValueError, KeyError, TypeError):
        return None  # it is something else


def sign_files(
    source: Any,
    *,
    text: str | Sequence[str] = "text",
    id: str | None = None,
    spec: Spec | None = None,
    threads: int | None = None,
    input_format: str | None = None,
    encoding_errors: str = "strict",
    storage: Storage,
    shard: Shard | None = None,
    on_event: Listener | None = None,
) -> dict[str, int]:
    """Sign a corpus, or a share of it, into a store that several processes can reach.

    `dedup_files` goes on from there, once all shares are complete. Called again after a crash, it
    does what is missing.

    Args:
        source, text, id, spec, threads, input_format, encoding_errors, on_event: As for `dedup`;
            the same in every process.
        storage: Names the store and the run.
        shard: Which share of the corpus; all of it by default.

    Returns:
        ``parts`` and ``documents`` of this share, and ``of``, the parts of the corpus.

    Raises:
        InputError: The input can't be used; its leaves say why.
        SpecError: A setting is out of range, or no run is named.
        StoreError: The store can't be used, or has a run of that name for something else.
    """
    if storage.name is None:
        raise SpecError("a run to sign into has no name", "give it one with --run")
    stages = Stages(on_event)
    job = _job(
        source,
        text,
        id,
        spec,
        threads,
        input_format,
        encoding_errors,
        storage,
        stages,
        signing=True,
    )
    if not job.corpus.rereadable:
        raise SpecError("a pipe can't be signed in shares", "write it to a file")
    try:
        return sign(job, shard or Shard())
    except KeyboardInterrupt as error:
        raise KeyboardInterrupt("interrupted; the same command goes on where it was") from error


def plan(
    source: Any,
    *,
    text: str | Sequence[str] = "text",
    id: str | None = None,
    spec: Spec | None = None,
    threads: int | None = None,
    input_format: str | None = None,
    encoding_errors: str = "strict",
    storage: Storage | None = None,
) -> dict[str, Any]:
    """Return what `dedup_files` would take, by a look at the first documents.

    Args:
        source, text, id, spec, threads, input_format, encoding_errors, storage: As for `dedup`.

    Returns:
        Documents, memory, disk and passes; see `neardup.run.memory.Estimate`. ``bands`` says what
        would be chosen.
    """
    job = _job(
        source,
        text,
        id,
        spec,
        threads,
        input_format,
        encoding_errors,
        storage or Storage(),
        Stages(None),
    )
    found, bands = look(job)
    return {
        **asdict(found),
        "disk": found.disk,
        "inputs": job.corpus.total_bytes,
        "rows": 0 if bands is None else bands.rows,
        "predicted_recall": None if bands is None else bands.recall,
    }


def _job(
    source: Any,
    text: str | Sequence[str],
    id: str | None,
    spec: Spec | None,
    threads: int | None,
    input_format: str | None,
    encoding_errors: str,
    storage: Storage,
    stages: Stages,
    folder: RunFolder | None = None,
    output: dict[str, str] | None = None,
    signing: bool = False,
) -> Job:
    """Open the corpus; say what the result depends on."""
    if threads is not None and threads < 1:
        raise SpecError(f"threads is {threads}; expected 1 or more")
    columns = [text] if isinstance(text, str) else list(text)
    spec = spec or Spec()
    if storage.name is not None and not signing:
        about = signed_run(storage)
        storage = replace(storage, part_bytes=about["chunk_bytes"])
        if source is None:
            source, columns = [Path(path) for path, _, _ in about["inputs"]], about["text"]
            id, input_format = about["id"], about["input_format"]
            encoding_errors = about["encoding_errors"]
            spec = Spec.from_dict(about["spec"])
    corpus = open_corpus(
        source,
        text=columns,
        id=id,
        input_format=input_format,
        encoding_errors=encoding_errors,
        chunk_bytes=storage.chunk_bytes,
        spool=None if folder is None else folder.path,
    )
    return Job(
        corpus,
        spec,
        storage,
        stages,
        identity={
            "neardup": __version__,
            "text": columns,
            "id": id,
            "input_format": input_format,
            "encoding_errors": encoding_errors,
            "inputs": [_known_by(file, i, folder) for i, file in enumerate(corpus.inputs)],
        },
        output=output or {},
        threads=threads,
        folder=folder,
        secret_ids=corpus.id_column in columns,
        prepare=lambda: warm(spec, stages),
    )


def _known_by(file: SourceFile, number: int, folder: RunFolder | None) -> list[Any]:
    """What an input is told by: size and time, or what the copy of a pipe holds."""
    if file.is_pipe and folder is not None:
        return [file.path, file.size, file_checksum(folder.path / f"input-{number}")]
    return [file.path, file.size, file.mtime_ns]


_LOST = (FormatError, ColumnError, EncodingError, DuplicateIdError, SpecError, OutputSizeError)


@contextmanager
def _interruptible(folder: RunFolder, jobs: list[Job]) -> Iterator[None]:
    """Leave the run folder if it is of any use, and say how to go on; else remove it.

    Args:
        folder: The run folder.
        jobs: The job, once there is one: what it put into a store outside goes as well.
    """
    before = folder.begun
    try:
        yield
    except ResumeError:
        raise
    except BaseException as error:
        # What is wrong with the input or a setting must be mended there, and then it is another.
        lost = isinstance(error, _LOST)
        if not folder.worked or (lost and not before):
            folder.remove()
            with suppress(NeardupError):  # the first error counts
                for job in jobs:
                    if job.storage.shared and job.storage.name is None:
                        drop_store(job)
            raise
        hint = "go on with the same command and --resume"
        if isinstance(error, KeyboardInterrupt):
            raise KeyboardInterrupt(f"interrupted; {hint}") from error
        if isinstance(error, NeardupError):
            error.hint = f"{error.hint}; then {hint}" if error.hint else hint
        raise


def _write(job: Job, outcome: Outcome, out: Path, format: str, compression: str) -> dict[str, Any]:
    job.corpus.check_unchanged()
    stages = job.stages
    ids = ids_of(outcome.facts, job.corpus.id_column)
    begin = time.perf_counter()
    written: dict[str, Any] = {}
    edges = 0
    with stages.stage("write", outcome.totals["kept"]) as advance:

        def clean(skip: int) -> Iterator[Any]:
            advance(skip)
            for table in tables.clean_tables(outcome, job.threads, skip):
                yield table
                advance(len(table))

        def counted(_: int) -> Iterator[Any]:
            nonlocal edges
            for table in tables.edges_tables(outcome, ids, job.spec.pairs == "all"):
                edges += len(table)
                yield table

        def record(sizes: dict[str, int]) -> dict[str, Any]:
            # The clock of the stage still runs while its time is written down.
            stages.sizes["write"] = sum(sizes.values())
            written.update(_record(outcome, job, edges))
            written["seconds"]["write"] = round(time.perf_counter() - begin, 4)
            return written

        outputs.write_outputs(
            out,
            [
                # What is said of the whole input need not be true of a part of it.
                Output(
                    "clean",
                    tables.clean_schema(outcome).remove_metadata(),
                    clean,
                    format,
                    compression,
                    checkpoint=max(64 << 20, (job.corpus.total_bytes or 0) // 2048),
                ),
                Output(
                    "clusters",
                    tables.clusters_schema(ids),
                    lambda _: tables.clusters_tables(outcome, ids),
                ),
                Output("edges", tables.edges_schema(ids), counted),
            ],
            record,
            job.folder,
        )
    return written


def _whole(schema: Any, parts: Iterator[Any]) -> Any:
    import pyarrow as pa

    return pa.concat_tables([schema.empty_table(), *parts])


def _record(outcome: Outcome, job: Job, edges: int) -> dict[str, Any]:
    """Return what ``run.json`` holds."""
    import numba
    import numpy
    import pyarrow

    from neardup.kernels.text import unicode_version

    bands = outcome.bands
    return {
        "format": FORMAT,
        "spec": job.spec.as_dict(),
        "digest": job.spec.digest,
        "asked": job.digest,
        "run": job.storage.name,
        "versions": {
            "neardup": __version__,
            "python": platform.python_version(),
            "numpy": numpy.__version__,
            "numba": numba.__version__,
            "pyarrow": pyarrow.__version__,
            "unicode": unicode_version(),
        },
        "bands": None
        if bands is None
        else {
            "num_bands": bands.num_bands,
            "rows": bands.rows,
            "num_hashes": bands.num_bands * bands.rows,
            "predicted_recall": bands.recall,
        },
        "counts": {**outcome.totals, **asdict(outcome.counts), "edges": edges},
        "bucket_sizes": outcome.bucket_sizes,
        "store": outcome.store,
        "passes": outcome.passes,
        "seconds": {name: round(value, 4) for name, value in job.stages.seconds.items()},
        "bytes": job.stages.sizes,
        "peak_memory": peak_memory(),
        "peak_anonymous": job.stages.memory.peak if job.stages.memory else 0,
        "cores": available_cores(),
    }
