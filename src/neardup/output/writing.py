"""What a run found, as files: each appears by rename, all or none."""

import json
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path, PurePath, PurePosixPath
from typing import Any, TypeAlias, cast

import numpy as np
import pyarrow as pa

from neardup.engines.local import Outcome
from neardup.engines.reading import Wanted
from neardup.errors import OutputError, SpecError
from neardup.io.formats.csv_tables import csv_header
from neardup.io.formats.json_text import common_schema
from neardup.io.outputs import OutputFile, check_output, plan_outputs
from neardup.io.remote import is_remote, located
from neardup.io.source import Layout, Source
from neardup.io.streams import STDIN
from neardup.io.writers import open_writer
from neardup.output import tables
from neardup.output.record import record
from neardup.private_files import sync_folder, system_errors, write_private
from neardup.state.run_state import RUN_FOLDER, RunState, remove_path
from neardup.threads import Pool, in_threads

#: What a run writes; what an audit left there goes when another run takes the place of its own.
CLEAN, RECORD = "clean", "run.json"
TABLES = {"parquet": "zstd", "csv": None}  # with the compression
_NAMES = [f"{name}.{kind}" for name in ("clusters", "order", "edges") for kind in TABLES]
OUTPUTS = (CLEAN, *_NAMES, "audit.json", RECORD)
#: Size and time of a file.
Stamp: TypeAlias = "list[int] | None"
#: The step after which only renaming is left, and where files are until then.
_WRITTEN, _PLACE = "written", "outputs"


@dataclass(frozen=True)
class Writing:
    clean: bool = True  # whether there is one
    format: str | None = None  # of `neardup.io.writers.OUTPUT_FORMATS`; None for that of the input
    annotate: bool = False  # write all documents, with what was found added to each
    compression: str | None = None  # None for that of the input
    tables: str = "parquet"  # format of the tables, one of `TABLES`

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    def check(self, source: Source) -> None:
        """Refuse what can't be written, before any work is done."""
        if self.annotate and not self.clean:
            raise SpecError(
                "`annotate` is for the clean corpus, and none is wanted",
                "leave out one of `annotate` and `clean`=False",
            )
        if self.tables not in TABLES:
            known = " or ".join(map(repr, TABLES))
            raise SpecError(f"`tables` is {self.tables!r}; expected {known}")
        if self.compression is not None and not self.clean:
            raise SpecError("`compression` is for the clean corpus, and none is wanted")
        if self.clean:
            fields: list[pa.Field[Any]] = [pa.field(name, pa.int64()) for name in tables.ADDED]
            added = pa.schema(fields) if self.annotate else None
            check_output(source, self.format, added, self.compression)


def check_folder(out: Path, overwrite: bool, resume: bool = False) -> None:
    """Refuse an output folder that can't or must not be written, before any work is done."""
    with system_errors(out):
        if out.exists() or out.is_symlink():
            if not out.is_dir():
                raise OutputError(f"{out} exists and is not a folder", "name another output")
            interrupted = RunState.exists(out / RUN_FOLDER)
            complete = (out / RECORD).exists()
            if interrupted and not (resume or overwrite or complete):
                raise OutputError(
                    f"{out} holds an interrupted run",
                    "continue it with resume=True, or start again with overwrite=True",
                )
            # A run that was killed at once leaves less than a run.
            begun = all(path.name == RUN_FOLDER for path in out.iterdir())
            if not overwrite and not (resume and (interrupted or complete or begun)):
                raise OutputError(
                    f"{out} exists", "use overwrite=True, or name another output folder"
                )
        existing = next(path for path in [out, *out.absolute().parents] if path.exists())
    if not existing.is_dir() or not os.access(existing, os.W_OK | os.X_OK):
        raise OutputError(f"{existing} is not a folder that can be written", "name another output")


def check_inputs(out: str | os.PathLike[str], inputs: Iterable[str]) -> None:
    """Refuse an output, a folder or a URL, in which inputs are that it would replace."""
    replaced = [_real(f"{located(out)}/{name}") for name in OUTPUTS]
    for path in inputs:
        if any(map(_real(path).is_relative_to, replaced)):
            raise OutputError(
                f"{path} is an input and would be replaced", "name another output folder"
            )


