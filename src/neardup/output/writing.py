"""The results of a run, as files: all of them appear by rename, or none."""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path, PurePath, PurePosixPath
from typing import Any, cast

import pyarrow as pa

from neardup.engines.local import Outcome
from neardup.errors import OutputError, SpecError
from neardup.files.private_files import sync_folder, system_errors
from neardup.frame.options import TABLE_FORMATS, Writing
from neardup.io.outputs import check_output
from neardup.io.remote import is_remote, located
from neardup.io.source import Source
from neardup.io.streams import STDIN
from neardup.io.writers import write_tables
from neardup.output import tables
from neardup.output.clean import CLEAN, REMOVED, CleanCorpus, Form, Stamp, is_as_written, stamp
from neardup.output.record import record
from neardup.result_record import RECORD, read_record
from neardup.state.output_folder import STAGED, publish, recover, write_record
from neardup.state.run_state import RunState
from neardup.threads import Pool

_NAMES = [f"{name}.{kind}" for name in ("clusters", "order", "edges") for kind in TABLE_FORMATS]
#: Names of files and folders that a run may write.
OUTPUTS = (CLEAN, REMOVED, *_NAMES, RECORD)
#: Names of the folders in progress, and in the times of stages.
_STAGES = {CLEAN: "clean corpus", REMOVED: "removed documents"}
#: The step after which only renaming is left.
_WRITTEN = "written"


def check_writing(writing: Writing, source: Source) -> None:
    """Refuse an output that can't be written, before any work is done."""
    if writing.annotate and not writing.clean:
        raise SpecError(
            "`annotate` is for the clean corpus, and none is written",
            "leave out one of `annotate` and `clean`=False",
        )
    if writing.compression is not None and not (writing.clean or writing.removed):
        raise SpecError("`compression` is for the clean corpus, and none is written")
    for names in _added(writing):
        fields: list[pa.Field[Any]] = [pa.field(name, pa.int64()) for name in names]
        added = pa.schema(fields) if fields else None
        check_output(source, writing.format, added, writing.compression)


def _added(writing: Writing) -> Iterator[Sequence[str]]:
    """Yield the columns that are added to each corpus that is written."""
    if writing.clean:
        yield tables.ADDED if writing.annotate else ()
    if writing.removed:
        yield tables.OF_REMOVED


def check_inputs(
    out: str | os.PathLike[str],
    inputs: Iterable[str | os.PathLike[str]],
    writes: Iterable[str] = OUTPUTS,
) -> None:
    """Refuse an output, a folder or a URL, that would replace inputs."""
    replaced = [_real(located(out) / name) for name in writes]
    for path in inputs:
        if any(map(_real(path).is_relative_to, replaced)):
            raise OutputError(
                f"{path} is an input and would be replaced", "name another output folder"
            )


def check_outside(out: str | os.PathLike[str], given: Iterable[str | os.PathLike[str]]) -> None:
    """Refuse an output in a folder that is read: the next run would read it as well."""
    target = located(out)
    for name in given:
        if str(name) == STDIN or is_remote(name) != is_remote(target):
            continue
        top, real = _real(os.fspath(name).partition("**")[0]), _real(target)
        hidden = any(part.startswith(".") for part in real.parts[len(top.parts) :])  # not read
        if real == top and Path(real).is_file():
            raise OutputError(f"{target} is an input", "name another output folder")
        if real.is_relative_to(top) and not hidden:
            raise OutputError(
                f"{target} is in {name}, which is an input: the next run would read it as well",
                "name an output that is not below an input folder",
            )


def _real(path: str | os.PathLike[str]) -> PurePath:
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
        for step in [CLEAN] * writing.clean + [REMOVED] * writing.removed:
            stage = clock.stage(f"write {_STAGES[step]}", outcome.corpus.documents)
            with stage as advance, Pool(outcome.threads) as pool:
                _corpus(outcome, writing, pool, state, step).write(staged / step, advance)
        with clock.stage("write tables"):
            _write_table(outcome, staged, writing.tables, "clusters")
            if outcome.order is not None:
                _write_table(outcome, staged, writing.tables, "order")
            if outcome.answer.edges is not None:
                _write_table(outcome, staged, writing.tables, "edges")
        values = record(outcome) | more()
        command = "recluster" if "recluster" in values else "dedup"
        found = write_record(staged, command, values)
    complete_outputs(out, state, staged)
    return found


def complete_outputs(out: Path, state: RunState, staged: Path) -> None:
    """Publish the files of a run, all of which are in a folder."""
    with system_errors(staged):
        sync_folder(staged)
    state.put(_WRITTEN, 0, about={path.name: stamp(path) for path in staged.iterdir()})
    publish(staged, out)


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
        is_as_written(where[step], state, number, step)
        for step in (CLEAN, REMOVED)
        for number in state.done(step)
    )


def _corpus(
    outcome: Outcome, writing: Writing, pool: Pool, state: RunState, step: str
) -> CleanCorpus:
    """Return what writes the kept documents, or the removed ones."""
    corpus, kept = outcome.corpus, outcome.answer.duplicate_of < 0
    chosen = kept | writing.annotate
    names: Sequence[str] = tables.ADDED if writing.annotate else ()
    if step == REMOVED:
        chosen, names = ~kept, tables.OF_REMOVED
    return CleanCorpus(
        outcome.reader,
        [(file, start) for file, start, _ in corpus.partitions],
        corpus.ends,
        chosen,
        Form(
            writing.format,
            writing.compression,
            tables.adding(outcome, names) if names else None,
            tables.added_schema(outcome, names) if names else None,
        ),
        pool,
        state,
        step,
    )


def _write_table(outcome: Outcome, folder: Path, format: str, name: str) -> None:
    schema = tables.schema_of(outcome, name)
    # In few columns do values repeat often enough for a dictionary.
    varied = tuple(column for column in schema.names if column != "file")
    with Pool(outcome.threads) as pool:
        found = tables.tables_of(outcome, name, pool)
        write_tables(folder / f"{name}.{format}", found, format, schema, varied)
