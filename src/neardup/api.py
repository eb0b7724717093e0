"""The main job as one call."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Unpack

import pyarrow as pa

from neardup.errors import SpecError
from neardup.run import outputs, tables
from neardup.run.begin import drop_store, sign
from neardup.run.events import Listener
from neardup.run.files import run_files
from neardup.run.ids import ids_of
from neardup.run.job import Job
from neardup.run.memory import AnonymousPeak
from neardup.run.pipeline import Outcome, run
from neardup.run.recluster import Recluster
from neardup.run.record import record
from neardup.run.request import Request, Settings
from neardup.run.storage import Shard, Storage
from neardup.run.survey import survey
from neardup.run.writing import write

__all__ = [
    "Result",
    "Settings",
    "Storage",
    "dedup",
    "dedup_files",
    "plan",
    "recluster",
    "sign_files",
]


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
        every = self.spec.pairs == "all"
        return _whole(
            tables.edges_schema(self._ids), tables.edges_tables(self._outcome, self._ids, every)
        )

    @property
    def summary(self) -> dict[str, Any]:
        return record(self._outcome, self._job, len(self.edges))

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
        return write(self._job, self._outcome, out, format, compression)


def dedup(source: Any, **settings: Unpack[Settings]) -> Result:
    """Find what repeats what, exactly verified, and which documents to keep.

    Nothing of it outlives the process; `dedup_files` works in a folder and can be resumed.

    Args:
        source: A path (file, folder or pattern) or a list of paths; a pyarrow Table,
            RecordBatchReader or Dataset; a pandas or Polars frame; a Hugging Face dataset; or a
            list of texts.
        settings: See `Settings`.

    Raises:
        InputError: The input can't be used; its leaves say why.
        SpecError: A setting is out of range.
        StoreError: The store can't be used.

    Examples:
        >>> result = dedup(["one two three four five six", "One, two; three four five six!", "x"])
        >>> result.clusters["cluster"].to_pylist()
        [0, 0, 2]
    """
    request = Request(source, **settings)
    storage = request.kept
    if storage.folder is not None or storage.resume or storage.name:
        raise SpecError("a run folder and a named run are for dedup_files")
    job = request.job()
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
    format: str = "parquet",
    compression: str = "none",
    overwrite: bool = False,
    **settings: Unpack[Settings],
) -> dict[str, Any]:
    """Do the main job from files to files; return what ``run.json`` holds.

    What was done so far lies in the folder ``.run`` in ``out``, so that a run that was killed at
    any moment goes on where it was with ``Storage(resume=True)``, and ends with the same bytes.

    Args:
        source: As for `dedup`. Without it, ``storage.name`` says what was signed, and by which
            settings.
        out: Folder to make.
        format, compression, overwrite: As for `Result.write`.
        settings: See `Settings`.

    Raises:
        InputError: The input can't be used; its leaves say why.
        OutputError: The folder exists, or can't be written.
        ResumeError: The run to go on with is another one, or damaged.
        SpecError: A setting is out of range.
        StoreError: The store can't be used.
    """
    return run_files(Request(source, **settings), Path(out), format, compression, overwrite)


def recluster(
    run: str | Path,
    out: str | Path,
    *,
    storage: Storage | None = None,
    threads: int | None = None,
    on_event: Listener | None = None,
    format: str = "parquet",
    compression: str = "none",
    overwrite: bool = False,
    **changes: Any,
) -> dict[str, Any]:
    """Cluster a finished run otherwise, without signing again; return what ``run.json`` holds.

    The files are those of a full run with the new settings and the bands of the finished one.
    What that left is used: its edges where they are all there are, and its band keys, buckets and
    shingle sets where it was done with ``Storage(keep_run=True)``. What it did not leave is made
    again from its input, which ``run.json`` says under ``recluster``.

    Args:
        run: Output folder of `dedup_files`.
        out: Folder to make.
        storage: How much memory may be used, whether to resume, and whether to keep the run folder;
            the store only where it needs a user and a password.
        threads, on_event: See `Settings`.
        format, compression, overwrite: As for `Result.write`.
        changes: ``edge_threshold`` and ``tree_threshold``, not below those of the run;
            ``cluster``; ``second_round``.

    Raises:
        InputError: There is no finished run, or its input is gone or has changed.
        OutputError, ResumeError, StoreError: As for `dedup_files`.
        SpecError: A setting is out of range, or below that of the run.
    """
    return Recluster(Path(run), changes).write(
        Path(out),
        storage=storage or Storage(),
        threads=threads,
        on_event=on_event,
        format=format,
        compression=compression,
        overwrite=overwrite,
    )


def sign_files(
    source: Any, *, shard: Shard | None = None, **settings: Unpack[Settings]
) -> dict[str, int]:
    """Sign a corpus, or a share of it, into a store that several processes can reach.

    `dedup_files` goes on from there, once all shares are complete. Called again after a crash, it
    does what is missing.

    Args:
        source: As for `dedup`; the same in every process.
        shard: Which share of the corpus; all of it by default.
        settings: See `Settings`; the same in every process. ``storage`` names the store and the
            run.

    Returns:
        ``parts`` and ``documents`` of this share, and ``of``, the parts of the corpus.

    Raises:
        InputError: The input can't be used; its leaves say why.
        SpecError: A setting is out of range, or no run is named.
        StoreError: The store can't be used, or has a run of that name for something else.
    """
    request = Request(source, **settings)
    if request.kept.name is None:
        raise SpecError("a run to sign into has no name", "give it one with --run")
    job = request.job(signing=True)
    if not job.corpus.rereadable:
        raise SpecError("a pipe can't be signed in shares", "write it to a file")
    try:
        return sign(job, shard or Shard())
    except KeyboardInterrupt as error:
        raise KeyboardInterrupt("interrupted; the same command goes on where it was") from error


def plan(
    source: Any, *, out: str | Path | None = None, **settings: Unpack[Settings]
) -> dict[str, Any]:
    """Say what `dedup_files` would find, take and cost, by a look at a sample of the source.

    A few seconds, however large the source is: some 20,000 documents from all over it are turned
    into band keys as the run would do it, their similarities are searched for exactly, and a little
    of each kind of work is timed on this machine.

    Args:
        source: As for `dedup`.
        out: Folder that `dedup_files` would be given, so that writing to its disk is timed; the
            folder for temporary files by default.
        settings: See `Settings`.

    Returns:
        Plain values, which JSON can hold; ``docs/running.md`` has them all. ``num_bands``,
        ``rows`` and ``store`` are those that the run will take. ``predicted`` is what ``run.json``
        shows too, if by a smaller sample: documents, candidates, recall, seconds by stage, memory
        and disk.

    Raises:
        InputError: The input can't be used; its leaves say why.
        SpecError: A setting is out of range.

    Examples:
        >>> found = plan(["one two three four five six", "One, two; three four five six!", "x"])
        >>> found["documents"], found["exact_duplicates"]["expected"]
        (3, 1)
    """
    place = None if out is None else _existing(Path(out))
    return survey(Request(source, **settings).job(), place)


def _existing(path: Path) -> Path:
    """Return the nearest folder that is there already."""
    return next((p for p in [path, *path.absolute().parents] if p.is_dir()), Path("/"))


def _whole(schema: Any, parts: Iterator[Any]) -> Any:
    return pa.concat_tables([schema.empty_table(), *parts])