def check_outside(out: str | os.PathLike[str], given: Iterable[str]) -> None:
    """Refuse an output in a folder that is read: the next run would read it as well."""
    place = located(out)
    for name in given:
        if name == STDIN or is_remote(name) != is_remote(place):
            continue
        top, real = _real(name.partition("**")[0] or os.curdir), _real(place)
        hidden = any(part.startswith(".") for part in real.parts[len(top.parts) :])  # not read
        if real.is_relative_to(top) and not hidden:
            raise OutputError(
                f"{place} is in {name}, which is an input: the next run would read it as well",
                "name an output that is not below an input folder",
            )


def _real(place: str) -> PurePath:
    return PurePosixPath(place) if is_remote(place) else Path(os.path.realpath(place))


def write_outputs(
    outcome: Outcome, out: Path, writing: Writing, pool: Pool, more: Callable[[], dict[str, Any]]
) -> dict[str, Any]:
    """Write all files where nobody looks for them, then rename them all.

    Files that were finished before an interruption are not written again. ``more`` is what the
    record gets besides, asked for just before it is written. Returns the record.
    """
    state = outcome.job.state
    assert state is not None
    place = state.scratch_folder(_PLACE)
    clock = outcome.job.clock
    with system_errors(place):
        if writing.clean:
            with clock.stage("write clean corpus", outcome.corpus.documents) as advance:
                _Clean(outcome, writing, pool).write_all(place / CLEAN, advance)
        with clock.stage("write tables"):
            _write_table(outcome, place, writing.tables, "clusters")
            if outcome.order is not None:
                _write_table(outcome, place, writing.tables, "order")
            if outcome.answer.edges is not None:
                _write_table(outcome, place, writing.tables, "edges")
        found = record(outcome) | more()
        write_private(place / RECORD, (json.dumps(found, indent=1) + "\n").encode())
        sync_folder(place)
    state.put(_WRITTEN, 0, about={path.name: _stamp(path) for path in place.iterdir()})
    finish_outputs(out, state)
    return found


def finish_outputs(out: Path, state: RunState) -> dict[str, Any] | None:
    """Move the files of a run to where they belong, once all are written; return the record.

    None is returned where something is still to be written.
    """
    if not state.done(_WRITTEN):
        return None
    place, replaced = state.scratch_folder(_PLACE), state.scratch_folder("replaced")
    written = cast("dict[str, Stamp]", state.about(_WRITTEN, 0))
    if not _intact(state, written, place, out):
        return None
    with system_errors(out):
        if (place / RECORD).exists():  # else all were moved, and there may be an audit of them
            (out / RECORD).unlink(missing_ok=True)  # of an earlier run; the new one comes last
            for name in OUTPUTS:
                if name not in written:
                    remove_path(out / name)
                elif (place / name).exists():  # else it was moved before this was interrupted
                    _move(place / name, out / name, replaced / name)
        sync_folder(out)
        found: dict[str, Any] = json.loads((out / RECORD).read_text(encoding="utf-8"))
    return found


def _intact(state: RunState, written: dict[str, Stamp], place: Path, out: Path) -> bool:
    where = {name: place / name if (place / name).exists() else out / name for name in written}
    return all(_stamp(where[name]) == stamp for name, stamp in written.items()) and all(
        _clean_is_as_written(where[CLEAN], state, number) for number in state.done(CLEAN)
    )


def _stamp(path: Path) -> Stamp:
    """Return size and time of a file, to notice a change; None for a folder, [] for nothing."""
    if not path.exists():
        return []
    status = path.stat()
    return None if path.is_dir() else [status.st_size, status.st_mtime_ns]


def _clean_is_as_written(folder: Path, state: RunState, number: int) -> bool:
    name, stamp = cast("tuple[str, Stamp]", state.about(CLEAN, number))
    return _stamp(folder / name) == stamp


def _move(staged: Path, target: Path, old: Path) -> None:
    if target.is_dir() and not target.is_symlink():
        remove_path(old)
        target.rename(old)
    staged.replace(target)
    remove_path(old)


