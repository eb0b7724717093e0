"""The results of a run, as files: all of them appear by rename, or none."""

import os
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path, PurePath, PurePosixPath
from typing import Any, cast

import pyarrow as pa

from neardup.engines.local import Outcome
from neardup.errors import OutputError, SpecError
from neardup.io.outputs import check_output
from neardup.io.remote import is_remote, located
from neardup.io.source import Source
from neardup.io.streams import STDIN
from neardup.io.writers import write_tables
from neardup.output import tables
from neardup.output.clean import CLEAN, CleanCorpus, Form, Stamp, is_as_written, stamp
from neardup.output.record import record
from neardup.private_files import sync_folder, system_errors
from neardup.result_record import RECORD, read_record
from neardup.state.output_folder import STAGED, publish, recover, write_record
from neardup.state.run_state import RunState
from neardup.threads import Pool

TABLES = ("parquet", "csv")  # formats
_NAMES = [f"{name}.{kind}" for name in ("clusters", "order", "edges") for kind in TABLES]
#: Names of files and folders that a run may write.
OUTPUTS = (CLEAN, *_NAMES, RECORD)
#: The step after which only renaming is left.
_WRITTEN = "written"


@dataclass(frozen=True)
class Writing:
    clean: bool = True  # whether there is one
    format: str | None = None  # of `neardup.io.writers.OUTPUT_FORMATS`; None for that of the input
    annotate: bool = False  # write all documents, each with its results
    compression: str | None = None  # None for that of the input
    tables: str = "parquet"  # format of the tables, one of `TABLES`

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    def check(self, source: Source) -> None:
        """Refuse an output that can't be written, before any work is done."""
        if self.annotate and not self.clean:
            raise SpecError(
                "`annotate` is for the clean corpus, and none is written",
                "leave out one of `annotate` and `clean`=False",
            )
        if self.tables not in TABLES:
            known = " or ".join(map(repr, TABLES))
            raise SpecError(f"`tables` is {self.tables!r}; expected {known}")
        if self.compression is not None and not self.clean:
            raise SpecError("`compression` is for the clean corpus, and none is written")
        if self.clean:
            fields: list[pa.Field[Any]] = [pa.field(name, pa.int64()) for name in tables.ADDED]
            added = pa.schema(fields) if self.annotate else None
            check_output(source, self.format, added, self.compression)


def check_inputs(
    out: str | os.PathLike[str], inputs: Iterable[str], writes: Iterable[str] = OUTPUTS
) -> None:
    """Refuse an output, a folder or a URL, that would replace inputs."""
    replaced = [_real(f"{located(out)}/{name}") for name in writes]
    for path in inputs:
        if any(map(_real(path).is_relative_to, replaced)):
            raise OutputError(
                f"{path} is an input and would be replaced", "name another output folder"
            )


def check_outside(out: str | os.PathLike[str], given: Iterable[str]) -> None:
    """Refuse an output in a folder that is read: the next run would read it as well."""
    target = located(out)
    for name in given:
        if name == STDIN or is_remote(name) != is_remote(target):
            continue
        top, real = _real(name.partition("**")[0] or os.curdir), _real(target)
        hidden = any(part.startswith(".") for part in real.parts[len(top.parts) :])  # not read
        if real.is_relative_to(top) and not hidden:
            raise OutputError(
                f"{target} is in {name}, which is an input: the next run would read it as well",
                "name an output that is not below an input folder",
            )


def _real(path: str) -> PurePath:
    return PurePosixPath(path) if is_remote(path) else Path(os.path.realpath(path))


def write_outputs(
    outcome: Outcome,
    state: RunState,
    out: Path,
    writing: Writing,
    more: Callable[[], dict[str, Any]],
) -> dict[str, Any]:
    """Write all files into a hidden folder; then they replace earlier ones.

    Files that were finished before an interruption are not written again. ``more`` gives further
    members of the record, and is called just before it is written. Returns the record.
    """
    staged = state.scratch_folder(STAGED)
    clock = outcome.job.clock
    with system_errors(staged):
        if writing.clean:
            stage = clock.stage("write clean corpus", outcome.corpus.documents)
            with stage as advance, Pool(outcome.threads) as pool:
                _clean_corpus(outcome, writing, pool, state).write(staged / CLEAN, advance)
        with clock.stage("write tables"):
            _write_table(outcome, staged, writing.tables, "clusters")
            if outcome.order is not None:
                _write_table(outcome, staged, writing.tables, "order")
            if outcome.answer.edges is not None:
                _write_table(outcome, staged, writing.tables, "edges")
        values = record(outcome) | more()
        write_record(staged, "recluster" if "recluster" in values else "dedup", values)
    return complete_outputs(out, state, staged)


def complete_outputs(out: Path, state: RunState, staged: Path) -> dict[str, Any]:
    """Publish the files of a run, all of which are in a folder; return the record."""
    with system_errors(staged):
        sync_folder(staged)
    state.put(_WRITTEN, 0, about={path.name: stamp(path) for path in staged.iterdir()})
    found = finish_outputs(out, state)
    assert found is not None
    return found


def finish_outputs(out: Path, state: RunState) -> dict[str, Any] | None:
    """Publish the files of a run, once all are written; return the record.

    None is returned where something is still to be written.
    """
    if not state.done(_WRITTEN):
        return None
    staged = state.scratch_folder(STAGED)
    written = cast("dict[str, Stamp]", state.about(_WRITTEN, 0))
    if not _intact(state, written, staged, out):
        recover(staged, out)
        if not _intact(state, written, staged, out):
            return None
    if any(staged.iterdir()):  # else all were published, and there may be an audit of them
        publish(staged, out)
    return read_record(out)


def _intact(state: RunState, written: dict[str, Stamp], staged: Path, out: Path) -> bool:
    where = {n: staged / n if (staged / n).exists() else out / n for n in written}
    if where[RECORD] == out / RECORD and where[RECORD].exists():
        written = {n: before for n, before in written.items() if n != RECORD}  # an audit adds to it
    return all(stamp(where[name]) == before for name, before in written.items()) and all(
        is_as_written(where[CLEAN], state, number) for number in state.done(CLEAN)
    )


def _clean_corpus(outcome: Outcome, writing: Writing, pool: Pool, state: RunState) -> CleanCorpus:
    corpus = outcome.corpus
    return CleanCorpus(
        outcome.reader,
        [(file, start) for file, start, _ in corpus.places],
        corpus.ends,
        (outcome.answer.duplicate_of < 0) | writing.annotate,
        Form(
            writing.format,
            writing.compression,
            tables.adding(outcome) if writing.annotate else None,
            tables.schema_of(outcome, "added") if writing.annotate else None,
        ),
        pool,
        state,
    )


def _write_table(outcome: Outcome, folder: Path, format: str, name: str) -> None:
    schema = tables.schema_of(outcome, name)
    # Of few columns do values repeat so that a dictionary helps.
    varied = tuple(column for column in schema.names if column != "file")
    found = tables.tables_of(outcome, name)
    write_tables(folder / f"{name}.{format}", found, format, schema, varied)
