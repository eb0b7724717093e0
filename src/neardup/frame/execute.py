"""The one order in which every command checks, works, writes, publishes and clears up."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from neardup.deduplication.clock import Event
from neardup.errors import ResumeError
from neardup.files.given_path import GivenPath
from neardup.files.private_files import system_errors
from neardup.frame.command import Made, Means, Request, TableParts
from neardup.frame.inputs import Input
from neardup.frame.storage import SOURCE, MemoryStorage, Storage, opened
from neardup.io.frames import FrameSource
from neardup.io.remote import Url, is_remote, local_target, located
from neardup.io.writers import write_tables
from neardup.memory_plan import PrivatePeak
from neardup.options.how_read import digest_of
from neardup.output.clean import CLEAN, MERGED, REMOVED, CleanCorpus
from neardup.output.publishing import clear_work, local_output
from neardup.output.record import about_clock
from neardup.output.resuming import (
    check_same,
    finish_outputs,
    is_complete,
    is_written,
    note_written,
    resumable,
)
from neardup.output.targets import check_inputs, check_outside
from neardup.state.output_folder import STAGED, check_folder, publish, write_record
from neardup.state.run_state import RUN_FOLDER, RunState
from neardup.threads import Pool
from neardup.values.json_values import JSON

#: The first step of a run: its command.
_COMMAND = "command"
#: Names of the folders in progress, and in the times of stages.
_STAGES = {CLEAN: "clean corpus", REMOVED: "removed documents", MERGED: "merged records"}


def execute(request: Request) -> Storage:
    """Do a command, in memory, or into a folder or to a URL.

    Finished work is stored in the folder ``.run`` in the output folder. With a URL, the folder
    ``work`` is used, and copied at the end.

    Raises:
        OutputError: The output exists, or can't be written.
        ResumeError: The run to resume has other settings or inputs, or is damaged.
        SpecError: A setting is out of range, or the memory does not suffice.
    """
    writing, clock = request.writing, request.clock
    if writing.out is None:
        with PrivatePeak() as peak:
            steps = request.open(None)
            with steps.work(Means(clock, peak)) as made:
                return _in_memory(made, about_call(request, steps.manifest(), peak))
    target = located(writing.out)
    work = None if writing.work is None else local_target(writing.work)
    if writing.resume and is_remote(target) and _is_complete(request, target):
        if work is not None and not writing.keep_run:
            clear_work(work)
        return opened(target)
    check_outside(target, request.given)
    with local_output(
        target,
        request.command.writes,
        overwrite=writing.overwrite,
        resume=writing.resume,
        work=work,
        keep=writing.keep_run,
    ) as here:
        found = _in_folder(request, here, target)
    return opened(target, (), *found)


def _in_folder(
    request: Request, here: GivenPath, target: Url | GivenPath
) -> tuple[dict[str, Any] | None, Input | None]:
    """Do a command into a folder of this machine.

    Returns:
        The record, if it is new; and the input, which no folder has, if it is a frame.
    """
    command, writing = request.command, request.writing
    out, folder = here.path, here.path / RUN_FOLDER
    check_folder(out, writing.overwrite, writes=command.writes, resume=writing.resume)
    if writing.resume and not RunState.exists(folder) and _is_complete(request, here):
        if folder.exists():  # of a run that was killed while it cleared up
            RunState.create(folder, overwrite=True).remove()
        return None, None
    state = _state(request, here)
    record, source = None, None
    with (
        state,
        resumable(state, command.resumes) as closes,
        PrivatePeak() as peak,
    ):
        if not state.manifest:
            state.put(_COMMAND, 0, about=command.name)
        steps = request.open(state)
        closes.append(steps.close)
        for one in steps.reads:
            check_outside(target, one.given)
        check_inputs(target, steps.files, command.writes)
        asked = steps.manifest()
        if state.manifest:
            check_same(state, asked, out, steps.comparable)
            if steps.is_settled(state):
                record = finish_outputs(out, state)
        if record is None:
            with steps.work(Means(request.clock, peak, state)) as made:
                staged = state.scratch_folder(STAGED)
                with system_errors(staged):
                    _write(request, made, state, staged)
                    values = about_call(request, asked, peak) | made.about()
                    if more := _of_formats(made):
                        values |= {"notes": [*values["notes"], *more]}
                    record = write_record(staged, command.name, values)
                    note_written(state, staged, asked)
                source = made.inputs.get(SOURCE)
            publish(staged, out)
        # In this order: without the run state, no later run would remove the keys in a store.
        if not writing.keep_run and not steps.close(True):
            state.remove()
    is_frame = source is not None and isinstance(source.reader.source, FrameSource)
    return record, source if is_frame else None


def _state(request: Request, here: GivenPath) -> RunState:
    """Return the state of the run, locked: that of an interrupted one, or a new one."""
    command, writing, folder = request.command, request.writing, here.path / RUN_FOLDER
    if writing.resume and RunState.exists(folder):
        state = RunState.open(folder)
        # Without a manifest it was killed before it had begun.
        before = state.about(_COMMAND, 0) if state.manifest else None
        if before is not None and before != command.name:
            state.close()
            raise ResumeError(
                f"{folder}: this is a run of neardup {before}",
                "name another output folder, or start again with overwrite=True",
            )
        if before is not None and (command.resumes or is_written(state)):
            note = f"continuing the run in {here / RUN_FOLDER}"
            request.clock.emit(Event(command.begins, note=note))
            return state
        state.close()
    return RunState.create(folder, overwrite=writing.overwrite or writing.resume)


def _is_complete(request: Request, out: Url | GivenPath) -> bool:
    """Return whether an output is complete and of this very request.

    Raises:
        OutputError: It is complete, of another request, and must not be replaced.
    """

    def asked() -> str | None:
        steps = request.open(None)
        return digest_of(steps.manifest()) if steps.comparable else None

    return is_complete(out, asked, request.writing.overwrite)


def about_call(request: Request, asked: dict[str, JSON], peak: PrivatePeak) -> dict[str, Any]:
    """Return the members that the record of every command has."""
    return {
        "command": request.command.name,
        **about_clock(request.clock),
        "asked": digest_of(asked),
        "peak_private_memory": peak.peak,
    }


def _write(request: Request, made: Made, state: RunState, staged: Path) -> None:
    """Write all files but the record into a hidden folder.

    Documents that were written before an interruption are not written again.
    """
    clock, pool = request.clock, made.pool
    if made.write is not None:
        with clock.stage("write tables"):
            made.write(staged)
        return
    for step, corpus in made.corpora.items():
        stage = clock.stage(f"write {_STAGES[step]}", int(corpus.ends.max(initial=0)))
        with stage as advance:
            replace(corpus, state=state, step=step).write(staged / step, advance)
    with_csv = request.writing.tables == "csv"

    def write(name: str, each: Callable[..., Any] = map) -> None:
        table, path = made.tables[name], staged / f"{name}.parquet"
        parts = table.parts(each)
        write_tables(path, parts, "parquet", table.schema, table.varied, with_csv=with_csv)

    with clock.stage("write tables"):
        first = list(made.tables) if made.largest is None else [made.largest]
        waiting = [pool.submit(partial(write, name)) for name in made.tables if name not in first]
        for name in first:
            write(name, partial(pool.ordered, most=made.tables[name].most))
        for done in waiting:
            done.result()


def _of_formats(made: Made) -> list[str]:
    """Return a note on a clean corpus in several formats."""
    clean = made.corpora.get(CLEAN)
    if clean is None or clean.form.format or clean.reader.source.format != "mixed":
        return []
    formats = ", ".join(sorted({file.format for file in clean.reader.source.files}))
    what = f"clean has files of several formats ({formats}), of which many programs read one only"
    return [f"{what}; --format jsonl writes all as one"]


def _in_memory(made: Made, about: dict[str, Any]) -> MemoryStorage:
    threads, clean = made.pool.threads, made.corpora.get(CLEAN)
    return MemoryStorage(
        lambda: about | made.about(),
        {name: partial(_joined, table, threads) for name, table in made.tables.items()},
        made.inputs,
        made.state,
        None if clean is None else partial(_corpus, clean),
    )


def _joined(table: TableParts, threads: int) -> pa.Table:
    empty = [] if table.schema is None else [table.schema.empty_table()]
    with Pool(threads) as pool:
        return pa.concat_tables([*empty, *table.parts(pool.ordered)])


def _corpus(corpus: CleanCorpus) -> pa.Table:
    with Pool() as pool:
        return replace(corpus, pool=pool).table()