def _write_table(outcome: Outcome, folder: Path, format: str, name: str) -> None:
    schema = tables.schema_of(outcome, name)
    # Of few columns do values repeat so that a dictionary helps.
    values = tuple(column for column in schema.names if column != "file")
    header = b"" if format == "parquet" else csv_header(schema.names, ",")
    layout = Layout(format, TABLES[format], header, schema, values)
    with open_writer(folder / f"{name}.{format}", layout) as writer:
        for part in tables.tables_of(outcome, name):
            writer.write(writer.prepare(part))


class _Clean:
    def __init__(self, outcome: Outcome, writing: Writing, pool: Pool) -> None:
        self._outcome, self._writing, self._pool = outcome, writing, pool
        self._source, self._corpus = outcome.job.source, outcome.corpus
        self._kept = outcome.answer.duplicate_of < 0
        self._adding = tables.adding(outcome) if writing.annotate else None

    def _outputs(self) -> list[OutputFile]:
        source, format = self._source, self._writing.format
        added = tables.schema_of(self._outcome, "added") if self._adding else None
        schema = None
        if format not in (None, "jsonl") and source.format in ("jsonl", "mixed"):
            # The columns of JSON lines have to be known before the first is written.
            partitions = self._outcome.reader.partitions()
            schema = common_schema(self._pool.ordered(lambda each: each[1].schema(), partitions))
        places = [(file, start) for file, start, _ in self._corpus.places]
        return plan_outputs(source, places, format, added, schema, self._writing.compression)

    def write_all(self, folder: Path, advance: Callable[[int], None]) -> None:
        state = self._outcome.job.state
        assert state is not None
        self._source.check_unchanged()
        outputs = self._outputs()
        folder.mkdir(mode=0o700, exist_ok=True)
        done = state.done(CLEAN)

        def write(number: int) -> int:
            output = outputs[number]
            path = folder / output.name if output.name else folder
            if number not in done or not _clean_is_as_written(folder, state, number):
                path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                self.write(output, path)
                state.put(CLEAN, number, about=[output.name, _stamp(path)])
            return self._documents(output)

        # Compression takes most of the time, and a file is compressed by one thread: some at once.
        threads = min(self._pool.threads, max(1, len(outputs)))
        for written in in_threads(write, range(len(outputs)), threads):
            advance(written)
        for path in sorted({folder, *(p for p in folder.rglob("*") if p.is_dir())}):
            sync_folder(path)

    def _documents(self, output: OutputFile) -> int:
        if output.first == output.end:
            return 0
        return self._corpus.limits(output.end - 1)[1] - self._corpus.limits(output.first)[0]

    def write(self, output: OutputFile, path: Path) -> None:
        with open_writer(path, output.layout) as writer:

            def prepare(wanted: Wanted) -> Any:
                held = self._outcome.reader.held.pop(wanted.number, None)  # for the last time
                arguments = (wanted.rows, wanted.documents, self._added(wanted), held)
                kind = wanted.partition.table if output.converted else wanted.partition.records
                return writer.prepare(kind(*arguments))

            # Several files wait at once: no more for each than keeps the threads at work.
            ahead = self._pool.threads
            for prepared in self._pool.ordered(prepare, self._wanted(output), ahead):
                writer.write(prepared)

    def _wanted(self, output: OutputFile) -> Iterator[Wanted]:
        corpus, source, numbers = self._corpus, self._source, range(output.first, output.end)
        if numbers and len(source.files) > 1 and source.rereadable and source.format != "text":
            found = source.partitions(corpus.places[output.first][0])
        else:
            every = self._outcome.reader.partitions()
            found = (partition for _, partition in islice(every, output.first, None))
        for number, partition in zip(numbers, found, strict=False):
            first, last = corpus.limits(number)
            rows = None if self._adding else np.flatnonzero(self._kept[first:last])
            if rows is None or len(rows):
                rows = None if rows is None or len(rows) == last - first else rows
                yield Wanted(number, partition, first, rows, last - first)

    def _added(self, wanted: Wanted) -> pa.Table | None:
        if self._adding is None:
            return None
        return self._adding(np.arange(wanted.first, wanted.first + wanted.documents))
